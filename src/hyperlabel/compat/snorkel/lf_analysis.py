"""`LFAnalysis` with Snorkel's methods and column names, on hyperlabel's analysis of patterns."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel import lf as lf_part
from hyperlabel._core import Float64, check_memory
from hyperlabel.compat.snorkel.convert import as_numbers, to_int_label_array
from hyperlabel.compat.snorkel.functions import names_of
from hyperlabel.data import Patterns, Votes, as_array
from hyperlabel.errors import ParameterError, VotesWarning, require


class LFAnalysis:
    """Summary statistics of LFs.

    Args:
        L: (n, m) votes, -1 abstains.
        lfs: The LFs, for their names.

    >>> L = np.array([[-1, 0, 0], [-1, -1, -1], [1, 0, -1], [-1, 0, -1], [0, 0, 0]])
    >>> LFAnalysis(L).label_coverage(), LFAnalysis(L).lf_conflicts().tolist()
    (0.8, [0.2, 0.2, 0.0])
    """

    def __init__(self, L: NDArray[np.integer], lfs: Sequence[Any] | None = None) -> None:
        self.L = as_array(L, "L", "an array of votes")
        with warnings.catch_warnings():  # a table of statistics is no place to speak of labels
            warnings.simplefilter("ignore", VotesWarning)
            self._votes = Votes.from_array(self.L)
        self._analysis = lf_part.LFAnalysis(self._votes)
        self._lf_names = None if lfs is None else names_of(lfs)
        if self._lf_names is not None and len(self._lf_names) != self._votes.n_lfs:
            counts = f"lfs has {len(self._lf_names)} LFs, but L has {self._votes.n_lfs} columns"
            raise ParameterError(f"{counts}; expected as many LFs")

    def label_coverage(self) -> float:
        """Share of the items on which at least one LF votes."""
        return self._share(self._analysis.patterns.has_votes)

    def label_overlap(self) -> float:
        """Share of the items on which at least two LFs vote."""
        return self._share(self._analysis.overlapping)

    def label_conflict(self) -> float:
        """Share of the items on which two LFs vote for different classes."""
        return self._share(self._analysis.conflicting)

    def _share(self, patterns: NDArray[np.bool_]) -> float:
        return float(self._analysis.patterns.counts @ patterns / self._analysis.n_items)

    def lf_polarities(self) -> list[list[int]]:
        """Classes that each LF votes for. m lists."""
        return [list(classes) for classes in self._analysis.polarity]

    def lf_coverages(self) -> Float64:
        """Share of the items that each LF votes on. (m,)."""
        return self._analysis.coverage

    def lf_overlaps(self, normalize_by_coverage: bool = False) -> Float64:
        """Share of the items, or of the LF's own items, on which it and at least one other LF vote. (m,)."""
        overlaps = self._analysis.overlaps
        return _divide(overlaps, self.lf_coverages()) if normalize_by_coverage else overlaps

    def lf_conflicts(self, normalize_by_overlaps: bool = False) -> Float64:
        """Share of the items, or of the LF's overlaps, on which it and another LF disagree. (m,)."""
        conflicts = self._analysis.conflicts
        return _divide(conflicts, self.lf_overlaps()) if normalize_by_overlaps else conflicts

    def lf_empirical_accuracies(self, Y: NDArray[Any]) -> Float64:
        """Precision of each LF; a vote on an item of unknown truth (-1) counts as wrong. (n,) -> (m,)."""
        correct, votes = self._with_truth(Y).correct, self._analysis.votes
        return np.where(votes > 0, 0.5 * (_divide(2 * correct - votes, votes) + 1), 0.0)

    def lf_empirical_probs(self, Y: NDArray[Any], k: int) -> Float64:
        """Shares of each LF's votes by true class out of k, NaN for a class without items. (n,) -> (m, k + 1, k)."""
        votes, labels = Votes.from_array(self.L, n_classes=k).with_labels(to_int_label_array(Y), "Y")
        patterns = Patterns.from_votes(votes)
        truth = patterns.count_labels(labels)
        numbers = patterns.n_lfs * (patterns.n_classes + 1) * patterns.n_classes
        check_memory(numbers, f"shares of votes by {patterns.n_classes:,} classes", "give fewer classes")
        shares: Float64 = np.empty((patterns.n_lfs, k + 1, k))
        for vote in range(-1, k):
            shares[:, vote + 1] = (patterns.to_array() == vote).T @ truth
        items = truth.sum(0)
        shares[:, :, items == 0] = np.nan
        shares /= np.maximum(items, 1)
        return shares

    def lf_summary(self, Y: NDArray[Any] | None = None, est_weights: NDArray[Any] | None = None) -> Any:
        """Return a pandas frame with one row per LF.

        Args:
            Y: (n,) true classes, -1 for unknown: adds Correct, Incorrect and Emp. Acc.
            est_weights: (m,) weights of a label model: adds Learned Weight.
        """
        require("pandas", extra="pandas")
        import pandas as pd

        columns: dict[str, Any] = {} if self._lf_names is None else {"j": list(range(self._votes.n_lfs))}
        columns["Polarity"] = self.lf_polarities()
        columns["Coverage"] = self.lf_coverages()
        columns["Overlaps"] = self.lf_overlaps()
        columns["Conflicts"] = self.lf_conflicts()
        if Y is not None:
            scored = self._with_truth(Y)
            columns |= {"Correct": scored.correct, "Incorrect": scored.incorrect}
            columns["Emp. Acc."] = self.lf_empirical_accuracies(Y)
        if est_weights is not None:
            columns["Learned Weight"] = weights = as_numbers(est_weights, "est_weights", "the weight of each LF")
            if weights.shape != (self._votes.n_lfs,):
                raise ParameterError(f"est_weights has shape {weights.shape}; expected a weight for each LF")
        return pd.DataFrame(columns, index=self._lf_names or range(self._votes.n_lfs))

    def _with_truth(self, Y: NDArray[Any]) -> lf_part.LFAnalysis:
        return lf_part.LFAnalysis(self._votes, to_int_label_array(Y))


def _divide(part: NDArray[Any], whole: NDArray[Any]) -> Float64:
    """Divide, with 0 where the whole is 0."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), 0.0)
