"""Mistakes that once ended in other exceptions, or in nothing at all, through the public door."""

import sys
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel import ParameterError, VotesError, WeightsError

VOTES = [[0, 1, 1], [1, 1, 0], [0, 0, -1]]


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"class_balance": ["a", "b"]}, ParameterError, r"^class_balance is \['a', 'b'\]; expected one probability"),
        ({"class_balance": "ab"}, ParameterError, "^class_balance is 'ab'; expected one probability"),
        ({"weights": None}, WeightsError, "^weights is None; expected one of default, hlm2, hlm or the path"),
        ({"weights": 5}, WeightsError, "^weights is 5; expected one of default"),
        ({"classes": [-1, 1]}, ParameterError, "-1 means no vote and no label"),
        ({"classes": [1, "a"]}, ParameterError, "all whole numbers, all strings or all booleans"),
        ({"classes": [b"a", b"b"]}, ParameterError, "all whole numbers, all strings or all booleans"),
        ({"seed": "x"}, ParameterError, "^seed is 'x'; expected a whole number"),
        ({"n_classes": "2"}, ParameterError, "^n_classes is '2'; expected a whole number"),
    ],
)
def test_parameter_is_refused_by_name(params, error, message):
    with pytest.raises(error, match=message):
        hl.HyperLabelModel(**params).predict(VOTES)


@pytest.mark.parametrize("n", [None, "2", 0, 1.5])
def test_number_of_suggestions_must_be_a_number(n):
    with pytest.raises(ParameterError, match="^n is .*; expected a whole number, at least 1"):
        hl.HyperLabelModel().suggest(VOTES, n)


def test_model_of_a_number_of_classes_from_numpy_is_saved(tmp_path):
    hl.HyperLabelModel(n_classes=np.int64(2)).fit(VOTES).save(tmp_path / "m.safetensors")
    assert hl.load(tmp_path / "m.safetensors").n_classes == 2


def test_column_without_a_name_is_no_lf():
    assert hl.Votes.from_frame(pd.DataFrame({None: [3, 4], "a": [0, 1], "b": [1, 1]})).lf_names == ("a", "b")


@pytest.mark.parametrize(
    "votes", [np.array([[0, 1]], "m8[s]"), pd.DataFrame({"a": pd.to_timedelta([0, 1]), "b": [0, 1]})]
)
def test_times_are_no_votes(votes):
    with pytest.raises(VotesError, match="timedelta64|holds times"):
        hl.HyperLabelModel().predict(votes)


@pytest.mark.parametrize("kind", [pl.UInt8, pl.UInt64, pl.Float64])
def test_null_abstains_in_columns_of_any_numbers(kind):
    frame = pl.DataFrame({"a": [0, 1, None], "b": [1, None, 0]}, schema={"a": kind, "b": kind})
    assert hl.Votes.from_frame(frame).to_numpy().tolist() == [[0, 1], [1, -1], [-1, 0]]


def test_more_texts_than_classes_are_refused_before_anything_is_learned():
    rows = [f"t{i // 3}" for i in range(36_000)]
    with pytest.raises(VotesError, match="column .a. holds more than 10,000 different values"):
        hl.HyperLabelModel().predict(pd.DataFrame({"a": rows, "b": rows}))


def test_column_of_lists_gives_no_identifiers():
    votes = hl.Votes.from_frame(pd.DataFrame({"id": [[1], [2]], "a": [0, 1], "b": [1, 1]}))
    assert votes.items is None


def test_votes_with_no_classes_at_all_are_refused():
    with pytest.raises(ParameterError, match="^classes is None; expected a list of classes"):
        hl.Votes.from_array(VOTES).with_classes(None)


def test_vote_for_a_far_class_takes_no_memory_for_the_classes_between():
    tracemalloc.start()
    try:
        assert hl.HyperLabelModel().predict([[0, 1, 9999], [1, 1, 0]]).tolist() == [1, 1]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50e6


def test_dawid_skene_of_thousands_of_classes_is_refused_before_it_takes_minutes():
    votes = np.random.default_rng(0).integers(0, 2000, (4000, 5))
    with pytest.raises(ParameterError, match="2,000 classes .* Use 'hlm2' or 'mv', or fewer classes"):
        hl.label_model("ds").fit(votes)


def test_work_for_a_frame_grows_with_its_columns_and_not_with_their_square():
    assert _count_calls(2000) < 5 * _count_calls(500)  # 4 times as many columns; their square is 16 times as large


def _count_calls(m):
    """How many functions, of Python and C, run while a frame of m columns is read."""
    frame, calls = pl.DataFrame({f"lf{j}": column for j, column in enumerate(np.tile([[0, 1]], (m, 1)))}), []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, what: calls.append(event) if event in ("call", "c_call") else None)
    try:
        hl.Votes.from_frame(frame)
    finally:
        sys.setprofile(before)
    return len(calls)


def test_csv_with_quotes_around_every_cell_holds_the_same_votes(tmp_path):
    (tmp_path / "plain.csv").write_text("a,b\n0,\n1,0\n")
    (tmp_path / "quoted.csv").write_text('"a","b"\n"0",""\n"1","0"\n')
    plain, quoted = (hl.read_votes(tmp_path / f"{name}.csv") for name in ("plain", "quoted"))
    assert plain.to_numpy().tolist() == quoted.to_numpy().tolist() == [[0, -1], [1, 0]]


def test_marks_that_turn_text_around_are_written_out_in_the_report():
    mark = "\u202e"
    votes = pd.DataFrame({f"lf{mark}": [f"a{mark}", "b", "b"], "other": [f"a{mark}", "b", f"a{mark}"]})
    page = hl.report(votes, [f"text {mark}", "x", "y"], title=f"title {mark}").html
    assert mark not in page
    assert r"\u202e" in page
