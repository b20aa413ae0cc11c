"""The base of all classifiers on soft labels: `fit` with its checks, predictions, and files."""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Arrays, plain_classes, read_tensors, show, write_tensors
from hyperlabel.classify._inputs import (
    Examples,
    Inputs,
    check_examples,
    count_items,
    read_inputs,
    take_items,
)
from hyperlabel.data import Classes, decode
from hyperlabel.errors import NotFittedError, ParameterError, WeightsError
from hyperlabel.models import strip_prefix, with_prefix

FOLDS = 3
"""Parts of the items; each is judged by what was learned from the others."""


def cross_fit(new: Callable[[], "BaseClassifier"], examples: Examples, fold: NDArray[np.intp]) -> NDArray[np.float64]:
    """Probabilities of each item by a classifier, made by `new`, that has not learned from its part. -> (n, k).

    If all items are in one part, nothing can be held out: the classifier then judges the items it learned from.
    """
    probabilities = np.empty_like(examples.probabilities)
    for part in np.unique(fold):
        held_out, rest = np.flatnonzero(fold == part), np.flatnonzero(fold != part)
        training = examples.take(rest if len(rest) else held_out)
        classifier = new().fit(training.inputs, training.probabilities)
        probabilities[held_out] = classifier.predict_proba(take_items(examples.inputs, held_out))
    return probabilities


def draw_folds(group: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """The part of each of n items, at random; items of a group share one. (n,) -> (n,)."""
    return np.asarray(np.random.default_rng(seed).permutation(group.max() + 1)[group] % FOLDS, np.intp)


SAVED = ("Classifier", "Linear", "MLP", "Scaled", "Tfidf")
"""The classifiers that a file may hold."""


def cross_entropy(probabilities: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
    """Mean cross-entropy of predicted (n, k) under given (n, k) probabilities, in nats."""
    return float(-(probabilities * np.log(np.maximum(predicted, 1e-12))).sum(1).mean())


@dataclass(frozen=True)
class State:
    """Learned state of a classifier."""

    arrays: Arrays = field(default_factory=dict)  # named arrays
    values: dict[str, Any] = field(default_factory=dict)  # values that JSON knows
    # Classifiers that it consists of, by the name of the attribute.
    parts: dict[str, "BaseClassifier"] = field(default_factory=dict)


class BaseClassifier(ABC):
    """Base of all classifiers; subclasses are dataclasses whose fields are their hyper-parameters.

    Attributes:
        classes_: After `fit`, the classes.
    """

    classes_: Classes

    def fit(self, inputs: object, labels: object, validation: tuple[object, object] | None = None) -> Self:
        """Learn from soft labels.

        Args:
            inputs: (n, q) features, or n texts.
            labels: `Labels`, where items without a label are left out; or (n, k) probabilities of the classes, a
                label model's or a one-hot truth. Leave out the items without votes then: their probabilities are
                uniform and teach nothing.
            validation: Inputs and labels of other items, for early stopping and the choice of hyper-parameters.
        """
        examples, classes = check_examples(inputs, labels, "training")
        held_out = None
        if validation is not None:
            held_out, others = check_examples(*validation, "validation")
            if others != classes:
                raise ParameterError(
                    f"validation probabilities has {len(others)} classes, the training probabilities "
                    f"{len(classes)}; expected the same classes"
                )
        vars(self).pop("classes_", None)  # if learning fails, nothing half-learned is left
        self._fit(examples, held_out)
        self.classes_ = classes
        return self

    def predict_proba(self, inputs: object) -> NDArray[np.float64]:
        """Probabilities of the classes of each item. -> (n, k), rows sum to 1."""
        k = len(self._fitted())
        read = read_inputs(inputs)
        return self._probabilities(read) if count_items(read) else np.empty((0, k))

    def predict(self, inputs: object) -> NDArray[Any]:
        """The most probable class of each item. -> (n,)."""
        return decode(self.predict_proba(inputs).argmax(1), self._fitted())

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier to a safetensors file; `load` reads it. Nothing is pickled."""
        arrays, header = self.to_arrays()
        write_tensors(path, arrays, header, "classifier")

    @classmethod
    def load(cls, path: str | Path) -> "BaseClassifier":
        """The classifier in a file that `save` wrote, whatever its class.

        Raises:
            WeightsError: The file is missing, damaged, or holds something else.
        """
        arrays, header = read_tensors(path, "classifier")
        try:
            return from_arrays(arrays, header)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
            raise WeightsError(f"{path} does not hold a complete classifier ({error}); save it again") from error

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """The fitted classifier as named arrays and a header that JSON knows."""
        classes, state, name = plain_classes(self._fitted()), self._state(), type(self).__name__
        packed = {part: each.to_arrays() for part, each in state.parts.items()}
        arrays = with_prefix(state.arrays, "own")
        for part, (inner, _) in packed.items():
            arrays |= with_prefix(inner, part)
        params = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in packed}  # type: ignore[arg-type]
        parts = {part: header for part, (_, header) in packed.items()}
        return arrays, {"class": name, "params": params, "classes": classes, "values": state.values, "parts": parts}

    def _fitted(self) -> Classes:
        if not hasattr(self, "classes_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit(inputs, labels)")
        return self.classes_

    @abstractmethod
    def _fit(self, examples: Examples, validation: Examples | None) -> None:
        """Learn; everything is checked."""

    @abstractmethod
    def _probabilities(self, inputs: Inputs) -> NDArray[np.float64]:
        """Probabilities of the classes of at least one item. -> (n, k)."""

    def _loss(self, examples: Examples) -> float:
        """Mean cross-entropy on examples, while it learns."""
        return cross_entropy(examples.probabilities, self._probabilities(examples.inputs))

    def _state(self) -> State:
        """Return the learned state for `save`; the classes in `SAVED` have it and its inverse, `_restore`."""
        raise ParameterError(f"a {type(self).__name__} cannot be saved; expected one of {', '.join(SAVED)}")


def from_arrays(arrays: Arrays, header: dict[str, Any]) -> BaseClassifier:
    """The inverse of `BaseClassifier.to_arrays`."""
    name = header["class"]
    if name not in SAVED:
        raise ValueError(f"class {show(name)}")
    parts = {part: from_arrays(strip_prefix(arrays, part), inner) for part, inner in header["parts"].items()}
    classifier = getattr(importlib.import_module("hyperlabel.classify"), name)(**header["params"])
    classifier._restore(State(strip_prefix(arrays, "own"), header["values"], parts))
    classifier.classes_ = tuple(header["classes"])
    return classifier  # type: ignore[no-any-return]
