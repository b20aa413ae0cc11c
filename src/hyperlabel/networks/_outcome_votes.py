"""Outcomes that are not one class, in a network that knows votes for classes.

The learned part sees an LF as the class votes that are closest to its outcomes: an outcome counts as a vote for the
class that it leans to most, and one that leans to several classes equally does not count. The evidence of each class
vote is then split among the outcomes behind it, by how often each occurs under each class.
"""

from dataclasses import dataclass

import numpy as np

from hyperlabel._core import Float64
from hyperlabel.data import Outcomes
from hyperlabel.networks._votes import Evidence, reading_type

SHRINK = 10.0  # imagined items per class on which an LF has its outcomes as these lean
SLOPE_PULL = 0.1  # how strongly a slope is drawn to 1


@dataclass(frozen=True, eq=False)
class OutcomeMap:
    """Maps codes of votes, k classes and s outcomes, to classes, and back."""

    outcomes: Outcomes
    n_lfs: int

    @property
    def nodes(self) -> Float64:
        """Classes that each node, an LF and a code of a vote, speaks for. (m * (k + s), k)."""
        k = self.outcomes.n_classes
        return np.tile(self.outcomes.table.astype(reading_type(k)), (self.n_lfs, 1))

    def to_classes(self, sums: Float64) -> Float64:
        """Turn sums of codes into sums of class votes. (m * (k + s), c) -> (m * k, c)."""
        k, by_lf = self.outcomes.n_classes, self._by_lf(sums)
        folded = by_lf[:, :k].copy()
        for s, c in enumerate(self.outcomes.main.tolist()):
            if c >= 0:
                folded[:, c] += by_lf[:, k + s]
        return folded.reshape(-1, sums.shape[1])

    def from_classes(self, table: Float64) -> Float64:
        """Spread a table of class votes over all codes; 0 for outcomes without one. (m * k, c) -> (m * (k + s), c)."""
        main, by_lf = self.outcomes.main, self._by_lf(table)
        of_outcomes = np.where(main[:, None] >= 0, by_lf[:, main], 0)
        return np.concatenate([by_lf, of_outcomes], 1).reshape(-1, table.shape[1])

    def to_codes(self, evidence: Evidence, cast: Float64, class_counts: Float64) -> Evidence:
        """Return the evidence of all codes, from that of class votes.

        Args:
            evidence: Of class votes, (m * k, k).
            cast: (m * k,) items on which each of these is cast.
            class_counts: (m * (k + s), k) items of each class on which a code is cast, as believed.
        """
        k = self.outcomes.n_classes
        own = evidence.complete(cast).table.reshape(-1, k, k)
        own = own - own.mean(2, keepdims=True)
        counts = self._by_lf(class_counts)
        table = np.concatenate([evidence.table.reshape(-1, k, k), self._split(own, counts)], 1)
        return evidence._replace(table=table.reshape(-1, k))

    def complete(self, evidence: Evidence, cast: Float64) -> Evidence:
        """Complete the evidence of the class votes among the codes: that of outcomes is complete."""
        k = self.outcomes.n_classes
        table = self._by_lf(evidence.table).copy()
        classes = evidence._replace(table=table[:, :k].reshape(-1, k))
        table[:, :k] = classes.complete(cast).table.reshape(-1, k, k)
        return evidence._replace(table=table.reshape(-1, k))

    def _by_lf(self, sums: Float64) -> Float64:
        return sums.reshape(self.n_lfs, -1, sums.shape[1])

    def _split(self, own: Float64, counts: Float64) -> Float64:
        """Split (m, k, k) evidence of class votes among the outcomes, by (m, k + s, k) counts. -> (m, s, k)."""
        outcomes, k = self.outcomes, self.outcomes.n_classes
        folded = self.to_classes(counts.reshape(-1, k)).reshape(-1, k, k)
        likelihoods = _likelihoods(own, folded.sum(2), counts.sum(1))
        says = np.log(np.maximum(np.einsum("sv,mvc->msc", outcomes.class_weights, likelihoods), 1e-300))
        says -= says.mean(2, keepdims=True)
        evidence = says.copy()
        slope = _slopes(own, folded)[:, None, None]
        for c in range(k):
            group = np.flatnonzero(outcomes.main == c)
            if len(group):
                evidence[:, group] = _split_class(own[:, c], says[:, group], counts[:, [c, *(k + group)]], slope)
        return self._order_levels(evidence, counts[:, k:].sum(2))

    def _order_levels(self, evidence: Float64, cast: Float64) -> Float64:
        """Make a higher level never say less for a later class. (m, s, k), (m, s) -> (m, s, k)."""
        for ladder in range(int(self.outcomes.ladder.max(initial=-1)) + 1):
            rungs = np.flatnonzero(self.outcomes.ladder == ladder)
            steps = np.diff(evidence[:, rungs], axis=2)  # (m, levels, k - 1)
            for j in np.flatnonzero(cast[:, rungs].any(1)).tolist():
                weights = cast[j, rungs] + 1e-6
                steps[j] = np.stack([isotonic_regression(steps[j, :, c], weights) for c in range(steps.shape[2])], 1)
            ordered = np.concatenate([np.zeros_like(steps[..., :1]), np.cumsum(steps, 2)], 2)
            evidence[:, rungs] = ordered - ordered.mean(2, keepdims=True)
        return evidence


def _split_class(own: Float64, says: Float64, counts: Float64, slope: Float64) -> Float64:
    """Return the evidence of outcomes that lean to one class: that of the class vote, and what each adds to it.

    Args:
        own: (m, k) evidence of the class vote.
        says: (m, g, k) evidence of the outcomes from their leaning alone.
        counts: (m, 1 + g, k) believed classes of the items of the class vote itself and of the outcomes.
        slope: (m, 1, 1) how much of a log-likelihood is evidence.
    """
    cast = counts.sum(2)
    share = (cast / np.maximum(cast.sum(1, keepdims=True), 1e-12))[..., None]  # (m, 1 + g, 1)
    expected = share * np.exp(np.concatenate([np.zeros_like(own)[:, None], says - own[:, None]], 1))
    expected /= np.maximum(expected.sum(1, keepdims=True), 1e-12)
    given_class = (counts + SHRINK * expected) / (counts.sum(1, keepdims=True) + SHRINK)
    added = np.log(np.maximum(given_class, 1e-12) / np.maximum(share, 1e-12))[:, 1:]
    added -= added.mean(2, keepdims=True)
    return np.where(cast[:, 1:, None] > 0, own[:, None] + slope * added, says)


def _likelihoods(own: Float64, cast: Float64, classes: Float64) -> Float64:
    """Return the probability of each class vote of an LF under each class, by its evidence and its share of the votes.

    A partial vote rarely means a class that the LF rarely votes for.

    Args:
        own: (m, k, k) evidence of class votes.
        cast: (m, k) how often each is cast.
        classes: (m, k) the believed classes of the items that each LF votes on.
    """
    shares, balance = (
        (each + each.sum(0) / max(each.sum(), 1e-12)) / (each.sum(1, keepdims=True) + 1) for each in (cast, classes)
    )
    odds = np.exp(own)
    expected = np.einsum("mvc,mc->mv", odds, np.maximum(balance, 1e-12))
    return np.asarray((np.maximum(shares, 1e-6) / expected)[:, :, None] * odds)


def _slopes(own: Float64, counts: Float64) -> Float64:
    """Return how much of the log-likelihoods from counts is evidence of class votes: about 1. (m, k, k) -> (m,)."""
    likelihood = np.log((counts + 0.5) / (counts.sum(1, keepdims=True) + 0.5 * counts.shape[1]))
    likelihood -= likelihood.mean(2, keepdims=True)
    weight = counts.sum(2, keepdims=True) / np.maximum(counts.sum((1, 2)), 1e-12)[:, None, None]
    slope = ((weight * own * likelihood).sum((1, 2)) + SLOPE_PULL) / ((weight * likelihood**2).sum((1, 2)) + SLOPE_PULL)
    return np.asarray(np.clip(slope, 0, 1.5))


def isotonic_regression(values: Float64, weights: Float64) -> Float64:
    """Return the closest non-decreasing values, by least squares: pools of neighbors that fall are averaged.

    >>> isotonic_regression(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4)).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    pools: list[list[float]] = []  # mean, weight, size
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        pools.append([value, weight, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, total, size = pools.pop()
            last = pools[-1]
            last[0] = (last[0] * last[1] + mean * total) / (last[1] + total)
            last[1], last[2] = last[1] + total, last[2] + size
    return np.repeat([pool[0] for pool in pools], [int(pool[2]) for pool in pools])
