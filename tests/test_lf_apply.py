import re
import sys
from enum import IntEnum
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hyperlabel.data import ABSTAIN
from hyperlabel.errors import ParameterError, VotesError, VotesWarning
from hyperlabel.lf import (
    AppliedVotes,
    LabelingFunction,
    LFError,
    apply_lfs,
    chunks,
    expression_lf,
    keyword_lf,
    labeling_function,
    threshold_lf,
)
from hyperlabel.models import HyperLabelModel

CHUNK = next(chunks(10**9))[1]  # rows that are made at a time
TEXTS = ["Check out my channel", "great song", "check", "I love this great song", ""]
FRAME = pd.DataFrame({"id": range(5), "text": TEXTS})


@labeling_function
def check(x):
    return "spam" if "check" in x.text.lower() else ABSTAIN


@labeling_function
def song(x):
    return "ham" if "song" in x["text"] else None


CELLS = [[1, -1], [-1, 0], [1, -1], [-1, 0], [-1, -1]]


@pytest.mark.parametrize(
    "data",
    [FRAME, pl.from_pandas(FRAME), FRAME.to_dict("records")],
    ids=["pandas", "polars", "mappings"],
)
def test_row_lfs_on_data_of_any_kind_give_the_same_votes(data):
    votes = apply_lfs([check, song], data)
    assert isinstance(votes, AppliedVotes)
    assert votes.classes == ("ham", "spam")
    assert votes.lf_names == ("check", "song")
    assert votes.cells.tolist() == CELLS
    assert votes.failures == {"check": 0, "song": 0}


def test_row_lfs_on_objects_get_the_objects():
    votes = apply_lfs([check], [SimpleNamespace(text="check"), SimpleNamespace(text="no")], n_classes=None)
    assert votes.classes == ("spam",)
    assert votes.cells.tolist() == [[0], [-1]]


def test_row_lfs_on_an_array_get_its_rows():
    votes = apply_lfs([labeling_function("big")(lambda x: int(x[1] > 2))], np.array([[0, 1], [0, 5]]))
    assert votes.cells.tolist() == [[0], [1]]


def test_votes_of_lfs_go_into_a_model():
    labels = HyperLabelModel().predict(apply_lfs([check, song], FRAME))
    assert labels.tolist() == ["spam", "ham", "spam", "ham", None]


def test_row_lfs_on_more_rows_than_a_chunk_keep_their_order():
    n = 2 * CHUNK + 7
    lf = labeling_function("late")(lambda x: x.i % 3 if x.i >= CHUNK else ABSTAIN)
    votes = apply_lfs([lf], pd.DataFrame({"i": np.arange(n)}))
    wanted = np.where(np.arange(n) >= CHUNK, np.arange(n) % 3, -1)
    np.testing.assert_array_equal(votes.cells[:, 0], wanted)


COLUMN_LFS = {
    "pandas series": labeling_function("check", columns=True)(
        lambda frame: frame["text"].str.lower().str.contains("check").map({True: "spam"})
    ),
    "array": labeling_function("check", columns=True)(
        lambda frame: np.where(frame["text"].str.contains("(?i)check"), "spam", "")
    ),
    "list": labeling_function("check", columns=True)(
        lambda frame: ["spam" if "check" in text.lower() else None for text in frame["text"]]
    ),
    "mask": labeling_function("check", columns=True, vote="spam")(
        lambda frame: frame["text"].str.lower().str.contains("check")
    ),
    "objects": labeling_function("check", columns=True, vote="spam")(
        lambda frame: frame["text"].where(frame["text"] != "").str.contains("(?i)check")
    ),
    "array mask": labeling_function("check", columns=True, vote="spam")(
        lambda frame: frame["text"].str.contains("(?i)check").to_numpy()
    ),
    "function of an expression": labeling_function("check", columns=True, vote="spam")(
        lambda frame: pl.col("text").str.contains("(?i)check")
    ),
    "expression": expression_lf("check", pl.col("text").str.contains("(?i)check"), vote="spam"),
    "expression of votes": expression_lf(
        "check", pl.when(pl.col("text").str.contains("(?i)check")).then(pl.lit("spam"))
    ),
    "expression of all columns": expression_lf(
        "check", pl.any_horizontal(pl.all().cast(pl.String).str.contains("(?i)check")), vote="spam"
    ),
    "keyword": keyword_lf("check", "spam", name="check"),
}


@pytest.mark.parametrize("lf", COLUMN_LFS.values(), ids=COLUMN_LFS)
def test_column_lf_on_pandas_votes_as_the_row_lf_does(lf):
    votes = apply_lfs([lf, song], FRAME, classes=["ham", "spam"])
    assert votes.cells.tolist() == CELLS


@pytest.mark.parametrize(
    "lf",
    [
        labeling_function("check", columns=True)(
            lambda frame: frame.select(
                pl.when(pl.col("text").str.contains("(?i)check")).then(pl.lit("spam"))
            ).to_series()
        ),
        labeling_function("check", columns=True, vote="spam")(lambda frame: frame["text"].str.contains("(?i)check")),
        COLUMN_LFS["expression"],
        COLUMN_LFS["expression of votes"],
        COLUMN_LFS["keyword"],
    ],
    ids=["series", "mask", "expression", "expression of votes", "keyword"],
)
def test_column_lf_on_polars_votes_as_the_row_lf_does(lf):
    assert apply_lfs([lf, song], pl.from_pandas(FRAME)).cells.tolist() == CELLS


def test_column_lf_with_nulls_in_its_mask_abstains_there():
    frame = pl.DataFrame({"text": ["check", None, "no"]})
    lf = labeling_function("check", columns=True, vote=1)(lambda frame: frame["text"].str.contains("check"))
    assert apply_lfs([lf], frame).cells.tolist() == [[1], [-1], [-1]]


def test_expression_of_a_single_value_votes_alike_on_every_row():
    assert apply_lfs([expression_lf("all", pl.lit(1))], FRAME).cells.tolist() == [[1]] * 5


@pytest.mark.parametrize(
    ("function", "vote", "message"),
    [
        (lambda frame: frame["text"].str.len()[:2], None, "it returned 2 votes; expected one for each of the 5 rows"),
        (lambda frame: frame["txt"], None, "LF 'bad' failed on the columns with KeyError: txt. Correct the LF"),
        (lambda frame: 3, None, "it returned 3; expected one vote per row in a series, array or list"),
        (lambda frame: frame["id"], 1, "it returned 0; expected true or false, since its vote is stated as 1"),
        (lambda frame: frame["id"].sample(frac=1, random_state=0), None, "another index than the data;"),
        (lambda frame: pl.col("txt"), None, "LF 'bad' failed on the columns with KeyError: txt"),
        (pl.col("text") + 1, None, "LF 'bad' failed on the columns with"),
    ],
)  # fmt: skip
def test_column_lf_that_fails_is_an_error_and_tolerated_on_request(function, vote, message):
    lf = (
        labeling_function("bad", columns=True, vote=vote)(function)
        if callable(function)
        else expression_lf("bad", function)
    )
    with pytest.raises(LFError, match=message):
        apply_lfs([lf], FRAME)
    with pytest.warns(VotesWarning, match="LF 'bad' failed on 5 of 5 items and abstains there; the first: "):
        votes = apply_lfs([lf, check], FRAME, on_error="abstain")
    assert (votes.cells[:, 0] == -1).all()
    assert votes.failures == {"bad": 5, "check": 0}


@pytest.mark.parametrize("lf", [COLUMN_LFS["mask"], COLUMN_LFS["expression"]])
def test_column_lf_on_a_list_is_an_error(lf):
    with pytest.raises(ParameterError, match="data is of type list, but LFs of whole columns read frames"):
        apply_lfs([lf], TEXTS, on_error="abstain")


def fail_on_row_one(x):
    if x.id == 1:
        raise ZeroDivisionError("no")
    return 1


def test_row_lf_that_fails_is_reported_with_its_name_the_row_and_the_exception():
    lf = LabelingFunction("bad", fail_on_row_one)
    message = r"LF 'bad' failed on row 1 with ZeroDivisionError: no; the row is Row\(id=1, text='great song'\)"
    with pytest.raises(LFError, match=message) as caught:
        apply_lfs([check, lf], FRAME)
    assert (caught.value.lf, caught.value.row) == ("bad", 1)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_row_lf_that_fails_abstains_on_request_and_is_counted():
    message = "LF 'bad' failed on 1 of 5 items and abstains there; the first: row 1 with ZeroDivisionError: no"
    with pytest.warns(VotesWarning, match=message):
        votes = apply_lfs([LabelingFunction("bad", fail_on_row_one)], FRAME, on_error="abstain")
    assert votes.cells[:, 0].tolist() == [1, -1, 1, 1, 1]
    assert votes.failures == {"bad": 1}
    assert votes.with_classes([0, 1, 2]).failures == {"bad": 1}
    assert repr(votes).startswith("AppliedVotes(")
    assert repr(votes).endswith("abstain, 1 failures)")


def test_failures_in_later_chunks_name_the_row_of_the_data():
    lf = labeling_function("bad")(lambda x: 1 // (CHUNK + 3 - x.i))
    with pytest.raises(LFError, match=f"LF 'bad' failed on row {CHUNK + 3} with ZeroDivisionError"):
        apply_lfs([lf], pd.DataFrame({"i": np.arange(CHUNK + 5)}))


class Label(IntEnum):
    HAM = 0
    SPAM = 1


@pytest.mark.parametrize(
    ("votes", "stated", "classes", "cells"),
    [
        ([0, 2, -1], {}, (0, 1, 2), [0, 2, -1]),
        ([np.int64(1), None, float("nan")], {}, (0, 1), [1, -1, -1]),
        ([1, None, None], {"n_classes": 4}, (0, 1, 2, 3), [1, -1, -1]),
        (["b", None, "a"], {}, ("a", "b"), [1, -1, 0]),
        (["b", 0, ABSTAIN], {"classes": ["x", "a", "b"]}, ("x", "a", "b"), [2, 0, -1]),
        ([True, False, None], {}, (False, True), [1, 0, -1]),
        ([7, 5, None], {"classes": [5, 7]}, (5, 7), [1, 0, -1]),
        ([Label.SPAM, Label.HAM, None], {}, (0, 1), [1, 0, -1]),
        ([Label.SPAM, 0, None], {"classes": ["ham", "spam"]}, ("ham", "spam"), [1, 0, -1]),
        ([None, None, None], {}, (0, 1), [-1, -1, -1]),
    ],
)
def test_classes_of_votes_are_stated_or_inferred(votes, stated, classes, cells):
    made = apply_lfs([labeling_function("f")(lambda x: votes[x])], [0, 1, 2], **stated)
    assert made.classes == classes
    assert made.stated == bool(stated)
    assert made.cells[:, 0].tolist() == cells


@pytest.mark.parametrize(
    ("votes", "stated", "message"),
    [
        ([0, 1.5], {}, "the vote of LF 'f' on row 1 is 1.5; expected a whole number, 0 or more"),
        ([0, -3], {}, "the vote of LF 'f' on row 1 is -3; expected a whole number, 0 or more"),
        ([0, "a"], {}, r"the vote of LF 'f' on row 1 is 'a' \(text\).*expected one kind of class"),
        ([0, [1]], {}, r"the vote of LF 'f' on row 1 is \[1\] .list.; expected a single value"),
        (
            ["a", "c"],
            {"classes": ["a", "b"]},
            "the vote of LF 'f' on row 1 is 'c'; expected one of the classes 'a', 'b'",
        ),
        ([0, 2], {"classes": ["a", "b"]}, "the vote of LF 'f' on row 1 is 2; expected one of the classes"),
        ([0, 3], {"n_classes": 3}, "the vote of LF 'f' on row 1 is 3; expected a class from 0 to 2"),
    ],
)
def test_votes_that_are_no_classes_are_an_error(votes, stated, message):
    with pytest.raises(VotesError, match=message):
        apply_lfs([labeling_function("f")(lambda x: votes[x])], [0, 1], **stated)


def test_class_of_a_ready_made_lf_that_never_votes_is_kept():
    votes = apply_lfs([keyword_lf("nowhere", "spam"), threshold_lf("id", "ham", above=1)], FRAME)
    assert votes.classes == ("ham", "spam")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"on_error": "ignore"}, "on_error is 'ignore'; expected 'raise' or 'abstain'"),
        ({"jobs": 0}, "jobs is 0; expected a number of processes, at least 1"),
        ({"jobs": 1.5}, "jobs is 1.5; expected a number of processes"),
        ({"classes": ["a"], "n_classes": 2}, "n_classes is 2 but classes names 1"),
    ],
)  # fmt: skip
def test_arguments_that_are_wrong_are_a_parameter_error(arguments, message):
    with pytest.raises(ParameterError, match=message):
        apply_lfs([check], FRAME, **arguments)


def test_data_without_items_are_an_error():
    with pytest.raises(VotesError, match="data has no items; expected at least one"):
        apply_lfs([check], FRAME[:0])


def test_progress_beside_a_terminal_is_told_in_lines(capsys):
    apply_lfs([check, song], FRAME, progress=True)
    assert re.fullmatch(r"labeling functions: 100%, [\d,]+ votes/s", capsys.readouterr().err.splitlines()[-1])


def test_progress_in_a_notebook_is_one_line_that_changes(capsys, monkeypatch):
    shell = SimpleNamespace(kernel="a kernel")
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    apply_lfs([check, song], FRAME, progress=True)
    said = capsys.readouterr().err
    assert "\n" not in said
    assert re.fullmatch(r"labeling functions: 100%, [\d,]+ votes/s *", said.split("\r")[-1])


def test_progress_on_a_terminal_is_a_bar(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    apply_lfs([check, song], FRAME, progress=True)
    shown = capsys.readouterr().err
    assert "labeling functions" in shown
    assert "100%" in shown


NAMED_ITEMS = {
    "index": (FRAME[["text"]].set_axis([7, 3, 9, 1, 2]), [7, 3, 9, 1, 2]),
    "column": (FRAME.assign(id=list("pqrst")), list("pqrst")),
    "polars": (pl.DataFrame({"id": list("pqrst"), "text": TEXTS}), list("pqrst")),
    "records": ([{"id": i, "text": text} for i, text in zip("pqrst", TEXTS, strict=True)], list("pqrst")),
    "repeated": (FRAME[["text"]].set_axis([0, 1, 2, 0, 1]), None),
    "texts": (TEXTS, None),
}


@pytest.mark.parametrize(("data", "ids"), NAMED_ITEMS.values(), ids=NAMED_ITEMS.keys())
def test_items_that_lfs_read_keep_their_identifiers(data, ids):
    votes = apply_lfs([keyword_lf("check", 1)], data)
    assert (None if votes.items is None else votes.items.tolist()) == ids


def test_gold_of_some_rows_meets_the_rows_that_lfs_read():
    """An index of numbers that are also places of other items would label those."""
    frame = FRAME[["text"]].set_axis([7, 3, 9, 1, 2])
    votes = apply_lfs([keyword_lf("check", 1), keyword_lf("song", 0)], frame)
    gold = pd.Series([1, 0], index=[3, 1])
    assert votes.with_labels(gold, "gold")[1].tolist() == [-1, 1, -1, 0, -1]
    assert HyperLabelModel().label(votes).to_pandas().index.tolist() == [7, 3, 9, 1, 2]


@pytest.mark.parametrize("vote", [None, 1])
def test_column_lf_that_returns_a_masked_array_is_refused(vote):
    @labeling_function(columns=True, vote=vote)
    def hidden(frame):
        return np.ma.array([True] * 5, mask=[True] + [False] * 4)

    with pytest.raises(LFError, match="it returned a masked array; expected a plain one"):
        apply_lfs([hidden], FRAME)


@pytest.mark.parametrize("vote", [None, 1])
def test_column_lf_that_returns_an_array_of_two_axes_is_refused(vote):
    lf = labeling_function("lf", columns=True, vote=vote)(lambda frame: np.ones((2, 1), bool))
    with pytest.raises(LFError, match=r"an array of shape \(2, 1\); expected one vote per row"):
        apply_lfs([lf], pd.DataFrame({"a": [1, 2]}))
