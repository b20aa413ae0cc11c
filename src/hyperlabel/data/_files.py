"""Files of a table: found by name, or made of a stream, of compressed text and of text in another encoding.

A format is found by the ending of a name or by the first bytes. Errors of the libraries that read files become one.
"""

import atexit
import codecs
import importlib
import mmap
import os
import re
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import is_folder, printable
from hyperlabel.errors import HyperlabelError, TableWarning, VotesError, require


@contextmanager
def reading(name: str, what: str) -> Iterator[None]:
    """Turn any error of a reader into a `VotesError` about `name`, which should be a `what`; a panic of Polars, too."""
    try:
        with interruptible():
            yield
    except HyperlabelError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise VotesError(
            f"'{printable(name)}' cannot be read: {reason_of(error)}. Is it a complete {what} file?"
        ) from error


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn the error that DuckDB raises on Ctrl-C into a KeyboardInterrupt."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from error


def reason_of(error: BaseException) -> str:
    """Return the most useful line of an error: the last one of a worker's traceback, else the first."""
    if isinstance(error, MemoryError):
        return "it needs more memory than is available"
    if "No module named 'hyperlabel'" in str(error):
        return (
            "its workers do not have hyperlabel; install it there (pip install hyperlabel), or send an environment "
            "that has it: spark.archives, spark.addArtifacts"
        )
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    line = raised[-1] if "Traceback" in text and raised else lines[0] if lines else type(error).__name__
    return printable(line.rstrip(".")[:300])


Compression = Literal["gzip", "zstd"]


@dataclass(frozen=True)
class Kind:
    """A kind of file. Its module has `open_files` (or, for texts, `scan`), and `sink`."""

    module: str
    name: str  # in messages
    endings: dict[str, str]  # and the usual separator of cells in a text
    magic: tuple[bytes, ...] = ()  # first bytes; a text has none
    is_text: bool = False  # may be compressed, in any encoding, and joined with other texts


KINDS = {  # a format is a module and a line here
    "csv": Kind("_csv", "csv", {".csv": ",", ".tsv": "\t"}, is_text=True),
    "json": Kind("_jsonl", "JSON lines", {".jsonl": "", ".ndjson": ""}, is_text=True),
    "parquet": Kind("_parquet", "parquet", {".parquet": "", ".pq": ""}, (b"PAR1",)),
    "arrow": Kind("_arrow", "Arrow", {".arrow": "", ".feather": "", ".ipc": ""}, (b"ARROW1", b"\xff\xff\xff\xff")),
}
_ENDINGS = {ending: kind for kind, about in KINDS.items() for ending in about.endings}
_COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}
_COMPRESSED: dict[bytes, Compression] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}

ENDINGS = ", ".join([*_ENDINGS, *(text + packed for text in (".csv", ".tsv", ".jsonl") for packed in _COMPRESSIONS)])
"""Endings of tables, for messages."""


@dataclass(frozen=True)
class Format:
    r"""Format of a file: its kind, the separator of a csv, and the compression of a text.

    >>> Format.of_name("votes.TSV.gz")
    Format(kind='csv', separator='\t', compression='gzip')
    """

    kind: str
    separator: str = ""
    compression: Compression | None = None

    @classmethod
    def of_name(cls, name: str) -> "Format | None":
        """Return the format of a name's ending, in upper or lower case; None for other endings."""
        stem, dot, last = name.lower().rpartition(".")
        compression = _COMPRESSIONS.get(dot + last)
        ending = dot + (stem.rpartition(".")[2] if compression else last)
        kind = _ENDINGS.get(ending)
        if kind is None or (compression and not KINDS[kind].is_text):
            return None
        return cls(kind, KINDS[kind].endings[ending], compression)

    @classmethod
    def of_content(cls, head: bytes) -> "Format":
        """Return the format that the first bytes show: parquet, Arrow, JSON lines by a brace, else csv."""
        for kind, about in KINDS.items():
            if head.startswith(about.magic):
                return cls(kind)
        for mark in (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            head = head.removeprefix(mark)
        text = head.replace(b"\0", b"").lstrip()  # the ASCII in it, whatever its encoding
        return cls("json") if text.startswith(b"{") else cls("csv", ",")

    @property
    def name(self) -> str:
        """Return the name of the format, for messages."""
        return KINDS[self.kind].name

    @property
    def module(self) -> Any:
        """Return the module that reads and writes it."""
        return importlib.import_module(f"hyperlabel.data.{KINDS[self.kind].module}")


def compression_of(head: bytes) -> Compression | None:
    """Return the compression that the first bytes show."""
    return next((compression for magic, compression in _COMPRESSED.items() if head.startswith(magic)), None)


Bytes = NDArray[np.uint8]
T = TypeVar("T")

STDIN = "-"
_DESCRIPTORS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")  # names of what is already open, whose endings mean nothing
_NULL = "__HIVE_DEFAULT_PARTITION__"  # Hive's name of a null
_WITHIN = "::"  # between a DuckDB file and a table or query in it
_BLOCK = 1 << 20  # bytes that are held at a time
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_WINDOWS, _NOT_WINDOWS = re.compile(rb"[\x80-\x9f]"), re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_REMEDIES = {
    ".json": ". Write one object per line, and name it .jsonl",
    ".txt": ". If it is a csv, name it so",
    **dict.fromkeys((".xls", ".xlsx", ".ods"), ". Save the sheet as csv"),
}


@dataclass(frozen=True)
class Source:
    """Files that together are a table."""

    name: str  # the name that the user gave
    files: tuple[Path, ...]  # in the order of their rows
    format: Format
    root: Path | None = None  # folders below it such as `day=1` are columns; None if no folder is

    def hive(self, file: Path) -> dict[str, str | None]:
        """Return the columns in the path of a file, with their values."""
        if self.root is None:
            return {}
        pairs = (part.partition("=") for part in file.relative_to(self.root).parent.parts if "=" in part)
        return {unquote(name): None if value == _NULL else unquote(value) for name, _, value in pairs}


@dataclass(frozen=True)
class Query:
    """Table or query of a DuckDB file."""

    name: str  # the name that the user gave
    file: Path
    sql: str  # name of a table, or a query; empty for the only table of the file


class OpenedFiles(NamedTuple):
    """Files of one format, opened."""

    files: tuple[Path, ...]  # in order: temporary ones if a file is compressed or not UTF-8
    frames: list[tuple[dict[str, str | None], Any]]  # values from the folders of a path, and rows as a LazyFrame
    metadata: dict[str, str] = {}
    alike: bool = True  # whether all files have the same columns in the same order


def find_source(source: str | Path) -> Source | Query:
    """Return the files that a name means.

    A name that exists is that file or folder, whatever characters it has; any other name is a pattern.
    `-`, a pipe and a terminal are read to their end. After a DuckDB file, `::` names a table or a query of it.
    """
    name = os.fspath(source)
    if name == STDIN:
        return _spool_stream(name)
    if not os.path.exists(name):
        return _find_query(name) or _find_pattern(name)
    path = Path(name).absolute()  # the start of a relative name, such as ~ or file:, has a meaning to some libraries
    if is_folder(path):
        return _find_folder(path, name)
    if not stat.S_ISREG(path.stat().st_mode) or name.startswith(_DESCRIPTORS):
        return _spool_stream(name)
    if _is_duckdb(path):
        return Query(name, path, "")
    try:
        str(path).encode()
    except UnicodeEncodeError:  # no library can open a name that is not UTF-8
        path = link_spooled(path)
    return Source(name, (path,), _format_of(Path(name)))


def _is_duckdb(path: Path) -> bool:
    with reading(str(path), "table"):
        return _head(path)[8:12] == b"DUCK"


def _find_query(name: str) -> Query | None:
    """Return a table or query of a DuckDB file; None if the name has another form."""
    file, within, sql = name.partition(_WITHIN)
    if not within or not os.path.isfile(file):
        return None
    if not _is_duckdb(Path(file)):
        raise VotesError(f"'{printable(name)}' names a part of '{printable(file)}', which is not a DuckDB file")
    if not sql.strip():
        raise VotesError(f"'{printable(name)}' names nothing after {_WITHIN}; expected a table or a SELECT")
    return Query(name, Path(file), sql.strip())


def _find_pattern(name: str) -> Source:
    if not has_magic(name):
        raise VotesError(f"there is no file or folder '{printable(name)}'; check the path")
    files = sorted(Path(match).absolute() for match in glob(name, recursive=True) if os.path.isfile(match))
    if not files:
        raise VotesError(f"no file matches '{printable(name)}'; check the pattern")
    root = Path(name).parent
    while has_magic(str(root)):
        root = root.parent
    return _combine(name, files, root.absolute())


def _find_folder(folder: Path, name: str) -> Source:
    """Return all tables below a folder; files and folders that are hidden or start with _ are not data."""
    files = []
    for root, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(part for part in folders if not part.startswith((".", "_")))
        for link in (Path(root, part) for part in folders):  # below a link to a folder that it is in, there is no end
            # The path to it may lead through links, too.
            if link.is_symlink() and any(link.samefile(above) for above in link.parents):
                raise VotesError(
                    f"'{printable(name)}' has the link '{printable(link)}' to a folder that it is in; remove it"
                )
        files += [Path(root, file) for file in names if not file.startswith((".", "_")) and Format.of_name(file)]
    if not files:
        raise VotesError(f"'{printable(name)}' is a folder without tables; expected files that end in {ENDINGS}")
    return _combine(name, sorted(files), folder)


def _combine(name: str, files: list[Path], root: Path) -> Source:
    """Return files as one table; refuse files of two formats, or with other hive columns than the first."""
    formats = [_format_of(file) for file in files]
    source = Source(name, tuple(files), formats[0], root)
    columns = list(source.hive(files[0]))
    for file, format in zip(files, formats, strict=True):
        if format.kind != formats[0].kind:
            raise VotesError(
                f"'{printable(name)}' holds '{printable(files[0].name)}' and '{printable(file.name)}', which are of "
                "two formats; name one, or a pattern such as '*.parquet'"
            )
        if list(source.hive(file)) != columns:
            raise VotesError(
                f"'{printable(name)}': the folders of '{printable(files[0])}' give "
                f"{', '.join(map(printable, columns)) or 'no columns'}, those of '{printable(file)}' give others; "
                "expected the same columns everywhere"
            )
    return source


def _format_of(path: Path) -> Format:
    format = Format.of_name(path.name)
    if format is None:
        remedy = _REMEDIES.get(path.suffix.lower(), "")
        raise VotesError(f"'{printable(path)}' ends in '{printable(path.suffix)}'; expected one of {ENDINGS}{remedy}")
    return format


def _spool_stream(name: str) -> Source:
    """Copy a stream, which can be read only once, to a temporary file; its content shows the format."""
    with reading(name, "table"):
        if name == STDIN:
            file = spool(_blocks(sys.stdin.buffer))
        else:
            with open(name, "rb", buffering=0) as stream:
                mode = os.fstat(stream.fileno()).st_mode
                if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not stream.isatty()):  # /dev/zero has no end
                    raise VotesError(
                        f"'{printable(name)}' is a device; expected a file, a folder, a pipe, or {STDIN} for the input"
                    )
                file = spool(_blocks(stream))
        compression = compression_of(_head(file))
        if compression is not None:
            file = spool(_decompress(file, compression))
    return Source(name, (file,), Format.of_content(_head(file)))


def _head(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(256)


def _blocks(file: Any) -> Iterator[Any]:
    while block := file.read(_BLOCK):
        yield block


def map_blocks(look: Callable[[Bytes], T], path: Path) -> list[T]:
    """Apply a function to all bytes of a file, in blocks of whole lines, in several threads."""
    if not path.stat().st_size:
        return []
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    cuts = [0]
    while cuts[-1] < len(data):
        cuts.append(data.find(b"\n", cuts[-1] + _BLOCK) + 1 or len(data))
    blocks = (np.frombuffer(data, np.uint8, stop - start, start) for start, stop in pairwise(cuts))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(look, blocks))


# Temporary files, removed when the process ends.

_FOLDERS: dict[int, str] = {}  # by process: a fork has its own


def spool(blocks: Iterable[bytes] = ()) -> Path:
    """Return a temporary file with these bytes."""
    process = os.getpid()
    if process not in _FOLDERS:
        _FOLDERS[process] = tempfile.mkdtemp(prefix="hyperlabel-")
    descriptor, name = tempfile.mkstemp(dir=_FOLDERS[process])
    with open(descriptor, "wb") as file:
        file.writelines(blocks)
    return Path(name)


def link_spooled(file: Path) -> Path:
    """Return another name for a file, made of letters only, with the same ending."""
    path = spool()
    link = path.with_suffix(file.suffix)
    link.symlink_to(file.resolve())
    path.unlink()
    return link


def discard_spooled() -> None:
    """Remove the temporary files of this process, for instance before it ends on a signal."""
    folder = _FOLDERS.pop(os.getpid(), None)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


atexit.register(discard_spooled)


# Compression and encoding of texts.


def to_plain(path: Path, compression: Compression | None, encoding: str | None) -> Path:
    """Return a text file without compression, in UTF-8 if its encoding is given or marked by its first bytes."""
    if compression is not None:
        path = spool(_decompress(path, compression))
    encoding = codecs.lookup(encoding or "utf-8").name
    if encoding == "utf-8":
        head = _head(path)
        encoding = next((marked for mark, marked in _MARKS.items() if head.startswith(mark)), encoding)
    return path if encoding == "utf-8" else spool(_transcode(path, encoding))


def to_utf8(path: Path, name: str) -> Path:
    """Return a text file that is not UTF-8 as UTF-8, from Windows-1252 or Latin-1, with a warning."""
    text = path.read_bytes()
    # Windows-1252 has quotes, dashes and the euro where Latin-1 has only control codes.
    is_windows = _WINDOWS.search(text) is not None and _NOT_WINDOWS.search(text) is None
    warnings.warn(
        f"'{printable(name)}' is not UTF-8 and was read as {'Windows-1252' if is_windows else 'Latin-1'}; name another "
        "encoding if texts look wrong",
        TableWarning,
        stacklevel=2,
    )
    return spool(_transcode(path, "cp1252" if is_windows else "latin-1"))


def _decompress(path: Path, compression: Compression) -> Iterator[bytes]:
    if compression == "gzip":
        import gzip

        with gzip.open(path) as file:
            yield from _blocks(file)
    else:
        require("pyarrow", extra="duckdb")
        import pyarrow

        with pyarrow.CompressedInputStream(str(path), "zstd") as file:
            yield from _blocks(file)


def _transcode(path: Path, encoding: str) -> Iterator[bytes]:
    """Yield the text of a file as UTF-8 without a byte order mark."""
    with path.open(encoding=encoding, newline="") as file:
        for number, text in enumerate(_blocks(file)):
            yield (text if number else text.removeprefix("\ufeff")).encode()


def holds_utf8(block: Bytes) -> bool:
    """Return whether a block is UTF-8; refuse null bytes."""
    if block.min() == 0:
        raise ValueError("it has null bytes, like UTF-16 without a mark; if so, name the encoding: utf-16-le")
    try:
        return bool(block.max() < 128 or str(block.data, "utf-8"))
    except UnicodeDecodeError:
        return False
