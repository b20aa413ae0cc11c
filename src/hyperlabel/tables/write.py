"""One writer of tables, for all formats, and of text files; whole or not at all."""

import base64
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hyperlabel.errors import ParameterError, require
from hyperlabel.files import is_folder, may_be_path, replacing, write_all
from hyperlabel.shown import printable, printable_lines, show
from hyperlabel.tables.failures import reason_of
from hyperlabel.tables.formats import ENDINGS, SCHEMA, Format
from hyperlabel.tables.sources import STDIN

STDOUT = STDIN
_BATCH = 1 << 16  # rows that are held at a time
# What a folder of parquet files holds, as Dask and Spark write it: only such a folder is replaced.
_PARTS, _MARKS = (".parquet", ".crc"), ("_SUCCESS", "_metadata", "_common_metadata")


def write_table(
    frame: Any, target: str | Path, *, metadata: Mapping[str, str] | None = None, argument: str = "out"
) -> None:
    r"""Write a table in the format that the target's ending names; it appears whole or not at all.

    Args:
        frame: A Polars DataFrame or LazyFrame; a lazy one is streamed.
        target: A name that ends in .csv, .tsv, .jsonl (each also .gz and .zst), .parquet or .arrow, in any case;
            `-` for csv to standard output.
        metadata: Strings that a parquet or Arrow file keeps; other formats have no room for them.
        argument: What to call the target in errors.

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
    path, format = Path(target), check_target(target, argument)
    failures = pl.exceptions.PolarsError, pl.exceptions.PanicException
    write_whole(path, lambda part: sink_table(frame.lazy(), part, format, metadata), failures, argument)


def check_target(target: str | Path, argument: str = "out") -> Format:
    """The format to write a file in; refuses one that cannot be written before any work is done.

    >>> check_target("labels.csv.gz").compression
    'gzip'
    """
    path, shown = Path(target), f"{argument} is '{printable(target)}'"
    if os.fspath(target) == STDOUT:
        return Format("csv", ",")
    format = Format.of_name(path.name)
    if format is None:
        raise ParameterError(f"{shown}; expected a name that ends in {ENDINGS}")
    if is_folder(path):
        raise ParameterError(f"{shown}, which is a folder; expected the name of a file")
    _check_parent(path, shown)
    return format


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
    _check_parent(path, shown)
    if is_folder(path) and not all(entry.suffix in _PARTS or entry.name in _MARKS for entry in path.iterdir()):
        raise ParameterError(f"{shown}, a folder that holds more than parquet files; expected another name")


def write_whole(
    path: str | Path,
    write: Callable[[Path], object],
    failures: tuple[type[BaseException], ...] = (),
    argument: str = "out",
) -> None:
    """Let `write` write a file or folder next to `path`, then move it there.

    Its `failures`, besides the system's own errors, become a ParameterError; only what was at `path` before remains.
    """
    if not may_be_path(path):
        raise ParameterError(f"{argument} is {show(path)}; expected the name of a file")
    try:
        with replacing(Path(path)) as part:
            write(part)
    except BaseException as error:
        if not isinstance(error, (*failures, OSError)):
            raise
        raise ParameterError(
            f"{argument} is '{printable(path)}', but it cannot be written: {reason_of(error)}"
        ) from error


def write_text(path: str | Path, text: str, argument: str = "path") -> None:
    """Write a text file in UTF-8; see `write_whole`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(Path(folder, "page.html"), "<p>whole</p>")
    ...     Path(folder, "page.html").read_text()
    '<p>whole</p>'
    """
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"), argument=argument)


def sink_table(frame: Any, part: Path, format: Format, metadata: Mapping[str, str] | None = None) -> None:
    """Stream the rows of a LazyFrame to a file of some format, whatever the file's name."""
    texts = dict(metadata or {})
    if format.kind == "parquet":
        frame.sink_parquet(part, metadata=_parquet_metadata(frame, texts))
    elif format.kind == "arrow":
        _sink_arrow(frame, part, texts)
    else:
        options = {"compression": format.compression or "uncompressed", "check_extension": False}
        if format.kind == "json":
            _refuse_bytes(frame)
            frame.sink_ndjson(part, **options)
        else:
            frame.sink_csv(part, separator=format.separator, **options)


def _refuse_bytes(frame: Any) -> None:
    """Polars would end its thread, with a report of its own."""
    import polars as pl

    held = next((name for name, kind in frame.collect_schema().items() if kind == pl.Binary), None)
    if held is not None:
        raise OSError(f"column '{printable(held)}' holds bytes, which JSON does not have; write parquet")


def _parquet_metadata(frame: Any, metadata: dict[str, str]) -> dict[str, str]:
    """The metadata where all readers find it: pandas and pyarrow look only into the Arrow schema of a file."""
    if not metadata or importlib.util.find_spec("pyarrow") is None:
        return metadata
    import pyarrow as pa

    try:
        schema = _to_arrow(frame.collect_schema().to_frame()).schema.with_metadata(metadata)
    except pa.ArrowInvalid:  # a type that Arrow does not have, such as Int128
        return metadata
    return {SCHEMA: base64.b64encode(schema.serialize().to_pybytes()).decode(), **metadata}


def _to_arrow(batch: Any) -> Any:
    """Types that every reader of Arrow knows."""
    import polars as pl

    return batch.to_arrow(compat_level=pl.CompatLevel.oldest())


def _sink_arrow(frame: Any, part: Path, metadata: dict[str, str]) -> None:
    """By pyarrow, the only library that can write metadata."""
    require("pyarrow", extra="duckdb")
    import polars as pl
    import pyarrow as pa

    kinds = frame.collect_schema()
    if pl.Categorical in kinds.dtypes():  # batches have categories of their own, and a file must have the same in all
        batches = [frame.collect(engine="streaming").rechunk()]
    else:
        batches = frame.collect_batches(chunk_size=_BATCH)
    schema = _to_arrow(kinds.to_frame()).schema
    with pa.OSFile(str(part), "wb") as out, pa.ipc.new_file(out, schema.with_metadata(metadata)) as writer:
        for batch in batches:
            writer.write_table(_to_arrow(batch))


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
    show = printable_lines if out.isatty() else str  # a terminal would obey control characters
    try:
        write_all(out, show(header.write_csv()).encode())
        for batch in lazy.collect_batches(chunk_size=_BATCH):
            write_all(out, show(batch.write_csv(include_header=False)).encode())
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ParameterError(
            f"standard output was cut short: {reason_of(error)}; some of its rows are missing"
        ) from error
