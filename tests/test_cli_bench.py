import json
from dataclasses import replace

import numpy as np
import pytest

from hyperlabel.bench import ablation
from hyperlabel.bench.store import read_records

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
def bench(hyperlabel, data, tmp_path):
    """Runs one experiment with one seed on the small set."""

    def run(name, *arguments):
        return hyperlabel("bench", name, "--data", data, "--out", tmp_path / "out", "--seeds", 1, *arguments)

    return run


@pytest.fixture
def small_training(monkeypatch):
    """Training runs that validate on two synthetic sets, not on a hundred."""
    make = ablation.make_recipe
    monkeypatch.setattr(
        ablation, "make_recipe", lambda *args, **kwargs: replace(make(*args, **kwargs), candidates=8, validation_sets=2)
    )


@pytest.mark.usefixtures("small_training")
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_bench_runs_end_to_end_resumes_and_is_shown_on_the_page(name, bench, hyperlabel, tmp_path):
    if name in ("ablation", "endmodel"):
        pytest.importorskip("torch")
    path = tmp_path / "out" / f"{name}.jsonl"
    outcome = bench(name, *EXPERIMENTS[name])
    assert outcome.code == 0, outcome.err
    assert f"wrote {path}" in outcome.err
    records = path.read_text()
    for record in read_records(path):
        assert {"seconds", "versions", "machine"} <= record.keys()

    assert bench(name, *EXPERIMENTS[name]).code == 0
    assert path.read_text() == records

    shown = hyperlabel("bench", "page", "--results", tmp_path / "out", "--docs", tmp_path / "docs")
    assert shown.code == 0, shown.err
    text = (tmp_path / "docs" / "benchmarks.md").read_text()
    assert text.count("*Not run yet") == len(EXPERIMENTS) - 1


def test_bench_aggregate_as_released_adds_its_records(bench, tmp_path):
    bench("aggregate", "--models", "mv")
    assert bench("aggregate", "--models", "mv", "--as-released").code == 0
    records = read_records(tmp_path / "out" / "aggregate.jsonl")
    assert [record["protocol"] for record in records] == ["all rows", "as released"]


def test_bench_away_from_a_terminal_shows_plain_lines(bench):
    lines = bench("aggregate", "--models", "mv").err.splitlines()
    assert lines[0] == "aggregate: 0 of 1 (kept from before)"
    assert lines[1] == "aggregate: 1 of 1 (youtube, mv, 0, all rows)"


def test_bench_of_some_sets_names_one_that_is_not_there(bench):
    outcome = bench("aggregate", "--sets", "imdb")
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
def test_bench_with_a_mistake_is_one_line_and_writes_nothing(bench, tmp_path, arguments, message):
    outcome = bench(*arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_bench_page_without_records_says_so_on_the_page(hyperlabel, tmp_path):
    assert hyperlabel("bench", "page", "--results", tmp_path, "--docs", tmp_path / "docs").code == 0
    assert (tmp_path / "docs" / "benchmarks.md").read_text().count("*Not run yet") == len(EXPERIMENTS)
