"""The network of the hyper label model paper over patterns, forward and backward, in NumPy.

R. Wu, S.-E. Chen, J. Zhang and X. Chu, "Learning Hyper Label Model for Programmatic Weak Supervision", ICLR 2023. A
layer is `h'(i,j) = leaky(S h(i,j) + R row_mean(i) + C column_mean(j) + G global_mean + b)`; abstentions
are absent, column and global means count how often a pattern occurs. Only `S h` costs per vote. The votes
are at the same positions for every one-vs-rest class, so all classes run in one pass with a class axis: cells are
(e, k * d) for e votes, k classes and width d. Two classes are two such problems as well. The optimum that the network
learns swaps the classes when the votes do; the network does so only roughly, and away from its training data it does
not. Asked about both classes, it swaps exactly: which class comes first has no part in the labels.

Weights are shared by the classes, or, once they were fine-tuned on gold, each class has a copy of its own: the arrays
then have the classes as their first axis.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float32, Float64, VoteLayout, multiply, raise_to, sigmoid
from hyperlabel.data import Patterns
from hyperlabel.networks._base import Gold, Sums
from hyperlabel.networks._weights import Weights

LEAK = np.float32(0.01)  # slope of the activation below zero
HEAD_DEPTH = 3  # linear layers after pooling
LEAST_PROBABILITY = 1e-300  # keeps logarithms finite
MOST_CELLS = 1 << 22  # patterns times LFs times classes that are read at once


@dataclass(frozen=True)
class LayerInput:
    """The input of one pooling layer."""

    cells: Float32  # (e, k * d) one vector per vote
    rows: Float32  # (p, k * d) means over each row's votes, in the order of the layout
    columns: Float32  # (m, k * d) means over each column's votes
    total: Float32  # (1, k * d) mean over all votes


@dataclass(frozen=True)
class Trace:
    """The parts of a forward pass that the backward pass needs."""

    layout: VoteLayout  # where the votes are
    layers: list[LayerInput]  # the input of each pooling layer
    last: Float32  # (e, k * d) the output of the last pooling layer
    head: list[Float32]  # the input of each linear layer of the head, (p, k * d) each


def depth(weights: Weights) -> int:
    """Number of pooling layers."""
    return len(weights.header["widths"])


def forward(weights: Weights, patterns: Patterns) -> tuple[Float32, Trace]:
    """Logits of every class against the rest, and what `backward` needs. -> (p, k), trace."""
    layout = _layout(patterns)
    cells = _signs(layout.vote, patterns.n_classes)
    layers = []
    for i in range(depth(weights)):
        layers.append(_pool(layout, cells))
        cells = _layer(weights, i, layout, layers[-1])
    logits, head = _head(weights, _row_means(layout, cells), patterns.n_classes)
    return _by_pattern(layout, logits), Trace(layout, layers, cells, head)


def _layout(patterns: Patterns) -> VoteLayout:
    return VoteLayout(patterns.starts, patterns.lf, patterns.vote, patterns.counts)


def _by_pattern(layout: VoteLayout, in_layout_order: Float32) -> Float32:
    """From the order of the layout to the order of the patterns. (p, k) -> (p, k)."""
    values = np.empty_like(in_layout_order)
    values[layout.row_order] = in_layout_order
    return values


def _signs(vote: NDArray[np.integer], k: int) -> Float32:
    """(e,) -> (e, k): +1 for the class of the vote, -1 for the others."""
    return np.where(vote[:, None] == np.arange(k), np.float32(1), np.float32(-1))


def _linear(values: Float32, matrix: Float32) -> Float32:
    """Apply a (d_out, d_in) matrix to the numbers of each class, or one of (k, d_out, d_in) to each.

    (r, k * d_in) -> (r, k * d_out).
    """
    d_out, d_in = matrix.shape[-2:]
    rows, width = values.shape
    by_class = values.reshape(rows, width // d_in, d_in)
    if matrix.ndim == 3:
        products = [multiply(by_class[:, c], own) for c, own in enumerate(matrix)]
        return np.stack(products, axis=1).reshape(rows, width // d_in * d_out)
    return multiply(by_class.reshape(-1, d_in), matrix).reshape(rows, width // d_in * d_out)


def _for_classes(bias: Float32, k: int) -> Float32:
    """A bias beside the numbers of each class. (d,) or (k, d) -> (k * d,)."""
    return np.broadcast_to(bias, (k, bias.shape[-1])).reshape(-1)


def _row_means(layout: VoteLayout, cells: Float32) -> Float32:
    """(e, w) -> (p, w); 0 for a row without votes."""
    return layout.sum_rows(cells) / layout.votes_per_row[:, None]


def _pool(layout: VoteLayout, cells: Float32) -> LayerInput:
    sums = layout.sum_columns(cells)
    total = sums.sum(0, keepdims=True) / layout.n_votes
    return LayerInput(cells, _row_means(layout, cells), sums / layout.votes_per_column[:, None], total)


def _layer(weights: Weights, i: int, layout: VoteLayout, inputs: LayerInput) -> Float32:
    """One pooling layer. -> (e, k * d_out)."""
    arrays, d_in = weights.arrays, weights.arrays[f"layer{i}.self"].shape[-1]
    bias = _for_classes(arrays[f"layer{i}.bias"], inputs.total.shape[1] // d_in)
    shared = _linear(inputs.total, arrays[f"layer{i}.all"]) + bias
    cells = _linear(inputs.cells, arrays[f"layer{i}.self"])
    layout.add_columns(cells, _linear(inputs.columns, arrays[f"layer{i}.column"]) + shared)
    layout.add_rows(cells, _linear(inputs.rows, arrays[f"layer{i}.row"]))
    return _leaky(cells)


def _leaky(values: Float32) -> Float32:
    """The activation, in place."""
    np.maximum(values, values * LEAK, out=values)
    return values


def _leaky_slope(activated: Float32) -> Float32:
    """The derivative of the activation, from its output `activated`."""
    return np.where(activated > 0, np.float32(1), LEAK)


def _head(weights: Weights, rows: Float32, k: int) -> tuple[Float32, list[Float32]]:
    """Linear layers on the row means; -> logits (p, k) and the input of each layer."""
    values, inputs = rows, []
    for i in range(HEAD_DEPTH):
        inputs.append(values if i == 0 else _leaky(values))
        bias = _for_classes(weights.arrays[f"head{i}.bias"], k)
        values = _linear(inputs[-1], weights.arrays[f"head{i}.weight"]) + bias
    return values, inputs


def backward(weights: Weights, trace: Trace, grad: Float32) -> dict[str, Float32]:
    """Gradients of all weights by class, given that of the logits. (p, k) -> one (k, ...) array per weight.

    Their sum over the classes is the gradient of weights that all classes share.
    """
    grads: dict[str, Float32] = {}
    rows = _head_backward(weights, trace, grad, grads)
    layout, activated = trace.layout, trace.last
    cells = np.zeros_like(activated)
    layout.add_rows(cells, rows / layout.votes_per_row[:, None])
    for i in range(depth(weights) - 1, -1, -1):
        cells *= _leaky_slope(activated)
        cells = _layer_backward(weights, i, trace, cells, grads)
        activated = trace.layers[i].cells
    return grads


def _head_backward(weights: Weights, trace: Trace, grad: Float32, grads: dict[str, Float32]) -> Float32:
    """Through the head; -> the gradient of the row means (p, k * d), in the order of the layout."""
    k, values = grad.shape[1], grad[trace.layout.row_order]
    for i in range(HEAD_DEPTH - 1, -1, -1):
        grads[f"head{i}.weight"] = _outer(values, trace.head[i], k)
        grads[f"head{i}.bias"] = values.sum(0).reshape(k, -1)
        values = _linear(values, weights.arrays[f"head{i}.weight"].swapaxes(-1, -2))
        if i:
            values *= _leaky_slope(trace.head[i])
    return values


def _outer(outer: Float32, inner: Float32, k: int) -> Float32:
    """The gradients of the matrices of `_linear`. (r, k * d_out), (r, k * d_in) -> (k, d_out, d_in)."""
    to, of = (np.ascontiguousarray(v.reshape(len(v), k, v.shape[1] // k).swapaxes(0, 1)) for v in (outer, inner))
    gradient: Float32 = to.swapaxes(1, 2) @ of
    return gradient


def _layer_backward(weights: Weights, i: int, trace: Trace, grad: Float32, grads: dict[str, Float32]) -> Float32:
    """Through one pooling layer; grad (e, k * d_out), before the activation -> (e, k * d_in)."""
    layout, inputs = trace.layout, trace.layers[i]
    to_rows = layout.sum_rows(grad)
    to_columns = layout.sum_columns(grad / layout.weight[:, None])  # each vote once
    to_total = to_columns.sum(0, keepdims=True)
    terms = {"self": (grad, inputs.cells), "row": (to_rows, inputs.rows), "column": (to_columns, inputs.columns)}
    terms["all"] = (to_total, inputs.total)
    back = {term: weights.arrays[f"layer{i}.{term}"].swapaxes(-1, -2) for term in terms}  # (..., d_in, d_out)
    k = grad.shape[1] // back["self"].shape[-1]
    for term, (outer, inner) in terms.items():
        grads[f"layer{i}.{term}"] = _outer(outer, inner, k)
    grads[f"layer{i}.bias"] = to_total.reshape(k, -1)
    columns = _linear(to_columns, back["column"]) / layout.votes_per_column[:, None]
    columns += _linear(to_total, back["all"]) / layout.n_votes
    cells = _linear(grad, back["self"])
    cells += columns.take(layout.lf, axis=0) * layout.weight[:, None]
    layout.add_rows(cells, _linear(to_rows, back["row"]) / layout.votes_per_row[:, None])
    return cells


def to_probabilities(logits: Float32) -> Float64:
    """Class probabilities from one-vs-rest logits. (p, k) -> (p, k)."""
    positive = sigmoid(logits.astype(np.float64))
    normalized: Float64 = positive / positive.sum(1, keepdims=True)
    return normalized


def sharpen(probabilities: Float64, sharpness: float) -> Float64:
    """Probabilities to a power, normalized; labels stay as they are. (p, k) -> (p, k)."""
    return probabilities if sharpness == 1 else raise_to(probabilities, sharpness, LEAST_PROBABILITY)


@dataclass(frozen=True)
class LayerMeans:
    """The means over all data that a pooling layer needs."""

    # (m, k * d) over each LF's votes; for an LF that never votes, over all votes, so that a later vote counts like one
    # of an average LF.
    columns: Float32
    total: Float32  # (1, k * d) over all votes


State = tuple[LayerMeans, ...]
"""The means that each pooling layer saw, from the first layer on."""


@dataclass(frozen=True)
class PaperNetwork:
    """The paper's network as a `Network`: a pass finds the means of one more layer."""

    weights: Weights
    sharpness: float = 1.0  # the power of the raw probabilities; 1 for the raw ones
    one_sided: bool = False  # whether of two classes the second alone is asked about, as in the authors' package

    def start(self, n_lfs: int, n_classes: int, gold: Gold | None) -> State:
        """The means of no layer are known yet. Gold is not an input of this network: it fine-tunes the weights."""
        return ()

    def sums(self, patterns: Patterns, state: State) -> Sums:
        """Sums over each LF's votes of what the next layer sees, and how many votes. -> (m, k * d), (m,)."""
        layout = _layout(patterns)
        cells = self._cells(layout, patterns, state)
        voting = np.unique(patterns.lf)  # the layout knows only these
        sums, votes = np.zeros((patterns.n_lfs, cells.shape[1])), np.zeros(patterns.n_lfs)
        if len(voting):
            sums[voting], votes[voting] = layout.sum_columns(cells), layout.votes_per_column
        return sums, votes

    def advance(self, state: State, sums: Sums) -> State:
        """Add the means of one more layer."""
        cells, votes = sums
        total = cells.sum(0, keepdims=True) / max(votes.sum(), 1)
        columns = np.where(votes[:, None] > 0, cells / np.maximum(votes, 1)[:, None], total)
        return (*state, LayerMeans(columns.astype(np.float32), total.astype(np.float32)))

    def is_complete(self, state: State) -> bool:
        """After one pass per pooling layer."""
        return len(state) == depth(self.weights)

    def fits(self, patterns: Patterns) -> bool:
        """Up to about 1 GB of numbers."""
        return patterns.n_patterns * patterns.n_lfs * patterns.n_classes <= MOST_CELLS

    def read_at_once(self, patterns: Patterns, gold: Gold | None) -> tuple[State, Float64]:
        """The state of patterns that fit into memory and their probabilities, in a single forward pass. -> (p, k)."""
        logits, trace = forward(self.weights, patterns)
        voting = np.unique(patterns.lf)
        state = []
        for inputs in trace.layers:
            columns = np.repeat(inputs.total, patterns.n_lfs, axis=0)
            columns[voting] = inputs.columns
            state.append(LayerMeans(columns, inputs.total))
        return tuple(state), self._to_probabilities(logits, patterns)

    def probabilities(self, patterns: Patterns, state: State) -> Float64:
        """All layers with known means, then the head. -> (p, k)."""
        layout = _layout(patterns)
        rows = _row_means(layout, self._cells(layout, patterns, state))
        logits, _ = _head(self.weights, rows, patterns.n_classes)
        return self._to_probabilities(_by_pattern(layout, logits), patterns)

    def contributions(self, patterns: Patterns, state: State) -> None:
        """None: its logits are not sums over votes."""

    def to_arrays(self, state: State) -> dict[str, NDArray[Any]]:
        """`layer<i>.columns` and `layer<i>.total`."""
        return {f"layer{i}.{name}": getattr(means, name) for i, means in enumerate(state) for name in _MEANS}

    def from_arrays(self, arrays: dict[str, NDArray[Any]]) -> State:
        """The inverse of `to_arrays`."""
        layers = range(len(arrays) // len(_MEANS))
        return tuple(LayerMeans(*(arrays[f"layer{i}.{name}"] for name in _MEANS)) for i in layers)

    def _cells(self, layout: VoteLayout, patterns: Patterns, state: State) -> Float32:
        """The output of the layers whose means are known. -> (e, k * d)."""
        cells, voting = _signs(layout.vote, patterns.n_classes), np.unique(patterns.lf)
        for i, means in enumerate(state):
            inputs = LayerInput(cells, _row_means(layout, cells), means.columns[voting], means.total)
            cells = _layer(self.weights, i, layout, inputs)
        return cells

    def _to_probabilities(self, logits: Float32, patterns: Patterns) -> Float64:
        """Probabilities of the patterns with the right sharpness; uniform where nobody votes. (p, k) -> (p, k)."""
        if patterns.n_classes == 1:
            return np.ones((len(logits), 1))  # there is only one class
        if self.one_sided and patterns.n_classes == 2:
            logits = logits[:, 1:] * np.array([-1, 1], np.float32)  # what is left for the first class
        probabilities = sharpen(to_probabilities(logits), self.sharpness)
        probabilities[~patterns.has_votes] = 1 / probabilities.shape[1]
        return probabilities


_MEANS = ("columns", "total")
