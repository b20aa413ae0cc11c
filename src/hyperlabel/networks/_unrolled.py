"""The unrolled network of hlm2: a learned EM over patterns.

A *node* is an LF and a class it votes for. A step (`_steps.py`) estimates from the beliefs about all items what each
node is worth, and a small network, shared by all nodes, turns that into the evidence of one vote of the node for each
class. A row's logits are the sum of the evidence of its votes, scaled by a power of how many they are, plus a share of
the log class balance. Nothing else is passed from step to step, so that

- the result is equivariant in items, LFs and classes, for any number of classes;
- the evidence is its own explanation: logits are sums over votes, unless shares of votes are mixed in;
- the rows enter through sums over votes only (`_votes.py`), which add up over chunks however rows are split or
  repeated: a set of any size is read with one table of evidence in memory, and that table judges new rows.

Every pass over a set is a step. If LFs are judges, one more compares the beliefs with how often votes agree, and if
shares are known, more passes match the evidence to them (`_calibration.py`). Gold items are among the items of
the passes, believed like all others; what is known about them then replaces what was believed, from their vote rows
alone. Outcomes that are not one class count as class votes (`_outcome_votes.py`).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Floats, find_first
from hyperlabel.data import Outcomes, Patterns
from hyperlabel.networks._backend import NumpyBackend, numpy_layers
from hyperlabel.networks._base import Gold, Sums, add_sums
from hyperlabel.networks._calibration import (
    JUDGES,
    SHARE_ROUNDS,
    ShareRounds,
    Shares,
    count_agreement,
    find_vote_weight,
    match_gold,
)
from hyperlabel.networks._outcome_votes import OutcomeMap
from hyperlabel.networks._steps import Nodes, advance, find_log_effect, find_residuals
from hyperlabel.networks._votes import (
    Evidence,
    VoteTable,
    first_beliefs,
    first_sums,
    own_classes,
    reading_type,
    sum_beliefs,
)
from hyperlabel.networks._weights import Weights

MORE_STEPS = 2  # for levels of scores, whose worth is found in more rounds than that of classes
MOST_NUMBERS = 1 << 26  # patterns times LFs, or times classes, that are read at once


class NodeIndex(NamedTuple):
    """The nodes of a set, known after the first pass."""

    cast: Float64  # (m * k,) items on which each node votes
    items: float  # items with votes
    number: NDArray[np.intp]  # (q,) the nodes that occur, among all
    nodes: Nodes | None  # what is known about those; None if there is nothing to learn, or only one class

    def pick(self, table: Float64) -> Float64:
        """Return the rows of a table for the nodes that occur; the table itself if all do. (m * k, k) -> (q, k)."""
        return table if len(self.number) == len(table) else table.take(self.number, axis=0)

    def put(self, values: Float64) -> Float64:
        """Invert `pick`: a table of all nodes, 0 for the others. (q, k) -> (m * k, k)."""
        if len(self.number) == len(self.cast):
            return values
        table = np.zeros((len(self.cast), values.shape[1]))
        table[self.number] = values
        return table


class PassState(NamedTuple):
    """The state of a network between two passes over a set."""

    n_lfs: int
    n_classes: int
    gold: Gold | None  # the vote rows of gold items
    outcome_map: OutcomeMap | None  # how outcomes become class votes; None if all votes are classes
    passes: int = 0  # passes done
    node_index: NodeIndex | None = None  # the nodes
    evidence: Evidence | None = None  # the result of the last pass
    residuals: Float64 | None = None  # (m * k, k) of that evidence; only before the last step, for its design effect
    trusted: float = 0.0  # how far the last step trusts confusions, 0 to 1

    def beliefs(self, votes: VoteTable) -> Floats:
        """Return the beliefs about rows after the last pass; before the first, smoothed shares of votes. (r, k)."""
        if self.evidence is not None:
            return self.evidence.beliefs(votes, reading_type(self.n_classes))
        own = own_classes(self.n_lfs, self.n_classes) if self.outcome_map is None else self.outcome_map.nodes
        return first_beliefs(votes, own)

    def to_classes(self, sums: Float64) -> Float64:
        """Turn sums of codes of votes into sums of class votes. (m * (k + s), c) -> (m * k, c)."""
        return sums if self.outcome_map is None else self.outcome_map.to_classes(sums)


@dataclass(frozen=True, eq=False)
class UnrolledState:
    """The complete state of a set: everything that is needed to judge a row, whatever it votes."""

    evidence: Evidence  # of all nodes, including those that did not occur
    gold: Gold | None  # the vote rows of gold items

    def judge(self, patterns: Patterns, votes: VoteTable, beliefs: Float64 | None = None) -> Float64:
        """Return class probabilities with shares of votes and gold mixed in; uniform where nobody votes. (p, k).

        Args:
            patterns: The patterns.
            votes: Their votes.
            beliefs: (r, k) what the evidence says about rows with votes, where it is known; changed.
        """
        evidence, k = self.evidence, len(self.evidence.bias)
        beliefs = evidence.judge(votes, beliefs)
        if len(beliefs) < patterns.n_patterns:
            voted, beliefs = beliefs, np.full((patterns.n_patterns, k), 1 / k)
            beliefs[votes.has_votes] = voted
        if self.gold is not None:
            index = patterns.find(self.gold.patterns)
            known = np.flatnonzero(index >= 0)
            counts, weight = self.gold.counts[index[known]] * evidence.gold_worth, evidence.gold_weight
            beliefs[known] = (weight * beliefs[known] + counts) / (weight + counts.sum(1, keepdims=True))
        return beliefs


class SharePhase(NamedTuple):
    """The state of a network that matches its evidence to known shares."""

    share_rounds: ShareRounds
    gold: Gold | None  # the vote rows of gold items

    def sums(self, patterns: Patterns, votes: VoteTable) -> Sums:
        """Return what the next round needs from a chunk."""
        return self.share_rounds.sums(votes, float(patterns.counts.sum()))

    def advance(self, _: "UnrolledNetwork", sums: Sums) -> "SharePhase | UnrolledState":
        """Return the state after a round, complete after the last."""
        rounds = self.share_rounds.advance(sums)
        if rounds.rounds < SHARE_ROUNDS:
            return SharePhase(rounds, self.gold)
        return UnrolledState(rounds.evidence, self.gold)


@dataclass(frozen=True, eq=False)
class UnrolledNetwork:
    """The network of hlm2.

    >>> from hyperlabel.networks import read
    >>> from hyperlabel.data import Votes
    >>> from hyperlabel.networks import load_weights
    >>> patterns = Patterns.from_votes(Votes.from_array([[1, 1, 0], [0, -1, 0], [1, 1, 1]]))
    >>> network = UnrolledNetwork(load_weights("hlm2"))
    >>> state = read(network, lambda sums: sums(patterns), 3, 2)
    >>> patterns.expand(network.probabilities(patterns, state)).argmax(1).tolist()
    [1, 0, 1]
    """

    weights: Weights  # the learned weights
    class_balance: Float64 | None = None  # (k,) known share of each class among all items
    lf_accuracies: Float64 | None = None  # (m,) known share of each LF's right votes, NaN where it is not known
    outcomes: Outcomes | None = None  # outcomes that are not one class; None if all votes are classes

    @cached_property
    def schedule(self) -> tuple[int, ...]:
        """The learned step of each step: with levels of scores, which are many, the last but one is repeated."""
        learned = int(self.weights.header["steps"])
        has_levels = self.outcomes is not None and (self.outcomes.ladder >= 0).any()
        again = MORE_STEPS if has_levels and learned > 1 else 0
        return (*range(learned - 1), *([learned - 2] * again), learned - 1)

    def start(self, n_lfs: int, n_classes: int, gold: Gold | None) -> PassState:
        """Return the state before the first pass; gold on rows without votes teaches nothing."""
        outcome_map = None if self.outcomes is None else OutcomeMap(self.outcomes, n_lfs)
        return PassState(n_lfs, n_classes, gold and Gold.of(gold.patterns, gold.counts), outcome_map)

    def sums(self, patterns: Patterns, state: Any) -> Sums:
        """Return what the next pass needs from a chunk."""
        return self._sums(patterns, VoteTable.from_patterns(patterns), state)

    def _sums(self, patterns: Patterns, votes: VoteTable, state: Any, beliefs: Float64 | None = None) -> Sums:
        """Return what the next pass needs from rows; beliefs about them may be known if votes are weighed next."""
        if not isinstance(state, PassState):
            sums: Sums = state.sums(patterns, votes)
            return sums
        evidence = state.evidence
        if evidence is None and state.outcome_map is None:
            return first_sums(votes, state.n_lfs, state.n_classes)
        if evidence is not None and state.passes == len(self.schedule):
            beliefs = evidence.beliefs(votes, np.float64) if beliefs is None else beliefs
            return (count_agreement(votes, beliefs, state.n_lfs),)
        items = state.beliefs(votes)
        sums = sum_beliefs(votes, items)
        return sums if state.residuals is None else (*sums, _moments(state, votes, items))

    def advance(self, state: Any, sums: Sums) -> Any:
        """Return the state after a pass, complete after the last."""
        if not isinstance(state, PassState):
            return state.advance(self, sums)
        if state.passes == len(self.schedule):
            return self._go_on(_weigh_votes(state, sums[0]), state)
        state = self._step(state, sums)
        if state.passes < len(self.schedule):
            return state
        evidence = _complete(state)
        # Judges, of whom no accuracies are known: one more pass compares the beliefs with how often votes agree.
        if state.trusted > JUDGES and self.lf_accuracies is None and state.outcome_map is None:
            return state._replace(evidence=evidence)
        return self._go_on(UnrolledState(evidence, state.gold), state)

    def _go_on(self, complete: UnrolledState, state: PassState) -> Any:
        """Return the state after the steps."""
        assert state.node_index is not None
        return complete if state.node_index.nodes is None else self.match_shares(complete, state.node_index.cast)

    def match_shares(self, complete: UnrolledState, cast: Float64) -> "SharePhase | UnrolledState":
        """Return the state itself, or one that is matched to known shares next; `cast` is that of `NodeIndex`."""
        if self.class_balance is None and self.lf_accuracies is None:
            return complete
        shares = Shares(self.class_balance, self.lf_accuracies)
        return SharePhase(
            ShareRounds(shares, complete.evidence, cast.reshape(-1, len(complete.evidence.bias))), complete.gold
        )

    def _step(self, state: PassState, sums: Sums) -> PassState:
        """Return the state after the next step, from sums in which gold items count as believed."""
        index = state.node_index or _find_nodes(state, *sums[:2])
        nodes, k, residuals, trusted = index.nodes, state.n_classes, None, 0.0
        if nodes is None:
            evidence = Evidence(np.zeros((len(index.cast), k)), np.zeros(k), 1.0, 0.0, 1.0, np.ones(k))
        else:
            if state.gold is not None:
                sums = add_sums(sums, _missing_gold(state, state.gold))
            class_counts = nodes.scale * index.pick(state.to_classes(sums[0]))
            class_totals, design = nodes.scale * sums[1][None], np.zeros(1)
            if state.residuals is not None:
                moments = nodes.scale * sums[2][None]
                design = find_log_effect(nodes, index.pick(state.residuals), class_counts, class_totals, moments)
            layers, last = numpy_layers(self.weights, self.schedule[state.passes]), len(self.schedule) - 1
            step = advance(layers, nodes, class_counts, class_totals, design, last=state.passes == last)
            if state.passes == last - 1 and nodes.spread.any():  # votes of one-sided LFs have no spread
                residuals = index.put(find_residuals(nodes, class_counts, step.evidence))
            numbers = step.scale.item(), step.power.item(), step.gold_weight.item()
            evidence = Evidence(index.put(step.evidence), step.bias[0], *numbers, np.ones(k))
            trusted = step.trusted.item()
        if state.outcome_map is not None:
            evidence = state.outcome_map.to_codes(evidence, index.cast, sums[0])
        passes = state.passes + 1
        return state._replace(passes=passes, node_index=index, evidence=evidence, residuals=residuals, trusted=trusted)

    def is_complete(self, state: PassState | UnrolledState) -> bool:
        """Return whether all passes are done."""
        return isinstance(state, UnrolledState)

    def fits(self, patterns: Patterns) -> bool:
        """Return whether patterns fit: rows are processed in blocks, so only votes and one belief per row count."""
        return patterns.n_patterns * max(patterns.n_lfs, patterns.n_classes) <= MOST_NUMBERS

    def read_at_once(self, patterns: Patterns, gold: Gold | None) -> tuple[UnrolledState, Float64]:
        """Return the complete state of patterns that fit into memory, and their probabilities. -> state, (p, k)."""
        votes, beliefs = VoteTable.from_patterns(patterns), None
        state: Any = self.start(patterns.n_lfs, patterns.n_classes, gold)
        while not isinstance(state, UnrolledState):
            weighs = isinstance(state, PassState) and state.passes == len(self.schedule)
            beliefs = state.evidence.beliefs(votes, np.float64) if weighs else None
            state = self.advance(state, self._sums(patterns, votes, state, beliefs))
        return state, state.judge(patterns, votes, beliefs)

    def read_steps(self, patterns: Patterns, gold: Gold | None) -> UnrolledState:
        """Return the state after the last step, not matched to gold or shares, as the network in training does."""
        votes = VoteTable.from_patterns(patterns)
        state = self.start(patterns.n_lfs, patterns.n_classes, gold)
        for _ in self.schedule:
            state = self._step(state, self._sums(patterns, votes, state))
        assert state.evidence is not None
        return UnrolledState(state.evidence, state.gold)

    def probabilities(self, patterns: Patterns, state: UnrolledState) -> Float64:
        """Return probabilities of patterns in a complete state; uniform where nobody votes. -> (p, k)."""
        return state.judge(patterns, VoteTable.from_patterns(patterns, rows_only=True))

    def contributions(self, patterns: Patterns, state: UnrolledState) -> Float64 | None:
        """Return what each vote adds to the logits of its row; None where shares of votes are mixed in. -> (e, k)."""
        if state.evidence.vote_weight:
            return None
        votes = VoteTable.from_patterns(patterns, rows_only=True)
        node = patterns.lf * patterns.n_codes + patterns.vote
        factors = state.evidence.factors(votes).repeat(votes.size)
        added: Float64 = state.evidence.table.take(node, axis=0) * factors[:, None]
        return added

    def to_arrays(self, state: UnrolledState) -> dict[str, NDArray[Any]]:
        """Return a complete state as named arrays."""
        arrays = {name: np.atleast_1d(value) for name, value in state.evidence._asdict().items()}
        return arrays if state.gold is None else arrays | state.gold.to_arrays()

    def from_arrays(self, arrays: dict[str, NDArray[Any]]) -> UnrolledState:
        """Invert `to_arrays`."""
        scale, power, gold_weight = (float(arrays[name][0]) for name in ("scale", "power", "gold_weight"))
        table, bias, worth = (arrays[name] for name in ("table", "bias", "gold_worth"))
        vote_weight = float(arrays.get("vote_weight", [0.0])[0])  # older files have none
        if worth.shape != bias.shape:
            raise ValueError(f"gold_worth has shape {worth.shape}; expected one number for each class")
        m = len(table) // (len(bias) + (0 if self.outcomes is None else len(self.outcomes)))
        evidence = Evidence(table, bias, scale, power, gold_weight, worth, vote_weight)
        return UnrolledState(evidence, Gold.from_arrays(arrays, m, len(bias), self.outcomes))


def _moments(state: PassState, votes: VoteTable, items: Floats) -> Float64:
    """Return the sum and sum of squares, over the items of each class, of the sums of residuals on an item. (2, k)."""
    residuals = state.residuals
    assert residuals is not None
    if state.outcome_map is not None:
        residuals = state.outcome_map.from_classes(residuals)
    moments = np.zeros((2, items.shape[1]))
    for block, sums in votes.layout.sum_by_row(residuals.astype(items.dtype, copy=False)):
        weighted = items[block] * sums
        moments[0] += weighted.sum(0)
        weighted *= sums
        moments[1] += weighted.sum(0)
    return moments


def _missing_gold(state: PassState, gold: Gold) -> Sums:
    """Return what the sums gain if what is known about gold items replaces what is believed about them."""
    votes = VoteTable.from_patterns(gold.patterns)
    missing = gold.counts - gold.counts.sum(1, keepdims=True) * state.beliefs(votes)
    sums = votes.layout.sum_by_node(missing), missing.sum(0)
    return sums if state.residuals is None else (*sums, _moments(state, votes, missing))


def _find_nodes(state: PassState, by_code: Float64, class_totals: Float64) -> NodeIndex:
    """Return the nodes that occur, and what is known about them before any belief."""
    k, of_gold = state.n_classes, np.zeros(state.n_lfs * state.n_classes)
    cast, items = (
        np.rint(state.to_classes(by_code).sum(1)),
        np.rint(class_totals.sum(keepdims=True)),
    )  # beliefs add to 1
    number = cast.nonzero()[0]
    if len(number) == 0 or k == 1:
        return NodeIndex(cast, items.item(), number, None)
    if state.gold is not None:
        counts = state.gold.counts.sum(1, keepdims=True).astype(np.float64)
        of_gold = state.to_classes(VoteTable.from_patterns(state.gold.patterns).layout.sum_by_node(counts))[:, 0]
    lf = number // k
    nodes = Nodes(
        NumpyBackend(),
        k,
        state.n_lfs,
        lf=lf,
        vote=number % k,
        of_set=np.zeros(len(number), np.intp),
        n=cast[number],
        items=items,
        voting=np.array([np.count_nonzero(find_first(lf))], np.float64),
        gold=of_gold[number],
    )
    return NodeIndex(cast, items.item(), number, nodes)


def _complete(state: PassState) -> Evidence:
    """Return the evidence matched to gold, of all nodes."""
    evidence = state.evidence
    assert evidence is not None
    assert state.node_index is not None
    if state.gold is not None:
        evidence = match_gold(evidence, VoteTable.from_patterns(state.gold.patterns), state.gold.counts)
    cast = state.node_index.cast
    return evidence.complete(cast) if state.outcome_map is None else state.outcome_map.complete(evidence, cast)


def _weigh_votes(state: PassState, sums: Float64) -> UnrolledState:
    """Return the complete state, from sums that say how often votes agree."""
    gold, of_gold = state.gold, None
    assert state.evidence is not None
    assert state.node_index is not None
    assert state.node_index.nodes is not None  # there are judges
    if gold is not None:
        shares = gold.counts / gold.counts.sum(1, keepdims=True)
        of_gold = count_agreement(VoteTable.from_patterns(gold.patterns), shares, state.n_lfs)
    weight = find_vote_weight(sums, of_gold, state.node_index.nodes.scale.item(), state.n_classes)
    return UnrolledState(state.evidence._replace(vote_weight=weight), gold)
