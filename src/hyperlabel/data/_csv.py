"""csv files: separator found, damage refused, parsed by Polars.

Polars pads lines that are too short, so that a truncated file would lose votes; if only some columns are read, it cuts
off lines that are too long; and to it, any quote hides ends of lines. So all bytes are checked first, 64 at a time.
Only a file that fails this check is walked line by line, to name the line that is wrong, or to mend the file.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import printable
from hyperlabel.data._files import Bytes, Format, holds_utf8, map_blocks, spool, to_plain, to_utf8
from hyperlabel.errors import ParameterError, VotesError

SEPARATORS = (",", ";", "\t", "|")  # separators that are looked for; others must be named
_HEAD = 1 << 16  # bytes in which a separator is looked for
_LINES = 50
MOST_COLUMNS = 10_000  # of a csv; Polars takes tens of kilobytes for each before it reads a row, and may abort
_LONGEST = (1 << 31) - 1  # letters of a cell
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
_ONE, _LAST = np.uint64(1), np.uint64(63)

Bits = NDArray[np.uint64]  # one bit per byte of a block, the first byte in the lowest bit


def check_options(delimiter: str | None, encoding: str | None) -> None:
    """Refuse a separator or an encoding that cannot be one."""
    if delimiter is not None and (len(delimiter.encode()) != 1 or delimiter in '"\r\n'):
        raise ParameterError(f"delimiter is {delimiter!r}; expected one character, such as ';' or '\\t'")
    try:
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        raise ParameterError(f"encoding is {encoding!r}, which is unknown; try 'utf-16' or 'cp1252'") from None


def scan(path: Path, format: Format, name: str, delimiter: str | None, encoding: str | None) -> tuple[Path, Any]:
    """Return a csv file as plain UTF-8, and its rows as a LazyFrame of strings; errors use `name`."""
    import polars as pl

    path = to_plain(path, format.compression, encoding)
    separator = delimiter or _find_separator(path, format.separator)
    csv.field_size_limit(_LONGEST)
    width = len(_read_header(path, separator, "latin-1"))
    if width > MOST_COLUMNS:
        raise VotesError(
            f"'{printable(name)}' has {width:,} columns; expected at most {MOST_COLUMNS:,}. Write it as parquet, or as "
            "a long table with one row per vote"
        )
    is_utf8, is_even = survey(path, separator, width)
    path = path if is_utf8 else to_utf8(path, name)
    header = _read_header(path, separator, "utf-8")
    check_header(header, f"'{printable(name)}'")
    path = path if is_even else spool(_mend(path, separator, header, name))
    # Polars leaves the doubled quotes of a name as they are.
    names = (lambda _: header) if any('"' in column for column in header) else None
    return path, pl.scan_csv(path, separator=separator, infer_schema=False, glob=False, with_column_names=names)


def sink(frame: Any, part: Path, format: Format, metadata: Mapping[str, str]) -> None:
    """Stream the rows of a LazyFrame to a file; a csv has no room for metadata."""
    compression = format.compression or "uncompressed"
    frame.sink_csv(part, separator=format.separator, compression=compression, check_extension=False)


def _read_header(path: Path, separator: str, encoding: str) -> list[str]:
    with path.open(newline="", encoding=encoding) as file:
        return next(csv.reader(file, delimiter=separator, strict=True), [])


def _find_separator(path: Path, usual: str) -> str:
    """Return the separator that gives the first lines the same number of fields, if possible the usual one."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    text = head.decode("latin-1")  # separators and quotes are ASCII in every encoding here
    lines = text if len(head) < _HEAD else text[: text.rfind("\n") + 1] or text
    widths = {separator: _widths(lines, separator) for separator in dict.fromkeys((usual, *SEPARATORS))}
    several = [separator for separator, counts in widths.items() if counts and counts[0] > 1]
    even = [separator for separator in several if len(set(widths[separator])) == 1]
    if usual in even:
        return usual
    return max(even or several, key=lambda separator: widths[separator][0], default=usual)


def _widths(text: str, separator: str) -> list[int]:
    """Return the numbers of fields of the first lines that are not blank."""
    widths: list[int] = []
    try:
        for fields in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            widths += [len(fields)] if fields else []
            if len(widths) == _LINES:
                break
    except csv.Error:  # a quote that does not end in these lines
        pass
    return widths


def check_header(header: Sequence[str], name: str) -> None:
    """Refuse a name of two columns."""
    numbers: dict[str, int] = {}
    for number, column in enumerate(header, 1):
        first = numbers.setdefault(column, number)
        if first != number:
            what = f"two columns named '{printable(column)}'" if column else "columns without a name"
            remedy = "name or delete them. If the names are in a later line, delete the lines above it"
            remedy = "expected each name once. Rename one" if column else remedy
            raise VotesError(f"{name} has {what}, number {first} and {number}; {remedy}")


# The check of all bytes.


@dataclass(frozen=True)
class _Block:
    """Whole lines of a file; the first may have started in the block before, in a quoted cell of several lines."""

    starts_quoted: bool
    ends_quoted: bool
    head: int  # cells up to the end of the first line; 0 if no line ends
    tail: int  # cells after the end of the last line


def survey(path: Path, separator: str, width: int) -> tuple[bool, bool]:
    r"""Return whether a file is UTF-8, and whether it is even.

    Even means that all lines have `width` cells, quotes stand only around cells, or doubled within these, and each
    carriage return is part of the end of a line.

    >>> survey(spool([b'a,b\n"x, y",z\n']), ",", 2), survey(spool([b'a,b\n5" pipe,z\n']), ",", 2)
    ((True, True), (True, False))
    """
    width, mark, cells, is_quoted = max(1, width), ord(separator), 0, False
    blocks = map_blocks(lambda block: (holds_utf8(block), _check_block(block, mark, width)), path)
    is_utf8 = all(is_utf8 for is_utf8, _ in blocks)
    for _, block in blocks:
        if block is None or block.starts_quoted != is_quoted or (block.head and cells + block.head != width):
            return is_utf8, False
        cells, is_quoted = block.tail + (0 if block.head else cells), block.ends_quoted
    return is_utf8, cells in (0, width) and not is_quoted


def _check_block(block: Bytes, separator: int, width: int) -> _Block | None:
    """Return where a block is cut; None if a whole line in it is not even, or a quote or carriage return is odd."""
    quotes, separators, newlines, returns = (_find(byte, block) for byte in (_QUOTE, separator, _NEWLINE, _RETURN))
    if returns.any() and (returns & ~_to_previous(newlines)).any():
        return None
    quoted = _find_quoted(quotes, separators | newlines, returns, len(block))
    if quoted is None:
        return None
    lines = newlines & ~quoted
    cells = lines | (separators & ~quoted)
    head = _find_head(cells, lines, width)
    if head is None:
        return None
    n_cells = int(_count(cells).sum()) + int(block[-1] != _NEWLINE)  # the end of a file ends its last cell
    tail = n_cells - head - width * max(0, int(_count(lines).sum()) - 1)
    return _Block(bool((quoted[0] ^ quotes[0]) & _ONE), bool(quoted[-1] >> _LAST), head, tail)


def _find_quoted(quotes: Bits, ends: Bits, returns: Bits, size: int) -> Bits | None:
    """Return which bytes are within quotes, or open them; None if a quote is not at the edge of a cell.

    Of both ways to read a block, from outside quotes or from within, the second is taken only if the first fails.
    """
    if not quotes.any():
        return np.zeros_like(quotes)
    quoted = _odd_up_to(quotes)
    no_start = quotes & ~_to_next(quotes | ends)  # quotes that cannot open a cell
    no_end = quotes & ~_to_previous(quotes | ends | returns)  # nor close one
    no_end[-1] &= ~(_ONE << np.uint64((size - 1) % 64))
    for bits in (quoted, ~quoted):
        if not ((no_start & bits) | (no_end & ~bits)).any():
            return bits
    return None


def _odd_up_to(bits: Bits) -> Bits:
    """Set each bit up to which an odd number of bits is set."""
    odd, moved = bits.copy(), np.empty_like(bits)
    for step in (1, 2, 4, 8, 16, 32):
        odd ^= np.left_shift(odd, np.uint64(step), out=moved)
    ends = np.bitwise_xor.accumulate(odd >> _LAST)  # of each word
    odd[1:] ^= -ends[:-1]
    return odd


def _find_head(cells: Bits, lines: Bits, width: int) -> int | None:
    """Return the cells up to the first end of a line, 0 if there is none; None if a later line has not this width."""
    head, excess = 0, _count(cells).astype(np.int64) - width * _count(lines).astype(np.int64)
    before = np.cumsum(excess) - excess  # cells before each word, less those of the whole lines before it
    while len(more := np.flatnonzero(lines)):  # words with another end of a line
        cells, lines, before = cells.take(more), lines.take(more), before.take(more)
        lowest = lines & -lines  # the next end of a line in each word
        heads = before + _count(cells & (lowest ^ (lowest - _ONE)))
        head = head or int(heads[0])
        if (heads != head).any():
            return None
        lines, before = lines ^ lowest, before - width
    return head


def _to_next(bits: Bits) -> Bits:
    """Move each bit to the next byte; the first byte is at the start of a line, and gets one too."""
    moved = bits << _ONE
    moved[1:] |= bits[:-1] >> _LAST
    moved[0] |= _ONE
    return moved


def _to_previous(bits: Bits) -> Bits:
    """Move each bit to the previous byte."""
    moved = bits >> _ONE
    moved[:-1] |= bits[1:] << _LAST
    return moved


def _find(byte: int, block: Bytes) -> Bits:
    """Return the bits of all bytes that are this one."""
    flags, packed = block == byte, np.zeros(-(-len(block) // 64) * 8, np.uint8)
    if flags.any():
        packed[: -(-len(block) // 8)] = np.packbits(flags, bitorder="little")
    return packed.view("<u8")


def _count(bits: Bits) -> NDArray[Any]:
    """Return the number of bits that are set in each word."""
    if not hasattr(np, "bitwise_count"):  # NumPy 1
        return np.asarray(np.unpackbits(bits.view(np.uint8)).reshape(-1, 64).sum(1))
    return np.bitwise_count(bits)


# The walk over the lines of a file that is not even.


def _mend(path: Path, separator: str, header: Sequence[str], name: str) -> Iterator[bytes]:
    """Yield a file without blank lines at its end, and with quotes around each cell that has quotes in it.

    Refuses lines whose number of fields differs from the header, and carriage returns that are neither quoted nor part
    of the end of a line: Polars drops some of these.
    """
    with path.open(newline="", encoding="utf-8") as file:
        lines = _read_lines(file, separator)
        for text, fields, number in lines:
            if text.endswith("\r"):
                _refuse_return(path, number)
            if max(1, len(fields)) != len(header):
                if not any(chain([fields], (more for _, more, _ in lines))):
                    return
                raise VotesError(f"'{printable(name)}' cannot be read: {_uneven(number, fields, header)}")
            yield _quote_cells(text, separator).encode()


def _read_lines(file: TextIO, separator: str) -> Iterator[tuple[str, list[str], int]]:
    """Yield each line, with those that its quoted cells span: its text, its fields, and its number."""
    parts: list[str] = []

    def remember() -> Iterator[str]:
        for line in file:
            parts.append(line)
            yield line

    lines = csv.reader(remember(), delimiter=separator, strict=True)
    for fields in lines:
        yield "".join(parts), fields, lines.line_num
        parts.clear()


def _refuse_return(path: Path, number: int) -> None:
    if any(map_blocks(lambda block: bool((block == _NEWLINE).any()), path)):
        raise ValueError(f"line {number} ends in a carriage return only; remove it, or quote its cell")
    raise ValueError("its lines end in carriage returns only; convert them, for instance with: tr '\\r' '\\n'")


def _uneven(number: int, fields: Sequence[str], header: Sequence[str]) -> str:
    """Return what is wrong with a line that has another number of fields than the header, and the remedy.

    >>> _uneven(3, [], ["id", "a"])
    'line 3 is blank. Remove it'
    """
    if not fields:
        return f"line {number} is blank{', not the names of the columns' if number == 1 else ''}. Remove it"
    widths = f"line {number} has {len(fields)} fields, the header has {len(header)}"
    if number == 2 and len(fields) > len(header):
        return f"{widths}. If line 1 does not hold the names of the columns, remove it; else give each column a name"
    return f"{widths}. Is it a complete csv file?"


def _quote_cells(line: str, separator: str) -> str:
    """Return a line with quotes around each cell that has quotes in it.

    >>> _quote_cells('5" pipe,"a, b",', ",")
    '"5"" pipe","a, b",'
    """

    def quote(cell: re.Match[str]) -> str:
        text = cell[0]
        return text if text.startswith('"') or '"' not in text else '"' + text.replace('"', '""') + '"'

    return re.sub(rf'"[^"]*(?:""[^"]*)*"|[^{re.escape(separator)}\r\n]+', quote, line)
