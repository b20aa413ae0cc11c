"""Checks of memory before it is used: what does not fit is one clear error, not the end of the process."""

import os
from functools import cache

from hyperlabel.errors import ParameterError

_BYTES = 8  # per number
_UNKNOWN = 1 << 34  # bytes, where the system does not say


def check_memory(numbers: int, what: str, remedy: str) -> None:
    """Refuse arrays that take more than the memory of this machine.

    Args:
        numbers: How many float64 numbers are held at a time.
        what: What needs them, the subject of a sentence.
        remedy: What to do about it.

    Raises:
        ParameterError: They do not fit.

    >>> check_memory(10**15, "a table of everything", "ask for less")
    Traceback (most recent call last):
    hyperlabel.errors.ParameterError: a table of everything needs about 8,000,000 GB ...; ask for less
    """
    there = memory_bytes()
    if numbers * _BYTES > there:
        raise ParameterError(
            f"{what} needs about {numbers * _BYTES / 1e9:,.0f} GB of memory, and this machine has {there / 1e9:,.0f}; "
            f"{remedy}"
        )


@cache
def memory_bytes() -> int:
    """The memory of this machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN
