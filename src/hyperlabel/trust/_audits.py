"""Audits of labels: random items to label by hand, and the labels that this gold judges.

Items may be drawn in strata of confidence: the surest labels, the next ones, and so on.
"""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Metric, check_count, check_number, check_seed, html_table
from hyperlabel.data import (
    Classes,
    Labels,
    Votes,
    decode,
    encode_column,
    middle_ranks,
    missing_classes,
    to_votes,
    unify_labels,
)
from hyperlabel.errors import ParameterError, VotesError, require, warn_of_votes
from hyperlabel.models import LabelModel, choose_model

MOST_STRATA = 10
_SHOWN_ROWS = 10
_UNLIKELY = 4.0  # a random sample almost never differs by this many standard errors


def check_strata(strata: object) -> None:
    """Refuse an impossible number of strata."""
    check_number(strata, "strata", f"a whole number from 1 to {MOST_STRATA}", least=1, most=MOST_STRATA, whole=True)


def strata_of(labels: Labels, strata: int) -> NDArray[np.int64]:
    """The stratum of each item: 0 for the surest labels, and so on; items without a label come last. -> (n,).

    Strata have about the same size; labels of the same confidence are in the same. The same labels always give the
    same strata, so that a sample's strata need not be kept. One stratum holds all items, even those without a label.
    """
    check_strata(strata)
    stratum = np.zeros(len(labels), np.int64)
    if strata == 1:
        return stratum
    labeled = labels.best >= 0
    rank = middle_ranks(-labels.confidence[labeled])
    stratum[labeled] = np.minimum(rank * strata / max(1, labeled.sum()), strata - 1)
    stratum[~labeled] = strata
    return np.unique(stratum, return_inverse=True)[1]  # without empty strata


def share_out(n: int, sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Share out n items: two from each stratum, then half as many per item as from the stratum before. (h,) -> (h,)."""
    takes: NDArray[np.int64] = np.minimum(sizes, 2 if 2 * len(sizes) <= n else 0).astype(np.int64)
    weights = sizes * 0.5 ** np.arange(len(sizes))
    while takes.sum() < n:  # a stratum that is drawn completely leaves the rest to the others
        left = sizes - takes
        wanted = (n - takes.sum()) * weights * (left > 0) / (weights * (left > 0)).sum()
        more = np.minimum(np.floor(wanted).astype(np.int64), left)
        if not more.any():
            more[np.flatnonzero(left)[np.argmax(wanted[left > 0])]] = 1
        takes += more
    return takes


@dataclass(frozen=True, eq=False)
class AuditSample:
    """Items that were drawn at random, in random order.

    Attributes:
        items: (s,) their identifiers, or else positions.
        places: (s,) their positions among the items of the votes.
        stratum: (s,) the stratum of each, 0 for the surest labels.
        inclusion: (s,) the probability that each was drawn.
        strata: The number of strata asked for; `certify` and `estimate` need the same.
    """

    items: NDArray[Any]
    places: NDArray[np.intp]
    stratum: NDArray[np.int64]
    inclusion: Float64
    strata: int = 1

    def __len__(self) -> int:
        return len(self.items)

    def to_pandas(self) -> Any:
        """A pandas frame: item, stratum and inclusion, one row per item."""
        require("pandas", extra="pandas")
        import pandas as pd

        return pd.DataFrame({"item": self.items, "stratum": self.stratum, "inclusion": self.inclusion})

    def __repr__(self) -> str:
        strata = "" if self.strata == 1 else f", {self.strata} strata"
        return f"AuditSample({len(self):,} items{strata})"

    def _repr_html_(self) -> str:
        """The first items as an HTML table."""
        rows = zip(self.items.tolist(), self.stratum.tolist(), self.inclusion.round(4).tolist(), strict=True)
        return html_table(["item", "stratum", "inclusion"], list(rows)[:_SHOWN_ROWS], repr(self))


def audit_sample(
    votes: object,
    n: int,
    *,
    gold: object = None,
    strata: int = 1,
    model: LabelModel | str | None = None,
    seed: int = 0,
) -> AuditSample:
    """Draw items to label by hand for `certify` and `estimate`, at random without replacement.

    They judge labels; no model may learn from them. Items that teach come from `suggest`, and must not
    judge. A longer sample with the same seed starts with the shorter one, if there is one stratum.

    Args:
        votes: The votes.
        n: How many items.
        gold: Gold that the model learns from, as for `LabelModel.fit`; these items are not drawn.
        strata: The number of strata of confidence. One draws every item with the same probability, and is
            usually best (docs/trust.md). More strata draw more of the surest items.
        model: The label model for the strata, or its short name; the hyper label model if not given. `certify` must
            use the same.
        seed: Another seed draws other items.

    >>> sample = audit_sample([[0, 1], [1, 1], [0, 0], [0, -1]], 2)
    >>> len(sample), sample.inclusion.tolist()
    (2, [0.5, 0.5])
    """
    check_count(n, "n")
    check_strata(strata)
    label_model = choose_model(model)
    read = label_model.read_votes(votes)
    free = np.ones(read.n_items, bool) if gold is None else read.with_labels(gold, "gold")[1] < 0
    if n > free.sum():
        raise ParameterError(f"n is {n}; expected at most {free.sum()}, the number of items without gold")
    stratum = np.zeros(read.n_items, np.int64)
    if strata > 1:
        if gold is not None and not label_model.is_fitted:
            label_model = copy.copy(label_model).fit(votes, gold)
        stratum = strata_of(label_model.label(votes), strata)
    rng = np.random.default_rng(check_seed(seed))
    sizes = np.bincount(stratum[free])
    takes = share_out(n, sizes)
    drawn = [rng.permutation(np.flatnonzero(free & (stratum == h)))[:take] for h, take in enumerate(takes)]
    index = np.concatenate(drawn)
    if strata > 1:
        index = rng.permutation(index)
    inclusion = (takes / np.maximum(sizes, 1))[stratum[index]]
    items = index if read.items is None else read.items[index]
    return AuditSample(items, index, stratum[index], inclusion, strata)


@dataclass(frozen=True, eq=False)
class AuditedLabels:
    """Labels and gold of the same items."""

    labels: Labels
    # (n,) class numbers of the gold that judges them, -1 for unknown; a class that no label can have is numbered after
    # those of the labels.
    gold: NDArray[np.int64]
    training: NDArray[np.int64]  # (n,) class numbers of the gold that the model learned from here, -1 for unknown
    stratum: NDArray[np.int64]  # (n,) the stratum that each item was sampled in
    classes: Classes  # those of the labels, then those that only the gold has

    @property
    def free(self) -> NDArray[np.bool_]:
        """Items that the model did not learn from: the gold is a sample of these. (n,)."""
        return self.training < 0

    @property
    def sample(self) -> NDArray[np.intp]:
        """Index of the items with gold. (g,)."""
        return np.flatnonzero(self.gold >= 0)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Mask of wrong labels among the items with gold; no label counts as wrong. (g,)."""
        return np.asarray(self.gold[self.sample] != self.labels.best[self.sample])

    @property
    def corrected(self) -> Labels:
        """The labels, with the class of the gold where that is known."""
        gold = np.maximum(self.gold, self.training)
        return self.labels.with_gold(np.where(gold < len(self.labels.classes), gold, -1))

    def warn_unless_random(self) -> None:
        """Warn of gold that was chosen, not drawn: its confidence differs from that of all items."""
        ranked = self.free & (self.labels.best >= 0)
        sample, n = ranked & (self.gold >= 0), int(ranked.sum())
        g = int(sample.sum())
        if not 1 < g < n:
            return
        confidence = self.labels.confidence
        of_sample, of_all = float(confidence[sample].mean()), float(confidence[ranked].mean())
        deviation = float(confidence[ranked].std()) * np.sqrt((n - g) / (n - 1) / g)
        if abs(of_sample - of_all) > _UNLIKELY * deviation + 1e-9:
            message = (
                f"gold does not look like a random sample: its labels have a mean confidence of {of_sample:.3f}, all "
                f"labels {of_all:.3f}. The result holds only for random samples; draw one with audit_sample"
            )
            warn_of_votes([message])


def read_audited(
    model: LabelModel | Labels,
    votes: object,
    gold: object,
    learn: object = None,
    strata: int = 1,
    metric: Metric = "accuracy",
) -> AuditedLabels:
    """Label items by a model that has not seen the gold; the arguments are those of `certify`."""
    check_strata(strata)
    if isinstance(model, Labels):
        audited = _match_gold(_check_labels(model, votes, learn), gold, strata)
    elif learn is not None:
        audited = _learn_and_label(choose_model(model), votes, gold, learn, strata, metric)
    else:
        model = choose_model(model)
        audited = _match_gold(model.label(votes, metric), gold, strata)
        if model.is_fitted and model.n_gold_:
            message = (
                f"the model learned from {model.n_gold_:,} gold labels; if some of the {len(audited.sample):,} given "
                "here are among them, the result is too optimistic. Give a model that is not fitted, and the gold to "
                "learn from as learn"
            )
            warn_of_votes([message])
    if not len(audited.sample):
        raise VotesError("gold is unknown for every item; expected the classes of a random sample of the items")
    if strata == 1:
        audited.warn_unless_random()
    return audited


def _match_gold(labels: Labels, gold: object, strata: int) -> AuditedLabels:
    """Match labels with gold that had no part in making them; its classes may be others."""
    column = unify_labels(labels.identity.match(gold, "gold"), labels.classes)
    classes = labels.classes + missing_classes(column, labels.classes)
    numbers = encode_column(column, classes).astype(np.int64)
    return AuditedLabels(labels, numbers, np.full(len(numbers), -1, np.int64), strata_of(labels, strata), classes)


def _learn_and_label(
    model: LabelModel, votes: object, gold: object, learn: object, strata: int, metric: Metric
) -> AuditedLabels:
    """Label items by a copy of the model that learns from some of the gold, or from gold of other items."""
    if model.is_fitted:
        raise ParameterError(
            f"learn is given, but this {type(model).__name__} is fitted; give one that is not, or leave learn out"
        )
    read, numbers, training = _split_gold(to_votes(votes, **model.stated_classes), gold, learn)
    labels = copy.copy(model).fit(read, decode(training, read.classes)).label(read, metric)
    return AuditedLabels(labels, numbers, training, strata_of(labels, strata), read.classes)


def _check_labels(labels: Labels, votes: object, learn: object) -> Labels:
    """Refuse labels with something to learn from, or with votes of other items."""
    if learn is not None:
        raise ParameterError("learn is given, but labels learn nothing; give a label model, or leave learn out")
    n = len(labels) if votes is None else to_votes(votes).n_items
    if n != len(labels):
        raise VotesError(
            f"model is labels of {len(labels):,} items, but votes has {n:,} items; give both for the same items"
        )
    return labels


def _split_gold(votes: Votes, gold: object, learn: object) -> tuple[Votes, NDArray[np.int64], NDArray[np.int64]]:
    """The votes with all classes, the (n,) gold that judges, and the (n,) gold to learn from."""
    votes, numbers = votes.with_labels(gold, "gold")
    if not isinstance(learn, int | float):
        votes, training = votes.with_labels(learn, "learn")
        both = np.flatnonzero((numbers >= 0) & (training >= 0))
        if len(both):
            item = (both if votes.items is None else votes.items[both]).tolist()[0]
            raise VotesError(
                f"learn and gold share {len(both):,} items, such as {item!r}; gold that a model learns from cannot "
                "judge it: leave these items out of one of the two"
            )
        return votes, numbers, training
    if not 0 < learn < 1:
        raise ParameterError(
            f"learn is {learn:g}; expected a share of the gold between 0 and 1, or gold of other items"
        )
    sample = np.flatnonzero(numbers >= 0)
    drawn = np.random.default_rng(0).permutation(sample)[: round(learn * len(sample))]
    training = np.full(len(numbers), -1, np.int64)
    training[drawn] = numbers[drawn]
    numbers[drawn] = -1
    return votes, numbers, training
