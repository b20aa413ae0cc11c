"""Documents with their spans, written as JSON lines, CoNLL columns or a DocBin of spaCy."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hyperlabel._core import printable
from hyperlabel.data import write_whole
from hyperlabel.errors import ParameterError, require
from hyperlabel.spans._documents import Span, SpanDocuments

Spans = Sequence[Sequence[Span]]
Writer = Callable[[SpanDocuments, Spans, Path], None]

ENDINGS = ".jsonl, .conll, .tsv, .txt or .spacy"
_STDOUT = "-"


def check_spans_target(path: str | Path, argument: str = "path") -> Writer:
    """Return the function that writes a format; refuse other endings before any work is done."""
    writers = {".jsonl": _write_jsonl, ".spacy": _write_docbin} | dict.fromkeys(
        (".conll", ".tsv", ".txt"), _write_conll
    )
    writer = writers.get(Path(path).suffix.lower())
    if writer is None:
        raise ParameterError(f"{argument} is '{printable(path)}'; expected a name that ends in {ENDINGS}")
    return writer


def write_spans(documents: SpanDocuments, spans: Spans, path: str | Path, argument: str = "path") -> None:
    """Write spans in the format of the ending, whole or not at all; `-` is JSON lines to standard output."""
    if str(path) == _STDOUT:
        sys.stdout.writelines(_to_lines(documents, spans))
        return
    writer = check_spans_target(path, argument)
    write_whole(path, lambda part: writer(documents, spans, part), argument=argument)


def _write_jsonl(documents: SpanDocuments, spans: Spans, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(_to_lines(documents, spans))


def _to_lines(documents: SpanDocuments, spans: Spans) -> Iterator[str]:
    for number, row in enumerate(spans):
        document = {key: value for key, value in documents.documents[number].items() if key != "doc"}
        document["spans"] = [_to_list(span, *documents.characters(number, span)) for span in row]
        yield json.dumps(document, ensure_ascii=False) + "\n"


def _to_list(span: Span, low: int | None, high: int | None) -> list[Any]:
    """Return a span as JSON has it, in characters if these are known."""
    start, end = (span.start, span.end) if low is None else (low, high)
    return [start, end, span.type, round(span.probability, 6)]


def _write_conll(documents: SpanDocuments, spans: Spans, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for tokens, tags in zip(documents.tokens, to_tags(documents, spans), strict=True):
            file.writelines(f"{_one_line(token)}\t{tag}\n" for token, tag in zip(tokens, tags, strict=True))
            file.write("\n")


def _one_line(token: Any) -> str:
    """Return a token without white space, which would end its column."""
    return "_".join(str(token).split()) or "_"


def to_tags(documents: SpanDocuments, spans: Spans) -> Iterator[list[str]]:
    """Yield the tags of each document's tokens: B-TYPE, I-TYPE or O."""
    for tokens, row in zip(documents.tokens, spans, strict=True):
        tags = ["O"] * len(tokens)
        for span in row:
            tags[span.start : span.end] = [f"B-{span.type}", *[f"I-{span.type}"] * (span.end - span.start - 1)]
        yield tags


def _write_docbin(documents: SpanDocuments, spans: Spans, path: Path) -> None:
    """Write Docs whose entities are the spans; Docs that came in keep all else."""
    require("spacy", extra="spacy")
    from spacy.tokens import DocBin

    path.write_bytes(DocBin(docs=list(to_docs(documents, spans))).to_bytes())


def to_docs(documents: SpanDocuments, spans: Spans) -> Iterator[Any]:
    """Yield spaCy Docs whose entities are the spans."""
    from spacy.tokens import Doc
    from spacy.tokens import Span as DocSpan
    from spacy.vocab import Vocab

    vocab = Vocab()
    for number, row in enumerate(spans):
        doc, tokens = documents.documents[number].get("doc"), [str(token) for token in documents.tokens[number]]
        doc = Doc(vocab, tokens, spaces=_spaces(documents.offsets.get(number))) if doc is None else doc.copy()
        doc.ents = [DocSpan(doc, span.start, span.end, label=span.type) for span in row]
        yield doc


def _spaces(offsets: Any) -> list[bool] | None:
    """Return whether a space follows each token in the text; None if there is no text."""
    return None if offsets is None else [*(offsets[1:, 0] > offsets[:-1, 1]).tolist(), False][: len(offsets)]
