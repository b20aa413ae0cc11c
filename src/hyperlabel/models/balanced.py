"""Balanced vote: majority vote in which a vote weighs less the more often its class is voted for.

A vote for class c counts 1 / share_c ** power, where share_c is the share of c among all votes of the set. Power
0 is majority vote. Power 0.5 has a reason: in the mean of all labellings of independent LFs that are valid in
the sense of R. Wu et al., "Learning Hyper Label Model for Programmatic Weak Supervision", ICLR 2023, an LF leans
by about one over the square root of its number of votes, since its margin is a sum of that many fair coins.

The shares are those of the votes that are predicted, not those of `fit`, so there is nothing to learn. An LF that
abstains does not take part.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import ParameterError
from hyperlabel.kernels import softmax
from hyperlabel.models.base import LabelModel, TieBreak
from hyperlabel.models.majority import count_classes
from hyperlabel.patterns import Patterns


class BalancedVote(LabelModel):
    """Labels by the number of votes, each divided by a power of how common votes for its class are.

    Args:
        power: How strongly common classes are held back: 0 not at all, 1 until all classes weigh the same.
        n_classes: Number of classes; inferred from votes and gold if neither this nor `classes` is given.
        classes: The classes, in the order of their probabilities.
        tie_break: `first`, `abstain` or `random`, for items whose best classes are exactly tied.
        seed: For `tie_break="random"`.

    >>> votes = [[0, 1], [0, -1], [0, -1], [0, -1]]
    >>> BalancedVote().predict(votes).tolist()
    [1, 0, 0, 0]
    """

    needs_fit = False

    def __init__(
        self,
        power: float = 0.5,
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
        tie_break: TieBreak = "first",
        seed: int = 0,
    ) -> None:
        super().__init__(n_classes=n_classes, classes=classes, tie_break=tie_break, seed=seed)
        self.power = power

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        self._check_power()

    def _probabilities(self, patterns: Patterns) -> NDArray[np.float64]:
        self._check_power()
        counts = count_classes(patterns)
        totals = np.maximum(patterns.counts @ counts, 1)  # a class nobody votes for has no votes to divide
        with np.errstate(divide="ignore"):
            logits = np.log(counts) - self.power * np.log(totals)
        logits[~patterns.has_votes] = 0
        return softmax(logits)

    def _check_power(self) -> None:
        if not 0 <= self.power < np.inf:
            raise ParameterError(f"power is {self.power!r}; expected a number from 0 (majority vote) on")
