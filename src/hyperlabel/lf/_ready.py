"""Ready-made LFs: keywords, regular expressions, thresholds, lookup tables, and prompts for a language model.

All but prompts read one column and give a value the same vote, row by row or for a whole column. A prompt is made of
columns; any callable is the client, and its reply must name a class.
"""

import math
import operator
import re
import string
import sys
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import show, show_some
from hyperlabel.data import ABSTAIN, Classes, as_list, state_classes
from hyperlabel.errors import ParameterError
from hyperlabel.lf._define import LabelingFunction, vote_if
from hyperlabel.lf._items import Items, read_value
from hyperlabel.lf._regex import TIMEOUT, match_texts, search_texts
from hyperlabel.lf._retries import Exceptions, check_positive

COMPARE = {"above": operator.gt, "at_least": operator.ge, "below": operator.lt, "at_most": operator.le}
ROUND = {"above": math.floor, "at_least": math.ceil, "below": math.ceil, "at_most": math.floor}
"""Rounding of a bound to a whole number with which whole numbers compare alike."""

_AROUND = " \t\r\n\"'`*.!"  # what may surround the name of a class


class ValueFunction(LabelingFunction):
    """An LF that reads the value of one column; its function returns a vote, or true or false if `vote` is given."""

    def __init__(self, name: str, function: Callable[[Any], Any], *, column: str, vote: Hashable = None) -> None:
        super().__init__(name, function, vote=vote)
        self.column = column

    def row_function(self) -> Callable[[Any], Any]:
        """Return a function from a row to a vote."""
        on_value, column = super().row_function(), self.column
        return lambda x: on_value(read_value(x, column))

    def mask(self, items: Items) -> NDArray[np.bool_] | None:
        """Return where the function is true, for the whole column; None if it must be called value by value."""
        return None

    def function_over(self, values: list[Any]) -> Callable[[Any], Any]:
        """Return a function from a value to a vote, for a column whose values are all known."""
        return super().row_function()

    def _details(self) -> dict[str, Any]:
        return {"column": self.column}


class RegexLF(ValueFunction):
    """Votes where a regular expression is found in a text; `re` may take `timeout` seconds, None for no limit."""

    def __init__(
        self, name: str, pattern: "re.Pattern[str]", *, column: str, vote: Hashable, timeout: float | None = TIMEOUT
    ) -> None:
        super().__init__(name, RegexSearch(pattern), column=column, vote=vote)
        check_positive(name, "timeout", timeout, "a number of seconds")
        self.pattern, self.timeout = pattern, timeout

    def mask(self, items: Items) -> NDArray[np.bool_] | None:
        """Return where the expression is found."""
        texts = items.texts(self.column)
        return None if texts is None else match_texts(self.pattern, texts, self.timeout)

    def function_over(self, values: list[Any]) -> Callable[[Any], Any]:
        """Return a function from a value to a vote, by one search of all texts within the time limit."""
        rows = {text: row for row, text in reversed(list(enumerate(values))) if isinstance(text, str)}
        matches = search_texts(self.pattern, list(rows), self.timeout, list(rows.values())).tolist()
        return partial(vote_if, self.vote, RegexSearch(self.pattern, dict(zip(rows, matches, strict=True))))

    def _details(self) -> dict[str, Any]:
        return {"pattern": self.pattern.pattern, **super()._details()}


class ThresholdLF(ValueFunction):
    """Votes where a number lies between bounds."""

    function: "Bounds"

    def mask(self, items: Items) -> NDArray[np.bool_] | None:
        """Return where the numbers lie between the bounds."""
        numbers = items.numbers(self.column)
        return None if numbers is None else self.function.of_array(numbers)

    def _details(self) -> dict[str, Any]:
        return {**super()._details(), **self.function.bounds}


class LookupLF(ValueFunction):
    """Votes as a table says about a value."""


class RegexSearch:
    """A search for a regular expression, some of whose results may be known; nothing is found in a null."""

    def __init__(self, pattern: "re.Pattern[str]", results: Mapping[str, bool] | None = None) -> None:
        self.pattern, self.results = pattern, results or {}

    def __call__(self, value: Any) -> bool:
        """Return whether the expression is found in a value."""
        if not isinstance(value, str):
            return _false_if_null(value, "a string")
        result = self.results.get(value)
        return self.pattern.search(value) is not None if result is None else result


class Bounds:
    """Bounds of a number: above, at least, below, at most; a null is not within."""

    def __init__(self, bounds: Mapping[str, Any]) -> None:
        self.bounds = dict(bounds)

    def __call__(self, value: Any) -> bool:
        """Return whether a value lies within."""
        if isinstance(value, str | bool) or is_null(value):
            return _false_if_null(value, "a number")
        return all(COMPARE[name](value, bound) for name, bound in self.bounds.items())

    def of_array(self, numbers: NDArray[Any]) -> NDArray[np.bool_] | None:
        """Return where numbers lie within; None if only Python can compare with the bounds exactly."""
        whole = numbers.dtype.kind in "iu"
        for bound in self.bounds.values():
            if not isinstance(bound, int | float) or abs(bound) > sys.float_info.max:
                return None
            if not whole and float(bound) != bound:  # between two floats
                return None
        values = numbers if whole else numbers.astype(np.float64, copy=False)
        within = np.ones(len(values), bool)
        for name, bound in self.bounds.items():
            within &= COMPARE[name](values, ROUND[name](bound) if whole else float(bound))
        return within

    def is_empty(self) -> bool:
        """Return whether no number lies within."""
        lows = [(self.bounds[name], name) for name in ("above", "at_least") if name in self.bounds]
        highs = [(self.bounds[name], name) for name in ("below", "at_most") if name in self.bounds]
        closed = ("at_least", "at_most")
        return any(a > b or (a == b and (low, high) != closed) for a, low in lows for b, high in highs)


class Lookup:
    """The vote that a table holds for a value; abstains if it holds none."""

    def __init__(self, table: Mapping[Any, Hashable]) -> None:
        self.table: dict[Any, Hashable] = {value: vote for value, vote in table.items() if not is_null(value)}

    def __call__(self, value: Any) -> Hashable:
        """Return the vote for a value."""
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
    """Make an LF that votes where a text contains one of some words or phrases.

    Args:
        words: The words, or one.
        vote: The class it votes for.
        column: The column of the texts; a null abstains.
        name: Name of the LF; made of its words if not given.
        ignore_case: Whether upper and lower case are the same; in `regex_lf` they differ, unless its flags say so.
        whole_words: Whether a word must be a whole word: then `check` is not found in `checked`.

    >>> lf = keyword_lf(["check out", "subscribe"], "spam")
    >>> lf.name, lf({"text": "Please SUBSCRIBE!"}), lf({"text": "I subscribed"})
    ('keyword_check_out_subscribe', 'spam', -1)
    """
    listed = [words] if isinstance(words, str) else as_list(words, "words", "a word, or a list of words")
    if not listed or not all(isinstance(word, str) and word.strip() for word in listed):
        raise ParameterError(f"words is {show(words, 80)}; expected at least one word, and no empty word")
    pattern = "|".join(map(_whole if whole_words else re.escape, listed))
    flags = re.IGNORECASE if ignore_case else 0
    return regex_lf(pattern, vote, column=column, name=name or _name("keyword", *listed), flags=flags)


def regex_lf(
    pattern: "str | re.Pattern[str]",
    vote: Hashable,
    *,
    column: str = "text",
    name: str | None = None,
    flags: int = 0,
    timeout: float | None = TIMEOUT,
) -> LabelingFunction:
    r"""Make an LF that votes where a regular expression, of Python's `re`, is found in a text.

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
    >>> lf
    RegexLF('link', pattern='https?://', column='text', vote='spam')
    >>> lf({"text": "see http://x.org"}), lf({"text": "see HTTP://X.ORG"}), lf({"text": None})
    ('spam', -1, -1)
    """
    try:
        compiled = re.compile(pattern, flags)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise ParameterError(f"pattern is {show(pattern, 80)}, which cannot be compiled: {error}") from error
    if not isinstance(compiled.pattern, str):
        raise ParameterError(f"pattern is {show(pattern, 80)}; expected a regular expression for strings")
    chosen = name or _name("regex", compiled.pattern)
    return RegexLF(chosen, compiled, column=column, vote=_require_vote(vote), timeout=timeout)


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
    """Make an LF that votes where a number lies within bounds, at least one of which is given.

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
    (ThresholdLF('stars_at_least_4', column='stars', at_least=4, vote='positive'), 'positive', -1)
    """
    options = {"above": above, "at_least": at_least, "below": below, "at_most": at_most}
    given = {key: bound for key, bound in options.items() if bound is not None}
    if not given or any(map(is_null, given.values())):
        raise ParameterError(
            f"bounds are {show(given)}; expected numbers, at least one of above, at_least, below and at_most"
        )
    bounds = Bounds(given)
    try:
        is_empty = bounds.is_empty()
    except TypeError:  # a number and a date
        raise ParameterError(f"bounds are {show(given)}; expected bounds that can be compared") from None
    if is_empty:
        raise ParameterError(f"bounds are {show(given)}, which no number meets; exchange them, or write two LFs")
    chosen = name or "_".join([column, *(str(part) for pair in given.items() for part in pair)])
    return ThresholdLF(chosen, bounds, column=column, vote=_require_vote(vote))


def lookup_lf(table: Mapping[Any, Hashable], *, column: str, name: str | None = None) -> LabelingFunction:
    """Make an LF that looks up the value of a column in a table; it abstains on other values.

    Args:
        table: The vote for each value.
        column: The column that is looked up.
        name: Name of the LF; made of the column if not given.

    >>> lf = lookup_lf({"example.org": "ham", "spam.biz": "spam"}, column="domain")
    >>> lf, lf({"domain": "spam.biz"}), lf({"domain": "elsewhere.net"})
    (LookupLF('lookup_domain', column='domain'), 'spam', -1)
    """
    if not isinstance(table, Mapping) or not table:
        raise ParameterError(f"table is {show(table, 80)}; expected a mapping from values to votes")
    return LookupLF(name or _name("lookup", column), Lookup(table), column=column)


def _require_vote(vote: Hashable) -> Hashable:
    if vote is None:
        raise ParameterError("vote is None; expected the class to vote for")
    return vote


def _whole(word: str) -> str:
    """An expression for a whole word; at a sign at its start or end, nothing is required."""
    start, end = (r"\b" if re.match(r"\w", edge) else "" for edge in (word[0], word[-1]))
    return start + re.escape(word) + end


def _name(*parts: str) -> str:
    """Make a name of strings: letters, digits and underscores, not too long."""
    return "_".join(filter(None, (re.sub(r"\W+", "_", part).strip("_") for part in parts)))[:60]


def _false_if_null(value: Any, expected: str) -> bool:
    """Return False for a null; raise a TypeError for anything else."""
    if is_null(value):
        return False
    raise TypeError(f"the value is {show(value)} ({type(value).__name__}); expected {expected}")


def is_null(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or NA."""
    differs = value is None or value != value  # NaN is not equal to itself, and comparing NA gives NA
    return bool(differs) if isinstance(differs, bool | np.bool_) else type(value).__name__ == "NAType"


class PromptFunction(LabelingFunction):
    """An LF that asks a language model: it keeps the model's reply and finds the vote in it; see `prompt_lf`."""

    IRRELEVANT: ClassVar[frozenset[str]] = LabelingFunction.IRRELEVANT | {"classes", "parse"}

    def __init__(
        self,
        name: str,
        call: Callable[[str], Any],
        *,
        template: str,
        classes: Sequence[Hashable],
        parse: Callable[[str], Hashable] | None,
        **limits: Any,
    ) -> None:
        super().__init__(name, call, **limits)
        self.template, self.columns = template, _columns_of(template)
        stated = state_classes(None, list(classes))
        assert stated is not None  # they are given
        self.classes, self.parse = stated, parse or _exact(stated)

    def _details(self) -> dict[str, Any]:
        return {"template": self.template, "classes": self.classes}

    def row_function(self) -> Callable[[Any], Any]:
        """Return a function from a row to a vote."""
        reply = self.reply_function()
        return lambda x: self.read_vote(reply(x))

    def reply_function(self) -> Callable[[Any], Any]:
        """Return a function from a row to the reply; None, without a call, if a column of the prompt is null."""
        ask, template, columns = super().row_function(), self.template, self.columns

        def reply(x: Any) -> str | None:
            values = {column: read_value(x, column) for column in columns}
            answer = None if any(map(is_null, values.values())) else ask(template.format_map(values))
            if answer is None or isinstance(answer, str):
                return answer
            raise TypeError(f"call returned {show(answer)} ({type(answer).__name__}); expected a string")

        return reply

    def read_vote(self, reply: Any) -> Hashable:
        """Return the class that a reply names; None for any other reply."""
        try:
            vote = None if reply is None else self.parse(reply)
            return None if vote is None else self.classes[self.classes.index(vote)]
        except (ValueError, LookupError, TypeError, AttributeError):  # from a parser that expected something else
            return None


def prompt_lf(
    template: str,
    call: Callable[[str], str | None] | Callable[[str], Awaitable[str | None]],
    classes: Sequence[Hashable],
    parse: Callable[[str], Hashable] | None = None,
    *,
    name: str = "prompt",
    timeout: float | None = None,
    rate: float | None = None,
    retry: Exceptions = (),
    tries: int = 5,
) -> LabelingFunction:
    """Make an LF that asks a language model for the class of an item.

    If an item has no value in a column of the prompt, the model is not asked and the LF abstains. The cache of
    `apply_lfs(..., cache=folder)` keeps answers, not votes, so another `parse` or other classes cost no calls.

    Args:
        template: The prompt, with columns in braces: `"Is this spam? {text}"`. A brace itself is doubled.
        call: Takes a prompt and returns the answer: any function, sync or async.
        classes: The classes that may be voted for.
        parse: Takes an answer and returns one of the classes; None, another value and a ValueError abstain. If not
            given, an answer must be the name of a class, in upper or lower case, perhaps quoted or with a period.
        name: Name of the LF.
        timeout: Seconds that a call may take.
        rate: Calls that may start per second, over all threads.
        retry: The exceptions, one or several, after which a call is tried again.
        tries: The maximum number of tries per call.

    Returns:
        The LF. `answers` of the votes that `apply_lfs` returns has the answers.

    >>> def model(prompt):
    ...     return "Spam." if "free" in prompt else "I cannot tell."
    >>> lf = prompt_lf("Spam or ham? {text}", model, ["ham", "spam"])
    >>> lf
    PromptFunction('prompt', template='Spam or ham? {text}', classes=('ham', 'spam'))
    >>> lf({"text": "free money"}), lf({"text": "hello"})
    ('spam', None)
    """
    limits = {"timeout": timeout, "rate": rate, "retry": retry, "tries": tries}
    return PromptFunction(name, call, template=template, classes=classes, parse=parse, **limits)


def _columns_of(template: str) -> tuple[str, ...]:
    """The columns of a template; plain names, which read nothing inside a value."""
    try:
        fields = [(field, spec or "") for _, field, spec, _ in string.Formatter().parse(template) if field is not None]
    except ValueError as error:
        raise ParameterError(f"template is {show(template)}, which cannot be read: {error}; double a brace") from error
    for field, spec in fields:
        if not field or field.isdigit() or set(field) & set(".[") or "{" in spec:
            raise ParameterError(f"template is {show(template)}, with {{{field}}}; expected names of columns in braces")
    if not fields:
        raise ParameterError(f"template is {show(template)}, with no column; expected names of columns in braces")
    return tuple(dict.fromkeys(field for field, _ in fields))


def _exact(classes: Classes) -> Callable[[str], Hashable]:
    """Return a parser that accepts the name of a class and nothing else."""
    by_name = {_plain(str(name)): name for name in classes}
    if len(by_name) < len(classes) or "" in by_name:
        raise ParameterError(
            f"classes is {show_some(classes)}, whose names differ only in case or quotes; give parse as well"
        )
    return lambda reply: by_name.get(_plain(reply))


def _plain(text: str) -> str:
    return text.strip(_AROUND).casefold()
