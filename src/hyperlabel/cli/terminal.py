"""What people see: results on standard output, everything about them on standard error."""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeElapsedColumn

from hyperlabel.errors import ConvergenceWarning, TableWarning, VotesError, VotesWarning
from hyperlabel.shown import printable


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let `main` say that the reader went away; rich would end the process without a word."""
        raise  # the error that is being handled


console = _Console(stderr=True, highlight=False, markup=False, emoji=False)
"""Messages about results. No markup: class names and paths are shown as they are."""

output = _Console(highlight=False, markup=False, emoji=False)
"""The results themselves."""

_PIPED_WIDTH = 100_000  # columns if there is no terminal: tables are as wide as needed


log = logging.getLogger("hyperlabel")
"""More messages, with `--verbose`."""


def set_manner(*, quiet: bool, verbose: bool) -> None:
    """Print as much as the options of these names ask for, from now on."""
    console.quiet = quiet
    if not output.is_terminal:
        output.width = _PIPED_WIDTH
    log.handlers.clear()
    log.setLevel(logging.INFO if verbose else logging.WARNING)
    if verbose:
        log.addHandler(_TerminalHandler())


class _TerminalHandler(logging.Handler):
    """Lines on standard error with the seconds since the program started."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"{record.relativeCreated / 1000:.2f} s: {printable(record.getMessage())}")


def say(message: str) -> None:
    """One line, never wrapped."""
    console.print(message, soft_wrap=True)


def print_lines(result: object) -> None:
    """A result in words, each line as it is."""
    for line in str(result).splitlines():
        output.print(printable(line), soft_wrap=True)


WARNINGS = (ConvergenceWarning, TableWarning, VotesWarning)


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar while work is done, only on a terminal; gives a function that advances it towards the total, if known."""
    if not console.is_terminal or console.quiet:
        yield lambda done: None
        return
    columns = ("{task.description}", BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


@dataclass
class Said:
    """What to print when the work is done."""

    strict: bool  # whether warnings are errors
    lines: list[str]  # what to print first
    caught: list[warnings.WarningMessage]

    @property
    def warnings(self) -> list[str]:
        """The warnings, each once."""
        return list(dict.fromkeys(str(warning.message) for warning in self.caught))

    def settle(self) -> None:
        """Raise the warnings so far as an error, if warnings are errors; call it before anything is written."""
        if self.strict and self.caught:
            raise VotesError(f"{'; '.join(self.warnings)} (--strict turns warnings into errors)")


@contextmanager
def say_warnings(*, strict: bool = False) -> Iterator[Said]:
    """Print each warning, while tables are read and models learn, as a line on standard error, once.

    Nothing is printed if the work fails: an error is one line. If `strict`, the warnings are that error.
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
