"""From the columns of a table to class numbers, wide or long."""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.doubts import warn_of_classes
from hyperlabel.columns.frames import Column
from hyperlabel.columns.rule import (
    DEFAULT,
    Key,
    VoteColumns,
    abstain_keys,
    choose_columns,
    find_identifiers,
    take_votes,
)
from hyperlabel.columns.sources import GLANCE, MemoryTable, exact_array, open_table
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.kernels import Ints
from hyperlabel.shown import show, show_some
from hyperlabel.votes.classes import (
    Classes,
    find_classes,
    limit_numbers,
    smallest_type,
    state_classes,
    unify_numbers,
)
from hyperlabel.votes.outcomes import Outcomes
from hyperlabel.votes.partial import encode_votes, set_aside, state_outcomes
from hyperlabel.votes.rows import Rows


@dataclass(frozen=True, eq=False)
class Wide:
    """A wide table, encoded."""

    table: MemoryTable
    columns: VoteColumns  # what was taken from it
    classes: Classes
    stated: bool  # whether they were stated
    cells: Ints  # (n, m) class numbers, -1 abstains
    outcomes: Outcomes | None = None  # outcomes that are not one class; None if all votes are classes


def check_item(item: object) -> None:
    """Refuse a column of identifiers that is no name of a column."""
    if item is not None and not isinstance(item, str):
        raise ParameterError(f"item is {show(item)}; expected the name of a column")


def encode_wide(
    frame: object,
    *,
    lfs: Sequence[str] | None = None,
    item: str | None = None,
    others: Collection[str] = (),
    abstain: Sequence[Any] | None = None,
    n_classes: int | None = None,
    classes: Sequence[Hashable] | None = None,
) -> Wide:
    """Find the LFs of a table and encode their votes; see `Votes.from_frame`."""
    check_item(item)
    listed = isinstance(others, Collection) and not isinstance(others, str)
    if not listed or not all(isinstance(name, str) for name in others):
        raise ParameterError(f"others is {show(others)}; expected a list of names of columns")
    others = {*others, *([] if item is None else [item])}
    table = _open_wide(frame, lfs, item, others)
    stated = state_classes(n_classes, classes)
    read = _Reader(table, abstain_keys(abstain, None if classes is None else stated), stated)
    taken = take_votes(
        table.names,
        lambda names: [column.summary for column in read.columns(names)],
        lfs=lfs,
        others=others,
        abstain=abstain,
        stated=stated,
        glance=lambda names: [column.summary for column in table.columns(names, GLANCE)],
    )
    columns, partial = set_aside(read.columns(taken.lfs), stated)
    known, is_stated = find_classes(columns, n_classes, classes)
    outcomes = state_outcomes(partial, known)
    cells = np.empty((table.n_rows, len(columns)), smallest_type(len(known) + len(partial)))
    for j, column in enumerate(columns):
        cells[:, j] = encode_votes(column, known, outcomes)
    return Wide(table, taken, known, is_stated, cells, outcomes)


def _open_wide(frame: object, lfs: Sequence[str] | None, item: str | None, others: Collection[str]) -> MemoryTable:
    """Open a table that has rows and the column of identifiers."""

    def wanted(names: list[str]) -> list[str]:
        return [*choose_columns(names, lfs, others), *find_identifiers(names), *others]

    table = open_table(frame, wanted)
    if item is not None and item not in table.names:
        raise VotesError(
            f"item is {item!r}, but votes has no such column; its columns are {show_some(table.names, 20)}"
        )
    if not table.n_rows:
        raise VotesError(f"votes has {len(table.names)} columns and 0 rows; expected at least one LF and one item")
    return table


class _Reader:
    """Columns of a table, each factorized once."""

    def __init__(self, table: MemoryTable, abstain: frozenset[Key], stated: Classes | None) -> None:
        self.table, self.abstain = table, abstain
        self.may_be_numbers = stated is None or not isinstance(stated[0], str)
        self.read: dict[tuple[str, ...], list[Column]] = {}

    def columns(self, names: Sequence[str]) -> list[Column]:
        if tuple(names) not in self.read:
            columns = self.table.columns(names)
            if self.abstain is not DEFAULT:
                columns = [replace(column, abstain=self.abstain) for column in columns]
            self.read[tuple(names)] = unify_numbers(columns) if self.may_be_numbers else columns
        return self.read[tuple(names)]


@dataclass(frozen=True, eq=False)
class Long:
    """A long table, encoded."""

    items: NDArray[Any]  # (n,) the identifiers of the items, in order of appearance
    lf_names: tuple[str, ...]  # the LFs, in order
    classes: Classes
    stated: bool  # whether they were stated
    rows: Rows  # the votes
    warnings: tuple[str, ...]  # what looks wrong but may be intended
    outcomes: Outcomes | None = None  # outcomes that are not one class; None if all votes are classes


def encode_long(
    frame: object,
    names: tuple[str, str, str],
    abstain: Sequence[Any] | None,
    n_classes: int | None,
    classes: Sequence[Hashable] | None,
) -> Long:
    """Encode the votes of a table with one row per vote; see `Votes.from_long`."""
    table = open_table(frame, lambda present: choose_columns(present, names))
    item_column, lf_column, vote_column = table.columns(choose_columns(table.names, names))
    if not table.n_rows:
        raise VotesError("votes has no rows; expected at least one vote")
    check_identified(item_column)
    check_identified(lf_column)
    named = None if classes is None else state_classes(n_classes, classes)
    vote_column = replace(vote_column, abstain=abstain_keys(abstain, named))
    if classes is None:
        (vote_column,) = unify_numbers([vote_column])
    (vote_column,), partial = set_aside([vote_column], state_classes(n_classes, classes))
    known, stated = find_classes([vote_column], n_classes, classes)
    outcomes = state_outcomes(partial, known)
    numbers = encode_votes(vote_column, known, outcomes)
    item_number, items = number_by_appearance(item_column)
    kept = _one_vote_per_pair(item_number, lf_column, numbers, items, (*known, *partial))
    rows = Rows.from_triples(item_number[kept], lf_column.codes[kept], numbers[kept], len(items))
    lf_names = name_once(lf_column.name, lf_column.values)
    warnings = () if stated else tuple(warn_of_classes(_tallies(rows, lf_names, (*known, *partial))))
    return Long(items, lf_names, known, stated, rows, warnings, outcomes)


def _tallies(rows: Rows, names: tuple[str, ...], classes: Classes) -> dict[str, dict[Any, int]]:
    """For each LF its votes of each class."""
    k = len(classes)
    pairs, counts = np.unique(rows.lf * k + rows.vote, return_counts=True)
    tallies: dict[str, dict[Any, int]] = {name: {} for name in names}
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        tallies[names[pair // k]][classes[pair % k]] = count
    return tallies


def name_once(column: str, values: Iterable[Any]) -> tuple[str, ...]:
    """The distinct values of a column of LFs as names; refuses values that give the same name.

    >>> name_once("judge", ["a", 7])
    ('a', '7')
    """
    names = tuple(map(str, values))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise VotesError(f"column '{column}' has {twice!r} as a string and as a number; expected one kind of name")
    return names


def number_by_appearance(column: Column) -> tuple[Ints, NDArray[Any]]:
    """Numbers of a column's values in order of first appearance, and those values."""
    _, first = np.unique(column.codes, return_index=True)
    order = np.argsort(first)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return number[column.codes], exact_array([column.values[code] for code in order])


def check_identified(column: Column) -> None:
    """Refuse a column of identifiers that is empty in some row."""
    empty = np.flatnonzero(column.codes < 0)
    if len(empty):
        raise VotesError(
            f"{column.place_of_row(int(empty[0]))} is empty; expected an identifier in every row. Give it one, or "
            "remove the row"
        )


def _one_vote_per_pair(
    item: Ints, lf_column: Column, numbers: Ints, items: NDArray[Any], classes: Classes
) -> NDArray[np.intp]:
    """Rows of a long table to keep: those that vote, each (item, LF) once."""
    voted = np.flatnonzero(numbers >= 0)
    order = voted[np.lexsort((lf_column.codes[voted], item[voted]))]
    same = (np.diff(item[order]) == 0) & (np.diff(lf_column.codes[order]) == 0)
    clash = np.flatnonzero(same & (np.diff(numbers[order]) != 0))
    if len(clash):
        first, second = sorted(order[clash[0] : clash[0] + 2].tolist())
        raise VotesError(
            f"votes, rows {first} and {second}: LF {lf_column.values[lf_column.codes[first]]!r} votes twice on item "
            f"{items.tolist()[item[first]]!r}, for {classes[numbers[first]]!r} and {classes[numbers[second]]!r}; "
            "expected one vote. Keep one of the rows"
        )
    kept: NDArray[np.intp] = order[np.concatenate([np.ones(min(1, len(order)), bool), ~same])]
    return kept


def number_classes(
    high: int, n_classes: int | None, classes: Sequence[Hashable] | None, where: Callable[[], str]
) -> tuple[Classes, bool]:
    """The classes of class numbers up to `high`, and whether they were stated."""
    stated = state_classes(n_classes, classes)
    top, remedy = limit_numbers(None if stated is None else len(stated))
    if high >= top:
        raise VotesError(f"{where()}; expected a class from 0 to {top - 1}. {remedy}")
    return stated or tuple(range(max(2, high + 1))), stated is not None
