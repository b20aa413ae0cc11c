"""Evidence matched to what is known about the items and the LFs: gold, a class balance, accuracies of LFs.

All by iterative scaling: in each round evidence grows by the log of what is known over what is expected.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64, scale_rows
from hyperlabel.networks.base import Sums
from hyperlabel.networks.unrolled.backend import logit
from hyperlabel.networks.unrolled.evidence import Evidence
from hyperlabel.networks.unrolled.votes import VoteTable

SHARE_ROUNDS = 10  # for known shares, each a pass over the data: on real sets little changes after these
LEAST_SHARE = 1e-3  # smaller shares count as this, so that no class and no LF is ruled out
LEAST_COUNT = 1e-9  # avoids division by zero where nobody votes

# How gold is used; chosen with 20 to 1,000 gold labels on the public sets (docs/model-card.md).
GOLD_ROUNDS = 5
GOLD_PRIOR = 25.0  # imagined gold items per class, all as expected: in the set, and among those a node votes on
GOLD_CAUTION = 100.0  # real patterns are less pure than synthetic ones: with little gold, beliefs count more
RARE_GOLD = 1.0  # imagined gold items of each class, so that a class without gold has a finite worth
RARE_WORTH = 0.75  # a class with few gold items counts more, by this power of its share


def match_gold(evidence: Evidence, votes: VoteTable, gold: NDArray[np.int64]) -> Evidence:
    """The evidence, corrected until gold items have the classes that it expects.

    In each round the bias of a class grows by the log of how many gold items are of that class over how many
    are expected to be, and then a node's evidence for a class by the same for the gold items on which the node votes,
    divided among the votes of an item. So a gold item teaches about every item, and most about those that share a vote
    with it, not only about those of its own pattern.

    A class with few gold items counts more, by a power of its share, like its votes in the own form: on rare classes
    the most probable label is rarely the desired one.

    Args:
        evidence: The evidence of the last step.
        votes: The rows that have gold.
        gold: (r, k) their gold items.
    """
    known = gold.sum(0)
    worth = (known + RARE_GOLD) ** -RARE_WORTH
    worth *= known.sum() / (known @ worth)
    weighted = gold * worth
    items, seen = weighted.sum(1, keepdims=True), votes.layout.sum_by_node(weighted)
    of_class = weighted.sum(0)
    votes_per_item = gold.sum(1) @ (evidence.factors(votes) * votes.size) / known.sum()
    for _ in range(GOLD_ROUNDS):
        missed = _missed(of_class, (items * evidence.beliefs(votes, np.float64)).sum(0))
        evidence = evidence._replace(bias=evidence.bias + missed)
        missed = _missed(seen, votes.layout.sum_by_node(items * evidence.beliefs(votes, np.float64)))
        evidence = evidence._replace(table=evidence.table + missed / votes_per_item)
    caution = 1 + GOLD_CAUTION / np.sqrt(known.sum())
    return evidence._replace(gold_weight=evidence.gold_weight * caution, gold_worth=worth)


def _missed(seen: Float64, expected: Float64) -> Float64:
    """The log of the gold items of each class over the expected number, minus the mean. (..., k)."""
    missed: Float64 = np.log((seen + GOLD_PRIOR) / (expected + GOLD_PRIOR))
    missed -= missed.mean(-1, keepdims=True)
    return missed


@dataclass(frozen=True, eq=False)
class Shares:
    """What is known about a set before it is read.

    Attributes:
        balance: (k,) share of each class among the items with votes; None if it is not known.
        accuracies: (m,) share of each LF's votes that are right, NaN where it is not known; None for no LF.
    """

    balance: Float64 | None
    accuracies: Float64 | None

    def sums(self, evidence: Evidence, votes: VoteTable) -> Sums:
        """What a round needs from a chunk of rows.

        -> (k,) items of each class, as expected; (m, k) right votes of each LF for each class, if accuracies are
        known; () what evidence is multiplied by, over all votes.
        """
        items = evidence.beliefs(votes, np.float64)
        scale_rows(items, votes.counts)
        right = np.zeros(0)
        if self.accuracies is not None:
            k = items.shape[1]
            right = votes.layout.sum_by_node(items).reshape(-1, k, k).diagonal(axis1=1, axis2=2)
        return items.sum(0), right, np.asarray(votes.counts @ (evidence.factors(votes) * votes.size))

    def match(self, evidence: Evidence, sums: Sums, votes: Float64) -> Evidence:
        """The evidence after a round: biases of classes and evidence of LFs for their own class, corrected.

        Args:
            evidence: The evidence before.
            sums: The sums of all rows.
            votes: (m * k,) items on which each node votes.
        """
        expected, right, factors = sums
        items = max(float(expected.sum()), LEAST_COUNT)
        if self.balance is not None:
            missed = np.log(_bound(self.balance)) - np.log(_bound(expected / items))
            evidence = evidence._replace(bias=evidence.bias + missed)
        if self.accuracies is not None:
            k = len(expected)
            cast = votes.reshape(-1, k).sum(1)
            known = (cast > 0) & ~np.isnan(self.accuracies)
            shares = right.sum(1) / np.maximum(cast, LEAST_COUNT)
            missed = np.where(known, logit(np, _bound(self.accuracies)) - logit(np, _bound(shares)), 0)
            missed /= max(float(factors) / items, LEAST_COUNT)
            added = (missed[:, None, None] * np.eye(k)).reshape(-1, k)
            evidence = evidence._replace(table=evidence.table + added)
        return evidence


def _bound(shares: Float64) -> Float64:
    return np.clip(shares, LEAST_SHARE, 1 - LEAST_SHARE)
