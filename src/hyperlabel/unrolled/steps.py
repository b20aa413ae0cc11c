"""The steps: from sums over the rows to the evidence of every node."""

import math
from dataclasses import dataclass

import numpy as np

from hyperlabel.kernels import multiply, sigmoid
from hyperlabel.unrolled.ballots import Ballots, Beliefs, Evidence, Floats, believe, count, logit
from hyperlabel.unrolled.nodes import Narrow, Nodes, find_nodes, join_columns, sum_by
from hyperlabel.weights import Weights

STRENGTH, SHRINK, MIX = 0.54, 1.0, 2.0  # where the learned corrections start from; see `_evidence`
PLAIN_BALANCE = 0.15  # share of the log class balance that evidence of the own form goes with
GOLD = 0.7  # log of how many gold items a belief counts as, before the learned correction


def confusion_balance(k: int) -> float:
    """Share of the log class balance that evidence of the confusion form goes with.

    All of it for two classes, as in Dawid-Skene; less for many, where beliefs tell frequent classes from others that
    look like them less well, and each step would make the frequent ones more frequent.
    """
    return 1 / math.log2(max(k, 2))


def forward(weights: Weights, ballots: Ballots) -> Evidence:
    """The evidence of the last step."""
    nodes, evidence = find_nodes(count(ballots), ballots.k), None
    for step in range(weights.header["steps"]):
        evidence = advance(weights, step, nodes, believe(ballots, evidence))
    assert evidence is not None  # a network has at least one step
    return evidence


@dataclass(frozen=True)
class _Worth:
    """What beliefs say of each node: `mass` (p, k), `balance` (k,) and `features` (p, 7)."""

    mass: Floats
    balance: Floats
    features: Narrow


def _worth(nodes: Nodes, beliefs: Beliefs) -> _Worth:
    items = nodes.scale * beliefs.balance
    balance = (items + 1) / (items.sum() + nodes.k)
    mass = nodes.scale * beliefs.mass[nodes.code]
    of_class, own = balance[nodes.vote], mass[np.arange(len(mass)), nodes.vote]
    precision = np.minimum(np.maximum((own + of_class) / (nodes.n + 1), 1e-4), 1 - 1e-4)
    recall = (own + 0.5) / (nodes.items * of_class + 0.5)
    accuracy = sum_by(nodes.lf, own) * nodes.share / nodes.n
    logit_precision, logit_balance = logit(precision), logit(of_class)
    features = [
        logit_precision / 2,
        logit_balance / 2,
        (logit_precision - logit_balance) / 2,
        np.log(np.minimum(np.maximum(recall, 1e-4), 10)) / 3,
        accuracy * 2 - 1,
        *nodes.gold_features,
    ]
    return _Worth(mass, balance, join_columns(features, len(mass)))


def advance(weights: Weights, step: int, nodes: Nodes, beliefs: Beliefs) -> Evidence:
    """One step: from sums over the rows to the evidence of every node.

    At the same precision, a vote among k classes says log(k - 1) more against each of the others than one among two.
    The own form does not know that; its last step is made as much louder. Labels do not depend on it, probabilities do.
    """
    table = np.zeros((nodes.codes, nodes.k))
    if not len(nodes.code):
        return Evidence(table, np.zeros(nodes.k), 1.0, 0.0, 1.0)
    worth = _worth(nodes, beliefs)
    of_node, of_set = _network(weights, step, nodes, np.concatenate([nodes.features, worth.features], axis=1))
    evidence, gate = _evidence(nodes, worth, of_node)
    trusted = (nodes.n * gate).sum() / nodes.n.sum()
    share = PLAIN_BALANCE + (confusion_balance(nodes.k) - PLAIN_BALANCE) * trusted
    table[nodes.code] = evidence
    last = step == weights.header["steps"] - 1
    loudness = 1 + (1 - trusted) * np.log(max(nodes.k - 1, 1)) if last else 1.0
    return Evidence(
        table=table,
        bias=loudness * share * np.log(worth.balance),
        scale=float(loudness * np.exp(of_set[0])),
        power=float(of_set[1]),
        gold_weight=float(np.exp(of_set[2] + GOLD)),
    )


def _network(weights: Weights, step: int, nodes: Nodes, features: Narrow) -> tuple[Floats, Floats]:
    """What is learned: four numbers for each node and three for the set. -> (p, 4), (3,)."""

    def linear(values: Narrow, name: str) -> Narrow:
        product = multiply(values, weights.arrays[f"step{step}.{name}.weight"])
        product += weights.arrays[f"step{step}.{name}.bias"]
        return product

    hidden = _silu(linear(_silu(linear(features, "node0")), "node1"))
    weighted = nodes.weight * hidden
    everything = (weighted.sum(0) / nodes.weight.sum())[None]
    context = [nodes.by_vote.means(weighted), nodes.by_lf.means(weighted)]
    pooled = np.concatenate([hidden, *context, np.repeat(everything, len(hidden), axis=0)], axis=1)
    of_node = linear(_silu(linear(pooled, "pooled")), "evidence")
    of_set = linear(_silu(linear(everything, "set0")), "set1")
    return of_node.astype(np.float64), of_set[0].astype(np.float64)


def _silu(values: Narrow) -> Narrow:
    half = values * np.float32(0.5)
    activated: Narrow = half * (1 + np.tanh(half))
    return activated


def _evidence(nodes: Nodes, worth: _Worth, learned: Floats) -> tuple[Floats, Floats]:
    """The evidence of one vote of each node for each class, and how far it is of the confusion form. (p, k), (p,).

    The own form is a vote divided by the square root of its class's share of the votes; with nothing learned, the
    confusion form is a Dawid-Skene step. LFs of one class, and sets with few votes an item, use the former. The own
    form has no learned part, nor does it ask how often a node agrees with others: whatever was learned there from
    synthetic rules did worse on real ones, and agreement was of no use.
    """
    p, k = worth.mass.shape
    shrink, mix, strength, gate = learned.T
    gate = sigmoid(nodes.trust + gate)
    evidence = gate[:, None] * _softplus(strength + STRENGTH)[:, None] * _confusion(nodes, worth.mass, shrink, mix)
    evidence[np.arange(p), nodes.vote] += (1 - gate) * nodes.rarity
    return evidence, gate


def _confusion(nodes: Nodes, mass: Floats, shrink: Floats, mix: Floats) -> Floats:
    """Log-likelihood of a vote given each class, less its mean over the classes. (p, k)."""
    k, lf, vote = nodes.k, nodes.lf, nodes.vote
    by_lf = np.zeros((nodes.codes // k, k, k))  # (LF, vote, class)
    by_lf[lf, vote] = mass
    pooled = by_lf.sum(0)
    everyone = ((pooled + 0.5) / (pooled.sum(0) + 0.5 * k))[vote]
    of_lf = by_lf.sum(1)[lf]
    prior_items = np.exp(shrink + SHRINK)[:, None]
    share = sigmoid(mix + MIX)[:, None]
    prior = share * everyone + (1 - share) * nodes.share[:, None]
    likelihood: Floats = np.log((mass + prior_items * prior) / (of_lf + prior_items))
    likelihood -= likelihood.sum(1, keepdims=True) / k
    return likelihood


def _softplus(values: Floats) -> Floats:
    return np.logaddexp(0, values)
