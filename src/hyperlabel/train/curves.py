"""Training curves: loss and validation accuracy of every run, the selected one in front."""

from pathlib import Path

from hyperlabel.errors import require
from hyperlabel.tables import write_whole
from hyperlabel.train.loop import read_log, run_folder

CHANCE = 0.6945  # a little above ln 2, the loss of knowing nothing: anything higher is warm-up
PANELS = {"loss": "training loss (mean of each stretch)", "validation_accuracy": "validation accuracy"}


def draw_curves(out: Path, runs: int, selected: int) -> Path:
    """Write `curves.png`."""
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
