"""The picture of the README: labels of sets with texts, by the usual script and by `hl.label`.

    python -m experiments story --out docs/pictures/texts.png

The figures are the means in experiments/results/texts.md, which `python -m experiments texts` writes.
"""

import re
from pathlib import Path

RECORD = Path(__file__).parent / "results" / "texts.md"
WAYS = {
    "votes": "votes alone",
    "majority + LR": "majority vote\n+ logistic regression",
    "label": "hyperlabel:\nvotes + texts",
    "label, gold": "hyperlabel:\nvotes + texts + 30 labels",
}


def read_means() -> tuple[dict[str, float], int]:
    """Return the mean score of each way, and the number of sets."""
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in RECORD.read_text(encoding="utf-8").splitlines()]
    head, end = rows[0], next(i for i, row in enumerate(rows) if row[0] == "mean")
    return {way: float(rows[end][head.index(way)]) for way in WAYS}, end - 2


def draw(path: Path) -> None:
    """Draw the means as bars."""
    from matplotlib.figure import Figure

    means, n_sets = read_means()
    figure = Figure(figsize=(7.6, 2.5), layout="constrained")
    axes = figure.subplots()
    bars = axes.barh([WAYS[way] for way in means], list(means.values()), color=["0.75", "0.75", "C0", "C0"])
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.invert_yaxis()
    axes.set(xlim=(0, 100), xlabel=f"accuracy or F1 in percent, all items, mean of {n_sets} public sets")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
