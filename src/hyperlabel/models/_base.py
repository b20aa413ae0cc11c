"""The contract of all label models.

`fit` reads a set and keeps its state: the classes, the names of the LFs, and a few numbers for each LF and class, never
rows. Every verb of a fitted model judges any votes in that state, alone or together. `fit_predict` is
the transductive use, one pass over the votes it labels; `predict` of a model that is not fitted is short for it.

A model sees `Patterns` and returns one row of probabilities per pattern; everything else, from reading votes to
breaking ties and giving results back to the items, happens here, once. A new model is one file with a class that has
`_fit` and `_probabilities`, and one line in `_models.py`.
"""

import copy
import logging
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Metric, check_count, check_memory, show_some, timestamp
from hyperlabel._core import score as score_labels
from hyperlabel.data import (
    ABSTAIN,
    Explanation,
    F1Rule,
    Labels,
    Patterns,
    TieBreak,
    Votes,
    decide,
    explain_item,
    find_f1_rule,
    read_balance,
    suggest_items,
    to_patterns,
    to_votes,
)
from hyperlabel.errors import ConvergenceWarning, ParameterError
from hyperlabel.models._context import (
    FitContext,
    add_gold,
    check_gold_counts,
    find_active,
    lean_to_median,
    refuse_outcomes,
)
from hyperlabel.models._parameters import Constraint, choice, number
from hyperlabel.models._profile import VoteProfile, count_votes
from hyperlabel.models._state import FittedState
from hyperlabel.networks import Gold, Reduce, Sums, add_sums

_log = logging.getLogger(__name__)

SEEDS = 1 << 32  # seeds of NumPy's generators are below this
_MOST_HELD = 1 << 23  # probabilities held at once if only labels are needed
_ROUNDING = 1e-5  # how much the sum of a row of float32 may differ from 1

_check_metric = choice(*get_args(Metric))

GoldCounts = NDArray[np.int64]
"""(p, k) gold items of each pattern and class."""


@dataclass(kw_only=True, eq=False, repr=False)
class LabelModel(FittedState, ABC):
    """Base of all label models. All share these parameters.

    Args:
        n_classes: Number of classes; inferred from votes and gold if neither this nor `classes` is given.
        classes: The classes, in the order of their probabilities.
        tie_break: The label of an item whose best classes are exactly tied: the `first` of them, none
            (`abstain`), or a `random` one that depends on the seed and the item's votes, not on its index.
        seed: For everything that is random.

    Attributes:
        short_names: Names by which `label_model` makes this model.
        needs_gold: Whether the model learns from gold alone.
        learns_from_gold: Whether `_fit` uses gold. For other models the gold items of a pattern are added to
            its probabilities.
        reads_in_passes: Whether the model can read a set that does not fit into memory, see `fit_passes`.
        takes_outcomes: Whether votes may be other than for one class, see `hyperlabel.data._outcomes`.
        n_iter_: After `fit`, the iterations it took.
        converged_: After `fit`, whether it converged.
    """

    n_classes: int | None = None
    classes: Sequence[Hashable] | None = None
    tie_break: TieBreak = "first"
    seed: int = 0

    short_names: ClassVar[tuple[str, ...]] = ()
    learns_from_gold: ClassVar[bool] = False
    reads_in_passes: ClassVar[bool] = False
    takes_outcomes: ClassVar[bool] = False
    _constraints: ClassVar[dict[str, Constraint]] = {
        "tie_break": choice("first", "abstain", "random"),
        "seed": number(whole=True),
    }

    # Methods that subclasses provide.

    @abstractmethod
    def _fit(self, patterns: Patterns, gold: GoldCounts | None) -> Float64 | None:
        """Learn from patterns and gold, and set `n_iter_` and `converged_`.

        All classes of the patterns have votes, gold or a stated share. What is learned is kept in
        attributes that end in an underscore. A model that already has the (p, k) probabilities of the patterns may
        return them.
        """

    @abstractmethod
    def _probabilities(self, patterns: Patterns) -> Float64:
        """Return class probabilities, a new array. -> (p, k); rows of patterns without votes are not looked at."""

    def _contributions(self, patterns: Patterns) -> Float64 | None:
        """Return what each vote adds to each class's log-odds, (e, k); None if the model does not know it exactly."""
        return None

    def _count_numbers(self, patterns: Patterns) -> int:
        """Return about how many numbers are held to learn from patterns, besides one per pattern and class."""
        return 0

    def _fit_passes(self, reduce: Reduce, shape: Patterns, gold: Gold | None) -> None:
        """Learn in passes over chunks, see `fit_passes`."""
        raise ParameterError(f"{self!r} needs all patterns in memory; use fit, or a model that reads in passes")

    # Learning.

    @property
    def _seed(self) -> int:
        """The seed, of any size, in the range of random generators."""
        return int(self.seed) % SEEDS

    def _read_set(self, votes: object, gold: object) -> tuple[Patterns, GoldCounts | None, NDArray[np.int64] | None]:
        """Return patterns to learn from, (p, k) gold items of each, and the (n,) gold classes of the items."""
        if isinstance(votes, Patterns):
            patterns = to_patterns(votes, n_classes=self.n_classes, classes=self.classes)
            return patterns, None if gold is None else check_gold_counts(gold, patterns), None
        read, classes = to_votes(votes, n_classes=self.n_classes, classes=self.classes), None
        if not read.stated and isinstance(read.classes[0], str) and getattr(self, "ordinal", False):
            raise ParameterError(
                f"ordinal is True, but the order of the classes {show_some(read.classes)} is only that of the "
                "alphabet; state them from low to high with classes"
            )
        if gold is not None:
            read, classes = read.with_labels(gold, "gold")
        patterns = Patterns.from_votes(read)
        return patterns, None if classes is None else patterns.count_labels(classes), classes

    def fit(self, votes: object, gold: object = None) -> Self:
        """Read a set and keep its state; later predictions are judged in it.

        Args:
            votes: The votes, or `Patterns`.
            gold: (n,) classes, -1 for unknown; or a mapping from item to class. For patterns without items, (p, k)
                numbers of gold items of each pattern and class.
        """
        patterns, counts, _ = self._read_set(votes, gold)
        self._learn(patterns, counts, for_f1=True)
        return self.note_source(abstain=votes.origin.abstain) if isinstance(votes, Votes) else self

    def fit_patterns(self, patterns: Patterns, gold: GoldCounts | None = None) -> Self:
        """Learn from counted patterns and (p, k) gold items of each pattern and class, as `fit` does."""
        return self.fit(patterns, gold)

    def fit_label_patterns(
        self, patterns: Patterns, gold: GoldCounts | None = None, metric: Metric = "accuracy"
    ) -> Labels:
        """Learn from counted patterns as `fit_patterns` does, and label them: they are judged once."""
        _check_metric(metric, "metric")
        patterns, counts, _ = self._read_set(patterns, gold)
        return self._to_labels(self._learn(patterns, counts, for_f1=True), patterns, metric)

    def fit_passes(
        self, reduce: Reduce, shape: Patterns, gold: Gold | None = None, metric: Metric = "accuracy"
    ) -> Self:
        """Learn from a set that does not fit into memory, in several passes over it.

        Args:
            reduce: Applies a function to every chunk of the set, as patterns like `shape`, and adds up the results.
            shape: Patterns with the LFs and classes of the set; their rows do not matter.
            gold: The vote rows of gold items, which are part of the chunks as well.
            metric: With `f1`, further passes find how items are labeled for F1.
        """
        _check_metric(metric, "metric")
        patterns, counts = (shape, None) if gold is None else (gold.patterns, gold.counts)
        context, inner = self._start(shape, VoteProfile.of_sums(reduce(count_votes)), counts, 0)
        inner_gold = None if counts is None else Gold.of(context.restrict(patterns), counts[:, context.active])
        self._fit_passes(lambda sums: reduce(partial(context._apply, sums)), inner, inner_gold)
        self._context = context if counts is None else self._with_gold(context, patterns, counts)
        if metric == "f1":
            self._find_f1_rule(lambda rule: reduce(partial(self._f1_sums, rule)))
        return self

    def fit_predict(self, votes: object, gold: object = None, metric: Metric = "accuracy") -> NDArray[Any]:
        """Fit these votes and label them, in one pass: the transductive use. -> (n,); -1 for no label.

        An item with gold has that class. See `fit` and `predict` for the arguments.
        """
        return self._label(votes, metric, gold, fit=True).labels

    def fit_predict_proba(self, votes: object, gold: object = None) -> Float64:
        """Fit these votes and give their probabilities, in one pass: the transductive use. -> (n, k).

        An item with gold is certain.
        """
        return self._label(votes, "accuracy", gold, fit=True).of_items(None).probabilities

    def _learn(self, patterns: Patterns, gold: GoldCounts | None, *, for_f1: bool) -> Float64:
        """Learn from patterns, and on request how items are labeled for F1. -> the patterns' (p, k) probabilities."""
        p, k = patterns.n_patterns, patterns.n_classes
        context, inner = self._start(patterns, VoteProfile.of_sums(count_votes(patterns)), gold, p * k)
        probabilities = self._fit(inner, None if gold is None else gold[:, context.active])
        self._context = context if gold is None else self._with_gold(context, patterns, gold)
        probabilities = self._complete(inner, patterns, probabilities)
        if for_f1:
            self._find_f1_rule(lambda rule: rule.sums(probabilities, patterns.counts * patterns.has_votes))
        _log.info("fitted %s: %s", self, patterns)
        if not self.converged_:
            message = f"{type(self).__name__} did not converge in {self.n_iter_} iterations; raise max_iter"
            warnings.warn(message, ConvergenceWarning, stacklevel=4)
        return probabilities

    def _start(
        self, shape: Patterns, profile: VoteProfile, gold: GoldCounts | None, others: int
    ) -> tuple[FitContext, Patterns]:
        """Return the context, and the patterns as the model sees them, before it learns.

        Forgets what was learned, so that nothing is half-learned if learning fails. Sets `_stated_balance`, (c,) the
        stated shares of the classes that are learned about, or None. `gold` are (g, k) gold items, and `others` is how
        many numbers are held besides those of the model.
        """
        for name, constraint in self._constraints.items():
            constraint(getattr(self, name), name)
        vars(self).pop("_context", None)
        self.n_iter_, self.converged_ = 0, True
        if shape.outcomes is not None and not self.takes_outcomes:
            refuse_outcomes(shape.outcomes, type(self).__name__)
        stated = getattr(self, "class_balance", None)
        balance = None if stated is None else read_balance(stated, shape.classes)
        active = find_active(profile.find_voted(shape.outcomes), gold, balance)
        shares = None if balance is None else balance[active]
        self._stated_balance: Float64 | None = None if shares is None else shares / shares.sum()
        context = FitContext(
            shape.classes,
            active,
            shape.lf_names,
            shape.n_lfs,
            outcomes=shape.outcomes,
            ordinal=bool(getattr(self, "ordinal", False)),
            profile=profile if len(profile.votes) == shape.n_lfs else None,
            fitted_at=timestamp(),
        )
        inner = context.restrict(shape)
        check_memory(
            self._count_numbers(inner) + others,
            f"{type(self).__name__} on {inner.n_patterns:,} different rows, {inner.n_lfs:,} LFs and "
            f"{inner.n_classes:,} classes",
            "use majority vote ('mv'), or fewer classes",
        )
        return context, inner

    def _with_gold(self, context: FitContext, patterns: Patterns, gold: GoldCounts) -> FitContext:
        """Return the context with gold items of patterns where `_fit` does not use them."""
        kept = None if self.learns_from_gold else Gold.of(patterns, gold)
        return replace(context, gold=kept, n_gold=int(gold.sum()))

    def _find_f1_rule(self, sums: Callable[[F1Rule], Sums]) -> None:
        """Keep how items are labeled for F1, found from the sums that rules give over all items."""
        self._context = replace(self._context, f1=find_f1_rule(sums, len(self._context.classes)))

    def _f1_sums(self, rule: F1Rule, patterns: Patterns) -> tuple[Float64, ...]:
        return rule.sums(self.pattern_probabilities(patterns), patterns.counts * patterns.has_votes)

    # Judging.

    def label(self, votes: object, metric: Metric = "accuracy", gold: object = None) -> Labels:
        """Return labels, confidence and probabilities of items, judged in the state of `fit`; see `predict`.

        For a model that is not fitted, this reads the votes first, as `fit_predict` does.

        Args:
            votes: The votes.
            metric: As for `predict`.
            gold: Known classes, as for `fit`: an item with gold has that class. A fitted model does not learn from it.

        >>> from hyperlabel import HyperLabelModel
        >>> HyperLabelModel().label([[1, 1], [-1, -1]], gold={1: 0}).labels.tolist()
        [1, 0]
        """
        if isinstance(votes, Patterns):
            return self._label(votes, metric, gold).of_items(None)
        read = self.read_votes(self._accept_empty(votes))
        return replace(self._label(read, metric, gold).of_items(read.items), origin=read.origin)

    def predict_proba(self, votes: object) -> Float64:
        """Return the class probabilities of each item, judged in the state of `fit`. -> (n, k), rows sum to 1.

        For a model that is not fitted, this is short for `fit_predict_proba`. An item without votes has the same
        probability for every class.
        """
        return self._label(votes, "accuracy").of_items(None).probabilities

    def predict(self, votes: object, metric: Metric = "accuracy") -> NDArray[Any]:
        """Return the label of each item, judged in the state of `fit`. -> (n,); -1 for items without votes.

        For a model that is not fitted, this is short for `fit_predict`.

        Args:
            votes: The votes.
            metric: Metric to optimize the labels for. `accuracy` takes the most probable class. `f1` takes the labels
                with the best expected F1: of the second of two classes, macro F1 for more. They are only as good as
                the probabilities: on public sets `f1` helps with a known class balance, and otherwise the most probable
                class of the default model has the better F1 (docs/model-card.md).
        """
        return self._label(votes, metric).labels

    def _label(self, votes: object, metric: Metric, gold: object = None, *, fit: bool = False) -> "_PatternLabels":
        """Label votes, judged in the state of `fit`, or by this model, or a copy, that reads them first."""
        _check_metric(metric, "metric")
        if fit or (not self.is_fitted and (gold is not None or not self.needs_gold)):
            model = self if fit else copy.copy(self)
            patterns, counts, classes = model._read_set(votes, gold)
            if model.reads_in_passes and patterns.n_patterns * patterns.n_classes > _MOST_HELD:
                labels = model._learn_in_parts(patterns, counts, metric)
            else:
                probabilities = model._learn(patterns, counts, for_f1=metric == "f1")
                labels = _PatternLabels(patterns, model._to_labels(probabilities, patterns, metric))
            if isinstance(votes, Votes):
                model.note_source(abstain=votes.origin.abstain)
            return replace(labels, gold=classes)
        self._check_fitted()
        votes = self._accept_empty(votes)
        patterns, classes = self.read(votes), None
        if gold is not None:
            _, classes = self.read_votes(votes).with_labels(gold, "gold")
        return _PatternLabels(patterns, judge=partial(self.label_patterns, metric=metric), gold=classes)

    def _learn_in_parts(self, patterns: Patterns, gold: GoldCounts | None, metric: Metric) -> "_PatternLabels":
        """Learn from many patterns of many classes in passes over parts."""
        most = max(1, _MOST_HELD // patterns.n_classes)

        def reduce_parts(sums: Callable[[Patterns], Sums]) -> Sums:
            return reduce(add_sums, map(sums, patterns.split(most)))

        counted = None if gold is None else Gold.of(patterns, gold)
        self.fit_passes(reduce_parts, patterns.take(np.arange(1)), counted, metric)
        return _PatternLabels(patterns, judge=partial(self.label_patterns, metric=metric))

    def label_patterns(self, patterns: Patterns, metric: Metric = "accuracy") -> Labels:
        """Return labels of patterns, one row per pattern, judged in the state of `fit`.

        Args:
            patterns: Patterns of the LFs and classes that the model learned, in their order.
            metric: As for `predict`.
        """
        _check_metric(metric, "metric")
        patterns = self._check_fitted().match(patterns, type(self).__name__)
        return self._to_labels(self.pattern_probabilities(patterns), patterns, metric)

    def pattern_probabilities(self, patterns: Patterns) -> Float64:
        """Return probabilities of patterns, judged in the state of `fit`; uniform where no LF votes. -> (p, k)."""
        context = self._check_fitted()
        patterns = context.match(patterns, type(self).__name__)
        check_memory(
            patterns.n_patterns * patterns.n_classes,
            f"{patterns.n_patterns:,} different rows of {patterns.n_classes:,} classes",
            "label fewer rows at a time",
        )
        return self._complete(context.restrict(patterns), patterns)

    def contributions(self, patterns: Patterns) -> Float64 | None:
        """Return what each vote adds to the log-odds of each class; None if it is not known exactly. -> (e, k)."""
        context = self._check_fitted()
        patterns = context.match(patterns, type(self).__name__)
        return self._contributions(context.restrict(patterns)) if context.all_active else None

    def _complete(self, inner: Patterns, patterns: Patterns, probabilities: Float64 | None = None) -> Float64:
        """Judge patterns as the model sees them, if need be, and go to all classes, gold and empty rows. -> (p, k).

        Numbers that are not probabilities are refused before they become labels: they left their range in a
        computation. A sum over everything finds NaN, infinity and rows that do not add up to one; it costs next to
        nothing.
        """
        context, p = self._context, patterns.n_patterns
        if probabilities is None and (inner.n_classes == 1 or not p):
            probabilities = np.ones((p, inner.n_classes))  # there is nothing to judge
        elif probabilities is None:
            probabilities = self._probabilities(inner)
        if not context.all_active:
            probabilities = context.expand(probabilities, patterns)
        if not patterns.has_votes.all():
            probabilities[~patterns.has_votes] = 1 / patterns.n_classes
        if context.gold is not None:
            probabilities = add_gold(probabilities, patterns, context.gold)
        if p and (not abs(probabilities.sum() - p) <= _ROUNDING * p or probabilities.min() < 0):
            raise ParameterError(
                f"this {type(self).__name__} fails on these votes: its numbers are out of range. If it comes from a "
                "file, fit and save it again"
            )
        return probabilities

    def _to_labels(self, probabilities: Float64, patterns: Patterns, metric: Metric) -> Labels:
        if metric == "accuracy":
            best = decide(probabilities, patterns, self.tie_break, self.seed)
            best = lean_to_median(best, probabilities) if self._context.ordinal else best
        elif self._context.f1 is None:
            raise ParameterError(
                "metric is 'f1', but the model read its set only for accuracy; call fit(votes), or read it with "
                "metric='f1'"
            )
        else:
            best = np.where(patterns.has_votes, self._context.f1.decide(probabilities), ABSTAIN)
        return Labels(best, probabilities, patterns.classes)

    # Questions about votes.

    def score(self, votes: object, truth: object, metric: Metric = "accuracy") -> float:
        """Return how well the labels of `predict(votes, metric)` agree with the truth, where it is known.

        Args:
            votes: The votes.
            truth: (n,) classes, -1 for unknown; or a mapping from item to class.
            metric: Share of right labels, or F1: of the second of two classes, macro F1 for more. An item without
                a label is wrong.
        """
        votes = self.read_votes(votes)
        read, classes = votes.with_labels(truth, "truth")
        if not (classes >= 0).any():
            raise ParameterError("truth is unknown for every item; expected at least one class")
        return score_labels(metric, classes, self.label(votes, metric).best, read.n_classes)

    def suggest(self, votes: object, n: int, gold: object = None) -> NDArray[Any]:
        """Return the items whose gold labels would help most, best first: identifiers, or else positions. -> (n,).

        Fewer are returned if a label could help no others.

        Args:
            votes: The votes.
            n: How many items.
            gold: What is already known, as for `fit`; these items are not suggested.

        >>> from hyperlabel import label_model
        >>> label_model("mv").suggest([[0, 1], [0, 1], [1, 1], [0, 0]], 1).tolist()
        [0]
        """
        check_count(n, "n")
        read = self.read_votes(votes)
        has_gold = np.zeros(read.n_items, bool)
        if gold is not None:
            read, classes = read.with_labels(gold, "gold")
            has_gold = classes >= 0
        fitted = self.fitted_on(read)
        if gold is not None:
            fitted = copy.copy(fitted)  # gold given here counts once: gold that was looked up is left out
            fitted._context = replace(fitted._context, gold=None)
        patterns = fitted.read(read)
        positions = suggest_items(fitted.pattern_probabilities(patterns), patterns, has_gold, n)
        return positions if read.items is None else read.items[positions]

    def explain(self, votes: object, item: Hashable) -> Explanation:
        """Explain which votes made the label of an item, and which change of votes would change it.

        Every change is judged in the state of `fit`; a model that is not fitted reads these votes first.

        Args:
            votes: The votes.
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
        read = self.read_votes(votes)
        return explain_item(self.fitted_on(read), read, item)

    def fitted_on(self, votes: object) -> Self:
        """Return this model if it is fitted, otherwise a copy that is fitted on these votes."""
        return self if self.is_fitted else copy.copy(self).fit(votes)

    # scikit-learn.

    def __sklearn_tags__(self) -> Any:
        """Return the tags of a classifier of integer votes; gold is the target, -1 unknown."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=self.needs_gold),
            classifier_tags=ClassifierTags(poor_score=True),  # features of other tasks are not votes
            input_tags=InputTags(categorical=True, sparse=True),
            requires_fit=self.needs_gold,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted


@dataclass(frozen=True)
class _PatternLabels:
    """Labels of patterns on their way to the items, which get only what is needed."""

    patterns: Patterns  # the patterns; patterns without items keep one row each
    whole: Labels | None = None  # one row per pattern; None if they are judged when needed
    judge: Callable[[Patterns], Labels] | None = None  # judges patterns
    gold: NDArray[np.int64] | None = None  # (n,) gold classes of the items, which overrule; -1 for unknown

    @property
    def labels(self) -> NDArray[Any]:
        """The label of each item; many are judged in parts, of which only labels are kept. (n,)."""
        if self.gold is not None:
            return self.of_items(None).labels
        if self.whole is not None:
            labels = self.whole.labels
        else:
            assert self.judge is not None  # one of the two always exists
            most = max(1, _MOST_HELD // self.patterns.n_classes)
            parts = self.patterns.split(most) if self.patterns.n_patterns > most else [self.patterns]
            labels = np.concatenate([self.judge(part).labels for part in parts])
        index = self.patterns.inverse
        return labels if index is None else labels.take(index.astype(np.intp, copy=False))

    def of_items(self, items: NDArray[Any] | None) -> Labels:
        """Return everything, with identifiers of the items."""
        index, k, labels = self.patterns.inverse, self.patterns.n_classes, self.whole
        if index is not None:
            n, remedy = len(index), "label fewer items at a time, or get only the labels: predict(votes)"
            check_memory(n * k, f"the probabilities of {n:,} items and {k:,} classes", remedy)
        if labels is None:
            assert self.judge is not None  # one of the two always exists
            labels = self.judge(self.patterns)
        if index is None:
            return labels
        labels = labels.take(index, items)
        return labels if self.gold is None else labels.with_gold(self.gold)
