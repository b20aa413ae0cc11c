"""Nodes, the pairs of an LF and a class it votes for, and what is known of them before any belief.

Written once for NumPy and torch. Several sets may stand side by side: q nodes of t sets, all of k classes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hyperlabel.networks.unrolled.backend import Array, Backend

TYPICAL = 100.0  # votes that an average LF counts as having cast, at most: synthetic sets rarely show more
ONE_CLASS = 0.999  # an LF votes for one class if at least this share of its votes is for it
FULL_SPREAD = 0.25  # share of an LF's votes for other than its main class from which on it counts as voting for all
RARITY = 0.5  # a vote for a class that is voted for often says less for it, by this power of the class's share

# Log-odds that the confusion form of evidence is trusted, before the learned correction.
TRUST_OF_ONE_CLASS, TRUST_OF_SEVERAL = -2.0, 2.0  # by how an LF spreads its votes
TRUST_OF_SIZE = 1.5  # more where items have many votes, by this much for each unit of log votes per item
FEW_VOTES = 0.9  # log of the votes per item at which this turns positive
LEAST_SIZE, MOST_SIZE = -2.0, 1.0  # beyond these units the number of votes says no more

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
    "log gold items": (0.0, 3.0),
    "gold share": (0.0, 1.0),
}
"""The features of a node, in the order of the learned weights: a feature less its center, over its scale, is of the
order of one. The first eleven are known before any belief; a share of 0 to 1 goes to -1 to 1."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes that occur, and how they are grouped. Counts are scaled, except where stated.

    Attributes:
        backend: The library of the arrays.
        k: Number of classes.
        lfs: Number of LFs of all sets; some may be silent.
        sets: Number of sets, t.
        lf: (q,) the LF of each node.
        vote: (q,) its class.
        of_set: (q,) its set.
        of_class: (q,) its class among those of all sets, `of_set * k + vote`.
        scale: (t,) what counts of items were multiplied by.
        n: (q,) items on which the node votes.
        total: (t,) votes.
        items: (t,) items with votes.
        gold: (q,) items whose class is known, not scaled.
        share: (q,) of the LF's votes.
        class_share: (q,) of all votes, those for the node's class.
        spread: (q,) 0 where the LF votes for one class, 1 where it votes for several alike.
        features: (q, 11) what is known before any belief, normalized.
    """

    backend: Backend
    k: int
    lfs: int
    sets: int
    lf: Array
    vote: Array
    of_set: Array
    of_class: Array
    scale: Array
    n: Array
    total: Array
    items: Array
    gold: Array
    share: Array
    class_share: Array
    spread: Array
    features: Array

    @property
    def rarity(self) -> Array:
        """What a vote says for its class: less for one voted for often, unless the LF votes for several. (q,)."""
        xp = self.backend.xp
        return xp.exp(-RARITY * (1 - self.spread) * xp.log(self.class_share * self.k))

    @property
    def trust(self) -> Array:
        """Log-odds that confusions are to be trusted, before the learned correction. (q,)."""
        xp = self.backend.xp
        size = xp.clip(xp.log(self.total / self.items) - FEW_VOTES, LEAST_SIZE, MOST_SIZE)
        by_spread = TRUST_OF_ONE_CLASS + (TRUST_OF_SEVERAL - TRUST_OF_ONE_CLASS) * self.spread
        return by_spread + TRUST_OF_SIZE * size[self.of_set]

    @property
    def gold_features(self) -> Array:
        """What is known of each node's gold items, normalized. (q, 2)."""
        xp = self.backend.xp
        share = self.scale[self.of_set] * self.gold / self.n
        return normalize(xp, {"log gold items": xp.log1p(self.gold), "gold share": share})

    def sum_by_set(self, values: Array) -> Array:
        """Sums over the nodes of each set. (q, ...) -> (t, ...)."""
        return self.backend.sum_groups(values, self.of_set, self.sets)

    def sum_by_lf(self, values: Array) -> Array:
        """Sums over the nodes of each LF. (q, ...) -> (lfs, ...)."""
        return self.backend.sum_groups(values, self.lf, self.lfs)

    def sum_by_class(self, values: Array) -> Array:
        """Sums over the nodes of each class of each set. (q, ...) -> (t * k, ...)."""
        return self.backend.sum_groups(values, self.of_class, self.sets * self.k)


def normalize(xp: Array, raw: Mapping[str, Array]) -> Array:
    """Features by name, less their centers and over their scales. (q,) each -> (q, features)."""
    return xp.stack([(column - CENTER_AND_SCALE[name][0]) / CENTER_AND_SCALE[name][1] for name, column in raw.items()], 1)


def find_scale(xp: Array, votes: Array, voting: Array) -> Array:
    """What counts are multiplied by: an average LF counts as having cast no more than `TYPICAL` votes. (t,).

    All votes enter, not those on distinct rows, so that the scale of a set is the same however it is cut to chunks.

    Args:
        xp: NumPy or torch.
        votes: (t,) votes on all items.
        voting: (t,) LFs that vote.
    """
    return xp.minimum(TYPICAL * voting, votes) / xp.clip(votes, 1, None)


def describe_nodes(
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
) -> Nodes:
    """What is known of nodes before any belief; counts given here are not scaled.

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
        gold: (q,) those of the items whose class is known.
    """
    xp, sets = backend.xp, len(items)
    of_class = of_set * k + vote
    votes = backend.sum_groups(n, of_set, sets)
    scale = find_scale(xp, votes, voting)
    n, items, total = n * scale[of_set], items * scale, votes * scale
    share = n / backend.sum_groups(n, lf, lfs)[lf]
    class_share = backend.sum_groups(n, of_class, sets * k)[of_class] / total[of_set]
    most = backend.max_groups(share, lf, lfs)[lf]
    coverage = xp.log(n / items[of_set])
    mean_coverage = backend.sum_groups(coverage, of_set, sets) / backend.sum_groups(xp.ones_like(n), of_set, sets)
    several = backend.sum_groups(n * (share < ONE_CLASS), of_set, sets) / total
    raw = {
        "log items": xp.log(n),
        "log coverage": coverage,
        "share of the LF's votes": share,
        "log class share over uniform": xp.log(class_share * k),
        "class share": class_share,
        "log votes per item": xp.log(total / items)[of_set],
        "log classes": xp.full_like(n, math.log(k)),
        "log LFs": xp.log(voting)[of_set],
        "log items of the set": xp.log(items)[of_set],
        "log coverage over the mean": coverage - mean_coverage[of_set],
        "votes of LFs of several classes": several[of_set],
    }
    return Nodes(
        backend=backend,
        k=k,
        lfs=lfs,
        sets=sets,
        lf=lf,
        vote=vote,
        of_set=of_set,
        of_class=of_class,
        scale=scale,
        n=n,
        total=total,
        items=items,
        gold=gold,
        share=share,
        class_share=class_share,
        spread=xp.clip((1 - most) / FULL_SPREAD, None, 1),
        features=normalize(xp, raw),
    )
