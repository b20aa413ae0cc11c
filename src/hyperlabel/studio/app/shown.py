"""How values are written on the pages."""

from collections.abc import Hashable, Sequence
from html import escape

from hyperlabel.studio.figures import Share

COLORS = ("#3b82f6", "#d9822b", "#2f9e63", "#b1457b", "#7a5bd0", "#8a8f3c", "#3a9fb0", "#b3543e")
"""The colors of the classes, in their order; readable on light and dark."""


def percent(value: float | None) -> str:
    """A share in percent; a dash for nothing.

    >>> percent(0.123), percent(None), percent(float("nan"))
    ('12.3%', '-', '-')
    """
    return "-" if value is None or value != value else f"{100 * value:.1f}%"


def interval(share: Share) -> str:
    """A share with its interval.

    >>> interval(Share(8, 10)), interval(Share(0, 0))
    ('80.0% (49-94%), 10 items', '-')
    """
    if not share.whole:
        return "-"
    return f"{percent(share.value)} ({100 * share.low:.0f}-{100 * share.high:.0f}%), {share.whole:,} items"


def color_of(number: int) -> str:
    """The color of a class; gray for none."""
    return COLORS[number % len(COLORS)] if number >= 0 else "#8b8f98"


def class_name(number: int, classes: Sequence[Hashable]) -> str:
    """The name of a class number; nothing for none, since a class may be named by any sign."""
    return str(classes[number]) if number >= 0 else ""


def mark_words(words: Sequence[tuple[str, bool]], selected: tuple[int, int] | None, hits: Sequence[bool]) -> str:
    """A text as HTML in which each word is an element; what was selected and what LFs found is marked.

    The text is in pieces, each with whether it is a word; `selected` are the first and the last selected piece, and
    `hits` says for each whether an LF found it.

    >>> mark_words([("<b>", False), ("hi", True)], (1, 1), [False, True])
    '&lt;b&gt;<span data-i="1" class="word hit selected">hi</span>'
    """
    parts = []
    for i, (piece, is_word) in enumerate(words):
        inside = selected is not None and selected[0] <= i <= selected[1]
        if not is_word and not inside and not hits[i]:
            parts.append(escape(piece))
            continue
        kinds = ["word" if is_word else "", "hit" if hits[i] else "", "selected" if inside else ""]
        parts.append(f'<span data-i="{i}" class="{" ".join(filter(None, kinds))}">{escape(piece)}</span>')
    return "".join(parts)
