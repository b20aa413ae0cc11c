"""Anything that holds the columns of a table: pandas, Polars, Arrow, Hugging Face datasets, lists of records.

`open_table` gives one small interface to all of them. A library is imported only if one of its objects is given.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.frames import Column, factorize_frame, holds_single_values, library_of
from hyperlabel.errors import MissingExtraError, VotesError
from hyperlabel.shown import show
from hyperlabel.tables import reading

GLANCE = 1000
"""Rows that are checked in a column that is left out by name."""


class MemoryTable(Protocol):
    """A table in memory."""

    @property
    def names(self) -> list[str]:
        """The names of its columns; empty for a nameless column."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def index(self) -> Any:
        """The pandas index, or None."""

    def columns(self, names: Sequence[str], rows: int | None = None) -> list[Column]:
        """Factorized columns, of the first rows if a number is given. Columns that were not read are left out."""

    def identifiers(self, name: str) -> NDArray[Any] | None:
        """The values of a column; None if they are not unique or one is missing."""


def holds_columns(data: object) -> bool:
    """Whether data is something that `open_table` opens.

    >>> holds_columns([{"a": 1}]), holds_columns([[0, 1]])
    (True, False)
    """
    return _opener(data) is not None


def open_table(data: Any, wanted: Callable[[list[str]], Sequence[str]] | None = None) -> MemoryTable:
    """A table in memory from anything that holds its columns.

    Args:
        data: A pandas or Polars frame, a Polars LazyFrame, a pyarrow Table, a Hugging Face Dataset, or a list of
            records.
        wanted: Which columns are needed; a lazy frame reads no others.

    >>> open_table([{"a": 1}, {"a": 2, "b": 3}]).names
    ['a', 'b']
    """
    opener = _opener(data)
    if opener is None:
        many = ". Choose one of its splits, such as data['train']" if library_of(data, "DatasetDict") else ""
        raise VotesError(
            f"votes is of type {type(data).__name__}; expected a pandas or Polars DataFrame, a pyarrow Table, a "
            f"Hugging Face Dataset, or a list of records{many}"
        )
    return opener(data, wanted or list)


_Wanted = Callable[[list[str]], Sequence[str]]


def _opener(data: object) -> Callable[[Any, _Wanted], MemoryTable] | None:
    """What opens data of this class."""
    openers: dict[tuple[str, str], Callable[[Any, _Wanted], MemoryTable]] = {
        ("pandas", "DataFrame"): lambda frame, _: _Pandas.of(frame),
        ("polars", "DataFrame"): lambda frame, _: _Polars(frame, list(frame.columns)),
        ("polars", "LazyFrame"): _collect,
        ("pyarrow", "Table"): _open_arrow,
        ("pyarrow", "RecordBatch"): _open_arrow,
        ("datasets", "Dataset"): lambda data, wanted: _open_arrow(data.with_format("arrow")[:], wanted),
    }
    listed = isinstance(data, list | tuple) and isinstance(next(iter(data), None), Mapping)
    if listed and all(isinstance(each, Mapping) for each in data):  # type: ignore[attr-defined]
        return lambda records, _: _Records.of(records)
    found = ((library, kind) for library, kind in openers if library_of(data, kind) == library)
    return openers.get(next(found, ("", "")))


def _collect(frame: Any, wanted: _Wanted) -> MemoryTable:
    with reading("votes", "table"):  # its file may be gone
        names = frame.collect_schema().names()
        return _Polars(frame.select(exactly(wanted(names))).collect(), names)


def exactly(names: Sequence[str]) -> list[Any]:
    """Columns by exact name, as Polars could take a name for a pattern."""
    import polars.selectors as cs

    return [cs.by_name(name) for name in dict.fromkeys(names)]


def _open_arrow(table: Any, wanted: _Wanted) -> MemoryTable:
    try:
        import polars as pl
    except ImportError:
        if not hasattr(table, "to_pandas"):
            raise MissingExtraError("this needs the package 'polars'; run: pip install 'hyperlabel[cli]'") from None
        return _Pandas.of(table.to_pandas())
    with reading("votes", "Arrow"):  # Polars does not know all of its types
        frame: Any = pl.from_arrow(table)
    return _Polars(frame, list(frame.columns))


def _name_of(name: Any) -> str:
    """The name of a pandas column, which may be any object; a missing value means no name."""
    if name is None or type(name).__name__ in ("NAType", "NaTType") or (isinstance(name, float) and name != name):
        return ""
    try:
        return str(name)
    except Exception:  # an object may raise anything when it is converted to a string
        return show(name)


@dataclass(frozen=True, eq=False)
class _Pandas:
    frame: Any
    names: list[str]
    n_rows: int
    index: Any

    @classmethod
    def of(cls, frame: Any) -> "_Pandas":
        names = [_name_of(name) for name in frame.columns]
        return cls(frame, names, len(frame), frame.index)

    def columns(self, names: Sequence[str], rows: int | None = None) -> list[Column]:
        place = {name: j for j, name in enumerate(self.names)}
        frame = self.frame if rows is None else self.frame.iloc[:rows]
        return factorize_frame(frame, [place[name] for name in names], names)

    def identifiers(self, name: str) -> NDArray[Any] | None:
        column = self.frame.iloc[:, self.names.index(name)]
        try:
            return exact_array(column.tolist()) if column.is_unique and not column.hasnans else None
        except TypeError:  # values such as lists, which cannot be identifiers
            return None


@dataclass(frozen=True, eq=False)
class _Polars:
    frame: Any  # for a lazy frame, the columns that were read
    names: list[str]
    index: Any = None

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    def columns(self, names: Sequence[str], rows: int | None = None) -> list[Column]:
        place = {name: j for j, name in enumerate(self.frame.columns)}
        frame = self.frame if rows is None else self.frame.head(rows)
        read = [name for name in names if name in place]
        return factorize_frame(frame, [place[name] for name in read], read)

    def identifiers(self, name: str) -> NDArray[Any] | None:
        column = self.frame[name]
        if not holds_single_values(column.dtype) or column.null_count() or column.n_unique() != len(column):
            return None
        return exact_array(column.to_list())


@dataclass(frozen=True, eq=False)
class _Records:
    records: Sequence[Mapping[str, Any]]
    names: list[str]
    n_rows: int
    index: Any = None

    @classmethod
    def of(cls, records: Sequence[Mapping[Any, Any]]) -> "_Records":
        names = dict.fromkeys(name for record in records for name in record)
        if not all(isinstance(name, str) for name in names):
            records = [{str(name): value for name, value in record.items()} for record in records]
        return cls(records, list(map(str, names)), len(records))

    def columns(self, names: Sequence[str], rows: int | None = None) -> list[Column]:
        return [Column.from_values(name, [record.get(name) for record in self.records[:rows]]) for name in names]

    def identifiers(self, name: str) -> NDArray[Any] | None:
        values = [record.get(name) for record in self.records]
        try:
            unique = len(set(values)) == len(values)
        except TypeError:
            return None
        return exact_array(values) if unique and None not in values else None


def is_default(index: Any) -> bool:
    """Whether a pandas index counts the rows from 0, and so identifies nothing."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def exact_array(values: list[Any]) -> NDArray[Any]:
    """An array of values; of objects where NumPy would round, cut or mix them. -> (n,).

    >>> exact_array([1, 2]).dtype.kind, exact_array([1, "a"]).tolist()
    ('i', [1, 'a'])
    """
    if values and all(np.isscalar(value) for value in values):
        typed = np.array(values)
        held = typed.tolist()
        if held == values and list(map(type, held)) == list(map(type, values)):  # True is 1, and 2**63 is a float
            return typed
    return np.fromiter(values, object, len(values))  # one by one: a value may claim to be an array
