"""`certify`: the labels that can be relied on, by a random sample of gold, without assumptions about the votes.

Of N items, B are wrong; of n items drawn at random without replacement, X are. X has the hypergeometric distribution,
whatever made the items wrong. As N grows it becomes the binomial, and `most_wrong` the bound of Clopper and Pearson
(Biometrika, 1934).

If a sample was drawn from several strata, each gives its own p-value, and Fisher's method joins them: the p-value of
a total is the largest over all ways to divide the total among the strata (Ottoboni et al., "Risk-limiting audits by
stratified union-intersection tests of elections", 2018).

These tests hold for one look at the gold. By default sets are tested by evidence that may be looked at repeatedly
(`_evidence.py`).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import ceil, exp, factorial, floor, lgamma, log, log10, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Ints, Metric, check_share, html_table, new_axes, printable
from hyperlabel.data import Labels
from hyperlabel.models import LabelModel
from hyperlabel.trust._audits import read_audited
from hyperlabel.trust._evidence import find_largest, log_evidence

_UNITS = 512  # a total is divided among strata in this many units; coarser than items is safe, only less sharp
_NOTHING = 1e-17  # terms that are this small relative to their sum do not change it

FIRST = 3
"""The first set has one in this many gold items; chosen on the public sets (docs/trust.md), like `GROWTH`."""
GROWTH = 1.05
_ROUNDING = 1e-9  # of a share times a number of items
_POWER = 0.8  # chance that the stated number of needed labels suffices
_REPEATS = 0.06  # a level that may be used at every look takes as many labels as this share of it at one look


class Sample(NamedTuple):
    """Counts of a set of items and of a random sample of it."""

    items: int  # how many there are
    gold: int  # how many of them were drawn
    wrong: int  # how many of those drawn are wrong


def p_value(samples: Sequence[Sample], total: int) -> float:
    """The largest chance to see this few wrong items, if `total` or more are wrong; one sample for each stratum.

    >>> round(p_value([Sample(items=10**8, gold=45, wrong=0)], 5 * 10**6), 4)  # 0.95 ** 45
    0.0994
    """
    if total > sum(map(_most, samples)):
        return 0.0  # this many cannot be wrong: too many were seen to be right
    if len(samples) == 1:
        return exp(_log_chance(samples[0], total))
    step = -(-total // _UNITS)
    units = max(0, -(-(total - len(samples) * (step - 1)) // step))  # what is lost by rounding down is not counted
    # Decrease of the log probability with each further wrong item, as far as there can be more.
    chances = [[_log_chance(s, step * u) for u in range(min(units, _most(s) // step) + 1)] for s in samples]
    falls = np.concatenate(list(map(np.diff, chances)))
    joint = float(np.sort(falls)[::-1][:units].sum())  # no way to divide has a larger product
    # Fisher: the chance that independent p-values have a product this small, the tail of chi squared, 2 degrees each.
    terms = ((-joint) ** i / factorial(i) for i in range(len(samples)))
    return min(1.0, exp(joint) * sum(terms))


def most_wrong(samples: Sequence[Sample], level: float, *, once: bool = True) -> int:
    """Upper bound on the wrong items: with probability 1 - level or more there are no more, at one look or at any time.

    >>> most_wrong([Sample(items=1000, gold=100, wrong=2)], level=0.1), most_wrong([Sample(50, 50, 3)], level=0.1)
    (50, 3)
    """
    low, high = sum(each.wrong for each in samples), sum(map(_most, samples))
    while low < high:
        middle = (low + high + 1) // 2
        surprise = -log(max(p_value(samples, middle), _NOTHING)) if once else log_evidence(samples, middle)
        low, high = (middle, high) if surprise < -log(level) else (low, middle - 1)
    return low


def _most(sample: Sample) -> int:
    """The wrong items if all that were not drawn are wrong."""
    return sample.items - sample.gold + sample.wrong


def _log_chance(sample: Sample, amount: int) -> float:
    """Logarithm of the chance to draw at most as many wrong items as the sample has, if `amount` are wrong.

    The terms are added from the last one down, each from its ratio to the one before.
    """
    items, gold, wrong = sample
    if amount <= wrong:
        return 0.0
    others = items - amount - gold  # items that are neither wrong nor drawn, if all that were drawn are right
    term = total = 1.0
    for i in range(wrong, max(0, -others), -1):
        term *= i * (others + i) / ((amount - i + 1) * (gold - i + 1))
        total += term
        if term < _NOTHING * total:
            break
    last = _log_ways(amount, wrong) + _log_ways(items - amount, gold - wrong) - _log_ways(items, gold)
    return min(0.0, last + log(total))


def _log_ways(n: int, r: int) -> float:
    """Logarithm of n choose r."""
    return lgamma(n + 1) - lgamma(r + 1) - lgamma(n - r + 1)


class ItemSet(NamedTuple):
    """A set of items that can be tested."""

    level: int  # its last level, see `Ranking`
    threshold: float  # the least confidence of its items
    samples: tuple[Sample, ...]  # what gold says about its items, by stratum

    @property
    def total(self) -> Sample:
        """All strata together."""
        return Sample(*(sum(part) for part in zip(*self.samples, strict=True)))

    def p_value(self, error: float) -> float:
        """The chance to see this few wrong labels if more than this share of the set were wrong."""
        return p_value(self.samples, _too_many(error, self.total.items))

    def log_evidence(self, error: float) -> float:
        """Return the logarithm of the evidence against more than this share of wrong labels."""
        return log_evidence(self.samples, _too_many(error, self.total.items))

    def bound(self, level: float, *, once: bool) -> float:
        """Upper bound on the share of wrong labels, for this set alone."""
        return most_wrong(self.samples, level, once=once) / self.total.items

    def can_pass(self, error: float, level: float) -> bool:
        """Return whether the set has enough gold to pass if none of it is wrong."""
        right = [Sample(each.items, each.gold, 0) for each in self.samples]
        return p_value(right, _too_many(error, self.total.items)) <= level


@dataclass(frozen=True, eq=False)
class Ranking:
    """Items by their confidence; those of the same confidence make a level."""

    level: NDArray[np.int64]  # (n,) the level of each item, 0 for the surest ones; -1 for items that are not ranked
    stratum: Ints  # (n,) the stratum that each item was sampled in
    confidence: Float64  # (l,) of the levels
    items: NDArray[np.int64]  # (l, h) items of each level and all before, by stratum

    @classmethod
    def of(cls, confidence: Float64, ranked: NDArray[np.bool_], stratum: Ints) -> "Ranking":
        """Rank some items. (n,), (n,), (n,) stratum numbers."""
        level = np.full(len(confidence), -1)
        values, inverse = np.unique(-confidence[ranked], return_inverse=True)
        level[ranked] = inverse
        strata = int(stratum.max()) + 1
        cells = np.bincount(inverse * strata + stratum[ranked], minlength=len(values) * strata)
        return cls(level, stratum, -values, np.cumsum(cells.reshape(-1, strata), axis=0))

    def steps(self, gold: NDArray[np.integer], wrong: NDArray[np.bool_], *, once: bool = True) -> list[ItemSet]:
        """The sets to test, each larger than the one before; the last one has all ranked items.

        At one look they grow by gold items, else by items, so that they stay the same as gold comes in. `gold` are (g,)
        numbers of the items with gold, ranked or not, `wrong` whether their labels are wrong.
        """
        level = self.level[gold]
        order = np.argsort(level, kind="stable")[(level < 0).sum() :]
        level = level[order]
        if not len(level):
            return []
        strata = np.arange(self.items.shape[1])
        drawn = self.stratum[gold[order]][:, None] == strata  # (g, h)
        drawn_wrong = drawn & wrong[order][:, None]
        counts = np.pad(np.stack([drawn, drawn_wrong]), ((0, 0), (1, 0), (0, 0))).cumsum(axis=1)  # (2, g + 1, h)
        steps = []
        for last in self._ends(level, once=once):
            seen = counts[:, np.searchsorted(level, last, side="right")]
            parts = np.stack([self.items[last], *seen], 1).tolist()  # items, gold and wrong of each stratum
            samples = tuple(Sample(*part) for part in parts if part[0])
            steps.append(ItemSet(last, float(self.confidence[last]), samples))
        return steps

    def _ends(self, level: NDArray[np.int64], *, once: bool) -> list[int]:
        """The last levels of the sets; `level` are those of the gold items, sorted."""
        if once:
            ends = level[_sizes(len(level)) - 1]
        else:
            items = self.items.sum(1)
            ends = np.searchsorted(items, _sizes(int(items[-1])))
        levels: list[int] = np.unique([*ends[:-1], len(self.confidence) - 1]).tolist()
        return levels


def search(steps: Sequence[ItemSet], error: float, level: float, *, once: bool = True) -> ItemSet | None:
    """The largest of growing sets with at most a share of wrong labels, at this level; None if there is none."""
    if not once:
        largest = find_largest([step.log_evidence(error) for step in steps], level) if steps else None
        return None if largest is None else steps[largest]
    accepted = None
    for step in steps:
        if accepted is None and not step.can_pass(error, level):
            continue  # too little gold for a test: known before anything is tested
        if step.p_value(error) > level:
            break
        accepted = step
    return accepted


def _sizes(number: int) -> NDArray[np.int64]:
    """Numbers of gold items, or of items, that the sets should have. -> (s,), increasing to all."""
    powers = np.arange(ceil(log(FIRST) / log(GROWTH)) + 1)
    return np.unique(np.maximum(np.ceil(number / GROWTH**powers), 1).astype(np.int64))


def _too_many(error: float, items: int) -> int:
    """The smallest number of wrong items that exceeds a share of all."""
    return floor(error * items + _ROUNDING) + 1


@dataclass(frozen=True, eq=False)
class Part:
    """Labels that are accepted by one threshold: all, or those of one class."""

    name: Hashable | None  # the class; None for labels of all classes
    items: int  # how many labels there are
    accepted: ItemSet | None  # the set of them that is accepted; None if there is none
    steps: tuple[ItemSet, ...]  # the sets that could be tested, each larger than the one before
    level: float  # the chance to accept a set with too many wrong labels
    once: bool  # whether it holds for one look at the gold alone

    @property
    def threshold(self) -> float | None:
        """The least confidence that is accepted; None if nothing is."""
        return None if self.accepted is None else self.accepted.threshold

    @property
    def bound(self) -> float | None:
        """Upper bound on the share of wrong labels among those accepted, for this threshold alone."""
        return None if self.accepted is None else self.accepted.bound(self.level, once=self.once)

    def to_dict(self) -> dict[str, Any]:
        """The part, for programs."""
        accepted = 0 if self.accepted is None else self.accepted.total.items
        return {"class": self.name, "threshold": self.threshold, "accepted": accepted, "bound": self.bound}

    @property
    def title(self) -> Hashable:
        """The class, or `all`."""
        return "all" if self.name is None else self.name

    def figures(self) -> list[object]:
        """Labels, accepted labels, their least confidence, gold and wrong gold, and bound; None for nothing."""
        if self.accepted is None:
            return [f"{self.items:,}", "none", None, None, None, None]
        items, gold, wrong = self.accepted.total
        threshold, bound = self.accepted.threshold, self.accepted.bound(self.level, once=self.once)
        return [f"{self.items:,}", f"{items:,}", f"{threshold:.3f}", gold, wrong, f"{bound:.1%}"]


@dataclass(frozen=True, eq=False)
class Certificate:
    """Certificate of labels that can be relied on; prints as a sentence.

    Attributes:
        error: The largest share of wrong labels among those accepted.
        confidence: The probability, over the draw of the sample, that there are not more.
        accepted: (n,) whether each item's label is accepted.
        labels: The labels of the items; gold items have their gold class.
        parts: One part for all labels, or one for each class.
        n_gold: Gold items that certify.
        n_learned: Gold items that the model learned from.
    """

    error: float
    confidence: float
    accepted: NDArray[np.bool_]
    labels: Labels
    parts: tuple[Part, ...]
    n_gold: int
    n_learned: int = 0

    @property
    def share(self) -> float:
        """Share of the items whose labels are accepted."""
        return float(self.accepted.mean())

    @property
    def by_class(self) -> bool:
        """True if the error bound holds for each class separately."""
        return self.parts[0].name is not None

    @property
    def thresholds(self) -> dict[Hashable, float | None]:
        """The least confidence that is accepted, by class; None for the class, if there is one threshold for all."""
        return {part.name: part.threshold for part in self.parts}

    @property
    def bounds(self) -> dict[Hashable, float | None]:
        """Upper bounds on the share of wrong labels among those accepted, each for its threshold alone."""
        return {part.name: part.bound for part in self.parts}

    @property
    def needed(self) -> int | None:
        """About how many labels by hand would certify something, if nothing is certified; None if more hardly would."""
        if self.accepted.any():
            return self.n_gold
        needs = [self._needed_for(part, step) for part in self.parts for step in part.steps]
        return min((n for n in needs if n is not None), default=None)

    def _needed_for(self, part: Part, step: ItemSet) -> int | None:
        """The gold items, most of them elsewhere, with which a set would likely pass, if its error is as it looks."""
        items, gold, wrong = step.total
        rate, normal = _rate(step), NormalDist()
        if rate >= self.error:
            if wrong:
                return None
            rate = self.error / 2  # too little gold to tell
        level = part.level if part.once else part.level * _REPEATS
        spread = normal.inv_cdf(1 - level) * sqrt(self.error * (1 - self.error))
        spread += normal.inv_cdf(_POWER) * sqrt(rate * (1 - rate))
        wanted = (spread / (self.error - rate)) ** 2
        wanted *= items / (items + wanted)  # drawn without replacement: never more than there are
        return min(max(_round_up(wanted * self.n_gold / gold), self.n_gold + 1), len(self.accepted) - self.n_learned)

    def __str__(self) -> str:
        basis, error = f"{_percent(self.confidence)} confidence, {self.n_gold:,} labels by hand", _percent(self.error)
        basis += ", one look" if self.parts[0].once else ""
        if not self.accepted.any():
            return f"No labels can be certified to have at most {error} wrong labels ({basis}); {self._hint()}."
        share, whose = _whole_percent(self.share), "the labels of each class" if self.by_class else "their labels"
        sentence = f"{share} of the items can be used: at most {error} of {whose} are wrong ({basis})."
        left_out = [printable(part.name) for part in self.parts if part.accepted is None]
        return sentence + (f" No labels can be used of these classes: {', '.join(left_out)}." if left_out else "")

    def _hint(self) -> str:
        if self.needed is not None:
            return f"about {self.needed:,} random labels by hand would be needed"
        steps = [step for part in self.parts for step in part.steps]
        if not steps:
            return "no item with gold has a label"
        best = min(steps, key=_rate).total
        wrong = f"{best.wrong:,} of the {best.gold:,} checked are wrong"
        return f"of the surest labels, {wrong}; at that rate, more gold would hardly help"

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as a dictionary, for programs."""
        return {
            "error": self.error,
            "confidence": self.confidence,
            "gold": self.n_gold,
            "learned": self.n_learned,
            "accepted": int(self.accepted.sum()),
            "share": self.share,
            "needed": self.needed,
            "thresholds": [part.to_dict() for part in self.parts],
            "sentence": str(self),
        }

    def to_pandas(self) -> Any:
        """A pandas frame of the labels, like `Labels.to_pandas`, with a column `accepted`."""
        frame = self.labels.to_pandas()
        frame.insert(frame.columns.get_loc("confidence") + 1, "accepted", self.accepted)
        return frame

    def _repr_html_(self) -> str:
        """The thresholds as an HTML table."""
        head = ["class", "labels", "accepted", "least confidence", "gold", "wrong", "error at most"]
        return html_table(head, [[part.title, *part.figures()] for part in self.parts], str(self))

    def plot(self, ax: Any = None) -> Any:
        """Draw the upper bound on the error against the share of items accepted, into `ax` or new axes; return them."""
        axes = new_axes(ax)
        for part in self.parts:
            shares = [step.total.items / len(self.accepted) for step in part.steps]
            bounds = [step.bound(part.level, once=part.once) for step in part.steps]
            axes.plot(shares, bounds, ".-", label=str(part.title))
        axes.axhline(self.error, color="black", linestyle="--", label="error allowed")
        axes.set(xlabel="share of the items, surest first", ylabel="upper bound on the share of wrong labels")
        axes.legend()
        return axes


def certify(
    model: LabelModel | Labels,
    votes: object,
    gold: object,
    error: float = 0.05,
    confidence: float = 0.9,
    *,
    by_class: bool = False,
    learn: object = None,
    strata: int = 1,
    metric: Metric = "accuracy",
    once: bool = False,
) -> Certificate:
    """Find the largest set of items, surest first, whose labels are wrong at most as often as stated.

    The statement holds for any votes and any model, with the stated probability over the draw of the sample, however
    often it is asked for while gold comes in (docs/trust.md). It holds only if the items with gold were drawn at
    random, as by `audit_sample`, and had no part in making the labels: those that `suggest` names teach, and must not
    certify.

    Args:
        model: The label model. One that is not fitted reads these votes, as a copy. Or labels that were made without
            this gold, such as those of `hyperlabel.label`.
        votes: The votes; may be None if `model` is labels.
        gold: True classes of items that were drawn at random: (n,) classes, -1 for unknown, or a mapping from item to
            class.
        error: The largest share of wrong labels among those accepted.
        confidence: The probability that it holds.
        by_class: Whether to bound the error of each class; each class has its own threshold.
        learn: Gold of other items that a model that is not fitted learns from; or a number between 0 and 1, the share
            of `gold` that it learns from, drawn at random. Such a share holds for one look at the gold: with more
            gold, the model and its labels change.
        strata: The strata of `audit_sample`, if the items were drawn in several.
        metric: Metric to optimize the labels for, as for `predict`.
        once: Whether you look at this gold once, with a number of labels that you chose before. Sharper exact tests
            accept more then, and hold for that look alone.

    >>> from hyperlabel import HyperLabelModel
    >>> truth = np.arange(400) % 2
    >>> votes = np.stack([truth, truth, np.where(np.arange(400) < 40, 1 - truth, truth)], axis=1)
    >>> gold = {item: truth[item] for item in range(0, 400, 4)}
    >>> print(certify(HyperLabelModel(), votes, gold))
    100% of the items can be used: at most 5% of their labels are wrong (90% confidence, 100 labels by hand).
    """
    error, confidence = check_share(error, "error"), check_share(confidence, "confidence")
    audited = read_audited(model, votes, gold, learn, strata, metric)
    labels = audited.labels
    numbers: list[Any] = (np.unique(labels.best[labels.best >= 0]).tolist() if by_class else []) or [None]
    level = (1 - confidence) / len(numbers)  # the statements about all classes hold together
    accepted, parts = np.zeros(len(labels), bool), []
    for number in numbers:
        own = labels.best >= 0 if number is None else labels.best == number
        ranking = Ranking.of(labels.confidence, own & audited.free, audited.stratum)
        steps = ranking.steps(audited.sample, audited.wrong, once=once)
        best = search(steps, error, level, once=once)
        name = None if number is None else labels.classes[number]
        parts.append(Part(name, int(own.sum()), best, tuple(steps), level, once))
        if best is not None:
            accepted |= own & (labels.confidence >= best.threshold)
    n_gold, n_learned = len(audited.sample), int((~audited.free).sum())
    return Certificate(error, confidence, accepted, audited.corrected, tuple(parts), n_gold, n_learned)


def _rate(step: ItemSet) -> float:
    """The share of wrong labels of a set according to its gold; a little more if there is little gold."""
    return (step.total.wrong + 0.5) / (step.total.gold + 1)


def _percent(share: float) -> str:
    """A share as people write it.

    >>> _percent(0.05), _percent(0.025), _percent(0.9999)
    ('5%', '2.5%', '99.99%')
    """
    return f"{100 * share:.4g}%" if round(100 * share, 9) != round(100 * share) else f"{round(100 * share)}%"


def _whole_percent(share: float) -> str:
    """A share in whole percent, rounded down, so that it never claims too much.

    >>> _whole_percent(0.829), _whole_percent(0.0042)
    ('82%', '0.4%')
    """
    return f"{floor(100 * share + 1e-9)}%" if share >= 0.01 else f"{100 * share:.1g}%"


def _round_up(number: float) -> int:
    """Rounded up to two significant digits: an estimate should look like one.

    >>> _round_up(1234), _round_up(7)
    (1300, 7)
    """
    unit = int(10 ** max(0, int(log10(max(number, 1))) - 1))
    return ceil(number / unit) * unit
