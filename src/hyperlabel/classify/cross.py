"""Cross-fitting: every item judged by a classifier that has not learned from it."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hyperlabel.classify.inputs import Examples, Inputs, are_texts, take_items

FOLDS = 3
"""Parts of the items; each is judged by what was learned from the others."""


class Learner(Protocol):
    """What learns and judges."""

    def fit(self, inputs: object, labels: object, /) -> "Learner":
        """Learn from soft labels."""

    def predict_proba(self, inputs: object, /) -> NDArray[np.float64]:
        """Probabilities of the classes of each item. -> (n, k)."""


def cross_fit(new: Callable[[], Learner], examples: Examples, fold: NDArray[np.intp]) -> NDArray[np.float64]:
    """Probabilities of each item by a classifier, made by `new`, that has not learned from its part. -> (n, k).

    If all items are in one part, nothing can be held out: the classifier then judges the items it learned from.
    """
    found = np.empty_like(examples.probabilities)
    for part in np.unique(fold):
        aside, rest = np.flatnonzero(fold == part), np.flatnonzero(fold != part)
        taught = examples.take(rest if len(rest) else aside)
        learned = new().fit(taught.inputs, taught.probabilities)
        found[aside] = learned.predict_proba(take_items(examples.inputs, aside))
    return found


def draw_folds(inputs: Inputs, n: int, seed: int) -> NDArray[np.intp]:
    """The part of each of n items, at random; equal texts share a part, as one would give away the other. -> (n,)."""
    group = np.arange(n)
    if are_texts(inputs):
        number: dict[str, int] = {}
        group = np.array([number.setdefault(text, len(number)) for text in inputs])
    order = np.random.default_rng(seed).permutation(group.max() + 1)
    fold: NDArray[np.intp] = order[group] % FOLDS
    return fold
