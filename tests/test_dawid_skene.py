import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel.errors import ConvergenceWarning, ParameterError
from hyperlabel.models import DawidSkene
from oracles import ORACLES, on_oracles

# Where many items have no votes fewer steps lead as far: they start at no class here, at all alike in WRENCH.
WRENCH_STEPS = {"degenerate": 326, "dense_bin": 195, "imbalanced": 39, "multi4": 34, "sparse_bin": 66, "unipolar": 48}
equal_steps = pytest.mark.filterwarnings("ignore::hyperlabel.errors.ConvergenceWarning")  # as many as the reference


def load(name):
    """The oracle, which of its items have votes, and the number of steps that references took."""
    oracle = np.load(ORACLES / f"{name}.npz")
    runs = json.loads((ORACLES / "provenance.json").read_text(encoding="utf-8"))["per_matrix"][name]
    return oracle, (oracle["L"] >= 0).any(1), runs


def sample(n, balance, confusion, coverage, seed=0):
    """Votes of LFs that are independent given the class. confusion: (m, k, k)."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(len(balance), n, p=balance)
    votes = np.stack([(rng.random(n)[:, None] > rows[truth].cumsum(1)).sum(1) for rows in confusion], axis=1)
    return np.where(rng.random(votes.shape) < coverage, votes, -1), truth


@pytest.fixture
def votes():
    confusion = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.1, 0.9]], [[0.8, 0.2], [0.4, 0.6]]])
    return sample(600, [0.6, 0.4], confusion, 0.8)[0]


@equal_steps
@on_oracles
def test_dawid_skene_ignoring_abstentions_gives_the_probabilities_of_fast_dawid_skene(name):
    oracle, covered, runs = load(name)
    model = DawidSkene(abstain="ignore", smoothing=0, learn_from_empty=True, max_iter=runs["ds"]["iters"], tol=0).fit(
        oracle["L"]
    )
    assert_allclose(model.predict_proba(oracle["L"])[covered], oracle["ds"][covered], atol=1e-6)
    assert_allclose(model.class_balance_, oracle["ds_class_marginals"], atol=1e-6)
    voting = (oracle["L"] >= 0).any(0)
    assert_allclose(model.confusion_[voting], oracle["ds_error_rates"][voting], atol=1e-6)


@equal_steps
@on_oracles
def test_dawid_skene_with_abstaining_as_outcome_gives_the_probabilities_of_wrench(name):
    oracle, covered, _ = load(name)
    model = DawidSkene(abstain="outcome", smoothing=0, learn_from_empty=True, max_iter=WRENCH_STEPS[name], tol=0).fit(
        oracle["L"]
    )
    assert_allclose(model.predict_proba(oracle["L"])[covered], oracle["ds_wrench"][covered], atol=1e-5)


@equal_steps
@on_oracles
def test_dawid_skene_with_gold_gives_the_probabilities_of_crowd_kit(name):
    oracle, covered, runs = load(name)
    gold = np.full(len(oracle["L"]), -1)
    gold[oracle["semi_idx"]] = oracle["semi_y"]
    steps = runs["ds_semi_crowdkit"]["iters"]
    model = DawidSkene(abstain="ignore", smoothing=0, max_iter=steps, tol=0).fit(oracle["L"], gold)
    compared = covered & (gold < 0)
    assert_allclose(model.predict_proba(oracle["L"])[compared], oracle["ds_semi_crowdkit"][compared], atol=1e-6)


@on_oracles
def test_dawid_skene_by_default_is_as_accurate_as_the_reference(name):
    oracle, covered, _ = load(name)
    labels, reference = DawidSkene().fit(oracle["L"]).predict(oracle["L"])[covered], oracle["ds"].argmax(1)[covered]
    truth = oracle["y_true"][covered]
    assert (labels == truth).mean() >= (reference == truth).mean() - 0.005


def test_dawid_skene_on_one_sided_lfs_collapses_only_if_abstentions_are_ignored():
    oracle, covered, _ = load("unipolar")
    truth = np.where(covered, oracle["y_true"], -1)
    assert DawidSkene().fit(oracle["L"]).score(oracle["L"], truth) > 0.9
    ignoring = DawidSkene(abstain="ignore").fit(oracle["L"])
    assert set(ignoring.predict(oracle["L"])[covered]) == {0}


def test_dawid_skene_learns_the_balance_and_the_confusions_behind_the_votes():
    rng = np.random.default_rng(1)
    confusion = 0.55 * np.eye(3) + 0.45 * rng.dirichlet(np.ones(3), (8, 3))
    votes, truth = sample(20_000, [0.5, 0.3, 0.2], confusion, 0.7)
    model = DawidSkene().fit(votes)
    assert model.converged_
    assert_allclose(model.class_balance_, [0.5, 0.3, 0.2], atol=0.02)
    assert_allclose(model.confusion_, confusion, atol=0.06)
    assert_allclose(model.confusion_.sum(2), 1)


def test_dawid_skene_with_gold_for_all_items_counts_their_votes():
    votes, gold = np.array([[0, 1], [0, 0], [1, 1], [0, 1], [1, -1]]), np.array([0, 0, 0, 1, 1])
    model = DawidSkene(smoothing=0).fit(votes, gold)
    assert_allclose(model.class_balance_, [0.6, 0.4])
    assert_allclose(model.confusion_[0], [[2 / 3, 1 / 3], [1 / 2, 1 / 2]])
    assert_allclose(model.confusion_[1], [[1 / 3, 2 / 3], [0, 1]])


def test_dawid_skene_with_gold_for_some_items_of_a_pattern_keeps_it_for_them_only():
    votes, gold = np.array([[0, 0, 1]] * 10 + [[1, 1, 1]] * 10 + [[0, 0, 0]] * 10), np.full(30, -1)
    gold[:4] = 1
    model = DawidSkene(smoothing=0, abstain="ignore").fit(votes, gold)
    posterior = model.predict_proba(votes)
    behind = np.where((gold >= 0)[:, None], np.eye(2)[gold], posterior)
    assert_allclose(model.class_balance_, behind.mean(0), atol=1e-3)
    assert_allclose(model.confusion_[0, 1, 0], behind[votes[:, 0] == 0, 1].sum() / behind[:, 1].sum(), atol=1e-3)


def test_dawid_skene_smoothing_adds_items_of_accuracy_seven_tenths():
    votes, gold = np.array([[0, 1], [0, 0], [1, 1]]), np.array([0, 0, 1])
    model = DawidSkene(smoothing=2).fit(votes, gold)
    assert_allclose(model.confusion_[0], [[(2 + 1.4) / 4, 0.6 / 4], [0.6 / 3, (1 + 1.4) / 3]])


def test_dawid_skene_counts_abstaining_as_outcome_of_one_sided_lfs_only():
    votes = np.array([[1, 0, -1], [-1, 1, -1], [1, 1, -1], [-1, 0, -1]])
    assert DawidSkene().fit(votes).abstain_is_outcome_.tolist() == [True, False, False]
    assert DawidSkene(abstain="ignore").fit(votes).abstain_is_outcome_.tolist() == [False, False, False]
    assert DawidSkene(abstain="outcome").fit(votes).abstain_is_outcome_.tolist() == [True, True, False]


@pytest.mark.parametrize("smoothing", [0, 0.01, 3])
@pytest.mark.parametrize("abstain", ["one-sided", "ignore", "outcome"])
def test_dawid_skene_takes_an_lf_that_was_silent_for_right_seven_times_in_ten(votes, abstain, smoothing):
    silent = np.column_stack([votes, np.full(len(votes), -1)])
    model = DawidSkene(abstain=abstain, smoothing=smoothing).fit(silent)
    assert_allclose(model.confusion_[3], [[0.7, 0.3], [0.3, 0.7]])
    without = DawidSkene(abstain=abstain, smoothing=smoothing).fit(votes)
    assert_allclose(model.predict_proba(silent), without.predict_proba(votes), rtol=1e-12)
    alone, nobody = model.predict_proba([[0, 1, -1, 0]]), without.predict_proba([[0, 1, -1]])
    assert_allclose(alone[0, 0] / alone[0, 1], nobody[0, 0] / nobody[0, 1] * 7 / 3)


def test_dawid_skene_rows_of_one_sided_lfs_leave_room_for_abstaining():
    votes, gold = np.array([[1, 0], [1, 1], [-1, 0], [-1, 1], [-1, 0]]), np.array([1, 1, 0, 1, 0])
    model = DawidSkene(smoothing=0).fit(votes, gold)
    assert_allclose(model.confusion_[0], [[0, 0], [0, 2 / 3]])


@pytest.mark.parametrize("abstain", ["one-sided", "ignore", "outcome"])
def test_dawid_skene_when_items_without_votes_are_added_learns_the_same(votes, abstain):
    votes = votes[(votes >= 0).any(1)]
    longer = np.concatenate([np.full((50, 3), -1), votes])
    alone, beside = DawidSkene(abstain=abstain).fit(votes), DawidSkene(abstain=abstain).fit(longer)
    assert_allclose(beside.confusion_, alone.confusion_, atol=1e-12)
    assert_allclose(beside.predict_proba(longer)[50:], alone.predict_proba(votes), atol=1e-12)


def test_dawid_skene_learning_from_empty_items_counts_their_abstentions(votes):
    longer = np.concatenate([np.full((600, 3), -1), votes])
    model = DawidSkene(abstain="outcome", learn_from_empty=True).fit(longer)
    silence = model.class_balance_ @ (1 - model.confusion_.sum(2)).T
    assert_allclose(silence, (longer < 0).mean(0), atol=1e-3)


def test_dawid_skene_keeps_a_stated_class_balance(votes):
    model = DawidSkene(class_balance=[0.1, 0.9]).fit(votes)
    assert_array_equal(model.class_balance_, [0.1, 0.9])
    assert model.predict_proba(votes)[:, 1].mean() > DawidSkene().fit(votes).predict_proba(votes)[:, 1].mean()


def test_dawid_skene_predicts_votes_that_it_did_not_learn_from(votes):
    model = DawidSkene().fit(votes[:300])
    evidence = np.log(model.class_balance_) + np.log(model.confusion_[[0, 2], :, [1, 0]]).sum(0)
    expected = np.exp(evidence) / np.exp(evidence).sum()
    assert_allclose(model.predict_proba([[1, -1, 0]])[0], expected)


def test_dawid_skene_when_all_classes_are_impossible_prefers_the_least_impossible():
    votes = np.array([[0, 0, 0]] * 5 + [[1, 1, 1]] * 5)
    model = DawidSkene(smoothing=0).fit(votes)
    assert model.predict([[1, 1, 0], [0, 0, 1]]).tolist() == [1, 0]
    assert_allclose(model.predict_proba([[1, 1, 0]]), [[0, 1]])


@pytest.mark.parametrize("abstain", ["one-sided", "ignore", "outcome"])
@pytest.mark.parametrize("smoothing", [0, 0.01])
def test_dawid_skene_on_odd_votes_gives_finite_probabilities(abstain, smoothing):
    rng = np.random.default_rng(0)
    wide, many = rng.integers(-1, 2, (20, 300)), rng.integers(-1, 60, (80, 4))
    for odd in ([[0]], [[-1, -1]], [[1, 1], [1, -1]], [[0, -1], [1, -1], [-1, -1]], wide, many):
        model = DawidSkene(abstain=abstain, smoothing=smoothing, n_classes=None).fit(odd)
        assert_allclose(model.predict_proba(odd).sum(1), 1)
        assert np.isfinite(model.confusion_).all()


def test_dawid_skene_of_a_class_nobody_votes_for_gives_it_no_probability(votes):
    model = DawidSkene(n_classes=3).fit(votes)
    assert_array_equal(model.predict_proba(votes)[(votes >= 0).any(1), 2], 0)


def test_dawid_skene_stopped_early_warns_and_says_how_far_it_came(votes):
    with pytest.warns(ConvergenceWarning, match="DawidSkene did not converge in 2 iterations"):
        model = DawidSkene(max_iter=2).fit(votes)
    assert (model.n_iter_, model.converged_) == (2, False)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"abstain": "never"}, "abstain is 'never'; expected 'one-sided', 'ignore' or 'outcome'"),
        ({"smoothing": -1}, "smoothing is -1; expected a number, 0 or more"),
        ({"smoothing": np.nan}, "smoothing is nan"),
        ({"max_iter": 0}, "max_iter is 0; expected a whole number, at least 1"),
        ({"learn_from_empty": "x"}, "learn_from_empty is 'x'; expected True or False"),
        ({"tol": -1e-3}, "tol is -0.001; expected a number, 0 or more"),
        (
            {"class_balance": [0.5, 0.4]},
            r"class_balance is \[0.5, 0.4\], which sums to 0.9; expected one",
        ),
        ({"class_balance": [1.0]}, "class_balance is"),
        ({"class_balance": [1.5, -0.5]}, "class_balance is"),
    ],
)
def test_dawid_skene_with_impossible_parameters_is_refused(votes, params, message):
    with pytest.raises(ParameterError, match=message):
        DawidSkene(**params).fit(votes)
