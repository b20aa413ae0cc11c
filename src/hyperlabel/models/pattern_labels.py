"""Probabilities of patterns that become labels, and labels of patterns on their way to the items."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import ParameterError
from hyperlabel.kernels import Float64
from hyperlabel.labels import Labels
from hyperlabel.memory import check_memory
from hyperlabel.patterns import Patterns

_ROUNDING = 1e-5  # how much the sum of a row of float32 may differ from 1


@dataclass(frozen=True)
class PatternLabels:
    """Labels of patterns on their way to the items; items get only what is asked for."""

    of_patterns: Labels  # one row per pattern
    patterns: Patterns  # the patterns; patterns without items keep one row each
    gold: NDArray[np.int64] | None = None  # (n,) gold classes of the items, which overrule; -1 for unknown

    @property
    def labels(self) -> NDArray[Any]:
        """The label of each item. (n,)."""
        if self.gold is not None:
            return self.of_items(None).labels
        return self._to_items(self.of_patterns.labels)

    @property
    def probabilities(self) -> Float64:
        """The probabilities of each item. (n, k)."""
        if self.gold is not None:
            return self.of_items(None).probabilities
        self._check_memory()
        return self._to_items(self.of_patterns.probabilities)

    def of_items(self, items: NDArray[Any] | None) -> Labels:
        """All of it, with identifiers of the items."""
        index = self.patterns.inverse
        self._check_memory()
        labels = self.of_patterns if index is None else self.of_patterns.take(index, items)
        return labels if self.gold is None else labels.with_gold(self.gold)

    def _check_memory(self) -> None:
        """Refuse a table of all items and classes that does not fit into memory."""
        n, k = 0 if self.patterns.inverse is None else len(self.patterns.inverse), self.patterns.n_classes
        remedy = "label fewer items at a time, or get only the labels: predict(votes)"
        check_memory(n * k, f"the probabilities of {n:,} items and {k:,} classes", remedy)

    def _to_items(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.patterns.inverse is None else self.patterns.expand(values)


def check_distributions(probabilities: Float64, model: str) -> Float64:
    """Refuse numbers that are not probabilities before they become labels: they left their range in a computation.

    A sum over everything finds NaN, infinity and rows that do not add up to one; it costs next to nothing.
    """
    n = len(probabilities)
    if n and (not abs(probabilities.sum() - n) <= _ROUNDING * n or probabilities.min() < 0):
        raise ParameterError(
            f"this {model} fails on these votes: its numbers are out of range. If it comes from a "
            "file, fit and save it again"
        )
    return probabilities
