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
class Reading:
    """What is known of a set while it is read.

    Attributes:
        n_lfs: Number of LFs.
        n_classes: Number of classes.
        gold: The vote rows of gold items.
        passes: Passes done.
        votes: (m * k,) items on which each node votes; known after the first pass, as the following are.
        classes: (c,) the classes that take part.
        nodes: The nodes that occur, for these classes.
        evidence: What the last pass gave; `table` (m * k, c).
    """

    n_lfs: int
    n_classes: int
    gold: Gold | None
    passes: int = 0
    votes: Float64 | None = None
    classes: NDArray[np.intp] | None = None
    nodes: Nodes | None = None
    evidence: Evidence | None = None

    @property
    def own_class(self) -> Float64:
        """1 where a node votes for a class that takes part, 0 elsewhere. (m * k, c)."""
        return np.tile(np.eye(self.n_classes)[:, self.classes], (self.n_lfs, 1))


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
        return 1 + self._steps + (SHARE_ROUNDS if self._knows_shares else 0)

    @property
    def _steps(self) -> int:
        return int(self.weights.header["steps"])

    @property
    def _knows_shares(self) -> bool:
        return self.class_balance is not None or self.lf_accuracies is not None

    def start(self, n_lfs: int, n_classes: int, gold: Gold | None) -> Reading:
        """The state before the first pass; gold on rows without votes has nothing to teach."""
        return Reading(n_lfs, n_classes, None if gold is None else _with_votes(gold))

    def sums(self, patterns: Patterns, state: Reading) -> Sums:
        """What the next pass needs of a chunk."""
        votes = keep_table(patterns)
        if state.passes == 0:
            return votes.layout.sum_by_node(votes.counts[:, None])[:, 0], np.asarray(votes.counts.sum())
        if state.passes <= self._steps:
            items = _beliefs(state, votes)
            scale_rows(items, votes.counts)
            return votes.layout.sum_by_node(items), items.sum(0)
        assert state.evidence is not None  # there was a step
        return self._shares(state).sums(state.evidence, votes, state.own_class)

    def advance(self, state: Reading, sums: Sums) -> Reading | UnrolledState:
        """The state after a pass, complete after the last."""
        if state.passes == 0:
            state = self._find_nodes(state, *sums)
        elif state.passes <= self._steps:
            state = replace(state, evidence=self._step(state, *sums))
        else:
            state = replace(state, evidence=self._match_shares(state, sums))
        state = replace(state, passes=state.passes + 1)
        return self._complete(state) if state.passes == self.n_passes else state

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

    def _find_nodes(self, state: Reading, votes: Float64, items: Float64) -> Reading:
        """Which classes take part, which nodes occur, and what is known of them before any belief."""
        m, k = state.n_lfs, state.n_classes
        classes = self._find_classes(state, votes)
        node = np.flatnonzero(votes > 0)
        lf = node // k
        gold = np.zeros(m * k)
        if state.gold is not None:
            gold = keep_table(state.gold.patterns).layout.sum_by_node(state.gold.counts.sum(1)[:, None].astype(float))[:, 0]
        nodes = None
        if len(node) and len(classes) > 1:
            nodes = describe_nodes(
                NumpyBackend(),
                len(classes),
                m,
                lf=lf,
                vote=np.searchsorted(classes, node % k),
                of_set=np.zeros(len(node), np.intp),
                n=votes[node],
                items=items.reshape(1),
                voting=np.array([np.count_nonzero(find_first(lf))], np.float64),
                gold=gold[node],
            )
        return replace(state, votes=votes, classes=classes, nodes=nodes)

    def _find_classes(self, state: Reading, votes: Float64) -> NDArray[np.intp]:
        """The classes that somebody votes for, or that gold or the stated balance has; all, if these are not two."""
        seen = votes.reshape(state.n_lfs, state.n_classes).sum(0) > 0
        if state.gold is not None:
            seen |= state.gold.counts.any(0)
        if self.class_balance is not None:
            seen |= self.class_balance > 0
        return np.flatnonzero(seen) if seen.sum() > 1 else np.arange(state.n_classes)

    def _step(self, state: Reading, class_counts: Float64, class_totals: Float64) -> Evidence:
        """The evidence of the next step, from sums in which gold items count as believed."""
        assert state.classes is not None  # known after the first pass
        nodes, c = state.nodes, len(state.classes)
        table = np.zeros((len(class_counts), c))
        if nodes is None:
            return Evidence(table, np.zeros(c), 1.0, 0.0, 1.0, np.ones(c))
        if state.gold is not None:
            known = keep_table(state.gold.patterns)
            gold = state.gold.counts[:, state.classes]
            missed = gold - gold.sum(1, keepdims=True) * _beliefs(state, known)
            class_counts, class_totals = class_counts + known.layout.sum_by_node(missed), class_totals + missed.sum(0)
        number = nodes.lf * state.n_classes + state.classes[nodes.vote]
        linear = NumpyLinear(self.weights, state.passes - 1)
        scaled = class_counts[number] * nodes.scale
        step = advance(linear, nodes, scaled, nodes.scale * class_totals[None], last=state.passes == self._steps)
        table[number] = step.evidence
        return Evidence(
            table, step.bias[0], float(step.scale[0]), float(step.power[0]), float(step.gold_weight[0]), np.ones(c)
        )

    def _shares(self, state: Reading) -> Shares:
        """What is known of the classes that take part."""
        balance = None if self.class_balance is None else self.class_balance[state.classes]
        return Shares(balance, self.lf_accuracies)

    def _match_shares(self, state: Reading, sums: Sums) -> Evidence:
        assert state.evidence is not None and state.votes is not None  # there were steps
        cast = state.votes.reshape(state.n_lfs, state.n_classes).sum(1)
        return self._shares(state).match(state.evidence, sums, cast, state.own_class)

    def _complete(self, state: Reading) -> UnrolledState:
        evidence, votes = state.evidence, state.votes
        assert evidence is not None and votes is not None  # a network has at least one step
        if state.gold is not None:
            gold = state.gold.counts[:, state.classes].astype(np.float64)
            evidence = match_gold(evidence, keep_table(state.gold.patterns), gold)
        seen = np.isin(np.arange(state.n_classes), state.classes)
        return UnrolledState(complete(evidence, votes, seen), seen, state.gold)


def _with_votes(gold: Gold) -> Gold | None:
    """The gold of rows that have votes; None if there are none."""
    kept = np.flatnonzero(gold.patterns.has_votes & gold.counts.any(1))
    if len(kept) == len(gold.counts):
        return gold
    rows, counts = gold.patterns.rows.take(kept), gold.counts[kept]
    patterns = Patterns(
        rows.starts, rows.lf, rows.vote, counts.sum(1), gold.patterns.n_lfs, gold.patterns.n_classes
    )
    return Gold(patterns, counts) if len(kept) else None


def _beliefs(state: Reading, votes: VoteTable) -> Float64:
    """What the last pass makes believe of rows; before any step, shares of their votes. (r, c)."""
    return first_beliefs(votes, state.own_class) if state.evidence is None else state.evidence.beliefs(votes)
