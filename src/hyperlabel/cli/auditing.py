"""Tables, gold and models for the commands that judge labels."""

from dataclasses import dataclass, replace

import polars as pl

from hyperlabel.added import add_labels
from hyperlabel.cli.models import state_model
from hyperlabel.cli.options import AuditOptions, TableOptions
from hyperlabel.cli.tables import Selection, Source, open_source, read_labels
from hyperlabel.errors import ParameterError
from hyperlabel.models import LabelModel
from hyperlabel.trust import Certificate, audit_sample


@dataclass(frozen=True)
class Audit:
    """What labels are judged from.

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
            "--gold is missing; draw items by `hyperlabel audit`, label them by hand, and give the file"
        )
    selection = Selection.parse(reading)
    model = state_model(replace(options, gold=None), selection.classes)
    share = _share(options.learn)
    file = options.learn if share is None else None
    labels = [name for name in (options.gold, file) if name is not None]
    source = open_source(votes, selection.of_model(model), labels)
    learn = share if file is None else read_labels(file, source, "learn")
    return Audit(source, model, read_labels(options.gold, source, "gold"), learn)


def _share(learn: str | None) -> float | None:
    """The number that was typed, if it is one."""
    try:
        return None if learn is None else float(learn)
    except ValueError:
        return None


def certify_table(frame: pl.DataFrame, certificate: Certificate) -> pl.DataFrame:
    """A table with labels, and whether each is accepted; a column in the way is kept as `*_input`."""
    free = "accepted"
    while free in frame.columns:
        free += "_input"
    frame = frame.rename({"accepted": free}) if free != "accepted" else frame
    table: pl.DataFrame = add_labels(frame, certificate.labels)
    return table.with_columns(pl.Series("accepted", certificate.accepted))


def draw_rows(
    votes: str, selection: Selection, model: LabelModel, gold: str | None, number: int, strata: int, seed: int
) -> tuple[Source, pl.DataFrame]:
    """The votes, and the items to label by hand with their columns that are not votes."""
    source = open_source(votes, selection, [] if gold is None else [gold])
    known = None if gold is None else read_labels(gold, source, "gold")
    sample = audit_sample(source.votes, number, gold=known, strata=strata, model=model, seed=seed)
    others = [name for name in source.frame.columns if name not in source.votes.lf_names]
    rows = source.frame.select(others)[sample.places.tolist()]
    if source.key is None:
        name = next(name for name in ("row", "item", "place") if name not in rows.columns)
        rows = rows.insert_column(0, pl.Series(name, sample.places, pl.Int64))
    return source, rows
