import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.cli._app import run
from hyperlabel.errors import VotesWarning
from hyperlabel.trust import Advice, AdviceList
from hyperlabel.trust._advice import WORTH

N = 600
RNG = np.random.default_rng(0)
TRUTH = (RNG.random(N) < 0.5).astype(int)


def cast(accuracy, coverage, seed):
    """One LF's votes. -> (n,)."""
    rng = np.random.default_rng(seed)
    votes = np.where(rng.random(N) < accuracy, TRUTH, 1 - TRUTH)
    return np.where(rng.random(N) < coverage, votes, -1)


def columns(*lfs):
    return np.stack(lfs, axis=1)


GOOD = columns(cast(0.85, 1.0, 0), *(cast(0.85, 0.8, seed) for seed in range(1, 5)))


def find(kind, votes, gold=None, **options):
    """The advice of a kind, if it is given."""
    return next((advice for advice in hl.advise(votes, gold, **options) if advice.kind == kind), None)


def run_call(advice, votes):
    """What the votes are after the call."""
    names = {"votes": votes, "np": np, "hl": hl}
    exec(advice.call, names)
    return names["votes"]


def test_advice_has_number_reason_call_command_and_worth():
    for advice in hl.advise(np.c_[GOOD, GOOD[:, 0]], table="my votes.csv"):
        assert advice.number > 0
        assert advice.reason
        assert "votes" in advice.call
        assert shlex.split(advice.command)[:1] == ["hyperlabel"]
        assert "my votes.csv" in shlex.split(advice.command)
        assert str(advice.worth) in str(advice)


def test_commands_read_the_table_as_it_was_read():
    commands = [each.command for each in hl.advise(np.c_[GOOD, GOOD[:, 0]], table=["v.csv", "--lfs", "lf a,lf b"])]
    assert commands
    assert all("v.csv --lfs 'lf a,lf b' " in command for command in commands)


def test_advice_about_one_item_is_in_the_singular():
    reasons = {each.kind: each.reason for each in hl.advise([[1, -1, 1], [-1, 0, -1], [1, 0, -1], [-1, -1, -1]]).items}
    assert reasons["uncovered"].startswith("1 item (25%) got no votes: add a rule that covers it, or label it by text")
    assert not reasons["label"].endswith("...")


def test_advice_comes_most_valuable_first():
    advice = hl.advise(np.where(np.arange(N)[:, None] < 100, -1, np.c_[GOOD, GOOD[:, 0]]))
    assert (advice[0].kind, advice[0].number) == ("gold", 30)
    gains = [each.worth.gain for each in advice.items[1:]]
    assert gains == sorted(gains, reverse=True)
    assert advice[1].kind == "uncovered"
    assert "2. 100 items (17%) got no votes" in str(advice)
    assert "<table>" in advice._repr_html_()


def test_no_advice_says_so():
    assert str(AdviceList(())) == "No advice: no known problem was found."


def test_copies_are_named_and_dropped_once():
    votes = np.c_[GOOD, GOOD[:, 0], GOOD[:, 0], GOOD[:, 3]]
    advice = find("copies", votes)
    assert (advice.number, advice.examples) == (3, ("lf5", "lf6", "lf7"))
    assert "(lf5 copies lf0" in advice.reason
    np.testing.assert_array_equal(run_call(advice, votes), GOOD)
    assert "--drop lf5,lf6,lf7" in advice.command
    assert advice.like == "few"
    assert find("copies", np.c_[votes, GOOD[:, [0, 0]]]).like == "many"
    assert find("copies", GOOD) is None


def test_call_that_drops_lfs_fits_what_the_votes_are():
    frame = pd.DataFrame(np.c_[GOOD, GOOD[:, 0]], columns=list("abcdef"))
    for votes in (hl.Votes.from_frame(frame), frame, pl.from_pandas(frame)):
        left = run_call(find("copies", votes), votes)
        assert list(left.columns if hasattr(left, "columns") else left.lf_names) == list("abcde")


def test_lf_that_copies_a_few_votes_only_is_no_copy():
    rare = np.where(np.arange(N) < 3, TRUTH, -1)
    assert find("copies", np.c_[GOOD, rare, rare]) is None


def test_labels_that_hang_on_the_balance_are_counted():
    # Two LFs of one vote each for different classes: a tie that the balance decides.
    tied = np.where(np.arange(N)[:, None] < 200, [0, 1], -1)
    votes = np.c_[np.where(np.arange(N)[:, None] < 200, -1, GOOD), tied]
    advice = find("balance", votes)
    assert advice.number >= 150
    assert "class_balance={0: ..., 1: ...}" in advice.call  # the user's to fill in
    assert "--class-balance '0=?,1=?'" in advice.command
    assert len(advice.examples) == 20
    assert set(advice.examples) <= set(range(N))


@pytest.mark.parametrize(
    "model",
    [
        hl.HyperLabelModel(class_balance=[0.5, 0.5]),
        hl.HyperLabelModel(weights="hlm"),
        hl.label_model("mv"),
        hl.HyperLabelModel().fit(GOOD),
    ],
)
def test_balance_is_no_advice_where_it_is_stated_or_cannot_be(model):
    tied = np.where(np.arange(N)[:, None] < 300, [0, 1], -1)
    votes = np.c_[np.where(np.arange(N)[:, None] < 300, -1, GOOD[:, :3]), tied]
    assert find("balance", votes, model=model) is None


def test_items_to_label_are_those_of_suggest():
    advice = find("label", GOOD)
    assert list(advice.examples) == hl.HyperLabelModel(n_classes=2).fit(GOOD).suggest(GOOD, 20).tolist()
    assert advice.command == "hyperlabel suggest VOTES -n 20"
    with_gold = find("label", GOOD, {0: 1, 1: 0})
    assert not {0, 1} & set(with_gold.examples)
    assert "besides the 2 with gold" in with_gold.reason


def test_lf_that_decides_nothing_is_idle_and_its_loss_changes_no_label():
    rare = np.where((np.arange(N) < 30) & (TRUTH[:, None] == GOOD).all(1), TRUTH, -1)
    votes = np.c_[GOOD, rare]
    advice = find("idle", votes)
    assert "lf5" in advice.examples
    after = hl.HyperLabelModel(n_classes=2).predict(run_call(advice, votes))
    np.testing.assert_array_equal(after, hl.HyperLabelModel(n_classes=2).predict(votes))


def test_class_nobody_votes_for_is_named():
    advice = find("unvoted", hl.Votes.from_array(GOOD, classes=["ham", "spam", "eggs"]))
    assert advice.examples == ("eggs",)
    assert "nobody votes for eggs" in advice.reason
    with pytest.warns(hl.VotesWarning, match="no LF votes for"):
        assert "3 gold items" in find("unvoted", GOOD, {0: 2, 1: 2, 2: 2}).reason
    assert find("unvoted", GOOD) is None


def test_worth_of_votes_for_items_without_grows_with_their_number():
    few, many = (find("uncovered", np.where(np.arange(N)[:, None] < n, -1, GOOD)) for n in (60, 120))
    assert many.worth.gain == pytest.approx(2 * few.worth.gain)


def test_items_without_votes_are_counted():
    advice = find("uncovered", np.where(np.arange(N)[:, None] < 60, -1, GOOD))
    assert advice.number == 60
    assert advice.examples == tuple(range(20))
    assert find("uncovered", np.where(np.arange(N)[:, None] < 20, -1, np.abs(GOOD))) is None


def test_advice_speaks_identifiers_and_the_model():
    frame = pd.DataFrame(GOOD, columns=list("abcde")).assign(id=[f"i{i}" for i in range(N)])
    advice = find("label", frame, model=hl.label_model("ds"))
    assert all(str(item).startswith("i") for item in advice.examples)
    assert advice.call == "hl.label_model('ds').suggest(votes, 20)"
    assert advice.command.endswith("--model ds")


def test_metric_of_advice_is_checked():
    with pytest.raises(hl.ParameterError, match="metric is 'auc'"):
        hl.advise(GOOD, metric="auc")


def test_every_kind_of_advice_has_a_worth_that_is_no_loss():
    kinds = {key.partition(",")[0] for key in WORTH}
    assert kinds == {"balance", "copies", "gold", "idle", "label", "uncovered", "unvoted"}
    assert all(worth.gain >= 0 and worth.sets for worth in WORTH.values())


def test_worth_is_what_the_record_says():
    """The record is that of `python -m experiments advice`."""
    record = (Path(__file__).parents[1] / "experiments" / "results" / "advice.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in record.splitlines() if line.startswith("| ")]
    found = {row[0]: (int(row[2]), float(row[3]), int(row[7].rstrip("%"))) for row in rows[1:]}
    for kind, worth in WORTH.items():
        if kind.startswith("gold"):
            continue  # of another record
        sets, gain, hurt = found[kind]
        assert (worth.sets, round(100 * worth.hurt)) == (sets, hurt)
        assert worth.gain == pytest.approx(gain, abs=0.051)


def test_worth_of_gold_is_what_its_record_says():
    """The record is that of `python -m experiments texts`."""
    record = (Path(__file__).parents[1] / "experiments" / "results" / "texts.md").read_text(encoding="utf-8")
    lines = [line for line in record.split("\n\n")[0].splitlines() if line.startswith("| ")]
    rows = np.array([[float(cell) for cell in line.split("|")[2:-1]] for line in lines[1:-1]])  # without head and mean
    gains = rows[:, 4] - rows[:, 3]
    worth = WORTH["gold, texts"]
    assert worth.sets == len(gains)
    assert worth.gain == pytest.approx(gains.mean(), abs=0.1)
    assert worth.hurt == pytest.approx((gains < -0.1).mean(), abs=0.01)


def test_random_labels_come_first_until_there_are_thirty():
    gold = dict(enumerate(TRUTH[:12].tolist()))
    assert find("gold", GOOD, gold).number == 18
    assert find("gold", GOOD, dict(enumerate(TRUTH[:30].tolist()))) is None


def test_command_prints_the_list(hyperlabel, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"id": np.arange(N), **{f"lf{j}": v for j, v in enumerate(np.c_[GOOD, GOOD[:, 0]].T)}})
    frame.write_csv("votes.csv")
    pl.DataFrame({"id": np.arange(40), "gold": TRUTH[:40]}).write_csv("gold.csv")
    outcome = hyperlabel("advise", "votes.csv", "--gold", "gold.csv")
    assert outcome.code == 0
    assert "1 LF copies another (lf5 copies lf0): drop it" in outcome.out
    assert "command: hyperlabel label votes.csv --drop lf5" in outcome.out
    found = json.loads(hyperlabel("advise", "votes.csv", "--json").out)["advice"]
    found = [each for each in found if each["kind"] == "copies"]
    assert found[0]["worth"]["gain"] == WORTH["copies, few"].gain
    left = shlex.split(found[0]["command"])[1:]
    assert hyperlabel(*left, "-o", "out.csv").code == 0


def test_advice_is_made_of_what_it_prints():
    advice = Advice("idle", 1, "one LF is idle", "votes.drop('b')", "hyperlabel label v.csv --lfs a")
    assert str(advice).splitlines()[1:] == [
        "   Python:  votes.drop('b')",
        "   command: hyperlabel label v.csv --lfs a",
    ]


def test_names_are_shown_and_never_obeyed():
    nasty = "\x1b[2J<b>x</b>"
    votes = hl.Votes.from_array(np.c_[GOOD, GOOD[:, 0]], lfs=["a", "b", "c", "d", "e", nasty])
    advice = hl.advise(votes)
    assert "\x1b" not in str(advice)
    assert "<b>x" not in advice._repr_html_()
    spam = hl.Votes.from_array(GOOD, classes=["ham", nasty])
    gold = {int(i): "ham" for i in range(0, N, 3)}
    found = (
        hl.certify(hl.HyperLabelModel(), spam, gold, error=0.4, by_class=True),
        hl.estimate(hl.HyperLabelModel(), spam, gold),
    )
    for each in found:
        assert "\x1b" not in str(each)
        assert "<b>x" not in each._repr_html_()


def test_printed_commands_run_on_the_columns_that_were_read(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame(np.c_[GOOD, GOOD[:, 0]], schema=[f"rule {j}" for j in range(GOOD.shape[1] + 1)])
    frame.with_columns(pl.Series("length", np.arange(len(GOOD)))).write_csv("v.csv")
    run(["advise", "v.csv", "--lfs", "rule *", "--json"])
    [copies] = [each for each in json.loads(capsys.readouterr().out)["advice"] if each["kind"] == "copies"]
    assert run(shlex.split(copies["command"])[1:]) == 0
    assert "rule 4; ignored: rule 5, length;" in capsys.readouterr().err


def test_few_items_with_a_far_class_are_all_looked_at():
    cells = np.random.default_rng(0).integers(-1, 2, (50, 20))
    cells[0, 0] = 9999  # with 10,000 classes the votes are too many for one pass, yet there are only 50 items
    with pytest.warns(VotesWarning, match="9999"):
        kinds = [advice.kind for advice in hl.advise(cells)]
    assert "balance" in kinds
