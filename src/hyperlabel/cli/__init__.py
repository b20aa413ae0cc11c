"""The command line: one file per command, which parses, calls and prints. Extra `cli`.

It loads NumPy and the parts of the package when they are needed, so that help is fast.
"""

import errno
import importlib.util
import io
import json
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hyperlabel.errors import HyperlabelError, require

INTERRUPTED, TERMINATED = 130, 143
"""Exit codes after Ctrl-C and SIGTERM, by the convention of shells."""
MISTAKE, BUG, LATER = 2, 70, 75
"""Exit codes: bad data or arguments; a bug; a full disk or a lost connection, which may work later (sysexits.h)."""
_LATER_NUMBERS = {errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.ENETUNREACH, errno.EHOSTUNREACH}
_LATER_WORDS = re.compile(  # libraries in other languages raise errors of their own, with the words of the system
    r"os error (28|104|110|111|113|122)\b|no space left|disk quota|connection (refused|reset|closed|aborted)|timed out|"
    r"error sending request|dns error|could not connect|temporarily unavailable|\b50[0234]\b",
    re.IGNORECASE,
)
LONGEST = 2_000  # letters of an error message


def main() -> None:
    """Run the command line; a mistake is one line on standard error and exit code 2, see `MISTAKE`, `BUG`, `LATER`."""
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
        return _fail(str(error), LATER if may_work_later(error) else MISTAKE)
    except KeyboardInterrupt:
        _discard_files()
        return INTERRUPTED
    except OSError as error:
        # Standard output is gone or full. What is left in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _fail(
            f"standard output was cut short: {error.strerror or error}", LATER if may_work_later(error) else MISTAKE
        )
    except Exception as error:
        traceback.print_exc()
        return _fail(f"this is a bug, please report it with the lines above: {type(error).__name__}: {error}", BUG)
    return code


def may_work_later(error: BaseException | None) -> bool:
    """Return whether a full disk, a lost connection or a lack of memory is behind an error.

    >>> may_work_later(OSError(errno.ENOSPC, "No space left on device")), may_work_later(ValueError("1"))
    (True, False)
    """
    while error is not None:
        lost = isinstance(error, ConnectionError) and not isinstance(error, BrokenPipeError)  # a reader that had enough
        words = not isinstance(error, HyperlabelError) and _LATER_WORDS.search(str(error))
        if lost or words or isinstance(error, TimeoutError | MemoryError):
            return True
        if isinstance(error, OSError) and error.errno in _LATER_NUMBERS:
            return True
        error = error.__cause__
    return False


def _fail(message: str, code: int) -> int:
    """Print an error, with --json as an object where the summary would be, and return its exit code."""
    arguments = sys.argv[1:]
    if "--json" not in arguments:
        print_error(message)
        return code
    from hyperlabel._version import VERSION

    named = [word for word in arguments if word.startswith(("-o", "--out"))]
    aside = arguments[0] == "label" and (not named or "-" in arguments)  # standard output holds the table
    with suppress(OSError):
        content = {"version": VERSION, "error": " ".join(message.split()), "exit_code": code}
        print(json.dumps(content), file=sys.stderr if aside else sys.stdout, flush=True)
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
