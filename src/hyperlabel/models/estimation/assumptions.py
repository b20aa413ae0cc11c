"""What models assume before they have learned: how accurate an LF is, and how many numbers they learn."""

import numpy as np

from hyperlabel.kernels import Float64
from hyperlabel.patterns import Patterns

PRIOR_ACCURACY = 0.7


def accurate_votes(k: int) -> Float64:
    """Probability of each vote by class, of an LF with the accuracy that is expected of any. -> (k, k).

    >>> accurate_votes(3).round(2).tolist()
    [[0.7, 0.15, 0.15], [0.15, 0.7, 0.15], [0.15, 0.15, 0.7]]
    """
    return np.where(np.eye(k, dtype=bool), PRIOR_ACCURACY, (1 - PRIOR_ACCURACY) / max(1, k - 1))


def numbers_by_vote(patterns: Patterns) -> int:
    """How many numbers there are if each LF, vote and class has one: m * k * k.

    >>> from hyperlabel.patterns import to_patterns
    >>> numbers_by_vote(to_patterns([[0, 1, 2]]))
    27
    """
    return patterns.n_lfs * patterns.n_classes**2
