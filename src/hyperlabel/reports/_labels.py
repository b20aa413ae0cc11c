"""Labels on the page: their distribution, scores against truth or gold, certificate, and what the balance changes."""

import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, metrics
from hyperlabel.data import Labels
from hyperlabel.lf import LFAnalysis, sample_affordable
from hyperlabel.models import LabelModel, label_model
from hyperlabel.reports._html import (
    NAME,
    Html,
    Line,
    class_tag,
    cut,
    histogram,
    hue,
    join,
    line_chart,
    named,
    note,
    number,
    reliability,
    section,
    share,
    shorten,
    table,
    tag,
)
from hyperlabel.trust import Certificate

_BINS = 24  # in the histogram
_CLASSES = 50  # the most that are shown
_LONG = 25  # a table with more rows scrolls


def show_labels(analysis: LFAnalysis) -> Html:
    """The section of the labels: a bar and a table of their classes, and a histogram of their confidence."""
    counts, low, high = count_confidence(analysis)
    drawing = histogram(counts, low, high, "Histogram: how many items have each confidence")
    caption = f"Confidence is the probability of the label; at {low:.3g} all classes are equally probable."
    figure = tag("figure", drawing, tag("figcaption", caption))
    # (k + 1,) items without a label and of each class
    labeled = np.bincount(analysis.labels + 1, analysis.patterns.counts, analysis.patterns.n_classes + 1)
    segments = []
    for code in np.flatnonzero(labeled[1:]).tolist():
        part = labeled[code + 1] / analysis.n_items
        tip, style = f"{analysis.classes[code]}: {part:.1%}", f"--hue:{hue(code)};width:{100 * part:.2f}%"
        segments.append(tag("i", title=tip[:200], style=style))
    bar = tag("div", *segments, class_="classes-bar", role="img", aria_label="Shares of the labels")
    truth = None if analysis.truth is None else analysis.truth.sum(0)
    order = np.argsort(-labeled[1:], kind="stable")[:_CLASSES].tolist()
    rows = []
    for c in [*order, *([-1] if labeled[0] else [])]:
        name, items = tag("th", class_tag(analysis.classes, c), scope="row"), labeled[c + 1]
        cells = [name, number(f"{items:,.0f}", int(items)), share(items / analysis.n_items)]
        if truth is not None:
            cells.append(tag("td") if c < 0 else share(truth[c] / max(1, truth.sum())))
        rows.append(tag("tr", *cells))
    heads = [("label", False), ("items", True), ("share", True), *([] if truth is None else [("of the truth", True)])]
    body = table("Distribution of labels", heads, rows, "long" if len(rows) > _LONG else None)
    few = cut(len(order), len(analysis.classes), "classes", "the most frequent ones")
    pair = tag("div", tag("div", body, few), figure, class_="pair-of-figures")
    return section("Labels", bar, pair, name="labels")


def count_confidence(analysis: LFAnalysis) -> tuple[NDArray[np.int64], float, float]:
    """Histogram of the confidence of all items with votes: (b,) counts, and where the bins begin and end."""
    voted = np.flatnonzero(analysis.patterns.has_votes)
    confidence = analysis.probabilities[voted].max(1)
    low = 1 / analysis.patterns.n_classes
    high = min(1.0, np.ceil(float(confidence.max(initial=low)) * 20) / 20)
    high = max(high, low + 0.05) if low < 1 else low + 0.05
    counts, _ = np.histogram(confidence, _BINS, (low, high), weights=analysis.patterns.counts[voted])
    return counts.astype(np.int64), low, high


class Scores(NamedTuple):
    """Scores over the items whose truth is known; an item without a label counts as wrong."""

    items: int  # their number
    accuracy: float  # share of right labels
    f1: float  # F1 of the second of two classes, macro F1 of more
    brier: float  # mean squared distance of the probabilities from the truth


def score(labels: Labels, truth: NDArray[np.int64]) -> Scores:
    """Scores of the labels of p patterns, given the (p, k) items of each pattern and true class."""
    pattern, true_class = np.nonzero(truth)
    counts, best = truth[pattern, true_class], labels.best[pattern]
    return Scores(
        items=int(counts.sum()),
        accuracy=metrics.accuracy(true_class, best, counts),
        f1=metrics.f1(true_class, best, truth.shape[1], counts),
        brier=metrics.brier(true_class, labels.probabilities[pattern], counts),
    )


def show_scores(analysis: LFAnalysis, *, gold: bool) -> Html | None:
    """The section of scores, of single classes and of reliability; None if no truth is known.

    If the truth is `gold`, the labels scored here have not learned from it.
    """
    if analysis.truth is None or not analysis.truth.any():
        return None
    rows = []
    own = Labels(analysis.labels, analysis.probabilities, analysis.classes)
    majority = label_model("mv").fit_label_patterns(analysis.patterns, metric=analysis.metric)
    for name, labels in (("this model", own), ("majority vote", majority)):
        items, accuracy, f1, brier = score(labels, analysis.truth)
        rows.append(tag("tr", named(name), number(f"{accuracy:.1%}"), number(f"{f1:.3f}"), number(f"{brier:.3f}")))
    name = f"F1 of {shorten(str(analysis.classes[1]), NAME)}" if len(analysis.classes) == 2 else "macro F1"
    heads = [("labels by", False), ("accuracy", True), (name, True), ("Brier score", True)]
    groups = analysis.reliability()
    title = "Reliability plot: the share of right labels against their confidence"
    plot = reliability(groups["confidence"], groups["right"], groups["items"], title)
    caption = "Each point is a tenth of the items, by confidence. On the dashed line confidence and share are equal."
    whose = "gold is known; the labels scored here come from votes alone" if gold else "truth is known"
    basis = f"Over the {items:,} items whose {whose}; an item without a label counts as wrong. "
    basis += "A lower Brier score is better."
    if gold:
        basis += " If gold was not drawn at random, as with suggested items, its items are harder than most."
    left = tag("div", table("Scores", heads, rows), note(basis))
    pair = tag("div", left, tag("figure", plot, tag("figcaption", caption)), class_="pair-of-figures")
    confusion = count_confusion(analysis)
    sizes = confusion.sum(1) + confusion[:, :-1].sum(0)
    shown = np.sort(np.argsort(-sizes, kind="stable")[:_CLASSES]).tolist()
    title = f"Scores against {'gold' if gold else 'the truth'}"
    parts = _show_classes(analysis, confusion, shown), _show_confusion(analysis, confusion, shown)
    return section(title, pair, *parts, name="scores")


def count_confusion(analysis: LFAnalysis) -> NDArray[np.int64]:
    """Items of each true class and label; no label in the last column. -> (k, k + 1)."""
    assert analysis.truth is not None
    k = len(analysis.classes)
    labels = np.where(analysis.labels < 0, k, analysis.labels)
    return np.stack([np.bincount(labels, analysis.truth[:, c], k + 1) for c in range(k)]).astype(np.int64)


def class_scores(confusion: NDArray[np.int64]) -> Float64:
    """Precision, recall and F1 of each class, NaN where it has no labels or no items. (k, k + 1) -> (3, k)."""
    right, labels, items = confusion.diagonal(), confusion[:, :-1].sum(0), confusion.sum(1)
    parts, wholes = np.stack([right, right, 2 * right]), np.stack([labels, items, labels + items])
    return np.asarray(np.divide(parts, wholes, out=np.full(parts.shape, np.nan), where=wholes > 0))


def _show_classes(analysis: LFAnalysis, confusion: NDArray[np.int64], shown: list[int]) -> Html:
    scores, rows = class_scores(confusion), []
    for c in shown:
        counts = (number(f"{n:,}", int(n)) for n in (confusion[c].sum(), confusion[:, c].sum()))
        rows.append(
            tag(
                "tr",
                tag("th", class_tag(analysis.classes, c), scope="row"),
                *counts,
                *map(share, scores[:, c].tolist()),
            )
        )
    heads = [("class", False), *((name, True) for name in ("items", "labels", "precision", "recall", "F1"))]
    meaning = "Precision: share of the class's labels that are right. Recall: share of its items that have its label."
    few = cut(len(shown), len(analysis.classes), "classes", "the most frequent ones")
    return join(tag("h3", "Class by class"), table("Class by class", heads, rows), few, note(meaning))


def _show_confusion(analysis: LFAnalysis, confusion: NDArray[np.int64], shown: list[int]) -> Html:
    heads = [("truth, by label →", False), *((str(analysis.classes[c])[:NAME], True) for c in shown)]
    columns, rows = list(shown), []
    if confusion[:, -1].any():
        heads.append(("no label", True))
        columns.append(len(analysis.classes))
    for c in shown:
        cells = []
        for label in columns:
            part = confusion[c, label] / max(1, confusion[c].sum())
            kind, tip = "number right" if label == c else "number", f"{part:.1%} of the true class"
            cells.append(tag("td", f"{confusion[c, label]:,}", class_=kind, style=f"--part:{part:.2f}", title=tip))
        rows.append(tag("tr", tag("th", class_tag(analysis.classes, c), scope="row"), *cells))
    meaning = "Items by true class (rows) and label (columns). Shade: share of the row; framed: right."
    return join(tag("h3", "Confusion"), table("Confusion matrix", heads, rows, "confusion"), note(meaning))


def show_certificate(certificate: Certificate) -> Html:
    """The section of the certificate."""
    numbers = ("items", "accepted", "least confidence", "gold", "wrong", "error at most")
    rows = [tag("tr", named(part.title), *map(number, part.figures())) for part in certificate.parts]
    heads = [("labels", False), *((name, True) for name in numbers)]
    condition = "The statement holds for any votes and model, if the gold was drawn at random."
    sentence = tag("p", str(certificate), class_="sentence")
    return section("Certificate", sentence, table("Certificate", heads, rows), note(condition), name="certificate")


# The class balance.

_SHARES = np.round(np.linspace(0.05, 0.95, 19), 2)  # shares to try for one of two classes
_FEW_SHARES = np.round(np.linspace(0.1, 0.8, 8), 2)  # and for one of more classes
_FEW_CLASSES = 6  # how many classes to look at, if there are more
_MOST_WORK = 5_000_000  # all passes together look at no more votes than this per class
_LEAST_SHARE = 0.01  # of a class that some LF votes for; all others stay out, as they would take time


@dataclass(frozen=True)
class Sensitivity:
    """Labels by the stated share of a class."""

    classes: NDArray[np.intp]  # (c,) the classes whose share is stated in turn
    shares: Float64  # (g,) the shares
    labeled: Float64  # (c, g) share of the labeled items that have the class as their label
    changes: Float64  # (c, g - 1) share of the labeled items whose label changes from one share to the next
    accuracy: Float64 | None = None  # (g,) accuracy of the labels, with two classes and truth


def find_sensitivity(model: LabelModel, analysis: LFAnalysis) -> Sensitivity | None:
    """State other balances and label again; None for a model that takes none, or is already fitted."""
    k, counts = len(analysis.classes), analysis.patterns.counts
    if model.is_fitted or "class_balance" not in model.get_params() or k < 2 or not analysis.patterns.has_votes.any():
        return None
    own = np.bincount(analysis.labels[analysis.labels >= 0], counts[analysis.labels >= 0], k)
    own = own / max(1, own.sum())
    chosen = np.array([1]) if k == 2 else np.argsort(-own, kind="stable")[:_FEW_CLASSES]
    shares = _SHARES if k == 2 else _FEW_SHARES
    patterns = sample_affordable(replace(analysis.patterns, inverse=None), len(chosen) * len(shares), _MOST_WORK)
    others = np.where(analysis.probabilities[analysis.patterns.has_votes].any(0), np.maximum(own, _LEAST_SHARE), 0)
    labels = []  # (c, g) of (p,) labels, with one class at a share and the others in their ratio
    for c in chosen:
        rest = np.where(np.arange(k) == c, 0, others)
        balances = (np.where(np.arange(k) == c, part, rest / rest.sum() * (1 - part)) for part in shares)
        stated = (copy.copy(model).set_params(class_balance=balance.tolist()) for balance in balances)
        labels.append([each.label(patterns).best for each in stated])
    weight = np.where(patterns.has_votes, patterns.counts, 0) / max(1, patterns.counts @ patterns.has_votes)
    labeled = np.array([[weight @ (best == c) for best in row] for c, row in zip(chosen, labels, strict=True)])
    changes = np.array([[weight @ (a != b) for a, b in zip(row, row[1:], strict=False)] for row in labels])
    accuracy, truth = None, analysis.truth if k == 2 and patterns.n_items == analysis.n_items else None
    if truth is not None and (known := truth[patterns.has_votes]).any():
        best = [each[patterns.has_votes] for each in labels[0]]
        right = [known[np.arange(len(known)), each][each >= 0].sum() for each in best]
        accuracy = np.array(right) / known.sum()
    return Sensitivity(chosen, shares, labeled, changes, accuracy)


def show_sensitivity(sensitivity: Sensitivity, classes: tuple[Any, ...]) -> Html:
    """The section of the class balance: a chart, and its steepest step in words."""
    lines, legend, shares = [], [], sensitivity.shares
    for row, code in enumerate(sensitivity.classes.tolist()):
        name = f"share of labels {shorten(str(classes[code]), 40)}"
        lines.append(Line(shares, sensitivity.labeled[row], name, f"--hue:{hue(code)}", "class-line"))
        legend += [class_tag(classes, code), " "]
    if sensitivity.accuracy is not None:
        name = "accuracy where votes and truth are known"
        lines.append(Line(shares, sensitivity.accuracy, name, None, "truth-line"))
        legend += [tag("i", class_="dashed"), "accuracy, where votes and truth are known"]
    drawing = line_chart(lines, "stated share of the class", "share", "Labels by stated class balance")
    steepest = np.unravel_index(sensitivity.changes.argmax(), sensitivity.changes.shape)
    code = int(sensitivity.classes[steepest[0]])
    step = f"between a stated share of {shares[steepest[1]]:.0%} and {shares[steepest[1] + 1]:.0%} for "
    changed = f", {sensitivity.changes.max():.1%} of the labels change."
    sentence = tag("p", f"The steepest step: {step}", class_tag(classes, code), changed)
    meaning = (
        "Each line: the share of items that get the class as their label if its share among all items is stated "
        "(class_balance). If a line is flat, the balance does not matter; if it jumps, state what you know."
    )
    figure = tag("figure", drawing, tag("figcaption", *legend))
    return section("What depends on the class balance", sentence, figure, note(meaning), name="balance")
