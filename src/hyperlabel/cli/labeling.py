"""Labeling a table, in memory or by an engine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.table import Table

from hyperlabel.added import add_labels
from hyperlabel.cli.tables import Selection, match_classes, open_source, read_labels, scan
from hyperlabel.cli.terminal import console, say_warnings
from hyperlabel.metrics import Metric
from hyperlabel.models import LabelModel
from hyperlabel.read import lf_columns


@dataclass(frozen=True)
class Labeling:
    """What is to be labeled, and how.

    Attributes:
        model: The label model; a fitted one labels in its state.
        votes: The table or array of votes.
        selection: Which columns are LFs, and the classes.
        gold: A column or file of known classes.
        probabilities: Whether to add the probabilities of all classes.
        metric: What labels are to be good at.
    """

    model: LabelModel
    votes: Path
    selection: Selection
    gold: str | None
    probabilities: bool
    metric: Metric

    def in_memory(self) -> Any:
        """The table with the columns that labeling adds, as a Polars frame."""
        source = open_source(self.votes, self.selection, labels=[self.gold] if self.gold else [])
        gold = None if self.gold is None else read_labels(self.gold, source, "gold")
        with say_warnings():
            if not self.model.is_fitted:
                self.model.fit(source.votes, gold)
            labels = self.model.label(source.votes, self.metric)
        if gold is not None:
            _, known = source.votes.with_classes(labels.classes).with_labels(gold, "gold")
            labels = labels.with_gold(known)
        return add_labels(source.frame, labels, probabilities=self.probabilities)

    def with_engine(self, engine: str, out: Path | None) -> Any:
        """As `in_memory`, where the data are; a lazy frame, or `out` if that is given."""
        from hyperlabel import engines

        classes = self.selection.classes
        if classes is not None:
            frame = scan(self.votes)
            names = lf_columns(frame.collect_schema().names(), self.selection.lfs)
            classes = match_classes(self.selection, frame.select(names))
        with say_warnings():
            return engines.label(
                self.votes,
                lfs=self.selection.lfs,
                model=self.model,
                classes=classes,
                gold=self.gold,
                probabilities=self.probabilities,
                metric=self.metric,
                engine=engine,
                out=out,
            )


def print_label_counts(labels: pl.LazyFrame) -> int:
    """A table of how many items of a result got each label; returns how many items there are."""
    counts = labels.group_by("label").agg(pl.len().alias("items")).collect(engine="streaming")
    total = int(counts["items"].sum())
    table = Table("label", "items", "share")
    table.columns[1].justify = table.columns[2].justify = "right"
    for name, items in counts.sort("items", "label", descending=[True, False]).iter_rows():
        table.add_row("(no label)" if name is None else str(name), f"{items:,}", f"{items / total:.1%}")
    console.print(table)
    return total
