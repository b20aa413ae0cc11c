"""Tables, gold and models for the commands that judge labels."""

from dataclasses import dataclass, replace

import polars as pl

from hyperlabel.cli.models import state_model
from hyperlabel.cli.options import AuditOptions, TableOptions
from hyperlabel.cli.tables import Selection, Source, number_rows, open_labeled
from hyperlabel.errors import ParameterError
from hyperlabel.labels.added import add_labels, free_names
from hyperlabel.models import LabelModel
from hyperlabel.trust import Certificate, audit_sample


@dataclass(frozen=True)
class Audit:
    """What labels are judged by.

    Attributes:
        source: The votes and their table.
        model: The label model.
        gold: One class per item, of the items drawn at random.
        learn: What the model may learn from: gold of other items, a share of the gold, or nothing.
    """

    source: Source
    model: LabelModel
    gold: object
    learn: object


def open_audit(votes: str, options: AuditOptions, reading: TableOptions) -> Audit:
    """Read what the options name."""
    if options.gold is None:
        raise ParameterError(
            "--gold is missing; draw items with `hyperlabel audit`, label them by hand, and give the file"
        )
    selection = Selection.parse(reading)
    model = state_model(replace(options, gold=None), selection.classes)
    share = _share(options.learn)
    names = {"gold": options.gold, "learn": options.learn if share is None else None}
    source, known = open_labeled(votes, selection.of_model(model), names)
    return Audit(source, model, known["gold"], known["learn"] if share is None else share)


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


def draw_rows(
    votes: str, selection: Selection, model: LabelModel, gold: str | None, number: int, strata: int, seed: int
) -> tuple[Source, pl.DataFrame]:
    """The votes, and the items to label by hand with their columns that are not votes."""
    source, known = open_labeled(votes, selection, {"gold": gold})
    sample = audit_sample(source.votes, number, gold=known["gold"], strata=strata, model=model, seed=seed)
    others = [name for name in source.frame.columns if name not in source.votes.lf_names]
    rows = source.frame.select(others)[sample.places.tolist()]
    return source, number_rows(rows, sample.places.tolist()) if source.key is None else rows
