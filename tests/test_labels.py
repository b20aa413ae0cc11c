"""Gold and truth, which `Votes.with_labels` encodes: every accepted form, and every bad one."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hyperlabel.errors import VotesError, VotesWarning
from hyperlabel.votes import Votes

NAN = float("nan")
THREE = Votes.from_array([[0, 1], [1, 1], [0, -1]])
NAMED = Votes.from_frame(pl.DataFrame({"a": ["ham", "spam", None]}))
BOOLEAN = Votes.from_frame(pl.DataFrame({"a": [True, False, None]}))
TASKS = pl.DataFrame({"item": ["p", "q", "r"], "lf": ["v", "w", "x"], "vote": ["x", "y", None]})
LONG = Votes.from_long(TASKS, item="item", lf="lf", vote="vote")

GOLD = {
    "list": (THREE, [1, -1, 0], [1, -1, 0]),
    "list with None": (THREE, [1, None, 0], [1, -1, 0]),
    "tuple": (THREE, (1, None, 0), [1, -1, 0]),
    "int8": (THREE, np.array([1, -1, 0], np.int8), [1, -1, 0]),
    "floats": (THREE, np.array([1, NAN, 0]), [1, -1, 0]),
    "booleans for numbers": (THREE, np.array([True, True, False]), [1, 1, 0]),
    "strided": (THREE, np.array([1, 9, -1, 9, 0, 9])[::2], [1, -1, 0]),
    "mapping by index": (THREE, {2: 0, 0: 1}, [1, -1, 0]),
    "mapping by NumPy index": (THREE, {np.int64(2): np.int64(0), 0: None}, [-1, -1, 0]),
    "empty mapping": (THREE, {}, [-1, -1, -1]),
    "pandas Int64": (THREE, pd.Series([1, None, 0], dtype="Int64", index=[5, 6, 7]), [1, -1, 0]),
    "pandas floats": (THREE, pd.Series([1, NAN, 0]), [1, -1, 0]),
    "pandas NA": (THREE, [1, pd.NA, 0], [1, -1, 0]),
    "polars": (THREE, pl.Series([1, None, 0]), [1, -1, 0]),
    "texts": (NAMED, ["spam", None, "ham"], [1, -1, 0]),
    "texts with -1": (NAMED, ["spam", -1, "ham"], [1, -1, 0]),
    "text array": (NAMED, np.array(["spam", "", "ham"]), [1, -1, 0]),
    "text objects": (NAMED, np.array(["spam", None, "ham"], object), [1, -1, 0]),
    "pandas texts": (NAMED, pd.Series(["spam", None, "ham"]), [1, -1, 0]),
    "pandas categories": (NAMED, pd.Series(["spam", None, "ham"], dtype="category"), [1, -1, 0]),
    "polars texts": (NAMED, pl.Series(["spam", None, "ham"]), [1, -1, 0]),
    "mapping to texts": (NAMED, {0: "spam", 2: "ham"}, [1, -1, 0]),
    "booleans": (BOOLEAN, [True, None, False], [1, -1, 0]),
    "numbers for booleans": (BOOLEAN, np.array([1, -1, 0]), [1, -1, 0]),
    "mapping by identifier": (LONG, {"r": "y", "p": "x"}, [0, -1, 1]),
    "list for identified items": (LONG, ["x", None, "y"], [0, -1, 1]),
}


@pytest.mark.parametrize(("votes", "gold", "expected"), GOLD.values(), ids=GOLD.keys())
def test_gold_in_any_form_becomes_class_numbers(votes, gold, expected):
    same, encoded = votes.with_labels(gold, "gold")
    assert encoded.tolist() == expected
    assert encoded.dtype == np.int64
    assert same is votes


@pytest.mark.parametrize(
    ("votes", "gold", "classes", "expected"),
    [
        (THREE, [4, -1, 0], (0, 1, 2, 3, 4), [4, -1, 0]),
        (NAMED, ["other", None, "eggs"], ("ham", "spam", "eggs", "other"), [3, -1, 2]),
        (LONG, {"q": "z"}, ("x", "y", "z"), [-1, 2, -1]),
    ],
)
def test_gold_with_new_classes_adds_them_with_a_warning_unless_classes_are_stated(votes, gold, classes, expected):
    with pytest.warns(VotesWarning, match=r"^gold has classes that no LF votes for: .* \(1 items\).*; correct them, or st"):
        more, encoded = votes.with_labels(gold, "gold")
    assert (more.classes, more.stated) == (classes, False)
    assert encoded.tolist() == expected
    assert more.rows.vote.tolist() == votes.rows.vote.tolist()


BAD_GOLD = {
    "too short": (
        THREE,
        [0, 1],
        "^gold has 2 entries but votes has 3 items; give one per item .-1 for unknown., or a map",
    ),
    "too long": (THREE, np.zeros(4, int), "^gold has 4 entries but votes has 3 items"),
    "2-D": (
        THREE,
        np.zeros((3, 1)),
        r"^gold is a ndarray of shape \(3, 1\); expected one class per item in one dimension",
    ),
    "0-D": (THREE, np.array(1), r"^gold is a ndarray of shape \(\)"),
    "None": (THREE, None, "^gold is a NoneType; expected one class per item"),
    "a set": (
        THREE,
        {0, 1},
        "^gold is a set; expected one class per item in one dimension, or a mapping from item to class",
    ),
    "a text": (NAMED, "ham", "^gold is a str; expected one class per item"),
    "a frame": (THREE, pd.DataFrame({"g": [0, 1, 0]}), r"^gold is a DataFrame of shape \(3, 1\); expected"),
    "nested": (THREE, [[0], [1, 0], [1]], r"^gold\[0\] is \[0\], a list; expected a single value"),
    "a half": (THREE, [0, 0.5, 1], r"^gold\[1\] is 0\.5; expected a whole number"),
    "-2": (THREE, [0, 1, -2], r"^gold\[2\] is -2; expected a whole number from 0 on"),
    "an identifier": (
        THREE,
        {1: 10**9},
        r"^gold\[1\] is 1000000000; expected a class from 0 to 9999\. Are these identifiers",
    ),
    "texts for numbers": (THREE, ["a", None, "b"], r"^gold\[0\] is 'a'; expected one of the classes 0, 1"),
    "numbers for texts": (NAMED, [0, -1, -1], r"^gold\[0\] is 0; expected one of the classes 'ham', 'spam'"),
    "booleans for texts": (NAMED, [None, True, None], r"^gold\[1\] is True; expected one of the classes 'ham', 'spam'"),
    "2 for booleans": (BOOLEAN, [0, 1, 2], r"^gold\[2\] is 2; expected one of the classes False, True"),
    "unknown class": (
        Votes.from_array([[0], [1], [1]], n_classes=2),
        [0, -1, 2],
        r"^gold\[2\] is 2; expected one of the classes 0, 1\. Correct it, or state it in classes",
    ),
    "unknown class in a series": (
        THREE.with_classes([0, 1]),
        pd.Series([0, 7, 1]),
        r"^gold\[1\] is 7; expected one of",
    ),
    "unknown name": (
        NAMED.with_classes(["ham", "spam"]),
        {2: "eggs"},
        r"^gold\[2\] is 'eggs'; expected one of the classes",
    ),
    "unknown class of an identified item": (
        LONG.with_classes(["x", "y"]),
        {"q": "z"},
        r"^gold\['q'\] is 'z'; expected",
    ),
    "no such index": (THREE, {3: 1}, "^gold has the item 3, which votes does not have; expected an index from 0 to 2"),
    "negative index": (
        THREE,
        {-1: 1},
        "^gold has the item -1, which votes does not have; expected an index from 0 to 2",
    ),
    "no such identifier": (
        LONG,
        {0: "x"},
        "^1 of the 1 items of gold are not in votes, for instance 0; expected identifiers such as 'p', 'q', 'r'",
    ),
}


@pytest.mark.parametrize(("votes", "gold", "message"), BAD_GOLD.values(), ids=BAD_GOLD.keys())
def test_bad_gold_gives_one_error_with_place_value_and_remedy(votes, gold, message):
    with pytest.raises(VotesError, match=message):
        votes.with_labels(gold, "gold")


def test_labels_are_called_by_their_name_in_errors():
    with pytest.raises(VotesError, match="^truth has 1 entries but votes has 3 items"):
        THREE.with_labels([0], "truth")
