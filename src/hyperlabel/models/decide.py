"""Labels that serve a metric, and how sure they are."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import ParameterError
from hyperlabel.patterns import Patterns
from hyperlabel.votes import ABSTAIN

Metric = Literal["accuracy", "f1"]


def check_metric(metric: str) -> None:
    """Refuse what is not a metric."""
    if metric not in ("accuracy", "f1"):
        raise ParameterError(f"metric is {metric!r}; expected 'accuracy' or 'f1'")


def call_for_f1(probabilities: NDArray[np.float64], patterns: Patterns) -> NDArray[np.intp]:
    """Labels with the best F1 of the second class that the probabilities let expect. (p, 2) -> (p,).

    If the probabilities are right, a set S of items called positive has an F1 of about 2 sum_S q / (|S| + sum q);
    the best S holds the most probable items. -1 for patterns without votes.
    """
    if patterns.n_classes != 2:
        raise ParameterError(f"metric is 'f1', but there are {patterns.n_classes} classes; F1 is defined for two")
    positive = np.where(patterns.has_votes, probabilities[:, 1], -1.0)
    order = np.argsort(-positive, kind="stable")
    weight = np.where(patterns.has_votes, patterns.counts, 0)[order]
    hits = np.cumsum(weight * positive[order])
    expected = 2 * hits / np.maximum(np.cumsum(weight) + hits[-1], 1e-12)
    best = np.zeros(len(positive), np.intp)
    best[positive >= positive[order[int(expected.argmax())]]] = 1
    best[~patterns.has_votes] = ABSTAIN
    return best


def confidence_of(best: NDArray[np.intp], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability of each label, or of the most probable class where there is none. (n,), (n, k) -> (n,)."""
    own = np.take_along_axis(probabilities, np.maximum(best, 0)[:, None], axis=1)[:, 0]
    return np.where(best == ABSTAIN, probabilities.max(1), own)
