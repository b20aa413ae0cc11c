"""A class balance and accuracies of LFs: in order, or by name; anything else is one clear error."""

import numpy as np
import pandas as pd
import pytest

import hyperlabel as hl
from hyperlabel.data import by_name, read_accuracies, read_balance
from hyperlabel.errors import ParameterError

NAMES = ("ham", "other", "spam")
BALANCES = {
    "list": [0.2, 0.3, 0.5],
    "tuple": (0.2, 0.3, 0.5),
    "array": np.array([0.2, 0.3, 0.5]),
    "mapping": {"spam": 0.5, "ham": 0.2, "other": 0.3},
    "series by class": pd.Series({"spam": 0.5, "other": 0.3, "ham": 0.2}),
    "series in order": pd.Series([0.2, 0.3, 0.5]),
    "shares of a column": pd.Series(["spam"] * 5 + ["other"] * 3 + ["ham"] * 2).value_counts(normalize=True),
}


@pytest.mark.parametrize("stated", BALANCES.values(), ids=BALANCES.keys())
def test_class_balance_is_read_in_order_or_by_class(stated):
    np.testing.assert_allclose(read_balance(stated, NAMES), [0.2, 0.3, 0.5])


def test_uniform_class_balance_has_equal_shares():
    np.testing.assert_allclose(read_balance("uniform", NAMES), [1 / 3] * 3)


@pytest.mark.parametrize(
    ("stated", "classes"),
    [
        ({1: 0.7, 0: 0.3}, (0, 1)),
        ({np.int64(1): 0.7, np.int64(0): 0.3}, (0, 1)),
        ({"1": 0.7, "0": 0.3}, (0, 1)),  # as JSON writes it
        ({True: 0.7, False: 0.3}, (False, True)),
        (pd.Series([0.7, 0.3], index=[1, 0]), (0, 1)),
    ],
)
def test_class_balance_of_numbers_and_booleans_is_read_by_class(stated, classes):
    assert read_balance(stated, classes).tolist() == [0.3, 0.7]


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        (
            [0.5, 0.5],
            r"^class_balance is \[0.5, 0.5\]; expected one probability for each of the 3 classes, summing to 1",
        ),
        ([0.2, 0.3, 0.6], r"^class_balance is .*, which sums to 1.1; expected"),
        ([2, 3, 5], r"^class_balance is \[2, 3, 5\], which sums to 10; expected"),
        ([-0.5, 0.5, 1], "^class_balance is .*; expected one probability"),
        ([np.nan, 0.5, 0.5], "^class_balance is .*; expected one probability"),
        (["a", "b", "c"], r"^class_balance is \['a', 'b', 'c'\]; expected one probability"),
        ("even", "^class_balance is 'even'; expected one probability"),
        (0.5, "^class_balance is 0.5; expected one probability"),
        (
            {"ham": 0.5, "spam": 0.5},
            "^class_balance lacks 'other'; expected a share for each class: 'ham', 'other', 'spam'",
        ),
        ({"ham": 0.5, "eggs": 0.5}, "^class_balance has the unknown class 'eggs'; expected 'ham', 'other', 'spam'"),
        ({0: 0.2, 1: 0.3, 2: 0.5}, "^class_balance has the unknown class 0, 1, 2; expected"),
        ({}, "^class_balance lacks 'ham', 'other', 'spam'"),
        (
            pd.Series([0.5, 0.5], index=["ham", "ham"]),
            "^the Series 'ham', 'ham' has a name twice; expected each name once",
        ),
        ({"ham": "x", "other": 0.5, "spam": 0.5}, r"^class_balance is \['x', 0.5, 0.5\]; expected"),
    ],
)
def test_bad_class_balance_is_one_clear_error(stated, message):
    with pytest.raises(ParameterError, match=message):
        read_balance(stated, NAMES)


ACCURACIES = {
    "list": [0.9, None, 0.6],
    "array": np.array([0.9, np.nan, 0.6]),
    "mapping": {"c": 0.6, "a": 0.9},
    "mapping with None": {"c": 0.6, "b": None, "a": 0.9},
    "series": pd.Series({"c": 0.6, "a": 0.9}),
}


@pytest.mark.parametrize("stated", ACCURACIES.values(), ids=ACCURACIES.keys())
def test_accuracies_are_read_in_order_or_by_lf(stated):
    np.testing.assert_array_equal(read_accuracies(stated, ("a", "b", "c"), 3), [0.9, np.nan, 0.6])


def test_accuracies_of_lfs_without_names_are_read_by_their_number():
    np.testing.assert_array_equal(read_accuracies({"lf1": 0.9}, None, 2), [np.nan, 0.9])


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        (
            [0.5],
            r"^lf_accuracies has shape \(1,\); expected one share for each of the 3 LFs, None where it is not know",
        ),
        ([0.5, 2, 0.5], "^lf_accuracies has 2.0 at 1; expected a share of right votes from 0 to 1"),
        ({"d": 0.5}, "^lf_accuracies has the unknown LF 'd'; expected 'a', 'b', 'c'"),
        ("high", "^lf_accuracies is 'high'; expected one share"),
        ([[0.5], 0.5, 0.5], "^lf_accuracies is .*; expected one share"),
    ],
)
def test_bad_accuracies_are_one_clear_error(stated, message):
    with pytest.raises(ParameterError, match=message):
        read_accuracies(stated, ("a", "b", "c"), 3)


def test_what_is_stated_in_order_has_no_names():
    assert by_name([0.5, 0.5]) is None
    assert by_name(pd.Series([0.5, 0.5])) is None


FRAME = pd.DataFrame(
    {"a": ["ham", "spam", "spam", None], "b": ["ham", "spam", "ham", "ham"], "c": ["spam"] * 3 + ["ham"]}
)


def test_model_takes_what_is_known_by_name_as_in_order():
    def shares(**known):
        return hl.HyperLabelModel(classes=["ham", "spam"], **known).predict_proba(FRAME)

    np.testing.assert_array_equal(
        shares(class_balance={"spam": 0.7, "ham": 0.3}, lf_accuracies={"c": 0.6}),
        shares(class_balance=[0.3, 0.7], lf_accuracies=[None, None, 0.6]),
    )


def test_model_saved_with_shares_by_name_means_the_same_when_loaded(tmp_path):
    stated = pd.Series({1: 0.7, 0: 0.3})
    votes = np.random.default_rng(0).integers(-1, 2, (50, 4))
    model = hl.HyperLabelModel(class_balance=stated)
    model.save(tmp_path / "model.safetensors")
    loaded = hl.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.fit_predict_proba(votes), model.fit_predict_proba(votes))
