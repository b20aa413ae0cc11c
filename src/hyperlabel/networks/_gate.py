"""The learned choice of hlm3 between its readings of a set: how agreement looks, and what it is worth.

A small network sees sizes, how much pairs agree beyond what the EM explains, how far the readings differ, and how they
fare on gold. It gives each LF its shares of the readings and each reading a temperature. The result is one table of
evidence. A share is a sigmoid that is stretched, so that a reading that is not trusted has no share at all.
"""

import math
from typing import NamedTuple

import numpy as np

from hyperlabel._core import Float64, sigmoid
from hyperlabel.networks._backend import apply_layer, silu
from hyperlabel.networks._base import Gold, Sums
from hyperlabel.networks._em import EM, GoldReading, level_of
from hyperlabel.networks._pairs import Pairs
from hyperlabel.networks._steps import FULL_SPREAD
from hyperlabel.networks._votes import Evidence, VoteTable, own_classes
from hyperlabel.networks._weights import Weights

STRETCH = 1.3  # of the sigmoid of a share
LOG_HEAT = -4.0, 1.5  # least and largest log temperature
LEAST_CHANCE = 1e-3  # of a gold item's class, in log-likelihoods
GOLD_ITEMS = 5.0  # imagined gold items, about which nothing is known
MOST_FEATURE = 8.0

ENOUGH_JOINT = 20.0  # joint items at which a pair counts half
MOST_MISFIT = 1e4


class FirstReading(NamedTuple):
    """The evidence of hlm2, and what it comes from."""

    evidence: Evidence  # of all nodes
    gold: Gold | None  # the vote rows of gold items
    cast: Float64  # (m, k) how often each LF casts each vote
    items: float  # items with votes

    @property
    def votes_per_item(self) -> float:
        """The mean number of votes of an item with votes."""
        return float(self.cast.sum()) / self.items


class Dependence(NamedTuple):
    """Agreement of pairs, and what it says."""

    pairs: Pairs
    level: Float64  # (q,) of the LFs
    dependence: Float64  # (q, q) how far each two LFs agree beyond the truth
    weight: Float64  # (q,) what a vote counts


class ReadingSums(NamedTuple):
    """Sums over items that compare the EM and hlm2 with each other and with majority vote."""

    shares: Float64  # (2, k) believed items of each class, by the EM and by hlm2
    confidence: Float64  # (2,) sums of the largest beliefs
    right: Float64  # (2,) votes that are right, as believed
    differ: Float64  # (3,) items on which EM and hlm2, EM and majority, hlm2 and majority differ
    agreed: Float64  # (2,) votes that agree with another vote on the item, and votes on such items
    variance: Float64  # (1,) of the EM's evidence within classes, over items
    counts: Float64  # (m * k, k) believed items of each class with each vote, by hlm2


def find_spread(cast: Float64) -> Float64:
    """Return how far each LF votes for several classes, 0 to 1, from (m, k) how often it casts each vote. (m,)."""
    share = cast.max(1) / np.maximum(cast.sum(1), 1)
    spread: Float64 = np.clip((1 - share) / FULL_SPREAD, 0, 1)
    return spread


def em_residuals(em: EM) -> Float64:
    """Return the EM's evidence of a vote, minus its mean over the votes of its LF on items of each class. (m, k, k)."""
    assert em.counts is not None
    k = len(em.bias)
    table, counts = em.table.reshape(-1, k, k), em.counts.reshape(-1, k, k)
    residuals: Float64 = table - ((counts * table).sum(1) / np.maximum(counts.sum(1), 1e-9))[:, None]
    return residuals


def compare(votes: VoteTable, em: EM, evidence: Evidence) -> Sums:
    """Return the sums of a `ReadingSums` over rows."""
    k, w, size = len(em.bias), votes.counts, votes.size
    by_em, by_first = em.evidence.beliefs(votes, np.float64), evidence.judge(votes)
    own = np.concatenate([own_classes(len(em.weight), k), em_residuals(em).reshape(-1, k)], 1)
    by_row = votes.sum_by_row(own)
    cast, residuals = by_row[:, :k], by_row[:, k:]
    label, first_label, rows = by_em.argmax(1), by_first.argmax(1), np.arange(len(size))
    majority = cast == cast.max(1, keepdims=True)
    majority = majority / majority.sum(1, keepdims=True)  # of classes that tie, each has a part
    several = w * (size > 1)
    agreed = ((cast**2).sum(1) - size) / np.maximum(size - 1, 1)
    differ = label != first_label, 1 - majority[rows, label], 1 - majority[rows, first_label]
    return (
        np.stack([w @ by_em, w @ by_first]),
        np.array([w @ by_em.max(1), w @ by_first.max(1)]),
        np.array([w @ (cast * by_em).sum(1), w @ (cast * by_first).sum(1)]),
        np.array([w @ each for each in differ]),
        np.array([several @ agreed, several @ size]),
        np.array([w @ (by_em * residuals**2).sum(1)]),
        votes.layout.sum_by_node(by_first * w[:, None]),
    )


class GateFeatures(NamedTuple):
    """What the gate sees, all of the order of 1."""

    of_set: Float64  # (SET_FEATURES,)
    of_lf: Float64  # (m, LF_FEATURES) of the LFs that vote


def describe(
    first: FirstReading, found: Dependence, em: EM, seen: ReadingSums, gold: GoldReading | None
) -> GateFeatures:
    """Return what the gate sees."""
    assert em.confusions is not None
    k, voting = len(em.bias), np.flatnonzero(first.cast.sum(1))
    cast = first.cast[voting]
    em_level = level_of(em.confusions.accuracy[voting], k)
    misfit = _find_misfit(found, em)
    weight = np.ones(len(cast))
    level = np.full(len(cast), np.median(found.level))
    paired = np.searchsorted(voting, found.pairs.lfs)
    weight[paired], level[paired] = found.weight, found.level
    of_set = [
        *_describe_sizes(cast, first.items),
        *misfit.of_set,
        *_describe_levels(em_level, cast.sum(1), weight),
        *_describe_beliefs(cast, first, seen, em),
        *_describe_gold(first, em, gold),
    ]
    of_pairs = np.zeros((len(cast), 4))
    of_pairs[paired] = misfit.of_lf
    of_lf = np.stack(
        _describe_lfs(cast, first.items, seen.counts.reshape(-1, k, k)[voting], weight, em_level, level), 1
    )
    of_gold = np.zeros((len(cast), 2))
    if gold is not None:
        of_gold = _describe_gold_votes(gold.counts.reshape(-1, k, k)[voting], em.confusions.accuracy[voting])
    every = np.concatenate([of_lf, of_pairs, of_gold], 1)
    return GateFeatures(np.clip(of_set, -MOST_FEATURE, MOST_FEATURE), np.clip(every, -MOST_FEATURE, MOST_FEATURE))


def _describe_sizes(cast: Float64, items: float) -> list[float]:
    (m, k), of_lf = cast.shape, cast.sum(1)
    total = of_lf.sum()
    return [
        (math.log(items) - 6) / 2,
        (math.log(m) - 2.5) / 1.5,
        math.log(k) - 1,
        math.log(total / items) - 1,
        total / (items * m) - 0.5,
        float(find_spread(cast) @ of_lf) / total - 0.5,
    ]


class Misfit(NamedTuple):
    """Agreement of pairs beyond what the EM's confusions explain."""

    of_set: list[float]
    of_lf: Float64  # (q, 4)


def _find_misfit(found: Dependence, em: EM) -> Misfit:
    pairs, confusions = found.pairs, em.confusions
    assert confusions is not None
    q = len(pairs.lfs)
    chances = (confusions.chance[pairs.lfs] * np.exp(0.5 * em.bias)).reshape(q, -1)
    expected = chances @ chances.T
    noise = np.maximum(expected * (1 - expected), 0.01) / (pairs.joint + 1)
    excess = pairs.agree - expected
    weight = pairs.informed * pairs.joint / (pairs.joint + ENOUGH_JOINT)
    weight.flat[:: q + 1] = 0
    misfit = np.minimum(excess**2 / noise, MOST_MISFIT)
    beyond = _mean(excess**2 - noise, weight)
    kappa = _mean(pairs.kappa, weight)
    of_set = [
        math.log1p(_mean(misfit, weight)) - 1,
        10 * _mean(excess, weight),
        20 * math.copysign(math.sqrt(abs(beyond)), beyond),
        math.log1p(float(misfit[weight > 0].max(initial=0))) / 3 - 1,
        4 * _mean(found.dependence, weight) - 0.5,
        (math.log1p(_mean(pairs.joint, pairs.informed)) - 5) / 2,
        2 * kappa - 0.6,
        5 * math.sqrt(max(_mean((pairs.kappa - kappa) ** 2, weight), 0)) - 0.5,
    ]
    excess, misfit, dependence, kappas = (
        (weight * x).sum(1) / (weight.sum(1) + 1e-9) for x in (excess, misfit, found.dependence, pairs.kappa)
    )
    of_lf = [10 * excess, np.log1p(misfit) - 1, 4 * dependence - 0.5, 2 * kappas - 0.6]
    return Misfit(of_set, np.stack(of_lf, 1))


def _mean(values: Float64, weight: Float64) -> float:
    return float((values * weight).sum() / max(float(weight.sum()), 1e-9))


def _describe_levels(level: Float64, of_lf: Float64, weight: Float64) -> list[float]:
    rank = np.sort(level)
    return [
        3 * _mean(level, np.sqrt(of_lf)) - 1,
        3 * float(level.std()) - 0.5,
        rank[-1] - 0.7,
        rank[-2] - 0.6,
        rank[0],
        float((rank < 0.02).mean()),
        _mean(weight, of_lf) - 0.9,
    ]


def _describe_beliefs(cast: Float64, first: FirstReading, seen: ReadingSums, em: EM) -> list[float]:
    assert em.counts is not None
    items, total = first.items, float(cast.sum())
    shares, differ, confidence = seen.shares / items, seen.differ / items, seen.confidence / items
    agreed = seen.agreed[0] / max(float(seen.agreed[1]), 1e-9)
    of_votes = float((em.counts * em_residuals(em).reshape(em.counts.shape) ** 2).sum())
    return [
        *(confidence - 0.8),
        *(4 * differ - 0.3),
        2 * float(np.abs(shares[0] - shares[1]).sum()) - 0.2,
        2 * float(np.abs(shares[0] - cast.sum(0) / total).sum()) - 0.2,
        math.log((float(seen.variance[0]) + 1) / (of_votes + 1)),
        *(10 * (seen.right / total - agreed)),
        2 * first.evidence.vote_weight,
    ]


def _describe_gold(first: FirstReading, em: EM, gold: GoldReading | None) -> list[float]:
    """Describe how both readings fare on gold items, and gold on itself."""
    if gold is None:
        return [0.0] * 5
    assert first.gold is not None
    counts, votes = first.gold.counts, VoteTable.from_patterns(first.gold.patterns)
    by_em, by_first = em.evidence.beliefs(votes, np.float64), first.evidence.judge(votes)
    n, rows = float(counts.sum()), np.arange(len(counts))
    of_em, of_first = (
        float((counts * np.log(np.maximum(beliefs, LEAST_CHANCE))).sum()) / (n + GOLD_ITEMS)
        for beliefs in (by_em, by_first)
    )
    gained = counts[rows, by_em.argmax(1)] - counts[rows, by_first.argmax(1)]
    more = float(gained.sum()) / (n + GOLD_ITEMS)
    return [math.log1p(n) / 2, 3 * (of_em - of_first), 2 * more, of_em + 0.5, 3 * (gold.fit - of_first)]


def _describe_lfs(
    cast: Float64, items: float, counts: Float64, weight: Float64, em_level: Float64, level: Float64
) -> list[Float64]:
    """Describe LFs by sizes, weights, and levels by the EM, by agreement of pairs, and by hlm2's (m, k, k) counts."""
    of_lf, right = cast.sum(1), counts.trace(axis1=1, axis2=2)
    return [
        find_spread(cast) - 0.5,
        (np.log(of_lf) - 5) / 2,
        of_lf / items - 0.5,
        weight - 0.9,
        2 * em_level - 0.8,
        2 * level - 0.8,
        2 * level_of((right + 2 * 0.6) / (of_lf + 2), cast.shape[1]) - 0.8,
    ]


def _describe_gold_votes(counts: Float64, accuracy: Float64) -> Float64:
    """Describe how many gold items each LF votes on, and how much better it is there than believed. (m, 2)."""
    votes, right = counts.sum((1, 2)), counts.trace(axis1=1, axis2=2)
    known = (right + 2 * accuracy) / (votes + 2)
    return np.stack([np.log1p(votes) / 2, 2 * (known - accuracy) / (1 - 1 / counts.shape[1])], 1)


def choose(weights: Weights, features: GateFeatures, votes: Float64) -> tuple[Float64, Float64]:
    """Run the gate: log-odds of the EM over hlm2 and of gold over both, and log temperatures. -> (m, 2), (3,).

    Args:
        weights: The weights.
        features: What the gate sees.
        votes: (m,) votes of the LFs.
    """
    of_set, of_lf = features
    inputs = np.concatenate([of_lf, np.broadcast_to(of_set, (len(of_lf), len(of_set)))], 1)
    hidden = silu(np, apply_layer(weights, "gate.lf1", silu(np, apply_layer(weights, "gate.lf0", inputs))))
    pool = np.sqrt(votes)
    context = np.concatenate([pool / pool.sum() @ hidden, of_set])
    summary = silu(np, apply_layer(weights, "gate.set0", context))
    odds_and_heat = apply_layer(weights, "gate.set1", summary)
    joined = np.concatenate([hidden, np.broadcast_to(summary, (len(hidden), len(summary)))], 1)
    return apply_layer(weights, "gate.out", joined) + odds_and_heat[:2], odds_and_heat[2:]


def find_shares(log_odds: Float64, *, has_gold: bool) -> Float64:
    """Return the shares of hlm2, the EM and gold for each LF, from the gate's log-odds. (m, 2) -> (m, 3)."""
    stretched = np.clip(STRETCH * sigmoid(log_odds) - (STRETCH - 1) / 2, 0, 1)
    em, gold = stretched[:, 0], stretched[:, 1] if has_gold else np.zeros(len(stretched))
    return np.stack([(1 - gold) * (1 - em), (1 - gold) * em, gold], 1)


def mix(weights: Weights, first: FirstReading, em: EM, features: GateFeatures, gold: GoldReading | None) -> Evidence:
    """Return one table of evidence from all readings.

    Evidence of an LF is the sum over the readings of share times temperature times evidence; the bias has the shares
    averaged over votes. hlm2's evidence is taken for rows with the mean number of votes, and its power keeps its share:
    evidence of a row of s votes is (s / mean) ** (share * power) times that. LFs that never voted have mean shares.
    """
    before, k, of_lf = first.evidence, len(em.bias), first.cast.sum(1)
    voting = np.flatnonzero(of_lf)
    log_odds, log_heat = choose(weights, features, of_lf[voting])
    by_lf = find_shares(log_odds, has_gold=gold is not None)
    shares = of_lf[voting] @ by_lf / of_lf.sum()  # (3,)
    heat = np.exp(np.clip(log_heat, *LOG_HEAT))
    factors = np.tile(shares * heat, (len(of_lf), 1))
    factors[voting] = by_lf * heat
    tables, biases = stack_readings(first, em, gold)
    power, used = float(shares[0]) * before.power, range(len(tables))
    return before._replace(
        table=np.sum([factors[:, e].repeat(k)[:, None] * tables[e] for e in used], 0),
        bias=np.sum([shares[e] * heat[e] * biases[e] for e in used], 0),
        scale=first.votes_per_item**-power,
        power=power,
        vote_weight=float(shares[0]) * before.vote_weight,
    )


def stack_readings(first: FirstReading, em: EM, gold: GoldReading | None) -> tuple[list[Float64], list[Float64]]:
    """Return the evidence of each reading for rows with the mean number of votes, (m * k, k), and its bias, (k,)."""
    before = first.evidence
    tables = [before.scale * first.votes_per_item**before.power * before.table, em.table - em.table.mean(1)[:, None]]
    biases = [before.bias, em.bias]
    return (tables, biases) if gold is None else ([*tables, gold.table], [*biases, gold.bias])
