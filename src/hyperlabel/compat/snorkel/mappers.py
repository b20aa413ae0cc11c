"""Mappers of data points, which Snorkel calls preprocessors where they come before LFs."""

import copy
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from hyperlabel._core import show
from hyperlabel.errors import ParameterError

MapFunction = Callable[[Any], Any]


class BaseMapper:
    """A transformation of a copy of each data point.

    Args:
        name: Name of the mapper.
        pre: Mappers to apply first.
        memoize: Whether to cache results.
        memoize_key: Takes a data point and returns the hashable key of the cache; by default all of its values.
    """

    def __init__(
        self,
        name: str,
        pre: Sequence[MapFunction] | None = None,
        memoize: bool = False,
        memoize_key: Callable[[Any], Hashable] | None = None,
    ) -> None:
        self.name, self.pre, self.memoize = name, list(pre or []), memoize
        self.memoize_key = memoize_key or _values
        self.reset_cache()

    def reset_cache(self) -> None:
        """Clear the cache."""
        self._results: dict[Hashable, Any] = {}

    def __call__(self, x: Any) -> Any:
        """Return the data point for the next step."""
        if not self.memoize:
            return self._map(x)
        key = self.memoize_key(x)
        if key not in self._results:
            self._results[key] = self._map(x)
        return self._results[key]

    def _map(self, x: Any) -> Any:
        return self._transform(apply_mappers(self.pre, copy.deepcopy(x)))

    def _transform(self, x: Any) -> Any:
        """Return the data point for the next step; `x` is a copy and may change."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name}, Pre: {self.pre}"


def apply_mappers(pre: Sequence[MapFunction], x: Any) -> Any:
    """Apply mappers one after another; refuse one that returns nothing."""
    for step in pre:
        x = step(x)
        if x is None:
            raise ParameterError(
                f"pre: {show(step, 80)} returned None; expected the data point. Does it end with return?"
            )
    return x


class Mapper(BaseMapper):
    """A mapper from some fields of a data point to new ones; subclasses have `run`.

    Args:
        name: Name of the mapper.
        field_names: Maps each parameter of `run` to a field; by default the fields have the names of the parameters.
        mapped_field_names: Maps each key of what `run` returns to a field; by default the fields have these names.
        pre: Mappers to apply first.
        memoize: Whether to cache results.
        memoize_key: Key of the cache, as for `BaseMapper`.

    >>> from types import SimpleNamespace
    >>> class Lower(Mapper):
    ...     def run(self, text):
    ...         return {"lower": text.lower()}
    >>> Lower("lower")(SimpleNamespace(text="HELLO")).lower
    'hello'
    """

    def __init__(
        self,
        name: str,
        field_names: Mapping[str, str] | None = None,
        mapped_field_names: Mapping[str, str] | None = None,
        pre: Sequence[MapFunction] | None = None,
        memoize: bool = False,
        memoize_key: Callable[[Any], Hashable] | None = None,
    ) -> None:
        super().__init__(name, pre, memoize, memoize_key)
        self.field_names = field_names or {name: name for name in inspect.signature(self.run).parameters}
        self.mapped_field_names = mapped_field_names

    def run(self, **fields: Any) -> Mapping[str, Any] | None:
        """Return the new fields, by key; None for no data point."""
        raise NotImplementedError

    def _transform(self, x: Any) -> Any:
        values = self.run(**{name: getattr(x, field) for name, field in self.field_names.items()})
        if values is None:
            return None
        names = self.mapped_field_names or {key: key for key in values}
        return _with_fields(x, {field: values[key] for key, field in names.items()})


def _with_fields(x: Any, fields: Mapping[str, Any]) -> Any:
    if hasattr(x, "asDict"):  # rows of Spark cannot change
        from pyspark.sql import Row

        return Row(**x.asDict() | fields)
    for name, value in fields.items():
        setattr(x, name, value)
    return x


class LambdaMapper(BaseMapper):
    """A mapper from a function, which takes a copy of the data point and returns the data point for the next step."""

    def __init__(
        self,
        name: str,
        f: MapFunction,
        pre: Sequence[MapFunction] | None = None,
        memoize: bool = False,
        memoize_key: Callable[[Any], Hashable] | None = None,
    ) -> None:
        super().__init__(name, pre, memoize, memoize_key)
        self.f = f

    def _transform(self, x: Any) -> Any:
        return self.f(x)


class Preprocessor(Mapper):
    """A mapper that comes before LFs; see `Mapper`."""


class LambdaPreprocessor(LambdaMapper):
    """A mapper from a function that comes before LFs; see `LambdaMapper`."""


def check_parentheses(decorator: str, name: object) -> None:
    """Refuse a decorator that was given the function itself."""
    if callable(name):
        raise ParameterError(f"name is a function: @{decorator} lacks its parentheses; write @{decorator}()")


def lambda_mapper(
    name: str | None = None,
    pre: Sequence[MapFunction] | None = None,
    memoize: bool = False,
    memoize_key: Callable[[Any], Hashable] | None = None,
) -> Callable[[MapFunction], LambdaMapper]:
    """Turn a function into a mapper: `@lambda_mapper()`; see `preprocessor`."""
    check_parentheses("lambda_mapper", name)
    return lambda f: LambdaMapper(name or f.__name__, f, pre, memoize, memoize_key)


def preprocessor(
    name: str | None = None,
    pre: Sequence[MapFunction] | None = None,
    memoize: bool = False,
    memoize_key: Callable[[Any], Hashable] | None = None,
) -> Callable[[MapFunction], LambdaPreprocessor]:
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
    return lambda f: LambdaPreprocessor(name or f.__name__, f, pre, memoize, memoize_key)


def make_spark_mapper(mapper: Mapper) -> Mapper:
    """Return the mapper: here every `Mapper` takes rows of Spark, too."""
    return mapper


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
