"""The page: what is known about votes, LFs and labels, as one HTML document.

What would make the page large is cut, and the page says so: the page of a thousand LFs and a million items is no
larger than a megabyte. The one script is the page's own, and the policy allows no other.
"""

import base64
import hashlib
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

import hyperlabel
from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.reports.balance import Sensitivity, show_sensitivity
from hyperlabel.reports.charts import histogram
from hyperlabel.reports.elements import class_tag, cut, note, number, section, share, table
from hyperlabel.reports.figures import count_confidence, score
from hyperlabel.reports.html import Html, join, tag
from hyperlabel.reports.items import ShownItems, show_contested, show_uncovered
from hyperlabel.reports.lfs import show_heat_map, show_lfs, show_pairs
from hyperlabel.reports.quality import CLASSES, class_bar, show_certificate, show_scores
from hyperlabel.trust import Certificate
from hyperlabel.trust.advice import Advice, AdviceList


@dataclass(frozen=True)
class Beside:
    """What a page may show besides the analysis."""

    scored: LFAnalysis | None = None  # labels that gold is compared with, which have not learned from it
    sensitivity: Sensitivity | None = None  # what depends on the class balance
    certificate: Certificate | None = None  # which labels can be relied on
    advice: AdviceList | None = None  # what to do next


def render(analysis: LFAnalysis, items: ShownItems, *, title: str, beside: Beside | None = None) -> str:
    """The page about the votes of an analysis, with truth or without.

    >>> analysis = LFAnalysis([[0, 1], [1, 1], [0, -1]])
    >>> page = render(analysis, ShownItems(["a", "b", "c"]), title="<votes>")
    >>> page.startswith("<!doctype html>"), "&lt;votes&gt;" in page, "<votes>" in page
    (True, True, False)
    """
    beside = Beside() if beside is None else beside
    sections = (
        None if beside.advice is None else _advice(beside.advice),
        None if beside.certificate is None else show_certificate(beside.certificate),
        show_scores(analysis, gold=False) if beside.scored is None else show_scores(beside.scored, gold=True),
        _labels(analysis),
        show_contested(analysis, items),
        show_uncovered(analysis, items),
        None if beside.sensitivity is None else show_sensitivity(beside.sensitivity, analysis.classes),
        show_lfs(analysis, items),
        show_heat_map(analysis),
        show_pairs(analysis),
    )
    top = tag("header", tag("h1", title), tag("p", headline(analysis, beside), class_="headline"), _facts(analysis))
    body = tag("body", tag("main", top, *sections), tag("script", Html(_read("script.js"))))
    return f"<!doctype html>\n{tag('html', _head(title), body, lang='en')}\n"


def _read(name: str) -> str:
    return files("hyperlabel.reports").joinpath(name).read_text(encoding="utf-8")


def _head(title: str) -> Html:
    digest = base64.b64encode(hashlib.sha256(_read("script.js").encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return tag(
        "head",
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("title", title),
        tag("style", Html(_read("page.css"))),
    )


def headline(analysis: LFAnalysis, beside: Beside) -> str:
    """How many items, how good as far as known, what to do next; in one or two sentences."""
    n, counts = analysis.n_items, analysis.patterns.counts
    labeled = int(counts @ (analysis.labels >= 0))
    lfs = f"{analysis.n_lfs:,} LF{'s' * (analysis.n_lfs != 1)}"
    parts = [f"{labeled:,} of {n:,} items have labels by {lfs}; {_quality(analysis, beside)}."]
    if beside.advice is not None and len(beside.advice):
        reason = beside.advice[0].reason
        parts.append(f"Next: {reason}" + "." * (not reason.endswith(".")))
    return " ".join(parts)


def _quality(analysis: LFAnalysis, beside: Beside) -> str:
    """How good the labels are, as far as known."""
    if beside.certificate is not None:
        said = str(beside.certificate).rstrip(".")
        return said[:1].lower() + said[1:]
    scored = analysis if beside.scored is None else beside.scored
    if scored.truth is None or not scored.truth[scored.labels >= 0].sum():
        return "how many are right is not known, since there is no truth"
    known = scored.truth[scored.labels >= 0]
    right = known[np.arange(len(known)), scored.labels[scored.labels >= 0]].sum()
    whose = "gold" if beside.scored is not None else "truth"
    return f"{right / known.sum():.1%} of the labels are right, on the {int(known.sum()):,} with {whose}"


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
    found = score(analysis)
    if found is not None:
        facts["accuracy, all items"] = f"{found[0].accuracy:.1%}"
    about = f"Labels by {analysis.model!r}, hyperlabel {hyperlabel.__version__}."
    boxes = (tag("div", tag("dt", name), tag("dd", value)) for name, value in facts.items())
    return join(tag("dl", *boxes, class_="facts"), note(about))


def _advice(advice: AdviceList) -> Html:
    """What to do next, most valuable first."""
    if not len(advice):
        return section("What to do next", note("No advice: no known problem was found."), name="advice")
    meaning = "Worth: what following this kind of advice changed on public sets, in points of accuracy or F1."
    steps = tag("ol", *map(_step, advice), class_="advice")
    return section("What to do next", steps, note(meaning), name="advice")


def _step(advice: Advice) -> Html:
    worth = tag("p", f"Worth: {advice.worth}.", class_="soft")
    calls = tag("details", tag("summary", "How"), tag("pre", advice.call), tag("pre", advice.command))
    return tag("li", tag("p", advice.reason), worth, calls)


def _labels(analysis: LFAnalysis) -> Html:
    counts, low, high = count_confidence(analysis)
    drawing = histogram(counts, low, high, "Histogram: how many items have each confidence")
    caption = f"Confidence is the probability of the label; at {low:.3g} all classes are equally probable."
    figure = tag("figure", drawing, tag("figcaption", caption))
    k = analysis.patterns.n_classes
    labeled = np.bincount(analysis.labels + 1, analysis.patterns.counts, k + 1).astype(np.int64)
    bar = class_bar(analysis.classes, labeled, analysis.n_items)
    pair = tag("div", tag("div", _distribution(analysis)), figure, class_="pair-of-figures")
    return section("Labels", bar, pair, name="labels")


def _distribution(analysis: LFAnalysis) -> Html:
    """How many items got each label and, with truth, how many have it."""
    k, counts = analysis.patterns.n_classes, analysis.patterns.counts
    labeled = np.bincount(analysis.labels + 1, counts, k + 1)
    truth = None if analysis.truth is None else analysis.truth.sum(0)
    order = np.argsort(-labeled[1:], kind="stable")[:CLASSES]
    rows = []
    for c in order:
        true = None if truth is None else share(truth[c] / max(1, truth.sum()))
        items, part = labeled[c + 1], share(labeled[c + 1] / analysis.n_items)
        name = tag("th", class_tag(analysis.classes, int(c)), scope="row")
        rows.append(tag("tr", name, number(f"{items:,.0f}", int(items)), part, true))
    if labeled[0]:
        none, empty = tag("th", class_tag((), -1), scope="row"), None if truth is None else tag("td")
        part = share(labeled[0] / analysis.n_items)
        rows.append(tag("tr", none, number(f"{labeled[0]:,.0f}", int(labeled[0])), part, empty))
    heads = [("label", False), ("items", True), ("share", True), *([] if truth is None else [("of the truth", True)])]
    few = cut(len(order), k, "classes", "the most frequent ones")
    return join(table("Distribution of labels", heads, rows, "long" if len(rows) > 25 else None), few)
