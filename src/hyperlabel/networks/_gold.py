"""What gold teaches the paper's network: every class gets a copy of the weights of its own, which is fine-tuned.

`fine_tune` is this project's way. `fine_tune_as_released` is that of the authors' package, hyperlm 0.0.5, label for
label: it goes on where the pre-training stopped, with the moments of its optimizer (Adam with amsgrad), on the factors
of the layers' matrices. The weights file has to hold these: see `trained_shapes`.
"""

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Adam, Float32, sigmoid
from hyperlabel.data import Patterns
from hyperlabel.networks._paper import backward, depth, forward
from hyperlabel.networks._weights import COPIES, MOMENTS, OPTIMIZER_STEPS, TERMS, Weights, paper_shapes, trained_shapes

Gold = NDArray[np.int64 | np.float64]
"""(p, k) gold items of each pattern and class, or their weights."""

FINE_TUNING_LR = 1e-3
"""That of the authors' code, not of the paper's text, 1e-4, at which gold changes next to nothing: the variants are
compared in experiments/fine_tuning.py."""

RELEASED_LR = 1e-3
"""The rate of the pre-training: their code asks for 1e-4, and then loads the optimizer's state, rate included."""

Trained = dict[str, Float32]
"""The arrays that the authors' optimizer changes, (k, ...) each: a copy for every class."""


def fine_tune(weights: Weights, patterns: Patterns, gold: NDArray[np.int64], steps: int) -> Weights:
    """Fine-tune a copy of the weights for each class: full-batch Adam on the cross-entropy of the gold items.

    Patterns without gold are part of the input.
    """
    if steps == 0:
        return weights
    widths = weights.header["widths"]
    tuned = _with_copies(weights, _repeat({name: weights.arrays[name] for name in paper_shapes(widths)}, gold.shape[1]))
    adam, sides = Adam(dict(tuned.arrays)), weigh_gold(gold)
    for _ in range(steps):
        logits, trace = forward(tuned, patterns)
        adam.step(dict(backward(tuned, trace, loss_gradient(logits, *sides))), FINE_TUNING_LR)
    return tuned


def _repeat(arrays: dict[str, Float32], k: int) -> dict[str, Float32]:
    return {name: np.repeat(array[None], k, axis=0) for name, array in arrays.items()}


def _with_copies(weights: Weights, arrays: dict[str, Float32]) -> Weights:
    """Weights with one copy per class, (k, ...) each."""
    kept = {key: value for key, value in weights.header.items() if key != OPTIMIZER_STEPS}
    return Weights(arrays, kept | {COPIES: len(arrays["head0.bias"])})


def weigh_gold(gold: NDArray[np.int64]) -> tuple[Gold, Gold]:
    """Weights of the gold items of each class, and of those of the others, as in the authors' package.

    Two classes weigh the same, however many gold items each has; of more classes every item weighs the same.
    """
    others, items = gold.sum(1, keepdims=True) - gold, max(gold.sum(), 1)
    if gold.shape[1] > 2:
        return gold / items, others / items
    share = gold.sum(0) / items
    return gold * (1 - share) / items, others * share / items


def loss_gradient(logits: Float32, own: Gold, others: Gold) -> Float32:
    """Gradient of the cross-entropy of each class against the rest; all (p, k)."""
    gradient = (own + others) * sigmoid(logits.astype(np.float64)) - own
    return np.asarray(gradient, np.float32)


def fine_tune_as_released(weights: Weights, patterns: Patterns, gold: NDArray[np.int64], steps: int) -> Weights:
    """Fine-tune as the authors' package does; of two classes, it then asks the copy of the second alone."""
    names, k = trained_shapes(weights.header["widths"]), gold.shape[1]
    trained, *moments = (
        _repeat({name: weights.arrays[f"{kind}.{name}"] for name in names}, k) for kind in ("trained", *MOMENTS)
    )
    sides = weigh_gold(gold)
    for step in range(1, steps + 1):
        tuned = _with_copies(weights, compose(trained, depth(weights)))
        logits, trace = forward(tuned, patterns)
        gradients = _factor_gradients(trained, backward(tuned, trace, loss_gradient(logits, *sides)), depth(weights))
        _step_amsgrad(trained, moments, gradients, weights.header[OPTIMIZER_STEPS] + step)
    return _with_copies(weights, compose(trained, depth(weights)))


def compose(trained: Trained, layers: int) -> dict[str, Float32]:
    """The arrays of the network from those that are trained: maps of the four terms, side by side, then `out`."""
    arrays = {name: array for name, array in trained.items() if name.startswith("head")}
    for i in range(layers):
        arrays[f"layer{i}.bias"] = trained[f"layer{i}.out_bias"]
        for term, out in _blocks(trained[f"layer{i}.out"]).items():
            arrays[f"layer{i}.{term}"] = out @ trained[f"layer{i}.{term}_map"]
            added = (out @ trained[f"layer{i}.{term}_bias"][..., None])[..., 0]
            arrays[f"layer{i}.bias"] = arrays[f"layer{i}.bias"] + added
    return arrays


def _blocks(out: Float32) -> dict[str, Float32]:
    """The part of `out` that each term meets. (..., d_out, 4 * d_in) -> (..., d_out, d_in) each."""
    return dict(zip(TERMS, np.split(out, len(TERMS), axis=-1), strict=True))


def _factor_gradients(trained: Trained, composed: dict[str, Float32], layers: int) -> Trained:
    """The gradients of what is trained, from those of the network's arrays, by the chain rule."""
    gradients = {name: array for name, array in composed.items() if name.startswith("head")}
    for i in range(layers):
        bias = composed[f"layer{i}.bias"]
        of_blocks = []
        for term, out in _blocks(trained[f"layer{i}.out"]).items():
            gradient, back = composed[f"layer{i}.{term}"], out.swapaxes(-1, -2)
            own_map, own_bias = trained[f"layer{i}.{term}_map"], trained[f"layer{i}.{term}_bias"]
            of_blocks.append(gradient @ own_map.swapaxes(-1, -2) + bias[..., None] * own_bias[..., None, :])
            gradients[f"layer{i}.{term}_map"] = back @ gradient
            gradients[f"layer{i}.{term}_bias"] = (back @ bias[..., None])[..., 0]
        gradients |= {f"layer{i}.out": np.concatenate(of_blocks, axis=-1), f"layer{i}.out_bias": bias}
    return gradients


def _step_amsgrad(trained: Trained, moments: list[Trained], gradients: Trained, step: int) -> None:
    """One step of Adam with amsgrad: the largest mean square so far takes the place of the present one."""
    mean, square, largest = moments
    for name, gradient in gradients.items():
        mean[name] += np.float32(0.1) * (gradient - mean[name])
        square[name] = np.float32(0.999) * square[name] + np.float32(0.001) * gradient**2
        largest[name] = np.maximum(largest[name], square[name])
        deviation = np.sqrt(largest[name]) / np.float32((1 - 0.999**step) ** 0.5) + np.float32(1e-8)
        trained[name] -= np.float32(RELEASED_LR / (1 - 0.9**step)) * mean[name] / deviation
