"""Features on one scale, with any classifier of features on top."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_kind
from hyperlabel.classify.base import BaseClassifier, State
from hyperlabel.classify.inputs import Examples, Inputs, check_width, to_matrix
from hyperlabel.classify.linear import Linear


@dataclass
class Scaled(BaseClassifier):
    """Features scaled to rows of about length 1, like those of TF-IDF, with a classifier of features on top.

    Dense features, such as embeddings, are standardized first. Sparse ones keep their zeros: they are divided by one
    number.

    Args:
        head: The classifier of features.

    >>> features = np.array([[-100.0, 3.0], [-200.0, 3.0], [100.0, 3.0], [200.0, 3.0]])
    >>> probabilities = np.array([[0.7, 0.3], [0.9, 0.1], [0.2, 0.8], [0.1, 0.9]])
    >>> Scaled().fit(features, probabilities).predict([[-300.0, 3.0], [300.0, 3.0]]).tolist()
    [0, 1]
    """

    head: BaseClassifier = field(default_factory=Linear)

    def _fit(self, examples: Examples, validation: Examples | None) -> None:
        check_kind(self.head, "head", BaseClassifier, "a classifier of features, such as Linear()")
        features = to_matrix(examples.inputs)
        self._center, self._scale = _measure(features)
        aside = None if validation is None else (self.to_features(validation.inputs), validation.probabilities)
        self.head.fit(self.to_features(features), examples.probabilities, aside)

    def to_features(self, inputs: Inputs) -> Any:
        """(n, q) features on one scale."""
        features = to_matrix(inputs)
        check_width(features, len(self._scale))
        if hasattr(features, "tocsr"):
            return features.multiply(self._scale).tocsr()
        return (features - self._center) * self._scale

    def _probabilities(self, inputs: Inputs) -> NDArray[np.float64]:
        return self.head.predict_proba(self.to_features(inputs))

    def _state(self) -> State:
        return State({"center": self._center, "scale": self._scale}, {}, {"head": self.head})

    def _restore(self, state: State) -> None:
        self._center, self._scale = state.arrays["center"], state.arrays["scale"]
        self.head = state.parts["head"]


def _measure(features: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The middle of each feature, and its factor. (n, q) -> (q,), (q,)."""
    n, q = features.shape
    if hasattr(features, "tocsr"):
        squares = float(features.multiply(features).sum()) / n  # mean squared length of a row
        return np.zeros(q), np.full(q, squares**-0.5 if squares > 0 else 1.0)
    center, spread = features.mean(0), features.std(0)
    # A feature that never varies is left out: its rounding errors would be taken for a signal.
    varies = spread > 1e-12 * np.abs(center)
    return center, np.where(varies, 1 / np.where(varies, spread, 1.0), 0.0) / np.sqrt(q)
