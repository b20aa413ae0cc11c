"""The unrolled network behind the protocol of `hyperlabel.networks.base`: passes over a set, then its state."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64, Floats, find_first
from hyperlabel.networks.base import Gold, Sums, add_sums
from hyperlabel.networks.unrolled.backend import NumpyBackend, NumpyLinear
from hyperlabel.networks.unrolled.calibrate import SHARE_ROUNDS, Shares, match_gold
from hyperlabel.networks.unrolled.design import find_log_effect, find_residuals
from hyperlabel.networks.unrolled.evidence import (
    Evidence,
    first_beliefs,
    first_sums,
    own_classes,
    reading_type,
    sum_beliefs,
)
from hyperlabel.networks.unrolled.leaning import Fold
from hyperlabel.networks.unrolled.nodes import Nodes, describe_nodes
from hyperlabel.networks.unrolled.state import UnrolledState, complete
from hyperlabel.networks.unrolled.steps import advance
from hyperlabel.networks.unrolled.votes import VoteTable
from hyperlabel.patterns import Patterns
from hyperlabel.votes.outcomes import Outcomes
from hyperlabel.weights import Weights

MORE_STEPS = 2  # for levels of scores, whose worth is found in more rounds than that of classes
MOST_NUMBERS = 1 << 26  # patterns times LFs, or times classes, that are read at once


class Reading(NamedTuple):
    """What is known about a set while it is read.

    Attributes:
        n_lfs: Number of LFs.
        n_classes: Number of classes.
        gold: The vote rows of gold items.
        passes: Passes done.
        votes: (m * k,) items on which each node votes; known after the first step.
        number: (q,) the nodes that occur, among all.
        nodes: What is known about the nodes that occur; None if there is nothing to learn, or only one class.
        evidence: What the last pass gave.
        residuals: (m * k, k) of that evidence, before the last step alone, which asks for the design effect.
        fold: How outcomes that are not one class become class votes; None if there are none.
    """

    n_lfs: int
    n_classes: int
    gold: Gold | None
    passes: int = 0
    votes: Float64 | None = None
    number: NDArray[np.intp] | None = None
    nodes: Nodes | None = None
    evidence: Evidence | None = None
    residuals: Float64 | None = None
    fold: Fold | None = None

    def beliefs(self, votes: VoteTable) -> Floats:
        """What is believed about rows after the last pass; before any pass, smoothed shares of their votes. (r, k)."""
        if self.evidence is None:
            own = own_classes(self.n_lfs, self.n_classes) if self.fold is None else self.fold.nodes
            return first_beliefs(votes, own)
        return self.evidence.beliefs(votes, reading_type(self.n_classes))


@dataclass(frozen=True, eq=False)
class UnrolledNetwork:
    """The network of hlm2.

    Every pass is a step; if shares are known, more passes match the evidence to them. Gold items are among the items of
    the passes, believed like all others; what is known about them then replaces what was believed, from
    their vote rows alone.

    Attributes:
        weights: The learned weights.
        class_balance: (k,) known share of each class among the items with votes.
        lf_accuracies: (m,) known share of each LF's votes that are right, NaN where it is not known.
        outcomes: Outcomes that are not one class; None if all votes are classes.

    >>> from hyperlabel.networks.base import read
    >>> from hyperlabel.votes import Votes
    >>> from hyperlabel.weights import load_weights
    >>> patterns = Patterns.from_votes(Votes.from_array([[1, 1, 0], [0, -1, 0], [1, 1, 1]]))
    >>> network = UnrolledNetwork(load_weights("hlm2"))
    >>> state = read(network, lambda sums: sums(patterns), 3, 2)
    >>> patterns.expand(network.probabilities(patterns, state)).argmax(1).tolist()
    [1, 0, 1]
    """

    weights: Weights
    class_balance: Float64 | None = None
    lf_accuracies: Float64 | None = None
    outcomes: Outcomes | None = None

    @property
    def n_passes(self) -> int:
        """One per step, and the rounds of known shares."""
        knows_shares = self.class_balance is not None or self.lf_accuracies is not None
        return self.n_steps + (SHARE_ROUNDS if knows_shares else 0)

    @property
    def n_steps(self) -> int:
        """Steps of the network."""
        return len(self.schedule)

    @cached_property
    def schedule(self) -> tuple[int, ...]:
        """Which learned step each step is: with levels of scores, which are many, the last but one is repeated."""
        learned = int(self.weights.header["steps"])
        has_levels = self.outcomes is not None and (self.outcomes.ladder >= 0).any()
        again = MORE_STEPS if has_levels and learned > 1 else 0
        return (*range(learned - 1), *([learned - 2] * again), learned - 1)

    def start(self, n_lfs: int, n_classes: int, gold: Gold | None) -> Reading:
        """The state before the first pass; gold on rows without votes teaches nothing."""
        fold = None if self.outcomes is None else Fold(self.outcomes, n_lfs)
        return Reading(n_lfs, n_classes, None if gold is None else _with_votes(gold), fold=fold)

    def sums(self, patterns: Patterns, state: Reading) -> Sums:
        """What the next pass needs from a chunk."""
        return self._sums(VoteTable.from_patterns(patterns), state)

    def advance(self, state: Reading, sums: Sums) -> Reading | UnrolledState:
        """The state after a pass, complete after the last."""
        if state.passes < self.n_steps:
            state = self._step(state, *sums)
        elif state.evidence is not None and state.votes is not None:
            evidence = Shares(self.class_balance, self.lf_accuracies).match(state.evidence, sums, state.votes)
            state = state._replace(passes=state.passes + 1, evidence=evidence)
        return _complete(state) if state.passes == self.n_passes else state

    def fits(self, patterns: Patterns) -> bool:
        """Rows are processed in blocks: only the votes themselves, and one belief per row, grow with them."""
        return patterns.n_patterns * max(patterns.n_lfs, patterns.n_classes) <= MOST_NUMBERS

    def read_at_once(self, patterns: Patterns, gold: Gold | None) -> tuple[UnrolledState, Float64]:
        """The complete state of patterns that fit into memory, and their probabilities. -> state, (p, k)."""
        votes = VoteTable.from_patterns(patterns)
        state: Any = self.start(patterns.n_lfs, patterns.n_classes, gold)
        for _ in range(self.n_passes):
            state = self.advance(state, self._sums(votes, state))
        return state, state.judge(patterns, votes)

    def read_steps(self, patterns: Patterns, gold: Gold | None) -> UnrolledState:
        """The state after the last step, not matched to gold or shares: what only the learned part says.

        The network in training must say the same.
        """
        votes = VoteTable.from_patterns(patterns)
        state = self.start(patterns.n_lfs, patterns.n_classes, gold)
        for _ in range(self.n_steps):
            state = self._step(state, *self._sums(votes, state))
        assert state.evidence is not None  # there was a step
        return UnrolledState(state.evidence, state.gold)

    def probabilities(self, patterns: Patterns, state: UnrolledState) -> Float64:
        """Probabilities of patterns in a complete state, gold looked up; uniform where nobody votes. -> (p, k)."""
        return state.judge(patterns, VoteTable.from_patterns(patterns, rows_only=True))

    def contributions(self, patterns: Patterns, state: UnrolledState) -> Float64:
        """What each vote adds to the logits of its row. -> (e, k)."""
        return state.contributions(patterns)

    def to_arrays(self, state: UnrolledState) -> dict[str, NDArray[Any]]:
        """A complete state as named arrays."""
        return state.to_arrays()

    def from_arrays(self, arrays: dict[str, NDArray[Any]]) -> UnrolledState:
        """The inverse of `to_arrays`."""
        return UnrolledState.from_arrays(arrays, self.outcomes)

    def _sums(self, votes: VoteTable, state: Reading) -> Sums:
        if state.evidence is not None and state.passes >= self.n_steps:
            return Shares(self.class_balance, self.lf_accuracies).sums(state.evidence, votes)
        if state.evidence is None and state.fold is None:
            return first_sums(votes, state.n_lfs, state.n_classes)
        items = state.beliefs(votes)
        sums = sum_beliefs(votes, items)
        return sums if state.residuals is None else (*sums, _moments(state, votes, items))

    def _step(self, state: Reading, *sums: Float64) -> Reading:
        """The state after the next step, from sums in which gold items count as believed."""
        votes, number, nodes, k, fold = state.votes, state.number, state.nodes, state.n_classes, state.fold
        by_code, class_totals = sums[:2]
        class_counts = by_code if fold is None else fold.to_classes(by_code)
        if votes is None:  # the beliefs about an item add up to 1
            votes, items = np.rint(class_counts.sum(1)), np.rint(class_totals.sum(keepdims=True))
            number = votes.nonzero()[0]
            nodes = _find_nodes(state, votes, number, items)
        if nodes is None or number is None:
            nothing = Evidence(class_counts * 0, np.zeros(k), 1.0, 0.0, 1.0, np.ones(k))
            evidence = nothing if fold is None else fold.to_codes(nothing, votes, by_code)
            return state._replace(passes=state.passes + 1, votes=votes, evidence=evidence)
        if state.gold is not None:
            sums = add_sums(sums, _missed_gold(state, state.gold))
            by_code, class_totals = sums[:2]
            class_counts = by_code if fold is None else fold.to_classes(by_code)
        scaled, totals = nodes.scale * _pick(class_counts, number), nodes.scale * class_totals[None]
        linear = NumpyLinear(self.weights, self.schedule[state.passes])
        last = state.passes == self.n_steps - 1
        design = np.zeros(1)
        if state.residuals is not None:
            before, moments = _pick(state.residuals, number), nodes.scale * sums[2][None]
            design = find_log_effect(nodes, before, scaled, totals, moments)
        step = advance(linear, nodes, scaled, totals, design, last=last)
        numbers = step.scale.item(), step.power.item(), step.gold_weight.item()
        evidence = Evidence(_put(step.evidence, number, votes), step.bias[0], *numbers, np.ones(k))
        if fold is not None:
            evidence = fold.to_codes(evidence, votes, by_code)
        residuals = None
        if state.passes == self.n_steps - 2 and nodes.spread.any():  # votes of one-sided LFs have no spread
            residuals = _put(find_residuals(nodes, scaled, step.evidence), number, votes)
        start, passes = (state.n_lfs, k, state.gold), state.passes + 1
        return Reading(*start, passes, votes, number, nodes, evidence, residuals, fold)


def _pick(table: Float64, number: NDArray[np.intp]) -> Float64:
    """What a table of all nodes says about some, in their order; the table itself for all. (m * k, k) -> (q, k)."""
    return table if len(number) == len(table) else table.take(number, axis=0)


def _put(values: Float64, number: NDArray[np.intp], votes: Float64) -> Float64:
    """The inverse of `_pick`: a table of all nodes, 0 for the others. (q, k) -> (m * k, k)."""
    if len(number) == len(votes):
        return values
    table = np.zeros((len(votes), values.shape[1]))
    table[number] = values
    return table


def _moments(state: Reading, votes: VoteTable, items: Floats) -> Float64:
    """Sum and sum of squares, over the items of each class, of what the residuals on an item add up to. (2, k)."""
    assert state.residuals is not None  # the last step is next
    residuals = state.residuals if state.fold is None else state.fold.from_classes(state.residuals)
    moments = np.zeros((2, state.n_classes))
    for block, sums in votes.layout.sum_by_row(residuals.astype(items.dtype, copy=False)):
        weighted = items[block] * sums
        moments[0] += weighted.sum(0)
        weighted *= sums
        moments[1] += weighted.sum(0)
    return moments


def _missed_gold(state: Reading, gold: Gold) -> Sums:
    """What the sums gain if what is known about gold items replaces what is believed about them."""
    votes = VoteTable.from_patterns(gold.patterns)
    missed = gold.counts - gold.counts.sum(1, keepdims=True) * state.beliefs(votes)
    sums = votes.layout.sum_by_node(missed), missed.sum(0)
    return sums if state.residuals is None else (*sums, _moments(state, votes, missed))


def _with_votes(gold: Gold) -> Gold | None:
    """The gold of rows that have votes; None if there are none."""
    kept = np.flatnonzero(gold.patterns.has_votes & gold.counts.any(1))
    if len(kept) == len(gold.counts):
        return gold
    return Gold(gold.patterns.take(kept), gold.counts[kept]) if len(kept) else None


def _find_nodes(state: Reading, votes: Float64, number: NDArray[np.intp], items: Float64) -> Nodes | None:
    """What is known about the nodes that occur, before any belief."""
    k = state.n_classes
    if len(number) == 0 or k == 1:
        return None
    lf = number // k
    return describe_nodes(
        NumpyBackend(),
        k,
        state.n_lfs,
        lf=lf,
        vote=number % k,
        of_set=np.zeros(len(number), np.intp),
        n=votes[number],
        items=items,
        voting=np.array([np.count_nonzero(find_first(lf))], np.float64),
        gold=_count_gold(state)[number],
    )


def _count_gold(state: Reading) -> Float64:
    """Gold items on which each node votes. (m * k,)."""
    if state.gold is None:
        return np.zeros(state.n_lfs * state.n_classes)
    items = state.gold.counts.sum(1).astype(np.float64)
    counted = VoteTable.from_patterns(state.gold.patterns).layout.sum_by_node(items[:, None])
    return (counted if state.fold is None else state.fold.to_classes(counted))[:, 0]


def _complete(state: Reading) -> UnrolledState:
    """The state after the last pass: evidence matched to gold, of all nodes."""
    evidence, votes = state.evidence, state.votes
    assert evidence is not None  # there was a pass
    assert votes is not None
    if state.gold is not None:
        evidence = match_gold(evidence, VoteTable.from_patterns(state.gold.patterns), state.gold.counts)
    whole = complete(evidence, votes) if state.fold is None else state.fold.complete(evidence, votes)
    return UnrolledState(whole, state.gold)
