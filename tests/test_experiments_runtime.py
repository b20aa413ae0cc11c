import numpy as np
import pytest

from experiments import runtime
from experiments.store import Options, read_records
from hyperlabel import ParameterError


@pytest.fixture
def run(tmp_path):
    """Runs the experiment on one small set, and gives its records."""
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "imdb.npz", L=rng.integers(-1, 2, (60, 4)), y=rng.integers(0, 2, 60))

    def run(*models, seeds=2, items=(50, 500), lfs=(5, 10), budget=None):
        options = Options(tmp_path, tmp_path / "out", seeds, models)
        runtime.run(options, items=items, lfs=lfs, budget=budget)
        return read_records(tmp_path / "out" / "runtime.jsonl")

    return run


def make_record(model, seconds=0.5, part="scaling", **more):
    about = {"axis": "n", "patterns": "few", "n": 1000, "m": 20} if part == "scaling" else {"dataset": "imdb"}
    return {"model": model, "part": part, "n": 100, "m": 5, "k": 2, "seconds": seconds, "peak_bytes": 10**6,
            "n_patterns": 30, **about, **more}  # fmt: skip


def test_runtime_times_every_set_and_size(run):
    records = run("mv", "hlm")
    assert [(r["dataset"], r["model"]) for r in records if r["part"] == "sets"] == [("imdb", "mv"), ("imdb", "hlm")]
    sizes = {(r["patterns"], r["n"], r["m"]) for r in records if r["part"] == "scaling"}
    grid = [(50, 20), (500, 20), (10_000, 5), (10_000, 10)]
    assert sizes == {(kind, *size) for kind in ("few", "many") for size in grid}
    for r in records:
        assert r["seconds"] == np.median(r["times"]) > 0
        assert len(r["times"]) == 2
        assert r["peak_bytes"] > 0


def test_runtime_over_its_seconds_cuts_larger_sizes_and_says_so(run):
    records = run("mv", items=(50, 500, 5000), lfs=(), budget=runtime.Budget(seconds=1e-9))
    cuts = {r["n"]: r.get("cut") for r in records if r["part"] == "scaling" and r["patterns"] == "few"}
    assert cuts[50] is None
    assert "s expected at 500 x 20" in cuts[500]
    assert cuts[5000] == cuts[500]
    text = runtime.tables(records)
    assert "| mv | " in text
    assert " | cut | cut |" in text
    assert "- `mv`, few patterns: about" in text


def test_runtime_over_its_memory_cuts_larger_sizes(run):
    records = run("mv", lfs=(), budget=runtime.Budget(gigabytes=1e-9))
    assert "GB expected" in next(r["cut"] for r in records if r.get("n") == 500)


def test_runtime_of_a_model_that_cannot_run_keeps_a_note_at_every_size(run, monkeypatch):
    def refuse(*args, **kwargs):
        raise ParameterError("too many LFs")

    monkeypatch.setattr(runtime, "named_model", refuse)
    records = run("mv", lfs=())
    assert {r["note"] for r in records} == {"too many LFs"}
    assert "- `mv` on imdb: too many LFs" in runtime.tables(records)


def test_draw_votes_with_few_patterns_repeats_rows():
    votes = runtime.draw_votes(20_000, 30, "few")
    assert votes.shape == (20_000, 30)
    assert len(np.unique(votes, axis=0)) <= runtime.FEW
    assert (votes >= 0).mean() == pytest.approx(runtime.VOTES_SHARE, abs=0.03)


def test_draw_votes_with_many_patterns_hardly_repeats_rows():
    votes = runtime.draw_votes(20_000, 30, "many")
    assert len(np.unique(votes, axis=0)) > 19_000


def test_tables_show_ratios_to_majority_vote_and_hlm():
    times = {"mv": 0.001, "hlm": 0.002, "ds": 0.05}
    text = runtime.tables([make_record(model, seconds, "sets") for model, seconds in times.items()])
    assert "| ds | 1 | 50 ms | 50 ms | 50 | 25 | 25 to 25 | " in text
    assert "| imdb | 100 | 30 | 2.0<br>(200) | 1.0 | 50<br>(79800) |" in text


def test_tables_without_the_base_of_a_ratio_show_a_dash():
    assert "| ds | 1 | 500 ms | 500 ms | – | – | – |" in runtime.tables([make_record("ds", part="sets")])


def test_draw_writes_the_scaling_figure(tmp_path):
    records = [make_record(m, n=n, patterns=kind) for m in ("mv", "hlm") for n in (10, 100) for kind in ("few", "many")]
    [path] = runtime.draw([*records, make_record("ds", cut="too slow")], tmp_path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_draw_without_scaling_records_draws_nothing(tmp_path):
    assert runtime.draw([make_record("mv", part="sets")], tmp_path) == []
