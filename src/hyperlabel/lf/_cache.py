"""The cache of votes: a folder with one file per LF, which may be deleted at any time.

Replies of an LF on rows grow line by line (`hyperlabel.lf._store`). Besides, all votes of an LF on some data are one
file: the only one for LFs that read whole columns, and the fast path when others are applied to the same data again. Of
a damaged file, the intact part counts.
"""

import copy
import functools
import hashlib
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hyperlabel._core import check_path, read_tensors, write_tensors
from hyperlabel.errors import WeightsError
from hyperlabel.lf._define import CacheError, ColumnFunction, LabelingFunction
from hyperlabel.lf._fingerprint import fingerprint_items, fingerprint_lf
from hyperlabel.lf._items import Items
from hyperlabel.lf._ready import PromptFunction, ValueFunction
from hyperlabel.lf._run import Advance, Answer
from hyperlabel.lf._store import SUFFIX, read_lines

FORMAT = 3
"""The format of the files; part of their names, so that another format is never read."""

_WHOLE = ".answer"  # a file of all votes on some data


class CacheEntry(NamedTuple):
    """A file of a cache."""

    lf: str  # name of the LF
    rows: int  # number of rows whose votes it has
    bytes: int  # its size
    changed: datetime  # when it was last written
    path: Path


class LFCache:
    """A folder in which `apply_lfs(..., cache=folder)` keeps the votes of LFs.

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
        """List the files, by the name of the LF, the newest last."""
        return sorted(map(_read_entry, self._paths()), key=lambda entry: (entry.lf, entry.changed))

    def clear(self, lf: str | None = None) -> int:
        """Delete the files of an LF, or of all; returns how many. Nothing else in the folder is touched."""
        paths = [entry.path for entry in self.entries() if lf is None or entry.lf == lf]
        for path in paths:
            path.unlink(missing_ok=True)
        return len(paths)

    def _paths(self) -> list[Path]:
        return [path for suffix in (SUFFIX, _WHOLE) for path in self.folder.glob(f"*-{'[0-9a-f]' * 32}{suffix}")]


def _read_entry(path: Path) -> CacheEntry:
    if path.suffix == SUFFIX:
        name, records = read_lines(path.read_bytes())
        rows = len({key for _, key, _ in records})
    else:
        name, answer = _read_answer(path)
        rows = 0 if answer is None else len(answer.codes)
    status = path.stat()
    changed = datetime.fromtimestamp(status.st_mtime).astimezone()
    return CacheEntry(name or path.stem[:-33], rows, status.st_size, changed, path)


def _read_answer(path: Path) -> tuple[str | None, Answer | None]:
    """Return the name and the votes of an LF; None for both if the file is missing or damaged."""
    try:
        arrays, header = read_tensors(path, "answer")
    except WeightsError:
        return None, None
    return header["lf"], Answer(tuple(header["values"]), arrays["codes"])


def run_cached(
    lfs: Sequence[LabelingFunction],
    items: Items,
    folder: Path,
    run: Callable[[list[LabelingFunction]], list[Answer]],
    advance: Advance,
) -> list[Answer]:
    """Return the answers of LFs from the cache, or run them and keep the answers; the folder is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CacheError(f"cache is '{folder}', but this folder cannot be made: {error.strerror}") from error
    fingerprint_data = functools.cache(functools.partial(fingerprint_items, items))
    answers: dict[str, Answer | None] = dict.fromkeys(lf.name for lf in lfs)
    files, waiting = {}, []
    for lf in lfs:
        code = fingerprint_lf(lf)  # before it runs: an LF may change what it holds
        if not isinstance(lf, PromptFunction):  # its replies are kept, not its votes
            column = lf.column if isinstance(lf, ValueFunction) and items.has(lf.column) else None
            files[lf.name] = _path(folder, lf.name, f"{code} {fingerprint_data(column)}", _WHOLE)
            answers[lf.name] = _read_answer(files[lf.name])[1]
        if answers[lf.name] is None:
            waiting.append(lf)
            if not isinstance(lf, ColumnFunction | ValueFunction):
                waiting[-1] = copy.copy(lf)
                waiting[-1].cache_file = _path(folder, lf.name, code, SUFFIX)
    advance(items.n * (len(lfs) - len(waiting)))
    for lf, answer in zip(waiting, run(waiting), strict=True):
        answers[lf.name] = answer
        if lf.name in files:
            _write_answer(files[lf.name], lf.name, answer)
    return [answer for answer in answers.values() if answer is not None]


def _path(folder: Path, name: str, content: str, suffix: str) -> Path:
    key = hashlib.sha256(f"{FORMAT} {content}".encode()).hexdigest()
    return folder / f"{re.sub(r'[^A-Za-z0-9_]+', '_', name)[:40]}-{key[:32]}{suffix}"


def _write_answer(path: Path, name: str, answer: Answer) -> None:
    """Keep the votes of an LF, unless it failed or votes for something that JSON does not know."""
    if answer.failures or not all(map(_is_plain, answer.values)):
        return
    codes = answer.codes.astype(np.min_scalar_type(-max(len(answer.values), 1)))
    try:
        write_tensors(path, {"codes": codes}, {"lf": name, "values": answer.values}, "answer")
    except WeightsError as error:
        raise CacheError(f"cache: {error}") from error


def _is_plain(value: object) -> bool:
    return type(value) in (str, int, bool) or (type(value) is float and value - value == 0)
