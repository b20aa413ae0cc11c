"""Gold and truth, which `Votes.with_labels` encodes: every accepted form, and every bad one; and `Labels`."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.data import Labels, Votes
from hyperlabel.errors import ParameterError, VotesError, VotesWarning

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
    with pytest.warns(
        VotesWarning, match=r"^gold has classes that no LF votes for: .* \(1 items\).*; correct them, or st"
    ):
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
        r"^gold is of type ndarray with shape \(3, 1\); expected one class per item in one dimension",
    ),
    "0-D": (THREE, np.array(1), r"^gold is of type ndarray with shape \(\)"),
    "None": (THREE, None, "^gold is of type NoneType; expected one class per item"),
    "a set": (
        THREE,
        {0, 1},
        "^gold is of type set; expected one class per item in one dimension, or a mapping from item to class",
    ),
    "a text": (NAMED, "ham", "^gold is of type str; expected one class per item"),
    "a frame": (THREE, pd.DataFrame({"g": [0, 1, 0]}), r"^gold is of type DataFrame with shape \(3, 1\); expected"),
    "nested": (THREE, [[0], [1, 0], [1]], r"^gold\[0\] is \[0\] .list.; expected a single value"),
    "a half": (THREE, [0, 0.5, 1], r"^gold\[1\] is 0\.5; expected a whole number"),
    "-2": (THREE, [0, 1, -2], r"^gold\[2\] is -2; expected a whole number, 0 or more"),
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


def test_entries_that_are_identifiers_of_other_items_are_warned_of():
    gold = pd.Series({2: "spam", 3: "ham"})
    message = r"^gold is a Series whose entry 2 is taken from the index of votes; in its column 'id', it names another"
    with pytest.warns(VotesWarning, match=message):
        by_index = FROM_ONE.with_labels(gold, "gold")[1]
    assert by_index.tolist() == FROM_ONE.with_labels(gold.reindex(range(len(FROM_ONE))), "gold")[1].tolist()
    assert by_index.tolist() != FROM_ONE.with_labels(gold.to_dict(), "gold")[1].tolist()


def test_labels_are_called_by_their_name_in_errors():
    with pytest.raises(VotesError, match="^truth has 1 entries but votes has 3 items"):
        THREE.with_labels([0], "truth")


# Identifiers.

FRAME = pd.DataFrame({"a": ["ham", "spam", None, "spam"], "b": ["ham", "ham", None, "spam"]})
BY_ID = Votes.from_frame(FRAME.assign(id=[40, 10, 30, 20]))
BY_INDEX = Votes.from_frame(FRAME.set_axis(list("pqrs")))
BY_BOTH = Votes.from_frame(FRAME.set_axis(list("pqrs")).assign(id=[40, 10, 30, 20]))
PLAIN = Votes.from_frame(FRAME)
FROM_ONE = Votes.from_frame(FRAME.assign(id=[1, 2, 3, 4]))
SHUFFLED = Votes.from_frame(FRAME.set_axis([3, 0, 2, 1]))

MATCHED = {
    "series by id that has its name": (FROM_ONE, pd.Series(["spam", "ham"], index=pd.Index([2, 3], name="id"))),
    "whole series by id that has its name": (
        Votes.from_frame(FRAME.assign(id=[3, 0, 2, 1])),
        pd.Series(["spam", None, "ham", None], index=pd.Index([0, 1, 2, 3], name="id")),
    ),
    "series by id that no index has": (FROM_ONE, pd.Series({2: "spam", 3: "ham", 4: None})),
    "series by index that no id has": (FROM_ONE, pd.Series({0: None, 1: "spam", 2: "ham"})),
    "shuffled series of shuffled votes": (SHUFFLED, pd.Series(["ham", "spam"], index=[2, 0])),
    "mapping by id": (BY_ID, {10: "spam", 30: "ham"}),
    "mapping by index": (BY_INDEX, {"q": "spam", "r": "ham"}),
    "mapping by id beside an index": (BY_BOTH, {10: "spam", 30: "ham"}),
    "mapping by place": (PLAIN, {1: "spam", 2: "ham"}),
    "series by index": (BY_INDEX, pd.Series({"r": "ham", "q": "spam"})),
    "series by id": (BY_ID, pd.Series({30: "ham", 10: "spam"})),
    "series by index beside an id": (BY_BOTH, pd.Series({"r": "ham", "q": "spam"})),
    "series by id beside an index": (BY_BOTH, pd.Series({30: "ham", 10: "spam"})),
    "series in another order": (BY_INDEX, pd.Series([None, "ham", "spam", None], index=list("srqp"))),
    "series of some rows": (PLAIN, pd.Series(["spam", "ham"], index=[1, 2])),
    "shuffled series": (PLAIN, pd.Series(["ham", None, "spam", None], index=[2, 0, 1, 3])),
    "series that only counts": (BY_INDEX, pd.Series([None, "spam", "ham", None])),
    "series that only counts beside ids": (BY_ID, pd.Series([None, "spam", "ham", None])),
    "polars series": (BY_INDEX, pl.Series([None, "spam", "ham", None])),
    "list": (BY_INDEX, [None, "spam", "ham", None]),
    "null texts": (BY_INDEX, ["NA", "spam", "ham", "-"]),
}


@pytest.mark.parametrize(("votes", "gold"), MATCHED.values(), ids=MATCHED.keys())
def test_gold_is_matched_by_identifier_index_or_place(votes, gold):
    assert votes.with_labels(gold, "gold")[1].tolist() == [-1, 1, 0, -1]


@pytest.mark.parametrize(
    ("votes", "gold", "message"),
    [
        (
            BY_ID,
            {10: "spam", 99: "ham", 98: "ham"},
            "^2 of the 3 items of gold are not in votes, for instance 99; they are le",
        ),
        (
            BY_INDEX,
            pd.Series({"q": "spam", "x": "ham"}),
            "^1 of the 2 items of gold are not in votes, for instance 'x'",
        ),
        (BY_ID, {99: "ham"}, "^1 of the 1 items of gold are not in votes, for instance 99"),
    ],
)
def test_gold_of_items_that_votes_does_not_have_is_counted_and_left_out(votes, gold, message):
    with pytest.warns(VotesWarning, match=message):
        _, encoded = votes.with_labels(gold, "gold")
    assert encoded.tolist() in ([-1, 1, -1, -1], [-1, -1, -1, -1])


@pytest.mark.parametrize(
    ("votes", "gold", "message"),
    [
        (
            BY_ID,
            {"10": "spam"},
            "^1 of the 1 items of gold are not in votes, for instance '10'; expected identifiers such as",
        ),
        (
            BY_INDEX,
            pd.Series({1: "spam", 2: "ham"}),
            r"^gold is a Series whose index \(1, 2\) has none of the items of votes \('p', .*give gold.to_numpy\(\) to",
        ),
        (
            Votes.from_frame(FRAME.assign(id=[1, 1, 2, 3])),
            {1: "spam"},
            "^gold is a mapping, but column 'id' does not identify the items: values are missing or repeated. Give gol",
        ),
        (
            Votes.from_frame(FRAME.set_axis(list("ppqr"))),
            pd.Series({"p": "spam"}),
            "^gold has an index with repeated values",
        ),
        (
            BY_INDEX,
            pd.Series(["spam", "ham"], index=["q", "q"]),
            "^gold is a Series whose index has 'q' twice; expected each item once",
        ),
        (
            SHUFFLED,
            pd.Series(["spam", None, "ham", None]),
            r"^gold has the index 0 to 3, which votes has in another order \(3, 0, 2, 1\); give it as .to_n",
        ),
        (THREE, {True: 1}, "^gold has the item True, which votes does not have; expected an index from 0 to 2"),
    ],
)
def test_gold_that_cannot_be_matched_is_refused(votes, gold, message):
    with pytest.raises(VotesError, match=message):
        votes.with_labels(gold, "gold")


def test_column_that_is_to_identify_items_must():
    with pytest.raises(
        VotesError, match="^column 'a' does not identify the items: values are missing or repeated; name ano"
    ):
        Votes.from_frame(FRAME, item="a")
    with pytest.raises(VotesError, match="^item is 'key', but votes has no such column; its columns are 'a', 'b'"):
        Votes.from_frame(FRAME, item="key")
    assert Votes.from_frame(FRAME.assign(key=list("wxyz")), item="key").items.tolist() == list("wxyz")


@pytest.mark.parametrize("name", ["mv", "hlm3"])
@pytest.mark.parametrize("source", ["id", "index"])
def test_suggest_explain_and_gold_speak_the_same_identifiers(name, source):
    """With integer ids that are also places of other items, a mixture would label other items."""
    rng = np.random.default_rng(0)
    ids = rng.permutation(60)
    frame = pd.DataFrame(rng.integers(-1, 2, (60, 4)), columns=list("abcd"))
    frame = frame.assign(id=ids) if source == "id" else frame.set_axis(ids)
    model = hl.label_model(name, n_classes=2)
    asked = model.suggest(frame, 5)
    assert set(asked.tolist()) <= set(ids.tolist())
    by_place = hl.label_model(name, n_classes=2).suggest(frame[list("abcd")].to_numpy(), 5)
    assert asked.tolist() == ids[by_place].tolist()
    gold = dict.fromkeys(asked.tolist(), 1)
    labels = model.fit_predict(frame, gold)
    assert labels[by_place].tolist() == [1] * 5
    assert not set(model.suggest(frame, 50, gold=gold).tolist()) & set(gold)
    found = model.fit(frame).explain(frame, asked[0])
    assert found.probabilities[1] == pytest.approx(model.predict_proba(frame)[by_place[0], 1])


def test_explain_refuses_an_item_that_votes_does_not_have():
    model = hl.label_model("mv")
    with pytest.raises(
        ParameterError, match="^item is 0, which votes does not have; expected an identifier such as 40, 10"
    ):
        model.explain(BY_ID, 0)
    with pytest.raises(ParameterError, match="^item is 'p'; expected an index from 0 to 3"):
        model.explain(PLAIN, "p")
    assert model.explain(BY_ID, np.int64(10)).item == 10


# Gold is obeyed.


@pytest.mark.parametrize("name", ["mv", "hlm3"])
def test_gold_is_obeyed_with_and_without_votes(name):
    cells = np.r_[np.random.default_rng(0).integers(-1, 2, (40, 4)), -np.ones((5, 4), int)]
    gold = np.where(np.arange(45) % 3 == 0, np.arange(45) % 2, -1)
    model = hl.label_model(name, n_classes=2)
    known = gold >= 0
    assert (model.fit_predict(cells, gold)[known] == gold[known]).all()
    assert (model.fit_predict_proba(cells, gold)[np.flatnonzero(known), gold[known]] == 1).all()


def test_gold_given_to_suggest_counts_once():
    """A model fitted with gold suggests what the same model without it does, if the gold is given."""
    cells = np.random.default_rng(1).integers(-1, 2, (200, 4))
    gold = np.where(np.arange(200) % 9 == 0, 1, -1)
    model = hl.label_model("mv", n_classes=2)
    fresh = model.suggest(cells, 30, gold=gold)
    np.testing.assert_array_equal(model.fit(cells, gold).suggest(cells, 30, gold=gold), fresh)


def test_explain_after_fit_with_gold_says_what_predict_says():
    cells = np.random.default_rng(1).integers(-1, 2, (50, 4))
    model = hl.label_model("mv", n_classes=2).fit(cells, {0: 1, 7: 0})
    shares = model.predict_proba(cells)
    for item in (0, 7, 8):
        assert list(model.explain(cells, item).probabilities.values()) == pytest.approx(shares[item].tolist())


# Labels.


@pytest.mark.parametrize(
    ("frame", "ids"),
    [
        (FRAME, []),
        (FRAME.set_axis(list("pqrs")), []),
        (FRAME.assign(id=[40, 10, 30, 20]), ["id"]),
        (FRAME.set_axis(list("pqrs")).assign(item=[4, 1, 3, 2]), ["item"]),
    ],
)
def test_labels_as_pandas_have_the_index_that_came_in(frame, ids):
    for model in (hl.label_model("mv"), hl.label_model("mv").fit(frame)):
        out = model.label(frame).to_pandas()
        pd.testing.assert_index_equal(out.index, frame.index)
        assert list(out.columns) == [*ids, "label", "confidence", "p_ham", "p_spam"]
        assert out["label"].tolist() == ["ham", "ham", None, "spam"]
        assert out["confidence"].tolist() == [1, 0.5, 0.5, 1]
        assert [out[name].tolist() for name in ids] == [frame[name].tolist() for name in ids]


def test_labels_as_polars_have_identifiers_and_null_for_none():
    out = hl.label_model("mv").label(FRAME.set_axis(pd.Index(list("pqrs"), name="key"))).to_polars()
    assert out.columns == ["key", "label", "confidence", "p_ham", "p_spam"]
    assert out["label"].to_list() == ["ham", "ham", None, "spam"]
    assert hl.label_model("mv").label([[0, 1], [-1, -1]]).to_polars()["label"].to_list() == [0, None]


def test_labels_of_a_long_table_have_its_items():
    votes = Votes.from_long(TASKS, item="item", lf="lf", vote="vote")
    assert hl.label_model("mv").label(votes).to_pandas()["item"].tolist() == ["p", "q", "r"]


def test_predicted_labels_are_none_or_minus_one_where_there_is_none():
    assert hl.label_model("mv").predict(FRAME).tolist() == ["ham", "ham", None, "spam"]
    assert hl.label_model("mv").predict([[0, 1], [-1, -1]]).tolist() == [0, -1]
    booleans = pd.DataFrame({"a": [True, False, None]})
    assert hl.label_model("mv").predict(booleans).tolist() == [True, False, None]


def test_labels_of_some_items_are_theirs():
    labels = hl.label_model("mv").label(BY_ID)
    assert len(labels) == 4
    assert labels[1:3].labels.tolist() == ["ham", None]
    assert labels[[3, 0]].to_pandas()["id"].tolist() == [20, 40]
    assert labels[labels.confidence == 1].items.tolist() == [40, 20]


def test_labels_look_short_and_harmless():
    labels = Labels(np.array([1, -1]), np.array([[0.2, 0.8], [0.5, 0.5]]), ("<b>", "<i>"), np.array(["<u>", "x"]))
    assert repr(labels) == "Labels(2 items: <i> 1; 1 without a label)"
    page = labels._repr_html_()
    assert not {"<b>", "<i>", "<u>"} & set(page.replace(">", "> ").split())
    assert "<td>&lt;u&gt;</td><td>&lt;i&gt;</td><td>0.8</td>" in page


def test_print_shows_items_with_votes_and_labels_first():
    votes = hl.Votes([{"id": "silent", "a": None, "b": None}, {"id": "loud", "a": "spam", "b": None}])
    assert str(votes).splitlines()[1:] == ["item  a     b", "loud  spam"]
    assert [line.split()[:2] for line in str(hl.HyperLabelModel().label(votes)).splitlines()[1:]] == [
        ["item", "label"],
        ["loud", "spam"],
    ]


def test_fitted_model_takes_its_lfs_from_any_table():
    model = hl.label_model("mv").fit(FRAME)
    today = pd.DataFrame({"note": ["x", "y"], "b": ["spam", None], "n_words": [3, 99], "a": ["spam", "ham"]})
    assert model.predict(today).tolist() == ["spam", "ham"]
    with pytest.raises(VotesError, match="^votes has no column 'b'; the columns are 'a'"):
        model.predict(today[["a"]])
