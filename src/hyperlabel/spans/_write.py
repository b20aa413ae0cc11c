"""Documents with their spans, written as JSON lines, CoNLL columns or a DocBin of spaCy."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperlabel._core import printable
from hyperlabel.data import write_whole
from hyperlabel.errors import ParameterError, require

if TYPE_CHECKING:
    from hyperlabel.spans._labels import SpanLabels

ENDINGS = ".jsonl, .conll, .tsv, .txt or .spacy"
_STDOUT = "-"


def check_spans_target(path: str | Path, argument: str = "path") -> Callable[["SpanLabels", Path], None]:
    """Return the function that writes a format; refuse other endings before any work is done."""
    writers = {".jsonl": _write_jsonl, ".spacy": _write_docbin} | dict.fromkeys(
        (".conll", ".tsv", ".txt"), _write_conll
    )
    writer = writers.get(Path(path).suffix.lower())
    if writer is None:
        raise ParameterError(f"{argument} is '{printable(path)}'; expected a name that ends in {ENDINGS}")
    return writer


def write_spans(labels: "SpanLabels", path: str | Path, argument: str = "path") -> None:
    """Write spans in the format of the ending, whole or not at all; `-` is JSON lines to standard output."""
    if str(path) == _STDOUT:
        sys.stdout.writelines(_to_lines(labels))
        return
    writer = check_spans_target(path, argument)
    write_whole(path, lambda part: writer(labels, part), argument=argument)


def _write_jsonl(labels: "SpanLabels", path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(_to_lines(labels))


def _to_lines(labels: "SpanLabels") -> Iterator[str]:
    for number, spans in enumerate(labels.spans):
        document = {key: value for key, value in labels.documents.documents[number].items() if key != "doc"}
        ends = [labels.characters(number, span) for span in spans]
        document["spans"] = [
            [
                span.start if low is None else low,
                span.end if high is None else high,
                span.type,
                round(span.probability, 6),
            ]
            for span, (low, high) in zip(spans, ends, strict=True)
        ]
        yield json.dumps(document, ensure_ascii=False) + "\n"


def _write_conll(labels: "SpanLabels", path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for tokens, tags in zip(labels.documents.tokens, to_tags(labels), strict=True):
            file.writelines(f"{_one_line(token)}\t{tag}\n" for token, tag in zip(tokens, tags, strict=True))
            file.write("\n")


def _one_line(token: Any) -> str:
    """Return a token without white space, which would end its column."""
    return "_".join(str(token).split()) or "_"


def to_tags(labels: "SpanLabels") -> Iterator[list[str]]:
    """Yield the tags of each document's tokens: B-TYPE, I-TYPE or O."""
    for tokens, spans in zip(labels.documents.tokens, labels.spans, strict=True):
        tags = ["O"] * len(tokens)
        for span in spans:
            tags[span.start : span.end] = [f"B-{span.type}", *[f"I-{span.type}"] * (span.end - span.start - 1)]
        yield tags


def _write_docbin(labels: "SpanLabels", path: Path) -> None:
    """Write Docs whose entities are the spans; Docs that came in keep all else."""
    require("spacy", extra="spacy")
    from spacy.tokens import DocBin

    path.write_bytes(DocBin(docs=list(to_docs(labels))).to_bytes())


def to_docs(labels: "SpanLabels") -> Iterator[Any]:
    """Yield spaCy Docs whose entities are the spans."""
    from spacy.tokens import Doc, Span
    from spacy.vocab import Vocab

    vocab = Vocab()
    for number, (document, spans) in enumerate(zip(labels.documents.documents, labels.spans, strict=True)):
        doc = document.get("doc")
        if doc is None:
            doc = Doc(vocab, [str(token) for token in labels.documents.tokens[number]], spaces=_spaces(labels, number))
        else:
            doc = doc.copy()
        doc.ents = [Span(doc, span.start, span.end, label=span.type) for span in spans]
        yield doc


def _spaces(labels: "SpanLabels", number: int) -> list[bool] | None:
    """Return whether a space follows each token in the text; None if there is no text."""
    offsets = labels.documents.offsets.get(number)
    return None if offsets is None else [bool(gap) for gap in (offsets[1:, 0] > offsets[:-1, 1])] + [False]
