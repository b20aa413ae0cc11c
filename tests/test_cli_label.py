"""`hyperlabel label`: every format in, every column kept, gold by column and by file."""

import json
import re

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_allclose

import hyperlabel as hl
from hyperlabel.cli import _inputs as inputs

# The label of each item is beyond doubt, whatever the weights; the third item has no votes.
CELLS = np.array([[1, 1, -1], [0, 0, 0], [-1, -1, -1], [-1, 1, 1], [0, -1, 0]])
LABELS = [1, 0, None, 1, 0]
NAMES = np.array(["ham", "spam", None], object)[CELLS]
SPAM = ["spam", "ham", None, "spam", "ham"]
TABLE = pl.DataFrame(
    {
        "id": [7, 3, 5, 9, 1],
        "text": ["win, now", "hello", None, 'say "hi"', "grüezi"],
        **{f"lf_{j}": pl.Series(NAMES[:, j].tolist(), dtype=pl.String) for j in range(3)},
        "note": [0.5, 1.5, None, 2.5, 3.5],
    }
)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def votes(tmp_path):
    """A table with string classes, and columns that are no LFs."""
    TABLE.write_csv(tmp_path / "votes.csv")
    return tmp_path / "votes.csv"


def read_stdout(outcome):
    lines = [line for line in outcome.err.splitlines() if not line.startswith("class balance with gold: ")]
    assert (outcome.code, len(lines)) == (0, 1)
    assert lines[0].startswith("LFs: ")
    return pl.read_csv(outcome.out.encode())


def write_npy(folder):
    np.save(folder / "votes.npy", CELLS)
    return ["votes.npy"]


def write_npz(folder):
    np.savez(folder / "votes.npz", L=CELLS, y=np.zeros(5))
    return ["votes.npz"]


def write_sparse(folder):
    scipy.sparse.save_npz(folder / "votes.npz", scipy.sparse.csr_array(CELLS + 1))
    return ["votes.npz"]


def numbers():
    return pl.DataFrame(
        {"id": range(5), **{f"lf{j}": [None if v < 0 else int(v) for v in CELLS[:, j]] for j in range(3)}}
    )


def write_csv(folder):
    numbers().write_csv(folder / "votes.csv")
    return ["votes.csv"]


def write_tsv(folder):
    numbers().write_csv(folder / "votes.tsv", separator="\t")
    return ["votes.tsv"]


def write_parquet(folder):
    numbers().write_parquet(folder / "votes.parquet")
    return ["votes.parquet"]


def write_minus_ones(folder):
    numbers().fill_null(-1).write_csv(folder / "votes.csv")
    return ["votes.csv"]


def write_wrench(folder):
    splits = {"train": range(3), "test": range(3, 5)}
    (folder / "set").mkdir()
    for split, items in splits.items():
        content = {str(i): {"label": 0, "weak_labels": CELLS[i].tolist(), "data": {"text": "x"}} for i in items}
        (folder / "set" / f"{split}.json").write_text(json.dumps(content))
    return ["set"]


def write_long(folder):
    rows = [(i, f"lf{j}", None if CELLS[i, j] < 0 else int(CELLS[i, j])) for i in range(5) for j in range(3)]
    pl.DataFrame(rows, schema=["id", "worker", "answer"], orient="row").write_csv(folder / "votes.csv")
    return ["votes.csv", "--long", "id,worker,answer"]


WRITERS = [write_csv, write_tsv, write_parquet, write_minus_ones, write_npy, write_npz, write_sparse, write_wrench]


@pytest.mark.parametrize("write", [*WRITERS, write_long])
def test_label_of_every_format_gives_the_labels_of_the_model(hyperlabel, tmp_path, write):
    table = read_stdout(hyperlabel("label", *write(tmp_path), "--probabilities"))
    model = hl.HyperLabelModel()
    assert table["label"].to_list() == LABELS
    assert_allclose(table["confidence"], model.predict_proba(CELLS).max(1), atol=1e-6)
    assert_allclose(table.select("p_0", "p_1"), model.predict_proba(CELLS), atol=1e-6)


def test_label_of_an_array_numbers_the_items(hyperlabel, tmp_path):
    assert read_stdout(hyperlabel("label", *write_npy(tmp_path)))["id"].to_list() == [0, 1, 2, 3, 4]


def test_label_of_a_wrench_folder_names_split_and_item(hyperlabel, tmp_path):
    table = read_stdout(hyperlabel("label", *write_wrench(tmp_path)))
    assert table["id"].to_list() == ["train/0", "train/1", "train/2", "test/3", "test/4"]


def test_label_of_a_long_table_has_one_row_an_item_as_they_first_appear(hyperlabel, tmp_path):
    rows = [("b", "x", "cat"), ("a", "x", "dog"), ("b", "y", "cat"), ("a", "y", "dog"), ("c", "x", None)]
    pl.DataFrame(rows, schema=["task", "who", "what"], orient="row").write_csv(tmp_path / "long.csv")
    table = read_stdout(hyperlabel("label", "long.csv", "--long", "task,who,what"))
    assert table.columns == ["task", "label", "confidence"]
    assert table.rows()[0][:2] == ("b", "cat")
    assert table.rows()[1][:2] == ("a", "dog")
    assert table.rows()[2] == ("c", None, 0.5)


def test_label_on_standard_output_keeps_rows_columns_and_order(hyperlabel, votes):
    outcome = hyperlabel("label", votes, "--lfs", "lf_*")
    table = read_stdout(outcome)
    assert table.columns == [*TABLE.columns, "label", "confidence"]
    assert table.select(TABLE.columns).equals(TABLE)
    assert table["label"].to_list() == SPAM
    assert outcome.out.splitlines()[1].startswith('7,"win, now",spam,spam,,0.5,spam,0.')
    assert outcome.out.splitlines()[3] == "5,,,,,,,0.5"


def test_label_without_lfs_takes_every_column_that_has_no_other_meaning(hyperlabel, votes):
    wide = TABLE.drop("note").with_columns(item=pl.lit(1), gold=pl.lit("x"), truth=pl.lit("x"), label=pl.lit("x"))
    wide.write_csv(votes)
    assert read_stdout(hyperlabel("label", votes))["label"].to_list() == SPAM


def test_label_of_a_table_with_a_label_keeps_it_as_input(hyperlabel, votes):
    TABLE.with_columns(label=pl.lit("old"), confidence=pl.lit(9)).write_csv(votes)
    table = read_stdout(hyperlabel("label", votes, "--lfs", "lf_*"))
    assert table.columns == [*TABLE.columns, "label_input", "confidence_input", "label", "confidence"]
    assert set(table["label_input"]) == {"old"}
    assert table["label"].to_list() == SPAM


def test_label_of_its_own_output_again_and_again_keeps_one_input(hyperlabel, votes):
    for _ in range(3):
        assert hyperlabel("label", votes, "--lfs", "lf_*", "-o", votes).code == 0
    added = pl.read_csv(votes).columns[len(TABLE.columns) :]
    assert added == ["label_input", "confidence_input", "label", "confidence"]


def test_label_with_probabilities_names_a_column_for_each_class(hyperlabel, votes):
    table = read_stdout(hyperlabel("label", votes, "--lfs", "lf_*", "--probabilities"))
    assert table.columns[-4:] == ["label", "confidence", "p_ham", "p_spam"]
    assert_allclose(table["p_ham"] + table["p_spam"], 1)
    assert_allclose(table["confidence"], table.select(pl.max_horizontal("p_ham", "p_spam")).to_series())
    assert table["p_spam"].to_list()[2] == 0.5


def test_label_with_classes_keeps_their_order_and_one_that_nobody_votes_for(hyperlabel, votes):
    table = read_stdout(hyperlabel("label", votes, "--lfs", "lf_*", "--probabilities", "--classes", "spam, eggs, ham"))
    assert table.columns[-3:] == ["p_spam", "p_eggs", "p_ham"]
    assert_allclose(table.select("p_spam", "p_eggs", "p_ham").sum_horizontal(), 1)


@pytest.fixture(params=["memory", "polars"])
def balanced(hyperlabel, tmp_path, request):
    """Labels random votes of two classes with a known balance, by an engine; gives the votes and the result."""

    def run(*options):
        cells = np.random.default_rng(0).integers(-1, 2, (400, 4))
        named = np.array(["ham", "spam", None], object)[cells]
        pl.DataFrame(named.tolist(), orient="row").write_parquet("votes.parquet")
        said = hyperlabel(
            *("label", "votes.parquet", "-o", "out.parquet", "--probabilities", "--engine", request.param),
            *("--classes", "ham,spam", "--class-balance", "0.8,0.2", *options),
        )
        assert said.code == 0, said.err
        return cells, pl.read_parquet("out.parquet")

    return run


def test_label_with_a_class_balance_draws_items_with_votes_to_it(balanced):
    cells, found = balanced()
    voted = found.filter(pl.col("label").is_not_null())
    plain = hl.HyperLabelModel(n_classes=2).fit_predict_proba(cells)[(cells >= 0).any(1), 1].mean()
    stated = hl.HyperLabelModel(n_classes=2, class_balance=[0.8, 0.2]).fit_predict_proba(
        cells
    )  # items without votes too
    assert 0.2 < voted["p_spam"].mean() < plain
    assert voted["p_spam"].mean() == pytest.approx(stated[(cells >= 0).any(1), 1].mean(), abs=1e-6)


def test_label_for_f1_calls_what_the_model_does_and_is_as_sure_as_of_the_label(balanced):
    cells, found = balanced("--metric", "f1")
    labels = hl.HyperLabelModel(n_classes=2, class_balance=[0.8, 0.2]).predict(cells, metric="f1")
    assert found["label"].to_list() == np.array(["ham", "spam", None], object)[labels].tolist()
    sure = np.where(found["label"] == "spam", found["p_spam"], found["p_ham"])
    assert_allclose(found["confidence"], sure)
    assert found["confidence"].min() < 0.5  # labels for F1 are not always the most probable


def test_label_for_an_unknown_metric_is_refused(hyperlabel, votes):
    said = hyperlabel("label", str(votes), "--lfs", "lf_*", "--metric", "auc")
    assert (said.code, said.out) == (2, "")
    assert "--metric is 'auc'; expected 'accuracy' or 'f1'" in said.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--class-balance", "0.5,0.5"], "--class-balance is '0.5,0.5'; expected --classes too"),
        (
            ["--class-balance", "1", "--classes", "ham,spam"],
            "'1'; expected a share for each of the 2",
        ),
        (["--class-balance", "a,b", "--classes", "ham,spam"], "'a,b'; expected a share"),
        (["--class-balance", "0.5,0.6", "--classes", "ham,spam"], "summing to 1"),
        (["--class-balance", "0.5,0.5", "--classes", "ham,spam", "--model", "mv"], "'mv' takes none; use --model hlm3"),
    ],
)
def test_label_with_a_class_balance_that_cannot_be_is_refused(hyperlabel, votes, options, message):
    said = hyperlabel("label", str(votes), "--lfs", "lf_*", *options)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_label_of_an_array_with_classes_names_its_numbers(hyperlabel, tmp_path):
    table = read_stdout(hyperlabel("label", *write_npy(tmp_path), "--classes", "no,yes"))
    assert table["label"].to_list() == ["yes", "no", None, "yes", "no"]


def test_label_with_classes_that_are_partly_numbers_takes_all_as_names(hyperlabel, tmp_path):
    table = read_stdout(hyperlabel("label", *write_npy(tmp_path), "--classes", "0,many"))
    assert table["label"].to_list() == ["many", "0", None, "many", "0"]


def test_label_of_numbers_beside_an_lf_that_never_votes_takes_classes_as_numbers(hyperlabel, tmp_path):
    write_csv(tmp_path)
    numbers().with_columns(silent=pl.lit(None)).write_csv(tmp_path / "votes.csv")
    table = read_stdout(hyperlabel("label", "votes.csv", "--classes", "0,1,2", "--probabilities"))
    assert table["label"].to_list() == LABELS
    assert table.columns[-1] == "p_2"


@pytest.mark.parametrize(("classes", "names"), [(None, ["p_false", "p_true"]), ("true,false", ["p_true", "p_false"])])
def test_label_of_booleans_gives_booleans(hyperlabel, tmp_path, classes, names):
    table = numbers().with_columns(pl.col("^lf.*$").cast(pl.Boolean))
    table.write_csv(tmp_path / "votes.csv")
    stated = ["--classes", classes] if classes else []
    labeled = read_stdout(hyperlabel("label", "votes.csv", "--probabilities", *stated))
    assert labeled["label"].to_list() == [True, False, None, True, False]
    assert labeled.columns[-2:] == names


@pytest.mark.parametrize(
    ("votes", "dtype"),
    [(pl.String, pl.String), (pl.Int8, pl.Int64), (pl.Boolean, pl.Boolean), (pl.Categorical, pl.String)],
)
def test_label_to_parquet_keeps_the_types_of_all_columns(hyperlabel, tmp_path, votes, dtype):
    plain = numbers().with_columns(pl.col("^lf.*$").cast(pl.Boolean if votes == pl.Boolean else pl.Int8))
    if votes in (pl.String, pl.Categorical):
        plain = plain.with_columns(pl.col("^lf.*$").cast(pl.String).cast(votes))
    dates = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, 5), eager=True)
    table = plain.with_columns(pl.col("id").cast(pl.UInt16), day=dates, tags=pl.lit(["a", "b"]))
    table.write_parquet(tmp_path / "votes.parquet")
    outcome = hyperlabel("label", "votes.parquet", "--lfs", "lf*", "-o", "out.parquet")
    labeled = pl.read_parquet(tmp_path / "out.parquet")
    assert (outcome.code, outcome.out) == (0, "")
    assert labeled.select(table.columns).equals(table)
    assert labeled.select(table.columns).schema == table.schema
    assert labeled.schema["label"] == dtype
    assert labeled["label"].null_count() == 1


def test_label_where_nobody_votes_keeps_the_type_of_the_classes(hyperlabel, tmp_path):
    pl.DataFrame({"a": pl.Series([None, None], dtype=pl.Boolean), "b": [None, True]}).write_parquet("votes.parquet")
    hyperlabel("label", "votes.parquet", "-o", "out.parquet")
    assert pl.read_parquet("out.parquet").schema["label"] == pl.Boolean


def test_label_to_a_file_says_what_it_did(hyperlabel, votes):
    outcome = hyperlabel("label", votes, "--lfs", "lf_*", "-o", "out.tsv")
    assert (outcome.code, outcome.out) == (0, "")
    table = [line.split() for line in outcome.err.replace("│", " ").splitlines()[4:7]]
    assert sorted(table) == [["(no", "label)", "1", "20.0%"], ["ham", "2", "40.0%"], ["spam", "2", "40.0%"]]
    assert outcome.err.splitlines()[-1] == "wrote out.tsv: 5 rows"
    assert pl.read_csv("out.tsv", separator="\t")["label"].to_list() == SPAM


def test_label_of_classes_that_look_like_markup_shows_them_as_they_are(hyperlabel, tmp_path):
    (tmp_path / "votes.csv").write_text("a,b\n[bold]x,[bold]x\n[/bold],[/bold]\n:smile:,:smile:\n")
    outcome = hyperlabel("label", "votes.csv", "-o", "[red]out.csv")
    assert outcome.code == 0
    assert all(name in outcome.err for name in ("[bold]x", "[/bold]", ":smile:", "[red]out.csv"))


def test_label_passes_its_options_to_the_model(hyperlabel, votes, monkeypatch):
    made = []

    def make(name, **params):
        made.append((name, params))
        return hl.label_model(name, **params)

    monkeypatch.setattr(inputs, "label_model", make)
    hyperlabel("label", votes, "--lfs", "lf_*", "--tie-break", "random", "--seed", "5", "--model", "hlm")
    assert made == [("hlm", {"tie_break": "random", "seed": 5})]


def test_label_by_a_model_that_warns_says_so_in_one_line(hyperlabel, votes, monkeypatch):
    class Restless(hl.HyperLabelModel):
        def _fit(self, patterns, gold):
            super()._fit(patterns, gold)
            self.n_iter_, self.converged_ = 9, False

    monkeypatch.setattr(inputs, "label_model", lambda *_, **params: Restless(**params))
    outcome = hyperlabel("label", votes, "--lfs", "lf_*")
    assert outcome.code == 0
    assert outcome.err.splitlines()[1:] == ["warning: Restless did not converge in 9 iterations; raise max_iter"]


GOLD = {3: "ham", 9: "ham"}  # by id; what the votes say is "ham" and "spam"


def taught():
    votes = hl.Votes.from_frame(TABLE, lfs=["lf_0", "lf_1", "lf_2"])
    return hl.HyperLabelModel().fit_predict_proba(votes, [GOLD.get(item) for item in TABLE["id"]])


def test_label_with_a_gold_column_learns_from_it_and_keeps_it(hyperlabel, votes):
    gold = pl.Series("lf_gold", [GOLD.get(item) for item in TABLE["id"]], dtype=pl.String)
    TABLE.with_columns(gold).write_csv(votes)
    table = read_stdout(hyperlabel("label", votes, "--lfs", "lf_*", "--gold", "lf_gold", "--probabilities"))
    assert_allclose(table.select("p_ham", "p_spam"), taught())
    assert table["lf_gold"].to_list() == gold.to_list()
    assert table["label"].to_list() == ["spam", "ham", None, "ham", "ham"]  # gold overrules the votes
    without = read_stdout(hyperlabel("label", votes, "--lfs", "lf_[0-9]", "--probabilities"))
    assert abs(without["p_ham"] - table["p_ham"]).max() > 1e-5


@pytest.mark.parametrize("column", ["gold", "whatever"])
@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_label_with_a_gold_file_finds_items_by_id(hyperlabel, votes, ending, column):
    gold = pl.DataFrame({"id": list(GOLD), column: list(GOLD.values())})
    if ending == "parquet":
        gold.write_parquet("gold.parquet")
    else:
        gold.write_csv(f"gold.{ending}", separator="," if ending == "csv" else "\t")
    table = read_stdout(hyperlabel("label", votes, "--lfs", "lf_*", "--gold", f"gold.{ending}", "--probabilities"))
    assert_allclose(table.select("p_ham", "p_spam"), taught())


def test_label_with_a_gold_file_of_many_columns_takes_the_one_named_so(hyperlabel, votes):
    pl.DataFrame({"who": ["me", "me"], "class": list(GOLD.values()), "id": list(GOLD)}).write_csv("gold.csv")
    table = read_stdout(hyperlabel("label", votes, "--lfs", "lf_*", "--gold", "gold.csv", "--probabilities"))
    assert_allclose(table.select("p_ham", "p_spam"), taught())


@pytest.mark.parametrize("engine", ["memory", "polars"])
def test_label_with_gold_of_numbers_beside_a_word_learns_from_them(hyperlabel, tmp_path, engine):
    (tmp_path / "v.csv").write_text("id,a,b,gold\n1,0,1,1.0\n2,1,1,NA\n3,0,0,0\n4,1,0,\n")
    assert hyperlabel("label", "v.csv", "--gold", "gold", "--engine", engine, "-o", "o.csv").code == 0
    labels = pl.read_csv("o.csv")["label"].to_list()
    assert (labels[0], labels[1], labels[2]) == (1, 1, 0)


def test_label_of_a_table_without_id_finds_gold_by_row(hyperlabel, votes):
    TABLE.drop("id").write_csv(votes)
    rows = [TABLE["id"].to_list().index(item) for item in GOLD]
    pl.DataFrame({"id": rows, "gold": list(GOLD.values())}).write_csv("gold.csv")
    table = read_stdout(hyperlabel("label", votes, "--lfs", "lf_*", "--gold", "gold.csv", "--probabilities"))
    assert_allclose(table.select("p_ham", "p_spam"), taught())


def test_label_of_an_array_takes_gold_as_an_array(hyperlabel, tmp_path):
    gold = np.array([-1, 0, -1, 0, -1])
    np.save("gold.npy", gold)
    table = read_stdout(hyperlabel("label", *write_npy(tmp_path), "--gold", "gold.npy", "--probabilities"))
    assert_allclose(table.select("p_0", "p_1"), hl.HyperLabelModel().fit_predict_proba(CELLS, gold))
    assert table["label"].to_list() == [1, 0, None, 0, 0]


@pytest.mark.parametrize("where", ["column", "file"])
def test_label_of_a_long_table_takes_gold_of_its_items(hyperlabel, where):
    rows = [("b", "x", 1, 0), ("a", "x", 0, None), ("b", "y", 1, None), ("a", "y", 1, None)]
    pl.DataFrame(rows, schema=["task", "who", "what", "known"], orient="row").write_csv("long.csv")
    pl.DataFrame({"task": ["b"], "known": [0]}).write_csv("gold.csv")
    gold = "known" if where == "column" else "gold.csv"
    table = read_stdout(hyperlabel("label", "long.csv", "--long", "task,who,what", "--gold", gold, "--probabilities"))
    expected = hl.HyperLabelModel().fit_predict_proba([[1, 1], [0, 1]], [0, -1])
    assert_allclose(table.select("p_0", "p_1"), expected, atol=1e-6)
    assert table["label"].to_list()[0] == 0
    assert table["task"].to_list() == ["b", "a"]
    assert ("known" in table.columns) is (where == "column")


def test_label_with_a_gold_class_nobody_votes_for_has_it(hyperlabel, votes):
    pl.DataFrame({"id": [3], "gold": ["eggs"]}).write_csv("gold.csv")
    outcome = hyperlabel("label", votes, "--lfs", "lf_*", "--gold", "gold.csv", "--probabilities")
    assert "\nwarning: gold has classes that no LF votes for: 'eggs' (1 i" in outcome.err
    table = pl.read_csv(outcome.out.encode())
    assert table.columns[-3:] == ["p_ham", "p_spam", "p_eggs"]


@pytest.mark.parametrize("network", ["paper", "unrolled"])
def test_label_with_weights_of_either_network_uses_them(votes, hyperlabel, request, network):
    make = request.getfixturevalue("make_weights" if network == "paper" else "make_unrolled_weights")
    make().save("mine.safetensors")
    table = read_stdout(hyperlabel("label", votes, "--lfs", "lf_*", "--model", "mine.safetensors"))
    expected = hl.HyperLabelModel(weights="mine.safetensors").predict_proba(TABLE.select("^lf_.*$"))
    assert_allclose(table["confidence"], expected.max(1))


@pytest.fixture
def state():
    """The file of a model that is fitted on other votes than those that are labeled."""
    rng = np.random.default_rng(0)
    cells = np.where(rng.random((200, 1)) < 0.8, 1, 0) ^ (rng.random((200, 3)) < [0.1, 0.3, 0.5])
    table = pl.DataFrame({f"lf_{j}": np.array(["ham", "spam"])[cells[:, j]] for j in range(3)})
    hl.HyperLabelModel().fit(table).save("state.safetensors")
    return "state.safetensors"


def test_label_with_a_fitted_model_judges_in_its_state_and_by_name(votes, hyperlabel, state):
    model, lfs = hl.load(state), ["lf_2", "lf_1", "lf_0"]
    TABLE.select("id", "text", *lfs, "note").write_csv(votes)  # LFs are those of the model, whatever is beside them
    table = read_stdout(hyperlabel("label", votes, "--model", state, "--probabilities"))
    expected = model.predict_proba(TABLE.select("^lf_.*$"))
    assert_allclose(table.select("p_ham", "p_spam"), expected)
    assert abs(expected - hl.HyperLabelModel().predict_proba(TABLE.select("^lf_.*$"))).max() > 0.01


def test_label_of_one_row_by_a_fitted_model_is_as_in_the_table(votes, hyperlabel, state):
    whole = read_stdout(hyperlabel("label", votes, "--model", state))
    TABLE.head(1).write_csv(votes)
    alone = read_stdout(hyperlabel("label", votes, "--model", state))
    assert_allclose(alone["confidence"], whole["confidence"].head(1), atol=1e-12)


def test_label_of_an_array_by_a_fitted_model_has_its_classes(hyperlabel, tmp_path):
    hl.HyperLabelModel(classes=["no", "yes", "never"]).fit(CELLS).save("state.safetensors")
    table = read_stdout(hyperlabel("label", *write_npy(tmp_path), "--model", "state.safetensors", "--probabilities"))
    assert table["label"].to_list() == ["yes", "no", None, "yes", "no"]
    assert table.columns[-3:] == ["p_no", "p_yes", "p_never"]


def test_label_with_a_saved_model_that_is_not_fitted_fits_it(votes, hyperlabel):
    hl.HyperLabelModel(classes=["spam", "ham"], class_balance=[0.3, 0.7]).save("plain.safetensors")
    table = read_stdout(hyperlabel("label", votes, "--lfs", "lf_*", "--model", "plain.safetensors", "--probabilities"))
    model = hl.HyperLabelModel(classes=["spam", "ham"], class_balance=[0.3, 0.7])
    assert_allclose(table.select("p_spam", "p_ham"), model.predict_proba(TABLE.select("^lf_.*$")))


def test_label_with_a_saved_model_keeps_its_tie_break_unless_told(hyperlabel, votes):
    hl.label_model("mv", tie_break="abstain").save("mv.safetensors")
    TABLE.with_columns(lf_1=pl.lit("ham")).write_csv(votes)
    kept = read_stdout(hyperlabel("label", votes, "--lfs", "lf_0,lf_1", "--model", "mv.safetensors"))
    told = read_stdout(
        hyperlabel("label", votes, "--lfs", "lf_0,lf_1", "--model", "mv.safetensors", "--tie-break", "first")
    )
    assert kept["label"].to_list() == [None, "ham", "ham", "ham", "ham"]
    assert told["label"].to_list() == ["ham"] * 5


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--gold", "text"], "--gold"),
        (["--classes", "ham,spam"], "--classes"),
        (["--classes", "ham,spam", "--class-balance", "0.5,0.5"], "--classes"),
    ],
)
def test_label_with_a_fitted_model_refuses_what_it_would_have_to_learn(hyperlabel, votes, state, options, named):
    said = hyperlabel("label", votes, "--model", state, *options)
    assert (said.code, said.out) == (2, "")
    assert f"{named} is given, but the model in 'state.safetensors' is already fitted" in said.err
    assert f"leave {named} out, or fit again with a model such as --model hlm3" in said.err


def test_label_with_a_fitted_model_and_other_lfs_is_refused(hyperlabel, votes, state):
    TABLE.drop("lf_1").write_csv(votes)
    said = hyperlabel("label", votes, "--model", state)
    assert (said.code, said.out) == (2, "")
    assert "lacks 1 of 3 LFs of the model: 'lf_1'; add the column, or let it abstain: --missing-lfs abstain" in said.err


def test_label_with_counted_patterns_as_a_model_is_refused(hyperlabel, votes):
    hl.Patterns.from_chunks([CELLS]).save("counts.safetensors")
    said = hyperlabel("label", votes, "--lfs", "lf_*", "--model", "counts.safetensors")
    assert (said.code, said.out) == (2, "")
    assert "counts.safetensors holds counted patterns: read it with Patterns.load(path)" in said.err


@pytest.mark.parametrize(
    ("ids", "reason"),
    [
        ([7, None], "column 'id' is empty in row 1; expected the id of an item in every row"),
        ([[7], [3]], r"column 'id' holds values of the type List\(Int64\); expected the id of an item"),
        ([True, False], "column 'id' has no id of an item in the votes: 'true' is unknown"),
    ],
)
def test_gold_by_what_is_no_identifier_is_refused(hyperlabel, ids, reason):
    TABLE.with_columns(id=pl.Series([7, 3, 0, 9, 1])).write_parquet("votes.parquet")
    pl.DataFrame({"id": ids, "gold": ["ham", "spam"]}).write_parquet("gold.parquet")
    done = hyperlabel("label", "votes.parquet", "--gold", "gold.parquet", "--lfs", "lf_*")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert re.search(reason, done.err)


def test_gold_of_other_items_beside_some_of_these_is_counted_and_left_out(hyperlabel, tmp_path):
    (tmp_path / "v.csv").write_text("id,a,b\n1,spam,spam\n2,ham,ham\n")
    (tmp_path / "g.csv").write_text("id,gold\n2,spam\n77,ham\n")
    outcome = hyperlabel(
        "label", tmp_path / "v.csv", "--gold", tmp_path / "g.csv", "-o", tmp_path / "o.csv", "--engine", "memory"
    )
    assert outcome.code == 0
    assert "has 1 of 2 values that no item has, such as '77'" in outcome.err
    assert (tmp_path / "o.csv").read_text().splitlines()[2].startswith("2,ham,ham,spam,1.0")
