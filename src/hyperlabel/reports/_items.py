"""Single items on the page: the contested ones, those without votes, and examples for each LF."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.lf import LFAnalysis
from hyperlabel.reports._html import TEXT, Html, class_tag, cut, named, note, number, section, shorten, table, tag

_CONTESTED, _UNCOVERED = 25, 15  # the most items shown
_VOTES = 24  # the most votes shown per item


@dataclass(frozen=True)
class ShownItems:
    """Identifiers, texts, truth and answers of single items."""

    ids: Any  # (n,) identifiers
    texts: Any = None  # (n,) texts, if there are any
    truth: NDArray[np.int64] | None = None  # (n,) true classes as numbers, -1 for unknown; if there is truth
    answers: Mapping[str, Any] = field(default_factory=dict)  # for LFs that ask a language model, their (n,) answers

    @property
    def heads(self) -> list[tuple[str, bool]]:
        """Heads of the columns that every table of items has."""
        text = [] if self.texts is None else [("text", False)]
        return [("item", False), *text, *([] if self.truth is None else [("truth", False)])]

    def cells(self, item: int, classes: tuple[Any, ...]) -> list[Html]:
        """Cells of these columns."""
        cells = [named(self.ids[item])]
        if self.texts is not None:
            text = self.texts[item]
            cells.append(tag("td", "" if text is None else shorten(str(text), TEXT), class_="text"))
        if self.truth is not None:
            cells.append(tag("td", class_tag(classes, int(self.truth[item])) if self.truth[item] >= 0 else None))
        return cells


def show_contested(analysis: LFAnalysis, items: ShownItems) -> Html | None:
    """The section of the items whose best two classes are closest, one per pattern."""
    inverse = analysis.patterns.inverse
    if inverse is None or not analysis.conflicting.any():
        return None
    chosen, patterns = rank_contested(analysis, _CONTESTED).tolist(), analysis.patterns
    rows = []
    for pattern in chosen:
        votes = range(int(patterns.starts[pattern]), int(patterns.starts[pattern + 1]))
        tags: list[object] = []
        for e in votes[:_VOTES]:
            lf, vote = str(analysis.lf_names[patterns.lf[e]]), int(patterns.vote[e])
            tags += [class_tag(patterns.vote_names, vote, lf, patterns.n_classes), " "]
        if len(votes) > _VOTES:
            tags.append(f"and {len(votes) - _VOTES} more votes")
        cells = items.cells(int((inverse == pattern).argmax()), analysis.classes)
        label = tag("td", class_tag(analysis.classes, int(analysis.labels[pattern])))
        figures = f"{analysis.probabilities[pattern].max():.3f}", f"{patterns.counts[pattern]:,}"
        rows.append(tag("tr", *cells, label, *map(number, figures), tag("td", *tags, class_="chips")))
    heads = [*items.heads, ("label", False), ("confidence", True), ("items alike", True), ("votes", False)]
    meaning = (
        "Items whose best two classes are closest, one per pattern of votes; items alike have the same votes. "
        "They are worth checking by hand."
    )
    few = cut(len(chosen), int(analysis.conflicting.sum()), "patterns with conflicting votes", "the most contested")
    title = "Most contested items"
    return section(title, table(title, heads, rows), few, note(meaning), name="contested")


def rank_contested(analysis: LFAnalysis, most: int) -> NDArray[np.intp]:
    """Patterns with conflicting votes, closest best two classes first. -> (at most `most`,)."""
    contested = np.flatnonzero(analysis.conflicting)
    best = np.sort(analysis.probabilities[contested], 1)
    order = np.lexsort((-analysis.patterns.counts[contested], best[:, -1] - best[:, -2]))
    return contested[order[:most]]


def show_uncovered(analysis: LFAnalysis, items: ShownItems) -> Html | None:
    """The section of the items without votes, or some of them."""
    patterns = analysis.patterns
    if patterns.inverse is None or patterns.has_votes.all():
        return None
    empty = np.flatnonzero(~patterns.has_votes[patterns.inverse])
    shown = np.sort(np.random.default_rng(0).permutation(empty)[:_UNCOVERED])
    rows = [tag("tr", *items.cells(int(item), analysis.classes)) for item in shown]
    meaning = (
        f"{len(empty):,} of the {analysis.n_items:,} items ({len(empty) / analysis.n_items:.1%}) got no votes and so "
        "have no label. Add a rule that covers what they have in common, or label them by their texts: "
        "hyperlabel label --text."
    )
    few = cut(len(shown), len(empty), "items without votes", "drawn at random")
    title = "Items without votes"
    return section(title, tag("p", meaning), table(title, items.heads, rows), few, name="uncovered")


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
            examples = {kind: self._first(row[here], vote[here], None, most) for kind, here in kinds.items()}
        else:
            examples = {kind: self._first(row, vote, kind == "right", most) for kind in ("right", "wrong")}
        return {**examples, "alone": self._first(row[alone], vote[alone], None, most)}

    def _first(self, rows: NDArray[Any], votes: NDArray[Any], right: bool | None, most: int) -> list[int]:
        """The first item of each of some patterns; on request only items on which the vote is right or wrong."""
        order, starts = self._order
        shuffled = np.random.default_rng(1).permutation(len(rows))
        examples: list[int] = []
        for pattern, vote in zip(rows[shuffled].tolist(), votes[shuffled].tolist(), strict=True):
            items = order[starts[pattern] : starts[pattern + 1]]
            if right is not None and self.items.truth is not None:
                truth = self.items.truth[items]
                items = items[(truth == vote) if right else (truth >= 0) & (truth != vote)]
            examples += items[:1].tolist()
            if len(examples) == most:
                break
        return examples
