"""Automatic choice: a rule that looks only at the votes and picks the label model that suits them.

Votes come in two kinds. Rules vote for one class each: that they abstain says more than how they err, and models that
learn how each LF errs fail on them. People, and models asked for an answer, vote for any class: where several of
them vote on an item, how each one errs can be learned. If all of them vote on everything, as panels of judges do, they
may err together or independently, which the hyper label model tells apart. Three numbers tell the kinds apart: the
share of votes cast by LFs that vote for more than one class, the votes per item, and these as a share of the LFs. The
rule:

    share of votes at most 0.5: balanced vote of power 0.5 (`bv`);
    at most 2.5 votes per item: majority vote (`mv`), since there is too little to learn from;
    more than 0.75 of the LFs vote on an item: the hyper label model (`hlm3`);
    otherwise: hierarchical Dawid-Skene (`hds`).

The models have their defaults, except that `hds` ignores all abstentions: a person who votes for one class only
was rarely asked. `hlm3` and `hds` learn from gold, and whatever is chosen, the gold items of a pattern are added to its
probabilities.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Arrays, Float64
from hyperlabel.data import Patterns
from hyperlabel.errors import ConvergenceWarning
from hyperlabel.models._base import LabelModel
from hyperlabel.models._dawid_skene import HierarchicalDawidSkene
from hyperlabel.models._majority import BalancedVote, MajorityVote
from hyperlabel.models._pretrained import HyperLabelModel
from hyperlabel.models._state import strip_prefix, with_prefix

Choice = Literal["hds", "hlm3", "mv", "bv"]

_MANY_SIDED = 0.5  # with a larger share of votes, LFs are considered people
_ENOUGH_VOTES = 2.5  # with more votes per item, people's errors can be learned
_DENSE = 0.75  # if a larger share of the LFs votes on an item, they are a panel


@dataclass(kw_only=True, eq=False, repr=False)
class AutomaticModel(LabelModel):
    """Labels by the model that a rule on the votes chooses.

    An LF that was silent in `fit` counts as in the chosen model.

    Attributes:
        chosen_: The short name of the chosen model: `hlm3`, `hds`, `mv` or `bv`.
        model_: The chosen model, with what it learned.
        many_sided_share_: Share of votes cast by LFs that vote for more than one class.
        votes_per_item_: Mean number of votes per item, over items with votes.
        density_: The same, as a share of the LFs that vote.

    >>> people, rules = [[0, 0, 1, -1, -1], [-1, -1, 1, 1, 1], [0, -1, 0, -1, 0]], [[0, -1], [-1, 1], [0, 1]]
    >>> AutomaticModel().fit(people).chosen_, AutomaticModel().fit(rules).chosen_
    ('hds', 'bv')
    """

    takes_outcomes = True
    short_names = ("auto",)

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> Float64:
        self.many_sided_share_ = share_of_many_sided(patterns)
        self.votes_per_item_ = votes_per_item(patterns)
        self.density_ = self.votes_per_item_ / max(len(np.unique(patterns.lf)), 1)
        self.chosen_ = choose(self.many_sided_share_, self.votes_per_item_, self.density_)
        self.model_ = _make(self.chosen_)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # this model warns
            probabilities = self.model_._learn(patterns, gold if self.model_.learns_from_gold else None, for_f1=False)
        self.n_iter_, self.converged_ = self.model_.n_iter_, self.model_.converged_
        return probabilities

    def _probabilities(self, patterns: Patterns) -> Float64:
        return self.model_.pattern_probabilities(patterns)

    def _to_state(self) -> tuple[Arrays, dict[str, Any]]:
        _, learned = super()._to_state()
        arrays, learned["model_"] = self.model_.to_arrays()
        return with_prefix(arrays, "model_"), learned

    def _from_state(self, arrays: Arrays, learned: dict[str, Any]) -> None:
        super()._from_state({}, learned)
        self.model_ = _make(self.chosen_)
        self.model_.restore(strip_prefix(arrays, "model_"), learned["model_"])


def choose(many_sided_share: float, votes_per_item: float, density: float) -> Choice:
    """Return the short name of the model for votes of this kind."""
    if many_sided_share <= _MANY_SIDED:
        return "bv"
    if votes_per_item <= _ENOUGH_VOTES:
        return "mv"
    return "hlm3" if density > _DENSE else "hds"


def _make(choice: Choice) -> LabelModel:
    if choice == "hlm3":
        return HyperLabelModel("hlm3")
    if choice == "hds":
        return HierarchicalDawidSkene(abstain="ignore")
    return MajorityVote() if choice == "mv" else BalancedVote()


def share_of_many_sided(patterns: Patterns) -> float:
    """Return the share of votes cast by LFs that vote for more than one class; 0 without votes."""
    m, k = patterns.n_lfs, patterns.n_codes
    cast = np.bincount(patterns.lf * k + patterns.vote, patterns.counts[patterns.row], m * k).reshape(m, k)
    many_sided = (cast > 0).sum(1) > 1
    return float(cast[many_sided].sum() / max(cast.sum(), 1))


def votes_per_item(patterns: Patterns) -> float:
    """Return the mean number of votes per item, over items with votes; 0 without votes."""
    items = int(patterns.counts @ patterns.has_votes)
    return float(patterns.counts @ np.diff(patterns.starts) / max(items, 1))
