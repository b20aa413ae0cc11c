import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel.data import Patterns, Votes
from hyperlabel.errors import ConvergenceWarning, ParameterError
from hyperlabel.models import MeTaL
from hyperlabel.models import _metal as metal
from oracles import ORACLES, on_oracles


def load(name):
    oracle = np.load(ORACLES / f"{name}.npz")
    return oracle, (oracle["L"] >= 0).any(1)


def sample(n=300, confusion=None, balance=(0.5, 0.5), coverage=0.8, seed=0):
    """Votes of LFs that are independent given the class. confusion: (m, k, k)."""
    if confusion is None:
        confusion = [[[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.1, 0.9]], [[0.8, 0.2], [0.4, 0.6]]]
    rng = np.random.default_rng(seed)
    truth = rng.choice(len(balance), n, p=balance)
    votes = np.stack([(rng.random(n)[:, None] > rows[truth].cumsum(1)).sum(1) for rows in np.array(confusion)], axis=1)
    return np.where(rng.random(votes.shape) < coverage, votes, -1), truth


def one_hot(votes, k):
    """(n, m k) whether each vote is there."""
    return (votes[:, :, None] == np.arange(k)).reshape(len(votes), -1).astype(float)


@pytest.mark.parametrize("seed", [0, 1, 2])
@on_oracles
def test_metal_by_steps_of_descent_gives_the_probabilities_of_snorkel(name, seed):
    oracle, covered = load(name)
    model = MeTaL(sgd_steps=100, seed=seed).fit(oracle["L"])
    assert_allclose(model.predict_proba(oracle["L"])[covered], oracle[f"metal_s{seed}"][covered], atol=1e-5)
    mu = model.confusion_.transpose(0, 2, 1).reshape(-1, len(model.classes_))
    assert_allclose(mu, oracle[f"metal_mu_s{seed}"], atol=1e-6)


@on_oracles
def test_metal_by_steps_of_descent_with_a_class_balance_gives_the_probabilities_of_snorkel(name):
    oracle, covered = load(name)
    model = MeTaL(class_balance=oracle["metal_cb_prior"], sgd_steps=100).fit(oracle["L"])
    assert_allclose(model.predict_proba(oracle["L"])[covered], oracle["metal_cb"][covered], atol=1e-5)


@on_oracles
def test_metal_by_default_is_as_accurate_as_snorkel_or_agrees_with_it(name):
    oracle, covered = load(name)
    model, truth = MeTaL().fit(oracle["L"]), oracle["y_true"][covered]
    labels, reference = model.predict(oracle["L"])[covered], oracle["metal"].argmax(1)[covered]
    assert model.converged_
    agreement = (labels == reference).mean()
    assert agreement >= 0.95 or (labels == truth).mean() >= (reference == truth).mean() - 0.005


def test_metal_with_the_true_class_balance_is_more_accurate_where_classes_are_uneven():
    oracle, covered = load("imbalanced")
    truth = np.where(covered, oracle["y_true"], -1)
    even, true = (MeTaL(class_balance=b).fit(oracle["L"]) for b in (None, oracle["metal_cb_prior"]))
    assert even.score(oracle["L"], truth) > 0.93
    assert true.score(oracle["L"], truth) > 0.98


def test_metal_with_a_light_prior_learns_the_confusions_behind_the_votes():
    rng = np.random.default_rng(1)
    confusion = 0.6 * np.eye(3) + 0.4 * rng.dirichlet(np.ones(3), (8, 3))
    votes, _ = sample(40_000, confusion, [0.5, 0.3, 0.2], 0.8)
    model = MeTaL(class_balance=[0.5, 0.3, 0.2], prior_weight=1e-6).fit(votes)
    assert_allclose(model.confusion_, 0.8 * confusion, atol=0.04)


def test_metal_with_a_heavy_prior_takes_every_vote_to_be_right_seven_times_in_ten():
    votes, _ = sample()
    model = MeTaL(prior_weight=1e6, class_balance=[0.5, 0.5]).fit(votes)
    assert_allclose(model.confusion_[:, [0, 1], [1, 0]] / model.confusion_[:, [1, 0], [1, 0]], 3 / 7, rtol=1e-4)
    assert_allclose(model.predict_proba([[1, -1, -1]]), [[0.3, 0.7]], rtol=1e-4)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("dense", [True, False])
def test_loss_and_gradient_are_those_of_the_overlap_matrix(monkeypatch, dense, k):
    monkeypatch.setattr(metal, "_DENSE_ANYWAY", 1 << 30 if dense else -1)
    monkeypatch.setattr(metal, "_DENSE_PER_VOTE", 0)
    rng = np.random.default_rng(0)
    votes, mu = rng.integers(-1, k, (50, 4)), rng.random((4, k, k))
    balance = rng.dirichlet(np.ones(k))
    patterns = Patterns.from_votes(Votes.from_array(votes, n_classes=k))
    loss = metal._Loss(metal._Overlaps(patterns, 50), balance)
    together, lf = one_hot(votes, k).T @ one_hot(votes, k) / 50, np.arange(4 * k) // k

    def distance(flat):
        flat = flat.reshape(4 * k, k)
        gap = np.where(lf[:, None] == lf, 0, together - (flat * balance) @ flat.T)
        return (gap**2).sum() + ((flat @ balance - np.diag(together)) ** 2).sum()

    constant = (np.where(lf[:, None] == lf, 0, together) ** 2).sum()
    value, gradient = loss(mu)
    assert_allclose(value + constant, distance(mu), rtol=1e-10)
    steps = 1e-6 * np.eye(mu.size)
    slopes = [(distance(mu.ravel() + step) - distance(mu.ravel() - step)) / 2e-6 for step in steps]
    assert_allclose(gradient.ravel(), slopes, atol=1e-7)


def test_metal_takes_a_vote_that_fit_did_not_see_to_be_right_seven_times_in_ten():
    votes, _ = sample()
    votes[:, 2] = np.where(votes[:, 2] == 1, -1, votes[:, 2])
    assert_allclose(MeTaL().fit(votes).predict_proba([[-1, -1, 1]]), [[0.3, 0.7]])


@pytest.mark.parametrize("m", [1, 2])
def test_metal_with_fewer_than_three_lfs_believes_them(m):
    votes = sample()[0][:, :m]
    model, agreed = MeTaL().fit(votes), (votes >= 0).any(1) & (votes.min(1) == votes.max(1))
    assert_array_equal(model.predict(votes)[agreed], votes[agreed, 0])


def test_metal_does_not_see_items_without_votes():
    votes, _ = sample()
    more = np.concatenate([votes, np.full((200, 3), -1)])
    assert_allclose(MeTaL().fit(more).confusion_, MeTaL().fit(votes).confusion_, atol=1e-9)


def test_metal_with_a_thousand_lfs_gives_finite_probabilities():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=40)
    votes = np.where(rng.random((40, 1000)) < 0.6, truth[:, None], 1 - truth[:, None])
    model = MeTaL().fit(votes)
    assert np.isfinite(model.predict_proba(votes)).all()
    assert model.score(votes, truth) == 1


def test_metal_by_steps_of_descent_exchanges_classes_so_that_lfs_are_mostly_right():
    mu = np.array([[[0.1, 0.6, 0.1], [0.7, 0.1, 0.1], [0.2, 0.1, 0.5]]])
    assigned = metal._assign_classes(mu, np.full(3, 1 / 3))
    assert_array_equal(np.diagonal(assigned[0]), [0.6, 0.7, 0.5])
    kept = metal._assign_classes(mu, np.array([0.5, 0.3, 0.2]))
    assert_array_equal(kept, mu)


def test_metal_that_runs_out_of_steps_warns():
    with pytest.warns(ConvergenceWarning, match="MeTaL did not converge in 2 iterations; raise max_iter"):
        model = MeTaL(max_iter=2).fit(sample()[0])
    assert not model.converged_


@pytest.mark.parametrize(
    ("name", "value"), [("prior_weight", -0.1), ("sgd_steps", -1), ("max_iter", 0), ("tol", 0.0), ("class_balance", 1)]
)
def test_metal_with_bad_parameters_names_them(name, value):
    with pytest.raises(ParameterError, match=f"{name} is {value!r}; expected"):
        MeTaL(**{name: value}).fit(sample()[0])


@pytest.mark.parametrize("sgd_steps", [None, 100])
def test_metal_takes_an_lf_that_was_silent_for_right_seven_times_in_ten(sgd_steps):
    votes = sample()[0]
    silent = np.column_stack([votes, np.full(len(votes), -1)])
    model = MeTaL(sgd_steps=sgd_steps).fit(silent)
    assert_allclose(model.predict_proba([[-1] * votes.shape[1] + [0]]), [[0.7, 0.3]])
