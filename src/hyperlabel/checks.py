"""Checks of arguments: each error names the argument, its value and what was expected."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hyperlabel.errors import ParameterError
from hyperlabel.files import may_be_path
from hyperlabel.shown import show

Kind = TypeVar("Kind")

ABOVE_ZERO = float(np.nextafter(0, 1))
"""The least number above 0."""


def check_number(
    value: object,
    name: str,
    expected: str,
    *,
    least: float = -np.inf,
    most: float = np.inf,
    whole: bool = False,
) -> None:
    """Refuse a parameter that is not a number from `least` to `most`; infinity is never accepted.

    >>> check_number(1.5, "max_iter", "a whole number, at least 1", least=1, whole=True)
    Traceback (most recent call last):
    hyperlabel.errors.ParameterError: max_iter is 1.5; expected a whole number, at least 1
    """
    kinds = int | np.integer if whole else int | float | np.integer | np.floating
    # NumPy's spans of time are integers to it.
    number: Any = value if isinstance(value, kinds) and not isinstance(value, bool | np.timedelta64) else np.nan
    in_range = least <= number <= most and abs(number) < np.inf
    if not in_range or (not whole and isinstance(number, int) and abs(number) > sys.float_info.max):
        raise ParameterError(f"{name} is {show(value)}; expected {expected}")


def check_count(value: object, name: str) -> None:
    """Refuse a parameter that is not a whole number, at least 1.

    >>> check_count(0, "n")
    Traceback (most recent call last):
    hyperlabel.errors.ParameterError: n is 0; expected a whole number, at least 1
    """
    check_number(value, name, "a whole number, at least 1", least=1, whole=True)


def check_choice(value: object, name: str, choices: Sequence[str]) -> None:
    """Refuse a parameter that is not one of a few words.

    >>> check_choice("last", "tie_break", ["first", "random"])
    Traceback (most recent call last):
    hyperlabel.errors.ParameterError: tie_break is 'last'; expected 'first' or 'random'
    """
    if not isinstance(value, str) or value not in choices:
        *first, last = map(repr, choices)
        raise ParameterError(f"{name} is {show(value)}; expected {', '.join(first)} or {last}")


def check_flag(value: object, name: str) -> bool:
    """The parameter, if it is true or false; refuse anything else.

    >>> check_flag("no", "ordinal")
    Traceback (most recent call last):
    hyperlabel.errors.ParameterError: ordinal is 'no'; expected True or False
    """
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} is {show(value)}; expected True or False")
    return bool(value)


def check_share(value: object, name: str) -> float:
    """The parameter, if it is a number above 0 and below 1; refuse anything else.

    >>> check_share(5, "error")
    Traceback (most recent call last):
    hyperlabel.errors.ParameterError: error is 5; expected a number between 0 and 1
    """
    check_number(value, name, "a number between 0 and 1", least=ABOVE_ZERO, most=float(np.nextafter(1, 0)))
    return float(value)  # type: ignore[arg-type]


def check_seed(seed: object) -> int:
    """The parameter, if NumPy's generators can start from it; refuse anything else.

    >>> check_seed(-1)
    Traceback (most recent call last):
    hyperlabel.errors.ParameterError: seed is -1; expected a whole number, 0 or more
    """
    check_number(seed, "seed", "a whole number, 0 or more", least=0, whole=True)
    return int(seed)  # type: ignore[call-overload, no-any-return]


def check_text(value: object, name: str, expected: str = "a string") -> str:
    """The parameter, if it is a string; refuse anything else.

    >>> check_text(b"spam", "column", "the name of a column")
    Traceback (most recent call last):
    hyperlabel.errors.ParameterError: column is b'spam'; expected the name of a column
    """
    return check_kind(value, name, str, expected)


def check_path(value: object, name: str, expected: str = "a path") -> Path:
    """The parameter as a path; refuse what cannot be one.

    >>> check_path(None, "folder")
    Traceback (most recent call last):
    hyperlabel.errors.ParameterError: folder is None; expected a path
    """
    if not may_be_path(value):
        raise ParameterError(f"{name} is {show(value)}; expected {expected}")
    return Path(value)  # type: ignore[arg-type]


def check_kind(value: object, name: str, kind: type[Kind] | tuple[type[Kind], ...], expected: str) -> Kind:
    """The parameter, if it is of the given class or one of several; refuse anything else.

    >>> check_kind(3, "table", (list, tuple), "a list of records")
    Traceback (most recent call last):
    hyperlabel.errors.ParameterError: table is 3; expected a list of records
    """
    if not isinstance(value, kind):
        raise ParameterError(f"{name} is {show(value)}; expected {expected}")
    return value
