"""Labeling functions on the page: their table, examples of each, conflicts, and LFs that say the same thing twice."""

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64
from hyperlabel.lf import LFAnalysis
from hyperlabel.reports._html import (
    NAME,
    Html,
    class_tag,
    cut,
    heat_map,
    join,
    named,
    note,
    number,
    scroll,
    section,
    share,
    shorten,
    table,
    tag,
)
from hyperlabel.reports._items import ShownItems, VoteExamples

_LFS, _MAP, _PAIRS = 200, 30, 30  # the most that are shown
_CLASSES = 4  # the most classes shown per LF
_LONG = 25  # with more LFs, their examples are in a box that scrolls
_SENTENCE = 160  # letters of an example


def show_lfs(analysis: LFAnalysis, items: ShownItems) -> Html:
    """The section of LFs: their table, and examples of each."""
    summary = analysis.summary()
    chosen = np.sort(np.argsort(-analysis.votes, kind="stable")[:_LFS])  # those that vote most
    columns = ["coverage", "overlaps", "conflicts", *([] if analysis.truth is None else ["precision"])]
    columns += ["estimated_accuracy", "label_changes"]
    shown = items.texts is not None and analysis.patterns.inverse is not None
    examples = _show_examples(analysis, items, chosen) if shown else None
    rows, k = [], len(analysis.classes)
    for i in chosen:
        tags: list[object] = []  # what it votes for
        for name in analysis.polarity[i][:_CLASSES]:
            code = analysis.classes.index(name) if name in analysis.classes else k
            tags += [class_tag([*analysis.classes, name], code, n_classes=k), " "]
        if len(analysis.polarity[i]) > _CLASSES:
            tags.append(f" and {len(analysis.polarity[i]) - _CLASSES} more")
        name = named(summary["lf"][i], None if examples is None else f"#lf-{i}")
        cells = (share(float(summary[column][i])) for column in columns)
        rows.append(tag("tr", name, tag("td", *tags, class_="chips"), *cells))
    titles = [name.replace("label_changes", "changed labels").replace("_", " ") for name in columns]
    heads = [("LF", False), ("votes for", False), *((title, True) for title in titles)]
    n = analysis.leave_one_out().n_items
    sampled = f", estimated from {n:,} items drawn at random" if n < analysis.n_items else ""
    meaning = (
        "Overlaps and conflicts: share of all items on which the LF votes and another LF votes too, or votes for "
        "another class. Estimated accuracy: share of the LF's votes that are the model's label; "
        f"{analysis.estimate_note}. Changed labels: share of all items that get another label, or none, when the LF is "
        f"left out{sampled}."
    )
    few = cut(len(chosen), analysis.n_lfs, "LFs", "those that vote most")
    body = table("Labeling functions", heads, rows, "long" if len(rows) > _LONG else None)
    return section("Labeling functions", body, few, note(meaning), examples, name="lfs")


def _show_examples(analysis: LFAnalysis, items: ShownItems, chosen: NDArray[np.intp]) -> Html:
    """For each LF, items on which it is right, wrong or alone, and what changes without it."""
    finder, most = VoteExamples(analysis, items), 3 if len(chosen) <= 50 else 1
    parts = [_show_lf(finder, int(lf), most) for lf in chosen if analysis.votes[lf]]
    box = scroll(join(*parts), "LF by LF") if len(parts) > _LONG else join(*parts)
    return join(tag("h3", "LF by LF"), note("Open an LF to see texts it votes on."), box)


def _show_lf(finder: VoteExamples, lf: int, most: int) -> Html:
    analysis, lines = finder.analysis, []
    for kind, examples in finder.of(lf, most).items():
        if examples:
            lines += [tag("dt", kind), *(tag("dd", _example(analysis, finder.items, lf, item)) for item in examples)]
    changes = analysis.leave_one_out().label_changes[lf]
    without = f"Without it, {changes:.1%} of the items would have another label, or none."
    votes = f"{analysis.votes[lf]:,} votes"
    if analysis.truth is not None and not np.isnan(analysis.precision[lf]):
        votes += f", {analysis.precision[lf]:.1%} right"
    head = tag("summary", tag("b", shorten(str(analysis.lf_names[lf]), NAME)), " ", tag("span", votes, class_="soft"))
    return tag("details", head, tag("p", without), tag("dl", *lines, class_="examples"), id_=f"lf-{lf}")


def _example(analysis: LFAnalysis, items: ShownItems, lf: int, item: int) -> Html:
    patterns = analysis.patterns
    assert items.texts is not None
    assert patterns.inverse is not None
    pattern = int(patterns.inverse[item])
    cast = slice(int(patterns.starts[pattern]), int(patterns.starts[pattern + 1]))
    vote = int(patterns.vote[cast][patterns.lf[cast] == lf][0])
    parts: list[object] = [class_tag(patterns.vote_names, vote, "vote"), " "]
    what, other = ("label", analysis.labels[pattern]) if items.truth is None else ("truth", items.truth[item])
    if other != vote and (other >= 0 or items.truth is None):
        parts += [class_tag(analysis.classes, int(other), what), " "]
    parts.append(_sentence(items.texts[item]))
    answers = items.answers.get(analysis.lf_names[lf])
    if answers is not None:
        parts.append(tag("div", "Answer: ", _sentence(answers[item]), class_="soft"))
    return join(*parts)


def _sentence(text: object) -> str:
    return "" if text is None else shorten(" ".join(str(text)[: 4 * _SENTENCE].split()), _SENTENCE)


def show_heat_map(analysis: LFAnalysis) -> Html:
    """The section of coverage of each LF, and conflicts of each pair."""
    chosen = np.sort(np.argsort(-analysis.votes, kind="stable")[:_MAP])
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


def conflict_shares(analysis: LFAnalysis, lfs: NDArray[np.intp]) -> Float64:
    """Share of one LF's votes on which the other LF votes for another class; coverage on the diagonal. -> (q, q).

    NaN where two LFs never vote on the same item.
    """
    pairs = np.ix_(lfs, lfs)
    votes = np.maximum(analysis.votes[lfs, None], 1)
    shares = np.where(analysis.shared[pairs] > 0, analysis.pair_conflicts[pairs] / votes, np.nan)
    np.fill_diagonal(shares, analysis.coverage[lfs])
    return shares


def show_pairs(analysis: LFAnalysis) -> Html | None:
    """The section of pairs of LFs that depend on each other."""
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
