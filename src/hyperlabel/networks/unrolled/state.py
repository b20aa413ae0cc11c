"""The complete state of a set: what a row needs to be judged, whatever it votes."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64, softmax
from hyperlabel.networks.base import Gold
from hyperlabel.networks.unrolled.evidence import Evidence
from hyperlabel.networks.unrolled.votes import VoteTable, find_table
from hyperlabel.patterns import Patterns

NEXT_TO_NOTHING = 1e-9  # probability of a class that nobody voted for in the set, over that of the best, on a row
PLAIN_VOTE = 1.0  # evidence of a vote for its class where the set had no votes at all: the majority wins


@dataclass(frozen=True, eq=False)
class UnrolledState:
    """What is kept of a set.

    Attributes:
        evidence: Of votes for classes, for all nodes and classes, those that did not occur included.
        seen: (k,) classes that took part: that somebody votes for, or that gold or a stated balance has.
        gold: The vote rows of gold items.
    """

    evidence: Evidence
    seen: NDArray[np.bool_]
    gold: Gold | None

    def probabilities(self, patterns: Patterns) -> Float64:
        """Probabilities of the classes, gold looked up; uniform where nobody votes. (p, k)."""
        votes = find_table(patterns)
        logits = self.evidence.logits(votes)
        if not self.seen.all():
            self._rule_out_unseen(logits, votes)
        found = softmax(logits, out=logits)
        if not votes.has_votes.all():
            found = np.full((patterns.n_patterns, len(self.seen)), 1 / len(self.seen))
            found[votes.has_votes] = logits
        if self.gold is not None:
            self._look_up_gold(found, patterns, self.gold)
        return found

    def _rule_out_unseen(self, logits: Float64, votes: VoteTable) -> None:
        """Leave classes that did not take part next to nothing, on rows where nobody votes for them; in place."""
        k = len(self.seen)
        unseen = np.flatnonzero(~self.seen)
        voted = votes.layout.sum_by_row(np.tile(np.eye(k)[:, unseen], (len(self.evidence.table) // k, 1)))
        least = logits[:, self.seen].max(1, keepdims=True) + np.log(NEXT_TO_NOTHING)
        logits[:, unseen] = np.where(voted > 0, logits[:, unseen], least)

    def _look_up_gold(self, probabilities: Float64, patterns: Patterns, gold: Gold) -> None:
        """Mix the beliefs in rows that have gold with it; in place."""
        index = patterns.find(gold.patterns)
        known = np.flatnonzero(index >= 0)
        counts = gold.counts[index[known]] * self.evidence.gold_worth
        weight = self.evidence.gold_weight
        probabilities[known] = (weight * probabilities[known] + counts) / (weight + counts.sum(1, keepdims=True))

    def contributions(self, patterns: Patterns) -> Float64:
        """What each vote adds to the logits of its row. (e, k)."""
        votes = find_table(patterns)
        node = patterns.lf * len(self.seen) + patterns.vote
        factors = np.repeat(self.evidence.factors(votes), votes.size)
        added: Float64 = self.evidence.table.take(node, axis=0) * factors[:, None]
        return added

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """As named arrays."""
        evidence = self.evidence
        arrays = {
            "table": evidence.table,
            "bias": evidence.bias,
            "scale": np.array([evidence.scale]),
            "power": np.array([evidence.power]),
            "gold_weight": np.array([evidence.gold_weight]),
            "gold_worth": evidence.gold_worth,
            "seen": self.seen,
        }
        if self.gold is None:
            return arrays
        rows = self.gold.patterns
        return arrays | {
            "gold.starts": rows.starts,
            "gold.lf": rows.lf,
            "gold.vote": rows.vote,
            "gold.counts": self.gold.counts,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> "UnrolledState":
        """The inverse of `to_arrays`."""
        scale, power, gold_weight = (float(arrays[name][0]) for name in ("scale", "power", "gold_weight"))
        evidence = Evidence(arrays["table"], arrays["bias"], scale, power, gold_weight, arrays["gold_worth"])
        gold = None
        if "gold.counts" in arrays:
            k, counts = len(evidence.bias), arrays["gold.counts"]
            rows = (arrays[f"gold.{name}"] for name in ("starts", "lf", "vote"))
            gold = Gold(Patterns(*rows, counts.sum(1), len(evidence.table) // k, k), counts)
        return cls(evidence, arrays["seen"], gold)


def complete(evidence: Evidence, votes: Float64, seen: NDArray[np.bool_]) -> Evidence:
    """Evidence of all nodes for all classes, from that of the nodes that occur for the classes that take part.

    A node that did not occur, since its LF was silent or never voted for that class, is worth what the votes for its
    class are on average. Votes for a class that nobody voted for are worth, for that class, what votes are for their
    own on average, and for the others what votes are for others on average. Without any votes at all, a vote is worth
    `PLAIN_VOTE` for its class.

    Args:
        evidence: `table` (m * k, c), `bias` (c,) and `gold_worth` (c,) of c classes.
        votes: (m * k,) of each node.
        seen: (k,) which classes these are.
    """
    if not seen.all():
        evidence = _widen_all(evidence, seen)
    absent = np.flatnonzero(votes == 0)
    if len(absent) == 0:
        return evidence
    table = evidence.table.copy()
    table[absent] = _average_votes(table, votes).take(absent % len(seen), axis=0)
    return replace(evidence, table=table)


def _widen_all(evidence: Evidence, seen: NDArray[np.bool_]) -> Evidence:
    """Evidence for all classes: for one that does not take part a vote says what it says for others on average."""
    table, bias = _widen(evidence.table, seen), _widen(evidence.bias, seen, evidence.bias.mean())
    _, others = _own_and_others(table, int(seen.sum()))
    table[:, ~seen] = others[:, None]
    return replace(evidence, table=table, bias=bias, gold_worth=_widen(evidence.gold_worth, seen, 1.0))


def _own_and_others(table: Float64, c: int) -> tuple[Float64, Float64]:
    """What each node says for its own class, and for each of the c - 1 others on average. (m * k,), (m * k,)."""
    node = np.arange(len(table))
    own: Float64 = table[node, node % table.shape[1]]
    return own, (table.sum(1) - own) / max(c - 1, 1)


def _widen(values: Float64, seen: NDArray[np.bool_], default: float = 0.0) -> Float64:
    """Values of all classes from those of the classes that take part. (..., c) -> (..., k)."""
    wide = np.full((*values.shape[:-1], len(seen)), default)
    wide[..., seen] = values
    return wide


def _average_votes(table: Float64, votes: Float64) -> Float64:
    """What a vote for each class is worth on average, for each class. (m * k, k), (m * k,) -> (k, k)."""
    k, by_node = table.shape[1], votes.reshape(-1, table.shape[1])
    by_class = by_node.sum(0)
    average: Float64 = np.einsum("mv,mvc->vc", by_node, table.reshape(-1, k, k))
    average /= np.maximum(by_class, 1)[:, None]
    if not by_class.all():
        total = by_class.sum()
        own, others = (votes @ said / total if total else 0.0 for said in _own_and_others(table, k))
        average[by_class == 0] = np.where(np.eye(k)[by_class == 0] > 0, own if total else PLAIN_VOTE, others)
    return average
