"""Where a table is: from the name that users give to files."""

import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from urllib.parse import unquote

from hyperlabel.errors import VotesError
from hyperlabel.files import is_folder
from hyperlabel.shown import printable
from hyperlabel.tables.failures import reading
from hyperlabel.tables.formats import ENDINGS, Format, compression_of
from hyperlabel.tables.spool import decompress, link_spooled, read_blocks, spool

STDIN = "-"
_DESCRIPTORS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")  # names of what is already open, whose endings mean nothing
_NULL = "__HIVE_DEFAULT_PARTITION__"  # what Hive writes for a null
_WITHIN = "::"  # between a DuckDB file and a table or query in it


@dataclass(frozen=True)
class Source:
    """Files that together are a table."""

    name: str  # what the user called it
    files: tuple[Path, ...]  # the files, in the order of their rows
    format: Format  # their format
    root: Path | None = None  # the folder below which parts of a path such as `day=1` are columns; None if they are not

    def hive(self, file: Path) -> dict[str, str | None]:
        """The columns in the path of a file, with their values."""
        if self.root is None:
            return {}
        pairs = (part.partition("=") for part in file.relative_to(self.root).parent.parts if "=" in part)
        return {unquote(name): None if value == _NULL else unquote(value) for name, _, value in pairs}


@dataclass(frozen=True)
class Query:
    """A table or query of a DuckDB file."""

    name: str  # what the user called it
    file: Path
    what: str  # the name of a table, or a query; empty for the one table that the file has


def find_source(source: str | Path) -> Source | Query:
    """The files that a name means.

    A name that exists is that file or folder, whatever characters it has; any other name is a pattern.
    `-`, a pipe and a terminal are read to their end. After a DuckDB file, `::` names a table or a query of it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "votes[1].CSV")
    ...     _ = path.write_text("a")
    ...     find_source(path).files == (path,)
    True
    """
    name = os.fspath(source)
    if name == STDIN:
        return _spool_stream(name)
    if not os.path.exists(name):
        return _find_within(name) or _find_pattern(name)
    path = Path(name).absolute()  # the start of a relative name, such as ~ or file:, has a meaning to some libraries
    if is_folder(path):
        return _find_folder(path, name)
    if not stat.S_ISREG(path.stat().st_mode) or name.startswith(_DESCRIPTORS):
        _refuse_device(path, name)
        return _spool_stream(name)
    if is_duckdb(path):
        return Query(name, path, "")
    return Source(name, (_openable(path),), _format_of(Path(name)))


def _openable(path: Path) -> Path:
    """A file as every library opens it: they cannot open a name that is not UTF-8."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return link_spooled(path)
    return path


def _refuse_device(path: Path, name: str) -> None:
    """Refuse what need not have an end, such as /dev/zero; a terminal is a device as well, and ends."""
    mode = path.stat().st_mode
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not _is_terminal(path)):
        raise VotesError(
            f"'{printable(name)}' is a device; expected a file, a folder, a pipe, or {STDIN} for the input"
        )


def _is_terminal(path: Path) -> bool:
    with reading(str(path), "table"), path.open("rb", buffering=0) as file:
        return file.isatty()


def is_duckdb(path: Path) -> bool:
    """Whether a file is a DuckDB database, by its mark."""
    with reading(str(path), "table"), path.open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def _find_within(name: str) -> Query | None:
    """A table or query of a DuckDB file; None if the name has another form."""
    file, within, what = name.partition(_WITHIN)
    if not within or not os.path.isfile(file):
        return None
    if not is_duckdb(Path(file)):
        raise VotesError(f"'{printable(name)}' names a part of '{printable(file)}', which is not a DuckDB file")
    if not what.strip():
        raise VotesError(f"'{printable(name)}' names nothing after {_WITHIN}; expected a table or a SELECT")
    return Query(name, Path(file), what.strip())


def _find_pattern(name: str) -> Source:
    if not has_magic(name):
        raise VotesError(f"there is no file or folder '{printable(name)}'; check the path")
    files = sorted(Path(found).absolute() for found in glob(name, recursive=True) if os.path.isfile(found))
    if not files:
        raise VotesError(f"no file matches '{printable(name)}'; check the pattern")
    fixed = Path(*_until(Path(name).parent.parts)).absolute()
    return _check_hive(Source(name, tuple(files), _one_format(name, files), fixed))


def _until(parts: Sequence[str]) -> list[str]:
    """The parts of a path before the first pattern."""
    magic = next((place for place, part in enumerate(parts) if has_magic(part)), len(parts))
    return list(parts[:magic])


def _find_folder(folder: Path, name: str) -> Source:
    """All tables below a folder; files and folders that are hidden or start with _ are not data."""
    files = []
    for root, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(part for part in folders if not part.startswith((".", "_")))
        _refuse_circle(root, folders, name)
        files += [Path(root, file) for file in names if not file.startswith((".", "_")) and Format.of_name(file)]
    if not files:
        raise VotesError(f"'{printable(name)}' is a folder without tables; expected files that end in {ENDINGS}")
    files.sort()
    return _check_hive(Source(name, tuple(files), _one_format(name, files), folder))


def _refuse_circle(root: str, folders: Sequence[str], name: str) -> None:
    """Refuse a link to a folder that it is in: there is no end to what is below it."""
    for link in (Path(root, part) for part in folders):
        # The way to it may lead through links, too.
        if link.is_symlink() and any(link.samefile(above) for above in link.parents):
            raise VotesError(
                f"'{printable(name)}' has the link '{printable(link)}' to a folder that it is in; remove it"
            )


def _check_hive(source: Source) -> Source:
    """Refuse files whose folders give other columns than those of the first file."""
    first = list(source.hive(source.files[0]))
    odd = next((file for file in source.files if list(source.hive(file)) != first), None)
    if odd is not None:
        shown = ", ".join(map(printable, first)) or "no columns"
        raise VotesError(
            f"'{printable(source.name)}': the folders of '{printable(source.files[0])}' give {shown}, those of "
            f"'{printable(odd)}' give others; expected the same columns everywhere"
        )
    return source


def _one_format(name: str, files: Sequence[Path]) -> Format:
    formats = {path: _format_of(path) for path in files}
    first = formats[files[0]]
    odd = next((path for path in files if formats[path].kind != first.kind), None)
    if odd is not None:
        raise VotesError(
            f"'{printable(name)}' holds '{printable(files[0].name)}' and '{printable(odd.name)}', which are of two "
            "formats; name one, or a pattern such as '*.parquet'"
        )
    return first


_REMEDIES = {
    ".json": ". Write one object per line, and name it .jsonl",
    ".txt": ". If it is a csv, name it so",
    ".xls": ". Save the sheet as csv",
    ".xlsx": ". Save the sheet as csv",
    ".ods": ". Save the sheet as csv",
}


def _format_of(path: Path) -> Format:
    found = Format.of_name(path.name)
    if found is None:
        remedy = _REMEDIES.get(path.suffix.lower(), "")
        raise VotesError(f"'{printable(path)}' ends in '{printable(path.suffix)}'; expected one of {ENDINGS}{remedy}")
    return found


def _spool_stream(name: str) -> Source:
    """A stream that can be read only once, as a temporary file; its content shows the format."""
    with reading(name, "table"):
        if name == STDIN:
            file = spool(read_blocks(sys.stdin.buffer))
        else:
            with open(name, "rb") as stream:
                file = spool(read_blocks(stream))
        compression = compression_of(_head(file))
        if compression is not None:
            file = spool(decompress(file, compression))
    return Source(name, (file,), Format.of_content(_head(file)))


def _head(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(256)
