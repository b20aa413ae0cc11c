"""Nodes, the pairs of an LF and a class it votes for, and what is known about them before any belief.

Written once for NumPy and torch. Several sets may be side by side: q nodes of t sets, all of k classes.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from hyperlabel.networks.unrolled.backend import Array, Backend, NodeGroups

TYPICAL = 100.0  # an average LF counts as having cast at most this many votes: synthetic sets rarely have more
ONE_CLASS = 0.999  # an LF votes for one class if at least this share of its votes is for it
FULL_SPREAD = 0.25  # with this share of votes outside its main class, an LF counts as voting for all classes
LEAST_ITEMS = 1e-9  # avoids division by zero where an LF does not vote
RARITY = 0.5  # a vote for a class with many votes says less for it, by this power of the class's share

# Log-odds that the confusion form of evidence is trusted, before the learned correction.
TRUST_OF_ONE_CLASS, TRUST_OF_SEVERAL = -2.0, 2.0  # by how an LF spreads its votes
TRUST_OF_SIZE = 1.5  # more if items have many votes, by this much per unit of log votes per item
FEW_VOTES = 0.9  # log of the votes per item at which this turns positive
LEAST_SIZE, MOST_SIZE = -2.0, 1.0  # beyond these units the number of votes does not matter

# Sets with few votes per item by few LFs are thin: their confusions rest on one another, and votes say more.
THIN_VOTES = 0.7  # below this log of the votes per item, a set is fully thin; above FEW_VOTES it is not thin
THIN_LFS, ENOUGH_LFS = 2.3, 2.8  # up to this log of the LFs a set may be fully thin, and above that it is not thin
TRUST_OF_THIN = -4.0  # added to the log-odds that confusions are trusted
NARROW = 0.2  # next to LFs of several classes, an LF of one class says more the fewer items it votes on, by this power

CENTER_AND_SCALE: Mapping[str, tuple[float, float]] = {
    "log items": (4.5, 3.0),  # a node with a typical number of votes, as all logs of counts here, is about 0
    "log coverage": (-3.0, 2.0),
    "share of the LF's votes": (0.5, 0.5),
    "log class share over uniform": (0.0, 1.0),
    "class share": (0.5, 0.5),
    "log votes per item": (0.0, 1.0),
    "log classes": (1.0, 1.0),
    "log LFs": (3.0, 2.0),
    "log items of the set": (7.5, 3.0),
    "log coverage over the mean": (0.0, 1.0),
    "votes of LFs of several classes": (0.0, 1.0),
    "log-odds of precision": (0.0, 2.0),
    "log-odds of the class": (0.0, 2.0),
    "log-odds of precision over the class": (0.0, 2.0),
    "log recall": (0.0, 3.0),
    "accuracy of the LF": (0.5, 0.5),
    "log design effect": (0.0, 1.0),
    "log gold items": (0.0, 3.0),
    "gold share": (0.0, 1.0),
}
"""The features of a node, in the order of the learned weights: a feature minus its center, over its scale, is of the
order of 1. The first eleven are known before any belief; a share from 0 to 1 becomes -1 to 1."""

BEFORE_BELIEFS = 11


class Nodes:
    """The nodes that occur, how they are grouped, and what is known about them before any belief.

    Args:
        backend: The library of the arrays.
        k: Number of classes.
        lfs: Number of LFs of all sets.
        lf: (q,) the LF of each node.
        vote: (q,) its class.
        of_set: (q,) its set.
        n: (q,) items on which it votes.
        items: (t,) items with votes.
        voting: (t,) LFs that vote.
        gold: (q,) those of the items on which it votes whose class is known.

    Attributes:
        by_class: The nodes by set and class.
        by_lf: The nodes by LF.
        by_set: The nodes by set.
        own: (q,) the place of the node's own class in an array (q, k), one row after another.
        scale: (t,) the factor of counts of items.
        n: (q,) items on which the node votes; scaled, as all counts here.
        total: (t,) votes.
        items: (t,) items with votes.
        of_lf: (m,) votes of each LF; never 0, as it is divided by.
        share: (q,) of the votes of its LF, those of the node.
        spread: (m,) how far each LF votes for several classes, 0 to 1.
        lf_by_set: The LFs by set.
        rarity: (q,) what a vote says for its class: less if it has many votes, unless the LF votes for several and
            the set is not thin.
        trust: (q,) log-odds that confusions can be trusted, before the learned correction.
        features: (q, 11) what is known before any belief, normalized.
        gold_features: (q, 2) what is known about gold items, normalized.
        pools: Every node twice, first by its class, then by its LF.
        weight_in_pools: (2, q, 1) how much the node counts in a mean over the nodes of its class, and of its LF.
        weight_in_set: (q, 1) the same for its set.
    """

    def __init__(
        self,
        backend: Backend,
        k: int,
        lfs: int,
        *,
        lf: Array,
        vote: Array,
        of_set: Array,
        n: Array,
        items: Array,
        voting: Array,
        gold: Array,
    ) -> None:
        xp, sets = backend.xp, len(items)
        self.backend, self.k, self.vote, self.own = backend, k, vote, xp.arange(len(vote)) * k + vote
        self.by_set, self.by_class = backend.group(of_set, sets), backend.group(of_set * k + vote, sets * k)
        self.by_lf = backend.group(lf, lfs)
        self.lf_by_set = backend.group(self.by_lf.max(of_set) if sets > 1 else xp.zeros(lfs, dtype=xp.int64), sets)
        self._count(n, items, voting)
        self._describe(voting, gold)
        self._weigh(sets, lfs)

    def _count(self, n: Array, items: Array, voting: Array) -> None:
        """Set what is counted, scaled."""
        bound, of_set, votes = self.backend.bound, self.by_set.index, self.by_set.sum(n)
        self.scale = find_scale(self.backend.xp, votes, voting)
        self.n, self.items, self.total = n * self.scale[of_set], items * self.scale, votes * self.scale
        self.of_lf = bound(self.by_lf.sum(self.n), LEAST_ITEMS)
        self.share = self.n / self.of_lf[self.by_lf.index]
        self.spread = bound((1 - self.by_lf.max(self.share)) / FULL_SPREAD, 0, 1)

    def _describe(self, voting: Array, gold: Array) -> None:
        """Set features, rarity and trust."""
        xp, spread = self.backend.xp, self.spread[self.by_lf.index]
        raw = self._raw_features(voting)
        raw |= {"log gold items": xp.log1p(gold), "gold share": self.scale[self.by_set.index] * gold / self.n}
        features, thin = normalize(self.backend, raw), _thinness(self.backend, raw)
        self.features, self.gold_features = features[:, :BEFORE_BELIEFS], features[:, BEFORE_BELIEFS:]
        self.rarity = _rarity(xp, raw, spread, thin)
        self.trust = _trust(self.backend, raw, spread, thin)

    def _weigh(self, sets: int, lfs: int) -> None:
        """Set pools, and how much each node counts in them."""
        xp, to_learned, weight = self.backend.xp, self.backend.to_learned, self.backend.xp.sqrt(self.n)
        classes, twice = sets * self.k, xp.concatenate([weight, weight])
        index = xp.concatenate([self.by_class.index, classes + self.by_lf.index])
        self.pools = self.backend.group(index, classes + lfs)
        self.weight_in_pools = to_learned(twice / _total(twice, self.pools)).reshape(2, -1, 1)
        self.weight_in_set = to_learned(weight / _total(weight, self.by_set))[:, None]

    def _raw_features(self, voting: Array) -> dict[str, Array]:
        """What is known about each node before any belief, by name. (q,) each."""
        xp, n, of_set = self.backend.xp, self.n, self.by_set.index
        class_share = _total(n, self.by_class) / self.total[of_set]
        coverage = xp.log(n / self.items[of_set])
        mean_coverage = self.by_set.sum(coverage) / self.by_set.sum(xp.ones_like(n))
        several = self.by_set.sum(n * (self.share < ONE_CLASS)) / self.total
        return {
            "log items": xp.log(n),
            "log coverage": coverage,
            "share of the LF's votes": self.share,
            "log class share over uniform": xp.log(class_share * self.k),
            "class share": class_share,
            "log votes per item": xp.log(self.total / self.items)[of_set],
            "log classes": xp.full_like(n, math.log(self.k)),
            "log LFs": xp.log(voting)[of_set],
            "log items of the set": xp.log(self.items)[of_set],
            "log coverage over the mean": coverage - mean_coverage[of_set],
            "votes of LFs of several classes": several[of_set],
        }


def normalize(backend: Backend, raw: Mapping[str, Array]) -> Array:
    """Features by name, minus their centers, over their scales. (q,) each -> (q, features)."""
    centers, scales = _centers_and_scales(backend.to_array, tuple(raw))
    return backend.to_learned((backend.to_columns(list(raw.values())) - centers) / scales)


@cache
def _centers_and_scales(to_array: Callable[[Sequence[float]], Array], names: tuple[str, ...]) -> tuple[Array, Array]:
    centers, scales = zip(*(CENTER_AND_SCALE[name] for name in names), strict=True)
    return to_array(centers), to_array(scales)


def find_scale(xp: Array, votes: Array, voting: Array) -> Array:
    """The factor of counts: an average LF counts as having cast at most `TYPICAL` votes. (t,).

    All votes count, not only those on distinct rows, so that the scale of a set does not depend on the chunks.

    Args:
        xp: NumPy or torch.
        votes: (t,) votes on all items.
        voting: (t,) LFs that vote.
    """
    return xp.minimum(TYPICAL * voting, votes) / votes


def _thinness(backend: Backend, raw: Mapping[str, Array]) -> Array:
    """How thin the set of a node is, 0 to 1. (q,)."""
    votes = (FEW_VOTES - raw["log votes per item"]) / (FEW_VOTES - THIN_VOTES)
    lfs = (ENOUGH_LFS - raw["log LFs"]) / (ENOUGH_LFS - THIN_LFS)
    return backend.bound(votes, 0, 1) * backend.bound(lfs, 0, 1)


def _trust(backend: Backend, raw: Mapping[str, Array], spread: Array, thin: Array) -> Array:
    """Log-odds that confusions can be trusted, before the learned correction. (q,)."""
    by_spread = TRUST_OF_ONE_CLASS + (TRUST_OF_SEVERAL - TRUST_OF_ONE_CLASS) * spread
    by_size = TRUST_OF_SIZE * backend.bound(raw["log votes per item"] - FEW_VOTES, LEAST_SIZE, MOST_SIZE)
    return by_spread + by_size + TRUST_OF_THIN * thin


def _rarity(xp: Array, raw: Mapping[str, Array], spread: Array, thin: Array) -> Array:
    """What a vote of each node says for its class. (q,).

    On public sets the log-odds that a vote is right fall by about `NARROW` per unit of log coverage. In thin sets,
    where one LF of several classes votes on nearly everything, this decides whether it or a narrow rule is believed.
    """
    by_class = RARITY * (1 - spread * (1 - thin)) * raw["log class share over uniform"]
    by_coverage = NARROW * thin * (1 - spread) * raw["votes of LFs of several classes"] * raw["log coverage"]
    return xp.exp(-by_class - by_coverage)


def _total(values: Array, groups: NodeGroups) -> Array:
    """For each node the sum over its group. (q,) -> (q,)."""
    return groups.sum(values)[groups.index]
