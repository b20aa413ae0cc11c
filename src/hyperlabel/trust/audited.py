"""Labels of items, and gold that had no part in making them: what certificates and estimates are made from."""

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import ParameterError, VotesError, warn_of_votes
from hyperlabel.labels import Labels
from hyperlabel.metrics import Metric
from hyperlabel.models import LabelModel, choose_model
from hyperlabel.trust.strata import check_strata, strata_of
from hyperlabel.votes import to_votes
from hyperlabel.votes.classes import Classes, decode, encode_column, missing_classes, unify_labels

_UNLIKELY = 4.0  # a random sample almost never differs by this many standard errors


@dataclass(frozen=True, eq=False)
class Audited:
    """Labels and gold of the same items."""

    labels: Labels  # the labels of the items
    # (n,) class numbers of the gold that judges them, -1 for unknown; a class that no label can have is numbered after
    # those of the labels.
    gold: NDArray[np.int64]
    learned: NDArray[np.int64]  # (n,) class numbers of the gold that the model learned from here, -1 for unknown
    stratum: NDArray[np.int64]  # (n,) the stratum that each item was sampled in
    classes: Classes  # those of the labels, then those that only the gold has

    @property
    def free(self) -> NDArray[np.bool_]:
        """Items that the model did not learn from: the gold is a sample of these. (n,)."""
        return self.learned < 0

    @property
    def known(self) -> NDArray[np.intp]:
        """Places of the items with gold. (g,)."""
        return np.flatnonzero(self.gold >= 0)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Whether the labels of the items with gold are wrong; no label counts as wrong. (g,)."""
        return np.asarray(self.gold[self.known] != self.labels.best[self.known])

    @property
    def corrected(self) -> Labels:
        """The labels, with the class of the gold where that is known."""
        gold = np.maximum(self.gold, self.learned)
        return self.labels.with_gold(np.where(gold < len(self.labels.classes), gold, -1))


def read_audited(
    model: LabelModel | Labels,
    votes: object,
    gold: object,
    learn: object = None,
    strata: int = 1,
    metric: Metric = "accuracy",
) -> Audited:
    """Label items by a model that has not seen the gold; the arguments are those of `certify`."""
    check_strata(strata)
    if isinstance(model, Labels):
        labels, read, learned = model, _read_labels(model, votes, gold, learn), None
    else:
        labels, read, learned = _label(choose_model(model), votes, gold, learn, metric)
    known = read.numbers
    if not (known >= 0).any():
        raise VotesError("gold is unknown for every item; expected the classes of a random sample of the items")
    learned = np.full(len(known), -1, np.int64) if learned is None else learned
    audited = Audited(labels, known, learned, strata_of(labels, strata), read.classes)
    if strata == 1:
        _warn_of_choice(audited)
    return audited


class _Gold(NamedTuple):
    """Gold as class numbers."""

    numbers: NDArray[np.int64]  # (n,) -1 for unknown
    classes: Classes  # what the numbers mean


def _read_labels(labels: Labels, votes: object, gold: object, learn: object) -> _Gold:
    """The gold of labels that were given."""
    if learn is not None:
        raise ParameterError("learn is given, but labels learn nothing; give a label model, or leave learn out")
    n = len(labels) if votes is None else to_votes(votes).n_items
    if n != len(labels):
        raise VotesError(
            f"model is labels of {len(labels):,} items, but votes has {n:,} items; give both for the same items"
        )
    return _read_gold(labels, gold)


def _read_gold(labels: Labels, gold: object) -> _Gold:
    """Gold as class numbers, including classes that labels cannot have."""
    column = unify_labels(labels.identity.match(gold, "gold"), labels.classes)
    classes = labels.classes + missing_classes(column, labels.classes)
    return _Gold(encode_column(column, classes).astype(np.int64), classes)


def _label(
    model: LabelModel, votes: object, gold: object, learn: object, metric: Metric
) -> tuple[Labels, _Gold, NDArray[np.int64] | None]:
    """The labels, the gold that judges them, and the (n,) gold that the model learned from here, if any."""
    if model.is_fitted and learn is not None:
        raise ParameterError(
            f"learn is given, but this {type(model).__name__} is fitted; give one that is not, or leave learn out"
        )
    read: Any = votes if model.is_fitted else to_votes(votes, **model.stated_classes)
    if learn is None:
        labels = model.label(read, metric)
        judging = _read_gold(labels, gold)
        if model.is_fitted:
            _warn_of_learned(model, int((judging.numbers >= 0).sum()))
        return labels, judging, None
    read, known = read.with_labels(gold, "gold")
    if isinstance(learn, int | float):
        taught = _split(known, float(learn))
        known = np.where(taught >= 0, -1, known)
    else:
        read, taught = read.with_labels(learn, "learn")
        _check_apart(read, known, taught)
    labels = copy.copy(model).fit(read, decode(taught, read.classes)).label(read, metric)
    return labels, _Gold(known, read.classes), taught


def _split(known: NDArray[np.int64], share: float) -> NDArray[np.int64]:
    """A random share of the gold. (n,) -> (n,)."""
    if not 0 < share < 1:
        raise ParameterError(
            f"learn is {share:g}; expected a share of the gold between 0 and 1, or gold of other items"
        )
    places = np.flatnonzero(known >= 0)
    drawn = np.random.default_rng(0).permutation(places)[: round(share * len(places))]
    taught = np.full(len(known), -1, np.int64)
    taught[drawn] = known[drawn]
    return taught


def _check_apart(votes: Any, known: NDArray[np.int64], taught: NDArray[np.int64]) -> None:
    both = np.flatnonzero((known >= 0) & (taught >= 0))
    if len(both):
        item = both.tolist()[0] if votes.items is None else votes.items[both].tolist()[0]
        raise VotesError(
            f"learn and gold share {len(both):,} items, such as {item!r}; gold that a model learns from cannot judge "
            "it: leave these items out of one of the two"
        )


def _warn_of_learned(model: LabelModel, n: int) -> None:
    if model.n_gold_:
        message = (
            f"the model learned from {model.n_gold_:,} gold labels; if some of the {n:,} given here are among them, "
            "the result is too optimistic. Give a model that is not fitted, and the gold to learn from as learn"
        )
        warn_of_votes([message])


def _warn_of_choice(audited: Audited) -> None:
    """Warn of gold that was chosen, not drawn: its confidence differs from that of all items."""
    labels = audited.labels
    ranked = audited.free & (labels.best >= 0)
    sample, n = ranked & (audited.gold >= 0), int(ranked.sum())
    g = int(sample.sum())
    if not 1 < g < n:
        return
    confidence = labels.confidence
    drawn, all_items = float(confidence[sample].mean()), float(confidence[ranked].mean())
    deviation = float(confidence[ranked].std()) * np.sqrt((n - g) / (n - 1) / g)
    if abs(drawn - all_items) > _UNLIKELY * deviation + 1e-9:
        message = (
            f"gold does not look like a random sample: its labels have a mean confidence of {drawn:.3f}, all labels "
            f"{all_items:.3f}. The result holds only for random samples; draw one with audit_sample"
        )
        warn_of_votes([message])
