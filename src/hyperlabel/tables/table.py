"""`Table`: anything that holds rows, as a Polars frame that is read when needed. All reading of tables happens here.

Polars, DuckDB and pyarrow parse. Cells of csv files stay strings, exactly as written, so that columns that pass
through do not change; what strings mean as votes is decided where votes are read.
"""

import glob
import importlib.util
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from hyperlabel.errors import VotesError, require
from hyperlabel.shown import printable
from hyperlabel.tables.claims import check_arrow, check_parquet
from hyperlabel.tables.failures import reading
from hyperlabel.tables.formats import NAMES, SCHEMA, Format, Kind
from hyperlabel.tables.sources import Query, Source, find_source
from hyperlabel.tables.spool import spool_path
from hyperlabel.tables.text import Text, open_text, order_keys

_BATCH = 1 << 16  # rows that are held at a time


@dataclass(frozen=True, eq=False)
class Table:
    r"""A table that can be read any number of times.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "votes.csv").write_text("id;a\n007;spam\n")
    ...     Table.open(Path(folder, "votes.csv")).collect().rows()
    [('007', 'spam')]
    """

    name: str  # what to call it in messages
    kind: Kind | Literal["frame"]  # its format; `frame` if it is in memory
    # The files that hold its rows, in order; none if it is in memory; if the source is compressed, a stream, a query,
    # or not UTF-8, these are temporary files, which are removed when the process ends.
    files: tuple[Path, ...] = ()
    # Columns from folders such as `day=1`: strings, and never LFs unless they are named as such.
    hive: tuple[str, ...] = ()
    root: Path | None = None  # the folder below which folders are columns
    # The metadata of a parquet or Arrow file; results keep it.
    metadata: Mapping[str, str] = field(default_factory=dict)
    frame: Any = None
    alike: bool = True  # whether all its files have the same columns in the same order

    @classmethod
    def open(cls, source: object, *, delimiter: str | None = None, encoding: str | None = None) -> "Table":
        """A table from anything that holds one.

        Args:
            source: A path: of a csv or tsv file, of JSON lines (both also .gz and .zst), parquet or Arrow; of a folder
                of such files, or hive partitions; a pattern such as `day=*/*.parquet`, if no file has exactly that
                name; `-` for standard input; any pipe; `d.duckdb`, `d.duckdb::table` or `d.duckdb::SELECT ...`.
                Or a Polars, pandas or pyarrow table, or a `datasets.Dataset`.
            delimiter: The separator of a csv; `,` `;` `|` and tabs are found.
            encoding: The encoding of a text file; UTF-8 and UTF-16 with a mark are found, anything else is Latin-1.

        Raises:
            VotesError: There is no such table, or it is damaged.
        """
        require("polars", extra="cli")
        if not isinstance(source, str | Path):
            return cls("the frame", "frame", frame=_to_lazy(source))
        found = find_source(source)
        if isinstance(found, Query):
            return _open_query(found)
        if found.format.kind in ("csv", "json"):
            return _open_texts(found, delimiter, encoding)
        return _open_binary(found)

    def lazy(self) -> Any:
        """The rows as a Polars LazyFrame. Collect it within `reading`, which makes errors of damage clear."""
        return self.frame

    def collect(self) -> Any:
        """The rows as a Polars DataFrame."""
        with self.reading():
            return self.frame.collect()

    def parquet_files(self) -> tuple[Path, ...]:
        """The rows as parquet files, for engines that read only parquet; a temporary file if they are not parquet."""
        self._check_whole_numbers()
        # DuckDB casts what differs to the first file's types, drops new columns, and takes `A` for `a`, silently.
        if self.kind == "parquet" and not self.hive and self.alike:
            return self.files
        path = spool_path()
        with self.reading():
            self.frame.sink_parquet(path)
        return (path,)

    def _check_whole_numbers(self) -> None:
        """Refuse what parquet does not have: Polars writes bytes that it alone takes for numbers."""
        import polars as pl

        kinds = self.frame.collect_schema()
        wide = next((name for name, kind in kinds.items() if kind in (pl.Int128, pl.UInt128)), None)
        if wide is not None:
            raise VotesError(
                f"'{printable(self.name)}' has the column '{printable(wide)}' of type {kinds[wide]}, which only Polars "
                "reads; use engine polars, or make it a column of strings"
            )

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn errors from damage, wherever the rows are actually read, into a `VotesError`."""
        with reading(self.name, "table" if self.kind == "frame" else NAMES[self.kind]):
            yield

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        with self.reading():
            return list(self.frame.collect_schema().names())


def read_table(source: object, *, delimiter: str | None = None, encoding: str | None = None) -> Any:
    r"""A table as a Polars DataFrame; see `Table.open`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "votes.tsv").write_text("a\tb\n0\t1\n")
    ...     read_table(Path(folder, "votes.tsv")).columns
    ['a', 'b']
    """
    return Table.open(source, delimiter=delimiter, encoding=encoding).collect()


def _open_texts(source: Source, delimiter: str | None, encoding: str | None) -> Table:
    names = [source.name] if len(source.files) == 1 else [*map(str, source.files)]
    texts = [
        open_text(file, Format.of_name(file.name) or source.format, name, delimiter, encoding)
        for file, name in zip(source.files, names, strict=True)
    ]
    with reading(source.name, NAMES[source.format.kind]):
        scanned = [_scan_text(text, name) for text, name in zip(texts, names, strict=True)]
        frames = [(source.hive(file), frame) for file, frame in zip(source.files, scanned, strict=True)]
        frame, hive = _join(frames)
    return Table(source.name, source.format.kind, tuple(text.path for text in texts), hive, source.root, {}, frame)


def _scan_text(text: Text, name: str) -> Any:
    import polars as pl
    import polars.selectors as cs

    if text.format.kind == "json":
        if not text.path.stat().st_size:
            return pl.LazyFrame()
        frame = pl.scan_ndjson(glob.escape(str(text.path)), infer_schema_length=None)
        columns = frame.collect_schema().names()
        ordered = order_keys(text.path, columns, name)
        return _narrow(frame if ordered == columns else frame.select(cs.by_name(key) for key in ordered))
    # Polars leaves the doubled quotes of a name as they are.
    names = {"with_column_names": lambda _: list(text.names)} if any('"' in name for name in text.names) else {}
    options: dict[str, Any] = {"separator": text.format.separator, "n_rows": text.rows, **names}
    return pl.scan_csv(text.path, infer_schema=False, glob=False, **options)


def _narrow(frame: Any) -> Any:
    """A frame whose whole numbers of 128 bits, which parquet and other libraries do not have, are of 64 bits, or text.

    >>> import polars as pl
    >>> frame = pl.LazyFrame({"a": [2**64 - 1], "b": [2**64]}, schema={"a": pl.Int128, "b": pl.Int128})
    >>> _narrow(frame).collect().rows()
    [(18446744073709551615, '18446744073709551616')]
    """
    import polars as pl

    wide = [pl.nth(place) for place, kind in enumerate(frame.collect_schema().dtypes()) if kind == pl.Int128]
    if not wide:
        return frame
    ends = frame.select(e.alias(f"{j}{n}") for j, c in enumerate(wide) for n, e in enumerate((c.min(), c.max())))
    found = [0 if end is None else end for end in ends.collect(engine="streaming").row(0)]
    fits = [low >= 0 and high < 2**64 for low, high in zip(found[::2], found[1::2], strict=True)]
    return frame.with_columns(c.cast(pl.UInt64 if fit else pl.String) for c, fit in zip(wide, fits, strict=True))


def _open_binary(source: Source) -> Table:
    import polars as pl

    with reading(source.name, NAMES[source.format.kind]):
        check = check_parquet if source.format.kind == "parquet" else check_arrow
        for file in source.files:
            check(file)
        if source.format.kind == "parquet":
            frames, alike = _scan_parquet(source)
            metadata = {key: text for key, text in pl.read_parquet_metadata(source.files[0]).items() if key != SCHEMA}
        else:
            frames, alike = [(source.hive(file), _scan_arrow(file)) for file in source.files], True
            metadata = _arrow_metadata(source.files[0])
        frame, hive = _join(frames)
    return Table(source.name, source.format.kind, source.files, hive, source.root, metadata, frame, alike)


def _scan_parquet(source: Source) -> tuple[list[tuple[dict[str, str | None], Any]], bool]:
    """A frame for each run of files of one folder with the same columns, and whether all files have these.

    Only such files are one scan: of others, Polars would find out while it reads them.
    """
    import polars as pl

    options: dict[str, Any] = {"glob": False, "hive_partitioning": False}
    columns = {file: [*pl.scan_parquet(file, **options).collect_schema().items()] for file in source.files}
    runs = [list(files) for _, files in groupby(source.files, lambda file: (file.parent, columns[file]))]
    frames = [(source.hive(files[0]), pl.scan_parquet(files, **options)) for files in runs]
    return frames, all(each == columns[source.files[0]] for each in columns.values())


def _scan_arrow(file: Path) -> Any:
    """Rows of an Arrow file, or of an Arrow stream, which is read at once."""
    import polars as pl

    with file.open("rb") as opened:
        is_file = opened.read(6) == b"ARROW1"
    return pl.scan_ipc(file, glob=False, hive_partitioning=False) if is_file else pl.read_ipc_stream(file).lazy()


def _arrow_metadata(file: Path) -> dict[str, str]:
    """The metadata of an Arrow file; empty without pyarrow, the only library that can read it."""
    if importlib.util.find_spec("pyarrow") is None:
        return {}
    import pyarrow as pa

    with pa.OSFile(str(file)) as opened:
        opener = pa.ipc.open_file if opened.read(6) == b"ARROW1" else pa.ipc.open_stream
        opened.seek(0)
        found = opener(opened).schema.metadata or {}
    return {key.decode(errors="replace"): text.decode(errors="replace") for key, text in found.items()}


def _join(frames: list[tuple[dict[str, str | None], Any]]) -> tuple[Any, tuple[str, ...]]:
    """Frames one below the other, with the columns from their paths, and the names of these.

    A column that the files already have is not replaced.
    """
    import polars as pl

    own = frames[0][1].collect_schema().names()
    hive = tuple(name for name in frames[0][0] if name not in own)
    with_hive = [
        frame.with_columns(pl.lit(values[name], pl.String).alias(name) for name in hive) for values, frame in frames
    ]
    return with_hive[0] if len(with_hive) == 1 else pl.concat(_align(with_hive)), hive


def _align(frames: list[Any]) -> list[Any]:
    """Tables with their columns in the order of the first; empty ones, of no type, have the type of the others.

    Refuses tables whose columns differ: of Arrow files, Polars would find out only while it reads them.
    """
    import polars as pl
    import polars.selectors as cs

    schemas = [frame.collect_schema() for frame in frames]
    types: dict[str, Any] = {}  # that of the first table in which a column has one
    for name, kind in (column for schema in schemas for column in schema.items()):
        types[name] = kind if types.get(name, pl.Null) == pl.Null else types[name]
    for number, schema in enumerate(schemas, 1):
        for name, kind in types.items():
            found = schema.get(name, "missing")
            if found not in (pl.Null, kind):
                raise ValueError(
                    f"in table {number} of it, column {name} is {found}; in another, it is {kind}. Expected the same "
                    "columns in all"
                )
    whole = [cs.by_name(name).cast(kind) for name, kind in types.items()]  # by exact name: * would be all columns
    return [
        frame if [*schema.items()] == [*types.items()] else frame.select(whole)
        for frame, schema in zip(frames, schemas, strict=True)
    ]


def _open_query(query: Query) -> Table:
    """Rows of a DuckDB file, copied to a temporary Arrow file: it keeps types that parquet does not have."""
    for package in ("duckdb", "pyarrow"):
        require(package, extra="duckdb")
    import duckdb
    import polars as pl
    import pyarrow as pa

    path = spool_path()
    with reading(query.name, "DuckDB"), duckdb.connect(str(query.file), read_only=True) as connection:
        rows = connection.sql(_select(query, connection))
        _check_columns(rows.columns, f"'{printable(query.name)}'")
        _check_types(rows, query.name)
        reader = rows.to_arrow_reader(_BATCH)
        with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        frame = pl.scan_ipc(path, glob=False)
        frame.collect_schema()
    return Table(query.name, "arrow", (path,), frame=frame)


def _check_types(rows: Any, name: str) -> None:
    """Refuse types that Polars does not have: it would end its thread, with a report of its own."""
    for column, kind in zip(rows.columns, map(str, rows.types), strict=True):
        if "INTERVAL" in kind or "UNION(" in kind:
            raise VotesError(
                f"'{printable(name)}' has the column '{printable(column)}' of type {printable(kind)}, which tables do "
                "not have; leave it out, or cast it to VARCHAR, with a SELECT after ::"
            )


def _select(query: Query, connection: Any) -> str:
    """The SQL of a query, of a named table, or of the one table that a file has."""
    listed = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database()"
    found = connection.execute(listed).fetchall()
    names = {name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in found}
    shown = ", ".join(map(printable, sorted(names))) or "none"
    if query.what in names or not query.what:
        if not query.what and len(names) != 1:
            raise VotesError(
                f"'{printable(query.name)}' has the tables {shown}; name one: '{printable(query.name)}::table'"
            )
        schema, name = (part.replace('"', '""') for part in names[query.what or next(iter(names))])
        return f'SELECT * FROM "{schema}"."{name}"'
    if query.what.split(None, 1)[0].lower() not in ("select", "from", "with"):
        raise VotesError(
            f"'{printable(query.file)}' has no table '{printable(query.what)}'; its tables are {shown}. "
            "A query starts with SELECT, FROM or WITH"
        )
    if len(connection.extract_statements(query.what)) != 1:
        raise ValueError("it has several statements after ::; expected one")
    return query.what


def _to_lazy(source: Any) -> Any:
    """A LazyFrame from a table of another library."""
    import polars as pl

    library = type(source).__module__.partition(".")[0]
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        return source.lazy()
    with reading("the frame", "table"):
        if library == "pandas" and hasattr(source, "columns"):
            _check_columns([str(name) for name in source.columns], "the frame")
            require("pyarrow", extra="duckdb")
            return pl.from_pandas(source).lazy()
        if library == "pyarrow" and hasattr(source, "schema"):
            _check_columns(source.schema.names, "the frame")
            return pl.DataFrame(source).lazy()
        if library == "datasets" and hasattr(source, "to_polars"):
            return source.to_polars().lazy()
    raise VotesError(
        f"the table is of type {type(source).__module__}.{type(source).__name__}; expected a path, a frame of Polars, "
        "pandas or pyarrow, or a datasets.Dataset (for a DatasetDict, name one split)"
    )


def _check_columns(names: list[str], where: str) -> None:
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise VotesError(f"{where} has two columns named '{printable(twice)}'; expected each name once. Rename one")
