"""Plots with matplotlib (extra `plots`), each drawn into given axes or new ones."""

from collections.abc import Sequence
from typing import Any

from hyperlabel.errors import require

_MOST = 60  # bars; more would be unreadable
_NAME = 40  # letters of a name


def new_axes(ax: Any, height: float = 4.0) -> Any:
    """Return the given axes, or new ones of this height in inches."""
    require("matplotlib", extra="plots")
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(7, height), layout="constrained")[1] if ax is None else ax


def plot_bars(names: Sequence[str], values: Sequence[float], ax: Any) -> Any:
    """Draw horizontal bars, the first on top, none for NaN, at most 60; return the axes."""
    shown = [str(name)[:_NAME] for name in names[:_MOST]]
    drawn = new_axes(ax, 1 + 0.25 * len(shown))
    rows = range(len(shown))
    drawn.barh(rows, list(values)[:_MOST])
    drawn.set_yticks(rows, [name.replace("$", r"\$") for name in shown])
    drawn.invert_yaxis()
    if len(names) > _MOST:
        drawn.set_ylabel(f"the first {_MOST} of {len(names)}")
    return drawn


def plot_grid(names: Sequence[str], values: Any, ax: Any) -> Any:
    """Draw a heat map of (m, m) shares, NaN for none, at most 60 by 60; return the axes."""
    shown = [str(name)[:_NAME].replace("$", r"\$") for name in names[:_MOST]]
    drawn = new_axes(ax, 2 + 0.3 * len(shown))
    image = drawn.imshow(values[:_MOST, :_MOST], cmap="Oranges", vmin=0)
    drawn.set_xticks(range(len(shown)), shown, rotation=90)
    drawn.set_yticks(range(len(shown)), shown)
    drawn.figure.colorbar(image, ax=drawn)
    return drawn
