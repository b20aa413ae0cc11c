"""Snorkel's metrics by name. All except accuracy and coverage come from scikit-learn."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.arrays import as_list
from hyperlabel.compat.snorkel.convert import to_int_label_array
from hyperlabel.errors import ParameterError, VotesError, require
from hyperlabel.kernels import Float64
from hyperlabel.shown import show
from hyperlabel.votes.classes import ABSTAIN

Labels = NDArray[np.int_]

METRICS = (
    "accuracy",
    "coverage",
    "precision",
    "recall",
    "f1",
    "f1_micro",
    "f1_macro",
    "matthews_corrcoef",
    "roc_auc",
)


def score_labels(truth: NDArray[Any], labels: Labels, probs: Float64, metrics: Iterable[str]) -> dict[str, float]:
    """Scores by the names of the metrics; -1 in `truth` or `labels` is left out, except for coverage.

    >>> score_labels(np.array([0, 1, 1]), np.array([0, 1, -1]), np.full((3, 2), 0.5), ["accuracy", "coverage"])
    {'accuracy': 1.0, 'coverage': 0.6666666666666666}
    """
    truth = to_int_label_array(truth)
    if len(truth) != len(labels) or not len(truth):
        raise VotesError(f"Y has {len(truth)} labels, L has {len(labels)} items; expected one label per item")
    if probs.ndim != 2 or len(probs) != len(truth):
        raise VotesError(f"probs has shape {probs.shape}; expected ({len(truth)}, classes), a row per item")
    kept = (truth != ABSTAIN) & (labels != ABSTAIN)
    return {name: _score(name, truth, labels, probs, kept) for name in as_list(metrics, "metrics", "a list of names")}


def _score(name: str, truth: Labels, labels: Labels, probs: Float64, kept: NDArray[np.bool_]) -> float:
    if not isinstance(name, str) or name not in METRICS:
        raise ParameterError(f"metrics holds {show(name)}; expected some of {', '.join(METRICS)}")
    if name == "coverage":
        return float((labels != ABSTAIN).mean())
    if not kept.any():
        raise VotesError(f"no item has both a label and a known truth, so {name} cannot be computed; give more truth")
    truth, labels, probs = truth[kept], labels[kept], probs[kept]
    if name == "accuracy":
        return float((truth == labels).mean())
    if name == "roc_auc":
        return _roc_auc(truth, probs)
    if name == "f1" and truth.max() > 1:
        raise ParameterError("metrics holds 'f1', which is for two classes; use f1_micro or f1_macro")
    return float(_metric_of_sklearn(name)(truth, labels))


def _roc_auc(truth: Labels, probs: Float64) -> float:
    if probs.shape[1] != 2:
        raise ParameterError(f"metrics holds 'roc_auc', which is for two classes; there are {probs.shape[1]}")
    return float(_metric_of_sklearn("roc_auc")(truth, probs[:, 1]))


def _metric_of_sklearn(name: str) -> Callable[..., float]:
    require("sklearn", extra="sklearn")
    from sklearn import metrics

    if name.startswith("f1_"):
        return lambda truth, labels: metrics.f1_score(truth, labels, average=name.removeprefix("f1_"))
    found: Callable[..., float] = getattr(metrics, name if name == "matthews_corrcoef" else f"{name}_score")
    return found
