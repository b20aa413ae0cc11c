"""Rows: votes without the abstentions, the form of sparse votes and of patterns.

All numbers are int64, even if they came in a narrower type, so code can compute with them. Rows of a dense array make
them when first needed; code that works on dense rows never needs them.
"""

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Ints, check_memory, quiet_product, row_blocks, show
from hyperlabel.data._values import is_masked, is_sparse, looks_like_number
from hyperlabel.errors import VotesError

Numbers = NDArray[np.int64]

MANY_ROWS = 1 << 13  # from this many on, rows of a dense array stay dense
_LARGEST = 2.0**53  # larger whole floats are not exact
_PER_LINE = 8  # numbers of memory that an item or an LF takes even if it has no votes: its start, its name


@dataclass(frozen=True, eq=False)
class Rows:
    """Sparse vote rows."""

    starts: Numbers  # (n + 1,) where each row's votes begin
    lf: Numbers  # (e,) the LF of each vote, increasing within a row
    vote: Numbers  # (e,) the class number of each vote

    @staticmethod
    def from_cells(cells: Ints) -> "Rows":
        """Return the rows of a dense array. (n, m) -> rows."""
        starts, lfs = _count_starts(cells), np.arange(cells.shape[1])[None]
        lf, vote = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.int64)
        for block in row_blocks(*cells.shape):
            numbers, lf_of_cell = cells[block].reshape(-1), lfs.repeat(block.stop - block.start, 0).reshape(-1)
            voted = (numbers >= 0).nonzero()[0]
            votes = slice(starts[block.start], starts[block.stop])
            lf[votes], vote[votes] = lf_of_cell.take(voted), numbers.take(voted)
        return Rows(starts, lf, vote)

    @staticmethod
    def copy(cells: Ints, index: Ints, k: int) -> "Rows":
        """Copy some rows of a dense array of k possible votes; many stay dense, as sums may need no more."""
        if len(index) < MANY_ROWS:
            return Rows.from_cells(cells[index])
        dense = np.empty((len(index), cells.shape[1]), np.min_scalar_type(-max(2, k)))
        for block in row_blocks(*dense.shape):
            dense[block] = _take_cells(cells, index[block])
        return DenseRows(dense)

    @classmethod
    def from_triples(cls, item: Ints, lf: Ints, vote: Ints, n: int) -> "Rows":
        """Return n rows of votes that come as (item, LF, vote) in any order. (e,) each -> rows."""
        order = np.lexsort((lf, item))
        starts = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(item, minlength=n), out=starts[1:])
        return cls(starts, lf[order].astype(np.int64), vote[order].astype(np.int64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def row(self) -> NDArray[np.intp]:
        """The row of each vote. (e,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def to_cells(self, m: int) -> Ints:
        """Return a dense array of the smallest type, -1 abstains; not to be changed. -> (n, m)."""
        cells = np.full((len(self), m), -1, np.min_scalar_type(-2 - self.vote.max(initial=0)))
        cells[self.row, self.lf] = self.vote
        return cells

    def voted_classes(self, k: int) -> NDArray[np.bool_]:
        """Return whether any LF votes for each class. -> (k,)."""
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

    def equals(self, other: "Rows") -> bool:
        """Return whether other rows have the same votes."""
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ("starts", "lf", "vote"))


class DenseRows(Rows):
    """Rows of a dense (n, m) array, which is not to be changed; their single votes are made when first needed."""

    cells: Ints

    def __init__(self, cells: Ints) -> None:
        object.__setattr__(self, "cells", cells)  # rows are frozen

    @cached_property
    def starts(self) -> Numbers:
        """The first vote of each row. (n + 1,)."""
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
        """Return whether any LF votes for each class; a few rows are enough if all classes have votes. -> (k,)."""
        voted = np.zeros(k + 1, bool)  # the last is for abstaining
        for block in row_blocks(*self.cells.shape):
            voted[self.cells[block]] = True
            if voted[:k].all():
                break
        return voted[:k]

    def part(self, start: int, stop: int) -> Rows:
        """The rows from one index up to another."""
        return DenseRows(self.cells[start:stop])

    def take(self, index: Ints) -> Rows:
        """The rows of an index, in its order."""
        return DenseRows(_take_cells(self.cells, index))


def _take_cells(cells: Ints, index: Ints) -> Ints:
    """Copy some rows of a dense array. (n, m), (p,) -> (p, m).

    NumPy's `take` is faster, but copies all of an array of columns, such as one from a frame, before it takes any row.
    """
    return cells.take(index, axis=0) if cells.flags.c_contiguous else cells[index]


def _count_starts(cells: Ints) -> Numbers:
    """Return where each row's votes would begin. (n, m) -> (n + 1,)."""
    starts, ones = np.zeros(len(cells) + 1, np.int64), np.ones(cells.shape[1], np.float32)
    for block in row_blocks(*cells.shape):  # a product with ones is the fastest way to add short rows
        starts[1:][block] = quiet_product((cells[block] >= 0).astype(np.float32), ones)
    return starts.cumsum(out=starts)


# Arrays and sparse matrices of users.


def check_array(array: object) -> Ints:
    """An (n, m) array of integers, each at least -1, or a clear error."""
    cells = array if type(array) is np.ndarray else _as_cells(array)
    if cells.ndim != 2:
        raise VotesError(
            f"votes has shape {cells.shape}; expected 2-D (items, LFs). One LF is a single column: reshape(-1, 1)"
        )
    if 0 in cells.shape:
        raise VotesError(f"votes has shape {cells.shape}; expected at least one item and one LF")
    if cells.dtype.kind not in "iu":  # wide unsigned ones stay: their values are compared before they are used
        cells = _as_integers(cells)
    low = int(cells.min())
    if low < -1:
        raise VotesError(
            f"votes{first_index(cells == low)} is {low}; expected -1 to abstain, or a class number, 0 or more"
        )
    return cells


def check_sparse(matrix: Any) -> tuple[tuple[int, int], Ints, Ints, Ints]:
    """Shape, row, column and class number of every vote that a scipy.sparse matrix stores, or a clear error."""
    if not is_sparse(matrix):
        raise VotesError(f"votes is of type {type(matrix).__name__}; expected a scipy.sparse matrix or array")
    if len(matrix.shape) != 2 or min(matrix.shape) < 1:
        raise VotesError(f"votes has shape {matrix.shape}; expected 2-D (items, LFs) with at least one of each")
    n, m = matrix.shape
    check_memory(_PER_LINE * (n + m), f"a sparse matrix of {n:,} items and {m:,} LFs", "leave out empty ones")
    coo = matrix.asformat("coo")
    if coo.dtype.kind not in "iubf":
        raise VotesError(f"votes has the type {coo.dtype}; expected integers, each a class number plus 1")
    stored = np.flatnonzero(coo.data != 0)
    row, column, data = coo.row[stored], coo.col[stored], coo.data[stored]
    _check_stored_once(row, column, data)
    wrong = np.flatnonzero(~_is_whole(data) | (data < 1))
    if len(wrong):
        i, j, value = row[wrong[0]], column[wrong[0]], data[wrong[0]]
        raise VotesError(f"votes[{i}, {j}] stores {value}; expected a class number plus 1, or nothing to abstain")
    return (n, m), row, column, data.astype(np.int64) - 1


def _check_stored_once(row: Ints, column: Ints, data: NDArray[Any]) -> None:
    order = np.lexsort((column, row))
    same = (np.diff(row[order]) == 0) & (np.diff(column[order]) == 0)
    if same.any():
        first, second = order[np.flatnonzero(same)[0] :][:2]
        raise VotesError(
            f"votes[{row[first]}, {column[first]}] is stored twice, as {data[first]} and {data[second]}; "
            "expected one value per cell. Keep one (scipy's sum_duplicates would add them)"
        )


def first_index(wrong: NDArray[np.bool_]) -> str:
    """Show the index of the first wrong value: '[3, 1]'."""
    first = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return f"[{', '.join(map(str, first))}]"


def _as_cells(array: object) -> NDArray[Any]:
    if is_masked(array):
        raise VotesError("votes is a masked array; expected -1 where an LF abstains: votes.filled(-1)")
    try:
        cells = np.asarray(None if isinstance(array, str | bytes | Mapping) else array)
    except ValueError as error:
        raise VotesError(
            f"votes is ragged{_odd_row(array)}; expected one vote per LF in every row, -1 to abstain"
        ) from error
    if not cells.ndim:
        raise VotesError(
            f"votes is {show(array)} ({type(array).__name__}); expected an (items, LFs) array, nested lists, a pandas "
            "or Polars DataFrame, or a scipy.sparse matrix. For a file use hyperlabel.read_votes"
        )
    return cells


def _odd_row(array: object) -> str:
    """Describe the first row of a list that differs from row 0."""
    rows = array if isinstance(array, Sequence) else []
    sized = [getattr(row, "ndim", isinstance(row, Sequence)) for row in rows]
    shown = [f"{len(row)} votes" if is_sized else "no list" for row, is_sized in zip(rows, sized, strict=True)]
    odd = next((i for i, each in enumerate(shown) if each != shown[0]), None)
    return "" if odd is None else f": row {odd} has {shown[odd]}, row 0 has {shown[0]}"


def _as_integers(cells: NDArray[Any]) -> Ints:
    """Turn cells of any other type into integers."""
    if cells.dtype.kind == "b":
        return cells.astype(np.int8)
    if cells.dtype.kind in "mM":  # those in nanoseconds would become numbers
        raise VotesError(f"votes[0, 0] is {cells[0, 0]} in an array of type {cells.dtype}; expected integers")
    if cells.dtype.kind != "f":
        cells = _as_floats(cells)
    whole = _is_whole(cells)
    if not whole.all():
        value = cells[~whole][0]
        hint = "Use -1 to abstain, or a DataFrame, where NaN abstains" if np.isnan(value) else "Votes are class numbers"
        raise VotesError(f"votes{first_index(~whole)} is {value}; expected a whole number. {hint}")
    return cells.astype(np.int64)


def _as_floats(cells: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers that an array holds as objects; an error names the cell that is not a number."""
    values = cells.ravel().tolist()
    odd = [i for i, value in enumerate(values) if not isinstance(value, numbers.Real | np.bool_)]
    if not odd:
        large = np.abs(cells) > np.finfo(np.float64).max  # Python's own integers have no limit
        if large.any():
            raise VotesError(f"votes{first_index(large)} is {show(cells[large][0])}; expected a class number")
        return cells.astype(np.float64)
    # If one cell is a string, NumPy turns all into strings: the one to blame does not read like a number.
    words = [i for i in odd if not (isinstance(values[i], str) and looks_like_number(values[i]))]
    first = (words or odd)[0]
    i, j = divmod(first, cells.shape[1])
    raise VotesError(
        f"votes[{i}, {j}] is {show(values[first])} in an array of type {cells.dtype}; expected integers. "
        "Use -1 to abstain; for class names use a DataFrame"
    )


def _is_whole(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of the values that are whole numbers and fit into an int64."""
    if values.dtype.kind != "f":
        return values <= np.iinfo(np.int64).max
    largest = min(_LARGEST, float(np.finfo(values.dtype).max))
    whole: NDArray[np.bool_] = (values == np.round(values)) & (np.abs(values) < largest)
    return whole
