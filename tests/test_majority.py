import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel.data import Patterns, Votes
from hyperlabel.models import MajorityVote, count_classes
from hyperlabel.models._majority import vote_shares
from oracles import NAMES, ORACLES


@pytest.mark.parametrize("name", NAMES)
def test_majority_vote_on_oracle_gives_its_probabilities(name):
    oracle = np.load(ORACLES / f"{name}.npz")
    covered = (oracle["L"] >= 0).any(1)
    assert_allclose(MajorityVote().predict_proba(oracle["L"])[covered], oracle["mv"][covered], atol=1e-6)


def test_majority_vote_without_fit_predicts_and_after_fit_predicts_the_same():
    votes = [[0, 1, 1], [2, -1, 0], [-1, -1, -1]]
    fitted = MajorityVote().fit(votes)
    assert_array_equal(MajorityVote().predict_proba(votes), fitted.predict_proba(votes))
    assert fitted.converged_


def test_majority_vote_of_tied_classes_is_the_first_of_them():
    assert MajorityVote().predict([[2, 1], [1, 2]]).tolist() == [1, 1]


def test_majority_vote_of_a_class_nobody_votes_for_is_zero():
    assert_array_equal(MajorityVote(n_classes=4).predict_proba([[0, 1, 1, 1]]), [[0.25, 0.75, 0, 0]])


def test_majority_vote_with_gold_adds_the_gold_of_a_pattern():
    votes = [[0, 1], [0, 1], [0, 1]]
    assert_allclose(MajorityVote().fit(votes, gold=[1, 1, -1]).predict_proba(votes), [[0.5 / 3, 2.5 / 3]] * 3)


def test_vote_shares_where_nobody_votes_are_zero():
    patterns = Patterns.from_votes(Votes.from_array([[-1, -1, -1], [0, 1, 1]]))
    assert_array_equal(count_classes(patterns), [[0, 0], [1, 2]])
    assert_allclose(vote_shares(patterns), [[0, 0], [1 / 3, 2 / 3]])
