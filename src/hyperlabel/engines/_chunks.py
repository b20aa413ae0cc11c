"""Fitting a model on votes that come in chunks and need not fit into memory together."""

import copy
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import reduce
from typing import TypeVar

from hyperlabel._core import Metric
from hyperlabel.data import Patterns, to_patterns
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.models import LabelModel
from hyperlabel.networks import Sums, add_sums

Chunk = TypeVar("Chunk")


def fit_chunks(
    model: LabelModel,
    chunks: Callable[[], Iterable[object]],
    *,
    n_classes: int | None = None,
    classes: Sequence[Hashable] | None = None,
    metric: Metric = "accuracy",
) -> LabelModel:
    """Return a copy of a model that has read chunks as one set, with memory for one of them.

    The fitted copy labels any votes, for instance chunk by chunk, as if all chunks had been fitted as one array.

    Args:
        model: A label model that reads in passes: a hyper label model. It is not changed.
        chunks: A function that gives all chunks, each anything that `Votes` takes, or `Patterns`. It is
            called once per pass. LFs are matched by name if chunks have names.
        n_classes: Number of classes; one of this and `classes` must be given, here or to the model.
        classes: The classes.
        metric: With `f1`, further passes find how items are labeled for F1.

    >>> from hyperlabel import HyperLabelModel
    >>> chunks = [[[1, 1, 0], [0, -1, 0]], [[-1, -1, -1]]]
    >>> model = fit_chunks(HyperLabelModel(), lambda: chunks, n_classes=2)
    >>> [model.predict(chunk).tolist() for chunk in chunks]
    [[1, 0], [-1]]
    """
    if not model.reads_in_passes:
        raise ParameterError(
            f"model is {model!r}, which needs all patterns in memory; expected a hyper label model. "
            "Count the patterns with Patterns.from_chunks and fit those"
        )
    if n_classes is None and classes is None:
        n_classes, classes = model.n_classes, model.classes
    if n_classes is None and classes is None:
        raise ParameterError("n_classes and classes are not given; state one of them, since a chunk may lack a class")

    def read() -> Iterator[Patterns]:
        return (to_patterns(chunk, n_classes=n_classes, classes=classes) for chunk in chunks())

    parts = read()
    first = _first(parts)
    for patterns in parts:  # a later chunk may have more outcomes, such as `!spam`
        first = first.with_outcomes(_match(patterns, first).with_outcomes(first.outcomes).outcomes)

    def reduce_chunks(sums: Callable[[Patterns], Sums]) -> Sums:
        parts = (sums(_match(patterns, first).with_outcomes(first.outcomes)) for patterns in read())
        return reduce(add_sums, parts, _first(parts))

    return copy.copy(model).fit_passes(reduce_chunks, first, metric=metric)


def _first(parts: Iterator[Chunk]) -> Chunk:
    """Return the first part of one pass."""
    first = next(parts, None)
    if first is None:
        raise VotesError("chunks gives no chunk; expected at least one chunk of votes each time it is called")
    return first


def _match(patterns: Patterns, first: Patterns) -> Patterns:
    """Return a chunk with the LFs and classes in the order of the first one."""
    matched = patterns.with_lfs(first.lf_names)
    if matched.n_lfs != first.n_lfs:
        raise VotesError(f"a chunk has {matched.n_lfs} LFs, the first has {first.n_lfs}; give all the same columns")
    return matched.with_classes(first.classes)
