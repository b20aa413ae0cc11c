"""LFs and the classes they vote for, and what is known of them before any belief."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import find_first
from hyperlabel.unrolled.ballots import Counts, Floats

Narrow = NDArray[np.float32]  # what the learned network computes in

TYPICAL = 100.0  # votes that an average LF counts as having cast, at most
FEW = 0.9  # log of the votes a row at which confusions begin to be trusted


@dataclass(frozen=True)
class Nodes:
    """The nodes that occur: p of them, and how they are grouped.

    Attributes:
        code: (p,) `lf * k + class`.
        scale: What counts are multiplied by.
        n: (p,) items, scaled.
        share: (p,) of the LF's votes.
        class_share: (p,) of all votes, those for the node's class.
        spread: (p,) 0 where the LF votes for one class, 1 where a quarter of its votes are for others.
        row_size: Log of the votes an item.
        gold: (p,) items whose class is known, not scaled.
        features: (p, 11) what is known before any belief.
        items: Number of items with votes, scaled.
        k: Number of classes.
        codes: m * k.
    """

    code: NDArray[np.intp]
    scale: float
    n: Floats
    share: Floats
    class_share: Floats
    spread: Floats
    row_size: float
    gold: Floats
    features: Narrow
    items: float
    k: int
    codes: int

    @cached_property
    def vote(self) -> NDArray[np.intp]:
        """The class of each node. (p,)."""
        return self.code % self.k

    @cached_property
    def lf(self) -> NDArray[np.intp]:
        """The LF of each node. (p,)."""
        return self.code // self.k

    @cached_property
    def weight(self) -> Narrow:
        """How much each node counts in means over nodes. (p, 1)."""
        return np.sqrt(self.n, dtype=np.float32)[:, None]

    @cached_property
    def by_vote(self) -> "Groups":
        """The nodes by their class."""
        return Groups(self.vote, self.weight)

    @cached_property
    def by_lf(self) -> "Groups":
        """The nodes by their LF."""
        return Groups(self.lf, self.weight)

    @cached_property
    def gold_features(self) -> tuple[Floats, Floats]:
        """What is known of each node's gold items. (p,) each."""
        return np.log1p(self.gold) / 3, self.scale * self.gold / self.n

    @cached_property
    def rarity(self) -> Floats:
        """What a vote says for its class: less for one voted for often, unless the LF votes for several. (p,)."""
        rarity: Floats = np.exp(-0.5 * (1 - self.spread) * np.log(self.class_share * self.k))
        return rarity

    @cached_property
    def trust(self) -> Floats:
        """Log-odds that confusions are to be trusted, before the learned correction. (p,)."""
        enough = min(max(self.row_size - FEW, -2.0), 1.0)
        return 4 * self.spread - 2 + 1.5 * enough


class Groups:
    """Nodes grouped by a number, for weighted means."""

    def __init__(self, number: NDArray[np.intp], weight: Narrow) -> None:
        self.order = np.argsort(number, kind="stable")
        first = find_first(number[self.order])
        self.starts = np.flatnonzero(first)
        self.place = np.empty(len(number), np.intp)
        self.place[self.order] = np.cumsum(first) - 1
        self.weight = np.add.reduceat(weight[self.order], self.starts)

    def means(self, weighted: Narrow) -> Narrow:
        """For each node the mean over its group. (p, d) -> (p, d)."""
        means = np.add.reduceat(weighted[self.order], self.starts) / self.weight
        return means.astype(np.float32, copy=False)[self.place]


def join_columns(columns: Sequence[Floats | float], p: int) -> Narrow:
    """One matrix of columns, (p,) each or one number for all. -> (p, columns)."""
    joined = np.empty((p, len(columns)), np.float32)
    for place, column in enumerate(columns):
        joined[:, place] = column
    return joined


def sum_by(group: NDArray[np.intp], values: Floats) -> Floats:
    """For each member the sum over its group. (p,) -> (p,)."""
    return np.bincount(group, weights=values).astype(np.float64, copy=False)[group]


def find_nodes(counts: Counts, k: int) -> Nodes:
    """The nodes that occur, and what is known of them before any belief."""
    code = np.flatnonzero(counts.n > 0)
    vote, lf = code % k, code // k
    voting = int(np.count_nonzero(find_first(lf)))
    scale = min(TYPICAL * voting, counts.distinct) / max(counts.n.sum(), 1)
    n = counts.n[code] * scale
    total, items = max(n.sum(), 1e-9), max(counts.items * scale, 1e-9)
    share, class_share = n / sum_by(lf, n), sum_by(vote, n) / total
    most = np.zeros(code.max(initial=0) // k + 1)
    np.maximum.at(most, lf, share)
    coverage = np.log(n / items)
    several = (n[share < 0.999]).sum() / total
    row_size = float(np.log(total / items))
    features = join_columns(
        [
            np.log(n) / 3 - 1.5,
            coverage / 2 + 1.5,
            share * 2 - 1,
            np.log(class_share * k),
            class_share * 2 - 1,
            row_size,
            np.log(k) - 1,
            np.log(max(voting, 1)) / 2 - 1.5,
            np.log(items) / 3 - 2.5,
            coverage - coverage.sum() / max(len(code), 1),
            several,
        ],
        len(code),
    )
    spread = np.minimum(4 * (1 - most[lf]), 1)
    gold = counts.gold[code]
    return Nodes(code, scale, n, share, class_share, spread, row_size, gold, features, items, k, len(counts.n))
