"""Progress of long work, on standard error: a bar on a terminal, one line that changes in a notebook, else lines."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hyperlabel.errors import require

_SILENCE = 30.0  # seconds after which a line is due, however little is done


class Progress:
    """Counts what is done of a total and what failed, and calls `show` after each change, from any thread."""

    def __init__(self, total: int, show: Callable[["Progress"], None] = lambda progress: None) -> None:
        self.total, self.done, self.failed = total, 0, 0
        self._show, self._lock = show, threading.Lock()

    def __call__(self, done: int, failed: int = 0) -> None:
        """Record another part."""
        with self._lock:
            self.done += done
            self.failed += failed
            self._show(self)

    def describe(self, rate: float) -> str:
        """Return the number of votes per second, and of failures."""
        speed = f"{rate:,.0f} votes/s" if rate >= 100 else f"{rate:.2g} votes/s"
        return f"{speed}, {self.failed:,} failed" if self.failed else speed


@contextmanager
def show_progress(total: int, wanted: bool) -> Iterator[Callable[..., None]]:
    """Show how much of `total` is done; gives the function to call for each further part."""
    if not wanted:
        yield lambda done, failed=0: None
    elif sys.stderr.isatty():
        with _bar(total) as progress:
            yield progress
    else:
        yield Progress(total, ProgressLines())


@contextmanager
def _bar(total: int) -> Iterator[Progress]:
    require("rich", extra="cli")
    from rich import progress as rich
    from rich.console import Console

    shown = (rich.TextColumn("labeling functions"), rich.BarColumn(), rich.TaskProgressColumn())
    times = (rich.TextColumn("{task.description}"), rich.TimeElapsedColumn(), rich.TimeRemainingColumn())
    with rich.Progress(*shown, *times, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)

        def show(progress: Progress) -> None:
            rate = bar.tasks[0].finished_speed or bar.tasks[0].speed or 0.0
            bar.update(task, completed=progress.done, description=progress.describe(rate))

        yield Progress(total, show)


class ProgressLines:
    """One line per tenth, and after a long silence: rate and time left are those since the last line.

    A notebook overwrites the line and keeps the last.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        ipython = sys.modules.get("IPython")  # other packages import it without running a kernel
        in_notebook = ipython is not None and hasattr(ipython.get_ipython(), "kernel")
        self._clock, self._line = clock, "\r{:90}" if in_notebook else "{}\n"
        self._tenths, self._done, self._at = 0, 0, clock()

    def __call__(self, progress: Progress) -> None:
        """Print a line if one is due."""
        tenths, now = 10 * progress.done // max(progress.total, 1), self._clock()
        if tenths == self._tenths and now < self._at + _SILENCE:
            return
        rate = (progress.done - self._done) / max(now - self._at, 1e-6)
        left = progress.total - progress.done
        time_left = f", {_duration(left / rate)} left" if left and rate else ""
        share = 100 * progress.done // max(progress.total, 1)
        line = f"labeling functions: {share}%, {progress.describe(rate)}{time_left}"
        print(self._line.format(line), end="", file=sys.stderr, flush=True)
        self._tenths, self._done, self._at = tenths, progress.done, now


def _duration(seconds: float) -> str:
    """Write a time in words.

    >>> _duration(3.2), _duration(130), _duration(7300)
    ('4 s', '2 min 10 s', '2 h 1 min')
    """
    whole = int(-(-seconds // 1))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
