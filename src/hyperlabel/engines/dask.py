"""The engine Dask: every partition is counted, and labeled, where it is; what is found is merged in a tree."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from glob import escape
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
from dask.delayed import delayed
from distributed import KilledWorker
from numpy.typing import NDArray

from hyperlabel.engines.arrow import to_pandas
from hyperlabel.engines.base import Answerer, AnswerTable
from hyperlabel.engines.packing import Digit, Packing, RowKeys
from hyperlabel.errors import VotesError
from hyperlabel.kernels import mix_bits
from hyperlabel.labels.added import Added
from hyperlabel.networks import Sums, add_sums
from hyperlabel.tables import Format
from hyperlabel.tables.formats import Kind

_MERGED = 8  # results that are merged at a time
_SKETCH = 1 << 12  # smallest hashes by which patterns are estimated: to about 1.6%

Found = TypeVar("Found")
Ends = list[tuple[int, int] | None]


class DaskEngine:
    """Rows of a Dask DataFrame.

    Args:
        frame: The rows.
    """

    name: ClassVar[str] = "dask"
    failures = (OSError, pa.ArrowException, KilledWorker)
    formats: ClassVar[tuple[Kind, ...]] = ("parquet",)

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

    def kinds(self) -> dict[str, str]:
        """What each column holds."""
        return {name: _kind(kind) for name, kind in self.frame.dtypes.items()}

    def ranges(self, columns: Sequence[str]) -> list[tuple[int, int]]:
        """One pass over the columns; -1, -1 for an empty one."""
        found = self._reduce(columns, partial(_ranges, columns=columns), _widen)
        return [(-1, -1) if ends is None else ends for ends in found]

    def distinct(self, columns: Sequence[str], most: int) -> list[list[Any]]:
        """One pass per column."""
        merge = partial(_unite, most=most)
        return [list(self._reduce([name], partial(_distinct, most=most), merge)) for name in columns]

    def nulls(self, columns: Sequence[str]) -> list[int]:
        """One pass over the columns."""
        return [int(n) for n in self._reduce(columns, _count_nulls, np.add)]

    def head(self, columns: Sequence[str], n: int) -> dict[str, list[Any]]:
        """The values of the first rows."""
        rows = self.frame[list(columns)].head(n, npartitions=-1, compute=False).compute()
        return {name: _to_list(rows[name]) for name in columns}

    def first_row(self, column: str, values: Sequence[Any]) -> tuple[int, Any] | None:
        """Unknown: partitions do not know how many rows come before them."""
        return None

    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def where(self, digit: Digit) -> "DaskEngine":
        """The rows whose digit of a column is not 0."""
        kept = self.frame[digit.column].map_partitions(_is_known, digit, meta=(digit.column, bool))
        return DaskEngine(self.frame[kept])

    def estimate(self, packing: Packing) -> int:
        """From the smallest hashes of keys, in one pass."""
        smallest = self._reduce(_columns(packing), partial(_sketch, packing=packing), _smallest)
        if len(smallest) < _SKETCH:
            return len(smallest)
        return int((_SKETCH - 1) / (float(smallest[-1]) / 2.0**64))

    def count(self, packing: Packing) -> tuple[RowKeys, NDArray[np.int64]]:
        """Each partition by itself; equal keys of partitions are merged in a tree."""
        found: tuple[RowKeys, NDArray[np.int64]] = self._reduce(
            _columns(packing), partial(_count, packing=packing), _merge_counts
        )
        return found

    def reduce(self, packing: Packing, sums: Callable[[RowKeys], Sums]) -> Sums:
        """Each partition by itself, added in a tree."""
        return self._reduce(_columns(packing), partial(_sum, packing=packing, sums=sums), add_sums)

    def join(self, packing: Packing, table: AnswerTable, added: Added) -> Any:
        """By a lookup in every partition."""
        return self.apply(packing, table, added)

    def apply(self, packing: Packing, answer: Answerer, added: Added) -> Any:
        """In every partition, when the frame is computed or written."""
        renamed = added.rename(list(self.frame.columns))
        meta = _attach(self.frame._meta, lambda keys: added.nothing, packing, added, renamed)
        shared = delayed(answer, pure=False)  # one task that all partitions use
        return self.frame.map_partitions(_attach, shared, packing, added, renamed, meta=meta)

    def write(self, frame: Any, path: Path, format: Format, metadata: Mapping[str, str]) -> None:
        """To a folder of parquet files, named only when all are complete: no pattern matches what a kill leaves."""
        texts = {key: text for key, text in metadata.items() if key != "pandas"}  # pandas writes that itself
        frame.to_parquet(str(path), write_index=False, custom_metadata=texts or None, name_function=_unfinished)
        for part in path.iterdir():
            part.rename(part.with_suffix(".parquet"))

    def _reduce(
        self, columns: Sequence[str], find: Callable[[Any], Found], merge: Callable[[Found, Found], Found]
    ) -> Found:
        """What is found in each partition, merged a few at a time until one is left."""
        several = delayed(partial(_merge, merge))
        found = [delayed(find)(part) for part in self.frame[list(columns)].to_delayed()]
        while len(found) > 1:
            found = [several(found[i : i + _MERGED]) for i in range(0, len(found), _MERGED)]
        merged: Found = found[0].compute()
        return merged


def _unfinished(partition: int) -> str:
    return f"part-{partition:09}.unfinished"


def _kind(kind: Any) -> str:
    arrow = kind.pyarrow_dtype if isinstance(kind, pd.ArrowDtype) else None
    if arrow is not None and pa.types.is_nested(arrow):
        return str(arrow)
    whole = pd.api.types.is_integer_dtype(kind) or (arrow is not None and pa.types.is_null(arrow))
    return "integer" if whole else "plain"


def _columns(packing: Packing) -> list[str]:
    return [digit.column for digit in packing.digits]


def _merge(merge: Callable[[Found, Found], Found], found: list[Found]) -> Found:
    return reduce(merge, found)


def _whole(series: Any) -> NDArray[np.int64]:
    """A column of integers, -1 for NA. -> (n,)."""
    values: NDArray[np.int64] = series.to_numpy(dtype=np.int64, na_value=0)  # unsigned types have no -1
    return np.where(series.isna(), -1, values)


def _ranges(frame: Any, columns: Sequence[str]) -> Ends:
    """The least and the largest value of each column; None if it is empty."""
    held = (frame[name].dropna() for name in columns)
    return [(int(values.min()), int(values.max())) if len(values) else None for values in held]


def _widen(one: Ends, other: Ends) -> Ends:
    return [
        a or b if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))
        for a, b in zip(one, other, strict=True)
    ]


def _count_nulls(frame: Any) -> NDArray[np.int64]:
    found: NDArray[np.int64] = frame.isna().sum().to_numpy()
    return found


def _to_list(series: Any) -> list[Any]:
    return [None if value is pd.NA else value for value in series.tolist()]


def _distinct(frame: Any, most: int) -> set[Any]:
    values = frame.iloc[:, 0].dropna()
    distinct = values.unique() if values.dtype != object else pd.unique(values)
    return set(distinct[: most + 1].tolist())


def _unite(one: set[Any], other: set[Any], most: int) -> set[Any]:
    return one if len(one) > most else one | other


def _pack(frame: Any, packing: Packing) -> RowKeys:
    """The keys of a partition's rows. -> (n, g)."""
    return packing.pack([_digits(frame[digit.column], digit) for digit in packing.digits])


def _digits(series: Any, digit: Digit) -> NDArray[np.integer]:
    if digit.values is None:
        return _whole(series) + 1
    if not all(isinstance(value, str | int | float) for value in digit.values):  # pandas cannot look up Arrow's times
        place = {value: d for d, value in enumerate(digit.values, 1)}
        return np.array([place.get(value, 0) for value in series.tolist()], np.int64)
    codes: NDArray[np.integer] = pd.Categorical(series, categories=list(digit.values)).codes
    return codes.astype(np.int64) + 1


def _is_known(series: Any, digit: Digit) -> Any:
    return pd.Series(_digits(series, digit) > 0, index=series.index, name=series.name)


def _count(frame: Any, packing: Packing) -> tuple[RowKeys, NDArray[np.int64]]:
    keys = _pack(frame, packing)
    return _add_up(keys, np.ones(len(keys), np.int64))


def _merge_counts(
    one: tuple[RowKeys, NDArray[np.int64]], other: tuple[RowKeys, NDArray[np.int64]]
) -> tuple[RowKeys, NDArray[np.int64]]:
    return _add_up(np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]]))


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


def _smallest(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return np.union1d(one, other)[:_SKETCH]


def _sum(frame: Any, packing: Packing, sums: Callable[[RowKeys], Sums]) -> Sums:
    return sums(_pack(frame, packing))


def _attach(frame: Any, answer: Answerer, packing: Packing, added: Added, renamed: dict[str, str]) -> Any:
    """A partition with the added columns."""
    answers = to_pandas(answer(_pack(frame, packing)), added).set_axis(frame.index)
    return pd.concat([frame.rename(columns=renamed), answers], axis=1)
