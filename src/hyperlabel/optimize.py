"""The optimizer for everything that learns by gradients in NumPy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Adam:
    """Adam (D. P. Kingma and J. Ba, 2015) over named arrays, which it changes in place.

    >>> values = np.array([1.0])
    >>> Adam({"x": values}).step({"x": np.array([3.0])}, rate=0.1)
    >>> values.round(3).tolist()
    [0.9]
    """

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._arrays, self._steps = arrays, 0
        self._moments: dict[str, tuple[Any, Any]] = {name: (0.0, 0.0) for name in arrays}

    def step(self, gradients: dict[str, NDArray[Any]], rate: float) -> None:
        """One step against the gradients."""
        self._steps += 1
        for name, gradient in gradients.items():
            mean, square = self._moments[name]
            mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
            self._moments[name] = mean, square
            deviation = np.sqrt(square / (1 - 0.999**self._steps)) + 1e-8
            self._arrays[name] -= rate * mean / (1 - 0.9**self._steps) / deviation
