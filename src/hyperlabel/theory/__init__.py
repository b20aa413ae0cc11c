"""The theory behind the hyper label model: which label vectors are valid, and the mean of them all.

Flows in: binary votes. Flows out: the predicate sigma(X, y), its probability, and the exact optimum h*(X) that
the network approximates. Everything is NumPy.
"""

from hyperlabel.theory.gaussian import Approximation, approximate_optimum
from hyperlabel.theory.optimum import Optimum, optimum
from hyperlabel.theory.validity import is_valid, probability_of_validity, to_signs

__all__ = [
    "Approximation",
    "Optimum",
    "approximate_optimum",
    "is_valid",
    "optimum",
    "probability_of_validity",
    "to_signs",
]
