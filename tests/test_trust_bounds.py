import itertools

import numpy as np
import pytest

from hyperlabel.trust.bounds import Sample, least_wrong, most_wrong, p_value


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
        low = least_wrong(Sample(10**9, gold, wrong), 0.05) / 1e9
        assert high == pytest.approx(stats.beta.ppf(0.95, wrong + 1, gold - wrong), abs=1e-5)
        assert low == pytest.approx(stats.beta.ppf(0.05, wrong, gold - wrong + 1) if wrong else 0, abs=1e-5)


def test_bounds_of_a_set_that_is_known_whole_are_exact():
    assert most_wrong([Sample(50, 50, 3)], 0.1) == least_wrong(Sample(50, 50, 3), 0.1) == 3


def test_bounds_without_gold_say_nothing():
    assert most_wrong([Sample(50, 0, 0)], 0.1) == 50
    assert least_wrong(Sample(50, 0, 0), 0.1) == 0


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
