"""What must hold for any votes: the network sees sets of items and sets of LFs, and an abstention is nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import hyperlabel as hl

TOLERANCE = 1e-6


@st.composite
def votes_of_k(draw):
    k = draw(st.integers(2, 5))
    shape = draw(st.tuples(st.integers(1, 30), st.integers(1, 8)))
    return draw(arrays(np.int64, shape, elements=st.integers(-1, k - 1))), k


def probabilities(votes, k, weights="default"):
    return hl.HyperLabelModel(weights=weights, n_classes=k).predict_proba(votes)


@given(votes_of_k())
@settings(deadline=None)
def test_probabilities_of_any_votes_are_distributions(case):
    votes, k = case
    p = probabilities(votes, k)
    assert p.shape == (len(votes), k)
    assert p.dtype == np.float64
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(1), 1, atol=1e-12)


@given(votes_of_k(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_probabilities_when_lfs_are_permuted_are_unchanged(case, random):
    votes, k = case
    order = random.sample(range(votes.shape[1]), votes.shape[1])
    np.testing.assert_allclose(probabilities(votes[:, order], k), probabilities(votes, k), atol=TOLERANCE)


@given(votes_of_k(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_probabilities_when_items_are_permuted_are_permuted(case, random):
    votes, k = case
    order = random.sample(range(len(votes)), len(votes))
    np.testing.assert_allclose(probabilities(votes[order], k), probabilities(votes, k)[order], atol=TOLERANCE)


@given(votes_of_k(), st.integers(2, 4))
@settings(deadline=None)
def test_probabilities_of_the_paper_s_network_when_every_item_is_repeated_are_unchanged(case, times):
    votes, k = case
    repeated = probabilities(np.tile(votes, (times, 1)), k, "hlm")
    np.testing.assert_allclose(repeated, np.tile(probabilities(votes, k, "hlm"), (times, 1)), atol=TOLERANCE)


@given(votes_of_k(), st.integers(0, 30))
@settings(deadline=None)
def test_probabilities_when_an_item_without_votes_is_added_are_unchanged(case, place):
    votes, k = case
    place = min(place, len(votes))
    more = probabilities(np.insert(votes, place, -1, axis=0), k)
    np.testing.assert_allclose(np.delete(more, place, axis=0), probabilities(votes, k), atol=TOLERANCE)
    np.testing.assert_allclose(more[place], 1 / k)


@given(votes_of_k(), st.integers(0, 8))
@settings(deadline=None)
def test_probabilities_when_an_lf_that_never_votes_is_added_are_unchanged(case, place):
    votes, k = case
    more = np.insert(votes, min(place, votes.shape[1]), -1, axis=1)
    np.testing.assert_allclose(probabilities(more, k), probabilities(votes, k), atol=TOLERANCE)


@given(votes_of_k())
@settings(deadline=None)
def test_labels_of_any_votes_are_the_first_most_probable_class(case):
    votes, k = case
    p = probabilities(votes, k)
    labels = hl.HyperLabelModel(n_classes=k).predict(votes)
    voted = (votes >= 0).any(1)
    assert (labels[~voted] == hl.ABSTAIN).all()
    best = p >= p.max(1, keepdims=True) - 1e-6
    np.testing.assert_array_equal(labels[voted], best.argmax(1)[voted])


@pytest.mark.parametrize("k", [2, 4])
def test_probabilities_when_votes_repeat_equal_those_of_the_items_one_by_one(k):
    """Patterns are only a way to compute: weighting a row twice is the same as seeing it twice."""
    rng = np.random.default_rng(0)
    pool = rng.integers(-1, k, (6, 5))
    votes = pool[rng.integers(0, 6, 200)]
    read = hl.Votes.from_array(votes, n_classes=k)
    one_by_one = hl.Patterns(read.rows, np.ones(200, np.int64), 5, k)
    found = hl.HyperLabelModel().fit(one_by_one).predict_proba(one_by_one)
    np.testing.assert_allclose(probabilities(votes, k), found, atol=TOLERANCE)
