"""Evidence of texts: log-odds of the classes by three views that learn from soft labels.

The views are logistic regression on TF-IDF, logistic regression on dense vectors, and the nearest neighbors among
these. Each is judged on items that it has not learned from, and its log-odds are scaled to fit their soft labels
(temperature scaling).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Arrays, Float64, raise_to
from hyperlabel.classify._base import FOLDS, cross_entropy, draw_folds
from hyperlabel.classify._inputs import Examples
from hyperlabel.classify._light import Linear
from hyperlabel.classify._vectors import Vectors

L2 = 1e-3
NEIGHBORS = 15
MOST_NEIGHBORS = 20_000
"""Items that neighbors are sought among; of more, some at random."""
LEAST = 1e-6  # a class that a view or the votes rule out counts as this probable
_POWERS = np.geomspace(0.25, 4, 33)
_ROWS = 1000  # items whose neighbors are sought at a time

Index = NDArray[np.intp]


def log_odds(probabilities: Float64) -> Float64:
    """Logarithms of probabilities, with mean 0 in each row. (n, k) -> (n, k)."""
    logs = np.log(np.maximum(probabilities, LEAST))
    return np.asarray(logs - logs.mean(1, keepdims=True), np.float64)


@dataclass(frozen=True)
class Neighbors:
    """Soft labels of the most similar items, weighted by similarity, with the mean of all counting as one item."""

    dense: NDArray[np.float32]  # (t, d)
    targets: Float64  # (t, k)

    @classmethod
    def fit(cls, dense: NDArray[np.float32], targets: Float64) -> "Neighbors":
        if len(dense) > MOST_NEIGHBORS:
            kept = np.sort(np.random.default_rng(0).permutation(len(dense))[:MOST_NEIGHBORS])
            dense, targets = dense[kept], targets[kept]
        return cls(dense, targets)

    def predict(self, dense: NDArray[np.float32]) -> Float64:
        """Probabilities of items. (n, d) -> (n, k)."""
        starts = range(0, len(dense), _ROWS)
        parts = [self._predict(dense[start : start + _ROWS]) for start in starts]
        return np.concatenate([np.empty((0, self.targets.shape[1])), *parts])

    def _predict(self, dense: NDArray[np.float32]) -> Float64:
        similar, most = dense @ self.dense.T, min(NEIGHBORS, len(self.dense))
        nearest = np.argpartition(-similar, most - 1, axis=1)[:, :most]  # (n, most)
        weight = np.maximum(np.take_along_axis(similar, nearest, 1), LEAST)[:, :, None]
        sums = (self.targets[nearest] * weight).sum(1) + self.targets.mean(0)
        return np.asarray(sums / sums.sum(1, keepdims=True), np.float64)


@dataclass(frozen=True)
class Views:
    """The three views after learning."""

    terms: Linear
    dense: Linear
    neighbors: Neighbors
    powers: Float64  # (3,) of each view's probabilities

    @classmethod
    def fit(cls, vectors: Vectors, targets: Float64, teachers: Index) -> tuple["Views", Float64]:
        """Learn from the (n, k) targets of some items; a row of targets sums to the weight of its item.

        Returns the views and the log-odds of all items by each, held out where they learn from an item. -> (3, n, k).
        """
        whole = cls._learn(vectors, targets, teachers)
        fold = draw_folds(vectors.group, 0)
        shares = whole._predict(vectors, np.arange(len(vectors)))
        for part in range(FOLDS):
            held_out, rest = teachers[fold[teachers] == part], teachers[fold[teachers] != part]
            if len(held_out) and len(rest):
                shares[:, held_out] = cls._learn(vectors, targets, rest)._predict(vectors, held_out)
        soft = targets[teachers] / targets[teachers].sum(1, keepdims=True)
        views = cls(
            whole.terms, whole.dense, whole.neighbors, np.array([_fit_power(s[teachers], soft) for s in shares])
        )
        return views, views._scale(shares)

    @classmethod
    def _learn(cls, vectors: Vectors, targets: Float64, teachers: Index) -> "Views":
        goal, dense = targets[teachers], vectors.dense[teachers]
        heads = (fit_linear(vectors.terms[teachers], goal), fit_linear(dense, goal))
        return cls(*heads, Neighbors.fit(dense, goal), np.ones(3))

    def _predict(self, vectors: Vectors, index: Index) -> Float64:
        """Probabilities by each view. -> (3, n, k)."""
        dense = vectors.dense[index]
        by_terms = self.terms._probabilities(vectors.terms[index])
        return np.stack([by_terms, self.dense._probabilities(dense), self.neighbors.predict(dense)])

    def _scale(self, shares: Float64) -> Float64:
        return np.stack([power * log_odds(each) for power, each in zip(self.powers, shares, strict=True)])

    def predict(self, vectors: Vectors) -> Float64:
        """Log-odds of other items by each view. -> (3, n, k)."""
        return self._scale(self._predict(vectors, np.arange(len(vectors))))

    def to_arrays(self) -> Arrays:
        """The views as named arrays."""
        heads = {"terms": self.terms, "dense": self.dense}
        linear = {f"{name}.{key}": value for name, head in heads.items() for key, value in head._state().arrays.items()}
        return linear | {"near": self.neighbors.dense, "near.targets": self.neighbors.targets, "powers": self.powers}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Views":
        """The inverse of `to_arrays`."""
        terms, dense = (_make_linear(arrays, name) for name in ("terms", "dense"))
        return cls(terms, dense, Neighbors(arrays["near"], arrays["near.targets"]), arrays["powers"])


def fit_linear(features: Any, targets: Float64) -> Linear:
    """Logistic regression on targets whose rows sum to the weights of the items."""
    linear = Linear(L2)
    linear._fit(Examples(features, targets), None)
    return linear


def _make_linear(arrays: Arrays, name: str) -> Linear:
    linear = Linear(L2)
    linear.coef_, linear.intercept_ = arrays[f"{name}.coef"], arrays[f"{name}.intercept"]
    return linear


def _fit_power(shares: Float64, soft: Float64) -> float:
    """The power of probabilities that fits soft labels best."""
    return float(min(_POWERS, key=lambda power: cross_entropy(soft, raise_to(shares, power, 1e-12))))
