"""Adversarial multi-class learning: against the authors' code, the guarantee of its loss, and when it gives up."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel import load
from hyperlabel.errors import ConvergenceWarning, ParameterError
from hyperlabel.models import AMCL, RandomForest
from oracles import ORACLES

pytest.importorskip("scipy")

SMALL_FOREST = RandomForest(n_trees=5, max_depth=(None,), min_samples_split=(2,))


def read_oracle(name):
    return np.load(ORACLES / f"{name}.npz")


def sample(accuracies=(0.9, 0.7, 0.6, 0.6), n=120, k=3, coverage=0.7, seed=0):
    """Votes, truth, and gold for a third of the items."""
    rng = np.random.default_rng(seed)
    truth, m = rng.integers(k, size=n), len(accuracies)
    wrong = (truth[:, None] + rng.integers(1, k, size=(n, m))) % k
    votes = np.where(rng.random((n, m)) < accuracies, truth[:, None], wrong)
    votes = np.where(rng.random((n, m)) < coverage, votes, -1)
    return votes, truth, np.where(np.arange(n) % 3 == 0, truth, -1)


def half_brier(probabilities, truth):
    """(n, k), (n,) -> mean loss."""
    return np.mean((probabilities**2).sum(1) - 2 * probabilities[np.arange(len(truth)), truth] + 1) / 2


# The reference is infeasible on the binary sets with the slack of 0 it ships with, so it ran with its own formula.
@pytest.mark.parametrize(
    ("name", "slack", "steps"), [("dense_bin", None, 300), ("sparse_bin", None, 120), ("multi4", 0, 100)]
)
def test_weights_with_uniform_filling_equal_the_reference(name, slack, steps):
    oracle = read_oracle(name)
    items = np.concatenate([oracle["semi_idx"], oracle["amcl_unlabeled_idx"]])
    gold = np.full(len(items), -1)
    gold[: len(oracle["semi_y"])] = oracle["semi_y"]
    model = AMCL(fill="uniform", slack=slack, max_iter=steps).fit(oracle["L"][items], gold)
    assert_allclose(model.weights_, oracle["amcl_theta"], atol=1e-4)
    covered = (oracle["L"] >= 0).any(1)
    assert_allclose(model.predict_proba(oracle["L"])[covered], oracle["amcl"][covered], atol=1e-4)


def test_abstentions_count_as_votes_for_the_majority():
    votes, _, gold = sample()
    counts = (votes[:, :, None] == np.arange(3)).sum(1)
    untied = np.sort(counts, axis=1)[:, -1] > np.sort(counts, axis=1)[:, -2]
    votes, gold, winner = votes[untied], gold[untied], counts[untied].argmax(1)
    filled = np.where(votes < 0, winner[:, None], votes)
    model, other = AMCL(slack=0.1, max_iter=20).fit(votes, gold), AMCL(slack=0.1, max_iter=20).fit(filled, gold)
    assert_allclose(model.weights_, other.weights_, atol=1e-9)
    assert_allclose(model.predict_proba(votes), other.predict_proba(filled), atol=1e-9)


def test_abstentions_of_a_tied_pattern_are_shared_by_its_classes():
    votes, _, gold = sample()
    model = AMCL(slack=0.1, max_iter=20).fit(votes, gold)
    first, second, *rest = model.weights_
    shared = sum(rest) / 2
    assert_allclose(model.predict_proba([[0, 2, -1, -1]]), [[first + shared, 0, second + shared]])


def test_loss_on_hidden_items_is_below_the_worst_loss_if_the_truth_is_possible():
    votes, truth, gold = sample(coverage=1.0)
    hidden = gold < 0
    risks = [(votes[items] != truth[items, None]).mean(0) for items in (hidden, ~hidden)]
    slack = np.abs(risks[0] - risks[1]).max() + 1e-6
    model = AMCL(slack=slack, max_iter=50).fit(votes, gold)
    assert half_brier(model.predict_proba(votes)[hidden], truth[hidden]) <= model.worst_loss_ + 1e-9


def test_weights_are_on_the_simplex_and_prefer_the_better_lfs():
    votes, truth, gold = sample(accuracies=(0.5, 0.5, 0.95, 0.5), coverage=1.0)
    model = AMCL(slack=0.1).fit(votes, gold)
    assert model.weights_.sum() == pytest.approx(1)
    assert (model.weights_ >= 0).all()
    assert model.weights_.argmax() == 2
    assert model.score(votes, truth) > 0.9
    assert (model.n_iter_, model.forest_) == (500, None)


def test_worst_loss_falls_with_the_number_of_steps():
    votes, _, gold = sample()
    losses = [AMCL(slack=0.1, max_iter=steps).fit(votes, gold).worst_loss_ for steps in (0, 10, 100)]
    assert losses[0] > losses[1] > losses[2]
    assert_allclose(AMCL(slack=0.1, max_iter=0).fit(votes, gold).weights_, 0.25)


def test_fit_when_every_item_has_gold_uses_all_items():
    votes, truth, _ = sample(accuracies=(0.5, 0.5, 0.95, 0.5))
    model = AMCL(max_iter=100).fit(votes, truth)
    assert model.weights_.argmax() == 2


def test_items_without_votes_change_nothing():
    votes, _, gold = sample()
    silent = np.full((30, 4), -1)
    longer = AMCL(max_iter=10, slack=0.1).fit(
        np.concatenate([votes, silent]), np.concatenate([gold, np.zeros(30, int)])
    )
    assert_allclose(longer.weights_, AMCL(max_iter=10, slack=0.1).fit(votes, gold).weights_, atol=1e-9)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"slack": 0}, "no labels give every LF a risk within its slack"),
        ({"max_coefficients": 99}, r"\d+ coefficients are more than max_coefficients=99"),
    ],
)
def test_program_without_solution_falls_back_to_the_forest(params, reason):
    votes, _, gold = sample(coverage=1.0)
    model = AMCL(**params, forest=SMALL_FOREST)
    with pytest.warns(ConvergenceWarning, match=rf"AMCL has no solution \({reason}\); a random forest took its place"):
        model.fit(votes, gold)
    forest = RandomForest(**SMALL_FOREST.get_params()).fit(votes, gold)
    assert_array_equal(model.predict_proba(votes), forest.predict_proba(votes))
    assert model.weights_ is None
    assert model.worst_loss_ is None
    assert model.forest_.is_fitted
    assert not SMALL_FOREST.is_fitted


def test_model_whose_forest_took_over_is_saved_with_it(tmp_path):
    votes, _, gold = sample(coverage=1.0)
    with pytest.warns(ConvergenceWarning, match="a random forest took its place"):
        model = AMCL(slack=0, forest=SMALL_FOREST).fit(votes, gold)
    model.save(tmp_path / "amcl.safetensors")
    loaded = load(tmp_path / "amcl.safetensors")
    assert loaded.weights_ is None
    assert isinstance(loaded.forest, RandomForest)
    assert_array_equal(loaded.forest_.importances_, model.forest_.importances_)
    assert_array_equal(loaded.predict_proba(votes), model.predict_proba(votes))


def test_weights_of_a_loaded_model_are_those_that_were_saved(tmp_path):
    votes, _, gold = sample()
    model = AMCL(slack=0.1, max_iter=10).fit(votes, gold)
    model.save(tmp_path / "amcl.safetensors")
    loaded = load(tmp_path / "amcl.safetensors")
    assert_array_equal(loaded.weights_, model.weights_)
    assert (loaded.worst_loss_, loaded.forest_) == (model.worst_loss_, None)


def test_fit_without_gold_raises():
    with pytest.raises(ParameterError, match="AMCL learns from gold and was given no gold"):
        AMCL().fit([[0, 1], [1, 1]])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"fill": "zero"}, "fill is 'zero'; expected 'majority' or 'uniform'"),
        ({"slack": -1}, "slack is -1; expected a number, 0 or more, or None"),
        ({"max_iter": -1}, "max_iter is -1; expected a whole number, 0 or more"),
    ],
)
def test_parameter_outside_its_range_raises(params, message):
    with pytest.raises(ParameterError, match=message):
        AMCL(**params).fit([[0, 1], [1, 1]], [0, 1])
