"""Why an item has its label: what each of its votes adds, and the fewest votes whose change would change the label.

Flows in: a label model, votes and an item. Flows out: an `Explanation`. Changed rows are scored all in one pass, as
items without weight beside the data, so that nothing else moves; a change that is then named was also tried for
real, with the item's votes replaced.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import ParameterError
from hyperlabel.patterns import Patterns
from hyperlabel.rows import Rows
from hyperlabel.votes import ABSTAIN, Votes

Floats = NDArray[np.float64]
Row = dict[int, int]  # LF -> class number

_SWITCHED_VOTES = 64  # votes, of those that add most to the label, that are switched to another class
_SWITCHED_CLASSES = 4  # the most probable other classes, to which they are switched
_PAIRED = 32  # single changes, of those that weaken the label most, that are tried in pairs
_TRIED = 8  # changes of each kind that are tried for real
_LEAST = 1e-12  # probabilities below count as this in log-odds


class Scorer(Protocol):
    """The part of a label model that explaining needs."""

    def _pattern_probabilities(self, patterns: Patterns) -> Floats: ...

    def _best(self, probabilities: Floats, patterns: Patterns) -> NDArray[np.intp]: ...

    def _contributions(self, patterns: Patterns) -> Floats | None: ...


class Contribution(NamedTuple):
    """What one vote adds to the log-odds of the label."""

    lf: str
    vote: Hashable
    log_odds: float


class Change(NamedTuple):
    """One vote changed: to another class, or to -1 where the LF would abstain."""

    lf: str
    vote: Hashable
    instead: Hashable


@dataclass(frozen=True)
class Explanation:
    """Which votes made a label, and which change of votes would change it.

    Attributes:
        item: The item: its identifier if the votes have them, else its index.
        label: Its label; -1 for none.
        probabilities: The probability of each class.
        contributions: What each vote adds to the log-odds of the label, or of the most probable class if there is
            no label; strongest first.
        flip: The fewest changes, one or two, that give the item another label; empty if none were found.
        flipped: The label after these changes; -1 if none were found.

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
        best = max(self.probabilities, key=lambda c: self.probabilities[c])
        tied = f"no label, tied at {best}" if self.label == ABSTAIN else str(self.label)
        lines = [f"item {self.item}: {tied} (probability {self.probabilities[best]:.2f})", ""]
        table = [("LF", "vote", f"adds to the log-odds of {best}")]
        table += [(c.lf, str(c.vote), f"{c.log_odds:+.3f}") for c in self.contributions]
        widths = [max(len(row[i]) for row in table) for i in range(2)]
        lines += [f"{lf:{widths[0]}}  {vote:{widths[1]}}  {odds}" for lf, vote, odds in table]
        return "\n".join([*lines, "", self._describe_flip()])

    def _describe_flip(self) -> str:
        if not self.flip:
            return "No change of one or two of these votes was found that gives another label."
        changes = [
            f"{c.lf} abstained" if c.instead == ABSTAIN else f"{c.lf} voted {c.instead} instead of {c.vote}"
            for c in self.flip
        ]
        return f"The label would be {self.flipped} if {' and '.join(changes)}."


def explain_item(model: Scorer, votes: Votes, item: Hashable) -> Explanation:
    """Explain the label that a model gives to an item.

    Args:
        model: The model, ready to predict.
        votes: All votes, since the label may depend on the other items.
        item: The item: its identifier if the votes have them, else its index.
    """
    patterns = Patterns.from_votes(votes)
    assert patterns.inverse is not None  # patterns of votes know their items
    place = int(patterns.inverse[_index(votes, item)])
    search = _Search(model, patterns, place)
    added = search.contributions()
    steps, flipped = search.find_flip(added)
    classes = [*votes.classes, ABSTAIN]
    order = np.argsort(-np.abs(added), kind="stable")
    lfs = list(search.row)
    return Explanation(
        item=item,
        label=classes[search.label],
        probabilities=dict(zip(votes.classes, search.probabilities.tolist(), strict=True)),
        contributions=tuple(
            Contribution(votes.lf_names[lfs[e]], classes[search.row[lfs[e]]], float(added[e])) for e in order
        ),
        flip=tuple(Change(votes.lf_names[j], classes[search.row[j]], classes[v]) for j, v in steps),
        flipped=classes[flipped],
    )


def _index(votes: Votes, item: Any) -> int:
    if votes.items is None:
        if not isinstance(item, int | np.integer) or not 0 <= item < votes.n_items:
            raise ParameterError(f"item is {item!r}; expected an index from 0 to {votes.n_items - 1}")
        return int(item)
    found = np.flatnonzero(votes.items == item)
    if not len(found):
        some = ", ".join(map(repr, votes.items[:5].tolist()))
        raise ParameterError(f"item is {item!r}, which votes does not have; expected an identifier such as {some}")
    return int(found[0])


class _Search:
    """One item's row of votes, and how a model scores it when some of them change.

    Attributes:
        row: The item's votes.
        probabilities: (k,) of the item.
        label: Its class number, -1 for none.
        target: Its most probable class.
    """

    def __init__(self, model: Scorer, patterns: Patterns, place: int) -> None:
        self.model, self.patterns, self.place = model, patterns, place
        first, last = patterns.starts[place : place + 2]
        self._votes = slice(int(first), int(last))
        self.row: Row = dict(zip(patterns.lf[first:last].tolist(), patterns.vote[first:last].tolist(), strict=True))
        probabilities = model._pattern_probabilities(patterns)
        self.label = int(model._best(probabilities, patterns)[place])
        self.probabilities: Floats = probabilities[place]
        self.target = self.label if self.label != ABSTAIN else int(self.probabilities.argmax())

    def contributions(self) -> Floats:
        """What each vote adds to the log-odds of the target. -> (votes of the item,)."""
        exact = self.model._contributions(self.patterns)
        if exact is not None:
            return exact[self._votes, self.target]
        without, _ = self._score([self._change([(lf, ABSTAIN)]) for lf in self.row])
        added: Floats = _log_odds(self.probabilities[self.target]) - _log_odds(without[:, self.target])
        return added

    def find_flip(self, added: Floats) -> tuple[Sequence[tuple[int, int]], int]:
        """The first changes found that give another label, and that label; none and -1 if there are none.

        One vote before two, and one that abstains before one that switches.
        """
        strongest = [list(self.row)[e] for e in np.argsort(-added, kind="stable")]
        drops = [[(lf, ABSTAIN)] for lf in strongest]
        switches = [[(lf, c)] for lf in strongest[:_SWITCHED_VOTES] for c in self._others() if c != self.row[lf]]
        singles = drops + switches
        if not singles:
            return [], ABSTAIN
        scores, labels = self._score([self._change(steps) for steps in singles])
        for part in (slice(len(drops)), slice(len(drops), None)):
            found = self._try(singles[part], scores[part], labels[part])
            if found is not None:
                return found
        weakening = np.argsort(scores[:, self.target], kind="stable")[:_PAIRED]
        pairs = [singles[a] + singles[b] for a, b in combinations(weakening, 2) if singles[a][0][0] != singles[b][0][0]]
        return self._try(pairs, *self._score([self._change(steps) for steps in pairs])) or ([], ABSTAIN)

    def _others(self) -> list[int]:
        """Classes other than the target, most probable first, as many as are tried."""
        ranked = np.argsort(-self.probabilities, kind="stable").tolist()
        return [c for c in ranked if c != self.target][:_SWITCHED_CLASSES]

    def _change(self, steps: Iterable[tuple[int, int]]) -> Row:
        changed = {**self.row, **dict(steps)}
        return {lf: vote for lf, vote in changed.items() if vote != ABSTAIN}

    def _score(self, rows: list[Row]) -> tuple[Floats, NDArray[np.intp]]:
        """Probabilities and labels of rows beside the data, without weight. -> (rows, k), (rows,)."""
        p = self.patterns.n_patterns
        beside = _extend(self.patterns, np.arange(p), rows, weight=0)
        probabilities = self.model._pattern_probabilities(beside)
        return probabilities[p:], self.model._best(probabilities, beside)[p:]

    def _try(
        self, changes: list[list[tuple[int, int]]], scores: Floats, labels: NDArray[np.intp]
    ) -> tuple[list[tuple[int, int]], int] | None:
        """The change that weakens the label most of those that give another one, once it is made for real."""
        other = np.flatnonzero((labels != self.label) & (labels != ABSTAIN))
        for place in other[np.argsort(scores[other, self.target], kind="stable")][:_TRIED].tolist():
            label = self._label_after(changes[place])
            if label not in (self.label, ABSTAIN):
                return changes[place], label
        return None

    def _label_after(self, steps: list[tuple[int, int]]) -> int:
        """The item's label when its votes are replaced."""
        counts = self.patterns.counts.astype(np.int64)
        counts[self.place] -= 1
        kept = np.flatnonzero(counts)
        edited = _extend(replace(self.patterns, counts=counts), kept, [self._change(steps)], weight=1)
        return int(self.model._best(self.model._pattern_probabilities(edited), edited)[-1])


def _extend(patterns: Patterns, kept: NDArray[np.intp], rows: list[Row], *, weight: int) -> Patterns:
    """Some of the patterns, and rows behind them that occur `weight` times each."""
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    lf = np.array([lf for row in rows for lf in row], np.int64)
    vote = np.array([vote for row in rows for vote in row.values()], np.int64)
    joined = patterns.rows.take(kept).concatenate(Rows(starts, lf, vote))
    counts = np.concatenate([patterns.counts[kept], np.full(len(rows), weight)])
    return replace(patterns, starts=joined.starts, lf=joined.lf, vote=joined.vote, counts=counts, inverse=None)


def _log_odds(probability: Any) -> Any:
    share = np.clip(probability, _LEAST, 1 - _LEAST)
    return np.log(share) - np.log1p(-share)
