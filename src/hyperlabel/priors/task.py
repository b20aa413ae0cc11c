"""A synthetic data set, and what every generator of them must offer."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Task:
    """Binary votes with a target for each item: what the paper's network learns from."""

    votes: NDArray[np.int8]  # (n, m) int8; -1 abstains, 0 and 1 are the classes
    target: NDArray[np.float32]  # (n,) float32; the probability that the item is of class 1; a drawn truth is 0 or 1


@dataclass(frozen=True)
class LabeledTask:
    """Votes of any number of classes with a drawn truth: what the unrolled network learns from."""

    votes: NDArray[np.int8]  # (n, m) int8; -1 abstains
    truth: NDArray[np.int64]  # (n,) the class of each item
    n_classes: int  # number of classes
    family: str  # the kind of data it imitates, such as `rules` or `crowd`


class Prior(Protocol):
    """A distribution over binary tasks."""

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw one task."""
        ...


class LabeledPrior(Protocol):
    """A distribution over labeled tasks."""

    def sample(self, rng: np.random.Generator) -> LabeledTask:
        """Draw one task."""
        ...
