"""What each LF is worth: counts against a plain item-by-item computation, estimates against known truth."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hyperlabel as hl
from hyperlabel.data import Patterns
from hyperlabel.errors import ParameterError
from hyperlabel.lf import LFAnalysis, affordable_items


def draw(n=400, m=6, k=3, accuracy=0.75, coverage=0.5, seed=0):
    """Votes of LFs that are independent given the class, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    votes = np.where(rng.random((n, m)) < accuracy, truth[:, None], rng.integers(0, k, (n, m)))
    return np.where(rng.random((n, m)) < coverage, votes, -1), truth


def odd_votes():
    """Repeated items, items without votes, an LF that never votes."""
    votes, truth = draw()
    votes[:, 4] = -1
    votes[:20] = -1
    return np.concatenate([votes, votes[:100]]), np.concatenate([truth, truth[:100]])


def test_shares_of_odd_votes_are_those_of_an_item_by_item_count():
    votes, _ = odd_votes()
    cast = votes >= 0
    others = cast.sum(1, keepdims=True) - cast
    against = np.stack([((votes != votes[:, [j]]) & cast).any(1) & cast[:, j] for j in range(votes.shape[1])], 1)
    analysis = LFAnalysis(votes)
    assert_allclose(analysis.coverage, cast.mean(0))
    assert_allclose(analysis.overlaps, (cast & (others > 0)).mean(0))
    assert_allclose(analysis.conflicts, against.mean(0))


def test_pair_counts_are_those_of_an_item_by_item_count():
    votes, _ = odd_votes()
    both = (votes[:, :, None] >= 0) & (votes[:, None] >= 0)
    same = both & (votes[:, :, None] == votes[:, None])
    analysis = LFAnalysis(votes)
    assert_array_equal(analysis.shared, both.sum(0))
    assert_array_equal(analysis.agreements, same.sum(0))
    assert_array_equal(analysis.pair_conflicts, (both & ~same).sum(0))


def test_precision_counts_only_votes_on_items_with_known_truth():
    votes, truth = odd_votes()
    truth[::3] = -1
    known = (votes >= 0) & (truth >= 0)[:, None]
    right = known & (votes == truth[:, None])
    analysis = LFAnalysis(votes, truth)
    assert_array_equal(analysis.correct, right.sum(0))
    assert_array_equal(analysis.incorrect, known.sum(0) - right.sum(0))
    voting = known.any(0)
    assert_allclose(analysis.precision[voting], right.sum(0)[voting] / known.sum(0)[voting])
    assert np.isnan(analysis.precision[4])


def test_polarity_holds_the_classes_an_lf_votes_for():
    votes = hl.Votes.from_array([[0, 1, -1], [-1, 1, -1], [1, 1, -1]], classes=["ham", "spam"])
    assert LFAnalysis(votes).polarity == (("ham", "spam"), ("spam",), ())


def test_precision_without_truth_is_refused():
    with pytest.raises(hl.ParameterError, match=r"there is no truth; give it: LFAnalysis\(votes, truth\)"):
        _ = LFAnalysis(draw()[0]).precision


def test_truth_with_a_class_that_nobody_votes_for_counts_it():
    analysis = LFAnalysis([[0, 1], [1, 1]], truth=[2, 1])
    assert analysis.classes == (0, 1, 2)
    assert analysis.correct.tolist() == [1, 1]


def test_estimated_accuracy_of_accurate_and_poor_lfs_is_near_their_precision():
    good, truth = draw(n=3000, m=8, k=2, accuracy=0.8)
    poor, _ = draw(n=3000, m=1, k=2, accuracy=0.1, seed=3)
    analysis = LFAnalysis(np.c_[good, poor], truth)
    assert_allclose(analysis.estimated_accuracy, analysis.precision, atol=0.1)
    assert analysis.estimated_accuracy.argmin() == 8


def test_estimated_accuracy_of_an_lf_that_never_votes_is_nan():
    assert np.isnan(LFAnalysis([[0, -1], [1, -1]]).estimated_accuracy).tolist() == [False, True]


def test_leave_one_out_is_the_model_on_votes_in_which_the_lf_abstains():
    votes, _ = odd_votes()
    model = hl.HyperLabelModel(n_classes=3)
    before, labels = model.predict_proba(votes), model.predict(votes)
    result = LFAnalysis(votes, model=model).leave_one_out()
    assert result.n_items == len(votes)
    for j in (0, 3, 4):
        rest = votes.copy()
        rest[:, j] = -1
        assert_allclose(result.label_changes[j], (model.predict(rest) != labels).mean())
        moved = np.abs(model.predict_proba(rest) - before).sum(1).mean() / 2
        assert_allclose(result.probability_changes[j], moved, atol=1e-6)
    assert result.label_changes[4] == 0


def test_leave_one_out_of_a_sample_is_near_that_of_all_items_and_the_same_twice():
    votes, _ = draw(n=4000)
    analysis = LFAnalysis(votes)
    sample = analysis.leave_one_out(n_items=2000)
    assert sample.n_items == 2000
    assert_allclose(sample.label_changes, analysis.leave_one_out().label_changes, atol=0.05)
    assert_array_equal(sample.label_changes, analysis.leave_one_out(n_items=2000).label_changes)


def test_leave_one_out_of_many_lfs_looks_at_a_sample():
    votes = np.random.default_rng(0).integers(-1, 2, (2000, 400))
    assert 100 <= affordable_items(LFAnalysis(votes).patterns) < 2000


@pytest.mark.parametrize("n_items", [0, -1, 401])
def test_leave_one_out_of_an_impossible_sample_is_refused(n_items):
    with pytest.raises(hl.ParameterError, match=rf"n_items is {n_items}; expected a whole number from 1 to 400"):
        LFAnalysis(draw()[0]).leave_one_out(n_items=n_items)


def test_dependence_of_lfs_that_are_independent_given_the_class_is_near_zero():
    analysis = LFAnalysis(draw(n=5000, m=8, k=2, accuracy=0.8, coverage=0.7)[0])
    apart = analysis.dependence[~np.eye(8, dtype=bool)]
    assert np.abs(apart).max() < 0.1
    assert len(analysis.dependent_pairs()) == 0


def test_dependent_pairs_of_copies_names_their_kind():
    votes, _ = draw(n=2000, m=6, k=2)
    rng = np.random.default_rng(1)
    copy, near, half = votes[:, 0].copy(), votes[:, 1].copy(), votes[:, 2].copy()
    near[:20] = -1
    half[rng.random(2000) < 0.35] = -1
    pairs = LFAnalysis(np.c_[votes, copy, near, half]).dependent_pairs()
    found = {(row["lf"], row["other"]): row["kind"] for row in pairs.rows()}
    assert found == {("lf0", "lf6"): "duplicate", ("lf1", "lf7"): "near-duplicate", ("lf2", "lf8"): "dependent"}
    assert_allclose(pairs["dependence"][0], 1)
    assert pairs["conflicts"].tolist() == [0, 0, 0]


def test_dependent_pairs_that_agree_on_few_items_are_left_out():
    votes = -np.ones((1000, 3), int)
    votes[:4, :2] = 1
    votes[:, 2] = np.arange(1000) % 2
    assert len(LFAnalysis(votes).dependent_pairs()) == 0
    votes[:5, :2] = 1
    assert len(LFAnalysis(votes).dependent_pairs()) == 1


def test_pairs_of_a_thousand_sparse_lfs_are_counted():
    rng = np.random.default_rng(0)
    votes = np.where(rng.random((300, 1000)) < 0.01, rng.integers(0, 2, (300, 1000)), -1)
    analysis = LFAnalysis(votes)
    assert_array_equal(analysis.agreements.diagonal(), (votes >= 0).sum(0))
    assert analysis.dependence.shape == (1000, 1000)


def test_analysis_of_patterns_counted_in_chunks_is_that_of_the_votes():
    votes, _ = odd_votes()
    whole = LFAnalysis(votes)
    counted = LFAnalysis(Patterns.from_chunks([votes[:200], votes[200:]], n_classes=3))
    for name in ("coverage", "overlaps", "conflicts", "estimated_accuracy"):
        assert_allclose(getattr(counted, name), getattr(whole, name), atol=1e-9)
    assert_array_equal(counted.pair_conflicts, whole.pair_conflicts)


def test_patterns_that_know_their_items_take_truth_like_votes():
    votes, truth = odd_votes()
    of_votes, of_patterns = LFAnalysis(votes, truth), LFAnalysis(Patterns.from_votes(hl.Votes.from_array(votes)), truth)
    assert_array_equal(of_patterns.precision, of_votes.precision)
    assert str(of_patterns.summary()) == str(of_votes.summary())


def test_counted_patterns_with_truth_are_refused():
    patterns = Patterns.from_chunks([[[0, 1], [1, 1]]])
    with pytest.raises(
        hl.ParameterError, match="votes is Patterns that were only counted and know no items; give the votes themselves"
    ):
        LFAnalysis(patterns, truth=[0, 1])


def test_patterns_with_names_and_classes_keep_them():
    votes = hl.Votes.from_array([[0, 1], [1, 1], [-1, 1]], lfs=["short", "long"], classes=["ham", "spam"])
    summary = LFAnalysis(Patterns.from_chunks([votes])).summary()
    assert summary["lf"].tolist() == ["short", "long"]
    assert summary["polarity"].tolist() == ["ham, spam", "spam"]


@pytest.mark.parametrize("name", ["hlm3", "hlm", "mv", "ds"])
def test_a_model_that_is_not_fitted_reads_the_votes_as_a_copy(name):
    votes, truth = draw(n=2000, m=8, k=2, accuracy=0.8)
    model = hl.label_model(name)
    analysis = LFAnalysis(votes, truth, model=model)
    assert_array_equal(analysis.patterns.expand(analysis.probabilities), model.fit_predict_proba(votes))
    assert_allclose(analysis.estimated_accuracy, analysis.precision, atol=0.08)
    assert analysis.leave_one_out().label_changes.max() > 0


def test_a_model_that_is_not_fitted_stays_so():
    model = hl.HyperLabelModel()
    LFAnalysis(draw()[0], model=model).summary()
    assert not model.is_fitted


def test_a_fitted_model_is_taken_as_it_is():
    votes, _ = draw(k=2)
    model = hl.HyperLabelModel().fit(votes[:200])
    analysis = LFAnalysis(votes, model=model)
    assert analysis.model is model
    assert_array_equal(analysis.patterns.expand(analysis.labels), model.predict(votes))


def test_leave_one_out_of_a_fitted_model_judges_the_rest_in_its_state():
    votes, _ = odd_votes()
    model = hl.HyperLabelModel(n_classes=3).fit(votes[:100])
    result = LFAnalysis(votes, model=model).leave_one_out()
    before, labels = model.predict_proba(votes), model.predict(votes)
    for j in (0, 3):
        rest = votes.copy()
        rest[:, j] = -1
        assert_allclose(result.label_changes[j], (model.predict(rest) != labels).mean())
        moved = np.abs(model.predict_proba(rest) - before).sum(1).mean() / 2
        assert_allclose(result.probability_changes[j], moved, atol=1e-9)


def test_leave_one_out_of_a_model_that_learns_learns_again_from_the_rest():
    votes, _ = draw(n=300, k=2)
    result = LFAnalysis(votes, model=hl.label_model("ds")).leave_one_out()
    rest = votes.copy()
    rest[:, 2] = -1
    before, after = (hl.label_model("ds", n_classes=2).fit_predict_proba(v) for v in (votes, rest))
    assert_allclose(result.probability_changes[2], np.abs(after - before).sum(1).mean() / 2, atol=1e-9)


def test_truth_of_votes_in_another_order_of_lfs_follows_a_fitted_model():
    votes, truth = draw(k=2)
    names = [f"rule {j}" for j in range(6)]
    model = hl.HyperLabelModel().fit(hl.Votes.from_array(votes, lfs=names))
    plain = LFAnalysis(votes, truth, lfs=names)
    swapped = LFAnalysis(hl.Votes.from_array(votes[:, ::-1], lfs=names[::-1]), truth, model=model)
    assert swapped.lf_names == tuple(names)
    assert_array_equal(swapped.correct, plain.correct)


def test_lfs_renames_the_lfs_and_a_wrong_number_is_refused():
    assert LFAnalysis([[0, 1]], lfs=["a", "b"]).lf_names == ("a", "b")
    with pytest.raises(hl.ParameterError, match="lfs is .*one name for each of the 2 LFs"):
        LFAnalysis([[0, 1]], lfs=["a"])


def test_summary_has_truth_columns_only_with_truth():
    votes, truth = draw()
    plain, scored = LFAnalysis(votes).summary(), LFAnalysis(votes, truth).summary()
    assert set(scored.columns) - set(plain.columns) == {"correct", "incorrect", "precision"}
    assert len(plain) == 6


def test_summary_becomes_a_pandas_and_a_polars_frame():
    summary = LFAnalysis(*draw()).summary()
    pandas, polars = summary.to_pandas(), summary.to_polars()
    assert list(pandas.columns) == polars.columns == list(summary.columns)
    assert pandas["coverage"].tolist() == polars["coverage"].to_list() == summary["coverage"].tolist()


def test_summary_as_text_shows_nothing_where_there_is_nothing():
    lines = str(LFAnalysis([[0, -1], [1, -1]]).summary()).splitlines()
    assert lines[0].split()[:3] == ["lf", "polarity", "votes"]
    assert "nan" not in lines[2]


def test_analysis_is_printed_as_its_summary():
    analysis = LFAnalysis([[0, -1], [1, -1]], lfs=["links", "short"])
    assert str(analysis) == f"2 LFs, 2 items, 2 classes\n\n{analysis.summary()}"
    assert repr(analysis) == "LFAnalysis(2 LFs, 2 items, 2 classes)"


def test_analysis_when_nobody_votes_has_no_coverage():
    analysis = LFAnalysis(-np.ones((4, 3), int))
    assert analysis.coverage.tolist() == [0, 0, 0]
    assert analysis.summary()["label_changes"].tolist() == [0, 0, 0]
    assert len(analysis.dependent_pairs()) == 0


def test_real_votes_with_nested_lfs_are_found_dependent(real_votes):
    pairs = LFAnalysis(real_votes("cdr")).dependent_pairs()
    first = next(pairs.rows())
    # Every vote of lf7 is also cast by lf1, which votes on 60 items more.
    assert (first["lf"], first["other"], first["shared"], first["conflicts"]) == ("lf1", "lf7", 250, 0)


def test_summary_in_a_notebook_is_an_escaped_table():
    summary = LFAnalysis([[0, 1], [1, 1]], lfs=["<script>", "b"]).summary()
    page = summary._repr_html_()
    assert page.startswith("<table><tr><th>lf</th><th>polarity</th>")
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert repr(summary) == str(summary)


def test_errors_are_the_items_that_an_lf_got_wrong_by_their_identifiers():
    frame = pd.DataFrame({"id": [7, 8, 9, 10], "links": ["spam", "ham", None, "spam"], "short": ["ham"] * 4})
    analysis = LFAnalysis(frame, {7: "ham", 8: "ham", 9: "spam"}, model=hl.label_model("mv"))
    texts = pd.Series(["a", "b", "c", "d"])
    found = analysis.errors("links", texts)
    assert list(found.rows()) == [{"item": 7, "vote": "spam", "truth": "ham", "label": "ham", "text": "a"}]
    assert analysis.errors("short")["item"].tolist() == [9]
    assert analysis.errors("short").to_polars().height == 1
    assert len(LFAnalysis([[0, 1]], [0]).errors("lf0")) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LFAnalysis([[0, 1]]).errors("lf0"), r"errors needs the truth of the items; give it: LFAnalysis\(v"),
        (lambda: LFAnalysis([[0, 1]], [0]).errors("x"), "lf is 'x'; expected one of the LFs 'lf0', 'lf1'"),
        (lambda: LFAnalysis([[0, 1]], [0]).errors("lf0", ["a", "b"]), "items has 2 entries, but there are 1 items"),
    ],
)
def test_errors_without_truth_or_of_other_items_is_one_clear_error(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_alone_is_the_share_of_votes_that_no_other_lf_votes_beside():
    analysis = LFAnalysis([[0, -1, -1], [0, -1, -1], [1, 1, -1], [1, -1, -1]])
    np.testing.assert_allclose(analysis.alone, [0.75, 0.0, np.nan])
    np.testing.assert_allclose(analysis.summary()["alone"], analysis.alone)


@pytest.fixture(scope="module")
def partial():
    """Votes for one class and for several of them, and the truth."""
    votes = {
        "a": ["ham", "!spam", "spam", "!ham", None, "!spam", "!spam"],
        "b": ["ham", "spam", "!eggs", "ham", "eggs", "eggs", "!spam"],
    }
    truth = ["ham", "ham", "spam", "ham", "eggs", "spam", "eggs"]
    classes = ["eggs", "ham", "spam"]
    return LFAnalysis(hl.Votes.from_frame(pd.DataFrame(votes), classes=classes), truth, model="mv")


def test_errors_are_the_votes_that_speak_for_other_classes(partial):
    found = partial.errors("a")
    assert found["item"].tolist() == [3, 5]
    assert found["vote"].tolist() == ["!ham", "!spam"]
    assert partial.incorrect.tolist() == [2, 2]


def test_votes_that_share_a_class_do_not_conflict(partial):
    assert partial.pair_conflicts.tolist() == [[0, 2], [2, 0]]  # !spam and spam, !ham and ham


def test_errors_of_scores_are_those_that_count_as_incorrect():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    votes = hl.Votes.from_scores(truth[:, None] + rng.normal(0, 0.6, (60, 3)), classes=["low", "mid", "high"])
    analysis = LFAnalysis(votes, np.array(["low", "mid", "high"])[truth], model="mv")
    assert [len(analysis.errors(lf)) for lf in analysis.lf_names] == analysis.incorrect.tolist()


def test_a_fitted_model_leaves_votes_out_as_if_one_lf_after_the_other_were_dropped():
    votes = np.random.default_rng(0).integers(-1, 3, (200, 6))
    model = hl.HyperLabelModel().fit(votes)
    found, before = hl.LFAnalysis(votes, model=model).leave_one_out(), model.label(votes)
    for j in range(6):
        rest = votes.copy()
        rest[:, j] = -1
        after = model.label(rest)
        assert found.label_changes[j] == pytest.approx((after.best != before.best).mean())
        moved = np.abs(after.probabilities - before.probabilities).sum(1).mean() / 2
        assert found.probability_changes[j] == pytest.approx(moved)


def test_a_thousand_lfs_are_read_once_not_once_each(monkeypatch):
    calls = []
    fit = hl.HyperLabelModel._fit
    monkeypatch.setattr(hl.HyperLabelModel, "_fit", lambda *args: calls.append(1) or fit(*args))
    rng = np.random.default_rng(0)
    votes = np.where(rng.random((500, 1000)) < 0.03, rng.integers(0, 2, (500, 1000)), -1)
    assert len(hl.LFAnalysis(votes).summary()) == 1000
    assert len(calls) == 1
