"""Items that LFs read: rows for functions of a row, frames for functions of columns, columns for ready-made LFs."""

from collections import Counter, namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import show
from hyperlabel.data import MemoryTable, is_frame, open_table, to_texts
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.lf._regex import Texts


class Row(tuple[Any, ...]):
    """One item as LFs see it: `x.text` and `x["text"]` are its value in column `text`.

    LFs share the row, so it cannot be changed. Each set of columns has its own class, from `row_class`: this
    makes rows fast to make and to read.

    >>> x = row_class(("id", "text"))((7, "hello"))
    >>> x.text, x["id"], x.get("date", "unknown"), "text" in x
    ('hello', 7, 'unknown', True)
    """

    __slots__ = ()
    _position: ClassVar[Mapping[str, int]] = {}

    def __getitem__(self, name: Any) -> Any:
        try:
            return tuple.__getitem__(self, self._position[name])
        except KeyError:
            raise KeyError(self._missing(name)) from None

    def __getattr__(self, name: str) -> Any:  # called for missing names
        raise AttributeError(self._missing(name))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot set {name!r}: LFs share the row, which cannot be changed; use a variable")

    def __contains__(self, name: object) -> bool:
        return name in self._position

    def __repr__(self) -> str:
        return "Row(" + ", ".join(f"{n}={show(v, 100)}" for n, v in zip(self._position, self, strict=True)) + ")"

    def __reduce__(self) -> tuple[Any, ...]:
        return _make_row, (tuple(self._position), tuple(self))

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a column, or a default where there is no such column."""
        return self[name] if name in self._position else default

    def keys(self) -> list[str]:
        """The names of the columns."""
        return list(self._position)

    def _missing(self, name: str) -> str:
        return f"the row has no column {name!r}; its columns are {', '.join(map(repr, self._position))}"


def _make_row(names: tuple[str, ...], values: tuple[Any, ...]) -> Row:
    """Make a row again that was pickled."""
    return row_class(names)(values)


@lru_cache(maxsize=256)
def row_class(names: tuple[str, ...]) -> type[Row]:
    """The class of rows with these columns; keys of records that are no strings are read by `row[key]` alone."""
    position = {name: i for i, name in enumerate(names)}
    # Attributes of named tuples are read in C; here they get the names of the columns, whatever they are.
    make_reader: Any = namedtuple
    reader = make_reader("reader", [f"c{i}" for i in position.values()])
    columns = {name: getattr(reader, f"c{position[name]}") for name in shown_names(names)}
    return type("Row", (Row,), {"__slots__": (), **columns, "_position": position})


def shown_names(names: Iterable[str]) -> list[str]:
    """The columns that are attributes of a row."""
    return [name for name in names if isinstance(name, str) and not name.startswith("_")]


class RowBatch(NamedTuple):
    """Some items, light enough to send to another process."""

    names: list[str] | None  # the names of the columns; None if the items are not made of columns
    columns: list[Any]  # the values of each column, or one list of the items themselves
    n: int  # number of items


def make_rows(part: RowBatch) -> list[Any]:
    """Return arguments of functions of a row: items of columns and mappings become rows, others stay as they are."""
    if part.names is None:
        (items,) = part.columns
        return [row_class(tuple(x))(x.values()) if isinstance(x, Mapping) else x for x in items]
    values = zip(*part.columns, strict=True) if part.names else iter([()] * part.n)
    return list(map(row_class(tuple(part.names)), values))


class Items:
    """The n items of a frame, read as rows, as columns or as a frame.

    Attributes:
        n: Number of items.
        names: The names of the columns; None if items are not made of columns.
    """

    data: Any = None  # the list of items that are not made of columns

    def __init__(self, table: MemoryTable) -> None:
        self._table, self.n = table, table.n_rows
        self._read: Callable[[str], list[Any]] = table.values
        self._read_texts: Callable[[str], Any] = table.texts
        self.names: list[str] | None = table.names
        self._values: dict[str, list[Any]] = {}
        self._texts: dict[str, Texts | None] = {}

    @property
    def frame(self) -> Any:
        """The frame that functions of whole columns get."""
        return self._table.native

    @property
    def index(self) -> Any:
        """The pandas index, or None."""
        return self._table.index

    @property
    def form(self) -> Any:
        """Properties of the frame that functions of whole columns see besides names and values, such as types."""
        return self._table.types

    def values(self, name: str) -> list[Any]:
        """The values of a column as Python objects. -> n."""
        if name not in self._values:
            self._values[name] = self._read(name)
        return self._values[name]

    def texts(self, name: str) -> Texts | None:
        """A column of strings and nulls; None if it holds something else, or without Polars."""
        if name not in self._texts:
            series = self._read_texts(name)
            self._texts[name] = None if series is None else Texts(series)
        return self._texts[name]

    def numbers(self, name: str) -> NDArray[Any] | None:
        """The values of a column of plain numbers, NaN for missing; None if it holds other values. -> (n,)."""
        return self._table.numbers(name)

    def has(self, name: str) -> bool:
        """Return whether all items have a value in a column."""
        return self.names is not None and name in self.names

    def select(self, names: Sequence[str]) -> Any:
        """Some columns as a Polars frame."""
        return self._table.to_polars(names)

    def cut(self, start: int, stop: int) -> RowBatch:
        """The items from `start` to `stop`, as `make_rows` takes them."""
        names = self.names or []
        return RowBatch(names, [self.values(name)[start:stop] for name in names], stop - start)


class ListItems(Items):
    """Items of a list or array: mappings become rows, everything else is given to LFs as it is."""

    def __init__(self, data: Any) -> None:
        # A slice of other sequences may go by labels, or be a table; a data set of torch knows its length alone.
        listed = isinstance(data, list | tuple | np.ndarray)
        self.data = data if listed else list(data) if hasattr(data, "__iter__") else [data[i] for i in range(len(data))]
        self.n, self.names, self._kind = len(self.data), None, type(data).__name__
        self._read = lambda name: [x[name] if type(x) is dict else read_value(x, name) for x in self.data]
        self._read_texts = lambda name: to_texts(self.values(name)) if self.has(name) else None
        self._values, self._texts = {}, {}

    index = None

    @property
    def frame(self) -> Any:
        """Not possible: there is no frame."""
        raise ParameterError(
            f"data is of type {self._kind}, but LFs of whole columns read frames; "
            "make a frame first, for instance with pandas.DataFrame(data)"
        )

    def select(self, names: Sequence[str]) -> Any:
        """Not possible: there is no frame to select from."""
        return self.frame

    def numbers(self, name: str) -> NDArray[Any] | None:
        """None: the values are in the items."""
        return None

    def cut(self, start: int, stop: int) -> RowBatch:
        """The items from `start` to `stop`."""
        return RowBatch(None, [self.data[start:stop]], stop - start)

    def has(self, name: str) -> bool:
        """Return whether all items have a value in a column."""
        try:
            self.values(name)
        except Exception:  # properties of a user's objects
            return False
        return True


def read_items(data: Any) -> Items:
    """Return the items of a list, an array, a pandas or Polars frame, or an Arrow record batch."""
    if is_frame(data) or (hasattr(data, "num_rows") and hasattr(data, "schema")):
        table = open_table(data)
        twice = next((name for name, count in Counter(table.names).items() if count > 1), None)
        if twice is not None:
            raise VotesError(
                f"data has {table.names.count(twice)} columns named {twice!r}; expected one. Rename the others"
            )
        return Items(table)
    listed = hasattr(data, "__getitem__") and hasattr(data, "__len__")
    if isinstance(data, str | bytes | Mapping) or not listed:
        raise VotesError(
            f"data is of type {type(data).__name__}; expected a list of items, or a pandas, Polars, Dask or Spark frame"
        )
    return ListItems(data)


def read_value(item: Any, name: str) -> Any:
    """The value that an item has in a column; a string or number is its own value, in any column."""
    if item is None or isinstance(item, str | int | float):
        return item
    return item[name] if isinstance(item, Row | Mapping) else getattr(item, name)
