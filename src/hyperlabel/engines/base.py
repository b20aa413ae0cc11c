"""What an engine must be able to do, and what it is asked to add to the rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from hyperlabel.classes import Classes
from hyperlabel.engines.packing import Keys, Lookup, Packing
from hyperlabel.engines.streaming import Sums

CHUNK_ROWS = 1 << 16
"""Rows that are held at a time where rows pass through NumPy."""

LabelKind = Literal["integer", "boolean", "text"]


@dataclass(frozen=True)
class Added:
    """The columns that labelling adds, by name and meaning.

    Attributes:
        classes: The classes.
        probabilities: Whether there is a column for each class.
    """

    classes: Classes
    probabilities: bool

    @property
    def names(self) -> list[str]:
        """The columns: label, confidence, and p_<class> for each class on request.

        >>> Added((False, True), probabilities=True).names
        ['label', 'confidence', 'p_false', 'p_true']
        """
        shown = [str(c).lower() if isinstance(c, bool) else str(c) for c in self.classes]
        return ["label", "confidence", *(f"p_{name}" for name in shown if self.probabilities)]

    @property
    def label_kind(self) -> LabelKind:
        """What the column of labels holds."""
        if all(isinstance(c, bool) for c in self.classes):
            return "boolean"
        return "integer" if all(isinstance(c, int) for c in self.classes) else "text"

    @property
    def label_values(self) -> list[Any]:
        """The labels by their code: the classes, then None for no label. (k + 1,)."""
        return [*(str(c) if self.label_kind == "text" else c for c in self.classes), None]

    def rename(self, columns: Sequence[str]) -> dict[str, str]:
        """New names for columns of the input that have the name of an added one.

        >>> Added((0, 1), probabilities=False).rename(["id", "label", "label_input"])
        {'label': 'label_input_input'}
        """
        taken, renamed = {*columns, *self.names}, {}
        for name in self.names:
            if name in columns:
                free = name
                while free in taken:
                    free += "_input"
                renamed[name] = free
                taken.add(free)
        return renamed


@dataclass(frozen=True)
class Answers:
    """What the columns that are added hold, for some patterns or rows.

    Attributes:
        label: (n,) codes: a class number, k for no label.
        numbers: (n, c) confidence, and the probabilities of the classes on request.
    """

    label: NDArray[np.integer]
    numbers: NDArray[np.float64]

    def take(self, place: NDArray[np.integer]) -> "Answers":
        """The answers of an index."""
        return Answers(self.label.take(place), self.numbers.take(place, axis=0))


@dataclass(frozen=True)
class AnswerTable:
    """The answers of all keys that the data have.

    Attributes:
        keys: (p, g) the keys.
        answers: One row a key.
        lookup: The place of a key.
    """

    keys: Keys
    answers: Answers
    lookup: Lookup

    def __call__(self, keys: Keys) -> Answers:
        """The answers of rows. (n, g) keys -> n answers."""
        return self.answers.take(self.lookup(keys))


Answer = Callable[[Keys], Answers]
"""From the (n, g) keys of rows to their answers; can be pickled."""


class Engine(Protocol):
    """What can be done with rows where they are.

    Attributes:
        name: The engine's name.
        failures: What the engine raises when it cannot read, compute or write.
        suffixes: Endings of the files that it reads and writes.
    """

    name: ClassVar[str]
    failures: tuple[type[BaseException], ...]
    suffixes: ClassVar[tuple[str, ...]]

    def kinds(self) -> dict[str, str]:
        """What each column holds: `integer`, `plain` for other single values, else the name of a type without order."""

    def ranges(self, columns: Sequence[str]) -> list[tuple[int, int]]:
        """The least and the largest value of integer columns; -1, -1 where one is empty."""

    def distinct(self, column: str, most: int) -> list[Any]:
        """The values of a column, nulls left out; more than `most` need not be told apart."""

    def first_row(self, column: str, value: Any) -> int | None:
        """The first row with a value, where rows have an order."""

    def n_rows(self) -> int:
        """Number of rows."""

    def estimate(self, packing: Packing) -> int:
        """About how many different keys the rows have."""

    def count(self, packing: Packing) -> tuple[Keys, NDArray[np.int64]]:
        """The different keys, and how many rows have each. -> (p, g), (p,)."""

    def reduce(self, packing: Packing, sums: Callable[[Keys], Sums]) -> Sums:
        """The sums of all rows' keys, computed where the rows are and added in a tree."""

    def join(self, packing: Packing, table: AnswerTable, added: Added) -> Any:
        """The rows with the answers of their keys."""

    def apply(self, packing: Packing, answer: Answer, added: Added) -> Any:
        """The rows with answers computed from their keys."""

    def write(self, frame: Any, path: Path) -> None:
        """Write what `join` or `apply` gave to a file or folder that is not there yet."""
