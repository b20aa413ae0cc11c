"""How often votes occur together: the second moments that FlyingSquid and MeTaL learn from.

Each vote of a pattern is in a column and has a value; the moments are the sums over items of the products of
the values in two columns. They are counted pair by pair of votes where patterns are sparse, and by matrix products
of dense blocks of patterns where they are not; both in blocks, so that memory does not grow with the patterns.
"""

from collections.abc import Iterator

import numpy as np

from hyperlabel.kernels import Float64, Ints
from hyperlabel.patterns import Patterns

_BLOCK = 1 << 20  # numbers held at a time
_PRODUCTS_PER_PAIR = 128  # this many multiplications in a matrix product take as long as counting one pair


def sum_products(patterns: Patterns, column: Ints, value: Float64, size: int) -> Float64:
    """Sums over items of the products of their values in any two columns.

    Args:
        patterns: The votes.
        column: (e,) the column of each vote, below `size`; no two votes of a pattern have the same.
        value: (e,) the value of each vote; columns without a vote have the value 0.
        size: Number of columns.

    Returns:
        (size, size), symmetric. Exact for whole numbers.

    >>> from hyperlabel import Votes
    >>> patterns = Patterns.from_votes(Votes.from_array([[0, 1], [-1, 1], [0, 1]]))
    >>> sum_products(patterns, patterns.lf, np.ones(3), 2).tolist()
    [[2.0, 2.0], [2.0, 3.0]]
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
