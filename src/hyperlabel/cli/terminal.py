"""What people see: results on standard output, everything about them on standard error."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from hyperlabel.errors import ConvergenceWarning, TableWarning, VotesError, VotesWarning
from hyperlabel.printable import printable

console = Console(stderr=True, highlight=False, markup=False, emoji=False)
"""What is said about results. Without markup: class names and paths are shown as they are."""

output = Console(highlight=False, markup=False, emoji=False)
"""Results themselves."""


def say(message: str) -> None:
    """One line, never wrapped."""
    console.print(message, soft_wrap=True)


WARNINGS = (ConvergenceWarning, TableWarning, VotesWarning)


@contextmanager
def say_warnings(*, strict: bool = False) -> Iterator[None]:
    """What is warned of, while tables are read and models learn, is a line on standard error, the same thing once.

    Nothing is said if the work fails: a mistake is one line.

    Args:
        strict: Whether the first warning is an error.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for kind in WARNINGS:
            warnings.simplefilter("error" if strict else "always", kind)
        try:
            yield
        except WARNINGS as warning:
            raise VotesError(f"{warning} (--strict takes warnings as errors)") from warning
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        say(f"warning: {printable(message)}")
