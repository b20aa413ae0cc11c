"""Files and folders that appear whole or not at all: written in a hidden folder next to them, then moved.

This holds even if the process is killed at any time: the old result is there, or the new one. The hidden
folder of a killed process, `.<name>.<8 random characters>.part`, is removed by the next run that writes the same name.
A loss of power is not covered: nothing is forced to the disk.
"""

import atexit
import ctypes
import errno
import hashlib
import os
import secrets
import select
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows cannot lock a folder: what a killed process left stays there
    fcntl = None  # type: ignore[assignment]

_LIVE: dict[Path, Path] = {}  # the part folders of this process, and what they will replace
_LONGEST = 200  # bytes of a name that fit into the name of a part folder
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # on Linux


def is_file(path: str | Path) -> bool:
    """Whether a name is that of a file; False for a name that no file can have, too long or with a null byte."""
    return os.path.isfile(path)  # unlike Path.is_file, it raises nothing


def is_folder(path: str | Path) -> bool:
    """Whether a name is that of a folder; see `is_file`."""
    return os.path.isdir(path)


def may_be_path(path: object) -> bool:
    """Whether the system could have a file of that name: half of a character is none, nor is a null byte.

    >>> may_be_path("a.csv"), may_be_path(3)
    (True, False)
    """
    try:
        return isinstance(path, str | Path) and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new name to write a file or folder to; it takes the place of `path`, or vanishes if writing fails.

    A file keeps the permissions of the one it replaces, and has those of any new file otherwise. A link stays a link:
    what it leads to is replaced. A device, a pipe or a socket is never replaced, nor a folder by a file: it may hold
    what its owner never meant to give up.

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
    with _part_folder(path) as folder:
        mode = _mode_of(path, folder)
        part = folder / "new"
        yield part
        if part.is_file():
            if is_folder(path):
                raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
            part.chmod(mode)
        _put(part, path, folder / "old")


def sweep(path: Path) -> None:
    """Remove what killed processes left while writing `path`; an old result that was moved away is put back.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, ".a.txt.abcd1234.part").mkdir()
    ...     sweep(Path(folder, "a.txt"))
    ...     list(Path(folder).iterdir())
    []
    """
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


@contextmanager
def _part_folder(path: Path) -> Iterator[Path]:
    """A new folder next to `path` that nobody else can guess or enter, locked while this process lives."""
    folder, lock = _make_locked(path)
    try:
        yield folder
    finally:
        _remove(folder, path)
        if lock is not None:
            os.close(lock)


def _make_locked(path: Path) -> tuple[Path, int | None]:
    while True:
        folder = path.parent / f"{_prefix(path)}{secrets.token_hex(4)}.part"
        _LIVE[folder] = path  # first, so that nothing is left by an interrupt right after
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            _LIVE.pop(folder)
            if isinstance(error, FileExistsError):
                continue
            raise
        try:
            lock = _try_lock(folder)
            if lock is not None or folder.is_dir():  # else a sweep was faster than the lock
                return folder, lock
        except BaseException:  # an interrupt right here
            _remove(folder, path)
            raise
        _LIVE.pop(folder)


def _try_lock(folder: Path) -> int | None:
    """An open descriptor that locks a folder; None if another process has it, or it cannot be locked."""
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
    """Remove a part folder; first put back an old result in it whose place is empty."""
    try:
        _clear(folder, path)
    except KeyboardInterrupt:  # Ctrl-C during Polars' work is raised twice, the second time perhaps here
        _clear(folder, path)
        raise


def _clear(folder: Path, path: Path) -> None:
    if os.path.lexists(folder / "old") and not os.path.lexists(path):
        os.rename(folder / "old", path)
    shutil.rmtree(folder, ignore_errors=True)
    _LIVE.pop(folder, None)


def _prefix(path: Path) -> str:
    name = path.name
    if len(os.fsencode(name)) > _LONGEST:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return f".{name}."


def _mode_of(path: Path, folder: Path) -> int:
    """The permissions of a file, or those that new files get here, found by making one."""
    if path.is_file():
        return path.stat().st_mode & 0o7777
    probe = folder / "mode"
    probe.touch()
    mode = probe.stat().st_mode & 0o7777
    probe.unlink()
    return mode


def _put(part: Path, path: Path, old: Path) -> None:
    """Put a part in its place: at every moment the old result or the new one is there, or `sweep` puts back the old."""
    if not os.path.lexists(path) or (part.is_file() and path.is_file()):
        os.replace(part, path)
    elif not _exchange(part, path):
        os.rename(path, old)
        os.rename(part, path)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step; False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL):
        return False
    raise OSError(code, os.strerror(code), str(other))


def write_all(out: BinaryIO, data: bytes) -> None:
    """Write all bytes, however many the system accepts at a time; nothing stays in a buffer.

    >>> import tempfile
    >>> with tempfile.TemporaryFile(buffering=0) as file:
    ...     write_all(file, b"whole")
    ...     file.tell()
    5
    """
    out.flush()
    try:
        descriptor = out.fileno()
    except OSError:  # not a file of the system: a buffer in memory, which takes everything
        out.write(data)
        return
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:  # a pipe that somebody made non-blocking is full
            select.select([], [descriptor], [])
