"""Votes: the only place that checks and encodes what users hand in.

Flows in: arrays, nested lists, pandas or Polars frames, scipy.sparse matrices, wide or long. Flows out: class
numbers 0..k-1 for n items and m LFs, dense or sparse, with the names of classes, LFs and items beside them.
Code behind this door trusts what it gets.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.arrays import check_array, check_sparse, place
from hyperlabel.classes import (
    ABSTAIN,
    Classes,
    complete_classes,
    encode_column,
    find_classes,
    limit_numbers,
    missing_classes,
    show_some,
    smallest_type,
    state_classes,
)
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.frames import Column, columns_of, is_frame, is_series
from hyperlabel.rows import Rows

__all__ = ["ABSTAIN", "Rows", "Votes", "match_lfs", "to_votes"]

Ints = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Votes:
    """The votes of m LFs on n items.

    Make them with `from_array`, `from_frame`, `from_long`, `from_sparse` or `hyperlabel.read_votes`.

    Attributes:
        n_items: Number of items.
        n_lfs: Number of LFs.
        classes: The classes; a vote is a place in this tuple.
        stated: Whether the classes were stated, not inferred; then no class can be added.
        lf_names: One name per LF.
        named: Whether the names were given; LFs are matched by them then, and by their order otherwise.
        items: One identifier an item, where the source has them.
        cells: (n, m) class numbers, -1 abstains; None where votes are held as sparse rows only.
    """

    n_items: int
    n_lfs: int
    classes: Classes
    stated: bool
    lf_names: tuple[str, ...]
    items: NDArray[Any] | None = None
    cells: Ints | None = None
    _rows: Rows | None = None
    named: bool = True

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @cached_property
    def rows(self) -> Rows:
        """The votes as sparse rows."""
        if self._rows is not None:
            return self._rows
        assert self.cells is not None  # one of the two is always there
        return Rows.from_cells(self.cells)

    @classmethod
    def from_array(
        cls,
        array: object,
        *,
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
        lfs: Sequence[str] | None = None,
    ) -> "Votes":
        """Votes from an array or nested lists of integers: -1 abstains, 0..k-1 are classes.

        Args:
            array: (n, m) integers, booleans, or floats that are whole numbers.
            n_classes: Number of classes; inferred from the largest vote, at least 2, if not given.
            classes: Names of the classes, in the order of their numbers.
            lfs: Names of the LFs.

        >>> Votes.from_array([[0, 1, -1], [1, -1, 1]]).n_classes
        2
        """
        cells = check_array(array)
        high = int(cells.max())
        known, stated = _number_classes(high, n_classes, classes, lambda: f"votes{place(cells == high)} is {high}")
        n, m = cells.shape
        signed = cells.astype(np.int64) if cells.dtype == np.uint64 else cells
        return cls(n, m, known, stated, _lf_names(lfs, m), cells=signed, named=lfs is not None)

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        lfs: Sequence[str] | None = None,
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
    ) -> "Votes":
        """Votes from a wide pandas or Polars frame: one row an item, one column an LF.

        Args:
            frame: The frame. Null, NaN, an empty text and -1 abstain. Whole numbers are class numbers; texts and
                booleans are class names.
            lfs: Columns that are LFs; all if not given.
            n_classes: Number of classes; inferred if not given.
            classes: The classes, in the order their probabilities shall have; inferred if not given (texts in
                alphabetical order).

        >>> import pandas as pd
        >>> votes = Votes.from_frame(pd.DataFrame({"a": ["spam", None], "b": ["spam", "ham"]}))
        >>> votes.classes, votes.cells.tolist()
        (('ham', 'spam'), [[1, 1], [-1, 0]])
        """
        columns = columns_of(frame, lfs)
        if not columns or not len(columns[0].codes):
            rows = f" and {len(columns[0].codes)} rows" if columns else ""
            raise VotesError(f"votes has {len(columns)} LF columns{rows}; expected at least one LF and one item")
        known, stated = find_classes(columns, n_classes, classes)
        cells = np.empty((len(columns[0].codes), len(columns)), smallest_type(len(known)))
        for j, column in enumerate(columns):
            cells[:, j] = encode_column(column, known)
        n, m = cells.shape
        return cls(n, m, known, stated, tuple(column.name for column in columns), cells=cells)

    @classmethod
    def from_long(
        cls,
        frame: object,
        *,
        item: str,
        lf: str,
        vote: str,
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
    ) -> "Votes":
        """Votes from a long pandas or Polars frame: one row a vote, as crowdsourcing tools write them.

        Items keep the order in which they first appear; `items` holds their identifiers. A row without a
        vote keeps its item and adds nothing.

        Args:
            frame: The frame.
            item: Column of the item.
            lf: Column of the LF or person.
            vote: Column of the vote.
            n_classes: Number of classes; inferred if not given.
            classes: The classes; inferred if not given.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"task": [7, 7, 3], "worker": ["a", "b", "a"], "label": ["x", "y", "y"]})
        >>> votes = Votes.from_long(frame, item="task", lf="worker", vote="label")
        >>> votes.items.tolist(), votes.lf_names, votes.n_classes
        ([7, 3], ('a', 'b'), 2)
        """
        item_column, lf_column, vote_column = columns_of(frame, [item, lf, vote])
        if not len(vote_column.codes):
            raise VotesError("votes has no rows; expected at least one vote")
        _check_identified(item_column)
        _check_identified(lf_column)
        known, stated = find_classes([vote_column], n_classes, classes)
        numbers = encode_column(vote_column, known)
        item_number, items = _by_appearance(item_column)
        kept = _one_vote_a_pair(item_number, lf_column, numbers, items, known)
        rows = Rows.from_triples(item_number[kept], lf_column.codes[kept], numbers[kept], len(items))
        names = tuple(str(value) for value in lf_column.values)
        return cls(len(items), len(names), known, stated, names, items=items, _rows=rows)

    @classmethod
    def from_sparse(
        cls,
        matrix: Any,
        *,
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
        lfs: Sequence[str] | None = None,
    ) -> "Votes":
        """Votes from a scipy.sparse matrix: a stored v is class v - 1, nothing stored abstains.

        >>> import scipy.sparse
        >>> Votes.from_sparse(scipy.sparse.csr_array([[1, 0, 2], [0, 0, 1]])).rows.vote.tolist()
        [0, 1, 0]
        """
        (n, m), row, column, vote = check_sparse(matrix)
        high = int(vote.max(initial=0))

        def where() -> str:
            first = int((vote == high).argmax())
            return f"votes[{row[first]}, {column[first]}] stores {high + 1}, which is class {high}"

        known, stated = _number_classes(high, n_classes, classes, where)
        rows = Rows.from_triples(row, column, vote, n)
        return cls(n, m, known, stated, _lf_names(lfs, m), _rows=rows, named=lfs is not None)

    def with_classes(self, classes: Sequence[Hashable]) -> "Votes":
        """The same votes with the classes stated, which must hold every class that is voted for.

        >>> votes = Votes.from_array([[0, 1], [1, -1]]).with_classes([1, 0, 2])
        >>> votes.classes, votes.cells.tolist()
        ((1, 0, 2), [[1, 0], [0, -1]])
        """
        stated = state_classes(None, classes)
        assert stated is not None  # classes are given
        if stated[: self.n_classes] == self.classes:
            return replace(self, classes=stated, stated=True)
        number = {c: i for i, c in enumerate(stated)}
        self._check_unused([i for i, c in enumerate(self.classes) if c not in number], stated)
        table = np.array([number.get(c, ABSTAIN) for c in self.classes] + [ABSTAIN], smallest_type(len(stated)))
        if self.cells is not None:
            return replace(self, classes=stated, stated=True, cells=table[self.cells], _rows=None)
        rows = Rows(self.rows.starts, self.rows.lf, table[self.rows.vote].astype(np.int64))
        return replace(self, classes=stated, stated=True, _rows=rows)

    def _check_unused(self, unknown: list[int], classes: Classes) -> None:
        """Check that nobody votes for some classes, since they are not among the stated ones."""
        if not unknown:
            return
        wrong = np.flatnonzero(np.isin(self.rows.vote, unknown))
        if len(wrong):
            vote = self.classes[int(self.rows.vote[wrong[0]])]
            row = int(np.searchsorted(self.rows.starts, wrong[0], side="right")) - 1
            name = self.lf_names[int(self.rows.lf[wrong[0]])]
            raise VotesError(
                f"votes, item {row}: LF '{name}' votes {vote!r}; expected one of the classes {show_some(classes)}. "
                "Correct it, or state it in classes"
            )

    def with_lfs(self, names: Sequence[str]) -> "Votes":
        """The same votes with the LFs in the order of their names, which must be the same names.

        >>> Votes.from_array([[0, 1]], lfs=["a", "b"]).with_lfs(["b", "a"]).cells.tolist()
        [[1, 0]]
        """
        wanted = tuple(names)
        if self.lf_names == wanted:
            return self
        order = match_lfs(self.lf_names, wanted)
        if self.cells is not None:
            return replace(self, cells=self.cells[:, order], lf_names=wanted, _rows=None)
        index = np.empty(len(order), np.int64)
        index[order] = np.arange(len(order))
        item = np.repeat(np.arange(self.n_items), np.diff(self.rows.starts))
        rows = Rows.from_triples(item, index[self.rows.lf], self.rows.vote, self.n_items)
        return replace(self, lf_names=wanted, _rows=rows)

    def with_labels(self, labels: object, name: str) -> tuple["Votes", NDArray[np.int64]]:
        """Encode gold or truth; classes that only labels have are added, unless classes were stated.

        Args:
            labels: (n,) classes with -1, None or NaN for unknown; or a mapping from item to class, where an
                item is its identifier if the votes have them and its index otherwise.
            name: What to call the labels in an error.

        Returns:
            The votes, perhaps with more classes, and (n,) class numbers, -1 for unknown.

        >>> votes, gold = Votes.from_array([[0, 1], [1, 1]]).with_labels({1: 2}, "gold")
        >>> votes.n_classes, gold.tolist()
        (3, [-1, 2])
        """
        column = self._label_column(labels, name)
        extra = () if self.stated else missing_classes(column, self.classes)
        votes = replace(self, classes=self.classes + extra) if extra else self
        return votes, encode_column(column, votes.classes).astype(np.int64)

    def _label_column(self, labels: Any, name: str) -> Column:
        if isinstance(labels, Mapping):
            return self._column_of_mapping(labels, name)
        listed = is_series(labels) or isinstance(labels, np.ndarray | list | tuple)
        if not listed or getattr(labels, "ndim", 1) != 1:
            shape = f" of shape {labels.shape}" if hasattr(labels, "shape") else ""
            raise VotesError(
                f"{name} is a {type(labels).__name__}{shape}; expected one class an item in one dimension, "
                "or a mapping from item to class"
            )
        if len(labels) != self.n_items:
            raise VotesError(
                f"{name} has {len(labels)} entries but votes has {self.n_items} items; "
                "give one an item (-1 for unknown), or a mapping from item to class"
            )
        read = Column.from_series if is_series(labels) else Column.from_values
        return read(name, labels, lambda row: f"{name}[{row}]")

    def _column_of_mapping(self, labels: Mapping[Any, Any], name: str) -> Column:
        items = list(range(self.n_items)) if self.items is None else self.items.tolist()
        index = {item: i for i, item in enumerate(items)}
        values: list[Any] = [None] * self.n_items
        for item, label in labels.items():
            if item not in index:
                known = f"an index from 0 to {self.n_items - 1}" if self.items is None else f"one of {show_some(items)}"
                raise VotesError(f"{name} has the item {item!r}, which votes does not have; expected {known}")
            values[index[item]] = label
        return Column.from_values(name, values, lambda row: f"{name}[{items[row]!r}]")


def to_votes(data: object, *, n_classes: int | None = None, classes: Sequence[Hashable] | None = None) -> Votes:
    """Votes from whatever holds them: `Votes`, an array, nested lists, a wide frame or a sparse matrix.

    >>> to_votes([[0, -1], [1, 1]], classes=["ham", "spam"]).classes
    ('ham', 'spam')
    """
    if isinstance(data, Votes):
        stated = state_classes(n_classes, classes)
        if stated is None:
            return data
        return data.with_classes(stated if classes is not None else complete_classes(data.classes, n_classes))
    if is_frame(data):
        return Votes.from_frame(data, n_classes=n_classes, classes=classes)
    read = Votes.from_sparse if hasattr(data, "tocoo") else Votes.from_array
    return read(data, n_classes=n_classes, classes=classes)


def match_lfs(present: Sequence[str], wanted: Sequence[str]) -> NDArray[np.intp]:
    """Where each wanted LF stands among those present. -> (m,).

    Raises:
        VotesError: An LF is missing, unknown or there twice.

    >>> match_lfs(("a", "b"), ("b", "a")).tolist()
    [1, 0]
    """
    index = {name: j for j, name in enumerate(present)}
    missing = [name for name in wanted if name not in index]
    unknown = [name for name in present if name not in set(wanted)]
    if missing or unknown or len(index) != len(present):
        what = f"lacks the LF {missing[0]!r}" if missing else "has two LFs of one name"
        if unknown and not missing:
            what = f"has the LF {unknown[0]!r}, which was not there when the model was fitted"
        raise VotesError(f"votes {what}; expected the LFs {show_some(wanted)}. Give the same columns, or fit again")
    return np.array([index[name] for name in wanted], np.intp)


def _number_classes(
    high: int, n_classes: int | None, classes: Sequence[Hashable] | None, where: Callable[[], str]
) -> tuple[Classes, bool]:
    """The classes of class numbers up to `high`, and whether they were stated."""
    stated = state_classes(n_classes, classes)
    top, remedy = limit_numbers(None if stated is None else len(stated))
    if high >= top:
        raise VotesError(f"{where()}; expected a class from 0 to {top - 1}. {remedy}")
    return stated or tuple(range(max(2, high + 1))), stated is not None


def _lf_names(lfs: Sequence[str] | None, m: int) -> tuple[str, ...]:
    if lfs is None:
        return tuple(f"lf{j}" for j in range(m))
    if isinstance(lfs, str) or len(lfs) != m:
        raise ParameterError(f"lfs is {lfs!r:.80}; expected a list with one name for each of the {m} columns of votes")
    return tuple(map(str, lfs))


def _by_appearance(column: Column) -> tuple[Ints, NDArray[Any]]:
    """Numbers of a column's values in the order in which they first appear, and those values."""
    _, first = np.unique(column.codes, return_index=True)
    order = np.argsort(first)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    values = [column.values[code] for code in order]
    typed = np.array(values) if all(np.isscalar(value) for value in values) else None
    if typed is not None and typed.tolist() == values:
        return number[column.codes], typed
    exact = np.empty(len(values), object)  # what NumPy would round, cut or mix stays as it is
    exact[:] = values
    return number[column.codes], exact


def _check_identified(column: Column) -> None:
    empty = np.flatnonzero(column.codes < 0)
    if len(empty):
        raise VotesError(f"{column.place_of_row(int(empty[0]))} is empty; expected an identifier in every row")


def _one_vote_a_pair(
    item: Ints, lf_column: Column, numbers: Ints, items: NDArray[Any], classes: Classes
) -> NDArray[np.intp]:
    """Rows of a long table to keep: those that vote, each (item, LF) once."""
    voted = np.flatnonzero(numbers >= 0)
    order = voted[np.lexsort((lf_column.codes[voted], item[voted]))]
    same = (np.diff(item[order]) == 0) & (np.diff(lf_column.codes[order]) == 0)
    clash = np.flatnonzero(same & (np.diff(numbers[order]) != 0))
    if len(clash):
        first, second = sorted(order[clash[0] : clash[0] + 2].tolist())
        raise VotesError(
            f"votes, rows {first} and {second}: LF {lf_column.values[lf_column.codes[first]]!r} votes twice on item "
            f"{items.tolist()[item[first]]!r}, for {classes[numbers[first]]!r} and {classes[numbers[second]]!r}; "
            "expected one vote. Keep one of the rows"
        )
    kept: NDArray[np.intp] = order[np.concatenate([np.ones(min(1, len(order)), bool), ~same])]
    return kept
