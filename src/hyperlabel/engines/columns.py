"""What the columns of votes hold, found where the rows are: a few values a column reach this process."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.classes import (
    ABSTAIN,
    MOST_INFERRED,
    Classes,
    complete_classes,
    encode_column,
    infer_classes,
    missing_classes,
    show_some,
    smallest_type,
    state_classes,
)
from hyperlabel.engines.base import Engine
from hyperlabel.engines.packing import Digit, Keys, Packing
from hyperlabel.errors import VotesError
from hyperlabel.frames import Column
from hyperlabel.patterns import Patterns
from hyperlabel.votes import Votes

_UNKNOWN = -2  # a class number that was not stated


@dataclass(frozen=True)
class VoteColumn:
    """A column of votes or gold.

    Attributes:
        column: Its distinct values; of class numbers the least and the largest.
        digit: How its values are packed.
    """

    column: Column
    digit: Digit

    def class_numbers(self, classes: Classes) -> NDArray[np.signedinteger]:
        """The class number of each digit. -> (base,)."""
        numbers = encode_column(self.column, classes)  # refuses a value that is no class
        if self.digit.values is not None:
            voting = numbers[numbers >= 0]
            return np.append(np.array([ABSTAIN], voting.dtype), voting)
        place = {c: i for i, c in enumerate(classes)}
        found = [ABSTAIN, *(place.get(value, _UNKNOWN) for value in range(self.digit.base - 1))]
        return np.array(found, smallest_type(len(classes)))


def read_columns(engine: Engine, names: Sequence[str], most: int = MOST_INFERRED) -> list[VoteColumn]:
    """Look at columns; one may hold at most so many different values."""
    kinds = engine.kinds()
    whole = [name for name in names if kinds[name] == "integer"]
    spans = dict(zip(whole, engine.ranges(whole), strict=True)) if whole else {}
    return [_read_column(engine, name, kinds[name], spans.get(name), most) for name in names]


def _read_column(engine: Engine, name: str, kind: str, span: tuple[int, int] | None, most: int) -> VoteColumn:
    if span is not None and span[0] >= ABSTAIN and span[1] < most:
        return VoteColumn(_column(engine, name, list(span)), Digit(name, span[1] + 2))
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
    def describe(place: int) -> str:
        row = engine.first_row(name, values[place])
        return f"a value of column '{name}'" if row is None else f"column '{name}', row {row}"

    return Column.from_values(name, values, describe)


def _votes(column: Column, code: int) -> bool:
    return code >= 0 and not column.is_abstain(column.values[code])


def find_classes(
    columns: Sequence[VoteColumn], n_classes: int | None, classes: Sequence[Hashable] | None, gold: VoteColumn | None
) -> Classes:
    """The classes of the votes, as `Votes.from_frame` finds them; classes that only gold has are added."""
    stated = state_classes(n_classes, classes)
    if stated is not None and classes is not None:
        return stated
    known = complete_classes(infer_classes([each.column for each in columns], n_classes), n_classes)
    if gold is None or n_classes is not None:
        return known
    return known + missing_classes(gold.column, known)


@dataclass(frozen=True)
class Encoder:
    """From keys to votes; can be pickled.

    Attributes:
        packing: How rows became keys.
        tables: For each column the class number of each digit.
        classes: The classes.
    """

    packing: Packing
    tables: tuple[NDArray[np.signedinteger], ...]
    classes: Classes

    @classmethod
    def of(cls, columns: Sequence[VoteColumn], classes: Classes) -> "Encoder":
        """For columns, in their order."""
        tables = tuple(column.class_numbers(classes) for column in columns)
        return cls(Packing(tuple(column.digit for column in columns)), tables, classes)

    def cells(self, digits: NDArray[np.integer]) -> NDArray[np.signedinteger]:
        """Class numbers of digits, -1 abstains. (n, m) -> (n, m)."""
        cells = np.empty(digits.shape, smallest_type(len(self.classes)))
        for j, (table, digit) in enumerate(zip(self.tables, self.packing.digits, strict=True)):
            cells[:, j] = table.take(digits[:, j])
            if _UNKNOWN in table and (cells[:, j] == _UNKNOWN).any():
                vote = int(digits[(cells[:, j] == _UNKNOWN).argmax(), j]) - 1
                raise VotesError(
                    f"column '{digit.column}' holds {vote}; expected one of the classes {show_some(self.classes)}. "
                    "Correct it, or state it in classes"
                )
        return cells

    def patterns(self, keys: Keys) -> Patterns:
        """The patterns of rows. (n, g) keys -> patterns that know their n items."""
        cells = self.cells(self.packing.unpack(keys))
        n, m = cells.shape
        names = tuple(digit.column for digit in self.packing.digits)
        return Patterns.from_votes(Votes(n, m, self.classes, True, names, cells=cells))
