"""Labelling where the rows are: count patterns, run the model on them, hand the answers back.

Three ways, by the number of patterns. Few: the model runs on them in memory, exactly as on an array. Many, but no
more than `max_patterns`: they are counted, and the network is streamed over them in chunks. More: the network is
streamed over the rows, one pass over the data a layer or step.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.classes import MOST_INFERRED
from hyperlabel.engines.base import CHUNK_ROWS, Added, Answers, AnswerTable, Engine
from hyperlabel.engines.columns import Encoder, VoteColumn, find_classes, read_columns
from hyperlabel.engines.counting import count_patterns
from hyperlabel.engines.packing import Keys, Lookup, Packing
from hyperlabel.engines.streaming import StreamedNetwork, Sums, add_sums, finish, run_passes, streamed_network
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.models import LabelModel
from hyperlabel.models.decide import Metric, confidence_of
from hyperlabel.network import problems
from hyperlabel.patterns import Patterns
from hyperlabel.read import lf_columns

MOST_PATTERNS = 1 << 22
"""Patterns that are counted and joined back; beyond, the network is streamed over the rows."""

MOST_CELLS = 1 << 22
"""Patterns times LFs times one-vs-rest problems for which a network runs in memory, about 1 GB; beyond, in chunks."""

_ESTIMATE_ERROR = 1.05  # estimates of the number of patterns may be so much too low


@dataclass(frozen=True)
class Job:
    """What is asked of an engine.

    Attributes:
        model: The label model.
        lfs: Columns that are LFs, as names or patterns; None for all but those with another meaning.
        n_classes: Number of classes; None to infer it.
        classes: The classes; None to infer them.
        gold: The column with known classes, if there is one.
        probabilities: Whether to add the probabilities of all classes.
        metric: What the labels are to be good at.
        max_patterns: Patterns that are counted and joined back.
    """

    model: LabelModel
    lfs: Sequence[str] | None = None
    n_classes: int | None = None
    classes: Sequence[Hashable] | None = None
    gold: str | None = None
    probabilities: bool = False
    metric: Metric = "accuracy"
    max_patterns: int = MOST_PATTERNS

    @property
    def learns(self) -> bool:
        """Whether the model has something to learn."""
        return self.gold is not None or (self.model.needs_fit and not self.model._is_fitted())

    @property
    def stated(self) -> tuple[int | None, Sequence[Hashable] | None]:
        """The number of classes, or the classes, as the caller, the model or what it has learned state them."""
        if self.n_classes is not None or self.classes is not None:
            return self.n_classes, self.classes
        if not self.learns and self.model._is_fitted():
            return None, self.model._fitted_classes
        return self.model.n_classes, self.model.classes


def label_rows(engine: Engine, job: Job) -> Any:
    """The rows of an engine with the columns that labelling adds, in the engine's kind of frame."""
    columns, gold = _read(engine, job)
    classes = find_classes(columns, *job.stated, gold)
    encoder, added = Encoder.of(columns, classes), Added(classes, job.probabilities)
    patterns = _estimate(engine, encoder.packing, job.max_patterns)
    if patterns > job.max_patterns:
        return engine.apply(encoder.packing, _stream_rows(engine, encoder, added, job, patterns), added)
    counted = count_patterns(engine, encoder, None if gold is None else Encoder.of([gold], classes))
    if job.learns:
        job.model._fit_patterns(counted.patterns, counted.gold, classes)
    probabilities = _pattern_probabilities(job.model, counted.patterns)
    best = job.model._decide(probabilities, counted.patterns, job.metric)
    answers = _answer(best, added, probabilities).take(counted.place)
    table = AnswerTable(counted.keys, answers, Lookup(counted.keys, encoder.packing.space))
    return engine.join(encoder.packing, table, added)


def _read(engine: Engine, job: Job) -> tuple[list[VoteColumn], VoteColumn | None]:
    """Look at the columns of votes and of gold."""
    present = list(engine.kinds())
    if job.gold is not None and job.gold not in present:
        raise VotesError(f"gold is '{job.gold}'; expected a column of votes: {', '.join(present)}")
    names = [name for name in lf_columns(present, job.lfs) if name != job.gold]
    if not names:
        raise VotesError("votes has no LF column but that of gold; name the LFs with lfs")
    n_classes, classes = job.stated
    columns = read_columns(
        engine, [*names, *([job.gold] if job.gold else [])], max(MOST_INFERRED, n_classes or 0, len(classes or ()))
    )
    return columns[: len(names)], columns[-1] if job.gold else None


def _estimate(engine: Engine, packing: Packing, most: int) -> int:
    """At most about how many patterns rows have; the rows are looked at only if they could have more than `most`."""
    if packing.space <= most:
        return packing.space
    n = engine.n_rows()
    return n if n <= most else min(n, int(_ESTIMATE_ERROR * engine.estimate(packing)))


def _answer(best: NDArray[np.intp], added: Added, probabilities: NDArray[np.float64]) -> Answers:
    """What to say of each pattern. (p,) labels, (p, k) probabilities -> p answers."""
    confidence = confidence_of(best, probabilities)[:, None]
    numbers = np.concatenate([confidence, probabilities], axis=1) if added.probabilities else confidence
    return Answers(np.where(best < 0, len(added.classes), best), numbers)


def _pattern_probabilities(model: LabelModel, patterns: Patterns) -> NDArray[np.float64]:
    """Probabilities of counted patterns: in memory, or in chunks where the network's numbers would be many."""
    network = streamed_network(model)
    cells = patterns.n_patterns * patterns.n_lfs * problems(patterns.n_classes)
    if network is None or cells <= MOST_CELLS:
        return model._pattern_probabilities(patterns)

    def reduce_chunks(sums: Callable[[Patterns], Sums]) -> Sums:
        return reduce(add_sums, map(sums, _slices(patterns)))

    state = run_passes(network, reduce_chunks, patterns.n_lfs, patterns.n_classes)
    return np.concatenate([finish(network, chunk, state) for chunk in _slices(patterns)])


def _slices(patterns: Patterns) -> Iterator[Patterns]:
    """The patterns in chunks."""
    for start in range(0, patterns.n_patterns, CHUNK_ROWS):
        index = np.arange(start, min(start + CHUNK_ROWS, patterns.n_patterns))
        rows, counts = patterns.rows.take(index), patterns.counts[index]
        yield Patterns(rows.starts, rows.lf, rows.vote, counts, patterns.n_lfs, patterns.n_classes)


@dataclass(frozen=True)
class StreamedAnswer:
    """Answers to rows by a network that has seen all data; can be pickled."""

    model: LabelModel
    network: StreamedNetwork
    state: Any
    encoder: Encoder
    added: Added

    def __call__(self, keys: Keys) -> Answers:
        """(n, g) keys -> n answers."""
        if not len(keys):
            return self(_no_votes(keys)).take(np.empty(0, np.intp))
        parts = [self._answer(chunk) for chunk in _chunks(keys)]
        return Answers(np.concatenate([p.label for p in parts]), np.concatenate([p.numbers for p in parts]))

    def _answer(self, keys: Keys) -> Answers:
        patterns = self.encoder.patterns(keys)
        probabilities = finish(self.network, patterns, self.state)
        answers = _answer(self.model._best(probabilities, patterns), self.added, probabilities)
        return answers.take(patterns.expand(np.arange(patterns.n_patterns)))


def _stream_rows(engine: Engine, encoder: Encoder, added: Added, job: Job, patterns: int) -> StreamedAnswer:
    """All passes of the model's network over the rows."""
    network = streamed_network(job.model)
    if network is None or job.learns or job.metric != "accuracy":
        what = "learns from" if job.learns else "works on" if network is None else f"ranks, for {job.metric},"
        raise ParameterError(
            f"votes has about {patterns:,} patterns, and {job.model!r} {what} patterns in memory; expected at most "
            f"{job.max_patterns:,}. Name fewer LFs, take a sample of the rows, or raise max_patterns"
        )

    def reduce_rows(sums: Callable[[Patterns], Sums]) -> Sums:
        return engine.reduce(encoder.packing, partial(_row_sums, encoder, sums))

    state = run_passes(network, reduce_rows, len(encoder.tables), len(encoder.classes))
    return StreamedAnswer(job.model, network, state, encoder, added)


def _row_sums(encoder: Encoder, sums: Callable[[Patterns], Sums], keys: Keys) -> Sums:
    rows = keys if len(keys) else _no_votes(keys)
    return reduce(add_sums, (sums(encoder.patterns(chunk)) for chunk in _chunks(rows)))


def _no_votes(keys: Keys) -> Keys:
    """The key of a row without votes, which adds nothing to any sum. (0, g) -> (1, g)."""
    return np.zeros((1, keys.shape[1]), np.int64)


def _chunks(keys: Keys) -> Iterator[Keys]:
    """(n, g) keys in chunks."""
    for start in range(0, len(keys), CHUNK_ROWS):
        yield keys[start : start + CHUNK_ROWS]
