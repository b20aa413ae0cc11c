"""What people see: results on standard output, everything about them on standard error."""

import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeElapsedColumn

from hyperlabel.errors import ConvergenceWarning, TableWarning, VotesError, VotesWarning
from hyperlabel.shown import printable

console = Console(stderr=True, highlight=False, markup=False, emoji=False)
"""What is said about results. Without markup: class names and paths are shown as they are."""

output = Console(highlight=False, markup=False, emoji=False)
"""Results themselves."""

_PIPED_WIDTH = 100_000  # columns where nobody looks: tables are as wide as they need


log = logging.getLogger("hyperlabel")
"""More of what is done, with `--verbose`."""


def set_manner(*, quiet: bool, verbose: bool) -> None:
    """Speak as the options of the same names ask for, from now on."""
    console.quiet = quiet
    if not output.is_terminal:
        output.width = _PIPED_WIDTH
    log.handlers.clear()
    log.setLevel(logging.INFO if verbose else logging.WARNING)
    if verbose:
        log.addHandler(_TerminalHandler())


class _TerminalHandler(logging.Handler):
    """Lines on standard error with the seconds since the program began."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"{record.relativeCreated / 1000:.2f} s: {printable(record.getMessage())}")


def print_json(summary: dict[str, Any], *, aside: bool = False) -> None:
    """A summary for programs, in one line.

    Args:
        summary: What it holds; what JSON has no type for is its text.
        aside: Whether standard output holds a table, so that the summary goes to standard error.
    """
    line = json.dumps(summary, ensure_ascii=True, default=str)
    print(line, file=sys.stderr if aside else sys.stdout)


def say(message: str) -> None:
    """One line, never wrapped."""
    console.print(message, soft_wrap=True)


WARNINGS = (ConvergenceWarning, TableWarning, VotesWarning)


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal while work is done, and nothing elsewhere; gives a function that moves it on.

    Args:
        what: What is done.
        total: How much there is to do; None where that is not known, so that the bar only shows that work goes on.
    """
    if not console.is_terminal or console.quiet:
        yield lambda done: None
        return
    columns = ("{task.description}", BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


@dataclass
class Said:
    """What is to be said when work is done.

    Attributes:
        strict: Whether warnings are an error.
        lines: What is said first.
        caught: What was warned of.
    """

    strict: bool
    lines: list[str]
    caught: list[warnings.WarningMessage]

    @property
    def warnings(self) -> list[str]:
        """What was warned of, the same thing once."""
        return list(dict.fromkeys(str(warning.message) for warning in self.caught))

    def settle(self) -> None:
        """Refuse what was warned of so far, if warnings are errors; to be called before anything is written."""
        if self.strict and self.caught:
            raise VotesError(f"{'; '.join(self.warnings)} (--strict takes warnings as errors)")


@contextmanager
def say_warnings(*, strict: bool = False) -> Iterator[Said]:
    """What is warned of, while tables are read and models learn, is a line on standard error, the same thing once.

    Nothing is said if the work fails: a mistake is one line.

    Args:
        strict: Whether warnings are an error, all in one line.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for kind in WARNINGS:
            warnings.simplefilter("always", kind)
        said = Said(strict, [], caught)
        yield said
    said.settle()
    for line in [*said.lines, *(f"warning: {printable(message)}" for message in said.warnings)]:
        say(line)
