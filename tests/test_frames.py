"""Columns of pandas and Polars: whatever they hold, the same distinct values and codes."""

import datetime
from collections import Counter
from decimal import Decimal
from enum import StrEnum

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hyperlabel.data import Column, Votes, is_frame, is_series, open_table, read_column
from hyperlabel.errors import VotesError

NAN = float("nan")


def decode(column):
    """The values row by row, None where the column is empty."""
    return [None if code < 0 else column.values[code] for code in column.codes]


NUMBERS, TEXTS, BOOLEANS = [2, None, 0, 2], ["spam", None, "ham", "spam"], [True, None, False, True]

SERIES = {
    "pandas floats": (pd.Series([2.0, NAN, 0.0, 2.0]), NUMBERS),
    "pandas float32": (pd.Series([2.0, NAN, 0.0, 2.0], dtype="float32"), NUMBERS),
    "pandas integers": (pd.Series([2, 1, 0, 2]), [2, 1, 0, 2]),
    "pandas uint64": (pd.Series([2, 1, 0, 2], dtype="uint64"), [2, 1, 0, 2]),
    "pandas nullable Int64": (pd.Series(NUMBERS, dtype="Int64"), NUMBERS),
    "pandas nullable Float64": (pd.Series(NUMBERS, dtype="Float64"), NUMBERS),
    "pandas arrow integers": (pd.Series(NUMBERS, dtype="int8[pyarrow]"), NUMBERS),
    "pandas integer objects": (pd.Series(NUMBERS, dtype=object), NUMBERS),
    "pandas NA objects": (pd.Series([2, pd.NA, 0, 2.0], dtype=object), NUMBERS),
    "pandas integer categories": (pd.Series(NUMBERS, dtype="category"), NUMBERS),
    "pandas sparse": (pd.Series(pd.arrays.SparseArray([2.0, NAN, 0.0, 2.0])), NUMBERS),
    "pandas texts": (pd.Series(TEXTS), TEXTS),
    "pandas text objects": (pd.Series(TEXTS, dtype=object), TEXTS),
    "pandas string[python]": (pd.Series(TEXTS, dtype="string"), TEXTS),
    "pandas categories": (pd.Series(TEXTS, dtype="category"), TEXTS),
    "pandas unused categories": (pd.Series(pd.Categorical(TEXTS, ["x", "spam", "y", "ham"])), TEXTS),
    "pandas booleans": (pd.Series([True, False]), [True, False]),
    "pandas nullable booleans": (pd.Series(BOOLEANS, dtype="boolean"), BOOLEANS),
    "pandas boolean objects": (pd.Series(BOOLEANS, dtype=object), BOOLEANS),
    "pandas nothing": (pd.Series([None, None], dtype=object), [None, None]),
    "pandas all NaN": (pd.Series([NAN, NAN]), [None, None]),
    "pandas empty texts": (pd.Series(["", "a", ""]), [None, "a", None]),
    "pandas True and 1": (pd.Series([True, 1, 0, False], dtype=object), [True, 1, 0, False]),
    "pandas texts and numbers": (pd.Series(["a", 1, None, 1.0]), ["a", 1, None, 1]),
    "polars integers": (pl.Series(NUMBERS, dtype=pl.Int8), NUMBERS),
    "polars uint64": (pl.Series([2**64 - 1, None], dtype=pl.UInt64), [2**64 - 1, None]),
    "polars floats": (pl.Series([2.0, NAN, 0.0, None]), [2, None, 0, None]),
    "polars decimals": (pl.Series([Decimal(2), None, Decimal(0), Decimal(2)]), NUMBERS),
    "polars texts": (pl.Series(TEXTS), TEXTS),
    "polars categories": (pl.Series(TEXTS, dtype=pl.Categorical), TEXTS),
    "polars enum": (pl.Series(TEXTS, dtype=pl.Enum(["x", "spam", "y", "ham"])), TEXTS),
    "polars booleans": (pl.Series(BOOLEANS), BOOLEANS),
    "polars nothing": (pl.Series([None, None]), [None, None]),
    "polars all NaN": (pl.Series([NAN, NAN]), [None, None]),
    "polars integers that are all null": (pl.Series([None, None], dtype=pl.Int64), [None, None]),
    "polars integers that floats cannot hold": (pl.Series([2**60 + 1, None]), [2**60 + 1, None]),
    "polars empty texts": (pl.Series(["", "a", ""]), [None, "a", None]),
    "polars objects": (pl.Series(["a", 1, None], dtype=pl.Object), ["a", 1, None]),
    "polars dates": (pl.Series([datetime.date(2020, 1, 2), None]), [datetime.date(2020, 1, 2), None]),
}


@pytest.mark.parametrize(("series", "expected"), SERIES.values(), ids=SERIES.keys())
def test_column_of_a_series_holds_its_values_once_each(series, expected):
    column = read_column("a", series)
    decoded = decode(column)
    assert decoded == expected
    assert [type(value) for value in decoded] == [type(value) for value in expected]
    assert len(set(map(repr, column.values))) == len(column.values)
    assert sorted(set(column.codes.tolist()) - {-1}) == list(range(len(column.values)))  # none is unused


@pytest.mark.parametrize("name", [name for name in SERIES if "objects" not in name and "and" not in name])
def test_column_of_a_series_has_its_values_in_order(name):
    values = read_column("a", SERIES[name][0]).values
    assert list(values) == sorted(values)


VALUES = {
    "list": ([2, None, 0, 2], NUMBERS),
    "tuple of texts": (("spam", None, "ham", "spam"), TEXTS),
    "integers": (np.array([2, 1, 2], np.uint8), [2, 1, 2]),
    "integers of a wide range": (np.array([2**40, -5, 2**40]), [2**40, -5, 2**40]),
    "large unsigned integers": (np.array([2**64 - 1, 1], np.uint64), [2**64 - 1, 1]),
    "no integers": (np.array([], np.int64), []),
    "halves": (np.array([1.5, 2.5, NAN]), [1.5, 2.5, None]),
    "booleans": (np.array([True, False]), [True, False]),
    "floats": (np.array([2, NAN, 0, 2]), NUMBERS),
    "fixed texts": (np.array(["b", "", "a", " "]), ["b", None, "a", None]),
    "dates": (np.array(["2020-01-02", "NaT"], "M8[ns]"), [datetime.datetime(2020, 1, 2), None]),
    "spans of time": (np.array([7], "m8[ns]"), [datetime.timedelta(0)]),
    "objects": (np.array([1, "a", None, True], object), [1, "a", None, True]),
    "NumPy scalars": ([np.int8(1), np.str_("a"), np.float32(2), np.bool_(True)], [1, "a", 2, True]),
    "pandas NA": ([1, pd.NA, pd.NaT], [1, None, None]),
    "whole floats and integers": ([1, 1.0, Decimal(1), 1.5], [1, 1, 1, 1.5]),
    "infinite": ([float("inf"), 1], [float("inf"), 1]),
    "tuples": ([(1, 2), (1, 2)], [(1, 2), (1, 2)]),
}


@pytest.mark.parametrize(("values", "expected"), VALUES.values(), ids=VALUES.keys())
def test_column_of_values_holds_plain_python_objects(values, expected):
    decoded = decode(Column.from_values("a", values))
    assert decoded == expected
    assert [type(value) for value in decoded] == [type(value) for value in expected]


@pytest.mark.parametrize("make", [pd.Series, pl.Series])
def test_column_of_lists_is_refused(make):
    with pytest.raises(VotesError, match=r"^column 'a', row 0 is \[1\] .list.; expected a single value"):
        read_column("a", make([[1], [2]]))


def test_column_of_polars_records_is_refused():
    with pytest.raises(VotesError, match=r"^column 'a', row 0 is \{'x': 1\} .dict.; expected a single value"):
        read_column("a", pl.Series([{"x": 1}]))


def test_column_of_records_in_a_type_of_another_library_is_refused():
    frame = pl.from_pandas(pd.DataFrame({"id": pd.interval_range(0, 2), "a": [0, 1]}))
    with pytest.raises(VotesError, match=r"^column 'id', row 0 is \{.*\} \(dict\); expected a single value"):
        read_column("id", frame["id"])
    assert Votes.from_frame(frame).items is None


def test_column_of_arrays_is_refused():
    with pytest.raises(VotesError, match=r"^gold of b is array\(\[1, 2\]\) .ndarray.; expected a single value"):
        Column.from_values("gold", [0, np.array([1, 2])], lambda row: f"gold of {'ab'[row]}")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (-1, True),
        ("-1", True),
        ("NA", True),
        ("abstain", True),
        (True, False),
        (0, False),
        ("none", False),
        (-2, False),
    ],
)
def test_minus_one_and_null_texts_abstain(value, expected):
    assert Column.is_abstain(value) is expected


def test_column_without_its_abstentions_tells_values_and_kinds():
    column = Column.from_values("a", ["x", -1, None, 2, "-1"])
    assert column.voted == ["x", 2]
    assert column.kinds == ["number", "text"]


def test_first_of_texts_is_the_first_that_is_no_number():
    column = Column.from_values("a", ["1", 5, "z", "b", "2"])
    assert column.first_of("text") == "z"
    assert column.first_of("number") == 5
    assert Column.from_values("a", ["2", "1"]).first_of("text") == "2"


def test_place_of_a_value_is_its_first_row_of_the_same_type():
    column = Column.from_values("a", [True, 1, 1])
    assert column.locate(1) == "column 'a', row 1"
    assert column.locate(True) == "column 'a', row 0"


def columns_of(frame, names):
    return open_table(frame).columns(names)


def test_columns_of_a_frame_are_those_named_in_that_order():
    for frame in (pd.DataFrame({"a": [1], "b": [2], "c": [3]}), pl.DataFrame({"a": [1], "b": [2], "c": [3]})):
        assert [(c.name, decode(c)) for c in columns_of(frame, ["c", "a"])] == [("c", [3]), ("a", [1])]


def test_columns_of_a_frame_may_have_any_names_and_index():
    frame = pd.DataFrame([[1, 2], [3, 4]], index=["y", "x"])
    assert open_table(frame).names == ["0", "1"]
    assert [(c.name, decode(c)) for c in columns_of(frame, ["0", "1"])] == [("0", [1, 3]), ("1", [2, 4])]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_frame_are_chosen_by_name_not_by_pattern(make):
    frame = make({"*": [1], "^.*$": [2], "0": [3], "c": [4]})
    assert [(c.name, decode(c)) for c in columns_of(frame, ["^.*$", "*"])] == [("^.*$", [2]), ("*", [1])]
    assert columns_of(frame, []) == []


class Frame(pd.DataFrame):
    """As libraries derive it for their own tables."""


def test_frames_and_series_are_recognised_with_what_derives_from_them():
    assert all(map(is_frame, [pd.DataFrame(), pl.DataFrame(), Frame()]))
    assert not any(map(is_frame, [pl.LazyFrame(), pd.Series(), [], np.zeros(1)]))
    assert all(map(is_series, [pd.Series(), pl.Series()]))
    assert not any(map(is_series, [pd.DataFrame(), pd.Index([]), []]))


CELLS = np.array([[0, 1, 63, -1], [2, 1, -63, -1], [0, -1, 0, -1]])
BLOCKS = [
    CELLS,
    CELLS.astype(np.int8),
    np.array([[True, False], [True, True]]),
    np.where(CELLS < 0, np.nan, CELLS),
    np.full((3, 2), np.nan),
    np.array([[0.5, 1.0], [np.inf, 2.0]]),
    np.array([[2**60, 1], [2**60 + 1, 0]]),
    np.array([[2**63, 1]], np.uint64),
]


@pytest.mark.parametrize("cells", BLOCKS, ids=lambda cells: f"{cells.dtype}-{cells.flat[0]}")
def test_columns_read_at_once_are_those_read_one_by_one(cells):
    names = [f"lf{j}" for j in range(cells.shape[1])]
    one_by_one = [Column.from_values(name, cells[:, j].tolist()) for j, name in enumerate(names)]
    expected = [decode(column) for column in one_by_one]
    for frame in (pd.DataFrame(cells, columns=names), pl.DataFrame(dict(zip(names, cells.T, strict=True)))):
        columns = columns_of(frame, names)
        assert [decode(column) for column in columns] == expected
        assert [c.summary.counts for c in columns] == [dict(Counter(v for v in e if v is not None)) for e in expected]
        assert all(list(c.values) == sorted(c.values) for c in columns)


@pytest.mark.parametrize("kind", [pl.Int64, pl.UInt64])
def test_large_integers_beside_nulls_stay_exact(kind):
    frame = pl.DataFrame({"a": [2**53 + 1, None], "b": [1, None]}, schema={"a": kind, "b": kind})
    assert [c.values for c in columns_of(frame, ["a", "b"])] == [(2**53 + 1,), (1,)]


def test_large_numbers_of_signed_and_unsigned_columns_stay_apart():
    """NumPy's common type of both is a float, which holds neither."""
    large = [2**60, 2**60 + 1]
    frame = pd.DataFrame({"a": np.array(large, np.int64), "b": np.array(large[::-1], np.uint64)})
    assert Votes.from_frame(frame, classes=large).to_numpy().tolist() == [[0, 1], [1, 0]]
    items = np.array([2**63 + 1, 2**63 + 1, 2**63], np.uint64)
    long = pd.DataFrame({"item": items, "worker": [-1, 2, 2], "vote": ["x", "y", "y"]})
    votes = Votes.from_long(long, item="item", lf="worker", vote="vote")
    assert votes.items.tolist() == [2**63 + 1, 2**63]
    assert votes.to_numpy().tolist() == [[0, 1], [-1, 1]]


def test_identifiers_true_and_one_stay_apart():
    long = [{"item": 1, "lf": "a", "vote": 0}, {"item": True, "lf": "a", "vote": 1}]
    items = Votes.from_long(long, item="item", lf="lf", vote="vote").items.tolist()
    assert items == [1, True]
    assert list(map(type, items)) == [int, bool]


class Name(StrEnum):
    HAM = "ham"
    SPAM = "spam"


def test_strings_of_an_enumeration_are_plain_classes():
    votes = Votes.from_frame([{"a": Name.HAM, "b": "ham"}, {"a": "spam", "b": Name.SPAM}])
    assert votes.classes == ("ham", "spam")
    assert set(map(type, votes.classes)) == {str}
    assert set(map(type, votes.with_classes(list(Name)).classes)) == {str}
