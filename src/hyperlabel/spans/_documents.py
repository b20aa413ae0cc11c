"""Documents with votes on spans of tokens: read and checked once, then kept as arrays.

Flows in: mappings with `tokens` (or a `text`) and `votes`. Flows out: `SpanDocuments`, whose votes are four arrays, one
entry per span; tokens are numbered through all documents.
"""

import re
from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import show, show_some
from hyperlabel.errors import ParameterError, VotesError, warn_of_votes

TOKEN = re.compile(r"\w+|[^\w\s]")
"""The tokenizer of documents that have a text and no tokens: words, and every other character that is not a space."""

Ints64 = NDArray[np.int64]


class Marks(NamedTuple):
    """Spans of all documents, one entry each; none of them overlaps another of the same source."""

    start: Ints64  # (v,) first token, counted through all documents
    end: Ints64  # (v,) the token after the last one
    type: Ints64  # (v,) number of the type
    source: Ints64  # (v,) number of the LF

    def take(self, index: NDArray[Any]) -> "Marks":
        """Return the spans of an index or a mask."""
        return Marks(*(part[index] for part in self))


class Span(NamedTuple):
    """A span of tokens of a document."""

    start: int  # the first token
    end: int  # the token after the last one
    type: str
    probability: float  # that exactly these tokens are a span of this type
    lfs: tuple[str, ...]  # the LFs that mark a token of it with this type


NO_MARKS = Marks(*(np.empty(0, np.int64) for _ in range(4)))


def is_among(marks: Marks, others: Marks) -> NDArray[np.bool_]:
    """Return which spans are among others, with the same start, end and type."""
    size = int(max(marks.end.max(initial=0), others.end.max(initial=0))) + 1
    types = int(max(marks.type.max(initial=0), others.type.max(initial=0))) + 1
    keys, other_keys = ((part.start * types + part.type) * size + part.end for part in (marks, others))
    return np.isin(keys, other_keys)


def touching_pairs(spans: Marks, votes: Marks) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return all pairs of a span and a vote that share a token; spans are sorted and do not overlap each other."""
    first = np.searchsorted(spans.end, votes.start, "right")
    last = np.searchsorted(spans.start, votes.end, "left")
    counts = np.maximum(last - first, 0)
    vote = np.repeat(np.arange(len(counts)), counts)
    step = np.arange(len(vote)) - np.repeat(np.cumsum(counts) - counts, counts)
    return first[vote] + step, vote


def find_lfs_behind(spans: Marks, votes: Marks, n_lfs: int) -> NDArray[np.bool_]:
    """Return which LFs mark a token of each span with its type. -> (s, m)."""
    behind = np.zeros((len(spans.start), n_lfs), bool)
    span, vote = touching_pairs(spans, votes)
    same = spans.type[span] == votes.type[vote]
    behind[span[same], votes.source[vote[same]]] = True
    return behind


@dataclass(frozen=True, eq=False, repr=False)
class SpanDocuments:
    """Documents, their tokens, and the spans that LFs vote for.

    Attributes:
        documents: The documents as they were given.
        tokens: The tokens of each document.
        offsets: For each document that has a text and no tokens, the (t, 2) characters where its tokens start and end.
        starts: (d + 1,) the first token of each document, counted through all documents.
        lf_names: The LFs.
        types: The types of spans, sorted unless they are stated.
        votes: The spans that LFs vote for.
    """

    documents: Sequence[Mapping[str, Any]]
    tokens: Sequence[Sequence[str]]
    offsets: Mapping[int, Ints64]
    starts: Ints64
    lf_names: tuple[str, ...]
    types: tuple[str, ...]
    votes: Marks

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all documents."""
        return int(self.starts[-1])

    def locate(self, token: Ints64) -> tuple[Ints64, Ints64]:
        """Return the document of each token, and its position there."""
        document = np.searchsorted(self.starts, token, "right") - 1
        return document, token - self.starts[document]

    def read_truth(self, truth: object, name: str) -> tuple[Marks, NDArray[np.bool_]]:
        """Read the true spans of some documents. -> spans, (d,) whether those of the document are known.

        Args:
            truth: The key of the documents that holds them, a mapping from document to spans, or one list of spans for
                each document; a document without the key, or with None, is unknown.
            name: The argument, for errors.
        """
        spans = self._match_truth(truth, name)
        collector = Collector(self.types)
        for number, each in enumerate(spans):
            if each is not None and number in self.offsets:
                aligned = Alignment(self.documents[number]["text"])
                each = aligned.align(each, f"documents[{number}], {name}")
                collector.moved += aligned.moved
            collector.add({} if each is None else {name: each}, number)
        unknown = sorted(set(collector.types) - set(self.types))
        if unknown:
            raise VotesError(
                f"{name} has the type {unknown[0]!r}; expected one of {show_some(self.types)}. State types"
            )
        marks = collector.finish(self.starts, self.types, [name])
        warn_of_votes(collector.warnings)
        return marks, np.array([each is not None for each in spans], bool)

    def _match_truth(self, truth: object, name: str) -> list[Any]:
        if isinstance(truth, str):
            return [document.get(truth) for document in self.documents]
        if isinstance(truth, Mapping):
            invalid = next((key for key in truth if not _is_position(key, len(self))), None)
            if invalid is not None:
                raise VotesError(f"{name} has the document {show(invalid)}; expected a number below {len(self):,}")
            return [truth.get(number) for number in range(len(self))]
        if not isinstance(truth, Sequence) or len(truth) != len(self):
            raise ParameterError(
                f"{name} is {show(truth)}; expected a key of the documents, a mapping from document to spans, or one "
                f"list of spans for each of the {len(self):,} documents"
            )
        return list(truth)

    @cached_property
    def joined(self) -> NDArray[np.bool_]:
        """Return whether a token has a token before it in its document. (t,)."""
        joined = np.ones(self.n_tokens, bool)
        joined[self.starts[:-1][np.diff(self.starts) > 0]] = False
        return joined

    def characters(self, document: int, span: Span) -> tuple[int | None, int | None]:
        """Return where a span starts and ends in the text of its document; None if that has only tokens."""
        offsets = self.offsets.get(document)
        return (None, None) if offsets is None else (int(offsets[span.start, 0]), int(offsets[span.end - 1, 1]))

    def text_of(self, document: int, start: int, end: int) -> str:
        """Return the text of tokens of a document: as it is written there, or joined by spaces."""
        offsets = self.offsets.get(document)
        if offsets is None:
            return " ".join(map(str, self.tokens[document][start:end]))
        return str(self.documents[document]["text"][offsets[start, 0] : offsets[end - 1, 1]])

    def __repr__(self) -> str:
        return (
            f"SpanDocuments({len(self):,} documents, {self.n_tokens:,} tokens, {len(self.lf_names)} LFs, "
            f"{len(self.votes.start):,} votes for {len(self.types)} types)"
        )


def read_documents(documents: Iterable[Any], types: Sequence[str] | None = None) -> SpanDocuments:
    """Read documents with votes on spans.

    Args:
        documents: Mappings with `tokens` and `votes`, a mapping from LF to spans `[start, end, type]` (end excluded);
            or with `text` in place of tokens, whose spans count characters.
        types: The types of spans; votes for others are left out, with a warning. All that are voted for if not given.

    >>> read_documents([{"tokens": ["Ada", "Lovelace"], "votes": {"names": [[0, 2, "PER"]]}}])
    SpanDocuments(1 documents, 2 tokens, 1 LFs, 1 votes for 1 types)
    """
    given = list(documents)
    if not given:
        raise VotesError("documents is empty; expected at least one document with tokens and votes")
    collector, offsets, tokens = Collector(types or ()), dict[int, Ints64](), []
    for number, document in enumerate(given):
        words, votes, aligned = _read_document(document, number)
        if aligned is not None:
            offsets[number] = aligned.offsets
            collector.moved += aligned.moved
        tokens.append(words)
        collector.add(votes, number)
    invalid = next((lf for lf in collector.lfs if not isinstance(lf, str) or not lf), None)
    if invalid is not None:
        raise VotesError(f"documents have votes of the LF {show(invalid)}; expected its name as a string")
    if not collector.lfs:
        raise VotesError(
            "documents have no votes: no document names an LF; expected votes = {lf: [[start, end, type]]}"
        )
    starts = np.cumsum([0, *map(len, tokens)], dtype=np.int64)
    names = tuple(types) if types is not None else tuple(sorted(collector.types))
    marks = collector.finish(starts, names, list(collector.lfs))
    warn_of_votes(collector.warnings)
    return SpanDocuments(given, tokens, offsets, starts, tuple(collector.lfs), names, marks)


def _read_document(document: Any, number: int) -> tuple[Sequence[str], Mapping[str, Any], "Alignment | None"]:
    """Return tokens and votes in tokens, and how they were aligned if the document has a text and no tokens."""
    votes = document.get("votes") if isinstance(document, Mapping) else None
    if not isinstance(votes, Mapping):
        raise VotesError(
            f"documents[{number}] is {show(document)}; expected a mapping with tokens (or text) and votes, such as "
            '{"tokens": [...], "votes": {"names": [[0, 2, "PER"]]}}'
        )
    tokens = document.get("tokens")
    if tokens is not None and not isinstance(tokens, str):
        return tokens, votes, None
    text = document.get("text")
    if tokens is not None or not isinstance(text, str):
        raise VotesError(f"documents[{number}] has no list of tokens and no text; expected one of them")
    aligned = Alignment(text)
    in_tokens = {lf: aligned.align(spans, f"documents[{number}], LF '{lf}'") for lf, spans in votes.items()}
    return [text[a:b] for a, b in aligned.offsets.tolist()], in_tokens, aligned


class Alignment:
    """Aligns spans of characters to the tokens of a text, and collects a message for each that does not fit."""

    def __init__(self, text: str) -> None:
        self.size, self.moved = len(text), list[str]()
        self.offsets = np.array([match.span() for match in TOKEN.finditer(text)], np.int64).reshape(-1, 2)

    def align(self, spans: Any, place: str) -> list[tuple[int, int, Any]]:
        """Return spans in tokens: all tokens that a span touches. One that touches none is an error.

        >>> Alignment("Ada Lovelace").align([[0, 6, "PER"]], "here")
        [(0, 2, 'PER')]
        """
        aligned = []
        for span in spans if isinstance(spans, Iterable) else [spans]:
            low, high, kind = _unpack(span, place)
            start = int(np.searchsorted(self.offsets[:, 1], low, "right"))
            end = int(np.searchsorted(self.offsets[:, 0], high, "left"))
            if not 0 <= low < high <= self.size or start >= end:
                raise VotesError(
                    f"{place}: {show(span)} is not a span of a text of {self.size} characters; expected [from, to, "
                    "type] that covers a token"
                )
            if (self.offsets[start, 0], self.offsets[end - 1, 1]) != (low, high):
                self.moved.append(f"{place}: {show(span)}")
            aligned.append((start, end, kind))
        return aligned


def _unpack(span: Any, place: str) -> tuple[int, int, Hashable]:
    try:
        start, end, kind = span
        if start != int(start) or end != int(end):
            raise ValueError
        hash(kind)
    except (TypeError, ValueError):
        raise VotesError(f"{place}: the vote {show(span)} is not a span; expected [start, end, type]") from None
    return int(start), int(end), kind


class Collector:
    """Collects spans as four growing arrays; they are checked together, in `finish`."""

    def __init__(self, types: Iterable[str] = ()) -> None:
        self.lfs, self.types = dict[str, int](), {name: number for number, name in enumerate(types)}
        self.moved = list[str]()  # spans of characters that do not end where tokens do
        self.warnings = list[str]()
        self._parts: tuple[array[int], ...] = tuple(array("q") for _ in range(4))
        self._counts = array("q")  # votes of each document

    def add(self, votes: Mapping[str, Any], number: int) -> None:
        """Add the votes of the next document."""
        start, end, kind, source = self._parts
        before, span = len(start), None
        for lf, spans in votes.items():
            owner = self.lfs.setdefault(lf, len(self.lfs))
            try:
                for span in spans:
                    low, high, name = span
                    start.append(low)
                    end.append(high)
                    kind.append(self.types.setdefault(name, len(self.types)))
                    source.append(owner)
            except (TypeError, ValueError, OverflowError):
                raise VotesError(
                    f"documents[{number}], LF {lf!r}: the vote {show(spans if span is None else span)} is not a span; "
                    "expected a list of [start, end, type], with tokens counted from 0 and the end excluded"
                ) from None
        self._counts.append(len(start) - before)

    def finish(self, starts: Ints64, types: Sequence[str], lfs: Sequence[str]) -> Marks:
        """Check all spans, number their types in order, and drop those that overlap another of the same LF."""
        marks = self._number_types(self._count_through(starts, lfs), types)
        if self.moved:
            self.warnings.append(
                f"{len(self.moved):,} spans start or end inside a token and were widened to whole tokens; the first: "
                f"{self.moved[0]}"
            )
        return self._drop_overlaps(marks, int(starts[-1]), lfs)

    def _count_through(self, starts: Ints64, lfs: Sequence[str]) -> Marks:
        """Check the spans, and count their tokens through all documents; the arrays that grew are released."""
        start, end, kind, source = (np.frombuffer(part, np.int64) if part else NO_MARKS.start for part in self._parts)
        self._parts = ()
        document = np.repeat(np.arange(len(starts) - 1), np.array(self._counts, np.int64))
        wrong = (start < 0) | (end <= start) | (end > np.diff(starts)[document])
        if wrong.any():
            v = int(wrong.argmax())
            size, place = np.diff(starts)[document[v]], f"documents[{document[v]}], LF {lfs[source[v]]!r}"
            raise VotesError(
                f"{place}: the vote [{start[v]}, {end[v]}] is not a span of {size} tokens; expected 0 <= start < end, "
                "with the end excluded"
            )
        offset = starts[document]
        return Marks(start + offset, end + offset, kind, source)

    def _number_types(self, marks: Marks, types: Sequence[str]) -> Marks:
        number = {name: i for i, name in enumerate(types)}
        invalid = next((name for name in self.types if not isinstance(name, str) or not name), None)
        if invalid is not None:
            raise VotesError(f"documents have the type {show(invalid)}; expected a name as a string, such as 'PER'")
        table = np.array([number.get(name, -1) for name in self.types] or [-1], np.int64)
        kept = table[marks.type] >= 0
        if not kept.all():
            other = [name for name in self.types if name not in number]
            self.warnings.append(
                f"{(~kept).sum():,} votes are for the types {show_some(other)}, which types does not name; left out"
            )
        numbered = marks._replace(type=table[marks.type])
        return numbered if kept.all() else numbered.take(kept)

    def _drop_overlaps(self, marks: Marks, n_tokens: int, lfs: Sequence[str]) -> Marks:
        """Of overlapping spans of one LF keep the first, of those that start together the longest."""
        marks = marks.take(np.lexsort((-marks.end, marks.start, marks.source)))
        low, high = (marks.source * (n_tokens + 1) + part for part in (marks.start, marks.end))
        if not (low[1:] < np.maximum.accumulate(high)[:-1]).any():
            return marks
        kept, reach = np.zeros(len(low), bool), -1
        for v, (first, last) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            if first >= reach:
                kept[v], reach = True, last
        again = np.append(False, (np.diff(low) == 0) & (np.diff(high) == 0) & (np.diff(marks.type) == 0))
        lost = np.flatnonzero(~kept & ~again)
        if len(lost):
            self.warnings.append(
                f"{len(lost):,} votes overlap another span of the same LF, such as of {lfs[marks.source[lost[0]]]!r}, "
                "and are left out: the first span counts, of those that start together the longest"
            )
        return marks.take(kept)


def _is_position(key: object, n: int) -> bool:
    return isinstance(key, int | np.integer) and bool(0 <= key < n)
