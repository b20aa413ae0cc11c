"""Labeling functions on the page: their table, examples of each, conflicts, and LFs that say the same thing twice."""

import numpy as np
from numpy.typing import NDArray

from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.reports.charts import heat_map
from hyperlabel.reports.elements import (
    NAME,
    class_tag,
    cut,
    named,
    note,
    number,
    scroll,
    section,
    share,
    table,
    vote_tag,
)
from hyperlabel.reports.figures import conflict_shares
from hyperlabel.reports.html import Html, join, shorten, tag
from hyperlabel.reports.items import ShownItems, VoteExamples

_LFS, _MAP, _PAIRS = 200, 30, 30  # the most that are shown
_CLASSES = 4  # the most classes shown per LF
_LONG = 25  # with more LFs, their examples are in a box that scrolls
_SENTENCE = 160  # letters of an example


def most_votes(analysis: LFAnalysis, most: int) -> NDArray[np.intp]:
    """The LFs that vote most, in their own order."""
    return np.sort(np.argsort(-analysis.votes, kind="stable")[:most])


def show_lfs(analysis: LFAnalysis, items: ShownItems) -> Html:
    """The table of LFs, and what each does."""
    summary = analysis.summary()
    chosen = most_votes(analysis, _LFS)
    shares = {"coverage": "coverage", "overlaps": "overlaps", "conflicts": "conflicts"}
    if analysis.truth is not None:
        shares["precision"] = "precision"
    shares |= {"estimated_accuracy": "estimated accuracy", "label_changes": "changed labels"}
    examples = _show_examples(analysis, items, chosen)
    rows = []
    for i in chosen:
        link = None if examples is None else f"#lf-{i}"
        cells = (share(float(summary[name][i])) for name in shares)
        rows.append(tag("tr", named(summary["lf"][i], link=link), _polarity(analysis, int(i)), *cells))
    heads = [("LF", False), ("votes for", False), *((name, True) for name in shares.values())]
    looked_at = analysis.leave_one_out().n_items
    sampled = f", estimated from {looked_at:,} items drawn at random" if looked_at < analysis.n_items else ""
    meaning = (
        "Overlaps and conflicts: share of all items on which the LF votes and another LF votes too, or votes for "
        "another class. Estimated accuracy: share of the LF's votes that are the model's label. Changed labels: share "
        f"of all items that get another label, or none, when the LF is left out{sampled}."
    )
    few = cut(len(chosen), analysis.n_lfs, "LFs", "those that vote most")
    body = table("Labeling functions", heads, rows, "long" if len(rows) > 25 else None)
    return section("Labeling functions", body, few, note(meaning), examples, name="lfs")


def _polarity(analysis: LFAnalysis, lf: int) -> Html:
    names = analysis.polarity[lf]
    known, k = [*analysis.classes, *(name for name in names if name not in analysis.classes)], len(analysis.classes)
    codes = [known.index(name) for name in names[:_CLASSES]]
    more = f" and {len(names) - _CLASSES} more" if len(names) > _CLASSES else None
    tags: list[object] = []
    for code in codes:
        tags += [vote_tag(known, code, k), " "]
    return tag("td", *tags, more, class_="chips")


def _show_examples(analysis: LFAnalysis, items: ShownItems, chosen: NDArray[np.intp]) -> Html | None:
    """For each LF, items on which it is right, wrong or alone, and what changes without it."""
    if analysis.patterns.inverse is None or items.texts is None:
        return None
    finder, most = VoteExamples(analysis, items), 3 if len(chosen) <= 50 else 1
    parts = [_show_example(analysis, finder, int(lf), most) for lf in chosen if analysis.votes[lf]]
    listed = join(*parts)
    box = scroll(listed, "LF by LF") if len(parts) > _LONG else listed
    return join(tag("h3", "LF by LF"), note("Open an LF to see texts it votes on."), box)


def _show_example(analysis: LFAnalysis, finder: VoteExamples, lf: int, most: int) -> Html:
    lines = []
    for kind, found in finder.of(lf, most).items():
        if found:
            texts = [_example(analysis, finder.items, lf, item) for item in found]
            lines += [tag("dt", kind), *(tag("dd", text) for text in texts)]
    changes = analysis.leave_one_out().label_changes[lf]
    without = f"Without it, {changes:.1%} of the items would have another label, or none."
    votes = f"{analysis.votes[lf]:,} votes"
    if analysis.truth is not None and not np.isnan(analysis.precision[lf]):
        votes += f", {analysis.precision[lf]:.1%} right"
    head = tag("summary", tag("b", shorten(str(analysis.lf_names[lf]), NAME)), " ", tag("span", votes, class_="soft"))
    return tag("details", head, tag("p", without), tag("dl", *lines, class_="examples"), id_=f"lf-{lf}")


def _example(analysis: LFAnalysis, items: ShownItems, lf: int, item: int) -> Html:
    assert items.texts is not None
    assert analysis.patterns.inverse is not None
    pattern = int(analysis.patterns.inverse[item])
    cast = slice(int(analysis.patterns.starts[pattern]), int(analysis.patterns.starts[pattern + 1]))
    vote = int(analysis.patterns.vote[cast][analysis.patterns.lf[cast] == lf][0])
    text = items.texts[item]
    marks = [class_tag(analysis.patterns.vote_names, vote, "vote")]
    if items.truth is not None and items.truth[item] >= 0 and items.truth[item] != vote:
        marks.append(class_tag(analysis.classes, int(items.truth[item]), "truth"))
    elif items.truth is None and analysis.labels[pattern] != vote:
        marks.append(class_tag(analysis.classes, int(analysis.labels[pattern]), "label"))
    answers = items.answers.get(analysis.lf_names[lf])
    answer = None if answers is None else tag("div", "Answer: ", _sentence(answers[item]), class_="soft")
    return join(*(join(mark, " ") for mark in marks), _sentence(text), answer)


def _sentence(text: object) -> str:
    return "" if text is None else shorten(" ".join(str(text)[: 4 * _SENTENCE].split()), _SENTENCE)


def show_heat_map(analysis: LFAnalysis) -> Html:
    """Coverage of each LF, and conflicts of each pair."""
    chosen = most_votes(analysis, _MAP)
    names = [shorten(str(analysis.lf_names[i]), NAME) for i in chosen]
    title = "Heat map: coverage of each LF, and conflicts of each pair"
    drawing = heat_map(names, conflict_shares(analysis, chosen), title)
    caption = (
        "Blue, on the diagonal: share of the items that the LF votes on. Violet: share of the LF's votes on which "
        "the LF of the column's number votes for another class. Dashed: the two never vote on the same item."
    )
    figure = tag("figure", scroll(drawing, "Coverage and conflicts"), tag("figcaption", caption))
    few = cut(len(chosen), analysis.n_lfs, "LFs", "those that vote most")
    return section("Coverage and conflicts", figure, few, name="conflicts")


def show_pairs(analysis: LFAnalysis) -> Html | None:
    """Pairs of LFs that depend on each other."""
    pairs = analysis.dependent_pairs()
    if not len(pairs):
        return None
    rows = []
    for row in list(pairs.rows())[:_PAIRS]:
        figures = [f"{row[name]:,}" for name in ("agreements", "conflicts")]
        figures += [f"{row[name]:.2f}" for name in ("similarity", "dependence")]
        rows.append(tag("tr", named(row["lf"]), named(row["other"]), tag("td", row["kind"]), *map(number, figures)))
    heads = [("LF", False), ("other LF", False), ("kind", False)]
    heads += [(name, True) for name in ("agree on", "conflict on", "same votes", "dependence")]
    meaning = (
        "Same votes: votes that both cast, of all votes that either casts. Dependence: correlation of their votes "
        "given the class, 0 for LFs that are independent. Two LFs that depend on each other count one opinion "
        "twice; keep one of them, or make them differ."
    )
    body = table("Dependent pairs of LFs", heads, rows)
    few = cut(len(rows), len(pairs), "pairs", "the most dependent ones")
    return section("LFs that say the same thing twice", body, few, note(meaning), name="pairs")
