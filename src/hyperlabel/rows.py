"""Rows: votes without the abstentions, the form in which sparse votes and patterns are held.

All numbers are int64, whatever narrow type they came in: code behind may compute with them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer]
Numbers = NDArray[np.int64]

_BLOCK_CELLS = 1 << 14  # cells that are read at a time, so that they stay in the cache


@dataclass(frozen=True, eq=False)
class Rows:
    """Sparse vote rows.

    Attributes:
        starts: (n + 1,) where each row's votes begin.
        lf: (e,) the LF of each vote, increasing within a row.
        vote: (e,) the class number of each vote.
    """

    starts: Numbers
    lf: Numbers
    vote: Numbers

    @classmethod
    def from_cells(cls, cells: Ints, index: Ints | None = None) -> "Rows":
        """From a dense array, or from the rows of an index into it. (n, m) -> rows."""
        if index is not None and 2 * len(index) < len(cells):
            cells, index = cells.take(index, axis=0), None
        index, m = np.arange(len(cells)) if index is None else index, cells.shape[1]
        step = max(1, _BLOCK_CELLS // m)
        starts = np.zeros(len(index) + 1, np.int64)
        np.cumsum(_count_votes(cells, step)[index], out=starts[1:])
        lf, vote = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.int64)
        lf_of_cell = np.tile(np.arange(m), min(step, len(index)))
        for first in range(0, len(index), step):
            block = cells.take(index[first : first + step], axis=0).reshape(-1)
            voted = np.flatnonzero(block >= 0)
            votes = slice(starts[first], starts[min(first + step, len(index))])
            lf[votes], vote[votes] = lf_of_cell.take(voted), block.take(voted)
        return cls(starts, lf, vote)

    @classmethod
    def from_triples(cls, item: Ints, lf: Ints, vote: Ints, n: int) -> "Rows":
        """From one (item, LF, vote) a vote, in any order. (e,) each -> n rows."""
        order = np.lexsort((lf, item))
        starts = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(item, minlength=n), out=starts[1:])
        return cls(starts, lf[order].astype(np.int64), vote[order].astype(np.int64))

    def take(self, index: Ints) -> "Rows":
        """The rows of an index, in its order."""
        sizes = np.diff(self.starts)[index]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        source = np.repeat(self.starts[index] - starts[:-1], sizes) + np.arange(starts[-1])
        return Rows(starts, self.lf[source], self.vote[source])

    def concatenate(self, other: "Rows") -> "Rows":
        """These rows, then the others."""
        starts = np.concatenate([self.starts, other.starts[1:] + self.starts[-1]])
        return Rows(starts, np.concatenate([self.lf, other.lf]), np.concatenate([self.vote, other.vote]))

    def equal(self, index: Ints) -> bool:
        """Whether each row i equals row index[i]."""
        sizes = np.diff(self.starts)
        if not np.array_equal(sizes[index], sizes):
            return False
        source = np.repeat(self.starts[index] - self.starts[:-1], sizes) + np.arange(self.starts[-1])
        return np.array_equal(self.lf[source], self.lf) and np.array_equal(self.vote[source], self.vote)

    def equal_to(self, index: Ints, other: "Rows", other_index: Ints) -> bool:
        """Whether the rows of an index equal other rows of another index, one by one."""
        here, there = self.starts[index], other.starts[other_index]
        sizes = self.starts[index + 1] - here
        if (other.starts[other_index + 1] - there != sizes).any():
            return False
        source = (here - np.cumsum(sizes) + sizes).repeat(sizes) + np.arange(sizes.sum())
        shifted = source + (there - here).repeat(sizes)
        same_lfs, same_votes = self.lf[source] == other.lf[shifted], self.vote[source] == other.vote[shifted]
        return bool(same_lfs.all() and same_votes.all())


def _count_votes(cells: Ints, step: int) -> Numbers:
    """The votes of each row, so many rows at a time; a product with ones is the quickest way to add short rows."""
    ones = np.ones(cells.shape[1], np.float32)
    counts = [(cells[i : i + step] >= 0).astype(np.float32) @ ones for i in range(0, len(cells), step)]
    return np.concatenate(counts).astype(np.int64)
