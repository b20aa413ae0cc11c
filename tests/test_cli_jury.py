"""`hyperlabel jury`: what is written, what is shown, one line for each mistake."""

import json

import polars as pl
import pytest

NAMES = ("win", "loss")
COLUMNS = ("--item", "question", "--judge", "model", "--vote", "verdict")


@pytest.fixture(autouse=True)
def judgments(tmp_path, monkeypatch):
    """Three judges, two runs, one refusal; written to judgments.csv."""
    monkeypatch.chdir(tmp_path)
    rows = []
    for i in range(30):
        for run in (0, 1):
            for judge, vote in (("a", i % 2), ("b", i % 2 if i % 5 else 1), ("c", (i + run) % 2)):
                rows.append(
                    (f"{i:03}", judge, ("win", "loss")[vote], run, 0.5, ("win", "loss")[i % 2] if i < 9 else None)
                )
    frame = pl.DataFrame(rows, schema=["question", "model", "verdict", "run", "usd", "human"], orient="row")
    frame = frame.with_columns(
        verdict=pl.when((pl.col("question") == "003") & (pl.col("model") == "b"))
        .then(pl.lit("I cannot"))
        .otherwise("verdict")
    )
    frame.write_csv("judgments.csv")
    return frame


OPTIONS = (*COLUMNS, "--run", "run", "--classes", "win,loss")


def test_jury_writes_one_row_per_item_and_shows_the_card(hyperlabel):
    done = hyperlabel("jury", "judgments.csv", *OPTIONS, "--gold", "human", "--price", "usd", "-o", "v.csv")
    assert done.code == 0
    written = pl.read_csv("v.csv", schema_overrides={"question": pl.String})
    assert written.columns == ["question", "label", "confidence", "contested", "dissenters", "p_win", "p_loss"]
    assert written["question"].to_list() == [f"{i:03}" for i in range(30)]
    assert written["label"].to_list() == ["win", "loss"] * 15
    assert written.filter(question="010")["dissenters"].to_list() == ["b"]
    assert "Krippendorff's alpha" in done.err
    assert "2 of 180 judgments are not one of the classes" in done.err
    assert "useful" in done.err


def test_jury_names_the_classes_that_it_found_and_what_it_wrote(hyperlabel):
    done = hyperlabel("jury", "judgments.csv", *COLUMNS, "--run", "run", "-o", "v.csv")
    assert "votes for each class: I cannot 1, loss 32, win 27" in done.err
    assert "wrote v.csv: 30 rows" in done.err
    assert "wrote" not in hyperlabel("jury", "judgments.csv", *OPTIONS).err


@pytest.mark.parametrize("option", ["--item", "--judge", "--vote"])
def test_jury_by_a_column_that_is_missing_is_refused_also_with_a_file_of_gold(hyperlabel, option):
    pl.DataFrame({"question": ["001"], "gold": ["win"]}).write_csv("gold.csv")
    done = hyperlabel("jury", "judgments.csv", *COLUMNS, "--gold", "gold.csv", option, "nothing")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert f"{option} is 'nothing'; expected a column of the table: question, model" in done.err


def test_jury_with_gold_by_lists_is_refused(hyperlabel):
    pl.DataFrame({"question": [["001"]], "gold": ["win"]}).write_parquet("gold.parquet")
    done = hyperlabel("jury", "judgments.csv", *COLUMNS, "--gold", "gold.parquet")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "column 'question' holds values of the type List(String)" in done.err


def test_columns_of_the_card_that_are_empty_are_not_shown(hyperlabel):
    rows = [(i, j, ("win", "loss")[(i + (j == i % 3)) % 2]) for i in range(30) for j in range(3)]
    pl.DataFrame(rows, schema=["question", "model", "verdict"], orient="row").write_csv("even.csv")
    done = hyperlabel("jury", "even.csv", *COLUMNS, "-o", "v.csv")
    assert "kappa" in done.err
    assert "copy of" not in done.err
    assert "votes too often for" not in done.err


def test_jury_without_out_prints_csv_and_nothing_else(hyperlabel):
    done = hyperlabel("jury", "judgments.csv", *OPTIONS, "-q")
    assert done.out.splitlines()[0] == "question,label,confidence,contested,dissenters,p_win,p_loss"
    assert len(done.out.splitlines()) == 31


def test_jury_writes_card_curve_and_says_who_is_enough(hyperlabel):
    done = hyperlabel(
        "jury",
        "judgments.csv",
        *OPTIONS,
        "--gold",
        "human",
        "-o",
        "v.parquet",
        "--card",
        "c.csv",
        "--curve",
        "k.csv",
        "--keep",
        "0.9",
    )
    assert "enough to keep 90% of the labels: a" in done.err
    card = pl.read_csv("c.csv").row(0, named=True)
    shown = (f"{100 * card[name]:.0f}" for name in ("accuracy", "accuracy_low", "accuracy_high"))
    assert "{} ({}-{})".format(*shown) in done.err
    assert pl.read_csv("c.csv")["judge"].to_list() == ["a", "b", "c"]
    assert pl.read_csv("k.csv")["kept"][-1] == 1
    assert pl.read_parquet("v.parquet")["dissenters"].dtype == pl.List(pl.String)


def test_jury_json_holds_the_card(hyperlabel):
    done = hyperlabel("jury", "judgments.csv", *OPTIONS, "--gold", "human", "-o", "v.csv", "--json", "--keep", "0.9")
    summary = json.loads(done.out)
    assert (summary["items"], summary["unparsable"], summary["enough"]) == (30, 2, ["a"])
    assert summary["judges"][2]["self_consistency"] == 0
    assert summary["classes"] == ["win", "loss"]


def test_gold_of_a_file_is_matched_by_item(hyperlabel, judgments):
    pl.DataFrame({"question": ["000", "001"], "truth": ["loss", "loss"]}).write_csv("gold.csv")
    hyperlabel("jury", "judgments.csv", *OPTIONS, "--gold", "gold.csv", "-o", "v.csv")
    assert pl.read_csv("v.csv")["label"][0] == "loss"
    judgments.with_columns(pl.col("question").cast(pl.Int64)).write_parquet("j.parquet")
    pl.DataFrame({"question": [0, 1], "truth": ["loss", "loss"]}).write_csv("gold.csv")
    hyperlabel("jury", "j.parquet", *OPTIONS, "--gold", "gold.csv", "-o", "w.csv")
    assert pl.read_csv("w.csv")["label"][0] == "loss"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--vote", "nope"), "--vote is 'nope'; expected a column of the table: question, model"),
        (("--item", "nope"), "nope"),
        (("--price", "cheap"), "--price is 'cheap'; expected a column (question, model,"),
        (("--gold", "nowhere.csv"), "--gold is 'nowhere.csv', which is neither a column of the table"),
        (("--gold", "twice.csv"), "'twice.csv', column 'question' has '003' more than once; give each item one class"),
        (("--model", "best"), "--model is 'best'; expected one of"),
        (("--keep", "2"), "--keep is 2.0; expected a share above 0, at most 1"),
        (("--card", "v.csv"), "--out, --card and --curve have 'v.csv' twice; name each file once"),
        (("-o", "v.xyz"), "--out is 'v.xyz'; expected a name that ends in"),
        (("--keep", "95"), "keep is 95.0; expected a share above 0, at most 1"),
        (("--strict",), "2 of 180 judgments are not one of the classes 'win', 'loss' and count as abstentions"),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_written(hyperlabel, tmp_path, options, message):
    (tmp_path / "twice.csv").write_text("question,gold\n003,win\n003,loss\n")
    done = hyperlabel("jury", "judgments.csv", *OPTIONS, "-o", "v.csv", *options)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert message in done.err
    assert not (tmp_path / "v.csv").exists()


def test_scores_of_a_long_table_are_labeled(hyperlabel):
    rows = [(i, j, i % 2 + 0.3 * j + (i * 7 % 10) / 20) for i in range(60) for j in range(3)]
    pl.DataFrame(rows, schema=["question", "model", "points"], orient="row").write_csv("s.csv")
    options = ("--item", "question", "--judge", "model", "--score", "points", "--classes", "bad,good")
    assert hyperlabel("jury", "s.csv", *options, "-o", "v.csv").code == 0
    assert pl.read_csv("v.csv")["label"].to_list() == ["bad", "good"] * 30
    done = hyperlabel("jury", "s.csv", *options, "--vote", "points")
    assert "--vote and --score are both given, or neither is; expected one of them" in done.err


def test_scores_of_a_wide_table_are_labeled_and_kept_in_a_state(hyperlabel):
    rows = [(i, *(i % 2 + 0.3 * j + (i * 7 % 10) / 20 for j in range(3)), ("bad", "good")[i % 2]) for i in range(60)]
    pl.DataFrame(rows, schema=["id", "a", "b", "c", "rule"], orient="row").write_csv("w.csv")
    assert hyperlabel("label", "w.csv", "--scores", "a,b,c", "--classes", "bad,good", "-o", "o.csv").code == 0
    assert pl.read_csv("o.csv")["label"].to_list() == ["bad", "good"] * 30
    options = ("--scores", "a,b,c", "--lfs", "rule", "--classes", "bad,good")
    assert "LFs: a, b, c, rule; ignored: id" in hyperlabel("fit", "w.csv", *options, "-o", "m.safetensors").err
    assert hyperlabel("label", "w.csv", "--model", "m.safetensors", "-o", "p.csv").code == 0
    assert pl.read_csv("p.csv")["label"].to_list() == ["bad", "good"] * 30
    assert hyperlabel("report", "w.csv", *options, "-o", "r.html").code == 0
    assert "levels of scores" in hyperlabel("analyze", "w.csv", *options).out
    done = hyperlabel("label", "w.csv", "--scores", "a,b,c", "-o", "q.csv")
    assert "--scores is given without --classes; expected the classes" in done.err


def test_scores_may_say_which_way_they_point(hyperlabel):
    rows = [(i, i % 2 + i / 100, 2 - i % 2 - i / 100) for i in range(40)]
    pl.DataFrame(rows, schema=["id", "helpful", "toxic"], orient="row").write_csv("s.csv")
    for scores, last in (
        ("helpful,toxic:down", "good"),
        ("helpful:down,toxic:up", "bad"),
        ("*o*:down,helpful", "good"),
    ):
        done = hyperlabel("label", "s.csv", "--scores", scores, "--classes", "bad,good", "-o", "o.csv")
        assert done.code == 0, done.err
        assert pl.read_csv("o.csv")["label"].to_list()[-1] == last
    done = hyperlabel("label", "s.csv", "--scores", "helpful:sideways", "--classes", "bad,good", "-o", "o.csv")
    assert done.code == 2
    assert "helpful:sideways" in done.err


def test_report_writes_a_page_and_swap_and_ordinal_reach_the_panel(hyperlabel, tmp_path):
    lines = ["item,judge,vote,order"]
    for i in range(20):
        for judge in "abc":
            lines += [f"q{i},{judge},{1 + (i + (order == 'BA')) % 2},{order}" for order in ("AB", "BA")]
    (tmp_path / "orders.csv").write_text("\n".join(lines), encoding="utf-8")
    names = ("--item", "item", "--judge", "judge", "--vote", "vote", "--position", "order")
    done = hyperlabel("jury", "orders.csv", *names, "-o", "out.csv")
    assert "turn the verdicts around" in " ".join(done.err.split())
    done = hyperlabel("jury", "orders.csv", *names, "--swap", "1=2", "--ordinal", "--report", "p.html", "-o", "out.csv")
    assert "turn the verdicts around" not in " ".join(done.err.split())
    assert "mean of weighted kappa 1.00" in done.err
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()[1].startswith("q0,1,")
    assert "Position bias" in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_report_must_be_html(hyperlabel):
    done = hyperlabel("jury", "judgments.csv", *COLUMNS, "--report", "page.txt")
    assert done.code == 2
    assert "--report is 'page.txt'; expected a name that ends in .html" in " ".join(done.err.split())
