"""The optimum at any size, against enumeration and rejection."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from experiments import gaussian_optimum as gaussian
from experiments.exact_optimum import optimum
from experiments.gaussian_optimum import approximate_optimum
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.training import is_valid, to_signs


def uniform_votes(n, m, seed):
    return np.random.default_rng([n, m, seed]).integers(-1, 2, (n, m))


def correlation(one, other):
    return np.corrcoef(one, other)[0, 1]


@pytest.mark.parametrize(("n", "m"), [(16, 3), (16, 5), (18, 7)])
def test_approximation_of_few_items_is_near_enumeration(n, m):
    votes = uniform_votes(n, m, 0)
    exact, found = optimum(votes), approximate_optimum(votes, draws=100_000)
    assert np.exp(found.log_share) == pytest.approx(exact.count / 2**n, abs=0.008)
    assert correlation(exact.probabilities, found.probabilities) > 0.995
    assert np.abs(exact.probabilities - found.probabilities).max() < 0.05
    assert found.largest < 1


@pytest.mark.parametrize(("n", "m"), [(200, 10), (400, 31)])
@pytest.mark.parametrize("enough", [gaussian.ENOUGH, 10**9], ids=["plain", "split"])
def test_approximation_of_many_items_is_within_the_noise_of_rejection(monkeypatch, n, m, enough):
    monkeypatch.setattr(gaussian, "ENOUGH", enough)
    votes, rng = uniform_votes(n, m, 1), np.random.default_rng(0)
    labels = rng.integers(0, 2, (n, 40_000), dtype=np.int8).astype(np.float32)
    valid = is_valid(to_signs(votes), labels)
    expected, noise = labels[:, valid].mean(1), 0.5 / np.sqrt(valid.sum())
    found = approximate_optimum(votes, draws=60_000)
    assert np.exp(found.log_share) == pytest.approx(valid.mean(), rel=0.12)
    error = np.sqrt(np.mean((expected - found.probabilities) ** 2))
    assert error < 1.3 * noise
    assert expected.std() > 2 * noise  # there was something to find


@pytest.mark.parametrize("lead", [10, 20, 30])
def test_approximation_of_rare_valid_labels_has_their_share_and_mean(lead):
    """Few patterns, so that enumeration is exact; a lead of one class makes valid label vectors rare."""
    patterns = np.array([[1, 1, 1], [0, 0, 0], [1, 0, -1], [0, 1, 1]])
    votes = patterns.repeat([100 + lead, 100, 3, 3], axis=0)
    exact, found = optimum(votes), approximate_optimum(votes, draws=40_000)
    log_share = float(np.log(float(exact.count >> 100)) + (100 - len(votes)) * np.log(2))
    assert found.log_share == pytest.approx(log_share, abs=0.3)
    assert np.abs(exact.probabilities - found.probabilities).max() < 0.03


def four_times(seed):
    """Ten items, four times each, so that enumeration is possible."""
    return np.tile(np.random.default_rng([24, 6, seed]).integers(-1, 2, (10, 4)), (4, 1))


def test_approximation_of_every_lf_reaches_one_label_vector_in_a_thousand():
    votes = four_times(7)
    exact, found = optimum(votes, "every"), approximate_optimum(votes, "every", draws=40_000)
    log_share = np.log(exact.count) - len(votes) * np.log(2)
    assert log_share < -7
    assert found.log_share == pytest.approx(log_share, abs=0.5)
    assert correlation(exact.probabilities, found.probabilities) > 0.99
    assert found.largest < 1


@pytest.mark.parametrize("seed", [1, 3, 8, 9, 10, 11])
def test_approximation_too_far_out_for_a_gaussian_says_so(seed):
    """Of these, 1, 8 and 11 have no valid label vector at all; in the others the error is above 0.1."""
    votes = four_times(seed)
    exact, found = optimum(votes, "every"), approximate_optimum(votes, "every")
    assert exact.count == 0 or np.abs(exact.probabilities - found.probabilities).max() > 0.1
    assert found.largest > 1.1


def test_approximation_with_repeated_lfs_is_that_without():
    votes = uniform_votes(150, 7, 0)
    once, thrice = (approximate_optimum(np.tile(votes, (1, times)), draws=60_000) for times in (1, 3))
    assert thrice.log_share == pytest.approx(once.log_share, abs=0.1)
    assert_allclose(thrice.probabilities, once.probabilities, atol=0.02)


def test_approximation_of_item_without_votes_is_one_half():
    votes = uniform_votes(60, 5, 0)
    votes[7] = -1
    assert approximate_optimum(votes).probabilities[7] == 0.5


def test_approximation_when_classes_are_swapped_swaps_probabilities():
    votes = uniform_votes(80, 5, 0)
    swapped = np.where(votes < 0, votes, 1 - votes)
    one, other = (approximate_optimum(each, draws=100_000).probabilities for each in (votes, swapped))
    assert_allclose(one, 1 - other, atol=0.02)


@pytest.mark.parametrize(
    "votes",
    [
        [[1, 1, 1]] * 20,  # nobody votes for class 0
        [[1, 0]] * 10 + [[1, -1]],  # each LF for a class of its own
        [[-1, -1]] * 5,
        [[0, 1, 0], [1, 0, -1], [0, 1, -1]],  # two LFs that contradict each other, and one of a single class
    ],
    ids=["one class", "a class each", "no votes", "contradiction"],
)
def test_approximation_when_no_label_vector_is_valid_is_undefined(votes):
    assert optimum(votes).count == 0
    found = approximate_optimum(votes)
    assert np.isnan(found.probabilities).all()
    assert found.probabilities.shape == (len(votes),)
    assert found.log_share == -np.inf


def test_approximation_of_the_same_seed_is_the_same():
    votes = uniform_votes(50, 4, 0)
    one, same, other = (approximate_optimum(votes, seed=seed).probabilities for seed in (0, 0, 1))
    assert_allclose(one, same, rtol=0)
    assert (one != other).any()


def test_approximation_of_votes_that_are_not_binary_raises():
    with pytest.raises(VotesError, match=r"votes\[0, 1\] is 2; expected -1 \(abstain\), 0 or 1"):
        approximate_optimum([[0, 2]])


def test_approximation_with_too_few_draws_raises():
    with pytest.raises(ParameterError, match="draws is 999; expected at least 1000"):
        approximate_optimum([[0, 1]], draws=999)


def test_approximation_when_assumption_is_unknown_raises():
    with pytest.raises(ParameterError, match="assumption is 'some'; expected 'majority' or 'every'"):
        approximate_optimum([[0, 1]], "some")
