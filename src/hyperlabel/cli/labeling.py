"""Labeling a table, in memory or by an engine."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl
from rich.table import Table as Shown

from hyperlabel.added import add_labels
from hyperlabel.cli.filling import Filling, describe_sources
from hyperlabel.cli.tables import Selection, Source, match_classes, read_labels, read_source, scan_labels, wide_columns
from hyperlabel.cli.terminal import console, say
from hyperlabel.columns import VoteColumns, choose_columns
from hyperlabel.labels import Labels
from hyperlabel.metrics import Metric
from hyperlabel.models import LabelModel
from hyperlabel.printable import printable
from hyperlabel.provenance import provenance
from hyperlabel.read import number_texts
from hyperlabel.shown import show_names
from hyperlabel.tables import Table, write_table


@dataclass(frozen=True)
class Labeling:
    """What is to be labeled, and how.

    Attributes:
        model: The label model; a fitted one labels in its state.
        votes: What the user called the votes.
        table: The table of votes; None for an array.
        selection: Which columns are LFs, and the classes.
        gold: A column or file of known classes.
        probabilities: Whether to add the probabilities of all classes.
        metric: What labels are to be good at.
        filling: From what items without votes get labels, if they do.
    """

    model: LabelModel
    votes: str
    table: Table | None
    selection: Selection
    gold: str | None
    probabilities: bool = False
    metric: Metric = "accuracy"
    filling: Filling | None = None

    @cached_property
    def source(self) -> Source:
        """The votes, read into memory."""
        return read_source(self.votes, self.table, self.selection, self._labels)

    @property
    def _labels(self) -> list[str]:
        gold = [] if self.gold is None else [self.gold]
        return gold if self.filling is None else [*gold, *self.filling.columns(self.table)]

    def fit(self) -> tuple[Source, object]:
        """Fit the model, unless it is fitted; gives the votes and their gold."""
        gold = None if self.gold is None else read_labels(self.gold, self.source, "gold")
        if not self.model.is_fitted:
            self.model.fit(self.source.votes, gold)
        return self.source, gold

    def in_memory(self) -> Any:
        """The table with the columns that labeling adds, as a Polars frame."""
        source, gold = self.fit()
        labels = self._label(source, gold) if self.filling is None else self._fill(source, gold)
        return add_labels(source.frame, labels, probabilities=self.probabilities)

    def _label(self, source: Source, gold: object) -> Labels:
        labels = self.model.label(source.votes, self.metric)
        if gold is None:
            return labels
        _, known = source.votes.with_classes(labels.classes).with_labels(gold, "gold")
        return labels.with_gold(known)

    def _fill(self, source: Source, gold: object) -> Labels:
        assert self.filling is not None
        labels = self.filling.label(self.model, source, self.table, gold, self.metric)
        say(describe_sources(labels))
        return labels

    def with_engine(self, engine: str, out: str | None) -> Any:
        """As `in_memory`, where the data are; a lazy frame, or `out` if that is given."""
        from hyperlabel import engines

        assert self.table is not None  # engines were refused otherwise
        lfs, _ = wide_columns(self.table, self.selection, self._labels)
        classes = self.selection.classes
        if classes is not None and not self.model.is_fitted:
            names = self._engine_lfs()
            frame = number_texts(self.table.lazy(), names).select(names)
            classes = match_classes(self.selection, frame)
        return engines.label(
            self.table,
            lfs=lfs,
            model=self.model,
            classes=classes,
            gold=self.gold,
            probabilities=self.probabilities,
            metric=self.metric,
            engine=engine,
            out=out,
        )

    def write(self, engine: str, out: str) -> pl.LazyFrame:
        """Label, and write the result; gives its column of labels, read when needed."""
        if engine not in ("memory", "polars"):
            self.with_engine(engine, out)
            return scan_labels(out)
        result = self.in_memory() if engine == "memory" else self.with_engine(engine, None)
        write_table(result, out, metadata=self.metadata, argument="--out")
        return result.lazy().select("label") if out == "-" else scan_labels(out)

    def _engine_lfs(self) -> list[str]:
        assert self.table is not None
        lfs, others = wide_columns(self.table, self.selection, self._labels)
        return list(choose_columns(self.table.columns, lfs, others))

    def taken(self, engine: str) -> VoteColumns:
        """What was taken from the table; an engine does not tell what the columns hold."""
        if engine == "memory":
            return self.source.taken
        assert self.table is not None
        lfs = self._engine_lfs()
        return VoteColumns(tuple(lfs), tuple(name for name in self.table.columns if name not in lfs))

    @property
    def metadata(self) -> dict[str, str]:
        """What results say of themselves: what the input said, and where the labels come from."""
        own = {} if self.table is None else dict(self.table.metadata)
        options: dict[str, Any] = {"metric": self.metric, "gold": self.gold, "source": self.votes}
        if self.filling is not None:
            options |= {name: value for name, value in vars(self.filling).items() if value}
        return own | provenance(self.model, options)


def describe(taken: VoteColumns) -> str:
    """What was taken, in one line, as far as it is known."""
    if taken.classes or taken.abstained:
        return taken.describe()
    return f"LFs: {show_names(taken.lfs)}; ignored: {show_names(taken.ignored)}"


def count_labels(labels: pl.LazyFrame) -> dict[Any, int]:
    """How many rows of a result have each label, most first; None for none."""
    counts = labels.group_by("label").agg(pl.len().alias("items")).collect(engine="streaming")
    return dict(counts.sort("items", "label", descending=[True, False]).iter_rows())


def print_label_counts(counts: dict[Any, int]) -> None:
    """A table of how many items got each label."""
    total = sum(counts.values())
    table = Shown("label", "items", "share")
    table.columns[1].justify = table.columns[2].justify = "right"
    for name, items in counts.items():
        table.add_row("(no label)" if name is None else printable(name), f"{items:,}", f"{items / total:.1%}")
    console.print(table)
