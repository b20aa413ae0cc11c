"""The array library of the unrolled network in training: torch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from hyperlabel.networks.unrolled.backend import ALL


def sum_groups(values: Tensor, index: Tensor, size: int) -> Tensor:
    """Sums of the members of each group. (x, ...) by (x,) -> (size, ...)."""
    return values.new_zeros((size, *values.shape[1:])).index_add_(0, index, values)


@dataclass(frozen=True, eq=False)
class TorchGroups:
    """Nodes by what they have in common."""

    index: Tensor  # (q,) the group of each node
    size: int  # number of groups

    def sum(self, values: Tensor) -> Tensor:
        """Sums of the members of each group. (q, ...) -> (size, ...)."""
        return sum_groups(values, self.index, self.size)

    def max(self, values: Tensor) -> Tensor:
        """The largest member of each group. (q,) -> (size,)."""
        return values.new_zeros(self.size).scatter_reduce_(0, self.index, values, "amax")

    def of(self, values: Tensor, nodes: slice = ALL) -> Tensor:
        """What the groups of some nodes have, or of all. (size, ...) -> (q, ...)."""
        return values[self.index[nodes]]


@dataclass(frozen=True)
class TorchBackend:
    """The library torch, in float32 on the CPU."""

    xp: ClassVar[Any] = torch

    def group(self, index: Tensor, size: int) -> TorchGroups:
        """Nodes by the number of their group."""
        return TorchGroups(index, size)

    def to_columns(self, values: Sequence[Tensor]) -> Tensor:
        """Columns side by side. (q,) each -> (q, columns)."""
        return torch.stack(list(values), 1)

    @staticmethod
    def to_array(values: Sequence[float]) -> Tensor:
        """Some numbers as an array."""
        return torch.tensor(values)

    def to_learned(self, values: Tensor) -> Tensor:
        """All arrays are in the precision of the learned layers."""
        return values

    def bound(self, values: Tensor, least: float, most: float | None = None) -> Tensor:
        """Values no smaller and no larger than this."""
        return values.clip(least, most)

    def by_blocks(self, compute: Callable[[slice], Tensor], rows: int, width: int) -> Tensor:
        """Compute something for all rows at once: gradients need all of them anyway."""
        return compute(slice(None))
