"""HTML that is escaped by construction: every text is escaped unless `tag` made it, and no text can run.

Drawings are inline SVG; their colors come from the page's style sheet, so that they follow light and dark.
"""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, printable_lines


class Html(str):
    """Text that is already HTML."""

    __slots__ = ()


def tag(name: str, *children: object, **attributes: object) -> Html:
    """An element; children and attributes that are not `Html` are escaped, those that are None are left out.

    The attribute `class_` is class, and `_` in other names is `-`.

    >>> tag("td", "<b>x</b>", class_="name", title='"')
    '<td class="name" title="&quot;">&lt;b&gt;x&lt;/b&gt;</td>'
    """
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    opening = "".join(f' {key}="{escape(printable_lines(value))}"' for key, value in pairs)
    return Html(f"<{name}{opening}>{join(*children)}</{name}>")


def join(*children: object) -> Html:
    """Children one after another, escaped unless they are `Html`; None is left out.

    >>> join("a < b", tag("br"), None)
    'a &lt; b<br></br>'
    """
    return Html("".join(c if isinstance(c, Html) else escape(printable_lines(c)) for c in children if c is not None))


def shorten(text: str, most: int) -> str:
    """A text cut to at most this many characters.

    >>> shorten("labeling", 6)
    'label…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


NAME, TEXT = 60, 300  # the most letters of a name and of a text
_HUES = (170, 25, 285, 340, 95, 55, 195, 310, 135, 255)  # far from each other, and from the page's own blue
_GOLDEN = 137.5  # degrees between further hues


def hue(number: int) -> float:
    """The color of a class in degrees, the same everywhere on the page.

    >>> hue(0), hue(1)
    (170, 25)
    """
    return _HUES[number] if number < len(_HUES) else round((number * _GOLDEN + 7) % 360, 1)


def section(title: str, *children: object, name: str) -> Html:
    """A part of the page, which links can name."""
    return tag("section", tag("h2", title), *children, id_=name)


def table(caption: str, heads: Sequence[tuple[str, bool]], rows: Sequence[Html], kind: str | None = None) -> Html:
    """A table in a box that scrolls; `heads` are names and whether the column holds numbers."""
    titles = (tag("th", name, scope="col", class_="number" if number else None) for name, number in heads)
    body = tag("table", tag("thead", tag("tr", *titles)), tag("tbody", *rows), aria_label=caption, class_=kind)
    return scroll(body, caption)


def scroll(content: Html, caption: str) -> Html:
    """A box that scrolls if its content is too large; the page's script says so below it."""
    return tag("div", content, class_="scroll", role="region", aria_label=caption, tabindex=0)


def named(name: object, link: str | None = None) -> Html:
    """The head of a row."""
    text, shown = str(name), shorten(str(name), NAME)
    title = text[:TEXT] if len(text) > NAME else None
    return tag("th", shown if link is None else tag("a", shown, href=link), scope="row", title=title)


def number(value: object, sort: float | None = None) -> Html:
    """A cell with a number; `sort` is its sort key, if the text is not."""
    return tag("td", value, class_="number", data_sort=sort)


def share(value: float) -> Html:
    """A share with a bar behind it; empty for NaN."""
    if np.isnan(value):
        return number(None, -1)
    bar = f"--share:{100 * value:.1f}%"
    return tag("td", f"{value:.1%}", class_="number share", style=bar, data_sort=f"{value:.6g}")


def class_tag(names: Sequence[Any], code: int, what: str | None = None, n_classes: int | None = None) -> Html:
    """A class in its color, or a vote; `what` comes before it. A code of -1 is no label.

    Votes that are not for one class, such as scores, are numbered after the `n_classes` classes and have no color.
    """
    before = None if what is None else f"{shorten(what, NAME)}: "
    if code < 0:
        return tag("span", before, "no label", class_="class none")
    name = tag("b", shorten(str(names[code]), NAME))
    if n_classes is not None and code >= n_classes:
        return tag("span", before, name, class_="class none")
    return tag("span", before, name, class_="class", style=f"--hue:{hue(code)}")


def note(text: object) -> Html:
    """A small remark."""
    return tag("p", text, class_="soft")


def cut(shown: int, of: int, what: str, which: str) -> Html | None:
    """Note that only some of all are shown; None if all are."""
    return note(f"{shown:,} of {of:,} {what} are shown: {which}.") if shown < of else None


# Drawings.

_CELL, _NAMES, _TOP = 26, 190, 26  # in the heat map: side of a cell, room for the names, room for the numbers
_EDGE = 10  # above a chart
_WRITTEN = 16  # up to this many LFs, the figures are written into the cells


class PairCell(NamedTuple):
    """A cell of a drawing of pairs."""

    kind: str  # its class in the style sheet
    tip: str
    shade: float | None = None  # from 0 to 1; None for an empty cell
    figure: str | None = None  # written into the cell, if there is room


def pair_map(names: Sequence[str], cell: Callable[[int, int], PairCell], label: str) -> Html:
    """A square of cells, one for each pair, by color; `label` says what it shows, for people who cannot see it."""
    marks, cells = [], []
    for i, name in enumerate(names):
        y, across = _TOP + i * _CELL, _NAMES + i * _CELL + _CELL / 2
        text = f"{shorten(name, 24)}  {i + 1}"
        marks.append(tag("text", text, x=_NAMES - 6, y=f"{y + _CELL / 2 + 4:g}", text_anchor="end"))
        marks.append(tag("text", i + 1, x=f"{across:g}", y=_TOP - 8, text_anchor="middle"))
        cells += [
            _draw_pair(cell(i, j), _NAMES + j * _CELL, y, written=len(names) <= _WRITTEN) for j in range(len(names))
        ]
    side = _CELL * len(names)
    return _svg(_NAMES + side, _TOP + side, label, *marks, *cells, class_="heat")


def _draw_pair(cell: PairCell, x: int, y: int, *, written: bool) -> Html:
    shade, figure = None, None
    if cell.shade is not None:
        shade = f"{0.05 + 0.95 * cell.shade:.2f}"
        if written:
            style, at = "strong" if cell.shade**2 > 0.3 else "figure", f"{x + _CELL / 2 - 0.5:g}"
            figure = tag("text", cell.figure, class_=style, x=at, y=y + 17, text_anchor="middle")
    box = tag("rect", x=x, y=y, width=_CELL - 1, height=_CELL - 1, class_=cell.kind, fill_opacity=shade)
    return tag("g", tag("title", cell.tip), box, figure)


def heat_map(names: list[str], shares: Float64, label: str) -> Html:
    """(m, m) shares of all pairs by color, NaN for an empty cell, the diagonal in its own color."""

    def cell(i: int, j: int) -> PairCell:
        share = float(shares[i, j])
        if np.isnan(share):
            return PairCell("empty", f"{names[i]} and {names[j]} never vote on the same item")
        kind, tip = "pair", f"of the votes of {names[i]}, {names[j]} votes for another class on {share:.1%}"
        if i == j:
            kind, tip = "own", f"{names[i]} votes on {share:.1%} of the items"
        return PairCell(kind, tip, float(np.sqrt(share)), f"{100 * share:.0f}")

    return pair_map(names, cell, label)


def histogram(counts: NDArray[np.int64], low: float, high: float, label: str) -> Html:
    """Bars of equal width: (b,) items in each bin, from `low` to `high`."""
    width, height, left, bottom, right = 480, 220, 60, 34, 24
    step, most = (width - left - right) / len(counts), max(1, int(counts.max()))
    floor, parts = height - bottom, []
    for items in sorted({0, most // 2, most}):  # lines and figures at zero, about half and all of the highest bar
        y = floor - (floor - 12) * items / most
        parts.append(tag("line", x1=left, x2=width - right, y1=f"{y:g}", y2=f"{y:g}", class_="grid"))
        parts.append(tag("text", f"{items:,}", x=left - 6, y=f"{y + 4:g}", text_anchor="end"))
    edges = np.linspace(low, high, len(counts) + 1)
    for i, count in enumerate(counts.tolist()):
        tall = (floor - 12) * count / most
        tip = f"{count:,} items with a confidence from {edges[i]:.3f} to {edges[i + 1]:.3f}"
        x, top = f"{left + i * step + 1:.1f}", f"{floor - tall:.1f}"
        bar = tag("rect", x=x, y=top, width=f"{step - 2:.1f}", height=f"{tall:.1f}", class_="bar")
        parts.append(tag("g", tag("title", tip), bar))
    for part in np.linspace(0, 1, 5):
        x, figure = f"{left + part * step * len(counts):.1f}", f"{low + part * (high - low):.3g}"
        parts.append(tag("text", figure, x=x, y=height - 14, text_anchor="middle"))
    return _svg(width, height, label, *parts)


def reliability(confidence: Float64, right: Float64, items: NDArray[np.int64], label: str) -> Html:
    """Share of right labels against confidence, (b,) groups of items; on the diagonal they are equal."""
    side, edge, room = 340, 58, 262
    parts = _axes(edge, room, room, "confidence", "share of right labels", ".2g")
    points = [(edge + room * c, _EDGE + room * (1 - r)) for c, r in zip(confidence, right, strict=True)]
    parts.append(tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_="curve"))
    for (x, y), c, r, n in zip(points, confidence, right, items.tolist(), strict=True):
        tip = f"{n:,} items: mean confidence {c:.2f}, {r:.1%} of the labels are right"
        parts.append(tag("g", tag("title", tip), tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=5, class_="point")))
    return _svg(side, room + 58, label, *parts)


class Line(NamedTuple):
    """One line of a chart: (g,) points from 0 to 1 both ways, its name, style and class."""

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


def show_facts(facts: Mapping[str, object]) -> Html:
    """Figures at the top of a page, by name."""
    boxes = (tag("div", tag("dt", name), tag("dd", value)) for name, value in facts.items())
    return tag("dl", *boxes, class_="facts")
