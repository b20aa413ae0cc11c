"""What people see: results on standard output, everything about them on standard error."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from hyperlabel.errors import ConvergenceWarning, TableWarning

console = Console(stderr=True, highlight=False, markup=False, emoji=False)
"""What is said about results. Without markup: class names and paths are shown as they are."""

output = Console(highlight=False, markup=False, emoji=False)
"""Results themselves."""


def say(message: str) -> None:
    """One line, never wrapped."""
    console.print(message, soft_wrap=True)


@contextmanager
def say_warnings() -> Iterator[None]:
    """What a model warns of while it learns is a line on standard error, the same thing once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for kind in (ConvergenceWarning, TableWarning):
            warnings.simplefilter("always", kind)
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        say(f"warning: {message}")
