"""A profile of votes: how often each LF votes, for what, and how often others agree.

A state keeps the profile of the set that it learned from, so that a later set can be compared with it. All of it is
counts, which add up over parts of a set.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Arrays, Float64
from hyperlabel.data import Outcomes, Patterns
from hyperlabel.networks import Sums

MOST_CELLS = 1 << 26
"""A profile of more LFs times votes is not kept."""


@dataclass(frozen=True, eq=False)
class VoteProfile:
    """Counts of the votes of m LFs."""

    n_items: float
    votes: Float64  # (m, k + s) votes of each LF for each class or other outcome
    shared: Float64  # (m,) votes on items where other LFs vote
    agreed: Float64  # (m,) for these votes, the sum of the shares of the other votes that are for the same class

    @classmethod
    def of_sums(cls, sums: Sums) -> "VoteProfile":
        """Return the profile of a set from its sums, see `count_votes`."""
        n_items, votes, shared, agreed = sums
        return cls(float(n_items[0]), votes, shared, agreed)

    def find_voted(self, outcomes: Outcomes | None) -> NDArray[np.bool_]:
        """Find the classes that an LF votes for. -> (k,)."""
        voted = np.asarray(self.votes.any(0))
        return voted if outcomes is None else np.asarray(outcomes.table[voted].any(0))

    def to_arrays(self) -> Arrays:
        """Return the profile as arrays for a file."""
        cells = np.flatnonzero(self.votes)
        counts = {"profile_cells": cells, "profile_votes": self.votes.ravel()[cells]}
        return counts | {"profile_n": np.array([self.n_items]), "profile_agreed": np.stack([self.shared, self.agreed])}

    @classmethod
    def from_arrays(cls, arrays: Arrays, m: int, codes: int) -> "VoteProfile | None":
        """Invert `to_arrays`; None for the arrays of an older version, a ValueError if they do not fit together."""
        if "profile_n" not in arrays:
            return None
        cells, counts, agreed = (arrays[f"profile_{name}"] for name in ("cells", "votes", "agreed"))
        whole = cells.dtype == np.int64 and cells.ndim == 1 and counts.shape == cells.shape and agreed.shape == (2, m)
        if not whole or m * codes > MOST_CELLS or (len(cells) and not 0 <= cells.min() <= cells.max() < m * codes):
            raise ValueError("the parts of the profile do not fit together")
        votes = np.zeros(m * codes)
        votes[cells] = counts
        return cls(float(arrays["profile_n"][0]), votes.reshape(m, codes), *agreed.astype(np.float64))


def count_votes(patterns: Patterns) -> Sums:
    """Count items, votes, and how far votes agree with the others on their item. -> (1,), (m, k + s), (m,), (m,).

    If there are too many LFs to keep, they count as one.
    """
    m, codes, items = patterns.n_lfs, patterns.n_codes, patterns.counts.astype(np.float64)
    lfs = m if m * codes <= MOST_CELLS else 1
    cells = patterns.lf * (lfs > 1) * codes + patterns.vote
    votes = np.bincount(cells, items[patterns.row], lfs * codes).reshape(lfs, codes)
    plain = patterns.as_classes()
    row, others = plain.row, np.diff(plain.starts)[plain.row] - 1
    weight = items[row] * (others > 0)
    _, pair, size = np.unique(row * plain.n_classes + plain.vote, return_inverse=True, return_counts=True)
    share = (size[pair] - 1) / np.maximum(others, 1)
    shared, agreed = (np.bincount(plain.lf * (lfs > 1), each, lfs) for each in (weight, weight * share))
    return np.array([items.sum()]), votes.astype(np.float64), shared.astype(np.float64), agreed.astype(np.float64)
