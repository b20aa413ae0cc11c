"""The items that `hyperlabel suggest` prints."""

import polars as pl

from hyperlabel.cli.tables import Selection, Source, open_source, read_labels
from hyperlabel.errors import ParameterError
from hyperlabel.models import LabelModel


def suggest_rows(
    votes: str, selection: Selection, model: LabelModel, gold: str | None, number: int
) -> tuple[Source, pl.DataFrame]:
    """The votes, and the items whose gold labels would help most, with their votes, most helpful first."""
    if number < 1:
        raise ParameterError(f"--number is {number}; expected at least 1")
    source = open_source(votes, selection, [] if gold is None else [gold])
    known = None if gold is None else read_labels(gold, source, "gold")
    if not model.is_fitted:
        model.fit(source.votes, known)
    items = source.votes.items
    suggested = model.suggest(source.votes, number, known).tolist()
    if items is not None:
        place = {item: row for row, item in enumerate(items.tolist())}
        return source, source.votes[[place[item] for item in suggested]].to_polars()
    rows: pl.DataFrame = source.votes[suggested].to_polars()
    name = next(name for name in ("row", "item", "place") if name not in rows.columns)
    return source, rows.insert_column(0, pl.Series(name, suggested, pl.Int64))
