"""Votes as the unrolled network sees them, what a step hands to the next, and the sums over rows between steps."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import softmax
from hyperlabel.patterns import Patterns

Floats = NDArray[np.float64]

START = 0.3  # votes that each class has before any is counted, in the first beliefs


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
        gold: (m * k,) how many of these have a known class.
        items: Number of items with votes.
        distinct: Votes on distinct rows.
    """

    n: Floats
    gold: Floats
    items: float
    distinct: float


@dataclass(frozen=True)
class Beliefs:
    """Sums over rows of what is believed of their classes; they add up over chunks of rows.

    Attributes:
        mass: (m * k, k) of the items on which a node votes, those of each class.
        balance: (k,) items of each class.
    """

    mass: Floats
    balance: Floats


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
    return Counts(
        n=ballots.by_node(ballots.weight[ballots.row]),
        gold=ballots.by_node(ballots.gold.sum(1)[ballots.row]),
        items=float(ballots.weight.sum()),
        distinct=float(ballots.size[ballots.weight > 0].sum()),
    )


def believe(ballots: Ballots, evidence: Evidence | None) -> Beliefs:
    """The sums over beliefs that some evidence gives; without evidence, smoothed shares of the votes."""
    if evidence is None:
        belief = (ballots.votes_for + START) / (ballots.size[:, None] + START * ballots.k)
    else:
        belief = softmax(evidence.logits(ballots))
    items = ballots.unknown[:, None] * belief + ballots.gold
    return Beliefs(ballots.mass(items), items.sum(0))


def logit(share: Floats) -> Floats:
    """Log-odds of a share."""
    return np.log(share / (1 - share))


def to_probabilities(evidence: Evidence, ballots: Ballots) -> Floats:
    """Probabilities of the classes, gold looked up; uniform where nobody votes. (p, k)."""
    belief, gold = softmax(evidence.logits(ballots)), ballots.gold * evidence.gold_worth
    weight = evidence.gold_weight
    probabilities = np.full((len(ballots.rows), ballots.k), 1 / ballots.k)
    probabilities[ballots.rows] = (weight * belief + gold) / (weight + gold.sum(1, keepdims=True))
    return probabilities
