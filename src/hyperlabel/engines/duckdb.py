"""The engine DuckDB: SQL on one machine, which spills to disk."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import reduce
from glob import escape
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hyperlabel.added import Added
from hyperlabel.engines.arrow import to_columns, to_keys, to_table
from hyperlabel.engines.base import CHUNK_ROWS, Answerer, AnswerTable
from hyperlabel.engines.packing import Digit, Packing, RowKeys
from hyperlabel.errors import ParameterError
from hyperlabel.networks import Sums, add_sums
from hyperlabel.tables import Format
from hyperlabel.tables.formats import Kind

_ITEMS = "__hyperlabel_items"
_FUNCTION = "__hyperlabel_answer"
_WHOLE = {f"{sign}{name}" for sign in ("", "U") for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")}


class DuckdbEngine:
    """Rows of a DuckDB relation.

    Args:
        rows: The rows.
        connection: Where they are; needed only where patterns are too many to be counted.
    """

    name: ClassVar[str] = "duckdb"
    failures = (duckdb.Error,)
    formats: ClassVar[tuple[Kind, ...]] = ("parquet",)

    def __init__(self, rows: Any, connection: Any = None) -> None:
        self.rows, self.connection = rows, connection
        self.types = {name: str(kind) for name, kind in zip(rows.columns, rows.types, strict=True)}

    @classmethod
    def open(cls, files: Sequence[Path]) -> "DuckdbEngine":
        """Rows of parquet files; folders in their paths are not columns."""
        connection = duckdb.connect()
        rows = connection.read_parquet([escape(str(file)) for file in files], hive_partitioning=False)
        return cls(rows, connection)

    def kinds(self) -> dict[str, str]:
        """What each column holds."""
        return {name: _kind(kind) for name, kind in self.types.items()}

    def ranges(self, columns: Sequence[str]) -> list[tuple[int, int]]:
        """From the statistics of a parquet file, where it has them."""
        ends = [f"coalesce({end}({_name(c)}), -1)" for c in columns for end in ("min", "max")]
        found = self._query(f"SELECT {', '.join(ends)} FROM {_ITEMS}").fetchall()[0]
        return list(zip(found[::2], found[1::2], strict=True))

    def distinct(self, column: str, most: int) -> list[Any]:
        """The values of a column."""
        query = f"SELECT DISTINCT {self._plain(column)} AS v FROM {_ITEMS} WHERE v IS NOT NULL LIMIT {most + 1}"
        return [value for (value,) in self._query(query).fetchall()]

    def nulls(self, columns: Sequence[str]) -> list[int]:
        """One pass over the columns."""
        empty = ", ".join(f"count(*) - count({_name(name)})" for name in columns)
        return list(self._query(f"SELECT {empty} FROM {_ITEMS}").fetchall()[0])

    def head(self, columns: Sequence[str], n: int) -> dict[str, list[Any]]:
        """The values of the first rows."""
        rows = self._query(f"SELECT {', '.join(map(self._plain, columns))} FROM {_ITEMS} LIMIT {n}").fetchall()
        return {name: [row[j] for row in rows] for j, name in enumerate(columns)}

    def first_row(self, column: str, values: Sequence[Any]) -> tuple[int, Any] | None:
        """Unknown: rows have no order."""
        return None

    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._query(f"SELECT count(*) FROM {_ITEMS}").fetchall()[0][0])

    def where(self, digit: Digit) -> "DuckdbEngine":
        """The rows whose digit of a column is not 0."""
        rows = self.rows.set_alias(_ITEMS).filter(f"{self._digit(digit)} <> 0")
        return DuckdbEngine(rows, self.connection)

    def estimate(self, packing: Packing) -> int:
        """By HyperLogLog, in one pass."""
        keys = ", ".join(self._keys(packing))
        return int(self._query(f"SELECT approx_count_distinct(hash({keys})) FROM {_ITEMS}").fetchall()[0][0])

    def count(self, packing: Packing) -> tuple[RowKeys, NDArray[np.int64]]:
        """By a group-by."""
        keys = ", ".join(f"{key} AS {name}" for key, name in zip(self._keys(packing), packing.names, strict=True))
        found = self._query(f"SELECT {keys}, count(*) AS n FROM {_ITEMS} GROUP BY ALL").fetchnumpy()
        return np.stack([found[name] for name in packing.names], axis=1), found["n"].astype(np.int64)

    def reduce(self, packing: Packing, sums: Callable[[RowKeys], Sums]) -> Sums:
        """In batches of rows."""
        reader = self._query(f"SELECT {', '.join(self._keys(packing))} FROM {_ITEMS}").to_arrow_reader(CHUNK_ROWS)
        return reduce(add_sums, (sums(to_keys(batch.columns)) for batch in reader))

    def join(self, packing: Packing, table: AnswerTable, added: Added) -> Any:
        """By a hash join on the keys."""
        answers = to_table(table, packing, added)  # noqa: F841  DuckDB finds it by its name
        matches = [f"answers.{name} = {key}" for name, key in zip(packing.names, self._keys(packing), strict=True)]
        columns = [*self._passed(added), *(f"answers.{_name(name)}" for name in added.names)]
        query = f"SELECT {', '.join(columns)} FROM {_ITEMS} LEFT JOIN answers ON {' AND '.join(matches)}"
        return self.rows.query(_ITEMS, query)

    def apply(self, packing: Packing, answer: Answerer, added: Added) -> Any:
        """By a function that DuckDB calls with batches of keys."""
        if self.connection is None:
            raise ParameterError(
                "votes is a DuckDB relation with more than max_patterns patterns; expected the path of a parquet file, "
                "or at most so many. Write the relation to a file first, or use another engine"
            )

        def answer_batch(*keys: Any) -> Any:
            return pa.StructArray.from_arrays(to_columns(answer(to_keys(keys)), added), added.names)

        kinds = [_LABEL_TYPES[added.label_kind], *["DOUBLE"] * (len(added.names) - 1)]
        kind = ", ".join(f"{_name(name)} {kind}" for name, kind in zip(added.names, kinds, strict=True))
        arguments = ["BIGINT"] * len(packing.keys)
        self.connection.create_function(_FUNCTION, answer_batch, arguments, f"STRUCT({kind})", type="arrow")
        answers = f"unnest({_FUNCTION}({', '.join(self._keys(packing))}))"
        return self._query(f"SELECT {', '.join([*self._passed(added), answers])} FROM {_ITEMS}")

    def write(self, frame: Any, path: Path, format: Format, metadata: Mapping[str, str]) -> None:
        """To one parquet file."""
        frame.write_parquet(str(path))

    def _query(self, query: str) -> Any:
        return self.rows.query(_ITEMS, query)

    def _passed(self, added: Added) -> list[str]:
        """The columns of the input, those with the name of an added one renamed."""
        renamed = added.rename(list(self.types))
        return [f"{_ITEMS}.{_name(name)} AS {_name(renamed.get(name, name))}" for name in self.types]

    def _keys(self, packing: Packing) -> list[str]:
        """The keys of rows; nothing in them is null."""
        return [" + ".join(f"{self._digit(digit)} * {weight}" for digit, weight in key) for key in packing.keys]

    def _digit(self, digit: Digit) -> str:
        if digit.values is None:
            return f"(coalesce({_ITEMS}.{_name(digit.column)}::BIGINT, -1) + 1)"
        if not digit.values:
            return "0::BIGINT"
        values = ", ".join(_literal(value, self.types[digit.column]) for value in digit.values)
        return f"coalesce(list_position([{values}], {self._plain(digit.column)}), 0)::BIGINT"

    def _plain(self, column: str) -> str:
        """A column of values that Python has, too."""
        name, kind = f"{_ITEMS}.{_name(column)}", self.types[column]
        if kind.startswith(("DECIMAL", "FLOAT")):
            return f"{name}::DOUBLE"
        return f"{name}::VARCHAR" if kind.startswith("ENUM") else name


_LABEL_TYPES = {"integer": "BIGINT", "boolean": "BOOLEAN", "text": "VARCHAR"}


def _kind(kind: str) -> str:
    if kind in _WHOLE or kind.strip('"') == "NULL":
        return "integer"
    return kind if kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION")) else "plain"


def _name(column: str) -> str:
    """A column's name, quoted."""
    escaped = column.replace('"', '""')
    return f'"{escaped}"'


def _literal(value: Any, kind: str) -> str:
    """A value of a column of some type in SQL."""
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value!r}::DOUBLE"
    if isinstance(value, timedelta):
        return f"to_microseconds({value // timedelta(microseconds=1)})"
    if isinstance(value, bytes):
        return f"from_hex('{value.hex()}')"
    escaped = str(value).replace("'", "''")
    return f"'{escaped}'" if isinstance(value, str) else f"'{escaped}'::{kind}"
