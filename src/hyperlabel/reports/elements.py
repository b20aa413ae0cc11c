"""What the sections of the page are made of: tables, notes, and classes, each in its color."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hyperlabel.reports.html import Html, shorten, tag

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


def named(name: object, *more: object, link: str | None = None) -> Html:
    """The head of a row."""
    text = str(name)
    shown: object = shorten(text, NAME)
    if link is not None:
        shown = tag("a", shown, href=link)
    return tag("th", shown, *more, scope="row", title=text[:TEXT] if len(text) > NAME else None)


def number(value: object, sort: float | None = None) -> Html:
    """A cell with a number; `sort` is its sort key, if the text is not."""
    return tag("td", value, class_="number", data_sort=sort)


def share(value: float) -> Html:
    """A share with a bar behind it; empty for NaN."""
    if np.isnan(value):
        return tag("td", class_="number", data_sort=-1)
    style = f"--share:{100 * value:.1f}%"
    return tag("td", f"{value:.1%}", class_="number share", style=style, data_sort=f"{value:.6g}")


def text_cell(value: object) -> Html:
    """A cell with the text of an item."""
    return tag("td", "" if value is None else shorten(str(value), TEXT), class_="text")


def class_tag(classes: Sequence[Any], code: int, what: str | None = None) -> Html:
    """A class in its color; `what` comes before it. A code of -1 is no label."""
    return vote_tag(classes, code, code + 1, what)


def vote_tag(names: Sequence[Any], code: int, n_classes: int, what: str | None = None) -> Html:
    """A vote: a class in its color; a vote that is not one class, such as a score, has no color. -1 is no label."""
    before = None if what is None else f"{shorten(what, NAME)}: "
    if code < 0:
        return tag("span", before, "no label", class_="class none")
    name, is_class = tag("b", shorten(str(names[code]), NAME)), code < n_classes
    style = f"--hue:{hue(code)}" if is_class else None
    return tag("span", before, name, class_="class" if is_class else "class none", style=style)


def note(text: object) -> Html:
    """A small remark."""
    return tag("p", text, class_="soft")


def cut(shown: int, of: int, what: str, which: str) -> Html | None:
    """How many of all are shown, unless all are."""
    return note(f"{shown:,} of {of:,} {what} are shown: {which}.") if shown < of else None
