"""EBCC: Bayesian classifier combination in which each class has subtypes, so that LFs may err together.

Y. Li, B. I. P. Rubinstein and T. Cohn, "Exploiting Worker Correlation for Label Aggregation in Crowdsourcing",
ICML 2019. An item of class c belongs to one of G subtypes of c; given the subtype, LFs vote independently, each
with its own probabilities of votes. Items that mislead LFs in the same way share a subtype. Dirichlet priors: on
the class balance, worth as many items as there are, split by vote shares or `class_balance`; on
the subtypes of a class, 0.1 / G each; on the votes of an LF in a subtype, 4 for the right one and 1 for each
other. Mean-field variational inference alternates between the Dirichlet posteriors and the probabilities rho of
an item's class c and subtype g,

    log rho_cg = E log balance_c + E log subtype_cg + sum over votes of E log confusion_jcg[vote] + constant.

The bound that this raises (ELBO) has many maxima, so it is run from several random starts, and the highest bound
wins. What a Dirichlet posterior adds to the bound is the logarithm of its normalizer: its entropy cancels the
rest.

Abstentions are ignored, as in the paper. LFs that vote for one class only then say nothing, and with such LFs
alone the model finds little more than the largest class.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, check_count, find_first, hash_rows, softmax
from hyperlabel.data import Patterns
from hyperlabel.errors import ParameterError, require
from hyperlabel.models._base import SEEDS, LabelModel
from hyperlabel.models._majority import vote_shares
from hyperlabel.models._parameters import choice, number
from hyperlabel.models._vote_sums import DENSE, VoteSums, numbers_by_vote

_SUBTYPE_PRIOR = 0.1  # for all subtypes of a class together
_RIGHT_PRIOR, _WRONG_PRIOR = 4.0, 1.0
_TINY = np.finfo(np.float64).tiny
_EMPTY = 1e-12  # a subtype with fewer items is empty
_RELATIVE_TOL = 1e-5  # a smaller relative change of a probability counts as none


@dataclass(kw_only=True, eq=False, repr=False)
class EBCC(LabelModel):
    """Labels by confusion matrices of subtypes of classes.

    An LF that was silent in `fit` votes as the prior expects: 4 parts for the right class, 1 for each other.

    Args:
        subtypes: Number of subtypes of each class, G.
        restarts: Number of random starts; the one that reaches the highest bound is kept.
        class_balance: (k,) the prior class balance; the shares of votes if not given.
        draw: A start splits the classes of each pattern at random among their subtypes (`patterns`), or those
            of each item (`items`), drawn as in the authors' code: start r of seed s is its seed s + r.
        max_iter: Maximum number of steps of each run.
        tol: Stop when a step moves no item's probability of any class by more than this.

    Attributes:
        class_balance_: (k,) the probabilities of the classes.
        confusion_: (m, k, k) the probability of each vote, by LF and class, all subtypes together.
        subtype_shares_: (k, G) the probabilities of the subtypes of each class.
        elbos_: (restarts,) the bound that each start reached.
        prior_: (k * G,) expected log-probabilities of the subtypes of all classes.
        evidence_: (m, k, k * G) what each vote adds to them, by LF, vote and subtype.

    >>> votes = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, -1, 1], [1, -1, 0]]
    >>> EBCC().fit(votes).predict(votes).tolist()
    [0, 1, 0, 1, 0, 1]
    """

    subtypes: int = 10
    restarts: int = 20
    class_balance: Sequence[float] | Float64 | None = None
    draw: Literal["patterns", "items"] = "patterns"
    max_iter: int = 1000
    tol: float = 1e-3

    short_names = ("ebcc",)
    _constraints = LabelModel._constraints | {
        "subtypes": check_count,
        "restarts": check_count,
        "draw": choice("patterns", "items"),
        "max_iter": check_count,
        "tol": number(0),
    }

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        require("scipy", extra="sklearn")
        inference = _Inference(patterns, self._expect_sizes(patterns), self.subtypes)
        draw = _draw_by_patterns if self.draw == "patterns" else _draw_by_items
        best, elbos = None, list[float]()
        for start in draw(patterns, self.subtypes, self.restarts, self._seed):
            posterior, elbo, n_iter, converged = inference.run(start, self.max_iter, self.tol)
            if best is None or elbo > max(elbos):
                best, self.n_iter_, self.converged_ = posterior, n_iter, converged
            elbos.append(elbo)
        assert best is not None  # there is at least one start
        self.elbos_ = np.array(elbos)
        self._keep(inference, best)

    def _expect_sizes(self, patterns: Patterns) -> Float64:
        """The prior number of items of each class. -> (k,)."""
        sizes, stated = patterns.counts @ vote_shares(patterns), self._stated_balance
        expected: Float64 = sizes if stated is None else sizes.sum() * stated
        return expected

    def _keep(self, inference: "_Inference", posterior: "_Posterior") -> None:
        """Keep what was learned, to read and to predict with."""
        votes = inference.all_votes(posterior)  # (m, vote, class, subtype)
        self.class_balance_ = posterior.sizes / posterior.sizes.sum()
        self.subtype_shares_ = posterior.subtypes / posterior.subtypes.sum(1, keepdims=True)
        by_subtype = votes / votes.sum(1, keepdims=True)
        self.confusion_ = np.ascontiguousarray(np.einsum("jvcg,cg->jcv", by_subtype, self.subtype_shares_))
        self.evidence_ = _expected_log(votes, 1).reshape(*votes.shape[:2], -1)
        self.prior_ = posterior.expected_log_balance()

    def _count_numbers(self, patterns: Patterns) -> int:
        return self.subtypes * numbers_by_vote(patterns)

    def _probabilities(self, patterns: Patterns) -> Float64:
        joint = softmax(self.prior_ + VoteSums(patterns).add_evidence(self.evidence_))
        probabilities: Float64 = joint.reshape(patterns.n_patterns, patterns.n_classes, -1).sum(2)
        return probabilities


class _Posterior(NamedTuple):
    """Dirichlet posteriors."""

    sizes: Float64  # (k,) parameters of the class balance
    subtypes: Float64  # (k, G) parameters of the subtypes of each class
    votes: Float64  # (c, q) votes, by (LF, vote) pair that occurs and by subtype; without the prior
    columns: NDArray[np.intp]  # (q,) the subtypes that hold items, as class * G + subtype

    def expected_log_balance(self) -> Float64:
        """E log balance + E log subtype. -> (kG,)."""
        joint: Float64 = _expected_log(self.sizes, 0)[:, None] + _expected_log(self.subtypes, 1)
        return joint.reshape(-1)


class _Inference:
    """Variational inference for one set of patterns; those without votes have no influence.

    Most subtypes become empty at once and stay so, since the prior is against many; an empty one costs nothing from
    then on. Neither does an (LF, vote) pair that never occurs. `expected_sizes` are (k,) the prior of the class
    balance.
    """

    def __init__(self, patterns: Patterns, expected_sizes: Float64, subtypes: int) -> None:
        self._m, self._k, self._subtypes = patterns.n_lfs, patterns.n_classes, subtypes
        self._has_votes = patterns.has_votes[:, None]
        self._counts = (patterns.counts * patterns.has_votes).astype(np.float64)
        self._expected_sizes = expected_sizes
        self._is_class = np.repeat(np.eye(self._k), subtypes, axis=0)  # (kG, k)
        pairs, pair = np.unique(patterns.lf * self._k + patterns.vote, return_inverse=True)
        self._pair_lf, self._pair_vote = pairs // self._k, pairs % self._k
        begins = find_first(self._pair_lf)
        self._first_pair, self._pair_voter = np.flatnonzero(begins), np.cumsum(begins) - 1
        self._casts, self._is_cast = _tabulate(patterns, pair, len(pairs))

    def run(self, start: Float64, max_iter: int, tol: float) -> tuple[_Posterior, float, int, bool]:
        """Raise the bound from a start, (p, kG) items of each pattern by class and subtype.

        Return the posterior, its bound, the number of steps, and whether they converged.
        """
        items, columns = start, np.arange(start.shape[1])
        is_class, prior = self._is_class, self._vote_prior(self._pair_vote, columns)
        last = (items / np.maximum(self._counts, 1)[:, None]) @ is_class
        converged, n_iter = False, 0
        while n_iter < max_iter and not converged:
            posterior = self._update(items, columns)
            base = posterior.expected_log_balance()[columns]
            rho = softmax(base + self._casts @ self._expected_log_votes(posterior.votes, prior))  # (p, q)
            probabilities, items = rho @ is_class, rho * self._counts[:, None]
            far = np.abs(probabilities - last) > tol + _RELATIVE_TOL * probabilities
            converged, last, n_iter = not (far & self._has_votes).any(), probabilities, n_iter + 1
            held = self._counts @ rho > _EMPTY
            if not held.all():
                items, columns = items[:, held], columns[held]
                is_class, prior = is_class[held], prior[:, held]
        return posterior, self._bound(posterior, rho), n_iter, converged

    def _update(self, items: Float64, columns: NDArray[np.intp]) -> _Posterior:
        """The Dirichlet posteriors that items, (p, q), imply."""
        held = np.zeros((self._k, self._subtypes))
        held.flat[columns] = items.sum(0)
        sizes = np.maximum(self._expected_sizes + held.sum(1), _TINY)
        return _Posterior(sizes, _SUBTYPE_PRIOR / self._subtypes + held, self._is_cast @ items, columns)

    def _vote_prior(self, vote: NDArray[np.integer], columns: NDArray[np.intp]) -> Float64:
        """Prior parameters of votes. (c,), (q,) -> (c, q)."""
        return np.where(vote[:, None] == columns // self._subtypes, _RIGHT_PRIOR, _WRONG_PRIOR)

    def _expected_log_votes(self, votes: Float64, prior: Float64) -> Float64:
        """E log confusion of the pairs and subtypes in use, from votes and their prior. (c, q), (c, q) -> (c, q)."""
        from scipy.special import digamma

        totals = np.add.reduceat(votes, self._first_pair) + (_RIGHT_PRIOR + (self._k - 1) * _WRONG_PRIOR)
        expected: Float64 = digamma(votes + prior) - digamma(totals)[self._pair_voter]
        return expected

    def all_votes(self, posterior: _Posterior) -> Float64:
        """Parameters of the votes for all pairs and subtypes. -> (m, k, k, G), [lf, vote, class, subtype]."""
        k, columns = self._k, np.arange(self._k * self._subtypes)
        votes = np.tile(self._vote_prior(np.arange(k), columns), (self._m, 1))  # (mk, kG)
        votes[np.ix_(self._pair_lf * k + self._pair_vote, posterior.columns)] += posterior.votes
        return votes.reshape(self._m, k, k, self._subtypes)

    def _bound(self, posterior: _Posterior, rho: Float64) -> float:
        """The bound, up to the normalizers of the priors."""
        from scipy.special import entr

        dirichlets = (posterior.sizes, 0), (posterior.subtypes, 1), (self.all_votes(posterior), 1)
        return float(sum(_log_normalizer(*d) for d in dirichlets) + self._counts @ entr(rho).sum(1))


def _tabulate(patterns: Patterns, pair: NDArray[np.integer], pairs: int) -> tuple[Any, Any]:
    """Mark the (LF, vote) pairs of each pattern, (p, c) of zeros and ones, and the transpose; sparse if large."""
    from scipy.sparse import csr_array

    casts: Any = csr_array((np.ones(len(pair)), pair, patterns.starts), shape=(patterns.n_patterns, pairs))
    if patterns.n_patterns * pairs <= DENSE:
        casts = casts.toarray()
        return casts, np.ascontiguousarray(casts.T)
    return casts, casts.T.tocsr()


def _draw_by_patterns(patterns: Patterns, subtypes: int, restarts: int, seed: int) -> Iterator[Float64]:
    """Starts, (p, kG) each, in which the items of a pattern are split alike.

    What is drawn for a pattern does not depend on the order of items.
    """
    hashes = hash_rows(patterns.starts, patterns.lf, patterns.vote, patterns.n_classes, seed)
    rank = np.argsort(np.argsort(hashes))
    items = vote_shares(patterns) * patterns.counts[:, None]
    rng = np.random.default_rng(seed)
    for _ in range(restarts):
        splits = rng.dirichlet(np.ones(subtypes), items.shape)[rank]
        yield (items[:, :, None] * splits).reshape(len(items), -1)


def _draw_by_items(patterns: Patterns, subtypes: int, restarts: int, seed: int) -> Iterator[Float64]:
    """Starts, (p, kG) each, in which each item with votes is split by itself, in the order of items."""
    from scipy.sparse import csr_array

    if patterns.inverse is None:
        raise ParameterError("draw='items' needs items, but these votes were only counted; use draw='patterns'")
    pattern = patterns.inverse[patterns.has_votes[patterns.inverse]]
    shape = patterns.n_patterns, len(pattern)
    members: Any = csr_array((np.ones(len(pattern)), (pattern, np.arange(len(pattern)))), shape=shape)
    shares = np.repeat(vote_shares(patterns), subtypes, axis=1)  # (p, kG)
    for restart in range(restarts):
        rng = np.random.RandomState((seed + restart) % SEEDS)
        splits = rng.dirichlet(np.ones(subtypes), (len(pattern), patterns.n_classes))
        yield shares * (members @ splits.reshape(len(pattern), shares.shape[1]))


def _expected_log(parameters: Float64, axis: int) -> Float64:
    """Expected logarithms under Dirichlet distributions along an axis."""
    from scipy.special import digamma

    expected: Float64 = digamma(parameters) - digamma(parameters.sum(axis, keepdims=True))
    return expected


def _log_normalizer(parameters: Float64, axis: int) -> float:
    """The sum of ln B of Dirichlet distributions along an axis."""
    from scipy.special import gammaln

    return float(gammaln(parameters).sum() - gammaln(parameters.sum(axis)).sum())
