"""Inputs of classifiers: texts or features of items, with soft labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import show
from hyperlabel.data import Classes, Labels, as_array, as_list, is_sparse, refuse_masked
from hyperlabel.errors import ParameterError

Inputs: TypeAlias = Any  # (n, q) array or sparse matrix of features, or a list of n texts

_EXPECTED = (
    "(items, classes) of numbers with two classes or more, as predict_proba of a label model gives them, or Labels"
)
_ROUNDING = 1e-4  # how far a row of probabilities may be from 1: label models compute in float32


def read_inputs(inputs: Any, name: str = "inputs") -> Inputs:
    """Texts as a list; features as they are, or as an array if they are a frame.

    >>> read_inputs(np.array(["free money", "see you"]))
    ['free money', 'see you']
    """
    if isinstance(inputs, str):
        raise ParameterError(f"{name} is one text, {show(inputs)}; expected a sequence of texts")
    if is_sparse(inputs):
        return _read_sparse(inputs, name)
    values = inputs.to_numpy() if hasattr(type(inputs), "to_numpy") else inputs  # series and frames
    if not isinstance(values, np.ndarray) or not values.ndim:
        return as_list(values, name, "texts, or an array of items by features")
    refuse_masked(values, name)
    return values.tolist() if values.ndim == 1 and values.dtype.kind in "OUT" else np.asarray(values)


def _read_sparse(inputs: Any, name: str) -> Any:
    """A sparse matrix of features by rows; everything that it stores is a finite number."""
    if len(inputs.shape) != 2 or inputs.dtype.kind not in "biuf":
        raise ParameterError(
            f"{name} has shape {inputs.shape} and type {inputs.dtype}; expected numbers, (items, features)"
        )
    features = inputs.asformat("csr")
    odd = np.flatnonzero(~np.isfinite(features.data))
    if odd.size:
        row = int(np.searchsorted(features.indptr, odd[0], side="right")) - 1
        where = f"{name}[{row}, {features.indices[odd[0]]}]"
        raise ParameterError(f"{where} is {features.data[odd[0]]}; expected a finite number")
    return features


def are_texts(inputs: Inputs) -> bool:
    """Return whether inputs are texts, not features."""
    return isinstance(inputs, list) and any(isinstance(text, str) for text in inputs)


def count_items(inputs: Inputs) -> int:
    """Number of items."""
    return int(inputs.shape[0]) if hasattr(inputs, "shape") else len(inputs)


def group_items(inputs: Inputs) -> NDArray[np.intp]:
    """Equal numbers for equal texts, which are held out together: one gives away the other. -> (n,).

    >>> group_items(["a", "b", "a"]).tolist()
    [0, 1, 0]
    """
    if not are_texts(inputs):
        return np.arange(count_items(inputs))
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in inputs], np.intp)


def take_items(inputs: Inputs, index: NDArray[np.intp]) -> Inputs:
    """Some of the items, in the order of their numbers."""
    return inputs[index] if hasattr(inputs, "shape") else [inputs[number] for number in index]


@dataclass(frozen=True)
class Examples:
    """Training examples: n inputs, and (n, k) probabilities of their classes."""

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
            raise ParameterError(f"inputs has {len(self)} item; expected at least 2, to hold some out for validation")
        order = np.random.default_rng(seed).permutation(len(self))
        aside = max(1, len(self) // 4)
        return self.take(order[aside:]), self.take(order[:aside])


def check_examples(inputs: object, labels: object, name: str) -> tuple[Examples, Classes]:
    """Inputs with their soft labels, checked against each other; errors use `name`.

    Items without a label are left out.
    """
    read = read_inputs(inputs, f"{name} inputs")
    if isinstance(labels, Labels):
        labels.identity.check_index(inputs, f"{name} inputs")
    probabilities = as_array(
        labels.probabilities if isinstance(labels, Labels) else labels, f"{name} probabilities", _EXPECTED
    )
    if probabilities.ndim != 2 or probabilities.shape[1] < 2 or probabilities.dtype.kind not in "biufO":
        raise ParameterError(
            f"{name} probabilities has shape {probabilities.shape} and type {probabilities.dtype}; expected {_EXPECTED}"
        )
    probabilities = probabilities.astype(np.float64)
    if count_items(read) != len(probabilities) or not len(probabilities):
        raise ParameterError(
            f"{name} has {count_items(read)} inputs and {len(probabilities)} rows of probabilities; "
            "expected one row per input, and at least one"
        )
    odd = np.flatnonzero(~((probabilities >= 0).all(1) & (np.abs(probabilities.sum(1) - 1) < _ROUNDING)))
    if odd.size:
        shown = probabilities[odd[0]].tolist()
        raise ParameterError(f"{name} probabilities[{odd[0]}] is {shown}; expected numbers from 0 to 1 that sum to 1")
    examples = Examples(read, probabilities)
    if not isinstance(labels, Labels):
        return examples, tuple(range(probabilities.shape[1]))
    labeled = np.flatnonzero(labels.best >= 0)
    if not len(labeled):
        raise ParameterError(f"{name} labels has no label at all; expected some items with votes or gold")
    return examples.take(labeled), labels.classes


def to_features(inputs: Inputs) -> NDArray[np.float64]:
    """Features as a dense array. -> (n, q)."""
    try:
        features = np.asarray(inputs.toarray() if hasattr(inputs, "toarray") else inputs, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"inputs cannot be read as numbers ({error}); expected (items, features)") from error
    if features.ndim != 2:
        raise ParameterError(f"inputs has shape {features.shape}; expected (items, features)")
    odd = np.argwhere(~np.isfinite(features))
    if odd.size:
        raise ParameterError(f"inputs[{odd[0, 0]}, {odd[0, 1]}] is {features[tuple(odd[0])]}; expected a finite number")
    return features


def to_matrix(inputs: Inputs) -> Inputs:
    """(n, q) features, kept sparse if they are sparse."""
    return inputs if is_sparse(inputs) else to_features(inputs)


def check_width(features: Inputs, width: int) -> None:
    """Refuse another number of features than `fit` saw."""
    if features.shape[1] != width:
        raise ParameterError(f"inputs has {features.shape[1]} features; expected {width}, as in fit")


def check_texts(inputs: Sequence[object]) -> list[str]:
    """Texts as a list of strings."""
    for i, text in enumerate(inputs):
        if not isinstance(text, str):
            raise ParameterError(f"inputs[{i}] is {show(text)}; expected a text")
    return list(map(str, inputs))
