"""Classes that have an order: labels lean to the median."""

import numpy as np
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.export._formula import find_formula
from hyperlabel.models._context import lean_to_median

K = 5


def stars(seed=0, n=400, m=8):
    """Stars from 0 to 4 by judges who are off by one or two."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, K, n)
    noise = rng.normal(0, 0.5, m) + rng.uniform(0.5, 1.6, m) * rng.normal(0, 1, (n, m))
    votes = np.clip(np.rint(truth[:, None] + noise), 0, K - 1).astype(int)
    return np.where(rng.random((n, m)) < 0.6, votes, -1), truth


VOTES, TRUTH = stars()


@pytest.mark.parametrize("name", ["hlm3", "mv"])
def test_order_makes_labels_of_noisy_scales_better(name):
    plain, ordered = (hl.label_model(name, ordinal=ordinal, n_classes=K).fit(VOTES) for ordinal in (False, True))
    assert (ordered.predict(VOTES) == TRUTH).mean() > (plain.predict(VOTES) == TRUTH).mean()


@pytest.mark.parametrize("name", ["hlm3", "mv", "ds", "hds"])
def test_order_is_off_by_default_and_changes_nothing_for_two_classes(name):
    two = np.where(VOTES < 0, -1, VOTES // 3)
    default, ordered = hl.label_model(name), hl.label_model(name, ordinal=True)
    np.testing.assert_array_equal(default.fit_predict_proba(two), ordered.fit_predict_proba(two))
    assert not default.ordinal


@pytest.mark.parametrize("name", ["hlm3", "mv", "ds"])
def test_saved_model_of_ordered_classes_says_the_same(name, tmp_path):
    gold = {i: int(TRUTH[i]) for i in range(10)}
    model = hl.label_model(name, ordinal=True, n_classes=K).fit(VOTES, gold)
    model.save(tmp_path / "model.safetensors")
    loaded = hl.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(VOTES), model.predict_proba(VOTES))
    np.testing.assert_allclose(model.predict_proba(VOTES[:7]), model.predict_proba(VOTES)[:7], atol=1e-12)


def test_median_is_the_label_where_it_is_nearly_best():
    shares = np.array([[0.35, 0.3, 0.3, 0.05], [0.45, 0.1, 0.0, 0.45], [0.0, 0.1, 0.2, 0.7], [0.5, 0.4, 0.1, 0.0]])
    assert lean_to_median(shares.argmax(1), shares).tolist() == [1, 0, 3, 0]
    assert lean_to_median(np.full(4, -1), shares).tolist() == [-1] * 4
    three = np.array([[0.35, 0.32, 0.33]])
    assert lean_to_median(np.array([0]), three).tolist() == [0]


def test_labels_of_a_majority_lean_to_the_median():
    model = hl.label_model("mv", ordinal=True, n_classes=5)
    assert model.fit_predict([[1, 3, 2], [1, 3, 3], [0, 4, -1], [-1, -1, -1]]).tolist() == [2, 3, 0, -1]
    plain = hl.label_model("mv", n_classes=5).fit_predict_proba([[1, 3, 2]])
    np.testing.assert_array_equal(model.predict_proba([[1, 3, 2]]), plain)


def peaked(votes_per_item, seed=0, n=800, m=40):
    """Stars, most of them in the middle, as a crowd gives them."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(K, n, p=[0.05, 0.15, 0.5, 0.2, 0.1])
    noise = rng.normal(0, 0.5, m) + rng.uniform(0.5, 1.6, m) * rng.normal(0, 1, (n, m))
    votes = np.clip(np.rint(truth[:, None] + noise), 0, K - 1).astype(int)
    return np.where(np.argsort(rng.random((n, m)), 1) < votes_per_item, votes, -1), truth


@pytest.mark.parametrize("votes_per_item", [3, 12])
def test_order_does_not_hurt_where_most_items_are_in_the_middle(votes_per_item):
    votes, truth = peaked(votes_per_item)
    plain, ordered = (hl.HyperLabelModel(ordinal=o, n_classes=K).fit_predict(votes) for o in (False, True))
    assert (ordered == truth).mean() >= (plain == truth).mean()


def test_contributions_are_one_row_per_vote():
    model = hl.HyperLabelModel(ordinal=True, n_classes=K).fit(VOTES)
    patterns = model.read(VOTES)
    assert model.contributions(patterns).shape == (len(patterns.lf), K)
    assert str(model.explain(VOTES, 0))


def test_partial_votes_and_order_go_together():
    pairs = [("low", "!high"), ("mid", "mid|high"), ("high", "high"), ("low", "low")]
    rows = [{"a": a, "b": b} for a, b in pairs]
    votes = hl.Votes.from_frame(rows, classes=["low", "mid", "high"])
    found = hl.HyperLabelModel(ordinal=True).fit_predict_proba(votes)
    np.testing.assert_allclose(found.sum(1), 1)


def test_streamed_fit_is_that_of_memory():
    model = hl.HyperLabelModel(ordinal=True, n_classes=K)
    frame = pl.DataFrame(VOTES, schema=[f"lf{j}" for j in range(8)])
    streamed = hl.engines.label(frame, model=model, probabilities=True, n_classes=K, max_patterns=1)
    found = streamed.select(f"p_{c}" for c in range(K)).to_numpy()
    np.testing.assert_allclose(found, model.fit_predict_proba(VOTES), atol=1e-6)


def test_what_cannot_be_ordered_is_refused():
    words = [{"a": "low", "b": "mid"}, {"a": "high", "b": "mid"}]
    with pytest.raises(hl.ParameterError, match="order of the classes 'high', 'low', 'mid' is only that of the"):
        hl.HyperLabelModel(ordinal=True).predict(words)
    stated = hl.HyperLabelModel(ordinal=True, classes=["low", "mid", "high"])
    assert len(stated.predict(words)) == 2
    with pytest.raises(hl.ParameterError, match="ordinal is 'yes'; expected True or False"):
        hl.HyperLabelModel(ordinal="yes").fit(VOTES)
    with pytest.raises(hl.ParameterError, match="leans to the median of ordered classes, and SQL has no"):
        find_formula(hl.HyperLabelModel(ordinal=True).fit(VOTES))


def test_command_takes_an_order(hyperlabel, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = np.array(["bad", "poor", "fair", "good", "best", None], object)
    pl.DataFrame({f"lf{j}": names[VOTES[:, j]].tolist() for j in range(8)}).write_csv("votes.csv")
    stated = ["--classes", "bad,poor,fair,good,best"]
    outcome = hyperlabel("label", "votes.csv", "--ordinal", *stated, "-o", "out.csv")
    assert outcome.code == 0, outcome.err
    want = hl.HyperLabelModel(ordinal=True, n_classes=K).predict(VOTES)
    found = pl.read_csv("out.csv")["label"].to_list()
    assert found == [None if c < 0 else names[c] for c in want]
    outcome = hyperlabel("label", "votes.csv", "--ordinal", "-o", "out.csv")
    assert "--ordinal is given without --classes; expected the classes from low to high" in outcome.err
    outcome = hyperlabel("label", "votes.csv", "--ordinal", *stated, "--model", "fs", "-o", "out.csv")
    assert "--ordinal is given, but the label model 'fs' takes none" in outcome.err
