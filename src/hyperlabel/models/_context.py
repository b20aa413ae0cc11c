"""The context in which a fitted model judges: the classes, LFs and gold of its `fit`."""

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Arrays, Float64, plain_classes, show
from hyperlabel.data import MOST_LFS, Classes, F1Rule, Outcomes, Patterns, Rows, as_array, state_classes
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.models._profile import VoteProfile
from hyperlabel.networks import Gold, Sums

_MOST_WITHOUT_VOTES = 100  # classes to learn about without votes: there is nothing to learn

_LEAST_ORDERED = 4  # classes with an order to use; of three, the middle one lies between any two
_NEARLY_BEST = 0.7  # the median class is the label if it is at least this probable, as a share of the best one


def find_active(cast: NDArray[np.bool_], gold: NDArray[np.int64] | None, balance: Float64 | None) -> NDArray[np.intp]:
    """Find the classes that a model learns about: those with votes, gold or a stated share. (k,), (g, k), (k,) -> (c,).

    A class that is only stated gets no probability: a model that learned about it would have to invent it. One class
    alone leaves nothing to decide, so then the first other class is kept as well.
    """
    active = cast.copy()
    if gold is not None:
        active |= gold.any(0)
    if balance is not None:
        active |= balance > 0
    n_active = np.count_nonzero(active)
    if n_active == 0:
        active[:_MOST_WITHOUT_VOTES] = True
    elif n_active == 1 and len(active) > 1:
        active[active.argmin()] = True
    return active.nonzero()[0]


@dataclass(frozen=True, eq=False)
class FitContext:
    """Classes, LFs and gold of a `fit`."""

    classes: Classes  # all classes
    active: NDArray[np.intp]  # (c,) the numbers of those that the model learned about
    lf_names: tuple[str, ...] | None  # the names of the LFs; None if they have none
    n_lfs: int  # number of LFs
    gold: Gold | None = None  # vote rows of gold items, for models that look gold up; None for others
    f1: F1Rule | None = None  # how items are labeled for F1; None if it was not computed
    n_gold: int = 0  # gold items that were learned from
    outcomes: Outcomes | None = None  # outcomes that are not one class; None if all votes are classes
    ordinal: bool = False  # whether the classes have an order, so that labels lean to the median
    profile: VoteProfile | None = None  # how the LFs voted; None if an older version saved it
    abstain: tuple[Any, ...] | None = None  # values that abstain, if they were stated
    source: str | None = None  # the name of the table, if it has one
    fitted_at: str | None = None  # the time of `fit`, in UTC

    @property
    def all_active(self) -> bool:
        """True if the model learned about every class."""
        return len(self.active) == len(self.classes)

    def match(self, patterns: Patterns, model: str) -> Patterns:
        """Return the patterns with the outcomes in the order of `fit`; refuse those of other LFs or classes.

        Gold is looked up, and ties are drawn, by the numbers of votes: other votes may number their outcomes otherwise.
        """
        if patterns.n_lfs != self.n_lfs:
            raise ParameterError(
                f"votes has {patterns.n_lfs} LFs, but this {model} learned from {self.n_lfs}; "
                "give it the same LFs, or fit it again"
            )
        names = () if self.outcomes is None else self.outcomes.names
        new = [] if patterns.outcomes is None else [name for name in patterns.outcomes.names if name not in names]
        if new:
            raise VotesError(f"votes has the outcome {new[0]!r}, which this {model} was not fitted on; fit it again")
        if patterns.n_classes != len(self.classes):
            raise ParameterError(
                f"votes has {patterns.n_classes} classes, but this {model} learned {len(self.classes)}; fit it again"
            )
        return patterns.with_outcomes(self.outcomes)

    def _numbers(self) -> NDArray[np.int64]:
        """Return the number of each class among the active ones, -1 for others. (k,)."""
        number = np.full(len(self.classes), -1, np.int64)
        number[self.active] = np.arange(len(self.active))
        return number

    @property
    def inner_outcomes(self) -> Outcomes | None:
        """The outcomes as the model sees them."""
        if self.outcomes is None or self.all_active:
            return self.outcomes
        return self.outcomes.with_classes(self._numbers(), len(self.active))

    def restrict(self, patterns: Patterns) -> Patterns:
        """Return the patterns as the model sees them: active classes only."""
        if self.outcomes is not None:
            patterns = patterns.with_outcomes(self.outcomes)
        return patterns if self.all_active else self._keep_active(patterns)

    def _apply(self, function: Callable[[Patterns], Sums], patterns: Patterns) -> Sums:
        """Call a function with the patterns as the model sees them."""
        return function(self.restrict(patterns))

    def _keep_active(self, patterns: Patterns) -> Patterns:
        number = self._numbers()
        classes = tuple(self.classes[c] for c in self.active)
        outcomes = patterns.outcomes
        if outcomes is not None:
            outcomes = outcomes.with_classes(number, len(classes))
            left = outcomes.class_weights.any(1)
            number = np.append(number, np.where(left, np.arange(len(outcomes)) + len(classes), -1))
        rows = Rows(patterns.starts, patterns.lf, number[patterns.vote])
        if not (rows.vote >= 0).all():
            rows = rows.keep(rows.vote >= 0)
        return replace(patterns, rows=rows, n_classes=len(classes), classes=classes, outcomes=outcomes)

    def expand(self, probabilities: Float64, patterns: Patterns) -> Float64:
        """Return probabilities of all classes from those of the active ones. (p, c) -> (p, k).

        A vote for a class without votes in `fit` counts like one vote of a majority vote: it gives its class
        its share of the item's votes.
        """
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


def add_gold(probabilities: Float64, patterns: Patterns, gold: Gold) -> Float64:
    """Count the probabilities as one item and add the gold items of the same votes. (p, k) -> (p, k)."""
    index = patterns.find(gold.patterns)
    counts = np.where((index >= 0)[:, None] & patterns.has_votes[:, None], gold.counts[index], 0)
    added: Float64 = (probabilities + counts) / (1 + counts.sum(1, keepdims=True))
    return added


def lean_to_median(best: NDArray[np.intp], probabilities: Float64) -> NDArray[np.intp]:
    """Return the median class of items where it is nearly as probable as the best. (p,), (p, k) -> (p,).

    Judges of ordered classes miss by a step or two to both sides, so the best of several similar classes is often not
    between them. An item that is either low or high keeps its best class: nobody says that it is in the middle.
    """
    if probabilities.shape[1] < _LEAST_ORDERED:
        return best
    median = (probabilities.cumsum(1) < 0.5 - 1e-9).sum(1)
    near = probabilities[np.arange(len(median)), median] >= _NEARLY_BEST * probabilities.max(1)
    return np.where(near & (best >= 0), median, best)


def refuse_outcomes(outcomes: Outcomes, model: str) -> None:
    """Refuse outcomes for a model that only takes votes for one class."""
    raise ParameterError(
        f"votes has the outcome {outcomes.names[0]!r}, which is not one class, and {model} takes votes for one class "
        "only; use hlm3, mv, bv, ds, hds or auto"
    )


def check_gold_counts(gold: object, patterns: Patterns) -> NDArray[np.int64]:
    """Return gold of counted patterns as numbers of items. -> (p, k)."""
    counts = as_array(gold, "gold", "the number of gold items of each pattern and class")
    shape = patterns.n_patterns, patterns.n_classes
    if counts.shape != shape or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ParameterError(
            f"gold has shape {counts.shape} and type {counts.dtype}; expected the number of gold items of each "
            f"pattern and class, {shape} whole numbers"
        )
    return counts.astype(np.int64)


def pack_context(context: FitContext) -> tuple[Arrays, dict[str, Any]]:
    """Return a context as arrays and a header."""
    arrays: Arrays = {"active": context.active.astype(np.int64)}
    if context.f1 is not None:
        arrays |= {"f1": context.f1.f1, "f1_items": context.f1.items}
    if context.gold is not None:
        arrays |= context.gold.to_arrays()
    header: dict[str, Any] = {
        "classes": plain_classes(context.classes),
        "lf_names": None if context.lf_names is None else list(context.lf_names),
        "n_lfs": context.n_lfs,
        "n_gold": context.n_gold,
    }
    if context.ordinal:
        header["ordered"] = True
    if context.outcomes is not None:
        header["outcomes"] = context.outcomes.to_header()
    if context.profile is not None:
        arrays |= context.profile.to_arrays()
    if context.abstain is not None:
        header["abstain"] = [value for value in context.abstain if isinstance(value, bool | int | float | str)]
    return arrays, header | {"source": context.source, "fitted_at": context.fitted_at}


def unpack_context(arrays: Arrays, header: dict[str, Any]) -> FitContext:
    """Invert `pack_context`; a ValueError if the parts do not fit together."""
    classes = state_classes(None, header["classes"])
    if classes is None:
        raise ValueError("classes are missing")
    if "ordinal" in header:
        raise ValueError("ordered classes were learned in another way then; fit it again")
    names, n_lfs = header["lf_names"], header["n_lfs"]
    if type(n_lfs) is not int or not 1 <= n_lfs <= MOST_LFS:
        raise ValueError(f"n_lfs is {show(n_lfs)}")
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if names is not None and not (is_list and len(set(names)) == n_lfs):
        raise ValueError(f"lf_names must be {n_lfs} different strings")
    outcomes = Outcomes.from_header(header.get("outcomes"), len(classes))
    return FitContext(
        classes,
        _read_active(arrays["active"], len(classes)),
        None if names is None else tuple(names),
        n_lfs,
        gold=Gold.from_arrays(arrays, n_lfs, len(classes), outcomes),
        f1=_read_f1(arrays, len(classes)) if "f1" in arrays else None,
        n_gold=operator.index(header["n_gold"]),
        outcomes=outcomes,
        ordinal=header.get("ordered") is True,
        profile=VoteProfile.from_arrays(arrays, n_lfs, len(classes) + len(outcomes or ())),
        abstain=None if header.get("abstain") is None else tuple(plain_classes(header["abstain"])),
        source=_read_text(header.get("source")),
        fitted_at=_read_text(header.get("fitted_at")),
    )


def _read_text(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{show(value)} is not a text")
    return value


def _read_active(active: NDArray[Any], k: int) -> NDArray[np.intp]:
    """Return the numbers of some of k classes, in order."""
    whole = active.ndim == 1 and active.dtype == np.int64 and 1 <= len(active) <= k
    if not whole or active[0] < 0 or active[-1] >= k or (np.diff(active) <= 0).any():
        raise ValueError(f"active must be numbers of {k} classes, in order")
    return active.astype(np.intp)


def _read_f1(arrays: Arrays, k: int) -> F1Rule:
    f1, items = arrays["f1"], arrays["f1_items"]
    size = 1 if k == 2 else k
    if f1.shape != (size,) or items.shape != (size,) or not (f1 >= 0).all() or not (items > 0).all():
        raise ValueError(f"f1 and f1_items must be {size} numbers each, 0 or more")
    return F1Rule(f1, items)
