"""Ready-made LFs: keywords, regular expressions, thresholds and lookup tables.

Each reads one column and gives a value the same vote, row by row or for a whole column.
"""

import math
import re
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_flag, check_text
from hyperlabel.columns.arrays import as_list
from hyperlabel.errors import ParameterError
from hyperlabel.lf.define import LabelingFunction, vote_if
from hyperlabel.lf.items import Items, read_value
from hyperlabel.lf.patience import check_positive
from hyperlabel.lf.regex import match_texts
from hyperlabel.lf.search import TIMEOUT, search_texts
from hyperlabel.shown import show
from hyperlabel.votes.classes import ABSTAIN


class ValueFunction(LabelingFunction):
    """An LF that reads the value of one column; its function returns a vote, or true or false if `vote` is given."""

    def __init__(self, name: str, function: Callable[[Any], Any], *, column: str, vote: Hashable = None) -> None:
        super().__init__(name, function, vote=vote)
        self.column = check_text(column, "column", "the name of a column")

    def value_function(self) -> Callable[[Any], Any]:
        """A function from a value to a vote."""
        return super().row_function()

    def row_function(self) -> Callable[[Any], Any]:
        """A function from a row to a vote."""
        on_value, column = self.value_function(), self.column
        return lambda x: on_value(read_value(x, column))

    def mask(self, items: Items) -> NDArray[np.bool_] | None:
        """Where the function says yes, for the whole column at once; None if it must be called value by value."""
        return None

    def function_over(self, values: list[Any]) -> Callable[[Any], Any]:
        """A function from a value to a vote, for a column whose values are all known."""
        return self.value_function()


class Matches(ValueFunction):
    """Votes where a regular expression is found in a text; `re` may take `timeout` seconds, None for no limit."""

    def __init__(
        self, name: str, pattern: "re.Pattern[str]", *, column: str, vote: Hashable, timeout: float | None = TIMEOUT
    ) -> None:
        super().__init__(name, RegexSearch(pattern), column=column, vote=vote)
        self.pattern, self.timeout = pattern, check_positive(name, "timeout", timeout, "a number of seconds")

    def mask(self, items: Items) -> NDArray[np.bool_] | None:
        """Where the expression is found."""
        texts = items.texts(self.column)
        return None if texts is None else match_texts(self.pattern, texts, self.timeout)

    def function_over(self, values: list[Any]) -> Callable[[Any], Any]:
        """A function from a value to a vote; it knows what a search of all texts, within the time limit, has found."""
        rows = {text: row for row, text in reversed(list(enumerate(values))) if isinstance(text, str)}
        masks = search_texts(self.pattern, list(rows), self.timeout, list(rows.values())).tolist()
        found = dict(zip(rows, masks, strict=True))
        says = lambda value: found[value] if isinstance(value, str) else _no_if_null(value, "a string")  # noqa: E731
        return partial(vote_if, self.vote, says)


class Within(ValueFunction):
    """Votes where a number lies between bounds."""

    def mask(self, items: Items) -> NDArray[np.bool_] | None:
        """Where the numbers lie between the bounds."""
        numbers = items.numbers(self.column)
        return None if numbers is None else self.function.of_array(numbers)  # type: ignore[attr-defined]


class RegexSearch:
    """Whether a regular expression is found in a text; nothing is found in a null."""

    def __init__(self, pattern: "re.Pattern[str]") -> None:
        self.pattern = pattern

    def __call__(self, value: Any) -> bool:
        """Whether the expression is found in a value."""
        if isinstance(value, str):
            return self.pattern.search(value) is not None
        return _no_if_null(value, "a string")


class Bounds:
    """Whether a number meets the given bounds: above, at least, below, at most; a null does not."""

    def __init__(self, above: Any, at_least: Any, below: Any, at_most: Any) -> None:
        self.above, self.at_least, self.below, self.at_most = above, at_least, below, at_most

    def __call__(self, value: Any) -> bool:
        """Whether a value lies within."""
        if isinstance(value, str | bool) or is_null(value):
            return _no_if_null(value, "a number")
        return bool(
            (self.above is None or value > self.above)
            and (self.at_least is None or value >= self.at_least)
            and (self.below is None or value < self.below)
            and (self.at_most is None or value <= self.at_most)
        )

    def of_array(self, numbers: NDArray[Any]) -> NDArray[np.bool_] | None:
        """Where numbers lie within; None if the bounds are not plain numbers."""
        given = [bound for bound in (self.above, self.at_least, self.below, self.at_most) if bound is not None]
        if not all(isinstance(bound, int | float) for bound in given):
            return None
        if not all(abs(bound) <= sys.float_info.max for bound in given):
            return None  # beyond all floats, where Python still compares
        whole = numbers.dtype.kind in "iu"
        if not whole and any(float(bound) != bound for bound in given):
            return None  # between two floats, where Python still compares
        values = numbers if whole else numbers.astype(np.float64, copy=False)
        within = np.ones(len(values), bool)
        # Whole numbers are compared with whole numbers exactly, as in Python.
        up, down = (math.ceil, math.floor) if whole else (float, float)
        if self.above is not None:
            within &= values > down(self.above)
        if self.at_least is not None:
            within &= values >= up(self.at_least)
        if self.below is not None:
            within &= values < up(self.below)
        if self.at_most is not None:
            within &= values <= down(self.at_most)
        return within


class Lookup:
    """The vote that a table holds for a value; abstains if it holds none."""

    def __init__(self, table: Mapping[Any, Hashable]) -> None:
        self.table: dict[Any, Hashable] = {value: vote for value, vote in table.items() if not is_null(value)}

    def __call__(self, value: Any) -> Hashable:
        """The vote for a value."""
        return self.table.get(value, ABSTAIN)


def keyword_lf(
    words: str | Sequence[str],
    vote: Hashable,
    *,
    column: str = "text",
    name: str | None = None,
    ignore_case: bool = True,
    whole_words: bool = True,
) -> LabelingFunction:
    """An LF that votes where a text contains one of some words or phrases.

    Args:
        words: The words, or one.
        vote: The class it votes for.
        column: The column of the texts; a null abstains.
        name: Name of the LF; made of its words if not given.
        ignore_case: Whether upper and lower case are the same; in `regex_lf` they differ, unless its flags say so.
        whole_words: Whether a word must be a whole word: then `check` is not found in `checked`.

    >>> lf = keyword_lf(["check out", "subscribe"], "spam")
    >>> lf, lf({"text": "Please SUBSCRIBE!"}), lf({"text": "I subscribed"})
    (Matches('keyword_check_out_subscribe'), 'spam', -1)
    """
    for option, value in (("ignore_case", ignore_case), ("whole_words", whole_words)):
        check_flag(value, option)
    listed = [words] if isinstance(words, str) else as_list(words, "words", "a word, or a list of words")
    if not listed or not all(isinstance(word, str) and word.strip() for word in listed):
        raise ParameterError(f"words is {show(words, 80)}; expected at least one word, and no empty word")
    pattern = "|".join(map(_whole if whole_words else re.escape, listed))
    return regex_lf(
        re.compile(pattern, re.IGNORECASE if ignore_case else 0),
        vote,
        column=column,
        name=_name("keyword", *listed) if name is None else name,
    )


def regex_lf(
    pattern: "str | re.Pattern[str]",
    vote: Hashable,
    *,
    column: str = "text",
    name: str | None = None,
    flags: int = 0,
    timeout: float | None = TIMEOUT,
) -> LabelingFunction:
    r"""An LF that votes where a regular expression, of Python's `re`, is found in a text.

    Args:
        pattern: The expression, as a string or compiled.
        vote: The class it votes for.
        column: The column of the texts; a null abstains.
        name: Name of the LF; made of the expression if not given.
        flags: Flags for an expression given as a string. Case matters, as always in `re` and unlike in `keyword_lf`,
            unless `re.IGNORECASE` is among them.
        timeout: Seconds that `re` may take for one text when the LF is applied to data, so that an expression that
            tries too many ways is an error, not endless; None for no limit. Calling the LF on one row has no limit.

    >>> lf = regex_lf(r"https?://", "spam", name="link")
    >>> lf({"text": "see http://x.org"}), lf({"text": "see HTTP://X.ORG"}), lf({"text": None})
    ('spam', -1, -1)
    """
    if not isinstance(pattern, str) and not (isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str)):
        raise ParameterError(f"pattern is {show(pattern, 80)}; expected a regular expression for strings")
    try:
        compiled = re.compile(pattern, flags)
    except (re.error, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ParameterError(f"pattern is {show(pattern, 80)}, which cannot be compiled: {error}") from error
    chosen = _name("regex", compiled.pattern) if name is None else name
    return Matches(chosen, compiled, column=column, vote=_stated(vote), timeout=timeout)


def threshold_lf(
    column: str,
    vote: Hashable,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    name: str | None = None,
) -> LabelingFunction:
    """An LF that votes where a number lies within bounds, at least one of which is given.

    Args:
        column: The column of the numbers; a null or NaN abstains.
        vote: The class it votes for.
        above: The number is greater than this.
        at_least: The number is this or greater.
        below: The number is less than this.
        at_most: The number is this or less.
        name: Name of the LF; made of the column and the bounds if not given.

    >>> lf = threshold_lf("stars", "positive", at_least=4)
    >>> lf, lf({"stars": 5}), lf({"stars": None})
    (Within('stars_at_least_4'), 'positive', -1)
    """
    bounds = {"above": above, "at_least": at_least, "below": below, "at_most": at_most}
    given = {key: bound for key, bound in bounds.items() if bound is not None}
    if not given or not all(map(_is_bound, given.values())):
        raise ParameterError(
            f"bounds are {show(given)}; expected numbers, at least one of above, at_least, below and at_most"
        )
    try:
        is_empty = _is_empty(**bounds)
    except Exception:  # a number and a date, or objects that raise anything
        raise ParameterError(f"bounds are {show(given)}; expected bounds that can be compared") from None
    if is_empty:
        raise ParameterError(f"bounds are {show(given)}, which no number meets; exchange them, or write two LFs")
    check_text(column, "column", "the name of a column")
    parts = [str(part) for pair in given.items() for part in pair]
    return Within(
        "_".join([column, *parts]) if name is None else name, Bounds(**bounds), column=column, vote=_stated(vote)
    )


def _is_empty(above: Any, at_least: Any, below: Any, at_most: Any) -> bool:
    """Whether no number meets the bounds."""
    lows = [(bound, strict) for bound, strict in ((above, True), (at_least, False)) if bound is not None]
    highs = [(bound, strict) for bound, strict in ((below, True), (at_most, False)) if bound is not None]
    return any(low > high or (low == high and (a or b)) for low, a in lows for high, b in highs)


def lookup_lf(table: Mapping[Any, Hashable], *, column: str, name: str | None = None) -> LabelingFunction:
    """An LF that looks up the value of a column in a table; it abstains on other values.

    Args:
        table: The vote for each value.
        column: The column that is looked up.
        name: Name of the LF; made of the column if not given.

    >>> lf = lookup_lf({"example.org": "ham", "spam.biz": "spam"}, column="domain")
    >>> lf, lf({"domain": "spam.biz"}), lf({"domain": "elsewhere.net"})
    (ValueFunction('lookup_domain'), 'spam', -1)
    """
    if not isinstance(table, Mapping) or hasattr(table, "tocoo") or not table:  # a sparse matrix may be a mapping, too
        raise ParameterError(f"table is {show(table, 80)}; expected a mapping from values to votes")
    chosen = _name("lookup", check_text(column, "column", "the name of a column")) if name is None else name
    return ValueFunction(chosen, Lookup(table), column=column)


def _is_bound(bound: Any) -> bool:
    """Whether values can be compared with a bound: numbers and the like, but not NaN."""
    try:
        return (isinstance(bound, str) or not hasattr(bound, "__len__")) and bool(bound <= bound)
    except Exception:  # an object may raise anything when it is compared
        return False


def _stated(vote: Hashable) -> Hashable:
    if vote is None:
        raise ParameterError("vote is None; expected the class to vote for")
    return vote


def _whole(word: str) -> str:
    """An expression for a whole word; at a sign at its start or end, nothing is required."""
    start, end = (r"\b" if re.match(r"\w", edge) else "" for edge in (word[0], word[-1]))
    return start + re.escape(word) + end


def _name(*parts: str) -> str:
    """A name made of strings: letters, digits and underscores, not too long."""
    return "_".join(filter(None, (re.sub(r"\W+", "_", part).strip("_") for part in parts)))[:60]


def _no_if_null(value: Any, expected: str) -> bool:
    """False for a null; anything else is of the wrong type."""
    if is_null(value):
        return False
    raise TypeError(f"the value is {show(value)} ({type(value).__name__}); expected {expected}")


def is_null(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA."""
    differs = value is None or value != value  # NaN is not equal to itself, and comparing NA gives NA
    return bool(differs) if isinstance(differs, bool | np.bool_) else type(value).__name__ == "NAType"
