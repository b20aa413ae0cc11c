"""Seams between forms of input: what one form refuses or warns of, the others must not take silently."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import hyperlabel as hl
from hyperlabel import engines
from hyperlabel.errors import VotesError, VotesWarning
from hyperlabel.lf import apply_lfs, labeling_function

ENGINES = ["polars", "duckdb", "dask"]


# Ragged csv files.


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("order", [1, -1])
def test_csv_whose_commas_cancel_out_is_refused_by_every_engine(tmp_path, engine, order):
    lines = ["text,a,b", *[f"t{i},ham,spam" for i in range(40)]]
    lines[6], lines[9] = ["hello, you,spam,ham", "hi,spam"][::order]
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(lines))
    for read in (lambda: engines.fit(path, lfs=["a", "b"], engine=engine), lambda: hl.read_votes(path, lfs=["a", "b"])):
        with pytest.raises(VotesError, match=rf"line 7 has {3 + order} fields, the header has 3"):
            read()


def test_csv_of_too_many_columns_is_refused_before_memory_is_taken(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{i}" for i in range(10**6)) + "\n" + "," * (10**6 - 1) + "\n")
    with pytest.raises(VotesError, match="has 1,000,000 columns; expected at most 10,000"):
        hl.read_votes(path)


# Text classes that look like numbers.


@pytest.fixture
def digits():
    return pl.DataFrame({"a": ["1", "2", "NA", "1"] * 10, "b": ["2", "2", "1", "1"] * 10})


def test_a_null_text_leaves_the_text_classes_of_a_typed_file_alone(tmp_path, digits):
    path = tmp_path / "votes.parquet"
    digits.write_parquet(path)
    assert hl.read_votes(path).classes == ("1", "2")
    model = engines.fit(path, model="mv")
    assert model.classes_.tolist() == ["1", "2"]
    tomorrow = digits.filter(pl.col("a") != "NA")
    assert set(model.predict(tomorrow)) == {"1", "2"}


@pytest.mark.filterwarnings("ignore:class numbers start at 1")
def test_a_null_text_leaves_the_numbers_of_a_csv_numbers(tmp_path, digits):
    path = tmp_path / "votes.csv"
    digits.write_csv(path)
    assert hl.read_votes(path).classes == (0, 1, 2)
    assert engines.fit(path, model="mv").classes_.tolist() == [0, 1, 2]
    digits.with_row_index("id").unpivot(index="id").write_csv(path)
    assert hl.read_votes(path, long=("id", "variable", "value")).classes == (0, 1, 2)


# Warnings that all forms give.


def _forms(cells):
    yield from (cells, cells.tolist(), pd.DataFrame(cells), pl.DataFrame(cells))
    yield scipy.sparse.csr_array(cells.astype(np.int64) + 1)


@pytest.mark.parametrize("none", [99, 255])
def test_a_number_that_means_no_vote_is_warned_of_in_every_form(none):
    rng = np.random.default_rng(0)
    cells = np.where(rng.random((100, 4)) < 0.3, none, rng.integers(0, 3, (100, 4))).astype(np.uint8)
    for form in _forms(cells):
        with pytest.warns(VotesWarning, match=f"class numbers go up to {none}, but only 4 are voted for"):
            hl.Votes(form)
    hl.Votes(cells, n_classes=256)


def test_a_class_that_one_lf_mistypes_is_warned_of_in_every_form():
    cells = np.random.default_rng(0).integers(0, 3, (100, 3))
    cells[7, 1] = 6
    for form in _forms(cells):
        with pytest.warns(VotesWarning, match="a class that one LF votes for a handful of times: 6"):
            hl.Votes(form)


@pytest.mark.parametrize("form", range(5))
def test_votes_of_nobody_are_warned_of_in_every_form(form):
    data = list(_forms(np.full((30, 2), -1)))[form]
    with pytest.warns(VotesWarning, match="^no LF votes on any item: no item gets a label"):
        hl.Votes(data)


def test_votes_of_nobody_are_warned_of_even_if_classes_are_stated():
    frame = pl.DataFrame({"a": [None] * 30, "b": ["NA"] * 30})
    with pytest.warns(VotesWarning, match="^no LF votes on any item"):
        hl.Votes(frame, classes=["ham", "spam"])


@pytest.mark.parametrize(
    ("text", "message"),
    [("id,a,b\n1,,\n2,NA,\n", "no LF votes on any item"), ("id,a,b\n1,ham,\n2,ham,ham\n", "are for one class, 'ham'")],
)
@pytest.mark.parametrize("engine", ["memory", "polars"])
def test_strict_commands_refuse_a_table_without_votes_or_with_one_class(tmp_path, hyperlabel, text, message, engine):
    path, out = tmp_path / "votes.csv", tmp_path / "labels.csv"
    path.write_text(text)
    outcome = hyperlabel("label", path, "--engine", engine, "--strict", "-o", out)
    assert outcome.code != 0
    assert message in outcome.err
    assert not out.exists()


# Classes whose names look like partial votes.


@pytest.fixture
def genres():
    rows = ["Action", "Comedy", "Action|Comedy"] * 20
    return pl.DataFrame({"a": rows, "b": rows[1:] + rows[:1]})


def test_a_class_named_like_a_vote_for_two_others_is_warned_of(genres):
    for read in (hl.Votes, lambda frame: engines.fit(frame, model="mv")):
        with pytest.warns(VotesWarning, match=r"one of several classes, by their names: 'Action\|Comedy' \(40\)"):
            read(genres)
    assert hl.Votes(genres, classes=["Action", "Comedy", "Action|Comedy"]).n_classes == 3
    assert hl.Votes(genres, classes=["Action", "Comedy"]).n_codes == 3


def test_lfs_that_return_votes_for_one_of_several_classes_are_not_warned_of():
    @labeling_function
    def short(x):
        return hl.any_of("ham", "spam") if len(x) < 4 else "ham"

    @labeling_function
    def free(x):
        return "spam" if "free" in x else None

    assert apply_lfs([short, free], ["hi", "see you", "free"] * 10).classes == ("ham", "spam")


# Items.


def test_gold_by_an_index_with_repeated_values_is_refused():
    frame = pd.concat([pd.DataFrame({"a": ["x", "y", "x", "y"] * 8, "b": ["x", "x", "x", "y"] * 8})] * 2)
    with pytest.raises(VotesError, match=r"gold is a mapping, but the index of votes has 0 twice, as after pd\.concat"):
        hl.HyperLabelModel().fit(frame, gold={2: "y"})
    hl.HyperLabelModel().fit(frame.reset_index(drop=True), gold={2: "y"})


# The cache of LFs.


def test_a_cached_lf_matches_the_same_patterns(tmp_path):
    @labeling_function
    def matches(x):
        match x:
            case [text, 1] if "free" in text:
                return "spam"
            case [_, *_]:
                return "ham"
            case _:
                return "eggs"

    frame = pl.DataFrame({"text": ["free money", "free", "hi"], "n": [1, 2, 1]})
    expected = apply_lfs([matches], frame)["matches"].tolist()
    assert expected == ["spam", "ham", "ham"]
    for _ in range(2):
        assert apply_lfs([matches], frame, cache=tmp_path)["matches"].tolist() == expected
    changed = frame.with_columns(n=pl.lit(2))
    assert apply_lfs([matches], changed, cache=tmp_path)["matches"].tolist() == ["ham"] * 3


# JSON lines.


@pytest.mark.parametrize("key", [r"\u0061", "a"])
def test_a_json_key_twice_is_refused_however_it_is_spelled(tmp_path, key):
    path = tmp_path / "votes.jsonl"
    path.write_text('{"a": "ham", "b": "ham"}\n{"a": "ham", "' + key + '": "spam", "b": "ham"}\n')
    with pytest.raises(VotesError, match="has the key 'a' twice in line 2"):
        hl.read_votes(path)


def test_escapes_in_json_values_are_read(tmp_path):
    path = tmp_path / "votes.jsonl"
    path.write_text(json.dumps({"a": "caf\u00e9", "b": "a/b"}).replace("/", r"\/") + "\n")
    assert hl.read_votes(path).classes == ("a/b", "caf\u00e9")


# Equal bits.


@pytest.mark.parametrize("n", [6_000, 9_000])
def test_memory_and_polars_write_the_same_csv_above_5000_patterns(tmp_path, hyperlabel, n):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, n)
    votes = np.where(rng.random((n, 12)) < 0.7, truth[:, None], rng.integers(0, 3, (n, 12)))
    votes[rng.random((n, 12)) < 0.5] = -1
    assert len(np.unique(votes, axis=0)) > 5_000
    path = tmp_path / "votes.csv"
    pl.DataFrame({f"lf{j}": votes[:, j] for j in range(12)}).write_csv(path)
    results = []
    for engine in ("memory", "polars"):
        out = tmp_path / f"{engine}.csv"
        assert hyperlabel("label", path, "--engine", engine, "--probabilities", "-o", out).code == 0
        results.append(out.read_bytes())
    assert results[0] == results[1]
