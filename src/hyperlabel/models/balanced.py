"""Balanced vote: majority vote in which a vote for a class weighs less, the more votes the class has.

A vote for class c counts 1 / share_c ** power, where share_c is the share of c among all votes of the set. Power
0 is majority vote. Power 0.5 has a reason: in the mean of all labelings of independent LFs that are valid in
the sense of R. Wu et al., "Learning Hyper Label Model for Programmatic Weak Supervision", ICLR 2023, an LF leans
by about one over the square root of its number of votes, since its margin is a sum of that many fair coins.

The shares are those of the votes that `fit` read. An LF that abstains does not take part.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_number
from hyperlabel.kernels import Float64, softmax
from hyperlabel.models.base import LabelModel
from hyperlabel.models.majority import count_classes
from hyperlabel.networks import Gold, Reduce, Sums
from hyperlabel.patterns import Patterns


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

    def _check_params(self) -> None:
        super()._check_params()
        check_number(self.power, "power", "a number, 0 (majority vote) or more", least=0)


def _sum_votes(patterns: Patterns) -> Sums:
    """Votes of all items for each class, exact up to 2^53; adds up over chunks. -> (k,)."""
    votes = np.bincount(patterns.vote, patterns.counts[patterns.row], patterns.n_codes).astype(np.float64, copy=False)
    return (votes if patterns.outcomes is None else votes @ patterns.outcomes.table,)
