"""After the runs: select one, export the weights, draw the curves."""

import dataclasses
import json
from pathlib import Path

from hyperlabel.train.checkpoint import load_net
from hyperlabel.train.curves import draw_curves
from hyperlabel.train.export import to_weights, unrolled_weights
from hyperlabel.train.loop import CHECKPOINT, run_folder
from hyperlabel.train.net import HyperNet, make_net
from hyperlabel.train.recipe import Recipe
from hyperlabel.train.runs import RunSummary, select_run, summarise
from hyperlabel.train.unrolled import UnrolledNet
from hyperlabel.weights import Weights

WEIGHTS = "weights.safetensors"
MODELS = {"gnn": "hlm", "deepset": "hlm-deepset", "unrolled": "hlm2"}
"""What a weights file calls the architectures that have one; the second is the paper's ablation."""
DESCRIPTIONS = {
    "hlm": "Hyper label model (Wu et al., ICLR 2023), trained by hyperlabel on synthetic votes only.",
    "hlm-deepset": "Ablation of the hyper label model (Wu et al., ICLR 2023), trained on synthetic votes only.",
    "hlm2": "Unrolled label model of hyperlabel, trained on synthetic votes only.",
}


def finish(recipe: Recipe, out: Path, runs: int) -> RunSummary:
    """Export every run, copy the selected one to `weights.safetensors`, write `summary.json` and `curves.png`.

    The flat MLP and the ablations of the unrolled network have no exported form; they stay checkpoints.
    """
    chosen = select_run(out, runs)
    for run in range(runs):
        net = make_net(recipe.architecture, recipe.widths)
        load_net(run_folder(out, run) / CHECKPOINT, net)
        if isinstance(net, HyperNet) or (isinstance(net, UnrolledNet) and not recipe.leave_one_out and recipe.counted):
            weights = _export(net, recipe, summarise(out, run), runs, selected=run == chosen.run)
            weights.save(run_folder(out, run) / WEIGHTS)
            if run == chosen.run:
                weights.save(out / WEIGHTS)
    summaries = [dataclasses.asdict(summarise(out, run)) for run in range(runs)]
    summary = {"recipe": dataclasses.asdict(recipe), "selected": chosen.run, "runs": summaries}
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    draw_curves(out, runs, chosen.run)
    return chosen


def _export(net: HyperNet | UnrolledNet, recipe: Recipe, summary: RunSummary, runs: int, *, selected: bool) -> Weights:
    model, widths = MODELS[recipe.architecture], list(recipe.widths)
    sizes = {"width": widths[0], "steps": len(widths)} if recipe.is_unrolled else {"widths": widths}
    header = {
        "model": model,
        "description": DESCRIPTIONS[model],
        **sizes,
        "recipe": dataclasses.asdict(recipe),
        "run": dataclasses.asdict(summary),
        "selected": f"of {runs} runs, by mean validation accuracy" if selected else "no",
    }
    if isinstance(net, UnrolledNet):
        return unrolled_weights(net, header)
    return to_weights(net, header)
