import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hyperlabel.trust.bounds import Sample
from hyperlabel.trust.sequence import ItemSet, Ranking, search


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
