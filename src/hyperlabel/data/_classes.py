"""Classes: stated by the user or implied by columns, their numbers 0..k-1, and warnings of those that look wrong."""

import difflib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import show, show_some
from hyperlabel.data._outcomes import may_be_partial, read_partial_vote
from hyperlabel.data._values import DEFAULT, Column, as_list, kind_of, looks_like_number, plain
from hyperlabel.errors import ParameterError, VotesError

ABSTAIN = -1  # the vote of an LF that does not vote, and the label of an item that gets none

MOST_INFERRED = 10_000
"""Class numbers this large are more often identifiers than classes: that many classes must be stated."""

MOST_STATED = 1 << 20

_NUMBER = re.compile(r"-?(0|[1-9]\d{0,300})(\.\d{0,300})?", re.ASCII)  # 007 is a name

Classes = tuple[Hashable, ...]


def state_classes(n_classes: int | None, classes: Sequence[Hashable] | None) -> Classes | None:
    """Return the classes that the user stated, by number or by name; None if neither is given."""
    if classes is None:
        return None if n_classes is None else tuple(range(_check_number(n_classes)))
    listed = as_list(classes, "classes", "a list of classes")
    names = tuple(
        str.__str__(c) if isinstance(c, str) else c.item() if isinstance(c, np.generic) else c for c in listed
    )
    _check_stated(names)
    if n_classes is not None and _check_number(n_classes) != len(names):
        raise ParameterError(f"n_classes is {n_classes} but classes names {len(names)}; give one of the two")
    return names


def _check_stated(names: tuple[Any, ...]) -> None:
    """Refuse classes that could not be distinguished from each other or from no label, even after they are saved."""
    kinds, wrong = {kind_of(c) if isinstance(c, int | str) else "" for c in names}, ""
    if len(kinds) != 1 or "" in kinds or len(set(names)) != len(names):
        wrong = "expected at least one, each once, all whole numbers, all strings or all booleans"
    elif ABSTAIN in names:
        wrong = "-1 means no vote and no label. Call that class something else, such as 'negative'"
    elif any(isinstance(c, str) and not c.strip() for c in names):
        wrong = "a blank string means no vote. Call that class something else"
    elif len(names) > MOST_STATED:
        wrong = f"expected at most {MOST_STATED} classes, not {len(names)}"
    if wrong:
        raise ParameterError(f"classes is [{show_some(names)}]; {wrong}")


def _check_number(n_classes: int) -> int:
    if not isinstance(n_classes, int | np.integer) or not 1 <= n_classes <= MOST_STATED:
        raise ParameterError(f"n_classes is {show(n_classes)}; expected a whole number from 1 to {MOST_STATED}")
    return int(n_classes)


def limit_numbers(n_classes: int | None) -> tuple[int, str]:
    """Return how many classes numbers may mean, and the remedy if there are more."""
    if n_classes is not None:
        return _check_number(n_classes), "Raise n_classes?"
    return MOST_INFERRED, "Are these identifiers? More classes must be stated with n_classes"


def complete_classes(inferred: Classes, n_classes: int | None) -> Classes:
    """Complete inferred classes to a stated number: numbers are filled up; the number of names must match."""
    if n_classes is None:
        return inferred
    if are_numbers(inferred):
        return tuple(range(_check_number(n_classes)))
    if len(inferred) != n_classes:
        raise ParameterError(
            f"n_classes is {n_classes} but votes names {len(inferred)} classes: {show_some(inferred)}; "
            "state all of them with classes"
        )
    return inferred


def number_classes(
    high: int, n_classes: int | None, classes: Sequence[Hashable] | None, describe: Callable[[], str]
) -> tuple[Classes, bool]:
    """Return the classes of class numbers up to `high`, which errors describe, and whether they were stated."""
    stated = None if n_classes is None and classes is None else state_classes(n_classes, classes)
    if high >= (MOST_INFERRED if stated is None else len(stated)):
        top, remedy = limit_numbers(None if stated is None else len(stated))
        raise VotesError(f"{describe()}; expected a class from 0 to {top - 1}. {remedy}")
    return stated or tuple(range(max(2, high + 1))), stated is not None


def are_numbers(classes: Classes) -> bool:
    """Return whether classes are just their own numbers 0..k-1."""
    return classes == tuple(range(len(classes))) and not isinstance(classes[0], bool)


def infer_classes(columns: Sequence[Column], n_classes: int | None = None) -> Classes:
    """Return the classes of table columns: 0..max for numbers, the sorted names otherwise."""
    kind = _one_kind(columns)
    values = {value for column in columns for value in column.voted}
    if kind == "boolean":
        return (False, True)
    if kind == "text":
        _check_texts(columns)
        if len(values) > MOST_INFERRED:
            raise VotesError(
                f"votes names {len(values)} different classes; expected at most {MOST_INFERRED}. Are these identifiers "
                "or texts? Name the LFs with lfs, or state all classes with classes"
            )
        return tuple(sorted(values))
    for column in columns:
        check_numbers(column, n_classes)
    return tuple(range(max(2, max(values, default=0) + 1)))


def find_classes(
    columns: Sequence[Column], n_classes: int | None, classes: Sequence[Hashable] | None
) -> tuple[Classes, bool]:
    """Return the classes of table columns, and whether they were stated, so that none can be added."""
    stated = state_classes(n_classes, classes)
    if stated is not None and classes is not None:
        return stated, True
    inferred = infer_classes(columns, n_classes)
    return (inferred, False) if n_classes is None else (complete_classes(inferred, n_classes), True)


def unify_numbers(columns: Sequence[Column], *, written: bool = False) -> list[Column]:
    """Return the columns with strings of numbers as numbers, if some column became strings because of a word.

    One `NA` turns all numbers of its column into strings: in a csv (`written`), or beside columns of numbers. Strings
    that are numbers everywhere stay strings, and so do those of files with types.
    A number has several spellings, such as 1 and 1.0, which must not become several classes.
    """
    votes = [value for column in columns for value in column.voted]
    if not all(_is_number(value) for value in votes) or not any(isinstance(value, str) for value in votes):
        return list(columns)
    words = (value for column in columns for value in column.values if column.abstains(value))
    has_word = any(isinstance(word, str) and not looks_like_number(word) for word in words)
    if all(isinstance(v, str) for v in votes) and not (written and has_word):
        return list(columns)

    def read(column: Column, value: object) -> object:
        if not isinstance(value, str) or column.abstains(value):
            return value
        return plain(float(value)) if "." in value else int(value)

    return [column.with_values([read(column, value) for value in column.values]) for column in columns]


def unify_labels(column: Column, classes: Classes) -> Column:
    """Return labels in which numbers that a word turned into strings are numbers, if the classes are numbers."""
    return unify_numbers([column], written=True)[0] if no_label(classes) is not None else column


def _is_number(value: object) -> bool:
    """Return whether a value is a number, or the usual string of one."""
    return kind_of(value) == "number" or (isinstance(value, str) and _NUMBER.fullmatch(value) is not None)


def _one_kind(columns: Sequence[Column]) -> str:
    """Return the kind of class that all columns hold; numbers if they are all empty."""
    holder: dict[str, Column] = {}
    for column in columns:
        for kind in column.kinds:
            holder.setdefault(kind, column)
    for kind in holder.keys() - {"number", "boolean", "text"}:
        value = holder[kind].first_of(kind)
        raise VotesError(
            f"{holder[kind].locate(value)} is {show(value)} ({kind}); expected numbers, strings or booleans"
        )
    if len(holder) > 1:
        # Text is the odd one out: one word in a csv turns a column of numbers into a column of strings.
        odd = "text" if "text" in holder else list(holder)[1]
        other = next(kind for kind in holder if kind != odd)
        value = holder[odd].first_of(odd)
        raise VotesError(
            f"{holder[odd].locate(value)} is {show(value)} ({odd}) while column '{holder[other].name}' holds {other}s; "
            "expected one kind of class. Correct it, or name the LFs with lfs"
        )
    return next(iter(holder), "number")


def _check_texts(columns: Sequence[Column]) -> None:
    """Check that there is no word among numbers: in a csv it turns all numbers of its column into strings."""
    words = next((column for column in columns if any(not looks_like_number(v) for v in column.voted)), None)
    digits = next((column for column in columns if any(looks_like_number(v) for v in column.voted)), None)
    if words is not None and digits is not None:
        value, number = words.first_of("text"), next(v for v in digits.voted if looks_like_number(v))
        raise VotesError(
            f"{words.locate(value)} is {show(value)} while {digits.locate(number)} is {number!r}; "
            "expected class numbers or class names. Correct it, or state all classes with classes"
        )


def check_numbers(column: Column, n_classes: int | None = None) -> None:
    """Check that a column's values are class numbers."""
    top, remedy = limit_numbers(n_classes)
    for value in column.voted:
        if not isinstance(value, int) or value < 0:
            raise VotesError(
                f"{column.locate(value)} is {value}; expected a whole number, 0 or more, or nothing (or -1) to "
                "abstain. If the column does not hold votes, name the LFs with lfs"
            )
        if value >= top:
            raise VotesError(f"{column.locate(value)} is {value}; expected a class from 0 to {top - 1}. {remedy}")


def encode_column(column: Column, classes: Classes) -> NDArray[np.signedinteger]:
    """Return the class numbers of a column, -1 where it is empty or abstains. -> (n,)."""
    number = {value: i for i, value in enumerate(classes)}
    table = [ABSTAIN]
    for value in column.values:
        if column.abstains(value) and (value not in number or column.abstain is not DEFAULT):
            table.append(ABSTAIN)
            continue
        if value not in number:
            other = (
                " (if the model is fitted: fit it again, or let this value abstain with abstain, --abstain). If the "
                "column does not hold votes, name the LFs with lfs"
            )
            other = other if column.is_votes else ""
            raise VotesError(
                f"{column.locate(value)} is {show(value)}; expected one of the classes {show_some(classes)}. "
                f"Correct it, or state it in classes{other}"
            )
        table.append(number[value])
    return np.array(table, smallest_type(len(classes))).take(column.codes + 1)


def no_label(classes: Classes) -> int | None:
    """Return the value for no label beside these classes: -1 for whole numbers, else None."""
    return ABSTAIN if all(isinstance(c, int) and not isinstance(c, bool) for c in classes) else None


def decode(numbers: NDArray[np.integer], classes: Classes) -> NDArray[Any]:
    """Return the classes of class numbers; -1 stays -1 if classes are whole numbers, else it is None. (n,) -> (n,)."""
    none = no_label(classes)
    table = np.array([*classes, none], object)
    if none is not None and max(map(abs, classes)) < 1 << 63:  # type: ignore[arg-type]
        table = table.astype(np.int64)
    return table.take(numbers, mode="wrap")


def smallest_type(k: int) -> np.dtype[np.signedinteger]:
    """Return the smallest type of integer that holds -2..k-1."""
    return np.min_scalar_type(-max(2, k))


def join_classes(one: Classes, other: Classes, *, one_votes: bool, other_votes: bool) -> Classes:
    """Return classes, then those that only others have; of another kind, those that get no votes are left out."""
    if kind_of(one[0]) == kind_of(other[0]):
        present = set(one)
        return one + tuple(c for c in other if c not in present)
    if one_votes and other_votes:
        raise VotesError(
            f"votes for the classes {show_some(one)} cannot be joined with votes for {show_some(other)}; expected one "
            "kind of class: all numbers, all strings or all booleans"
        )
    return one if one_votes or not other_votes else other


def missing_classes(column: Column, classes: Classes) -> Classes:
    """Return the classes of labels that votes do not have, if of one kind; numbers are filled up without gaps."""
    new = [value for value in column.voted if value not in classes]
    if not new or column.kinds != sorted({kind_of(c) for c in classes}):
        return ()
    if not are_numbers(classes):
        return tuple(sorted(new, key=str))
    check_numbers(column)
    return tuple(range(len(classes), max(new) + 1))


Counts = Mapping[Any, int]  # votes of each class

FEW_ROWS = 20  # with fewer, a table is too small to tell an identifier from a class, or a lone class from a mistake

_HANDFUL, _RARE = 5, 20  # a typo has at most 5 votes, and at most 1 in 20 of its LF's
_NO_VOTES = frozenset(
    {
        "?", "??", ".", "--", "\u2013", "\u2014", "n.a.", "(blank)", "[]", "{}", "-", "-1", "na", "n/a", "<na>", "none",
        "nan", "null", "abstain", "#n/a", "#null!", "#value!", "#ref!", "#div/0!", "#name?", "#num!", "#error!",
    }
)  # fmt: skip
"""Texts that mean no vote in spreadsheets, forms and exports, in lower case."""


def warn_of_classes(votes: Mapping[str, Counts]) -> list[str]:
    """Warn of several spellings of a class, classes that mean no vote, typos, odd numbers, and a single class."""
    classes = add_counts(votes.values())
    warnings = [*warn_of_spellings(classes), *_warn_of_no_votes(classes), *_warn_of_pairs(classes)]
    if sum(classes.values()) < FEW_ROWS:
        return warnings
    if len(classes) > 1:
        return [*warnings, *_warn_of_typos(votes, classes), *_warn_of_numbers(classes)]
    return [*warnings, *warn_of_few(classes)]


def warn_of_few(classes: Counts) -> list[str]:
    """Warn of no votes, and of votes that are all for one class."""
    if not classes:
        return ["no LF votes on any item: no item gets a label; check the LFs, and the values that abstain"]
    if len(classes) > 1:
        return []
    ((value, n),) = classes.items()
    return [
        f"all {n:,} votes are for one class, {value!r}: every label is that class, and its confidence of 1 means "
        "nothing; add LFs for other classes, or state them with classes"
    ]


def _warn_of_pairs(classes: Counts) -> list[str]:
    """Warn of names such as `a|b` beside `a` and `b`, which are read as votes for one of them, if all look like that.

    Beside `!a` or `a:0.7`, which no class is called, they are meant.
    """
    odd = [name for name in classes if may_be_partial(name)]
    names = sorted({str(name) for name in classes}.difference(odd)) if odd else []
    partial = sorted(name for name in odd if read_partial_vote(name, names) is not None)
    if not partial or any(name.startswith("!") or ":" in name for name in partial):
        return []
    return [
        f"votes for one of several classes, by their names: {_with_votes(partial[:3], classes)}; if they are classes "
        "of their own, state all classes with classes; if not, state the others"
    ]


def add_counts(counts: Iterable[Counts]) -> dict[Any, int]:
    """Sums of counts; a `Counter` takes longer if there are thousands of small ones."""
    sums: dict[Any, int] = {}
    for each in counts:
        for value, n in each.items():
            sums[value] = sums.get(value, 0) + n
    return sums


def warn_of_spellings(classes: Counts) -> list[str]:
    """Warn of names that differ only in what `_fold` leaves out: their votes are not added up."""
    groups = defaultdict(list)
    for name in sorted(name for name in classes if isinstance(name, str)):
        groups[_fold(name)].append(name)
    same = [_with_votes(names, classes) for names in groups.values() if len(names) > 1]
    if not same:
        return []
    more = f"; and {len(same) - 3} more" if len(same) > 3 else ""
    return [
        f"classes that differ only in case, spaces, quotes, stops or zeros: {'; '.join(same[:3])}{more}. Each counts "
        "as a class of its own: write them alike, or state all classes with classes"
    ]


def _fold(name: str) -> str:
    r"""A name without what people do not see or mean: case, spaces, quotes, stops, forms of letters, zeros of a number.

    >>> _fold(" \u200bSpam."), _fold("007"), _fold("1.0"), _fold("1.5")
    ('spam', '7', '1', '1.5')
    """
    visible = "".join(c for c in unicodedata.normalize("NFKC", name).casefold() if unicodedata.category(c) != "Cf")
    plain = " ".join(visible.split())
    if plain.replace(".", "", 1).isdecimal():
        return re.sub(r"^0+(?=\d)|\.0*$", "", plain)
    return plain.strip("'\"`\u2018\u2019\u201c\u201d. ") or plain


def _warn_of_no_votes(classes: Counts) -> list[str]:
    names = sorted(name for name in classes if isinstance(name, str) and name.strip().lower() in _NO_VOTES)
    if not names:
        return []
    return [
        f"classes that look like no vote: {_with_votes(names, classes)}; if so, list them in abstain (command line: "
        "--abstain), with all other values that abstain, else state all classes with classes"
    ]


def _with_votes(names: Iterable[str], classes: Counts) -> str:
    return ", ".join(f"{show(name, 40)} ({classes[name]:,})" for name in names)


def _warn_of_typos(votes: Mapping[str, Counts], classes: Counts) -> list[str]:
    """Warn of classes with a few votes from one LF that nearly always votes for others."""
    rare = {value for value, n in classes.items() if n <= _HANDFUL}
    usual = [value for value in classes if kind_of(value) == "number" and value not in rare]
    rare -= {value for value in rare if kind_of(value) == "number" and value <= max(usual, default=0) + 1}
    typos = sorted(
        f"{value!r} ({name!r}, {counts[value]}){_guess(value, classes.keys() - rare)}"
        for name, counts in votes.items()
        for value in rare & counts.keys()
        if counts[value] == classes[value] and counts[value] * _RARE <= sum(counts.values())
    )
    more = f"; and {len(typos) - 5} more" if len(typos) > 5 else ""
    what = (
        f"a class that one LF votes for a handful of times: {'; '.join(typos[:5])}{more}. If it is a typo, correct it; "
        "else state all classes with classes"
    )
    return [what] if typos else []


def _guess(value: object, classes: Iterable[object]) -> str:
    names = {name.lower(): name for name in sorted(map(str, classes))} if isinstance(value, str) else {}
    close = difflib.get_close_matches(str(value).lower(), names, 1)
    return f", perhaps {names[close[0]]!r}" if close else ""


def _warn_of_numbers(classes: Counts) -> list[str]:
    """Warn of class numbers that start at 1, and of those that leave most numbers out."""
    if not all(kind_of(value) == "number" for value in classes):
        return []
    if min(classes) == 1:
        return [
            f"class numbers start at 1: class 0 has none of the {sum(classes.values()):,} votes, but still counts as a "
            "class; subtract 1, or state the classes"
        ]
    what = (
        f"class numbers go up to {max(classes)}, but only {len(classes)} are voted for "
        f"({show_some(sorted(classes), 6)}); list in abstain the values that mean no vote (in an array, make them -1), "
        "or state the classes"
    )
    return [what] if max(classes) + 1 >= 10 + 2 * len(classes) else []
