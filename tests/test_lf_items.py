import copy
import pickle
from collections import deque
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.lf import read_items
from hyperlabel.lf._items import make_rows, read_value, row_class


def test_row_is_read_by_attribute_and_by_item():
    row = row_class(("id", "text", "two words", "keys"))((1, "a", 2, 3))
    assert (row.text, row["text"], row["two words"], row.keys) == ("a", "a", 2, 3)
    assert row.get("none") is None
    assert row.get("none", 5) == 5
    assert "text" in row
    assert "none" not in row
    assert dict(row_class(("a", "b"))((1, 2))) == {"a": 1, "b": 2}


def test_row_without_a_column_names_those_it_has():
    row = row_class(("id", "text"))((1, "a"))
    with pytest.raises(AttributeError, match="the row has no column 'txt'; its columns are 'id', 'text'"):
        _ = row.txt
    with pytest.raises(KeyError, match="the row has no column 'txt'"):
        row["txt"]


def test_row_that_is_changed_is_an_error():
    with pytest.raises(AttributeError, match="cannot set 'text': LFs share the row"):
        row_class(("text",))(("a",)).text = "b"


def test_row_copied_or_pickled_keeps_its_values():
    row = row_class(("id", "text"))((1, "a"))
    for twin in (copy.deepcopy(row), pickle.loads(pickle.dumps(row))):
        assert (twin.keys(), tuple(twin)) == (row.keys(), tuple(row))


FRAME = pd.DataFrame({"id": [1, 2], "text": ["a", None], "when": pd.to_datetime(["2020-01-01", "2021-01-01"])})


@pytest.mark.parametrize(
    "data",
    [FRAME, pl.from_pandas(FRAME), pa.RecordBatch.from_pandas(FRAME), pl.from_pandas(FRAME).to_dicts()],
    ids=["pandas", "polars", "arrow", "list"],
)
def test_rows_of_each_kind_of_data_are_the_same(data):
    rows = make_rows(read_items(data).cut(0, 2))
    assert [(row.id, row["text"], row.when.year) for row in rows] == [(1, "a", 2020), (2, None, 2021)]


def test_rows_of_nullable_pandas_columns_hold_none_where_they_are_empty():
    frame = pd.DataFrame({"n": pd.array([1, None], "Int64"), "t": pd.array(["a", None], "string")})
    rows = make_rows(read_items(frame).cut(0, 2))
    assert [(row.n, row.t) for row in rows] == [(1, "a"), (None, None)]


def test_items_of_a_list_that_are_no_mappings_stay_as_they_are():
    items = [SimpleNamespace(text="a"), "b", 3, np.array([1, 2])]
    assert all(row is item for row, item in zip(make_rows(read_items(items).cut(0, 4)), items, strict=True))


def test_value_of_each_kind_of_item_is_read():
    items = [SimpleNamespace(text="a"), "a", {"text": "a"}, row_class(("text",))(("a",))]
    assert [read_value(item, "text") for item in items] == ["a"] * 4


@pytest.mark.parametrize("data", ["text", {"text": ["a"]}, 3, None, iter([1])])
def test_items_of_something_else_are_an_error(data):
    with pytest.raises(VotesError, match="expected a list of items, or a pandas, Polars, Dask or Spark frame"):
        read_items(data)


def test_items_with_two_columns_of_one_name_are_an_error():
    with pytest.raises(VotesError, match="data has 2 columns named 'a'; expected one. Rename the others"):
        read_items(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_frame_of_a_list_is_an_error():
    with pytest.raises(
        ParameterError, match="data is of type list, but LFs of whole columns read frames; make a frame"
    ):
        _ = read_items([1]).frame


def test_keys_of_a_record_that_are_no_strings_are_read_by_item():
    row = row_class((None, 3, "text"))(("a", "b", "c"))
    assert (row[None], row["text"], row.text) == ("a", "c", "c")


class Counted:
    """A sequence that knows its length alone, as data sets of other packages do."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return "ab"[index % 2]


@pytest.mark.parametrize(
    "data", [pd.Series(["a", "b"], index=[5.0, 6.0]), deque(["a", "b"]), pl.Series(["a", "b"]), Counted()]
)
def test_sequences_of_any_kind_are_cut_by_position(data):
    items = read_items(data)
    assert [make_rows(items.cut(*part)) for part in ((0, 1), (1, 2), (0, 2))] == [["a"], ["b"], ["a", "b"]]
