"""Every form of table through every command that takes one; states that are fitted, exported and used again."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import hyperlabel as hl
from hyperlabel.cli import _runs as runs
from hyperlabel.cli._inputs import Selection
from hyperlabel.data import Table, read_table, write_table

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, 60)
CELLS = np.where(RNG.random((60, 3)) < 0.8, TRUTH[:, None], 1 - TRUTH[:, None])
CELLS = np.where(RNG.random((60, 3)) < 0.7, CELLS, -1)
NAMES = np.array(["ham", "spam", None], object)
VOTES = pl.DataFrame({f"lf_{j}": pl.Series(NAMES[CELLS[:, j]].tolist(), dtype=pl.String) for j in range(3)})
FRAME = pl.concat(
    [
        pl.DataFrame({"id": [f"{i:03}" for i in range(60)], "text": [f'ä, "{i}"; x' for i in range(60)]}),
        VOTES,
        pl.DataFrame({"truth": NAMES[TRUTH].tolist()}),
    ],
    how="horizontal",
)
LABELS = [None if best < 0 else NAMES[best] for best in hl.HyperLabelModel().label(VOTES).best]
COUNTS = [(c == CELLS).sum() for c in (0, 1, -1)]
TAKEN = "LFs: lf_0, lf_1, lf_2; ignored: id, text, truth; classes: ham {}, spam {}; abstain: empty {}\n".format(*COUNTS)
HYPERLABEL = "from hyperlabel.cli import main; main()"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_duckdb(name):
    frame = FRAME
    with duckdb.connect("d.duckdb") as base:
        base.execute("CREATE TABLE votes AS SELECT * FROM frame")
    return name if len(frame) else ""


def write_bytes(name, data):
    with open(name, "wb") as file:
        file.write(data)
    return name


def write_plain(name):
    write_table(FRAME, name)
    return name


def write_hive(name):
    for day, part in (("1", FRAME.head(40)), ("2", FRAME.tail(20))):
        os.makedirs(f"{name}/day={day}")
        write_table(part, f"{name}/day={day}/p.parquet")
    return name


CSV = FRAME.write_csv()
FORMS = {
    "csv": lambda: write_plain("v.csv"),
    "semicolons, as Excel writes": lambda: write_bytes("v.csv", FRAME.write_csv(separator=";").encode("utf-8-sig")),
    "tsv": lambda: write_plain("v.tsv"),
    "UTF-16": lambda: write_bytes("v.csv", CSV.encode("utf-16")),
    "upper case": lambda: write_plain("V.CSV"),
    "gzip": lambda: write_bytes("v.csv.gz", gzip.compress(CSV.encode())),
    "zstd": lambda: write_bytes("v.csv.zst", pa.compress(CSV.encode(), codec="zstd", asbytes=True)),
    "JSON lines": lambda: write_plain("v.jsonl"),
    "parquet": lambda: write_plain("v.parquet"),
    "Arrow": lambda: write_plain("v.feather"),
    "hive": lambda: write_hive("hive"),
    "pattern": lambda: write_hive("hive") + "/day=*/*.parquet",
    "DuckDB file": lambda: write_duckdb("d.duckdb"),
    "DuckDB table": lambda: write_duckdb("d.duckdb::votes"),
    "DuckDB query": lambda: write_duckdb("d.duckdb::SELECT * FROM votes ORDER BY id"),
    "brackets": lambda: write_plain("v[1].csv"),
}


@pytest.mark.parametrize("form", FORMS)
def test_label_takes_every_form(hyperlabel, form):
    votes = FORMS[form]()
    outcome = hyperlabel("label", votes, "-o", "out.parquet")
    assert outcome.code == 0, outcome.err
    out = read_table("out.parquet")
    assert out["label"].to_list() == LABELS
    assert out.select(FRAME.columns).rows() == FRAME.rows()


@pytest.mark.parametrize("form", FORMS)
def test_other_commands_take_every_form(hyperlabel, form):
    votes = FORMS[form]()
    gold = votes if "::SELECT" not in votes else "truth"
    for arguments in (
        ["fit", votes, "-o", "s.safetensors"],
        ["analyze", votes, "--truth", "truth"],
        ["report", votes, "-o", "page.html"],
        ["compare", votes, "--truth", "truth", "--models", "mv,hlm3"],
        ["analyze", votes, "--truth", gold],
        ["label", votes, "--gold", "truth", "-o", "out.csv"],
    ):
        outcome = hyperlabel(*arguments)
        assert outcome.code == 0, outcome.err


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("form", ["csv", "gzip", "JSON lines", "Arrow", "hive", "DuckDB table", "brackets"])
def test_engines_take_every_form(hyperlabel, form, engine):
    outcome = hyperlabel("label", FORMS[form](), "--engine", engine, "-o", "out.parquet")
    assert outcome.code == 0, outcome.err
    out = read_table("out.parquet").sort("id")
    assert out["label"].to_list() == LABELS
    assert out.select(FRAME.columns).rows() == FRAME.rows()


@pytest.mark.parametrize("engine", ["memory", "polars"])
@pytest.mark.parametrize("name", ["o.csv", "o.tsv.gz", "o.jsonl", "o.parquet", "o.arrow", "O.CSV"])
def test_label_writes_every_format(hyperlabel, engine, name):
    write_plain("v.parquet")
    outcome = hyperlabel("label", "v.parquet", "-o", name, "--engine", engine)
    assert outcome.code == 0, outcome.err
    assert read_table(name)["label"].to_list() == LABELS


def test_files_in_and_out_of_standard_streams():
    command = [sys.executable, "-c", HYPERLABEL, "label", "-", "-o", "-"]
    done = subprocess.run(command, input=CSV.encode(), capture_output=True, check=True)
    out = pl.read_csv(done.stdout, infer_schema=False)
    assert out["label"].to_list() == LABELS
    assert out.select(FRAME.columns).rows() == FRAME.rows()
    assert done.stdout.count(b"\n") == 61


def test_numbers_in_texts_are_class_numbers(hyperlabel):
    numbers = pl.DataFrame(CELLS, schema=["a", "b", "c"], orient="row")
    numbers.write_csv("v.csv")
    assert hyperlabel("label", "v.csv", "-o", "o.parquet").code == 0
    out = read_table("o.parquet")
    assert out["label"].fill_null(-1).to_list() == hl.HyperLabelModel().predict(CELLS).tolist()
    assert out.schema["a"] == pl.String
    gold = pl.DataFrame({"id": range(60), "gold": TRUTH}).head(20)
    gold.write_csv("gold.csv")
    assert hyperlabel("label", "v.csv", "--gold", "gold.csv", "-o", "o.parquet").code == 0
    assert read_table("o.parquet")["label"].to_list()[:20] == TRUTH[:20].tolist()


def test_identifiers_of_a_csv_meet_those_of_a_parquet_file(hyperlabel):
    FRAME.with_columns(id=pl.int_range(60)).write_csv("v.csv")
    pl.DataFrame({"id": [3, 5], "truth": ["spam", "ham"]}).write_parquet("gold.parquet")
    assert hyperlabel("label", "v.csv", "--gold", "gold.parquet", "-o", "o.csv").code == 0
    assert read_table("o.csv")["label"].to_list()[3:6:2] == ["spam", "ham"]


def test_results_carry_their_provenance_and_the_metadata_of_the_input(hyperlabel):
    write_table(FRAME, "v.parquet", metadata={"owner": "me"})
    for engine in ("memory", "polars"):
        assert hyperlabel("label", "v.parquet", "-o", "o.parquet", "--engine", engine).code == 0
        metadata = Table.open("o.parquet").metadata
        assert metadata["owner"] == "me"
        assert json.loads(metadata["hyperlabel"])["version"] == hl.__version__
    assert hyperlabel("fit", "v.parquet", "-o", "s.safetensors").code == 0
    assert hyperlabel("label", "v.parquet", "--model", "s.safetensors", "-o", "o.arrow").code == 0
    found = json.loads(Table.open("o.arrow").metadata["hyperlabel"])
    assert (found["lf_names"], found["classes"]) == (VOTES.columns, ["ham", "spam"])


# States.


@pytest.mark.parametrize("model", ["hlm3", "ds"])
@pytest.mark.parametrize("engine", ["memory", "polars", "duckdb"])
def test_state_labels_new_rows_as_the_corpus_itself(hyperlabel, model, engine):
    write_plain("v.csv")
    assert hyperlabel("label", "v.csv", "--model", model, "-o", "all.csv").code == 0
    outcome = hyperlabel("fit", "v.csv", "--model", model, "-o", "s.safetensors")
    assert (outcome.code, outcome.err) == (0, TAKEN + "wrote s.safetensors: 60 items, 3 LFs, 2 classes\n")
    FRAME.slice(7, 9).write_csv("new.csv")
    outcome = hyperlabel("label", "new.csv", "--model", "s.safetensors", "--engine", engine, "-o", "new.parquet")
    assert outcome.code == 0, outcome.err
    same = read_table("all.csv").slice(7, 9)
    found = read_table("new.parquet").sort("id")
    assert found["label"].to_list() == same["label"].to_list()
    np.testing.assert_allclose(found["confidence"], same["confidence"].cast(float))


def test_state_of_scores_labels_parquet_as_csv(hyperlabel):
    scores = pl.DataFrame({"id": range(60), "a": RNG.random(60), "b": RNG.random(60)})
    scores.write_parquet("v.parquet")
    scores.write_csv("v.csv")
    fit = ["fit", "v.parquet", "--scores", "a,b", "--classes", "low,high", "-o", "s.safetensors"]
    assert hyperlabel(*fit).code == 0
    for name in ("v.parquet", "v.csv"):
        assert hyperlabel("label", name, "--model", "s.safetensors", "-o", f"{name}.csv").code == 0
    assert read_table("v.parquet.csv")["label"].to_list() == read_table("v.csv.csv")["label"].to_list()


@pytest.mark.parametrize("gold", [[], ["--gold", "truth"]])
def test_votes_in_memory_are_grouped_and_judged_once(hyperlabel, monkeypatch, gold):
    grouped, group = [], hl.Patterns.from_votes
    monkeypatch.setattr(hl.Patterns, "from_votes", lambda votes: grouped.append(votes) or group(votes))
    monkeypatch.setattr(hl.LabelModel, "pattern_probabilities", None)  # calling it would fail
    write_plain("v.csv")
    assert hyperlabel("label", "v.csv", *gold, "-o", "o.csv").code == 0
    assert len(grouped) == 1
    assert read_table("o.csv")["label"].to_list() == (FRAME["truth"].to_list() if gold else LABELS)


def test_export_prints_a_query_that_labels_as_the_state_does(hyperlabel):
    write_duckdb("")
    assert hyperlabel("fit", "d.duckdb", "-o", "s.safetensors").code == 0
    outcome = hyperlabel("export", "s.safetensors", "--sql", "duckdb", "--from", "votes")
    assert (outcome.code, outcome.err) == (0, "")
    with duckdb.connect("d.duckdb") as base:
        found = base.sql(outcome.out.strip().rstrip(";")).order("id").project("label").fetchall()
    assert [label for (label,) in found] == LABELS


def test_export_to_a_terminal_shows_the_escapes_of_names(tmp_path):
    hl.label_model("mv").fit(pl.DataFrame({"a\x1b[2J": ["x", "y\x1b[8m"], "b": ["x", "x"]})).save(
        tmp_path / "s.safetensors"
    )
    ours, theirs = os.openpty()
    query = [sys.executable, "-m", "hyperlabel", "export", tmp_path / "s.safetensors", "--sql", "duckdb", "--from", "t"]
    subprocess.run(query, stdout=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 1 << 16)
    os.close(ours)
    assert rb"a\x1b[2J" in shown
    assert b"\x1b" not in shown


def test_export_writes_patterns_with_their_labels(hyperlabel):
    write_plain("v.csv")
    hyperlabel("fit", "v.csv", "-o", "s.safetensors")
    outcome = hyperlabel("export", "s.safetensors", "--table", "p.parquet")
    assert (outcome.code, outcome.err) == (0, "wrote p.parquet: 27 patterns\n")
    joined = FRAME.join(read_table("p.parquet"), on=VOTES.columns, how="left", nulls_equal=True, maintain_order="left")
    assert joined["label"].to_list() == LABELS
    assert hyperlabel("export", "s.safetensors", "--table", "p.csv", "--patterns", "v.csv").code == 0
    assert len(read_table("p.csv")) == VOTES.n_unique()


def test_export_of_a_table_that_is_read_by_a_guess_says_so(hyperlabel):
    write_plain("v.csv")
    hyperlabel("fit", "v.csv", "-o", "s.safetensors")
    FRAME.write_csv("l.csv")
    with open("l.csv", "rb") as file:
        text = file.read().decode()
    write_bytes("l.csv", text.encode("latin-1"))
    outcome = hyperlabel("export", "s.safetensors", "--table", "p.csv", "--patterns", "l.csv")
    assert outcome.code == 0
    assert outcome.err.startswith("warning: 'l.csv' is not UTF-8 and was read as Latin-1")


MISTAKES = {
    "nothing": (["s.safetensors"], "expected either --sql with --from, or --table"),
    "both": (
        ["s.safetensors", "--sql", "duckdb", "--from", "v", "--table", "t.csv"],
        "expected either --sql with --from, or --table",
    ),
    "no table": (
        ["s.safetensors", "--sql", "duckdb"],
        "--sql is 'duckdb', but --from, the name of the table, is missing",
    ),
    "no dialect": (
        ["s.safetensors", "--sql", "oracle", "--from", "v"],
        "dialect is 'oracle'; expected 'duckdb', 'spark'",
    ),
    "from a table": (["s.safetensors", "--table", "t.csv", "--from", "v"], "--from goes with --sql; leave it out"),
    "patterns": (
        ["s.safetensors", "--sql", "spark", "--from", "v", "--patterns", "v.csv"],
        "--patterns goes with --table",
    ),
    "no file": (["nothing.safetensors", "--sql", "duckdb", "--from", "v"], "nothing.safetensors"),
    "no ending": (["s.safetensors", "--table", "t.xls"], "--out is 't.xls'; expected a name that ends in .csv"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_of_export_are_one_line(hyperlabel, mistake):
    write_plain("v.csv")
    hyperlabel("fit", "v.csv", "-o", "s.safetensors")
    arguments, message = MISTAKES[mistake]
    outcome = hyperlabel("export", *arguments)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert message in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "s.bin"], "--out is 's.bin'; expected a name that ends in .safetensors"),
        (["-o", "no/s.safetensors"], "but there is no folder 'no'; make it first"),
        (
            ["-o", "t.safetensors", "--model", "s.safetensors"],
            "which is already fitted; name a label model such as hlm3",
        ),
    ],
)
def test_mistakes_of_fit_are_one_line(hyperlabel, arguments, message):
    write_plain("v.csv")
    hyperlabel("fit", "v.csv", "-o", "s.safetensors")
    outcome = hyperlabel("fit", "v.csv", *arguments)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert message in outcome.err


def test_encoding_and_separator_can_be_named(hyperlabel):
    write_bytes("v.csv", FRAME.write_csv(separator=":").replace("ä", "\u00e4").encode("cp1252"))
    outcome = hyperlabel("label", "v.csv", "--delimiter", ":", "--encoding", "cp1252", "-o", "o.csv")
    assert outcome.code == 0, outcome.err
    assert read_table("o.csv").select(FRAME.columns).rows() == FRAME.rows()
    outcome = hyperlabel("label", "v.csv", "--delimiter", ":", "-o", "o.csv")
    assert "warning: 'v.csv' is not UTF-8 and was read as Latin-1" in outcome.err


# Names and ends.


def test_escapes_in_names_are_shown(hyperlabel):
    write_bytes("v.csv", b"a,a\x1b[2J,a\x1b[2J\nx,x,y\n")
    assert r"two columns named 'a\x1b[2J'" in hyperlabel("label", "v.csv").err
    pl.DataFrame({"a": ["x\x1b]0;t\x07", "y"], "b": ["x\x1b]0;t\x07", "y"]}).write_csv("v.csv")
    outcome = hyperlabel("label", "v.csv", "-o", "o.csv")
    assert "\x1b]" not in outcome.err
    assert r"x\x1b]0;t\x07" in outcome.err


def test_error_with_a_very_long_name_is_cut_in_the_middle(hyperlabel):
    outcome = hyperlabel("label", "x" * 5000 + ".csv")
    assert outcome.err.startswith("hyperlabel: there is no file or folder 'xxx")
    assert outcome.err.endswith("xxx.csv'; check the path\n")
    assert len(outcome.err) < 2_100


def test_error_on_an_ascii_terminal_is_one_line():
    write_bytes("v.csv", "ä,ä\nx,x\n".encode())
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", HYPERLABEL, "label", "v.csv"], capture_output=True, env=environment)
    assert done.returncode == 2
    assert rb"two columns named '\xe4'" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_analysis_on_an_ascii_terminal_shows_every_name():
    write_bytes("v.csv", "ä,b\nx,x\ny,ß\nß,y\n".encode())
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", HYPERLABEL, "analyze", "v.csv"], capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert rb"\xe4" in done.stdout


@pytest.mark.parametrize("command", ["analyze", "report"])
def test_marks_that_turn_text_around_are_shown(hyperlabel, command):
    pl.DataFrame({"a\u202ex": ["x\u202e", "y", "y"], "b": ["x\u202e", "y", "x\u202e"]}).write_csv("v.csv")
    outcome = hyperlabel(command, "v.csv", *(["-o", "r.html"] if command == "report" else []))
    shown = Path("r.html").read_text() if command == "report" else outcome.out
    assert outcome.code == 0
    assert "\u202e" not in shown + outcome.err
    assert r"a\u202ex" in shown


def test_rows_on_a_terminal_are_shown_and_rows_in_a_pipe_are_as_they_are():
    pl.DataFrame({"id": ["\x1b[2J", "b"], "a": [0, 1], "b": [0, 1]}).write_csv("v.csv")
    command = [sys.executable, "-c", HYPERLABEL, "label", "v.csv", "-q", "-o", "-"]
    assert b"\x1b[2J" in subprocess.run(command, capture_output=True, check=True).stdout
    reader, writer = os.openpty()
    subprocess.run(command, stdout=writer, check=True)
    assert rb"\x1b[2J,0,0" in os.read(reader, 1000)


def write_large():
    rng = np.random.default_rng(0)
    cells = rng.integers(-1, 2, (3_000_000, 3))
    frame = pl.DataFrame({f"lf_{j}": cells[:, j] for j in range(3)}).with_columns(
        text=pl.int_range(3_000_000).hash().cast(pl.String)
    )
    frame.write_parquet("v.parquet")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signal_ends_at_once_and_leaves_nothing(tmp_path, number, code):
    write_large()
    (tmp_path / "out.csv").write_text("old")
    command = [sys.executable, "-c", HYPERLABEL, "label", "v.parquet", "-o", "out.csv"]
    run = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(tmp_path)})
    while not any(path.stat().st_size for path in tmp_path.glob(".out.csv.*.part/new")) and run.poll() is None:
        time.sleep(0.001)  # until Polars writes
    run.send_signal(number)
    assert run.wait(timeout=300) == code
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "v.parquet"]
    assert (tmp_path / "out.csv").read_text() == "old"


def test_full_device_behind_standard_output_is_one_line():
    write_large()
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-c", HYPERLABEL, "label", "v.parquet"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 75
    assert done.stderr.count(b"\n") == 1
    assert b"standard output was cut short: No space left on device" in done.stderr


@pytest.mark.parametrize("arguments", [["analyze", "v.csv"], ["label", "--help"]])
def test_full_device_that_is_met_at_the_last_moment_is_one_line(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"a": [0, 1, 1], "b": [0, 1, 0]}).write_csv("v.csv")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, "-c", HYPERLABEL, *arguments], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 75
    assert b"Traceback" not in done.stderr
    assert done.stderr.endswith(b"hyperlabel: standard output was cut short: No space left on device\n")


def run_in_shell(line):
    """Run a line of the shell in which `$HL` is the command."""
    command = f"HL() {{ {sys.executable} -c '{HYPERLABEL}' \"$@\"; }}; {line}"
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True)


@pytest.mark.parametrize("command", ["advise v.csv", "label v.csv -o -"])
def test_reader_that_goes_away_is_one_error(command):
    pl.DataFrame({"a": [0, 1, 1] * 20, "b": [0, 1, 0] * 20, "c": [0, 0, 1] * 20}).write_csv("v.csv")
    done = run_in_shell(f"HL {command} > >(exec <&-; sleep 9) ; echo $?; kill $!")
    assert done.stdout == "2\n"
    assert "standard output was cut short: Broken pipe" in done.stderr.splitlines()[-1]


def test_closed_streams_are_no_traceback():
    pl.DataFrame({"a": [0, 1, 1], "b": [0, 1, 0]}).write_csv("v.csv")
    lines = ("HL label v.csv >&-", "HL label v.csv -o o.csv -q >&- 2>&- <&-", "HL label - <&-")
    done = run_in_shell("; ".join(f"{line}; echo $?" for line in lines))
    assert done.stdout == "2\n0\n2\n"
    assert [line for line in done.stderr.splitlines() if line.startswith("hyperlabel: ")] == [
        "hyperlabel: standard output was cut short: Bad file descriptor; some of its rows are missing",
        "hyperlabel: '-' cannot be read: empty CSV. Is it a complete csv file?",
    ]
    assert "Traceback" not in done.stderr
    assert pl.read_csv("o.csv").height == 3


def test_messages_that_cannot_be_shown_are_exit_code_75():
    pl.DataFrame({"a": [0, 1, 1], "b": [0, 1, 0]}).write_csv("v.csv")
    assert run_in_shell("HL label v.csv -o - 2> /dev/full > /dev/null; echo $?").stdout == "75\n"


def test_columns_that_are_dropped_are_no_lfs(hyperlabel, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"id": [1, 2], "lf_a": [0, 1], "lf_b": [0, 1], "c,d": [1, 1]}).write_csv("votes.csv")
    for options in (["--drop", "lf_b,c*"], ["--lfs", "lf_*", "--drop", "lf_b"], ["--drop", "lf_b", "--drop", "c,d"]):
        outcome = hyperlabel("label", "votes.csv", *options, "-o", "out.csv")
        assert outcome.code == 0
        assert "LFs: lf_a; " in outcome.err
        assert pl.read_csv("out.csv").columns[:4] == ["id", "lf_a", "lf_b", "c,d"]
    pl.read_csv("votes.csv").write_parquet("votes.parquet")  # which Polars labels
    assert "LFs: lf_a; " in hyperlabel("label", "votes.parquet", "--drop", "lf_b,c*").err
    assert "--drop: " in hyperlabel("label", "votes.csv", "--drop", "nobody").err
    wrong = hyperlabel("label", "votes.csv", "--drop", "lf_b", "--long", "id,lf_a,lf_b").err
    assert "--drop and --long are both given; expected --drop for a wide table" in wrong
    np.save("votes.npy", [[0, 1], [1, 1]])
    assert "--drop names columns, but 'votes.npy' has none" in hyperlabel("label", "votes.npy", "--drop", "a").err


@pytest.mark.parametrize(("columns", "engine"), [(3, "polars"), (runs.WIDE + 1, "memory")])
def test_small_parquet_of_very_many_columns_is_read_into_memory(tmp_path, columns, engine):
    pl.DataFrame({f"lf_{j}": [0, 1] for j in range(columns)}).write_parquet(tmp_path / "wide.parquet")
    task = runs.LabelTask(hl.label_model("mv"), str(tmp_path / "wide.parquet"), Selection())
    assert task.start().engine_name == engine


def test_gold_is_matched_by_the_column_that_identifies_the_votes(hyperlabel):
    write_table(pl.DataFrame({"item": [10, 11, 12], "a": ["x", "y", "y"], "b": ["x", "y", None]}), "votes.csv")
    write_table(pl.DataFrame({"id": [12, 11], "item": [10, 11], "gold": ["y", "x"]}), "gold.csv")
    hyperlabel("label", "votes.csv", "--gold", "gold.csv", "-o", "out.csv")
    assert read_table("out.csv")["label"].to_list() == ["y", "x", "y"]


@pytest.mark.parametrize("name", ["*", "^.*$"])  # patterns to Polars
@pytest.mark.parametrize("engine", ["memory", "polars", "duckdb"])
def test_names_of_columns_are_no_patterns(hyperlabel, name, engine):
    write_table(pl.DataFrame({"id": [1, 2], name: ["x", "y"], "b": ["x", None]}), "votes.parquet")
    arguments = ["--lfs", name, "--lfs", "b", "--classes", "y,x", "--engine", engine, "-o", "out.parquet"]
    hyperlabel("label", "votes.parquet", *arguments)
    assert read_table("out.parquet").sort("id")["label"].to_list() == ["x", "y"]


def test_names_of_columns_of_a_long_table_are_no_patterns(hyperlabel):
    long = {"*": [1, 1, 2], "^lf$": ["a", "b", "a"], "^.*$": ["x", "x", "y"], "gold": [None, "y", None]}
    write_table(pl.DataFrame(long), "votes.parquet")
    hyperlabel("label", "votes.parquet", "--long", "*,^lf$,^.*$", "--gold", "gold", "--classes", "x,y", "-o", "out.csv")
    assert read_table("out.csv")["label"].to_list() == ["y", "y"]


@pytest.mark.parametrize("engine", ["memory", "polars", "duckdb"])
def test_counts_of_labels_are_not_those_of_a_command_that_replaces_the_result(hyperlabel, monkeypatch, engine):
    votes = pl.DataFrame({"id": range(4), "a": ["x", "y", "y", None], "gold": [None, None, None, "x"]})
    write_table(votes, "votes.parquet")
    replaced = runs.write_result

    def write(run, out, metadata):
        replaced(run, out, metadata)
        Path(out).write_bytes(b"PAR1 of another command")

    monkeypatch.setattr(runs, "write_result", write)
    said = hyperlabel("label", "votes.parquet", "--gold", "gold", "-o", "out.parquet", "--engine", engine, "--json")
    assert said.code == 0
    assert json.loads(said.out)["per_class"] == {"x": 2, "y": 2}
