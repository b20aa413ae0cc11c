"""Votes of patterns, laid out for the two sums that the network needs: over the votes of a row and of a node.

A node's number is `lf * k + class`. Sums over rows look up a table of nodes; sums over nodes are the way back.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import (
    Float64,
    Floats,
    Ints,
    Real,
    gather_blocks,
    gather_sums,
    most_digits,
    pack_digits,
    row_blocks,
    stable_order,
)
from hyperlabel.networks.unrolled.backend import NumpyGroups
from hyperlabel.patterns import Patterns

FEW_NUMBERS = 1 << 13  # of the rows of all votes: so many are added one by one sooner than they are put in order
MANY_ROWS = 1 << 13  # from this many on, packing may pay off
MOST_COMBINATIONS = 1 << 10  # of votes packed into one number: sums of all of them stay in the cache


class Layout(Protocol):
    """Votes of r rows, each of at least one vote."""

    def sum_by_row(self, table: NDArray[Real]) -> Iterator[tuple[slice, NDArray[Real]]]:
        """What a table says about the votes of each row, added up, block by block. (m * k, c) -> rows, (rows, c)."""

    def sum_by_node(self, values: Floats) -> Float64:
        """Values of the rows on which each node votes, added up. (r, c) -> (m * k, c)."""


@dataclass(frozen=True, eq=False)
class VoteTable:
    """The votes of patterns, for sums; rows without votes are left out.

    Attributes:
        has_votes: (p,) whether the pattern has votes.
        counts: (r,) how many items have the row.
        size: (r,) votes of the row.
        layout: The votes.
    """

    has_votes: NDArray[np.bool_]
    counts: Float64
    size: NDArray[np.int64]
    layout: Layout

    @classmethod
    def from_patterns(cls, patterns: Patterns, *, rows_only: bool = False) -> "VoteTable":
        """Prepare patterns, for both sums or only for one sum over rows.

        >>> from hyperlabel.votes import Votes
        >>> votes = VoteTable.from_patterns(Patterns.from_votes(Votes.from_array([[0, 1], [-1, 1], [-1, -1]])))
        >>> [sums.tolist() for _, sums in votes.layout.sum_by_row(np.eye(4))]  # nodes 0 and 3 vote on the last row
        [[[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]]]
        """
        starts, counts, m, k = patterns.starts, patterns.counts, patterns.n_lfs, patterns.n_codes
        size = starts[1:] - starts[:-1]
        has_votes = size > 0
        if not has_votes.all():
            size, counts, starts = size[has_votes], counts[has_votes], np.append(starts[:-1][has_votes], starts[-1])
        layout: Layout
        if not rows_only and PackedVotes.pays(len(size), int(starts[-1]), m, k):
            cells = patterns.rows.to_cells(m)
            layout = PackedVotes(cells if len(size) == len(cells) else cells[has_votes], k)
        else:
            layout = SparseVotes(starts, patterns.lf * k + patterns.vote, m, k)
        return cls(has_votes, counts.astype(np.float64), size, layout)

    @cached_property
    def sizes(self) -> Float64:
        """The numbers of votes that a row may have, starting at 1."""
        return np.arange(1, self.size.max(initial=0) + 1, dtype=np.float64)

    @cached_property
    def is_repeated(self) -> bool:
        """Whether some row has a number of items other than 1."""
        return not bool((self.counts == 1).all())


@dataclass(frozen=True, eq=False)
class SparseVotes:
    """Votes one by one.

    Attributes:
        starts: (r + 1,) where each row's votes begin.
        node: (e,) the node of each vote.
        n_lfs: m.
        n_classes: k.
    """

    starts: NDArray[np.int64]
    node: NDArray[np.int64]
    n_lfs: int
    n_classes: int

    @property
    def n_nodes(self) -> int:
        """All pairs of an LF and a class."""
        return self.n_lfs * self.n_classes

    def sum_by_row(self, table: NDArray[Real]) -> Iterator[tuple[slice, NDArray[Real]]]:
        """What a table says about the votes of each row, added up, block by block. (m * k, c) -> rows, (rows, c)."""
        return gather_blocks(table, self.node, self.starts)

    def sum_by_node(self, values: Floats) -> Float64:
        """Values of the rows on which each node votes, added up. (r, c) -> (m * k, c)."""
        if len(self.node) * values.shape[1] <= FEW_NUMBERS and values.dtype == np.float64:
            sums: Float64 = self._groups.sum(values.take(self._row, axis=0))
            return sums
        voting, row, starts = self._by_node
        sums = gather_sums(values, row, starts)
        if len(voting) == self.n_nodes:
            return sums
        all_sums = np.zeros((self.n_nodes, values.shape[1]))
        all_sums[voting] = sums
        return all_sums

    def sum_votes_by_node(self, weights: Float64) -> Float64:
        """Votes for each class on the rows on which each node votes, by the weights of the rows. (r,) -> (m * k, k).

        One vote of every row at a time: far fewer numbers than rows times classes if there are many classes.
        """
        size, k = self.starts[1:] - self.starts[:-1], self.n_classes
        sums, cells = np.zeros(self.n_nodes * k), self.node * k
        for slot in range(size.max(initial=0)):
            voted = self.node.take(np.minimum(self.starts[:-1] + slot, len(self.node) - 1)) % k
            np.add.at(sums, cells + voted.repeat(size), np.where(slot < size, weights, 0).repeat(size))
        return sums.reshape(-1, k)

    @cached_property
    def _by_node(self) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64]]:
        """The nodes that vote (q,), the rows on which they do, node after node (e,), and their starts (q + 1,)."""
        sizes = np.bincount(self.node, minlength=self.n_nodes)
        voting = np.flatnonzero(sizes)
        starts = np.zeros(len(voting) + 1, np.int64)
        np.cumsum(sizes[voting], out=starts[1:])
        return voting, self._row[stable_order(self.node)], starts

    @cached_property
    def _row(self) -> NDArray[np.intp]:
        """The row of each vote. (e,)."""
        return np.arange(len(self.starts) - 1).repeat(self.starts[1:] - self.starts[:-1])

    @cached_property
    def _groups(self) -> NumpyGroups:
        """The votes by their node."""
        return NumpyGroups(self.node, self.n_nodes)


class PackedVotes:
    """Many rows of dense votes: the votes of a few LFs at a time are one number whose digits are votes.

    A row's sum is then a sum over a few lookups in tables of all combinations of votes. Sums over nodes first count
    the combinations.

    Args:
        cells: (r, m) class numbers, -1 abstains.
        k: Number of classes.
    """

    def __init__(self, cells: Ints, k: int) -> None:
        (rows, self.m), self.base, width = cells.shape, k + 1, most_digits(k, MOST_COMBINATIONS)
        self.packs = [range(start, min(start + width, self.m)) for start in range(0, self.m, width)]
        self.codes = np.empty((len(self.packs), rows), np.intp)  # (packs, r)
        for block, numbers in pack_digits(cells, k, width):
            self.codes[:, block] = numbers.T

    @staticmethod
    def pays(rows: int, votes: int, m: int, k: int) -> bool:
        """Whether there are enough rows and votes that packing saves more than it costs."""
        if rows < MANY_ROWS or k >= MOST_COMBINATIONS:
            return False
        packs = -(-m // most_digits(k, MOST_COMBINATIONS))
        return 2 * rows * packs <= votes

    def sum_by_row(self, table: NDArray[Real]) -> Iterator[tuple[slice, NDArray[Real]]]:
        """What a table says about the votes of each row, added up, block by block. (m * k, c) -> rows, (rows, c)."""
        columns, rows = table.shape[1], self.codes.shape[1]
        by_lf = np.zeros((self.m, self.base, columns), table.dtype)  # the first entry of an LF is for abstaining
        by_lf[:, 1:] = table.reshape(self.m, -1, columns)
        packs = []
        for pack in self.packs:
            sums = by_lf[pack[0]]
            for lf in pack[1:]:
                sums = (by_lf[lf][:, None] + sums).reshape(-1, columns)
            packs.append(sums)
        for block in row_blocks(rows, columns):
            part = packs[0].take(self.codes[0, block], axis=0)
            for sums, codes in zip(packs[1:], self.codes[1:, block], strict=True):
                part += sums.take(codes, axis=0)
            yield block, part

    def sum_by_node(self, values: Floats) -> Float64:
        """Values of the rows on which each node votes, added up. (r, c) -> (m * k, c)."""
        sums = np.empty((self.m, self.base, values.shape[1]))
        for column, weights in enumerate(np.ascontiguousarray(values.T)):
            for pack, codes in zip(self.packs, self.codes, strict=True):
                counts = np.bincount(codes, weights, self.base ** len(pack))
                for digit, lf in enumerate(pack):
                    sums[lf, :, column] = counts.reshape(-1, self.base, self.base**digit).sum((0, 2))
        return sums[:, 1:].reshape(-1, values.shape[1])
