"""Sums over votes that generative label models share, on patterns with counts.

Such a model adds, for each vote, a vector of log-probabilities of the classes (its evidence), and counts, for
each LF and vote, how much of each class stood behind it. Both are sums over the e votes of the p patterns.
"""

import numpy as np
from numpy.typing import NDArray

from hyperlabel.patterns import Patterns

Floats = NDArray[np.float64]


class VoteSums:
    """The two sums, for one set of patterns.

    Args:
        patterns: The votes.

    Attributes:
        n_lfs: Number of LFs, m.
        n_classes: Number of classes, k.
        counts: (p,) how often each pattern occurs, as floats.
    """

    def __init__(self, patterns: Patterns) -> None:
        self.n_lfs, self.n_classes = patterns.n_lfs, patterns.n_classes
        self.counts: Floats = patterns.counts.astype(np.float64)
        self._row = patterns.row
        self._code = patterns.lf * patterns.n_classes + patterns.vote

    def add_evidence(self, table: Floats) -> Floats:
        """Sum over each pattern's votes of `table[lf, vote]`. (m, k, c) -> (p, c)."""
        flat = table.reshape(self.n_lfs * self.n_classes, -1)
        summed = np.empty((len(self.counts), flat.shape[1]))
        for c in range(flat.shape[1]):
            summed[:, c] = np.bincount(self._row, weights=flat[self._code, c], minlength=len(self.counts))
        return summed

    def count_votes(self, posterior: Floats) -> Floats:
        """Sum over items of the posterior behind each LF's each vote. (p, c) -> (m, k, c)."""
        weighted: Floats = posterior * self.counts[:, None]
        size = self.n_lfs * self.n_classes
        counted = np.empty((size, posterior.shape[1]))
        for c in range(posterior.shape[1]):
            counted[:, c] = np.bincount(self._code, weights=weighted[self._row, c], minlength=size)
        return counted.reshape(self.n_lfs, self.n_classes, -1)


def softmax(logits: Floats) -> Floats:
    """Probabilities from unnormalised log-probabilities, by rows. (p, k) -> (p, k)."""
    shifted = np.exp(logits - logits.max(1, keepdims=True))
    normalised: Floats = shifted / shifted.sum(1, keepdims=True)
    return normalised
