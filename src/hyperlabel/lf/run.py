"""Running LFs over items: rows one by one, or whole columns at once. Each LF gives one `Answer`."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.frames import Column, is_series
from hyperlabel.errors import HyperlabelError, ParameterError
from hyperlabel.lf.define import CacheError, ColumnFunction, LabelingFunction, LFError, is_expression
from hyperlabel.lf.items import Items, PandasItems, make_rows
from hyperlabel.lf.patience import call_patiently
from hyperlabel.lf.ready import ValueFunction
from hyperlabel.lf.search import SlowExpressionError
from hyperlabel.shown import show

CHUNK = 10_000
"""Rows that are made at a time: few enough to stay small, many enough to make the overhead negligible."""

Advance = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Answer:
    """The votes of an LF."""

    values: tuple[Any, ...]  # the distinct votes
    codes: NDArray[np.integer]  # (n,) places in `values`, -1 where the LF abstains
    failures: int = 0  # number of rows on which it failed and therefore abstains
    failure: str = ""  # the first of them, in words
    said: "Answer | None" = None  # what it said, if votes had to be found in that; None if it said the votes

    @classmethod
    def from_votes(cls, name: str, votes: Any, start: int = 0, failures: int = 0, failure: str = "") -> "Answer":
        """The answer of a list, array or series of votes."""
        read = Column.from_series if is_series(votes) else Column.from_values
        column = read(name, votes, lambda row: place(name, start + row))
        return cls(column.values, column.codes, failures, failure)

    @classmethod
    def from_mask(cls, vote: Any, mask: NDArray[np.bool_]) -> "Answer":
        """The answer of an LF that votes for one class where a mask is true."""
        return cls((vote,), mask.astype(np.int8) - np.int8(1))

    @classmethod
    def join(cls, parts: Sequence["Answer"]) -> "Answer":
        """The answer of an LF that was run on parts of the data, one after the other."""
        if len(parts) == 1:
            return parts[0]
        number: dict[Any, int] = {}
        codes = []
        for part in parts:
            # The type in a key tells True from 1.
            table = [number.setdefault((type(value), value), len(number)) for value in part.values]
            codes.append(np.array([*table, -1], np.int32)[part.codes])
        failure = next((part.failure for part in parts if part.failure), "")
        failures = sum(part.failures for part in parts)
        return cls(tuple(value for _, value in number), np.concatenate(codes), failures, failure)

    def read_by(self, lf: LabelingFunction) -> "Answer":
        """The votes that an LF finds in what it said."""
        if lf.SAYS_VOTES:
            return self
        column = Column.from_factors(lf.name, ([lf.read(said) for said in self.values], self.codes))
        return Answer(column.values, column.codes, self.failures, self.failure, self)

    def listed(self) -> list[Any]:
        """The votes, None where the LF abstains. -> n."""
        return [None if code < 0 else self.values[code] for code in self.codes.tolist()]

    def column(self, name: str) -> Column:
        """The votes as a column; errors name the LF."""
        return Column(name, self.values, self.codes, lambda row: place(name, row))


def place(name: str, row: int) -> str:
    """An LF's vote, for errors."""
    return f"the vote of LF '{name}' on row {row}"


AnswerRows = Callable[[str, Callable[[Any], Any], list[Any], int, bool], Answer]
"""Calls a function on some rows, as `answer_each` does."""


class RunRows(Protocol):
    """How functions of a row are run: in this process, or in several."""

    def __call__(
        self, lfs: Sequence[LabelingFunction], items: Items, *, tolerant: bool, advance: Advance
    ) -> list[Answer]:
        """One answer per LF."""


def run_all(
    lfs: Sequence[LabelingFunction],
    items: Items,
    *,
    tolerant: bool = False,
    advance: Advance = lambda votes: None,
    by_row: RunRows | None = None,
) -> list[Answer]:
    """Run LFs of all kinds: those that read whole columns one by one, functions of a row all together by `by_row`.

    A `tolerant` run takes a failure for an abstention; `advance` is told the number of new votes. -> one answer per LF.
    """
    answers: dict[str, Answer] = {}
    for lf in lfs:
        if isinstance(lf, ColumnFunction | ValueFunction):
            answers[lf.name] = run_columns(lf, items, tolerant=tolerant)
            advance(items.n)
    rest = [lf for lf in lfs if lf.name not in answers]
    if rest:
        found = (by_row or run_rows)(rest, items, tolerant=tolerant, advance=lambda rows: advance(rows * len(rest)))
        answers.update((lf.name, answer.read_by(lf)) for lf, answer in zip(rest, found, strict=True))
    return [answers[lf.name] for lf in lfs]


def run_rows(
    lfs: Sequence[LabelingFunction],
    items: Items,
    *,
    tolerant: bool = False,
    advance: Advance = lambda rows: None,
    answer: AnswerRows | None = None,
    stopped: threading.Event | None = None,
) -> list[Answer]:
    """Run functions of a row: rows are made once for all LFs, a chunk at a time. -> one answer per LF.

    A `tolerant` run takes a failure for an abstention; otherwise it is an LFError. `advance` is told the number of new
    rows. `answer` calls an LF on a chunk, one row after another if not given.

    >>> from hyperlabel.lf.items import read_items
    >>> lf = LabelingFunction("loud", lambda x: 1 if x.text.isupper() else -1)
    >>> run_rows([lf], read_items([{"text": "HELLO"}, {"text": "hello"}]))[0].values
    (1, -1)
    """
    functions = [(lf.name, prepare(lf, stopped)) for lf in lfs]
    parts: list[list[Answer]] = [[] for _ in lfs]
    for start, stop in chunks(items.n):
        rows = make_rows(items.cut(start, stop))
        for (name, function), answers in zip(functions, parts, strict=True):
            answers.append((answer or answer_each)(name, function, rows, start, tolerant))
        advance(stop - start)
    return [Answer.join(answers) for answers in parts]


def prepare(lf: LabelingFunction, stopped: threading.Event | None = None) -> Callable[[Any], Any]:
    """A function from a row to what an LF says about it: called patiently, and only if that is not cached."""
    function = call_patiently(lf.saying_function(), lf.patience, stopped)
    if lf.kept is None:
        return function
    from hyperlabel.lf.store import RowStore  # only when needed: `import hyperlabel` must be fast

    return RowStore(lf.kept, lf.name).around(function)


def chunks(n: int, size: int = CHUNK) -> Iterator[tuple[int, int]]:
    """Where chunks of rows start and stop; one empty chunk if there are no rows."""
    return ((start, min(start + size, n)) for start in range(0, max(n, 1), size))


def answer_each(name: str, function: Callable[[Any], Any], items: list[Any], start: int, tolerant: bool) -> Answer:
    """Call a function on each of some items; the first is row `start`."""
    votes: list[Any] = []
    failures, failure = 0, ""
    for item in items:
        try:
            votes.append(function(item))
        except Exception as error:
            if not tolerant or isinstance(error, CacheError):
                raise as_lf_error(name, start + len(votes), item, error) from error
            failure = failure or describe_failure(start + len(votes), error)
            votes.append(None)
            failures += 1
    return Answer.from_votes(name, votes, start, failures, failure)


def as_lf_error(name: str, row: int, item: Any, error: Exception) -> HyperlabelError:
    """The error of an LF that failed on a row; an error of the cache is not the LF's."""
    if isinstance(error, CacheError):
        return error
    return LFError(
        f"LF '{name}' failed on {describe_failure(row, error)}; the row is {show(item, 300)}. "
        'Correct the LF, or let it abstain there with on_error="abstain"',
        name,
        row,
    )


def describe_failure(row: int, error: Exception) -> str:
    """Where and how an LF failed."""
    return f"row {row} with {_show(error)}"


def _show(error: Exception) -> str:
    # The text of a KeyError is the repr of its message.
    message = error.args[0] if isinstance(error, KeyError) and error.args else error
    try:
        return f"{type(error).__name__}: {message}".rstrip(": ")
    except Exception:  # the user's exception may fail to show itself
        return type(error).__name__


def run_columns(lf: LabelingFunction, items: Items, *, tolerant: bool = False) -> Answer:
    """Run an LF that reads whole columns: a `ColumnFunction` or one of the ready-made LFs."""
    if isinstance(lf, ValueFunction):
        return _run_values(lf, items, tolerant)
    assert isinstance(lf, ColumnFunction)  # functions of a row go to run_rows
    try:
        return _read_votes(lf, items, _evaluate(lf, items))
    except ParameterError:  # the data are not columns
        raise
    except Exception as error:
        if tolerant:
            return _abstain_everywhere(items, error)
        message = f"LF '{lf.name}' failed on the columns with {_show(error)}. Correct the LF"
        raise LFError(message, lf.name) from error


def _run_values(lf: ValueFunction, items: Items, tolerant: bool) -> Answer:
    if not items.has(lf.column):
        if items.names is None:
            return run_rows([lf], items, tolerant=tolerant)[0]  # its error names the item that lacks it
        shown = ", ".join(map(repr, items.names[:20]))
        raise ParameterError(f"LF '{lf.name}': data has no column {lf.column!r}; its columns are {shown}")
    try:
        mask = lf.mask(items)
        if mask is not None:
            return Answer.from_mask(lf.vote, mask)
        values = items.values(lf.column)
        return answer_each(lf.name, lf.function_over(values), values, 0, tolerant)
    except SlowExpressionError as error:
        if tolerant:
            return _abstain_everywhere(items, error)
        raise LFError(f"LF '{lf.name}' was stopped: {error}", lf.name, error.row) from error


def _abstain_everywhere(items: Items, error: Exception) -> Answer:
    """The answer of an LF that failed as a whole."""
    return Answer((), np.full(items.n, -1, np.int8), items.n, _show(error))


def _evaluate(lf: ColumnFunction, items: Items) -> Any:
    """What an LF says about the whole columns; a Polars expression is evaluated."""
    said: Any = lf.function if is_expression(lf.function) else lf.function(items.frame, **lf.resources)
    if not is_expression(said):
        return said
    roots = said.meta.root_names()
    known = roots and not said.meta.has_multiple_outputs()
    frame = items.select(list(dict.fromkeys(roots)) if known else items.names or [])
    return frame.with_columns(said.alias("vote"))["vote"]


def _read_votes(lf: ColumnFunction, items: Items, votes: Any) -> Answer:
    if not is_series(votes) and not isinstance(votes, np.ndarray | list | tuple):
        raise TypeError(f"it returned {show(votes)}; expected one vote per row in a series, array or list")
    if isinstance(votes, np.ma.MaskedArray):
        raise TypeError(
            "it returned a masked array; expected a plain one: .filled(-1), or .filled(False) if its vote is stated"
        )
    if isinstance(votes, np.ndarray) and votes.ndim != 1:
        raise ValueError(f"it returned an array of shape {votes.shape}; expected one vote per row")
    if len(votes) != items.n:
        raise ValueError(f"it returned {len(votes)} votes; expected one for each of the {items.n} rows")
    if isinstance(items, PandasItems) and hasattr(votes, "index") and not isinstance(votes, list | tuple):
        _check_index(items, votes)
    if lf.vote is None:
        return Answer.from_votes(lf.name, votes)
    return Answer.from_mask(lf.vote, _read_mask(lf, votes))


def _check_index(items: Items, votes: Any) -> None:
    if not votes.index.equals(items.data.index):
        raise ValueError("it returned votes with another index than the data; expected the rows in their order")


def _read_mask(lf: ColumnFunction, answers: Any) -> NDArray[np.bool_]:
    kind = str(getattr(answers, "dtype", ""))
    if kind in ("bool", "Boolean"):  # in NumPy and pandas, in Polars
        return np.asarray(answers if kind == "bool" else answers.fill_null(False), bool)
    said = Answer.from_votes(lf.name, answers)
    odd = next((value for value in said.values if not isinstance(value, bool)), None)
    if odd is not None:
        raise TypeError(f"it returned {show(odd)}; expected true or false, since its vote is stated as {lf.vote!r}")
    mask: NDArray[np.bool_] = np.array([*said.values, False], bool)[said.codes]
    return mask
