"""Classes that change: their names in rules, and names that differ only in case."""

import ast
from collections.abc import Hashable, Iterator, Sequence

_VOTE = {"keyword_lf": 1, "regex_lf": 1, "threshold_lf": 1}  # which argument is the vote


def find_alike(names: Sequence[Hashable]) -> tuple[str, str] | None:
    """Return the first two names that differ only in upper and lower case, or in spaces around them.

    >>> find_alike(["positive", "other", "Positive"]), find_alike(["a", "b"])
    (('positive', 'Positive'), None)
    """
    first: dict[str, str] = {}
    for name in map(str, names):
        known = first.setdefault(name.strip().casefold(), name)
        if known != name:
            return known, name
    return None


def rename_votes(text: str, old: Hashable, new: Hashable) -> str:
    """Rename a class in the votes of Python source; words that rules look for stay.

    >>> rename_votes("a = keyword_lf('spam', 'spam', name='a')", "spam", "junk")
    "a = keyword_lf('spam', 'junk', name='a')"
    """
    lines = text.encode().split(b"\n")  # positions count bytes
    for node in sorted(_find_votes(text, old), key=lambda node: (-node.lineno, -node.col_offset)):
        line = lines[node.lineno - 1]
        lines[node.lineno - 1] = line[: node.col_offset] + repr(new).encode() + line[node.end_col_offset :]
    return b"\n".join(lines).decode()


def votes_for(text: str, label: Hashable) -> bool:
    """Return True if Python source votes for a class."""
    return any(True for _ in _find_votes(text, label))


def _find_votes(text: str, label: Hashable) -> Iterator[ast.Constant]:
    """Find the constants that are votes for a class: arguments of ready-made LFs, and what functions return."""
    for node in ast.walk(ast.parse(text)):
        for part in _list_votes(node):
            for each in ast.walk(part):
                if isinstance(each, ast.Constant) and type(each.value) is type(label) and each.value == label:
                    yield each


def _list_votes(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Return) and node.value is not None:
        value = node.value
        return [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return []
    named = [each.value for each in node.keywords if each.arg == "vote"]
    if node.func.id == "lookup_lf" and node.args and isinstance(node.args[0], ast.Dict):
        return list(node.args[0].values)
    place = _VOTE.get(node.func.id, len(node.args))
    return [*node.args[place : place + 1], *named]
