import numpy as np
import pytest
from numpy.testing import assert_array_equal

import hyperlabel as hl
from hyperlabel.data import Patterns, Votes, suggest_items

# Three patterns: 40 items in doubt, 20 items more in doubt, 50 items without a doubt; then one without votes.
ROWS = np.repeat([[0, 1, -1], [1, 0, 1], [0, 0, 0], [-1, -1, -1]], [40, 20, 50, 5], axis=0)
SHARES = {(0, 1, -1): [0.6, 0.4], (1, 0, 1): [0.5, 0.5], (0, 0, 0): [1.0, 0.0], (-1, -1, -1): [0.5, 0.5]}


@pytest.fixture
def patterns():
    return Patterns.from_votes(Votes.from_array(ROWS, n_classes=2))


def suggest(patterns, n, known=()):
    shares = np.array([SHARES[tuple(row)] for row in patterns.to_array().tolist()])
    return suggest_items(shares, patterns, np.isin(np.arange(len(ROWS)), list(known)), n)


def test_first_item_suggested_has_the_pattern_with_most_items_in_doubt(patterns):
    [item] = suggest(patterns, 1)
    assert ROWS[item].tolist() == [0, 1, -1]


def test_items_suggested_turn_to_other_patterns_as_one_becomes_known(patterns):
    """40 x 0.4 = 16 falls to 8, below 20 x 0.5 = 10, which falls to 5."""
    assert [ROWS[item].tolist() for item in suggest(patterns, 3)] == [[0, 1, -1], [1, 0, 1], [0, 1, -1]]


def test_items_suggested_are_distinct_and_a_longer_list_begins_with_the_shorter(patterns):
    items = suggest(patterns, 30)
    assert len(set(items.tolist())) == 30
    assert_array_equal(items[:12], suggest(patterns, 12))


def test_items_suggested_are_never_known_without_votes_or_without_doubt(patterns):
    known = range(0, 40, 2)
    items = suggest(patterns, 1000, known)
    assert sorted(items.tolist()) == sorted(set(range(60)) - set(known))


def test_items_known_already_lower_what_one_more_of_their_pattern_is_worth(patterns):
    [item] = suggest(patterns, 1, known=[0])
    assert ROWS[item].tolist() == [1, 0, 1]


def test_items_suggested_of_a_pattern_are_not_its_first_ones(patterns):
    items = [item for item in suggest(patterns, 20).tolist() if item < 40]
    assert items != sorted(items)


def test_suggest_of_a_model_avoids_gold_and_takes_it_into_account():
    model = hl.label_model("mv")
    votes = [[0, 1], [0, 1], [0, 1], [1, 1], [0, 0], [-1, -1]]
    first = model.suggest(votes, 1)
    assert set(model.suggest(votes, 10).tolist()) == {0, 1, 2}
    rest = model.suggest(votes, 10, gold={int(first[0]): 1})
    assert set(rest.tolist()) == {0, 1, 2} - set(first.tolist())
    assert model.suggest(votes, 10, gold=[1, 1, 1, -1, -1, -1]).tolist() == []


def test_suggest_when_votes_are_given_again_suggests_the_same():
    votes = np.random.default_rng(0).integers(-1, 3, (200, 4))
    model = hl.HyperLabelModel()
    assert_array_equal(model.suggest(votes, 20), model.suggest(votes, 20))


def test_suggest_of_less_than_one_item_is_refused():
    with pytest.raises(hl.ParameterError, match="n is 0; expected a whole number, at least 1"):
        hl.HyperLabelModel().suggest([[0, 1]], 0)


def test_gold_for_suggested_items_helps_more_than_for_random_ones():
    """Labels are looked up by pattern: where a few patterns hold most doubt, they should be asked about."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 2000)
    pool = rng.integers(-1, 2, (12, 6))
    votes = pool[6 * truth + (6 * rng.random(2000) ** 2).astype(int)]
    model = hl.label_model("mv", n_classes=2)

    def score(items):
        gold = np.full(2000, -1)
        gold[items] = truth[items]
        return model.fit(votes, gold).score(votes, truth)

    draws = [score(rng.choice(2000, 15, replace=False)) for _ in range(10)]
    assert score(model.fit(votes).suggest(votes, 15)) > np.mean(draws)
