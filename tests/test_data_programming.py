import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel.errors import ConvergenceWarning, ParameterError
from hyperlabel.models import DataProgramming
from hyperlabel.models._data_programming import follow
from oracles import ORACLES, on_oracles


def load(name):
    oracle = np.load(ORACLES / f"{name}.npz")
    return oracle, (oracle["L"] >= 0).any(1)


def sample(n=200, m=5, k=2, coverage=0.8, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    wrong = (truth[:, None] + rng.integers(1, k, size=(n, m))) % k
    votes = np.where(rng.random((n, m)) < np.linspace(0.6, 0.9, m), truth[:, None], wrong)
    return np.where(rng.random((n, m)) < coverage, votes, -1), truth


@on_oracles
def test_data_programming_with_thirty_epochs_is_close_to_a_run_of_snorkel(name):
    oracle, covered = load(name)
    model = DataProgramming(epochs=30).fit(oracle["L"])
    probabilities, expected = model.predict_proba(oracle["L"])[covered], oracle["dp"][covered]
    assert_allclose(probabilities, expected, atol=0.05)
    assert (probabilities.argmax(1) == expected.argmax(1)).mean() >= 0.98
    voting = (oracle["L"] >= 0).any(0)
    assert_allclose(model.weights_[voting], oracle["dp_W_s0"].T[voting], atol=0.05)


@on_oracles
def test_data_programming_by_default_is_as_accurate_as_the_reference_or_agrees_with_it(name):
    oracle, covered = load(name)
    model, truth = DataProgramming().fit(oracle["L"]), oracle["y_true"][covered]
    labels, reference = model.predict(oracle["L"])[covered], oracle["dp"].argmax(1)[covered]
    agreement = (labels == reference).mean()
    assert agreement >= 0.95 or (labels == truth).mean() >= (reference == truth).mean() - 0.005


@pytest.mark.parametrize("k", [2, 3])
def test_data_programming_rests_where_votes_and_model_agree(k):
    votes, _ = sample(k=k)
    weights = DataProgramming().fit(votes).weights_
    taken = votes[(votes >= 0).any(1)]
    for c in range(k):
        signs, w = np.where(taken < 0, 0, np.where(taken == c, 1, -1)), weights[:, c]
        said = (signs * np.tanh(signs @ w)[:, None]).mean(0)
        assert_allclose(said, 2 * np.sinh(w) / (1 + 2 * np.cosh(w)) + 0.1 * (w - 1), atol=1e-5)


def test_data_programming_weighs_accurate_lfs_more():
    weights = DataProgramming().fit(sample(n=5000)[0]).weights_
    assert (np.diff(weights, axis=0) > 0).all()
    assert_array_equal(weights[:, 0], weights[:, 1])


def test_data_programming_without_time_keeps_the_weights_it_starts_with():
    model = DataProgramming(epochs=0).fit(sample()[0])
    assert_array_equal(model.weights_, np.ones((5, 2)))
    assert model.n_iter_ == 0


def test_data_programming_on_twice_the_items_learns_in_half_the_epochs():
    votes, _ = sample()
    once, twice = DataProgramming(epochs=30).fit(votes), DataProgramming(epochs=15).fit(np.tile(votes, (2, 1)))
    assert_allclose(once.weights_, twice.weights_, atol=1e-12)
    assert not np.allclose(once.weights_, DataProgramming(epochs=15).fit(votes).weights_, atol=1e-3)


def test_data_programming_that_learns_until_rest_does_not_see_items_without_votes():
    votes, _ = sample()
    more = np.concatenate([votes, np.full((100, 5), -1)])
    assert_allclose(DataProgramming().fit(more).weights_, DataProgramming().fit(votes).weights_, atol=1e-12)
    assert not np.allclose(
        DataProgramming(epochs=20).fit(more).weights_, DataProgramming(epochs=30).fit(votes).weights_, atol=1e-3
    )


@pytest.mark.parametrize("epochs", [None, 30])
def test_data_programming_gives_an_lf_that_was_silent_the_weight_all_are_drawn_to(epochs):
    votes = np.column_stack([sample()[0], np.full(len(sample()[0]), -1)])
    model = DataProgramming(epochs=epochs).fit(votes)
    assert_array_equal(model.weights_[-1], 1)
    assert (model.weights_[:-1] != 1).all()


def test_follow_keeps_to_the_course_of_a_fast_and_a_slow_growth():
    start, rate = np.array([1e-3, 1.0]), np.array([3.0, 0.5])
    values, _, arrived = follow(lambda x: rate * x * (1 - x / 4), start, 2.0, 1000, 1e-9)
    grown = start * np.exp(2 * rate)
    assert arrived
    assert_allclose(values, 4 * grown / (4 - start + grown), atol=5e-3)


def test_data_programming_that_runs_out_of_steps_warns():
    with pytest.warns(ConvergenceWarning, match="DataProgramming did not converge in 3 iterations; raise max_iter"):
        model = DataProgramming(max_iter=3).fit(sample()[0])
    assert not model.converged_


@pytest.mark.parametrize(("name", "value"), [("epochs", -1), ("max_iter", 0), ("tol", 0.0)])
def test_data_programming_with_bad_parameters_names_them(name, value):
    with pytest.raises(ParameterError, match=f"{name} is {value!r}; expected"):
        DataProgramming(**{name: value}).fit(sample()[0])
