"""Outcomes that are not one class, in a network that knows votes for classes.

The learned part sees an LF as the class votes that are closest to its outcomes: an outcome counts as a vote for the
class that it leans to most, and one that leans to several classes equally does not count. The evidence of each class
vote is then split among the outcomes behind it, by how often each occurs under each class.
"""

from dataclasses import dataclass

import numpy as np

from hyperlabel.kernels import Float64
from hyperlabel.networks.unrolled.evidence import Evidence, reading_type
from hyperlabel.networks.unrolled.state import complete
from hyperlabel.votes.outcomes import Outcomes

SHRINK = 10.0  # imagined items per class on which an LF has its outcomes as these lean
LEVELED = 0.1  # how strongly a slope is drawn to 1


@dataclass(frozen=True, eq=False)
class Fold:
    """From numbers of votes, k classes and s outcomes, to classes, and back.

    Attributes:
        outcomes: The outcomes.
        n_lfs: Number of LFs, m.
    """

    outcomes: Outcomes
    n_lfs: int

    @property
    def nodes(self) -> Float64:
        """What each node, an LF and a number of a vote, speaks for. (m * (k + s), k)."""
        k = self.outcomes.n_classes
        return np.tile(self.outcomes.table.astype(reading_type(k)), (self.n_lfs, 1))

    def to_classes(self, sums: Float64) -> Float64:
        """Sums of numbers of votes as sums of classes. (m * (k + s), c) -> (m * k, c)."""
        k, by_lf = self.outcomes.n_classes, self._by_lf(sums)
        folded = by_lf[:, :k].copy()
        for s, c in enumerate(self.outcomes.main.tolist()):
            if c >= 0:
                folded[:, c] += by_lf[:, k + s]
        return folded.reshape(-1, sums.shape[1])

    def from_classes(self, table: Float64) -> Float64:
        """What is known about class votes, for all numbers of votes; 0 for outcomes that do not count as one.

        (m * k, c) -> (m * (k + s), c).
        """
        main, by_lf = self.outcomes.main, self._by_lf(table)
        of_outcomes = np.where(main[:, None] >= 0, by_lf[:, main], 0)
        return np.concatenate([by_lf, of_outcomes], 1).reshape(-1, table.shape[1])

    def to_codes(self, evidence: Evidence, votes: Float64, class_counts: Float64) -> Evidence:
        """Evidence of all numbers of votes, from that of class votes.

        Args:
            evidence: Of class votes, (m * k, k).
            votes: (m * k,) items on which each of these is cast.
            class_counts: (m * (k + s), k) of the items on which a number is cast, those of each class, as believed.
        """
        k = self.outcomes.n_classes
        own = complete(evidence, votes).table.reshape(-1, k, k)
        own = own - own.mean(2, keepdims=True)
        counts = self._by_lf(class_counts)
        table = np.concatenate([evidence.table.reshape(-1, k, k), self._split(own, counts)], 1)
        return evidence._replace(table=table.reshape(-1, k))

    def complete(self, evidence: Evidence, votes: Float64) -> Evidence:
        """Like `complete`, for the class votes among the nodes: outcomes are already complete."""
        k = self.outcomes.n_classes
        table = self._by_lf(evidence.table).copy()
        classes = evidence._replace(table=table[:, :k].reshape(-1, k))
        table[:, :k] = complete(classes, votes).table.reshape(-1, k, k)
        return evidence._replace(table=table.reshape(-1, k))

    def _by_lf(self, sums: Float64) -> Float64:
        return sums.reshape(self.n_lfs, -1, sums.shape[1])

    def _split(self, own: Float64, counts: Float64) -> Float64:
        """Evidence of the outcomes, from (m, k, k) that of class votes and (m, k + s, k) counts. -> (m, s, k)."""
        outcomes, k = self.outcomes, self.outcomes.n_classes
        folded = self.to_classes(counts.reshape(-1, k)).reshape(-1, k, k)
        meant = _likelihoods(own, folded.sum(2), counts.sum(1))
        says = np.log(np.maximum(np.einsum("sv,mvc->msc", outcomes.leaning, meant), 1e-300))
        says -= says.mean(2, keepdims=True)
        found = says.copy()
        slope = _slopes(own, folded)[:, None, None]
        for c in range(k):
            group = np.flatnonzero(outcomes.main == c)
            if len(group):
                found[:, group] = self._within(own[:, c], says[:, group], counts[:, [c, *(k + group)]], slope)
        return self._in_order(found, counts[:, k:].sum(2))

    def _within(self, own: Float64, says: Float64, counts: Float64, slope: Float64) -> Float64:
        """Evidence of outcomes that lean to one class: that of the class vote, and what each adds to it.

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

    def _in_order(self, evidence: Float64, cast: Float64) -> Float64:
        """Evidence in which a higher level never says less for a later class. (m, s, k), (m, s) -> (m, s, k)."""
        for ladder in range(int(self.outcomes.ladder.max(initial=-1)) + 1):
            rungs = np.flatnonzero(self.outcomes.ladder == ladder)
            steps = np.diff(evidence[:, rungs], axis=2)  # (m, levels, k - 1)
            for j in np.flatnonzero(cast[:, rungs].any(1)).tolist():
                weights = cast[j, rungs] + 1e-6
                steps[j] = np.stack([rise(steps[j, :, c], weights) for c in range(steps.shape[2])], 1)
            ordered = np.concatenate([np.zeros_like(steps[..., :1]), np.cumsum(steps, 2)], 2)
            evidence[:, rungs] = ordered - ordered.mean(2, keepdims=True)
        return evidence


def _likelihoods(own: Float64, cast: Float64, classes: Float64) -> Float64:
    """How probable each class vote of an LF is under each class, by its evidence and by how often it is cast.

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
    """How much of the log-likelihoods from counts is evidence of class votes: about 1. (m, k, k) -> (m,)."""
    likelihood = np.log((counts + 0.5) / (counts.sum(1, keepdims=True) + 0.5 * counts.shape[1]))
    likelihood -= likelihood.mean(2, keepdims=True)
    weight = counts.sum(2, keepdims=True) / np.maximum(counts.sum((1, 2)), 1e-12)[:, None, None]
    slope = ((weight * own * likelihood).sum((1, 2)) + LEVELED) / ((weight * likelihood**2).sum((1, 2)) + LEVELED)
    return np.asarray(np.clip(slope, 0, 1.5))


def rise(values: Float64, weights: Float64) -> Float64:
    """The closest non-decreasing values, by least squares: pools of neighbors that fall are averaged. (s,) -> (s,).

    >>> rise(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4)).tolist()
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
