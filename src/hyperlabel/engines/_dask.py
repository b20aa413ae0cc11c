"""The engine Dask: every partition is counted, and labeled, where it is; counts are merged in a tree."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from glob import escape
from pathlib import Path
from typing import Any, TypeVar

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
from dask.delayed import delayed
from distributed import KilledWorker
from numpy.typing import NDArray

from hyperlabel._core import mix_bits
from hyperlabel.data import Format, OutputColumns
from hyperlabel.engines._arrow import to_pandas
from hyperlabel.engines._base import Answerer, Engine
from hyperlabel.engines._packing import Digit, Packing, RowKeys
from hyperlabel.errors import VotesError
from hyperlabel.networks import Sums, add_sums

_MERGED = 8  # results that are merged at a time
_SKETCH = 1 << 12  # smallest hashes by which patterns are estimated: to about 1.6%

Part = TypeVar("Part")
Ends = list[tuple[int, int] | None]


class DaskEngine(Engine):
    """Rows of a Dask DataFrame; partitions do not know how many rows come before them."""

    name = "dask"
    failures = (OSError, pa.ArrowException, KilledWorker)

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    @classmethod
    def open(cls, files: Sequence[Path], names: Sequence[str]) -> "DaskEngine":
        """Rows of parquet files; folders in their paths are not columns, and Arrow types keep numbers with nulls."""
        paths = [escape(str(file)).replace("::", "[:][:]") for file in files]  # :: would name a file within another
        frame = dd.read_parquet(paths, dtype_backend="pyarrow", dataset={"partitioning": None})
        index = [name for name in names if name not in frame.columns]  # written by pandas
        if len(index) == 1:
            frame = frame.reset_index()
            frame = frame.rename(columns={frame.columns[0]: index[0]})
        elif index:
            raise VotesError(f"the columns {', '.join(index)} are an index, which Dask cannot keep; use another engine")
        return cls(frame[list(names)])

    @classmethod
    def open_url(cls, url: str) -> "DaskEngine":
        """By Dask's own reader."""
        return cls(dd.read_parquet(url, dtype_backend="pyarrow", filesystem=_files_of(url)))

    def kinds(self) -> dict[str, str]:
        """By their types."""
        return {name: _kind(kind) for name, kind in self.frame.dtypes.items()}

    def ranges(self, columns: Sequence[str]) -> list[tuple[int, int]]:
        """One pass over the columns; -1, -1 for an empty one."""

        def find(frame: Any) -> Ends:
            held = (frame[name].dropna() for name in columns)
            return [(int(values.min()), int(values.max())) if len(values) else None for values in held]

        ranges = self._reduce(columns, find, _widen)
        return [ends or (-1, -1) for ends in ranges]

    def distinct(self, columns: Sequence[str], most: int) -> list[list[Any]]:
        """One pass per column."""

        def find(frame: Any) -> set[Any]:
            values = frame.iloc[:, 0].dropna()
            distinct = values.unique() if values.dtype != object else pd.unique(values)
            return set(distinct[: most + 1].tolist())

        def unite(one: set[Any], other: set[Any]) -> set[Any]:
            return one if len(one) > most else one | other

        values = [self._reduce([name], find, unite) for name in columns]
        return [list(each) for each in values]

    def nulls(self, columns: Sequence[str]) -> list[int]:
        """One pass over the columns."""
        return [int(n) for n in self._reduce(columns, lambda frame: frame.isna().sum().to_numpy(), np.add)]

    def head(self, columns: Sequence[str], n: int) -> dict[str, list[Any]]:
        """The values of the first rows."""
        rows = self.frame[list(columns)].head(n, npartitions=-1, compute=False).compute()
        return {name: [None if v is pd.NA else v for v in rows[name].tolist()] for name in columns}

    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def where(self, digit: Digit) -> "DaskEngine":
        """By a filter."""
        kept = self.frame[digit.column].map_partitions(_is_known, digit, meta=(digit.column, bool))
        return DaskEngine(self.frame[kept])

    def estimate(self, packing: Packing) -> int:
        """From the smallest hashes of keys, in one pass."""
        find = partial(_sketch, packing=packing)
        smallest = self._reduce(packing.columns, find, lambda one, other: np.union1d(one, other)[:_SKETCH])
        if len(smallest) < _SKETCH:
            return len(smallest)
        return int((_SKETCH - 1) / (float(smallest[-1]) / 2.0**64))

    def count(self, packing: Packing) -> tuple[RowKeys, NDArray[np.int64]]:
        """Each partition by itself; equal keys of partitions are merged in a tree."""

        def count(frame: Any) -> tuple[RowKeys, NDArray[np.int64]]:
            keys = _pack(frame, packing)
            return _add_up(keys, np.ones(len(keys), np.int64))

        return self._reduce(packing.columns, count, lambda a, b: _add_up(*map(np.concatenate, zip(a, b, strict=True))))

    def reduce(self, packing: Packing, sums: Callable[[RowKeys], Sums]) -> Sums:
        """Each partition by itself, added in a tree."""
        return self._reduce(packing.columns, lambda frame: sums(_pack(frame, packing)), add_sums)

    def apply(self, packing: Packing, answer: Answerer, added: OutputColumns) -> Any:
        """In every partition, when the frame is computed or written."""
        renamed = added.rename(list(self.frame.columns))
        meta = _attach(self.frame._meta, lambda keys: added.nothing, packing, added, renamed)
        shared = delayed(answer, pure=False)  # one task that all partitions use
        return self.frame.map_partitions(_attach, shared, packing, added, renamed, meta=meta)

    def write(self, frame: Any, path: str | Path, format: Format, metadata: Mapping[str, str]) -> None:
        """To a folder of parquet files, named only when all are complete: no pattern matches what a kill leaves."""
        texts = {key: text for key, text in metadata.items() if key != "pandas"}  # pandas writes that itself
        if isinstance(path, str):
            frame.to_parquet(path, write_index=False, custom_metadata=texts or None, filesystem=_files_of(path))
            return
        frame.to_parquet(
            str(path), write_index=False, custom_metadata=texts or None, name_function="part-{:09}.unfinished".format
        )
        for part in path.iterdir():
            part.rename(part.with_suffix(".parquet"))

    def _reduce(self, columns: Sequence[str], find: Callable[[Any], Part], merge: Callable[[Part, Part], Part]) -> Part:
        """Find something in each partition, and merge a few at a time until one is left."""
        several = delayed(partial(reduce, merge))
        parts = [delayed(find)(part) for part in self.frame[list(columns)].to_delayed()]
        while len(parts) > 1:
            parts = [several(parts[i : i + _MERGED]) for i in range(0, len(parts), _MERGED)]
        merged: Part = parts[0].compute()
        return merged


def _files_of(url: str) -> str:
    """Name the file system: that of pyarrow, which needs no other package, where it has the store."""
    return "arrow" if url.startswith(("s3://", "gs://", "abfs://", "abfss://")) else "fsspec"


def _kind(kind: Any) -> str:
    arrow = kind.pyarrow_dtype if isinstance(kind, pd.ArrowDtype) else None
    if arrow is not None and pa.types.is_nested(arrow):
        return str(arrow)
    whole = pd.api.types.is_integer_dtype(kind) or (arrow is not None and pa.types.is_null(arrow))
    return "integer" if whole else "plain"


def _widen(one: Ends, other: Ends) -> Ends:
    return [
        a or b if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))
        for a, b in zip(one, other, strict=True)
    ]


def _pack(frame: Any, packing: Packing) -> RowKeys:
    """The keys of a partition's rows. -> (n, g)."""
    return packing.pack([_digits(frame[digit.column], digit) for digit in packing.digits])


def _digits(series: Any, digit: Digit) -> NDArray[np.integer]:
    if digit.values is None:
        values: NDArray[np.int64] = series.to_numpy(dtype=np.int64, na_value=0)  # unsigned types have no -1
        return np.where(series.isna(), 0, values + 1)
    if not all(isinstance(value, str | int | float) for value in digit.values):  # pandas cannot look up Arrow's times
        digit_of = {value: d for d, value in enumerate(digit.values, 1)}
        return np.array([digit_of.get(value, 0) for value in series.tolist()], np.int64)
    codes: NDArray[np.integer] = pd.Categorical(series, categories=list(digit.values)).codes
    return codes.astype(np.int64) + 1


def _is_known(series: Any, digit: Digit) -> Any:
    return pd.Series(_digits(series, digit) > 0, index=series.index, name=series.name)


def _add_up(keys: RowKeys, counts: NDArray[np.int64]) -> tuple[RowKeys, NDArray[np.int64]]:
    """Distinct keys and the sums of their counts."""
    columns = list(range(keys.shape[1]))
    sums = pd.DataFrame(keys).assign(count=counts).groupby(columns, sort=False)["count"].sum()
    distinct = np.stack([sums.index.get_level_values(g).to_numpy() for g in columns], axis=1)
    return distinct, sums.to_numpy()


def _sketch(frame: Any, packing: Packing) -> NDArray[np.uint64]:
    keys = _pack(frame, packing).view(np.uint64)
    hashes = np.zeros(len(keys), np.uint64)
    for g in range(keys.shape[1]):
        hashes = mix_bits(hashes + keys[:, g] + np.uint64(1))
    return np.unique(hashes)[:_SKETCH]


def _attach(frame: Any, answer: Answerer, packing: Packing, added: OutputColumns, renamed: dict[str, str]) -> Any:
    """A partition with the added columns."""
    answers = to_pandas(answer(_pack(frame, packing)), added).set_axis(frame.index)
    kept = frame.drop(columns=added.replaced(list(frame.columns)))
    return pd.concat([kept.rename(columns=renamed), answers], axis=1)
