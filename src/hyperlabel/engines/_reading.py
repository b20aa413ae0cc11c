"""Reading rows where they are: which columns are votes, and what they vote for.

A column's distinct values are its digits, including abstentions, and only they reach this process. The rule is that of
tables in memory, `take_votes`, on columns that the engine counted. Counting the patterns gives everything that the rule
needs, so the rule costs no extra pass.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Metric, show_some
from hyperlabel.data import (
    ABSTAIN,
    GLANCE,
    MOST_INFERRED,
    Classes,
    Column,
    ColumnSummary,
    Key,
    abstain_keys,
    choose_columns,
    describe_gold,
    find_classes,
    key_of,
    match_lfs,
    may_be_votes,
    missing_classes,
    no_label,
    number_reader,
    number_values,
    plain,
    set_aside,
    state_classes,
    state_outcomes,
    take_votes,
    unify_labels,
    unify_numbers,
)
from hyperlabel.engines._base import Engine
from hyperlabel.engines._packing import Digit, Encoder, Packing, RowKeys
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.models import LabelModel

MOST_PATTERNS = 1 << 22
"""Up to this many patterns are counted and joined back; with more, the model reads the rows in passes."""

MissingLfs = Literal["error", "abstain"]
"""What to do with LFs of a fitted model that a table lacks."""

_ESTIMATE_ERROR = 1.05  # estimates of the number of patterns may be too low by this factor


@dataclass(frozen=True)
class ColumnScan:
    """Values that columns hold, as digits."""

    digits: tuple[Digit, ...]
    nulls: dict[str, int]  # of columns of class numbers with -1, the number of nulls: both are the digit 0
    too_many: tuple[str, ...]  # columns with more values than there can be classes; they have no digits


def scan_columns(engine: Engine, names: Sequence[str], most: int, abstain: frozenset[Key]) -> ColumnScan:
    """Find the values of columns; a column may hold at most `most` different ones, besides those that abstain."""
    kinds = engine.kinds()
    odd = next((name for name in names if kinds[name] not in ("integer", "plain")), None)
    if odd is not None:
        raise VotesError(
            f"column '{odd}' holds values of the type {kinds[odd]}; expected numbers, strings or booleans. "
            "Leave the column out of lfs"
        )
    whole = [name for name in names if kinds[name] == "integer"]
    ends = dict(zip(whole, engine.ranges(whole), strict=True)) if whole else {}
    lowest = ABSTAIN if key_of(ABSTAIN) in abstain else 0
    numbered = {name for name, (low, high) in ends.items() if lowest <= low and high < most}
    others = [name for name in names if name not in numbered]
    values = dict(zip(others, engine.distinct(others, most), strict=True))
    too_many = tuple(name for name in others if len(values[name]) > most)
    digits = []
    for name in (name for name in names if name not in too_many):
        held = sorted((v for v in values.get(name, ()) if plain(v) is not None), key=lambda v: (type(v).__name__, v))
        numbers = name in numbered
        digits.append(Digit(name, ends[name][1] + 2) if numbers else Digit(name, len(held) + 1, tuple(held)))
    negative = [name for name in whole if name in numbered and ends[name][0] == ABSTAIN]
    nulls = engine.nulls(negative) if negative else []
    return ColumnScan(tuple(digits), dict(zip(negative, nulls, strict=True)), too_many)


def count_digits(
    packing: Packing, keys: RowKeys, counts: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.float64], ...]:
    """Count the rows of (n, g) keys, or of (c, g) keys that stand for `counts` rows. -> (base,) for each column."""
    digits = packing.unpack(keys)
    columns = enumerate(packing.digits)
    return tuple(np.bincount(digits[:, j], counts, digit.base).astype(np.float64) for j, digit in columns)


@dataclass(frozen=True, eq=False)
class CountedColumn(Column):
    """A column whose rows were counted by their digits; `codes` holds the value of each digit, -1 for empty."""

    held: tuple[int, ...] = ()  # (v,) how many rows have each of `values`
    n_rows: int = 0

    @cached_property
    def summary(self) -> ColumnSummary:
        """Number of rows of each value."""
        return ColumnSummary(self.name, self.n_rows, dict(zip(self.values, self.held, strict=True)))

    @property
    def is_votes(self) -> bool:
        """True for a column of votes, False for gold."""
        return isinstance(self.describe, RowLocator) and not self.describe.gold

    def with_values(self, values: Sequence[Any]) -> Self:
        """Return the column with other values; the rows of those that become one are added up."""
        number = number_values(values)
        held = [0] * len(number)
        for value, n in zip(values, self.held, strict=True):
            held[number[key_of(value)]] += n
        return replace(super().with_values(values), held=tuple(held))

    def first_of(self, kind: str) -> Any:
        """Return the first value of a kind; if rows have no order, the least."""
        assert isinstance(self.describe, RowLocator)
        values = self.of_kind(kind)
        digits = [int((self.codes == self.values.index(value)).argmax()) for value in values]
        first = self.describe.find(digits)
        return values[0] if first is None else values[digits.index(first[1])]


def count_column(
    engine: Engine,
    scan: ColumnScan,
    digit: Digit,
    rows: NDArray[np.float64],
    read: Callable[[Any], Any] = plain,
) -> CountedColumn:
    """Make a column from the (base,) numbers of rows of its digits; `read` gives the meaning of an engine's value."""
    n_rows, counts = int(rows.sum()), [int(n) for n in rows]
    if digit.values is not None and n_rows and not all(counts[1:]):  # a value that was there is gone
        raise VotesError(f"column '{digit.column}' changed while it was being read; label again")
    raw = range(digit.base - 1) if digit.values is None else digit.values
    pairs = [(d, read(value)) for d, value in enumerate(raw, 1) if counts[d]]
    minus = counts[0] - scan.nulls.get(digit.column, counts[0])
    values = [ABSTAIN, *(value for _, value in pairs)] if minus else [value for _, value in pairs]
    number = number_values(values)
    codes, held = np.full(digit.base, -1), [0] * len(number)
    for d, value in pairs:
        codes[d] = number[key_of(value)]
        held[codes[d]] += counts[d]
    if minus:
        held[number[key_of(ABSTAIN)]] += minus
    locator = RowLocator(engine, digit)
    return CountedColumn(digit.column, tuple(v for _, v in number), codes, locator, held=tuple(held), n_rows=n_rows)


@dataclass(frozen=True)
class RowLocator:
    """Names a value of a column in an error: by its first row, if rows have an order."""

    engine: Engine
    digit: Digit
    gold: bool = False  # whether it is the column of gold

    def __call__(self, d: int) -> str:
        """Return the location of the value of a digit."""
        first = self.find([d])
        if self.gold:
            return "a value of gold" if first is None else f"gold[{first[0]}]"
        name = self.digit.column
        return f"a value of column '{name}'" if first is None else f"column '{name}', row {first[0]}"

    def find(self, digits: Sequence[int]) -> tuple[int, int] | None:
        """Find the first row with one of some digits, and its digit; None if rows have no order."""
        values = [d - 1 if self.digit.values is None else self.digit.values[d - 1] for d in digits]
        first = self.engine.first_row(self.digit.column, values)
        return None if first is None else (first[0], digits[values.index(first[1])])


# Rows.


@dataclass(frozen=True)
class Job:
    """A task for an engine."""

    model: LabelModel  # it is not changed
    lfs: Sequence[str] | None = None  # names or patterns; None for those of the fitted model, or those that are found
    others: Sequence[str] = ()  # columns that are not LFs unless they are named
    abstain: Sequence[Any] | None = None  # values that abstain; None for those of the fitted model, or the usual ones
    missing_lfs: MissingLfs = "error"  # what to do with LFs of the fitted model that have no column
    n_classes: int | None = None
    classes: Sequence[Hashable] | None = None
    gold: str | None = None  # the column with known classes
    probabilities: bool = False  # whether to add the probabilities of all classes
    source: bool = False  # whether to add where each label comes from
    text: str | None = None  # the column of texts to label rows by; it goes with `source`
    votes_only: bool = False  # whether rows with votes are labeled by these alone
    embed: Any = None  # the encoder of texts
    joint: Any = None  # a `JointModel` that labels by votes and texts
    threshold: float | None = None  # the least probability of a label
    metric: Metric = "accuracy"
    max_patterns: int = MOST_PATTERNS
    name: str | None = None  # of the table, if it has one
    written: bool = False  # whether rows come from a csv, where strings that all look like numbers are numbers

    @property
    def abstains(self) -> Sequence[Any] | None:
        """Values that abstain, as stated here or for the fitted model; None for the usual ones."""
        return self.model.abstain_ if self.abstain is None and self.model.is_fitted else self.abstain

    @property
    def gold_teaches(self) -> bool:
        """Whether the label model learns from gold: not if texts do, as in `hyperlabel.label`."""
        return self.text is None or self.votes_only or self.model.needs_gold


class EncodedRows:
    """Rows that were read and understood: columns of votes and gold, each counted once.

    Attributes:
        columns: The columns that are votes, with warnings.
        encoder: From the keys of rows to their votes and gold.

    Raises:
        VotesError: A column cannot be votes, or a value is not a class.
    """

    def __init__(self, engine: Engine, job: Job) -> None:
        self.engine, self.job = engine, job
        self.present = list(engine.kinds())
        for what, name in (("gold", job.gold), ("text", job.text)):
            if name is not None and name not in self.present:
                raise VotesError(f"{what} is '{name}'; expected a column of votes: {', '.join(self.present)}")
        self.lfs = _find_lfs(self.present, job)
        self.n_classes, self.classes = _state_classes(job)
        self.stated = state_classes(self.n_classes, self.classes)
        self.abstain = abstain_keys(job.abstains, None if self.classes is None else self.stated)
        named = job.lfs is not None or (job.model.is_fitted and job.model.lf_names_ is not None)
        self.columns = take_votes(
            self.present,
            self._summarize,
            lfs=self.lfs if named else None,
            others=[*job.others, *(name for name in (job.gold, job.text) if name is not None)],
            abstain=job.abstains,
            stated=self.stated,
            glance=self._glance,
        )
        self.encoder = self._encode()

    def _encode(self) -> Encoder:
        """Decide what the values of the columns mean."""
        if self._scan.too_many:  # the rule does not see gold, or more values than the stated classes
            raise VotesError(
                f"column '{self._scan.too_many[0]}' holds more than {MOST_INFERRED:,} different values; "
                "expected classes. Is it an identifier or a text? Leave it out"
            )
        voting, leaning = set_aside(self._lf_columns, self.stated)
        classes, stated = find_classes(voting, self.n_classes, self.classes)
        gold: list[Column] = []
        if self.job.gold is not None:
            column, classes = self._read_gold(classes, stated)
            gold = [column]
        outcomes = state_outcomes(leaning, classes)
        fitted = self.job.model.lf_names_ if self.job.model.is_fitted else None
        wanted = fitted if fitted is not None and len(fitted) > len(self.lfs) else None
        return Encoder.of(self._packing, [*voting, *gold], len(self.lfs), classes, outcomes, wanted)

    @cached_property
    def other_lfs(self) -> list[str]:
        """Columns that vote for the classes in the first rows, and that the fitted model does not know."""
        named = {*self.lfs, *self.job.others, self.job.gold, self.job.text}
        single = [name for name, kind in self.engine.kinds().items() if kind in ("integer", "plain")]
        names = [name for name in single if name not in named and may_be_votes(name)]
        if not self.job.model.is_fitted or not names:
            return []
        classes = set(map(key_of, self.encoder.classes))
        return [name for name, values in self.engine.head(names, GLANCE).items() if self._vote_for(values, classes)]

    def _vote_for(self, values: list[Any], classes: set[Key]) -> bool:
        """Return whether a column holds votes for classes and nothing else."""
        texts = [value for value in values if isinstance(value, str)]
        read: Callable[[Any], Any] = number_reader(texts) if self.job.written else plain
        held = {key_of(read(value)) for value in values if plain(value) is not None} - self.abstain
        return bool(held) and held <= classes

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._digit_counts[0].sum()) if self._digit_counts else self.engine.n_rows()

    # What the rule asks for.

    def _summarize(self, names: Sequence[str]) -> list[ColumnSummary]:
        summaries = {column.name: column.summary for column in self._lf_columns}
        many = ColumnSummary("", self.n_rows, {}, MOST_INFERRED + 1)
        return [summaries.get(name, replace(many, name=name)) for name in names]

    def _glance(self, names: Sequence[str]) -> list[ColumnSummary]:
        values = self.engine.head(names, GLANCE)
        return [Column.from_values(name, values[name]).summary for name in names]

    # Columns that were counted.

    @cached_property
    def _scan(self) -> ColumnScan:
        most = max(MOST_INFERRED, len(self.stated or ()) + len(self.abstain))
        gold = [] if self.job.gold is None else [self.job.gold]
        return scan_columns(self.engine, [*self.lfs, *gold], most, self.abstain)

    @property
    def _packing(self) -> Packing:
        return Packing(self._scan.digits)

    @cached_property
    def n_patterns(self) -> int:
        """At most about how many keys there are; rows are read only if there could be too many to count."""
        most = self.job.max_patterns
        if self._packing.space <= most:
            return self._packing.space
        n = self.engine.n_rows()
        return n if n <= most else min(n, int(_ESTIMATE_ERROR * self.engine.estimate(self._packing)))

    @cached_property
    def counted(self) -> tuple[RowKeys, NDArray[np.int64]] | None:
        """Keys and how many rows have each; None if there are too many."""
        return self.engine.count(self._packing) if self.n_patterns <= self.job.max_patterns else None

    @cached_property
    def _digit_counts(self) -> tuple[NDArray[np.float64], ...]:
        """For each digit of each column its number of rows; nothing if all columns hold too many values."""
        if not self._scan.digits:
            return ()
        if self.counted is None:
            return self.engine.reduce(self._packing, partial(count_digits, self._packing))
        return count_digits(self._packing, *self.counted)

    @cached_property
    def _lf_columns(self) -> list[CountedColumn]:
        columns = self._count(self.lfs, self.job.written)
        may_be_numbers = self.stated is None or not isinstance(self.stated[0], str)
        written = self.job.written or self.stated is not None
        return unify_numbers(columns, written=written) if may_be_numbers else columns  # type: ignore[return-value]

    def _count(self, names: Sequence[str], written: bool) -> list[CountedColumn]:
        pairs = [(d, rows) for d, rows in zip(self._scan.digits, self._digit_counts, strict=True) if d.column in names]
        texts = [value for digit, _ in pairs for value in digit.values or () if isinstance(value, str)]
        read: Callable[[Any], Any] = number_reader(texts) if written else plain
        columns = (count_column(self.engine, self._scan, digit, rows, read) for digit, rows in pairs)
        return [replace(column, abstain=self.abstain) for column in columns]

    def _read_gold(self, classes: Classes, stated: bool) -> tuple[CountedColumn, Classes]:
        """Return the column of gold, and the classes including those that only gold has."""
        (gold,) = self._count([self.job.gold or ""], no_label(classes) is not None)
        locator = RowLocator(self.engine, self._scan.digits[-1], gold=True)
        gold = replace(gold, abstain=Column.abstain, describe=locator)
        gold = unify_labels(gold, classes)  # type: ignore[assignment]
        extra = () if stated else missing_classes(gold, classes)
        if extra:
            warning = describe_gold({c: gold.summary.counts.get(c, 0) for c in extra})
            self.columns = replace(self.columns, warnings=(*self.columns.warnings, warning))
        return gold, classes + extra


def _find_lfs(present: list[str], job: Job) -> list[str]:
    """Find the columns that are LFs, in the order of the model if it knows their names."""
    fitted = job.model.lf_names_ if job.model.is_fitted else None
    if fitted is not None and job.lfs is None:
        chosen = [name for name in present if name in fitted]
    elif job.lfs is None:
        chosen = list(choose_columns(present, None, {*job.others, job.gold or "", job.text or ""}))
    else:
        chosen = list(choose_columns(present, job.lfs))
    chosen = [name for name in chosen if name not in (job.gold, job.text)]
    if fitted is not None and job.missing_lfs == "abstain" and chosen:
        fitted = tuple(name for name in fitted if name in chosen)
    if fitted is not None:
        return [chosen[j] for j in match_lfs(chosen, fitted)]
    if not chosen:
        raise VotesError("votes has no column besides that of gold; name the LFs with lfs")
    return chosen


def _state_classes(job: Job) -> tuple[int | None, Sequence[Hashable] | None]:
    """Return the number of classes, or the classes: those of a fitted model, else as stated by caller or model."""
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
