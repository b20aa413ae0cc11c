"""Statistics of LFs on patterns: counts of their votes, pairs that vote alike, and labels when one LF is left out."""

from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Metric
from hyperlabel.data import Patterns, Rows
from hyperlabel.errors import ParameterError
from hyperlabel.models import LabelModel, sum_products

Counts = NDArray[np.int64]

LEVELS = "levels of scores"
"""Name of the votes of an LF that gives scores."""

MOST_VOTES = 10_000_000
"""All passes of leaving one out together look at no more votes than this per class, unless a number is given."""

_LEAST_ITEMS = 100  # the least number of items to look at, however many LFs there are
MOST_FITS = 100
"""With more LFs than this, they are left out in the state of all votes; no model reads the set once for each."""

_ROWS_AT_ONCE = 1 << 20  # votes of rows that are judged together
_LEAST_SPREAD = 1e-6  # an LF whose votes vary less, given the class, has no correlation
_LEAST_CLASS = 1e-9  # items of a class, to avoid division by zero


class VoteStatistics:
    """Counts and shares of the votes of each LF, without a label model.

    `truth` are (p, k) items of each pattern and true class; None without truth.
    """

    def __init__(self, patterns: Patterns, truth: Counts | None = None) -> None:
        self.patterns, self.truth = patterns, truth
        self.n_lfs, self.n_items, self.classes = patterns.n_lfs, patterns.n_items, patterns.classes

    @cached_property
    def votes(self) -> Counts:
        """Number of items that each LF votes on. (m,)."""
        return sum_by_lf(self.patterns, np.ones(len(self.patterns.lf))).astype(np.int64)

    @property
    def polarity(self) -> tuple[tuple[Any, ...], ...]:
        """The classes that each LF votes for, and outcomes that are not one class. m tuples."""
        k, names = self.patterns.n_codes, list(self.patterns.vote_names)
        if self.patterns.outcomes is not None:
            for s in np.flatnonzero(self.patterns.outcomes.ladder >= 0).tolist():
                names[self.patterns.n_classes + s] = LEVELS
        cast = np.bincount(self.patterns.lf * k + self.patterns.vote, minlength=self.n_lfs * k).reshape(-1, k) > 0
        return tuple(tuple(dict.fromkeys(names[c] for c in np.flatnonzero(row))) for row in cast)

    @property
    def coverage(self) -> Float64:
        """Share of the items that each LF votes on. (m,)."""
        return self.votes / self.n_items

    @property
    def overlaps(self) -> Float64:
        """Share of the items that each LF and at least one other vote on. (m,)."""
        return sum_by_lf(self.patterns, self.overlapping[self.patterns.row]) / self.n_items

    @property
    def alone(self) -> Float64:
        """Share of each LF's votes on items where no other LF votes; NaN for an LF that never votes. (m,).

        On these items its vote is the label, so nothing shows whether it is right.
        """
        return share(sum_by_lf(self.patterns, ~self.overlapping[self.patterns.row]), self.votes)

    @property
    def conflicts(self) -> Float64:
        """Share of the items on which each LF votes and at least one other votes for another class. (m,)."""
        return sum_by_lf(self.patterns, self.conflicting[self.patterns.row]) / self.n_items

    @property
    def overlapping(self) -> NDArray[np.bool_]:
        """True where two or more LFs vote on a pattern. (p,)."""
        return np.diff(self.patterns.starts) > 1

    @cached_property
    def conflicting(self) -> NDArray[np.bool_]:
        """True where two LFs vote for different classes on a pattern. (p,)."""
        patterns = self.patterns
        if patterns.outcomes is not None:  # no class is left that all votes support
            support = patterns.outcomes.supported[patterns.vote].astype(np.int64)
            backed = np.stack([np.bincount(patterns.row, each, patterns.n_patterns) for each in support.T], 1)
            return np.asarray((backed < np.diff(patterns.starts)[:, None]).all(1))
        first = patterns.vote[patterns.starts[patterns.row]] if len(patterns.vote) else patterns.vote
        return np.bincount(patterns.row, patterns.vote != first, patterns.n_patterns) > 0

    @property
    def correct(self) -> Counts:
        """Votes of each LF that are the truth. (m,)."""
        right = self.patterns.of_votes(self._require_truth())
        return np.bincount(self.patterns.lf, right, self.n_lfs).astype(np.int64)

    @property
    def incorrect(self) -> Counts:
        """Votes of each LF that are not the truth, where it is known. (m,)."""
        counts = self._require_truth().sum(1)
        return np.bincount(self.patterns.lf, counts[self.patterns.row], self.n_lfs).astype(np.int64) - self.correct

    @property
    def precision(self) -> Float64:
        """Share of each LF's votes that are the truth, where it is known; NaN where it never is. (m,).

        Snorkel calls it empirical accuracy.
        """
        return share(self.correct, self.correct + self.incorrect)

    @cached_property
    def shared(self) -> Counts:
        """Number of items on which both LFs of a pair vote. (m, m); the diagonal is `votes`."""
        patterns = self.patterns
        return sum_products(patterns, patterns.lf, np.ones(len(patterns.lf)), self.n_lfs).astype(np.int64)

    @cached_property
    def agreements(self) -> Counts:
        """Number of items on which both LFs of a pair vote for the same class. (m, m); the diagonal is `votes`."""
        patterns = self.patterns.as_classes()
        total = np.zeros((self.n_lfs, self.n_lfs), np.int64)
        for c in _voted_classes(patterns):
            rows = patterns.rows.keep(patterns.vote == c)
            present = np.flatnonzero(np.diff(rows.starts))
            lfs, column = np.unique(rows.lf, return_inverse=True)
            voted = Rows(rows.starts[np.append(present, -1)], rows.lf, rows.vote)
            part = patterns.with_rows(voted, patterns.counts[present])
            total[np.ix_(lfs, lfs)] += sum_products(part, column, np.ones(len(column)), len(lfs)).astype(np.int64)
        return total

    @cached_property
    def pair_conflicts(self) -> Counts:
        """Number of items on which a pair votes for different classes; votes for several may share one. (m, m)."""
        return self.shared - self.agreements - _count_compatible(self.patterns)

    @property
    def similarity(self) -> Float64:
        """Jaccard index of the votes of any two LFs: votes they share, of all votes of either. (m, m)."""
        together = self.votes[:, None] + self.votes - self.agreements
        index: Float64 = self.agreements / np.maximum(together, 1)
        return index

    def _require_truth(self) -> Counts:
        if self.truth is None:
            raise ParameterError("there is no truth; give it: LFAnalysis(votes, truth)")
        return self.truth


def sum_by_lf(patterns: Patterns, values: NDArray[Any]) -> Float64:
    """Sum over items of a value for each vote. (e,) -> (m,)."""
    weighted: Float64 = values * patterns.counts[patterns.row]
    return np.asarray(np.bincount(patterns.lf, weighted, patterns.n_lfs), np.float64)


def share(part: NDArray[Any], whole: NDArray[Any]) -> Float64:
    """Divide a part by a whole; NaN if the whole is 0."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


def _count_compatible(patterns: Patterns) -> Counts:
    """Count the items on which both LFs of a pair vote, one for several classes, and a class is left. -> (m, m)."""
    m = patterns.n_lfs
    total = np.zeros((m, m), np.int64)
    if patterns.outcomes is None:
        return total
    supports, numbers = np.unique(patterns.outcomes.supported, axis=0, return_inverse=True)
    kind, single = numbers.reshape(-1)[patterns.vote], supports.sum(1) == 1
    for u in np.unique(kind[~single[kind]]).tolist():
        meets = (supports & supports[u]).any(1)
        meets[u] = True
        kept = meets[kind]
        block = np.where(kind == u, 0, np.where(single[kind], 1, 2))[kept]  # the same vote, one class, other classes
        part = patterns.with_rows(patterns.rows.keep(kept), patterns.counts)
        pairs = sum_products(part, block * m + part.lf, np.ones(len(part.lf)), 3 * m).astype(np.int64)
        total += pairs[:m].reshape(m, 3, m).sum(1) + pairs[m : 2 * m, :m]
    return total


def _voted_classes(patterns: Patterns) -> list[int]:
    """The classes that LFs vote for: of many stated ones, few may occur."""
    return np.flatnonzero(patterns.rows.voted_classes(patterns.n_codes)[: patterns.n_classes]).tolist()


def correlate(patterns: Patterns, agreements: Counts, posterior: Float64) -> Float64:
    """Correlation of the votes of any two LFs given the class, from -1 to 1; NaN for an LF that never varies.

    From their (m, m) agreements and the (p, k) probabilities of the classes of patterns. -> (m, m).
    """
    beyond = agreements - _expect_agreements(patterns, posterior)
    spread = np.sqrt(np.maximum(beyond.diagonal(), 0))
    spread[spread < _LEAST_SPREAD] = np.nan
    correlation: Float64 = np.clip(beyond / spread / spread[:, None], -1, 1)
    return correlation


def _expect_agreements(patterns: Patterns, posterior: Float64) -> Float64:
    """Items on which two LFs would vote alike if they were independent given the class. -> (m, m)."""
    possible = posterior[:, posterior[patterns.has_votes].any(0)]  # (p, c) of classes that an item with votes may have
    items = patterns.counts @ possible  # (c,) items of each class
    total = np.zeros((patterns.n_lfs, patterns.n_lfs))
    for c in _voted_classes(patterns):
        kept = np.flatnonzero(patterns.vote == c)
        lfs, column = np.unique(patterns.lf[kept], return_inverse=True)
        class_counts = possible[patterns.row[kept]] * patterns.counts[patterns.row[kept], None]
        votes = np.stack([np.bincount(column, counts, len(lfs)) for counts in class_counts.T], 1)  # (lfs, c)
        scaled = votes / np.sqrt(np.maximum(items, _LEAST_CLASS))
        total[np.ix_(lfs, lfs)] += scaled @ scaled.T
    return total


class LeaveOneOut(NamedTuple):
    """Changes when one LF is left out.

    Attributes:
        label_changes: (m,) share of the items that get another label, or lose theirs.
        probability_changes: (m,) mean over the items of the total variation, which is half the sum of the absolute
            changes of the probabilities.
        n_items: Items this was computed from: all, or a sample of them.
    """

    label_changes: Float64
    probability_changes: Float64
    n_items: int


def leave_one_out(model: LabelModel, patterns: Patterns, metric: Metric = "accuracy") -> LeaveOneOut:
    """Leave out each LF in turn.

    A model that is not fitted reads the votes without the LF, as if it had never been written; a fitted one judges them
    in its state.

    >>> from hyperlabel import Votes, label_model
    >>> votes = Votes.from_array([[0, -1], [1, 0], [1, 1]])
    >>> leave_one_out(label_model("mv"), Patterns.from_votes(votes)).label_changes.round(2).tolist()
    [0.33, 0.33]
    """
    counted = replace(patterns, inverse=None)  # labels of patterns, not of items
    if model.is_fitted:
        return _judge_without(model, counted, metric)
    before, n = model.label(counted, metric), patterns.n_items
    label_changes, probability_changes = np.zeros(patterns.n_lfs), np.zeros(patterns.n_lfs)
    for j in np.unique(patterns.lf):
        rest, index = keep_lfs(counted, np.arange(patterns.n_lfs) != j)
        after = model.label(rest, metric).take(index)
        label_changes[j] = patterns.counts @ (after.best != before.best) / n
        probability_changes[j] = patterns.counts @ np.abs(after.probabilities - before.probabilities).sum(1) / 2 / n
    return LeaveOneOut(label_changes, probability_changes, n)


def _judge_without(model: LabelModel, patterns: Patterns, metric: Metric) -> LeaveOneOut:
    """Judge each pattern without each of its votes, in the state of a fitted model, many at a time."""
    m, n, changes = patterns.n_lfs, patterns.n_items, np.zeros((2, patterns.n_lfs))
    width = int(np.mean(np.diff(patterns.starts).astype(np.float64) ** 2)) + 1
    for part in patterns.split(max(1, _ROWS_AT_ONCE // width)):
        before, row = model.label_patterns(part, metric), part.row
        after = model.label_patterns(_without_each_vote(part), metric)
        moved = np.abs(after.probabilities - before.probabilities[row]).sum(1) / 2
        for each, total in zip((after.best != before.best[row], moved), changes, strict=True):
            total += np.bincount(part.lf, part.counts[row] * each, m)
    return LeaveOneOut(changes[0] / n, changes[1] / n, n)


def _without_each_vote(patterns: Patterns) -> Patterns:
    """Return for each vote its row without it. -> e patterns."""
    row, votes = patterns.row, len(patterns.lf)
    sizes = np.diff(patterns.starts)[row]
    owner = np.repeat(np.arange(votes), sizes)
    entry = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + patterns.starts[row][owner]
    kept = entry[entry != owner]
    starts = np.append(0, np.cumsum(sizes - 1)).astype(np.int64)
    return patterns.with_rows(Rows(starts, patterns.lf[kept], patterns.vote[kept]), np.ones(votes, np.int64))


def keep_lfs(patterns: Patterns, lfs: NDArray[np.bool_]) -> tuple[Patterns, NDArray[np.intp]]:
    """Return the patterns when all LFs but some abstain, and where each pattern went. (m,) -> patterns, (p,)."""
    return patterns.with_rows(patterns.rows.keep(lfs[patterns.lf]), patterns.counts).join_equal()


def affordable_items(patterns: Patterns) -> int:
    """Number of items that can be looked at in reasonable time: all, or fewer if many LFs vote on many patterns."""
    n, votes = patterns.n_items, np.diff(patterns.starts)
    work = len(np.unique(patterns.lf)) * patterns.n_classes  # passes, each over all classes
    if work * len(patterns.lf) <= MOST_VOTES:
        return n
    votes_per_item = max(1.0, float(votes @ patterns.counts) / n)
    return min(n, max(_LEAST_ITEMS, int(MOST_VOTES / work / votes_per_item)))


def sample_affordable(patterns: Patterns, passes: int, most: int) -> Patterns:
    """Return the patterns, or those of a sample, if passes look at more than `most` votes times classes."""
    work = len(patterns.lf) * patterns.n_classes * passes
    if work <= most:
        return patterns
    return sample_items(patterns, min(patterns.n_items, max(_LEAST_ITEMS, patterns.n_items * most // work)))


def sample_items(patterns: Patterns, n_items: int) -> Patterns:
    """Return the patterns of n items, drawn at random with a fixed seed."""
    if n_items == patterns.n_items:
        return patterns
    drawn = np.random.default_rng(0).multivariate_hypergeometric(
        patterns.counts.astype(np.int64), n_items, method="marginals"
    )
    kept = np.flatnonzero(drawn)
    return replace(patterns.take(kept), counts=drawn[kept])
