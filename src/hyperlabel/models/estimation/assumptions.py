"""What models assume before they learn: how accurate an LF is, how much they learn and how long it takes."""

import numpy as np

from hyperlabel.errors import ParameterError
from hyperlabel.kernels import Float64
from hyperlabel.patterns import Patterns

PRIOR_ACCURACY = 0.7

MANY_CLASSES = 100
"""With up to this many classes, any number of votes is processed."""

MOST_LOOKS = 1 << 24
"""The most votes times classes if there are many classes; more would take minutes."""


def accurate_votes(k: int) -> Float64:
    """Probability of each vote by class, for an LF with the prior accuracy. -> (k, k).

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


def check_looks(patterns: Patterns, who: str) -> None:
    """Refuse what would take minutes: many classes, for each of which a model looks at every vote."""
    votes, k = len(patterns.lf), patterns.n_classes
    if k > MANY_CLASSES and votes * k > MOST_LOOKS:
        raise ParameterError(
            f"votes has {k:,} classes and {votes:,} votes in different rows; {who} looks at each vote once per class, "
            f"{votes * k:,} times; at most {MOST_LOOKS:,} are possible with more than {MANY_CLASSES} classes. "
            "Use 'hlm2' or 'mv', or fewer classes"
        )
