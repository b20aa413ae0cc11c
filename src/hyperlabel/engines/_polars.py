"""The engine Polars: streaming on one machine, the default for files. Rows keep their order."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hyperlabel.data import Answers, Format, OutputColumns, exactly, sink_table
from hyperlabel.engines._base import CHUNK_ROWS, Answerer, Engine
from hyperlabel.engines._packing import KEY, Digit, Packing, RowKeys
from hyperlabel.networks import Sums, add_sums

TextAnswers = Callable[[RowKeys, list[str | None]], Answers]
"""From the (n, g) keys of rows and their texts to their answers."""

_TEXT = "__text"
_FEW_VALUES = 16  # up to here it is faster to compare with one value after the other


class PolarsEngine(Engine):
    """Rows of a Polars LazyFrame."""

    name = "polars"
    failures = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
    formats: ClassVar[tuple[str, ...]] = ("csv", "json", "parquet", "arrow")

    def __init__(self, frame: pl.LazyFrame) -> None:
        self.frame = frame
        self.schema = frame.collect_schema()

    @classmethod
    def open_url(cls, url: str) -> "PolarsEngine":
        """By Polars' own reader."""
        return cls(pl.scan_parquet(url, hive_partitioning=False))

    def kinds(self) -> dict[str, str]:
        """By their types."""
        kinds = dict.fromkeys(self.schema, "plain")
        for name, dtype in self.schema.items():
            if dtype.is_integer() or dtype == pl.Null:
                kinds[name] = "integer"
            elif dtype.is_nested() or dtype == pl.Object:
                kinds[name] = str(dtype)
        return kinds

    def ranges(self, columns: Sequence[str]) -> list[tuple[int, int]]:
        """One pass over the columns; -1, -1 for an empty one."""
        whole = [self._column(name) for name in columns]
        ends = [e.alias(f"{j}{end}") for j, c in enumerate(whole) for end, e in (("low", c.min()), ("high", c.max()))]
        values = [-1 if value is None else value for value in _collect(self.frame.select(ends)).row(0)]
        return list(zip(values[::2], values[1::2], strict=True))

    def distinct(self, columns: Sequence[str], most: int) -> list[list[Any]]:
        """One pass per column."""
        frames = (self.frame.select(self._plain(name).alias("value")).drop_nulls().unique() for name in columns)
        return [_collect(values.head(most + 1))["value"].to_list() for values in frames]

    def nulls(self, columns: Sequence[str]) -> list[int]:
        """One pass over the columns."""
        empty = [self._column(name).is_null().sum().alias(str(j)) for j, name in enumerate(columns)]
        return list(_collect(self.frame.select(empty)).row(0))

    def head(self, columns: Sequence[str], n: int) -> dict[str, list[Any]]:
        """The values of the first rows."""
        rows = _collect(self.frame.head(n).select(self._plain(name) for name in columns))
        return dict(zip(columns, (series.to_list() for series in rows), strict=True))

    def first_row(self, column: str, values: Sequence[Any]) -> tuple[int, Any] | None:
        """The first row with one of some values."""
        one_of = self.frame.select(self._plain(column).alias("value")).with_row_index("row")
        rows = _collect(one_of.filter(pl.col("value").is_in(list(values))).head(1)).rows()
        return rows[0] if rows else None

    def n_rows(self) -> int:
        """Number of rows."""
        return int(_collect(self.frame.select(pl.len())).item())

    def where(self, digit: Digit) -> "PolarsEngine":
        """By a filter."""
        return PolarsEngine(self.frame.filter(self._digit(digit) != 0))

    def estimate(self, packing: Packing) -> int:
        """By HyperLogLog, in one pass."""
        keys = self.frame.select(pl.struct(self._keys(packing)).hash().approx_n_unique())
        return int(_collect(keys).item())

    def count(self, packing: Packing) -> tuple[RowKeys, NDArray[np.int64]]:
        """By a streamed group-by."""
        counted = _collect(self.frame.select(self._keys(packing)).group_by(packing.names).len("count"))
        return _to_keys(counted, packing), counted["count"].to_numpy().astype(np.int64)

    def reduce(self, packing: Packing, sums: Callable[[RowKeys], Sums]) -> Sums:
        """In batches of rows."""
        batches = self.frame.select(self._keys(packing)).collect_batches(chunk_size=CHUNK_ROWS, maintain_order=False)
        return reduce(add_sums, (sums(_to_keys(batch, packing)) for batch in batches))

    def apply(self, packing: Packing, answer: Answerer, added: OutputColumns) -> pl.LazyFrame:
        """Batch by batch, when the frame is collected or written; faster than a join, and keeps the order of rows."""
        return self._add(self._keys(packing), lambda rows: answer(_to_keys(rows, packing)), added)

    def sample_texts(self, packing: Packing, text: str, most: int) -> tuple[RowKeys, list[str | None]]:
        """The keys and texts of all rows, or of a random sample."""
        from hyperlabel.engines._filling import draw_rows

        rows = self.frame.select(*self._keys(packing), self._column(text).cast(pl.String).alias(_TEXT))
        drawn = draw_rows(rows.collect_batches(maintain_order=True), most)
        return _to_keys(drawn, packing), drawn[_TEXT].to_list()

    def apply_texts(self, packing: Packing, text: str, answer: TextAnswers, added: OutputColumns) -> pl.LazyFrame:
        """Return the rows with answers computed from their keys and texts, batch by batch."""
        whole = self._column(text).cast(pl.String).alias(_TEXT)
        return self._add(
            [*self._keys(packing), whole], lambda rows: answer(_to_keys(rows, packing), rows[_TEXT].to_list()), added
        )

    def _add(
        self, inputs: list[pl.Expr], answer: Callable[[pl.DataFrame], Answers], added: OutputColumns
    ) -> pl.LazyFrame:
        """Return the rows with answers computed from some inputs, when the frame is collected or written."""
        kind = pl.Struct(added.to_polars(added.nothing).schema)

        def label_batch(batch: pl.Series) -> pl.Series:
            return added.to_polars(answer(batch.struct.unnest())).to_struct(KEY)  # type: ignore[no-any-return]

        answers = pl.struct(inputs).map_batches(label_batch, return_dtype=kind, is_elementwise=True)
        names = self.schema.names()
        labeled = self.frame.with_columns(answers.alias(KEY)).drop(exactly(added.replaced(names)))
        return labeled.rename(added.rename(names)).unnest(KEY)

    def write(self, frame: pl.LazyFrame, path: str | Path, format: Format, metadata: Mapping[str, str]) -> None:
        """Streamed to one file."""
        sink_table(frame, path, format, metadata)

    def _keys(self, packing: Packing) -> list[pl.Expr]:
        """The keys of rows; nothing in them is null."""
        keys = []
        for name, key in zip(packing.names, packing.keys, strict=True):
            terms = [self._digit(digit) * weight for digit, weight in key]
            keys.append(pl.sum_horizontal(terms).alias(name))
        return keys

    def _digit(self, digit: Digit) -> pl.Expr:
        if digit.values is None:
            return self._column(digit.column).cast(pl.Int64).fill_null(-1) + 1
        if not digit.values:
            return self._column(digit.column).is_null().cast(pl.Int64) * 0  # a literal would have one row
        column = self._plain(digit.column)
        if all(isinstance(value, str) for value in digit.values):
            return column.cast(pl.Enum(digit.values), strict=False).to_physical().cast(pl.Int64).fill_null(-1) + 1
        digits = range(1, digit.base)
        if digit.base <= _FEW_VALUES and all(isinstance(value, int | float) for value in digit.values):
            chosen = pl.lit(0, pl.Int64)
            for value, number in zip(digit.values, digits, strict=True):
                chosen = pl.when(column == value).then(number).otherwise(chosen)
            return chosen
        return column.replace_strict(digit.values, digits, default=0, return_dtype=pl.Int64)  # slow on many columns

    def _plain(self, name: str) -> pl.Expr:
        """A column, with values of types that Python has."""
        column, kind = self._column(name), self.schema[name]
        if kind == pl.Categorical or kind == pl.Enum:
            return column.cast(pl.String)
        return column.cast(pl.Float64) if kind.is_decimal() else column

    def _column(self, name: str) -> pl.Expr:
        return pl.nth(self.schema.names().index(name))  # by index: a name could be read as a pattern


def _to_keys(frame: pl.DataFrame, packing: Packing) -> RowKeys:
    return np.stack([frame[name].to_numpy() for name in packing.names], axis=1)


def _collect(frame: pl.LazyFrame) -> pl.DataFrame:
    return frame.collect(engine="streaming")
