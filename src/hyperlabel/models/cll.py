"""Constrained label learning: labels under which every LF errs as often as its error bound says.

C. Arachie and B. Huang, "Constrained Labeling for Weakly Supervised Learning", UAI 2021. For each class c the
votes of LF j are a yes-or-no signal, and its expected error under labels y in [0, 1]^(n x k) is
e_jc(y) = mean over the items i it votes on of A_ijc (1 - y_ic) + (1 - A_ijc) y_ic, where A_ijc says whether it
votes for c. The labels minimise the sum over j and c of (e_jc(y) - bound)^2 by projected AdaGrad. Abstentions
enter nowhere: an LF's error is a mean over the items it votes on.

The method estimates the labels of the given items and nothing else, so there are no parameters to carry to
other votes. What carries over is the course of the optimisation: an item that was not there in `fit` gets the
labels it would have got there had it come along with no weight.

Items with equal votes have equal gradients. If they also start equal they stay equal, so the labels of patterns
are enough. The authors' code starts every item at a random point of [0, 1]^k, stops after 300 steps whatever
happens and leaves rows unnormalised; `start="random", max_iter=300, tol=0` reproduces its labels.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import ParameterError
from hyperlabel.models.base import LabelModel, TieBreak
from hyperlabel.models.evidence import DENSE
from hyperlabel.models.majority import vote_shares
from hyperlabel.patterns import Patterns
from hyperlabel.rows import Rows

Floats = NDArray[np.float64]

_DAMPING = 1e-8  # added to AdaGrad's sums of squares, as in the authors' code


class CLL(LabelModel):
    """Constrained label learning.

    Probabilities are the learned labels, normalised. A pattern whose labels are all 0, which happens with three
    or more classes, gets the shares of its votes. A pattern that `fit` did not see gets the labels of an item
    without weight: finding them costs as much as the fit.

    Args:
        error_bound: The error that every LF shall have on every class.
        start: Where labels start: at one half (`even`), or each item at a `random` point of [0, 1]^k. With
            `random` a pattern has the mean labels of its items.
        max_iter: Most AdaGrad steps.
        tol: Stop when a step moves the labels of an item, summed over classes, by less than this on average.
        n_classes: Number of classes; inferred from votes and gold if neither this nor `classes` is given.
        classes: The classes, in the order of their probabilities.
        tie_break: `first`, `abstain` or `random`, for items whose best classes are exactly tied.
        seed: For `start="random"` and `tie_break="random"`.

    Attributes:
        errors_: (m, k) the error of each LF on each class under the learned labels; the bound itself for an LF
            that never votes.

    >>> votes = [[0, 0, 1], [1, 1, -1], [-1, 0, 0], [1, 1, 1]]
    >>> CLL().fit(votes).predict(votes).tolist()
    [0, 1, 0, 1]
    """

    def __init__(
        self,
        error_bound: float = 0.01,
        start: Literal["even", "random"] = "even",
        max_iter: int = 1000,
        tol: float = 1e-5,
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
        tie_break: TieBreak = "first",
        seed: int = 0,
    ) -> None:
        super().__init__(n_classes=n_classes, classes=classes, tie_break=tie_break, seed=seed)
        self.error_bound = error_bound
        self.start = start
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        self._check_params()
        self._patterns = patterns if self.start == "random" else replace(patterns, inverse=None)
        learned = self._learn(self._patterns)
        self._labels, self.errors_ = learned.labels, learned.errors
        self.n_iter_, self.converged_ = learned.n_iter, learned.converged

    def _check_params(self) -> None:
        if not 0 <= self.error_bound <= 1:
            raise ParameterError(f"error_bound is {self.error_bound!r}; expected an error rate from 0 to 1")
        if self.start not in ("even", "random"):
            raise ParameterError(f"start is {self.start!r}; expected 'even' or 'random'")
        if self.max_iter < 1:
            raise ParameterError(f"max_iter is {self.max_iter!r}; expected at least 1")
        if not self.tol >= 0:
            raise ParameterError(f"tol is {self.tol!r}; expected 0 or more")

    def _learn(self, patterns: Patterns) -> "Learned":
        """Labels of patterns: those of `fit`, and behind them, perhaps, others without weight."""
        member, start = None, np.full((patterns.n_patterns, patterns.n_classes), 0.5)
        if patterns.inverse is not None:
            others = np.arange(self._patterns.n_patterns, patterns.n_patterns)
            drawn = np.random.RandomState(self.seed).rand(len(patterns.inverse), patterns.n_classes)
            member, start = np.concatenate([patterns.inverse, others]), np.concatenate([drawn, start[others]])
        learned = learn_labels(
            patterns, start, member, error_bound=self.error_bound, max_iter=self.max_iter, tol=self.tol
        )
        return learned if member is None else learned._replace(labels=_means(learned.labels.T, member).T)

    def _probabilities(self, patterns: Patterns) -> Floats:
        place = patterns.find(self._patterns)
        labels, unseen = self._labels[place], np.flatnonzero(place < 0)
        if len(unseen):
            labels[unseen] = self._learn_beside(patterns.rows.take(unseen))
        return _normalise(labels, patterns)

    def _learn_beside(self, rows: Rows) -> Floats:
        """Labels of rows that `fit` did not see. -> (rows, k)."""
        seen = self._patterns
        both = seen.rows.concatenate(rows)
        counts = np.concatenate([seen.counts, np.zeros(len(rows.starts) - 1, np.int64)])
        patterns = replace(seen, starts=both.starts, lf=both.lf, vote=both.vote, counts=counts)
        return self._learn(patterns).labels[seen.n_patterns :]


class Learned(NamedTuple):
    """What `learn_labels` returns.

    Attributes:
        labels: (r, k) in [0, 1], not normalised.
        errors: (m, k) the LFs' errors under the labels.
        n_iter: Steps taken.
        converged: Whether the last step moved the labels by less than the tolerance.
    """

    labels: Floats
    errors: Floats
    n_iter: int
    converged: bool


def learn_labels(
    patterns: Patterns,
    start: Floats,
    member: NDArray[np.integer] | None = None,
    *,
    error_bound: float = 0.01,
    max_iter: int = 1000,
    tol: float = 1e-5,
) -> Learned:
    """Minimise the squared distance of all errors from the bound by projected AdaGrad.

    Args:
        patterns: The votes.
        start: (r, k) where the labels start.
        member: (r,) the pattern of each row of `start`; the rows are the patterns themselves if not given.
        error_bound: The error that every LF shall have on every class.
        max_iter: Most steps.
        tol: Mean movement of an item's labels in one step, summed over classes, below which to stop.

    >>> from hyperlabel.votes import Votes
    >>> patterns = Patterns.from_votes(Votes.from_array([[0, 0], [1, 1], [1, -1]]))
    >>> learn_labels(patterns, np.full((3, 2), 0.5)).labels[patterns.inverse].round(1).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """
    errors, labels = _Errors(patterns), start.T.copy()
    mean = labels if member is None else _means(labels, member)
    weight = np.repeat(patterns.counts[None] / patterns.n_items, len(labels), axis=0)  # (k, p)
    squares, moved, steps = np.zeros_like(mean), np.inf, 0
    while moved >= tol and steps < max_iter:
        gradient = errors.gradient(errors.of(mean) - error_bound)
        squares += gradient * gradient
        move = gradient / np.sqrt(squares + _DAMPING)
        labels = np.minimum(np.maximum(labels - (move if member is None else move[:, member]), 0), 1)
        before, mean = mean, labels if member is None else _means(labels, member)
        moved, steps = float(np.vdot(weight, np.abs(mean - before))), steps + 1
    final = np.where(errors.n_votes > 0, errors.of(mean), error_bound)
    return Learned(labels.T, final.T, steps, bool(moved < tol))


class _Errors:
    """The LFs' errors under labels of the patterns, and the gradient of their squared residuals.

    A vote for c says yes to c and no to every other class. Few patterns are held as a table of what every LF says to
    every class, and both are matrix products. Else sums over all votes of an LF or a pattern, minus twice the sums
    over its votes for c, give both.

    Attributes:
        n_votes: (m,) votes of each LF.
    """

    def __init__(self, patterns: Patterns) -> None:
        p, m, k = self._shape = patterns.n_patterns, patterns.n_lfs, patterns.n_classes
        self._counts = patterns.counts.astype(np.float64)
        self._row, self._lf, self._vote = patterns.row, patterns.lf, patterns.vote
        said_yes = self._sum_own(np.ones((k, p)))
        self.n_votes = said_yes.sum(0)
        self._divisor = np.maximum(self.n_votes, 1)
        self._yes_share = said_yes / self._divisor
        self._is_dense = k * m * p <= DENSE
        if self._is_dense:
            self._tabulate()
        else:
            self._by_lf = np.argsort(patterns.lf, kind="stable")
            self._lf_starts = np.concatenate([[0], np.cumsum(np.bincount(patterns.lf, minlength=m))])
            self._row_starts = patterns.starts

    def _tabulate(self) -> None:
        """Tables of what is added to errors by labels, (k, m, p), and to gradients by residuals, (k, p, m)."""
        p, m, k = self._shape
        says = np.zeros((k, m, p))  # 1 for no, -1 for yes
        says[:, self._lf, self._row] = 1
        says[self._vote, self._lf, self._row] = -1
        shares = says / self._divisor[:, None]
        self._adds, self._slopes = shares * self._counts, 2 * shares.transpose(0, 2, 1)

    def of(self, labels: Floats) -> Floats:
        """The errors. (k, p) -> (k, m)."""
        if self._is_dense:
            return np.asarray(self._yes_share + (self._adds @ labels[:, :, None])[:, :, 0])
        total = _segment_sums((labels * self._counts)[:, self._row[self._by_lf]], self._lf_starts)
        return np.asarray(self._yes_share + (total - 2 * self._sum_own(labels)) / self._divisor)

    def _sum_own(self, labels: Floats) -> Floats:
        """Sum of the labels of the voted class over each LF's votes for it. (k, p) -> (k, m)."""
        _, m, k = self._shape
        weights = labels[self._vote, self._row] * self._counts[self._row]
        return np.asarray(np.bincount(self._vote * m + self._lf, weights, k * m).reshape(k, m), np.float64)

    def gradient(self, residuals: Floats) -> Floats:
        """Gradient of the sum of squared residuals by an item's labels. (k, m) -> (k, p)."""
        if self._is_dense:
            return np.asarray((self._slopes @ residuals[:, :, None])[:, :, 0])
        p, _, k = self._shape
        slopes = 2 * residuals / self._divisor
        total = _segment_sums(slopes[:, self._lf], self._row_starts)
        own = np.bincount(self._vote * p + self._row, slopes[self._vote, self._lf], k * p).reshape(k, p)
        return np.asarray(total - 2 * own)


def _segment_sums(values: Floats, starts: NDArray[np.integer]) -> Floats:
    """Sums of runs of columns, 0 for an empty run. (k, e), (s + 1,) -> (k, s)."""
    sums = np.zeros((len(values), len(starts) - 1))
    filled = np.flatnonzero(np.diff(starts))
    if len(filled):
        sums[:, filled] = np.add.reduceat(values, starts[filled], axis=1)
    return sums


def _means(labels: Floats, member: NDArray[np.integer]) -> Floats:
    """Mean labels of the columns of each pattern, all of which have one. (k, r), (r,) -> (k, p)."""
    size = np.bincount(member)
    return np.stack([np.bincount(member, labels_of_class) / size for labels_of_class in labels])


def _normalise(labels: Floats, patterns: Patterns) -> Floats:
    """Labels, or votes where all labels are 0, as probabilities. (p, k) -> (p, k)."""
    rows = np.where(labels.any(1, keepdims=True), labels, vote_shares(patterns))
    normalised: Floats = rows / rows.sum(1, keepdims=True)
    return normalised
