"""Labeling where the rows are: count patterns, judge them, join the answers back.

Up to `max_patterns` patterns are counted, and the model sees them like those of an array. With more, the model reads
the rows in passes and then judges them where they are. A model that is already fitted only judges.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import Any

import numpy as np

from hyperlabel.classify.filling import VOTES
from hyperlabel.columns.rule import VoteColumns
from hyperlabel.engines.base import CHUNK_ROWS, AnswerTable, Engine
from hyperlabel.engines.columns import Encoder
from hyperlabel.engines.counting import Counted, collect_gold, count_patterns
from hyperlabel.engines.packing import KeyIndex, RowKeys
from hyperlabel.engines.reading import Job, RowsRead, read_rows
from hyperlabel.errors import HyperlabelError, ParameterError, VotesError
from hyperlabel.labels import Labels
from hyperlabel.labels.added import Added, Answers
from hyperlabel.metrics import Metric
from hyperlabel.models import LabelModel
from hyperlabel.networks import Sums, add_sums
from hyperlabel.patterns import Patterns
from hyperlabel.tables import Format, interruptible, reason_of, write_whole


@dataclass(frozen=True, eq=False)
class Work:
    """Rows that are labeled where they are; each step runs once, when it is needed.

    Attributes:
        engine: The rows.
        job: What to do.
        metadata: The metadata of the file of the rows; results keep it.
    """

    engine: Engine
    job: Job
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> VoteColumns:
        """Which columns are votes, and the warnings about them."""
        return self._reading.columns

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._reading.n_rows

    @property
    def model(self) -> LabelModel:
        """The model of the job if it is fitted, else a copy that has read the rows."""
        return self.job.model if self.job.model.is_fitted else self._learned[0]

    @cached_property
    def _learned(self) -> tuple[LabelModel, Labels | None]:
        """A copy of the model that has read the rows, and its labels of the patterns, if these were counted."""
        if not self.n_rows:
            raise VotesError(
                f"votes has {len(self.engine.kinds())} columns and 0 rows; expected at least one LF and one item"
            )
        with self._failing():
            if self._counted is None:
                return _fit_passes(self.engine, self._reading, self.job), None
            model = copy.copy(self.job.model)
            return model, model.fit_label_patterns(self._counted.patterns, self._counted.gold, self.job.metric)

    @cached_property
    def frame(self) -> Any:
        """The rows with the columns that labeling adds, in the engine's kind of frame."""
        encoder = self._reading.encoder
        added = Added(encoder.classes, self.job.probabilities, self.job.source)
        if not self.n_rows:
            return self.engine.apply(encoder.packing, lambda keys: added.nothing, added)
        if self.job.text is not None:
            return self._fill(self.job.text, added)
        return self._label(added)

    def _label(self, added: Added) -> Any:
        """The rows with labels from votes and gold."""
        encoder = self._reading.encoder
        if self.job.model.is_fitted:  # refuses other LFs, or labels that it cannot give
            self.job.model.label_patterns(encoder.no_items, self.job.metric)
        with self._failing():
            if self._counted is not None:
                return self.engine.join(encoder.packing, self._answer(self._counted, added), added)
            return self.engine.apply(encoder.packing, RowAnswerer(self.model, encoder, added, self.job.metric), added)

    def _fill(self, text: str, added: Added) -> Any:
        """The rows with labels from texts where nobody votes; the classifier needs the probabilities of the others."""
        from hyperlabel.engines.filling import Filler

        whole, names = replace(added, probabilities=True), list(self.engine.kinds())
        renamed, wanted = whole.rename(names), added.rename(names)
        with self._failing():
            frame = self._label(whole)
            filled = Filler.learn(frame, renamed.get(text, text), whole).fill(frame)
        unasked = [name for name in whole.names if name not in added.names]
        back = {new: name for name, new in renamed.items() if name not in wanted}
        return filled.drop(unasked).rename(back)

    def write(self, target: Path, metadata: Mapping[str, str]) -> None:
        """Write the labeled rows, whole or not at all, with the input's metadata and more, if the format has room."""
        frame, engine, format = self.frame, self.engine, Format.of_name(target.name)
        assert format is not None  # others were refused
        texts = {**self.metadata, **metadata}
        with interruptible():
            write_whole(target, lambda part: engine.write(frame, part, format, texts), engine.failures)

    @property
    def label_counts(self) -> dict[Any, int] | None:
        """How many rows get each label, None for none, from the counts of patterns; None if these do not tell."""
        if self._counted is None or self._reading.counted is None or self.job.text is not None:
            return None
        added = Added(self._reading.encoder.classes)
        counts = np.zeros(len(added.label_values), np.int64)
        np.add.at(counts, self._answer(self._counted, added).answers.label, self._reading.counted[1])
        return {label: n for label, n in zip(added.label_values, counts.tolist(), strict=True) if n}

    @cached_property
    def _reading(self) -> RowsRead:
        with self._failing():
            return read_rows(self.engine, self.job)

    @cached_property
    def _counted(self) -> Counted | None:
        reading = self._reading
        return None if reading.counted is None else count_patterns(*reading.counted, reading.encoder)

    def _answer(self, counted: Counted, added: Added) -> AnswerTable:
        known = None if self.job.model.is_fitted else self._learned[1]
        labels = self.model.label_patterns(counted.patterns, self.job.metric) if known is None else known
        labels = _mark(labels, counted.patterns, added)
        labels = labels.take(counted.index)
        if counted.known is not None:
            labels = labels.with_gold(counted.known)
        space = self._reading.encoder.packing.space
        return AnswerTable(counted.keys, added.answer(labels), KeyIndex(counted.keys, space))

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Turn what the engine raises into one error."""
        try:
            with interruptible():
                yield
        except self.engine.failures as error:
            raise HyperlabelError(f"engine {self.engine.name} failed: {reason_of(error)}") from error


def _mark(labels: Labels, patterns: Patterns, added: Added) -> Labels:
    """The labels of patterns with their source, if that is to be added: votes, if there are any."""
    source = np.where(patterns.has_votes, VOTES, None).astype(object)  # type: ignore[call-overload]
    return replace(labels, source=source) if added.source else labels


# Rows with too many patterns.


@dataclass(frozen=True)
class RowAnswerer:
    """Answers to rows from a fitted model, wherever they are; can be pickled."""

    model: LabelModel
    encoder: Encoder
    added: Added
    metric: Metric

    def __call__(self, keys: RowKeys) -> Answers:
        """(n, g) keys -> n answers."""
        parts = [self.added.nothing, *map(self._answer, _chunks(keys))]
        return Answers.join(parts)

    def _answer(self, keys: RowKeys) -> Answers:
        patterns, gold = self.encoder.patterns(keys)
        labels = _mark(self.model.label_patterns(patterns, self.metric), patterns, self.added)
        labels = labels.take(patterns.expand(np.arange(patterns.n_patterns)))
        return self.added.answer(labels if gold is None else labels.with_gold(gold))


def _fit_passes(engine: Engine, reading: RowsRead, job: Job) -> LabelModel:
    """A copy of the model that has read the rows in passes."""
    if not job.model.reads_in_passes:
        raise ParameterError(
            f"votes has about {reading.n_patterns:,} patterns, and {job.model!r} learns from patterns in memory; "
            f"expected at most {job.max_patterns:,}. Name fewer LFs, fit the model on a sample of the rows first, or "
            "raise max_patterns"
        )
    encoder = reading.encoder
    gold = collect_gold(engine, encoder)
    return copy.copy(job.model).fit_passes(partial(_reduce_rows, engine, encoder), encoder.no_items, gold, job.metric)


def _reduce_rows(engine: Engine, encoder: Encoder, sums: Callable[[Patterns], Sums]) -> Sums:
    return engine.reduce(encoder.packing, partial(_sum_rows, encoder, sums))


def _sum_rows(encoder: Encoder, sums: Callable[[Patterns], Sums], keys: RowKeys) -> Sums:
    """The sums of some rows, chunk by chunk; zeros if there are no rows. (n, g) keys -> sums."""
    if not len(keys):
        return sums(encoder.no_items)
    return reduce(add_sums, (sums(encoder.patterns(chunk)[0]) for chunk in _chunks(keys)))


def _chunks(keys: RowKeys) -> Iterator[RowKeys]:
    """(n, g) keys in chunks."""
    for start in range(0, len(keys), CHUNK_ROWS):
        yield keys[start : start + CHUNK_ROWS]
