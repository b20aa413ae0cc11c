import numpy as np
import pytest

from experiments import aggregate
from experiments.store import Options, read_records
from hyperlabel import ParameterError


@pytest.fixture
def folder(tmp_path):
    """Two small sets, one of which is in the paper and has rows that the authors' loader drops."""
    rng = np.random.default_rng(0)
    for name in ("youtube", "made"):
        truth = rng.integers(0, 2, 120)
        votes = np.where(rng.random((120, 4)) < 0.75, truth[:, None], 1 - truth[:, None])
        votes[rng.random((120, 4)) < 0.4] = -1
        np.savez(tmp_path / f"{name}.npz", L=votes, y=truth, hlm_idx=np.arange(100))
    return tmp_path


@pytest.fixture
def run(folder):
    """Runs the experiment with some models, and gives its records."""

    def run(*models, seeds=2, **kwargs):
        aggregate.run(Options(folder, folder / "out", seeds, models or None), **kwargs)
        return read_records(folder / "out" / "aggregate.jsonl")

    return run


def make_record(model="mv", dataset="imdb", seed=0, score=75.0, **more):
    bins = {"items": [0.0] * 9 + [10.0], "confidence": [0.0] * 9 + [9.5], "right": [0.0] * 9 + [7.5]}
    about = {"family": "wrench", "metric": "accuracy", "ceiling": 80.0, "protocol": "all rows", "reliability": bins}
    return {"model": model, "dataset": dataset, "seed": seed, "score": score, "brier": 0.3, "log_loss": 0.5,
            "prior": "own", "scores_by_prior": {"own": score}, **about, **more}  # fmt: skip


def test_aggregate_measures_labels_and_probabilities(run):
    records = run("mv", "hlm")
    assert [(r["dataset"], r["model"]) for r in records] == [(d, m) for d in ("made", "youtube") for m in ("mv", "hlm")]
    for r in records:
        assert 50 < r["score"] <= r["ceiling"] <= 100
        assert 0 < r["brier"] < 1
        assert r["seconds"] > 0
        assert sum(r["reliability"]["items"]) == r["n"]


def test_aggregate_repeats_only_models_that_depend_on_the_seed(run):
    records = run("mv", "ebcc", seeds=3)
    assert {m: {r["seed"] for r in records if r["model"] == m} for m in ("mv", "ebcc")} == {
        "mv": {0},
        "ebcc": {0, 1, 2},
    }


def test_aggregate_without_models_runs_all_that_need_no_gold(run, monkeypatch):
    monkeypatch.setattr(aggregate, "compared_models", lambda: ["mv", "bv"])
    assert {r["model"] for r in run()} == {"mv", "bv"}


def test_aggregate_as_released_scores_the_authors_rows_of_the_papers_sets(run):
    records = run("mv", as_released=True)
    assert [(r["dataset"], r["protocol"]) for r in records] == [("youtube", "as released")]
    assert records[0]["n"] < run("mv")[-1]["n"]


def test_aggregate_as_released_without_sets_of_the_paper_says_so(folder, run):
    (folder / "youtube.npz").unlink()
    with pytest.raises(ParameterError, match="has none of the paper's sets; expected some of census"):
        run("mv", as_released=True)


def test_aggregate_as_released_uses_the_reference_settings(run, monkeypatch):
    monkeypatch.setitem(aggregate.REFERENCE, "bv", {"power": 0.0})
    records = run("mv", "bv", as_released=True)
    assert records[0]["brier"] == pytest.approx(records[1]["brier"])


def test_aggregate_on_a_model_that_cannot_run_keeps_a_note(folder, run):
    np.savez(folder / "thin.npz", L=[[0, 1], [1, 1]], y=[0, 1])
    notes = {r["dataset"]: r.get("note") for r in run("fs")}
    assert notes["made"] is None
    assert "3" in notes["thin"]
    assert "`fs`, all rows: no score" in aggregate.tables(read_records(folder / "out" / "aggregate.jsonl"))


def test_aggregate_with_an_unknown_model_runs_nothing(folder, run):
    with pytest.raises(ParameterError, match="no label model 'xyz'"):
        run("mv", "xyz")
    assert not (folder / "out").exists()


def test_tables_show_the_papers_score_and_the_ceiling():
    text = aggregate.tables([make_record(), make_record("hlm", score=76.0)])
    assert "| imdb | acc | 80.0 | **76.0**<br>(75.0) | 75.0<br>(75.0) |" in text


def test_tables_average_over_sets_with_an_error_bar_over_seeds():
    records = [make_record("ebcc", d, s, score) for d, s, score in
               [("imdb", 0, 70.0), ("imdb", 1, 72.0), ("cdr", 0, 50.0), ("cdr", 1, 50.0)]]  # fmt: skip
    assert "| ebcc | **60.50 ± 0.71** | **60.50 ± 0.71** |" in aggregate.tables(records)


def test_tables_leave_out_the_average_of_a_model_that_misses_a_set():
    records = [make_record("mv", "imdb"), make_record("mv", "cdr"), make_record("hlm", "imdb", score=90.0)]
    assert "| hlm | – | – |" in aggregate.tables(records)


def test_tables_mark_released_scores_far_from_the_papers():
    records = [make_record(score=s, dataset=d, protocol="as released") for d, s in (("imdb", 74.0), ("cdr", 60.0))]
    text = aggregate.tables(records)
    assert "| imdb | 74.0<br>(75.0) |" in text
    assert "| cdr | 60.0\\*<br>(63.3) |" in text


def test_tables_name_the_sets_on_which_a_model_warned():
    records = [make_record(dataset=d, warnings=["did not converge"]) for d in ("imdb", "cdr")]
    assert "- `mv`, all rows: did not converge: imdb, cdr" in aggregate.tables(records)


def test_calibration_error_is_the_distance_of_confidence_from_truth():
    board = aggregate.Board.from_records([make_record()], aggregate.ALL_ROWS)
    assert aggregate.calibration_error(board, "mv") == pytest.approx(0.2)


def test_draw_of_majority_vote_alone_has_no_gains(tmp_path):
    assert [path.name for path in aggregate.draw([make_record()], tmp_path)] == ["aggregate_reliability.png"]


def test_draw_writes_figures_even_where_scores_are_missing(tmp_path):
    records = [make_record(), make_record("hlm", score=76.0), make_record("mv", "cdr")]
    written = aggregate.draw(records, tmp_path / "figures")
    assert [path.name for path in written] == ["aggregate_gains.png", "aggregate_reliability.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)
