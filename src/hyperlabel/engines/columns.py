"""What the columns of votes hold, found where the rows are: a few values of each column reach this process."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.classes import ABSTAIN, Classes, smallest_type
from hyperlabel.engines.base import Engine
from hyperlabel.engines.packing import Digit, Packing, RowKeys
from hyperlabel.errors import VotesError
from hyperlabel.frames import Column
from hyperlabel.outcomes import Outcomes
from hyperlabel.partial import encode_votes
from hyperlabel.patterns import Patterns
from hyperlabel.votes import Votes

ClassNumbers = NDArray[np.signedinteger]


@dataclass(frozen=True)
class VoteColumn:
    """A column of votes or gold.

    Attributes:
        column: Its distinct values; of class numbers the least and the largest.
        digit: How its values are packed.
    """

    column: Column
    digit: Digit

    def class_numbers(self, classes: Classes, outcomes: Outcomes | None) -> ClassNumbers:
        """The class number of each digit, or that of an outcome behind them. -> (base,)."""
        numbers = encode_votes(self.column, classes, outcomes)  # refuses a value that is no class
        if self.digit.values is None:
            return np.arange(ABSTAIN, self.digit.base - 1, dtype=numbers.dtype)
        voting = numbers[numbers >= 0]
        return np.append(np.array([ABSTAIN], voting.dtype), voting)


def read_columns(engine: Engine, names: Sequence[str], most: int, *, numbered: bool) -> list[VoteColumn]:
    """Look at columns.

    Args:
        engine: The rows.
        names: The columns.
        most: Different values that a column may hold.
        numbered: Whether classes may be their own numbers, so that of whole numbers the ends tell enough.
    """
    kinds = engine.kinds()
    whole = [name for name in names if numbered and kinds[name] == "integer"]
    ends = dict(zip(whole, engine.ranges(whole), strict=True)) if whole else {}
    return [_read_column(engine, name, kinds[name], ends.get(name), most) for name in names]


def _read_column(engine: Engine, name: str, kind: str, ends: tuple[int, int] | None, most: int) -> VoteColumn:
    if ends is not None and ends[0] >= ABSTAIN and ends[1] < most:
        return VoteColumn(_column(engine, name, list(ends)), Digit(name, ends[1] + 2))
    if kind not in ("integer", "plain"):
        raise VotesError(
            f"column '{name}' holds values of the type {kind}; expected numbers, texts or booleans. "
            "Leave the column out of lfs"
        )
    values = engine.distinct(name, most)
    if len(values) > most:
        raise VotesError(
            f"column '{name}' holds more than {most:,} different values; expected classes. "
            "Is it an identifier or a text? Leave it out of lfs"
        )
    values.sort(key=lambda value: (type(value).__name__, value))
    column = _column(engine, name, values)
    voting = [v for v, code in zip(values, column.codes, strict=True) if _votes(column, int(code))]
    return VoteColumn(column, Digit(name, len(voting) + 1, tuple(voting)))


def _column(engine: Engine, name: str, values: list[Any]) -> Column:
    def describe(index: int) -> str:
        row = engine.first_row(name, values[index])
        return f"a value of column '{name}'" if row is None else f"column '{name}', row {row}"

    return Column.from_values(name, values, describe)


def _votes(column: Column, code: int) -> bool:
    return code >= 0 and not column.is_abstain(column.values[code])


@dataclass(frozen=True)
class Encoder:
    """From the keys of rows to their votes and gold; can be pickled.

    Attributes:
        packing: How rows become keys: the columns of LFs, then that of gold, if there is one.
        tables: For each column the class number of each digit.
        classes: The classes.
        n_lfs: Number of LFs.
        outcomes: What votes may be beside one class; None where all are classes.
    """

    packing: Packing
    tables: tuple[ClassNumbers, ...]
    classes: Classes
    n_lfs: int
    outcomes: Outcomes | None = None

    @classmethod
    def of(
        cls, lfs: Sequence[VoteColumn], gold: VoteColumn | None, classes: Classes, outcomes: Outcomes | None = None
    ) -> "Encoder":
        """For columns, in their order."""
        columns = [*lfs] if gold is None else [*lfs, gold]
        tables = [column.class_numbers(classes, outcomes) for column in lfs]
        tables += [] if gold is None else [gold.class_numbers(classes, None)]
        return cls(Packing(tuple(column.digit for column in columns)), tuple(tables), classes, len(lfs), outcomes)

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
        """A pattern without votes that no item has: the LFs and classes, and nothing that could be counted."""
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
        """Patterns of rows, which know their items, and the rows' gold. (n, g) keys -> patterns, (n,) as `decode`."""
        cells, gold = self.decode(keys)
        votes = Votes(len(cells), self.n_lfs, self.classes, True, self.lf_names, cells=cells, outcomes=self.outcomes)
        return Patterns.from_votes(votes), gold
