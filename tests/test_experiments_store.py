import json
import warnings

import numpy as np
import pytest

from experiments.store import Options, Store, read_records
from hyperlabel import MissingExtraError, ParameterError, WeightsError

CELLS = [{"model": "mv", "seed": seed} for seed in range(3)]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "deep" / "runs.jsonl")


def square(cell):
    return {"score": cell["seed"] ** 2}


def test_store_records_cells_measures_seconds_versions_and_machine(store):
    store.run(CELLS, square)
    records = read_records(store.path)
    assert [(r["model"], r["seed"], r["score"]) for r in records] == [("mv", 0, 0), ("mv", 1, 1), ("mv", 2, 4)]
    assert records[0]["seconds"] >= 0
    assert {"python", "hyperlabel", "numpy"} <= set(records[0]["versions"])
    assert "cores" in records[0]["machine"]


def test_store_runs_again_only_what_has_no_record(store):
    store.run(CELLS[:2], square)
    ran = []
    store.run(CELLS, lambda cell: ran.append(cell["seed"]) or square(cell))
    assert ran == [2]
    assert len(read_records(store.path)) == 3


def test_store_that_is_interrupted_keeps_what_was_finished(store):
    def stop_at_two(cell):
        if cell["seed"] == 2:
            raise KeyboardInterrupt
        return square(cell)

    with pytest.raises(KeyboardInterrupt):
        store.run(CELLS, stop_at_two)
    assert [r["seed"] for r in read_records(store.path)] == [0, 1]


@pytest.mark.parametrize("torn", ['{"model": "mv", "se', "x" * 10_000])
def test_store_with_a_torn_last_line_drops_it_and_goes_on(store, torn):
    store.run(CELLS[:1], square)
    with store.path.open("a") as file:
        file.write(torn)
    assert len(read_records(store.path)) == 1
    store.run(CELLS, square)
    assert [r["seed"] for r in read_records(store.path)] == [0, 1, 2]


def test_store_whose_only_line_is_torn_starts_anew(store):
    store.path.parent.mkdir()
    store.path.write_text('{"model"')
    store.run(CELLS[:1], square)
    assert [r["seed"] for r in read_records(store.path)] == [0]


def test_store_that_is_full_goes_on_in_another_file(store, monkeypatch):
    store.run(CELLS[:1], square)
    monkeypatch.setattr("experiments.store.LARGEST_FILE", store.path.stat().st_size + 10)
    store.run(CELLS[:2], square)
    store.run(CELLS, square)
    names = ["runs-2.jsonl", "runs-3.jsonl", "runs.jsonl"]
    assert sorted(path.name for path in store.path.parent.iterdir()) == names
    assert [r["seed"] for r in read_records(store.path)] == [0, 1, 2]
    store.run(CELLS, lambda cell: pytest.fail("was recorded before"))


def test_store_with_a_torn_line_in_a_later_file_drops_it_and_goes_on(store, monkeypatch):
    store.run(CELLS[:1], square)
    monkeypatch.setattr("experiments.store.LARGEST_FILE", store.path.stat().st_size + 10)
    store.path.with_stem("runs-2").write_text('{"model": "mv", "se')
    store.run(CELLS, square)
    assert [r["seed"] for r in read_records(store.path)] == [0, 1, 2]


def test_read_records_of_a_broken_line_in_a_later_file_names_that_file(store):
    store.run(CELLS[:1], square)
    store.path.with_stem("runs-2").write_text("nonsense\n")
    with pytest.raises(ParameterError, match="line 1 of .*runs-2.jsonl' is no record"):
        read_records(store.path)


def test_store_on_a_model_that_cannot_be_used_keeps_a_note(store):
    def refuse(cell):
        raise ParameterError("too few LFs")

    store.run(CELLS[:1], refuse)
    [record] = read_records(store.path)
    assert record["note"] == "too few LFs"
    assert "score" not in record


@pytest.mark.parametrize("error", [MissingExtraError, WeightsError])
def test_store_on_a_missing_package_or_broken_weights_stops_without_a_record(store, error):
    def refuse(cell):
        raise error("not here")

    with pytest.raises(error, match="not here"):
        store.run(CELLS, refuse)
    assert not store.path.exists()


def test_store_keeps_warnings_once_each(store):
    def warn(cell):
        for _ in range(2):
            warnings.warn("did not converge", UserWarning, stacklevel=2)
        return {}

    store.run(CELLS[:1], warn)
    assert read_records(store.path)[0]["warnings"] == ["did not converge"]


def test_store_tells_progress_of_kept_and_new_cells(store):
    store.run(CELLS[:1], square)
    told = []
    store.run(CELLS, square, lambda *news: told.append(news))
    assert told == [(1, 3, "kept from before"), (2, 3, "mv, 1"), (3, 3, "mv, 2")]


def test_store_writes_numbers_and_arrays_of_numpy(store):
    store.run([{"n": np.int64(3)}], lambda cell: {"score": np.float64(0.5), "bins": np.arange(2)})
    store.run([{"n": 3}], lambda cell: pytest.fail("was recorded before"))
    assert json.loads(store.path.read_text())["bins"] == [0, 1]


def test_read_records_of_a_broken_line_names_it(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"seed": 0}\nnonsense\n')
    with pytest.raises(ParameterError, match="line 2 of .* is no record"):
        read_records(path)


def test_read_records_of_no_file_says_to_run_first(tmp_path):
    with pytest.raises(ParameterError, match="run the experiment first"):
        read_records(tmp_path / "runs.jsonl")


def test_options_without_seeds_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="seeds is 0; expected at least 1"):
        Options(tmp_path, tmp_path, seeds=0)


def test_store_stops_a_cell_above_its_limit_and_does_not_try_its_other_seeds(tmp_path):
    tried = []

    def turn(cell):
        tried.append(cell["seed"])
        while cell["model"] == "slow":
            pass
        return square(cell)

    store = Store(tmp_path / "runs.jsonl", limit=0.05)
    store.run([{"model": model, "seed": seed} for model in ("slow", "mv") for seed in range(2)], turn)
    slow, again, *others = read_records(store.path)
    assert tried == [0, 0, 1]
    assert slow["note"] == again["note"] == "stopped after 0.05 s of processor time"
    assert (slow["stopped"], slow["seconds"], again["seed"]) == (True, 0.05, 1)
    assert [r["score"] for r in others] == [0, 1]
