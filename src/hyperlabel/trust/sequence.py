"""Which items can be accepted: sets that grow from the surest item, tested one after another.

The sets are fixed by the confidences and by which items have gold, not by what the gold says. Each test that the error
of a set is not too large has its full level, since testing ends at the first set that fails: if an accepted set is
wrong too often, so is the first such set, and its own test must have missed it (fixed-sequence testing;
Maurer, Hothorn and Lehmacher, 1995; for the risk of predictions Angelopoulos et al., "Learn then Test", 2021).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64, Ints
from hyperlabel.trust.bounds import Sample, most_wrong, p_value

FIRST = 3
"""The first set has one in this many gold items; chosen on the public sets (docs/trust.md), like `GROWTH`."""
GROWTH = 1.05

_ROUNDING = 1e-9  # of a share times a number of items


class ItemSet(NamedTuple):
    """A set of items that can be tested."""

    level: int  # its last level, see `Ranking`
    threshold: float  # the least confidence of its items
    samples: tuple[Sample, ...]  # what gold says about its items, by stratum

    @property
    def total(self) -> Sample:
        """All strata together."""
        return Sample(*(sum(part) for part in zip(*self.samples, strict=True)))

    def p_value(self, error: float) -> float:
        """The chance to see this few wrong labels if more than this share of the set were wrong."""
        return p_value(self.samples, _too_many(error, self.total.items))

    def bound(self, level: float) -> float:
        """Upper bound on the share of wrong labels, for this set alone."""
        return most_wrong(self.samples, level) / self.total.items

    def can_pass(self, error: float, level: float) -> bool:
        """Whether there is enough gold for the set to pass if none of it is wrong."""
        right = [Sample(each.items, each.gold, 0) for each in self.samples]
        return p_value(right, _too_many(error, self.total.items)) <= level


@dataclass(frozen=True, eq=False)
class Ranking:
    """Items by their confidence; those of the same confidence make a level."""

    level: NDArray[np.int64]  # (n,) the level of each item, 0 for the surest ones; -1 for items that are not ranked
    stratum: Ints  # (n,) the stratum that each item was sampled in
    confidence: Float64  # (l,) of the levels
    items: NDArray[np.int64]  # (l, h) items of each level and all before, by stratum

    @classmethod
    def of(cls, confidence: Float64, ranked: NDArray[np.bool_], stratum: Ints) -> "Ranking":
        """Rank some items. (n,), (n,), (n,) stratum numbers."""
        level = np.full(len(confidence), -1)
        values, inverse = np.unique(-confidence[ranked], return_inverse=True)
        level[ranked] = inverse
        strata = int(stratum.max()) + 1
        cells = np.bincount(inverse * strata + stratum[ranked], minlength=len(values) * strata)
        return cls(level, stratum, -values, np.cumsum(cells.reshape(-1, strata), axis=0))

    def steps(self, gold: NDArray[np.integer], wrong: NDArray[np.bool_]) -> list[ItemSet]:
        """The sets to test, each larger than the one before; the last one has all ranked items.

        `gold` are (g,) places of the items with gold, ranked or not, `wrong` whether their labels are wrong.
        """
        level = self.level[gold]
        order = np.argsort(level, kind="stable")[(level < 0).sum() :]
        level = level[order]
        if not len(level):
            return []
        strata = np.arange(self.items.shape[1])
        drawn = self.stratum[gold[order]][:, None] == strata  # (g, h)
        drawn_wrong = drawn & wrong[order][:, None]
        ends = np.unique(np.searchsorted(level, level[_sizes(len(level)) - 1], side="right"))
        counts = np.stack([np.cumsum(drawn, axis=0), np.cumsum(drawn_wrong, axis=0)])[:, ends - 1]  # (2, s, h)
        lasts = [*level[ends - 1][:-1].tolist(), len(self.confidence) - 1]
        return [self._step(last, *counts[:, i]) for i, last in enumerate(lasts)]

    def _step(self, last: int, drawn: NDArray[np.integer], wrong: NDArray[np.integer]) -> ItemSet:
        parts = zip(self.items[last].tolist(), drawn.tolist(), wrong.tolist(), strict=True)
        samples = tuple(Sample(*part) for part in parts if part[0])
        return ItemSet(last, float(self.confidence[last]), samples)


def search(steps: Sequence[ItemSet], error: float, level: float) -> ItemSet | None:
    """The largest of growing sets with at most a share of wrong labels, at this level; None if there is none."""
    accepted = None
    for step in steps:
        if accepted is None and not step.can_pass(error, level):
            continue  # too little gold for a test: known before anything is tested
        if step.p_value(error) > level:
            break
        accepted = step
    return accepted


def _sizes(gold: int) -> NDArray[np.int64]:
    """How many gold items the sets should have. -> (s,), increasing to all."""
    powers = np.arange(ceil(log(FIRST) / log(GROWTH)) + 1)
    return np.unique(np.maximum(np.ceil(gold / GROWTH**powers), 1).astype(np.int64))


def _too_many(error: float, items: int) -> int:
    """The smallest number of wrong items that exceeds a share of all."""
    return floor(error * items + _ROUNDING) + 1
