"""Strata of confidence: groups of items that are sampled separately."""

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import ParameterError
from hyperlabel.labels import Labels

MOST_STRATA = 10


def strata_of(labels: Labels, strata: int) -> NDArray[np.int64]:
    """The stratum of each item: 0 for the surest labels, and so on; items without a label come last. -> (n,).

    Strata have about as many items each; labels of the same confidence are in the same. The same labels always give the
    same strata, so that a sample's strata need not be kept. One stratum holds all items, those without a label too.
    """
    if not isinstance(strata, int | np.integer) or not 1 <= strata <= MOST_STRATA:
        raise ParameterError(f"strata is {strata!r}; expected a whole number from 1 to {MOST_STRATA}")
    stratum = np.zeros(len(labels), np.int64)
    if strata == 1:
        return stratum
    labeled = labels.best >= 0
    _, level, counts = np.unique(-labels.confidence[labeled], return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2  # where a level's items are, among all
    stratum[labeled] = np.minimum(middle * strata / max(1, labeled.sum()), strata - 1).astype(np.int64)[level]
    stratum[~labeled] = strata
    return np.unique(stratum, return_inverse=True)[1]  # without those that no item is in
