"""Values as bytes by pickle, with the user's own functions and classes by content; pickle would only name them."""

import io
import pickle
from collections.abc import Callable
from typing import Any

from hyperlabel.lf.code import UnknownError
from hyperlabel.shown import show


class _Pickler(pickle.Pickler):
    """A pickler that writes something else in place of some objects."""

    def __init__(self, file: io.BytesIO, replaces: Callable[[object], bool], replacement: Callable[[Any], str]) -> None:
        super().__init__(file, 4)
        self._replaces, self._replacement = replaces, replacement

    def persistent_id(self, value: Any) -> str | None:
        """What is written for an object; None for the object itself."""
        return self._replacement(value) if self._replaces(value) else None


def pickle_value(value: object, replaces: Callable[[object], bool], replacement: Callable[[Any], str]) -> bytes:
    """A value as bytes that are never read again.

    Args:
        value: The value.
        replaces: Which of the objects in it are written by `replacement`.
        replacement: What is written for them.

    Raises:
        UnknownError: The value cannot be pickled.

    >>> pickle_value([1, len], callable, repr) == pickle_value([1, abs], callable, repr)
    False
    """
    out = io.BytesIO()
    try:
        _Pickler(out, replaces, replacement).dump(value)
    except UnknownError:
        raise
    except Exception as error:
        raise UnknownError(f"{show(value)} ({type(value).__name__})") from error
    return out.getvalue()
