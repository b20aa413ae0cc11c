"""The page: what is known about votes, LFs and labels, as one HTML text.

What would make the page large is cut, with a plain statement: the page of a thousand LFs and a million items is no
larger than a few hundred kilobytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import hyperlabel
from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.report.charts import heat_map, histogram, reliability
from hyperlabel.report.figures import (
    Scores,
    conflict_shares,
    count_confidence,
    example_items,
    group_by_confidence,
    rank_contested,
    score,
)
from hyperlabel.report.html import Html, join, shorten, tag

_LFS, _MAP, _PAIRS, _CLASSES, _CONTESTED = 200, 30, 30, 20, 25  # rows shown, at most
_TEXT, _NAME, _CHIPS = 300, 60, 24  # letters of a text and of a name, votes of an item, at most
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # a browser loads nothing, whatever the data say


class Values(Protocol):
    """One value per item."""

    def __getitem__(self, item: int, /) -> Any: ...


@dataclass(frozen=True)
class Items:
    """What is shown of single items.

    Attributes:
        ids: (n,) identifiers.
        texts: (n,) texts, if there are any.
    """

    ids: Values
    texts: Values | None = None


def render(analysis: LFAnalysis, items: Items, *, title: str) -> str:
    """The page.

    Args:
        analysis: The votes and what is known about them, with truth or without.
        items: The items that the votes are about.
        title: What the votes are called, such as the name of their file.

    >>> analysis = LFAnalysis([[0, 1], [1, 1], [0, -1]])
    >>> page = render(analysis, Items(["a", "b", "c"]), title="<votes>")
    >>> page.startswith("<!doctype html>"), "&lt;votes&gt;" in page, "<votes>" in page
    (True, True, False)
    """
    sections = (
        _scores(analysis),
        _lfs(analysis),
        _heat_map(analysis),
        _pairs(analysis),
        _labels(analysis),
        _contested(analysis, items),
    )
    style = Html(files("hyperlabel.report").joinpath("page.css").read_text(encoding="utf-8"))
    head = tag(
        "head",
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        tag("title", f"{title}: labeling functions"),
        tag("style", style),
    )
    body = tag("body", tag("main", tag("h1", title), _facts(analysis), *sections))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _facts(analysis: LFAnalysis) -> Html:
    patterns, n = analysis.patterns, analysis.n_items
    parts = (patterns.has_votes, analysis.overlapping, analysis.conflicting)
    covered, overlapping, conflicting = (patterns.counts @ part / n for part in parts)
    facts = {
        "items": f"{n:,}",
        "LFs": f"{analysis.n_lfs:,}",
        "classes": f"{patterns.n_classes:,}",
        "patterns of votes": f"{patterns.n_patterns:,}",
        "items with votes": f"{covered:.1%}",
        "with two or more": f"{overlapping:.1%}",
        "with votes that conflict": f"{conflicting:.1%}",
    }
    about = f"Labels by {analysis.model!r}, hyperlabel {hyperlabel.__version__}."
    boxes = (tag("div", tag("dt", name), tag("dd", value)) for name, value in facts.items())
    return join(_note(about), tag("dl", *boxes, class_="facts"))


def _section(title: str, *children: object) -> Html:
    return tag("section", tag("h2", title), *children)


def _table(caption: str, heads: Sequence[tuple[str, bool]], rows: Sequence[Html]) -> Html:
    """A table in a box that scrolls sideways; `heads` are names and whether the column holds numbers."""
    titles = (tag("th", name, scope="col", class_="number" if number else None) for name, number in heads)
    table = tag("table", tag("thead", tag("tr", *titles)), tag("tbody", *rows), aria_label=caption)
    return tag("div", table, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _named(name: object) -> Html:
    text = str(name)
    return tag("th", shorten(text, _NAME), scope="row", title=text[:_TEXT] if len(text) > _NAME else None)


def _number(value: object) -> Html:
    return tag("td", value, class_="number")


def _share(value: float) -> Html:
    """A share with a bar behind it; empty for NaN."""
    if np.isnan(value):
        return tag("td", class_="number")
    return tag("td", f"{value:.1%}", class_="number share", style=f"--share:{100 * value:.1f}%")


def _cut(shown: int, of: int, what: str, which: str) -> Html | None:
    return _note(f"{shown:,} of {of:,} {what} are shown: {which}.") if shown < of else None


def _note(text: str) -> Html:
    return tag("p", text, class_="soft")


def _most_votes(analysis: LFAnalysis, most: int) -> NDArray[np.intp]:
    """The LFs that vote most, in their own order."""
    return np.sort(np.argsort(-analysis.votes, kind="stable")[:most])


def _scores(analysis: LFAnalysis) -> Html | None:
    found = score(analysis)
    if found is None:
        return None
    rows = [_score_row(name, s) for name, s in zip(("this model", "majority vote"), found, strict=True)]
    f1 = f"F1 of {shorten(str(analysis.classes[1]), _NAME)}" if len(analysis.classes) == 2 else "macro F1"
    heads = [("labels by", False), ("accuracy", True), (f1, True), ("Brier score", True)]
    table = _table("Scores", heads, rows)
    plot = reliability(
        *group_by_confidence(analysis), "Reliability plot: the share of right labels against their confidence"
    )
    told = "Each point is a tenth of the items, by confidence. On the dashed line confidence and share are equal."
    counted = (
        f"Over the {found[0].items:,} items whose truth is known; an item without a label counts as wrong. "
        "A lower Brier score is better."
    )
    return _section(
        "Scores against the truth",
        tag(
            "div",
            tag("div", table, _note(counted)),
            tag("figure", plot, tag("figcaption", told)),
            class_="pair-of-figures",
        ),
    )


def _score_row(name: str, scores: Scores) -> Html:
    figures = (f"{scores.accuracy:.1%}", f"{scores.f1:.3f}", f"{scores.brier:.3f}")
    return tag("tr", _named(name), *map(_number, figures))


def _lfs(analysis: LFAnalysis) -> Html:
    summary = analysis.summary()
    chosen = _most_votes(analysis, _LFS)
    shares = {"coverage": "coverage", "overlaps": "overlaps", "conflicts": "conflicts"}
    if analysis.truth is not None:
        shares["precision"] = "precision"
    shares |= {"estimated_accuracy": "estimated accuracy", "label_changes": "changed labels"}
    rows = []
    for i in chosen:
        cells = (_share(float(summary[name][i])) for name in shares)
        classes = tag("td", shorten(summary["polarity"][i], _NAME), class_="polarity")
        rows.append(tag("tr", _named(summary["lf"][i]), classes, *cells))
    heads = [("LF", False), ("votes for", False), *((name, True) for name in shares.values())]
    looked_at = analysis.leave_one_out().n_items
    sampled = f", estimated from {looked_at:,} items drawn at random" if looked_at < analysis.n_items else ""
    meaning = (
        "Overlaps and conflicts: share of all items on which the LF votes and another LF votes too, or votes for "
        "another class. Estimated accuracy: share of the LF's votes that are the model's label. Changed labels: share "
        f"of all items that get another label, or none, when the LF is left out{sampled}."
    )
    cut = _cut(len(chosen), analysis.n_lfs, "LFs", "those that vote most")
    return _section("Labeling functions", _table("Labeling functions", heads, rows), cut, _note(meaning))


def _heat_map(analysis: LFAnalysis) -> Html:
    chosen = _most_votes(analysis, _MAP)
    names = [analysis.lf_names[i][:_TEXT] for i in chosen]
    drawing = heat_map(
        names, conflict_shares(analysis, chosen), "Heat map: coverage of each LF, and conflicts of any two"
    )
    told = (
        "Blue, on the diagonal: share of the items that the LF votes on. Orange: share of the LF's votes on which the "
        "LF of the column's number votes for another class. Dashed: the two never vote on the same item."
    )
    box = tag("div", drawing, class_="scroll", role="region", aria_label="Coverage and conflicts", tabindex=0)
    cut = _cut(len(chosen), analysis.n_lfs, "LFs", "those that vote most")
    return _section("Coverage and conflicts", tag("figure", box, tag("figcaption", told)), cut)


def _pairs(analysis: LFAnalysis) -> Html | None:
    pairs = analysis.dependent_pairs()
    if not len(pairs):
        return None
    rows = []
    for row in list(pairs.rows())[:_PAIRS]:
        figures = [f"{row[name]:,}" for name in ("agreements", "conflicts")]
        figures += [f"{row[name]:.2f}" for name in ("similarity", "dependence")]
        rows.append(tag("tr", _named(row["lf"]), _named(row["other"]), tag("td", row["kind"]), *map(_number, figures)))
    heads = [("LF", False), ("other LF", False), ("kind", False)]
    heads += [(name, True) for name in ("agree on", "conflict on", "same votes", "dependence")]
    meaning = (
        "Same votes: votes that both cast, of all votes that either casts. Dependence: correlation of their votes "
        "given the class, 0 for LFs that are independent. Two LFs that depend on each other count twice what is one "
        "opinion; keep one of them, or make them differ."
    )
    return _section(
        "LFs that say the same thing twice",
        _table("Dependent pairs of LFs", heads, rows),
        _cut(len(rows), len(pairs), "pairs", "the most dependent ones"),
        _note(meaning),
    )


def _labels(analysis: LFAnalysis) -> Html:
    counts, low, high = count_confidence(analysis)
    drawing = histogram(counts, low, high, "Histogram: how many items have which confidence")
    told = f"Confidence is the probability of the label; at {low:.3g} all classes are equally probable."
    return _section(
        "Labels",
        tag(
            "div",
            tag("div", _distribution(analysis)),
            tag("figure", drawing, tag("figcaption", told)),
            class_="pair-of-figures",
        ),
    )


def _distribution(analysis: LFAnalysis) -> Html:
    """How many items got each label and, with truth, how many have it."""
    k, counts = analysis.patterns.n_classes, analysis.patterns.counts
    labeled = np.bincount(analysis.labels + 1, counts, k + 1)
    truth = None if analysis.truth is None else analysis.truth.sum(0)
    order = np.argsort(-labeled[1:], kind="stable")[:_CLASSES]
    rows = []
    for c in order:
        true = None if truth is None else _share(truth[c] / max(1, truth.sum()))
        share = _share(labeled[c + 1] / analysis.n_items)
        rows.append(tag("tr", _named(analysis.classes[c]), _number(f"{labeled[c + 1]:,.0f}"), share, true))
    if labeled[0]:
        none = tag("th", "no label", scope="row", class_="soft")
        empty = None if truth is None else tag("td")
        rows.append(tag("tr", none, _number(f"{labeled[0]:,.0f}"), _share(labeled[0] / analysis.n_items), empty))
    heads = [("label", False), ("items", True), ("share", True), *([] if truth is None else [("of the truth", True)])]
    return join(_table("Distribution of labels", heads, rows), _cut(len(order), k, "classes", "the most frequent ones"))


def _contested(analysis: LFAnalysis, items: Items) -> Html | None:
    inverse = analysis.patterns.inverse
    chosen = rank_contested(analysis, _CONTESTED)
    if not len(chosen) or inverse is None:
        return None
    rows = [
        _contested_row(analysis, items, int(pattern), item)
        for pattern, item in zip(chosen, example_items(inverse, chosen), strict=True)
    ]
    heads = [("item", False), *([] if items.texts is None else [("text", False)]), ("votes", False)]
    heads += [("label", False), ("confidence", True), ("items alike", True)]
    told = (
        "Items whose best two classes are closest, one for each pattern of votes. Blue votes are for the label, orange "
        "ones against it; items alike have the same votes."
    )
    cut = _cut(len(chosen), int(analysis.conflicting.sum()), "patterns with votes that conflict", "the most contested")
    return _section("Most contested items", _table("Most contested items", heads, rows), cut, _note(told))


def _contested_row(analysis: LFAnalysis, items: Items, pattern: int, item: int) -> Html:
    patterns, label = analysis.patterns, int(analysis.labels[pattern])
    votes = range(int(patterns.starts[pattern]), int(patterns.starts[pattern + 1]))
    chips: list[object] = []
    for e in votes[:_CHIPS]:
        lf, vote = analysis.lf_names[patterns.lf[e]], patterns.vote_names[patterns.vote[e]]
        side = "for" if patterns.vote[e] == label else "against"
        chips += [tag("span", shorten(lf, _NAME), ": ", tag("b", shorten(str(vote), _NAME)), class_=f"chip {side}")]
    if len(votes) > _CHIPS:
        chips.append(f"and {len(votes) - _CHIPS} more votes")
    text = None
    if items.texts is not None:
        told = items.texts[item]
        text = tag("td", "" if told is None else shorten(str(told), _TEXT), class_="text")
    shown = "no label" if label < 0 else shorten(str(analysis.classes[label]), _NAME)
    confidence = _number(f"{analysis.probabilities[pattern].max():.3f}")
    alike = _number(f"{patterns.counts[pattern]:,}")
    return tag(
        "tr", _named(items.ids[item]), text, tag("td", *chips, class_="chips"), tag("td", shown), confidence, alike
    )
