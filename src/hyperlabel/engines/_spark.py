"""The engine Spark: rows stay with the executors; the driver sees only patterns, or sums over rows."""

import operator
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from py4j.protocol import Py4JError
from pyspark import SparkConf, TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.functions import pandas_udf

from hyperlabel._core import is_url
from hyperlabel.data import Format, OutputColumns, link_spooled
from hyperlabel.engines._arrow import to_keys, to_pandas, to_table
from hyperlabel.engines._base import Answerer, AnswerTable, Engine
from hyperlabel.engines._packing import KEY, Digit, Packing, RowKeys
from hyperlabel.networks import Sums, add_sums

_LABEL_TYPES = {"integer": T.LongType(), "boolean": T.BooleanType(), "text": T.StringType()}
_SUMS = "part bigint, sums binary"
_GROUPS = 16  # of partitions, whose sums are added before they reach the driver
_PLAIN = re.compile(r"[\w./ -]+", re.ASCII)
_CONFIGURED = ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_REMOTE")
_LOCAL = [
    ("spark.master", "local[*]"),
    ("spark.driver.host", "127.0.0.1"),
    ("spark.driver.bindAddress", "127.0.0.1"),
    ("spark.sql.caseSensitive", "true"),
    ("spark.sql.shuffle.partitions", "8"),
    ("spark.ui.enabled", "false"),
    ("spark.ui.showConsoleProgress", "false"),
]


class SparkEngine(Engine):
    """Rows of a Spark DataFrame, which have no order."""

    name = "spark"
    failures = (PySparkException, Py4JError)

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.types = {field.name: field.dataType for field in frame.schema.fields}

    @classmethod
    def open(cls, files: Sequence[Path], names: Sequence[str]) -> "SparkEngine":
        """Rows of parquet files, in the existing session or a local one.

        Spark reads brackets and the like as patterns, and folders such as `run=3` as columns, and this cannot be turned
        off: such files get another name.
        """
        names = [
            os.path.abspath(file) if _PLAIN.fullmatch(str(file.resolve())) else link_spooled(file).as_uri()
            for file in files
        ]
        return cls(_session().read.parquet(*names))

    @classmethod
    def open_url(cls, url: str) -> "SparkEngine":
        """By Spark's own reader, which gets the path as it is."""
        return cls(_session().read.parquet(url))

    def kinds(self) -> dict[str, str]:
        """By their types."""
        return {name: _kind(kind) for name, kind in self.types.items()}

    def ranges(self, columns: Sequence[str]) -> list[tuple[int, int]]:
        """One pass over the columns; -1, -1 for an empty one."""
        ends = [end(_column(c).cast("long")) for c in columns for end in (F.min, F.max)]
        values = [-1 if value is None else value for value in self.frame.agg(*ends).first()]
        return list(zip(values[::2], values[1::2], strict=True))

    def distinct(self, columns: Sequence[str], most: int) -> list[list[Any]]:
        """One pass per column."""
        frames = (self.frame.select(self._plain(name).alias("value")).dropna().distinct() for name in columns)
        return [[value for (value,) in values.limit(most + 1).collect()] for values in frames]

    def nulls(self, columns: Sequence[str]) -> list[int]:
        """One pass over the columns."""
        return list(self.frame.agg(*(F.count_if(_column(name).isNull()) for name in columns)).first())

    def head(self, columns: Sequence[str], n: int) -> dict[str, list[Any]]:
        """The values of some rows."""
        rows = self.frame.select(*map(self._plain, columns)).limit(n).collect()
        return {name: [row[j] for row in rows] for j, name in enumerate(columns)}

    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.frame.count())

    def where(self, digit: Digit) -> "SparkEngine":
        """By a filter."""
        return SparkEngine(self.frame.where(self._digit(digit) != F.lit(0)))

    def estimate(self, packing: Packing) -> int:
        """By HyperLogLog, in one pass."""
        keys = F.approx_count_distinct(F.xxhash64(*self._keys(packing)))
        return int(self.frame.agg(keys).first()[0])

    def count(self, packing: Packing) -> tuple[RowKeys, NDArray[np.int64]]:
        """By a group-by whose shuffle moves at most the patterns of each partition."""
        counted = self.frame.select(*self._keys(packing)).groupBy(*packing.names).count().toArrow()
        return to_keys([counted[name] for name in packing.names]), counted["count"].to_numpy()

    def reduce(self, packing: Packing, sums: Callable[[RowKeys], Sums]) -> Sums:
        """In Python workers, a batch at a time; partitions are added in groups, then here, always in the same order."""
        nothing = sums(np.empty((0, len(packing.keys)), np.int64))

        def sum_partition(batches: Iterator[Any]) -> Iterator[Any]:
            total = reduce(add_sums, (sums(to_keys(batch.columns)) for batch in batches), nothing)
            context = TaskContext.get()
            assert context is not None  # a worker has one
            yield _pack_sums(context.partitionId(), np.concatenate([array.ravel() for array in total]))

        sums_of = self.frame.select(*self._keys(packing)).mapInArrow(sum_partition, _SUMS)
        groups = sums_of.repartition(_GROUPS, F.col("part") % F.lit(_GROUPS)).sortWithinPartitions("part")
        rows = groups.mapInArrow(_add_group, _SUMS).toArrow().sort_by("part")
        flat = reduce(np.add, map(np.frombuffer, rows["sums"].to_pylist()))
        parts = np.split(flat, np.cumsum([array.size for array in nothing])[:-1])
        return tuple(part.reshape(array.shape) for part, array in zip(parts, nothing, strict=True))

    def join(self, packing: Packing, table: AnswerTable, added: OutputColumns) -> Any:
        """By a join with the broadcast answers, without a shuffle."""
        session = self.frame.sparkSession
        answers = session.createDataFrame(to_table(table, packing, added))
        keyed = self._passed(added, *self._keys(packing))
        joined = keyed.join(F.broadcast(answers), packing.names, "left")
        return joined.drop(*packing.names)

    def apply(self, packing: Packing, answer: Answerer, added: OutputColumns) -> Any:
        """In Python workers, which see only the keys."""
        fields = [T.StructField(added.names[0], _LABEL_TYPES[added.label_kind])]
        fields += [T.StructField(name, T.DoubleType()) for name in added.names[1:]]

        def answer_batch(*keys: pd.Series) -> pd.DataFrame:  # Spark reads these types
            answers: pd.DataFrame = to_pandas(answer(to_keys(keys)), added)
            return answers

        make: Any = pandas_udf
        answers = make(answer_batch, T.StructType(fields))(*self._keys(packing))
        answered = self._passed(added, answers.alias(KEY))
        kept = [_column(name) for name in answered.columns[:-1]]
        return answered.select(*kept, *(F.col(KEY)[name].alias(name) for name in added.names))

    def write(self, frame: Any, path: str | Path, format: Format, metadata: Mapping[str, str]) -> None:
        """To a folder of parquet files; Spark keeps only metadata of columns, so it goes to the column of labels."""
        labeled = frame.withMetadata("label", dict(metadata)) if metadata else frame
        labeled.write.parquet(str(path) if is_url(path) else Path(path).resolve().as_uri())

    def _passed(self, added: OutputColumns, *more: Any) -> Any:
        """The columns of the input, those with the name of an added column renamed, and some more."""
        renamed, replaced = added.rename(list(self.types)), added.replaced(list(self.types))
        passed = [name for name in self.types if name not in replaced]
        return self.frame.select(*(_column(name).alias(renamed.get(name, name)) for name in passed), *more)

    def _keys(self, packing: Packing) -> list[Any]:
        """The keys of rows; nothing in them is null."""
        terms = [[self._digit(digit) * F.lit(weight) for digit, weight in key] for key in packing.keys]
        return [reduce(operator.add, each).alias(name) for each, name in zip(terms, packing.names, strict=True)]

    def _digit(self, digit: Digit) -> Any:
        if digit.values is None:
            return F.coalesce(_column(digit.column).cast("long"), F.lit(-1)) + F.lit(1)
        if not digit.values:
            return F.lit(0).cast("long")
        position = F.array_position(F.array(*map(F.lit, digit.values)), self._plain(digit.column))
        return F.coalesce(position, F.lit(0)).cast("long")

    def _plain(self, column: str) -> Any:
        """A column, with values of types that Python has."""
        kind = self.types[column]
        return _column(column).cast("double") if isinstance(kind, T.FractionalType) else _column(column)


def _pack_sums(part: int, flat: NDArray[np.float64]) -> Any:
    return pa.record_batch([pa.array([part], pa.int64()), pa.array([flat.tobytes()], pa.binary())], ["part", "sums"])


def _add_group(batches: Iterator[Any]) -> Iterator[Any]:
    """Add the sums of some partitions, in their order."""
    total, first = None, 0
    for batch in batches:
        for part, flat in zip(batch["part"].to_pylist(), map(np.frombuffer, batch["sums"].to_pylist()), strict=True):
            total, first = (flat, part) if total is None else (total + flat, first)
    if total is not None:
        yield _pack_sums(first, total)


def _session() -> Any:
    """The existing session, or one that the environment configures; else a local one."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    conf = SparkConf()
    if not any(name in os.environ for name in _CONFIGURED):
        conf.setAll(_LOCAL)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # so that workers have this package as well
    return SparkSession.builder.config(conf=conf).getOrCreate()


def _kind(kind: Any) -> str:
    if isinstance(kind, T.IntegralType | T.NullType):
        return "integer"
    return kind.simpleString() if isinstance(kind, T.ArrayType | T.MapType | T.StructType) else "plain"


def _column(name: str) -> Any:
    escaped = name.replace("`", "``")
    return F.col(f"`{escaped}`")
