"""The report card of a panel, and the judges that are enough."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, wilson_interval
from hyperlabel.data import Patterns, vote_weights
from hyperlabel.lf import (
    LFAnalysis,
    ResultTable,
    affordable_items,
    correlate,
    keep_lfs,
    leave_one_out,
    sample_items,
    share,
)
from hyperlabel.models import LabelModel
from hyperlabel.panel._agreement import Agreement, cohen_kappa, mean_kappa
from hyperlabel.panel._judgments import Judgments, repeat_agreement

MOST_VOTES = 20_000_000
"""All passes together look at no more votes than this per class; for larger panels, items are drawn at random."""

SEARCHED = 10
"""Of a panel with at most this many judges, every set of judges is tried to find the cheapest."""

TRIED = 20
"""Number of judges of a large panel that are tried at each step: those that gained most when last tried."""

_LEAST_ITEMS = 200


def judge_curve(model: LabelModel, patterns: Patterns, names: tuple[str, ...], prices: Float64) -> ResultTable:
    """Add judges one by one, each time the one that gains most for its price, until the labels are all kept.

    The gain is in the mean probability of the whole panel's label, judged by the model in its state; of equal
    gains the first judge wins. All judges are tried at the first step, then the `TRIED` most promising ones.

    Returns:
        Columns: judges (how many), added, price (of all so far), kept (share of the items that get the same label),
        probability (mean, of the whole panel's label).
    """
    sample, whole = _sample(model, patterns, patterns.n_lfs**2 / 2)
    chance = float(sample.counts[whole >= 0].sum() / sample.n_items / sample.n_classes)
    chosen, gain = np.zeros(patterns.n_lfs, bool), np.full(patterns.n_lfs, np.inf)
    rows: list[tuple[int, str, float, float, float]] = []
    while not chosen.all() and (not rows or rows[-1][3] < 1):
        before = rows[-1][4] if rows else chance
        candidates = np.argsort(-gain, kind="stable")[: TRIED if rows else None]
        results = {}
        for j in sorted(candidates[~chosen[candidates]].tolist()):
            more = chosen.copy()
            more[j] = True
            results[j] = _compare(model, sample, whole, more)
            gain[j] = (results[j][1] - before) / max(prices[j], 1e-12)
        j = max(results, key=lambda each: gain[each])
        kept, probability = results[j]
        chosen[j], gain[j] = True, -np.inf
        rows.append((int(chosen.sum()), names[j], float(prices[chosen].sum()), kept, probability))
    columns = ("judges", "added", "price", "kept", "probability")
    return ResultTable({name: np.array([row[i] for row in rows]) for i, name in enumerate(columns)})


class Few(NamedTuple):
    """Some judges of a panel."""

    judges: list[str]
    price: float  # of all of them
    kept: float  # share of the items that get the label of the whole panel


def cheapest_judges(model: LabelModel, patterns: Patterns, names: tuple[str, ...], prices: Float64, keep: float) -> Few:
    """Find the judges with the least price that keep a share of the labels; of equal prices, those that keep most."""
    m, every = patterns.n_lfs, replace(patterns, inverse=None)
    (sample, whole), labels = _sample(model, patterns, 2**m), model.label_patterns(every).best
    sets = (np.arange(1, 2**m)[:, None] >> np.arange(m)) % 2 == 1  # (2**m - 1, m)
    costs = sets @ prices
    for cost in np.unique(costs):
        tried = sets[costs == cost]
        kept = [_compare(model, sample, whole, lfs)[0] for lfs in tried]
        best = tried[int(np.argmax(kept))]
        share_kept = _compare(model, every, labels, best)[0] if max(kept) >= keep else 0.0  # a sample may flatter it
        if share_kept >= keep:
            break
    return Few([names[j] for j in np.flatnonzero(best)], float(cost), share_kept)


def _sample(model: LabelModel, patterns: Patterns, passes: float) -> tuple[Patterns, NDArray[np.intp]]:
    """Items that can be labeled so many times, with fewer judges each time, in reasonable time; and their labels."""
    votes_per_item = max(1.0, float(np.diff(patterns.starts) @ patterns.counts) / patterns.n_items)
    most = max(_LEAST_ITEMS, MOST_VOTES / (passes * patterns.n_classes * votes_per_item / 2))
    sample = replace(sample_items(patterns, int(min(patterns.n_items, most))), inverse=None)
    return sample, model.label_patterns(sample).best


def _compare(
    model: LabelModel, patterns: Patterns, whole: NDArray[np.intp], lfs: NDArray[np.bool_]
) -> tuple[float, float]:
    """Share of the items whose label some judges keep, and the mean probability of the whole panel's label."""
    rest, index = keep_lfs(patterns, lfs)
    labels, n = model.label_patterns(rest), patterns.n_items
    same = labels.best[index] == whole
    own = np.where(whole >= 0, labels.probabilities[index, np.maximum(whole, 0)], 0)
    return float(patterns.counts @ same / n), float(patterns.counts @ own / n)


COPY = 0.7
"""If two judges' votes, given the class, correlate at least this much, one is a near-copy of the other."""

_FEW = 5  # items that two judges must agree on before they are called copies


def judge_card(
    judgments: Judgments,
    analysis: LFAnalysis,
    cells: NDArray[np.integer],
    undecided: NDArray[np.int64],
    agreement: Agreement,
    gold: NDArray[np.int64] | None,
    blind: LabelModel | None,
    costs: Float64 | None,
) -> ResultTable:
    """One row per judge, the most accurate on gold first; see `hyperlabel.panel.Jury.judges` for the columns.

    Args:
        judgments: All judgments.
        analysis: Analysis of the votes, by the label model.
        cells: (n, m) votes of each judge as class numbers.
        undecided: (m,) items on which a judge's own judgments are tied.
        agreement: Agreement of the judges.
        gold: (n,) gold classes, -1 for unknown; None if there are none.
        blind: A model that has not seen the gold; None if there is none, and then gold cannot test a judge.
        costs: (m,) total cost of each judge; None if that is not known.
    """
    names, patterns = analysis.lf_names, analysis.patterns
    accuracy = _expected_accuracy(analysis)
    columns: dict[str, NDArray[Any]] = {
        "judge": np.array(names),
        "votes": analysis.votes,
        "failed": judgments.count_by_judge(judgments.failed),
        "unparsable": judgments.count_by_judge(judgments.unparsable),
    }
    if judgments.run is not None or judgments.position is not None:
        columns["undecided"] = undecided
    columns |= _estimate(accuracy, analysis.votes)
    if gold is not None:
        columns |= _compare_with_gold(cells, gold, len(analysis.classes))
    checked = columns.get("gold_votes", np.zeros(len(names))) > 0
    columns["checked"] = np.where(checked, "by gold", "not checked by gold")
    columns |= {f"bias_{c}": row for c, row in zip(analysis.classes, _class_bias(analysis).T, strict=True)}
    if judgments.run is not None:
        columns["self_consistency"] = repeat_agreement(judgments, judgments.run, judgments.position)[0]
    if judgments.position is not None:
        columns["position_flips"] = 1 - repeat_agreement(judgments, judgments.position, judgments.run)[0]
    columns |= {"kappa": mean_kappa(agreement), "kappa_votes": agreement.used}
    columns["copy_of"] = np.array([names[j] if j >= 0 else "" for j in _find_copies(analysis)])
    sample = sample_items(patterns, affordable_items(patterns))
    columns["label_changes"] = leave_one_out(analysis.model, sample).label_changes
    if gold is not None and blind is not None:
        columns["gold_loss"] = _gold_loss(blind, patterns, gold)
    if costs is not None:
        useful = analysis.votes * np.nan_to_num(accuracy)
        columns |= {"cost": costs, "cost_per_useful_vote": costs / np.where(useful > 0, useful, np.nan)}
    order = np.argsort(-np.nan_to_num(columns["accuracy"], nan=-1), kind="stable") if gold is not None else slice(None)
    return ResultTable({name: column[order] for name, column in columns.items()})


def _estimate(accuracy: Float64, votes: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Accuracy by the model's probabilities, and the interval that the number of votes alone leaves open."""
    low, high = wilson_interval(np.nan_to_num(accuracy) * votes, votes)
    return {"estimated_accuracy": accuracy, "estimated_low": low, "estimated_high": high}


def _expected_accuracy(analysis: LFAnalysis) -> Float64:
    """The mean probability that the model gives to a judge's votes; NaN if it never votes. (m,)."""
    patterns = analysis.patterns
    right = patterns.of_votes(analysis.probabilities) * patterns.counts[patterns.row]
    return share(np.bincount(patterns.lf, right, patterns.n_lfs), analysis.votes)


def _class_bias(analysis: LFAnalysis) -> Float64:
    """Share of a judge's votes for each class, minus the share that the model gives it on the same items. (m, k)."""
    patterns = analysis.patterns
    m, k, o, weight = patterns.n_lfs, patterns.n_classes, patterns.n_codes, patterns.counts[patterns.row]
    cast = np.bincount(patterns.lf.astype(np.int64) * o + patterns.vote, weight, m * o).reshape(m, o)
    weighted = analysis.probabilities[patterns.row] * weight[:, None]
    expected = np.stack([np.bincount(patterns.lf, weighted[:, c], m) for c in range(k)], 1)
    return share(cast @ vote_weights(patterns.outcomes, k) - expected, analysis.votes[:, None])


def _find_copies(analysis: LFAnalysis) -> list[int]:
    """For each judge the judge that it nearly copies, -1 for none.

    A near-copy votes as the other does beyond what the class of an item explains: their votes correlate given the
    class, or are all the same. Classes have the model's probabilities: taking labels that two copies made as certain
    would hide the copying.
    """
    dependence = correlate(analysis.patterns.as_classes(), analysis.agreements, analysis.probabilities)
    alike = np.where(analysis.similarity == 1, 1.0, np.nan_to_num(dependence))
    alike[analysis.agreements < _FEW] = 0
    np.fill_diagonal(alike, 0)
    return [int(row.argmax()) if row.max() >= COPY else -1 for row in alike]


def _compare_with_gold(cells: NDArray[np.integer], gold: NDArray[np.int64], k: int) -> dict[str, NDArray[Any]]:
    """Accuracy on gold items, its interval, and agreement with gold beyond chance."""
    voted = (cells >= 0) & (gold >= 0)[:, None]
    n, right = voted.sum(0), (voted & (cells == gold[:, None])).sum(0)
    low, high = wilson_interval(right, n)
    kappa = [cohen_kappa(np.where(gold >= 0, column, -1), gold, k) for column in cells.T]
    columns = {"gold_votes": n, "accuracy": share(right, n), "accuracy_low": low, "accuracy_high": high}
    return {**columns, "gold_kappa": np.array(kappa)}


def _gold_loss(model: LabelModel, patterns: Patterns, gold: NDArray[np.int64]) -> Float64:
    """Accuracy on gold items that the panel loses without each judge. (n,) gold classes -> (m,)."""
    counts = patterns.count_labels(gold)
    with_gold = np.flatnonzero(counts.any(1))
    part, counts = patterns.take(with_gold), counts[with_gold]
    before = _count_right(model, part, counts)
    total, losses = max(1, int(counts.sum())), []
    for j in range(patterns.n_lfs):
        rest, index = keep_lfs(part, np.arange(patterns.n_lfs) != j)
        moved = np.zeros((rest.n_patterns, rest.n_classes), np.int64)
        np.add.at(moved, index, counts)
        losses.append((before - _count_right(model, rest, moved)) / total)
    return np.array(losses)


def _count_right(model: LabelModel, patterns: Patterns, gold: NDArray[np.int64]) -> int:
    """Gold items whose label is right. (p, k) gold items of each pattern and class."""
    best = model.label_patterns(patterns).best
    labeled = np.flatnonzero(best >= 0)
    return int(gold[labeled, best[labeled]].sum())
