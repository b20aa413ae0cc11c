"""The cache of votes: a folder with one file per LF, which may be deleted at any time.

What an LF says about rows grows line by line (`hyperlabel.lf.store`). Besides, all votes of an LF on some data are one
file: the only one for LFs that read whole columns, and the fast path when others are applied to the same data again. Of
a damaged file, the intact part counts.
"""

import hashlib
import re
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hyperlabel.checks import check_path, check_text
from hyperlabel.errors import WeightsError
from hyperlabel.lf.code import UnknownError
from hyperlabel.lf.define import CacheError, ColumnFunction, LabelingFunction
from hyperlabel.lf.fingerprint import fingerprint_items, fingerprint_lf
from hyperlabel.lf.items import Items
from hyperlabel.lf.ready import ValueFunction
from hyperlabel.lf.run import Answer
from hyperlabel.lf.store import SUFFIX, name_of, read_lines
from hyperlabel.tensors import read_tensors, write_tensors

FORMAT = 2
"""The format of the files; part of their names, so that another format is never read."""

_WHOLE = ".answer"  # a file of all votes on some data


class CacheEntry(NamedTuple):
    """A file of a cache.

    Attributes:
        lf: Name of the LF.
        rows: Number of rows whose votes it has.
        bytes: Its size.
        changed: When it was last written.
        path: Where it is.
    """

    lf: str
    rows: int
    bytes: int
    changed: datetime
    path: Path


class LFCache:
    """A folder in which `apply_lfs(..., cache=folder)` keeps what LFs said.

    Args:
        folder: The folder.

    >>> import tempfile
    >>> from hyperlabel.lf import apply_lfs, keyword_lf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     votes = apply_lfs([keyword_lf("free", "spam")], ["free money", "hello"], cache=folder)
    ...     cache = LFCache(folder)
    ...     [(entry.lf, entry.rows) for entry in cache.entries()], cache.bytes > 0, cache.clear("keyword_free")
    ([('keyword_free', 2)], True, 1)
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = check_path(folder, "folder")

    def __repr__(self) -> str:
        return f"LFCache('{self.folder}', {len(self._paths())} files, {self.bytes:,} bytes)"

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(path.stat().st_size for path in self._paths())

    def entries(self) -> list[CacheEntry]:
        """The files, by the name of the LF, the newest last."""
        entries = [_read_entry(path) for path in self._paths()]
        return sorted(entries, key=lambda entry: (entry.lf, entry.changed))

    def clear(self, lf: str | None = None) -> int:
        """Delete the files of an LF, or of all; returns how many. Nothing else in the folder is touched."""
        if lf is not None:
            check_text(lf, "lf", "the name of an LF, or None for all")
        paths = [entry.path for entry in self.entries() if lf is None or entry.lf == lf]
        for path in paths:
            path.unlink(missing_ok=True)
        return len(paths)

    def _paths(self) -> list[Path]:
        return [path for suffix in (SUFFIX, _WHOLE) for path in self.folder.glob(f"*-{'[0-9a-f]' * 32}{suffix}")]


def _read_entry(path: Path) -> CacheEntry:
    status = path.stat()
    name, rows = _read_votes(path) if path.suffix == SUFFIX else _read_whole(path)
    return CacheEntry(
        name or path.stem[:-33], rows, status.st_size, datetime.fromtimestamp(status.st_mtime).astimezone(), path
    )


def _read_votes(path: Path) -> tuple[str | None, int]:
    content = path.read_bytes()
    return name_of(content), len({key for _, key, _ in read_lines(content)})


def _read_whole(path: Path) -> tuple[str | None, int]:
    try:
        arrays, header = read_tensors(path, "answer")
        return header["lf"], len(arrays["codes"])
    except (WeightsError, KeyError):
        return None, 0


class OpenCache:
    """A cache in use, for the items that LFs are applied to; its folder is made if it does not exist."""

    def __init__(self, folder: Path, items: Items) -> None:
        self.folder, self.items = folder, items
        self._paths: dict[str, Path] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CacheError(f"cache is '{folder}', but this folder cannot be made: {error.strerror}") from error

    def keep_rows(self, lf: LabelingFunction) -> LabelingFunction:
        """An LF that keeps what it says about rows; unchanged if it reads whole columns."""
        if isinstance(lf, ColumnFunction | ValueFunction):
            return lf
        return lf.kept_in(self._name(lf, "", SUFFIX))

    def load(self, lf: LabelingFunction) -> Answer | None:
        """The cached votes of an LF on these items; None if there are none."""
        if not lf.SAYS_VOTES:
            return None
        path = self._paths[lf.name] = self._name(lf, self._data(lf), _WHOLE)
        try:  # before it runs: an LF may change what it holds
            arrays, header = read_tensors(path, "answer")
            return _check(arrays["codes"], header["values"], self.items.n)
        except (WeightsError, KeyError):
            return None  # missing or damaged: the LF runs again

    def store(self, lf: LabelingFunction, answer: Answer) -> None:
        """Keep the votes of an LF, unless it failed or votes for something that JSON does not know."""
        if lf.name not in self._paths or answer.failures or not all(map(_is_plain, answer.values)):
            return
        codes = answer.codes.astype(np.min_scalar_type(-max(len(answer.values), 1)))
        header = {"lf": lf.name, "values": answer.values}
        try:
            write_tensors(self._paths[lf.name], {"codes": codes}, header, "answer")
        except WeightsError as error:
            raise CacheError(f"cache: {error}") from error

    def _name(self, lf: LabelingFunction, data: str, suffix: str) -> Path:
        key = hashlib.sha256(f"{FORMAT} {fingerprint_lf(lf)} {data}".encode()).hexdigest()
        return self.folder / f"{re.sub(r'[^A-Za-z0-9_]+', '_', lf.name)[:40]}-{key[:32]}{suffix}"

    def _data(self, lf: LabelingFunction) -> str:
        """The fingerprint of what an LF reads: a ready-made one reads one column."""
        try:
            if isinstance(lf, ValueFunction) and self.items.has(lf.column):
                return fingerprint_items(self.items, lf.column)
            return self._all
        except UnknownError as error:
            raise CacheError(
                f"data has {error}, which the cache cannot tell from other values; leave cache out"
            ) from error

    @cached_property
    def _all(self) -> str:
        return fingerprint_items(self.items)


def _is_plain(value: object) -> bool:
    return type(value) in (str, int, bool) or (type(value) is float and value - value == 0)


def _check(codes: Any, values: Any, n: int) -> Answer | None:
    """An answer, if its numbers are possible."""
    possible = (
        isinstance(values, list)
        and all(map(_is_plain, values))
        and codes.shape == (n,)
        and codes.dtype.kind == "i"
        and codes.min(initial=-1) >= -1
        and codes.max(initial=-1) < len(values)
    )
    return Answer(tuple(values), np.asarray(codes)) if possible else None
