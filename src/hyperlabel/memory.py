"""Checks of memory before it is used: what does not fit is one clear error, not the end of the process."""

import os
from functools import cache

from hyperlabel.errors import ParameterError

try:
    import resource
except ImportError:  # Windows does not limit the memory of a process this way
    resource = None  # type: ignore[assignment]

_BYTES = 8  # per number
_UNKNOWN = 1 << 34  # bytes, where the system does not say


def check_memory(numbers: int, what: str, remedy: str) -> None:
    """Refuse float64 numbers that take more than the memory of this machine; `what` is the subject of the error.

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
    """The memory of this machine, or what this process may have of it (`ulimit -v`)."""
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        there = _UNKNOWN
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if resource is not None else -1
    return min(there, limit) if limit > 0 else there
