import json
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel._core import metrics
from hyperlabel.data import Patterns, Votes
from hyperlabel.errors import ParameterError
from hyperlabel.models import BalancedVote, MajorityVote
from hyperlabel.networks import add_sums

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ANCHORS = json.loads((DATA / "anchors.json").read_text(encoding="utf-8")) if DATA.exists() else {}
needs_data = pytest.mark.skipif(not ANCHORS, reason="the real sets are not beside the repository")


def score(name, power):
    """Per cent by the protocol of the data's README: no empty items or LFs, F1 of class 1 or accuracy."""
    data = np.load(DATA / f"{name}.npz")
    votes, truth = data["L"][:, (data["L"] >= 0).any(0)], data["y"]
    kept = (votes >= 0).any(1)
    k, metric = ANCHORS[name]["k"], {"acc": "accuracy", "f1": "f1"}[ANCHORS[name]["metric"]]
    labels = BalancedVote(power=power, n_classes=k).fit_predict(votes[kept])
    return 100 * metrics.score(metric, truth[kept], labels, k)


@needs_data
@pytest.mark.parametrize("name", ANCHORS)
@pytest.mark.parametrize(("power", "column"), [(0, "mv"), (1, "balanced")])
def test_balanced_vote_on_real_set_reaches_its_known_score(name, power, column):
    assert score(name, power) == pytest.approx(ANCHORS[name][column], abs=0.1)


@pytest.fixture
def votes():
    return np.random.default_rng(0).integers(-1, 4, (200, 7))


def test_balanced_vote_of_power_zero_equals_majority_vote(votes):
    assert_allclose(BalancedVote(power=0).predict_proba(votes), MajorityVote().predict_proba(votes), atol=1e-12)


def test_balanced_vote_divides_votes_by_the_power_of_their_class_share():
    votes = [[0, 1], [0, -1], [0, -1], [0, -1]]  # 4 votes of 5 for class 0, 1 of 5 for class 1
    weights = np.array([1 / 0.8**0.5, 1 / 0.2**0.5])
    assert_allclose(BalancedVote().predict_proba(votes)[0], weights / weights.sum())


def test_balanced_vote_takes_the_shares_of_the_votes_that_fit_read():
    fitted = BalancedVote().fit([[0, 0, 0, 1]] * 9)
    assert fitted.class_votes_.tolist() == [27, 9]
    weights = np.array([1 / 0.75**0.5, 1 / 0.25**0.5])
    assert_allclose(fitted.predict_proba([[0, 1, -1, -1], [1, 1, 0, 0]]), [weights / weights.sum()] * 2)


@pytest.mark.parametrize("size", [1, 7, 200])
def test_balanced_vote_read_in_chunks_is_the_same(votes, size):
    chunks = [Patterns.from_votes(Votes.from_array(votes[i : i + size], n_classes=4)) for i in range(0, 200, size)]
    model = BalancedVote().fit_passes(lambda sums: reduce(add_sums, map(sums, chunks)), chunks[0])
    once = BalancedVote().fit(votes)
    assert_array_equal(model.class_votes_, once.class_votes_)
    assert_array_equal(model.predict_proba(votes), once.predict_proba(votes))


def test_balanced_vote_of_a_class_nobody_votes_for_is_zero(votes):
    wider = BalancedVote(power=1, n_classes=6).predict_proba(votes)
    assert_array_equal(wider[(votes >= 0).any(1)][:, 4:], 0)
    assert_allclose(wider[(votes >= 0).any(1)].sum(1), 1)


@pytest.mark.parametrize("power", [10, 1000])
def test_balanced_vote_of_a_large_power_prefers_the_rarest_class(power):
    votes = np.array([[0, 0, 0, 1], [0, 0, 0, -1], [-1, -1, -1, -1]])
    assert BalancedVote(power=power).predict(votes).tolist() == [1, 0, -1]


@pytest.mark.parametrize("power", [-0.5, np.nan, np.inf])
def test_balanced_vote_of_impossible_power_is_refused_with_and_without_fit(power):
    with pytest.raises(ParameterError, match=r"power is .*; expected a number, 0 "):
        BalancedVote(power=power).fit([[0, 1]])
    with pytest.raises(ParameterError, match="power is"):
        BalancedVote(power=power).predict([[0, 1]])
