"""The network of hlm3: two readings of the same votes, and a learned choice between them for each LF and each set.

1. The reading of hlm2 (`_unrolled.py`): right where agreement is no evidence, as among rules of one class, in large
   crowds, and in panels that err together.
2. An EM that runs to its end (`_em.py`), from levels that agreement in pairs shows at once (`_pairs.py`): right where
   judges err independently.
3. With gold, confusions on gold items alone.

The gate (`_gate.py`) mixes them into one table of evidence, so a complete state is that of hlm2, and so is everything
that is done with it. Each phase is a pass over the set, whose sums add up over chunks: pairs, steps of the EM, and a
comparison of the readings. Where agreement holds little, or outcomes are not one class, there is one reading, hlm2's.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hyperlabel._core import Float64
from hyperlabel.data import Patterns
from hyperlabel.networks._base import Gold, Sums
from hyperlabel.networks._em import EM, GoldReading, read_gold
from hyperlabel.networks._gate import (
    Dependence,
    FirstReading,
    GateFeatures,
    ReadingSums,
    compare,
    describe,
    find_spread,
    mix,
)
from hyperlabel.networks._pairs import (
    MOST_PAIRED,
    PRIOR_LEVEL,
    compare_pairs,
    count_pairs,
    fit_levels,
    pick_paired,
    predict_dependence,
    share_weight,
)
from hyperlabel.networks._unrolled import PassState, UnrolledNetwork, UnrolledState
from hyperlabel.networks._votes import MANY_CLASSES, VoteTable
from hyperlabel.networks._weights import Weights

LEAST_LFS = 3  # with fewer, agreement cannot tell who is right
LEAST_ITEMS = 60  # with fewer, agreement is mostly chance; synthetic sets have as many
LEAST_SPREAD = 0.05  # below this share of votes by LFs of several classes, agreement holds no information
FEW_VOTES = 2.46  # per item: below that, sets with one-sided LFs are thin
ONE_SIDED = 0.04  # spread below which an LF votes for one class
MOST_LFS = 40  # without gold, sparse sets of more LFs are left to hlm2: it is as good there, and pairs cost m * m
DENSE = 0.5  # share of all possible votes from which on up to MOST_PAIRED LFs are read twice


def is_read_twice(cast: Float64, items: float, *, has_gold: bool) -> bool:
    """Return whether there is a second reading, from (m, k) how often each LF casts each vote.

    Not where LFs vote for one class each, nor where few votes per item are of rules of one class beside broader LFs:
    agreement holds little there, and hlm2 has a rule for it.
    """
    of_lf = cast.sum(1)
    total, m = of_lf.sum(), np.count_nonzero(of_lf)
    if m < LEAST_LFS or items < LEAST_ITEMS or not 2 <= cast.shape[1] <= MANY_CLASSES:
        return False
    if m > MOST_LFS and not has_gold and (m > MOST_PAIRED or total < DENSE * m * items):
        return False
    spread = find_spread(cast)
    if total < FEW_VOTES * items and (spread[of_lf > 0] < ONE_SIDED).any():
        return False
    return bool(spread @ of_lf >= LEAST_SPREAD * total)


class PairPhase(NamedTuple):
    """Before the pass that counts pairs."""

    first: FirstReading

    def sums(self, patterns: Patterns, votes: VoteTable) -> Sums:
        """Return the pairs of a chunk."""
        cells, lfs = patterns.rows.to_cells(patterns.n_lfs), pick_paired(self.first.cast)
        if len(lfs) < patterns.n_lfs:
            cells = cells[:, lfs]
        return count_pairs(cells, patterns.counts.astype(np.float64), patterns.n_classes)

    def advance(self, network: UnrolledNetwork, sums: Sums) -> "EMPhase":
        """Start the EM with what pairs say."""
        found, (m, k) = find_dependence(network.weights, self.first.cast, sums), self.first.cast.shape
        level, weight = np.full(m, PRIOR_LEVEL), np.ones(m)
        level[found.pairs.lfs], weight[found.pairs.lfs] = found.level, found.weight
        return EMPhase(self.first, found, EM.start(level, weight, k))


def find_dependence(weights: Weights, cast: Float64, sums: Sums) -> Dependence:
    """Return what the sums of pairs say, and (m, k) how often each LF casts each vote."""
    pairs = compare_pairs(cast, pick_paired(cast), *sums)
    level = fit_levels(pairs)
    dependence = predict_dependence(weights, pairs, level, cast.shape[1])
    return Dependence(pairs, level, dependence, share_weight(pairs, dependence))


class EMPhase(NamedTuple):
    """Before a step of the EM."""

    first: FirstReading
    found: Dependence
    em: EM

    def sums(self, _: Patterns, votes: VoteTable) -> Sums:
        """Return what the step needs from a chunk."""
        return self.em.sums(votes)

    def advance(self, _: UnrolledNetwork, sums: Sums) -> "EMPhase | ComparePhase":
        """Take the step."""
        em = self.em.step(sums, self.first.gold)
        return ComparePhase(self.first, self.found, em) if em.is_done else self._replace(em=em)


class ComparePhase(NamedTuple):
    """Before the pass that compares the readings."""

    first: FirstReading
    found: Dependence
    em: EM

    def sums(self, _: Patterns, votes: VoteTable) -> Sums:
        """Return the comparison of a chunk."""
        return compare(votes, self.em, self.first.evidence)

    def advance(self, network: UnrolledNetwork, sums: Sums) -> Any:
        """Mix the readings; the state is complete, or matched to known shares next."""
        readings = self.describe(sums)
        evidence = mix(network.weights, readings.first, readings.em, readings.features, readings.gold)
        return network.match_shares(UnrolledState(evidence, self.first.gold), self.first.cast)

    def describe(self, sums: Sums) -> "Readings":
        """Return all readings, and what the gate sees."""
        first, em = self.first, self.em
        gold = None if first.gold is None else read_gold(first.gold, np.exp(em.bias))
        return Readings(first, em, gold, describe(first, self.found, em, ReadingSums(*sums), gold))


class Readings(NamedTuple):
    """All readings of a set."""

    first: FirstReading
    em: EM
    gold: GoldReading | None  # None without gold
    features: GateFeatures  # what the gate sees


@dataclass(frozen=True, eq=False)
class MixedNetwork(UnrolledNetwork):
    """The network of hlm3.

    >>> from hyperlabel.data import Votes
    >>> from hyperlabel.networks import load_weights
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 1000)
    >>> right = rng.random((1000, 5)) < [0.9, 0.6, 0.6, 0.6, 0.6]  # a majority vote is right on 78%
    >>> patterns = Patterns.from_votes(Votes.from_array(np.where(right, truth[:, None], 1 - truth[:, None])))
    >>> _, probabilities = MixedNetwork(load_weights("hlm3")).read_at_once(patterns, None)
    >>> bool((patterns.expand(probabilities).argmax(1) == truth).mean() > 0.88)
    True
    """

    def _go_on(self, complete: UnrolledState, state: PassState) -> Any:
        """Return the state after the steps of hlm2."""
        assert state.node_index is not None
        cast, items = state.node_index.cast.reshape(state.n_lfs, -1), state.node_index.items
        if state.outcome_map is None and is_read_twice(cast, items, has_gold=complete.gold is not None):
            return PairPhase(FirstReading(complete.evidence, complete.gold, cast, items))
        return super()._go_on(complete, state)

    def read_twice(self, patterns: Patterns, gold: Gold | None) -> Readings | None:
        """Return all readings of patterns before they are mixed, for training; None if there is only one."""
        votes, state = VoteTable.from_patterns(patterns), self.start(patterns.n_lfs, patterns.n_classes, gold)
        while not self.is_complete(state):
            sums = self._sums(patterns, votes, state)
            if isinstance(state, ComparePhase):
                return state.describe(sums)
            state = self.advance(state, sums)
        return None
