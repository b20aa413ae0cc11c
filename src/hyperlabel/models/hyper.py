"""The hyper label model: one forward pass of a pre-trained network, no training on the data set.

R. Wu, S.-E. Chen, J. Zhang and X. Chu, "Learning Hyper Label Model for Programmatic Weak Supervision",
ICLR 2023. The network approximates h*(X), the mean of all label vectors for which, in each class, more than
half of the LFs are better than random. Abstentions are absent nodes. More than two classes are one-vs-rest
problems whose probabilities are normalised. Gold labels fine-tune a copy of the pre-trained weights.
"""

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Floats
from hyperlabel.models.base import LabelModel, TieBreak
from hyperlabel.network import backward, forward, forward_traced
from hyperlabel.patterns import Patterns
from hyperlabel.weights import Weights, load_weights, read_weights

# The paper's. Its released code in effect runs at 1e-3 and weights two classes equally; benchmarks/fine_tuning.py
# compares the two, and this one never falls below the model that is not fine-tuned.
FINE_TUNING_LR = 1e-4


class HyperLabelModel(LabelModel):
    """Labels from votes in one forward pass.

    Args:
        weights: `default`, `hlm` (the paper's model, trained by this project), or the path of a weights file.
        n_classes: Number of classes; inferred from votes and gold if neither this nor `classes` is given.
        classes: The classes, in the order of their probabilities.
        tie_break: `first`, `abstain` or `random`, for items whose best classes are exactly tied.
        seed: For `tie_break="random"`; everything else is deterministic.

    Attributes:
        weights_: After `fit`, the weights: fine-tuned if gold was given, the pre-trained ones otherwise.
        n_iter_: After `fit`, the number of fine-tuning steps.

    >>> model = HyperLabelModel()
    >>> model.predict([[1, 1, 0], [0, -1, 0], [-1, -1, -1]]).tolist()
    [1, 0, -1]
    """

    def __init__(
        self,
        weights: str | Path = "default",
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
        tie_break: TieBreak = "first",
        seed: int = 0,
    ) -> None:
        super().__init__(n_classes=n_classes, classes=classes, tie_break=tie_break, seed=seed)
        self.weights = weights

    needs_fit = False
    learns_from_gold = True

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        """Fine-tune on gold; without gold there is nothing to learn."""
        self.weights_ = load_weights(self.weights)
        if gold is not None:
            gold = gold * patterns.has_votes[:, None]  # without votes there is nothing to learn from
            self.n_iter_ = int(np.sqrt(gold.sum()))
            self.weights_ = fine_tune(self.weights_, patterns, gold, lr=FINE_TUNING_LR, steps=self.n_iter_)

    def save(self, path: str | Path) -> None:
        """Write the model, its weights fine-tuned or not, to a safetensors file."""
        weights = self._current()
        params = {name: value for name, value in self.get_params().items() if name != "weights"}
        fitted = list(self._fitted_classes) if self._is_fitted() else None
        stated = None if self.classes is None else list(self.classes)
        header = {**weights.header, "params": {**params, "classes": stated}, "fitted_classes": fitted}
        Weights(weights.arrays, header).save(path)

    @classmethod
    def load(cls, path: str | Path) -> "HyperLabelModel":
        """A model from a file that `save` wrote, or from any weights file."""
        weights = read_weights(Path(path))
        model = cls(weights=str(path), **weights.header.get("params", {}))
        if weights.header.get("fitted_classes") is not None:
            model.weights_, model._gold = weights, None
            model._fitted_classes = tuple(weights.header["fitted_classes"])
        return model

    def _current(self) -> Weights:
        return getattr(self, "weights_", None) or load_weights(self.weights)

    def _probabilities(self, patterns: Patterns) -> NDArray[np.float64]:
        return to_probabilities(forward(self._current(), patterns))


def to_probabilities(logits: Floats) -> NDArray[np.float64]:
    """Class probabilities from one-vs-rest logits. (p, q) -> (p, k)."""
    positive = _sigmoid(logits)
    if positive.shape[1] == 1:
        return np.concatenate([1 - positive, positive], axis=1)
    normalised: NDArray[np.float64] = positive / positive.sum(1, keepdims=True)
    return normalised


def _sigmoid(logits: Floats) -> NDArray[np.float64]:
    return 0.5 * (1 + np.tanh(0.5 * logits.astype(np.float64)))


def fine_tune(
    weights: Weights, patterns: Patterns, gold: NDArray[np.int64 | np.float64], *, lr: float, steps: int
) -> Weights:
    """Fine-tune a copy of the weights: full-batch Adam on the cross-entropy of the gold items.

    Args:
        weights: Where to start; they stay as they are.
        patterns: All patterns, those without gold included: they are part of the input.
        gold: (p, k) gold items of each pattern and class, or weights of them.
        lr: Learning rate.
        steps: Number of steps.
    """
    tuned = weights.copy()
    adam = _Adam(tuned.arrays, lr)
    for _ in range(steps):
        logits, trace = forward_traced(tuned, patterns)
        adam.step(backward(tuned, trace, _loss_gradient(logits, gold)))
    return tuned


def _loss_gradient(logits: Floats, gold: NDArray[np.int64 | np.float64]) -> Floats:
    """Gradient of the mean cross-entropy of the gold items. (p, q), (p, k) -> (p, q)."""
    items = gold.sum(1, keepdims=True)
    right = gold[:, 1:] if logits.shape[1] == 1 else gold
    gradient = (items * _sigmoid(logits) - right) / (gold.sum() * logits.shape[1])
    return np.asarray(gradient, np.float32)


class _Adam:
    """Adam over named arrays, which it changes in place."""

    def __init__(self, arrays: dict[str, Floats], lr: float) -> None:
        self.arrays, self.lr, self.t = arrays, lr, 0
        self.moments: dict[str, tuple[Any, Any]] = {n: (0.0, 0.0) for n in arrays}

    def step(self, grads: dict[str, Floats]) -> None:
        self.t += 1
        for name, grad in grads.items():
            first, second = self.moments[name]
            first, second = 0.9 * first + 0.1 * grad, 0.999 * second + 0.001 * grad**2
            self.moments[name] = first, second
            scale = np.sqrt(second / (1 - 0.999**self.t)) + 1e-8
            self.arrays[name] -= self.lr * first / (1 - 0.9**self.t) / scale
