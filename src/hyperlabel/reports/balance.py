"""How much depends on the class balance: what the labels would be if another balance were stated."""

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64
from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.lf.leave_one_out import sample_affordable
from hyperlabel.models import LabelModel
from hyperlabel.reports.charts import Line, line_chart
from hyperlabel.reports.elements import class_tag, hue, note, section
from hyperlabel.reports.html import Html, shorten, tag

_SHARES = np.round(np.linspace(0.05, 0.95, 19), 2)  # shares to try for one of two classes
_FEW_SHARES = np.round(np.linspace(0.1, 0.8, 8), 2)  # and for one of more classes
_CLASSES = 6  # how many classes to look at, if there are more
_MOST_WORK = 5_000_000  # all passes together look at no more votes than this per class
_LEAST_SHARE = 0.01  # of a class that some LF votes for; all others stay out, as they would take time


@dataclass(frozen=True)
class Sensitivity:
    """What labels become when a share is stated for a class."""

    classes: NDArray[np.intp]  # (c,) the classes whose share is stated in turn
    shares: Float64  # (g,) the shares
    labeled: Float64  # (c, g) share of the labeled items that have the class as their label
    changes: Float64  # (c, g - 1) share of the labeled items whose label changes from one share to the next
    own: Float64  # (c,) share of the class among the labels as they are
    accuracy: Float64 | None = None  # (g,) accuracy of the labels, with two classes and truth


def find_sensitivity(model: LabelModel, analysis: LFAnalysis) -> Sensitivity | None:
    """State other balances and label again; None for a model that takes none, or is already fitted."""
    k, counts = len(analysis.classes), analysis.patterns.counts
    if model.is_fitted or "class_balance" not in model.get_params() or k < 2 or not analysis.patterns.has_votes.any():
        return None
    own = np.bincount(analysis.labels[analysis.labels >= 0], counts[analysis.labels >= 0], k)
    own = own / max(1, own.sum())
    chosen = np.array([1]) if k == 2 else np.argsort(-own, kind="stable")[:_CLASSES]
    shares = _SHARES if k == 2 else _FEW_SHARES
    patterns = sample_affordable(replace(analysis.patterns, inverse=None), len(chosen) * len(shares), _MOST_WORK)
    others = np.where(analysis.probabilities[analysis.patterns.has_votes].any(0), np.maximum(own, _LEAST_SHARE), 0)
    stated = [[{"class_balance": _balance(others, int(c), s)} for s in shares] for c in chosen]
    found = [[copy.copy(model).set_params(**each).label(patterns).best for each in row] for row in stated]
    weight = np.where(patterns.has_votes, patterns.counts, 0) / max(1, patterns.counts @ patterns.has_votes)
    labeled = np.array([[weight @ (best == c) for best in row] for c, row in zip(chosen, found, strict=True)])
    changes = np.array([[weight @ (a != b) for a, b in zip(row, row[1:], strict=False)] for row in found])
    accuracy = _accuracy(analysis, found[0]) if k == 2 and patterns.n_items == analysis.n_items else None
    return Sensitivity(chosen, shares, labeled, changes, own[chosen], accuracy)


def _balance(others: Float64, chosen: int, stated: float) -> list[float]:
    """The share of one class, and the others in their ratio. -> (k,)."""
    rest = others.copy()
    rest[chosen] = 0
    balance = rest / rest.sum() * (1 - stated)
    balance[chosen] = stated
    return [float(part) for part in balance]


def _accuracy(analysis: LFAnalysis, found: list[NDArray[np.intp]]) -> Float64 | None:
    """Share of right labels among the items with votes whose truth is known."""
    truth = analysis.truth
    if truth is None or not truth[analysis.patterns.has_votes].sum():
        return None
    known = truth[analysis.patterns.has_votes]
    kept = [best[analysis.patterns.has_votes] for best in found]
    rows = np.arange(len(known))
    return np.array([known[rows, best][best >= 0].sum() / known.sum() for best in kept])


def show_sensitivity(found: Sensitivity, classes: tuple[Any, ...]) -> Html:
    """The chart, and its steepest step in words."""
    lines = []
    for row, code in enumerate(found.classes.tolist()):
        name = f"share of labels {shorten(str(classes[code]), 40)}"
        lines.append(Line(found.shares, found.labeled[row], name, f"--hue:{hue(code)}", "class-line"))
    if found.accuracy is not None:
        lines.append(Line(found.shares, found.accuracy, "accuracy where votes and truth are known", None, "truth-line"))
    drawing = line_chart(lines, "stated share of the class", "share", "Labels by stated class balance")
    steepest = np.unravel_index(found.changes.argmax(), found.changes.shape)
    code = int(found.classes[steepest[0]])
    low, high = found.shares[steepest[1]], found.shares[steepest[1] + 1]
    said = tag(
        "p",
        f"The steepest step: between a stated share of {low:.0%} and {high:.0%} for ",
        class_tag(classes, code),
        f", {found.changes.max():.1%} of the labels change.",
    )
    legend: list[object] = [part for c in found.classes for part in (class_tag(classes, int(c)), " ")]
    if found.accuracy is not None:
        legend += [tag("i", class_="dashed"), "accuracy, where votes and truth are known"]
    meaning = (
        "Each line: the share of items that get the class as their label if its share among all items is stated "
        "(class_balance). If a line is flat, the balance does not matter; if it jumps, state what you know."
    )
    figure = tag("figure", drawing, tag("figcaption", *legend))
    return section("What depends on the class balance", said, figure, note(meaning), name="balance")
