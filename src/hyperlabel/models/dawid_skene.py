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
class only, and ignores the abstentions of the others. To count them for all LFs is no remedy: people abstain on
almost every item, and which ones is chance.

A confusion that was never seen is not impossible, so each row gets `smoothing` items more, on which the LF votes
as often as on the others and is right with probability 0.7. `smoothing=0` is maximum likelihood.
"""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import ParameterError
from hyperlabel.models.assumptions import accurate_votes, check_class_balance
from hyperlabel.models.base import LabelModel, TieBreak
from hyperlabel.models.evidence import VoteSums, softmax
from hyperlabel.models.majority import vote_shares
from hyperlabel.patterns import Patterns

Floats = NDArray[np.float64]
Abstain = Literal["one-sided", "ignore", "outcome"]

_TINY = np.finfo(np.float64).tiny
_LOG_ZERO = -1e4  # can be added and subtracted, and is the logarithm of a number that rounds to exactly 0


class ConfusionModel(LabelModel):
    """EM over confusion matrices, one an LF; what is imagined beside the votes is left open.

    Args:
        class_balance: (k,) the probabilities of the classes; learned if not given.
        abstain: Whether abstaining is an outcome of an LF like any vote: `one-sided`, `ignore` or `outcome`.
        learn_from_empty: Whether items on which every LF abstains take part in learning.
        max_iter: Most steps of EM.
        tol: Stop when a step moves less than this part of an item's probability on average.
        n_classes: Number of classes; inferred from votes and gold if neither this nor `classes` is given.
        classes: The classes, in the order of their probabilities.
        tie_break: `first`, `abstain` or `random`, for items whose best classes are exactly tied.
        seed: For `tie_break="random"`; everything else is deterministic.
    """

    learns_from_gold = True

    def __init__(
        self,
        *,
        class_balance: Sequence[float] | Floats | None,
        abstain: Abstain,
        learn_from_empty: bool,
        max_iter: int,
        tol: float,
        n_classes: int | None,
        classes: Sequence[Hashable] | None,
        tie_break: TieBreak,
        seed: int,
    ) -> None:
        super().__init__(n_classes=n_classes, classes=classes, tie_break=tie_break, seed=seed)
        self.class_balance = class_balance
        self.abstain = abstain
        self.learn_from_empty = learn_from_empty
        self.max_iter = max_iter
        self.tol = tol

    @abstractmethod
    def _imagine(self, tally: "Tally") -> Floats:
        """Imagined votes that each LF gets beside its own. -> (k, k), [vote, class]."""

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        self._check_params()
        stated = None
        if self.class_balance is not None:
            stated = check_class_balance(self.class_balance, patterns.n_classes)
        sums, (free, known) = VoteSums(patterns), self._split_items(patterns, gold)
        self.abstain_is_outcome_ = self._find_outcomes(patterns)
        posterior, weight = vote_shares(patterns), sums.counts * free
        self.converged_ = False
        while self.n_iter_ < self.max_iter and not self.converged_:
            tally = self._tally(sums, free[:, None] * posterior + known)
            self.class_balance_ = tally.balance if stated is None else stated
            self.confusion_ = self._estimate_confusion(tally)
            last, posterior = posterior, self._posterior(sums)
            moved = weight @ np.abs(posterior - last).sum(1) / 2
            self.converged_ = bool(moved <= self.tol * weight.sum())
            self.n_iter_ += 1

    def _check_params(self) -> None:
        if self.abstain not in ("one-sided", "ignore", "outcome"):
            raise ParameterError(f"abstain is {self.abstain!r}; expected 'one-sided', 'ignore' or 'outcome'")
        if self.max_iter < 1:
            raise ParameterError(f"max_iter is {self.max_iter!r}; expected at least 1")
        if not self.tol >= 0:
            raise ParameterError(f"tol is {self.tol!r}; expected 0 or more")

    def _split_items(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> tuple[Floats, Floats]:
        """The parts of each pattern's items without gold, (p,), and with each class as gold, (p, k)."""
        if gold is None:
            gold = np.zeros((patterns.n_patterns, patterns.n_classes), np.int64)
        counts, taken = patterns.counts, patterns.has_votes | self.learn_from_empty
        free, known = (counts - gold.sum(1)) / counts, gold / counts[:, None]
        return np.where(taken, free, 0), np.where(taken[:, None], known, 0)

    def _find_outcomes(self, patterns: Patterns) -> NDArray[np.bool_]:
        """Whether abstaining is an outcome of each LF. -> (m,)."""
        if self.abstain != "one-sided":
            return np.full(patterns.n_lfs, self.abstain == "outcome")
        votes_for = np.zeros((patterns.n_lfs, patterns.n_classes), bool)
        votes_for[patterns.lf, patterns.vote] = True
        one_sided: NDArray[np.bool_] = votes_for.sum(1) <= 1
        return one_sided

    def _tally(self, sums: VoteSums, posterior: Floats) -> "Tally":
        """Count classes, votes and abstentions. posterior: (p, k)."""
        sizes, votes = sums.counts @ posterior, sums.count_votes(posterior)
        voted, outcome = votes.sum(1), self.abstain_is_outcome_  # (m, k), (m,)
        abstentions = np.where(outcome[:, None], np.maximum(sizes - voted, 0), 0)
        coverage = np.where(outcome, voted.sum(1) / max(sizes.sum(), _TINY), 1)
        return Tally(sizes, votes, abstentions, coverage)

    def _estimate_confusion(self, tally: "Tally") -> Floats:
        """Confusions that a tally implies. -> (m, k, k), [lf, class, vote]."""
        imagined = self._imagine(tally)
        voted = tally.votes + imagined * tally.coverage[:, None, None]
        abstained = tally.abstentions + imagined.sum(0) * (1 - tally.coverage)[:, None]
        confusion: Floats = voted / np.maximum(voted.sum(1) + abstained, _TINY)[:, None]
        return confusion.transpose(0, 2, 1)

    def _posterior(self, sums: VoteSums) -> Floats:
        """Probabilities of the classes by Bayes' rule. -> (p, k)."""
        voting = self.confusion_.transpose(0, 2, 1)  # (m, vote, class)
        abstaining = np.where(self.abstain_is_outcome_[:, None], 1 - voting.sum(1), 1)  # (m, class)
        silence = _log(abstaining)
        with np.errstate(divide="ignore"):
            nobody_votes = np.log(self.class_balance_) + silence.sum(0)
        return softmax(nobody_votes + sums.add_evidence(_log(voting) - silence[:, None]))

    def _probabilities(self, patterns: Patterns) -> Floats:
        return self._posterior(VoteSums(patterns))


class DawidSkene(ConfusionModel):
    """Labels by learned confusion matrices, one an LF.

    Args:
        class_balance: (k,) the probabilities of the classes; learned if not given.
        abstain: Whether abstaining is an outcome of an LF like any vote: for LFs that vote for one class only
            (`one-sided`), for none (`ignore`, as in the paper's comparison), or for all (`outcome`).
        smoothing: How many imagined items, voted on with accuracy 0.7, each row of each confusion matrix gets.
        learn_from_empty: Whether items on which every LF abstains take part in learning.
        max_iter: Most steps of EM.
        tol: Stop when a step moves less than this part of an item's probability on average.
        n_classes: Number of classes; inferred from votes and gold if neither this nor `classes` is given.
        classes: The classes, in the order of their probabilities.
        tie_break: `first`, `abstain` or `random`, for items whose best classes are exactly tied.
        seed: For `tie_break="random"`; everything else is deterministic.

    Attributes:
        class_balance_: (k,) the probabilities of the classes.
        confusion_: (m, k, k) the probability of each vote, by LF and class. Rows sum to 1, or to 1 minus the
            probability of abstaining where that is an outcome.
        abstain_is_outcome_: (m,) whether abstaining was an outcome, by LF.

    >>> votes = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, -1, 1], [1, -1, 0]]
    >>> model = DawidSkene().fit(votes)
    >>> model.predict(votes).tolist()
    [0, 1, 0, 1, 0, 1]
    >>> model.confusion_[0].round(1).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(
        self,
        class_balance: Sequence[float] | Floats | None = None,
        abstain: Abstain = "one-sided",
        smoothing: float = 0.01,
        learn_from_empty: bool = False,
        max_iter: int = 2000,
        tol: float = 1e-4,
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
        tie_break: TieBreak = "first",
        seed: int = 0,
    ) -> None:
        super().__init__(
            class_balance=class_balance,
            abstain=abstain,
            learn_from_empty=learn_from_empty,
            max_iter=max_iter,
            tol=tol,
            n_classes=n_classes,
            classes=classes,
            tie_break=tie_break,
            seed=seed,
        )
        self.smoothing = smoothing

    def _check_params(self) -> None:
        super()._check_params()
        if not 0 <= self.smoothing < np.inf:
            raise ParameterError(f"smoothing is {self.smoothing!r}; expected a number of items from 0 on")

    def _imagine(self, tally: "Tally") -> Floats:
        return self.smoothing * accurate_votes(len(tally.sizes))


class Tally(NamedTuple):
    """What one step of EM counts.

    Attributes:
        sizes: (k,) items of each class.
        votes: (m, k, k) votes, by LF, vote and class.
        abstentions: (m, k) abstentions, by LF and class; 0 where abstaining is not an outcome.
        coverage: (m,) share of items that the LF votes on; 1 where abstaining is not an outcome.

    >>> votes = np.array([[[2.0, 0.0], [1.0, 1.0]]])
    >>> Tally(np.array([3.0, 1.0]), votes, np.zeros((1, 2)), np.ones(1)).balance.tolist()
    [0.75, 0.25]
    """

    sizes: Floats
    votes: Floats
    abstentions: Floats
    coverage: Floats

    @property
    def balance(self) -> Floats:
        """The share of each class; equal shares if there is no item. -> (k,)."""
        total = self.sizes.sum()
        return self.sizes / total if total > 0 else np.full(len(self.sizes), 1 / len(self.sizes))


def _log(probabilities: Floats) -> Floats:
    """Logarithms, finite also where a probability is 0."""
    return np.where(probabilities > 0, np.log(np.maximum(probabilities, _TINY)), _LOG_ZERO)
