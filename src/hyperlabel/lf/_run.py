"""Running LFs over items: rows one by one, or whole columns at once. Each LF gives one `Answer`."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import show
from hyperlabel.data import Column, is_series, read_column
from hyperlabel.errors import ParameterError
from hyperlabel.lf._define import CacheError, ColumnFunction, LabelingFunction, LFError, is_expression
from hyperlabel.lf._items import Items, make_rows
from hyperlabel.lf._ready import PromptFunction, ValueFunction
from hyperlabel.lf._regex import SlowExpressionError
from hyperlabel.lf._retries import Function, with_retries
from hyperlabel.lf._store import RowStore

CHUNK = 10_000
"""Rows that are made at a time: few enough to stay small, many enough to make the overhead negligible."""

Advance = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Answer:
    """The votes of an LF."""

    values: tuple[Any, ...]  # the distinct votes
    codes: NDArray[np.integer]  # (n,) indices into `values`, -1 where the LF abstains
    failures: int = 0  # number of rows on which it failed and therefore abstains
    failure: str = ""  # the first of them, in words
    replies: "Answer | None" = None  # the replies that the votes were found in; None if it returned the votes

    @classmethod
    def from_votes(cls, name: str, votes: Any, start: int = 0, failures: int = 0, failure: str = "") -> "Answer":
        """Make the answer of a list, array or series of votes."""
        column = read_column(name, votes, lambda row: describe_vote(name, start + row))
        return cls(column.values, column.codes, failures, failure)

    @classmethod
    def from_mask(cls, vote: Any, mask: NDArray[np.bool_]) -> "Answer":
        """Make the answer of an LF that votes for one class where a mask is true."""
        return cls((vote,), mask.astype(np.int8) - np.int8(1))

    @classmethod
    def join(cls, parts: Sequence["Answer"]) -> "Answer":
        """Join the answers of an LF on parts of the data, one after the other."""
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
        """Return the votes that an LF finds in its replies."""
        column = Column.from_factors(lf.name, (list(map(lf.read_vote, self.values)), self.codes))
        return Answer(column.values, column.codes, self.failures, self.failure, self)

    def to_list(self) -> list[Any]:
        """The votes, None where the LF abstains. -> n."""
        return [None if code < 0 else self.values[code] for code in self.codes.tolist()]

    def column(self, name: str) -> Column:
        """The votes as a column; errors name the LF."""
        return Column(name, self.values, self.codes, lambda row: describe_vote(name, row))


def describe_vote(name: str, row: int) -> str:
    """Name an LF's vote in an error."""
    return f"the vote of LF '{name}' on row {row}"


def prepare(lf: LabelingFunction, stopped: threading.Event | None = None) -> Function:
    """Return a function from a row to an LF's reply: called with retries, and only if the reply is not cached."""
    function = lf.reply_function()
    if lf.policy.rate is not None or lf.policy.retry:
        function = with_retries(function, lf.policy, stopped)
    return function if lf.cache_file is None else RowStore(lf.cache_file, lf.name).wrap(function)


def chunks(n: int, size: int = CHUNK) -> Iterator[tuple[int, int]]:
    """Yield where chunks of rows start and stop; one empty chunk if there are no rows."""
    return ((start, min(start + size, n)) for start in range(0, max(n, 1), size))


def call_each(function: Function, rows: list[Any], tolerant: bool) -> tuple[list[Any], dict[int, Exception]]:
    """Call a function on each of some rows, until it fails if not `tolerant`. -> replies, and errors by row."""
    replies: list[Any] = []
    errors: dict[int, Exception] = {}
    for x in rows:
        try:
            replies.append(function(x))
        except CacheError:  # not the LF's
            raise
        except Exception as error:
            errors[len(replies)] = error
            if not tolerant:
                break
            replies.append(None)
    return replies, errors


Call = Callable[[Function, list[Any], bool], tuple[list[Any], dict[int, Exception]]]
"""Calls a function on some rows, as `call_each` does."""


def answer_rows(
    name: str, function: Function, rows: list[Any], start: int, tolerant: bool, call: Call = call_each
) -> Answer:
    """Return the answer of an LF on some rows, the first of which is row `start`."""
    replies, errors = call(function, rows, tolerant)
    failure = ""
    if errors:
        row = min(errors)
        failure = f"row {start + row} with {_show(errors[row])}"
        if not tolerant:
            raise LFError(
                f"LF '{name}' failed on {failure}; the row is {show(rows[row], 300)}. "
                'Correct the LF, or let it abstain there with on_error="abstain"',
                name,
                start + row,
            ) from errors[row]
    return Answer.from_votes(name, replies, start, len(errors), failure)


def _show(error: Exception) -> str:
    # The text of a KeyError is the repr of its message.
    message = error.args[0] if isinstance(error, KeyError) and error.args else error
    return f"{type(error).__name__}: {message}".rstrip(": ")


def run_rows(
    lfs: Sequence[LabelingFunction],
    items: Items,
    *,
    tolerant: bool = False,
    advance: Advance = lambda rows: None,
    call: Call = call_each,
    stopped: threading.Event | None = None,
) -> list[Answer]:
    """Run functions of a row: rows are made once for all LFs, a chunk at a time. -> one answer per LF.

    A `tolerant` run takes a failure for an abstention; otherwise it is an LFError. `advance` gets the number of new
    rows. `call` calls a function on the rows of a chunk.
    """
    functions = [(lf.name, prepare(lf, stopped)) for lf in lfs]
    parts: list[list[Answer]] = [[] for _ in lfs]
    for start, stop in chunks(items.n):
        rows = make_rows(items.cut(start, stop))
        for (name, function), answers in zip(functions, parts, strict=True):
            answers.append(answer_rows(name, function, rows, start, tolerant, call))
        advance(stop - start)
    return [Answer.join(answers) for answers in parts]


def run_all(
    lfs: Sequence[LabelingFunction],
    items: Items,
    *,
    tolerant: bool = False,
    advance: Advance = lambda votes: None,
    by_row: Callable[..., list[Answer]] = run_rows,
) -> list[Answer]:
    """Run LFs of all kinds: those that read whole columns one by one, functions of a row all together by `by_row`.

    A `tolerant` run takes a failure for an abstention; `advance` gets the number of new votes. -> one answer per LF.
    """
    answers: dict[str, Answer] = {}
    for lf in lfs:
        if isinstance(lf, ColumnFunction | ValueFunction):
            answers[lf.name] = run_columns(lf, items, tolerant=tolerant)
            advance(items.n)
    rest = [lf for lf in lfs if lf.name not in answers]
    if rest:
        replies = by_row(rest, items, tolerant=tolerant, advance=lambda rows: advance(rows * len(rest)))
        for lf, answer in zip(rest, replies, strict=True):
            answers[lf.name] = answer.read_by(lf) if isinstance(lf, PromptFunction) else answer
    return [answers[lf.name] for lf in lfs]


def run_columns(lf: ColumnFunction | ValueFunction, items: Items, *, tolerant: bool = False) -> Answer:
    """Run an LF that reads whole columns."""
    failure: Exception
    try:
        if isinstance(lf, ValueFunction):
            return _run_on_values(lf, items, tolerant)
        return _read_votes(lf, items, _evaluate(lf, items))
    except SlowExpressionError as error:
        failure, message, row = error, f"was stopped: {error}", error.row
    except (ParameterError, LFError):  # the data are not columns; or the error names its row
        raise
    except Exception as error:
        failure, message, row = error, f"failed on the columns with {_show(error)}. Correct the LF", None
    if tolerant:
        return Answer((), np.full(items.n, -1, np.int8), items.n, _show(failure))
    raise LFError(f"LF '{lf.name}' {message}", lf.name, row) from failure


def _run_on_values(lf: ValueFunction, items: Items, tolerant: bool) -> Answer:
    if not items.has(lf.column):
        if items.names is None:
            return run_rows([lf], items, tolerant=tolerant)[0]  # its error names the item that lacks it
        names = ", ".join(map(repr, items.names[:20]))
        raise ParameterError(f"LF '{lf.name}': data has no column {lf.column!r}; its columns are {names}")
    mask = lf.mask(items)
    if mask is not None:
        return Answer.from_mask(lf.vote, mask)
    values = items.values(lf.column)
    return answer_rows(lf.name, lf.function_over(values), values, 0, tolerant)


def _evaluate(lf: ColumnFunction, items: Items) -> Any:
    """Return the result of an LF on the whole columns; a Polars expression is evaluated."""
    result: Any = lf.function if is_expression(lf.function) else lf.function(items.frame, **lf.resources)
    if not is_expression(result):
        return result
    roots = result.meta.root_names()
    names = list(dict.fromkeys(roots)) if roots and not result.meta.has_multiple_outputs() else items.names or []
    return items.select(names).with_columns(result.alias("vote"))["vote"]


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
    index = getattr(votes, "index", None) if items.index is not None and is_series(votes) else None
    if index is not None and not index.equals(items.index):
        raise ValueError("it returned votes with another index than the data; expected the rows in their order")
    return Answer.from_votes(lf.name, votes) if lf.vote is None else Answer.from_mask(lf.vote, _read_mask(lf, votes))


def _read_mask(lf: ColumnFunction, votes: Any) -> NDArray[np.bool_]:
    kind = str(getattr(votes, "dtype", ""))
    if kind in ("bool", "Boolean"):  # in NumPy and pandas, in Polars
        return np.asarray(votes if kind == "bool" else votes.fill_null(False), bool)
    answer = Answer.from_votes(lf.name, votes)
    for value in answer.values:
        if not isinstance(value, bool):
            raise TypeError(
                f"it returned {show(value)}; expected true or false, since its vote is stated as {lf.vote!r}"
            )
    mask: NDArray[np.bool_] = np.array([*answer.values, False], bool)[answer.codes]
    return mask
