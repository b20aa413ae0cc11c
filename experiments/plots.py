"""One look for all figures: colours that colour-blind people can tell apart, and a marker of its own for each model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hyperlabel.errors import require
from hyperlabel.models import label_models

COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#B8860B")
"""After M. Okabe and K. Ito, 2008, without the yellow, which is hard to see on white."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "d", "8", "H", "1")
LINES = ("-", "--", ":")
DPI = 150


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1, **kwargs: Any) -> tuple[Any, Any]:
    """A figure in inches, with (rows, columns) axes."""
    require("matplotlib", extra="plots")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, **kwargs)
    for axes in panels.flat:
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def style(name: str, names: Sequence[str] | None = None) -> dict[str, Any]:
    """How a model's line is drawn, the same in every figure; other names by their place among `names`.

    >>> style("hlm")["color"], style("hlm")["marker"]
    ('#000000', 'o')
    """
    known = list(names) if names is not None else sorted(label_models(), key=lambda model: model != "hlm")
    place = known.index(name) if name in known else len(known)
    return {
        "color": COLOURS[place % len(COLOURS)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": LINES[place // len(COLOURS) % len(LINES)],
        "linewidth": 2.2 if name == "hlm" else 1.3,
        "markersize": 5,
        "label": name,
    }


def save(figure: Any, path: Path) -> Path:
    """Write a figure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI)
    return path
