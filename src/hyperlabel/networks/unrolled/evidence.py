"""What the network learns from a set: everything that the logits of a row need, and what rows are believed to be."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64, Floats, Real, scale_rows, softmax, softmax_of_two
from hyperlabel.networks.base import Sums
from hyperlabel.networks.unrolled.votes import SparseVotes, VoteTable

MANY_CLASSES = 32  # from this many on, sets are read in float32: half the memory, twice as fast, right to about 1e-6
MANY_PAIRS = 8  # adding one number for a pair of votes takes as long as adding this many numbers of a row
START = 0.3  # votes that each class has before any is counted, in the first beliefs


class Evidence(NamedTuple):
    """Everything that a row's logits need, and how its belief is weighed against gold.

    Attributes:
        table: (m * k, k) evidence of one vote of each node for each class.
        bias: (k,) logits of a row before its votes.
        scale: The factor of evidence on a row with one vote.
        power: How the factor changes with the number of votes: `scale * size ** power`.
        gold_weight: How many gold items the belief about a row counts as.
        gold_worth: (k,) how many gold items one of each class counts as.
        vote_weight: How much shares of the votes count in probabilities, 0 to 1.
    """

    table: Float64
    bias: Float64
    scale: float
    power: float
    gold_weight: float
    gold_worth: Float64
    vote_weight: float = 0.0

    def factors(self, votes: VoteTable) -> Float64:
        """The factor of the evidence on each row. (r,)."""
        factors: Float64 = (self.scale * votes.sizes**self.power).take(votes.size - 1)
        return factors

    def beliefs(self, votes: VoteTable, dtype: type[Real]) -> NDArray[Real]:
        """What the evidence says: probabilities before shares of votes and gold are mixed in. (r, k)."""
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

    def mix_votes(self, beliefs: Float64, votes: VoteTable) -> None:
        """Mix shares of the votes into the beliefs about rows, in place. (r, k)."""
        if not self.vote_weight:
            return
        k, weights = len(self.bias), self.vote_weight / votes.size
        beliefs *= 1 - self.vote_weight
        for block, counts in votes.layout.sum_by_row(own_classes(len(self.table) // k, k)):
            beliefs[block] += weights[block, None] * counts


def reading_type(k: int) -> type[np.floating]:
    """The precision in which beliefs are computed while a set of k classes is read; rows are judged in float64."""
    return np.float32 if k > MANY_CLASSES else np.float64


def own_classes(m: int, k: int) -> Floats:
    """What each node speaks for if all votes are classes. (m * k, k)."""
    return np.eye(k, dtype=reading_type(k)).take(np.arange(m * k) % k, axis=0)


def first_sums(votes: VoteTable, m: int, k: int) -> Sums:
    """The first beliefs about the items on which each node votes, added up, and about all items. (m * k, k), (k,)."""
    few_votes = k > max(MANY_CLASSES, MANY_PAIRS * len(votes.sizes))
    if few_votes and isinstance(votes.layout, SparseVotes):  # all classes without votes have the same belief
        factors = votes.counts / (votes.size + START * k)
        class_counts = votes.layout.sum_votes_by_node(factors)
        class_counts += START * votes.layout.sum_by_node(factors[:, None])
        shares = np.bincount(votes.layout.node % k, factors.repeat(votes.size), k)
        return class_counts, shares + START * factors.sum()
    return sum_beliefs(votes, first_beliefs(votes, own_classes(m, k)))


def sum_beliefs(votes: VoteTable, items: Floats) -> Sums:
    """Beliefs about the rows on which each node votes, added up over items, and about all items. (m * k, k), (k,)."""
    if votes.is_repeated:
        scale_rows(items, votes.counts)
    return votes.layout.sum_by_node(items), items.sum(0, dtype=np.float64)


def first_beliefs(votes: VoteTable, own_class: Floats) -> Floats:
    """Smoothed shares of the votes, from (m * k, k) what each node speaks for. (r, k)."""
    k = own_class.shape[1]
    beliefs = np.empty((len(votes.size), k), own_class.dtype)
    factors = 1 / (votes.size + START * k)
    for block, shares in votes.layout.sum_by_row(own_class):
        shares += START
        scale_rows(shares, factors[block])
        beliefs[block] = shares
    return beliefs
