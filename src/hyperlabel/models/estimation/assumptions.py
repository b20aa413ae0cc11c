"""What models assume before they have learned: how accurate an LF is, and a class balance that a user states."""

from collections.abc import Sequence

import numpy as np

from hyperlabel.errors import ParameterError
from hyperlabel.kernels import Float64

PRIOR_ACCURACY = 0.7


def accurate_votes(k: int) -> Float64:
    """Probability of each vote by class, of an LF with the accuracy that is expected of any. -> (k, k).

    >>> accurate_votes(3).round(2).tolist()
    [[0.7, 0.15, 0.15], [0.15, 0.7, 0.15], [0.15, 0.15, 0.7]]
    """
    return np.where(np.eye(k, dtype=bool), PRIOR_ACCURACY, (1 - PRIOR_ACCURACY) / max(1, k - 1))


def check_class_balance(class_balance: Sequence[float] | Float64, k: int) -> Float64:
    """A class balance that a user states, as an array. -> (k,).

    Raises:
        ParameterError: It is not one probability per class.

    >>> check_class_balance([0.25, 0.75], 2).tolist()
    [0.25, 0.75]
    """
    balance = np.asarray(class_balance, np.float64)
    if balance.shape != (k,) or not (balance >= 0).all() or not np.isclose(balance.sum(), 1):
        raise ParameterError(
            f"class_balance is {class_balance!r}; expected one probability for each of the {k} classes, summing to 1"
        )
    return balance
