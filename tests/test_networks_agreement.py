"""Beliefs by which votes are right less often than they agree, and the shares of votes that are mixed in then."""

from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hyperlabel as hl
from hyperlabel.data import Patterns, Votes
from hyperlabel.networks import Gold, add_sums, load_network, load_weights, read
from hyperlabel.networks._calibration import JUDGED_ITEMS, count_agreement, find_vote_weight
from hyperlabel.networks._votes import VoteTable

K = 6


def draw_together(n=200, m=12, seed=0):
    """(n, m) votes of judges who err together: on each item they vote by its own shares; the last class is rare."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([1.5, 1.5, 0.8, 0.5, 0.1, 0.02], n)
    return np.array([rng.choice(K, m, p=each) for each in shares])


def draw_skilled(n=200, m=12, k=3, seed=0):
    """(n, m) votes of judges who err independently, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    return np.where(rng.random((n, m)) < rng.uniform(0.5, 0.9, m), truth[:, None], rng.integers(0, k, (n, m))), truth


def to_patterns(votes, k=K):
    return Patterns.from_votes(Votes.from_array(votes, n_classes=k))


def weight_of(votes, k=K, gold=None, **known):
    return hl.HyperLabelModel("hlm2", n_classes=k, **known).fit(votes, gold).state_.evidence.vote_weight


def mean_of_votes(votes, probabilities):
    """How often votes are right by these probabilities."""
    return probabilities[np.arange(len(votes))[:, None], votes].mean()


def agreement_of(votes):
    """The share of pairs of votes on one item that agree."""
    agree = (votes[:, :, None] == votes[:, None]).mean(0)
    return agree[~np.eye(len(agree), dtype=bool)].mean()


def test_counts_are_those_of_plain_loops_over_pairs_of_votes():
    rng = np.random.default_rng(0)
    cells = np.where(rng.random((60, 5)) < 0.5, rng.integers(0, 3, (60, 5)), -1)
    patterns = to_patterns(cells, 3)
    votes = VoteTable.from_patterns(patterns)
    beliefs = rng.dirichlet(np.ones(3), patterns.n_patterns)
    by_item = patterns.expand(beliefs)
    expected = np.zeros(6)
    for row, belief in zip(cells, by_item, strict=True):
        cast = row[row >= 0]
        same = cast[:, None] == cast
        expected[:3] += len(cast), belief[cast].sum(), same.sum() / max(len(cast), 1)
        if len(cast) > 1:
            expected[3:] += len(cast), (same.sum(1) - 1).sum() / (len(cast) - 1), 1
    assert_allclose(count_agreement(votes, beliefs[votes.has_votes], 5), expected)


def test_votes_of_judges_who_err_together_are_right_as_often_as_they_agree():
    votes = draw_together()
    model = hl.HyperLabelModel("hlm2", n_classes=K).fit(votes)
    weight = model.state_.evidence.vote_weight
    assert 0.1 < weight < 1
    found, agreement = model.predict_proba(votes), agreement_of(votes)
    shares = (votes[:, :, None] == np.arange(K)).mean(1)
    beliefs = (found - weight * shares) / (1 - weight)
    assert mean_of_votes(votes, beliefs) < agreement - 0.02
    scaled_items = 100  # an LF counts as having cast at most so many votes; one imagined item agrees by chance
    assert_allclose(mean_of_votes(votes, found), (scaled_items * agreement + 1 / K) / (scaled_items + 1), rtol=1e-9)


def test_nothing_is_mixed_in_where_votes_are_right_more_often_than_they_agree():
    votes, _ = draw_skilled()
    assert weight_of(votes, 3) == 0


def test_nothing_is_mixed_in_for_rules_of_one_class():
    votes = draw_together()
    one_sided = np.where(votes == np.arange(12) % K, votes, -1)
    assert weight_of(one_sided) == 0


def test_nothing_is_mixed_in_where_accuracies_are_known():
    votes = draw_together()
    assert weight_of(votes) > 0.1
    assert weight_of(votes, lf_accuracies=[0.5] * 12) == 0


def test_gold_on_which_votes_are_wrong_takes_the_shares_of_votes_away():
    votes = draw_together()
    wrong = np.array([np.setdiff1d(np.arange(K), row)[0] for row in votes[:60]])
    gold = np.concatenate([wrong, np.full(140, -1)])
    assert weight_of(votes) > 0.1
    assert weight_of(votes, gold=gold) == 0


def test_gold_lowers_what_is_asked_of_votes_and_never_raises_it():
    sums = np.array([1000.0, 500, 700, 1000, 600, 100])
    plain = find_vote_weight(sums, None, 1.0, 2)
    least = (100 * 0.6 + 0.5) / 101
    assert_allclose(plain, (least - 0.5) / (0.7 - 0.5))
    right, half = (np.array([200.0, share * 200, 0, 200, 0, 20]) for share in (1.0, 0.5))
    assert find_vote_weight(sums, right, 1.0, 2) == plain
    asked = (JUDGED_ITEMS * least + 20 * 0.5) / (JUDGED_ITEMS + 20)
    assert_allclose(find_vote_weight(sums, half, 1.0, 2), (asked - 0.5) / (0.7 - 0.5))


def test_unanimous_votes_are_not_certain():
    votes = np.repeat(np.arange(40)[:, None] % 2, 5, axis=1)
    found = hl.HyperLabelModel().fit_predict_proba(votes)
    assert 0.9 < found.max() < 1


def test_items_with_one_vote_alone_say_nothing():
    assert find_vote_weight(np.array([10.0, 5, 10, 0, 0, 0]), None, 1.0, 2) == 0


@pytest.mark.parametrize("weights", ["hlm2", "hlm3"])
@pytest.mark.parametrize("has_gold", [False, True])
def test_state_read_in_chunks_is_the_state_read_at_once(has_gold, weights):
    votes, network = draw_together(), load_network(load_weights(weights))
    patterns = to_patterns(votes)
    counts = patterns.count_labels(np.where(np.arange(200) < 3, votes[:, 0], -1))
    gold = Gold(patterns, counts) if has_gold else None
    whole, found = network.read_at_once(patterns, gold)
    assert whole.evidence.vote_weight > 0.05
    assert_array_equal(found, network.probabilities(patterns, whole))
    state = read(network, lambda sums: reduce(add_sums, map(sums, patterns.split(30))), 12, K, gold)
    assert_allclose(state.evidence.vote_weight, whole.evidence.vote_weight, atol=1e-10)
    assert_allclose(network.probabilities(patterns, state), found, atol=1e-10)


def test_repeated_items_change_nothing():
    votes = draw_together()
    assert_allclose(weight_of(np.tile(votes, (3, 1))), weight_of(votes), rtol=1e-9)


def test_saved_model_gives_the_same_probabilities(tmp_path):
    votes, other = draw_together(), draw_together(seed=1)
    model = hl.HyperLabelModel("hlm2", n_classes=K).fit(votes)
    model.save(tmp_path / "model.safetensors")
    assert_array_equal(hl.load(tmp_path / "model.safetensors").predict_proba(other), model.predict_proba(other))


def test_explanation_says_what_leaving_a_vote_out_takes_away():
    votes = draw_together()
    model = hl.HyperLabelModel("hlm2", n_classes=K).fit(votes)
    found = model.explain(votes, 0)
    before = found.probabilities[found.label]
    for lf, _, added in found.contributions:
        row = votes[:1].copy()
        row[0, int(lf[2:])] = -1
        after = model.predict_proba(row)[0, found.label]
        assert_allclose(added, np.log(before / (1 - before)) - np.log(after / (1 - after)))
