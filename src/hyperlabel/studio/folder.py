"""The folder of a project: `project.toml`, `lfs.py` and `gold.csv`, each replaced as a whole, and a lock.

Everything accepted is in these files, which are made for version control. Files that another program changed are
noticed by their content.
"""

import csv
import io
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hyperlabel.checks import check_kind, check_number, check_path, check_text
from hyperlabel.errors import ParameterError, ProjectError
from hyperlabel.files import is_file, may_be_path, replacing
from hyperlabel.shown import printable, show
from hyperlabel.studio.source import NAME as LFS
from hyperlabel.votes.classes import Classes, state_classes
from hyperlabel.votes.stated import read_balance

try:
    import fcntl
except ImportError:  # Windows has another kind of lock: a second process is not refused there
    fcntl = None  # type: ignore[assignment]

SETTINGS, GOLD, LOCK = "project.toml", "gold.csv", ".lock"
FORMAT = 1


class GoldLabel(NamedTuple):
    """What is known about an item.

    Attributes:
        label: Its class.
        picked: How the item was picked: `random` ones measure accuracy without bias.
        text: How its text starts, to read it, and to notice that a table was changed.
    """

    label: Any
    picked: str = ""
    text: str = ""


@dataclass(frozen=True)
class Settings:
    """What a project states, besides LFs and gold.

    Attributes:
        table: The path of the table; relative to the folder if possible.
        text: The column of the texts.
        id: The column that identifies items; None if rows are counted from 0.
        classes: The classes, in order.
        class_balance: Known shares of the classes, in their order; none if empty.
        lfs: Columns of the table that are votes.
        gold: The column of the table with known classes, if any.
        truth: The column with classes for evaluation only, if any.
        sample: How many rows to explore at most.
    """

    table: str
    text: str
    id: str | None = None
    classes: Classes = ()
    class_balance: tuple[float, ...] = ()
    lfs: tuple[str, ...] = ()
    gold: str | None = None
    truth: str | None = None
    sample: int = 100_000

    def to_toml(self) -> str:
        """The settings as a file.

        >>> print(Settings("t.csv", "text", classes=("ham", "spam")).to_toml().splitlines()[4])
        classes = ["ham", "spam"]
        """
        kept = {key: value for key, value in vars(self).items() if value not in (None, ())}
        # JSON's form of strings, numbers and lists of these is TOML too, but for one character.
        dumped = {key: json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") for key, value in kept.items()}
        lines = [f"{key} = {value}" for key, value in dumped.items()]
        return "\n".join(["# A project of hyperlabel studio.", f"format = {FORMAT}", *lines]) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> "Settings":
        """Settings from a file."""
        try:
            read: dict[str, Any] = tomllib.loads(text)
            if read.pop("format", None) != FORMAT:
                raise ProjectError(f"{SETTINGS} has a format other than {FORMAT}; open it with a newer hyperlabel")
            plain: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value for key, value in read.items()
            }
            return _check_settings(cls(**plain))
        except ParameterError as error:
            raise ProjectError(f"{SETTINGS}: {error}") from error
        except (tomllib.TOMLDecodeError, TypeError) as error:
            raise ProjectError(f"{SETTINGS} cannot be read: {error}; correct it") from error


def _check_settings(read: Settings) -> Settings:
    """Refuse what no project writes: people edit the file, too."""
    for key in ("table", "text", "id", "gold", "truth"):
        if getattr(read, key) is not None:
            check_text(getattr(read, key), key)
    for key in ("classes", "class_balance", "lfs"):
        check_kind(getattr(read, key), key, tuple, "a list")
    for name in read.lfs:
        check_text(name, "lfs", "names of columns")
    check_number(read.sample, "sample", "a number of rows, at least 1", least=1, whole=True)
    if read.classes:
        state_classes(None, read.classes)
    if read.class_balance:
        read_balance(read.class_balance, read.classes)
    return read


@dataclass(frozen=True)
class ProjectState:
    """What the files of a project hold."""

    settings: Settings  # `project.toml`
    source: str  # the text of `lfs.py`
    gold: Mapping[str, GoldLabel]  # `gold.csv`, by identifier


@dataclass(eq=False)
class Folder:
    """The files of a project, held by this process."""

    path: Path  # the folder
    # The content of each file when it was last read or written here.
    seen: dict[str, bytes | None] = field(default_factory=dict)
    lock: int | None = None
    made: bool = False  # whether this process made it

    @classmethod
    def open(cls, path: str | Path) -> "Folder":
        """Make or open a folder, and lock it for this process; one that another process has open is refused."""
        folder = cls(Path(path), made=not os.path.exists(path))
        try:
            folder.path.mkdir(parents=True, exist_ok=True)
            folder.lock = _lock(folder.path)
        except OSError as error:
            raise ProjectError(f"the project folder '{path}' cannot be used: {error.strerror}") from error
        return folder

    def close(self) -> None:
        """Unlock it for others."""
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    def give_up(self) -> None:
        """Unlock it for others, and remove it if it was made for a project that never began."""
        if self.made and os.listdir(self.path) == [LOCK]:
            (self.path / LOCK).unlink()
            self.path.rmdir()
        self.close()

    def read(self, name: str) -> str | None:
        """The text of a file; None if it does not exist."""
        self.seen[name] = self._content(name)
        content = self.seen[name]
        try:
            return None if content is None else content.decode("utf-8-sig")  # some editors write a mark first
        except UnicodeDecodeError as error:
            raise ProjectError(f"{name} is not UTF-8: byte {error.start}, {error.reason}; save it as UTF-8") from error

    def write(self, name: str, text: str) -> None:
        """Replace a file as a whole."""
        try:
            content = text.encode("utf-8")
            with replacing(self.path / name) as part:
                part.write_bytes(content)
        except UnicodeEncodeError as error:
            shown = show(text[max(error.start - 20, 0) : error.start + 1])
            raise ProjectError(f"{name} cannot be written: {shown} ends in half of a character") from error
        except OSError as error:
            raise ProjectError(f"'{self.path / name}' cannot be written: {error.strerror}") from error
        self.seen[name] = content

    def changed(self) -> list[str]:
        """The files that differ from what was last read or written here."""
        return [name for name in (SETTINGS, LFS, GOLD) if self._content(name) != self.seen.get(name)]

    def read_state(self) -> ProjectState | None:
        """What the files hold; None if there is no project."""
        settings = self.read(SETTINGS)
        if settings is None:
            return None
        read = Settings.from_toml(settings)
        gold = read_gold(self.read(GOLD) or "", read.classes)
        return ProjectState(read, self.read_lfs() or "", gold)

    def read_lfs(self) -> str | None:
        """The text of `lfs.py`, its lines ending in one way; None if it does not exist."""
        text = self.read(LFS)
        return None if text is None else text.replace("\r\n", "\n")

    def write_state(self, state: ProjectState, before: ProjectState | None = None) -> None:
        """Write the files that changed: classes first, since gold and LFs name them."""
        if before is None or state.settings != before.settings:
            self.write(SETTINGS, state.settings.to_toml())
        if before is None or state.source != before.source:
            self.write(LFS, state.source)
        if before is None or state.gold != before.gold:
            self.write(GOLD, write_gold(state.gold))

    def path_to(self, table: Path) -> str:
        """The path of a table as the project keeps it: relative if both are near, so that both can be moved."""
        path, folder = table.resolve(), self.path.resolve()
        return os.path.relpath(path, folder) if path.is_relative_to(folder.parent) else str(path)

    def _content(self, name: str) -> bytes | None:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None


def choose_folder(table: str | Path | None, folder: str | Path | None) -> Path:
    """The folder of a project: the table itself if it is one, the given one, or the one next to the table.

    >>> choose_folder("texts.csv", None).name
    'texts.studio'
    """
    if may_be_path(table) and is_file(Path(str(table)) / SETTINGS):
        return Path(str(table))
    if folder is not None:
        return check_path(folder, "folder")
    if table is None:
        raise ParameterError("table and folder are both missing; name the table, or the folder of a project")
    path = check_path(table, "table", "the path of a table")
    if not path.name:
        raise ParameterError(f"table is '{printable(table)}'; expected the path of a table, or name the folder as well")
    return path.with_suffix(".studio")


def _lock(path: Path) -> int | None:
    """A descriptor that locks a folder while this process lives; a locked folder is refused."""
    if fcntl is None:
        return None
    lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(lock, 100, 0).decode(errors="replace").strip()
        os.close(lock)
        raise ProjectError(
            f"the project '{path}' is already open in process {holder or 'unknown'}; close it there first"
        ) from error
    os.truncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return lock


def write_gold(gold: Mapping[str, GoldLabel]) -> str:
    """Gold as a csv file, in the order in which it was given.

    >>> print(write_gold({"7": GoldLabel("spam", "random", "free money")}), end="")
    id,gold,picked,text
    7,spam,random,free money
    """
    rows = [("id", "gold", "picked", "text"), *((item, *label) for item, label in gold.items())]
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def _cell(value: object) -> str:
    """A cell of a csv; Python's writer leaves a carriage return as it is, which would end the row for readers."""
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(letter in text for letter in ',"\r\n') else text


def read_gold(text: str, classes: Classes) -> dict[str, GoldLabel]:
    r"""Gold from a csv file that has `id` and `gold`, and perhaps `picked` and `text`; each item once.

    >>> read_gold("id,gold\n7,1\n", (0, 1))
    {'7': GoldLabel(label=1, picked='', text='')}
    """
    try:
        return _read_gold(csv.DictReader(io.StringIO(text)), text, classes)
    except csv.Error as error:
        raise ProjectError(f"{GOLD} cannot be read: {error}; correct it") from error


def _read_gold(rows: "csv.DictReader[str]", text: str, classes: Classes) -> dict[str, GoldLabel]:
    missing = {"id", "gold"} - set(rows.fieldnames or ())
    if missing and text.strip():
        raise ProjectError(f"{GOLD} has no column '{min(missing)}'; expected id, gold, picked, text")
    known = {str(c): c for c in classes}
    gold: dict[str, GoldLabel] = {}
    for row in rows:
        where = f"{GOLD}, line {rows.line_num}"
        if row["gold"] not in known:
            raise ProjectError(f"{where}: the class is {row['gold']!r}; expected one of {', '.join(known) or 'none'}")
        if row["id"] in gold:
            raise ProjectError(f"{where}: item {row['id']!r} occurs twice; keep one of the lines")
        gold[row["id"]] = GoldLabel(known[row["gold"]], row.get("picked") or "", row.get("text") or "")
    return gold
