"""Why a label: contributions against plain rescoring, and changes of votes that really change the label."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import hyperlabel as hl
from hyperlabel.models import MajorityVote


def draw(n=300, m=5, k=2, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    votes = np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(0, k, (n, m)))
    return np.where(rng.random((n, m)) < 0.6, votes, -1)


def edit(votes, item, flip):
    """The votes after the changes of a flip."""
    changed = votes.copy()
    for lf, vote, instead in flip:
        j = int(lf.removeprefix("lf"))
        assert changed[item, j] == vote
        changed[item, j] = instead
    return changed


def log_odds(probability):
    return np.log(probability / (1 - probability))


def test_majority_vote_is_explained_by_the_odds_each_vote_adds():
    found = hl.label_model("mv").explain([[0, 0, 0, 1, 1]], 0)
    assert found.label == 0
    assert found.probabilities == {0: pytest.approx(0.6), 1: pytest.approx(0.4)}
    assert [c.lf for c in found.contributions] == ["lf3", "lf4", "lf0", "lf1", "lf2"]
    assert_allclose([c.log_odds for c in found.contributions][:3], [np.log(1.5 / 3), np.log(1.5 / 3), np.log(1.5)])


def test_one_abstention_that_flips_is_found_before_a_switch():
    found = hl.label_model("mv").explain([[0, 0, 1, 1]], 0)
    assert (found.label, found.flipped) == (0, 1)
    assert [tuple(c) for c in found.flip] == [("lf0", 0, -1)]


def test_a_switch_is_found_where_no_abstention_flips():
    found = hl.label_model("mv").explain([[0, 0, 1]], 0)
    assert [tuple(c) for c in found.flip] == [("lf0", 0, 1)]


def test_two_changes_are_found_where_one_does_not_flip():
    found = hl.label_model("mv").explain([[0, 0, 0, 0, 1]], 0)
    assert found.flipped == 1
    assert len(found.flip) == 2


def test_nothing_is_found_where_more_than_two_votes_must_change():
    found = hl.label_model("mv").explain([[0] * 7], 0)
    assert (found.flip, found.flipped) == ((), -1)
    assert "No change of one or two of these votes" in str(found)


def test_an_item_without_votes_has_no_contributions():
    found = hl.HyperLabelModel().explain([[0, 1], [-1, -1]], 1)
    assert (found.label, found.contributions, found.flip) == (-1, (), ())
    assert str(found) == "item 1: nobody votes on it, so it has no label"


def test_a_tie_that_abstains_is_explained_by_the_first_of_the_best():
    found = hl.label_model("mv", tie_break="abstain").explain([[0, 1]], 0)
    assert (found.label, found.flipped) == (-1, 1)
    assert str(found).startswith("item 0: no label, tied at 0 (probability 0.50)")


def test_a_tie_that_is_broken_at_random_is_explained_by_its_label():
    explained = [hl.label_model("mv", tie_break="random", seed=seed).explain([[0, 1]], 0) for seed in range(9)]
    assert {each.label for each in explained} == {0, 1}
    for each in explained:
        assert f"adds to the log-odds of {each.label}\n" in str(each)
        assert {c.vote for c in each.contributions if c.log_odds > 0} == {each.label}


@pytest.mark.parametrize("k", [2, 4])
def test_hyper_model_changes_that_are_named_change_the_label(k):
    votes = draw(k=k)
    model = hl.HyperLabelModel(n_classes=k).fit(votes)
    labels, flips = model.predict(votes), 0
    for item in range(0, 60, 3):
        found = model.explain(votes, item)
        assert found.label == labels[item]
        if found.flip:
            flips += 1
            assert model.predict(edit(votes, item, found.flip))[item] == found.flipped != labels[item]
    assert flips > 10


def test_hyper_model_on_four_items_names_changes_that_change_the_label():
    for cells in product([-1, 0, 1], repeat=3):
        votes = np.array([cells, [1, 1, -1], [0, 0, 1], [0, 0, 0]])
        model = hl.HyperLabelModel().fit(votes)
        found = model.explain(votes, 0)
        assert str(found) == str(hl.HyperLabelModel().explain(votes, 0))
        if found.flip:
            assert model.predict(edit(votes, 0, found.flip))[0] == found.flipped != found.label


def test_hyper_model_finds_a_single_change_wherever_there_is_one():
    votes = draw(n=200)
    model = hl.HyperLabelModel().fit(votes)
    labels = model.predict(votes)
    for item in range(12):
        singles = [(j, c) for j in np.flatnonzero(votes[item] >= 0) for c in (-1, 0, 1) if c != votes[item, j]]
        after = [model.predict(edit(votes, item, [(f"lf{j}", votes[item, j], c)]))[item] for j, c in singles]
        exists = any(label not in (-1, labels[item]) for label in after)
        assert (len(model.explain(votes, item).flip) == 1) == exists


def test_hyper_model_contributions_are_what_leaving_a_vote_out_takes_away():
    votes = draw(n=500)
    model = hl.HyperLabelModel(weights="hlm").fit(votes)
    item = int(np.flatnonzero((votes >= 0).sum(1) == 4)[0])
    found = model.explain(votes, item)
    whole = model.predict_proba(votes)[item, found.label]
    for lf, vote, added in found.contributions:
        without = model.predict_proba(edit(votes, item, [(lf, vote, -1)]))[item, found.label]
        assert_allclose(added, log_odds(whole) - log_odds(without), atol=1e-4)


def test_a_model_that_knows_its_contributions_is_asked_for_them():
    class Exact(MajorityVote):
        def _contributions(self, patterns):
            return np.stack([np.where(patterns.vote == c, 10.0 + patterns.lf, -1.0) for c in range(2)], 1)

    found = Exact().explain([[1, 1, 0], [0, -1, -1]], 0)
    assert [(c.lf, c.log_odds) for c in found.contributions] == [("lf1", 11.0), ("lf0", 10.0), ("lf2", -1.0)]


@pytest.mark.parametrize("name", [n for n in hl.label_models() if not hl.label_model(n).needs_gold])
def test_every_model_that_needs_no_gold_explains(name):
    votes = draw(n=60)
    model = hl.label_model(name).fit(votes)
    found = model.explain(votes, 7)
    assert found.label == model.predict(votes)[7]
    assert {c.lf for c in found.contributions} == {f"lf{j}" for j in np.flatnonzero(votes[7] >= 0)}


def test_names_of_classes_and_lfs_are_used():
    frame = pd.DataFrame(
        {"link": ["spam", "spam", "ham"], "short": ["ham", "spam", "ham"], "caps": ["spam", None, "ham"]}
    )
    text = str(hl.label_model("mv").explain(frame, 0))
    assert text.startswith("item 0: spam (probability 0.67)")
    assert "The label would be ham if link abstained." in text


def test_an_item_is_named_by_its_identifier_where_votes_have_them():
    frame = pd.DataFrame({"task": ["b", "b", "a"], "who": ["x", "y", "x"], "what": [0, 0, 1]})
    votes = hl.Votes.from_long(frame, item="task", lf="who", vote="what")
    assert hl.label_model("mv").explain(votes, "b").label == 0
    with pytest.raises(hl.ParameterError, match=r"item is 'c', which votes does not have; .* such as 'b', 'a'"):
        hl.label_model("mv").explain(votes, "c")


@pytest.mark.parametrize("item", [2, -1, "0", 0.5])
def test_an_item_that_is_no_index_is_refused(item):
    with pytest.raises(hl.ParameterError, match=r"item is .*; expected an index from 0 to 1"):
        hl.HyperLabelModel().explain([[0, 1], [1, 1]], item)


def test_a_model_that_needs_gold_says_so():
    pytest.importorskip("sklearn")
    with pytest.raises(hl.ParameterError, match="learns from gold and was given no gold"):
        hl.label_model("rf").explain([[0, 1]], 0)


def test_a_fitted_model_explains_new_rows_in_its_state():
    votes, rows = draw(), draw(n=20, seed=1)
    model = hl.HyperLabelModel().fit(votes)
    labels = model.predict(rows)
    for item in range(20):
        found, alone = model.explain(rows, item), model.explain(rows[item : item + 1], 0)
        assert found.label == labels[item]
        assert (found.probabilities, found.flip) == (alone.probabilities, alone.flip)
