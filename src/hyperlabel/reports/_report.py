"""`report`: the page about votes and their labels, from Python."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from hyperlabel._core import Metric, show
from hyperlabel._version import VERSION
from hyperlabel.data import as_list, write_text
from hyperlabel.errors import ParameterError
from hyperlabel.lf import AppliedVotes, LFAnalysis
from hyperlabel.models import LabelModel, choose_model
from hyperlabel.reports._html import Html, join, note, section, show_facts, tag
from hyperlabel.reports._items import ShownItems, show_contested, show_uncovered
from hyperlabel.reports._labels import (
    Sensitivity,
    count_confusion,
    find_sensitivity,
    show_certificate,
    show_labels,
    show_scores,
    show_sensitivity,
)
from hyperlabel.reports._lfs import show_heat_map, show_lfs, show_pairs
from hyperlabel.trust import AdviceContext, AdviceList, Certificate, find_advice

_ASSETS = files("hyperlabel.reports")


_HEIGHT = 640  # pixels of the page inside a notebook


@dataclass(frozen=True)
class Report:
    """A page about votes and their labels; notebooks show it.

    Attributes:
        headline: What it says, in a sentence or two.
        html: The page, one HTML document that loads nothing.
    """

    headline: str
    html: str

    def save(self, path: str | Path) -> None:
        """Write the page to an HTML file, whole or not at all."""
        write_text(path, self.html)

    def __str__(self) -> str:
        return self.headline

    def __repr__(self) -> str:
        return f"Report({self.headline!r}, {len(self.html) // 1024:,} kB; save it with .save('report.html'))"

    def _repr_html_(self) -> str:
        """The page in its own frame, so that its style and script do not affect the notebook."""
        frame = f'srcdoc="{escape(self.html)}" sandbox="allow-scripts" width="100%" height="{_HEIGHT}" frameborder="0"'
        return f"<iframe {frame}></iframe>"


def render(
    analysis: LFAnalysis,
    items: ShownItems,
    *,
    title: str,
    scored: LFAnalysis | None = None,
    sensitivity: Sensitivity | None = None,
    certificate: Certificate | None = None,
    advice: AdviceList | None = None,
) -> Report:
    """Write the page about the votes of an analysis, with truth or without; `scored` has not learned from its gold.

    >>> analysis = LFAnalysis([[0, 1], [1, 1], [0, -1]])
    >>> page = render(analysis, ShownItems(["a", "b", "c"]), title="<votes>")
    >>> page.html.startswith("<!doctype html>"), "&lt;votes&gt;" in page.html, "<votes>" in page.html
    (True, True, False)
    """
    headline = _sum_up(analysis, scored, certificate, advice)
    sections = (
        None if advice is None else _show_advice(advice),
        None if certificate is None else show_certificate(certificate),
        show_scores(analysis if scored is None else scored, gold=scored is not None),
        show_labels(analysis),
        show_contested(analysis, items),
        show_uncovered(analysis, items),
        None if sensitivity is None else show_sensitivity(sensitivity, analysis.classes),
        show_lfs(analysis, items),
        show_heat_map(analysis),
        show_pairs(analysis),
    )
    return compose_page(title, headline, _facts(analysis), *sections)


def compose_page(title: str, headline: str, facts: Html, *sections: Html | None) -> Report:
    """Write a page that loads nothing: a header with facts, then sections."""
    top = tag("header", tag("h1", title), tag("p", headline, class_="headline"), facts)
    style, script = (Html(_ASSETS.joinpath(name).read_text(encoding="utf-8")) for name in ("page.css", "script.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    meta += f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    head = tag("head", Html(meta), tag("title", title), tag("style", style))
    body = tag("body", tag("main", top, *sections), tag("script", script))
    return Report(headline, f"<!doctype html>\n{tag('html', head, body, lang='en')}\n")


def _sum_up(
    analysis: LFAnalysis, scored: LFAnalysis | None, certificate: Certificate | None, advice: AdviceList | None
) -> str:
    """Sum up in one or two sentences: labeled items, accuracy if it is known, the next step."""
    labeled = int(analysis.patterns.counts @ (analysis.labels >= 0))
    quality, judged = "their accuracy is unknown without truth", analysis if scored is None else scored
    if certificate is not None:
        sentence = str(certificate).rstrip(".")
        quality = sentence[:1].lower() + sentence[1:]
    elif judged.truth is not None and (confusion := count_confusion(judged)[:, :-1]).any():
        right, whose = confusion.trace() / confusion.sum(), "truth" if scored is None else "gold"
        quality = f"{right:.1%} of the labels are right, on the {confusion.sum():,} with {whose}"
    lfs = f"{analysis.n_lfs:,} LF{'s' * (analysis.n_lfs != 1)}"
    next_step = f" Next: {advice[0].reason.removesuffix('.')}." if advice else ""
    return f"{labeled:,} of {analysis.n_items:,} items have labels by {lfs}; {quality}.{next_step}"


def _facts(analysis: LFAnalysis) -> Html:
    patterns, n = analysis.patterns, analysis.n_items
    masks = (patterns.has_votes, analysis.overlapping, analysis.conflicting)
    covered, overlapping, conflicting = (patterns.counts @ mask / n for mask in masks)
    facts = {
        "items": f"{n:,}",
        "LFs": f"{analysis.n_lfs:,}",
        "classes": f"{patterns.n_classes:,}",
        "patterns of votes": f"{patterns.n_patterns:,}",
        "items with votes": f"{covered:.1%}",
        "with two or more": f"{overlapping:.1%}",
        "with conflicting votes": f"{conflicting:.1%}",
    }
    if analysis.truth is not None and analysis.truth.any():
        confusion = count_confusion(analysis)
        facts["accuracy, all items"] = f"{confusion.trace() / confusion.sum():.1%}"
    about = f"Labels by {analysis.model!r}, hyperlabel {VERSION}."
    return join(show_facts(facts), note(about))


def _show_advice(advice: AdviceList) -> Html:
    """The section of advice, most valuable first."""
    if not advice:
        return section("What to do next", note(str(advice)), name="advice")
    steps = []
    for each in advice:
        worth = tag("p", f"Worth: {each.worth}.", class_="soft")
        calls = tag("details", tag("summary", "How"), tag("pre", each.call), tag("pre", each.command))
        steps.append(tag("li", tag("p", each.reason), worth, calls))
    meaning = "Worth: what following this kind of advice changed on public sets, in points of accuracy or F1."
    return section("What to do next", tag("ol", *steps, class_="advice"), note(meaning), name="advice")


def report(
    votes: object,
    texts: Any = None,
    truth: object = None,
    gold: object = None,
    *,
    model: LabelModel | str | None = None,
    metric: Metric = "accuracy",
    title: str = "Labels",
    certificate: Certificate | None = None,
    table: str | Sequence[str] = "VOTES",
) -> Report:
    """A page about LFs and the labels they make: for people who rely on the labels and people who write LFs.

    Args:
        votes: The votes.
        texts: (n,) texts of the items, shown with single items.
        truth: (n,) true classes, -1 for unknown, or a mapping from item to class: labels are compared with it.
        gold: Known classes that the model learns from, as for `LabelModel.fit`. Without truth, it is compared with the
            labels from votes alone.
        model: The label model, or its short name; the hyper label model if not given.
        metric: Metric to optimize the labels for, as for `LabelModel.predict`.
        title: The title of the page.
        certificate: The result of `certify`, to show.
        table: The table of votes in commands, as for `advise`.

    >>> page = report([[0, 1], [1, 1], [0, -1]], truth=[0, 1, 0], title="Three items")
    >>> print(page.headline.split(";")[0])
    3 of 3 items have labels by 2 LFs
    """
    chosen = choose_model(model)
    context = AdviceContext.read(votes, gold, chosen, metric, table, truth)
    read, analysis = context.votes, context.analysis
    best_known = gold if truth is None else truth
    true_classes = None if best_known is None else read.with_labels(best_known, "truth")[1]
    if texts is not None:
        expected = f"one text for each of the {read.n_items} items of votes"
        read.identity.check_index(texts, "texts")
        texts = as_list(texts, "texts", expected)
        if len(texts) != read.n_items:
            raise ParameterError(f"texts is {show(texts)}; expected {expected}")
    ids = range(read.n_items) if read.items is None else read.items
    answers = read.answers if isinstance(read, AppliedVotes) else {}
    return render(
        analysis,
        ShownItems(ids, texts, true_classes, answers),
        title=title,
        scored=LFAnalysis(read, gold, model=chosen, metric=metric) if truth is None and gold is not None else None,
        sensitivity=find_sensitivity(chosen, analysis),
        certificate=certificate,
        advice=find_advice(context),
    )
