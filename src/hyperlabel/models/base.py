"""The contract of all label models.

`fit` reads a set and keeps its state: the classes, the names of the LFs, and a few numbers for each LF and class, never
rows. Every verb of a fitted model judges any votes in that state, alone or together. `fit_predict` is
the transductive use, one pass over the votes it labels; `predict` of a model that is not fitted is short for it.

A model sees `Patterns` and returns one row of probabilities per pattern; everything else, from reading votes to
breaking ties and giving results back to the items, happens here, once. A new model is one file with a class that has
`_fit` and `_probabilities`, and one line in the registry of `hyperlabel.models`.
"""

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_count, check_flag, check_number
from hyperlabel.errors import ConvergenceWarning, ParameterError
from hyperlabel.kernels import Float64
from hyperlabel.labels import (
    Explanation,
    F1Rule,
    Labels,
    TieBreak,
    check_tie_break,
    decide,
    explain_item,
    find_f1_rule,
    suggest_items,
)
from hyperlabel.memory import check_memory
from hyperlabel.metrics import Metric, check_metric
from hyperlabel.metrics import score as score_labels
from hyperlabel.models.fitted import Fitted
from hyperlabel.models.packing import below, pack_params, pack_seen, probes, to_json, unpack_seen, with_prefix
from hyperlabel.models.parameters import Parameters
from hyperlabel.models.pattern_labels import PatternLabels, check_distributions
from hyperlabel.models.seen import (
    Seen,
    check_gold_counts,
    check_patterns,
    find_active,
    reduce_restricted,
    refuse_outcomes,
    vote_for,
)
from hyperlabel.networks import Gold, Reduce, Sums
from hyperlabel.patterns import Patterns
from hyperlabel.shown import show
from hyperlabel.tensors import Arrays, write_tensors
from hyperlabel.votes.classes import ABSTAIN
from hyperlabel.votes.stated import read_balance

SEEDS = 1 << 32  # seeds of NumPy's generators are below this


@dataclass(kw_only=True, eq=False, repr=False)
class LabelModel(Fitted, Parameters, ABC):
    """What every label model can do. All label models share these parameters.

    Args:
        n_classes: Number of classes; inferred from votes and gold if neither this nor `classes` is given.
        classes: The classes, in the order of their probabilities.
        tie_break: The label of an item whose best classes are exactly tied: the `first` of them, none
            (`abstain`), or a `random` one that depends on the seed and the item's votes, not on its index.
        seed: For everything that is random.

    Attributes:
        needs_gold: Whether the model learns from gold alone.
        learns_from_gold: Whether `_fit` uses gold. For other models the gold items of a pattern are added to
            its probabilities.
        reads_in_passes: Whether the model can read a set that does not fit into memory, see `fit_passes`.
        takes_outcomes: Whether votes may be other than for one class, see `hyperlabel.votes.outcomes`.
        n_iter_: After `fit`, the iterations it took.
        converged_: After `fit`, whether it converged.
    """

    n_classes: int | None = None
    classes: Sequence[Hashable] | None = None
    tie_break: TieBreak = "first"
    seed: int = 0

    learns_from_gold: ClassVar[bool] = False
    reads_in_passes: ClassVar[bool] = False
    takes_outcomes: ClassVar[bool] = False

    # What subclasses provide.

    @abstractmethod
    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> Float64 | None:
        """Learn; (p, k) gold items of each pattern and class, or None. Sets `n_iter_` and `converged_`.

        All classes of the patterns have votes, gold or a stated share. What is learned is kept in
        attributes that end in an underscore. A model that already has the (p, k) probabilities of the patterns may
        return them.
        """

    @abstractmethod
    def _probabilities(self, patterns: Patterns) -> Float64:
        """Probabilities of the classes, a new array. -> (p, k); rows of patterns without votes are not looked at."""

    def _contributions(self, patterns: Patterns) -> Float64 | None:
        """What each vote adds to each class's log-odds, (e, k); None for models that do not know it exactly."""
        return None

    def _count_numbers(self, patterns: Patterns) -> int:
        """About how many numbers are held at a time to learn from patterns, besides one per pattern and class."""
        return 0

    def _check_params(self) -> None:
        """Refuse parameters outside the values they may take."""
        check_number(self.seed, "seed", "a whole number", whole=True)
        check_tie_break(self.tie_break)

    def _fit_passes(self, reduce: Reduce, shape: Patterns, gold: Gold | None) -> None:
        """Learn in passes over chunks, see `fit_passes`."""
        raise ParameterError(f"{self!r} needs all patterns in memory; use fit, or a model that reads in passes")

    # Learning.

    def fit(self, votes: object, gold: object = None) -> Self:
        """Read a set and keep its state; later predictions are judged in it.

        Args:
            votes: The votes, or `Patterns`.
            gold: (n,) classes, -1 for unknown; or a mapping from item to class. For patterns without items, (p, k)
                numbers of gold items of each pattern and class.
        """
        patterns, counts, _ = self._read_set(votes, gold)
        return self.fit_patterns(patterns, counts)

    def fit_patterns(self, patterns: Patterns, gold: NDArray[np.int64] | None = None) -> Self:
        """Learn from counted patterns.

        Args:
            patterns: The patterns, with the classes of the labels.
            gold: (p, k) gold items of each pattern and class.
        """
        self._learn_counted(patterns, gold)
        return self

    def fit_label_patterns(
        self, patterns: Patterns, gold: NDArray[np.int64] | None = None, metric: Metric = "accuracy"
    ) -> Labels:
        """Learn from counted patterns as `fit_patterns` does, and label them: they are judged once."""
        check_metric(metric)
        return self._to_labels(self._learn_counted(patterns, gold), patterns, metric)

    def _learn_counted(self, patterns: Patterns, gold: object) -> Float64:
        check_patterns(patterns)
        counts = None if gold is None else check_gold_counts(gold, patterns)
        probabilities = self._learn(patterns, counts, for_f1=True)
        self._warn_unless_converged()
        return probabilities

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
        check_metric(metric)
        patterns, counts = (shape, None) if gold is None else (gold.patterns, gold.counts)
        seen, inner = self._start(shape, reduce(vote_for), counts, 0)
        known = None if counts is None else Gold.of(seen.restrict(patterns), counts[:, seen.active])
        self._fit_passes(partial(reduce_restricted, reduce, seen), inner, known)
        self._seen = self._with_gold(seen, patterns, counts)
        if metric == "f1":
            self._find_f1_rule(lambda rule: reduce(partial(self._f1_sums, rule)))
        return self

    def fit_predict(self, votes: object, gold: object = None, metric: Metric = "accuracy") -> NDArray[Any]:
        """Fit these votes and label them, in one pass: the transductive use. -> (n,); -1 for no label.

        An item with gold has that class. See `fit` and `predict` for the arguments.
        """
        return self._fit_label(votes, gold, metric).labels

    def fit_predict_proba(self, votes: object, gold: object = None) -> Float64:
        """Fit these votes and give their probabilities, in one pass: the transductive use. -> (n, k).

        An item with gold is certain.
        """
        return self._fit_label(votes, gold, "accuracy").probabilities

    def _fit_label(self, votes: object, gold: object, metric: Metric) -> PatternLabels:
        check_metric(metric)
        patterns, counts, known = self._read_set(votes, gold)
        probabilities = self._learn(patterns, counts, for_f1=metric == "f1")
        self._warn_unless_converged()
        return PatternLabels(self._to_labels(probabilities, patterns, metric), patterns, known)

    def _learn(self, patterns: Patterns, gold: NDArray[np.int64] | None, *, for_f1: bool) -> Float64:
        """Learn from patterns, and on request how items are labeled for F1. -> the patterns' (p, k) probabilities."""
        p, k = patterns.n_patterns, patterns.n_classes
        seen, inner = self._start(patterns, vote_for(patterns), gold, p * k)
        found = self._fit(inner, None if gold is None else gold[:, seen.active])
        self._seen = self._with_gold(seen, patterns, gold)
        probabilities = self._complete(self._judge(inner) if found is None else found, patterns)
        if for_f1:
            self._find_f1_rule(lambda rule: rule.sums(probabilities, patterns.counts * patterns.has_votes))
        return probabilities

    def _find_f1_rule(self, sums: Callable[[F1Rule], Sums]) -> None:
        """Keep how items are labeled for F1, found from the sums that rules give over all items."""
        self._seen = replace(self._seen, f1=find_f1_rule(sums, len(self._seen.classes)))

    def _check_memory(self, patterns: Patterns, others: int) -> None:
        """Refuse to learn what does not fit into memory."""
        check_memory(
            self._count_numbers(patterns) + others,
            f"{type(self).__name__} on {patterns.n_patterns:,} different rows, {patterns.n_lfs:,} LFs and "
            f"{patterns.n_classes:,} classes",
            "use majority vote ('mv'), or fewer classes",
        )

    def _warn_unless_converged(self) -> None:
        if not self.converged_:
            message = f"{type(self).__name__} did not converge in {self.n_iter_} iterations; raise max_iter"
            warnings.warn(message, ConvergenceWarning, stacklevel=4)

    def _start(self, shape: Patterns, cast: Sums, gold: NDArray[np.int64] | None, others: int) -> tuple[Seen, Patterns]:
        """What is seen, and the patterns as the model sees them, before it learns.

        Forgets what was learned, so that nothing is half-learned if learning fails. Sets `_stated_balance`, (c,) the
        stated shares of the classes that are learned about, or None. `cast` is (k,) whether any LF votes for a class,
        `gold` (g, k) gold items, and `others` how many numbers are held besides those of the model.
        """
        self._check_params()
        vars(self).pop("_seen", None)
        self.n_iter_, self.converged_ = 0, True
        if shape.outcomes is not None and not self.takes_outcomes:
            refuse_outcomes(shape.outcomes, type(self).__name__)
        stated = getattr(self, "class_balance", None)
        balance = None if stated is None else read_balance(stated, shape.classes)
        active = find_active(cast[0], gold, balance)
        shares = None if balance is None else balance[active]
        self._stated_balance: Float64 | None = None if shares is None else shares / shares.sum()
        ordinal = check_flag(getattr(self, "ordinal", False), "ordinal")
        seen = Seen(shape.classes, active, shape.lf_names, shape.n_lfs, outcomes=shape.outcomes, ordinal=ordinal)
        inner = seen.restrict(shape)
        self._check_memory(inner, others)
        return seen, inner

    def _with_gold(self, seen: Seen, patterns: Patterns, gold: NDArray[np.int64] | None) -> Seen:
        """What was seen, with (p, k) gold items of patterns where `_fit` does not use them."""
        if gold is None:
            return seen
        return replace(seen, gold=None if self.learns_from_gold else Gold.of(patterns, gold), n_gold=int(gold.sum()))

    # Judging.

    def label(self, votes: object, metric: Metric = "accuracy") -> Labels:
        """Labels, confidence and probabilities of items, judged in the state of `fit`; see `predict`.

        >>> from hyperlabel import HyperLabelModel
        >>> HyperLabelModel().label([[1, 1], [-1, -1]]).confidence.round(1).tolist()[1]
        0.5
        """
        if isinstance(votes, Patterns):
            return self._label(votes, metric).of_items(None)
        read = self.read_votes(votes)
        return replace(self._label(read, metric).of_items(read.items), origin=read.origin)

    def _label(self, votes: object, metric: Metric) -> PatternLabels:
        check_metric(metric)
        if not self.is_fitted and not self.needs_gold:
            return copy.copy(self)._fit_label(votes, None, metric)
        self._fitted()
        patterns = self.read(votes)
        return PatternLabels(self.label_patterns(patterns, metric), patterns)

    def label_patterns(self, patterns: Patterns, metric: Metric = "accuracy") -> Labels:
        """Labels of patterns, one row per pattern, judged in the state of `fit`.

        Args:
            patterns: Patterns of the LFs and classes that the model learned, in their order.
            metric: As for `predict`.
        """
        patterns = self._fitted().match(patterns, type(self).__name__)
        return self._to_labels(self.pattern_probabilities(patterns), patterns, metric)

    def pattern_probabilities(self, patterns: Patterns) -> Float64:
        """Probabilities of patterns, judged in the state of `fit`; uniform where no LF votes. -> (p, k)."""
        seen = self._fitted()
        patterns = seen.match(patterns, type(self).__name__)
        check_memory(
            patterns.n_patterns * patterns.n_classes,
            f"{patterns.n_patterns:,} different rows of {patterns.n_classes:,} classes",
            "label fewer rows at a time",
        )
        return self._complete(self._judge(seen.restrict(patterns)), patterns)

    def contributions(self, patterns: Patterns) -> Float64 | None:
        """What each vote adds to the log-odds of each class; None if the model does not know it exactly. -> (e, k)."""
        seen = self._fitted()
        patterns = seen.match(patterns, type(self).__name__)
        return self._contributions(seen.restrict(patterns)) if seen.all_active else None

    def predict_proba(self, votes: object) -> Float64:
        """Probabilities of the classes for each item, judged in the state of `fit`. -> (n, k), rows sum to 1.

        For a model that is not fitted, this is short for `fit_predict_proba`. An item without votes has the same
        probability for every class.
        """
        return self._label(votes, "accuracy").probabilities

    def predict(self, votes: object, metric: Metric = "accuracy") -> NDArray[Any]:
        """The label of each item, judged in the state of `fit`. -> (n,); -1 for items without votes.

        For a model that is not fitted, this is short for `fit_predict`.

        Args:
            votes: The votes.
            metric: What the labels should be good at. `accuracy` takes the most probable class. `f1` takes the labels
                with the best expected F1: of the second of two classes, macro F1 for more. They are only as good as
                the probabilities: on public sets `f1` helps with a known class balance, and otherwise the most probable
                class of the default model has the better F1 (docs/model-card.md).
        """
        return self._label(votes, metric).labels

    def score(self, votes: object, truth: object, metric: Metric = "accuracy") -> float:
        """How well the labels of `predict(votes, metric)` agree with the truth, over items whose truth is known.

        Args:
            votes: The votes.
            truth: (n,) classes, -1 for unknown; or a mapping from item to class.
            metric: Share of right labels, or F1: of the second of two classes, macro F1 for more. An item without
                a label is wrong.
        """
        votes = self.read_votes(votes)
        read, known = votes.with_labels(truth, "truth")
        if not (known >= 0).any():
            raise ParameterError("truth is unknown for every item; expected at least one class")
        best = self.label(votes, metric).best
        return score_labels(metric, known, best, read.n_classes)

    def suggest(self, votes: object, n: int, gold: object = None) -> NDArray[Any]:
        """The items whose gold labels would help most, most helpful first: their identifiers, or else places. -> (n,).

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
        known = np.zeros(read.n_items, bool)
        if gold is not None:
            read, classes = read.with_labels(gold, "gold")
            known = classes >= 0
        fitted = self.fitted_on(read)
        if gold is not None:
            fitted = copy.copy(fitted)  # gold given here counts once: gold that was looked up is left out
            fitted._seen = replace(fitted._fitted(), gold=None)
        patterns = fitted.read(read)
        places = suggest_items(fitted.pattern_probabilities(patterns), patterns, known, n)
        return places if read.items is None else read.items[places]

    def explain(self, votes: object, item: Hashable) -> Explanation:
        """Which votes made the label of an item, and which change of votes would change it.

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
        """This model if it is fitted, otherwise a copy that is fitted on these votes."""
        return self if self.is_fitted else copy.copy(self).fit(votes)

    @property
    def _seed(self) -> int:
        """The seed, of any size, in the range of random generators."""
        return int(self.seed) % SEEDS

    def _judge(self, inner: Patterns) -> Float64:
        """Like `_probabilities`; with one class, or without patterns, there is nothing to judge."""
        if inner.n_classes == 1 or not inner.n_patterns:
            return np.ones((inner.n_patterns, inner.n_classes))
        return self._probabilities(inner)

    def _complete(self, probabilities: Float64, patterns: Patterns) -> Float64:
        """From the active classes to all, uniform where no LF votes, gold looked up. (p, c) -> (p, k)."""
        probabilities = self._seen.expand(probabilities, patterns)
        if not patterns.has_votes.all():
            probabilities[~patterns.has_votes] = 1 / patterns.n_classes
        return check_distributions(self._seen.add_gold(probabilities, patterns), type(self).__name__)

    def _to_labels(self, probabilities: Float64, patterns: Patterns, metric: Metric) -> Labels:
        check_metric(metric)
        if metric == "f1":
            rule = self._seen.f1
            if rule is None:
                raise ParameterError(
                    "metric is 'f1', but the model read its set only for accuracy; call fit(votes), or read it with "
                    "metric='f1'"
                )
            best = np.where(patterns.has_votes, rule.decide(probabilities), ABSTAIN)
        else:
            best = decide(probabilities, patterns, self.tie_break, self.seed)
        return Labels(best, probabilities, patterns.classes)

    def _f1_sums(self, rule: F1Rule, patterns: Patterns) -> tuple[Float64, ...]:
        return rule.sums(self.pattern_probabilities(patterns), patterns.counts * patterns.has_votes)

    # Files.

    def save(self, path: str | Path) -> None:
        """Write the model, fitted or not, to a safetensors file; `hyperlabel.load` reads it. Nothing is pickled."""
        arrays, header = self.to_arrays()
        write_tensors(path, arrays, header, "model")

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """The model, fitted or not, as named arrays and a header that JSON knows."""
        header: dict[str, Any] = {"model": type(self).__name__, "params": pack_params(self)}
        if not self.is_fitted:
            return {}, header
        seen, header["seen"] = pack_seen(self._seen)
        state, header["learned"] = self._to_state()
        return with_prefix(seen, "seen") | with_prefix(state, "state"), header

    def restore(self, arrays: Arrays, header: dict[str, Any]) -> None:
        """Restore what `to_arrays` returned, without parameters.

        A state that cannot judge or be saved again raises an error at once.
        """
        if "seen" in header:
            self._seen = unpack_seen(below(arrays, "seen"), header["seen"])
            self._from_state(below(arrays, "state"), header["learned"])
            with np.errstate(all="ignore"):
                for patterns in probes(self._seen):
                    self.label_patterns(patterns, "accuracy" if self._seen.f1 is None else "f1")
            self.to_arrays()

    def _to_state(self) -> tuple[Arrays, dict[str, Any]]:
        """What was learned, the attributes that end in an underscore: arrays, and values that JSON knows."""
        learned = {name: value for name, value in vars(self).items() if name.endswith("_")}
        arrays = {name: value for name, value in learned.items() if isinstance(value, np.ndarray)}
        return arrays, {name: to_json(value, name) for name, value in learned.items() if name not in arrays}

    def _from_state(self, arrays: Arrays, learned: dict[str, Any]) -> None:
        """The inverse of `_to_state`."""
        for name, value in (*arrays.items(), *learned.items()):
            if not name.endswith("_") or name.startswith("_") or isinstance(getattr(type(self), name, None), property):
                raise ValueError(f"{show(name)} is not a learned attribute")
            setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn requires of an estimator: a classifier of integer votes; gold is the target, -1 unknown."""
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
