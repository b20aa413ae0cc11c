"""How good the labels are, by truth or gold: scores, classes, confusion, reliability; and the certificate."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64
from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.reports.charts import reliability
from hyperlabel.reports.elements import NAME, class_tag, cut, hue, named, note, number, section, share, table
from hyperlabel.reports.figures import Scores, score
from hyperlabel.reports.html import Html, join, shorten, tag
from hyperlabel.trust import Certificate

CLASSES = 50  # the most that are shown


def show_scores(analysis: LFAnalysis, *, gold: bool) -> Html | None:
    """Scores, the classes one by one, and reliability; None if no truth is known.

    If the truth is `gold`, the labels scored here have not learned from it.
    """
    found = score(analysis)
    if found is None:
        return None
    rows = [_score_row(name, s) for name, s in zip(("this model", "majority vote"), found, strict=True)]
    f1 = f"F1 of {shorten(str(analysis.classes[1]), NAME)}" if len(analysis.classes) == 2 else "macro F1"
    heads = [("labels by", False), ("accuracy", True), (f1, True), ("Brier score", True)]
    groups = analysis.reliability()
    title = "Reliability plot: the share of right labels against their confidence"
    plot = reliability(groups["confidence"], groups["right"], groups["items"], title)
    caption = "Each point is a tenth of the items, by confidence. On the dashed line confidence and share are equal."
    whose = "gold is known; the labels scored here come from votes alone" if gold else "truth is known"
    counted = (
        f"Over the {found[0].items:,} items whose {whose}; an item without a label counts as wrong. "
        "A lower Brier score is better."
    )
    if gold:
        counted += " If gold was not drawn at random, as with suggested items, its items are harder than most."
    left = tag("div", table("Scores", heads, rows), note(counted))
    pair = tag("div", left, tag("figure", plot, tag("figcaption", caption)), class_="pair-of-figures")
    return section(
        f"Scores against {'gold' if gold else 'the truth'}",
        pair,
        _classes(analysis),
        _confusion(analysis),
        name="scores",
    )


def _score_row(name: str, scores: Scores) -> Html:
    figures = (f"{scores.accuracy:.1%}", f"{scores.f1:.3f}", f"{scores.brier:.3f}")
    return tag("tr", named(name), *map(number, figures))


@dataclass(frozen=True)
class Confusion:
    """Items by true class and label."""

    counts: NDArray[np.int64]  # (k, k + 1) items of each true class and label; no label in the last column

    @classmethod
    def of(cls, analysis: LFAnalysis) -> "Confusion":
        """From labels whose truth is known."""
        assert analysis.truth is not None
        k = len(analysis.classes)
        labels = np.where(analysis.labels < 0, k, analysis.labels)
        counts = np.stack([np.bincount(labels, analysis.truth[:, c], k + 1) for c in range(k)])
        return cls(counts.astype(np.int64))

    @property
    def precision(self) -> Float64:
        """Share of the labels of each class that are right; NaN if there are none. (k,)."""
        return _ratio(self.counts.diagonal(), self.counts[:, :-1].sum(0))

    @property
    def recall(self) -> Float64:
        """Share of the items of each class that have its label; NaN if there are none. (k,)."""
        return _ratio(self.counts.diagonal(), self.counts.sum(1))

    @property
    def f1(self) -> Float64:
        """The F1 of each class. (k,)."""
        return _ratio(2 * self.counts.diagonal(), self.counts[:, :-1].sum(0) + self.counts.sum(1))

    def most_frequent(self, most: int) -> NDArray[np.intp]:
        """The classes that truth or labels have most of, in their own order."""
        seen = self.counts.sum(1) + self.counts[:, :-1].sum(0)
        return np.asarray(np.sort(np.argsort(-seen, kind="stable")[:most]), np.intp)


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> Float64:
    return np.asarray(np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0), np.float64)


def _classes(analysis: LFAnalysis) -> Html:
    confusion = Confusion.of(analysis)
    chosen, rows = confusion.most_frequent(CLASSES), []
    for c in chosen:
        counts = (number(f"{n:,}", int(n)) for n in (confusion.counts[c].sum(), confusion.counts[:, c].sum()))
        shares = (share(float(figure[c])) for figure in (confusion.precision, confusion.recall, confusion.f1))
        rows.append(tag("tr", tag("th", class_tag(analysis.classes, int(c)), scope="row"), *counts, *shares))
    heads = [("class", False), *((name, True) for name in ("items", "labels", "precision", "recall", "F1"))]
    meaning = "Precision: share of the class's labels that are right. Recall: share of its items that have its label."
    shown = cut(len(chosen), len(analysis.classes), "classes", "the most frequent ones")
    return join(tag("h3", "Class by class"), table("Class by class", heads, rows), shown, note(meaning))


def _confusion(analysis: LFAnalysis) -> Html:
    confusion = Confusion.of(analysis)
    chosen, rows, k = confusion.most_frequent(CLASSES), [], len(analysis.classes)
    some_without = bool(confusion.counts[:, k].any())
    columns = [*chosen.tolist(), *([k] if some_without else [])]
    for c in chosen.tolist():
        of_class = max(1, int(confusion.counts[c].sum()))
        cells = [_confusion_cell(int(confusion.counts[c, label]), of_class, right=label == c) for label in columns]
        rows.append(tag("tr", tag("th", class_tag(analysis.classes, c), scope="row"), *cells))
    heads = [("truth, by label →", False), *((str(analysis.classes[c])[:NAME], True) for c in chosen)]
    heads += [("no label", True)] if some_without else []
    meaning = "Items by true class (rows) and label (columns). Shade: share of the row; framed: right."
    return join(tag("h3", "Confusion"), table("Confusion matrix", heads, rows, "confusion"), note(meaning))


def _confusion_cell(count: int, of_class: int, *, right: bool) -> Html:
    part = count / of_class
    tip = f"{part:.1%} of the true class"
    return tag("td", f"{count:,}", class_="number right" if right else "number", style=f"--part:{part:.2f}", title=tip)


def show_certificate(certificate: Certificate) -> Html:
    """What the certificate says."""
    heads = [("labels", False), *((name, True) for name in ("items", "accepted", "least confidence", "gold", "wrong"))]
    heads.append(("error at most", True))
    rows = []
    for part in certificate.parts:
        if part.accepted is None or part.bound is None:
            cells = [number(f"{part.items:,}", part.items), number("none", 0), *(number("") for _ in range(4))]
        else:
            items, gold, wrong = part.accepted.total
            figures = (f"{part.items:,}", f"{items:,}", f"{part.threshold:.3f}", gold, wrong, f"{part.bound:.1%}")
            cells = [number(figure) for figure in figures]
        rows.append(tag("tr", named("all" if part.name is None else part.name), *cells))
    held = "The statement holds for any votes and model, if the gold was drawn at random."
    sentence = tag("p", str(certificate), class_="said")
    return section("Certificate", sentence, table("Certificate", heads, rows), note(held), name="certificate")


def class_bar(classes: tuple[object, ...], counts: NDArray[np.int64], total: int) -> Html:
    """How many items have each label, as one bar in the colors of the classes."""
    parts = []
    for code in np.flatnonzero(counts[1:]).tolist():
        tip, width = f"{classes[code]}: {counts[code + 1] / total:.1%}", f"{100 * counts[code + 1] / total:.2f}%"
        parts.append(tag("i", title=tip[:200], style=f"--hue:{hue(code)};width:{width}"))
    return tag("div", *parts, class_="classes-bar", role="img", aria_label="Shares of the labels")
