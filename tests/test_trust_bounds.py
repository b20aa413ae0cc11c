import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hyperlabel.trust import Ranking, Sample, search
from hyperlabel.trust._certificate import ItemSet, most_wrong, p_value


def draw_samples(n, most_items, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        items = int(rng.integers(1, most_items))
        gold = int(rng.integers(0, items + 1))
        yield Sample(items, gold, int(rng.integers(0, min(gold, 20) + 1)))


def test_p_value_is_the_hypergeometric_distribution():
    stats = pytest.importorskip("scipy.stats")
    rng, samples = np.random.default_rng(1), list(draw_samples(500, 3000))
    totals = [int(rng.integers(0, sample.items - sample.gold + sample.wrong + 1)) for sample in samples]
    items, gold, wrong = np.array(samples).T
    expected = stats.hypergeom.cdf(wrong, items, totals, gold)
    found = [p_value([sample], total) for sample, total in zip(samples, totals, strict=True)]
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("sample", [Sample(10**6, 10**5, 5000), Sample(10**6, 10**5, 50)])
def test_p_value_of_large_samples_neither_overflows_nor_vanishes(sample):
    stats = pytest.importorskip("scipy.stats")
    for total in (1000, 45_000, 50_000, 60_000, 900_000):
        expected = stats.hypergeom.cdf(sample.wrong, sample.items, total, sample.gold)
        assert p_value([sample], total) == pytest.approx(expected, rel=1e-6, abs=1e-300)


def test_p_value_of_more_wrong_items_than_there_can_be_is_zero():
    assert p_value([Sample(10, 6, 1)], 6) == 0
    assert p_value([Sample(10, 6, 1)], 5) > 0
    assert p_value([Sample(10, 6, 1), Sample(5, 5, 0)], 6) == 0


def test_bound_of_many_items_is_that_of_clopper_and_pearson():
    stats = pytest.importorskip("scipy.stats")
    for gold, wrong in itertools.product((20, 200, 1000), (0, 1, 7, 19)):
        high = most_wrong([Sample(10**9, gold, wrong)], 0.05) / 1e9
        assert high == pytest.approx(stats.beta.ppf(0.95, wrong + 1, gold - wrong), abs=1e-5)


def test_bounds_of_a_set_that_is_known_whole_are_exact():
    assert most_wrong([Sample(50, 50, 3)], 0.1) == 3


def test_bounds_without_gold_say_nothing():
    assert most_wrong([Sample(50, 0, 0)], 0.1) == 50


@pytest.mark.parametrize("bad", [0, 3, 20, 60])
def test_bound_is_exceeded_no_more_often_than_its_level(bad):
    """Every sample of 20 from 60 items with `bad` wrong ones, weighted by its probability."""
    stats = pytest.importorskip("scipy.stats")
    drawn = np.arange(max(0, 20 - (60 - bad)), min(20, bad) + 1)
    chance = stats.hypergeom.pmf(drawn, 60, bad, 20)
    missed = [most_wrong([Sample(60, 20, int(x))], 0.1) < bad for x in drawn]
    assert chance @ missed <= 0.1 + 1e-12


def test_p_value_of_two_strata_is_the_largest_of_all_ways_to_share_the_total_out():
    stats = pytest.importorskip("scipy.stats")
    samples, rng = list(draw_samples(120, 60, seed=2)), np.random.default_rng(3)
    for one, other in zip(samples[::2], samples[1::2], strict=True):
        room = [s.items - s.gold + s.wrong for s in (one, other)]
        total = int(rng.integers(1, sum(room) + 1))
        a = np.arange(max(0, total - room[1]), min(total, room[0]) + 1)
        logs = stats.hypergeom.logcdf(one.wrong, one.items, a, one.gold)
        logs = logs + stats.hypergeom.logcdf(other.wrong, other.items, total - a, other.gold)
        assert p_value([one, other], total) == pytest.approx(stats.chi2.sf(-2 * logs.max(), 4), rel=1e-6)


def test_p_value_of_strata_in_coarse_units_is_never_too_small():
    """Beyond 512 wrong items the total is shared out in units, which rounds in favor of caution."""
    samples = [Sample(9000, 300, 6), Sample(7000, 200, 4)]
    stats = pytest.importorskip("scipy.stats")
    for total in (513, 777, 1500):
        one = np.arange(0, total + 1, 9)  # the largest is broad
        logs = stats.hypergeom.logcdf(6, 9000, one, 300) + stats.hypergeom.logcdf(4, 7000, total - one, 200)
        exact = stats.chi2.sf(-2 * logs.max(), 4)
        assert exact - 1e-9 <= p_value(samples, total) <= 1.2 * exact + 1e-6


# Sets of items that are tested one after another.


def rank(confidence, ranked=None, stratum=None):
    confidence = np.asarray(confidence, float)
    n = len(confidence)
    return Ranking.of(
        confidence,
        np.ones(n, bool) if ranked is None else np.asarray(ranked),
        np.zeros(n, np.int64) if stratum is None else np.asarray(stratum),
    )


def step(items, gold, wrong, level=0):
    return ItemSet(level, 0.5, (Sample(items, gold, wrong),))


def test_levels_go_from_the_surest_items_down_and_hold_equal_ones_together():
    ranking = rank([0.5, 0.9, 0.7, 0.9], ranked=[True, True, False, True])
    assert_array_equal(ranking.level, [1, 0, -1, 0])
    assert_array_equal(ranking.items, [[2], [3]])
    assert_array_equal(ranking.confidence, [0.9, 0.5])


def test_steps_grow_from_a_third_of_the_gold_to_all_items():
    confidence = np.linspace(1, 0, 100)
    gold = np.arange(0, 60)
    steps = rank(confidence).steps(gold, gold % 10 == 0)
    sizes = [each.total.gold for each in steps]
    assert sizes[0] == 20
    assert sizes[-1] == 60
    assert sizes == sorted(set(sizes))
    assert steps[-1].total == Sample(100, 60, 6)
    assert steps[0].total == Sample(20, 20, 2)


def test_steps_never_cut_a_level():
    steps = rank(np.repeat([0.9, 0.8, 0.6], 30)).steps(np.arange(0, 90, 3), np.zeros(30, bool))
    assert [each.total.items for each in steps] == [30, 60, 90]


def test_steps_of_gold_without_labels_are_none():
    assert rank([0.9, 0.8], ranked=[False, True]).steps(np.array([0]), np.array([True])) == []
    assert rank([0.9, 0.8], ranked=[False, False]).steps(np.array([0]), np.array([True])) == []


def test_steps_count_strata_apart_and_leave_out_those_without_items():
    ranking = rank([0.9, 0.9, 0.6, 0.6], stratum=[0, 0, 1, 1])
    steps = ranking.steps(np.array([0, 1, 3]), np.array([False, True, True]))
    assert steps[0].samples == (Sample(2, 2, 1),)
    assert steps[-1].samples == (Sample(2, 2, 1), Sample(2, 1, 1))


def test_steps_do_not_depend_on_what_the_gold_says():
    confidence, gold = np.random.default_rng(0).random(300).round(2), np.arange(0, 300, 4)
    sets = [[s.level for s in rank(confidence).steps(gold, wrong)] for wrong in np.eye(2, dtype=bool)[:, [0] * 75]]
    assert sets[0] == sets[1]


def test_search_takes_the_last_set_before_the_first_that_fails():
    good, bad = step(10_000, 100, 0), step(10_000, 100, 20)
    assert search([good, good._replace(level=1), bad, good._replace(level=3)], 0.1, 0.1).level == 1
    assert search([bad, good], 0.1, 0.1) is None


def test_search_begins_where_the_gold_can_be_enough():
    """Ten right labels prove no error below 5%: that is known before they are looked at."""
    assert search([step(10_000, 10, 10), step(10_000, 100, 0, level=1)], 0.05, 0.1).level == 1
    assert search([], 0.05, 0.1) is None


@pytest.mark.parametrize("error", [0.1, 0.3])
def test_a_set_may_hold_just_the_stated_share_of_wrong_labels(error):
    """All 10 items are known: the share is exact."""
    assert search([step(10, 10, round(10 * error))], error, 0.1) is not None
    assert search([step(10, 10, round(10 * error) + 1)], error, 0.1) is None
