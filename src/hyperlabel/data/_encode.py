"""From the columns of a table, wide or long, to class numbers.

Some votes are not one class: `!spam`, `spam|scam`, `spam:0.7`. Such a string is a partial vote if it is not a class
itself and all classes in it are stated, or get votes themselves somewhere. Any other string stays a class.
"""

from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Ints
from hyperlabel.data._classes import (
    FEW_ROWS,
    Classes,
    are_numbers,
    encode_column,
    find_classes,
    smallest_type,
    state_classes,
    unify_numbers,
    warn_of_classes,
    warn_of_few,
)
from hyperlabel.data._columns import choose_columns, find_identifiers, take_votes
from hyperlabel.data._frames import GLANCE, MemoryTable, open_table
from hyperlabel.data._items import Origin, check_item, identify
from hyperlabel.data._outcomes import NO_LADDER, Outcomes, may_be_partial, read_partial_vote
from hyperlabel.data._rows import Rows
from hyperlabel.data._values import DEFAULT, Column, abstain_keys, exact_array, key_of
from hyperlabel.data._vote_frame import name_once
from hyperlabel.errors import VotesError


def encode_wide(
    frame: object,
    *,
    lfs: Sequence[str] | None = None,
    item: str | None = None,
    others: Collection[str] = (),
    abstain: Sequence[Any] | None = None,
    n_classes: int | None = None,
    classes: Sequence[Hashable] | None = None,
    written: bool = False,
) -> dict[str, Any]:
    """Find the LFs of a table and encode their votes; see `Votes.from_frame`. -> the attributes of votes."""
    others = {*others, *([] if item is None else [item])}
    table = _open_wide(frame, lfs, item, others)
    stated = state_classes(n_classes, classes)
    keys = abstain_keys(abstain, None if classes is None else stated)

    @cache
    def read(names: tuple[str, ...]) -> list[Column]:
        columns = table.columns(names)
        if keys is not DEFAULT:
            columns = [replace(column, abstain=keys) for column in columns]
        if stated is not None and isinstance(stated[0], str):
            return columns
        return unify_numbers(columns, written=written or stated is not None)

    chosen = take_votes(
        table.names,
        lambda names: [column.summary for column in read(tuple(names))],
        lfs=lfs,
        others=others,
        abstain=abstain,
        stated=stated,
        glance=lambda names: [column.summary for column in table.columns(names, GLANCE)],
    )
    columns, partial = set_aside(read(chosen.lfs), stated)
    ids, origin = identify(table, item, chosen)
    origin = replace(origin, abstain=None if abstain is None else tuple(abstain))
    names, is_stated = find_classes(columns, n_classes, classes)
    cells, outcomes = encode_columns(columns, names, partial)
    parts = {"classes": names, "stated": is_stated, "lf_names": chosen.lfs, "outcomes": outcomes}
    return parts | {"votes": cells, "items": ids, "origin": origin}


def _open_wide(frame: object, lfs: Sequence[str] | None, item: str | None, others: Collection[str]) -> MemoryTable:
    """Open a table that has rows and the column of identifiers."""
    table = open_table(frame, lambda names: [*choose_columns(names, lfs, others), *find_identifiers(names), *others])
    check_item(table, item)
    if not table.n_rows:
        raise VotesError(f"votes has {len(table.names)} columns and 0 rows; expected at least one LF and one item")
    return table


# Partial votes.


def set_aside(columns: Sequence[Column], stated: Classes | None) -> tuple[list[Column], tuple[str, ...]]:
    """Return the columns with partial votes as abstentions, and these votes, sorted."""
    texts = {value for column in columns for value in column.voted if may_be_partial(value)}
    if not texts:
        return list(columns), ()
    plain = {str(v) for column in columns for v in column.voted if v not in texts}
    names = [str(c) for c in stated or ()]
    if stated is None or (are_numbers(stated) and not plain.issubset(names)):  # a number says nothing about names
        names = sorted(plain)
    partial = tuple(sorted(t for t in texts if t not in names and read_partial_vote(t, names) is not None))
    keys = frozenset(map(key_of, partial))
    return [replace(column, abstain=column.abstain | keys) for column in columns] if partial else list(columns), partial


def state_outcomes(partial: Sequence[str], classes: Classes) -> Outcomes | None:
    """Return the outcomes of partial votes for these classes; None if there are none."""
    if not partial:
        return None
    names = [str(c) for c in classes]
    weights = np.array([read_partial_vote(text, names) for text in partial], np.float64)
    return Outcomes(tuple(partial), weights.reshape(-1, len(classes)), np.full(len(partial), NO_LADDER))


def encode_columns(
    columns: Sequence[Column], classes: Classes, partial: Sequence[str]
) -> tuple[NDArray[np.signedinteger], Outcomes | None]:
    """Encode columns of votes, of which some are partial. -> (n, m) vote numbers, and their outcomes."""
    outcomes = state_outcomes(partial, classes) if partial else None
    cells = np.empty((len(columns[0].codes), len(columns)), smallest_type(len(classes) + len(partial)))
    for j, column in enumerate(columns):
        cells[:, j] = encode_votes(column, classes, outcomes)
    return cells, outcomes


def encode_votes(column: Column, classes: Classes, outcomes: Outcomes | None) -> NDArray[np.signedinteger]:
    """Encode like `encode_column`, with the numbers of partial votes after those of the classes. -> (n,)."""
    numbers = encode_column(column, classes)
    if outcomes is None:
        return numbers
    number = {name: len(classes) + i for i, name in enumerate(outcomes.names)}
    table = np.array([*(number.get(value, -1) if isinstance(value, str) else -1 for value in column.values), -1])
    partial = table[column.codes]
    return np.where(partial >= 0, partial, numbers).astype(smallest_type(len(classes) + len(outcomes)))


# Long tables.


def encode_long(
    frame: object,
    names: tuple[str, str, str],
    abstain: Sequence[Any] | None,
    n_classes: int | None,
    classes: Sequence[Hashable] | None,
    written: bool = False,
) -> tuple[dict[str, Any], list[str]]:
    """Encode a table with one row per vote, see `Votes.from_long`. -> the attributes of votes, and warnings."""
    table = open_table(frame, lambda present: choose_columns(present, names))
    item_column, lf_column, vote_column = table.columns(choose_columns(table.names, names))
    if not table.n_rows:
        raise VotesError("votes has no rows; expected at least one vote")
    check_identified(item_column)
    check_identified(lf_column)
    stated = state_classes(n_classes, classes)
    vote_column = replace(vote_column, abstain=abstain_keys(abstain, None if classes is None else stated))
    if classes is None:
        (vote_column,) = unify_numbers([vote_column], written=written or n_classes is not None)
    (vote_column,), partial = set_aside([vote_column], stated)
    all_classes, is_stated = find_classes([vote_column], n_classes, classes)
    outcomes = state_outcomes(partial, all_classes)
    numbers = encode_votes(vote_column, all_classes, outcomes)
    item_number, items = number_by_appearance(item_column)
    kept = _one_vote_per_pair(item_number, lf_column, numbers, items, (*all_classes, *partial))
    rows = Rows.from_triples(item_number[kept], lf_column.codes[kept], numbers[kept], len(items))
    lf_names = name_once(lf_column.name, lf_column.values)
    warnings = [] if is_stated else list(warn_of_classes(count_votes(rows, lf_names, (*all_classes, *partial))))
    if not len(rows.vote) and len(items) >= FEW_ROWS:
        warnings += warn_of_few({})
    parts = {"classes": all_classes, "stated": is_stated, "lf_names": lf_names, "votes": rows, "outcomes": outcomes}
    origin = Origin(names[0], abstain=None if abstain is None else tuple(abstain))
    return parts | {"items": items, "origin": origin}, warnings


def count_votes(rows: Rows, names: tuple[str, ...], classes: Classes) -> dict[str, dict[Any, int]]:
    """Count the votes of each LF for each class."""
    k = len(classes)
    pairs, counts = np.unique(rows.lf * k + rows.vote, return_counts=True)
    tallies: dict[str, dict[Any, int]] = {name: {} for name in names}
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        tallies[names[pair // k]][classes[pair % k]] = count
    return tallies


def number_by_appearance(column: Column) -> tuple[Ints, NDArray[Any]]:
    """Number a column's values in order of first appearance. -> (n,) numbers, and those values."""
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
            f"{column.name_row(int(empty[0]))} is empty; expected an identifier in every row. Give it one, or "
            "remove the row"
        )


def _one_vote_per_pair(
    item: Ints, lf_column: Column, numbers: Ints, items: NDArray[Any], classes: Classes
) -> NDArray[np.intp]:
    """Return the rows of a long table to keep: those that vote, each (item, LF) once."""
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
