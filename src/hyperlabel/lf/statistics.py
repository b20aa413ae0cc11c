"""What the votes of LFs say by themselves, and against the truth where it is known. No label model is used."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import ParameterError
from hyperlabel.kernels import Float64
from hyperlabel.patterns import Patterns

Counts = NDArray[np.int64]

LEVELS = "levels of scores"
"""What an LF that gives scores votes for."""


class VoteStatistics:
    """Counts and shares of the votes of each LF.

    Args:
        patterns: The distinct rows of votes.
        truth: (p, k) items of each pattern and true class; None without truth.

    >>> from hyperlabel import Votes
    >>> statistics = VoteStatistics(Patterns.from_votes(Votes.from_array([[0, 1], [-1, 1], [1, 1], [-1, -1]])))
    >>> statistics.coverage.tolist(), statistics.conflicts.tolist()
    ([0.5, 0.75], [0.25, 0.25])
    """

    def __init__(self, patterns: Patterns, truth: Counts | None = None) -> None:
        self.patterns, self.truth = patterns, truth

    @property
    def n_lfs(self) -> int:
        """Number of LFs, m."""
        return self.patterns.n_lfs

    @property
    def n_items(self) -> int:
        """Number of items, n."""
        return self.patterns.n_items

    @cached_property
    def votes(self) -> Counts:
        """How many items each LF votes on. (m,)."""
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
        """Whether two or more LFs vote on a pattern. (p,)."""
        return np.diff(self.patterns.starts) > 1

    @cached_property
    def conflicting(self) -> NDArray[np.bool_]:
        """Whether two LFs vote for different classes on a pattern. (p,)."""
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
        right = self.patterns.of_votes(self._known_truth())
        return np.bincount(self.patterns.lf, right, self.n_lfs).astype(np.int64)

    @property
    def incorrect(self) -> Counts:
        """Votes of each LF that are not the truth, where it is known. (m,)."""
        known = self._known_truth().sum(1)
        return np.bincount(self.patterns.lf, known[self.patterns.row], self.n_lfs).astype(np.int64) - self.correct

    @property
    def precision(self) -> Float64:
        """Share of each LF's votes that are the truth, where it is known; NaN where it never is. (m,).

        Snorkel calls it empirical accuracy.
        """
        return share(self.correct, self.correct + self.incorrect)

    def _known_truth(self) -> Counts:
        if self.truth is None:
            raise ParameterError("there is no truth; give it: LFAnalysis(votes, truth)")
        return self.truth


def sum_by_lf(patterns: Patterns, values: NDArray[Any]) -> Float64:
    """Sum over items of a value for each vote. (e,) -> (m,)."""
    weighted: Float64 = values * patterns.counts[patterns.row]
    return np.asarray(np.bincount(patterns.lf, weighted, patterns.n_lfs), np.float64)


def share(part: NDArray[Any], whole: NDArray[Any]) -> Float64:
    """A part of a whole; NaN if the whole is 0."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)
