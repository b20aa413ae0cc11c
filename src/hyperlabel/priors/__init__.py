"""Generators of synthetic votes with known truth: what models are trained and validated on.

A prior turns a `numpy.random.Generator` into a `Task`. Nothing real enters here.
"""

from hyperlabel.priors.independent import IndependentPrior
from hyperlabel.priors.task import Prior, Task
from hyperlabel.priors.uniform import UniformPrior

PRIORS: dict[str, type[Prior]] = {"uniform": UniformPrior, "independent": IndependentPrior}

__all__ = ["PRIORS", "IndependentPrior", "Prior", "Task", "UniformPrior"]
