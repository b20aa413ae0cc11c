"""`VoteFrame`: votes that are checked, used like a frame; and names of LFs: given, found, matched and joined."""

import copy
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Ints, html_table, show, show_names, show_some, text_table
from hyperlabel.data._classes import ABSTAIN, Classes, decode, no_label, smallest_type
from hyperlabel.data._files import Format
from hyperlabel.data._frames import is_default
from hyperlabel.data._items import NO_ORIGIN, Identity, Origin, Positions, to_pandas, to_polars
from hyperlabel.data._outcomes import Outcomes, same_outcomes
from hyperlabel.data._rows import Rows
from hyperlabel.data._values import as_list, exact_array
from hyperlabel.data._write import write_table, write_whole
from hyperlabel.errors import ParameterError, VotesError, require

HEADER = "hyperlabel.votes"
"""The key of a parquet file's metadata with the classes, LFs and name of the identifiers of votes."""

_MOST_CELLS = 1 << 33  # the most items times LFs of a dense array
_SHOWN_ROWS, _SHOWN_LFS = 10, 12


@dataclass(frozen=True, eq=False, repr=False, init=False)
class VoteFrame:
    """The votes of m LFs on n items, one column per LF.

    Attributes:
        n_items: Number of items.
        n_lfs: Number of LFs.
        classes: The classes; a vote is an index into this tuple.
        stated: Whether the classes were stated, not inferred; then no class can be added.
        lf_names: One name per LF.
        items: (n,) identifiers of the items, if the source has them.
        cells: (n, m) class numbers, -1 abstains; None if votes are held only as sparse rows.
        named: Whether the names were given; if so, LFs are matched by name, otherwise by order.
        origin: How the items were named in the input, and what was taken from the table.
        outcomes: Outcomes that are not one class; None if all votes are classes.
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
    origin: Origin = NO_ORIGIN
    outcomes: Outcomes | None = None

    @classmethod
    def from_parts(cls, classes: Classes, lf_names: tuple[str, ...], votes: Ints | Rows, **parts: Any) -> Self:
        """Votes from checked (n, m) class numbers, or rows, and other attributes."""
        self = object.__new__(cls)
        held = {"_rows": votes} if isinstance(votes, Rows) else {"cells": votes}
        names = {"classes": classes, "lf_names": lf_names, "n_items": len(votes), "n_lfs": len(lf_names)}
        vars(self).update({"stated": False, **names, **held, **parts})
        return self

    def with_parts(self, **changes: Any) -> Self:
        """The same votes with other attributes, which fit together."""
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
        return len(self.classes) + len(self.outcomes or ())

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
        """The items and their identifiers."""
        return Identity(self.n_items, self.items, self.origin)

    def __len__(self) -> int:
        return self.n_items

    def __iter__(self) -> Iterator[str]:
        return iter(self.lf_names)

    def __contains__(self, name: object) -> bool:
        return name in self.lf_names

    def __getitem__(self, key: Any) -> Any:
        """An LF's votes as (n,) classes by its name, fewer LFs by names, or fewer items by slice, mask or positions."""
        if isinstance(key, str):
            return self._decode(self._column(find_lfs(self.lf_names, [key])[0]))
        if isinstance(key, list | tuple) and key and all(isinstance(each, str) for each in key):
            return self._take_lfs(find_lfs(self.lf_names, key))
        some = self._take_items(self.identity.find_positions(key))
        if not len(some):
            raise ParameterError(f"votes[{show(key)}] has no items; expected at least one of the {self.n_items} items")
        return some

    def drop(self, *lfs: str | Sequence[str]) -> Self:
        """The votes without some LFs, by name."""
        names = [name for each in lfs for name in ([each] if isinstance(each, str) else each)]
        gone = set(find_lfs(self.lf_names, names).tolist())
        if len(gone) == self.n_lfs:
            raise ParameterError(f"lfs is {show_some(names)}, which is all of them; keep at least one LF")
        return self._take_lfs(np.array([j for j in range(self.n_lfs) if j not in gone], np.intp))

    def _decode(self, numbers: Ints) -> NDArray[Any]:
        """Name votes: classes, and outcomes by their names. (n,) -> (n,)."""
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

    def _take_items(self, positions: Positions) -> Self:
        origin = self.origin.take(positions)
        ids = None if self.items is None else self.items[positions]
        if ids is None and origin.index is not None and not is_default(origin.index) and origin.index.is_unique:
            ids = exact_array(origin.index.tolist())
        index = np.arange(self.n_items)[positions]
        rows = None if self._rows is None else self._rows.take(index)
        cells = None if self.cells is None else self.cells[positions]
        entries = self.entries_of(index)
        return self.with_parts(n_items=len(index), items=ids, origin=origin, cells=cells, _rows=rows, **entries)

    def entries_of(self, index: NDArray[np.intp]) -> dict[str, Any]:
        """Attributes of a subclass that have an entry per item, for the items of an index."""
        return {}

    def _take_lfs(self, order: NDArray[np.intp]) -> Self:
        names = tuple(self.lf_names[j] for j in order)
        if self.cells is not None:
            return self.with_parts(cells=self.cells[:, order], lf_names=names, n_lfs=len(names), _rows=None)
        index = np.full(self.n_lfs, ABSTAIN, np.int64)
        index[order] = np.arange(len(order))
        kept = self.rows.keep(index[self.rows.lf] >= 0)
        rows = Rows.from_triples(kept.row, index[kept.lf], kept.vote, self.n_items)
        return self.with_parts(lf_names=names, n_lfs=len(names), _rows=rows)

    def to_numpy(self) -> NDArray[np.signedinteger]:
        """Class numbers, which index `classes`; -1 abstains. A new array, (n, m)."""
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
        """A pandas frame with the index of the input; abstentions are -1 if classes are numbers, else None."""
        return to_pandas(self.identity, {name: self[name] for name in self.lf_names})

    def to_polars(self) -> Any:
        """A Polars frame: the identifiers, if there are any, then one column per LF, null where it abstains."""
        return to_polars(self.identity, {name: self[name] for name in self.lf_names}, nulls=self.lf_names)

    def save(self, path: str | Path) -> None:
        """Write the votes to a file in the format of its name: csv, JSON lines, parquet or Arrow.

        From parquet, `hyperlabel.read_votes` reads back equal votes, even the order of classes. Other formats hold the
        table alone. Any other ending, or none, is parquet. Needs Polars (extra `cli`).
        """
        require("polars", extra="cli")
        format = Format.of_name(Path(path).name) if isinstance(path, str | Path) else None
        if format is not None and format.kind != "parquet":
            write_table(self.to_polars(), path, argument="path")
            return
        # Outcomes may be next to classes of any kind, so then votes are written as numbers.
        numbered = self if self.outcomes is None else self.with_parts(classes=tuple(range(self.n_codes)), outcomes=None)
        frame = numbered.to_polars()
        item = frame.columns[0] if self.items is not None else None
        lfs, classes = list(self.lf_names), list(self.classes)
        header = {"classes": classes, "lfs": lfs, "item": item, "named": self.named, "stated": self.stated}
        if self.outcomes is not None:
            header["outcomes"] = self.outcomes.to_header()
        import polars as pl

        failures = pl.exceptions.PolarsError, pl.exceptions.PanicException
        metadata = {HEADER: json.dumps(header)}
        write_whole(path, lambda part: frame.write_parquet(part, metadata=metadata), failures, "path")

    def __eq__(self, other: object) -> bool:
        """Return whether the votes, classes, LFs and identifiers are the same."""
        if not isinstance(other, VoteFrame):
            return NotImplemented
        same = (self.n_items, self.lf_names, self.classes) == (other.n_items, other.lf_names, other.classes)
        same = same and list(map(type, self.classes)) == list(map(type, other.classes))
        same = same and same_outcomes(self.outcomes, other.outcomes)
        ids = [None if votes.items is None else votes.items.tolist() for votes in (self, other)]
        return same and ids[0] == ids[1] and self.rows.equals(other.rows)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        share = 1 - len(self.rows.vote) / (self.n_items * self.n_lfs)
        size = f"{self.n_items:,} items, {self.n_lfs:,} LFs"
        classes = show_names(list(map(str, self.classes[:20])))
        return f"{type(self).__name__}({size}, classes {classes}, {share:.0%} abstain)"

    def __str__(self) -> str:
        """The sizes, and the first items that have votes."""
        return text_table(*self._preview(), repr(self))

    def _repr_html_(self) -> str:
        """The sizes, and the first items that have votes, as an HTML table."""
        return html_table(*self._preview(), repr(self))

    def _preview(self) -> tuple[list[str], list[list[object]]]:
        """Header and rows of the first items that have votes, or of the first items if none has."""
        n_votes = np.diff(self.rows.starts)
        rows = np.flatnonzero((n_votes > 0) | (n_votes == 0).all())[:_SHOWN_ROWS]
        few, ids = self[rows], rows if self.items is None else self.items[rows]
        names = self.lf_names[:_SHOWN_LFS]
        columns = [[None if v == ABSTAIN else v for v in few[name].tolist()] for name in names]
        if self.n_lfs > _SHOWN_LFS:
            names, columns = (*names, "..."), [*columns, [""] * len(rows)]
        return ["item", *names], [list(row) for row in zip(ids.tolist(), *columns, strict=True)]


def name_lfs(lfs: Sequence[str] | None, m: int) -> tuple[str, ...]:
    """Return the names of m LFs, `lf0`, `lf1` and so on if none are given."""
    if lfs is None:
        return tuple(f"lf{j}" for j in range(m))
    expected = f"a list with a different name for each of the {m} columns of votes"
    names = tuple(each if isinstance(each, str) else show(each) for each in as_list(lfs, "lfs", expected))
    if len(names) != m or len(set(names)) != m:
        raise ParameterError(f"lfs is {show(lfs, 80)}; expected {expected}")
    return names


def name_once(column: str, values: Iterable[object]) -> tuple[str, ...]:
    """Return the distinct values of a column of LFs as names; refuse values that give the same name."""
    names = tuple(map(str, values))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise VotesError(f"column '{column}' has {twice!r} as a string and as a number; expected one kind of name")
    return names


def find_lfs(present: tuple[str, ...], names: Sequence[str]) -> NDArray[np.intp]:
    """Return the index of each named LF."""
    wrong = [name for name in names if name not in present]
    if wrong or not names:
        raise ParameterError(f"votes has no LF {show(wrong[0] if wrong else None)}; it has {show_some(present)}")
    return np.array([present.index(name) for name in names], np.intp)


def match_lfs(present: Sequence[str], wanted: Sequence[str]) -> NDArray[np.intp]:
    """Return the index of each wanted LF among those present; none may be missing, unknown or repeated. -> (m,)."""
    index = {name: j for j, name in enumerate(present)}
    missing = [name for name in wanted if name not in index]
    expected = set(wanted)
    unknown = [name for name in present if name not in expected]
    if missing or unknown or len(index) != len(present):
        what = f"lacks the LF {missing[0]!r}" if missing else "has two LFs with the same name"
        if unknown and not missing:
            what = f"has the LF {unknown[0]!r}, which the model was not fitted on"
        remedy = "Give the same columns, or fit again"
        if missing:
            remedy += "; or let it abstain: --missing-lfs abstain, missing_lfs of engines.label, add_lfs of Votes"
        raise VotesError(f"votes {what}; expected the LFs {show_some(wanted)}. {remedy}")
    return np.array([index[name] for name in wanted], np.intp)


def join_names(one: tuple[str, ...], more: tuple[str, ...], *, renumber: bool) -> tuple[str, ...]:
    """Return the names of LFs and of more LFs; numbering continues for those without names."""
    names = tuple(f"lf{len(one) + j}" for j in range(len(more))) if renumber else more
    twice = sorted(set(one) & set(names))
    if twice:
        raise VotesError(f"both votes have the LF {twice[0]!r}; drop it from one of them, or rename it")
    return one + names


def read_header(path: str | Path) -> dict[str, Any] | None:
    """Read the header that `write_votes` wrote beside the votes; None for other parquet files."""
    require("polars", extra="cli")
    import polars as pl

    text = None
    with suppress(pl.exceptions.PolarsError, OSError):  # the reader of the table says what is wrong
        text = pl.read_parquet_metadata(path).get(HEADER)
    if text is None:
        return None
    with suppress(ValueError, TypeError):
        header = json.loads(text)
        if set(header) >= {"classes", "lfs", "item", "named", "stated"} and isinstance(header["lfs"], list):
            return dict(header)
    raise VotesError(f"'{path}' has a header of votes that cannot be read: {show(text)}; save the votes again")
