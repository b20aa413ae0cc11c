"""Sums over votes that generative label models share, on patterns with counts.

Such a model adds, for each vote, a vector of log-probabilities of the classes (its evidence), and counts, for
each LF and vote, the items of each class on which it was cast. Both are sums over the e votes of the p patterns.
"""

import numpy as np

from hyperlabel.kernels import Float64
from hyperlabel.patterns import Patterns

DENSE = 1 << 15  # entries of a table of votes that stays in the cache and whose products BLAS does in one thread


class VoteSums:
    """The two sums, for one set of patterns.

    Few patterns are held as a table of zeros and ones, and each sum is one matrix product; many are summed vote by
    vote.

    Args:
        patterns: The votes.

    Attributes:
        n_lfs: Number of LFs, m.
        n_codes: Number of possible votes: k classes, or more.
        counts: (p,) how often each pattern occurs, as floats.
    """

    def __init__(self, patterns: Patterns) -> None:
        self.n_lfs, self.n_codes = patterns.n_lfs, patterns.n_codes
        self.counts: Float64 = patterns.counts.astype(np.float64)
        self._row = patterns.row
        self._code = patterns.lf * patterns.n_codes + patterns.vote
        shape = patterns.n_patterns, patterns.n_lfs * patterns.n_codes
        self._is_dense = shape[0] * shape[1] <= DENSE
        if self._is_dense:
            self._casts = np.zeros(shape)
            self._casts[self._row, self._code] = 1
            self._is_cast: Float64 = np.ascontiguousarray(self._casts.T * self.counts)  # (mk, p)

    def add_evidence(self, table: Float64) -> Float64:
        """Sum over each pattern's votes of `table[lf, vote]`, which is finite. (m, k, c) -> (p, c)."""
        flat = table.reshape(self.n_lfs * self.n_codes, table.shape[2])
        if self._is_dense:
            return self._casts @ flat
        summed = np.empty((len(self.counts), flat.shape[1]))
        for c in range(flat.shape[1]):
            summed[:, c] = np.bincount(self._row, weights=flat[self._code, c], minlength=len(self.counts))
        return summed

    def count_votes(self, posterior: Float64) -> Float64:
        """Sums of class probabilities over the items of each vote of each LF. (p, c) -> (m, k, c)."""
        shape = self.n_lfs, self.n_codes, posterior.shape[1]
        if self._is_dense:
            return (self._is_cast @ posterior).reshape(shape)
        weighted: Float64 = posterior * self.counts[:, None]
        counted = np.empty((self.n_lfs * self.n_codes, posterior.shape[1]))
        for c in range(posterior.shape[1]):
            counted[:, c] = np.bincount(self._code, weights=weighted[self._row, c], minlength=len(counted))
        return counted.reshape(shape)
