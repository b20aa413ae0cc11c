"""`estimate`: how good labels are and how large classes are, from a random sample of gold and the model together."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hyperlabel.checks import check_share
from hyperlabel.errors import VotesError
from hyperlabel.kernels import Float64, Ints
from hyperlabel.labels import Labels
from hyperlabel.metrics import Metric
from hyperlabel.models import LabelModel
from hyperlabel.shown import html_table, printable
from hyperlabel.trust.audited import Audited, read_audited
from hyperlabel.trust.prediction_powered import Powered, Strata, estimate_means, spread_of

LEAST_GOLD = 10
LEAST_OF_CLASS = 20
"""With at least this many gold items that are of a class or labeled so, its F1 is estimated; see docs/trust.md."""


class Interval(NamedTuple):
    """An estimate, and where the truth lies with the stated confidence."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """How wide it is."""
        return self.high - self.low

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


class Estimate(NamedTuple):
    """One quantity.

    Attributes:
        interval: From the sample and the model together.
        sample_alone: From the sample alone.
    """

    interval: Interval
    sample_alone: Interval

    @property
    def narrower(self) -> float:
        """How much narrower the interval is than that of the sample alone, as a share."""
        return 1 - self.interval.width / self.sample_alone.width if self.sample_alone.width > 0 else 0.0


@dataclass(frozen=True)
class Estimates:
    """What is known about labels and classes; prints as a table.

    Attributes:
        accuracy: Share of the items whose label is right; an item without a label is wrong.
        f1: F1 of the second of two classes, macro F1 of more; None if there is too little gold of some class.
        shares: The share of the items that are of each class.
        confidence: The probability that each interval holds the truth.
        n_gold: Gold items.
    """

    accuracy: Estimate
    f1: Estimate | None
    shares: dict[Hashable, Estimate]
    confidence: float
    n_gold: int

    def rows(self) -> Iterator[tuple[str, Estimate]]:
        """All estimates with their names."""
        yield "accuracy", self.accuracy
        if self.f1 is not None:
            yield "F1", self.f1
        for name, share in self.shares.items():
            yield f"share of {printable(name)}", share

    def to_dict(self) -> dict[str, Any]:
        """The estimates, for programs."""
        named = {name: each._asdict() for name, each in self.rows()}
        figures = {name: {how: each._asdict() for how, each in pair.items()} for name, pair in named.items()}
        return {"confidence": self.confidence, "gold": self.n_gold, "estimates": figures}

    @property
    def _caption(self) -> str:
        """What the estimates rest on."""
        return f"{self.n_gold:,} labels by hand, {100 * self.confidence:g}% confidence"

    def __str__(self) -> str:
        lines = [(name, str(each.interval), str(each.sample_alone)) for name, each in self.rows()]
        head = ("", "with the model", "sample alone")
        widths = [max(len(line[i]) for line in [head, *lines]) for i in range(3)]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in [head, *lines]
        ]
        missing = "" if self.f1 is not None else "\nF1: too little gold of some class"
        return "\n".join(line.rstrip() for line in [self._caption, *table]) + missing

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The estimates as an HTML table."""
        rows = [[name, str(each.interval), str(each.sample_alone)] for name, each in self.rows()]
        return html_table(["", "with the model", "sample alone"], rows, self._caption)


def estimate(
    model: LabelModel | Labels,
    votes: object,
    gold: object,
    confidence: float = 0.9,
    *,
    learn: object = None,
    strata: int = 1,
    metric: Metric = "accuracy",
) -> Estimates:
    """Accuracy and F1 of the labels and the shares of the classes, with confidence intervals.

    What the model says about all items is corrected by the sample (`hyperlabel.trust.prediction_powered`). The
    intervals hold however good the model is, and the better it is, the narrower they are. They are asymptotic:
    on public sets they hold with 100 or more gold items (docs/trust.md).

    Args:
        model: The label model. One that is not fitted reads these votes, as a copy. Or labels that were made without
            this gold, such as those of `fill_labels`.
        votes: The votes; None if `model` is labels.
        gold: True classes of items that were drawn at random, as for `certify`; at least 10.
        confidence: The probability that each interval holds the truth.
        learn: What a model that is not fitted may learn from, as for `certify`.
        strata: The strata of `audit_sample`, if the items were drawn in several.
        metric: What the labels should be good at, as for `predict`.

    >>> from hyperlabel import HyperLabelModel
    >>> truth = np.arange(400) % 2
    >>> votes = np.stack([truth, truth, np.where(np.arange(400) < 40, 1 - truth, truth)], axis=1)
    >>> gold = {item: truth[item] for item in range(0, 400, 3)}
    >>> found = estimate(HyperLabelModel(), votes, gold)
    >>> found.accuracy.interval.value, found.shares[1].narrower > 0.5
    (1.0, True)
    """
    sure = check_share(confidence, "confidence")
    return estimate_audited(read_audited(model, votes, gold, learn, strata, metric), sure)


def estimate_audited(audited: Audited, confidence: float) -> Estimates:
    """Like `estimate`, for labels and gold that are already read."""
    labels, places = audited.labels, audited.known
    strata = _read_strata(audited)
    k = len(audited.classes)
    predicted = predict_quantities(labels, k)
    overall = predicted[audited.free].mean(0)
    called = np.eye(k + 1)[labels.best][:, :k]  # (n, k); a label of -1 takes the last row, which is cut off
    sample = GoldSample(observe(audited.gold[places], labels.best[places], k), called[places], strata)
    counted = called[audited.free].mean(0)
    return estimate_sample(sample, predicted[places], overall, counted, audited.classes, confidence)


class GoldSample(NamedTuple):
    """What gold says."""

    truth: Float64  # (g, q) the quantities of the gold items, see `observe`
    called: Float64  # (g, k) whether an item is labeled so
    strata: Strata  # how the gold items were drawn


def observe(gold: Ints, labels: Ints, k: int) -> Float64:
    """Quantities to average: label right; item of each class; of the class and labeled so. (g,) -> (g, 1 + 2k)."""
    of_class = np.eye(k)[gold]
    right = (gold == labels)[:, None]
    return np.concatenate([right, of_class, of_class * right], axis=1)


def predict_quantities(labels: Labels, k: int) -> Float64:
    """The quantities of `observe` as the model expects them. -> (n, 1 + 2k)."""
    shares = np.zeros((len(labels), k))
    shares[:, : len(labels.classes)] = labels.probabilities
    both = shares * (np.arange(k) == labels.best[:, None])
    return np.concatenate([both.sum(1, keepdims=True), shares, both], axis=1)


def estimate_sample(
    sample: GoldSample,
    predicted: Float64,
    overall: Float64,
    called: Float64,
    names: Sequence[Hashable],
    confidence: float,
) -> Estimates:
    """Estimates from a sample and from predictions.

    `predicted` are (g, q) the quantities of the gold items as the model expects them, `overall` (q,) their means over
    all items, `called` (k,) the shares of the labels among all items.
    """
    k = len(names)
    powered = estimate_means(sample.truth, predicted, overall, sample.strata)
    alone = estimate_means(sample.truth, np.zeros_like(predicted), np.zeros_like(overall), sample.strata)
    both = [_intervals(each, sample.strata, confidence) for each in (powered, alone)]
    found = [Estimate(*pair) for pair in zip(*both, strict=True)]
    enough = (np.maximum(sample.truth[:, 1 : k + 1], sample.called).sum(0) >= LEAST_OF_CLASS) | (called == 0)
    f1 = None
    if enough[1] if k == 2 else enough.all():
        own = sample.strata.weights @ sample.called
        by_model = _f1(powered, called, np.zeros_like(sample.called), sample.strata, confidence)
        f1 = Estimate(by_model, _f1(alone, own, sample.called, sample.strata, confidence))
    shares = dict(zip(names, found[1 : k + 1], strict=True))
    return Estimates(found[0], f1, shares, confidence, len(sample.truth))


def _intervals(powered: Powered, strata: Strata, confidence: float) -> list[Interval]:
    reach = np.ones(len(powered.means))
    shift, half = spread_of(powered.corrections, powered.low, reach, strata, confidence)
    figures = zip(powered.means.tolist(), shift.tolist(), half.tolist(), strict=True)
    return [_interval(*each) for each in figures]


def _interval(value: float, shift: float, half: float) -> Interval:
    value, center = min(max(value, 0.0), 1.0), value + shift
    return Interval(value, min(max(center - half, 0.0), value), max(min(center + half, 1.0), value))


def _f1(powered: Powered, called: Float64, corrections: Float64, strata: Strata, confidence: float) -> Interval:
    """F1 and its interval, linear in the means that it is made of.

    `called` are (k,) the shares of the labels, `corrections` (g, k) how these vary, if they come from the sample.
    """
    k = len(called)
    size, both = powered.means[1 : k + 1] + called, powered.means[k + 1 :]
    kept = [1] if k == 2 else np.flatnonzero(size > 0)
    f1 = 2 * both[kept] / size[kept]
    of_class, of_both = powered.corrections[:, 1 : k + 1], powered.corrections[:, k + 1 :]
    each = (2 * of_both - _pad(f1, kept, k) * (of_class + corrections))[:, kept] / size[kept]
    mean = each.mean(1, keepdims=True)
    reach = np.array([2 / size[kept].min() / len(f1)])
    shift, half = spread_of(mean, strata.weights @ mean - reach / 2, reach, strata, confidence)
    return _interval(float(f1.mean()), float(shift[0]), float(half[0]))


def _pad(values: Float64, kept: Any, k: int) -> Float64:
    padded = np.zeros(k)
    padded[kept] = values
    return padded


def _read_strata(audited: Audited) -> Strata:
    """How the gold was drawn, without empty strata."""
    numbers, inverse = np.unique(audited.stratum[audited.free], return_inverse=True)
    items = np.bincount(inverse)
    of_gold = np.searchsorted(numbers, audited.stratum[audited.known])
    drawn = np.bincount(of_gold, minlength=len(items))
    if len(of_gold) < LEAST_GOLD or (drawn < np.minimum(2, items)).any():
        raise VotesError(
            f"gold has {len(of_gold):,} items, {drawn.min():,} in the smallest stratum; expected at least "
            f"{LEAST_GOLD}, and 2 in each stratum"
        )
    return Strata(items, of_gold)
