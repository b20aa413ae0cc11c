"""What the network asks of an array library beyond the functions that NumPy and torch share by name."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64, multiply, row_blocks, sum_groups
from hyperlabel.weights import Weights

Array = Any
"""An array of either library."""


class Backend(Protocol):
    """An array library."""

    @property
    def xp(self) -> Any:
        """The namespace of the functions that both libraries have."""

    def sum_groups(self, values: Array, group: Array, size: int) -> Array:
        """Sums of the members of each group. (x, ...) by (x,) -> (size, ...)."""

    def max_groups(self, values: Array, group: Array, size: int) -> Array:
        """The largest member of each group, none of which is negative. (x,) by (x,) -> (size,)."""

    def blocks(self, rows: int, width: int) -> Iterator[slice]:
        """Rows of an array of this width that are best computed at a time."""


class Linear(Protocol):
    """The linear layers of one step, by name."""

    def __call__(self, name: str, values: Array) -> Array:
        """One layer. (x, d_in) -> (x, d_out)."""


@dataclass(frozen=True)
class NumpyBackend:
    """NumPy, in float64."""

    @property
    def xp(self) -> Any:
        """NumPy."""
        return np

    def sum_groups(self, values: Float64, group: NDArray[np.intp], size: int) -> Float64:
        """Sums of the members of each group."""
        return sum_groups(values, group, size)

    def max_groups(self, values: Float64, group: NDArray[np.intp], size: int) -> Float64:
        """The largest member of each group."""
        largest = np.zeros(size)
        np.maximum.at(largest, group, values)
        return largest

    def blocks(self, rows: int, width: int) -> Iterator[slice]:
        """Blocks that stay in the cache."""
        return row_blocks(rows, width)


@dataclass(frozen=True)
class NumpyLinear:
    """The linear layers of one step of some weights.

    Attributes:
        weights: Of the network.
        step: Counted from 0.
    """

    weights: Weights
    step: int

    def __call__(self, name: str, values: Float64) -> Float64:
        """One layer. (x, d_in) -> (x, d_out)."""
        arrays, prefix = self.weights.arrays, f"step{self.step}.{name}"
        product = multiply(values, arrays[f"{prefix}.weight"].astype(np.float64))
        product += arrays[f"{prefix}.bias"]
        return product
