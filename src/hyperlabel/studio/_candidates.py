"""Candidate rules for an item: keywords, phrases, expressions, lengths, numbers and other columns, the best first.

A candidate is a line of Python for `lfs.py`. Its score follows from the gold and the labels of the rows on which it
would vote, and from the number of these rows.
"""

import builtins
import itertools
import keyword
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Ints
from hyperlabel.data import ABSTAIN, smallest_type
from hyperlabel.lf import keyword_lf
from hyperlabel.studio._data import Data
from hyperlabel.studio._snapshot import Effect, Snapshot, find_effect
from hyperlabel.studio._wording import describe_rule
from hyperlabel.studio._words import WordIndex

_LEAST_ROWS = 2  # a rule must vote on this many rows to be worth a line
_WIDEST = 0.2  # share of the rows that a rule may vote on, if there are many classes
_PRIOR = 4.0  # doubt about the precision of a rule, in items
_GOLD, _LABEL = 2.0, 0.5  # weights of a gold label, and of a label, which may be wrong together with others
_GAIN = 0.02  # gain over chance that is assumed before anything is known about a rule
_COMMON = 0.05  # at this share of the rows, a third of that gain is assumed
_LONG = 4  # letters after the first that a word needs for the full gain
_WORDS = 40  # words of an item that are tried
_PAIRED = 6  # rare words of an item that are tried in pairs
_SAME = 0.9  # two rules with this share of common rows are one
_LETTERS = 40  # letters of an item or a class in a name
_RESERVED = ("pl", "re", "hl", "keyword_lf", "regex_lf", "lookup_lf", "threshold_lf", "expression_lf")
_SIGNS = {  # name: expression, as Python and Polars read it
    "link": r"https?://|www\.",
    "number": r"\d",
    "exclamation": r"!{2,}",
    "capitals": r"\b[A-Z]{3,}\b",
}


class RuleDraft(NamedTuple):
    """A rule that may be proposed."""

    kind: str  # `keyword`, `phrase`, `expression`, `length`, `number` or `column`
    name: str  # a name for it
    call: Callable[[str, str], str]  # writes the call that makes the LF, with a vote and a name
    rows: NDArray[np.integer]  # rows on which it votes


@dataclass(frozen=True, eq=False)
class Candidate:
    """A rule that is proposed.

    Attributes:
        kind: `keyword`, `phrase`, `expression`, `length`, `number` or `column`.
        name: Name of the LF.
        source: The statement that defines it.
        vote: The class it votes for.
        effect: What it would change.
        words: When it votes, in plain words.
        precision: Share of its votes that are correct, according to gold and labels.
        score: How promising it is.
    """

    kind: str
    name: str
    source: str
    vote: Hashable
    effect: Effect
    words: str
    precision: float
    score: float


class ClassEvidence:
    """Evidence about the classes of rows: gold, and the labels, which the text gives to all of them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.best, self.gold = snapshot.best, snapshot.gold
        self.uncovered = snapshot.n_votes == 0
        known = self.best >= 0
        self.weight = np.where(self.gold >= 0, _GOLD, _LABEL) * known  # (n,)
        total = np.bincount(self.best[known], self.weight[known], snapshot.k) + _PRIOR / max(snapshot.k, 1)
        self.prior: Float64 = total / total.sum()  # (k,)

    def precision(self, rows: Ints, vote: int) -> tuple[float, float]:
        """Estimate the share of rows that are of a class, and its standard deviation."""
        weight = self.weight[rows]
        total = float(weight.sum()) + _PRIOR
        share = (_PRIOR * self.prior[vote] + float(weight @ (self.best[rows] == vote))) / total
        return share, float(np.sqrt(share * (1 - share) / (total + 1)))

    def allows(self, rows: Ints, vote: int) -> bool:
        """Return False if gold contradicts as many votes as it confirms, or if a class cannot have so many rows."""
        gold = self.gold[rows]
        wrong = int(((gold >= 0) & (gold != vote)).sum())
        is_refuted = wrong > 0 and wrong >= int((gold == vote).sum())
        return not is_refuted and len(rows) <= len(self.gold) * max(_WIDEST, 1.5 / len(self.prior))

    def score(self, rows: Ints, vote: int, assumed: float) -> float:
        """Score a rule that votes for a class on some rows, from the evidence and the gain assumed without any."""
        n_new = (len(rows) + self.uncovered[rows].sum()) / 2  # rows without votes count twice
        share, deviation = self.precision(rows, vote)
        gain = (share - self.prior[vote]) / (1 - self.prior[vote])
        return float(np.sqrt(n_new) * (max(gain - deviation, 0) ** 2 + assumed * (gain >= 0)))


def assume_gain(rows: Ints, letters: Ints, n: int) -> Float64:
    """Assume a gain over chance for words, from the rows that have each, its letters, and the number of all rows."""
    length = np.clip((letters - 1) / _LONG, 0, 1)
    gain: Float64 = _GAIN * np.exp(-rows / n / _COMMON) * length * (rows >= _LEAST_ROWS)
    return gain


def propose(
    drafts: Iterable[RuleDraft],
    snapshot: Snapshot,
    vote: Hashable,
    used_names: Collection[str],
    most: int,
    removed: Collection[str] | None,
) -> list[Candidate]:
    """Turn the most promising drafts into candidates, the best first; those that repeat an LF are left out.

    `removed` are rules that were removed: they are left out, and so is what gold refutes and what votes on most rows.
    None for words that a person selected, which are all proposed.
    """
    evidence, number = ClassEvidence(snapshot), snapshot.classes.index(vote)
    kept = [draft for draft in drafts if removed is None or evidence.allows(draft.rows, number)]
    accepted = [column == number for column in snapshot.columns.values()]
    candidates: list[Candidate] = []
    for score, draft in _rank(kept, evidence, number):
        name = free_name(draft.name, vote, used_names)
        source = f"{name} = {draft.call(repr(vote), repr(name))}\n"
        column = np.full(snapshot.n, ABSTAIN, smallest_type(snapshot.k))
        column[draft.rows] = number
        if identify(source) in (removed or ()) or any(_is_repeat(column >= 0, other) for other in accepted):
            continue
        accepted.append(column >= 0)
        precision, _ = evidence.precision(draft.rows, number)
        effect = find_effect(snapshot, name, column)
        candidates.append(Candidate(draft.kind, name, source, vote, effect, describe_rule(source), precision, score))
        if len(candidates) == most:
            break
    return candidates


def _rank(drafts: Iterable[RuleDraft], evidence: ClassEvidence, number: int) -> list[tuple[float, RuleDraft]]:
    """Score the drafts that vote on enough rows, the best first."""
    scored = []
    for draft in drafts:
        if len(draft.rows) >= _LEAST_ROWS:
            assumed = float(assume_gain(np.array(len(draft.rows)), np.array(len(draft.name)), len(evidence.best)))
            scored.append((evidence.score(draft.rows, number, assumed), draft))
    return sorted(scored, key=lambda pair: -pair[0])


def identify(source: str) -> str:
    """Return the statement of a rule without its names: the same rule is the same text.

    >>> identify("a = keyword_lf('free', 'spam', name='a')")
    "keyword_lf('free', 'spam')"
    """
    return re.sub(r", name='[^']*'\)$", ")", source.partition(" = ")[2].strip())


def _is_repeat(mask: NDArray[np.bool_], other: NDArray[np.bool_]) -> bool:
    """Return True if two rules vote on nearly the same rows."""
    return int((mask & other).sum()) >= _SAME * int((mask | other).sum())


def draft_from_selection(data: Data, index: WordIndex, selection: str) -> Iterator[RuleDraft]:
    """Draft rules from selected text: all of it, its words and pairs of neighbors, stems and other expressions."""
    text = " ".join(selection.split())
    words = _split_words(text)
    yield from _draft_phrase(data, index, text.lower())  # keyword LFs ignore case
    if len(words) > 1:
        yield from _draft_words(data, index, words)
    for word in dict.fromkeys(words):
        yield from _draft_stem(data, index, word)
    yield from _draft_signs(data, text)


def draft_from_item(data: Data, index: WordIndex, row: int) -> Iterator[RuleDraft]:
    """Draft rules from a whole item: its words and pairs of neighbors, its length, its values in other columns."""
    text = data.text(row)
    words = _split_words(text)[:_WORDS]
    yield from _draft_words(data, index, words)
    for word in dict.fromkeys(words):
        yield from _draft_stem(data, index, word)
    for length in (1, 2):
        yield from _draft_start(data, words[:length])
    yield from _draft_both(data, index, words)
    yield from _draft_signs(data, text)
    yield _draft_length(data, len(text))
    for name in data.metadata:
        yield from _draft_value(data, name, data.frame[name][row])


def _draft_words(data: Data, index: WordIndex, words: Sequence[str]) -> Iterator[RuleDraft]:
    for word in dict.fromkeys(words):
        yield RuleDraft("keyword", word, _write_call("keyword_lf", repr(word), data), index.rows_of(word))
    for pair in dict.fromkeys(zip(words, words[1:], strict=False)):
        yield from _draft_phrase(data, index, " ".join(pair))


def _draft_stem(data: Data, index: WordIndex, word: str) -> Iterator[RuleDraft]:
    stem = word[: max(4, len(word) - 2)]
    if len(stem) < len(word):
        call = _write_call("regex_lf", rf"r'(?i)\b{stem}\w*'", data)
        yield RuleDraft("expression", f"{stem}_", call, index.rows_of_stem(stem))


def _draft_start(data: Data, words: Sequence[str]) -> Iterator[RuleDraft]:
    """Draft a rule for texts that begin with some words."""
    start = " ".join(words)
    if start.isascii() and start:
        pattern = rf"(?i)^\W*{start}\b"
        call = _write_call("regex_lf", f"r'{pattern}'", data)
        yield RuleDraft("expression", f"begins_with_{start}", call, data.rows_matching(pattern))


def _draft_both(data: Data, index: WordIndex, words: Sequence[str]) -> Iterator[RuleDraft]:
    """Draft rules for texts that have two of the rarest words of an item that others have too."""
    counts = {word: len(index.rows_of(word)) for word in dict.fromkeys(words) if word.isascii()}
    rare = sorted((word for word in counts if counts[word] > _LEAST_ROWS), key=counts.__getitem__)[:_PAIRED]
    for one, other in itertools.combinations(sorted(rare), 2):
        pattern = rf"(?is)\b{one}\b.*\b{other}\b|\b{other}\b.*\b{one}\b"
        call = _write_call("regex_lf", f"r'{pattern}'", data)
        yield RuleDraft("expression", f"{one}_and_{other}", call, index.rows_of_all([one, other]))


def _draft_phrase(data: Data, index: WordIndex, phrase: str) -> Iterator[RuleDraft]:
    """Draft a keyword LF for a phrase; only rows with all of its words are searched."""
    if phrase:
        words = _split_words(phrase)
        pattern = f"(?i){keyword_lf(phrase, 'vote').function.pattern.pattern}"  # type: ignore[attr-defined]
        rows = data.rows_matching(pattern, index.rows_of_all(words) if words else None)
        call = _write_call("keyword_lf", repr(phrase), data)
        yield RuleDraft("phrase" if len(words) > 1 else "keyword", phrase, call, rows)


def _draft_signs(data: Data, text: str) -> Iterator[RuleDraft]:
    """Draft rules for links, numbers and shouting, if a text has them."""
    for name, pattern in _SIGNS.items():
        if re.search(pattern, text):
            call = _write_call("regex_lf", f"r'{pattern}'", data)
            yield RuleDraft("expression", name, call, data.rows_matching(pattern))


def _draft_length(data: Data, length: int) -> RuleDraft:
    if length <= np.median(data.lengths):
        bound = -(-max(length, 1) // 10) * 10
        name, sign, mask = "at_most", "<=", data.lengths <= bound
    else:
        bound = length // 10 * 10
        name, sign, mask = "at_least", ">=", data.lengths >= bound
    test = f"pl.col({data.settings.text!r}).str.len_chars() {sign} {bound}"
    name = f"{name}_{bound}_letters"
    return RuleDraft("length", name, lambda vote, lf: f"expression_lf({lf}, {test}, vote={vote})", np.flatnonzero(mask))


def _draft_value(data: Data, name: str, value: Any) -> Iterator[RuleDraft]:
    """Draft rules from the value of an item in another column: equal to a text, at least or at most a number."""
    series = data.frame[name]
    if isinstance(value, str | bool):
        yield RuleDraft(
            "column",
            f"{name}_{value}",
            lambda vote, lf: f"lookup_lf({{{value!r}: {vote}}}, column={name!r}, name={lf})",
            _rows(series == value),
        )
    elif isinstance(value, int | float) and math.isfinite(value):
        yield _draft_bound(name, "at_least", value, series >= value)
        yield _draft_bound(name, "at_most", value, series <= value)


def _draft_bound(name: str, bound: str, value: float, mask: Any) -> RuleDraft:
    def call(vote: str, lf: str) -> str:
        return f"threshold_lf({name!r}, {vote}, {bound}={value!r}, name={lf})"

    return RuleDraft("number", f"{name}_{bound}_{value}", call, _rows(mask))


def _rows(mask: Any) -> NDArray[np.intp]:
    """Return the rows of a Polars mask, without nulls."""
    return np.flatnonzero(mask.fill_null(False).to_numpy())


def _split_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _write_call(function: str, argument: str, data: Data) -> Callable[[str, str], str]:
    """Write the call of a function that makes an LF of texts; the default column is not named."""
    column = "" if data.settings.text == "text" else f", column={data.settings.text!r}"
    return lambda vote, name: f"{function}({argument}, {vote}{column}, name={name})"


def free_name(wanted: str, vote: Hashable, used_names: Collection[str]) -> str:
    """Return a name for an LF: letters, digits and underscores, not used by another LF, nor by Python.

    >>> free_name("Check out!", "spam", []), free_name("any", "spam", []), free_name("a", 1, ["a", "a_1"])
    ('check_out', 'any_spam', 'a_1_2')
    """
    slug = _to_slug(wanted)[:_LETTERS] or "rule"
    slug = slug if slug.isidentifier() else f"lf_{slug}"
    reserved = {*used_names, *keyword.kwlist, *dir(builtins), *_RESERVED}
    if slug not in reserved:
        return slug
    slug = f"{slug}_{_to_slug(str(vote))[:_LETTERS] or 'vote'}"
    numbers = (f"{slug}_{i}" if i > 1 else slug for i in range(1, len(used_names) + 3))
    return next(name for name in numbers if name not in reserved)


def _to_slug(text: str) -> str:
    """Keep what may be in a name, normalized as Python reads it: names that differ only in form are one variable.

    >>> _to_slug("m\u00b2 \ufb01ne!")
    'm2_fine'
    """
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    letters = "".join(letter if f"a{letter}".isidentifier() else "_" for letter in plain)
    return re.sub("__+", "_", letters).strip("_")
