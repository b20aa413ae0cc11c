"""Answers as Arrow data, which DuckDB, Spark and pandas read directly."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from hyperlabel.data import Answers, OutputColumns
from hyperlabel.engines._base import AnswerTable
from hyperlabel.engines._packing import Packing, RowKeys

_LABEL_TYPES = {"integer": pa.int64(), "boolean": pa.bool_(), "text": pa.string()}


def to_columns(answers: Answers, added: OutputColumns) -> list[Any]:
    """Return one array per added column."""
    labels = pa.array(added.label_values, _LABEL_TYPES[added.label_kind])
    return [labels.take(pa.array(answers.label)), *(pa.array(numbers) for numbers in answers.numbers.T)]


def to_table(table: AnswerTable, packing: Packing, added: OutputColumns) -> Any:
    """Return keys and their answers."""
    keys = [pa.array(table.keys[:, g]) for g in range(table.keys.shape[1])]
    return pa.table([*keys, *to_columns(table.answers, added)], names=[*packing.names, *added.names])


def to_keys(columns: Sequence[Any]) -> RowKeys:
    """Stack Arrow arrays of g columns. -> (n, g) keys."""
    return np.stack([np.asarray(column) for column in columns], axis=1)


def to_pandas(answers: Answers, added: OutputColumns) -> Any:
    """Return the added columns as a pandas frame; no label is NA."""
    import pandas as pd

    nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    return pa.table(to_columns(answers, added), names=added.names).to_pandas(types_mapper=nullable.get)
