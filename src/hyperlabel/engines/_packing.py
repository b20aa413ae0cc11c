"""Rows of votes packed into whole numbers, so that engines group and join by one column without nulls.

A column's value is a digit: 0 abstains, whatever its form in the column (null, NaN, an empty string, -1), the
others number what it votes for. The digits of a row are one key, or several if one would not fit into 62 bits. Keys
become votes and gold again, and patterns in the one order that all patterns have.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import mix_bits
from hyperlabel.data import (
    Classes,
    Column,
    DenseRows,
    Outcomes,
    Patterns,
    Votes,
    encode_column,
    encode_votes,
    smallest_type,
)
from hyperlabel.errors import VotesError

KEY = "__hyperlabel_key"
"""Prefix of the names of the temporary columns of keys."""

_KEY_SPACE = 1 << 62  # every engine has signed 64-bit integers
_MOST_ADDRESSES = 1 << 24  # keys up to this are looked up by address

RowKeys = NDArray[np.int64]
"""(n, g) the keys of n rows."""

ClassNumbers = NDArray[np.signedinteger]


@dataclass(frozen=True)
class Digit:
    """The values of a column as digits."""

    column: str
    base: int  # number of digits
    values: tuple[Any, ...] | None = None  # of the digits 1, 2, ...; None for class numbers, whose digit is one more


@dataclass(frozen=True)
class Packing:
    """Packs the digits of a row into keys."""

    digits: tuple[Digit, ...]  # one per column

    @cached_property
    def keys(self) -> list[list[tuple[Digit, int]]]:
        """For each key its digits and their factors.

        >>> Packing((Digit("a", 3), Digit("b", 3))).keys
        [[(Digit(column='a', base=3, values=None), 1), (Digit(column='b', base=3, values=None), 3)]]
        """
        keys: list[list[tuple[Digit, int]]] = [[]]
        space = 1
        for digit in self.digits:
            if space * digit.base > _KEY_SPACE:
                keys.append([])
                space = 1
            keys[-1].append((digit, space))
            space *= digit.base
        return keys

    @property
    def names(self) -> list[str]:
        """The columns of the keys."""
        return [f"{KEY}{g}" for g in range(len(self.keys))]

    @property
    def columns(self) -> list[str]:
        """The columns of the digits."""
        return [digit.column for digit in self.digits]

    @property
    def space(self) -> int:
        """Number of possible rows."""
        return prod(digit.base for digit in self.digits)

    def pack(self, digits: Sequence[NDArray[np.integer]]) -> RowKeys:
        """Pack one array of digits per column. -> (n, g) keys."""
        remaining = iter(digits)
        packed = [sum(next(remaining).astype(np.int64) * weight for _, weight in key) for key in self.keys]
        return np.stack(packed, axis=1)

    def unpack(self, keys: RowKeys) -> NDArray[np.int32]:
        """Return the digits of keys. (n, g) -> (n, m).

        >>> Packing((Digit("a", 3), Digit("b", 3))).unpack(np.array([[7]])).tolist()
        [[1, 2]]
        """
        digits = np.empty((len(keys), len(self.digits)), np.int32)
        j = 0
        for g, key in enumerate(self.keys):
            rest = keys[:, g]
            for digit, _ in key:
                rest, digits[:, j] = np.divmod(rest, digit.base)
                j += 1
        return digits


class KeyIndex:
    """Finds rows in a table of (c, g) distinct keys: by address if keys are small, else by a sorted fingerprint.

    >>> KeyIndex(np.array([[5], [7]]), 9)(np.array([[7], [7], [5]])).tolist()
    [1, 1, 0]
    """

    def __init__(self, keys: RowKeys, space: int) -> None:
        self._keys, self._addressed = keys, space <= _MOST_ADDRESSES
        if self._addressed:
            self._index = np.full(space, -1, np.int32)
            self._index[keys[:, 0]] = np.arange(len(keys))
            return
        self._seed = 0
        while len(np.unique(fingerprints := self._fingerprints(keys))) < len(keys):
            self._seed += 1
        self._index = np.argsort(fingerprints).astype(np.int32)
        self._sorted = fingerprints[self._index]

    def __call__(self, keys: RowKeys) -> NDArray[np.int32]:
        """(n, g) keys -> (n,) indices."""
        if self._addressed:
            index = self._index.take(keys[:, 0])
            present = index >= 0
        else:
            position = np.searchsorted(self._sorted, self._fingerprints(keys)).clip(max=len(self._sorted) - 1)
            index = self._index[position]
            present = (self._keys[index] == keys).all(1)
        if not present.all():
            raise VotesError("votes changed while they were being labeled; label them again")
        return index

    def _fingerprints(self, keys: RowKeys) -> NDArray[np.uint64]:
        """Return a number for each row of keys; the key itself if there is only one. (n, g) -> (n,)."""
        unsigned = keys.view(np.uint64)
        if unsigned.shape[1] == 1:
            return unsigned[:, 0]
        mixed = np.full(len(keys), self._seed, np.uint64)
        for g in range(unsigned.shape[1]):
            mixed = mix_bits(mixed + unsigned[:, g])
        return mixed


@dataclass(frozen=True)
class Encoder:
    """From the keys of rows to their votes and gold; can be pickled."""

    packing: Packing  # the columns of LFs, then the column of gold, if there is one
    tables: tuple[ClassNumbers, ...]  # for each column the class number of each digit
    classes: Classes
    n_lfs: int
    outcomes: Outcomes | None = None  # outcomes that are not one class; None if all votes are classes
    wanted: tuple[str, ...] | None = None  # the LFs of the model, if some have no column and abstain

    @classmethod
    def of(
        cls,
        packing: Packing,
        columns: Sequence[Column],
        n_lfs: int,
        classes: Classes,
        outcomes: Outcomes | None = None,
        wanted: tuple[str, ...] | None = None,
    ) -> "Encoder":
        """Encode columns, in the order of their digits; refuse a value that is not a class."""
        votes = [encode_votes(column, classes, outcomes) for column in columns[:n_lfs]]
        gold = [encode_column(column, classes) for column in columns[n_lfs:]]
        return cls(packing, (*votes, *gold), classes, n_lfs, outcomes, wanted)

    @property
    def lf_names(self) -> tuple[str, ...]:
        """The LFs, in the order of their votes."""
        return self.wanted or tuple(self.packing.columns[: self.n_lfs])

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
        """Return votes and gold of rows, -1 for none. (n, g) keys -> (n, m) and (n,) class numbers, or None."""
        digits = self.packing.unpack(keys)
        cells = np.empty(digits.shape, smallest_type(len(self.classes) + len(self.outcomes or ())))
        for j, table in enumerate(self.tables):
            cells[:, j] = table.take(digits[:, j])
        votes, gold = cells[:, : self.n_lfs], None if self.gold is None else cells[:, self.n_lfs]
        if self.wanted is None:
            return votes, gold
        whole = np.full((len(keys), len(self.wanted)), -1, cells.dtype)
        whole[:, [self.wanted.index(name) for name in self.packing.columns[: self.n_lfs]]] = votes
        return whole, gold

    def patterns(self, keys: RowKeys) -> tuple[Patterns, ClassNumbers | None]:
        """Return patterns of rows, with their items, and the rows' gold. (n, g) keys -> patterns, (n,) as `decode`."""
        cells, gold = self.decode(keys)
        votes = Votes.from_parts(self.classes, self.lf_names, cells, stated=True, outcomes=self.outcomes)
        return Patterns.from_votes(votes), gold


@dataclass(frozen=True)
class CountedPatterns:
    """Patterns that an engine counted."""

    patterns: Patterns  # in the order that those of an array have
    gold: NDArray[np.int64] | None  # (p, k) gold items of each pattern and class; None without a column of gold
    keys: RowKeys  # (c, g) the keys that rows have
    index: NDArray[np.intp]  # (c,) the pattern of each key
    key_gold: ClassNumbers | None  # (c,) the gold class of each key, -1 for unknown; None without a column of gold


def count_patterns(keys: RowKeys, counts: NDArray[np.int64], encoder: Encoder) -> CountedPatterns | None:
    """Return patterns, and the gold items of each, of the (c, g) keys that rows have; None if there are no rows."""
    if not len(keys):
        return None
    cells, key_gold = encoder.decode(keys)
    patterns, index = encoder.no_items.with_rows(DenseRows(cells), counts).join_equal()
    gold = None
    if key_gold is not None:
        gold, has_gold = np.zeros((patterns.n_patterns, patterns.n_classes), np.int64), key_gold >= 0
        np.add.at(gold, (index[has_gold], key_gold[has_gold]), counts[has_gold])
    return CountedPatterns(patterns, gold, keys, index, key_gold)
