"""What to label, read where it is: which columns are votes, and what they vote for.

The rule is that of tables in memory, `hyperlabel.columns.rule.take_votes`, on columns that the engine counted. Counting
the patterns gives everything that the rule needs, so the rule costs no extra pass.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_flag, check_number, check_text
from hyperlabel.columns.frames import Column, plain
from hyperlabel.columns.rule import ColumnSummary, VoteColumns, abstain_keys, choose_columns, take_votes
from hyperlabel.columns.sources import GLANCE
from hyperlabel.engines.base import Engine
from hyperlabel.engines.columns import CountedColumn, Encoder, Look, Places, Tally, count_column, look_at
from hyperlabel.engines.packing import Packing, RowKeys
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.metrics import Metric
from hyperlabel.models import LabelModel
from hyperlabel.shown import show_some
from hyperlabel.votes import describe_gold, match_lfs
from hyperlabel.votes.classes import (
    MOST_INFERRED,
    Classes,
    find_classes,
    missing_classes,
    no_label,
    state_classes,
    unify_labels,
    unify_numbers,
)
from hyperlabel.votes.partial import set_aside, state_outcomes
from hyperlabel.votes.read import number_reader

MOST_PATTERNS = 1 << 22
"""Up to this many patterns are counted and joined back; with more, the model reads the rows in passes."""

_ESTIMATE_ERROR = 1.05  # estimates of the number of patterns may be too low by this factor


@dataclass(frozen=True)
class Job:
    """What an engine is asked to do.

    Attributes:
        model: The label model; it is not changed.
        lfs: Columns that are LFs, as names or patterns; None for those that the model was fitted on, or else for those
            that the rule takes.
        others: Columns that are not LFs unless they are named.
        abstain: Values that abstain; None for the usual ones.
        n_classes: Number of classes; None to infer it.
        classes: The classes; None to infer them.
        gold: The column with known classes, if there is one.
        probabilities: Whether to add the probabilities of all classes.
        source: Whether to add where each label comes from.
        text: The column of texts to label rows without votes by, if any; it goes with `source`.
        metric: What the labels should be good at.
        max_patterns: Patterns that are counted and joined back.
        written: Whether the rows come from a csv, where a column of strings that all look like numbers means numbers.
    """

    model: LabelModel
    lfs: Sequence[str] | None = None
    others: Sequence[str] = ()
    abstain: Sequence[Any] | None = None
    n_classes: int | None = None
    classes: Sequence[Hashable] | None = None
    gold: str | None = None
    probabilities: bool = False
    source: bool = False
    text: str | None = None
    metric: Metric = "accuracy"
    max_patterns: int = MOST_PATTERNS
    written: bool = False

    def __post_init__(self) -> None:
        for name in ("gold", "text"):
            if getattr(self, name) is not None:
                check_text(getattr(self, name), name, "the name of a column")
        for name in ("probabilities", "source"):
            check_flag(getattr(self, name), name)
        check_number(self.max_patterns, "max_patterns", "a whole number, 0 or more", least=0, whole=True)


@dataclass(frozen=True)
class RowsRead:
    """Rows that were read and understood.

    Attributes:
        columns: What was taken, and what to say about it.
        encoder: From the keys of rows to their votes and gold.
        counted: The keys of rows and how many rows have each; None if there are too many.
        n_patterns: At most about how many keys there are.
        n_rows: Number of rows.
    """

    columns: VoteColumns
    encoder: Encoder
    counted: tuple[RowKeys, NDArray[np.int64]] | None
    n_patterns: int
    n_rows: int


def read_rows(engine: Engine, job: Job) -> RowsRead:
    """Look at the columns, count the rows, and decide what they mean.

    Raises:
        VotesError: A column cannot be votes, or a value is not a class.
    """
    return _Reader(engine, job).read()


class _Reader:
    """Columns of votes and gold, each counted once."""

    def __init__(self, engine: Engine, job: Job) -> None:
        self.engine, self.job = engine, job
        self.present = list(engine.kinds())
        for what, name in (("gold", job.gold), ("text", job.text)):
            if name is not None and name not in self.present:
                raise VotesError(f"{what} is '{name}'; expected a column of votes: {', '.join(self.present)}")
        self.lfs = _find_lfs(self.present, job)
        self.n_classes, self.classes = _state_classes(job)
        self.stated = state_classes(self.n_classes, self.classes)
        self.abstain = abstain_keys(job.abstain, None if self.classes is None else self.stated)

    def read(self) -> RowsRead:
        job = self.job
        named = job.lfs is not None or (job.model.is_fitted and job.model.lf_names_ is not None)
        taken = take_votes(
            self.present,
            self._summarize,
            lfs=self.lfs if named else None,
            others=[*job.others, *(name for name in (job.gold, job.text) if name is not None)],
            abstain=job.abstain,
            stated=self.stated,
            glance=self._glance,
        )
        self._check_many()
        voting, leaning = set_aside(self.lf_columns, self.stated)
        known, stated = find_classes(voting, self.n_classes, self.classes)
        gold: list[Column] = []
        if job.gold is not None:
            column, known, taken = self._read_gold(known, stated, taken)
            gold = [column]
        outcomes = state_outcomes(leaning, known)
        encoder = Encoder.of(self.packing, [*voting, *gold], len(self.lfs), known, outcomes)
        n_rows = int(self.tallies[0].sum())
        return RowsRead(taken, encoder, self.counted, self.n_patterns, n_rows)

    # What the rule asks for.

    def _summarize(self, names: Sequence[str]) -> list[ColumnSummary]:
        if list(names) != self.lfs:  # columns that tell whether the table is long: only their values matter
            held = self.engine.distinct(names, MOST_INFERRED)
            return [ColumnSummary(n, 0, dict.fromkeys(_plain_values(v), 0)) for n, v in zip(names, held, strict=True)]
        found = {column.name: column.summary for column in self.lf_columns}
        n_rows = int(self.tallies[0].sum()) if self.tallies else self.engine.n_rows()
        many = ColumnSummary("", n_rows, {}, MOST_INFERRED + 1)
        return [found.get(name, replace(many, name=name)) for name in names]

    def _glance(self, names: Sequence[str]) -> list[ColumnSummary]:
        held = self.engine.head(names, GLANCE)
        return [Column.from_values(name, held[name]).summary for name in names]

    # Columns that were counted.

    @cached_property
    def look(self) -> Look:
        most = max(MOST_INFERRED, len(self.stated or ()) + len(self.abstain))
        gold = [] if self.job.gold is None else [self.job.gold]
        return look_at(self.engine, [*self.lfs, *gold], most, self.abstain)

    @property
    def packing(self) -> Packing:
        return Packing(self.look.digits)

    @cached_property
    def n_patterns(self) -> int:
        """At most about how many keys there are; rows are read only if there could be too many to count."""
        most = self.job.max_patterns
        if self.packing.space <= most:
            return self.packing.space
        n = self.engine.n_rows()
        return n if n <= most else min(n, int(_ESTIMATE_ERROR * self.engine.estimate(self.packing)))

    @cached_property
    def counted(self) -> tuple[RowKeys, NDArray[np.int64]] | None:
        return self.engine.count(self.packing) if self.n_patterns <= self.job.max_patterns else None

    @cached_property
    def tallies(self) -> tuple[NDArray[np.float64], ...]:
        """For each digit of each column its number of rows; nothing if all columns hold too many values."""
        if not self.look.digits:
            return ()
        tally = Tally(self.packing)
        return self.engine.reduce(self.packing, tally) if self.counted is None else tally.of(*self.counted)

    @cached_property
    def lf_columns(self) -> list[CountedColumn]:
        columns = self._count(self.lfs, self.job.written)
        may_be_numbers = self.stated is None or not isinstance(self.stated[0], str)
        return unify_numbers(columns) if may_be_numbers else columns  # type: ignore[return-value]

    def _count(self, names: Sequence[str], written: bool) -> list[CountedColumn]:
        pairs = [(d, t) for d, t in zip(self.look.digits, self.tallies, strict=True) if d.column in names]
        texts = [value for digit, _ in pairs for value in digit.values or () if isinstance(value, str)]
        read: Callable[[Any], Any] = number_reader(texts) if written else plain
        columns = (count_column(self.engine, self.look, digit, tally, read) for digit, tally in pairs)
        return [replace(column, abstain=self.abstain) for column in columns]

    def _check_many(self) -> None:
        """Refuse what the rule does not see: columns of LFs or gold with more values than the stated classes."""
        for name in self.look.many:
            raise VotesError(
                f"column '{name}' holds more than {MOST_INFERRED:,} different values; expected classes. "
                "Is it an identifier or a text? Leave it out"
            )

    def _read_gold(
        self, known: Classes, stated: bool, taken: VoteColumns
    ) -> tuple[CountedColumn, Classes, VoteColumns]:
        """The column of gold, and the classes including those that only gold has."""
        (gold,) = self._count([self.job.gold or ""], no_label(known) is not None)
        digit = self.look.digits[-1]
        gold = replace(gold, abstain=Column.abstain, describe=Places(self.engine, digit, gold=True))
        gold = unify_labels(gold, known)  # type: ignore[assignment]
        extra = () if stated else missing_classes(gold, known)
        if extra:
            said = describe_gold({c: gold.summary.counts.get(c, 0) for c in extra})
            taken = replace(taken, warnings=(*taken.warnings, said))
        return gold, known + extra, taken


def _plain_values(values: Sequence[Any]) -> list[Any]:
    return [value for value in map(plain, values) if value is not None]


def _find_lfs(present: list[str], job: Job) -> list[str]:
    """The columns that are LFs, in the order of the model if it knows their names."""
    fitted = job.model.lf_names_ if job.model.is_fitted else None
    if fitted is not None and job.lfs is None:
        chosen = [name for name in present if name in fitted]
    elif job.lfs is None:
        chosen = list(choose_columns(present, None, {*job.others, job.gold or "", job.text or ""}))
    else:
        chosen = list(choose_columns(present, job.lfs))
    chosen = [name for name in chosen if name not in (job.gold, job.text)]
    if fitted is not None:
        return [chosen[j] for j in match_lfs(chosen, fitted)]
    if not chosen:
        raise VotesError("votes has no column besides that of gold; name the LFs with lfs")
    return chosen


def _state_classes(job: Job) -> tuple[int | None, Sequence[Hashable] | None]:
    """The number of classes, or the classes: those of the fitted model, else as the caller or the model states."""
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
