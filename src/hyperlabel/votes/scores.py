"""Scores as users give them: numbers, or nothing, in an array or in the columns of a frame."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_number
from hyperlabel.columns.arrays import as_list, refuse_masked
from hyperlabel.columns.frames import Column, library_of
from hyperlabel.columns.rule import VoteColumns, choose_columns
from hyperlabel.columns.sources import GLANCE, MemoryTable, open_table
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.kernels import Float64
from hyperlabel.shown import show, show_some
from hyperlabel.votes.items import Origin, identify
from hyperlabel.votes.outcomes import Outcomes

LARGEST = 1e300
"""The largest score, so that distances between scores are finite."""


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
                f"column {name!r} holds {show(wrong)}; expected scores, which are numbers, or nothing. Write scores as "
                "0.5, not 50% or 0,5; if the column has none, name those that do"
            ) from None
        if (np.abs(array) > LARGEST).any():
            raise VotesError(
                f"column {name!r} holds {array[np.nanargmax(np.abs(array))]:g}; expected scores up to {LARGEST:g}, or "
                "nothing"
            )
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
    refuse_masked(scores, "scores")
    scores = np.asarray(scores)
    if scores.ndim != 2 or not scores.size or scores.dtype.kind not in "iuf" or (np.abs(scores) > LARGEST).any():
        raise VotesError(
            f"scores has shape {scores.shape} and type {scores.dtype}; expected finite numbers, or NaN for none, "
            "with shape (items, LFs)"
        )
    return scores.astype(np.float64)


def check_scale(scale: tuple[float, float] | None, scores: Float64) -> tuple[float, float] | None:
    """The least and the largest possible score; 0 and 1 if all scores are in between."""
    known = scores[~np.isnan(scores)]
    if scale is None:
        return (0.0, 1.0) if len(known) and known.min() >= 0 and known.max() <= 1 else None
    expected = "the least and the largest possible score"
    ends = as_list(scale, "scale", expected)
    for end in ends:
        check_number(end, "scale", expected)
    low, high = ends if len(ends) == 2 else (0.0, 0.0)
    if not low < high or (len(known) and (known.min() < low or known.max() > high)):
        raise ParameterError(
            f"scale is {show(scale)}, but scores lie from {known.min(initial=np.inf):g} to "
            f"{known.max(initial=-np.inf):g}; expected {expected}"
        )
    return float(low), float(high)


def open_scores(
    frame: Any, lfs: Sequence[str] | None, item: str | None
) -> tuple[NDArray[Any] | None, Origin, tuple[str, ...], Float64]:
    """The identifiers, their origin, the names of the LFs and the (n, m) scores of a frame."""
    table = open_table(frame)
    others = [] if item is None else [item]
    names = choose_columns(table.names, lfs, others)
    held = _named_by_text(frame, table)
    if lfs is None:
        names = tuple(name for name in names if all(map(_is_number, _values(held[:GLANCE], name))))
    if not names or not table.n_rows:
        raise VotesError(f"scores has no column of numbers among {show_some(table.names, 20)}; name them with lfs")
    ids, origin = identify(table, item, VoteColumns(tuple(names), tuple(n for n in table.names if n not in names)))
    return ids, replace(origin, columns=None), tuple(names), read_scores(held, names)


def _named_by_text(frame: Any, table: MemoryTable) -> Any:
    """The frame with the names of its table, which are text even where those of the frame are numbers."""
    if isinstance(frame, list | tuple):
        return [{str(name): value for name, value in record.items()} for record in frame]
    if library_of(frame, "DataFrame") == "pandas":
        return frame.set_axis(table.names, axis=1)
    return table.frame  # type: ignore[attr-defined]


def match_cuts(outcomes: Outcomes | None, names: Sequence[str], k: int) -> Outcomes:
    """Outcomes that cut the scores of these LFs."""
    missing = [name for name in names if outcomes is None or name not in outcomes.cuts]
    if outcomes is None or missing or outcomes.n_classes != k:
        what = f"lacks scores of the LF {missing[0]!r}" if missing else "has another number of classes"
        raise ParameterError(f"like {what}; expected votes of the same LFs and classes, made by from_scores")
    return outcomes
