"""Questions that a panel leaves open: the true share of a class, and the human labels that would settle them.

The share of items that a panel puts into a class is off where the panel errs. Gold gives its sensitivity and
specificity, and with them the share is corrected (W. Rogan, B. Gladen, "Estimating prevalence from the results of a
screening test", 1978). The interval is that of Z. Lang, J. Reiczigel, "Confidence limits for prevalence of disease
adjusted for estimated sensitivity and specificity", 2014.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64

_Z = 1.959963984540054  # of a 95% interval
_POWER = 0.8416212335729143  # finds a difference that is there in 80% of the cases
MARGIN = 0.05
"""Half the width of the interval that an audit of the labels should have."""


class Prevalence(NamedTuple):
    """Share of a class."""

    apparent: float  # share of the labels
    estimate: float  # corrected for errors of the labels
    low: float  # of its 95% interval
    high: float


def rogan_gladen(labeled: int, n: int, right: int, positives: int, rejected: int, negatives: int) -> Prevalence:
    """Share of a class, corrected for errors of the labels; NaN if they are no better than chance.

    Args:
        labeled: Items with the label.
        n: All items.
        right: Gold items of the class that have the label.
        positives: Gold items of the class.
        rejected: Gold items of other classes that do not have the label.
        negatives: Gold items of other classes.

    >>> share = rogan_gladen(300, 1000, 90, 100, 95, 100)
    >>> round(share.estimate, 3), round(share.low, 3), round(share.high, 3)
    (0.294, 0.234, 0.345)
    """
    apparent = labeled / max(n, 1)
    gain = right / max(positives, 1) + rejected / max(negatives, 1) - 1
    if not positives or not negatives or gain <= 0:
        return Prevalence(apparent, math.nan, math.nan, math.nan)
    estimate = (apparent + rejected / negatives - 1) / gain
    sensitivity, specificity = (right + 1) / (positives + 2), (rejected + 1) / (negatives + 2)
    total = n + _Z**2
    share, gain = (labeled + _Z**2 / 2) / total, sensitivity + specificity - 1
    middle = (share + specificity - 1) / gain
    of_right = sensitivity * (1 - sensitivity) / (positives + 2)
    of_rejected = specificity * (1 - specificity) / (negatives + 2)
    shift = 2 * _Z**2 * (middle * of_right - (1 - middle) * of_rejected)
    spread = share * (1 - share) / total + middle**2 * of_right + (1 - middle) ** 2 * of_rejected
    half = _Z * math.sqrt(spread) / gain
    ends = (middle + shift - half, middle + shift + half)
    return Prevalence(apparent, *(min(1.0, max(0.0, each)) for each in (estimate, *ends)))


def correct_prevalence(labels: NDArray[np.integer], gold: NDArray[np.int64], k: int) -> list[Prevalence]:
    """Share of each class, from (n,) labels that have not learned from (n,) gold classes; -1 for none."""
    labeled, both = labels >= 0, (gold >= 0) & (labels >= 0)
    return [
        rogan_gladen(
            int((labels == c).sum()),
            int(labeled.sum()),
            int((both & (gold == c) & (labels == c)).sum()),
            int((both & (gold == c)).sum()),
            int((both & (gold != c) & (labels != c)).sum()),
            int((both & (gold != c)).sum()),
        )
        for c in range(k)
    ]


class Contest(NamedTuple):
    """Human labels that would tell which of two judges is better."""

    items: int  # items that they judge differently
    labels: float  # labels on such items that would settle it; infinite if they seem equally good


def count_to_settle(cells: NDArray[np.integer], probabilities: Float64, one: int, other: int) -> Contest:
    """Count the labels that tell two judges apart at 95% in 80% of the cases; only items they differ on tell.

    Args:
        cells: (n, m) votes of each judge as class numbers.
        probabilities: (n, k) of the classes.
        one: The number of a judge.
        other: The number of another judge.
    """
    differ = np.flatnonzero((cells[:, one] >= 0) & (cells[:, other] >= 0) & (cells[:, one] != cells[:, other]))
    right = [float(probabilities[differ, cells[differ, judge]].sum()) for judge in (one, other)]
    decided = sum(right)
    if not decided or right[0] == right[1]:
        return Contest(len(differ), math.inf)
    wins = max(right) / decided
    needed = (_Z / 2 + _POWER * math.sqrt(wins * (1 - wins))) ** 2 / (wins - 0.5) ** 2
    return Contest(len(differ), math.ceil(needed * len(differ) / decided))


def count_to_audit(accuracy: float, n: int) -> int:
    """Count the labels, drawn at random from n items, that give the accuracy to within `MARGIN` at 95%.

    >>> count_to_audit(0.8, 1000), count_to_audit(0.8, 100)
    (198, 72)
    """
    needed = _Z**2 * accuracy * (1 - accuracy) / MARGIN**2
    return math.ceil(needed / (1 + needed / n))
