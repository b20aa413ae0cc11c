"""Votes of patterns, laid out for the two sums that the network needs of rows: over the votes of a row and of a node.

A node's number is `lf * k + class`. Sums over rows look up a table of nodes; sums over nodes are the way back.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float32, Float64, gather_sums, row_blocks, stable_order
from hyperlabel.patterns import Patterns

MANY_ROWS = 1 << 13  # from here on packing may pay
MOST_COMBINATIONS = 1 << 10  # of the votes of LFs that are packed into one number: sums of all of them stay in the cache


class Layout(Protocol):
    """Votes of r rows, each of at least one vote."""

    def sum_by_row(self, table: Float64) -> Float64:
        """What a table says of the votes of each row, added up. (m * k, c) -> (r, c)."""

    def sum_by_node(self, values: Float64) -> Float64:
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
    def from_patterns(cls, patterns: Patterns) -> "VoteTable":
        """Prepare patterns.

        >>> from hyperlabel.votes import Votes
        >>> votes = VoteTable.from_patterns(Patterns.from_votes(Votes.from_array([[0, 1], [-1, 1], [-1, -1]])))
        >>> votes.layout.sum_by_row(np.eye(4)).tolist()  # nodes 0 and 3 vote on the row of two votes
        [[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]]
        """
        size = patterns.starts[1:] - patterns.starts[:-1]
        has_votes = size > 0
        starts, counts = patterns.starts, patterns.counts
        if not has_votes.all():
            size, counts = size[has_votes], counts[has_votes]
            starts = np.append(starts[:-1][has_votes], starts[-1])
        layout: Layout
        if PackedVotes.pays(len(size), len(patterns.lf), patterns.n_lfs, patterns.n_classes):
            layout = PackedVotes(starts, patterns.lf, patterns.vote, patterns.n_lfs, patterns.n_classes)
        else:
            node = patterns.lf * patterns.n_classes + patterns.vote
            layout = SparseVotes(starts, node, patterns.n_lfs * patterns.n_classes)
        return cls(has_votes, counts.astype(np.float64), size, layout)

    @cached_property
    def sizes(self) -> Float64:
        """The numbers of votes that a row may have, from 1 on."""
        return np.arange(1, self.size.max(initial=0) + 1, dtype=np.float64)


_TABLES: WeakKeyDictionary[Patterns, VoteTable] = WeakKeyDictionary()


def keep_table(patterns: Patterns) -> VoteTable:
    """The vote table of patterns, kept as long as they are: a set is read in several passes, and then judged."""
    table = _TABLES.get(patterns)
    if table is None:
        table = _TABLES[patterns] = VoteTable.from_patterns(patterns)
    return table


def find_table(patterns: Patterns) -> VoteTable:
    """The vote table of patterns that may be judged only once."""
    return _TABLES.get(patterns) or VoteTable.from_patterns(patterns)


@dataclass(frozen=True, eq=False)
class SparseVotes:
    """Votes one by one.

    Attributes:
        starts: (r + 1,) where each row's votes begin.
        node: (e,) the node of each vote.
        n_nodes: m * k.
    """

    starts: NDArray[np.int64]
    node: NDArray[np.int64]
    n_nodes: int

    def sum_by_row(self, table: Float64) -> Float64:
        """What a table says of the votes of each row, added up. (m * k, c) -> (r, c)."""
        return gather_sums(table, self.node, self.starts)

    def sum_by_node(self, values: Float64) -> Float64:
        """Values of the rows on which each node votes, added up. (r, c) -> (m * k, c)."""
        voting, row, starts = self._by_node
        sums = np.zeros((self.n_nodes, values.shape[1]))
        sums[voting] = gather_sums(values, row, starts)
        return sums

    @cached_property
    def _by_node(self) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64]]:
        """The nodes that vote (q,), the rows on which they do, one node after another (e,), and their starts (q + 1,)."""
        sizes = np.bincount(self.node, minlength=self.n_nodes)
        voting = np.flatnonzero(sizes)
        row = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[voting])])
        return voting, row[stable_order(self.node)], starts


class PackedVotes:
    """Many rows of dense votes: the votes of a few LFs at a time are one number, the digits of which are votes.

    A row's sum is then a sum over a few lookups in tables of all combinations of votes. Sums over nodes first count
    the combinations.

    Args:
        starts: (r + 1,) where each row's votes begin.
        lf: (e,) the LF of each vote.
        vote: (e,) its class.
        m: Number of LFs.
        k: Number of classes.
    """

    def __init__(
        self, starts: NDArray[np.int64], lf: NDArray[np.int64], vote: NDArray[np.int64], m: int, k: int
    ) -> None:
        self.m, self.base = m, k + 1
        self.width = _packed_lfs(k)
        self.codes = np.empty((-(-m // self.width), len(starts) - 1), np.intp)  # (packs, r)
        values = self._digit_values()
        for block in row_blocks(len(starts) - 1, m):
            bounds = starts[block.start : block.stop + 1]
            votes, rows = slice(bounds[0], bounds[-1]), len(bounds) - 1
            digits = np.zeros(rows * m, np.float32)
            digits[np.repeat(np.arange(0, rows * m, m), np.diff(bounds)) + lf[votes]] = vote[votes] + 1
            self.codes[:, block] = (digits.reshape(rows, m) @ values).T

    @staticmethod
    def pays(rows: int, votes: int, m: int, k: int) -> bool:
        """Whether there are so many rows and votes that packing saves more than it costs."""
        return rows >= MANY_ROWS and 2 * rows * -(-m // _packed_lfs(k)) <= votes

    def _digit_values(self) -> Float32:
        """What a digit of each LF is worth in the number of each pack. (m, packs)."""
        values = np.zeros((self.m, len(self.codes)), np.float32)
        lf = np.arange(self.m)
        values[lf, lf // self.width] = self.base ** (lf % self.width)
        return values

    def _packs(self) -> list[range]:
        return [range(start, min(start + self.width, self.m)) for start in range(0, self.m, self.width)]

    def sum_by_row(self, table: Float64) -> Float64:
        """What a table says of the votes of each row, added up. (m * k, c) -> (r, c)."""
        columns = table.shape[1]
        by_lf = np.zeros((self.m, self.base, columns))  # the first row of an LF is that of abstaining
        by_lf[:, 1:] = table.reshape(self.m, -1, columns)
        packs = []
        for pack in self._packs():
            sums = by_lf[pack[0]]
            for lf in pack[1:]:
                sums = (by_lf[lf][:, None] + sums).reshape(-1, columns)
            packs.append(sums)
        rows = np.empty((self.codes.shape[1], columns))
        for block in row_blocks(len(rows), columns):
            part = packs[0].take(self.codes[0, block], axis=0, out=rows[block], mode="clip")
            for sums, codes in zip(packs[1:], self.codes[1:, block], strict=True):
                part += sums.take(codes, axis=0)
        return rows

    def sum_by_node(self, values: Float64) -> Float64:
        """Values of the rows on which each node votes, added up. (r, c) -> (m * k, c)."""
        sums = np.empty((self.m, self.base, values.shape[1]))
        for column, weights in enumerate(np.ascontiguousarray(values.T)):
            for pack, codes in zip(self._packs(), self.codes, strict=True):
                size = self.base ** len(pack)
                counts = np.bincount(codes, weights, size)
                for place, lf in enumerate(pack):
                    sums[lf, :, column] = counts.reshape(-1, self.base, self.base**place).sum((0, 2))
        return sums[:, 1:].reshape(-1, values.shape[1])


def _packed_lfs(k: int) -> int:
    """LFs whose votes for k classes, or for none, have no more than `MOST_COMBINATIONS`; at least one."""
    return max(1, int(np.log(MOST_COMBINATIONS) / np.log(k + 1)))
