"""Evidence matched to what is known about the items and the LFs: gold, a class balance, accuracies, agreement of votes.

Gold and known shares by iterative scaling: in each round evidence grows by the log of what is known over what is
expected.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Floats, scale_rows
from hyperlabel.networks._backend import logit
from hyperlabel.networks._base import Sums
from hyperlabel.networks._votes import Evidence, VoteTable, own_classes

SHARE_ROUNDS = 10  # for known shares, each a pass over the data: on real sets little changes after these
LEAST_SHARE = 1e-3  # smaller shares count as this, so that no class and no LF is ruled out
LEAST_COUNT = 1e-9  # avoids division by zero where nobody votes

# How gold is used; chosen with 20 to 1,000 gold labels on the public sets (docs/model-card.md).
GOLD_ROUNDS = 5
GOLD_PRIOR = 25.0  # imagined gold items per class, all as expected: in the set, and among those a node votes on
GOLD_CAUTION = 100.0  # real patterns are less pure than synthetic ones: with little gold, beliefs count more
RARE_GOLD = 1.0  # imagined gold items of each class, so that a class without gold has a finite worth
RARE_WORTH = 0.75  # a class with few gold items counts more, by this power of its share

JUDGES = 0.5  # from this trust in confusions on, LFs are judges
ONE_ITEM = 1.0  # imagined; its votes agree by chance


def match_gold(evidence: Evidence, votes: VoteTable, gold: NDArray[np.int64]) -> Evidence:
    """Return the evidence, corrected until gold items have the classes that it expects.

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
    of_class = gold.sum(0)
    worth = (of_class + RARE_GOLD) ** -RARE_WORTH
    worth *= of_class.sum() / (of_class @ worth)
    weighted = gold * worth
    items, of_node = weighted.sum(1, keepdims=True), votes.layout.sum_by_node(weighted)
    votes_per_item = gold.sum(1) @ (evidence.factors(votes) * votes.size) / of_class.sum()
    for _ in range(GOLD_ROUNDS):
        missing = _log_ratio(weighted.sum(0), (items * evidence.beliefs(votes, np.float64)).sum(0))
        evidence = evidence._replace(bias=evidence.bias + missing)
        missing = _log_ratio(of_node, votes.layout.sum_by_node(items * evidence.beliefs(votes, np.float64)))
        evidence = evidence._replace(table=evidence.table + missing / votes_per_item)
    caution = 1 + GOLD_CAUTION / np.sqrt(of_class.sum())
    return evidence._replace(gold_weight=evidence.gold_weight * caution, gold_worth=worth)


def _log_ratio(counts: Float64, expected: Float64) -> Float64:
    """Return the log of the gold items of each class over the expected number, minus the mean. (..., k)."""
    ratio: Float64 = np.log((counts + GOLD_PRIOR) / (expected + GOLD_PRIOR))
    ratio -= ratio.mean(-1, keepdims=True)
    return ratio


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares that are known before a set is read."""

    balance: Float64 | None  # (k,) of each class among the items with votes; None if it is not known
    accuracies: Float64 | None  # (m,) of each LF's right votes, NaN where it is not known; None for no LF

    def sums(self, evidence: Evidence, votes: VoteTable) -> Sums:
        """Return what a round needs from a chunk of rows.

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

    def match(self, evidence: Evidence, sums: Sums, cast: Float64) -> Evidence:
        """Return the evidence after a round: biases of classes and evidence of LFs for their own class, corrected.

        Args:
            evidence: The evidence before.
            sums: The sums of all rows.
            cast: (m * k,) items on which each node votes.
        """
        expected, right, factors = sums
        items = max(float(expected.sum()), LEAST_COUNT)
        if self.balance is not None:
            missing = np.log(_bound(self.balance)) - np.log(_bound(expected / items))
            evidence = evidence._replace(bias=evidence.bias + missing)
        if self.accuracies is not None:
            k = len(expected)
            of_lf = cast.reshape(-1, k).sum(1)
            known = (of_lf > 0) & ~np.isnan(self.accuracies)
            shares = right.sum(1) / np.maximum(of_lf, LEAST_COUNT)
            missing = np.where(known, logit(np, _bound(self.accuracies)) - logit(np, _bound(shares)), 0)
            missing /= max(float(factors) / items, LEAST_COUNT)
            added = (missing[:, None, None] * np.eye(k)).reshape(-1, k)
            evidence = evidence._replace(table=evidence.table + added)
        return evidence


def _bound(shares: Float64) -> Float64:
    return np.clip(shares, LEAST_SHARE, 1 - LEAST_SHARE)


def count_agreement(votes: VoteTable, beliefs: Floats, m: int) -> Float64:
    """Count how often votes agree, with each other and with what is believed, as sums over items. (6,).

    All votes; those that are right; those for the class of a random vote on the item, which may be the vote itself; of
    the items with several votes, the votes, those for the class of a random other vote, and the items.

    Args:
        votes: The rows.
        beliefs: (r, k) about them.
        m: Number of LFs.
    """
    size, several = votes.size, votes.size > 1
    right, same = np.empty(len(size)), np.empty(len(size))
    for block, counts in votes.layout.sum_by_row(own_classes(m, beliefs.shape[1])):
        right[block] = np.einsum("rk,rk->r", counts, beliefs[block])
        same[block] = np.einsum("rk,rk->r", counts, counts)
    other = (same - size) / np.maximum(size - 1, 1)
    return np.stack([size, right, same / size, several * size, other, several]) @ votes.counts


def find_vote_weight(sums: Float64, gold: Float64 | None, scale: float, k: int) -> float:
    """Return how much shares of votes have to count in probabilities, so that votes are right as often as they agree.

    Votes agree with the truth at least as often as with each other, if the truth is no worse than one more vote would
    be. Beliefs by which votes are right less often than that have gone astray: where judges err together, a class that
    hardly anybody votes for may explain all hard items. By shares of votes as probabilities, votes are right more often
    than they agree. So these are mixed in, just enough that votes are right as often as they agree, or less if gold
    says so. This is asked of judges alone, LFs whose confusions are trusted: rules that vote on the same items agree
    whether they are right or not.

    Args:
        sums: (6,) of `count_agreement`, of all items.
        gold: The same of gold items, whose classes are known; None if there are none.
        scale: The factor of counts of items.
        k: Number of classes.
    """
    votes, right, same, of_several, agreed, several = sums.tolist()
    if not several:
        return 0.0
    items = scale * several
    least = (items * agreed / of_several + ONE_ITEM / k) / (items + ONE_ITEM)
    if gold is not None:
        known = float(gold[1] / gold[0])
        least = min(least, (GOLD_PRIOR * least + gold[5] * known) / (GOLD_PRIOR + gold[5]))
    missing = least - right / votes
    return float(missing / (missing + same / votes - least)) if missing > 0 else 0.0
