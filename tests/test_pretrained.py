import numpy as np
import pandas as pd
import pytest

import hyperlabel as hl
from hyperlabel.weights import load_weights

VOTES = np.array([[0, 1, -1], [1, 1, -1], [-1, -1, -1], [0, 0, 1], [1, -1, 1]])

both_networks = pytest.mark.parametrize("weights", ["hlm", "hlm2"])


def random_votes(n=400, m=6, k=2, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    votes = np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(0, k, (n, m)))
    return np.where(rng.random((n, m)) < 0.5, votes, -1), truth


@both_networks
def test_predict_with_reliable_lfs_beats_a_single_lf(weights):
    votes, truth = random_votes()
    voted = (votes >= 0).any(1)
    right = (hl.HyperLabelModel(weights=weights).predict(votes) == truth)[voted].mean()
    one = (votes[:, 0] == truth)[votes[:, 0] >= 0].mean()
    assert right > one


def test_predict_of_named_classes_returns_names():
    frame = pd.DataFrame({"a": ["spam", None, None], "b": ["spam", "ham", None]})
    labels = hl.HyperLabelModel().predict(frame)
    assert labels.tolist() == ["spam", "ham", -1]


def test_predict_proba_keeps_a_stated_class_that_nobody_votes_for():
    assert hl.HyperLabelModel(n_classes=4).predict_proba(VOTES).shape == (5, 4)
    assert hl.HyperLabelModel(classes=["a", "b", "c"]).predict_proba(VOTES).shape == (5, 3)


def test_predict_with_a_vote_beyond_the_stated_classes_is_refused():
    with pytest.raises(hl.VotesError, match=r"votes\[0, 1\] is 2; expected a class from 0 to 1. Raise n_classes\?"):
        hl.HyperLabelModel(n_classes=2).predict([[0, 2], [1, 1]])


def test_fit_without_gold_learns_nothing():
    model = hl.HyperLabelModel()
    before = model.predict_proba(VOTES)
    fitted = model.fit(VOTES)
    assert fitted is model
    assert fitted.n_iter_ == 0
    assert fitted.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(fitted.predict_proba(VOTES), before)


def test_fit_with_gold_moves_probabilities_towards_it_and_leaves_bundled_weights_alone():
    votes, truth = random_votes()
    bundled = {name: array.copy() for name, array in load_weights("hlm").arrays.items()}
    before = hl.HyperLabelModel(weights="hlm").predict_proba(votes)
    model = hl.HyperLabelModel(weights="hlm").fit(votes, gold=truth)
    after = model.predict_proba(votes)
    rows = np.flatnonzero((votes >= 0).any(1))
    assert model.n_iter_ == int(np.sqrt(len(rows)))
    assert -np.log(after[rows, truth[rows]]).mean() < -np.log(before[rows, truth[rows]]).mean()
    for name, array in load_weights("hlm").arrays.items():
        np.testing.assert_array_equal(array, bundled[name])
    np.testing.assert_array_equal(hl.HyperLabelModel(weights="hlm").predict_proba(votes), before)


@both_networks
def test_fit_with_gold_twice_gives_the_same_probabilities(weights):
    votes, truth = random_votes(k=3)
    gold = np.where(np.arange(len(truth)) % 5 == 0, truth, -1)
    once = hl.HyperLabelModel(weights=weights).fit(votes, gold)
    first = once.predict_proba(votes)
    np.testing.assert_array_equal(once.fit(votes, gold).predict_proba(votes), first)
    np.testing.assert_array_equal(hl.HyperLabelModel(weights=weights).fit(votes, gold).predict_proba(votes), first)


def test_default_weights_are_those_of_hlm2():
    assert load_weights("default") is load_weights("hlm2")
    assert load_weights("default").is_unrolled


@both_networks
def test_fit_with_gold_as_mapping_equals_gold_as_array(weights):
    votes, truth = random_votes()
    gold = np.full(len(truth), -1)
    gold[[3, 10, 50, 51]] = truth[[3, 10, 50, 51]]
    mapping = {i: int(truth[i]) for i in (3, 10, 50, 51)}
    by_array = hl.HyperLabelModel(weights=weights).fit(votes, gold).predict_proba(votes)
    by_mapping = hl.HyperLabelModel(weights=weights).fit(votes, mapping).predict_proba(votes)
    np.testing.assert_array_equal(by_mapping, by_array)


@both_networks
def test_fit_with_gold_of_a_class_that_nobody_votes_for_adds_the_class(weights):
    model = hl.HyperLabelModel(weights=weights).fit(VOTES, {0: 2, 1: 1})
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(VOTES).shape == (5, 3)


@both_networks
def test_fit_with_gold_on_items_without_votes_alone_learns_nothing(weights):
    model = hl.HyperLabelModel(weights=weights).fit(VOTES, {2: 1})
    assert model.n_iter_ == 0
    plain = hl.HyperLabelModel(weights=weights).predict_proba(VOTES)
    np.testing.assert_array_equal(model.predict_proba(VOTES), plain)


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ([0, 1], "gold has 2 entries but votes has 5 items"),
        ({9: 1}, "gold has the item 9, .*expected an index from 0 to 4"),
        ([[0]] * 5, r"gold\[0\] is \[0\], a list; expected a single value"),
    ],
)
def test_fit_with_wrong_gold_says_what_is_wrong(gold, message):
    with pytest.raises(hl.VotesError, match=message):
        hl.HyperLabelModel().fit(VOTES, gold)


def test_fit_with_gold_of_an_unknown_class_is_refused_when_classes_are_stated():
    with pytest.raises(hl.VotesError, match=r"gold\[0\] is 7; expected one of the classes 0, 1"):
        hl.HyperLabelModel(n_classes=2).fit(VOTES, [7, -1, -1, -1, -1])


def symmetric_ties(k=4):
    """Every class once, on one item: by symmetry all are tied."""
    return np.arange(k)[None].repeat(3, 0)


@both_networks
def test_predict_of_exact_ties_follows_tie_break(weights):
    def model(tie_break, seed=0):
        return hl.HyperLabelModel(weights=weights, tie_break=tie_break, seed=seed)

    votes = symmetric_ties()
    np.testing.assert_allclose(model("first").predict_proba(votes), 0.25, atol=1e-7)
    assert model("first").predict(votes).tolist() == [0, 0, 0]
    assert model("abstain").predict(votes).tolist() == [-1, -1, -1]
    drawn = {model("random", seed).predict(votes)[0] for seed in range(30)}
    assert drawn == {0, 1, 2, 3}


def test_predict_with_random_ties_depends_on_votes_and_seed_not_on_place():
    votes = np.concatenate([symmetric_ties(), np.roll(symmetric_ties(), 1, axis=1)])
    labels = hl.HyperLabelModel(tie_break="random", seed=3).predict(votes)
    assert len(set(labels[:3])) == len(set(labels[3:])) == 1
    np.testing.assert_array_equal(hl.HyperLabelModel(tie_break="random", seed=3).predict(votes[::-1]), labels[::-1])


def test_predict_with_an_unknown_tie_break_is_refused():
    with pytest.raises(hl.ParameterError, match="tie_break is 'coin'; expected"):
        hl.HyperLabelModel(tie_break="coin").predict(VOTES)


def test_score_counts_items_with_known_truth_alone():
    votes = np.array([[1, 1], [0, 0], [1, 1], [0, 0], [-1, -1]])
    model = hl.HyperLabelModel()
    assert model.score(votes, [1, 0, 0, -1, -1]) == pytest.approx(2 / 3)
    assert model.score(votes, [1, 0, 0, -1, 1]) == pytest.approx(2 / 4)
    assert model.score(votes, [1, 0, 0, -1, -1], metric="f1") == pytest.approx(2 / 3)


def test_score_without_any_truth_is_refused():
    with pytest.raises(hl.ParameterError, match="truth is unknown for every item"):
        hl.HyperLabelModel().score(VOTES, [-1] * 5)


@both_networks
def test_model_saved_and_loaded_predicts_the_same(tmp_path, weights):
    votes, truth = random_votes(k=3)
    frame = pd.DataFrame(np.array(["x", "y", "z", None], object)[votes])
    model = hl.HyperLabelModel(weights=weights, tie_break="abstain", seed=5)
    model.fit(frame, {i: "xyz"[truth[i]] for i in range(100)})
    model.save(tmp_path / "model.safetensors")
    loaded = hl.HyperLabelModel.load(tmp_path / "model.safetensors")
    assert loaded.get_params() == {**model.get_params(), "weights": str(tmp_path / "model.safetensors")}
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    assert loaded.classes_.tolist() == ["x", "y", "z"]


def test_model_that_was_never_fitted_can_be_saved(tmp_path):
    hl.HyperLabelModel(n_classes=3).save(tmp_path / "m.safetensors")
    loaded = hl.HyperLabelModel.load(tmp_path / "m.safetensors")
    assert loaded.n_classes == 3
    np.testing.assert_array_equal(loaded.predict_proba(VOTES), hl.HyperLabelModel(n_classes=3).predict_proba(VOTES))


def test_label_model_of_an_unknown_name_lists_the_known():
    with pytest.raises(hl.ParameterError, match="no label model 'nope'; expected one of .*hlm"):
        hl.label_model("nope")


def test_set_params_of_an_unknown_name_lists_the_known():
    with pytest.raises(hl.ParameterError, match="HyperLabelModel has no parameter 'depth'; it has weights"):
        hl.HyperLabelModel().set_params(depth=3)
