"""Results that engines write: whole or not at all, whatever happens; and the command line's door to them."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import hyperlabel as hl
from engines_fixtures import dask_workers, engine, read_result, spark
from hyperlabel import engines
from hyperlabel._core import files
from hyperlabel.data import reason_of
from hyperlabel.models import provenance

__all__ = ["dask_workers", "engine", "spark"]  # fixtures

FILE_ENGINES = ("polars", "duckdb")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_votes(n, name="votes.parquet"):
    rng = np.random.default_rng(0)
    cells = rng.integers(-1, 2, (n, 5))
    table = {f"lf{j}": pl.Series([None if v < 0 else v for v in cells[:, j].tolist()], dtype=pl.Int8) for j in range(5)}
    pl.DataFrame({"id": np.arange(n), **table, "text": rng.random(n).astype(str)}).write_parquet(name)
    return cells


def label_in_a_process(engine, before="", **options):
    """Start labeling votes.parquet to out.parquet; `before` is run first."""
    call = f"engines.label('votes.parquet', engine={engine!r}, out='out.parquet')"
    program = f"{before}\nfrom hyperlabel import engines\n{call}"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", program], env=environment, stderr=subprocess.PIPE, **options)


SLOW_WRITE = """
import time
from hyperlabel.engines._{engine} import {kind}Engine
whole = {kind}Engine.write
def write(self, frame, path, format, metadata):
    whole(self, frame, path, format, metadata)
    print("written", flush=True)
    time.sleep(60)
{kind}Engine.write = write
"""


@pytest.mark.parametrize("engine", FILE_ENGINES)
def test_label_that_is_killed_leaves_the_old_file(engine, tmp_path):
    pytest.importorskip(engine)
    write_votes(1000)
    (tmp_path / "out.parquet").write_text("old")
    before = SLOW_WRITE.format(engine=engine, kind=engine.capitalize())
    with label_in_a_process(engine, before, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"written\n"  # the last moment before the result takes its place
        process.send_signal(signal.SIGKILL)
    assert (tmp_path / "out.parquet").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir() if not p.name.startswith(".")] in (
        ["votes.parquet", "out.parquet"],
        ["out.parquet", "votes.parquet"],
    )


def test_label_that_is_killed_at_any_time_leaves_the_old_file_or_the_new_one(tmp_path):
    write_votes(200_000)
    for delay in (0.3, 0.8, 1.5, 3):
        (tmp_path / "out.parquet").write_text("old")
        with label_in_a_process("polars") as process:
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
        if (tmp_path / "out.parquet").read_bytes() != b"old":
            assert pl.read_parquet(tmp_path / "out.parquet").height == 200_000


FULL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"


@pytest.mark.parametrize("engine", FILE_ENGINES)
def test_label_on_a_disk_that_fills_up_is_one_error_and_leaves_the_old_file(engine, tmp_path):
    pytest.importorskip(engine)
    write_votes(50_000)
    (tmp_path / "out.parquet").write_text("old")
    with label_in_a_process(engine, FULL_DISK) as process:
        error = process.stderr.read().decode()
    assert process.returncode == 1
    assert "ParameterError: out is 'out.parquet', but it cannot be written: " in error.splitlines()[-1]
    assert (tmp_path / "out.parquet").read_text() == "old"
    assert {p.name for p in tmp_path.iterdir()} == {"votes.parquet", "out.parquet"}


def test_label_of_a_file_that_is_no_parquet_is_one_error(engine, tmp_path):
    (tmp_path / "votes.parquet").write_text("not parquet")
    with pytest.raises(
        hl.VotesError, match=r"'votes\.parquet' cannot be read: .*Is it a complete parquet file\?"
    ) as caught:
        engines.label("votes.parquet", engine=engine, out="out.parquet")
    assert "\n" not in str(caught.value)
    assert {p.name for p in tmp_path.iterdir()} == {"votes.parquet"}


@pytest.mark.parametrize("engine", FILE_ENGINES)
def test_label_of_a_file_whose_middle_is_broken_is_an_error(engine, tmp_path):
    pytest.importorskip(engine)
    write_votes(20_000)
    whole = (tmp_path / "votes.parquet").read_bytes()
    (tmp_path / "votes.parquet").write_bytes(whole[:50] + b"\x00" * 40_000 + whole[40_050:])
    with pytest.raises(hl.HyperlabelError) as caught:
        engines.label("votes.parquet", engine=engine, out="out.parquet")
    assert "\n" not in str(caught.value)
    assert {p.name for p in tmp_path.iterdir()} == {"votes.parquet"}


def test_label_to_what_an_earlier_run_wrote_replaces_it(engine, tmp_path):
    cells = write_votes(300)
    for _ in range(2):
        engines.label("votes.parquet", lfs=["lf*"], engine=engine, out="out.parquet")
    labels = read_result(tmp_path / "out.parquet")["label"].fill_null(-1).to_list()
    assert labels == hl.HyperLabelModel().predict(cells).tolist()
    assert {p.name for p in tmp_path.iterdir()} == {"votes.parquet", "out.parquet"}


def test_label_by_a_saved_state_does_not_depend_on_the_rows_beside(tmp_path):
    cells = write_votes(400)
    fitted = hl.HyperLabelModel().fit(hl.Votes.from_array(cells, lfs=[f"lf{j}" for j in range(5)]))
    fitted.save("state.safetensors")
    pl.read_parquet("votes.parquet").select("text", "lf3", "lf1", "lf0", "lf4", "lf2", "id").tail(9).write_csv(
        "new.csv"
    )
    engines.label("new.csv", model=hl.load("state.safetensors"), out="out.parquet")
    assert pl.read_parquet("out.parquet")["label"].fill_null(-1).to_list() == fitted.predict(cells[-9:]).tolist()


def test_label_of_a_folder_of_files_reads_them_all(tmp_path):
    (tmp_path / "in[1]").mkdir()
    write_votes(100, "in[1]/a.parquet")
    write_votes(50, "in[1]/b.parquet")
    engines.label("in[1]", lfs=["lf*"], out="out.parquet")
    assert pl.read_parquet("out.parquet").height == 150


def test_duckdb_does_not_mix_up_the_columns_of_a_folder_of_files(tmp_path):
    first = {"id": [1, 2], "a": ["spam", "ham"], "A": ["spam", "spam"]}
    (tmp_path / "in").mkdir()
    pl.DataFrame(first).write_parquet("in/1.parquet")
    pl.DataFrame({"A": [None, "spam"], "a": ["ham", "ham"], "id": [3, 4]}).write_parquet("in/2.parquet")
    engines.label("in", engine="duckdb", out="out.parquet")
    engines.label("in", engine="polars", out="expected.parquet")
    found, expected = (pl.read_parquet(name) for name in ("out.parquet", "expected.parquet"))
    assert found.sort("id").equals(expected)
    assert expected.rows()[2][:3] == (3, "ham", None)


@pytest.mark.parametrize("other", [{"id": ["007"]}, {"id": [7], "note": ["lost?"]}])
def test_duckdb_refuses_a_folder_of_files_with_other_columns(tmp_path, other):
    (tmp_path / "in").mkdir()
    pl.DataFrame({"id": [1], "a": ["spam"]}).write_parquet("in/1.parquet")
    pl.DataFrame({"a": ["ham"], **other}).write_parquet("in/2.parquet")
    with pytest.raises(hl.VotesError, match="Expected the same columns in all"):
        engines.label("in", engine="duckdb", out="out.parquet")


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("nothing.parquet", {}, r"there is no file or folder 'nothing\.parquet'"),
        ("folder", {}, r"'folder' is a folder without tables"),
        ("votes.txt", {}, r"'votes\.txt' ends in '\.txt'; expected one of \.csv"),
        ("votes.parquet", {"engine": "duckdb", "out": "out.csv"}, r"out is 'out\.csv'; engine duckdb writes .*parquet"),
        ("votes.parquet", {"out": "out.xls"}, r"out is 'out\.xls'; engine polars writes names that end in \.csv"),
        ("votes.parquet", {"out": "no/out.csv"}, r"out is 'no/out\.csv', but there is no folder 'no'; make it"),
        ("votes.parquet", {"out": "folder", "engine": "dask"}, r"out is 'folder'; engine dask writes names"),
    ],
)
def test_label_of_a_wrong_path_says_what_is_expected(tmp_path, path, options, message):
    write_votes(10)
    (tmp_path / "folder").mkdir()
    for name in ("votes.txt", "votes.csv", "folder/precious.doc"):
        (tmp_path / name).write_text("a,b\n0,1\n")
    with pytest.raises(ValueError, match=message):
        engines.label(path, **options)
    assert (tmp_path / "folder" / "precious.doc").exists()


def test_label_of_a_csv_to_a_tsv_streams_and_keeps_leading_zeros(tmp_path):
    (tmp_path / "votes.csv").write_text("id,zip,a,b\n1,007,x,\n2,010,y,y\n3,9,,\n")
    engines.label("votes.csv", lfs=["a", "b"], out="out.tsv")
    lines = (tmp_path / "out.tsv").read_text().splitlines()
    assert lines[0] == "id\tzip\ta\tb\tlabel\tconfidence"
    assert [line.split("\t")[:5] for line in lines[1:]] == [
        ["1", "007", "x", "", "x"],
        ["2", "010", "y", "y", "y"],
        ["3", "9", "", "", ""],
    ]


def test_label_of_a_csv_that_is_cut_off_is_refused(tmp_path):
    (tmp_path / "votes.csv").write_text("a,b\n0,1\n0\n")
    with pytest.raises(hl.VotesError, match=r"'votes\.csv' cannot be read: line 3 has 1 fields, the header has 2"):
        engines.label("votes.csv", out="out.csv")


def test_command_with_an_engine_writes_labels_and_says_what_it_did(hyperlabel, engine, tmp_path):
    cells = write_votes(300)
    outcome = hyperlabel("label", "votes.parquet", "--lfs", "lf*", "-o", "out.parquet", "--engine", engine)
    assert outcome.code == 0
    assert outcome.err.splitlines()[-1] == "wrote out.parquet: 300 rows"
    labels = read_result(tmp_path / "out.parquet")["label"].fill_null(-1).to_list()
    assert labels == hl.HyperLabelModel().predict(cells).tolist()
    counts = {line.split()[1]: line.split()[3] for line in outcome.err.splitlines() if line.startswith("│ 0")}
    assert counts == {"0": str(labels.count(0))}


def test_command_takes_polars_for_parquet_and_memory_for_the_rest(hyperlabel, monkeypatch):
    used, whole = [], engines.start

    def start(*arguments, **options):
        used.append(options["engine"])
        return whole(*arguments, **options)

    monkeypatch.setattr(engines, "start", start)
    write_votes(30)
    pl.read_parquet("votes.parquet").write_csv("votes.csv")
    np.save("votes.npy", write_votes(30))
    pl.DataFrame({"id": [1, 2], "gold": [0, 1]}).write_csv("gold.csv")
    parquet = ["label", "votes.parquet", "--lfs", "lf*", "-o", "out.parquet"]
    assert hyperlabel(*parquet).code == 0
    assert hyperlabel(*parquet[:-2], "--classes", "0,1,2", "--probabilities").out.startswith("id,lf0")
    assert used == ["polars", "polars"]
    for others in (["votes.csv", "--lfs", "lf*"], ["votes.npy"], [*parquet[1:4], "--gold", "gold.csv"]):
        assert hyperlabel("label", *others).code == 0
    assert hyperlabel(*parquet, "--engine", "memory").code == 0
    assert used == ["polars", "polars"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "sql"], r"--engine is 'sql'; expected auto, memory, polars, duckdb, spark, dask"),
        (["--engine", "duckdb"], r"--engine duckdb writes parquet; name a file with --out"),
        (["--engine", "polars", "--long", "id,lf0,lf1"], r"--engine polars cannot be used with --long; use --engine m"),
        (
            ["--engine", "polars", "--gold", "gold.csv"],
            r"cannot be used with --gold gold\.csv, which is not a column of",
        ),
        (["--engine", "duckdb", "-o", "out.csv"], r"--out is 'out\.csv'; engine duckdb writes names that end in \.par"),
        (["--engine", "spark", "-o", "folder.parquet"], r"out is 'folder\.parquet', a folder that holds more than"),
    ],
)
def test_command_with_an_engine_that_cannot_is_one_line(hyperlabel, tmp_path, arguments, message):
    write_votes(10)
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "folder.parquet" / "precious.doc").write_text("")
    before = sorted(tmp_path.rglob("*"))
    lfs = [] if "--long" in arguments else ["--lfs", "lf*"]
    outcome = hyperlabel("label", "votes.parquet", *lfs, *arguments)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert re.search(message, outcome.err)
    assert sorted(tmp_path.rglob("*")) == before


def test_command_with_gold_of_a_column_learns_from_it_and_gives_gold_items_their_class(hyperlabel):
    cells = write_votes(100)
    gold = [0 if i % 4 == 0 else None for i in range(100)]
    pl.read_parquet("votes.parquet").with_columns(known=pl.Series(gold)).write_parquet("votes.parquet")
    arguments = ["label", "votes.parquet", "--lfs", "lf*", "--gold", "known"]
    assert hyperlabel(*arguments, "-o", "out.parquet").code == 0
    labels = hl.HyperLabelModel().fit_predict(cells, [-1 if g is None else g for g in gold])
    assert pl.read_parquet("out.parquet")["label"].fill_null(-1).to_list() == labels.tolist()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("one\ntwo", "one"),
        ("", "RuntimeError"),
        ("Worker died\nTraceback (most recent call last):\n  x\nValueError: no\n", "ValueError: no"),
    ],
)
def test_reason_of_an_error_is_one_line(text, reason):
    assert reason_of(RuntimeError(text)) == reason


def metadata_of(path):
    """What a result says of itself: in its footer, or, from Spark, in the metadata of the column of labels."""
    file = sorted(path.glob("*.parquet"))[0] if path.is_dir() else path
    found = {key.decode(): text.decode() for key, text in pq.read_schema(file).metadata.items()}
    spark = found.get("org.apache.spark.sql.parquet.row.metadata")
    if spark is None:
        return found
    return next(column["metadata"] for column in json.loads(spark)["fields"] if column["name"] == "label")


def test_result_carries_the_metadata_of_the_input_and_where_its_labels_come_from(engine, tmp_path):
    write_votes(50)
    pl.read_parquet("votes.parquet").write_parquet("votes.parquet", metadata={"owner": "it's me"})
    engines.label("votes.parquet", engine=engine, metric="f1", out="out.parquet")
    found = metadata_of(tmp_path / "out.parquet")
    assert found["owner"] == "it's me"
    made = json.loads(found["hyperlabel"])
    assert (made["lf_names"], made["classes"]) == ([f"lf{j}" for j in range(5)], [0, 1])
    assert made["options"] == {"metric": "f1", "gold": None, "source": "votes.parquet"}
    assert made["sha256"] == json.loads(provenance(engines.fit("votes.parquet", metric="f1"))["hyperlabel"])["sha256"]


def test_label_by_a_state_that_an_engine_fitted_is_the_corpus_labeled_by_itself(hyperlabel, engine, tmp_path):
    write_votes(300)
    state, corpus = ["--model", "state.safetensors"], ["votes.parquet", "--lfs", "lf*"]
    assert hyperlabel("fit", *corpus, "-o", "state.safetensors", "--engine", engine).code == 0
    assert hyperlabel("label", *corpus, "-o", "whole.parquet", "--engine", "memory").code == 0
    expected = pl.read_parquet("whole.parquet").sort("id")
    pl.read_parquet("votes.parquet").tail(7).write_parquet("today.parquet")
    for votes, n in (("votes.parquet", 300), ("today.parquet", 7)):
        assert hyperlabel("label", votes, *state, "-o", "out.parquet", "--engine", engine).code == 0
        rows = read_result(tmp_path / "out.parquet")
        assert rows["label"].to_list() == expected["label"].tail(n).to_list()
        np.testing.assert_allclose(rows["confidence"], expected["confidence"].tail(n), atol=1e-6)


def test_label_of_a_csv_changes_no_cell_beside_the_labels(engine, tmp_path):
    if engine == "spark":
        pytest.skip("all engines but Polars read the same copy of a csv")
    lines = ["id,a,b,x", '1,"",0,007', "2, 1,1,1.10", "3,1,,TRUE", '4,0," ",12345678901234567890']
    (tmp_path / "votes.csv").write_text("\n".join(lines) + "\n")
    engines.label("votes.csv", lfs=["a", "b"], engine=engine, out="out.parquet")
    rows = read_result(tmp_path / "out.parquet")
    expected = pl.read_csv("votes.csv", infer_schema=False)
    assert rows.select("id", "a", "b", "x").equals(expected)
    assert rows["label"].to_list() == hl.HyperLabelModel().predict([[-1, 0], [1, 1], [1, -1], [0, -1]]).tolist()


FOUND_BY = {
    "Polars": lambda: pl.scan_parquet("**/*.parquet").collect().height,
    "DuckDB": lambda: duckdb.sql("SELECT count(*) FROM read_parquet('**/*.parquet')").fetchall()[0][0],
}


def test_killed_dask_run_leaves_the_old_folder_and_nothing_that_patterns_find(tmp_path):
    pytest.importorskip("distributed")
    write_votes(50)
    (tmp_path / "out.parquet").mkdir()
    pl.read_parquet("votes.parquet").head(3).write_parquet("out.parquet/part.parquet")
    slow = """
import pathlib, time
rename = pathlib.Path.rename
def wait(self, target):
    print("written", flush=True)
    time.sleep(60)
pathlib.Path.rename = wait
"""
    with label_in_a_process("dask", slow, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
    assert {name: find() for name, find in FOUND_BY.items()} == dict.fromkeys(FOUND_BY, 53)
    assert len(list(tmp_path.glob(".out.parquet.*.part"))) == 1
    engines.label("votes.parquet", out="out.parquet/new.parquet")  # another name: what was left stays
    with files.replacing(tmp_path / "out.parquet") as part:
        part.mkdir()
    assert {path.name for path in tmp_path.iterdir()} == {"votes.parquet", "out.parquet"}


@pytest.mark.parametrize("kind", [pl.UInt8, pl.UInt64])
def test_null_abstains_in_unsigned_columns_on_every_engine(tmp_path, engine, kind):
    columns = {"a": [0, 1, None, 2], "b": [1, None, 0, 2], "c": [1, 1, 0, None]}
    frame = pl.DataFrame({"id": range(4), **columns}, schema={"id": pl.Int64, **dict.fromkeys(columns, kind)})
    frame.write_parquet(tmp_path / "votes.parquet")
    out = tmp_path / "out.parquet"
    engines.label(tmp_path / "votes.parquet", lfs=list(columns), model="mv", engine=engine, out=out)
    assert read_result(out)["label"].to_list() == [1, 1, 0, 2]


def test_duckdb_refuses_infinite_votes_as_memory_does(tmp_path):
    pl.DataFrame({"id": [1, 2], "a": [float("inf"), 1.0], "b": [0.0, 1.0]}).write_parquet("votes.parquet")
    with pytest.raises(hl.VotesError, match="a value of column 'a' is inf; expected a whole number, 0 or more"):
        engines.label("votes.parquet", lfs=["a", "b"], engine="duckdb", out="out.parquet")
