"""After the runs: select one, export the weights, draw the curves."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import torch

from hyperlabel.tables import write_text
from hyperlabel.train.checkpoint import load_net
from hyperlabel.train.courses import MakeCourse, make_course
from hyperlabel.train.curves import draw_curves
from hyperlabel.train.loop import CHECKPOINT, run_folder
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


def finish(recipe: Recipe, out: Path, runs: int, make: MakeCourse = make_course) -> RunSummary:
    """Export every run, copy the selected one to `weights.safetensors`, write `summary.json` and `curves.png`.

    Networks that NumPy does not run are ablations and are not exported; they stay checkpoints.

    Args:
        recipe: How the runs were trained.
        out: Where they keep their files.
        runs: Number of runs.
        make: Makes the course.

    Raises:
        HyperlabelError: One of them cannot be written; what was there before stays.
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
