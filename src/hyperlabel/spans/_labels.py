"""`SpanLabels`: what `label_spans` returns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, show
from hyperlabel.data import Labels
from hyperlabel.errors import ParameterError, require
from hyperlabel.lf import ResultTable, share
from hyperlabel.models import LabelModel
from hyperlabel.reports import Report
from hyperlabel.spans._documents import Marks, Span, SpanDocuments, find_lfs_behind, is_among, touching_pairs
from hyperlabel.spans._page import render_page
from hyperlabel.spans._write import write_spans

WRONG = "no span"
"""The class of a span that is not there, in `SpanLabels.to_labels`."""


@dataclass(frozen=True, eq=False, repr=False)
class SpanLabels:
    """The spans of documents.

    Attributes:
        documents: The documents and their votes.
        marks: The spans, one entry each, in the order of documents and tokens.
        probabilities: (s,) the probability of each span.
        model: The label model that judged the votes on tokens; None if it was not stated.

    >>> from hyperlabel.spans import label_spans
    >>> labels = label_spans([{"tokens": ["in", "Oslo"], "votes": {"a": [[1, 2, "LOC"]], "b": [[1, 2, "LOC"]]}}])
    >>> labels, labels.spans[0][0].lfs
    (SpanLabels(1 spans in 1 documents: LOC 1), ('a', 'b'))
    """

    documents: SpanDocuments
    marks: Marks
    probabilities: Float64
    model: LabelModel | None

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[list[Span]]:
        return iter(self.spans)

    @cached_property
    def spans(self) -> list[list[Span]]:
        """The spans of each document."""
        names, spans = self.documents.types, list[list[Span]]([] for _ in range(len(self)))
        document, start = self.documents.locate(self.marks.start)
        end = start + self.marks.end - self.marks.start
        columns = document, start, end, self.marks.type, self.probabilities
        parts = zip(*(column.tolist() for column in columns), self._lfs_behind, strict=True)
        for where, first, last, kind, probability, lfs in parts:
            spans[where].append(Span(first, last, names[kind], probability, lfs))
        return spans

    @cached_property
    def _lfs_behind(self) -> list[tuple[str, ...]]:
        """The LFs that mark a token of each span with its type."""
        lfs = self.documents.lf_names
        behind = find_lfs_behind(self.marks, self.documents.votes, len(lfs))
        packed, inverse = np.unique(np.packbits(behind, axis=1), axis=0, return_inverse=True)
        rows = np.unpackbits(packed, axis=1, count=len(lfs)).astype(bool)
        names = [tuple(name for name, votes_so in zip(lfs, row, strict=True) if votes_so) for row in rows]
        return [names[i] for i in inverse.ravel().tolist()]

    def to_pandas(self) -> Any:
        """Return a pandas frame, one row per span: document, start, end, type, probability, text, lfs.

        Documents with a text have the columns `from` and `to` as well, its characters.
        """
        require("pandas", extra="pandas")
        import pandas as pd

        return pd.DataFrame(self._columns())

    def to_polars(self) -> Any:
        """Return a Polars frame with the columns of `to_pandas`."""
        require("polars", extra="cli")
        import polars as pl

        return pl.DataFrame(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        rows = [(number, span) for number, spans in enumerate(self.spans) for span in spans]
        columns: dict[str, list[Any]] = {"document": [number for number, _ in rows]}
        for name in ("start", "end", "type", "probability"):
            columns[name] = [getattr(span, name) for _, span in rows]
        columns["text"] = [self.documents.text_of(number, span.start, span.end) for number, span in rows]
        columns["lfs"] = [list(span.lfs) for _, span in rows]
        if self.documents.offsets:
            ends = [self.documents.characters(number, span) for number, span in rows]
            columns |= {"from": [low for low, _ in ends], "to": [high for _, high in ends]}
        return columns

    def explain(self, document: int, span: Sequence[Any] | int) -> ResultTable:
        """Return the votes that touch a span, one row per vote.

        Args:
            document: The number of the document.
            span: The span, its number in the document, or any `(start, end)`.

        Returns:
            Columns: lf, start, end, type, text, agreement (`exact`: the same span; `bounds`: the type at other bounds;
            `type`: another type).
        """
        if not 0 <= document < len(self):
            raise ParameterError(f"document is {show(document)}; expected a number below {len(self):,}")
        start, end, kind = self._find_span(document, span)
        votes = self.documents.votes
        offset = int(self.documents.starts[document])
        touched = np.flatnonzero((votes.start < offset + end) & (votes.end > offset + start))
        rows = []
        for low, high, number, source in zip(*(part.tolist() for part in votes.take(touched)), strict=True):
            low, high, name = low - offset, high - offset, self.documents.types[number]
            same = "exact" if (low, high) == (start, end) else "bounds"
            agreement = same if kind in (None, name) else "type"
            text = self.documents.text_of(document, low, high)
            rows.append((self.documents.lf_names[source], low, high, name, text, agreement))
        return _to_table(("lf", "start", "end", "type", "text", "agreement"), rows)

    def _find_span(self, document: int, span: Sequence[Any] | int) -> tuple[int, int, str | None]:
        """Return start, end and type of a span of a document; the type is None if it is not stated."""
        spans = self.spans[document]
        if isinstance(span, int) and 0 <= span < len(spans):
            return spans[span][:3]
        if isinstance(span, Sequence) and not isinstance(span, str) and len(span) > 1:
            return span[0], span[1], span[2] if len(span) > 2 else None
        raise ParameterError(
            f"span is {show(span)}; expected (start, end), or a number below {len(spans)}, the spans of the document"
        )

    def score(self, truth: object = "gold") -> ResultTable:
        """Compare the spans with the true ones: a span is right if start, end and type are.

        Args:
            truth: The true spans, given as `gold` is to `label_spans`; documents without them do not count.

        Returns:
            One row for all types, then one for each. Columns: type, precision, recall, f1, spans (found), true.
        """
        true, known = self.documents.read_truth(truth, "truth")
        if not known.any():
            raise ParameterError(f"truth is {show(truth)}; expected the true spans of at least one document")
        judged = known[self.documents.locate(self.marks.start)[0]]
        right, kind, types = judged & is_among(self.marks, true), self.marks.type, len(self.documents.types)
        hits, spans = np.bincount(kind[right], minlength=types), np.bincount(kind[judged], minlength=types)
        wanted = np.bincount(true.type, minlength=types)
        hits, spans, wanted = (np.append(part.sum(), part) for part in (hits, spans, wanted))
        scores = {"precision": share(hits, spans), "recall": share(hits, wanted), "f1": share(2 * hits, spans + wanted)}
        return ResultTable({"type": np.array(["all", *self.documents.types]), **scores, "spans": spans, "true": wanted})

    @cached_property
    def analysis(self) -> ResultTable:
        """The LFs, one row each.

        Columns: lf; spans (votes); documents (with a vote); precision (share of its spans that are in the result,
        exactly); recall (share of the result that it votes for, exactly); overlaps (share of its spans that touch
        another LF's); conflicts (share that touches another LF's span of another type or other bounds).
        """
        votes, m = self.documents.votes, len(self.documents.lf_names)
        pairs = np.unique(votes.source * len(self) + self.documents.locate(votes.start)[0])
        overlaps, conflicts = _find_conflicts(votes)
        total, documents, hits, overlapping, conflicting = (
            np.bincount(source, minlength=m)
            for source in (
                votes.source,
                pairs // len(self),
                votes.source[is_among(votes, self.marks)],
                votes.source[overlaps],
                votes.source[conflicts],
            )
        )
        return ResultTable({
            "lf": np.array(self.documents.lf_names),
            "spans": total,
            "documents": documents,
            "precision": share(hits, total),
            "recall": share(hits, np.full(m, len(self.marks.start))),
            "overlaps": share(overlapping, total),
            "conflicts": share(conflicting, total),
        })  # fmt: skip

    def to_labels(self) -> Labels:
        """Return the spans as items with a class: their type, or `no span` with the rest of the probability.

        Spans are items named `document:start-end`. `hl.audit_sample` draws some of them to check by hand, and
        `hl.certify` says which may be used: the error it bounds is the share of wrong spans among those accepted.
        """
        types = len(self.documents.types)
        document, start = self.documents.locate(self.marks.start)
        end = start + self.marks.end - self.marks.start
        shares = np.zeros((len(start), types + 1))
        shares[np.arange(len(start)), self.marks.type] = self.probabilities
        shares[:, -1] = 1 - self.probabilities
        items = np.array([f"{d}:{a}-{b}" for d, a, b in zip(document, start, end, strict=True)], object)
        return Labels(self.marks.type.astype(np.intp), shares, (*self.documents.types, WRONG), items)

    def save(self, path: str | Path) -> None:
        """Write the documents with their spans, in the format of the ending.

        `.jsonl`: the documents as they came, with `spans`: `[start, end, type, probability]`, in characters where a
        document has a text. `.conll`, `.tsv` or `.txt`: a token and its tag per line. `.spacy`: a DocBin of spaCy
        (extra `spacy`).
        """
        write_spans(self.documents, self.spans, path)

    def report(self, *, title: str = "Spans", most: int = 50) -> Report:
        """Return a page with the least certain documents, their spans highlighted, and the LFs."""
        return render_page(self.documents, self.spans, self.analysis, title, most)

    def __repr__(self) -> str:
        counts = np.bincount(self.marks.type, minlength=len(self.documents.types)).tolist()
        shown = ", ".join(f"{name} {n:,}" for name, n in zip(self.documents.types, counts, strict=True))
        return f"SpanLabels({len(self.marks.start):,} spans in {len(self):,} documents: {shown})"


def _find_conflicts(votes: Marks) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which votes touch a vote of another LF, and which touch a different one."""
    overlaps, conflicts = (np.zeros(len(votes.start), bool) for _ in range(2))
    for lf in np.unique(votes.source):
        own, others = np.flatnonzero(votes.source == lf), np.flatnonzero(votes.source != lf)
        pair, vote = touching_pairs(votes.take(own), votes.take(others))
        mine, theirs = own[pair], others[vote]
        overlaps[mine] = True
        different = (
            (votes.start[mine] != votes.start[theirs])
            | (votes.end[mine] != votes.end[theirs])
            | (votes.type[mine] != votes.type[theirs])
        )
        conflicts[mine[different]] = True
    return overlaps, conflicts


def _to_table(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> ResultTable:
    return ResultTable({name: np.array([row[i] for row in rows]) for i, name in enumerate(names)})
