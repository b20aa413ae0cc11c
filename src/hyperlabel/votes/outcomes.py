"""Outcomes of LFs that are not one class: "not spam", "spam or scam", "spam, at 0.7", the levels of a score.

An outcome *leans* toward classes. In votes and patterns the numbers 0..k-1 mean votes for one class, and the
numbers from k on mean the outcomes, in order; `None` instead of `Outcomes` means that all votes are classes.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_kind, check_number
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.kernels import Float64, Ints
from hyperlabel.shown import show

NO_LADDER = -1


class Cuts(NamedTuple):
    """Where the scores of an LF are cut into levels."""

    bounds: tuple[float, ...]  # (levels - 1,) a score that is equal to a bound is above it
    up: bool  # whether high scores speak for the later classes
    first: str  # the name of the outcome that is the first level

    def levels_of(self, scores: Float64) -> NDArray[np.int8]:
        """The level of each score, the last one speaks most for the last class; -1 where there is no score. (n,)."""
        level = np.zeros(len(scores), np.int8)
        for bound in self.bounds:  # few: faster than a search
            level += scores >= bound
        if not self.up:
            level = np.int8(len(self.bounds)) - level
        level[np.isnan(scores)] = -1
        return level

    def describe(self, level: int) -> str:
        """The scores of a level, counted from 0.

        >>> cuts = Cuts((0.2, 0.5), True, "level 1 of 3")
        >>> [cuts.describe(level) for level in range(3)]
        ['below 0.2 (level 1 of 3)', '0.2 to 0.5 (level 2 of 3)', '0.5 or more (level 3 of 3)']
        """
        last = len(self.bounds)
        place = level if self.up else last - level
        scores = f"{self.bounds[place - 1]:.4g} to {self.bounds[place]:.4g}" if 0 < place < last else ""
        if not scores:
            scores = f"below {self.bounds[0]:.4g}" if place == 0 else f"{self.bounds[-1]:.4g} or more"
        return f"{scores} (level {level + 1} of {last + 1})"


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcomes that LFs may have besides votes for one class.

    >>> outcomes = Outcomes(("!spam",), np.array([[0.5, 0.0, 0.5]]), np.array([-1]))
    >>> outcomes.table.tolist()[3], outcomes.main.tolist()
    ([0.5, 0.0, 0.5], [-1])
    """

    names: tuple[str, ...]  # the names of the s outcomes
    leaning: Float64  # (s, k) how much it speaks for each class; rows sum to 1, or to 0 where no class is left
    ladder: Ints  # (s,) for a level of scores the number of its ladder, -1 for others; levels of a ladder are in order
    cuts: Mapping[str, Cuts] = field(default_factory=dict)  # where the scores of LFs are cut

    def __len__(self) -> int:
        return len(self.names)

    @property
    def n_classes(self) -> int:
        """Number of classes, k."""
        return int(self.leaning.shape[1])

    @cached_property
    def table(self) -> Float64:
        """What each number speaks for: classes for themselves, then the outcomes. (k + s, k)."""
        return np.concatenate([np.eye(self.n_classes), self.leaning])

    @cached_property
    def main(self) -> NDArray[np.int64]:
        """The class that an outcome speaks for most, -1 where there are several. (s,)."""
        best = self.leaning.max(1, keepdims=True)
        unique = (self.leaning >= best - 1e-9).sum(1) == 1
        return np.where(unique, self.leaning.argmax(1), -1)

    @property
    def main_classes(self) -> NDArray[np.int64]:
        """The same for each number of a vote: classes for themselves, then the outcomes. (k + s,)."""
        return np.append(np.arange(self.n_classes), self.main)

    @cached_property
    def supported(self) -> NDArray[np.bool_]:
        """The classes under which each number of a vote is right: those that it speaks for most. (k + s, k)."""
        return np.asarray((self.table > 0) & (self.table >= self.table.max(1, keepdims=True) - 1e-9))

    def with_classes(self, numbers: Ints, k: int) -> "Outcomes":
        """For other classes: (k,) the number of each class among k new ones, -1 for those that are dropped."""
        leaning = np.zeros((len(self), k))
        kept = np.flatnonzero(numbers >= 0)
        leaning[:, numbers[kept]] = self.leaning[:, kept]
        total = leaning.sum(1, keepdims=True)
        return replace(self, leaning=leaning / np.where(total > 0, total, 1))

    def read_again(self, classes: Sequence[Hashable]) -> "Outcomes":
        """The same, with partial votes read for these k classes: `!spam` leans to all others, also to new ones.

        >>> outcomes = Outcomes(("!spam",), np.array([[1.0, 0.0, 0.0]]), np.array([-1]))
        >>> outcomes.read_again(["ham", "spam", "scam"]).leaning.tolist()
        [[0.5, 0.0, 0.5]]
        """
        names, leaning = [str(c) for c in classes], self.leaning.copy()
        for place in np.flatnonzero(self.ladder == NO_LADDER):
            read = read_leaning(self.names[place], names)
            leaning[place] = leaning[place] if read is None else read
        return replace(self, leaning=leaning)

    def merge(self, other: "Outcomes") -> tuple["Outcomes", NDArray[np.int64]]:
        """These outcomes and those that only others have, and (s,) the place of each of the others among them.

        The scores of an LF must not be cut in two ways.
        """
        for lf in self.cuts.keys() & other.cuts.keys():
            if self.cuts[lf] != other.cuts[lf]:
                raise VotesError(
                    f"the scores of LF {lf!r} are cut at {self.cuts[lf].bounds[:3]}... and at "
                    f"{other.cuts[lf].bounds[:3]}...; cut both the same way: Votes.from_scores(..., like=votes)"
                )
        place = {name: i for i, name in enumerate(self.names)}
        new = [i for i, name in enumerate(other.names) if name not in place]
        ladder = np.where(other.ladder >= 0, other.ladder + self.ladder.max(initial=-1) + 1, NO_LADDER)[new]
        merged = Outcomes(
            (*self.names, *(other.names[i] for i in new)),
            np.concatenate([self.leaning, other.leaning[new]]),
            np.concatenate([self.ladder, ladder]),
            {**self.cuts, **other.cuts},
        )
        place = {name: i for i, name in enumerate(merged.names)}
        return merged, np.array([place[name] for name in other.names], np.int64)

    def equals(self, other: "Outcomes | None") -> bool:
        """Whether other outcomes are the same."""
        return (
            other is not None
            and self.names == other.names
            and np.array_equal(self.leaning, other.leaning)
            and dict(self.cuts) == dict(other.cuts)
        )

    def to_header(self) -> dict[str, Any]:
        """A header that JSON knows."""
        cuts = {lf: [list(each.bounds), each.up, each.first] for lf, each in self.cuts.items()}
        return {
            "names": list(self.names),
            "leaning": self.leaning.tolist(),
            "ladder": self.ladder.tolist(),
            "cuts": cuts,
        }

    @classmethod
    def from_header(cls, header: Mapping[str, Any] | None, k: int) -> "Outcomes | None":
        """The inverse of `to_header`; None for None.

        Raises:
            ValueError: The parts do not fit together.
        """
        if header is None:
            return None
        cuts = {lf: Cuts(tuple(bounds), bool(up), first) for lf, (bounds, up, first) in dict(header["cuts"]).items()}
        leaning = np.array(header["leaning"], np.float64).reshape(-1, k)
        ladder, names = np.array(header["ladder"], np.int64), header["names"]
        named = isinstance(names, list) and all(isinstance(name, str) for name in names)
        if not named or not len(set(names)) == len(names) == len(leaning) or ladder.shape != (len(names),):
            raise ValueError("names, leaning and ladder of outcomes do not fit together")
        if not np.isfinite(leaning).all() or not ((ladder >= NO_LADDER) & (ladder < len(names))).all():
            raise ValueError("leaning or ladder of an outcome is out of range")
        numbers = all(isinstance(bound, int | float) for each in cuts.values() for bound in each.bounds)
        if not numbers or not all(each.first in names for each in cuts.values()):
            raise ValueError("cuts of scores do not fit to the outcomes")
        return cls(tuple(names), leaning, ladder, cuts)


def same_outcomes(one: Outcomes | None, other: Outcomes | None) -> bool:
    """Whether two outcomes, or none, are the same."""
    return one is other or (one is not None and one.equals(other))


def speak(outcomes: Outcomes | None, k: int) -> Float64:
    """What each number of a vote speaks for. -> (k + s, k)."""
    return np.eye(k) if outcomes is None else outcomes.table


def ladder_of_levels(levels: int, k: int, below: int | None = None, between: int = 0) -> Outcomes:
    """The levels of scores: their leaning grows from the first class to the last of k.

    With two classes, the first levels (`below`, else half of them) speak for the first, and the next (`between`) for
    neither.

    >>> ladder_of_levels(4, 2).leaning[:, 1].tolist()
    [0.125, 0.375, 0.625, 0.875]
    >>> ladder_of_levels(4, 2, below=1, between=1).leaning[:, 1].round(2).tolist()
    [0.17, 0.5, 0.7, 0.9]
    """
    place, uneven = (np.arange(levels) + 0.5) / levels, ""
    if k == 2 and below is not None and 2 * below + between != levels:
        above = levels - below - between
        low = (np.arange(below) + 0.5) / (2 * below + between)
        high = 1 - (np.arange(above)[::-1] + 0.5) / (2 * above + between)
        place, uneven = np.concatenate([low, np.full(between, 0.5), high]), f" ({below} low)"
    if uneven and between:
        uneven = f" ({below} low, {between} between)"
    leaning = np.stack([1 - place, place], 1) if k == 2 else _between_neighbors(place * k - 0.5, k)
    names = tuple(f"level {i + 1} of {levels}{uneven}" for i in range(levels))
    return Outcomes(names, leaning, np.zeros(levels, np.int64))


def _between_neighbors(place: Float64, k: int) -> Float64:
    """Shares of ordered classes for places from 0, the first class, to k - 1: two neighbors share. (s,) -> (s, k)."""
    return np.asarray(np.clip(1 - np.abs(np.clip(place, 0, k - 1)[:, None] - np.arange(k)), 0, 1))


def stack_outcomes(parts: Sequence[tuple[str, Float64]], k: int) -> Outcomes | None:
    """Outcomes by name and leaning; None if there are none."""
    if not parts:
        return None
    leaning = np.array([row for _, row in parts], np.float64).reshape(-1, k)
    return Outcomes(tuple(name for name, _ in parts), leaning, np.full(len(parts), NO_LADDER))


# Votes that are not one class, as strings: in tables, and as what LFs return.

_MARKS = "!|:"


def NOT(*classes: Hashable) -> str:  # noqa: N802
    """The vote of an LF that rules out classes: any other class may be right.

    >>> NOT("spam"), NOT("spam", "scam")
    ('!spam', '!spam|scam')
    """
    return "!" + any_of(*classes)


def any_of(*classes: Hashable) -> str:
    """The vote of an LF for several classes, of which one is right.

    >>> any_of("spam", "scam")
    'spam|scam'
    """
    if not classes:
        raise ParameterError("any_of and NOT need at least one class; none was given")
    return "|".join(_check_writable(c) for c in classes)


def soft(shares: Mapping[Hashable, float]) -> str:
    """The vote of an LF that is not sure: the probabilities of some classes. The other classes share the rest.

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
    return "|".join(f"{_check_writable(c)}:{share:.4g}" for c, share in shares.items())


def _check_writable(c: Hashable) -> str:
    name = str(c) if isinstance(c, str | int | np.integer) and not isinstance(c, bool) else ""
    if not name or set(name) & set(_MARKS):
        raise ParameterError(
            f"the class is {show(c)}; expected a string without ! | : or a whole number. Rename the class"
        )
    return name


def may_lean(text: object) -> bool:
    """Whether a string may be a vote that is not one class, by its characters."""
    return isinstance(text, str) and (text.startswith("!") or "|" in text or ":" in text)


def read_leaning(text: str, names: Sequence[str]) -> Float64 | None:
    """What a string leans to: `!a`, `a|b`, `!a|b`, `a:0.7`, `a:0.5|b:0.2`; None if it is none of these. -> (k,).

    >>> read_leaning("a|c", ["a", "b", "c"]).tolist(), read_leaning("!a", ["a", "b"]).tolist()
    ([0.5, 0.0, 0.5], [0.0, 1.0])
    >>> read_leaning("a:0.7", ["a", "b"]).round(1).tolist(), read_leaning("a|x", ["a", "b"])
    ([0.7, 0.3], None)
    """
    place, excludes = {name: i for i, name in enumerate(names)}, text.startswith("!")
    parts = [part.strip().rpartition(":") for part in text.removeprefix("!").split("|")]
    weighted = all(mark for _, mark, _ in parts)
    named = [head if weighted else tail for head, _, tail in parts]
    known = all(name in place for name in named) and len(set(named)) == len(named)
    if not known or (weighted and excludes) or (not weighted and any(mark for _, mark, _ in parts)):
        return None
    if not weighted and not excludes and len(parts) == 1:
        return None
    try:
        shares = [float(tail) if weighted else 1.0 for _, _, tail in parts]
    except ValueError:
        return None
    return _lean(np.array([place[name] for name in named]), np.array(shares), len(names), weighted, excludes)


def _lean(chosen: Ints, shares: Float64, k: int, weighted: bool, excludes: bool) -> Float64 | None:
    leaning = np.zeros(k)
    leaning[chosen] = shares
    if excludes:
        leaning = 1 - leaning
    elif weighted:
        rest = 1 - shares.sum()
        if (shares < 0).any() or rest < -1e-6:
            return None
        others = np.setdiff1d(np.arange(k), chosen)
        leaning[others] = max(rest, 0) / max(len(others), 1)
    total = leaning.sum()
    return leaning / total if total > 0 else None
