import numpy as np
import pytest
from numpy.testing import assert_array_equal

from experiments.datasets import DataSet
from experiments.hlm3 import calibration_error, textbook_part, weighted_vote
from experiments.textbook import CASES, draw


def accuracy(labels, truth):
    return (labels == truth).mean()


@pytest.mark.parametrize("name", CASES)
def test_optimum_of_a_case_is_ahead_of_its_best_judge(name):
    """On many items; a judge's copies share its skill, and abstentions count as wrong."""
    data, best = draw(name, seed=1)
    judges = [accuracy(votes, data.truth) for votes in data.votes.T]
    assert accuracy(best, data.truth) >= max(judges) - 0.01
    assert data.votes.shape == (len(data.truth), len(CASES[name].skill) + sum(CASES[name].copies.values()))


def test_optimum_knows_an_adversary_and_copies():
    adversary, best = draw("an adversary", seed=0)
    assert accuracy(best, adversary.truth) > accuracy(adversary.votes[:, :4].sum(1) > 1.5, adversary.truth)
    copied, best = draw("a weak judge copied twice", seed=0)
    majority = copied.votes.mean(1) > 0.5
    assert accuracy(best, copied.truth) > accuracy(majority, copied.truth) + 0.1


def test_textbook_scores_models_beside_the_optimum(monkeypatch):
    monkeypatch.setattr("experiments.hlm3.CASES", {"three judges": None})
    monkeypatch.setattr("experiments.hlm3.TEXTBOOK_SEEDS", 1)
    head, _, row, mean = textbook_part([]).splitlines()[-4:]
    scores = dict(zip(head.split("|")[1:-1], row.split("|")[1:-1], strict=True))
    scores = {name.strip(): value.strip() for name, value in scores.items()}
    assert scores["case"] == "three judges"
    assert 80 < float(scores["mv"]) < float(scores["hlm3"]) <= float(scores["optimum"]) < 93
    assert scores["mv"] in mean


def test_calibration_error_is_the_distance_of_confidence_from_right_labels():
    truth = np.array([0, 0, 0, 1, -1])
    sure, wrong = np.tile([0.95, 0.05], (5, 1)), np.tile([0.05, 0.95], (5, 1))
    assert calibration_error(truth, sure) == pytest.approx(0.2)
    assert calibration_error(truth, wrong) == pytest.approx(0.7)
    assert calibration_error(truth[:4], np.eye(2)[truth[:4]]) == 0


def test_vote_weighted_by_gold_follows_the_lf_that_is_right():
    votes = np.array([[0, 1, 1], [1, 0, 0], [0, 1, 1], [1, 0, 0], [0, 1, 1]])
    truth = np.array([0, 1, 0, 1, 0])
    data = DataSet("tiny", "panel", "accuracy", 2, votes, truth, None, np.arange(5))
    gold = np.where(np.arange(5) < 4, truth, -1)
    assert_array_equal(weighted_vote(data, gold), truth)
