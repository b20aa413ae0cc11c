"""The items that `hyperlabel suggest` prints."""

import polars as pl

from hyperlabel.cli.tables import Selection, Source, number_rows, open_labeled
from hyperlabel.errors import ParameterError
from hyperlabel.models import LabelModel


def suggest_rows(
    votes: str, selection: Selection, model: LabelModel, gold: str | None, number: int
) -> tuple[Source, pl.DataFrame]:
    """The votes, and the items whose gold labels would help most, with their votes, most helpful first."""
    if number < 1:
        raise ParameterError(f"--number is {number}; expected at least 1")
    source, known = open_labeled(votes, selection, {"gold": gold})
    if not model.is_fitted:
        model.fit(source.votes, known["gold"])
    items = source.votes.items
    suggested = model.suggest(source.votes, number, known["gold"]).tolist()
    if items is not None:
        place = {item: row for row, item in enumerate(items.tolist())}
        return source, source.votes[[place[item] for item in suggested]].to_polars()
    return source, number_rows(source.votes[suggested].to_polars(), suggested)
