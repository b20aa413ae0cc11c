"""Sums over rows in NumPy: votes laid out for sums by row and by node, and beliefs about rows from evidence.

The number of a node is `lf * k + class`. Sums by row look up a table of nodes; sums by node are the way back.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import (
    Float64,
    Floats,
    Ints,
    Real,
    gather_blocks,
    gather_sums,
    most_digits,
    pack_digits,
    row_blocks,
    scale_rows,
    softmax,
    softmax_of_two,
    stable_order,
)
from hyperlabel.data import Patterns
from hyperlabel.networks._backend import NumpyGroups
from hyperlabel.networks._base import Sums

FEW_NUMBERS = 1 << 13  # of the rows of all votes: so many are added one by one sooner than they are put in order
MANY_ROWS = 1 << 13  # from this many on, packing may pay off
MOST_COMBINATIONS = 1 << 10  # of votes packed into one number: sums of all of them stay in the cache
MANY_CLASSES = 32  # from this many on, sets are read in float32: half the memory, twice as fast, right to about 1e-6
MANY_PAIRS = 8  # adding one number for a pair of votes takes as long as adding this many numbers of a row
START = 0.3  # votes that each class has before any is counted, in the first beliefs
PLAIN_VOTE = 1.0  # evidence of a vote for its class if the set had no votes at all: the majority wins


@dataclass(frozen=True, eq=False)
class VoteTable:
    """The votes of patterns, for sums; rows without votes are left out."""

    has_votes: NDArray[np.bool_]  # (p,) whether the pattern has votes
    counts: Float64  # (r,) how many items have the row
    size: NDArray[np.int64]  # (r,) votes of the row
    most: int  # the most votes of a row
    layout: "SparseVotes | PackedVotes"  # the votes themselves

    @classmethod
    def from_patterns(cls, patterns: Patterns, *, rows_only: bool = False) -> "VoteTable":
        """Prepare patterns, for both sums or only for one sum by row.

        >>> from hyperlabel.data import Votes
        >>> votes = VoteTable.from_patterns(Patterns.from_votes(Votes.from_array([[0, 1], [-1, 1], [-1, -1]])))
        >>> [sums.tolist() for _, sums in votes.layout.sum_by_row(np.eye(4))]  # nodes 0 and 3 vote on the last row
        [[[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]]]
        """
        starts, counts, m, k = patterns.starts, patterns.counts, patterns.n_lfs, patterns.n_codes
        size = starts[1:] - starts[:-1]
        has_votes = size > 0
        if not has_votes.all():
            size, counts, starts = size[has_votes], counts[has_votes], np.append(starts[:-1][has_votes], starts[-1])
        layout: SparseVotes | PackedVotes
        if not rows_only and PackedVotes.pays(len(size), int(starts[-1]), m, k):
            cells = patterns.rows.to_cells(m)
            layout = PackedVotes(cells if len(size) == len(cells) else cells[has_votes], k)
        else:
            layout = SparseVotes(starts, patterns.lf * k + patterns.vote, k, m * k)
        return cls(has_votes, counts.astype(np.float64), size, int(size.max(initial=0)), layout)

    def sum_by_row(self, table: Float64) -> Float64:
        """Add up the entries of a table for the votes of each row. (m * k, c) -> (r, c)."""
        sums = np.empty((len(self.size), table.shape[1]))
        for block, part in self.layout.sum_by_row(table):
            sums[block] = part
        return sums

    @cached_property
    def is_repeated(self) -> bool:
        """True if some row has a number of items other than 1."""
        return not bool((self.counts == 1).all())


@dataclass(frozen=True, eq=False)
class SparseVotes:
    """Votes one by one, of r rows with at least one vote each."""

    starts: NDArray[np.int64]  # (r + 1,) where each row's votes begin
    node: NDArray[np.int64]  # (e,) the node of each vote
    n_classes: int  # k
    n_nodes: int  # m * k, all pairs of an LF and a class

    def sum_by_row(self, table: NDArray[Real]) -> Iterator[tuple[slice, NDArray[Real]]]:
        """Add up the entries of a table for the votes of each row, by blocks. (m * k, c) -> rows, (rows, c)."""
        return gather_blocks(table, self.node, self.starts)

    def sum_by_node(self, values: Floats) -> Float64:
        """Add up the values of the rows on which each node votes. (r, c) -> (m * k, c)."""
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
        """Add up weighted votes for each class on the rows on which each node votes. (r,) -> (m * k, k).

        One vote of every row at a time: far fewer numbers than rows times classes if there are many classes.
        """
        size, k = self.starts[1:] - self.starts[:-1], self.n_classes
        sums, cells = np.zeros(self.n_nodes * k), self.node * k
        for slot in range(size.max(initial=0)):
            vote = self.node.take(np.minimum(self.starts[:-1] + slot, len(self.node) - 1)) % k
            np.add.at(sums, cells + vote.repeat(size), np.where(slot < size, weights, 0).repeat(size))
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

    A row's sum is then a sum over a few lookups in tables of all combinations of votes. Sums by node first count the
    combinations.

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
        """Return whether there are enough rows and votes that packing saves more than it costs."""
        if rows < MANY_ROWS or k >= MOST_COMBINATIONS:
            return False
        packs = -(-m // most_digits(k, MOST_COMBINATIONS))
        return 2 * rows * packs <= votes

    def sum_by_row(self, table: NDArray[Real]) -> Iterator[tuple[slice, NDArray[Real]]]:
        """Add up the entries of a table for the votes of each row, by blocks. (m * k, c) -> rows, (rows, c)."""
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
        """Add up the values of the rows on which each node votes. (r, c) -> (m * k, c)."""
        sums = np.empty((self.m, self.base, values.shape[1]))
        for column, weights in enumerate(np.ascontiguousarray(values.T)):
            for pack, codes in zip(self.packs, self.codes, strict=True):
                counts = np.bincount(codes, weights, self.base ** len(pack))
                for digit, lf in enumerate(pack):
                    sums[lf, :, column] = counts.reshape(-1, self.base, self.base**digit).sum((0, 2))
        return sums[:, 1:].reshape(-1, values.shape[1])


class Evidence(NamedTuple):
    """Everything that a row's logits need, and how its belief is weighed against gold."""

    table: Float64  # (m * k, k) evidence of one vote of each node for each class
    bias: Float64  # (k,) logits of a row before its votes
    scale: float  # the factor of evidence on a row with one vote
    power: float  # how the factor changes with the number of votes: `scale * size ** power`
    gold_weight: float  # how many gold items the belief about a row counts as
    gold_worth: Float64  # (k,) how many gold items one of each class counts as
    vote_weight: float = 0.0  # how much shares of the votes count in probabilities, 0 to 1

    def factors(self, votes: VoteTable) -> Float64:
        """Return the factor of the evidence on each row. (r,)."""
        sizes = np.arange(1, votes.most + 1, dtype=np.float64)
        factors: Float64 = (self.scale * sizes**self.power).take(votes.size - 1)
        return factors

    def beliefs(self, votes: VoteTable, dtype: type[Real]) -> NDArray[Real]:
        """Return the probabilities of rows before shares of votes and gold are mixed in. (r, k)."""
        beliefs, factors = np.empty((len(votes.size), len(self.bias)), dtype), self.factors(votes)
        if len(self.bias) == 2:  # only the difference matters
            bias, table = self.bias[0] - self.bias[1], (self.table[:, 0] - self.table[:, 1])[:, None]
            for block, lead in votes.layout.sum_by_row(table):
                softmax_of_two(lead[:, 0] * factors[block] + bias, beliefs[block])
            return beliefs
        bias, table = self.bias.astype(dtype, copy=False), self.table.astype(dtype, copy=False)
        for block, logits in votes.layout.sum_by_row(table):
            scale_rows(logits, factors[block])
            logits += bias
            softmax(logits, beliefs[block])
        return beliefs

    def judge(self, votes: VoteTable, beliefs: Float64 | None = None) -> Float64:
        """Return the probabilities of rows before gold is mixed in; beliefs that are known are changed. (r, k)."""
        judged = self.beliefs(votes, np.float64) if beliefs is None else beliefs
        if self.vote_weight:
            judged *= 1 - self.vote_weight
            weights, k = self.vote_weight / votes.size, len(self.bias)
            for block, counts in votes.layout.sum_by_row(own_classes(len(self.table) // k, k)):
                judged[block] += weights[block, None] * counts
        return judged

    def complete(self, cast: Float64) -> "Evidence":
        """Return the evidence of all nodes, from that of the nodes that occur.

        A node that did not occur, since its LF was silent or never voted for that class, is worth what the votes for
        its class are on average. Votes for a class that nobody voted for are worth, for that class, what votes are for
        their own on average, and for the others what votes are for others on average. Without any votes at all, a vote
        is worth `PLAIN_VOTE` for its class.

        Args:
            cast: (m * k,) items on which each node votes.
        """
        absent = (cast == 0).nonzero()[0]
        if len(absent) == 0:
            return self
        table, k = self.table.copy(), len(self.bias)
        by_node = cast.reshape(-1, k)
        by_class = by_node.sum(0)
        averages: Float64 = np.einsum("mv,mvc->vc", by_node, table.reshape(-1, k, k))  # of a vote for each class
        if not by_class.all():
            nobody, total, own = by_class == 0, by_class.sum(), averages.trace()
            others = (averages.sum() - own) / (max(total, 1) * max(k - 1, 1))
            averages[nobody] = np.where(np.eye(k)[nobody] > 0, own / total if total else PLAIN_VOTE, others)
        averages /= np.maximum(by_class, 1)[:, None]
        table[absent] = averages.take(absent % k, axis=0)
        return self._replace(table=table)


def reading_type(k: int) -> type[np.floating]:
    """Return the precision of beliefs while a set of k classes is read; rows are judged in float64."""
    return np.float32 if k > MANY_CLASSES else np.float64


def own_classes(m: int, k: int) -> Floats:
    """Return the class that each node speaks for if all votes are classes, as 1 among 0s. (m * k, k)."""
    return np.eye(k, dtype=reading_type(k)).take(np.arange(m * k) % k, axis=0)


def first_beliefs(votes: VoteTable, own_class: Floats) -> Floats:
    """Return smoothed shares of the votes, from (m * k, k) what each node speaks for. (r, k)."""
    k = own_class.shape[1]
    beliefs = np.empty((len(votes.size), k), own_class.dtype)
    factors = 1 / (votes.size + START * k)
    for block, shares in votes.layout.sum_by_row(own_class):
        shares += START
        scale_rows(shares, factors[block])
        beliefs[block] = shares
    return beliefs


def first_sums(votes: VoteTable, m: int, k: int) -> Sums:
    """Add up the first beliefs over the items on which each node votes, and over all items. (m * k, k), (k,)."""
    few_votes = k > max(MANY_CLASSES, MANY_PAIRS * votes.most)
    if few_votes and isinstance(votes.layout, SparseVotes):  # all classes without votes have the same belief
        factors = votes.counts / (votes.size + START * k)
        class_counts = votes.layout.sum_votes_by_node(factors)
        class_counts += START * votes.layout.sum_by_node(factors[:, None])
        shares = np.bincount(votes.layout.node % k, factors.repeat(votes.size), k)
        return class_counts, shares + START * factors.sum()
    return sum_beliefs(votes, first_beliefs(votes, own_classes(m, k)))


def sum_beliefs(votes: VoteTable, items: Floats) -> Sums:
    """Add up beliefs over the items on which each node votes, and over all items. (m * k, k), (k,)."""
    if votes.is_repeated:
        scale_rows(items, votes.counts)
    return votes.layout.sum_by_node(items), items.sum(0, dtype=np.float64)
