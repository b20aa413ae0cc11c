"""The engine DuckDB: SQL on one machine, which spills to disk."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import reduce
from glob import escape
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hyperlabel._core import is_url
from hyperlabel.data import Format, OutputColumns, spool
from hyperlabel.engines._arrow import to_columns, to_keys, to_table
from hyperlabel.engines._base import CHUNK_ROWS, Answerer, AnswerTable, Engine
from hyperlabel.engines._packing import Digit, Packing, RowKeys
from hyperlabel.errors import ParameterError, require
from hyperlabel.networks import Sums, add_sums

_WHOLE = {f"{sign}{name}" for sign in ("", "U") for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")}

_FEW_COLUMNS = 16


class DuckdbEngine(Engine):
    """Rows of a DuckDB relation, which have no order.

    To DuckDB `a` and `A` are the same name, and no name is empty; so columns of files are identified by position and
    get their names back at the end. Our own names are random, so that no table of the user has them.

    Args:
        rows: The rows.
        connection: Where they are; needed only if there are too many patterns to count.
        names: The names of the columns; those of the relation if not given.
    """

    name = "duckdb"
    failures = (duckdb.Error, pa.ArrowException)

    def __init__(self, rows: Any, connection: Any = None, names: Sequence[str] | None = None) -> None:
        self.rows, self.connection = rows, connection
        self.names = list(rows.columns if names is None else names)
        self.sql_names = dict(zip(self.names, rows.columns, strict=True))
        self.types = {name: str(kind) for name, kind in zip(self.names, rows.types, strict=True)}
        self.items = _new_name("items")
        self.results = list(self.names)

    @classmethod
    def open(cls, files: Sequence[Path], names: Sequence[str]) -> "DuckdbEngine":
        """Rows of parquet files; folders in their paths are not columns."""
        connection = duckdb.connect()
        rows = connection.read_parquet([escape(str(file)) for file in files], hive_partitioning=False)
        return cls(rows, connection, names)

    @classmethod
    def open_url(cls, url: str) -> "DuckdbEngine":
        """By DuckDB's own reader, on a file system that it is given."""
        connection = duckdb.connect()
        connection.register_filesystem(find_files(url))
        return cls(connection.read_parquet(url, hive_partitioning=False), connection)

    def kinds(self) -> dict[str, str]:
        """By their types."""
        return {name: _kind(kind) for name, kind in self.types.items()}

    def ranges(self, columns: Sequence[str]) -> list[tuple[int, int]]:
        """From the statistics of a parquet file, if it has them."""
        ends = [f"coalesce({end}({self._column(c)}), -1)" for c in columns for end in ("min", "max")]
        values = self._query(f"SELECT {', '.join(ends)} FROM {self.items}").fetchall()[0]
        return list(zip(values[::2], values[1::2], strict=True))

    def distinct(self, columns: Sequence[str], most: int) -> list[list[Any]]:
        """One pass per column, which is the fastest for few columns; many, each of few values, share a pass."""
        values: dict[str, list[Any]] = {}
        if len(columns) > _FEW_COLUMNS:  # those with about `most` values or fewer, by HyperLogLog, to save memory
            counts = ", ".join(f"approx_count_distinct({self._plain(name)})" for name in columns)
            numbers = self._query(f"SELECT {counts} FROM {self.items}").fetchall()[0]
            values = {name: [] for name, n in zip(columns, numbers, strict=True) if n <= most}
        for kind in {self.types[name] for name in values}:  # a query of each would look at all of them
            names = [name for name in values if self.types[name] == kind]
            listed = ", ".join(map(self._plain, names))
            query = f"SELECT DISTINCT unnest(range({len(names)})) AS j, unnest([{listed}]) AS v FROM {self.items}"
            for j, value in self._query(query).fetchall():
                if value is not None:
                    values[names[j]].append(value)
        for name in (name for name in columns if name not in values):
            query = f"SELECT DISTINCT {self._plain(name)} AS v FROM {self.items} WHERE v IS NOT NULL LIMIT {most + 1}"
            values[name] = [value for (value,) in self._query(query).fetchall()]
        return [values[name] for name in columns]

    def nulls(self, columns: Sequence[str]) -> list[int]:
        """One pass over the columns."""
        empty = ", ".join(f"count(*) - count({self._column(name)})" for name in columns)
        return list(self._query(f"SELECT {empty} FROM {self.items}").fetchall()[0])

    def head(self, columns: Sequence[str], n: int) -> dict[str, list[Any]]:
        """The values of the first rows."""
        rows = self._query(f"SELECT {', '.join(map(self._plain, columns))} FROM {self.items} LIMIT {n}").fetchall()
        return {name: [row[j] for row in rows] for j, name in enumerate(columns)}

    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._query(f"SELECT count(*) FROM {self.items}").fetchall()[0][0])

    def where(self, digit: Digit) -> "DuckdbEngine":
        """By a filter."""
        rows = self._query(f"SELECT * FROM {self.items} WHERE {self._digit(digit)} <> 0")
        return DuckdbEngine(rows, self.connection, self.names)

    def estimate(self, packing: Packing) -> int:
        """By HyperLogLog, in one pass."""
        keys = ", ".join(self._keys(packing))
        return int(self._query(f"SELECT approx_count_distinct(hash({keys})) FROM {self.items}").fetchall()[0][0])

    def count(self, packing: Packing) -> tuple[RowKeys, NDArray[np.int64]]:
        """By a group-by."""
        keys = ", ".join(f"{key} AS {name}" for key, name in zip(self._keys(packing), packing.names, strict=True))
        counted = self._query(f"SELECT {keys}, count(*) AS n FROM {self.items} GROUP BY ALL").fetchnumpy()
        return np.stack([counted[name] for name in packing.names], axis=1), counted["n"].astype(np.int64)

    def reduce(self, packing: Packing, sums: Callable[[RowKeys], Sums]) -> Sums:
        """In batches of rows."""
        reader = self._query(f"SELECT {', '.join(self._keys(packing))} FROM {self.items}").to_arrow_reader(CHUNK_ROWS)
        return reduce(add_sums, (sums(to_keys(batch.columns)) for batch in reader))

    def join(self, packing: Packing, table: AnswerTable, added: OutputColumns) -> Any:
        """By a hash join on the keys."""
        answers = _new_name("answers")
        matches = [f"{answers}.{name} = {key}" for name, key in zip(packing.names, self._keys(packing), strict=True)]
        named = _distinct_names(added.names)
        columns = [*self._passed(added), *(f"{answers}.{_name(name)}" for name in named)]
        query = f"SELECT {', '.join(columns)} FROM {self.items} LEFT JOIN {answers} ON {' AND '.join(matches)}"
        # DuckDB finds it by name and keeps it.
        globals()[answers] = to_table(table, packing, added).rename_columns([*packing.names, *named])
        try:
            return self._query(query)
        finally:
            del globals()[answers]

    def apply(self, packing: Packing, answer: Answerer, added: OutputColumns) -> Any:
        """By a function that DuckDB calls with batches of keys."""
        if self.connection is None:
            raise ParameterError(
                "votes is a DuckDB relation with more than max_patterns patterns; expected the path of a parquet file, "
                "or fewer patterns. Write the relation to a file first, or use another engine"
            )

        named = _distinct_names(added.names)

        def answer_batch(*keys: Any) -> Any:
            return pa.StructArray.from_arrays(to_columns(answer(to_keys(keys)), added), named)

        kinds = [_LABEL_TYPES[added.label_kind], *["DOUBLE"] * (len(added.names) - 1)]
        kind = ", ".join(f"{_name(name)} {kind}" for name, kind in zip(named, kinds, strict=True))
        function, arguments = _new_name("answer"), ["BIGINT"] * len(packing.keys)
        self.connection.create_function(function, answer_batch, arguments, f"STRUCT({kind})", type="arrow")
        answers = f"unnest({function}({', '.join(self._keys(packing))}))"
        return self._query(f"SELECT {', '.join([*self._passed(added), answers])} FROM {self.items}")

    def write(self, frame: Any, path: str | Path, format: Format, metadata: Mapping[str, str]) -> None:
        """To one parquet file, which is complete before it goes to a store; by pyarrow if DuckDB cannot name it."""
        if is_url(path):
            local = spool()
            self.write(frame, local, format, metadata)
            find_files(str(path)).put_file(str(local), str(path))
            return
        if _can_name(self.results):
            pairs = ", ".join(f"{_literal(key)}: {_literal(text)}" for key, text in metadata.items())
            options = f"FORMAT parquet, KV_METADATA {{{pairs}}}" if pairs else "FORMAT parquet"
            result = _new_name("result")  # not `items`, which the frame itself reads
            copied = frame.query(result, f"COPY {result} TO {_literal(str(path))} ({options})")
            if copied is not None:  # since DuckDB 2 it is done when it is fetched
                copied.fetchall()
            return
        reader = frame.to_arrow_reader(CHUNK_ROWS)
        fields = [field.with_name(name) for field, name in zip(reader.schema, self.results, strict=True)]
        schema = pa.schema(fields, metadata=dict(metadata))
        with pq.ParquetWriter(path, schema) as writer:
            for batch in reader:
                writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))

    def _query(self, query: str) -> Any:
        return self.rows.query(self.items, query)

    def _passed(self, added: OutputColumns) -> list[str]:
        """The columns of the input; those with the name of an added column are renamed."""
        renamed, replaced = added.rename(self.names), added.replaced(self.names)
        passed = [name for name in self.names if name not in replaced]
        names = [renamed.get(name, name) for name in passed]
        self.results = [*names, *added.names]
        shown = names if _can_name(self.results) else [self.sql_names[name] for name in passed]
        return [f"{self._column(name)} AS {_name(as_)}" for name, as_ in zip(passed, shown, strict=True)]

    def _column(self, name: str) -> str:
        return f"{self.items}.{_name(self.sql_names[name])}"

    def _keys(self, packing: Packing) -> list[str]:
        """The keys of rows; nothing in them is null."""
        return [" + ".join(f"{self._digit(digit)} * {weight}" for digit, weight in key) for key in packing.keys]

    def _digit(self, digit: Digit) -> str:
        if digit.values is None:
            return f"(coalesce({self._column(digit.column)}::BIGINT, -1) + 1)"
        if not digit.values:
            return "0::BIGINT"
        values = ", ".join(_literal(value, self.types[digit.column]) for value in digit.values)
        return f"coalesce(list_position([{values}], {self._plain(digit.column)}), 0)::BIGINT"

    def _plain(self, column: str) -> str:
        """A column, with values of types that Python has."""
        name, kind = self._column(column), self.types[column]
        if kind.startswith(("DECIMAL", "FLOAT", "DOUBLE")):
            return f"nullif({name}::DOUBLE, 'nan'::DOUBLE)"  # the statistics of files may leave out NaN
        return f"{name}::VARCHAR" if kind.startswith("ENUM") else name


def find_files(url: str) -> Any:
    """Return the file system of a store: pyarrow's, which needs no other package, or that of fsspec."""
    require("fsspec", extra="dask")
    import fsspec
    from fsspec.implementations.arrow import ArrowFSWrapper

    scheme = url.partition("://")[0]
    arrow = scheme in ("s3", "gs", "abfs", "abfss")
    return ArrowFSWrapper(pa.fs.FileSystem.from_uri(url)[0]) if arrow else fsspec.filesystem(scheme)


_LABEL_TYPES = {"integer": "BIGINT", "boolean": "BOOLEAN", "text": "VARCHAR"}


def _kind(kind: str) -> str:
    if kind in _WHOLE or kind.strip('"') == "NULL":
        return "integer"
    return kind if kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION")) else "plain"


def _name(column: str) -> str:
    """A column's name, quoted."""
    escaped = column.replace('"', '""')
    return f'"{escaped}"'


def _new_name(what: str) -> str:
    """A name that no table has."""
    return f"__hyperlabel_{what}_{secrets.token_hex(8)}"


def _can_name(names: Sequence[str]) -> bool:
    """Return whether DuckDB can tell columns with these names apart."""
    return all(names) and len({name.lower() for name in names}) == len(names)


def _distinct_names(names: Sequence[str]) -> list[str]:
    """Names that DuckDB can tell apart: `p_spam` and `p_Spam` are one name to it.

    >>> _distinct_names(["p_Spam", "p_spam", "p_spam_"])
    ['p_Spam', 'p_spam_', 'p_spam__']
    """
    distinct: dict[str, str] = {}
    for name in names:
        while name.lower() in distinct:
            name += "_"
        distinct[name.lower()] = name
    return list(distinct.values())


def _literal(value: Any, kind: str = "VARCHAR") -> str:
    """A value of a column in SQL, by the column's type."""
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, float):
        return f"'{value!r}'::DOUBLE"  # quoted, as inf would be a name
    if isinstance(value, timedelta):
        return f"to_microseconds({value // timedelta(microseconds=1)})"
    if isinstance(value, bytes):
        return f"from_hex('{value.hex()}')"
    escaped = str(value).replace("'", "''")
    return f"'{escaped}'" if isinstance(value, str) else f"'{escaped}'::{kind}"
