"""What `snorkel.analysis` has: items by their labels, and metrics by their names."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_choice
from hyperlabel.columns.arrays import as_array
from hyperlabel.compat.snorkel.convert import as_numbers, filter_labels, to_int_label_array
from hyperlabel.compat.snorkel.scores import METRICS, score_labels
from hyperlabel.errors import ParameterError, VotesError

__all__ = ["get_label_buckets", "get_label_instances", "metric_score"]


def get_label_buckets(*y: NDArray[Any]) -> dict[tuple[int, ...], NDArray[np.int_]]:
    """The places of items with the same labels, by their labels.

    Args:
        y: Any number of (n,) or (n, 1) arrays of labels, such as the truth and an LF's votes.

    >>> buckets = get_label_buckets(np.array([1, 1, 0]), np.array([1, -1, 1]))
    >>> buckets[1, -1].tolist(), (0, 0) in buckets
    ([1], False)
    """
    columns = [to_int_label_array(labels).tolist() for labels in y]
    if len(set(map(len, columns))) != 1:
        raise VotesError(f"y has arrays of {[len(column) for column in columns]} labels; expected one label per item")
    places: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for i, bucket in enumerate(zip(*columns, strict=True)):
        places[bucket].append(i)
    return {bucket: np.array(items) for bucket, items in places.items()}


def get_label_instances(bucket: tuple[int, ...], x: NDArray[Any], *y: NDArray[Any]) -> NDArray[Any]:
    """The items with some labels.

    Args:
        bucket: The labels, one for each array of `y`.
        x: (n, ...) the items.
        y: (n,) or (n, 1) labels, as for `get_label_buckets`.

    >>> get_label_instances((1, 0), np.array(["a", "b"]), np.array([1, 1]), np.array([1, 0])).tolist()
    ['b']
    """
    labels, items = to_int_label_array(bucket), as_array(x, "x", "an array of items")
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
    """A score by the name of its metric. Unlike Snorkel, -1 among `golds` or `preds` is left out, except for coverage.

    Args:
        golds: (n,) or (n, 1) true classes.
        preds: (n,) or (n, 1) labels; needed for all metrics but `roc_auc`.
        probs: (n, k) probabilities; needed for `roc_auc`.
        metric: The metric, such as `accuracy`, `f1`, `coverage`, `roc_auc`.
        filter_dict: For `golds` and `preds` the labels whose items are left out.

    >>> metric_score(np.array([0, 1, 1]), np.array([0, 1, 0]), metric="f1")
    0.6666666666666666
    """
    check_choice(metric, "metric", METRICS)
    if (probs if metric == "roc_auc" else preds) is None:
        raise ParameterError(
            f"metric is {metric!r}, which needs {'probs' if metric == 'roc_auc' else 'preds'}; give it"
        )
    kept = filter_labels({"golds": golds, "preds": preds, "probs": probs}, {} if filter_dict is None else filter_dict)
    truth = to_int_label_array(kept["golds"])
    labels = np.zeros(len(truth), int) if preds is None else to_int_label_array(kept["preds"])
    shares = np.zeros((len(truth), 2)) if probs is None else as_numbers(kept["probs"], "probs", "probabilities")
    return score_labels(truth, labels, shares, [metric])[metric]
