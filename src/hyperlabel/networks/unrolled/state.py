"""The complete state of a set: what a row needs to be judged, whatever it votes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64
from hyperlabel.networks.base import Gold
from hyperlabel.networks.unrolled.evidence import Evidence
from hyperlabel.networks.unrolled.votes import VoteTable
from hyperlabel.patterns import Patterns
from hyperlabel.votes.outcomes import Outcomes

PLAIN_VOTE = 1.0  # evidence of a vote for its class if the set had no votes at all: the majority wins


@dataclass(frozen=True, eq=False)
class UnrolledState:
    """What is kept from a set.

    Attributes:
        evidence: The evidence of votes for classes, for all nodes, including those that did not occur.
        gold: The vote rows of gold items.
    """

    evidence: Evidence
    gold: Gold | None

    def judge(self, patterns: Patterns, votes: VoteTable, beliefs: Float64 | None = None) -> Float64:
        """Probabilities of the classes, gold looked up; uniform where nobody votes. (p, k).

        Args:
            patterns: The patterns.
            votes: Their votes.
            beliefs: (r, k) what the evidence says about rows with votes, where it is known; changed.
        """
        if beliefs is None:
            beliefs = self.evidence.beliefs(votes, np.float64)
        self.evidence.mix_votes(beliefs, votes)
        if len(beliefs) < patterns.n_patterns:
            voted, beliefs = beliefs, np.full((patterns.n_patterns, beliefs.shape[1]), 1 / beliefs.shape[1])
            beliefs[votes.has_votes] = voted
        if self.gold is not None:
            self._look_up_gold(beliefs, patterns, self.gold)
        return beliefs

    def _look_up_gold(self, beliefs: Float64, patterns: Patterns, gold: Gold) -> None:
        """Mix the beliefs about rows that have gold with the gold, in place."""
        index = patterns.find(gold.patterns)
        known = np.flatnonzero(index >= 0)
        if len(known) == 0:
            return
        counts = gold.counts[index[known]] * self.evidence.gold_worth
        weight = self.evidence.gold_weight
        beliefs[known] = (weight * beliefs[known] + counts) / (weight + counts.sum(1, keepdims=True))

    def contributions(self, patterns: Patterns) -> Float64 | None:
        """What each vote adds to the logits of its row; None where shares of votes are mixed in. (e, k)."""
        if self.evidence.vote_weight:
            return None
        votes = VoteTable.from_patterns(patterns, rows_only=True)
        node = patterns.lf * patterns.n_codes + patterns.vote
        factors = self.evidence.factors(votes).repeat(votes.size)
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
            "vote_weight": np.array([evidence.vote_weight]),
        }
        return arrays if self.gold is None else arrays | self.gold.to_arrays()

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], outcomes: Outcomes | None = None) -> "UnrolledState":
        """The inverse of `to_arrays`."""
        scale, power, gold_weight = (float(arrays[name][0]) for name in ("scale", "power", "gold_weight"))
        vote_weight = float(arrays.get("vote_weight", [0.0])[0])  # files of before have none
        numbers = scale, power, gold_weight, arrays["gold_worth"], vote_weight
        evidence = Evidence(arrays["table"], arrays["bias"], *numbers)
        k = len(evidence.bias)
        if evidence.gold_worth.shape != (k,):
            raise ValueError(f"gold_worth has shape {evidence.gold_worth.shape}; expected one number for each class")
        m = len(evidence.table) // (k + (0 if outcomes is None else len(outcomes)))
        return cls(evidence, Gold.from_arrays(arrays, m, k, outcomes))


def complete(evidence: Evidence, votes: Float64) -> Evidence:
    """Evidence of all nodes, from that of the nodes that occur.

    A node that did not occur, since its LF was silent or never voted for that class, is worth what the votes for its
    class are on average. Votes for a class that nobody voted for are worth, for that class, what votes are for their
    own on average, and for the others what votes are for others on average. Without any votes at all, a vote is worth
    `PLAIN_VOTE` for its class.

    Args:
        evidence: The evidence of a set.
        votes: (m * k,) items on which each node votes.
    """
    absent = (votes == 0).nonzero()[0]
    if len(absent) == 0:
        return evidence
    table = evidence.table.copy()
    table[absent] = _average_votes(table, votes).take(absent % len(evidence.bias), axis=0)
    return evidence._replace(table=table)


def _average_votes(table: Float64, votes: Float64) -> Float64:
    """What a vote for each class is worth on average, for each class. (m * k, k), (m * k,) -> (k, k)."""
    k = table.shape[1]
    by_node = votes.reshape(-1, k)
    by_class = by_node.sum(0)
    sums: Float64 = np.einsum("mv,mvc->vc", by_node, table.reshape(-1, k, k))
    if not by_class.all():
        nobody, total, own = by_class == 0, by_class.sum(), sums.trace()
        others = (sums.sum() - own) / (max(total, 1) * max(k - 1, 1))
        sums[nobody] = np.where(np.eye(k)[nobody] > 0, own / total if total else PLAIN_VOTE, others)
    sums /= np.maximum(by_class, 1)[:, None]
    return sums
