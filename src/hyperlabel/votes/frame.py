"""`VoteFrame`: votes, checked when they are made, and used like a frame."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.arrays import as_list
from hyperlabel.columns.sources import exact_array, is_default
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.kernels import Ints
from hyperlabel.shown import html_table, show_names, show_some
from hyperlabel.votes.classes import ABSTAIN, Classes, decode, no_label, smallest_type
from hyperlabel.votes.items import UNKNOWN, Identity, Origin
from hyperlabel.votes.matching import check_cells, check_names, check_places, find_lfs
from hyperlabel.votes.outcomes import Outcomes, same_outcomes
from hyperlabel.votes.rows import Rows
from hyperlabel.votes.written import to_pandas, to_polars, write_votes

_MOST_CELLS = 1 << 33  # the most items times LFs of a dense array
_SHOWN_ROWS, _SHOWN_LFS = 10, 12


@dataclass(frozen=True, eq=False, repr=False)
class VoteFrame:
    """The votes of m LFs on n items, one column per LF.

    Attributes:
        n_items: Number of items.
        n_lfs: Number of LFs.
        classes: The classes; a vote is a place in this tuple.
        stated: Whether the classes were stated, not inferred; then no class can be added.
        lf_names: One name per LF.
        items: (n,) identifiers of the items, if the source has them.
        cells: (n, m) class numbers, -1 abstains; None if votes are held only as sparse rows.
        named: Whether the names were given; if so, LFs are matched by name, otherwise by order.
        origin: How the items were named in the input, and what was taken from the table.
        outcomes: Outcomes that are not one class; None if all votes are classes.

    Raises:
        VotesError: The parts do not fit together.
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
    origin: Origin = UNKNOWN
    outcomes: Outcomes | None = None

    def __post_init__(self) -> None:
        classes, names = check_names(self.classes, self.lf_names, self.n_lfs)
        vars(self).update(classes=classes, lf_names=names)
        check_cells(self.shape, self.n_codes, self.cells, self._rows)
        if self.items is not None and len(self.items) != self.n_items:
            raise VotesError(
                f"items has {len(self.items)} entries but votes has {self.n_items} items; expected one entry per item"
            )

    @classmethod
    def _trust(cls, classes: Classes, stated: bool, lf_names: tuple[str, ...], n_items: int, **more: Any) -> Self:
        """Votes whose parts are already checked."""
        votes = object.__new__(cls)
        fields = {"classes": classes, "stated": stated, "lf_names": lf_names, "n_items": n_items, **more}
        vars(votes).update(fields, n_lfs=len(lf_names))
        return votes

    def _changed(self, **changes: Any) -> Self:
        """The same votes with other parts, which fit together."""
        votes = copy.copy(self)
        vars(votes).pop("rows", None)
        vars(votes).update(changes)
        return votes

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def n_codes(self) -> int:
        """Number of possible votes: the classes, and the outcomes that are not one class."""
        return self.n_classes + (0 if self.outcomes is None else len(self.outcomes))

    @cached_property
    def rows(self) -> Rows:
        """The votes as sparse rows."""
        if self._rows is not None:
            return self._rows
        assert self.cells is not None  # one of the two always exists
        return Rows.from_cells(self.cells)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of items, number of LFs."""
        return self.n_items, self.n_lfs

    @property
    def identity(self) -> Identity:
        """How the items are identified."""
        return Identity(self.n_items, self.items, self.origin)

    def __len__(self) -> int:
        return self.n_items

    def __iter__(self) -> Iterator[str]:
        return iter(self.lf_names)

    def __contains__(self, name: object) -> bool:
        return name in self.lf_names

    def __getitem__(self, key: Any) -> Any:
        """An LF's votes as (n,) classes by its name, fewer LFs by names, or fewer items by slice, mask or places."""
        if isinstance(key, str):
            return self._decode(self._column(find_lfs(self.lf_names, [key])[0]))
        if isinstance(key, list | tuple) and key and all(isinstance(each, str) for each in key):
            return self._take_lfs(find_lfs(self.lf_names, key))
        return self._take_items(check_places(key, self.identity))

    def drop(self, *lfs: str | Sequence[str]) -> Self:
        """The votes without some LFs, by name.

        >>> from hyperlabel import Votes
        >>> Votes.from_array([[0, 1, 1]], lfs=["a", "b", "c"]).drop("a", "c").lf_names
        ('b',)
        """
        names = [
            name for each in lfs for name in ([each] if isinstance(each, str) else as_list(each, "lfs", "names of LFs"))
        ]
        gone = set(find_lfs(self.lf_names, names).tolist())
        if len(gone) == self.n_lfs:
            raise ParameterError(f"lfs is {show_some(names)}, which is all of them; keep at least one LF")
        return self._take_lfs(np.array([j for j in range(self.n_lfs) if j not in gone], np.intp))

    def to_numpy(self) -> NDArray[np.signedinteger]:
        """Class numbers, places in `classes`; -1 abstains. A new array, (n, m).

        >>> from hyperlabel import Votes
        >>> Votes.from_array([[0, -1]], classes=["ham", "spam"]).to_numpy().tolist()
        [[0, -1]]
        """
        if self.cells is not None:
            return np.array(self.cells)
        if self.n_items * self.n_lfs > _MOST_CELLS:
            raise VotesError(
                f"votes has {self.n_items:,} items and {self.n_lfs:,} LFs, too many for a dense array; use votes.rows"
            )
        cells = np.full(self.shape, ABSTAIN, smallest_type(self.n_codes))
        cells[self.rows.row, self.rows.lf] = self.rows.vote
        return cells

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        cells = self.to_numpy() if copy or self.cells is None else self.cells
        return cells if dtype is None else cells.astype(dtype, copy=False)

    def to_pandas(self) -> Any:
        """A pandas frame with the index of the input: identifiers that came in a column, then one column per LF.

        Abstentions are None if classes are strings or booleans, -1 if they are numbers.
        """
        return to_pandas(self.identity, {name: self[name] for name in self.lf_names})

    def to_polars(self) -> Any:
        """A Polars frame: the identifiers, if there are any, then one column per LF, null where it abstains."""
        return to_polars(self.identity, {name: self[name] for name in self.lf_names}, nulls=self.lf_names)

    def save(self, path: str | Path) -> None:
        """Write the votes to a parquet file; `hyperlabel.read_votes` reads back equal votes, even the order of classes.

        Needs Polars (extra `cli`).
        """
        # Outcomes may be next to classes of any kind, so then votes are written as numbers.
        numbered = self if self.outcomes is None else self._changed(classes=tuple(range(self.n_codes)), outcomes=None)
        frame = numbered.to_polars()
        item = frame.columns[0] if self.items is not None else None
        lfs, classes = list(self.lf_names), list(self.classes)
        header = {"classes": classes, "lfs": lfs, "item": item, "named": self.named, "stated": self.stated}
        if self.outcomes is not None:
            header["outcomes"] = self.outcomes.to_header()
        write_votes(path, frame, header)

    def __eq__(self, other: object) -> bool:
        """Whether the votes, classes, LFs and identifiers are the same."""
        if not isinstance(other, VoteFrame):
            return NotImplemented
        same = (self.n_items, self.lf_names, self.classes) == (other.n_items, other.lf_names, other.classes)
        same = same and list(map(type, self.classes)) == list(map(type, other.classes))
        ids = [None if votes.items is None else votes.items.tolist() for votes in (self, other)]
        one, two = self.rows, other.rows
        parts = ((one.starts, two.starts), (one.lf, two.lf), (one.vote, two.vote))
        same = same and same_outcomes(self.outcomes, other.outcomes)
        return same and ids[0] == ids[1] and all(np.array_equal(a, b) for a, b in parts)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        share = 1 - len(self.rows.vote) / (self.n_items * self.n_lfs)
        size = f"{self.n_items:,} items, {self.n_lfs:,} LFs"
        classes = show_names(list(map(str, self.classes[:20])))
        return f"{type(self).__name__}({size}, classes {classes}, {share:.0%} abstain)"

    def _repr_html_(self) -> str:
        """The first votes as an HTML table."""
        few = self[: min(_SHOWN_ROWS, self.n_items)]
        names = self.lf_names[:_SHOWN_LFS]
        ids = range(len(few)) if few.items is None else few.items.tolist()
        columns = [[None if v == ABSTAIN else v for v in few[name].tolist()] for name in names]
        more = ["..."] if self.n_lfs > _SHOWN_LFS else []
        return html_table(
            ["", *names, *more], zip(ids, *columns, *([""] * len(few) for _ in more), strict=True), repr(self)
        )

    def _decode(self, numbers: Ints) -> NDArray[Any]:
        """What the LF said: classes, and outcomes by their names. (n,) -> (n,)."""
        if self.outcomes is None:
            return decode(numbers, self.classes)
        table = np.empty(self.n_codes + 1, object)
        table[:] = [*self.classes, *self.outcomes.names, no_label(self.classes)]
        return table[numbers]

    def _column(self, j: int) -> Ints:
        """The class numbers of an LF. -> (n,)."""
        if self.cells is not None:
            return self.cells[:, j]
        votes = np.flatnonzero(self.rows.lf == j)
        column = np.full(self.n_items, ABSTAIN, np.int64)
        column[np.searchsorted(self.rows.starts, votes, side="right") - 1] = self.rows.vote[votes]
        return column

    def _take_items(self, places: slice | NDArray[np.intp]) -> Self:
        """Some items, in the order of their places."""
        origin = self.origin.take(places)
        ids = None if self.items is None else self.items[places]
        if ids is None and origin.index is not None and not is_default(origin.index) and origin.index.is_unique:
            ids = exact_array(origin.index.tolist())
        index = np.arange(self.n_items)[places]
        rows = None if self._rows is None else self._rows.take(index)
        cells = None if self.cells is None else self.cells[places]
        own = self.entries_of(index)
        return self._changed(n_items=len(index), items=ids, origin=origin, cells=cells, _rows=rows, **own)

    def entries_of(self, index: NDArray[np.intp]) -> dict[str, Any]:
        """Attributes of a subclass that have an entry per item, for the items at some places."""
        return {}

    def _take_lfs(self, order: NDArray[np.intp]) -> Self:
        """Some LFs, in their order."""
        names = tuple(self.lf_names[j] for j in order)
        if self.cells is not None:
            return self._changed(cells=self.cells[:, order], lf_names=names, n_lfs=len(names), _rows=None)
        index = np.full(self.n_lfs, ABSTAIN, np.int64)
        index[order] = np.arange(len(order))
        kept = self.rows.keep(index[self.rows.lf] >= 0)
        rows = Rows.from_triples(kept.row, index[kept.lf], kept.vote, self.n_items)
        return self._changed(lf_names=names, n_lfs=len(names), _rows=rows)

    def _dense(self) -> Self:
        return self._changed(cells=self.to_numpy(), _rows=None)
