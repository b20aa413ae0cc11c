"""Temporary bridge to the old package."""

from dataclasses import dataclass, fields
from typing import Any
import numpy as np
from hyperlabel import unrolled as old
from hyperlabel.networks.base import Gold
from hyperlabel.patterns import Patterns


@dataclass(frozen=True)
class StepState:
    k: int
    step: int = 0
    nodes: Any = None
    evidence: Any = None
    gold: Gold | None = None


@dataclass(frozen=True)
class UnrolledNetwork:
    weights: Any
    balance: Any = None
    accuracies: Any = None

    @property
    def n_passes(self):
        return int(self.weights.header["steps"])

    def start(self, n_lfs, n_classes, gold):
        return StepState(n_classes, gold=gold)

    def sums(self, patterns, state):
        ballots = old.Ballots.from_patterns(patterns)
        beliefs = old.believe(ballots, state.evidence)
        sums = (beliefs.mass, beliefs.balance)
        if state.nodes is not None:
            return sums
        counts = old.count(ballots)
        return (*sums, *(np.asarray(getattr(counts, f.name)) for f in fields(counts)))

    def advance(self, state, sums):
        mass, balance, *counted = sums
        nodes = state.nodes
        if nodes is None:
            n, gold, items, distinct = counted
            nodes = old.find_nodes(old.Counts(n, gold, float(items), float(distinct)), state.k)
        evidence = old.advance(self.weights, state.step, nodes, old.Beliefs(mass, balance))
        return StepState(state.k, state.step + 1, nodes, evidence, state.gold)

    def read_at_once(self, patterns, gold):
        counts = None
        if gold is not None:
            place = patterns.find(gold.patterns)
            counts = np.where((place >= 0)[:, None], gold.counts[place], 0)
        ballots = old.Ballots.from_patterns(patterns, counts)
        evidence = old.forward(self.weights, ballots)
        if self.balance is not None or self.accuracies is not None:
            evidence = old.match_shares(evidence, ballots, self.balance, self.accuracies)
        if gold is not None:
            evidence = old.match_gold(evidence, old.Ballots.from_patterns(gold.patterns, gold.counts))
        state = StepState(patterns.n_classes, 9, None, evidence, gold)
        return state, self.probabilities(patterns, state)

    def _ballots(self, patterns, state):
        counts = None
        if state.gold is not None:
            place = patterns.find(state.gold.patterns)
            counts = np.where((place >= 0)[:, None], state.gold.counts[place], 0)
        return old.Ballots.from_patterns(patterns, counts)

    def probabilities(self, patterns, state):
        return old.to_probabilities(state.evidence, self._ballots(patterns, state))

    def contributions(self, patterns, state):
        return state.evidence.contributions(old.Ballots.from_patterns(patterns))

    def to_arrays(self, state):
        e, k = state.evidence, state.k
        out = {
            "table": e.table,
            "bias": e.bias,
            "numbers": np.array([e.scale, e.power, e.gold_weight]),
            "gold_worth": np.broadcast_to(e.gold_worth, (k,)).copy(),
        }
        if state.gold is not None:
            g = state.gold
            out |= {
                "gold.starts": g.patterns.starts,
                "gold.lf": g.patterns.lf,
                "gold.vote": g.patterns.vote,
                "gold.counts": g.counts,
            }
        return out

    def from_arrays(self, arrays):
        k = len(arrays["bias"])
        s, p, w = arrays["numbers"].tolist()
        e = old.Evidence(arrays["table"], arrays["bias"], s, p, w, arrays["gold_worth"])
        gold = None
        if "gold.starts" in arrays:
            c = arrays["gold.counts"]
            gold = Gold(
                Patterns(arrays["gold.starts"], arrays["gold.lf"], arrays["gold.vote"], c.sum(1), len(e.table) // k, k),
                c,
            )
        return StepState(k, 9, None, e, gold)
