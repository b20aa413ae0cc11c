"""What each LF is worth: coverage, overlaps, conflicts, accuracy, its effect on the labels, and which LFs depend.

Flows in: votes, or patterns that were counted elsewhere, perhaps the truth, and a label model. Flows out: tables. All
of it is computed on patterns, so that only grouping takes longer when there are more items.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import ParameterError
from hyperlabel.lf.columns import Table
from hyperlabel.models import HyperLabelModel, LabelModel
from hyperlabel.models.estimation.overlaps import sum_products
from hyperlabel.patterns import Patterns
from hyperlabel.votes import Votes, to_votes

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

DUPLICATE, NEAR_DUPLICATE, DEPENDENT = "duplicate", "near-duplicate", "dependent"

_LEFT_OUT_VOTES = 10_000_000  # votes, for each class, that all passes of `leave_one_out` look at together
_LEAST_ITEMS = 100  # sampled for them, however many LFs there are
_FEW = 5  # items on which a pair must agree before it is called dependent


class LeaveOneOut(NamedTuple):
    """What changes when one LF is left out.

    Attributes:
        label_changes: (m,) share of the items that get another label, or lose theirs.
        probability_changes: (m,) mean over the items of the total variation, which is half the sum of the absolute
            changes of the probabilities.
        n_items: Items this was computed from: all, or a sample of them.
    """

    label_changes: Floats
    probability_changes: Floats
    n_items: int


class LFAnalysis:
    """Analysis of LFs by their votes.

    Args:
        votes: The votes, in any form that `Votes` takes; or `Patterns`, counted where the data are.
        truth: (n,) true classes, -1 for unknown; or a mapping from item to class.
        lfs: Names of the LFs; those of the votes if not given.
        model: The label model that stands in for the truth, the hyper label model if not given. One that must learn
            and has not is fitted, as a copy, to these votes.

    Attributes:
        patterns: The distinct rows of votes.
        lf_names: One name an LF.
        classes: The classes.
        model: The model, ready to predict.
        truth: (p, k) items of each pattern and true class; None without truth.

    >>> analysis = LFAnalysis([[0, 0, -1], [1, 0, -1], [1, 1, -1], [-1, 1, 1]], truth=[0, 1, 1, 0])
    >>> analysis.coverage.tolist(), analysis.conflicts.tolist()
    ([0.75, 1.0, 0.25], [0.25, 0.25, 0.0])
    >>> analysis.precision.tolist()
    [1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        votes: object,
        truth: object = None,
        *,
        lfs: Sequence[str] | None = None,
        model: LabelModel | None = None,
    ) -> None:
        self.model: LabelModel = HyperLabelModel() if model is None else model
        self.truth: Counts | None = None
        if isinstance(votes, Patterns):
            self._take_patterns(votes, truth)
        else:
            self._take_votes(votes, truth)
        if lfs is not None:
            self.lf_names = _check_names(lfs, self.n_lfs)

    def _take_votes(self, votes: object, truth: object) -> None:
        ready = self.model._is_fitted() or not self.model.needs_fit
        stated: dict[str, Any] = {"n_classes": self.model.n_classes, "classes": self.model.classes}
        read: Votes = self.model._read(votes) if ready else to_votes(votes, **stated)
        known = None
        if truth is not None:
            read, known = read.with_labels(truth, "truth")
        if not ready:
            self.model = copy.copy(self.model).fit(read)
        self.patterns = Patterns.from_votes(read)
        self.truth = None if known is None else self.patterns.count_labels(known)
        self.lf_names, self.classes = read.lf_names, read.classes

    def _take_patterns(self, patterns: Patterns, truth: object) -> None:
        if truth is not None:
            raise ParameterError("truth is given, but patterns know no items that it could belong to; give the votes")
        if self.model.needs_fit:
            self.model._check_fitted()
        self.patterns = patterns
        self.lf_names = tuple(f"lf{j}" for j in range(patterns.n_lfs))
        self.classes = tuple(range(patterns.n_classes))

    @property
    def n_lfs(self) -> int:
        """Number of LFs, m."""
        return self.patterns.n_lfs

    @property
    def n_items(self) -> int:
        """Number of items, n."""
        return self.patterns.n_items

    def _sum_by_lf(self, values: NDArray[Any]) -> Floats:
        """Sum over items of a value for each vote. (e,) -> (m,)."""
        weighted: Floats = values * self.patterns.counts[self.patterns.row]
        return np.asarray(np.bincount(self.patterns.lf, weighted, self.n_lfs), np.float64)

    @cached_property
    def votes(self) -> Counts:
        """How many items each LF votes on. (m,)."""
        return self._sum_by_lf(np.ones(len(self.patterns.lf))).astype(np.int64)

    @property
    def polarity(self) -> tuple[tuple[Any, ...], ...]:
        """The classes that each LF votes for. m tuples."""
        k = self.patterns.n_classes
        cast = np.bincount(self.patterns.lf * k + self.patterns.vote, minlength=self.n_lfs * k).reshape(-1, k) > 0
        return tuple(tuple(self.classes[c] for c in np.flatnonzero(row)) for row in cast)

    @property
    def coverage(self) -> Floats:
        """Share of the items that each LF votes on. (m,)."""
        return self.votes / self.n_items

    @property
    def overlaps(self) -> Floats:
        """Share of the items that each LF and at least one other vote on. (m,)."""
        return self._sum_by_lf(self.overlapping[self.patterns.row]) / self.n_items

    @property
    def conflicts(self) -> Floats:
        """Share of the items on which each LF votes and at least one other votes for another class. (m,)."""
        return self._sum_by_lf(self.conflicting[self.patterns.row]) / self.n_items

    @property
    def overlapping(self) -> NDArray[np.bool_]:
        """Whether two or more LFs vote on a pattern. (p,)."""
        return np.diff(self.patterns.starts) > 1

    @cached_property
    def conflicting(self) -> NDArray[np.bool_]:
        """Whether two LFs vote for different classes on a pattern. (p,)."""
        patterns = self.patterns
        first = patterns.vote[patterns.starts[patterns.row]] if len(patterns.vote) else patterns.vote
        return np.bincount(patterns.row, patterns.vote != first, patterns.n_patterns) > 0

    @property
    def correct(self) -> Counts:
        """Votes of each LF that are the truth. (m,)."""
        truth = self._known_truth()
        return np.bincount(self.patterns.lf, truth[self.patterns.row, self.patterns.vote], self.n_lfs).astype(np.int64)

    @property
    def incorrect(self) -> Counts:
        """Votes of each LF that are not the truth, where it is known. (m,)."""
        known = self._known_truth().sum(1)
        return np.bincount(self.patterns.lf, known[self.patterns.row], self.n_lfs).astype(np.int64) - self.correct

    @property
    def precision(self) -> Floats:
        """Share of each LF's votes that are the truth, where it is known; NaN where it never is. (m,).

        Snorkel calls it empirical accuracy.
        """
        return _share(self.correct, self.correct + self.incorrect)

    def _known_truth(self) -> Counts:
        if self.truth is None:
            raise ParameterError("there is no truth to compare with; give it: LFAnalysis(votes, truth)")
        return self.truth

    @cached_property
    def probabilities(self) -> Floats:
        """The model's probabilities for each pattern. (p, k)."""
        return self.model._pattern_probabilities(self.patterns)

    @cached_property
    def labels(self) -> NDArray[np.intp]:
        """The model's label of each pattern, as a class number; -1 for none. (p,)."""
        return self.model._best(self.probabilities, self.patterns)

    @cached_property
    def posterior(self) -> Floats:
        """What stands in for the truth: certainty of the most probable class, shared between tied ones. (p, k).

        Any label model may be asked, and labels serve all alike. The paper's, for one, orders the classes well, but
        its probabilities lie so close to even that every LF would look like a coin at their face value.
        """
        tied = self.probabilities >= self.probabilities.max(1, keepdims=True) - 1e-6
        shared: Floats = tied / tied.sum(1, keepdims=True)
        return shared

    @property
    def estimated_accuracy(self) -> Floats:
        """Share of each LF's votes that the model bears out; NaN for an LF that never votes. (m,).

        An estimate of precision without truth. It is too high where an LF is often the only one to vote.
        """
        right = self._sum_by_lf(self.posterior[self.patterns.row, self.patterns.vote])
        return _share(right, self.votes)

    def leave_one_out(self, n_items: int | None = None) -> LeaveOneOut:
        """What changes when each LF is left out: the model looks at the other votes, in one pass for each LF.

        Args:
            n_items: How many items to look at, drawn at random with a fixed seed. If not given, all, unless many LFs
                on many patterns would take long.
        """
        if n_items is None:
            return self._leave_one_out
        if not 0 < n_items <= self.n_items:
            raise ParameterError(f"n_items is {n_items!r}; expected a number from 1 to {self.n_items}")
        return _leave_one_out(self.model, self._sample(n_items))

    @cached_property
    def _leave_one_out(self) -> LeaveOneOut:
        return _leave_one_out(self.model, self._sample(self._affordable_items()))

    def _affordable_items(self) -> int:
        work = np.count_nonzero(self.votes) * self.patterns.n_classes  # passes, each over all classes
        if work * len(self.patterns.lf) <= _LEFT_OUT_VOTES:
            return self.n_items
        votes_per_item = max(1.0, self.votes.sum() / self.n_items)
        return min(self.n_items, max(_LEAST_ITEMS, int(_LEFT_OUT_VOTES / work / votes_per_item)))

    def _sample(self, n_items: int) -> Patterns:
        if n_items == self.n_items:
            return self.patterns
        drawn = np.random.default_rng(0).multivariate_hypergeometric(
            self.patterns.counts.astype(np.int64), n_items, method="marginals"
        )
        kept = np.flatnonzero(drawn)
        rows = self.patterns.rows.take(kept)
        return replace(self.patterns, starts=rows.starts, lf=rows.lf, vote=rows.vote, counts=drawn[kept], inverse=None)

    @cached_property
    def shared(self) -> Counts:
        """On how many items both LFs of a pair vote. (m, m); the diagonal is `votes`."""
        ones = np.ones(len(self.patterns.lf))
        return sum_products(self.patterns, self.patterns.lf, ones, self.n_lfs).astype(np.int64)

    @cached_property
    def agreements(self) -> Counts:
        """On how many items both LFs of a pair vote for the same class. (m, m); the diagonal is `votes`."""
        total = np.zeros((self.n_lfs, self.n_lfs), np.int64)
        for part, lfs, column in self._by_class():
            together = sum_products(part, column, np.ones(len(column)), len(lfs))
            total[np.ix_(lfs, lfs)] += together.astype(np.int64)
        return total

    @property
    def pair_conflicts(self) -> Counts:
        """On how many items the LFs of a pair vote for different classes. (m, m)."""
        return self.shared - self.agreements

    def _by_class(self) -> Iterator[tuple[Patterns, NDArray[np.intp], NDArray[np.intp]]]:
        """The votes for one class at a time, the LFs that cast them, and which of these cast each vote."""
        patterns, row = self.patterns, self.patterns.row
        for c in range(patterns.n_classes):
            kept = np.flatnonzero(patterns.vote == c)
            sizes = np.bincount(row[kept], minlength=patterns.n_patterns)
            present = np.flatnonzero(sizes)
            starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[present])])
            lfs, column = np.unique(patterns.lf[kept], return_inverse=True)
            part = replace(
                patterns, starts=starts, lf=patterns.lf[kept], vote=patterns.vote[kept], counts=patterns.counts[present]
            )
            yield part, lfs, column

    @cached_property
    def dependence(self) -> Floats:
        """Correlation of the votes of any two LFs given the class, from -1 to 1; NaN for an LF that never varies.

        LFs that are independent given the class have 0, however accurate they are: how often they then agree follows
        from how often each votes for each class. LFs that always vote alike have 1. (m, m).
        """
        beyond = self.agreements - self._expected_agreements()
        spread = np.sqrt(np.maximum(beyond.diagonal(), 0))
        spread[spread < 1e-6] = np.nan
        correlation: Floats = np.clip(beyond / spread / spread[:, None], -1, 1)
        return correlation

    def _expected_agreements(self) -> Floats:
        """On how many items two LFs would vote alike if they were independent given the class. (m, m)."""
        patterns, posterior, k = self.patterns, self.posterior, self.patterns.n_classes
        items = patterns.counts @ posterior  # (k,) of each class
        total = np.zeros((self.n_lfs, self.n_lfs))
        for c in range(k):
            kept = np.flatnonzero(patterns.vote == c)
            lfs, column = np.unique(patterns.lf[kept], return_inverse=True)
            behind = posterior[patterns.row[kept]] * patterns.counts[patterns.row[kept], None]
            votes = np.stack([np.bincount(column, behind[:, y], len(lfs)) for y in range(k)], 1)  # (lfs, k)
            scaled = votes / np.sqrt(np.maximum(items, 1e-9))
            total[np.ix_(lfs, lfs)] += scaled @ scaled.T
        return total

    @property
    def similarity(self) -> Floats:
        """Jaccard index of the votes of any two LFs: votes they share, of all votes of either. (m, m)."""
        together = self.votes[:, None] + self.votes - self.agreements
        index: Floats = self.agreements / np.maximum(together, 1)
        return index

    def dependent_pairs(self, dependence: float = 0.5, similarity: float = 0.9) -> Table:
        """Pairs of LFs that say the same thing twice, most dependent first.

        A pair that agrees on fewer than five items is left out: that is too few to tell.

        Args:
            dependence: The least correlation given the class of a pair that is called dependent.
            similarity: The least Jaccard index of a pair that is called a near-duplicate; a duplicate has 1.

        Returns:
            Columns: lf, other, kind, shared, agreements, conflicts, similarity, dependence.

        >>> votes = np.random.default_rng(0).integers(0, 2, (50, 4))
        >>> votes[:, 3] = votes[:, 0]
        >>> print(LFAnalysis(votes).dependent_pairs()["kind"], LFAnalysis(votes).dependent_pairs()["other"])
        ['duplicate'] ['lf3']
        """
        alike, beyond = self.similarity, np.nan_to_num(self.dependence)
        found = ((alike >= similarity) | (beyond >= dependence)) & (self.agreements >= _FEW)
        one, other = np.nonzero(np.triu(found, 1))
        order = np.lexsort((-alike[one, other], -beyond[one, other]))
        one, other = one[order], other[order]
        kinds = np.select([alike == 1, alike >= similarity], [DUPLICATE, NEAR_DUPLICATE], DEPENDENT)
        names = np.array(self.lf_names)
        figures = {
            "shared": self.shared,
            "agreements": self.agreements,
            "conflicts": self.pair_conflicts,
            "similarity": alike,
            "dependence": self.dependence,
        }
        columns = {name: figure[one, other] for name, figure in figures.items()}
        return Table({"lf": names[one], "other": names[other], "kind": kinds[one, other], **columns})

    def summary(self) -> Table:
        """One row an LF.

        Returns:
            Columns: lf, polarity, votes, coverage, overlaps, conflicts; with truth correct, incorrect, precision;
            estimated_accuracy, label_changes, probability_changes.

        >>> print(LFAnalysis([[0, 0, -1], [1, 0, -1], [1, 1, -1]]).summary()["polarity"])
        ['0, 1' '0, 1' '']
        """
        columns: dict[str, NDArray[Any]] = {
            "lf": np.array(self.lf_names),
            "polarity": np.array([", ".join(map(str, classes)) for classes in self.polarity]),
            "votes": self.votes,
            "coverage": self.coverage,
            "overlaps": self.overlaps,
            "conflicts": self.conflicts,
        }
        if self.truth is not None:
            columns |= {"correct": self.correct, "incorrect": self.incorrect, "precision": self.precision}
        left_out = self.leave_one_out()
        columns["estimated_accuracy"] = self.estimated_accuracy
        columns["label_changes"] = left_out.label_changes
        columns["probability_changes"] = left_out.probability_changes
        return Table(columns)


def _leave_one_out(model: LabelModel, patterns: Patterns) -> LeaveOneOut:
    before = model._pattern_probabilities(patterns)
    labels, n = model._best(before, patterns), patterns.n_items
    label_changes, probability_changes = np.zeros(patterns.n_lfs), np.zeros(patterns.n_lfs)
    for j in np.unique(patterns.lf):
        rest, place = _without(patterns, j)
        after = model._pattern_probabilities(rest)
        label_changes[j] = patterns.counts @ (model._best(after, rest)[place] != labels) / n
        probability_changes[j] = patterns.counts @ np.abs(after[place] - before).sum(1) / 2 / n
    return LeaveOneOut(label_changes, probability_changes, n)


def _without(patterns: Patterns, lf: int) -> tuple[Patterns, NDArray[np.intp]]:
    """The patterns when an LF abstains, and which of them each was. -> patterns, (p,)."""
    kept = patterns.lf != lf
    sizes = np.bincount(patterns.row[kept], minlength=patterns.n_patterns)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return replace(patterns, starts=starts, lf=patterns.lf[kept], vote=patterns.vote[kept]).join_equal()


def _share(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """A part of a whole, NaN where there is none."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


def _check_names(lfs: Sequence[str], m: int) -> tuple[str, ...]:
    if isinstance(lfs, str) or len(lfs) != m:
        raise ParameterError(f"lfs is {lfs!r:.80}; expected a list with one name for each of the {m} LFs")
    return tuple(map(str, lfs))
