"""Sums over votes, and assumptions, that several label models share.

A generative model adds, for each vote, a vector of log-probabilities of the classes (its evidence), and counts, for
each LF and vote, the items of each class on which it was cast. Both are sums over the e votes of the p patterns.
FlyingSquid and MeTaL learn from second moments: how often votes occur together.
"""

from collections.abc import Iterator

import numpy as np

from hyperlabel._core import Float64, Ints
from hyperlabel.data import Patterns
from hyperlabel.errors import ParameterError

PRIOR_ACCURACY = 0.7  # of an LF, before a model learns

MANY_CLASSES = 100
"""With up to this many classes, any number of votes is processed."""

MOST_LOOKS = 1 << 24
"""The most votes times classes if there are many classes; more would take minutes."""

_BLOCK = 1 << 20  # numbers held at a time
_PRODUCTS_PER_PAIR = 128  # this many multiplications in a matrix product take as long as counting one pair
DENSE = 1 << 15  # entries of a table of votes that stays in the cache and whose products BLAS does in one thread


class VoteSums:
    """The two sums, for one set of patterns.

    Few patterns are held as a table of zeros and ones, and each sum is one matrix product; many are summed vote by
    vote. `counts` are (p,) how often each pattern occurs, `n_codes` the number of possible votes: k classes, or more.
    """

    def __init__(self, patterns: Patterns) -> None:
        self.n_lfs, self.n_codes = patterns.n_lfs, patterns.n_codes
        self.counts: Float64 = patterns.counts.astype(np.float64)
        self._row = patterns.row
        self._code = patterns.lf * patterns.n_codes + patterns.vote
        shape = patterns.n_patterns, patterns.n_lfs * patterns.n_codes
        self._is_dense = shape[0] * shape[1] <= DENSE
        if self._is_dense:
            self._casts = np.zeros(shape)
            self._casts[self._row, self._code] = 1
            self._is_cast: Float64 = np.ascontiguousarray(self._casts.T * self.counts)  # (mk, p)

    def add_evidence(self, table: Float64) -> Float64:
        """Sum over each pattern's votes of `table[lf, vote]`, which is finite. (m, k, c) -> (p, c)."""
        flat = table.reshape(self.n_lfs * self.n_codes, table.shape[2])
        if self._is_dense:
            return self._casts @ flat
        summed = np.empty((len(self.counts), flat.shape[1]))
        for c in range(flat.shape[1]):
            summed[:, c] = np.bincount(self._row, weights=flat[self._code, c], minlength=len(self.counts))
        return summed

    def count_votes(self, posterior: Float64) -> Float64:
        """Sums of class probabilities over the items of each vote of each LF. (p, c) -> (m, k, c)."""
        shape = self.n_lfs, self.n_codes, posterior.shape[1]
        if self._is_dense:
            return (self._is_cast @ posterior).reshape(shape)
        weighted: Float64 = posterior * self.counts[:, None]
        counted = np.empty((self.n_lfs * self.n_codes, posterior.shape[1]))
        for c in range(posterior.shape[1]):
            counted[:, c] = np.bincount(self._code, weights=weighted[self._row, c], minlength=len(counted))
        return counted.reshape(shape)


def sum_products(patterns: Patterns, column: Ints, value: Float64, size: int) -> Float64:
    """Return sums over items of the products of their values in any two columns; exact for whole numbers.

    `column` is (e,) the column of each vote, below `size`, no two of a pattern the same; `value` (e,) its value.
    Columns without a vote have the value 0. -> (size, size), symmetric.
    """
    pairs = np.diff(patterns.starts).astype(np.int64) ** 2
    sparse = pairs.sum() * _PRODUCTS_PER_PAIR < patterns.n_patterns * size**2
    add_block = _add_pairs if sparse else _add_dense
    numbers = pairs if sparse else np.full(patterns.n_patterns, size)
    total = np.zeros((size, size))
    for start, stop in _blocks(numbers):
        add_block(total, patterns, column, value, start, stop)
    return total


def _blocks(numbers: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of patterns that together hold about a block of numbers, at least one pattern each."""
    block = np.cumsum(numbers) // _BLOCK
    edges = np.concatenate([[0], np.flatnonzero(np.diff(block)) + 1, [len(numbers)]])
    return ((int(start), int(stop)) for start, stop in zip(edges[:-1], edges[1:], strict=True) if stop > start)


def _add_dense(total: Float64, patterns: Patterns, column: Ints, value: Float64, start: int, stop: int) -> None:
    """Add a block's products by a matrix product."""
    first, last = patterns.starts[start], patterns.starts[stop]
    row = np.repeat(np.arange(stop - start), np.diff(patterns.starts[start : stop + 1]))
    cells = np.zeros((stop - start, len(total)))
    cells[row, column[first:last]] = value[first:last]
    total += cells.T @ (cells * patterns.counts[start:stop, None])


def _add_pairs(total: Float64, patterns: Patterns, column: Ints, value: Float64, start: int, stop: int) -> None:
    """Add a block's products pair by pair."""
    votes = np.diff(patterns.starts[start : stop + 1])  # of each pattern
    partners = np.repeat(votes, votes)  # of each vote, including itself
    one = np.repeat(np.arange(patterns.starts[start], patterns.starts[stop]), partners)
    begin = np.repeat(np.repeat(patterns.starts[start:stop], votes), partners)
    other = begin + np.arange(len(one)) - np.repeat(np.cumsum(partners) - partners, partners)
    products = value[one] * value[other] * np.repeat(patterns.counts[start:stop], votes**2)
    cell = column[one].astype(np.int64) * len(total) + column[other]
    total += np.bincount(cell, weights=products, minlength=total.size).reshape(total.shape)


def accurate_votes(k: int) -> Float64:
    """Return the probability of each vote by class, for an LF with the prior accuracy. -> (k, k)."""
    return np.where(np.eye(k, dtype=bool), PRIOR_ACCURACY, (1 - PRIOR_ACCURACY) / max(1, k - 1))


def numbers_by_vote(patterns: Patterns) -> int:
    """Return how many numbers there are if each LF, vote and class has one: m * k * k."""
    return patterns.n_lfs * patterns.n_classes**2


def check_looks(patterns: Patterns, who: str) -> None:
    """Refuse what would take minutes: many classes, for each of which a model looks at every vote."""
    votes, k = len(patterns.lf), patterns.n_classes
    if k > MANY_CLASSES and votes * k > MOST_LOOKS:
        raise ParameterError(
            f"votes has {k:,} classes and {votes:,} votes in different rows; {who} looks at each vote once per class, "
            f"{votes * k:,} times; at most {MOST_LOOKS:,} are possible with more than {MANY_CLASSES} classes. "
            "Use 'hlm3' or 'mv', or fewer classes"
        )
