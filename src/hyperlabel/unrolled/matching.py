"""Evidence matched to what is known of the items and the LFs: gold, a class balance, accuracies."""

from dataclasses import replace

import numpy as np

from hyperlabel.kernels import softmax
from hyperlabel.unrolled.ballots import Ballots, Evidence, Floats, logit

SHARE_ROUNDS, LEAST_SHARE = 10, 1e-3  # of `match_shares`: how often, and what shares below count as
# How gold is used, see `match_gold`; chosen with 20 to 1,000 gold labels on the public sets (docs/model-card.md).
GOLD_ROUNDS = 5
GOLD_PRIOR = 20.0  # imagined gold items of each class, all as expected, on which every node votes
GOLD_CAUTION = 40.0  # real patterns are less pure than synthetic ones: with little gold, beliefs count for more


def match_gold(evidence: Evidence, told: Ballots) -> Evidence:
    """The evidence, corrected until gold items have the classes that it expects.

    Iterative scaling: in each round a node's evidence for a class grows by the log of how many of the gold items on
    which the node votes are of that class, over how many are expected to be, shared among the votes of an item. So a
    gold item teaches about every item that shares a vote with it, not those of its own pattern alone.

    A class of few gold items counts for more, by the square root of its share, as its votes do in the own form: on
    rare classes the most probable label is hardly ever the one that is wanted.

    Args:
        evidence: Of the last step.
        told: The rows that have gold.
    """
    known = told.gold.sum(0)
    worth = 1 / np.sqrt(known + 1)
    worth *= known.sum() / (known @ worth)
    gold = told.gold * worth
    items, seen = gold.sum(1, keepdims=True), told.mass(gold)
    votes = (told.gold.sum(1) @ (evidence.factor(told)[:, 0] * told.size)) / known.sum()
    for _ in range(GOLD_ROUNDS):
        expected = told.mass(items * softmax(evidence.logits(told)))
        missed = np.log((seen + GOLD_PRIOR) / (expected + GOLD_PRIOR))
        missed -= missed.mean(1, keepdims=True)
        evidence = replace(evidence, table=evidence.table + missed / votes)
    caution = 1 + GOLD_CAUTION / np.sqrt(known.sum())
    return replace(evidence, gold_weight=evidence.gold_weight * caution, gold_worth=worth)


def match_shares(evidence: Evidence, ballots: Ballots, balance: Floats | None, accuracies: Floats | None) -> Evidence:
    """The evidence, corrected until the classes, and the right votes of LFs, have the shares that are known.

    Iterative scaling: in each round a class's bias grows by the log of its known over its expected share of the
    items, and the evidence of an LF's votes for their own class by the difference of the log-odds of its accuracy,
    shared among the votes of an item.

    Args:
        evidence: Of the last step.
        ballots: The rows.
        balance: (k,) share of each class among the items with votes; None if it is not known.
        accuracies: (m,) share of each LF's votes that are right, NaN where it is not known; None for no LF.
    """
    items = max(ballots.weight.sum(), 1e-9)
    votes = max(ballots.weight @ (evidence.factor(ballots)[:, 0] * ballots.size) / items, 1e-9)
    weight = ballots.weight[ballots.row]
    cast = _by_lf(ballots, weight)
    for _ in range(SHARE_ROUNDS):
        belief = softmax(evidence.logits(ballots))
        if balance is not None:
            missed = np.log(_bound(balance)) - np.log(_bound(ballots.weight @ belief / items))
            evidence = replace(evidence, bias=evidence.bias + missed)
        if accuracies is not None:
            known = (cast > 0) & ~np.isnan(accuracies)
            expected = _by_lf(ballots, weight * belief[ballots.row, ballots.vote]) / np.maximum(cast, 1e-9)
            missed = np.where(known, logit(_bound(accuracies)) - logit(_bound(expected)), 0)
            evidence = replace(evidence, table=evidence.table + _for_own_class(missed / votes, ballots.k))
    return evidence


def _by_lf(ballots: Ballots, values: Floats) -> Floats:
    """Sums over the votes of each LF. (e,) -> (m,)."""
    sums: Floats = ballots.by_node(values).reshape(ballots.m, ballots.k).sum(1)
    return sums


def _bound(shares: Floats) -> Floats:
    return np.clip(shares, LEAST_SHARE, 1 - LEAST_SHARE)


def _for_own_class(added: Floats, k: int) -> Floats:
    """A table that adds a number to the evidence of each LF's votes for their own class. (m,) -> (m * k, k)."""
    table: Floats = (added[:, None, None] * np.eye(k)).reshape(-1, k)
    return table
