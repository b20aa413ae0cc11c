"""A page about spans: documents with their spans highlighted, the least certain first, and the LFs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hyperlabel._core import check_number
from hyperlabel.reports import (
    Html,
    Report,
    compose_page,
    hue,
    named,
    note,
    number,
    section,
    share,
    show_facts,
    table,
    tag,
)

if TYPE_CHECKING:
    from hyperlabel.spans._labels import Span, SpanLabels

_TOKENS = 200  # tokens of a document that are shown


def render_page(labels: "SpanLabels", title: str, most: int) -> Report:
    """Write the page; `most` is the number of documents that it shows."""
    check_number(most, "most", "a number of documents, at least 1", least=1, whole=True)
    documents, spans = labels.documents, len(labels.marks.start)
    facts = {
        "documents": f"{len(documents):,}",
        "tokens": f"{documents.n_tokens:,}",
        "LFs": f"{len(documents.lf_names):,}",
        "votes": f"{len(documents.votes.start):,}",
        "spans": f"{spans:,}",
        "mean probability": f"{labels.probabilities.mean():.3f}" if spans else "",
    }
    headline = f"{spans:,} spans in {len(documents):,} documents by {len(documents.lf_names):,} LFs."
    return compose_page(title, headline, show_facts(facts), _show_documents(labels, most), _show_lfs(labels))


def _show_documents(labels: "SpanLabels", most: int) -> Html:
    doubt = np.zeros(len(labels))
    np.maximum.at(doubt, labels.documents.locate(labels.marks.start)[0], 1 - labels.probabilities)
    chosen = np.argsort(-doubt, kind="stable")[:most]
    legend = (_mark(name, number, name) for number, name in enumerate(labels.documents.types))
    shown = (tag("p", tag("b", f"{number}: "), *_highlight(labels, number)) for number in chosen.tolist())
    about = "Those with the least probable spans first. Point at a span to see its probability and the LFs behind it."
    return section("Documents", tag("p", *legend), note(about), *shown, name="documents")


def _highlight(labels: "SpanLabels", number: int) -> Iterator[object]:
    """Yield the tokens of a document, spans marked."""
    tokens, position = labels.documents.tokens[number], 0
    for span in labels.spans[number]:
        if span.start >= _TOKENS:
            break
        yield " ".join(map(str, tokens[position : span.start])) + " "
        kind = labels.documents.types.index(span.type)
        yield _mark(" ".join(map(str, tokens[span.start : span.end])), kind, _describe(span))
        yield " "
        position = span.end
    yield " ".join(map(str, tokens[position : max(position, _TOKENS)]))
    yield " …" if len(tokens) > _TOKENS else None


def _mark(text: str, kind: int, title: str) -> Html:
    return tag("span", tag("b", text), class_="class", style=f"--hue:{hue(kind)}", title=title)


def _describe(span: "Span") -> str:
    return f"{span.type}, probability {span.probability:.3f}, by {', '.join(span.lfs) or 'no LF'}"


def _show_lfs(labels: "SpanLabels") -> Html:
    shares = ("precision", "recall", "overlaps", "conflicts")
    heads = [("LF", False), ("spans", True), ("documents", True), *((name, True) for name in shares)]
    rows = []
    for row in labels.analysis.rows():
        counts = (number(f"{row[name]:,}", row[name]) for name in ("spans", "documents"))
        rows.append(tag("tr", named(row["lf"]), *counts, *(share(row[name]) for name in shares)))
    about = "Precision: spans of the LF that are in the result exactly. Recall: spans of the result that it votes for."
    return section("LFs", table("LFs", heads, rows), note(about), name="lfs")
