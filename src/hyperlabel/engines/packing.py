"""Rows of votes packed into whole numbers, so that engines group and join by one column without nulls.

A column's value is a digit: 0 abstains, whatever its form in the column (null, NaN, an empty string, -1), the
others number what it votes for. The digits of a row are one key, or several if one would not fit into 62 bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import VotesError
from hyperlabel.kernels import mix_bits

KEY = "__hyperlabel_key"
"""How the names of the temporary columns of keys start."""

_KEY_SPACE = 1 << 62  # every engine has signed 64-bit integers
_MOST_ADDRESSES = 1 << 24  # keys up to this are looked up by address

RowKeys = NDArray[np.int64]
"""(n, g) the keys of n rows."""


@dataclass(frozen=True)
class Digit:
    """How a column's values become digits.

    Attributes:
        column: The column.
        base: Number of digits.
        values: The values, as in the engine, of the digits 1, 2, ...; None if the column holds class numbers
            and the digit is the number plus 1.
    """

    column: str
    base: int
    values: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Packing:
    """How rows become keys.

    Attributes:
        digits: One per column.
    """

    digits: tuple[Digit, ...]

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
    def space(self) -> int:
        """Number of possible rows."""
        return prod(digit.base for digit in self.digits)

    def pack(self, digits: Sequence[NDArray[np.integer]]) -> RowKeys:
        """One array of digits per column -> (n, g) keys."""
        remaining = iter(digits)
        packed = [sum(next(remaining).astype(np.int64) * weight for _, weight in key) for key in self.keys]
        return np.stack(packed, axis=1)

    def unpack(self, keys: RowKeys) -> NDArray[np.int32]:
        """The digits of keys. (n, g) -> (n, m).

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
    """The places of keys in a table of distinct keys: by address if they are small, else by a sorted fingerprint.

    Args:
        keys: (c, g) distinct keys.
        space: Number of possible keys.

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
            known = index >= 0
        else:
            found = np.searchsorted(self._sorted, self._fingerprints(keys)).clip(max=len(self._sorted) - 1)
            index = self._index[found]
            known = (self._keys[index] == keys).all(1)
        if not known.all():
            raise VotesError("votes changed while they were being labeled; label them again")
        return index

    def _fingerprints(self, keys: RowKeys) -> NDArray[np.uint64]:
        """A number for each row of keys; the key itself if there is only one. (n, g) -> (n,)."""
        unsigned = keys.view(np.uint64)
        if unsigned.shape[1] == 1:
            return unsigned[:, 0]
        mixed = np.full(len(keys), self._seed, np.uint64)
        for g in range(unsigned.shape[1]):
            mixed = mix_bits(mixed + unsigned[:, g])
        return mixed
