"""Means over items from a random sample, corrected by what a model predicts for all: prediction-powered inference.

The mean over all items is that of the predictions plus the mean of (truth - prediction) over the sample, where each
prediction counts by a power that the sample chooses; with power 0 it is the mean of the sample. See Angelopoulos et
al., "Prediction-powered inference" (Science, 2023), and Angelopoulos, Duchi and Zrnic, "PPI++" (2023). Items are
finitely many and the predictions of all are known, so only the correction is uncertain, and the less so the larger the
drawn part of the items: the regression estimator of survey sampling.

Intervals are those of Student's t on the corrections and four imagined ones, two at each end of their range (Agresti
and Coull, "Approximate is better than exact", 1998): with few gold items, or none of a rare class, those that were
drawn vary less than those that were not. If corrections are skewed, like those of a rare class, so is their mean,
and the interval moves toward the long end (Hall, "On the removal of skewness by transformation", 1992; Johnson,
"Modified t tests", 1978). Half a step is added, since gold items are counted (Yates).
"""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from hyperlabel.kernels import Float64, Ints

IMAGINED = 4.0


class Strata(NamedTuple):
    """How the sample was drawn."""

    items: Ints  # (h,) items of each stratum
    of_gold: Ints  # (g,) the stratum of each gold item

    @property
    def weights(self) -> Float64:
        """The share of all items that each gold item stands for. (g,)."""
        drawn = np.bincount(self.of_gold, minlength=len(self.items))
        shares = self.items / self.items.sum()
        return np.asarray((shares / np.maximum(drawn, 1))[self.of_gold])


class Powered(NamedTuple):
    """Estimated means of several quantities."""

    means: Float64  # (q,) the estimates
    corrections: Float64  # (g, q) truth minus prediction times power, of each gold item
    low: Float64  # (q,) the correction of a negative item with an average prediction


def estimate_means(truth: Float64, predicted: Float64, overall: Float64, strata: Strata) -> Powered:
    """Means over all items of quantities that are 0 or 1.

    `truth` and `predicted` are (g, q), of the gold items, `overall` (q,) the mean prediction for all items.
    """
    weights = strata.weights[:, None]
    power = _power(truth, predicted, weights)
    corrections = truth - power * predicted
    return Powered(power * overall + (weights * corrections).sum(0), corrections, -power * overall)


def _power(truth: Float64, predicted: Float64, weights: Float64) -> Float64:
    """How much predictions count, from 0 to 1: the slope of the truth on them. (q,)."""
    center_t, center_p = (weights * truth).sum(0), (weights * predicted).sum(0)
    together = (weights * (truth - center_t) * (predicted - center_p)).sum(0)
    alone = (weights * (predicted - center_p) ** 2).sum(0)
    slope = np.divide(together, alone, out=np.zeros_like(alone), where=alone > 1e-12)
    return np.asarray(np.clip(slope, 0.0, 1.0))


class Uncertainty(NamedTuple):
    """How uncertain means of corrections are."""

    shift: Float64  # (q,) what to add to the means for the center of the intervals, if corrections are skewed
    half: Float64  # (q,) half the width of intervals around them


def spread_of(corrections: Float64, low: Float64, reach: Float64, strata: Strata, confidence: float) -> Uncertainty:
    """How uncertain means of (g, q) corrections are.

    `low` are (q,) the imagined corrections at the lower end, `reach` how much higher those at the upper end are.
    """
    variance, skew = np.zeros(corrections.shape[1]), np.zeros(corrections.shape[1])
    for number, items in enumerate(strata.items.tolist()):
        own, share = corrections[strata.of_gold == number], items / strata.items.sum()
        drawn = len(own) / items
        if drawn == 1:
            continue  # fully known
        second, third, many = _moments(own, low, reach, IMAGINED * share)
        variance += share**2 * (1 - drawn) * second / max(1 - 2 / many, 1 / many) / many
        skew += share**3 * (1 - drawn) * (1 - 2 * drawn) * third / many**2
    quantile = student(confidence, len(corrections) - len(strata.items) - 1)
    shift = np.divide(skew, variance, out=np.zeros_like(skew), where=variance > 0) * (1 + 2 * quantile**2) / 6
    steps = np.sqrt(max(0.0, 1 - len(corrections) / strata.items.sum())) * reach / 2 / len(corrections)
    return Uncertainty(shift, quantile * np.sqrt(variance) + steps)


def _moments(own: Float64, low: Float64, reach: Float64, imagined: float) -> tuple[Float64, Float64, float]:
    """Second and third central moments of corrections and imagined ones, and their number. (q,), (q,)."""
    many = len(own) + imagined
    mean = (own.sum(0) + imagined * (low + reach / 2)) / many
    left, up, down = own - mean, low + reach - mean, low - mean
    second, third = (((left**r).sum(0) + imagined / 2 * (up**r + down**r)) / many for r in (2, 3))
    return second, third, many


def student(confidence: float, degrees: int) -> float:
    """The quantile of Student's t that leaves out as much on both sides together (Cornish and Fisher's expansion).

    >>> round(student(0.9, 50), 3), round(student(0.9, 10), 3)
    (1.676, 1.812)
    """
    z, v = NormalDist().inv_cdf((1 + confidence) / 2), max(degrees, 1)
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / v + second / v**2 + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384 / v**3
