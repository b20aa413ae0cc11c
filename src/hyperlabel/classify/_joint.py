"""Votes and texts together: `label`, and the state that labels new items in the same way.

A classifier that is taught by votes mostly repeats them. So its evidence e is divided (`Echo`): the part that the votes
of the item predict, by ridge regression on indicators of LF and vote, and the rest, which only the text tells. An item
with votes has the logits

    w1 votes + w2 echo + w3 rest + b,

an item without votes w4 e + b, by the views of dense vectors alone. Gold teaches the classifier, and moves the weights
and the intercepts b away from their defaults as far as its likelihood says.
"""

import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Metric, check_metric, read_tensors, write_tensors
from hyperlabel.classify._vectors import Vectorizer, Vectors
from hyperlabel.classify._views import LEAST, Index, Views, log_odds
from hyperlabel.data import Identity, Labels, Votes, find_f1_rule, read_balance
from hyperlabel.errors import ParameterError, WeightsError, warn_of_votes
from hyperlabel.models import LabelModel, choose_model, strip_prefix, with_prefix
from hyperlabel.models import load as load_model

VOTES, TEXT, FEATURES, GOLD = "votes", "text", "features", "gold"
"""Sources of a label."""

GOLD_WEIGHT = 5.0
"""Items with votes that an item with gold counts as, when the views learn."""
_DEFAULT = np.array([1.0, 0.5, 1.5, 1.0])  # weights of votes, echo, rest, and of texts without votes
_SPREAD = np.array([0.5, 0.5, 0.5, 0.5])  # how far gold may move them: standard deviations of their prior
_BIAS_SPREAD = 1.0
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
    def fit(cls, votes: Votes, index: Index, evidence: Float64) -> "Echo":
        """Learn from some items and their (n, k) evidence."""
        column = np.unique(_indicate(votes).indices)
        intercept = evidence[index].mean(0)
        empty = cls(column, np.zeros((len(column), evidence.shape[1])), intercept)
        design = empty._design(votes)[index]
        return replace(empty, coef=_solve_ridge(design, evidence[index] - intercept))

    def _design(self, votes: Votes) -> Any:
        """Indicators of the votes of items. -> (n, c)."""
        from scipy.sparse import csr_matrix

        found = _indicate(votes)
        place = np.minimum(np.searchsorted(self.column, found.indices), len(self.column) - 1)
        seen = (self.column[place] == found.indices).astype(np.float64)
        return csr_matrix((seen, place, found.indptr), (found.shape[0], len(self.column)))

    def predict(self, votes: Votes) -> Float64:
        """The echo of the votes of items. -> (n, k)."""
        return np.asarray(self._design(votes) @ self.coef + self.intercept, np.float64)


def _indicate(votes: Votes) -> Any:
    """Votes as a sparse matrix of ones. -> (n, m * codes)."""
    from scipy.sparse import csr_matrix

    rows, codes = votes.rows, votes.n_classes + (0 if votes.outcomes is None else len(votes.outcomes))
    column = rows.lf.astype(np.int64) * codes + rows.vote
    return csr_matrix((np.ones(len(column)), column, rows.starts), (votes.n_items, votes.n_lfs * codes))


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


@dataclass(frozen=True)
class Mix:
    """Weights of the parts of the evidence, and an intercept for each class."""

    weights: Float64  # (4,)
    bias: Float64  # (k,)

    def logits(self, parts: Float64) -> Float64:
        """(4, n, k) -> (n, k)."""
        return np.asarray(np.tensordot(self.weights, parts, 1) + self.bias, np.float64)

    @classmethod
    def fit(cls, parts: Float64, gold: NDArray[np.int64]) -> "Mix":
        """The weights and intercepts that gold makes most probable, near the defaults. (4, g, k), (g,)."""
        from scipy.optimize import minimize

        k, right = parts.shape[2], np.eye(parts.shape[2])[gold]

        def loss_and_gradient(flat: Float64) -> tuple[float, Float64]:
            moved, bias = flat[:4] / _SPREAD**2, flat[4:] / _BIAS_SPREAD**2
            logits = cls(_DEFAULT + flat[:4], flat[4:]).logits(parts)
            shares = to_shares(logits)
            slope = shares - right
            loss = -np.log(np.maximum(shares[right > 0], 1e-300)).sum() + (flat[:4] @ moved + flat[4:] @ bias) / 2
            return float(loss), np.concatenate([np.tensordot(parts, slope, 2) + moved, slope.sum(0) + bias])

        best = minimize(loss_and_gradient, np.zeros(4 + k), jac=True, method="L-BFGS-B").x
        return cls(np.maximum(_DEFAULT + best[:4], 0), best[4:])

    def match(self, parts: Float64, balance: Float64) -> "Mix":
        """The same with the intercepts that make the mean probabilities of all items a class balance. (4, n, k)."""
        bias = self.bias
        for _ in range(_MATCHES):
            shares = to_shares(replace(self, bias=bias).logits(parts)).mean(0)
            bias = bias + np.log(np.maximum(balance, LEAST)) - np.log(np.maximum(shares, LEAST))
        return replace(self, bias=bias)


def to_shares(logits: Float64) -> Float64:
    """Probabilities of logits. (n, k) -> (n, k)."""
    raised = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(raised / raised.sum(1, keepdims=True), np.float64)


@dataclass(frozen=True, eq=False)
class JointModel:
    """A state that labels items by votes and texts: what `label` learned, for tomorrow's rows."""

    model: LabelModel  # fitted
    views: Views
    echo: Echo
    mix: Mix
    vectorizer: Vectorizer

    def label(
        self,
        votes: object,
        texts: object = None,
        features: object = None,
        gold: object = None,
        *,
        metric: Metric = "accuracy",
    ) -> Labels:
        """Label items by their votes and texts, judged in this state; alone or together, the same."""
        items = Items.read(self.model, votes, gold, self.vectorizer.transform(texts, features))
        parts = items.divide(self.views.predict(items.vectors), self.echo)
        return items.label(self.mix.logits(parts), self, metric)

    def save(self, path: str | Path) -> None:
        """Write the state to a safetensors file; `hyperlabel.load` reads it. Nothing is pickled.

        It is also a file of the label model alone, for everything that works on votes.
        """
        arrays, header = self.model.to_arrays()
        vectors, header["texts"] = self.vectorizer.to_arrays()
        parts = {"views": self.views.to_arrays(), "echo": vars(self.echo), "mix": vars(self.mix), "vectors": vectors}
        for name, each in parts.items():
            arrays |= with_prefix(each, name)
        write_tensors(path, arrays, header, "model")


def load(path: str | Path) -> LabelModel | JointModel:
    """Read a label model from a file that `save` wrote, fitted as it was; with texts, what `label` learned from them.

    Raises:
        WeightsError: The file is missing, damaged, or holds something else.

    >>> import tempfile
    >>> labels = label([[1, 1], [0, 0], [1, -1], [0, -1]], ["free money", "see you", "money now", "see me"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     labels.model.save(f"{folder}/state.safetensors")
    ...     load(f"{folder}/state.safetensors").label([[-1, -1]], ["free money"]).labels.tolist()
    [1]
    """
    model = load_model(path)
    arrays, header = read_tensors(path, "model")
    if "texts" not in header:
        return model
    views, echo, mix, vectors = (strip_prefix(arrays, name) for name in ("views", "echo", "mix", "vectors"))
    try:
        vectorizer = Vectorizer.from_arrays(vectors, header["texts"])
        return JointModel(model, Views.from_arrays(views), Echo(**echo), Mix(**mix), vectorizer)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise WeightsError(f"{path} does not hold a complete state of texts ({error}); save it again") from error


@dataclass(frozen=True, eq=False)
class Items:
    """Votes, texts and gold of items, read once."""

    votes: Votes
    by_votes: Labels
    voted: NDArray[np.bool_]
    vectors: Vectors
    gold: NDArray[np.int64]  # (n,) -1 for unknown

    @classmethod
    def read(cls, model: LabelModel, votes: object, gold: object, vectors: Vectors) -> "Items":
        """Read votes in the state of a fitted model, and gold."""
        read = model.read_votes(votes)
        known = np.full(read.n_items, -1) if gold is None else read.with_labels(gold, "gold")[1]
        if len(vectors) != read.n_items:
            raise ParameterError(
                f"texts has {len(vectors)} items but votes has {read.n_items}; expected one text or row per item"
            )
        return cls(read, model.label(read), np.diff(read.rows.starts) > 0, vectors, known)

    def divide(self, logs: Float64, echo: Echo) -> Float64:
        """The parts of the evidence: votes, echo, rest; text of items without votes. (3, n, k) -> (4, n, k)."""
        repeated, voted = echo.predict(self.votes), self.voted[:, None]
        parts = [log_odds(self.by_votes.probabilities), repeated, logs.mean(0) - repeated]
        return np.stack([*(np.where(voted, each, 0) for each in parts), np.where(voted, 0, logs[1:].mean(0))])

    def label(self, logits: Float64, model: Any, metric: Metric) -> Labels:
        """Labels of all items, with their sources."""
        kind, known = self.vectors.vectorizer.kind, self.vectors.known
        shares = np.where(known[:, None], to_shares(logits), self.by_votes.probabilities)
        best = np.where(known, shares.argmax(1), self.by_votes.best)
        if metric == "f1":
            labeled = (best >= 0).astype(np.int64)
            rule = find_f1_rule(lambda rule: rule.sums(shares, labeled), shares.shape[1])
            best = np.where(best >= 0, rule.decide(shares), best)
        source = np.where(self.voted, np.where(known, f"{VOTES}+{kind}", VOTES), kind).astype(object)
        source[best < 0] = None
        labels = replace(self.by_votes, best=best, probabilities=shares, source=source)
        return replace(labels.with_gold(self.gold), model=model)


def label(
    votes: object,
    texts: object = None,
    features: object = None,
    gold: object = None,
    *,
    model: str | LabelModel | None = None,
    encoder: Any = None,
    metric: Metric = "accuracy",
    class_balance: Any = None,
) -> Labels:
    """Label every item by all that is given: votes, texts or features, and gold.

    Args:
        votes: The votes.
        texts: n texts, None for a missing one; or `Vectors`, made of texts once and for all.
        features: (n, q) numbers, such as embeddings. With texts, they are the dense vectors of these.
        gold: Known classes, as for `LabelModel.fit`; these are the labels of their items. Thirty items drawn at random
            are worth more than anything else.
        model: The label model or its short name, the default if not given; a fitted one is used unchanged.
        encoder: How texts become dense vectors: None (latent semantic analysis), `wordllama` (extra `embed`), any
            function from a list of texts to an array, or that array.
        metric: Metric to optimize the labels for, as for `LabelModel.predict`. `f1` needs gold or a class balance.
        class_balance: Shares of the classes among all items, if they are known.

    Returns:
        Labels whose `source` is `votes`, `text`, `votes+text` (or `features`, `votes+features`), `gold`, or None for
        no label; `model` labels new items.

    >>> texts = ["win free money", "free money now", "see you at home", "see you at lunch", "free money", None]
    >>> votes = [[1, 1], [1, -1], [0, 0], [-1, 0], [-1, -1], [-1, -1]]
    >>> labels = label(votes, texts)
    >>> labels.labels.tolist(), labels.source[-2:].tolist()
    ([1, 1, 0, 0, 1, -1], ['text', None])
    >>> labels.model.label([[-1, -1]], ["win money"]).labels.tolist()
    [1]
    """
    metric = _check_f1(check_metric(metric), model, gold, class_balance)
    chosen = _choose(model, class_balance)
    fitted = chosen if chosen.is_fitted else chosen.fit(votes, gold)
    read = fitted.read_votes(votes)
    if texts is None and features is None:
        return _label_votes(fitted, read, gold, metric)
    vectors = texts if isinstance(texts, Vectors) else _encode(read, texts, features, encoder)
    balance = None if class_balance is None else read_balance(class_balance, read.classes)
    return _fit_joint(fitted, Items.read(fitted, read, gold, vectors), metric, balance)


def _encode(votes: Votes, texts: object, features: object, encoder: Any) -> Vectors:
    """Texts and features of the items as numbers."""
    if not (encoder is None or isinstance(encoder, str) or callable(encoder)):
        features, encoder = encoder, None  # the vectors themselves
    for name, inputs in (("texts", texts), ("features", features)):
        if inputs is not None:
            Identity(votes.n_items, votes.items, votes.origin).check_index(inputs, name)
    return Vectors.of(texts, features, encoder)


def _check_f1(metric: Metric, model: object, gold: object, class_balance: object) -> Metric:
    """The metric, but accuracy where the balance of the classes is unknown: labels for F1 depend on it."""
    stated = class_balance is not None or getattr(model, "class_balance", None) is not None
    if metric == "f1" and gold is None and not stated and not getattr(model, "is_fitted", False):
        warn_of_votes(
            ["metric is 'f1', which needs gold or class_balance; labels are for accuracy. 30 random labels suffice"]
        )
        return "accuracy"
    return metric


def _choose(model: str | LabelModel | None, class_balance: Any) -> LabelModel:
    """A copy of the label model, with the class balance if it is stated."""
    chosen = choose_model(model)
    if class_balance is None:
        return copy.copy(chosen)
    if chosen.is_fitted or "class_balance" not in chosen.get_params():
        raise ParameterError(f"class_balance is given, but {chosen!r} does not take it; leave out one of them")
    return copy.copy(chosen).set_params(class_balance=class_balance)


def _label_votes(model: LabelModel, votes: Votes, gold: object, metric: Metric) -> Labels:
    """Labels by votes and gold alone."""
    labels = model.label(votes, metric, gold)
    known = np.full(len(labels), -1) if gold is None else votes.with_labels(gold, "gold")[1]
    source = np.where(labels.best >= 0, VOTES, None).astype(object)  # type: ignore[call-overload]
    source[known >= 0] = GOLD
    return replace(labels, source=source, model=model)


def _fit_joint(model: LabelModel, items: Items, metric: Metric, balance: Float64 | None) -> Labels:
    """Learn from items, and label them; each is judged by views that have not learned from it."""
    targets = items.by_votes.probabilities.copy()
    known = items.gold >= 0
    targets[known] = GOLD_WEIGHT * np.eye(targets.shape[1])[items.gold[known]]
    teachers = np.flatnonzero((items.voted | known) & items.vectors.known)
    if not len(teachers):
        raise ParameterError("no item has both votes or gold and a text; expected some to learn from")
    views, logs = Views.fit(items.vectors, targets, teachers)
    both = np.flatnonzero(items.voted & items.vectors.known)
    echo = Echo.fit(items.votes, both, logs.mean(0))
    parts = items.divide(logs, echo)
    use = np.flatnonzero(known & items.vectors.known)
    mix = Mix.fit(parts[:, use], items.gold[use])
    if balance is not None:
        mix = mix.match(parts[:, items.vectors.known], balance)
    joint = JointModel(model, views, echo, mix, items.vectors.vectorizer)
    return items.label(mix.logits(parts), joint, metric)
