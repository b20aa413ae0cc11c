"""Array operations of the unrolled network beyond the functions that NumPy and torch share by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float32, Float64, find_first, gather_sums, multiply, row_blocks, stable_order
from hyperlabel.networks._weights import Weights

Array = Any
"""An array of either library."""

Backend = Any
"""An array library: `NumpyBackend`, or torch's in training, which has the same methods."""

NodeGroups = Any
"""Nodes by what they have in common, some groups may be empty: `NumpyGroups`, or torch's in training."""

LinearLayers = Callable[[str, Array], Array]
"""The linear layers of one step: applies one by its name. (x, d_in) -> (x, d_out)."""

ALL = slice(None)
FEW_CELLS = 1 << 15  # of rows that are computed at once
MANY_COLUMNS = 32  # from this many on, a row of an array is long enough to be added by itself


class NumpyGroups:
    """Groups of nodes in NumPy.

    Args:
        index: (q,) the group of each node.
        size: Number of groups.
    """

    def __init__(self, index: NDArray[np.intp], size: int) -> None:
        self.index, self.size = index, size
        self._cells: dict[int, NDArray[np.intp]] = {}  # by the width of an array of groups: where a member's numbers go

    def __getstate__(self) -> dict[str, Any]:
        return {"index": self.index, "size": self.size, "_cells": {}}

    def sum(self, values: Any) -> Any:
        """Sum the members of each group in float64. (q, ...) -> (size, ...)."""
        if self.size == 1:
            return np.add.reduce(values, axis=0, keepdims=True)
        if values.ndim == 1:
            return np.bincount(self.index, values, self.size)
        width = values.shape[1]
        if width > MANY_COLUMNS:
            return self._sum_wide(values)
        cells = self._cells.get(width)
        if cells is None:
            cells = self._cells[width] = ((self.index * width)[:, None] + np.arange(width)).reshape(-1)
        sums = np.bincount(cells, values.reshape(-1), self.size * width).reshape(self.size, width)
        return sums if values.dtype == sums.dtype else sums.astype(values.dtype)

    def _sum_wide(self, values: Float64) -> Float64:
        order = None if (self.index[1:] >= self.index[:-1]).all() else stable_order(self.index)
        ordered = self.index if order is None else self.index[order]
        starts = np.append(np.flatnonzero(find_first(ordered)), len(ordered))
        groups, sums = ordered[starts[:-1]], np.zeros((self.size, values.shape[1]))
        if order is not None:
            sums[groups] = gather_sums(values, order, starts)
            return sums
        for group, start, end in zip(groups, starts[:-1], starts[1:], strict=True):  # members are side by side
            np.add.reduce(values[start:end], axis=0, out=sums[group])
        return sums

    def max(self, values: Any) -> Any:
        """Return the largest member of each group, none of which is negative. (q,) -> (size,)."""
        largest = np.zeros(self.size, values.dtype)
        np.maximum.at(largest, self.index, values)
        return largest

    def of(self, values: Any, nodes: slice = ALL) -> Any:
        """Look up the values of the groups of some nodes; `take` is quicker than an index. (size, ...) -> (q, ...)."""
        return values.take(self.index[nodes], axis=0)


@dataclass(frozen=True)
class NumpyBackend:
    """NumPy: float64, except for the learned layers.

    `xp` is the namespace of the functions that both libraries have; `group` makes groups of nodes from the number of
    the group of each node, (q,), and the number of groups.
    """

    xp: ClassVar[Any] = np
    group: ClassVar[type[NumpyGroups]] = NumpyGroups

    def to_columns(self, values: Sequence[Float64]) -> Float64:
        """Put columns side by side. (q,) each -> (q, columns)."""
        return np.array(values).T

    @staticmethod
    def to_array(values: Sequence[float]) -> Float64:
        """Convert some numbers to an array."""
        return np.array(values)

    def to_learned(self, values: Float64) -> Float32:
        """Convert an array to float32."""
        return values.astype(np.float32)

    def bound(self, values: Float64, least: float, most: float | None = None) -> Float64:
        """Clip values; NumPy's `clip` takes twice as long on short arrays."""
        at_least = np.maximum(values, least)
        return at_least if most is None else np.minimum(at_least, most)

    def by_blocks(self, compute: Callable[[slice], Float64], rows: int, width: int) -> Float64:
        """Compute something for all rows, block by block, so that all of it stays in the cache."""
        if rows * width <= FEW_CELLS:
            return compute(ALL)
        blocks = row_blocks(rows, width)
        first = compute(blocks[0])
        whole = np.empty((rows, *first.shape[1:]), first.dtype)
        whole[blocks[0]] = first
        for block in blocks[1:]:
            whole[block] = compute(block)
        return whole


def logit(xp: Any, share: Array) -> Array:
    """Return the log-odds of shares."""
    return xp.log(share / (1 - share))


def sigmoid(xp: Any, values: Array) -> Array:
    """Invert `logit`."""
    return 0.5 * (1 + xp.tanh(0.5 * values))


def silu(xp: Any, values: Array) -> Array:
    """Return values times their sigmoid."""
    half = 0.5 * values
    return half * (1 + xp.tanh(half))


def apply_layer(weights: Weights, name: str, values: Float64) -> Float64:
    """Apply a linear layer to few rows, in float64. (x, d_in) -> (x, d_out)."""
    product: Float64 = values @ weights.arrays[f"{name}.weight"].T + weights.arrays[f"{name}.bias"]
    return product


def numpy_layers(weights: Weights, step: int) -> LinearLayers:
    """Return the linear layers of one step of some weights, in float32."""
    arrays = weights.arrays

    def apply_layer(name: str, values: Float32) -> Float32:
        product = multiply(values, arrays[f"step{step}.{name}.weight"])
        product += arrays[f"step{step}.{name}.bias"]
        return product

    return apply_layer
