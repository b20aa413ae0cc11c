"""`estimate`: accuracy of labels and sizes of classes, from a random sample of gold and the model together."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from hyperlabel._core import Float64, Ints, Metric, check_share, html_table, printable
from hyperlabel.data import Labels
from hyperlabel.errors import VotesError
from hyperlabel.models import LabelModel
from hyperlabel.trust._audits import AuditedLabels, read_audited

IMAGINED = 4.0  # items, half of them at each end (Agresti and Coull, 1998)


class Strata(NamedTuple):
    """Design of a stratified sample."""

    items: Ints  # (h,) items of each stratum
    of_gold: Ints  # (g,) the stratum of each gold item

    @property
    def weights(self) -> Float64:
        """The share of all items that each gold item stands for. (g,)."""
        drawn = np.bincount(self.of_gold, minlength=len(self.items))
        shares = self.items / self.items.sum()
        return np.asarray((shares / np.maximum(drawn, 1))[self.of_gold])


class PPIEstimate(NamedTuple):
    """Estimated means of several quantities."""

    means: Float64  # (q,) the estimates
    corrections: Float64  # (g, q) truth minus prediction times power, of each gold item
    low: Float64  # (q,) the correction of a negative item with an average prediction


def estimate_means(truth: Float64, predicted: Float64, overall: Float64, strata: Strata) -> PPIEstimate:
    """Means over all items of quantities that are 0 or 1.

    `truth` and `predicted` are (g, q), of the gold items, `overall` (q,) the mean prediction for all items.
    """
    weights = strata.weights[:, None]
    power = _power(truth, predicted, weights)
    corrections = truth - power * predicted
    return PPIEstimate(power * overall + (weights * corrections).sum(0), corrections, -power * overall)


def _power(truth: Float64, predicted: Float64, weights: Float64) -> Float64:
    """Weights of predictions, from 0 to 1: the slope of the truth on them. (q,)."""
    center_t, center_p = (weights * truth).sum(0), (weights * predicted).sum(0)
    together = (weights * (truth - center_t) * (predicted - center_p)).sum(0)
    alone = (weights * (predicted - center_p) ** 2).sum(0)
    slope = np.divide(together, alone, out=np.zeros_like(alone), where=alone > 1e-12)
    return np.asarray(np.clip(slope, 0.0, 1.0))


def spread_of(
    corrections: Float64, low: Float64, reach: Float64, strata: Strata, confidence: float
) -> tuple[Float64, Float64]:
    """Shift of the centers of intervals, as corrections are skewed, and half their widths. (g, q) -> (q,), (q,).

    `low` are (q,) the imagined corrections at the lower end, `reach` how much higher those at the upper end are.
    """
    variance, skew = np.zeros(corrections.shape[1]), np.zeros(corrections.shape[1])
    for number, items in enumerate(strata.items.tolist()):
        own, share = corrections[strata.of_gold == number], items / strata.items.sum()
        drawn = len(own) / items
        if drawn == 1:
            continue  # fully known
        second, third, many = _moments(own, low, reach, IMAGINED * share)
        variance += share**2 * (1 - drawn) * second / max(1 - 2 / many, 1 / many) / many
        skew += share**3 * (1 - drawn) * (1 - 2 * drawn) * third / many**2
    quantile = student(confidence, len(corrections) - len(strata.items) - 1)
    shift = np.divide(skew, variance, out=np.zeros_like(skew), where=variance > 0) * (1 + 2 * quantile**2) / 6
    steps = np.sqrt(max(0.0, 1 - len(corrections) / strata.items.sum())) * reach / 2 / len(corrections)
    return shift, quantile * np.sqrt(variance) + steps


def _moments(own: Float64, low: Float64, reach: Float64, imagined: float) -> tuple[Float64, Float64, float]:
    """Second and third central moments of corrections and imagined ones, and their number. (q,), (q,)."""
    many = len(own) + imagined
    mean = (own.sum(0) + imagined * (low + reach / 2)) / many
    left, up, down = own - mean, low + reach - mean, low - mean
    second, third = (((left**r).sum(0) + imagined / 2 * (up**r + down**r)) / many for r in (2, 3))
    return second, third, many


def student(confidence: float, degrees: int) -> float:
    """The quantile of Student's t that leaves out as much on both sides together (Cornish and Fisher's expansion).

    >>> round(student(0.9, 50), 3), round(student(0.9, 10), 3)
    (1.676, 1.812)
    """
    z, v = NormalDist().inv_cdf((1 + confidence) / 2), max(degrees, 1)
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / v + second / v**2 + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384 / v**3


_USUAL_GOLD = 100
_COLUMNS = ("with the model", "sample alone")
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
        """Width of the interval."""
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
        """Share by which the interval is narrower than that of the sample alone."""
        return 1 - self.interval.width / self.sample_alone.width if self.sample_alone.width > 0 else 0.0


@dataclass(frozen=True)
class Estimates:
    """Estimates of accuracy, F1 and class shares; prints as a table.

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
        figures = {
            name: {"interval": each.interval._asdict(), "sample_alone": each.sample_alone._asdict()}
            for name, each in self.rows()
        }
        return {"confidence": self.confidence, "gold": self.n_gold, "estimates": figures}

    @property
    def _caption(self) -> str:
        """Basis of the estimates, in words."""
        return f"{self.n_gold:,} labels by hand, {100 * self.confidence:g}% confidence"

    def __str__(self) -> str:
        lines = [("", *_COLUMNS), *((name, *map(str, each)) for name, each in self.rows())]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        missing = [] if self.f1 is not None else ["F1: too little gold of some class"]
        return "\n".join([self._caption, *texts, *missing])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The estimates as an HTML table."""
        rows = [[name, *map(str, each)] for name, each in self.rows()]
        return html_table(["", *_COLUMNS], rows, self._caption)


def estimate(
    model: LabelModel | Labels,
    votes: object,
    gold: object,
    confidence: float = 0.9,
    *,
    learn: object = None,
    strata: int = 1,
    metric: Metric = "accuracy",
    once: bool = True,
) -> Estimates:
    """Estimate accuracy and F1 of the labels and the shares of the classes, with confidence intervals.

    The model's probabilities of all items are corrected by the sample. The intervals hold however good the model is,
    and the better it is, the narrower they are. They are asymptotic: on public sets they hold with 100 or more gold
    items (docs/trust.md).

    Args:
        model: The label model. One that is not fitted reads these votes, as a copy. Or labels that were made without
            this gold, such as those of `hyperlabel.label`.
        votes: The votes; None if `model` is labels.
        gold: True classes of items that were drawn at random, as for `certify`; at least 10.
        confidence: The probability that each interval holds the truth.
        learn: Gold that a model that is not fitted learns from, as for `certify`.
        strata: The strata of `audit_sample`, if the items were drawn in several.
        metric: Metric to optimize the labels for, as for `predict`.
        once: Whether you look once. Give False if you look again and again while gold comes in, for example to stop as
            soon as an interval is narrow or high enough: the intervals are wider then, and hold at all looks together.

    >>> from hyperlabel import HyperLabelModel
    >>> truth = np.arange(400) % 2
    >>> votes = np.stack([truth, truth, np.where(np.arange(400) < 40, 1 - truth, truth)], axis=1)
    >>> gold = {item: truth[item] for item in range(0, 400, 3)}
    >>> estimates = estimate(HyperLabelModel(), votes, gold)
    >>> estimates.accuracy.interval.value, estimates.shares[1].narrower > 0.5
    (1.0, True)
    """
    confidence = check_share(confidence, "confidence")
    audited = read_audited(model, votes, gold, learn, strata, metric)
    labels, index, k = audited.labels, audited.sample, len(audited.classes)
    predicted = predict_quantities(labels, k)
    called = np.eye(k + 1)[labels.best][:, :k]  # (n, k); a label of -1 takes the last row, which is cut off
    sample = GoldSample(observe(audited.gold[index], labels.best[index], k), called[index], _read_strata(audited))
    overall, shares = predicted[audited.free].mean(0), called[audited.free].mean(0)
    at_look = confidence if once else confidence_of_one_look(confidence, len(index))
    figures = estimate_sample(sample, predicted[index], overall, shares, audited.classes, at_look)
    return replace(figures, confidence=confidence)


def confidence_of_one_look(confidence: float, n: int) -> float:
    """Return the confidence at n gold items with which intervals of all looks together hold as stated.

    Robbins' normal mixture, as an asymptotic confidence sequence (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas,
    2024), narrowest at `_USUAL_GOLD` items.

    >>> round(confidence_of_one_look(0.9, 100), 4)
    0.9943
    """
    surprise = -2 * log(1 - confidence)
    times = n * (surprise + log(1 + surprise)) / _USUAL_GOLD
    return 2 * NormalDist().cdf(sqrt((1 + 1 / times) * (log(1 + times) + surprise))) - 1


class GoldSample(NamedTuple):
    """Observations on the gold items."""

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
    k, strata = len(names), sample.strata
    powered = estimate_means(sample.truth, predicted, overall, strata)
    alone = estimate_means(sample.truth, np.zeros_like(predicted), np.zeros_like(overall), strata)
    intervals = []
    for each in (powered, alone):
        shift, half = spread_of(each.corrections, each.low, np.ones(len(each.means)), strata, confidence)
        intervals.append(map(_interval, each.means.tolist(), shift.tolist(), half.tolist()))
    accuracy, *others = map(Estimate, *intervals)
    enough = (np.maximum(sample.truth[:, 1 : k + 1], sample.called).sum(0) >= LEAST_OF_CLASS) | (called == 0)
    f1 = None
    if enough[1] if k == 2 else enough.all():
        by_model = _f1(powered, called, np.zeros_like(sample.called), strata, confidence)
        f1 = Estimate(by_model, _f1(alone, strata.weights @ sample.called, sample.called, strata, confidence))
    return Estimates(accuracy, f1, dict(zip(names, others[:k], strict=True)), confidence, len(sample.truth))


def _interval(value: float, shift: float, half: float) -> Interval:
    value, center = min(max(value, 0.0), 1.0), value + shift
    return Interval(value, min(max(center - half, 0.0), value), max(min(center + half, 1.0), value))


def _f1(powered: PPIEstimate, called: Float64, corrections: Float64, strata: Strata, confidence: float) -> Interval:
    """F1 and its interval, linear in the means that it is made of.

    `called` are (k,) the shares of the labels, `corrections` (g, k) how these vary, if they come from the sample.
    """
    k = len(called)
    size, both = powered.means[1 : k + 1] + called, powered.means[k + 1 :]
    kept = np.array([1]) if k == 2 else np.flatnonzero(size > 0)
    f1 = 2 * both[kept] / size[kept]
    of_class, of_both = powered.corrections[:, 1 : k + 1], powered.corrections[:, k + 1 :]
    each = (2 * of_both[:, kept] - f1 * (of_class + corrections)[:, kept]) / size[kept]
    mean = each.mean(1, keepdims=True)
    reach = np.array([2 / size[kept].min() / len(f1)])
    shift, half = spread_of(mean, strata.weights @ mean - reach / 2, reach, strata, confidence)
    return _interval(float(f1.mean()), float(shift[0]), float(half[0]))


def _read_strata(audited: AuditedLabels) -> Strata:
    """Design of the sample, without empty strata."""
    numbers, inverse = np.unique(audited.stratum[audited.free], return_inverse=True)
    items = np.bincount(inverse)
    of_gold = np.searchsorted(numbers, audited.stratum[audited.sample])
    drawn = np.bincount(of_gold, minlength=len(items))
    if len(of_gold) < LEAST_GOLD or (drawn < np.minimum(2, items)).any():
        raise VotesError(
            f"gold has {len(of_gold):,} items, {drawn.min():,} in the smallest stratum; expected at least "
            f"{LEAST_GOLD}, and 2 in each stratum"
        )
    return Strata(items, of_gold)
