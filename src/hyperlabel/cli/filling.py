"""Labels for items without votes: what `--text` and `--features` ask for."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hyperlabel.classify import fill_labels
from hyperlabel.cli.options import split_names
from hyperlabel.cli.tables import LARGE, VotesInput, size_of
from hyperlabel.columns.rule import choose_columns
from hyperlabel.errors import ParameterError
from hyperlabel.labels import Labels
from hyperlabel.metrics import Metric
from hyperlabel.models import LabelModel
from hyperlabel.shown import printable
from hyperlabel.tables import Table
from hyperlabel.tables.arrays import read_array


@dataclass(frozen=True)
class Filling:
    """What items without votes get their labels from."""

    text: str | None  # a column of texts
    features: str | None  # columns of numbers, or one of lists of numbers; or an npy file with one row per item
    combine: bool  # whether items with votes get labels from both

    @classmethod
    def parse(
        cls, text: str | None, features: str | None, combine: bool, engine: str, metric: Metric
    ) -> "Filling | None":
        """From the options, which must go together; None if nothing is filled."""
        if text is None and features is None:
            if combine:
                raise ParameterError("--combine is given without --text or --features; add one of them")
            return None
        if text is not None and features is not None:
            raise ParameterError("--text and --features are both given; expected one of them")
        filling = cls(text, features, combine)
        if engine not in ("auto", "memory"):
            filling.check_engine(engine, metric)
        return filling

    def check_engine(self, engine: str, metric: Metric) -> None:
        """Refuse an engine that cannot do it: only Polars streams, and only texts."""
        asked = "--features" if self.text is None else "--combine" if self.combine else "--text"
        if asked == "--text" and metric == "f1":
            asked = "--text with --metric f1"
        if asked != "--text":
            raise ParameterError(f"--engine is '{engine}', but {asked} works in memory; leave --engine out")
        if engine != "polars":
            raise ParameterError(
                f"--engine is '{engine}', but --text works in memory or with --engine polars; use one of these"
            )

    def choose_engine(self, engine: str, table: Table | None, metric: Metric) -> str:
        """Where to work: in memory, unless Polars is named, or the table is large and Polars can do it."""
        can = self.text is not None and not self.combine and metric == "accuracy"
        large = can and table is not None and size_of(table) > LARGE
        return "auto" if engine == "auto" and large else "polars" if engine == "polars" else "memory"

    def columns(self, table: Table | None) -> list[str]:
        """The columns of a table that hold texts or features and so are not LFs."""
        if table is None or self._is_file:
            return []
        if self.features is not None:
            return list(choose_columns(table.columns, self._feature_names(table.columns)))
        if self.text not in table.columns:
            shown = ", ".join(map(printable, table.columns))
            raise ParameterError(f"--text is '{self.text}'; expected a column of VOTES: {shown}")
        return [str(self.text)]

    def label(self, model: LabelModel, source: VotesInput, table: Table | None, gold: object, metric: Metric) -> Labels:
        """Labels of all items."""
        inputs = self._inputs(source.frame, self.columns(table))
        return fill_labels(model, source.votes, inputs, gold, combine=self.combine, metric=metric)

    @property
    def _is_file(self) -> bool:
        return self.features is not None and Path(self.features).suffix.lower() == ".npy"

    def _feature_names(self, columns: Sequence[str]) -> list[str]:
        assert self.features is not None
        return [self.features] if self.features in columns else split_names(self.features, "--features") or []

    def _inputs(self, frame: pl.DataFrame, columns: list[str]) -> Any:
        if self._is_file:
            return read_array(Path(str(self.features)))
        option = "--text" if self.features is None else "--features"
        if not columns:
            raise ParameterError(f"{option} names columns, but VOTES has none; give --features FILE.npy")
        absent = next((name for name in columns if name not in frame.columns), None)
        if absent is not None:  # the LFs or votes of a long table
            raise ParameterError(f"{option} is '{printable(absent)}', which --long names too; expected another column")
        if self.features is not None:
            return _read_features(frame[columns])
        column = frame[columns[0]]
        if column.dtype.is_nested():
            raise ParameterError(f"--text is '{columns[0]}', a column of {column.dtype}; expected texts")
        return column.cast(pl.String).to_list()


def _read_features(frame: pl.DataFrame) -> Any:
    """Columns of numbers (strings in a csv), or one column of lists of numbers. -> (n, q)."""
    frame = frame.with_columns(_to_numbers(column) for column in frame.iter_columns())
    for name, kind in frame.schema.items():
        nested = isinstance(kind, pl.List | pl.Array) and len(frame.columns) == 1
        if not (kind.is_numeric() or kind == pl.Boolean or nested):
            raise ParameterError(f"--features has column '{printable(name)}', which holds {kind}; expected numbers")
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_max() or 0)
            raise ParameterError(
                f"--features has column '{printable(name)}', which is empty in row {row}; "
                "expected a number in every row"
            )
    [first, *_] = frame.iter_columns()
    if not first.dtype.is_nested():
        return frame.cast(pl.Float64).to_numpy()
    rows = first.to_list()
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise ParameterError(
            f"--features has column '{printable(first.name)}' with lists of {lengths[0]} to {lengths[-1]} numbers; "
            "expected the same length in every row"
        )
    return np.array(rows, np.float64)


def _to_numbers(column: pl.Series) -> pl.Series:
    """A column of strings as numbers, if they are."""
    if column.dtype != pl.String:
        return column
    filled = column.set(column == "", None)
    numbers = filled.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == filled.null_count() else column


def describe_sources(labels: Labels) -> str:
    """Where labels come from, in one line."""
    assert labels.source is not None
    counts = Counter("none" if source is None else str(source) for source in labels.source)
    return "labels from " + ", ".join(f"{name}: {n:,}" for name, n in counts.most_common())
