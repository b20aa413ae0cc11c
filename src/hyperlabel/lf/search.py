"""Python's `re` with a time limit: a separate process searches, and ends itself when a text takes too long.

`re` tries one way after another, and an expression such as `(a+)+$` has more ways through forty letters than anyone
can wait for. Nothing in this process could stop it: `re` does not let other threads run in the meantime.
"""

import marshal
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import ParameterError
from hyperlabel.shown import show

TIMEOUT = 10.0
"""Seconds that `re` may take for one text."""

_CHUNK = 10_000  # texts sent at a time

# The timer of faulthandler needs no Python to run: it ends the process in the middle of a search. It is set again
# after a tenth of its time, so that a text gets between the limit and a tenth more.
_PROGRAM = """
import faulthandler, marshal, os, re, sys, time
source, flags, limit = marshal.load(sys.stdin.buffer)
search, nowhere, end = re.compile(source, flags).search, open(os.devnull, "w"), 0.0
while texts := marshal.load(sys.stdin.buffer):
    for text in texts:
        if time.monotonic() >= end:
            faulthandler.dump_traceback_later(1.1 * limit, exit=True, file=nowhere)
            end = time.monotonic() + 0.1 * limit
        os.write(1, b"1" if search(text) else b"0")
    faulthandler.cancel_dump_traceback_later()
    end = 0.0
"""


class SlowExpressionError(ParameterError):
    """A regular expression that takes too long on a text.

    Attributes:
        row: The row of the text.
    """

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row


def search_texts(
    pattern: "re.Pattern[str]",
    texts: Sequence[str],
    timeout: float | None = TIMEOUT,
    rows: Sequence[int] | None = None,
) -> NDArray[np.bool_]:
    """Where `re` finds an expression in texts. -> (n,).

    A text that takes longer than `timeout` seconds, unless that is None, is a SlowExpressionError, which names its row
    among `rows`.

    >>> search_texts(re.compile("(a|b)+c"), ["abc", "ab"]).tolist()
    [True, False]
    """
    if timeout is None or not texts or _is_plain(pattern):
        return np.array([pattern.search(text) is not None for text in texts], bool)
    found = _search_elsewhere(pattern, texts, timeout)
    if len(found) < len(texts):
        row = len(found) if rows is None else int(rows[len(found)])
        raise SlowExpressionError(
            f"the expression {show(pattern.pattern, 100)} takes more than {timeout:g} s on row {row}, which is "
            f"{show(texts[len(found)], 100)}; write it without repeats that can match in several ways, such as "
            "(a+)+, or give it more time with timeout",
            row,
        )
    return np.asarray(np.frombuffer(found, np.uint8) == ord("1"))


def _is_plain(pattern: "re.Pattern[str]") -> bool:
    """Whether an expression has no repeats or groups, so that there is only one way through a text."""
    source = re.sub(r"\A\(\?i\)", "", pattern.pattern)
    return not re.search(r"[*+?{(]", re.sub(r"\\.", "", source, flags=re.DOTALL))


def _search_elsewhere(pattern: "re.Pattern[str]", texts: Sequence[str], timeout: float) -> bytes:
    """A character for each text, `0` or `1`; fewer if the process ended itself on the next text."""
    command = [sys.executable, "-I", "-S", "-W", "ignore", "-c", _PROGRAM]
    found = b""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _send(process.stdin, (str(pattern.pattern), int(pattern.flags & ~re.DEBUG), float(timeout)))
            for start in range(0, len(texts), _CHUNK):
                if len(found) == start:
                    part = texts[start : start + _CHUNK]
                    _send(process.stdin, [str(text) for text in part])
                    found += process.stdout.read(len(part))
        finally:
            process.kill()
    return found


def _send(pipe: IO[bytes], message: Any) -> None:
    pipe.write(marshal.dumps(message))
    pipe.flush()
