"""The unrolled network of hlm2: a learned EM over patterns, in NumPy.

A *node* is an LF and a class it votes for. A step estimates from the beliefs in all items what each node is worth,
and a small network, shared by all nodes, turns that into the evidence of one vote of the node for each class. A
row's logits are the sum of the evidence of its votes, scaled by a power of how many they are, plus a share of the
log class balance. Nothing else is passed from step to step, so that

- the result is equivariant in items, LFs and classes, for any number of classes, and does not change when every
  item is repeated: distinct rows count, and of them no more than give an average LF `TYPICAL` votes;
- the evidence is its own explanation: logits are sums over votes;
- the rows enter through sums over votes only: a pass over data of any size needs one `Evidence` in memory.

Evidence mixes two forms, by how far an LF votes for several classes. *Own*: a vote speaks for its class alone, less
for a class that is voted for often, more for a node whose votes agree with the beliefs that the *other* votes on
its items give (else votes confirm themselves). *Confusion*: the log-likelihood of the vote given each class, by the
LF's confusion counts, shrunk towards those of all LFs, as in Dawid-Skene.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import multiply
from hyperlabel.patterns import Patterns
from hyperlabel.weights import Weights

Floats = NDArray[np.float64]
Narrow = NDArray[np.float32]  # what the learned network computes in

TYPICAL = 100.0  # votes that an average LF counts as having cast, at most
START = 0.3  # votes that each class has before any is counted, in the first beliefs
GAIN = 0.1  # what a node's precision, as a gain in log-odds over its class's share, adds to its votes
STRENGTH, SHRINK, MIX = 0.54, 1.0, 2.0  # where the learned corrections start from; see `_evidence`
PLAIN_BALANCE, CONFUSION_BALANCE = 0.15, 1.0  # share of the log class balance, by the form of the evidence
FEW = 0.9  # log of the votes a row at which confusions begin to be trusted
MANY_CLASSES = 32
GOLD = 0.7  # log of how many gold items a belief counts as, before the learned correction
SHARE_ROUNDS, LEAST_SHARE = 10, 1e-3  # of `match_shares`: how often, and what shares below count as
# How gold is used, see `match_gold`; chosen with 20 to 1,000 gold labels on the public sets (docs/model-card.md).
GOLD_ROUNDS = 5
GOLD_PRIOR = 20.0  # imagined gold items of each class, all as expected, on which every node votes
GOLD_CAUTION = 40.0  # real patterns are less pure than synthetic ones: with little gold, beliefs count for more


@dataclass(frozen=True)
class Ballots:
    """The votes of patterns, prepared for sums over rows and over nodes; rows without votes are left out.

    Attributes:
        rows: (p,) whether the pattern has votes.
        starts: (r,) where each row's votes begin.
        row: (e,) the row of each vote.
        node: (e,) the code `lf * k + class` of each vote.
        vote: (e,) the class of each vote.
        weight: (r,) how many items have the row.
        gold: (r, k) how many of them have a known class.
        size: (r,) votes of the row.
        k: Number of classes.
        m: Number of LFs.
    """

    rows: NDArray[np.bool_]
    starts: NDArray[np.int64]
    row: NDArray[np.intp]
    node: NDArray[np.int64]
    vote: NDArray[np.int64]
    weight: Floats
    gold: Floats
    size: NDArray[np.int64]
    k: int
    m: int

    @classmethod
    def from_patterns(cls, patterns: Patterns, gold: NDArray[np.int64] | None = None) -> "Ballots":
        """Prepare patterns; gold (p, k) counts the items whose class is known."""
        rows, k = patterns.has_votes, patterns.n_classes
        size = np.diff(patterns.starts)[rows]
        counts = np.zeros((len(size), k)) if gold is None else gold[rows].astype(np.float64)
        return cls(
            rows=rows,
            starts=patterns.starts[:-1][rows],
            row=np.repeat(np.arange(len(size)), size),
            node=patterns.lf * k + patterns.vote,
            vote=patterns.vote,
            weight=np.maximum(patterns.counts[rows].astype(np.float64), counts.sum(1)),
            gold=counts,
            size=size,
            k=k,
            m=patterns.n_lfs,
        )

    @cached_property
    def votes_for(self) -> Floats:
        """Votes of each row for each class. (r, k)."""
        flat = self.row * self.k + self.vote
        counts: Floats = np.bincount(flat, minlength=len(self.size) * self.k).reshape(-1, self.k).astype(np.float64)
        return counts

    @cached_property
    def unknown(self) -> Floats:
        """Items of each row whose class is not known. (r,)."""
        unknown: Floats = self.weight - self.gold.sum(1)
        return unknown

    def by_node(self, values: Floats) -> Floats:
        """Sums over the votes of each code. (e,) -> (m * k,)."""
        return np.bincount(self.node, weights=values, minlength=self.m * self.k).astype(np.float64, copy=False)

    def mass(self, items: Floats) -> Floats:
        """Items of each class on which each code votes, from those of each row. (r, k) -> (m * k, k)."""
        return np.stack([self.by_node(items[self.row, c]) for c in range(self.k)], axis=1)

    def by_row(self, values: Floats) -> Floats:
        """Sums over the votes of each row. (e, k) -> (r, k)."""
        return np.add.reduceat(values, self.starts) if len(self.starts) else np.zeros((0, self.k))


@dataclass(frozen=True)
class Counts:
    """Sums over votes that do not depend on beliefs; they add up over chunks of rows.

    Attributes:
        n: (m * k,) items on which each node votes.
        log_size: (m * k,) over these, the sum of the log of the votes on the item.
        agreement: (m * k,) over these, the sum of the share of the other votes that agree.
        shared: (m * k,) how many of these have another vote.
        gold: (m * k,) how many of these have a known class.
        items: Number of items with votes.
        distinct: Votes on distinct rows.
    """

    n: Floats
    log_size: Floats
    agreement: Floats
    shared: Floats
    gold: Floats
    items: float
    distinct: float

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Beliefs:
    """Sums over rows of what is believed of their classes; they add up over chunks of rows.

    Attributes:
        own: (m * k,) of the items on which a node votes, those that are of its class by the other votes.
        mass: (m * k, k) of these, those of each class.
        balance: (k,) items of each class.
    """

    own: Floats
    mass: Floats
    balance: Floats

    def __add__(self, other: "Beliefs") -> "Beliefs":
        return Beliefs(self.own + other.own, self.mass + other.mass, self.balance + other.balance)


@dataclass(frozen=True)
class Evidence:
    """What a step hands to the next: everything that a row's logits need.

    Attributes:
        table: (m * k, k) evidence of one vote of each code for each class.
        bias: (k,) logits of a row before its votes.
        scale: What evidence is multiplied by, on a row of one vote.
        power: How that grows with the number of votes: `scale * size ** power`.
        gold_weight: As how many gold items the belief in a row counts.
        gold_worth: (k,) as how many a gold item of each class counts; one by default.
    """

    table: Floats
    bias: Floats
    scale: float
    power: float
    gold_weight: float
    gold_worth: Floats | float = 1.0

    def factor(self, ballots: Ballots) -> Floats:
        """What the evidence on each row is multiplied by. (r, 1)."""
        factors: Floats = self.scale * ballots.size[:, None].astype(np.float64) ** self.power
        return factors

    def contributions(self, ballots: Ballots) -> Floats:
        """What each vote adds to the logits of its row. (e, k)."""
        return self.table.take(ballots.node, axis=0) * self.factor(ballots).take(ballots.row, axis=0)

    def logits(self, ballots: Ballots) -> Floats:
        """(r, k)."""
        return self.bias + ballots.by_row(self.table.take(ballots.node, axis=0)) * self.factor(ballots)


def count(ballots: Ballots) -> Counts:
    """The sums that do not depend on beliefs."""
    weight = ballots.weight[ballots.row]
    others = ballots.size[ballots.row] - 1
    agreeing = ballots.votes_for[ballots.row, ballots.vote] - 1
    return Counts(
        n=ballots.by_node(weight),
        log_size=ballots.by_node(weight * np.log(ballots.size)[ballots.row]),
        agreement=ballots.by_node(weight * agreeing / np.maximum(others, 1)),
        shared=ballots.by_node(weight * (others > 0)),
        gold=ballots.by_node(ballots.gold.sum(1)[ballots.row]),
        items=float(ballots.weight.sum()),
        distinct=float(ballots.size[ballots.weight > 0].sum()),
    )


def believe(ballots: Ballots, evidence: Evidence | None) -> Beliefs:
    """The sums over beliefs that some evidence gives; without evidence, smoothed shares of the votes."""
    k, vote, row = ballots.k, ballots.vote, ballots.row
    if evidence is None:
        belief = (ballots.votes_for + START) / (ballots.size[:, None] + START * k)
        own = (ballots.votes_for[row, vote] - 1 + START) / (ballots.size[row] - 1 + START * k)
    else:
        logits, added = evidence.logits(ballots), evidence.contributions(ballots)
        others = _odds(logits.take(row, axis=0) - added)
        belief, own = _softmax(logits), others[np.arange(len(vote)), vote] / _over_classes(np.add, others)
    items = ballots.unknown[:, None] * belief + ballots.gold
    own = ballots.by_node(ballots.unknown[row] * own + ballots.gold[row, vote])
    return Beliefs(own, ballots.mass(items), items.sum(0))


def _softmax(logits: Floats) -> Floats:
    """By rows, without the shares that underflow. (r, k) -> (r, k)."""
    shares = _odds(logits)
    shares /= _over_classes(np.add, shares)[:, None]
    return shares


def _odds(logits: Floats) -> Floats:
    """By rows, odds against the class of the largest logit. (r, k) -> (r, k)."""
    odds: Floats = np.exp(logits - _over_classes(np.maximum, logits)[:, None])
    return odds


def _over_classes(reduce_two: np.ufunc, values: Floats) -> Floats:
    """A reduction over the classes: one by one where they are few, up to forty times as quick. (r, k) -> (r,)."""
    if values.shape[1] > MANY_CLASSES:
        return np.asarray(reduce_two.reduce(values, axis=1))
    return reduce(reduce_two, values.T)


def forward(weights: Weights, ballots: Ballots) -> Evidence:
    """The evidence of the last step."""
    nodes, evidence = find_nodes(count(ballots), ballots.k), None
    for step in range(weights.header["steps"]):
        evidence = advance(weights, step, nodes, believe(ballots, evidence))
    assert evidence is not None  # a network has at least one step
    return evidence


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
    for _ in range(SHARE_ROUNDS):
        belief = _softmax(evidence.logits(ballots))
        if balance is not None:
            missed = np.log(_bound(balance)) - np.log(_bound(ballots.weight @ belief / items))
            evidence = replace(evidence, bias=evidence.bias + missed)
        if accuracies is not None:
            cast, right = (
                ballots.by_node(values).reshape(ballots.m, ballots.k).sum(1)
                for values in (weight, weight * belief[ballots.row, ballots.vote])
            )
            known = (cast > 0) & ~np.isnan(accuracies)
            expected = right / np.maximum(cast, 1e-9)
            missed = np.where(known, _logit(_bound(accuracies)) - _logit(_bound(expected)), 0)
            evidence = replace(evidence, table=evidence.table + _for_own_class(missed / votes, ballots.k))
    return evidence


def _bound(shares: Floats) -> Floats:
    return np.clip(shares, LEAST_SHARE, 1 - LEAST_SHARE)


def _for_own_class(added: Floats, k: int) -> Floats:
    """A table that adds a number to the evidence of each LF's votes for their own class. (m,) -> (m * k, k)."""
    table: Floats = (added[:, None, None] * np.eye(k)).reshape(-1, k)
    return table


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
        expected = told.mass(items * _softmax(evidence.logits(told)))
        missed = np.log((seen + GOLD_PRIOR) / (expected + GOLD_PRIOR))
        missed -= missed.mean(1, keepdims=True)
        evidence = replace(evidence, table=evidence.table + missed / votes)
    caution = 1 + GOLD_CAUTION / np.sqrt(known.sum())
    return replace(evidence, gold_weight=evidence.gold_weight * caution, gold_worth=worth)


def to_probabilities(evidence: Evidence, ballots: Ballots) -> Floats:
    """Probabilities of the classes, gold looked up; uniform where nobody votes. (p, k)."""
    belief, gold = _softmax(evidence.logits(ballots)), ballots.gold * evidence.gold_worth
    weight = evidence.gold_weight
    probabilities = np.full((len(ballots.rows), ballots.k), 1 / ballots.k)
    probabilities[ballots.rows] = (weight * belief + gold) / (weight + gold.sum(1, keepdims=True))
    return probabilities


@dataclass(frozen=True)
class Nodes:
    """The nodes that occur: p of them, and how they are grouped.

    Attributes:
        code: (p,) `lf * k + class`.
        scale: What counts are multiplied by.
        n: (p,) items, scaled.
        share: (p,) of the LF's votes.
        class_share: (p,) of all votes, those for the node's class.
        spread: (p,) 0 where the LF votes for one class, 1 where a quarter of its votes are for others.
        row_size: Log of the votes an item.
        gold: (p,) items whose class is known, not scaled.
        features: (p, 14) what is known before any belief.
        items: Number of items with votes, scaled.
        k: Number of classes.
        codes: m * k.
    """

    code: NDArray[np.intp]
    scale: float
    n: Floats
    share: Floats
    class_share: Floats
    spread: Floats
    row_size: float
    gold: Floats
    features: Floats
    items: float
    k: int
    codes: int

    @cached_property
    def vote(self) -> NDArray[np.intp]:
        """The class of each node. (p,)."""
        return self.code % self.k

    @cached_property
    def lf(self) -> NDArray[np.intp]:
        """The LF of each node. (p,)."""
        return self.code // self.k

    @cached_property
    def weight(self) -> Narrow:
        """How much each node counts in means over nodes. (p, 1)."""
        return np.sqrt(self.n, dtype=np.float32)[:, None]

    @cached_property
    def by_vote(self) -> "Groups":
        """The nodes by their class."""
        return Groups(self.vote, self.weight)

    @cached_property
    def by_lf(self) -> "Groups":
        """The nodes by their LF."""
        return Groups(self.lf, self.weight)

    @cached_property
    def gold_features(self) -> tuple[Floats, Floats]:
        """What is known of each node's gold items. (p,) each."""
        return np.log1p(self.gold) / 3, self.scale * self.gold / self.n

    @cached_property
    def rarity(self) -> Floats:
        """What a vote says for its class: less for one voted for often, unless the LF votes for several. (p,)."""
        rarity: Floats = np.exp(-0.5 * (1 - self.spread) * np.log(self.class_share * self.k))
        return rarity

    @cached_property
    def trust(self) -> Floats:
        """Log-odds that confusions are to be trusted, before the learned correction. (p,)."""
        enough = min(max(self.row_size - FEW, -2.0), 1.0)
        return 4 * self.spread - 2 + 1.5 * enough


class Groups:
    """Nodes grouped by a number, for weighted means."""

    def __init__(self, number: NDArray[np.intp], weight: Narrow) -> None:
        self.order = np.argsort(number, kind="stable")
        first = np.diff(number[self.order], prepend=-1) > 0
        self.starts = np.flatnonzero(first)
        self.place = np.empty(len(number), np.intp)
        self.place[self.order] = np.cumsum(first) - 1
        self.weight = np.add.reduceat(weight[self.order], self.starts)

    def means(self, weighted: Narrow) -> Narrow:
        """For each node the mean over its group. (p, d) -> (p, d)."""
        means = np.add.reduceat(weighted[self.order], self.starts) / self.weight
        return means.astype(np.float32, copy=False)[self.place]


def _sum_by(group: NDArray[np.intp], values: Floats) -> Floats:
    """For each member the sum over its group. (p,) -> (p,)."""
    return np.bincount(group, weights=values).astype(np.float64, copy=False)[group]


def _logit(share: Floats) -> Floats:
    return np.log(share / (1 - share))


def find_nodes(counts: Counts, k: int) -> Nodes:
    """The nodes that occur, and what is known of them before any belief."""
    code = np.flatnonzero(counts.n > 0)
    vote, lf = code % k, code // k
    voting = int(np.count_nonzero(np.diff(lf, prepend=-1)))
    scale = min(TYPICAL * voting, counts.distinct) / max(counts.n.sum(), 1)
    n, shared = counts.n[code] * scale, counts.shared[code] * scale
    total, items, ones = max(n.sum(), 1e-9), max(counts.items * scale, 1e-9), np.ones(len(code))
    share, class_share = n / _sum_by(lf, n), _sum_by(vote, n) / total
    most = np.zeros(code.max(initial=0) // k + 1)
    np.maximum.at(most, lf, share)
    coverage = np.log(n / items)
    agreement = (counts.agreement[code] * scale + 1 / k) / (shared + 1)
    several = (n[share < 0.999]).sum() / total
    row_size = float(np.log(total / items))
    features = np.stack(
        [
            np.log(n) / 3 - 1.5,
            coverage / 2 + 1.5,
            share * 2 - 1,
            np.log(class_share * k),
            class_share * 2 - 1,
            ones * row_size,
            ones * (np.log(k) - 1),
            ones * (np.log(max(voting, 1)) / 2 - 1.5),
            ones * (np.log(items) / 3 - 2.5),
            coverage - coverage.sum() / max(len(code), 1),
            counts.log_size[code] / counts.n[code] - 0.7,
            np.log(agreement / np.maximum(1 - agreement, 1e-3)) / 2 + 0.5 * np.log(k - 1),
            shared / n - 0.5,
            ones * several,
        ],
        axis=1,
    )
    spread = np.minimum(4 * (1 - most[lf]), 1)
    gold = counts.gold[code]
    return Nodes(code, scale, n, share, class_share, spread, row_size, gold, features, items, k, len(counts.n))


@dataclass(frozen=True)
class _Worth:
    """What beliefs say of each node. All (p,), `features` seven of them, but `mass` (p, k) and `balance` (k,)."""

    logit_precision: Floats
    logit_balance: Floats
    mass: Floats
    balance: Floats
    features: tuple[Floats, ...]


def _worth(nodes: Nodes, beliefs: Beliefs) -> _Worth:
    items = nodes.scale * beliefs.balance
    balance = (items + 1) / (items.sum() + nodes.k)
    of_class, own = balance[nodes.vote], nodes.scale * beliefs.own[nodes.code]
    precision = np.minimum(np.maximum((own + of_class) / (nodes.n + 1), 1e-4), 1 - 1e-4)
    recall = (own + 0.5) / (nodes.items * of_class + 0.5)
    accuracy = _sum_by(nodes.lf, own) * nodes.share / nodes.n
    logit_precision, logit_balance = _logit(precision), _logit(of_class)
    features = (
        logit_precision / 2,
        logit_balance / 2,
        (logit_precision - logit_balance) / 2,
        np.log(np.minimum(np.maximum(recall, 1e-4), 10)) / 3,
        accuracy * 2 - 1,
        *nodes.gold_features,
    )
    return _Worth(logit_precision, logit_balance, nodes.scale * beliefs.mass[nodes.code], balance, features)


def advance(weights: Weights, step: int, nodes: Nodes, beliefs: Beliefs) -> Evidence:
    """One step: from sums over the rows to the evidence of every node.

    At the same precision, a vote among k classes says log(k - 1) more against each of the others than one among two.
    The own form does not know that; its last step is made as much louder. Labels do not depend on it, probabilities do.
    """
    table = np.zeros((nodes.codes, nodes.k))
    if not len(nodes.code):
        return Evidence(table, np.zeros(nodes.k), 1.0, 0.0, 1.0)
    worth = _worth(nodes, beliefs)
    of_node, of_set = _network(weights, step, nodes, _join(nodes.features, worth.features))
    evidence, gate = _evidence(nodes, worth, of_node)
    trusted = (nodes.n * gate).sum() / nodes.n.sum()
    share = PLAIN_BALANCE + (CONFUSION_BALANCE - PLAIN_BALANCE) * trusted + of_set[2]
    table[nodes.code] = evidence
    last = step == weights.header["steps"] - 1
    loudness = 1 + (1 - trusted) * np.log(max(nodes.k - 1, 1)) if last else 1.0
    return Evidence(
        table=table,
        bias=loudness * share * np.log(worth.balance),
        scale=float(loudness * np.exp(of_set[0])),
        power=float(of_set[1]),
        gold_weight=float(np.exp(of_set[3] + GOLD)),
    )


def _join(fixed: Floats, columns: Sequence[Floats]) -> Narrow:
    """One matrix of an array and of columns. (p, a), b of (p,) -> (p, a + b)."""
    a = fixed.shape[1]
    joined = np.empty((len(fixed), a + len(columns)), np.float32)
    joined[:, :a] = fixed
    for place, column in enumerate(columns, a):
        joined[:, place] = column
    return joined


def _network(weights: Weights, step: int, nodes: Nodes, features: Narrow) -> tuple[Floats, Floats]:
    """What is learned: four numbers for each node and four for the set. -> (p, 4), (4,)."""

    def linear(values: Narrow, name: str) -> Narrow:
        product = multiply(values, weights.arrays[f"step{step}.{name}.weight"])
        product += weights.arrays[f"step{step}.{name}.bias"]
        return product

    hidden = _silu(linear(_silu(linear(features, "node0")), "node1"))
    weighted = nodes.weight * hidden
    everything = (weighted.sum(0) / nodes.weight.sum())[None]
    context = [nodes.by_vote.means(weighted), nodes.by_lf.means(weighted)]
    pooled = np.concatenate([hidden, *context, np.repeat(everything, len(hidden), axis=0)], axis=1)
    of_node = linear(_silu(linear(pooled, "pooled")), "evidence")
    of_set = linear(_silu(linear(everything, "set0")), "set1")
    return of_node.astype(np.float64), of_set[0].astype(np.float64)


def _silu(values: Narrow) -> Narrow:
    half = values * np.float32(0.5)
    activated: Narrow = half * (1 + np.tanh(half))
    return activated


def _evidence(nodes: Nodes, worth: _Worth, learned: Floats) -> tuple[Floats, Floats]:
    """The evidence of one vote of each node for each class, and how far it is of the confusion form. (p, k), (p,).

    The own form is a vote divided by the square root of its class's share of the votes, and a little more for a
    node of high precision; with nothing learned, the confusion form is a Dawid-Skene step. LFs of one class, and sets
    with few votes an item, use the former. The own form has no learned part: whatever was learned there from
    synthetic rules did worse on real ones.
    """
    p, k = worth.mass.shape
    shrink, mix, strength, gate = learned.T
    gate = _sigmoid(nodes.trust + gate)
    own = nodes.rarity + GAIN * (worth.logit_precision - worth.logit_balance)
    evidence = gate[:, None] * _softplus(strength + STRENGTH)[:, None] * _confusion(nodes, worth.mass, shrink, mix)
    evidence[np.arange(p), nodes.vote] += (1 - gate) * own
    return evidence, gate


def _confusion(nodes: Nodes, mass: Floats, shrink: Floats, mix: Floats) -> Floats:
    """Log-likelihood of a vote given each class, less its mean over the classes. (p, k)."""
    k, lf, vote = nodes.k, nodes.lf, nodes.vote
    by_lf = np.zeros((nodes.codes // k, k, k))  # (LF, vote, class)
    by_lf[lf, vote] = mass
    pooled = by_lf.sum(0)
    everyone = ((pooled + 0.5) / (pooled.sum(0) + 0.5 * k))[vote]
    of_lf = by_lf.sum(1)[lf]
    prior_items = np.exp(shrink + SHRINK)[:, None]
    share = _sigmoid(mix + MIX)[:, None]
    prior = share * everyone + (1 - share) * nodes.share[:, None]
    likelihood = np.log((mass + prior_items * prior) / (of_lf + prior_items))
    centred: Floats = likelihood - likelihood.mean(1, keepdims=True)
    return centred


def _sigmoid(values: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(0.5 * values))


def _softplus(values: Floats) -> Floats:
    return np.logaddexp(0, values)
