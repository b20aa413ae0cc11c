"""Candidate rules for an item: keywords, phrases, expressions, lengths, numbers and other columns, the best first.

A candidate is a line of Python for `lfs.py`. How promising it is follows from what is already known: the gold and the
labels of the other rows on which it would vote, and the number of these rows.
"""

import builtins
import keyword
import math
import re
import unicodedata
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64, Ints
from hyperlabel.lf import keyword_lf
from hyperlabel.studio.data import Data
from hyperlabel.studio.snapshot import Effect, Snapshot, find_effect
from hyperlabel.studio.words import WordIndex
from hyperlabel.votes.classes import ABSTAIN, smallest_type

_LEAST_ROWS = 2  # a rule must vote on this many rows to be worth a line
_PRIOR = 4.0  # doubt about the precision of a rule, in items
_GOLD, _LABEL = 1.0, 0.1  # weights of a gold label, and of a label, which may be wrong together with others
_HOPE = 0.1  # gain over chance that is assumed before anything is known about a rule
_COMMON = 0.05  # at this share of the rows, a third of that gain is assumed
_LONG = 4  # letters after the first that a word needs for the full gain
_WORDS = 40  # words of an item that are tried
_LETTERS = 40  # letters of an item or a class that a name takes


class Idea(NamedTuple):
    """A rule that may be proposed."""

    kind: str  # `keyword`, `phrase`, `expression`, `length`, `number` or `column`
    name: str  # a name for it
    call: str  # the call that makes the LF, a format with places for `vote` and, if it needs one, `name`
    rows: NDArray[np.integer]  # rows on which it votes


@dataclass(frozen=True, eq=False)
class Candidate:
    """A rule that is proposed.

    Attributes:
        kind: `keyword`, `phrase`, `expression`, `length`, `number` or `column`.
        name: Name of the LF.
        source: The statement that defines it.
        vote: The class it votes for.
        effect: What it would do.
        precision: Share of its votes that are right, according to gold and labels.
        score: How promising it is.
    """

    kind: str
    name: str
    source: str
    vote: Hashable
    effect: Effect
    precision: float
    score: float


Scored = tuple[float, Idea]


class KnownClasses:
    """What is known about the classes of rows: gold, and the labels where an LF votes."""

    def __init__(self, snapshot: Snapshot) -> None:
        known = snapshot.best >= 0
        self.weight = np.where(snapshot.gold >= 0, _GOLD, _LABEL) * known  # (n,)
        self.probabilities = snapshot.labels.probabilities
        total = self.weight @ self.probabilities
        self.prior: Float64 = (total + _PRIOR) / (total + _PRIOR).sum()  # (k,)
        self.covered = known

    def precision(self, rows: Ints, vote: int) -> tuple[float, float]:
        """Share of the rows that are of a class, as far as known, and its standard deviation."""
        weight = self.weight[rows]
        total = float(weight.sum()) + _PRIOR
        share = (_PRIOR * self.prior[vote] + float(weight @ self.probabilities[rows, vote])) / total
        return share, float(np.sqrt(share * (1 - share) / (total + 1)))

    def score(self, rows: Ints, vote: int, hope: float) -> float:
        """How promising a rule is that votes for a class on some rows: by what is known about them, else assumed."""
        n_new = len(rows) - self.covered[rows].sum() / 2  # rows without votes count twice
        share, deviation = self.precision(rows, vote)
        gain = share - self.prior[vote]
        return float(np.sqrt(n_new) * (max(gain - deviation, 0) + hope * (gain >= 0)))


def hope(rows: Ints, letters: Ints, n: int) -> Float64:
    """The assumed gain over chance of words before anything is known: little for common and short ones.

    From the number of rows that have each word, of its letters, and of all rows.
    """
    short = np.clip((letters - 1) / _LONG, 0, 1)
    given: Float64 = _HOPE * np.exp(-rows / n / _COMMON) * short * (rows >= _LEAST_ROWS)
    return given


def propose(
    ideas: Iterable[Idea], snapshot: Snapshot, vote: Hashable, taken: Collection[str], most: int
) -> list[Candidate]:
    """The most promising ideas as candidates, the best first; their names are none of those `taken`."""
    evidence, number = KnownClasses(snapshot), snapshot.classes.index(vote)
    scored = []
    for idea in ideas:
        if len(idea.rows) >= _LEAST_ROWS:
            chance = float(hope(np.array(len(idea.rows)), np.array(len(idea.name)), snapshot.n))
            scored.append((evidence.score(idea.rows, number, chance), idea))
    scored.sort(key=lambda each: -each[0])
    candidates = []
    for score, idea in _distinct(scored)[:most]:
        name, source = to_source(idea, vote, taken)
        column = np.full(snapshot.n, ABSTAIN, smallest_type(snapshot.k))
        column[idea.rows] = number
        effect = find_effect(snapshot, name, column)
        precision, _ = evidence.precision(idea.rows, number)
        candidates.append(Candidate(idea.kind, name, source, vote, effect, precision, score))
    return candidates


def _distinct(scored: list[Scored]) -> list[Scored]:
    """The ideas without those that vote on the same rows as an earlier one."""
    first: dict[bytes, Scored] = {}
    for each in scored:
        first.setdefault(each[1].rows.tobytes(), each)
    return list(first.values())


def ideas_of_selection(data: Data, index: WordIndex, selection: str) -> Iterator[Idea]:
    """Rules from what was selected in a text: all of it, its words and pairs of neighbors, and expressions."""
    text = " ".join(selection.split())
    words = _words(text)
    yield from _idea_of_phrase(data, index, text.lower())  # keyword LFs ignore case
    if len(words) > 1:
        yield from _ideas_of_words(data, index, words)
    for word in dict.fromkeys(words):
        stem = word[: max(4, len(word) - 2)]
        if len(stem) < len(word):
            call = rf"regex_lf(r'(?i)\b{stem}\w*', {{vote}}{_column(data)})"
            yield Idea("expression", f"{stem}_", call, index.rows_of_stem(stem))
    yield from _ideas_of_signs(data, text)


def ideas_of_item(data: Data, index: WordIndex, row: int) -> Iterator[Idea]:
    """Rules from a whole item: its words and pairs of neighbors, its length, its values in other columns."""
    text = data.text(row)
    yield from _ideas_of_words(data, index, _words(text)[:_WORDS])
    yield from _ideas_of_signs(data, text)
    yield _idea_of_length(data, len(text))
    for name in data.metadata:
        yield from _ideas_of_column(data, name, data.frame[name][row])


def _ideas_of_words(data: Data, index: WordIndex, words: Sequence[str]) -> Iterator[Idea]:
    for word in dict.fromkeys(words):
        call = f"keyword_lf({_quote(word)}, {{vote}}{_column(data)})"
        yield Idea("keyword", word, call, index.rows_of(word))
    for pair in dict.fromkeys(zip(words, words[1:], strict=False)):
        yield from _idea_of_phrase(data, index, " ".join(pair))


def _idea_of_phrase(data: Data, index: WordIndex, phrase: str) -> Iterator[Idea]:
    """A keyword LF for a phrase, which only rows with all of its words can have."""
    words = _words(phrase)
    lf = keyword_lf(phrase, "vote") if phrase else None
    if lf is None:
        return
    pattern = f"(?i){lf.function.pattern.pattern}"  # type: ignore[attr-defined]
    rows = data.rows_matching(pattern, index.rows_of_all(words) if words else None)
    call = f"keyword_lf({_quote(phrase)}, {{vote}}{_column(data)})"
    yield Idea("phrase" if len(words) > 1 else "keyword", phrase, call, rows)


_SIGNS = {  # name: expression, as Python and Polars read it
    "link": r"https?://|www\.",
    "number": r"\d",
    "exclamation": r"!{2,}",
    "capitals": r"\b[A-Z]{3,}\b",
}


def _ideas_of_signs(data: Data, text: str) -> Iterator[Idea]:
    """Links, numbers and shouting, if a text has them."""
    for name, pattern in _SIGNS.items():
        if re.search(pattern, text):
            call = f"regex_lf(r'{_escape(pattern)}', {{vote}}{_column(data)})"
            yield Idea("expression", name, call, data.rows_matching(pattern))


def _idea_of_length(data: Data, length: int) -> Idea:
    lengths = f"pl.col({_quote(data.settings.text)}).str.len_chars()"
    if length <= np.median(data.lengths):
        bound = -(-max(length, 1) // 10) * 10
        name, test, mask = f"at_most_{bound}_letters", f"{lengths} <= {bound}", data.lengths <= bound
    else:
        bound = length // 10 * 10
        name, test, mask = f"at_least_{bound}_letters", f"{lengths} >= {bound}", data.lengths >= bound
    return Idea("length", name, f"expression_lf({{name}}, {test}, vote={{vote}})", np.flatnonzero(mask))


def _ideas_of_column(data: Data, name: str, value: Any) -> Iterator[Idea]:
    """Rules from the value of an item in another column: equal to a text, at least or at most a number."""
    series, column = data.frame[name], _quote(name)
    if isinstance(value, str | bool):
        call = f"lookup_lf({{{{{_quote(value)}: {{vote}}}}}}, column={column})"
        yield Idea("column", f"{name}_{value}", call, _rows(series == value))
    elif isinstance(value, int | float) and math.isfinite(value):
        at_least, at_most = (f"threshold_lf({column}, {{vote}}, {b}={value!r})" for b in ("at_least", "at_most"))
        yield Idea("number", f"{name}_at_least_{value}", at_least, _rows(series >= value))
        yield Idea("number", f"{name}_at_most_{value}", at_most, _rows(series <= value))


def _rows(mask: Any) -> NDArray[np.intp]:
    """The rows of a Polars mask, without nulls."""
    return np.flatnonzero(mask.fill_null(False).to_numpy())


def _quote(value: Any) -> str:
    """A value as Python, within the format of a call."""
    return _escape(repr(value))


def _escape(text: str) -> str:
    """A text that stays itself within a format."""
    return text.replace("{", "{{").replace("}", "}}")


def to_source(idea: Idea, vote: Hashable, taken: Collection[str]) -> tuple[str, str]:
    r"""The name and the statement of an idea, for a class; the name is not one that is taken.

    >>> idea = Idea("keyword", "check out", "keyword_lf('check out', {vote})", np.array([0, 1]))
    >>> to_source(idea, "spam", [])
    ('check_out', "check_out = keyword_lf('check out', 'spam', name='check_out')\n")
    """
    name = free_name(idea.name, vote, taken)
    call = idea.call.format(vote=repr(vote), name=repr(name))
    if not call.startswith("expression_lf"):
        call = f"{call[:-1]}, name={name!r})"
    return name, f"{name} = {call}\n"


def free_name(wanted: str, vote: Hashable, taken: Collection[str]) -> str:
    """A name for an LF: letters, digits and underscores, not used by another LF, nor by Python.

    >>> free_name("Check out!", "spam", []), free_name("any", "spam", []), free_name("a", 1, ["a", "a_1"])
    ('check_out', 'any_spam', 'a_1_2')
    """
    slug = _slug(wanted)[:_LETTERS] or "rule"
    slug = slug if slug.isidentifier() else f"lf_{slug}"
    reserved = {*taken, *keyword.kwlist, *dir(builtins), *_RESERVED}
    if slug not in reserved:
        return slug
    slug = f"{slug}_{_slug(str(vote))[:_LETTERS] or 'vote'}"
    numbers = (f"{slug}_{i}" if i > 1 else slug for i in range(1, len(taken) + 3))
    return next(name for name in numbers if name not in reserved)


def _slug(text: str) -> str:
    """Letters, digits and underscores that may be in a name, in the form in which Python reads it.

    Two names that differ only in the forms of their letters are one variable.

    >>> _slug("m\u00b2 \ufb01ne!")
    'm2_fine'
    """
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    letters = "".join(letter if f"a{letter}".isidentifier() else "_" for letter in plain)
    return re.sub("__+", "_", letters).strip("_")


_RESERVED = ("pl", "re", "hl", "keyword_lf", "regex_lf", "lookup_lf", "threshold_lf", "expression_lf")


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _column(data: Data) -> str:
    """The argument that names the column of the texts, if it is not the default."""
    name = data.settings.text
    return "" if name == "text" else f", column={_quote(name)}"
