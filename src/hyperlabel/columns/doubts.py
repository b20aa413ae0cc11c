"""Doubts about votes: columns that cannot be votes, and votes that look like a mistake.

Everything is judged on tallies, the votes of each class in each column. A refusal names what the column holds; a
warning has its number and the remedy. Thresholds are chosen so that no public set of LFs, crowds or judges raises one.
"""

import datetime
import difflib
import numbers
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median_low
from typing import Any

from hyperlabel.shown import show, show_some

Tally = Mapping[Any, int]
Tallies = Mapping[str, Tally]

REMEDY = "name the LFs with lfs (command line: --lfs)"

PERCENTAGES, DECIMAL_COMMA, NOT_WHOLE = (
    "holds percentages",
    "a number with a decimal comma",
    "which is not a whole number",
)
"""How the reasons for refusing columns of scores begin or end."""

FEW_ROWS = 20
"""With fewer, a table is too small to tell an identifier from a class, or a lone class from a mistake."""

MOST_VALUES = 10_000
"""Distinct values of a column that are listed and counted; no column of votes has more."""

_KINDS: dict[type, str] = {bool: "boolean", int: "number", str: "text"}
_MANY = f"holds more than {MOST_VALUES:,} different values, like an identifier, a time or a text"
_LONGEST_NAME = 100  # characters; anything longer is a text, not the name of a class
_MANY_TEXTS, _MANY_NUMBERS = 0.5, 0.9  # with more distinct values per vote, a column does not hold classes
_CONSTANT = 0.95  # if a larger share of the rows has the same value, a column says nothing about an item
_LEAST_SHARED = 0.25  # if other LFs vote for a smaller share of a column's numbers, it is not an LF
_SMALL_NUMBERS = 10  # in a small table lower numbers may well be classes
_HANDFUL, _RARE = 5, 20  # a typo has at most 5 votes, and at most 1 in 20 of its LF's
_TIME = re.compile(
    r"(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|\d{4}/\d{1,2}/\d{1,2})([T ].*)?|\d{1,2}:\d{2}(:\d{2}.*)?"
)
_PERCENTAGE = re.compile(r"[+-]?\d+([.,]\d+)?\s?%")
_COMMA = re.compile(r"[+-]?\d+(,\d+)?")  # a number with a decimal comma, or a whole one beside it
_NO_VOTES = frozenset(
    {
        "?", "??", ".", "--", "\u2013", "\u2014", "n.a.", "(blank)", "[]", "{}",
        "-", "-1", "na", "n/a", "<na>", "none", "nan", "null", "abstain",
        "#n/a", "#null!", "#value!", "#ref!", "#div/0!", "#name?", "#num!", "#error!",
    }
)  # fmt: skip
"""What means no vote in spreadsheets, forms and exports, in lower case. What usually abstains is among it: it may be
written in another case, or `abstain` may list other values."""
_UNSEEN_ZEROS = re.compile(r"^0+(?=\d)|\.0*$")  # of a number


def find_doubts(
    tallies: Tallies, n_rows: Mapping[str, int], distinct: Mapping[str, int], *, judge_columns: bool = True
) -> tuple[dict[str, str], list[str]]:
    """For each column that cannot be votes the reason, and warnings.

    By column: `tallies` of its votes of each class, its number of rows, its number of distinct values. Columns that
    were named are votes: then `judge_columns` is false.

    >>> find_doubts({"a": {"x": 9, "y": 7}, "when": {"2026-01-01": 16}}, {"a": 16, "when": 16}, {"a": 2, "when": 1})
    ({'when': "holds times ('2026-01-01')"}, [])
    """
    many = [name for name in tallies if distinct[name] > MOST_VALUES]
    doubts: list[str] = []
    if many and not judge_columns:
        return {name: _MANY for name in many}, []
    if judge_columns:
        refused = _refuse_alone(tallies, distinct) or _refuse_kinds(tallies)
        if not refused and len(_voting(tallies)) > 1:
            refused, doubts = _compare(_voting(tallies), n_rows)
        if refused:
            return refused, []
    return {}, doubts + warn_of_classes(tallies)


def kind_of(value: object) -> str:
    """What kind of class a value is; the name of its type if it cannot be a class.

    >>> kind_of(True), kind_of(1), kind_of("a"), kind_of(b"a")
    ('boolean', 'number', 'text', 'bytes')
    """
    if type(value) in _KINDS:  # the fast path: tables have many values, nearly all of these types
        return _KINDS[type(value)]
    if isinstance(value, numbers.Number):
        return "number"
    return "text" if isinstance(value, str) else type(value).__name__


def add_up(tallies: Iterable[Tally]) -> dict[Any, int]:
    """The votes of each class in all tallies; a `Counter` takes longer if there are thousands of small ones.

    >>> add_up([{"x": 1}, {"x": 2, "y": 1}])
    {'x': 3, 'y': 1}
    """
    sums: dict[Any, int] = {}
    for tally in tallies:
        for value, n in tally.items():
            sums[value] = sums.get(value, 0) + n
    return sums


def _voting(tallies: Tallies) -> dict[str, Tally]:
    return {name: tally for name, tally in tallies.items() if tally}


# What a column can be, seen alone.


def _refuse_alone(tallies: Tallies, distinct: Mapping[str, int]) -> dict[str, str]:
    reasons = {name: _refuse_one(tally, distinct[name]) for name, tally in tallies.items()}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _refuse_one(tally: Tally, distinct: int) -> str | None:
    """Why a column cannot be votes, whatever other columns hold."""
    if distinct > MOST_VALUES:
        return _MANY
    first, votes = next(iter(tally), None), sum(tally.values())
    odd = None if all(type(value) is int for value in tally) else _refuse_values(tally, first)
    share = _MANY_TEXTS if isinstance(first, str) else _MANY_NUMBERS
    if odd is None and votes >= FEW_ROWS and distinct > share * votes:
        return f"holds {distinct:,} different values in {votes:,} rows, like an identifier or a text"
    return odd


def _refuse_values(tally: Tally, first: object) -> str | None:
    """Why values cannot be classes: times, decimals, long texts."""
    is_time = any(isinstance(v, datetime.date | datetime.time | datetime.timedelta) for v in tally)
    if is_time or (tally and all(isinstance(v, str) and _TIME.fullmatch(v.strip()) for v in tally)):
        return f"holds times ({first!s:.30})" if not isinstance(first, str) else f"holds times ({show(first, 30)})"
    if tally and all(isinstance(v, str) and _PERCENTAGE.fullmatch(v.strip()) for v in tally):
        return f"{PERCENTAGES} ({show(first, 30)})"
    comma = _decimal_comma(tally)
    if comma is not None:
        return f"holds {show(comma, 30)}, {DECIMAL_COMMA}"
    decimal = next((v for v in tally if kind_of(v) == "number" and not isinstance(v, int)), None)
    if decimal is not None:
        return f"holds {decimal}, {NOT_WHOLE}"
    long = next((v for v in tally if isinstance(v, str) and len(v) > _LONGEST_NAME), None)
    if long is not None:
        return f"holds texts ({long[:30]!r}...)"
    return None


def _decimal_comma(tally: Tally) -> str | None:
    """A value such as '0,5', if all values of a column are numbers as some countries write them."""
    if not all(isinstance(v, str) and _COMMA.fullmatch(v.strip()) for v in tally):
        return None
    return next((v for v in tally if v.strip().partition(",")[2].strip("0")), None)


def _refuse_kinds(tallies: Tallies) -> dict[str, str]:
    """Refuse columns of numbers or booleans among more columns of texts; other mixtures are refused later, by row."""
    kinds = {name: {kind_of(value) for value in tally} for name, tally in _voting(tallies).items()}
    texts = sum(kind == {"text"} for kind in kinds.values())
    others = {name: kind for name, kind in kinds.items() if kind in ({"number"}, {"boolean"})}
    if not 0 < len(others) < texts:
        return {}
    held = {"number": "whole numbers", "boolean": "booleans"}
    return {
        name: f"holds {held[next(iter(kind))]} ({show_some(list(tallies[name]), 3)}) while {texts} columns hold texts"
        for name, kind in others.items()
    }


# What a column can be, compared with the others.


def _compare(tallies: dict[str, Tally], n_rows: Mapping[str, int]) -> tuple[dict[str, str], list[str]]:
    kinds = {kind_of(value) for tally in tallies.values() for value in tally}
    if kinds == {"text"} and not all(v.isdecimal() for tally in tallies.values() for v in tally):
        return _compare_texts(tallies, n_rows)
    if kinds in ({"number"}, {"text"}):
        return _compare_numbers({name: {int(v): n for v, n in t.items()} for name, t in tallies.items()}, n_rows)
    return {}, []  # booleans are all alike; mixtures are refused later, with the place


def _compare_texts(tallies: dict[str, Tally], n_rows: Mapping[str, int]) -> tuple[dict[str, str], list[str]]:
    """LFs share classes. Columns of several classes form groups that do; only the largest group can be the LFs.

    A column of one class may be an LF for a class that no other LF votes for, unless it has that value everywhere.
    """
    holders = Counter(value for tally in tallies.values() for value in tally)
    alone = [name for name, tally in tallies.items() if all(holders[value] == 1 for value in tally)]
    lone = [name for name in alone if len(tallies[name]) == 1]
    votes = {name: sum(tally.values()) for name, tally in tallies.items()}
    # There are enough rows to judge a column, or it has a value in each of the few rows.
    enough = {name for name in tallies if n_rows[name] >= FEW_ROWS or votes[name] == n_rows[name]}
    outside = [name for name in _outside_main_group(tallies) if name in enough]
    spelled = _spelled_otherwise(holders) if outside else {}
    refused = {name: _no_company(tallies[name], spelled) for name in outside}
    constant = [name for name in lone if n_rows[name] >= FEW_ROWS and votes[name] > _CONSTANT * n_rows[name]]
    refused |= {name: f"{_no_company(tallies[name], {})}, in nearly every row" for name in constant}
    if refused or not lone or median_low(map(len, tallies.values())) == 1:
        return refused, []  # if most LFs vote for one class each, one more is normal
    shown = ", ".join(f"{next(iter(tallies[name]))!r} ({name!r}, {votes[name]:,} votes)" for name in lone)
    return {}, [
        f"classes that only one LF votes for, and no other class: {shown}; if a column does not hold votes, {REMEDY}"
    ]


def _no_company(tally: Tally, spelled: Mapping[Any, str]) -> str:
    held = f"holds {show_some(list(tally), 3)}, which no other LF votes for"
    other = next((spelled[value] for value in tally if value in spelled), None)
    return held if other is None else f"{held} (another has {show(other, 40)}: write them alike)"


def _spelled_otherwise(values: Iterable[str]) -> dict[Any, str]:
    """For each value that is written in several ways another one of them."""
    return {value: names[names[0] == value] for names in _same_names(values) for value in names}


def _same_names(names: Iterable[str]) -> list[list[str]]:
    """Names that differ only in what `_folded` leaves out, together."""
    groups = defaultdict(list)
    for name in names:
        groups[_folded(name)].append(name)
    return [same for same in groups.values() if len(same) > 1]


def _outside_main_group(tallies: dict[str, Tally]) -> list[str]:
    """Columns of several values that share none, directly or not, with the largest group of columns."""
    if max(map(len, tallies.values())) == 1:
        return []
    group = _groups(tallies)
    sizes = Counter(group.values())
    largest = max(sizes.values())
    main = {g for g, size in sizes.items() if size == largest}
    several = {group[name] for name, tally in tallies.items() if len(tally) > 1}
    if len(main) == 1:
        return [name for name in tallies if group[name] in several - main]
    return [name for name in tallies if group[name] in several] if len(several) > 1 else []


def _groups(tallies: dict[str, Tally]) -> dict[str, str]:
    """For each column the first column of its group: those that share values, directly or through others."""
    first: dict[Any, str] = {}
    parent = {name: name for name in tallies}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = name = parent[parent[name]]
        return name

    for name, tally in tallies.items():
        for value in tally:
            parent[root(name)] = root(first.setdefault(value, name))
    return {name: root(name) for name in tallies}


def _compare_numbers(tallies: dict[str, dict[int, int]], n_rows: Mapping[str, int]) -> tuple[dict[str, str], list[str]]:
    """Class numbers that only one column has. Columns with many more values than others do not count as company."""
    usual = median_low(map(len, tallies.values()))
    narrow = {name for name, tally in tallies.items() if len(tally) <= max(3, 2 * usual)}
    holders = Counter(value for name in narrow for value in tallies[name])
    refused, doubts = dict[str, str](), dict[str, str]()
    for name, tally in tallies.items():
        own = [value for value in tally if holders[value] == (name in narrow)]
        if len(own) < 2:
            continue
        if n_rows[name] < FEW_ROWS and max(own) < _SMALL_NUMBERS:
            if _counts_rows(tally, len(own), n_rows[name]):
                doubts[name] = f"{name!r} ({show_some(sorted(own), 5)}), which has another number in every row"
            continue
        if len(own) > (1 - _LEAST_SHARED) * len(tally):
            refused[name] = f"holds the numbers {show_some(sorted(own), 5)}, which no other LF votes for"
        elif sum(tally[value] for value in own) >= FEW_ROWS:
            doubts[name] = f"{name!r} ({show_some(sorted(own), 5)})"
    if not doubts or len(doubts) > len(tallies) / 2:  # if most columns have such numbers, there are many classes
        return refused, []
    shown = ", ".join(doubts.values())
    return refused, [f"classes that only one LF votes for: {shown}; if a column does not hold votes, {REMEDY}"]


def _counts_rows(tally: Tally, own: int, n_rows: int) -> bool:
    """Whether a column of a small table looks like the numbers of its rows."""
    return len(tally) == sum(tally.values()) == n_rows > 3 and own > (1 - _LEAST_SHARED) * len(tally)


# What classes can be.


def warn_of_classes(tallies: Tallies) -> list[str]:
    """Warnings about the classes of votes: several spellings of one, what means no vote, typos, odd numbers, one only.

    >>> warn_of_classes({"a": {"SPAM": 50, "SAPM": 1}, "b": {"SPAM": 30, "HAM": 20}})[0][:58]
    "a class that one LF votes for a handful of times: 'SAPM' ("
    """
    classes = add_up(tallies.values())
    votes = sum(classes.values())
    plain = [*_spellings(classes), *_no_votes(classes)]
    if votes < FEW_ROWS:
        return plain
    if len(classes) == 1:
        return [*plain, _one_class(next(iter(classes)), votes)]
    return [*plain, *_typos(tallies, classes), *warn_of_numbers(classes)]


def _folded(name: str) -> str:
    r"""A name without what people do not see or mean: case, spaces, quotes, stops, forms of letters, zeros of a number.

    >>> _folded(" \u200bSpam."), _folded("007"), _folded("1.0"), _folded("1.5")
    ('spam', '7', '1', '1.5')
    """
    seen = "".join(c for c in unicodedata.normalize("NFKC", name).casefold() if unicodedata.category(c) != "Cf")
    plain = " ".join(seen.split())
    if plain.replace(".", "", 1).isdecimal():
        return _UNSEEN_ZEROS.sub("", plain)
    return plain.strip("'\"`\u2018\u2019\u201c\u201d. ") or plain


def _spellings(classes: Tally) -> list[str]:
    """Names that differ only in what `_folded` leaves out: their votes are not added up."""
    found = [_with_votes(names, classes) for names in _same_names(_texts(classes))]
    if not found:
        return []
    more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
    return [
        f"classes that differ only in case, spaces, quotes, stops or zeros: {'; '.join(found[:3])}{more}. Each counts "
        "as a class of its own: write them alike, or state all classes with classes"
    ]


def _no_votes(classes: Tally) -> list[str]:
    """Names that usually mean that there is no vote."""
    found = [name for name in _texts(classes) if name.strip().lower() in _NO_VOTES]
    if not found:
        return []
    return [
        f"classes that look like no vote: {_with_votes(found, classes)}; if so, list them in abstain (command line: "
        "--abstain), with all other values that abstain, else state all classes with classes"
    ]


def _texts(classes: Tally) -> list[str]:
    return sorted(name for name in classes if isinstance(name, str))


def _with_votes(names: Iterable[str], classes: Tally) -> str:
    return ", ".join(f"{show(name, 40)} ({classes[name]:,})" for name in names)


def _one_class(value: object, votes: int) -> str:
    return (
        f"all {votes:,} votes are for one class, {value!r}: every label is that class, and its confidence of 1 means "
        "nothing; add LFs for other classes, or state them with classes"
    )


def _typos(tallies: Tallies, classes: Tally) -> list[str]:
    """Classes with a few votes from one LF that nearly always votes for others."""
    rare = {value for value, n in classes.items() if n <= _HANDFUL}
    usual = [value for value in classes if kind_of(value) == "number" and value not in rare]
    rare -= {value for value in rare if kind_of(value) == "number" and value <= max(usual, default=0) + 1}
    found = [
        (value, name, tally[value])
        for name, tally in tallies.items()
        for value in rare & tally.keys()
        if tally[value] == classes[value] and tally[value] * _RARE <= sum(tally.values())
    ]
    if not found:
        return []
    names = [c for c in classes if isinstance(c, str) and c not in rare]
    shown = "; ".join(
        f"{value!r} ({name!r}, {n}){_meant(value, names)}" for value, name, n in sorted(found, key=str)[:5]
    )
    more = f"; and {len(found) - 5} more" if len(found) > 5 else ""
    return [
        f"a class that one LF votes for a handful of times: {shown}{more}. If it is a typo, correct it; else state all "
        "classes with classes"
    ]


def _meant(value: object, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(value.lower(), [n.lower() for n in names]) if isinstance(value, str) else []
    meant = next((name for name in names if close and name.lower() == close[0]), None)
    return "" if meant is None else f", perhaps {meant!r}"


def warn_of_numbers(classes: Mapping[Any, int]) -> list[str]:
    """Warnings about class numbers: those that start at 1, and those that leave most numbers out.

    >>> warn_of_numbers({1: 40, 2: 30})[0][:36]
    'class numbers start at 1: class 0 ha'
    >>> warn_of_numbers({0: 40, 1: 30})
    []
    """
    if not all(kind_of(c) == "number" for c in classes) or len(classes) < 2:
        return []
    low, high = min(classes), max(classes)
    if low == 1:
        return [
            f"class numbers start at 1: class 0 has none of the {sum(classes.values()):,} votes, but still counts as a "
            "class; subtract 1, or state the classes"
        ]
    if high + 1 >= _SMALL_NUMBERS + 2 * len(classes):
        return [
            f"class numbers go up to {high}, but only {len(classes)} are voted for ({show_some(sorted(classes), 6)}); "
            "list in abstain the values that mean no vote, or state the classes"
        ]
    return []
