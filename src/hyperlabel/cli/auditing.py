"""Tables, gold and models for the commands that judge labels."""

from dataclasses import dataclass, replace

import polars as pl

from hyperlabel.cli.models import read_options
from hyperlabel.cli.options import AuditOptions, TableOptions
from hyperlabel.cli.tables import VotesInput, open_labeled
from hyperlabel.errors import ParameterError
from hyperlabel.labels.added import add_labels, free_names
from hyperlabel.metrics import Metric
from hyperlabel.models import LabelModel
from hyperlabel.trust import Certificate
from hyperlabel.votes import Votes


@dataclass(frozen=True)
class Audit:
    """What labels are judged by."""

    source: VotesInput  # the votes and their table
    model: LabelModel
    gold: object  # one class per item, of the items drawn at random
    learn: object  # what the model may learn from: gold of other items, a share of the gold, or nothing
    metric: Metric

    @property
    def judged(self) -> tuple[LabelModel, Votes, object]:
        """The model, the votes and the gold: the first arguments of `certify` and `estimate`."""
        return self.model, self.source.votes, self.gold


def open_audit(votes: str, options: AuditOptions, reading: TableOptions) -> Audit:
    """Read what the options name."""
    if options.gold is None:
        raise ParameterError(
            "--gold is missing; draw items with `hyperlabel audit`, label them by hand, and give the file"
        )
    model, selection, metric = read_options(replace(options, gold=None), reading)
    share = _share(options.learn)
    names = {"gold": options.gold, "learn": options.learn if share is None else None}
    source, known = open_labeled(votes, selection, names)
    return Audit(source, model, known["gold"], known["learn"] if share is None else share, metric)


def _share(learn: str | None) -> float | None:
    """The number that was typed, if it is a number."""
    try:
        return None if learn is None else float(learn)
    except ValueError:
        return None


def certify_table(frame: pl.DataFrame, certificate: Certificate) -> pl.DataFrame:
    """A table with labels, and whether each is accepted; a column of the same name is kept as `*_input`."""
    table: pl.DataFrame = add_labels(frame.rename(free_names(frame.columns, ["accepted"])), certificate.labels)
    return table.with_columns(pl.Series("accepted", certificate.accepted))
