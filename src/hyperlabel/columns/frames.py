"""Columns as distinct values and codes, and their summaries, without importing the library of the frame.

Whatever a column holds, it is factorized once; all checks then look at the few distinct values instead of the many
rows. `hyperlabel.columns.sources` opens anything that holds columns.
"""

import numbers
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.arrays import is_masked, looks_like_number
from hyperlabel.columns.doubts import MOST_VALUES, kind_of
from hyperlabel.columns.rule import DEFAULT, ColumnSummary, Key, key_of
from hyperlabel.errors import VotesError
from hyperlabel.shown import show, show_some
from hyperlabel.tables.failures import reading

Factors = tuple[Sequence[Any], NDArray[np.integer]]

_COLUMNS_AT_ONCE = 200
_CELLS_AT_ONCE = 1 << 20
_FEW = 64  # most class numbers are smaller
_EXACT = 2**53  # larger integers are not exact as floats


@dataclass(frozen=True, eq=False)
class Column:
    """A factorized column."""

    name: str  # its name, for errors
    values: tuple[Any, ...]  # its distinct values, as Python objects
    codes: NDArray[np.integer]  # (n,) places in `values`, -1 where the column is empty
    describe: Callable[[int], str] | None = None  # how an error names a row; by column and row if not given
    abstain: frozenset[Key] = DEFAULT  # the values that abstain

    @classmethod
    def from_values(
        cls, name: str, values: Sequence[Any] | NDArray[Any], describe: Callable[[int], str] | None = None
    ) -> "Column":
        """From an array or list; None, NaN and blank strings are empty.

        >>> column = Column.from_values("a", ["x", None, "y", "x"])
        >>> column.values, column.codes.tolist()
        (('x', 'y'), [0, -1, 1, 0])
        """
        if isinstance(values, np.ndarray) and values.dtype.kind in "iub" and not is_masked(values):
            return cls.from_factors(name, factorize_numbers(values), describe)
        # The type in a key tells True from 1.
        seen: dict[Any, int] = {}
        table: dict[Any, int] = {}
        listed = _listed(values)
        row_codes: list[int] = []
        try:
            for raw in listed:
                code = seen.get((type(raw), raw))
                if code is None:
                    value = plain(raw)
                    code = -1 if value is None else table.setdefault((type(value), value), len(table))
                    seen[type(raw), raw] = code
                row_codes.append(code)
        except Exception as error:  # not hashable, or an error of its own
            odd = listed[len(row_codes)]
            where = cls(name, (), np.empty(0, int), describe).place_of_row(len(row_codes))
            raise VotesError(
                f"{where} is {show(odd)} ({type(odd).__name__}); expected a single value. Unpack it, or leave it out"
            ) from error
        return cls(name, tuple(value for _, value in table), np.array(row_codes, np.int64), describe)

    @classmethod
    def from_factors(cls, name: str, factors: Factors, describe: Callable[[int], str] | None = None) -> "Column":
        """From distinct values and codes, -1 for empty; values get their plain form, and equal ones one code."""
        values, codes = factors
        if all(type(value) is int for value in values):
            return cls(name, tuple(values), codes, describe)
        number: dict[Any, int] = {}
        table = [
            -1 if value is None else number.setdefault((type(value), value), len(number))
            for value in map(plain, values)
        ]
        if table != list(range(len(values))):
            codes = np.array([*table, -1], np.int64)[codes]
        return cls(name, tuple(value for _, value in number), codes, describe)

    @classmethod
    def from_series(cls, name: str, series: Any, describe: Callable[[int], str] | None = None) -> "Column":
        """From a pandas or Polars series."""
        return _factorize([(name, series)], describe)[0]

    @property
    def is_votes(self) -> bool:
        """Whether it is a column of a table of votes; others have their own names for rows."""
        return self.describe is None

    @cached_property
    def voted(self) -> list[Any]:
        """The distinct values that are not abstentions."""
        return [value for value in self.values if not self.abstains(value)]

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of class the column holds, abstentions aside."""
        return sorted({kind_of(value) for value in self.voted})

    @cached_property
    def summary(self) -> ColumnSummary:
        """How often each value occurs."""
        counts = np.bincount(self.codes + 1, minlength=len(self.values) + 1)[1 : MOST_VALUES + 1].tolist()
        many = len(self.values) if len(self.values) > MOST_VALUES else 0
        return ColumnSummary(self.name, len(self.codes), dict(zip(self.values, counts, strict=False)), many)

    def abstains(self, value: object) -> bool:
        """Whether a value that is not empty means an abstention."""
        return key_of(value) in self.abstain

    @staticmethod
    def is_abstain(value: object) -> bool:
        """Whether a value means an abstention by default, when no other values are listed."""
        return key_of(value) in DEFAULT

    def first_of(self, kind: str) -> Any:
        """The first value of a kind; of strings, preferably one that is not a number."""
        return min(self.of_kind(kind), key=self._row)

    def of_kind(self, kind: str) -> list[Any]:
        """The values of a kind; of strings, those that are not numbers, if there are any."""
        values = [value for value in self.voted if kind_of(value) == kind]
        words = [value for value in values if not (isinstance(value, str) and looks_like_number(value))]
        return words or values

    def with_values(self, values: Sequence[Any]) -> Self:
        """The column with other values, in the order of its own; those that are equal become one."""
        number = number_values(values)
        table = np.array([*(number[key_of(value)] for value in values), -1], np.int64)
        return replace(self, values=tuple(value for _, value in number), codes=table[self.codes])

    def place(self, value: object) -> str:
        """Where a value first occurs."""
        return self.place_of_row(self._row(value))

    def place_of_row(self, row: int) -> str:
        """The name of a row, for errors."""
        return f"column '{self.name}', row {row}" if self.describe is None else self.describe(row)

    def _row(self, value: object) -> int:
        code = next(i for i, v in enumerate(self.values) if type(v) is type(value) and v == value)
        return int((self.codes == code).argmax())


def number_values(values: Iterable[Any]) -> dict[Key, int]:
    """The distinct values by number, in order of appearance.

    >>> number_values([1, True, 1])
    {(False, 1): 0, (True, True): 1}
    """
    return {key: i for i, key in enumerate(dict.fromkeys(map(key_of, values)))}


def factorize_numbers(values: NDArray[Any]) -> Factors:
    """Distinct integers, booleans or floats in order, and (n,) places among them, -1 for NaN.

    >>> distinct, codes = factorize_numbers(np.array([3.0, 1.0, np.nan]))
    >>> distinct, codes.tolist()
    ([1.0, 3.0], [1, 0, -1])
    """
    if values.dtype.kind == "f":
        known = values == values
        distinct, codes = factorize_numbers(values[known]) if not known.all() else _factorize_whole(values)
        if len(codes) == len(values):
            return distinct, codes
        places = np.full(len(values), -1, np.int64)
        places[known] = codes
        return distinct, places
    return _factorize_whole(values)


def _factorize_whole(values: NDArray[Any]) -> Factors:
    """By counting if the range of values is small, else by sorting."""
    low, high = (values.min(), values.max()) if len(values) else (0, 0)
    is_small = low >= -MOST_VALUES and high <= MOST_VALUES
    if not is_small or (values.dtype.kind == "f" and (values != np.trunc(values)).any()):
        distinct, codes = np.unique(values, return_inverse=True)
        return distinct.tolist(), codes
    shifted = values.astype(np.int64) - int(low)
    present = np.bincount(shifted, minlength=1) > 0
    codes = (np.cumsum(present) - 1).take(shifted)
    return (np.flatnonzero(present)[: len(values)] + int(low)).astype(values.dtype).tolist(), codes


def factorize_block(cells: NDArray[Any]) -> list[Factors]:
    """For each column of (n, m) numbers its distinct values in order and (n,) places among them, -1 for NaN.

    >>> [(values, codes.tolist()) for values, codes in factorize_block(np.array([[3, 0], [1, 0]]))]
    [([1, 3], [1, 0]), ([0], [0, 0])]
    """
    n, m = cells.shape
    width = max(1, _CELLS_AT_ONCE // max(1, n))  # columns at a time: thousands of short ones, or a single long one
    if width == 1 or n == 0:
        return [factorize_numbers(cells[:, j]) for j in range(m)]
    factors: list[Factors] = []
    for start in range(0, m, width):
        some = cells[:, start : start + width]
        factors += _factorize_few(some) or [factorize_numbers(column) for column in some.T]
    return factors


def _factorize_few(cells: NDArray[Any]) -> list[Factors] | None:
    """Columns of whole numbers in a small range, by counting all of them at once; None for others."""
    known = cells == cells
    low, high = np.nanmin(cells, initial=0), np.nanmax(cells, initial=0)
    if not (low >= -_FEW and high <= _FEW):
        return None
    low = int(low)
    shifted = np.where(known, cells, low).astype(np.int64).T - low  # (m, n)
    if cells.dtype.kind == "f" and (shifted + low != np.where(known, cells, low).T).any():
        return None
    m, span = len(shifted), int(high) - low + 1
    keys = shifted + span * np.arange(m)[:, None]
    present = np.zeros(m * span, bool)
    present[keys[known.T]] = True
    table = present.reshape(m, span)
    codes = (np.cumsum(table, 1) - 1).ravel().take(keys)
    codes[~known.T] = -1
    values = (np.nonzero(table)[1] + low).astype(bool if cells.dtype.kind == "b" else int).tolist()
    ends = np.cumsum(table.sum(1)).tolist()
    return [(values[start:end], codes[j]) for j, (start, end) in enumerate(pairwise([0, *ends]))]


def plain(value: Any) -> Any:
    """A Python object; None where the value is empty; whole numbers of any type are integers.

    >>> plain(np.float32(2)), plain(" "), plain(float("nan"))
    (2, None, None)
    """
    if isinstance(value, np.datetime64 | np.timedelta64):
        value = value.astype(f"{value.dtype.kind}8[us]")  # those in nanoseconds would become numbers
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return str.__str__(value) if value.strip() else None  # an enumeration of strings has its own `str`
    # NaN is not equal to itself, and comparing pandas' NA gives NA.
    if value is None or (value != value) is not False:
        return None
    if not isinstance(value, numbers.Number) or isinstance(value, int):
        return value
    try:
        whole = int(value)  # type: ignore[call-overload]
    except (OverflowError, TypeError):  # infinite or complex
        return value
    return whole if whole == value else value


def _listed(values: Sequence[Any] | NDArray[Any]) -> Sequence[Any]:
    if not isinstance(values, np.ndarray):
        return values
    return list(values) if values.dtype.kind in "mM" else values.tolist()


# Frames of pandas and Polars.


def is_frame(data: object) -> bool:
    """Whether data is a pandas or Polars frame."""
    return library_of(data, "DataFrame") in ("pandas", "polars")


def is_series(data: object) -> bool:
    """Whether data is a pandas or Polars series."""
    return library_of(data, "Series") in ("pandas", "polars")


def library_of(data: object, kind: str) -> str | None:
    """The library of the class, or base class, of data that has this name, such as `DataFrame`."""
    return next((cls.__module__.partition(".")[0] for cls in type(data).__mro__ if cls.__name__ == kind), None)


def columns_of(frame: Any, names: Sequence[str] | None) -> list[Column]:
    """Factorized columns of a frame: all of them, or those named."""
    present = [str(name) for name in frame.columns]
    index = {name: j for j, name in enumerate(present)}
    wanted = present if names is None else [str(name) for name in names]
    missing = next((name for name in wanted if name not in index), None)
    if missing is not None:
        raise VotesError(f"votes has no column {missing!r}; its columns are {show_some(present, 20)}")
    twice = next((name for name, count in Counter(present).items() if count > 1 and name in wanted), None)
    if twice is not None:
        raise VotesError(f"votes has {present.count(twice)} columns named {twice!r}; expected one. Rename the others")
    return factorize_frame(frame, [index[name] for name in wanted], wanted)


def factorize_frame(frame: Any, places: Sequence[int], names: Sequence[str]) -> list[Column]:
    """Factorized columns of a frame at some places, with these names."""
    polars = library_of(frame, "DataFrame") == "polars"
    columns: dict[int, Column] = {}
    for chosen, cells in (_polars_blocks if polars else _pandas_blocks)(frame, places):
        found = zip(chosen, factorize_block(cells), strict=True)
        columns |= {i: Column.from_factors(names[i], factors) for i, factors in found}
    rest = [i for i in range(len(places)) if i not in columns]
    others = _factorize(
        [(names[i], frame.to_series(j) if polars else frame.iloc[:, j]) for i in rest for j in [places[i]]]
    )
    columns |= dict(zip(rest, others, strict=True))
    return [columns[i] for i in range(len(places))]


Blocks = Iterator[tuple[list[int], NDArray[Any]]]
"""Which of some columns, and their (n, m) cells: reading a frame column by column is slow."""


def _pandas_blocks(frame: Any, places: Sequence[int]) -> Blocks:
    kinds = [kind.kind if isinstance(kind, np.dtype) else "" for kind in frame.dtypes]
    for block in "iubf":  # signed and unsigned numbers together would be rounded to floats
        chosen = [i for i, j in enumerate(places) if kinds[j] == block]
        if chosen:
            yield chosen, frame.iloc[:, [places[i] for i in chosen]].to_numpy()


def _polars_blocks(frame: Any, places: Sequence[int]) -> Blocks:
    """Only for short columns: a long one is read without a copy."""
    import polars as pl

    width, series = _CELLS_AT_ONCE // max(1, len(frame)), frame.get_columns()
    kinds: dict[Any, list[int]] = {}
    for i, j in enumerate(places):
        kinds.setdefault(series[j].dtype, []).append(i)
    for kind, alike in kinds.items():
        starts = range(0, len(alike), width) if width > 1 and _is_numeric(kind) else ()
        for chosen in (alike[start : start + width] for start in starts):
            cells = pl.DataFrame([series[places[i]] for i in chosen]).to_numpy()  # NaN for null
            if kind.is_float() or cells.dtype.kind in "iu" or np.nanmax(np.abs(cells), initial=0) < _EXACT:
                yield chosen, cells


def holds_single_values(kind: Any) -> bool:
    """Whether a type of Polars is one of its own whose values are neither lists nor any objects."""
    try:
        return kind.to_python() is not object and not kind.is_nested()
    except NotImplementedError:  # a type of another library
        return False


def _is_numeric(kind: Any) -> bool:
    """Whether a type of Polars is a float or integer type that NumPy has."""
    return kind.is_float() or (kind.is_integer() and kind.is_numeric() and "128" not in str(kind))


def _factorize(named: list[tuple[str, Any]], describe: Callable[[int], str] | None = None) -> list[Column]:
    """Columns from series of one library: numbers by NumPy, others by the library."""
    arrays = [_numbers(series) for _, series in named]
    rest = [series for (_, series), array in zip(named, arrays, strict=True) if array is None]
    others = iter(_factorize_polars(rest) if rest and _is_polars(rest[0]) else map(_factorize_pandas, rest))
    columns = []
    for (name, series), array in zip(named, arrays, strict=True):
        factors = next(others) if array is None else factorize_numbers(array)
        if factors is None:
            columns.append(Column.from_values(name, series.to_list(), describe))
        else:
            columns.append(Column.from_factors(name, factors, describe))
    return columns


def _is_polars(series: Any) -> bool:
    return library_of(series, "Series") == "polars"


def _numbers(series: Any) -> NDArray[Any] | None:
    """The array of a series of numbers or booleans, NaN for null; None for other series."""
    if not _is_polars(series):
        plain_numbers = isinstance(series.dtype, np.dtype) and series.dtype.kind in "iubf"
        return series.to_numpy() if plain_numbers else None
    kind = series.dtype
    if _is_numeric(kind):
        exact = series.null_count() in (0, len(series)) or -_EXACT < series.min() <= series.max() < _EXACT
        return series.to_numpy() if exact else None
    return series.to_numpy() if str(kind) == "Boolean" and not series.null_count() else None


def _factorize_pandas(series: Any) -> Factors | None:
    """Distinct values in order, and codes; None if pandas would merge different values, or cannot order them."""
    import pandas as pd

    if series.dtype == object and pd.api.types.infer_dtype(series, skipna=True).startswith("mixed"):
        return None
    try:
        codes, values = pd.factorize(series)
    except Exception:  # not hashable, or an error of its own; a later error names the row
        return None
    listed = values.tolist()
    try:
        order = sorted(range(len(listed)), key=listed.__getitem__)
    except TypeError:
        return listed, codes
    place = np.empty(len(order) + 1, np.int64)
    place[order], place[-1] = np.arange(len(order)), -1
    return [listed[i] for i in order], place[codes]


def _factorize_polars(series: list[Any]) -> list[Factors | None]:
    """Distinct values and codes of each series; None if Polars cannot order its values.

    Two queries for several columns: one per column takes longer than the work itself, and one for thousands of columns
    is slow to plan.
    """
    factors: list[Factors | None] = []
    for start in range(0, len(series), _COLUMNS_AT_ONCE):
        with reading("votes", "table"):  # Polars panics on dates that no calendar has
            factors += _factorize_some(series[start : start + _COLUMNS_AT_ONCE])
    return factors


def _factorize_some(series: list[Any]) -> list[Factors | None]:
    import polars as pl
    import polars.selectors as cs

    plain_frame = pl.DataFrame([each.alias(str(j)) for j, each in enumerate(series)])  # a name could be a pattern
    kept = [name for name, kind in plain_frame.schema.items() if holds_single_values(kind)]
    if not kept:
        return [None] * len(series)
    plain_frame = plain_frame.select(kept).with_columns(
        cs.float().fill_nan(None), (cs.categorical() | cs.by_dtype(pl.Enum)).cast(pl.String)
    )
    distinct = plain_frame.select(pl.all().drop_nulls().unique().sort().implode())
    values = {name: distinct[name][0] for name in kept}
    codes = plain_frame.select(
        pl.col(name).replace_strict(values[name], range(len(values[name])), default=None, return_dtype=pl.Int32)
        for name in kept
        if len(values[name])
    ).fill_null(-1)
    factors: dict[str, Factors] = {
        name: (values[name].to_list(), codes[name].to_numpy() if name in codes else np.full(len(plain_frame), -1))
        for name in kept
    }
    return [factors.get(str(j)) for j in range(len(series))]
