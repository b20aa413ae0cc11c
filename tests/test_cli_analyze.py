"""`hyperlabel analyze` and `hyperlabel report`: what people see, what is written, one line for each mistake."""

import io
import warnings

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import hyperlabel as hl
from hyperlabel._core import files
from hyperlabel.cli import _inputs as inputs
from hyperlabel.cli._analyze import lf_table, print_analysis
from hyperlabel.lf import LFAnalysis

ESCAPED = "id,<b>x</b>,b,c\n1,spam,ham,\n2,ham,ham,ham\n3,spam,,spam\n4,,spam,ham\n"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def frame(tmp_path):
    """Votes of LFs with long names, of which two are the same, with truth and text; written to votes.csv."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    votes = np.where(rng.random((200, 4)) < 0.8, truth[:, None], rng.integers(0, 2, (200, 4)))
    votes = np.where(rng.random((200, 4)) < 0.6, votes, -1)
    votes[:, 3] = votes[:, 0]
    names = np.array(["benign", "malignant", None], object)
    columns = {f"a_labeling_function_{j}": pl.Series(names[votes[:, j]].tolist(), dtype=pl.String) for j in range(4)}
    table = pl.DataFrame(
        {"id": range(200), "text": [f"item {i}" for i in range(200)], **columns, "truth": names[truth].tolist()}
    )
    table.write_csv(tmp_path / "votes.csv")
    return table


def lfs_of(frame):
    return frame.select(pl.col("^a_labeling.*$"))


def test_analyze_prints_a_table_that_fits_a_terminal(frame):
    shown = Console(width=80, file=io.StringIO())
    shown.print(lf_table(LFAnalysis(lfs_of(frame), frame["truth"].to_list()).summary().to_polars(), 80))
    lines = shown.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split()[-1] == "changed"
    assert len([line for line in lines if line.startswith("a_labeling_function_")]) == 4


@pytest.mark.parametrize("k", [1, 7])
def test_long_names_of_lfs_and_classes_leave_room_for_all_figures(k):
    votes = pl.DataFrame(
        {
            f"keyword_lookup_in_title_and_body_rule_{j}": [f"customer complaint of kind {i % k}" for i in range(70)]
            for j in range(3)
        }
    )
    with warnings.catch_warnings(action="ignore"):  # all votes are for one class
        analysis = LFAnalysis(hl.Votes.from_frame(votes), [f"customer complaint of kind {i % k}" for i in range(70)])
    shown = Console(width=80, file=io.StringIO())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("hyperlabel.cli._terminal.output", shown)
        print_analysis(analysis)
    lines = shown.file.getvalue().splitlines()
    assert "alone" in lines[1]
    assert "changed" in lines[0]
    row = next(line for line in lines if line.startswith("keyword"))
    assert row.count("100.0") >= 3
    assert len([line for line in lines if line.startswith("keyword")]) >= 3


def test_analyze_that_is_piped_is_never_cut_or_folded(hyperlabel, frame):
    long = "x" * 150
    frame.rename({"a_labeling_function_1": long}).write_csv("votes.csv")
    out = hyperlabel("analyze", "votes.csv", "--truth", "truth").out
    row = next(line for line in out.splitlines() if line.startswith(long))
    assert row.split()[1:3] == ["benign,", "malignant"]


def test_analyze_prints_the_figures_of_the_analysis(hyperlabel, frame):
    done = hyperlabel("analyze", "votes.csv", "--truth", "truth")
    assert done.code == 0
    row = next(line for line in done.out.splitlines() if line.startswith("a_labeling_function_1")).split()
    analysis = LFAnalysis(lfs_of(frame), frame["truth"].to_list())
    assert row[1:4] == ["benign,", "malignant", f"{100 * analysis.coverage[1]:.1f}"]
    assert row[6:8] == [f"{100 * analysis.precision[1]:.1f}", f"{100 * analysis.estimated_accuracy[1]:.1f}"]


def test_analyze_names_lfs_that_are_the_same(hyperlabel, frame):
    out = hyperlabel("analyze", "votes.csv").out
    pair = next(line for line in out.splitlines() if "duplicate" in line).split()
    assert pair == ["a_labeling_function_0", "a_labeling_function_3", "duplicate", "1.00", "1.00"]


def test_analyze_without_truth_has_no_precision(hyperlabel, frame):
    done = hyperlabel("analyze", "votes.csv")
    assert "preci-" not in done.out
    assert "200 items, 4 LFs, 2 classes" in done.err


def test_analyze_writes_the_whole_table(hyperlabel, frame):
    hyperlabel("analyze", "votes.csv", "--truth", "truth", "-o", "lfs.csv")
    table = pl.read_csv("lfs.csv")
    expected = LFAnalysis(lfs_of(frame), frame["truth"].to_list()).summary()
    assert table.columns == list(expected.columns)
    np.testing.assert_allclose(table["precision"], expected["precision"])
    assert table["lf"].to_list() == expected["lf"].tolist()


def test_analyze_with_another_model_uses_it(hyperlabel, frame):
    hyperlabel("analyze", "votes.csv", "--model", "mv", "-o", "mv.csv")
    hyperlabel("analyze", "votes.csv", "--model", "hlm", "-o", "hlm.csv")
    moved = [pl.read_csv(f"{name}.csv")["probability_changes"].to_numpy() for name in ("mv", "hlm")]
    assert (moved[0] > moved[1]).all()  # a share of few votes moves more than the hyper label model


def test_analyze_with_a_fitted_model_judges_in_its_state(hyperlabel, frame):
    model = hl.HyperLabelModel().fit(lfs_of(frame).head(20))
    model.save("state.safetensors")
    assert hyperlabel("analyze", "votes.csv", "--model", "state.safetensors", "-o", "lfs.csv").code == 0
    expected = LFAnalysis(lfs_of(frame), model=model).summary()
    np.testing.assert_allclose(pl.read_csv("lfs.csv")["probability_changes"], expected["probability_changes"])


def test_analyze_by_a_model_that_warns_says_the_same_thing_once(hyperlabel, frame, monkeypatch):
    class Restless(hl.HyperLabelModel):
        def _fit(self, patterns, gold):
            self.n_iter_, self.converged_ = 9, False
            return super()._fit(patterns, gold)

    monkeypatch.setattr(inputs, "label_model", lambda *_, **params: Restless(**params))
    done = hyperlabel("analyze", "votes.csv")
    assert done.err.count("warning: Restless did not converge in 9 iterations; raise max_iter\n") == 1


def test_analyze_of_a_long_table_names_the_people(hyperlabel):
    table = "task,who,what\n1,ann,0\n1,bob,1\n2,ann,1\n2,bob,1\n"
    with open("long.csv", "w") as file:
        file.write(table)
    out = hyperlabel("analyze", "long.csv", "--long", "task,who,what").out
    assert "ann" in out
    assert "bob" in out


def test_analyze_with_chosen_lfs_and_classes_keeps_to_them(hyperlabel, frame):
    done = hyperlabel("analyze", "votes.csv", "--lfs", "*_0,*_1", "--classes", "malignant,benign,unsure")
    assert "200 items, 2 LFs, 3 classes" in done.err


def test_report_writes_one_page_with_what_was_typed_escaped(hyperlabel, tmp_path):
    (tmp_path / "v.csv").write_text(ESCAPED)
    done = hyperlabel("report", "v.csv", "-o", "r.html")
    assert done.code == 0
    taken, headline, wrote = done.err.splitlines()
    assert taken == "LFs: <b>x</b>, b, c; ignored: id; classes: ham 5, spam 4; abstain: empty 3"
    assert headline.startswith("4 of 4 items have labels by 3 LFs; their accuracy is unknown")
    assert wrote.startswith("wrote r.html: ")
    page = (tmp_path / "r.html").read_text()
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "<b>x</b>" not in page
    assert {path.name for path in tmp_path.iterdir()} == {"v.csv", "r.html"}


def test_report_with_truth_shows_scores_and_the_text_of_items(hyperlabel, frame, tmp_path):
    assert hyperlabel("report", "votes.csv", "-o", "r.html", "--truth", "truth").code == 0
    page = (tmp_path / "r.html").read_text()
    assert "Scores against the truth" in page
    assert '<td class="text">item ' in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["analyze", "votes.csv", "-o", "x.txt"], "--out is 'x.txt'; expected a name that ends in"),
        (["analyze", "votes.csv", "--truth", "nowhere"], "--truth is 'nowhere', which is neither a column"),
        (["analyze", "votes.csv", "--model", "no"], "no"),
        (["analyze", "missing.csv"], "missing.csv"),
        (["report", "votes.csv"], "Missing option '--out'"),
        (["report", "votes.csv", "-o", "x.pdf"], "--out is 'x.pdf'; expected a name that ends in .html"),
        (["report", "votes.csv", "-o", "no/x.html"], "there is no folder 'no'; make it first"),
        (
            ["report", "votes.csv", "-o", "x.html", "--truth", "nowhere"],
            "--truth is 'nowhere', which is neither a column",
        ),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_written(hyperlabel, frame, tmp_path, arguments, message):
    done = hyperlabel(*arguments)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"votes.csv"}


def test_report_takes_a_title_texts_gold_and_an_audit(hyperlabel, frame, tmp_path):
    named = frame.rename({"text": "body"}) if "text" in frame.columns else frame
    truth = named["truth"].to_list()
    rows = [(c if i % 3 == 0 else None, c if i % 3 == 1 else None) for i, c in enumerate(truth)]
    columns = {"known": [row[0] for row in rows], "sample": [row[1] for row in rows]}
    named.with_columns(**{name: pl.Series(values) for name, values in columns.items()}).write_csv("more.csv")
    options = ["--title", "<Tumors>", "--text", "body", "--gold", "known", "--audit", "sample", "--error", "0.3"]
    done = hyperlabel("report", "more.csv", "-o", "r.html", *options)
    assert done.code == 0, done.err
    page = (tmp_path / "r.html").read_text()
    assert "<h1>&lt;Tumors&gt;</h1>" in page
    assert "Scores against gold" in page
    assert "at most 30% " in page
    assert '<td class="text">item ' in page
    done = hyperlabel("report", "more.csv", "-o", "r.html", "--text", "letters")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "--text is 'letters'; expected a column of VOTES: " in done.err


def test_report_that_cannot_be_written_leaves_the_old_page(hyperlabel, frame, tmp_path, monkeypatch):
    (tmp_path / "r.html").write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", fail)
    done = hyperlabel("report", "votes.csv", "-o", "r.html")
    assert (done.code, "No space left on device" in done.err) == (75, True)
    assert (tmp_path / "r.html").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"votes.csv", "r.html"}
