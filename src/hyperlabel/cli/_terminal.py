"""Output for people and programs: results on standard output, everything about them on standard error."""

import json
import logging
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeElapsedColumn
from rich.table import Table

from hyperlabel._core import printable
from hyperlabel._version import VERSION
from hyperlabel.data import VoteColumns, warn_of_few
from hyperlabel.errors import ConvergenceWarning, TableWarning, VotesError, VotesWarning, warn_of_votes

_log = logging.getLogger(__name__)


class _Console(Console):
    verbose = False

    def on_broken_pipe(self) -> None:
        """Leave it to `main` to report a closed pipe; rich would end the process silently."""
        raise  # the error that is being handled


console = _Console(stderr=True, highlight=False, markup=False, emoji=False)
"""For messages about results. No markup: class names and paths are shown as they are."""

output = _Console(highlight=False, markup=False, emoji=False)
"""For results."""

_START = time.perf_counter()
_PIPED_WIDTH = 100_000  # columns without a terminal: tables are as wide as needed


def configure_output(*, quiet: bool, verbose: bool) -> None:
    """Set how much is printed from now on."""
    console.quiet, console.verbose = quiet, verbose
    if not output.is_terminal:
        output.width = _PIPED_WIDTH


def say(message: str) -> None:
    """Print one line on standard error, never wrapped."""
    console.print(message, soft_wrap=True)


def say_step(message: str) -> None:
    """Log a step, and with `--verbose` print it with the seconds since the program started."""
    _log.info(message)
    if console.verbose:
        say(f"{time.perf_counter() - _START:.2f} s: {printable(message)}")


def print_lines(result: object) -> None:
    """Print a result in words, each line as it is."""
    for line in str(result).splitlines():
        output.print(printable(line), soft_wrap=True)


def plain_table(*heads: str, **settings: Any) -> Table:
    """Return a table with one rule and little else, since width is scarce."""
    return Table(*heads, box=SIMPLE_HEAD, show_edge=False, padding=0, pad_edge=False, **settings)


def percent(share: Any) -> str:
    """Format a share in percent, without the sign; empty where there is none.

    >>> percent(0.1234), percent(float("nan"))
    ('12.3', '')
    """
    return "" if math.isnan(share) else f"{100 * share:.1f}"


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a bar on a terminal while work is done; yields a function that advances it towards the total, if known."""
    if not console.is_terminal or console.quiet:
        yield lambda done: None
        return
    columns = ("{task.description}", BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


@dataclass
class PendingMessages:
    """Messages to print when the work is done."""

    strict: bool  # whether warnings are errors
    lines: list[str]  # printed before the warnings
    caught: list[warnings.WarningMessage]

    def add_columns(self, columns: VoteColumns, *, stated: bool) -> None:
        """Describe the columns of votes. If warnings are errors, few votes are no excuse for a single class."""
        self.lines.append(columns.describe())
        voted = {name: n for name, n in columns.classes.items() if n}
        if self.strict and not (stated and voted):
            warn_of_votes(warn_of_few(voted))

    def raise_if_strict(self) -> list[str]:
        """Return the warnings so far, each once; raise them if they are errors, before anything is written."""
        lines = list(dict.fromkeys(str(warning.message) for warning in self.caught))
        if self.strict and lines:
            raise VotesError(f"{'; '.join(lines)} (--strict turns warnings into errors)")
        return lines


@contextmanager
def say_warnings(*, strict: bool = False) -> Iterator[PendingMessages]:
    """Print each warning of the work inside as a line on standard error, once.

    Nothing is printed if the work fails: an error is one line. If `strict`, the warnings are that error.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for kind in (ConvergenceWarning, TableWarning, VotesWarning):
            warnings.simplefilter("always", kind)
        messages = PendingMessages(strict, [], caught)
        yield messages
    for line in [*messages.lines, *(f"warning: {printable(each)}" for each in messages.raise_if_strict())]:
        say(line)


class Summary:
    """Summary of what a command did since it started, for `--json`."""

    def __init__(self, model: str | None = None) -> None:
        self.start = time.perf_counter()
        self.content: dict[str, Any] = {"version": VERSION, "model": model}

    def add_columns(self, columns: VoteColumns) -> None:
        """Add which columns of the table are votes."""
        classes = list(columns.classes) or None
        self.content |= {"lfs": list(columns.lfs), "ignored": list(columns.ignored), "classes": classes}

    def add_labels(self, counts: Mapping[Any, int], classes: Sequence[Any]) -> None:
        """Add how many items got each label, None for none, for all classes of the model."""
        got = {str(plain(name)): n for name, n in counts.items() if name is not None}
        labeled = {str(plain(name)): got.get(str(plain(name)), 0) for name in classes} | got
        self.content |= {"rows": sum(counts.values()), "labeled": sum(labeled.values()), "per_class": labeled}
        self.content["classes"] = list(classes) or None

    def print(self, *, aside: bool = False, **more: Any) -> None:
        """Print it with the time it took; on standard error if standard output holds a table."""
        seconds = round(time.perf_counter() - self.start, 6)
        line = json.dumps(plain({**self.content, **more, "seconds": seconds}))
        print(line, file=sys.stderr if aside else sys.stdout)


def plain(value: Any) -> Any:
    """Return a value that JSON can hold: None for NaN, strings for types that it lacks.

    >>> plain({"a": [float("nan"), True]})
    {'a': [None, True]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "item"):  # NumPy's scalars
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else str(value)
