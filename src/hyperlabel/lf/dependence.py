"""Which LFs say the same thing twice: how often two vote alike, beyond what the class of an item explains."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64
from hyperlabel.lf.statistics import Counts
from hyperlabel.models.estimation.overlaps import sum_products
from hyperlabel.patterns import Patterns
from hyperlabel.votes.rows import Rows

_LEAST_SPREAD = 1e-6  # an LF whose votes vary less, given the class, has no correlation
_LEAST_CLASS = 1e-9  # items of a class, to avoid division by zero


def count_shared(patterns: Patterns) -> Counts:
    """On how many items both LFs of a pair vote. -> (m, m)."""
    return sum_products(patterns, patterns.lf, np.ones(len(patterns.lf)), patterns.n_lfs).astype(np.int64)


def count_agreements(patterns: Patterns) -> Counts:
    """On how many items both LFs of a pair vote for the same class. -> (m, m)."""
    total = np.zeros((patterns.n_lfs, patterns.n_lfs), np.int64)
    for part, lfs, column in _by_class(patterns):
        together = sum_products(part, column, np.ones(len(column)), len(lfs))
        total[np.ix_(lfs, lfs)] += together.astype(np.int64)
    return total


def count_compatible(patterns: Patterns) -> Counts:
    """On how many items both LFs of a pair vote, one of them for several classes, and a class is left. -> (m, m)."""
    m = patterns.n_lfs
    total = np.zeros((m, m), np.int64)
    if patterns.outcomes is None:
        return total
    supports, numbers = np.unique(patterns.outcomes.supported, axis=0, return_inverse=True)
    kind, single = numbers.reshape(-1)[patterns.vote], supports.sum(1) == 1
    for u in np.unique(kind[~single[kind]]).tolist():
        meets = (supports & supports[u]).any(1)
        meets[u] = True
        kept = meets[kind]
        place = np.where(kind == u, 0, np.where(single[kind], 1, 2))[kept]  # the same vote, one class, other classes
        part = patterns.with_rows(patterns.rows.keep(kept), patterns.counts)
        found = sum_products(part, place * m + part.lf, np.ones(len(part.lf)), 3 * m).astype(np.int64)
        total += found[:m].reshape(m, 3, m).sum(1) + found[m : 2 * m, :m]
    return total


def _by_class(patterns: Patterns) -> Iterator[tuple[Patterns, NDArray[np.intp], NDArray[np.intp]]]:
    """The votes for one class at a time, the LFs that cast them, and which of these cast each vote."""
    for c in _voted_classes(patterns):
        rows = patterns.rows.keep(patterns.vote == c)
        present = np.flatnonzero(np.diff(rows.starts))
        lfs, column = np.unique(rows.lf, return_inverse=True)
        filled = Rows(rows.starts[np.append(present, -1)], rows.lf, rows.vote)
        yield patterns.with_rows(filled, patterns.counts[present]), lfs, column


def _voted_classes(patterns: Patterns) -> list[int]:
    """The classes that LFs vote for: of many stated ones, few may occur."""
    return np.flatnonzero(patterns.rows.voted_classes(patterns.n_codes)[: patterns.n_classes]).tolist()


def correlate(patterns: Patterns, agreements: Counts, posterior: Float64) -> Float64:
    """Correlation of the votes of any two LFs given the class, from -1 to 1; NaN for an LF that never varies.

    From their (m, m) agreements and the (p, k) probabilities of the classes of patterns. -> (m, m).
    """
    beyond = agreements - _expect_agreements(patterns, posterior)
    spread = np.sqrt(np.maximum(beyond.diagonal(), 0))
    spread[spread < _LEAST_SPREAD] = np.nan
    correlation: Float64 = np.clip(beyond / spread / spread[:, None], -1, 1)
    return correlation


def _expect_agreements(patterns: Patterns, posterior: Float64) -> Float64:
    """On how many items two LFs would vote alike if they were independent given the class. -> (m, m)."""
    possible = posterior[:, posterior[patterns.has_votes].any(0)]  # (p, c) of classes that an item with votes may have
    items = patterns.counts @ possible  # (c,) items of each class
    total = np.zeros((patterns.n_lfs, patterns.n_lfs))
    for c in _voted_classes(patterns):
        kept = np.flatnonzero(patterns.vote == c)
        lfs, column = np.unique(patterns.lf[kept], return_inverse=True)
        class_counts = possible[patterns.row[kept]] * patterns.counts[patterns.row[kept], None]
        votes = np.stack([np.bincount(column, counts, len(lfs)) for counts in class_counts.T], 1)  # (lfs, c)
        scaled = votes / np.sqrt(np.maximum(items, _LEAST_CLASS))
        total[np.ix_(lfs, lfs)] += scaled @ scaled.T
    return total


def compare_votes(votes: Counts, agreements: Counts) -> Float64:
    """Jaccard index of any two LFs: votes they share, of all votes of either. (m,), (m, m) -> (m, m)."""
    together = votes[:, None] + votes - agreements
    index: Float64 = agreements / np.maximum(together, 1)
    return index
