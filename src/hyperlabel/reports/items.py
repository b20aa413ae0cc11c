"""Single items on the page: the contested ones, those without votes, and examples for each LF."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.reports.elements import class_tag, cut, named, note, number, section, table, text_cell, vote_tag
from hyperlabel.reports.figures import example_items, rank_contested
from hyperlabel.reports.html import Html, tag

_CONTESTED, _UNCOVERED = 25, 15  # the most items shown
_CHIPS = 24  # the most votes shown per item


class Values(Protocol):
    """One value per item."""

    def __getitem__(self, item: int, /) -> Any: ...


@dataclass(frozen=True)
class ShownItems:
    """What is shown about single items."""

    ids: Values  # (n,) identifiers
    texts: Values | None = None  # (n,) texts, if there are any
    truth: NDArray[np.int64] | None = None  # (n,) true classes as numbers, -1 for unknown; if there is truth
    answers: Mapping[str, Values] = field(default_factory=dict)  # for LFs that ask a language model, their (n,) answers

    @property
    def heads(self) -> list[tuple[str, bool]]:
        """Heads of the columns that every table of items has."""
        text = [] if self.texts is None else [("text", False)]
        return [("item", False), *text, *([] if self.truth is None else [("truth", False)])]

    def cells(self, item: int, classes: tuple[Any, ...]) -> list[Html | None]:
        """Cells of these columns."""
        truth = None if self.truth is None else int(self.truth[item])
        known = None if truth is None else tag("td", class_tag(classes, truth) if truth >= 0 else None)
        return [named(self.ids[item]), None if self.texts is None else text_cell(self.texts[item]), known]


def show_contested(analysis: LFAnalysis, items: ShownItems) -> Html | None:
    """The items whose best two classes are closest, one per pattern."""
    inverse = analysis.patterns.inverse
    chosen = rank_contested(analysis, _CONTESTED)
    if not len(chosen) or inverse is None:
        return None
    rows = [
        _contested_row(analysis, items, int(pattern), item)
        for pattern, item in zip(chosen, example_items(inverse, chosen), strict=True)
    ]
    heads = [*items.heads, ("label", False), ("confidence", True), ("items alike", True), ("votes", False)]
    meaning = (
        "Items whose best two classes are closest, one per pattern of votes; items alike have the same votes. "
        "They are worth checking by hand."
    )
    shown = cut(len(chosen), int(analysis.conflicting.sum()), "patterns with votes that conflict", "the most contested")
    return section(
        "Most contested items", table("Most contested items", heads, rows), shown, note(meaning), name="contested"
    )


def _contested_row(analysis: LFAnalysis, items: ShownItems, pattern: int, item: int) -> Html:
    patterns, label = analysis.patterns, int(analysis.labels[pattern])
    votes = range(int(patterns.starts[pattern]), int(patterns.starts[pattern + 1]))
    chips: list[object] = []
    for e in votes[:_CHIPS]:
        lf = str(analysis.lf_names[patterns.lf[e]])
        chips += [vote_tag(patterns.vote_names, int(patterns.vote[e]), patterns.n_classes, lf), " "]
    if len(votes) > _CHIPS:
        chips.append(f"and {len(votes) - _CHIPS} more votes")
    sure = analysis.probabilities[pattern].max()
    return tag(
        "tr",
        *items.cells(item, analysis.classes),
        tag("td", class_tag(analysis.classes, label)),
        number(f"{sure:.3f}"),
        number(f"{patterns.counts[pattern]:,}"),
        tag("td", *chips, class_="chips"),
    )


def show_uncovered(analysis: LFAnalysis, items: ShownItems) -> Html | None:
    """Some of the items without votes."""
    patterns = analysis.patterns
    if patterns.inverse is None or patterns.has_votes.all():
        return None
    empty = np.flatnonzero(~patterns.has_votes[patterns.inverse])
    shown = np.sort(np.random.default_rng(0).permutation(empty)[:_UNCOVERED])
    rows = [tag("tr", *items.cells(int(item), analysis.classes)) for item in shown]
    meaning = (
        f"No LF votes on {len(empty):,} of the {analysis.n_items:,} items, {len(empty) / analysis.n_items:.1%}, so "
        "they have no label. Write an LF for what they have in common, or label them by their texts: "
        "hyperlabel label --text."
    )
    few = cut(len(shown), len(empty), "items without votes", "drawn at random")
    return section(
        "Items without votes", tag("p", meaning), table("Items without votes", items.heads, rows), few, name="uncovered"
    )


@dataclass(frozen=True)
class VoteExamples:
    """Finds items on which an LF votes, by what happened to its vote."""

    analysis: LFAnalysis  # the votes
    items: ShownItems

    @cached_property
    def _order(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The items by pattern, each in a fixed shuffled order, and where each pattern begins. (n,), (p + 1,)."""
        inverse = self.analysis.patterns.inverse
        assert inverse is not None
        shuffled = np.random.default_rng(0).permutation(len(inverse))
        order = shuffled[np.argsort(inverse[shuffled], kind="stable")]
        starts = np.searchsorted(inverse[order], np.arange(self.analysis.patterns.n_patterns + 1))
        return order, starts

    def of(self, lf: int, most: int) -> dict[str, list[int]]:
        """A few items of each kind: right, wrong, alone; without truth: with the label, against it, alone."""
        patterns = self.analysis.patterns
        cast = np.flatnonzero((patterns.lf == lf) & (patterns.vote < patterns.n_classes))
        row, vote = patterns.row[cast], patterns.vote[cast]
        alone = np.diff(patterns.starts)[row] == 1
        if self.items.truth is None:
            with_label = self.analysis.labels[row] == vote
            kinds = {"with the label": with_label & ~alone, "against the label": ~with_label}
            found = {kind: self._first(row[here], vote[here], None, most) for kind, here in kinds.items()}
        else:
            found = {kind: self._first(row, vote, right, most) for kind, right in (("right", True), ("wrong", False))}
        return {**found, "alone": self._first(row[alone], vote[alone], None, most)}

    def _first(self, rows: NDArray[Any], votes: NDArray[Any], right: bool | None, most: int) -> list[int]:
        """Items of patterns, one of each first; on request only those that are right or wrong."""
        order, starts = self._order
        shuffled = np.random.default_rng(1).permutation(len(rows))
        found: list[int] = []
        for pattern, vote in zip(rows[shuffled].tolist(), votes[shuffled].tolist(), strict=True):
            fitting = self._fitting(order[starts[pattern] : starts[pattern + 1]], vote, right)
            found += [int(item) for item in fitting[:1]]
            if len(found) == most:
                break
        return found

    def _fitting(self, items: NDArray[np.intp], vote: int, right: bool | None) -> NDArray[np.intp]:
        if right is None or self.items.truth is None:
            return items
        truth = self.items.truth[items]
        return np.asarray(items[(truth == vote) if right else ((truth >= 0) & (truth != vote))])
