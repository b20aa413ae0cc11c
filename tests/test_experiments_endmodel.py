"""The experiment on end models: what label models and end models see, what is recorded, what is shown."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from experiments import endmodel
from experiments.datasets import load_datasets
from experiments.paper import END_MODELS
from experiments.store import Options, read_records
from hyperlabel.errors import ParameterError

torch = pytest.importorskip("torch", reason="torch is not installed (extra `text`)")
pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `text`)")
pytestmark = pytest.mark.torch
torch.set_num_threads(1)  # small matrices: more threads only wait for each other

from test_classify_text import tiny_bert  # noqa: F401 (a fixture)

N = 80
WORDS = (("see", "you", "at", "home", "lunch"), ("win", "free", "money", "now", "click"))


def make_votes(truth, rng):
    """Four LFs that are right eight times in ten and vote half of the time; nobody votes on every tenth item."""
    right = rng.random((len(truth), 4)) < 0.8
    votes = np.where(right, truth[:, None], 1 - truth[:, None])
    votes[rng.random(votes.shape) < 0.5] = -1
    votes[::10] = -1
    return votes


@pytest.fixture
def folder(tmp_path):
    """Three sets: texts, features, and votes alone."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, N)
    split = np.repeat([0, 1, 2], [50, 10, 20])
    arrays = {"L": make_votes(truth, rng), "y": truth}
    np.savez(tmp_path / "youtube.npz", **arrays, split=split)
    np.savez(tmp_path / "numbers.npz", **arrays, split=split, X=rng.normal(4 * truth[:, None], 1, (N, 3)))
    np.savez(tmp_path / "unsplit.npz", **arrays)
    np.savez(tmp_path / "bare.npz", **arrays, split=split)
    (tmp_path / "raw").mkdir()
    texts = [" ".join(rng.choice(WORDS[label], 4)) for label in truth]
    (tmp_path / "raw" / "youtube.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return tmp_path


@pytest.fixture
def wrench(tmp_path):
    """A WRENCH folder with features."""
    rng = np.random.default_rng(1)
    (tmp_path / "census").mkdir()
    for split, n in (("train", 40), ("test", 12)):
        truth = rng.integers(0, 2, n)
        items = zip(truth.tolist(), make_votes(truth, rng).tolist(), rng.normal(truth).tolist(), strict=True)
        entries = {
            str(i): {"label": y, "weak_labels": v, "data": {"feature": [x]}} for i, (y, v, x) in enumerate(items)
        }
        (tmp_path / "census" / f"{split}.json").write_text(json.dumps(entries))
    return tmp_path


def run(folder, **kwargs):
    options = {"seeds": 1, "models": ("mv", "truth"), **kwargs.pop("options", {})}
    endmodel.run(Options(data=folder, out=folder / "out", **options), **{"search": "small", **kwargs})
    return read_records(folder / "out" / "endmodel.jsonl")


def task_of(folder, name, test_votes=True):
    [data] = load_datasets(folder, [name])
    return data, endmodel.make_task(data, folder, test_votes)


def test_run_on_texts_and_features_records_scores_and_notes_what_it_skips(folder):
    records = run(folder)
    scored = {(r["dataset"], r["model"]): r for r in records if "score" in r}
    assert set(scored) == {(name, model) for name in ("numbers", "youtube") for model in ("mv", "truth")}
    assert all(r["score"] > 80 and r["n_test"] == 20 for r in scored.values())
    assert scored["youtube", "truth"]["label_score"] == 100
    assert scored["youtube", "mv"]["label_score"] < 100
    assert (scored["youtube", "mv"]["inputs"], scored["numbers", "mv"]["inputs"]) == ("texts", "features")
    assert {r["dataset"]: r["note"] for r in records if "note" in r} == {
        "bare": "no texts or features at hand",
        "unsplit": "no texts or features at hand",
    }


def test_run_again_keeps_what_is_finished(folder):
    first = run(folder, options={"sets": ("youtube", "bare")})
    assert run(folder, options={"sets": ("youtube", "bare")}) == first
    more = run(folder, options={"sets": ("youtube", "bare"), "seeds": 2})
    assert more[: len(first)] == first
    assert len(more) == len(first) + 2


def test_run_with_an_mlp_on_texts_and_without_test_votes_is_a_setting_of_its_own(folder):
    run(folder, options={"sets": ("youtube",)})
    records = run(folder, options={"sets": ("youtube",)}, text_model="mlp", test_votes=False)
    titles = [results.title for results in endmodel.settings(records)]
    assert titles == [
        "TF-IDF with a linear model, search `small`, label models see all votes",
        "TF-IDF (SVD) with an MLP, search `small`, label models see the votes outside the test split",
    ]


def test_run_with_a_transformer_loads_it_from_its_folder(folder, tiny_bert):  # noqa: F811
    records = run(folder, options={"sets": ("youtube",), "models": ("mv",)}, text_model=str(tiny_bert))
    assert [set(record["params"]) for record in records] == [{"batch_size", "lr"}]
    text = endmodel.tables(records)
    assert f"### End models: transformer {tiny_bert}, search `small`" in text
    assert "those of the named transformer" in text


def test_run_on_a_wrench_folder_takes_its_features(wrench):
    records = run(wrench)
    assert [(r["dataset"], r["inputs"], r["n_test"], r["metric"]) for r in records] == [
        ("census", "features", 12, "f1")
    ] * 2


def test_run_with_an_unusable_option_stops_at_once(folder):
    pytest.importorskip("transformers", reason="transformers is not installed (extra `text`)")
    with pytest.raises(ParameterError, match="search is 'huge'; expected one of paper, small"):
        run(folder, search="huge")
    with pytest.raises(ParameterError, match="which transformers cannot load"):
        run(folder, text_model=str(folder / "raw"))
    assert not (folder / "out").exists()


def test_task_scores_every_test_item_and_learns_from_the_voted_ones_outside(folder):
    data, task = task_of(folder, "youtube")
    truth = np.load(folder / "youtube.npz")["y"]
    assert_array_equal(task.test_truth, truth[60:])
    assert len(task.test_inputs) == 20
    assert len(task.inputs) == len(task.train) == (data.rows < 60).sum()
    assert_array_equal(data.votes, task.data.votes)
    assert set(task.data.truth[data.rows >= 60]) == {-1}  # nothing may be chosen by the truth of the test split


def test_task_without_test_votes_hides_them_from_label_models(folder):
    data, task = task_of(folder, "youtube", test_votes=False)
    assert_array_equal(task.data.votes, data.votes[data.rows < 60])
    assert_array_equal(task.train, np.arange((data.rows < 60).sum()))


def test_task_of_a_set_without_test_items_is_refused(folder):
    arrays = dict(np.load(folder / "numbers.npz"))
    np.savez(folder / "numbers.npz", **{**arrays, "split": np.zeros(N, np.int64)})
    with pytest.raises(ParameterError, match="no items with truth in the test split"):
        task_of(folder, "numbers")


def test_truth_of_training_items_that_is_unknown_is_left_out_or_noted(folder):
    _, task = task_of(folder, "numbers")
    half = task.data.truth.copy()
    half[task.train[::2]] = -1
    known, probabilities = endmodel._generate(replace(task, data=replace(task.data, truth=half)), "truth", 0)
    assert_array_equal(known, np.arange(len(task.train))[1::2])
    assert_array_equal(probabilities.argmax(1), half[task.train[known]])
    hidden = replace(task, data=replace(task.data, truth=np.full_like(half, -1)))
    with pytest.raises(ParameterError, match="no training item has a known class"):
        endmodel._generate(hidden, "truth", 0)


def test_hard_labels_are_the_most_probable_classes(folder):
    _, task = task_of(folder, "numbers")
    soft, hard = (endmodel._generate(task, name, 0)[1] for name in ("hlm3", "hlm3:hard"))
    assert_array_equal(hard.argmax(1), soft.argmax(1))
    assert set(np.unique(hard)) == {0.0, 1.0}
    assert soft.max() < 1


def test_tables_show_spread_best_paper_and_skipped_sets():
    setting = {"text_model": "linear", "search": "small", "test_votes": True}
    about = {"metric": "accuracy", "inputs": "texts", "n_train": 1000, "n_test": 250, **setting}
    scores = {"hlm": (90.0, 92.0), "mv": (80.0, 82.0), "bv": (85.0, 85.0), "truth": (95.0, 95.0)}
    records = [
        {"dataset": "youtube", "model": model, "seed": seed, "score": score, "label_score": score - 1, **about}
        for model, pair in scores.items()
        for seed, score in enumerate(pair)
    ]
    text = endmodel.tables([{"dataset": "imdb", "note": "no texts or features at hand", **setting}, *records])
    assert f"| hlm | **91.0 ± 1.4**<br>({END_MODELS['hlm']['youtube']}) | **91.0 ± 1.4** |" in text
    assert "| bv | 85.0 | 85.0 |" in text
    assert "| *true labels* | 95.0 | 95.0 |" in text
    assert "| mv | 80.0 |\n" in text  # the labels it learned from
    assert "Repeats: 2 (5 in the paper)" in text
    assert "youtube 1,000 and 250" in text
    assert "encoded by TF-IDF" in text
    assert "Not run (no texts or features at hand): imdb." in text


def test_tables_and_figures_of_one_run_are_made_from_its_records_alone(folder):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra `plots`)")
    records = run(folder, options={"sets": ("youtube", "numbers")})
    assert "TF-IDF with a linear model and MLP on features" in endmodel.tables(records)
    [path] = endmodel.draw(records, folder / "figures")
    assert path.name == "endmodel.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert endmodel.tables([]) == ""
    assert endmodel.draw([], folder / "figures") == []


def test_entities_are_marked_in_either_order():
    record = {"text": "smoke caused by fire", "span1": [16, 20], "span2": [0, 5]}
    assert endmodel.mark_entities(record) == "e2start smoke e2end caused by e1start fire e1end"
    assert endmodel.mark_entities({"text": "plain"}) == "plain"
