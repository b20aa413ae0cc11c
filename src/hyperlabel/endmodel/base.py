"""The contract of all end models: what `fit` checks, and what every model can do after it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import NotFittedError, ParameterError

Inputs: TypeAlias = Any  # (n, q) array or sparse matrix of features, or a sequence of n texts
Self = TypeVar("Self", bound="EndModel")

_ROUNDING = 1e-4  # how far a row of probabilities may be from 1: label models compute in float32


def count_items(inputs: Inputs) -> int:
    """Number of items."""
    return int(inputs.shape[0]) if hasattr(inputs, "shape") else len(inputs)


def take_items(inputs: Inputs, index: NDArray[np.intp]) -> Inputs:
    """Some of the items, in the order of their numbers."""
    return inputs[index] if hasattr(inputs, "shape") else [inputs[number] for number in index]


@dataclass(frozen=True)
class Examples:
    """What an end model learns from: n inputs, and (n, k) probabilities of their classes."""

    inputs: Inputs
    probabilities: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.probabilities)

    def take(self, index: NDArray[np.intp]) -> "Examples":
        """Some of the examples."""
        return Examples(take_items(self.inputs, index), self.probabilities[index])

    def split(self, seed: int) -> tuple["Examples", "Examples"]:
        """Three quarters and one quarter at random, as the paper splits training from validation."""
        if len(self) < 2:
            raise ParameterError(f"inputs has {len(self)} item; expected at least 2 to keep some aside for validation")
        order = np.random.default_rng(seed).permutation(len(self))
        aside = max(1, len(self) // 4)
        return self.take(order[aside:]), self.take(order[:aside])


def check_examples(inputs: Inputs, probabilities: object, name: str) -> Examples:
    """Inputs with their probabilities, checked against each other; `name` is said in errors."""
    if isinstance(inputs, str):
        raise ParameterError(f"{name} inputs is one text, {inputs!r:.60}; expected a sequence of texts")
    checked = np.asarray(probabilities, dtype=np.float64)
    if checked.ndim != 2 or checked.shape[1] < 2:
        raise ParameterError(
            f"{name} probabilities has shape {checked.shape}; expected (items, classes) with two classes or more, "
            "as predict_proba of a label model gives them"
        )
    if count_items(inputs) != len(checked) or not len(checked):
        raise ParameterError(
            f"{name} has {count_items(inputs)} inputs and {len(checked)} rows of probabilities; "
            "expected one row for each input, and at least one"
        )
    odd = np.flatnonzero(~((checked >= 0).all(1) & (np.abs(checked.sum(1) - 1) < _ROUNDING)))
    if odd.size:
        raise ParameterError(
            f"{name} probabilities[{odd[0]}] is {checked[odd[0]].tolist()}; expected numbers from 0 to 1 that sum to 1"
        )
    return Examples(inputs, checked)


def cross_entropy(probabilities: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
    """Mean cross-entropy of predicted (n, k) under given (n, k) probabilities, in nats."""
    return float(-(probabilities * np.log(np.maximum(predicted, 1e-12))).sum(1).mean())


class EndModel(ABC):
    """What every end model can do; subclasses are dataclasses whose fields are their hyper-parameters.

    Attributes:
        n_classes_: After `fit`, the number of classes.
    """

    n_classes_: int

    def fit(
        self: Self,
        inputs: Inputs,
        probabilities: object,
        validation: tuple[Inputs, object] | None = None,
    ) -> Self:
        """Learn from the probabilities that a label model gives the items.

        Leave out the items without votes: their probabilities are uniform and teach nothing.

        Args:
            inputs: (n, q) features, or n texts.
            probabilities: (n, k) probabilities of the classes, which may be a label model's or a one-hot truth.
            validation: Inputs and probabilities of other items, for early stopping and the choice of
                hyper-parameters.
        """
        examples = check_examples(inputs, probabilities, "training")
        aside = None if validation is None else check_examples(*validation, "validation")
        if aside is not None and aside.probabilities.shape[1] != examples.probabilities.shape[1]:
            raise ParameterError(
                f"validation probabilities has {aside.probabilities.shape[1]} classes, the training probabilities "
                f"{examples.probabilities.shape[1]}; expected the same classes"
            )
        vars(self).pop("n_classes_", None)  # should learning fail, nothing half-learned is left
        self._fit(examples, aside)
        self.n_classes_ = examples.probabilities.shape[1]
        return self

    def predict_proba(self, inputs: Inputs) -> NDArray[np.float64]:
        """Probabilities of the classes of each item. -> (n, k), rows sum to 1."""
        if not hasattr(self, "n_classes_"):
            raise NotFittedError(f"this {type(self).__name__} has not learned yet; call fit(inputs, probabilities)")
        if count_items(inputs) == 0:
            return np.empty((0, self.n_classes_))
        return self._probabilities(inputs)

    def predict(self, inputs: Inputs) -> NDArray[np.int64]:
        """The most probable class of each item. -> (n,), class numbers."""
        labels: NDArray[np.int64] = self.predict_proba(inputs).argmax(1).astype(np.int64)
        return labels

    @abstractmethod
    def _fit(self, examples: Examples, validation: Examples | None) -> None:
        """Learn; everything is checked."""

    @abstractmethod
    def _probabilities(self, inputs: Inputs) -> NDArray[np.float64]:
        """Probabilities of the classes of at least one item. -> (n, k)."""


def to_features(inputs: Inputs) -> NDArray[np.float64]:
    """Features as a dense array. -> (n, q)."""
    features = np.asarray(inputs.toarray() if hasattr(inputs, "toarray") else inputs, dtype=np.float64)
    if features.ndim != 2:
        raise ParameterError(f"inputs has shape {features.shape}; expected (items, features)")
    odd = np.argwhere(~np.isfinite(features))
    if odd.size:
        raise ParameterError(f"inputs[{odd[0, 0]}, {odd[0, 1]}] is {features[tuple(odd[0])]}; expected a finite number")
    return features


def check_texts(inputs: Sequence[object]) -> list[str]:
    """Texts as a list of strings."""
    for place, text in enumerate(inputs):
        if not isinstance(text, str):
            raise ParameterError(f"inputs[{place}] is {text!r:.60}; expected a text")
    return [str(text) for text in inputs]
