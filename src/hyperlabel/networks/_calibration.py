"""Evidence matched to what is known about the items and the LFs: gold, a class balance, accuracies, agreement of votes.

Gold and known shares by iterative scaling: in each round evidence grows by the log of what is known over what is
expected.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Floats, scale_rows
from hyperlabel.networks._backend import logit
from hyperlabel.networks._base import Sums
from hyperlabel.networks._votes import Evidence, VoteTable, own_classes

SHARE_ROUNDS = 10  # for known shares, each a pass over the data: on real sets little changes after these
BALANCE_TRUST = 0.2  # of the log shares among items with votes, how much is as stated and not as votes say
BALANCE_SLACK = (1 - BALANCE_TRUST) / 2  # how far a class may exceed the share that all its items would have
BOUND_ROUNDS = 5
LEAST_SHARE = 1e-3  # smaller shares count as this, so that no class and no LF is ruled out
LEAST_COUNT = 1e-9  # avoids division by zero where nobody votes

# How gold is used: GOLD_PRIOR and GOLD_CHANCE were chosen on synthetic sets (training/hlm3), the others with 20 to
# 1,000 gold labels on the public sets (docs/model-card.md).
GOLD_ROUNDS = 5
GOLD_PRIOR = 5.0  # imagined gold items per class, all as expected: in the set, and among those a node votes on
GOLD_CAUTION = 100.0  # real patterns are less pure than synthetic ones: with little gold, beliefs count more
GOLD_CHANCE = 1.0  # standard deviations by which counts of gold differ from expected ones by chance
RARE_GOLD = 1.0  # imagined gold items of each class, so that a class without gold has a finite worth
RARE_WORTH = 0.75  # a class with few gold items counts more, by this power of its share

JUDGES = 0.5  # from this trust in confusions on, LFs are judges
ONE_ITEM = 1.0  # imagined; its votes agree by chance
JUDGED_ITEMS = 25.0  # imagined gold items, on which votes are right as often as they agree


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
    squares = (gold * worth**2).sum(1, keepdims=True)
    for _ in range(GOLD_ROUNDS):
        expected, variance = _expect(evidence, votes, items, squares)
        missing = _log_ratio(weighted.sum(0), expected.sum(0), variance.sum(0))
        evidence = evidence._replace(bias=evidence.bias + missing)
        expected, variance = map(votes.layout.sum_by_node, _expect(evidence, votes, items, squares))
        evidence = evidence._replace(table=evidence.table + _log_ratio(of_node, expected, variance) / votes_per_item)
    caution = 1 + GOLD_CAUTION / np.sqrt(of_class.sum())
    return evidence._replace(gold_weight=evidence.gold_weight * caution, gold_worth=worth)


def _expect(evidence: Evidence, votes: VoteTable, items: Float64, squares: Float64) -> tuple[Float64, Float64]:
    """Return the weighted gold items of each row that are expected to be of each class, and their variance. (r, k)."""
    beliefs = evidence.beliefs(votes, np.float64)
    return items * beliefs, squares * beliefs * (1 - beliefs)


def _log_ratio(counts: Float64, expected: Float64, variance: Float64) -> Float64:
    """Return the log of the gold items of each class over the expected number, minus the mean. (..., k).

    Counts are taken as close to the expected number as chance allows, so that few gold items teach little.
    """
    surprise = counts - expected
    surprise = np.sign(surprise) * np.maximum(np.abs(surprise) - GOLD_CHANCE * np.sqrt(variance), 0)
    ratio: Float64 = np.log1p(surprise / (expected + GOLD_PRIOR))
    ratio -= ratio.mean(-1, keepdims=True)
    return ratio


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares that are known before a set is read."""

    balance: Float64 | None  # (k,) of each class among all items; None if it is not known
    accuracies: Float64 | None  # (m,) of each LF's right votes, NaN where it is not known; None for no LF


class ShareRounds(NamedTuple):
    """Evidence that is matched to known shares, round by round.

    A stated balance is that of all items. How it is spread over the items with votes is not known: LFs may find one
    class more easily than another. So it is a prior, not a constraint: see `find_target`.
    """

    shares: Shares
    evidence: Evidence
    cast: Float64  # (m, k) how often each LF casts each vote
    target: Float64 | None = None  # (k,) shares of the classes among the items with votes; None before the first round
    rounds: int = 0  # rounds done

    def sums(self, votes: VoteTable, items: float) -> Sums:
        """Return what a round needs from a chunk of rows, and how many items the chunk has with those without votes.

        -> (k,) items of each class, as expected; (m, k) right votes of each LF for each class, if accuracies are
        known; () what evidence is multiplied by, over all votes; () all items.
        """
        believed, right = self.evidence.beliefs(votes, np.float64), np.zeros(0)
        scale_rows(believed, votes.counts)
        if self.shares.accuracies is not None:
            k = believed.shape[1]
            right = votes.layout.sum_by_node(believed).reshape(-1, k, k).diagonal(axis1=1, axis2=2)
        factors = votes.counts @ (self.evidence.factors(votes) * votes.size)
        return believed.sum(0), right, np.asarray(factors), np.asarray(items)

    def advance(self, sums: Sums) -> "ShareRounds":
        """Return the state after a round: biases of classes and evidence of LFs for their own class, corrected."""
        expected, right, factors, all_items = sums
        items = max(float(expected.sum()), LEAST_COUNT)
        evidence, target, k = self.evidence, self.target, len(expected)
        if self.shares.balance is not None:
            if target is None:
                target = find_target(self.shares.balance, expected / items, items / max(float(all_items), items))
            evidence = evidence._replace(bias=evidence.bias + np.log(target) - np.log(_bound(expected / items)))
        if self.shares.accuracies is not None:
            missing = self._missing_right(self.shares.accuracies, right) / max(float(factors) / items, LEAST_COUNT)
            added = (missing[:, None, None] * np.eye(k)).reshape(-1, k)
            evidence = evidence._replace(table=evidence.table + added)
        return self._replace(evidence=evidence, target=target, rounds=self.rounds + 1)

    def _missing_right(self, accuracies: Float64, right: Float64) -> Float64:
        """Return the log-odds that are missing to known accuracies, 0 for LFs that do not vote. (m,)."""
        of_lf = self.cast.sum(1)
        known = (of_lf > 0) & ~np.isnan(accuracies)
        shares = right.sum(1) / np.maximum(of_lf, LEAST_COUNT)
        return np.where(known, logit(np, _bound(accuracies)) - logit(np, _bound(shares)), 0)


def find_target(stated: Float64, expected: Float64, covered: float) -> Float64:
    """Return the shares of the classes among the items with votes that are aimed at. (k,).

    They lie between what the votes say and what is stated about all items, by the trust in the statement, and no class
    has many more items with votes than it has items.

    Args:
        stated: (k,) shares among all items.
        expected: (k,) shares among the items with votes, as the votes say.
        covered: The share of the items that have votes.
    """
    stated = _bound(stated) / _bound(stated).sum()
    target: Float64 = _bound(expected) ** (1 - BALANCE_TRUST) * stated**BALANCE_TRUST
    most = stated / covered + BALANCE_SLACK
    for _ in range(BOUND_ROUNDS):
        target = np.minimum(target / target.sum(), most)
    target /= target.sum()
    return target


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
        least = min(least, (JUDGED_ITEMS * least + gold[5] * known) / (JUDGED_ITEMS + gold[5]))
    missing = least - right / votes
    return float(missing / (missing + same / votes - least)) if missing > 0 else 0.0
