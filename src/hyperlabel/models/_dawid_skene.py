"""Dawid-Skene: how often each LF casts each vote under each class, found by EM.

A. P. Dawid and A. M. Skene, "Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm",
Applied Statistics 28(1), 1979. Given the class, LFs vote independently: P(class c | votes) is proportional to
balance_c times the product over LFs j of confusion_j[c, vote] (their equation 2.5). EM starts from the shares
of the votes and alternates between the confusions and the balance that the class probabilities imply (equations
2.3 and 2.4) and the class probabilities that those imply. Items with gold keep it throughout.

How abstentions enter is the `abstain` parameter. Crowdsourcing ignores them: a person who was not asked says
nothing. But an LF that only ever votes for one class says nothing either once its abstentions are ignored, since
its vote has probability 1 under every class; with such LFs alone the model collapses to the largest class. All
its information is in when it votes, so the default counts abstaining as an outcome for the LFs that vote for one
class only, and ignores the abstentions of the others. Counting them for all LFs is no remedy: people abstain on
almost every item, and which ones is random.

A confusion that was never seen is not impossible, so each row gets `smoothing` items more, on which the LF votes
as often as on the others and is right with probability 0.7. `smoothing=0` is maximum likelihood.

Hierarchical Dawid-Skene: where people vote on a handful of items each, their own confusion matrices are guesses. There
the rows of an LF's matrix have a Dirichlet prior whose mean is the row of all votes together, the population's, and
which weighs as much as `smoothing` items. The population's rows in turn are drawn to accuracy 0.7 by 2 items. The
weight can be learned (empirical Bayes): `smoothing="learned"` takes, in each step of EM, the power of 2 from 1/16 to
1024 under which the counted votes of all LFs, which are Dirichlet-multinomial, are likeliest.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import ABOVE_ZERO, Float64, check_count, check_flag, softmax
from hyperlabel.data import Patterns
from hyperlabel.errors import ParameterError, require
from hyperlabel.models._base import LabelModel
from hyperlabel.models._majority import vote_shares
from hyperlabel.models._parameters import choice, number
from hyperlabel.models._vote_sums import VoteSums, accurate_votes, check_looks, numbers_by_vote

Abstain = Literal["one-sided", "ignore", "outcome"]

MOST_CONFUSIONS = 1 << 25
"""The most numbers in all confusion matrices; more would take minutes to learn."""

_TINY = np.finfo(np.float64).tiny
_LOG_ZERO = -1e4  # can be added and subtracted, and is the logarithm of a number that rounds to exactly 0

_POPULATION_ITEMS = 2.0  # items that draw the population's rows to the prior accuracy
_WEIGHTS = 2.0 ** np.arange(-4, 11)


@dataclass(kw_only=True, eq=False, repr=False)
class ConfusionModel(LabelModel):
    """EM over confusion matrices, one per LF; subclasses say which votes are imagined besides the real ones.

    Args:
        class_balance: (k,) the probabilities of the classes; learned if not given.
        abstain: Whether abstaining is an outcome of an LF like any vote: for LFs that vote for one class only
            (`one-sided`), for none (`ignore`), or for all (`outcome`).
        max_iter: Maximum number of EM steps.
        tol: Stop when a step moves less than this part of an item's probability on average.
        ordinal: Whether the classes have an order: labels then lean to the median (docs/votes.md).

    Attributes:
        class_balance_: (k,) the probabilities of the classes.
        confusion_: (m, k, k) the probability of each vote, by LF and class. Rows sum to 1, or to 1 minus the
            probability of abstaining where that is an outcome.
        abstain_is_outcome_: (m,) whether abstaining was an outcome, by LF.
    """

    class_balance: Sequence[float] | Float64 | None = None
    abstain: Abstain = "one-sided"
    max_iter: int = 2000
    tol: float = 1e-4
    ordinal: bool = False

    learns_from_gold = True
    takes_outcomes = True
    _constraints = LabelModel._constraints | {
        "abstain": choice("one-sided", "ignore", "outcome"),
        "max_iter": check_count,
        "tol": number(0),
        "ordinal": check_flag,
    }

    @abstractmethod
    def _imagine(self, votes: Float64, accurate: Float64) -> tuple[float, Float64]:
        """Return how many imagined items each row of a confusion matrix gets, and the probability of each vote on them.

        From (m, k, k) counted votes, by LF, vote and class, and the (k, k) probabilities of an LF with accuracy 0.7, by
        vote and class. -> a number, (k, k).
        """

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        balance, k = self._stated_balance, patterns.n_classes
        sums, (free, certain) = VoteSums(patterns), self._split_items(patterns, gold)
        items, weight = sums.counts * (free[:, 0] + certain.sum(1)), sums.counts[:, None] * free / 2
        self.abstain_is_outcome_ = self._find_outcomes(patterns)
        abstentions = self._find_abstentions(sums, items.sum())
        posterior, accurate, enough = vote_shares(patterns), accurate_votes(k), self.tol * 2 * weight[:, 0].sum()
        if patterns.outcomes is not None:
            accurate = patterns.outcomes.table @ accurate
        usual = _usual_votes(patterns)
        if balance is None and not (items @ (free * posterior + certain)).any():
            balance = np.full(k, 1 / k)  # there is nothing to learn it from
        self.converged_ = False
        with np.errstate(divide="ignore"):
            while self.n_iter_ < self.max_iter and not self.converged_:
                shares = posterior if gold is None else free * posterior + certain
                votes, sizes = sums.count_votes(shares), items @ shares
                smoothing, imagined = self._imagine(votes, accurate)
                if usual is not None:
                    imagined = usual * imagined
                    imagined = imagined / np.maximum(imagined.sum(1, keepdims=True), _TINY)
                confusion = _estimate(votes, sizes, smoothing, imagined, abstentions)
                last, posterior = posterior, _infer(sums, confusion, sizes if balance is None else balance)
                self.converged_ = bool(np.vdot(weight, np.abs(posterior - last)) <= enough)
                self.n_iter_ += 1
        self.class_balance_ = sizes / sizes.sum() if balance is None else balance
        silent = np.bincount(patterns.lf, minlength=patterns.n_lfs) == 0
        voting = np.where(silent[:, None, None], imagined, confusion.voting)
        self.confusion_ = np.ascontiguousarray(voting.transpose(0, 2, 1))

    def _learns_from_empty(self) -> bool:
        """Return whether items on which every LF abstains take part in learning."""
        return False

    def _split_items(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> tuple[Float64, Float64]:
        """The parts of each pattern's items without gold, the same for all classes, and with each as gold. (p, k)."""
        if gold is None:
            gold = np.zeros((patterns.n_patterns, patterns.n_classes), np.int64)
        learned = patterns.has_votes | self._learns_from_empty()
        certain = gold * (learned / patterns.counts)[:, None]
        free = (learned - certain.sum(1))[:, None]
        return np.repeat(free, patterns.n_classes, axis=1), certain

    def _find_outcomes(self, patterns: Patterns) -> NDArray[np.bool_]:
        """Return whether abstaining is an outcome of each LF; not if it never votes. -> (m,)."""
        votes_for = np.zeros((patterns.n_lfs, patterns.n_codes), bool)
        votes_for[patterns.lf, patterns.vote] = True
        sides = votes_for.sum(1)
        most = {"one-sided": 1, "ignore": 0, "outcome": patterns.n_codes}[self.abstain]
        outcome: NDArray[np.bool_] = (sides > 0) & (sides <= most)
        return outcome

    def _find_abstentions(self, sums: VoteSums, items: float) -> "_Abstentions":
        """Return whether abstaining is an outcome, and how often LFs vote."""
        voted = sums.count_votes(np.ones((len(sums.counts), 1))).sum((1, 2))
        coverage = np.where(self.abstain_is_outcome_, voted / max(items, 1), 1)
        outcome = self.abstain_is_outcome_[:, None].astype(np.float64)
        return _Abstentions(outcome if outcome.any() else None, coverage[:, None, None])

    def _count_numbers(self, patterns: Patterns) -> int:
        numbers = numbers_by_vote(patterns)
        if numbers > MOST_CONFUSIONS:
            raise ParameterError(
                f"votes has {patterns.n_lfs:,} LFs and {patterns.n_classes:,} classes; {type(self).__name__} learns "
                f"{numbers:,} numbers from them, one per LF, vote and class; the most is {MOST_CONFUSIONS:,}. "
                "Use 'hlm3' or 'mv', or fewer classes"
            )
        check_looks(patterns, type(self).__name__)
        return 8 * numbers

    def _probabilities(self, patterns: Patterns) -> Float64:
        abstaining = np.where(self.abstain_is_outcome_[:, None], np.maximum(1 - self.confusion_.sum(2), 0), 1)
        confusion = _Confusion(self.confusion_.transpose(0, 2, 1), abstaining)
        with np.errstate(divide="ignore"):
            return _infer(VoteSums(patterns), confusion, self.class_balance_)


@dataclass(kw_only=True, eq=False, repr=False)
class DawidSkene(ConfusionModel):
    """Labels by learned confusion matrices, one per LF. Further parameters and attributes: `ConfusionModel`.

    An LF that was silent in `fit` is right with probability 0.7, and its abstaining says nothing.

    Args:
        smoothing: How many imagined items, voted on with accuracy 0.7, each row of each confusion matrix gets.
        learn_from_empty: Whether items on which every LF abstains take part in learning.

    >>> votes = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, -1, 1], [1, -1, 0]]
    >>> model = DawidSkene().fit(votes)
    >>> model.predict(votes).tolist()
    [0, 1, 0, 1, 0, 1]
    >>> model.confusion_[0].round(1).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    smoothing: float = 0.01
    learn_from_empty: bool = False

    short_names = ("ds",)
    _constraints = ConfusionModel._constraints | {"smoothing": number(0), "learn_from_empty": check_flag}

    def _learns_from_empty(self) -> bool:
        return self.learn_from_empty

    def _imagine(self, votes: Float64, accurate: Float64) -> tuple[float, Float64]:
        return self.smoothing, accurate


def _usual_votes(patterns: Patterns) -> Float64 | None:
    """Mark the votes that are imagined for an LF: those that it casts, and classes. (m, o, 1); None for only classes.

    An LF that gives scores has no votes for classes.
    """
    if patterns.outcomes is None:
        return None
    cast = np.zeros((patterns.n_lfs, patterns.n_codes))
    cast[patterns.lf, patterns.vote] = 1
    k = patterns.n_classes
    cast[(cast[:, :k].any(1)) | ~cast.any(1), :k] = 1
    return cast[:, :, None]


class _Confusion(NamedTuple):
    """Probabilities of what LFs do under each class."""

    voting: Float64  # (m, k, k) of each vote, by LF, vote and class
    # (m, k) of abstaining, by LF and class, 1 where it is not an outcome; None if it never is.
    abstaining: Float64 | None


class _Abstentions(NamedTuple):
    """Facts about abstaining that are known before learning."""

    outcome: Float64 | None  # (m, 1) 1 where abstaining is an outcome and 0 elsewhere; None if it never is
    coverage: Float64  # (m, 1, 1) share of items that each LF votes on; 1 where abstaining is not an outcome


def _estimate(
    votes: Float64, sizes: Float64, smoothing: float, imagined: Float64, abstentions: _Abstentions
) -> _Confusion:
    """Probabilities that counted and imagined votes imply.

    `votes` are (m, k, k), by LF, vote and class, `sizes` (k,) the items of each class. `smoothing` items of each class
    are imagined, with (k, k) probabilities of each vote; an LF may abstain on some of these items.
    """
    voted = votes + abstentions.coverage * (smoothing * imagined)
    spoken = np.einsum("jvc->jc", voted)  # faster than sum over short axes
    if abstentions.outcome is None:
        return _Confusion(voted / np.maximum(spoken, _TINY)[:, None], None)
    total = np.maximum(spoken, abstentions.outcome * (sizes + smoothing) + _TINY)
    return _Confusion(voted / total[:, None], 1 - abstentions.outcome * (spoken / total))


def _infer(sums: VoteSums, confusion: _Confusion, sizes: Float64) -> Float64:
    """Probabilities of the classes by Bayes' rule, from confusions and unnormalized class weights. -> (p, k)."""
    evidence, nobody_votes = _log(confusion.voting), np.log(sizes)
    if confusion.abstaining is not None:
        silence = _log(confusion.abstaining)
        evidence, nobody_votes = evidence - silence[:, None], nobody_votes + silence.sum(0)
    return softmax(nobody_votes + sums.add_evidence(evidence))


def _log(probabilities: Float64) -> Float64:
    """Logarithms, finite even where a probability is 0; callers silence NumPy's warning."""
    return np.maximum(np.log(probabilities), _LOG_ZERO)


@dataclass(kw_only=True, eq=False, repr=False)
class HierarchicalDawidSkene(ConfusionModel):
    """Labels by learned confusion matrices, those of LFs with few votes close to the population's.

    Further parameters and attributes: `ConfusionModel`. An LF that was silent in `fit` votes like the population, and
    its abstaining says nothing.

    Args:
        smoothing: How many imagined items, voted on like the population, each row of each confusion matrix
            gets; `learned` finds the number, which needs scipy.

    Attributes:
        population_: (k, k) the probability of each vote of the population, by class.
        smoothing_: How many imagined items each row got.

    >>> votes = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, -1, 1], [1, -1, 0]]
    >>> model = HierarchicalDawidSkene().fit(votes)
    >>> model.predict(votes).tolist()
    [0, 1, 0, 1, 0, 1]
    >>> model.population_.round(1).tolist()
    [[0.7, 0.3], [0.3, 0.7]]
    """

    smoothing: float | Literal["learned"] = 2.0

    short_names = ("hds",)
    _constraints = ConfusionModel._constraints | {"smoothing": number(ABOVE_ZERO, other="learned")}

    def _imagine(self, votes: Float64, accurate: Float64) -> tuple[float, Float64]:
        population = votes.sum(0) + _POPULATION_ITEMS * accurate
        population /= population.sum(0)
        self.population_ = np.ascontiguousarray(population.T)
        learned = self.smoothing == "learned"
        self.smoothing_ = likeliest_weight(population, votes) if learned else float(self.smoothing)
        return self.smoothing_, population


def likeliest_weight(population: Float64, votes: Float64) -> float:
    """Return the weight of the population, in items, under which the votes are likeliest.

    `population` is (k, k) the mean of the Dirichlet prior of each class, [vote, class], `votes` (m, k, k) the counted
    votes, [lf, vote, class].
    """
    require("scipy", extra="sklearn")
    from scipy.special import gammaln

    totals = votes.sum(1)

    def log_likelihood(weight: float) -> float:
        prior = weight * population
        rows = gammaln(weight) - gammaln(totals + weight)
        return float(rows.sum() + (gammaln(votes + prior) - gammaln(prior)).sum())

    return float(max(_WEIGHTS, key=log_likelihood))
