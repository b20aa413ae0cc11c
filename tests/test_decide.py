from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import hyperlabel as hl
from hyperlabel.data import Patterns, Votes, decide, find_f1_rule


def to_patterns(p, m=4, seed=0):
    """p patterns with counts, the last without votes."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.array(list(product([-1, 0, 1], repeat=m)))[1:])[: p - 1]
    patterns = Patterns.from_votes(Votes.from_array(np.vstack([rows, np.full(m, -1)]), n_classes=2))
    return Patterns(patterns.rows, rng.integers(1, 30, p), m, 2)


def call_for_f1(probabilities, patterns):
    """The labels of the rule that is found for a set."""
    items = patterns.counts * patterns.has_votes
    rule = find_f1_rule(lambda rule: rule.sums(probabilities, items), probabilities.shape[1])
    return np.where(patterns.has_votes, rule.decide(probabilities), -1)


def expected_f1(called, positive, counts):
    return 2 * (counts * positive)[called].sum() / (counts[called].sum() + (counts * positive).sum())


@pytest.mark.parametrize("seed", range(20))
def test_labels_for_f1_are_the_best_of_all_by_expectation(seed):
    patterns = to_patterns(9, seed=seed)
    voted = patterns.has_votes
    positive = np.random.default_rng(seed).random(9) ** 2
    labels = call_for_f1(np.column_stack([1 - positive, positive]), patterns)
    q, counts = positive[voted], patterns.counts[voted]
    best = max(expected_f1(np.array(called), q, counts) for called in product([False, True], repeat=8) if any(called))
    assert expected_f1(labels[voted] == 1, q, counts) == pytest.approx(best)
    assert_array_equal(labels[~voted], hl.ABSTAIN)


def test_labels_for_f1_call_rare_positives_that_are_less_likely_than_not():
    patterns = replace(to_patterns(5), counts=np.full(5, 10))
    positive = np.where(np.arange(5) == np.flatnonzero(patterns.has_votes)[1], 0.4, 0.01)
    labels = call_for_f1(np.column_stack([1 - positive, positive]), patterns)
    assert_array_equal(labels == 1, positive == 0.4)


def test_labels_for_f1_of_equal_probabilities_are_equal():
    patterns = to_patterns(12)
    labels = call_for_f1(np.full((12, 2), 0.5), patterns)
    assert set(labels[patterns.has_votes].tolist()) == {1}


def test_labels_for_f1_where_nobody_votes_are_none():
    votes = np.full((3, 2), -1)
    assert hl.HyperLabelModel(n_classes=2).predict(votes, metric="f1").tolist() == [-1, -1, -1]


def test_labels_for_f1_by_right_probabilities_have_a_better_f1_than_the_likeliest():
    rng, patterns = np.random.default_rng(0), to_patterns(60)
    positive = rng.beta(1, 4, 60)
    truth = rng.binomial(patterns.counts, positive)

    def f1(called):
        return 2 * truth[called].sum() / (patterns.counts[called].sum() + truth.sum())

    labels = call_for_f1(np.column_stack([1 - positive, positive]), patterns)
    assert f1(labels == 1) > f1((positive > 0.5) & patterns.has_votes) + 0.05


def test_predict_for_f1_gives_named_classes_back():
    votes = pd.DataFrame({"a": ["ham", "spam", None], "b": ["spam", "spam", None]})
    labels = hl.HyperLabelModel(classes=["ham", "spam"]).predict(votes, metric="f1")
    assert set(labels.tolist()) <= {"ham", "spam", None}
    assert labels[1] == "spam"


def macro_f1(called, probabilities, counts):
    """Macro F1 to be expected of labels, by its definition."""
    hits = np.array([(counts * probabilities[:, c])[called == c].sum() for c in range(3)])
    items = np.array([counts[called == c].sum() + counts @ probabilities[:, c] for c in range(3)])
    return (2 * hits / items).mean()


@pytest.mark.parametrize("seed", range(10))
def test_labels_for_macro_f1_are_expected_to_be_no_worse_than_the_likeliest_classes(seed):
    rng = np.random.default_rng(seed)
    patterns = replace(to_patterns(40, seed=seed), n_classes=3, classes=(0, 1, 2))
    voted = patterns.has_votes
    probabilities = rng.dirichlet([4, 1, 0.5], 40)
    labels = call_for_f1(probabilities, patterns)
    best, likeliest = (
        macro_f1(called[voted], probabilities[voted], patterns.counts[voted])
        for called in (labels, probabilities.argmax(1))
    )
    assert best >= likeliest - 1e-12
    assert_array_equal(labels[~voted], hl.ABSTAIN)


def test_rule_for_f1_adds_up_over_chunks():
    rng, patterns = np.random.default_rng(0), to_patterns(60)
    positive = rng.beta(1, 4, 60)
    probabilities, items = np.column_stack([1 - positive, positive]), patterns.counts * patterns.has_votes
    parts = np.array_split(np.arange(60), 7)

    def sums(rule):
        chunks = [rule.sums(probabilities[part], items[part]) for part in parts]
        return tuple(map(sum, zip(*chunks, strict=True)))

    whole = find_f1_rule(lambda rule: rule.sums(probabilities, items), 2)
    chunked = find_f1_rule(sums, 2)
    assert chunked.f1 == pytest.approx(whole.f1)
    assert_array_equal(chunked.decide(probabilities), whole.decide(probabilities))


@pytest.mark.parametrize("seed", [0, 7, 2**24 - 1, 2**64, -3])
def test_random_ties_of_any_seed_depend_on_votes_alone(seed):
    patterns = to_patterns(30)
    shares = np.full((30, 2), 0.5)
    drawn = decide(shares, patterns, "random", seed)
    order = np.random.default_rng(1).permutation(30)
    assert_array_equal(decide(shares, patterns.take(order), "random", seed), drawn[order])
    assert set(drawn[patterns.has_votes].tolist()) == {0, 1}


def test_f1_of_a_set_that_was_read_for_accuracy_is_refused():
    patterns = to_patterns(9)
    model = hl.label_model("mv").fit_passes(lambda sums: sums(patterns), patterns)
    with pytest.raises(hl.ParameterError, match="metric is 'f1', but the model read its set only for accuracy"):
        model.predict([[0, 1, 1, -1]], metric="f1")


def test_predict_for_an_unknown_metric_is_refused():
    with pytest.raises(hl.ParameterError, match="metric is 'auc'; expected 'accuracy' or 'f1'"):
        hl.HyperLabelModel().predict([[0, 1]], metric="auc")
