"""Median and mean of the votes, for classes that have an order, such as scores from 1 to 5.

Nothing is estimated; every LF counts the same. They have no short names: in classes without an order they mean nothing,
so only callers that know of an order offer them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64
from hyperlabel.data import Patterns, no_label
from hyperlabel.models._base import LabelModel
from hyperlabel.models._majority import count_classes


@dataclass(kw_only=True, eq=False, repr=False)
class MedianVote(LabelModel):
    """Labels by the median of the votes; two medians share the probability.

    >>> MedianVote(n_classes=5).predict([[0, 3, 4], [1, 1, 4]]).tolist()
    [3, 1]
    """

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        """There is nothing to learn."""

    def _probabilities(self, patterns: Patterns) -> Float64:
        below = count_classes(patterns).cumsum(1)  # (p, k) votes for a class or a lower one
        n, p, k = below[:, -1], *below.shape
        shares = np.zeros((p, k))
        for middle in ((n + 1) // 2, n // 2 + 1):  # the ranks of the lower and the upper median
            shares[np.arange(p), np.minimum((below < middle[:, None]).sum(1), k - 1)] += 0.5
        return shares * patterns.has_votes[:, None]


@dataclass(kw_only=True, eq=False, repr=False)
class MeanVote(LabelModel):
    """Labels by the class that is closest to the mean of the votes; its two neighbors share the probability.

    Classes that are numbers count as such, others by their position.

    >>> MeanVote(n_classes=5).predict_proba([[0, 0, 0, 1]]).tolist()
    [[0.75, 0.25, 0.0, 0.0, 0.0]]
    """

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        """There is nothing to learn."""

    def _probabilities(self, patterns: Patterns) -> Float64:
        counts, classes = count_classes(patterns), patterns.classes
        position = np.arange(counts.shape[1])
        values = np.array(classes, float) if no_label(classes) is not None else position
        mean = counts @ values / np.maximum(counts.sum(1), 1)
        between = np.interp(mean, values, position)
        near = np.maximum(1 - np.abs(between[:, None] - position), 0)  # (p, k), two neighbors add up to 1
        return np.asarray(near * patterns.has_votes[:, None])
