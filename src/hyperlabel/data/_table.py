"""`Table`: files, DuckDB tables and frames, as a Polars frame that is read when needed.

Polars, DuckDB and pyarrow parse. Cells of csv files stay strings, exactly as written, so that columns that pass
through do not change; `read_votes` decides what strings mean as votes.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hyperlabel._core import is_url, printable
from hyperlabel.data._csv import check_header, check_options
from hyperlabel.data._files import ENDINGS, KINDS, Format, OpenedFiles, Query, Source, find_source, reading, spool
from hyperlabel.data._values import plain
from hyperlabel.errors import VotesError, require

_BATCH = 1 << 16  # rows that are held at a time
_WHOLE = r"^-?(0|[1-9]\d{0,17})$"
_DECIMAL = r"^-?(0|[1-9]\d*)(\.\d*)?$"


@dataclass(frozen=True, eq=False)
class Table:
    r"""A table that can be read any number of times.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "votes.csv").write_text("id;a\n007;spam\n")
    ...     Table.open(Path(folder, "votes.csv")).collect().rows()
    [('007', 'spam')]
    """

    name: str  # in messages
    kind: str  # of format; `frame` if it is in memory
    # Files of its rows, in order: temporary ones if the source is compressed, a stream, a query, or not UTF-8.
    files: tuple[Path, ...] = ()
    hive: tuple[str, ...] = ()  # columns from folders such as `day=1`: strings, and LFs only if they are named
    metadata: Mapping[str, str] = field(default_factory=dict)  # of a parquet or Arrow file; results keep it
    frame: Any = None
    url: str | None = None  # the parquet or Arrow objects of a store, which have no files here
    alike: bool = True  # whether all its files have the same columns in the same order

    @classmethod
    def open(cls, source: object, *, delimiter: str | None = None, encoding: str | None = None) -> "Table":
        """Open a table.

        Args:
            source: A path: of a csv or tsv file, of JSON lines (both also .gz and .zst), parquet or Arrow; of a folder
                of such files, or hive partitions; a pattern such as `day=*/*.parquet`, if no file has exactly that
                name; an object in a store, by its `s3://`, `gs://`, `az://`, `hf://` or `https://` name, or a pattern
                of parquet objects; `-` for standard input; any pipe; `d.duckdb`, `d.duckdb::table` or
                `d.duckdb::SELECT ...`.
                Or a Polars, pandas or pyarrow table, or a `datasets.Dataset`.
            delimiter: The separator of a csv; `,` `;` `|` and tabs are found.
            encoding: The encoding of a text file; UTF-8 and UTF-16 with a mark are found, anything else is Latin-1.

        Raises:
            VotesError: There is no such table, or it is damaged.
        """
        require("polars", extra="cli")
        if not isinstance(source, str | Path):
            return cls("the frame", "frame", frame=_to_lazy(source))
        if is_url(source):
            return _open_url(str(source), delimiter, encoding)
        files = find_source(source)
        if isinstance(files, Query):
            return _open_query(files)
        check_options(delimiter, encoding)
        with reading(files.name, files.format.name):
            opened = (
                _open_texts(files, delimiter, encoding)
                if KINDS[files.format.kind].is_text
                else files.format.module.open_files(files)
            )
            frame, hive = _join(opened.frames)
        kind, metadata = files.format.kind, opened.metadata
        return cls(files.name, kind, opened.files, hive, metadata, frame, alike=opened.alike)

    def lazy(self) -> Any:
        """Return the rows as a Polars LazyFrame; collect it within `reading`, which makes errors of damage clear."""
        return self.frame

    def collect(self) -> Any:
        """Return the rows as a Polars DataFrame."""
        with self.reading():
            return self.frame.collect()

    def parquet_files(self) -> tuple[Path, ...]:
        """Return the rows as parquet files, a temporary one if need be, for engines that read only parquet."""
        import polars as pl

        for column, kind in self.frame.collect_schema().items():
            if kind in (pl.Int128, pl.UInt128):  # Polars would write bytes that only it reads as numbers
                raise VotesError(
                    f"'{printable(self.name)}' has the column '{printable(column)}' of type {kind}, which only Polars "
                    "reads; use engine polars, or make it a column of strings"
                )
        # DuckDB casts what differs to the first file's types, drops new columns, and takes `A` for `a`, silently.
        if self.kind == "parquet" and not self.hive and self.alike:
            return self.files
        path = spool()
        with self.reading():
            self.frame.sink_parquet(path)
        return (path,)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn errors from damage, wherever the rows are actually read, into a `VotesError`."""
        with reading(self.name, "table" if self.kind == "frame" else KINDS[self.kind].name):
            yield

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        with self.reading():
            return list(self.frame.collect_schema().names())


def read_table(source: object, *, delimiter: str | None = None, encoding: str | None = None) -> Any:
    """Return a table as a Polars DataFrame; see `Table.open`."""
    return Table.open(source, delimiter=delimiter, encoding=encoding).collect()


def _open_url(name: str, delimiter: str | None, encoding: str | None) -> Table:
    """Open objects of a store by Polars' own readers; texts are copied to a temporary file first."""
    import polars as pl

    format = Format.of_name(name.partition("?")[0].rpartition("/")[2])
    if format is None:
        raise VotesError(f"'{printable(name)}' has no ending of a table; expected one of {ENDINGS}")
    check_options(delimiter, encoding)
    with reading(name, format.name):
        if format.kind == "parquet":
            frame: Any = pl.scan_parquet(name, hive_partitioning=False)
        elif format.kind == "arrow":
            frame = pl.scan_ipc(name)
        else:
            lines = pl.scan_lines(name).collect_batches()
            path = spool(f"{line}\n".encode() for batch in lines for line in batch.to_series())
            plain = replace(format, compression=None)  # Polars decompresses
            file, frame = plain.module.scan(path, plain, name, delimiter, encoding)
            return Table(name, format.kind, (file,), frame=frame)
        frame.collect_schema()
    return Table(name, format.kind, url=name, frame=frame)


def _open_texts(source: Source, delimiter: str | None, encoding: str | None) -> OpenedFiles:
    files, frames = [], []
    for file in source.files:
        name = source.name if len(source.files) == 1 else str(file)
        format = Format.of_name(file.name) or source.format
        with reading(name, format.name):
            path, frame = format.module.scan(file, format, name, delimiter, encoding)
        files.append(path)
        frames.append((source.hive(file), frame))
    return OpenedFiles(tuple(files), frames)


def _join(frames: list[tuple[dict[str, str | None], Any]]) -> tuple[Any, tuple[str, ...]]:
    """Return frames one below the other, with the columns from their paths that files do not have, and their names."""
    import polars as pl

    columns = frames[0][1].collect_schema().names()
    hive = tuple(name for name in frames[0][0] if name not in columns)
    with_hive = [
        frame.with_columns(pl.lit(values[name], pl.String).alias(name) for name in hive) for values, frame in frames
    ]
    return with_hive[0] if len(with_hive) == 1 else pl.concat(_align(with_hive)), hive


def _align(frames: list[Any]) -> list[Any]:
    """Return tables with the columns and types of the first; a column without a type gets that of the others.

    Refuses tables whose columns differ: of Arrow files, Polars would find out only while it reads them.
    """
    import polars as pl
    import polars.selectors as cs

    schemas = [frame.collect_schema() for frame in frames]
    types: dict[str, Any] = {}  # from the first table in which a column has one
    for name, kind in (column for schema in schemas for column in schema.items()):
        types[name] = kind if types.get(name, pl.Null) == pl.Null else types[name]
    for number, schema in enumerate(schemas, 1):
        for name, kind in types.items():
            held = schema.get(name, "missing")
            if held not in (pl.Null, kind):
                raise ValueError(
                    f"in table {number} of it, column {name} is {held}; in another, it is {kind}. Expected the same "
                    "columns in all"
                )
    whole = [cs.by_name(name).cast(kind) for name, kind in types.items()]  # by exact name: * would be all columns
    return [
        frame if [*schema.items()] == [*types.items()] else frame.select(whole)
        for frame, schema in zip(frames, schemas, strict=True)
    ]


def _open_query(query: Query) -> Table:
    """Copy rows of a DuckDB file to a temporary Arrow file, which has types that parquet does not have."""
    for package in ("duckdb", "pyarrow"):
        require(package, extra="duckdb")
    import duckdb
    import polars as pl
    import pyarrow as pa

    path = spool()
    with reading(query.name, "DuckDB"), duckdb.connect(str(query.file), read_only=True) as connection:
        rows = connection.sql(_select(query, connection))
        check_header(rows.columns, f"'{printable(query.name)}'")
        _check_types(rows, query.name)
        reader = rows.to_arrow_reader(_BATCH)
        with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        frame = pl.scan_ipc(path, glob=False)
        frame.collect_schema()
    return Table(query.name, "arrow", (path,), frame=frame)


def _check_types(rows: Any, name: str) -> None:
    """Refuse types that Polars does not have: its thread would panic and print a report."""
    for column, kind in zip(rows.columns, map(str, rows.types), strict=True):
        if "INTERVAL" in kind or "UNION(" in kind:
            raise VotesError(
                f"'{printable(name)}' has the column '{printable(column)}' of type {printable(kind)}, which tables do "
                "not have; leave it out, or cast it to VARCHAR, with a SELECT after ::"
            )


def _select(query: Query, connection: Any) -> str:
    """Return the SQL of a query, of a named table, or of the only table of a file."""
    listed = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database()"
    tables = connection.execute(listed).fetchall()
    names = {name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in tables}
    shown = ", ".join(map(printable, sorted(names))) or "none"
    if query.sql in names or not query.sql:
        if not query.sql and len(names) != 1:
            raise VotesError(
                f"'{printable(query.name)}' has the tables {shown}; name one: '{printable(query.name)}::table'"
            )
        schema, name = (part.replace('"', '""') for part in names[query.sql or next(iter(names))])
        return f'SELECT * FROM "{schema}"."{name}"'
    if query.sql.split(None, 1)[0].lower() not in ("select", "from", "with"):
        raise VotesError(
            f"'{printable(query.file)}' has no table '{printable(query.sql)}'; its tables are {shown}. "
            "A query starts with SELECT, FROM or WITH"
        )
    if len(connection.extract_statements(query.sql)) != 1:
        raise ValueError("it has several statements after ::; expected one")
    return query.sql


def _to_lazy(source: Any) -> Any:
    """Return a LazyFrame from a table of another library."""
    import polars as pl

    library = type(source).__module__.partition(".")[0]
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        return source.lazy()
    with reading("the frame", "table"):
        if library == "pandas" and hasattr(source, "columns"):
            check_header([str(name) for name in source.columns], "the frame")
            require("pyarrow", extra="duckdb")
            return pl.from_pandas(source).lazy()
        if library == "pyarrow" and hasattr(source, "schema"):
            check_header(source.schema.names, "the frame")
            return pl.DataFrame(source).lazy()
        if library == "datasets" and hasattr(source, "to_polars"):
            return source.to_polars().lazy()
    raise VotesError(
        f"the table is of type {type(source).__module__}.{type(source).__name__}; expected a path, a frame of Polars, "
        "pandas or pyarrow, or a datasets.Dataset (for a DatasetDict, name one split)"
    )


def number_texts(frame: Any, columns: Sequence[str]) -> Any:
    """Turn columns of csv strings into numbers if all hold only numbers; those such as 007 are names."""
    import polars as pl

    schema = frame.collect_schema()
    names = [name for name in columns if schema.get(name) == pl.String]
    if not names:
        return frame
    index = {name: i for i, name in enumerate(schema.names())}
    stripped = [pl.nth(index[name]).str.strip_chars() for name in names]
    texts = [pl.when(text != "").then(text) for text in stripped]  # replace() takes the square of the columns
    for pattern, kind in ((_WHOLE, pl.Int64), (_DECIMAL, pl.Float64)):
        tests = frame.select(text.str.contains(pattern).all() for text in texts)
        if all(tests.collect(engine="streaming").row(0)):
            return frame.with_columns(text.cast(kind) for text in texts)
    return frame


def number_reader(texts: Iterable[str]) -> Callable[[Any], Any]:
    """Return a function that reads values of columns that hold these strings, by the rule of `number_texts`."""
    stripped = {text.strip() for text in texts}
    for pattern, kind in ((_WHOLE, int), (_DECIMAL, float)):
        if stripped and all(re.search(pattern, text, re.ASCII) for text in stripped):
            return lambda value: plain(kind(value) if isinstance(value, str) else value)
    return plain
