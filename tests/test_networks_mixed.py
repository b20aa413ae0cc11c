"""The second reading of hlm3: judges of known skill, copies, and sets that are left to hlm2."""

from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hyperlabel as hl
from hyperlabel.data import Patterns, Votes
from hyperlabel.networks import Gold, add_sums, load_network, load_weights, read
from hyperlabel.networks._em import EM, find_confusions
from hyperlabel.networks._mixed import is_read_twice
from hyperlabel.networks._pairs import compare_pairs, count_pairs, fit_levels


def draw(skills, n=2000, k=2, seed=0):
    """(n, m) votes of judges who err independently, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    wrong = (truth[:, None] + rng.integers(1, k, (n, len(skills)))) % k
    return np.where(rng.random((n, len(skills))) < skills, truth[:, None], wrong), truth


def cast_of(votes, k):
    return (votes[:, :, None] == np.arange(k)).sum(0).astype(float)


def accuracy(votes, truth, weights="hlm3", **known):
    return (hl.HyperLabelModel(weights, **known).fit_predict(votes) == truth).mean()


@pytest.mark.parametrize(("k", "weak"), [(2, 0.6), (4, 0.4)])
def test_one_strong_judge_among_weak_ones_is_believed(k, weak):
    votes, truth = draw([0.9] + 4 * [weak], k=k)
    assert accuracy(votes, truth) > 0.88
    assert accuracy(votes, truth, "hlm2") < 0.82


def test_copies_of_a_weak_judge_do_not_outvote_the_others():
    votes, truth = draw([0.85, 0.8, 0.75, 0.7, 0.65])
    own, _ = draw([0.65, 0.65])
    copies = np.where(np.random.default_rng(1).random((len(truth), 2)) < 0.95, votes[:, 4:], own)
    assert accuracy(np.c_[votes, copies], truth) > 0.88


def test_levels_of_independent_judges_are_found_from_agreement_alone():
    skills = np.array([0.9, 0.8, 0.7, 0.65, 0.3])
    votes, _ = draw(skills, 20_000)
    pairs = compare_pairs(cast_of(votes, 2), np.arange(5), *count_pairs(votes, np.ones(len(votes)), 2))
    assert_allclose(fit_levels(pairs), 2 * skills - 1, atol=0.06)


def test_pairs_are_those_of_plain_loops():
    rng = np.random.default_rng(0)
    cells, counts = rng.integers(-1, 3, (40, 4)), rng.integers(1, 5, 40).astype(float)
    joint, same = count_pairs(cells, counts, 3)
    for i in range(4):
        for j in range(4):
            both = (cells[:, i] >= 0) & (cells[:, j] >= 0)
            assert joint[i, j] == counts[both].sum()
            assert same[i, j] == counts[both & (cells[:, i] == cells[:, j])].sum()


def test_confusions_add_up_and_are_shrunk_to_accuracies():
    counts = np.random.default_rng(0).uniform(0, 9, (6, 3))  # two LFs of three classes
    chance, found = find_confusions(counts, 3, 1e9, 0.0)
    assert_allclose(chance.sum(1), 1)
    assert_allclose(chance.diagonal(axis1=1, axis2=2), found[:, None].repeat(3, 1), rtol=1e-6)
    own, _ = find_confusions(counts, 3, 1e-9, 0.0)
    assert_allclose(own, counts.reshape(2, 3, 3) / counts.reshape(2, 3, 3).sum(1, keepdims=True), rtol=1e-6)


def test_em_starts_with_nothing_to_say_where_levels_are_zero():
    assert not EM.start(np.zeros(3), np.ones(3), 4).table.any()


@pytest.mark.parametrize("has_gold", [False, True])
def test_state_read_in_chunks_is_the_state_read_at_once(has_gold):
    votes, truth = draw([0.9, 0.6, 0.6, 0.6], 400)
    patterns, network = Patterns.from_votes(Votes.from_array(votes)), load_network(load_weights("hlm3"))
    gold = Gold(patterns, patterns.count_labels(np.where(np.arange(400) < 30, truth, -1))) if has_gold else None
    whole, found = network.read_at_once(patterns, gold)
    state = read(network, lambda sums: reduce(add_sums, map(sums, patterns.split(3))), 4, 2, gold)
    assert_allclose(state.evidence.table, whole.evidence.table, atol=1e-9)
    assert_allclose(network.probabilities(patterns, state), found, atol=1e-9)


def test_lfs_that_never_vote_and_items_without_votes_change_nothing():
    votes, _ = draw([0.9, 0.6, 0.6, 0.6, 0.6], 500)
    padded = np.pad(votes, ((0, 3), (0, 2)), constant_values=-1)
    assert_allclose(
        hl.HyperLabelModel(n_classes=2).fit_predict_proba(padded)[:500],
        hl.HyperLabelModel(n_classes=2).fit_predict_proba(votes),
        atol=1e-9,
    )


def one_sided(n=300):
    rng = np.random.default_rng(0)
    return np.where(rng.random((n, 6)) < 0.4, np.arange(6) % 2, -1)


def two_judges():
    return draw([0.8, 0.7], 200)[0]


def sparse_crowd(n=300, m=60):
    votes, _ = draw(np.full(m, 0.7), n)
    return np.where(np.random.default_rng(1).random((n, m)) < 0.1, votes, -1)


@pytest.mark.parametrize("draw_votes", [one_sided, two_judges, sparse_crowd])
def test_sets_in_which_agreement_holds_little_are_left_to_hlm2(draw_votes):
    votes = draw_votes()
    assert not is_read_twice(cast_of(votes, 2), float((votes >= 0).any(1).sum()), has_gold=False)
    assert_array_equal(*(hl.HyperLabelModel(w, n_classes=2).fit_predict_proba(votes) for w in ("hlm2", "hlm3")))


def test_gold_shows_who_is_right_where_most_err_together():
    rng = np.random.default_rng(0)
    votes, truth = draw([0.85, 0.85, 0.6, 0.6, 0.6, 0.6], 1500)
    misled = rng.random(1500) < 0.4
    votes[misled, 2:] = (1 - truth)[misled, None]  # four judges share their errors
    gold = np.where(np.arange(1500) < 100, truth, -1)
    rest = gold < 0
    with_gold = hl.HyperLabelModel().fit(votes, gold).predict(votes)
    assert (with_gold == truth)[rest].mean() > (hl.HyperLabelModel().fit_predict(votes) == truth)[rest].mean() + 0.1
