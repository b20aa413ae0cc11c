"""Data programming: one accuracy weight per LF in a factor graph, fitted to the votes.

A. Ratner et al., "Data Programming: Creating Large Training Sets, Quickly", NeurIPS 2016, as in Snorkel up to 0.7.
Each class against the rest is a separate problem, in which the votes v_j and the truth Y are +1 or -1 and
abstaining is 0: P(v, Y) is proportional to exp(sum over j of W_j v_j Y), so that P(Y = 1 | v) = sigmoid(2 W.v). The
probabilities of the classes' problems are normalized. Weights start at 1 and are drawn to 1.

Snorkel learns by Gibbs sampling and stochastic gradient steps. This module follows their expected dynamics,
    dW_j/dt = mean of v_j tanh(W.v) - 2 sinh W_j / (1 + 2 cosh W_j) - 0.1 (W_j - 1),
the mean over items of what the votes say, minus what the model expects, minus the pull to 1; so it is deterministic,
and as close to a run of Snorkel as runs with two seeds are to each other. By default it runs until the weights rest.
Snorkel stops after 30 epochs of two steps of 1e-4 per item, whose length therefore grows with the number of items
(`epochs=30`): few items learn little.

The graph has no factor for how often an LF votes. Abstaining is one of three outcomes of W_j, so that a weight
measures coverage as much as accuracy, and LFs that only ever vote for one class can drag all items to it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import ABOVE_ZERO, Float64, check_count, softmax
from hyperlabel.data import Patterns
from hyperlabel.models._base import LabelModel
from hyperlabel.models._parameters import number
from hyperlabel.models._vote_sums import VoteSums, numbers_by_vote

_START = 1.0
_PULL = 0.1
_TIME_PER_EPOCH = 2e-4  # per item: two steps of 1e-4
_STEP = np.array([2, 3, 4]) / 9  # slopes in a step of Bogacki and Shampine, and in its error
_ERROR = np.array([-5 / 72, 1 / 12, 1 / 9, -1 / 8])
_STEP_ERROR = 1e-5
_LONGEST_STEP = 3.0  # no weight returns at a rate above 2/3 + 0.1, so steps below 3.2 are stable
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(kw_only=True, eq=False, repr=False)
class DataProgramming(LabelModel):
    """Labels by learned accuracy weights.

    An LF that was silent in `fit` has weight 1, to which all weights are drawn.

    Args:
        epochs: How long to learn, in epochs of Snorkel (30 there), where items without votes count; if not
            given, until the weights rest.
        max_iter: Maximum number of steps of the integration.
        tol: Weights rest when none moves faster than this.

    Attributes:
        weights_: (m, k) the weight of each LF's votes in each class's problem.

    >>> votes = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, -1, 1], [1, -1, 0]]
    >>> model = DataProgramming().fit(votes)
    >>> model.predict(votes).tolist()
    [0, 1, 0, 1, 0, 1]
    >>> bool(model.weights_[0, 1] > model.weights_[2, 1])
    True
    """

    epochs: int | None = None
    max_iter: int = 1000
    tol: float = 1e-6

    short_names = ("dp",)
    _constraints = LabelModel._constraints | {
        "epochs": number(0, other=None),
        "max_iter": check_count,
        "tol": number(ABOVE_ZERO),
    }

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        counted = patterns.counts if self.epochs is not None else patterns.counts * patterns.has_votes
        items = max(1, int(counted.sum()))
        end = np.inf if self.epochs is None else self.epochs * _TIME_PER_EPOCH * items
        dynamics = _Dynamics(VoteSums(patterns), _signs(patterns.n_classes), items)
        start = np.full((patterns.n_lfs, dynamics.signs.shape[1]), _START)
        weights, self.n_iter_, self.converged_ = follow(dynamics.slope, start, end, self.max_iter, self.tol)
        self.weights_ = np.broadcast_to(weights, (patterns.n_lfs, patterns.n_classes)).copy()
        self.weights_[np.bincount(patterns.lf, minlength=patterns.n_lfs) == 0] = _START

    def _count_numbers(self, patterns: Patterns) -> int:
        return 4 * numbers_by_vote(patterns)

    def _probabilities(self, patterns: Patterns) -> Float64:
        signs = np.where(np.eye(patterns.n_classes, dtype=bool), 1.0, -1.0)
        margins = VoteSums(patterns).add_evidence(signs * self.weights_[:, None])
        return softmax(-np.logaddexp(0, -2 * margins))


def _signs(k: int) -> Float64:
    """Return +1 for votes for a problem's class, -1 for others; two classes are one problem. -> (k, r)."""
    signs = np.where(np.eye(k, dtype=bool), 1.0, -1.0)
    return signs[:, 1:] if k == 2 else signs


@dataclass(frozen=True)
class _Dynamics:
    """The dynamics of the weights, all r problems at once."""

    sums: VoteSums
    signs: Float64  # (k, r) what a vote says in each problem
    items: int  # number of items

    def slope(self, weights: Float64) -> Float64:
        """dW/dt. (m, r) -> (m, r)."""
        margins = self.sums.add_evidence(self.signs * weights[:, None])  # (p, r)
        observed = np.einsum("mkr,kr->mr", self.sums.count_votes(np.tanh(margins)), self.signs)
        half = np.tanh(0.5 * weights)
        expected = 4 * half / (3 + half * half)  # 2 sinh W / (1 + 2 cosh W)
        slope: Float64 = observed / self.items - expected - (_PULL * weights - _PULL * _START)
        return slope


def follow(
    slope: Callable[[Float64], Float64], values: Float64, end: float, max_steps: int, rest: float
) -> tuple[Float64, int, bool]:
    """Integrate dx/dt = slope(x) from time 0 to an end, or until nothing moves faster than `rest`.

    Return the values, the number of steps, and whether the end or a rest was reached. Third-order Runge-Kutta steps
    (P. Bogacki and L. F. Shampine, 1989) as long as their error allows.

    >>> follow(lambda x: 1 - x, np.zeros(1), 1.0, 100, 1e-9)[0].round(3).tolist()
    [0.632]
    """
    time, length, n_steps = 0.0, 0.1, 0
    slopes = np.empty((4, *values.shape))  # at the start of a step, half way, at three quarters, at its end
    flat, slopes[0] = slopes.reshape(4, -1), slope(values)
    while not (arrived := bool(time >= end or np.abs(slopes[0]).max() <= rest)) and n_steps < max_steps:
        length = min(length, end - time)
        slopes[1] = slope(values + 0.5 * length * slopes[0])
        slopes[2] = slope(values + 0.75 * length * slopes[1])
        moved = values + (length * _STEP @ flat[:3]).reshape(values.shape)
        slopes[3] = slope(moved)
        error = length * float(np.abs(_ERROR @ flat).max())
        if error <= _STEP_ERROR:
            time, values, slopes[0] = time + length, moved, slopes[3]
        growth = 0.9 * (_STEP_ERROR / max(error, _TINY)) ** (1 / 3)
        length = min(_LONGEST_STEP, length * min(max(growth, 0.2), 5))
        n_steps += 1
    return values, n_steps, arrived
