"""The adapter of frames: pandas, Polars, Arrow, Hugging Face datasets and lists of records as one kind of table.

`open_table` gives a `MemoryTable`; everything that reads data in memory asks it. A library is imported only if one of
its objects is given.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.data._files import reading
from hyperlabel.data._values import Column, Factors, exact_array, factorize_columns
from hyperlabel.errors import VotesError

GLANCE = 1000  # rows that are checked in a column that is left out by name

_COLUMNS_AT_ONCE = 200
_EXACT = 2**53  # larger integers are not exact as floats


def library_of(data: object, kind: str) -> str | None:
    """The library of the class, or base class, of data that has this name, such as `DataFrame`."""
    return next((cls.__module__.partition(".")[0] for cls in type(data).__mro__ if cls.__name__ == kind), None)


def is_frame(data: object) -> bool:
    """Return whether data is a pandas or Polars frame."""
    return library_of(data, "DataFrame") in ("pandas", "polars")


def is_series(data: object) -> bool:
    """Return whether data is a pandas or Polars series."""
    return library_of(data, "Series") in ("pandas", "polars")


def is_default(index: Any) -> bool:
    """Return whether a pandas index counts the rows from 0, and so identifies nothing."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def exactly(names: Sequence[str]) -> list[Any]:
    """Selectors of columns by exact name, as Polars could take a name for a pattern."""
    import polars.selectors as cs

    return [cs.by_name(name) for name in dict.fromkeys(names)]


class MemoryTable(ABC):
    """A table in memory."""

    native: Any  # the frame as functions of whole columns get it
    names: list[str]  # of its columns; empty for a nameless one
    n_rows: int
    index: Any = None  # of pandas

    @abstractmethod
    def columns(self, names: Sequence[str], rows: int | None = None) -> list[Column]:
        """Factorized columns, of the first rows if a number is given; columns that were not read are left out."""

    @abstractmethod
    def values(self, name: str) -> list[Any]:
        """The values of a column as Python objects. -> n."""

    def numbers(self, name: str) -> NDArray[Any] | None:
        """The values of a column of plain numbers, NaN for missing; None if it holds other values. -> (n,)."""
        return None

    def texts(self, name: str) -> Any:
        """A column of strings and nulls as a Polars series; None if it holds something else, or without Polars."""
        return to_texts(self.values(name))

    @property
    def types(self) -> Any:
        """Properties of the frame that functions of whole columns see besides names and values."""
        return type(self.native).__name__

    def to_polars(self, names: Sequence[str]) -> Any:
        """Some columns as a Polars frame."""
        import polars as pl

        return pl.DataFrame({name: self.values(name) for name in names})

    def identifiers(self, name: str) -> NDArray[Any] | None:
        """The values of a column; None if they are not unique or one is missing. -> (n,)."""
        values = self.values(name)
        try:
            distinct = set(values)
            is_complete = None not in distinct and all(value == value for value in distinct)
        except TypeError:  # values such as lists, which cannot be identifiers, or pandas' NA
            return None
        return exact_array(values) if is_complete and len(distinct) == len(values) else None


def open_table(data: Any, wanted: Callable[[list[str]], Sequence[str]] = list) -> MemoryTable:
    """A table in memory from anything that holds its columns.

    Args:
        data: A pandas or Polars frame, a Polars LazyFrame, a pyarrow Table, a Hugging Face Dataset, or a list of
            records.
        wanted: Chooses the columns that are needed; a lazy frame reads no others.
    """
    library = _library_of_table(data)
    if library == "polars" and not library_of(data, "DataFrame"):
        return _collect(data, wanted)
    if library == "datasets":
        library, data = "pyarrow", data.with_format("arrow")[:]
    if library is not None:
        return _OPENERS[library](data)
    many = ". Choose one of its splits, such as data['train']" if library_of(data, "DatasetDict") else ""
    raise VotesError(
        f"votes is of type {type(data).__name__}; expected a pandas or Polars DataFrame, a pyarrow Table, a "
        f"Hugging Face Dataset, or a list of records{many}"
    )


def holds_columns(data: object) -> bool:
    """Return whether data is something that `open_table` opens."""
    return _library_of_table(data) is not None


_TABLES = {
    "DataFrame": ("pandas", "polars"), "LazyFrame": ("polars",), "Table": ("pyarrow",), "RecordBatch": ("pyarrow",),
    "Dataset": ("datasets",),
}  # fmt: skip


def _library_of_table(data: object) -> str | None:
    if isinstance(data, list | tuple):
        return "records" if data and all(isinstance(each, Mapping) for each in data) else None
    libraries = ((library_of(data, kind), accepted) for kind, accepted in _TABLES.items())
    return next((library for library, accepted in libraries if library in accepted), None)


def read_column(name: str, values: Any, describe: Callable[[int], str] | None = None) -> Column:
    """A column from a pandas or Polars series, an array or a list; `describe` names rows in errors."""
    if not is_series(values):
        return Column.from_values(name, values, describe)
    table = open_table(values.to_frame(name))
    (column,) = table.columns(table.names)
    return replace(column, describe=describe)


class _PandasTable(MemoryTable):
    def __init__(self, frame: Any) -> None:
        self.native, self.n_rows, self.index = frame, len(frame), frame.index
        self.names = [_name_of(name) for name in frame.columns]

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    def _series(self, name: str) -> Any:
        return self.native.iloc[:, self._position[name]]

    def columns(self, names: Sequence[str], rows: int | None = None) -> list[Column]:
        frame = self.native if rows is None else self.native.iloc[:rows]
        kinds = [dtype.kind if isinstance(dtype, np.dtype) else "" for dtype in frame.dtypes]
        arrays: dict[str, NDArray[Any]] = {}
        for block in "iubf":  # signed and unsigned numbers together would be rounded to floats
            chosen = [name for name in names if kinds[self._position[name]] == block]
            if chosen:  # a frame is slow to read column by column
                cells = frame.iloc[:, [self._position[name] for name in chosen]].to_numpy()
                arrays |= zip(chosen, cells.T, strict=True)
        factors: dict[str, Any] = dict(zip(arrays, factorize_columns(list(arrays.values())), strict=True))
        others = {name: frame.iloc[:, self._position[name]] for name in names if name not in factors}
        factors |= {name: _factorize_pandas(series) for name, series in others.items()}
        return _make_columns(names, factors, others)

    def values(self, name: str) -> list[Any]:
        series = self._series(name)
        # NA is neither true nor false, and NaN is no text: few functions handle them.
        kinds = type(series.dtype).__name__, type(getattr(series.dtype, "na_value", None)).__name__
        return _with_none(series) if "StringDtype" in kinds or "NAType" in kinds else series.tolist()

    def numbers(self, name: str) -> NDArray[Any] | None:
        dtype = self._series(name).dtype
        return self._series(name).to_numpy() if isinstance(dtype, np.dtype) and dtype.kind in "iuf" else None

    def texts(self, name: str) -> Any:
        series = self._series(name)
        if series.dtype.kind in "biufcmM":
            return None
        return to_texts(_with_none(series) if series.hasnans else series.tolist())

    @property
    def types(self) -> Any:
        index = self.index
        labels = index.dtype, list(index.names), index.tolist()
        return "pandas", list(self.native.dtypes), list(self.native.columns), *labels, self.native.attrs

    def to_polars(self, names: Sequence[str]) -> Any:
        import polars as pl

        texts = {name: self.texts(name) for name in names}
        return pl.DataFrame({n: pl.from_pandas(self._series(n)) if t is None else t for n, t in texts.items()})


def _name_of(name: Any) -> str:
    """The name of a pandas column, which may be any object; a missing value means no name."""
    is_missing = name is None or type(name).__name__ in ("NAType", "NaTType") or name != name
    return "" if is_missing else str(name)


def _with_none(series: Any) -> list[Any]:
    """The values of a pandas series, None where one is missing."""
    return series.astype(object).where(series.notna(), None).tolist()  # type: ignore[no-any-return]


def _make_columns(
    names: Sequence[str], factors: Mapping[str, Factors | None], series: Mapping[str, Any]
) -> list[Column]:
    """Columns from their factors, or value by value if they have none."""
    return [
        Column.from_values(name, series[name].to_list()) if (each := factors[name]) is None
        else Column.from_factors(name, each)
        for name in names
    ]  # fmt: skip


def _factorize_pandas(series: Any) -> Factors | None:
    """Distinct values in order, and codes; None if pandas would merge different values, or cannot hash them."""
    import pandas as pd

    if series.dtype == object and pd.api.types.infer_dtype(series, skipna=True).startswith("mixed"):
        return None
    try:
        codes, values = pd.factorize(series)
    except (TypeError, ValueError):  # values such as lists; a later error names the row
        return None
    distinct = values.tolist()
    try:
        order = sorted(range(len(distinct)), key=distinct.__getitem__)
    except TypeError:
        return distinct, codes
    position = np.empty(len(order) + 1, np.int64)
    position[order], position[-1] = np.arange(len(order)), -1
    return [distinct[i] for i in order], position[codes]


class _PolarsTable(MemoryTable):
    def __init__(self, frame: Any, names: list[str] | None = None) -> None:
        self.native, self.n_rows = frame, frame.height
        self.names = list(frame.columns) if names is None else names  # of a lazy frame, more than were read

    def columns(self, names: Sequence[str], rows: int | None = None) -> list[Column]:
        frame = self.native if rows is None else self.native.head(rows)
        read = dict(zip(frame.columns, frame.get_columns(), strict=True))
        series = {name: read[name] for name in names if name in read}
        arrays = {name: array for name, each in series.items() if (array := _numbers_of(each)) is not None}
        factors: dict[str, Any] = dict(zip(arrays, factorize_columns(list(arrays.values())), strict=True))
        others = [name for name in series if name not in arrays]
        for start in range(0, len(others), _COLUMNS_AT_ONCE):  # a query for thousands of columns is slow to plan
            some = others[start : start + _COLUMNS_AT_ONCE]
            with reading("votes", "table"):  # Polars panics on dates that no calendar has
                factors |= zip(some, _factorize_polars([series[name] for name in some]), strict=True)
        return _make_columns(list(series), factors, series)

    def values(self, name: str) -> list[Any]:
        return self.native.get_column(name).to_list()  # type: ignore[no-any-return]

    def numbers(self, name: str) -> NDArray[Any] | None:
        array = _numbers_of(self.native.get_column(name))
        return None if array is None or array.dtype.kind == "b" else array

    def texts(self, name: str) -> Any:
        series = self.native.get_column(name)
        return series if str(series.dtype) == "String" else None

    @property
    def types(self) -> Any:
        return "polars", self.native.dtypes

    def to_polars(self, names: Sequence[str]) -> Any:
        return self.native.select(exactly(names))


def _collect(frame: Any, wanted: Callable[[list[str]], Sequence[str]]) -> MemoryTable:
    """The columns of a lazy frame that are wanted."""
    with reading("votes", "table"):  # its file may be gone
        names = frame.collect_schema().names()
        return _PolarsTable(frame.select(exactly(wanted(names))).collect(), names)


def _numbers_of(series: Any) -> NDArray[Any] | None:
    """The array of a Polars series of numbers or booleans, NaN for null; None if it cannot hold them exactly."""
    kind, nulls = series.dtype, series.null_count()
    if str(kind) == "Boolean":
        return None if nulls else series.to_numpy()
    if kind.is_float() or (kind.is_integer() and kind.is_numeric() and "128" not in str(kind)):
        exact = kind.is_float() or nulls in (0, len(series)) or -_EXACT < series.min() <= series.max() < _EXACT
        return series.to_numpy() if exact else None
    return None


def _factorize_polars(series: list[Any]) -> list[Factors | None]:
    """Distinct values and codes of each series, in two queries; None if Polars cannot order its values."""
    import polars as pl
    import polars.selectors as cs

    frame = pl.DataFrame([each.alias(str(j)) for j, each in enumerate(series)])  # a name could be a pattern
    kept = [name for name, kind in frame.schema.items() if _holds_single_values(kind)]
    if not kept:
        return [None] * len(series)
    frame = frame.select(kept).with_columns(
        cs.float().fill_nan(None), (cs.categorical() | cs.by_dtype(pl.Enum)).cast(pl.String)
    )
    distinct = frame.select(pl.all().drop_nulls().unique().sort().implode())
    values = {name: distinct[name][0] for name in kept}
    codes = frame.select(
        pl.col(name).replace_strict(values[name], range(len(values[name])), default=None, return_dtype=pl.Int32)
        for name in kept
        if len(values[name])
    ).fill_null(-1)
    factors: dict[str, Factors] = {
        name: (values[name].to_list(), codes[name].to_numpy() if name in codes else np.full(len(frame), -1))
        for name in kept
    }
    return [factors.get(str(j)) for j in range(len(series))]


def _holds_single_values(kind: Any) -> bool:
    """Return whether a type of Polars is one of its own whose values are neither lists nor any objects."""
    try:
        return kind.to_python() is not object and not kind.is_nested()
    except NotImplementedError:  # a type of another library
        return False


class _ArrowTable(MemoryTable):
    """A table or record batch of Arrow, as Spark hands them to Python."""

    def __init__(self, table: Any) -> None:
        self.table, self.n_rows, self.names = table, table.num_rows, list(table.schema.names)

    @cached_property
    def native(self) -> Any:
        """A pandas frame."""
        return self.table.to_pandas()

    def columns(self, names: Sequence[str], rows: int | None = None) -> list[Column]:
        table = self.table.select(list(names))
        return self._open(table if rows is None else table.slice(0, rows)).columns(names)

    def _open(self, table: Any) -> MemoryTable:
        try:
            import polars as pl
        except ImportError:
            return _RecordTable(table.to_pylist())  # pandas would round integers beside nulls
        with reading("votes", "Arrow"):  # Polars does not know all of its types
            return _PolarsTable(pl.DataFrame(pl.from_arrow(table)))

    def values(self, name: str) -> list[Any]:
        return self.table.column(name).to_pylist()  # type: ignore[no-any-return]

    def numbers(self, name: str) -> NDArray[Any] | None:
        return self._open(self.table.select([name])).numbers(name)

    @property
    def types(self) -> Any:
        return "arrow", self.table.schema.serialize().to_pybytes()

    def to_polars(self, names: Sequence[str]) -> Any:
        return self._open(self.table.select(list(names))).native


class _RecordTable(MemoryTable):
    def __init__(self, records: Sequence[Mapping[Any, Any]]) -> None:
        names = dict.fromkeys(name for record in records for name in record)
        if not all(isinstance(name, str) for name in names):
            records = [{str(name): value for name, value in record.items()} for record in records]
        self.native, self.n_rows, self.names = records, len(records), list(map(str, names))

    def columns(self, names: Sequence[str], rows: int | None = None) -> list[Column]:
        return [Column.from_values(name, self.values(name)[:rows]) for name in names]

    def values(self, name: str) -> list[Any]:
        return [record.get(name) for record in self.native]


_OPENERS: dict[str, Callable[[Any], MemoryTable]] = {
    "pandas": _PandasTable, "polars": _PolarsTable, "pyarrow": _ArrowTable, "records": _RecordTable
}  # fmt: skip


def to_texts(values: list[Any]) -> Any:
    """Strings and nulls as a Polars series of strings; None if there are other values, or without Polars."""
    try:
        import polars as pl
    except ImportError:
        return None
    try:
        return pl.Series(values, dtype=pl.String, strict=True)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        return None
