"""Scores to levels: where the numbers of each LF are cut, and which way they point.

A score counts by its level: patterns count levels, and a label model finds how often each occurs under each
class. LFs use scales in their own ways, and may have their own scales: one judge is generous, one counts from 0 to
100. So each LF is cut by itself. With two classes the same share of the items lies above the middle of every LF, as far
as equal scores allow; that share is found first, from all LFs together.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_number
from hyperlabel.columns.arrays import as_list
from hyperlabel.errors import ParameterError
from hyperlabel.kernels import Float64
from hyperlabel.shown import show, show_some
from hyperlabel.votes.outcomes import Cuts, Outcomes, ladder_of_levels

Bools = NDArray[np.bool_]

MOST_LEVELS, LEAST_LEVELS = 10, 4
ITEMS_PER_LEVEL = 50
"""Scores that each level of an LF should have, if there are enough."""

SAMPLED = 10_000
"""Items of a large set whose scores decide where all are cut."""

MOST_VALUES = 12
"""Up to this many different scores of an LF are levels themselves."""

LEAST_SHARE = 0.1
"""The least share of the items on either side of the middle: it is only where a label model starts."""

_STRADDLES = 0.1  # equal scores are between the sides if at least this part of them is on either side of the middle


def number_of_levels(n: int) -> int:
    """How many levels n scores are cut into: an even number from 4 to 10, with 50 scores or more in each if possible.

    >>> [number_of_levels(n) for n in (20, 300, 2000)]
    [4, 6, 10]
    """
    return int(np.clip(n // ITEMS_PER_LEVEL // 2 * 2, LEAST_LEVELS, MOST_LEVELS))


def sample_rows(scores: Float64) -> Float64:
    """Scores of enough items to know quantiles well, drawn with a fixed seed; of all if there are fewer."""
    if len(scores) <= SAMPLED:
        return scores
    return scores[np.sort(np.random.default_rng(0).choice(len(scores), SAMPLED, replace=False))]


def cut_scores(
    scores: Float64,
    names: Sequence[str],
    k: int,
    levels: int | Sequence[float] | None,
    scale: tuple[float, float] | None,
    direction: object,
) -> Outcomes:
    """Where the scores of each LF are cut, and what the levels lean to; arguments as for `Votes.from_scores`."""
    some = sample_rows(scores)
    up = find_directions(some, names, direction)
    if levels is not None and not isinstance(levels, int | np.integer):
        bounds = _check_bounds(levels)
        return _with_cuts(ladder_of_levels(len(bounds) + 1, k), [bounds] * len(names), names, up)
    wanted = number_of_levels(len(scores)) if levels is None else _check_levels(levels)
    most_values = MOST_VALUES if levels is None else 0
    if k > 2:
        shared = _shared_gaps(some, most_values)
        if shared is not None:
            return _with_cuts(ladder_of_levels(len(shared) + 1, k), [shared] * len(names), names, up)
        cut = [_steps(Spread.of(column), wanted) for column in np.where(up, some, -some).T]
        return _with_cuts(ladder_of_levels(wanted, k), _turn(cut, up), names, up)
    parted = _part_all(some, up, wanted, most_values, scale)
    below, between, above = _rungs(parted)
    ladder = ladder_of_levels(below + between + above, k, below, between)
    return _with_cuts(ladder, _turn([each.bounds(below, between, above) for each in parted], up), names, up)


def _with_cuts(ladder: Outcomes, bounds: Sequence[tuple[float, ...]], names: Sequence[str], up: Bools) -> Outcomes:
    cuts = {name: Cuts(bounds[j], bool(up[j]), ladder.names[0]) for j, name in enumerate(names)}
    return Outcomes(ladder.names, ladder.leaning, ladder.ladder, cuts)


def _turn(bounds: Sequence[tuple[float, ...]], up: Bools) -> list[tuple[float, ...]]:
    """Bounds of scores that all point up, as bounds of the scores as they are."""
    return [each if u else tuple(-bound for bound in reversed(each)) for each, u in zip(bounds, up, strict=True)]


class Spread(NamedTuple):
    """How the scores of an LF are spread."""

    values: Float64  # (v,) the different scores, in order
    upto: Float64  # (v + 1,) share of the scores below each, then 1

    @classmethod
    def of(cls, scores: Float64) -> "Spread":
        """Of (n,) scores, NaN for none."""
        values, counts = np.unique(scores[~np.isnan(scores)], return_counts=True)
        return cls(values, np.concatenate([[0.0], np.cumsum(counts) / max(1, counts.sum())]))

    @property
    def gaps(self) -> Float64:
        """The middles between neighboring scores. (v - 1,)."""
        return self.values[1:] / 2 + self.values[:-1] / 2

    def steps(self, first: int, stop: int, n: int) -> Float64:
        """The bounds between n levels of about equal size for the scores at some places, equal ones at middle rank."""
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
        """The place of the score that lies on both sides of a rank and has others on both sides; None if none does."""
        place = int(np.searchsorted(self.upto, rank, side="right")) - 1
        if not 0 < place < len(self.values) - 1:
            return None
        low, high = self.upto[place], self.upto[place + 1]
        return place if min(rank - low, high - rank) > _STRADDLES * (high - low) else None


class Parted(NamedTuple):
    """Where the scores of an LF are cut, for two classes."""

    low: Float64  # bounds among the scores that lean to the first class
    # Scores below the first bound lean to the first class, from the second on to the second class; those between lean
    # to neither.
    middle: tuple[float, float]
    high: Float64  # bounds among the scores that lean to the second class

    def bounds(self, below: int, between: int, above: int) -> tuple[float, ...]:
        """The bounds on a ladder of this many levels; levels next to the middle stay empty if there are too many."""
        empty_low, empty_high = below - 1 - len(self.low), above - 1 - len(self.high)
        low, high = [self.middle[0]] * (1 + empty_low), [self.middle[1]] * (between + empty_high)
        return (*map(float, self.low), *low, *high, *map(float, self.high))


def _rungs(parted: Sequence[Parted]) -> tuple[int, int, int]:
    """How many levels a ladder for all LFs has below, between and above the sides."""
    between = any(each.middle[0] < each.middle[1] for each in parted)
    return max(len(each.low) for each in parted) + 1, int(between), max(len(each.high) for each in parted) + 1


def _part_all(
    scores: Float64, up: Bools, wanted: int, most_values: int, scale: tuple[float, float] | None
) -> list[Parted]:
    """Where each LF is cut, its scores turned so that they point up."""
    pointed = np.where(up, scores, -scores)
    middles = [None if scale is None else sum(scale) / 2 * (1 if u else -1) for u in up]
    rank = 1 - find_share(pointed, np.array(middles, np.float64))
    spreads = map(Spread.of, pointed.T)
    return [_part(each, wanted, most_values, rank, middle) for each, middle in zip(spreads, middles, strict=True)]


def _part(spread: Spread, wanted: int, most_values: int, rank: float, middle: float | None) -> Parted:
    """Where an LF is cut: up to `most_values` different scores are levels themselves, else there are as many as wanted.

    `rank` is the share of the items below the middle. If the scores are all the same, they are cut at `middle`, or lean
    to neither class if that is None.
    """
    if len(spread.values) < 2:
        return _part_one(spread, middle)
    gaps, few = spread.gaps, len(spread.values) <= most_values
    between = spread.straddling(rank) if few else None
    if between is not None:
        return Parted(gaps[: between - 1], (gaps[between - 1], gaps[between]), gaps[between + 1 :])
    nearest = int(np.abs(spread.upto[1:-1] - rank).argmin())
    if few:
        return Parted(gaps[:nearest], (gaps[nearest], gaps[nearest]), gaps[nearest + 1 :])
    below = int(np.clip(np.rint(wanted * rank), 1, wanted - 1))
    low, high = spread.steps(0, nearest + 1, below), spread.steps(nearest + 1, len(spread.values), wanted - below)
    return Parted(low, (gaps[nearest], gaps[nearest]), high)


def _part_one(spread: Spread, middle: float | None) -> Parted:
    """An LF whose scores are all the same."""
    only = float(spread.values[0]) if len(spread.values) else 0.0
    bounds = (only, float(np.nextafter(only, np.inf))) if middle is None else (middle, middle)
    return Parted(np.empty(0), bounds, np.empty(0))


def _shared_gaps(scores: Float64, most_values: int) -> tuple[float, ...] | None:
    """The bounds between few different scores if all LFs have one scale: each uses at least half of it. Else None."""
    shared = Spread.of(scores.ravel())
    if not 2 <= len(shared.values) <= most_values:
        return None
    half = np.ptp(shared.values) / 2
    spreads = (Spread.of(column) for column in scores.T)
    alike = all(np.ptp(each.values) >= half for each in spreads if len(each.values))
    return tuple(shared.gaps.tolist()) if alike else None


def _steps(spread: Spread, n: int) -> tuple[float, ...]:
    """The bounds of an LF between n levels of equal size; scores that are all the same are in the middle."""
    if len(spread.values) < 2:
        only = float(spread.values[0]) if len(spread.values) else 0.0
        return (only,) * (n // 2) + (float(np.nextafter(only, np.inf)),) * (n - 1 - n // 2)
    return tuple(spread.steps(0, len(spread.values), n).tolist())


def find_share(pointed: Float64, middles: Float64) -> float:
    """The share of the items that lies above the middle of every LF. -> from 0.1 to 0.9.

    It is the upper one of two groups of the (n, m) scores that point up; but if nearly all items lie on one side of the
    (m,) middles of the scale, they stay there.
    """
    known = ~np.isnan(pointed - middles)
    means = (np.where(known, pointed - middles, 0).sum(1) / np.maximum(known.sum(1), 1))[known.any(1)]
    above = float(((means > 0) + 0.5 * (means == 0)).mean()) if len(means) else 0.5
    share = above if not LEAST_SHARE <= above <= 1 - LEAST_SHARE else share_of_upper_group(pointed)
    return float(np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE))


def share_of_upper_group(pointed: Float64) -> float:
    """The share of the items in the upper of two groups by their mean score, scores of each LF standardized.

    The groups are those whose means explain most of the variance (N. Otsu, 1979), or the mean of several such
    pairs. (n, m) -> above 0, below 1.

    >>> round(share_of_upper_group(np.array([[1.0, 10], [2, 20], [2, 10], [5, 90], [5, np.nan]])), 2)
    0.4
    """
    known = ~np.isnan(pointed)
    counts = np.maximum(known.sum(0), 1)
    filled = np.where(known, pointed, 0)
    filled = filled / np.maximum(np.abs(filled).max(0, initial=0), 1e-300)  # keeps sums finite
    off = np.where(known, filled - filled.sum(0) / counts, 0)
    spread = np.sqrt((off**2).sum(0) / counts)
    means = np.sort(((off / np.where(spread > 0, spread, 1)).sum(1) / np.maximum(known.sum(1), 1))[known.any(1)])
    if len(means) < 2 or means[0] == means[-1]:
        return 0.5
    n, sums = np.arange(1, len(means)), np.cumsum(means)
    explained = n * (len(means) - n) * (sums[:-1] / n - (sums[-1] - sums[:-1]) / (len(means) - n)) ** 2
    return float(1 - n[explained > explained.max() * (1 - 1e-9)].mean() / len(means))


def find_directions(scores: Float64, names: Sequence[str], direction: object) -> Bools:
    """Whether high scores of each LF speak for the later classes: as stated, or else as estimated. -> (m,)."""
    if isinstance(direction, Mapping):
        unknown = [name for name in direction if not isinstance(name, str) or name not in names]
        if unknown:
            raise ParameterError(
                f"direction has the unknown LF {show(unknown[0])}; expected some of {show_some(names)}"
            )
        pairs = zip(map(direction.get, names), _estimate_directions(scores), strict=True)
        return np.array([estimated if way is None else _check_direction(way) == "up" for way, estimated in pairs])
    if direction is not None:
        return np.full(len(names), _check_direction(direction) == "up")
    return _estimate_directions(scores)


def _estimate_directions(scores: Float64) -> Bools:
    """An LF points down if its ranks run against those of the others; most LFs point up. (n, m) -> (m,)."""
    ranked = np.stack([_ranks(column) for column in scores.T], 1)
    signs = np.ones(scores.shape[1])
    for _ in range(5):
        total = (ranked * signs).sum(1, keepdims=True)
        against = (ranked * (total - ranked * signs)).sum(0)  # the others' ranks
        new = np.where(against < 0, -1.0, 1.0)
        if (new == signs).all():
            break
        signs = new
    return np.asarray(signs < 0 if signs.sum() < 0 else signs > 0)


def _ranks(scores: Float64) -> Float64:
    """Ranks of scores from -1 to 1, the same for equal scores; 0 where there is none. (n,) -> (n,)."""
    known = ~np.isnan(scores)
    ranks = np.zeros(len(scores))
    ranks[known] = 2 * middle_ranks(scores[known]) / max(1, known.sum()) - 1
    return ranks


def middle_ranks(values: Float64) -> Float64:
    """How many values are below each, and half of those equal to it. (n,) -> (n,).

    >>> middle_ranks(np.array([7.0, 5.0, 7.0])).tolist()
    [2.0, 0.5, 2.0]
    """
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - counts / 2)[where])


def _check_direction(direction: object) -> str:
    if not isinstance(direction, str) or direction not in ("up", "down"):
        raise ParameterError(f"direction is {show(direction)}; expected 'up', 'down', or a mapping from LF to these")
    return str(direction)


def _check_levels(levels: int | np.integer) -> int:
    if not 2 <= levels <= 100:
        raise ParameterError(f"levels is {levels!r}; expected a number from 2 to 100, or the bounds between levels")
    return int(levels)


def _check_bounds(levels: Sequence[float]) -> tuple[float, ...]:
    expected = "a number of levels, or the bounds between them, each above the last"
    given = as_list(levels, "levels", expected)
    for bound in given:
        check_number(bound, "levels", expected)
    bounds = tuple(map(float, given))
    if not bounds or any(a >= b for a, b in zip(bounds, bounds[1:], strict=False)) or not np.isfinite(bounds).all():
        raise ParameterError(f"levels is {show(levels, 80)}; expected {expected}")
    return bounds
