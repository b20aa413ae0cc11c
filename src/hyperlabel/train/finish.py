"""After the runs: select one, export the weights, draw the curves."""

import dataclasses
import json
from pathlib import Path

from hyperlabel.train.checkpoint import load_net
from hyperlabel.train.curves import draw_curves
from hyperlabel.train.export import to_weights
from hyperlabel.train.loop import CHECKPOINT, run_folder
from hyperlabel.train.net import HyperNet, make_net
from hyperlabel.train.recipe import Recipe
from hyperlabel.train.runs import RunSummary, select_run, summarise
from hyperlabel.weights import Weights

WEIGHTS = "weights.safetensors"
MODELS = {"gnn": "hlm", "deepset": "hlm-deepset"}
"""What a weights file calls the architectures that have one; the second is the paper's ablation."""


def finish(recipe: Recipe, out: Path, runs: int) -> RunSummary:
    """Export every run, copy the selected one to `weights.safetensors`, write `summary.json` and `curves.png`.

    The flat MLP of the ablation has no exported form; it stays a checkpoint.
    """
    chosen = select_run(out, runs)
    for run in range(runs):
        net = make_net(recipe.architecture, recipe.widths)
        load_net(run_folder(out, run) / CHECKPOINT, net)
        if isinstance(net, HyperNet):
            weights = _export(net, recipe, summarise(out, run), runs, selected=run == chosen.run)
            weights.save(run_folder(out, run) / WEIGHTS)
            if run == chosen.run:
                weights.save(out / WEIGHTS)
    summaries = [dataclasses.asdict(summarise(out, run)) for run in range(runs)]
    summary = {"recipe": dataclasses.asdict(recipe), "selected": chosen.run, "runs": summaries}
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    draw_curves(out, runs, chosen.run)
    return chosen


def _export(net: HyperNet, recipe: Recipe, summary: RunSummary, runs: int, *, selected: bool) -> Weights:
    header = {
        "model": MODELS[recipe.architecture],
        "description": "Hyper label model (Wu et al., ICLR 2023), trained by hyperlabel on synthetic votes only.",
        "widths": list(recipe.widths),
        "recipe": dataclasses.asdict(recipe),
        "run": dataclasses.asdict(summary),
        "selected": f"of {runs} runs, by mean validation accuracy" if selected else "no",
    }
    return to_weights(net, header)
