"""Items and their identifiers: those of a column or index if there are any, otherwise positions.

Gold, truth, masks and the item to explain are matched to items here: all use the same identifiers.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import show, show_some
from hyperlabel.data._columns import VoteColumns, find_identifiers
from hyperlabel.data._frames import holds_columns, is_default, is_series, library_of, open_table, read_column
from hyperlabel.data._values import Column, as_array, exact_array
from hyperlabel.errors import ParameterError, VotesError, require, warn_of_votes

Positions = slice | NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Origin:
    """The names of items in the input."""

    name: str | None = None  # the column of the identifiers, if they came in a column
    index: Any = None  # the index of the pandas frame, if they came in one
    repeated: str | None = None  # a column that should identify the items, but has repeated or missing values
    columns: VoteColumns | None = None  # what was taken from the table
    abstain: tuple[Any, ...] | None = None  # values that abstain, if they were stated

    def take(self, positions: Positions) -> "Origin":
        """The origin of some of the items."""
        return replace(self, columns=None, index=None if self.index is None else self.index[positions])


NO_ORIGIN = Origin()  # the origin of items in an array


@dataclass(frozen=True, eq=False)
class Identity:
    """The items of votes."""

    n: int  # number of items
    ids: NDArray[Any] | None  # (n,) identifiers; None if items are identified by position
    origin: Origin  # how they were named in the input

    def position_of(self, item: Hashable) -> int:
        """Return the position of an item."""
        if self.ids is None:
            if not self._is_position(item):
                raise ParameterError(f"item is {show(item)}; expected an index from 0 to {self.n - 1}")
            return int(item)  # type: ignore[call-overload, no-any-return]
        ids = self.ids.tolist()
        item = _plain(item)
        if item not in ids:
            raise ParameterError(
                f"item is {show(item)}, which votes does not have; expected an identifier such as {show_some(ids[:5])}"
            )
        return int(ids.index(item))

    def _is_position(self, item: Any) -> bool:
        whole = isinstance(item, int | np.integer) and not isinstance(item, bool)
        return whole and bool(0 <= item < self.n)

    def find_positions(self, key: Any) -> Positions:
        """Return positions of items from a slice, a mask or numbers."""
        if isinstance(key, slice):
            return key
        expected = f"an LF's name, a list of names, a slice, a mask of {self.n} or a list of positions"
        numbers = as_array(key, "the key of votes[...]", expected)
        is_mask = numbers.dtype.kind == "b"
        if numbers.ndim != 1 or numbers.dtype.kind not in "iub" or (is_mask and len(numbers) != self.n):
            raise ParameterError(f"votes[{show(key)}] is not understood; expected {expected}")
        if is_mask:
            self.check_index(key, "the mask")
        positions = np.flatnonzero(numbers) if is_mask else numbers.astype(np.intp)
        if len(positions) and not -self.n <= positions.min() <= positions.max() < self.n:
            raise ParameterError(f"votes[{show(key)}] has positions outside the {self.n} items; expected some of them")
        return positions

    def check_index(self, values: Any, name: str) -> None:
        """Refuse a pandas object that is matched by position, such as texts, if its index names other items."""
        expected = self.origin.index
        if expected is None or "pandas" not in (library_of(values, "Series"), library_of(values, "DataFrame")):
            return
        if is_default(values.index):
            self._check_order(values.index, name)
        elif not values.index.equals(expected):
            raise VotesError(
                f"{name} has the index {show_some(values.index[:5].tolist())}, votes has "
                f"{show_some(expected[:5].tolist())}; give it as .loc[frame.index], or as .to_numpy() to match by "
                "position"
            )

    def _check_order(self, index: Any, name: str) -> None:
        """Refuse a Series that counts its entries if the votes have the same numbers in another order."""
        expected = self.origin.index
        if expected is None or not is_default(index) or index.equals(expected):
            return
        if expected.dtype.kind in "iu" and np.array_equal(np.sort(expected), np.arange(self.n)):
            raise VotesError(
                f"{name} has the index 0 to {self.n - 1}, which votes has in another order "
                f"({show_some(expected[:5].tolist())}); give it as .to_numpy() to match by position, or as "
                ".reindex(frame.index) to match by index"
            )

    def match(self, labels: Any, name: str) -> Column:
        """Return gold or truth, an array, Series or mapping, as one entry per item, empty where it is not known."""
        if isinstance(labels, Mapping):
            return self._match_mapping(labels, name)
        listed = is_series(labels) or isinstance(labels, np.ndarray | list | tuple)
        if not listed or getattr(labels, "ndim", 1) != 1:
            shape = f" with shape {labels.shape}" if hasattr(type(labels), "shape") else ""
            raise VotesError(
                f"{name} is of type {type(labels).__name__}{shape}; expected one class per item in one dimension, "
                "or a mapping from item to class"
            )
        if library_of(labels, "Series") == "pandas":
            if not self._is_in_order(labels.index):
                return self._match_series(labels, name)
            self._check_order(labels.index, name)
        if len(labels) != self.n:
            raise VotesError(
                f"{name} has {len(labels)} entries but votes has {self.n} items; "
                "give one per item (-1 for unknown), or a mapping from item to class"
            )
        return read_column(name, labels, lambda row: f"{name}[{row}]")

    def _is_in_order(self, index: Any) -> bool:
        """Return whether a Series is matched by position: its index only counts, or the votes have nothing to match."""
        if len(index) != self.n or self._has_name_of_ids(index):
            return False
        expected = self.origin.index
        if is_default(index) or (self.ids is None and expected is None):
            return True
        return expected is not None and len(expected) == self.n and bool(index.equals(expected))

    def _has_name_of_ids(self, index: Any) -> bool:
        return self.ids is not None and self.origin.name is not None and bool(index.name == self.origin.name)

    def _match_series(self, labels: Any, name: str) -> Column:
        """Match by the index of the frame that the votes came from, or by identifiers, whichever has the entries."""
        if not labels.index.is_unique:
            twice = labels.index[labels.index.duplicated()][0]
            raise VotesError(f"{name} is a Series whose index has {show(twice)} twice; expected each item once")
        keys = labels.index.tolist()
        ids = self._ids_named_by(labels.index, name)
        if not keys or not set(keys) & set(ids):
            raise VotesError(
                f"{name} is a Series whose index ({show_some(keys, 5)}) has none of the items of votes "
                f"({show_some(ids[:5])}); give it the index of the votes, or give {name}.to_numpy() to match by "
                "position"
            )
        return self._fill(keys, labels.tolist(), name, ids)

    def _ids_named_by(self, index: Any, name: str) -> list[Any]:
        """Return what the index of a Series names: the identifiers if it has their name, else what has most entries.

        Identifiers that count from 1 are also in the index, of other items: then it is the index, with a warning.
        """
        ids: list[Any] | None = None if self.ids is None else self.ids.tolist()
        if ids is not None and self._has_name_of_ids(index):
            return ids
        candidates: list[list[Any]] = [
            each for each in (None if self.origin.index is None else self.origin.index.tolist(), ids) if each
        ]
        tables = [{each: i for i, each in enumerate(candidate)} for candidate in candidates]
        hits = [{key: table[key] for key in index.tolist() if key in table} for table in tables]
        if len(hits) == 2 and hits[0] != hits[1] and len(hits[0]) == len(hits[1]):
            key = next(key for key in (hits[0] | hits[1]) if hits[0].get(key) != hits[1].get(key))
            warn_of_votes(
                [
                    f"{name} is a Series whose entry {show(key)} is taken from the index of votes; in its column "
                    f"{self.origin.name!r}, it names another item. Give {name}.to_dict() to match by that column, or "
                    f"{name}.reindex(frame.index) if the index is meant"
                ]
            )
        sizes = list(map(len, hits))
        return candidates[sizes.index(max(sizes))] if candidates else list(range(self.n))

    def _match_mapping(self, labels: Mapping[Any, Any], name: str) -> Column:
        keys, values = list(labels), list(labels.values())
        if self.ids is not None:
            return self._fill(keys, values, name, self.ids.tolist())
        if self.origin.repeated is not None and keys:
            raise VotesError(
                f"{name} is a mapping, but column {self.origin.repeated!r} does not identify the items: values are "
                f"missing or repeated. Give {name} as one class per item, -1 for unknown"
            )
        index = self.origin.index
        if keys and index is not None and not index.is_unique:
            twice = index[index.duplicated()].tolist()[0]
            raise VotesError(
                f"{name} is a mapping, but the index of votes has {show(twice)} twice, as after pd.concat; give the "
                f"frame another one with reset_index(drop=True), or {name} as one class per item"
            )
        wrong = [key for key in keys if not self._is_position(key)]
        if wrong:
            raise VotesError(
                f"{name} has the item {show(wrong[0])}, which votes does not have; expected an index from 0 to "
                f"{self.n - 1}"
            )
        return self._fill(keys, values, name, list(range(self.n)))

    def _fill(self, keys: Sequence[Any], values: Sequence[Any], name: str, ids: list[Any]) -> Column:
        """Put entries at the positions of their items; those of other items are counted and left out."""
        position = {item: i for i, item in enumerate(ids)}
        if len(position) < len(ids):
            raise VotesError(f"{name} has an index with repeated values; give one class per item instead")
        filled: list[Any] = [None] * self.n
        unknown = []
        for key, value in zip(map(_plain, keys), values, strict=True):
            if key in position:
                filled[position[key]] = value
            else:
                unknown.append(key)
        if unknown:
            n, key = len(keys), unknown[0]
            what = f"{len(unknown):,} of the {n:,} items of {name} are not in votes, for instance {show(key)}"
            if len(unknown) == n and not isinstance(key, type(ids[0])) and not isinstance(ids[0], type(key)):
                raise VotesError(f"{what}; expected identifiers such as {show_some(ids[:5])}")
            warn_of_votes([f"{what}; they are left out"])
        return Column.from_values(name, filled, lambda row: f"{name}[{ids[row]!r}]")

    def find_items(self, other: "Identity") -> NDArray[np.intp] | None:
        """Return the position of each item among those of other votes, -1 where they lack it; None if the same."""
        ids = self._shared_ids(other)
        if ids is None:
            if self.n != other.n:
                raise VotesError(
                    f"votes has {self.n} items but the other votes have {other.n}; expected the same items"
                )
            return None
        index = {item: i for i, item in enumerate(ids[1])}
        positions = np.array([index.pop(item, -1) for item in ids[0]], np.intp)
        if positions.max() < 0:
            raise VotesError(f"the votes have no item in common; expected identifiers such as {show_some(ids[1][:5])}")
        if index:
            first = next(iter(index))
            warn_of_votes(
                [f"{len(index):,} items of the other votes are not in these, for instance {first!r}; left out"]
            )
        return positions

    def _shared_ids(self, other: "Identity") -> tuple[list[Any], list[Any]] | None:
        if self.ids is not None and other.ids is not None:
            return self.ids.tolist(), other.ids.tolist()
        first, second = self.origin.index, other.origin.index
        in_columns = self.origin.name is not None or other.origin.name is not None
        if first is None or second is None or in_columns or (self.ids is None and other.ids is None):
            return None
        return (first.tolist(), second.tolist()) if first.is_unique and second.is_unique else None


def _plain(key: Any) -> Any:
    return key.item() if isinstance(key, np.generic) else key


def check_item(table: Any, item: str | None) -> None:
    """Refuse a column of identifiers that a table does not have."""
    if item is not None and item not in table.names:
        raise VotesError(
            f"item is {item!r}, but votes has no such column; its columns are {show_some(table.names, 20)}"
        )


def identify(table: Any, item: str | None, columns: VoteColumns) -> tuple[NDArray[Any] | None, Origin]:
    """Return the identifiers of the items of a table, and where they came from.

    A column with the name of an identifier comes first, unless `item` names one, then the pandas index; only unique
    values identify.
    """
    candidates = [item] if item is not None else find_identifiers(columns.ignored)
    for name in candidates:
        ids = table.identifiers(name)
        if ids is not None:
            return ids, Origin(name, table.index, None, columns)
    if item is not None:
        raise VotesError(f"column {item!r} does not identify the items: values are missing or repeated; name another")
    if table.index is not None and table.index.is_unique and not is_default(table.index):
        return exact_array(table.index.tolist()), Origin(None, table.index, None, columns)
    return None, Origin(None, table.index, candidates[0] if candidates else None, columns)


def identify_data(data: object) -> tuple[NDArray[Any] | None, Origin]:
    """Return the identifiers of any data that LFs read, found as those of a table of votes, and their origin."""
    if not holds_columns(data):
        return None, NO_ORIGIN
    table = open_table(data)
    ids, origin = identify(table, None, VoteColumns((), tuple(table.names)))
    return ids, replace(origin, columns=None)  # no column was taken as votes


def by_name(stated: Any) -> dict[Any, Any] | None:
    """Return the entries of a mapping or Series by name; None for others, and for a Series whose index only counts."""
    if isinstance(stated, Mapping):
        return dict(stated)
    if library_of(stated, "Series") == "pandas" and not is_default(stated.index):
        if not stated.index.is_unique:
            raise ParameterError(
                f"the Series {show_some(stated.index.tolist(), 5)} has a name twice; expected each name once"
            )
        return dict(zip(stated.index.tolist(), stated.tolist(), strict=True))
    return None


def to_pandas(items: Identity, columns: Mapping[str, NDArray[Any]]) -> Any:
    """Make a pandas frame with the index of the input, and identifiers first if they came in a column."""
    require("pandas", extra="pandas")
    import pandas as pd

    ids = {} if items.origin.name is None or items.ids is None else {free_name(items.origin.name, columns): items.ids}
    return pd.DataFrame(ids | dict(columns), index=items.origin.index)


def to_polars(items: Identity, columns: Mapping[str, NDArray[Any]], *, nulls: Sequence[str]) -> Any:
    """Make a Polars frame, identifiers first if there are any; in the columns of `nulls`, -1 and None are null."""
    require("polars", extra="cli")
    import polars as pl

    listed = {name: array.tolist() if name in nulls else array for name, array in columns.items()}
    listed |= {name: [None if value == -1 else value for value in listed[name]] for name in nulls}
    if items.ids is not None:  # by the name of their column or index, or `item`
        index = getattr(items.origin.index, "name", None)
        name = free_name(items.origin.name or (index if isinstance(index, str) else "item"), columns)
        listed = {name: items.ids.tolist(), **listed}
    return pl.DataFrame([_series(name, values) for name, values in listed.items()])


def _series(name: str, values: Any) -> Any:
    import polars as pl

    try:
        return pl.Series(name, values)
    except UnicodeEncodeError as error:
        raise VotesError(
            f"column {name!r} holds an unpaired surrogate, {show(error.object)}, which a table cannot hold; rename the "
            "item or class"
        ) from error
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise VotesError(
            f"column {name!r} holds values of several kinds, which a table cannot hold: {show(values[0])}, ...; rename "
            "the items"
        ) from error


def free_name(name: str, columns: Mapping[str, Any]) -> str:
    """Return a name that no other column has."""
    while name in columns:
        name += "_"
    return name
