"""How label models are scored: the metric of a set, its ceiling, and the quality of probabilities.

Models learn on the items that they are scored on, as in the paper. Scores are in percent and count the items whose
truth is known.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.datasets import DataSet
from experiments.references import RELEASED, RELEASED_FILE, released_file, stretch
from hyperlabel._core import metrics
from hyperlabel.data import Patterns, Votes
from hyperlabel.errors import ParameterError
from hyperlabel.models import HyperLabelModel, LabelModel, label_model, label_model_class, label_models
from hyperlabel.networks import load_weights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BINS = 10
"""Of the reliability plot."""

REQUIRES_BALANCE = ("fs", "metal")
"""Models that are given a class balance; the others learn one or do without."""

TEXT_RECIPE = "hlm-text"
"""Weights that come with the package and are no label model of their own: the paper's, by its text alone."""

TAKES_BALANCE = ("nplm", "ds", "hds", "ebcc")
"""Models that learn a class balance, and are also tried with two that are given. The hyper label models are not: they
see votes alone."""


def score(data: DataSet, labels: NDArray[Any]) -> float:
    """Accuracy or F1, whichever is the set's, in percent; an item without a label is wrong. (n,) -> score."""
    return 100 * metrics.score(data.metric, data.truth, np.asarray(labels), data.k)


def ceiling(data: DataSet) -> float:
    """The best score of any function of an item's own votes, with the truth known, in percent.

    For accuracy every pattern gets its commonest class. The best F1 calls positive the patterns whose share of
    positives is above some bound, so all bounds are tried.
    """
    counts = to_patterns(data).count_labels(data.truth)
    if data.metric == "accuracy":
        return float(100 * counts.max(1).sum() / counts.sum())
    counts = counts[counts.sum(1) > 0]
    sizes, positive = counts.sum(1), counts[:, 1]
    order = np.argsort(-positive / sizes, kind="stable")
    found, called = positive[order].cumsum(), sizes[order].cumsum()
    return float(100 * (2 * found / (called + positive.sum())).max(initial=0))


def to_patterns(data: DataSet) -> Patterns:
    """The patterns of a set's votes."""
    return Patterns.from_votes(Votes.from_array(data.votes, n_classes=data.k))


def reliability(probabilities: Floats, truth: Ints) -> dict[str, list[float]]:
    """How sure a model is of its labels, and how often they are right. (n, k), (n,) -> three lists of `BINS`.

    Items are sorted into bins of equal width by the largest of their probabilities: `items` counts them,
    `confidence` adds up these probabilities, `right` counts the items whose label is right.

    >>> reliability(np.array([[0.5, 0.5], [0.05, 0.95]]), np.array([1, 1]))["right"][-1]
    1.0
    """
    known = np.flatnonzero(truth >= 0)
    confidence, label = probabilities[known].max(1), probabilities[known].argmax(1)
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    weights = {"items": np.ones(len(known)), "confidence": confidence, "right": label == truth[known]}
    return {name: np.bincount(bins, values, minlength=BINS).tolist() for name, values in weights.items()}


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a label model says about the items of a set."""

    labels: Ints  # (n,) class numbers
    probabilities: Floats  # (n, k)
    prior: str  # the class balance that was given: `uniform`, `majority vote`, or `own` where none was
    scores: dict[str, float]  # the score with each class balance that was tried, in percent
    seconds: float  # what fitting and predicting took, with that class balance


def make_model(name: str, data: DataSet, **params: Any) -> LabelModel:
    """A label model for a set, by its short name, or the hyper label model with the weights of a file."""
    return named_model(name, n_classes=data.k, **params)


def named_model(name: str, **params: Any) -> LabelModel:
    """A label model by its short name, `released`, `hlm-text`, or the hyper label model with the weights of a file.

    >>> named_model("mv", n_classes=2)
    MajorityVote(n_classes=2)
    """
    if name == RELEASED:
        return HyperLabelModel(weights=released_file(), as_released=True, **params)
    if _is_weights(name):
        return HyperLabelModel(weights=name, **params)
    return label_model(name, **params)


def _is_weights(name: str) -> bool:
    return name == TEXT_RECIPE or name.endswith(".safetensors")


def check_models(names: Iterable[str]) -> None:
    """Check, before any work, that there are such models and that they need no gold.

    Raises:
        ParameterError: There is no such model, or it learns from gold alone.
        WeightsError: A file of weights cannot be read.
    """
    for name in names:
        if name == RELEASED:
            released_file()
        elif _is_weights(name):
            load_weights(name)
        elif label_model_class(name).needs_gold:
            known = ", ".join(unsupervised_models())
            raise ParameterError(f"models has '{name}', which learns from gold alone; expected some of {known}")


def model_order(names: Iterable[str]) -> list[str]:
    """Distinct names of models in the order of `label_models`, those of the paper together, others last.

    >>> model_order(["own.safetensors", "mv", "hlm", "mv"])
    ['hlm', 'mv', 'own.safetensors']
    """
    known = [name for each in label_models() for name in ((each, TEXT_RECIPE, RELEASED) if each == "hlm" else (each,))]
    return sorted(set(names), key=lambda name: (known.index(name) if name in known else len(known), name))


def unsupervised_models() -> list[str]:
    """Short names of the label models that need no gold.

    >>> "hlm" in unsupervised_models(), "rf" in unsupervised_models()
    (True, False)
    """
    return [name for name in label_models() if not label_model_class(name).needs_gold]


def compared_models() -> list[str]:
    """The label models that need no gold, and the authors' released weights where they are available."""
    return [*unsupervised_models(), *([RELEASED] if RELEASED_FILE.exists() else [])]


def majority_balance(data: DataSet) -> Floats:
    """The class balance that majority vote estimates. -> (k,)."""
    balance: Floats = label_model("mv", n_classes=data.k).predict_proba(data.votes).mean(0)
    return balance


def fit_best_prior(data: DataSet, name: str, **params: Any) -> Fitted:
    """Fit a label model and predict, with the class balance that the paper's protocol gives it.

    A model that requires a class balance gets the better of the uniform one and majority vote's, judged by the truth,
    as in the paper. Any other model is left its own; what the two would have scored is noted beside it, with the first
    seed alone.
    """
    balances = _balances(data, name)
    if name not in REQUIRES_BALANCE and params.get("seed", 0):
        balances = {"own": {}}
    tried = {prior: _fit(data, name, {**params, **balance}) for prior, balance in balances.items()}
    scores = {prior: score(data, labels) for prior, (labels, _, _) in tried.items()}
    prior = max(scores, key=scores.__getitem__) if name in REQUIRES_BALANCE else "own"
    labels, probabilities, seconds = tried[prior]
    return Fitted(labels, probabilities, prior, scores, seconds)


def _balances(data: DataSet, name: str) -> dict[str, Mapping[str, Any]]:
    """The class balances to try, as parameters."""
    estimated: dict[str, Mapping[str, Any]] = {"majority vote": {"class_balance": majority_balance(data)}}
    if name in REQUIRES_BALANCE:
        return {"uniform": {}, **estimated}  # even is what these take where nothing is given
    if name in TAKES_BALANCE:
        return {"own": {}, "uniform": {"class_balance": np.full(data.k, 1 / data.k)}, **estimated}
    return {"own": {}}


def _fit(data: DataSet, name: str, params: Mapping[str, Any]) -> tuple[Ints, Floats, float]:
    """Labels, probabilities, and what they took, in seconds."""
    start = time.perf_counter()
    labels = make_model(name, data, **params).label(data.votes)
    probabilities = as_returned(name, labels.probabilities)
    return labels.best, probabilities, time.perf_counter() - start


def as_returned(name: str, probabilities: Floats) -> Floats:
    """Probabilities of a model as its own package returns them: the authors' stretches them over the batch."""
    return stretch(probabilities) if name == RELEASED else probabilities
