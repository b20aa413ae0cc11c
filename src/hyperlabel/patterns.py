"""Patterns: the distinct vote rows and how often each occurs. Every model works on these, never on items.

Flows in: `Votes`, or chunks of them. Flows out: the patterns' votes, their counts, and for each item the
number of its pattern, so that what was computed for patterns can be given back to items.
"""

import operator
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_count, check_kind
from hyperlabel.columns.rule import may_be_votes
from hyperlabel.errors import ParameterError, VotesError, WeightsError
from hyperlabel.kernels import Ints, KeyGroups, Keys, group_keys, hash_rows, key_space, pack_rows, row_blocks
from hyperlabel.shown import show, show_some
from hyperlabel.tensors import plain_classes, read_tensors, write_tensors
from hyperlabel.votes import ABSTAIN, Votes, match_lfs, to_votes
from hyperlabel.votes.classes import Classes, complete_classes, join_classes, smallest_type, state_classes
from hyperlabel.votes.outcomes import Outcomes, may_lean, read_leaning, same_outcomes
from hyperlabel.votes.partial import state_outcomes
from hyperlabel.votes.rows import DenseRows, Rows, take_cells

MOST_ITEMS = 2.0**63  # that can be counted
MOST_LFS = 1 << 31  # that a file may have

Scalar = TypeVar("Scalar", bound=np.generic)

_MOST_KEYS = 1 << 64  # rows of a larger space have hashes instead of keys
_MANY_ROWS = 1 << 13  # from this many on, rows of a dense array stay dense


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
    def from_votes(cls, votes: Votes) -> "Patterns":
        """Group the items of votes by their vote row.

        >>> patterns = Patterns.from_votes(Votes.from_array([[0, 1], [-1, 1], [0, 1]]))
        >>> patterns.to_array().tolist(), patterns.counts.tolist(), patterns.inverse.tolist()
        ([[-1, 1], [0, 1]], [1, 2], [1, 0, 1])
        """
        check_kind(votes, "votes", Votes, "Votes, such as Votes.from_frame or Votes.from_array gives")
        m, k = votes.n_lfs, votes.n_codes
        if votes.cells is None or key_space(m, k) > _MOST_KEYS:
            rows, groups = _group_rows(votes.rows, m, k)
        else:
            groups = group_keys(pack_rows(votes.cells, k), key_space(m, k))
            rows = _take_rows(votes.cells, groups.example, k)
        names = votes.lf_names if votes.named else None
        return cls(rows, groups.counts, m, votes.n_classes, groups.inverse, names, votes.classes, votes.outcomes)

    @classmethod
    def from_chunks(
        cls,
        chunks: Iterable[object],
        *,
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
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
        for number, chunk in enumerate(_iterate(chunks)):
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
        """The patterns of both: counts of equal rows are added. Which item has which pattern is not kept.

        LFs are matched by name where both have names; classes are matched by value.

        >>> one = Patterns.from_votes(Votes.from_array([[0, 1], [1, 1]]))
        >>> one.merge(one).counts.tolist()
        [2, 2]
        """
        check_kind(other, "other", Patterns, "Patterns")
        if self.n_lfs != other.n_lfs and (self.lf_names is None or other.lf_names is None):
            raise VotesError(
                f"patterns of {self.n_lfs} and of {other.n_lfs} LFs cannot be merged; give both the same LFs"
            )
        votes, others = bool(self.has_votes.any()), bool(other.has_votes.any())
        classes = join_classes(self.classes, other.classes, one_votes=votes, other_votes=others)
        one, two = self.with_classes(classes), other.with_classes(classes).with_lfs(self.lf_names)
        one = one.with_outcomes(two.outcomes)
        two = two.with_outcomes(one.outcomes)
        counts = np.concatenate([one.counts, two.counts])
        if counts.sum(dtype=np.float64) >= MOST_ITEMS:
            raise VotesError("patterns of 2^63 or more items cannot be counted; merge fewer of them")
        rows = one.rows.concatenate(two.rows)
        names = self.lf_names or other.lf_names
        joined = Patterns(rows, counts, self.n_lfs, len(classes), None, names, classes, one.outcomes)
        return joined.join_equal()[0]

    def _as_one_set(self, *, inferred: bool) -> "Patterns":
        """The same with classes and partial votes as those of all items at once: sorted, and meaning all classes.

        Stated classes stay as they are. If classes were inferred, a chunk took `!spam` for a class where nobody voted
        for spam.
        """
        classes, own = self.classes, () if self.outcomes is None else self.outcomes.names
        partial: list[Any] = []
        if inferred:
            plain = [str(c) for c in classes if not may_lean(c)]
            partial = [c for c in classes if may_lean(c) and read_leaning(str(c), plain) is not None]
            classes = tuple(sorted(set(classes).difference(partial)))  # type: ignore[type-var]
        texts = [str(c) for c in classes]
        if any(read_leaning(name, texts) is None for name in own):  # levels of scores have an order of their own
            return self.with_classes(classes).join_equal()[0] if inferred else self
        outcomes = state_outcomes(sorted({*own, *partial}), classes)
        if classes == self.classes and same_outcomes(outcomes, self.outcomes):
            return self
        same = replace(self, classes=classes, n_classes=len(classes), outcomes=outcomes)
        place = {name: number for number, name in enumerate(same.vote_names)}
        number = np.array([place[name] for name in self.vote_names], np.int64)
        return replace(same, rows=Rows(self.starts, self.lf, number[self.vote])).join_equal()[0]

    def with_rows(self, rows: Rows, counts: Ints) -> "Patterns":
        """Other rows of the same LFs and classes, without items."""
        return replace(self, rows=rows, counts=counts, inverse=None)

    def take(self, index: NDArray[np.integer]) -> "Patterns":
        """The patterns of an index, in its order, without items.

        >>> Patterns.from_votes(Votes.from_array([[0, 1], [1, 1]])).take(np.array([1])).to_array().tolist()
        [[1, 1]]
        """
        return self.with_rows(self.rows.take(index), self.counts[index])

    def split(self, most: int) -> Iterator["Patterns"]:
        """The patterns in chunks of at most this many."""
        check_count(most, "most")
        for start in range(0, self.n_patterns, most):
            stop = min(start + most, self.n_patterns)
            yield self.with_rows(self.rows.part(start, stop), self.counts[start:stop])

    def with_classes(self, classes: Classes) -> "Patterns":
        """The same votes with other classes, which must hold every class that is voted for.

        >>> patterns = Patterns.from_votes(Votes.from_array([[0, 1]]))
        >>> patterns.with_classes((1, 0, 2)).to_array().tolist()
        [[1, 0]]
        """
        if classes[: self.n_classes] == self.classes and (self.outcomes is None or len(classes) == self.n_classes):
            return replace(self, classes=classes, n_classes=len(classes))
        number = {c: i for i, c in enumerate(classes)}
        table = np.array([number.get(c, ABSTAIN) for c in self.classes], np.int64)
        outcomes = self.outcomes
        if outcomes is not None:
            outcomes = outcomes.with_classes(table, len(classes)).read_again(classes)
            table = np.append(table, np.arange(len(outcomes)) + len(classes))
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
        merged, place = outcomes.merge(self.outcomes)
        table = np.append(np.arange(self.n_classes), place + self.n_classes)
        return replace(self, rows=Rows(self.starts, self.lf, table[self.vote]), outcomes=merged)

    def with_lfs(self, names: tuple[str, ...] | None) -> "Patterns":
        """The same votes with LFs in the order of names; unchanged where one side has no names."""
        if names is None or self.lf_names is None or self.lf_names == names:
            return self
        order = match_lfs(self.lf_names, names)  # (m,) the place of each name here
        index = np.empty(len(order), np.int64)
        index[order] = np.arange(len(order))
        rows = Rows.from_triples(self.row, index[self.lf], self.vote, self.n_patterns)
        return replace(self, rows=rows, lf_names=names)

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
        """Patterns from a file that `save` wrote.

        Raises:
            WeightsError: The file is broken or holds something else.
        """
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
        """Join equal rows: the patterns, and the index of each row among them. -> patterns, (p,).

        >>> rows = Patterns(Rows.from_cells(np.array([[1, -1], [1, -1]])), np.array([3, 4]), 2, 2)
        >>> joined, index = rows.join_equal()
        >>> joined.counts.tolist(), index.tolist()
        ([7], [0, 0])
        """
        rows, groups = _group_rows(self.rows, self.n_lfs, self.n_codes)
        counts = np.zeros(len(groups.counts), np.int64)
        np.add.at(counts, groups.inverse, self.counts)
        return self.with_rows(rows, counts), groups.inverse.astype(np.intp, copy=False)

    @property
    def n_codes(self) -> int:
        """Number of possible votes: the classes, and the outcomes that are not one class."""
        return self.n_classes + (0 if self.outcomes is None else len(self.outcomes))

    @property
    def vote_names(self) -> tuple[Any, ...]:
        """The name of each vote number: the classes, then the outcomes that are not one class. k + s of them."""
        return self.classes + (() if self.outcomes is None else self.outcomes.names)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each pattern's votes begin in `lf` and `vote`. (p + 1,)."""
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
        """Whether anybody votes on the pattern's items. (p,)."""
        return self.starts[1:] > self.starts[:-1]

    def to_array(self) -> NDArray[np.int64]:
        """The patterns as a dense array, -1 abstains. (p, m)."""
        return self.rows.to_cells(self.n_lfs).astype(np.int64)

    def find(self, other: "Patterns") -> NDArray[np.intp]:
        """The place of each of these patterns among others, -1 if it is not there. -> (p,).

        >>> one = Patterns.from_votes(Votes.from_array([[0, 1], [1, 1]]))
        >>> one.find(Patterns.from_votes(Votes.from_array([[1, 1]]))).tolist()
        [-1, 0]
        """
        check_kind(other, "other", Patterns, "Patterns")
        if self.n_lfs != other.n_lfs or other.n_patterns == 0:
            return np.full(self.n_patterns, -1, np.intp)
        keys, order = other._by_hash
        wanted = hash_rows(self.starts, self.lf, self.vote, other.n_codes, 0)
        nearest = np.minimum(keys.searchsorted(wanted), len(keys) - 1)
        index = np.where(keys[nearest] == wanted, order[nearest], -1)
        found = np.flatnonzero(index >= 0)
        if len(found) == 0 or self.rows.equal_to(found, other.rows, index[found]):
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
        """How many items of each pattern have each class. (n,) class numbers, -1 for unknown -> (p, k)."""
        known = np.flatnonzero(labels >= 0)
        flat = self._inverse()[known].astype(np.int64) * self.n_classes + labels[known]
        return np.bincount(flat, minlength=self.n_patterns * self.n_classes).reshape(-1, self.n_classes)

    def of_votes(self, values: NDArray[Scalar]) -> NDArray[Scalar]:
        """Values of the classes under which each vote is right, added up. (p, k) -> (e,)."""
        if self.outcomes is None:
            return values[self.row, self.vote]
        right: NDArray[Scalar] = (values[self.row] * self.outcomes.supported[self.vote]).sum(1).astype(values.dtype)
        return right

    def as_classes(self) -> "Patterns":
        """The same with votes for single classes: the class that an outcome leans to most, no vote if several tie.

        Rows may occur twice.
        """
        if self.outcomes is None:
            return self
        vote = self.outcomes.main_classes[self.vote]
        return replace(self, rows=Rows(self.starts, self.lf, vote).keep(vote >= 0), outcomes=None)

    def expand(self, values: NDArray[Scalar]) -> NDArray[Scalar]:
        """From one value per pattern to one value per item. (p, ...) -> (n, ...)."""
        if len(values) != self.n_patterns:
            raise ParameterError(
                f"values has {len(values)} rows; expected one for each of the {self.n_patterns} patterns"
            )
        return values.take(self._inverse().astype(np.intp, copy=False), axis=0)  # `take` is slow with narrower integers

    def to_votes(self) -> Votes:
        """The votes of the items, if the patterns know them.

        >>> Patterns.from_votes(Votes.from_array([[0, 1], [1, -1], [0, 1]])).to_votes().to_numpy().tolist()
        [[0, 1], [1, -1], [0, 1]]
        """
        return Votes.from_rows(self.rows.take(self._inverse()), self.classes, self.lf_names, self.n_lfs, self.outcomes)

    def _inverse(self) -> Ints:
        if self.inverse is None:
            raise VotesError("these patterns were only counted and know no items; use Patterns.from_votes")
        return self.inverse


def to_patterns(data: object, *, n_classes: int | None = None, classes: Sequence[Hashable] | None = None) -> Patterns:
    """Patterns from whatever holds votes, or from patterns.

    >>> to_patterns([[0, -1], [1, 1], [1, 1]]).counts.tolist()
    [1, 2]
    """
    if not isinstance(data, Patterns):
        return Patterns.from_votes(to_votes(data, n_classes=n_classes, classes=classes))
    stated = state_classes(n_classes, classes)
    if stated is None:
        return data
    return data.with_classes(stated if classes is not None else complete_classes(data.classes, n_classes))


def _iterate(chunks: Iterable[object]) -> Iterator[object]:
    try:
        if isinstance(chunks, str | bytes | Mapping):
            raise TypeError
        return iter(chunks)
    except Exception:  # an object may raise anything when it is iterated
        raise VotesError(f"chunks is {show(chunks)}; expected a list of chunks of votes, or another iterable") from None


def _read_chunk(
    chunk: object,
    names: tuple[str, ...] | None,
    n_classes: int | None,
    classes: Sequence[Hashable] | None,
) -> tuple[Patterns, bool]:
    """Patterns of a chunk, without items, and whether its classes were inferred.

    A table must have the columns of the first one.
    """
    if isinstance(chunk, Patterns):
        return replace(to_patterns(chunk, n_classes=n_classes, classes=classes), inverse=None), False
    votes = to_votes(chunk, n_classes=n_classes, classes=classes, lfs=names)
    taken = votes.origin.columns
    if names is not None and taken is not None:
        match_lfs([*taken.lfs, *filter(may_be_votes, taken.ignored)], names)  # refuses a column that is new
    return replace(Patterns.from_votes(votes), inverse=None), not votes.stated


def check_parts(patterns: Patterns) -> None:
    """Check what a file claims before anything is indexed with it.

    Raises:
        ValueError: The parts do not fit together.
    """
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


def _pack_sparse(rows: Rows, m: int, k: int) -> Keys:
    """`pack_rows` of sparse rows, block by block. -> (n,)."""
    blocks = row_blocks(len(rows.starts) - 1, m)
    keys = [pack_rows(rows.part(block.start, block.stop).to_cells(m), k) for block in blocks]
    return np.concatenate(keys) if keys else np.empty(0, np.uint64)


def _take_rows(cells: Ints, index: Ints, k: int) -> Rows:
    """A copy of some rows of a dense array: still dense if there are many, as sums over them may need nothing else."""
    if len(index) < _MANY_ROWS:
        return Rows.from_cells(take_cells(cells, index))
    return DenseRows.copy_cells(cells, index, smallest_type(k))


def _group_rows(rows: Rows, m: int, k: int) -> tuple[Rows, KeyGroups]:
    """Distinct rows, and which rows are equal: the same rows in the same order as of dense votes."""
    space = key_space(m, k)
    groups = group_keys(_pack_sparse(rows, m, k), space) if space <= _MOST_KEYS else _group_hashes(rows, k)
    distinct = rows.take(groups.example)
    if space > _MOST_KEYS or len(groups.example) < _MANY_ROWS:
        return distinct, groups
    return DenseRows(distinct.to_cells(m).astype(smallest_type(k), copy=False)), groups


def _group_hashes(rows: Rows, k: int) -> KeyGroups:
    """Group equal sparse rows by a hash and verify; after a collision, one in 2^64, use another hash."""
    seed = 0
    while True:
        keys = hash_rows(rows.starts, rows.lf, rows.vote, k, seed)
        groups = group_keys(keys, 1 << 64)
        if rows.equal(groups.example[groups.inverse]):
            return groups
        seed += 1
