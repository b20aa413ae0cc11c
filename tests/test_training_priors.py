from collections import Counter, defaultdict
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chi2, chisquare

from experiments.exact_optimum import optimum, probability_of_validity
from hyperlabel.errors import ParameterError
from hyperlabel.training import (
    PRIORS,
    ReleasedPrior,
    UniformPrior,
    better_where_voting,
    is_valid,
    to_signs,
)
from hyperlabel.training._paper_priors import (
    IndependentPrior,
    PaperValidationPrior,
    _draw_valid_pair,
    _valid_pairs,
    margins,
)

ASSUMPTIONS = ["majority", "every"]


def draw(prior, count, seed=0):
    rng = np.random.default_rng(seed)
    return [prior.sample(rng) for _ in range(count)]


def tiny(n, m, assumption, candidates=0):
    return UniformPrior(items=(n, n), lfs=(m, m), candidates=candidates, assumption=assumption)


def as_drawn(votes, labels):
    """(X, y) as hashable tuples."""
    return tuple(map(tuple, votes)), tuple(labels)


@cache
def _least_order(votes, labels):
    def by_item(lfs):
        rows = zip(*lfs, strict=True)
        return tuple(zip(*sorted(zip(rows, labels, strict=True)), strict=True))  # rows, then labels

    return min(by_item(lfs) for lfs in permutations(zip(*votes, strict=True)))


def up_to_order(votes, labels):
    """(X, y) with items and LFs in a canonical order: few kinds of pairs, hence a sharper test."""
    return _least_order(*as_drawn(votes, labels))


@cache
def valid_pairs(n, m, assumption, kind):
    """How many valid pairs there are of each kind, from all 3^(nm) 2^n pairs."""
    labels = np.array(list(product([0, 1], repeat=n))).T
    kinds = Counter()
    for cells in product([-1, 0, 1], repeat=n * m):
        votes = np.array(cells).reshape(n, m)
        valid = is_valid(to_signs(votes), labels.astype(np.float32), assumption)
        kinds.update(kind(votes.tolist(), y) for y in labels[:, valid].T.tolist())
    return kinds


@cache
def drawn_pairs(n, m, assumption, kind, count):
    tasks = draw(tiny(n, m, assumption), count)
    return Counter(kind(task.votes.tolist(), task.target.astype(int).tolist()) for task in tasks)


UNIFORMITY_CASES = [
    pytest.param(4, 1, "majority", as_drawn, 5000, id="4x1"),
    pytest.param(4, 2, "every", as_drawn, 6000, id="4x2-every"),
    pytest.param(3, 3, "majority", up_to_order, 5000, id="3x3"),
]


@pytest.mark.parametrize(("n", "m", "assumption", "kind", "count"), UNIFORMITY_CASES)
def test_uniform_prior_pairs_are_uniform_among_all_valid_pairs(n, m, assumption, kind, count):
    valid, drawn = valid_pairs(n, m, assumption, kind), drawn_pairs(n, m, assumption, kind, count)
    assert set(drawn) <= set(valid)
    expected = np.array(list(valid.values())) * count / valid.total()
    assert chisquare([drawn[pair] for pair in valid], expected).pvalue > 1e-3


@pytest.mark.parametrize(("n", "m", "assumption", "kind", "count"), UNIFORMITY_CASES)
def test_uniform_prior_labels_given_votes_stay_uniform_after_the_flip(n, m, assumption, kind, count):
    valid, drawn = valid_pairs(n, m, assumption, kind), drawn_pairs(n, m, assumption, kind, count)
    labels_of = defaultdict(list)
    for pair in valid:
        labels_of[pair[0]].append(pair)
    statistic, freedom = 0.0, 0
    for pairs in labels_of.values():
        sizes, observed = np.array([valid[p] for p in pairs]), np.array([drawn[p] for p in pairs])
        if observed.any():
            expected = observed.sum() * sizes / sizes.sum()
            statistic += ((observed - expected) ** 2 / expected).sum()
            freedom += len(pairs) - 1
    assert freedom > 20
    assert chi2.sf(statistic, freedom) > 1e-3


@pytest.mark.parametrize(("m", "assumption", "gain"), [(4, "majority", 4), (5, "majority", 4), (3, "every", 64)])
def test_uniform_prior_flip_keeps_more_pairs_by_the_number_of_inversions(m, assumption, gain):
    rng = np.random.default_rng(0)
    kept = np.mean([_draw_valid_pair(rng, 60, m, assumption) is not None for _ in range(3000)])
    expected = gain * probability_of_validity(m, 60, assumption)
    assert abs(kept - expected) < 4 * np.sqrt(expected * (1 - expected) / 3000)


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
@pytest.mark.parametrize("lfs", [(2, 2), (3, 3), (2, 9)])
def test_uniform_prior_single_draws_are_valid(assumption, lfs):
    prior = UniformPrior(items=(5, 60), lfs=lfs, candidates=0, assumption=assumption)
    for task in draw(prior, 40):
        assert set(task.target.tolist()) == {0.0, 1.0}
        assert is_valid(to_signs(task.votes), task.target[:, None], assumption).all()


def test_uniform_prior_averaged_target_is_an_unbiased_estimate_of_the_optimum():
    targets = defaultdict(list)
    for task in draw(tiny(4, 1, "majority", candidates=20), 3000):
        targets[tuple(task.votes[:, 0].tolist())].append(task.target)
    deviations, variances = 0.0, 0.0
    for votes, drawn in targets.items():
        exact = optimum(np.array(votes)[:, None]).probabilities
        variance = exact * (1 - exact)  # of one drawn label: a bound for that of the target
        assert (np.abs(np.mean(drawn, axis=0) - exact) <= 4 * np.sqrt(variance / len(drawn)) + 1e-6).all()
        deviations += ((np.array(drawn) - exact) ** 2).sum()
        variances += variance.sum() * len(drawn)
    # Averaging must pay: without it the two sums would be equal in expectation.
    assert deviations < 0.5 * variances


@pytest.mark.parametrize(("m", "assumption"), [(3, "majority"), (2, "every")])
def test_uniform_prior_averaged_targets_have_slope_one_on_the_optimum(m, assumption):
    # Many X, few draws of each: test that the pooled residuals do not grow with h*(X) either.
    tasks = draw(tiny(4, m, assumption, candidates=24), 1000)
    exact = np.stack([optimum(task.votes, assumption).probabilities for task in tasks]) - 0.5  # (tasks, n)
    residual = np.stack([task.target for task in tasks]) - 0.5 - exact
    for weight in (np.ones_like(exact), exact):
        per_task = (weight * residual).sum(axis=1)  # items of one task are not independent
        assert abs(per_task.mean()) < 4 * per_task.std() / np.sqrt(len(tasks))
    assert residual.std() < 0.4


def test_uniform_prior_shapes_lie_in_their_ranges_and_fill_them():
    shapes = np.array([task.votes.shape for task in draw(UniformPrior(items=(10, 40), lfs=(3, 7), candidates=8), 300)])
    assert shapes.min(axis=0)[0] >= 10
    assert shapes.max(axis=0)[0] <= 40
    assert np.ptp(shapes[:, 0]) >= 25
    assert set(shapes[:, 1].tolist()) == {3, 4, 5, 6, 7}


def test_uniform_prior_with_max_cells_cuts_items_only_where_needed():
    shapes = [task.votes.shape for task in draw(UniformPrior(items=(10, 500), lfs=(2, 9), max_cells=1000), 200)]
    assert all(n <= min(500, 1000 // m) for n, m in shapes)
    assert {m for n, m in shapes if n == 1000 // m} == {3, 4, 5, 6, 7, 8, 9}
    assert max(n for n, m in shapes if m == 2) > 400


def test_uniform_prior_when_fewest_items_exceed_max_cells_keeps_them():
    assert {task.votes.shape for task in draw(UniformPrior(items=(30, 90), lfs=(5, 5), max_cells=100), 5)} == {(30, 5)}


@pytest.mark.parametrize("candidates", [0, 5, 64])
def test_uniform_prior_task_holds_int8_votes_and_float32_probabilities(candidates):
    for task in draw(UniformPrior(items=(50, 80), lfs=(2, 6), candidates=candidates), 10):
        assert task.votes.dtype == np.int8
        assert set(np.unique(task.votes).tolist()) == {-1, 0, 1}
        assert task.target.dtype == np.float32
        assert task.target.shape == (len(task.votes),)
        assert task.target.min() >= 0
        assert task.target.max() <= 1


@pytest.mark.parametrize("name", PRIORS)
def test_prior_with_the_same_seed_draws_the_same_tasks(name):
    prior = PRIORS[name]()
    first, second, other = draw(prior, 3, seed=7), draw(prior, 3, seed=7), draw(prior, 3, seed=8)
    for a, b in zip(first, second, strict=True):
        assert_array_equal(a.votes, b.votes)
        assert_array_equal(a.target, b.target)
    assert [a.votes.shape for a in first] != [c.votes.shape for c in other]


def test_independent_prior_tasks_have_votes_on_every_item_and_two_lfs():
    prior = IndependentPrior(items=(100, 300), lfs=(2, 4), dropped=(0.5, 0.9))
    for task in draw(prior, 200):
        assert task.votes.dtype == np.int8
        assert task.votes.shape[1] == 2
        assert 0 < len(task.votes) == len(task.target) <= 300
        assert (task.votes >= 0).any(axis=1).all()
        assert set(np.unique(task.votes).tolist()) <= {-1, 0, 1}
        assert set(task.target.tolist()) <= {0.0, 1.0}


def test_independent_prior_drops_lfs_within_the_configured_range():
    sizes = [task.votes.shape[1] for task in draw(IndependentPrior(items=(10, 10), lfs=(40, 40)), 300)]
    assert min(sizes) in range(20, 23)
    assert max(sizes) in range(38, 41)


def test_independent_prior_balance_varies_over_the_configured_range():
    prior = IndependentPrior(items=(2000, 2000), lfs=(20, 20), balance=(0.2, 0.7), coverage=(0.4, 0.5), dropped=(0, 0))
    shares = np.array([task.target.mean() for task in draw(prior, 60)])
    error = 4 * np.sqrt(0.25 / 2000)
    assert 0.2 - error < shares.min() < 0.25
    assert 0.65 < shares.max() < 0.7 + error


def test_independent_prior_lf_rates_vary_by_class_over_the_configured_ranges():
    # 60 LFs voting on a fifth of the items or more: practically no item is dropped for lack of votes.
    n, coverage, accuracy = 20_000, (0.2, 0.5), (0.4, 0.95)
    prior = IndependentPrior((n, n), (60, 60), (0.4, 0.6), coverage, accuracy, dropped=(0, 0))
    (task,) = draw(prior, 1)
    fired, right = [], []
    for label in (0, 1):
        votes = task.votes[task.target == label]
        fired.append((votes >= 0).mean(axis=0))
        right.append((votes == label).sum(axis=0) / (votes >= 0).sum(axis=0))
    for rates, (low, high), trials in [(fired, coverage, 0.4 * n), (right, accuracy, 0.4 * 0.2 * n)]:
        error = 4 * np.sqrt(0.25 / trials)
        assert low - error < np.min(rates) < low + 0.1
        assert high - 0.1 < np.max(rates) < high + error
        assert abs(np.corrcoef(rates)[0, 1]) < 0.5


def test_independent_prior_lfs_are_independent_given_the_class():
    prior = IndependentPrior((20_000, 20_000), (12, 12), (0.5, 0.5), (0.4, 0.5), (0.6, 0.9), dropped=(0, 0))
    (task,) = draw(prior, 1)
    votes = to_signs(task.votes[task.target == 1])
    correlation = np.corrcoef(votes.T)[np.triu_indices(12, 1)]
    assert np.abs(correlation).max() < 5 / np.sqrt(len(votes))


def test_priors_by_name_are_those_of_the_paper_and_of_its_code():
    named = {"uniform": UniformPrior, "released": ReleasedPrior, "independent": IndependentPrior}
    assert named | {"wrench": PaperValidationPrior} == PRIORS


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
def test_uniform_prior_validity_of_inverses_is_that_of_inverted_labels_and_excludes_it(assumption):
    rng = np.random.default_rng(0)
    for m in (1, 2, 3, 4):
        signs = to_signs(rng.integers(-1, 2, (9, m)))
        labels = rng.integers(0, 2, (9, 400)).astype(np.float32)
        valid, inverse = _valid_pairs(signs, labels, assumption)
        assert_array_equal(valid, is_valid(signs, labels, assumption))
        assert_array_equal(inverse, is_valid(signs, 1 - labels, assumption))
        assert not (valid * inverse).any()


def test_paper_validation_prior_holds_large_sets_of_many_sizes_and_balances():
    tasks = draw(PaperValidationPrior(), 60)
    lfs = np.array([task.votes.shape[1] for task in tasks])
    balance = np.array([task.target.mean() for task in tasks])
    assert all(len(task.votes) > 9_000 for task in tasks)
    assert set(lfs.tolist()) <= set(range(10, 51))
    assert abs(lfs.mean() - 30) < 6
    assert balance.min() < 0.1
    assert balance.max() > 0.9
    assert abs(balance.mean() - 0.5) < 0.15


def test_paper_validation_prior_lfs_are_better_than_random_at_any_coverage():
    task = PaperValidationPrior(items=100_000).sample(np.random.default_rng(1))
    for c in (0, 1):
        votes = task.votes[task.target == c]
        coverage = (votes >= 0).mean(0)
        accuracy = (votes == c).sum(0) / (votes >= 0).sum(0)
        assert accuracy[coverage > 0.05].min() > 0.48
        assert accuracy.max() < 1
        assert coverage.min() < 0.2
        assert coverage.max() > 0.8


def test_paper_validation_prior_majority_vote_scores_what_the_authors_sets_do():
    rights = []
    for task in draw(PaperValidationPrior(items=2000), 100, seed=2):
        lead = (task.votes == 1).sum(1) - (task.votes == 0).sum(1)
        rights.append(np.where(lead == 0, 0.5, (lead > 0) == (task.target > 0.5)).mean())
    assert abs(np.mean(rights) - 0.81) < 0.04


def test_released_prior_targets_are_the_mean_label_vector_of_the_authors_rule():
    """Every pair of 3 items and 2 LFs goes through the rule; the target of a matrix is the mean of what comes out."""
    outcomes = defaultdict(list)
    for votes in product((-1, 0, 1), repeat=6):
        for labels in product((0.0, 1.0), repeat=3):
            signs, y = np.array(votes, np.float32).reshape(3, 2), np.array(labels, np.float32)
            for target, items in ((1, y == 1), (0, y == 0)):
                right = signs[items].sum(0) * (1 if target else -1)
                if (right < 0).sum() >= 1:  # at least half of two LFs
                    signs[items] *= -1
            outcomes[signs.astype(np.int8).tobytes()].append(y)
    prior, rng, seen = ReleasedPrior(items=(3, 3), lfs=(2, 2), candidates=4096), np.random.default_rng(0), set()
    for task in (prior.sample(rng) for _ in range(200)):
        key = to_signs(task.votes).astype(np.int8).tobytes()
        np.testing.assert_allclose(task.target, np.mean(outcomes[key], axis=0), atol=0.04)
        seen.add(key)
    assert len(seen) > 50


def test_released_prior_with_log_items_draws_few_items_more_often():
    def items(log_items):
        prior = ReleasedPrior(items=(10, 160), lfs=(2, 3), candidates=0, log_items=log_items)
        return [len(task.votes) for task in draw(prior, 400)]

    assert np.median(items(False)) == pytest.approx(85, abs=10)
    assert np.median(items(True)) == pytest.approx(40, abs=8)  # halfway between the logarithms
    assert min(items(True)) >= 10
    assert max(items(True)) <= 160


def test_released_prior_draws_batches_of_one_shape():
    prior, rng = ReleasedPrior(items=(10, 40), lfs=(2, 9), max_cells=200), np.random.default_rng(0)
    batches = [{task.votes.shape for task in prior.sample_batch(rng, 4)} for _ in range(20)]
    assert all(len(shapes) == 1 for shapes in batches)
    assert len(set.union(*batches)) > 10
    assert all(n * m <= 200 for n, m in set.union(*batches))


def test_uniform_prior_of_an_own_assumption_draws_pairs_that_it_calls_valid():
    seen = []

    def few_wrong(signs, on_positives, on_negatives):
        seen.append(signs.shape)
        return ((on_positives < 0) | (on_negatives < 0)).sum(1) <= 2

    prior = UniformPrior(items=(20, 40), lfs=(3, 6), candidates=0, assumption=few_wrong)
    for task in draw(prior, 20):
        assert few_wrong(to_signs(task.votes), *margins(to_signs(task.votes), task.target[:, None]))[0]
    assert seen


def test_one_sided_lfs_have_valid_labels_under_the_assumption_of_where_they_vote_alone():
    prior = UniformPrior(items=(30, 60), lfs=(4, 8), candidates=16, assumption=better_where_voting, one_sided=1.0)
    for task in draw(prior, 20):
        signs = to_signs(task.votes)
        assert not ((signs > 0).any(0) & (signs < 0).any(0)).any()  # every LF votes for one class only
        drawn = (np.random.default_rng(0).random((len(signs), 500)) < 0.5).astype(np.float32)
        assert not is_valid(signs, drawn).any()
        assert is_valid(signs, drawn, better_where_voting).any()


def test_own_assumption_that_nothing_meets_is_refused(monkeypatch):
    monkeypatch.setattr("hyperlabel.training._paper_priors.MOST_DRAWS", 50)
    never = UniformPrior(items=(5, 9), lfs=(2, 3), assumption=lambda signs, one, zero: np.zeros(len(one), bool))
    with pytest.raises(ParameterError, match="assumption calls none of 50 random pairs of votes and labels valid"):
        never.sample(np.random.default_rng(0))


def test_one_sided_lfs_need_an_own_assumption():
    with pytest.raises(ParameterError, match="one_sided is 0.5, which needs an assumption of your own"):
        UniformPrior(one_sided=0.5)
