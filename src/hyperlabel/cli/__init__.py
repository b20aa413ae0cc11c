"""The command line: one file per command, which parses, calls and prints. Extra `cli`.

It loads NumPy and the parts of the package when they are needed, so that help is fast.
"""

import importlib.util
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hyperlabel.errors import HyperlabelError, require

INTERRUPTED, TERMINATED = 130, 143
"""Exit codes after Ctrl-C and SIGTERM, by the convention of shells."""
LONGEST = 2_000  # letters of an error message


def main() -> None:
    """Run the command line; a mistake is one line on standard error and exit code 2."""
    # Streams that the caller closed are opened, so that no file takes their number; writing there fails.
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    with ending_on_sigterm():
        sys.exit(_run())


def _run() -> int:
    """Run the command and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for letters that the terminal's encoding lacks
    try:
        for package in ("typer", "rich", "polars"):
            if importlib.util.find_spec(package) is None:  # looked for, not loaded
                require(package, extra="cli")
        from hyperlabel.cli._app import run

        code = run(sys.argv[1:])
        sys.stdout.flush()
    except HyperlabelError as error:
        print_error(str(error))
        return 2
    except KeyboardInterrupt:
        _discard_files()
        return INTERRUPTED
    except OSError as error:
        # Standard output is gone or full. What is left in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print_error(f"standard output was cut short: {error.strerror or error}")
        return 2
    return code


def print_error(message: str) -> None:
    """Print one line on standard error; only the beginning and the end of a very long one."""
    from hyperlabel._core import printable

    line = printable(" ".join(message.split()))
    shown = line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"
    with suppress(OSError):  # standard error is gone too: the exit code remains
        print(f"hyperlabel: {shown}", file=sys.stderr, flush=True)


def _discard_files() -> None:
    """Delete unfinished and temporary files."""
    if "hyperlabel.data" in sys.modules:  # nothing else writes files
        from hyperlabel._core import discard_parts
        from hyperlabel.data import discard_spooled

        discard_parts()
        discard_spooled()


@contextmanager
def ending_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the process at once and leave no files behind, even while code outside Python runs.

    Python's handlers wait until such code returns, such as Polars' while it writes; so a thread is woken instead.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(os, "set_blocking"):
        yield  # Windows before Python 3.12 has no pipes that do not block, and no SIGTERM from others
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False), signal.signal(signal.SIGTERM, lambda *_: None)
    threading.Thread(target=_end_on_signal, args=[reader], daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before[0])
        signal.signal(signal.SIGTERM, before[1])
        os.close(writer)


def _end_on_signal(reader: int) -> None:
    while number := os.read(reader, 1):
        if number[0] == signal.SIGTERM:
            _discard_files()
            os._exit(TERMINATED)
    os.close(reader)
