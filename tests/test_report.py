"""The report page: what it holds, that everything from the data is escaped, and that it stays small."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hyperlabel as hl
from hyperlabel import metrics
from hyperlabel.classes import decode
from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.report import Items, render
from hyperlabel.report.figures import conflict_shares, count_confidence, group_by_confidence, rank_contested, score
from hyperlabel.report.html import join, shorten, tag

EVIL = "<b>x</b>\"'&<script>alert(1)</script>"


def draw(n=300, m=5, k=2, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    votes = np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(0, k, (n, m)))
    return np.where(rng.random((n, m)) < 0.5, votes, -1), truth


def page_of(votes, truth=None, texts=None, title="votes.csv"):
    analysis = LFAnalysis(votes, truth)
    return render(analysis, Items(range(analysis.n_items), texts), title=title)


class Elements(HTMLParser):
    """All opening tags of a page with their attributes, and its text."""

    def __init__(self, page):
        super().__init__()
        self.found, self.open, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, name, attributes):
        self.found.append((name, dict(attributes)))
        if name != "meta":
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        self.text += data


def test_tag_escapes_children_and_attributes_but_not_html():
    assert tag("a", "<", tag("b", "&"), title='"') == '<a title="&quot;">&lt;<b>&amp;</b></a>'
    assert join(None, 1, "<") == "1&lt;"


def test_shorten_of_a_short_text_keeps_it():
    assert (shorten("abc", 3), shorten("abcd", 3)) == ("abc", "ab…")


def test_page_escapes_every_name_class_text_and_title():
    votes, truth = draw()
    named = hl.Votes.from_array(votes, classes=[EVIL + "0", EVIL + "1"], lfs=[f"{EVIL}{j}" for j in range(5)])
    page = page_of(named, decode(truth, named.classes), texts=[EVIL] * 300, title=EVIL)
    elements = Elements(page)
    assert "<script" not in page
    assert "<b>x" not in page
    assert EVIL in elements.text


def test_page_loads_nothing_and_forbids_it():
    elements = Elements(page_of(*draw()))
    assert not {"script", "link", "img", "iframe"} & {name for name, _ in elements.found}
    assert not [a for _, a in elements.found if {"src", "href", "onload"} & a.keys()]
    policies = [a["content"] for name, a in elements.found if a.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_page_is_well_formed_with_heads_and_names_for_those_who_cannot_see():
    elements = Elements(page_of(*draw()))
    assert elements.open == []
    heads = [a for name, a in elements.found if name == "th"]
    assert {a["scope"] for a in heads} == {"col", "row"}
    drawings = [a for name, a in elements.found if name == "svg"]
    assert len(drawings) == 3
    assert all(a["role"] == "img" and a["aria-label"] for a in drawings)


def test_page_without_truth_has_no_scores():
    votes, truth = draw()
    assert "Scores against the truth" not in page_of(votes)
    assert "Scores against the truth" in page_of(votes, truth)
    assert "Scores against the truth" not in page_of(votes, np.full(300, -1))


def test_page_of_votes_that_never_conflict_has_no_contested_items():
    assert "Most contested items" not in page_of([[0, 0], [1, -1]])
    assert "Most contested items" in page_of([[0, 1], [1, -1]])


@pytest.mark.parametrize("votes", [-np.ones((4, 3), int), [[0]], [[1, 1], [1, 1]]], ids=["none", "one", "unanimous"])
def test_page_of_odd_votes_is_made(votes):
    Elements(page_of(votes))


def test_page_of_one_class_is_made():
    Elements(page_of(hl.Votes.from_array([[0, 0], [0, -1]], n_classes=1)))


def test_page_shows_the_text_of_contested_items_cut_to_size():
    page = page_of([[0, 1], [1, 1]], texts=["long " * 500, None])
    shown = re.search(r'<td class="text">([^<]*)</td>', page)[1]
    assert shown.startswith("long long")
    assert len(shown) == 300


def test_page_of_many_lfs_classes_and_items_is_small_and_says_what_is_cut():
    rng = np.random.default_rng(0)
    votes = np.where(rng.random((3000, 1000)) < 0.01, rng.integers(0, 25, (3000, 1000)), -1)
    named = hl.Votes.from_array(votes, lfs=[f"{j} " + "long" * 500 for j in range(1000)])
    analysis = LFAnalysis(named, model=hl.label_model("mv"))
    page = render(analysis, Items(range(3000), ["word " * 10_000] * 3000), title="votes.csv")
    assert len(page) < 1_000_000
    for statement in ("200 of 1,000 LFs", "30 of 1,000 LFs", "20 of 25 classes", "25 of ", "items drawn at random"):
        assert statement in page


@pytest.mark.parametrize("k", [2, 4])
def test_scores_are_those_of_the_models_with_items_without_votes_wrong(k):
    votes, truth = draw(k=k)
    votes[:30], truth[30:60] = -1, -1
    known = truth >= 0
    own, majority = score(LFAnalysis(votes, truth))
    for scores, model in ((own, hl.HyperLabelModel()), (majority, hl.label_model("mv"))):
        assert scores.items == known.sum() == 270
        assert_allclose(scores.accuracy, model.score(votes, truth))
        assert_allclose(scores.f1, metrics.f1(truth, model.predict(votes), k))
        assert_allclose(scores.brier, metrics.brier(truth, model.predict_proba(votes)))


def test_page_names_f1_by_what_it_is():
    assert "F1 of 1</th>" in page_of(*draw(k=2))
    assert "macro F1</th>" in page_of(*draw(k=3))


def test_page_by_a_fitted_model_shows_its_labels():
    votes, truth = draw()
    model = hl.HyperLabelModel().fit(votes[:50])
    scores, _ = score(LFAnalysis(votes, truth, model=model))
    assert_allclose(scores.accuracy, model.score(votes, truth))


def test_groups_by_confidence_hold_all_labeled_items_in_rising_order():
    votes, truth = draw(n=1000)
    analysis = LFAnalysis(votes, truth)
    confidence, right, items = group_by_confidence(analysis)
    assert items.sum() == (votes >= 0).any(1).sum()
    assert (np.diff(confidence) >= 0).all()
    assert_allclose(right @ items / len(votes), score(analysis)[0].accuracy)


def test_histogram_counts_all_items_with_votes():
    votes, _ = draw()
    counts, low, high = count_confidence(LFAnalysis(votes))
    assert counts.sum() == (votes >= 0).any(1).sum()
    assert low == 0.5 < high <= 1


def test_contested_patterns_conflict_and_come_closest_first():
    votes, _ = draw()
    analysis = LFAnalysis(votes)
    chosen = rank_contested(analysis, 10)
    assert len(chosen) == 10
    assert analysis.conflicting[chosen].all()
    margin = np.abs(np.diff(analysis.probabilities, axis=1))[:, 0]
    assert (np.diff(margin[chosen]) >= 0).all()
    assert margin[chosen[-1]] <= np.sort(margin[analysis.conflicting])[9]


def test_conflict_shares_are_shares_of_the_rows_votes():
    shares = conflict_shares(LFAnalysis([[0, 1, -1], [0, 0, -1], [0, -1, -1], [-1, -1, 1]]), np.arange(3))
    assert_allclose(shares, [[0.75, 1 / 3, np.nan], [0.5, 0.5, np.nan], [np.nan, np.nan, 0.25]])
