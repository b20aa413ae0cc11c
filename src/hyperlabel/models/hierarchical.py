"""Hierarchical Dawid-Skene: Dawid-Skene in which each LF's confusion matrix is drawn to the population's.

Where people vote on a handful of items each, their own confusion matrices are guesses. Here the rows of an LF's
matrix have a Dirichlet prior: its mean is the row of all votes together, the population's, and it weighs as much
as `smoothing` items. The population's rows in turn are drawn to accuracy 0.7 by 2 items. All else, how
abstentions enter included, is as in `hyperlabel.models.dawid_skene`.

The weight can be learned (empirical Bayes): `smoothing="learned"` takes, in each step of EM, the power of 2 from
1/16 to 1024 under which the counted votes of all LFs, which are Dirichlet-multinomial, are likeliest.
"""

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np

from hyperlabel.errors import ParameterError, require
from hyperlabel.models.base import TieBreak
from hyperlabel.models.dawid_skene import Abstain, ConfusionModel, Floats

_POPULATION_ITEMS = 2.0  # that draw the population's rows to the accuracy expected of any LF
_WEIGHTS = 2.0 ** np.arange(-4, 11)


class HierarchicalDawidSkene(ConfusionModel):
    """Labels by learned confusion matrices, those of LFs with few votes close to the population's.

    Args:
        smoothing: How many imagined items, voted on like the population, each row of each confusion matrix
            gets; `learned` finds the number, which needs scipy.
        class_balance: (k,) the probabilities of the classes; learned if not given.
        abstain: Whether abstaining is an outcome of an LF like any vote: for LFs that vote for one class only
            (`one-sided`), for none (`ignore`), or for all (`outcome`).
        max_iter: Most steps of EM.
        tol: Stop when a step moves less than this part of an item's probability on average.
        n_classes: Number of classes; inferred from votes and gold if neither this nor `classes` is given.
        classes: The classes, in the order of their probabilities.
        tie_break: `first`, `abstain` or `random`, for items whose best classes are exactly tied.
        seed: For `tie_break="random"`; everything else is deterministic.

    Attributes:
        class_balance_: (k,) the probabilities of the classes.
        confusion_: (m, k, k) the probability of each vote, by LF and class. Rows sum to 1, or to 1 minus the
            probability of abstaining where that is an outcome.
        population_: (k, k) the probability of each vote of the population, by class.
        smoothing_: How many imagined items each row got.
        abstain_is_outcome_: (m,) whether abstaining was an outcome, by LF.

    >>> votes = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, -1, 1], [1, -1, 0]]
    >>> model = HierarchicalDawidSkene().fit(votes)
    >>> model.predict(votes).tolist()
    [0, 1, 0, 1, 0, 1]
    >>> model.population_.round(1).tolist()
    [[0.7, 0.3], [0.3, 0.7]]
    """

    def __init__(
        self,
        smoothing: float | Literal["learned"] = 2.0,
        class_balance: Sequence[float] | Floats | None = None,
        abstain: Abstain = "one-sided",
        max_iter: int = 2000,
        tol: float = 1e-4,
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
        tie_break: TieBreak = "first",
        seed: int = 0,
    ) -> None:
        super().__init__(
            class_balance=class_balance,
            abstain=abstain,
            learn_from_empty=False,
            max_iter=max_iter,
            tol=tol,
            n_classes=n_classes,
            classes=classes,
            tie_break=tie_break,
            seed=seed,
        )
        self.smoothing = smoothing

    def _check_params(self) -> None:
        super()._check_params()
        if self.smoothing == "learned":
            require("scipy", extra="sklearn")
        elif isinstance(self.smoothing, str) or not 0 < self.smoothing < np.inf:
            raise ParameterError(f"smoothing is {self.smoothing!r}; expected a number of items above 0, or 'learned'")

    def _imagine(self, votes: Floats, accurate: Floats) -> tuple[float, Floats]:
        population = votes.sum(0) + _POPULATION_ITEMS * accurate
        population /= population.sum(0)
        self.population_: Floats = population.T
        learned = self.smoothing == "learned"
        self.smoothing_ = likeliest_weight(population, votes) if learned else float(self.smoothing)
        return self.smoothing_, population


def likeliest_weight(population: Floats, votes: Floats) -> float:
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
