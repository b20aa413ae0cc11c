"""The text of `lfs.py`: the LFs it defines, and how one is added, replaced or removed.

Everything else that people write there, including helpers and comments, stays unchanged.
"""

import ast
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hyperlabel._core import printable, show
from hyperlabel.data import reason_of
from hyperlabel.errors import ProjectError
from hyperlabel.lf import LabelingFunction

NAME = "lfs.py"
HEADER = '"""Labeling functions. hyperlabel studio reads and writes this file; edit it as you like."""\n'

_MODULES = {"pl": "import polars as pl", "re": "import re", "hl": "import hyperlabel as hl"}
_NAMES = ["ABSTAIN", "expression_lf", "keyword_lf", "labeling_function", "lookup_lf", "regex_lf", "threshold_lf"]
_IMPORTS = _MODULES | {name: f"from hyperlabel import {name}" for name in _NAMES}


@dataclass(frozen=True)
class LFSource:
    """Python source that was run, and the LFs it defines; two are equal if their texts are."""

    text: str
    lfs: dict[str, LabelingFunction] = field(compare=False)  # by name, in the order of the text
    spans: dict[str, tuple[int, int]] = field(compare=False)  # first and last + 1 line of each LF, from 0
    variables: frozenset[str] = field(compare=False)  # all names that the text defines or imports

    @classmethod
    def load(cls, text: str, path: str | Path = NAME) -> "LFSource":
        """Run a text and collect the LFs among its top-level variables. An error names the line."""
        namespace = _run(text, str(path))
        lfs: dict[str, LabelingFunction] = {}
        spans: dict[str, tuple[int, int]] = {}
        for variable, span in _iterate_bindings(text):
            lf = namespace.get(variable)
            if not isinstance(lf, LabelingFunction):
                continue
            if lf.name in lfs and lfs[lf.name] is not lf:
                raise ProjectError(f"{NAME}, line {span[0] + 1}: two LFs are named '{lf.name}'; rename one of them")
            lfs[lf.name], spans[lf.name] = lf, span
        return cls(text, lfs, spans, frozenset(namespace))

    def block(self, name: str) -> str:
        """Return the statement that defines an LF."""
        start, stop = self.spans[name]
        return "\n".join(_split_lines(self.text)[start:stop]) + "\n"

    def added(self, block: str) -> str:
        """Return the text with another statement at its end."""
        text = _add_imports(self.text, block)
        is_tall = block.lstrip().startswith(("@", "def ", "class ", "#"))
        gap = "\n\n" if is_tall else "" if _ends_flat(text) else "\n"  # tall statements have empty lines around them
        return f"{text.rstrip()}\n{gap}{block.strip()}\n"

    def replaced(self, name: str, block: str) -> str:
        """Return the text with the statement of an LF replaced."""
        lines = _split_lines(self.text)
        start, stop = self.spans[name]
        return _add_imports("\n".join([*lines[:start], *_split_lines(block.strip()), *lines[stop:]]) + "\n", block)

    def removed(self, name: str) -> str:
        """Return the text without the statement of an LF and the empty lines above it."""
        lines = _split_lines(self.text)
        start, stop = self.spans[name]
        while start > 1 and not lines[start - 1].strip() and (stop == len(lines) or not lines[stop].strip()):
            start -= 1
        return "\n".join([*lines[:start], *lines[stop:]]) + "\n"


def load_lfs(path: str | Path) -> list[LabelingFunction]:
    r"""Run a file such as a project's `lfs.py` and return its LFs, in their order.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "lfs.py")
    ...     _ = file.write_text("from hyperlabel import keyword_lf\nfree = keyword_lf('free', 'spam')")
    ...     [lf.name for lf in load_lfs(file)]
    ['keyword_free']
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ProjectError(f"'{printable(path)}' cannot be read: {reason_of(error)}") from error
    return list(LFSource.load(text, path).lfs.values())


def _run(text: str, path: str) -> dict[str, Any]:
    """Run a text and return its variables."""
    namespace: dict[str, Any] = {"__name__": "lfs", "__file__": path}
    try:
        exec(compile(text, path, "exec"), namespace)
    except SyntaxError as error:
        line = show((error.text or "").strip(), 80)
        raise ProjectError(f"{NAME}, line {error.lineno}: {error.msg}: {line}") from error
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        raise ProjectError(f"{NAME}, line {lines[-1] if lines else 1}: {type(error).__name__}: {error}") from error
    return namespace


def _split_lines(text: str) -> list[str]:
    """Split a text into lines as Python does: other characters that end a line elsewhere may be part of a string."""
    lines = re.split("\r\n|\r|\n", text)
    return lines if lines[-1] else lines[:-1]


def _iterate_bindings(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield each top-level variable with the lines of its statement, including comments right above."""
    lines = _split_lines(text)
    for node in ast.parse(text).body:
        start = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) - 1
        while start and lines[start - 1].startswith("#"):
            start -= 1
        for variable in _list_variables(node):
            yield variable, (start, node.end_lineno or start + 1)


def _list_variables(node: ast.stmt) -> list[str]:
    """List the variables that a statement sets."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]


def _add_imports(text: str, block: str) -> str:
    """Add the imports that a block needs to a text, below those it has; unchanged if either cannot be parsed."""
    try:
        used = {node.id for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Name)}
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # running it gives the error
        return text
    used -= {name for node in body for name in _list_variables(node)}
    wanted = [line for name, line in _IMPORTS.items() if name in used]
    if not wanted:
        return text
    lines = _split_lines(text)
    imports = [node.end_lineno or 0 for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    is_docstring = body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    at = max(imports) if imports else (body[0].end_lineno or 0) if is_docstring else 0
    above = [] if imports or not at else [""]
    below = [] if imports or at == len(lines) else [""]
    return "\n".join([*lines[:at], *above, *wanted, *below, *lines[at:]]) + "\n"


def _ends_flat(text: str) -> bool:
    """Return True if a text ends in an assignment, which another one may follow without a gap."""
    body = ast.parse(text).body
    return bool(body) and isinstance(body[-1], ast.Assign)
