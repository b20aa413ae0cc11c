import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel.data import Patterns
from hyperlabel.errors import ConvergenceWarning, ParameterError
from hyperlabel.models import EBCC
from oracles import ORACLES, on_oracles

pytest.importorskip("scipy")


def load(name):
    """The oracle, which of its items have votes, and what is known of the reference's runs."""
    oracle = np.load(ORACLES / f"{name}.npz")
    runs = json.loads((ORACLES / "provenance.json").read_text(encoding="utf-8"))["per_matrix"][name]
    return oracle, (oracle["L"] >= 0).any(1), runs


@pytest.fixture
def votes():
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 300, p=[0.5, 0.3, 0.2])
    right = rng.random((300, 6)) < 0.7
    cast = np.where(right, truth[:, None], rng.integers(0, 3, (300, 6)))
    return np.where(rng.random((300, 6)) < 0.6, cast, -1)


@on_oracles
@pytest.mark.parametrize("seed", [0, 3])
def test_ebcc_with_the_draw_of_the_reference_gives_its_probabilities_and_bound(name, seed):
    oracle, covered, runs = load(name)
    model = EBCC(draw="items", restarts=1, seed=seed).fit(oracle["L"])
    assert_allclose(model.predict_proba(oracle["L"])[covered], oracle[f"ebcc_s{seed}"][covered], atol=1e-6)
    assert_allclose(model.elbos_, runs[f"ebcc_s{seed}"]["elbo"], atol=1e-6)


@on_oracles
def test_ebcc_of_several_starts_keeps_the_highest_bound(name):
    oracle, covered, runs = load(name)
    model = EBCC(draw="items", restarts=5).fit(oracle["L"])
    assert_allclose(model.predict_proba(oracle["L"])[covered], oracle["ebcc"][covered], atol=1e-6)
    assert model.elbos_.argmax() == runs["ebcc"]["best_seed"]


@pytest.mark.parametrize("name", ["degenerate", "dense_bin", "unipolar"])
def test_ebcc_by_default_agrees_with_the_reference(name):
    oracle, covered, _ = load(name)
    labels = EBCC().fit(oracle["L"]).predict(oracle["L"])[covered]
    assert (labels == oracle["ebcc"].argmax(1)[covered]).mean() > 0.95


def test_ebcc_learns_the_balance_and_the_confusions_behind_the_votes():
    rng = np.random.default_rng(0)
    truth, accuracies = rng.integers(2, size=4000), np.array([0.9, 0.8, 0.7, 0.6, 0.75, 0.85])
    votes = np.where(rng.random((4000, 6)) < accuracies, truth[:, None], 1 - truth[:, None])
    model = EBCC(restarts=2).fit(votes)
    assert_allclose(model.confusion_[:, [0, 1], [0, 1]], np.stack([accuracies] * 2, axis=1), atol=0.04)
    assert_allclose(model.confusion_.sum(2), 1)
    assert_allclose(model.class_balance_, 0.5, atol=0.03)


def test_ebcc_finds_the_subtypes_in_which_lfs_err_together():
    rng = np.random.default_rng(0)
    truth, easy = rng.integers(2, size=3000), rng.random((3000, 1)) < 0.7
    right = np.concatenate([rng.random((3000, 5)) < 0.9, np.tile(easy, 3)], axis=1)
    votes = np.where(right, truth[:, None], 1 - truth[:, None])
    shares = EBCC(restarts=5).fit(votes).subtype_shares_
    assert ((shares > 0.25).sum(1) >= 2).all()
    assert (np.abs(shares - 0.3).min(1) < 0.03).all()


def test_ebcc_with_one_subtype_has_one_start(votes):
    elbos = EBCC(subtypes=1, restarts=3).fit(votes).elbos_
    assert_allclose(elbos, elbos[0])


def test_ebcc_of_the_same_seed_gives_the_same_and_reports_each_start(votes):
    one, two = (EBCC(restarts=3, seed=4).fit(votes) for _ in range(2))
    assert_array_equal(one.predict_proba(votes), two.predict_proba(votes))
    assert one.elbos_.shape == (3,)
    assert len(set(one.elbos_)) > 1


def test_ebcc_when_items_are_permuted_gives_the_same(votes):
    order = np.random.default_rng(1).permutation(len(votes))
    straight, permuted = EBCC(restarts=2).fit(votes), EBCC(restarts=2).fit(votes[order])
    assert_allclose(permuted.predict_proba(votes), straight.predict_proba(votes), atol=1e-9)


@pytest.mark.parametrize("draw", ["patterns", "items"])
def test_ebcc_when_items_without_votes_are_added_learns_the_same(votes, draw):
    votes = votes[(votes >= 0).any(1)]
    longer = np.concatenate([np.full((20, 6), -1), votes])
    alone, beside = (EBCC(restarts=2, draw=draw).fit(v) for v in (votes, longer))
    if draw == "items":
        assert_allclose(beside.predict_proba(votes), alone.predict_proba(votes), atol=1e-9)
    assert (beside.predict(votes) == alone.predict(votes)).mean() > 0.95


def test_ebcc_predicts_votes_that_it_did_not_learn_from(votes):
    votes[:, 0][votes[:, 0] == 2] = -1  # the first LF never votes for class 2 in fit
    model = EBCC(restarts=2).fit(votes)
    unseen = model.predict_proba([[2, -1, -1, -1, -1, -1], [2, 2, 2, 2, 2, 2]])
    assert_allclose(unseen.sum(1), 1)
    assert unseen[1, 2] > 0.9


def test_ebcc_with_a_stated_class_balance_leans_towards_it(votes):
    leaning = EBCC(restarts=2, class_balance=[0.05, 0.05, 0.9]).fit(votes)
    assert leaning.class_balance_[2] > EBCC(restarts=2).fit(votes).class_balance_[2] + 0.2


@pytest.mark.parametrize("draw", ["patterns", "items"])
def test_ebcc_on_odd_votes_gives_finite_probabilities(draw):
    rng = np.random.default_rng(0)
    wide, many = rng.integers(-1, 2, (20, 300)), rng.integers(-1, 40, (80, 4))
    for odd in ([[0]], [[-1, -1]], [[1, 1], [1, -1]], [[0, -1], [1, -1], [-1, -1]], wide, many):
        model = EBCC(restarts=2, draw=draw).fit(odd)
        assert_allclose(model.predict_proba(odd).sum(1), 1)
        assert np.isfinite(model.elbos_).all()


def test_ebcc_of_a_class_nobody_votes_for_gives_it_no_probability(votes):
    model = EBCC(restarts=2, n_classes=4).fit(votes)
    assert_allclose(model.predict_proba(votes)[(votes >= 0).any(1), 3], 0, atol=1e-12)


def test_ebcc_stopped_early_warns(votes):
    with pytest.warns(ConvergenceWarning, match="EBCC did not converge in 2 iterations"):
        EBCC(restarts=1, max_iter=2).fit(votes)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"subtypes": 0}, "subtypes is 0; expected a whole number, at least 1"),
        ({"restarts": 0}, "restarts is 0; expected a whole number, at least 1"),
        ({"max_iter": -1}, "max_iter is -1; expected a whole number, at least 1"),
        ({"draw": "rows"}, "draw is 'rows'; expected 'patterns' or 'items'"),
        ({"tol": -1}, "tol is -1; expected a number, 0 or more"),
        ({"class_balance": [0.5, 0.5]}, "expected one probability for each of the 3 classes"),
    ],
)
def test_ebcc_with_impossible_parameters_is_refused(votes, params, message):
    with pytest.raises(ParameterError, match=message):
        EBCC(**params).fit(votes)


def test_ebcc_takes_an_lf_that_was_silent_for_what_the_prior_says(votes):
    silent = np.column_stack([votes, np.full(len(votes), -1)])
    model = EBCC(restarts=3).fit(silent)
    k = len(model.classes_)
    expected = np.where(np.eye(k, dtype=bool), 4, 1) / (3 + k)
    assert_allclose(model.confusion_[-1], expected)


def test_ebcc_with_the_draw_of_items_needs_items(votes):
    with pytest.raises(ParameterError, match="draw='items' needs items, but these votes were only counted; use"):
        EBCC(draw="items").fit(Patterns.from_chunks([votes]))
