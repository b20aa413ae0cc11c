"""What an engine must be able to do with rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hyperlabel.engines.packing import Digit, KeyIndex, Packing, RowKeys
from hyperlabel.labels.added import Added, Answers
from hyperlabel.networks import Sums
from hyperlabel.tables import Format
from hyperlabel.tables.formats import Kind

CHUNK_ROWS = 1 << 16
"""Rows that are held at a time when rows pass through NumPy."""


@dataclass(frozen=True)
class AnswerTable:
    """The answers of all keys that the data have.

    Attributes:
        keys: (c, g) the keys.
        answers: One row per key.
        index: The place of a key.
    """

    keys: RowKeys
    answers: Answers
    index: KeyIndex

    def __call__(self, keys: RowKeys) -> Answers:
        """The answers of rows. (n, g) keys -> n answers."""
        return self.answers.take(self.index(keys))


Answerer = Callable[[RowKeys], Answers]
"""From the (n, g) keys of rows to their answers; can be pickled."""


class Engine(Protocol):
    """What can be done with rows where they are.

    Attributes:
        name: The engine's name.
        failures: What the engine raises when it cannot read, compute or write.
        formats: What it can write.
    """

    name: ClassVar[str]
    failures: tuple[type[BaseException], ...]
    formats: ClassVar[tuple[Kind, ...]]

    def kinds(self) -> dict[str, str]:
        """What each column holds: `integer`, `plain` for other single values, else the name of a type without order."""

    def ranges(self, columns: Sequence[str]) -> list[tuple[int, int]]:
        """The least and the largest value of integer columns, without nulls; -1, -1 for an empty column."""

    def nulls(self, columns: Sequence[str]) -> list[int]:
        """How many rows of each column are null."""

    def distinct(self, columns: Sequence[str], most: int) -> list[list[Any]]:
        """The values of each column, without nulls; of more than `most` values at least one more than that."""

    def head(self, columns: Sequence[str], n: int) -> dict[str, list[Any]]:
        """The values of the first rows, or of some rows if they have no order."""

    def first_row(self, column: str, values: Sequence[Any]) -> tuple[int, Any] | None:
        """The first row with one of some values, and its value, if rows have an order."""

    def n_rows(self) -> int:
        """Number of rows."""

    def where(self, digit: Digit) -> "Engine":
        """The rows whose digit of a column is not 0."""

    def estimate(self, packing: Packing) -> int:
        """About how many different keys the rows have."""

    def count(self, packing: Packing) -> tuple[RowKeys, NDArray[np.int64]]:
        """The different keys, and how many rows have each. -> (c, g), (c,)."""

    def reduce(self, packing: Packing, sums: Callable[[RowKeys], Sums]) -> Sums:
        """The sums of all rows' keys, computed where the rows are and added in a tree."""

    def join(self, packing: Packing, table: AnswerTable, added: Added) -> Any:
        """The rows with the answers of their keys."""

    def apply(self, packing: Packing, answer: Answerer, added: Added) -> Any:
        """The rows with answers computed from their keys."""

    def write(self, frame: Any, path: Path, format: Format, metadata: Mapping[str, str]) -> None:
        """Write what `join` or `apply` returned to a new file or folder, whatever its name ends in."""
