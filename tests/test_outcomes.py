"""Votes that are not one class: partial votes, soft votes and scores, through every door and model that takes them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.data import Outcomes
from hyperlabel.data._outcomes import read_partial_vote
from hyperlabel.data._scores import cut_scores, find_directions, find_share, ladder_of_levels, number_of_levels
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.networks._outcome_votes import isotonic_regression

TAKE_OUTCOMES = ("hlm3", "hlm2", "mv", "bv", "ds", "hds", "auto")


def draw_scores(n=600, m=6, seed=0, share=0.5):
    """Scores of judges with offsets and skills of their own, and the truth."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < share).astype(int)
    skill, offset = rng.uniform(0.3, 1.5, m), rng.normal(0, 0.8, m)
    raw = skill * (2 * truth[:, None] - 1) + offset + rng.normal(0, 1, (n, m))
    return 1 / (1 + np.exp(-raw)), truth


def coarsen(votes, share, k, seed=0):
    """A frame of class votes in which some say one class more than they know, and the class votes alone."""
    rng = np.random.default_rng(seed)
    names = np.array([f"c{c}" for c in range(k)])
    cells = np.array([[None if v < 0 else names[v] for v in row] for row in votes], object)
    picked = (rng.random(votes.shape) < share) & (votes >= 0)
    for i, j in zip(*np.nonzero(picked), strict=True):
        other = (votes[i, j] + rng.integers(1, k)) % k
        cells[i, j] = hl.any_of(*sorted([names[votes[i, j]], names[other]]))
    return pd.DataFrame(cells, columns=[f"lf{j}" for j in range(votes.shape[1])]), picked, names


@pytest.fixture(scope="module")
def mixed():
    """A frame with class votes and partial votes for three classes."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    votes = np.where(rng.random((300, 5)) < 0.75, truth[:, None], rng.integers(0, 3, (300, 5)))
    frame, _, _ = coarsen(votes, 0.3, 3)
    frame["lf4"] = np.where(rng.random(300) < 0.5, np.where(truth == 0, "c0", "!c0"), None)
    return frame, truth


# What is written and returned.


@pytest.mark.parametrize(
    ("vote", "text"),
    [
        (hl.NOT("spam"), "!spam"),
        (hl.NOT(1), "!1"),
        (hl.any_of("spam", "scam"), "spam|scam"),
        (hl.soft({"spam": 0.7}), "spam:0.7"),
    ],
)
def test_votes_of_lfs_are_texts_that_tables_hold(vote, text):
    assert vote == text


@pytest.mark.parametrize(
    ("text", "leaning"),
    [
        ("!a", [0, 0.5, 0.5]),
        ("!a|b", [0, 0, 1]),
        ("a|c", [0.5, 0, 0.5]),
        ("a:0.6", [0.6, 0.2, 0.2]),
        ("a:0.5|b:0.5", [0.5, 0.5, 0]),
        ("a", None),
        ("a|x", None),
        ("a:high", None),
        ("a:0.9|b:0.9", None),
        ("!a|b|c", None),
    ],
)
def test_texts_lean_as_they_say(text, leaning):
    got = read_partial_vote(text, ["a", "b", "c"])
    assert got is None if leaning is None else np.allclose(got, leaning)


def test_wrong_outcomes_are_refused():
    with pytest.raises(ParameterError, match="the class is 'a|b'; expected a string without"):
        hl.NOT("a|b")
    with pytest.raises(ParameterError, match="any_of and NOT need at least one class"):
        hl.any_of()
    with pytest.raises(ParameterError, match="expected probabilities of classes, together above 0, at most 1"):
        hl.soft({"a": 0.9, "b": 0.3})


def test_a_text_with_marks_stays_a_class_unless_its_parts_are_classes():
    votes = hl.Votes.from_frame(pd.DataFrame({"a": ["x|y", "z", "x|y"], "b": ["z", "x|y", "z"]}))
    assert votes.classes == ("x|y", "z")
    assert votes.outcomes is None


def test_partial_votes_are_read_from_wide_and_long_tables_and_files(mixed, tmp_path):
    frame, _ = mixed
    votes = hl.Votes.from_frame(frame)
    assert votes.classes == ("c0", "c1", "c2")
    assert "!c0" in votes.outcomes.names
    assert votes["lf4"].tolist() == frame["lf4"].tolist()
    path = tmp_path / "votes.csv"
    frame.to_csv(path, index=False)
    assert hl.read_votes(path) == votes
    long = frame.reset_index(names="item").melt("item", var_name="lf", value_name="vote")
    read = hl.Votes.from_long(long, item="item", lf="lf", vote="vote")
    want = hl.label_model("mv").predict_proba(votes)
    np.testing.assert_allclose(hl.label_model("mv").predict_proba(read)[np.argsort(read.items)], want)


# Models.


@pytest.mark.parametrize("name", TAKE_OUTCOMES)
def test_models_take_partial_votes_and_scores_together(name, mixed):
    frame, truth = mixed
    scores = truth[:, None] + np.random.default_rng(1).normal(0, 0.5, (300, 2))
    votes = hl.Votes.from_frame(frame).join(hl.Votes.from_scores(scores, classes=["c0", "c1", "c2"], lfs=["s0", "s1"]))
    model = hl.label_model(name)
    probabilities = model.fit_predict_proba(votes)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    classes = np.array(["c0", "c1", "c2"])
    assert (classes[probabilities.argmax(1)] == classes[truth]).mean() > 0.85
    alone = model.predict_proba(votes[[7]])
    np.testing.assert_allclose(alone[0], model.predict_proba(votes)[7], atol=1e-12)


@pytest.mark.parametrize("name", sorted(set(hl.label_models()) - {*TAKE_OUTCOMES, "rf", "amcl"}))
def test_other_models_say_in_one_line_that_they_cannot(name, mixed):
    with pytest.raises(ParameterError, match="which is not one class, and .* takes votes for one class only; use hlm3"):
        hl.label_model(name).fit(mixed[0])


def test_an_outcome_that_was_not_there_in_fit_is_refused(mixed):
    model = hl.HyperLabelModel().fit(hl.Votes.from_frame(mixed[0]))
    new = mixed[0][:2].copy()
    new.loc[0, "lf0"] = "c0:0.9"
    with pytest.raises(VotesError, match="has the outcome 'c0:0.9', which this .* was not fitted on; fit it again"):
        model.predict(new)


def test_votes_for_classes_alone_are_judged_by_a_model_that_knows_outcomes(mixed):
    model = hl.HyperLabelModel().fit(hl.Votes.from_frame(mixed[0]))
    row = pd.DataFrame({f"lf{j}": ["c1"] for j in range(5)})
    assert model.predict(row).tolist() == ["c1"]


def test_majority_vote_counts_a_partial_vote_in_parts():
    votes = hl.Votes.from_frame(pd.DataFrame({"a": ["x", "x|y", "z"], "b": ["y", "x", "!x"]}), classes=["x", "y", "z"])
    got = hl.label_model("mv").predict_proba(votes)
    np.testing.assert_allclose(got, [[0.5, 0.5, 0], [0.75, 0.25, 0], [0, 0.25, 0.75]])


@pytest.mark.parametrize("name", ["hlm3", "ds"])
def test_a_coarsened_vote_is_worth_more_than_none_and_less_than_the_class(name):
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 4, 1500)
    votes = np.where(rng.random((1500, 5)) < 0.55, truth[:, None], rng.integers(0, 4, (1500, 5)))
    frame, picked, names = coarsen(votes, 0.5, 4)
    model = hl.label_model(name)

    def accuracy(cells):
        return (model.fit_predict(cells) == names[truth]).mean()

    full = accuracy(pd.DataFrame(names[votes]))
    dropped = accuracy(pd.DataFrame(np.where(picked, None, names[votes])))
    assert dropped + 0.01 < accuracy(hl.Votes.from_frame(frame, classes=names)) < full


def test_a_rare_class_does_not_swallow_partial_votes():
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 1000, p=[0.6, 0.38, 0.02])
    votes = np.where(rng.random((1000, 12)) < 0.8, truth[:, None], rng.choice(3, (1000, 12), p=[0.6, 0.38, 0.02]))
    frame, picked, names = coarsen(votes, 0.5, 3)
    labels = hl.HyperLabelModel().fit_predict(hl.Votes.from_frame(frame, classes=names))
    dropped = hl.HyperLabelModel().fit_predict(pd.DataFrame(np.where(picked, None, names[votes])))
    assert (labels == names[truth]).mean() >= (dropped == names[truth]).mean()


def test_gold_teaches_and_labels_items_with_outcomes(mixed):
    frame, truth = mixed
    votes = hl.Votes.from_frame(frame)
    gold = np.where(np.arange(300) < 100, np.array(["c0", "c1", "c2"])[truth], None)
    model = hl.HyperLabelModel()
    labels = model.fit_predict(votes, gold)
    assert (labels[:100] == gold[:100]).all()
    assert (labels == np.array(["c0", "c1", "c2"])[truth]).mean() > 0.85


# Keeping.


def test_everything_is_saved_and_read_back(mixed, tmp_path):
    scores, _ = draw_scores(300, 2)
    votes = hl.Votes.from_frame(mixed[0]).join(
        hl.Votes.from_scores(scores, classes=["c0", "c1", "c2"], lfs=["s0", "s1"])
    )
    votes.save(tmp_path / "v.parquet")
    assert hl.read_votes(tmp_path / "v.parquet") == votes
    patterns = hl.Patterns.from_votes(votes)
    patterns.save(tmp_path / "p.safetensors")
    loaded = hl.Patterns.load(tmp_path / "p.safetensors")
    assert loaded.outcomes.to_header() == patterns.outcomes.to_header()
    for name in TAKE_OUTCOMES:
        model = hl.label_model(name).fit(votes, {0: "c1", 1: "c0"})
        model.save(tmp_path / "m.safetensors")
        again = hl.load(tmp_path / "m.safetensors")
        np.testing.assert_array_equal(again.predict_proba(votes), model.predict_proba(votes))
        np.testing.assert_allclose(again.pattern_probabilities(loaded), model.pattern_probabilities(patterns))


def test_patterns_of_chunks_are_those_of_the_whole(mixed):
    frame, _ = mixed
    whole = hl.Patterns.from_votes(hl.Votes.from_frame(frame))
    parts = [hl.Votes.from_frame(frame[:150], classes=["c0", "c1", "c2"]), hl.Votes.from_frame(frame[150:])]
    merged = hl.Patterns.from_chunks(parts)
    model = hl.HyperLabelModel().fit(whole)
    one, two = model.predict_proba(frame), hl.HyperLabelModel().fit(merged).predict_proba(frame)
    np.testing.assert_allclose(one, two, atol=1e-9)


def test_streamed_passes_give_the_state_of_memory(mixed):
    votes = hl.Votes.from_frame(mixed[0])
    chunked = hl.engines.fit_chunks(
        hl.HyperLabelModel(), lambda: [votes[:120], votes[120:]], classes=["c0", "c1", "c2"]
    )
    np.testing.assert_allclose(chunked.predict_proba(votes), hl.HyperLabelModel().fit_predict_proba(votes), atol=1e-9)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_engines_read_partial_votes(mixed, tmp_path, engine):
    pl.from_pandas(mixed[0]).write_parquet(tmp_path / "v.parquet")
    hl.engines.label(tmp_path / "v.parquet", out=tmp_path / "o.parquet", engine=engine, probabilities=True)
    written = pl.read_parquet(tmp_path / "o.parquet")
    if engine == "duckdb":
        written = (
            pl.from_pandas(mixed[0]).with_row_index().join(written, on=mixed[0].columns.tolist(), nulls_equal=True)
        )
        written = written.unique("index").sort("index")
    want = hl.HyperLabelModel().fit_predict_proba(hl.Votes.from_frame(mixed[0]))
    np.testing.assert_allclose(written.select("p_c0", "p_c1", "p_c2").to_numpy(), want, atol=1e-9)


def test_sql_is_refused_and_a_table_of_patterns_asks_for_them(mixed):
    from hyperlabel.export import pattern_table
    from hyperlabel.export._formula import find_formula

    model = hl.HyperLabelModel().fit(hl.Votes.from_frame(mixed[0]))
    with pytest.raises(ParameterError, match="which are not one class, and SQL has no formula for them"):
        find_formula(model)
    with pytest.raises(ParameterError, match="give the patterns that occur: a table of votes"):
        pattern_table(model)
    table = pattern_table(model, hl.Votes.from_frame(mixed[0]))
    assert "!c0" in table["lf4"]


# Looking.


def test_explain_names_outcomes_and_finds_a_flip(mixed):
    votes = hl.Votes.from_frame(mixed[0])
    item = next(i for i in range(300) if mixed[0]["lf4"][i] == "!c0")
    explained = hl.HyperLabelModel().explain(votes, item)
    assert "!c0" in {c.vote for c in explained.contributions}
    assert explained.label in ("c0", "c1", "c2")


def test_explain_switches_a_score_to_its_other_end():
    scores, _ = draw_scores(300, 1)
    votes = hl.Votes.from_scores(scores, classes=["bad", "good"])
    explained = hl.HyperLabelModel().explain(votes, int(scores[:, 0].argmax()))
    bound = votes.outcomes.cuts[explained.flip[0].lf].bounds[0]
    assert explained.flip[0].instead == f"below {bound:.4g} (level 1 of 6)"
    assert f"{explained.flip[0].vote}" in str(explained)
    assert explained.flip[0].vote.endswith("(level 6 of 6)")


def test_analysis_counts_partial_votes_as_right_under_any_of_their_classes():
    frame = pd.DataFrame({"a": ["x", "!x", "x|y", "z"], "b": ["x", "y", "z", "z"]})
    analysis = hl.LFAnalysis(hl.Votes.from_frame(frame), truth=["x", "z", "y", "x"])
    assert analysis.correct.tolist() == [3, 1]
    assert analysis.polarity[0] == ("x", "z", "!x", "x|y")
    assert analysis.conflicting.sum() == 1
    assert len(analysis.summary()) == 2


def test_advice_and_the_report_know_partial_votes(mixed, tmp_path, hyperlabel):
    frame, truth = mixed
    gold = {i: f"c{truth[i]}" for i in range(0, 300, 5)}
    assert len(hl.advise(hl.Votes.from_frame(frame), gold=gold)) > 0
    table = frame.assign(text=[f"item {i}" for i in range(300)], truth=[f"c{c}" for c in truth])
    table.to_csv(tmp_path / "v.csv", index=False)
    done = hyperlabel("report", tmp_path / "v.csv", "--truth", "truth", "-o", tmp_path / "r.html")
    assert done.code == 0, done.err
    assert "!c0" in (tmp_path / "r.html").read_text()


# Scores.


def test_scores_beat_thresholds_where_judges_have_offsets():
    gains = []
    for seed in range(4):
        scores, truth = draw_scores(1000, 8, seed)
        labels = hl.HyperLabelModel().predict(hl.Votes.from_scores(scores, classes=[0, 1]))
        votes = (scores > 0.5).mean(1) > 0.5
        gains.append((labels == truth).mean() - (votes == truth).mean())
    assert min(gains) > 0


def test_scores_of_a_frame_keep_ids_and_new_ones_are_cut_alike():
    scores, _ = draw_scores()
    frame = pd.DataFrame(scores, columns=[f"j{j}" for j in range(6)]).assign(id=[f"q{i}" for i in range(600)])
    votes = hl.Votes.from_scores(frame, classes=["bad", "good"])
    assert votes.lf_names == tuple(f"j{j}" for j in range(6))
    assert votes.items[:2].tolist() == ["q0", "q1"]
    model = hl.HyperLabelModel().fit(votes)
    want = model.predict_proba(votes)[:9]
    np.testing.assert_array_equal(model.predict_proba(frame[:9]), want)
    again = hl.Votes.from_scores(frame[:9], classes=["bad", "good"], like=votes)
    np.testing.assert_array_equal(model.predict_proba(again), want)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, lambda columns: pl.DataFrame(columns).to_arrow()])
def test_scores_may_be_missing_and_come_in_any_frame(kind):
    frame = kind({"a": [0.1, None, 0.9, 0.4] * 20, "b": [0.2, 0.3, 0.8, None] * 20})
    votes = hl.Votes.from_scores(frame, classes=["bad", "good"])
    assert (votes.cells[1::4, 0] == -1).all()
    assert (votes.cells[3::4, 1] == -1).all()


def test_a_judge_that_points_down_is_found_or_stated():
    scores, truth = draw_scores(800, 6)
    turned = scores.copy()
    turned[:, 2] = 1 - turned[:, 2]
    names = [f"j{j}" for j in range(6)]
    assert find_directions(turned, names, None).tolist() == [True, True, False, True, True, True]
    assert not find_directions(turned, names, {"j0": "down"})[0]
    votes = [hl.Votes.from_scores(each, classes=[0, 1], lfs=names) for each in (scores, turned)]
    labels = [hl.HyperLabelModel().predict(each) for each in votes]
    assert (labels[0] == labels[1]).mean() > 0.99
    assert (labels[1] == truth).mean() > 0.9


def test_few_different_scores_are_levels_themselves():
    stars = np.tile([1.0, 2, 3, 4, 5], 8)[:, None]
    votes = hl.Votes.from_scores(np.hstack([stars, stars]), classes=["low", "high"], scale=(1, 5))
    assert votes["lf0"].tolist()[:5] == [f"level {level} of 5" for level in range(1, 6)]
    assert votes.outcomes.class_weights[:, 1].round(1).tolist() == [0.1, 0.3, 0.5, 0.7, 0.9]


def draw_stars(seed: int, n: int = 500, m: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """How good judges hold items, from 0 to 1, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    return 1 / (1 + np.exp(-((2 * truth - 1)[:, None] * rng.uniform(0.5, 1.2, m) + rng.normal(0, 1, (n, m))))), truth


MODELS = ("hlm3", "mv", "ds", "auto")
SCALES = {
    "generous judges": lambda u, j: np.clip(1 + np.floor(u * 5) + j % 3, 1, 5),
    "5 stars beside 10": lambda u, j: 1 + np.floor(u * (5 if j % 2 else 10)),
    "yes or no beside 5 stars": lambda u, j: np.round(u) if j % 2 else 1 + np.floor(u * 5),
    "shares beside percent": lambda u, j: u if j % 2 else 100 * u,
    "mostly zero": lambda u, j: np.where(u < 0.7, 0, u),
    "one always the same": lambda u, j: np.full(len(u), 4.0) if j == 0 else 1 + np.floor(u * 5),
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("model", MODELS)
def test_each_judge_may_use_a_scale_in_its_own_way(scale, model):
    right = []
    for seed in range(3):
        liked, truth = draw_stars(seed)
        scores = np.stack([SCALES[scale](liked[:, j], j) for j in range(liked.shape[1])], 1)
        right.append((hl.label_model(model).fit_predict(hl.Votes.from_scores(scores, classes=[0, 1])) == truth).mean())
    assert np.mean(right) > (0.7 if scale == "mostly zero" else 0.92)


def test_three_classes_take_scales_of_their_own():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 600)
    liked = truth[:, None] / 2 + rng.normal(0, 0.3, (600, 6))
    tens, ones = np.clip(np.round(liked[:, :3] * 10), 0, 10), np.clip(np.round(liked[:, 3:] * 2), 0, 2)
    labels = hl.HyperLabelModel().predict(hl.Votes.from_scores(np.hstack([tens, ones]), classes=[0, 1, 2]))
    assert (labels == truth).mean() > 0.85


def test_a_score_with_others_on_both_sides_may_lean_to_neither_class():
    cut = cut_scores(np.repeat([[-1.0], [0], [1]], [30, 40, 30], axis=0), ["a"], 2, None, None, None)
    assert cut.class_weights[:, 1].tolist() == [pytest.approx(1 / 6), 0.5, pytest.approx(5 / 6)]
    assert cut.cuts["a"].bounds == (-0.5, 0.5)
    assert cut_scores(np.repeat([[0.0], [3]], [90, 10], axis=0), ["a"], 2, None, None, None).cuts["a"].bounds == (1.5,)


def test_where_nearly_all_scores_lie_above_the_middle_of_their_scale_nearly_all_items_are_good():
    scores = np.random.default_rng(0).uniform(0.7, 1, (300, 5))
    votes = hl.Votes.from_scores(scores, classes=[0, 1])
    shares = [hl.label_model(name).fit_predict(votes).mean() for name in MODELS]
    assert min(shares) > 0.85
    assert find_share(scores, np.full(5, np.nan)) < 0.7


def test_a_judge_who_always_says_the_same_says_nothing_without_a_scale():
    scores = np.column_stack([np.full(60, 7.0), np.tile([1.0, 2, 3, 9, 9, 9], 10)])
    votes = hl.Votes.from_scores(scores, classes=["bad", "good"])
    assert votes.outcomes.main[votes.cells[0, 0] - 2] == -1
    stated = hl.Votes.from_scores(scores, classes=["bad", "good"], scale=(0, 10))
    assert stated.outcomes.main[stated.cells[0, 0] - 2] == 1


def test_number_of_levels_and_stated_bounds():
    assert [number_of_levels(n) for n in (10, 250, 5000)] == [4, 4, 10]
    votes = hl.Votes.from_scores(np.array([[0.1], [0.5], [0.7]]), classes=[0, 1], levels=[0.5, 0.6])
    assert votes["lf0"].tolist() == ["level 1 of 3", "level 2 of 3", "level 3 of 3"]


def test_ordered_classes_share_levels_between_neighbors():
    leaning = ladder_of_levels(6, 3).class_weights
    np.testing.assert_allclose(leaning.sum(1), 1)
    assert ((leaning > 0).sum(1) <= 2).all()
    assert (np.diff(leaning @ np.arange(3)) >= 0).all()


def test_evidence_of_levels_never_falls():
    scores, _ = draw_scores(1000, 5)
    votes = hl.Votes.from_scores(scores, classes=[0, 1])
    model = hl.HyperLabelModel().fit(votes)
    table = model.state_.evidence.table.reshape(5, -1, 2)
    assert (np.diff(table[:, 2:, 1] - table[:, 2:, 0], axis=1) >= -1e-12).all()
    np.testing.assert_allclose(isotonic_regression(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0])), [2, 2, 2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": ["a"]}, "expected two classes or more, in the order of scores"),
        ({"levels": 1}, "levels is 1; expected a number from 2 to 100, or the bounds"),
        ({"levels": [0.5, 0.4]}, "expected a number of levels, or increasing bounds between them"),
        ({"direction": "left"}, "direction is 'left'; expected 'up', 'down'"),
        ({"direction": {"x": "up"}}, "direction has the unknown LF 'x'"),
        ({"scale": (0.5, 1)}, "scale is .* but scores lie from"),
        ({"like": ladder_of_levels(4, 2)}, "like lacks scores of the LF 'lf0'"),
    ],
)
def test_wrong_scores_are_refused(options, message):
    scores, _ = draw_scores(50, 2)
    with pytest.raises(ParameterError, match=message):
        hl.Votes.from_scores(scores, **{"classes": ["bad", "good"], **options})


def test_scores_that_are_no_numbers_are_refused():
    with pytest.raises(VotesError, match="column 'a' holds 'much'; expected scores, which are numbers"):
        hl.Votes.from_scores(pd.DataFrame({"a": [0.1, "much"]}), classes=[0, 1], lfs=["a"])
    with pytest.raises(VotesError, match="scores has shape"):
        hl.Votes.from_scores(np.array([[np.inf]]), classes=[0, 1])
    with pytest.raises(VotesError, match="has no column of numbers"):
        hl.Votes.from_scores(pd.DataFrame({"a": ["x", "y"]}), classes=[0, 1])


@pytest.mark.parametrize("size", [1e-200, 1e290])
def test_scores_of_any_size_are_cut_alike(size):
    scores, _ = draw_scores(200, 3)
    own, other = (hl.Votes.from_scores(each - each.max() / 2, classes=[0, 1]) for each in (scores, scores * size))
    np.testing.assert_array_equal(own.cells, other.cells)


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame])
def test_scores_with_a_missing_column_of_identifiers_are_refused(kind):
    frame = kind({"id": [1, 2], "a": [0.1, 0.2]})
    with pytest.raises(VotesError, match="^item is 'key', but votes has no such column; its columns are 'id', 'a'"):
        hl.Votes.from_scores(frame, classes=[0, 1], item="key")


def test_scores_without_an_end_are_refused():
    with pytest.raises(VotesError, match=r"column 'a' holds -inf; expected scores up to 1e\+300"):
        hl.Votes.from_scores(pd.DataFrame({"a": [1.0, -np.inf]}), classes=[0, 1])


def test_scores_that_are_all_the_same_are_in_the_middle_of_three_classes():
    assert hl.HyperLabelModel().predict(hl.Votes.from_scores(np.full((9, 3), 4.0), classes=["a", "b", "c"]))[0] == "b"


def test_scores_cut_in_two_ways_do_not_merge():
    one, two = (hl.Votes.from_scores(draw_scores(200, 2, seed)[0], classes=[0, 1], lfs=["a", "b"]) for seed in (0, 1))
    model = hl.HyperLabelModel().fit(one)
    with pytest.raises(VotesError, match="cut both the same way: Votes.from_scores"):
        model.predict(two)


def test_lf_accuracies_are_refused_beside_outcomes(mixed):
    with pytest.raises(ParameterError, match="lf_accuracies is given, but some votes are not for one class"):
        hl.HyperLabelModel(lf_accuracies={"lf0": 0.9}).fit(hl.Votes.from_frame(mixed[0]))


# LFs.


def test_lfs_return_scores_and_leaning_votes():
    @hl.labeling_function(scores=(0, 10))
    def judge(x):
        return x["stars"] if x["stars"] else None

    @hl.labeling_function
    def rule(x):
        return hl.NOT("good") if x["stars"] < 3 else hl.soft({"good": 0.8}) if x["stars"] > 7 else "bad"

    data = [{"stars": float(s)} for s in np.random.default_rng(0).uniform(0, 10, 200)]
    votes = hl.apply_lfs([judge, rule], data, classes=["bad", "good"])
    assert votes.lf_names == ("judge", "rule")
    assert {"!good", "good:0.8"} < set(votes.outcomes.names)
    model = hl.HyperLabelModel().fit(votes)
    few = hl.apply_lfs([judge, rule], data[:5], classes=["bad", "good"], like=votes)
    np.testing.assert_array_equal(model.predict_proba(few), model.predict_proba(votes)[:5])


def test_wrong_scores_of_lfs_are_errors_with_their_row():
    lf = hl.LabelingFunction("judge", lambda x: x, scores=(0, 1))
    with pytest.raises(hl.LFError, match="the vote of LF 'judge' on row 1 is 7; expected a score from 0 to 1, or None"):
        hl.apply_lfs([lf], [0.5, 7], classes=["bad", "good"])
    with pytest.raises(
        ParameterError, match="LF 'judge' returns scores, and no LF votes for a class; state the classes"
    ):
        hl.apply_lfs([lf], [0.5, 0.7])
    with pytest.raises(ParameterError, match="LF 'x': scores is .*; expected the least and the largest score"):
        hl.LabelingFunction("x", lambda x: x, scores=(1, 0))
    with pytest.raises(
        ParameterError,
        match="LF 'judge' returns scores, but data is a .* frame, whose parts run apart; collect the data",
    ):
        hl.apply_lfs([lf], pl.LazyFrame({"a": [1]}), classes=["bad", "good"])


def test_partial_votes_lean_to_classes_that_only_gold_has():
    frame = pl.DataFrame(
        {
            "a": ["x", "!x", "y", "x"],
            "b": ["x:0.7", "y", "x", "y"],
            "c": ["y", "y", "!x", "x"],
            "gold": ["z", *[None] * 3],
        }
    )
    votes = hl.Votes.from_frame(frame, lfs=["a", "b", "c"])
    with pytest.warns(hl.VotesWarning, match="gold has classes that no LF votes for: 'z'"):
        grown, _ = votes.with_labels(frame["gold"].to_list(), "gold")
    stated = hl.Votes.from_frame(frame, lfs=["a", "b", "c"], classes=["x", "y", "z"])
    np.testing.assert_array_equal(grown.outcomes.class_weights, stated.outcomes.class_weights)
    np.testing.assert_allclose(grown.outcomes.class_weights, [[0, 0.5, 0.5], [0.7, 0.15, 0.15]])
    with pytest.warns(hl.VotesWarning):
        model = hl.HyperLabelModel().fit(votes, frame["gold"].to_list())
    with pytest.warns(hl.VotesWarning):
        rows = hl.engines.label(frame.lazy(), lfs=["a", "b", "c"], gold="gold").collect()
    np.testing.assert_array_equal(model.label(votes).confidence[1:], rows["confidence"].to_numpy()[1:])


def test_outcomes_of_other_classes_keep_what_is_left():
    outcomes = Outcomes(("a|b", "c:0.8"), np.array([[0.5, 0.5, 0], [0.1, 0.1, 0.8]]), np.array([-1, -1]))
    moved = outcomes.with_classes(np.array([1, -1, 0]), 2)
    np.testing.assert_allclose(moved.class_weights, [[0, 1], [8 / 9, 1 / 9]])


@pytest.mark.parametrize("form", ["pandas", "odd names", "records"])
def test_columns_of_scores_may_be_named_by_numbers(form):
    scores = np.random.default_rng(0).random((60, 3))
    frame = {
        "pandas": pd.DataFrame(scores),
        "odd names": pd.DataFrame(scores, columns=[1e300, 2.5, "a"]),
        "records": [dict(enumerate(row)) for row in scores.tolist()],
    }[form]
    votes = hl.Votes.from_scores(frame, classes=[0, 1])
    np.testing.assert_array_equal(votes.to_numpy(), hl.Votes.from_scores(scores, classes=[0, 1]).to_numpy())
    model = hl.HyperLabelModel().fit(votes)
    np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(votes))


def test_scores_cut_like_votes_of_other_classes_are_refused():
    """Levels lean to the later class: in another order every label would be turned around."""
    scores = np.array([[0.1, 0.3], [0.9, 0.8], [0.8, 0.6]])
    votes = hl.Votes.from_scores(scores, classes=["bad", "good"])
    with pytest.raises(ParameterError, match=r"^like has the classes 'bad', 'good' but classes is \['good', 'bad'\]"):
        hl.Votes.from_scores(scores, classes=["good", "bad"], like=votes)


def test_a_number_of_classes_states_the_classes_of_partial_votes_in_every_form():
    rows = [{"a": 0}, {"a": 1}]
    lfs = [hl.LabelingFunction("p", lambda x: hl.NOT(1) if x.a else None), hl.LabelingFunction("q", lambda x: 0)]
    long = pd.DataFrame({"item": [0, 1, 1], "lf": ["q", "p", "q"], "vote": [0, "!1", 0]})
    wide = pd.DataFrame({"p": [None, "!1"], "q": [0, 0]})
    for votes in (
        hl.apply_lfs(lfs, rows, n_classes=3),
        hl.Votes.from_frame(wide, n_classes=3),
        hl.Votes.from_long(long, item="item", lf="lf", vote="vote", n_classes=3).with_lfs(["p", "q"]),
    ):
        assert votes.classes == (0, 1, 2)
        assert votes.to_numpy().tolist() == [[-1, 0], [3, 0]]


def test_a_number_of_classes_leaves_partial_votes_of_named_classes_partial():
    votes = hl.Votes.from_frame(pd.DataFrame({"p": ["!b", None], "q": ["a", "b"]}), n_classes=2)
    assert votes.classes == ("a", "b")
    assert votes.outcomes.names == ("!b",)


def draw_partial(n=60):
    """Votes for three classes, of which some rule classes out, join them, or are unsure; and the truth of the items."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, n)
    say = [lambda c: c, lambda c: f"!{c}", lambda c: "|".join(sorted({c, "b"})), lambda c: f"{c}:0.7", lambda c: None]
    right = rng.random((n, 4)) < 0.7
    said = np.where(right, truth[:, None], rng.integers(0, 3, (n, 4)))
    kind = rng.choice(5, (n, 4), p=[0.5, 0.15, 0.1, 0.05, 0.2])
    cells = [[say[how]("abc"[c]) for how, c in zip(*row, strict=True)] for row in zip(kind, said, strict=True)]
    return pd.DataFrame(cells, columns=["w", "x", "y", "z"], dtype=object), np.array(list("abc"))[truth]


@pytest.mark.parametrize("name", TAKE_OUTCOMES)
def test_gold_and_ties_of_partial_votes_are_those_of_the_row_alone(name):
    frame, truth = draw_partial()
    gold = {i: truth[i] for i in range(0, 60, 2)}
    fitted = hl.label_model(name, classes=["a", "b", "c"], tie_break="random").fit(frame, gold)
    shares, labels = fitted.predict_proba(frame), fitted.predict(frame)
    for i in range(len(frame)):  # a row alone has fewer outcomes, so others have their numbers
        np.testing.assert_allclose(fitted.predict_proba(frame.iloc[[i]])[0], shares[i], atol=1e-9)
        assert fitted.predict(frame.iloc[[i]])[0] == labels[i]


@pytest.mark.parametrize("rows", [1, 7, 25])
def test_chunks_may_have_partial_votes_that_the_first_one_lacks(rows):
    frame, _ = draw_partial()
    chunks = [frame.iloc[i : i + rows] for i in range(0, len(frame), rows)]
    model = hl.HyperLabelModel(classes=["c", "a", "b"])
    chunked, whole = hl.engines.fit_chunks(model, lambda: chunks, metric="f1"), model.fit(frame)
    np.testing.assert_allclose(chunked.predict_proba(frame), whole.predict_proba(frame), atol=1e-5)
    with pytest.raises(ParameterError, match="which is not one class"):
        hl.engines.fit_chunks(hl.label_model("hlm", classes=["c", "a", "b"]), lambda: chunks)


@pytest.mark.filterwarnings("ignore:a class that:hyperlabel.errors.VotesWarning")
@pytest.mark.parametrize("classes", [None, ["c", "a", "b"]])
@pytest.mark.parametrize("rows", [1, 7, 25])
def test_counted_chunks_of_partial_votes_are_the_patterns_of_the_whole(rows, classes):
    frame, _ = draw_partial()
    chunks = [frame.iloc[i : i + rows].dropna(how="all") for i in range(0, len(frame), rows)]
    counted = hl.Patterns.from_chunks([chunk for chunk in chunks if len(chunk)], classes=classes)
    whole = hl.Patterns.from_votes(hl.Votes.from_frame(frame.dropna(how="all"), classes=classes))
    assert (counted.classes, counted.outcomes.names) == (whole.classes, whole.outcomes.names)
    np.testing.assert_array_equal(counted.outcomes.class_weights, whole.outcomes.class_weights)
    np.testing.assert_array_equal(counted.to_array(), whole.to_array())
    np.testing.assert_array_equal(counted.counts, whole.counts)


def test_what_a_vote_rules_out_leaves_all_other_classes_wherever_classes_are_added():
    two = hl.Votes.from_frame(pd.DataFrame({"x": ["a", "!a", "b"], "y": ["!a", "b", "a"]}))
    more = pd.DataFrame({"z": ["c", "a", "c"]})
    for votes in (
        two.with_classes(["a", "b", "c"]),
        hl.Patterns.from_votes(two).with_classes(("a", "b", "c")),
        two.join(more),
        hl.Votes.from_frame(more).with_classes(["a", "b", "c"]).join(two),
        hl.Patterns.from_votes(two).merge(hl.Patterns.from_votes(two.with_classes(["a", "b", "c"]))),
    ):
        assert votes.classes == ("a", "b", "c")
        assert votes.outcomes.class_weights.tolist() == [[0, 0.5, 0.5]]
