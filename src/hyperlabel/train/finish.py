"""After the runs: select one, export the weights, draw the curves."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import torch

from hyperlabel.errors import require
from hyperlabel.tables import write_text, write_whole
from hyperlabel.train.checkpoint import load_net
from hyperlabel.train.courses import MakeCourse, make_course
from hyperlabel.train.loop import CHECKPOINT, read_log, run_folder
from hyperlabel.train.recipe import Recipe
from hyperlabel.train.runs import RunSummary, select_run, summarize

WEIGHTS = "weights.safetensors"
MODELS = {"gnn": "hlm", "deepset": "hlm-deepset", "mlp": "hlm-mlp", "unrolled": "hlm2"}
"""The names of the architectures in a weights file; the second and the third are the paper's ablations."""
DESCRIPTIONS = {
    "hlm": "Hyper label model (Wu et al., ICLR 2023), trained by hyperlabel on synthetic votes only.",
    "hlm-deepset": "Ablation of the hyper label model (Wu et al., ICLR 2023), trained on synthetic votes only.",
    "hlm-mlp": "Ablation of the hyper label model (Wu et al., ICLR 2023), trained on synthetic votes only.",
    "hlm2": "Unrolled label model of hyperlabel, trained on synthetic votes only.",
}

CHANCE = 0.6945  # a little above ln 2, the loss of knowing nothing: anything higher is warm-up
PANELS = {"loss": "training loss (mean of each stretch)", "validation_accuracy": "validation accuracy"}


def finish(recipe: Recipe, out: Path, runs: int, make: MakeCourse = make_course) -> RunSummary:
    """Export every run, copy the selected one to `weights.safetensors`, write `summary.json` and `curves.png`.

    Networks that NumPy does not run are ablations and are not exported; they stay checkpoints.
    """
    chosen, course = select_run(out, runs), make(recipe, torch.device("cpu"))
    for run in range(runs):
        net = course.new_net()
        load_net(run_folder(out, run) / CHECKPOINT, net)
        weights = course.to_weights(net, _header(recipe, summarize(out, run), runs, selected=run == chosen.run))
        if weights is None:
            continue
        weights.save(run_folder(out, run) / WEIGHTS)
        if run == chosen.run:
            weights.save(out / WEIGHTS)
    summaries = [dataclasses.asdict(summarize(out, run)) for run in range(runs)]
    summary = {"recipe": dataclasses.asdict(recipe), "selected": chosen.run, "runs": summaries}
    write_text(out / "summary.json", json.dumps(summary, indent=1) + "\n", "--out")
    draw_curves(out, runs, chosen.run)
    return chosen


def _header(recipe: Recipe, summary: RunSummary, runs: int, *, selected: bool) -> dict[str, Any]:
    """What a weights file says about itself."""
    model = MODELS[recipe.architecture]
    return {
        "model": model,
        "description": DESCRIPTIONS[model],
        **recipe.sizes,
        "recipe": dataclasses.asdict(recipe),
        "run": dataclasses.asdict(summary),
        "selected": f"of {runs} runs, by mean validation accuracy" if selected else "no",
    }


def draw_curves(out: Path, runs: int, selected: int) -> Path:
    """Write `curves.png`: loss and validation accuracy of every run, the selected one in front."""
    require("matplotlib", extra="plots")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, (field, title) in zip(panels, PANELS.items(), strict=True):
        for run in sorted(range(runs), key=lambda run: run == selected):
            records = [record for record in read_log(run_folder(out, run)) if field in record]
            style = {"color": "C0", "linewidth": 1.8} if run == selected else {"color": "0.7", "linewidth": 0.8}
            label = f"run {run}, selected" if run == selected else None
            axes.plot([r["iteration"] for r in records], [r[field] for r in records], label=label, **style)
        axes.set(xlabel="iteration", title=title)
        axes.grid(alpha=0.3)
    if panels[0].get_ylim()[0] < CHANCE:
        panels[0].set_ylim(top=CHANCE)
    panels[1].legend(loc="lower right")
    write_whole(out / "curves.png", lambda part: figure.savefig(part, format="png", dpi=120), argument="--out")
    return out / "curves.png"
