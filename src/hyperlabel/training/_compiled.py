"""The paper's network over votes, with one compiled loop per pooling layer: this makes long training feasible on a CPU.

`HyperNet.forward` goes over the dense matrix a dozen times per layer, and waits for memory. Here a
layer visits each vote once forward and once backward (`layer.c`, with the widths known to the compiler), and the
small products in between are NumPy's. The results are those of `HyperNet.forward` and torch's gradients up to
rounding. It needs a C compiler, `cc` or the one in the variable CC.
"""

import ctypes
import os
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from hyperlabel._core import Float32
from hyperlabel.networks import LEAK, TERMS
from hyperlabel.training._net import HyperNet, PoolLayer

Int32 = NDArray[np.int32]

SOURCE = Path(__file__).with_name("layer.c")
# Like -ffast-math, which would also make the whole process that loads the library flush small numbers to zero.
_MATH = ("associative-math", "reciprocal-math", "finite-math-only", "no-signed-zeros", "no-trapping-math")
_FAST = (*(f"-f{name}" for name in _MATH), "-fno-math-errno")
FLAGS = ("-O3", "-march=native", *_FAST, "-shared", "-fPIC", f"-DLEAK={LEAK}f")


@cache
def can_compile() -> bool:
    """Return whether there is a C compiler that understands `layer.c`."""
    try:
        _library(1, 8)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


@cache
def _library(d_in: int, d_out: int, masked: bool = False) -> ctypes.CDLL:
    """`layer.c` compiled for these widths and this loss; the file is not needed once it is loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/layer.so"
        widths = (f"-DIN={d_in}", f"-DOUT={d_out}", f"-DMASKED={int(masked)}")
        command = [os.environ.get("CC", "cc"), *FLAGS, *widths, str(SOURCE), "-o", path, "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        return ctypes.CDLL(path)


def _call(function: Any, n: int, *arrays: NDArray[Any] | None) -> float:
    """Call a function of `layer.c`; the arrays are contiguous."""
    return function(ctypes.c_int64(n), *(None if a is None else ctypes.c_void_p(a.ctypes.data) for a in arrays))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class SignedVotes:
    """The votes of a matrix in the order of items."""

    starts: Int32  # (n + 1,) where the votes of each item start
    lf: Int32  # (e,) the LF of each vote
    signs: Float32  # (e, 1) +1 for class 1, -1 for class 0
    per_row: Float32  # (n, 1) votes per item, at least 1
    per_column: Float32  # (m, 1) votes per LF, at least 1
    row_sums: Float32  # (n, 1) sum of the signs of each item
    column_sums: Float32  # (m, 1) sum of the signs of each LF

    @classmethod
    def from_array(cls, votes: NDArray[np.int8]) -> "SignedVotes":
        """(n, m) votes; -1 abstains."""
        n, m = votes.shape
        position = np.flatnonzero(votes >= 0)
        item, lf = np.divmod(position.astype(np.int32), np.int32(m))
        signs = 2 * votes.ravel()[position] - 1
        per_row, per_column = np.bincount(item, minlength=n), np.bincount(lf, minlength=m)
        starts = np.concatenate([[0], per_row.cumsum()]).astype(np.int32)
        sums = np.bincount(item, signs, n), np.bincount(lf, signs, m)
        columns = (signs, np.maximum(per_row, 1), np.maximum(per_column, 1), *sums)
        return cls(starts, lf, *(each.astype(np.float32)[:, None] for each in columns))


@dataclass(frozen=True)
class _LayerInput:
    """The input of a layer: its cells, the means, and what they add to each vote."""

    cells: Float32
    row_means: Float32
    column_means: Float32
    mean: Float32
    rows: Float32
    columns: Float32


class CompiledNet:
    """The current weights of a network, and the gradients that accumulate for them.

    The weights are read once, so that all matrices of a batch share the work. If `masked`, only items whose pooled
    embedding sums to more than zero have a loss.
    """

    def __init__(self, net: HyperNet, *, masked: bool = False) -> None:
        self._masked, self._taught = masked, np.zeros(1, np.int64)
        self._fused = [cast(PoolLayer, layer).fused() for layer in net.layers]
        self._linears = [(linear.weight, linear.bias) for linear in cast(list[torch.nn.Linear], list(net.head))]
        self.layers = [
            {**{term: _array(matrices[term].T) for term in TERMS}, "bias": _array(bias[None])}
            for matrices, bias in self._fused
        ]
        self.head = np.concatenate([_array(each.t()).ravel() for linear in self._linears for each in linear])
        self._turned = np.concatenate([_array(weight).ravel() for weight, _ in self._linears[:-1]])
        self._grads = [{name: np.zeros_like(array) for name, array in layer.items()} for layer in self.layers]
        self._head_grad = np.zeros_like(self.head)

    @property
    def taught(self) -> int:
        """Number of items that had a loss so far."""
        return int(self._taught[0])

    def logits(self, votes: SignedVotes) -> Float32:
        """The same as `net(signs)`. -> (n,)."""
        *_, last = self._forward(votes)
        return self._finish(votes, last, None)[0]

    def backward(self, votes: SignedVotes, target: Float32) -> float:
        """Accumulate the gradients of the cross-entropy, summed over the items with votes; returns the sum.

        The target is (n,) the probability of class 1.
        """
        inputs = self._forward(votes)
        _, loss, grad, to_rows, to_columns = self._finish(votes, inputs[-1], target)
        row_grad, column_grad = self._send_means(votes, inputs, len(inputs) - 1, to_rows, to_columns)
        for i in range(len(inputs) - 2, -1, -1):
            grad, to_rows, to_columns = self._backward_layer(votes, i, inputs, (grad, row_grad, column_grad))
            row_grad, column_grad = self._send_means(votes, inputs, i, to_rows, to_columns)
        return loss

    def send_back(self, scale: float) -> None:
        """Give the accumulated gradients, times `scale`, to the parameters of the network."""
        tensors, grads = [], []
        for (matrices, bias), layer in zip(self._fused, self._grads, strict=True):
            tensors += [*(matrices[term] for term in TERMS), bias]
            grads += [*(layer[term].T for term in TERMS), layer["bias"][0]]
        at = 0
        for tensor in (each for linear in self._linears for each in linear):
            tensors.append(tensor)
            grads.append(self._head_grad[at : at + tensor.numel()].reshape(tensor.t().shape).T)
            at += tensor.numel()
        scaled = [torch.from_numpy(grad * np.float32(scale)) for grad in grads]
        needed = [pair for pair in zip(tensors, scaled, strict=True) if pair[0].requires_grad]
        torch.autograd.backward([tensor for tensor, _ in needed], [grad for _, grad in needed])

    def _forward(self, votes: SignedVotes) -> list[_LayerInput]:
        """Return the input of each layer; the last one is not computed yet."""
        cells, row_sums, column_sums = votes.signs, votes.row_sums, votes.column_sums
        inputs = [_make_input(self.layers[0], votes, cells, row_sums, column_sums)]
        for before, layer in pairwise(self.layers):
            cells, row_sums, column_sums = _forward_layer(before["self"], votes, inputs[-1])
            inputs.append(_make_input(layer, votes, cells, row_sums, column_sums))
        return inputs

    def _finish(
        self, votes: SignedVotes, at: _LayerInput, target: Float32 | None
    ) -> tuple[Float32, float, Float32, Float32, Float32]:
        """The last layer and the head: logits, summed loss, and the gradients of the input of the last layer."""
        weight = self.layers[-1]["self"]
        logits, buffer = np.empty(len(at.rows), np.float32), np.empty_like(at.columns)
        to_cells, to_rows, to_columns = np.empty_like(at.cells), np.empty_like(at.rows), np.zeros_like(at.columns)
        operands = (votes.starts, votes.lf, at.cells, weight, np.ascontiguousarray(weight.T), at.rows, at.columns)
        grads = (to_cells, self._grads[-1]["self"], to_rows, to_columns, self._head_grad, self._taught)
        finish = _library(*weight.shape, self._masked).finish
        finish.restype = ctypes.c_double
        loss = _call(finish, len(at.rows), *operands, self.head, self._turned, target, buffer, logits, *grads)
        return logits, loss, to_cells, to_rows, to_columns

    def _backward_layer(
        self, votes: SignedVotes, i: int, inputs: list[_LayerInput], grads: tuple[Float32, Float32, Float32]
    ) -> tuple[Float32, Float32, Float32]:
        """From the gradients of a layer's cells and sums to those of its input, and of what its means add."""
        at, weight = inputs[i], self.layers[i]["self"]
        to_cells, to_rows, to_columns = np.empty_like(at.cells), np.empty_like(at.rows), np.zeros_like(at.columns)
        operands = (votes.starts, votes.lf, at.cells, np.ascontiguousarray(weight.T), inputs[i + 1].cells, *grads)
        results = (to_cells if i else None, self._grads[i]["self"], to_rows, to_columns)
        _call(_library(*weight.shape).backward, len(at.rows), *operands, *results)
        return to_cells, to_rows, to_columns

    def _send_means(
        self, votes: SignedVotes, inputs: list[_LayerInput], i: int, to_rows: Float32, to_columns: Float32
    ) -> tuple[Float32, Float32]:
        """From the gradients of what the means add to those of the matrices, and of the sums over rows and columns."""
        at, layer, grads = inputs[i], self.layers[i], self._grads[i]
        to_all = to_columns.sum(0, keepdims=True)
        grads["row"] += at.row_means.T @ to_rows
        grads["column"] += at.column_means.T @ to_columns
        grads["all"] += at.mean.T @ to_all
        grads["bias"] += to_all
        row_grad = (to_rows @ layer["row"].T).astype(np.float32, copy=False)
        row_grad /= votes.per_row
        column_grad = (to_columns @ layer["column"].T / votes.per_column).astype(np.float32, copy=False)
        column_grad += to_all @ layer["all"].T / np.float32(max(1, len(votes.lf)))
        return row_grad, column_grad


def _array(tensor: torch.Tensor) -> Float32:
    return np.ascontiguousarray(tensor.detach().numpy())


def _make_input(
    layer: dict[str, Float32], votes: SignedVotes, cells: Float32, row_sums: Float32, column_sums: Float32
) -> _LayerInput:
    row_means, column_means = row_sums / votes.per_row, column_sums / votes.per_column
    mean = column_sums.sum(0, keepdims=True) / np.float32(max(1, len(votes.lf)))
    rows = (row_means @ layer["row"]).astype(np.float32, copy=False)
    columns: Float32 = column_means @ layer["column"] + (mean @ layer["all"] + layer["bias"])
    return _LayerInput(cells, row_means, column_means, mean, rows, columns)


def _forward_layer(weight: Float32, votes: SignedVotes, at: _LayerInput) -> tuple[Float32, Float32, Float32]:
    """Activated cells (e, d_out), and their sums over rows and columns."""
    out = np.empty((len(at.cells), weight.shape[1]), np.float32)
    sums = np.empty_like(at.rows), np.zeros_like(at.columns)
    operands = (votes.starts, votes.lf, at.cells, weight, at.rows, at.columns)
    _call(_library(*weight.shape).forward, len(at.rows), *operands, out, *sums)
    return out, *sums
