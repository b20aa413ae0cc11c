"""Results that appear whole or not at all: written under another name, then renamed."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hyperlabel.errors import ParameterError


def check_replaceable(path: Path) -> None:
    """Refuse a result that cannot be put where it shall go, before any work is done."""
    if not path.parent.is_dir():
        raise ParameterError(f"out is '{path}', but there is no folder '{path.parent}'; make it first")
    if path.is_dir() and not _is_parquet_folder(path):
        raise ParameterError(f"out is '{path}', a folder that holds more than parquet files; expected another name")


def _is_parquet_folder(path: Path) -> bool:
    """Whether a folder holds what an engine writes, and nothing else."""
    return all(entry.suffix == ".parquet" or entry.name.startswith(("_", ".")) for entry in path.iterdir())


def write_whole(path: Path, write: Callable[[Path], None], failures: tuple[type[BaseException], ...]) -> None:
    """Let `write` write a file or folder beside `path`, then put it in its place.

    Raises:
        ParameterError: One of the failures, or the disk's; nothing is left but what was at `path` before.
    """
    try:
        work = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    except OSError as error:
        raise ParameterError(f"out is '{path}', which cannot be written: {error.strerror}") from error
    try:
        part = work / path.name
        write(part)
        _replace(part, path, work / "old")
    except BaseException as error:
        if not isinstance(error, (*failures, OSError)):
            raise
        raise ParameterError(f"out is '{path}', which cannot be written: {reason_of(error)}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _replace(part: Path, path: Path, old: Path) -> None:
    """Rename; a folder cannot be renamed over what is there, which is moved away first."""
    if path.exists() and (part.is_dir() or path.is_dir()):
        os.rename(path, old)
        try:
            os.rename(part, path)
        except OSError:
            os.rename(old, path)
            raise
    else:
        os.replace(part, path)


def reason_of(error: BaseException) -> str:
    """The line of an error that says most: the last one of a worker's traceback, else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    line = raised[-1] if "Traceback" in str(error) and raised else lines[0] if lines else type(error).__name__
    return line.rstrip(".")[:300]
