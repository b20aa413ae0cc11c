"""Hierarchical Dawid-Skene: Dawid-Skene in which each LF's confusion matrix is drawn to the population's.

Where people vote on a handful of items each, their own confusion matrices are guesses. Here the rows of an LF's
matrix have a Dirichlet prior: its mean is the row of all votes together, the population's, and it weighs as much
as `smoothing` items. The population's rows in turn are drawn to accuracy 0.7 by 2 items. Everything else, including
how abstentions count, is as in `hyperlabel.models.dawid_skene`.

The weight can be learned (empirical Bayes): `smoothing="learned"` takes, in each step of EM, the power of 2 from
1/16 to 1024 under which the counted votes of all LFs, which are Dirichlet-multinomial, are likeliest.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hyperlabel.checks import ABOVE_ZERO, check_number
from hyperlabel.errors import require
from hyperlabel.kernels import Float64
from hyperlabel.models.dawid_skene import ConfusionModel

_POPULATION_ITEMS = 2.0  # items that draw the population's rows to the prior accuracy
_WEIGHTS = 2.0 ** np.arange(-4, 11)


@dataclass(kw_only=True, eq=False, repr=False)
class HierarchicalDawidSkene(ConfusionModel):
    """Labels by learned confusion matrices, those of LFs with few votes close to the population's.

    Further parameters and attributes: `ConfusionModel`. An LF that was silent in `fit` votes like the population, and
    its abstaining says nothing.

    Args:
        smoothing: How many imagined items, voted on like the population, each row of each confusion matrix
            gets; `learned` finds the number, which needs scipy.

    Attributes:
        population_: (k, k) the probability of each vote of the population, by class.
        smoothing_: How many imagined items each row got.

    >>> votes = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, -1, 1], [1, -1, 0]]
    >>> model = HierarchicalDawidSkene().fit(votes)
    >>> model.predict(votes).tolist()
    [0, 1, 0, 1, 0, 1]
    >>> model.population_.round(1).tolist()
    [[0.7, 0.3], [0.3, 0.7]]
    """

    smoothing: float | Literal["learned"] = 2.0

    def _check_params(self) -> None:
        super()._check_params()
        if isinstance(self.smoothing, str) and self.smoothing == "learned":
            require("scipy", extra="sklearn")
        else:
            check_number(self.smoothing, "smoothing", "a number of items above 0, or 'learned'", least=ABOVE_ZERO)

    def _imagine(self, votes: Float64, accurate: Float64) -> tuple[float, Float64]:
        population = votes.sum(0) + _POPULATION_ITEMS * accurate
        population /= population.sum(0)
        self.population_ = np.ascontiguousarray(population.T)
        learned = self.smoothing == "learned"
        self.smoothing_ = likeliest_weight(population, votes) if learned else float(self.smoothing)
        return self.smoothing_, population


def likeliest_weight(population: Float64, votes: Float64) -> float:
    """The weight of the population, in items, under which the votes are likeliest.

    Args:
        population: (k, k) the mean of the Dirichlet prior of each class, [vote, class].
        votes: (m, k, k) counted votes, [lf, vote, class].

    >>> population = np.array([[0.8, 0.2], [0.2, 0.8]])
    >>> likeliest_weight(population, np.array([[[8.0, 2], [2, 8]], [[9, 1], [1, 9]]]))
    1024.0
    >>> likeliest_weight(population, np.array([[[6.0, 4], [4, 6]], [[10, 0], [0, 10]]]))
    2.0
    """
    from scipy.special import gammaln

    totals = votes.sum(1)

    def log_likelihood(weight: float) -> float:
        prior = weight * population
        rows = gammaln(weight) - gammaln(totals + weight)
        return float(rows.sum() + (gammaln(votes + prior) - gammaln(prior)).sum())

    return float(max(_WEIGHTS, key=log_likelihood))
