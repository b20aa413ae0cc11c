"""Opening a project: whose code runs, and what a hostile folder can do."""

import io
import os
import sys

import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.errors import ProjectError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the folders of a project are not locked there")

SETTINGS = 'format = 1\ntable = "../texts.csv"\ntext = "text"\nclasses = ["ham", "spam"]\n'


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table with a project that somebody else made beside it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "texts.csv"
    pl.DataFrame({"text": ["free money", "see you", "free prize"]}).write_csv(path)
    folder = tmp_path / "texts.studio"
    folder.mkdir()
    (folder / "project.toml").write_text(SETTINGS)
    (folder / "lfs.py").write_text(f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n")
    return path


def has_run(table):
    return (table.parent / "ran").exists()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_code_that_was_not_run_before_is_refused_without_a_terminal(table):
    with pytest.raises(ProjectError, match=r"lfs.py' is Python that you have not run before.*trust=True.*--trust"):
        hl.Project(table)
    assert not has_run(table)


def test_the_command_refuses_it_too(table, hyperlabel):
    outcome = hyperlabel("studio", table, "--no-open")
    assert outcome.code != 0
    assert "open the project with trust=True (command line: --trust)" in outcome.err
    assert not has_run(table)


@pytest.mark.parametrize(
    ("answer", "runs"), [("y\n", True), ("yes\n", True), ("\n", False), ("n\n", False), ("", False)]
)
def test_a_terminal_asks(table, monkeypatch, answer, runs):
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    if runs:
        hl.Project(table).close()
    else:
        with pytest.raises(ProjectError, match="have not run before"):
            hl.Project(table)
    assert has_run(table) is runs
    assert "Run it? [y/N]" in terminal.getvalue()


def test_code_that_was_trusted_runs_until_it_changes(table):
    hl.Project(table, trust=True).close()
    hl.Project(table).close()
    lfs = table.with_suffix(".studio") / "lfs.py"
    lfs.write_text(lfs.read_text() + "x = 1\n")
    with pytest.raises(ProjectError, match="have not run before"):
        hl.Project(table)


def test_trusted_code_is_not_trusted_in_another_folder(table, tmp_path):
    hl.Project(table, trust=True).close()
    folder = table.with_suffix(".studio")
    folder.rename(tmp_path / "copy.studio")
    with pytest.raises(ProjectError, match="have not run before"):
        hl.Project(tmp_path / "copy.studio")


def test_ones_own_project_opens_again_without_a_question(table):
    folder = table.with_name("own.studio")
    with hl.Project(table, folder=folder, classes=["ham", "spam"]) as project:
        project.add("free = keyword_lf('free', 'spam')")
        lfs = folder / "lfs.py"
        lfs.write_text(lfs.read_text() + "# edited elsewhere\n")
        project.refresh()
    with hl.Project(folder) as project:
        assert list(project.source.lfs) == ["keyword_free"]


def test_a_home_that_cannot_be_written_to_only_asks_again(table, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    hl.Project(table, trust=True).close()
    with pytest.raises(ProjectError, match="have not run before"):
        hl.Project(table)


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_lock_that_is_a_link_is_refused_and_its_target_kept(table, link):
    target = table.parent / "precious.txt"
    target.write_text("precious")
    link(target, table.with_suffix(".studio") / ".lock")
    with pytest.raises(ProjectError):
        hl.Project(table, trust=True)
    assert target.read_text() == "precious"
    assert not has_run(table)


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "format = 1\ntable = " + "[" * 900 + "]" * 900,
        "format = " + "9" * 5000,
        "format = 1\ntable = 3\ntext = 'text'",
        "format = 1\ntable = 'a\\u0000b'\ntext = 'text'",
        "format = 1\nsample = inf",
        "format = 1\nclasses = [[1], [2]]\ntable = 't'\ntext = 'text'",
        "format = 1\n[table]\na = 1",
        "x = '" + "a" * (1 << 20) + "'",
    ],
)
def test_an_absurd_project_toml_is_one_error(table, text):
    (table.with_suffix(".studio") / "project.toml").write_text(text)
    with pytest.raises((ProjectError, hl.errors.VotesError)) as refused:
        hl.Project(table.with_suffix(".studio"), trust=True)
    assert len(str(refused.value)) < 1000


def test_a_file_of_a_project_that_is_a_pipe_is_refused(table):
    gold = table.with_suffix(".studio") / "gold.csv"
    os.mkfifo(gold)
    with pytest.raises(ProjectError, match="is not a file of at most"):
        hl.Project(table, trust=True)
