"""How often votes on one item agree, and whether beliefs fit that.

Votes agree with the truth at least as often as with each other, if the truth is no worse than one more vote would be.
Beliefs by which votes are right less often than that have gone astray: where judges err together, a class that hardly
anybody votes for may explain all hard items. By shares of votes as probabilities, votes are right more often than they
agree. So these are mixed in, just enough that votes are right as often as they agree, or less if gold says so.

This is asked of judges alone, LFs whose confusions are trusted: rules that vote on the same items agree whether they
are right or not.
"""

import numpy as np

from hyperlabel.kernels import Float64, Floats
from hyperlabel.networks.unrolled.calibrate import GOLD_PRIOR
from hyperlabel.networks.unrolled.evidence import own_classes
from hyperlabel.networks.unrolled.votes import VoteTable

JUDGES = 0.5  # from this trust in confusions on, LFs are judges
ONE_ITEM = 1.0  # imagined; its votes agree by chance


def count_agreement(votes: VoteTable, beliefs: Floats, m: int) -> Float64:
    """Sums over items that say how often votes agree, with each other and with what is believed. (6,).

    All votes; those that are right; those for the class of a random vote on the item, which may be the vote itself; of
    the items with several votes, the votes, those for the class of a random other vote, and the items.

    Args:
        votes: The rows.
        beliefs: (r, k) about them.
        m: Number of LFs.
    """
    size, several = votes.size, votes.size > 1
    right, same = np.empty(len(size)), np.empty(len(size))
    for block, counts in votes.layout.sum_by_row(own_classes(m, beliefs.shape[1])):
        right[block] = np.einsum("rk,rk->r", counts, beliefs[block])
        same[block] = np.einsum("rk,rk->r", counts, counts)
    other = (same - size) / np.maximum(size - 1, 1)
    return np.stack([size, right, same / size, several * size, other, several]) @ votes.counts


def find_vote_weight(sums: Float64, gold: Float64 | None, scale: float, k: int) -> float:
    """How much shares of votes have to count in probabilities, so that votes are right as often as they agree.

    Args:
        sums: (6,) of `count_agreement`, of all items.
        gold: The same of gold items, whose classes are known; None if there are none.
        scale: The factor of counts of items.
        k: Number of classes.
    """
    votes, right, same, of_several, agreed, several = sums.tolist()
    if not several:
        return 0.0
    items = scale * several
    least = (items * agreed / of_several + ONE_ITEM / k) / (items + ONE_ITEM)
    if gold is not None:
        known = float(gold[1] / gold[0])
        least = min(least, (GOLD_PRIOR * least + gold[5] * known) / (GOLD_PRIOR + gold[5]))
    missing = least - right / votes
    return float(missing / (missing + same / votes - least)) if missing > 0 else 0.0
