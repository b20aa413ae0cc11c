"""The report that a command asks for."""

from pathlib import Path
from typing import Any

from hyperlabel.cli.models import read_options
from hyperlabel.cli.options import ModelOptions, PageOptions, TableOptions
from hyperlabel.cli.tables import VotesInput, open_labeled
from hyperlabel.cli.terminal import console, log
from hyperlabel.errors import ParameterError
from hyperlabel.reports import Report, report
from hyperlabel.shown import printable
from hyperlabel.trust import certify


def make_report(
    votes: str, reading: TableOptions, modeling: ModelOptions, showing: PageOptions
) -> tuple[VotesInput, Report]:
    """Votes read with the options that commands share, and the page about them."""
    model, selection, metric = read_options(modeling, reading)
    columns = {"truth": showing.truth, "gold": modeling.gold, "audit": showing.audit}
    source, known = open_labeled(votes, selection, columns, [showing.text])
    texts, sample = _texts(source, showing.text), known.pop("audit")
    log.info("reporting on %s by %s", votes, modeling.model)
    with console.status("looking at the votes without each LF"):
        found = None
        if sample is not None:
            found = certify(model, source.votes, sample, showing.error, learn=known["gold"], metric=metric)
        title = Path(votes).name if showing.title is None else showing.title
        page = report(
            source.votes,
            texts,
            known["truth"],
            known["gold"],
            model=model,
            metric=metric,
            title=title,
            certificate=found,
            table=[votes, *reading.words],
        )
    return source, page


def _texts(source: VotesInput, column: str | None) -> list[Any] | None:
    """The texts of the items: the column that was named, or the one called `text`."""
    if (column or "text") in source.frame.columns:
        return source.frame[column or "text"].to_list()
    if column is not None:
        shown = ", ".join(map(printable, source.frame.columns))
        raise ParameterError(f"--text is '{column}'; expected a column of VOTES: {shown}")
    return None
