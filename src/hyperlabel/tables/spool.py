"""Streams kept in temporary files: what can be read only once, or only as bytes, becomes an ordinary file."""

import atexit
import codecs
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from hyperlabel.errors import require
from hyperlabel.tables.formats import Compression

BLOCK = 1 << 20  # bytes that are held at a time


def spool(blocks: Iterable[bytes]) -> Path:
    """A temporary file with these bytes; it is removed when the process ends.

    >>> spool([b"a,b", b";"]).read_bytes()
    b'a,b;'
    """
    descriptor, name = tempfile.mkstemp(dir=_folder())
    with open(descriptor, "wb") as file:
        for block in blocks:
            file.write(block)
    return Path(name)


def spool_path() -> Path:
    """The name of a temporary file that can be written; it is removed when the process ends."""
    return spool(())


def link_spooled(file: Path) -> Path:
    """Another name for a file, made of letters only, with the same ending; removed when the process ends."""
    path = spool_path()
    link = path.with_suffix(file.suffix)
    link.symlink_to(file.resolve())
    path.unlink()
    return link


_FOLDERS: dict[int, str] = {}  # by process: a fork has its own


def _folder() -> str:
    """The folder of this process's temporary files."""
    process = os.getpid()
    if process not in _FOLDERS:
        _FOLDERS[process] = tempfile.mkdtemp(prefix="hyperlabel-")
    return _FOLDERS[process]


def discard_spooled() -> None:
    """Remove the temporary files of this process, for instance before it ends on a signal."""
    folder = _FOLDERS.pop(os.getpid(), None)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


atexit.register(discard_spooled)


def read_blocks(file: BinaryIO | Any) -> Iterator[bytes]:
    """The bytes of an open file, a block at a time."""
    while block := file.read(BLOCK):
        yield block


def decompress(path: Path, compression: Compression) -> Iterator[bytes]:
    """The bytes of a compressed file, a block at a time."""
    with _open_compressed(path, compression) as file:
        yield from read_blocks(file)


def _open_compressed(path: Path, compression: Compression) -> Any:
    if compression == "gzip":
        import gzip

        return gzip.open(path)
    require("pyarrow", extra="duckdb")
    import pyarrow

    return pyarrow.CompressedInputStream(str(path), "zstd")


def transcode(blocks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Text of some encoding as UTF-8 without a byte order mark, a block at a time."""
    decoder = codecs.getincrementaldecoder(encoding)()
    first = True
    for block in blocks:
        text = decoder.decode(block)
        yield (text.removeprefix("\ufeff") if first else text).encode()
        first = first and not text
    yield decoder.decode(b"", final=True).encode()
