"""The error bar of the paper's Table 2: every training run of every recipe, scored on every set.

Each run is scored at its last iteration. Which run stands for its recipe was settled before: the one with the highest
accuracy on D', averaged over all iterations. Scores on real sets choose nothing.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.datasets import load_datasets
from experiments.markdown import number, spread, table, titled
from experiments.plots import new_figure, save
from experiments.protocol import make_model, score
from experiments.store import Cell, Options, Record, Store
from hyperlabel.errors import ParameterError
from hyperlabel.networks import load_weights

MOST_COLUMNS = 3  # panels side by side in the figure


def run(options: Options, folder: Path) -> None:
    """Score all runs of a folder of `hyperlabel train`; records go to runs.jsonl.

    Args:
        options: What to run, and where; seeds and models are not used.
        folder: Holds summary.json, and one folder of weights and a log for each run; its name is that of the recipe.
    """
    if not (folder / "summary.json").exists():
        raise ParameterError(f"--runs '{folder}' has no summary.json; let the training end first")
    summary = json.loads((folder / "summary.json").read_text())
    sets = {data.name: data for data in load_datasets(options.data, options.sets)}
    cells = [{"recipe": folder.name, "run": each["run"], "dataset": name} for each in summary["runs"] for name in sets]
    about = {each["run"]: _about(folder, each, summary["selected"]) for each in summary["runs"]}

    def work(cell: Cell) -> dict[str, Any]:
        data = sets[cell["dataset"]]
        labels = make_model(str(_weights(folder, cell["run"])), data).predict(data.votes)
        return {"family": data.family, "score": score(data, labels), **about[cell["run"]]}

    Store(options.out / "runs.jsonl").run(cells, work, options.progress)


def _weights(folder: Path, run: int) -> Path:
    return folder / f"run-{run:02d}" / "weights.safetensors"


def _about(folder: Path, each: dict[str, Any], selected: int) -> dict[str, Any]:
    """What is known of a run besides its scores: its length, and accuracy on D' over time."""
    lines = (folder / f"run-{each['run']:02d}" / "log.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    full = [record for record in records if "validation_accuracy" in record]
    return {
        "selected": each["run"] == selected,
        "bundled": _is_bundled(_weights(folder, each["run"])),
        "mean_accuracy": each["mean_accuracy"],
        "last_accuracy": full[-1]["validation_accuracy"],
        "iterations": records[-1]["iteration"],
        "curve": [[record["iteration"], round(record["validation_accuracy"], 3)] for record in full],
    }


def _is_bundled(path: Path) -> bool:
    """Whether these weights are those that the package carries as `hlm`."""
    one, other = load_weights(path).arrays, load_weights("hlm").arrays
    return all(np.array_equal(one[name], array) for name, array in other.items())


def recipes(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The records by recipe, that of the bundled run first."""
    names = dict.fromkeys(record["recipe"] for record in records)
    found = {name: [record for record in records if record["recipe"] == name] for name in names}
    return dict(sorted(found.items(), key=lambda each: not any(record["bundled"] for record in each[1])))


def averages(records: Sequence[Record], family: str = "wrench") -> dict[int, float]:
    """Mean score over the sets of a family, by run of one recipe."""
    runs = sorted({record["run"] for record in records})
    of = [record for record in records if record["family"] == family]
    return {run: float(np.mean([record["score"] for record in of if record["run"] == run])) for run in runs}


def selected(records: Sequence[Record]) -> int:
    """The run of one recipe that D' selects."""
    return next(int(record["run"]) for record in records if record["selected"])


def tables(records: Sequence[Record]) -> str:
    """One table per recipe with one row per run, as markdown."""
    return "\n\n".join(_table(name, of) for name, of in recipes(records).items())


def _table(recipe: str, records: Sequence[Record]) -> str:
    families = list(dict.fromkeys(record["family"] for record in records))
    means = {family: averages(records, family) for family in families}
    rows = []
    for run, about in _by_run(records).items():
        accuracy = [number(100 * about[field], 1) for field in ("mean_accuracy", "last_accuracy")]
        scores = [number(means[family][run], 2) for family in families]
        rows.append([_name(run, about), f"{about['iterations']:,}", *accuracy, *scores])
    spreads = [spread(list(means[family].values()), 2) for family in families]
    head = ["run", "iterations", "D', mean of all iterations", "D', last iteration", *families]
    title = f"`{recipe}`: every run at its last iteration, accuracy on D' and mean score by family, in percent"
    return titled(title, table(head, [*rows, ["mean ± standard deviation", "", "", "", *spreads]]))


def _by_run(records: Sequence[Record]) -> dict[int, Record]:
    """Some record of each run, for what does not depend on the set."""
    return {record["run"]: record for record in sorted(records, key=lambda record: int(record["run"]))}


def _name(run: int, about: Record) -> str:
    if about["bundled"]:
        return f"**{run}** (bundled)"
    return f"**{run}** (selected)" if about["selected"] else str(run)


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Accuracy on D' over the iterations of every run, one panel per recipe; the selected one is drawn bold."""
    found = recipes(records)
    columns = min(len(found), MOST_COLUMNS)
    rows = -(-len(found) // columns)
    figure, panels = new_figure(1 + 4.5 * columns, 4 * rows, rows, columns, sharey=True)
    for axes in panels.flat[len(found) :]:
        axes.remove()
    for axes, (name, of) in zip(panels.flat, found.items(), strict=False):
        for run, about in _by_run(of).items():
            look = {"linewidth": 2.6, "color": "black", "zorder": 3} if about["selected"] else {"linewidth": 1.0}
            axes.plot(*zip(*about["curve"], strict=True), label=f"run {run}", **look)
        axes.set(title=name, xlabel="iteration", ylabel="accuracy on the 100 sets of D'")
        axes.legend(frameon=False, fontsize=7, ncols=2)
    return [save(figure, folder / "runs.png")]
