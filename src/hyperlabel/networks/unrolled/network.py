"""The unrolled network behind the protocol of `hyperlabel.networks.base`: passes over a set, then its state."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64, Floats, find_first
from hyperlabel.networks.base import Gold, Sums, add_sums
from hyperlabel.networks.unrolled.agreement import JUDGES, count_agreement, find_vote_weight
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
from hyperlabel.networks.unrolled.nodes import Nodes
from hyperlabel.networks.unrolled.state import UnrolledState, complete
from hyperlabel.networks.unrolled.steps import Step, advance
from hyperlabel.networks.unrolled.votes import VoteTable
from hyperlabel.patterns import Patterns
from hyperlabel.votes.outcomes import Outcomes
from hyperlabel.weights import Weights

MORE_STEPS = 2  # for levels of scores, whose worth is found in more rounds than that of classes
MOST_NUMBERS = 1 << 26  # patterns times LFs, or times classes, that are read at once


class Found(NamedTuple):
    """The nodes of a set, known after the first pass.

    Attributes:
        votes: (m * k,) items on which each node votes.
        number: (q,) the nodes that occur, among all.
        nodes: What is known about those; None if there is nothing to learn, or only one class.
    """

    votes: Float64
    number: NDArray[np.intp]
    nodes: Nodes | None

    def pick(self, table: Float64) -> Float64:
        """What a table of all nodes says about those that occur; the table itself if all do. (m * k, k) -> (q, k)."""
        return table if len(self.number) == len(table) else table.take(self.number, axis=0)

    def put(self, values: Float64) -> Float64:
        """The inverse of `pick`: a table of all nodes, 0 for the others. (q, k) -> (m * k, k)."""
        if len(self.number) == len(self.votes):
            return values
        table = np.zeros((len(self.votes), values.shape[1]))
        table[self.number] = values
        return table


class Reading(NamedTuple):
    """What is known about a set while it is read.

    Attributes:
        n_lfs: Number of LFs.
        n_classes: Number of classes.
        gold: The vote rows of gold items.
        fold: How outcomes that are not one class become class votes; None if there are none.
        passes: Passes done.
        found: The nodes.
        evidence: What the last pass gave.
        residuals: (m * k, k) of that evidence, before the last step alone, which asks for the design effect.
        trusted: How far the last step trusts confusions, 0 to 1.
    """

    n_lfs: int
    n_classes: int
    gold: Gold | None
    fold: Fold | None
    passes: int = 0
    found: Found | None = None
    evidence: Evidence | None = None
    residuals: Float64 | None = None
    trusted: float = 0.0

    def beliefs(self, votes: VoteTable) -> Floats:
        """What is believed about rows after the last pass; before any pass, smoothed shares of their votes. (r, k)."""
        if self.evidence is None:
            own = own_classes(self.n_lfs, self.n_classes) if self.fold is None else self.fold.nodes
            return first_beliefs(votes, own)
        return self.evidence.beliefs(votes, reading_type(self.n_classes))

    def to_classes(self, sums: Float64) -> Float64:
        """Sums of numbers of votes as sums of class votes. (m * (k + s), c) -> (m * k, c)."""
        return sums if self.fold is None else self.fold.to_classes(sums)


@dataclass(frozen=True, eq=False)
class UnrolledNetwork:
    """The network of hlm2.

    Every pass is a step; if shares are known, more passes match the evidence to them; if not, and LFs are judges, one
    more compares the beliefs with how often votes agree. Gold items are among the items of
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
    def knows_shares(self) -> bool:
        """Whether a class balance or accuracies of LFs are known."""
        return self.class_balance is not None or self.lf_accuracies is not None

    @property
    def n_passes(self) -> int:
        """Passes until the evidence is known: one per step, and the rounds of known shares."""
        return self.n_steps + (SHARE_ROUNDS if self.knows_shares else 0)

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
        return Reading(n_lfs, n_classes, None if gold is None else Gold.of(gold.patterns, gold.counts), fold)

    def sums(self, patterns: Patterns, state: Reading) -> Sums:
        """What the next pass needs from a chunk."""
        return self._sums(VoteTable.from_patterns(patterns), state)

    def advance(self, state: Reading, sums: Sums) -> Reading | UnrolledState:
        """The state after a pass, complete after the last."""
        if state.passes == self.n_passes:
            return _weigh_votes(state, sums[0])
        state = self._step(state, sums) if state.passes < self.n_steps else self._match_shares(state, sums)
        if state.passes < self.n_passes:
            return state
        state = _complete(state)
        return state if self._doubts(state) else UnrolledState(_known(state), state.gold)

    def is_complete(self, state: Reading | UnrolledState) -> bool:
        """Whether all passes are done."""
        return isinstance(state, UnrolledState)

    def fits(self, patterns: Patterns) -> bool:
        """Rows are processed in blocks: only the votes themselves, and one belief per row, grow with them."""
        return patterns.n_patterns * max(patterns.n_lfs, patterns.n_classes) <= MOST_NUMBERS

    def read_at_once(self, patterns: Patterns, gold: Gold | None) -> tuple[UnrolledState, Float64]:
        """The complete state of patterns that fit into memory, and their probabilities. -> state, (p, k)."""
        votes, beliefs = VoteTable.from_patterns(patterns), None
        state: Any = self.start(patterns.n_lfs, patterns.n_classes, gold)
        while not isinstance(state, UnrolledState):
            if state.passes == self.n_passes:
                beliefs = _known(state).beliefs(votes, np.float64)
            state = self.advance(state, self._sums(votes, state, beliefs))
        return state, state.judge(patterns, votes, beliefs)

    def read_steps(self, patterns: Patterns, gold: Gold | None) -> UnrolledState:
        """The state after the last step, not matched to gold or shares: what only the learned part says.

        The network in training must say the same.
        """
        votes = VoteTable.from_patterns(patterns)
        state = self.start(patterns.n_lfs, patterns.n_classes, gold)
        for _ in range(self.n_steps):
            state = self._step(state, self._sums(votes, state))
        return UnrolledState(_known(state), state.gold)

    def probabilities(self, patterns: Patterns, state: UnrolledState) -> Float64:
        """Probabilities of patterns in a complete state, gold looked up; uniform where nobody votes. -> (p, k)."""
        return state.judge(patterns, VoteTable.from_patterns(patterns, rows_only=True))

    def contributions(self, patterns: Patterns, state: UnrolledState) -> Float64 | None:
        """What each vote adds to the logits of its row; None where shares of votes are mixed in. -> (e, k)."""
        return state.contributions(patterns)

    def to_arrays(self, state: UnrolledState) -> dict[str, NDArray[Any]]:
        """A complete state as named arrays."""
        return state.to_arrays()

    def from_arrays(self, arrays: dict[str, NDArray[Any]]) -> UnrolledState:
        """The inverse of `to_arrays`."""
        return UnrolledState.from_arrays(arrays, self.outcomes)

    def _sums(self, votes: VoteTable, state: Reading, beliefs: Float64 | None = None) -> Sums:
        """What the next pass needs from rows; for the last one, what the evidence says of them may be known."""
        if state.passes == self.n_passes:
            known = _known(state).beliefs(votes, np.float64) if beliefs is None else beliefs
            return (count_agreement(votes, known, state.n_lfs),)
        if state.evidence is not None and state.passes >= self.n_steps:
            return Shares(self.class_balance, self.lf_accuracies).sums(state.evidence, votes)
        if state.evidence is None and state.fold is None:
            return first_sums(votes, state.n_lfs, state.n_classes)
        items = state.beliefs(votes)
        sums = sum_beliefs(votes, items)
        return sums if state.residuals is None else (*sums, _moments(state.residuals, state.fold, votes, items))

    def _match_shares(self, state: Reading, sums: Sums) -> Reading:
        """The state after a round of matching the evidence to known shares."""
        assert state.found is not None  # there was a step
        evidence = Shares(self.class_balance, self.lf_accuracies).match(_known(state), sums, state.found.votes)
        return state._replace(passes=state.passes + 1, evidence=evidence)

    def _doubts(self, state: Reading) -> bool:
        """Whether to compare the beliefs with how often votes agree: LFs are judges, and no shares are known."""
        return state.trusted > JUDGES and not self.knows_shares and state.fold is None

    def _step(self, state: Reading, sums: Sums) -> Reading:
        """The state after the next step, from sums in which gold items count as believed."""
        found = _find_nodes(state, *sums[:2]) if state.found is None else state.found
        nodes, k = found.nodes, state.n_classes
        if nodes is None:
            nothing = Evidence(np.zeros((len(found.votes), k)), np.zeros(k), 1.0, 0.0, 1.0, np.ones(k))
            evidence = _to_codes(state, found, nothing, sums[0])
            return state._replace(passes=state.passes + 1, found=found, evidence=evidence)
        if state.gold is not None:
            sums = add_sums(sums, _missed_gold(state, state.gold))
        class_counts, class_totals = nodes.scale * found.pick(state.to_classes(sums[0])), nodes.scale * sums[1][None]
        design = np.zeros(1)
        if state.residuals is not None:
            before, moments = found.pick(state.residuals), nodes.scale * sums[2][None]
            design = find_log_effect(nodes, before, class_counts, class_totals, moments)
        linear = NumpyLinear(self.weights, self.schedule[state.passes])
        step = advance(linear, nodes, class_counts, class_totals, design, last=state.passes == self.n_steps - 1)
        residuals = None
        if state.passes == self.n_steps - 2 and nodes.spread.any():  # votes of one-sided LFs have no spread
            residuals = found.put(find_residuals(nodes, class_counts, step.evidence))
        return state._replace(
            passes=state.passes + 1,
            found=found,
            evidence=_to_codes(state, found, _to_evidence(found, step), sums[0]),
            residuals=residuals,
            trusted=step.trusted.item(),
        )


def _to_evidence(found: Found, step: Step) -> Evidence:
    """The evidence of a step, for all nodes."""
    numbers = step.scale.item(), step.power.item(), step.gold_weight.item()
    return Evidence(found.put(step.evidence), step.bias[0], *numbers, np.ones(step.bias.shape[1]))


def _to_codes(state: Reading, found: Found, evidence: Evidence, by_code: Float64) -> Evidence:
    """The evidence of class votes, and of the outcomes that are not one class, if there are any."""
    return evidence if state.fold is None else state.fold.to_codes(evidence, found.votes, by_code)


def _moments(residuals: Float64, fold: Fold | None, votes: VoteTable, items: Floats) -> Float64:
    """Sum and sum of squares, over the items of each class, of what the residuals on an item add up to. (2, k)."""
    residuals = residuals if fold is None else fold.from_classes(residuals)
    moments = np.zeros((2, items.shape[1]))
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
    return sums if state.residuals is None else (*sums, _moments(state.residuals, state.fold, votes, missed))


def _find_nodes(state: Reading, by_code: Float64, class_totals: Float64) -> Found:
    """The nodes that occur, and what is known about them before any belief."""
    k = state.n_classes
    votes, items = (
        np.rint(state.to_classes(by_code).sum(1)),
        np.rint(class_totals.sum(keepdims=True)),
    )  # beliefs add to 1
    number = votes.nonzero()[0]
    if len(number) == 0 or k == 1:
        return Found(votes, number, None)
    lf = number // k
    nodes = Nodes(
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
    return Found(votes, number, nodes)


def _count_gold(state: Reading) -> Float64:
    """Gold items on which each node votes. (m * k,)."""
    if state.gold is None:
        return np.zeros(state.n_lfs * state.n_classes)
    items = state.gold.counts.sum(1).astype(np.float64)
    counted = VoteTable.from_patterns(state.gold.patterns).layout.sum_by_node(items[:, None])
    return state.to_classes(counted)[:, 0]


def _known(state: Reading) -> Evidence:
    """The evidence after a pass."""
    assert state.evidence is not None  # there was a pass
    return state.evidence


def _weigh_votes(state: Reading, sums: Float64) -> UnrolledState:
    """The complete state, from sums that say how often votes agree."""
    nodes, of_gold, gold = state.found and state.found.nodes, None, state.gold
    assert nodes is not None  # there are judges
    if gold is not None:
        shares = gold.counts / gold.counts.sum(1, keepdims=True)
        of_gold = count_agreement(VoteTable.from_patterns(gold.patterns), shares, state.n_lfs)
    weight = find_vote_weight(sums, of_gold, nodes.scale.item(), state.n_classes)
    return UnrolledState(_known(state)._replace(vote_weight=weight), gold)


def _complete(state: Reading) -> Reading:
    """The state with evidence matched to gold, of all nodes."""
    assert state.found is not None  # there was a step
    evidence, votes = _known(state), state.found.votes
    if state.gold is not None:
        evidence = match_gold(evidence, VoteTable.from_patterns(state.gold.patterns), state.gold.counts)
    whole = complete(evidence, votes) if state.fold is None else state.fold.complete(evidence, votes)
    return state._replace(evidence=whole)
