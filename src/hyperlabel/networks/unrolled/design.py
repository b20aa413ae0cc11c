"""The design effect: how much more the evidence on items of one class varies than if LFs erred independently.

Judges who are misled by the same things, or are copies of each other, give evidence that is added up as if it were
independent. The variance shows it: that of a sum of independent votes is the sum of their variances. Surveys call the
ratio of the two the design effect. Votes of one-sided LFs do not vary once they are cast; there it is 1.
"""

from hyperlabel.networks.unrolled.backend import Array
from hyperlabel.networks.unrolled.nodes import Nodes

ONE_ITEM = 1.0  # imagined on both sides, with variance 1: evidence that hardly varies says nothing
LEAST_ITEMS = 1e-9  # avoids division by zero where a class has no items


def find_residuals(nodes: Nodes, class_counts: Array, evidence: Array) -> Array:
    """The evidence of a vote for each class, minus its mean over the votes of its LF on items of that class. (q, k).

    Args:
        nodes: The nodes.
        class_counts: (q, k) of the items on which a node votes, those of each class, as believed.
        evidence: (q, k) of one vote of each node for each class.
    """
    by_lf, bound = nodes.by_lf, nodes.backend.bound
    return evidence - by_lf.of(by_lf.sum(class_counts * evidence) / bound(by_lf.sum(class_counts), LEAST_ITEMS))


def find_log_effect(nodes: Nodes, residuals: Array, class_counts: Array, class_totals: Array, moments: Array) -> Array:
    """The log of the design effect of each set. (t,).

    Args:
        nodes: The nodes.
        residuals: (q, k) of one vote.
        class_counts: (q, k) of the items on which a node votes, those of each class, as believed now; scaled.
        class_totals: (t, k) items of each class, as believed now; scaled.
        moments: (t, 2, k) over these items, the sum and the sum of squares of what the residuals on an item add up
            to; scaled.
    """
    by_lf, bound = nodes.by_lf, nodes.backend.bound
    of_sums = (moments[:, 1] - moments[:, 0] ** 2 / bound(class_totals, LEAST_ITEMS)).sum(1)
    weighted = class_counts * residuals
    means = weighted * by_lf.of(by_lf.sum(weighted) / bound(by_lf.sum(class_counts), LEAST_ITEMS))
    of_votes = nodes.by_set.sum((weighted * residuals - means).sum(1))
    return nodes.backend.xp.log((bound(of_sums, 0) + ONE_ITEM) / (bound(of_votes, 0) + ONE_ITEM))
