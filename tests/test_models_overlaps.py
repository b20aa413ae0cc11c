import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hyperlabel.data import Patterns, Votes
from hyperlabel.models import _vote_sums, sum_products


def sample(coverage, n=80, m=6):
    rng = np.random.default_rng(0)
    votes = np.where(rng.random((n, m)) < coverage, rng.integers(2, size=(n, m)), -1)
    return votes, Patterns.from_votes(Votes.from_array(votes, n_classes=2))


@pytest.mark.parametrize("coverage", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("products_per_pair", [0, 1 << 40], ids=["pairs", "dense"])
@pytest.mark.parametrize("block", [1, 50, 1 << 20])
def test_sums_of_products_pair_by_pair_and_by_blocks_are_those_of_the_items(
    monkeypatch, coverage, products_per_pair, block
):
    monkeypatch.setattr(_vote_sums, "_PRODUCTS_PER_PAIR", products_per_pair)
    monkeypatch.setattr(_vote_sums, "_BLOCK", block)
    votes, patterns = sample(coverage)
    signs = np.where(votes < 0, 0, 2 * votes - 1)
    assert_array_equal(sum_products(patterns, patterns.lf, 2.0 * patterns.vote - 1, 6), signs.T @ signs)


def test_sums_of_products_of_votes_that_nobody_casts_are_zero():
    patterns = Patterns.from_votes(Votes.from_array(np.full((3, 4), -1), n_classes=2))
    assert_array_equal(sum_products(patterns, patterns.lf, np.ones(0), 4), np.zeros((4, 4)))
