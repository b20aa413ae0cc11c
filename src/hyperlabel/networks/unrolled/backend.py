"""What the network needs from an array library besides the functions that NumPy and torch share by name."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import (
    Float32,
    Float64,
    find_first,
    gather_sums,
    multiply,
    row_blocks,
    stable_order,
)
from hyperlabel.weights import Weights

Array = Any
"""An array of either library."""

ALL = slice(None)
FEW_CELLS = 1 << 15  # of rows that are computed at once
MANY_COLUMNS = 32  # from this many on, a row of an array is long enough to be added by itself


class NodeGroups(Protocol):
    """Nodes by what they have in common; some groups may be empty."""

    @property
    def index(self) -> Array:
        """The group of each node. (q,)."""

    def sum(self, values: Array) -> Array:
        """Sums of the members of each group. (q, ...) -> (size, ...)."""

    def max(self, values: Array) -> Array:
        """The largest member of each group, none of which is negative. (q,) -> (size,)."""

    def of(self, values: Array, nodes: slice = ALL) -> Array:
        """What the groups of some nodes have, or of all. (size, ...) -> (q, ...)."""


class Backend(Hashable, Protocol):
    """An array library."""

    @property
    def xp(self) -> Any:
        """The namespace of the functions that both libraries have."""

    def group(self, index: Array, size: int) -> NodeGroups:
        """Nodes by the number of their group."""

    def to_columns(self, values: Sequence[Array]) -> Array:
        """Columns side by side. (q,) each -> (q, columns)."""

    def to_array(self, values: Sequence[float]) -> Array:
        """Some numbers as an array."""

    def to_learned(self, values: Array) -> Array:
        """An array in the precision of the learned layers."""

    def bound(self, values: Array, least: float, most: float | None = None) -> Array:
        """Values no smaller and no larger than this."""

    def by_blocks(self, compute: Callable[[slice], Array], rows: int, width: int) -> Array:
        """Compute something for all rows, block by block, as many at a time as is best for rows of this size."""


class LinearLayers(Protocol):
    """The linear layers of one step, by name."""

    def __call__(self, name: str, values: Array) -> Array:
        """One layer. (x, d_in) -> (x, d_out)."""


class NumpyGroups:
    """Nodes by what they have in common, for NumPy.

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
        """Sums of the members of each group, added in float64. (q, ...) -> (size, ...)."""
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
        """The largest member of each group. (q,) -> (size,)."""
        largest = np.zeros(self.size, values.dtype)
        np.maximum.at(largest, self.index, values)
        return largest

    def of(self, values: Any, nodes: slice = ALL) -> Any:
        """What the groups of some nodes have: `take` is quicker than an index. (size, ...) -> (q, ...)."""
        return values.take(self.index[nodes], axis=0)


@dataclass(frozen=True)
class NumpyBackend:
    """NumPy: float64, except for the learned layers."""

    xp: ClassVar[Any] = np

    def group(self, index: NDArray[np.intp], size: int) -> NumpyGroups:
        """Nodes by the number of their group."""
        return NumpyGroups(index, size)

    def to_columns(self, values: Sequence[Float64]) -> Float64:
        """Columns side by side. (q,) each -> (q, columns)."""
        return np.array(values).T

    @staticmethod
    def to_array(values: Sequence[float]) -> Float64:
        """Some numbers as an array."""
        return np.array(values)

    def to_learned(self, values: Float64) -> Float32:
        """An array in float32."""
        return values.astype(np.float32)

    def bound(self, values: Float64, least: float, most: float | None = None) -> Float64:
        """Values no smaller and no larger than this; `clip` takes twice as long on short arrays."""
        at_least = np.maximum(values, least)
        return at_least if most is None else np.minimum(at_least, most)

    def by_blocks(self, compute: Callable[[slice], Float64], rows: int, width: int) -> Float64:
        """Compute something for rows, block by block, so that all of it stays in the cache."""
        if rows * width <= FEW_CELLS:
            return compute(ALL)
        blocks = row_blocks(rows, width)
        first = compute(blocks[0])
        whole = np.empty((rows, *first.shape[1:]), first.dtype)
        whole[blocks[0]] = first
        for block in blocks[1:]:
            whole[block] = compute(block)
        return whole


def odds(share: Array) -> Array:
    """Odds of shares."""
    return share / (1 - share)


def logit(xp: Any, share: Array) -> Array:
    """Log-odds of shares."""
    return xp.log(odds(share))


def sigmoid(xp: Any, values: Array) -> Array:
    """The inverse of `logit`."""
    return 0.5 * (1 + xp.tanh(0.5 * values))


class NumpyLinear:
    """The linear layers of one step of some weights, in float32.

    Args:
        weights: The weights of the network.
        step: The number of the step, from 0.
    """

    def __init__(self, weights: Weights, step: int) -> None:
        self._arrays, self._prefix = weights.arrays, f"step{step}."

    def __call__(self, name: str, values: Float32) -> Float32:
        """One layer. (x, d_in) -> (x, d_out)."""
        prefix = self._prefix + name
        product = multiply(values, self._arrays[prefix + ".weight"])
        product += self._arrays[prefix + ".bias"]
        return product
