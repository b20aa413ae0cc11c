"""The forward pass over votes that are too many for memory: one pass over the data a layer or step, sums in between.

Flows in: chunks of votes, given anew for every pass. Flows out: probabilities, chunk by chunk, that agree with the
pass in memory up to the order in which floats are added. Between two passes only sums travel, a few numbers for each
LF, so chunks may live anywhere: NumPy slices, Spark partitions, Dask partitions.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial, reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hyperlabel import unrolled
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.kernels import Floats, VoteLayout
from hyperlabel.models import HyperLabelModel, LabelModel
from hyperlabel.models.hyper import to_probabilities
from hyperlabel.network import LayerInput, _by_pattern, _head, _layer, _layout, _row_means, _signs, problems
from hyperlabel.patterns import Patterns
from hyperlabel.votes import to_votes
from hyperlabel.weights import Weights

Sums = tuple[NDArray[np.float64], ...]
Reduce = Callable[[Callable[[Patterns], Sums]], Sums]
"""Applies a function to every chunk of the data and adds up what it gives."""


class StreamedNetwork(Protocol):
    """A network that sees the data chunk by chunk, several times.

    The state is whatever the network must know of all data; it is small and can be pickled.
    """

    @property
    def n_passes(self) -> int:
        """Passes over the data before probabilities can be had."""

    def start(self, n_lfs: int, n_classes: int) -> Any:
        """The state before the first pass."""

    def sums(self, patterns: Patterns, state: Any) -> Sums:
        """What a pass needs of a chunk; arrays of different chunks are added."""

    def advance(self, state: Any, sums: Sums) -> Any:
        """The state after a pass, given the sums over all chunks."""

    def probabilities(self, patterns: Patterns, state: Any) -> NDArray[np.float64]:
        """Probabilities of a chunk's patterns after the last pass. -> (p, k)."""


@dataclass(frozen=True)
class LayerMeans:
    """What a pooling layer must know of all data.

    Attributes:
        columns: (m, q * d) means over each LF's votes.
        total: (1, q * d) mean over all votes.
    """

    columns: Floats
    total: Floats


@dataclass(frozen=True)
class StreamedLayers:
    """The paper's network, streamed: a pass finds the means of one layer and computes the layers below anew.

    Attributes:
        weights: The weights of the network.
    """

    weights: Weights

    @property
    def n_passes(self) -> int:
        """One pass a pooling layer."""
        return self.weights.depth

    def start(self, n_lfs: int, n_classes: int) -> tuple[LayerMeans, ...]:
        """No layer's means are known."""
        return ()

    def sums(self, patterns: Patterns, state: tuple[LayerMeans, ...]) -> Sums:
        """Sums over each LF's votes of what the next layer sees, and how many votes. -> (m, q * d), (m,)."""
        layout = _layout(patterns)
        cells = self._cells(layout, patterns, state)
        voting = np.unique(patterns.lf)  # the layout knows these only
        sums, votes = np.zeros((patterns.n_lfs, cells.shape[1])), np.zeros(patterns.n_lfs)
        if len(voting):
            sums[voting], votes[voting] = layout.sum_columns(cells), layout.votes_per_column
        return sums, votes

    def advance(self, state: tuple[LayerMeans, ...], sums: Sums) -> tuple[LayerMeans, ...]:
        """Add the means of one more layer."""
        cells, votes = sums
        columns = cells / np.maximum(votes, 1)[:, None]
        total = cells.sum(0, keepdims=True) / max(votes.sum(), 1)
        return (*state, LayerMeans(columns.astype(np.float32), total.astype(np.float32)))

    def probabilities(self, patterns: Patterns, state: tuple[LayerMeans, ...]) -> NDArray[np.float64]:
        """All layers with known means, then the head. -> (p, k)."""
        layout = _layout(patterns)
        rows = _row_means(layout, self._cells(layout, patterns, state))
        logits, _ = _head(self.weights, rows, problems(patterns.n_classes))
        return to_probabilities(_by_pattern(layout, logits))

    def _cells(self, layout: VoteLayout, patterns: Patterns, state: tuple[LayerMeans, ...]) -> Floats:
        """What the layers whose means are known give. -> (e, q * d)."""
        cells, voting = _signs(layout.vote, patterns.n_classes), np.unique(patterns.lf)
        for i, means in enumerate(state):
            seen = LayerInput(cells, _row_means(layout, cells), means.columns[voting], means.total)
            cells = _layer(self.weights, i, layout, seen)
        return cells


@dataclass(frozen=True)
class StepState:
    """What the unrolled network knows after some steps.

    Attributes:
        k: Number of classes.
        step: Steps done.
        nodes: What is known of LFs and classes before any belief; None before the first pass.
        evidence: What the last step gave.
    """

    k: int
    step: int = 0
    nodes: unrolled.Nodes | None = None
    evidence: unrolled.Evidence | None = None


@dataclass(frozen=True)
class StreamedSteps:
    """The unrolled network, streamed: a pass sums the beliefs that the evidence of the step before gives.

    Attributes:
        weights: The weights of the network.
    """

    weights: Weights

    @property
    def n_passes(self) -> int:
        """One pass a step; what does not depend on beliefs is counted in the first."""
        return int(self.weights.header["steps"])

    def start(self, n_lfs: int, n_classes: int) -> StepState:
        """No evidence."""
        return StepState(n_classes)

    def sums(self, patterns: Patterns, state: StepState) -> Sums:
        """Sums of beliefs over each LF's votes for each class, in the first pass with counts of votes."""
        ballots = unrolled.Ballots.from_patterns(patterns)
        beliefs = unrolled.believe(ballots, state.evidence)
        sums = (beliefs.mass, beliefs.balance)
        if state.nodes is not None:
            return sums
        counts = unrolled.count(ballots)
        return (*sums, *(np.asarray(getattr(counts, field.name)) for field in fields(counts)))

    def advance(self, state: StepState, sums: Sums) -> StepState:
        """One step."""
        mass, balance, *counted = sums
        nodes = state.nodes
        if nodes is None:
            n, gold, items, distinct = counted
            nodes = unrolled.find_nodes(unrolled.Counts(n, gold, float(items), float(distinct)), state.k)
        evidence = unrolled.advance(self.weights, state.step, nodes, unrolled.Beliefs(mass, balance))
        return StepState(state.k, state.step + 1, nodes, evidence)

    def probabilities(self, patterns: Patterns, state: StepState) -> NDArray[np.float64]:
        """By the evidence of the last step. -> (p, k)."""
        assert state.evidence is not None  # a network has at least one step
        return unrolled.to_probabilities(state.evidence, unrolled.Ballots.from_patterns(patterns))


def streamed_network(model: LabelModel) -> StreamedNetwork | None:
    """The model's network for streaming; None where the model needs all patterns in memory.

    >>> from hyperlabel import label_model
    >>> streamed_network(label_model("hlm")).n_passes, streamed_network(label_model("ds"))
    (4, None)
    """
    if not isinstance(model, HyperLabelModel) or getattr(model, "_told", None) is not None:
        return None  # gold that is part of the input is looked up by pattern
    if model.class_balance is not None or model.lf_accuracies is not None:
        return None  # evidence is matched to these in rounds over all patterns
    weights = model._current()
    return StreamedSteps(weights) if weights.is_unrolled else StreamedLayers(weights)


def run_passes(network: StreamedNetwork, reduce_chunks: Reduce, n_lfs: int, n_classes: int) -> Any:
    """All passes of a network over the data; -> its last state. One class needs none."""
    state = network.start(n_lfs, n_classes)
    for _ in range(network.n_passes if n_classes > 1 else 0):
        state = network.advance(state, reduce_chunks(partial(network.sums, state=state)))
    return state


def add_sums(one: Sums, other: Sums) -> Sums:
    """Arrays added one by one."""
    return tuple(a + b for a, b in zip(one, other, strict=True))


def finish(network: StreamedNetwork, patterns: Patterns, state: Any) -> NDArray[np.float64]:
    """Probabilities of a chunk's patterns, uniform where nobody votes. -> (p, k)."""
    if patterns.n_classes == 1:
        return np.ones((patterns.n_patterns, 1))
    probabilities = network.probabilities(patterns, state)
    probabilities[~patterns.has_votes] = 1 / patterns.n_classes
    return probabilities


def stream_probabilities(
    model: LabelModel,
    chunks: Callable[[], Iterable[object]],
    *,
    n_classes: int | None = None,
    classes: Sequence[Hashable] | None = None,
) -> Iterator[NDArray[np.float64]]:
    """Probabilities of votes that come in chunks and need not fit into memory together.

    Args:
        model: A hyper label model; the chunks are one data set to it, as if they stood in one array.
        chunks: A function that gives the chunks from the start, each whatever `Votes` takes; it is called once for
            each layer or step, and once for the result.
        n_classes: Number of classes; one of this and `classes` must be given, here or to the model.
        classes: The classes.

    Yields:
        (n, k) probabilities of each chunk.

    >>> from hyperlabel import HyperLabelModel
    >>> chunks = [[[1, 1, 0], [0, -1, 0]], [[-1, -1, -1]]]
    >>> for probabilities in stream_probabilities(HyperLabelModel(), lambda: chunks, n_classes=2):
    ...     print(probabilities.argmax(1), probabilities.max(1) > 0.5)
    [1 0] [ True  True]
    [0] [False]
    """
    network = streamed_network(model)
    if network is None:
        raise ParameterError(f"model is {model!r}, which needs all patterns in memory; expected a hyper label model")
    if n_classes is None and classes is None:
        n_classes, classes = model.n_classes, model.classes
    if n_classes is None and classes is None:
        raise ParameterError("n_classes and classes are not given; state one, since a chunk may miss a class")
    read = partial(to_votes, n_classes=n_classes, classes=classes)
    first = next((read(chunk) for chunk in chunks()), None)
    if first is None:
        raise VotesError("chunks gives nothing; expected at least one chunk of votes each time it is called")
    m, k = first.n_lfs, first.n_classes

    def reduce_chunks(sums: Callable[[Patterns], Sums]) -> Sums:
        return reduce(add_sums, (sums(_check_width(Patterns.from_votes(read(chunk)), m)) for chunk in chunks()))

    state = run_passes(network, reduce_chunks, m, k)
    for chunk in chunks():
        patterns = Patterns.from_votes(read(chunk))
        yield patterns.expand(finish(network, patterns, state))


def _check_width(patterns: Patterns, m: int) -> Patterns:
    if patterns.n_lfs != m:
        raise VotesError(f"a chunk has {patterns.n_lfs} LFs, the first has {m}; give all chunks the same columns")
    return patterns
