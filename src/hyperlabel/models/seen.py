"""The frame in which a fitted model judges: the classes, LFs and gold that `fit` saw."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_kind
from hyperlabel.columns.arrays import as_array
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.kernels import Float64
from hyperlabel.labels import F1Rule
from hyperlabel.models.ordered import order_outcomes, order_votes
from hyperlabel.networks import Gold, Reduce, Sums
from hyperlabel.patterns import Patterns
from hyperlabel.votes.classes import Classes
from hyperlabel.votes.outcomes import Outcomes
from hyperlabel.votes.rows import Rows

_MOST_WITHOUT_VOTES = 100  # classes to learn about without votes: there is nothing to learn


def find_active(cast: Float64, gold: NDArray[np.int64] | None, balance: Float64 | None) -> NDArray[np.intp]:
    """The classes that a model learns about: those with votes, gold or a stated share. (k,), (g, k), (k,) -> (c,).

    A class that is only stated gets no probability: a model that learned about it would have to invent it. One class
    alone leaves nothing to decide, so then the first other class is kept as well.
    """
    active = cast > 0
    if gold is not None:
        active |= gold.any(0)
    if balance is not None:
        active |= balance > 0
    found = np.count_nonzero(active)
    if found == 0:
        active[:_MOST_WITHOUT_VOTES] = True
    elif found == 1 and len(active) > 1:
        active[active.argmin()] = True
    return active.nonzero()[0]


def check_patterns(patterns: object) -> None:
    """Refuse what is not patterns, where votes were not read yet."""
    check_kind(patterns, "patterns", Patterns, "Patterns; read votes with model.read or Patterns.from_votes")


@dataclass(frozen=True, eq=False)
class Seen:
    """What `fit` saw."""

    classes: Classes  # all classes
    active: NDArray[np.intp]  # (c,) the numbers of those that the model learned about
    lf_names: tuple[str, ...] | None  # the names of the LFs; None if they have none
    n_lfs: int  # number of LFs
    gold: Gold | None = None  # vote rows of gold items, for models that look gold up; None for others
    f1: F1Rule | None = None  # how items are labeled for F1; None if it was not computed
    n_gold: int = 0  # gold items that were learned from
    outcomes: Outcomes | None = None  # outcomes that are not one class; None if all votes are classes
    ordinal: bool = False  # whether the classes have an order, so that votes lean on neighbors

    @property
    def all_active(self) -> bool:
        """Whether the model learned about every class."""
        return len(self.active) == len(self.classes)

    def match(self, patterns: Patterns, model: str) -> Patterns:
        """The patterns with the outcomes in the order that `fit` saw; refuses those of other LFs or classes.

        Gold is looked up, and ties are drawn, by the numbers of votes: other votes may number their outcomes otherwise.
        """
        check_patterns(patterns)
        if patterns.n_lfs != self.n_lfs:
            raise ParameterError(
                f"votes has {patterns.n_lfs} LFs, but this {model} learned from {self.n_lfs}; "
                "give it the same LFs, or fit it again"
            )
        known = () if self.outcomes is None else self.outcomes.names
        new = [] if patterns.outcomes is None else [name for name in patterns.outcomes.names if name not in known]
        if new:
            raise VotesError(f"votes has the outcome {new[0]!r}, which this {model} was not fitted on; fit it again")
        if patterns.n_classes != len(self.classes):
            raise ParameterError(
                f"votes has {patterns.n_classes} classes, but this {model} learned {len(self.classes)}; fit it again"
            )
        return patterns.with_outcomes(self.outcomes)

    def _numbers(self) -> NDArray[np.int64]:
        """The number of each class among the active ones, -1 for others. (k,)."""
        number = np.full(len(self.classes), -1, np.int64)
        number[self.active] = np.arange(len(self.active))
        return number

    @property
    def inner_outcomes(self) -> Outcomes | None:
        """The outcomes as the model sees them."""
        outcomes, k = self.outcomes, len(self.active)
        if outcomes is not None and not self.all_active:
            outcomes = outcomes.with_classes(self._numbers(), k)
        return order_outcomes(outcomes, k) if self.ordinal else outcomes

    def restrict(self, patterns: Patterns) -> Patterns:
        """The patterns as the model sees them: active classes only, without votes for others, in order if ordinal."""
        patterns = patterns.with_outcomes(self.outcomes)
        active = patterns if self.all_active else self._keep_active(patterns)
        return order_votes(active) if self.ordinal else active

    def _keep_active(self, patterns: Patterns) -> Patterns:
        number = self._numbers()
        classes = tuple(self.classes[c] for c in self.active)
        outcomes = patterns.outcomes
        if outcomes is not None:
            outcomes = outcomes.with_classes(number, len(classes))
            left = outcomes.leaning.any(1)
            number = np.append(number, np.where(left, np.arange(len(outcomes)) + len(classes), -1))
        rows = Rows(patterns.starts, patterns.lf, number[patterns.vote])
        if not (rows.vote >= 0).all():
            rows = rows.keep(rows.vote >= 0)
        return replace(patterns, rows=rows, n_classes=len(classes), classes=classes, outcomes=outcomes)

    def expand(self, probabilities: Float64, patterns: Patterns) -> Float64:
        """Probabilities of all classes from those of the active ones. (p, c) -> (p, k).

        A vote for a class without votes in `fit` counts like one vote of a majority vote: it gives its class
        its share of the item's votes.
        """
        if self.all_active:
            return probabilities
        shares = np.zeros((patterns.n_patterns, len(self.classes)))
        shares[:, self.active] = probabilities
        unseen = np.zeros(patterns.n_codes, bool)
        unseen[: len(self.classes)] = True
        unseen[self.active] = False
        votes = np.flatnonzero(unseen[patterns.vote])
        if len(votes):
            row, each = patterns.row[votes], 1 / np.maximum(np.diff(patterns.starts), 1)
            lost = np.bincount(row, each[row], patterns.n_patterns)
            shares *= (1 - lost)[:, None]
            np.add.at(shares, (row, patterns.vote[votes]), each[row])
        return shares

    def add_gold(self, probabilities: Float64, patterns: Patterns) -> Float64:
        """Count the probabilities as one item and add the gold items of the same votes. (p, k) -> (p, k)."""
        if self.gold is None:
            return probabilities
        index = patterns.find(self.gold.patterns)
        gold = np.where((index >= 0)[:, None] & patterns.has_votes[:, None], self.gold.counts[index], 0)
        added: Float64 = (probabilities + gold) / (1 + gold.sum(1, keepdims=True))
        return added


def vote_for(patterns: Patterns) -> Sums:
    """1 for each class that an LF votes for, 0 for others. -> (k,)."""
    voted = patterns.rows.voted_classes(patterns.n_codes)
    if patterns.outcomes is not None:
        voted = np.asarray(patterns.outcomes.table[voted].any(0))
    return (voted.astype(np.float64),)


def refuse_outcomes(outcomes: Outcomes, model: str) -> None:
    """Refuse outcomes for a model that only takes votes for one class."""
    raise ParameterError(
        f"votes has the outcome {outcomes.names[0]!r}, which is not one class, and {model} takes votes for one class "
        "only; use hlm2, mv, bv, ds, hds or auto"
    )


def reduce_restricted(reduce: Reduce, seen: Seen, sums: Callable[[Patterns], Sums]) -> Sums:
    """Like `reduce`, on chunks as the model sees them."""
    return reduce(partial(_sum_restricted, seen, sums))


def _sum_restricted(seen: Seen, sums: Callable[[Patterns], Sums], patterns: Patterns) -> Sums:
    return sums(seen.restrict(patterns))


def check_gold_counts(gold: object, patterns: Patterns) -> NDArray[np.int64]:
    """Gold of counted patterns: numbers of items. -> (p, k)."""
    counts = as_array(gold, "gold", "the number of gold items of each pattern and class")
    shape = patterns.n_patterns, patterns.n_classes
    if counts.shape != shape or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ParameterError(
            f"gold has shape {counts.shape} and type {counts.dtype}; expected the number of gold items of each "
            f"pattern and class, {shape} whole numbers"
        )
    return counts.astype(np.int64)
