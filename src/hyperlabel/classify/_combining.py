"""The combination of votes with the evidence of texts.

A classifier that is taught by votes mostly repeats them. So its evidence e is divided (`Echo`): the part that the votes
of the item predict, by ridge regression on indicators of LF and vote, and the rest, which only the text tells. An item
with votes has the logits (`Mix`)

    w1 (votes - prior) + w2 echo + w3 rest + b,

where the prior is the class balance of the votes, which e contains as well; an item without votes has

    w4 (e + shift) + b,

by the views of dense vectors alone, with the shift from the balance of the items with votes to that of the others.
Gold moves scale, weights and intercepts b away from their defaults as far as its likelihood says.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64
from hyperlabel.classify._views import LEAST, Index, log_odds
from hyperlabel.data import Patterns

_DEFAULT = np.array([1.0, 0.5, 1.5, 1.0])  # weights of votes, echo, rest, and of texts without votes
_BY_TEXT = np.array([0.1, 1.0, 1.0, 1.0])  # the same where texts are to be trusted more than votes
_DOUBT = (0.075, 0.1)  # an excess of agreement where doubts of votes begin, and where they are complete
_FEW = 100  # of fewer items per class agreement tells too little: all views then miss the same small classes
# How far gold may move the logarithm of the scale, the weights, and the intercepts: deviations of their normal priors.
_SPREADS = (1.0, 0.25, 0.2)
_STEPS = 100  # of expectation and maximization, to the balance of items without votes
_RIDGE = 1.0
_MATCHES = 20  # steps to a stated balance
_ROUNDS = 200  # of conjugate gradients, at most


@dataclass(frozen=True)
class Echo:
    """The part of the evidence that votes predict: a ridge regression on indicators of LF and vote."""

    column: NDArray[np.int64]  # (c,) LF and vote of each indicator, as lf * codes + vote
    coef: Float64  # (c, k)
    intercept: Float64  # (k,)

    @classmethod
    def fit(cls, patterns: Patterns, index: Index, evidence: Float64) -> "Echo":
        """Learn from t items: their patterns, (t,), and their evidence, (t, k)."""
        column = np.unique(_indicate(patterns).indices)
        intercept = evidence.mean(0) if len(evidence) else np.zeros(evidence.shape[1])
        empty = cls(column, np.zeros((len(column), evidence.shape[1])), intercept)
        return replace(empty, coef=_solve_ridge(empty._design(patterns)[index], evidence - intercept))

    def _design(self, patterns: Patterns) -> Any:
        """Indicators of the votes of patterns. -> (p, c)."""
        from scipy.sparse import csr_matrix

        found = _indicate(patterns)
        if not len(self.column):
            return csr_matrix((found.shape[0], 0))
        number = np.minimum(np.searchsorted(self.column, found.indices), len(self.column) - 1)
        seen = (self.column[number] == found.indices).astype(np.float64)
        return csr_matrix((seen, number, found.indptr), (found.shape[0], len(self.column)))

    def predict(self, patterns: Patterns) -> Float64:
        """The echo of the votes of patterns. -> (p, k)."""
        return np.asarray(self._design(patterns) @ self.coef + self.intercept, np.float64)


def _indicate(patterns: Patterns) -> Any:
    """Votes as a sparse matrix of ones. -> (p, m * codes)."""
    from scipy.sparse import csr_matrix

    column = patterns.lf.astype(np.int64) * patterns.n_codes + patterns.vote
    shape = (patterns.n_patterns, patterns.n_lfs * patterns.n_codes)
    return csr_matrix((np.ones(len(column)), column, patterns.starts), shape)


def _solve_ridge(design: Any, goal: Float64) -> Float64:
    """Ridge regression of each column of (n, k) goals by conjugate gradients. -> (c, k)."""
    coef = np.zeros((design.shape[1], goal.shape[1]))
    residual = design.T @ goal
    direction, size = residual, (residual**2).sum(0)
    enough = 1e-12 * np.maximum(size, 1e-300)
    for _ in range(_ROUNDS):
        if (size <= enough).all():
            break
        image = design.T @ (design @ direction) + _RIDGE * direction
        step = size / np.maximum((direction * image).sum(0), 1e-300)
        coef, residual = coef + step * direction, residual - step * image
        size, last = (residual**2).sum(0), size
        direction = residual + size / np.maximum(last, 1e-300) * direction
    return coef


def find_doubt(logs: Float64, best: Index) -> float:
    """Doubt of the votes, from 0 to 1, by how the views of items with votes agree. (3, n, k), (n,) classes by votes.

    Noise of votes that texts do not explain is not learned: the views then agree with each other more than with the
    votes that taught them. No truth is needed to see that; texts count more then, if they can be learned at all.
    """
    k, views = logs.shape[2], logs.argmax(2)
    if len(best) < _FEW * k:
        return 0.0
    with_votes = np.mean([_kappa(view, best, k) for view in views])
    with_each_other = np.mean([_kappa(views[i], views[j], k) for i, j in ((0, 1), (0, 2), (1, 2))])
    excess = with_votes * (with_each_other - with_votes)
    return float(np.clip((excess - _DOUBT[0]) / (_DOUBT[1] - _DOUBT[0]), 0, 1))


def choose_mix(doubt: float, prior: Float64, shift: Float64) -> tuple["Mix", float]:
    """The mix without gold, and the scale of its logits. (k,) the class balance of the votes, (k,) log-odds.

    Views that contradict doubtful votes are better than their confidence, which was fitted to these votes.
    """
    weights = (1 - doubt) * _DEFAULT + doubt * _BY_TEXT
    return Mix(weights, np.stack([-weights[0] * log_odds(prior[None])[0], weights[3] * shift])), 1 + doubt


def _kappa(one: Index, other: Index, k: int) -> float:
    """Agreement beyond chance of two labels of n items (Cohen's kappa); 0 if both give one class only."""
    chance = float(np.bincount(one, minlength=k) @ np.bincount(other, minlength=k)) / len(one) ** 2
    return float((one == other).mean() - chance) / max(1 - chance, LEAST)


def find_shift(logs: Float64, prior: Float64) -> Float64:
    """The log-odds from a prior to the class balance of items without votes. (n, k), (k,) -> (k,).

    By expectation and maximization (M. Saerens et al., "Adjusting the outputs of a classifier to new a priori
    probabilities", 2002); the prior counts as much as the items.
    """
    balance = prior
    for _ in range(_STEPS if len(logs) else 0):
        balance = (to_shares(logs + np.log(balance / prior)).mean(0) + prior) / 2  # never 0: half of it is the prior
    return np.asarray(np.log(balance / prior))


@dataclass(frozen=True)
class Mix:
    """Weights of the parts of the evidence, and intercepts."""

    weights: Float64  # (4,)
    bias: Float64  # (2, k) of items with votes, and of items without

    def logits(self, parts: Float64, voted: NDArray[np.bool_]) -> Float64:
        """(4, n, k), (n,) -> (n, k)."""
        return np.asarray(np.tensordot(self.weights, parts, 1) + self.bias[np.where(voted, 0, 1)], np.float64)

    def learn(self, parts: Float64, voted: NDArray[np.bool_], gold: NDArray[np.int64], scale: float) -> "Mix":
        """The mix that gold makes most probable, near this one times a scale. (4, g, k), (g,), (g,)."""
        from scipy.optimize import minimize

        k, right = parts.shape[2], np.eye(parts.shape[2])[gold]
        spread = np.repeat(_SPREADS, [1, 4, k])

        def unpack(moves: Float64) -> tuple[float, "Mix"]:
            log_scale, weights, bias = np.split(moves * spread, [1, 5])
            return scale * float(np.exp(log_scale[0])), Mix(self.weights + weights, self.bias + bias)

        def loss_and_gradient(moves: Float64) -> tuple[float, Float64]:
            factor, mix = unpack(moves)
            logits = mix.logits(parts, voted)
            shares = to_shares(factor * logits)
            slope = factor * (shares - right)
            loss = -np.log(np.maximum(shares[right > 0], LEAST)).sum() + moves @ moves / 2
            by_part = [[(slope * logits).sum()], np.tensordot(parts, slope, 2), slope.sum(0)]
            return float(loss), np.concatenate(by_part) * spread + moves

        factor, mix = unpack(minimize(loss_and_gradient, np.zeros(5 + k), jac=True, method="L-BFGS-B").x)
        return Mix(factor * np.maximum(mix.weights, 0), factor * mix.bias)

    def match(self, parts: Float64, voted: NDArray[np.bool_], balance: Float64) -> "Mix":
        """The same with intercepts that make the mean probabilities of all items a class balance. (4, n, k), (n,)."""
        bias = self.bias
        for _ in range(_MATCHES):
            shares = to_shares(replace(self, bias=bias).logits(parts, voted)).mean(0)
            bias = bias + np.log(np.maximum(balance, LEAST)) - np.log(np.maximum(shares, LEAST))
        return replace(self, bias=bias)


def to_shares(logits: Float64) -> Float64:
    """Probabilities of logits. (n, k) -> (n, k)."""
    raised = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(raised / raised.sum(1, keepdims=True), np.float64)
