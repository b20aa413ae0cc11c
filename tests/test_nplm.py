import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel.data import Patterns
from hyperlabel.errors import ConvergenceWarning, ParameterError
from hyperlabel.models import NPLM, MajorityVote
from oracles import ORACLES, on_oracles


def load(name):
    oracle = np.load(ORACLES / f"{name}.npz")
    return oracle, (oracle["L"] >= 0).any(1)


def sample(n=300, accuracies=((0.9, 0.7), (0.8, 0.6), (0.7, 0.9), (0.8, 0.8)), balance=(0.5, 0.5), coverage=0.8):
    """Votes of LFs that are independent given the class, with equally probable errors. accuracies: (m, k)."""
    rng, accuracies = np.random.default_rng(0), np.array(accuracies)
    k, m = len(balance), len(accuracies)
    truth = rng.choice(k, n, p=balance)
    wrong = (truth[:, None] + rng.integers(1, k, size=(n, m))) % k
    votes = np.where(rng.random((n, m)) < accuracies[:, truth].T, truth[:, None], wrong)
    return np.where(rng.random((n, m)) < coverage, votes, -1), truth


def sample_one_sided(n, rates, balance):
    """Votes of LFs that vote for one class only. rates: (m, 2) how often under each class; half of m for each."""
    rng, rates = np.random.default_rng(0), np.array(rates)
    truth = rng.choice(2, n, p=balance)
    sides = np.arange(len(rates)) >= len(rates) // 2
    return np.where(rng.random((n, len(rates))) < rates[:, truth].T, sides, -1), truth


@on_oracles
def test_nplm_by_batches_gives_the_probabilities_of_the_released_code(name):
    oracle, covered = load(name)
    model = NPLM(batch_size=512).fit(oracle["L"])
    assert_allclose(model.predict_proba(oracle["L"])[covered], oracle["nplm"][covered], atol=1e-6)
    assert_allclose(np.arctanh(2 * model.accuracies_ - 1), oracle["nplm_alpha"], atol=1e-9)
    logits = np.exp(oracle["nplm_classbalance_logit"])
    assert_allclose(model.class_balance_, logits / logits.sum(), atol=1e-9)


@on_oracles
def test_nplm_by_default_is_as_accurate_as_the_released_code_or_agrees_with_it(name):
    oracle, covered = load(name)
    model, truth = NPLM().fit(oracle["L"]), oracle["y_true"][covered]
    labels, reference = model.predict(oracle["L"])[covered], oracle["nplm"].argmax(1)[covered]
    assert model.converged_
    agreement = (labels == reference).mean()
    assert agreement >= 0.95 or (labels == truth).mean() >= (reference == truth).mean() - 0.005


def test_nplm_on_one_sided_lfs_collapses_only_where_abstentions_are_ignored():
    oracle, covered = load("unipolar")
    truth = np.where(covered, oracle["y_true"], -1)
    model = NPLM().fit(oracle["L"])
    assert model.one_sided_.all()
    assert model.score(oracle["L"], truth) > 0.88
    collapsed = NPLM(batch_size=512).fit(oracle["L"])
    assert set(collapsed.predict(oracle["L"])[covered]) == {0}


def test_nplm_learns_the_accuracies_and_the_balance_behind_the_votes():
    accuracies = [[0.9, 0.7, 0.8], [0.8, 0.6, 0.9], [0.7, 0.9, 0.6], [0.8, 0.8, 0.7], [0.6, 0.7, 0.8]]
    votes, _ = sample(20_000, accuracies, (0.5, 0.3, 0.2))
    model = NPLM().fit(votes)
    assert not model.one_sided_.any()
    assert_allclose(model.class_balance_, [0.5, 0.3, 0.2], atol=0.02)
    assert_allclose(model.accuracies_, accuracies, atol=0.04)


def test_nplm_learns_how_often_one_sided_lfs_vote_and_abstain_rightly():
    rates = [[0.6, 0.02], [0.6, 0.4], [0.6, 0.4], [0.02, 0.6], [0.4, 0.6], [0.4, 0.6]]
    votes, truth = sample_one_sided(20_000, rates, [0.5, 0.5])
    model, covered = NPLM().fit(votes), (votes >= 0).any(1)
    right = np.where(np.array(rates) > 0.5, rates, 1 - np.array(rates))
    assert_allclose(model.accuracies_, right, atol=0.15)  # half of the votes are imagined
    sharp, blunt = model.accuracies_[:2, 0] / (1 - model.accuracies_[:2, 1])  # votes under class 0 for one under 1
    assert sharp > 1.3 * blunt
    truth = np.where(covered, truth, -1)
    assert model.score(votes, truth) > MajorityVote().score(votes, truth) + 0.03


def test_nplm_takes_abstaining_of_a_one_sided_lf_for_a_vote_against_its_class():
    votes, _ = sample_one_sided(5000, [[0.9, 0.05], [0.6, 0.2], [0.2, 0.6], [0.3, 0.7]], [0.5, 0.5])
    silent, heard = NPLM().fit(votes).predict_proba([[-1, -1, -1, 1], [0, -1, -1, 1]])
    assert heard[0] > 0.5 > silent[0]


def test_nplm_without_smoothing_is_at_a_fixed_point_of_em():
    votes, _ = sample(2000)
    model = NPLM(smoothing=0, tol=1e-10, max_iter=5000).fit(votes)
    posterior, covered = model.predict_proba(votes), (votes >= 0).any(1)
    assert_allclose(model.class_balance_, posterior[covered].mean(0), atol=1e-6)
    for j in range(4):
        right = (posterior * (votes[:, [j]] == [0, 1])).sum(0) / posterior[votes[:, j] >= 0].sum(0)
        assert_allclose(model.accuracies_[j], right, atol=1e-6)


@pytest.mark.parametrize("batch_size", [None, 100])
def test_nplm_with_a_class_balance_keeps_it(batch_size):
    votes, _ = sample(balance=(0.8, 0.2))
    model = NPLM(class_balance=[0.7, 0.3], batch_size=batch_size).fit(votes)
    assert_allclose(model.class_balance_, [0.7, 0.3], atol=1e-12)
    assert not np.allclose(NPLM(batch_size=batch_size).fit(votes).class_balance_, [0.7, 0.3], atol=1e-2)


def test_nplm_with_items_doubled_or_without_votes_is_unchanged():
    votes, _ = sample()
    once = NPLM().fit(votes)
    for more in (np.tile(votes, (2, 1)), np.concatenate([votes, np.full((100, 4), -1)])):
        assert_allclose(NPLM().fit(more).predict_proba(votes), once.predict_proba(votes), atol=1e-9)


def test_nplm_by_batches_with_another_seed_takes_items_in_another_order():
    votes, _ = sample(1500)
    first, again, other = (NPLM(batch_size=512, seed=s).fit(votes).predict_proba(votes) for s in (0, 0, 1))
    assert_array_equal(first, again)
    assert not np.allclose(first, other, atol=1e-4)


def test_nplm_takes_a_vote_that_a_one_sided_lf_never_cast_to_be_right_seven_times_in_ten():
    votes, _ = sample_one_sided(2000, [[0.6, 0.2], [0.5, 0.1], [0.2, 0.6], [0.1, 0.5]], [0.5, 0.5])
    model = NPLM(class_balance=[0.5, 0.5]).fit(votes)
    new, silent = model.predict_proba([[1, 0, 1, -1], [-1, 0, 1, -1]])
    undone = model.accuracies_[0, 1] / (1 - model.accuracies_[0, 0])  # the evidence of its abstaining, for class 1
    assert_allclose(new[1] / new[0], silent[1] / silent[0] / undone * 7 / 3)


def test_nplm_by_batches_of_votes_that_were_only_counted_says_what_to_do():
    patterns = Patterns.from_chunks([[[0, 1], [1, 1]]])
    with pytest.raises(ParameterError, match="batch_size needs items, but these votes were only counted; leave it out"):
        NPLM(batch_size=2).fit(patterns)


def test_nplm_that_runs_out_of_steps_warns():
    with pytest.warns(ConvergenceWarning, match="NPLM did not converge in 2 iterations; raise max_iter"):
        model = NPLM(max_iter=2).fit(sample()[0])
    assert not model.converged_


@pytest.mark.parametrize(
    ("name", "value"), [("smoothing", -0.1), ("batch_size", 0), ("max_iter", 0), ("tol", -1.0), ("class_balance", 1)]
)
def test_nplm_with_bad_parameters_names_them(name, value):
    with pytest.raises(ParameterError, match=f"{name} is {value!r}; expected"):
        NPLM(**{name: value}).fit(sample()[0])


@pytest.mark.parametrize("batch_size", [None, 64])
def test_nplm_takes_an_lf_that_was_silent_for_right_seven_times_in_ten(batch_size):
    votes = sample()[0]
    silent = np.column_stack([votes, np.full(len(votes), -1)])
    model = NPLM(batch_size=batch_size, class_balance=[0.5, 0.5]).fit(silent)
    assert_allclose(model.accuracies_[-1], 0.7)
    assert_allclose(model.predict_proba([[-1] * votes.shape[1] + [1]]), [[0.3, 0.7]])
