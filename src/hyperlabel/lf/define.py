"""Labeling functions: what users write.

An LF votes for a class of an item, or abstains. It is a function of one row, or of whole columns.
"""

import copy
import functools
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hyperlabel.checks import check_flag
from hyperlabel.errors import HyperlabelError, ParameterError
from hyperlabel.lf.patience import Patience, in_loop, is_async, within
from hyperlabel.shown import show
from hyperlabel.votes.classes import ABSTAIN


class LFError(HyperlabelError, ValueError):
    """A labeling function that failed, or returned something that is not a vote.

    Attributes:
        lf: Name of the LF.
        row: Place of the row, from 0; None if the LF reads whole columns.
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
        vote: The class voted for wherever the function says yes; then it returns true or false (or None, or what
            `re.search` returns) instead of a class.
        scores: The least and the largest score that the function returns instead of a class: the higher it is, the more
            it speaks for the later classes. None, NaN and `ABSTAIN` are not scores.
        timeout: Seconds that a call may take, for a function that asks another service; a longer call fails.
        rate: Calls that may start per second, over all threads.
        retry: The exceptions, one or several, after which a call is tried again, after a pause that doubles.
        tries: The maximum number of tries per call, if `retry` is given.

    Attributes:
        patience: How it is called, from the last four arguments.
        kept: The file that keeps what it says about rows; None if there is none.

    >>> short = LabelingFunction("short", lambda x, most: len(x.text) < most, resources={"most": 10}, vote="ham")
    >>> from types import SimpleNamespace
    >>> short(SimpleNamespace(text="ok")), short(SimpleNamespace(text="a long comment"))
    ('ham', -1)
    """

    UNSEEN: ClassVar[frozenset[str]] = frozenset({"name", "__doc__", "timeout", "patience", "kept"})
    """Attributes that do not change what the function returns."""

    SAYS_VOTES: ClassVar[bool] = True
    """Whether what is said about a row is the vote itself, not something that `read` finds the vote in."""

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
        retry: type[Exception] | tuple[type[Exception], ...] = (),
        tries: int = 5,
    ) -> None:
        self.name = _check_name(name)
        self.scores = _check_scores(name, scores, vote)
        self.function = self._check_function(function)
        self.resources = _check_resources(name, resources)
        self.vote = _check_vote(name, vote)
        self.patience = self._check_patience(Patience.state(name, timeout, rate, retry, tries))
        self.kept: Path | None = None

    def __call__(self, x: Any) -> Any:
        """The vote on one row."""
        return self.row_function()(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def row_function(self) -> Callable[[Any], Any]:
        """A function from a row to a vote, without any overhead."""
        bound = self._asking()
        return bound if self.vote is None else functools.partial(vote_if, self.vote, bound)

    def saying_function(self) -> Callable[[Any], Any]:
        """A function from a row to what is kept from a call: the vote, or what `read` finds it in."""
        return self.row_function()

    def read(self, said: Any) -> Any:
        """The vote in what was said about a row."""
        return said

    def kept_in(self, path: Path) -> "LabelingFunction":
        """The same LF, which keeps what it says in a file."""
        lf = copy.copy(self)
        lf.kept = path
        return lf

    def _check_patience(self, patience: Patience) -> Patience:
        return patience

    def _asking(self) -> Callable[[Any], Any]:
        """The function with its resources and its timeout."""
        bound = functools.partial(self.function, **self.resources) if self.resources else self.function
        seconds = self.patience.timeout
        if is_async(self.function):
            return in_loop(bound, seconds)
        return bound if seconds is None else within(seconds, bound)

    def _check_function(self, function: Any) -> Callable[..., Any]:
        if not callable(function):
            raise ParameterError(f"LF '{self.name}': function is {show(function)}; expected a function of a row")
        return function  # type: ignore[no-any-return]


class ColumnFunction(LabelingFunction):
    """A function of whole columns that gives one vote per row; usually much faster than a function of a row.

    Args:
        name: Name of the LF.
        function: Takes the frame (pandas or Polars, as the data are; pandas on Dask and Spark) and the resources;
            returns a series, array or list with one vote per row (null and -1 abstain), or a Polars expression for it.
            A Polars expression itself works too.
        resources: Keyword arguments of the function.
        vote: The class voted for wherever the function says yes; then its votes are true or false.

    >>> import pandas as pd
    >>> lf = ColumnFunction("short", lambda frame: frame["text"].str.len() < 10, vote="ham")
    >>> lf(pd.DataFrame({"text": ["ok", "a long comment"]})).tolist()
    [True, False]
    """

    def __call__(self, x: Any) -> Any:
        """What the function, or the expression, says about a frame."""
        if is_expression(self.function):
            return x.select(self.function).to_series()
        return self.function(x, **self.resources)

    def row_function(self) -> Callable[[Any], Any]:
        """Not possible: a function of whole columns cannot vote on one row."""
        raise ParameterError(
            f"LF '{self.name}' is a function of whole columns and cannot read single rows; "
            "give the data as a pandas or Polars frame"
        )

    def _check_function(self, function: Any) -> Callable[..., Any]:
        if is_async(function):
            raise ParameterError(f"LF '{self.name}' reads whole columns and cannot be async; use a plain def")
        if not callable(function) and not is_expression(function):
            raise ParameterError(
                f"LF '{self.name}': function is {show(function)}; expected a function of a frame or a Polars expression"
            )
        return function  # type: ignore[no-any-return]

    def _check_patience(self, patience: Patience) -> Patience:
        if patience != Patience():
            raise ParameterError(
                f"LF '{self.name}' reads whole columns and is called once; leave timeout, rate, retry and tries out"
            )
        return patience


def labeling_function(
    name: str | Callable[..., Any] | None = None,
    *,
    resources: Mapping[str, Any] | None = None,
    vote: Hashable = None,
    columns: bool = False,
    scores: tuple[float, float] | None = None,
    timeout: float | None = None,
    rate: float | None = None,
    retry: type[Exception] | tuple[type[Exception], ...] = (),
    tries: int = 5,
) -> Any:
    """Make a labeling function of a function: `@labeling_function`, with or without arguments.

    Args:
        name: Name of the LF; the function's own if not given.
        resources: Keyword arguments of the function.
        vote: The class voted for wherever the function says yes.
        columns: Whether the function takes the whole frame instead of one row.
        scores: The least and the largest score that the function returns instead of a class.
        timeout: Seconds that a call may take; a longer call fails with TimeoutError.
        rate: Calls that may start per second, over all threads.
        retry: The exceptions, one or several, after which a call is tried again, after a pause that doubles.
        tries: The maximum number of tries per call, if `retry` is given.

    Returns:
        The `LabelingFunction`, or a decorator that makes it.

    >>> @labeling_function
    ... def check_out(x):
    ...     return "spam" if "check out" in x.text.lower() else ABSTAIN
    >>> @labeling_function(vote="ham", columns=True)
    ... def short(frame):
    ...     return frame["text"].str.len() < 20
    >>> check_out, short
    (LabelingFunction('check_out'), ColumnFunction('short'))
    """
    kind = ColumnFunction if check_flag(columns, "columns") else LabelingFunction

    def decorate(function: Callable[..., Any]) -> LabelingFunction:
        chosen = name if isinstance(name, str) else getattr(function, "__name__", None)
        made = kind(
            chosen,  # type: ignore[arg-type]
            function,
            resources=resources,
            vote=vote,
            scores=scores,
            timeout=timeout,
            rate=rate,
            retry=retry,
            tries=tries,
        )
        made.__doc__ = function.__doc__
        return made

    if name is None or isinstance(name, str):
        return decorate
    return decorate(name)


def expression_lf(name: str, expression: Any, *, vote: Hashable = None) -> ColumnFunction:
    """An LF of a Polars expression, for pandas frames too.

    Args:
        name: Name of the LF.
        expression: One vote per row; with `vote`, true or false.
        vote: The class voted for wherever the expression is true.

    >>> import polars as pl
    >>> expression_lf("short", pl.col("text").str.len_chars() < 20, vote="ham")
    ColumnFunction('short')
    """
    if not is_expression(expression):
        raise ParameterError(f"LF {show(name)}: expression is {show(expression)}; expected a Polars expression")
    return ColumnFunction(name, expression, vote=vote)


def is_expression(value: object) -> bool:
    """Whether a value is a Polars expression, without importing Polars."""
    return any(kind.__name__ == "Expr" and kind.__module__.startswith("polars") for kind in type(value).__mro__)


def vote_if(vote: Hashable, function: Callable[[Any], Any], x: Any) -> Hashable:
    """The vote of an LF whose function says yes or no."""
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
    made = [_check_lf(j, lf) for j, lf in enumerate(lfs)]
    names = [lf.name for lf in made]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ParameterError(f"lfs has {names.count(twice)} LFs named '{twice}'; give each its own name")
    return made


def _check_lf(j: int, lf: Any) -> LabelingFunction:
    if isinstance(lf, LabelingFunction):
        return lf
    if callable(lf) and hasattr(lf, "__name__"):
        return LabelingFunction(lf.__name__, lf)
    raise ParameterError(f"lfs[{j}] is {show(lf, 80)}; expected a labeling function")


def _check_name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise ParameterError(f"name is {show(name)}; expected the name of an LF as a string")
    return name


def _check_resources(name: str, resources: Any) -> dict[str, Any]:
    if resources is None:
        return {}
    if not isinstance(resources, Mapping) or not all(isinstance(key, str) for key in resources):
        raise ParameterError(
            f"LF '{name}': resources is {show(resources)}; expected a mapping from arguments to values"
        )
    return dict(resources)


def _check_scores(name: str, scores: Any, vote: Hashable) -> tuple[float, float] | None:
    if scores is None:
        return None
    whole = isinstance(scores, tuple | list) and len(scores) == 2
    if (
        vote is not None
        or not whole
        or not all(isinstance(end, int | float) for end in scores)
        or scores[0] >= scores[1]
    ):
        raise ParameterError(
            f"LF '{name}': scores is {show(scores)}; expected the least and the largest score, without vote"
        )
    return float(scores[0]), float(scores[1])


def _check_vote(name: str, vote: Hashable) -> Hashable:
    if vote is None or (isinstance(vote, str | int | np.integer) and vote not in (ABSTAIN, "")):
        return vote.item() if isinstance(vote, np.generic) else vote
    raise ParameterError(f"LF '{name}': vote is {show(vote)}; expected a class number or a class name")
