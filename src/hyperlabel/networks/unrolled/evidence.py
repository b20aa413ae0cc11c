"""What the network learns of a set: everything that the logits of a row need, and what rows are believed to be."""

from dataclasses import dataclass

import numpy as np

from hyperlabel.kernels import Float64, scale_rows, softmax
from hyperlabel.networks.unrolled.votes import VoteTable

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

    def logits(self, votes: VoteTable) -> Float64:
        """(r, k)."""
        logits = votes.layout.sum_by_row(self.table)
        scale_rows(logits, self.factors(votes))
        logits += self.bias
        return logits

    def beliefs(self, votes: VoteTable) -> Float64:
        """Probabilities of the classes, before gold is looked up. (r, k)."""
        logits = self.logits(votes)
        return softmax(logits, out=logits)


def first_beliefs(votes: VoteTable, own_class: Float64) -> Float64:
    """Smoothed shares of the votes. (r, c).

    Args:
        votes: The rows.
        own_class: (m * k, c) 1 where a node votes for a class, 0 elsewhere.
    """
    beliefs = votes.layout.sum_by_row(own_class)
    beliefs += START
    scale_rows(beliefs, 1 / (votes.size + START * own_class.shape[1]))
    return beliefs
