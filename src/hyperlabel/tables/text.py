"""csv and JSON lines as plain UTF-8 files: compression, encoding and separator found, damage refused.

Polars parses; here a file is only checked: its first lines, and once all its bytes, since Polars pads lines that
are too short, so that a truncated file would lose votes.
"""

import codecs
import csv
import io
import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TextIO

from hyperlabel.errors import ParameterError, TableWarning, VotesError
from hyperlabel.shown import printable
from hyperlabel.tables.failures import reading
from hyperlabel.tables.formats import NAMES, Format
from hyperlabel.tables.spool import BLOCK, decompress, read_blocks, spool, transcode

SEPARATORS = (",", ";", "\t", "|")
"""Separators that are looked for; others must be named."""

_HEAD = 1 << 16  # bytes in which a separator is looked for
_LINES = 50
_FEW_KEYS = 32
_QUOTED = r'"[^"]*(?:""[^"]*)*"'  # a quoted cell
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_WESTERN = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}
_WINDOWS, _NOT_WINDOWS = re.compile(rb"[\x80-\x9f]"), re.compile(rb"[\x81\x8d\x8f\x90\x9d]")


@dataclass(frozen=True)
class Text:
    """A text table that Polars can read."""

    path: Path  # a plain file in UTF-8
    format: Format  # its format, with the separator that it really has
    rows: int | None = None  # number of rows of a csv that ends in blank lines, without these; None for all
    names: tuple[str, ...] = ()  # the columns of a csv


def open_text(path: Path, format: Format, name: str, delimiter: str | None, encoding: str | None) -> Text:
    """Check a csv or JSON lines file, and copy it to a temporary file if it is compressed or not UTF-8.

    A separator that is not given is found in the first lines; an encoding by its mark, else it is UTF-8, else
    Windows-1252 or Latin-1 with a warning. Errors use `name`.
    """
    _check_options(delimiter, encoding)
    with reading(name, NAMES[format.kind]):
        if format.compression is not None:
            path = spool(decompress(path, format.compression))
        path = _to_utf8(path, _marked_encoding(path) if encoding is None or _is_utf8(encoding) else encoding)
        if format.kind == "csv":
            format = replace(format, separator=delimiter or _find_separator(path, format.separator), compression=None)
        look = _look_at(path, format.separator or ",")
        if not look.is_utf8:
            found = "cp1252" if _is_windows(path) else "latin-1"
            warnings.warn(
                f"'{printable(name)}' is not UTF-8 and was read as {_WESTERN[found]}; name another encoding if texts "
                "look wrong",
                TableWarning,
                stacklevel=2,
            )
            path = _to_utf8(path, found)
        if format.kind != "csv":
            return Text(path, format)
        text, has_strays = _check_lines(path, format, look, name)
        return replace(text, path=spool(_quote_strays(path, format.separator))) if has_strays else text


def _check_options(delimiter: str | None, encoding: str | None) -> None:
    if delimiter is not None and (len(delimiter.encode()) != 1 or delimiter in '"\r\n'):
        raise ParameterError(f"delimiter is {delimiter!r}; expected one character, such as ';' or '\\t'")
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise ParameterError(f"encoding is {encoding!r}, which is unknown; try 'utf-16' or 'cp1252'") from None


def _marked_encoding(path: Path) -> str:
    """The encoding that a byte order mark names; UTF-8 without one."""
    with path.open("rb") as file:
        head = file.read(4)
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), "utf-8")


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name == "utf-8"


def _is_windows(path: Path) -> bool:
    """Whether bytes are Windows-1252: it has quotes, dashes and the euro where Latin-1 has only control codes."""
    found = False
    with path.open("rb") as file:
        for block in read_blocks(file):
            if _NOT_WINDOWS.search(block):
                return False
            found = found or _WINDOWS.search(block) is not None
    return found


def _to_utf8(path: Path, encoding: str) -> Path:
    if _is_utf8(encoding):
        return path
    with path.open("rb") as file:
        return spool(transcode(read_blocks(file), encoding))


def _find_separator(path: Path, usual: str) -> str:
    """The separator that gives all of the first lines the same number of fields; the usual one is tried first."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    text = head.decode("latin-1")  # separators and quotes are ASCII in every encoding here
    whole = text if len(head) < _HEAD else text[: text.rfind("\n") + 1] or text
    widths = {separator: _widths(whole, separator) for separator in dict.fromkeys((usual, *SEPARATORS))}
    several = [separator for separator, found in widths.items() if found and found[0] > 1]
    even = [separator for separator in several if len(set(widths[separator])) == 1]
    if usual in even:
        return usual
    return max(even or several, key=lambda separator: widths[separator][0], default=usual)


def _widths(text: str, separator: str) -> list[int]:
    """Fields of the first lines that are not blank."""
    found: list[int] = []
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for fields in lines:
            found += [len(fields)] if fields else []
            if len(found) == _LINES:
                break
    except csv.Error:  # a quote that does not end in these lines
        pass
    return found


@dataclass(frozen=True)
class _Look:
    """What the bytes of a file show."""

    is_utf8: bool  # whether they are UTF-8
    separators: int  # extra separators, compared with the first line's number in each line
    quotes: int  # number of quotes, which hide separators
    returns: int  # carriage returns that are not part of the end of a line


def _look_at(path: Path, separator: str) -> _Look:
    """One pass over the bytes. A file of another kind, with null bytes or other ends of lines, is refused."""
    mark, decoder = separator.encode(), codecs.getincrementaldecoder("utf-8")()
    is_utf8, last, separators, quotes, lines, returns, ends = True, b"\n", 0, 0, 0, 0, 0
    with path.open("rb") as file:
        width = file.readline().count(mark)
        file.seek(0)
        for block in iter(lambda: file.read(BLOCK), b""):
            if b"\0" in block:
                raise ValueError("it has null bytes, like UTF-16 without a mark; if so, name the encoding: utf-16-le")
            if is_utf8 and not (block.isascii() and not decoder.getstate()[0]):
                is_utf8 = _decodes(decoder, block)
            separators, quotes = separators + block.count(mark), quotes + block.count(b'"')
            ends += (last + block).count(b"\r\n")
            lines, returns, last = lines + block.count(b"\n"), returns + block.count(b"\r"), block[-1:]
    if returns and not lines:
        raise ValueError("its lines end in carriage returns only; convert them, for instance with: tr '\\r' '\\n'")
    is_utf8 = is_utf8 and not decoder.getstate()[0]
    return _Look(is_utf8, separators - width * (lines + (last != b"\n")), quotes, returns - ends)


def _decodes(decoder: codecs.IncrementalDecoder, block: bytes) -> bool:
    try:
        decoder.decode(block)
    except UnicodeDecodeError:
        return False
    return True


def _check_lines(path: Path, format: Format, look: _Look, name: str) -> tuple[Text, bool]:
    """The table without blank lines at its end, and whether cells without quotes around them have quotes in them.

    Refuses columns with the same name, lines whose number of fields differs from the header, and carriage returns that
    are neither quoted nor part of the end of a line: Polars drops some of these.
    """
    with path.open(newline="", encoding="utf-8") as file, _long_fields():
        lines = _read_lines(file, format.separator)
        first = next(lines, ("", [], 0))
        header = first[1]
        _check_header(header, name)
        text, has_strays = Text(path, format, names=tuple(header)), False
        if look.separators == look.quotes == look.returns == 0:
            return text, False
        without = _line_without_strays(format.separator)
        for row, (written, fields, number) in enumerate(chain([first], lines), -1):
            if written.endswith("\r"):
                raise ValueError(f"line {number} ends in a carriage return only; remove it, or quote its cell")
            if max(1, len(fields)) != len(header):
                if not any([fields, *(more for _, more, _ in lines)]):
                    return replace(text, rows=row), has_strays
                raise VotesError(f"'{printable(name)}' cannot be read: {_uneven(number, fields, header)}")
            has_strays = has_strays or ('"' in "".join(fields) and not without.fullmatch(written))
    return text, has_strays


def _uneven(number: int, fields: list[str], header: list[str]) -> str:
    """What is wrong with a line that has another number of fields than the header, and the remedy.

    >>> _uneven(3, [], ["id", "a"])
    'line 3 is blank. Remove it'
    """
    if not fields:
        return f"line {number} is blank{', not the names of the columns' if number == 1 else ''}. Remove it"
    widths = f"line {number} has {len(fields)} fields, the header has {len(header)}"
    if number == 2 and len(fields) > len(header):
        return f"{widths}. If line 1 does not hold the names of the columns, remove it; else give each column a name"
    return f"{widths}. Is it a complete csv file?"


def _read_lines(file: TextIO, separator: str) -> Iterator[tuple[str, list[str], int]]:
    """Each line, with those that its quoted cells span: as it is written, its fields, and its number."""
    read: list[str] = []

    def remember() -> Iterator[str]:
        for line in file:
            read.append(line)
            yield line

    lines = csv.reader(remember(), delimiter=separator, strict=True)
    for fields in lines:
        yield "".join(read), fields, lines.line_num
        read.clear()


def _line_without_strays(separator: str) -> re.Pattern[str]:
    """A line in which every cell that has a quote is quoted.

    >>> line = _line_without_strays(",")
    >>> bool(line.fullmatch('"a ""b"" c",d')), bool(line.fullmatch('a "b" c,d'))
    (True, False)
    """
    mark = re.escape(separator)
    cell = rf'(?>{_QUOTED}|[^"{mark}\r\n]*)'
    return re.compile(rf"{cell}(?>{mark}{cell})*[\r\n]*")


def _quote_strays(path: Path, separator: str) -> Iterator[bytes]:
    """The file with quotes around each cell that has quotes in it: to Polars, any quote hides ends of lines."""
    with path.open(newline="", encoding="utf-8") as file, _long_fields():
        for written, _, _ in _read_lines(file, separator):
            yield _quote_cells(written, separator).encode()


def _quote_cells(line: str, separator: str) -> str:
    """A line with quotes around each cell that has quotes in it.

    >>> _quote_cells('5" pipe,"a, b",', ",")
    '"5"" pipe","a, b",'
    """

    def quote(cell: re.Match[str]) -> str:
        text = cell[0]
        return text if text.startswith('"') or '"' not in text else '"' + text.replace('"', '""') + '"'

    return re.sub(rf"{_QUOTED}|[^{re.escape(separator)}\r\n]+", quote, line)


def order_keys(path: Path, names: Sequence[str], name: str) -> list[str]:
    """The keys of JSON lines in the order in which they first occur: Polars gives more than 32 in a random one.

    Refuses a key twice in a line, of which Polars takes the first, and other libraries the last. Lines of few keys are
    parsed only if they have the letters of one twice, which costs little beside reading the table.
    """
    marks = [json.dumps(key, ensure_ascii=False).encode(errors="replace") for key in names]
    is_wide = len(marks) > _FEW_KEYS  # then to parse a line is cheaper than to look for all keys in it
    order: dict[str, None] = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if is_wide or any(line.count(mark) > 1 for mark in marks):
                keys = _keys_of(line)
                twice = next((key for key, n in keys.items() if n > 1), None)
                if twice is not None:
                    raise VotesError(
                        f"'{printable(name)}' has the key '{printable(twice)}' twice in line {number}; expected each "
                        "key once. Rename or remove one"
                    )
                order.update(dict.fromkeys(keys))
    if not is_wide:
        return [*names]
    present = set(names)
    return [*(key for key in order if key in present), *(key for key in names if key not in order)]


def _keys_of(line: bytes) -> Counter[str]:
    """How often a line of JSON has each key, in order.

    >>> _keys_of(b'{"a": {"b": 1, "c": 2}, "b": "a", "a": 2}')
    Counter({'a': 2, 'b': 1})
    """
    try:
        pairs = json.loads(line, object_pairs_hook=list)
    except (ValueError, RecursionError):  # a blank line; damage is found by the reader of the table
        return Counter()
    return Counter(key for key, _ in pairs) if line.lstrip().startswith(b"{") else Counter()


def _check_header(header: list[str], name: str) -> None:
    places: dict[str, int] = {}
    for place, column in enumerate(header):
        first = places.setdefault(column, place)
        if first != place and not column:
            raise VotesError(
                f"'{printable(name)}' has columns without a name, the {_ordinal(first)} and the {_ordinal(place)}; "
                "name or delete them. If the names are in a later line, delete the lines above it"
            )
        if first != place:
            raise VotesError(
                f"'{printable(name)}' has two columns named '{printable(column)}', the {_ordinal(first)} and the "
                f"{_ordinal(place)}; expected each name once. Rename one"
            )


def _ordinal(place: int) -> str:
    """'1st' for 0.

    >>> [_ordinal(place) for place in (0, 1, 2, 10, 20)]
    ['1st', '2nd', '3rd', '11th', '21st']
    """
    number = place + 1
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let Python's csv reader, whose limit is global, read fields of any length."""
    limit = csv.field_size_limit(min(sys.maxsize, (1 << 31) - 1))
    try:
        yield
    finally:
        csv.field_size_limit(limit)
