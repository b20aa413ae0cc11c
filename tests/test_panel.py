"""Panels of judges: verdicts, report cards, runs and orders, prices, and which judges are enough."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.errors import ParameterError, VotesError, VotesWarning

NAMES = {"item": "item", "judge": "judge", "vote": "vote"}


def make_table(votes, judges=None):
    """A long table of an (n, m) array, -1 as a judgment that failed."""
    names = judges or [f"j{j}" for j in range(votes.shape[1])]
    return pd.DataFrame(
        [
            {"item": f"q{i}", "judge": names[j], "vote": None if v < 0 else "AB"[v]}
            for i, row in enumerate(votes.tolist())
            for j, v in enumerate(row)
        ]
    )


def draw_panel(accuracies, n=300, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    right = rng.random((n, len(accuracies))) < np.array(accuracies)
    return np.where(right, truth[:, None], 1 - truth[:, None]), truth


@pytest.fixture(scope="module")
def panel():
    votes, truth = draw_panel([0.9, 0.85, 0.8, 0.7, 0.6])
    votes = np.concatenate([votes, votes[:, :1]], 1)
    votes[:10, 5] = 1 - votes[:10, 5]
    return votes, truth


def test_jury_labels_as_the_model_does(panel):
    votes, _ = panel
    verdicts = hl.jury(make_table(votes).sample(frac=1, random_state=0), **NAMES)
    got = verdicts.to_pandas().set_index("item")["label"]
    want = hl.HyperLabelModel(n_classes=2).predict(votes)
    assert [got[f"q{i}"] for i in range(len(votes))] == ["AB"[c] for c in want]


def test_jury_frames_have_one_row_per_item_with_probabilities(panel):
    verdicts = hl.jury(make_table(panel[0]), **NAMES)
    frame = verdicts.to_pandas()
    assert frame.columns.tolist() == ["item", "label", "confidence", "contested", "dissenters", "p_A", "p_B"]
    np.testing.assert_allclose(frame[["p_A", "p_B"]].sum(axis=1), 1)
    polars = verdicts.to_polars()
    assert polars.columns == frame.columns.tolist()
    assert polars["dissenters"].to_list() == frame["dissenters"].tolist()


@pytest.mark.parametrize("form", ["polars", "arrow", "records", "csv", "parquet", "jsonl"])
def test_jury_reads_every_door(panel, form, tmp_path):
    frame = make_table(panel[0])
    polars = pl.from_pandas(frame)
    table = {"polars": polars, "arrow": polars.to_arrow(), "records": frame.to_dict("records")}.get(form)
    if table is None:
        table = tmp_path / f"t.{form}"
        write = {"csv": polars.write_csv, "parquet": polars.write_parquet, "jsonl": polars.write_ndjson}[form]
        write(table)
    want = hl.jury(frame, **NAMES).to_pandas()
    pd.testing.assert_frame_equal(hl.jury(table, **NAMES).to_pandas(), want)


def test_contested_and_dissenters_are_about_votes():
    votes = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [0, 1, -1], [1, 1, 0]] * 4)
    verdicts = hl.jury(make_table(votes), **NAMES, model="mv")
    assert verdicts.contested[:5].tolist() == [False, False, False, True, False]
    assert verdicts.dissenters[:5] == [[], ["j2"], [], ["j1"], ["j2"]]


def test_an_item_without_a_verdict_keeps_its_row_and_has_no_label():
    votes = np.array([[0, 0], [-1, -1], [1, 1]])
    frame = hl.jury(make_table(votes), **NAMES).to_pandas()
    assert len(frame) == 3
    assert frame["label"][1] is None
    assert frame["contested"][1]
    assert frame["confidence"][1] == 0.5


def test_failed_and_unparsable_judgments_abstain_and_are_counted():
    table = make_table(np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, -1, 1]]))
    table.loc[table["item"].eq("q1") & table["judge"].eq("j0"), "vote"] = "Sorry"
    with pytest.warns(VotesWarning, match=r"1 of 12 judgments are not one of the classes 'A', 'B' and count .*'Sorry'"):
        verdicts = hl.jury(table, **NAMES, classes=["A", "B"])
    assert verdicts.judges["failed"].tolist() == [0, 1, 0]
    assert verdicts.judges["unparsable"].tolist() == [1, 0, 0]
    assert verdicts.judges["votes"].tolist() == [3, 3, 4]
    assert "1 failed, 1 unparsable" in repr(verdicts)


def test_classes_that_no_judgment_names_are_an_error():
    with pytest.raises(VotesError, match="so none is left: 'A', 'B'; correct classes"):
        hl.jury(make_table(np.array([[0, 1]])), **NAMES, classes=["yes", "no"])


def test_texts_of_a_csv_match_stated_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("item,judge,vote\na,x,1\na,y,1\nb,x,0\nb,y,no idea\n")
    with pytest.warns(VotesWarning, match="no idea"):
        verdicts = hl.jury(path, **NAMES, classes=[0, 1])
    assert verdicts.labels.labels.tolist() == [1, 0]


def test_judgments_that_differ_need_a_column_that_tells_them_apart():
    table = make_table(np.array([[0, 1], [1, 1]]))
    twice = pd.concat([table, table.assign(vote="A")])
    with pytest.raises(VotesError, match="'j1' gives item 'q0' the verdicts 'A', 'B'; expected one .*: run or pos"):
        hl.jury(twice, **NAMES)
    assert len(hl.jury(pd.concat([table, table]), **NAMES)) == 2  # said twice is said once


def test_runs_and_orders_give_one_vote_consistency_and_flips():
    rows = []
    for i in range(20):
        for run in (0, 1, 2):
            for order in ("AB", "BA"):
                truth = "AB"[i % 2]
                steady = truth
                biased = "A" if order == "AB" else "B"  # always the answer shown first
                moody = truth if run < 2 else "BA"[i % 2]
                for judge, vote in (("steady", steady), ("biased", biased), ("moody", moody)):
                    rows.append({"item": i, "judge": judge, "vote": vote, "run": run, "order": order})
    verdicts = hl.jury(rows, **NAMES, run="run", position="order")
    card = {row["judge"]: row for row in verdicts.judges.rows()}
    assert [card[j]["position_flips"] for j in ("steady", "biased", "moody")] == [0, 1, 0]
    assert [card[j]["self_consistency"] for j in ("steady", "biased")] == [1, 1]
    assert card["moody"]["self_consistency"] == pytest.approx(1 / 3)
    assert card["biased"]["undecided"] == 20
    assert [card[j]["votes"] for j in ("steady", "biased", "moody")] == [20, 0, 20]
    assert verdicts.labels.labels.tolist() == ["A", "B"] * 10


def test_flips_compare_orders_within_a_run_only():
    rows = [
        {"item": 0, "judge": "j", "vote": vote, "run": run, "order": order}
        for run, order, vote in [(0, "AB", "A"), (0, "BA", "A"), (1, "AB", "B"), (1, "BA", "B")]
    ]
    card = hl.jury(rows, **NAMES, run="run", position="order").judges
    assert card["position_flips"].tolist() == [0]
    assert card["self_consistency"].tolist() == [0]


def test_card_finds_accuracy_copies_and_bias(panel):
    votes, truth = panel
    biased = np.where(np.random.default_rng(1).random(len(truth)) < 0.5, 0, truth)
    card = hl.jury(make_table(np.column_stack([votes, biased])), **NAMES).judges
    true = (np.column_stack([votes, biased]) == truth[:, None]).mean(0)
    np.testing.assert_allclose(card["estimated_accuracy"], true, atol=0.13)  # judges who err together are doubted
    assert card["copy_of"].tolist()[0] == "j5"
    assert card["copy_of"].tolist()[5] == "j0"
    assert set(card["copy_of"].tolist()[1:5]) == {""}
    assert card["bias_A"][6] == pytest.approx((biased == 0).mean() - (truth == 0).mean(), abs=0.05)
    np.testing.assert_allclose(card["bias_A"], -card["bias_B"], atol=1e-12)
    assert card["kappa"][0] > card["kappa"][4]


def test_gold_gives_intervals_and_the_label_of_its_items(panel):
    votes, truth = panel
    table = make_table(votes)
    gold = {f"q{i}": "AB"[truth[i]] for i in range(0, 300, 3)}
    verdicts = hl.jury(table, **NAMES, gold=gold)
    card = verdicts.judges
    known = np.arange(0, 300, 3)
    accuracy = (votes[known] == truth[known, None]).mean(0)
    assert card["judge"].tolist() == [f"j{j}" for j in np.argsort(-accuracy, kind="stable")]
    np.testing.assert_allclose(card["accuracy"], np.sort(accuracy)[::-1])
    assert set(card["checked"]) == {"by gold"}
    assert (card["accuracy_low"] < card["accuracy"]).all()
    assert (card["accuracy"] < card["accuracy_high"]).all()
    assert verdicts.labels.best[known].tolist() == truth[known].tolist()
    assert card["gold_loss"][0] >= -0.05
    column = table.assign(known=table["item"].map(gold))
    other = hl.jury(column, **NAMES, gold="known")
    np.testing.assert_array_equal(other.labels.probabilities, verdicts.labels.probabilities)


def test_gold_loss_is_that_of_a_model_without_gold():
    votes, truth = draw_panel([0.95, 0.6, 0.6], n=400)
    gold = {f"q{i}": "AB"[truth[i]] for i in range(0, 400, 4)}
    verdicts = hl.jury(make_table(votes), **NAMES, gold=gold)
    without = hl.HyperLabelModel(n_classes=2).fit(votes)
    known = np.arange(0, 400, 4)
    left_out = votes.copy()
    left_out[:, 0] = -1
    rights = [(without.predict(each)[known] == truth[known]).mean() for each in (votes, left_out)]
    assert verdicts.judges["gold_loss"][0] == pytest.approx(rights[0] - rights[1])
    assert verdicts.judges["gold_loss"][0] > 0.1


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("classes", [["b", "a"], ["a", "aa", "b"]])
def test_gold_is_that_class_in_a_model_of_other_classes(classes, fitted):
    rows = [("i0", "aab", "a"), ("i1", "bbb", "b"), ("i2", "bba", None), ("i3", "aaa", "b")]
    named = [(i, j, v, g) for i, said, g in rows for j, v in zip("xyz", said, strict=True)]
    table = [dict(zip(("item", "judge", "vote", "gold"), row, strict=True)) for row in named]
    model = hl.label_model("mv", classes=classes)
    if fitted:
        model = hl.jury(table, item="item", judge="judge", vote="vote", model=model).model
    verdicts = hl.jury(table, item="item", judge="judge", vote="vote", gold="gold", model=model)
    assert verdicts.labels.labels.tolist() == ["a", "b", "b", "b"]
    assert verdicts.judges["accuracy"].round(3).tolist() == [0.667, 0.667, 0.333]


def test_gold_that_differs_within_an_item_is_an_error():
    table = make_table(np.array([[0, 1], [1, 1]])).assign(known=["A", "B", "B", "B"])
    with pytest.raises(VotesError, match="column 'known' has 'A' and 'B' for item 'q0'; expected one value"):
        hl.jury(table, **NAMES, gold="known")


def test_prices_by_number_judge_and_column_agree():
    votes, _ = draw_panel([0.9, 0.8, 0.7], n=50)
    table = make_table(votes).assign(usd=0.5)
    cards = [
        hl.jury(table, **NAMES, price=price).judges for price in (0.5, dict.fromkeys(["j0", "j1", "j2"], 0.5), "usd")
    ]
    for card in cards:
        assert card["cost"].tolist() == [25, 25, 25]
        np.testing.assert_allclose(card["cost_per_useful_vote"], 25 / (50 * card["estimated_accuracy"]))


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (2.5, "column 'vote', row 1 is 2.5; expected a class. For scores, give score='vote' instead of vote"),
        (
            "I refuse",
            r"row 1 is 'I refuse' \(text\) among numbers; state the classes, so that anything else is unparsable",
        ),
    ],
)
def test_fractions_and_texts_among_numbers_are_refused_with_the_remedy(odd, message):
    rows = [{"item": i, "judge": j, "vote": 1 + i} for i in range(3) for j in "ab"]
    rows[1]["vote"] = odd
    with pytest.raises(VotesError, match=message):
        hl.jury(rows, **NAMES)


def test_near_copies_of_a_judge_do_not_cost_labels():
    gains = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        votes, truth = draw_panel(rng.uniform(0.55, 0.85, 6), seed=seed)
        copied = votes[:, [rng.integers(6)] * 2]
        panel = np.column_stack([votes, np.where(rng.random(copied.shape) < 0.95, copied, 1 - copied)])
        labels = hl.jury(make_table(panel), **NAMES).labels.best
        majority = hl.label_model("mv").fit_predict(panel)
        gains.append((labels == truth).mean() - (majority == truth).mean())
    assert np.mean(gains) > 0
    assert np.sum(np.array(gains) < -0.02) <= 2  # near-copies once cost 2 points in 17 of 20 panels


def test_wrong_prices_are_refused():
    table = make_table(np.array([[0, 1], [1, 1]]))
    with pytest.raises(ParameterError, match="price lacks the judge 'j1'; expected a price for each of 'j0', 'j1'"):
        hl.jury(table, **NAMES, price={"j0": 1})
    with pytest.raises(ParameterError, match="price is -1; expected numbers, 0 or more, per judgment"):
        hl.jury(table, **NAMES, price=-1)
    with pytest.raises(VotesError, match="row 1 is 'free'; expected a price, 0 or more"):
        hl.jury(table.assign(usd=["1", "free", "1", "1"]), **NAMES, price="usd")


def test_enough_takes_few_good_judges_and_the_curve_ends_with_all_labels():
    votes, _ = draw_panel([0.97, 0.95, 0.95, 0.55, 0.55, 0.55, 0.55], n=400)
    verdicts = hl.jury(make_table(votes), **NAMES)
    assert set(verdicts.enough(0.95)) <= {"j0", "j1", "j2"}
    curve = verdicts.curve
    assert curve["kept"][-1] == 1
    assert curve["judges"].tolist() == list(range(1, len(curve) + 1))
    assert (np.diff(curve["price"]) > 0).all()


def test_the_curve_of_a_large_panel_tries_few_judges_at_each_step(monkeypatch):
    votes, _ = draw_panel(np.linspace(0.55, 0.9, 60), n=100)
    verdicts = hl.jury(make_table(votes), **NAMES)
    passes, label = [], type(verdicts.model).label_patterns
    monkeypatch.setattr(type(verdicts.model), "label_patterns", lambda *given: passes.append(1) or label(*given))
    curve = verdicts.curve
    assert curve["kept"][-1] == 1
    assert len(set(curve["added"].tolist())) == len(curve)
    assert len(passes) <= 1 + 60 + 20 * (len(curve) - 1)


@pytest.mark.parametrize("seed", range(3))
def test_no_set_of_judges_is_cheaper_than_enough(seed):
    rng = np.random.default_rng(seed)
    accuracies, prices = rng.uniform(0.55, 0.92, 6), rng.uniform(0.2, 1, 6)
    votes, _ = draw_panel(accuracies, n=300, seed=seed)
    table, cost = make_table(votes), {f"j{j}": float(price) for j, price in enumerate(prices)}
    verdicts = hl.jury(table, **NAMES, price=cost)
    enough, whole = verdicts.enough(0.95), verdicts.labels.labels

    def kept(judges):
        few = hl.jury(table[table["judge"].isin(judges)], **NAMES, model=verdicts.model)
        return (few.labels.labels == whole).mean()

    assert kept(enough) >= 0.95
    spent = sum(cost[judge] for judge in enough)
    for size in range(1, 6):
        for judges in itertools.combinations(cost, size):
            if sum(cost[judge] for judge in judges) < spent - 1e-9:
                assert kept(judges) < 0.95


def test_enough_prefers_the_cheaper_of_two_copies():
    votes, _ = draw_panel([0.9, 0.8, 0.8], n=300)
    votes = np.column_stack([votes[:, 0], votes])
    verdicts = hl.jury(make_table(votes), **NAMES, price={"j0": 5, "j1": 1, "j2": 1, "j3": 1})
    assert verdicts.curve["added"][0] == "j1"
    with pytest.raises(ParameterError, match=r"keep is 2; expected a share above 0, at most 1"):
        verdicts.enough(2)


def test_saved_model_labels_what_fewer_judges_say(panel, tmp_path):
    verdicts = hl.jury(make_table(panel[0]), **NAMES)
    verdicts.model.save(tmp_path / "m.safetensors")
    few = panel[0].copy()
    few[:, 3:] = -1
    again = hl.jury(make_table(few), **NAMES, classes=["A", "B"], model=hl.load(tmp_path / "m.safetensors"))
    assert (again.labels.best == verdicts.labels.best).mean() > 0.9


def test_other_mistakes_are_one_clear_error():
    table = make_table(np.array([[0, 1], [1, 1]]))
    with pytest.raises(VotesError, match="verdict"):
        hl.jury(table, item="item", judge="judge", vote="verdict")
    with pytest.raises(VotesError, match="column 'judge', row 1 is empty; expected an identifier in every row"):
        hl.jury(table.assign(judge=["a", None, "a", "b"]), **NAMES)
    with pytest.raises(VotesError, match="the table has no rows; expected at least one judgment"):
        hl.jury(table[:0], **NAMES)
    with pytest.raises(VotesError, match="has '1' as a string and as a number; expected one kind of name"):
        hl.jury(table.assign(judge=[1, "1", 1, "1"]), **NAMES)
    with pytest.raises(ParameterError, match="model is 3; expected a label model or its short name, such as 'hlm3'"):
        hl.jury(table, **NAMES, model=3)


# Scores.


def score_table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    rows = [
        {
            "item": i,
            "judge": f"j{j}",
            "score": float(5 + 1.5 * (2 * truth[i] - 1) + j / 2 + rng.normal(0, 1)),
            "run": run,
        }
        for i in range(n)
        for j in range(5)
        for run in (0, 1)
    ]
    return pd.DataFrame(rows), truth


def test_scores_are_averaged_over_runs_and_beat_a_threshold():
    table, truth = score_table()
    verdicts = hl.jury(table, item="item", judge="judge", score="score", run="run", classes=["bad", "good"])
    labels = (verdicts.labels.labels == "good").astype(int)
    voted = table.assign(vote=table["score"] > 5).groupby("item")["vote"].mean() > 0.5
    assert (labels == truth).mean() > (voted.to_numpy() == truth).mean()
    card = verdicts.judges
    assert len(card) == 5
    assert (card["self_consistency"] > 0.6).all()
    assert (card["kappa"] > 0.3).all()
    assert verdicts.to_pandas()["contested"].mean() < 0.3


def test_scores_that_are_no_numbers_abstain_and_are_counted():
    table, _ = score_table(50)
    table["score"] = table["score"].astype(object)
    table.loc[[0, 11], "score"] = [None, "very good"]
    with pytest.warns(VotesWarning, match="1 of 500 judgments are not numbers and abstain: 'very good'"):
        card = hl.jury(table, item="item", judge="judge", score="score", run="run", classes=["bad", "good"]).judges
    assert (card["failed"].sum(), card["unparsable"].sum()) == (1, 1)


def test_wrong_uses_of_scores_are_refused():
    table, _ = score_table(20)
    with pytest.raises(ParameterError, match="score is given without classes; expected the classes, from low"):
        hl.jury(table, item="item", judge="judge", score="score", run="run")
    with pytest.raises(ParameterError, match="vote is None and score is None; expected one of them to name a column"):
        hl.jury(table, item="item", judge="judge")
    with pytest.raises(VotesError, match="judge 'j0' gives item 0 several scores; .*: run or position"):
        hl.jury(table, item="item", judge="judge", score="score", classes=["bad", "good"])
    with pytest.raises(VotesError, match="column 'score' has no numbers; expected scores"):
        hl.jury(table.assign(score="x"), item="item", judge="judge", score="score", run="run", classes=["a", "b"])


def test_a_fitted_panel_of_scores_judges_new_scores_in_its_state():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    table = pd.DataFrame(
        [
            {"item": i, "judge": judge, "score": offset + 10 * truth[i] + rng.normal(0, 6)}
            for i in range(300)
            for judge, offset in (("a", 0), ("b", 50), ("c", -20))
        ]
    )
    names = {"item": "item", "judge": "judge", "score": "score"}
    past, new = table[:600], table[600:]
    panel = hl.jury(past, **names, classes=["bad", "good"])
    tomorrow = hl.jury(new, **names, model=panel.model)
    np.testing.assert_array_equal(tomorrow.votes.outcomes.cuts["b"].bounds, panel.votes.outcomes.cuts["b"].bounds)
    assert (tomorrow.labels.labels == np.array(["bad", "good"])[truth[200:]]).mean() > 0.85
    one = hl.jury(new[new["item"] == 299], **names, model=panel.model)
    assert one.labels.probabilities[0].tolist() == tomorrow.labels.probabilities[-1].tolist()


@pytest.mark.parametrize("kind", ["vote", "score"])
def test_a_fitted_model_refuses_a_judge_it_has_not_seen_and_lets_its_others_abstain(kind):
    table = pd.DataFrame(
        [
            {"item": i, "who": judge, "vote": "AB"[i % 2], "score": float(i % 2)}
            for i in range(8)
            for judge in ("gpt", "claude", "llama")
        ]
    )
    names = {"item": "item", "judge": "who", kind: kind}
    model = hl.jury(table, **names, classes=["A", "B"]).model
    known = "but model was fitted on the judges 'gpt', 'claude', 'llama'"
    with pytest.raises(VotesError, match=f"column 'who' has the judge 'new', {known}; leave out the rows of 'new'"):
        hl.jury(table.replace({"who": {"llama": "new"}}), **names, model=model)
    few = table[table["who"] != "llama"]
    verdicts = hl.jury(few, **names, model=model, price={"gpt": 2, "claude": 1})
    assert verdicts.votes.lf_names == ("gpt", "claude", "llama")
    assert (verdicts.costs.tolist(), len(verdicts.judges["judge"])) == ([16, 8, 0], 3)
    silent = hl.jury([*few.to_dict("records"), {"item": 0, "who": "llama", kind: None}], **names, model=model)
    np.testing.assert_array_equal(verdicts.labels.probabilities, silent.labels.probabilities)
    one = hl.jury(few[few["item"] == 5], **names, model=model)
    assert one.labels.probabilities[0].tolist() == verdicts.labels.probabilities[5].tolist()
    with pytest.raises(ParameterError, match="price lacks the judge 'claude'; expected a price for each of 'gpt', 'cl"):
        hl.jury(few, **names, model=model, price={"gpt": 2})


def test_the_card_of_a_fitted_model_names_the_right_judges_in_any_order(panel):
    votes = panel[0].copy()
    votes[::2, 4] = -1
    table = make_table(votes).dropna()
    first = hl.jury(table, **NAMES, price=dict.fromkeys(table["judge"].unique(), 2))
    again = hl.jury(
        table.sort_values("judge", ascending=False, kind="stable"),
        **NAMES,
        price=dict.fromkeys(table["judge"].unique(), 2),
        model=first.model,
    )
    for name, column in first.judges.columns.items():
        np.testing.assert_array_equal(again.judges[name], column, name)
    assert again.curve["added"].tolist() == first.curve["added"].tolist()
    assert again.enough(0.9) == first.enough(0.9)
