"""Labeling functions as Snorkel users define them."""

import functools
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from hyperlabel import lf as lf_part
from hyperlabel._core import show
from hyperlabel.compat.snorkel.mappers import BaseMapper, apply_mappers, check_parentheses
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
        return not all(isinstance(step, FunctionType | BaseMapper) for step in self.pre)

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name}, Preprocessors: {self.pre}"


def names_of(lfs: Sequence[Any]) -> list[str]:
    """Return the names of LFs, ours or others that have a name; refuse anything else."""
    for lf in lfs:
        if not isinstance(getattr(lf, "name", None), str) or not callable(lf):
            raise ParameterError(f"lfs holds {show(lf, 80)}; expected labeling functions, each with a name")
    return [lf.name for lf in lfs]


def _preprocess_and_vote(pre: Sequence[Callable[[Any], Any]], function: Callable[[Any], Any], x: Any) -> Any:
    return function(apply_mappers(pre, x))


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
