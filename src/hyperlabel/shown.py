"""How values are shown in errors, warnings and tables: a few of many, never obeyed by a terminal or a browser."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

_JOINERS = "\u200c\u200d"  # part of ordinary words in some scripts, and of emoji
_MOST_NAMES = 20
_LONGEST = 200  # letters of a value


def printable(text: object) -> str:
    r"""Text on one line, with everything that a terminal could obey written out: escapes, controls, bidi marks.

    >>> print(printable("spam\x1b[2J\n\u202etxt"))
    spam\x1b[2J\n\u202etxt
    """
    shown = str(text)
    return shown if shown.isprintable() else "".join(map(_show, shown))


def printable_lines(text: object) -> str:
    r"""As `printable`, but lines stay lines.

    >>> print(printable_lines("spam\x1b[2J\nham"))
    spam\x1b[2J
    ham
    """
    return "\n".join(map(printable, str(text).split("\n")))


def _show(character: str) -> str:
    if character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode()


def show(value: object, most: int = 60) -> str:
    """How any object looks in an error, on one line, in at most this many letters, even if its `repr` fails.

    >>> show([1, 2]), show("spam and ham", 6)
    ('[1, 2]', "'spam ")
    """
    try:
        text = repr(value)
    except BaseException as error:  # too deep, or an error of its own; a panic of Polars is no Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        return f"a {type(value).__name__}"
    return text[:most] if text.isprintable() else printable(" ".join(text.split())[:most])


def show_some(values: Sequence[object], most: int = 10) -> str:
    """The first few values, for an error.

    >>> show_some([1, "a"]), show_some([1, 2, 3], 2)
    ("1, 'a'", '1, 2, ...')
    """
    return ", ".join(show(value, _LONGEST) for value in values[:most]) + (", ..." if len(values) > most else "")


def show_names(names: Sequence[str]) -> str:
    """Names in one line, and how many if there are many.

    >>> show_names(["a", "b"]), show_names([])
    ('a, b', 'none')
    """
    if not names:
        return "none"
    more = f", ... ({len(names)} in all)" if len(names) > _MOST_NAMES else ""
    return ", ".join(printable(name) or "(nameless)" for name in names[:_MOST_NAMES]) + more


def show_counts(counts: Mapping[Any, int]) -> str:
    """Values with their counts in one line.

    >>> show_counts({"ham": 1200, "spam": 3})
    'ham 1,200, spam 3'
    """
    return show_names([f"{value} {n:,}" for value, n in counts.items()])


def html_table(header: Sequence[object], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A small HTML table; everything is escaped, and None is an empty cell.

    The caption is one line on the left, whatever the width of the table.

    >>> html_table(["<b>"], [[None]])
    '<table><tr><th>&lt;b&gt;</th></tr><tr><td></td></tr></table>'
    """

    def line(cells: Sequence[object], tag: str) -> str:
        texts = ("" if cell is None else escape(printable(cell)) for cell in cells)
        return "<tr>" + "".join(f"<{tag}>{text}</{tag}>" for text in texts) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    title = f'<caption style="text-align:left;white-space:nowrap">{escape(caption)}</caption>' if caption else ""
    return f"<table>{title}{line(header, 'th')}{body}</table>"
