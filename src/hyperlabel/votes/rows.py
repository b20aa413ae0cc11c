"""Rows: votes without the abstentions, the form in which sparse votes and patterns are held.

All numbers are int64, even if they came in a narrower type, so code can compute with them. Rows of a dense array make
them when first needed; code that works on dense rows never needs them.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Ints, quiet_product, row_blocks

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Sparse vote rows."""

    starts: Numbers  # (n + 1,) where each row's votes begin
    lf: Numbers  # (e,) the LF of each vote, increasing within a row
    vote: Numbers  # (e,) the class number of each vote

    @staticmethod
    def from_cells(cells: Ints) -> "Rows":
        """From a dense array. (n, m) -> rows."""
        starts, lfs = _count_starts(cells), np.arange(cells.shape[1])[None]
        lf, vote = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.int64)
        for block in row_blocks(*cells.shape):
            numbers, lf_of_cell = cells[block].reshape(-1), lfs.repeat(block.stop - block.start, 0).reshape(-1)
            voted = (numbers >= 0).nonzero()[0]
            votes = slice(starts[block.start], starts[block.stop])
            lf[votes], vote[votes] = lf_of_cell.take(voted), numbers.take(voted)
        return Rows(starts, lf, vote)

    @classmethod
    def from_triples(cls, item: Ints, lf: Ints, vote: Ints, n: int) -> "Rows":
        """From one (item, LF, vote) per vote, in any order. (e,) each -> n rows."""
        order = np.lexsort((lf, item))
        starts = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(item, minlength=n), out=starts[1:])
        return cls(starts, lf[order].astype(np.int64), vote[order].astype(np.int64))

    @property
    def row(self) -> NDArray[np.intp]:
        """The row of each vote. (e,)."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def to_cells(self, m: int) -> Ints:
        """As a dense array of the smallest type, -1 abstains; not to be changed. -> (n, m)."""
        cells = np.full((len(self.starts) - 1, m), -1, np.min_scalar_type(-2 - self.vote.max(initial=0)))
        cells[self.row, self.lf] = self.vote
        return cells

    def voted_classes(self, k: int) -> NDArray[np.bool_]:
        """Whether any LF votes for each class. -> (k,)."""
        return np.bincount(self.vote, minlength=k) > 0

    def part(self, start: int, stop: int) -> "Rows":
        """The rows from one index up to another."""
        votes = slice(self.starts[start], self.starts[stop])
        return Rows(self.starts[start : stop + 1] - self.starts[start], self.lf[votes], self.vote[votes])

    def take(self, index: Ints) -> "Rows":
        """The rows of an index, in its order."""
        sizes = np.diff(self.starts)[index]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        source = np.repeat(self.starts[index] - starts[:-1], sizes) + np.arange(starts[-1])
        return Rows(starts, self.lf[source], self.vote[source])

    def keep(self, kept: NDArray[np.bool_]) -> "Rows":
        """The rows with only some of their votes, by a mask. (e,)."""
        starts = np.append(0, np.cumsum(kept))[self.starts]
        return Rows(starts, self.lf[kept], self.vote[kept])

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


class DenseRows(Rows):
    """Rows of a dense (n, m) array, which is not to be changed; their single votes are made when first needed."""

    cells: Ints

    def __init__(self, cells: Ints) -> None:
        object.__setattr__(self, "cells", cells)  # rows are frozen

    @staticmethod
    def copy_cells(cells: Ints, index: Ints, dtype: np.dtype[np.signedinteger]) -> "DenseRows":
        """From a copy of some rows of a dense array, in a type that holds every class number. (n, m), (p,) -> rows."""
        taken = np.empty((len(index), cells.shape[1]), dtype)
        for block in row_blocks(*taken.shape):
            taken[block] = take_cells(cells, index[block])
        return DenseRows(taken)

    @cached_property
    def starts(self) -> Numbers:
        """Where each row's votes begin. (n + 1,)."""
        return _count_starts(self.cells)

    @property
    def lf(self) -> Numbers:
        """The LF of each vote. (e,)."""
        return self._sparse.lf

    @property
    def vote(self) -> Numbers:
        """The class number of each vote. (e,)."""
        return self._sparse.vote

    @cached_property
    def _sparse(self) -> Rows:
        return Rows.from_cells(self.cells)

    def to_cells(self, m: int) -> Ints:
        """The dense array. -> (n, m)."""
        return self.cells

    def voted_classes(self, k: int) -> NDArray[np.bool_]:
        """Whether any LF votes for each class; a few rows are enough if all classes have votes. -> (k,)."""
        found = np.zeros(k + 1, bool)  # the last is for abstaining
        for block in row_blocks(*self.cells.shape):
            found[self.cells[block]] = True
            if found[:k].all():
                break
        return found[:k]

    def part(self, start: int, stop: int) -> Rows:
        """The rows from one index up to another."""
        return DenseRows(self.cells[start:stop])

    def take(self, index: Ints) -> Rows:
        """The rows of an index, in its order."""
        return DenseRows(take_cells(self.cells, index))


def take_cells(cells: Ints, index: Ints) -> Ints:
    """Some rows of a dense array, a copy. (n, m), (p,) -> (p, m).

    NumPy's `take` is faster, but copies all of an array of columns, such as one from a frame, before it takes any row.
    """
    return cells.take(index, axis=0) if cells.flags.c_contiguous else cells[index]


def _count_starts(cells: Ints) -> Numbers:
    """Where each row's votes would begin. (n, m) -> (n + 1,)."""
    starts, ones = np.zeros(len(cells) + 1, np.int64), np.ones(cells.shape[1], np.float32)
    for block in row_blocks(*cells.shape):  # a product with ones is the fastest way to add short rows
        starts[1:][block] = quiet_product((cells[block] >= 0).astype(np.float32), ones)
    return starts.cumsum(out=starts)
