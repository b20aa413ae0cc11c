"""Evidence of the texts about classes: words and meanings, learned from gold and from the labels that rules give.

The features are computed once. Training takes few rows (all gold, and a sample of the rows that rules vote on), so it
is repeated after every change. Judging all rows is a product of matrices.
"""

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float32, Float64, Ints
from hyperlabel.classify import Vectors
from hyperlabel.errors import require

_L2 = 0.1  # half of it times the squared norm of the coefficients is added to the summed loss
_TOPICS = 128  # dimensions of the latent semantic analysis
_EMBEDDING = np.float32(1.5)  # length of an embedding, which knows more than these texts; words and topics have 1
_VOTED = 300  # rows with votes that are learned from, at most
_VOTE_WEIGHT = 0.25  # weight of such a row, at most; a gold label has 1
_FOLDS = 5  # parts of the gold; each is judged by a model that does not know it
_SAMPLE = 1000  # rows that typical rows resemble
_NEIGHBORS = 15
_COLD = 10  # gold labels before uncertainty counts
_ITERATIONS, _STEPS = 60, 20  # of a model, and of one that begins at another without a fifth of the gold
_LEAST = 1e-6  # share of the greatest eigenvalue that counts


@dataclass(frozen=True, eq=False)
class TextFeatures:
    """The texts as numbers: their words, and what they are about."""

    words: Any  # (n, w) SciPy matrix of TF-IDF
    dense: Float32  # (n, d) topics, and embeddings; topics of words and letters if wordllama is not installed
    known: NDArray[np.bool_]  # (n,) False where a text is missing or blank

    @classmethod
    def of(cls, texts: Any) -> "TextFeatures":
        """Compute the features of a Polars series of texts."""
        require("sklearn", extra="studio")
        encoder = None if find_spec("wordllama") is None else "wordllama"
        vectors = Vectors.of(texts.to_list(), encoder=encoder)
        topics, embeddings = _center(_find_topics(vectors.terms)), _EMBEDDING * _center(vectors.dense)
        return cls(vectors.terms, np.hstack([topics, embeddings]), vectors.known)

    def take(self, rows: Ints) -> "TextFeatures":
        """Return the features of some rows."""
        return TextFeatures(self.words[rows], self.dense[rows], self.known[rows])

    def project(self, rows: Ints, weights: Float64) -> Float64:
        """Multiply all rows by a weighted sum of some rows. (t, k) -> (n, k)."""
        near, weights = self.take(rows), weights.astype(np.float32)
        return np.asarray(self.words @ (near.words.T @ weights) + self.dense @ (near.dense.T @ weights), np.float64)

    @cached_property
    def typical(self) -> Float32:
        """Nearness of each row to others, from 0 to 1. (n,)."""
        n = len(self.dense)
        sample = np.random.default_rng(0).permutation(n)[:_SAMPLE]
        nearest = min(_NEIGHBORS + 1, len(sample))
        near = np.concatenate([
            np.partition(part @ self.dense[sample].T, -nearest, axis=1)[:, -nearest:].mean(1)
            for part in np.array_split(self.dense, max(n // 5000, 1))
        ])  # fmt: skip
        return np.asarray((near - near.min()) / max(float(np.ptp(near)), 1e-9), np.float32)

    def near(self, rows: Ints) -> Float32:
        """Return the nearness of each row to the nearest of some rows, from 0 to 1. (n,)."""
        if not len(rows):
            return np.zeros(len(self.dense), np.float32)
        return np.asarray(np.clip((self.dense @ self.dense[rows].T).max(1) / self.norm, 0, 1), np.float32)

    @property
    def norm(self) -> float:
        """Squared length of the dense rows."""
        return float((self.dense[:100] ** 2).sum(1).max(initial=1e-9))


def _find_topics(words: Any) -> Float32:
    """Reduce words to topics by a singular value decomposition. (n, w) -> (n, d)."""
    from sklearn.decomposition import TruncatedSVD

    d = min(_TOPICS, words.shape[0] - 1, words.shape[1] - 1)
    if d < 1:
        return np.zeros((words.shape[0], 1), np.float32)
    return np.asarray(TruncatedSVD(d, random_state=0).fit_transform(words), np.float32)


def _center(rows: Float32) -> Float32:
    rows = _scale(rows)
    return _scale(rows - rows.mean(0))


def _scale(rows: Float32) -> Float32:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), np.float32)


@dataclass(frozen=True, eq=False)
class TextEvidence:
    """Evidence of the texts, given gold and the labels of rules.

    Attributes:
        logits: (n, k) logarithms of probabilities; those of a row with gold come from a model that does not know it.
        worth: (n,) how much the gold label of each row would help.
        known: (n,) False where a text is missing or blank.
    """

    logits: Float64
    worth: Float64
    known: NDArray[np.bool_]


def judge_texts(
    features: TextFeatures, gold: NDArray[np.int64], k: int, voted: Ints, shares: Float64, weight: float
) -> TextEvidence | None:
    """Learn from gold and from rows with votes, and judge all rows; None if there is nothing to learn from.

    Args:
        features: Those of all n rows.
        gold: (n,) class numbers, -1 where unknown.
        k: Number of classes.
        voted: (v,) rows without gold on which rules vote.
        shares: (v, k) their probabilities.
        weight: What these rows weigh together, at most; a gold label weighs 1.
    """
    known = np.flatnonzero(gold >= 0)
    if not len(known) and not len(voted):
        return None
    if len(voted) > _VOTED:
        chosen = np.random.default_rng(0).permutation(len(voted))[:_VOTED]
        voted, shares = voted[chosen], shares[chosen]
    rows = np.concatenate([known, voted])
    targets = np.concatenate([np.eye(k)[gold[known]], shares * min(_VOTE_WEIGHT, weight / max(len(voted), 1))])
    space, inside = _span(features.take(rows))
    whole = _fit(inside, targets, np.zeros((inside.shape[1] + 1, k)), _ITERATIONS)
    logits = _normalize(features.project(rows, space @ whole[1:]) + whole[0])
    part = np.random.default_rng(0).permutation(len(known)) % _FOLDS
    for fold in range(min(_FOLDS, len(known)) if len(rows) > 1 else 0):
        aside = np.flatnonzero(part == fold)
        rest = np.setdiff1d(np.arange(len(rows)), aside)
        coef = _fit(inside[rest], targets[rest], whole, _STEPS)
        logits[known[aside]] = _normalize(inside[aside] @ coef[1:] + coef[0])
    return TextEvidence(logits, _rate(features, logits, known), features.known)


def _span(features: TextFeatures) -> tuple[Float64, Float64]:
    """Return coordinates of t rows in the space that they span: rows times `space` are coordinates. (t, r), (t, r).

    There are far fewer rows than features, and the solution is in their span.
    """
    products = np.asarray((features.words @ features.words.T).todense(), np.float64) + features.dense @ features.dense.T
    values, vectors = np.linalg.eigh(products)
    kept = values > _LEAST * values[-1]
    return vectors[:, kept] / np.sqrt(values[kept]), vectors[:, kept] * np.sqrt(values[kept])


def _rate(features: TextFeatures, logits: Float64, known: Ints) -> Float64:
    """Rate rows by uncertain labels, in a region with many rows and without gold. -> (n,)."""
    near = features.near(known)
    if len(known) < _COLD:
        return np.asarray((features.typical + 0.01) * (1 - near), np.float64)
    top = np.partition(np.exp(logits), -2, axis=1)[:, -2:]
    return np.asarray((1 - (top[:, 1] - top[:, 0])) * (0.5 + 0.5 * features.typical) * (1 - 0.5 * near), np.float64)


def _fit(rows: Float64, targets: Float64, start: Float64, iterations: int) -> Float64:
    """Fit logistic regression; (t, k) targets sum to the weight of each row. -> (1 + r, k), intercepts first."""
    from scipy.optimize import minimize

    (t, r), k = rows.shape, targets.shape[1]
    matrix = np.hstack([np.ones((t, 1)), rows])
    weight = targets.sum(1, keepdims=True)
    l2 = np.full((r + 1, 1), _L2)
    l2[0] = _L2 / 10

    def loss_and_gradient(flat: Float64) -> tuple[float, Float64]:
        coef = flat.reshape(r + 1, k)
        logs = _normalize(matrix @ coef)
        slope = matrix.T @ (weight * np.exp(logs) - targets) + l2 * coef
        return float((l2 * coef**2).sum() / 2 - (targets * logs).sum()), slope.ravel()

    options: Any = {"maxiter": iterations, "maxcor": 5}
    best: Any = minimize(loss_and_gradient, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(best.x, np.float64).reshape(r + 1, k)


def _normalize(logits: Float64) -> Float64:
    highest = logits.max(1, keepdims=True)
    total: Float64 = logits - highest - np.log(np.exp(logits - highest).sum(1, keepdims=True))
    return total
