"""Files and folders that appear whole or not at all: written in a hidden folder next to them, then moved.

This holds even if the process is killed. The hidden folder of a killed process, `.<name>.<8 random characters>.part`,
is removed by the next run that writes the same name. A folder cannot replace another in one step: the old one is moved
aside first, and a kill at that moment leaves it in the hidden folder until that next run, which puts it back.
A loss of power is not covered: nothing is forced to the disk.
"""

import atexit
import errno
import hashlib
import os
import re
import secrets
import select
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from glob import escape
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows cannot lock a folder: what a killed process left stays there
    fcntl = None  # type: ignore[assignment]

_LIVE: dict[Path, Path] = {}  # the part folders of this process, and what they will replace
_LONGEST = 200  # bytes of a name that fit into the name of a part folder


# Unlike those of Path, they return False for a name that no file can have, too long or with a null byte.
is_file, is_folder = os.path.isfile, os.path.isdir


def timestamp() -> str:
    """Return the time for metadata, in UTC; `SOURCE_DATE_EPOCH` replaces it, for reproducible files."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    return now.isoformat(timespec="seconds")


_URL = re.compile(r"(s3a?|gs|gcs|az|azure|abfss?|adl|hf|https?|hdfs|dbfs)://")


def is_url(name: object) -> bool:
    """Return whether a name is that of an object in a store, not of a file here.

    >>> is_url("s3://bucket/votes.parquet"), is_url("votes.parquet")
    (True, False)
    """
    return isinstance(name, str) and _URL.match(name) is not None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a name to write a file or folder to, which then replaces `path`, or vanishes if writing fails.

    A file keeps the permissions of the one it replaces, and has those of any new file otherwise. A link stays a link:
    its target is replaced. A device, a pipe or a socket is never replaced, nor a folder by a file.

    Raises:
        OSError: Nothing can be written there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.txt")
    ...     with replacing(path) as part:
    ...         _ = part.write_text("whole")
    ...     path.read_text(), len(list(Path(folder).iterdir()))
    ('whole', 1)
    """
    path = Path(os.path.realpath(path)) if path.is_symlink() else path.absolute()  # `~` is the name of a folder here
    if os.path.exists(path) and not (is_file(path) or is_folder(path)):
        raise FileExistsError(errno.EEXIST, "it is a device, a pipe or a socket, not a file", str(path))
    sweep(path)
    folder, lock = _make_folder(path)
    try:
        part, usual = folder / "new", folder / "usual"  # a file with the permissions that new files get here
        usual.touch()
        yield part
        if part.is_file():
            if is_folder(path):
                raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
            shutil.copymode(path if is_file(path) else usual, part)
        elif os.path.lexists(path):
            os.rename(path, folder / "old")
        os.replace(part, path)
    finally:
        _remove(folder, path)
        if lock is not None:
            os.close(lock)


def sweep(path: Path) -> None:
    """Remove what killed processes left while writing `path`, after putting back an old result that was moved aside."""
    for folder in path.parent.glob(f"{escape(_prefix(path))}????????.part"):
        lock = _try_lock(folder)
        if lock is not None:
            _remove(folder, path)
            os.close(lock)


def discard_parts() -> None:
    """Remove the part folders of this process, for instance before it ends on a signal."""
    for folder, path in list(_LIVE.items()):
        _remove(folder, path)


atexit.register(discard_parts)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LIVE.clear)  # they are the parent's


def _make_folder(path: Path) -> tuple[Path, int | None]:
    """Make a folder next to `path` that nobody else can guess or enter, locked while this process lives."""
    while True:
        folder = path.parent / f"{_prefix(path)}{secrets.token_hex(4)}.part"
        _LIVE[folder] = path  # before it exists: an interrupt leaves nothing
        try:
            folder.mkdir(0o700)
            lock = _try_lock(folder)
            if lock is not None or folder.is_dir():  # else another process swept it before the lock
                return folder, lock
        except FileExistsError:  # somebody else's
            pass
        except BaseException:  # an interrupt right here
            _remove(folder, path)
            raise
        _LIVE.pop(folder)


def _try_lock(folder: Path) -> int | None:
    """Return an open descriptor that locks a folder; None if another process has it, or it cannot be locked."""
    if fcntl is None:
        return None
    with suppress(OSError):
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.stat(folder).st_ino == os.fstat(lock).st_ino:
                return lock
        except OSError:
            os.close(lock)
            raise
        os.close(lock)
    return None


def _remove(folder: Path, path: Path) -> None:
    """Remove a part folder; first put back the old result in it if `path` is gone."""
    try:
        if os.path.lexists(folder / "old") and not os.path.lexists(path):
            os.rename(folder / "old", path)
        shutil.rmtree(folder, ignore_errors=True)
        _LIVE.pop(folder, None)
    except KeyboardInterrupt:  # Ctrl-C during Polars' work is raised twice, the second time perhaps here
        _remove(folder, path)
        raise


def _prefix(path: Path) -> str:
    name = os.fsencode(path.name)
    return f".{hashlib.sha256(name).hexdigest() if len(name) > _LONGEST else path.name}."


def write_all(out: BinaryIO, data: bytes) -> None:
    """Write all bytes, however many the system accepts at a time; nothing stays in a buffer."""
    out.flush()
    try:
        descriptor = out.fileno()
    except OSError:  # not a file of the system: a buffer in memory, which accepts everything
        out.write(data)
        return
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:  # a full pipe that is non-blocking
            select.select([], [descriptor], [])
