"""Gold labels for the paper's network: its weights, fine-tuned."""

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float32, sigmoid
from hyperlabel.networks.paper import backward, forward
from hyperlabel.optimize import Adam
from hyperlabel.patterns import Patterns
from hyperlabel.weights import Weights


def fine_tune(
    weights: Weights, patterns: Patterns, gold: NDArray[np.int64 | np.float64], *, lr: float, steps: int
) -> Weights:
    """Fine-tune a copy of the weights: full-batch Adam on the cross-entropy of the gold items.

    Args:
        weights: Where to start; they are not changed.
        patterns: All patterns, including those without gold: they are part of the input.
        gold: (p, k) gold items of each pattern and class, or weights of them.
        lr: Learning rate.
        steps: Number of steps.
    """
    tuned = weights.copy()
    adam = Adam(dict(tuned.arrays))
    for _ in range(steps):
        logits, trace = forward(tuned, patterns)
        adam.step(dict(backward(tuned, trace, _loss_gradient(logits, gold))), lr)
    return tuned


def _loss_gradient(logits: Float32, gold: NDArray[np.int64 | np.float64]) -> Float32:
    """Gradient of the mean cross-entropy of the gold items, each class against the rest. (p, k), (p, k) -> (p, k)."""
    items = gold.sum(1, keepdims=True)
    gradient = (items * sigmoid(logits.astype(np.float64)) - gold) / (gold.sum() * logits.shape[1])
    return np.asarray(gradient, np.float32)
