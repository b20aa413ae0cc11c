"""The page about a panel, and the estimates on it."""

import re

import numpy as np
import pytest

import hyperlabel as hl
from hyperlabel.panel._estimates import correct_prevalence, count_to_audit, count_to_settle, rogan_gladen

NAMES = {"item": "item", "judge": "judge", "vote": "vote"}


def draw(n=120, accuracies=(0.95, 0.8, 0.7), seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    right = rng.random((n, len(accuracies))) < accuracies
    return np.where(right, truth[:, None], 1 - truth[:, None]), truth


def to_rows(votes, **more):
    return [
        {"item": f"q{i}", "judge": f"<b>judge</b> {j}", "vote": "yes" if v else "no", **more}
        for i, row in enumerate(votes)
        for j, v in enumerate(row)
    ]


def sections(page):
    return re.findall(r'<section id="(\w+)"', page.html)


def test_page_has_its_sections_and_escapes_what_users_type(tmp_path):
    votes, truth = draw()
    rows = to_rows(votes, order="AB") + to_rows(votes[:, ::-1][:, [2, 1, 0]], order="BA")
    gold = {f"q{i}": "yes" if truth[i] else "no" for i in range(60)}
    verdicts = hl.jury(rows, **NAMES, position="order", price=0.01, gold=gold)
    page = verdicts.report(tmp_path / "panel.html", title="<panel>")
    assert (tmp_path / "panel.html").read_text(encoding="utf-8") == page.html
    assert sections(page) == [
        *("verdicts", "judges", "cost", "positions", "agreement", "alternatives", "prevalence", "settle"),
    ]
    assert "<b>judge" not in page.html
    assert "&lt;b&gt;judge&lt;/b&gt; 0" in page.html
    assert "&lt;panel&gt;" in page.html
    assert "checked by 60 gold items" in page.headline
    assert "http" not in re.sub(r"http-equiv", "", page.html)


def test_page_without_gold_says_so_and_does_not_rank():
    votes, _ = draw(accuracies=(0.6, 0.95, 0.8))
    page = hl.jury(to_rows(votes), **NAMES).report()
    assert "positions" not in sections(page)
    assert "not checked by gold" in page.headline
    assert "Without gold, the errors of the panel are not known" in page.html
    heads = re.findall(r'<th scope="row">(&lt;b&gt;judge&lt;/b&gt; \d)</th><td class="number">120', page.html)
    assert [head[-1] for head in heads] == ["0", "1", "2"]


def test_disagreements_come_first_and_items_without_votes_do_not():
    rows = [{"item": i, "judge": j, "vote": "no" if i == 7 and j == "a" else "yes"} for i in range(9) for j in "abc"]
    rows += [{"item": "empty", "judge": "a", "vote": None}]
    rows = [row | {"item": str(row["item"])} for row in rows]
    page = hl.jury(rows, **NAMES, classes=["no", "yes"]).report()
    order = re.findall(r'<th scope="row">(\w+)</th>', page.html.partition('id="judges"')[0])
    assert (order[0], order[-1]) == ("7", "empty")


def test_cheapest_panel_is_that_of_enough():
    votes, _ = draw(n=300, accuracies=(0.97, 0.6, 0.55))
    verdicts = hl.jury(to_rows(votes), **NAMES)
    few = len(verdicts.enough(0.95))
    assert f"{few} of 3 judges keep" in verdicts.report().html


def test_comparison_counts_same_labels_and_scores_on_gold():
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, 200)
    votes = np.clip(np.rint(truth[:, None] + rng.normal(0, 0.7, (200, 5))), 1, 5).astype(int)
    rows = [{"item": i, "judge": f"j{j}", "vote": int(v)} for i, row in enumerate(votes) for j, v in enumerate(row)]
    verdicts = hl.jury(rows, **NAMES, ordinal=True, gold={i: int(truth[i]) for i in range(100)})
    found = verdicts.compare()
    assert found["model"].tolist() == ["the panel", "mv", "median", "mean"]
    median = np.median(votes, axis=1)
    assert found["accuracy"][2] == pytest.approx((median == truth)[:100].mean())
    assert found["distance"][2] == pytest.approx(np.abs(median - truth)[:100].mean())
    assert found["same"][2] == pytest.approx((median == verdicts.labels.labels).mean())


def test_corrected_share_is_the_true_one_in_its_interval_95_times_in_100():
    """Simulated panels of known sensitivity and specificity: the interval holds about as often as it says."""
    rng = np.random.default_rng(0)
    held, errors = 0, []
    for _ in range(400):
        truth = rng.random(1000) < 0.2
        labels = np.where(truth, rng.random(1000) < 0.8, rng.random(1000) < 0.1).astype(int)
        gold = np.where(np.arange(1000) < 300, truth, -1).astype(np.int64)
        found = correct_prevalence(labels, gold, 2)[1]
        held += found.low <= 0.2 <= found.high
        errors.append(found.estimate - 0.2)
    assert 0.92 <= held / 400 <= 0.99
    assert abs(np.mean(errors)) < 0.01  # the share of the labels is 0.24


def test_share_cannot_be_corrected_without_gold_of_both_kinds_or_by_labels_of_chance():
    for counts in ((30, 100, 0, 0, 10, 10), (30, 100, 10, 10, 0, 0), (30, 100, 5, 10, 5, 10)):
        found = rogan_gladen(*counts)
        assert found.apparent == 0.3
        assert np.isnan(found[1:]).all()


def test_better_judges_take_fewer_labels_to_tell_apart():
    for seed in range(3):
        near, _ = draw(2000, (0.9, 0.85), seed)
        far, _ = draw(2000, (0.9, 0.6), seed)
        counts = []
        for votes in (near, far):
            truth = np.where(votes[:, 0] == 1, 0.9, 0.1)
            counts.append(count_to_settle(votes, np.stack([1 - truth, truth], 1), 0, 1))
        assert counts[0].items < counts[1].items
        assert 5 < counts[1].labels < 100
    alike = count_to_settle(near[:, [0, 0]], np.full((2000, 2), 0.5), 0, 1)
    assert (alike.items, alike.labels) == (0, np.inf)


def test_an_audit_of_that_many_items_is_as_exact_as_it_says():
    rng = np.random.default_rng(0)
    n = count_to_audit(0.8, 10**9)
    found = rng.binomial(n, 0.8, 4000) / n
    assert 0.93 < (np.abs(found - 0.8) <= 0.05).mean() < 0.97
