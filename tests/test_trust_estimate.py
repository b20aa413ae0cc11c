import json

import numpy as np
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel._core import f1
from hyperlabel.trust import GoldSample, Strata, estimate_sample, observe
from hyperlabel.trust._estimates import estimate_means, spread_of, student

N = 3000
RNG = np.random.default_rng(0)
TRUTH = (RNG.random(N) < 0.3).astype(int)
VOTES = np.where(RNG.random((N, 6)) < 0.8, TRUTH[:, None], 1 - TRUTH[:, None])
VOTES = np.where(RNG.random((N, 6)) < 0.6, VOTES, -1)


def draw(n, seed=0):
    places = np.random.default_rng(seed).choice(N, n, replace=False)
    return {int(i): int(TRUTH[i]) for i in places}


@pytest.fixture(scope="module")
def model():
    return hl.HyperLabelModel(n_classes=2).fit(VOTES)


def test_student_is_the_quantile_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    for degrees in (5, 20, 199):
        for confidence in (0.8, 0.9, 0.99):
            assert student(confidence, degrees) == pytest.approx(stats.t.ppf((1 + confidence) / 2, degrees), rel=2e-2)


def test_estimate_with_useless_predictions_is_the_mean_of_the_sample():
    truth = RNG.integers(0, 2, (50, 1)).astype(float)
    strata = Strata(np.array([1000]), np.zeros(50, int))
    powered = estimate_means(truth, np.zeros((50, 1)), np.zeros(1), strata)
    assert powered.means[0] == pytest.approx(truth.mean())


def test_estimate_with_exact_predictions_is_their_mean_over_all_items():
    truth = (np.arange(50)[:, None] < 20).astype(float)
    strata = Strata(np.array([1000]), np.zeros(50, int))
    powered = estimate_means(truth, truth, np.array([0.25]), strata)
    assert powered.means[0] == pytest.approx(0.25)
    np.testing.assert_allclose(powered.corrections, 0)


def test_strata_count_by_their_items_and_what_is_known_whole_is_certain():
    truth = np.array([[1.0]] * 10 + [[0.0]] * 10)
    strata = Strata(np.array([10, 90]), np.repeat([0, 1], 10))
    powered = estimate_means(truth, np.zeros((20, 1)), np.zeros(1), strata)
    assert powered.means[0] == pytest.approx(0.1)
    whole = Strata(np.array([10, 10]), np.repeat([0, 1], 10))
    shift, half = spread_of(truth, np.zeros(1), np.ones(1), whole, 0.9)
    assert (shift[0], half[0]) == (0, 0)


def test_intervals_hold_the_truth_and_are_narrower_than_those_of_the_sample(model):
    labels = model.predict(VOTES)
    exact = {"accuracy": (labels == TRUTH).mean(), "F1": f1(TRUTH, labels, 2), "share of 1": TRUTH.mean()}
    found = [dict(hl.estimate(model, VOTES, draw(200, seed)).rows()) for seed in range(150)]
    for name, value in exact.items():
        for way in ("interval", "sample_alone"):
            held = np.mean([getattr(each[name], way).low <= value <= getattr(each[name], way).high for each in found])
            assert held >= 0.9 - 3 * np.sqrt(0.09 / 150)
    assert np.mean([each["share of 1"].narrower for each in found]) > 0.2
    means = {name: np.mean([each[name].interval.value for each in found]) for name in exact}
    assert means == pytest.approx(exact, abs=0.01)


def test_estimates_are_near_with_a_model_that_is_always_wrong():
    wrong = hl.label_model("mv").fit(1 - np.abs(TRUTH[:, None].repeat(3, 1)))
    votes = 1 - TRUTH[:, None].repeat(3, 1)
    found = hl.estimate(wrong, votes, draw(200))
    assert found.shares[1].interval.low <= TRUTH.mean() <= found.shares[1].interval.high
    assert found.accuracy.interval.high < 0.05


def test_f1_needs_gold_of_each_class(model):
    found = hl.estimate(model, VOTES, draw(20))
    assert found.f1 is None
    assert "F1: too little gold of some class" in str(found)


def test_classes_that_only_gold_has_are_estimated_too(model):
    gold = {item: 2 if i % 4 == 0 else c for i, (item, c) in enumerate(draw(200).items())}
    assert hl.estimate(model, VOTES, gold).shares[2].interval.value == pytest.approx(0.25, abs=0.05)


def test_a_class_that_only_gold_has_keeps_its_name():
    names = np.array(["class 2", "class 3", "class 9"], object)
    votes = pl.DataFrame({f"lf{j}": names[column].tolist() for j, column in enumerate(VOTES[:400].clip(0).T)})
    gold = {i: str(names[i % 3]) for i in range(0, 400, 2)}
    alone = {name: share.sample_alone.value for name, share in hl.estimate("mv", votes, gold).shares.items()}
    assert alone == pytest.approx(dict.fromkeys(names.tolist(), 1 / 3), abs=0.01)


def test_stratified_gold_gives_estimates_of_all_items(model):
    covered = []
    for seed in range(20):
        sample = hl.audit_sample(VOTES, 300, strata=3, model=model, seed=seed)
        gold = {int(i): int(TRUTH[i]) for i in sample.items}
        found = hl.estimate(model, VOTES, gold, strata=3).accuracy.interval
        covered.append(found.low <= (model.predict(VOTES) == TRUTH).mean() <= found.high)
    assert sum(covered) >= 14  # of 18 expected; fewer in one of a hundred tests


def test_f1_of_a_stratified_sample_alone_counts_strata_by_their_items():
    truth, labels = np.array([1] * 20 + [1] * 10 + [0] * 10), np.array([1] * 20 + [1, 0] * 10)
    strata = Strata(np.array([100, 900]), np.repeat([0, 1], 20))  # all right in one, half right in the other
    sample = GoldSample(observe(truth, labels, 2), np.eye(2)[labels], strata)
    nothing = np.zeros((40, 5))
    found = estimate_sample(sample, nothing, nothing[0], np.array([0.45, 0.55]), [0, 1], 0.9)
    both = 0.1 + 0.9 / 4
    assert found.f1.sample_alone.value == pytest.approx(2 * both / (both + 0.9 / 4 + both + 0.9 / 4))


def test_too_little_gold_and_wrong_arguments_are_named(model):
    with pytest.raises(hl.VotesError, match="gold has 3 items, 3 in the smallest stratum; expected at least 10"):
        hl.estimate(model, VOTES, draw(3))
    with pytest.raises(hl.ParameterError, match="confidence is 2; expected a number between 0 and 1"):
        hl.estimate(model, VOTES, draw(30), confidence=2)


def test_estimates_print_as_a_table(model):
    lines = str(hl.estimate(model, VOTES, draw(200))).splitlines()
    assert lines[0] == "200 labels by hand, 90% confidence"
    assert lines[1].split("  ")[-1] == "sample alone"
    assert [line.split("  ")[0] for line in lines[2:]] == ["accuracy", "F1", "share of 0", "share of 1"]
    assert "<table>" in hl.estimate(model, VOTES, draw(200))._repr_html_()


def test_command_prints_estimates(hyperlabel, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"id": np.arange(N), **{f"lf{j}": v for j, v in enumerate(VOTES.T)}}).write_csv("votes.csv")
    gold = draw(200)
    pl.DataFrame({"id": list(gold), "gold": list(gold.values())}).write_csv("gold.csv")
    expected = hl.estimate(hl.HyperLabelModel(), VOTES, gold)
    assert hyperlabel("estimate", "votes.csv", "--gold", "gold.csv").out.strip() == str(expected)
    found = json.loads(hyperlabel("estimate", "votes.csv", "--gold", "gold.csv", "--json").out)
    assert found["estimates"]["accuracy"]["interval"]["value"] == pytest.approx(expected.accuracy.interval.value)


def test_repeated_intervals_hold_at_all_looks_together(model):
    accuracy = (model.predict(VOTES) == TRUTH).mean()
    missed = {True: 0, False: 0}
    for seed in range(60):
        order = np.random.default_rng(seed).permutation(N)
        looks = [{int(i): int(TRUTH[i]) for i in order[:size]} for size in range(50, 301, 50)]
        for once in missed:
            intervals = (hl.estimate(model, VOTES, gold, once=once).accuracy.interval for gold in looks)
            missed[once] += any(not low <= accuracy <= high for _, low, high in intervals)
    assert missed[False] <= 6 < missed[True]  # 90% are stated


def test_repeated_command_gives_wider_intervals(tmp_path, hyperlabel):
    votes, gold = tmp_path / "votes.csv", tmp_path / "gold.csv"
    pl.DataFrame(VOTES, schema=[f"lf{j}" for j in range(6)]).with_row_index("id").write_csv(votes)
    items = draw(100)
    pl.DataFrame({"id": list(items), "gold": list(items.values())}).write_csv(gold)
    widths = []
    for more in ([], ["--repeated"]):
        outcome = hyperlabel("estimate", votes, "--gold", gold, "--json", *more)
        interval = json.loads(outcome.out)["estimates"]["accuracy"]["interval"]
        widths.append(interval["high"] - interval["low"])
    assert widths[0] < widths[1]
