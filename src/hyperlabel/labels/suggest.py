"""Which items to label by hand next: the few whose gold labels would correct most others."""

import heapq

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64
from hyperlabel.patterns import Patterns

SATED = 2.5  # how soon a pattern has enough gold; chosen on the public sets (docs/model-card.md)


def suggest_items(probabilities: Float64, patterns: Patterns, known: NDArray[np.bool_], n: int) -> NDArray[np.intp]:
    """The n items whose labels would help most, most helpful first. -> (n,), fewer if there are no more.

    A gold label tells most about the items of the same pattern, so a pattern's worth is the number of its items
    times the chance that their label is wrong. What is already known about a pattern lowers what one more label can
    tell: the worth is divided by a power of one plus its gold labels, including those already suggested.

    Args:
        probabilities: (p, k) of the patterns.
        patterns: The patterns of the items.
        known: (n,) whether an item has a gold label.
        n: How many items to suggest.
    """
    assert patterns.inverse is not None  # patterns of votes know their items
    wrong = (1 - probabilities.max(1)) * patterns.counts * patterns.has_votes
    known_items = np.bincount(patterns.inverse[known], minlength=patterns.n_patterns)
    free = _by_pattern(patterns.inverse, known, patterns.n_patterns)

    def worth(pattern: int) -> float:
        return float(wrong[pattern] / (1 + known_items[pattern]) ** SATED)

    queue = [(-worth(p), p) for p in range(patterns.n_patterns) if len(free[p]) and wrong[p] > 0]
    heapq.heapify(queue)
    chosen: list[int] = []
    while queue and len(chosen) < n:
        _, pattern = queue[0]
        chosen.append(int(free[pattern][0]))
        free[pattern], known_items[pattern] = free[pattern][1:], known_items[pattern] + 1
        if len(free[pattern]):
            heapq.heapreplace(queue, (-worth(pattern), pattern))
        else:
            heapq.heappop(queue)
    return np.array(chosen, np.intp)


def _by_pattern(inverse: NDArray[np.integer], known: NDArray[np.bool_], p: int) -> list[NDArray[np.intp]]:
    """The items of each pattern that have no gold label, in a fixed shuffled order, not that of the data."""
    items = np.flatnonzero(~known)
    items = items[np.random.default_rng(0).permutation(len(items))]
    order = items[np.argsort(inverse[items], kind="stable")]
    return np.split(order, np.searchsorted(inverse[order], np.arange(1, p)))
