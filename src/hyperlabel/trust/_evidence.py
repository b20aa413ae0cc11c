"""Evidence that may be looked at again and again while gold comes in: e-processes for draws without replacement.

Of N items, B are wrong. Against the null of `total` or more wrong items stands a mixture of a few smaller numbers. The
ratio of the two likelihoods of what was drawn is a nonnegative martingale under the null, whose chance to ever reach
1 / level is at most `level` (Ville, 1939; for sampling without replacement, Waudby-Smith and Ramdas, 2020). Its value
depends on the counts alone, not on the order of the draws, so a table of gold is enough.
"""

from collections.abc import Sequence
from math import floor, inf, lgamma, log

import numpy as np

from hyperlabel._core import Float64

ALTERNATIVES = (0.05, 0.3, 0.55, 0.8)
"""Numbers of wrong items that the null is tested against, as shares of its own; chosen on the public sets."""
FIRST_WEIGHT = 0.5
"""Weight of the smallest set as the one where testing starts; the others share the rest."""
_UNITS = 512  # a total is divided among strata in this many units; coarser than items is safe, only less sharp

Counts = tuple[int, int, int]  # items of a stratum, gold items among them, and gold items whose label is wrong


def log_evidence(samples: Sequence[Counts], total: int) -> float:
    """Return the logarithm of the evidence against `total` or more wrong items; one sample for each stratum.

    >>> round(log_evidence([(1000, 60, 0)], 51), 2), round(log_evidence([(1000, 60, 6)], 51), 2)
    (2.28, -3.35)
    """
    if total > sum(items - gold + wrong for items, gold, wrong in samples):
        return inf  # this many cannot be wrong: too many were seen to be right
    everything = sum(items for items, _, _ in samples)
    mixture = [
        sum(_log_likelihood(each, floor(share * total * each[0] / everything)) for each in samples)
        for share in ALTERNATIVES
    ]
    return float(np.logaddexp.reduce(mixture)) - log(len(mixture)) - _log_null(samples, total)


def find_largest(log_evidences: Sequence[float], level: float) -> int | None:
    """Return the largest of growing sets that may be accepted, by the evidence against too many wrong labels in each.

    Set k is accepted if the sum over s <= k of w_s min(e_s, ..., e_k) is at least 1 / level. For every set with too
    many wrong labels, each minimum is at most the evidence of the first such set from s on, so that the sum stays below
    a fixed average of martingales: no set is accepted wrongly, at any time, with probability 1 - level or more.

    >>> find_largest([3.0, 2.9, 2.7, 0.1], level=0.1), find_largest([0.0, 1.0], level=0.1)
    (2, None)
    """
    logs, weights = np.asarray(log_evidences, float), _log_weights(len(log_evidences))
    for last in range(len(logs) - 1, -1, -1):
        least = np.minimum.accumulate(logs[last::-1])[::-1]
        if np.logaddexp.reduce(weights[: last + 1] + least) >= -log(level):
            return last
    return None


def _log_weights(sets: int) -> Float64:
    rest = (1 - FIRST_WEIGHT) / max(sets - 1, 1)
    return np.log([1.0] if sets == 1 else [FIRST_WEIGHT, *[rest] * (sets - 1)])


def _log_null(samples: Sequence[Counts], total: int) -> float:
    """The largest log-likelihood of `total` or more wrong items, over all ways to divide them among the strata."""
    if len(samples) == 1:
        return _log_most_likely(samples[0], total)
    step = -(-total // _UNITS)
    units = max(0, -(-(total - len(samples) * (step - 1)) // step))  # what is lost by rounding down is not counted
    paths = [[_log_most_likely(each, step * u) for u in range(min(units, _most(each) // step) + 1)] for each in samples]
    falls = np.concatenate([np.diff(path) for path in paths])  # log-concave: the smallest falls come first
    return sum(path[0] for path in paths) + float(np.sort(falls)[::-1][:units].sum())


def _log_most_likely(sample: Counts, least: int) -> float:
    """The log-likelihood of the likeliest number of wrong items from `least` on."""
    items, gold, wrong = sample
    likeliest = floor(wrong * (items + 1) / gold) if gold else 0
    return _log_likelihood(sample, min(max(least, likeliest), _most(sample)))


def _log_likelihood(sample: Counts, amount: int) -> float:
    """The log-likelihood of `amount` wrong items, up to a term that is the same for all amounts."""
    items, gold, wrong = sample
    if amount < wrong or items - amount < gold - wrong:
        return -inf
    return _log_ways(amount, wrong) + _log_ways(items - amount, gold - wrong)


def _most(sample: Counts) -> int:
    """The wrong items if all that were not drawn are wrong."""
    items, gold, wrong = sample
    return items - gold + wrong


def _log_ways(n: int, r: int) -> float:
    """Logarithm of n choose r."""
    return lgamma(n + 1) - lgamma(r + 1) - lgamma(n - r + 1)
