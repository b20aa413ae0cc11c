"""Patterns: the distinct vote rows and how often each occurs. Every model works on these, never on items.

Flows in: `Votes`, or chunks of them. Flows out: the patterns' votes, their counts, and for each item the number of its
pattern, so that results for patterns can be given back to items.
"""

import operator
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import (
    Ints,
    KeyGroups,
    group_keys,
    hash_rows,
    key_space,
    pack_rows,
    plain_classes,
    read_tensors,
    row_blocks,
    show_some,
    write_tensors,
)
from hyperlabel.data._classes import Classes, complete_classes, join_classes, smallest_type, state_classes
from hyperlabel.data._columns import may_be_votes
from hyperlabel.data._encode import state_outcomes
from hyperlabel.data._outcomes import Outcomes, may_be_partial, read_partial_vote, renumber_votes, same_outcomes
from hyperlabel.data._rows import MANY_ROWS, DenseRows, Rows
from hyperlabel.data._vote_frame import match_lfs, name_lfs
from hyperlabel.data._votes import Votes, to_votes
from hyperlabel.errors import ParameterError, VotesError, WeightsError

MOST_ITEMS = 2.0**63  # that can be counted
MOST_LFS = 1 << 31  # that a file may have

Scalar = TypeVar("Scalar", bound=np.generic)

_MOST_KEYS = 1 << 64  # rows of a larger space have hashes instead of keys


@dataclass(frozen=True, eq=False, repr=False)
class Patterns:
    """Distinct vote rows with counts.

    Patterns are accepted wherever votes are: merge yesterday's with today's and fit again in milliseconds.

    Attributes:
        rows: The distinct rows, p of them.
        counts: (p,) how many items have the pattern.
        n_lfs: Number of LFs, including those that never vote.
        n_classes: Number of classes, including those that nobody votes for.
        inverse: (n,) the pattern of each item; None where items were only counted.
        lf_names: The names of the LFs; None where they have none.
        classes: The classes; their numbers if not given.
        outcomes: Outcomes that are not one class; None if all votes are classes.
    """

    rows: Rows
    counts: Ints
    n_lfs: int
    n_classes: int
    inverse: Ints | None = None
    lf_names: tuple[str, ...] | None = None
    classes: Classes = field(default=())
    outcomes: Outcomes | None = None

    def __post_init__(self) -> None:
        if not self.classes:
            object.__setattr__(self, "classes", tuple(range(self.n_classes)))

    def __repr__(self) -> str:
        items = int(self.counts.sum())
        return f"Patterns({self.n_patterns:,} of {items:,} items, {self.n_lfs:,} LFs, {self.n_classes:,} classes)"

    @classmethod
    def from_votes(cls, votes: object) -> "Patterns":
        """Group the items of votes by their vote row.

        >>> patterns = Patterns.from_votes(Votes.from_array([[0, 1], [-1, 1], [0, 1]]))
        >>> patterns.to_array().tolist(), patterns.counts.tolist(), patterns.inverse.tolist()
        ([[-1, 1], [0, 1]], [1, 2], [1, 0, 1])
        """
        votes = to_votes(votes)
        m, k = votes.n_lfs, votes.n_codes
        space = key_space(m, k)
        if votes.cells is None or space > _MOST_KEYS:
            rows, groups = _group_rows(votes.rows, m, k)
        else:
            groups = group_keys(pack_rows(votes.cells, k), space)
            rows = Rows.copy(votes.cells, groups.example, k)
        names = votes.lf_names if votes.named else None
        return cls(rows, groups.counts, m, len(votes.classes), groups.inverse, names, votes.classes, votes.outcomes)

    @classmethod
    def from_chunks(
        cls, chunks: Iterable[object], *, n_classes: int | None = None, classes: Sequence[Hashable] | None = None
    ) -> "Patterns":
        """Count the patterns of votes that come in chunks and need not fit into memory together.

        Args:
            chunks: Whatever `Votes` takes, all with the same LFs.
            n_classes: Number of classes; the largest of any chunk if not given.
            classes: The classes; inferred from all chunks if not given.

        >>> chunks = ([[0, 1], [0, 1]], [[-1, 1], [0, 1]])
        >>> sorted(Patterns.from_chunks(chunks).counts.tolist())
        [1, 3]
        """
        merged: Patterns | None = None
        inferred = classes is None
        for number, chunk in enumerate(chunks):
            names = None if merged is None else merged.lf_names
            try:
                patterns, unstated = _read_chunk(chunk, names, n_classes, classes)
                merged = patterns if merged is None else merged.merge(patterns)
            except VotesError as error:
                raise VotesError(f"chunk {number}: {error}") from None
            inferred = inferred and unstated
        if merged is None:
            raise VotesError("chunks is empty; expected at least one chunk of votes")
        return merged._as_one_set(inferred=inferred)

    def merge(self, other: "Patterns") -> "Patterns":
        """Merge the patterns of both: counts of equal rows are added. Which item has which pattern is not kept.

        LFs are matched by name where both have names: one that only one side has abstains on the items of the other.
        Classes are matched by value.

        >>> one = Patterns.from_votes(Votes.from_array([[0, 1], [1, 1]]))
        >>> one.merge(one).counts.tolist()
        [2, 2]
        """
        if self.n_lfs != other.n_lfs and (self.lf_names is None or other.lf_names is None):
            raise VotesError(
                f"patterns of {self.n_lfs} and of {other.n_lfs} LFs cannot be merged; give both the same LFs"
            )
        votes, others = bool(self.has_votes.any()), bool(other.has_votes.any())
        classes = join_classes(self.classes, other.classes, one_votes=votes, other_votes=others)
        one, two = self.with_classes(classes).add_lfs(other.lf_names), other.with_classes(classes)
        two = two.add_lfs(one.lf_names).with_lfs(one.lf_names)
        one = one.with_outcomes(two.outcomes)
        two = two.with_outcomes(one.outcomes)
        counts = np.concatenate([one.counts, two.counts])
        if counts.sum(dtype=np.float64) >= MOST_ITEMS:
            raise VotesError("patterns of 2^63 or more items cannot be counted; merge fewer of them")
        rows = one.rows.concatenate(two.rows)
        names = one.lf_names or two.lf_names
        joined = Patterns(rows, counts, one.n_lfs, len(classes), None, names, classes, one.outcomes)
        return joined.join_equal()[0]

    def _as_one_set(self, *, inferred: bool) -> "Patterns":
        """Sort inferred classes, and read partial votes for all classes, as if all items came at once.

        If classes were inferred, a chunk took `!spam` for a class where nobody voted for spam.
        """
        classes, names = self.classes, () if self.outcomes is None else self.outcomes.names
        partial: list[Any] = []
        if inferred:
            plain = [str(c) for c in classes if not may_be_partial(c)]
            partial = [c for c in classes if may_be_partial(c) and read_partial_vote(str(c), plain) is not None]
            classes = tuple(sorted(set(classes).difference(partial)))  # type: ignore[type-var]
        texts = [str(c) for c in classes]
        if any(read_partial_vote(name, texts) is None for name in names):  # levels of scores have an order of their own
            return self.with_classes(classes).join_equal()[0] if inferred else self
        outcomes = state_outcomes(sorted({*names, *partial}), classes)
        if classes == self.classes and same_outcomes(outcomes, self.outcomes):
            return self
        same = replace(self, classes=classes, n_classes=len(classes), outcomes=outcomes)
        number = {name: number for number, name in enumerate(same.vote_names)}
        table = np.array([number[name] for name in self.vote_names], np.int64)
        return replace(same, rows=Rows(self.starts, self.lf, table[self.vote])).join_equal()[0]

    def with_rows(self, rows: Rows, counts: Ints) -> "Patterns":
        """Return other rows of the same LFs and classes, without items."""
        return replace(self, rows=rows, counts=counts, inverse=None)

    def take(self, index: NDArray[np.integer]) -> "Patterns":
        """Return the patterns of an index, in its order, without items."""
        return self.with_rows(self.rows.take(index), self.counts[index])

    def split(self, most: int) -> Iterator["Patterns"]:
        """Yield the patterns in chunks of at most this many."""
        for start in range(0, self.n_patterns, most):
            stop = min(start + most, self.n_patterns)
            yield self.with_rows(self.rows.part(start, stop), self.counts[start:stop])

    def with_classes(self, classes: Classes) -> "Patterns":
        """The same votes with other classes, which must hold every class that is voted for."""
        if classes[: self.n_classes] == self.classes and (self.outcomes is None or len(classes) == self.n_classes):
            return replace(self, classes=classes, n_classes=len(classes))
        table, outcomes = renumber_votes(self.classes, self.outcomes, classes)
        vote = table[self.vote]
        if len(vote) and vote.min() < 0:
            lost = self.classes[int(self.vote[vote.argmin()])]
            raise VotesError(f"votes has the class {lost!r}; expected one of {show_some(classes)}. State it in classes")
        rows = Rows(self.starts, self.lf, vote)
        return replace(self, rows=rows, classes=classes, n_classes=len(classes), outcomes=outcomes)

    def with_outcomes(self, outcomes: Outcomes | None) -> "Patterns":
        """The same votes with other outcomes, in their order; outcomes that are not listed come last."""
        if outcomes is None or same_outcomes(self.outcomes, outcomes):
            return self
        if self.outcomes is None:
            return replace(self, outcomes=outcomes)
        merged, index = outcomes.merge(self.outcomes)
        table = np.append(np.arange(self.n_classes), index + self.n_classes)
        return replace(self, rows=Rows(self.starts, self.lf, table[self.vote]), outcomes=merged)

    def with_lfs(self, names: tuple[str, ...] | None) -> "Patterns":
        """The same votes with LFs in the order of names; unchanged where one side has no names."""
        if names is None or self.lf_names is None or self.lf_names == names:
            return self
        order = match_lfs(self.lf_names, names)
        index = np.empty(len(order), np.int64)
        index[order] = np.arange(len(order))
        rows = Rows.from_triples(self.row, index[self.lf], self.vote, self.n_patterns)
        return replace(self, rows=rows, lf_names=names)

    def add_lfs(self, names: tuple[str, ...] | None) -> "Patterns":
        """The same votes, and an LF that abstains for each name that is new; unchanged where one side has no names."""
        new = () if names is None or self.lf_names is None else tuple(n for n in names if n not in set(self.lf_names))
        if not new or self.lf_names is None:
            return self
        rows = Rows(self.starts, self.lf, self.vote)
        return replace(self, rows=rows, n_lfs=self.n_lfs + len(new), lf_names=self.lf_names + new)

    def keep_lfs(self, names: tuple[str, ...]) -> "Patterns":
        """The same items with the votes of some LFs only, in the order of their names, which must be there."""
        order = [list(self.lf_names or ()).index(name) for name in names]
        index = np.full(self.n_lfs, -1, np.int64)
        index[order] = np.arange(len(order))
        kept = index[self.lf] >= 0
        rows = Rows.from_triples(self.row[kept], index[self.lf][kept], self.vote[kept], self.n_patterns)
        return replace(self, rows=rows, n_lfs=len(names), lf_names=names)

    def save(self, path: str | Path) -> None:
        """Write the patterns and their counts to a safetensors file; which item has which pattern is not kept."""
        arrays = {name: np.asarray(getattr(self, name), np.int64) for name in ("starts", "lf", "vote", "counts")}
        names = None if self.lf_names is None else list(self.lf_names)
        header: dict[str, Any] = {"n_lfs": self.n_lfs, "lf_names": names, "classes": plain_classes(self.classes)}
        if self.outcomes is not None:
            header["outcomes"] = self.outcomes.to_header()
        write_tensors(path, arrays, header, "patterns")

    @classmethod
    def load(cls, path: str | Path) -> "Patterns":
        """Read patterns from a file that `save` wrote; a WeightsError if it is broken or holds something else."""
        arrays, header = read_tensors(path, "patterns")
        try:
            names, classes = header["lf_names"], state_classes(None, header["classes"])
            if classes is None:
                raise ValueError("classes are missing")
            rows = Rows(*(arrays[name] for name in ("starts", "lf", "vote")))
            lf_names = None if names is None else tuple(names)
            n_lfs, k = operator.index(header["n_lfs"]), len(classes)
            outcomes = Outcomes.from_header(header.get("outcomes"), k)
            patterns = cls(rows, arrays["counts"], n_lfs, k, None, lf_names, classes, outcomes)
            check_parts(patterns)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise WeightsError(f"{path} does not hold complete patterns ({error}); save it again") from error
        return patterns

    def join_equal(self) -> tuple["Patterns", NDArray[np.intp]]:
        """Join equal rows: the patterns, and the index of each row among them. -> patterns, (p,)."""
        rows, groups = _group_rows(self.rows, self.n_lfs, self.n_codes)
        counts = np.zeros(len(groups.counts), np.int64)
        np.add.at(counts, groups.inverse, self.counts)
        return self.with_rows(rows, counts), groups.inverse.astype(np.intp, copy=False)

    @property
    def n_codes(self) -> int:
        """Number of possible votes: the classes, and the outcomes that are not one class."""
        return self.n_classes + len(self.outcomes or ())

    @property
    def vote_names(self) -> tuple[Any, ...]:
        """The name of each vote number: the classes, then the outcomes that are not one class. k + s of them."""
        return self.classes + (() if self.outcomes is None else self.outcomes.names)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first vote of each pattern in `lf` and `vote`. (p + 1,)."""
        return self.rows.starts

    @property
    def lf(self) -> NDArray[np.int64]:
        """The LF of each vote, increasing within a pattern. (e,)."""
        return self.rows.lf

    @property
    def vote(self) -> NDArray[np.int64]:
        """The class number of each vote, or `n_classes` plus the number of its outcome. (e,)."""
        return self.rows.vote

    @property
    def n_patterns(self) -> int:
        """Number of distinct rows."""
        return len(self.counts)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.counts.sum())

    @property
    def row(self) -> NDArray[np.intp]:
        """The pattern of each vote. (e,)."""
        return np.repeat(np.arange(self.n_patterns), np.diff(self.starts))

    @cached_property
    def has_votes(self) -> NDArray[np.bool_]:
        """Return whether anybody votes on the pattern's items. (p,)."""
        return self.starts[1:] > self.starts[:-1]

    def to_array(self) -> NDArray[np.int64]:
        """The patterns as a dense array, -1 abstains. (p, m)."""
        return self.rows.to_cells(self.n_lfs).astype(np.int64)

    def find(self, other: "Patterns") -> NDArray[np.intp]:
        """Return the index of each of these patterns among others, -1 if it is not there. -> (p,)."""
        if self.n_lfs != other.n_lfs or other.n_patterns == 0:
            return np.full(self.n_patterns, -1, np.intp)
        keys, order = other._by_hash
        wanted = hash_rows(self.starts, self.lf, self.vote, other.n_codes, 0)
        nearest = np.minimum(keys.searchsorted(wanted), len(keys) - 1)
        index = np.where(keys[nearest] == wanted, order[nearest], -1)
        present = np.flatnonzero(index >= 0)
        if len(present) == 0 or self.rows.take(present).equals(other.rows.take(index[present])):
            return index
        return self._find_by_groups(other)  # different rows have the same hash

    @cached_property
    def _by_hash(self) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
        """Hashes of the patterns, sorted, and the pattern of each. (p,), (p,)."""
        keys = hash_rows(self.starts, self.lf, self.vote, self.n_codes, 0)
        order = np.argsort(keys)
        return keys[order], order

    def _find_by_groups(self, other: "Patterns") -> NDArray[np.intp]:
        rows = other.rows.concatenate(self.rows)
        _, groups = _group_rows(rows, self.n_lfs, max(self.n_codes, other.n_codes))
        index = np.full(len(groups.counts), -1, np.intp)
        index[groups.inverse[: other.n_patterns]] = np.arange(other.n_patterns)
        return index[groups.inverse[other.n_patterns :]]

    def count_labels(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the items of each pattern and class. (n,) class numbers, -1 for unknown -> (p, k)."""
        rows = np.flatnonzero(labels >= 0)
        flat = self._inverse()[rows].astype(np.int64) * self.n_classes + labels[rows]
        return np.bincount(flat, minlength=self.n_patterns * self.n_classes).reshape(-1, self.n_classes)

    def of_votes(self, values: NDArray[Scalar]) -> NDArray[Scalar]:
        """Add up the values of the classes under which each vote is right. (p, k) -> (e,)."""
        if self.outcomes is None:
            return values[self.row, self.vote]
        right: NDArray[Scalar] = (values[self.row] * self.outcomes.supported[self.vote]).sum(1).astype(values.dtype)
        return right

    def as_classes(self) -> "Patterns":
        """Turn outcomes into votes for their main class, or none if several tie; rows may occur twice."""
        if self.outcomes is None:
            return self
        vote = self.outcomes.main_classes[self.vote]
        return replace(self, rows=Rows(self.starts, self.lf, vote).keep(vote >= 0), outcomes=None)

    def expand(self, values: NDArray[Scalar]) -> NDArray[Scalar]:
        """Turn one value per pattern into one value per item. (p, ...) -> (n, ...)."""
        if len(values) != self.n_patterns:
            raise ParameterError(
                f"values has {len(values)} rows; expected one for each of the {self.n_patterns} patterns"
            )
        return values.take(self._inverse().astype(np.intp, copy=False), axis=0)  # `take` is slow with narrower integers

    def to_votes(self) -> Votes:
        """The votes of the items, if the patterns know them."""
        rows, named = self.rows.take(self._inverse()), self.lf_names is not None
        names = name_lfs(self.lf_names, self.n_lfs)
        return Votes.from_parts(self.classes, names, rows, named=named, outcomes=self.outcomes)

    def _inverse(self) -> Ints:
        if self.inverse is None:
            raise VotesError("these patterns were only counted and know no items; use Patterns.from_votes")
        return self.inverse


def to_patterns(data: object, *, n_classes: int | None = None, classes: Sequence[Hashable] | None = None) -> Patterns:
    """Return patterns of whatever holds votes, or patterns with the stated classes."""
    if not isinstance(data, Patterns):
        return Patterns.from_votes(to_votes(data, n_classes=n_classes, classes=classes))
    if n_classes is None and classes is None:
        return data
    stated = state_classes(n_classes, classes)
    return data.with_classes(complete_classes(data.classes, n_classes) if classes is None else stated or ())


def _read_chunk(
    chunk: object, names: tuple[str, ...] | None, n_classes: int | None, classes: Sequence[Hashable] | None
) -> tuple[Patterns, bool]:
    """Read the patterns of a chunk, without items, and whether its classes were inferred."""
    if isinstance(chunk, Patterns):
        return replace(to_patterns(chunk, n_classes=n_classes, classes=classes), inverse=None), False
    votes = to_votes(chunk, n_classes=n_classes, classes=classes, lfs=names)
    columns = votes.origin.columns
    if names is not None and columns is not None:
        match_lfs([*columns.lfs, *filter(may_be_votes, columns.ignored)], names)  # refuses a column that is new
    return replace(Patterns.from_votes(votes), inverse=None), not votes.stated


def check_parts(patterns: Patterns) -> None:
    """Check patterns of a file before anything is indexed with them; a ValueError if they do not fit together."""
    starts, votes = patterns.starts, len(patterns.vote)
    arrays = starts, patterns.lf, patterns.vote, patterns.counts
    whole = all(array.ndim == 1 and array.dtype == np.int64 for array in arrays)
    whole = whole and len(starts) == patterns.n_patterns + 1 and len(patterns.lf) == votes
    whole = whole and starts[0] == 0 and starts[-1] == votes and bool((np.diff(starts) >= 0).all())
    names = patterns.n_lfs if patterns.lf_names is None else len(patterns.lf_names)
    if not 1 <= patterns.n_lfs <= MOST_LFS:
        raise ValueError(f"n_lfs is {patterns.n_lfs}")
    if not whole or (patterns.counts < 0).any() or names != patterns.n_lfs:
        raise ValueError("its parts do not fit together")
    if patterns.counts.sum(dtype=np.float64) >= MOST_ITEMS:
        raise ValueError("it counts 2^63 items or more")
    for name, numbers, top in (("lf", patterns.lf, patterns.n_lfs), ("vote", patterns.vote, patterns.n_codes)):
        if votes and not 0 <= numbers.min() <= numbers.max() < top:
            raise ValueError(f"{name} numbers outside 0 to {top - 1}")
    same_row = np.diff(patterns.row) == 0
    if (np.diff(patterns.lf)[same_row] <= 0).any():
        raise ValueError("LFs of a row are not in increasing order")


def _group_rows(rows: Rows, m: int, k: int) -> tuple[Rows, KeyGroups]:
    """Group equal rows: the distinct rows, in the same order as those of dense votes, and the groups."""
    space = key_space(m, k)
    if space > _MOST_KEYS:
        groups = _group_hashes(rows, k)
        return rows.take(groups.example), groups
    parts = (rows.part(block.start, block.stop) for block in row_blocks(len(rows), m))
    keys = [np.empty(0, np.uint64), *(pack_rows(part.to_cells(m), k) for part in parts)]
    groups = group_keys(np.concatenate(keys), space)
    distinct = rows.take(groups.example)
    if len(groups.example) < MANY_ROWS:
        return distinct, groups
    return DenseRows(distinct.to_cells(m).astype(smallest_type(k), copy=False)), groups


def _group_hashes(rows: Rows, k: int) -> KeyGroups:
    """Group equal sparse rows by a hash and verify; after a collision, one in 2^64, use another hash."""
    seed = 0
    while True:
        keys = hash_rows(rows.starts, rows.lf, rows.vote, k, seed)
        groups = group_keys(keys, 1 << 64)
        if rows.equals(rows.take(groups.example[groups.inverse])):
            return groups
        seed += 1
