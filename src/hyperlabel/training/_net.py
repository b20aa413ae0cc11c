"""The paper's network and the two it is compared with in its ablation.

All take one matrix of signs (n, m), float32 with 0 where an LF abstains, and return (n,) logits of class 1.
One matrix at a time, channels first, stays in the cache and is several times faster on a CPU than padded
batches.
"""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from hyperlabel.networks import LEAK, TERMS


class _Cells(torch.autograd.Function):
    """leaky_relu(self_map @ cells + row + column) on voted cells, with one buffer for all of it."""

    @staticmethod
    def forward(ctx: Any, cells: Tensor, weight: Tensor, row: Tensor, column: Tensor, voted: Tensor) -> Tensor:
        (d, n), m = row.shape, column.shape[1]
        out = weight @ cells  # (d, n * m)
        view = out.view(d, n, m)
        view += row[:, :, None]
        view += column[:, None, :]
        functional.leaky_relu_(out, float(LEAK))
        out *= voted
        ctx.save_for_backward(cells, weight, out, voted)
        ctx.shape = d, n, m
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor, Tensor, Tensor, None]:
        cells, weight, out, voted = ctx.saved_tensors
        grad = torch.ops.aten.leaky_relu_backward(grads[0], out, float(LEAK), True)
        grad *= voted
        view = grad.view(ctx.shape)
        to_cells = weight.T @ grad if ctx.needs_input_grad[0] else None
        return to_cells, grad @ cells.T, view.sum(2), view.sum(1), None


class PoolLayer(nn.Module):
    """One message-passing layer: the cell itself and the means over its row, its column and everything.

    Each term has its own linear map; the four results are concatenated and mapped to the output width
    (Eq. 6 of the paper). Without an activation in between this is one matrix per term, see `fused`.
    """

    def __init__(self, d_in: int, d_out: int, terms: Sequence[str]) -> None:
        super().__init__()
        self.terms = tuple(terms)
        self.maps = nn.ModuleDict({f"{term}_map": nn.Linear(d_in, d_in) for term in self.terms})
        self.out = nn.Linear(d_in * len(self.terms), d_out)

    def fused(self) -> tuple[dict[str, Tensor], Tensor]:
        """One (d_out, d_in) matrix for each term, zeros for a term that is left out, and the (d_out,) bias."""
        blocks = self.out.weight.chunk(len(self.terms), dim=1)
        matrices = {term: torch.zeros_like(blocks[0]) for term in TERMS}
        bias: Tensor = self.out.bias
        for term, block in zip(self.terms, blocks, strict=True):
            linear = cast(nn.Linear, self.maps[f"{term}_map"])
            matrices[term] = block @ linear.weight
            bias = bias + block @ linear.bias
        return matrices, bias

    def forward(self, cells: Tensor, voted: Tensor, counts: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """(d_in, n * m) -> (d_out, n * m); `counts` are the votes of each row, of each column and in total."""
        per_row, per_column, total = counts
        matrices, bias = self.fused()
        view = cells.view(len(cells), len(per_row), len(per_column))
        row_sums = view.sum(2)
        row = matrices["row"] @ (row_sums / per_row)
        shared = matrices["all"] @ (row_sums.sum(1) / total) + bias
        column = matrices["column"] @ (view.sum(1) / per_column) + shared[:, None]
        return cast(Tensor, _Cells.apply(cells, matrices["self"], row, column, voted))  # type: ignore[no-untyped-call]


class HyperNet(nn.Module):
    """The paper's network: pooling layers, the mean over an item's votes, a three-layer head.

    Args:
        widths: Output width of each pooling layer; the head keeps the last one.
        terms: What a layer sees. The paper's sees all four terms; with `("self", "row")` every item is a separate
            set, the DeepSet of the ablation.
    """

    def __init__(self, widths: Sequence[int] = (32, 32, 32, 32), terms: Sequence[str] = TERMS) -> None:
        super().__init__()
        sizes = (1, *widths)
        self.layers = nn.ModuleList(PoolLayer(a, b, terms) for a, b in zip(sizes, sizes[1:], strict=False))
        d = widths[-1]
        self.head = nn.ModuleList([nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, 1)])

    def forward(self, signs: Tensor) -> Tensor:
        """(n, m) -> (n,)."""
        return self.judge(self.pool(signs))

    def pool(self, signs: Tensor) -> Tensor:
        """The embedding of each item: the mean over its votes. (n, m) -> (n, d)."""
        n, m = signs.shape
        mask = (signs != 0).to(signs.dtype)
        counts = mask.sum(1).clamp(min=1), mask.sum(0).clamp(min=1), mask.sum().clamp(min=1)
        cells, voted = signs.reshape(1, -1), mask.reshape(1, -1)
        for layer in self.layers:
            cells = layer(cells, voted, counts)
        return (cells.view(-1, n, m).sum(2) / counts[0]).T

    def judge(self, items: Tensor) -> Tensor:
        """The logit of each item. (n, d) -> (n,)."""
        for linear in self.head[:-1]:
            items = functional.leaky_relu(linear(items), float(LEAK))
        return torch.as_tensor(self.head[-1](items)[:, 0])


class FlatNet(nn.Module):
    """The ablation's MLP: the matrix padded with zeros or cut to a fixed size, flattened, ten linear layers.

    It knows nothing about items and LFs, and cannot label more than `items` items.
    """

    def __init__(self, items: int = 2000, lfs: int = 50, width: int = 32, depth: int = 10) -> None:
        super().__init__()
        self.items, self.lfs = items, lfs
        sizes = [items * lfs, *[width] * (depth - 1), items]
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:], strict=False))

    def forward(self, signs: Tensor) -> Tensor:
        """(n, m) -> (n,); items past the fixed size get the logit 0."""
        n, m = min(len(signs), self.items), min(signs.shape[1], self.lfs)
        padded = signs.new_zeros(self.items, self.lfs)
        padded[:n, :m] = signs[:n, :m]
        hidden = padded.reshape(-1)
        for linear in self.linears[:-1]:
            hidden = functional.leaky_relu(linear(hidden), float(LEAK))
        logits = self.linears[-1](hidden)[:n]
        return functional.pad(logits, (0, len(signs) - n))


def make_net(architecture: str, widths: Sequence[int]) -> nn.Module:
    """The paper's network or one it is compared with, by its name in `hyperlabel train --architecture`."""
    if architecture == "mlp":
        return FlatNet(width=widths[-1])
    return HyperNet(widths, TERMS if architecture == "gnn" else ("self", "row"))
