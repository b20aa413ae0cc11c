"""Parquet files, read and written by Polars."""

import base64
import importlib.util
from collections.abc import Mapping
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from hyperlabel.data._arrow import to_arrow
from hyperlabel.data._files import Format, OpenedFiles, Source

_SCHEMA = "ARROW:schema"  # key of the Arrow schema in the metadata of a file; every writer writes its own


def open_files(source: Source) -> OpenedFiles:
    """Open files, one scan for each run of files of one folder with the same columns."""
    import polars as pl

    options: dict[str, Any] = {"glob": False, "hive_partitioning": False}
    columns = {file: [*pl.scan_parquet(file, **options).collect_schema().items()] for file in source.files}
    runs = [list(files) for _, files in groupby(source.files, lambda file: (file.parent, columns[file]))]
    frames = [(source.hive(files[0]), pl.scan_parquet(files, **options)) for files in runs]
    metadata = {key: text for key, text in pl.read_parquet_metadata(source.files[0]).items() if key != _SCHEMA}
    return OpenedFiles(
        source.files, frames, metadata, all(each == columns[source.files[0]] for each in columns.values())
    )


def sink(frame: Any, part: Path, format: Format, metadata: Mapping[str, str]) -> None:
    """Stream the rows of a LazyFrame to a file."""
    if metadata and importlib.util.find_spec("pyarrow") is not None:
        import pyarrow as pa

        with suppress(pa.ArrowInvalid):  # a type that Arrow does not have, such as Int128
            schema = to_arrow(frame.collect_schema().to_frame()).schema.with_metadata(dict(metadata))
            # pandas and pyarrow look for metadata only in the Arrow schema of a file.
            metadata = {_SCHEMA: base64.b64encode(schema.serialize().to_pybytes()).decode(), **metadata}
    frame.sink_parquet(part, metadata=dict(metadata))
