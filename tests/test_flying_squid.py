from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel.errors import ParameterError
from hyperlabel.models import FlyingSquid, MajorityVote
from hyperlabel.models._flying_squid import average_triplets
from oracles import ORACLES, on_oracles


def load(name):
    oracle = np.load(ORACLES / f"{name}.npz")
    return oracle, (oracle["L"] >= 0).any(1)


def sample(n, accuracies, coverage=0.7, k=2, seed=0):
    """Votes of LFs that are right independently of each other and of the class."""
    rng = np.random.default_rng(seed)
    truth, m = rng.integers(k, size=n), len(accuracies)
    wrong = (truth[:, None] + rng.integers(1, k, size=(n, m))) % k
    votes = np.where(rng.random((n, m)) < accuracies, truth[:, None], wrong)
    return np.where(rng.random((n, m)) < coverage, votes, -1), truth


@on_oracles
def test_flying_squid_with_all_triplets_gives_the_probabilities_of_the_released_code(name):
    oracle, covered = load(name)
    model = FlyingSquid(triplets="all").fit(oracle["L"])
    assert_allclose(model.predict_proba(oracle["L"])[covered], oracle["fs"][covered], atol=1e-6)


@on_oracles
def test_flying_squid_by_default_is_as_accurate_as_the_released_code_or_agrees_with_it(name):
    oracle, covered = load(name)
    labels, reference = FlyingSquid().fit(oracle["L"]).predict(oracle["L"])[covered], oracle["fs"].argmax(1)[covered]
    truth = oracle["y_true"][covered]
    agreement = (labels == reference).mean()
    assert agreement >= 0.95 or (labels == truth).mean() >= (reference == truth).mean() - 0.005


@pytest.mark.parametrize("triplets", ["overlapping", "all"])
def test_flying_squid_learns_the_accuracies_behind_the_votes(triplets):
    accuracies = np.array([0.9, 0.85, 0.8, 0.7, 0.6])
    votes, _ = sample(20_000, accuracies)
    learned = FlyingSquid(triplets=triplets).fit(votes).accuracies_
    assert_allclose(learned, np.tile(accuracies[:, None], 2), atol=0.02)


def test_flying_squid_with_three_classes_learns_how_often_lfs_are_right_about_each():
    votes, truth = sample(20_000, np.array([0.9, 0.8, 0.7, 0.6]), k=3)
    model, voted = FlyingSquid().fit(votes), votes[:, 0] >= 0
    about = [((votes[voted, 0] == c) == (truth[voted] == c)).mean() for c in range(3)]
    assert_allclose(model.accuracies_[0], about, atol=0.05)
    assert (np.diff(model.accuracies_, axis=0) < 0).all()


def test_average_triplets_is_the_weighted_mean_over_all_pairs():
    votes = np.where(np.random.default_rng(0).random((60, 6)) < 0.5, sample(60, np.full(6, 0.7))[0], -1)
    signs = np.where(votes < 0, 0, 2 * votes - 1)
    signed, shared = signs.T @ signs, (votes >= 0).T.astype(float) @ (votes >= 0)
    means = []
    for i in range(6):
        pairs = [(j, h) for j, h in combinations(set(range(6)) - {i}, 2) if signed[j, h]]
        weights = [np.sqrt(shared[i, j] * shared[i, h] * shared[j, h]) for j, h in pairs]
        a = signed / np.maximum(shared, 1)
        means.append(np.average([np.sqrt(abs(a[i, j] * a[i, h] / a[j, h])) for j, h in pairs], weights=weights))
    assert_allclose(average_triplets(signed, shared), means)


def test_flying_squid_with_an_lf_that_overlaps_no_other_takes_it_to_be_as_accurate_as_they_are():
    votes, _ = sample(3000, np.array([0.9, 0.8, 0.7]), coverage=1.0)
    alone = np.full((100, 4), -1)
    alone[:, 3] = 1
    model = FlyingSquid().fit(np.concatenate([np.column_stack([votes, np.full(3000, -1)]), alone]))
    assert_allclose(model.accuracies_[3], model.accuracies_[:3].mean(0))
    assert model.predict([[-1, -1, -1, 1]]) == [1]


def test_flying_squid_on_one_sided_lfs_gives_the_labels_of_majority_vote():
    rng = np.random.default_rng(0)
    votes = np.where(rng.random((500, 6)) < 0.4, [0, 0, 0, 1, 1, 1], -1)
    assert_array_equal(FlyingSquid().fit(votes).predict(votes), MajorityVote().predict(votes))


def test_flying_squid_with_a_class_balance_multiplies_the_odds_by_it_once():
    votes, _ = sample(500, np.array([0.9, 0.8, 0.7, 0.6]), seed=1)
    covered = (votes >= 0).any(1)
    even, uneven = (FlyingSquid(class_balance=b).fit(votes).predict_proba(votes)[covered] for b in (None, [0.8, 0.2]))
    assert_allclose(uneven[:, 0] / uneven[:, 1], 4 * even[:, 0] / even[:, 1], rtol=1e-8)


def test_flying_squid_with_all_triplets_divides_by_the_class_balance_m_minus_2_times():
    votes, _ = sample(500, np.array([0.9, 0.8, 0.7, 0.6]), coverage=0.8, seed=1)
    votes, balance = votes[(votes >= 0).any(1)], np.array([0.8, 0.2])
    signs = np.where(votes < 0, 0, 2 * votes - 1)  # the problem of class 1
    n, m = votes.shape
    moments = signs.T @ signs / n
    product = np.ones((n, 2))  # columns: Y = +1, Y = -1
    for i in range(m):
        pairs = combinations(set(range(m)) - {i}, 2)
        agreement = np.mean([np.sqrt(abs(moments[i, j] * moments[i, h] / moments[j, h])) for j, h in pairs])
        zero, one = (signs[:, i] == 0).mean(), (signs[:, i] == 1).mean()
        right = (1 + agreement - zero) / 2
        both = (right + one - (1 - zero) * balance[0]) / 2
        table = [[zero * balance[1], zero * balance[0]], [both, one - both]]
        table.append([balance[1] * (1 - zero) - both, right - both])
        product *= np.abs(table)[signs[:, i]]  # -1 is the last row
    product /= balance[::-1] ** (m - 2)
    expected = product[:, 0] / product.sum(1)
    model = FlyingSquid(class_balance=balance, triplets="all").fit(votes)
    assert_allclose(model.predict_proba(votes)[:, 1], expected, atol=1e-10)


def test_flying_squid_with_a_thousand_lfs_finds_the_truth():
    votes, truth = sample(60, np.full(1000, 0.6), coverage=0.5)
    assert FlyingSquid().fit(votes).score(votes, truth) > 0.95


def test_flying_squid_with_fewer_than_three_lfs_that_vote_says_what_to_do():
    with pytest.raises(
        ParameterError, match=r"votes has 2 LFs, of which 2 vote; .* at least 3 .*majority vote \('mv'\)"
    ):
        FlyingSquid().fit([[0, 1], [1, 1]])
    with pytest.raises(ParameterError, match="votes has 4 LFs, of which 2 vote"):
        FlyingSquid().fit([[0, 1, -1, -1], [1, 1, -1, -1]])


def test_flying_squid_with_bad_parameters_names_them():
    votes, _ = sample(20, np.full(3, 0.8))
    with pytest.raises(ParameterError, match="triplets is 'some'; expected 'overlapping' or 'all'"):
        FlyingSquid(triplets="some").fit(votes)
    with pytest.raises(ParameterError, match=r"class_balance is \[0.5\]; expected one probability for each of the 2"):
        FlyingSquid(class_balance=[0.5]).fit(votes)


def test_flying_squid_takes_an_lf_that_was_silent_for_as_accurate_as_the_others():
    votes, _ = sample(2000, np.array([0.9, 0.8, 0.7]))
    silent = np.column_stack([votes, np.full(len(votes), -1)])
    accuracies = FlyingSquid().fit(silent).accuracies_[:, 1]
    assert accuracies[:3].min() < accuracies[3] < accuracies[:3].max()
    assert_allclose(FlyingSquid(triplets="all").fit(silent).accuracies_[3], 0.7)


@pytest.mark.parametrize("balance", [None, [0.4, 0.6]])
def test_flying_squid_with_all_triplets_takes_a_silent_lf_for_right_seven_times_in_ten(balance):
    votes, _ = sample(2000, np.array([0.9, 0.8, 0.7]))
    silent = np.column_stack([votes, np.full(len(votes), -1)])
    model = FlyingSquid(triplets="all", class_balance=balance).fit(silent)
    nobody = model.prior_[1] - model.prior_[0]
    for vote, sign in ((0, -1), (1, 1)):
        row = model.evidence_[3, vote]
        assert_allclose(row[1] - row[0], sign * 2 * np.log(7 / 3), atol=1e-12)
    assert np.isfinite(nobody)
