"""Labeling a table, in memory or by an engine: the work of `hyperlabel label` and `fit`."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hyperlabel import engines
from hyperlabel._core import Metric, is_file, is_url, kind_of, printable, read_tensors
from hyperlabel.classify import JointModel, load
from hyperlabel.cli._inputs import Selection, VotesInput, collect_votes, match_classes, open_table, read_labels
from hyperlabel.cli._options import ENGINES, TableOptions, split_names
from hyperlabel.cli._terminal import console, output, plain_table, progress
from hyperlabel.data import (
    Format,
    Table,
    check_target,
    choose_columns,
    find_other_lfs,
    may_be_votes,
    number_texts,
    read_array,
    reading,
    write_table,
)
from hyperlabel.engines import LabelingRun, MemoryRun
from hyperlabel.errors import ParameterError, warn_of_votes
from hyperlabel.lf import compare_profiles, describe_drift
from hyperlabel.models import LabelModel, provenance

LARGE = 1 << 28
"""From this many bytes on, a csv or JSON lines file is streamed, not read into memory."""
PREVIEW_ROWS, PREVIEW_COLUMNS = 10, 6
"""The part of a result that a terminal shows."""
WIDE = 1000
"""From this many columns on, a small table is read into memory: engines ask about each column."""


@dataclass(frozen=True)
class Filling:
    """Texts or features that items get their labels from, besides votes."""

    text: str | None  # a column of texts
    features: str | None  # columns of numbers, or one of lists of numbers; or an npy file with one row per item
    votes_only: bool  # whether items with votes are labeled by these alone
    encoder: str | None = None  # how texts become dense vectors

    @classmethod
    def parse(
        cls,
        text: str | None,
        features: str | None,
        votes_only: bool,
        engine: str,
        metric: Metric,
        encoder: str | None = None,
    ) -> "Filling | None":
        """Parse the options; refuse those that do not go together, or with the engine: only Polars streams texts."""
        if text is None and features is None:
            return None
        if text is not None and features is not None:
            raise ParameterError("--text and --features are both given; expected one of them")
        if encoder not in (None, "wordllama"):
            raise ParameterError(f"--encoder is '{encoder}'; expected wordllama")
        if engine not in ("auto", "memory"):
            option = "--features" if text is None else "--text"
            if option != "--text" or metric == "f1":
                option = f"{option} with --metric f1" if option == "--text" else option
                raise ParameterError(f"--engine is '{engine}', but {option} works in memory; leave --engine out")
            if engine != "polars":
                raise ParameterError(
                    f"--engine is '{engine}', but --text works in memory or with --engine polars; use one of these"
                )
        return cls(text, features, votes_only, encoder)

    def audit_options(self, reading: TableOptions) -> list[str]:
        """Return the options with which `audit` reads the same table: texts and features are not LFs there either."""
        name = self.text or self.features or ""
        named = reading.lfs or reading.long or not may_be_votes(name) or Path(name).suffix.lower() == ".npy"
        return [*reading.arguments, *([] if named else ["--drop", name])]

    def columns(self, table: Table | None) -> list[str]:
        """Return the columns of a table that hold texts or features and so are not LFs."""
        if table is None or Path(self.features or "").suffix.lower() == ".npy":
            return []
        if self.features is not None:
            one = self.features in table.columns
            names = [self.features] if one else split_names(self.features, "--features")
            return list(choose_columns(table.columns, names))
        if self.text not in table.columns:
            shown = ", ".join(map(printable, table.columns))
            raise ParameterError(f"--text is '{self.text}'; expected a column of VOTES: {shown}")
        return [str(self.text)]

    def read(self, frame: pl.DataFrame, columns: list[str]) -> Any:
        """Return the texts or features of the items, which these columns of a table hold."""
        if Path(self.features or "").suffix.lower() == ".npy":
            return read_array(Path(str(self.features)))
        option = "--text" if self.features is None else "--features"
        if not columns:
            raise ParameterError(f"{option} names columns, but VOTES has none; give --features FILE.npy")
        absent = next((name for name in columns if name not in frame.columns), None)
        if absent is not None:  # the LFs or votes of a long table
            raise ParameterError(f"{option} is '{printable(absent)}', which --long names too; expected another column")
        if self.features is not None:
            return _read_features(frame[columns])
        column = frame[columns[0]]
        if column.dtype.is_nested():
            raise ParameterError(f"--text is '{columns[0]}', a column of {column.dtype}; expected texts")
        return column.cast(pl.String).to_list()


def _read_features(frame: pl.DataFrame) -> Any:
    """Read columns of numbers (strings in a csv), or one column of lists of numbers. -> (n, q)."""
    for column in frame.select(pl.selectors.string()).iter_columns():
        filled = column.set(column == "", None)
        numbers = filled.cast(pl.Float64, strict=False)
        if numbers.null_count() == filled.null_count():  # all are numbers
            frame = frame.with_columns(numbers)
    for name, kind in frame.schema.items():
        nested = isinstance(kind, pl.List | pl.Array) and len(frame.columns) == 1
        if not (kind.is_numeric() or kind == pl.Boolean or nested):
            raise ParameterError(f"--features has column '{printable(name)}', which holds {kind}; expected numbers")
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_max() or 0)
            raise ParameterError(
                f"--features has column '{printable(name)}', which is empty in row {row}; "
                "expected a number in every row"
            )
    [first, *_] = frame.iter_columns()
    if not first.dtype.is_nested():
        return frame.cast(pl.Float64).to_numpy()
    rows = first.to_list()
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise ParameterError(
            f"--features has column '{printable(first.name)}' with lists of {lengths[0]} to {lengths[-1]} numbers; "
            "expected the same length in every row"
        )
    return np.array(rows, np.float64)


@dataclass(frozen=True)
class LabelTask:
    """Votes to label, and how."""

    model: LabelModel  # a fitted one labels in its state
    votes: str  # the name of the votes, as typed
    selection: Selection
    gold: str | None = None  # a column or file of known classes
    engine: str = "auto"
    metric: Metric = "accuracy"
    probabilities: bool = False  # whether to add the probabilities of all classes
    filling: Filling | None = None
    joint: JointModel | None = None  # a state that labels by votes and texts
    threshold: float | None = None  # the least probability of a label
    state: str | None = None  # the file of the fitted model, if it comes from one

    def start(self) -> LabelingRun | MemoryRun:
        """Open the votes and choose where to label them.

        An empty table is labeled by Polars: it has no votes to read into memory, and no gold or texts.
        """
        table, selection = open_table(self.votes, self.selection), self.selection.of_model(self.model)
        empty = False
        if table is not None and selection.long is None:
            with table.reading():
                empty = not table.lazy().head(1).collect(engine="streaming").height
        filling, gold = self.filling, None if empty else self.gold
        engine = self._choose_engine(table, selection, gold)
        columns = [] if filling is None else filling.columns(table)
        labels = columns if gold is None else [gold, *columns]
        if table is not None and (empty or engine != "memory"):
            text = None if filling is None or empty else filling.text
            return self._start_engine("polars" if engine == "memory" else engine, table, selection, labels, gold, text)
        source = collect_votes(self.votes, table, selection, labels)
        return MemoryRun(
            self.model,
            source.votes,
            source.frame,
            source.columns,
            gold=None if self.gold is None else read_labels(self.gold, source, "gold"),
            metric=self.metric,
            probabilities=self.probabilities,
            inputs=None if filling is None else filling.read(source.frame, columns),
            votes_only=filling is not None and filling.votes_only,
            embed=None if filling is None else filling.encoder,
            joint=self.joint,
            threshold=self.threshold,
            name=self.votes,
            other_lfs=self._find_other_lfs(source),
            metadata={} if table is None else table.metadata,
        )

    def _find_other_lfs(self, source: VotesInput) -> list[str]:
        """Find columns that vote for the classes of the fitted model and are not its LFs."""
        if not self.model.is_fitted or self.model.lf_names_ is None or self.selection.long is not None:
            return []
        others = source.frame[[name for name in source.columns.ignored if name in source.frame.columns]]
        numbered = number_texts(others.lazy(), [n for n in others.columns if may_be_votes(n)]).collect()
        classes = tuple(self.model.classes_.tolist())
        return find_other_lfs(numbered, (), classes, self.model.abstain_)

    def _choose_engine(self, table: Table | None, selection: Selection, gold: str | None) -> str:
        """Choose Polars for a table that may not fit in memory and for parquet, unless an engine was named.

        Each pass of an engine parses a csv again. Items without votes are filled in memory if the table fits.
        """
        if self.engine not in ("auto", "memory", *ENGINES):
            raise ParameterError(f"--engine is '{self.engine}'; expected auto, memory, {', '.join(ENGINES)}")
        obstacle = None  # an option that engines cannot work with
        if table is None:
            obstacle = f"the array '{self.votes}'"
        elif selection.scores is not None or selection.like is not None:
            obstacle = "--scores"
        elif selection.long is not None:
            obstacle = "--long"
        elif gold is not None and gold not in table.columns:
            obstacle = f"--gold {gold}, which is not a column of '{self.votes}'"
        if self.engine != "auto":
            if obstacle is not None and self.engine != "memory":
                raise ParameterError(f"--engine {self.engine} cannot be used with {obstacle}; use --engine memory")
            return self.engine
        filling = self.filling
        streams = filling is None or (filling.text is not None and self.metric == "accuracy")
        if table is None or obstacle is not None or not streams:
            return "memory"
        columnar = table.kind in ("parquet", "arrow") and len(table.columns) <= WIDE
        large = sum(file.stat().st_size for file in table.files) > LARGE
        return "polars" if large or (columnar and filling is None) else "memory"

    def _start_engine(
        self, engine: str, table: Table, selection: Selection, labels: list[str], gold: str | None, text: str | None
    ) -> LabelingRun:
        lfs, others = selection.wide_columns(table, labels)
        classes = None
        if selection.classes is not None and not self.model.is_fitted:
            names = choose_columns(table.columns, lfs, others)
            frame = number_texts(table.lazy(), names) if table.kind == "csv" else table.lazy()
            classes = match_classes(selection, frame, names)
        run = engines.start(
            table,
            lfs=lfs,
            others=others,
            abstain=selection.abstain,
            missing_lfs=selection.missing_lfs,
            model=self.model,
            classes=classes,
            gold=gold,
            probabilities=self.probabilities,
            source=self.filling is not None,
            text=text,
            votes_only=self.filling is not None and self.filling.votes_only,
            embed=None if self.filling is None else self.filling.encoder,
            joint=self.joint,
            threshold=self.threshold,
            metric=self.metric,
            engine=engine,
        )
        warn_of_votes(run.columns.warnings)
        return run

    def metadata(self, run: LabelingRun | MemoryRun, out: str) -> dict[str, str]:
        """Return what a result keeps: the input's metadata, and where the labels come from; texts have no room."""
        format = Format.of_name(Path(out).name)
        if format is None or format.kind in ("csv", "json"):
            return {}
        gold = self.gold if run.n_rows else None
        options: dict[str, Any] = {"metric": self.metric, "gold": gold, "source": self.votes, "state": self.state}
        if self.filling is not None:
            options |= {name: value for name, value in vars(self.filling).items() if value}
        return {**run.metadata, **provenance(run.model if run.n_rows else self.model, options)}


def warn_of_drift(run: LabelingRun | MemoryRun, model: LabelModel) -> None:
    """Warn of LFs that vote otherwise than in the state of a fitted model, if the state has their shares."""
    if not model.is_fitted or model.profile_ is None or not run.n_rows:
        return
    present = set(run.columns.lfs)
    missing = tuple(name for name in model.lf_names_ or () if name not in present)
    warn_of_votes(describe_drift(compare_profiles(model, run.profile, missing, list(run.other_lfs))))


def load_joint(name: str, filling: Filling | None) -> JointModel | None:
    """Load the state of votes and texts that a file holds, if texts or features are given."""
    if filling is None or kind_of(name) != "model":
        return None
    state = load(name)
    return state if isinstance(state, JointModel) else None


def mention_texts(name: str, filling: Filling | None) -> list[str]:
    """Say that the state in a file learned from texts or features too, if only votes are given."""
    if filling is not None or kind_of(name) != "model":
        return []
    kind = read_tensors(name, "model")[1].get("texts", {}).get("kind")
    return [] if kind is None else [f"labels by votes alone; {printable(name)} also labels by --{kind}"]


# Results.


def check_output(out: str | None, engine: str) -> None:
    """Refuse a result that cannot be written, or not by this engine, before any work is done."""
    if out in (None, "-") and engine in ("duckdb", "spark", "dask"):
        raise ParameterError(f"--engine {engine} writes parquet; name a file with --out")
    if engine in ENGINES and out not in (None, "-"):
        engines.check_result(str(out), engine, "--out")
    elif out is not None:
        check_target(out, "--out")


def describe_gold(run: LabelingRun | MemoryRun) -> list[str]:
    """Say what gold changes: the class balance, or nothing if there is none."""
    if run.n_rows and not run.model.n_gold_:
        return ["--gold has no class of any item: labels come from votes alone"]
    if run.balance is None:
        return []
    shares = (f"{printable(name)} {share:.1%}" for name, share in run.balance.items())
    return [f"class balance with gold: {', '.join(shares)}"]


def describe_target(run: LabelingRun | MemoryRun, votes: str, out: str | None) -> list[str]:
    """Say that the table is replaced, or a column of an earlier labeling in it."""
    names = run.table.columns if isinstance(run, MemoryRun) else list(run.engine.kinds())
    lines = [f"{printable(name)} is replaced: {printable(name)}_input is kept" for name in run.added.replaced(names)]
    if out is not None and is_file(votes) and is_file(out) and os.path.samefile(votes, out):
        lines.append(f"{printable(out)} is the table itself: it is replaced by its labeled rows")
    return lines


def write_result(run: LabelingRun | MemoryRun, out: str, metadata: dict[str, str]) -> None:
    """Write the labeled rows to a file, or to standard output for `-`."""
    frame = run.frame
    if isinstance(run, LabelingRun) and run.engine_name != "polars":
        with progress("labeling"):
            run.write(out if is_url(out) else Path(out), metadata)
    elif out == "-":  # the rows themselves show progress
        write_table(frame, out, metadata=metadata, argument="--out")
    else:
        with progress("labeling", run.n_rows) as advance:
            rows = watch(frame.lazy(), advance) if console.is_terminal else frame.lazy()
            write_table(rows, out, metadata=metadata, argument="--out")


def print_preview(run: LabelingRun | MemoryRun) -> None:
    """Print the first rows of a result: its first column, what labeling adds, and what else fits."""
    rows = run.frame.lazy().head(PREVIEW_ROWS).collect()
    first, *others = [name for name in rows.columns if name not in run.added.names]
    names = [first, *run.added.names, *others][:PREVIEW_COLUMNS]
    table = plain_table(*map(printable, names))
    for column in table.columns:
        column.no_wrap, column.overflow = True, "ellipsis"
    for row in rows.select(names).iter_rows():
        table.add_row(*("" if cell is None else _show_cell(cell) for cell in row))
    output.print(table)


def _show_cell(cell: object) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else printable(cell)


def watch(frame: pl.LazyFrame, advance: Callable[[int], None]) -> pl.LazyFrame:
    """Return the same rows, with progress reported now and then."""

    def advance_by(batch: pl.DataFrame) -> pl.DataFrame:
        advance(batch.height)
        return batch

    return frame.map_batches(advance_by, schema=frame.collect_schema(), streamable=True)


def count_labels(run: LabelingRun | MemoryRun, out: str) -> dict[Any, int]:
    """Count the rows of a result with each label, most first; None for no label.

    Reads the result only if the counts of patterns do not tell: another command may be replacing the file.
    """
    counts = run.label_counts
    if counts is None:
        frame = run.frame.lazy() if out == "-" else Table.open(out).lazy()
        with reading("the result", "table"):
            counts = dict(frame.group_by("label").len().collect(engine="streaming").iter_rows())
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0] is not None, pair[0])))
