"""Columns in which some votes are not one class: `!spam`, `spam|scam`, `spam:0.7`.

Such a string is a partial vote if it is not a class itself and all classes in it are stated, or get votes themselves
somewhere. Any other string stays a class.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.frames import Column
from hyperlabel.columns.rule import key_of
from hyperlabel.votes.classes import Classes, are_numbers, encode_column, smallest_type
from hyperlabel.votes.outcomes import Outcomes, may_lean, read_leaning, stack_outcomes


def set_aside(columns: Sequence[Column], stated: Classes | None) -> tuple[list[Column], tuple[str, ...]]:
    """The columns with partial votes as abstentions, and these votes, sorted.

    >>> columns, found = set_aside([Column.from_values("a", ["ham", "!spam", "spam"])], None)
    >>> columns[0].voted, found
    (['ham', 'spam'], ('!spam',))
    """
    texts = {value for column in columns for value in column.voted if may_lean(value)}
    if not texts:
        return list(columns), ()
    plain = {str(v) for column in columns for v in column.voted if v not in texts}
    names = _names_of(plain, stated)
    found = tuple(sorted(t for t in texts if t not in names and read_leaning(t, names) is not None))
    if not found:
        return list(columns), ()
    keys = frozenset(map(key_of, found))
    return [replace(column, abstain=column.abstain | keys) for column in columns], found


def _names_of(plain: set[str], stated: Classes | None) -> list[str]:
    """The classes that partial votes may name; a stated number of classes says nothing about classes with names."""
    known = [str(c) for c in stated or ()]
    return sorted(plain) if stated is None or (are_numbers(stated) and not plain.issubset(known)) else known


def state_outcomes(found: Sequence[str], classes: Classes) -> Outcomes | None:
    """The outcomes of partial votes for these classes; None if there are none."""
    names, rows = [str(c) for c in classes], []
    for text in found:
        leaning = read_leaning(text, names)
        assert leaning is not None  # its classes are known
        rows.append((text, leaning))
    return stack_outcomes(rows, len(classes))


def encode_votes(column: Column, classes: Classes, outcomes: Outcomes | None) -> NDArray[np.signedinteger]:
    """Like `encode_column`, with the numbers of partial votes after those of the classes. -> (n,).

    >>> (column,), found = set_aside([Column.from_values("a", ["ham", "!spam", None, "spam"])], None)
    >>> encode_votes(column, ("ham", "spam"), state_outcomes(found, ("ham", "spam"))).tolist()
    [0, 2, -1, 1]
    """
    numbers = encode_column(column, classes)
    if outcomes is None:
        return numbers
    place = {name: len(classes) + i for i, name in enumerate(outcomes.names)}
    table = np.array([*(place.get(value, -1) if isinstance(value, str) else -1 for value in column.values), -1])
    partial = table[column.codes]
    return np.where(partial >= 0, partial, numbers).astype(smallest_type(len(classes) + len(outcomes)))
