"""The text of `lfs.py`: which LFs it defines, where, and how one is added, replaced or removed.

Flows in: Python source. Flows out: LFs by name, and the source with one statement added, removed or changed; everything
else that people wrote there, including helpers and comments, stays as it is.
"""

import ast
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hyperlabel.errors import ProjectError
from hyperlabel.lf import LabelingFunction
from hyperlabel.shown import printable, show
from hyperlabel.tables import reason_of

NAME = "lfs.py"
HEADER = '"""Labeling functions. hyperlabel studio reads and writes this file; edit it as you like."""\n'

_MODULES = {"pl": "import polars as pl", "re": "import re", "hl": "import hyperlabel as hl"}
_NAMES = ["ABSTAIN", "expression_lf", "keyword_lf", "labeling_function", "lookup_lf", "regex_lf", "threshold_lf"]
_IMPORTS = _MODULES | {name: f"from hyperlabel import {name}" for name in _NAMES}


@dataclass(frozen=True, eq=False)
class LFSource:
    """Python source that defines LFs and was run."""

    text: str
    lfs: dict[str, LabelingFunction]  # the LFs, by name, in the order of the text
    # For each LF the first line of its statement, and the line after it; lines count from 0.
    spans: dict[str, tuple[int, int]]
    variables: frozenset[str] = frozenset()  # all names that the text defines or imports

    @classmethod
    def load(cls, text: str, path: str | Path = NAME) -> "LFSource":
        r"""Run a text and find its LFs: every variable at the top level that is one. An error names the line.

        >>> source = LFSource.load("from hyperlabel import keyword_lf\nfree = keyword_lf('free', 'spam', name='free')")
        >>> source.lfs, source.spans
        ({'free': Matches('free')}, {'free': (1, 2)})
        """
        namespace = _run(text, str(path))
        lfs: dict[str, LabelingFunction] = {}
        spans: dict[str, tuple[int, int]] = {}
        for variable, span in _statements(text):
            lf = namespace.get(variable)
            if not isinstance(lf, LabelingFunction):
                continue
            if lf.name in lfs and lfs[lf.name] is not lf:
                raise ProjectError(
                    f"{NAME}, line {span[0] + 1}: there are two LFs named '{lf.name}'; give each its own name"
                )
            lfs[lf.name], spans[lf.name] = lf, span
        return cls(text, lfs, spans, frozenset(namespace))

    def block(self, name: str) -> str:
        """The statement that defines an LF."""
        start, stop = self.spans[name]
        return "\n".join(_lines(self.text)[start:stop]) + "\n"

    def added(self, block: str) -> str:
        """The text with another statement at its end."""
        text = _with_imports(self.text or HEADER, block)
        is_tall = block.lstrip().startswith(("@", "def ", "class ", "#"))
        gap = "\n\n" if is_tall else "" if _ends_flat(text) else "\n"  # tall statements have empty lines around them
        return f"{text.rstrip()}\n{gap}{block.strip()}\n"

    def replaced(self, name: str, block: str) -> str:
        """The text with the statement of an LF replaced."""
        lines = _lines(self.text)
        start, stop = self.spans[name]
        return _with_imports("\n".join([*lines[:start], *_lines(block.strip()), *lines[stop:]]) + "\n", block)

    def removed(self, name: str) -> str:
        """The text without an LF's statement, and without the empty lines above it."""
        lines = _lines(self.text)
        start, stop = self.spans[name]
        while start > 1 and not lines[start - 1].strip() and (stop == len(lines) or not lines[stop].strip()):
            start -= 1
        return "\n".join([*lines[:start], *lines[stop:]]) + "\n"


def load_lfs(path: str | Path) -> list[LabelingFunction]:
    r"""The LFs of a file such as a project's `lfs.py`, in their order. The file is run.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "lfs.py")
    ...     _ = file.write_text("from hyperlabel import keyword_lf\nfree = keyword_lf('free', 'spam')")
    ...     load_lfs(file)
    [Matches('keyword_free')]
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # not there, not in UTF-8, or no name of a file
        raise ProjectError(f"'{printable(path)}' cannot be read: {reason_of(error)}") from error
    return list(LFSource.load(text, path).lfs.values())


def _run(text: str, path: str) -> dict[str, Any]:
    """Run a text. -> its variables."""
    namespace: dict[str, Any] = {"__name__": "lfs", "__file__": path}
    try:
        exec(compile(text, path, "exec"), namespace)
    except SyntaxError as error:
        raise ProjectError(
            f"{NAME}, line {error.lineno}: {error.msg}: {show((error.text or '').strip(), 80)}"
        ) from error
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        raise ProjectError(f"{NAME}, line {lines[-1] if lines else 1}: {type(error).__name__}: {error}") from error
    return namespace


def _lines(text: str) -> list[str]:
    """The lines of a text as Python counts them: other characters that end a line elsewhere may be part of a string."""
    lines = re.split("\r\n|\r|\n", text)
    return lines if lines[-1] else lines[:-1]


def _statements(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The variables that statements at the top level set, and the lines of each, including comments right above."""
    lines = _lines(text)
    for node in ast.parse(text).body:
        start = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) - 1
        while start and lines[start - 1].startswith("#"):
            start -= 1
        for variable in _bound(node):
            yield variable, (start, node.end_lineno or start + 1)


def _bound(node: ast.stmt) -> list[str]:
    """The variables that a statement sets."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]


def _with_imports(text: str, block: str) -> str:
    """A text with the imports that a block needs, below those it has; unchanged if it cannot be parsed."""
    try:
        used = {node.id for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Name)}
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # Python says which when it runs
        return text
    known = {name for node in body for name in _bound(node)}
    wanted = [line for name, line in _IMPORTS.items() if name in used - known]
    if not wanted:
        return text
    lines = _lines(text)
    heads = [node.end_lineno or 0 for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    at = max(heads) if heads else _below_docstring(body)
    above = [] if heads or not at else [""]
    below = [] if heads or at == len(lines) else [""]
    return "\n".join([*lines[:at], *above, *wanted, *below, *lines[at:]]) + "\n"


def _below_docstring(body: list[ast.stmt]) -> int:
    first = body[0] if body else None
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return (first.end_lineno or 0) if first is not None and is_docstring else 0


def _ends_flat(text: str) -> bool:
    """Whether a text ends in an assignment at the top level, to which another may be added without a gap."""
    body = ast.parse(text).body
    return bool(body) and isinstance(body[-1], ast.Assign)
