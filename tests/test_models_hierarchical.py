from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hyperlabel.errors import ParameterError
from hyperlabel.models import DawidSkene, HierarchicalDawidSkene
from hyperlabel.models._dawid_skene import likeliest_weight

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
# Accuracy in percent of the trial from which this model stems: abstentions ignored, 40 steps.
TRIAL = {
    "crowd_bluebird": 89.8,
    "crowd_cf": 88.7,
    "crowd_face": 64.9,
    "crowd_ms": 78.4,
    "crowd_product": 93.8,
    "crowd_sentiment_d": 95.9,
    "crowd_sp_amt": 94.4,
    "crowd_web": 82.1,
    "crowd_zencrowd_in": 76.0,
}


def sample_crowd(accuracies, n=3000, k=3, coverage=0.1, seed=0):
    """Votes of people, each right with an own probability and otherwise wrong at random."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    shape = n, len(accuracies)
    wrong = (truth[:, None] + rng.integers(1, k, shape)) % k
    votes = np.where(rng.random(shape) < accuracies, truth[:, None], wrong)
    return np.where(rng.random(shape) < coverage, votes, -1), truth


@pytest.mark.skipif(not DATA.exists(), reason="the real sets are not beside the repository")
@pytest.mark.parametrize("name", TRIAL)
def test_hierarchical_on_real_crowd_reaches_the_accuracy_of_the_trial(name):
    data = np.load(DATA / f"{name}.npz")
    accuracy = HierarchicalDawidSkene().fit(data["L"]).score(data["L"], data["y"])
    assert 100 * accuracy == pytest.approx(TRIAL[name], abs=1.05)


def test_hierarchical_with_few_votes_a_person_beats_dawid_skene():
    votes, truth = sample_crowd(np.random.default_rng(1).uniform(0.4, 0.9, 150), n=400, k=5, coverage=0.03)
    truth = np.where((votes >= 0).any(1), truth, -1)
    pooled, alone = HierarchicalDawidSkene().fit(votes), DawidSkene().fit(votes)
    assert pooled.score(votes, truth) > alone.score(votes, truth) + 0.02


def test_hierarchical_learns_the_population_behind_the_votes():
    model = HierarchicalDawidSkene().fit(sample_crowd(np.full(40, 0.8))[0])
    assert_allclose(model.population_, np.where(np.eye(3), 0.8, 0.1), atol=0.02)
    assert_allclose(model.population_.sum(1), 1)
    assert_allclose(model.class_balance_, 1 / 3, atol=0.02)
    assert model.smoothing_ == 2


def test_hierarchical_with_strong_smoothing_gives_every_lf_the_rows_of_the_population():
    model = HierarchicalDawidSkene(smoothing=1e9).fit(sample_crowd(np.linspace(0.5, 0.9, 20))[0])
    assert_allclose(model.confusion_, np.broadcast_to(model.population_, model.confusion_.shape), atol=1e-5)


def test_hierarchical_gives_an_lf_that_never_votes_the_rows_of_the_population():
    votes = sample_crowd(np.linspace(0.5, 0.9, 20))[0]
    votes[:, 4] = -1
    model = HierarchicalDawidSkene(abstain="ignore").fit(votes)
    assert_allclose(model.confusion_[4], model.population_)


def test_hierarchical_learned_smoothing_is_strong_where_lfs_are_alike_and_weak_where_they_differ():
    alike = HierarchicalDawidSkene(smoothing="learned").fit(sample_crowd(np.full(40, 0.75))[0])
    mixed = HierarchicalDawidSkene(smoothing="learned").fit(sample_crowd(np.tile([0.4, 0.95], 20))[0])
    assert alike.smoothing_ >= 64
    assert 2 <= mixed.smoothing_ <= 8


def test_likeliest_weight_is_that_of_the_dirichlet_behind_the_votes():
    rng, mean = np.random.default_rng(0), np.array([[0.8, 0.3], [0.2, 0.7]])  # [vote, class]
    rows = np.stack([rng.dirichlet(8 * mean[:, c], 1000) for c in range(2)], axis=2)  # (m, vote, class)
    first = rng.binomial(30, rows[:, :1]).astype(float)
    assert likeliest_weight(mean, np.concatenate([first, 30 - first], axis=1)) == 8


def test_hierarchical_with_gold_for_all_items_counts_their_votes():
    votes, gold = np.array([[0, 1], [0, 0], [1, 1], [0, 1], [1, 0]]), np.array([0, 0, 0, 1, 1])
    model = HierarchicalDawidSkene().fit(votes, gold)
    population = np.array([[(3 + 1.4) / 8, (3 + 0.6) / 8], [(2 + 0.6) / 6, (2 + 1.4) / 6]])
    assert_allclose(model.population_, population)
    assert_allclose(model.confusion_[0, 0], (np.array([2, 1]) + 2 * population[0]) / 5)


def test_hierarchical_on_one_sided_lfs_does_not_collapse():
    rng = np.random.default_rng(0)
    truth, sides = rng.integers(2, size=2000), np.array([0, 0, 0, 1, 1, 1])
    fires = rng.random((2000, 6)) < np.where(truth[:, None] == sides, 0.6, 0.15)
    votes = np.where(fires, sides, -1)
    truth = np.where(fires.any(1), truth, -1)
    assert HierarchicalDawidSkene().fit(votes).score(votes, truth) > 0.8
    assert HierarchicalDawidSkene(abstain="ignore").fit(votes).score(votes, truth) < 0.6


@pytest.mark.parametrize("smoothing", [0, -1, np.nan, "free"])
def test_hierarchical_with_impossible_smoothing_is_refused(smoothing):
    with pytest.raises(ParameterError, match="smoothing is .*; expected a number above 0, or 'learned'"):
        HierarchicalDawidSkene(smoothing=smoothing).fit([[0, 1], [1, 1]])


def test_hierarchical_with_impossible_abstain_is_refused():
    with pytest.raises(ParameterError, match="abstain is 'no'; expected 'one-sided', 'ignore' or 'outcome'"):
        HierarchicalDawidSkene(abstain="no").fit([[0, 1], [1, 1]])
