"""Checks of what a constructor or an index of votes was given, and LFs and items matched by name or place."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.arrays import as_array, as_list
from hyperlabel.columns.doubts import warn_of_classes
from hyperlabel.errors import ParameterError, VotesError, warn_of_votes
from hyperlabel.kernels import Ints
from hyperlabel.shown import show, show_some
from hyperlabel.votes.classes import ABSTAIN, Classes, state_classes
from hyperlabel.votes.items import Identity
from hyperlabel.votes.outcomes import Outcomes
from hyperlabel.votes.rows import Rows


def match_lfs(present: Sequence[str], wanted: Sequence[str]) -> NDArray[np.intp]:
    """The place of each wanted LF among those present; none may be missing, unknown or repeated. -> (m,).

    >>> match_lfs(("a", "b"), ("b", "a")).tolist()
    [1, 0]
    """
    index = {name: j for j, name in enumerate(present)}
    missing = [name for name in wanted if name not in index]
    known = set(wanted)
    unknown = [name for name in present if name not in known]
    if missing or unknown or len(index) != len(present):
        what = f"lacks the LF {missing[0]!r}" if missing else "has two LFs with the same name"
        if unknown and not missing:
            what = f"has the LF {unknown[0]!r}, which the model was not fitted on"
        raise VotesError(f"votes {what}; expected the LFs {show_some(wanted)}. Give the same columns, or fit again")
    return np.array([index[name] for name in wanted], np.intp)


def check_names(classes: Sequence[Hashable], lf_names: Sequence[str], m: int) -> tuple[Classes, tuple[str, ...]]:
    """The classes and names of LFs that a constructor was given, checked."""
    stated = state_classes(None, classes)
    assert stated is not None  # classes are given
    names = tuple(lf_names)
    if len(names) != m or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise ParameterError(f"lf_names is {show_some(names)}; expected a different name for each of the {m} LFs")
    return stated, names


def check_cells(shape: tuple[int, int], k: int, cells: Ints | None, rows: Rows | None) -> None:
    """Check the votes that a constructor was given."""
    if cells is None and rows is None:
        raise VotesError("votes has neither cells nor rows; make them with Votes.from_array or Votes.from_frame")
    if cells is not None and (cells.shape != shape or cells.dtype.kind not in "iu"):
        raise VotesError(f"cells has shape {cells.shape} and type {cells.dtype}; expected integers of shape {shape}")
    if rows is not None and (len(rows.starts) != shape[0] + 1 or (len(rows.lf) and rows.lf.max() >= shape[1])):
        raise VotesError(f"rows has {len(rows.starts) - 1} items; expected {shape[0]} items and {shape[1]} LFs")
    numbers = rows.vote if cells is None and rows is not None else cells
    assert numbers is not None
    if numbers.size and not ABSTAIN <= int(numbers.min()) <= int(numbers.max()) < k:
        raise VotesError(
            f"votes has class numbers from {numbers.min()} to {numbers.max()}; expected -1 to abstain, or 0 to {k - 1}"
        )


def check_places(key: Any, items: Identity) -> slice | NDArray[np.intp]:
    """Places of items from a slice, a mask or numbers."""
    n = items.n
    if isinstance(key, slice):
        if not len(range(*key.indices(n))):
            raise ParameterError(f"the slice {key} of {n} items is empty; expected at least one item")
        return key
    places = as_array(key, "the key of votes[...]", "an LF's name, a list of names, a slice, a mask or places")
    wrong = places.ndim != 1 or places.dtype.kind not in "iub" or not places.size
    if wrong or (places.dtype.kind == "b" and len(places) != n):
        raise ParameterError(
            f"votes[{show(key)}] is not understood; expected an LF's name, a list of names, a slice, a mask of {n} or "
            "a list of places"
        )
    if places.dtype.kind == "b":
        items.check_index(key, "the mask")
    places = np.flatnonzero(places) if places.dtype.kind == "b" else places.astype(np.intp)
    if not len(places) or places.min() < -n or places.max() >= n:
        raise ParameterError(f"votes[{show(key)}] has no items, or places outside the {n} items; expected some of them")
    return places


def find_lfs(present: tuple[str, ...], names: Sequence[str]) -> NDArray[np.intp]:
    """The places of LFs by name."""
    wrong = [name for name in names if not (isinstance(name, str) and name in present)]
    if wrong or not names:
        raise ParameterError(f"votes has no LF {show(wrong[0] if wrong else None)}; it has {show_some(present)}")
    return np.array([present.index(name) for name in names], np.intp)


def join_names(one: tuple[str, ...], more: tuple[str, ...], *, renumber: bool) -> tuple[str, ...]:
    """The names of LFs and of more LFs; numbering continues for those without names."""
    names = tuple(f"lf{len(one) + j}" for j in range(len(more))) if renumber else more
    twice = sorted(set(one) & set(names))
    if twice:
        raise VotesError(f"both votes have the LF {twice[0]!r}; drop it from one of them, or rename it")
    return one + names


def join_outcomes(
    one: Any, more: Any, table: NDArray[np.int64], classes: Classes
) -> tuple[Outcomes | None, NDArray[np.int64] | None, NDArray[np.int64]]:
    """The outcomes of two votes, and the numbers that their votes have among these and the classes of both.

    `table` is the number of each class of the other votes, -1 if it is missing. -> the outcomes, the numbers of the
    first votes (None if they do not change), and those of the others.
    """
    if one.outcomes is None and more.outcomes is None:
        return None, None, table
    k = len(classes)
    other = None if more.outcomes is None else more.outcomes.with_classes(table, k).read_again(classes)
    if one.outcomes is None:
        assert other is not None
        return other, None, np.append(table, np.arange(len(other)) + k)
    first = one.outcomes.with_classes(np.arange(one.n_classes), k).read_again(classes)
    own = np.append(np.arange(one.n_classes), np.arange(len(first)) + k)
    if other is None:
        return first, own, table
    merged, place = first.merge(other)
    return merged, own, np.append(table, place + k)


def match_rows(one: Identity, more: Identity, rows: Rows) -> Rows:
    """The rows of more votes in the order of the first ones' items, empty where they have none."""
    ids = _shared_ids(one, more)
    if ids is None:
        if one.n != more.n:
            raise VotesError(f"votes has {one.n} items but the other votes have {more.n}; expected the same items")
        return rows
    index = {item: i for i, item in enumerate(ids[1])}
    found = [index.pop(item, ABSTAIN) for item in ids[0]]
    if max(found) < 0:
        some = show_some(ids[1][:5])
        raise VotesError(f"the votes have no item in common; expected identifiers such as {some}")
    if index:
        first = next(iter(index))
        warn_of_votes([f"{len(index):,} items of the other votes are not in these, for instance {first!r}; left out"])
    empty = Rows(np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    return rows.concatenate(empty).take(np.array(found, np.intp))


def _shared_ids(one: Identity, more: Identity) -> tuple[list[Any], list[Any]] | None:
    """The identifiers that two votes have, or the indexes of their frames if one of them only counts; else None."""
    if one.ids is not None and more.ids is not None:
        return one.ids.tolist(), more.ids.tolist()
    first, second = one.origin.index, more.origin.index
    in_columns = one.origin.name is not None or more.origin.name is not None
    if first is None or second is None or in_columns or (one.ids is None and more.ids is None):
        return None
    return (first.tolist(), second.tolist()) if first.is_unique and second.is_unique else None


def warn_of_missing_zero(cells: Ints) -> None:
    """Warn of class numbers that start at 1, and of votes that are all for one class."""
    if not (cells == 0).any() or int(cells.max()) == 0:
        counts = np.bincount(cells[cells >= 0])
        warn_of_votes(warn_of_classes({"votes": {int(c): int(counts[c]) for c in np.flatnonzero(counts)}}))


def describe_gold(counts: Mapping[Any, int]) -> str:
    """A warning about classes that only gold has, with their numbers of items.

    >>> describe_gold({"x": 2})[:54]
    "gold has classes that no LF votes for: 'x' (2 items); "
    """
    shown = ", ".join(f"{c!r} ({n:,} items)" for c, n in counts.items() if n)
    return f"gold has classes that no LF votes for: {shown}; correct them, or state all with classes"


def default_names(lfs: Sequence[str] | None, m: int) -> tuple[str, ...]:
    """The names of m LFs, `lf0`, `lf1` and so on if none are given."""
    if lfs is None:
        return tuple(f"lf{j}" for j in range(m))
    expected = f"a list with a different name for each of the {m} columns of votes"
    names = tuple(each if isinstance(each, str) else show(each) for each in as_list(lfs, "lfs", expected))
    if len(names) != m or len(set(names)) != m:
        raise ParameterError(f"lfs is {show(lfs, 80)}; expected {expected}")
    return names
