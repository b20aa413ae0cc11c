import re
from types import SimpleNamespace

import numpy as np
import pytest

from hyperlabel.data import ABSTAIN
from hyperlabel.errors import ParameterError
from hyperlabel.lf import ColumnFunction, LabelingFunction, apply_lfs, expression_lf, labeling_function

X = SimpleNamespace(text="check out my channel")


def test_decorator_with_and_without_parentheses_makes_the_same_lf():
    @labeling_function
    def bare(x):
        """Says spam."""
        return "spam"

    @labeling_function()
    def called(x):
        return "spam"

    @labeling_function("renamed")
    def other(x):
        return "spam"

    @labeling_function(name="again")
    def last(x):
        return "spam"

    assert [type(lf) for lf in (bare, called, other, last)] == [LabelingFunction] * 4
    assert [lf.name for lf in (bare, called, other, last)] == ["bare", "called", "renamed", "again"]
    assert [lf(X) for lf in (bare, called)] == ["spam", "spam"]
    assert bare.__doc__ == "Says spam."


def test_decorator_with_columns_makes_a_column_function():
    @labeling_function(columns=True, vote=1)
    def short(frame):
        return frame["text"]

    assert isinstance(short, ColumnFunction)
    assert short({"text": "yes"}) == "yes"


def test_lf_with_resources_passes_them_to_the_function():
    @labeling_function(resources={"words": {"channel"}})
    def known(x, words):
        return 1 if words & set(x.text.split()) else ABSTAIN

    assert known(X) == 1


@pytest.mark.parametrize(
    ("answer", "vote"),
    [(True, "spam"), (np.True_, "spam"), (re.search("a", "a"), "spam"), (False, -1), (None, -1), (np.False_, -1)]
    + [(ABSTAIN, -1), (np.int64(-1), -1)],
)
def test_lf_with_a_stated_vote_votes_where_the_answer_is_yes(answer, vote):
    assert LabelingFunction("f", lambda x: answer, vote="spam")(X) == vote


@pytest.mark.parametrize("answer", ["ham", 1, 0.5, [], "spam"])
def test_lf_with_a_stated_vote_and_another_answer_is_an_error(answer):
    with pytest.raises(TypeError, match="expected true or false, since its vote is stated as 'spam'"):
        LabelingFunction("f", lambda x: answer, vote="spam")(X)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LabelingFunction("", len), "name is ''; expected the name of an LF"),
        (lambda: LabelingFunction(3, len), "name is 3; expected the name of an LF"),
        (lambda: LabelingFunction("f", "text"), "LF 'f': function is 'text'; expected a function of a row"),
        (
            lambda: ColumnFunction("f", 3),
            "LF 'f': function is 3; expected a function of a frame or a Polars expression",
        ),
        (lambda: expression_lf("f", len), "LF 'f': expression is .*; expected a Polars expression"),
        (lambda: LabelingFunction("f", len, vote=-1), "LF 'f': vote is -1; expected a class number or a class name"),
        (lambda: LabelingFunction("f", len, vote=[1]), r"LF 'f': vote is \[1\]; expected a class number"),
    ],
)
def test_lf_that_is_malformed_is_a_parameter_error(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


@pytest.mark.parametrize(
    ("lfs", "message"),
    [
        ([], r"lfs is \[\]; expected a list of at least one labeling function"),
        (LabelingFunction("f", len), r"lfs is LabelingFunction\('f'\); expected a list"),
        (
            [LabelingFunction("f", len), LabelingFunction("f", len)],
            "lfs has several LFs named 'f'; give each its own name",
        ),
        ([LabelingFunction("f", len), "g"], r"lfs\[1\] is 'g'; expected a labeling function"),
    ],
)
def test_list_of_lfs_that_is_malformed_is_a_parameter_error(lfs, message):
    with pytest.raises(ParameterError, match=message):
        apply_lfs(lfs, ["a"])


def test_plain_function_in_a_list_of_lfs_is_a_function_of_a_row():
    def loud(x):
        return 1 if x.isupper() else None

    votes = apply_lfs([loud], ["HELLO", "hello"])
    assert votes.lf_names == ("loud",)
    assert votes.cells.tolist() == [[1], [-1]]
