"""Labeling functions as users write them: functions of a row, or of whole columns."""

import functools
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hyperlabel._core import show
from hyperlabel.data import ABSTAIN
from hyperlabel.errors import HyperlabelError, ParameterError
from hyperlabel.lf._retries import Exceptions, RetryPolicy, is_async, limit_time


class LFError(HyperlabelError, ValueError):
    """A labeling function that failed, or returned something that is not a vote.

    Attributes:
        lf: Name of the LF.
        row: Number of the row, from 0; None if the LF reads whole columns.
    """

    def __init__(self, message: str, lf: str, row: int | None = None) -> None:
        super().__init__(message)
        self.lf, self.row = lf, row

    def __reduce__(self) -> tuple[Any, ...]:
        return LFError, (str(self), self.lf, self.row)


class CacheError(ParameterError):
    """A cache that cannot be used; not a failure of an LF."""


class LabelingFunction:
    """A function of a row that votes for a class or abstains.

    Args:
        name: Name of the LF.
        function: Takes a row (`x.text` or `x["text"]`) and the resources; returns a class number, a class name, or
            `ABSTAIN` (or None) to abstain.
        resources: Keyword arguments of the function: word lists, models, ...
        vote: The class voted for wherever the function returns true; then it returns true or false (or None, or the
            result of `re.search`) instead of a class.
        scores: The least and the largest score that the function returns instead of a class: the higher it is, the more
            it favors the later classes. None, NaN and `ABSTAIN` are not scores.
        timeout: Seconds that a call may take, for a function that asks another service; a longer call fails.
        rate: Calls that may start per second, over all threads.
        retry: The exceptions, one or several, after which a call is tried again, after a pause that doubles.
        tries: The maximum number of tries per call, if `retry` is given.

    Attributes:
        policy: Limits of its calls, from the last four arguments.
        cache_file: The file that keeps its replies by row; None if there is none.

    >>> short = LabelingFunction("short", lambda x, most: len(x.text) < most, resources={"most": 10}, vote="ham")
    >>> from types import SimpleNamespace
    >>> short, short(SimpleNamespace(text="ok")), short(SimpleNamespace(text="a long comment"))
    (LabelingFunction('short', vote='ham'), 'ham', -1)
    """

    IRRELEVANT: ClassVar[frozenset[str]] = frozenset({"name", "__doc__", "timeout", "policy", "cache_file"})
    """Attributes that do not change what the function returns."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        resources: Mapping[str, Any] | None = None,
        vote: Hashable = None,
        scores: tuple[float, float] | None = None,
        timeout: float | None = None,
        rate: float | None = None,
        retry: Exceptions = (),
        tries: int = 5,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ParameterError(f"name is {show(name)}; expected the name of an LF as a string")
        self.name, self.vote, self.scores = name, _check_vote(name, vote), _check_scores(name, scores, vote)
        self.resources = dict(resources or {})
        self.policy = RetryPolicy(timeout, rate, retry, tries).check(name)
        self.cache_file: Path | None = None
        self.function, self.runs_async = function, is_async(function)
        self._check_function()

    def __call__(self, x: Any) -> Any:
        """Return the vote on one row."""
        return self.row_function()(x)

    def __repr__(self) -> str:
        details = {**self._details(), **({} if self.vote is None else {"vote": self.vote})}
        shown = [repr(self.name), *(f"{key}={show(value)}" for key, value in details.items())]
        return f"{type(self).__name__}({', '.join(shown)})"

    def row_function(self) -> Callable[[Any], Any]:
        """Return a function from a row to a vote, without any overhead."""
        function = functools.partial(self.function, **self.resources) if self.resources else self.function
        if self.runs_async or self.policy.timeout is not None:
            function = limit_time(function, self.policy.timeout, self.runs_async)
        return function if self.vote is None else functools.partial(vote_if, self.vote, function)

    def reply_function(self) -> Callable[[Any], Any]:
        """Return a function from a row to what a cache keeps: the vote, or a reply that `read_vote` finds it in."""
        return self.row_function()

    def read_vote(self, reply: Any) -> Any:
        """Return the vote in a reply."""
        return reply

    def _details(self) -> dict[str, Any]:
        """Details that `repr` shows besides name and vote."""
        return {}

    def _check_function(self) -> None:
        if not callable(self.function):
            raise ParameterError(f"LF '{self.name}': function is {show(self.function)}; expected a function of a row")


class ColumnFunction(LabelingFunction):
    """A function of whole columns that gives one vote per row; usually much faster than a function of a row.

    Args:
        name: Name of the LF.
        function: Takes the frame (pandas or Polars, as the data are; pandas on Dask and Spark) and the resources;
            returns a series, array or list with one vote per row (null and -1 abstain), or a Polars expression for it.
            A Polars expression itself works too.
        resources: Keyword arguments of the function.
        vote: The class voted for wherever the function returns true; then its votes are true or false.

    >>> import pandas as pd
    >>> lf = ColumnFunction("short", lambda frame: frame["text"].str.len() < 10, vote="ham")
    >>> lf(pd.DataFrame({"text": ["ok", "a long comment"]})).tolist()
    [True, False]
    """

    def __call__(self, x: Any) -> Any:
        """Return the result of the function, or the expression, on a frame."""
        if is_expression(self.function):
            return x.select(self.function).to_series()
        return self.function(x, **self.resources)

    def row_function(self) -> Callable[[Any], Any]:
        """Raise a ParameterError: a function of whole columns cannot vote on one row."""
        raise ParameterError(
            f"LF '{self.name}' is a function of whole columns and cannot read single rows; "
            "give the data as a pandas or Polars frame"
        )

    def _check_function(self) -> None:
        if self.runs_async:
            raise ParameterError(f"LF '{self.name}' reads whole columns and cannot be async; use a plain def")
        if not callable(self.function) and not is_expression(self.function):
            raise ParameterError(
                f"LF '{self.name}': function is {show(self.function)}; expected a function of a frame or a Polars "
                "expression"
            )
        if self.policy != RetryPolicy():
            raise ParameterError(
                f"LF '{self.name}' reads whole columns and is called once; leave timeout, rate, retry and tries out"
            )


def labeling_function(
    name: str | Callable[..., Any] | None = None,
    *,
    resources: Mapping[str, Any] | None = None,
    vote: Hashable = None,
    columns: bool = False,
    scores: tuple[float, float] | None = None,
    timeout: float | None = None,
    rate: float | None = None,
    retry: Exceptions = (),
    tries: int = 5,
) -> Any:
    """Make a labeling function of a function: `@labeling_function`, with or without arguments.

    The name is the function's own if it is not given. With `columns`, the function takes the whole frame instead of
    one row, see `ColumnFunction`; the other arguments are those of `LabelingFunction`.

    >>> @labeling_function
    ... def check_out(x):
    ...     return "spam" if "check out" in x.text.lower() else ABSTAIN
    >>> @labeling_function(vote="ham", columns=True)
    ... def short(frame):
    ...     return frame["text"].str.len() < 20
    >>> check_out, short
    (LabelingFunction('check_out'), ColumnFunction('short', vote='ham'))
    """
    kind = ColumnFunction if columns else LabelingFunction
    options: dict[str, Any] = {"resources": resources, "vote": vote, "scores": scores}
    options |= {"timeout": timeout, "rate": rate, "retry": retry, "tries": tries}

    def decorate(function: Callable[..., Any]) -> LabelingFunction:
        lf = kind(name if isinstance(name, str) else getattr(function, "__name__", ""), function, **options)
        lf.__doc__ = function.__doc__
        return lf

    return decorate if name is None or isinstance(name, str) else decorate(name)


def expression_lf(name: str, expression: Any, *, vote: Hashable = None) -> ColumnFunction:
    """Make an LF of a Polars expression, for pandas frames too.

    The expression gives one vote per row; with `vote`, true where it votes for that class.

    >>> import polars as pl
    >>> expression_lf("short", pl.col("text").str.len_chars() < 20, vote="ham")
    ColumnFunction('short', vote='ham')
    """
    if not is_expression(expression):
        raise ParameterError(f"LF {show(name)}: expression is {show(expression)}; expected a Polars expression")
    return ColumnFunction(name, expression, vote=vote)


def is_expression(value: object) -> bool:
    """Return whether a value is a Polars expression, without importing Polars."""
    return any(kind.__name__ == "Expr" and kind.__module__.startswith("polars") for kind in type(value).__mro__)


def vote_if(vote: Hashable, function: Callable[[Any], Any], x: Any) -> Hashable:
    """Return the vote of an LF whose function returns true or false."""
    answer = function(x)
    if answer is True:
        return vote
    if answer is False or answer is None:
        return ABSTAIN
    if isinstance(answer, np.bool_ | re.Match):
        return vote if answer else ABSTAIN
    if isinstance(answer, int | np.integer) and answer == ABSTAIN:
        return ABSTAIN
    raise TypeError(f"it returned {show(answer)}; expected true or false, since its vote is stated as {vote!r}")


def check_lfs(lfs: Any) -> list[LabelingFunction]:
    """Check a list of LFs: at least one, each with its own name; a plain function is an LF with the function's name."""
    if isinstance(lfs, LabelingFunction) or not isinstance(lfs, Sequence) or not lfs:
        raise ParameterError(f"lfs is {show(lfs, 80)}; expected a list of at least one labeling function")
    names: set[str] = set()
    checked = []
    for j, lf in enumerate(lfs):
        if callable(lf) and not isinstance(lf, LabelingFunction) and hasattr(lf, "__name__"):
            lf = LabelingFunction(lf.__name__, lf)
        if not isinstance(lf, LabelingFunction):
            raise ParameterError(f"lfs[{j}] is {show(lf, 80)}; expected a labeling function")
        if lf.name in names:
            raise ParameterError(f"lfs has several LFs named '{lf.name}'; give each its own name")
        names.add(lf.name)
        checked.append(lf)
    return checked


def _check_scores(name: str, scores: Any, vote: Hashable) -> tuple[float, float] | None:
    if scores is None:
        return None
    low, high = scores
    if vote is not None or not low < high:
        raise ParameterError(
            f"LF '{name}': scores is {show(scores)}; expected the least and the largest score, without vote"
        )
    return float(low), float(high)


def _check_vote(name: str, vote: Hashable) -> Hashable:
    if vote is None or (isinstance(vote, str | int | np.integer) and vote not in (ABSTAIN, "")):
        return vote.item() if isinstance(vote, np.generic) else vote
    raise ParameterError(f"LF '{name}': vote is {show(vote)}; expected a class number or a class name")
