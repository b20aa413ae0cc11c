"""Finding rows: by LF, vote, conflict, label, confidence, gold and text, and the next ones to look at."""

import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_choice, check_number
from hyperlabel.errors import ParameterError
from hyperlabel.labels import suggest_items
from hyperlabel.studio.candidates import hope
from hyperlabel.studio.data import Data
from hyperlabel.studio.standing import Standing
from hyperlabel.studio.words import WordIndex

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
By = Literal["useful", "uncertain", "contested", "uncovered", "random"]
GoldIs = Literal["any", "given", "missing", "right", "wrong"]

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


def find_rows(standing: Standing, data: Data, wanted: Filter) -> Rows:
    """The rows that match a filter, in their order."""
    mask = np.ones(standing.n, bool)
    if wanted.lf is not None or wanted.vote is not None or wanted.against is not None:
        mask &= _voted(standing, wanted)
    if wanted.conflict is not None:
        mask &= standing.conflict == wanted.conflict
    if wanted.covered is not None:
        mask &= (standing.n_votes > 0) == wanted.covered
    if wanted.label is not None:
        mask &= standing.best == (-1 if wanted.label == "" else _number(standing, wanted.label, "label"))
    if wanted.confidence is not None:
        low, high = wanted.confidence
        mask &= (standing.confidence >= low) & (standing.confidence <= high)
    if wanted.gold != "any":
        mask &= _gold(standing, wanted.gold)
    if wanted.search:
        found = data.texts.str.contains(f"(?i){re.escape(wanted.search)}", literal=False)
        mask &= found.to_numpy()
    return np.flatnonzero(mask)


def _voted(standing: Standing, wanted: Filter) -> Mask:
    names = standing.lf_names if wanted.lf is None else (wanted.lf,)
    columns = [_column(standing, name) for name in names]
    if wanted.against is not None:
        other = _column(standing, wanted.against)
        columns = [np.where((other >= 0) & (other != column), column, -1) for column in columns]
    vote = None if wanted.vote is None else _number(standing, wanted.vote, "vote")
    mask = np.zeros(standing.n, bool)
    for column in columns:
        mask |= column >= 0 if vote is None else column == vote
    return mask


def _gold(standing: Standing, gold: str) -> Mask:
    given = standing.gold >= 0
    right = standing.judged_gold == standing.gold
    masks: dict[str, Mask] = {"given": given, "missing": ~given, "right": given & right, "wrong": given & ~right}
    if gold not in masks:
        raise ParameterError(f"gold is {gold!r}; expected {', '.join(get_args(GoldIs))}")
    return masks[gold]


def _column(standing: Standing, name: str) -> NDArray[np.integer]:
    if name not in standing.columns:
        raise ParameterError(f"there is no LF {name!r}; the LFs are {', '.join(standing.lf_names) or 'none'}")
    return standing.columns[name]


def _number(standing: Standing, value: Any, argument: str) -> int:
    if value not in standing.classes:
        raise ParameterError(f"{argument} is {value!r}; expected one of {', '.join(map(str, standing.classes))}")
    return standing.classes.index(value)


def next_rows(standing: Standing, index: WordIndex, by: By, most: int, seed: int = 0) -> Rows:
    """The next rows to look at, the most useful first; rows with gold are left out.

    `useful` weighs both: gold for the rows whose label is least certain, and a rule for rows that nobody votes on.
    """
    check_choice(by, "by", get_args(By))
    check_number(most, "most", "a whole number, at least 1", least=1, whole=True)
    free = standing.gold < 0
    if by == "random":
        rows = np.flatnonzero(free)
        return np.random.default_rng([seed, int((~free).sum())]).permutation(rows)[:most]
    if by == "uncovered" or not standing.columns:
        return _fruitful(standing, index, most)
    if by == "contested":
        doubt = np.where(standing.conflict & free, 2 - standing.confidence, 0)
        return _highest(doubt, most)
    if by == "uncertain":
        doubt = np.where((standing.n_votes > 0) & free, 2 - standing.confidence, 0)
        return _highest(doubt, most)
    return _useful(standing, index, most)


def _useful(standing: Standing, index: WordIndex, most: int) -> Rows:
    """Rows by what looking at them may correct: uncertain patterns, including the one without votes."""
    bare = np.flatnonzero((standing.n_votes == 0) & (standing.gold < 0))
    probabilities = standing.model.pattern_probabilities(standing.patterns)
    doubtful = suggest_items(probabilities, standing.patterns, standing.gold >= 0, most)
    at_stake = ((1 - probabilities.max(1)) * standing.patterns.counts)[standing.inverse]
    worth = float(at_stake[doubtful[0]]) if len(doubtful) else 0.0
    lost = len(bare) * (1 - 1 / standing.k)
    fruitful = _fruitful(standing, index, most) if len(bare) else bare
    order = [fruitful, doubtful] if lost > worth else [doubtful, fruitful]
    return _interleave(*order)[:most]


def _interleave(one: Rows, other: Rows) -> Rows:
    """One row of each in turn, each row once."""
    mixed = [row for pair in zip(one.tolist(), other.tolist(), strict=False) for row in pair]
    rest = [*mixed, *one.tolist(), *other.tolist()]
    return np.array(list(dict.fromkeys(rest)), np.intp)


def _fruitful(standing: Standing, index: WordIndex, most: int) -> Rows:
    """Rows without votes whose words would make a rule for many such rows."""
    bare = (standing.n_votes == 0) & (standing.gold < 0)
    new = index.count(bare)
    worth = index.best_of_rows(np.sqrt(new) * hope(np.diff(index.starts), index.letters, standing.n))
    return _highest(np.where(bare, worth + _LEAST, 0), most)


def _highest(values: NDArray[np.float64], most: int) -> Rows:
    """The rows with the highest values above 0, ties in a fixed shuffled order."""
    rows = np.flatnonzero(values > 0)
    order = np.lexsort((np.random.default_rng(0).random(len(rows)), -values[rows]))
    return rows[order][:most]
