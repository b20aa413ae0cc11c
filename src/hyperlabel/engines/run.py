"""Labeling where the rows are: count patterns, judge them, join the answers back.

Up to `max_patterns` patterns are counted, and the model sees them as it sees those of an array. Beyond, the model reads
the rows in passes and then judges them where they are. A model that is fitted already only judges.
"""

import copy
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from hyperlabel.added import Added, Answers
from hyperlabel.classes import (
    MOST_INFERRED,
    Classes,
    are_numbers,
    find_classes,
    missing_classes,
    show_some,
    state_classes,
)
from hyperlabel.engines.base import CHUNK_ROWS, AnswerTable, Engine
from hyperlabel.engines.columns import Encoder, read_columns
from hyperlabel.engines.counting import collect_gold, count_patterns
from hyperlabel.engines.packing import KeyIndex, Packing, RowKeys
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.metrics import Metric
from hyperlabel.models import LabelModel
from hyperlabel.networks import Sums, add_sums
from hyperlabel.partial import set_aside, state_outcomes
from hyperlabel.patterns import Patterns
from hyperlabel.read import lf_columns
from hyperlabel.votes import match_lfs

MOST_PATTERNS = 1 << 22
"""Patterns that are counted and joined back; beyond, the model reads the rows in passes."""

_ESTIMATE_ERROR = 1.05  # estimates of the number of patterns may be so much too low


@dataclass(frozen=True)
class Job:
    """What is asked of an engine.

    Attributes:
        model: The label model; it stays as it is.
        lfs: Columns that are LFs, as names or patterns; None for those that the model was fitted on, or else for all
            but those with another meaning.
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


def label_rows(engine: Engine, job: Job) -> Any:
    """The rows of an engine with the columns that labeling adds, in the engine's kind of frame."""
    encoder = _read(engine, job)
    if job.model.is_fitted:
        job.model.label_patterns(encoder.no_items, job.metric)  # refuses other LFs, or labels that it cannot give
    added = Added(encoder.classes, job.probabilities)
    patterns = _estimate(engine, encoder.packing, job.max_patterns)
    if patterns <= job.max_patterns:
        return engine.join(encoder.packing, _answer_patterns(engine, encoder, added, job), added)
    model = job.model if job.model.is_fitted else _fit_passes(engine, encoder, job, patterns)
    return engine.apply(encoder.packing, RowAnswerer(model, encoder, added, job.metric), added)


# What the columns mean.


def _read(engine: Engine, job: Job) -> Encoder:
    """Look at the columns of votes and of gold, and find the classes."""
    present = list(engine.kinds())
    if job.gold is not None and job.gold not in present:
        raise VotesError(f"gold is '{job.gold}'; expected a column of votes: {', '.join(present)}")
    names = _find_lfs(present, job)
    n_classes, classes = _state_classes(job)
    read = read_columns(
        engine,
        names if job.gold is None else [*names, job.gold],
        max(MOST_INFERRED, n_classes or 0, len(classes or ())),
        numbered=classes is None or are_numbers(tuple(classes)),
    )
    lfs, gold = read[: len(names)], None if job.gold is None else read[-1]
    columns, leaning = set_aside([each.column for each in lfs], None if classes is None else tuple(classes))
    lfs = [replace(each, column=column) for each, column in zip(lfs, columns, strict=True)]
    known, stated = find_classes(columns, n_classes, classes)
    if gold is not None and not stated:
        known += missing_classes(gold.column, known)
    return Encoder.of(lfs, gold, known, state_outcomes(leaning, known))


def _find_lfs(present: list[str], job: Job) -> list[str]:
    """The columns that are LFs, in the order that the model knows where it knows their names."""
    fitted = job.model.lf_names_ if job.model.is_fitted else None
    if fitted is not None and job.lfs is None:
        chosen = [name for name in present if name in fitted]
    else:
        chosen = lf_columns(present, job.lfs)
    chosen = [name for name in chosen if name != job.gold]
    if fitted is not None:
        return [chosen[j] for j in match_lfs(chosen, fitted)]
    if not chosen:
        raise VotesError("votes has no LF column but that of gold; name the LFs with lfs")
    return chosen


def _state_classes(job: Job) -> tuple[int | None, Sequence[Hashable] | None]:
    """The number of classes, or the classes, as the fitted model knows them, or as the caller or the model states."""
    if not job.model.is_fitted:
        if job.n_classes is not None or job.classes is not None:
            return job.n_classes, job.classes
        return job.model.n_classes, job.model.classes
    learned: Classes = tuple(job.model.classes_.tolist())
    stated = state_classes(job.n_classes, job.classes)
    if (job.classes is not None and stated != learned) or job.n_classes not in (None, len(learned)):
        asked = f"n_classes is {job.n_classes}" if job.classes is None else f"classes is [{show_some(stated or ())}]"
        raise ParameterError(f"{asked}, but the model was fitted with {show_some(learned)}; leave it out, or fit again")
    return None, learned


def _estimate(engine: Engine, packing: Packing, most: int) -> int:
    """At most about how many keys rows have; the rows are looked at only if they could have more than `most`."""
    if packing.space <= most:
        return packing.space
    n = engine.n_rows()
    return n if n <= most else min(n, int(_ESTIMATE_ERROR * engine.estimate(packing)))


# Patterns that are counted.


def _answer_patterns(engine: Engine, encoder: Encoder, added: Added, job: Job) -> AnswerTable:
    """Count patterns, judge them, by a model that is fitted on them if it was not before."""
    counted = count_patterns(engine, encoder)
    if counted is None:
        raise VotesError(f"votes has {encoder.n_lfs} LF columns and 0 rows; expected at least one LF and one item")
    model = job.model
    if not model.is_fitted:
        model = copy.copy(model).fit_patterns(counted.patterns, counted.gold)
    labels = model.label_patterns(counted.patterns, job.metric).take(counted.index)
    if counted.known is not None:
        labels = labels.with_gold(counted.known)
    return AnswerTable(counted.keys, added.answer(labels), KeyIndex(counted.keys, encoder.packing.space))


# Rows whose patterns are too many.


@dataclass(frozen=True)
class RowAnswerer:
    """Answers to rows by a fitted model, wherever they are; can be pickled."""

    model: LabelModel
    encoder: Encoder
    added: Added
    metric: Metric

    def __call__(self, keys: RowKeys) -> Answers:
        """(n, g) keys -> n answers."""
        parts = [self.added.nothing, *map(self._answer, _chunks(keys))]
        return Answers(np.concatenate([p.label for p in parts]), np.concatenate([p.numbers for p in parts]))

    def _answer(self, keys: RowKeys) -> Answers:
        patterns, gold = self.encoder.patterns(keys)
        labels = self.model.label_patterns(patterns, self.metric)
        labels = labels.take(patterns.expand(np.arange(patterns.n_patterns)))
        return self.added.answer(labels if gold is None else labels.with_gold(gold))


def _fit_passes(engine: Engine, encoder: Encoder, job: Job, patterns: int) -> LabelModel:
    """A copy of the model that has read the rows in passes."""
    if not job.model.reads_in_passes:
        raise ParameterError(
            f"votes has about {patterns:,} patterns, and {job.model!r} learns from patterns in memory; expected at "
            f"most {job.max_patterns:,}. Name fewer LFs, fit the model on a sample of the rows first, or raise "
            "max_patterns"
        )
    gold = collect_gold(engine, encoder)
    return copy.copy(job.model).fit_passes(partial(_reduce_rows, engine, encoder), encoder.no_items, gold, job.metric)


def _reduce_rows(engine: Engine, encoder: Encoder, sums: Callable[[Patterns], Sums]) -> Sums:
    return engine.reduce(encoder.packing, partial(_sum_rows, encoder, sums))


def _sum_rows(encoder: Encoder, sums: Callable[[Patterns], Sums], keys: RowKeys) -> Sums:
    """The sums of some rows, chunk by chunk; of no rows, zeros. (n, g) keys -> sums."""
    if not len(keys):
        return sums(encoder.no_items)
    return reduce(add_sums, (sums(encoder.patterns(chunk)[0]) for chunk in _chunks(keys)))


def _chunks(keys: RowKeys) -> Iterator[RowKeys]:
    """(n, g) keys in chunks."""
    for start in range(0, len(keys), CHUNK_ROWS):
        yield keys[start : start + CHUNK_ROWS]
