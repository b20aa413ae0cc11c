"""Which judges are enough: the cheapest few whose labels are those of the whole panel."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64
from hyperlabel.lf.leave_one_out import keep_lfs, sample_items
from hyperlabel.lf.table import ResultTable
from hyperlabel.models import LabelModel
from hyperlabel.patterns import Patterns

MOST_VOTES = 20_000_000
"""All passes together look at no more votes than this per class; for larger panels, items are drawn at random."""

TRIED = 20
"""How many judges of a large panel are tried at each step: those that gained most when last tried."""

_LEAST_ITEMS = 200


def judge_curve(model: LabelModel, patterns: Patterns, names: tuple[str, ...], prices: Float64) -> ResultTable:
    """Add judges one by one, each time the one that gains most for its price, until the labels are all kept.

    What is gained is the mean probability of the whole panel's label, judged by the model in its state; of equal
    gains the first judge wins. All judges are tried at the first step, then the `TRIED` most promising ones.

    Returns:
        Columns: judges (how many), added, price (of all so far), kept (share of the items that get the same label),
        probability (mean, of the whole panel's label).
    """
    looked_at = replace(sample_items(patterns, _affordable(patterns)), inverse=None)
    whole = model.label_patterns(looked_at).best
    chance = float(looked_at.counts[whole >= 0].sum() / looked_at.n_items / looked_at.n_classes)
    chosen, worth = np.zeros(patterns.n_lfs, bool), np.full(patterns.n_lfs, np.inf)
    rows: list[tuple[int, str, float, float, float]] = []
    while not chosen.all() and (not rows or rows[-1][3] < 1):
        before = rows[-1][4] if rows else chance
        tried = np.argsort(-worth, kind="stable")[: TRIED if rows else None]
        found = {j: _kept(model, looked_at, whole, _with(chosen, j)) for j in sorted(tried.tolist()) if not chosen[j]}
        for j, (_, probability) in found.items():
            worth[j] = (probability - before) / max(prices[j], 1e-12)
        j = max(found, key=lambda each: worth[each])
        kept, probability = found[j]
        chosen[j], worth[j] = True, -np.inf
        rows.append((int(chosen.sum()), names[j], float(prices[chosen].sum()), kept, probability))
    columns = ("judges", "added", "price", "kept", "probability")
    return ResultTable({name: np.array([row[i] for row in rows]) for i, name in enumerate(columns)})


def _affordable(patterns: Patterns) -> int:
    votes_per_item = max(1.0, float(np.diff(patterns.starts) @ patterns.counts) / patterns.n_items)
    work = patterns.n_lfs**2 / 2 * patterns.n_classes * votes_per_item / 2
    return int(min(patterns.n_items, max(_LEAST_ITEMS, MOST_VOTES / work)))


def _with(chosen: NDArray[np.bool_], j: int) -> NDArray[np.bool_]:
    more = chosen.copy()
    more[j] = True
    return more


def _kept(
    model: LabelModel, patterns: Patterns, whole: NDArray[np.intp], lfs: NDArray[np.bool_]
) -> tuple[float, float]:
    """Share of the items whose label stays, and the mean probability of the whole panel's label."""
    rest, index = keep_lfs(patterns, lfs)
    labels, n = model.label_patterns(rest), patterns.n_items
    same = labels.best[index] == whole
    own = np.where(whole >= 0, labels.probabilities[index, np.maximum(whole, 0)], 0)
    return float(patterns.counts @ same / n), float(patterns.counts @ own / n)
