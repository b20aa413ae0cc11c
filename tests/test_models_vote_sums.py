"""Few patterns are a table, many are summed vote by vote: the results must not tell which."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hyperlabel as hl
from hyperlabel._core import softmax
from hyperlabel.data import Patterns
from hyperlabel.models import VoteSums
from hyperlabel.models import _cll as cll
from hyperlabel.models import _ebcc as ebcc
from hyperlabel.models import _vote_sums as vote_sums


def draw_votes(n=200, m=4, k=3, coverage=0.6):
    rng = np.random.default_rng(0)
    truth = rng.integers(k, size=n)
    votes = np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(k, size=(n, m)))
    return np.where(rng.random((n, m)) < coverage, votes, -1)


@pytest.fixture(params=["table", "votes"])
def patterns(request, monkeypatch):
    monkeypatch.setattr(vote_sums, "DENSE", 1 << 15 if request.param == "table" else 0)
    return Patterns.from_votes(hl.Votes.from_array(draw_votes()))


def test_evidence_is_the_sum_over_the_votes_of_a_pattern(patterns):
    table, cells = np.random.default_rng(1).normal(size=(4, 3, 2)), patterns.to_array()
    expected = [sum((table[j, v] for j, v in enumerate(row) if v >= 0), np.zeros(2)) for row in cells]
    assert_allclose(VoteSums(patterns).add_evidence(table), expected, atol=1e-12)


def test_counted_votes_are_the_sum_over_items_of_their_class_probabilities(patterns):
    posterior, cells = np.random.default_rng(1).random((patterns.n_patterns, 2)), patterns.to_array()
    counted = VoteSums(patterns).count_votes(posterior)
    assert counted.shape == (4, 3, 2)
    for j in range(4):
        for v in range(3):
            cast = cells[:, j] == v
            assert_allclose(counted[j, v], patterns.counts[cast] @ posterior[cast], atol=1e-9)


def test_patterns_without_votes_add_nothing(patterns):
    assert not patterns.has_votes.all()
    sums, empty = VoteSums(patterns), np.where(patterns.has_votes, 0.0, 1.0)[:, None]
    assert_allclose(sums.add_evidence(np.ones((4, 3, 2)))[~patterns.has_votes], 0)
    assert_allclose(sums.count_votes(empty), np.zeros((4, 3, 1)))


@pytest.mark.parametrize("name", ["ds", "hds", "nplm", "dp", "metal", "fs", "cll", "ebcc"])
def test_model_on_a_table_gives_the_probabilities_of_the_model_on_votes(name, monkeypatch):
    if name == "ebcc":
        pytest.importorskip("scipy")
    votes, probabilities = draw_votes(), []
    for entries in (1 << 15, 0):
        for module in (vote_sums, cll, ebcc):
            monkeypatch.setattr(module, "DENSE", entries)
        probabilities.append(hl.label_model(name).fit(votes).predict_proba(votes))
    assert_allclose(*probabilities, atol=1e-9)


def test_softmax_of_large_logits_is_finite():
    assert_allclose(softmax(np.array([[1e4, 0.0], [-1e4, -1e4]])), [[1, 0], [0.5, 0.5]], atol=1e-300)
