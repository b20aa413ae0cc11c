"""Whatever holds columns gives the same votes."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hyperlabel.data import Votes, exact_array, holds_columns, open_table, to_votes
from hyperlabel.errors import VotesError

RECORDS = [
    {"id": 7, "text": "x", "a": "ham", "b": None},
    {"id": 8, "text": "y", "a": "spam", "b": "spam"},
    {"id": 9, "text": "z", "a": None, "b": "ham"},
]
CELLS = [[0, -1], [1, 1], [-1, 0]]


class Dataset:
    """As much of a Hugging Face Dataset as is used: a view in a format, of which a slice is an Arrow table."""

    def with_format(self, kind):
        assert kind == "arrow"
        return self

    def __getitem__(self, key):
        return pa.Table.from_pylist(RECORDS)[key]


class DatasetDict(dict):
    """Splits of a Hugging Face data set."""


Dataset.__module__ = "datasets.arrow_dataset"
DatasetDict.__module__ = "datasets.dataset_dict"

SOURCES = {
    "pandas": pd.DataFrame(RECORDS),
    "polars": pl.DataFrame(RECORDS),
    "lazy polars": pl.LazyFrame(RECORDS),
    "arrow": pa.Table.from_pylist(RECORDS),
    "record batch": pa.RecordBatch.from_pylist(RECORDS),
    "Hugging Face": Dataset(),
    "records": RECORDS,
    "records that lack what is null": [{k: v for k, v in record.items() if v is not None} for record in RECORDS],
    "a tuple of records": tuple(RECORDS),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_votes_of_any_source_are_the_same(source):
    assert holds_columns(source)
    for votes in (Votes.from_frame(source), to_votes(source)):
        assert votes.to_numpy().tolist() == CELLS
        assert (votes.lf_names, votes.classes, votes.items.tolist()) == (("a", "b"), ("ham", "spam"), [7, 8, 9])
    assert Votes.from_frame(source, lfs=["b"]).to_numpy().tolist() == [[-1], [1], [0]]


def test_long_table_of_any_source_is_read():
    long = [{"task": 1, "who": "p", "what": "x"}, {"task": 1, "who": "q", "what": "y"}]
    for source in (long, pa.Table.from_pylist(long), pl.LazyFrame(long), pd.DataFrame(long)):
        votes = Votes.from_long(source, item="task", lf="who", vote="what")
        assert votes.to_numpy().tolist() == [[0, 1]]


def test_lazy_frame_reads_no_column_that_is_left_out():
    frame = pl.LazyFrame(RECORDS).with_columns(text=pl.col("text").map_elements(lambda _: 1 / 0, return_dtype=pl.Int64))
    assert Votes.from_frame(frame).to_numpy().tolist() == CELLS


def test_lazy_frame_whose_file_is_gone_is_refused(tmp_path):
    with pytest.raises(VotesError, match="^'votes' cannot be read: No such file"):
        Votes.from_frame(pl.scan_csv(tmp_path / "gone.csv"))


def test_arrow_is_read_without_polars(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    assert Votes.from_frame(pa.Table.from_pylist(RECORDS)).to_numpy().tolist() == CELLS


def test_columns_with_odd_names_are_read():
    votes = Votes.from_frame(pd.DataFrame([[0, 1, 1], [1, 0, 0]], columns=[None, ("a", "b"), 3]))
    assert votes.lf_names == ("('a', 'b')", "3")
    assert Votes.from_frame(pd.DataFrame([[0, 1]]), lfs=[1]).to_numpy().tolist() == [[1]]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            3,
            "^votes is of type int; expected a pandas or Polars DataFrame, a pyarrow Table, a Hugging Face Dataset",
        ),
        (
            DatasetDict(train=1),
            r"^votes is of type DatasetDict; expected .*Choose one of its splits, such as data\['train'\]",
        ),
        ([], "^votes is of type list; expected"),
    ],
)
def test_what_holds_no_columns_is_refused(source, message):
    with pytest.raises(VotesError, match=message):
        open_table(source)


@pytest.mark.parametrize("values", [[1, 2], ["a", "b"], [2**63, 5], [1.5, 2.5], ["a\0", "a"], ["1", 1, (1, 2)], []])
def test_array_of_values_holds_them_exactly(values):
    assert exact_array(values).tolist() == values


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_frame_of_very_many_columns_is_read_as_an_array(make, kind):
    cells = np.random.default_rng(0).integers(-1, 2, (30, 1000))
    held = cells if kind == "numbers" else np.array(["0", "1", "NA"], object)[cells]
    frame = make({f"lf{j}": held[:, j] for j in range(1000)})
    np.testing.assert_array_equal(Votes.from_frame(frame).to_numpy(), cells)


def test_arrow_table_of_a_type_that_polars_does_not_know_is_refused():
    ends = pa.RunEndEncodedArray.from_arrays([2, 3], [0, 1])
    with pytest.raises(VotesError, match="'votes' cannot be read: .*not supported"):
        Votes.from_frame(pa.table({"a": ends, "b": [0, 1, 1]}))
