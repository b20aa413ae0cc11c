"""What goes wrong while files of others are read, as one clear error."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from hyperlabel.errors import HyperlabelError, VotesError
from hyperlabel.shown import printable


@contextmanager
def reading(name: str, what: str) -> Iterator[None]:
    """Turn any error of a reader about damaged bytes into a `VotesError` about `name`, which should be a `what`.

    Other libraries raise almost anything on damage, and Polars' panics are not even an `Exception`.

    >>> with reading("v.csv", "csv"):
    ...     raise OSError("it is gone")
    Traceback (most recent call last):
    hyperlabel.errors.VotesError: 'v.csv' cannot be read: it is gone. Is it a complete csv file?
    """
    try:
        with interruptible():
            yield
    except HyperlabelError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise VotesError(
            f"'{printable(name)}' cannot be read: {reason_of(error)}. Is it a complete {what} file?"
        ) from error


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C be a KeyboardInterrupt while DuckDB works, which raises an error of its own.

    >>> from contextlib import suppress
    >>> with suppress(KeyboardInterrupt), interruptible():
    ...     raise RuntimeError("Query interrupted")
    """
    try:
        yield
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from error


def reason_of(error: BaseException) -> str:
    """The most useful line of an error: the last one of a worker's traceback, else the first.

    >>> reason_of(OSError(28, "No space left on device"))
    'No space left on device'
    """
    if isinstance(error, MemoryError):
        return "it needs more memory than is available"
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    line = raised[-1] if "Traceback" in text and raised else lines[0] if lines else type(error).__name__
    return printable(line.rstrip(".")[:300])
