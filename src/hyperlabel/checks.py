"""Checks of arguments: each error names the argument, its value and what was expected."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hyperlabel.errors import ParameterError
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
    number: Any = value if isinstance(value, kinds) and not isinstance(value, bool) else np.nan
    if not (least <= number <= most and abs(number) < np.inf):
        raise ParameterError(f"{name} is {show(value)}; expected {expected}")


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


def check_seed(value: object, name: str = "seed") -> int:
    """The parameter, if NumPy's generators can start from it; refuse anything else.

    >>> check_seed(-1)
    Traceback (most recent call last):
    hyperlabel.errors.ParameterError: seed is -1; expected a whole number, 0 or more
    """
    check_number(value, name, "a whole number, 0 or more", least=0, whole=True)
    return int(value)  # type: ignore[call-overload, no-any-return]


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
    if not isinstance(value, str | Path) or "\0" in str(value) or not _is_encodable(str(value)):
        raise ParameterError(f"{name} is {show(value)}; expected {expected}")
    return Path(value)


def _is_encodable(path: str) -> bool:
    """Whether the system could have a file of that name: half of a character is none."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def check_kind(value: object, name: str, kind: type[Kind] | tuple[type[Kind], ...], expected: str) -> Kind:
    """The parameter, if it is of the given class or one of several; refuse anything else.

    >>> check_kind(3, "table", (list, tuple), "a list of records")
    Traceback (most recent call last):
    hyperlabel.errors.ParameterError: table is 3; expected a list of records
    """
    if not isinstance(value, kind):
        raise ParameterError(f"{name} is {show(value)}; expected {expected}")
    return value
