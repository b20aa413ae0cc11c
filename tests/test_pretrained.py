import numpy as np
import pandas as pd
import pytest

import hyperlabel as hl
from hyperlabel._core import metrics
from hyperlabel.models import _pretrained as pretrained
from hyperlabel.networks import PaperNetwork, UnrolledNetwork, is_unrolled, load_weights

VOTES = np.array([[0, 1, -1], [1, 1, -1], [-1, -1, -1], [0, 0, 1], [1, -1, 1]])

both_networks = pytest.mark.parametrize("weights", ["hlm", "hlm2", "hlm3"])


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
    assert labels.tolist() == ["spam", "ham", None]


def test_predict_proba_keeps_a_stated_class_that_nobody_votes_for():
    assert hl.HyperLabelModel(n_classes=4).predict_proba(VOTES).shape == (5, 4)
    assert hl.HyperLabelModel(classes=["a", "b", "c"]).predict_proba(VOTES).shape == (5, 3)


def test_predict_with_a_vote_beyond_the_stated_classes_is_refused():
    with pytest.raises(hl.VotesError, match=r"votes\[0, 1\] is 2; expected a class from 0 to 1. Raise n_classes\?"):
        hl.HyperLabelModel(n_classes=2).predict([[0, 2], [1, 1]])


@both_networks
def test_fit_reads_the_set_in_which_new_rows_are_judged(weights):
    votes, _ = random_votes()
    model = hl.HyperLabelModel(weights=weights)
    before = model.predict_proba(votes)
    fitted = model.fit(votes)
    assert fitted is model
    assert fitted.n_iter_ == 0
    assert fitted.classes_.tolist() == [0, 1]
    np.testing.assert_allclose(fitted.predict_proba(votes), before, atol=1e-6)
    row = np.array([[1, 1, -1, -1, -1, -1]])
    alone = hl.HyperLabelModel(weights=weights).predict_proba(row)
    assert not np.allclose(fitted.predict_proba(row), alone, atol=1e-3)  # a set of one row says less of it
    assert fitted.state_ is not None


@both_networks
def test_swapping_the_classes_swaps_the_probabilities(weights):
    votes, _ = random_votes()
    swapped = np.where(votes < 0, -1, 1 - votes)
    before, after = (hl.HyperLabelModel(weights=weights).predict_proba(each) for each in (votes, swapped))
    np.testing.assert_allclose(after[:, ::-1], before, atol=1e-6)


@both_networks
def test_set_that_is_read_in_chunks_gives_the_same_probabilities(weights, monkeypatch):
    votes, _ = random_votes()
    once = hl.HyperLabelModel(weights=weights).fit(votes)
    monkeypatch.setattr(PaperNetwork, "fits", lambda self, patterns: False)
    monkeypatch.setattr(UnrolledNetwork, "fits", lambda self, patterns: False)
    monkeypatch.setattr(pretrained, "_CHUNK", 37)
    chunked = hl.HyperLabelModel(weights=weights).fit(votes)
    np.testing.assert_allclose(chunked.predict_proba(votes), once.predict_proba(votes), atol=1e-5)


@pytest.mark.parametrize(("name", "value"), [("class_balance", [0.5, 0.5]), ("lf_accuracies", [0.8, None, 0.9])])
def test_network_of_the_paper_refuses_what_it_cannot_take(name, value):
    message = f"{name} is given, but the weights 'hlm' are of the paper's network, which takes none; use weights='hlm3'"
    with pytest.raises(hl.ParameterError, match=message):
        hl.HyperLabelModel(weights="hlm", **{name: value}).fit(VOTES)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0.8, 0.7], r"lf_accuracies has shape \(2,\); expected one share for each of the 3 LFs, None where"),
        ([0.8, 1.5, 0.7], r"lf_accuracies has 1.5 at 1; expected a share of right votes from 0 to 1"),
        ("high", r"lf_accuracies is 'high'; expected one share for each of the 3 LFs"),
    ],
)
def test_impossible_accuracies_of_lfs_are_refused(value, message):
    with pytest.raises(hl.ParameterError, match=message):
        hl.HyperLabelModel(lf_accuracies=value).fit(VOTES)


def test_gold_in_passes_is_refused_by_the_network_that_is_fine_tuned():
    patterns = hl.Patterns.from_votes(hl.Votes.from_array(VOTES))
    gold = pretrained.Gold(patterns, np.ones((patterns.n_patterns, 2), np.int64))
    with pytest.raises(hl.ParameterError, match="gold is given, but the weights 'hlm' are fine-tuned on gold, which"):
        hl.HyperLabelModel(weights="hlm").fit_passes(lambda sums: sums(patterns), patterns, gold)


def test_fit_with_gold_moves_probabilities_towards_it_and_leaves_bundled_weights_alone():
    votes, truth = random_votes()
    bundled = {name: array.copy() for name, array in load_weights("hlm").arrays.items()}
    before = hl.HyperLabelModel(weights="hlm").predict_proba(votes)
    model = hl.HyperLabelModel(weights="hlm").fit(votes, gold=truth)
    after = model.predict_proba(votes)
    assert any((model.weights_.arrays[name] != array).any() for name, array in bundled.items())
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


def test_default_weights_are_those_of_hlm3():
    assert load_weights("default") is load_weights("hlm3")
    assert is_unrolled(load_weights("default"))


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
    with pytest.warns(hl.VotesWarning, match="^gold has classes that no LF votes for: 2"):
        model = hl.HyperLabelModel(weights=weights).fit(VOTES, {0: 2, 1: 1})
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(VOTES).shape == (5, 3)


@both_networks
def test_fit_with_gold_on_items_without_votes_alone_learns_nothing(weights):
    model = hl.HyperLabelModel(weights=weights).fit(VOTES, {2: 1})
    assert model.n_iter_ == 0
    plain = hl.HyperLabelModel(weights=weights).fit(VOTES).predict_proba(VOTES)
    np.testing.assert_array_equal(model.predict_proba(VOTES), plain)


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ([0, 1], "gold has 2 entries but votes has 5 items"),
        ({9: 1}, "gold has the item 9, .*expected an index from 0 to 4"),
        ([[0]] * 5, r"gold\[0\] is \[0\] .list.; expected a single value"),
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


def test_score_for_f1_is_that_of_the_labels_for_f1():
    votes, truth = random_votes()
    model = hl.HyperLabelModel(class_balance=[0.9, 0.1]).fit(votes)
    labels = model.predict(votes, metric="f1")
    assert (labels != model.predict(votes)).any()
    assert model.score(votes, truth, metric="f1") == metrics.f1(truth, labels, 2)


def test_score_without_any_truth_is_refused():
    with pytest.raises(hl.ParameterError, match="truth is unknown for every item"):
        hl.HyperLabelModel().score(VOTES, [-1] * 5)


def assert_loaded_exactly(model, votes, path):
    model.save(path)
    loaded = hl.load(path)
    assert loaded.is_fitted == model.is_fitted
    np.testing.assert_array_equal(loaded.predict_proba(votes), model.predict_proba(votes))
    return loaded


@both_networks
def test_model_saved_and_loaded_predicts_the_same(tmp_path, weights):
    votes, truth = random_votes(k=3)
    frame = pd.DataFrame(np.array(["x", "y", "z", None], object)[votes])
    model = hl.HyperLabelModel(weights=weights, tie_break="abstain", seed=5)
    model.fit(frame, {i: "xyz"[truth[i]] for i in range(100)})
    loaded = assert_loaded_exactly(model, frame, tmp_path / "model.safetensors")
    assert loaded.get_params() == model.get_params()
    assert (loaded.n_iter_, loaded.converged_, loaded.n_features_in_) == (model.n_iter_, True, 6)
    assert loaded.classes_.tolist() == ["x", "y", "z"]


@both_networks
def test_model_that_was_never_fitted_can_be_saved(tmp_path, weights):
    loaded = assert_loaded_exactly(
        hl.HyperLabelModel(weights=weights, n_classes=3), VOTES, tmp_path / "model.safetensors"
    )
    assert (loaded.n_classes, loaded.weights) == (3, weights)


def test_known_balance_and_accuracies_are_saved(tmp_path):
    votes, _ = random_votes(k=3)
    model = hl.HyperLabelModel(class_balance=np.array([0.6, 0.3, 0.1]), lf_accuracies=[0.9, None, 0.6, None, None, 0.7])
    loaded = assert_loaded_exactly(model.fit(votes), votes, tmp_path / "model.safetensors")
    assert loaded.class_balance == [0.6, 0.3, 0.1]
    np.testing.assert_array_equal(loaded.fit(votes).predict_proba(votes), model.predict_proba(votes))


@pytest.mark.parametrize("fitted", [True, False])
def test_own_weights_are_saved_with_the_model(tmp_path, make_weights, fitted):
    made = make_weights()
    made.save(tmp_path / "own.safetensors")
    model = hl.HyperLabelModel(weights=tmp_path / "own.safetensors")
    if fitted:
        model.fit(VOTES)
    model.save(tmp_path / "model.safetensors")
    expected = model.predict_proba(VOTES)
    (tmp_path / "own.safetensors").unlink()
    loaded = hl.load(tmp_path / "model.safetensors")
    assert "weights of random" in repr(loaded)
    np.testing.assert_array_equal(loaded.predict_proba(VOTES), expected)


def test_saved_model_given_as_weights_is_refused_with_the_remedy(tmp_path):
    path = tmp_path / "model.safetensors"
    hl.HyperLabelModel().fit(VOTES).save(path)
    with pytest.raises(hl.WeightsError, match=r"holds a saved label model: read it with hyperlabel\.load\(path\)"):
        hl.HyperLabelModel(weights=path).predict(VOTES)


def test_weights_given_as_saved_model_are_refused_with_the_remedy(tmp_path, make_weights):
    make_weights().save(tmp_path / "own.safetensors")
    with pytest.raises(hl.WeightsError, match=r"holds pre-trained weights: give it to HyperLabelModel\(weights="):
        hl.load(tmp_path / "own.safetensors")


def test_label_model_of_an_unknown_name_lists_the_known():
    with pytest.raises(hl.ParameterError, match="no label model 'nope'; expected one of .*hlm"):
        hl.label_model("nope")


def test_set_params_of_an_unknown_name_lists_the_known():
    with pytest.raises(hl.ParameterError, match="HyperLabelModel has no parameter 'depth'; it has weights"):
        hl.HyperLabelModel().set_params(depth=3)


@pytest.mark.parametrize("weights", ["default", "hlm", "own"])
def test_model_that_was_loaded_can_be_saved_again(tmp_path, make_unrolled_weights, weights):
    given = make_unrolled_weights() if weights == "own" else weights
    hl.HyperLabelModel(weights=given).fit([[0, 1, 1], [1, 1, 0]]).save(tmp_path / "one.safetensors")
    one = hl.load(tmp_path / "one.safetensors")
    one.save(tmp_path / "two.safetensors")
    (arrays, header), (same, other) = one.to_arrays(), hl.load(tmp_path / "two.safetensors").to_arrays()
    assert header == other
    assert all(np.array_equal(arrays[name], same[name]) for name in arrays | same)
    assert weights == "own" or one.weights == weights


def test_calibrated_probabilities_are_the_raw_ones_to_the_power_of_the_weights(tmp_path):
    votes, _ = random_votes()
    raw, calibrated = (
        hl.HyperLabelModel(weights="hlm", calibrated=calibrated).fit(votes) for calibrated in (False, True)
    )
    voted = (votes >= 0).any(1)
    expected = raw.predict_proba(votes)[voted] ** load_weights("hlm").header["sharpness"]
    expected /= expected.sum(1, keepdims=True)
    np.testing.assert_allclose(calibrated.predict_proba(votes)[voted], expected, atol=1e-9)
    np.testing.assert_array_equal(calibrated.predict(votes), raw.predict(votes))
    calibrated.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(
        hl.load(tmp_path / "model.safetensors").predict_proba(votes)[voted][:3],
        calibrated.predict_proba(votes)[voted][:3],
    )


def test_calibrated_probabilities_of_synthetic_votes_have_a_lower_brier_score():
    votes, truth = random_votes(k=4)
    scores = [
        metrics.brier(truth, hl.HyperLabelModel(weights="hlm", calibrated=calibrated).predict_proba(votes))
        for calibrated in (False, True)
    ]
    assert scores[1] < scores[0]


def test_calibration_is_refused_where_the_weights_have_none(make_weights, tmp_path):
    with pytest.raises(hl.errors.ParameterError, match="the weights 'hlm3' are of the unrolled network, whose"):
        hl.HyperLabelModel(weights="hlm3", calibrated=True).predict(VOTES)
    path = tmp_path / "own.safetensors"
    make_weights().save(path)
    with pytest.raises(
        hl.errors.ParameterError,
        match="have no sharpness in their header; fit one with python -m experiments sharpness",
    ):
        hl.HyperLabelModel(weights=path, calibrated=True).predict(VOTES)


def test_sensitivity_to_the_balance_is_the_share_of_labels_that_it_changes():
    rng = np.random.default_rng(0)
    truth = (rng.random(600) < 0.1).astype(int)
    votes = np.where(rng.random((600, 5)) < 0.75, truth[:, None], 1 - truth[:, None])
    votes[:20] = -1
    model = hl.HyperLabelModel()
    even = hl.HyperLabelModel(class_balance="uniform").predict(votes)
    expected = (model.predict(votes) != even)[20:].mean()
    assert expected > 0.05
    assert model.balance_sensitivity(votes) == pytest.approx(expected)
    assert model.fit(votes).balance_sensitivity(votes) == pytest.approx(expected)
    assert model.class_balance is None


def test_sensitivity_to_the_balance_of_the_papers_network_is_refused():
    with pytest.raises(hl.errors.ParameterError, match="class_balance is given, but the weights 'hlm'"):
        hl.HyperLabelModel(weights="hlm").balance_sensitivity(VOTES)
