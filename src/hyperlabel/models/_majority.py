"""Majority vote: the probability of a class is its share of the item's votes.

Nothing is estimated; every LF counts the same. An LF that abstains does not take part.

In balanced vote, a vote for class c counts 1 / share_c ** power, where share_c is the share of c among all votes that
`fit` read. Power 0 is majority vote. Power 0.5 has a reason: in the mean of all labelings of independent LFs that are
valid in the sense of R. Wu et al., "Learning Hyper Label Model for Programmatic Weak Supervision", ICLR 2023, an LF
leans by about one over the square root of its number of votes, since its margin is a sum of that many fair coins.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, check_flag, softmax
from hyperlabel.data import Patterns
from hyperlabel.models._base import LabelModel
from hyperlabel.models._parameters import number
from hyperlabel.networks import Gold, Reduce, Sums


@dataclass(kw_only=True, eq=False, repr=False)
class MajorityVote(LabelModel):
    """Labels by the number of votes.

    Args:
        ordinal: Whether the classes have an order: labels then lean to the median (docs/votes.md).

    >>> MajorityVote().predict_proba([[1, 1, 0, 1], [0, -1, -1, 0]]).tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """

    ordinal: bool = False

    reads_in_passes = True
    takes_outcomes = True
    short_names = ("mv",)
    _constraints = LabelModel._constraints | {"ordinal": check_flag}

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        """There is nothing to learn."""

    def _fit_passes(self, reduce: Reduce, shape: Patterns, gold: Gold | None) -> None:
        """There is nothing to learn."""

    def _probabilities(self, patterns: Patterns) -> Float64:
        return vote_shares(patterns)


def count_classes(patterns: Patterns) -> NDArray[Any]:
    """Count the LFs that vote for each class; an outcome counts for classes as it leans. -> (p, k)."""
    p, o = patterns.n_patterns, patterns.n_codes
    counts = np.bincount(patterns.row * o + patterns.vote, minlength=p * o).reshape(p, o)
    return counts if patterns.outcomes is None else counts @ patterns.outcomes.table


def vote_shares(patterns: Patterns) -> Float64:
    """Return the share of each class in the votes of each pattern; all 0 where no LF votes. -> (p, k)."""
    counts = count_classes(patterns)
    shares: Float64 = counts / np.maximum(np.diff(patterns.starts), 1)[:, None]
    return shares


@dataclass(kw_only=True, eq=False, repr=False)
class BalancedVote(LabelModel):
    """Labels by the number of votes, each divided by a power of how common votes for its class are.

    All LFs count the same, even one that was silent in `fit`.

    Args:
        power: How strongly common classes are held back: 0 not at all, 1 until all classes weigh the same.

    Attributes:
        class_votes_: (k,) votes for each class in the set.

    >>> votes = [[0, 1], [0, -1], [0, -1], [0, -1]]
    >>> BalancedVote().predict(votes).tolist()
    [1, 0, 0, 0]
    """

    power: float = 0.5

    reads_in_passes = True
    takes_outcomes = True
    short_names = ("bv",)
    _constraints = LabelModel._constraints | {"power": number(0)}

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        (self.class_votes_,) = _sum_votes(patterns)

    def _fit_passes(self, reduce: Reduce, shape: Patterns, gold: Gold | None) -> None:
        (self.class_votes_,) = reduce(_sum_votes)

    def _probabilities(self, patterns: Patterns) -> Float64:
        totals = np.maximum(self.class_votes_, 1)  # a class without votes has nothing to divide
        with np.errstate(divide="ignore"):
            logits = np.log(count_classes(patterns)) - self.power * np.log(totals)
        logits[~patterns.has_votes] = 0
        return softmax(logits)


def _sum_votes(patterns: Patterns) -> Sums:
    """Votes of all items for each class, exact up to 2^53; adds up over chunks. -> (k,)."""
    votes = np.bincount(patterns.vote, patterns.counts[patterns.row], patterns.n_codes).astype(np.float64, copy=False)
    return (votes if patterns.outcomes is None else votes @ patterns.outcomes.table,)
