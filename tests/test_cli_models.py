"""The same model options everywhere: what commands say is of the model that made the labels."""

import json

import numpy as np
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.lf import LFAnalysis

RNG = np.random.default_rng(0)
TRUTH = (RNG.random(200) < 0.3).astype(int)
CELLS = np.where(RNG.random((200, 4)) < 0.7, TRUTH[:, None], 1 - TRUTH[:, None])
CELLS = np.where(RNG.random((200, 4)) < 0.6, CELLS, -1)
NAMES = np.array(["ham", "spam", None], object)
LFS = pl.DataFrame({f"lf_{j}": pl.Series(NAMES[CELLS[:, j]].tolist(), dtype=pl.String) for j in range(4)})
GOLD = np.where(np.arange(200) < 40, TRUTH, -1)
TOLD = ["--class-balance", "spam=0.3,ham=0.7", "--lf-accuracies", "lf_0=0.9,lf_2=0.55"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids = pl.DataFrame({"id": [f"i{i}" for i in range(200)]})
    answers = pl.DataFrame({"truth": NAMES[TRUTH].tolist(), "gold": NAMES[GOLD].tolist()})
    pl.concat([ids, LFS, answers], how="horizontal").write_csv("votes.csv")


def told():
    return hl.HyperLabelModel(class_balance={"spam": 0.3, "ham": 0.7}, lf_accuracies={"lf_0": 0.9, "lf_2": 0.55})


def per_class(labels):
    return {name: labels.count(name) for name in ("ham", "spam")}


def test_label_is_told_class_balance_and_accuracies_by_name(hyperlabel):
    assert hyperlabel("label", "votes.csv", "-o", "out.parquet", "--probabilities", *TOLD).code == 0
    found = pl.read_parquet("out.parquet").select("p_ham", "p_spam").to_numpy()
    np.testing.assert_allclose(found, told().predict_proba(LFS), atol=1e-9)
    assert np.abs(found - hl.HyperLabelModel().predict_proba(LFS)).max() > 0.01


def test_analyze_speaks_of_the_model_that_made_the_labels(hyperlabel):
    options = ["--json", *TOLD, "--metric", "f1"]
    labeled = json.loads(hyperlabel("label", "votes.csv", "-o", "out.csv", *options).out)
    analyzed = json.loads(hyperlabel("analyze", "votes.csv", *options).out)
    assert analyzed["per_class"] == labeled["per_class"] == per_class(told().predict(LFS, metric="f1").tolist())
    plain = json.loads(hyperlabel("analyze", "votes.csv", "--json").out)
    assert plain["lf_summary"] != analyzed["lf_summary"]


def test_analyze_with_gold_asks_the_model_that_learned_from_it(hyperlabel):
    found = json.loads(hyperlabel("analyze", "votes.csv", "--gold", "gold", "--json").out)
    model = hl.HyperLabelModel().fit(LFS, NAMES[GOLD].tolist())
    expected = LFAnalysis(LFS, model=model).estimated_accuracy
    assert [row["estimated_accuracy"] for row in found["lf_summary"]] == pytest.approx(expected.tolist())
    assert "gold" in found["ignored"]


def test_report_takes_the_model_options(hyperlabel, tmp_path):
    pages = []
    for options in ([], ["--gold", "gold", *TOLD, "--metric", "f1"]):
        assert hyperlabel("report", "votes.csv", "-o", "r.html", "--truth", "truth", *options).code == 0
        pages.append((tmp_path / "r.html").read_text())
    assert pages[0] != pages[1]


def test_compare_tells_models_what_they_take(hyperlabel):
    def brier_scores(*options):
        outcome = hyperlabel("compare", "votes.csv", "--truth", "truth", "--models", "hlm3,mv", "--json", *options)
        return {each["name"]: each["brier"] for each in json.loads(outcome.out)["results"]}

    plain, with_options = brier_scores(), brier_scores(*TOLD)
    assert plain["mv"] == with_options["mv"]
    assert plain["hlm3"] != with_options["hlm3"]


def test_compare_takes_a_saved_model(hyperlabel):
    hyperlabel("fit", "votes.csv", "-o", "s.safetensors")
    outcome = hyperlabel("compare", "votes.csv", "--truth", "truth", "--model", "s.safetensors,hlm3", "--json")
    results = json.loads(outcome.out)["results"]
    assert results[0]["score"] == results[1]["score"]


def test_names_with_commas_are_told_one_by_one(hyperlabel):
    LFS.rename({"lf_0": "a,b"}).select(pl.all().replace("spam", "spam, eggs")).write_csv("odd.csv")
    told = ["--lf-accuracies", "a,b=0.9", "--lf-accuracies", "lf_2=0.55"]
    told += ["--class-balance", "spam, eggs=0.3", "--class-balance", "ham=0.7"]
    found = pl.read_csv(hyperlabel("label", "odd.csv", *told).out.encode())
    LFS.write_csv("plain.csv")
    expected = pl.read_csv(hyperlabel("label", "plain.csv", *TOLD).out.encode())
    assert found["confidence"].to_list() == expected["confidence"].to_list()
    assert found["label"].to_list() == expected["label"].replace("spam", "spam, eggs").to_list()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--class-balance", "spam=x,ham=0.1"], "--class-balance has 'spam=x'; expected class=share once each"),
        (["--class-balance", "spam=0.5,eggs=0.5"], "class_balance has the unknown class 'eggs'"),
        (["--lf-accuracies", "0.9"], "--lf-accuracies has '0.9'; expected LF=share once each, shares from 0 to 1"),
        (["--lf-accuracies", "lf_0=1.5"], "--lf-accuracies has 'lf_0=1.5'; expected LF=share"),
        (["--lf-accuracies", "a,b=0.9"], "lf_accuracies has the unknown LF 'a,b'"),
        (["--lf-accuracies", "lf_9=0.5"], "lf_accuracies has the unknown LF 'lf_9'"),
        (["--lf-accuracies", "lf_0=0.5", "--model", "mv"], "--lf-accuracies is given, but the label model 'mv' takes"),
    ],
)
@pytest.mark.parametrize("command", [["label"], ["analyze"], ["suggest"]])
def test_what_a_model_cannot_be_told_is_refused(hyperlabel, command, options, message):
    outcome = hyperlabel(*command, "votes.csv", *options)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert message in outcome.err


def test_suggest_prints_identifiers_and_votes_of_items_without_gold(hyperlabel):
    outcome = hyperlabel("suggest", "votes.csv", "-n", "7", "--gold", "gold")
    found = pl.read_csv(outcome.out.encode(), infer_schema=False)
    places = hl.HyperLabelModel().fit(LFS, NAMES[GOLD].tolist()).suggest(LFS, 7, NAMES[GOLD].tolist())
    assert found["id"].to_list() == [f"i{place}" for place in places]
    assert places.min() >= 40
    assert found.drop("id").rows() == LFS[places.tolist()].rows()
    assert outcome.err.startswith("LFs: lf_0, lf_1, lf_2, lf_3; ignored: id, truth, gold; ")


def test_suggest_without_identifiers_gives_rows(hyperlabel):
    LFS.write_csv("plain.csv")
    found = pl.read_csv(hyperlabel("suggest", "plain.csv", "-n", "3").out.encode())
    assert found["row"].to_list() == hl.HyperLabelModel().suggest(LFS, 3).tolist()


@pytest.mark.parametrize("name", [None, "doc_id", "ticket_id", "row", ""])
@pytest.mark.parametrize("command", ["audit", "suggest"])
def test_items_that_a_command_names_are_found_again_as_gold(hyperlabel, command, name):
    ids = pl.DataFrame({} if name is None else {name: [f"i{i // 2 if name == 'row' else i}" for i in range(200)]})
    pl.concat([ids, LFS], how="horizontal").write_csv("own.csv")
    drawn = pl.read_csv(hyperlabel(command, "own.csv", "-n", "30").out.encode())
    drawn.with_columns(gold=pl.lit("spam")).write_csv("gold.csv")
    assert hyperlabel("label", "own.csv", "--gold", "gold.csv", "-o", "out.csv").code == 0
    given = pl.read_csv("out.csv").with_row_index().filter(confidence=1)
    assert given["label"].to_list() == ["spam"] * 30
    named = given["index" if name in (None, "ticket_id", "row") else name]  # other names do not identify these items
    assert sorted(named) == sorted(drawn[drawn.columns[0]])


@pytest.mark.parametrize("command", ["audit", "suggest"])
def test_items_of_an_array_are_found_again_as_gold(hyperlabel, command):
    np.save("votes.npy", CELLS)
    drawn = pl.read_csv(hyperlabel(command, "votes.npy", "-n", "30").out.encode())
    drawn.select("id", pl.lit(1).alias("gold")).write_csv("gold.csv")
    assert hyperlabel("label", "votes.npy", "--gold", "gold.csv", "-o", "out.csv").code == 0
    assert pl.read_csv("out.csv").filter(confidence=1, label=1)["id"].sort().equals(drawn["id"].sort())


def test_gold_of_items_that_the_votes_do_not_name_is_refused_with_the_remedy(hyperlabel):
    pl.concat([pl.DataFrame({"ticket_id": range(500, 700)}), LFS], how="horizontal").write_csv("own.csv")
    for name in ("ticket_id", "id"):
        pl.DataFrame({name: [503, 507], "gold": ["ham", "spam"]}).write_csv("gold.csv")
        outcome = hyperlabel("label", "own.csv", "--gold", "gold.csv")
        assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
        assert "items are numbered from 0; rename the column that identifies them to 'id' in both tables" in outcome.err


def test_suggest_of_no_items_is_refused(hyperlabel):
    assert "--number is 0; expected at least 1" in hyperlabel("suggest", "votes.csv", "-n", "0").err
