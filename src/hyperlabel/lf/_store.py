"""Replies of an LF by row, in a file that only grows: each reply is on disk before the next row is processed.

A line is a checksum and a JSON list: the columns that the LF read of the row, a key of their values, and its reply.
A process that is killed may leave half a line, which is dropped, like any damaged line. An LF that finds the
same values in the columns it read would do the same and read no others, so it need not be called: other columns
and other rows do not matter.
"""

import json
import threading
import weakref
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from hyperlabel._core import write_all
from hyperlabel.data import plain
from hyperlabel.lf._define import CacheError
from hyperlabel.lf._fingerprint import fingerprint_data
from hyperlabel.lf._items import Row, shown_names

Columns = tuple[str, ...] | None  # None: all of them, or an item that is not made of columns

SUFFIX = ".votes"

_MISSING = object()
_ABSENT = ...  # instead of a value: there is no such column


class RowStore:
    """The file of an LF; made if it does not exist.

    `replies` holds the LF's replies by key, `columns` the sets of columns that calls have read.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise self._failure(error) from error
        # An interrupted run leaves calls that still write: the file is closed after the last of them.
        weakref.finalize(self, self._file.close)
        content = path.read_bytes()
        if not content:
            self._write(to_line({"lf": name}))
        elif not content.endswith(b"\n"):  # left by a process that was killed
            self._write(b"\n")
        records = read_lines(content)[1]
        self.replies: dict[str, Any] = {key: reply for _, key, reply in records}
        self.columns: tuple[Columns, ...] = tuple(dict.fromkeys(columns for columns, _, _ in records))

    def wrap(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a function that calls another only for rows that are not cached, and keeps its replies."""

        def call(row: Any) -> Any:
            keys: dict[Columns, str] = {}
            for columns in self.columns:
                keys[columns] = _key_of(row, columns)
                reply = self.replies.get(keys[columns], _MISSING)
                if reply is not _MISSING:
                    return reply
            watched = _watched_class(type(row))(row) if isinstance(row, Row) else None
            reply = function(row if watched is None else watched)
            columns = None if watched is None else WatchedRow.columns_of(watched)
            self._keep(columns, keys.get(columns) or _key_of(row, columns), plain(reply))
            return reply

        return call

    def _keep(self, columns: Columns, key: str, reply: Any) -> None:
        if reply is not None and not isinstance(reply, str | int | float):
            return
        with self._lock:
            self._write(to_line([columns, key, reply]))
            self.replies[key] = reply
            if columns not in self.columns:
                self.columns = (*self.columns, columns)

    def _write(self, line: bytes) -> None:
        try:
            write_all(self._file, line)  # in one call if the system accepts it
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> CacheError:
        return CacheError(
            f"cache: '{self.path}' cannot be written: {error.strerror or error}; what was written is kept"
        )


def _key_of(row: Any, columns: Columns) -> str:
    """Return a key of the values that a row has in some columns, or of a whole item."""
    content = row
    if isinstance(row, Row) and columns is None:
        content = tuple(row._position), tuple(row)
    elif isinstance(row, Row):
        content = columns, [Row.get(row, name, _ABSENT) for name in columns or ()]  # a column may be called get
    return fingerprint_data(content)[:32]


def to_line(record: object) -> bytes:
    """Write a record as a line."""
    content = json.dumps(record).encode()
    return b"%08x %s\n" % (zlib.crc32(content), content)


def read_lines(content: bytes) -> tuple[str | None, list[tuple[Columns, str, Any]]]:
    """Return the name of the LF, None if it is damaged, and the complete records of a file.

    >>> read_lines(to_line({"lf": "short"}) + to_line([["text"], "0", "spam"]) + to_line([None, "1", 3])[:-4])
    ('short', [(('text',), '0', 'spam')])
    """
    *lines, _ = content.split(b"\n")
    parts = (line.partition(b" ") for line in lines)
    records = [json.loads(text) for checksum, _, text in parts if checksum == b"%08x" % zlib.crc32(text)]
    names = [record["lf"] for record in records if isinstance(record, dict)]
    rows = [record for record in records if isinstance(record, list)]
    return next(iter(names), None), [(None if read is None else tuple(read), key, reply) for read, key, reply in rows]


def _read_whole(method: str) -> Any:
    """Return a method that reads the whole row."""
    return lambda self, *arguments: getattr(self._note(None), method)(*arguments)


class WatchedRow:
    """A row that remembers which columns were read, whether they exist or not: what is not read cannot change a vote.

    It looks like a `Row` but is not a tuple: code written in C could read a tuple unnoticed.
    """

    __slots__ = ("_read", "_row")

    def __init__(self, row: Row) -> None:
        self._row, self._read = row, set[str | None]()

    @staticmethod
    def columns_of(row: "WatchedRow") -> Columns:
        """Return the names that were read, in order; None if everything was."""
        return None if None in row._read else tuple(sorted(map(str, row._read)))

    @property  # type: ignore[misc]
    def __class__(self) -> type[Row]:  # type: ignore[override]
        """The class of the row, for `isinstance`."""
        return type(self._row)

    def _note(self, name: object) -> Row:
        # The file has names as strings, so that a key of a record that is none counts as a look at everything.
        self._read.add(name if isinstance(name, str) else None)
        return self._row

    def __getitem__(self, name: Any) -> Any:
        return self._note(name)[name]

    def __getattr__(self, name: str) -> Any:  # called for names that are not columns
        return getattr(self._note(None if hasattr(tuple, name) else name), name)

    def __contains__(self, name: object) -> bool:
        return name in self._note(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a column, or a default where there is no such column."""
        return Row.get(self._note(name), name, default)

    __iter__, __len__, __repr__ = _read_whole("__iter__"), _read_whole("__len__"), _read_whole("__repr__")
    __eq__, __hash__, __reduce__ = _read_whole("__eq__"), _read_whole("__hash__"), _read_whole("__reduce__")
    keys = _read_whole("keys")


Sequence.register(WatchedRow)  # so that it matches the same patterns of `match` statements as a tuple


@lru_cache(maxsize=256)
def _watched_class(kind: type[Row]) -> type[WatchedRow]:
    """Return the class of watched rows with these columns; a column may have the name of a method."""
    readers = {name: _reader(name) for name in shown_names(kind._position)}
    return type("WatchedRow", (WatchedRow,), {"__slots__": (), **readers})


def _reader(name: str) -> property:
    return property(lambda row: WatchedRow.__getitem__(row, name))
