"""Text that is shown, not obeyed: names from foreign tables on a terminal."""

import unicodedata

_JOINERS = "\u200c\u200d"  # part of ordinary words in some scripts, and of emoji


def printable(text: object) -> str:
    r"""A text on one line with everything that a terminal could obey written out: escapes, controls, bidi marks.

    >>> print(printable("spam\x1b[2J\n\u202etxt"))
    spam\x1b[2J\n\u202etxt
    """
    shown = str(text)
    return shown if shown.isprintable() else "".join(map(_show, shown))


def printable_lines(text: object) -> str:
    r"""As `printable`, but lines stay lines.

    >>> print(printable_lines("spam\x1b[2J\nham"))
    spam\x1b[2J
    ham
    """
    return "\n".join(map(printable, str(text).split("\n")))


def _show(character: str) -> str:
    if character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode()


def show(value: object, most: int = 60) -> str:
    """How any object looks in an error, on one line and in so many letters; also one that cannot show itself.

    >>> show([1, 2]), show("spam and ham", 6)
    ('[1, 2]', "'spam ")
    """
    try:
        text = repr(value)
    except BaseException as error:  # too deep, or it raises what it likes; a panic of Polars is no Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        return f"a {type(value).__name__}"
    return text[:most] if text.isprintable() else printable(" ".join(text.split())[:most])
