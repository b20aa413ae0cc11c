"""Tables that commands read and write: votes and their other columns, labels, results."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hyperlabel.cli.options import ENGINES, TableOptions, split_names
from hyperlabel.columns.frames import Column
from hyperlabel.columns.rule import VoteColumns, choose_columns
from hyperlabel.columns.sources import exactly
from hyperlabel.errors import ParameterError, VotesError, warn_of_votes
from hyperlabel.files import is_folder
from hyperlabel.models import LabelModel
from hyperlabel.shown import printable
from hyperlabel.tables import Table, check_target, read_table
from hyperlabel.tables.arrays import ARRAYS, read_array
from hyperlabel.votes import Votes
from hyperlabel.votes.outcomes import Outcomes
from hyperlabel.votes.read import number_texts, read_votes
from hyperlabel.votes.wrench import is_wrench

LARGE = 1 << 28
"""From this many bytes on, a csv or JSON lines file is streamed, not read into memory."""
WIDE = 1000
"""From this many columns on, a small table is read into memory: engines ask about each column."""


@dataclass(frozen=True)
class Selection:
    """Which columns of a table are votes, and for which classes."""

    # Columns that are LFs, as they were typed; None for all but those with another meaning; see `lfs_among`.
    lfs: list[str] | None = None
    long: list[str] | None = None  # the columns of item, LF and vote of a long table
    classes: Sequence[Hashable] | None = None  # all classes; None to infer them
    as_typed: bool = False  # whether classes were typed as text, to be converted to the type of the votes
    delimiter: str | None = None  # the separator of a csv; None to find it
    encoding: str | None = None  # the encoding of a text table; None to find it
    abstain: Sequence[Hashable] | None = None  # values that abstain; None for the usual ones
    drop: list[str] | None = None  # columns that are not LFs, as they were typed
    scores: list[str] | None = None  # columns of scores, as names or patterns; None if there are none
    like: Outcomes | None = None  # where the scores of a fitted model are cut

    @classmethod
    def parse(cls, options: TableOptions) -> "Selection":
        """From the options that commands share.

        >>> Selection.parse(TableOptions(lfs=["lf_*"], abstain="skip,9")).abstain
        [-1, 'skip', '9', 9]
        """
        wide = "--lfs" if options.lfs else "--drop" if options.drop else None
        if wide is not None and options.long is not None:
            raise ParameterError(
                f"{wide} and --long are both given; expected {wide} for a wide table, --long for a long one"
            )
        long, classes = split_names(options.long, "--long"), split_names(options.classes, "--classes")
        separator = "\t" if options.delimiter in ("\\t", "tab") else options.delimiter
        abstain = None if options.abstain is None else _abstentions(split_names(options.abstain, "--abstain") or [])
        scores, drop = split_names(options.scores, "--scores"), options.drop or None
        if scores is not None and long is not None:
            raise ParameterError("--scores and --long are both given; hyperlabel jury reads scores of a long table")
        return cls(options.lfs or None, long, classes, True, separator, options.encoding, abstain, drop, scores)

    def lfs_among(self, columns: Sequence[str]) -> list[str] | None:
        """The LFs as names or patterns: one option is split at commas, unless a column has exactly that name.

        >>> selection = Selection(lfs=["a,b"])
        >>> selection.lfs_among(["a", "b"]), selection.lfs_among(["a,b"])
        (['a', 'b'], ['a,b'])
        """
        return _split_typed(self.lfs, columns, "--lfs")

    def dropped_among(self, columns: Sequence[str]) -> list[str]:
        """The columns that are not LFs, typed as for `lfs_among`."""
        typed = _split_typed(self.drop, columns, "--drop")
        try:
            return [] if typed is None else list(choose_columns(columns, typed))
        except VotesError as error:
            raise VotesError(f"--drop: {error}") from error

    def of_model(self, model: LabelModel) -> "Selection":
        """The same, with the LFs and classes of a model where it knows them and nothing was typed."""
        fitted = model.is_fitted
        names = model.lf_names_ if fitted and self.lfs is None and self.long is None else None
        classes = model.classes_.tolist() if fitted else model.classes
        selection = self if names is None else replace(self, lfs=list(names))
        if fitted and names is not None and model.outcomes_ is not None and model.outcomes_.cuts:
            selection = replace(selection, like=model.outcomes_)
        if classes is None or self.classes is not None:
            return selection
        return replace(selection, classes=classes, as_typed=False)


def _split_typed(typed: list[str] | None, columns: Sequence[str], option: str) -> list[str] | None:
    """Names or patterns: one option is split at commas, unless a column has exactly that name."""
    if typed is None or len(typed) > 1 or typed[0] in columns:
        return typed
    return split_names(typed[0], option)


def _abstentions(texts: list[str]) -> list[Hashable]:
    """What was typed, also as numbers; -1 always abstains among numbers."""
    return [-1, *texts, *(int(text) for text in texts if text.lstrip("-").isdecimal() and text != "-1")]


_NUMBERED = (
    ". The votes have no column with the name of an identifier, so items are numbered from 0; rename the column that "
    "identifies them to 'id' in both tables"
)


@dataclass(frozen=True)
class VotesInput:
    """Votes and the table they came from."""

    votes: Votes
    frame: pl.DataFrame  # one row per item: the columns that pass through to the output
    key: str | None  # the column that identifies an item, if there is one
    ignored: tuple[str, ...] = ()  # columns of a long table or an array that are not votes

    @property
    def taken(self) -> VoteColumns:
        """What was taken from the table."""
        votes = self.votes
        if votes.origin.columns is not None:
            return votes.origin.columns
        empty = votes.n_items * votes.n_lfs - len(votes.rows.vote)
        abstained = {None: empty} if empty else {}
        return VoteColumns(votes.lf_names, self.ignored, count_classes(votes), abstained)


def count_classes(votes: Votes) -> dict[Hashable, int]:
    """The votes for each class; one that is not for a class counts for the class that it leans to most."""
    cast = votes.rows.vote
    if votes.outcomes is not None:
        cast = votes.outcomes.main_classes[cast]
    counts = np.bincount(cast[cast >= 0], minlength=votes.n_classes).tolist()
    return dict(zip(votes.classes, counts, strict=True))


def open_table(votes: str, selection: Selection) -> Table | None:
    """The table that votes are in; None for an array or a WRENCH folder."""
    path = Path(votes)
    if path.suffix.lower() in ARRAYS or (is_folder(path) and is_wrench(path)):
        return None
    return Table.open(votes, delimiter=selection.delimiter, encoding=selection.encoding)


def open_source(votes: str, selection: Selection, labels: Sequence[str] = ()) -> VotesInput:
    """Read votes and their other columns. A column named in `labels`, such as gold or truth, is not an LF."""
    return read_source(votes, open_table(votes, selection), selection, labels)


def open_labeled(
    votes: str, selection: Selection, names: Mapping[str, str | None], others: Sequence[str | None] = ()
) -> tuple[VotesInput, dict[str, object]]:
    """Read votes, and for each purpose, such as gold, one class per item or None.

    `names` has a column or file for each purpose, see `read_labels`; `others` are more columns that are not LFs.
    """
    source = open_source(votes, selection, [name for name in (*names.values(), *others) if name is not None])
    return source, {what: None if name is None else read_labels(name, source, what) for what, name in names.items()}


def name_items(source: VotesInput, places: Sequence[int]) -> pl.Series:
    """The identifiers of items, or else their rows, counted from 0: a column that `read_labels` finds again."""
    if source.key is not None and source.frame[source.key].n_unique() == len(source.frame):
        return source.frame[source.key][places]
    return pl.Series(_name_of_places(source.frame.columns), places, pl.Int64)


def _name_of_places(columns: Sequence[str]) -> str:
    """The column that says in which row of VOTES, which has these columns, an item without an identifier is.

    >>> _name_of_places(["row", "a"])
    'item'
    """
    return next(name for name in ("row", "item", "place") if name not in columns)


def read_source(votes: str, table: Table | None, selection: Selection, labels: Sequence[str] = ()) -> VotesInput:
    """As `open_source`, for a table that is already open."""
    if table is None:
        return _open_array(Path(votes), selection)
    frame = table.collect()
    if selection.long is not None:
        return _open_long(frame, selection, labels, written=table.kind == "csv")
    if selection.scores is not None or selection.like is not None:
        return _open_scores(frame, selection)
    lfs, others = wide_columns(table, selection, labels)
    columns = list(choose_columns(frame.columns, lfs, others))
    numbered = number_texts(frame.lazy(), columns).collect() if table.kind == "csv" else frame
    classes = match_classes(selection, numbered.lazy(), columns)
    read = Votes.from_frame(numbered, lfs=lfs, others=others, abstain=selection.abstain, classes=classes)
    return VotesInput(read, frame, _find_key(read, frame))


def _find_key(votes: Votes, frame: pl.DataFrame) -> str | None:
    """The column that identifies the items; `id` also if it does not, so that matching by it is refused."""
    return votes.origin.name if votes.origin.name is not None else "id" if "id" in frame.columns else None


def wide_columns(table: Table, selection: Selection, labels: Sequence[str] = ()) -> tuple[list[str] | None, list[str]]:
    """The columns of a wide table that are LFs, None if the rule must find them, and those that are not.

    Columns that come from folder names are LFs only if they are named; gold and truth never are.
    """
    named, labels = selection.lfs_among(table.columns), [*labels, *selection.dropped_among(table.columns)]
    if named is None:
        return None, [*labels, *table.hive]
    return [name for name in choose_columns(table.columns, named) if name not in labels], [*labels]


def _open_array(path: Path, selection: Selection) -> VotesInput:
    """Votes of an array or a WRENCH folder, which have no columns that an option could name."""
    classes = _numbers(selection.classes) if selection.as_typed else selection.classes
    votes = read_votes(path, classes=classes)
    typed = {"--lfs": selection.lfs, "--drop": selection.drop, "--long": selection.long, "--abstain": selection.abstain}
    unusable = next((option for option, value in typed.items() if value), None)
    if unusable is not None:
        raise ParameterError(f"{unusable} names columns, but '{path}' has none; leave {unusable} out")
    items = np.arange(votes.n_items) if votes.items is None else votes.items
    return VotesInput(votes, pl.DataFrame({"id": items}), "id")


def read_directions(columns: Sequence[str], scores: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The columns of scores, and the direction of those that state one: `toxicity:down`.

    >>> read_directions(["a_1", "a_2", "b"], ["a_*:down", "b"])
    (['a_1', 'a_2', 'b'], {'a_1': 'down', 'a_2': 'down'})
    """
    names: dict[str, None] = {}
    direction = {}
    for typed in scores:
        head, mark, way = typed.rpartition(":")
        says = mark and way in ("up", "down") and typed not in columns
        chosen = choose_columns(columns, [head if says else typed])
        names.update(dict.fromkeys(chosen))
        direction.update(dict.fromkeys(chosen, way) if says else {})
    return list(names), direction


def _open_scores(frame: pl.DataFrame, selection: Selection) -> VotesInput:
    """Votes of a table in which some LFs, or all, give scores."""
    votes = _read_scores(frame, selection, "id" if "id" in frame.columns else None)
    ignored = tuple(name for name in frame.columns if name not in votes.lf_names)
    return VotesInput(votes, frame, _find_key(votes, frame), ignored)


def _read_scores(frame: pl.DataFrame, selection: Selection, key: str | None) -> Votes:
    """Scores, cut where a fitted model cut them or anew, and the votes beside them."""
    if selection.like is not None:
        assert selection.lfs is not None  # the LFs of the model
        assert selection.classes is not None
        return Votes.read_like(frame, selection.lfs, selection.classes, selection.like, key)
    if selection.classes is None:
        raise ParameterError("--scores is given without --classes; expected the classes, from low scores to high ones")
    names, direction = read_directions(frame.columns, selection.scores or [])
    votes = Votes.from_scores(frame, classes=selection.classes, lfs=names, item=key, direction=direction)
    lfs = selection.lfs_among(frame.columns)
    if lfs is None:
        return votes
    voting = number_texts(frame.lazy(), choose_columns(frame.columns, lfs)).collect()
    return votes.join(Votes.from_frame(voting, lfs=lfs, item=key, classes=selection.classes))


def _open_long(frame: pl.DataFrame, selection: Selection, labels: Sequence[str], *, written: bool) -> VotesInput:
    names = selection.long or []
    if len(names) != 3:
        raise ParameterError(f"--long is '{','.join(names)}'; expected three columns: item,lf,vote")
    item, lf, vote = names
    numbered = number_texts(frame.lazy(), [vote]).collect() if written else frame
    classes = match_classes(selection, numbered.lazy(), [vote]) if vote in frame.columns else None
    votes = Votes.from_long(numbered, item=item, lf=lf, vote=vote, abstain=selection.abstain, classes=classes)
    items = frame[[item]].unique(maintain_order=True)
    for name in labels:
        if name in frame.columns and name not in names:
            items = items.with_columns(_one_per_item(frame[item], frame[name]))
    return VotesInput(votes, items, item, tuple(name for name in frame.columns if name not in names))


def _one_per_item(items: pl.Series, column: pl.Series) -> pl.Series:
    """A column of a long table, which must not differ between the rows of an item. -> (n,)."""
    rows = pl.DataFrame({"item": items, "value": column})  # names of ours: others could be patterns to Polars
    values = rows.group_by("item", maintain_order=True).agg(pl.col("value").drop_nulls().unique())
    several = values.filter(pl.col("value").list.len() > 1)
    if len(several):
        name, found = several.row(0)
        raise VotesError(
            f"column '{column.name}' has {found[0]!r} and {found[1]!r} for item {name!r}; expected one value"
        )
    return values["value"].list.first().alias(column.name)


def match_classes(selection: Selection, frame: pl.LazyFrame, columns: Sequence[str]) -> Sequence[Hashable] | None:
    """The classes of a selection in the type of the columns of votes, if they were typed as text."""
    classes = selection.classes
    if classes is None or not selection.as_typed:
        return classes
    kinds = _kinds(frame.select(exactly(columns)))
    if kinds == {"boolean"} and {str(c).lower() for c in classes} <= {"true", "false"}:
        return [str(c).lower() == "true" for c in classes]
    return classes if "text" in kinds else _numbers(classes)


def _kinds(votes: pl.LazyFrame) -> set[str]:
    """What columns hold, `text`, `boolean` or `number`, without the columns that have no vote."""
    texts = (pl.String, pl.Categorical, pl.Enum)
    kinds = [
        "text" if kind in texts else "boolean" if kind == pl.Boolean else "number"
        for kind in votes.collect_schema().dtypes()
    ]
    columns = [pl.nth(place) for place in range(len(kinds))]
    cast = [
        c.cast(pl.String) != "" if kind == "text" else c.is_not_null() for c, kind in zip(columns, kinds, strict=True)
    ]
    voted = votes.select(each.any() for each in cast).collect(engine="streaming").row(0)
    return {kind for kind, found in zip(kinds, voted, strict=True) if found}


def _numbers(classes: Sequence[Hashable] | None) -> Sequence[Hashable] | None:
    """Classes that were typed, as numbers if all are."""
    if classes is None or not all(str(c).isdecimal() for c in classes):
        return classes
    return [int(str(c)) for c in classes]


def choose_engine(engine: str, votes: str, table: Table | None, selection: Selection, gold: str | None) -> str:
    """The engine to use: that of the option, if it can do the work; else Polars if it can and is faster, or memory.

    Engines read a row per item, with gold as one of the columns. Each pass parses a csv again, so Polars is used for a
    csv that may not fit in memory.
    """
    if engine not in ("auto", "memory", *ENGINES):
        raise ParameterError(f"--engine is '{engine}'; expected auto, memory, {', '.join(ENGINES)}")
    obstacle = _obstacle(votes, table, selection, gold)
    if engine == "auto":
        return "polars" if table is not None and obstacle is None and _gains(table) else "memory"
    if obstacle is not None and engine != "memory":
        raise ParameterError(f"--engine {engine} cannot be used with {obstacle}; use --engine memory")
    return engine


def _gains(table: Table) -> bool:
    """Whether Polars labels a table faster than memory, or in less of it."""
    return size_of(table) > LARGE or (table.kind in ("parquet", "arrow") and len(table.columns) <= WIDE)


def _obstacle(votes: str, table: Table | None, selection: Selection, gold: str | None) -> str | None:
    """What was asked for that engines cannot do, if anything."""
    if table is None:
        return f"the array '{votes}'"
    if selection.scores is not None or selection.like is not None:
        return "--scores"
    if selection.long is not None:
        return "--long"
    return None if gold is None or gold in table.columns else f"--gold {gold}, which is not a column of '{votes}'"


def is_empty(table: Table) -> bool:
    """Whether a table has no rows."""
    with table.reading():
        return not table.lazy().head(1).collect(engine="streaming").height


def size_of(table: Table) -> int:
    """Bytes of the files of a table."""
    return sum(file.stat().st_size for file in table.files)


def scan_labels(out: str) -> pl.LazyFrame:
    """The column of labels of a result that was written, read when needed."""
    frame: pl.LazyFrame = Table.open(out).lazy()
    return frame


def read_labels(name: str, source: VotesInput, what: str) -> object:
    """Gold or truth: a column of the same table, a table with identifiers and the class, or an npy array."""
    if name in source.frame.columns:
        return _class_values(source.frame, name, source)
    path = Path(name)
    if path.suffix.lower() == ".npy":
        return _read_array(path, what)
    try:
        table = read_table(name)
    except VotesError as error:
        raise VotesError(
            f"--{what} is '{printable(name)}', which is neither a column of the votes table "
            f"({', '.join(map(printable, source.frame.columns))}) nor a table: {error}"
        ) from error
    own = _name_of_places(source.frame.columns) if source.key is None else source.key
    key = own if own in table.columns else "id" if "id" in table.columns else own
    column = class_column(table, key, name, _NUMBERED if source.key is None else "")
    values: list[Any] = [None] * source.votes.n_items
    for row, value in zip(_row_numbers(table[key], source, name), _class_values(table, column, source), strict=True):
        if row is not None:
            values[row] = value
    return values


def _class_values(table: pl.DataFrame, column: str, source: VotesInput) -> list[Any]:
    """A column of classes; strings of a csv become numbers if the votes are numbers."""
    numbers = all(isinstance(c, int) and not isinstance(c, bool) for c in source.votes.classes)
    frame = number_texts(table.lazy(), [column]).collect() if numbers else table
    return frame[column].to_list()


def _read_array(path: Path, what: str) -> object:
    try:
        return read_array(path)
    except VotesError as error:
        raise VotesError(f"--{what} is '{path}', which cannot be read as an array of numbers: {error}") from error


def class_column(table: pl.DataFrame, key: str, name: str, hint: str = "") -> str:
    """The column of a table of gold or truth that holds the class; `hint` ends the error."""
    others = [column for column in table.columns if column != key]
    named = [column for column in others if column in ("gold", "truth", "label", "class")]
    if key not in table.columns or not (len(others) == 1 or len(named) == 1):
        raise VotesError(
            f"'{name}' has the columns {', '.join(table.columns)}; expected '{key}' and one column with the class "
            f"(or one named gold, truth, label or class){hint}"
        )
    return named[0] if len(named) == 1 else others[0]


def _row_numbers(ids: pl.Series, source: VotesInput, name: str) -> list[int | None]:
    """The item of each identifier; without an id column items are numbered from 0.

    One file of labels may serve many slices of a set: identifiers of other items are counted in a warning.
    """
    known = pl.Series(range(source.votes.n_items)) if source.key is None else source.frame[source.key]
    where = f"'{name}', column '{ids.name}'"
    check_ids(ids, where)
    kinds = {known.dtype, ids.dtype}
    if len(kinds) > 1 and kinds & {pl.String, pl.Boolean}:  # one of the two is from a csv; true is not the item 1
        known, ids = known.cast(pl.String), ids.cast(pl.String)
    place = {} if known.dtype.is_nested() else {value: row for row, value in enumerate(known)}
    if len(place) != source.votes.n_items:
        raise VotesError(f"column '{source.key}' of the votes does not identify items: it has a value twice, or lists")
    foreign = [value for value in ids if value not in place]
    if len(foreign) == len(ids) > 0:
        hint = _NUMBERED if source.key is None else "; check the ids"
        raise VotesError(f"{where} has no id of an item in the votes: {foreign[0]!r} is unknown{hint}")
    if foreign:
        warn_of_votes([f"{where} has {len(foreign):,} of {len(ids):,} values that no item has, such as {foreign[0]!r}"])
    column = Column.from_values("id", ids.to_list())
    if len(column.values) != len(ids):
        twice = column.values[int(np.bincount(column.codes).argmax())]
        raise VotesError(f"{where} has {twice!r} more than once; give each item one class")
    return [place.get(value) for value in ids]


def check_ids(ids: pl.Series, where: str) -> None:
    """Refuse values in a table of gold or truth that cannot be the identifier of an item."""
    if ids.dtype.is_nested():
        raise VotesError(f"{where} holds values of the type {ids.dtype}; expected the id of an item in every row")
    if ids.null_count():
        raise VotesError(f"{where} is empty in row {ids.is_null().arg_max()}; expected the id of an item in every row")


def check_output(out: str | None, engine: str = "memory") -> None:
    """Refuse a result that cannot be written, or not by this engine, before any work is done."""
    if out in (None, "-") and engine in ("duckdb", "spark", "dask"):
        raise ParameterError(f"--engine {engine} writes parquet; name a file with --out")
    if engine in ENGINES and out not in (None, "-"):
        from hyperlabel.engines import check_result

        check_result(Path(str(out)), engine, "--out")
    elif out is not None:
        check_target(out, "--out")


def check_file(out: str | Path) -> None:
    """Refuse the name of a file that cannot be written, before any work is done."""
    path = Path(out)
    if not is_folder(path.parent):
        raise ParameterError(f"--out is '{out}', but there is no folder '{path.parent}'; make it first")
    if is_folder(path):
        raise ParameterError(f"--out is '{out}', which is a folder; expected the name of a file")


def make_folder(path: Path) -> None:
    """Make the folder for results, if it does not exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"--out is '{path}', but the folder cannot be made: {error.strerror}") from error
