"""End models: what `fit` checks, what early stopping keeps, what the plain heads learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csr_matrix

from hyperlabel.errors import NotFittedError, ParameterError

torch = pytest.importorskip("torch", reason="torch is not installed (extra `text`)")
pytestmark = pytest.mark.torch
torch.set_num_threads(1)  # small matrices: more threads only wait for each other

from hyperlabel.classify import MLP, Linear
from hyperlabel.classify._base import Examples
from hyperlabel.classify._mlp import Plan, descend

FEATURES = np.array([[-1.0, 0.0], [1.0, 0.0]])
HALVES = np.full((2, 2), 0.5)


def blobs(n=90, k=3, seed=0):
    """(n, 2) features around k centres, and (n, k) soft labels of which most are right."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    angle = 2 * np.pi * truth / k
    features = 3 * np.stack([np.cos(angle), np.sin(angle)], 1) + rng.normal(0, 0.5, (n, 2))
    probabilities = np.full((n, k), 0.3 / (k - 1))
    probabilities[np.arange(n), truth] = 0.7
    return features, probabilities, truth


@pytest.mark.parametrize(
    ("inputs", "probabilities", "message"),
    [
        ("one text", HALVES, "inputs is one text, 'one text'; expected a sequence of texts"),
        (
            FEATURES,
            [0, 1],
            r"probabilities has shape \(2,\) and type int64; expected \(items, classes\) of numbers with two classes",
        ),
        (FEATURES, ["ham", "spam"], r"expected \(items, classes\) of numbers with two classes or more, .*, or Labels$"),
        (FEATURES, HALVES[:, :1], r"has shape \(2, 1\) and type float64; expected"),
        (FEATURES[:1], HALVES, "has 1 inputs and 2 rows of probabilities; expected one row per input"),
        (FEATURES[:0], HALVES[:0], "has 0 inputs and 0 rows of probabilities; expected .* at least one"),
        (FEATURES, [[0.5, 0.5], [0.5, 0.6]], r"probabilities\[1\] is \[0.5, 0.6\]; expected .* sum to 1"),
        (FEATURES, [[1.5, -0.5], [0.5, 0.5]], r"probabilities\[0\] is \[1.5, -0.5\]; expected"),
        (FEATURES, [[np.nan, 0.5], [0.5, 0.5]], r"probabilities\[0\] is \[nan, 0.5\]; expected"),
        ([[0.0, np.inf], [0.0, 1.0]], HALVES, r"inputs\[0, 1\] is inf; expected a finite number"),
        (np.zeros(2), HALVES, r"inputs has shape \(2,\); expected \(items, features\)"),
        (csr_matrix([[0, 0], [0, np.nan]]), HALVES, r"inputs\[1, 1\] is nan; expected a finite number"),
        (csr_matrix([[0, 1j], [0, 1]]), HALVES, r"inputs has shape \(2, 2\) and type complex128; expected numbers"),
        (
            coo_array(np.ones(2)),
            HALVES,
            r"inputs has shape \(2,\) and type float64; expected numbers, \(items, features\)",
        ),
    ],
)
@pytest.mark.parametrize("model", [Linear(), MLP(epochs=1)])
def test_fit_with_unusable_examples_says_what_is_wrong(model, inputs, probabilities, message):
    with pytest.raises(ParameterError, match=message):
        model.fit(inputs, probabilities)


def test_fit_with_other_classes_in_validation_is_refused():
    with pytest.raises(ParameterError, match="validation probabilities has 3 classes, the training probabilities 2"):
        Linear().fit(FEATURES, HALVES, (FEATURES, np.full((2, 3), 1 / 3)))


def test_predict_before_fit_or_after_a_failed_one_is_refused():
    model = Linear().fit(FEATURES, HALVES)
    with pytest.raises(ParameterError):
        model.fit([[np.nan]], [[0.5, 0.5]])
    for unfitted in (Linear(), model):
        with pytest.raises(NotFittedError, match="this Linear is not fitted; call fit"):
            unfitted.predict(FEATURES)


@pytest.mark.parametrize("model", [Linear(), MLP(epochs=1)])
def test_predict_on_no_items_or_other_features_gives_nothing_or_an_error(model):
    model.fit(FEATURES, HALVES)
    assert model.predict_proba(FEATURES[:0]).shape == (0, 2)
    with pytest.raises(ParameterError, match="inputs has 1 features; expected 2, as in fit"):
        model.predict(FEATURES[:, :1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Linear(l2=-1), "l2 is -1; expected a number, 0 or more"),
        (lambda: MLP(lr=0), "lr is 0; expected a number above 0"),
        (lambda: MLP(weight_decay=-1), "weight_decay is -1; expected 0 or"),
        (lambda: MLP(batch_size=0), "batch_size is 0; expected at least 1"),
        (lambda: MLP(hidden=0), "hidden is 0; expected at least 1"),
    ],
)
def test_hyper_parameters_out_of_range_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_split_keeps_a_quarter_aside_and_every_item_once():
    examples = Examples([f"text {number}" for number in range(40)], np.eye(40))
    train, aside = examples.split(seed=3)
    assert (len(train), len(aside)) == (30, 10)
    for part in (train, aside):
        assert part.inputs == [f"text {number}" for number in part.probabilities.argmax(1)]
    assert_array_equal(np.sort([*train.probabilities.argmax(1), *aside.probabilities.argmax(1)]), np.arange(40))
    assert examples.split(seed=4)[1].inputs != aside.inputs
    with pytest.raises(ParameterError, match="inputs has 1 item; expected at least 2"):
        examples.take(np.array([0])).split(seed=0)


def test_linear_on_soft_labels_agrees_with_scikit_learn_on_weighted_copies():
    linear_model = pytest.importorskip("sklearn.linear_model")
    features, probabilities, _ = blobs()
    n, k, l2 = *probabilities.shape, 0.01
    ours = Linear(l2=l2).fit(features, probabilities)
    theirs = linear_model.LogisticRegression(C=1 / (n * l2), tol=1e-8, max_iter=1000).fit(
        np.repeat(features, k, 0), np.tile(np.arange(k), n), sample_weight=probabilities.ravel()
    )
    assert_allclose(ours.predict_proba(features), theirs.predict_proba(features), atol=1e-3)


def test_linear_on_sparse_features_equals_dense():
    features, probabilities, truth = blobs()
    dense, sparse = (Linear().fit(given, probabilities) for given in (features, csr_matrix(features)))
    assert_allclose(sparse.predict_proba(csr_matrix(features)), dense.predict_proba(features), atol=1e-6)
    assert (dense.predict(features) == truth).mean() > 0.95


@pytest.mark.parametrize("model", [Linear(l2=0.0), MLP(lr=0.05, epochs=300, weight_decay=0.0)])
def test_soft_labels_of_equal_items_are_learned_as_their_mean(model):
    features, probabilities = (
        np.repeat([[0.0], [1.0]], 2, 0),
        np.array([[0.9, 0.1], [0.7, 0.3], [0.1, 0.9], [0.5, 0.5]]),
    )
    assert_allclose(
        model.fit(features, probabilities).predict_proba(features)[::2], [[0.8, 0.2], [0.3, 0.7]], atol=0.02
    )


def test_mlp_learns_what_no_linear_model_can():
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 8)
    probabilities = np.where((corners.sum(1) % 2)[:, None] == [0, 1], 0.8, 0.2)
    model = MLP(lr=0.01, batch_size=8).fit(1000.0 * corners, probabilities)  # standardised: the scale is no matter
    assert_array_equal(model.predict(1000.0 * corners), corners.sum(1) % 2)


def test_mlp_with_the_same_seed_is_the_same_and_leaves_the_global_generator_alone():
    features, probabilities, _ = blobs()
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    first, again, other = (
        MLP(epochs=2, seed=seed).fit(features, probabilities).predict_proba(features) for seed in (0, 0, 1)
    )
    assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3
    assert torch.equal(torch.rand(1), expected)


def test_mlp_with_validation_stops_at_its_lowest_loss():
    rng = np.random.default_rng(0)
    features, probabilities = rng.normal(size=(40, 20)), np.eye(2)[rng.integers(0, 2, 40)]
    aside = (rng.normal(size=(40, 20)), HALVES[[0] * 40])
    sure, stopped = (
        MLP(lr=0.01, patience=3).fit(features, probabilities, given).predict_proba(aside[0]) for given in (None, aside)
    )
    assert np.abs(stopped - 0.5).mean() < np.abs(sure - 0.5).mean() / 2  # noise that is learned by heart does harm


def test_descent_with_a_judge_keeps_the_best_epoch_and_runs_out_of_patience():
    net = torch.nn.Linear(1, 2)
    losses, seen = iter([3.0, 1.0, 2.0, 2.0, 0.0]), []

    def judge():
        seen.append(net.weight.detach().clone())
        return next(losses)

    plan = Plan(lr=0.1, weight_decay=0.0, batch_size=2, epochs=5, patience=2)
    descend(net, lambda index: net(torch.ones(len(index), 1)), np.array([[1.0, 0.0]] * 4), plan, judge)
    assert len(seen) == 4
    assert torch.equal(net.weight, seen[1])


def test_plan_with_warmup_rises_to_the_peak_and_falls_towards_zero():
    plan = Plan(lr=1.0, weight_decay=0.0, batch_size=1, epochs=1, patience=1, warmup=0.2)
    factors = [plan.factor(step, 10) for step in range(10)]
    assert_allclose(factors[:2], [0.5, 1.0])
    assert_allclose(np.diff(factors[1:]), -1 / 9)
    assert factors[-1] > 0
