"""Automatic choice: a rule that looks at the votes alone and takes the label model that suits them.

Votes come in two kinds. Rules vote for one class each: that they abstain says more than how they err, and models that
learn how each LF errs go astray on them. People, and models asked for an answer, vote for any class: where several of
them vote on an item, how each one errs can be learned. Two numbers tell the kinds apart: the share of votes cast by
LFs that vote for more than one class, and the votes an item has. The rule:

    share above 0.5 and more than 2.5 votes an item: hierarchical Dawid-Skene (`hds`);
    share above 0.5: majority vote (`mv`), since there is too little to learn from;
    otherwise: balanced vote of power 0.5 (`bv`).

The models have their defaults, but that `hds` ignores all abstentions: among people, one who votes for one class only
was asked seldom. Gold is clamped in `hds`, and whatever is chosen, the gold items of a pattern are added to its
probabilities.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hyperlabel.models.balanced import BalancedVote
from hyperlabel.models.base import LabelModel
from hyperlabel.models.hierarchical import HierarchicalDawidSkene
from hyperlabel.models.majority import MajorityVote
from hyperlabel.patterns import Patterns

Floats = NDArray[np.float64]
Choice = Literal["hds", "mv", "bv"]

_MANY_SIDED = 0.5  # share of votes above which LFs are taken for people
_ENOUGH_VOTES = 2.5  # an item, above which people's errors can be learned


class AutomaticModel(LabelModel):
    """Labels by the model that a rule on the votes chooses.

    Args:
        n_classes: Number of classes; inferred from votes and gold if neither this nor `classes` is given.
        classes: The classes, in the order of their probabilities.
        tie_break: `first`, `abstain` or `random`, for items whose best classes are exactly tied.
        seed: For `tie_break="random"`; everything else is deterministic.

    Attributes:
        chosen_: The short name of the chosen model: `hds`, `mv` or `bv`.
        model_: The chosen model, with what it learned.
        many_sided_share_: Share of votes cast by LFs that vote for more than one class.
        votes_per_item_: Votes of an item, on average over items with votes.

    >>> people, rules = [[0, 0, 1], [1, 1, 1], [0, 0, 0]], [[0, -1], [-1, 1], [0, 1], [0, -1]]
    >>> AutomaticModel().fit(people).chosen_, AutomaticModel().fit(rules).chosen_
    ('hds', 'bv')
    """

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        self.many_sided_share_ = share_of_many_sided(patterns)
        self.votes_per_item_ = votes_per_item(patterns)
        self.chosen_: Choice = choose(self.many_sided_share_, self.votes_per_item_)
        self.model_ = _make(self.chosen_)
        self.model_.n_iter_, self.model_.converged_ = 0, True
        self.model_._fit(patterns, gold)
        self.n_iter_, self.converged_ = self.model_.n_iter_, self.model_.converged_

    def _probabilities(self, patterns: Patterns) -> Floats:
        return self.model_._probabilities(patterns)

    def _contributions(self, patterns: Patterns) -> Floats | None:
        return self.model_._contributions(patterns)


def choose(many_sided_share: float, votes_per_item: float) -> Choice:
    """The short name of the model for votes of such a kind.

    >>> choose(0.9, 5.0), choose(0.9, 1.3), choose(0.0, 5.0)
    ('hds', 'mv', 'bv')
    """
    if many_sided_share <= _MANY_SIDED:
        return "bv"
    return "hds" if votes_per_item > _ENOUGH_VOTES else "mv"


def _make(choice: Choice) -> LabelModel:
    if choice == "hds":
        return HierarchicalDawidSkene(abstain="ignore")
    return MajorityVote() if choice == "mv" else BalancedVote()


def share_of_many_sided(patterns: Patterns) -> float:
    """Share of votes cast by LFs that vote for more than one class; 0 without votes.

    >>> from hyperlabel.votes import Votes
    >>> share_of_many_sided(Patterns.from_votes(Votes.from_array([[0, 1], [1, -1], [0, 1]])))
    0.6
    """
    m, k = patterns.n_lfs, patterns.n_classes
    cast = np.bincount(patterns.lf * k + patterns.vote, patterns.counts[patterns.row], m * k).reshape(m, k)
    many_sided = (cast > 0).sum(1) > 1
    return float(cast[many_sided].sum() / max(cast.sum(), 1))


def votes_per_item(patterns: Patterns) -> float:
    """Votes of an item, on average over items with votes; 0 without votes.

    >>> from hyperlabel.votes import Votes
    >>> votes_per_item(Patterns.from_votes(Votes.from_array([[0, 1], [1, -1], [-1, -1]])))
    1.5
    """
    items = int(patterns.counts @ patterns.has_votes)
    return float(patterns.counts @ np.diff(patterns.starts) / max(items, 1))
