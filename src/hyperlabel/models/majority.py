"""Majority vote: the probability of a class is its share of the item's votes.

Nothing is estimated; every LF counts the same. An LF that abstains does not take part.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64
from hyperlabel.models.base import LabelModel
from hyperlabel.networks import Gold, Reduce
from hyperlabel.patterns import Patterns


@dataclass(kw_only=True, eq=False, repr=False)
class MajorityVote(LabelModel):
    """Labels by the number of votes.

    Args:
        ordinal: Whether the classes have an order: a vote then counts 0.6 for its class and 0.2 for each neighbor.

    >>> MajorityVote().predict_proba([[1, 1, 0, 1], [0, -1, -1, 0]]).tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """

    ordinal: bool = False

    reads_in_passes = True
    takes_outcomes = True

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        """There is nothing to learn."""

    def _fit_passes(self, reduce: Reduce, shape: Patterns, gold: Gold | None) -> None:
        """There is nothing to learn."""

    def _probabilities(self, patterns: Patterns) -> Float64:
        return vote_shares(patterns)


def count_classes(patterns: Patterns) -> NDArray[Any]:
    """How many LFs vote for each class; an outcome counts for classes as it leans. -> (p, k).

    >>> from hyperlabel import Votes
    >>> count_classes(Patterns.from_votes(Votes.from_array([[1, 1, 0], [-1, -1, 0]]))).tolist()
    [[1, 0], [1, 2]]
    """
    p, o = patterns.n_patterns, patterns.n_codes
    counts = np.bincount(patterns.row * o + patterns.vote, minlength=p * o).reshape(p, o)
    return counts if patterns.outcomes is None else counts @ patterns.outcomes.table


def vote_shares(patterns: Patterns) -> Float64:
    """The share of each class in the votes of each pattern; all 0 where no LF votes. -> (p, k).

    >>> from hyperlabel import Votes
    >>> vote_shares(Patterns.from_votes(Votes.from_array([[1, 1, 0, 1]]))).tolist()
    [[0.25, 0.75]]
    """
    counts = count_classes(patterns)
    shares: Float64 = counts / np.maximum(np.diff(patterns.starts), 1)[:, None]
    return shares
