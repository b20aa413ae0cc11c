"""The interface of engines: operations on rows where they are."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hyperlabel.data import Answers, Format, OutputColumns
from hyperlabel.engines._packing import Digit, KeyIndex, Packing, RowKeys
from hyperlabel.networks import Sums

CHUNK_ROWS = 1 << 16
"""Rows that are held at a time when rows pass through NumPy."""

Answerer = Callable[[RowKeys], Answers]
"""From the (n, g) keys of rows to their answers; can be pickled."""


@dataclass(frozen=True)
class AnswerTable:
    """The answers of all keys that the data have."""

    keys: RowKeys  # (c, g)
    answers: Answers  # one row per key
    index: KeyIndex  # finds the row of a key

    def __call__(self, keys: RowKeys) -> Answers:
        """Look up the answers of rows. (n, g) keys -> n answers."""
        return self.answers.take(self.index(keys))


class Engine(ABC):
    """Rows where they are, and what can be done with them there."""

    name: ClassVar[str]
    failures: ClassVar[tuple[type[BaseException], ...]]  # raised when it cannot read, compute or write
    formats: ClassVar[tuple[str, ...]] = ("parquet",)  # that it can write

    @abstractmethod
    def kinds(self) -> dict[str, str]:
        """Return the kind of each column: `integer`, `plain` for other single values, else the name of a type."""

    @abstractmethod
    def ranges(self, columns: Sequence[str]) -> list[tuple[int, int]]:
        """Return the least and the largest value of integer columns, without nulls; -1, -1 for an empty column."""

    @abstractmethod
    def nulls(self, columns: Sequence[str]) -> list[int]:
        """Return the number of nulls of each column."""

    @abstractmethod
    def distinct(self, columns: Sequence[str], most: int) -> list[list[Any]]:
        """Return the values of each column, without nulls; of more than `most` values at least one more than that."""

    @abstractmethod
    def head(self, columns: Sequence[str], n: int) -> dict[str, list[Any]]:
        """Return the values of the first rows, or of some rows if they have no order."""

    def first_row(self, column: str, values: Sequence[Any]) -> tuple[int, Any] | None:
        """Find the first row with one of some values, and its value; None if rows have no order."""
        return None

    @abstractmethod
    def n_rows(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def where(self, digit: Digit) -> "Engine":
        """Return the rows whose digit of a column is not 0."""

    @abstractmethod
    def estimate(self, packing: Packing) -> int:
        """Return about how many different keys the rows have."""

    @abstractmethod
    def count(self, packing: Packing) -> tuple[RowKeys, NDArray[np.int64]]:
        """Return the different keys, and how many rows have each. -> (c, g), (c,)."""

    @abstractmethod
    def reduce(self, packing: Packing, sums: Callable[[RowKeys], Sums]) -> Sums:
        """Return the sums of all rows' keys, computed where the rows are and added in a tree."""

    def join(self, packing: Packing, table: AnswerTable, added: OutputColumns) -> Any:
        """Return the rows with the answers of their keys."""
        return self.apply(packing, table, added)

    @abstractmethod
    def apply(self, packing: Packing, answer: Answerer, added: OutputColumns) -> Any:
        """Return the rows with answers computed from their keys."""

    @classmethod
    @abstractmethod
    def open_url(cls, url: str) -> "Engine":
        """Return the rows of parquet objects in a store, read by the engine itself."""

    @abstractmethod
    def write(self, frame: Any, path: str | Path, format: Format, metadata: Mapping[str, str]) -> None:
        """Write what `join` or `apply` returned to a new file or folder, whatever its name ends in, or to a store."""
