import numpy as np
import pytest

from experiments import semi
from experiments.datasets import load_datasets
from experiments.store import Options, read_records
from hyperlabel import ParameterError


@pytest.fixture
def folder(tmp_path):
    """One set of three classes, the last of which is rare; some of the truth is unknown."""
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 80, p=[0.5, 0.4, 0.1])
    votes = np.where(rng.random((80, 3)) < 0.7, truth[:, None], rng.integers(0, 3, (80, 3)))
    votes[rng.random((80, 3)) < 0.3] = -1
    truth[:20] = -1
    np.savez(tmp_path / "made.npz", L=votes, y=truth)
    return tmp_path


@pytest.fixture
def data(folder):
    return load_datasets(folder)[0]


def make_record(gold, score, *, dataset="made", model="hlm", seed=0, family="other", **more):
    about = {"family": family, "unsupervised": 70.0, "seconds": 0.5}
    return {"dataset": dataset, "model": model, "seed": seed, "gold": gold, "score": score, **about, **more}


def test_semi_end_to_end_scores_items_without_gold_and_shows_them(folder):
    options = Options(folder, folder / "out", seeds=1)
    semi.run(options, sizes=(6,), trees=2)
    records = read_records(folder / "out" / "semi.jsonl")
    assert {r["model"] for r in records} == {"hlm3", "hlm", "ds", "amcl", "rf"}
    assert len(records) == 5
    for r in records:
        assert r["n_gold"] >= r["gold"]
        assert r["n_gold"] + r["n_scored"] == (load_datasets(folder)[0].truth >= 0).sum()
        assert 40 < r["score"] <= 100
        assert 40 < r["unsupervised"] <= 100
    text = semi.tables(records)
    assert "| hlm without gold |" in text
    assert "| amcl, small |" in text
    assert "have forests of 2 trees of any depth" in text
    [picture] = semi.draw(records, folder / "docs")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_semi_run_again_keeps_what_is_there(folder):
    options = Options(folder, folder / "out", seeds=1, models=("ds",))
    semi.run(options, sizes=(10,))
    before = (folder / "out" / "semi.jsonl").read_text()
    semi.run(options, sizes=(10,), trees=7)
    assert (folder / "out" / "semi.jsonl").read_text() == before


def test_semi_without_a_size_is_refused(folder):
    with pytest.raises(ParameterError, match=r"sizes is \[0\]; expected numbers of gold items"):
        semi.run(Options(folder, folder / "out"), sizes=(0,))


def test_gold_of_a_small_draw_has_two_items_of_each_class(data):
    gold = semi.draw_gold(data, 4, seed=0)
    assert (np.bincount(gold[gold >= 0], minlength=3) >= 2).all()
    assert (gold[gold >= 0] == data.truth[gold >= 0]).all()


def test_gold_of_a_large_draw_leaves_three_tenths_of_the_known_items(data):
    known = (data.truth >= 0).sum()
    assert (semi.draw_gold(data, 10_000, seed=0) >= 0).sum() == int(0.7 * known)


def test_gold_of_another_repeat_differs(data):
    one, other = (semi.draw_gold(data, 20, seed) for seed in (0, 1))
    assert (one != other).any()
    assert (one == semi.draw_gold(data, 20, 0)).all()


def test_sizes_above_the_cap_are_one(data):
    cap = int(0.7 * (data.truth >= 0).sum())
    assert semi.distinct_sizes(data, (10_000, 10, 500, 1000)) == [10, 500]
    assert semi.distinct_sizes(data, (cap, cap + 1)) == [cap]


def test_results_use_the_largest_size_that_a_set_has():
    small = [make_record(10, 60.0, dataset="a"), make_record(100, 70.0, dataset="a")]
    large = [make_record(size, score, dataset="b") for size, score in ((10, 80.0), (100, 82.0), (1000, 90.0))]
    assert semi.Results(small + large).curve("hlm", "other") == {10: [70.0], 100: [76.0], 1000: [80.0]}


def test_results_of_a_model_run_with_fewer_sizes_are_of_these_alone():
    all_sizes = [make_record(size, 60.0, dataset="a") for size in (10, 20, 100)]
    few = [make_record(size, 70.0, dataset="a", model="rf", trees=500, searched=True) for size in (10, 100)]
    assert semi.Results(all_sizes + few).curve("rf", "other") == {10: [70.0], 100: [70.0]}
    row = next(line for line in semi.tables(all_sizes + few).splitlines() if line.startswith("| rf"))
    assert [cell.strip() for cell in row.split("|")[2:5]] == ["70.0", "–", "70.0"]


def test_results_leave_out_a_repeat_that_misses_a_set():
    whole = [make_record(10, score, dataset=name) for name, score in (("a", 60.0), ("b", 80.0))]
    torn = make_record(10, 100.0, dataset="a", seed=1)
    assert semi.Results([*whole, torn]).curve("hlm", "other") == {10: [70.0]}


def test_tables_name_the_sets_on_which_a_model_was_not_run():
    records = [make_record(10, 60.0, dataset=name) for name in ("a", "b")]
    text = semi.tables([*records, make_record(10, 60.0, dataset="a", model="rf", trees=500, searched=True)])
    assert "Not run: rf on b; it is left out of the other averages." in text
    assert "| rf | 60.0" not in text


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ((60.0, 72.0, 75.0), "is above hlm without gold from 100 gold items on"),
        ((72.0, 75.0, 60.0), "is not above hlm without gold"),
    ],
)
def test_tables_say_from_where_on_fine_tuning_gains(scores, said):
    records = [make_record(size, score) for size, score in zip((10, 100, 1000), scores, strict=True)]
    assert said in semi.tables(records)


def test_tables_count_where_a_forest_took_the_place_of_amcl():
    said = ["AMCL has no solution (no labels); a random forest took its place"]
    records = [
        make_record(10, 60.0, model="amcl", trees=9, warnings=said),
        make_record(20, 60.0, model="amcl", trees=9),
    ]
    assert "took the place of amcl in 1 of 2 cells" in semi.tables(records)


STOPPED = {"stopped": True, "note": "stopped after 3 s of processor time"}


def stopped_record(model, **more):
    record = make_record(10, 0.0, model=model, **STOPPED, **more)
    return {name: value for name, value in record.items() if name != "score"} | {"seconds": 3.0}


def test_forest_of_the_same_draw_stands_in_where_amcl_was_stopped():
    paper = {"trees": 500, "searched": True}
    records = [make_record(10, 60.0, model="rf", **paper), stopped_record("amcl", **paper)]
    results = semi.Results(records)
    assert results.curve("amcl", "other") == {10: [60.0]}
    assert results.curve("amcl", "other", "seconds") == {10: [3.5]}
    assert "in 1 of 1 cells: in 0 there was no solution" in semi.tables(records)
    assert "; 1 were stopped after 3 s of processor time, a limit of ours." in semi.tables(records)


def test_set_on_which_a_model_was_stopped_is_left_out_for_all():
    records = [
        make_record(10, 60.0),
        make_record(10, 90.0, dataset="long", model="ds"),
        make_record(10, 70.0, model="ds"),
    ]
    records.append(stopped_record("hlm", dataset="long"))
    assert semi.Results(records).curve("ds", "other") == {10: [70.0]}
    assert "Left out for all models: long, since hlm was stopped after 3 s" in semi.tables(records)


def test_smaller_forests_than_the_papers_are_called_small():
    small = [make_record(10, 60.0, model="rf", trees=50), make_record(10, 61.0, model="rf", trees=500)]
    paper = make_record(10, 70.0, model="rf", trees=500, searched=True)
    results = semi.Results([*small, paper])
    assert results.models == ["rf, small", "rf"]
    assert results.curve("rf", "other") == {10: [70.0]}
