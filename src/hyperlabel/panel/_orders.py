"""Pairs that were shown in both orders: verdicts turned around, and judges whose verdict depends on the order."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hyperlabel._core import show, show_some
from hyperlabel.data import Column
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.panel._judgments import Judgments, repeat_agreement

MOST = 0.5
"""Verdicts may name a place if more than this share changes with the order, and as much would not if turned around."""

_FEW = 5  # items in both orders; with fewer, flips may be chance


def turn_verdicts(votes: Column, order: Column, swap: Mapping[Any, Any]) -> tuple[Column, tuple[Any, ...]]:
    """Turn the verdicts of some orders around. -> the column, and the orders that were turned.

    Args:
        votes: The verdicts.
        order: The order in which each pair was shown.
        swap: Pairs of verdicts, as for `hyperlabel.jury`.
    """
    by_order = _find_orders(swap, order)
    values, codes = list(votes.values), votes.codes.copy()
    for value, pairs in by_order.items():
        both = _pair_up(pairs)
        if not any(verdict in both for verdict in votes.values):
            raise VotesError(
                f"swap has {show(next(iter(both)))}, which is no verdict of column '{votes.name}'; expected pairs of "
                f"{show_some(votes.values)}"
            )
        values += [verdict for verdict in both if verdict not in values]
        table = np.array([*(values.index(both.get(verdict, verdict)) for verdict in values), -1])
        rows = order.codes == order.values.index(value)
        codes[rows] = table[codes[rows]]
    return replace(votes, values=tuple(values), codes=codes), tuple(by_order)


def _find_orders(swap: Mapping[Any, Any], order: Column) -> dict[Any, Mapping[Any, Any]]:
    """The pairs of verdicts by order; without a stated order, those of the second one in sorted order."""
    if all(isinstance(pairs, Mapping) for pairs in swap.values()):
        unknown = [value for value in swap if value not in order.values]
        if unknown:
            raise VotesError(
                f"swap has the order {show(unknown[0])}; expected some of column '{order.name}': "
                f"{show_some(order.values)}"
            )
        return dict(swap)
    present = sorted({order.values[code] for code in np.unique(order.codes[order.codes >= 0])}, key=_sort_key)
    if len(present) != 2:
        raise VotesError(
            f"column '{order.name}' has {len(present)} orders ({show_some(present)}); expected two, or name those to "
            "turn: swap={order: {verdict: verdict}}"
        )
    return {present[1]: swap}


def _sort_key(value: object) -> tuple[bool, Any]:
    """Numbers by size, then texts."""
    return isinstance(value, str), value


def _pair_up(pairs: Mapping[Any, Any]) -> dict[Any, Any]:
    """Pairs of verdicts, both ways."""
    both: dict[Any, Any] = {}
    for one, other in pairs.items():
        for a, b in ((one, other), (other, one)):
            if both.setdefault(a, b) != b:
                raise ParameterError(f"swap turns {show(a)} into {show(both[a])} and into {show(b)}; expected pairs")
    return both


def warn_of_flips(judgments: Judgments) -> list[str]:
    """Warn if at least half of the judges change most verdicts with the order, and would not if they were turned."""
    if judgments.position is None:
        return []
    pairs = _guess_pairs(judgments)
    same, items = repeat_agreement(judgments, judgments.position, judgments.run)
    after, _ = repeat_agreement(_turn_last(judgments, pairs), judgments.position, judgments.run)
    flipped = np.flatnonzero((1 - same > MOST) & (after > MOST) & (items >= _FEW))
    if len(flipped) < max(1, np.count_nonzero(items) / 2):
        return []
    names = show_some([judgments.judges[j] for j in flipped], 6)
    swap = {judgments.classes[c]: judgments.classes[d] for c, d in pairs}
    return [
        f"{len(flipped)} of {len(judgments.judges)} judges ({names}) change {1 - same[flipped].mean():.0%} of their "
        "verdicts with the order, and tied verdicts are no vote. If verdicts name an answer, these judges decide by "
        "its place. If verdicts name a place, turn the verdicts around: "
        f"hl.jury(..., position={judgments.position_name!r}, swap={swap!r})"
    ]


def _turn_last(judgments: Judgments, pairs: list[tuple[int, int]]) -> Judgments:
    """The judgments with the verdicts of the last order turned around."""
    assert judgments.position is not None
    table = np.append(np.arange(len(judgments.classes)), -1)
    for c, d in pairs:
        table[[c, d]] = d, c
    last = judgments.position == judgments.position.max(initial=0)
    return replace(judgments, verdict=np.where(last, table[judgments.verdict], judgments.verdict))


def _guess_pairs(judgments: Judgments) -> list[tuple[int, int]]:
    """Pairs of class numbers that take each other's place in the two orders most often."""
    assert judgments.position is not None
    k = len(judgments.classes)
    kept = np.flatnonzero((judgments.verdict >= 0) & (judgments.position >= 0))
    rows = kept[np.lexsort((judgments.position[kept], judgments.judge[kept], judgments.item[kept]))]
    one, other = rows[:-1], rows[1:]
    pair = (judgments.item[one] == judgments.item[other]) & (judgments.judge[one] == judgments.judge[other])
    pair &= judgments.position[one] != judgments.position[other]
    counts = np.zeros((k, k), np.int64)
    np.add.at(counts, (judgments.verdict[one[pair]], judgments.verdict[other[pair]]), 1)
    counts += counts.T
    np.fill_diagonal(counts, 0)
    best = counts.argmax(1)
    return [(c, int(d)) for c, d in enumerate(best) if counts[c, d] and best[d] == c and c < d]
