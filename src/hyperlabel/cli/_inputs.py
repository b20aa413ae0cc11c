"""Inputs of commands: the label model that options ask for, the votes of a table, gold and truth."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hyperlabel._core import Metric, check_metric, is_file, is_folder, is_url, kind_of, printable, show_some
from hyperlabel.cli._options import (
    AuditOptions,
    JsonOptions,
    LearningOptions,
    ModelOptions,
    OutputOptions,
    TableOptions,
    split_names,
)
from hyperlabel.cli._terminal import PendingMessages, Summary, print_lines, say_warnings
from hyperlabel.data import (
    ABSTAINS,
    ARRAYS,
    UNIFORM,
    Outcomes,
    Table,
    VoteColumns,
    Votes,
    choose_columns,
    exactly,
    is_wrench,
    number_texts,
    read_array,
    read_table,
    read_votes,
)
from hyperlabel.errors import ParameterError, VotesError, warn_of_votes
from hyperlabel.models import HyperLabelModel, LabelModel, label_model, label_models, load
from hyperlabel.networks import load_weights


@dataclass(frozen=True)
class Selection:
    """Columns of a table that are votes, and the classes that they vote for."""

    lfs: list[str] | None = None  # columns that are LFs, as typed; None to find them
    long: list[str] | None = None  # the columns of item, LF and vote of a long table
    classes: Sequence[Hashable] | None = None  # all classes; None to infer them
    as_typed: bool = False  # whether classes were typed as text, to be converted to the type of the votes
    delimiter: str | None = None  # the separator of a csv; None to find it
    encoding: str | None = None  # the encoding of a text table; None to find it
    abstain: Sequence[Hashable] | None = None  # values that abstain; None for the usual ones
    drop: list[str] | None = None  # columns that are not LFs, as typed
    scores: list[str] | None = None  # columns of scores, as names or patterns
    like: Outcomes | None = None  # the cuts of scores of a fitted model
    fitted: tuple[str, ...] | None = None  # the LFs of a fitted model, if nothing else was typed
    missing_lfs: str = "error"  # what to do with those that the table lacks: error or abstain

    @classmethod
    def parse(cls, options: TableOptions) -> "Selection":
        """Parse the options that commands share.

        >>> Selection.parse(TableOptions(lfs=["lf_*"], abstain="skip,9")).abstain
        [-1, 'skip', '9', 9]
        """
        wide = "--lfs" if options.lfs else "--drop" if options.drop else None
        if wide is not None and options.long is not None:
            raise ParameterError(
                f"{wide} and --long are both given; expected {wide} for a wide table, --long for a long one"
            )
        if options.scores is not None and options.long is not None:
            raise ParameterError("--scores and --long are both given; hyperlabel jury reads scores of a long table")
        abstain: list[Hashable] | None = None
        if options.abstain is not None:  # also as numbers; -1 always abstains among numbers
            texts = split_names(options.abstain, "--abstain") or []
            abstain = [-1, *texts, *(int(text) for text in texts if text.lstrip("-").isdecimal() and text != "-1")]
        return cls(
            lfs=options.lfs or None,
            long=split_names(options.long, "--long"),
            classes=split_names(options.classes, "--classes"),
            as_typed=True,
            delimiter="\t" if options.delimiter in ("\\t", "tab") else options.delimiter,
            encoding=options.encoding,
            abstain=abstain,
            drop=options.drop or None,
            scores=split_names(options.scores, "--scores"),
        )

    def of_model(self, model: LabelModel) -> "Selection":
        """Return the selection with the LFs and classes of a model where it has them and nothing was typed."""
        selection = replace(self, abstain=_add_abstain(model, self.abstain))
        if model.is_fitted and self.lfs is None and model.lf_names_ is not None:
            selection = replace(selection, fitted=model.lf_names_)
            if self.long is None:
                cuts = model.outcomes_ if model.outcomes_ is not None and model.outcomes_.cuts else None
                selection = replace(selection, lfs=list(model.lf_names_), like=cuts)
        classes = model.classes_.tolist() if model.is_fitted else model.classes
        if classes is None or self.classes is not None:
            return selection
        return replace(selection, classes=classes, as_typed=False)

    def wide_columns(self, table: Table, labels: Sequence[str] = ()) -> tuple[list[str] | None, list[str]]:
        """Return the columns of a wide table that are LFs, None to find them, and those that are not.

        Columns that come from folder names are LFs only if they are named; gold and truth, in `labels`, never are.
        """
        drop = split_typed(self.drop, table.columns, "--drop")
        try:
            dropped = [] if drop is None else choose_columns(table.columns, drop)
        except VotesError as error:
            raise VotesError(f"--drop: {error}") from error
        named, others = split_typed(self.lfs, table.columns, "--lfs"), [*labels, *dropped]
        if self.fitted is not None:
            named = self.find_lfs(table)
        if named is None:
            return None, [*others, *table.hive]
        return [name for name in choose_columns(table.columns, named) if name not in others], others

    def with_missing(self, missing_lfs: str) -> "Selection":
        """Return the selection with what to do with LFs of a fitted model that the table lacks."""
        if missing_lfs not in ("error", "abstain"):
            raise ParameterError(f"--missing-lfs is '{missing_lfs}'; expected error or abstain")
        return replace(self, missing_lfs=missing_lfs)

    def find_lfs(self, table: Table) -> list[str]:
        """Return the LFs of the fitted model that the table has; refuse it if one is missing and must not abstain."""
        missing = [name for name in self.fitted or () if name not in table.columns]
        present = [name for name in self.fitted or () if name in table.columns]
        if missing and (self.missing_lfs == "error" or not present):
            remedy = "check the table" if not present else "add the column, or let it abstain: --missing-lfs abstain"
            raise VotesError(
                f"'{printable(table.name)}' lacks {len(missing)} of {len(self.fitted or ())} LFs of the model: "
                f"{show_some(missing)}; {remedy}"
            )
        return present


def _add_abstain(model: LabelModel, typed: Sequence[Hashable] | None) -> Sequence[Hashable] | None:
    """Return the values that abstain: as typed, and for a fitted model those of `fit` as well."""
    if not model.is_fitted or typed is None:
        return model.abstain_ if model.is_fitted else typed
    return [*(ABSTAINS if model.abstain_ is None else model.abstain_), *typed]


def split_typed(typed: list[str] | None, columns: Sequence[str], option: str) -> list[str] | None:
    """Return names or patterns of columns: one option is split at commas, unless a column has exactly that name.

    >>> split_typed(["a,b"], ["a", "b"], "--lfs"), split_typed(["a,b"], ["a,b"], "--lfs")
    (['a', 'b'], ['a,b'])
    """
    if typed is None or len(typed) > 1 or typed[0] in columns:
        return typed
    return split_names(typed[0], option)


def numbers_if_all(classes: Sequence[Hashable] | None) -> Sequence[Hashable] | None:
    """Return classes that were typed as numbers if all are.

    >>> numbers_if_all(["0", "1"]), numbers_if_all(["0", "x"])
    ([0, 1], ['0', 'x'])
    """
    if classes is None or not all(str(c).isdecimal() for c in classes):
        return classes
    return [int(str(c)) for c in classes]


# Votes.


@dataclass(frozen=True)
class VotesInput:
    """Votes and the table they came from."""

    votes: Votes
    frame: pl.DataFrame  # one row per item: the columns that pass through to the output
    key: str | None  # the column that identifies an item, if there is one
    ignored: tuple[str, ...] = ()  # columns of a long table or an array that are not votes

    @property
    def columns(self) -> VoteColumns:
        """The columns of the table that are votes, and those that are not."""
        votes = self.votes
        if votes.origin.columns is not None:
            return votes.origin.columns
        empty = votes.n_items * votes.n_lfs - len(votes.rows.vote)
        return VoteColumns(votes.lf_names, self.ignored, count_classes(votes), {None: empty} if empty else {})

    @property
    def row_column(self) -> str:
        """The name of a column for the rows of items without an identifier; no column of the table has it."""
        return next(name for name in ("row", "item", "place") if name not in self.frame.columns)

    def name_items(self, rows: Sequence[int]) -> pl.Series:
        """Return the identifiers of items, or else their rows, counted from 0; `read_labels` takes such a column."""
        if self.key is not None and self.frame[self.key].n_unique() == len(self.frame):
            return self.frame[self.key][rows]
        return pl.Series(self.row_column, rows, pl.Int64)


def count_classes(votes: Votes) -> dict[Hashable, int]:
    """Count the votes for each class; one that is not for a class counts for the class that it favors most."""
    cast = votes.rows.vote
    if votes.outcomes is not None:
        cast = votes.outcomes.main_classes[cast]
    counts = np.bincount(cast[cast >= 0], minlength=votes.n_classes).tolist()
    return dict(zip(votes.classes, counts, strict=True))


def open_table(votes: str, selection: Selection) -> Table | None:
    """Open the table of votes; None for an array or a WRENCH folder."""
    path = Path(votes)
    if is_url(votes):
        return Table.open(votes, delimiter=selection.delimiter, encoding=selection.encoding)
    if path.suffix.lower() in ARRAYS or (is_folder(path) and is_wrench(path)):
        return None
    return Table.open(votes, delimiter=selection.delimiter, encoding=selection.encoding)


def open_votes(
    votes: str, selection: Selection, names: Mapping[str, str | None], others: Sequence[str | None] = ()
) -> tuple[VotesInput, dict[str, object]]:
    """Read votes, and for each purpose, such as gold, one class per item or None.

    `names` has a column or file for each purpose, see `read_labels`; `others` are more columns that are not LFs.
    """
    labels = [name for name in (*names.values(), *others) if name is not None]
    source = collect_votes(votes, open_table(votes, selection), selection, labels)
    return source, {what: None if name is None else read_labels(name, source, what) for what, name in names.items()}


def collect_votes(votes: str, table: Table | None, selection: Selection, labels: Sequence[str] = ()) -> VotesInput:
    """Read the votes of a table, and its other columns, into memory. A column named in `labels` is not an LF."""
    if table is None:  # an array or a WRENCH folder, which have no columns that an option could name
        path, classes = Path(votes), selection.classes
        read = read_votes(path, classes=numbers_if_all(classes) if selection.as_typed else classes)
        unusable = next((name for name in ("lfs", "drop", "long", "abstain") if getattr(selection, name)), None)
        if unusable is not None:
            raise ParameterError(f"--{unusable} names columns, but '{path}' has none; leave --{unusable} out")
        items = np.arange(read.n_items) if read.items is None else read.items
        return VotesInput(read, pl.DataFrame({"id": items}), "id")
    frame = table.collect()
    if selection.long is not None:
        return _read_long(frame, selection, labels, written=table.kind == "csv")
    # The column that identifies items; `id` also if it does not, so that matching by it is refused.
    key = "id" if "id" in frame.columns else None
    if selection.scores is not None or selection.like is not None:
        read = _read_scores(frame, table, selection, key)
        ignored = tuple(name for name in frame.columns if name not in read.lf_names)
        return VotesInput(read, frame, key if read.origin.name is None else read.origin.name, ignored)
    lfs, others = selection.wide_columns(table, labels)
    columns = list(choose_columns(frame.columns, lfs, others))
    numbered = number_texts(frame.lazy(), columns).collect() if table.kind == "csv" else frame
    classes = match_classes(selection, numbered.lazy(), columns)
    options: dict[str, Any] = {"abstain": selection.abstain, "classes": classes, "written": table.kind == "csv"}
    read = Votes.from_frame(numbered, lfs=lfs, others=others, **options)
    if selection.fitted is not None:
        read = read.add_lfs(selection.fitted)
    return VotesInput(read, frame, key if read.origin.name is None else read.origin.name)


def _read_scores(frame: pl.DataFrame, table: Table, selection: Selection, key: str | None) -> Votes:
    """Read scores, cut where a fitted model cut them or anew, and the votes beside them."""
    if selection.like is not None:
        assert selection.fitted is not None
        assert selection.classes is not None
        names = selection.find_lfs(table)
        return Votes.read_like(frame, names, selection.classes, selection.like, key).add_lfs(selection.fitted)
    if selection.classes is None:
        raise ParameterError("--scores is given without --classes; expected the classes, from low scores to high ones")
    names, direction = parse_directions(frame.columns, selection.scores or [])
    votes = Votes.from_scores(frame, classes=selection.classes, lfs=names, item=key, direction=direction)
    lfs = split_typed(selection.lfs, frame.columns, "--lfs")
    if lfs is None:
        return votes
    voting = number_texts(frame.lazy(), choose_columns(frame.columns, lfs)).collect()
    return votes.join(Votes.from_frame(voting, lfs=lfs, item=key, classes=selection.classes))


def parse_directions(columns: Sequence[str], scores: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the columns of scores, and the direction of those that state one: `toxicity:down`.

    >>> parse_directions(["a_1", "a_2", "b"], ["a_*:down", "b"])
    (['a_1', 'a_2', 'b'], {'a_1': 'down', 'a_2': 'down'})
    """
    names: dict[str, None] = {}
    directions: dict[str, str] = {}
    for typed in scores:
        head, _, direction = typed.rpartition(":")
        stated = head and direction in ("up", "down") and typed not in columns
        chosen = choose_columns(columns, [head if stated else typed])
        names |= dict.fromkeys(chosen)
        directions |= dict.fromkeys(chosen, direction) if stated else {}
    return list(names), directions


def _read_long(frame: pl.DataFrame, selection: Selection, labels: Sequence[str], *, written: bool) -> VotesInput:
    names = selection.long or []
    if len(names) != 3:
        raise ParameterError(f"--long is '{','.join(names)}'; expected three columns: item,lf,vote")
    item, lf, vote = names
    numbered = number_texts(frame.lazy(), [vote]).collect() if written else frame
    classes = match_classes(selection, numbered.lazy(), [vote]) if vote in frame.columns else None
    options: dict[str, Any] = {"abstain": selection.abstain, "classes": classes, "written": written}
    votes = Votes.from_long(numbered, item=item, lf=lf, vote=vote, **options)
    if selection.missing_lfs == "abstain":
        votes = votes.add_lfs(selection.fitted or ())
    others = [name for name in frame.columns if name not in names]
    items = frame[[item]].unique(maintain_order=True)
    for name in (name for name in dict.fromkeys(labels) if name in others):  # one value per item
        rows = pl.DataFrame({"item": frame[item], "value": frame[name]})  # names of the table could be patterns
        values = rows.group_by("item", maintain_order=True).agg(pl.col("value").drop_nulls().unique())
        several = values.filter(pl.col("value").list.len() > 1)
        if len(several):
            key, (one, other, *_) = several.row(0)
            raise VotesError(f"column '{name}' has {one!r} and {other!r} for item {key!r}; expected one value")
        items = items.with_columns(values["value"].list.first().alias(name))
    return VotesInput(votes, items, item, tuple(others))


def match_classes(selection: Selection, frame: pl.LazyFrame, columns: Sequence[str]) -> Sequence[Hashable] | None:
    """Return the classes of a selection in the type of the columns of votes, if they were typed as text."""
    classes = selection.classes
    if classes is None or not selection.as_typed:
        return classes
    votes, texts = frame.select(exactly(columns)), (pl.String, pl.Categorical, pl.Enum)
    types = votes.collect_schema().dtypes()
    kinds = ["text" if kind in texts else "boolean" if kind == pl.Boolean else "number" for kind in types]
    pairs = [(pl.nth(j), kind) for j, kind in enumerate(kinds)]
    has_vote = [c.cast(pl.String) != "" if kind == "text" else c.is_not_null() for c, kind in pairs]
    voted = votes.select(each.any() for each in has_vote).collect(engine="streaming").row(0)
    voting = {kind for kind, any_vote in zip(kinds, voted, strict=True) if any_vote}
    if voting == {"boolean"} and {str(c).lower() for c in classes} <= {"true", "false"}:
        return [str(c).lower() == "true" for c in classes]
    return classes if "text" in voting else numbers_if_all(classes)


# Gold and truth.


_NUMBERED = (
    ". The votes have no column with the name of an identifier, so items are numbered from 0; rename the column that "
    "identifies them to 'id' in both tables"
)


def read_labels(name: str, source: VotesInput, what: str) -> object:
    """Read gold or truth: a column of the same table, a table with identifiers and the class, or an npy array."""
    columns = source.frame.columns
    if name in columns:
        return _class_values(source.frame, name, source)
    if Path(name).suffix.lower() == ".npy":
        try:
            return read_array(Path(name))
        except VotesError as error:
            raise VotesError(f"--{what} is '{name}', which cannot be read as an array of numbers: {error}") from error
    table = read_label_table(name, what, f"of the votes table ({', '.join(map(printable, columns))})")
    own = source.row_column if source.key is None else source.key
    key = own if own in table.columns else "id" if "id" in table.columns else own
    column = class_column(table, key, name, _NUMBERED if source.key is None else "")
    rows = _find_rows(table[key], source, f"'{name}', column '{key}'")
    values: list[Any] = [None] * source.votes.n_items
    for row, value in zip(rows, _class_values(table, column, source), strict=True):
        if row is not None:
            values[row] = value
    return values


def read_label_table(name: str, what: str, columns: str) -> pl.DataFrame:
    """Read a table of gold or truth; `columns` tells which columns could have been named instead."""
    try:
        table: pl.DataFrame = read_table(name)
    except VotesError as error:
        raise VotesError(
            f"--{what} is '{printable(name)}', which is neither a column {columns} nor a table: {error}"
        ) from error
    return table


def _class_values(table: pl.DataFrame, column: str, source: VotesInput) -> list[Any]:
    """Return a column of classes; strings of a csv become numbers if the votes are numbers."""
    numbers = all(isinstance(c, int) and not isinstance(c, bool) for c in source.votes.classes)
    frame = number_texts(table.lazy(), [column]).collect() if numbers else table
    return frame[column].to_list()


def class_column(table: pl.DataFrame, key: str, name: str, hint: str = "") -> str:
    """Find the column of a table of gold or truth that holds the class; `hint` ends the error."""
    others = [column for column in table.columns if column != key]
    named = [column for column in others if column in ("gold", "truth", "label", "class")]
    if key not in table.columns or not (len(others) == 1 or len(named) == 1):
        raise VotesError(
            f"'{name}' has the columns {', '.join(table.columns)}; expected '{key}' and one column with the class "
            f"(or one named gold, truth, label or class){hint}"
        )
    return named[0] if len(named) == 1 else others[0]


def _find_rows(ids: pl.Series, source: VotesInput, where: str) -> list[int | None]:
    """Find the row of each identifier; without an id column items are numbered from 0.

    One file of labels may serve many slices of a set: identifiers of other items are counted in a warning.
    """
    items = pl.Series(range(source.votes.n_items)) if source.key is None else source.frame[source.key]
    check_ids(ids, where)
    kinds = {items.dtype, ids.dtype}
    if len(kinds) > 1 and kinds & {pl.String, pl.Boolean}:  # one of the two is from a csv; true is not the item 1
        items, ids = items.cast(pl.String), ids.cast(pl.String)
    row_of = {} if items.dtype.is_nested() else {value: row for row, value in enumerate(items)}
    if len(row_of) != source.votes.n_items:
        raise VotesError(f"column '{source.key}' of the votes does not identify items: it has a value twice, or lists")
    foreign = [value for value in ids if value not in row_of]
    if len(foreign) == len(ids) > 0:
        hint = _NUMBERED if source.key is None else "; check the ids"
        raise VotesError(f"{where} has no id of an item in the votes: {foreign[0]!r} is unknown{hint}")
    if foreign:
        warn_of_votes([f"{where} has {len(foreign):,} of {len(ids):,} values that no item has, such as {foreign[0]!r}"])
    check_once(ids, where)
    return [row_of.get(value) for value in ids]


def check_ids(ids: pl.Series, where: str) -> None:
    """Refuse values in a table of gold or truth that do not identify items."""
    if ids.dtype.is_nested():
        raise VotesError(f"{where} holds values of the type {ids.dtype}; expected the id of an item in every row")
    if ids.null_count():
        raise VotesError(f"{where} is empty in row {ids.is_null().arg_max()}; expected the id of an item in every row")


def check_once(ids: pl.Series, where: str) -> None:
    """Refuse a table of gold or truth that has an item twice."""
    repeated = ids.filter(ids.is_duplicated())
    if len(repeated):
        raise VotesError(f"{where} has {repeated[0]!r} more than once; give each item one class")


# Label models.


def make_model(name: str, **params: Any) -> LabelModel:
    """Make a label model by its short name or from a file, which holds a saved model or pre-trained weights.

    Parameters that are None keep the model's default.
    """
    stated = {param: value for param, value in params.items() if value is not None}
    if name in label_models():
        return label_model(name, **stated)
    path = Path(name)
    if not is_file(path):
        names = ", ".join(label_models())
        raise ParameterError(f"--model is '{name}'; expected one of {names}, or a file of a saved model or of weights")
    if kind_of(path) == "model":
        return load(path).set_params(**stated)
    load_weights(path)  # raises now if something is wrong with the file
    return HyperLabelModel(weights=name, **stated)


def state_model(options: ModelOptions, classes: Sequence[Hashable] | None, **params: Any) -> LabelModel:
    """Make the label model of a command's options; refuse options that it does not take."""
    model = make_model(options.model, **params)
    values: dict[str, Any] = {"gold": options.gold, "classes": classes, "class-balance": options.class_balance or None}
    values |= {"lf-accuracies": options.lf_accuracies or None, "ordinal": options.ordinal or None}
    option = next((name for name, value in values.items() if value is not None), None)
    if model.is_fitted and option is not None:
        raise ParameterError(
            f"--{option} is given, but the model in '{options.model}' is already fitted and learns nothing more; "
            f"leave --{option} out, or fit again with a model such as --model hlm3"
        )
    apply_options(model, options, classes, options.model)
    return model


def apply_options(
    model: LabelModel, options: LearningOptions, classes: Sequence[Hashable] | None, name: str, *, every: bool = True
) -> None:
    """Set the parameters of a model that options state; without `every`, only those that it has."""
    if options.ordinal and classes is None:
        raise ParameterError("--ordinal is given without --classes; expected the classes from low to high")
    params: dict[str, Any] = {"ordinal": True} if options.ordinal else {}
    if options.class_balance:
        params["class_balance"] = parse_balance(options.class_balance, classes)
    if options.lf_accuracies:
        params["lf_accuracies"] = parse_shares(options.lf_accuracies, "--lf-accuracies", "LF")
    for param, value in params.items():
        if param in model.get_params():
            model.set_params(**{param: value})
        elif every:
            option = f"--{param.replace('_', '-')}"
            raise ParameterError(f"{option} is given, but the label model '{name}' takes none; use --model hlm3")


def parse_balance(texts: Sequence[str], classes: Sequence[Hashable] | None) -> Any:
    """Parse shares of classes by name, or in the order of the classes that were typed.

    >>> parse_balance(["spam=0.7,ham=0.3"], None), parse_balance(["0.7,0.3"], ["spam", "ham"])
    ({'spam': 0.7, 'ham': 0.3}, [0.7, 0.3])
    """
    if texts == [UNIFORM]:
        return UNIFORM
    if any("=" in text for text in texts):
        return parse_shares(texts, "--class-balance", "class")
    text = ",".join(texts)
    if classes is None:
        raise ParameterError(
            f"--class-balance is '{text}'; expected --classes too, to say whose shares these are, or class=share,..."
        )
    try:
        shares = [float(share) for share in text.split(",")]
    except ValueError:
        shares = []
    if len(shares) != len(classes):
        raise ParameterError(f"--class-balance is '{text}'; expected a share for each of the {len(classes)} classes")
    return shares


def parse_shares(texts: Sequence[str], option: str, what: str) -> dict[str, float]:
    """Parse shares by name. A name may have an equals sign, and a comma if the option is given once for each name.

    >>> parse_shares(["links=0.9, a=b=0.5"], "--lf-accuracies", "LF")
    {'links': 0.9, 'a=b': 0.5}
    >>> parse_shares(["a,b=0.9", "c=0.5"], "--lf-accuracies", "LF"), parse_shares(["a,b=1"], "--lf-accuracies", "LF")
    ({'a,b': 0.9, 'c': 0.5}, {'a,b': 1.0})
    """
    shares: dict[str, float] = {}
    parts = texts[0].split(",")
    for part in parts if len(texts) == 1 and all("=" in part for part in parts) else texts:
        name, _, share = (piece.strip() for piece in part.rpartition("="))
        try:
            value = float(share)
        except ValueError:
            value = -1.0
        if not name or name in shares or not 0 <= value <= 1:
            raise ParameterError(f"{option} has '{part}'; expected {what}=share once each, shares from 0 to 1")
        shares[name] = value
    return shares


# Inputs of a command.


@dataclass(frozen=True)
class Inputs:
    """A label model and the votes for it."""

    model: LabelModel
    metric: Metric
    source: VotesInput
    labels: dict[str, object]  # gold, truth and the like: one class per item, or None
    messages: PendingMessages
    summary: Summary

    @property
    def votes(self) -> Votes:
        """The votes."""
        return self.source.votes

    def print(self, result: object, output: JsonOptions, content: dict[str, Any]) -> None:
        """Print a result in words, or its content as JSON."""
        if output.json:
            self.summary.print(**content)
        else:
            print_lines(result)


@contextmanager
def open_inputs(
    votes: str,
    options: ModelOptions,
    reading: TableOptions,
    output: OutputOptions,
    others: Sequence[str | None] = (),
    **labels: str | None,
) -> Iterator[Inputs]:
    """Make the label model and read the votes; messages about them are printed when the work inside is done.

    `labels` has a column or file for gold, truth and the like; `others` are more columns that are not LFs.
    """
    summary = Summary(options.model)
    metric, typed = check_metric(options.metric, "--metric"), Selection.parse(reading)
    model = state_model(options, typed.classes)
    with say_warnings(strict=output.strict) as messages:
        source, values = open_votes(votes, typed.of_model(model), labels, others)
        messages.add_columns(source.columns, stated=model.is_fitted or typed.classes is not None)
        summary.add_columns(source.columns)
        yield Inputs(model, metric, source, values, messages, summary)


@contextmanager
def open_audit(votes: str, options: AuditOptions, reading: TableOptions, output: OutputOptions) -> Iterator[Inputs]:
    """Open the inputs of a command that judges labels: `labels` has `gold` to judge by, and what to `learn` from.

    To learn from is gold of other items, a share of the gold, or None.
    """
    if options.gold is None:
        raise ParameterError(
            "--gold is missing; draw items with `hyperlabel audit`, label them by hand, and give the file"
        )
    try:
        share, learn = None if options.learn is None else float(options.learn), None
    except ValueError:
        share, learn = None, options.learn
    model_options = replace(options, gold=None)  # a fitted model may be judged
    with open_inputs(votes, model_options, reading, output, gold=options.gold, learn=learn) as inputs:
        if share is not None:
            inputs.labels["learn"] = share
        yield inputs


# Targets of results.


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
