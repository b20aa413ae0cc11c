"""Text that is shown, not obeyed: names from foreign tables on a terminal."""

_JOINERS = "\u200c\u200d"  # part of ordinary words in some scripts, and of emoji


def printable(text: object) -> str:
    r"""A text on one line with everything that a terminal could obey written out: escapes, controls, bidi marks.

    >>> print(printable("spam\x1b[2J\n\u202etxt"))
    spam\x1b[2J\n\u202etxt
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(c if c.isprintable() or c in _JOINERS else c.encode("unicode_escape").decode() for c in shown)
