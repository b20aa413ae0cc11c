"""MeTaL: how often each LF casts each vote under each class, by completing the matrix of vote overlaps.

A. Ratner et al., "Training Complex Models with Multi-Task Weak Supervision", AAAI 2019, as in Snorkel's LabelModel.
With mu[(j, l), y] = P(LF j votes l | class y) and P the diagonal matrix of the class balance, votes of different
LFs that are independent given the class occur together with the probabilities mu P mu^T. So mu is fitted to the
shares O of items on which two votes occur together, for pairs of different LFs, and to the shares o of each vote:
    || O - mu P mu^T ||^2 over pairs of different LFs + || mu P 1 - o ||^2 (their matrix completion, in Snorkel's form).
P(y | votes) is proportional to P_y times the product over the votes of mu; an LF that abstains takes no part.

The class balance cannot be learned this way and is uniform if not stated. The overlaps of rarely voting LFs do not say
much: minimized alone, the loss loses accuracy that it had at the start. So it is minimized together with
    prior_weight * || (mu - mu_0) / sqrt(o) ||^2,
where in mu_0 each vote multiplies the odds of its class as one that is right with probability 0.7 does. Rare votes
stay close to that, frequent ones follow the overlaps. Items without votes are left out, and a vote that was never
seen in `fit` has the evidence of mu_0.

Snorkel instead takes 100 steps of momentum descent on the bare loss from a start that a random number shrinks, and
stops wherever these lead; `sgd_steps=100` does the same for the same seed.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import ABOVE_ZERO, Float64, check_count, softmax
from hyperlabel.data import Patterns
from hyperlabel.errors import require
from hyperlabel.models._base import LabelModel
from hyperlabel.models._parameters import number
from hyperlabel.models._vote_sums import PRIOR_ACCURACY, VoteSums, accurate_votes, sum_products

_SGD_LR, _SGD_MOMENTUM = 0.01, 0.9
_SMALLEST_LIFT = 0.01  # of a vote's probability under a class, relative to its share of the items
_DENSE_PER_VOTE = 16  # products of this many entries of the overlaps take as long as summing one vote
_DENSE_ANYWAY = 1 << 12
_MEMORY = 10  # no step may rise above the values of this many steps before it
_FLAT = 1e-3  # of the tolerance: the relative change of the loss in that many steps
_ROUNDING = 1e-14  # of losses, relative
_TINY = np.finfo(np.float64).tiny


@dataclass(kw_only=True, eq=False, repr=False)
class MeTaL(LabelModel):
    """Labels by vote probabilities that complete the matrix of vote overlaps.

    A vote of an LF that was silent in `fit` counts as right with probability 0.7.

    Args:
        class_balance: (k,) the probabilities of the classes; all equal if not given.
        prior_weight: How strongly vote probabilities are drawn to those of LFs with accuracy 0.7.
        sgd_steps: Learn as Snorkel does, by this many steps of momentum descent without a prior (100 there); if not
            given, minimize until convergence.
        max_iter: Maximum number of steps of the minimization.
        tol: Stop when the largest entry of the projected gradient, per share of items, is at most this, or when ten
            steps changed the loss by less than a thousandth of this.

    Attributes:
        class_balance_: (k,) the probabilities of the classes.
        confusion_: (m, k, k) the probability of each vote, by LF and class; the rest up to 1 is abstaining.
        evidence_: (m, k, k) what each vote adds to the log-probabilities of the classes, by LF, vote and class.

    >>> votes = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, -1, 1], [1, -1, 0]]
    >>> model = MeTaL().fit(votes)
    >>> model.predict(votes).tolist()
    [0, 1, 0, 1, 0, 1]
    >>> model.confusion_[0].round(1).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    class_balance: Sequence[float] | Float64 | None = None
    prior_weight: float = 0.05
    sgd_steps: int | None = None
    max_iter: int = 1000
    tol: float = 1e-6

    short_names = ("metal",)
    _constraints = LabelModel._constraints | {
        "prior_weight": number(0),
        "sgd_steps": number(0, whole=True, other=None),
        "max_iter": check_count,
        "tol": number(ABOVE_ZERO),
    }

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        k, stated = patterns.n_classes, self._stated_balance
        self.class_balance_ = np.full(k, 1 / k) if stated is None else stated
        mu = self._minimize(patterns) if self.sgd_steps is None else self._descend(patterns, self.sgd_steps)
        self.confusion_ = np.ascontiguousarray(mu.transpose(0, 2, 1))

    def _minimize(self, patterns: Patterns) -> Float64:
        """Vote probabilities that minimize the loss with its prior. -> (m, k, k), [lf, vote, class]."""
        items = int(patterns.counts @ patterns.has_votes)
        loss = _Loss(_Overlaps(patterns, items), self.class_balance_)
        share = loss.overlaps.share[:, :, None]
        lift = self._usual_lift()
        scale, prior = np.where(share > 0, share, 1), np.minimum(share * lift, 1)

        def objective(mu: Float64) -> tuple[float, Float64]:
            value, gradient = loss(mu)
            away = mu - prior
            pull = self.prior_weight * away / scale
            return value + float(np.vdot(away, pull)), gradient + 2 * pull

        mu, self.n_iter_, self.converged_ = _minimize(objective, prior, scale, self.max_iter, self.tol)
        mu = np.clip(mu, np.minimum(_SMALLEST_LIFT * share, 0.5), 1)
        self.evidence_ = np.where(share > 0, np.log(np.maximum(mu, _TINY)), np.log(lift))
        return mu

    def _usual_lift(self) -> Float64:
        """P(vote | class) / P(vote) of an LF with accuracy 0.7. -> (k, k), [vote, class]."""
        odds = accurate_votes(len(self.class_balance_))
        lift: Float64 = odds / (odds @ self.class_balance_)[:, None]
        return lift

    def _descend(self, patterns: Patterns, steps: int) -> Float64:
        """Vote probabilities that Snorkel finds. -> (m, k, k), [lf, vote, class]."""
        n, k, balance = patterns.n_items, patterns.n_classes, self.class_balance_
        loss = _Loss(_Overlaps(patterns, n), balance)
        right = np.clip(loss.overlaps.share * PRIOR_ACCURACY / np.maximum(balance, _TINY), 0, 1)
        mu = right[:, :, None] * np.eye(k) * np.random.RandomState(self._seed).random_sample()
        velocity = np.zeros_like(mu)
        for _ in range(steps):
            velocity = _SGD_MOMENTUM * velocity + loss(mu)[1]
            mu = mu - _SGD_LR * velocity
        self.n_iter_ = steps
        least = min(0.01, 10.0 ** -np.ceil(np.log10(max(n, 1))))
        mu = _assign_classes(np.clip(mu, least, 1 - least), balance)
        silent = loss.overlaps.share.sum(1)[:, None, None] == 0
        self.evidence_ = np.where(silent, np.log(self._usual_lift()), np.log(mu))
        return mu

    def _count_numbers(self, patterns: Patterns) -> int:
        return 4 * (patterns.n_lfs * patterns.n_classes) ** 2  # overlaps of every two nodes

    def _probabilities(self, patterns: Patterns) -> Float64:
        prior = np.log(np.maximum(self.class_balance_, _TINY))
        return softmax(prior + VoteSums(patterns).add_evidence(self.evidence_))


def _assign_classes(mu: Float64, balance: Float64) -> Float64:
    """Swap classes that are equally probable so that LFs are right as often as possible. (m, k, k)."""
    require("scipy", extra="sklearn")
    from scipy.optimize import linear_sum_assignment

    votes_by_class, assigned = mu.sum(0), mu.copy()
    for probability in np.unique(balance.round(3)):
        alike = np.flatnonzero(balance.round(3) == probability)
        vote, column = linear_sum_assignment(votes_by_class[np.ix_(alike, alike)], maximize=True)
        assigned[:, :, alike[vote]] = mu[:, :, alike[column]]
    return assigned


class _Overlaps:
    """Shares of items on which votes occur, alone, (m, k), and together."""

    def __init__(self, patterns: Patterns, items: int) -> None:
        m, k = patterns.n_lfs, patterns.n_classes
        self._items, self._sums, size = max(1, items), VoteSums(patterns), m * k
        self.share: Float64 = self._sums.count_votes(np.ones((patterns.n_patterns, 1)))[:, :, 0] / self._items
        self._matrix: Float64 | None = None
        if size**2 <= max(_DENSE_ANYWAY, _DENSE_PER_VOTE * len(patterns.lf)):
            code, lf = patterns.lf * k + patterns.vote, np.arange(size) // k
            products = sum_products(patterns, code, np.ones(len(code)), size)
            self._matrix = np.where(lf[:, None] == lf, 0, products / self._items)

    def multiply(self, table: Float64) -> Float64:
        """Product of the overlaps of different LFs with a table. (m, k, k) -> (m, k, k)."""
        if self._matrix is not None:
            return (self._matrix @ table.reshape(len(self._matrix), -1)).reshape(table.shape)
        together = self._sums.count_votes(self._sums.add_evidence(table)) / self._items
        return np.asarray(together - self.share[:, :, None] * table)


@dataclass(frozen=True)
class _Loss:
    """The distance of overlaps from those that vote probabilities imply, minus a constant."""

    overlaps: _Overlaps  # what is found in the votes
    balance: Float64  # (k,) the probabilities of the classes

    def __call__(self, mu: Float64) -> tuple[float, Float64]:
        """Loss and its gradient. mu: (m, k, k), [lf, vote, class]."""
        m, k = mu.shape[:2]
        joint = mu * self.balance
        same_lf = mu.transpose(0, 2, 1) @ joint  # (m, k, k), of each LF with itself
        all_lfs = mu.reshape(m * k, -1).T @ joint.reshape(m * k, -1)
        expected = joint @ (all_lfs - same_lf)  # mu P mu^T between different LFs, times mu P
        observed = self.overlaps.multiply(joint)
        gap = joint.sum(2) - self.overlaps.share
        loss = np.vdot(mu, expected - 2 * observed) + np.vdot(gap, gap)
        return float(loss), 4 * (expected - observed) + 2 * gap[:, :, None] * self.balance


def _minimize(
    objective: Callable[[Float64], tuple[float, Float64]], mu: Float64, scale: Float64, max_steps: int, tol: float
) -> tuple[Float64, int, bool]:
    """Minimize over probabilities, with steps in units of each vote's share. -> (m, k, k), steps, whether converged.

    Spectral projected gradient (E. G. Birgin, J. M. Martinez and M. Raydan, SIAM J. Optim. 10(4), 2000): the length
    of a step is the inverse of the curvature along the last, and the value may rise, but not above recent ones.
    """
    length, n_steps, (value, gradient) = 1.0, 0, objective(mu)
    recent = deque([value], _MEMORY)
    while not (converged := _is_still(mu, gradient, scale, recent, tol)) and n_steps < max_steps:
        move = np.clip(mu - length * scale * gradient, 0, 1) - mu
        value, slope = objective(mu + move)
        n_steps += 1
        if value > max(recent) + _ROUNDING * abs(value):
            length /= 4
            continue
        curvature = np.vdot(move, slope - gradient)
        length = float(np.vdot(move / scale, move) / curvature) if curvature > 0 else 2 * length
        mu, gradient = mu + move, slope
        recent.append(value)
    return mu, n_steps, converged


def _is_still(mu: Float64, gradient: Float64, scale: Float64, recent: deque[float], tol: float) -> bool:
    """Return whether no slope is left inside [0, 1], or recent steps changed almost nothing."""
    step = np.clip(mu - scale * gradient, 0, 1) - mu
    spread = max(recent) - min(recent) if len(recent) == _MEMORY else np.inf
    return bool(np.abs(step / scale).max() <= tol or spread <= _FLAT * tol * abs(recent[-1]))
