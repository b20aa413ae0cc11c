"""FlyingSquid: accuracies in closed form, from how triplets of LFs agree.

D. Fu et al., "Fast and Three-rious: Speeding Up Weak Supervision with Triplet Methods", ICML 2020. Each class
against the rest is a separate problem, in which votes and truth Y are +1 or -1. If LFs are right independently
of each other, E[v_i v_j] = E[v_i Y] E[v_j Y], so that any two others j, l tell how accurate i is (their Algorithm 1):
    |E[v_i Y]| = sqrt |E[v_i v_j] E[v_i v_l] / E[v_j v_l]|.
The estimate is a mean over such pairs; LFs are assumed to be better than random. The probabilities of the classes'
problems are normalized.

How abstentions enter is the `triplets` parameter. By default moments are taken over the items on which both LFs
vote, so that abstaining says nothing, and a triplet counts as much as its LFs overlap (by the square root of the
product of the three overlaps). An LF that overlaps no such pair is as accurate as the others are on average; no
accuracy exceeds 0.99. Among LFs that only ever vote for one class all overlaps agree or disagree alike, so these
all weigh the same, as in a majority vote.

`triplets="all"` is the closed form of the released code: moments over all items, in which abstaining is 0; the
mean over all pairs, including those that never overlap, as 0; accuracies that can exceed 1, and a table of
P(vote, Y) made of them whose negative entries count by their absolute value. It also weighs the class balance
wrongly: the junction tree's separators have the power m - 2 instead of m - 1, so that the prior odds are squared
(which shows only where `class_balance` is not even).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, softmax
from hyperlabel.data import Patterns
from hyperlabel.errors import ParameterError
from hyperlabel.models._base import LabelModel
from hyperlabel.models._parameters import choice
from hyperlabel.models._vote_sums import PRIOR_ACCURACY, VoteSums, numbers_by_vote, sum_products

Triplets = Literal["overlapping", "all"]

_MAX_ACCURACY = 0.99
_FEWEST_LFS = 3
_TINY = np.finfo(np.float64).tiny


@dataclass(kw_only=True, eq=False, repr=False)
class FlyingSquid(LabelModel):
    """Labels by accuracies that agreement within triplets of LFs implies.

    An LF that was silent in `fit` is as accurate as the others are on average; 0.7 with `triplets="all"`.

    Args:
        class_balance: (k,) the probabilities of the classes; if not given, each class is assumed to be as probable
            as all others together.
        triplets: Over which pairs of other LFs an accuracy is a mean: those that overlap (`overlapping`), or
            `all`, with everything else as in the released code.

    Attributes:
        accuracies_: (m, k) the probability that an LF, when it votes, is right about whether it is the class.
        class_balance_: (k,) the probability of each class against the rest.
        prior_: (k,) the log-odds of each class against the rest before any vote.
        evidence_: (m, k, k) what each vote adds to them, by LF, vote and class.

    >>> votes = [[0, 0, 0], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, -1], [1, -1, 1], [0, -1, 1]]
    >>> model = FlyingSquid().fit(votes)
    >>> model.predict(votes).tolist()
    [0, 1, 0, 1, 0, 1, 0]
    >>> model.accuracies_[:, 1].round(2).tolist()
    [0.91, 0.99, 0.7]
    """

    class_balance: Sequence[float] | Float64 | None = None
    triplets: Triplets = "overlapping"

    short_names = ("fs",)
    _constraints = LabelModel._constraints | {"triplets": choice("overlapping", "all")}

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        voting = len(np.unique(patterns.lf))
        if patterns.n_lfs < _FEWEST_LFS or 0 < voting < _FEWEST_LFS:  # a set without votes needs none
            raise ParameterError(
                f"votes has {patterns.n_lfs} LFs, of which {voting} vote; FlyingSquid compares triplets and needs at "
                "least 3 LFs that vote. Add LFs, or use majority vote ('mv') or Dawid-Skene ('ds')"
            )
        stated = self._stated_balance
        self.class_balance_ = np.full(patterns.n_classes, 0.5) if stated is None else stated
        balance = np.clip(self.class_balance_, _TINY, 1 - np.finfo(np.float64).eps)
        log_odds = _log_odds(balance)
        if self.triplets == "all":
            self.accuracies_, for_class, against = _solve_all_triplets(patterns, balance)
            self.prior_, self.evidence_ = 2 * log_odds, _by_vote(for_class - log_odds, against - log_odds)
        else:
            self.accuracies_ = _solve_overlapping_triplets(patterns)
            weight = _log_odds(self.accuracies_)
            self.prior_, self.evidence_ = log_odds, _by_vote(weight, -weight)

    def _count_numbers(self, patterns: Patterns) -> int:
        return numbers_by_vote(patterns)

    def _probabilities(self, patterns: Patterns) -> Float64:
        logits = self.prior_ + VoteSums(patterns).add_evidence(self.evidence_)
        return softmax(-np.logaddexp(0, -logits))


def _log_odds(shares: Float64) -> Float64:
    odds: Float64 = np.log(shares) - np.log1p(-shares)
    return odds


def _by_vote(for_class: Float64, against: Float64) -> Float64:
    """Evidence for each class, of a vote for it and of a vote for another. (m, k), (m, k) -> (m, k, k)."""
    return np.where(np.eye(for_class.shape[1], dtype=bool), for_class[:, None], against[:, None])


def _sign_votes(patterns: Patterns, positive: int) -> Float64:
    """Return +1 for votes for the class, -1 for others. -> (e,)."""
    return np.where(patterns.vote == positive, 1.0, -1.0)


def _problems(patterns: Patterns) -> range:
    """The classes to solve for; with two, the second's problem mirrors the first's."""
    return range(1 if patterns.n_classes == 2 else patterns.n_classes)


def _solve_overlapping_triplets(patterns: Patterns) -> Float64:
    """Accuracies by overlapping triplets. -> (m, k)."""
    m = patterns.n_lfs
    shared = sum_products(patterns, patterns.lf, np.ones(len(patterns.lf)), m)
    solved = [
        average_triplets(sum_products(patterns, patterns.lf, _sign_votes(patterns, c), m), shared)
        for c in _problems(patterns)
    ]
    agreement = np.minimum(np.stack(solved, axis=1), 2 * _MAX_ACCURACY - 1)
    finite = np.isfinite(agreement)
    votes = np.where(finite, np.diag(shared)[:, None], 0)
    typical = np.where(finite, agreement, 0).T @ np.diag(shared) / np.maximum(votes.sum(0), 1)
    typical = np.where(votes.any(0), typical, 2 * PRIOR_ACCURACY - 1)
    accuracies = 0.5 + 0.5 * np.where(finite, agreement, typical)
    return np.broadcast_to(accuracies, (m, patterns.n_classes)).copy()


def average_triplets(signed: Float64, shared: Float64) -> Float64:
    """Return the agreement of each LF with the truth, a weighted mean over pairs of others; NaN where none overlaps.

    With a_ij = signed_ij / shared_ij, the term of LF i and the pair j, l is sqrt |a_ij a_il / a_jl| and its weight
    sqrt(shared_ij shared_il shared_jl); so both sums over pairs are matrix products. `signed` are (m, m) sums over
    items of the products of two LFs' votes, +1, -1, or 0 for abstaining, `shared` how many items both vote on. -> (m,).
    """
    others = ~np.eye(len(signed), dtype=bool)
    near = np.sqrt(np.abs(signed)) * others
    weight = np.sqrt(shared) * others
    defined = near > 0
    far = np.divide(shared, near, out=np.zeros_like(near), where=defined)
    terms = np.einsum("ij,ij->i", near @ far, near)
    weights = np.einsum("ij,ij->i", weight @ (weight * defined), weight)
    agreement: Float64 = np.divide(terms, weights, out=np.full(len(signed), np.nan), where=weights > 0)
    return agreement


def _solve_all_triplets(patterns: Patterns, balance: Float64) -> tuple[Float64, Float64, Float64]:
    """The released code's closed form.

    Returns:
        Accuracies, and log P(vote, Y=+1) - log P(vote, Y=-1) of votes for the class and for others; (m, k) each.
    """
    n, m = max(1, patterns.n_items), patterns.n_lfs
    share = VoteSums(patterns).count_votes(np.ones((patterns.n_patterns, 1)))[:, :, 0] / n  # P(v = 1)
    voted = share.sum(1, keepdims=True)
    solved = [
        _average_all(sum_products(patterns, patterns.lf, _sign_votes(patterns, c), m) / n) for c in _problems(patterns)
    ]
    agreement = np.broadcast_to(np.stack(solved, axis=1), share.shape)  # E[v Y]
    right = 0.5 * (voted + agreement)  # P(v = Y)
    both = 0.5 * (right + share - voted * (1 - balance))  # P(v = 1, Y = 1)
    for_class = _log(both) - _log(share - both)
    against = _log(balance * voted - both) - _log(right - both)
    accuracies = np.divide(right, voted, out=np.full_like(share, PRIOR_ACCURACY), where=voted > 0)
    usual, prior = _log_odds(np.array(PRIOR_ACCURACY)), _log_odds(balance)  # of LFs that never vote
    return accuracies, np.where(voted > 0, for_class, prior + usual), np.where(voted > 0, against, prior - usual)


def _average_all(moments: Float64) -> Float64:
    """The mean of sqrt |M_ij M_il / M_jl| over all pairs of others; undefined terms are 0. (m, m) -> (m,)."""
    m = len(moments)
    roots = np.sqrt(np.abs(moments)) * ~np.eye(m, dtype=bool)
    inverse = np.divide(1, roots, out=np.zeros_like(roots), where=roots > 0)
    mean: Float64 = np.einsum("ij,ij->i", roots @ inverse, roots) / ((m - 1) * (m - 2))
    return mean


def _log(numbers: Float64) -> Float64:
    """Logarithms of absolute values, finite even at 0."""
    return np.log(np.maximum(np.abs(numbers), _TINY))
