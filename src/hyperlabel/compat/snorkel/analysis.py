"""The names of `snorkel.analysis`: items by their labels, and metrics by their names.

All metrics except accuracy and coverage come from scikit-learn.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import check_choice
from hyperlabel.compat.snorkel.convert import as_numbers, filter_labels, to_int_label_array
from hyperlabel.data import ABSTAIN
from hyperlabel.errors import ParameterError, VotesError, require

__all__ = ["Scorer", "get_label_buckets", "get_label_instances", "metric_score"]

METRICS = (
    *("accuracy", "coverage", "precision", "recall", "f1", "f1_micro", "f1_macro"),
    *("matthews_corrcoef", "roc_auc"),
)
BINARY = ("precision", "recall", "f1", "roc_auc")  # metrics of two classes


def get_label_buckets(*y: NDArray[Any]) -> dict[tuple[int, ...], NDArray[np.int_]]:
    """Group items by their labels, and return the indices of each group.

    Args:
        y: Any number of (n,) or (n, 1) arrays of labels, such as the truth and an LF's votes.

    >>> buckets = get_label_buckets(np.array([1, 1, 0]), np.array([1, -1, 1]))
    >>> buckets[1, -1].tolist(), (0, 0) in buckets
    ([1], False)
    """
    columns = [to_int_label_array(labels).tolist() for labels in y]
    if len(set(map(len, columns))) != 1:
        raise VotesError(f"y has arrays of {[len(column) for column in columns]} labels; expected one label per item")
    indices: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for i, bucket in enumerate(zip(*columns, strict=True)):
        indices[bucket].append(i)
    return {bucket: np.array(items) for bucket, items in indices.items()}


def get_label_instances(bucket: tuple[int, ...], x: NDArray[Any], *y: NDArray[Any]) -> NDArray[Any]:
    """Return the items with some labels.

    Args:
        bucket: The labels, one for each array of `y`.
        x: (n, ...) the items.
        y: (n,) or (n, 1) labels, as for `get_label_buckets`.

    >>> get_label_instances((1, 0), np.array(["a", "b"]), np.array([1, 1]), np.array([1, 0])).tolist()
    ['b']
    """
    labels, items = to_int_label_array(bucket), np.asarray(x)
    columns = [to_int_label_array(each) for each in y]
    if len(y) != len(labels) or {items.shape[:1]} != {column.shape for column in columns}:
        raise ParameterError(
            f"bucket has {len(labels)} labels, y {len(y)} arrays, x the shape {items.shape}; expected a label for each "
            "array and an item for each label"
        )
    return items[get_label_buckets(*columns).get(tuple(labels.tolist()), np.empty(0, np.int_))]


def metric_score(
    golds: NDArray[Any],
    preds: NDArray[Any] | None = None,
    probs: NDArray[Any] | None = None,
    metric: str = "accuracy",
    filter_dict: Mapping[str, Sequence[int]] | None = None,
) -> float:
    """Compute a metric by its name. As in Snorkel, -1 counts as a label unless `filter_dict` leaves it out.

    Args:
        golds: (n,) or (n, 1) true classes.
        preds: (n,) or (n, 1) labels; needed for all metrics but `roc_auc`.
        probs: (n, k) probabilities; needed for `roc_auc`.
        metric: The metric, such as `accuracy`, `f1`, `coverage`, `roc_auc`.
        filter_dict: For `golds` and `preds` the labels whose items are left out.

    >>> metric_score(np.array([0, 1, 1]), np.array([0, 1, 0]), metric="f1")
    0.6666666666666666
    >>> metric_score(np.array([0, 1, 1]), np.array([0, 1, -1]), filter_dict={"preds": [-1]})
    1.0
    """
    check_choice(metric, "metric", METRICS)
    needed = "probs" if metric == "roc_auc" else "preds"
    arrays = {
        "golds": to_int_label_array(golds),
        "preds": None if preds is None else to_int_label_array(preds),
        "probs": None if probs is None else as_numbers(probs, "probs", "probabilities"),
    }
    if arrays[needed] is None:
        raise ParameterError(f"metric is {metric!r}, which needs {needed}; give it")
    kept = filter_labels(arrays, {} if filter_dict is None else filter_dict)
    truth, values = kept["golds"], kept[needed]
    assert truth is not None  # for mypy
    assert values is not None
    return _score(metric, truth, values)


def _score(name: str, truth: NDArray[Any], values: NDArray[Any]) -> float:
    """Compute a metric of (n,) true classes and (n,) labels, or (n, k) probabilities for `roc_auc`."""
    if name == "coverage":
        return float((values != ABSTAIN).mean())
    if not len(truth):
        raise VotesError(f"no item has both a label and a known truth, so {name} cannot be computed; give more truth")
    if name == "accuracy":
        return float((truth == values).mean())
    if name in BINARY and (truth.max() > 1 or (name == "roc_auc" and values.shape[1:] != (2,))):
        raise ParameterError(f"metric is {name!r}, which is for two classes; use accuracy, f1_micro or f1_macro")
    if name in BINARY and (truth.min() < 0 or (name != "roc_auc" and values.min() < 0)):
        raise VotesError(f"{name} cannot count -1; leave it out: filter_dict={{'golds': [-1], 'preds': [-1]}}")
    return float(_sklearn_metric(name)(truth, values[:, 1] if name == "roc_auc" else values))


def _sklearn_metric(name: str) -> Callable[..., float]:
    require("sklearn", extra="sklearn")
    from sklearn import metrics

    if name.startswith("f1_"):
        return lambda truth, labels: metrics.f1_score(truth, labels, average=name.removeprefix("f1_"))
    metric: Callable[..., float] = getattr(metrics, name if name == "matthews_corrcoef" else f"{name}_score")
    return metric


class Scorer:
    """Several metrics at once, of all items and of slices of them.

    Args:
        metrics: Names of metrics, as for `metric_score`.
        custom_metric_funcs: More metrics by name: functions of golds, preds and probs, that return a number or a
            mapping from name to number.
        abstain_label: Items with this label in golds or preds are left out, except for coverage; None for none.

    >>> Scorer(["accuracy", "f1"]).score(np.array([0, 1, 1]), np.array([0, 1, -1]))
    {'accuracy': 1.0, 'f1': 1.0}
    """

    def __init__(
        self,
        metrics: Sequence[str] | None = None,
        custom_metric_funcs: Mapping[str, Callable[..., Any]] | None = None,
        abstain_label: int | None = ABSTAIN,
    ) -> None:
        self.abstain_label = abstain_label
        self.metrics: dict[str, Callable[..., Any]] = {}
        for metric in metrics or ():
            check_choice(metric, "metrics", METRICS)
            left_out = [] if abstain_label is None or metric == "coverage" else [abstain_label]
            filters = {"golds": left_out, "preds": left_out}
            self.metrics[metric] = partial(metric_score, metric=metric, filter_dict=filters)
        self.metrics.update(custom_metric_funcs or {})

    def score(
        self, golds: NDArray[Any], preds: NDArray[Any] | None = None, probs: NDArray[Any] | None = None
    ) -> dict[str, float]:
        """Return all metrics by name; see `metric_score` for the arguments."""
        if not len(golds):
            raise VotesError("golds is empty, so nothing can be scored; give the true classes")
        scores: dict[str, float] = {}
        for name, metric in self.metrics.items():
            score = metric(golds, preds, probs)
            scores |= score if isinstance(score, dict) else {name: score}
        return scores

    def score_slices(
        self, S: Any, golds: NDArray[Any], preds: NDArray[Any], probs: NDArray[Any], as_dataframe: bool = False
    ) -> Any:
        """Return all metrics by slice, and overall.

        Args:
            S: A record array of n items, which has a mask for each slice, as Snorkel's slicing makes it.
            golds: (n,) true classes.
            preds: (n,) labels.
            probs: (n, k) probabilities.
            as_dataframe: Whether to return a pandas frame with a row for each slice instead of nested mappings.
        """
        if not len(S) == len(golds) == len(preds) == len(probs):
            lengths = f"S has {len(S)} items, golds {len(golds)}, preds {len(preds)}, probs {len(probs)}"
            raise VotesError(f"{lengths}; expected as many")
        scores = {"overall": self.score(golds, preds, probs)}
        for name in S.dtype.names:
            kept = S[name].astype(bool)
            scores[name] = self.score(golds[kept], preds[kept], probs[kept])
        if not as_dataframe:
            return scores
        require("pandas", extra="pandas")
        import pandas as pd

        return pd.DataFrame.from_dict(scores, orient="index")
