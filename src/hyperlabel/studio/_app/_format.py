"""Formatting values and texts for pages."""

import re
from collections.abc import Hashable, Iterable, Sequence
from html import escape

import numpy as np

from hyperlabel.lf import LabelingFunction, RegexLF, translate
from hyperlabel.reports import hue
from hyperlabel.studio._snapshot import Share

_MOST_COLORS = 9  # classes that can be told apart by color
_OPEN, _CLOSE = "\ue000", "\ue001"  # in no ASCII text


def percent(value: float | None) -> str:
    """Format a share in percent; a dash for none.

    >>> percent(0.123), percent(None), percent(float("nan")), percent(0.0001)
    ('12.3%', '-', '-', 'less than 0.1%')
    """
    if value is None or value != value:
        return "-"
    return "less than 0.1%" if 0 < value < 0.0005 else f"{100 * value:.1f}%"


def interval(share: Share) -> str:
    """Format a share with its interval.

    >>> interval(Share(8, 10)), interval(Share(0, 0))
    ('80.0% (49-94%), 10 items', '-')
    """
    low, high = share.interval
    return f"{percent(share.value)} ({100 * low:.0f}-{100 * high:.0f}%), {share.whole:,} items" if share.whole else "-"


def color_of(number: int, k: int = 0) -> str:
    """Return the color of one of k classes, as the report has it; gray for all if there are too many.

    >>> color_of(0, 2), color_of(0, 77)
    ('hsl(170, 65%, 45%)', '#6b7280')
    """
    return f"hsl({hue(number)}, 65%, 45%)" if k <= _MOST_COLORS else "#6b7280"


def class_name(number: int, classes: Sequence[Hashable]) -> str:
    """Return the name of a class number; empty for none."""
    return str(classes[number]) if number >= 0 else ""


def mark_words(words: Sequence[tuple[str, bool]], selected: tuple[int, int] | None, hits: Sequence[bool]) -> str:
    """Write a text as HTML in which each word is an element, with marks for what is selected and what LFs match.

    The text is in pieces, each with whether it is a word; `selected` are the first and the last selected piece, and
    `hits` says for each whether an LF matches it.

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


def find_hits(lfs: Iterable[LabelingFunction], column: str, pieces: Sequence[str]) -> list[bool]:
    """For each piece of a text of a column, return whether an LF matches it, or a part of it."""
    text = "".join(pieces)
    edges = np.zeros(len(text) + 1, np.int64)
    for lf in lfs:
        if isinstance(lf, RegexLF) and lf.column == column:
            for start, stop in _find_spans(lf.pattern, text):
                edges[start] += 1
                edges[stop] -= 1
    matched = np.concatenate([[0], np.cumsum(np.cumsum(edges)[:-1] > 0)])  # letters matched before each position
    ends = np.cumsum([0, *map(len, pieces)])
    return [bool(hit) for hit in np.diff(matched[ends]) > 0]


def _find_spans(pattern: "re.Pattern[str]", text: str) -> list[tuple[int, int]]:
    """Find an expression in a text: with `re` if it has at most one repeat, which cannot take long.

    Otherwise with Polars, which is also what the LF votes with; in a text that Polars would read in another way, no
    match is shown.

    >>> _find_spans(re.compile("(a+)+$"), "a" * 40 + "b"), _find_spans(re.compile("(ab+)+"), "abb ab")
    ([], [(0, 3), (4, 6)])
    """
    if len(re.findall(r"[*+?{]", re.sub(r"\\.|\(\?[a-z]*[:)]", "", pattern.pattern, flags=re.DOTALL))) <= 1:
        return [match.span() for match in pattern.finditer(text)]
    translation = translate(pattern) if text.isascii() else None
    return [] if translation is None else _find_with_polars(translation.ascii, text)


def _find_with_polars(translated: str, text: str) -> list[tuple[int, int]]:
    import polars as pl

    try:
        marked = pl.Series([text]).str.replace_all(translated, f"{_OPEN}${{0}}{_CLOSE}")[0]
    except pl.exceptions.ComputeError:  # the expression is too large
        return []
    before, *parts = (marked or "").split(_OPEN)
    spans, at = [], len(before)
    for part in parts:
        spans.append((at, at + part.index(_CLOSE)))
        at += len(part) - 1
    return spans
