from fractions import Fraction
from itertools import product
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from experiments.exact_optimum import MAX_ITEMS, optimum, probability_of_validity
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.training import is_valid, quorum, to_signs

ASSUMPTIONS = ["majority", "every"]
seeded = settings(deadline=None, derandomize=True, max_examples=60)
assumptions = st.sampled_from(ASSUMPTIONS)


def votes_of(max_items, max_lfs):
    shapes = st.tuples(st.integers(1, max_items), st.integers(1, max_lfs))
    return shapes.flatmap(lambda shape: arrays(np.int8, shape, elements=st.integers(-1, 1)))


def repeated_votes(max_items, max_lfs, patterns=3):
    """Items drawn from few patterns, so that most of them repeat."""
    return st.tuples(
        arrays(np.int8, st.tuples(st.just(patterns), st.integers(1, max_lfs)), elements=st.integers(-1, 1)),
        st.lists(st.integers(0, patterns - 1), min_size=1, max_size=max_items),
    ).map(lambda drawn: drawn[0][drawn[1]])


def literal_sigma(votes, y, assumption):
    """Equations 1 and 2 as they are printed: X in {+1, -1, 0}, y in {+1, -1}."""
    X = [[{1: 1, 0: -1, -1: 0}[int(vote)] for vote in row] for row in votes]
    y = [1 if label else -1 for label in y]
    n, m = len(X), len(X[0])

    def g(j, c):
        right = sum(1 for i in range(n) if X[i][j] == c and y[i] == c)
        wrong = sum(1 for i in range(n) if X[i][j] == -c and y[i] == c)
        return 1 if right > wrong else 0

    better = [sum(g(j, c) for j in range(m)) for c in (1, -1)]
    return all(b > m / 2 for b in better) if assumption == "majority" else all(b == m for b in better)


def brute_force(votes, assumption="majority"):
    """The mean and number of valid y, trying all 2^n."""
    n = len(votes)
    signs, total, count = to_signs(votes), np.zeros(n), 0
    for block in np.array_split(np.arange(2**n), max(1, 2**n // 2**16)):
        labels = (block >> np.arange(n)[:, None] & 1).astype(np.float32)
        valid = is_valid(signs, labels, assumption)
        total += labels[:, valid].sum(axis=1, dtype=np.float64)
        count += int(valid.sum())
    return (total / count if count else np.full(n, np.nan)), count


def swap_classes(votes):
    return np.where(votes < 0, votes, 1 - votes)


# --- validity -----------------------------------------------------------------------------------------


@seeded
@given(votes_of(6, 6), assumptions, st.data())
def test_validity_of_any_pair_equals_the_printed_equations(votes, assumption, data):
    labels = data.draw(arrays(np.int8, (len(votes), 4), elements=st.integers(0, 1)))
    expected = [literal_sigma(votes, y, assumption) for y in labels.T]
    assert is_valid(to_signs(votes), labels.astype(np.float32), assumption).tolist() == expected


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
def test_validity_of_all_label_vectors_equals_the_printed_equations(assumption):
    # Mostly right LFs, so that both answers are frequent under both assumptions.
    rng = np.random.default_rng(0)
    truth = np.array([0, 0, 0, 1, 1, 1])
    votes = np.where(rng.random((6, 3)) < 0.8, truth[:, None], -1)
    labels = np.array(list(product([0, 1], repeat=6))).T
    valid = is_valid(to_signs(votes), labels.astype(float), assumption)
    assert valid.tolist() == [literal_sigma(votes, y, assumption) for y in labels.T]
    assert 0 < valid.sum() < 64


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8])
def test_signs_of_any_integer_dtype_are_minus_plus_and_zero(dtype):
    votes = np.array([[0, 1]] if dtype == np.uint8 else [[0, 1, -1]], dtype)
    signs = to_signs(votes)
    assert signs.dtype == np.float32
    assert signs.tolist() == [[-1.0, 1.0, 0.0][: votes.shape[1]]]


@pytest.mark.parametrize(("m", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (60, 31)])
def test_quorum_for_m_lfs_is_strictly_more_than_half_or_all(m, majority):
    assert quorum(m, "majority") == majority
    assert quorum(m, "every") == m


def test_quorum_when_assumption_is_unknown_raises():
    with pytest.raises(ParameterError, match="assumption is 'most'; expected 'majority' or 'every'"):
        quorum(3, "most")


# --- probability of validity --------------------------------------------------------------------------


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 2), (3, 1), (3, 2), (2, 3), (5, 1)])
def test_probability_of_validity_for_tiny_shapes_is_the_share_of_all_pairs(n, m, assumption):
    labels = np.array(list(product([0, 1], repeat=n)), np.float32).T
    pairs = [
        is_valid(np.array(cells, np.float32).reshape(n, m), labels, assumption)
        for cells in product([-1, 0, 1], repeat=n * m)
    ]
    assert probability_of_validity(m, n, assumption) == pytest.approx(np.mean(pairs), rel=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 7, 8])
def test_probability_of_validity_in_the_limit_counts_fair_coins(m):
    # Without ties each LF is better than random with probability 1/2 on each class, independently.
    majority = sum(2 * sum(coins) > m for coins in product([0, 1], repeat=m))
    assert probability_of_validity(m) == pytest.approx((majority / 2**m) ** 2)
    assert probability_of_validity(m, n=200_000) == pytest.approx(probability_of_validity(m), rel=0.02)


def test_probability_of_validity_by_the_appendix_formula_is_its_printed_number():
    # The paper prints 0.232. Its formula subtracts C(m, m/2) / 2^m, the chance of an undecided majority, for
    # one of the two classes, and divides the sum over the 59 values of m by H_m - L_m = 58.
    ties = [comb(m, m // 2) / 2**m if m % 2 == 0 else 0 for m in range(2, 61)]
    assert sum((1 - tie) / 4 for tie in ties) / 58 == pytest.approx(0.232, abs=5e-4)
    # For both classes and divided by 59 the limit of many items is lower.
    limit = np.mean([probability_of_validity(m) for m in range(2, 61)])
    assert limit == pytest.approx(sum((1 - tie) ** 2 / 4 for tie in ties) / 59)
    assert limit == pytest.approx(0.210, abs=5e-4)


def test_probability_of_validity_on_the_papers_shapes_is_that_of_a_seeded_sample():
    # LFs whose right and wrong votes tie on a class are not better than random. The appendix neglects them;
    # with n in [100, 2000] they bring the probability from 0.210 to 0.165, seven standard errors below.
    rng = np.random.default_rng(0)
    pairs = 4000
    shapes = list(zip(rng.integers(2, 61, pairs).tolist(), rng.integers(100, 2001, pairs).tolist(), strict=True))
    kept = [
        is_valid(rng.integers(-1, 2, (n, m), np.int8).astype(np.float32), rng.integers(0, 2, (n, 1)).astype(np.float32))
        for m, n in shapes
    ]
    expected = np.array([probability_of_validity(m, n) for m, n in shapes])
    error = np.sqrt((expected * (1 - expected)).sum()) / pairs
    assert abs(np.mean(kept) - expected.mean()) < 3 * error
    assert abs(np.mean(kept) - 0.165) < 3 * error
    assert np.mean(kept) < 0.210 - 3 * error


# --- the optimum --------------------------------------------------------------------------------------


@seeded
@given(votes_of(9, 6) | repeated_votes(9, 5), assumptions)
def test_optimum_of_small_votes_equals_brute_force(votes, assumption):
    probabilities, count = brute_force(votes, assumption)
    result = optimum(votes, assumption)
    assert result.count == count
    assert_allclose(result.probabilities, probabilities, rtol=0, atol=1e-12)


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
def test_optimum_of_ten_items_is_the_mean_of_the_printed_equations(assumption):
    rng = np.random.default_rng(2)
    truth = np.arange(10) % 2
    votes = np.where(rng.random((10, 3)) < 0.6, truth[:, None], -1)
    valid = [y for y in product([0, 1], repeat=10) if literal_sigma(votes, y, assumption)]
    result = optimum(votes.tolist(), assumption)
    assert result.count == len(valid) > 10
    assert_allclose(result.probabilities, np.mean(valid, axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n", "m"), [(20, 11), (16, 60)])
def test_optimum_of_twenty_items_or_sixty_lfs_equals_brute_force(n, m):
    votes = np.random.default_rng(1).integers(-1, 2, (n, m), np.int8)
    probabilities, count = brute_force(votes)
    result = optimum(votes)
    assert result.count == count > 0
    assert_allclose(result.probabilities, probabilities, rtol=0, atol=1e-12)


def test_optimum_of_repeated_patterns_equals_the_sum_over_compositions():
    # 66 items: counts pass 2^63, so that sums are made of Python integers.
    patterns = np.array([[1, 1, -1, 0, 1], [0, 1, 1, -1, 1], [-1, 0, 0, 0, 1]])
    sizes = (15, 22, 29)
    signs = to_signs(patterns).astype(int)
    count, totals = 0, [0, 0, 0]
    for u in product(*(range(c + 1) for c in sizes)):
        on_positives = np.array(u) @ signs
        on_negatives = on_positives - np.array(sizes) @ signs
        if min((on_positives > 0).sum(), (on_negatives > 0).sum()) > 2:
            ways = prod(comb(c, k) for c, k in zip(sizes, u, strict=True))
            count += ways
            totals = [total + ways * k for total, k in zip(totals, u, strict=True)]
    assert count > 2**63
    expected = [float(Fraction(total, count * c)) for total, c in zip(totals, sizes, strict=True)]
    result = optimum(np.repeat(patterns, sizes, axis=0))
    assert result.count == count
    assert_allclose(result.probabilities, np.repeat(expected, sizes), rtol=1e-14)


def test_optimum_of_one_lf_and_many_items_has_the_exact_closed_form():
    # Counting the items labelled as voted, v of n in C(n, v) ways: valid when v exceeds either side.
    ones, zeros = 1200, 800
    n = ones + zeros
    ways = {v: comb(n, v) for v in range(ones + 1, n + 1)}
    count = sum(ways.values())
    right = float(Fraction(sum(v * w for v, w in ways.items()), n * count))
    result = optimum(np.repeat([[1], [0]], [ones, zeros], axis=0))
    assert result.count == count
    assert_allclose(result.probabilities, np.repeat([right, 1 - right], [ones, zeros]), rtol=1e-14)


def test_optimum_of_two_thousand_items_in_three_patterns_has_the_exact_count():
    # Each LF votes on items of its own, so that the outcomes (better on class 1, on class 0) are independent.
    sides = [(400, 267), (300, 367), (333, 333)]
    outcomes = []
    for ones, zeros in sides:
        n, low, high = ones + zeros, min(ones, zeros), max(ones, zeros)
        both = sum(comb(n, v) for v in range(high + 1, n + 1))
        one = sum(comb(n, v) for v in range(low + 1, high + 1))
        better_on_one_class = (0, 1) if ones > zeros else (1, 0)
        outcomes.append({(1, 1): both, better_on_one_class: one, (0, 0): 2**n - both - one})
    count = sum(
        prod(outcome[pair] for outcome, pair in zip(outcomes, pairs, strict=True))
        for pairs in product(*outcomes)
        if min(map(sum, zip(*pairs, strict=True))) >= 2
    )
    votes = np.full((2000, 3), -1)
    starts = np.cumsum([0, *(ones + zeros for ones, zeros in sides)])
    for lf, (ones, zeros) in enumerate(sides):
        votes[starts[lf] : starts[lf + 1], lf] = np.repeat([1, 0], [ones, zeros])
    result = optimum(votes)
    assert result.count == count > 2**1000
    assert len(set(result.probabilities.tolist())) == 6


def test_optimum_of_repeated_patterns_equals_the_item_by_item_answer():
    votes = np.repeat([[1, 0, 1], [1, 1, -1], [0, 0, 1]], [5, 4, 3], axis=0)
    probabilities, count = brute_force(votes)
    order = np.random.default_rng(0).permutation(12)
    result = optimum(votes[order])
    assert result.count == count > 0
    assert_allclose(result.probabilities, probabilities[order], rtol=0, atol=1e-12)


@seeded
@given(repeated_votes(14, 5) | votes_of(9, 6), assumptions)
def test_optimum_when_classes_are_swapped_swaps_probabilities(votes, assumption):
    result, swapped = optimum(votes, assumption), optimum(swap_classes(votes), assumption)
    assert swapped.count == result.count
    assert_allclose(swapped.probabilities, 1 - result.probabilities, rtol=0, atol=1e-12)


@seeded
@given(repeated_votes(14, 5) | votes_of(9, 6), assumptions, st.randoms(use_true_random=False))
def test_optimum_when_items_and_lfs_are_permuted_is_permuted(votes, assumption, random):
    items, lfs = list(range(votes.shape[0])), list(range(votes.shape[1]))
    random.shuffle(items)
    random.shuffle(lfs)
    result, permuted = optimum(votes, assumption), optimum(votes[items][:, lfs], assumption)
    assert permuted.count == result.count
    assert_array_equal(permuted.probabilities, result.probabilities[items])


def test_optimum_of_item_without_votes_is_one_half_and_doubles_the_count():
    votes = np.array([[1, 1, -1], [0, 0, 0], [1, 0, 1], [0, 1, 0]])
    result = optimum(np.vstack([[[-1, -1, -1]], votes, np.full((90, 3), -1)]))
    assert result.count == optimum(votes).count * 2**91
    assert_array_equal(result.probabilities[1:5], optimum(votes).probabilities)
    assert set(np.delete(result.probabilities, range(1, 5))) == {0.5}


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
@pytest.mark.parametrize(
    "votes",
    [
        pytest.param([[1, -1], [-1, 0], [1, 0]], id="two one-sided LFs"),
        pytest.param(np.repeat([[1, -1, -1], [-1, 0, 1]], 40, axis=0), id="three one-sided LFs"),
        pytest.param(np.full((5, 3), -1), id="all abstain"),
        pytest.param([[1]], id="one item"),
    ],
)
def test_optimum_when_no_label_vector_is_valid_is_undefined(votes, assumption):
    result = optimum(votes, assumption)
    assert result.count == 0
    assert result.probabilities.shape == (len(votes),)
    assert np.isnan(result.probabilities).all()


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        ([[0, 1], [2, 1]], r"votes\[1, 0\] is 2; expected -1 \(abstain\), 0 or 1.*one class against the rest"),
        ([[0, 1, -2]], r"votes\[0, 2\] is -2"),
        ([[0.0, 1.0]], "votes must be integers.*got float64"),
        ([["a", "b"]], "votes must be integers"),
        ([0, 1, 1], r"votes must be 2-D.*got shape \(3,\)"),
        (np.zeros((2, 2, 2), int), r"got shape \(2, 2, 2\)"),
        (np.zeros((0, 3), int), r"at least one item and one LF, got shape \(0, 3\)"),
        (np.zeros((3, 0), int), r"at least one item and one LF, got shape \(3, 0\)"),
        ([[0, 1], [1]], "votes must be a 2-D array of integers"),
    ],
)
def test_optimum_when_votes_are_not_binary_votes_raises(votes, message):
    with pytest.raises(VotesError, match=message):
        optimum(votes)


def test_optimum_when_assumption_is_unknown_raises():
    with pytest.raises(ParameterError, match="assumption is 'most'"):
        optimum([[0, 1]], "most")


@pytest.mark.parametrize(("n", "size"), [(40, r"2\^39\.0"), (10_000, r"2\^\d{4}\.\d")])
def test_optimum_when_search_is_too_large_raises_with_size_limit_and_remedy(n, size):
    votes = np.random.default_rng(0).integers(-1, 2, (n, 30))
    message = rf"{n} items in {n} patterns.*would search {size} compositions.*limit of 2\^24.*fewer items"
    with pytest.raises(VotesError, match=message):
        optimum(votes)


def test_optimum_when_a_pattern_has_too_many_items_raises():
    with pytest.raises(VotesError, match=f"{MAX_ITEMS + 1} items with votes.*at most {MAX_ITEMS}.*sample"):
        optimum(np.ones((MAX_ITEMS + 1, 1), int))
