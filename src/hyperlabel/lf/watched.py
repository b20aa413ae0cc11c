"""Rows that notice which of their columns are read: what is not read cannot change a vote."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from hyperlabel.lf.items import Row, names_of, shown_names


class WatchedRow:
    """A row that remembers which columns were read, whether they exist or not.

    It looks like a `Row` but is not a tuple: code written in C could read a tuple unnoticed.

    >>> from hyperlabel.lf.items import make_row
    >>> x = watch(make_row(("id", "text"), (7, "hello")))
    >>> x.text, "date" in x
    ('hello', False)
    >>> WatchedRow.columns_of(x)
    ('date', 'text')
    """

    __slots__ = ("_row", "_seen")
    _row: Row
    _seen: set[str | None]

    def __init__(self, row: Row) -> None:
        object.__setattr__(self, "_row", row)
        object.__setattr__(self, "_seen", set())

    @staticmethod
    def columns_of(row: "WatchedRow") -> tuple[str, ...] | None:
        """The names that were read, in order; None if everything was."""
        names = [name for name in row._seen if name is not None]
        return None if len(names) < len(row._seen) else tuple(sorted(names))

    @property  # type: ignore[misc]
    def __class__(self) -> type[Row]:  # type: ignore[override]
        """The class of the row, for `isinstance`."""
        return type(self._row)

    def _note(self, name: object) -> None:
        # The cache writes names as strings, so that a key of a record that is none counts as a look at everything.
        self._seen.add(name if isinstance(name, str) else None)

    def _all(self) -> Row:
        self._seen.add(None)
        return self._row

    def __getitem__(self, name: Any) -> Any:
        self._note(name)
        return self._row[name]

    def __getattr__(self, name: str) -> Any:  # called for names that are not columns
        if hasattr(tuple, name):
            return getattr(self._all(), name)
        self._note(name)
        return getattr(self._row, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._row, name, value)  # the row refuses this

    def __contains__(self, name: object) -> bool:
        self._note(name)
        return name in self._row

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a column, or a default where there is no such column."""
        self._note(name)
        return Row.get(self._row, name, default)

    def keys(self) -> list[str]:
        """The names of the columns."""
        return Row.keys(self._all())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        return self._all() == (other._all() if type(other) is type(self) else other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return self._all().__reduce__()


def watch(row: Row) -> WatchedRow:
    """A row that remembers which of its columns are read."""
    return _watched_class(type(row))(row)


@lru_cache(maxsize=256)
def _watched_class(kind: type[Row]) -> type[WatchedRow]:
    """The class of watched rows with these columns; a column may have the name of a method."""
    columns = {name: _reader(name) for name in shown_names(names_of(kind))}
    return type("WatchedRow", (WatchedRow,), {"__slots__": (), **columns})


def _reader(name: str) -> property:
    return property(lambda row: WatchedRow.__getitem__(row, name))
