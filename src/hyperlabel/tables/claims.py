"""What parquet and Arrow files claim, checked before Polars trusts it.

Polars allocates the memory that a damaged file asks for, and ends the process if there is not enough: nothing in Python
can catch that. Only headers are read here, never rows.
"""

import importlib.util
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MARK = b"PAR1"
_TAIL = 8  # bytes at the end: the length of the footer, and the mark
_DEEPEST = 16  # structs within structs; parquet has 6
# Numbers of fields in the format: of the footer, of a row group, of a column,
_ROW_GROUPS, _COLUMNS, _META = 4, 1, 3
# of the metadata of a column in a row group,
_VALUES, _BYTES, _DATA, _DICTIONARY = 5, 7, 9, 11
# and of a page: bytes unpacked and packed, then the headers of its kinds, with the number of values first.
_UNPACKED, _PACKED, _PAGE, _PAGE_OF_DICTIONARY, _PAGE_V2, _CLAIM = 2, 3, 5, 7, 8, 1

Fields = dict[int, Any]


def check_parquet(file: Path) -> None:
    """Compare what the pages of a parquet file claim with what their columns hold.

    A damaged header is a ValueError; other damage is left to the reader of the file.
    """
    size = file.stat().st_size
    if size < _TAIL + len(_MARK):
        return
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        footer = size - _TAIL - int.from_bytes(data[-_TAIL:-4], "little")
        if data[-4:] != _MARK or footer < 0:
            return
        for chunk in _chunks(_read(data, footer, "its footer")[0]):
            _check_pages(data, chunk, footer)


def _chunks(footer: Fields) -> Iterator[Fields]:
    """The metadata of each column of each row group."""
    for group in _structs(footer.get(_ROW_GROUPS)):
        yield from _structs([column.get(_META) for column in _structs(group.get(_COLUMNS))])


def _structs(value: object) -> list[Fields]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _whole(fields: Fields, number: int) -> int:
    value = fields.get(number, 0)
    if not isinstance(value, int):
        raise ValueError("a header has fields of wrong types")
    return value


def _check_pages(data: mmap.mmap, chunk: Fields, end: int) -> None:
    """Walk from page to page as Polars does."""
    values, seen = _whole(chunk, _VALUES), 0
    at = _whole(chunk, _DICTIONARY if _DICTIONARY in chunk else _DATA)
    stop = min(end, at + _whole(chunk, _BYTES))
    while seen < values and 0 <= at < stop:
        header, start = _read(data, at, "a page")
        packed = _whole(header, _PACKED)
        claims = [_whole(page, _CLAIM) for page in _structs([header.get(_PAGE), header.get(_PAGE_V2)])]
        entries = [_whole(page, _CLAIM) for page in _structs([header.get(_PAGE_OF_DICTIONARY)])]
        least, most = min([packed, *claims, *entries]), max([0, *claims])
        if least < 0 or most > values or packed > end - start or max([0, *entries]) > _whole(header, _UNPACKED):
            raise ValueError(f"the page at byte {at} claims {(claims + entries or [0])[0]} values in {packed} bytes")
        seen += sum(claims)
        at = start + packed


def _read(data: mmap.mmap, at: int, what: str) -> tuple[Fields, int]:
    try:
        return _struct(data, at, _DEEPEST)
    except (IndexError, ValueError) as error:
        raise ValueError(f"the header of {what} at byte {at} is damaged") from error


# The part of Thrift's compact protocol that parquet uses.


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


def _struct(data: mmap.mmap, at: int, depth: int) -> tuple[Fields, int]:
    """The fields of a struct by their numbers, and where it ends."""
    fields: Fields = {}
    number = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            raw, at = _varint(data, at)
            number = (raw >> 1) ^ -(raw & 1)
        kind = head & 15
        if kind in (1, 2):  # a boolean has no bytes
            fields[number] = kind == 1
        else:
            fields[number], at = _value(data, at, kind, depth)
    return fields, at + 1


def _value(data: mmap.mmap, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (4, 5, 6):  # whole numbers
        raw, at = _varint(data, at)
        return (raw >> 1) ^ -(raw & 1), at
    if kind == 8:  # bytes
        length, at = _varint(data, at)
        return None, _within(data, at + length)
    if kind == 12 and depth:
        return _struct(data, at, depth - 1)
    if kind in (9, 10) and depth:
        return _list(data, at, depth - 1)
    if kind in (3, 7):  # a byte, a float
        return None, _within(data, at + (1 if kind == 3 else 8))
    raise ValueError("a field has an unknown type")


def _list(data: mmap.mmap, at: int, depth: int) -> tuple[list[Any], int]:
    head = data[at]
    at, kind, length = at + 1, head & 15, head >> 4
    if length == 15:
        length, at = _varint(data, at)
    if length > len(data) - at:
        raise ValueError("a list is longer than the file")
    items = []
    for _ in range(length):
        item, at = (None, _within(data, at + 1)) if kind in (1, 2) else _value(data, at, kind, depth)
        items.append(item)
    return items, at


def _within(data: mmap.mmap, at: int) -> int:
    if at > len(data):
        raise ValueError("it ends after the end of the file")
    return at


# Arrow.


def check_arrow(file: Path) -> None:
    """Let pyarrow check all types and batches, as it raises where Polars would end the process or its thread.

    Nothing is checked if it is missing.
    """
    if importlib.util.find_spec("pyarrow") is None:
        return
    import pyarrow as pa

    with pa.memory_map(str(file)) as opened:
        if opened.read(6) == b"ARROW1":
            reader = pa.ipc.open_file(opened)
            _check_types(reader.schema)
            for number in range(reader.num_record_batches):
                reader.get_batch(number)
        else:
            opened.seek(0)
            reader = pa.ipc.open_stream(opened)
            _check_types(reader.schema)
            for _ in reader:
                pass


def _check_types(schema: Any) -> None:
    for column in schema:
        if _is_foreign(column.type):
            raise ValueError(f"column '{column.name}' is of type {column.type}, which tables do not have; cast it")


def _is_foreign(kind: Any) -> bool:
    """Whether Polars does not have a type, or the type of a part of it."""
    from pyarrow import types

    foreign = types.is_union, types.is_interval, types.is_decimal256, types.is_run_end_encoded
    views = types.is_list_view, types.is_large_list_view
    if types.is_dictionary(kind):
        return _is_foreign(kind.value_type)
    parts = [kind.field(place).type for place in range(kind.num_fields)]
    return any(test(kind) for test in (*foreign, *views)) or any(map(_is_foreign, parts))
