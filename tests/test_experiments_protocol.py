import itertools
import json

import numpy as np
import pytest

from experiments.datasets import DataSet, load_datasets
from experiments.protocol import (
    BINS,
    ceiling,
    check_models,
    fit_best_prior,
    majority_balance,
    make_model,
    reliability,
    score,
)
from hyperlabel import ParameterError, WeightsError
from tests.conftest import DATA

ANCHORS = json.loads((DATA / "anchors.json").read_text(encoding="utf-8")) if DATA.exists() else {}


def make_data(votes, truth, metric="accuracy", k=2):
    votes, truth = np.array(votes), np.array(truth)
    return DataSet("made", "other", metric, k, votes, truth, None, np.arange(len(votes)))


@pytest.fixture
def noisy():
    """Three LFs on 300 items, two thirds of which are of class 1."""
    rng = np.random.default_rng(0)
    truth = (rng.random(300) < 2 / 3).astype(np.int64)
    votes = np.where(rng.random((300, 4)) < 0.75, truth[:, None], 1 - truth[:, None])
    return make_data(np.where(rng.random((300, 4)) < 0.6, votes, -1), truth, "f1")


@pytest.mark.skipif(not ANCHORS, reason="the real sets are not beside the repository")
@pytest.mark.parametrize("name", ANCHORS)
def test_majority_vote_and_ceiling_of_a_real_set_match_its_anchors(name):
    [data] = load_datasets(DATA, [name])
    assert score(data, make_model("mv", data).predict(data.votes)) == pytest.approx(ANCHORS[name]["mv"], abs=0.1)
    assert ceiling(data) == pytest.approx(ANCHORS[name]["ceiling"], abs=0.1)


def test_score_counts_items_with_known_truth_only():
    data = make_data([[0], [1], [1], [0]], [0, 1, 0, -1])
    assert score(data, np.array([0, 1, 1, 1])) == pytest.approx(100 * 2 / 3)


def test_score_of_an_item_without_label_is_wrong():
    data = make_data([[0], [1]], [0, 1])
    assert score(data, np.array([-1, 1])) == 50


def test_score_f1_agrees_with_precision_and_recall():
    data = make_data([[0]] * 6, [1, 1, 1, 0, 0, -1], "f1")
    labels = np.array([1, 1, 0, 1, 0, 1])
    precision, recall = 2 / 3, 2 / 3
    assert score(data, labels) == pytest.approx(100 * 2 * precision * recall / (precision + recall))


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_ceiling_is_the_best_score_of_all_functions_of_patterns(metric):
    rng = np.random.default_rng(3)
    for _ in range(20):
        votes, truth = rng.integers(-1, 2, (40, 2)), rng.integers(-1, 2, 40)
        votes[(votes < 0).all(1), 0] = 0
        data = make_data(votes, truth, metric)
        patterns, inverse = np.unique(votes, axis=0, return_inverse=True)
        best = max(score(data, np.array(f)[inverse.ravel()]) for f in itertools.product((0, 1), repeat=len(patterns)))
        assert ceiling(data) == pytest.approx(best)


def test_reliability_sorts_items_by_confidence():
    probabilities = np.array([[0.55, 0.45], [0.02, 0.98], [1.0, 0.0], [0.9, 0.1]])
    bins = reliability(probabilities, np.array([1, 1, 0, -1]))
    assert {name: len(values) for name, values in bins.items()} == dict.fromkeys(("items", "confidence", "right"), BINS)
    assert (bins["items"][5], bins["items"][9]) == (1, 2)
    assert (bins["right"][5], bins["right"][9]) == (0, 2)
    assert bins["confidence"][9] == pytest.approx(1.98)


def test_fit_best_prior_of_a_model_that_requires_one_takes_the_better(noisy):
    fitted = fit_best_prior(noisy, "metal")
    assert set(fitted.scores) == {"uniform", "majority vote"}
    assert fitted.scores[fitted.prior] == max(fitted.scores.values()) == score(noisy, fitted.labels)


def test_fit_best_prior_gives_majority_votes_balance(noisy):
    shares = majority_balance(noisy)
    model = make_model("metal", noisy, class_balance=shares).fit(noisy.votes)
    assert shares.sum() == pytest.approx(1)
    assert fit_best_prior(noisy, "metal").scores["majority vote"] == score(noisy, model.predict(noisy.votes))


def test_fit_best_prior_of_a_model_that_learns_its_balance_leaves_it_alone(noisy):
    fitted = fit_best_prior(noisy, "ds")
    own = make_model("ds", noisy).fit(noisy.votes)
    assert (fitted.prior, set(fitted.scores)) == ("own", {"own", "uniform", "majority vote"})
    np.testing.assert_array_equal(fitted.probabilities, own.predict_proba(noisy.votes))


def test_fit_best_prior_of_a_model_without_balance_fits_once(noisy):
    fitted = fit_best_prior(noisy, "hlm")
    assert set(fitted.scores) == {"own"}
    assert fitted.probabilities.shape == (300, 2)


def test_check_models_on_a_model_that_needs_gold_says_so():
    with pytest.raises(ParameterError, match="models has 'rf', which learns from gold alone; expected some of .*hlm"):
        check_models(["mv", "rf"])


def test_check_models_on_an_unknown_name_or_file_is_an_error():
    with pytest.raises(ParameterError, match="no label model 'xyz'"):
        check_models(["xyz"])
    with pytest.raises(WeightsError):
        check_models(["nowhere.safetensors"])
