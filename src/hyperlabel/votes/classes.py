"""Classes: what the user states, what columns imply, and their numbers 0..k-1."""

import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.arrays import as_list, looks_like_number
from hyperlabel.columns.doubts import kind_of
from hyperlabel.columns.frames import Column, plain
from hyperlabel.columns.rule import DEFAULT
from hyperlabel.columns.sources import exact_array
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.shown import show, show_some

ABSTAIN = -1
"""The vote of an LF that does not vote, and the label of an item that gets none."""

MOST_INFERRED = 10_000
"""Class numbers this large are more often identifiers than classes: that many classes must be stated."""

MOST_STATED = 1 << 20

_NUMBER = re.compile(r"-?(0|[1-9]\d{0,300})(\.\d{0,300})?", re.ASCII)  # 007 is a name

Classes = tuple[Hashable, ...]


def state_classes(n_classes: int | None, classes: Sequence[Hashable] | None) -> Classes | None:
    """The classes that the user stated, by number or by name; None if neither is given.

    >>> state_classes(3, None), state_classes(None, ["ham", "spam"])
    ((0, 1, 2), ('ham', 'spam'))
    """
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
    """Refuse classes that could not be told from each other or from no label, even after they are saved."""
    kinds = {kind_of(c) if isinstance(c, int | str) else "" for c in names}
    if len(kinds) != 1 or "" in kinds or len(set(names)) != len(names):
        raise ParameterError(
            f"classes is [{show_some(names)}]; expected at least one, each once, all whole numbers, all strings or "
            "all booleans"
        )
    if ABSTAIN in names:
        raise ParameterError(
            f"classes is [{show_some(names)}]; -1 means no vote and no label. Call that class something "
            "else, such as 'negative'"
        )
    if any(isinstance(c, str) and not c.strip() for c in names):
        raise ParameterError(
            f"classes is [{show_some(names)}]; a blank string means no vote. Call that class something else"
        )
    if len(names) > MOST_STATED:
        raise ParameterError(f"classes names {len(names)} classes; expected at most {MOST_STATED}")


def _check_number(n_classes: int) -> int:
    if not isinstance(n_classes, int | np.integer) or not 1 <= n_classes <= MOST_STATED:
        raise ParameterError(f"n_classes is {show(n_classes)}; expected a whole number from 1 to {MOST_STATED}")
    return int(n_classes)


def limit_numbers(n_classes: int | None) -> tuple[int, str]:
    """The most classes that numbers may mean, and what to do about more."""
    if n_classes is not None:
        return _check_number(n_classes), "Raise n_classes?"
    return MOST_INFERRED, "Are these identifiers? More classes must be stated with n_classes"


def complete_classes(inferred: Classes, n_classes: int | None) -> Classes:
    """Inferred classes when their number is stated: numbers are filled up; the number of names must match."""
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


def are_numbers(classes: Classes) -> bool:
    """Whether classes are just their own numbers 0..k-1."""
    return classes == tuple(range(len(classes))) and not isinstance(classes[0], bool)


def infer_classes(columns: Sequence[Column], n_classes: int | None = None) -> Classes:
    """The classes of table columns: 0..max for numbers, the sorted names otherwise.

    >>> infer_classes([Column.from_values("a", ["spam", None]), Column.from_values("b", ["ham", "spam"])])
    ('ham', 'spam')
    """
    kind = _one_kind(columns)
    values = {value for column in columns for value in column.voted}
    if kind == "boolean":
        return (False, True)
    if kind == "text":
        _check_texts(columns)
        _check_few(len(values))
        return tuple(sorted(values))
    for column in columns:
        check_numbers(column, n_classes)
    return tuple(range(max(2, max(values, default=0) + 1)))


def find_classes(
    columns: Sequence[Column], n_classes: int | None, classes: Sequence[Hashable] | None
) -> tuple[Classes, bool]:
    """The classes of table columns, and whether they were stated, so that none can be added.

    >>> find_classes([Column.from_values("a", ["spam", "ham"])], None, None)
    (('ham', 'spam'), False)
    """
    stated = state_classes(n_classes, classes)
    if stated is not None and classes is not None:
        return stated, True
    return complete_classes(infer_classes(columns, n_classes), n_classes), n_classes is not None


def unify_numbers(columns: Sequence[Column]) -> list[Column]:
    """The columns with strings of numbers as numbers, if some column became strings because of a word.

    One `NA` in a csv turns all numbers of its column into strings. Strings that are numbers everywhere stay strings.
    A number has several spellings, such as 1 and 1.0, which must not become several classes.

    >>> one, two = unify_numbers([Column.from_values("a", ["0", "NA", "1"]), Column.from_values("b", [1, 1, 0])])
    >>> one.voted, two.voted
    ([0, 1], [1, 0])
    """
    votes = [value for column in columns for value in column.voted]
    if not all(_is_number(value) for value in votes) or not any(isinstance(value, str) for value in votes):
        return list(columns)
    words = (value for column in columns for value in column.values if column.abstains(value))
    if all(isinstance(v, str) for v in votes) and not any(
        isinstance(w, str) and not looks_like_number(w) for w in words
    ):
        return list(columns)
    return [_with_numbers(column) for column in columns]


def unify_labels(column: Column, classes: Classes) -> Column:
    """Labels next to these classes: numbers that a word turned into strings are numbers, if the classes are.

    >>> unify_labels(Column.from_values("gold", ["0", "NA", "1.0"]), (0, 1)).voted
    [0, 1]
    """
    return unify_numbers([column])[0] if no_label(classes) is not None else column


def _is_number(value: object) -> bool:
    """Whether a value is a number, or the usual string of one."""
    return kind_of(value) == "number" or (isinstance(value, str) and _NUMBER.fullmatch(value) is not None)


def _with_numbers(column: Column) -> Column:
    return column.with_values(
        [_number(v) if isinstance(v, str) and not column.abstains(v) else v for v in column.values]
    )


def _number(text: str) -> int | float:
    number: int | float = plain(float(text)) if "." in text else int(text)
    return number


def _check_few(k: int) -> None:
    if k > MOST_INFERRED:
        raise VotesError(
            f"votes names {k} different classes; expected at most {MOST_INFERRED}. Are these identifiers or texts? "
            "Name the LFs with lfs; more classes must be stated with classes"
        )


def _one_kind(columns: Sequence[Column]) -> str:
    """The kind of class that all columns hold; numbers if they are all empty."""
    holder: dict[str, Column] = {}
    for column in columns:
        for kind in column.kinds:
            holder.setdefault(kind, column)
    for kind in holder.keys() - {"number", "boolean", "text"}:
        value = holder[kind].first_of(kind)
        raise VotesError(
            f"{holder[kind].place(value)} is {show(value)} ({kind}); expected numbers, strings or booleans"
        )
    if len(holder) > 1:
        # Text is the odd one out: one word in a csv turns a column of numbers into a column of strings.
        odd = "text" if "text" in holder else list(holder)[1]
        other = next(kind for kind in holder if kind != odd)
        value = holder[odd].first_of(odd)
        raise VotesError(
            f"{holder[odd].place(value)} is {show(value)} ({odd}) while column '{holder[other].name}' holds {other}s; "
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
            f"{words.place(value)} is {show(value)} while {digits.place(number)} is {number!r}; "
            "expected class numbers or class names. Correct it, or state all classes with classes"
        )


def check_numbers(column: Column, n_classes: int | None = None) -> None:
    """Check that a column's values are class numbers."""
    top, remedy = limit_numbers(n_classes)
    for value in column.voted:
        if not isinstance(value, int) or value < 0:
            raise VotesError(
                f"{column.place(value)} is {value}; expected a whole number, 0 or more, or nothing (or -1) to abstain. "
                "If the column does not hold votes, name the LFs with lfs"
            )
        if value >= top:
            raise VotesError(f"{column.place(value)} is {value}; expected a class from 0 to {top - 1}. {remedy}")


def encode_column(column: Column, classes: Classes) -> NDArray[np.signedinteger]:
    """Class numbers of a column, -1 where it is empty or abstains. -> (n,).

    >>> encode_column(Column.from_values("a", ["spam", None, "ham"]), ("ham", "spam")).tolist()
    [1, -1, 0]
    """
    number = {value: i for i, value in enumerate(classes)}
    table = [ABSTAIN]
    for value in column.values:
        if column.abstains(value) and (value not in number or column.abstain is not DEFAULT):
            table.append(ABSTAIN)
            continue
        if value not in number:
            other = ". If the column does not hold votes, name the LFs with lfs" if column.is_votes else ""
            raise VotesError(
                f"{column.place(value)} is {show(value)}; expected one of the classes {show_some(classes)}. "
                f"Correct it, or state it in classes{other}"
            )
        table.append(number[value])
    return np.array(table, smallest_type(len(classes))).take(column.codes + 1)


def no_label(classes: Classes) -> int | None:
    """What means no class next to these: -1 for whole numbers, else None.

    >>> no_label((0, 1)), no_label(("ham", "spam")), no_label((False, True))
    (-1, None, None)
    """
    return ABSTAIN if all(isinstance(c, int) and not isinstance(c, bool) for c in classes) else None


def decode(numbers: NDArray[np.integer], classes: Classes) -> NDArray[Any]:
    """Classes of class numbers; -1 stays -1 if classes are whole numbers, else it is None. (n,) -> (n,).

    >>> decode(np.array([1, -1, 0]), ("ham", "spam")).tolist()
    ['spam', None, 'ham']
    >>> decode(np.array([1, -1, 0]), (0, 1)).tolist()
    [1, -1, 0]
    """
    none = no_label(classes)
    table = exact_array([*classes, none]) if none is not None else np.array([*classes, none], object)
    return table.take(numbers, mode="wrap")


def smallest_type(k: int) -> np.dtype[np.signedinteger]:
    """The smallest type of integer that holds -2..k-1."""
    return np.min_scalar_type(-max(2, k))


def join_classes(one: Classes, other: Classes, *, one_votes: bool, other_votes: bool) -> Classes:
    """Classes, then those that only others have. Without votes, classes of another kind were only a guess: they go.

    Args:
        one: Classes of some votes.
        other: Classes of others.
        one_votes: Whether anybody votes for the first.
        other_votes: Whether anybody votes for the others.

    >>> join_classes((0, 1), (1, 2), one_votes=True, other_votes=True)
    (0, 1, 2)
    >>> join_classes((0, 1), ("ham", "spam"), one_votes=False, other_votes=True)
    ('ham', 'spam')
    """
    if kind_of(one[0]) == kind_of(other[0]):
        known = set(one)
        return one + tuple(c for c in other if c not in known)
    if one_votes and other_votes:
        raise VotesError(
            f"votes for the classes {show_some(one)} cannot be joined with votes for {show_some(other)}; expected one "
            "kind of class: all numbers, all strings or all booleans"
        )
    return one if one_votes or not other_votes else other


def missing_classes(column: Column, classes: Classes) -> Classes:
    """Classes of labels that votes do not have, if they are of one kind; numbers are filled up without gaps."""
    new = [value for value in column.voted if value not in classes]
    if not new or column.kinds != sorted({kind_of(c) for c in classes}):
        return ()
    if not are_numbers(classes):
        return tuple(sorted(new, key=str))
    check_numbers(column)
    return tuple(range(len(classes), max(new) + 1))
