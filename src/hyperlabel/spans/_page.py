"""A page about spans: documents with their spans highlighted, the least certain first, and the LFs."""

from collections.abc import Iterator, Sequence

from hyperlabel._core import check_number
from hyperlabel.lf import ResultTable
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
from hyperlabel.spans._documents import Span, SpanDocuments

_TOKENS = 200  # tokens of a document that are shown


def render_page(
    documents: SpanDocuments, spans: Sequence[Sequence[Span]], lfs: ResultTable, title: str, most: int
) -> Report:
    """Write the page; `most` is the number of documents that it shows."""
    check_number(most, "most", "a number of documents, at least 1", least=1, whole=True)
    probabilities = [span.probability for row in spans for span in row]
    n_spans = len(probabilities)
    facts = {
        "documents": f"{len(documents):,}",
        "tokens": f"{documents.n_tokens:,}",
        "LFs": f"{len(documents.lf_names):,}",
        "votes": f"{len(documents.votes.start):,}",
        "spans": f"{n_spans:,}",
        "mean probability": f"{sum(probabilities) / n_spans:.3f}" if n_spans else "",
    }
    headline = f"{n_spans:,} spans in {len(documents):,} documents by {len(documents.lf_names):,} LFs."
    return compose_page(title, headline, show_facts(facts), _show_documents(documents, spans, most), _show_lfs(lfs))


def _show_documents(documents: SpanDocuments, spans: Sequence[Sequence[Span]], most: int) -> Html:
    least = [min((span.probability for span in row), default=1.0) for row in spans]
    chosen = sorted(range(len(spans)), key=least.__getitem__)[:most]
    legend = (_mark(name, number, name) for number, name in enumerate(documents.types))
    shown = (tag("p", tag("b", f"{number}: "), *_highlight(documents, number, spans[number])) for number in chosen)
    about = "Those with the least probable spans first. Point at a span to see its probability and the LFs behind it."
    return section("Documents", tag("p", *legend), note(about), *shown, name="documents")


def _highlight(documents: SpanDocuments, number: int, spans: Sequence[Span]) -> Iterator[object]:
    """Yield the tokens of a document, spans marked."""
    tokens, position = [str(token) for token in documents.tokens[number]], 0
    for span in spans:
        if span.start >= _TOKENS:
            break
        yield " ".join(tokens[position : span.start]) + " "
        yield _mark(
            " ".join(tokens[span.start : span.end]), documents.types.index(span.type), _describe(span), span.type
        )
        yield " "
        position = span.end
    yield " ".join(tokens[position:_TOKENS])
    yield " …" if len(tokens) > _TOKENS else None


def _mark(text: str, kind: int, title: str, type: str | None = None) -> Html:
    """Text in the color of a type; `type` names the type for those who do not see colors."""
    label = None if type is None else tag("small", f" {type}")
    return tag("span", tag("b", text), label, class_="class", style=f"--hue:{hue(kind)};display:inline", title=title)


def _describe(span: Span) -> str:
    return f"{span.type}, probability {span.probability:.3f}, by {', '.join(span.lfs) or 'no LF'}"


def _show_lfs(lfs: ResultTable) -> Html:
    shares = ("precision", "recall", "overlaps", "conflicts")
    heads = [("LF", False), ("spans", True), ("documents", True), *((name, True) for name in shares)]
    rows = []
    for row in lfs.rows():
        counts = (number(f"{row[name]:,}", row[name]) for name in ("spans", "documents"))
        rows.append(tag("tr", named(row["lf"]), *counts, *(share(row[name]) for name in shares)))
    about = "Precision: spans of the LF that are in the result exactly. Recall: spans of the result that it votes for."
    return section("LFs", table("LFs", heads, rows), note(about), name="lfs")
