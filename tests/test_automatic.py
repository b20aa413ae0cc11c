import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hyperlabel as hl
from hyperlabel.models import AutomaticModel, BalancedVote, HierarchicalDawidSkene, HyperLabelModel, MajorityVote
from hyperlabel.models._automatic import choose

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ANCHORS = json.loads((DATA / "anchors.json").read_text(encoding="utf-8")) if DATA.exists() else {}
# The real sets of the trials that the rule stems from, by what it chooses.
CHOICES = {
    "hds": (
        "crowd_adult", "crowd_cf", "crowd_face", "crowd_ms", "crowd_product", "crowd_sentiment_d",
        "crowd_sp_amt", "crowd_web", "crowd_zencrowd_in",
    ),
    "mv": ("commercial", "imdb", "rna"),
    "hlm3": (
        "crowd_bluebird", "domain", "panel_dices", "panel_faireval", "panel_llmbar", "panel_llmeval2",
        "panel_mathvista", "panel_mmlu_pro", "panel_mtbench", "panel_real",
    ),
    "bv": (
        "box_claude9", "cdr", "chemprot", "hausa", "mushroom_weshap20", "semeval", "sms", "sms_prompt", "spouse",
        "spouse_promptaug", "sst2_cll", "youtube", "youtube_ngram100", "youtube_prompt",
    ),
}  # fmt: skip
TRIAL = [(name, choice) for choice, names in CHOICES.items() for name in names]


def people(rate, n=400, m=9, k=3, seed=0):
    """Votes of LFs that vote for any class, `rate` per item on average."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    votes = np.where(rng.random((n, m)) < np.linspace(0.4, 0.95, m), truth[:, None], rng.integers(k, size=(n, m)))
    return np.where(rng.random((n, m)) < rate / m, votes, -1), truth


def rules(n=400, m=6, seed=0):
    """Votes of LFs that vote for one of two classes each."""
    rng = np.random.default_rng(seed)
    truth, side = rng.integers(2, size=n), np.arange(m) % 2
    return np.where(rng.random((n, m)) < np.where(truth[:, None] == side, 0.6, 0.1), side, -1), truth


CASES = {
    "hds": (people(6)[0], HierarchicalDawidSkene(abstain="ignore")),
    "mv": (people(1.5)[0], MajorityVote()),
    "bv": (rules()[0], BalancedVote()),
    "hlm3": (people(9)[0], HyperLabelModel("hlm3")),
}


@pytest.mark.parametrize("choice", CASES)
def test_automatic_gives_the_probabilities_of_the_model_that_it_chooses(choice):
    votes, expected = CASES[choice]
    model = AutomaticModel().fit(votes)
    assert model.chosen_ == choice
    assert isinstance(model.model_, type(expected))
    assert_array_equal(model.predict_proba(votes), expected.fit(votes).predict_proba(votes))
    assert model.n_iter_ == expected.n_iter_


@pytest.mark.skipif(not ANCHORS, reason="the real sets are not beside the repository")
@pytest.mark.parametrize(("name", "expected"), TRIAL)
def test_automatic_on_real_set_chooses_as_in_the_trial(name, expected):
    votes = np.load(DATA / f"{name}.npz")["L"].astype(np.int64)
    model = AutomaticModel(n_classes=ANCHORS[name]["k"])
    assert model.fit(votes).chosen_ == expected


@pytest.mark.parametrize(
    ("share", "votes", "density", "choice"),
    [
        (0.51, 2.51, 0.75, "hds"), (0.51, 2.51, 0.76, "hlm3"), (0.51, 2.5, 0.75, "mv"), (0.51, 2.5, 1.0, "mv"),
        (0.5, 2.51, 0.75, "bv"), (0.5, 1.0, 0.5, "bv"), (0.0, 0.0, 0.0, "bv"),
    ],
)  # fmt: skip
def test_choice_changes_only_above_its_bounds(share, votes, density, choice):
    assert choose(share, votes, density) == choice


def test_automatic_reports_the_three_numbers_that_the_rule_looks_at():
    votes = np.array([[0, 1, -1], [1, 1, -1], [-1, 1, 1], [-1, -1, -1]])
    model = AutomaticModel().fit(votes)
    assert model.many_sided_share_ == pytest.approx(2 / 6)
    assert model.votes_per_item_ == pytest.approx(2)
    assert model.density_ == pytest.approx(2 / 3)


def test_automatic_with_items_repeated_or_without_votes_chooses_the_same():
    votes = people(6)[0]
    for more in (np.tile(votes, (5, 1)), np.concatenate([votes, np.full((4000, 9), -1)])):
        assert AutomaticModel().fit(more).votes_per_item_ == pytest.approx(AutomaticModel().fit(votes).votes_per_item_)


def test_automatic_of_people_learns_from_gold_and_looks_it_up():
    votes, truth = people(6)
    gold = np.where(np.arange(400) < 200, truth, -1)
    model = AutomaticModel().fit(votes, gold)
    clamped = HierarchicalDawidSkene(abstain="ignore").fit(votes, gold)
    assert_array_equal(model.model_.confusion_, clamped.confusion_)
    alone = np.flatnonzero([(votes == row).all(1).sum() == 1 for row in votes])
    known, unknown = alone[alone < 200], alone[alone >= 200]
    probabilities, without = model.predict_proba(votes), clamped.predict_proba(votes)
    assert_allclose(probabilities[unknown], without[unknown])
    assert_allclose(probabilities[known], (without[known] + np.eye(3)[truth[known]]) / 2)


def test_automatic_of_rules_looks_gold_up():
    votes, truth = rules()
    gold = np.where(np.arange(400) < 200, truth, -1)
    expected = BalancedVote().fit(votes, gold).predict_proba(votes)
    assert_array_equal(AutomaticModel().fit(votes, gold).predict_proba(votes), expected)


def test_automatic_explains_by_the_model_that_it_chose():
    votes = rules()[0]
    item = int((votes >= 0).any(1).argmax())
    assert str(AutomaticModel().fit(votes).explain(votes, item)) == str(BalancedVote().fit(votes).explain(votes, item))


@pytest.mark.parametrize("choice", CASES)
def test_automatic_is_saved_with_the_model_that_it_chose(choice, tmp_path):
    votes, _ = CASES[choice]
    model = AutomaticModel().fit(votes)
    model.save(tmp_path / "auto.safetensors")
    loaded = hl.load(tmp_path / "auto.safetensors")
    assert (loaded.chosen_, loaded.many_sided_share_) == (choice, model.many_sided_share_)
    assert repr(loaded.model_) == repr(model.model_)
    assert_array_equal(loaded.model_.predict_proba(votes), model.model_.predict_proba(votes))


def test_automatic_that_runs_out_of_steps_warns_once(monkeypatch):
    stubborn = HierarchicalDawidSkene(abstain="ignore", max_iter=1)
    monkeypatch.setattr("hyperlabel.models._automatic._make", lambda choice: stubborn)
    with pytest.warns(hl.errors.ConvergenceWarning) as caught:
        AutomaticModel().fit(people(6)[0])
    assert [str(warning.message) for warning in caught] == [
        "AutomaticModel did not converge in 1 iterations; raise max_iter"
    ]
