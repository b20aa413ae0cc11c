"""Metrics of labels and probabilities against the truth, each defined once, on class numbers.

An item whose truth is unknown (-1) is left out. An item without a label (-1) is wrong in `accuracy`, and has no
predicted class in `f1`. Where a row stands for several items, as a pattern does, `counts` holds their numbers.
"""

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core.checks import Metric, check_metric
from hyperlabel._core.kernels import Float64, Ints
from hyperlabel.errors import ParameterError

_Z = 1.959964  # normal quantile of a two-sided 95% interval
LEAST_PROBABILITY = 1e-6  # least probability in the log loss, which would be infinite for a class that is ruled out


def score(metric: Metric, truth: Ints, labels: Ints, n_classes: int, counts: Ints | None = None) -> float:
    """Return accuracy or F1 of labels. name, (n,), (n,), k, (n,) -> score."""
    if check_metric(metric) == "f1":
        return f1(truth, labels, n_classes, counts)
    return accuracy(truth, labels, counts)


def accuracy(truth: Ints, labels: Ints, counts: Ints | None = None) -> float:
    """Return the share of items whose label is the truth. (n,), (n,), (n,) -> share."""
    rows, weights = _rows_with_truth(truth, counts)
    return float(np.average(truth[rows] == labels[rows], weights=weights))


def f1(truth: Ints, labels: Ints, n_classes: int, counts: Ints | None = None) -> float:
    """Return F1 of class 1 if there are two classes, macro F1 if there are more. (n,), (n,), k, (n,) -> F1.

    F1 of a class is 2 b / (t + c): t items are of the class, c have it as their label, b both; 0 if t and c are 0.
    Macro F1 is the mean over the classes, without those that occur in neither truth nor labels. An item without a
    label adds to t alone.

    >>> f1(np.array([1, 1, 0]), np.array([1, -1, 1]), n_classes=2)
    0.5
    >>> round(f1(np.array([0, 1, 2, 2]), np.array([0, 1, 2, 1]), n_classes=4), 4)  # the mean of 1, 2/3 and 2/3
    0.7778
    """
    rows, weights = _rows_with_truth(truth, counts)
    truth, labels = truth[rows], labels[rows]
    called, right = labels >= 0, truth == labels
    both = np.bincount(truth[right], weights[right], n_classes)
    total = np.bincount(truth, weights, n_classes) + np.bincount(labels[called], weights[called], n_classes)
    of_class = np.divide(2 * both, total, out=np.zeros(n_classes), where=total > 0)
    return float(of_class[1] if n_classes == 2 else of_class[total > 0].mean())


def brier(truth: Ints, probabilities: Float64, counts: Ints | None = None) -> float:
    """Return the Brier score: squared distance from the truth, summed over classes, mean over items.

    From 0, certain and right, to 2, certain and wrong. (n,), (n, k), (n,) -> score.
    """
    rows, weights = _rows_with_truth(truth, counts)
    distance = probabilities[rows].astype(np.float64)
    distance[np.arange(len(rows)), truth[rows]] -= 1
    return float(np.average((distance**2).sum(1), weights=weights))


def log_loss(truth: Ints, probabilities: Float64, counts: Ints | None = None) -> float:
    """Return the mean of -ln of the true class's probability, which counts as at least `LEAST_PROBABILITY`.

    (n,), (n, k), (n,) -> loss.
    """
    rows, weights = _rows_with_truth(truth, counts)
    right = np.maximum(probabilities[rows, truth[rows]], LEAST_PROBABILITY)
    return float(np.average(-np.log(right), weights=weights))


def _rows_with_truth(truth: Ints, counts: Ints | None) -> tuple[NDArray[np.intp], Float64]:
    """Return the rows whose truth is known, and the number of items of each. (n,), (n,) -> (r,), (r,)."""
    rows = np.flatnonzero(truth >= 0)
    weights = np.ones(len(rows)) if counts is None else counts[rows].astype(np.float64)
    if not weights.sum() > 0:
        raise ParameterError("truth is unknown for every item; expected at least one class")
    return rows, weights


def wilson_interval(right: Ints | Float64 | int, n: Ints | int) -> tuple[Float64, Float64]:
    """Return Wilson's 95% interval of a share; NaN if nothing was counted. (m,), (m,) -> (m,), (m,).

    >>> [round(float(end), 3) for end in wilson_interval(np.array(8), np.array(10))]
    [0.49, 0.943]
    """
    total = np.where(np.asarray(n) > 0, n, np.nan)
    part, z2 = right / total, _Z**2
    middle = (part + z2 / (2 * total)) / (1 + z2 / total)
    half = _Z * np.sqrt(part * (1 - part) / total + z2 / (4 * total**2)) / (1 + z2 / total)
    return np.asarray(middle - half), np.asarray(middle + half)
