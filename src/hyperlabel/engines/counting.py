"""Patterns and their gold, counted by an engine and put into an order that no engine decides."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel.engines.base import Engine
from hyperlabel.engines.columns import Encoder
from hyperlabel.engines.packing import Keys, Packing
from hyperlabel.errors import VotesError
from hyperlabel.patterns import Patterns
from hyperlabel.rows import Rows


@dataclass(frozen=True)
class Counted:
    """Patterns that an engine counted.

    Attributes:
        patterns: The patterns in the order of their votes, so that floats are added in the same order everywhere.
        gold: (p, k) gold items of each pattern and class; None without gold.
        keys: (c, g) the keys that rows have.
        place: (c,) the pattern of each key.
    """

    patterns: Patterns
    gold: NDArray[np.int64] | None
    keys: Keys
    place: NDArray[np.intp]


def count_patterns(engine: Engine, encoder: Encoder, gold: Encoder | None) -> Counted:
    """Count patterns, and the gold items of each, in one pass over the rows."""
    lfs, m = encoder.packing, len(encoder.packing.digits)
    packing = lfs if gold is None else Packing((*lfs.digits, *gold.packing.digits))
    keys, counts = engine.count(packing)
    if not len(keys):
        raise VotesError(f"votes has {m} LF columns and 0 rows; expected at least one LF and one item")
    digits = packing.unpack(keys)
    cells = encoder.cells(digits[:, :m])
    order = np.lexsort(cells.T)  # the last LF counts most, as in the keys by which arrays are grouped
    cells, counts, digits = cells[order], counts[order], digits[order]
    first = np.append(True, (cells[1:] != cells[:-1]).any(1))
    place = np.cumsum(first) - 1
    rows, items = Rows.from_cells(cells[first]), np.add.reduceat(counts, np.flatnonzero(first))
    patterns = Patterns(rows.starts, rows.lf, rows.vote, items, m, len(encoder.classes))
    if gold is None:
        return Counted(patterns, None, keys[order], place)
    by_class = _count_gold(patterns, gold.cells(digits[:, m:])[:, 0], counts, place)
    distinct, example = np.unique(lfs.pack(list(digits[:, :m].T)), axis=0, return_index=True)
    return Counted(patterns, by_class, distinct, place[example])


def _count_gold(
    patterns: Patterns, gold: NDArray[np.integer], counts: NDArray[np.int64], place: NDArray[np.intp]
) -> NDArray[np.int64]:
    """(c,) class numbers, -1 for unknown, of so many rows, with their patterns -> (p, k)."""
    by_class = np.zeros((patterns.n_patterns, patterns.n_classes), np.int64)
    known = gold >= 0
    np.add.at(by_class, (place[known], gold[known]), counts[known])
    return by_class
