"""Finding rows: by LF, vote, conflict, label, confidence, gold and text, and the next ones to look at."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import check_choice, show
from hyperlabel.errors import ParameterError
from hyperlabel.studio._candidates import assume_gain
from hyperlabel.studio._data import Data
from hyperlabel.studio._snapshot import Snapshot
from hyperlabel.studio._words import WordIndex

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
By = Literal["useful", "uncertain", "contested", "uncovered", "random"]
GoldFilter = Literal["any", "given", "missing", "right", "wrong"]

_LEAST = 1e-9  # worth of a row with no word that would make a rule
_RANDOM = 5  # of so many useful rows, one is random


@dataclass(frozen=True)
class Filter:
    """Conditions on rows; those that are not given do not matter.

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
    gold: GoldFilter = "any"
    search: str = ""


def find_rows(snapshot: Snapshot, data: Data, wanted: Filter) -> Rows:
    """Return the rows that match a filter, in their order."""
    check_choice(wanted.gold, "gold", get_args(GoldFilter))
    mask = np.ones(snapshot.n, bool)
    if wanted.lf is not None or wanted.vote is not None or wanted.against is not None:
        mask &= _match_votes(snapshot, wanted)
    if wanted.conflict is not None:
        mask &= snapshot.conflict == wanted.conflict
    if wanted.covered is not None:
        mask &= (snapshot.n_votes > 0) == wanted.covered
    if wanted.label is not None:
        mask &= snapshot.best == (-1 if wanted.label == "" else _number_of(snapshot, wanted.label, "label"))
    if wanted.confidence is not None:
        low, high = wanted.confidence
        mask &= (snapshot.confidence >= low) & (snapshot.confidence <= high)
    if wanted.gold != "any":
        given, right = snapshot.gold >= 0, snapshot.held_out == snapshot.gold
        mask &= {"given": given, "missing": ~given, "right": given & right, "wrong": given & ~right}[wanted.gold]
    if wanted.search:
        mask &= data.texts.str.to_lowercase().str.contains(wanted.search.lower(), literal=True).to_numpy()
    return np.flatnonzero(mask)


def _match_votes(snapshot: Snapshot, wanted: Filter) -> Mask:
    names = snapshot.lf_names if wanted.lf is None else (wanted.lf,)
    columns = [_column_of(snapshot, name) for name in names]
    if wanted.against is not None:
        other = _column_of(snapshot, wanted.against)
        columns = [np.where((other >= 0) & (other != column), column, -1) for column in columns]
    vote = None if wanted.vote is None else _number_of(snapshot, wanted.vote, "vote")
    mask = np.zeros(snapshot.n, bool)
    for column in columns:
        mask |= column >= 0 if vote is None else column == vote
    return mask


def _column_of(snapshot: Snapshot, name: str) -> NDArray[np.integer]:
    if name not in snapshot.columns:
        raise ParameterError(f"there is no LF {name!r}; the LFs are {', '.join(snapshot.lf_names) or 'none'}")
    return snapshot.columns[name]


def _number_of(snapshot: Snapshot, value: Any, argument: str) -> int:
    if value not in snapshot.classes:
        raise ParameterError(f"{argument} is {show(value)}; expected one of {', '.join(map(str, snapshot.classes))}")
    return snapshot.classes.index(value)


def next_rows(
    snapshot: Snapshot, index: WordIndex, worth: NDArray[np.float64] | None, by: By, most: int, seed: int = 0
) -> list[tuple[int, str]]:
    """Return the next rows to look at, without rows that have gold, and how each was picked.

    `useful` takes the rows with the highest (n,) worth, and every fifth time a random one; without worth, random ones.
    """
    check_choice(by, "by", get_args(By))
    free, n_gold = snapshot.gold < 0, int((snapshot.gold >= 0).sum())
    drawn = np.random.default_rng([seed, n_gold]).permutation(np.flatnonzero(free))[:most]
    if by == "random" or (by == "useful" and worth is None):
        return [(row, "random") for row in drawn.tolist()]
    if by == "uncovered":
        ranked = _rank_uncovered(snapshot, index, most)
    elif by == "useful":
        ranked = _highest(np.where(free, np.asarray(worth), 0), most)
        turns = [
            (row, "random") if (n_gold + i) % _RANDOM == _RANDOM - 1 else None for i, row in enumerate(drawn.tolist())
        ]
        picks = [turn or (row, by) for turn, row in zip(turns, ranked.tolist(), strict=False)]
        return list(dict(picks).items())
    else:
        chosen = snapshot.conflict if by == "contested" else snapshot.best >= 0
        ranked = _highest(np.where(chosen & free, 2 - snapshot.confidence, 0), most)
    return [(row, by) for row in ranked.tolist()]


def _rank_uncovered(snapshot: Snapshot, index: WordIndex, most: int) -> Rows:
    """Return rows without votes whose words would make a rule for many such rows."""
    uncovered = (snapshot.n_votes == 0) & (snapshot.gold < 0)
    gain = assume_gain(np.diff(index.starts), index.letters, snapshot.n)
    worth = index.best_of_rows(np.sqrt(index.count(uncovered)) * gain)
    return _highest(np.where(uncovered, worth + _LEAST, 0), most)


def _highest(values: NDArray[np.float64], most: int) -> Rows:
    """Return the rows with the highest values above 0, ties in a fixed shuffled order."""
    rows = np.flatnonzero(values > 0)
    order = np.lexsort((np.random.default_rng(0).random(len(rows)), -values[rows]))
    return rows[order][:most]
