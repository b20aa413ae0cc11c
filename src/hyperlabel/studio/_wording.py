"""Rules in plain words: `keyword_lf("free", "spam")` is `contains "free"`."""

import ast
import re
from typing import Any

_SIGNS = {
    r"https?://|www\.": "contains a link",
    r"\d": "contains a number",
    r"!{2,}": "contains several exclamation marks",
    r"\b[A-Z]{3,}\b": "contains a word in capitals",
}


def describe_rule(source: str) -> str:
    """Say in words when a rule of a ready-made kind votes; empty for other Python.

    >>> describe_rule("free = keyword_lf('free money', 'spam', name='free')")
    'contains "free money"'
    >>> describe_rule("many = threshold_lf('likes', 'ham', at_least=5, name='many')")
    'likes is at least 5'
    """
    try:
        call = ast.parse(source.strip()).body[-1].value  # type: ignore[attr-defined]
        arguments = [ast.unparse(each) for each in call.args]
        options = {each.arg: ast.unparse(each.value) for each in call.keywords}
        return _DESCRIBE[call.func.id](arguments, options)
    except (SyntaxError, AttributeError, LookupError, ValueError, TypeError):
        return ""


def _describe_keyword(arguments: list[str], options: dict[str, str]) -> str:
    words: Any = ast.literal_eval(arguments[0])
    quoted = [f'"{word}"' for word in ([words] if isinstance(words, str) else words)]
    return f"contains {' or '.join(quoted)}{_of_column(options)}"


def _describe_regex(arguments: list[str], options: dict[str, str]) -> str:
    pattern = str(ast.literal_eval(arguments[0]))
    for form, words in _FORMS:
        if match := re.fullmatch(form, pattern):
            return words.format(*(re.sub(r"\\(.)", r"\1", each) for each in match.groups())) + _of_column(options)
    return (_SIGNS.get(pattern) or f"matches {pattern}") + _of_column(options)


_FORMS = (
    (r"\(\?i\)\\b(\w+)\\w\*", 'contains a word that begins with "{}"'),
    (r"\(\?i\)\^\\W\*(.+)\\b", 'begins with "{}"'),
    (r"\(\?is\)\\b(\w+)\\b\.\*\\b(\w+)\\b\|\\b\2\\b\.\*\\b\1\\b", 'contains "{}" and "{}"'),
)


def _describe_lookup(arguments: list[str], options: dict[str, str]) -> str:
    table = ast.literal_eval(arguments[0])
    return f"{ast.literal_eval(options['column'])} is {' or '.join(map(str, table))}"


def _describe_threshold(arguments: list[str], options: dict[str, str]) -> str:
    bounds = {"at_least": "at least", "at_most": "at most"}
    stated = [f"{words} {options[key]}" for key, words in bounds.items() if key in options]
    return f"{ast.literal_eval(arguments[0])} is {' and '.join(stated)}"


def _describe_expression(arguments: list[str], options: dict[str, str]) -> str:
    match = re.fullmatch(r"pl\.col\('(.*)'\)\.str\.len_chars\(\) (<=|>=) (\d+)", arguments[1])
    if match is None:
        return ""
    return f"has {'at most' if match[2] == '<=' else 'at least'} {match[3]} letters"


def _of_column(options: dict[str, str]) -> str:
    return f" in {ast.literal_eval(options['column'])}" if "column" in options else ""


_DESCRIBE = {
    "keyword_lf": _describe_keyword,
    "regex_lf": _describe_regex,
    "lookup_lf": _describe_lookup,
    "threshold_lf": _describe_threshold,
    "expression_lf": _describe_expression,
}
