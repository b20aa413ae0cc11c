"""Constraints: the values that parameters of label models may take.

A model declares its constraints in one table:

    _constraints = LabelModel._constraints | {"power": number(0), "start": choice("even", "random")}
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from hyperlabel._core import ABOVE_ZERO, check_choice, check_number, show
from hyperlabel.errors import ParameterError

Constraint = Callable[[Any, str], object]
"""Refuses a value of a parameter, given the value and the name, with a ParameterError."""

_NO_OTHER = object()


def number(
    least: float = -np.inf, most: float = np.inf, *, whole: bool = False, other: object = _NO_OTHER
) -> Constraint:
    """Require a number from `least` to `most`, or the one other value that is allowed.

    >>> number(0, 1)(1.5, "error_bound")
    Traceback (most recent call last):
    hyperlabel.errors.ParameterError: error_bound is 1.5; expected a number from 0 to 1
    >>> number(ABOVE_ZERO, other="learned")("some", "smoothing")
    Traceback (most recent call last):
    hyperlabel.errors.ParameterError: smoothing is 'some'; expected a number above 0, or 'learned'
    """
    expected = "a whole number" if whole else "a number"
    if most < np.inf:
        expected += f" from {least:g} to {most:g}"
    elif least > -np.inf:
        expected += " above 0" if least == ABOVE_ZERO else ", 0 or more" if least == 0 else f", at least {least:g}"
    if other is _NO_OTHER:
        return partial(check_number, expected=expected, least=least, most=most, whole=whole)

    def check(value: Any, name: str) -> None:
        if not (value is None or isinstance(value, str)) or value != other:
            check_number(value, name, f"{expected}, or {other!r}", least=least, most=most, whole=whole)

    return check


def choice(*words: str) -> Constraint:
    """Require one of a few words."""
    return partial(check_choice, choices=words)


def several(constraint: Constraint) -> Constraint:
    """Require a sequence of at least one value, each under a constraint."""

    def check(values: Any, name: str) -> None:
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise ParameterError(f"{name} is {show(values)}; expected the values to try, at least one, such as (4,)")
        for value in values:
            constraint(value, f"a value of {name}")

    return check
