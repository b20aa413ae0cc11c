"""Items with their columns, as pandas and Polars frames and as files that can be read back."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hyperlabel.errors import VotesError, require
from hyperlabel.shown import show
from hyperlabel.tables.write import write_whole
from hyperlabel.votes.items import Identity

HEADER = "hyperlabel.votes"
"""Where a parquet file of votes keeps its classes, LFs and the name of its identifiers."""


def to_pandas(items: Identity, columns: Mapping[str, NDArray[Any]]) -> Any:
    """A pandas frame with the index that the items came with, and their identifiers first if they came in a column."""
    require("pandas", extra="pandas")
    import pandas as pd

    ids = {} if items.origin.name is None or items.ids is None else {free_name(items.origin.name, columns): items.ids}
    return pd.DataFrame(ids | dict(columns), index=items.origin.index)


def to_polars(items: Identity, columns: Mapping[str, NDArray[Any]], *, nulls: Sequence[str]) -> Any:
    """A Polars frame, identifiers first if there are any; in the columns of `nulls`, -1 and None are null."""
    require("polars", extra="cli")
    import polars as pl

    ids = []
    if items.ids is not None:
        ids = [_series(id_name(items, columns), items.ids.tolist())]
    held = {name: [None if v == -1 else v for v in array.tolist()] for name, array in columns.items() if name in nulls}
    return pl.DataFrame([*ids, *(_series(name, held.get(name, array)) for name, array in columns.items())])


def _series(name: str, values: Any) -> Any:
    import polars as pl

    try:
        return pl.Series(name, values)
    except UnicodeEncodeError as error:
        raise VotesError(
            f"column {name!r} holds half of a character, {show(error.object)}, which a table cannot hold; rename the "
            "item or class"
        ) from error
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise VotesError(
            f"column {name!r} holds values of several kinds, which a table cannot hold: {show(values[0])}, ...; rename "
            "the items"
        ) from error


def id_name(items: Identity, columns: Mapping[str, Any]) -> str:
    """The name of the column of identifiers: its old name, or that of the index, or `item`."""
    index = getattr(items.origin.index, "name", None)
    return free_name(items.origin.name or (index if isinstance(index, str) else "item"), columns)


def free_name(name: str, taken: Mapping[str, Any]) -> str:
    """A name that no other column has.

    >>> free_name("id", {"id": 1}), free_name("id", {})
    ('id_', 'id')
    """
    while name in taken:
        name += "_"
    return name


def write_votes(path: str | Path, frame: Any, header: Mapping[str, Any]) -> None:
    """Write a Polars frame of votes with its header to a parquet file."""
    import polars as pl

    failures = pl.exceptions.PolarsError, pl.exceptions.PanicException
    text = json.dumps(header)
    write_whole(path, lambda part: frame.write_parquet(part, metadata={HEADER: text}), failures, "path")


def read_header(path: str | Path) -> dict[str, Any] | None:
    """What `write_votes` wrote besides the votes; None for other parquet files."""
    require("polars", extra="cli")
    import polars as pl

    try:
        held = pl.read_parquet_metadata(path).get(HEADER)
    except (pl.exceptions.PolarsError, OSError):
        return None  # the reader of the table says what is wrong
    return None if held is None else _check_header(path, held)


def _check_header(path: str | Path, held: str) -> dict[str, Any]:
    try:
        header = json.loads(held)
        if set(header) >= {"classes", "lfs", "item", "named", "stated"} and isinstance(header["lfs"], list):
            return dict(header)
    except (ValueError, TypeError):
        pass
    raise VotesError(f"'{path}' has a header of votes that cannot be read: {show(held)}; save the votes again")
