"""The better-than-random predicate sigma(X, y) of the hyper label model paper (Eq. 1 and 2).

The theory uses signs, not classes: a vote is +1 (class 1), -1 (class 0) or 0 (abstain), and
a label vector is 0/1. An LF is better than random on a class when, among the items of that class, it votes
for the class more often than for the other one. A label vector is *valid* for X when, for each of the two
classes, enough LFs are better than random.
"""

from math import comb
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_choice

Assumption = Literal["majority", "every"]
"""How many LFs must be better than random on each class: more than half (the paper) or all (its ablation)."""

Signs = NDArray[np.floating]


def to_signs(votes: NDArray[np.integer]) -> NDArray[np.float32]:
    """Binary votes (-1 abstain, 0, 1) as signs (0, -1, +1), float32 so that sums are matrix products.

    >>> to_signs(np.array([[0, 1, -1]]))
    array([[-1.,  1.,  0.]], dtype=float32)
    """
    votes = np.asarray(votes)
    return np.where(votes >= 0, 2 * votes.astype(np.float32) - 1, np.float32(0))


def margins(signs: Signs, labels: NDArray[np.floating]) -> tuple[Signs, Signs]:
    """Right minus wrong votes of each LF on each class.

    (n, m) signs, (n, b) labels 0/1 -> two (b, m), class 1 and class 0.

    Sums of at most 2^24 signs are exact in float32.
    """
    on_positives = labels.T @ signs
    return on_positives, on_positives - signs.sum(0)


def quorum(m: int, assumption: Assumption) -> int:
    """The least number of m LFs that must be better than random on each class.

    >>> quorum(4, "majority"), quorum(4, "every")
    (3, 4)
    """
    check_choice(assumption, "assumption", get_args(Assumption))
    return m // 2 + 1 if assumption == "majority" else m


def is_valid(signs: Signs, labels: NDArray[np.floating], assumption: Assumption = "majority") -> NDArray[np.bool_]:
    """sigma(X, y) for many label vectors at once.

    Args:
        signs: (n, m) votes as signs.
        labels: (n, b) candidate label vectors in the columns, 0/1.
        assumption: How many LFs must be better than random on each class.

    Returns:
        (b,) True where the label vector is valid.

    >>> X = to_signs(np.array([[1, 1, 1], [0, 0, -1]]))
    >>> is_valid(X, np.array([[1.0, 0.0], [0.0, 1.0]]))
    array([ True, False])
    """
    needed = quorum(signs.shape[1], assumption)
    better = np.stack(margins(signs, labels)) > 0  # (2, b, m)
    valid: NDArray[np.bool_] = (better.sum(-1) >= needed).all(0)
    return valid


def probability_of_validity(m: int, n: int | None = None, assumption: Assumption = "majority") -> float:
    """The chance that a uniform pair (X, y) of n items and m LFs is valid; without n, the limit of many items.

    Given y, votes on the two classes are independent, and so are LFs: on a class of c items each LF is
    better than random with probability (1 - t) / 2, where t is the chance that its votes tie.

    The paper's appendix gives (1 - s) / 4 in the limit, where s is the chance that half of an even m are
    better: it counts s for one class. The limit is (1 - s)^2 / 4. Averaged over m in 2..60 that is 0.210 (the
    paper: 0.232), and with n in 100..2000 ties lower it to 0.165.

    >>> probability_of_validity(3), probability_of_validity(2), round(probability_of_validity(3, n=100), 3)
    (0.25, 0.0625, 0.201)
    """
    needed = quorum(m, assumption)
    if n is None:
        return float(_tail(m, needed, np.array([0.5]))[0] ** 2)
    log_factorial = np.concatenate([[0.0], np.log(np.arange(1, n + 1)).cumsum()])
    log_share = log_factorial[n] - log_factorial - log_factorial[::-1] - n * np.log(2)  # of y by positives
    enough = _tail(m, needed, (1 - _tie_probabilities(n)) / 2)
    return float(np.exp(log_share) @ (enough * enough[::-1]))


def _tie_probabilities(n: int) -> NDArray[np.float64]:
    """The chance that c uniform signs sum to 0, for c = 0..n: central trinomial coefficients / 3^c."""
    ties = [1.0, 1 / 3]
    for c in range(2, n + 1):
        ties.append(((2 * c - 1) * ties[-1] + (c - 1) * ties[-2]) / (3 * c))
    return np.array(ties[: n + 1])


def _tail(m: int, least: int, rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance of at least this many successes in m trials, for each rate. (r,) -> (r,)."""
    successes = np.arange(least, m + 1)
    ways = np.array([float(comb(m, int(j))) for j in successes])
    chance: NDArray[np.float64] = rate[:, None] ** successes * (1 - rate[:, None]) ** (m - successes) @ ways
    return chance
