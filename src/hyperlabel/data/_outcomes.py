"""Outcomes of LFs that are not one class: "not spam", "spam or scam", "spam, at 0.7", the levels of a score.

An outcome has a *weight* for each class. In votes and patterns the numbers 0..k-1 mean votes for one class, and the
numbers from k on mean the outcomes, in order; `None` instead of `Outcomes` means that all votes are classes.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Ints, check_kind, check_number, show
from hyperlabel.errors import ParameterError, VotesError

NO_LADDER = -1


class Cuts(NamedTuple):
    """The bounds between the levels of an LF's scores."""

    bounds: tuple[float, ...]  # (levels - 1,) a score that is equal to a bound is above it
    up: bool  # whether high scores favor the later classes
    first: str  # the name of the outcome that is the first level

    def levels_of(self, scores: Float64) -> NDArray[np.int8]:
        """Return the level of each score, the last one favors the last class most; -1 for no score. (n,) -> (n,)."""
        level = np.zeros(len(scores), np.int8)
        for bound in self.bounds:  # few: faster than a search
            level += scores >= bound
        if not self.up:
            level = np.int8(len(self.bounds)) - level
        level[np.isnan(scores)] = -1
        return level

    def describe(self, level: int) -> str:
        """Describe the scores of a level, counted from 0.

        >>> cuts = Cuts((0.2, 0.5), True, "level 1 of 3")
        >>> [cuts.describe(level) for level in range(3)]
        ['below 0.2 (level 1 of 3)', '0.2 to 0.5 (level 2 of 3)', '0.5 or more (level 3 of 3)']
        """
        last = len(self.bounds)
        step = level if self.up else last - level
        if step == 0:
            scores = f"below {self.bounds[0]:.4g}"
        elif step == last:
            scores = f"{self.bounds[-1]:.4g} or more"
        else:
            scores = f"{self.bounds[step - 1]:.4g} to {self.bounds[step]:.4g}"
        return f"{scores} (level {level + 1} of {last + 1})"


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcomes that LFs may have besides votes for one class.

    >>> outcomes = Outcomes(("!spam",), np.array([[0.5, 0.0, 0.5]]), np.array([-1]))
    >>> outcomes.table.tolist()[3], outcomes.main.tolist()
    ([0.5, 0.0, 0.5], [-1])
    """

    names: tuple[str, ...]  # the names of the s outcomes
    class_weights: Float64  # (s, k) weight of each class; rows sum to 1, or to 0 where no class is left
    ladder: Ints  # (s,) for a level of scores the number of its ladder, -1 for others; levels of a ladder are in order
    cuts: Mapping[str, Cuts] = field(default_factory=dict)  # by LF, how its scores are cut

    def __len__(self) -> int:
        return len(self.names)

    @property
    def n_classes(self) -> int:
        """Number of classes, k."""
        return int(self.class_weights.shape[1])

    @cached_property
    def table(self) -> Float64:
        """Class weights of each vote number: classes for themselves, then the outcomes. (k + s, k)."""
        return np.concatenate([np.eye(self.n_classes), self.class_weights])

    @cached_property
    def main(self) -> NDArray[np.int64]:
        """The class with the largest weight of each outcome, -1 where there are several. (s,)."""
        best = self.class_weights.max(1, keepdims=True)
        unique = (self.class_weights >= best - 1e-9).sum(1) == 1
        return np.where(unique, self.class_weights.argmax(1), -1)

    @property
    def main_classes(self) -> NDArray[np.int64]:
        """The same for each vote number: classes for themselves, then the outcomes. (k + s,)."""
        return np.append(np.arange(self.n_classes), self.main)

    @cached_property
    def supported(self) -> NDArray[np.bool_]:
        """The classes under which each vote number is right: those with its largest weight. (k + s, k)."""
        return np.asarray((self.table > 0) & (self.table >= self.table.max(1, keepdims=True) - 1e-9))

    def with_classes(self, numbers: Ints, k: int) -> "Outcomes":
        """Return them for other classes: (k,) the number of each class among k new ones, -1 for dropped classes."""
        weights = np.zeros((len(self), k))
        kept = np.flatnonzero(numbers >= 0)
        weights[:, numbers[kept]] = self.class_weights[:, kept]
        total = weights.sum(1, keepdims=True)
        return replace(self, class_weights=weights / np.where(total > 0, total, 1))

    def read_again(self, classes: Sequence[Hashable]) -> "Outcomes":
        """Return them with partial votes read for these k classes: `!spam` means all others, also new ones."""
        names, weights = [str(c) for c in classes], self.class_weights.copy()
        for i in np.flatnonzero(self.ladder == NO_LADDER):
            read = read_partial_vote(self.names[i], names)
            weights[i] = weights[i] if read is None else read
        return replace(self, class_weights=weights)

    def merge(self, other: "Outcomes") -> tuple["Outcomes", NDArray[np.int64]]:
        """Return these and the outcomes that only others have, and (s,) the index of each of the others among them."""
        for lf in self.cuts.keys() & other.cuts.keys():
            if self.cuts[lf] != other.cuts[lf]:
                raise VotesError(
                    f"the scores of LF {lf!r} are cut at {self.cuts[lf].bounds[:3]}... and at "
                    f"{other.cuts[lf].bounds[:3]}...; cut both the same way: Votes.from_scores(..., like=votes)"
                )
        new = [i for i, name in enumerate(other.names) if name not in self.names]
        ladder = np.where(other.ladder >= 0, other.ladder + self.ladder.max(initial=-1) + 1, NO_LADDER)[new]
        merged = Outcomes(
            (*self.names, *(other.names[i] for i in new)),
            np.concatenate([self.class_weights, other.class_weights[new]]),
            np.concatenate([self.ladder, ladder]),
            {**self.cuts, **other.cuts},
        )
        index = {name: i for i, name in enumerate(merged.names)}
        return merged, np.array([index[name] for name in other.names], np.int64)

    def to_header(self) -> dict[str, Any]:
        """Return a header that JSON knows."""
        cuts = {lf: [list(each.bounds), each.up, each.first] for lf, each in self.cuts.items()}
        names, leaning = list(self.names), self.class_weights.tolist()
        return {"names": names, "leaning": leaning, "ladder": self.ladder.tolist(), "cuts": cuts}

    @classmethod
    def from_header(cls, header: Mapping[str, Any] | None, k: int) -> "Outcomes | None":
        """Invert `to_header`; None for None. A ValueError if the parts do not fit together."""
        if header is None:
            return None
        cuts = {lf: Cuts(tuple(bounds), bool(up), first) for lf, (bounds, up, first) in dict(header["cuts"]).items()}
        weights = np.array(header["leaning"], np.float64).reshape(-1, k)
        ladder, names = np.array(header["ladder"], np.int64), header["names"]
        named = isinstance(names, list) and all(isinstance(name, str) for name in names)
        whole = named and len(set(names)) == len(names) == len(weights) and ladder.shape == (len(names),)
        in_range = np.isfinite(weights).all() and ((ladder >= NO_LADDER) & (ladder < len(weights))).all()
        numbers = all(isinstance(bound, int | float) for each in cuts.values() for bound in each.bounds)
        if not whole or not in_range or not numbers or not all(each.first in names for each in cuts.values()):
            raise ValueError("names, leaning, ladder and cuts of outcomes do not fit together")
        return cls(tuple(names), weights, ladder, cuts)


def same_outcomes(one: Outcomes | None, other: Outcomes | None) -> bool:
    """Return whether two outcomes, or none, are the same."""
    if one is None or other is None or one is other:
        return one is other
    same = one.names == other.names and dict(one.cuts) == dict(other.cuts)
    return same and np.array_equal(one.class_weights, other.class_weights)


def vote_weights(outcomes: Outcomes | None, k: int) -> Float64:
    """Return the class weights of each vote number. -> (k + s, k)."""
    return np.eye(k) if outcomes is None else outcomes.table


def renumber_votes(
    old: Sequence[Hashable], outcomes: Outcomes | None, new: Sequence[Hashable]
) -> tuple[NDArray[np.int64], Outcomes | None]:
    """Return the new number of each vote number when classes change, -1 for lost classes, and the outcomes."""
    number = {c: i for i, c in enumerate(new)}
    numbers = np.array([number.get(c, -1) for c in old], np.int64)
    if outcomes is None:
        return numbers, None
    outcomes = outcomes.with_classes(numbers, len(new)).read_again(new)
    return np.append(numbers, np.arange(len(outcomes)) + len(new)), outcomes


# Votes that are not one class, as strings: in tables, and as what LFs return.


def NOT(*classes: Hashable) -> str:  # noqa: N802
    """Return the vote of an LF that rules out classes: any other class may be right.

    >>> NOT("spam"), NOT("spam", "scam")
    ('!spam', '!spam|scam')
    """
    return "!" + any_of(*classes)


def any_of(*classes: Hashable) -> str:
    """Return the vote of an LF for several classes, of which one is right.

    >>> any_of("spam", "scam")
    'spam|scam'
    """
    if not classes:
        raise ParameterError("any_of and NOT need at least one class; none was given")
    return "|".join(map(_name_of, classes))


def soft(shares: Mapping[Hashable, float]) -> str:
    """Return the vote of an LF that is not sure: the probabilities of some classes. The other classes share the rest.

    Args:
        shares: From class to probability; together at most 1.

    >>> soft({"spam": 0.7}), soft({"spam": 0.5, "scam": 0.25})
    ('spam:0.7', 'spam:0.5|scam:0.25')
    """
    expected = "probabilities of classes, together above 0, at most 1"
    for share in check_kind(shares, "shares", Mapping, expected).values():
        check_number(share, "a share", expected, least=0, most=1)
    if not 0 < sum(shares.values()) <= 1 + 1e-9:
        raise ParameterError(f"shares is {show(shares, 80)}; expected {expected}")
    return "|".join(f"{_name_of(c)}:{share:.4g}" for c, share in shares.items())


def _name_of(c: Hashable) -> str:
    name = str(c) if isinstance(c, str | int | np.integer) and not isinstance(c, bool) else ""
    if not name or set(name) & set("!|:"):
        raise ParameterError(
            f"the class is {show(c)}; expected a string without ! | : or a whole number. Rename the class"
        )
    return name


def may_be_partial(text: object) -> bool:
    """Return whether a string may be a vote that is not one class, by its characters."""
    return isinstance(text, str) and (text.startswith("!") or "|" in text or ":" in text)


def read_partial_vote(text: str, names: Sequence[str]) -> Float64 | None:
    """Return the class weights of `!a`, `a|b`, `!a|b`, `a:0.7` or `a:0.5|b:0.2`; None for other strings. -> (k,).

    >>> read_partial_vote("a|c", ["a", "b", "c"]).tolist(), read_partial_vote("!a", ["a", "b"]).tolist()
    ([0.5, 0.0, 0.5], [0.0, 1.0])
    >>> read_partial_vote("a:0.7", ["a", "b"]).round(1).tolist(), read_partial_vote("a|x", ["a", "b"])
    ([0.7, 0.3], None)
    """
    excludes = text.startswith("!")
    parts = [part.strip().rpartition(":") for part in text.removeprefix("!").split("|")]
    with_share = [bool(mark) for _, mark, _ in parts]
    weighted = all(with_share)
    chosen = [head if weighted else tail for head, _, tail in parts]
    index = {name: i for i, name in enumerate(names)}
    if len(set(chosen)) < len(chosen) or not all(name in index for name in chosen):
        return None
    if excludes if weighted else any(with_share) or (not excludes and len(parts) == 1):
        return None
    try:
        shares = np.array([float(tail) if weighted else 1.0 for _, _, tail in parts])
    except ValueError:
        return None
    weights = np.zeros(len(names))
    weights[[index[name] for name in chosen]] = shares
    if excludes:
        weights = 1 - weights
    elif weighted:
        rest = 1 - shares.sum()
        if (shares < 0).any() or rest < -1e-6:
            return None
        others = [i for i, name in enumerate(names) if name not in chosen]
        weights[others] = max(rest, 0) / max(len(others), 1)
    total = weights.sum()
    return weights / total if total > 0 else None
