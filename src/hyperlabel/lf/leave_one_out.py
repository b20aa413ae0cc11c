"""What changes when one LF is left out: the model labels the same items without the LF's votes."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64
from hyperlabel.metrics import Metric
from hyperlabel.models import LabelModel
from hyperlabel.patterns import Patterns

MOST_VOTES = 10_000_000
"""All passes together look at no more votes than this per class, unless a number of items is given."""

_LEAST_ITEMS = 100  # the least number of items to look at, however many LFs there are


class LeaveOneOut(NamedTuple):
    """What changes when one LF is left out.

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
    before, n = model.label(counted, metric), patterns.n_items
    label_changes, probability_changes = np.zeros(patterns.n_lfs), np.zeros(patterns.n_lfs)
    for j in np.unique(patterns.lf):
        rest, index = keep_lfs(counted, np.arange(patterns.n_lfs) != j)
        after = model.label(rest, metric).take(index)
        label_changes[j] = patterns.counts @ (after.best != before.best) / n
        probability_changes[j] = patterns.counts @ np.abs(after.probabilities - before.probabilities).sum(1) / 2 / n
    return LeaveOneOut(label_changes, probability_changes, n)


def keep_lfs(patterns: Patterns, lfs: NDArray[np.bool_]) -> tuple[Patterns, NDArray[np.intp]]:
    """The patterns when all LFs but some abstain, and where each pattern went. (m,) -> patterns, (p,)."""
    return patterns.with_rows(patterns.rows.keep(lfs[patterns.lf]), patterns.counts).join_equal()


def affordable_items(patterns: Patterns) -> int:
    """How many items can be looked at in reasonable time: all, or fewer if many LFs vote on many patterns."""
    n, votes = patterns.n_items, np.diff(patterns.starts)
    work = len(np.unique(patterns.lf)) * patterns.n_classes  # passes, each over all classes
    if work * len(patterns.lf) <= MOST_VOTES:
        return n
    votes_per_item = max(1.0, float(votes @ patterns.counts) / n)
    return min(n, max(_LEAST_ITEMS, int(MOST_VOTES / work / votes_per_item)))


def sample_affordable(patterns: Patterns, passes: int, most: int) -> Patterns:
    """The patterns, or those of a sample of the items, if passes look at more than `most` votes times classes."""
    work = len(patterns.lf) * patterns.n_classes * passes
    if work <= most:
        return patterns
    return sample_items(patterns, min(patterns.n_items, max(_LEAST_ITEMS, patterns.n_items * most // work)))


def sample_items(patterns: Patterns, n_items: int) -> Patterns:
    """The patterns of n items, drawn at random with a fixed seed."""
    if n_items == patterns.n_items:
        return patterns
    drawn = np.random.default_rng(0).multivariate_hypergeometric(
        patterns.counts.astype(np.int64), n_items, method="marginals"
    )
    kept = np.flatnonzero(drawn)
    return replace(patterns.take(kept), counts=drawn[kept])
