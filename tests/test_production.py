"""Commands in production: states, drift, exit codes, JSON, logs, tables labeled in place."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.cli import may_work_later

LFS = ["links", "offers", "greets", "short"]


def make_table(seed=0, n=400):
    rng = np.random.default_rng(seed)
    names, truth = np.array(["ham", "spam"]), rng.integers(0, 2, n)
    right = rng.random((n, 4)) < 0.8
    cells = np.where(rng.random((n, 4)) < 0.8, names[np.where(right, truth[:, None], 1 - truth[:, None])], "?")
    return pl.DataFrame(cells, schema=LFS).with_row_index("id")


@pytest.fixture
def state(tmp_path, hyperlabel):
    make_table().write_csv(tmp_path / "v.csv")
    assert hyperlabel("fit", tmp_path / "v.csv", "--abstain", "?", "-o", tmp_path / "s.safetensors").code == 0
    return tmp_path / "s.safetensors"


def test_a_state_labels_without_repeating_what_abstains(tmp_path, hyperlabel, state):
    for ending in ("csv", "parquet"):  # in memory and by an engine
        table = tmp_path / f"new.{ending}"
        (pl.DataFrame.write_csv if ending == "csv" else pl.DataFrame.write_parquet)(make_table(1), table)
        said = hyperlabel("label", table, "--model", state, "-o", tmp_path / "o.csv")
        assert (said.code, said.err.count("warning")) == (0, 0)
    model = hl.load(state)
    assert (model.abstain_, model.source_) == ((-1, "?"), str(tmp_path / "v.csv"))
    said = hyperlabel("export", state, "--table", tmp_path / "p.csv", "--patterns", tmp_path / "v.csv")
    assert said.code == 0
    assert "'?'" in hyperlabel("export", state, "--sql", "duckdb", "--from", "votes").out


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_drift_and_new_columns_are_said(tmp_path, hyperlabel, state, ending):
    table = make_table(1).with_columns(offers=pl.lit("?"), late=pl.lit("spam"))
    path = tmp_path / f"new.{ending}"
    (pl.DataFrame.write_csv if ending == "csv" else pl.DataFrame.write_parquet)(table, path)
    said = hyperlabel("label", path, "--model", state, "-o", tmp_path / "o.csv")
    assert said.code == 0
    assert "warning: LF 'offers' votes on 0.0% of the items (was " in said.err
    assert "warning: column 'late' votes for the classes, but the model was not fitted on it" in said.err
    strict = hyperlabel("label", path, "--model", state, "-o", tmp_path / "p.csv", "--strict")
    assert (strict.code, (tmp_path / "p.csv").exists()) == (2, False)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_missing_lf_is_an_error_or_abstains(tmp_path, hyperlabel, state, ending):
    path, write = tmp_path / f"new.{ending}", pl.DataFrame.write_csv if ending == "csv" else pl.DataFrame.write_parquet
    write(make_table(1).drop("offers"), path)
    said = hyperlabel("label", path, "--model", state, "-o", tmp_path / "o.csv")
    assert said.code == 2
    assert (
        "lacks 1 of 4 LFs of the model: 'offers'; add the column, or let it abstain: --missing-lfs abstain" in said.err
    )
    said = hyperlabel("label", path, "--model", state, "-o", tmp_path / "o.csv", "--missing-lfs", "abstain")
    assert (said.code, "LF 'offers' of the model is missing and abstains" in said.err) == (0, True)
    write(make_table(1).with_columns(offers=pl.lit("?")), path)
    hyperlabel("label", path, "--model", state, "-o", tmp_path / "p.csv")
    one, other = (pl.read_csv(tmp_path / name) for name in ("o.csv", "p.csv"))
    assert one.columns == ["id", "links", "greets", "short", "label", "confidence"]
    assert one["confidence"].to_list() == other["confidence"].to_list()


@pytest.mark.parametrize("kind", ["long", "scores"])
def test_a_missing_lf_of_a_long_table_or_of_scores_may_abstain(tmp_path, hyperlabel, kind):
    rng, path, state = np.random.default_rng(0), tmp_path / "v.csv", tmp_path / "s.safetensors"
    table = pl.DataFrame(rng.random((200, 3)), schema=["a", "b", "c"]).with_row_index("id")
    if kind == "long":
        table = table.with_columns(pl.col("a", "b", "c").round()).unpivot(index="id")
        less, options = table.filter(pl.col("variable") != "b"), ("--long", "id,variable,value")
    else:
        less, options = table.drop("b"), ("--scores", "a,b,c", "--classes", "ham,spam")
    table.write_csv(path)
    assert hyperlabel("fit", path, *options, "-o", state).code == 0
    less.write_csv(path)
    command = ("label", path, *options[:2], "--model", state, "-o", tmp_path / "o.csv")
    command = command if kind == "long" else (*command[:2], *command[4:])
    said = hyperlabel(*command)
    assert (said.code, "--missing-lfs abstain" in said.err) == (2, True)
    said = hyperlabel(*command, "--missing-lfs", "abstain")
    assert (said.code, "LF 'b' votes on 0.0% of the items" in said.err) == (0, True)


def test_gold_without_a_class_is_said(tmp_path, hyperlabel):
    make_table().with_columns(gold=pl.lit(None, pl.String)).write_csv(tmp_path / "v.csv")
    said = hyperlabel("label", tmp_path / "v.csv", "--gold", "gold", "--abstain", "?", "-o", tmp_path / "o.csv")
    assert (said.code, "--gold has no class of any item" in said.err) == (0, True)


def test_a_new_class_is_an_error_whose_remedies_work(tmp_path, hyperlabel, state):
    table = make_table(1).with_columns(links=pl.Series(["scam"] * 30 + ["spam"] * 370))
    table.write_csv(tmp_path / "new.csv")
    said = hyperlabel("label", tmp_path / "new.csv", "--model", state, "-o", tmp_path / "o.csv")
    assert (said.code, "'scam'" in said.err, "--abstain" in said.err) == (2, True, True)
    command = ("label", tmp_path / "new.csv", "--model", state, "-o", tmp_path / "o.csv")
    assert hyperlabel(*command, "--abstain", "scam").code == 0
    assert hyperlabel("fit", tmp_path / "new.csv", "--abstain", "?", "-o", state).code == 0
    assert hyperlabel(*command).code == 0


def test_json_has_the_classes_of_the_model_with_zeros_and_no_table(tmp_path, hyperlabel, state):
    make_table(1, n=20).with_columns(pl.lit("spam").alias(lf) for lf in LFS).write_csv(tmp_path / "new.csv")
    said = hyperlabel("label", tmp_path / "new.csv", "--model", state, "-o", tmp_path / "o.csv", "--json")
    summary = json.loads(said.out)
    assert (summary["classes"], summary["per_class"]) == (["ham", "spam"], {"ham": 0, "spam": 20})
    assert "┃" not in said.err
    assert "share" not in said.err


def test_json_of_an_error_is_one_object(tmp_path, hyperlabel):
    said = hyperlabel("label", tmp_path / "no.csv", "-o", tmp_path / "o.csv", "--json")
    content = json.loads(said.out)
    assert (said.code, said.err, content["exit_code"]) == (2, "", 2)
    assert content["error"].startswith("there is no file or folder")
    aside = hyperlabel("label", tmp_path / "no.csv", "--json")
    assert (aside.out, json.loads(aside.err)["exit_code"]) == ("", 2)
    assert json.loads(hyperlabel("analyze", tmp_path / "no.csv", "--json", "--nonsense").out)["exit_code"] == 2


def test_a_full_disk_is_exit_code_75(tmp_path):
    make_table(n=20_000).write_csv(tmp_path / "v.csv")
    done = subprocess.run(
        [sys.executable, "-m", "hyperlabel", "label", tmp_path / "v.csv", "--abstain", "?", "-o", "/dev/full"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2  # a device is never a target
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hyperlabel", "label", tmp_path / "v.csv", "--abstain", "?"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (done.returncode, "No space left" in done.stderr) == (75, True)


def test_a_file_that_is_cut_short_by_the_system_is_exit_code_75(tmp_path, hyperlabel, monkeypatch):
    make_table().write_csv(tmp_path / "v.csv")

    def fill(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hyperlabel.data._csv.sink", fill)
    said = hyperlabel("label", tmp_path / "v.csv", "--abstain", "?", "-o", tmp_path / "o.csv")
    assert (said.code, (tmp_path / "o.csv").exists()) == (75, False)


@pytest.mark.parametrize(
    ("error", "later"),
    [
        (ConnectionResetError("peer"), True),
        (BrokenPipeError(), False),
        (pl.exceptions.ComputeError("No space left on device (os error 28)"), True),
        (pl.exceptions.ComputeError("bad cell"), False),
        (hl.VotesError("a column named 'timed out'"), False),
        (MemoryError(), True),
    ],
)
def test_what_may_work_later(error, later):
    wrapped = hl.HyperlabelError("it failed")
    wrapped.__cause__ = error
    assert may_work_later(error) == may_work_later(wrapped) == later


def test_a_bug_is_exit_code_70_with_a_traceback(tmp_path, hyperlabel, monkeypatch):
    make_table().write_csv(tmp_path / "v.csv")
    monkeypatch.setattr("hyperlabel.cli._runs.LabelTask.start", lambda _: {}["missing"])
    said = hyperlabel("label", tmp_path / "v.csv", "-o", tmp_path / "o.csv")
    assert (said.code, "Traceback" in said.err) == (70, True)
    assert "this is a bug, please report it with the lines above: KeyError: 'missing'" in said.err


def test_provenance_has_time_and_state(tmp_path, hyperlabel, state):
    make_table(1).write_parquet(tmp_path / "new.parquet")
    assert hyperlabel("label", tmp_path / "new.parquet", "--model", state, "-o", tmp_path / "o.parquet").code == 0
    told = json.loads(pl.read_parquet_metadata(tmp_path / "o.parquet")["hyperlabel"])
    assert told["options"]["state"] == str(state)
    assert told["fitted_at"] == hl.load(state).fitted_at_ <= told["time"]


def test_stated_time_makes_files_equal(tmp_path, monkeypatch):
    frame, told = make_table(1), []
    for seconds in ("0", "0", "86400"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
        hl.engines.label(frame, out=tmp_path / "o.parquet", abstain=["?"])
        told.append((tmp_path / "o.parquet").read_bytes())
    assert told[0] == told[1] != told[2]
    assert b"1970-01-02T00:00:00+00:00" in told[2]


def test_steps_and_warnings_are_logged_under_hyperlabel(tmp_path, caplog):
    make_table().write_parquet(tmp_path / "v.parquet")
    with caplog.at_level(logging.INFO, "hyperlabel"):
        model = hl.engines.fit(tmp_path / "v.parquet", abstain=["?"])
        model.save(tmp_path / "s.safetensors")
        hl.load(tmp_path / "s.safetensors")
        hl.engines.label(tmp_path / "v.parquet", model=model, out=tmp_path / "o.parquet")
    words = " ".join(record.getMessage() for record in caplog.records)
    assert all(word in words for word in ("fitted", "saved", "loaded", "engine polars read", "engine polars wrote"))
    assert {record.name.partition(".")[0] for record in caplog.records} == {"hyperlabel"}


@pytest.mark.parametrize("engine", ["memory", "polars", "duckdb"])
def test_labeling_in_place_keeps_one_input_and_says_so(tmp_path, hyperlabel, engine):
    path = tmp_path / "v.parquet"
    make_table().with_columns(label=pl.lit("mine")).write_parquet(path)
    command = ("label", path, "--abstain", "?", "-o", path, "--engine", engine, "--lfs", ",".join(LFS))
    for _ in range(3):
        said = hyperlabel(*command)
        assert said.code == 0, said.err
        assert "v.parquet is the table itself: it is replaced by its labeled rows" in said.err
    table = pl.read_parquet(path)
    assert [name for name in table.columns if name.startswith("label")] == ["label_input", "label"]
    assert table["label_input"].unique().to_list() == ["mine"]
    assert "label is replaced: label_input is kept" in said.err


@pytest.mark.parametrize("name", ["v.csv", "v.tsv.gz", "v.jsonl", "v.arrow", "v.parquet", "V.CSV"])
def test_votes_are_saved_in_the_format_of_the_name(tmp_path, name):
    votes = hl.Votes.from_frame(make_table(), abstain=["?"])
    votes.save(tmp_path / name)
    again = hl.read_votes(tmp_path / name)
    assert (again.lf_names, again.classes) == (votes.lf_names, votes.classes)
    assert again.to_numpy().tolist() == votes.to_numpy().tolist()
    assert (tmp_path / name).read_bytes()[:4] == b"PAR1" or name != "v.parquet"


@pytest.mark.parametrize("name", ["mv", "hlm2", "ds"])
def test_labels_that_are_judged_in_parts_are_the_same(monkeypatch, name):
    votes = np.random.default_rng(0).integers(-1, 20, (3000, 4))
    gold = {0: 3, 7: 5}
    whole = [hl.label_model(name).predict(votes), hl.label_model(name).fit_predict(votes, gold)]
    fitted = hl.label_model(name).fit(votes).predict(votes)
    monkeypatch.setattr("hyperlabel.models._base._MOST_HELD", 1000)
    assert hl.label_model(name).predict(votes).tolist() == whole[0].tolist()
    assert hl.label_model(name).fit_predict(votes, gold).tolist() == whole[1].tolist()
    assert hl.label_model(name).fit(votes).predict(votes).tolist() == fitted.tolist()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from Linux's /proc")
@pytest.mark.parametrize("name", ["mv", "hlm2"])
def test_five_hundred_classes_stay_below_a_gigabyte(name):
    code = (
        "import numpy as np, hyperlabel as hl\n"
        "votes = np.random.default_rng(0).integers(-1, 500, (300_000, 4))\n"
        f"assert len(hl.label_model('{name}').predict(votes)) == 300_000\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 1 << 30
