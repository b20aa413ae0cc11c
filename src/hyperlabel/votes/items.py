"""How items are identified: by identifiers if there are any, otherwise by place.

Gold, truth and the item to explain are matched to items here: all use the same identifiers.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.frames import Column, is_series, library_of
from hyperlabel.columns.rule import VoteColumns, find_identifiers
from hyperlabel.columns.sources import exact_array, holds_columns, is_default, open_table
from hyperlabel.errors import ParameterError, VotesError, warn_of_votes
from hyperlabel.shown import show, show_some


@dataclass(frozen=True, eq=False)
class Origin:
    """How items were named in the input."""

    name: str | None = None  # the column of the identifiers, if they came in a column
    index: Any = None  # the index of the pandas frame, if they came in one
    repeated: str | None = None  # a column that should identify the items, but has repeated or missing values
    columns: VoteColumns | None = None  # what was taken from the table

    def take(self, places: Any) -> "Origin":
        """For some of the items: a slice, a mask or places."""
        return replace(self, columns=None, index=None if self.index is None else self.index[places])


UNKNOWN = Origin()
"""The origin of items in an array."""


@dataclass(frozen=True, eq=False)
class Identity:
    """The items of votes."""

    n: int  # number of items
    ids: NDArray[Any] | None  # (n,) identifiers; None if items are identified by place
    origin: Origin  # how they were named in the input

    def place_of(self, item: Hashable) -> int:
        """The place of an item."""
        if self.ids is None:
            if not self._is_place(item):
                raise ParameterError(f"item is {show(item)}; expected an index from 0 to {self.n - 1}")
            return int(item)  # type: ignore[call-overload, no-any-return]
        try:
            place = {each: i for i, each in enumerate(self.ids.tolist())}.get(_plain(item))
        except Exception:  # not hashable, such as a list, or an error of its own
            place = None
        if place is None:
            some = show_some(self.ids[:5].tolist())
            raise ParameterError(
                f"item is {show(item)}, which votes does not have; expected an identifier such as {some}"
            )
        return place

    def _is_place(self, item: Any) -> bool:
        whole = isinstance(item, int | np.integer) and not isinstance(item, bool)
        return whole and bool(0 <= item < self.n)

    def check_index(self, values: Any, name: str) -> None:
        """Refuse what comes by place, such as texts, if it is of pandas and its index says that items are elsewhere."""
        own = self.origin.index
        if own is None or "pandas" not in (library_of(values, "Series"), library_of(values, "DataFrame")):
            return
        if is_default(values.index):
            self._check_order(values.index, name)
        elif not values.index.equals(own):
            raise VotesError(
                f"{name} has the index {show_some(values.index[:5].tolist())}, votes has "
                f"{show_some(own[:5].tolist())}; give it as .loc[frame.index], or as .to_numpy() to match by place"
            )

    def match(self, labels: Any, name: str) -> Column:
        """Gold or truth, one entry per item, empty where it is not known; errors use `name`.

        Labels are (n,) classes; a pandas Series, which is matched by its index; or a mapping from item to class.
        """
        if isinstance(labels, Mapping) and not hasattr(labels, "tocsr"):  # SciPy's dok matrix is also a mapping
            return self._match_pairs(list(labels), list(labels.values()), name)
        listed = is_series(labels) or isinstance(labels, np.ndarray | list | tuple)
        if not listed or getattr(labels, "ndim", 1) != 1:
            shape = f" with shape {labels.shape}" if hasattr(type(labels), "shape") else ""
            raise VotesError(
                f"{name} is of type {type(labels).__name__}{shape}; expected one class per item in one dimension, "
                "or a mapping from item to class"
            )
        if library_of(labels, "Series") == "pandas" and not self._by_place(labels.index):
            return self._match_series(labels, name)
        if library_of(labels, "Series") == "pandas":
            self._check_order(labels.index, name)
        if len(labels) != self.n:
            raise VotesError(
                f"{name} has {len(labels)} entries but votes has {self.n} items; "
                "give one per item (-1 for unknown), or a mapping from item to class"
            )
        read = Column.from_series if is_series(labels) else Column.from_values
        return read(name, labels, lambda row: f"{name}[{row}]")

    def _by_place(self, index: Any) -> bool:
        """Whether a Series of labels is matched by place: its index only counts, or the votes have nothing to match."""
        if len(index) != self.n or self._has_name_of_ids(index):
            return False
        own = self.origin.index
        nothing = self.ids is None and own is None
        return is_default(index) or nothing or (own is not None and len(own) == self.n and bool(index.equals(own)))

    def _has_name_of_ids(self, index: Any) -> bool:
        return self.ids is not None and self.origin.name is not None and bool(index.name == self.origin.name)

    def _check_order(self, index: Any, name: str) -> None:
        """Refuse a Series that counts its entries if the votes have the same numbers in another order."""
        own = self.origin.index
        if own is None or not is_default(index) or index.equals(own):
            return
        if own.dtype.kind in "iu" and np.array_equal(np.sort(own), np.arange(self.n)):
            raise VotesError(
                f"{name} has the index 0 to {self.n - 1}, which votes has in another order "
                f"({show_some(own[:5].tolist())}); give it as .to_numpy() to match by place, or as "
                ".reindex(frame.index) to match by index"
            )

    def _match_series(self, labels: Any, name: str) -> Column:
        """By the index of the frame that the votes came from, or by their identifiers, whichever has the entries."""
        if not labels.index.is_unique:
            twice = labels.index[labels.index.duplicated()][0]
            raise VotesError(f"{name} is a Series whose index has {show(twice)} twice; expected each item once")
        keys = labels.index.tolist()
        best = self._ids_of(labels.index, name)
        if not keys or not set(keys) & set(best):
            expected = show_some(best[:5])
            raise VotesError(
                f"{name} is a Series whose index ({show_some(keys, 5)}) has none of the items of votes ({expected}); "
                f"give it the index of the votes, or give {name}.to_numpy() to match by place"
            )
        return self._fill(keys, labels.tolist(), name, best)

    def _ids_of(self, index: Any, name: str) -> list[Any]:
        """What the index of a Series names: the column of identifiers if it has its name, else what has most entries.

        Identifiers that count from 1 are also in the index, of other items: then it is the index, with a warning.
        """
        ids: list[Any] | None = None if self.ids is None else self.ids.tolist()
        if ids is not None and self._has_name_of_ids(index):
            return ids
        index_ids = None if self.origin.index is None else self.origin.index.tolist()
        known: list[list[Any]] = [way for way in (index_ids, ids) if way]
        places = [{each: i for i, each in enumerate(way)} for way in known]
        held = [{key: found[key] for key in index.tolist() if key in found} for found in places]
        if len(held) == 2 and held[0] != held[1] and len(held[0]) == len(held[1]):
            key = next(key for key in (held[0] | held[1]) if held[0].get(key) != held[1].get(key))
            warn_of_votes(
                [
                    f"{name} is a Series whose entry {show(key)} is taken from the index of votes; in its column "
                    f"{self.origin.name!r}, it names another item. Give {name}.to_dict() to match by that column, or "
                    f"{name}.reindex(frame.index) if the index is meant"
                ]
            )
        sizes = [len(found) for found in held]
        return known[sizes.index(max(sizes))] if known else list(range(self.n))

    def _match_pairs(self, keys: Sequence[Any], values: Sequence[Any], name: str) -> Column:
        if self.ids is not None:
            return self._fill(keys, values, name, self.ids.tolist())
        if self.origin.repeated is not None and keys:
            raise VotesError(
                f"{name} is a mapping, but column {self.origin.repeated!r} does not identify the items: values are "
                f"missing or repeated. Give {name} as one class per item, -1 for unknown"
            )
        wrong = [key for key in keys if not self._is_place(key)]
        if wrong:
            raise VotesError(
                f"{name} has the item {show(wrong[0])}, which votes does not have; expected an index from 0 to "
                f"{self.n - 1}"
            )
        return self._fill(keys, values, name, list(range(self.n)))

    def _fill(self, keys: Sequence[Any], values: Sequence[Any], name: str, ids: list[Any]) -> Column:
        """Entries at the places of their items; those of other items are counted and left out."""
        places = {item: i for i, item in enumerate(ids)}
        if len(places) < len(ids):
            raise VotesError(f"{name} has an index with repeated values; give one class per item instead")
        filled: list[Any] = [None] * self.n
        unknown = []
        for key, value in zip(map(_plain, keys), values, strict=True):
            if key in places:
                filled[places[key]] = value
            else:
                unknown.append(key)
        self._tell_unknown(unknown, len(keys), name, ids)
        return Column.from_values(name, filled, lambda row: f"{name}[{ids[row]!r}]")

    def _tell_unknown(self, unknown: list[Any], n: int, name: str, ids: list[Any]) -> None:
        if not unknown:
            return
        what = f"{len(unknown):,} of the {n:,} items of {name} are not in votes, for instance {show(unknown[0])}"
        if len(unknown) == n and not isinstance(unknown[0], type(ids[0])) and not isinstance(ids[0], type(unknown[0])):
            raise VotesError(f"{what}; expected identifiers such as {show_some(ids[:5])}")
        warn_of_votes([f"{what}; they are left out"])


def _plain(key: Any) -> Any:
    return key.item() if isinstance(key, np.generic) else key


def identify(table: Any, item: str | None, columns: VoteColumns) -> tuple[NDArray[Any] | None, Origin]:
    """The identifiers of the items of a table, and where they came from.

    A column with the name of an identifier comes first, unless `item` names one, then the pandas index; only unique
    values identify.
    """
    candidates = [item] if item is not None else find_identifiers(columns.ignored)
    for name in candidates:
        ids = table.identifiers(name)
        if ids is not None:
            return ids, Origin(name, table.index, None, columns)
    repeated = candidates[0] if candidates else None
    if item is not None:
        raise VotesError(f"column {item!r} does not identify the items: values are missing or repeated; name another")
    if table.index is not None and table.index.is_unique and not is_default(table.index):
        return exact_array(table.index.tolist()), Origin(None, table.index, None, columns)
    return None, Origin(None, table.index, repeated, columns)


def identify_data(data: object) -> tuple[NDArray[Any] | None, Origin]:
    """The identifiers of any data that LFs read, found as those of a table of votes, and where they came from.

    >>> identify_data([{"id": 7, "text": "win"}, {"id": 3, "text": "hello"}])[0].tolist()
    [7, 3]
    """
    if not holds_columns(data):
        return None, UNKNOWN
    table = open_table(data)
    ids, origin = identify(table, None, VoteColumns((), tuple(table.names)))
    return ids, replace(origin, columns=None)  # no column was taken as votes
