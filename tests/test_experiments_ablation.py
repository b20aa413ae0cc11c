from dataclasses import replace

import numpy as np
import pytest

from experiments import ablation
from experiments.datasets import load_datasets
from experiments.protocol import make_model, score
from experiments.store import Options, read_records
from hyperlabel import ParameterError
from hyperlabel.networks import load_weights

torch = pytest.importorskip("torch")


@pytest.fixture
def folder(tmp_path):
    """One binary set and one of three classes."""
    rng = np.random.default_rng(0)
    for name, k in (("two", 2), ("three", 3)):
        truth = rng.integers(0, k, 50)
        votes = np.where(rng.random((50, 5)) < 0.8, truth[:, None], rng.integers(0, k, (50, 5)))
        votes[rng.random((50, 5)) < 0.3] = -1
        np.savez(tmp_path / f"{name}.npz", L=votes, y=truth)
    return tmp_path


def make_record(model, score, *, seed=0, validation=0.7, dataset="two", iterations=400, **more):
    about = {
        "family": "other",
        "beside": {"mv": 50.0},
        "last_validation": validation,
        "training_seconds": 100.0,
        "widths": [8, 8, 8, 32],
    }
    cell = {"model": model, "seed": seed, "dataset": dataset, "iterations": iterations, "batch": 32}
    return {**cell, "score": score, "validation": validation, **about, **more}


@pytest.mark.slow
def test_ablation_end_to_end_trains_scores_and_shows(folder):
    ablation.run(Options(folder, folder / "out", seeds=2, models=("deepset",)), iterations=2, batch=2)
    records = read_records(folder / "out" / "ablation.jsonl")
    assert [(r["model"], r["dataset"]) for r in records] == 2 * [("deepset", "three"), ("deepset", "two")]
    assert all(0 <= r["score"] <= 100 and 0 < r["validation"] < 1 for r in records)
    assert (folder / "out" / "ablation" / "deepset" / "run-01" / "weights.safetensors").exists()
    text = ablation.tables(records)
    assert "**Budget of every run: 2 steps of 2 matrices**" in text
    assert "| `deepset`: architecture: a DeepSet" in text
    [picture] = ablation.draw(records, folder / "docs")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_ablation_of_the_flat_network_scores_its_checkpoint(folder):
    from hyperlabel.training import Run, run_folder

    recipe = replace(ablation.make_recipe("mlp", iterations=1, batch=1), validation_sets=2)
    Run(recipe, 0, run_folder(folder, 0), torch.device("cpu"), resume=False).train()
    sets = {data.name: data for data in load_datasets(folder)}
    scorer = ablation._scorer(recipe, folder, sets)
    found = {name: scorer({"dataset": name, "seed": 0})["score"] for name in sets}
    expected = {name: score(data, ablation.predict_flat(load_flat(folder), data)) for name, data in sets.items()}
    assert found == expected


def load_flat(folder):
    from hyperlabel.training import load_net
    from hyperlabel.training._net import FlatNet

    net = FlatNet(width=32)
    load_net(folder / "run-00" / "checkpoint.safetensors", net)
    return net


def test_ablation_with_all_scores_recorded_trains_nothing(folder, monkeypatch):
    def train(recipe, out, runs, progress):
        trained.append(recipe.prior)

    trained = []
    monkeypatch.setattr(ablation, "train_variant", train)
    monkeypatch.setattr(ablation, "_scorer", lambda *_: lambda cell: {"score": 50.0})
    options = Options(folder, folder / "out", seeds=2, models=("independent",))
    ablation.run(options)
    ablation.run(options)
    ablation.run(options, iterations=10)
    assert trained == ["independent", "independent"]


def test_ablation_with_an_unknown_variant_is_refused(folder):
    with pytest.raises(ParameterError, match="no variant 'gnn'; expected some of hlm, independent"):
        ablation.run(Options(folder, folder / "out", models=("gnn",)))


def test_recipes_differ_from_the_paper_only_in_what_they_replace():
    recipes = {name: ablation.make_recipe(name, iterations=400, batch=32) for name in ablation.VARIANTS}
    changed = {name: {field for field, *_ in recipes["hlm"].compare(recipe)} for name, recipe in recipes.items()}
    assert changed == {
        "hlm": set(),
        "independent": {"prior"},
        "wrench": {"prior"},
        "mlp": {"architecture"},
        "deepset": {"architecture"},
        "every": {"assumption"},
    }


class Echo(torch.nn.Module):
    """In place of the MLP: an item's logit is the sum of its votes; takes at most 20 items by 2 LFs."""

    items, lfs = 20, 2

    def forward(self, signs):
        assert signs.shape[0] <= self.items
        assert signs.shape[1] <= self.lfs
        return signs.sum(1)


@pytest.mark.parametrize("name", ["two", "three"])
def test_flat_network_labels_all_items_by_the_lfs_that_vote_most(folder, name):
    [data] = load_datasets(folder, [name])
    often = np.sort(np.argsort(-(data.votes >= 0).sum(0), kind="stable")[:2])
    votes = data.votes[:, often]
    counts = np.stack([(votes == c).sum(1) for c in range(data.k)], 1)
    expected = (counts[:, 1] > counts[:, 0]) if data.k == 2 else (2 * counts - (votes >= 0).sum(1)[:, None]).argmax(1)
    assert (ablation.predict_flat(Echo(), data) == expected).all()


def test_tables_show_the_run_with_the_best_validation():
    records = [
        make_record("hlm", 60.0, seed=0, validation=0.6),
        make_record("hlm", 70.0, seed=1, validation=0.8),
        make_record("deepset", 50.0, validation=0.5),
    ]
    text = ablation.tables(records)
    assert "| `hlm`: nothing is replaced | 69.0 | 70.00 | 65.0 ± 7.1 |" in text
    assert "(1 of 1 runs learned nothing)" in text
    assert "| two | **70.0** | 50.0 |" in text
    assert "score is that of majority vote on most sets: `deepset` on 1 of 1." in text


def test_tables_keep_budgets_apart():
    text = ablation.tables([make_record("hlm", 60.0), make_record("hlm", 70.0, iterations=800)])
    assert "400 steps of 32" in text
    assert "800 steps of 32" in text
    assert "65.0" not in text


def test_decaying_recipe_is_that_of_the_bundled_weights():
    bundled = load_weights("hlm").header["recipe"]
    made = ablation.make_recipe("hlm", iterations=1, batch=1, decaying=True)
    assert {**bundled, "widths": tuple(bundled["widths"])} == {name: getattr(made, name) for name in bundled}


def test_decaying_runs_without_a_replacement_are_those_of_the_bundled_weights(folder, monkeypatch):
    def train(*_):
        raise AssertionError("nothing is left to train")

    monkeypatch.setattr(ablation, "train_variant", train)
    ablation.run(Options(folder, folder / "out", seeds=2, models=("hlm",)), decaying=True)
    two = [r for r in read_records(folder / "out" / "ablation.jsonl") if r["dataset"] == "two"]
    assert [r["iterations"] for r in two] == [4000, 4000]
    [data] = load_datasets(folder, ["two"])
    assert two[1]["score"] == score(data, make_model("hlm", data).predict(data.votes))  # run 1 is the bundled one
