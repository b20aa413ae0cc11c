"""Where LFs find something in a text, for pages: only expressions that cannot take long are searched."""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from hyperlabel.lf import LabelingFunction
from hyperlabel.lf.ready import Matches
from hyperlabel.lf.regex import translate

_OPEN, _CLOSE = "\ue000", "\ue001"  # in no ASCII text


def mark_pieces(lfs: Iterable[LabelingFunction], column: str, pieces: Sequence[str]) -> list[bool]:
    """For each piece of a text of a column, whether an LF found it, or a part of it.

    >>> from hyperlabel import keyword_lf
    >>> mark_pieces([keyword_lf("free", "spam")], "text", ["Free", " ", "money"])
    [True, False, False]
    """
    text = "".join(pieces)
    edges = np.zeros(len(text) + 1, np.int64)
    for lf in lfs:
        if isinstance(lf, Matches) and lf.column == column:
            for start, stop in find_spans(lf.pattern, text):
                edges[start] += 1
                edges[stop] -= 1
    found = np.concatenate([[0], np.cumsum(np.cumsum(edges)[:-1] > 0)])  # letters found before each place
    ends = np.cumsum([0, *map(len, pieces)])
    return [bool(hit) for hit in np.diff(found[ends]) > 0]


def find_spans(pattern: "re.Pattern[str]", text: str) -> list[tuple[int, int]]:
    """Where an expression is found in a text: by `re` if it has at most one repeat, which cannot take long.

    Otherwise Polars looks, as it does where the LF votes; in a text that Polars would read in another way, none is
    shown.

    >>> find_spans(re.compile("(a+)+$"), "a" * 40 + "b"), find_spans(re.compile("(ab+)+"), "abb ab")
    ([], [(0, 3), (4, 6)])
    """
    if len(re.findall(r"[*+?{]", re.sub(r"\\.|\(\?[a-z]*[:)]", "", pattern.pattern, flags=re.DOTALL))) <= 1:
        return [found.span() for found in pattern.finditer(text)]
    translation = translate(pattern) if text.isascii() else None
    return [] if translation is None else _find_with_polars(translation.ascii, text)


def _find_with_polars(translated: str, text: str) -> list[tuple[int, int]]:
    import polars as pl

    try:
        marked = pl.Series([text]).str.replace_all(translated, f"{_OPEN}${{0}}{_CLOSE}")[0]
    except pl.exceptions.ComputeError:  # too large an expression
        return []
    before, *parts = (marked or "").split(_OPEN)
    spans, at = [], len(before)
    for part in parts:
        spans.append((at, at + part.index(_CLOSE)))
        at += len(part) - 1
    return spans
