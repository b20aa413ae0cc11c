import json

import numpy as np
import pytest

from experiments import losses, theory
from experiments.exact_optimum import optimum
from experiments.existence import exists_valid, solve_existence
from experiments.store import Options, read_records
from hyperlabel.networks import load_weights
from hyperlabel.training import to_signs


@pytest.fixture
def folder(tmp_path):
    """A set whose LFs vote for both classes, and one whose LFs vote for one class each."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 40)
    votes = np.where(rng.random((40, 5)) < 0.8, truth[:, None], 1 - truth[:, None])
    np.savez(tmp_path / "both.npz", L=votes, y=truth)
    np.savez(tmp_path / "one.npz", L=np.where(votes == np.arange(5) % 2, votes, -1), y=truth)
    return tmp_path


def test_theory_end_to_end_measures_all_parts_and_shows_them(folder, monkeypatch):
    monkeypatch.setattr(theory, "PAIRS", 20)
    monkeypatch.setattr(theory, "CANDIDATES", theory.BLOCK)
    options = Options(folder, folder / "out", seeds=1, models=("hlm", "mv", "ds"))
    theory.run(options, items=(5, 6), lfs=(2, 3), more_items=(20,), most_lfs=4)
    records = read_records(folder / "out" / "theory.jsonl")
    parts = [r["part"] for r in records]
    assert {part: parts.count(part) for part in parts} == {"optimum": 18, "validity": 6, "existence": 2}
    distances = [r for r in records if r["part"] == "optimum"]
    assert all(0 <= r["error"] < 1 and -1 <= r["correlation"] <= 1 for r in distances)
    assert [r["noise"] > 0 for r in distances] == [not r["exact"] for r in distances]
    text = theory.tables(records)
    assert "| 5 x 2 |" in text
    assert "| 100 x 3, estimated" in text
    assert "other: 1 of 2 sets have no valid label vector for any class" in text
    assert "extrapolation" in text
    pictures = theory.draw(records, folder / "docs")
    assert [p.name for p in pictures] == ["theory-optimum.png", "theory-validity.png", "theory-existence.png"]
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in pictures)


def random_signs(seed):
    """Small votes, a random share of which is one-sided: some have valid labels, some have none."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 9), rng.integers(1, 6)
    votes = rng.choice([-1, 0, 1], (n, m))
    one_sided = rng.random(m) < 0.4
    votes[:, one_sided] = np.where(votes[:, one_sided] == 0, -1, votes[:, one_sided])
    return votes


def test_existence_agrees_with_counting_all_valid_labels():
    found = [(exists_valid(to_signs(votes)), optimum(votes).count) for votes in map(random_signs, range(150))]
    assert [verdict.answer for verdict, _ in found] == ["yes" if count else "no" for _, count in found]
    assert {verdict.reason for verdict, _ in found} == {
        "too few LFs vote for the class",
        "too few LFs vote against the class",
        "the majority vote is valid",
        "the solver found valid labels",
        "the solver proved that no labels are valid",
    }


def test_solver_alone_agrees_with_counting_all_valid_labels():
    for votes in map(random_signs, range(150, 250)):
        expected = "yes" if optimum(votes).count else "no"
        assert solve_existence(to_signs(votes), 10.0).answer == expected


def test_solver_without_time_says_unknown():
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 0.0, 1.0], (400, 60)).astype(np.float32)
    assert solve_existence(signs, 0.0) == ("unknown", "the solver did not finish in 0 s")


def test_existence_of_one_class_against_the_rest_counts_lfs_under_the_truth(folder):
    [data] = theory.load_datasets(folder, ["one"])
    found = theory.measure_existence(data, 1, limit=1.0)
    assert (found["m"], found["needed"], found["for"], found["against"]) == (5, 3, 2, 3)
    assert (found["better_for"], found["better_against"]) == (2, 3)
    assert (found["exists"], found["truth_is_valid"]) == ("no", False)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([0.1, 0.2, 0.3], [1.0, 2.0, 30.0], 1.0),
        ([0.1, 0.2, 0.3], [3.0, 2.0, 1.0], -1.0),
        ([0.1, 0.1, 0.3], [1.0, 2.0, 3.0], np.sqrt(3) / 2),
        ([0.5, 0.5, 0.5], [1.0, 2.0, 3.0], 0.0),
    ],
)
def test_rank_correlation_of_known_orders(a, b, expected):
    assert theory.rank_correlation(np.array(a), np.array(b)) == pytest.approx(expected)


def test_estimate_comes_close_to_the_exact_optimum():
    votes = np.random.default_rng(0).choice([-1, 0, 1], (8, 3))
    estimate = theory.estimate_optimum(votes, np.random.default_rng(1))
    exact = optimum(votes).probabilities
    assert np.abs(estimate.best - exact).mean() < 3 * estimate.noise
    assert np.abs(estimate.best - exact).max() < 0.02


def test_published_probability_averages_to_the_paper_s_number():
    # The paper divides by 58 where there are 59 numbers of LFs from 2 to 60.
    assert sum(map(theory.published_probability, range(2, 61))) / 58 == pytest.approx(0.232, abs=5e-4)


def test_distance_of_the_optimum_itself_is_zero(monkeypatch):
    monkeypatch.setattr(theory, "_predict", lambda model, votes, seed: optimum(votes).probabilities)
    found = theory.measure_distance({"n": 6, "m": 3, "seed": 0, "model": "mv", "exact": True})
    assert (found["error"], found["correlation"]) == (0.0, pytest.approx(1.0))
    assert found["error_of_half"] > 0.05


def test_drawn_votes_are_the_same_for_the_same_seed():
    theory.draw_solved.cache_clear()
    first = theory.draw_solved(6, 3, 0, True)
    theory.draw_solved.cache_clear()
    again = theory.draw_solved(6, 3, 0, True)
    assert all((a.votes == b.votes).all() for a, b in zip(first, again, strict=True))


def test_losses_of_the_bundled_run_are_below_those_of_a_coin(tmp_path, monkeypatch):
    (tmp_path / "mine" / "run-03").mkdir(parents=True)
    load_weights("hlm").save(tmp_path / "mine" / "run-03" / "weights.safetensors")
    record = {"recipe": "mine", "run": 3, "family": "wrench", "score": 68.0, "bundled": True}
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(record | {"score": score}) + "\n" for score in (68, 69)))
    monkeypatch.setattr(losses, "MATRICES", 20)
    monkeypatch.setattr(losses, "RELEASED_FILE", tmp_path / "none")
    row = losses.run([tmp_path / "mine"], tmp_path / "runs.jsonl").splitlines()[-1].split("|")
    assert (row[1].strip(), row[-2].strip()) == ("mine, run-03", "68.50")
    uniform, logarithmic = (float(cell.split("±")[0]) for cell in row[2:4])
    assert logarithmic < uniform < np.log(2)  # few items say more of each
