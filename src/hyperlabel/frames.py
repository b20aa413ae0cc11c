"""Columns of pandas and Polars frames as distinct values and codes, without importing either library.

Whatever a column holds, it is factorised by the frame's own library; all checks then look at the few
distinct values instead of the many rows.
"""

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.arrays import looks_like_number
from hyperlabel.errors import ParameterError, VotesError

Factors = tuple[Sequence[Any], NDArray[np.integer]]


@dataclass(frozen=True, eq=False)
class Column:
    """A factorised column.

    Attributes:
        name: Its name, for errors.
        values: Its distinct values, as Python objects.
        codes: (n,) places in `values`, -1 where the column is empty.
        describe: How an error calls a row; by column and row if not given.
    """

    name: str
    values: tuple[Any, ...]
    codes: NDArray[np.integer]
    describe: Callable[[int], str] | None = None

    @classmethod
    def from_values(
        cls, name: str, values: Sequence[Any] | NDArray[Any], describe: Callable[[int], str] | None = None
    ) -> "Column":
        """From an array or list; None, NaN and an empty text are empty.

        >>> column = Column.from_values("a", ["x", None, "y", "x"])
        >>> column.values, column.codes.tolist()
        (('x', 'y'), [0, -1, 1, 0])
        """
        if isinstance(values, np.ndarray) and values.dtype.kind in "iub":
            distinct, codes = np.unique(values, return_inverse=True)
            return cls(name, tuple(distinct.tolist()), codes, describe)
        # The type in a key tells True from 1.
        seen: dict[Any, int] = {}
        table: dict[Any, int] = {}
        listed = values.tolist() if isinstance(values, np.ndarray) else values
        row_codes: list[int] = []
        try:
            for raw in listed:
                code = seen.get((type(raw), raw))
                if code is None:
                    value = _plain(raw)
                    code = -1 if value is None else table.setdefault((type(value), value), len(table))
                    seen[type(raw), raw] = code
                row_codes.append(code)
        except TypeError as error:  # not hashable
            odd = listed[len(row_codes)]
            place = cls(name, (), np.empty(0, int), describe).place_of_row(len(row_codes))
            raise VotesError(f"{place} is {odd!r:.60}, a {type(odd).__name__}; expected a single value") from error
        return cls(name, tuple(value for _, value in table), np.array(row_codes, np.int64), describe)

    @classmethod
    def from_series(cls, name: str, series: Any, describe: Callable[[int], str] | None = None) -> "Column":
        """From a pandas or Polars series."""
        if _library(series, "Series") == "pandas":
            factors = _factorise_pandas(series)
        else:
            (factors,) = _factorise_polars(series.to_frame())
        return cls._from_factors(name, series, factors, describe)

    @classmethod
    def _from_factors(
        cls, name: str, series: Any, factors: Factors | None, describe: Callable[[int], str] | None = None
    ) -> "Column":
        """Give values their plain form; what is empty by it gets the code -1."""
        if factors is None:
            return cls.from_values(name, series.to_list(), describe)
        values, codes = factors
        plain = [_plain(value) for value in values]
        filled = np.array([value is not None for value in plain], bool)
        if not filled.all():
            codes = np.append(np.where(filled, np.cumsum(filled) - 1, -1), -1)[codes]
        return cls(name, tuple(value for value in plain if value is not None), codes, describe)

    @cached_property
    def voted(self) -> list[Any]:
        """The distinct values that are not abstentions."""
        return [value for value in self.values if not self.is_abstain(value)]

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of class the column holds, abstentions aside."""
        return sorted({self.kind_of(value) for value in self.voted})

    @staticmethod
    def kind_of(value: object) -> str:
        """What kind of class a value is; the name of its type if it can be none."""
        if isinstance(value, bool):
            return "boolean"
        if isinstance(value, numbers.Number):
            return "number"
        return "text" if isinstance(value, str) else type(value).__name__

    @staticmethod
    def is_abstain(value: object) -> bool:
        """Whether a value that is there stands for an abstention: -1, which a column of texts holds as text."""
        return value in (-1, "-1")

    def first_of(self, kind: str) -> Any:
        """The value of a kind that stands first; of texts one that is no number, if there is one."""
        values = [value for value in self.voted if self.kind_of(value) == kind]
        words = [value for value in values if not (isinstance(value, str) and looks_like_number(value))]
        return min(words or values, key=self._row)

    def place(self, value: object) -> str:
        """Where a value stands first."""
        return self.place_of_row(self._row(value))

    def place_of_row(self, row: int) -> str:
        """A row, for errors."""
        return f"column '{self.name}', row {row}" if self.describe is None else self.describe(row)

    def _row(self, value: object) -> int:
        code = next(i for i, v in enumerate(self.values) if type(v) is type(value) and v == value)
        return int((self.codes == code).argmax())


def _plain(value: Any) -> Any:
    """A Python object; None where the value is empty; whole numbers of any type are integers."""
    value = value.item() if isinstance(value, np.generic) else value
    # NaN differs from itself, and pandas' NA does not say.
    if value is None or (value != value) is not False or value == "":
        return None
    if not isinstance(value, numbers.Number) or isinstance(value, int):
        return value
    try:
        whole = int(value)  # type: ignore[call-overload]
    except (OverflowError, TypeError):  # infinite or complex
        return value
    return whole if whole == value else value


def is_frame(data: object) -> bool:
    """Whether data is a pandas or Polars frame."""
    return _library(data, "DataFrame") is not None


def is_series(data: object) -> bool:
    """Whether data is a pandas or Polars series."""
    return _library(data, "Series") is not None


def _library(data: object, kind: str) -> str | None:
    """The library that data is a DataFrame or Series of, also by inheritance."""
    roots = [cls.__module__.partition(".")[0] for cls in type(data).__mro__ if cls.__name__ == kind]
    return next((root for root in roots if root in ("pandas", "polars")), None)


def columns_of(frame: Any, names: Sequence[str] | None) -> list[Column]:
    """Factorised columns of a frame, all of them or those that are named."""
    if not is_frame(frame):
        remedy = ". Call its collect() first" if hasattr(frame, "collect") else ""
        raise VotesError(f"votes is a {type(frame).__name__}; expected a pandas or Polars DataFrame{remedy}")
    present = list(frame.columns)
    chosen = present if names is None else _check_names(names, present)
    twice = next((name for name in chosen if present.count(name) > 1), None)
    if twice is not None:
        raise VotesError(f"votes has {present.count(twice)} columns named {twice!r}; expected one. Rename the others")
    if _library(frame, "DataFrame") == "pandas":
        return [Column.from_series(str(name), frame[name]) for name in chosen]
    factors = _factorise_polars(frame.select([frame[name] for name in chosen]))
    return [Column._from_factors(name, frame[name], f) for name, f in zip(chosen, factors, strict=True)]


def _check_names(names: Sequence[str], present: list[str]) -> list[str]:
    if isinstance(names, str):
        raise ParameterError(f"lfs is the text {names!r}; expected a list of columns: [{names!r}]")
    for i, name in enumerate(names):
        if name not in present:
            shown = ", ".join(map(repr, present[:20])) + (", ..." if len(present) > 20 else "")
            raise VotesError(f"votes has no column {name!r}; its columns are {shown}")
        if name in names[:i]:
            raise ParameterError(f"column {name!r} is named twice; name each column once")
    return list(names)


def _factorise_pandas(series: Any) -> Factors | None:
    """Distinct values and codes; None where pandas would take different values for one."""
    if series.dtype.name == "category":
        series = series.astype(object)  # unused categories go, the others are sorted as in any column
    if series.dtype == object:
        from pandas.api.types import infer_dtype

        if infer_dtype(series, skipna=True).startswith("mixed"):
            return None
    category = series.astype("category")
    return category.cat.categories.tolist(), category.cat.codes.to_numpy()


def _factorise_polars(frame: Any) -> list[Factors | None]:
    """Distinct values and codes of each column; None where Polars has no order for its values.

    Two queries for the whole frame: one a column would take longer than the work itself.
    """
    import polars as pl
    import polars.selectors as cs

    plain = frame.clone()
    plain.columns = [str(j) for j in range(frame.width)]  # a name could be read as a pattern
    kept = [name for name, kind in plain.schema.items() if not kind.is_nested() and kind != pl.Object]
    plain = plain.select(kept).with_columns(
        cs.float().fill_nan(None), (cs.categorical() | cs.by_dtype(pl.Enum)).cast(pl.String)
    )
    distinct = plain.select(pl.all().drop_nulls().unique().sort().implode())
    values = {name: distinct[name][0] for name in kept}
    codes = plain.select(
        pl.col(name).replace_strict(values[name], range(len(values[name])), default=None, return_dtype=pl.Int32)
        for name in kept
        if len(values[name])
    ).fill_null(-1)
    factors: dict[str, Factors] = {
        name: (values[name].to_list(), codes[name].to_numpy() if name in codes else np.full(len(frame), -1))
        for name in kept
    }
    return [factors.get(str(j)) for j in range(frame.width)]
