"""The numbers of a project: one row per LF, and how good the labels are according to gold."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hyperlabel.metrics import wilson_interval
from hyperlabel.studio.snapshot import Snapshot


@dataclass(frozen=True)
class Share:
    """A share of some items, with its 95% interval (Wilson's).

    Attributes:
        part: Items that count.
        whole: All items.

    >>> Share(8, 10).value, round(Share(8, 10).low, 2), round(Share(8, 10).high, 2)
    (0.8, 0.49, 0.94)
    """

    part: int
    whole: int

    @property
    def value(self) -> float:
        """The share; NaN if there are no items."""
        return self.part / self.whole if self.whole else float("nan")

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return max(0.0, float(wilson_interval(self.part, self.whole)[0])) if self.whole else 0.0

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return min(1.0, float(wilson_interval(self.part, self.whole)[1])) if self.whole else 1.0


@dataclass(frozen=True)
class Moment:
    """The numbers of a project after a change.

    Attributes:
        action: What was done.
        n_lfs: Number of LFs.
        n_gold: Rows with gold.
        coverage: Share of the rows that have a label.
        confidence: Mean probability of the labels.
        balance: Share of each class among the labels.
        gold: Labels that agree with gold, by a model that does not know the gold of the row.
        truth: Labels that agree with the truth, if the table has it.
    """

    action: str
    n_lfs: int
    n_gold: int
    coverage: float
    confidence: float
    balance: tuple[float, ...]
    gold: Share
    truth: Share


def take_moment(snapshot: Snapshot, truth: Any, action: str) -> Moment:
    """The numbers of a snapshot; (n,) truth as class numbers, -1 where not known."""
    best = snapshot.best
    labeled = best >= 0
    known, given = truth >= 0, snapshot.gold >= 0
    counts = np.bincount(best[labeled], minlength=snapshot.k)
    judged = snapshot.judged_gold
    return Moment(
        action=action,
        n_lfs=len(snapshot.columns),
        n_gold=int(given.sum()),
        coverage=float(labeled.mean()),
        confidence=float(snapshot.confidence[labeled].mean()) if labeled.any() else 0.0,
        balance=tuple((counts / max(counts.sum(), 1)).tolist()),
        gold=Share(int((judged[given] == snapshot.gold[given]).sum()), int(given.sum())),
        truth=Share(int((best[known] == truth[known]).sum()), int(known.sum())),
    )


def list_lfs(snapshot: Snapshot) -> list[dict[str, Any]]:
    """One row per LF: what it votes for, how often, and how well; None if there is nothing to show."""
    if not snapshot.columns:
        return []
    analysis = snapshot.analysis
    changes = analysis.leave_one_out().label_changes
    right, wrong = analysis.correct, analysis.incorrect
    return [
        {
            "lf": name,
            "votes_for": ", ".join(map(str, analysis.polarity[j])),
            "votes": int(analysis.votes[j]),
            "coverage": float(analysis.coverage[j]),
            "overlaps": float(analysis.overlaps[j]),
            "conflicts": float(analysis.conflicts[j]),
            "estimated_accuracy": _or_none(analysis.estimated_accuracy[j]),
            "right": int(right[j]),
            "wrong": int(wrong[j]),
            "gold_accuracy": _or_none(analysis.precision[j]),
            "changes": float(changes[j]),
        }
        for j, name in enumerate(snapshot.lf_names)
    ]


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
