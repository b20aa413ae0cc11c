"""A synthetic data set, and what every generator of them must offer."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Task:
    """Binary votes with a target for each item.

    Attributes:
        votes: (n, m) int8; -1 abstains, 0 and 1 are the classes.
        target: (n,) float32; the probability that the item is of class 1. A drawn truth is 0 or 1.
    """

    votes: NDArray[np.int8]
    target: NDArray[np.float32]


class Prior(Protocol):
    """A distribution over tasks."""

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw one task."""
        ...
