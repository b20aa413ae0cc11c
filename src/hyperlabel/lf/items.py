"""Items: what LFs read, behind one interface for all kinds of data.

Flows in: a list of items, a pandas or Polars frame, or an Arrow record batch. Flows out: rows for functions of a
row, frames for functions of whole columns, and single columns for the ready-made LFs.
"""

from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.frames import is_frame
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.lf.regex import Texts
from hyperlabel.shown import show


class Row(tuple[Any, ...]):
    """One item as LFs see it: `x.text` and `x["text"]` are its value in column `text`.

    LFs share the row, so it cannot be changed. Each set of columns has its own class, from `row_class`: this
    makes rows fast to make and to read.

    >>> x = make_row(("id", "text"), (7, "hello"))
    >>> x.text, x["id"], x.get("date", "unknown"), "text" in x
    ('hello', 7, 'unknown', True)
    """

    __slots__ = ()
    _places: ClassVar[Mapping[str, int]] = {}

    def __getitem__(self, name: Any) -> Any:
        try:
            return tuple.__getitem__(self, self._places[name])
        except KeyError:
            raise KeyError(self._missing(name)) from None

    def __getattr__(self, name: str) -> Any:  # called for missing names
        raise AttributeError(self._missing(name))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot set {name!r}: LFs share the row, which cannot be changed; use a variable")

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __repr__(self) -> str:
        return "Row(" + ", ".join(f"{n}={show(v, 100)}" for n, v in zip(self._places, self, strict=True)) + ")"

    def __reduce__(self) -> tuple[Any, ...]:
        return make_row, (tuple(self._places), tuple(self))

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a column, or a default where there is no such column."""
        return self[name] if name in self._places else default

    def keys(self) -> list[str]:
        """The names of the columns."""
        return list(self._places)

    def _missing(self, name: str) -> str:
        return f"the row has no column {name!r}; its columns are {', '.join(map(repr, self._places))}"


@lru_cache(maxsize=256)
def row_class(names: tuple[str, ...]) -> type[Row]:
    """The class of rows with these columns; keys of records that are no strings are read by `row[key]` alone."""
    places = {name: place for place, name in enumerate(names)}
    # Attributes of named tuples are read in C; here they get the names of the columns, whatever they are.
    make_reader: Any = namedtuple
    reader = make_reader("reader", [f"c{place}" for place in places.values()])
    columns = {name: getattr(reader, f"c{places[name]}") for name in shown_names(names)}
    return type("Row", (Row,), {"__slots__": (), **columns, "_places": places})


def shown_names(names: Sequence[str]) -> list[str]:
    """The columns that are attributes of a row."""
    return [name for name in names if isinstance(name, str) and not name.startswith("_")]


def names_of(kind: type[Row]) -> tuple[str, ...]:
    """The columns of a class of rows."""
    return tuple(kind._places)


@lru_cache(maxsize=1024)
def _places_of(kind: type[Row], names: tuple[str, ...]) -> tuple[int, ...]:
    """The places of columns in a class of rows; one past the last for missing columns."""
    return tuple(kind._places.get(name, len(kind._places)) for name in names)


def values_in(row: Row, names: tuple[str, ...], absent: Any) -> list[Any]:
    """The values of a row in some columns, `absent` for missing columns.

    >>> values_in(make_row(("id", "text"), (7, "hello")), ("date", "text"), absent=None)
    [None, 'hello']
    """
    values = (*row, absent)
    return [values[place] for place in _places_of(type(row), names)]


def make_row(names: tuple[str, ...], values: tuple[Any, ...]) -> Row:
    """A row of values in columns."""
    return row_class(names)(values)


class Parcel(NamedTuple):
    """Some items, light enough to send to another process."""

    names: list[str] | None  # the names of the columns; None if the items are not made of columns
    columns: list[Any]  # the values of each column, or one list of the items themselves
    n: int  # number of items


def make_rows(part: Parcel) -> list[Any]:
    """What functions of a row are called with: items of columns and mappings become rows, others stay as they are.

    >>> make_rows(Parcel(["id", "text"], [[1, 2], ["a", "b"]], 2))
    [Row(id=1, text='a'), Row(id=2, text='b')]
    """
    if part.names is None:
        (items,) = part.columns
        return [make_row(tuple(x), tuple(x.values())) if isinstance(x, Mapping) else x for x in items]
    values = zip(*part.columns, strict=True) if part.names else iter([()] * part.n)
    return list(map(row_class(tuple(part.names)), values))


class Items(ABC):
    """The n items of a frame, read as rows, as columns or as a frame.

    Attributes:
        data: What the user gave.
        n: Number of items.
        names: The names of the columns; None if items are not made of columns.
    """

    def __init__(self, data: Any, n: int, names: list[str] | None) -> None:
        self.data, self.n, self.names = data, n, names
        self._values: dict[str, list[Any]] = {}
        self._texts: dict[str, Texts | None] = {}

    @property
    def frame(self) -> Any:
        """The frame that functions of whole columns get."""
        return self.data

    @property
    def form(self) -> Any:
        """What functions of whole columns see of the frame besides names and values: types, for instance."""
        return type(self.data).__name__

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
        return None

    def has(self, name: str) -> bool:
        """Whether all items have a value in a column."""
        return self.names is not None and name in self.names

    @abstractmethod
    def select(self, names: Sequence[str]) -> Any:
        """Some columns as a Polars frame."""

    def cut(self, start: int, stop: int) -> "Parcel":
        """The items from `start` to `stop`, as `make_rows` takes them."""
        names = self.names or []
        return Parcel(names, [self.values(name)[start:stop] for name in names], stop - start)

    @abstractmethod
    def _read(self, name: str) -> list[Any]:
        """The values of a column as Python objects. -> n."""

    def _read_texts(self, name: str) -> Any:
        """A column of strings and nulls as a Polars series, or None."""
        return _polars_texts(self.values(name))


class ListItems(Items):
    """Items of a list or array: mappings become rows, everything else is given to LFs as it is."""

    def __init__(self, data: Any) -> None:
        # A slice of other sequences may go by labels, be a table, or not exist at all.
        listed = data if isinstance(data, list | tuple | np.ndarray) else _list_items(data)
        super().__init__(listed, len(listed), None)
        self._kind = type(data).__name__

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

    def cut(self, start: int, stop: int) -> "Parcel":
        """The items from `start` to `stop`."""
        return Parcel(None, [self.data[start:stop]], stop - start)

    def has(self, name: str) -> bool:
        """Whether all items have a value in a column."""
        try:
            self.values(name)
        except Exception:  # a user's own objects may raise anything
            return False
        return True

    def _read(self, name: str) -> list[Any]:
        return [x[name] if type(x) is dict else read_value(x, name) for x in self.data]

    def _read_texts(self, name: str) -> Any:
        return _polars_texts(self.values(name)) if self.has(name) else None


class PandasItems(Items):
    """A pandas frame."""

    def __init__(self, data: Any) -> None:
        super().__init__(data, len(data), [str(name) for name in data.columns])

    @property
    def form(self) -> Any:
        """Types of the columns, their names as they are, the index, and what is attached to the frame."""
        index = self.data.index
        labels = index.dtype, list(index.names), index.tolist()
        return "pandas", list(self.data.dtypes), list(self.data.columns), *labels, self.data.attrs

    def numbers(self, name: str) -> NDArray[Any] | None:
        """The values of a column of NumPy numbers."""
        dtype = self._series(name).dtype
        return self._series(name).to_numpy() if isinstance(dtype, np.dtype) and dtype.kind in "iuf" else None

    def select(self, names: Sequence[str]) -> Any:
        """Some columns as a Polars frame."""
        import polars as pl

        return pl.DataFrame({name: self._polars(pl, name) for name in names})

    def _polars(self, pl: Any, name: str) -> Any:
        texts = self.texts(name)
        return pl.from_pandas(self._series(name)) if texts is None else texts.series

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names or [])}

    def _series(self, name: str) -> Any:
        return self.data.iloc[:, self._places[name]]

    def _read(self, name: str) -> list[Any]:
        series = self._series(name)
        if getattr(series.dtype, "na_value", None).__class__.__name__ == "NAType":
            return _with_none(series)  # NA is neither true nor false: few functions handle it
        return series.tolist()  # type: ignore[no-any-return]

    def _read_texts(self, name: str) -> Any:
        series = self._series(name)
        if series.dtype.kind in "biufcmM":
            return None
        return _polars_texts(_with_none(series) if series.hasnans else self.values(name))


def _with_none(series: Any) -> list[Any]:
    """The values of a pandas series, None where one is missing."""
    return series.astype(object).where(series.notna(), None).tolist()  # type: ignore[no-any-return]


class PolarsItems(Items):
    """A Polars frame."""

    def __init__(self, data: Any) -> None:
        super().__init__(data, data.height, data.columns)

    @property
    def form(self) -> Any:
        """Types of the columns."""
        return "polars", self.data.dtypes

    def numbers(self, name: str) -> NDArray[Any] | None:
        """The values of a column of floats, or of whole numbers without nulls."""
        series = self.data[name]
        plain = series.dtype.is_float() or (series.dtype.is_integer() and not series.null_count())
        return series.to_numpy() if plain else None

    def select(self, names: Sequence[str]) -> Any:
        """Some columns."""
        return self.data[list(names)]

    def _read(self, name: str) -> list[Any]:
        return self.data[name].to_list()  # type: ignore[no-any-return]

    def _read_texts(self, name: str) -> Any:
        import polars as pl

        return self.data[name] if self.data.schema[name] == pl.String else None


class ArrowItems(Items):
    """A batch of Arrow records, as Spark hands them to Python; functions of whole columns get it as pandas."""

    def __init__(self, data: Any) -> None:
        super().__init__(data, data.num_rows, list(data.schema.names))

    @cached_property
    def frame(self) -> Any:
        """The records as a pandas frame."""
        return self.data.to_pandas()

    @property
    def form(self) -> Any:
        """Types of the columns, and what is attached to them."""
        return "arrow", self.data.schema.serialize().to_pybytes()

    def numbers(self, name: str) -> NDArray[Any] | None:
        """The values of a column of floats, or of whole numbers without nulls."""
        import pyarrow as pa

        column = self.data.column(name)
        plain = pa.types.is_floating(column.type) or (pa.types.is_integer(column.type) and not column.null_count)
        return column.to_numpy(zero_copy_only=False) if plain else None

    def select(self, names: Sequence[str]) -> Any:
        """Some columns as a Polars frame."""
        import polars as pl

        return pl.DataFrame({name: pl.from_arrow(self.data.column(name)) for name in names})

    def _read(self, name: str) -> list[Any]:
        return self.data.column(name).to_pylist()  # type: ignore[no-any-return]


def read_items(data: Any) -> Items:
    """The items of a list, an array, a pandas or Polars frame, or an Arrow record batch.

    >>> make_rows(read_items([{"text": "hello"}]).cut(0, 1))
    [Row(text='hello')]
    """
    if is_frame(data):
        items: Items = PolarsItems(data) if hasattr(data, "height") else PandasItems(data)
        names = items.names or []
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise VotesError(f"data has {names.count(twice)} columns named {twice!r}; expected one. Rename the others")
        return items
    if hasattr(data, "num_rows") and hasattr(data, "schema"):
        return ArrowItems(data)
    if isinstance(data, str | bytes | Mapping) or not hasattr(data, "__getitem__") or not _has_length(data):
        raise VotesError(
            f"data is of type {type(data).__name__}; expected a list of items, or a pandas, Polars, Dask or Spark frame"
        )
    return ListItems(data)


def _list_items(data: Any) -> list[Any]:
    """The items of a sequence; one that cannot be iterated need not say where it ends."""
    try:
        return list(data) if hasattr(data, "__iter__") else [data[i] for i in range(len(data))]
    except Exception as error:  # an object may raise anything when it is asked for its items
        kind, raised = type(data).__name__, type(error).__name__
        raise VotesError(f"data is of type {kind}, whose items cannot be read ({raised}); expected a list") from error


def _has_length(data: Any) -> bool:
    """Whether data can say how many items it has; a sparse matrix and an array without axes cannot."""
    try:
        return len(data) >= 0
    except Exception:
        return False


def read_value(item: Any, name: str) -> Any:
    """The value that an item has in a column; a string or number is its own value, in any column."""
    if item is None or isinstance(item, str | int | float):
        return item
    return item[name] if isinstance(item, Row | Mapping) else getattr(item, name)


def _polars_texts(values: list[Any]) -> Any:
    """Strings and nulls as a Polars series of strings; None if there are other values, or without Polars."""
    try:
        import polars as pl
    except ImportError:
        return None
    try:
        return pl.Series(values, dtype=pl.String, strict=True)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        return None
