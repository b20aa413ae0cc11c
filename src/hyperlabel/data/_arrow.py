"""Arrow files and streams, read by Polars, written by pyarrow."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hyperlabel.data._files import Format, OpenedFiles, Source
from hyperlabel.errors import require

_BATCH = 1 << 16  # rows that are held at a time


def open_files(source: Source) -> OpenedFiles:
    """Open files; the first one's metadata count."""
    import polars as pl

    metadata, *_ = [_read_arrow_schema(file) for file in source.files]
    options: dict[str, Any] = {"glob": False, "hive_partitioning": False}
    frames = [  # an Arrow stream is read at once
        pl.scan_ipc(file, **options) if _is_arrow_file(file) else pl.read_ipc_stream(file).lazy()
        for file in source.files
    ]
    return OpenedFiles(source.files, list(zip(map(source.hive, source.files), frames, strict=True)), metadata)


def _is_arrow_file(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(6) == b"ARROW1"


def _read_arrow_schema(file: Path) -> dict[str, str]:
    """Return the metadata of a file, and refuse types that Polars lacks; without pyarrow, neither."""
    if importlib.util.find_spec("pyarrow") is None:
        return {}
    import pyarrow as pa

    with pa.memory_map(str(file)) as opened:
        schema = (pa.ipc.open_file if _is_arrow_file(file) else pa.ipc.open_stream)(opened).schema
    for column in schema:
        if _is_foreign(column.type):
            raise ValueError(f"column '{column.name}' is of type {column.type}, which tables do not have; cast it")
    metadata = schema.metadata or {}
    return {key.decode(errors="replace"): text.decode(errors="replace") for key, text in metadata.items()}


def _is_foreign(kind: Any) -> bool:
    """Return whether Polars does not have an Arrow type, or the type of a part of it."""
    from pyarrow import types

    foreign = types.is_union, types.is_interval, types.is_decimal256, types.is_run_end_encoded
    views = types.is_list_view, types.is_large_list_view
    if types.is_dictionary(kind):
        return _is_foreign(kind.value_type)
    parts = [kind.field(index).type for index in range(kind.num_fields)]
    return any(test(kind) for test in (*foreign, *views)) or any(map(_is_foreign, parts))


def sink(frame: Any, part: Path, format: Format, metadata: Mapping[str, str]) -> None:
    """Write an Arrow file by pyarrow, the only library that can write metadata."""
    require("pyarrow", extra="duckdb")
    import polars as pl
    import pyarrow as pa

    kinds = frame.collect_schema()
    if pl.Categorical in kinds.dtypes():  # batches have categories of their own, and a file must have the same in all
        batches = [frame.collect(engine="streaming").rechunk()]
    else:
        batches = frame.collect_batches(chunk_size=_BATCH)
    schema = to_arrow(kinds.to_frame()).schema
    with pa.OSFile(str(part), "wb") as out, pa.ipc.new_file(out, schema.with_metadata(dict(metadata))) as writer:
        for batch in batches:
            writer.write_table(to_arrow(batch))


def to_arrow(batch: Any) -> Any:
    """Return an Arrow table of types that every reader knows."""
    import polars as pl

    return batch.to_arrow(compat_level=pl.CompatLevel.oldest())
