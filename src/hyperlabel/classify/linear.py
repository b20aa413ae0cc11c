"""Multinomial logistic regression on soft labels, for features or TF-IDF."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_number
from hyperlabel.classify.base import BaseClassifier, State
from hyperlabel.classify.inputs import Examples, Inputs, check_width, to_matrix
from hyperlabel.errors import require

MAX_ITERATIONS = 100


@dataclass
class Linear(BaseClassifier):
    """Logistic regression that minimizes the mean cross-entropy under soft labels, by L-BFGS.

    Nothing in it is random. Features are used as they are: bring them to one scale first.

    Args:
        l2: Weight of half the squared norm of the coefficients, the intercepts left out.

    Attributes:
        coef_: (q, k) coefficients.
        intercept_: (k,) intercepts.

    >>> features = np.array([[-1.0], [-2.0], [1.0], [2.0]])
    >>> probabilities = np.array([[0.7, 0.3], [0.9, 0.1], [0.2, 0.8], [0.1, 0.9]])
    >>> Linear(l2=0.01).fit(features, probabilities).predict([[-3.0], [3.0]]).tolist()
    [0, 1]
    """

    l2: float = 1e-4

    def __post_init__(self) -> None:
        check_number(self.l2, "l2", "a number, 0 or more", least=0)

    def _fit(self, examples: Examples, validation: Examples | None) -> None:
        require("scipy", extra="sklearn")
        from scipy.optimize import minimize

        features, targets = to_matrix(examples.inputs), examples.probabilities
        by_feature = features.T.tocsr() if hasattr(features, "tocsr") else features.T
        n, (q, k) = len(examples), (features.shape[1], targets.shape[1])

        def loss_and_gradient(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            coef, intercept = flat[k:].reshape(q, k), flat[:k]
            logits = features @ coef + intercept  # (n, k)
            logs = logits - _log_sum(logits)
            slope = (np.exp(logs) - targets) / n
            loss = -(targets * logs).sum() / n + self.l2 / 2 * (coef**2).sum()
            return float(loss), np.concatenate([slope.sum(0), (by_feature @ slope + self.l2 * coef).ravel()])

        found = minimize(
            loss_and_gradient, np.zeros(k + q * k), jac=True, method="L-BFGS-B", options={"maxiter": MAX_ITERATIONS}
        )
        self.intercept_, self.coef_ = found.x[:k], found.x[k:].reshape(q, k)

    def _probabilities(self, inputs: Inputs) -> NDArray[np.float64]:
        features = to_matrix(inputs)
        check_width(features, len(self.coef_))
        logits = features @ self.coef_ + self.intercept_
        probabilities: NDArray[np.float64] = np.exp(logits - _log_sum(logits))
        return probabilities

    def _state(self) -> State:
        return State({"coef": self.coef_, "intercept": self.intercept_})

    def _restore(self, state: State) -> None:
        self.coef_, self.intercept_ = state.arrays["coef"], state.arrays["intercept"]


def _log_sum(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm of the sum of exponentials of each row. (n, k) -> (n, 1)."""
    highest = logits.max(1, keepdims=True)
    total: NDArray[np.float64] = highest + np.log(np.exp(logits - highest).sum(1, keepdims=True))
    return total
