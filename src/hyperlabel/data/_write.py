"""Writers of tables and texts: every file is written whole or not at all."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hyperlabel._core import is_folder, is_url, printable, printable_lines, replacing, write_all
from hyperlabel.data._files import ENDINGS, Format, reason_of, spool
from hyperlabel.data._files import STDIN as STDOUT
from hyperlabel.errors import ParameterError, require

_BATCH = 1 << 16  # rows that are held at a time
# Files in a folder that Dask or Spark wrote: only such a folder is replaced.
_PARTS, _MARKS = (".parquet", ".crc"), ("_SUCCESS", "_metadata", "_common_metadata")


def write_table(
    frame: Any, target: str | Path, *, metadata: Mapping[str, str] | None = None, argument: str = "out"
) -> None:
    r"""Write a table in the format of the target's ending; it appears whole or not at all.

    Args:
        frame: A Polars DataFrame or LazyFrame; a lazy one is streamed.
        target: A name that ends in .csv, .tsv, .jsonl (each also .gz and .zst), .parquet or .arrow, in any case;
            `-` for csv to standard output.
        metadata: Strings that a parquet or Arrow file keeps; other formats have no room for them.
        argument: Name of the target in errors.

    Raises:
        ParameterError: It cannot be written: only what was there before remains.

    >>> import polars as pl, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(pl.DataFrame({"a": ["x", None]}), Path(folder, "a.csv"))
    ...     Path(folder, "a.csv").read_text()
    'a\nx\n\n'
    """
    require("polars", extra="cli")
    import polars as pl

    if os.fspath(target) == STDOUT:
        write_stdout(frame)
        return
    format = check_target(target, argument)
    failures = pl.exceptions.PolarsError, pl.exceptions.PanicException
    write_whole(target, lambda part: sink_table(frame.lazy(), part, format, metadata), failures, argument)


def check_target(target: str | Path, argument: str = "out") -> Format:
    """Return the format to write a file in; refuse one that cannot be written before any work is done."""
    path, shown = Path(target), f"{argument} is '{printable(target)}'"
    if os.fspath(target) == STDOUT:
        return Format("csv", ",")
    format = Format.of_name(path.name)
    if format is None:
        raise ParameterError(f"{shown}; expected a name that ends in {ENDINGS}")
    if is_url(target):
        check_url_target(str(target), argument)
        if format.kind == "arrow":
            raise ParameterError(f"{shown}, but Arrow is written to files only; write parquet")
        return format
    if is_folder(path):
        raise ParameterError(f"{shown}, which is a folder; expected the name of a file")
    _check_parent(path, shown)
    return format


def check_url_target(target: str, argument: str) -> None:
    """Refuse an object in a store that can only be read."""
    if target.startswith(("hf://", "http://", "https://")):
        raise ParameterError(
            f"{argument} is '{printable(target)}', which can only be read; write to s3://, gs:// or az://, or to a file"
        )


def _check_parent(path: Path, shown: str) -> None:
    if not is_folder(path.parent):
        raise ParameterError(f"{shown}, but there is no folder '{printable(path.parent)}'; make it first")
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise ParameterError(
            f"{shown}, but this path is not UTF-8, so no library can write it; choose another"
        ) from None


def check_folder_target(target: str | Path, argument: str = "out") -> None:
    """Refuse a folder of parquet files that cannot be written there, before any work is done."""
    path, shown = Path(target), f"{argument} is '{printable(target)}'"
    if is_url(target):
        check_url_target(str(target), argument)
        return
    _check_parent(path, shown)
    if is_folder(path) and not all(entry.suffix in _PARTS or entry.name in _MARKS for entry in path.iterdir()):
        raise ParameterError(f"{shown}, a folder that holds more than parquet files; expected another name")


def write_whole(
    path: str | Path,
    write: Callable[[Path], object],
    failures: tuple[type[BaseException], ...] = (),
    argument: str = "out",
) -> None:
    """Let `write` write a file or folder, then move it to `path`; its `failures` become a ParameterError.

    An object in a store is written in its place: the store shows it when it is complete.
    """
    expected: tuple[type[BaseException], ...] = (*failures, OSError)
    try:
        if is_url(path):
            write(path)  # type: ignore[arg-type]
            return
        with replacing(Path(path)) as part:
            write(part)
    except expected as error:
        raise ParameterError(
            f"{argument} is '{printable(path)}', but it cannot be written: {reason_of(error)}"
        ) from error


def write_text(path: str | Path, text: str, argument: str = "path") -> None:
    """Write a text file in UTF-8; see `write_whole`."""
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"), argument=argument)


def sink_table(frame: Any, part: str | Path, format: Format, metadata: Mapping[str, str] | None = None) -> None:
    """Stream the rows of a LazyFrame to a file of some format, whatever the file's name, or to an object in a store.

    Polars completes an object even if a row fails, so the rows are computed before anything is sent.
    """
    if is_url(part):
        import polars as pl

        local = spool()
        frame.sink_parquet(local)
        frame = pl.scan_parquet(local, glob=False)
    format.module.sink(frame, part, format, metadata or {})


def write_stdout(frame: Any) -> None:
    """Stream a table to standard output as csv, in constant memory; nothing is cut off silently."""
    import polars as pl

    sys.stdout.flush()
    out, lazy = sys.stdout.buffer, frame.lazy()
    header = lazy.collect_schema().to_frame()
    try:
        header.clear(1).write_csv()
    except pl.exceptions.PolarsError as error:
        raise ParameterError(
            f"standard output is csv, but {reason_of(error)}; name a parquet file with --out"
        ) from error
    show = printable_lines if out.isatty() else str  # a terminal would interpret control characters
    try:
        write_all(out, show(header.write_csv()).encode())
        for batch in lazy.collect_batches(chunk_size=_BATCH):
            write_all(out, show(batch.write_csv(include_header=False)).encode())
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ParameterError(
            f"standard output was cut short: {reason_of(error)}; some of its rows are missing"
        ) from error
