"""The report card of a panel: what each judge is worth."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64
from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.lf.dependence import correlate
from hyperlabel.lf.leave_one_out import affordable_items, keep_lfs, leave_one_out, sample_items
from hyperlabel.lf.statistics import share
from hyperlabel.lf.table import ResultTable
from hyperlabel.metrics import wilson_interval
from hyperlabel.models import LabelModel
from hyperlabel.panel.agreement import Agreement, cohen_kappa, mean_kappa
from hyperlabel.panel.judgments import Judgments, class_cells, flip_rate, self_consistency
from hyperlabel.patterns import Patterns
from hyperlabel.votes import Votes
from hyperlabel.votes.outcomes import speak

COPY = 0.7
"""If two judges' votes, given the class, correlate at least this much, one is a near-copy of the other."""

_FEW = 5  # items that two judges must agree on before they are called copies


def judge_card(
    judgments: Judgments,
    votes: Votes,
    undecided: NDArray[np.int64],
    model: LabelModel,
    agreement: Agreement,
    gold: NDArray[np.int64] | None,
    costs: Float64 | None,
) -> ResultTable:
    """One row per judge; see `hyperlabel.panel.Jury.judges` for the columns.

    Args:
        judgments: All judgments.
        votes: One vote per item and judge.
        undecided: (m,) items on which a judge's own judgments are tied.
        model: The label model, fitted.
        agreement: How far the judges agree.
        gold: (n,) gold classes, -1 for unknown; None if there are none.
        costs: (m,) what each judge cost; None if that is not known.
    """
    analysis = LFAnalysis(votes, model=model)
    accuracy = expected_accuracy(analysis)
    columns: dict[str, NDArray[Any]] = {
        "judge": np.array(votes.lf_names),
        "votes": analysis.votes,
        "failed": judgments.count_by_judge(judgments.failed),
        "unparsable": judgments.count_by_judge(judgments.unparsable),
    }
    if judgments.run is not None or judgments.position is not None:
        columns["undecided"] = undecided
    columns["estimated_accuracy"] = accuracy
    if gold is not None:
        columns |= _against_gold(votes, gold)
    columns |= {f"bias_{c}": row for c, row in zip(votes.classes, class_bias(analysis).T, strict=True)}
    columns |= _habits(judgments)
    columns["kappa"] = mean_kappa(agreement)
    columns["copy_of"] = np.array([votes.lf_names[j] if j >= 0 else "" for j in find_copies(analysis)])
    columns |= _missed(analysis, votes, model, gold)
    if costs is not None:
        useful = analysis.votes * np.nan_to_num(accuracy)
        columns |= {"cost": costs, "cost_per_useful_vote": costs / np.where(useful > 0, useful, np.nan)}
    return ResultTable(columns)


def _habits(judgments: Judgments) -> dict[str, NDArray[Any]]:
    """How far judges repeat themselves, if they were asked again."""
    again = {} if judgments.run is None else {"self_consistency": self_consistency(judgments)}
    return again if judgments.position is None else again | {"position_flips": flip_rate(judgments)}


def _missed(
    analysis: LFAnalysis, votes: Votes, model: LabelModel, gold: NDArray[np.int64] | None
) -> dict[str, NDArray[Any]]:
    """What changes without each judge: labels, and accuracy on gold."""
    looked_at = sample_items(analysis.patterns, affordable_items(analysis.patterns))
    changes: dict[str, NDArray[Any]] = {"label_changes": leave_one_out(model, looked_at).label_changes}
    if gold is None or model.needs_gold:
        return changes
    unlearned = type(model)(**model.get_params()).fit(votes)  # gold that a model has learned from cannot test a judge
    return changes | {"gold_loss": _gold_loss(unlearned, analysis.patterns, gold)}


def expected_accuracy(analysis: LFAnalysis) -> Float64:
    """The mean probability that the model gives to a judge's votes; NaN if it never votes. (m,)."""
    patterns = analysis.patterns
    right = patterns.of_votes(analysis.probabilities) * patterns.counts[patterns.row]
    return share(np.bincount(patterns.lf, right, patterns.n_lfs), analysis.votes)


def class_bias(analysis: LFAnalysis) -> Float64:
    """Share of a judge's votes for each class, minus the share that the model gives it on the same items. (m, k)."""
    patterns = analysis.patterns
    m, k, o, weight = patterns.n_lfs, patterns.n_classes, patterns.n_codes, patterns.counts[patterns.row]
    cast = np.bincount(patterns.lf.astype(np.int64) * o + patterns.vote, weight, m * o).reshape(m, o)
    weighted = analysis.probabilities[patterns.row] * weight[:, None]
    expected = np.stack([np.bincount(patterns.lf, weighted[:, c], m) for c in range(k)], 1)
    return share(cast @ speak(patterns.outcomes, k) - expected, analysis.votes[:, None])


def find_copies(analysis: LFAnalysis) -> list[int]:
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


def _against_gold(votes: Votes, gold: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Accuracy on gold items, its interval, and agreement with gold beyond chance."""
    cells, known = class_cells(votes), gold >= 0
    voted = (cells >= 0) & known[:, None]
    n, right = voted.sum(0), (voted & (cells == gold[:, None])).sum(0)
    low, high = wilson_interval(right, n)
    kappa = [cohen_kappa(np.where(known, column, -1), gold, votes.n_classes) for column in cells.T]
    columns = {"gold_votes": n, "accuracy": share(right, n), "accuracy_low": low, "accuracy_high": high}
    return {**columns, "gold_kappa": np.array(kappa)}


def _gold_loss(model: LabelModel, patterns: Patterns, gold: NDArray[np.int64]) -> Float64:
    """Accuracy on gold items that the panel loses without each judge. (n,) gold classes -> (m,)."""
    counts = patterns.count_labels(gold)
    known = np.flatnonzero(counts.any(1))
    part, counts = patterns.take(known), counts[known]
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
