import json
from dataclasses import replace

import numpy as np
import pytest

from experiments import ablation
from experiments.__main__ import main
from experiments.page import SECTIONS
from experiments.store import read_records
from tests.conftest import run_command

WORDS = {0: "red apple sweet", 1: "green pear sour"}

EXPERIMENTS = {
    "aggregate": ["--models", "mv,hlm,ds"],
    "runtime": ["--models", "mv,hlm", "--items", "50,100", "--lfs", "5"],
    "semi": ["--models", "hlm,ds", "--sizes", "10"],
    "theory": ["--models", "hlm,mv", "--items", "6", "--lfs", "2,3", "--more-items", "20", "--most-lfs", "3"],
    "ablation": ["--models", "hlm", "--iterations", "2", "--batch", "2"],
    "endmodel": ["--models", "mv,truth", "--search", "small"],
}


@pytest.fixture
def data(tmp_path):
    """One small set of texts with votes, truth and splits."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 80)
    votes = np.where(rng.random((80, 4)) < 0.8, truth[:, None], 1 - truth[:, None])
    votes[rng.random((80, 4)) < 0.3] = -1
    folder = tmp_path / "data"
    (folder / "raw").mkdir(parents=True)
    np.savez(folder / "youtube.npz", L=votes, y=truth, split=np.repeat([0, 1, 2], [40, 10, 30]))
    lines = [json.dumps({"id": i, "text": f"{WORDS[y]} {i}"}) + "\n" for i, y in enumerate(truth.tolist())]
    (folder / "raw" / "youtube.jsonl").write_text("".join(lines))
    return folder


@pytest.fixture
def experiments(monkeypatch, capsys):
    """The command line of the experiments, run in this process."""
    return lambda *arguments: run_command(main, "experiments", arguments, monkeypatch, capsys)


@pytest.fixture
def run(experiments, data, tmp_path):
    """Runs one experiment of the paper with one seed on the small set."""

    def run_one(name, *arguments):
        return experiments(name, "--data", data, "--out", tmp_path / "out", "--seeds", 1, *arguments)

    return run_one


@pytest.fixture
def small_training(monkeypatch):
    """Training runs that validate on two synthetic sets, not on a hundred."""
    make = ablation.make_recipe
    monkeypatch.setattr(
        ablation, "make_recipe", lambda *args, **kwargs: replace(make(*args, **kwargs), candidates=8, validation_sets=2)
    )


@pytest.mark.usefixtures("small_training")
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiment_runs_end_to_end_resumes_and_is_shown_on_the_page(name, run, experiments, tmp_path):
    if name in ("ablation", "endmodel"):
        pytest.importorskip("torch")
    path = tmp_path / "out" / f"{name}.jsonl"
    outcome = run(name, *EXPERIMENTS[name])
    assert outcome.code == 0, outcome.err
    assert f"wrote {path}" in outcome.err
    records = path.read_text()
    for record in read_records(path):
        assert {"seconds", "versions", "machine"} <= record.keys()

    assert run(name, *EXPERIMENTS[name]).code == 0
    assert path.read_text() == records

    shown = experiments("page", "--results", tmp_path / "out", "--docs", tmp_path / "docs")
    assert shown.code == 0, shown.err
    text = (tmp_path / "docs" / "benchmarks.md").read_text()
    assert text.count("*Not run yet") == len(SECTIONS) - 1


def test_experiment_aggregate_as_released_adds_its_records(run, tmp_path):
    run("aggregate", "--models", "mv")
    assert run("aggregate", "--models", "mv", "--as-released").code == 0
    records = read_records(tmp_path / "out" / "aggregate.jsonl")
    assert [record["protocol"] for record in records] == ["all rows", "as released"]


def test_experiment_away_from_a_terminal_shows_plain_lines(run):
    lines = run("aggregate", "--models", "mv").err.splitlines()
    assert lines[0] == "aggregate: 0 of 1 (kept from before)"
    assert lines[1] == "aggregate: 1 of 1 (youtube, mv, 0, all rows)"


def test_experiment_of_some_sets_names_one_that_is_not_there(run):
    outcome = run("aggregate", "--sets", "imdb")
    assert outcome.code == 2
    assert "has no data set 'imdb'; it has youtube" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["aggregate", "--models", "xyz"], "no label model 'xyz'"),
        (["aggregate", "--seeds", "0"], "seeds is 0; expected at least 1"),
        (["runtime", "--items", "10,many"], "--items is '10,many'; expected positive whole numbers"),
        (["semi", "--sizes", "0"], "--sizes is '0'; expected positive whole numbers"),
    ],
)
def test_experiment_with_a_mistake_is_one_line_and_writes_nothing(run, tmp_path, arguments, message):
    outcome = run(*arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_page_without_records_says_so_on_the_page(experiments, tmp_path):
    assert experiments("page", "--results", tmp_path, "--docs", tmp_path / "docs").code == 0
    assert (tmp_path / "docs" / "benchmarks.md").read_text().count("*Not run yet") == len(SECTIONS)


BENCHMARKS = {
    "accuracy": [],
    "fine_tuning": [],
    "lf_estimates": [],
    "panels": [],
    "scores": ["--items", "500"],
    "hlm3": ["--parts", "scores", "--sets", "youtube"],
}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_prints_its_table_and_keeps_it(name, experiments, data, tmp_path):
    anchor = {"family": "panel", "metric": "acc", "k": 2, "mv": 1.0, "balanced": 2.0, "hyperlm": 3.0, "crowdfm": 4.0}
    (data / "anchors.json").write_text(json.dumps({"youtube": anchor}))
    kept = tmp_path / "tables" / f"{name}.md"
    outcome = experiments(name, "--data", data, "--out", kept, *BENCHMARKS[name])
    assert outcome.code == 0, outcome.err
    assert any(name in kept.read_text() for name in ("youtube", "panel", "the paper's (1 sets)"))
    assert kept.read_text().strip() in outcome.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hlm3", "--parts", "scores,all"], "--parts has 'all'; expected some of textbook, stars, scores, subsets"),
        (["scale", "--engines", "pandas"], "--engines has 'pandas'; expected some of polars, duckdb"),
        (["scale", "--rows", "1e6,1.5"], "--rows is '1e6,1.5'; expected positive whole numbers"),
        (["label_models", "--parts", ",,"], "--parts is ',,'; expected names separated by commas"),
    ],
)
def test_benchmark_with_a_mistake_is_one_line(experiments, arguments, message):
    outcome = experiments(*arguments)
    assert (outcome.code, len(outcome.err.splitlines())) == (2, 1)
    assert message in outcome.err
