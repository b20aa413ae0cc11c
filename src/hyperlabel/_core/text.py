"""Values as text for errors, warnings and tables: shortened, with control characters escaped."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

_JOINERS = "\u200c\u200d"  # part of ordinary words in some scripts, and of emoji
_MOST_NAMES = 20
_LONGEST = 200  # letters of a value


def printable(text: object) -> str:
    r"""Return text on one line, with control characters and bidirectional marks escaped.

    >>> print(printable("spam\x1b[2J\n\u202etxt"))
    spam\x1b[2J\n\u202etxt
    """
    shown = str(text)
    return shown if shown.isprintable() else "".join(map(_show, shown))


def printable_lines(text: object) -> str:
    """Escape each line as `printable` does."""
    return "\n".join(map(printable, str(text).split("\n")))


def _show(character: str) -> str:
    if character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode()


def show(value: object, most: int = 60) -> str:
    """Return the `repr` of a value on one line, in at most this many letters, even if `repr` fails.

    >>> show([1, 2]), show("spam and ham", 6)
    ('[1, 2]', "'spam ")
    """
    try:
        text = repr(value)
    except BaseException as error:  # too deep, or a panic of Polars, which is no Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        return f"a {type(value).__name__}"
    return text[:most] if text.isprintable() else printable(" ".join(text.split())[:most])


def show_some(values: Sequence[object], most: int = 10) -> str:
    """Return the first few values as text."""
    return ", ".join(show(value, _LONGEST) for value in values[:most]) + (", ..." if len(values) > most else "")


def show_names(names: Sequence[str]) -> str:
    """Return names on one line, and their number if there are many."""
    if not names:
        return "none"
    more = f", ... ({len(names)} in all)" if len(names) > _MOST_NAMES else ""
    return ", ".join(printable(name) or "(nameless)" for name in names[:_MOST_NAMES]) + more


def show_counts(counts: Mapping[Any, int]) -> str:
    """Return values with their counts on one line."""
    return show_names([f"{value} {n:,}" for value, n in counts.items()])


def text_table(header: Sequence[object], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return a small table as text, with aligned columns; None is an empty cell, the caption is the first line.

    >>> print(text_table(["item", "label"], [[0, "spam"], [10, None]], "2 items"))
    2 items
    item  label
    0     spam
    10
    """
    lines = [["" if cell is None else printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([*([caption] if caption else []), *aligned])


def html_table(header: Sequence[object], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return a small HTML table; everything is escaped, None is an empty cell, the caption is one line on the left."""

    def line(cells: Sequence[object], tag: str) -> str:
        texts = ("" if cell is None else escape(printable(cell)) for cell in cells)
        return "<tr>" + "".join(f"<{tag}>{text}</{tag}>" for text in texts) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    title = f'<caption style="text-align:left;white-space:nowrap">{escape(caption)}</caption>' if caption else ""
    return f"<table>{title}{line(header, 'th')}{body}</table>"
