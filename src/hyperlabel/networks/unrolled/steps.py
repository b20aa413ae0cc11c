"""One step: from what is believed about the items to the evidence of every node. Written once for NumPy and torch."""

import math
from typing import NamedTuple

from hyperlabel.networks.unrolled.backend import Array, LinearLayers, logit, sigmoid
from hyperlabel.networks.unrolled.confusions import Confusions
from hyperlabel.networks.unrolled.nodes import Nodes, normalize

# Where the learned corrections start from; with these alone the confusion form is a Dawid-Skene step.
STRENGTH = 0.3  # softplus of it multiplies the evidence of the confusion form
TRUSTED_STRENGTH = 0.8  # added to it where confusions are trusted
POWER = -0.4  # how the evidence of the confusion form changes with the number of votes on an item: they overlap
GOLD = 0.7  # log of how many gold items a belief counts as

DESIGN = 0.25  # evidence is divided by this power of the design effect
PLAIN_BALANCE = 0.15  # share of the log class balance that goes with evidence of the own form

ONE_ITEM = 1.0  # imagined items: of each class in the class balance, and of each node in its precision
HALF_ITEM = 0.5  # imagined items in the recall of a node
LEAST_PRECISION = 1e-4  # precisions stay this far from 0 and 1, so that their log-odds are finite
LEAST_RECALL, MOST_RECALL = 1e-4, 10.0  # recalls of rare classes may exceed 1: beliefs and votes need not agree


class Step(NamedTuple):
    """The result of a step: everything that the logits of a row need, for t sets of q nodes.

    Attributes:
        evidence: (q, k) of one vote of each node for each class.
        bias: (t, k) logits of a row before its votes.
        scale: (t,) the factor of evidence on a row with one vote.
        power: (t,) how the factor changes with the number of votes: `scale * size ** power`.
        gold_weight: (t,) how many gold items the belief about a row counts as.
        trusted: (t,) how far confusions are trusted, 0 to 1.
    """

    evidence: Array
    bias: Array
    scale: Array
    power: Array
    gold_weight: Array
    trusted: Array


def confusion_balance(k: int) -> float:
    """Share of the log class balance that goes with evidence of the confusion form.

    All of it for two classes, as in Dawid-Skene; less for many, where beliefs confuse frequent classes with
    similar ones more, and each step would make the frequent ones more frequent.
    """
    return 1 / math.log2(max(k, 2))


def advance(
    linear: LinearLayers, nodes: Nodes, class_counts: Array, class_totals: Array, design: Array, *, last: bool
) -> Step:
    """One step.

    At the same precision, a vote among k classes says log(k - 1) more against each of the others than one among two.
    The own form does not know that; so its last step is scaled up by as much. Labels do not depend on it, probabilities
    do.

    Args:
        linear: The learned layers of the step.
        nodes: The nodes.
        class_counts: (q, k) of the items on which a node votes, those of each class, as believed; scaled.
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
    of_node, of_set = _learned(linear, nodes, xp.concatenate(features, 1))
    shrink, mix, strength, trust = of_node.T
    loud, power, gold_weight = of_set.T
    gate = sigmoid(xp, nodes.trust + trust)
    trusted = nodes.by_set.sum(nodes.n * gate) / nodes.total  # (t,)
    loudness = 1 + (1 - trusted) * math.log(max(k - 1, 1)) if last else 1.0
    softer = xp.exp(-DESIGN * design)
    strength = strength + STRENGTH + (TRUSTED_STRENGTH * trusted)[nodes.by_set.index]
    share = PLAIN_BALANCE + (confusion_balance(k) - PLAIN_BALANCE) * trusted
    return Step(
        evidence=_evidence(Confusions(nodes, class_counts, right, shrink, mix), strength, gate),
        bias=(loudness * share)[:, None] * xp.log(balance),
        scale=loudness * softer * xp.exp(loud),
        power=power + POWER * trusted,
        gold_weight=xp.exp(gold_weight + GOLD),
        trusted=trusted,
    )


def _believed_features(nodes: Nodes, own: Array, right: Array, balance: Array, design: Array) -> Array:
    """What beliefs say of each node, from (q,) its right votes and (m,) those of LFs, normalized. (q, 6)."""
    xp, bound = nodes.backend.xp, nodes.backend.bound
    of_class = balance.reshape(-1)[nodes.by_class.index]
    precision = (own + of_class) / (nodes.n + ONE_ITEM)  # with one imagined item of the class's share
    recall = (own + HALF_ITEM) / (nodes.items[nodes.by_set.index] * of_class + HALF_ITEM)
    accuracy = (right / nodes.of_lf)[nodes.by_lf.index]
    logit_precision = logit(xp, bound(precision, LEAST_PRECISION, 1 - LEAST_PRECISION))
    logit_class = logit(xp, of_class)
    raw = {
        "log-odds of precision": logit_precision,
        "log-odds of the class": logit_class,
        "log-odds of precision over the class": logit_precision - logit_class,
        "log recall": xp.log(bound(recall, LEAST_RECALL, MOST_RECALL)),
        "accuracy of the LF": accuracy,
        "log design effect": design[nodes.by_set.index],
    }
    return normalize(nodes.backend, raw)


def _learned(linear: LinearLayers, nodes: Nodes, features: Array) -> tuple[Array, Array]:
    """The learned network: four numbers per node and three per set. (q, 19) -> (q, 4), (t, 3)."""
    xp = nodes.backend.xp
    hidden = _silu(xp, linear("node1", _silu(xp, linear("node0", features))))
    pooled = nodes.pools.sum((nodes.weight_in_pools * hidden).reshape(-1, hidden.shape[1]))
    of_class, of_lf = nodes.pools.of(pooled).reshape(2, *hidden.shape)
    of_all = nodes.by_set.sum(nodes.weight_in_set * hidden)
    context = xp.concatenate([hidden, of_class, of_lf, nodes.by_set.of(of_all)], 1)
    of_node = linear("evidence", _silu(xp, linear("pooled", context)))
    return of_node, linear("set1", _silu(xp, linear("set0", of_all)))


def _evidence(confusions: Confusions, strength: Array, gate: Array) -> Array:
    """The evidence of one vote of each node for each class: two forms, mixed by the trust in confusions. (q, k).

    The own form is a vote only for its class, divided by the square root of the class's share of the votes. LFs of
    one class, and sets with few votes per item, use it. It has no learned part and does not ask how often a node
    agrees with others: anything learned there from synthetic rules did worse on real ones.
    """
    nodes, xp = confusions.nodes, confusions.nodes.backend.xp
    strength = gate * xp.logaddexp(strength, xp.zeros(1))  # softplus

    def weigh(block: slice) -> Array:
        return strength[block, None] * confusions.of(block)

    evidence = nodes.backend.by_blocks(weigh, len(nodes.vote), nodes.k)
    evidence.reshape(-1)[nodes.own] += (1 - gate) * nodes.rarity
    return evidence


def _silu(xp: Array, values: Array) -> Array:
    half = 0.5 * values
    return half * (1 + xp.tanh(half))  # values * sigmoid(values)
