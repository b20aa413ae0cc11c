"""Constrained label learning: against the authors' code, and the properties its labels must have."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel import Votes
from hyperlabel.data import Patterns
from hyperlabel.errors import ConvergenceWarning, ParameterError
from hyperlabel.models import CLL
from hyperlabel.models._cll import learn_labels
from oracles import ORACLES

SETS = ("dense_bin", "sparse_bin", "multi4", "unipolar", "imbalanced", "degenerate")
REFERENCE = {"max_iter": 300, "tol": 0.0}


def read_oracle(name):
    return np.load(ORACLES / f"{name}.npz")


def read_patterns(oracle):
    return Patterns.from_votes(Votes.from_array(oracle["L"], n_classes=oracle["mv"].shape[1]))


def sample_votes(n=80, m=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    votes = np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(k, size=(n, m)))
    return np.where(rng.random((n, m)) < 0.7, votes, -1)


def dense_errors(votes, weight, labels):
    """The definition, term by term. (n, m), (n,), (n, k) -> (m, k)."""
    says = votes[:, :, None] == np.arange(labels.shape[1])  # (n, m, k)
    wrong = np.where(says, 1 - labels[:, None], labels[:, None]) * (votes >= 0)[:, :, None]
    return (wrong * weight[:, None, None]).sum(0) / (weight[:, None] * (votes >= 0)).sum(0)[:, None]


def dense_cll(votes, weight, k, steps):
    """The whole method on dense arrays, an item of weight 0 included."""
    says = votes[:, :, None] == np.arange(k)
    slope = np.where(says, -1, 1) * (votes >= 0)[:, :, None] / (weight[:, None] * (votes >= 0)).sum(0)[:, None]
    labels, squares = np.full((len(votes), k), 0.5), np.zeros((len(votes), k))
    for _ in range(steps):
        gradient = 2 * (slope * (dense_errors(votes, weight, labels) - 0.01)).sum(1)
        squares += gradient**2
        labels = np.clip(labels - gradient / np.sqrt(squares + 1e-8), 0, 1)
    return labels


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", SETS)
def test_labels_from_the_same_start_equal_the_reference(name, seed):
    oracle = read_oracle(name)
    patterns, reference = read_patterns(oracle), oracle[f"cll_s{seed}"]
    start = np.random.RandomState(seed).rand(*reference.shape)
    learned = learn_labels(patterns, start, patterns.inverse, **REFERENCE)
    assert_allclose(learned.labels, reference, atol=1e-5)
    assert (len(learned.residuals), learned.converged) == (300, False)


@pytest.mark.parametrize("name", SETS)
def test_model_with_random_start_gives_patterns_the_mean_of_the_reference(name):
    oracle = read_oracle(name)
    patterns = read_patterns(oracle)
    total = np.zeros((patterns.n_patterns, patterns.n_classes))
    np.add.at(total, patterns.inverse, oracle["cll_s1"])
    model = CLL(start="random", seed=1, **REFERENCE)
    with pytest.warns(ConvergenceWarning, match="CLL did not converge in 300 iterations"):
        probabilities = model.fit_predict_proba(oracle["L"])
    said = (total.sum(1) > 0) & patterns.has_votes
    expected = (total / np.maximum(total.sum(1, keepdims=True), 1e-300))[patterns.inverse]
    assert_allclose(probabilities[said[patterns.inverse]], expected[said[patterns.inverse]], atol=1e-5)


@pytest.mark.parametrize("name", SETS)
def test_default_labels_are_as_accurate_as_the_reference(name):
    oracle = read_oracle(name)
    covered = (oracle["L"] >= 0).any(1)
    ours, theirs = CLL().fit(oracle["L"]).predict(oracle["L"]), oracle["cll"].argmax(1)
    right = [(labels == oracle["y_true"])[covered].mean() for labels in (ours, theirs)]
    assert right[0] >= right[1] - 0.005
    assert (ours == theirs)[covered].mean() >= 0.92  # rows of zeros are class 0 in the reference


def test_pattern_whose_labels_are_all_zero_gets_its_vote_shares():
    oracle = read_oracle("multi4")
    votes = oracle["L"]
    zero = (oracle["cll"].sum(1) == 0) & (votes >= 0).any(1)
    shares = (votes[zero][:, :, None] == np.arange(4)).sum(1) / (votes[zero] >= 0).sum(1)[:, None]
    assert zero.sum() > 100
    assert_allclose(CLL().fit(votes).predict_proba(votes)[zero], shares)


def test_labels_of_patterns_equal_labels_of_items():
    patterns = Patterns.from_votes(Votes.from_array(sample_votes()))
    halves = np.full((patterns.n_items, 3), 0.5)
    by_item = learn_labels(patterns, halves, patterns.inverse)
    by_pattern = learn_labels(patterns, halves[: patterns.n_patterns])
    assert patterns.n_patterns < patterns.n_items
    assert_allclose(by_pattern.labels[patterns.inverse], by_item.labels, atol=1e-9)
    assert len(by_item.residuals) == len(by_pattern.residuals)


def test_errors_after_fit_are_those_of_the_labels_and_near_the_bound():
    votes = sample_votes()
    model = CLL().fit(votes)
    patterns = Patterns.from_votes(Votes.from_array(votes))
    learned = learn_labels(patterns, np.full((patterns.n_patterns, 3), 0.5))
    assert_allclose(model.errors_, dense_errors(votes, np.ones(len(votes)), learned.labels[patterns.inverse]))
    assert (
        np.square(model.errors_ - 0.01).sum()
        < np.square(dense_errors(votes, np.ones(80), np.full((80, 3), 0.5)) - 0.01).sum()
    )


def test_unseen_patterns_get_the_labels_of_items_without_weight():
    votes = sample_votes(n=30, k=2)
    model = CLL().fit(votes)
    every = np.array(list(itertools.product([-1, 0, 1], repeat=4)))
    unseen = every[~(votes[:, None] == every).all(2).any(0)]
    both, weight = np.concatenate([votes, unseen]), np.repeat([1.0, 0.0], [30, len(unseen)])
    labels = dense_cll(both, weight, 2, model.n_iter_)
    between = ((labels > 0.1) & (labels < 0.9)).any(1)
    assert between[30:].sum() >= 3
    assert_allclose(model.predict_proba(both), labels / labels.sum(1, keepdims=True), atol=1e-9)


def test_rows_after_a_random_start_begin_at_one_half():
    votes, other = sample_votes(), sample_votes(seed=1)
    probabilities = CLL(start="random").fit(votes).predict_proba(other)
    even = CLL().fit(votes).predict_proba(other)
    assert (probabilities.argmax(1) == even.argmax(1)).mean() > 0.9


def test_random_start_of_votes_that_were_only_counted_says_what_to_do():
    with pytest.raises(ParameterError, match="start='random' needs items, but these votes were only counted"):
        CLL(start="random").fit(Patterns.from_chunks([sample_votes()]))


def test_lf_that_was_silent_moves_labels_as_the_others_do_on_average():
    votes = sample_votes()
    twins = np.column_stack([votes[:, 0], votes[:, 0], np.full(len(votes), -1)])  # two LFs alike, and one silent
    model = CLL().fit(twins)
    rows = [[-1, -1, 1], [1, -1, -1], [-1, 1, -1]]
    silent, first, second = model.predict_proba(rows)
    assert_allclose(silent, first, atol=1e-12)
    assert_allclose(silent, second, atol=1e-12)


def test_lf_that_never_votes_has_the_bound_as_error_and_changes_nothing():
    votes = sample_votes()
    wider = np.concatenate([votes, np.full((len(votes), 1), -1)], axis=1)
    model = CLL(error_bound=0.1).fit(wider)
    assert_array_equal(model.errors_[-1], [0.1, 0.1, 0.1])
    assert_allclose(model.predict_proba(wider), CLL(error_bound=0.1).fit(votes).predict_proba(votes), atol=1e-9)


def test_fit_that_converges_stops_before_max_iter():
    model = CLL().fit(sample_votes())
    assert model.converged_
    assert 1 < model.n_iter_ < 1000


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"error_bound": 1.5}, "error_bound is 1.5; expected a number from 0 to 1"),
        ({"start": "zero"}, "start is 'zero'; expected 'even' or 'random'"),
        ({"max_iter": 0}, "max_iter is 0; expected a whole number, at least 1"),
        ({"tol": float("nan")}, "tol is nan; expected a number, 0 or more"),
    ],
)
def test_parameter_outside_its_range_raises(params, message):
    with pytest.raises(ParameterError, match=message):
        CLL(**params).fit([[0, 1], [1, 1]])
