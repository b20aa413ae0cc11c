"""What an LF said about rows, in a file that only grows: each result is on disk before the next row is processed.

A line is a checksum and a JSON list: the columns that the LF read of the row, a key of their values, and what it said.
A process that is killed may leave half a line, which is dropped, like any damaged line. An LF that finds the
same values in the columns it read would do the same and read no others, so it need not be called: other columns
and other rows do not matter.
"""

import functools
import hashlib
import json
import os
import threading
import weakref
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hyperlabel.columns.frames import plain
from hyperlabel.lf.code import UnknownError
from hyperlabel.lf.define import CacheError
from hyperlabel.lf.fingerprint import bytes_of
from hyperlabel.lf.items import Row, names_of, values_in
from hyperlabel.lf.watched import WatchedRow, watch

Columns = tuple[str, ...] | None  # None: all of them, or an item that is not made of columns

SUFFIX = ".votes"
MISSING = object()
"""Nothing is cached."""

_ABSENT = ...  # instead of a value: there is no such column


class RowStore:
    """The file of an LF; made if it does not exist.

    `said` holds by key what the LF said, `orders` the sets of columns that calls have read.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise self._failure(error) from error
        # An interrupted run leaves calls that still write: the file is closed after the last of them.
        weakref.finalize(self, os.close, self._file)
        content = path.read_bytes()
        if not content:
            self._write(to_line(json.dumps({"lf": name})))
        elif not content.endswith(b"\n"):  # left by a process that was killed
            self._write(b"\n")
        records = read_lines(content)
        self.said: dict[str, Any] = {key: said for _, key, said in records}
        self.orders: tuple[Columns, ...] = tuple(dict.fromkeys(columns for columns, _, _ in records))

    def around(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A function that calls another only for rows that are not cached, and keeps what it says."""

        def call(row: Any) -> Any:
            keys: dict[Columns, str] = {}
            for columns in self.orders:
                keys[columns] = self._key(row, columns)
                said = self.said.get(keys[columns], MISSING)
                if said is not MISSING:
                    return said
            return self._call(function, row, keys)

        return call

    def _call(self, function: Callable[[Any], Any], row: Any, keys: dict[Columns, str]) -> Any:
        columns: Columns = None
        if isinstance(row, Row):
            watched = watch(row)
            said = function(watched)
            columns = WatchedRow.columns_of(watched)
        else:
            said = function(row)
        kept = plain(said)
        if kept is None or isinstance(kept, str | int | float):
            self._keep(columns, keys.get(columns) or self._key(row, columns), kept)
        return said

    def _keep(self, columns: Columns, key: str, said: Any) -> None:
        line = to_line(f'[{_listed(columns)}, "{key}", {json.dumps(said)}]')
        with self._lock:
            self._write(line)
            self.said[key] = said
            if columns not in self.orders:
                self.orders = (*self.orders, columns)

    def _write(self, line: bytes) -> None:
        """Write a line, in one call if the system accepts it."""
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            raise self._failure(error) from error

    def _key(self, row: Any, columns: Columns) -> str:
        try:
            return key_of(row, columns)
        except UnknownError as error:
            raise CacheError(
                f"data has {error}, which the cache cannot tell from other values; leave cache out"
            ) from error

    def _failure(self, error: OSError) -> CacheError:
        return CacheError(
            f"cache: '{self.path}' cannot be written: {error.strerror or error}; what was written is kept"
        )


def key_of(row: Any, columns: Columns) -> str:
    """A key of the values that a row has in some columns, or of a whole item.

    >>> from hyperlabel.lf.items import make_row
    >>> one, two = (make_row(("id", "text"), (i, "a")) for i in (1, 2))
    >>> key_of(one, ("text",)) == key_of(two, ("text",)), key_of(one, None) == key_of(two, None)
    (True, False)
    """
    if not isinstance(row, Row):
        content: Any = row
    elif columns is None:
        content = names_of(type(row)), tuple(row)
    else:
        content = columns, values_in(row, columns, _ABSENT)
    return hashlib.blake2b(bytes_of(content), digest_size=16).hexdigest()


@functools.lru_cache(maxsize=256)
def _listed(columns: Columns) -> str:
    return json.dumps(columns)


def to_line(record: str) -> bytes:
    """A record, as JSON, as a line."""
    content = record.encode()
    return b"%08x %s\n" % (zlib.crc32(content), content)


def read_lines(content: bytes) -> list[tuple[Columns, str, Any]]:
    """The complete records of a file; others are left out.

    >>> read_lines(to_line('[["text"], "0", "spam"]') + to_line('[null, "1", 3]')[:-4])
    [(('text',), '0', 'spam')]
    """
    *lines, _ = content.split(b"\n")
    records = [_read_line(line) for line in lines]
    kept = [record for record in records if _is_whole(record)]
    return [(None if columns is None else tuple(columns), key, said) for columns, key, said in kept]


def _read_line(line: bytes) -> Any:
    checksum, _, content = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(content):
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _is_whole(record: Any) -> bool:
    return (
        isinstance(record, list)
        and len(record) == 3
        and (record[0] is None or (isinstance(record[0], list) and all(isinstance(name, str) for name in record[0])))
        and isinstance(record[1], str)
        and (record[2] is None or isinstance(record[2], str | int | float))
    )


def name_of(content: bytes) -> str | None:
    """The name of the LF whose file this is; None if that cannot be read."""
    head = _read_line(content.partition(b"\n")[0])
    return head.get("lf") if isinstance(head, dict) else None
