import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from hyperlabel.cli._app import app
from hyperlabel.cli._compare import Comparison, Result, evaluate, result_table
from hyperlabel.data import Votes
from hyperlabel.models import label_model, label_model_class, label_models


@pytest.fixture
def votes_file(tmp_path):
    """Sixty items: three LFs that are mostly right; the last item has no votes."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 60)
    columns = {"id": np.arange(60)}
    for j in range(3):
        votes = np.where(rng.random(60) < 0.8, truth, 1 - truth).tolist()
        columns[f"lf{j}"] = [*votes[:-1], None]
    path = tmp_path / "votes.csv"
    pl.DataFrame({**columns, "truth": truth, "known": [*truth[:20].tolist(), *[None] * 40]}).write_csv(path)
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def test_compare_without_gold_shows_every_model_that_needs_none(votes_file):
    done = run(votes_file, "--truth", "truth", "--lfs", "lf*")
    assert done.exit_code == 0, done.output
    shown = {line.split("│")[1].strip() for line in done.stdout.splitlines() if line.startswith("│")}
    assert shown == {name for name in label_models() if not label_model_class(name).needs_gold}
    said = "scored: 60 of 60 items, those with known truth; 1 of them have no votes, so no label, which counts as wrong"
    assert said in done.output


def test_compare_with_gold_adds_the_models_that_need_it_and_does_not_score_gold(votes_file):
    done = run(votes_file, "--truth", "truth", "--gold", "known", "--models", "mv,amcl", "--lfs", "lf*")
    assert done.exit_code == 0, done.output
    assert "amcl" in done.stdout
    assert "scored: 40 of 60 items, those with known truth and no gold; 1 of them have no votes" in done.output


def test_compare_score_is_the_accuracy_and_an_item_without_votes_is_wrong():
    votes = Votes.from_array([[0, 0, 1], [1, 1, 1], [0, 1, 1], [0, 0, 0], [-1, -1, -1]])
    result = evaluate("mv", label_model("mv"), Comparison(votes, np.array([0, 1, 0, -1, 1]), None), "accuracy")
    assert result.score == pytest.approx(2 / 4)
    assert result.brier == pytest.approx(np.mean([2 * (1 / 3) ** 2, 0, 2 * (2 / 3) ** 2, 0.5]))


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
@pytest.mark.parametrize("k", [2, 4])
def test_compare_score_is_that_of_the_model(metric, k):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, k, 200)
    votes = np.where(rng.random((200, 4)) < 0.5, truth[:, None], rng.integers(-1, k, (200, 4)))
    votes[:10], truth[10:20] = -1, -1
    result = evaluate(
        "hlm3", label_model("hlm3"), Comparison(Votes.from_array(votes, n_classes=k), truth, None), metric
    )
    assert result.score == pytest.approx(label_model("hlm3", n_classes=k).score(votes, truth, metric))


def test_compare_with_gold_learns_from_it():
    votes = Votes.from_array([[0, 1]] * 8 + [[1, 1], [0, 0]])
    truth, gold = np.array([-1] * 6 + [1, 1, 1, 0]), np.array([1] * 6 + [-1] * 4)
    assert evaluate("mv", label_model("mv"), Comparison(votes, truth, gold), "accuracy").score == 1
    assert evaluate("mv", label_model("mv"), Comparison(votes, truth, None), "accuracy").score == 0.5


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
@pytest.mark.parametrize("classes", ["abc", "ca"])
def test_compare_scores_a_fitted_model_of_other_classes_by_their_names(metric, classes):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    cells = np.where(rng.random((200, 5)) < 0.8, truth[:, None], 1 - truth[:, None])
    votes = Votes.from_array(cells, classes=["a", "c"])
    fitted = label_model("mv", classes=list(classes)).fit(votes)
    result = evaluate("saved", fitted, Comparison(votes, truth, None), metric)
    right = fitted.predict(votes, metric=metric) == np.array(["a", "c"])[truth]
    called = fitted.predict(votes, metric=metric) == "c"
    f1 = 2 * (right & called).sum() / (called.sum() + truth.sum())
    assert result.score == pytest.approx(right.mean() if metric == "accuracy" else f1)
    assert result.brier == pytest.approx(2 * np.mean((cells != truth[:, None]).mean(1) ** 2))


def test_compare_scores_a_truth_that_a_fitted_model_does_not_know_as_wrong():
    fitted = label_model("mv").fit(Votes.from_array([[0, 1]], classes=["a", "b"]))
    votes = Votes.from_array([[0, 0], [1, 1]], classes=["a", "b", "c"])
    result = evaluate("saved", fitted, Comparison(votes, np.array([0, 2]), None), "accuracy")
    assert (result.score, result.brier) == (0.5, 1.0)


def test_compare_of_a_model_that_the_votes_do_not_suit_says_why():
    votes = Votes.from_array([[0, 1], [1, 1], [0, 0]])
    result = evaluate("fs", label_model("fs"), Comparison(votes, np.array([0, 1, 0]), None), "accuracy")
    assert np.isnan(result.score)
    assert "needs at least 3 LFs that vote" in result.note


def test_result_table_is_sorted_by_score_with_failures_last():
    results = [Result("a", 0.5, 0.1, 0.1), Result("b", note="no"), Result("c", 0.9, 0.1, 0.1)]
    assert list(result_table(results, "accuracy", 2).columns[0].cells) == ["c", "a", "b"]


@pytest.mark.parametrize(("metric", "k", "head"), [("accuracy", 3, "accuracy"), ("f1", 2, "f1"), ("f1", 3, "macro f1")])
def test_result_table_names_the_score_by_what_it_is(metric, k, head):
    assert result_table([Result("a", 0.5, 0.1, 0.1)], metric, k).columns[1].header == head


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--metric", "recall"], "--metric is 'recall'; expected 'accuracy' or 'f1'"),
        (["--models", "mv,nope"], "--model is 'nope'; expected one of hlm3"),
        (["--lfs", "lf9"], "lf9"),
    ],
)
def test_compare_with_a_wrong_option_says_so(votes_file, options, message):
    done = run(votes_file, "--truth", "truth", *options)
    assert done.exit_code != 0
    assert message in str(done.exception)
