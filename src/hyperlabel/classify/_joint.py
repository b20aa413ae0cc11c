"""Votes and texts together: `label`, and the state that labels new items in the same way.

The views of the texts (`_views`) learn from what the label model makes of the votes, and from gold; `_combining` joins
both, and learns from gold how. The label model itself does not see gold then. `JointModel` keeps all of it for
tomorrow's rows.
"""

import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Metric, check_metric, read_tensors, write_tensors
from hyperlabel.classify._combining import Echo, Mix, choose_mix, find_doubt, find_shift, to_shares
from hyperlabel.classify._inputs import are_texts, count_items, read_inputs
from hyperlabel.classify._vectors import Vectorizer, Vectors
from hyperlabel.classify._views import LEAST, Index, Views, log_odds
from hyperlabel.data import Identity, Labels, Patterns, Votes, find_f1_rule, read_balance
from hyperlabel.errors import ParameterError, WeightsError, warn_of_votes
from hyperlabel.models import LabelModel, choose_model, strip_prefix, with_prefix
from hyperlabel.models import load as load_model

VOTES, TEXT, GOLD = "votes", "text", "gold"
"""Sources of a label."""
GOLD_WEIGHT = 2.5
"""Items with votes that an item with gold counts as, when the views learn."""


@dataclass(frozen=True, eq=False)
class TextItems:
    """Votes, texts and gold of n items, read once."""

    patterns: Patterns  # with the pattern of each item
    by_votes: Labels  # of the items
    vectors: Vectors
    gold: NDArray[np.int64]  # (n,) -1 for unknown

    @classmethod
    def read(cls, model: LabelModel, votes: object, gold: object, vectors: Vectors) -> "TextItems":
        """Read votes in the state of a fitted model, and gold."""
        read = model.read_votes(votes)
        numbers = None if gold is None else read.with_labels(gold, "gold")[1]
        if len(vectors) != read.n_items:
            raise ParameterError(
                f"texts has {len(vectors)} items but votes has {read.n_items}; expected one text or row per item"
            )
        items = cls.of_patterns(model, Patterns.from_votes(read), numbers, vectors)
        return replace(items, by_votes=replace(items.by_votes, items=read.items, origin=read.origin))

    @classmethod
    def of_patterns(
        cls, model: LabelModel, patterns: Patterns, gold: NDArray[np.int64] | None, vectors: Vectors
    ) -> "TextItems":
        """Items of patterns that know them."""
        assert patterns.inverse is not None
        gold = np.full(len(patterns.inverse), -1) if gold is None else gold
        return cls(patterns, model.label_patterns(patterns).take(patterns.inverse), vectors, gold)

    @property
    def voted(self) -> NDArray[np.bool_]:
        """(n,) whether an item has votes."""
        return self.patterns.expand(self.patterns.has_votes)

    @property
    def with_both(self) -> Index:
        """Items with votes and text."""
        return np.flatnonzero(self.voted & self.vectors.known)

    def teach_views(self) -> tuple[Views, Float64]:
        """Views that learn from items with votes or gold, and the log-odds of all items. -> (3, n, k)."""
        is_gold, targets = self.gold >= 0, self.by_votes.probabilities.copy()
        targets[is_gold] = GOLD_WEIGHT * np.eye(targets.shape[1])[self.gold[is_gold]]
        teachers = np.flatnonzero((self.voted | is_gold) & self.vectors.known)
        _check_teachers(targets[teachers], self)
        return Views.fit(self.vectors, targets, teachers)

    def fit_echo(self, evidence: Float64) -> Echo:
        """The part of the (n, k) evidence that votes predict."""
        own = self.patterns.expand(np.arange(self.patterns.n_patterns))
        return Echo.fit(self.patterns, own[self.with_both], evidence[self.with_both])

    def find_mix(self, logs: Float64, by_text: Float64) -> tuple[Mix, float]:
        """The mix without gold, and its scale. (3, n, k), (n, k) the evidence of items without votes."""
        both, k = self.with_both, logs.shape[2]
        by_votes = self.by_votes.probabilities[both]
        prior = np.maximum(by_votes.mean(0), LEAST) if len(both) else np.full(k, 1 / k)
        by_gold = GOLD_WEIGHT * np.bincount(self.gold[self.gold >= 0], minlength=k)
        taught = np.maximum(prior, by_gold / max(1, len(both) + by_gold.sum()))  # views know classes without votes
        shift = find_shift(by_text[~self.voted & self.vectors.known], taught / taught.sum())
        return choose_mix(find_doubt(logs[:, both], by_votes.argmax(1)), prior, shift)

    def divide(self, logs: Float64, echo: Echo) -> Float64:
        """The parts of the evidence: votes, echo, rest; text of items without votes. (3, n, k) -> (4, n, k)."""
        repeated, voted = self.patterns.expand(echo.predict(self.patterns)), self.voted[:, None]
        parts = [log_odds(self.by_votes.probabilities), repeated, logs.mean(0) - repeated]
        return np.stack([*(np.where(voted, each, 0) for each in parts), np.where(voted, 0, logs[1:].mean(0))])

    def label(self, logits: Float64, metric: Metric = "accuracy", *, votes_only: bool = False) -> Labels:
        """Labels of all items, with their sources; with `votes_only`, texts label only items without votes."""
        kind, by_text = self.vectors.vectorizer.kind, self.vectors.known & ~(self.voted & votes_only)
        shares = np.where(by_text[:, None], to_shares(logits), self.by_votes.probabilities)
        best = np.where(by_text, shares.argmax(1), self.by_votes.best)
        if metric == "f1":
            labeled = best >= 0
            rule = find_f1_rule(lambda rule: rule.sums(shares, labeled.astype(np.int64)), shares.shape[1])
            best = np.where(labeled, rule.decide(shares), best)
        source = np.where(self.voted, np.where(by_text, f"{VOTES}+{kind}", VOTES), kind).astype(object)
        source[best < 0] = None
        return replace(self.by_votes, best=best, probabilities=shares, source=source).with_gold(self.gold)


@dataclass(frozen=True, eq=False)
class JointModel:
    """A state that labels items by votes and texts: all that `label` learned, for tomorrow's rows.

    Attributes:
        model: The fitted label model.
        views: The classifiers of texts.
        echo: What of their evidence repeats the votes.
        mix: The weights of votes, echo and the rest.
        vectorizer: From texts to numbers.
    """

    model: LabelModel
    views: Views
    echo: Echo
    mix: Mix
    vectorizer: Vectorizer

    @classmethod
    def fit(cls, model: LabelModel, items: TextItems) -> tuple["JointModel", Float64]:
        """Learn from items. Returns the state, and their logits by views that have not learned from them. (n, k)."""
        views, logs = items.teach_views()
        echo = items.fit_echo(logs.mean(0))
        parts, voted, has_text = items.divide(logs, echo), items.voted, items.vectors.known
        judged = np.flatnonzero((items.gold >= 0) & has_text)
        mix, scale = items.find_mix(logs, parts[3])
        mix = mix.learn(parts[:, judged], voted[judged], items.gold[judged], scale)
        stated = getattr(model, "class_balance", None)
        if stated is not None:
            mix = mix.match(parts[:, has_text], voted[has_text], read_balance(stated, items.by_votes.classes))
        return cls(model, views, echo, mix, items.vectors.vectorizer), mix.logits(parts, voted)

    def logits(self, items: TextItems) -> Float64:
        """Logits of other items. -> (n, k)."""
        return self.mix.logits(items.divide(self.views.predict(items.vectors), self.echo), items.voted)

    def label(
        self,
        votes: object,
        texts: object = None,
        features: object = None,
        gold: object = None,
        *,
        metric: Metric = "accuracy",
    ) -> Labels:
        """Label items by their votes and texts, judged in this state; alone or together, the same.

        The arguments are those of `hyperlabel.label`; gold items have their class, and nothing is learned.
        """
        return self._label(votes, texts, features, gold, metric, votes_only=False)

    def label_inputs(self, votes: object, inputs: object, gold: object, *, combine: bool, metric: Metric) -> Labels:
        """Label items as `fill_labels` does, judged in this state."""
        return self._label(votes, *_sort_inputs(inputs), gold, metric, votes_only=not combine)

    def _label(
        self, votes: object, texts: object, features: object, gold: object, metric: Metric, *, votes_only: bool
    ) -> Labels:
        vectors = texts if isinstance(texts, Vectors) else self.vectorizer.transform(texts, features)
        items = TextItems.read(self.model, votes, gold, vectors)
        labels = items.label(self.logits(items), check_metric(metric), votes_only=votes_only)
        return replace(labels, model=self)

    def save(self, path: str | Path) -> None:
        """Write the state to a safetensors file; `hyperlabel.load` reads it. Nothing is pickled.

        It is also a file of the label model alone, for everything that works on votes.
        """
        arrays, header = self.model.to_arrays()
        vectors, header["texts"] = self.vectorizer.to_arrays()
        parts = {"views": self.views.to_arrays(), "echo": vars(self.echo), "mix": vars(self.mix), "vectors": vectors}
        for name, each in parts.items():
            arrays |= with_prefix(each, name)
        write_tensors(path, arrays, header, "model")


def load(path: str | Path) -> LabelModel | JointModel:
    """Read a label model from a file that `save` wrote, fitted as it was; with texts, what `label` learned from them.

    Raises:
        WeightsError: The file is missing, damaged, or holds something else.

    >>> import tempfile
    >>> labels = label([[1, 1], [0, 0], [1, -1], [0, -1]], ["free money", "see you", "money now", "see me"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     labels.model.save(f"{folder}/state.safetensors")
    ...     load(f"{folder}/state.safetensors").label([[-1, -1]], ["free money"]).labels.tolist()
    [1]
    """
    model = load_model(path)
    arrays, header = read_tensors(path, "model")
    if "texts" not in header:
        return model
    views, echo, mix, vectors = (strip_prefix(arrays, name) for name in ("views", "echo", "mix", "vectors"))
    try:
        vectorizer = Vectorizer.from_arrays(vectors, header["texts"])
        return JointModel(model, Views.from_arrays(views), Echo(**echo), Mix(**mix), vectorizer)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise WeightsError(f"{path} does not hold a complete state of texts ({error}); save it again") from error


def label(
    votes: object,
    texts: object = None,
    features: object = None,
    gold: object = None,
    *,
    model: str | LabelModel | None = None,
    encoder: Any = None,
    metric: Metric = "accuracy",
    class_balance: Any = None,
) -> Labels:
    """Label every item by all that is given: votes, texts or features, and gold.

    Args:
        votes: The votes.
        texts: n texts, None for a missing one; or `Vectors`, made of texts once and for all.
        features: (n, q) numbers, such as embeddings. With texts, they are the dense vectors of these.
        gold: Known classes, as for `LabelModel.fit`; these are the labels of their items. Thirty items drawn at random
            are worth more than anything else.
        model: The label model or its short name, the default if not given; a fitted one is used unchanged.
        encoder: How texts become dense vectors: None (latent semantic analysis), `wordllama` (extra `embed`), any
            function from a list of texts to an array, or that array.
        metric: Metric to optimize the labels for, as for `LabelModel.predict`. `f1` needs gold or a class balance.
        class_balance: Shares of the classes among all items, if they are known.

    Returns:
        Labels whose `source` is `votes`, `text`, `votes+text` (or `features`, `votes+features`), `gold`, or None for
        no label; `model` labels new items.

    >>> texts = ["win free money", "free money now", "see you at home", "see you at lunch", "free money", None]
    >>> votes = [[1, 1], [1, -1], [0, 0], [-1, 0], [-1, -1], [-1, -1]]
    >>> labels = label(votes, texts)
    >>> labels.labels.tolist(), labels.source[-2:].tolist()
    ([1, 1, 0, 0, 1, -1], ['text', None])
    >>> labels.model.label([[-1, -1]], ["win money"]).labels.tolist()
    [1]
    """
    return _label(votes, texts, features, gold, model, encoder, metric, class_balance)


def fill_labels(
    model: str | LabelModel | None,
    votes: object,
    inputs: object,
    gold: object = None,
    *,
    combine: bool = False,
    encoder: Any = None,
    metric: Metric = "accuracy",
) -> Labels:
    """Label items without votes by their texts or features; the others keep their labels from votes.

    This is `label` for those who trust votes more than texts; with `combine` it is `label` itself.

    Args:
        model: The label model; one that is not fitted reads these votes, as a copy.
        votes: The votes.
        inputs: n texts, None for a missing one; or (n, q) features, such as embeddings.
        gold: Known classes, as for `label`.
        combine: Whether items with votes get labels from votes and texts together.
        encoder: How texts become dense vectors, as for `label`.
        metric: Metric to optimize the labels for, as for `label`.

    >>> texts = ["win free money", "free money now", "see you at home", "see you at lunch", "free money", None]
    >>> votes = [[1, 1], [1, -1], [0, 0], [-1, 0], [-1, -1], [-1, -1]]
    >>> fill_labels(None, votes, texts).source.tolist()
    ['votes', 'votes', 'votes', 'votes', 'text', None]
    """
    texts, features = _sort_inputs(inputs)
    return _label(votes, texts, features, gold, model, encoder, metric, None, votes_only=not combine)


def _sort_inputs(inputs: object) -> tuple[object, object]:
    """Inputs as texts, or as features; the other is None."""
    read = read_inputs(inputs)
    has_texts = isinstance(read, list) and (are_texts(read) or all(text is None for text in read))
    return (inputs, None) if has_texts else (None, inputs)


def _label(
    votes: object,
    texts: object,
    features: object,
    gold: object,
    model: str | LabelModel | None,
    encoder: Any,
    metric: Metric,
    class_balance: Any,
    *,
    votes_only: bool = False,
) -> Labels:
    metric = _check_f1(check_metric(metric), model, gold, class_balance)
    chosen = _choose(model, class_balance)
    if texts is None and features is None:
        return _label_votes(_fit(chosen, votes, gold), votes, gold, metric)
    fitted = _fit(chosen, votes, gold, teach=votes_only or chosen.needs_gold)
    read = fitted.read_votes(votes)
    vectors = texts if isinstance(texts, Vectors) else _encode(read, texts, features, encoder)
    items = TextItems.read(fitted, read, gold, vectors)
    joint, logits = JointModel.fit(fitted, items)
    return replace(items.label(logits, metric, votes_only=votes_only), model=joint)


def _fit(model: LabelModel, votes: object, gold: object, *, teach: bool = True) -> LabelModel:
    """Fit the label model, unless it is fitted; gold adds its classes, and teaches it if `teach`.

    Beside texts it does not: gold would judge votes that have already learned from it, and count too much.
    """
    if model.is_fitted or gold is None:
        return model if model.is_fitted else model.fit(votes)
    return model.fit(votes, gold) if teach else model.fit(model.read_votes(votes).with_labels(gold, "gold")[0])


def _encode(votes: Votes, texts: object, features: object, encoder: Any) -> Vectors:
    """Texts and features of the items as numbers."""
    if not (encoder is None or isinstance(encoder, str) or callable(encoder)):
        features, encoder = encoder, None  # the vectors themselves
    for name, inputs in (("texts", texts), ("features", features)):
        if inputs is not None:
            Identity(votes.n_items, votes.items, votes.origin).check_index(inputs, name)
            n = count_items(read_inputs(inputs, name))
            if n != votes.n_items:
                raise ParameterError(
                    f"{name} has {n} items but votes has {votes.n_items}; expected one text or row per item"
                )
    return Vectors.of(texts, features, encoder)


def _check_teachers(targets: Float64, items: TextItems) -> None:
    """Refuse items that teach nothing, and warn of those that teach one class."""
    if not len(targets):
        raise ParameterError(
            f"no item has both a label and a {items.vectors.vectorizer.kind}; expected some to learn from"
        )
    if len(np.unique(targets.argmax(1))) == 1 and len(items.by_votes.classes) > 1:
        only = repr(items.by_votes.classes[int(targets[0].argmax())])
        warn_of_votes([f"all labels of items with votes are {only}: a classifier can learn no other class"])


def _check_f1(metric: Metric, model: object, gold: object, class_balance: object) -> Metric:
    """The metric, but accuracy where the balance of the classes is unknown: labels for F1 depend on it."""
    stated = class_balance is not None or getattr(model, "class_balance", None) is not None
    if metric == "f1" and gold is None and not stated and not getattr(model, "is_fitted", False):
        warn_of_votes(
            ["metric is 'f1', which needs gold or class_balance; labels are for accuracy. 30 random labels suffice"]
        )
        return "accuracy"
    return metric


def _choose(model: str | LabelModel | None, class_balance: Any) -> LabelModel:
    """A copy of the label model, with the class balance if it is stated."""
    chosen = choose_model(model)
    if class_balance is None:
        return copy.copy(chosen)
    if chosen.is_fitted or "class_balance" not in chosen.get_params():
        raise ParameterError(f"class_balance is given, but {chosen!r} does not take it; leave out one of them")
    return copy.copy(chosen).set_params(class_balance=class_balance)


def _label_votes(model: LabelModel, votes: object, gold: object, metric: Metric) -> Labels:
    """Labels by votes and gold alone."""
    read = model.read_votes(votes)
    labels = model.label(read, metric, gold)
    known = np.full(len(labels), -1) if gold is None else read.with_labels(gold, "gold")[1]
    source = np.where(labels.best >= 0, VOTES, None).astype(object)  # type: ignore[call-overload]
    source[known >= 0] = GOLD
    return replace(labels, source=source, model=model)
