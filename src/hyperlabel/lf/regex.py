r"""Regular expressions over whole columns, with exactly the results of Python's `re`.

Polars' engine is much faster than `re`, but differs from it: in what is a letter, a digit, a space or a word's
edge, in case, in `$`, and in its syntax. On ASCII texts the differences are few and known, so those go to Polars
with the expression translated token by token. If a token means something else outside ASCII, Polars searches
the other texts for a looser expression that matches at least where `re` would, and `re` checks these matches.
An expression with an unknown token goes to `re` entirely. Polars takes time in proportion to a text; what
`re` searches has a time limit.
"""

import re
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.lf.search import TIMEOUT, search_texts

# To Python, the separators 1c to 1f are spaces.
SETS = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t-\r\x1c-\x20"}
CONTROLS = {"n": r"\n", "t": r"\t", "r": r"\r", "f": r"\x0c", "v": r"\x0b", "a": r"\x07"}
SIGN = r"[^A-Za-z0-9]"

TOKEN = re.compile(
    rf"""
      (?P<repeat> (?: [*+?] | \{{ \d{{1,3}} (?: ,\d{{0,3}} )? \}} ) \?? (?![*+?{{]) )
    | (?P<set> \[ \^? (?: \\[dws] | \\[ntrfv] | \\{SIGN} | [^\\\[\]^&~|-] | (?<=[A-Za-z0-9])-(?=[A-Za-z0-9]) )+ -? \] )
    | (?P<group> \( (?: \?: | (?!\?) ) | \) | \| )
    | (?P<edge> \\b | \\A | \\Z | \^ | \$\Z )
    | (?P<dot> \. )
    | \\ (?: (?P<kind> [dwsDWS] ) | (?P<control> [ntrfva] ) | (?P<escaped> {SIGN} ) )
    | (?P<plain> [^\\.^$*+?{{}}()\[\]|] )
    """,
    re.VERBOSE | re.DOTALL,
)
EDGES = {r"\b": r"(?-u:\b)", r"\A": r"\A", r"\Z": r"\z", "^": r"\A", "$": r"\n?\z"}


class Texts:
    """A column of (n,) texts and nulls, a Polars series."""

    def __init__(self, series: Any) -> None:
        self.series = series

    @cached_property
    def wide(self) -> NDArray[np.bool_]:
        """Which texts are not ASCII. -> (n,)."""
        mask: NDArray[np.bool_] = (
            (self.series.str.len_bytes() != self.series.str.len_chars()).fill_null(False).to_numpy()
        )
        return mask

    @cached_property
    def wide_series(self) -> Any:
        """The texts that are not ASCII."""
        return self.series.filter(self.wide)


def match_texts(pattern: "re.Pattern[str]", texts: Texts, timeout: float | None = TIMEOUT) -> NDArray[np.bool_]:
    """Where an expression is found in texts, not in nulls. -> (n,); a SlowExpressionError if a text takes too long.

    >>> import polars as pl
    >>> texts = Texts(pl.Series(["CAFE", "caf\u00e9", "cafeteria", None]))
    >>> match_texts(re.compile("caf.$", re.IGNORECASE), texts).tolist()
    [True, True, False, False]
    """
    translation = translate(pattern)
    found = None if translation is None else _contains(texts.series, translation.ascii)
    if translation is None or found is None:
        found, left = np.zeros(len(texts.series), bool), texts.series.is_not_null().to_numpy()
    elif translation.any != translation.ascii and len(texts.wide_series):
        loose = _contains(texts.wide_series, translation.any)
        left = texts.wide.copy()
        left[left] = True if loose is None else loose
        found[texts.wide] = False
    else:
        return found
    found[left] = search_texts(pattern, texts.series.filter(left).to_list(), timeout, np.flatnonzero(left).tolist())
    return found


class Translation(NamedTuple):
    """A Python expression, for Polars."""

    ascii: str  # found in an ASCII text exactly where `re` finds the expression
    any: str  # found in any text at least where `re` finds the expression; exactly there if equal to `ascii`


def translate(pattern: "re.Pattern[str]") -> Translation | None:
    r"""The translation of an expression; None if it has an unknown token.

    >>> translate(re.compile(r"\bfree\d+$"))
    Translation(ascii='(?-u:\\b)free[0-9]+\\n?\\z', any='(?:)free(?s:.)+\\n?\\z')
    >>> translate(re.compile(r"(?<=a)b"))
    """
    ignore_case = bool(pattern.flags & re.IGNORECASE)
    source = re.sub(r"\A\(\?i\)", "", pattern.pattern)
    tokens = _split(source)
    if pattern.flags & ~(re.IGNORECASE | re.UNICODE) or not source.isascii() or tokens is None:
        return None
    start = "(?i)" if ignore_case else ""
    exact = [_translate_token(ignore_case, kind, token) for kind, token in tokens]
    loose = [_loosen_token(ignore_case, kind, token) for kind, token in tokens]
    return Translation(start + "".join(exact), start + "".join(loose))


def _split(source: str) -> list[tuple[str, str]] | None:
    """The tokens of an expression, each with its kind; None if one is unknown."""
    tokens = []
    at = 0
    while at < len(source):
        found = TOKEN.match(source, at)
        if found is None:
            return None
        tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
        at = found.end()
    return tokens


def _translate_token(ignore_case: bool, kind: str, token: str) -> str:
    if kind in ("repeat", "group"):
        return token
    if kind == "edge":
        return EDGES[token]
    if kind == "dot":
        return r"[^\n]"
    if kind == "kind":
        return f"[{'^' if token.isupper() else ''}{SETS[token.lower()]}]"
    if kind == "control":
        return CONTROLS[token]
    if ignore_case and token in ("i", "I"):
        return r"[i\x{130}\x{131}]"  # to `re`, the Turkish letters are cases of i
    return _translate_set(token) if kind == "set" else _literal(token)


def _loosen_token(ignore_case: bool, kind: str, token: str) -> str:
    if token == r"\b":
        return "(?:)"
    if kind == "kind" or (kind == "set" and (ignore_case or re.search(r"\\[dws]", token))):
        return "(?s:.)"
    return _translate_token(ignore_case, kind, token)


def _translate_set(token: str) -> str:
    negated = token.startswith("[^")
    members = re.findall(r"\\?.", token[1 + negated : -1], re.DOTALL)
    return f"[{'^' if negated else ''}{''.join(map(_translate_member, members, members[1:] + ['']))}]"


def _translate_member(member: str, following: str) -> str:
    if member == "-" and following:
        return member
    if member[0] == "\\" and member[1] in SETS:
        return SETS[member[1]]
    if member[0] == "\\" and member[1] in CONTROLS:
        return CONTROLS[member[1]]
    return _literal(member[-1])


def _literal(character: str) -> str:
    return character if character.isalnum() else f"\\x{ord(character):02x}"


def _contains(series: Any, translated: str) -> NDArray[np.bool_] | None:
    """Where Polars finds an expression; None if it is too large for Polars."""
    import polars as pl

    try:
        found = series.str.contains(translated, literal=False, strict=True)
    except pl.exceptions.ComputeError:
        return None
    filled: NDArray[np.bool_] = found.fill_null(False).to_numpy(writable=True)
    return filled
