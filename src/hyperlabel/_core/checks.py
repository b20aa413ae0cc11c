"""Checks of arguments and of memory: each error names the argument, its value and what was expected."""

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from hyperlabel._core.text import show
from hyperlabel.errors import ParameterError

try:
    import resource
except ImportError:  # Windows does not limit the memory of a process this way
    resource = None  # type: ignore[assignment]

Kind = TypeVar("Kind")

Metric = Literal["accuracy", "f1"]  # name of a metric of labels

ABOVE_ZERO = float(np.nextafter(0, 1))  # least number above 0
_BYTES = 8  # of a float64
_UNKNOWN = 1 << 34  # bytes of memory, where the system does not tell


def check_number(
    value: object, name: str, expected: str, *, least: float = -np.inf, most: float = np.inf, whole: bool = False
) -> None:
    """Refuse a parameter that is not a number from `least` to `most`; infinity is never accepted."""
    kinds = int | np.integer if whole else int | float | np.integer | np.floating
    number: Any = value if isinstance(value, kinds) and not isinstance(value, bool) else np.nan
    if not (least <= number <= most and abs(number) < np.inf):
        raise ParameterError(f"{name} is {show(value)}; expected {expected}")


def check_count(value: object, name: str) -> None:
    """Refuse a parameter that is not a whole number, at least 1."""
    check_number(value, name, "a whole number, at least 1", least=1, whole=True)


def check_choice(value: object, name: str, choices: Sequence[str]) -> None:
    """Refuse a parameter that is not one of a few words."""
    if not isinstance(value, str) or value not in choices:
        *first, last = map(repr, choices)
        raise ParameterError(f"{name} is {show(value)}; expected {', '.join(first)} or {last}")


def check_metric(metric: str, argument: str = "metric") -> Metric:
    """Return the metric of a name; errors use `argument`."""
    check_choice(metric, argument, get_args(Metric))
    return metric  # type: ignore[return-value]


def check_flag(value: object, name: str) -> bool:
    """Return a parameter that is true or false; refuse any other."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} is {show(value)}; expected True or False")
    return bool(value)


def check_share(value: object, name: str) -> float:
    """Return a parameter that is a number above 0 and below 1; refuse any other."""
    check_number(value, name, "a number between 0 and 1", least=ABOVE_ZERO, most=float(np.nextafter(1, 0)))
    return float(value)  # type: ignore[arg-type]


def check_seed(seed: object) -> int:
    """Return a seed that NumPy's generators accept; refuse any other."""
    check_number(seed, "seed", "a whole number, 0 or more", least=0, whole=True)
    return int(seed)  # type: ignore[call-overload, no-any-return]


def check_text(value: object, name: str, expected: str = "a string") -> str:
    """Return a parameter that is a string; refuse any other."""
    return check_kind(value, name, str, expected)


def check_path(value: object, name: str, expected: str = "a path") -> Path:
    """Return a parameter as a path; refuse what is none."""
    kinds: tuple[type[str | Path], ...] = (str, Path)
    return Path(check_kind(value, name, kinds, expected))


def check_kind(value: object, name: str, kind: type[Kind] | tuple[type[Kind], ...], expected: str) -> Kind:
    """Return a parameter that is of the given class or one of several; refuse any other."""
    if not isinstance(value, kind):
        raise ParameterError(f"{name} is {show(value)}; expected {expected}")
    return value


def check_memory(numbers: int, what: str, remedy: str) -> None:
    """Refuse float64 numbers that need more than the memory of this machine; `what` is the subject of the error."""
    available = memory_bytes()
    if numbers * _BYTES > available:
        raise ParameterError(
            f"{what} needs about {numbers * _BYTES / 1e9:,.0f} GB of memory, and this machine has "
            f"{available / 1e9:,.0f}; {remedy}"
        )


@cache
def memory_bytes() -> int:
    """Return the memory of this machine, or the limit of this process (`ulimit -v`)."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = _UNKNOWN
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if resource is not None else -1
    return min(memory, limit) if limit > 0 else memory
