"""Nodes, the pairs of an LF and a class it votes for, and what is known about them before any belief.

Written once for NumPy and torch. Several sets may be side by side: q nodes of t sets, all of k classes.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from hyperlabel.networks.unrolled.backend import Array, Backend, Groups

TYPICAL = 100.0  # an average LF counts as having cast at most this many votes: synthetic sets rarely have more
ONE_CLASS = 0.999  # an LF votes for one class if at least this share of its votes is for it
FULL_SPREAD = 0.25  # with this share of votes outside its main class, an LF counts as voting for all classes
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


class Nodes(NamedTuple):
    """The nodes that occur, and how they are grouped. Counts are scaled.

    Attributes:
        backend: The library of the arrays.
        k: Number of classes.
        vote: (q,) the class of each node.
        by_class: The nodes by set and class.
        by_lf: The nodes by LF.
        by_set: The nodes by set.
        own: (q,) the place of the node's own class in an array (q, k), one row after another.
        scale: (t,) the factor of counts of items.
        n: (q,) items on which the node votes.
        total: (t,) votes.
        items: (t,) items with votes.
        of_lf: (q,) votes of the LF.
        share: (q,) of these, those of the node.
        spread: (m,) how far each LF votes for several classes, 0 to 1.
        lf_by_set: The LFs by set.
        rarity: (q,) what a vote says for its class: less if it has many votes, unless the LF votes for several and
            the set is not thin.
        trust: (q,) log-odds that confusions can be trusted, before the learned correction.
        features: (q, 11) what is known before any belief, normalized.
        gold_features: (q, 2) what is known about gold items, normalized.
        weight_in_class: (q, 1) how much the node counts in a mean over the nodes of its class.
        weight_in_lf: (q, 1) the same for its LF.
        weight_in_set: (q, 1) the same for its set.
    """

    backend: Backend
    k: int
    vote: Array
    by_class: Groups
    by_lf: Groups
    by_set: Groups
    own: Array
    scale: Array
    n: Array
    total: Array
    items: Array
    of_lf: Array
    share: Array
    spread: Array
    lf_by_set: Groups
    rarity: Array
    trust: Array
    features: Array
    gold_features: Array
    weight_in_class: Array
    weight_in_lf: Array
    weight_in_set: Array


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
    """What is known about nodes before any belief; counts given here are not scaled.

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
    """
    xp, sets = backend.xp, len(items)
    by_set, by_class = backend.group(of_set, sets), backend.group(of_set * k + vote, sets * k)
    by_lf = backend.group(lf, lfs)
    votes = by_set.sum(n)
    scale = find_scale(xp, votes, voting)
    n, items, total = n * scale[of_set], items * scale, votes * scale
    of_lf = _total(n, by_lf)
    share, class_share = n / of_lf, _total(n, by_class) / total[of_set]
    spread = backend.bound((1 - by_lf.max(share)) / FULL_SPREAD, 0, 1)
    raw = _raw_features(xp, k, by_set, n, share, class_share, items, total, voting)
    raw |= {"log gold items": xp.log1p(gold), "gold share": scale[of_set] * gold / n}
    features = normalize(backend, raw)
    thin = _thinness(backend, raw)
    weight = xp.sqrt(n)
    in_class, in_lf, in_set = (
        backend.to_learned(weight / _total(weight, groups))[:, None] for groups in (by_class, by_lf, by_set)
    )
    return Nodes(
        backend=backend,
        k=k,
        vote=vote,
        by_class=by_class,
        by_lf=by_lf,
        by_set=by_set,
        own=xp.arange(len(vote)) * k + vote,
        scale=scale,
        n=n,
        total=total,
        items=items,
        of_lf=of_lf,
        share=share,
        spread=spread,
        lf_by_set=backend.group(by_lf.max(of_set) if sets > 1 else xp.zeros(lfs, dtype=xp.int64), sets),
        rarity=_rarity(xp, raw, spread[lf], thin),
        trust=_trust(backend, raw, spread[lf], thin),
        features=features[:, :BEFORE_BELIEFS],
        gold_features=features[:, BEFORE_BELIEFS:],
        weight_in_class=in_class,
        weight_in_lf=in_lf,
        weight_in_set=in_set,
    )


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


def _total(values: Array, groups: Groups) -> Array:
    """For each node the sum over its group. (q,) -> (q,)."""
    return groups.sum(values)[groups.index]


def _raw_features(
    xp: Array,
    k: int,
    by_set: Groups,
    n: Array,
    share: Array,
    class_share: Array,
    items: Array,
    total: Array,
    voting: Array,
) -> dict[str, Array]:
    """What is known about each node before any belief, by name. (q,) each; see `describe_nodes`, counts are scaled."""
    of_set = by_set.index
    coverage = xp.log(n / items[of_set])
    mean_coverage = by_set.sum(coverage) / by_set.sum(xp.ones_like(n))
    several = by_set.sum(n * (share < ONE_CLASS)) / total
    return {
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
