"""Generators of labeled tasks: what their docstrings promise, measured on drawn tasks."""

from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel.training import LABELED_PRIORS, LabeledTask, MixturePrior
from hyperlabel.training import _labeled_priors as labeled_priors
from hyperlabel.training import _rule_priors as rule_priors
from hyperlabel.training._labeled_priors import ConfusionPrior, CrowdPrior, PanelPrior, drop_silent, is_poor
from hyperlabel.training._rule_priors import (
    IndependentRulesPrior,
    RulesPrior,
    TopicsPrior,
    draw_balance,
    floor_shares,
    log_uniform,
    mislabel,
    normal_cdf,
)

SMALL = {
    "rules": RulesPrior(items=(200, 2000), max_cells=40_000),
    "topics": TopicsPrior(items=(200, 2000), max_cells=40_000),
    "crowd": CrowdPrior(items=(80, 800), workers=(4, 100), max_votes=5000),
    "panel": PanelPrior(items=(80, 800), judges=(4, 40), max_votes=10_000),
    "independent-rules": IndependentRulesPrior(),
    "confusion": ConfusionPrior(),
}


@cache
def tasks(family, count=30):
    rng = np.random.default_rng([count, len(family)])
    return [SMALL[family].sample(rng) for _ in range(count)]


every_family = pytest.mark.parametrize("family", SMALL)


@every_family
def test_task_has_votes_and_truth_of_its_classes(family):
    for task in tasks(family):
        n, m = task.votes.shape
        assert task.family == family
        assert task.votes.dtype == np.int8
        assert task.truth.shape == (n,)
        assert 2 <= task.n_classes <= 13
        assert m >= 3
        assert -1 <= task.votes.min() <= task.votes.max() < task.n_classes
        assert 0 <= task.truth.min() <= task.truth.max() < task.n_classes
        assert (task.votes >= 0).any()


@every_family
def test_task_of_the_same_seed_is_the_same_and_of_another_differs(family):
    one, same, other = (SMALL[family].sample(np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert_array_equal(one.votes, same.votes)
    assert_array_equal(one.truth, same.truth)
    assert one.votes.shape != other.votes.shape or (one.votes != other.votes).any()


@every_family
def test_votes_are_right_more_often_than_by_chance(family):
    lifts = []
    for task in tasks(family):
        voted = task.votes >= 0
        right = (task.votes == task.truth[:, None])[voted].mean()
        shares = np.bincount(task.votes[voted], minlength=task.n_classes) / voted.sum()
        balance = np.bincount(task.truth, minlength=task.n_classes) / len(task.truth)
        lifts.append(right - shares @ balance)
    assert np.mean(lifts) > 0.1
    assert np.mean(np.array(lifts) > 0) > 0.8


@pytest.mark.parametrize("family", ["rules", "topics", "crowd"])
def test_sizes_of_a_task_stay_in_their_bounds(family):
    prior = SMALL[family]
    lfs = prior.workers if family == "crowd" else prior.lfs
    for task in tasks(family):
        n, m = task.votes.shape
        assert n <= prior.items[1]
        assert lfs[0] <= m <= lfs[1]
        assert n * m <= prior.max_cells
        if family == "crowd":
            assert n >= 60


def test_judges_of_a_panel_vote_on_nearly_everything():
    for task in tasks("panel"):
        assert (task.votes >= 0).mean() > 0.8
    assert np.mean([(task.votes >= 0).all() for task in tasks("panel")]) > 0.5


def test_judges_of_a_panel_differ_in_skill_and_err_together():
    best, worst, together = [], [], []
    for task in tasks("panel"):
        wrong = task.votes != task.truth[:, None]
        accuracy = 1 - wrong.mean(0)
        best.append(accuracy.max())
        worst.append(accuracy.min() - 1 / task.n_classes)
        varied = wrong[:, wrong.any(0) & ~wrong.all(0)]
        correlation = np.corrcoef(varied, rowvar=False)
        together.append(correlation[np.triu_indices(len(correlation), 1)].mean())
    assert np.median(best) > np.median(worst) + 0.3
    assert np.min(worst) < 0.05  # some judge knows nothing
    assert 0.1 < np.median(together) < 0.5
    assert np.max(together) > 0.5  # some are copies of each other


def test_sizes_of_a_panel_stay_in_their_bounds():
    prior = SMALL["panel"]
    for task in tasks("panel"):
        n, m = task.votes.shape
        assert 40 <= n <= prior.items[1]
        assert prior.judges[0] <= m <= prior.judges[1]
        assert n * m <= prior.max_votes


def test_labeled_priors_by_name_can_be_made_without_arguments():
    priors = [MixturePrior, RulesPrior, CrowdPrior, PanelPrior, TopicsPrior]
    assert [type(make()) for make in LABELED_PRIORS.values()] == priors


def test_log_uniform_stays_in_its_range_with_its_median_at_the_geometric_mean():
    rng = np.random.default_rng(0)
    drawn = [log_uniform(rng, 0.1, 1000) for _ in range(2000)]
    assert 0.1 <= min(drawn) < max(drawn) <= 1000
    assert 7 < np.median(drawn) < 14


def test_floored_shares_are_shares_and_nearly_above_the_floor():
    shares = floor_shares(np.array([0.0, 0.2, 0.8]), 0.05)
    assert_allclose(shares.sum(), 1)
    assert shares.min() > 0.045


def test_class_balances_have_two_classes_in_three_of_five_sets():
    rng = np.random.default_rng(0)
    sizes = [len(draw_balance(rng)) for _ in range(1000)]
    assert 0.55 < np.mean(np.array(sizes) == 2) < 0.65
    assert max(sizes) == 13


def test_truth_is_wrong_for_some_items_in_three_of_five_sets():
    truth = np.random.default_rng(0).integers(0, 4, 3000)
    shares = np.array([(mislabel(np.random.default_rng(s), truth, 4) != truth).mean() for s in range(300)])
    assert 0.5 < (shares > 0).mean() < 0.7
    assert shares.max() < 0.18


def test_normal_distribution_function_is_close():
    from math import erf

    values = np.linspace(-4, 4, 400, dtype=np.float32)
    exact = [0.5 * (1 + erf(v / 2**0.5)) for v in values.astype(float)]
    assert_allclose(normal_cdf(values), exact, atol=3e-4)


@dataclass(frozen=True)
class Nodes:
    """The LFs of one class in a task: coverage, and lift in log-odds of their precision over the class's share."""

    coverage: np.ndarray
    lift: np.ndarray


def one_sided_nodes(task):
    coverage, lift = [], []
    balance = (np.bincount(task.truth, minlength=task.n_classes) + 1) / (len(task.truth) + task.n_classes)
    for column in task.votes.T:
        classes = np.unique(column[column >= 0])
        if len(classes) == 1 and (column >= 0).sum() >= 10:
            right, votes = (task.truth[column >= 0] == classes[0]).sum(), (column >= 0).sum()
            precision, share = (right + 0.5) / (votes + 1), balance[classes[0]]
            coverage.append(votes / len(column))
            lift.append(np.log(precision / (1 - precision)) - np.log(share / (1 - share)))
    return Nodes(np.array(coverage), np.array(lift))


def test_rules_mostly_vote_for_one_class():
    shares = []
    for task in tasks("rules", 80):
        voted = (task.votes >= 0).any(0)
        of_class = np.stack([(task.votes[:, voted] == v).any(0) for v in range(task.n_classes)])
        shares.append((of_class.sum(0) == 1).mean())
    assert np.mean(np.array(shares) == 1) > 0.5  # no LF votes for several classes
    assert 0.75 < np.mean(shares) < 0.98


@pytest.mark.parametrize("family", ["rules", "topics"])
def test_lift_of_a_rule_falls_with_its_coverage(family):
    found = [one_sided_nodes(task) for task in tasks(family, 80)]
    slopes = [np.polyfit(np.log(each.coverage), each.lift, 1)[0] for each in found if len(each.lift) >= 8]
    assert len(slopes) > 20
    assert np.median(slopes) < -0.05


def test_default_rules_are_broad_and_in_half_of_the_sets():
    plans = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        plans.append(rule_priors._plan(rng, 12, 2.0, np.array([0.3, 0.7]), False))
    with_default = [plan for plan in plans if plan.default.any()]
    assert 0.4 < len(with_default) / len(plans) < 0.6
    assert all(1 <= plan.default.sum() <= 2 for plan in with_default)
    broad = np.concatenate([plan.coverage[plan.default] for plan in with_default])
    others = np.concatenate([plan.coverage[~plan.default] for plan in with_default])
    assert 0.25 <= broad.min() < broad.max() <= 0.9
    assert broad.mean() > 2 * others.mean()


def test_default_rules_know_little_beside_specific_ones():
    default, specific = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        balance = np.array([0.4, 0.6])
        plan = rule_priors._plan(rng, 12, 2.0, balance, False)
        rates = rule_priors._rates(rng, plan, 2.0, balance)
        for j in np.flatnonzero(~plan.several):
            v = plan.vote[j]
            precision = rates[j, v, v] * balance[v] / (rates[j, v] @ balance)
            lift = np.log(precision / (1 - precision)) - np.log(balance[v] / (1 - balance[v]))
            (default if plan.default[j] else specific).append(lift)
    assert np.mean(default) < np.mean(specific) - 0.3


def test_every_class_has_a_rule_where_there_are_enough():
    for seed in range(50):
        plan = rule_priors._plan(np.random.default_rng(seed), 9, 3.0, np.full(7, 1 / 7), False)
        assert set(plan.vote.tolist()) == set(range(7))


def test_rates_of_a_rule_are_chances():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        balance = draw_balance(rng)
        plan = rule_priors._plan(rng, 10, 3.0, balance, False)
        rates = rule_priors._rates(rng, plan, 3.0, balance)
        assert (rates >= 0).all()
        assert (rates.sum(1) <= 0.98 + 1e-9).all()


def test_rules_fire_as_often_as_their_rates_say():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 40_000)
    rates = np.array([[[0.3, 0.1], [0.0, 0.0]], [[0.2, 0.1], [0.1, 0.5]]])  # (LF, vote, class)
    votes = rule_priors._fire(rng.random((40_000, 2), np.float32), rates, truth)
    for j in range(2):
        found = np.array([[(votes[truth == c, j] == v).mean() for c in range(2)] for v in range(2)])
        assert_allclose(found, rates[j], atol=0.015)


def test_rules_fire_together_on_the_same_items():
    excess = []
    for task in tasks("rules", 80):
        voted = task.votes >= 0
        rates = voted.mean(0)
        excess.append(voted.sum(1).var() / max((rates * (1 - rates)).sum(), 1e-9))
    assert np.median(excess) > 1.3  # independent firing would give 1


def worker_accuracy(task):
    voted = task.votes >= 0
    right = ((task.votes == task.truth[:, None]) & voted).sum(0)
    return (right + 1) / (voted.sum(0) + 2)


def test_workers_who_spam_have_little_ability():
    mixed = []
    for seed in range(200):
        ability, habit = labeled_priors._workers(np.random.default_rng(seed), 40, 3)
        assert ability.shape == (40,)
        assert habit.shape == (40, 3)
        assert (ability > 0).all()
        mixed.append(np.sort(ability)[4] < 0.3 * np.median(ability))
    assert 0.1 < np.mean(mixed) < 0.6


def test_spammers_lower_the_accuracy_of_a_crowd(monkeypatch):
    original = labeled_priors._workers

    def mean_accuracy(spam):
        def make(rng, m, k):
            ability, habit = original(np.random.default_rng(0), m, k)
            return np.where(rng.random(m) < spam, 0.0, ability), habit

        monkeypatch.setattr(labeled_priors, "_workers", make)
        rng = np.random.default_rng(1)
        return np.mean([worker_accuracy(SMALL["crowd"].sample(rng)).mean() for _ in range(15)])

    assert mean_accuracy(0.6) < mean_accuracy(0.0) - 0.1


def test_workers_of_a_crowd_vote_for_several_classes():
    busy = [column for task in tasks("crowd") for column in task.votes.T if (column >= 0).sum() >= 30]
    assert len(busy) > 100
    assert np.mean([len(np.unique(column[column >= 0])) > 1 for column in busy]) > 0.8


def test_every_item_of_a_crowd_has_a_vote():
    assert all((task.votes >= 0).any(1).all() for task in tasks("crowd"))


def test_confusion_workers_are_independent_given_the_class():
    gaps = []
    for task in tasks("confusion"):
        right = np.where(task.votes >= 0, task.votes == task.truth[:, None], np.nan)[task.truth == 0]
        for i, j in combinations(range(right.shape[1]), 2):
            both = right[~np.isnan(right[:, i] + right[:, j])][:, [i, j]]
            if len(both) >= 50:
                gaps.append(both.prod(1).mean() - both.mean(0).prod())
    assert len(gaps) > 100
    assert abs(np.mean(gaps)) < 0.005


def test_task_without_silent_items_and_lfs_keeps_the_others():
    votes = np.array([[0, -1, 1], [-1, -1, -1], [-1, -1, 2]], np.int8)
    task = drop_silent(LabeledTask(votes, np.array([0, 1, 2]), 3, "rules"))
    assert_array_equal(task.votes, [[0, 1], [-1, 2]])
    assert_array_equal(task.truth, [0, 2])
    assert (task.n_classes, task.family) == (3, "rules")


@pytest.mark.parametrize(("k", "right", "poor"), [(2, 0.6, False), (2, 0.5, True), (4, 0.5, False), (4, 0.4, True)])
def test_task_is_poor_by_the_accuracy_of_majority_vote(k, right, poor):
    truth = np.zeros(100, np.int64)
    votes = np.where(np.arange(100)[:, None] < 100 * right, 0, 1).repeat(3, axis=1).astype(np.int8)
    assert is_poor(LabeledTask(votes, truth, k, "rules")) is poor


class Stub:
    """Poor and good tasks in turn."""

    def __init__(self, family):
        self.family, self.drawn = family, 0

    def sample(self, rng):
        self.drawn += 1
        votes = np.zeros((40, 3), np.int8)
        truth = np.full(40, self.drawn % 2)
        return LabeledTask(votes, truth, 2, self.family)


@pytest.mark.parametrize(("rejected", "low", "high"), [(1.0, 0, 0), (0.85, 0.05, 0.25), (0.0, 0.5, 0.5)])
def test_mixture_rejects_most_poor_tasks(rejected, low, high):
    prior, rng = MixturePrior(((Stub("rules"), 1.0),), rejected=rejected), np.random.default_rng(0)
    assert low <= np.mean([is_poor(prior.sample(rng)) for _ in range(300)]) <= high


def test_mixture_draws_families_by_their_shares():
    prior = MixturePrior(((Stub("rules"), 3.0), (Stub("crowd"), 1.0)), rejected=0.0)
    rng = np.random.default_rng(0)
    assert 0.7 < np.mean([prior.sample(rng).family == "rules" for _ in range(400)]) < 0.8


def test_mixture_tasks_have_a_vote_on_every_item_and_of_every_lf():
    prior = MixturePrior(((SMALL["rules"], 0.5), (SMALL["crowd"], 0.38), (SMALL["topics"], 0.12)))
    rng = np.random.default_rng(0)
    found = [prior.sample(rng) for _ in range(25)]
    assert len({task.family for task in found}) == 3
    for task in found:
        assert (task.votes >= 0).any(1).all()
        assert (task.votes >= 0).any(0).all()
        assert len(task.truth) >= 30
