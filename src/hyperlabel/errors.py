"""Every error that hyperlabel raises on purpose.

    HyperlabelError
    ├── VotesError (ValueError)         votes, gold or truth that cannot be used as given
    ├── ParameterError (ValueError)     an argument outside the values it may take
    ├── WeightsError (ValueError)       a weights file that is missing, broken or of another kind
    ├── ProjectError (ValueError)       a project of the studio that cannot be opened or changed
    ├── NotFittedError (ValueError, AttributeError)   predict was called before fit
    └── MissingExtraError (ImportError) a feature whose optional packages are not installed

    ConvergenceWarning (UserWarning)    a model stopped learning before it had converged
    VotesWarning (UserWarning)          votes, gold or truth that look like a mistake but may be intended
    TableWarning (UserWarning)          a table was read by a guess that may be wrong

A message names the argument, the value, its position, what was expected and what to do about it.
"""

import importlib
import logging
import sys
import warnings
from collections.abc import Iterable

logging.getLogger("hyperlabel").addHandler(logging.NullHandler())  # silent unless the application wants it
_log = logging.getLogger(__name__)


class HyperlabelError(Exception):
    """Base of all errors raised on purpose."""


class VotesError(HyperlabelError, ValueError):
    """Votes, gold or truth that cannot be used as given."""


class ParameterError(HyperlabelError, ValueError):
    """An argument outside the values it may take."""


class WeightsError(HyperlabelError, ValueError):
    """A weights file that is missing, broken or of another kind."""


class ProjectError(HyperlabelError, ValueError):
    """A project of the studio that cannot be opened, or cannot be changed as asked."""


class NotFittedError(HyperlabelError, ValueError, AttributeError):
    """A model was used before `fit`, which it needs."""


class MissingExtraError(HyperlabelError, ImportError):
    """A feature whose optional packages are not installed."""


class ConvergenceWarning(UserWarning):
    """A model stopped learning before it had converged."""


class TableWarning(UserWarning):
    """A table was read by a guess that may be wrong."""


class VotesWarning(UserWarning):
    """Votes, gold or truth that look like a mistake but may be intended."""


def warn_of_votes(messages: Iterable[str], *, strict: bool = False) -> None:
    """Warn of what looks like a mistake, once per message, at the line that called the package.

    If warnings count as errors, that is a VotesError.
    """
    listed = list(messages)
    if strict and listed:
        raise VotesError(". ".join(listed))
    for message in listed:
        _log.warning(message)
        warnings.warn(message, VotesWarning, stacklevel=_depth())


def _depth() -> int:
    """The stack level, seen from the caller, of the first frame outside the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "hyperlabel":
        level, frame = level + 1, frame.f_back
    return level


def require(package: str, *, extra: str) -> None:
    """Check that an optional package is installed.

    Raises:
        MissingExtraError: It is not; the message has the command that installs it.
    """
    try:
        importlib.import_module(package)
    except ImportError as error:
        raise MissingExtraError(
            f"this needs the package '{package}', which is not installed; run: pip install 'hyperlabel[{extra}]'"
        ) from error
