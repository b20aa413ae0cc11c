"""LFs on documents: functions that return spans, gazetteers, regular expressions; and applying them.

A span LF is a labeling function whose reply is its spans as JSON text, so that the cache, threads and processes of all
other LFs serve it.
"""

import bisect
import functools
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hyperlabel._core import check_choice, check_path, show
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.lf import LabelingFunction, check_lfs, read_items, run_lfs
from hyperlabel.spans._documents import TOKEN


class SpanFunction(LabelingFunction):
    """A function of a document that votes for spans.

    Args:
        name: Name of the LF.
        function: Takes a document (`x.tokens` or `x.text`) and the resources; returns spans: `(start, end, type)`, in
            tokens of a document with tokens, else in characters of its text; `(start, end)` or matches of `re` if the
            type is stated; None or nothing to abstain.
        type: The type of all its spans, if it has only one.
        **options: Further arguments of `LabelingFunction`.

    >>> first = SpanFunction("first", lambda x: [(0, 1)], "PER")
    >>> first({"tokens": ["Ada", "wrote"]})
    [[0, 1, 'PER']]
    """

    def __init__(self, name: str, function: Callable[..., Any], type: str | None = None, **options: Any) -> None:
        self.type = type
        super().__init__(name, function, **options)

    def __call__(self, x: Any) -> list[list[Any]]:
        """Return the spans of one document."""
        return read_reply(self.row_function()(x))

    def row_function(self) -> Callable[[Any], Any]:
        """Return a function from a document to its spans as JSON text; None if there are none."""
        return functools.partial(_reply, super().row_function(), self.type)

    def _details(self) -> dict[str, Any]:
        return {} if self.type is None else {"type": self.type}


def _reply(function: Callable[[Any], Any], type: str | None, x: Any) -> str | None:
    spans = [_to_list(span, type) for span in function(x) or ()]
    return json.dumps(spans) if spans else None


def _to_list(span: Any, type: str | None) -> list[Any]:
    parts = list(span.span() if isinstance(span, re.Match) else span)
    if len(parts) == 2 and type is not None:
        parts.append(type)
    if len(parts) != 3 or not isinstance(parts[2], str):
        raise TypeError(
            f"it returned the span {show(span)}; expected (start, end, type), or (start, end) with a stated type"
        )
    return [int(parts[0]), int(parts[1]), parts[2]]


def read_reply(reply: str | None) -> list[list[Any]]:
    """Return the spans of a reply."""
    return [] if reply is None else json.loads(reply)


def span_lf(
    name: str | Callable[..., Any] | None = None,
    *,
    type: str | None = None,
    resources: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Make an LF on documents of a function: `@span_lf`, with or without arguments.

    Args:
        name: Its name; that of the function if not given.
        type: The type of all its spans; then the function returns `(start, end)`.
        resources: Keyword arguments of the function.
        **options: `timeout`, `rate`, `retry`, `tries`, as for `labeling_function`.

    >>> @span_lf(type="YEAR")
    ... def years(x):
    ...     return [(i, i + 1) for i, token in enumerate(x["tokens"]) if token.isdigit() and len(token) == 4]
    >>> years, years({"tokens": ["in", "1843"]})
    (SpanFunction('years', type='YEAR'), [[1, 2, 'YEAR']])
    """

    def decorate(function: Callable[..., Any]) -> SpanFunction:
        lf_name = name if isinstance(name, str) else getattr(function, "__name__", "")
        lf = SpanFunction(lf_name, function, type, resources=resources, **options)
        lf.__doc__ = function.__doc__
        return lf

    return decorate if name is None or isinstance(name, str) else decorate(name)


def gazetteer_lf(
    entries: Iterable[str] | Mapping[str, str], type: str | None = None, *, name: str | None = None, case: bool = False
) -> SpanFunction:
    """Make an LF that marks the phrases of a list; where several fit, the longest, from left to right.

    Args:
        entries: The phrases; or a mapping from phrase to type.
        type: The type of all phrases of a list.
        name: Name of the LF; `gazetteer_<type>` if not given.
        case: Whether upper and lower case differ.

    >>> cities = gazetteer_lf(["New York", "York"], "LOC")
    >>> cities({"tokens": ["to", "new", "york", "from", "York"]})
    [[1, 3, 'LOC'], [4, 5, 'LOC']]
    """
    typed = dict(entries) if isinstance(entries, Mapping) else dict.fromkeys(entries, type)
    invalid = next(
        (phrase for phrase, kind in typed.items() if not str(phrase).split() or not isinstance(kind, str)), None
    )
    if invalid is not None or not typed:
        raise ParameterError(
            f"entries has {show(invalid)}; expected phrases with a type: a list and type, or a mapping"
        )
    phrases = {_phrase_key(str(phrase), case): kind for phrase, kind in typed.items()}
    kinds = "_".join(sorted({str(kind) for kind in typed.values()}))
    resources = {"phrases": phrases, "most": max(map(len, phrases)), "case": case}
    return SpanFunction(name or f"gazetteer_{kinds}", _find_phrases, resources=resources)


def _phrase_key(phrase: str, case: bool) -> tuple[str, ...]:
    """Return the tokens of a phrase as they are looked up."""
    return tuple(TOKEN.findall(phrase) if case else map(str.lower, TOKEN.findall(phrase)))


def _find_phrases(x: Any, phrases: Mapping[tuple[str, ...], str], most: int, case: bool) -> list[tuple[int, int, str]]:
    """Find the longest phrases from left to right; the document is cut into tokens as the phrases are."""
    text, offsets = _text_of(x)
    words = [(match.group() if case else match.group().lower(), *match.span()) for match in TOKEN.finditer(text)]
    matches, i = [], 0
    while i < len(words):
        keys = (tuple(word for word, _, _ in words[i : i + size]) for size in range(min(most, len(words) - i), 0, -1))
        key = next((key for key in keys if key in phrases), None)
        if key is not None:
            matches.append((words[i][1], words[i + len(key) - 1][2], phrases[key]))
        i += 1 if key is None else len(key)
    return [(*_to_tokens(low, high, offsets), kind) for low, high, kind in matches]


def regex_span_lf(pattern: str, type: str, *, name: str | None = None, flags: int = 0) -> SpanFunction:
    r"""Make an LF that marks what a regular expression matches; tokens are joined by spaces if there is no text.

    Args:
        pattern: The expression. If it has a group named `span`, that is marked in place of the whole match.
        type: The type of its spans.
        name: Name of the LF; `regex_<type>` if not given.
        flags: Flags of `re`, such as `re.IGNORECASE`.

    >>> titles = regex_span_lf(r"(Mr|Mrs)\. (?P<span>[A-Z]\w+)", "PER")
    >>> titles({"tokens": ["Mrs.", "Lovelace", "wrote"]})
    [[1, 2, 'PER']]
    """
    try:
        compiled = re.compile(pattern, flags)
    except (re.error, TypeError) as error:
        raise ParameterError(f"pattern is {show(pattern)}; expected a regular expression: {error}") from None
    resources = {"expression": compiled, "group": "span" if "span" in compiled.groupindex else 0}
    return SpanFunction(name or f"regex_{type}", _find_matches, type, resources=resources)


def _find_matches(x: Any, expression: re.Pattern[str], group: str | int) -> list[tuple[int, int]]:
    text, offsets = _text_of(x)
    matches = (match.span(group) for match in expression.finditer(text))
    spans = (_to_tokens(low, high, offsets) for low, high in matches if low < high)
    return [(start, end) for start, end in spans if start < end]


def _text_of(x: Any) -> tuple[str, list[tuple[int, int]] | None]:
    """Return the text of a document, and where its tokens start and end there; None if it has no tokens."""
    get = x.get if hasattr(x, "get") else functools.partial(getattr, x)
    tokens = get("tokens", None)
    if tokens is None:
        return get("text", None), None
    words = [str(token) for token in tokens]
    ends = list(itertools.accumulate((len(word) + 1 for word in words), initial=0))
    return " ".join(words), [(low, high - 1) for low, high in itertools.pairwise(ends)]


def _to_tokens(low: int, high: int, offsets: list[tuple[int, int]] | None) -> tuple[int, int]:
    """Return the tokens that characters touch; the characters if the document has no tokens."""
    if offsets is None:
        return low, high
    start = bisect.bisect_right(offsets, low, key=lambda ends: ends[1])
    return start, bisect.bisect_left(offsets, high, key=lambda ends: ends[0])


def apply_span_lfs(
    lfs: Sequence[SpanFunction],
    documents: Sequence[Any],
    *,
    jobs: int = 1,
    threads: int = 1,
    on_error: str = "raise",
    cache: str | Path | None = None,
    progress: bool = False,
) -> list[dict[str, Any]]:
    r"""Apply LFs to documents; the result is what `label_spans` takes.

    Args:
        lfs: LFs on documents, made by `span_lf`, `gazetteer_lf` or `regex_span_lf`.
        documents: Mappings with `tokens` or `text`; or texts.
        jobs: Number of processes, for functions that compute.
        threads: Number of documents at a time, for functions that wait.
        on_error: `"raise"`, or `"abstain"`: an LF that fails on a document has no spans there, with a warning.
        cache: Folder that keeps the spans of each LF, as for `apply_lfs`.
        progress: Whether to show how much is done.

    Returns:
        The documents, with the spans of these LFs added to their `votes`.

    >>> documents = apply_span_lfs([regex_span_lf(r"[A-Z]\w+", "NAME")], ["hello Ada"])
    >>> documents
    [{'text': 'hello Ada', 'votes': {'regex_NAME': [[6, 9, 'NAME']]}}]
    """
    checked = check_lfs(lfs)
    plain = next((lf.name for lf in checked if not isinstance(lf, SpanFunction)), None)
    if plain is not None:
        raise ParameterError(f"LF '{plain}' votes on items, not on spans; make it with span_lf")
    check_choice(on_error, "on_error", ["raise", "abstain"])
    folder = None if cache is None else check_path(cache, "cache", "the path of a folder")
    given: list[Any] = [{"text": each} if isinstance(each, str) else each for each in documents]
    invalid = next((i for i, each in enumerate(given) if not isinstance(each, Mapping)), None)
    if invalid is not None:
        raise VotesError(
            f"documents[{invalid}] is {show(given[invalid])}; expected a mapping with tokens or text, or a text"
        )
    # LFs see no votes: those of others would change the key of a document in the cache.
    shown = [{key: value for key, value in each.items() if key != "votes"} for each in given]
    answers = run_lfs(
        checked, read_items(shown), jobs=jobs, threads=threads, tolerant=on_error == "abstain", folder=folder,
        progress=progress,
    )  # fmt: skip
    votes: list[dict[str, Any]] = [dict(each.get("votes") or {}) for each in given]
    for lf, answer in zip(checked, answers, strict=True):
        for spans, reply in zip(votes, answer.to_list(), strict=True):
            spans[lf.name] = read_reply(reply)
    return [{**each, "votes": spans} for each, spans in zip(given, votes, strict=True)]
