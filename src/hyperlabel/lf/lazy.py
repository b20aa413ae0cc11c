"""LFs on lazy frames: Polars' LazyFrame, Dask, Spark.

The frame gets one column of votes per LF, computed part by part where the data is; rows never come here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.frames import Column
from hyperlabel.errors import ParameterError
from hyperlabel.lf.define import LabelingFunction, LFError
from hyperlabel.lf.items import Items, read_items
from hyperlabel.lf.prompt import PromptFunction
from hyperlabel.lf.ready import Lookup
from hyperlabel.lf.run import Answer, run_all
from hyperlabel.shown import show, show_some
from hyperlabel.votes.classes import Classes

KINDS = {
    ("polars", "LazyFrame"): "Polars",
    ("dask", "DataFrame"): "Dask",
    ("dask_expr", "DataFrame"): "Dask",
    ("pyspark", "DataFrame"): "Spark",
}


def lazy_engine(data: object) -> str | None:
    """The engine of data, if it is a lazy frame.

    >>> import polars as pl
    >>> lazy_engine(pl.LazyFrame({"text": ["a"]})), lazy_engine(pl.DataFrame({"text": ["a"]}))
    ('Polars', None)
    """
    kinds = [(cls.__module__.partition(".")[0], cls.__name__) for cls in type(data).__mro__]
    return next((KINDS[kind] for kind in kinds if kind in KINDS), None)


def apply_lazily(
    engine: str, lfs: Sequence[LabelingFunction], frame: Any, classes: Classes | None, *, tolerant: bool
) -> Any:
    """The frame with one column of votes for each LF added, null where it abstains; nothing is computed yet."""
    voter = Voter(tuple(lfs), classes, _votes_are_texts(lfs, classes), tolerant)
    names = frame.collect_schema().names() if engine == "Polars" else list(frame.columns)
    taken = next((lf.name for lf in lfs if lf.name in names), None)
    if taken is not None:
        raise ParameterError(f"data already has a column {taken!r}, which is the name of an LF; rename one of the two")
    return {"Polars": _apply_polars, "Dask": _apply_dask, "Spark": _apply_spark}[engine](voter, frame)


@dataclass(frozen=True)
class Voter:
    """LFs and what their columns of votes hold."""

    lfs: tuple[LabelingFunction, ...]
    classes: Classes | None  # the classes if they are stated
    texts: bool  # whether votes are class names; otherwise they are class numbers
    tolerant: bool  # whether a failure is an abstention instead of an error

    def vote(self, items: Items) -> Iterator[tuple[str, list[Any], NDArray[np.intp]]]:
        """For each LF its name, its distinct votes with None at the end, and (n,) places among them."""
        for lf, answer in zip(self.lfs, run_all(self.lfs, items, tolerant=self.tolerant), strict=True):
            values = [*self._check(lf.name, answer), None]
            yield lf.name, values, np.where(answer.codes < 0, len(values) - 1, answer.codes).astype(np.intp)

    def _check(self, name: str, answer: Answer) -> list[Any]:
        """The distinct votes, as the column holds them."""
        values = name_votes(answer.values, self.classes) if self.classes is not None else answer.values
        return [None if Column.is_abstain(value) else self._check_vote(name, value) for value in values]

    def _check_vote(self, name: str, value: Any) -> Any:
        if self.classes is not None:
            if value in self.classes:
                return value
            raise LFError(
                f"LF '{name}' votes {show(value)}; expected one of the classes {show_some(self.classes)}", name
            )
        if isinstance(value, str) if self.texts else _is_number(value) and value >= 0:
            return value
        expected = "a class name, like the votes of other LFs" if self.texts else "a class number, 0 or more"
        raise LFError(f"LF '{name}' votes {show(value)}; expected {expected}. State all classes with classes", name)


def name_votes(values: Sequence[Any], classes: Classes) -> tuple[Any, ...]:
    """Votes by class number turned into the stated classes, if those are not numbers themselves.

    >>> name_votes([1, "ham", -1], ("ham", "spam"))
    ('spam', 'ham', -1)
    """
    if any(_is_number(c) for c in classes):
        return tuple(values)
    k = len(classes)
    return tuple(classes[v] if _is_number(v) and 0 <= v < k else v for v in values)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _votes_are_texts(lfs: Sequence[LabelingFunction], classes: Classes | None) -> bool:
    """Whether columns of votes hold strings: a lazy frame must know before an LF runs."""
    if classes is None:
        return any(isinstance(vote, str) for lf in lfs for vote in _stated_votes(lf))
    if all(isinstance(c, str) for c in classes):
        return True
    if all(_is_number(c) for c in classes):
        return False
    raise ParameterError(f"classes is [{show_some(classes)}]; expected only strings or only numbers, for a lazy frame")


def _stated_votes(lf: LabelingFunction) -> list[Any]:
    if isinstance(lf, PromptFunction):
        return list(lf.classes)
    return list(lf.function.table.values()) if isinstance(lf.function, Lookup) else [lf.vote]


def _apply_polars(voter: Voter, frame: Any) -> Any:
    import polars as pl

    dtype = pl.String() if voter.texts else pl.Int32()

    def add_votes(part: Any) -> Any:
        votes = voter.vote(read_items(part))
        return part.with_columns(pl.Series(name, values, dtype=dtype)[codes] for name, values, codes in votes)

    schema = frame.collect_schema() | {lf.name: dtype for lf in voter.lfs}
    return frame.map_batches(add_votes, schema=pl.Schema(schema), streamable=True)


def _apply_dask(voter: Voter, frame: Any) -> Any:
    import pandas as pd

    dtype = pd.StringDtype("pyarrow") if voter.texts else pd.Int32Dtype()
    meta = frame._meta.assign(**{lf.name: pd.array([], dtype) for lf in voter.lfs})
    return frame.map_partitions(_add_to_pandas, voter, dtype, meta=meta)


def _add_to_pandas(part: Any, voter: Voter, dtype: Any) -> Any:
    import pandas as pd

    votes = voter.vote(read_items(part))
    return part.assign(**{name: pd.array(values, dtype).take(codes) for name, values, codes in votes})


def _apply_spark(voter: Voter, frame: Any) -> Any:
    from pyspark.sql.types import IntegerType, StringType, StructField, StructType

    kind = StringType() if voter.texts else IntegerType()
    fields = [StructField(lf.name, kind, nullable=True) for lf in voter.lfs]
    return frame.mapInArrow(_add_to_arrow(voter), StructType([*frame.schema.fields, *fields]))


def _add_to_arrow(voter: Voter) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def add_votes(parts: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        kind = pa.string() if voter.texts else pa.int32()
        for part in parts:
            votes = {
                name: pa.array(values, kind).take(pa.array(codes))
                for name, values, codes in voter.vote(read_items(part))
            }
            yield pa.RecordBatch.from_arrays([*part.columns, *votes.values()], [*part.schema.names, *votes])

    return add_votes
