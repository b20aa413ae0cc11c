"""The choice of hyper-parameters on held-out items, with generated labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Arrays, Metric, check_metric, plain_classes, score
from hyperlabel.classify._base import BaseClassifier, cross_entropy
from hyperlabel.classify._inputs import Examples, Inputs
from hyperlabel.errors import ParameterError

_RANGE = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)

GRIDS: dict[str, dict[str, dict[str, Sequence[Any]]]] = {
    "paper": {
        "mlp": {"batch_size": (32, 128, 512), "lr": _RANGE, "weight_decay": _RANGE},
        "transformer": {"batch_size": (16, 32), "lr": (2e-5, 3e-5, 5e-5)},
        "linear": {"l2": (1e-6, 1e-5, 1e-4, 1e-3)},
    },
    "small": {
        "mlp": {"batch_size": (128,), "lr": (1e-3, 1e-2), "weight_decay": (1e-4, 1e-2)},
        "transformer": {"batch_size": (32,), "lr": (2e-5, 5e-5)},
        "linear": {"l2": (1e-5, 1e-4)},
    },
}
"""Hyper-parameters to try, by search and kind of model. `paper` is the paper's Table 7, with a range of our own for
`linear`, which the paper does not have."""


@dataclass
class Search(BaseClassifier):
    """Tries every combination of hyper-parameters and keeps the best model.

    The best agrees most with the most probable generated labels of the validation items; among equals the one with
    the lowest cross-entropy wins. Without validation items a quarter of the items is held out, as in the paper.

    Args:
        model: The model; its own hyper-parameters are used where the grid has none.
        grid: Values to try, by hyper-parameter; `GRIDS` has the paper's.
        metric: Share of equal labels, or F1 with the generated labels as truth.
        seed: For the held-out items.

    Attributes:
        best_: The best model, fitted.
        best_params_: Its hyper-parameters from the grid.
        best_score_: How well it agrees with the generated labels.

    >>> from hyperlabel.classify import Linear
    >>> features = np.linspace(-1, 1, 20)[:, None]
    >>> probabilities = np.hstack([1 - features, 1 + features]) / 2
    >>> search = Search(Linear(), {"l2": (1e-4, 1e-1)}).fit(features, probabilities)
    >>> search.best_params_, search.predict([[-0.5], [0.5]]).tolist()
    ({'l2': 0.0001}, [0, 1])
    """

    model: BaseClassifier
    grid: Mapping[str, Sequence[Any]]
    metric: Metric = "accuracy"
    seed: int = 0

    def __post_init__(self) -> None:
        check_metric(self.metric)
        unknown = [name for name in self.grid if name not in vars(self.model)]
        if unknown:
            raise ParameterError(f"grid has {unknown[0]!r}; expected hyper-parameters of {type(self.model).__name__}")
        empty = [name for name, values in self.grid.items() if not len(values)]
        if empty:
            raise ParameterError(f"grid[{empty[0]!r}] is empty; expected at least one value")

    def _fit(self, examples: Examples, validation: Examples | None) -> None:
        if validation is None:
            examples, validation = examples.split(self.seed)
        generated = validation.probabilities.argmax(1)
        best = (-np.inf, -np.inf)
        for values in product(*self.grid.values()):
            point = dict(zip(self.grid, values, strict=True))
            model = replace(self.model, **point)  # type: ignore[type-var]
            model.fit(examples.inputs, examples.probabilities, (validation.inputs, validation.probabilities))
            predicted = model.predict_proba(validation.inputs)
            agreement = score(self.metric, generated, predicted.argmax(1), predicted.shape[1])
            quality = (agreement, -cross_entropy(validation.probabilities, predicted))
            if quality > best:
                best, self.best_, self.best_params_, self.best_score_ = quality, model, point, agreement

    def _probabilities(self, inputs: Inputs) -> NDArray[np.float64]:
        return self.best_.predict_proba(inputs)

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """The best model; the search itself is not saved."""
        arrays, header = self.best_.to_arrays()
        return arrays, header | {"classes": plain_classes(self._fitted())}
