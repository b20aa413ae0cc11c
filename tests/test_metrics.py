import numpy as np
import pytest

from hyperlabel import ParameterError
from hyperlabel._core import brier, check_metric, f1, log_loss, score
from hyperlabel._core.metrics import accuracy


@pytest.fixture
def drawn():
    """Truth, labels and probabilities of 300 items and four classes; some truth and some labels are missing."""
    rng = np.random.default_rng(0)
    truth, labels = rng.integers(-1, 4, 300), rng.integers(-1, 4, 300)
    probabilities = rng.dirichlet(np.ones(4), 300)
    return truth, labels, probabilities


def test_accuracy_leaves_out_unknown_truth_and_takes_no_label_for_wrong():
    truth, labels = np.array([0, 1, 0, -1, -1]), np.array([0, 1, -1, 1, -1])
    assert accuracy(truth, labels) == pytest.approx(2 / 3)


def test_f1_of_two_classes_is_that_of_class_one():
    truth, labels = np.array([1, 1, 1, 0, 0, -1]), np.array([1, 1, 0, 1, 0, 1])
    precision, recall = 2 / 3, 2 / 3
    assert f1(truth, labels, 2) == pytest.approx(2 * precision * recall / (precision + recall))


def test_f1_of_an_item_without_label_counts_as_called_nothing():
    assert f1(np.array([1, 1, 0]), np.array([1, -1, -1]), 2) == pytest.approx(2 / 3)
    assert f1(np.array([1, 0]), np.array([1, -1]), 2) == 1.0


def test_f1_without_any_item_of_class_one_is_zero():
    assert f1(np.zeros(4, int), np.zeros(4, int), 2) == 0.0


def test_f1_of_more_classes_agrees_with_macro_f1_of_scikit_learn(drawn):
    metrics = pytest.importorskip("sklearn.metrics")
    truth, labels, _ = drawn
    known = truth >= 0
    theirs = metrics.f1_score(truth[known], labels[known], labels=range(4), average="macro")
    assert f1(truth, labels, 4) == pytest.approx(theirs)


def test_f1_leaves_out_classes_that_neither_truth_nor_labels_have():
    truth, labels = np.array([0, 1, 1]), np.array([0, 1, 0])
    assert f1(truth, labels, 7) == pytest.approx(np.mean([2 / 3, 2 / 3]))
    assert f1(truth, np.array([0, 1, 3]), 7) == pytest.approx(np.mean([1, 2 / 3, 0]))


def test_brier_is_the_sum_over_classes_of_squared_distances():
    probabilities, truth = np.array([[0.8, 0.2], [0.4, 0.6], [0.5, 0.5]]), np.array([0, 0, -1])
    assert brier(truth, probabilities) == pytest.approx((2 * 0.04 + 2 * 0.36) / 2)
    assert brier(np.array([0, 1]), np.eye(2)) == 0
    assert brier(np.array([1, -1]), np.eye(2)) == 2


def test_brier_leaves_the_probabilities_as_they_are():
    probabilities = np.eye(2)
    brier(np.array([1, 0]), probabilities)
    np.testing.assert_array_equal(probabilities, np.eye(2))


def test_log_loss_is_the_mean_over_known_items():
    probabilities, truth = np.array([[0.8, 0.2], [0.4, 0.6], [0.5, 0.5]]), np.array([0, 0, -1])
    assert log_loss(truth, probabilities) == pytest.approx(-(np.log(0.8) + np.log(0.4)) / 2)


def test_log_loss_of_a_class_that_is_ruled_out_is_finite():
    assert log_loss(np.array([1]), np.array([[1.0, 0.0]])) == pytest.approx(6 * np.log(10))


def test_counts_are_as_good_as_repeated_items(drawn):
    truth, labels, probabilities = drawn
    counts = np.random.default_rng(1).integers(0, 4, 300)
    rows = np.repeat(np.arange(300), counts)
    for metric in ("accuracy", "f1"):
        once = score(metric, truth, labels, 4, counts)
        assert once == pytest.approx(score(metric, truth[rows], labels[rows], 4))
    for measure in (brier, log_loss):
        assert measure(truth, probabilities, counts) == pytest.approx(measure(truth[rows], probabilities[rows]))


def test_score_is_the_metric_of_that_name(drawn):
    truth, labels, _ = drawn
    assert score("accuracy", truth, labels, 4) == accuracy(truth, labels)
    assert score("f1", truth, labels, 4) == f1(truth, labels, 4)


@pytest.mark.parametrize("counts", [None, np.array([0, 1])])
def test_metrics_without_known_truth_are_refused(counts):
    truth = np.array([-1, -1]) if counts is None else np.array([1, -1])
    with pytest.raises(ParameterError, match="truth is unknown for every item; expected at least one class"):
        accuracy(truth, np.array([0, 1]), counts)


def test_check_metric_names_the_argument_and_what_is_expected():
    assert check_metric("accuracy") == "accuracy"
    with pytest.raises(ParameterError, match="^--metric is 'auc'; expected 'accuracy' or 'f1'$"):
        check_metric("auc", "--metric")


@pytest.mark.parametrize("metric", [None, [], np.zeros(2), "recall"])
def test_metric_that_is_none_is_refused(metric):
    with pytest.raises(ParameterError, match="^metric is .*; expected 'accuracy' or 'f1'"):
        check_metric(metric)
