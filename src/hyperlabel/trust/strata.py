"""Strata of confidence: groups of items that are sampled separately."""

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_number
from hyperlabel.labels import Labels
from hyperlabel.votes.levels import middle_ranks

MOST_STRATA = 10


def check_strata(strata: object) -> None:
    """Refuse an impossible number of strata."""
    check_number(strata, "strata", f"a whole number from 1 to {MOST_STRATA}", least=1, most=MOST_STRATA, whole=True)


def strata_of(labels: Labels, strata: int) -> NDArray[np.int64]:
    """The stratum of each item: 0 for the surest labels, and so on; items without a label come last. -> (n,).

    Strata have about the same size; labels of the same confidence are in the same. The same labels always give the
    same strata, so that a sample's strata need not be kept. One stratum holds all items, even those without a label.
    """
    check_strata(strata)
    stratum = np.zeros(len(labels), np.int64)
    if strata == 1:
        return stratum
    labeled = labels.best >= 0
    place = middle_ranks(-labels.confidence[labeled])
    stratum[labeled] = np.minimum(place * strata / max(1, labeled.sum()), strata - 1)
    stratum[~labeled] = strata
    return np.unique(stratum, return_inverse=True)[1]  # without empty strata


def share_out(n: int, sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """How many items each stratum gives: two, and half as many per item as the stratum before. (h,) -> (h,)."""
    takes: NDArray[np.int64] = np.minimum(sizes, 2 if 2 * len(sizes) <= n else 0).astype(np.int64)
    weights = sizes * 0.5 ** np.arange(len(sizes))
    while takes.sum() < n:  # a stratum that is drawn completely leaves the rest to the others
        left = sizes - takes
        wanted = (n - takes.sum()) * weights * (left > 0) / (weights * (left > 0)).sum()
        more = np.minimum(np.floor(wanted).astype(np.int64), left)
        if not more.any():
            more[np.flatnonzero(left)[np.argmax(wanted[left > 0])]] = 1
        takes += more
    return takes
