r"""Regular expressions over whole columns, with exactly the results of Python's `re`, and with a time limit.

Polars' engine is much faster than `re`, but differs from it: in what is a letter, a digit, a space or a word's
edge, in case, in `$`, and in its syntax. On ASCII texts the differences are few and known, so those go to Polars
with the expression translated token by token. If a token means something else outside ASCII, Polars searches
the other texts for a looser expression that matches at least where `re` would, and `re` checks these matches.
An expression with an unknown token goes to `re` entirely.

Polars takes time in proportion to a text. `re` tries one way after another, and an expression such as `(a+)+$` has
more ways through forty letters than anyone can wait for. Nothing in this process could stop it, so a separate process
searches, and ends itself when a text takes too long. The package `regex` has a time limit of its own, but other
letters, spaces and word edges than `re` outside ASCII.
"""

import marshal
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import show
from hyperlabel.errors import ParameterError

TIMEOUT = 10.0
"""Seconds that `re` may take for one text."""

_CHUNK = 100_000  # texts that a process searches

# The timer of faulthandler needs no Python to run: it ends the process in the middle of a search. It is set again
# after a tenth of its time, so that a text gets between the limit and a tenth more.
_PROGRAM = """
import faulthandler, marshal, os, re, sys, time
source, flags, limit, texts = marshal.load(sys.stdin.buffer)
search, nowhere, end = re.compile(source, flags).search, open(os.devnull, "w"), 0.0
for text in texts:
    if time.monotonic() >= end:
        faulthandler.dump_traceback_later(1.1 * limit, exit=True, file=nowhere)
        end = time.monotonic() + 0.1 * limit
    os.write(1, b"1" if search(text) else b"0")
"""

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


class SlowExpressionError(ParameterError):
    """A regular expression that takes too long on a text.

    Attributes:
        row: The row of the text.
    """

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row


class Texts:
    """A column of (n,) texts and nulls, a Polars series."""

    def __init__(self, series: Any) -> None:
        self.series = series

    @cached_property
    def wide(self) -> NDArray[np.bool_]:
        """True where a text has letters outside ASCII. -> (n,)."""
        mask: NDArray[np.bool_] = (
            (self.series.str.len_bytes() != self.series.str.len_chars()).fill_null(False).to_numpy()
        )
        return mask


def match_texts(pattern: "re.Pattern[str]", texts: Texts, timeout: float | None = TIMEOUT) -> NDArray[np.bool_]:
    """Find an expression in texts, not in nulls. -> (n,); a SlowExpressionError if a text takes too long.

    >>> import polars as pl
    >>> texts = Texts(pl.Series(["CAFE", "caf\u00e9", "cafeteria", None]))
    >>> match_texts(re.compile("caf.$", re.IGNORECASE), texts).tolist()
    [True, True, False, False]
    """
    translation = translate(pattern)
    matches = None if translation is None else _search_in_polars(texts.series, translation.ascii)
    if translation is None or matches is None:
        matches, rest = np.zeros(len(texts.series), bool), texts.series.is_not_null().to_numpy()
    elif translation.any != translation.ascii and texts.wide.any():
        loose = _search_in_polars(texts.series.filter(texts.wide), translation.any)
        rest = texts.wide.copy()
        rest[rest] = True if loose is None else loose
        matches[texts.wide] = False
    else:
        return matches
    matches[rest] = search_texts(pattern, texts.series.filter(rest).to_list(), timeout, np.flatnonzero(rest).tolist())
    return matches


def _search_in_polars(series: Any, translated: str) -> NDArray[np.bool_] | None:
    """Return where Polars finds an expression; None if it is too large for Polars."""
    import polars as pl

    try:
        matches = series.str.contains(translated, literal=False, strict=True)
    except pl.exceptions.ComputeError:
        return None
    mask: NDArray[np.bool_] = matches.fill_null(False).to_numpy(writable=True)
    return mask


def search_texts(
    pattern: "re.Pattern[str]", texts: Sequence[str], timeout: float | None = TIMEOUT, rows: Sequence[int] | None = None
) -> NDArray[np.bool_]:
    """Find an expression in texts by `re`. -> (n,).

    A text that takes longer than `timeout` seconds, unless that is None, is a SlowExpressionError, which names its row
    among `rows`.
    """
    if timeout is None or _is_plain(pattern):
        return np.array([pattern.search(text) is not None for text in texts], bool)
    matches = b""
    for start in range(0, len(texts), _CHUNK):
        matches += _search_elsewhere(pattern, texts[start : start + _CHUNK], timeout)
        if len(matches) < min(start + _CHUNK, len(texts)):
            row = len(matches) if rows is None else rows[len(matches)]
            raise SlowExpressionError(
                f"the expression {show(pattern.pattern, 100)} takes more than {timeout:g} s on row {row}, which is "
                f"{show(texts[len(matches)], 100)}; write it without repeats that can match in several ways, such as "
                "(a+)+, or give it more time with timeout",
                row,
            )
    return np.asarray(np.frombuffer(matches, np.uint8) == ord("1"))


def _is_plain(pattern: "re.Pattern[str]") -> bool:
    """Return whether an expression has no repeats or groups, so that there is only one way through a text."""
    source = re.sub(r"\A\(\?i\)", "", pattern.pattern)
    return not re.search(r"[*+?{(]", re.sub(r"\\.", "", source, flags=re.DOTALL))


def _search_elsewhere(pattern: "re.Pattern[str]", texts: Sequence[str], timeout: float) -> bytes:
    """Return `0` or `1` for each text, from another process; fewer if it ended itself on the next text."""
    work = pattern.pattern, int(pattern.flags & ~re.DEBUG), float(timeout), [str(text) for text in texts]
    command = [sys.executable, "-I", "-S", "-W", "ignore", "-c", _PROGRAM]
    return subprocess.run(command, input=marshal.dumps(work), stdout=subprocess.PIPE, check=False).stdout


class Translation(NamedTuple):
    """A Python expression, for Polars."""

    ascii: str  # found in an ASCII text exactly where `re` finds the expression
    any: str  # found in any text at least where `re` finds the expression; exactly there if equal to `ascii`


@lru_cache(maxsize=1024)
def translate(pattern: "re.Pattern[str]") -> Translation | None:
    r"""Translate an expression; None if it has an unknown token.

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
    """Split an expression into tokens, each with its kind; None if one is unknown."""
    tokens = []
    at = 0
    while at < len(source):
        match = TOKEN.match(source, at)
        if match is None:
            return None
        tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
        at = match.end()
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
