"""Classes that have an order: a vote for one of them also leans on its neighbors.

A person who says 4 of 5 stars may well mean 3 or 5, but hardly 1. So a vote speaks for its class and, by a fifth each,
for the classes next to it: this is where models start, and how they imagine votes that they have not seen. What votes
are worth is then learned from the set as usual.
"""

from dataclasses import replace

import numpy as np

from hyperlabel.patterns import Patterns
from hyperlabel.votes.outcomes import NO_LADDER, Outcomes
from hyperlabel.votes.rows import Rows

NEIGHBOR = 0.2
"""How much a vote leans on each neighbor of its class."""


def order_votes(patterns: Patterns) -> Patterns:
    """The patterns with votes for one class as outcomes that lean on neighbors; two classes have no order to use.

    >>> from hyperlabel.votes import Votes
    >>> ordered = order_votes(Patterns.from_votes(Votes.from_array([[0, 1, 2]])))
    >>> ordered.vote.tolist(), ordered.outcomes.leaning[1].round(1).tolist()
    ([3, 4, 5], [0.2, 0.6, 0.2])
    """
    k = patterns.n_classes
    if k <= 2:
        return patterns
    levels, others = _levels(k), patterns.outcomes
    place = np.arange(0) if others is None else levels.merge(others)[1]
    number = k + np.concatenate([np.arange(k), place]).astype(np.int64)
    rows = Rows(patterns.starts, patterns.lf, number[patterns.vote])
    return replace(patterns, rows=rows, outcomes=order_outcomes(others, k))


def order_outcomes(outcomes: Outcomes | None, k: int) -> Outcomes | None:
    """The outcomes of patterns of k classes after `order_votes`, from those before."""
    if k <= 2:
        return outcomes
    return _levels(k) if outcomes is None else _levels(k).merge(outcomes)[0]


def _levels(k: int) -> Outcomes:
    """A vote for each of k classes."""
    leaning = np.eye(k) * (1 - 2 * NEIGHBOR) + NEIGHBOR * (np.eye(k, k=1) + np.eye(k, k=-1))
    names = tuple(f"about class {c + 1} of {k}" for c in range(k))
    return Outcomes(names, leaning / leaning.sum(1, keepdims=True), np.full(k, NO_LADDER))
