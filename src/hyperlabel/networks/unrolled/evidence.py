"""What the network learns of a set: everything that the logits of a row need, and what rows are believed to be."""

from dataclasses import dataclass

import numpy as np

from hyperlabel.kernels import Float64, scale_rows, softmax, softmax_of_many, softmax_of_two
from hyperlabel.networks.unrolled.votes import VoteTable

MANY_CLASSES = 32  # from here on exponentials are most of the work
START = 0.3  # votes that each class has before any is counted, in the first beliefs


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything that a row's logits need, and how its belief is weighed against gold.

    Attributes:
        table: (m * k, k) evidence of one vote of each node for each class.
        bias: (k,) logits of a row before its votes.
        scale: What evidence is multiplied by, on a row of one vote.
        power: How that changes with the number of votes: `scale * size ** power`.
        gold_weight: As how many gold items the belief in a row counts.
        gold_worth: (k,) as how many gold items one of each class counts.
    """

    table: Float64
    bias: Float64
    scale: float
    power: float
    gold_weight: float
    gold_worth: Float64

    def factors(self, votes: VoteTable) -> Float64:
        """What the evidence on each row is multiplied by. (r,)."""
        factors: Float64 = (self.scale * votes.sizes**self.power).take(votes.size - 1)
        return factors

    def beliefs(self, votes: VoteTable) -> Float64:
        """Probabilities of the classes, before gold is looked up. (r, k)."""
        beliefs, factors = np.empty((len(votes.size), len(self.bias))), self.factors(votes)
        if len(self.bias) == 2:  # only the difference matters
            bias, table = self.bias[1] - self.bias[0], (self.table[:, 1] - self.table[:, 0])[:, None]
            for block, lead in votes.layout.sum_by_row(table):
                softmax_of_two(lead[:, 0] * factors[block] + bias, beliefs[block])
            return beliefs
        to_beliefs = softmax_of_many if len(self.bias) > MANY_CLASSES else softmax
        for block, logits in votes.layout.sum_by_row(self.table):
            scale_rows(logits, factors[block])
            logits += self.bias
            to_beliefs(logits, beliefs[block])
        return beliefs


def first_beliefs(votes: VoteTable, own_class: Float64) -> Float64:
    """Smoothed shares of the votes, from (m * k, k) what each node speaks for. (r, k)."""
    k = own_class.shape[1]
    beliefs = np.empty((len(votes.size), k))
    factors = 1 / (votes.size + START * k)
    for block, shares in votes.layout.sum_by_row(own_class):
        shares += START
        scale_rows(shares, factors[block])
        beliefs[block] = shares
    return beliefs
