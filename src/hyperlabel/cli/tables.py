"""Tables that commands read and write: votes with the columns beside them, labels, results."""

import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hyperlabel.cli.options import ENGINES, split_names
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.files import replacing
from hyperlabel.frames import Column
from hyperlabel.models import LabelModel
from hyperlabel.read import TABLES, lf_columns, read_array, read_table, read_votes
from hyperlabel.votes import Votes

_LARGE_CSV = 1 << 28  # bytes of a csv that is streamed, not read into memory


@dataclass(frozen=True)
class Selection:
    """Which columns of a table are votes, and for which classes.

    Attributes:
        lfs: Columns that are LFs, as names or patterns; None for all but those with another meaning.
        long: The columns of item, LF and vote of a long table.
        classes: All classes; None to infer them.
        as_typed: Whether classes are text that stands for whatever the votes hold.
    """

    lfs: list[str] | None = None
    long: list[str] | None = None
    classes: Sequence[Hashable] | None = None
    as_typed: bool = False

    @classmethod
    def parse(cls, *, lfs: str | None, long: str | None, classes: str | None) -> "Selection":
        """From the options that commands share.

        >>> Selection.parse(lfs="lf_*", long=None, classes=None).lfs
        ['lf_*']
        """
        names = (split_names(lfs, "--lfs"), split_names(long, "--long"), split_names(classes, "--classes"))
        if names[0] is not None and names[1] is not None:
            raise ParameterError(
                "--lfs and --long are both given; expected --lfs for a wide table, --long for a long one"
            )
        return cls(*names, as_typed=True)

    def of_model(self, model: LabelModel) -> "Selection":
        """The same, with the LFs and classes of a model where it knows them and nothing was typed."""
        fitted = model.is_fitted
        names = model.lf_names_ if fitted and self.lfs is None and self.long is None else None
        classes = model.classes_.tolist() if fitted else model.classes
        selection = self if names is None else replace(self, lfs=list(names))
        if classes is None or self.classes is not None:
            return selection
        return replace(selection, classes=classes, as_typed=False)


@dataclass(frozen=True)
class Source:
    """Votes and the table they came from.

    Attributes:
        votes: The votes.
        frame: One row per item: the columns that pass through to the output.
        key: The column that identifies an item, if there is one.
    """

    votes: Votes
    frame: pl.DataFrame
    key: str | None


def open_source(path: Path, selection: Selection, labels: Sequence[str] = ()) -> Source:
    """Read votes with the columns beside them. A column that is named among `labels`, gold or truth, is no LF."""
    if path.suffix not in TABLES or path.is_dir():
        return _open_array(path, selection)
    frame = read_table(path)
    if selection.long is not None:
        return _open_long(frame, selection, labels)
    columns = [c for c in lf_columns(frame.columns, selection.lfs) if c not in labels]
    votes = Votes.from_frame(frame, lfs=columns, classes=match_classes(selection, frame.lazy().select(columns)))
    return Source(votes, frame, "id" if "id" in frame.columns else None)


def _open_array(path: Path, selection: Selection) -> Source:
    """Votes of an array or a WRENCH folder, which have no columns that an option could name."""
    classes = _numbers(selection.classes) if selection.as_typed else selection.classes
    votes = read_votes(path, classes=classes)
    unusable = "--lfs" if selection.lfs else "--long" if selection.long else None
    if unusable is not None:
        raise ParameterError(f"{unusable} names columns, and '{path}' has none; leave {unusable} out")
    items = np.arange(votes.n_items) if votes.items is None else votes.items
    return Source(votes, pl.DataFrame({"id": items}), "id")


def _open_long(frame: pl.DataFrame, selection: Selection, labels: Sequence[str]) -> Source:
    names = selection.long or []
    if len(names) != 3:
        raise ParameterError(f"--long is '{','.join(names)}'; expected three columns: item,lf,vote")
    item, lf, vote = names
    classes = match_classes(selection, frame.lazy().select([vote])) if vote in frame.columns else None
    votes = Votes.from_long(frame, item=item, lf=lf, vote=vote, classes=classes)
    items = frame.select(item).unique(maintain_order=True)
    for name in labels:
        if name in frame.columns and name not in names:
            items = items.with_columns(_one_per_item(frame, item, name))
    return Source(votes, items, item)


def _one_per_item(frame: pl.DataFrame, item: str, column: str) -> pl.Series:
    """A column of a long table, which must not differ between the rows of an item. -> (n,)."""
    values = frame.group_by(item, maintain_order=True).agg(pl.col(column).drop_nulls().unique())
    several = values.filter(pl.col(column).list.len() > 1)
    if len(several):
        name, found = several.row(0)
        raise VotesError(f"column '{column}' has {found[0]!r} and {found[1]!r} for item {name!r}; expected one value")
    return values[column].list.first()


def match_classes(selection: Selection, votes: pl.LazyFrame) -> Sequence[Hashable] | None:
    """The classes of a selection in the type that the columns of votes have, if they were typed as text."""
    classes = selection.classes
    if classes is None or not selection.as_typed:
        return classes
    kinds = _kinds(votes)
    if kinds == {"boolean"} and {str(c).lower() for c in classes} <= {"true", "false"}:
        return [str(c).lower() == "true" for c in classes]
    return classes if "text" in kinds else _numbers(classes)


def _kinds(votes: pl.LazyFrame) -> set[str]:
    """What columns hold, those without any vote left out: `text`, `boolean` or `number`."""
    texts = (pl.String, pl.Categorical, pl.Enum)
    kinds = {
        name: "text" if kind in texts else "boolean" if kind == pl.Boolean else "number"
        for name, kind in votes.collect_schema().items()
    }
    empty = {name: pl.col(name).cast(pl.String) == "" if kinds[name] == "text" else pl.lit(False) for name in kinds}
    voted = votes.select((pl.col(name).is_not_null() & ~empty[name]).any() for name in kinds)
    return {kinds[name] for name, found in voted.collect(engine="streaming").row(0, named=True).items() if found}


def _numbers(classes: Sequence[Hashable] | None) -> Sequence[Hashable] | None:
    """Classes that were typed, as numbers if all are."""
    if classes is None or not all(str(c).isdecimal() for c in classes):
        return classes
    return [int(str(c)) for c in classes]


def choose_engine(engine: str, votes: Path, out: Path | None, *, long: list[str] | None, gold: str | None) -> str:
    """The engine to work with: that of the option, if it can; else Polars where it can and gains, and memory.

    Engines read wide tables, with gold as one of the columns. Each pass parses a csv anew, so Polars gains from a size
    on that memory may not hold.
    """
    if engine not in ("auto", "memory", *ENGINES):
        raise ParameterError(f"--engine is '{engine}'; expected auto, memory, {', '.join(ENGINES)}")
    folder = votes.is_dir() and any(votes.glob("*.parquet"))
    wide = (folder or (votes.is_file() and votes.suffix in TABLES)) and long is None
    known = gold is None or (wide and gold in scan(votes).collect_schema().names())
    if engine == "auto":
        large = folder or TABLES.get(votes.suffix) == "parquet" or (wide and votes.stat().st_size > _LARGE_CSV)
        return "polars" if wide and known and large else "memory"
    if engine == "memory":
        return engine
    if long is not None or not known:
        option = "--long" if long is not None else f"--gold {gold}, which is no column of '{votes}'"
        raise ParameterError(f"--engine {engine} cannot be used with {option}; use --engine memory")
    if out is None and engine != "polars":
        raise ParameterError(f"--engine {engine} writes parquet; name a file with --out")
    return engine


def scan(path: Path) -> pl.LazyFrame:
    """A table whose rows are read when needed."""
    from hyperlabel.engines.polars import scan_table

    try:
        frame: pl.LazyFrame = scan_table(path)
        frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise VotesError(f"'{path}' cannot be read: {str(error).splitlines()[0]}. Is it a whole table?") from error
    return frame


def scan_result(path: Path) -> pl.LazyFrame:
    """The column of labels of a result that was written, read when needed."""
    if path.is_dir() or TABLES[path.suffix] == "parquet":
        files = sorted(path.glob("*.parquet")) if path.is_dir() else path
        return pl.scan_parquet(files, glob=False).select("label")
    separator = "\t" if TABLES[path.suffix] == "tsv" else ","
    return pl.scan_csv(path, separator=separator, infer_schema=False, glob=False).select("label")


def read_labels(name: str, source: Source, what: str) -> object:
    """Gold or truth: a column of the same table, a table with `id` and the class, or an npy array.

    Returns:
        What `LabelModel.fit` takes: one class per item.
    """
    if name in source.frame.columns:
        return source.frame[name].to_list()
    path = Path(name)
    if not path.is_file() or path.suffix not in (*TABLES, ".npy"):
        raise VotesError(
            f"--{what} is '{name}'; expected a column of the votes table ({', '.join(source.frame.columns)}) "
            f"or a file that ends in {', '.join(TABLES)} or .npy"
        )
    if path.suffix == ".npy":
        return _read_array(path, what)
    table = read_table(path)
    key = "id" if "id" in table.columns or source.key is None else source.key
    column = _class_column(table, key, name)
    values: list[Any] = [None] * source.votes.n_items
    for row, value in zip(_row_numbers(table[key], source, name), table[column].to_list(), strict=True):
        values[row] = value
    return values


def _read_array(path: Path, what: str) -> object:
    try:
        return read_array(path)
    except VotesError as error:
        raise VotesError(f"--{what} is '{path}', which cannot be read as an array of numbers: {error}") from error


def _class_column(table: pl.DataFrame, key: str, name: str) -> str:
    others = [column for column in table.columns if column != key]
    named = [column for column in others if column in ("gold", "truth", "label", "class")]
    if key not in table.columns or not (len(others) == 1 or len(named) == 1):
        raise VotesError(
            f"'{name}' has the columns {', '.join(table.columns)}; expected '{key}' and one column with the class "
            "(or one named gold, truth, label or class)"
        )
    return named[0] if len(named) == 1 else others[0]


def _row_numbers(ids: pl.Series, source: Source, name: str) -> list[int]:
    """The item of each identifier; without an id column items are numbered from 0."""
    known = range(source.votes.n_items) if source.key is None else source.frame[source.key].to_list()
    place = {value: row for row, value in enumerate(known)}
    if len(place) != source.votes.n_items:
        raise VotesError(f"column '{source.key}' of the votes does not identify items: it holds a value twice")
    where = f"'{name}', column '{ids.name}'"
    for value in ids:
        if value not in place:
            raise VotesError(f"{where} has {value!r}, which no item of the votes has")
    column = Column.from_values("id", ids.to_list())
    if len(column.values) != len(ids):
        twice = column.values[int(np.bincount(column.codes).argmax())]
        raise VotesError(f"{where} has {twice!r} more than once; give each item one class")
    return [place[value] for value in ids]


def check_output(path: Path | None, *, folder: bool = False) -> None:
    """Refuse a result that cannot be written, before any work is done; some engines write a folder."""
    if path is None:
        return
    if path.suffix not in TABLES:
        raise ParameterError(f"--out is '{path}'; expected a name that ends in {', '.join(TABLES)}")
    if not path.parent.is_dir():
        raise ParameterError(f"--out is '{path}', but there is no folder '{path.parent}'; make it first")
    if path.is_dir() and not folder:
        raise ParameterError(f"--out is '{path}', which is a folder; expected the name of a file")


def make_folder(path: Path) -> None:
    """Make the folder that results go to, if it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"--out is '{path}', where no folder can be made: {error.strerror}") from error


def write_table(table: pl.DataFrame, path: Path | None) -> None:
    """Write a table by its ending, csv to standard output without a path.

    The file appears whole or not at all: it is written under another name and renamed.
    """
    if path is None:
        sys.stdout.write(table.write_csv())
        return
    try:
        with replacing(path) as part:
            if TABLES[path.suffix] == "parquet":
                table.write_parquet(part)
            else:
                table.write_csv(part, separator="\t" if TABLES[path.suffix] == "tsv" else ",")
    except OSError as error:
        raise ParameterError(f"--out is '{path}', which cannot be written: {error.strerror or error}") from error
