"""Consent to run a project's `lfs.py`, remembered outside of the project's folder.

A folder beside a table may come from anybody, and opening the table opens it. So its code runs without a question only
if it is the code that this user last ran there.
"""

import hashlib
import os
import sys
from contextlib import suppress
from pathlib import Path

from hyperlabel._core import printable, replacing
from hyperlabel.errors import ProjectError


def require_consent(path: Path, text: str, *, trust: bool) -> None:
    """Refuse code that this user has not run before, unless they trust it or say yes on a terminal."""
    if not (trust or _is_remembered(path, text) or _ask(path, text)):
        raise ProjectError(
            f"'{printable(path)}' is Python that you have not run before, and it would run as you; read it, then open "
            "the project with trust=True (command line: --trust)"
        )
    remember(path, text)


def remember(path: Path, text: str) -> None:
    """Remember the code of a file that this user runs; where nothing can be written, the question comes again."""
    with suppress(OSError, RuntimeError):
        record = _record_of(path)
        record.parent.mkdir(0o700, parents=True, exist_ok=True)
        with replacing(record) as part:
            part.write_text(_hash(text))


def _is_remembered(path: Path, text: str) -> bool:
    try:
        return _record_of(path).read_text() == _hash(text)
    except (OSError, RuntimeError, ValueError):
        return False


def _record_of(path: Path) -> Path:
    """Return the file that holds the hash of a file's code; a RuntimeError if there is no home."""
    state = os.environ.get("XDG_STATE_HOME")
    home = Path(state) if state else Path.home() / ".local" / "state"
    return home / "hyperlabel" / "studio" / _hash(str(path.resolve()))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _ask(path: Path, text: str) -> bool:
    """Ask on a terminal; False without one."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    lines = f"{len(text.splitlines()):,} lines"
    print(f"'{printable(path)}' is Python ({lines}) that you have not run before; it runs as you.", file=sys.stderr)
    print("Read it first. Run it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
