"""The folder of a project: `project.toml`, `lfs.py` and `gold.csv`, each replaced as a whole, and a lock.

The files are made for version control. Changes by other programs are noticed by content.
"""

import csv
import io
import json
import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hyperlabel._core import check_kind, check_number, check_text, is_file, printable, replacing, show
from hyperlabel.data import Classes, read_balance, state_classes
from hyperlabel.errors import ParameterError, ProjectError
from hyperlabel.studio._consent import remember, require_consent
from hyperlabel.studio._source import HEADER, LFSource
from hyperlabel.studio._source import NAME as LFS

try:
    import fcntl
except ImportError:  # Windows: a second process is not refused there
    fcntl = None  # type: ignore[assignment]

SETTINGS, GOLD, LOCK = "project.toml", "gold.csv", ".lock"
FORMAT = 1
_MOST_BYTES = {SETTINGS: 1 << 20, LFS: 1 << 24, GOLD: 1 << 30}  # of the files; larger ones are not read


class GoldLabel(NamedTuple):
    """The gold label of an item."""

    label: Any
    picked: str = ""  # how the item was picked: `random` ones measure accuracy without bias
    text: str = ""  # how its text starts, to read it, and to notice that a table was changed


@dataclass(frozen=True)
class Settings:
    """Everything that a project states besides LFs and gold."""

    table: str  # path, relative to the folder if possible
    text: str  # column of the texts
    id: str | None = None  # column that identifies items; None if rows are counted from 0
    classes: Classes = ()  # in order
    class_balance: tuple[float, ...] = ()  # known shares of the classes, in their order; none if empty
    lfs: tuple[str, ...] = ()  # columns that are votes
    gold: str | None = None  # column with gold labels, if any
    truth: str | None = None  # column with classes for evaluation only, if any
    sample: int = 100_000  # the most rows to explore
    removed: tuple[str, ...] = ()  # rules that were removed, and are not proposed again

    def __post_init__(self) -> None:
        """Refuse invalid settings: people edit the file, too."""
        for key in ("table", "text", "id", "gold", "truth"):
            if getattr(self, key) is not None:
                check_text(getattr(self, key), key)
        for key in ("classes", "class_balance", "lfs", "removed"):
            check_kind(getattr(self, key), key, tuple, "a list")
        for name in self.lfs:
            check_text(name, "lfs", "names of columns")
        for rule in self.removed:
            check_text(rule, "removed", "rules")
        check_number(self.sample, "sample", "a number of rows, at least 1", least=1, whole=True)
        if self.classes:
            state_classes(None, self.classes)
        if self.class_balance:
            read_balance(self.class_balance, self.classes)

    def to_toml(self) -> str:
        """Return the text of the file."""
        stated = {key: value for key, value in vars(self).items() if value not in (None, ())}
        # JSON's form of strings, numbers and lists of these is TOML too, but for one character.
        dumped = {
            key: json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") for key, value in stated.items()
        }
        lines = [f"{key} = {value}" for key, value in dumped.items()]
        return "\n".join(["# A project of hyperlabel studio.", f"format = {FORMAT}", *lines]) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> "Settings":
        """Read settings from the text of the file."""
        try:
            fields: dict[str, Any] = tomllib.loads(text)
            if fields.pop("format", None) != FORMAT:
                raise ProjectError(f"{SETTINGS} has a format other than {FORMAT}; open it with a newer hyperlabel")
            for key, value in fields.items():
                fields[key] = tuple(value) if isinstance(value, list) else value
            return cls(**fields)
        except ProjectError:
            raise
        except ParameterError as error:
            raise ProjectError(f"{SETTINGS}: {error}") from error
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ProjectError(f"{SETTINGS} cannot be read: {error}; correct it") from error


@dataclass(frozen=True)
class ProjectState:
    """The content of the files of a project."""

    settings: Settings  # `project.toml`
    source: LFSource  # `lfs.py`
    gold: Mapping[str, GoldLabel]  # `gold.csv`, by identifier


@dataclass(eq=False)
class Folder:
    """The files of a project, locked by this process."""

    path: Path
    contents: dict[str, bytes | None] = field(default_factory=dict)  # of each file when last read or written here
    lock: int | None = None
    is_new: bool = False  # whether this process created it
    trust: bool = False  # whether its code may run even if this user has not run it before

    @classmethod
    def open(cls, path: Path, *, trust: bool = False) -> "Folder":
        """Create or open a folder and lock it; one that another process has open is refused."""
        folder = cls(path, is_new=not os.path.exists(path), trust=trust)
        try:
            folder.path.mkdir(parents=True, exist_ok=True)
            folder.lock = _lock(folder.path)
        except OSError as error:
            raise ProjectError(f"the project folder '{path}' cannot be used: {error.strerror}") from error
        return folder

    def close(self) -> None:
        """Unlock the folder."""
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    def abandon(self) -> None:
        """Unlock the folder, and remove it if it was created for a project that never began."""
        if self.is_new and os.listdir(self.path) == [LOCK]:
            (self.path / LOCK).unlink()
            self.path.rmdir()
        self.close()

    def changed(self) -> list[str]:
        """List the files that differ from what was last read or written here."""
        return [name for name in (SETTINGS, LFS, GOLD) if self._load(name) != self.contents.get(name)]

    def read_settings(self) -> Settings | None:
        """Read the settings; None if there is no project."""
        text = self._read(SETTINGS)
        return None if text is None else Settings.from_toml(text)

    def read_state(self, settings: Settings, current: LFSource | None = None) -> ProjectState:
        """Read gold and LFs; `lfs.py` runs unless its text is still that of `current`.

        In a project that is open, the user's own editor changes it; one that is opened needs consent.
        """
        gold = read_gold(self._read(GOLD) or "", settings.classes)
        text = (self._read(LFS) or HEADER).replace("\r\n", "\n")
        if current and current.text == text:
            return ProjectState(settings, current, gold)
        require_consent(self.path / LFS, text, trust=self.trust or current is not None or text == HEADER)
        return ProjectState(settings, LFSource.load(text, self.path / LFS), gold)

    def write_state(self, state: ProjectState, before: ProjectState | None = None) -> None:
        """Write the files that changed: classes first, since gold and LFs name them."""
        if before is None or state.settings != before.settings:
            self._write(SETTINGS, state.settings.to_toml())
        if before is None or state.source != before.source:
            self._write(LFS, state.source.text)
            remember(self.path / LFS, state.source.text)
        if before is None or state.gold != before.gold:
            self._write(GOLD, format_gold(state.gold))

    def path_to(self, table: Path) -> str:
        """Return the path of a table, relative if both are near, so that both can be moved."""
        path, folder = table.resolve(), self.path.resolve()
        return os.path.relpath(path, folder) if path.is_relative_to(folder.parent) else str(path)

    def _load(self, name: str) -> bytes | None:
        try:
            file = (self.path / name).stat()
            if not stat.S_ISREG(file.st_mode) or file.st_size > _MOST_BYTES[name]:
                most = f"{_MOST_BYTES[name] >> 20:,} MB"
                raise ProjectError(f"'{self.path / name}' is not a file of at most {most}; replace it")
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    def _read(self, name: str) -> str | None:
        """Read the text of a file; None if it does not exist."""
        content = self.contents[name] = self._load(name)
        try:
            return None if content is None else content.decode("utf-8-sig")  # some editors write a mark first
        except UnicodeDecodeError as error:
            raise ProjectError(f"{name} is not UTF-8: byte {error.start}, {error.reason}; save it as UTF-8") from error

    def _write(self, name: str, text: str) -> None:
        """Replace a file as a whole."""
        try:
            content = text.encode("utf-8")
            with replacing(self.path / name) as part:
                part.write_bytes(content)
        except UnicodeEncodeError as error:
            shown = show(text[max(error.start - 20, 0) : error.start + 1])
            raise ProjectError(f"{name} cannot be written: {shown} ends in an unpaired surrogate") from error
        except OSError as error:
            raise ProjectError(f"'{self.path / name}' cannot be written: {error.strerror}") from error
        self.contents[name] = content


def choose_folder(table: str | Path | None, folder: str | Path | None) -> Path:
    """Return the folder of a project: the table itself if it is one, the given one, or one next to the table."""
    if table is not None and is_file(Path(table) / SETTINGS):
        return Path(table)
    if folder is not None:
        return Path(folder)
    if table is None:
        raise ParameterError("table and folder are both missing; name the table, or the folder of a project")
    if not Path(table).name:
        raise ParameterError(f"table is '{printable(table)}'; expected the path of a table, or name the folder as well")
    return Path(table).with_suffix(".studio")


def _lock(path: Path) -> int | None:
    """Lock a folder while this process lives, and return the descriptor; a locked folder is refused."""
    if fcntl is None:
        return None
    lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    file = os.fstat(lock)
    if not stat.S_ISREG(file.st_mode) or file.st_nlink > 1:
        os.close(lock)
        raise ProjectError(f"'{path / LOCK}' is a link to another file, or none at all; remove it")
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


def format_gold(gold: Mapping[str, GoldLabel]) -> str:
    """Return gold labels as csv, in the order in which they were given."""
    rows = [("id", "gold", "picked", "text"), *((item, *label) for item, label in gold.items())]
    return "".join(",".join(map(_quote_cell, row)) + "\n" for row in rows)


def _quote_cell(value: object) -> str:
    """Quote a csv cell if need be; Python's writer leaves a carriage return bare, which would end the row."""
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(letter in text for letter in ',"\r\n') else text


def read_gold(text: str, classes: Classes) -> dict[str, GoldLabel]:
    """Read gold labels from csv with the columns `id` and `gold`, optionally `picked` and `text`; each item once."""
    rows = csv.DictReader(io.StringIO(text))
    class_of = {str(name): name for name in classes}
    gold: dict[str, GoldLabel] = {}
    try:
        missing = {"id", "gold"} - set(rows.fieldnames or ())
        if missing and text.strip():
            raise ProjectError(f"{GOLD} has no column '{min(missing)}'; expected id, gold, picked, text")
        for row in rows:
            where, item, label = f"{GOLD}, line {rows.line_num}", row["id"], row["gold"]
            if label not in class_of:
                raise ProjectError(f"{where}: the class is {label!r}; expected one of {', '.join(class_of) or 'none'}")
            if item in gold:
                raise ProjectError(f"{where}: item {item!r} occurs twice; keep one of the lines")
            gold[item] = GoldLabel(class_of[label], row.get("picked") or "", row.get("text") or "")
    except csv.Error as error:
        raise ProjectError(f"{GOLD} cannot be read: {error}; correct it") from error
    return gold
