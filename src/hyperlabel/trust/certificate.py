"""`certify`: which labels you can rely on, by a random sample of gold, without assumptions about the votes."""

from collections.abc import Hashable
from dataclasses import dataclass
from math import ceil, floor, log10, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_flag, check_share
from hyperlabel.labels import Labels
from hyperlabel.metrics import Metric
from hyperlabel.models import LabelModel
from hyperlabel.plots import new_axes
from hyperlabel.shown import html_table, printable
from hyperlabel.trust.audited import Audited, read_audited
from hyperlabel.trust.sequence import ItemSet, Ranking, search

_POWER = 0.8  # chance that the stated number of needed labels suffices


@dataclass(frozen=True, eq=False)
class Part:
    """Labels that are accepted by one threshold: all, or those of one class."""

    name: Hashable | None  # the class; None for labels of all classes
    items: int  # how many labels there are
    accepted: ItemSet | None  # the set of them that is accepted; None if there is none
    steps: tuple[ItemSet, ...]  # the sets that could be tested, each larger than the one before
    level: float  # the chance to accept a set with too many wrong labels

    @property
    def threshold(self) -> float | None:
        """The least confidence that is accepted; None if nothing is."""
        return None if self.accepted is None else self.accepted.threshold

    @property
    def bound(self) -> float | None:
        """Upper bound on the share of wrong labels among those accepted, for this threshold alone."""
        return None if self.accepted is None else self.accepted.bound(self.level)

    @property
    def n_accepted(self) -> int:
        """How many labels are accepted."""
        return 0 if self.accepted is None else self.accepted.total.items

    def curve(self) -> list[tuple[float, int, int, int, float]]:
        """For each set: threshold, items, gold, wrong, and the upper bound on its error for this set alone."""
        return [(step.threshold, *step.total, step.bound(self.level)) for step in self.steps]


@dataclass(frozen=True, eq=False)
class Certificate:
    """Which labels you can rely on; prints as a sentence.

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
        """Whether the error holds for the labels of each class."""
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
        found = [n for part in self.parts for step in part.steps if (n := self._needed_for(part, step)) is not None]
        return min(found, default=None)

    def _needed_for(self, part: Part, step: ItemSet) -> int | None:
        """The gold items, most of them elsewhere, with which a set would likely pass, if its error is as it looks."""
        items, gold, wrong = step.total
        rate, normal = _rate(step), NormalDist()
        if rate >= self.error:
            if wrong:
                return None
            rate = self.error / 2  # too little gold to tell
        spread = normal.inv_cdf(1 - part.level) * sqrt(self.error * (1 - self.error))
        spread += normal.inv_cdf(_POWER) * sqrt(rate * (1 - rate))
        wanted = (spread / (self.error - rate)) ** 2
        wanted *= items / (items + wanted)  # drawn without replacement: never more than there are
        return min(max(_round_up(wanted * self.n_gold / gold), self.n_gold + 1), len(self.accepted) - self.n_learned)

    def __str__(self) -> str:
        sure = f"{_percent(self.confidence)} confidence, {self.n_gold:,} labels by hand"
        if not self.accepted.any():
            most = f"at most {_percent(self.error)} wrong labels"
            return f"No labels can be certified to have {most} ({sure}); {self._hint()}."
        whose = "the labels of each class" if self.by_class else "their labels"
        used, most = _whole_percent(self.share), _percent(self.error)
        what = f"{used} of the items can be used: at most {most} of {whose} are wrong ({sure})."
        left_out = [printable(part.name) for part in self.parts if part.accepted is None]
        return what + (f" No labels of these classes: {', '.join(left_out)}." if left_out else "")

    def _hint(self) -> str:
        if self.needed is not None:
            return f"about {self.needed:,} random labels by hand would be needed"
        steps = [step for part in self.parts for step in part.steps]
        if not steps:
            return "no item with gold has a label"
        best = min(steps, key=_rate).total
        wrong = f"{best.wrong:,} of {best.gold:,} are wrong"
        return f"of the surest labels, {wrong}; at that rate, more gold would hardly help"

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """What is said, for programs."""
        return {
            "error": self.error,
            "confidence": self.confidence,
            "gold": self.n_gold,
            "learned": self.n_learned,
            "accepted": int(self.accepted.sum()),
            "share": self.share,
            "needed": self.needed,
            "thresholds": [
                {"class": part.name, "threshold": part.threshold, "accepted": part.n_accepted, "bound": part.bound}
                for part in self.parts
            ],
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
        return html_table(head, [self._row(part) for part in self.parts], str(self))

    def plot(self, ax: Any = None) -> Any:
        """Draw the upper bound on the error against the share of items accepted.

        Draws into `ax`, axes of matplotlib, or into new ones, and returns them.
        """
        drawn = new_axes(ax)
        for part in self.parts:
            curve = part.curve()
            shares = [items / len(self.accepted) for _, items, *_ in curve]
            drawn.plot(
                shares, [bound for *_, bound in curve], ".-", label="all" if part.name is None else str(part.name)
            )
        drawn.axhline(self.error, color="black", linestyle="--", label="error allowed")
        drawn.set(xlabel="share of the items, surest first", ylabel="upper bound on the share of wrong labels")
        drawn.legend()
        return drawn

    def _row(self, part: Part) -> list[object]:
        name = "all" if part.name is None else part.name
        if part.accepted is None or part.bound is None:
            return [name, f"{part.items:,}", "none", None, None, None, None]
        items, gold, wrong = part.accepted.total
        return [name, f"{part.items:,}", f"{items:,}", f"{part.threshold:.3f}", gold, wrong, f"{part.bound:.1%}"]


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
) -> Certificate:
    """The largest set of items, surest first, whose labels are wrong at most as often as stated.

    The statement holds for any votes and any model, with the stated probability over the draw of the sample: exact
    hypergeometric tests (`hyperlabel.trust.bounds`) of growing sets (`hyperlabel.trust.sequence`). It holds only if
    the items with gold were drawn at random, as by `audit_sample`, and had no part in making the labels: those that
    `suggest` names teach, and must not certify.

    Args:
        model: The label model. One that is not fitted reads these votes, as a copy. Or labels that were made without
            this gold, such as those of `fill_labels`.
        votes: The votes; may be None if `model` is labels.
        gold: True classes of items that were drawn at random: (n,) classes, -1 for unknown, or a mapping from item to
            class.
        error: The largest share of wrong labels among those accepted.
        confidence: The probability that it holds.
        by_class: Whether to bound the error of each class; each class has its own threshold.
        learn: What a model that is not fitted may learn from, besides the votes: gold of other items, or a number
            between 0 and 1, the share of `gold` that it learns from, drawn at random.
        strata: The strata of `audit_sample`, if the items were drawn in several.
        metric: What the labels should be good at, as for `predict`.

    >>> from hyperlabel import HyperLabelModel
    >>> truth = np.arange(400) % 2
    >>> votes = np.stack([truth, truth, np.where(np.arange(400) < 40, 1 - truth, truth)], axis=1)
    >>> gold = {item: truth[item] for item in range(0, 400, 4)}
    >>> print(certify(HyperLabelModel(), votes, gold))
    100% of the items can be used: at most 5% of their labels are wrong (90% confidence, 100 labels by hand).
    """
    allowed, sure = check_share(error, "error"), check_share(confidence, "confidence")
    check_flag(by_class, "by_class")
    return certify_audited(read_audited(model, votes, gold, learn, strata, metric), allowed, sure, by_class=by_class)


def certify_audited(audited: Audited, error: float, confidence: float, *, by_class: bool = False) -> Certificate:
    """Like `certify`, for labels and gold that are already read."""
    labels = audited.labels
    numbers: list[Any] = np.unique(labels.best[labels.best >= 0]).tolist() if by_class else []
    numbers = numbers or [None]
    level = (1 - confidence) / len(numbers)  # the statements about all classes hold together
    accepted, parts = np.zeros(len(labels), bool), []
    for number in numbers:
        own = labels.best >= 0 if number is None else labels.best == number
        ranking = Ranking.of(labels.confidence, own & audited.free, audited.stratum)
        steps = ranking.steps(audited.known, audited.wrong)
        best = search(steps, error, level)
        name = None if number is None else labels.classes[number]
        parts.append(Part(name, int(own.sum()), best, tuple(steps), level))
        if best is not None:
            accepted |= own & (labels.confidence >= best.threshold)
    n_gold, n_learned = len(audited.known), int((~audited.free).sum())
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
