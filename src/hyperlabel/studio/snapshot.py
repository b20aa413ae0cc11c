"""The state of a project: votes and gold of all rows, and the labels that follow; what one more column would change.

Everything is computed on patterns. A `Snapshot` never changes: an accepted change makes a new one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64, Ints
from hyperlabel.labels import Labels
from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.models import HyperLabelModel
from hyperlabel.patterns import Patterns
from hyperlabel.votes import Votes
from hyperlabel.votes.classes import ABSTAIN, Classes
from hyperlabel.votes.rows import Rows

_FOLDS = 5  # parts of the gold; each is judged by a model that does not know it


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Votes and gold, and what follows."""

    n: int  # number of rows
    classes: Classes
    columns: Mapping[str, Ints]  # (n,) class numbers of each LF by name, -1 where it abstains
    gold: NDArray[np.int64]  # (n,) class numbers, -1 where not known
    balance: tuple[float, ...] = ()  # known shares of the classes, in their order; none if empty
    grown: Patterns | None = field(default=None, repr=False)

    @property
    def k(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def lf_names(self) -> tuple[str, ...]:
        """The names of the LFs."""
        return tuple(self.columns)

    @cached_property
    def votes(self) -> Votes:
        """The votes; there must be an LF."""
        cells = np.stack(list(self.columns.values()), axis=1)
        return Votes.from_array(cells, classes=self.classes, lfs=self.lf_names)

    @cached_property
    def patterns(self) -> Patterns:
        """The distinct rows of votes; there must be an LF."""
        return Patterns.from_votes(self.votes) if self.grown is None else self.grown

    @property
    def inverse(self) -> Ints:
        """The pattern of each row. (n,)."""
        assert self.patterns.inverse is not None  # patterns of votes know their rows
        return self.patterns.inverse

    @cached_property
    def model(self) -> HyperLabelModel:
        """The label model, fitted on the votes and the gold; there must be an LF."""
        return self._fit(self.gold)

    def _fit(self, gold: NDArray[np.int64]) -> HyperLabelModel:
        counts = self.patterns.count_labels(gold) if (gold >= 0).any() else None
        return self.new_model().fit_patterns(self.patterns, counts)

    def new_model(self) -> HyperLabelModel:
        """The label model, not fitted."""
        return HyperLabelModel(classes=self.classes, class_balance=self.balance or None)

    @cached_property
    def analysis(self) -> LFAnalysis:
        """What each LF is worth, with gold as the truth of the items that have it; there must be an LF."""
        analysis = LFAnalysis(self.patterns, model=self.model)
        analysis.truth = self.patterns.count_labels(self.gold)
        return analysis

    @cached_property
    def labels(self) -> Labels:
        """The labels of the rows: the gold class where it is known, none where no LF votes."""
        if not self.columns or not self.k:
            even = np.full((self.n, self.k), 1 / max(self.k, 1))
            labels = Labels(np.full(self.n, ABSTAIN, np.intp), even, self.classes)
        else:
            labels = self.model.label_patterns(self.patterns).take(self.inverse)
        return labels.with_gold(self.gold)

    @property
    def best(self) -> NDArray[np.intp]:
        """The class number of each label, -1 for none. (n,)."""
        return self.labels.best

    @cached_property
    def confidence(self) -> Float64:
        """The probability of each label. (n,)."""
        return self.labels.confidence if self.k else np.zeros(self.n)

    @cached_property
    def n_votes(self) -> NDArray[np.int64]:
        """How many LFs vote on each row. (n,)."""
        if not self.columns:
            return np.zeros(self.n, np.int64)
        return np.asarray(np.diff(self.patterns.starts)[self.inverse])

    @cached_property
    def conflict(self) -> NDArray[np.bool_]:
        """Whether two LFs vote for different classes on a row. (n,)."""
        if not self.columns:
            return np.zeros(self.n, bool)
        return np.asarray(self.analysis.conflicting[self.inverse])

    @cached_property
    def judged_gold(self) -> NDArray[np.intp]:
        """The labels of rows with gold, by a model that does not know the gold of the row; -1 elsewhere. (n,).

        Gold is held out in five parts in turn: a label that gold itself states would always be right.
        """
        judged = np.full(self.n, ABSTAIN, np.intp)
        known = np.flatnonzero(self.gold >= 0)
        if not self.columns or not len(known):
            return judged
        part = np.random.default_rng(0).permutation(len(known)) % _FOLDS
        for fold in range(min(_FOLDS, len(known))):
            aside = known[part == fold]
            rest = self.gold.copy()
            rest[aside] = ABSTAIN
            best = self._fit(rest).label_patterns(self.patterns).best
            judged[aside] = best[self.inverse[aside]]
        return judged

    def with_gold(self, gold: NDArray[np.int64], balance: tuple[float, ...]) -> "Snapshot":
        """The snapshot with the same votes and other gold, or another class balance."""
        return replace(self, gold=gold, balance=balance, grown=self.patterns if self.columns else None)

    def with_column(self, name: str, column: Ints) -> "Snapshot":
        """The snapshot with one more LF, or with other votes of one."""
        grown = None
        if self.columns and name not in self.columns:
            grown = add_column(self.patterns, name, column)
        return replace(self, columns={**self.columns, name: column}, grown=grown)


def add_column(patterns: Patterns, name: str, column: Ints) -> Patterns:
    """The patterns when one more LF votes; only the rows on which it votes are processed.

    >>> one = Patterns.from_votes(Votes.from_array([[0], [0], [1]], lfs=["a"]))
    >>> two = add_column(one, "b", np.array([-1, 1, -1]))
    >>> two.to_array().tolist(), two.counts.tolist(), two.inverse.tolist()
    ([[0, -1], [1, -1], [0, 1]], [1, 1, 1], [0, 2, 1])
    """
    assert patterns.inverse is not None
    k, voted = patterns.n_classes, np.flatnonzero(column >= 0)
    pairs = patterns.inverse[voted].astype(np.int64) * k + column[voted]
    distinct, index, moved = np.unique(pairs, return_inverse=True, return_counts=True)
    old = distinct // k
    left = patterns.counts - np.bincount(old, moved, patterns.n_patterns).astype(np.int64)
    kept = np.flatnonzero(left)
    taken = patterns.rows.take(old)
    new = Rows(
        taken.starts + np.arange(len(taken.starts)),
        np.insert(taken.lf, taken.starts[1:], patterns.n_lfs),
        np.insert(taken.vote, taken.starts[1:], distinct % k),
    )
    rows = patterns.rows.take(kept).concatenate(new)
    number = np.zeros(patterns.n_patterns, np.int64)
    number[kept] = np.arange(len(kept))
    inverse = number[patterns.inverse]
    inverse[voted] = len(kept) + index
    counted = patterns.with_rows(rows, np.concatenate([left[kept], moved]))
    names = (*(patterns.lf_names or ()), name)
    return replace(counted, n_lfs=patterns.n_lfs + 1, lf_names=names, inverse=inverse)


@dataclass(frozen=True, eq=False)
class Effect:
    """What an LF would do, before it is accepted.

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
    """What a column of votes would do, as a new LF or instead of the LF with that name."""
    voted = column >= 0
    total = max(int(voted.sum()), 1)
    without = replace(snapshot, columns={n: c for n, c in snapshot.columns.items() if n != name}, grown=None)
    others = without if name in snapshot.columns else snapshot
    after = snapshot.with_column(name, column).best
    changed = np.flatnonzero(after != snapshot.best)
    known = voted & (snapshot.gold >= 0)
    right = int((column[known] == snapshot.gold[known]).sum())
    return Effect(
        votes=int(voted.sum()),
        coverage=float(voted.mean()),
        overlap=float((others.n_votes[voted] > 0).sum() / total),
        conflicts=float(_differs(others, column)[voted].sum() / total),
        right=right,
        wrong=int(known.sum()) - right,
        changed=changed,
        before=snapshot.best[changed],
        after=after[changed],
    )


def _differs(snapshot: Snapshot, column: Ints) -> NDArray[np.bool_]:
    """Whether some LF votes for another class than a column does. (n,)."""
    if not snapshot.columns:
        return np.zeros(snapshot.n, bool)
    cast = np.zeros((snapshot.patterns.n_patterns, snapshot.k), bool)
    cast[snapshot.patterns.row, snapshot.patterns.vote] = True
    own = cast[snapshot.inverse, np.maximum(column, 0)]
    return np.asarray(cast.sum(1)[snapshot.inverse] > own)
