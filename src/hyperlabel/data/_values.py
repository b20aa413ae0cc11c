"""Values of cells: plain Python objects, what abstains, and `Column`, a column as distinct values and codes.

A column is factorized once; all checks then look at the few distinct values instead of the many rows.
"""

import numbers
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import show
from hyperlabel.errors import ParameterError, VotesError

Key = tuple[bool, Any]
Factors = tuple[Sequence[Any], NDArray[np.integer]]
"""Distinct values of a column, and for each row its position among them, -1 if the cell is empty."""

ABSTAINS = (
    -1, "-1", "NA", "N/A", "n/a", "<NA>", "None", "nan", "NaN", "null", "NULL", "abstain", "Abstain", "ABSTAIN", "-",
)  # fmt: skip
"""Values that abstain unless `abstain` lists others. Null, NaN and blank strings always do."""

MOST_VALUES = 10_000  # distinct values of a column that are listed and counted; no column of votes has more

_CELLS_AT_ONCE = 1 << 20
_KINDS: dict[type, str] = {bool: "boolean", int: "number", str: "text"}


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


def kind_of(value: object) -> str:
    """The kind of class that a value is; the name of its type if it cannot be a class."""
    kind = _KINDS.get(type(value))  # the fast path: tables have many values, nearly all of these types
    if kind is None:
        kind = "number" if isinstance(value, numbers.Number) else "text" if isinstance(value, str) else None
    return kind or type(value).__name__


def key_of(value: Any) -> Key:
    """A value in a form that tells True from 1."""
    return isinstance(value, bool), value


DEFAULT = frozenset(map(key_of, ABSTAINS))


def abstain_keys(abstain: Sequence[Any] | None, stated: Collection[Any] | None = None) -> frozenset[Key]:
    """Keys of the values that abstain. A stated class is always a class, whatever the list says."""
    if abstain is None and stated is None:
        return DEFAULT
    listed = ABSTAINS if abstain is None else as_list(abstain, "abstain", f"a list of values: [{show(abstain)}]")
    return frozenset(map(key_of, listed)) - {key_of(c) for c in stated or ()}


def number_values(values: Iterable[Any]) -> dict[Key, int]:
    """The distinct values by number, in order of appearance."""
    return {key: i for i, key in enumerate(dict.fromkeys(map(key_of, values)))}


def exact_array(values: list[Any]) -> NDArray[Any]:
    """An array of values; of objects where NumPy would round, cut or mix them. -> (n,)."""
    if values and all(np.isscalar(value) for value in values):
        typed = np.array(values)
        held = typed.tolist()
        if held == values and list(map(type, held)) == list(map(type, values)):  # True is 1, and 2**63 is a float
            return typed
    return np.fromiter(values, object, len(values))


@dataclass(frozen=True)
class ColumnSummary:
    """Summary of a column, as `take_votes` needs it."""

    name: str
    n_rows: int
    counts: Mapping[Any, int]  # rows of each value, without nulls; only some of very many values
    n_distinct: int = 0  # number of distinct values, if `counts` does not list them all

    @property
    def distinct(self) -> int:
        """Number of distinct values."""
        return max(self.n_distinct, len(self.counts))


@dataclass(frozen=True, eq=False)
class Column:
    """A factorized column."""

    name: str  # its name, for errors
    values: tuple[Any, ...]  # its distinct values, as Python objects
    codes: NDArray[np.integer]  # (n,) positions in `values`, -1 where the column is empty
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
        listed = values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind not in "mM" else values
        position: dict[Any, int] = {}  # by type and value: the type tells True from 1
        codes: list[int] = []
        try:
            for value in listed:
                codes.append(position.setdefault((type(value), value), len(position)))
        except (TypeError, ValueError) as error:  # a list, a dict or an array
            where = cls(name, (), np.empty(0, int), describe).name_row(len(codes))
            what = f"{where} is {show(value)} ({type(value).__name__}); expected a single value"
            raise VotesError(f"{what}. Unpack it, or leave it out") from error
        return cls.from_factors(name, ([value for _, value in position], np.array(codes, np.int64)), describe)

    @classmethod
    def from_factors(cls, name: str, factors: Factors, describe: Callable[[int], str] | None = None) -> "Column":
        """From distinct values and codes, -1 for empty; values get their plain form, and equal ones one code."""
        values, codes = factors
        if all(type(value) is int for value in values):
            return cls(name, tuple(values), codes, describe)
        position: dict[Any, int] = {}
        table = [
            -1 if value is None else position.setdefault((type(value), value), len(position))
            for value in map(plain, values)
        ]
        if table != list(range(len(values))):
            codes = np.array([*table, -1], np.int64)[codes]
        return cls(name, tuple(value for _, value in position), codes, describe)

    @property
    def is_votes(self) -> bool:
        """Return whether it is a column of a table of votes; others have their own names for rows."""
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
        """Counts of the values."""
        counts = np.bincount(self.codes + 1, minlength=len(self.values) + 1)[1 : MOST_VALUES + 1].tolist()
        many = len(self.values) if len(self.values) > MOST_VALUES else 0
        return ColumnSummary(self.name, len(self.codes), dict(zip(self.values, counts, strict=False)), many)

    def abstains(self, value: object) -> bool:
        """Return whether a value that is not empty means an abstention."""
        return key_of(value) in self.abstain

    @staticmethod
    def is_abstain(value: object) -> bool:
        """Return whether a value means an abstention by default, when no other values are listed."""
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

    def locate(self, value: object) -> str:
        """Name the row where a value first occurs, for errors."""
        return self.name_row(self._row(value))

    def name_row(self, row: int) -> str:
        """Name a row, for errors."""
        return f"column '{self.name}', row {row}" if self.describe is None else self.describe(row)

    def _row(self, value: object) -> int:
        code = next(i for i, v in enumerate(self.values) if type(v) is type(value) and v == value)
        return int((self.codes == code).argmax())


def factorize_numbers(values: NDArray[Any]) -> Factors:
    """Factorize integers, booleans or floats; NaN is empty. Values are in order."""
    if values.dtype.kind == "f" and not (present := values == values).all():
        distinct, some = factorize_numbers(values[present])
        codes = np.full(len(values), -1, np.int64)
        codes[present] = some
        return distinct, codes
    low, high = (values.min(), values.max()) if len(values) else (0, 0)
    is_small = low >= -MOST_VALUES and high <= MOST_VALUES
    if not is_small or (values.dtype.kind == "f" and (values != np.trunc(values)).any()):
        different, codes = np.unique(values, return_inverse=True)
        return different.tolist(), codes
    shifted = values.astype(np.int64) - int(low)
    present = np.bincount(shifted, minlength=1) > 0
    codes = (np.cumsum(present) - 1).take(shifted)
    return (np.flatnonzero(present)[: len(values)] + int(low)).astype(values.dtype).tolist(), codes


def factorize_columns(columns: Sequence[NDArray[Any]]) -> list[Factors]:
    """Factorize columns of numbers; short ones of one type together, since there may be thousands."""
    width = _CELLS_AT_ONCE // max(1, len(columns[0])) if columns else 0
    factors: dict[int, Factors] = {}
    for kind in {column.dtype for column in columns} if width > 1 else ():
        alike = [j for j, column in enumerate(columns) if column.dtype == kind]
        for some in (alike[start : start + width] for start in range(0, len(alike), width)):
            factors |= zip(some, _factorize_block(np.stack([columns[j] for j in some])), strict=False)
    return [factors[j] if j in factors else factorize_numbers(column) for j, column in enumerate(columns)]


def _factorize_block(cells: NDArray[Any]) -> list[Factors]:
    """Rows of whole numbers in a small range, by counting all of them at once; nothing for others."""
    known = cells == cells
    low, high = np.nanmin(cells, initial=0), np.nanmax(cells, initial=0)
    if not (low >= -64 and high <= 64):
        return []
    low, m, span = int(low), len(cells), int(high) - int(low) + 1
    shifted = np.where(known, cells, low).astype(np.int64) - low
    if cells.dtype.kind == "f" and (shifted + low != np.where(known, cells, low)).any():
        return []
    keys = shifted + span * np.arange(m)[:, None]
    present = np.zeros(m * span, bool)
    present[keys[known]] = True
    table = present.reshape(m, span)
    codes = (np.cumsum(table, 1) - 1).ravel().take(keys)
    codes[~known] = -1
    values = (np.nonzero(table)[1] + low).astype(bool if cells.dtype.kind == "b" else int).tolist()
    ends = np.cumsum(table.sum(1)).tolist()
    return [(values[start:end], codes[j]) for j, (start, end) in enumerate(pairwise([0, *ends]))]


def looks_like_number(text: str) -> bool:
    """Return whether a string reads like a number."""
    return text.strip().lstrip("+-").replace(".", "", 1).isdigit()


# Arguments.


def is_sparse(data: object) -> bool:
    """Return whether data is a sparse matrix or array of SciPy."""
    return any(cls.__module__.startswith("scipy.sparse") for cls in type(data).__mro__)


def as_list(values: object, argument: str, expected: str) -> list[Any]:
    """The members of an argument that must be a list or another iterable; a string is refused."""
    try:
        if isinstance(values, str | bytes | Mapping | set | frozenset):
            raise TypeError
        return list(values)  # type: ignore[call-overload, no-any-return]
    except TypeError:
        raise ParameterError(f"{argument} is {show(values)}; expected {expected}") from None


def as_array(values: object, argument: str, expected: str) -> NDArray[Any]:
    """An argument as an array of any type and shape; refuse what NumPy would read as one object."""
    refuse_masked(values, argument)
    try:
        if isinstance(values, str | bytes | Mapping) or is_sparse(values):
            raise TypeError
        return np.asarray(values)
    except (TypeError, ValueError):  # rows of different lengths
        raise ParameterError(f"{argument} is {show(values)}; expected {expected}") from None


def refuse_masked(values: object, argument: str) -> None:
    """Refuse a masked array, since NumPy would take what its mask hides."""
    if is_masked(values):
        raise ParameterError(
            f"{argument} is a masked array; expected a plain one. Put in the value that means nothing with .filled"
        )


def is_masked(values: object) -> bool:
    """Return whether values are a masked array, or a list of such rows."""
    rows = values if isinstance(values, list | tuple) else [values]
    return any(hasattr(type(row), "filled") for row in rows)  # NumPy imports `np.ma` on first use
