"""Agreement of LFs in pairs: how good each one seems, and which of them repeat each other, before any belief.

The *level* of an LF is its accuracy from chance (0) to perfect (1), below 0 for an adversary. If LFs err independently,
the agreement of two beyond chance is the product of their levels, so agreement alone shows levels. Copies agree more
than that. Whether two LFs that always agree are both right or copies is for third parties to say.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Ints, row_blocks, sigmoid
from hyperlabel.networks._backend import apply_layer, silu
from hyperlabel.networks._base import Sums
from hyperlabel.networks._weights import Weights

MOST_PAIRED = 128  # LFs whose pairs are compared: those with most votes
PRIOR_LEVEL = 0.33  # of an LF of which nothing is known

LEVEL_ROUNDS = 40
LEVEL_WEIGHT = 0.5  # of the prior level in the fit of levels
ALIKE, STEEP = 0.7, 12  # pairs that agree beyond chance by more than this hardly count: they may be copies
LEAST_LEVEL, MOST_LEVEL = -0.97, 0.97
LEAST_INFORMED = 0.05  # agreement by chance above 1 minus this says nothing
LEAST_VARIANCE = 0.01  # of agreement on one item
MODEL_ERROR = 0.02  # added to the standard error of agreement: LFs are never exactly independent
MOST_CERTAIN = 1000.0  # the largest weight of a pair
WIDE, WIDE_ERRORS = 0.1, 2  # a pair counts less once it is this far, plus so many standard errors, from what levels say
TOO_MUCH = 3  # how much sooner it does if it agrees too much, as copies do
CLEAR, CLEAR_WIDTH = 0.35, 0.04  # dependence from which on two LFs share their weight

PAIR_LAYERS = ("pair0", "pair1", "pair2")


class Pairs(NamedTuple):
    """How q LFs agree in pairs."""

    lfs: NDArray[np.intp]  # (q,) the LFs
    joint: Float64  # (q, q) items on which both vote
    agree: Float64  # (q, q) share of these on which they agree, with one imagined item that agrees by chance
    kappa: Float64  # (q, q) agreement beyond chance, over the most that is possible
    error: Float64  # (q, q) its standard error
    informed: Float64  # (q, q) 1 minus agreement by chance; 0 where both vote for one class


def pick_paired(cast: Float64) -> NDArray[np.intp]:
    """Return the LFs that are compared, from (m, k) how often each LF casts each vote. (q,)."""
    of_lf = cast.sum(1)
    voting = np.flatnonzero(of_lf)
    if len(voting) <= MOST_PAIRED:
        return voting
    return np.sort(voting[np.argsort(-of_lf[voting], kind="stable")[:MOST_PAIRED]])


def count_pairs(cells: Ints, counts: Float64, k: int) -> Sums:
    """Return the items on which two LFs vote, and on which they agree, from (r, q) votes. (q, q) each."""
    q = cells.shape[1]
    joint, same = np.zeros((q, q)), np.zeros((q, q))
    for block in row_blocks(*cells.shape):
        part, weights = cells[block], counts[block, None]
        voted = (part >= 0).astype(np.float64)
        joint += voted.T @ (voted * weights)
        for c in range(k):
            cast = (part == c).astype(np.float64)
            same += cast.T @ (cast * weights)
    return joint, same


def compare_pairs(cast: Float64, lfs: NDArray[np.intp], joint: Float64, same: Float64) -> Pairs:
    """Return the agreement of pairs beyond chance, from their sums and (m, k) how often each LF casts each vote."""
    k = cast.shape[1]
    shares = (cast[lfs] + 1 / k) / (cast[lfs].sum(1, keepdims=True) + 1)
    informed = 1 - shares @ shares.T
    most = np.maximum(informed, LEAST_INFORMED)
    agree = (same + 1 - informed) / (joint + 1)
    error = np.sqrt(np.maximum(agree * (1 - agree), LEAST_VARIANCE) / (joint + 1)) / most
    return Pairs(lfs, joint, agree, (agree - 1 + informed) / most, error, informed)


def fit_levels(pairs: Pairs) -> Float64:
    """Return a level for each LF, so that products of two explain kappas: a robust fit of rank one. (q,)."""
    kappa, q = pairs.kappa, len(pairs.lfs)
    certain = np.minimum(pairs.informed / (pairs.error**2 + MODEL_ERROR**2), MOST_CERTAIN)
    certain /= 1 + (np.maximum(kappa, 0) / ALIKE) ** STEEP
    certain.flat[:: q + 1] = 0
    level: Float64 = np.sqrt(np.clip((certain * kappa).sum(1) / (certain.sum(1) + 1e-9), 0.02, 0.9))
    wide = 1 / (WIDE + WIDE_ERRORS * pairs.error)
    for _ in range(LEVEL_ROUNDS):
        residual = (kappa - level[:, None] * level) * wide
        weight = certain / (1 + residual**2 * np.where(residual > 0, TOO_MUCH, 1))
        best = ((weight * kappa) @ level + LEVEL_WEIGHT * PRIOR_LEVEL) / (weight @ level**2 + LEVEL_WEIGHT)
        level = 0.5 * level + 0.5 * np.clip(best, LEAST_LEVEL, MOST_LEVEL)
    return level


def describe_pairs(pairs: Pairs, level: Float64, k: int, one: Ints, other: Ints) -> Float64:
    """Return what tells copies from LFs that are both right, for some pairs. (pairs, PAIR_FEATURES)."""
    kappa, q = pairs.kappa, len(pairs.lfs)
    others = kappa.copy()
    others.flat[:: q + 1] = -2
    others.sort(1)
    middle = 0.5 * (others[:, 1 + (q - 2) // 2] + others[:, 1 + (q - 1) // 2])
    second = others[:, -2]
    explained = level[one] * level[other]
    residual = kappa[one, other] - explained
    columns = [
        kappa[one, other],
        explained,
        residual,
        np.clip(residual / (pairs.error[one, other] + MODEL_ERROR), -10, 20) / 5,
        np.maximum(middle[one], middle[other]),
        np.minimum(middle[one], middle[other]),
        np.maximum(second[one], second[other]),
        pairs.informed[one, other],
        (np.log1p(pairs.joint[one, other]) - 5) / 3,
        np.full(len(one), math.log(k)),
        np.full(len(one), math.log(q) / 2),
    ]
    return np.stack(columns, 1)


def predict_dependence(weights: Weights, pairs: Pairs, level: Float64, k: int) -> Float64:
    """Return how far each two LFs agree beyond the truth, 0 to 1: 1 for exact copies. Learned. (q, q)."""
    q = len(pairs.lfs)
    one, other = np.triu_indices(q, 1)
    hidden = describe_pairs(pairs, level, k, one, other)
    for layer in PAIR_LAYERS[:-1]:
        hidden = silu(np, apply_layer(weights, layer, hidden))
    dependence = np.zeros((q, q))
    dependence[one, other] = dependence[other, one] = sigmoid(apply_layer(weights, PAIR_LAYERS[-1], hidden)[:, 0])
    return dependence


def share_weight(pairs: Pairs, dependence: Float64) -> Float64:
    """Return what a vote counts if LFs that depend on each other share their weight. (q,).

    Only clear dependence is shared: a little of it everywhere is what a temperature is for, and would keep an EM from
    telling judges apart.
    """
    clear = dependence * sigmoid((dependence - CLEAR) / CLEAR_WIDTH)
    of_lf = np.maximum(pairs.joint.diagonal(), 1)
    weight: Float64 = 1 / (1 + (clear * pairs.joint / of_lf[:, None]).sum(1))
    return weight
