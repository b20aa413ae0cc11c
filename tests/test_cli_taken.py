"""What commands say of the votes they took: one line, warnings once each, errors with --strict."""

import polars as pl
import pytest

from cli_commands import COMMANDS

ROWS = "id,text,lf_0,lf_1,lf_2,split\n" + "".join(
    f"{i},t{i},{'spam' if i % 2 else 'ham'},{'spam' if i % 3 else 'skip'},{'ham' if i % 2 else ''},train\n"
    for i in range(30)
)
TAKEN = "LFs: lf_0, lf_1, lf_2; ignored: id, text, split; classes: ham 30, skip 10, spam 35; abstain: empty 15"
SKIPPED = "LFs: lf_0, lf_1, lf_2; ignored: id, text, split; classes: ham 30, spam 35; abstain: empty 15, skip 10"


@pytest.fixture(autouse=True)
def votes(tmp_path, monkeypatch):
    """A table with columns that are no LFs, and its truth."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").write_text(ROWS)
    truth = ["spam" if i % 2 else "ham" for i in range(30)]
    pl.DataFrame({"id": range(30), "truth": truth}).write_csv("truth.csv")
    return tmp_path / "votes.csv"


@pytest.mark.parametrize("command", COMMANDS)
def test_command_says_in_one_line_what_it_took(hyperlabel, command):
    outcome = hyperlabel(command, "votes.csv", *COMMANDS[command])
    assert outcome.code == 0, outcome.err
    assert outcome.err.splitlines()[0] == TAKEN
    assert outcome.err.count("LFs: ") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_command_with_abstain_takes_these_texts_as_abstentions(hyperlabel, command):
    outcome = hyperlabel(command, "votes.csv", "--abstain", "skip", *COMMANDS[command])
    assert outcome.err.splitlines()[0] == SKIPPED


@pytest.mark.parametrize("command", COMMANDS)
def test_command_warns_once_and_with_strict_refuses(hyperlabel, votes, command):
    votes.write_text(ROWS.replace("29,t29,spam", "29,t29,SAPM"))
    before = {path.name for path in votes.parent.iterdir()}
    strict = hyperlabel(command, "votes.csv", "--strict", *COMMANDS[command])
    assert (strict.code, strict.out, strict.err.count("\n")) == (2, "", 1)
    assert "SAPM" in strict.err
    assert "(--strict turns warnings into errors)" in strict.err
    assert {path.name for path in votes.parent.iterdir()} == before
    outcome = hyperlabel(command, "votes.csv", *COMMANDS[command])
    assert outcome.code == 0
    assert [("SAPM" in line) for line in outcome.err.splitlines() if line.startswith("warning: ")] == [True]


def test_strict_refuses_gold_of_other_items(hyperlabel):
    pl.DataFrame({"id": [3, 77], "gold": ["spam", "ham"]}).write_csv("gold.csv")
    outcome = hyperlabel("label", "votes.csv", "--gold", "gold.csv", "--strict")
    assert (outcome.code, outcome.out) == (2, "")
    assert "has 1 of 2 values that no item has, such as '77'" in outcome.err


def test_long_table_is_recognized_and_read_with_long(hyperlabel, votes):
    votes.write_text("item,worker,answer,note\n1,a,x,q\n1,b,y,q\n2,a,y,q\n")
    assert "(command line: --long ITEM,worker,answer)" in hyperlabel("label", "votes.csv").err
    outcome = hyperlabel("label", "votes.csv", "--long", "item,worker,answer")
    assert outcome.err == "LFs: a, b; ignored: note; classes: x 1, y 2; abstain: empty 1\n"


def test_engine_says_what_it_took_as_memory_does(hyperlabel):
    pl.read_csv("votes.csv").write_parquet("votes.parquet")
    assert hyperlabel("label", "votes.parquet").err.splitlines()[0] == TAKEN
    for engine in ("auto", "polars", "memory"):
        assert hyperlabel("label", "votes.parquet", "--abstain", "skip", "--engine", engine).err == SKIPPED + "\n"


def test_strict_lists_all_warnings(hyperlabel, votes):
    pl.DataFrame({"id": [3, 77], "gold": ["spam", "ham"]}).write_csv("gold.csv")
    votes.write_text(ROWS.replace("29,t29,spam", "29,t29,SAPM"))
    for engine in ("memory", "polars"):
        gold = ["--gold", "gold.csv"] if engine == "memory" else []
        refused = hyperlabel("label", "votes.csv", *gold, "--strict", "--engine", engine, "-o", "out.csv")
        assert (refused.code, refused.err.count("\n"), "SAPM" in refused.err) == (2, 1, True)
        assert ("77" in refused.err) == bool(gold)
        assert not votes.with_name("out.csv").exists()


def test_abstain_of_numbers_takes_the_number_beside_minus_one(hyperlabel, votes):
    votes.write_text("a,b\n0,1\n9,1\n1,-1\n")
    said = hyperlabel("label", "votes.csv", "--abstain", "9").err
    assert said.startswith("LFs: a, b; ignored: none; classes: 0 1, 1 3; abstain: ")


@pytest.mark.parametrize(
    ("options", "taken"),
    [
        (["--lfs", "a,b"], "a,b"),
        (["--lfs", "a,c"], "a, c"),
        (["--lfs", "a,b", "--lfs", "c"], "a,b, c"),
        (["--lfs", "c", "--lfs", "a*"], "c, a, a,b"),
    ],
)
def test_lfs_whose_names_have_commas_are_named_one_by_one(hyperlabel, votes, options, taken):
    votes.write_text('a,"a,b",c\nx,y,x\ny,x,y\n')
    assert hyperlabel("label", "votes.csv", *options).err.startswith(f"LFs: {taken}; ignored: ")
