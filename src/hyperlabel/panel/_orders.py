"""Pairs that were shown in both orders: verdicts turned around, and judges whose verdict hangs on the order."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hyperlabel._core import show, show_some
from hyperlabel.data import Column
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.panel._judgments import Judgments, repeat_agreement

FLIPPED = 0.9
"""Above this share of flips, verdicts probably name the place of an answer and not the answer."""

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
    """Warn if at least half of the judges nearly always change their verdict with the order; fewer may be biased."""
    if judgments.position is None:
        return []
    same, items = repeat_agreement(judgments, judgments.position, judgments.run)
    flipped = np.flatnonzero((1 - same > FLIPPED) & (items >= _FEW))
    if len(flipped) < max(1, np.count_nonzero(items) / 2):
        return []
    names = show_some([judgments.judges[j] for j in flipped], 6)
    return [
        f"{len(flipped)} of {len(judgments.judges)} judges ({names}) change more than {FLIPPED:.0%} of their verdicts "
        "with the order, and tied verdicts are no vote. If the verdicts name a place and not an answer, turn the "
        f"verdicts around: hl.jury(..., position={judgments.position_name!r}, swap={_guess_swap(judgments)!r})"
    ]


def _guess_swap(judgments: Judgments) -> dict[Any, Any]:
    """Pairs of verdicts that take each other's place in the two orders most often."""
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
    mutual = [(c, int(d)) for c, d in enumerate(best) if counts[c, d] and best[d] == c and c < d]
    return {judgments.classes[c]: judgments.classes[d] for c, d in mutual}
