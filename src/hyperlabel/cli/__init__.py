"""The command line: one file per command, which parses, calls and prints. Extra `cli`."""

import importlib.util
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hyperlabel.errors import HyperlabelError, require
from hyperlabel.files import discard_parts
from hyperlabel.shown import printable
from hyperlabel.tables.spool import discard_spooled

INTERRUPTED, TERMINATED = 130, 143
"""Exit codes after Ctrl-C and SIGTERM, by the convention of shells."""
LONGEST = 2_000  # letters of a complaint


def main() -> None:
    """Run the command line; a mistake is one line on standard error and exit code 2."""
    with ending_on_sigterm():
        sys.exit(_run())


def _run() -> int:
    """Run the command; returns the exit code."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for letters that the terminal does not know
    try:
        for package in ("typer", "rich", "polars"):
            if importlib.util.find_spec(package) is None:  # found, but not loaded: help must be fast
                require(package, extra="cli")
        from hyperlabel.cli.app import run

        code = run(sys.argv[1:])
        sys.stdout.flush()
    except HyperlabelError as error:
        _complain(str(error))
        return 2
    except KeyboardInterrupt:
        discard_parts()
        return INTERRUPTED
    except OSError as error:
        # Standard output is gone or full. What is left in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _complain(f"standard output was cut short: {error.strerror or error}")
        return 2
    return code


def _open_closed_streams() -> None:
    """Open what the caller closed, so that no file of ours takes its number; what is written there is an error."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _complain(message: str) -> None:
    """One line on standard error; of a very long one, as of a very long name, the beginning and the end."""
    line = printable(" ".join(message.split()))
    shown = line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"
    with suppress(OSError):  # nobody can hear it: the exit code must do
        print(f"hyperlabel: {shown}", file=sys.stderr, flush=True)


@contextmanager
def ending_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the process at once and leave nothing behind, even while code outside Python runs.

    Python's handlers wait until such code returns, such as Polars' while it writes; so a thread is woken instead.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    before = signal.set_wakeup_fd(wake, warn_on_full_buffer=False), signal.signal(signal.SIGTERM, lambda *_: None)
    threading.Thread(target=_end_when_woken, args=[woken], daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before[0])
        signal.signal(signal.SIGTERM, before[1])
        os.close(wake)


def _end_when_woken(woken: int) -> None:
    while number := os.read(woken, 1):
        if number[0] == signal.SIGTERM:
            discard_parts()
            discard_spooled()
            os._exit(TERMINATED)
    os.close(woken)
