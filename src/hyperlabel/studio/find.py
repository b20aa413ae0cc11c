"""Finding rows: by LF, vote, conflict, label, confidence, gold and text, and the next ones to look at."""

import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_choice, check_count, check_flag, check_kind, check_number, check_text
from hyperlabel.errors import ParameterError
from hyperlabel.labels import suggest_items
from hyperlabel.shown import show
from hyperlabel.studio.candidates import hope
from hyperlabel.studio.data import Data
from hyperlabel.studio.snapshot import Snapshot
from hyperlabel.studio.words import WordIndex

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
By = Literal["useful", "uncertain", "contested", "uncovered", "random"]
GoldIs = Literal["any", "given", "missing", "right", "wrong"]

_LONGEST = 1_000  # letters to search for; Polars refuses expressions that are much larger
_LEAST = 1e-9  # worth of a row with no word that would make a rule


@dataclass(frozen=True)
class Filter:
    """Which rows to find; conditions that are not given do not matter.

    Attributes:
        lf: An LF that votes.
        vote: The class that it votes for; without an LF, that any LF votes for.
        against: Another LF, which votes for another class than `lf`.
        conflict: Whether LFs vote for different classes.
        covered: Whether any LF votes.
        label: The label; "" for rows without one.
        confidence: The least and the greatest confidence.
        gold: `given` or `missing`; or, where it is given, whether the votes alone get it `right` or `wrong`.
        search: A string to find in the text, in upper or lower case.
    """

    lf: str | None = None
    vote: Any = None
    against: str | None = None
    conflict: bool | None = None
    covered: bool | None = None
    label: Any = None
    confidence: tuple[float, float] | None = None
    gold: GoldIs = "any"
    search: str = ""


def find_rows(snapshot: Snapshot, data: Data, wanted: Filter) -> Rows:
    """The rows that match a filter, in their order."""
    _check_filter(wanted)
    mask = np.ones(snapshot.n, bool)
    if wanted.lf is not None or wanted.vote is not None or wanted.against is not None:
        mask &= _voted(snapshot, wanted)
    if wanted.conflict is not None:
        mask &= snapshot.conflict == wanted.conflict
    if wanted.covered is not None:
        mask &= (snapshot.n_votes > 0) == wanted.covered
    if wanted.label is not None:
        mask &= snapshot.best == (
            -1 if isinstance(wanted.label, str) and not wanted.label else _number(snapshot, wanted.label, "label")
        )
    if wanted.confidence is not None:
        low, high = wanted.confidence
        mask &= (snapshot.confidence >= low) & (snapshot.confidence <= high)
    if wanted.gold != "any":
        mask &= _gold(snapshot, wanted.gold)
    if wanted.search:
        found = data.texts.str.contains(f"(?i){re.escape(wanted.search)}", literal=False)
        mask &= found.to_numpy()
    return np.flatnonzero(mask)


def _check_filter(wanted: Filter) -> None:
    check_kind(wanted, "wanted", Filter, "a Filter")
    for name in ("lf", "against"):
        if getattr(wanted, name) is not None:
            check_text(getattr(wanted, name), name, "the name of an LF")
    for name in ("conflict", "covered"):
        if getattr(wanted, name) is not None:
            check_flag(getattr(wanted, name), name)
    if wanted.confidence is not None:
        expected = "the least and the greatest confidence, two numbers"
        bounds = check_kind(wanted.confidence, "confidence", (tuple, list), expected)
        for bound in bounds if len(bounds) == 2 else (None,):
            check_number(bound, "a bound of confidence", expected)
    check_choice(wanted.gold, "gold", get_args(GoldIs))
    check_text(wanted.search, "search")
    if len(wanted.search) > _LONGEST:
        raise ParameterError(f"search is {show(wanted.search, 50)}; expected at most {_LONGEST:,} letters")


def _voted(snapshot: Snapshot, wanted: Filter) -> Mask:
    names = snapshot.lf_names if wanted.lf is None else (wanted.lf,)
    columns = [_column(snapshot, name) for name in names]
    if wanted.against is not None:
        other = _column(snapshot, wanted.against)
        columns = [np.where((other >= 0) & (other != column), column, -1) for column in columns]
    vote = None if wanted.vote is None else _number(snapshot, wanted.vote, "vote")
    mask = np.zeros(snapshot.n, bool)
    for column in columns:
        mask |= column >= 0 if vote is None else column == vote
    return mask


def _gold(snapshot: Snapshot, gold: str) -> Mask:
    given = snapshot.gold >= 0
    right = snapshot.judged_gold == snapshot.gold
    masks: dict[str, Mask] = {"given": given, "missing": ~given, "right": given & right, "wrong": given & ~right}
    return masks[gold]


def _column(snapshot: Snapshot, name: str) -> NDArray[np.integer]:
    if name not in snapshot.columns:
        raise ParameterError(f"there is no LF {name!r}; the LFs are {', '.join(snapshot.lf_names) or 'none'}")
    return snapshot.columns[name]


def _number(snapshot: Snapshot, value: Any, argument: str) -> int:
    if not np.isscalar(value) or value not in snapshot.classes:
        raise ParameterError(f"{argument} is {show(value)}; expected one of {', '.join(map(str, snapshot.classes))}")
    return snapshot.classes.index(value)


def next_rows(snapshot: Snapshot, index: WordIndex, by: By, most: int, seed: int = 0) -> Rows:
    """The next rows to look at, the most useful first; rows with gold are left out.

    `useful` weighs both: gold for the rows whose label is least certain, and a rule for rows without votes.
    """
    check_choice(by, "by", get_args(By))
    check_count(most, "most")
    free = snapshot.gold < 0
    if by == "random":
        rows = np.flatnonzero(free)
        return np.random.default_rng([seed, int((~free).sum())]).permutation(rows)[:most]
    if by == "uncovered" or not snapshot.columns:
        return _fruitful(snapshot, index, most)
    if by in ("contested", "uncertain"):
        chosen = snapshot.conflict if by == "contested" else snapshot.n_votes > 0
        return _highest(np.where(chosen & free, 2 - snapshot.confidence, 0), most)
    return _useful(snapshot, index, most)


def _useful(snapshot: Snapshot, index: WordIndex, most: int) -> Rows:
    """Rows by what looking at them may correct: uncertain patterns, including the one without votes."""
    bare = np.flatnonzero((snapshot.n_votes == 0) & (snapshot.gold < 0))
    probabilities = snapshot.model.pattern_probabilities(snapshot.patterns)
    doubtful = suggest_items(probabilities, snapshot.patterns, snapshot.gold >= 0, most)
    at_stake = ((1 - probabilities.max(1)) * snapshot.patterns.counts)[snapshot.inverse]
    worth = float(at_stake[doubtful[0]]) if len(doubtful) else 0.0
    lost = len(bare) * (1 - 1 / snapshot.k)
    fruitful = _fruitful(snapshot, index, most) if len(bare) else bare
    order = [fruitful, doubtful] if lost > worth else [doubtful, fruitful]
    return _interleave(*order)[:most]


def _interleave(one: Rows, other: Rows) -> Rows:
    """One row of each in turn, each row once."""
    mixed = [row for pair in zip(one.tolist(), other.tolist(), strict=False) for row in pair]
    rest = [*mixed, *one.tolist(), *other.tolist()]
    return np.array(list(dict.fromkeys(rest)), np.intp)


def _fruitful(snapshot: Snapshot, index: WordIndex, most: int) -> Rows:
    """Rows without votes whose words would make a rule for many such rows."""
    bare = (snapshot.n_votes == 0) & (snapshot.gold < 0)
    new = index.count(bare)
    worth = index.best_of_rows(np.sqrt(new) * hope(np.diff(index.starts), index.letters, snapshot.n))
    return _highest(np.where(bare, worth + _LEAST, 0), most)


def _highest(values: NDArray[np.float64], most: int) -> Rows:
    """The rows with the highest values above 0, ties in a fixed shuffled order."""
    rows = np.flatnonzero(values > 0)
    order = np.lexsort((np.random.default_rng(0).random(len(rows)), -values[rows]))
    return rows[order][:most]
