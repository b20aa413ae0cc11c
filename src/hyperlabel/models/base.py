"""The contract of all label models.

A model sees `Patterns` and returns one row of probabilities a pattern; everything else, from reading votes to
breaking ties and giving results back to the items, happens here, once. A new model is one file with a class
that has `_fit` and `_probabilities`, and one line in the registry of `hyperlabel.models`.
"""

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from hyperlabel.classes import Classes
from hyperlabel.errors import ConvergenceWarning, NotFittedError, ParameterError
from hyperlabel.kernels import hash_rows, mix_bits
from hyperlabel.models.decide import Metric, call_for_f1, check_metric
from hyperlabel.models.explain import Explanation, explain_item
from hyperlabel.models.suggest import suggest_items
from hyperlabel.patterns import Patterns
from hyperlabel.votes import ABSTAIN, Votes, to_votes

TieBreak = Literal["first", "abstain", "random"]
Self = TypeVar("Self", bound="LabelModel")

_TIE = 1e-6  # probabilities closer than this are tied: networks compute in float32


class LabelModel(ABC):
    """What every label model can do.

    Args:
        n_classes: Number of classes; inferred from votes and gold if neither this nor `classes` is given.
        classes: The classes, in the order of their probabilities.
        tie_break: The label of an item whose best classes are exactly tied: the `first` of them, none
            (`abstain`), or a `random` one that depends on the seed and the item's votes, not on its place.
        seed: For everything that is random.

    Attributes:
        needs_fit: Whether the model must learn before it can predict.
        needs_gold: Whether the model learns from gold alone.
        learns_from_gold: Whether `_fit` uses gold. For other models the gold items of a pattern are added to
            its probabilities.
        n_iter_: After `fit`, the iterations it took.
        converged_: After `fit`, whether it converged.
    """

    needs_fit: ClassVar[bool] = True
    learns_from_gold: ClassVar[bool] = False
    needs_gold: ClassVar[bool] = False

    n_iter_: int
    _fitted_classes: tuple[Hashable, ...]
    _gold: tuple[Patterns, NDArray[np.int64]] | None
    converged_: bool
    n_features_in_: int

    def __init__(
        self,
        *,
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
        tie_break: TieBreak = "first",
        seed: int = 0,
    ) -> None:
        self.n_classes = n_classes
        self.classes = classes
        self.tie_break = tie_break
        self.seed = seed

    @abstractmethod
    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        """Learn; (p, k) gold items of each pattern and class, or None. Sets `n_iter_` and `converged_`."""

    @abstractmethod
    def _probabilities(self, patterns: Patterns) -> NDArray[np.float64]:
        """Probabilities of the classes, a new array. -> (p, k); rows of patterns without votes are not looked at."""

    def _contributions(self, patterns: Patterns) -> NDArray[np.float64] | None:
        """What each vote adds to each class's log-odds, (e, k); None for models that do not know it exactly."""
        return None

    def fit(self: Self, votes: object, gold: object = None) -> Self:
        """Learn from votes, and from the true classes of some items.

        Args:
            votes: The votes.
            gold: (n,) classes, -1 for unknown; or a mapping from item to class.
        """
        read = to_votes(votes, n_classes=self.n_classes, classes=self.classes)
        known = None
        if gold is not None:
            read, known = read.with_labels(gold, "gold")
        patterns = Patterns.from_votes(read)
        counts = None if known is None else patterns.count_labels(known)
        self._fit_patterns(patterns, counts, read.classes)
        return self

    def _fit_patterns(self, patterns: Patterns, gold: NDArray[np.int64] | None, classes: Classes) -> None:
        """Learn from patterns, and (p, k) gold items of each pattern and class."""
        vars(self).pop("_fitted_classes", None)  # should learning fail, nothing half-learned is left
        self.n_iter_, self.converged_ = 0, True
        self._fit(patterns, gold)
        self._gold = None if gold is None or self.learns_from_gold else (replace(patterns, inverse=None), gold)
        self._fitted_classes, self.n_features_in_ = classes, patterns.n_lfs
        if not self.converged_:
            message = f"{type(self).__name__} did not converge in {self.n_iter_} iterations; raise max_iter"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of their probabilities; known after `fit`."""
        self._check_fitted()
        return np.array(self._fitted_classes)

    def _is_fitted(self) -> bool:
        return hasattr(self, "_fitted_classes")

    def _check_fitted(self) -> None:
        if not self._is_fitted():
            raise NotFittedError(f"this {type(self).__name__} has not learned yet; call fit(votes) first")

    def predict_proba(self, votes: object) -> NDArray[np.float64]:
        """Probabilities of the classes for each item. -> (n, k), rows sum to 1.

        An item without votes has the same probability for every class.
        """
        patterns = Patterns.from_votes(self._read(votes))
        return patterns.expand(self._pattern_probabilities(patterns))

    def predict(self, votes: object, metric: Metric = "accuracy") -> NDArray[Any]:
        """The label of each item. -> (n,); -1 for items without votes.

        Args:
            votes: The votes.
            metric: What the labels are to be good at: `accuracy` takes the most probable class; `f1`, for two
                classes, calls as many items of the second class as the probabilities let expect the best F1 from.
                That is only as good as the probabilities: on public sets it pays with a known class balance, and
                the most probable class of the default model has the better F1 otherwise (docs/model-card.md).
        """
        check_metric(metric)
        read = self._read(votes)
        patterns = Patterns.from_votes(read)
        best = self._decide(self._pattern_probabilities(patterns), patterns, metric)
        return patterns.expand(read.decode(best))

    def suggest(self, votes: object, n: int, gold: object = None) -> NDArray[np.intp]:
        """The items whose gold labels would help most, most helpful first. -> (n,) indices.

        Fewer are returned if there are no more that a label could help.

        Args:
            votes: The votes.
            n: How many items.
            gold: What is known already, as for `fit`; these items are not suggested.

        >>> from hyperlabel import label_model
        >>> label_model("mv").suggest([[0, 1], [0, 1], [1, 1], [0, 0]], 1).tolist()
        [0]
        """
        if n < 1:
            raise ParameterError(f"n is {n}; expected at least 1")
        read = self._read(votes)
        known = np.zeros(read.n_items, bool)
        if gold is not None:
            read, classes = read.with_labels(gold, "gold")
            known = classes >= 0
        patterns = Patterns.from_votes(read)
        return suggest_items(self._pattern_probabilities(patterns), patterns, known, n)

    def score(self, votes: object, truth: object, metric: Metric = "accuracy") -> float:
        """How well the labels agree with the truth, over the items whose truth is known.

        Args:
            votes: The votes.
            truth: (n,) classes, -1 for unknown; or a mapping from item to class.
            metric: Share of right labels, or F1 of the second class. An item without a label is wrong.
        """
        check_metric(metric)
        read, known = self._read(votes).with_labels(truth, "truth")
        if not (known >= 0).any():
            raise ParameterError("truth is unknown for every item; expected at least one class")
        patterns = Patterns.from_votes(read)
        best = patterns.expand(self._best(self._pattern_probabilities(patterns), patterns))
        right, positive = best[known >= 0] == known[known >= 0], known[known >= 0] == 1
        if metric == "accuracy":
            return float(right.mean())
        called = best[known >= 0] == 1
        return float(2 * (called & positive).sum() / max(1, called.sum() + positive.sum()))

    def explain(self, votes: object, item: Hashable) -> Explanation:
        """Which votes made the label of an item, and which change of votes would change it.

        Args:
            votes: All votes: the label may depend on the other items.
            item: The item: its identifier if the votes have them, else its index.

        >>> from hyperlabel import label_model
        >>> print(label_model("mv").explain([[0, 0, 0, 1, 1]], 0))
        item 0: 0 (probability 0.60)
        <BLANKLINE>
        LF   vote  adds to the log-odds of 0
        lf3  1     -0.693
        lf4  1     -0.693
        lf0  0     +0.405
        lf1  0     +0.405
        lf2  0     +0.405
        <BLANKLINE>
        The label would be 1 if lf0 voted 1 instead of 0.
        """
        return explain_item(self, self._read(votes), item)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments this model was made with."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self: Self, **params: Any) -> Self:
        """Change arguments by name."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator: a classifier of integer votes; gold is the target, -1 unknown."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=self.needs_gold),
            classifier_tags=ClassifierTags(poor_score=True),  # features of other tasks are no votes
            input_tags=InputTags(categorical=True, sparse=True),
            requires_fit=self.needs_fit,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted()

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        params = self.get_params().items()
        changed = [f"{n}={v!r}" for n, v in params if repr(v) != repr(defaults[n].default)]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _read(self, votes: object) -> Votes:
        """Votes to predict on: with the classes that `fit` saw, if there was one."""
        if self._is_fitted():
            return to_votes(votes, classes=self._fitted_classes)
        if self.needs_fit:
            self._check_fitted()
        return to_votes(votes, n_classes=self.n_classes, classes=self.classes)

    def _pattern_probabilities(self, patterns: Patterns) -> NDArray[np.float64]:
        """As `_probabilities`, uniform where nobody votes, with the gold of `fit` looked up."""
        if self.needs_fit and patterns.n_lfs != self.n_features_in_:
            raise ParameterError(
                f"votes has {patterns.n_lfs} LFs, but this {type(self).__name__} learned from "
                f"{self.n_features_in_}; give it the same LFs, or fit it again"
            )
        if patterns.n_classes == 1:
            return np.ones((patterns.n_patterns, 1))
        probabilities = self._probabilities(patterns)
        probabilities[~patterns.has_votes] = 1 / patterns.n_classes
        return self._look_up_gold(probabilities, patterns)

    def _look_up_gold(self, probabilities: NDArray[np.float64], patterns: Patterns) -> NDArray[np.float64]:
        """Count the probabilities as one item, add the pattern's gold items. (p, k) -> (p, k)."""
        if not self._is_fitted() or self._gold is None:
            return probabilities
        gold_patterns, counts = self._gold
        place = patterns.find(gold_patterns)
        gold = np.where((place >= 0)[:, None] & patterns.has_votes[:, None], counts[place], 0)
        looked_up: NDArray[np.float64] = (probabilities + gold) / (1 + gold.sum(1, keepdims=True))
        return looked_up

    def _decide(self, probabilities: NDArray[np.float64], patterns: Patterns, metric: Metric) -> NDArray[np.intp]:
        """The class number of each pattern's label, for a metric; -1 for none. (p, k) -> (p,)."""
        return call_for_f1(probabilities, patterns) if metric == "f1" else self._best(probabilities, patterns)

    def _best(self, probabilities: NDArray[np.float64], patterns: Patterns) -> NDArray[np.intp]:
        """The class number of each pattern's label, -1 for none. (p, k) -> (p,)."""
        if self.tie_break not in ("first", "abstain", "random"):
            raise ParameterError(f"tie_break is {self.tie_break!r}; expected 'first', 'abstain' or 'random'")
        tied = probabilities >= probabilities.max(1, keepdims=True) - _TIE
        best: NDArray[np.intp] = tied.argmax(1)
        if self.tie_break != "first":
            several = tied.sum(1) > 1
            best[several] = ABSTAIN if self.tie_break == "abstain" else self._draw(tied, patterns)[several]
        best[~patterns.has_votes] = ABSTAIN
        return best

    def _draw(self, tied: NDArray[np.bool_], patterns: Patterns) -> NDArray[np.intp]:
        """One of the tied classes, by a hash of the pattern's votes. (p, k) -> (p,)."""
        keys = mix_bits(hash_rows(patterns.starts, patterns.lf, patterns.vote, patterns.n_classes, self.seed))
        chosen = keys % tied.sum(1).astype(np.uint64)
        drawn: NDArray[np.intp] = (tied.cumsum(1) > chosen[:, None]).argmax(1)
        return drawn
