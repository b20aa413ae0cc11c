"""`label_tags`: votes for any subset of tags in, a set of tags for each item out."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.errors import ParameterError, VotesError, VotesWarning
from hyperlabel.tags import read_tags

SETS = {"ann": [{"cat", "dog"}, ["cat"], {"dog"}, None], "bob": [["dog", "cat"], {"cat"}, ("dog",), []]}


def cells_of(votes, **options):
    return read_tags(votes, **options).cells.tolist()


def test_sets_lists_and_texts_are_the_same_votes():
    texts = {"ann": ["cat; dog", "cat", '["dog"]', ""], "bob": ["dog;cat", "cat", "dog", "[]"]}
    assert cells_of(texts) == cells_of(SETS)
    assert cells_of(pd.DataFrame(texts)) == cells_of(pl.DataFrame(texts)) == cells_of(SETS)
    records = [dict(zip(SETS, row, strict=True)) for row in zip(*SETS.values(), strict=True)]
    assert cells_of(pd.DataFrame(records)) == cells_of(SETS)


def test_silence_is_a_no_for_tags_that_an_lf_knows():
    votes = {"ann": [{"cat"}, {"dog"}, None], "bob": [{"cat"}, [], {"cat"}]}
    # (n, t, m): bob knows no dog; null abstains; an empty set is a no
    assert cells_of(votes) == [[[1, 1], [0, -1]], [[0, 0], [1, -1]], [[-1, 1], [-1, -1]]]
    with pytest.warns(VotesWarning, match="no vote is against a tag"):
        assert cells_of(votes, silence="abstain") == [[[1, 1], [-1, -1]], [[-1, -1], [1, -1]], [[-1, 1], [-1, -1]]]


def test_columns_of_yes_and_no_have_one_lf_and_tag_each():
    votes = pd.DataFrame({"ann:cat": [1, 0, None], "ann:dog": ["yes", "no", ""], "bob:cat": [True, True, False]})
    read = read_tags(votes)
    assert (read.lf_names, read.tags, read.silence) == (("ann", "bob"), ("cat", "dog"), "abstain")
    assert read.cells.tolist() == [[[1, 1], [1, -1]], [[0, 1], [0, -1]], [[-1, 0], [-1, -1]]]


def test_long_tables_have_one_row_per_tag():
    rows = [("x", "ann", "cat"), ("x", "ann", "dog"), ("y", "ann", "cat"), ("y", "bob", "cat"), ("x", "bob", None)]
    votes = pd.DataFrame(rows, columns=["item", "who", "tag"])
    read = read_tags(votes, long=("item", "who", "tag"))
    assert read.cells.tolist() == [[[1, 0], [1, -1]], [[1, 1], [0, -1]]]
    assert read.identity.ids.tolist() == ["x", "y"]
    votes["says"] = ["yes", "no", "no", "yes", None]
    read = read_tags(votes, long=("item", "who", "tag", "says"))
    assert read.cells.tolist() == [[[1, -1], [0, -1]], [[0, 1], [-1, -1]]]


def test_long_tables_may_have_sets_of_tags_as_judges_give_them():
    judged = pd.DataFrame({"item": [1, 1, 2], "judge": ["g", "c", "g"], "tags": [["x", "y"], ["x"], []]})
    texts = judged.assign(tags=["x; y", "x", "[]"])
    long = ("item", "judge", "tags")
    assert cells_of(judged, long=long) == cells_of(texts, long=long) == [[[1, 1], [-1, 1]], [[-1, 0], [-1, 0]]]
    numbers = judged.assign(tags=[3, 4, 4])
    assert read_tags(numbers, long=long).tags == ("3", "4")


@pytest.mark.parametrize(
    ("votes", "options", "message"),
    [
        ({}, {}, "the table has no LF column"),
        ({"a": [3]}, {}, "the vote of LF 'a' on item 0 is 3; expected a set or list of tags"),
        ({"a": [[None]]}, {}, "has the tag None; expected a name"),
        ({"a": [["x"]], "b": []}, {}, "columns of 0, 1 items"),
        ({"a": [None]}, {}, "votes name no tag"),
        ({"a": [["x"]]}, {"tags": ["y"]}, "votes has the tag 'x'; expected one of 'y'"),
        ({"a:x": ["maybe"]}, {}, "column 'a:x', item 0 is 'maybe'; expected yes or no"),
        ({"i": [1, 1], "l": "aa", "t": "xx", "v": [1, 0]}, {"long": "iltv"}, "long is 'iltv'"),
        (
            {"i": [1, 1], "l": "aa", "t": "xx", "v": [1, 0]},
            {"long": list("iltv")},
            "row 1: LF 'a' votes both yes and no",
        ),
        ({"i": [1]}, {"long": list("ilt")}, "long names the column 'l'"),
        (SETS, {"silence": "maybe"}, "silence is 'maybe'"),
    ],
)
def test_votes_that_cannot_be_read_say_where(votes, options, message):
    with pytest.raises((VotesError, ParameterError), match=message):
        read_tags(votes, **options)


def test_every_item_has_its_tags():
    labels = hl.label_tags(SETS)
    assert labels.sets[:3] == [("cat", "dog"), ("cat",), ("dog",)]
    assert labels.sets[3] == ()
    assert len(labels) == 4
    frame = labels.to_pandas()
    assert frame.columns.tolist() == ["tags", "p_cat", "p_dog"]
    assert labels.to_polars()["tags"].to_list()[0] == ["cat", "dog"]


def test_tags_that_nobody_votes_on_are_even_and_not_taken():
    labels = hl.label_tags({"a": [["x"], ["y"], None], "b": [["x"], ["y"], None]}, threshold=0.0)
    assert labels.probabilities[2].tolist() == [0.5, 0.5]
    assert labels.sets == [("x", "y"), ("x", "y"), ()]


def noisy_tags(n=300, seed=0):
    """Five LFs with 10 to 30 % errors on three tags, one of them rare. -> columns, truth."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 3)) < (0.5, 0.4, 0.05)
    votes = {}
    for j, error in enumerate((0.1, 0.1, 0.15, 0.2, 0.3)):
        said = truth ^ (rng.random((n, 3)) < error * np.array([1, 1, 0.3]))
        votes[f"lf_{j}"] = [[name for name, yes in zip("xyz", row, strict=True) if yes] for row in said]
    return votes, {i: [name for name, yes in zip("xyz", row, strict=True) if yes] for i, row in enumerate(truth)}


@pytest.mark.parametrize("model", [None, "mv", "ds"])
def test_tags_are_better_than_those_of_any_lf(model):
    votes, truth = noisy_tags()
    labels = hl.label_tags(votes, model=model)
    single = [hl.label_tags({lf: column}).score(truth)["f1"][0] for lf, column in votes.items()]
    assert labels.score(truth)["f1"][0] > max(single)


def test_gold_items_keep_their_tags_and_teach():
    votes, truth = noisy_tags()
    gold = {i: truth[i] for i in range(0, 300, 3)}
    labels = hl.label_tags(pd.DataFrame(votes), gold=gold)
    assert all(list(labels.sets[i]) == sorted(tags) for i, tags in gold.items())
    others = {i: tags for i, tags in truth.items() if i not in gold}
    assert labels.score(others)["f1"][0] >= hl.label_tags(votes).score(others)["f1"][0] - 0.01
    with pytest.raises(VotesError, match="gold of item 0 has the tag 'q'"):
        hl.label_tags(votes, gold={0: ["q"]})


def test_gold_may_be_a_text_as_in_a_cell():
    assert hl.label_tags(SETS, gold={3: "cat; dog"}).sets[3] == ("cat", "dog")
    assert hl.label_tags(SETS, gold={3: "dog"}).sets[3] == ("dog",)


def test_analysis_compares_each_lf_with_the_result():
    table = hl.label_tags({**SETS, "cem": [["dog"], ["dog"], None, None]}).analysis
    assert table["lf"].tolist() == ["ann", "bob", "cem"]
    assert table["items"].tolist() == [3, 4, 2]
    assert table["yes"].tolist() == [4, 4, 2]
    assert table["precision"].tolist() == [1, 1, 0.5]
    assert table["recall"].tolist() == [1, 1, 1]  # it knows dogs only


def test_thresholds_are_by_f1_or_stated():
    votes, truth = noisy_tags()
    labels = hl.label_tags(votes)
    strict = labels.with_threshold(0.9)
    assert strict.taken.sum() < labels.taken.sum()
    assert strict.score(truth)["precision"][0] > labels.score(truth)["precision"][0]
    assert (labels.probabilities[labels.taken] >= labels.thresholds[np.nonzero(labels.taken)[1]]).all()
    with pytest.raises(ParameterError, match="threshold is 2"):
        labels.with_threshold(2)


def test_certified_precision_holds_and_needs_a_sample():
    votes, truth = noisy_tags(2000)
    sample = {i: truth[i] for i in np.random.default_rng(1).permutation(2000)[:400].tolist()}
    certified = hl.label_tags(votes).certify(sample, precision=0.9)
    scores = certified.score(truth)
    assert certified.taken.any()
    assert scores["precision"][2] >= 0.9
    assert scores["precision"][3] >= 0.9
    assert not hl.label_tags(votes).certify({0: truth[0]}, precision=0.9).taken.any()


def test_score_counts_together_and_by_tag():
    scores = hl.label_tags(SETS).score({0: ["cat"], 1: ["cat"]})
    assert scores["tag"].tolist() == ["micro", "macro", "cat", "dog"]
    assert scores["precision"].tolist() == pytest.approx([2 / 3, 1 / 2, 1, 0])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("id,a,b,c,note,gold\n1,x; y,x;y,x,hi,x;y\n2,y,y,y,,y\n3,[],x,,,\n")
    return path


def test_command_adds_tags_to_the_table(table, tmp_path, hyperlabel):
    done = hyperlabel("tags", str(table), "-o", str(tmp_path / "out.csv"), "--truth", "gold", "--lfs", "a,b,c")
    assert done.code == 0
    written = pl.read_csv(tmp_path / "out.csv")
    assert written.columns == ["id", "a", "b", "c", "note", "gold", "tags", "p_x", "p_y"]
    assert written["tags"].to_list()[:2] == ["x; y", "y"]
    assert "silence means no" in done.err
    assert done.out.splitlines()[1].split()[:4] == ["micro", "1.000", "1.000", "1.000"]


def test_command_writes_lists_where_a_format_has_them(table, tmp_path, hyperlabel):
    out = tmp_path / "out.jsonl"
    done = hyperlabel("tags", str(table), "-o", str(out), "--lfs", "a,b,c", "--gold", "gold", "--json")
    assert json.loads(out.read_text().splitlines()[0])["tags"] == ["x", "y"]
    assert json.loads(done.out)["rows"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threshold", "high"], "--threshold is 'high'; expected f1"),
        (["--silence", "maybe"], "silence is 'maybe'"),
        (["--truth", "nothing"], "--truth is 'nothing'; expected a column"),
        (["-o", "out.exe"], "--out is 'out.exe'"),
    ],
)
def test_command_says_one_line_for_a_mistake(table, hyperlabel, arguments, message):
    done = hyperlabel("tags", str(table), "--lfs", "a,b,c", *arguments)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert message in done.err
