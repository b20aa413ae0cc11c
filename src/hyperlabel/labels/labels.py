"""`Labels`: what a model says of items or of patterns."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.classes import ABSTAIN, Classes, decode
from hyperlabel.kernels import Float64, over_classes


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels with their probabilities, one row per item or per pattern.

    Attributes:
        best: (n,) the class number of each label, -1 for none.
        probabilities: (n, k) of the classes.
        classes: The classes.
        items: (n,) identifiers of the items, where there are some.

    >>> labels = Labels(np.array([1, -1]), np.array([[0.2, 0.8], [0.5, 0.5]]), ("ham", "spam"))
    >>> labels.labels.tolist(), labels.confidence.tolist()
    (['spam', -1], [0.8, 0.5])
    """

    best: NDArray[np.intp]
    probabilities: Float64
    classes: Classes
    items: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.best)

    @property
    def labels(self) -> NDArray[Any]:
        """The class of each item; -1 for none. (n,)."""
        return decode(self.best, self.classes)

    @property
    def confidence(self) -> Float64:
        """The probability of each label, or of the most probable class where there is none. (n,)."""
        own = np.take_along_axis(self.probabilities, np.maximum(self.best, 0)[:, None], axis=1)[:, 0]
        return np.where(self.best == ABSTAIN, over_classes(np.maximum, self.probabilities), own)

    def take(self, index: NDArray[np.integer], items: NDArray[Any] | None = None) -> "Labels":
        """The labels of an index, for instance from patterns to the items that have them."""
        return Labels(self.best.take(index), self.probabilities.take(index, axis=0), self.classes, items)

    def with_gold(self, gold: NDArray[np.integer]) -> "Labels":
        """The same, with the gold class where it is known: its label, with probability 1. (n,) class numbers or -1."""
        known = np.flatnonzero(gold >= 0)
        best, probabilities = self.best.copy(), self.probabilities.copy()
        best[known], probabilities[known] = gold[known], 0
        probabilities[known, gold[known]] = 1
        return replace(self, best=best, probabilities=probabilities)
