"""Labels for every item: items without votes get theirs from a classifier that learns from the others."""

import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Metric, show
from hyperlabel.classify._base import BaseClassifier
from hyperlabel.classify._inputs import Inputs, are_texts, count_items, read_inputs, take_items
from hyperlabel.classify._light import Classifier
from hyperlabel.data import Labels, find_f1_rule
from hyperlabel.errors import ParameterError, warn_of_votes
from hyperlabel.models import LabelModel, choose_model

VOTES, TEXT, FEATURES, GOLD = "votes", "text", "features", "gold"
"""Sources of a label."""

_LEAST = 1e-6  # a class that votes or texts rule out counts as this probable

Mask = NDArray[np.bool_]


def fill_labels(
    model: LabelModel,
    votes: object,
    inputs: object,
    gold: object = None,
    *,
    classifier: BaseClassifier | None = None,
    combine: bool = False,
    metric: Metric = "accuracy",
) -> Labels:
    """Label all items: items without votes get their label from a classifier of their texts or features.

    The classifier learns from the labels of the items with votes or gold. These keep their labels, unless `combine`
    adds what their texts say to the votes' log-odds; then every item is judged by a classifier that has not learned
    from it. An item without votes whose text is missing or blank has no label.

    Args:
        model: The label model; one that is not fitted reads these votes, as a copy.
        votes: The votes.
        inputs: n texts, None for a missing one; or (n, q) features, such as embeddings.
        gold: Known classes, as for `LabelModel.fit`; these are the labels of their items.
        classifier: The classifier; `Classifier()` if not given. It is fitted here, and then can label new texts. A
            fitted classifier is used unchanged.
        combine: Whether items with votes get labels from votes and texts together.
        metric: Metric to optimize the labels for, as for `LabelModel.predict`.

    Returns:
        Labels whose `source` is `votes`, `text` (or `features`), `votes+text`, `gold`, or None for no label.

    >>> from hyperlabel import HyperLabelModel
    >>> texts = ["win free money", "free money now", "see you at home", "see you at lunch", "free money", None]
    >>> votes = [[1, 1], [1, -1], [0, 0], [-1, 0], [-1, -1], [-1, -1]]
    >>> labels = fill_labels(HyperLabelModel(), votes, texts)
    >>> labels.labels.tolist(), labels.source[-2:].tolist()
    ([1, 1, 0, 0, 1, -1], ['text', None])
    """
    model = choose_model(model)
    fitted = model if model.is_fitted else copy.copy(model).fit(votes, gold)
    read = fitted.read_votes(votes)
    labels = fitted.label(read, metric)
    source = np.where(labels.best >= 0, VOTES, None)  # type: ignore[call-overload]
    labels = replace(labels, source=source.astype(object))
    if gold is not None:
        labels = labels.with_gold(read.with_labels(gold, "gold")[1])
    labels.identity.check_index(inputs, "inputs")
    items = _Items.read(read_inputs(inputs), labels, np.diff(read.rows.starts) > 0)
    classifier = Classifier() if classifier is None else classifier
    teachers = np.flatnonzero((labels.best >= 0) & items.has_input)
    held_out = _teach(classifier, items, teachers, combine=combine)
    filled = items.fill(classifier)
    if combine:
        filled = items.combine(filled, teachers, held_out)
    return filled if metric == "accuracy" else _decide_for_f1(filled, items.kind)


def _teach(classifier: BaseClassifier, items: "_Items", teachers: NDArray[np.intp], *, combine: bool) -> Float64:
    """Teach the classifier, unless it is fitted; as `teach`. -> (t, k)."""
    labels, inputs = items.labels.take(teachers), take_items(items.inputs, teachers)
    if not hasattr(classifier, "classes_"):
        return teach(classifier, inputs, labels, items.kind, combine=combine)
    if tuple(classifier.classes_) != tuple(labels.classes):
        raise ParameterError(
            f"classifier knows the classes {show(classifier.classes_, 80)}, the labels {show(labels.classes, 80)}; "
            "expected the same in the same order"
        )
    return classifier.predict_proba(inputs) if combine else np.empty((0, len(labels.classes)))


def teach(classifier: BaseClassifier, inputs: Inputs, labels: Labels, kind: str, *, combine: bool = False) -> Float64:
    """Teach a classifier t texts or features that all have a label.

    Returns the probabilities of each when held out, to combine them with the votes. -> (t, k); (0, k) if not needed.
    """
    if not len(labels):
        raise ParameterError(f"no item has both a label and a {kind}; expected some to learn from")
    if len(np.unique(labels.best)) == 1:
        only = repr(labels.classes[labels.best[0]])
        warn_of_votes([f"all labels of items with votes are {only}: a classifier can learn no other class"])
    if combine:
        return classifier.fit_aside(inputs, labels)
    classifier.fit(inputs, labels)
    return np.empty((0, len(labels.classes)))


@dataclass(frozen=True)
class _Items:
    """Votes and labels of items before they are filled."""

    inputs: Inputs  # n texts or (n, q) features
    has_input: Mask  # (n,) whether there is an input
    kind: str  # `text` or `features`
    labels: Labels  # labels of votes and gold
    voted: Mask  # (n,) whether an item has votes

    @classmethod
    def read(cls, inputs: Inputs, labels: Labels, voted: Mask) -> "_Items":
        n = count_items(inputs)
        if n != len(labels):
            raise ParameterError(f"inputs has {n} items but votes has {len(labels)}; expected one text or row per item")
        if not isinstance(inputs, list) or not (are_texts(inputs) or all(text is None for text in inputs)):
            return cls(inputs, np.ones(n, bool), FEATURES, labels, voted)
        texts = ["" if text is None or (isinstance(text, float) and np.isnan(text)) else text for text in inputs]
        has_text = np.array([not isinstance(text, str) or bool(text.strip()) for text in texts], bool)
        return cls(texts, has_text, TEXT, labels, voted)

    def fill(self, classifier: BaseClassifier) -> Labels:
        """The labels, with those of the classifier where no LF votes."""
        empty = np.flatnonzero(~self.voted & (self.labels.best < 0) & self.has_input)
        shares = classifier.predict_proba(take_items(self.inputs, empty))
        return _put(self.labels, empty, shares, self.kind)

    def combine(self, filled: Labels, teachers: NDArray[np.intp], held_out: Float64) -> Labels:
        """Add the log-odds of the classifier to those of the votes, without the class balance that both contain."""
        assert filled.source is not None
        mine = self.voted[teachers] & (filled.source[teachers] != GOLD)
        added = np.log(np.maximum(held_out, _LEAST)) - np.log(np.maximum(held_out.mean(0), _LEAST))
        logs = np.log(np.maximum(filled.probabilities[teachers[mine]], _LEAST)) + added[mine]
        raised = np.exp(logs - logs.max(1, keepdims=True))
        return _put(filled, teachers[mine], raised / raised.sum(1, keepdims=True), f"{VOTES}+{self.kind}")


def _put(labels: Labels, index: NDArray[np.intp], probabilities: Float64, source: str) -> Labels:
    """The labels with other probabilities for some items, and their most probable classes."""
    assert labels.source is not None
    best, soft, sources = labels.best.copy(), labels.probabilities.copy(), labels.source.copy()
    best[index], soft[index], sources[index] = probabilities.argmax(1), probabilities, source
    return replace(labels, best=best, probabilities=soft, source=sources)


def _decide_for_f1(filled: Labels, kind: str) -> Labels:
    """Labels for F1 of the items that the classifier judged, by one rule for all items."""
    assert filled.source is not None
    labeled = filled.best >= 0
    rule = find_f1_rule(lambda rule: rule.sums(filled.probabilities, labeled.astype(np.int64)), len(filled.classes))
    by_classifier = np.array([str(source).endswith(kind) for source in filled.source], bool)
    return replace(filled, best=np.where(by_classifier & labeled, rule.decide(filled.probabilities), filled.best))
