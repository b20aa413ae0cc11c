"""Labels for items that nobody votes on."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hyperlabel as hl
from hyperlabel._core import metrics
from hyperlabel.errors import ParameterError, VotesError, VotesWarning

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `sklearn`)")

DATA = Path(__file__).parents[2] / "shared" / "data"
WORDS = ("win", "free", "money", "now", "see", "you", "at", "home", "lunch", "later")


def draw(n=300, seed=0):
    """Votes with many items that nobody votes on, texts that tell the class, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    texts = [" ".join(rng.choice(WORDS[:6] if kind else WORDS[4:], 9)) for kind in truth]
    votes = np.where(rng.random((n, 5)) < 0.75, truth[:, None], 1 - truth[:, None])
    votes = np.where(rng.random((n, 5)) < 0.5, votes, -1)
    votes[::3] = -1
    return votes, texts, truth


def test_items_without_votes_get_labels_from_texts_and_the_others_keep_theirs():
    votes, texts, truth = draw()
    own, filled = hl.HyperLabelModel().label(votes), hl.fill_labels(hl.HyperLabelModel(), votes, texts)
    voted = (votes >= 0).any(1)
    assert_array_equal(filled.best[voted], own.best[voted])
    assert_allclose(filled.probabilities[voted], own.probabilities[voted])
    assert set(filled.source[voted]) == {"votes"}
    assert set(filled.source[~voted]) == {"text"}
    assert (filled.best[~voted] == truth[~voted]).mean() > 0.8
    assert len(filled) == len(votes)


def test_combination_adds_what_texts_tell_to_the_votes():
    votes, texts, truth = draw()
    model, voted = hl.HyperLabelModel(), (votes >= 0).any(1)
    alone, both = (hl.fill_labels(model, votes, texts, combine=combine) for combine in (False, True))
    assert set(both.source[voted]) == {"votes+text"}
    assert_array_equal(both.best[~voted], alone.best[~voted])
    assert (both.best == truth)[voted].mean() > (alone.best == truth)[voted].mean() + 0.02
    assert_allclose(both.probabilities.sum(1), 1)


def test_combination_is_cross_fitted():
    """Texts that tell nothing add next to nothing, though a classifier could learn all of them by heart."""
    votes, _, _ = draw(n=600)
    texts = [f"word{number} word{number // 2}" for number in np.random.default_rng(0).permutation(600)]
    model = hl.HyperLabelModel()
    alone, both = (hl.fill_labels(model, votes, texts, combine=combine) for combine in (False, True))
    voted = (votes >= 0).any(1)
    assert np.abs(both.probabilities - alone.probabilities)[voted].mean() < 0.05


def test_gold_items_have_their_class_and_teach():
    votes, texts, truth = draw()
    gold = np.full(300, -1)
    gold[:60] = 1 - truth[:60]  # wrong on purpose: it must be obeyed all the same
    filled = hl.fill_labels(hl.HyperLabelModel(), votes, texts, gold, combine=True)
    assert_array_equal(filled.best[:60], gold[:60])
    assert set(filled.source[:60]) == {"gold"}
    assert_allclose(filled.confidence[:60], 1)


def test_items_without_votes_and_text_have_no_label():
    votes, texts, _ = draw()
    texts[0], texts[3], texts[6] = None, "  ", float("nan")
    filled = hl.fill_labels(hl.HyperLabelModel(), votes, texts)
    assert filled.best[[0, 3, 6]].tolist() == [-1, -1, -1]
    assert filled.source[[0, 3, 6]].tolist() == [None, None, None]
    assert_allclose(filled.probabilities[[0, 3, 6]], 0.5)
    assert (filled.best < 0).sum() == 3


def test_features_fill_as_texts_do():
    votes, _, truth = draw()
    features = np.random.default_rng(0).normal(size=(300, 3)) + truth[:, None]
    filled = hl.fill_labels(hl.HyperLabelModel(), votes, features)
    assert set(filled.source) == {"votes", "features"}
    assert (filled.best == truth)[(votes < 0).all(1)].mean() > 0.8


def test_a_fitted_label_model_labels_in_its_state():
    votes, texts, _ = draw()
    model = hl.HyperLabelModel().fit(votes[:200])
    filled, voted = hl.fill_labels(model, votes, texts), (votes >= 0).any(1)
    assert_array_equal(filled.best[voted], model.label(votes).best[voted])


def test_labels_for_f1_call_the_rare_class_more_often():
    rng = np.random.default_rng(0)
    truth = (rng.random(2000) < 0.1).astype(int)
    texts = [" ".join(rng.choice(WORDS[:7] if kind else WORDS[3:], 4)) for kind in truth]
    votes = np.where(rng.random((2000, 4)) < 0.9, truth[:, None], 1 - truth[:, None])
    votes[::2] = -1
    model = hl.HyperLabelModel(class_balance=[0.9, 0.1])
    plain, for_f1 = (hl.fill_labels(model, votes, texts, metric=metric) for metric in ("accuracy", "f1"))
    told = plain.source == "text"
    assert (for_f1.best[told] == 1).sum() > (plain.best[told] == 1).sum()
    assert metrics.f1(truth[told], for_f1.best[told], 2) > metrics.f1(truth[told], plain.best[told], 2)


def test_frames_say_where_labels_come_from():
    votes, texts, _ = draw(n=30)
    filled = hl.fill_labels(hl.HyperLabelModel(), votes, texts)
    frame = filled.to_pandas()
    assert frame.columns.tolist() == ["label", "confidence", "label_source", "p_0", "p_1"]
    assert frame["label_source"].tolist() == filled[:30].source.tolist()
    assert "label_source" not in hl.HyperLabelModel().label(votes).to_pandas().columns
    assert filled.to_polars()["label_source"].to_list() == filled.source.tolist()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"inputs": ["one"]},
            ParameterError,
            "texts has 1 items but votes has 300; expected one text or row per item",
        ),
        ({"inputs": [None] * 300}, ParameterError, "texts has no text with words; expected some"),
        ({"inputs": np.full((300, 1), np.nan)}, ParameterError, r"inputs\[\d+, 0\] is nan; expected a finite number"),
        ({"gold": [9] * 300, "model": hl.HyperLabelModel(n_classes=2)}, VotesError, "gold"),
    ],
)
def test_what_cannot_be_used_is_refused(change, error, message):
    votes, texts, _ = draw()
    given = {"model": hl.HyperLabelModel(), "votes": votes, "inputs": texts, **change}
    with pytest.raises(error, match=message):
        hl.fill_labels(**given)


def test_patterns_without_items_are_refused():
    votes, texts, _ = draw()
    with pytest.raises(ParameterError, match="votes is Patterns"):
        hl.fill_labels(
            hl.HyperLabelModel(), replace(hl.Patterns.from_votes(hl.Votes.from_array(votes)), inverse=None), texts
        )


def test_labels_of_one_class_are_warned_of():
    votes = np.where(np.arange(40)[:, None] % 2, [[1, 1]], -1)
    with pytest.warns(VotesWarning, match="all labels of items with votes are 1: a classifier can learn no other"):
        hl.fill_labels(hl.label_model("mv", n_classes=2), votes, ["some words"] * 40)


@pytest.mark.skipif(not (DATA / "raw" / "sms.jsonl").is_file(), reason="the texts of ../shared/data are not here")
def test_texts_raise_f1_over_all_messages():
    arrays = np.load(DATA / "sms.npz")
    votes, truth = arrays["L"].astype(int), arrays["y"].astype(int)
    texts = [json.loads(line)["text"] for line in (DATA / "raw" / "sms.jsonl").read_text("utf-8").splitlines()]
    plain, both = (
        hl.fill_labels(hl.HyperLabelModel(n_classes=2), votes, texts, combine=combine) for combine in (False, True)
    )
    assert metrics.f1(truth, hl.HyperLabelModel(n_classes=2).label(votes).best, 2) < 0.5
    assert metrics.f1(truth, plain.best, 2) > 0.72
    assert metrics.f1(truth, both.best, 2) > 0.75
