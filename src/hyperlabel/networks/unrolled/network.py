"""The unrolled network behind the protocol of `hyperlabel.networks.base`: passes over a set, then its state."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64, find_first, scale_rows
from hyperlabel.networks.base import Gold, Sums
from hyperlabel.networks.unrolled.backend import NumpyBackend, NumpyLinear
from hyperlabel.networks.unrolled.calibrate import SHARE_ROUNDS, Shares, match_gold
from hyperlabel.networks.unrolled.evidence import Evidence, first_beliefs
from hyperlabel.networks.unrolled.nodes import Nodes, describe_nodes
from hyperlabel.networks.unrolled.state import UnrolledState, complete
from hyperlabel.networks.unrolled.steps import advance
from hyperlabel.networks.unrolled.votes import VoteTable, keep_table
from hyperlabel.patterns import Patterns
from hyperlabel.weights import Weights


@dataclass(frozen=True, eq=False)
class Counts:
    """What the first pass finds.

    Attributes:
        votes: (m * k,) items on which each node votes.
        seen: (k,) the classes that take part, c of them.
        number: (q,) the numbers of the nodes that occur.
        nodes: What is known of these; None where there is nothing to learn, or nothing to tell apart.
    """

    votes: Float64
    seen: NDArray[np.bool_]
    number: NDArray[np.intp]
    nodes: Nodes | None

    @property
    def own_class(self) -> Float64:
        """1 where a node votes for a class that takes part, 0 elsewhere. (m * k, c)."""
        return np.eye(len(self.seen))[:, self.seen].take(np.arange(len(self.votes)) % len(self.seen), axis=0)


@dataclass(frozen=True, eq=False)
class Reading:
    """What is known of a set while it is read.

    Attributes:
        n_lfs: Number of LFs.
        n_classes: Number of classes.
        gold: The vote rows of gold items.
        passes: Passes done.
        counts: What the first pass found.
        evidence: What the last one gave; `table` (m * k, c).
    """

    n_lfs: int
    n_classes: int
    gold: Gold | None
    passes: int = 0
    counts: Counts | None = None
    evidence: Evidence | None = None


@dataclass(frozen=True, eq=False)
class UnrolledNetwork:
    """The network of hlm2.

    The first pass counts votes, each of the next is a step, and if shares are known, some more match the evidence to
    them. Gold items are among the items of the passes, believed like all others; what is known of them is then put in
    the place of what was believed, from their vote rows alone.

    Attributes:
        weights: The learned weights.
        class_balance: (k,) known share of each class among the items with votes.
        lf_accuracies: (m,) known share of each LF's votes that are right, NaN where it is not known.

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

    @property
    def n_passes(self) -> int:
        """One to count votes, one for each step, and the rounds of known shares."""
        knows_shares = self.class_balance is not None or self.lf_accuracies is not None
        return 1 + self.n_steps + (SHARE_ROUNDS if knows_shares else 0)

    @property
    def n_steps(self) -> int:
        """Steps of the network."""
        return int(self.weights.header["steps"])

    def start(self, n_lfs: int, n_classes: int, gold: Gold | None) -> Reading:
        """The state before the first pass; gold on rows without votes has nothing to teach."""
        return Reading(n_lfs, n_classes, None if gold is None else _with_votes(gold))

    def sums(self, patterns: Patterns, state: Reading) -> Sums:
        """What the next pass needs of a chunk."""
        votes, counts = keep_table(patterns), state.counts
        if counts is None:
            return votes.layout.sum_by_node(votes.counts[:, None])[:, 0], np.asarray(votes.counts.sum())
        if state.evidence is not None and state.passes > self.n_steps:
            return self._shares(counts).sums(state.evidence, votes, counts.own_class)
        items = _beliefs(counts, state.evidence, votes)
        scale_rows(items, votes.counts)
        return votes.layout.sum_by_node(items), items.sum(0)

    def advance(self, state: Reading, sums: Sums) -> Reading | UnrolledState:
        """The state after a pass, complete after the last."""
        counts, passes = state.counts, state.passes + 1
        if counts is None:
            return replace(state, passes=passes, counts=self._count(state, *sums))
        if state.evidence is not None and state.passes > self.n_steps:
            evidence = self._shares(counts).match(state.evidence, sums, counts.votes, counts.own_class)
        else:
            evidence = self._step(state, counts, *sums)
        if passes < self.n_passes:
            return replace(state, passes=passes, evidence=evidence)
        return _complete(evidence, counts, state.gold)

    def probabilities(self, patterns: Patterns, state: UnrolledState) -> Float64:
        """Probabilities of patterns in a complete state, gold looked up; uniform where nobody votes. -> (p, k)."""
        return state.probabilities(patterns)

    def contributions(self, patterns: Patterns, state: UnrolledState) -> Float64:
        """What each vote adds to the logits of its row. -> (e, k)."""
        return state.contributions(patterns)

    def to_arrays(self, state: UnrolledState) -> dict[str, NDArray[Any]]:
        """A complete state as named arrays."""
        return state.to_arrays()

    def from_arrays(self, arrays: dict[str, NDArray[Any]]) -> UnrolledState:
        """The inverse of `to_arrays`."""
        return UnrolledState.from_arrays(arrays)

    def _count(self, state: Reading, votes: Float64, items: Float64) -> Counts:
        """Which classes take part, which nodes occur, and what is known of them before any belief."""
        k, seen, number = state.n_classes, self._find_classes(state, votes), np.flatnonzero(votes > 0)
        c = np.count_nonzero(seen)
        if len(number) == 0 or c < 2:
            return Counts(votes, seen, number, None)
        lf = number // k
        nodes = describe_nodes(
            NumpyBackend(),
            c,
            state.n_lfs,
            lf=lf,
            vote=(np.cumsum(seen) - 1).take(number % k),
            of_set=np.zeros(len(number), np.intp),
            n=votes[number],
            items=items.reshape(1),
            voting=np.array([np.count_nonzero(find_first(lf))], np.float64),
            gold=_count_gold(state).take(number),
        )
        return Counts(votes, seen, number, nodes)

    def _find_classes(self, state: Reading, votes: Float64) -> NDArray[np.bool_]:
        """The classes that somebody votes for, or that gold or the stated balance has; all, if these are not two."""
        seen: NDArray[np.bool_] = votes.reshape(state.n_lfs, state.n_classes).any(0)
        if state.gold is not None:
            seen = seen | state.gold.counts.any(0)
        if self.class_balance is not None:
            seen = seen | (self.class_balance > 0)
        return seen if np.count_nonzero(seen) > 1 else np.ones_like(seen)

    def _step(self, state: Reading, counts: Counts, class_counts: Float64, class_totals: Float64) -> Evidence:
        """The evidence of the next step, from sums in which gold items count as believed."""
        nodes, c = counts.nodes, len(class_totals)
        table, worth = np.zeros((len(class_counts), c)), np.ones(c)
        if nodes is None:
            return Evidence(table, np.zeros(c), 1.0, 0.0, 1.0, worth)
        if state.gold is not None:
            known, gold = keep_table(state.gold.patterns), state.gold.counts[:, counts.seen]
            missed = gold - gold.sum(1, keepdims=True) * _beliefs(counts, state.evidence, known)
            class_counts, class_totals = class_counts + known.layout.sum_by_node(missed), class_totals + missed.sum(0)
        linear, last = NumpyLinear(self.weights, state.passes - 1), state.passes == self.n_steps
        scaled = class_counts[counts.number] * nodes.scale
        step = advance(linear, nodes, scaled, nodes.scale * class_totals[None], last=last)
        table[counts.number] = step.evidence
        return Evidence(table, step.bias[0], step.scale.item(), step.power.item(), step.gold_weight.item(), worth)

    def _shares(self, counts: Counts) -> Shares:
        """What is known of the classes that take part, and of the LFs."""
        balance = None if self.class_balance is None else self.class_balance[counts.seen]
        return Shares(balance, self.lf_accuracies)


def _with_votes(gold: Gold) -> Gold | None:
    """The gold of rows that have votes; None if there are none."""
    kept = np.flatnonzero(gold.patterns.has_votes & gold.counts.any(1))
    if len(kept) == len(gold.counts):
        return gold
    rows, counts, patterns = gold.patterns.rows.take(kept), gold.counts[kept], gold.patterns
    patterns = Patterns(rows.starts, rows.lf, rows.vote, counts.sum(1), patterns.n_lfs, patterns.n_classes)
    return Gold(patterns, counts) if len(kept) else None


def _count_gold(state: Reading) -> Float64:
    """Gold items on which each node votes. (m * k,)."""
    if state.gold is None:
        return np.zeros(state.n_lfs * state.n_classes)
    items = state.gold.counts.sum(1).astype(np.float64)
    return keep_table(state.gold.patterns).layout.sum_by_node(items[:, None])[:, 0]


def _beliefs(counts: Counts, evidence: Evidence | None, votes: VoteTable) -> Float64:
    """What some evidence makes believe of rows; without any, shares of their votes. (r, c)."""
    return first_beliefs(votes, counts.own_class) if evidence is None else evidence.beliefs(votes)


def _complete(evidence: Evidence, counts: Counts, gold: Gold | None) -> UnrolledState:
    """The state after the last pass: evidence matched to gold, for all nodes and classes."""
    if gold is not None:
        known = gold.counts[:, counts.seen].astype(np.float64)
        evidence = match_gold(evidence, keep_table(gold.patterns), known)
    return UnrolledState(complete(evidence, counts.votes, counts.seen), counts.seen, gold)
