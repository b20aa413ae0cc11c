"""What the columns of votes hold, found where the rows are: only a few values of each column reach this process.

A column's distinct values are its digits, including abstentions. So rows are counted first, and what the values mean is
decided on the counts: by the same rule, with the same columns and classes as for a table in memory.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.frames import Column, number_values, plain
from hyperlabel.columns.rule import ColumnSummary, Key, key_of
from hyperlabel.engines.base import Engine
from hyperlabel.engines.packing import Digit, Packing, RowKeys
from hyperlabel.errors import VotesError
from hyperlabel.patterns import Patterns
from hyperlabel.votes import Votes
from hyperlabel.votes.classes import ABSTAIN, Classes, encode_column, smallest_type
from hyperlabel.votes.outcomes import Outcomes
from hyperlabel.votes.partial import encode_votes

ClassNumbers = NDArray[np.signedinteger]


@dataclass(frozen=True, eq=False)
class CountedColumn(Column):
    """A column whose rows were counted by their digits; `codes` holds the value of each digit, -1 for empty.

    Attributes:
        held: (v,) how many rows have each of `values`.
        n_rows: Number of rows.
    """

    held: tuple[int, ...] = ()
    n_rows: int = 0

    @cached_property
    def summary(self) -> ColumnSummary:
        """How often each value occurs."""
        return ColumnSummary(self.name, self.n_rows, dict(zip(self.values, self.held, strict=True)))

    @property
    def is_votes(self) -> bool:
        """Whether it is a column of votes, not of gold."""
        return isinstance(self.describe, Places) and not self.describe.gold

    def with_values(self, values: Sequence[Any]) -> Self:
        """The column with other values; the rows of those that become one are added up."""
        number = number_values(values)
        held = [0] * len(number)
        for value, n in zip(values, self.held, strict=True):
            held[number[key_of(value)]] += n
        return replace(super().with_values(values), held=tuple(held))

    def first_of(self, kind: str) -> Any:
        """The first value of a kind; if rows have no order, the least."""
        assert isinstance(self.describe, Places)
        values = self.of_kind(kind)
        digits = [int((self.codes == self.values.index(value)).argmax()) for value in values]
        first = self.describe.first(digits)
        return values[0] if first is None else values[digits.index(first)]


@dataclass(frozen=True)
class Look:
    """What is known about columns after a look at them.

    Attributes:
        digits: How the values of columns become digits.
        negative: For columns of class numbers with -1, their number of nulls: both are the digit 0.
        many: Columns with more values than there can be classes; they have no digits.
    """

    digits: tuple[Digit, ...]
    negative: dict[str, int]
    many: tuple[str, ...]


def look_at(engine: Engine, names: Sequence[str], most: int, abstain: frozenset[Key]) -> Look:
    """Look at columns.

    Args:
        engine: The rows.
        names: The columns.
        most: How many different values a column may hold.
        abstain: The values that abstain.
    """
    kinds = engine.kinds()
    odd = next((name for name in names if kinds[name] not in ("integer", "plain")), None)
    if odd is not None:
        raise VotesError(
            f"column '{odd}' holds values of the type {kinds[odd]}; expected numbers, strings or booleans. "
            "Leave the column out of lfs"
        )
    whole = [name for name in names if kinds[name] == "integer"]
    ends = dict(zip(whole, engine.ranges(whole), strict=True)) if whole else {}
    lowest = ABSTAIN if key_of(ABSTAIN) in abstain else 0
    numbered = {n for n, (low, high) in ends.items() if lowest <= low and high < most}
    others = [name for name in names if name not in numbered]
    listed = {name: _list_values(name, v, most) for name, v in zip(others, engine.distinct(others, most), strict=True)}
    digits = [Digit(n, ends[n][1] + 2) if n in numbered else listed[n] for n in names]
    negative = [name for name in whole if name in numbered and ends[name][0] == ABSTAIN]
    nulls = engine.nulls(negative) if negative else []
    many = tuple(name for name, digit in listed.items() if digit is None)
    return Look(tuple(d for d in digits if d is not None), dict(zip(negative, nulls, strict=True)), many)


def _list_values(name: str, values: Sequence[Any], most: int) -> Digit | None:
    """A digit for each value that is not empty; None if there are too many."""
    if len(values) > most:
        return None
    held = sorted((v for v in values if plain(v) is not None), key=lambda value: (type(value).__name__, value))
    return Digit(name, len(held) + 1, tuple(held))


@dataclass(frozen=True)
class Tally:
    """Sums of rows over their digits, chunk by chunk; can be pickled."""

    packing: Packing

    def __call__(self, keys: RowKeys) -> tuple[NDArray[np.float64], ...]:
        """(n, g) keys -> for each column (base,) numbers of rows."""
        return self.of(keys, None)

    def of(self, keys: RowKeys, counts: NDArray[np.int64] | None) -> tuple[NDArray[np.float64], ...]:
        """(c, g) keys and the rows of each -> for each column (base,) numbers of rows."""
        digits = self.packing.unpack(keys)
        bases = [digit.base for digit in self.packing.digits]
        found = (np.bincount(digits[:, j], counts, base) for j, base in enumerate(bases))
        return tuple(each.astype(np.float64) for each in found)


def count_column(
    engine: Engine, look: Look, digit: Digit, tally: NDArray[np.float64], read: Callable[[Any], Any] = plain
) -> CountedColumn:
    """A column from the numbers of rows of its digits.

    Args:
        engine: The rows, to find the place of a wrong value.
        look: What is known about the column.
        digit: Its digits.
        tally: (base,) number of rows of each digit.
        read: From a value of the engine to what it means.
    """
    n_rows, counts = int(tally.sum()), [int(n) for n in tally]
    if digit.values is not None and n_rows and not all(counts[1:]):  # a value that was there is gone
        raise VotesError(f"column '{digit.column}' changed while it was being read; label again")
    raw = range(digit.base - 1) if digit.values is None else digit.values
    pairs = [(d, read(value)) for d, value in enumerate(raw, 1) if counts[d]]
    minus = counts[0] - look.negative.get(digit.column, counts[0])
    values = [ABSTAIN, *(value for _, value in pairs)] if minus else [value for _, value in pairs]
    number = number_values(values)
    codes, held = np.full(digit.base, -1), [0] * len(number)
    for d, value in pairs:
        codes[d] = number[key_of(value)]
        held[codes[d]] += counts[d]
    if minus:
        held[number[key_of(ABSTAIN)]] += minus
    places = Places(engine, digit)
    return CountedColumn(digit.column, tuple(v for _, v in number), codes, places, held=tuple(held), n_rows=n_rows)


@dataclass(frozen=True)
class Places:
    """How an error names a value: by its first row, if rows have an order.

    Attributes:
        engine: The rows.
        digit: The column.
        gold: Whether it is the column of gold.
    """

    engine: Engine
    digit: Digit
    gold: bool = False

    def __call__(self, d: int) -> str:
        """The place of the value of a digit."""
        found = self._find([d])
        if self.gold:
            return "a value of gold" if found is None else f"gold[{found[0]}]"
        name = self.digit.column
        return f"a value of column '{name}'" if found is None else f"column '{name}', row {found[0]}"

    def first(self, digits: Sequence[int]) -> int | None:
        """The digit that comes first, if rows have an order."""
        found = self._find(digits)
        return None if found is None else found[1]

    def _find(self, digits: Sequence[int]) -> tuple[int, int] | None:
        """The first row with one of some digits, and its digit."""
        values = [d - 1 if self.digit.values is None else self.digit.values[d - 1] for d in digits]
        found = self.engine.first_row(self.digit.column, values)
        return None if found is None else (found[0], digits[values.index(found[1])])


@dataclass(frozen=True)
class Encoder:
    """From the keys of rows to their votes and gold; can be pickled.

    Attributes:
        packing: How rows become keys: the columns of LFs, then the column of gold, if there is one.
        tables: For each column the class number of each digit.
        classes: The classes.
        n_lfs: Number of LFs.
        outcomes: Outcomes that are not one class; None if all votes are classes.
    """

    packing: Packing
    tables: tuple[ClassNumbers, ...]
    classes: Classes
    n_lfs: int
    outcomes: Outcomes | None = None

    @classmethod
    def of(
        cls,
        packing: Packing,
        columns: Sequence[Column],
        n_lfs: int,
        classes: Classes,
        outcomes: Outcomes | None = None,
    ) -> "Encoder":
        """For columns, in the order of their digits; refuses a value that is not a class."""
        votes = [encode_votes(column, classes, outcomes) for column in columns[:n_lfs]]
        gold = [encode_column(column, classes) for column in columns[n_lfs:]]
        return cls(packing, (*votes, *gold), classes, n_lfs, outcomes)

    @property
    def lf_names(self) -> tuple[str, ...]:
        """The columns of LFs."""
        return tuple(digit.column for digit in self.packing.digits[: self.n_lfs])

    @property
    def gold(self) -> Digit | None:
        """The digit of gold, if there is a column of it."""
        return self.packing.digits[self.n_lfs] if len(self.packing.digits) > self.n_lfs else None

    @cached_property
    def no_items(self) -> Patterns:
        """A pattern without votes or items: it only says what the LFs and classes are."""
        patterns, _ = self.patterns(np.zeros((1, len(self.packing.keys)), np.int64))
        return replace(patterns, counts=np.zeros(1, np.int64), inverse=None)

    def decode(self, keys: RowKeys) -> tuple[ClassNumbers, ClassNumbers | None]:
        """Votes and gold of rows, -1 for none. (n, g) keys -> (n, m) and (n,) class numbers, None without gold."""
        digits = self.packing.unpack(keys)
        cells = np.empty(digits.shape, smallest_type(len(self.classes) + len(self.outcomes or ())))
        for j, table in enumerate(self.tables):
            cells[:, j] = table.take(digits[:, j])
        return cells[:, : self.n_lfs], None if self.gold is None else cells[:, self.n_lfs]

    def patterns(self, keys: RowKeys) -> tuple[Patterns, ClassNumbers | None]:
        """Patterns of rows, with their items, and the rows' gold. (n, g) keys -> patterns, (n,) as `decode`."""
        cells, gold = self.decode(keys)
        votes = Votes(len(cells), self.n_lfs, self.classes, True, self.lf_names, cells=cells, outcomes=self.outcomes)
        return Patterns.from_votes(votes), gold
