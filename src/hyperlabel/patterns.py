"""Patterns: the distinct vote rows and how often each occurs. Every model works on these, never on items.

Flows in: `Votes`, or chunks of them. Flows out: the patterns' votes, their counts, and for each item the
number of its pattern, so that what was computed for patterns can be handed back to items.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hyperlabel.classes import are_numbers, show_some
from hyperlabel.errors import VotesError
from hyperlabel.kernels import Groups, Ints, group_keys, hash_rows, key_space, pack_rows
from hyperlabel.rows import Rows
from hyperlabel.votes import Votes, to_votes

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Patterns:
    """Distinct vote rows with counts.

    Attributes:
        starts: (p + 1,) where each pattern's votes begin in `lf` and `vote`.
        lf: (e,) the LF of each vote, increasing within a pattern.
        vote: (e,) the class number of each vote.
        counts: (p,) how many items have the pattern.
        n_lfs: Number of LFs, those that never vote included.
        n_classes: Number of classes, those nobody votes for included.
        inverse: (n,) the pattern of each item; None where items were only counted.
    """

    starts: NDArray[np.int64]
    lf: NDArray[np.int64]
    vote: NDArray[np.int64]
    counts: Ints
    n_lfs: int
    n_classes: int
    inverse: Ints | None = None

    @classmethod
    def from_votes(cls, votes: Votes) -> "Patterns":
        """Group the items of votes by their vote row.

        >>> patterns = Patterns.from_votes(Votes.from_array([[0, 1], [-1, 1], [0, 1]]))
        >>> patterns.to_array().tolist(), patterns.counts.tolist(), patterns.inverse.tolist()
        ([[-1, 1], [0, 1]], [1, 2], [1, 0, 1])
        """
        m, k = votes.n_lfs, votes.n_classes
        if votes.cells is not None and key_space(m, k) <= 1 << 64:
            groups = group_keys(pack_rows(votes.cells, k), key_space(m, k))
            rows = Rows.from_cells(votes.cells, groups.example)
        else:
            rows = votes.rows
            groups = _group_rows(rows, k)
            rows = rows.take(groups.example)
        return cls(rows.starts, rows.lf, rows.vote, groups.counts, m, k, groups.inverse)

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
            classes: The classes; must be stated where they are texts and a chunk may miss one.

        >>> chunks = ([[0, 1], [0, 1]], [[-1, 1], [0, 1]])
        >>> sorted(Patterns.from_chunks(chunks).counts.tolist())
        [1, 3]
        """
        first: Votes | None = None
        merged: Patterns | None = None
        for number, chunk in enumerate(chunks):
            votes = to_votes(chunk, n_classes=n_classes, classes=classes)
            first = votes if first is None else first
            _check_chunk(number, votes, first)
            patterns = replace(cls.from_votes(votes), inverse=None)
            merged = patterns if merged is None else merged.merge(patterns)
        if merged is None:
            raise VotesError("chunks is empty; expected at least one chunk of votes")
        return merged

    def merge(self, other: "Patterns") -> "Patterns":
        """Patterns of both: counts of equal rows are added. Items keep no number of their pattern.

        >>> one = Patterns.from_votes(Votes.from_array([[0, 1], [1, 1]]))
        >>> one.merge(one).counts.tolist()
        [2, 2]
        """
        if self.n_lfs != other.n_lfs:
            raise VotesError(
                f"patterns of {self.n_lfs} and of {other.n_lfs} LFs cannot be merged; give all chunks the same columns"
            )
        counts = np.concatenate([self.counts, other.counts])
        rows, k = self.rows.concatenate(other.rows), max(self.n_classes, other.n_classes)
        return Patterns(rows.starts, rows.lf, rows.vote, counts, self.n_lfs, k).join_equal()[0]

    def join_equal(self) -> tuple["Patterns", NDArray[np.intp]]:
        """Equal rows as one: the patterns, and the place of each row among them. -> patterns, (p,).

        >>> rows = Patterns(np.array([0, 1, 2]), np.array([0, 0]), np.array([1, 1]), np.array([3, 4]), 2, 2)
        >>> joined, place = rows.join_equal()
        >>> joined.counts.tolist(), place.tolist()
        ([7], [0, 0])
        """
        groups = _group_rows(self.rows, self.n_classes)
        counts = np.zeros(len(groups.counts), np.int64)
        np.add.at(counts, groups.inverse, self.counts)
        rows = self.rows.take(groups.example)
        place = groups.inverse.astype(np.intp, copy=False)
        return Patterns(rows.starts, rows.lf, rows.vote, counts, self.n_lfs, self.n_classes), place

    @property
    def rows(self) -> Rows:
        """The patterns' votes as sparse rows."""
        return Rows(self.starts, self.lf, self.vote)

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

    @property
    def has_votes(self) -> NDArray[np.bool_]:
        """Whether anybody votes on the pattern's items. (p,)."""
        return np.diff(self.starts) > 0

    def to_array(self) -> NDArray[np.int64]:
        """The patterns as a dense array, -1 abstains. (p, m)."""
        cells = np.full((self.n_patterns, self.n_lfs), -1, np.int64)
        cells[self.row, self.lf] = self.vote
        return cells

    def find(self, other: "Patterns") -> NDArray[np.intp]:
        """Where each of these patterns stands among others, -1 where it does not. -> (p,).

        >>> one = Patterns.from_votes(Votes.from_array([[0, 1], [1, 1]]))
        >>> one.find(Patterns.from_votes(Votes.from_array([[1, 1]]))).tolist()
        [-1, 0]
        """
        if self.n_lfs != other.n_lfs:
            return np.full(self.n_patterns, -1, np.intp)
        rows = other.rows.concatenate(self.rows)
        groups = _group_rows(rows, max(self.n_classes, other.n_classes))
        place = np.full(len(groups.counts), -1, np.intp)
        place[groups.inverse[: other.n_patterns]] = np.arange(other.n_patterns)
        return place[groups.inverse[other.n_patterns :]]

    def count_labels(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many items of each pattern have each class. (n,) class numbers, -1 for unknown -> (p, k)."""
        known = np.flatnonzero(labels >= 0)
        flat = self._inverse()[known].astype(np.int64) * self.n_classes + labels[known]
        return np.bincount(flat, minlength=self.n_patterns * self.n_classes).reshape(-1, self.n_classes)

    def expand(self, values: NDArray[Scalar]) -> NDArray[Scalar]:
        """From one value a pattern to one value an item. (p, ...) -> (n, ...)."""
        return values.take(self._inverse(), axis=0)

    def _inverse(self) -> Ints:
        if self.inverse is None:
            raise VotesError("these patterns were only counted and know no items; use Patterns.from_votes")
        return self.inverse


def _check_chunk(number: int, votes: Votes, first: Votes) -> None:
    """Check that a chunk has the LFs of the first one, and class numbers of the same meaning."""
    if votes.lf_names != first.lf_names:
        raise VotesError(
            f"chunk {number} has the LFs {show_some(votes.lf_names)}, chunk 0 has {show_some(first.lf_names)}; "
            "give all chunks the same columns in the same order"
        )
    if votes.classes != first.classes and not (are_numbers(votes.classes) and are_numbers(first.classes)):
        raise VotesError(
            f"chunk {number} has the classes {show_some(votes.classes)}, chunk 0 has {show_some(first.classes)}; "
            "state all classes with classes"
        )


def _group_rows(rows: Rows, k: int) -> Groups:
    """Group equal sparse rows by a hash, verified; a collision, one in 2^64, is met with another hash."""
    seed = 0
    while True:
        keys = hash_rows(rows.starts, rows.lf, rows.vote, k, seed)
        groups = group_keys(keys, 1 << 64)
        if rows.equal(groups.example[groups.inverse]):
            return groups
        seed += 1
