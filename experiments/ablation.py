"""The paper's Table 4: the hyper label model with one of its components replaced by a naive one.

Every variant is trained from scratch, several runs each, all with the same number of steps and matrices; then every
run labels every set. As in the paper, the run with the best synthetic validation stands for its variant; the spread
over the runs stands beside it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from os import cpu_count
from pathlib import Path
from typing import Any

import numpy as np

from experiments.datasets import DataSet, Ints, load_datasets
from experiments.markdown import bold_best, number, spread, table
from experiments.paper import ABLATION
from experiments.plots import new_figure, save, style
from experiments.protocol import make_model, score
from experiments.references import RELEASED, RELEASED_FILE
from experiments.store import Cell, Options, Progress, Record, Store, read_records
from hyperlabel.errors import ParameterError, require
from hyperlabel.models import HyperLabelModel

Recipe = Any
"""A `hyperlabel.training._recipe.Recipe`, which only torch can load."""


@dataclass(frozen=True)
class Variant:
    """A way to train."""

    replaced: str  # what takes the place of what, in words
    published: str  # the row of the paper's Table 4 that it belongs to
    changes: Mapping[str, Any]  # fields of the recipe that differ from the paper's model


VARIANTS = {
    "hlm": Variant("nothing is replaced", "hlm", {}),
    "independent": Variant(
        "data: conditionally independent LFs, not uniform votes", "data generation", {"prior": "independent"}
    ),
    "wrench": Variant(
        "data: the generator that validates, as in the authors' code", "data generation", {"prior": "wrench"}
    ),
    "mlp": Variant("architecture: an MLP on the flattened matrix", "model architecture", {"architecture": "mlp"}),
    "deepset": Variant(
        "architecture: a DeepSet, every item a set of its own", "model architecture", {"architecture": "deepset"}
    ),
    "every": Variant(
        "assumption: every LF is better than random, not most", "better-than-random", {"assumption": "every"}
    ),
}

ITERATIONS, BATCH, WIDTHS = 400, 32, (8, 8, 8, 32)  # a short budget; the widths of the weights that the package carries
DECAYING: Mapping[str, Any] = {
    "iterations": 4000,
    "batch": 2,
    "candidates": 1024,
    "max_cells": 120_000,
    "lr": 0.001,
    "log_every": 100,
} | {"validation": "paper", "quick_sets": 20, "full_every": 1000}
"""The recipe of the bundled `hlm`: minutes per run instead of seconds."""
DECAYING_RUNS = Path(__file__).resolve().parents[1] / "training" / "hlm-decay"
"""Ten runs of that recipe with nothing replaced, which need no second training."""
LOG_EVERY = 25
THRESHOLD = 0.55  # a run whose last synthetic validation is below has learned nothing: chance is 0.5


def run(options: Options, *, iterations: int = ITERATIONS, batch: int = BATCH, decaying: bool = False) -> None:
    """Train every variant, then score it; records go to ablation.jsonl, the training to the folder ablation.

    Training goes on from its checkpoints where it was interrupted; a variant whose scores are all there is not
    trained again.

    Args:
        options: What to run, and where; models are names of variants, seeds the runs of each.
        iterations: Steps of the optimizer.
        batch: Matrices a step.
        decaying: Whether the paper's model has the recipe of the bundled weights instead, with its steps and batch.
    """
    require("torch", extra="train")
    names = options.models or tuple(VARIANTS)
    _check_names(names)
    sets = {data.name: data for data in load_datasets(options.data, options.sets)}
    store = Store(options.out / "ablation.jsonl")
    for name in names:
        recipe = make_recipe(name, iterations=iterations, batch=batch, decaying=decaying)
        cells = list(_cells(name, recipe, sets, options.seeds))
        folder = DECAYING_RUNS if decaying and name == "hlm" else options.out / "ablation" / name
        if folder != DECAYING_RUNS and not _all_recorded(store, cells):
            train_variant(recipe, folder, options.seeds, _named(options.progress, f"training {name}"))
        store.run(cells, _scorer(recipe, folder, sets), _named(options.progress, f"scoring {name}"))


def _check_names(names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in VARIANTS]
    if unknown:
        raise ParameterError(f"there is no variant {unknown[0]!r}; expected some of {', '.join(VARIANTS)}")


def make_recipe(name: str, *, iterations: int, batch: int, decaying: bool = False) -> Recipe:
    """The recipe of a variant: the paper's model but for what the variant replaces."""
    from hyperlabel.training import Recipe

    short = {"iterations": iterations, "batch": batch, "log_every": min(LOG_EVERY, iterations)}
    return Recipe(**{"widths": WIDTHS, **(DECAYING if decaying else short), **VARIANTS[name].changes})


def _cells(name: str, recipe: Recipe, sets: Mapping[str, DataSet], runs: int) -> Iterator[Cell]:
    budget = {"iterations": recipe.iterations, "batch": recipe.batch}
    for seed in range(runs):
        for dataset in sets:
            yield {"dataset": dataset, "model": name, "seed": seed, **budget}


def _all_recorded(store: Store, cells: Sequence[Cell]) -> bool:
    records = read_records(store.path) if store.path.exists() else []
    found = {tuple(record.get(field) for field in cells[0]) for record in records}
    return all(tuple(cell.values()) in found for cell in cells)


def _named(progress: Progress, what: str) -> Progress:
    return lambda done, total, last: progress(done, total, f"{what}: {last}")


def train_variant(recipe: Recipe, folder: Path, runs: int, progress: Progress) -> None:
    """Train all runs of a variant, as many at a time as there are cores, and export them."""
    from hyperlabel.training import check_resumable, finish, train_runs

    folder.mkdir(parents=True, exist_ok=True)
    check_resumable(recipe, folder, runs)
    total, jobs = recipe.iterations * runs, min(runs, cpu_count() or 1)
    with closing(train_runs(recipe, folder, runs, jobs=jobs, resume=True)) as steps:
        for done in steps:
            progress(sum(done.values()), total, "steps of all runs")
    finish(recipe, folder, runs)


def _scorer(recipe: Recipe, folder: Path, sets: Mapping[str, DataSet]) -> Any:
    """What scores one run on one set."""
    from hyperlabel.training import summarize

    others = ("mv", RELEASED) if RELEASED_FILE.exists() else ("mv",)
    beside = {name: {each: _score_of(each, data) for each in others} for name, data in sets.items()}

    def work(cell: Cell) -> dict[str, Any]:
        data, summary = sets[cell["dataset"]], summarize(folder, cell["seed"])
        return {
            "family": data.family,
            "metric": data.metric,
            "beside": beside[data.name],
            "score": score(data, _predict(recipe, folder, cell["seed"], data)),
            "validation": summary.mean_accuracy,
            "last_validation": summary.last_accuracy,
            "training_seconds": summary.seconds,
            **recipe.sizes,
        }

    return work


def _score_of(model: str, data: DataSet) -> float:
    """The score of a label model that was not trained here."""
    return score(data, make_model(model, data).predict(data.votes))


def _predict(recipe: Recipe, folder: Path, seed: int, data: DataSet) -> Ints:
    from hyperlabel.training import WEIGHTS, run_folder

    if recipe.architecture == "mlp":
        return predict_flat(_load_flat(folder, seed, recipe.widths), data)
    model = HyperLabelModel(weights=run_folder(folder, seed) / WEIGHTS, n_classes=data.k)
    return model.predict(data.votes).astype(np.int64)


@cache
def _load_flat(folder: Path, seed: int, widths: tuple[int, ...]) -> Any:
    from hyperlabel.training import CHECKPOINT, load_net, make_net, run_folder

    net = make_net("mlp", widths)
    load_net(run_folder(folder, seed) / CHECKPOINT, net)
    return net


def predict_flat(net: Any, data: DataSet) -> Ints:
    """Labels of the MLP, which takes matrices up to a fixed size. -> (n,).

    Items are labeled in blocks of that size, one class against the rest where there are more than two; of more LFs
    than it takes, those that vote most are kept.
    """
    import torch

    from hyperlabel.training import to_signs

    often = np.sort(np.argsort(-(data.votes >= 0).sum(0), kind="stable")[: net.lfs])
    targets = [1] if data.k == 2 else range(data.k)
    logits = np.empty((len(data.votes), len(targets)))
    for start in range(0, len(data.votes), net.items):
        block = data.votes[start : start + net.items, often]
        for place, target in enumerate(targets):
            signs = to_signs(np.where(block < 0, -1, (block == target).astype(np.int64)))
            with torch.no_grad():
                logits[start : start + net.items, place] = net(torch.from_numpy(signs)).numpy()
    return np.asarray(logits[:, 0] > 0 if data.k == 2 else logits.argmax(1), np.int64)


class Results:
    """Scores by variant, run and family.

    Args:
        records: Of ablation.jsonl, all of one budget.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = [record for record in records if "score" in record]
        self.variants = [name for name in VARIANTS if any(record["model"] == name for record in self.records)]
        self.families = list(dict.fromkeys(record["family"] for record in self.records))

    def of(self, variant: str, seed: int | None = None) -> list[Record]:
        """Records of a variant, or of one of its runs."""
        return [r for r in self.records if r["model"] == variant and seed in (None, r["seed"])]

    def runs(self, variant: str) -> list[int]:
        """Numbers of a variant's runs."""
        return sorted({record["seed"] for record in self.of(variant)})

    def mean(self, variant: str, seed: int, family: str) -> float:
        """A run's mean score over the sets of a family."""
        return float(np.mean([record["score"] for record in self.of(variant, seed) if record["family"] == family]))

    def mean_beside(self, model: str, family: str) -> float:
        """The mean score over the sets of a family of a model that was not trained here."""
        found = {r["dataset"]: r["beside"][model] for r in self.records if r["family"] == family}
        return float(np.mean(list(found.values())))

    def selected(self, variant: str) -> int:
        """The run with the best mean validation accuracy, the first of equals."""
        return max(self.runs(variant), key=lambda seed: self.of(variant, seed)[0]["validation"])

    def idle(self, variant: str) -> int:
        """How many runs learned nothing that shows on the synthetic validation sets."""
        last = [self.of(variant, seed)[0]["last_validation"] for seed in self.runs(variant)]
        return sum(accuracy < THRESHOLD for accuracy in last)


def tables(records: Sequence[Record]) -> str:
    """Scores of every variant, in markdown; one part for each training budget."""
    budgets = dict.fromkeys((record["iterations"], record["batch"]) for record in records)
    parts = []
    for iterations, batch in budgets:
        of_budget = [r for r in records if (r["iterations"], r["batch"]) == (iterations, batch)]
        results = Results(of_budget)
        parts += [_budget(results, iterations, batch), _variant_table(results), _set_table(results)]
    return "\n\n".join(parts)


def _budget(results: Results, iterations: int, batch: int) -> str:
    times = [results.of(name, seed)[0]["training_seconds"] for name in results.variants for seed in results.runs(name)]
    runs = " or ".join(sorted({str(len(results.runs(name))) for name in results.variants}))
    widths = "-".join(map(str, results.records[0]["widths"]))
    return (
        f"**Budget of every run: {iterations:,} steps of {batch} matrices** (the paper: about 50,000 of 50), widths "
        f"{widths}, {runs} runs per variant, the one with the best mean accuracy on synthetic validation sets "
        f"selected; a run took {min(times):.0f} to {max(times):.0f} s. The validation sets come from the prior that "
        "`independent` is trained on, so that its runs are selected on data of their own kind. The MLP takes 2,000 "
        "items by 50 LFs: items are labeled 2,000 at a time, and of more LFs those that vote most are kept."
    )


def _variant_table(results: Results) -> str:
    head = ["variant and what it replaces", "paper, 14 sets"]
    head += [f"{family}, selected run" for family in results.families]
    head += [f"{family}, all runs" for family in results.families]
    rows = []
    for name in results.variants:
        chosen, runs = results.selected(name), results.runs(name)
        selected = [number(results.mean(name, chosen, family), 2) for family in results.families]
        every = [spread([results.mean(name, seed, family) for seed in runs]) for family in results.families]
        idle = f" ({results.idle(name)} of {len(runs)} runs learned nothing)" if results.idle(name) else ""
        words = f"`{name}`: {VARIANTS[name].replaced}{idle}"
        rows.append([words, number(ABLATION[VARIANTS[name].published]), *selected, *every])
    for other in dict.fromkeys(other for record in results.records for other in record["beside"]):
        means = [number(results.mean_beside(other, family), 2) for family in results.families]
        rows.append([f"*{other}, for comparison*", "", *means, *["" for _ in means]])
    title = "Score in percent, mean over the sets of a family; over all runs: mean ± standard deviation"
    note = "The paper reports the better of the two architectures."
    return f"**{title}**\n\n{table(head, rows)}\n\n{note}{_same_as_majority(results)}"


def _same_as_majority(results: Results) -> str:
    """Which variants learned nothing but majority vote."""
    sets = list(dict.fromkeys(record["dataset"] for record in results.records))
    same = []
    for name in results.variants:
        of = results.of(name, results.selected(name))
        equal = {record["dataset"] for record in of if abs(record["score"] - record["beside"]["mv"]) < 0.05}
        same += [f"`{name}` on {len(equal)} of {len(sets)}"] if len(equal) > len(sets) / 2 else []
    return f" Selected runs whose score is that of majority vote on most sets: {', '.join(same)}." if same else ""


def _set_table(results: Results) -> str:
    rows = []
    for dataset in dict.fromkeys(record["dataset"] for record in results.records):
        values = [_score(results, name, dataset) for name in results.variants]
        rows.append([dataset, *bold_best([number(value) for value in values], values)])
    return f"**Score of the selected runs, by set**\n\n{table(['set', *results.variants], rows)}"


def _score(results: Results, variant: str, dataset: str) -> float:
    found = [r["score"] for r in results.of(variant, results.selected(variant)) if r["dataset"] == dataset]
    return float(found[0]) if found else float("nan")


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """One figure a budget, one panel a family: every run of every variant, the selected ones filled."""
    budgets = dict.fromkeys((record["iterations"], record["batch"]) for record in records)
    paths = []
    for place, budget in enumerate(budgets):
        of_budget = [record for record in records if (record["iterations"], record["batch"]) == budget]
        paths.append(_draw_budget(Results(of_budget), folder / f"ablation{'' if place == 0 else -place - 1}.png"))
    return paths


def _draw_budget(results: Results, path: Path) -> Path:
    columns = len(results.families)
    figure, panels = new_figure(1.4 + 3.4 * columns, 3.4, columns=columns, sharey=True)
    for axes, family in zip(panels[0], results.families, strict=True):
        for place, name in enumerate(results.variants):
            _draw_variant(axes, results, name, family, place)
        axes.set(title=family, xlabel="mean score (%)")
        axes.margins(y=0.15)
        axes.locator_params(axis="x", nbins=6)
    panels[0, 0].set_yticks(range(len(results.variants)), results.variants)
    panels[0, 0].invert_yaxis()
    figure.suptitle("○ one training run    ● the run that synthetic validation selects", fontsize=10)
    return save(figure, path)


def _draw_variant(axes: Any, results: Results, name: str, family: str, place: int) -> None:
    look = style(name, list(VARIANTS))
    runs, chosen = results.runs(name), results.selected(name)
    means = [results.mean(name, seed, family) for seed in runs]
    axes.plot(means, [place] * len(runs), "o", color=look["color"], markerfacecolor="none", markersize=7)
    axes.plot(results.mean(name, chosen, family), place, "o", color=look["color"], markersize=9)
