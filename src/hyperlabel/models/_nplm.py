"""NPLM: how accurate each LF is on each class, where an LF may tell only some classes apart.

P. Yu, T. Ding and S. H. Bach, "Learning from Multiple Noisy Partial Labelers", AISTATS 2022. A partial LF splits the
classes into groups and votes for a group. Given the class y it abstains with a probability that does not depend on
y; if it votes, it names the group of y with probability accuracy_jy, their sigmoid(2 alpha_jy), and the other groups
with equal probability. P(y | votes) is proportional to balance_y times the product
over the votes of these probabilities.

An LF that votes for several classes splits them into single classes, and its abstaining says nothing. An LF that only
ever votes for one class c is partial: it tells c from the rest, and as it never names the rest, its abstaining is
that vote. Otherwise it would always name the same group, which says nothing about any item; with such LFs alone
the model collapses to the largest class, as the released code does.

The likelihood of the votes of all items with votes is maximized by EM, on patterns. `smoothing` adds imagined votes
that are right with probability 0.7. For one-sided LFs, whose accuracies rest on others' votes alone, those are as
many as their own.

`batch_size=512` learns as the released code does: abstentions are ignored, and Adam runs over batches of the items,
shuffled once by the seed, for at most 30 epochs while its rate falls by a factor of 100 every 5.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Adam, Float64, check_count, softmax
from hyperlabel.data import Patterns
from hyperlabel.errors import ParameterError
from hyperlabel.models._base import LabelModel
from hyperlabel.models._parameters import number
from hyperlabel.models._vote_sums import PRIOR_ACCURACY, VoteSums, accurate_votes, numbers_by_vote

_ONE_SIDED_SMOOTHING = 1.0  # imagined votes of a one-sided LF, per vote of its own
_HIGHEST_RATE = 0.99  # of voting, so that abstaining is never impossible
_EPOCHS, _EPOCHS_PER_RATE, _RATE, _RATE_DECAY = 30, 5, 0.1, 0.01
_STILL = 1e-7  # sum of changes in an epoch, over all accuracies' logits, at which the released code stops
_TINY = 1e-300  # products with shares stay normal numbers


@dataclass(kw_only=True, eq=False, repr=False)
class NPLM(LabelModel):
    """Labels by learned accuracies, one per LF and class.

    An LF that was silent in `fit` is right with probability 0.7, and its abstaining says nothing.

    Args:
        class_balance: (k,) the probabilities of the classes; learned if not given.
        smoothing: Imagined votes with accuracy 0.7 that each LF gets per vote of its own.
        batch_size: Learn like the released code, from batches of this many items (512 there); if not given, by EM
            from all items at once.
        max_iter: Maximum number of EM steps.
        tol: Stop when a step moves less than this part of an item's probability on average.

    Attributes:
        class_balance_: (k,) the probabilities of the classes.
        accuracies_: (m, k) the probability that an LF is right, by class: that it votes for the class if it votes;
            or, for a one-sided LF, that it votes under its own class and abstains under another.
        one_sided_: (m,) whether abstaining counts as a vote for the other classes.
        prior_: (k,) log-probabilities of the classes, of an item on which all one-sided LFs abstain.
        evidence_: (m, k, k) what each vote adds to them, by LF, vote and class.

    >>> votes = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, -1, 1], [1, -1, 0]]
    >>> model = NPLM().fit(votes)
    >>> model.predict(votes).tolist()
    [0, 1, 0, 1, 0, 1]
    >>> model.accuracies_[0].round(1).tolist()
    [1.0, 1.0]
    """

    class_balance: Sequence[float] | Float64 | None = None
    smoothing: float = 0.02
    batch_size: int | None = None
    max_iter: int = 2000
    tol: float = 1e-5

    short_names = ("nplm",)
    _constraints = LabelModel._constraints | {
        "smoothing": number(0),
        "batch_size": number(1, whole=True, other=None),
        "max_iter": check_count,
        "tol": number(0),
    }

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        if self.batch_size is None:
            self._maximize(patterns, self._stated_balance)
        else:
            self._descend(patterns, self._stated_balance, self.batch_size)

    def _maximize(self, patterns: Patterns, balance: Float64 | None) -> None:
        """Learn by EM, from the probabilities that votes with accuracy 0.7 imply."""
        sums, m, k = VoteSums(patterns), patterns.n_lfs, patterns.n_classes
        weight = sums.counts * patterns.has_votes
        items, half = max(1.0, weight.sum()), np.repeat(weight[:, None] / 2, k, axis=1)
        estimator, even = _Estimator(sums, items, self.smoothing), None if weight.any() else np.full(k, 1 / k)
        posterior = softmax(sums.add_evidence(np.broadcast_to(np.log(accurate_votes(k)), (m, k, k))))
        self.converged_ = False
        while self.n_iter_ < self.max_iter and not self.converged_:
            shares = weight @ posterior / items if even is None else even
            rates = estimator.find_rates(sums.count_votes(posterior), shares if balance is None else balance)
            self.prior_, evidence = estimator.weigh(rates)
            last, posterior = posterior, softmax(self.prior_ + sums.add_evidence(evidence))
            self.converged_ = bool(np.vdot(half, np.abs(posterior - last)) <= self.tol * items)
            self.n_iter_ += 1
        self.class_balance_, self.accuracies_ = rates.balance, estimator.to_accuracies(rates)
        self.one_sided_, self.evidence_ = estimator.one_sided, estimator.weigh_unseen(rates, evidence)

    def _descend(self, patterns: Patterns, balance: Float64 | None, batch_size: int) -> None:
        """Learn as the released code does."""
        item_patterns = self._shuffle(patterns)
        sums, m, k = VoteSums(patterns), patterns.n_lfs, patterns.n_classes
        start = np.log(PRIOR_ACCURACY / (1 - PRIOR_ACCURACY)) / 2
        values = np.full((m + 1, k), start)  # the last row is for the logits of the balance
        values[m] = 0 if balance is None else _log(balance)
        adam = Adam({"values": values})
        self.converged_ = False
        while self.n_iter_ < _EPOCHS and not self.converged_:
            rate, last = _RATE * _RATE_DECAY ** (self.n_iter_ // _EPOCHS_PER_RATE), values[:m].copy()
            for begin in range(0, len(item_patterns), batch_size):
                batch = item_patterns[begin : begin + batch_size]
                gradient = _find_gradient(sums, np.bincount(batch, minlength=len(sums.counts)), values)
                gradient[m] *= balance is None
                adam.step({"values": gradient}, rate)
            self.converged_ = bool(np.abs(values[:m] - last).sum() < _STILL)
            self.n_iter_ += 1
        self.prior_, self.evidence_ = _read_logits(values)
        self.class_balance_, self.accuracies_ = np.exp(self.prior_), 0.5 + 0.5 * np.tanh(values[:m])
        self.one_sided_ = np.zeros(m, bool)

    def _shuffle(self, patterns: Patterns) -> NDArray[np.integer]:
        """The pattern of each item, in the order in which the released code takes items. -> (n,)."""
        if patterns.inverse is None:
            raise ParameterError("batch_size needs items, but these votes were only counted; leave it out to use EM")
        order = np.arange(patterns.n_items)
        np.random.RandomState(self._seed).shuffle(order)
        return patterns.inverse[order]

    def _count_numbers(self, patterns: Patterns) -> int:
        return 4 * numbers_by_vote(patterns)

    def _probabilities(self, patterns: Patterns) -> Float64:
        return softmax(self.prior_ + VoteSums(patterns).add_evidence(self.evidence_))


class _Rates(NamedTuple):
    """The estimates of EM."""

    balance: Float64  # (k,) the probabilities of the classes
    right: Float64  # (o, k) how often each LF that is not one-sided is right if it votes, by class
    votes: Float64  # (s, k) how often each one-sided LF votes, by class


class _Estimator:
    """Estimates from the class probabilities of votes, with imagined votes, and what they say about the classes."""

    def __init__(self, sums: VoteSums, items: float, smoothing: float) -> None:
        votes = sums.count_votes(np.ones((len(sums.counts), 1)))[:, :, 0]  # (m, k)
        self.one_sided: NDArray[np.bool_] = (votes > 0).sum(1) == 1
        self._sided, self._others = np.flatnonzero(self.one_sided), np.flatnonzero(~self.one_sided)
        self._side = votes[self._sided].argmax(1)
        self._items, self._accurate = items, accurate_votes(sums.n_codes)
        cast = votes.sum(1, keepdims=True)  # (m, 1)
        self._imagined_sided = _ONE_SIDED_SMOOTHING * cast[self._sided]
        self._imagined_others = np.maximum(smoothing * cast[self._others] / sums.n_codes, _TINY)

    def find_rates(self, class_counts: Float64, balance: Float64) -> _Rates:
        """Rates, given (m, k, k) sums of class probabilities over items, by LF, vote and class."""
        voted = np.einsum("jvc->jc", class_counts)  # faster than sum over short axes
        right = votes = voted[:0]
        if len(self._others):
            diagonal = class_counts.diagonal(axis1=1, axis2=2)[self._others]
            all_right = diagonal + PRIOR_ACCURACY * self._imagined_others
            right = all_right / (voted[self._others] + self._imagined_others)
        if len(self._sided):
            expected = self._accurate * (balance / np.maximum(self._accurate @ balance, _TINY)[:, None])
            counts = (voted[self._sided] + self._imagined_sided * expected[self._side]) / (1 + _ONE_SIDED_SMOOTHING)
            votes = np.minimum(counts / np.maximum(self._items * balance, _TINY), _HIGHEST_RATE)
        return _Rates(balance, right, votes)

    def weigh(self, rates: _Rates) -> tuple[Float64, Float64]:
        """Log-probabilities of the classes where all one-sided LFs abstain, and what votes add. -> (k,), (m, k, k).

        Votes of one-sided LFs that were never seen add nothing.
        """
        evidence, prior = np.zeros((len(self.one_sided), *self._accurate.shape)), _log(rates.balance)
        if len(self._others):
            evidence[self._others] = _tabulate(_log(rates.right), _log(1 - rates.right))
        if len(self._sided):
            silence = _log(1 - rates.votes)
            evidence[self._sided, self._side] = _log(rates.votes) - silence
            prior = prior + silence.sum(0)
        return prior, evidence

    def weigh_unseen(self, rates: _Rates, evidence: Float64) -> Float64:
        """The same with votes of one-sided LFs that were never seen: these have accuracy 0.7. -> (m, k, k)."""
        speech = np.log(self._accurate) - _log(1 - rates.votes)[:, None]  # (s, k, k)
        unseen = np.arange(len(self._accurate)) != self._side[:, None]
        evidence[self._sided] = np.where(unseen[:, :, None], speech, evidence[self._sided])
        return evidence

    def to_accuracies(self, rates: _Rates) -> Float64:
        """As `NPLM.accuracies_`."""
        accuracies = np.empty((len(self.one_sided), len(rates.balance)))
        accuracies[self._others] = rates.right
        is_side = np.arange(len(rates.balance)) == self._side[:, None]
        accuracies[self._sided] = np.where(is_side, rates.votes, 1 - rates.votes)
        return accuracies


def _tabulate(log_right: Float64, log_wrong: Float64) -> Float64:
    """Evidence of each vote for each class, if all errors are equally probable. (m, k), (m, k) -> (m, k, k)."""
    k = log_right.shape[1]
    return np.where(np.eye(k, dtype=bool), log_right[:, None], log_wrong[:, None] - np.log(max(1, k - 1)))


def _read_logits(values: Float64) -> tuple[Float64, Float64]:
    """Log-balance and evidence of accuracies' logits alpha and, in the last row, the balance's. (m + 1, k)."""
    alpha, logits = values[:-1], values[-1]
    prior = logits - np.logaddexp.reduce(logits)
    return prior, _tabulate(-np.logaddexp(0, -2 * alpha), -np.logaddexp(0, 2 * alpha))


def _find_gradient(sums: VoteSums, counts: NDArray[np.intp], values: Float64) -> Float64:
    """Gradient of the mean negative log-likelihood of a batch, given its items per pattern. -> (m + 1, k)."""
    prior, evidence = _read_logits(values)
    posterior = softmax(prior + sums.add_evidence(evidence))
    class_counts = sums.count_votes(posterior * (counts / sums.counts)[:, None])
    voted, right = class_counts.sum(1), np.diagonal(class_counts, axis1=1, axis2=2)
    alpha = (1 + np.tanh(values[:-1])) * voted - 2 * right
    balance = counts.sum() * np.exp(prior) - counts @ posterior
    gradient: Float64 = np.concatenate([alpha, balance[None]]) / counts.sum()
    return gradient


def _log(probabilities: Float64) -> Float64:
    """Logarithms, finite even at 0."""
    return np.log(np.maximum(probabilities, _TINY))
