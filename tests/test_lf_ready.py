import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hyperlabel.errors import ParameterError
from hyperlabel.lf import LFError, apply_lfs, keyword_lf, lookup_lf, read_items, regex_lf, run_all, threshold_lf

TEXTS = [
    "Check out my channel", "checkout", "I checked", "CHECK!", None, "", "c++ and $$$", "$$$", "abc++", "ÉTÉ à Paris",
    "été", "straße", "STRASSE", "\u212aelvin", "line\nbreak check", "check_in", "  ",
]  # fmt: skip

TEXT_LFS = [
    keyword_lf("check", 1),
    keyword_lf(["check", "été"], 1, name="accents"),
    keyword_lf("check", 1, whole_words=False, name="part"),
    keyword_lf("check", 1, ignore_case=False, name="case"),
    keyword_lf(["c++", "$$$"], 1),
    keyword_lf(["kelvin", "strasse"], 1),
    regex_lf(r"^\w+$", 0, name="one_word"),
    regex_lf(re.compile(r"(?<=my )\w+"), 0, name="behind"),
    regex_lf("straße|paris", 0, flags=re.IGNORECASE, name="flags"),
]


def frames(columns):
    """The same columns as every kind of data."""
    polars = pl.DataFrame(columns, strict=False)
    return {
        "list": polars.to_dicts(),
        "pandas": pd.DataFrame(columns),
        "polars": polars,
        "arrow": pa.table(columns).to_batches()[0],
    }


def row_by_row(lf, rows):
    votes = [lf(row) for row in rows]
    return [None if vote == -1 else vote for vote in votes]


def answer(lf, data):
    (found,) = run_all([lf], read_items(data))
    return [found.values[code] if code >= 0 and found.values[code] != -1 else None for code in found.codes]


@pytest.mark.parametrize("kind", ["list", "pandas", "polars", "arrow"])
@pytest.mark.parametrize("lf", TEXT_LFS, ids=lambda lf: lf.name)
def test_text_lf_on_whole_columns_votes_as_it_does_row_by_row(lf, kind):
    data = frames({"text": TEXTS})
    wanted = row_by_row(lf, data["list"])
    assert {None, lf.vote} == set(wanted)
    assert answer(lf, data[kind]) == wanted


@pytest.mark.parametrize("dtype", [object, "string", "string[pyarrow]", "category"])
def test_text_lf_on_any_pandas_type_of_text_votes_the_same(dtype):
    texts = pd.DataFrame({"text": pd.Series([*TEXTS, np.nan]).astype(dtype)})
    wanted = row_by_row(TEXT_LFS[0], [{"text": text} for text in [*TEXTS, None]])
    assert answer(TEXT_LFS[0], texts) == wanted


def test_text_lf_without_polars_votes_the_same(monkeypatch):
    frame = pd.DataFrame({"text": TEXTS})
    wanted = [answer(lf, frame) for lf in TEXT_LFS]
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    assert [answer(lf, frame) for lf in TEXT_LFS] == wanted


@pytest.mark.parametrize(
    ("lf", "found", "missed"),
    [
        (keyword_lf("check", 1), ["Check!", "CHECK", "a check b"], ["checked", "recheck", "check_in", None]),
        (keyword_lf("check", 1, whole_words=False), ["recheck"], ["chec"]),
        (keyword_lf("check", 1, ignore_case=False), ["check"], ["Check"]),
        (keyword_lf(["c++"], 1), ["c++", "C++11"], ["abc++"]),
        (keyword_lf(["a.b"], 1), ["a.b"], ["axb"]),
        (regex_lf("https?://", 1), ["see http://x"], ["HTTP://x"]),
        (threshold_lf("x", 1, above=2, at_most=4), [2.5, 3, 4, np.float32(3)], [2, 5, None, float("nan")]),
        (threshold_lf("x", 1, at_least=2, below=4), [2, 3], [1, 4]),
        (lookup_lf({"a": 1, 3: 1}, column="x"), ["a", 3, 3.0], ["b", None]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_ready_made_lf_on_single_values_votes_where_it_should(lf, found, missed):
    assert [lf({lf.column: value}) for value in found] == [1] * len(found)
    assert [lf({lf.column: value}) for value in missed] == [-1] * len(missed)


BIG = 2**53
NUMBERS = {
    "whole": [1, 2, 3, BIG, BIG + 1, -5],
    "floats": [1.0, 2.0, 2.5, float("nan"), float("inf"), -5.0],
    "holes": [1, None, 3, BIG + 1, None, -5],
    "nulls": [1.5, None, 2.5, None, 0.1, -5.0],
}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("column", NUMBERS)
@pytest.mark.parametrize(
    "bounds", [{"above": 2}, {"at_least": 2.5}, {"below": BIG + 1}, {"at_most": 2.5, "above": -5}, {"above": BIG}]
    + [{"below": float("inf")}, {"at_least": 0.1}, {"at_most": 10**400}, {"above": -(10**400)}],
)  # fmt: skip
def test_threshold_lf_on_whole_columns_votes_as_it_does_row_by_row(bounds, column, kind):
    if (kind, column) == ("pandas", "holes"):
        data = pd.DataFrame({"holes": pd.array(NUMBERS["holes"], "Int64")})
    else:
        data = frames({column: NUMBERS[column]})[kind]
    lf = threshold_lf(column, "yes", **bounds)
    assert answer(lf, data) == row_by_row(lf, [{column: value} for value in NUMBERS[column]])


def test_threshold_lf_on_short_floats_compares_their_exact_values():
    frame = pd.DataFrame({"x": np.array([0.1, 0.5], np.float32)})
    lf = threshold_lf("x", 1, above=0.1)
    assert answer(lf, frame) == row_by_row(lf, [{"x": float(x)} for x in frame.x]) == [1, 1]


def test_threshold_lf_on_dates_compares_dates():
    frame = pl.DataFrame({"day": [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1), None]})
    assert answer(threshold_lf("day", 1, below=datetime.date(2020, 6, 1)), frame) == [1, None, None]


@pytest.mark.parametrize("kind", ["list", "pandas", "polars", "arrow"])
def test_lookup_lf_on_each_kind_of_data_votes_the_same(kind):
    data = frames({"domain": ["a.org", "b.org", None, "c.org"]})[kind]
    assert answer(lookup_lf({"a.org": "ham", "b.org": "spam"}, column="domain"), data) == ["ham", "spam", None, None]


def test_ready_made_lfs_on_a_list_of_values_read_the_values():
    assert answer(keyword_lf("check", 1), ["check this", "no"]) == [1, None]
    assert answer(threshold_lf("x", 1, above=2), [1, 3.5, None]) == [None, 1, None]


@pytest.mark.parametrize(
    ("lf", "message"),
    [
        (keyword_lf("a", 1), "LF 'keyword_a' failed on row 1 with TypeError: the value is 3 .int.; expected a string"),
        (threshold_lf("text", 1, above=2), "LF 'text_above_2' failed on row 0 with TypeError: .* expected a number"),
    ],
)
@pytest.mark.parametrize("make", [pd.DataFrame, lambda data: data["text"]])
def test_ready_made_lf_on_values_of_another_type_is_an_error(lf, message, make):
    with pytest.raises(LFError, match=message):
        apply_lfs([lf], make({"text": ["a", 3]}))


def test_ready_made_lf_without_its_column_is_an_error():
    with pytest.raises(ParameterError, match="LF 'keyword_a': data has no column 'text'; its columns are 'x', 'y'"):
        apply_lfs([keyword_lf("a", 1)], pd.DataFrame({"x": [1], "y": [2]}))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: keyword_lf([], 1), r"words is \[\]; expected at least one word"),
        (lambda: keyword_lf(["a", " "], 1), "and no empty word"),
        (lambda: keyword_lf("a", None), "vote is None; expected the class to vote for"),
        (lambda: regex_lf("(", 1), r"pattern is '\(', which cannot be compiled: missing \)"),
        (lambda: regex_lf(b"a", 1), "pattern is b'a'; expected a regular expression for strings"),
        (lambda: regex_lf(re.compile("a"), 1, flags=re.I), "cannot be compiled: cannot process flags"),
        (lambda: threshold_lf("x", 1), "expected numbers, at least one of above, at_least, below and at_most"),
        (lambda: lookup_lf({}, column="x"), "table is {}; expected a mapping from values to votes"),
        (lambda: lookup_lf(["a"], column="x"), r"table is \['a'\]; expected a mapping"),
    ],
)
def test_ready_made_lf_that_is_malformed_is_a_parameter_error(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_repr_of_ready_made_lfs_shows_what_they_vote_on():
    lfs = [regex_lf("a+", 1, name="r"), threshold_lf("len", "short", below=2.5), lookup_lf({"a": 1}, column="x")]
    assert list(map(repr, lfs)) == [
        "RegexLF('r', pattern='a+', column='text', vote=1)",
        "ThresholdLF('len_below_2.5', column='len', below=2.5, vote='short')",
        "LookupLF('lookup_x', column='x')",
    ]


def test_names_of_ready_made_lfs_tell_what_they_do():
    lfs = [keyword_lf(["check out", "sub"], 1), regex_lf(r"https?://\w+", 1), threshold_lf("len", 0, below=2.5)]
    assert [lf.name for lf in lfs] == ["keyword_check_out_sub", "regex_https_w", "len_below_2.5"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda data: [{"x": each} for each in data["x"]]])
def test_lookup_lf_abstains_on_nulls_whatever_its_table_says(make):
    lf = lookup_lf({1.0: "a", None: "b"}, column="x")
    assert apply_lfs([lf], make({"x": [1.0, None]}), classes=["a", "b"]).to_numpy().ravel().tolist() == [0, -1]


@pytest.mark.parametrize("bounds", [{"above": 3, "below": 2}, {"at_least": 2, "below": 2}, {"above": 2, "at_most": 2}])
def test_bounds_that_no_number_meets_are_refused(bounds):
    with pytest.raises(ParameterError, match=r"^bounds are \{.*\}, which no number meets; exchange them"):
        threshold_lf("stars", "bad", **bounds)


def test_bounds_of_different_kinds_are_refused():
    with pytest.raises(ParameterError, match=r"^bounds are \{.*\}; expected bounds that can be compared"):
        threshold_lf("day", "late", above=3, below=datetime.date(2020, 6, 1))


def test_bounds_that_one_number_meets_are_taken():
    assert threshold_lf("stars", "bad", at_least=2, at_most=2)({"stars": 2}) == "bad"


@pytest.mark.parametrize("make", [list, lambda rows: pd.DataFrame(rows), lambda rows: pl.DataFrame(rows)])
def test_lookup_lf_abstains_on_nan_even_if_its_table_has_that_very_object(make):
    nan = float("nan")
    votes = apply_lfs([lookup_lf({nan: 1, 0.0: 0}, column="a")], make([{"a": nan}, {"a": 0.0}]))
    assert votes.cells.tolist() == [[-1], [0]]


@pytest.mark.parametrize("make", [list, lambda rows: pd.DataFrame(rows), lambda rows: pl.DataFrame(rows)])
def test_threshold_lf_with_a_whole_bound_between_two_floats_compares_exactly(make):
    lfs = [threshold_lf("a", 1, at_least=2**53 + 1), threshold_lf("a", 0, below=2**53 + 1)]
    votes = apply_lfs(lfs, make([{"a": 2.0**53}, {"a": 2.0**53 + 2}]))
    assert votes.cells.tolist() == [[-1, 0], [1, -1]]
