"""The hyper label network over patterns, forward and backward, in NumPy.

A layer is `h'(i,j) = leaky(S h(i,j) + R row_mean(i) + C column_mean(j) + G global_mean + b)`; abstentions
are absent, column and global means count how often a pattern occurs. Only `S h` costs per vote. The votes
have the same places for every one-vs-rest class, so all classes run in one pass with a class axis: cells are
(e, q * d) for e votes, q one-vs-rest problems (1 for two classes) and width d.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Floats, VoteLayout, multiply
from hyperlabel.patterns import Patterns
from hyperlabel.weights import Weights

LEAK = np.float32(0.01)  # slope of the activation below zero


@dataclass(frozen=True)
class LayerInput:
    """What one pooling layer sees.

    Attributes:
        cells: (e, q * d) one vector a vote.
        rows: (p, q * d) means over each row's votes, by place in the layout.
        columns: (m, q * d) means over each column's votes.
        total: (1, q * d) mean over all votes.
    """

    cells: Floats
    rows: Floats
    columns: Floats
    total: Floats


@dataclass(frozen=True)
class Trace:
    """What the backward pass needs of a forward pass.

    Attributes:
        layout: Where the votes are.
        layers: What each pooling layer saw.
        last: (e, q * d) what the last pooling layer gave.
        head: What each linear layer of the head saw, (p * q, d) each.
    """

    layout: VoteLayout
    layers: list[LayerInput]
    last: Floats
    head: list[Floats]


def problems(k: int) -> int:
    """One-vs-rest problems for k classes: two classes are one problem."""
    return 1 if k == 2 else k


def forward(weights: Weights, patterns: Patterns) -> Floats:
    """Logits of every pattern and one-vs-rest problem. -> (p, q)."""
    layout = _layout(patterns)
    cells = _signs(layout.vote, patterns.n_classes)
    for i in range(weights.depth):
        cells = _layer(weights, i, layout, _pool(layout, cells))
    logits, _ = _head(weights, _row_means(layout, cells), problems(patterns.n_classes))
    return _by_pattern(layout, logits)


def forward_traced(weights: Weights, patterns: Patterns) -> tuple[Floats, Trace]:
    """As `forward`, with what `backward` needs."""
    layout = _layout(patterns)
    cells = _signs(layout.vote, patterns.n_classes)
    layers = []
    for i in range(weights.depth):
        layers.append(_pool(layout, cells))
        cells = _layer(weights, i, layout, layers[-1])
    logits, head = _head(weights, _row_means(layout, cells), problems(patterns.n_classes))
    return _by_pattern(layout, logits), Trace(layout, layers, cells, head)


def _layout(patterns: Patterns) -> VoteLayout:
    return VoteLayout(patterns.starts, patterns.lf, patterns.vote, patterns.counts)


def _by_pattern(layout: VoteLayout, by_place: Floats) -> Floats:
    """From the order of the layout to the order of the patterns. (p, q) -> (p, q)."""
    values = np.empty_like(by_place)
    values[layout.row_order] = by_place
    return values


def _signs(vote: NDArray[np.integer], k: int) -> Floats:
    """(e,) -> (e, q): +1 where the vote is for the problem's class, -1 where it is for another."""
    targets = np.arange(1, 2) if k == 2 else np.arange(k)
    return np.where(vote[:, None] == targets, np.float32(1), np.float32(-1))


def _linear(values: Floats, matrix: Floats) -> Floats:
    """Apply a (d_out, d_in) matrix to each problem's numbers. (r, q * d_in) -> (r, q * d_out)."""
    d_out, d_in = matrix.shape
    rows, width = values.shape
    return multiply(values.reshape(rows * width // d_in, d_in), matrix).reshape(rows, width // d_in * d_out)


def _row_means(layout: VoteLayout, cells: Floats) -> Floats:
    """(e, w) -> (p, w); 0 for a row without votes."""
    return layout.sum_rows(cells) / layout.votes_per_row[:, None]


def _pool(layout: VoteLayout, cells: Floats) -> LayerInput:
    sums = layout.sum_columns(cells)
    total = sums.sum(0, keepdims=True) / layout.n_votes
    return LayerInput(cells, _row_means(layout, cells), sums / layout.votes_per_column[:, None], total)


def _layer(weights: Weights, i: int, layout: VoteLayout, seen: LayerInput) -> Floats:
    """One pooling layer. -> (e, q * d_out)."""
    arrays, d_in = weights.arrays, weights.arrays[f"layer{i}.self"].shape[1]
    bias = np.tile(arrays[f"layer{i}.bias"], seen.total.shape[1] // d_in)
    shared = _linear(seen.total, arrays[f"layer{i}.all"]) + bias
    cells = _linear(seen.cells, arrays[f"layer{i}.self"])
    layout.add_columns(cells, _linear(seen.columns, arrays[f"layer{i}.column"]) + shared)
    layout.add_rows(cells, _linear(seen.rows, arrays[f"layer{i}.row"]))
    return _leaky(cells)


def _leaky(values: Floats) -> Floats:
    """The activation, in place."""
    np.maximum(values, values * LEAK, out=values)
    return values


def _leaky_slope(activated: Floats) -> Floats:
    """The derivative of the activation where it gave `activated`."""
    return np.where(activated > 0, np.float32(1), LEAK)


def _head(weights: Weights, rows: Floats, q: int) -> tuple[Floats, list[Floats]]:
    """Linear layers on the row means; -> logits (p, q) and what each layer saw."""
    values = rows.reshape(len(rows) * q, rows.shape[1] // q)
    seen = []
    for i in range(weights.head_depth):
        seen.append(values if i == 0 else _leaky(values))
        values = multiply(seen[-1], weights.arrays[f"head{i}.weight"]) + weights.arrays[f"head{i}.bias"]
    return values.reshape(-1, q), seen


def backward(weights: Weights, trace: Trace, grad: Floats) -> dict[str, Floats]:
    """Gradients of all weights, given the gradient of the logits. (p, q) -> one array a weight."""
    grads: dict[str, Floats] = {}
    rows = _head_backward(weights, trace, grad, grads)
    layout, activated = trace.layout, trace.last
    cells = np.zeros_like(activated)
    layout.add_rows(cells, rows / layout.votes_per_row[:, None])
    for i in range(weights.depth - 1, -1, -1):
        cells *= _leaky_slope(activated)
        cells = _layer_backward(weights, i, trace, cells, grads)
        activated = trace.layers[i].cells
    return grads


def _head_backward(weights: Weights, trace: Trace, grad: Floats, grads: dict[str, Floats]) -> Floats:
    """Through the head; -> the gradient of the row means (p, q * d), by place."""
    p, q = grad.shape
    values = grad[trace.layout.row_order].reshape(p * q, 1)
    for i in range(weights.head_depth - 1, -1, -1):
        grads[f"head{i}.weight"] = values.T @ trace.head[i]
        grads[f"head{i}.bias"] = values.sum(0)
        values = values @ weights.arrays[f"head{i}.weight"]
        if i:
            values *= _leaky_slope(trace.head[i])
    return values.reshape(p, -1)


def _layer_backward(weights: Weights, i: int, trace: Trace, grad: Floats, grads: dict[str, Floats]) -> Floats:
    """Through one pooling layer; grad (e, q * d_out), before the activation -> (e, q * d_in)."""
    layout, seen = trace.layout, trace.layers[i]
    to_rows = layout.sum_rows(grad)
    to_columns = layout.sum_columns(grad / layout.weight[:, None])  # each vote once
    to_total = to_columns.sum(0, keepdims=True)
    terms = {"self": (grad, seen.cells), "row": (to_rows, seen.rows), "column": (to_columns, seen.columns)}
    terms["all"] = (to_total, seen.total)
    matrices = {term: weights.arrays[f"layer{i}.{term}"] for term in terms}
    for term, (outer, inner) in terms.items():
        d_out, d_in = matrices[term].shape
        grads[f"layer{i}.{term}"] = outer.reshape(-1, d_out).T @ inner.reshape(-1, d_in)
    grads[f"layer{i}.bias"] = to_total.reshape(-1, len(matrices["self"])).sum(0)
    columns = _linear(to_columns, matrices["column"].T) / layout.votes_per_column[:, None]
    columns += _linear(to_total, matrices["all"].T) / layout.n_votes
    cells = _linear(grad, matrices["self"].T)
    cells += columns.take(layout.lf, axis=0) * layout.weight[:, None]
    layout.add_rows(cells, _linear(to_rows, matrices["row"].T) / layout.votes_per_row[:, None])
    return cells
