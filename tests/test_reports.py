"""The report page: what it holds, that everything from the data is escaped, and that it stays small."""

import base64
import hashlib
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hyperlabel as hl
from hyperlabel._core import metrics
from hyperlabel.data import decode
from hyperlabel.errors import ParameterError
from hyperlabel.lf import LFAnalysis
from hyperlabel.reports import ShownItems, render
from hyperlabel.reports._html import class_tag, histogram, hue, join, shorten, tag
from hyperlabel.reports._items import VoteExamples, rank_contested
from hyperlabel.reports._labels import class_scores, count_confidence, count_confusion, find_sensitivity, score
from hyperlabel.reports._lfs import conflict_shares

EVIL = "<b>x</b>\"'&<script>alert(1)</script>"


def draw(n=300, m=5, k=2, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    votes = np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(0, k, (n, m)))
    return np.where(rng.random((n, m)) < 0.5, votes, -1), truth


def page_of(votes, truth=None, texts=None, title="votes.csv"):
    analysis = LFAnalysis(votes, truth)
    return render(analysis, ShownItems(range(analysis.n_items), texts), title=title).html


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
    assert page.count("<script") == 1  # the page's own
    assert "<b>x" not in page
    assert EVIL in elements.text


def test_page_loads_nothing_and_forbids_it():
    page = page_of(*draw(), texts=["a text"] * 300)
    elements = Elements(page)
    assert not {"link", "img", "iframe"} & {name for name, _ in elements.found}
    assert not [a for _, a in elements.found if {"src", "onload", "onclick"} & a.keys()]
    assert {a["href"][:4] for _, a in elements.found if "href" in a} == {"#lf-"}
    [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policies = [a["content"] for name, a in elements.found if a.get("http-equiv") == "Content-Security-Policy"]
    assert policies == [f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"]


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
    page = render(analysis, ShownItems(range(3000), ["word " * 10_000] * 3000), title="votes.csv").html
    assert len(page) < 1_000_000
    for statement in ("200 of 1,000 LFs", "30 of 1,000 LFs", "25 of ", "items drawn at random"):
        assert statement in page


@pytest.mark.parametrize("k", [2, 4])
def test_scores_are_those_of_the_models_with_items_without_votes_wrong(k):
    votes, truth = draw(k=k)
    votes[:30], truth[30:60] = -1, -1
    analysis = LFAnalysis(votes, truth)
    for model in (hl.HyperLabelModel(), hl.label_model("mv")):
        scores = score(model.fit_label_patterns(analysis.patterns), analysis.truth)
        assert scores.items == (truth >= 0).sum() == 270
        assert_allclose(scores.accuracy, model.score(votes, truth))
        assert_allclose(scores.f1, metrics.f1(truth, model.predict(votes), k))
        assert_allclose(scores.brier, metrics.brier(truth, model.predict_proba(votes)))


def test_page_names_f1_by_what_it_is():
    assert "F1 of 1</th>" in page_of(*draw(k=2))
    assert "macro F1</th>" in page_of(*draw(k=3))


def test_page_by_a_fitted_model_shows_its_labels():
    votes, truth = draw()
    model = hl.HyperLabelModel().fit(votes[:50])
    page = hl.report(votes, truth=truth, model=model).html
    assert f"<dt>accuracy, all items</dt><dd>{model.score(votes, truth):.1%}</dd>" in page


def test_groups_by_confidence_hold_all_labeled_items_in_rising_order():
    votes, truth = draw(n=1000)
    analysis = LFAnalysis(votes, truth)
    confidence, right, items = analysis.reliability().columns.values()
    assert items.sum() == (votes >= 0).any(1).sum()
    assert (np.diff(confidence) >= 0).all()
    assert_allclose(right @ items / len(votes), hl.HyperLabelModel().score(votes, truth))


def test_histogram_counts_all_items_with_votes():
    votes, _ = draw()
    counts, low, high = count_confidence(LFAnalysis(votes))
    assert counts.sum() == (votes >= 0).any(1).sum()
    assert low == 0.5 < high <= 1


@pytest.mark.parametrize(("most", "figures"), [(1, ["0", "1"]), (3, ["0", "1", "3"]), (2000, ["0", "1,000", "2,000"])])
def test_lines_of_the_histogram_are_at_the_numbers_beside_them(most, figures):
    drawn = histogram(np.array([most, 0]), 0.5, 1.0, "confidence")
    assert re.findall(r'text-anchor="end">([\d,]+)<', drawn) == figures
    heights = [float(y) for y in re.findall(r'y1="([\d.]+)"', drawn)]
    shares = [int(figure.replace(",", "")) / most for figure in figures]
    assert_allclose((heights[0] - np.array(heights)) / (heights[0] - heights[-1]), shares)


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


def test_confusion_counts_every_item_with_truth_and_agrees_with_scikit_learn():
    sklearn = pytest.importorskip("sklearn.metrics")
    votes, truth = draw(k=4)
    votes[:30] = -1
    analysis = LFAnalysis(votes, truth)
    confusion, labels = count_confusion(analysis), hl.HyperLabelModel().predict(votes)
    assert confusion.sum() == 300
    assert confusion[:, -1].sum() == (labels < 0).sum() >= 30
    labeled = labels >= 0
    assert_allclose(confusion[:, :-1], sklearn.confusion_matrix(truth[labeled], labels[labeled]))
    expected = sklearn.precision_recall_fscore_support(truth, labels, labels=range(4))[:3]
    assert_allclose(class_scores(confusion), expected)


def test_a_class_has_one_color_on_all_of_the_page():
    named = hl.Votes.from_array(draw()[0], classes=["ham", "spam"])
    page = hl.report(named, truth=np.array(["ham", "spam"])[draw()[1]]).html
    for code, name in enumerate(("ham", "spam")):
        found = re.findall(rf'style="--hue:([^"]*)">(?:[^<]*)<b>{name}</b>', page)
        assert len(found) > 5
        assert set(found) == {str(hue(code))}
    assert len({hue(code) for code in range(50)}) == 50


def test_class_tag_of_no_label_says_so():
    assert "no label" in class_tag(("a",), -1)


def test_examples_are_right_wrong_or_alone_as_they_say():
    votes, truth = draw(n=400, m=4)
    votes[:40, 1:] = -1
    analysis = LFAnalysis(votes, truth)
    finder = VoteExamples(analysis, ShownItems(range(400), ["text"] * 400, truth))
    for lf in range(4):
        found = finder.of(lf, 3)
        assert all(votes[item, lf] == truth[item] for item in found["right"])
        assert all(votes[item, lf] not in (-1, truth[item]) for item in found["wrong"])
        assert all((votes[item] >= 0).sum() == 1 and votes[item, lf] >= 0 for item in found["alone"])
        assert [len(found[kind]) for kind in ("right", "wrong")] == [3, 3]
    without = VoteExamples(analysis, ShownItems(range(400), ["text"] * 400)).of(0, 3)
    assert list(without) == ["with the label", "against the label", "alone"]
    labels = hl.HyperLabelModel().predict(votes)
    assert all(votes[item, 0] != labels[item] for item in without["against the label"])


def test_an_lf_that_is_never_wrong_has_no_wrong_example():
    truth = np.arange(60) % 2
    analysis = LFAnalysis(np.stack([truth, 1 - truth, truth], 1), truth)
    found = VoteExamples(analysis, ShownItems(range(60), ["text"] * 60, truth)).of(0, 3)
    assert (len(found["right"]), found["wrong"], found["alone"]) == (2, [], [])  # one of each pattern


def test_sensitivity_labels_as_the_model_does_with_that_balance():
    votes, truth = draw(n=500)
    analysis, model = LFAnalysis(votes, truth), hl.HyperLabelModel()
    found = find_sensitivity(model, analysis)
    voted = (votes >= 0).any(1)
    for place in (0, 9, 18):
        share = float(found.shares[place])
        labels = hl.HyperLabelModel(class_balance=[1 - share, share]).predict(votes)
        assert_allclose(found.labeled[0, place], (labels[voted] == 1).mean())
        assert_allclose(found.accuracy[place], (labels == truth)[voted].mean())
    assert found.labeled[0, 0] < found.labeled[0, -1]


@pytest.mark.parametrize("model", [hl.label_model("mv"), hl.HyperLabelModel().fit(draw()[0])], ids=["mv", "fitted"])
def test_a_model_that_takes_no_balance_has_no_such_picture(model):
    assert find_sensitivity(model, LFAnalysis(draw()[0], model=model)) is None
    assert "What depends on the class balance" not in hl.report(draw()[0], model=model).html


def test_report_says_how_many_how_good_and_what_next():
    votes, truth = draw()
    votes[:30] = -1
    page = hl.report(votes, truth=truth, title="<Mails>")
    right = (hl.HyperLabelModel().predict(votes) == truth)[(votes >= 0).any(1)].mean()
    assert f"items have labels by 5 LFs; {right:.1%} of the labels are right, on the " in page.headline
    assert "Next: " in page.headline
    assert "their accuracy is unknown" in hl.report(votes).headline
    assert "<title>&lt;Mails&gt;</title>" in page.html
    assert "<h1>&lt;Mails&gt;</h1>" in page.html


def test_report_with_gold_scores_labels_that_have_not_learned_from_it():
    votes, truth = draw()
    gold = np.where(np.arange(300) < 60, truth, -1)
    page = hl.report(votes, gold=gold)
    right = (hl.HyperLabelModel().predict(votes) == truth)[:60][(votes[:60] >= 0).any(1)].mean()
    assert "Scores against gold" in page.html
    assert f"{right:.1%} of the labels are right, on the " in page.headline
    assert "with gold" in page.headline


def test_report_with_a_certificate_shows_and_says_it():
    votes, truth = draw(n=600, m=9)
    certificate = hl.certify(hl.HyperLabelModel(), votes, {i: truth[i] for i in range(0, 600, 4)}, error=0.2)
    page = hl.report(votes, certificate=certificate)
    assert unescape(str(certificate)) in Elements(page.html).text
    assert "can be used: at most 20% of their labels are wrong" in page.headline


def test_report_shows_uncovered_items_with_text_and_truth():
    votes, truth = draw()
    votes[7] = -1
    texts = [f"text {i}" for i in range(300)]
    page = hl.report(votes, texts, truth).html
    section = page[page.index('id="uncovered"') :].split("</section>")[0]
    assert "text 7<" in section
    assert "Items without votes" not in hl.report(np.abs(votes)).html


def test_report_takes_series_of_texts_by_place():
    pd = pytest.importorskip("pandas")
    votes, _ = draw()
    votes[:] = np.abs(votes)
    votes[5] = -1
    page = hl.report(votes, pd.Series([f"text {i}" for i in range(300)], index=range(300, 0, -1))).html
    assert "text 5<" in page


def test_report_of_a_wrong_number_of_texts_is_refused():
    with pytest.raises(ParameterError, match="texts is .*; expected one text for each of the 300 items of votes"):
        hl.report(draw()[0], ["one"])


def test_report_in_a_notebook_is_a_closed_frame_and_a_file_is_the_page(tmp_path):
    page = hl.report(draw()[0])
    shown = page._repr_html_()
    [(name, attributes)] = Elements(shown).found
    assert (name, attributes["sandbox"], attributes["srcdoc"]) == ("iframe", "allow-scripts", page.html)
    page.save(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == page.html
    assert str(page) == page.headline
    with pytest.raises(ParameterError, match="path is '.*', but it cannot be written"):
        page.save(tmp_path / "no" / "r.html")


def test_what_notebooks_show_is_escaped():
    votes = hl.Votes.from_array(draw()[0], classes=[EVIL + "0", EVIL + "1"], lfs=[f"{EVIL}{j}" for j in range(5)])
    model = hl.HyperLabelModel().fit(votes)
    judged = [{"item": i, "judge": f"{EVIL}{j}", "vote": EVIL} for i in range(3) for j in range(3)]
    panel = hl.jury(judged + [{"item": 0, "judge": "one", "vote": "b"}], item="item", judge="judge", vote="vote")
    shown = [LFAnalysis(votes), model.explain(votes, 0), hl.advise(votes), model, hl.HyperLabelModel(), panel]
    for each in shown:
        page = each._repr_html_()
        assert page.startswith("<table>")
        assert "<b>x" not in page
        Elements(page)


def test_plots_draw_what_the_objects_hold():
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib.figure import Figure

    votes, truth = draw(n=400, m=5)
    axes = [Figure().add_subplot() for _ in range(8)]
    explained = hl.HyperLabelModel().explain(votes, int(np.flatnonzero((votes >= 0).sum(1) > 2)[0]))
    bars = explained.plot(axes[0]).patches
    assert_allclose([bar.get_width() for bar in bars], [c.log_odds for c in explained.contributions])
    bars = LFAnalysis(votes, truth).plot(axes[1]).patches
    assert_allclose([bar.get_width() for bar in bars], LFAnalysis(votes, truth).precision)
    assert LFAnalysis(votes).plot(axes[2]).get_xlabel() == "estimated accuracy"
    certificate = hl.certify(hl.HyperLabelModel(), votes, {i: truth[i] for i in range(0, 400, 2)}, error=0.2)
    assert_allclose(certificate.plot(axes[3]).lines[-1].get_ydata(), 0.2)
    advice = hl.advise(votes)
    assert len(advice.plot(axes[4]).patches) == len(advice)
    analysis = LFAnalysis(votes, truth)
    [image] = analysis.plot_conflicts(axes[5]).images
    where = ~np.eye(5, dtype=bool)
    assert_allclose(image.get_array()[where], (analysis.pair_conflicts / analysis.votes[:, None])[where])
    drawn = analysis.plot_reliability(axes[6]).lines[1]
    assert_allclose(drawn.get_ydata(), analysis.reliability()["right"])
    labels = hl.HyperLabelModel().label(votes)
    heights = [bar.get_height() for bar in labels.plot(axes[7]).patches]
    assert sum(heights) == (labels.best >= 0).sum()


def test_reliability_without_truth_says_what_is_missing():
    with pytest.raises(ParameterError, match="reliability needs the truth of the items; give it"):
        LFAnalysis(draw()[0]).reliability()


def test_report_of_scores_shows_them_and_advises_no_votes_for_classes_they_speak_for():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    scores = 1 / (1 + np.exp(-(2 * truth[:, None] - 1 + rng.normal(0, 1, (200, 4)))))
    votes = hl.Votes.from_scores(scores, classes=["bad", "good"])
    page = hl.report(votes, [f"text {i}" for i in range(200)], np.array(["bad", "good"])[truth])
    assert "nobody votes for" not in page.html
    assert 'class="class none"' in page.html  # a level of a score has no color of a class
