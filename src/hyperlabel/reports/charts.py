"""Drawings as inline SVG. Colors come from the page's style sheet, so that they follow light and dark."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64
from hyperlabel.reports.html import Html, join, shorten, tag

_CELL, _NAMES, _TOP = 26, 190, 26  # in the heat map: side of a cell, room for the names, room for the numbers
_EDGE = 10  # above a chart
_WRITTEN = 16  # up to this many LFs, the figures are written into the cells


def heat_map(names: list[str], shares: Float64, label: str) -> Html:
    """(m, m) shares of all pairs by color, NaN for an empty cell, the diagonal in its own color.

    The `label` says what the drawing shows, for people who cannot see it.
    """
    cells = [_cell(names, shares, i, j) for i in range(len(names)) for j in range(len(names))]
    marks = []
    for i, name in enumerate(names):
        middle = _TOP + i * _CELL + _CELL / 2
        text = f"{shorten(name, 24)}  {i + 1}"
        marks.append(tag("text", text, x=_NAMES - 6, y=f"{middle + 4:g}", text_anchor="end"))
        across = _NAMES + i * _CELL + _CELL / 2
        marks.append(tag("text", i + 1, x=f"{across:g}", y=_TOP - 8, text_anchor="middle"))
    side = _CELL * len(names)
    return _svg(_NAMES + side, _TOP + side, label, *marks, *cells, class_="heat")


def _cell(names: list[str], shares: Float64, i: int, j: int) -> Html:
    share, own = shares[i, j], i == j
    x, y = _NAMES + j * _CELL, _TOP + i * _CELL
    if np.isnan(share):
        tip = f"{names[i]} and {names[j]} never vote on the same item"
    elif own:
        tip = f"{names[i]} votes on {share:.1%} of the items"
    else:
        tip = f"of the votes of {names[i]}, {names[j]} votes for another class on {share:.1%}"
    kind = "empty" if np.isnan(share) else "own" if own else "pair"
    shade = None if np.isnan(share) else f"{0.05 + 0.95 * np.sqrt(share):.2f}"
    box = tag("rect", x=x, y=y, width=_CELL - 1, height=_CELL - 1, class_=kind, fill_opacity=shade)
    figure = None
    if len(names) <= _WRITTEN and not np.isnan(share):
        place = {"x": f"{x + _CELL / 2 - 0.5:g}", "y": y + 17, "text_anchor": "middle"}
        figure = tag("text", f"{100 * share:.0f}", class_="strong" if share > 0.3 else "figure", **place)
    return tag("g", tag("title", tip), box, figure)


def histogram(counts: NDArray[np.int64], low: float, high: float, label: str) -> Html:
    """Bars of equal width: (b,) items in each bin, from `low` to `high`."""
    width, height, left, bottom, right = 480, 220, 60, 34, 24
    step, most = (width - left - right) / len(counts), max(1, int(counts.max()))
    parts = _grid(most, left, width - right, height - bottom)
    edges = np.linspace(low, high, len(counts) + 1)
    for i, count in enumerate(counts.tolist()):
        tall = (height - bottom - 12) * count / most
        tip = f"{count:,} items with a confidence from {edges[i]:.3f} to {edges[i + 1]:.3f}"
        x, y = f"{left + i * step + 1:.1f}", f"{height - bottom - tall:.1f}"
        bar = tag("rect", x=x, y=y, width=f"{step - 2:.1f}", height=f"{tall:.1f}", class_="bar")
        parts.append(tag("g", tag("title", tip), bar))
    for place in np.linspace(0, 1, 5):
        x = f"{left + place * step * len(counts):.1f}"
        parts.append(tag("text", f"{low + place * (high - low):.3g}", x=x, y=height - 14, text_anchor="middle"))
    return _svg(width, height, label, *parts)


def _grid(most: int, left: int, right: int, floor: int) -> list[Html]:
    """Lines and figures at zero, about half and all of the highest bar."""
    parts = []
    for items in sorted({0, most // 2, most}):
        y = floor - (floor - 12) * items / most
        parts.append(tag("line", x1=left, x2=right, y1=f"{y:g}", y2=f"{y:g}", class_="grid"))
        parts.append(tag("text", f"{items:,}", x=left - 6, y=f"{y + 4:g}", text_anchor="end"))
    return parts


def reliability(confidence: Float64, right: Float64, items: NDArray[np.int64], label: str) -> Html:
    """Share of right labels against confidence, (b,) groups of items; on the diagonal they are equal."""
    side, edge, room = 340, 58, 262
    parts = _axes(edge, room, room, "confidence", "share of right labels", ".2g")
    places = [(edge + room * c, _EDGE + room * (1 - r)) for c, r in zip(confidence, right, strict=True)]
    parts.append(tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in places), class_="curve"))
    for (x, y), c, r, n in zip(places, confidence, right, items.tolist(), strict=True):
        tip = f"{n:,} items: mean confidence {c:.2f}, {r:.1%} of the labels are right"
        parts.append(tag("g", tag("title", tip), tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=5, class_="point")))
    return _svg(side, room + 58, label, *parts)


class Line(NamedTuple):
    """One line of a chart: (g,) places from 0 to 1 both ways, what it is, its style and its class."""

    x: Float64
    y: Float64
    name: str
    style: str | None
    kind: str


def line_chart(lines: Sequence[Line], across: str, up: str, label: str) -> Html:
    """Lines over shares, from 0 to 1 both ways, with a label below (`across`) and at the left (`up`)."""
    left, width, height = 72, 520, 240
    parts = _axes(left, width, height, across, up, ".0%")
    for line in lines:
        points = [(left + width * x, _EDGE + height * (1 - y)) for x, y in zip(line.x, line.y, strict=True)]
        path = tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=line.kind)
        dots = [
            tag("g", tag("title", f"{a:.0%}: {line.name} {b:.1%}"), tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3.5))
            for (x, y), a, b in zip(points, line.x, line.y, strict=True)
        ]
        parts.append(tag("g", path, *dots, style=line.style, class_=f"{line.kind}-dots"))
    return _svg(left + width + 24, _EDGE + height + 46, label, *parts, class_="wide")


def _axes(left: int, width: int, height: int, across: str, up: str, form: str) -> list[Html]:
    """The diagonal, a grid with figures from 0 to 1 in a form, and what they are, below and at the left."""
    floor, middle = _EDGE + height, _EDGE + height / 2
    parts = [tag("line", x1=left, y1=floor, x2=left + width, y2=_EDGE, class_="ideal")]
    for share in np.linspace(0, 1, 5):
        x, y = left + width * share, _EDGE + height * (1 - share)
        parts.append(tag("line", x1=left, x2=left + width, y1=f"{y:g}", y2=f"{y:g}", class_="grid"))
        parts.append(tag("text", f"{share:{form}}", x=left - 6, y=f"{y + 4:g}", text_anchor="end"))
        parts.append(tag("text", f"{share:{form}}", x=f"{x:g}", y=floor + 18, text_anchor="middle"))
    parts.append(tag("text", across, x=left + width / 2, y=floor + 38, text_anchor="middle"))
    turn = f"rotate(-90 12 {middle:g})"
    return [*parts, tag("text", up, x=12, y=f"{middle:g}", text_anchor="middle", transform=turn)]


def _svg(width: float, height: float, label: str, *children: Html, class_: str | None = None) -> Html:
    size = {"viewBox": f"0 0 {width:g} {height:g}", "width": f"{width:g}", "height": f"{height:g}"}
    return tag("svg", tag("title", label), join(*children), role="img", aria_label=label, class_=class_, **size)
