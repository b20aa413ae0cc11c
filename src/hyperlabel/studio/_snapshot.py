"""The numbers of a project: votes and gold of all rows, the labels they give, and what one more LF would change.

Everything is computed on patterns, once per change: a `Snapshot` never changes, an accepted change makes a new one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Ints, wilson_interval
from hyperlabel.data import ABSTAIN, Classes, Labels, Patterns, Rows, Votes
from hyperlabel.lf import LFAnalysis
from hyperlabel.models import HyperLabelModel
from hyperlabel.studio._texts import TextEvidence, TextFeatures, judge_texts

_VOTES = 0.2  # weight of the votes beside the text without gold
_RULE = 0.6  # weight of all the rows on which a rule votes, without gold; a gold label weighs 1
_ENOUGH = 4  # gold labels per class that halve this weight
_LEAST = 1e-6  # probability that stands for 0
_OF_VOTES = (
    "votes",
    "patterns",
    "model",
    "analysis",
    "vote_labels",
    "n_votes",
    "conflict",
    "pair_conflicts",
    "lf_table",
)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Votes and gold, and everything computed from them."""

    classes: Classes
    columns: Mapping[str, Ints]  # (n,) class numbers of each LF by name, -1 where it abstains
    gold: NDArray[np.int64]  # (n,) class numbers, -1 where unknown
    balance: tuple[float, ...] = ()  # known shares of the classes, in their order; none if empty
    grouped: Patterns | None = field(default=None, repr=False)  # the patterns, if another snapshot had them
    text: TextEvidence | None = field(default=None, repr=False)  # from the last training, if there was one
    is_trained: bool = False  # whether that training knew these votes and this gold

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.gold)

    @property
    def k(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def lf_names(self) -> tuple[str, ...]:
        """Names of the LFs."""
        return tuple(self.columns)

    @cached_property
    def votes(self) -> Votes:
        """Votes; there must be an LF."""
        cells = np.stack(list(self.columns.values()), axis=1)
        return Votes.from_array(cells, classes=self.classes, lfs=self.lf_names)

    @cached_property
    def patterns(self) -> Patterns:
        """Distinct rows of votes; there must be an LF."""
        return Patterns.from_votes(self.votes) if self.grouped is None else self.grouped

    @property
    def inverse(self) -> Ints:
        """Pattern of each row. (n,)."""
        assert self.patterns.inverse is not None  # patterns of votes know their rows
        return self.patterns.inverse

    @cached_property
    def model(self) -> HyperLabelModel:
        """Label model fitted on votes and gold; there must be an LF."""
        return self._fit(self.gold)

    def _fit(self, gold: NDArray[np.int64]) -> HyperLabelModel:
        counts = self.patterns.count_labels(gold) if (gold >= 0).any() else None
        return self.new_model().fit_patterns(self.patterns, counts)

    def new_model(self) -> HyperLabelModel:
        """Return the label model, not fitted."""
        return HyperLabelModel(classes=self.classes, class_balance=self.balance or None)

    @cached_property
    def analysis(self) -> LFAnalysis:
        """Analysis of the LFs, with gold as the truth of the items that have it; there must be an LF."""
        analysis = LFAnalysis(self.patterns, model=self.model)
        analysis.truth = self.patterns.count_labels(self.gold)
        return analysis

    @cached_property
    def vote_labels(self) -> Labels:
        """Labels of the patterns by their votes; there must be an LF."""
        return self.model.label_patterns(self.patterns)

    @cached_property
    def labels(self) -> Labels:
        """Labels of the rows: the gold class where it is known, else by votes and text, as far as there are any."""
        if self.text is None:
            return self._label_by_votes().with_gold(self.gold)
        logits = self.judge(np.arange(self.n))
        shares = np.exp(logits - logits.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        source = np.array(["text", "votes+text"], object)[(self.n_votes > 0).astype(np.intp)]
        best = self.label_rows(np.arange(self.n))
        source[best < 0] = None
        return Labels(best, shares, self.classes, source=source).with_gold(self.gold)

    def _label_by_votes(self) -> Labels:
        if self.columns and self.k:
            return self.vote_labels.take(self.inverse)
        even = np.full((self.n, self.k), 1 / max(self.k, 1))
        return Labels(np.full(self.n, ABSTAIN, np.intp), even, self.classes)

    def judge(self, rows: Ints, model: HyperLabelModel | None = None) -> Float64:
        """Return logarithms of probabilities of some rows by text and votes, up to a constant; there must be text."""
        assert self.text is not None
        logits = self.text.logits[rows]
        if not self.columns:
            return logits
        labels = self.vote_labels if model is None else model.label_patterns(self.patterns)
        by_votes = np.log(np.maximum(labels.probabilities, _LEAST))[self.inverse[rows]]
        return np.where(self.n_votes[rows, None] > 0, logits + self.trust * by_votes, logits)

    @property
    def trust(self) -> float:
        """Weight of the votes beside the text, which has learned from them, and knows better with more gold."""
        return _VOTES * len(self.columns) / (len(self.columns) + int((self.gold >= 0).sum()))

    def label_rows(self, rows: Ints, model: HyperLabelModel | None = None) -> NDArray[np.intp]:
        """Return class numbers of some rows by text and votes, as if they had no gold; -1 for none."""
        if self.text is not None:
            known = self.text.known[rows] | (self.n_votes[rows] > 0)
            return np.where(known, self.judge(rows, model).argmax(1), ABSTAIN)
        if not self.columns:
            return np.full(len(rows), ABSTAIN, np.intp)
        labels = self.vote_labels if model is None else model.label_patterns(self.patterns)
        return labels.best[self.inverse[rows]]

    @property
    def best(self) -> NDArray[np.intp]:
        """Class number of each label, -1 for none. (n,)."""
        return self.labels.best

    @cached_property
    def confidence(self) -> Float64:
        """Probability of each label. (n,)."""
        return self.labels.confidence if self.k else np.zeros(self.n)

    @cached_property
    def n_votes(self) -> NDArray[np.int64]:
        """Number of LFs that vote on each row. (n,)."""
        if not self.columns:
            return np.zeros(self.n, np.int64)
        return np.asarray(np.diff(self.patterns.starts)[self.inverse])

    @cached_property
    def conflict(self) -> NDArray[np.bool_]:
        """Rows on which two LFs vote for different classes. (n,)."""
        return np.asarray(self.analysis.conflicting[self.inverse]) if self.columns else np.zeros(self.n, bool)

    @cached_property
    def pair_conflicts(self) -> NDArray[np.int64]:
        """Number of rows on which two LFs vote for different classes. (m, m)."""
        return self.analysis.pair_conflicts if self.columns else np.zeros((0, 0), np.int64)

    @cached_property
    def lf_table(self) -> list[dict[str, Any]]:
        """One row per LF: votes, coverage, overlaps, accuracies, changes; None where unknown."""
        if not self.columns:
            return []
        analysis = self.analysis
        counts = {"votes": analysis.votes, "right": analysis.correct, "wrong": analysis.incorrect}
        shares = {
            "coverage": analysis.coverage,
            "overlaps": analysis.overlaps,
            "conflicts": analysis.conflicts,
            "estimated_accuracy": analysis.estimated_accuracy,
            "gold_accuracy": analysis.precision,
            "changes": analysis.leave_one_out().label_changes,
        }
        return [
            {
                "lf": name,
                "votes_for": ", ".join(map(str, analysis.polarity[j])),
                **{key: int(values[j]) for key, values in counts.items()},
                **{key: None if np.isnan(values[j]) else float(values[j]) for key, values in shares.items()},
            }
            for j, name in enumerate(self.columns)
        ]

    @cached_property
    def held_out(self) -> NDArray[np.intp]:
        """Labels of rows with gold, by models that do not know the gold of the row; -1 elsewhere. (n,).

        The texts of a row were judged without its gold, and the label model of the votes gets no gold at all: a label
        that gold itself states would always be correct.
        """
        best = np.full(self.n, ABSTAIN, np.intp)
        rows = np.flatnonzero(self.gold >= 0)
        if len(rows):
            best[rows] = self.label_rows(rows, self._fit(best) if self.columns else None)
        return best

    @property
    def can_train(self) -> bool:
        """True if there is gold: without it, labels come from votes alone."""
        return bool((self.gold >= 0).any())

    def train(self, features: TextFeatures) -> TextEvidence | None:
        """Learn from the texts of rows with gold and rows with votes."""
        voted = np.flatnonzero((self.n_votes > 0) & (self.gold < 0))
        shares = np.zeros((0, self.k))
        if len(voted):
            shares = self.vote_labels.probabilities[self.inverse[voted]]
        n_gold = int((self.gold >= 0).sum())
        weight = _RULE * len(self.columns) / (1 + n_gold / (_ENOUGH * self.k))
        return judge_texts(features, self.gold, self.k, voted, shares, weight)

    def with_text(self, text: TextEvidence | None) -> "Snapshot":
        """Return a snapshot that was trained; what follows from votes alone is not computed again."""
        trained = replace(self, text=text, is_trained=True)
        trained.__dict__.update({name: self.__dict__[name] for name in _OF_VOTES if name in self.__dict__})
        return trained

    def with_gold(self, gold: NDArray[np.int64], balance: tuple[float, ...]) -> "Snapshot":
        """Return a snapshot with the same votes and other gold, or another class balance."""
        grouped = self.patterns if self.columns else None
        text = self.text if (gold >= 0).any() else None
        return replace(self, gold=gold, balance=balance, grouped=grouped, text=text, is_trained=False)

    def with_column(self, name: str, column: Ints) -> "Snapshot":
        """Return a snapshot with one more LF, or with other votes of one."""
        is_new = self.columns and name not in self.columns
        grouped = add_column(self.patterns, name, column) if is_new else None
        return replace(self, columns={**self.columns, name: column}, grouped=grouped, is_trained=False)


def add_column(patterns: Patterns, name: str, column: Ints) -> Patterns:
    """Return the patterns when one more LF votes; only the rows on which it votes are processed."""
    assert patterns.inverse is not None
    k, voted = patterns.n_classes, np.flatnonzero(column >= 0)
    pairs = patterns.inverse[voted].astype(np.int64) * k + column[voted]
    distinct, index, moved = np.unique(pairs, return_inverse=True, return_counts=True)
    old = distinct // k
    left = patterns.counts - np.bincount(old, moved, patterns.n_patterns).astype(np.int64)
    kept = np.flatnonzero(left)
    split = patterns.rows.take(old)
    new = Rows(
        split.starts + np.arange(len(split.starts)),
        np.insert(split.lf, split.starts[1:], patterns.n_lfs),
        np.insert(split.vote, split.starts[1:], distinct % k),
    )
    number = np.zeros(patterns.n_patterns, np.int64)
    number[kept] = np.arange(len(kept))
    inverse = number[patterns.inverse]
    inverse[voted] = len(kept) + index
    rows = patterns.rows.take(kept).concatenate(new)
    counted = patterns.with_rows(rows, np.concatenate([left[kept], moved]))
    names = (*(patterns.lf_names or ()), name)
    return replace(counted, n_lfs=patterns.n_lfs + 1, lf_names=names, inverse=inverse)


@dataclass(frozen=True, eq=False)
class Effect:
    """The effect of an LF, before it is accepted.

    Attributes:
        votes: Items on which it votes.
        coverage: Share of the items.
        overlap: Share of its votes on items on which another LF also votes.
        conflicts: Share of its votes on items on which another LF votes for another class.
        right: Votes that agree with gold.
        wrong: Votes that do not.
        changed: (c,) the rows whose label would change, appear or disappear.
        before: (c,) their labels now, as class numbers; -1 for none.
        after: (c,) their labels then.
    """

    votes: int
    coverage: float
    overlap: float
    conflicts: float
    right: int
    wrong: int
    changed: NDArray[np.intp]
    before: NDArray[np.intp]
    after: NDArray[np.intp]


def find_effect(snapshot: Snapshot, name: str, column: Ints) -> Effect:
    """Return the effect of a column of votes, as a new LF or instead of the LF with that name."""
    voted = column >= 0
    total = max(int(voted.sum()), 1)
    others = snapshot
    if name in snapshot.columns:
        rest = {other: votes for other, votes in snapshot.columns.items() if other != name}
        others = replace(snapshot, columns=rest, grouped=None)
    rows = np.flatnonzero((voted | (snapshot.n_votes > 0)) & (snapshot.gold < 0))
    after = snapshot.best.copy()
    after[rows] = snapshot.with_column(name, column).label_rows(rows)
    changed = np.flatnonzero(after != snapshot.best)
    judged = voted & (snapshot.gold >= 0)
    right = int((column[judged] == snapshot.gold[judged]).sum())
    return Effect(
        votes=int(voted.sum()),
        coverage=float(voted.mean()),
        overlap=float((others.n_votes[voted] > 0).sum() / total),
        conflicts=float(_find_conflicts(others, column)[voted].sum() / total),
        right=right,
        wrong=int(judged.sum()) - right,
        changed=changed,
        before=snapshot.best[changed],
        after=after[changed],
    )


def _find_conflicts(snapshot: Snapshot, column: Ints) -> NDArray[np.bool_]:
    """Mark the rows on which some LF votes for another class than a column does. (n,)."""
    if not snapshot.columns:
        return np.zeros(snapshot.n, bool)
    cast = np.zeros((snapshot.patterns.n_patterns, snapshot.k), bool)
    cast[snapshot.patterns.row, snapshot.patterns.vote] = True
    same = cast[snapshot.inverse, np.maximum(column, 0)]
    return np.asarray(cast.sum(1)[snapshot.inverse] > same)


@dataclass(frozen=True)
class Share:
    """A share of some items, with its 95% interval (Wilson's).

    Attributes:
        part: Items that count.
        whole: All items.

    >>> Share(8, 10).value, [round(end, 2) for end in Share(8, 10).interval]
    (0.8, [0.49, 0.94])
    """

    part: int
    whole: int

    @property
    def value(self) -> float:
        """The share; NaN if there are no items."""
        return self.part / self.whole if self.whole else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the interval."""
        low, high = wilson_interval(self.part, self.whole) if self.whole else (0, 1)
        return max(0.0, float(low)), min(1.0, float(high))


@dataclass(frozen=True)
class ProjectStats:
    """The numbers of a project after a change.

    Attributes:
        action: The change.
        n_lfs: Number of LFs.
        n_gold: Rows with gold.
        coverage: Share of the rows that have a label.
        confidence: Mean probability of the labels.
        balance: Share of each class among the labels.
        gold: Labels that agree with gold, by a model that does not know the gold of the row.
        random: The same, of the items that were picked at random: it holds for all items.
        truth: Labels that agree with the truth, if the table has it.
    """

    action: str
    n_lfs: int
    n_gold: int
    coverage: float
    confidence: float
    balance: tuple[float, ...]
    gold: Share
    random: Share
    truth: Share

    @classmethod
    def of(cls, snapshot: Snapshot, truth: NDArray[np.int64], action: str, drawn: NDArray[np.bool_]) -> "ProjectStats":
        """Compute the numbers of a snapshot; (n,) truth as class numbers, -1 where unknown; (n,) random gold."""
        best, gold = snapshot.best, snapshot.gold
        labeled, has_truth, has_gold = best >= 0, truth >= 0, gold >= 0
        counts = np.bincount(best[labeled], minlength=snapshot.k)
        return cls(
            action=action,
            n_lfs=len(snapshot.columns),
            n_gold=int(has_gold.sum()),
            coverage=float(labeled.mean()),
            confidence=float(snapshot.confidence[labeled].mean()) if labeled.any() else 0.0,
            balance=tuple((counts / max(counts.sum(), 1)).tolist()),
            gold=Share(int((snapshot.held_out == gold)[has_gold].sum()), int(has_gold.sum())),
            random=Share(int((snapshot.held_out == gold)[drawn].sum()), int(drawn.sum())),
            truth=Share(int((best == truth)[has_truth].sum()), int(has_truth.sum())),
        )
