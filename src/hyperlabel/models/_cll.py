"""Constrained label learning: labels under which every LF errs as often as its error bound says.

C. Arachie and B. Huang, "Constrained Labeling for Weakly Supervised Learning", UAI 2021. For each class c the
votes of LF j are a yes-or-no signal, and its expected error under labels y in [0, 1]^(n x k) is
e_jc(y) = mean over the items i it votes on of A_ijc (1 - y_ic) + (1 - A_ijc) y_ic, where A_ijc says whether it
votes for c. The labels minimize the sum over j and c of (e_jc(y) - bound)^2 by projected AdaGrad. Abstentions
play no role: an LF's error is a mean over the items it votes on.

The method estimates the labels of the given items and nothing else, so there are no parameters to carry to
other votes. What carries over is the course of the optimization, the error of every LF at every step: from it an
item gets the labels that it would have gotten in `fit` as an extra item with no weight.

Items with equal votes have equal gradients. If they also start equal they stay equal, so the labels of patterns
are enough. The authors' code starts every item at a random point of [0, 1]^k, always stops after 300 steps
and leaves rows unnormalized; `start="random", max_iter=300, tol=0` reproduces its labels.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, check_count
from hyperlabel.data import Patterns
from hyperlabel.errors import ParameterError
from hyperlabel.models._base import LabelModel
from hyperlabel.models._majority import vote_shares
from hyperlabel.models._parameters import choice, number
from hyperlabel.models._vote_sums import DENSE

_DAMPING = 1e-8  # added to AdaGrad's sums of squares, as in the authors' code


@dataclass(kw_only=True, eq=False, repr=False)
class CLL(LabelModel):
    """Constrained label learning.

    Probabilities are the learned labels, normalized. A pattern whose labels are all 0, which happens with three
    or more classes, gets the shares of its votes. `predict` takes as many steps as the fit. An LF that was silent in
    `fit` moves labels as much as the others do on average.

    Args:
        error_bound: The error that every LF is held to on every class.
        start: Where labels start: at one half (`even`), or each item at a `random` point of [0, 1]^k. With
            `random`, `fit_predict` gives a pattern the mean labels of its items, while `predict`, which knows no
            items, starts at one half.
        max_iter: Maximum number of AdaGrad steps.
        tol: Stop when a step moves the labels of an item, summed over classes, by less than this on average.

    Attributes:
        errors_: (m, k) the error of each LF on each class under the learned labels; the bound itself for an LF
            that never votes.
        residuals_: (steps, k, m) how far the error of each LF on each class was from the bound, at each step.
        n_votes_: (m,) votes of each LF.

    >>> votes = [[0, 0, 1], [1, 1, -1], [-1, 0, 0], [1, 1, 1]]
    >>> CLL().fit(votes).predict(votes).tolist()
    [0, 1, 0, 1]
    """

    error_bound: float = 0.01
    start: Literal["even", "random"] = "even"
    max_iter: int = 1000
    tol: float = 1e-5

    short_names = ("cll",)
    _constraints = LabelModel._constraints | {
        "error_bound": number(0, 1),
        "start": choice("even", "random"),
        "max_iter": check_count,
        "tol": number(0),
    }

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> Float64:
        start, member = np.full((patterns.n_patterns, patterns.n_classes), 0.5), None
        if self.start == "random":
            start, member = self._draw(patterns)
        learned = learn_labels(
            patterns, start, member, error_bound=self.error_bound, max_iter=self.max_iter, tol=self.tol
        )
        self.errors_, self.n_votes_ = learned.errors, learned.n_votes
        self.residuals_ = _fill_silent(learned.residuals, self.n_votes_)
        self.n_iter_, self.converged_ = len(learned.residuals), learned.converged
        return _normalize(learned.labels if member is None else _means(learned.labels.T, member).T, patterns)

    def _draw(self, patterns: Patterns) -> tuple[Float64, NDArray[np.integer]]:
        """A random start of each item, and the pattern that it has. -> (n, k), (n,)."""
        if patterns.inverse is None:
            raise ParameterError("start='random' needs items, but these votes were only counted; use start='even'")
        drawn = np.random.RandomState(self._seed).rand(len(patterns.inverse), patterns.n_classes)
        return drawn, patterns.inverse

    def _probabilities(self, patterns: Patterns) -> Float64:
        errors = _Errors(patterns, self.n_votes_)
        labels = np.full((patterns.n_classes, patterns.n_patterns), 0.5)
        squares = np.zeros_like(labels)
        for residuals in self.residuals_:
            labels = _project(labels - _step(errors.gradient(residuals), squares))
        return _normalize(labels.T, patterns)


class LearnedLabels(NamedTuple):
    """The result of `learn_labels`."""

    labels: Float64  # (r, k) in [0, 1], not normalized
    errors: Float64  # (m, k) the LFs' errors under the labels
    residuals: Float64  # (steps, k, m) how far the errors were from the bound at each step
    n_votes: Float64  # (m,) votes of each LF
    converged: bool  # whether the last step moved the labels by less than the tolerance


def learn_labels(
    patterns: Patterns,
    start: Float64,
    member: NDArray[np.integer] | None = None,
    *,
    error_bound: float = 0.01,
    max_iter: int = 1000,
    tol: float = 1e-5,
) -> LearnedLabels:
    """Minimize the squared distance of all errors from the bound by projected AdaGrad.

    `start` is (r, k) where the labels start, `member` (r,) the pattern of each of its rows; None if they are the
    patterns. It stops when a step moves an item's labels, summed over classes, by less than `tol` on average.
    """
    errors, labels = _Errors(patterns), start.T.copy()
    mean = labels if member is None else _means(labels, member)
    weight = np.repeat(patterns.counts[None] / patterns.n_items, len(labels), axis=0)  # (k, p)
    squares, moved, residuals = np.zeros_like(mean), np.inf, list[Float64]()
    while moved >= tol and len(residuals) < max_iter:
        residuals.append(errors.of(mean) - error_bound)
        move = _step(errors.gradient(residuals[-1]), squares)
        labels = _project(labels - (move if member is None else move[:, member]))
        before, mean = mean, labels if member is None else _means(labels, member)
        moved = float(np.vdot(weight, np.abs(mean - before)))
    final = np.where(errors.n_votes > 0, errors.of(mean), error_bound)
    return LearnedLabels(
        labels.T, np.ascontiguousarray(final.T), np.array(residuals), errors.n_votes, bool(moved < tol)
    )


def _step(gradient: Float64, squares: Float64) -> Float64:
    """A step of AdaGrad, whose sums of squares are changed in place. (k, p), (k, p) -> (k, p)."""
    squares += gradient * gradient
    return np.asarray(gradient / np.sqrt(squares + _DAMPING))


def _project(labels: Float64) -> Float64:
    return np.minimum(np.maximum(labels, 0), 1)


def _fill_silent(residuals: Float64, n_votes: Float64) -> Float64:
    """Residuals with which LFs that never vote move labels as others do on average. (s, k, m), (m,) -> (s, k, m)."""
    voting = n_votes > 0
    if voting.any():
        residuals[:, :, ~voting] = (residuals[:, :, voting] / n_votes[voting]).mean(2, keepdims=True)
    return residuals


class _Errors:
    """The LFs' errors under labels of the patterns, and the gradient of their squared residuals.

    A vote for c says yes to c and no to every other class. Few patterns are held as a table of what every LF says about
    every class, and both are matrix products. Else sums over all votes of an LF or a pattern, minus twice the sums over
    its votes for c, give both. Errors are means over (m,) `n_votes`, those of the patterns if not given.
    """

    def __init__(self, patterns: Patterns, n_votes: Float64 | None = None) -> None:
        p, m, k = self._shape = patterns.n_patterns, patterns.n_lfs, patterns.n_classes
        self._counts = patterns.counts.astype(np.float64)
        self._row, self._lf, self._vote = patterns.row, patterns.lf, patterns.vote
        yes_votes = self._sum_own(np.ones((k, p)))
        self.n_votes = yes_votes.sum(0) if n_votes is None else n_votes
        self._divisor = np.maximum(self.n_votes, 1)
        self._yes_share = yes_votes / self._divisor
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

    def of(self, labels: Float64) -> Float64:
        """The errors. (k, p) -> (k, m)."""
        if self._is_dense:
            return np.asarray(self._yes_share + (self._adds @ labels[:, :, None])[:, :, 0])
        total = _segment_sums((labels * self._counts)[:, self._row[self._by_lf]], self._lf_starts)
        return np.asarray(self._yes_share + (total - 2 * self._sum_own(labels)) / self._divisor)

    def _sum_own(self, labels: Float64) -> Float64:
        """Sum of the labels of the voted class over each LF's votes for it. (k, p) -> (k, m)."""
        _, m, k = self._shape
        weights = labels[self._vote, self._row] * self._counts[self._row]
        return np.asarray(np.bincount(self._vote * m + self._lf, weights, k * m).reshape(k, m), np.float64)

    def gradient(self, residuals: Float64) -> Float64:
        """Gradient of the sum of squared residuals by an item's labels. (k, m) -> (k, p)."""
        if self._is_dense:
            return np.asarray((self._slopes @ residuals[:, :, None])[:, :, 0])
        p, _, k = self._shape
        slopes = 2 * residuals / self._divisor
        total = _segment_sums(slopes[:, self._lf], self._row_starts)
        of_vote = np.bincount(self._vote * p + self._row, slopes[self._vote, self._lf], k * p).reshape(k, p)
        return np.asarray(total - 2 * of_vote)


def _segment_sums(values: Float64, starts: NDArray[np.integer]) -> Float64:
    """Sums of runs of columns, 0 for an empty run. (k, e), (s + 1,) -> (k, s)."""
    sums = np.zeros((len(values), len(starts) - 1))
    filled = np.flatnonzero(np.diff(starts))
    if len(filled):
        sums[:, filled] = np.add.reduceat(values, starts[filled], axis=1)
    return sums


def _means(labels: Float64, member: NDArray[np.integer]) -> Float64:
    """Mean labels of the columns of each pattern, all of which have one. (k, r), (r,) -> (k, p)."""
    size = np.bincount(member)
    return np.stack([np.bincount(member, labels_of_class) / size for labels_of_class in labels])


def _normalize(labels: Float64, patterns: Patterns) -> Float64:
    """Labels, or votes where all labels are 0, as probabilities. (p, k) -> (p, k)."""
    rows = np.where(labels.any(1, keepdims=True), labels, vote_shares(patterns))
    normalized: Float64 = rows / rows.sum(1, keepdims=True)
    return normalized
