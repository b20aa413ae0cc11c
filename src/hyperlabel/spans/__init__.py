"""Votes on spans of tokens: named entities, aspects, any tagged tokens. LFs on documents, labels, files, a page."""

from hyperlabel.spans._documents import Span, SpanDocuments, read_documents
from hyperlabel.spans._label import label_spans
from hyperlabel.spans._labels import SpanLabels
from hyperlabel.spans._lfs import SpanFunction, apply_span_lfs, gazetteer_lf, regex_span_lf, span_lf
from hyperlabel.spans._read import read_spans
from hyperlabel.spans._write import check_spans_target, write_spans

__all__ = [
    "Span", "SpanDocuments", "SpanFunction", "SpanLabels", "apply_span_lfs", "check_spans_target", "gazetteer_lf",
    "label_spans", "read_documents", "read_spans", "regex_span_lf", "span_lf", "write_spans",
]  # fmt: skip
