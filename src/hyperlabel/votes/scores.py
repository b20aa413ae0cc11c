"""Scores to levels: where the numbers of each LF are cut, and which way they point.

A score is worth what its level tells: patterns count levels, and a label model finds how often each occurs under each
class. Levels are made so that each holds about as many scores as the others, LF by LF, since judges use a scale in
their own ways; the first half of the levels leans to the first class and the rest to the second, so that an LF's own
middle parts the two, unless the scale itself says where it lies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.frames import Column, library_of
from hyperlabel.columns.rule import VoteColumns, choose_columns
from hyperlabel.columns.sources import GLANCE, open_table
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.shown import show_some
from hyperlabel.votes.items import Origin, identify
from hyperlabel.votes.outcomes import Cuts, Outcomes, ladder_of_levels

Float64 = NDArray[np.float64]

MOST_LEVELS, LEAST_LEVELS = 10, 4
ITEMS_A_LEVEL = 50
"""Scores that each level of an LF is to have, if there are so many."""

SAMPLED = 10_000
"""Items of a large set whose scores decide where all are cut."""

_MOST_VALUES = 12  # different scores from which on they are cut; fewer are levels themselves


def number_of_levels(n: int) -> int:
    """How many levels n scores are cut into: an even number from 4 to 10, with 50 scores or more in each if possible.

    >>> [number_of_levels(n) for n in (20, 300, 2000)]
    [4, 6, 10]
    """
    return int(np.clip(n // ITEMS_A_LEVEL // 2 * 2, LEAST_LEVELS, MOST_LEVELS))


def read_scores(frame: Any, names: Sequence[str]) -> Float64:
    """The numbers of some columns, NaN where there are none. -> (n, m)."""
    columns = []
    for name in names:
        values = _values(frame, name)
        try:
            array = np.array([np.nan if _is_none(v) else v for v in values], np.float64)
        except (TypeError, ValueError):
            wrong = next(v for v in values if not _is_number(v))
            raise VotesError(
                f"column {name!r} holds {wrong!r:.60}; expected scores, which are numbers, or nothing. Name the "
                "columns of scores"
            ) from None
        if np.isinf(array).any():
            raise VotesError(f"column {name!r} holds infinity; expected finite scores, or nothing")
        columns.append(array)
    return np.stack(columns, 1)


def _values(frame: Any, name: str) -> Any:
    if library_of(frame, "DataFrame") == "pandas":
        column = frame[name]
        return column.to_numpy(np.float64, na_value=np.nan) if column.dtype.kind in "iuf" else column.tolist()
    if isinstance(frame, list | tuple):
        return [record.get(name) for record in frame]
    column = frame[name]
    return column.cast(float).to_numpy() if column.dtype.is_numeric() else column.to_list()


def _is_none(value: Any) -> bool:
    return value is None or (isinstance(value, str) and (not value.strip() or Column.is_abstain(value)))


def _is_number(value: Any) -> bool:
    try:
        float(0 if _is_none(value) else value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


def check_scores(scores: NDArray[Any]) -> Float64:
    """An array of scores. -> (n, m)."""
    if scores.ndim != 2 or not scores.size or scores.dtype.kind not in "iuf" or np.isinf(scores).any():
        raise VotesError(
            f"scores has shape {scores.shape} and type {scores.dtype}; expected finite numbers, or NaN for none, of "
            "items by LFs"
        )
    return scores.astype(np.float64)


def check_scale(scale: tuple[float, float] | None, scores: Float64) -> tuple[float, float] | None:
    """The least and the largest score that there may be; from 0 to 1 if all scores are."""
    known = scores[~np.isnan(scores)]
    if scale is None:
        return (0.0, 1.0) if len(known) and known.min() >= 0 and known.max() <= 1 else None
    low, high = scale
    if not low < high or (len(known) and (known.min() < low or known.max() > high)):
        raise ParameterError(
            f"scale is {scale!r}, but scores lie from {known.min():g} to {known.max():g}; expected the least and the "
            "largest score that there may be"
        )
    return float(low), float(high)


def open_scores(
    frame: Any, lfs: Sequence[str] | None, item: str | None
) -> tuple[NDArray[Any] | None, Origin, tuple[str, ...], Float64]:
    """The identifiers, their origin, the names of the LFs and the (n, m) scores of a frame."""
    table = open_table(frame)
    others = [] if item is None else [item]
    names = choose_columns(table.names, lfs, others)
    held = frame if library_of(frame, "DataFrame") == "pandas" or isinstance(frame, list | tuple) else table.frame  # type: ignore[attr-defined]
    if lfs is None:
        names = tuple(name for name in names if all(_is_number(v) for v in _glance(held, name)))
    if not names or not table.n_rows:
        raise VotesError(f"scores has no column of numbers among {show_some(table.names, 20)}; name them with lfs")
    ids, origin = identify(table, item, VoteColumns(tuple(names), tuple(n for n in table.names if n not in names)))
    return ids, replace(origin, columns=None), tuple(names), read_scores(held, names)


def _glance(frame: Any, name: str) -> list[Any]:
    return list(_values(frame[:GLANCE], name))


def match_cuts(outcomes: Outcomes | None, names: Sequence[str], k: int) -> Outcomes:
    """Outcomes that cut the scores of these LFs."""
    missing = [name for name in names if outcomes is None or name not in outcomes.cuts]
    if outcomes is None or missing or outcomes.n_classes != k:
        what = f"lacks scores of the LF {missing[0]!r}" if missing else "has another number of classes"
        raise ParameterError(f"like {what}; expected votes of the same LFs and classes, made by from_scores")
    return outcomes


def sample_rows(scores: Float64) -> Float64:
    """Scores of so many items that quantiles are known well, drawn with a fixed seed; all of fewer items."""
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
    """Where the scores of each LF are cut, and what the levels lean to.

    Args:
        scores: (n, m), NaN where there is none.
        names: The m LFs.
        k: Number of classes.
        levels: How many levels; or their bounds, the same for all LFs; by `number_of_levels` if not given.
        scale: The least and the largest score that there may be, if that is known.
        direction: `up`, `down`, a mapping from LF to one of these, or None to estimate it.
    """
    some = sample_rows(scores)
    up = find_directions(some, names, direction)
    if levels is not None and not isinstance(levels, int | np.integer):
        bounds = [_check_bounds(levels)] * len(names)
        return _ladder(bounds, names, up, k, None)
    distinct = np.unique(some[~np.isnan(some)])
    if len(distinct) <= _MOST_VALUES and len(some) < len(scores):
        distinct = np.unique(scores[~np.isnan(scores)])
    if levels is None and 2 <= len(distinct) <= _MOST_VALUES:
        shared = tuple(((distinct[1:] + distinct[:-1]) / 2).tolist())
        return _ladder([shared] * len(names), names, up, k, None)
    wanted = number_of_levels(len(scores)) if levels is None else _check_levels(levels)
    share = share_above_middle(some, scale, up)
    below = int(np.clip(np.rint(wanted * (1 - share)), 1, wanted - 1))
    ranks = np.concatenate(
        [np.arange(1, below) / below * (1 - share), 1 - share + np.arange(wanted - below) / (wanted - below) * share]
    )
    bounds = [_quantiles(column, ranks if up[j] else 1 - ranks[::-1]) for j, column in enumerate(some.T)]
    return _ladder(bounds, names, up, k, below if k == 2 else None)


def _quantiles(scores: Float64, ranks: Float64) -> tuple[float, ...]:
    known = scores[~np.isnan(scores)]
    if not len(known):
        return tuple(np.linspace(0, 1, len(ranks)).tolist())
    return tuple(np.maximum.accumulate(np.quantile(known, ranks)).tolist())


def _ladder(
    bounds: Sequence[tuple[float, ...]], names: Sequence[str], up: NDArray[np.bool_], k: int, below: int | None
) -> Outcomes:
    ladder = ladder_of_levels(len(bounds[0]) + 1, k, below)
    cuts = {name: Cuts(bounds[j], bool(up[j]), ladder.names[0]) for j, name in enumerate(names)}
    return Outcomes(ladder.names, ladder.leaning, ladder.ladder, cuts)


def share_above_middle(scores: Float64, scale: tuple[float, float] | None, up: NDArray[np.bool_]) -> float:
    """The share of items that lie above the middle of the scale, by the mean of their scores; a half without a scale.

    It lies from 0.1 to 0.9, since it is only where a label model starts from.
    """
    if scale is None:
        return 0.5
    low, high = scale
    pointed = np.where(up, (scores - low) / (high - low), (high - scores) / (high - low))
    known = ~np.isnan(pointed)
    means = np.where(known, pointed, 0).sum(1) / np.maximum(known.sum(1), 1)
    means = means[known.any(1)]
    return float(np.clip(((means > 0.5) + 0.5 * (means == 0.5)).mean() if len(means) else 0.5, 0.1, 0.9))


def find_directions(scores: Float64, names: Sequence[str], direction: object) -> NDArray[np.bool_]:
    """Whether high scores of each LF speak for the later classes. -> (m,).

    Estimated, an LF points down if its ranks run against those of the others; most LFs point up.
    """
    if isinstance(direction, Mapping):
        unknown = [name for name in direction if name not in names]
        if unknown:
            raise ParameterError(f"direction has {unknown[0]!r}, which is no LF; expected some of {show_some(names)}")
        estimated = find_directions(scores, names, None)
        stated = [direction.get(name) for name in names]
        return np.array(
            [e if s is None else _check_direction(s) == "up" for s, e in zip(stated, estimated, strict=True)]
        )
    if direction is not None:
        return np.full(len(names), _check_direction(direction) == "up")
    ranked = np.stack([_ranks(column) for column in scores.T], 1)
    signs = np.ones(len(names))
    for _ in range(5):
        total = (ranked * signs).sum(1, keepdims=True)
        against = (ranked * (total - ranked * signs)).sum(0)  # the others' ranks
        new = np.where(against < 0, -1.0, 1.0)
        if (new == signs).all():
            break
        signs = new
    if signs.sum() < 0:
        signs = -signs
    return np.asarray(signs > 0)


def _ranks(scores: Float64) -> Float64:
    """Ranks of scores from -1 to 1, equal ones alike; 0 where there is none. (n,) -> (n,)."""
    known = ~np.isnan(scores)
    ranks = np.zeros(len(scores))
    _, where, counts = np.unique(scores[known], return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    ranks[known] = 2 * middle[where] / max(1, known.sum()) - 1
    return ranks


def _check_direction(direction: object) -> str:
    if direction not in ("up", "down"):
        raise ParameterError(f"direction is {direction!r:.60}; expected 'up', 'down', or a mapping from LF to these")
    return str(direction)


def _check_levels(levels: Any) -> int:
    if not 2 <= levels <= 100:
        raise ParameterError(f"levels is {levels!r}; expected a number from 2 to 100, or the bounds between levels")
    return int(levels)


def _check_bounds(levels: Sequence[float]) -> tuple[float, ...]:
    bounds = tuple(float(each) for each in levels)
    if not bounds or any(a >= b for a, b in zip(bounds, bounds[1:], strict=False)) or not np.isfinite(bounds).all():
        raise ParameterError(f"levels is {levels!r:.80}; expected the bounds between levels, each above the last")
    return bounds
