"""Votes from scores: numbers, or nothing, in an array or in the columns of a frame, cut into levels.

A score counts by its level: patterns count levels, and a label model finds how often each occurs under each class. LFs
use scales in their own ways, and may have their own scales: one judge is generous, one counts from 0 to 100. So each LF
is cut by itself. With two classes the same share of the items lies above the middle of every LF, as nearly as equal
scores allow; that share is found first, from all LFs together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Ints, show, show_some
from hyperlabel.data._classes import ABSTAIN, smallest_type
from hyperlabel.data._columns import VoteColumns, choose_columns
from hyperlabel.data._frames import GLANCE, MemoryTable, open_table
from hyperlabel.data._items import Origin, check_item, identify
from hyperlabel.data._outcomes import Cuts, Outcomes
from hyperlabel.data._values import Column, refuse_masked
from hyperlabel.errors import ParameterError, VotesError

Bools = NDArray[np.bool_]

LARGEST = 1e300  # the largest score, so that distances between scores are finite

MOST_LEVELS, LEAST_LEVELS = 10, 4
ITEMS_PER_LEVEL = 50  # scores that each level of an LF should have, if there are enough
SAMPLED = 10_000  # items of a large set whose scores decide where all are cut
MOST_VALUES = 12  # up to this many different scores of an LF are levels themselves
LEAST_SHARE = 0.1  # the least share of the items on either side of the middle: it is only where a label model starts
_STRADDLES = 0.1  # equal scores are between the sides if at least this part of them is on either side of the middle


# Reading scores.


def check_scores(scores: NDArray[Any]) -> Float64:
    """Check an array of scores. -> (n, m)."""
    refuse_masked(scores, "scores")
    scores = np.asarray(scores)
    if scores.ndim != 2 or not scores.size or scores.dtype.kind not in "iuf" or (np.abs(scores) > LARGEST).any():
        raise VotesError(
            f"scores has shape {scores.shape} and type {scores.dtype}; expected finite numbers, or NaN for none, "
            "with shape (items, LFs)"
        )
    return scores.astype(np.float64)


def open_scores(
    frame: Any, lfs: Sequence[str] | None, item: str | None
) -> tuple[NDArray[Any] | None, Origin, tuple[str, ...], Float64]:
    """Return the identifiers, their origin, the names of the LFs and the (n, m) scores of a frame."""
    table = open_table(frame)
    check_item(table, item)
    names = choose_columns(table.names, lfs, [] if item is None else [item])
    if lfs is None:
        names = tuple(name for name in names if all(map(_is_number, _values(table, name)[:GLANCE])))
    if not names or not table.n_rows:
        raise VotesError(f"scores has no column of numbers among {show_some(table.names, 20)}; name them with lfs")
    ids, origin = identify(table, item, VoteColumns(names, tuple(n for n in table.names if n not in names)))
    return ids, replace(origin, columns=None), names, np.stack([_read_column(table, name) for name in names], 1)


def _read_column(table: MemoryTable, name: str) -> Float64:
    """Return the numbers of a column, NaN where there is none. -> (n,)."""
    values = _values(table, name)
    try:
        numeric = isinstance(values, np.ndarray)
        array = np.array(values if numeric else [np.nan if _is_none(v) else v for v in values], np.float64)
    except (TypeError, ValueError):
        wrong = next(v for v in values if not _is_number(v))
        raise VotesError(
            f"column {name!r} holds {show(wrong)}; expected scores, which are numbers, or nothing. Write scores as "
            "0.5, not 50% or 0,5; if the column has none, name those that do"
        ) from None
    if (np.abs(array) > LARGEST).any():
        raise VotesError(
            f"column {name!r} holds {array[np.nanargmax(np.abs(array))]:g}; expected scores up to {LARGEST:g}, or "
            "nothing"
        )
    return array


def _values(table: MemoryTable, name: str) -> Any:
    return table.values(name) if (numbers := table.numbers(name)) is None else numbers


def _is_none(value: Any) -> bool:
    return value is None or (isinstance(value, str) and (not value.strip() or Column.is_abstain(value)))


def _is_number(value: Any) -> bool:
    try:
        float(0 if _is_none(value) else value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


def check_scale(scale: tuple[float, float] | None, scores: Float64) -> tuple[float, float] | None:
    """Return the least and the largest possible score; 0 and 1 if all scores are in between and none is stated."""
    present = scores[~np.isnan(scores)]
    if scale is None:
        return (0.0, 1.0) if len(present) and present.min() >= 0 and present.max() <= 1 else None
    low, high = map(float, scale)
    if not low < high or (len(present) and (present.min() < low or present.max() > high)):
        raise ParameterError(
            f"scale is {show(scale)}, but scores lie from {present.min(initial=np.inf):g} to "
            f"{present.max(initial=-np.inf):g}; expected the least and the largest possible score"
        )
    return low, high


# Levels.


def to_levels(scores: Float64, names: Sequence[str], outcomes: Outcomes) -> Ints:
    """Return the vote number of each score, -1 for none, by the cuts of its LF. (n, m) -> (n, m)."""
    cells = np.empty(scores.shape, smallest_type(outcomes.n_classes + len(outcomes)))
    for j, cuts in enumerate(outcomes.cuts[name] for name in names):
        level = cuts.levels_of(np.ascontiguousarray(scores[:, j]))
        first = outcomes.n_classes + outcomes.names.index(cuts.first)
        cells[:, j] = np.where(level < 0, ABSTAIN, level.astype(cells.dtype) + cells.dtype.type(first))
    return cells


def check_cuts(outcomes: Outcomes | None, names: Sequence[str], k: int) -> Outcomes:
    """Refuse outcomes that do not cut the scores of these LFs."""
    missing = [name for name in names if outcomes is None or name not in outcomes.cuts]
    if outcomes is None or missing or outcomes.n_classes != k:
        what = f"lacks scores of the LF {missing[0]!r}" if missing else "has another number of classes"
        raise ParameterError(f"like {what}; expected votes of the same LFs and classes, made by from_scores")
    return outcomes


def ladder_of_levels(levels: int, k: int, below: int | None = None, between: int = 0) -> Outcomes:
    """Return the levels of scores: their weight moves from the first class to the last of k.

    With two classes, the first levels (`below`, else half of them) favor the first, and the next (`between`) neither.

    >>> ladder_of_levels(4, 2).class_weights[:, 1].tolist()
    [0.125, 0.375, 0.625, 0.875]
    >>> ladder_of_levels(4, 2, below=1, between=1).class_weights[:, 1].round(2).tolist()
    [0.17, 0.5, 0.7, 0.9]
    """
    height, uneven = (np.arange(levels) + 0.5) / levels, ""
    if k == 2 and below is not None and 2 * below + between != levels:
        above = levels - below - between
        low = (np.arange(below) + 0.5) / (2 * below + between)
        high = 1 - (np.arange(above)[::-1] + 0.5) / (2 * above + between)
        height = np.concatenate([low, np.full(between, 0.5), high])
        uneven = f" ({below} low, {between} between)" if between else f" ({below} low)"
    if k == 2:
        weights = np.stack([1 - height, height], 1)
    else:  # two neighbors share
        weights = np.clip(1 - np.abs(np.clip(height * k - 0.5, 0, k - 1)[:, None] - np.arange(k)), 0, 1)
    names = tuple(f"level {i + 1} of {levels}{uneven}" for i in range(levels))
    return Outcomes(names, weights, np.zeros(levels, np.int64))


def number_of_levels(n: int) -> int:
    """Return how many levels n scores get: an even number from 4 to 10, with 50 scores or more in each if possible."""
    return int(np.clip(n // ITEMS_PER_LEVEL // 2 * 2, LEAST_LEVELS, MOST_LEVELS))


def cut_scores(
    scores: Float64,
    names: Sequence[str],
    k: int,
    levels: int | Sequence[float] | None,
    scale: tuple[float, float] | None,
    direction: object,
) -> Outcomes:
    """Cut the scores of each LF into levels; arguments as for `Votes.from_scores`."""
    some = scores
    if len(scores) > SAMPLED:
        some = scores[np.sort(np.random.default_rng(0).choice(len(scores), SAMPLED, replace=False))]
    up = find_directions(some, names, direction)
    if levels is not None and not isinstance(levels, int | np.integer):
        bounds = _check_bounds(levels)
        return _with_cuts(ladder_of_levels(len(bounds) + 1, k), [bounds] * len(names), names, up)
    if levels is not None and not 2 <= levels <= 100:
        raise ParameterError(f"levels is {levels!r}; expected a number from 2 to 100, or the bounds between levels")
    wanted = number_of_levels(len(scores)) if levels is None else int(levels)
    most_values = MOST_VALUES if levels is None else 0
    if k > 2:
        shared = _shared_gaps(some, most_values)
        if shared is not None:
            return _with_cuts(ladder_of_levels(len(shared) + 1, k), [shared] * len(names), names, up)
        cut = [_steps(ECDF.of(column), wanted) for column in np.where(up, some, -some).T]
        return _with_cuts(ladder_of_levels(wanted, k), _turn(cut, up), names, up)
    halves = _cut_in_two(some, up, wanted, most_values, scale)
    below, above = (max(len(getattr(each, side)) for each in halves) + 1 for side in ("low", "high"))
    between = int(any(each.middle[0] < each.middle[1] for each in halves))
    ladder = ladder_of_levels(below + between + above, k, below, between)
    return _with_cuts(ladder, _turn([each.bounds(below, between, above) for each in halves], up), names, up)


def _with_cuts(ladder: Outcomes, bounds: Sequence[tuple[float, ...]], names: Sequence[str], up: Bools) -> Outcomes:
    cuts = {name: Cuts(bounds[j], bool(up[j]), ladder.names[0]) for j, name in enumerate(names)}
    return replace(ladder, cuts=cuts)


def _turn(bounds: Sequence[tuple[float, ...]], up: Bools) -> list[tuple[float, ...]]:
    """Turn bounds of scores that all point up into bounds of the scores as they are."""
    return [each if u else tuple(-bound for bound in reversed(each)) for each, u in zip(bounds, up, strict=True)]


class ECDF(NamedTuple):
    """Empirical distribution of the scores of an LF."""

    values: Float64  # (v,) the different scores, in order
    upto: Float64  # (v + 1,) share of the scores below each, then 1

    @classmethod
    def of(cls, scores: Float64) -> "ECDF":
        """Return that of (n,) scores, NaN for none."""
        values, counts = np.unique(scores[~np.isnan(scores)], return_counts=True)
        return cls(values, np.concatenate([[0.0], np.cumsum(counts) / max(1, counts.sum())]))

    @property
    def gaps(self) -> Float64:
        """The middles between neighboring scores. (v - 1,)."""
        return self.values[1:] / 2 + self.values[:-1] / 2

    def steps(self, first: int, stop: int, n: int) -> Float64:
        """Return the bounds between n levels of about equal size for a range of values, equal scores at middle rank."""
        low, high = self.upto[first], self.upto[stop]
        middle = (self.upto[first:stop] + self.upto[first + 1 : stop + 1]) / 2
        level = np.floor((middle - low) / max(high - low, 1e-12) * n)
        return np.asarray(self._edges[first + np.searchsorted(level, np.arange(1, n))])

    @property
    def _edges(self) -> Float64:
        """A bound below each score, and one above all. (v + 1,), for 2 or more scores."""
        gaps, values = self.gaps, self.values
        ends = values[[0, -1]] - (gaps[[0, -1]] - values[[0, -1]])
        return np.concatenate([ends[:1], gaps, ends[1:]])

    def straddling(self, rank: float) -> int | None:
        """Return the index of the value that lies on both sides of a rank and has others on both sides, if any."""
        i = int(np.searchsorted(self.upto, rank, side="right")) - 1
        if not 0 < i < len(self.values) - 1:
            return None
        low, high = self.upto[i], self.upto[i + 1]
        return i if min(rank - low, high - rank) > _STRADDLES * (high - low) else None


class BinaryCuts(NamedTuple):
    """Bounds between the scores of an LF, for two classes."""

    low: Float64  # bounds among the scores that favor the first class
    middle: tuple[float, float]  # the scores between these favor neither class
    high: Float64  # bounds among the scores that favor the second class

    def bounds(self, below: int, between: int, above: int) -> tuple[float, ...]:
        """Return the bounds of a ladder with this many levels; levels next to the middle stay empty if too many."""
        empty_low, empty_high = below - 1 - len(self.low), above - 1 - len(self.high)
        low, high = [self.middle[0]] * (1 + empty_low), [self.middle[1]] * (between + empty_high)
        return (*map(float, self.low), *low, *high, *map(float, self.high))


def _cut_in_two(
    scores: Float64, up: Bools, wanted: int, most_values: int, scale: tuple[float, float] | None
) -> list[BinaryCuts]:
    """Cut the scores of each LF, turned so that they point up."""
    pointed = np.where(up, scores, -scores)
    middles = [None if scale is None else sum(scale) / 2 * (1 if u else -1) for u in up]
    rank = 1 - find_share(pointed, np.array(middles, np.float64))
    return [
        _cut(ECDF.of(column), wanted, most_values, rank, middle)
        for column, middle in zip(pointed.T, middles, strict=True)
    ]


def _cut(ecdf: ECDF, wanted: int, most_values: int, rank: float, middle: float | None) -> BinaryCuts:
    """Cut one LF: up to `most_values` different scores are levels themselves, else there are as many as wanted.

    `rank` is the share of the items below the middle. If the scores are all the same, they are cut at `middle`, or
    favor neither class if that is None.
    """
    if len(ecdf.values) < 2:
        only = float(ecdf.values[0]) if len(ecdf.values) else 0.0
        bounds = (only, float(np.nextafter(only, np.inf))) if middle is None else (middle, middle)
        return BinaryCuts(np.empty(0), bounds, np.empty(0))
    gaps, few = ecdf.gaps, len(ecdf.values) <= most_values
    between = ecdf.straddling(rank) if few else None
    if between is not None:
        return BinaryCuts(gaps[: between - 1], (gaps[between - 1], gaps[between]), gaps[between + 1 :])
    nearest = int(np.abs(ecdf.upto[1:-1] - rank).argmin())
    if few:
        return BinaryCuts(gaps[:nearest], (gaps[nearest], gaps[nearest]), gaps[nearest + 1 :])
    below = int(np.clip(np.rint(wanted * rank), 1, wanted - 1))
    low, high = ecdf.steps(0, nearest + 1, below), ecdf.steps(nearest + 1, len(ecdf.values), wanted - below)
    return BinaryCuts(low, (gaps[nearest], gaps[nearest]), high)


def _shared_gaps(scores: Float64, most_values: int) -> tuple[float, ...] | None:
    """Return the bounds between few different scores if all LFs have one scale: each uses at least half of it."""
    shared = ECDF.of(scores.ravel())
    if not 2 <= len(shared.values) <= most_values:
        return None
    half = np.ptp(shared.values) / 2
    distributions = (ECDF.of(column) for column in scores.T)
    alike = all(np.ptp(each.values) >= half for each in distributions if len(each.values))
    return tuple(shared.gaps.tolist()) if alike else None


def _steps(ecdf: ECDF, n: int) -> tuple[float, ...]:
    """Return the bounds of an LF between n levels of equal size; scores that are all the same are in the middle."""
    if len(ecdf.values) < 2:
        only = float(ecdf.values[0]) if len(ecdf.values) else 0.0
        return (only,) * (n // 2) + (float(np.nextafter(only, np.inf)),) * (n - 1 - n // 2)
    return tuple(ecdf.steps(0, len(ecdf.values), n).tolist())


def find_share(pointed: Float64, middles: Float64) -> float:
    """Estimate the share of the items that lies above the middle of every LF. -> from 0.1 to 0.9.

    It is the upper one of two groups of the (n, m) scores that point up; but if nearly all items lie on one side of the
    (m,) middles of the scale, they stay there.
    """
    present = ~np.isnan(pointed - middles)
    means = (np.where(present, pointed - middles, 0).sum(1) / np.maximum(present.sum(1), 1))[present.any(1)]
    above = float(((means > 0) + 0.5 * (means == 0)).mean()) if len(means) else 0.5
    share = above if not LEAST_SHARE <= above <= 1 - LEAST_SHARE else share_of_upper_group(pointed)
    return float(np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE))


def share_of_upper_group(pointed: Float64) -> float:
    """Estimate the share of the items in the upper of two groups by their mean score, scores of each LF standardized.

    The groups are those whose means explain most of the variance (N. Otsu, 1979), or the mean of several such
    pairs. (n, m) -> above 0, below 1.
    """
    present = ~np.isnan(pointed)
    counts = np.maximum(present.sum(0), 1)
    filled = np.where(present, pointed, 0)
    filled = filled / np.maximum(np.abs(filled).max(0, initial=0), 1e-300)  # keeps sums finite
    off = np.where(present, filled - filled.sum(0) / counts, 0)
    spread = np.sqrt((off**2).sum(0) / counts)
    means = np.sort(((off / np.where(spread > 0, spread, 1)).sum(1) / np.maximum(present.sum(1), 1))[present.any(1)])
    if len(means) < 2 or means[0] == means[-1]:
        return 0.5
    n, sums = np.arange(1, len(means)), np.cumsum(means)
    explained = n * (len(means) - n) * (sums[:-1] / n - (sums[-1] - sums[:-1]) / (len(means) - n)) ** 2
    return float(1 - n[explained > explained.max() * (1 - 1e-9)].mean() / len(means))


def find_directions(scores: Float64, names: Sequence[str], direction: object) -> Bools:
    """Return whether high scores of each LF favor the later classes: as stated, or else as estimated. -> (m,)."""
    if isinstance(direction, Mapping):
        unknown = [name for name in direction if name not in names]
        if unknown:
            raise ParameterError(
                f"direction has the unknown LF {show(unknown[0])}; expected some of {show_some(names)}"
            )
        pairs = zip(map(direction.get, names), _estimate_directions(scores), strict=True)
        return np.array([estimated if way is None else _points_up(way) for way, estimated in pairs])
    if direction is not None:
        return np.full(len(names), _points_up(direction))
    return _estimate_directions(scores)


def _estimate_directions(scores: Float64) -> Bools:
    """Estimate which LFs point up: not those whose ranks run against the others; most do. (n, m) -> (m,)."""
    present = ~np.isnan(scores)
    ranked = np.zeros(scores.shape)  # ranks from -1 to 1, the same for equal scores; 0 where there is none
    for j, some in enumerate(present.T):
        ranked[some, j] = 2 * middle_ranks(scores[some, j]) / max(1, some.sum()) - 1
    signs = np.ones(scores.shape[1])
    for _ in range(5):
        total = (ranked * signs).sum(1, keepdims=True)
        against = (ranked * (total - ranked * signs)).sum(0)  # the others' ranks
        new = np.where(against < 0, -1.0, 1.0)
        if (new == signs).all():
            break
        signs = new
    return np.asarray(signs < 0 if signs.sum() < 0 else signs > 0)


def middle_ranks(values: Float64) -> Float64:
    """Count the values below each, and half of those equal to it. (n,) -> (n,)."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - counts / 2)[where])


def _points_up(direction: object) -> bool:
    if direction not in ("up", "down"):
        raise ParameterError(f"direction is {show(direction)}; expected 'up', 'down', or a mapping from LF to these")
    return direction == "up"


def _check_bounds(levels: Sequence[float]) -> tuple[float, ...]:
    bounds = tuple(map(float, levels))
    if not bounds or not all(a < b for a, b in pairwise((-np.inf, *bounds, np.inf))):
        raise ParameterError(
            f"levels is {show(levels, 80)}; expected a number of levels, or increasing bounds between them"
        )
    return bounds
