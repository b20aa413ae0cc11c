"""Progress of long work, on standard error: a bar on a terminal, one line that changes in a notebook, else lines."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hyperlabel.errors import require

Advance = Callable[[int], None]


@contextmanager
def show_progress(total: int, wanted: bool) -> Iterator[Advance]:
    """Show how much of `total` is done; gives the function that is told of each further part.

    >>> with show_progress(100, wanted=False) as advance:
    ...     advance(60)
    """
    if not wanted:
        yield lambda done: None
    elif sys.stderr.isatty():
        with _bar(total) as advance:
            yield advance
    else:
        yield _lines(total)


@contextmanager
def _bar(total: int) -> Iterator[Advance]:
    require("rich", extra="cli")
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    parts = (TextColumn("labeling functions"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*parts, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, advance=done)


def _lines(total: int) -> Advance:
    """One line each tenth; a notebook overwrites it, and keeps the last."""
    start, end = ("\r", "") if "ipykernel" in sys.modules else ("", "\n")
    state = {"done": 0, "tenths": 0}

    def advance(done: int) -> None:
        state["done"] += done
        tenths = 10 * state["done"] // max(total, 1)
        if tenths > state["tenths"]:
            state["tenths"] = tenths
            print(f"{start}labeling functions: {10 * tenths}%", end=end, file=sys.stderr, flush=True)

    return advance
