"""Labeling functions and preprocessors as Snorkel users define them."""

import copy
import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import FunctionType
from typing import Any

from hyperlabel import lf as lf_part
from hyperlabel._core import show
from hyperlabel.errors import ParameterError


class LabelingFunction(lf_part.LabelingFunction):
    """A function of a data point that returns a class number, or -1 to abstain.

    Args:
        name: Name of the LF.
        f: Takes a data point and the resources.
        resources: Keyword arguments of `f`.
        pre: Preprocessors, applied to the data point in this order before `f`.

    >>> from types import SimpleNamespace
    >>> short = LabelingFunction("short", lambda x, most: 0 if len(x.text) < most else -1, resources={"most": 3})
    >>> short(SimpleNamespace(text="ok")), short
    (0, LabelingFunction short, Preprocessors: [])
    """

    def __init__(
        self,
        name: str,
        f: Callable[..., int],
        resources: Mapping[str, Any] | None = None,
        pre: Sequence[Callable[[Any], Any]] | None = None,
    ) -> None:
        super().__init__(name, f, resources=resources)
        self.pre = list(pre or [])

    def row_function(self) -> Callable[[Any], Any]:
        """Return a function from a data point to a vote."""
        bound = super().row_function()
        return functools.partial(_preprocess_and_vote, self.pre, bound) if self.pre else bound

    @property
    def needs_series(self) -> bool:
        """True if a preprocessor comes from elsewhere and may need a real pandas Series."""
        return not all(isinstance(step, FunctionType | Preprocessor) for step in self.pre)

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name}, Preprocessors: {self.pre}"


def names_of(lfs: Sequence[Any]) -> list[str]:
    """Return the names of LFs, ours or others that have a name; refuse anything else."""
    for lf in lfs:
        if not isinstance(getattr(lf, "name", None), str) or not callable(lf):
            raise ParameterError(f"lfs holds {show(lf, 80)}; expected labeling functions, each with a name")
    return [lf.name for lf in lfs]


def _preprocess_and_vote(pre: Sequence[Callable[[Any], Any]], function: Callable[[Any], Any], x: Any) -> Any:
    return function(_preprocess(pre, x))


def _preprocess(pre: Sequence[Callable[[Any], Any]], x: Any) -> Any:
    for step in pre:
        x = step(x)
        if x is None:
            raise ParameterError(
                f"pre: {show(step, 80)} returned None; expected the data point. Does it end with return?"
            )
    return x


def labeling_function(
    name: str | None = None,
    resources: Mapping[str, Any] | None = None,
    pre: Sequence[Callable[[Any], Any]] | None = None,
) -> Callable[[Callable[..., int]], LabelingFunction]:
    """Turn a function into a labeling function: `@labeling_function()`; see `LabelingFunction` for the arguments.

    >>> @labeling_function(name="link", resources={"words": ["http", "www"]})
    ... def contains_link(x, words):
    ...     return 1 if any(word in x.text for word in words) else -1
    >>> contains_link.name
    'link'
    """
    check_parentheses("labeling_function", name)
    return lambda f: LabelingFunction(name or f.__name__, f, resources=resources, pre=pre)


def check_parentheses(decorator: str, name: object) -> None:
    """Refuse a decorator that was given the function itself."""
    if callable(name):
        raise ParameterError(f"name is a function: @{decorator} lacks its parentheses; write @{decorator}()")


class Preprocessor:
    """A transformation of a copy of each data point before LFs see it.

    Args:
        name: Name of the preprocessor.
        f: Takes a copy of the data point, which it may change, and returns the data point for the next step.
        pre: Preprocessors to apply first.
        memoize: Whether to cache results.
        memoize_key: Takes a data point and returns the hashable key of the cache; by default all of its values.
    """

    def __init__(
        self,
        name: str,
        f: Callable[[Any], Any],
        pre: Sequence[Callable[[Any], Any]] | None = None,
        memoize: bool = False,
        memoize_key: Callable[[Any], Hashable] | None = None,
    ) -> None:
        self.name, self.f, self.pre, self.memoize = name, f, list(pre or []), memoize
        self.memoize_key = memoize_key or _values
        self.reset_cache()

    def reset_cache(self) -> None:
        """Clear the cache."""
        self._results: dict[Hashable, Any] = {}

    def __call__(self, x: Any) -> Any:
        """Return the data point for the next step."""
        if not self.memoize:
            return self.f(_preprocess(self.pre, copy.deepcopy(x)))
        key = self.memoize_key(x)
        if key not in self._results:
            self._results[key] = self.f(_preprocess(self.pre, copy.deepcopy(x)))
        return self._results[key]

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name}, Pre: {self.pre}"


def preprocessor(
    name: str | None = None,
    pre: Sequence[Callable[[Any], Any]] | None = None,
    memoize: bool = False,
    memoize_key: Callable[[Any], Hashable] | None = None,
) -> Callable[[Callable[[Any], Any]], Preprocessor]:
    """Turn a function into a preprocessor: `@preprocessor()`.

    >>> @preprocessor()
    ... def lower(x):
    ...     x.text = x.text.lower()
    ...     return x
    >>> from types import SimpleNamespace
    >>> point = SimpleNamespace(text="HELLO")
    >>> lower(point).text, point.text
    ('hello', 'HELLO')
    """
    check_parentheses("preprocessor", name)
    return lambda f: Preprocessor(name or f.__name__, f, pre, memoize, memoize_key)


def _values(x: Any) -> Hashable:
    """Return the values of a data point as something hashable."""
    if hasattr(x, "asDict"):  # a row of Spark
        x = x.asDict()
    elif hasattr(x, "to_dict"):  # a row of pandas
        x = x.to_dict()
    elif hasattr(x, "__dict__"):
        x = vars(x)
    if isinstance(x, Mapping):
        return frozenset((name, _values(value)) for name, value in x.items())
    if isinstance(x, list | tuple):
        return tuple(map(_values, x))
    return x.tobytes() if hasattr(x, "tobytes") else x  # type: ignore[no-any-return]
