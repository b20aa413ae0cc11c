"""One step of the unrolled network: from beliefs about the items to the evidence of every node.

A *node* is an LF and a class it votes for. Everything here is written once, for arrays of NumPy and of torch, and for
several sets side by side: q nodes of t sets, all of k classes.

Evidence mixes two forms, by how much an LF votes for several classes. *Own*: a vote speaks only for its class, less
for a class with many votes. *Confusion*: the log-likelihood of the vote given each class, by the LF's confusion
counts, shrunk toward those of all LFs, as in Dawid-Skene. A small learned network, shared by all nodes, corrects both.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from hyperlabel.networks._backend import Array, Backend, LinearLayers, NodeGroups, logit, sigmoid, silu

# Counts.
TYPICAL = 100.0  # an average LF counts as having cast at most this many votes: synthetic sets rarely have more
ONE_CLASS = 0.999  # an LF votes for one class if at least this share of its votes is for it
FULL_SPREAD = 0.25  # with this share of votes outside its main class, an LF counts as voting for all classes
LEAST_ITEMS = 1e-9  # avoids division by zero where an LF does not vote, or a class has no items
ONE_ITEM = 1.0  # imagined items: of each class in the class balance, and of each node in its precision
HALF_ITEM = 0.5  # imagined items: in the recall of a node, and of each class in the confusions of all LFs
SKILL_ITEMS = 2.0  # imagined items on which an LF votes like all LFs
LEAST_PRECISION = 1e-4  # precisions stay this far from 0 and 1, so that their log-odds are finite
LEAST_RECALL, MOST_RECALL = 1e-4, 10.0  # recalls of rare classes may exceed 1: beliefs and votes need not agree
LEAST_ACCURACY, MOST_ACCURACY = 1e-4, 1 - 1e-4  # so that odds are finite and not 0

# The own form.
RARITY = 0.5  # a vote for a class with many votes says less for it, by this power of the class's share
NARROW = 0.2  # next to LFs of several classes, an LF of one class says more the fewer items it votes on, by this power
PLAIN_BALANCE = 0.15  # share of the log class balance that goes with evidence of this form

# Log-odds that the confusion form is trusted, before the learned correction.
TRUST_OF_ONE_CLASS, TRUST_OF_SEVERAL = -2.0, 2.0  # by how an LF spreads its votes
TRUST_OF_SIZE = 1.5  # more if items have many votes, by this much per unit of log votes per item
FEW_VOTES = 0.9  # log of the votes per item at which this turns positive
LEAST_SIZE, MOST_SIZE = -2.0, 1.0  # beyond these units the number of votes does not matter

# Sets with few votes per item by few LFs are thin: their confusions rest on one another, and votes say more.
THIN_VOTES = 0.7  # below this log of the votes per item, a set is fully thin; above FEW_VOTES it is not thin
THIN_LFS, ENOUGH_LFS = 2.3, 2.8  # up to this log of the LFs a set may be fully thin, and above that it is not thin
TRUST_OF_THIN = -4.0  # added to the log-odds that confusions are trusted

# Start of the learned corrections; with these alone the confusion form is a Dawid-Skene step.
SHRINK = 3.0  # log of the imagined items that shrink an LF's confusions
MIX = 1.0  # log-odds that these items are as its skill and bias say, not as its own votes
STRENGTH = 0.3  # softplus of it multiplies the evidence of the confusion form
TRUSTED_STRENGTH = 0.8  # added to it where confusions are trusted
POWER = -0.4  # how the evidence of the confusion form changes with the number of votes on an item: they overlap
GOLD = 0.7  # log of how many gold items a belief counts as

DESIGN = 0.25  # evidence is divided by this power of the design effect
ONE_VARIANCE = 1.0  # imagined on both sides of the design effect: evidence that hardly varies says nothing

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
        lf, vote, of_set: (q,) the LF, class and set of each node.
        n: (q,) items on which it votes.
        items: (t,) items with votes.
        voting: (t,) LFs that vote.
        gold: (q,) items on which it votes whose class is known.

    Attributes:
        by_class, by_lf, by_set: The nodes by set and class, by LF, and by set.
        lf_by_set: The LFs by set.
        own: (q,) index of the node's own class in a flat array (q, k).
        scale: (t,) factor of counts of items: an average LF counts as having cast at most `TYPICAL` votes. All votes
            count, not only those on distinct rows, so that the scale does not depend on the chunks.
        n: (q,) items on which the node votes; scaled, as all counts here.
        total: (t,) votes.
        items: (t,) items with votes.
        of_lf: (m,) votes of each LF; never 0, as it is divided by.
        share: (q,) share of the node in the votes of its LF.
        spread: (m,) how far each LF votes for several classes, 0 to 1.
        rarity: (q,) evidence of the own form; see `_weigh_forms`.
        trust: (q,) log-odds that confusions can be trusted, before the learned correction.
        features: (q, 11) normalized features that are known before any belief.
        gold_features: (q, 2) normalized features of gold items.
        pools: Every node twice, first by its class, then by its LF.
        weight_in_pools: (2, q, 1) weight of the node in a mean over the nodes of its class, and of its LF.
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
        xp, bound, sets = backend.xp, backend.bound, len(items)
        self.backend, self.k, self.vote, self.own = backend, k, vote, xp.arange(len(vote)) * k + vote
        self.by_set, self.by_class = backend.group(of_set, sets), backend.group(of_set * k + vote, sets * k)
        self.by_lf = backend.group(lf, lfs)
        self.lf_by_set = backend.group(self.by_lf.max(of_set) if sets > 1 else xp.zeros(lfs, dtype=xp.int64), sets)
        votes = self.by_set.sum(n)
        self.scale = xp.minimum(TYPICAL * voting, votes) / votes
        self.n, self.items, self.total = n * self.scale[of_set], items * self.scale, votes * self.scale
        self.of_lf = bound(self.by_lf.sum(self.n), LEAST_ITEMS)
        self.share = self.n / self.of_lf[lf]
        self.spread = bound((1 - self.by_lf.max(self.share)) / FULL_SPREAD, 0, 1)
        raw = self._raw_features(voting)
        raw |= {"log gold items": xp.log1p(gold), "gold share": self.scale[of_set] * gold / self.n}
        features = normalize(backend, raw)
        self.features, self.gold_features = features[:, :BEFORE_BELIEFS], features[:, BEFORE_BELIEFS:]
        self.rarity, self.trust = _weigh_forms(backend, raw, self.spread[lf])
        self._weigh_in_pools(sets, lfs)

    def _raw_features(self, voting: Array) -> dict[str, Array]:
        """Return the features of each node that are known before any belief, by name. (q,) each."""
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

    def _weigh_in_pools(self, sets: int, lfs: int) -> None:
        """Set the pools, and the weight of each node in them."""
        xp, to_learned, weight = self.backend.xp, self.backend.to_learned, self.backend.xp.sqrt(self.n)
        classes, twice = sets * self.k, xp.concatenate([weight, weight])
        index = xp.concatenate([self.by_class.index, classes + self.by_lf.index])
        self.pools = self.backend.group(index, classes + lfs)
        self.weight_in_pools = to_learned(twice / _total(twice, self.pools)).reshape(2, -1, 1)
        self.weight_in_set = to_learned(weight / _total(weight, self.by_set))[:, None]


def normalize(backend: Backend, raw: Mapping[str, Array]) -> Array:
    """Return features by name, minus their centers, over their scales. (q,) each -> (q, features)."""
    centers, scales = _centers_and_scales(backend.to_array, tuple(raw))
    return backend.to_learned((backend.to_columns(list(raw.values())) - centers) / scales)


@cache
def _centers_and_scales(to_array: Callable[[Sequence[float]], Array], names: tuple[str, ...]) -> tuple[Array, Array]:
    centers, scales = zip(*(CENTER_AND_SCALE[name] for name in names), strict=True)
    return to_array(centers), to_array(scales)


def _weigh_forms(backend: Backend, raw: Mapping[str, Array], spread: Array) -> tuple[Array, Array]:
    """Return the evidence of the own form and the log-odds that confusions are trusted. (q,) each.

    A vote says less for a class with many votes, unless its LF votes for several classes and the set is not thin. On
    public sets the log-odds that a vote is right fall by about `NARROW` per unit of log coverage. In thin sets, where
    one LF of several classes votes on nearly everything, this decides whether it or a narrow rule is believed.
    """
    bound, log_votes = backend.bound, raw["log votes per item"]
    few_votes = bound((FEW_VOTES - log_votes) / (FEW_VOTES - THIN_VOTES), 0, 1)
    thin = few_votes * bound((ENOUGH_LFS - raw["log LFs"]) / (ENOUGH_LFS - THIN_LFS), 0, 1)
    by_class = RARITY * (1 - spread * (1 - thin)) * raw["log class share over uniform"]
    by_coverage = NARROW * thin * (1 - spread) * raw["votes of LFs of several classes"] * raw["log coverage"]
    by_spread = TRUST_OF_ONE_CLASS + (TRUST_OF_SEVERAL - TRUST_OF_ONE_CLASS) * spread
    by_size = TRUST_OF_SIZE * bound(log_votes - FEW_VOTES, LEAST_SIZE, MOST_SIZE)
    return backend.xp.exp(-by_class - by_coverage), by_spread + by_size + TRUST_OF_THIN * thin


def _total(values: Array, groups: NodeGroups) -> Array:
    """Return for each node the sum over its group. (q,) -> (q,)."""
    return groups.sum(values)[groups.index]


class Step(NamedTuple):
    """The result of a step: everything that the logits of a row need, for t sets of q nodes."""

    evidence: Array  # (q, k) of one vote of each node for each class
    bias: Array  # (t, k) logits of a row before its votes
    scale: Array  # (t,) the factor of evidence on a row with one vote
    power: Array  # (t,) how the factor changes with the number of votes: `scale * size ** power`
    gold_weight: Array  # (t,) how many gold items the belief about a row counts as
    trusted: Array  # (t,) how far confusions are trusted, 0 to 1


def advance(
    linear: LinearLayers, nodes: Nodes, class_counts: Array, class_totals: Array, design: Array, *, last: bool
) -> Step:
    """Take one step.

    At the same precision, a vote among k classes says log(k - 1) more against each of the others than one among two.
    The own form does not know that; so its last step is scaled up by as much. Labels do not depend on it, probabilities
    do. All of the log class balance goes with the confusion form for two classes, as in Dawid-Skene; less for many,
    where beliefs confuse frequent classes with similar ones more, and each step would make the frequent ones more
    frequent.

    Args:
        linear: The learned layers of the step.
        nodes: The nodes.
        class_counts: (q, k) items of each class on which a node votes, as believed; scaled.
        class_totals: (t, k) items of each class, as believed; scaled.
        design: (t,) log of the design effect of the evidence before; 0 where it is not known.
        last: Whether it is the last step.
    """
    xp, k = nodes.backend.xp, nodes.k
    items = class_totals + ONE_ITEM
    balance = items / items.sum(1)[:, None]
    own = class_counts.take(nodes.own)  # (q,)
    right = nodes.by_lf.sum(own)  # (m,)
    features = [nodes.features, _believed_features(nodes, own, right, balance, design), nodes.gold_features]
    of_node, of_set = _correct(linear, nodes, xp.concatenate(features, 1))
    shrink, mix, strength, trust = of_node.T
    loud, power, gold_weight = of_set.T
    gate = sigmoid(xp, nodes.trust + trust)
    trusted = nodes.by_set.sum(nodes.n * gate) / nodes.total  # (t,)
    loudness = 1 + (1 - trusted) * math.log(max(k - 1, 1)) if last else 1.0
    strength = strength + STRENGTH + (TRUSTED_STRENGTH * trusted)[nodes.by_set.index]
    strength = gate * xp.logaddexp(strength, xp.zeros(1))  # softplus
    share = PLAIN_BALANCE + (1 / math.log2(max(k, 2)) - PLAIN_BALANCE) * trusted
    evidence = _weigh_confusions(nodes, class_counts, right, shrink, mix, strength)
    evidence.reshape(-1)[nodes.own] += (1 - gate) * nodes.rarity
    return Step(
        evidence=evidence,
        bias=(loudness * share)[:, None] * xp.log(balance),
        scale=loudness * xp.exp(-DESIGN * design) * xp.exp(loud),
        power=power + POWER * trusted,
        gold_weight=xp.exp(gold_weight + GOLD),
        trusted=trusted,
    )


def _believed_features(nodes: Nodes, own: Array, right: Array, balance: Array, design: Array) -> Array:
    """Return the features that depend on beliefs, from (q,) right votes of nodes and (m,) of LFs. (q, 6)."""
    xp, bound = nodes.backend.xp, nodes.backend.bound
    of_class = balance.reshape(-1)[nodes.by_class.index]
    precision = (own + of_class) / (nodes.n + ONE_ITEM)  # with one imagined item of the class's share
    recall = (own + HALF_ITEM) / (nodes.items[nodes.by_set.index] * of_class + HALF_ITEM)
    logit_precision = logit(xp, bound(precision, LEAST_PRECISION, 1 - LEAST_PRECISION))
    logit_class = logit(xp, of_class)
    raw = {
        "log-odds of precision": logit_precision,
        "log-odds of the class": logit_class,
        "log-odds of precision over the class": logit_precision - logit_class,
        "log recall": xp.log(bound(recall, LEAST_RECALL, MOST_RECALL)),
        "accuracy of the LF": (right / nodes.of_lf)[nodes.by_lf.index],
        "log design effect": design[nodes.by_set.index],
    }
    return normalize(nodes.backend, raw)


def _correct(linear: LinearLayers, nodes: Nodes, features: Array) -> tuple[Array, Array]:
    """Apply the learned network: four corrections per node and three per set. (q, 19) -> (q, 4), (t, 3)."""
    xp = nodes.backend.xp
    hidden = silu(xp, linear("node1", silu(xp, linear("node0", features))))
    pooled = nodes.pools.sum((nodes.weight_in_pools * hidden).reshape(-1, hidden.shape[1]))
    of_class, of_lf = nodes.pools.of(pooled).reshape(2, *hidden.shape)
    of_all = nodes.by_set.sum(nodes.weight_in_set * hidden)
    context = xp.concatenate([hidden, of_class, of_lf, nodes.by_set.of(of_all)], 1)
    of_node = linear("evidence", silu(xp, linear("pooled", context)))
    return of_node, linear("set1", silu(xp, linear("set0", of_all)))


def _weigh_confusions(
    nodes: Nodes, class_counts: Array, right: Array, shrink: Array, mix: Array, strength: Array
) -> Array:
    """Return the evidence of the confusion form: log-likelihoods of votes, minus their means over the classes. (q, k).

    An LF has few counts, so they are shrunk: toward what is expected from an LF of its skill and bias, and toward its
    own votes whatever the class.

    Args:
        nodes: The nodes.
        class_counts: (q, k) items of each class on which a node votes.
        right: (m,) right votes of each LF, as believed.
        shrink: (q,) learned; log of the imagined items, beyond `SHRINK`.
        mix: (q,) learned; log-odds that these are as skill and bias say, beyond `MIX`.
        strength: (q,) factor of the evidence.
    """
    xp, k, of = nodes.backend.xp, nodes.k, nodes.by_lf.of
    lf_counts = nodes.by_lf.sum(class_counts)  # (m, k)
    skilled, bias, total = _expect_votes(nodes, class_counts, lf_counts, right)
    items, mix = xp.exp(shrink + SHRINK), sigmoid(xp, mix + MIX)
    biased, plain = (items * (mix * bias))[:, None], (items * ((1 - mix) * nodes.share))[:, None]
    items = items[:, None]

    def weigh(block: slice) -> Array:
        imagined = skilled[block] * biased[block] / of(total, block) + plain[block]
        likelihood = xp.log((class_counts[block] + imagined) / (of(lf_counts, block) + items[block]))
        return strength[block, None] * (likelihood - likelihood.sum(1)[:, None] / k)

    return nodes.backend.by_blocks(weigh, len(nodes.vote), k)


def _expect_votes(nodes: Nodes, class_counts: Array, lf_counts: Array, right: Array) -> tuple[Array, Array, Array]:
    """Return how often an LF of its skill and bias casts a vote, by the class of the item, as three factors.

    An LF of some skill is right more often, or less, than all LFs together would be on the same items, by the same
    log-odds in each class; one of some bias votes for some classes more often, whatever the class of the item. Both are
    measured with two imagined items on which the LF votes like all LFs. Votes that an LF never casts are not nodes, but
    have a share: what the others leave.

    Args:
        nodes: The nodes.
        class_counts: (q, k) items of each class on which a node votes.
        lf_counts: (m, k) the same of LFs.
        right: (m,) right votes of each LF.

    Returns:
        (q, k) by the skill, (q,) by the bias, and (m, k) what the product is divided by, so that it adds up.
    """
    xp, bound, k, by_lf, votes = nodes.backend.xp, nodes.backend.bound, nodes.k, nodes.by_lf, nodes.of_lf
    pooled = nodes.by_class.sum(class_counts).reshape(-1, k, k) + HALF_ITEM  # (t, vote, class)
    everyone = pooled / pooled.sum(1)[:, None]  # how often all LFs vote for a class
    typical = nodes.lf_by_set.of(everyone.diagonal(0, 1, 2))  # (m, k): how often all LFs are right
    expected = bound((lf_counts * typical).sum(1) / votes, LEAST_ACCURACY, MOST_ACCURACY)
    accuracy = bound((right + SKILL_ITEMS * expected) / (votes + SKILL_ITEMS), LEAST_ACCURACY, MOST_ACCURACY)
    skill = (accuracy / (1 - accuracy) / (expected / (1 - expected))) ** nodes.spread  # (m,): 1 for one-sided LFs
    total = 1 + typical * (skill - 1)[:, None]  # (m, k): what shares add up to once right votes have these odds
    skilled = nodes.by_class.of(everyone.reshape(-1, k))
    skilled.reshape(-1)[nodes.own] *= skill[by_lf.index]
    items = lf_counts / total

    def count_cast(block: slice) -> Array:
        return xp.einsum("qk,qk->q", skilled[block], by_lf.of(items, block))

    cast = nodes.backend.by_blocks(count_cast, len(nodes.vote), k)
    never = SKILL_ITEMS / (votes + SKILL_ITEMS)  # (m,): the bias to votes that are never cast
    least = never[by_lf.index]
    more = (1 - least) * nodes.n / cast  # (q,): what votes are multiplied by beyond that
    kept = by_lf.sum(skilled * more[:, None])
    return skilled, more + least, kept + never[:, None] * total


def find_residuals(nodes: Nodes, class_counts: Array, evidence: Array) -> Array:
    """Return the evidence of a vote for each class, minus its mean over the votes of its LF on items of that class.

    Args:
        nodes: The nodes.
        class_counts: (q, k) items of each class on which a node votes, as believed.
        evidence: (q, k) of one vote of each node for each class.
    """
    by_lf, bound = nodes.by_lf, nodes.backend.bound
    return evidence - by_lf.of(by_lf.sum(class_counts * evidence) / bound(by_lf.sum(class_counts), LEAST_ITEMS))


def find_log_effect(nodes: Nodes, residuals: Array, class_counts: Array, class_totals: Array, moments: Array) -> Array:
    """Return the log of the design effect of each set. (t,).

    The design effect is how much more the evidence on items of one class varies than if LFs erred independently.
    Judges who are misled by the same things, or are copies of each other, give evidence that is added up as if it were
    independent. The variance shows it: that of a sum of independent votes is the sum of their variances. Surveys call
    the ratio of the two the design effect. Votes of one-sided LFs do not vary once they are cast; there it is 1.

    Args:
        nodes: The nodes.
        residuals: (q, k) of one vote.
        class_counts: (q, k) items of each class on which a node votes, as believed now; scaled.
        class_totals: (t, k) items of each class, as believed now; scaled.
        moments: (t, 2, k) sum and sum of squares, over these items, of the sums of residuals on an item; scaled.
    """
    by_lf, bound = nodes.by_lf, nodes.backend.bound
    of_sums = (moments[:, 1] - moments[:, 0] ** 2 / bound(class_totals, LEAST_ITEMS)).sum(1)
    weighted = class_counts * residuals
    means = weighted * by_lf.of(by_lf.sum(weighted) / bound(by_lf.sum(class_counts), LEAST_ITEMS))
    of_votes = nodes.by_set.sum((weighted * residuals - means).sum(1))
    return nodes.backend.xp.log((bound(of_sums, 0) + ONE_VARIANCE) / (bound(of_votes, 0) + ONE_VARIANCE))
