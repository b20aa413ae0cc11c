"""How commands speak: quietly, with more detail, for programs; help with an example."""

import io
import json

import polars as pl
import pytest

import hyperlabel as hl
from cli_commands import ALL_COMMANDS, COMMANDS
from hyperlabel.cli import _terminal as terminal
from hyperlabel.cli._runs import watch

ROWS = "id,a,b,c\n1,spam,ham,\n2,ham,ham,ham\n3,spam,,spam\n4,,spam,ham\n5,,,\n"


@pytest.fixture(autouse=True)
def votes(tmp_path, monkeypatch):
    """Five items, the last without votes; and their truth."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").write_text(ROWS)
    pl.DataFrame({"id": range(1, 6), "truth": ["spam", "ham", "spam", "ham", "ham"]}).write_csv("truth.csv")


@pytest.mark.parametrize("command", COMMANDS)
def test_quiet_command_says_errors_only(hyperlabel, command):
    assert hyperlabel(command, "votes.csv", "-q", *COMMANDS[command]).err == ""
    assert hyperlabel(command, "nothing.csv", "-q", *COMMANDS[command]).err.startswith("hyperlabel: there is no file")
    assert hyperlabel(command, "votes.csv", *COMMANDS[command]).err.startswith("LFs: a, b, c; ")


def test_verbose_command_says_what_it_does_with_times(hyperlabel):
    outcome = hyperlabel("label", "votes.csv", "-v")
    assert " s: labeling votes.csv by hlm3, engine memory\n" in outcome.err
    assert "labeling votes.csv" not in hyperlabel("label", "votes.csv").err


@pytest.mark.parametrize("command", ["label", "fit", "analyze", "compare"])
def test_summary_as_json_is_all_there_is_on_standard_output(hyperlabel, command):
    outcome = hyperlabel(command, "votes.csv", "--json", *COMMANDS[command])
    found = json.loads(outcome.out)
    assert (found["version"], found["rows"], found["lfs"]) == (hl.__version__, 5, ["a", "b", "c"])
    assert (found["ignored"], found["classes"]) == (["id"], ["ham", "spam"])
    assert found["seconds"] > 0
    assert found["model"] == (None if command == "compare" else "hlm3")


def test_summary_of_labels_counts_them(hyperlabel):
    found = json.loads(hyperlabel("label", "votes.csv", "--json", "-o", "out.csv").out)
    counts = dict(pl.read_csv("out.csv")["label"].drop_nulls().value_counts().iter_rows())
    assert (found["labeled"], found["per_class"]) == (4, counts)
    assert json.loads(hyperlabel("analyze", "votes.csv", "--json").out)["per_class"] == counts


@pytest.mark.parametrize("engine", ["memory", "polars"])
def test_summary_of_labels_on_standard_output_goes_to_standard_error(hyperlabel, engine):
    outcome = hyperlabel("label", "votes.csv", "--json", "-q", "-o", "-", "--engine", engine)
    assert len(pl.read_csv(outcome.out.encode())) == 5
    found = json.loads(outcome.err)
    assert (found["rows"], found["labeled"], found["lfs"]) == (5, 4, ["a", "b", "c"])


def test_summary_of_a_comparison_has_every_model(hyperlabel):
    found = json.loads(hyperlabel("compare", "votes.csv", "--json", "--truth", "truth.csv", "--models", "mv,rf").out)
    by_name = {result["name"]: result for result in found["results"]}
    assert by_name["mv"]["score"] == pytest.approx(3 / 5)
    assert by_name["rf"]["score"] is None
    assert "gold" in by_name["rf"]["note"]
    assert found["scored"] == 5


@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_help_is_given_for_h_too_and_has_an_example(hyperlabel, command):
    outcome = hyperlabel(command, "-h")
    assert outcome.code == 0
    assert f"Example: hyperlabel {command} " in " ".join(outcome.out.split())


def test_completion_can_be_shown(hyperlabel, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    outcome = hyperlabel("--show-completion", "bash")
    assert outcome.code == 0
    assert "_HYPERLABEL_COMPLETE" in outcome.out


@pytest.fixture
def on_a_terminal(monkeypatch):
    """Standard error as a terminal has it; gives what was written there."""
    written = io.StringIO()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(terminal.console, "_force_terminal", True)
    monkeypatch.setattr(terminal.console, "is_interactive", True)
    monkeypatch.setattr(terminal.console, "_file", written)  # `file` would not be unset afterwards
    return written


def test_bar_on_a_terminal_moves_with_the_rows_and_vanishes(on_a_terminal):
    frame = pl.LazyFrame({"a": range(1000)})
    seen = []
    with terminal.progress("labeling", 1000) as advance:
        rows = watch(frame, lambda n: (seen.append(n), advance(n))).collect(engine="streaming")
    assert (sum(seen), rows["a"].to_list()) == (1000, list(range(1000)))
    assert "labeling" in on_a_terminal.getvalue()
    assert "100%" in on_a_terminal.getvalue()


def test_bar_shows_that_work_goes_on_where_its_end_is_not_known(on_a_terminal):
    with terminal.progress("reading votes"):
        pass
    assert "reading votes" in on_a_terminal.getvalue()


def test_no_bar_is_written_where_nobody_looks(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(terminal.console, "_file", written)  # `file` would not be unset afterwards
    with terminal.progress("labeling", 9) as advance:
        advance(3)
    assert written.getvalue() == ""


@pytest.mark.parametrize("engine", ["memory", "polars"])
def test_labels_without_a_file_are_previewed_on_a_terminal(hyperlabel, monkeypatch, engine):
    pl.concat([pl.read_csv("votes.csv")] * 30).write_csv("many.csv")
    piped = hyperlabel("label", "many.csv", "--engine", engine)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(terminal.output, "_force_terminal", True)
    shown = hyperlabel("label", "many.csv", "--engine", engine)
    table = pl.read_csv(piped.out.encode())
    assert table.height == 150
    head, _, *rows = (line.split() for line in shown.out.splitlines())
    assert head == ["id", "label", "confidence", "a", "b", "c"]
    assert [row[1] for row in rows[:4]] == table["label"].to_list()[:4]
    assert len(rows) == 10
    assert "10 of 150 rows; write all of them with -o FILE" in shown.err
    assert len(pl.read_csv(hyperlabel("label", "many.csv", "-o", "-").out.encode())) == 150
