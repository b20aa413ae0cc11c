"""Doctests of docstrings as code: an extension of griffe, which reads the API for the reference pages."""

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"^(?P<indent> *)>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


class FenceDoctests(griffe.Extension):
    """Puts every doctest into a fence, since Markdown takes `>>>` for a quotation."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called with each class, function and attribute."""
        if obj.docstring and ">>>" in obj.docstring.value:
            obj.docstring.value = DOCTEST.sub(fence, obj.docstring.value)


def fence(found: re.Match[str]) -> str:
    """A doctest between two fences of its indentation."""
    return f"{found['indent']}```pycon\n{found[0]}\n{found['indent']}```"
