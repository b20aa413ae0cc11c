"""The table of a project: the rows that are explored, all of a small table or a sample of a large one."""

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Ints, show, show_names
from hyperlabel.data import (
    Classes,
    Column,
    Table,
    Votes,
    choose_columns,
    encode_column,
    exactly,
    find_identifiers,
    infer_classes,
    number_texts,
    open_table,
)
from hyperlabel.errors import ProjectError, VotesError
from hyperlabel.lf import Items, Texts, match_texts, read_items
from hyperlabel.studio._folder import GOLD, GoldLabel, Settings

EXCERPT = 80  # letters of a text in gold.csv
_SEED = 0
_MOST_CLASSES = 100  # the most classes that a column may imply


@dataclass(frozen=True, eq=False)
class Data:
    """The rows of a table."""

    table: Table
    settings: Settings  # which columns are what
    frame: Any  # the n rows that are explored, a Polars frame; numbers of a csv are numbers
    rows: NDArray[np.int64]  # (n,) their numbers in the table, increasing
    n_rows: int  # number of rows of the table

    @classmethod
    def open(cls, settings: Settings, folder: Path) -> "Data":
        """Read the rows to explore; the path of the table is relative to the project folder."""
        table = _open(settings, folder)
        n_rows = _count(table)
        rows = _draw(n_rows, settings.sample)
        frame = _read(table, rows, n_rows).lazy()
        data = cls(table, settings, number_columns(table, settings, frame).collect(), rows, n_rows)
        _check_texts(data)
        return data

    def read_again(self) -> Any:
        """The rows that are explored, each cell as the table has it now; refused if they are not what was read before.

        Votes and labels belong to rows by position: in a table with other rows, or another order, they would be those
        of other items.
        """
        try:
            n_rows = _count(self.table)
            frame = _read(self.table, self.rows, n_rows)
            numbered = number_columns(self.table, self.settings, frame.lazy()).collect()
            same, reason = n_rows == self.n_rows and bool(numbered.equals(self.frame)), None
        except VotesError as error:  # what is known about a file does not fit another one
            same, reason = False, error
        if not same:
            raise ProjectError(
                f"{self.table.name} has changed since the project was opened; open the project again"
            ) from reason
        return frame

    @property
    def n(self) -> int:
        """Number of rows that are explored."""
        return len(self.rows)

    @property
    def is_sample(self) -> bool:
        """Return whether the table has more rows than are explored."""
        return self.n < self.n_rows

    @property
    def size(self) -> str:
        """Number of rows that are explored, in words."""
        return f"{self.n:,} of {self.n_rows:,} rows" if self.is_sample else f"{self.n:,} rows"

    @cached_property
    def items(self) -> Items:
        """The rows as LFs read them."""
        return read_items(self.frame)

    @cached_property
    def ids(self) -> list[str]:
        """The identifiers of the rows, as strings. -> n."""
        values = self.rows.tolist() if self.settings.id is None else self.frame[self.settings.id].to_list()
        return list(map(str, values))

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each identifier."""
        return {item: row for row, item in enumerate(self.ids)}

    @cached_property
    def texts(self) -> Any:
        """The texts, a Polars series without nulls. (n,)."""
        return self.frame[self.settings.text].fill_null("")

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The number of letters of each text. (n,)."""
        return np.asarray(self.texts.str.len_chars().to_numpy(), np.int64)

    @cached_property
    def _matches(self) -> dict[str, Ints]:
        return {}

    def rows_matching(self, pattern: str, among: Ints | None = None) -> Ints:
        """The rows whose text matches a regular expression, all or among some; the result for all is cached."""
        if among is not None:
            return among[match_texts(re.compile(pattern), Texts(self.texts.gather(among)))]
        if pattern not in self._matches:
            self._matches[pattern] = np.flatnonzero(match_texts(re.compile(pattern), Texts(self.texts)))
        return self._matches[pattern]

    @property
    def metadata(self) -> list[str]:
        """The columns that are not text, identifier, votes, gold or truth."""
        used = self.settings
        return [
            name for name in self.frame.columns if name not in {used.text, used.id, used.gold, used.truth, *used.lfs}
        ]

    def text(self, row: int) -> str:
        """The text of a row."""
        return str(self.texts[row])

    def excerpt(self, row: int) -> str:
        """The start of the text of a row, as gold.csv keeps it."""
        return make_excerpt(self.text(row), self.settings)

    def encode(self, column: str | None, classes: Classes) -> NDArray[np.int64]:
        """The classes of a column, -1 for none; all -1 without a column. -> (n,)."""
        if column is None or not classes:
            return np.full(self.n, -1, np.int64)
        return encode_column(_columns(self.frame, [column])[0], classes).astype(np.int64)

    def votes(self, classes: Classes) -> dict[str, Ints]:
        """The votes that the table has, by column. -> (n,) class numbers each."""
        names = self.settings.lfs
        if not names or not classes:
            return {}
        votes = Votes.from_frame(self.frame[list(names)], lfs=list(names), classes=classes)
        assert votes.cells is not None  # votes of a wide table are dense
        return {name: votes.cells[:, j] for j, name in enumerate(votes.lf_names)}


def make_excerpt(text: str, settings: Settings) -> str:
    """The start of a text, on one line; a text that it does not tell from others gets a mark if it has no identifier.

    >>> make_excerpt("free  money", Settings("t.csv", "text")), make_excerpt(" ", Settings("t.csv", "text"))
    ('free money', '#36a9e7f1')
    """
    start = _start(text)
    if settings.id is not None or (start and start == " ".join(text.split())):
        return start
    return f"{start} #{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}".strip()


def _start(text: str) -> str:
    return " ".join(text[: 2 * EXCERPT].split())[:EXCERPT]


def check_gold_text(item: str, text: str, gold: GoldLabel, settings: Settings) -> None:
    """Refuse gold of an item whose text has changed: the table is not the same."""
    now = make_excerpt(text, settings)
    if gold.text and gold.text not in (now, _start(text)):  # the start alone is what was kept before there were marks
        raise ProjectError(
            f"{GOLD}: item {item!r} started with {show(gold.text, 50)} when its class was given, and now with "
            f"{show(now, 50)}; the table has changed. Correct {GOLD}, or empty its column text"
        )


def complete(settings: Settings, folder: Path) -> Settings:
    """Settings of a new project, completed from the table: identifiers, gold, truth, and the classes of these."""
    table = _open(replace(settings, lfs=()), folder)
    names = table.columns
    lfs = choose_columns(names, settings.lfs) if settings.lfs else [n for n in names if n.lower().startswith("lf_")]
    settings = replace(
        settings,
        id=settings.id or _find_id(table),
        gold=settings.gold or ("gold" if "gold" in names else None),
        truth=settings.truth or ("truth" if "truth" in names else None),
        lfs=tuple(lfs),
    )
    holders = [name for name in (settings.gold, settings.truth, *lfs) if name]
    if settings.classes or not holders:
        return settings
    with table.reading():
        frame = number_texts(table.lazy().select(exactly(holders)), holders).collect()
    classes = infer_classes(_columns(frame, holders))
    if len(classes) > _MOST_CLASSES:
        raise ProjectError(f"the columns {show_names(holders)} hold {len(classes)} classes; state the classes")
    return replace(settings, classes=classes)


def _columns(frame: Any, names: Sequence[str]) -> list[Column]:
    return open_table(frame).columns(names)


def _open(settings: Settings, folder: Path) -> Table:
    """The table of a project, by its plain path, which messages show; refused if a column is missing."""
    table = Table.open(os.path.normpath(folder.resolve() / settings.table))
    named = {"text": settings.text, "id": settings.id, "gold": settings.gold, "truth": settings.truth}
    for key, name in [*named.items(), *(("lfs", name) for name in settings.lfs)]:
        if name is not None and name not in table.columns:
            raise ProjectError(
                f"{key} is '{name}', but {Path(table.name).name} has the columns {show_names(table.columns)}; "
                f"name one of them with {key} (command line: --{key})"
            )
    return table


def _count(table: Table) -> int:
    import polars as pl

    with table.reading():
        n = int(table.lazy().select(pl.len()).collect(engine="streaming").item())
    if not n:
        raise VotesError(f"{table.name} has no rows; expected at least one")
    return n


def _draw(n_rows: int, most: int) -> NDArray[np.int64]:
    """The rows to explore: all, or a random sample with a fixed seed, in their order."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(_SEED).choice(n_rows, most, replace=False))


def _read(table: Table, rows: NDArray[np.int64], n_rows: int) -> Any:
    """Some rows of a table, or all, as a Polars frame."""
    import polars as pl

    with table.reading():
        frame = table.lazy()
        if len(rows) < n_rows:
            index = "__row__"
            wanted = pl.LazyFrame({index: rows.astype(np.uint32)})
            frame = frame.with_row_index(index).join(wanted, on=index, how="semi").sort(index).drop(index)
        return frame.collect(engine="streaming")


def _find_id(table: Table) -> str | None:
    """A column that has the name of an identifier and identifies rows."""
    import polars as pl

    for name in find_identifiers(table.columns):
        column = pl.col(name)
        counts = table.lazy().select(column.n_unique(), pl.len().alias("n"), column.null_count().alias("nulls"))
        with table.reading():
            distinct, n, nulls = counts.collect().row(0)
        if distinct == n and not nulls:
            return name
    return None


def number_columns(table: Table, settings: Settings, frame: Any) -> Any:
    """A csv has only strings: in its lazy frame, columns of numbers become numbers, those of classes all alike."""
    if table.kind != "csv":
        return frame
    classes = [name for name in (settings.gold, settings.truth, *settings.lfs) if name]
    kept = (settings.text, settings.id, *classes)
    for names in [classes, *([name] for name in table.columns if name not in kept)]:
        frame = number_texts(frame, names)
    return frame


def _check_texts(data: Data) -> None:
    import polars as pl

    settings = data.settings
    kind = data.frame.schema[settings.text]
    if kind != pl.String:
        raise ProjectError(f"text is '{settings.text}', a column of {kind}; expected texts")
    if len(data.row_of) < data.n:
        raise ProjectError(f"id is '{settings.id}', which has a value twice; expected a different value in every row")
