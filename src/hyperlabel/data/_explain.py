"""Explanations of labels: what each vote of an item adds, and the fewest votes whose change would change the label.

Flows in: a fitted model, votes and an item. Flows out: an `Explanation`. Every changed row is judged in the model's
state, like any new row, so the named change really happens when such a row is predicted.
"""

import heapq
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, html_table, plot_bars, text_table
from hyperlabel.data._classes import ABSTAIN, no_label
from hyperlabel.data._labels import Labels
from hyperlabel.data._patterns import Patterns
from hyperlabel.data._rows import Rows
from hyperlabel.data._votes import Votes

Row = dict[int, int]  # LF -> class number
Switch = tuple[int, int]  # LF, and the class number that it votes instead

_SWITCHED_VOTES = 64  # how many of the votes that add most to the label are switched to another class
_SWITCHED_CLASSES = 4  # how many of the most probable other classes they are switched to
_PAIRED = 32  # how many of the single changes that weaken the label most are tried in pairs
_LEAST = 1e-12  # smaller probabilities count as this in log-odds


class Judge(Protocol):
    """The part of a fitted label model that is needed to explain labels."""

    def label_patterns(self, patterns: Patterns) -> Labels:
        """Labels of patterns."""

    def contributions(self, patterns: Patterns) -> Float64 | None:
        """Log-odds that each vote adds to each class, (e, k); None if they are not known exactly."""


class Contribution(NamedTuple):
    """The log-odds that one vote adds to the label."""

    lf: str
    vote: Hashable
    log_odds: float


class Change(NamedTuple):
    """One vote changed: to another class, or to none (-1 or None) where the LF would abstain."""

    lf: str
    vote: Hashable
    instead: Hashable


@dataclass(frozen=True)
class Explanation:
    """The votes that made a label, and the change of votes that would change it.

    Attributes:
        item: The item: its identifier if the votes have them, else its index.
        label: Its label; no label is -1 if classes are numbers, else None.
        probabilities: The probability of each class.
        contributions: The log-odds that each vote adds to the label, or to the most probable class if there is no
            label; strongest first.
        flip: The fewest changes, one or two, that give the item another label; empty if none was found.
        flipped: The label after these changes; no label if none was found.

    >>> from hyperlabel import HyperLabelModel
    >>> print(HyperLabelModel().explain([[1, 1, -1], [0, 0, 1], [0, 0, 0], [1, 1, 1]], 1).flip)
    (Change(lf='lf0', vote=0, instead=1),)
    """

    item: Hashable
    label: Hashable
    probabilities: dict[Hashable, float]
    contributions: tuple[Contribution, ...]
    flip: tuple[Change, ...]
    flipped: Hashable

    def __str__(self) -> str:
        if not self.contributions:
            return f"item {self.item}: nobody votes on it, so it has no label"
        best, shown = self.label, str(self.label)  # of tied classes, the label need not be the first
        if self.label in (ABSTAIN, None):
            best = max(self.probabilities, key=lambda c: self.probabilities[c])
            shown = f"no label, tied at {best}"
        lines = [f"item {self.item}: {shown} (probability {self.probabilities[best]:.2f})", ""]
        table = text_table(["LF", "vote", f"adds to the log-odds of {best}"], self._rows())
        return "\n".join([*lines, table, "", self._describe_flip()])

    def _rows(self) -> list[list[object]]:
        return [[c.lf, c.vote, f"{c.log_odds:+.3f}"] for c in self.contributions]

    def _repr_html_(self) -> str:
        """The votes and what each adds, as an HTML table."""
        label = "no label" if self.label in (ABSTAIN, None) else self.label
        flip = self._describe_flip() if self.contributions else "Nobody votes on it."
        return html_table(["LF", "vote", "adds to the log-odds"], self._rows(), f"item {self.item}: {label}. {flip}")

    def plot(self, ax: Any = None) -> Any:
        """Draw the log-odds that each vote adds to the label into `ax`, axes of matplotlib, or into new ones."""
        names = [f"{c.lf}: {c.vote}" for c in self.contributions]
        axes = plot_bars(names, [c.log_odds for c in self.contributions], ax)
        axes.set(xlabel="adds to the log-odds of the label", title=f"item {self.item}: {self.label}")
        return axes

    def _describe_flip(self) -> str:
        if not self.flip:
            return "No change of one or two of these votes was found to give another label."
        changes = [
            f"{c.lf} abstained" if c.instead in (ABSTAIN, None) else f"{c.lf} voted {c.instead} instead of {c.vote}"
            for c in self.flip
        ]
        return f"The label would be {self.flipped} if {' and '.join(changes)}."


def explain_item(judge: Judge, votes: Votes, item: Hashable) -> Explanation:
    """Explain the label that a fitted model gives to an item: its identifier if the votes have them, else its index."""
    patterns = Patterns.from_votes(votes)
    assert patterns.inverse is not None  # patterns of votes know their items
    search = _Search(judge, patterns, int(patterns.inverse[votes.identity.position_of(item)]))
    added = search.contributions()
    steps, flipped = search.find_flip(added)
    order = np.argsort(-np.abs(added), kind="stable")
    lfs = list(search.row)

    def name(lf: int, vote: int) -> Hashable:
        return _name_vote(votes, lf, vote)

    return Explanation(
        item=item,
        label=name(0, search.label),
        probabilities=dict(zip(votes.classes, search.probabilities.tolist(), strict=True)),
        contributions=tuple(
            Contribution(votes.lf_names[j], name(j, search.row[j]), float(added[e]))
            for e, j in ((e, lfs[e]) for e in order)
        ),
        flip=tuple(Change(votes.lf_names[j], name(j, search.row[j]), name(j, v)) for j, v in steps),
        flipped=name(0, flipped),
    )


def _name_vote(votes: Votes, lf: int, vote: int) -> Hashable:
    """Name a vote of an LF: a class, an outcome, the scores of a level, or no label."""
    number = vote - votes.n_classes  # of an outcome
    if vote == ABSTAIN:
        return no_label(votes.classes)
    if votes.outcomes is None or number < 0:
        return votes.classes[vote]
    cuts = votes.outcomes.cuts.get(votes.lf_names[lf])
    if cuts is None or votes.outcomes.ladder[number] < 0:
        return votes.outcomes.names[number]
    return cuts.describe(number - votes.outcomes.names.index(cuts.first))


class _Search:
    """Search of changes of one item's votes that change its label, or its most probable class if it has none."""

    def __init__(self, judge: Judge, patterns: Patterns, index: int) -> None:
        self.judge, self.pattern = judge, patterns.take(np.array([index]))
        self.row: Row = dict(zip(self.pattern.lf.tolist(), self.pattern.vote.tolist(), strict=True))
        labels = judge.label_patterns(self.pattern)
        self.label, self.probabilities = int(labels.best[0]), labels.probabilities[0]
        self.target = self.label if self.label != ABSTAIN else int(self.probabilities.argmax())

    def contributions(self) -> Float64:
        """Return the log-odds that each vote adds to the target. -> (votes of the item,)."""
        exact = self.judge.contributions(self.pattern)
        if exact is not None:
            return exact[:, self.target]
        without = self._judge([[(lf, ABSTAIN)] for lf in self.row]).probabilities
        added: Float64 = _log_odds(self.probabilities[self.target]) - _log_odds(without[:, self.target])
        return added

    def find_flip(self, added: Float64) -> tuple[Sequence[Switch], int]:
        """Find the fewest changes that give another label, and that label; none and -1 if there are none."""
        strongest = [list(self.row)[e] for e in np.argsort(-added, kind="stable")]
        drops = [[(lf, ABSTAIN)] for lf in strongest]
        switches = self._switches(strongest[:_SWITCHED_VOTES])
        singles = drops + switches
        if not singles:
            return [], ABSTAIN
        scores = self._judge(singles)
        for part in (np.arange(len(drops)), np.arange(len(drops), len(singles))):
            weakest = self._weakest(singles, scores, part)
            if weakest is not None:
                return weakest
        weakening = np.argsort(scores.probabilities[:, self.target], kind="stable")[:_PAIRED]
        pairs = [singles[a] + singles[b] for a, b in combinations(weakening, 2) if singles[a][0][0] != singles[b][0][0]]
        return self._weakest(pairs, self._judge(pairs), np.arange(len(pairs))) or ([], ABSTAIN)

    def _switches(self, lfs: list[int]) -> list[list[Switch]]:
        """Return each LF's vote for each of the other classes; for an LF with scores, the level that favors it most."""
        ranked = np.argsort(-self.probabilities, kind="stable").tolist()
        others = [c for c in ranked if c != self.target][:_SWITCHED_CLASSES]
        votes = [(lf, self._vote_for(lf, c)) for lf in lfs for c in others]
        return [[(lf, vote)] for lf, vote in votes if vote != self.row[lf]]

    def _vote_for(self, lf: int, c: int) -> int:
        outcomes, number = self.pattern.outcomes, self.row[lf] - self.pattern.n_classes
        if outcomes is None or number < 0 or outcomes.ladder[number] < 0:
            return c
        rungs = np.flatnonzero(outcomes.ladder == outcomes.ladder[number])
        return self.pattern.n_classes + int(rungs[outcomes.class_weights[rungs, c].argmax()])

    def _judge(self, changes: list[list[Switch]]) -> Labels:
        """Label the item after each change."""
        changed = [self.row | dict(steps) for steps in changes]
        rows = [{lf: vote for lf, vote in row.items() if vote != ABSTAIN} for row in changed]
        starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        lf = np.array([lf for row in rows for lf in row], np.int64)
        vote = np.array([vote for row in rows for vote in row.values()], np.int64)
        return self.judge.label_patterns(self.pattern.with_rows(Rows(starts, lf, vote), np.ones(len(rows), np.int64)))

    def _weakest(
        self, changes: list[list[Switch]], labels: Labels, part: NDArray[np.intp]
    ) -> tuple[list[Switch], int] | None:
        """Return the change that gives another label and weakens the current one most, and that label, if any."""
        other = part[(labels.best[part] != self.label) & (labels.best[part] != ABSTAIN)]
        if not len(other):
            return None
        chosen = int(other[labels.probabilities[other, self.target].argmin()])
        return changes[chosen], int(labels.best[chosen])


def _log_odds(probability: Any) -> Any:
    share = np.clip(probability, _LEAST, 1 - _LEAST)
    return np.log(share) - np.log1p(-share)


SATED = 2.5  # how soon a pattern has enough gold; chosen on the public sets (docs/model-card.md)


def suggest_items(probabilities: Float64, patterns: Patterns, has_gold: NDArray[np.bool_], n: int) -> NDArray[np.intp]:
    """Return the n items whose labels would help most, most helpful first. -> (n,), fewer if there are no more.

    A gold label tells most about the items of the same pattern, so a pattern's worth is the number of its items
    times the chance that their label is wrong. Gold that a pattern already has lowers what one more label can tell: the
    worth is divided by a power of one plus its gold labels, including those already suggested.

    From (p, k) probabilities of the patterns, and (n,) whether an item has a gold label.
    """
    assert patterns.inverse is not None  # patterns of votes know their items
    wrong = (1 - probabilities.max(1)) * patterns.counts * patterns.has_votes
    known_items = np.bincount(patterns.inverse[has_gold], minlength=patterns.n_patterns)
    items = np.flatnonzero(~has_gold)
    items = items[np.random.default_rng(0).permutation(len(items))]  # not in the order of the data
    order = items[np.argsort(patterns.inverse[items], kind="stable")]
    free = np.split(order, np.searchsorted(patterns.inverse[order], np.arange(1, patterns.n_patterns)))

    def worth(pattern: int) -> float:
        return float(wrong[pattern] / (1 + known_items[pattern]) ** SATED)

    queue = [(-worth(p), p) for p in range(patterns.n_patterns) if len(free[p]) and wrong[p] > 0]
    heapq.heapify(queue)
    chosen: list[int] = []
    while queue and len(chosen) < n:
        _, pattern = queue[0]
        chosen.append(int(free[pattern][0]))
        free[pattern], known_items[pattern] = free[pattern][1:], known_items[pattern] + 1
        if len(free[pattern]):
            heapq.heapreplace(queue, (-worth(pattern), pattern))
        else:
            heapq.heappop(queue)
    return np.array(chosen, np.intp)
