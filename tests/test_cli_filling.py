"""`hyperlabel label --text` and `--features`: labels for every item, and where each came from."""

import json

import numpy as np
import polars as pl
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `sklearn`)")

TEXTS = ["win free money", "free money now", "see you at home", "see you at lunch", "free money here", None]
CLASSES = [["spam", "spam"], ["spam", None], ["ham", "ham"], [None, "ham"], [None, None], [None, None]]
FEATURES = [1.0, 0.9, -1.0, -0.8, 0.7, -0.9]


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    """A table with texts, features and two LFs; two items have no votes."""
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame(
        {
            "id": range(6),
            "mail": TEXTS,
            "a": [row[0] for row in CLASSES],
            "b": [row[1] for row in CLASSES],
            "emb_0": FEATURES,
            "emb_1": [0.5] * 6,
            "gold": [None, None, None, "spam", None, None],
            "label_source": ["old"] * 6,
        }
    )
    frame.write_csv("votes.csv")
    frame.with_columns(pl.concat_list("emb_0", "emb_1").alias("emb")).write_parquet("votes.parquet")
    np.save("emb.npy", np.c_[FEATURES, FEATURES])
    return frame


def label(hyperlabel, *options, votes="votes.csv", lfs="a,b"):
    outcome = hyperlabel("label", votes, *options, "--lfs", lfs, "-o", "out.parquet")
    assert outcome.code == 0, outcome.err
    return pl.read_parquet("out.parquet"), outcome


def test_text_labels_items_without_votes_and_says_so(hyperlabel):
    out, outcome = label(hyperlabel, "--text", "mail")
    assert out["label"].to_list() == ["spam", "spam", "ham", "ham", "spam", None]
    assert out["label_source"].to_list() == ["votes+text"] * 4 + ["text", None]
    assert out["label_source_input"].to_list() == ["old"] * 6
    assert "labels from votes+text: 4, text: 1, none: 1" in outcome.err
    assert "30 random labels would be worth about +" in outcome.err
    assert "hyperlabel audit votes.csv --lfs a,b -n 30 > gold.csv" in outcome.err


def test_tip_of_gold_is_a_command_that_works(hyperlabel, table):
    table.select("id", pl.col("mail").alias("the mail"), "a", "b").write_csv("plain.csv")
    outcome = hyperlabel("label", "plain.csv", "--text", "the mail", "-o", "out.csv")
    assert "hyperlabel audit plain.csv --drop 'the mail' -n 30 > gold.csv" in outcome.err
    drawn = hyperlabel("audit", "plain.csv", "--drop", "the mail", "-n", "3")
    assert drawn.out.startswith("id,the mail\n")


def test_summary_counts_sources(hyperlabel):
    _, outcome = label(hyperlabel, "--text", "mail", "--json")
    assert json.loads(outcome.out)["sources"] == {"votes+text": 4, "text": 1, "none": 1}


def test_items_with_votes_can_be_left_to_them(hyperlabel):
    alone = hyperlabel("label", "votes.csv", "--lfs", "a,b", "--drop", "mail,emb_*", "-o", "alone.csv")
    assert alone.code == 0, alone.err
    out, _ = label(hyperlabel, "--text", "mail", "--votes-only")
    assert out["label_source"].to_list() == ["votes"] * 4 + ["text", None]
    assert out["confidence"][:4].to_list() == pytest.approx(pl.read_csv("alone.csv")["confidence"][:4].to_list())


def test_threshold_leaves_doubtful_items_without_a_label(hyperlabel):
    sure, _ = label(hyperlabel, "--text", "mail")
    least = sorted(sure["confidence"].to_list())[3]
    for engine in ("memory", "polars"):
        out, _ = label(hyperlabel, "--threshold", str(least), "--engine", engine)
        assert out["label"].is_null().to_list() == (out["confidence"] < least).to_list()
    out, outcome = label(hyperlabel, "--text", "mail", "--threshold", str(least))
    assert "none: 3" in outcome.err
    assert out["label"].is_null().sum() == 3
    assert out["label_source"].is_null().to_list() == out["label"].is_null().to_list()


@pytest.mark.parametrize("engine", ["memory", "polars"])
def test_state_labels_new_rows_by_votes_and_texts(hyperlabel, table, engine):
    fitted = hyperlabel(
        "fit", "votes.csv", "--text", "mail", "--lfs", "a,b", "--engine", engine, "-o", "state.safetensors"
    )
    assert fitted.code == 0, fitted.err
    table[[4, 0, 5]].write_csv("new.csv")
    out, outcome = label(hyperlabel, "--text", "mail", "--model", "state.safetensors", votes="new.csv")
    assert out["label"].to_list() == ["spam", "spam", None]
    assert out["label_source"].to_list() == ["text", "votes+text", None]
    assert "30 random labels" not in outcome.err
    by_votes, outcome = label(hyperlabel, "--model", "state.safetensors", votes="new.csv")
    assert by_votes["label"].to_list() == [None, "spam", None]
    assert "labels by votes alone; state.safetensors also labels by --text" in outcome.err


def test_f1_without_gold_or_balance_is_warned_of(hyperlabel):
    out, outcome = label(hyperlabel, "--text", "mail", "--metric", "f1")
    plain, _ = label(hyperlabel, "--text", "mail")
    assert out["label"].to_list() == plain["label"].to_list()
    assert "--metric is f1, which needs --gold or --class-balance; labels are for accuracy" in outcome.err


def test_text_column_is_no_lf_whatever_its_name(hyperlabel):
    outcome = hyperlabel("label", "votes.csv", "--text", "mail", "-o", "out.csv", "--lfs", "a,b,mail")
    assert outcome.code == 0
    assert "LFs: a, b;" in outcome.err


@pytest.mark.parametrize("features", ["emb_*", "emb_0,emb_1", "emb.npy", "emb"])
def test_features_label_items_without_votes(hyperlabel, features):
    out, _ = label(hyperlabel, "--features", features, votes="votes.parquet" if features == "emb" else "votes.csv")
    assert out["label"].to_list() == ["spam", "spam", "ham", "ham", "spam", "ham"]
    assert out["label_source"].to_list() == ["votes+features"] * 4 + ["features"] * 2


def test_gold_is_a_source_and_combination_another(hyperlabel):
    out, _ = label(hyperlabel, "--text", "mail", "--gold", "gold", "--probabilities")
    assert out["label"].to_list()[3] == "spam"
    assert out["label_source"].to_list() == ["votes+text"] * 3 + ["gold", "text", None]
    assert out.columns[-5:] == ["label", "confidence", "label_source", "p_ham", "p_spam"]


def test_long_tables_carry_texts_with_each_vote(hyperlabel, tmp_path):
    rows = [
        (i, lf, vote, TEXTS[i]) for i, votes in enumerate(CLASSES[:5]) for lf, vote in zip("ab", votes, strict=True)
    ]
    pl.DataFrame(rows, schema=["item", "lf", "vote", "mail"], orient="row").write_csv("long.csv")
    outcome = hyperlabel("label", "long.csv", "--long", "item,lf,vote", "--text", "mail", "-o", "out.csv")
    assert outcome.code == 0, outcome.err
    assert pl.read_csv("out.csv")["label"].to_list() == ["spam", "spam", "ham", "ham", "spam"]


@pytest.mark.parametrize("option", ["--text", "--features"])
def test_columns_that_a_long_table_is_made_of_are_no_texts(hyperlabel, tmp_path, option):
    pl.DataFrame({"item": [0, 0], "who": ["a", "b"], "vote": ["x", "y"]}).write_csv("long.csv")
    refused = hyperlabel("label", "long.csv", "--long", "item,who,vote", option, "who", "-o", "out.csv")
    assert (refused.code, refused.out, (tmp_path / "out.csv").exists()) == (2, "", False)
    assert f"{option} is 'who', which --long names too; expected another column" in refused.err


def test_arrays_take_features_of_a_file(hyperlabel):
    votes = np.array([[{"ham": 0, "spam": 1, None: -1}[v] for v in row] for row in CLASSES])
    np.save("votes.npy", votes)
    outcome = hyperlabel("label", "votes.npy", "--features", "emb.npy", "-o", "out.csv")
    assert outcome.code == 0, outcome.err
    assert pl.read_csv("out.csv")["label"].to_list() == [1, 1, 0, 0, 1, 0]


def test_provenance_names_the_texts(hyperlabel):
    label(hyperlabel, "--text", "mail", "--votes-only")
    options = json.loads(pl.read_parquet_metadata("out.parquet")["hyperlabel"])["options"]
    assert (options["text"], options["votes_only"]) == ("mail", True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--text", "mail", "--encoder", "bert"], "--encoder is 'bert'; expected wordllama"),
        (["--threshold", "2"], "--threshold is 2.0; expected a number from 0 to 1"),
        (["--text", "mail", "--features", "emb_0"], "--text and --features are both given; expected one of them"),
        (
            ["--text", "mail", "--engine", "duckdb"],
            "--engine is 'duckdb', but --text works in memory or with --engine polars; use one of these",
        ),
        (
            ["--text", "mail", "--metric", "f1", "--engine", "polars"],
            "--engine is 'polars', but --text with --metric f1 works in memory; leave --engine out",
        ),
        (
            ["--features", "emb_0", "--engine", "polars"],
            "--engine is 'polars', but --features works in memory; leave --engine out",
        ),
        (["--text", "body"], "--text is 'body'; expected a column of VOTES: id, mail, a, b"),
        (["--features", "mail"], "--features has column 'mail', which holds String; expected numbers"),
        (["--features", "x_*"], "x_*"),
        (["--features", "none.npy"], "none.npy"),
    ],
)
def test_options_that_do_not_go_together_are_one_line(hyperlabel, options, message):
    outcome = hyperlabel("label", "votes.csv", *options, "--lfs", "a,b", "-o", "out.parquet")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert message in outcome.err


def test_features_that_are_no_rectangle_of_numbers_are_refused(hyperlabel, table):
    table.with_columns(emb_0=pl.Series([1.0, None, 1, 1, 1, 1])).write_parquet("holes.parquet")
    outcome = hyperlabel("label", "holes.parquet", "--features", "emb_0", "--lfs", "a,b", "-o", "out.csv")
    assert "--features has column 'emb_0', which is empty in row 1; expected a number in every row" in outcome.err
    table.with_columns(emb=pl.Series([[1.0], [1.0, 2.0], [1.0], [1.0], [1.0], [1.0]])).write_parquet("ragged.parquet")
    outcome = hyperlabel("label", "ragged.parquet", "--features", "emb", "--lfs", "a,b", "-o", "out.csv")
    assert "with lists of 1 to 2 numbers; expected the same length in every row" in outcome.err
    outcome = hyperlabel("label", "ragged.parquet", "--text", "emb", "--lfs", "a,b", "-o", "out.csv")
    assert "--text is 'emb', a column of List(Float64); expected texts" in outcome.err
    np.save("votes.npy", np.array([[0, 1], [1, 1]]))
    outcome = hyperlabel("label", "votes.npy", "--text", "mail", "-o", "out.csv")
    assert "--text names columns, but VOTES has none; give --features FILE.npy" in outcome.err


def test_polars_streams_texts_and_labels_as_the_state_does(hyperlabel):
    streamed, _ = label(hyperlabel, "--text", "mail", "--probabilities", "--engine", "polars")
    fitted = hyperlabel("fit", "votes.csv", "--text", "mail", "--lfs", "a,b", "-o", "state.safetensors")
    assert fitted.code == 0, fitted.err
    here, _ = label(hyperlabel, "--text", "mail", "--probabilities", "--model", "state.safetensors")
    assert streamed.drop("confidence", "p_ham", "p_spam").equals(here.drop("confidence", "p_ham", "p_spam"))
    assert streamed["p_spam"].to_list() == pytest.approx(here["p_spam"].to_list())


def test_gold_counts_where_rows_are_streamed(hyperlabel):
    streamed, _ = label(hyperlabel, "--text", "mail", "--gold", "gold", "--engine", "polars")
    assert streamed["label"].to_list()[3] == "spam"
    assert streamed["label_source"].to_list() == ["votes+text"] * 3 + ["gold", "text", None]


def test_streamed_columns_in_the_way_are_renamed_as_in_memory(hyperlabel, table):
    table.with_columns(p_spam=pl.lit(1), label=pl.col("mail")).write_parquet("taken.parquet")
    options = ["--text", "label", "--engine"]
    frames = [label(hyperlabel, *options, e, votes="taken.parquet")[0] for e in ("memory", "polars")]
    assert frames[0].columns == frames[1].columns
    assert {"p_spam", "label_input"} < set(frames[1].columns)


def test_streamed_tie_that_stays_one_has_no_source(hyperlabel, table):
    table.with_columns(b=pl.Series(["ham", None, "ham", "ham", None, None])).write_parquet("tied.parquet")
    options = ["--text", "mail", "--votes-only", "--model", "mv", "--tie-break", "abstain", "--engine"]
    frames = [label(hyperlabel, *options, e, votes="tied.parquet")[0] for e in ("memory", "polars")]
    assert frames[0]["label"].to_list() == frames[1]["label"].to_list()
    assert (frames[1]["label"][0], frames[1]["label_source"][0]) == (None, None)


@pytest.mark.parametrize("options", [["--text", "mail"], ["--features", "emb_*"]])
def test_empty_table_has_the_column_of_sources(hyperlabel, table, options):
    table.head(0).write_parquet("empty.parquet")
    out, _ = label(hyperlabel, *options, "--classes", "ham,spam", votes="empty.parquet")
    assert out.columns[-3:] == ["label", "confidence", "label_source"]


def test_sample_of_rows_is_random_and_keeps_their_order():
    from hyperlabel.engines._filling import draw_rows

    batches = [pl.DataFrame({"a": range(start, start + 100)}) for start in range(0, 1000, 100)]
    drawn = draw_rows(batches, 50)["a"].to_list()
    assert len(drawn) == 50
    assert drawn == sorted(set(drawn))
    assert drawn[0] < 200 < 800 < drawn[-1]
    assert drawn == draw_rows(batches, 50)["a"].to_list()


def test_engines_label_by_texts_from_python(table):
    from hyperlabel import engines
    from hyperlabel.errors import ParameterError, VotesError

    found = engines.label(table.lazy(), lfs=["a", "b"], text="mail").collect()
    assert found["label"].to_list() == ["spam", "spam", "ham", "ham", "spam", None]
    with pytest.raises(ParameterError, match="text is 'mail' and metric is 'f1', which needs the probabilities"):
        engines.label(table.lazy(), lfs=["a", "b"], text="mail", metric="f1")
    with pytest.raises(VotesError, match="text is 'body'; expected a column of votes: id, mail"):
        engines.label(table.lazy(), lfs=["a", "b"], text="body")
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed (extra `duckdb`)")
    with pytest.raises(ParameterError, match="text is 'mail', but engine duckdb does not read texts"):
        engines.label(duckdb.from_arrow(table.to_arrow()), lfs=["a", "b"], text="mail")
