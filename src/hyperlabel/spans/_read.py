"""Documents from files and spaCy: JSON lines, CoNLL columns, JSON of WRENCH and CHMM, Docs with span groups."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hyperlabel._core import show
from hyperlabel.data import reason_of
from hyperlabel.errors import VotesError, require

GOLD = ("gold", "truth", "label")
"""Columns of CoNLL files that are no LFs: they become the documents' `gold`."""

_COLUMNS = "# global.columns ="  # as CoNLL-U Plus names columns
_OUTSIDE = {"O", "_", "-", ""}
_BEGIN, _INSIDE = "BSU", "IEL"  # of BIO, BIOES and BILOU
_SINGLE = "SU"


def read_spans(source: Any) -> Iterable[Mapping[str, Any]]:
    r"""Read documents with votes on spans.

    Args:
        source: A path, or documents in memory: mappings, or spaCy Docs, whose span groups are LFs. A file is one of:
            JSON lines (`.jsonl`), a document each; JSON (`.json`), a list of documents, or WRENCH's and CHMM's mapping
            of documents with `weak_labels`, whose LFs `meta.json` beside it names; a DocBin of spaCy (`.spacy`);
            anything else is CoNLL: a token per line, then one column of tags (BIO, BIOES or BILOU) per LF, empty lines
            between documents. A first line `# global.columns = token lf_a lf_b` names the columns; one named gold,
            truth or label holds the gold.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.conll")
    ...     _ = path.write_text("# global.columns = token names gold\nAda B-PER B-PER\nL. I-PER O\n")
    ...     list(read_spans(path))
    [{'tokens': ['Ada', 'L.'], 'votes': {'names': [[0, 2, 'PER']]}, 'gold': [[0, 1, 'PER']]}]
    """
    if not isinstance(source, str | Path):
        return (_from_doc(each) if hasattr(each, "spans") and hasattr(each, "text") else each for each in source)
    path = Path(source)
    if path.suffix.lower() == ".spacy":
        return [_from_doc(each) for each in _read_docbin(path)]
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise VotesError(f"documents: '{source}' cannot be read: {reason_of(error)}") from error
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return _read_lines(text, path.name)
    if path.suffix.lower() == ".json":
        return _read_json(_parse(text, path.name), path)
    return list(_read_conll(text, path.name))


def _read_lines(text: str, name: str) -> list[Any]:
    lines = enumerate(text.split("\n"), 1)
    return [_parse(line, f"{name}, line {number}") for number, line in lines if line.strip()]


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise VotesError(f"{place} is not JSON: {error}") from None


def _read_json(content: Any, path: Path) -> list[Any]:
    """Read a list of documents, or a mapping of them as WRENCH and CHMM write it."""
    if isinstance(content, list):
        return content
    if not isinstance(content, dict) or not all(isinstance(each, dict) for each in content.values()):
        raise VotesError(f"{path.name} holds {show(content)}; expected documents, or WRENCH's mapping of documents")
    meta = path.with_name("meta.json")
    names = _parse(meta.read_text(encoding="utf-8"), "meta.json").get("lf") if meta.is_file() else None
    return [_from_wrench(each, f"{path.name}, document {key}", names) for key, each in content.items()]


def _from_wrench(document: Mapping[str, Any], place: str, names: Sequence[str] | None) -> dict[str, Any]:
    data, rows = document.get("data"), document.get("weak_labels")
    tokens = data.get("text") if isinstance(data, dict) else data
    if not isinstance(tokens, list) or not isinstance(rows, list) or len(rows) != len(tokens):
        raise VotesError(
            f"{place} has no data.text with a list of tokens, or weak_labels with as many rows; expected a set for "
            "sequences"
        )
    columns = list(zip(*rows, strict=True))
    lfs = names or [f"lf_{j}" for j in range(len(columns))]
    if columns and len(columns) != len(lfs):
        raise VotesError(f"{place} has {len(columns)} weak labels per token, but meta.json names {len(lfs)} LFs")
    votes = {lf: _spans_of(column, f"{place}, LF '{lf}'") for lf, column in zip(lfs, columns, strict=False)}
    gold = document.get("label")
    return {"tokens": tokens, "votes": votes, **({"gold": _spans_of(gold, f"{place}, label")} if gold else {})}


def _read_conll(text: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield the documents of a file of columns."""
    columns: list[str] | None = None
    rows: list[tuple[int, list[str]]] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        cells = line.rstrip("\r").split("\t") if "\t" in line else line.split()
        if line.startswith(_COLUMNS):
            columns = line[len(_COLUMNS) :].split()
        elif line.startswith("# ") and not rows:  # a comment before a sentence
            continue
        elif cells and cells[0] != "-DOCSTART-":
            rows.append((number, cells))
        elif rows:
            yield _from_rows(rows, columns, name)
            rows = []


def _from_rows(rows: list[tuple[int, list[str]]], columns: list[str] | None, name: str) -> dict[str, Any]:
    names = columns or ["token", *(f"lf_{j}" for j in range(1, len(rows[0][1])))]
    for number, cells in rows:
        if len(cells) != len(names):
            raise VotesError(
                f"{name}, line {number} has {len(cells)} columns; expected {len(names)}: {', '.join(names)}"
            )
    tokens, *tags = zip(*(cells for _, cells in rows), strict=True)
    place = f"{name}, line {rows[0][0]}"
    spans = {lf: _spans_of(column, f"{place}, column '{lf}'") for lf, column in zip(names[1:], tags, strict=True)}
    gold = next((spans.pop(each) for each in list(spans) if each.lower() in GOLD), None)
    return {"tokens": list(tokens), "votes": spans, **({} if gold is None else {"gold": gold})}


def _spans_of(tags: Sequence[str], place: str) -> list[list[Any]]:
    """Return the spans of tags in BIO, BIOES or BILOU; an I that continues nothing begins a span.

    >>> _spans_of(["B-PER", "I-PER", "O", "I-LOC", "S-LOC"], "here")
    [[0, 2, 'PER'], [3, 4, 'LOC'], [4, 5, 'LOC']]
    """
    spans: list[list[Any]] = []
    is_open = False
    for position, tag in enumerate(tags):
        mark, _, kind = tag.partition("-") if isinstance(tag, str) and tag not in _OUTSIDE else ("O", "", "")
        if mark != "O" and (not kind or len(mark) != 1 or mark not in _BEGIN + _INSIDE):
            raise VotesError(
                f"{place}: the tag {show(tag)} of token {position} is not O, B-TYPE or I-TYPE (or S, E, L, U)"
            )
        if mark != "O" and mark in _INSIDE and is_open and spans[-1][2] == kind:
            spans[-1][1] = position + 1
        elif mark != "O":
            spans.append([position, position + 1, kind])
        is_open = mark != "O" and mark not in _SINGLE
    return spans


def _read_docbin(path: Path) -> Iterator[Any]:
    require("spacy", extra="spacy")
    from spacy.tokens import DocBin
    from spacy.vocab import Vocab

    try:
        docs = DocBin().from_disk(path)
    except Exception as error:  # spaCy raises what zlib, msgpack or the system raise
        raise VotesError(f"documents: '{path}' cannot be read as a DocBin: {reason_of(error)}") from error
    return iter(docs.get_docs(Vocab()))


def _from_doc(doc: Any) -> dict[str, Any]:
    """Return a spaCy Doc as a document: its span groups are LFs, its entities, if there are some, gold.

    Groups that skweak has aggregated from others are no LFs.
    """
    groups = {name: group for name, group in doc.spans.items() if not group.attrs.get("aggregated")}
    votes = {name: [(span.start, span.end, span.label_) for span in group] for name, group in groups.items()}
    gold = [(span.start, span.end, span.label_) for span in doc.ents]
    return {"tokens": [token.text for token in doc], "votes": votes, **({"gold": gold} if gold else {}), "doc": doc}
