"""The paper's network over votes, each pooling layer one compiled loop: what makes long training affordable on a CPU.

`HyperNet.forward` goes over the dense matrix a dozen times per layer, and memory is what it waits for. Here a
layer visits each vote once forward and once backward (`layer.c`), with the widths known to the compiler. It
needs a C compiler on the path; the results are those of `HyperNet.forward` up to rounding.
"""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from hyperlabel.network import LEAK
from hyperlabel.train.net import HyperNet, PoolLayer

SOURCE = Path(__file__).with_name("layer.c")
FLAGS = ("-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", f"-DLEAK={LEAK}f")


@cache
def find_compiler() -> str | None:
    """The C compiler, if there is one."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@cache
def _library(d_in: int, d_out: int) -> ctypes.CDLL:
    """`layer.c` compiled for these widths; the file is not needed once it is loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/layer.so"
        command = [str(find_compiler()), *FLAGS, f"-DIN={d_in}", f"-DOUT={d_out}", str(SOURCE), "-o", path]
        subprocess.run(command, check=True)
        return ctypes.CDLL(path)


def _call(function: Any, n: int, *tensors: Tensor | None) -> None:
    addresses = [None if tensor is None else ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]
    function(ctypes.c_int64(n), *addresses)


@dataclass(frozen=True)
class SignedVotes:
    """The votes of a matrix in the order of items.

    Attributes:
        starts: (n + 1,) int32; where the votes of each item start.
        lf: (e,) int32; the LF of each vote.
        signs: (e, 1) float32; +1 for class 1, -1 for class 0.
        per_row: (n, 1) votes per item, at least 1.
        per_column: (m, 1) votes per LF, at least 1.
        row_sums: (n, 1) sum of the signs of each item.
        column_sums: (m, 1) sum of the signs of each LF.
    """

    starts: Tensor
    lf: Tensor
    signs: Tensor
    per_row: Tensor
    per_column: Tensor
    row_sums: Tensor
    column_sums: Tensor

    @classmethod
    def from_array(cls, votes: NDArray[np.int8]) -> "SignedVotes":
        """(n, m) votes; -1 abstains."""
        n, m = votes.shape
        place = np.flatnonzero(votes >= 0)
        item, lf = np.divmod(place, m)
        signs = 2 * votes.ravel()[place] - 1
        per_row, per_column = np.bincount(item, minlength=n), np.bincount(lf, minlength=m)
        sums = np.bincount(item, signs, n), np.bincount(lf, signs, m)
        starts = np.concatenate([[0], per_row.cumsum()])
        whole = (torch.from_numpy(each.astype(np.int32)) for each in (starts, lf))
        columns = (signs, np.maximum(per_row, 1), np.maximum(per_column, 1), *sums)
        return cls(*whole, *(torch.from_numpy(each.astype(np.float32)[:, None]) for each in columns))


class _Layer(torch.autograd.Function):
    """Cells (e, d_in) to activated cells (e, d_out) and their sums over rows (n, d_out) and columns (m, d_out)."""

    @staticmethod
    def forward(
        ctx: Any, cells: Tensor, weight: Tensor, rows: Tensor, columns: Tensor, votes: SignedVotes, is_last: bool
    ) -> tuple[Tensor | None, Tensor, Tensor]:
        d_in, d_out = weight.shape
        weight, rows, columns = weight.contiguous(), rows.contiguous(), columns.contiguous()
        out = None if is_last else cells.new_empty(len(cells), d_out)
        sums = torch.empty_like(rows), torch.zeros_like(columns)
        operands = (votes.starts, votes.lf, cells, weight, rows, columns)
        _call(_library(d_in, d_out).forward, len(rows), *operands, out, *sums)
        ctx.save_for_backward(*operands)
        ctx.set_materialize_grads(False)
        return out, *sums

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, Tensor, Tensor, Tensor, None, None]:
        starts, lf, cells, weight, rows, columns = ctx.saved_tensors
        grad, grad_rows, grad_columns = (None if each is None else each.contiguous() for each in grads)
        grad_rows = torch.zeros_like(rows) if grad_rows is None else grad_rows
        grad_columns = torch.zeros_like(columns) if grad_columns is None else grad_columns
        to_cells = torch.empty_like(cells) if ctx.needs_input_grad[0] else None
        to_weight, to_rows, to_columns = torch.zeros_like(weight), torch.empty_like(rows), torch.zeros_like(columns)
        given = (starts, lf, cells, weight, weight.T.contiguous(), rows, columns, grad, grad_rows, grad_columns)
        backward = _library(*weight.shape).backward
        _call(backward, len(rows), *given, to_cells, to_weight, to_rows, to_columns)
        return to_cells, to_weight, to_rows, to_columns, None, None


def forward_of(net: HyperNet) -> Callable[[SignedVotes], Tensor]:
    """A function that does what `net(signs)` does, votes -> logits (n,), with the weights of now.

    The maps of each layer are fused once, however many matrices follow.
    """
    fused = [cast(PoolLayer, layer).fused() for layer in net.layers]

    def forward(votes: SignedVotes) -> Tensor:
        items = _pool(fused, votes)
        for linear in net.head[:-1]:
            items = functional.leaky_relu(linear(items), float(LEAK))
        return torch.as_tensor(net.head[-1](items)[:, 0])

    return forward


def _pool(fused: list[tuple[dict[str, Tensor], Tensor]], votes: SignedVotes) -> Tensor:
    """The pooling layers. -> (n, d), the mean over each item's votes."""
    cells, row_sums, column_sums = votes.signs, votes.row_sums, votes.column_sums
    for i, (matrices, bias) in enumerate(fused):
        rows = (row_sums / votes.per_row) @ matrices["row"].T
        shared = column_sums.sum(0) / max(1, len(votes.lf)) @ matrices["all"].T + bias
        columns = (column_sums / votes.per_column) @ matrices["column"].T + shared
        is_last = i == len(fused) - 1
        cells, row_sums, column_sums = _Layer.apply(  # type: ignore[no-untyped-call]
            cells, matrices["self"].T, rows, columns, votes, is_last
        )
    return row_sums / votes.per_row
