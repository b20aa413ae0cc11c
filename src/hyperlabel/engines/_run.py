"""Labeling in memory or where the rows are: count patterns, judge them, join the answers back.

Up to `max_patterns` patterns are counted, and the model sees them like those of an array. With more, the model reads
the rows in passes and then judges them where they are. A model that is already fitted only judges.
"""

import copy
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Metric, check_memory
from hyperlabel.classify import VOTES, JointModel, fill_labels
from hyperlabel.data import (
    Answers,
    Format,
    Labels,
    OutputColumns,
    Patterns,
    VoteColumns,
    Votes,
    interruptible,
    reason_of,
    write_whole,
)
from hyperlabel.engines._base import CHUNK_ROWS, AnswerTable, Engine
from hyperlabel.engines._packing import CountedPatterns, Encoder, KeyIndex, RowKeys, count_patterns
from hyperlabel.engines._reading import EncodedRows, Job
from hyperlabel.errors import HyperlabelError, ParameterError, VotesError
from hyperlabel.models import LabelModel, VoteProfile, count_votes
from hyperlabel.networks import Gold, Sums, add_sums

if TYPE_CHECKING:
    import polars as pl

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class MemoryRun:
    """Labeling of votes in memory; like `LabelingRun`, each step runs once, when it is needed."""

    estimator: LabelModel  # the label model; a fitted one labels in its state, another learns as a copy
    votes: Votes
    table: "pl.DataFrame"  # one row per item: the columns that the result keeps
    columns: VoteColumns  # which columns are votes
    gold: object = None  # known classes of items, as for `LabelModel.fit`
    metric: Metric = "accuracy"
    probabilities: bool = False  # whether to add the probabilities of all classes
    inputs: object = None  # texts or features, as for `fill_labels`
    votes_only: bool = False  # whether items with votes are labeled by these alone
    embed: Any = None  # the encoder of texts, as for `hyperlabel.label`
    joint: JointModel | None = None  # a state that labels by votes and texts
    threshold: float | None = None  # the least probability of a label
    name: str | None = None  # of the table, if it has one
    other_lfs: Sequence[str] = ()  # columns that vote for the classes, and that the fitted model does not know
    metadata: Mapping[str, str] = field(default_factory=dict)  # that of the file of the votes; results keep it

    engine_name: ClassVar[str] = "memory"

    @property
    def n_rows(self) -> int:
        """Number of items."""
        return self.votes.n_items

    @property
    def model(self) -> LabelModel:
        """The model if it was fitted, else a copy that has read the votes and their gold."""
        return self._result[0]

    @property
    def frame(self) -> "pl.DataFrame":
        """The table with the columns that labeling adds."""
        _, labels, index = self._result
        added = self.added
        check_memory(self.n_rows * len(added.names), f"the labels of {self.n_rows:,} items", "label fewer at a time")
        answers = added.to_polars(added.answer(labels).take(index))
        kept = self.table.drop(added.replaced(self.table.columns))
        return kept.rename(added.rename(self.table.columns)).hstack(answers)

    @property
    def added(self) -> OutputColumns:
        """The columns that labeling adds."""
        labels = self._result[1]
        return OutputColumns(labels.classes, self.probabilities, labels.source is not None, self.threshold)

    @property
    def label_counts(self) -> dict[Any, int]:
        """Number of items with each label; None for no label."""
        _, labels, index = self._result
        added = OutputColumns(labels.classes, threshold=self.threshold)
        counts = np.bincount(added.answer(labels).label[index], minlength=len(added.label_values)).tolist()
        return {name: n for name, n in zip(added.label_values, counts, strict=True) if n}

    @property
    def balance(self) -> dict[Any, float]:
        """The share of each class among the items with a label, by their probabilities."""
        _, labels, index = self._result
        return labels.take(index).balance

    @cached_property
    def source_counts(self) -> dict[str | None, int] | None:
        """Number of labels from each source, most first; None without texts or features."""
        source = self._result[1].decide(self.threshold).source
        return None if self.inputs is None or source is None else dict(Counter(source.tolist()).most_common())

    @property
    def profile(self) -> VoteProfile:
        """How the LFs vote on these items."""
        return VoteProfile.of_sums(_count_votes(self.model, self.votes))

    @cached_property
    def _result(self) -> tuple[LabelModel, Labels, NDArray[np.integer]]:
        """The fitted model, distinct labels, and the (n,) label of each item."""
        model, votes, gold = self.estimator, self.votes, None
        if self.inputs is not None:
            return self._label_inputs()
        if model.is_fitted:
            patterns = model.read(votes)
            labels = model.label_patterns(patterns, self.metric)
        else:
            model = copy.copy(model)
            if self.gold is not None:
                votes, gold = votes.with_labels(self.gold, "gold")
            patterns = Patterns.from_votes(votes)
            counts = None if gold is None else patterns.count_labels(gold)
            labels = model.fit_label_patterns(patterns, counts, self.metric)
            model.note_source(self.name, votes.origin.abstain)
        index = patterns.expand(np.arange(patterns.n_patterns))
        if gold is not None:  # an item is its pattern and its gold
            pairs, index = np.unique(index * (patterns.n_classes + 1) + gold + 1, return_inverse=True)
            row, number = np.divmod(pairs, patterns.n_classes + 1)
            labels = labels.take(row).with_gold(number - 1)
        return model, labels, index

    def _label_inputs(self) -> tuple[LabelModel, Labels, NDArray[np.integer]]:
        """The fitted model, and labels by votes and texts or features."""
        given, combine, metric = (self.votes, self.inputs, self.gold), not self.votes_only, self.metric
        if self.joint is None:
            labels = fill_labels(self.estimator, *given, combine=combine, encoder=self.embed, metric=metric)
        else:
            labels = self.joint.label_inputs(*given, combine=combine, metric=metric)
        assert isinstance(labels.model, JointModel)
        model = labels.model.model
        if not self.estimator.is_fitted:
            model.note_source(self.name, self.votes.origin.abstain)
        return model, labels, np.arange(self.n_rows)

    @property
    def state(self) -> "LabelModel | JointModel":
        """What labels new rows as these: the fitted model, with texts if there are any."""
        return self._result[0] if self.inputs is None else self._result[1].model


@dataclass(frozen=True, eq=False)
class LabelingRun:
    """Labeling of rows where they are; each step runs once, when it is needed."""

    engine: Engine
    job: Job
    metadata: Mapping[str, str] = field(default_factory=dict)  # that of the file of the rows; results keep it

    source_counts: ClassVar[None] = None  # sources of labels are counted in memory only
    balance: ClassVar[None] = None  # and so are their shares

    @property
    def engine_name(self) -> str:
        """The engine's name."""
        return self.engine.name

    @property
    def columns(self) -> VoteColumns:
        """The columns that are votes, with warnings about them."""
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
                model = _fit_passes(self.engine, self._reading, self.job)
                return model.note_source(self.job.name, self.job.abstain), None
            model = copy.copy(self.job.model)
            gold = self._counted.gold if self.job.gold_teaches else None
            labels = model.fit_label_patterns(self._counted.patterns, gold, self.job.metric)
            model.note_source(self.job.name, self.job.abstain)
            return model, labels

    @cached_property
    def frame(self) -> Any:
        """The rows with the columns that labeling adds, in the engine's kind of frame."""
        encoder, added = self._reading.encoder, self.added
        if not self.n_rows:
            return self.engine.apply(encoder.packing, lambda keys: added.nothing, added)
        return self._label(added) if self.job.text is None else self._fill(self.job.text, added)

    @property
    def added(self) -> OutputColumns:
        """The columns that labeling adds."""
        encoder = self._reading.encoder
        return OutputColumns(encoder.classes, self.job.probabilities, self.job.source, self.job.threshold)

    def _label(self, added: OutputColumns) -> Any:
        """Return the rows with labels from votes and gold."""
        encoder = self._reading.encoder
        if self.job.model.is_fitted:  # refuses other LFs, or labels that it cannot give
            self.job.model.label_patterns(encoder.no_items, self.job.metric)
        with self._failing():
            if self._counted is not None:
                return self.engine.join(encoder.packing, self._answer(self._counted, added), added)
            return self.engine.apply(encoder.packing, RowAnswerer(self.model, encoder, added, self.job.metric), added)

    @cached_property
    def state(self) -> "LabelModel | JointModel":
        """What labels new rows as these: the fitted model, with texts if there are any."""
        text, model, engine = self.job.text, self.model, self.engine
        if text is None or self.job.joint is not None:
            return self.job.joint or model
        from hyperlabel.engines._filling import MOST_TEACHERS, learn

        encoder = self._reading.encoder
        with self._failing():
            rows = engine.sample_texts(encoder.packing, text, MOST_TEACHERS)  # type: ignore[attr-defined]
        return learn(model, encoder, rows, self.job.embed)

    def _fill(self, text: str, added: OutputColumns) -> Any:
        """Return the rows with labels from votes and texts."""
        from hyperlabel.engines._filling import TextAnswerer

        encoder, joint = self._reading.encoder, self.state
        assert isinstance(joint, JointModel)
        answer = TextAnswerer(joint, encoder, added, self.job.votes_only)
        with self._failing():
            return self.engine.apply_texts(encoder.packing, text, answer, added)  # type: ignore[attr-defined]

    @cached_property
    def profile(self) -> VoteProfile:
        """How the LFs vote in these rows: counted with the patterns, or in one more pass over the rows."""
        count = partial(_count_votes, self.model)
        if self._counted is not None:
            return VoteProfile.of_sums(count(self._counted.patterns))
        encoder = self._reading.encoder
        with self._failing():
            return VoteProfile.of_sums(self.engine.reduce(encoder.packing, partial(_sum_rows, encoder, count)))

    @property
    def other_lfs(self) -> list[str]:
        """Columns that vote for the classes, and that the fitted model does not know."""
        with self._failing():
            return self._reading.other_lfs

    def write(self, target: str | Path, metadata: Mapping[str, str]) -> None:
        """Write the labeled rows, whole or not at all, with the input's metadata and more, if the format has room."""
        frame, engine, format = self.frame, self.engine, Format.of_name(Path(target).name)
        assert format is not None  # others were refused
        texts = {**self.metadata, **metadata}
        with interruptible():
            write_whole(target, lambda part: engine.write(frame, part, format, texts), engine.failures)
        _log.info("engine %s wrote %s", engine.name, target)

    @property
    def label_counts(self) -> dict[Any, int] | None:
        """Number of rows with each label, None for no label; just None if the counts of patterns do not tell."""
        if not self.n_rows:
            return {}
        if self._counted is None or self._reading.counted is None or self.job.text is not None:
            return None
        added = OutputColumns(self._reading.encoder.classes, threshold=self.job.threshold)
        counts = np.zeros(len(added.label_values), np.int64)
        np.add.at(counts, self._answer(self._counted, added).answers.label, self._reading.counted[1])
        return {label: n for label, n in zip(added.label_values, counts.tolist(), strict=True) if n}

    @cached_property
    def _reading(self) -> EncodedRows:
        with self._failing():
            rows = EncodedRows(self.engine, self.job)
        _log.info("engine %s read %s: %s", self.engine.name, self.job.name or "a frame", rows.columns.describe())
        return rows

    @cached_property
    def _counted(self) -> CountedPatterns | None:
        reading = self._reading
        return None if reading.counted is None else count_patterns(*reading.counted, reading.encoder)

    def _answer(self, counted: CountedPatterns, added: OutputColumns) -> AnswerTable:
        labels = None if self.job.model.is_fitted else self._learned[1]
        if labels is None:
            labels = self.model.label_patterns(counted.patterns, self.job.metric)
        labels = _mark(labels, counted.patterns, added).take(counted.index)
        if counted.key_gold is not None:
            labels = labels.with_gold(counted.key_gold)
        space = self._reading.encoder.packing.space
        return AnswerTable(counted.keys, added.answer(labels), KeyIndex(counted.keys, space))

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Raise failures of the engine as HyperlabelError."""
        try:
            with interruptible():
                yield
        except self.engine.failures as error:
            raise HyperlabelError(f"engine {self.engine.name} failed: {reason_of(error)}") from error


def _mark(labels: Labels, patterns: Patterns, added: OutputColumns) -> Labels:
    """Return the labels of patterns with their source, if that is added: votes, if there are any."""
    source = np.where(patterns.has_votes, VOTES, None).astype(object)  # type: ignore[call-overload]
    return replace(labels, source=source) if added.source else labels


# Rows with too many patterns.


@dataclass(frozen=True)
class RowAnswerer:
    """Answers rows by a fitted model, wherever they are; can be pickled."""

    model: LabelModel
    encoder: Encoder
    added: OutputColumns
    metric: Metric

    def __call__(self, keys: RowKeys) -> Answers:
        """(n, g) keys -> n answers."""
        return Answers.join([self.added.nothing, *map(self._answer, _chunks(keys))])

    def _answer(self, keys: RowKeys) -> Answers:
        patterns, gold = self.encoder.patterns(keys)
        labels = _mark(self.model.label_patterns(patterns, self.metric), patterns, self.added)
        labels = labels.take(patterns.expand(np.arange(patterns.n_patterns)))
        return self.added.answer(labels if gold is None else labels.with_gold(gold))


def _fit_passes(engine: Engine, reading: EncodedRows, job: Job) -> LabelModel:
    """Return a copy of the model that has read the rows in passes."""
    if not job.model.reads_in_passes:
        raise ParameterError(
            f"votes has about {reading.n_patterns:,} patterns, and {job.model!r} learns from patterns in memory; "
            f"expected at most {job.max_patterns:,}. Name fewer LFs, fit the model on a sample of the rows first, or "
            "raise max_patterns"
        )
    encoder = reading.encoder

    def reduce_rows(sums: Callable[[Patterns], Sums]) -> Sums:
        return engine.reduce(encoder.packing, partial(_sum_rows, encoder, sums))

    gold = None
    if encoder.gold is not None and job.gold_teaches:  # only the patterns of gold items are counted, which are few
        counted = count_patterns(*engine.where(encoder.gold).count(encoder.packing), encoder)
        gold = None if counted is None or counted.gold is None else Gold(counted.patterns, counted.gold)
    return copy.copy(job.model).fit_passes(reduce_rows, encoder.no_items, gold, job.metric)


def _count_votes(model: LabelModel, votes: object) -> Sums:
    """Return the sums of a profile, with LFs and votes numbered as in the state of a fitted model."""
    return count_votes(model.read(votes))


def _sum_rows(encoder: Encoder, sums: Callable[[Patterns], Sums], keys: RowKeys) -> Sums:
    """Return the sums of some rows, chunk by chunk; zeros if there are no rows. (n, g) keys -> sums."""
    if not len(keys):
        return sums(encoder.no_items)
    return reduce(add_sums, (sums(encoder.patterns(chunk)[0]) for chunk in _chunks(keys)))


def _chunks(keys: RowKeys) -> Iterator[RowKeys]:
    return (keys[start : start + CHUNK_ROWS] for start in range(0, len(keys), CHUNK_ROWS))
