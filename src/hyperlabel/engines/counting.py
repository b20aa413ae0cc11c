"""Patterns and their gold, counted by an engine and put into the one order that all patterns have."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel.engines.base import Engine
from hyperlabel.engines.columns import ClassNumbers, Encoder
from hyperlabel.engines.packing import RowKeys
from hyperlabel.networks import Gold
from hyperlabel.patterns import Patterns
from hyperlabel.votes.rows import DenseRows


@dataclass(frozen=True)
class Counted:
    """Patterns that an engine counted.

    Attributes:
        patterns: The patterns, in the order that those of an array have.
        gold: (p, k) gold items of each pattern and class; None without a column of gold.
        keys: (c, g) the keys that rows have.
        index: (c,) the pattern of each key.
        known: (c,) the gold class of each key, -1 for unknown; None without a column of gold.
    """

    patterns: Patterns
    gold: NDArray[np.int64] | None
    keys: RowKeys
    index: NDArray[np.intp]
    known: ClassNumbers | None


def count_patterns(keys: RowKeys, counts: NDArray[np.int64], encoder: Encoder) -> Counted | None:
    """Patterns, and the gold items of each, from the (c, g) keys that rows have; None if there are no rows."""
    if not len(keys):
        return None
    cells, known = encoder.decode(keys)
    patterns, index = encoder.no_items.with_rows(DenseRows(cells), counts).join_equal()
    gold = None if known is None else _count_gold(patterns, known, counts, index)
    return Counted(patterns, gold, keys, index, known)


def _count_gold(
    patterns: Patterns, known: ClassNumbers, counts: NDArray[np.int64], index: NDArray[np.intp]
) -> NDArray[np.int64]:
    """(c,) class numbers, -1 for unknown, with their patterns and numbers of rows -> (p, k)."""
    by_class = np.zeros((patterns.n_patterns, patterns.n_classes), np.int64)
    gold = known >= 0
    np.add.at(by_class, (index[gold], known[gold]), counts[gold])
    return by_class


def collect_gold(engine: Engine, encoder: Encoder) -> Gold | None:
    """Only the patterns of gold items, which are few; None if there are none."""
    if encoder.gold is None:
        return None
    counted = count_patterns(*engine.where(encoder.gold).count(encoder.packing), encoder)
    if counted is None or counted.gold is None:
        return None
    return Gold(counted.patterns, counted.gold)
