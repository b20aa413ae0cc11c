"""Labeling a table, in memory or by an engine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.table import Table as Shown

from hyperlabel.cli.filling import Filling, describe_sources
from hyperlabel.cli.tables import (
    Selection,
    VotesInput,
    choose_engine,
    is_empty,
    match_classes,
    open_table,
    read_labels,
    read_source,
    scan_labels,
    wide_columns,
)
from hyperlabel.cli.terminal import console, progress
from hyperlabel.columns.rule import VoteColumns, choose_columns
from hyperlabel.errors import warn_of_votes
from hyperlabel.labels import Labels
from hyperlabel.labels.added import add_labels
from hyperlabel.metrics import Metric
from hyperlabel.models import LabelModel
from hyperlabel.provenance import provenance
from hyperlabel.shown import printable
from hyperlabel.tables import Table, reading, write_table
from hyperlabel.votes.read import number_texts

if TYPE_CHECKING:
    from hyperlabel.engines import Work


@dataclass(frozen=True, eq=False)
class Labeling:
    """What to label, and how."""

    model: LabelModel  # the label model; a fitted one labels in its state
    votes: str  # what the user called the votes
    table: Table | None  # the table of votes; None for an array
    selection: Selection  # which columns are LFs, and the classes
    gold: str | None  # a column or file of known classes
    engine: str = "memory"  # where to work: `memory`, or the name of an engine
    probabilities: bool = False  # whether to add the probabilities of all classes
    metric: Metric = "accuracy"  # what labels should be good at
    filling: Filling | None = None  # what items without votes get labels from, if they do

    @classmethod
    def open(
        cls,
        model: LabelModel,
        votes: str,
        selection: Selection,
        gold: str | None,
        engine: str,
        probabilities: bool = False,
        metric: Metric = "accuracy",
        filling: Filling | None = None,
    ) -> "Labeling":
        """Open the table of votes and choose where to work; the arguments are those of the class.

        An empty table is labeled too, but it has no votes to read into memory and no items with gold.
        """
        table = open_table(votes, selection)
        empty = table is not None and selection.long is None and is_empty(table)
        known = None if empty else gold
        asked = engine if filling is None else filling.choose_engine(engine, table, metric)
        chosen = choose_engine(asked, votes, table, selection, known)
        chosen = "polars" if empty and chosen == "memory" else chosen
        stated = selection.of_model(model)
        return cls(model, votes, table, stated, known, chosen, probabilities, metric, filling)

    @cached_property
    def source(self) -> VotesInput:
        """The votes, read into memory."""
        return read_source(self.votes, self.table, self.selection, self._labels)

    @cached_property
    def work(self) -> "Work":
        """The work of an engine."""
        from hyperlabel import engines

        assert self.table is not None  # engines were refused otherwise
        lfs, others = wide_columns(self.table, self.selection, self._labels)
        work = engines.start(
            self.table,
            lfs=lfs,
            abstain=self.selection.abstain,
            model=self.model,
            classes=self._engine_classes(self.table, choose_columns(self.table.columns, lfs, others)),
            gold=self.gold,
            probabilities=self.probabilities,
            source=self.filling is not None,
            text=self._streamed_text,
            metric=self.metric,
            engine=self.engine,
        )
        warn_of_votes(work.columns.warnings)
        return work

    @property
    def _streamed_text(self) -> str | None:
        """The column of texts that an engine labels by; an empty table has nothing to label."""
        return None if self.filling is None or self.table is None or is_empty(self.table) else self.filling.text

    def _engine_classes(self, table: Table, names: Sequence[str]) -> Any:
        """The classes that were typed, converted to the type of the votes."""
        if self.selection.classes is None or self.model.is_fitted:
            return None
        frame = number_texts(table.lazy(), names) if table.kind == "csv" else table.lazy()
        return match_classes(self.selection, frame, names)

    @property
    def _labels(self) -> list[str]:
        gold = [] if self.gold is None else [self.gold]
        return gold if self.filling is None else [*gold, *self.filling.columns(self.table)]

    @cached_property
    def _known(self) -> object:
        return None if self.gold is None else read_labels(self.gold, self.source, "gold")

    @cached_property
    def fitted(self) -> LabelModel:
        """The model, fitted on these votes and their gold if it was not fitted before."""
        if self.engine != "memory":
            return self.work.model
        if not self.model.is_fitted:
            self.model.fit(self.source.votes, self._known)
        return self.model

    def prepare(self) -> None:
        """Do everything that may fail or give a warning before anything is written."""
        with progress("reading votes"):
            if self.n_rows:
                _ = self.fitted
                if self.filling is not None:
                    _ = self._filled if self.engine == "memory" else self.work.frame

    @property
    def n_rows(self) -> int:
        """Number of items."""
        return self.source.votes.n_items if self.engine == "memory" else self.work.n_rows

    @property
    def _labeled(self) -> Labels:
        """The labels of votes and gold."""
        labels = self.fitted.label(self.source.votes, self.metric)
        if self.gold is None:
            return labels
        _, known = self.source.votes.with_classes(labels.classes).with_labels(self._known, "gold")
        return labels.with_gold(known)

    @cached_property
    def _filled(self) -> Labels:
        """The labels of votes and gold, and of texts or features where there are none."""
        assert self.filling is not None
        return self.filling.label(self.fitted, self.source, self.table, self._known, self.metric)

    @property
    def sources(self) -> list[str]:
        """Where labels come from, in one line, if not all come from votes."""
        known = self.filling is not None and self.engine == "memory" and self.n_rows
        return [describe_sources(self._filled)] if known else []

    def _in_memory(self) -> pl.DataFrame:
        """The table with the columns that labeling adds."""
        labels = self._labeled if self.filling is None else self._filled
        frame: pl.DataFrame = add_labels(self.source.frame, labels, probabilities=self.probabilities)
        return frame

    def write(self, out: str) -> pl.LazyFrame:
        """Label, and write the result; gives its labels and how many items have each, read when needed."""
        if self.engine not in ("memory", "polars"):
            with progress("labeling"):
                self.work.write(Path(out), self.metadata)
            return self._counts_of(out)
        result = self._in_memory() if self.engine == "memory" else self.work.frame
        if out == "-":  # the rows themselves show progress
            write_table(result, out, metadata=self.metadata, argument="--out")
        else:
            with progress("labeling", self.n_rows) as advance:
                write_table(watched(result.lazy(), advance), out, metadata=self.metadata, argument="--out")
        return _each_once(result.lazy()) if self.engine == "memory" or out == "-" else self._counts_of(out)

    def _counts_of(self, out: str) -> pl.LazyFrame:
        """The labels of a result; the file is asked only if need be: another command may be replacing it."""
        counts = self.work.label_counts
        return (
            _each_once(scan_labels(out))
            if counts is None
            else pl.LazyFrame({"label": [*counts], "items": [*counts.values()]})
        )

    @property
    def taken(self) -> VoteColumns:
        """What was taken from the table."""
        return self.source.taken if self.engine == "memory" else self.work.columns

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of results: that of the input, and where the labels come from."""
        own = {} if self.table is None else dict(self.table.metadata)
        options: dict[str, Any] = {"metric": self.metric, "gold": self.gold, "source": self.votes}
        if self.filling is not None:
            options |= {name: value for name, value in vars(self.filling).items() if value}
        return own | provenance(self.fitted if self.n_rows else self.model, options)


def _each_once(frame: pl.LazyFrame) -> pl.LazyFrame:
    return frame.select("label", pl.lit(1, pl.Int64).alias("items"))


def watched(frame: pl.LazyFrame, advance: Callable[[int], None]) -> pl.LazyFrame:
    """The same rows, with progress reported now and then; unchanged if there is no terminal."""
    if not console.is_terminal:
        return frame

    def tell(batch: pl.DataFrame) -> pl.DataFrame:
        advance(batch.height)
        return batch

    return frame.map_batches(tell, schema=frame.collect_schema(), streamable=True)


def count_labels(labels: pl.LazyFrame) -> dict[Any, int]:
    """How many rows of a result have each label, most first; None for none."""
    with reading("the result", "table"):
        counts = labels.group_by("label").agg(pl.col("items").sum()).collect(engine="streaming")
    return dict(counts.sort("items", "label", descending=[True, False]).iter_rows())


def print_label_counts(counts: dict[Any, int]) -> None:
    """A table of how many items got each label."""
    total = sum(counts.values())
    table = Shown("label", "items", "share")
    table.columns[1].justify = table.columns[2].justify = "right"
    for name, items in counts.items():
        table.add_row("(no label)" if name is None else printable(name), f"{items:,}", f"{items / total:.1%}")
    console.print(table)
