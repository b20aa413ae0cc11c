"""Exact bounds on how many of some items are wrong, from a random sample drawn without replacement.

Of N items, B are wrong; of n items drawn at random, X are. X has the hypergeometric distribution, whatever made the
items wrong. As N grows it becomes the binomial, and `most_wrong` the bound of Clopper and Pearson (Biometrika, 1934).

If a sample was drawn from several strata, each gives its own p-value, and Fisher's method joins them: the p-value of
a total is the largest over all ways to divide the total among the strata (Ottoboni et al., "Risk-limiting audits by
stratified union-intersection tests of elections", 2018).
"""

from collections.abc import Sequence
from math import exp, factorial, lgamma, log
from typing import NamedTuple

import numpy as np

from hyperlabel.kernels import Float64

_UNITS = 512  # a total is divided among strata in this many units; coarser than items is safe, only less sharp
_NOTHING = 1e-17  # terms that are this small relative to their sum do not change it


class Sample(NamedTuple):
    """What is known about some items from a random sample of them."""

    items: int  # how many there are
    gold: int  # how many of them were drawn
    wrong: int  # how many of those drawn are wrong


def p_value(samples: Sequence[Sample], total: int) -> float:
    """The largest chance to see this few wrong items, if `total` or more are wrong; one sample for each stratum.

    >>> round(p_value([Sample(items=10**8, gold=45, wrong=0)], 5 * 10**6), 4)  # 0.95 ** 45
    0.0994
    """
    if total > sum(map(_most, samples)):
        return 0.0  # this many cannot be wrong: too many were seen to be right
    if len(samples) == 1:
        return exp(_log_chance(samples[0], total))
    step = -(-total // _UNITS)
    units = max(0, -(-(total - len(samples) * (step - 1)) // step))  # what is lost by rounding down is not counted
    falls = np.concatenate([_falls(each, step, units) for each in samples])
    joint = float(np.sort(falls)[::-1][:units].sum())  # no way to divide has a larger product
    return _fisher(joint, len(samples))


def most_wrong(samples: Sequence[Sample], level: float) -> int:
    """Upper bound on the wrong items: with probability 1 - level or more there are no more.

    >>> most_wrong([Sample(items=1000, gold=100, wrong=2)], level=0.1), most_wrong([Sample(50, 50, 3)], level=0.1)
    (50, 3)
    """
    low, high = sum(each.wrong for each in samples), sum(map(_most, samples))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if p_value(samples, middle) > level else (low, middle - 1)
    return low


def least_wrong(sample: Sample, level: float) -> int:
    """Lower bound on the wrong items, like `most_wrong`, from a bound on the right ones.

    >>> least_wrong(Sample(items=1000, gold=100, wrong=2), level=0.1)
    6
    """
    right = Sample(sample.items, sample.gold, sample.gold - sample.wrong)
    return sample.items - most_wrong([right], level)


def _falls(sample: Sample, step: int, units: int) -> Float64:
    """How the logarithm of the chance falls with each unit of wrong items, as far as there can be more. (u,)."""
    return np.diff([_log_chance(sample, step * u) for u in range(min(units, _most(sample) // step) + 1)])


def _most(sample: Sample) -> int:
    """The wrong items if all that were not drawn are wrong."""
    return sample.items - sample.gold + sample.wrong


def _fisher(log_product: float, strata: int) -> float:
    """The chance that independent p-values have a product this small: the tail of chi squared, 2 degrees each."""
    terms = ((-log_product) ** i / factorial(i) for i in range(strata))
    return min(1.0, exp(log_product) * sum(terms))


def _log_chance(sample: Sample, amount: int) -> float:
    """Logarithm of the chance to draw at most as many wrong items as the sample has, if `amount` are wrong.

    The terms are added from the last one down, each from its ratio to the one before.
    """
    items, gold, wrong = sample
    if amount <= wrong:
        return 0.0
    others = items - amount - gold  # items that are neither wrong nor drawn, if all that were drawn are right
    term = total = 1.0
    for i in range(wrong, max(0, -others), -1):
        term *= i * (others + i) / ((amount - i + 1) * (gold - i + 1))
        total += term
        if term < _NOTHING * total:
            break
    last = _log_ways(amount, wrong) + _log_ways(items - amount, gold - wrong) - _log_ways(items, gold)
    return min(0.0, last + log(total))


def _log_ways(n: int, r: int) -> float:
    """Logarithm of n choose r."""
    return lgamma(n + 1) - lgamma(r + 1) - lgamma(n - r + 1)
