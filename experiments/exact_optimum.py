"""Valid label vectors of the hyper label model paper (Eq. 1 and 2) and their mean, the exact optimum h*(X) (Theorem 1).

The theory uses signs, not classes: a vote is +1 (class 1), -1 (class 0) or 0 (abstain), and
a label vector is 0/1. An LF is better than random on a class when, among the items of that class, it votes
for the class more often than for the other one. A label vector is *valid* for X when, for each of the two
classes, enough LFs are better than random.

Whether a label vector is valid depends only on each LF's margins, which are sums over items. Three exact
savings follow, so that the 2^n label vectors are never listed:

- *Patterns.* Items with the same votes are exchangeable: it matters only how many of a pattern's c items are
  positive, u of them in C(c, u) ways.
- *Mirrors.* An item with all votes inverted and the inverted label shifts every margin by a constant, so a
  pattern and its mirror image are one pattern. Items without votes are free: each doubles the count.
- *Turns.* With the other patterns fixed, each LF's margin is monotonic in the largest pattern's u, so the LF
  turns better or worse than random at one u per class. Between the sorted turns nothing changes; a run of
  valid u weighs a difference of two cumulative sums of binomials.

So the search goes over the product of (c + 1) of all patterns but the largest, in blocks of bounded memory.
Counts are exact integers of any size.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from math import comb, log2, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hyperlabel.errors import VotesError
from hyperlabel.training import Quorum, quorum, to_signs

MAX_COMPOSITIONS = 2**24
"""The largest search, such as 25 items without a repeated pattern. It takes minutes; 20 items take seconds."""

MAX_ITEMS = 2**14
"""The most items with votes: the binomials of a pattern are integers of up to this many bits."""

_BLOCK_CELLS = 2**18  # compositions x turns worked on at once: a few MB
_INT64_ITEMS = 56  # n * 2^n < 2^63: counts and sums of labels fit
_Integers = NDArray[Any]  # int64, or objects holding Python integers


def probability_of_validity(m: int, n: int | None = None, assumption: Quorum = "majority") -> float:
    """The chance that a uniform pair (X, y) of n items and m LFs is valid; without n, the limit of many items.

    Given y, votes on the two classes are independent, and so are LFs: on a class of c items each LF is
    better than random with probability (1 - t) / 2, where t is the chance that its votes tie.

    The paper's appendix gives (1 - s) / 4 in the limit, where s is the chance that half of an even m are
    better: it counts s for one class. The limit is (1 - s)^2 / 4. Averaged over m in 2..60 that is 0.210 (the
    paper: 0.232), and with n in 100..2000 ties lower it to 0.165.

    >>> probability_of_validity(3), probability_of_validity(2), round(probability_of_validity(3, n=100), 3)
    (0.25, 0.0625, 0.201)
    """
    needed = quorum(m, assumption)
    if n is None:
        return float(_tail(m, needed, np.array([0.5]))[0] ** 2)
    log_factorial = np.concatenate([[0.0], np.log(np.arange(1, n + 1)).cumsum()])
    log_share = log_factorial[n] - log_factorial - log_factorial[::-1] - n * np.log(2)  # of y by positives
    enough = _tail(m, needed, (1 - _tie_probabilities(n)) / 2)
    return float(np.exp(log_share) @ (enough * enough[::-1]))


def _tie_probabilities(n: int) -> NDArray[np.float64]:
    """The chance that c uniform signs sum to 0, for c = 0..n: central trinomial coefficients / 3^c."""
    ties = [1.0, 1 / 3]
    for c in range(2, n + 1):
        ties.append(((2 * c - 1) * ties[-1] + (c - 1) * ties[-2]) / (3 * c))
    return np.array(ties[: n + 1])


def _tail(m: int, least: int, rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance of at least this many successes in m trials, for each rate. (r,) -> (r,)."""
    successes = np.arange(least, m + 1)
    ways = np.array([float(comb(m, int(j))) for j in successes])
    chance: NDArray[np.float64] = rate[:, None] ** successes * (1 - rate[:, None]) ** (m - successes) @ ways
    return chance


@dataclass(frozen=True)
class Optimum:
    """The mean of all valid label vectors."""

    # (n,) float64; the share of valid label vectors in which the item is of class 1; NaN everywhere when no label
    # vector is valid: the optimum is undefined then.
    probabilities: NDArray[np.float64]
    count: int  # how many label vectors are valid, |U_y(X)|


@dataclass(frozen=True)
class _Alike:
    """Items by pattern up to inversion; the largest group is the last."""

    signs: NDArray[np.float64]  # (g, c) float64; a group's votes on each distinct LF; its first vote is +1
    lfs: NDArray[np.int64]  # (c,) how many LFs vote alike on all items
    sizes: NDArray[np.int64]  # (g,) number of items
    mirrored: NDArray[np.int64]  # (g,) how many of them hold the inverted votes


def optimum(votes: ArrayLike, assumption: Quorum = "majority") -> Optimum:
    """h*(X): the probability of class 1 when every valid label vector is equally likely.

    The optimum is undefined when no label vector is valid. This is always so for LFs that vote for one class only:
    each is better than random on at most that class, so they cannot be a majority on both.

    Args:
        votes: (n, m) integers; -1 abstains, 0 and 1 are the classes.
        assumption: How many LFs must be better than random on each class.

    Raises:
        VotesError: `votes` are not binary votes, or too many for an exact answer.
        ParameterError: The assumption is unknown.

    >>> optimum([[1, 1, -1], [0, 0, 0], [1, 0, 1], [0, 1, 0]])
    Optimum(probabilities=array([0.75, 0.  , 0.75, 0.25]), count=4)
    """
    signs = to_signs(check_binary(votes)).astype(np.int8)
    needed = quorum(signs.shape[1], assumption)
    voted = signs.any(axis=1)
    if not voted.any():
        return _undefined(len(signs))
    groups, of_item, is_mirrored = _group(signs[voted])
    count, positives = _sum_valid(groups, needed)
    if count == 0:
        return _undefined(len(signs))
    labels = [count * int(c) for c in groups.sizes]
    share = np.array([(u / all_, (all_ - u) / all_) for u, all_ in zip(positives, labels, strict=True)])
    probabilities = np.full(len(signs), 0.5)
    probabilities[voted] = share[of_item, is_mirrored.astype(np.intp)]
    return Optimum(probabilities, count << int((~voted).sum()))


def _undefined(n: int) -> Optimum:
    return Optimum(np.full(n, np.nan), 0)


def check_binary(votes: ArrayLike) -> NDArray[np.integer]:
    """Votes as an array, if they are binary votes of at least one item and one LF."""
    try:
        array = np.asarray(votes)
    except ValueError as error:
        raise VotesError(f"votes must be a 2-D array of integers (items, LFs): {error}") from error
    if array.ndim != 2 or 0 in array.shape:
        raise VotesError(f"votes must be 2-D (items, LFs) with at least one item and one LF, got shape {array.shape}")
    if array.dtype.kind not in "iu":
        raise VotesError(f"votes must be integers (-1 abstains, 0 and 1 are classes), got {array.dtype}")
    foreign = np.argwhere((array < -1) | (array > 1))
    if len(foreign):
        i, j = foreign[0]
        raise VotesError(
            f"votes[{i}, {j}] is {array[i, j]}; expected -1 (abstain), 0 or 1, as the optimum is defined for "
            "two classes. Give one class against the rest?"
        )
    return array


def _group(signs: NDArray[np.int8]) -> tuple[_Alike, NDArray[np.intp], NDArray[np.bool_]]:
    """Merge items of equal or inverted votes: (n, m), no row empty -> groups, (n,) group, (n,) mirrored."""
    first = np.take_along_axis(signs, (signs != 0).argmax(axis=1)[:, None], axis=1)  # (n, 1)
    rows, of_item, sizes = np.unique(signs * first, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(sizes, kind="stable")
    sizes = sizes[order]
    _check_size(sizes)
    of_item = np.argsort(order)[of_item.ravel()]
    is_mirrored = first[:, 0] < 0
    mirrored = np.bincount(of_item, weights=is_mirrored, minlength=len(rows)).astype(np.int64)
    columns, lfs = np.unique(rows[order], axis=1, return_counts=True)
    return _Alike(columns.astype(np.float64), lfs, sizes, mirrored), of_item, is_mirrored


def _check_size(sizes: NDArray[np.int64]) -> None:
    n, compositions = int(sizes.sum()), prod(int(c) + 1 for c in sizes[:-1])
    if n > MAX_ITEMS:
        raise VotesError(
            f"votes has {n} items with votes; the exact optimum takes at most {MAX_ITEMS}. Give a sample of the items"
        )
    if compositions > MAX_COMPOSITIONS:
        raise VotesError(
            f"votes has {n} items in {len(sizes)} patterns (mirror images merged): the exact optimum "
            f"would search 2^{log2(compositions):.1f} compositions, above the limit of "
            f"2^{log2(MAX_COMPOSITIONS):.0f}. Give fewer items (25 always fit), or items with fewer distinct patterns"
        )


def _sum_valid(groups: _Alike, needed: int) -> tuple[int, list[int]]:
    """The number of valid label vectors, and of each group's positive labels in all of them."""
    dtype = np.int64 if groups.sizes.sum() <= _INT64_ITEMS else object
    ways = [_binomials(int(c), dtype) for c in groups.sizes]
    moments = ways[-1] * np.stack([np.ones_like(ways[-1]), np.arange(len(ways[-1])).astype(dtype)])
    cumulative = np.concatenate([np.zeros((2, 1), dtype), moments.cumsum(axis=1)], axis=1)  # (2, size + 2)
    count, last, rest = 0, 0, [0] * (len(ways) - 1)
    for positives in _compositions(groups):
        valid, positives_of_last = _sum_last(groups, positives, needed, cumulative)
        for table, u in zip(ways[:-1], positives.T, strict=True):
            valid, positives_of_last = valid * table[u], positives_of_last * table[u]
        count += int(valid.sum())
        last += int(positives_of_last.sum())
        rest = [total + int(valid @ u) for total, u in zip(rest, positives.T.astype(dtype), strict=True)]
    return count, [*rest, last]


def _binomials(size: int, dtype: type) -> _Integers:
    """C(size, u) for u = 0..size, exactly. (size + 1,)."""
    ways_of = accumulate(range(size), lambda ways, u: ways * (size - u) // (u + 1), initial=1)
    return np.array(list(ways_of), dtype)


def _compositions(groups: _Alike) -> Iterator[NDArray[np.int64]]:
    """All numbers of positive items in the groups but the last, in blocks (b, g - 1)."""
    radix = groups.sizes[:-1] + 1
    total = prod(radix.tolist())
    stride = np.concatenate([[1], np.cumprod(radix)])[:-1].astype(np.int64)
    block = max(1, _BLOCK_CELLS // (2 * len(groups.lfs)))
    for start in range(0, total, block):
        yield np.arange(start, min(start + block, total))[:, None] // stride % radix


def _sum_last(
    groups: _Alike, positives: NDArray[np.int64], needed: int, cumulative: _Integers
) -> tuple[_Integers, _Integers]:
    """Sums over the last group's valid u: of its ways, and of u times its ways. (b, g - 1) -> (b,), (b,)."""
    at_zero = -np.stack([groups.mirrored, groups.sizes - groups.mirrored]) @ groups.signs  # (2, c)
    margins = at_zero[:, None] + positives @ groups.signs[:-1]  # (2, b, c)
    row, u, step = _runs(margins, groups.signs[-1], groups.lfs, int(groups.sizes[-1]), needed)
    sums = np.zeros((2, len(positives)), cumulative.dtype)
    for total, table in zip(sums, cumulative, strict=True):
        np.add.at(total, row, -step * table[u])
    return sums[0], sums[1]


def _runs(
    margins: NDArray[np.float64],
    slope: NDArray[np.float64],
    lfs: NDArray[np.int64],
    size: int,
    needed: int,
) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int8]]:
    """Find where label vectors become valid and stop being valid, as u goes from 0 to `size`.

    From the (2, b, c) margins on class 1 and class 0 at u = 0, the (c,) slopes, -1, 0 or +1, of each margin in u, and
    the number of LFs in each column. -> three (r,) arrays: the row of `margins`, the u, and +1 if valid from u on, -1
    if no longer.
    """
    turning = slope != 0
    before = (margins[..., ~turning] > 0) @ lfs[~turning] + lfs[slope < 0].sum()  # (2, b)
    turns = np.clip(np.where(slope > 0, 1 - margins, margins)[..., turning], 0, size + 1)
    gain = np.kron(np.eye(2), (slope * lfs)[turning]).astype(np.int64)  # (2, t)
    bits = gain.shape[1].bit_length()
    keys = (np.hstack(list(turns)).astype(np.int64) << bits) | np.arange(gain.shape[1])  # (b, t)
    keys.sort(axis=1)
    gains = gain.take(keys & ((1 << bits) - 1), axis=1)  # (2, b, t)
    better = np.concatenate([before[..., None], gains], axis=2).cumsum(axis=2)  # (2, b, t + 1)
    valid = (better >= needed).all(axis=0).astype(np.int8)
    step = np.diff(valid, axis=1, prepend=np.int8(0), append=np.int8(0))  # (b, t + 2)
    row, at = np.nonzero(step)
    edges = np.pad(keys >> bits, ((0, 0), (1, 1)), constant_values=((0, 0), (0, size + 1)))
    return row, edges[row, at], step[row, at]
