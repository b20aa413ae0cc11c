"""Probabilities to labels and back, with Snorkel's tie-break policies; and filters for items."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import ABOVE_ZERO, Float64, check_choice, check_memory, check_number, show
from hyperlabel.data import ABSTAIN, as_array
from hyperlabel.errors import ParameterError, VotesError

Labels = NDArray[np.int_]

_LARGEST = 2**53  # the largest label that a float holds exactly
POLICIES = ("abstain", "random", "true-random")


def probs_to_preds(probs: Float64, tie_break_policy: str = "random", tol: float = 1e-5) -> Labels:
    """Return the most probable class of each item. (n, k) -> (n,).

    Args:
        probs: (n, k) probabilities.
        tie_break_policy: Label of an item whose best classes are tied: `abstain`, -1; `random`, one of them by a hash
            of its index; `true-random`, one of them drawn by NumPy's global generator.
        tol: Probabilities closer than this are tied.

    >>> probs_to_preds(np.array([[0.5, 0.5], [0.2, 0.8]]), tie_break_policy="abstain").tolist()
    [-1, 1]
    """
    probs = as_numbers(probs, "probs", "an array of probabilities").astype(np.float64)
    if probs.ndim != 2 or probs.shape[1] < 2:
        raise ParameterError(f"probs has shape {probs.shape}; expected (items, classes) with at least 2 classes")
    check_choice(tie_break_policy, "tie_break_policy", POLICIES)
    check_number(tol, "tol", "a number above 0", least=ABOVE_ZERO)
    tied = np.abs(probs - probs.max(axis=1, keepdims=True)) < tol
    labels: Labels = tied.argmax(1).astype(np.int_)
    for i in np.flatnonzero(tied.sum(1) != 1):
        labels[i] = _break_tie(int(i), np.flatnonzero(tied[i]), tie_break_policy)
    return labels


def _break_tie(item: int, classes: NDArray[np.intp], policy: str) -> int:
    if policy == "abstain":
        return ABSTAIN
    if policy == "true-random":
        return int(np.random.choice(classes))  # noqa: NPY002 - the generator that Snorkel's users seed
    digest = hashlib.sha1(str(item).encode(), usedforsecurity=False).hexdigest()
    return int(classes[int(digest, 16) % len(classes)])


def preds_to_probs(preds: NDArray[np.integer], num_classes: int) -> Float64:
    """Give the class of each label probability 1. (n,) or (n, 1) -> (n, k).

    >>> preds_to_probs(np.array([1, 0]), 2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    labels, k = to_int_label_array(preds), int(num_classes)
    if (labels < 0).any():
        raise VotesError(f"preds[{(labels < 0).argmax()}] abstains, which has no probability; leave it out")
    if (labels >= k).any():
        i = int((labels >= k).argmax())
        raise VotesError(f"preds[{i}] is {labels[i]}; expected a class below {k}, the num_classes")
    check_memory(len(labels) * k, f"{len(labels):,} labels of {k:,} classes", "give fewer classes")
    one_hot: Float64 = np.zeros((len(labels), k))
    one_hot[np.arange(len(labels)), labels] = 1
    return one_hot


def to_int_label_array(X: object, flatten_vector: bool = True) -> Labels:
    """Return labels as integers, in one dimension if asked. (n,) or (n, 1) -> (n,).

    >>> to_int_label_array(np.array([[1.0], [0.0]])).tolist()
    [1, 0]
    """
    numbers = as_numbers(X, "labels", "whole numbers, one label per item")
    wrong = (np.mod(numbers, 1) != 0) | (np.abs(numbers) > _LARGEST)
    if wrong.any():
        raise VotesError(f"labels hold {numbers[wrong].flat[0]!r}; expected whole numbers")
    labels = numbers.astype(np.int_)
    if not flatten_vector:
        return labels
    if labels.size != max(labels.shape, default=1):
        raise VotesError(f"labels have shape {labels.shape}; expected one label per item")
    return labels.ravel()


def as_numbers(values: object, argument: str, expected: str) -> NDArray[Any]:
    """Return an argument as an array of finite numbers, of any shape; refuse anything else."""
    array = as_array(values, argument, expected)
    try:
        numbers = array if array.dtype.kind in "biuf" else array.astype(np.float64)
        if array.dtype.kind in "biufO" and np.isfinite(numbers).all():
            return numbers
    except (TypeError, ValueError, OverflowError):  # objects that are no numbers
        pass
    raise VotesError(f"{argument} is {show(values)}; expected {expected}")


def filter_labels(
    label_dict: Mapping[str, NDArray[Any] | None], filter_dict: Mapping[str, Sequence[int]]
) -> dict[str, NDArray[Any] | None]:
    """Drop the items that have one of some labels from arrays of the same items.

    Args:
        label_dict: (n, ...) arrays by name; None stays None.
        filter_dict: For some of the names, the labels whose items are dropped.

    >>> kept = filter_labels({"golds": np.array([-1, 0, 1]), "preds": np.array([0, 0, -1])}, {"golds": [-1]})
    >>> kept["preds"].tolist()
    [0, -1]
    """
    arrays = {name: np.asarray(array) for name, array in label_dict.items() if array is not None}
    if len({array.shape[:1] for array in arrays.values()} | {()}) > 2 or any(a.ndim == 0 for a in arrays.values()):
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise VotesError(f"the shapes are {shapes}; expected an array with an entry per item each, of the same items")
    masks = [~np.isin(np.ravel(arrays[name]), dropped) for name, dropped in filter_dict.items() if name in arrays]
    kept = np.logical_and.reduce(masks) if masks else slice(None)
    return {name: arrays[name][kept] if name in arrays else None for name in label_dict}


def filter_unlabeled_dataframe(X: Any, y: NDArray[Any], L: NDArray[np.integer]) -> tuple[Any, NDArray[Any]]:
    """Keep the items on which at least one LF votes.

    Args:
        X: A pandas frame of n items.
        y: (n, ...) values of the items, such as probabilities.
        L: (n, m) votes, -1 abstains.

    >>> import pandas as pd
    >>> kept, probs = filter_unlabeled_dataframe(
    ...     pd.DataFrame({"text": ["a", "b"]}), np.array([[0.5, 0.5], [0.1, 0.9]]), np.array([[-1, -1], [1, -1]])
    ... )
    >>> kept.text.tolist(), probs.tolist()
    (['b'], [[0.1, 0.9]])
    """
    votes, values = as_numbers(L, "L", "an array of votes"), np.asarray(y)
    if votes.ndim != 2 or not len(X) == len(votes) == len(values):
        raise VotesError(
            f"X has {len(X)} items, y has shape {values.shape}, L {votes.shape}; expected n items, (n, ...) and "
            "(n, LFs)"
        )
    covered = (votes != ABSTAIN).any(axis=1)
    return X.iloc[covered], values[covered]
