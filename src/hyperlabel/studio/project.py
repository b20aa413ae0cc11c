"""`Project`: labeling functions, gold and the labels that follow, in a folder that is the state.

Every accepted change is on disk before the call returns. Only new or changed LFs are run.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_count, check_number, check_path, check_text
from hyperlabel.columns.arrays import as_list
from hyperlabel.errors import ParameterError, ProjectError, require
from hyperlabel.kernels import Ints
from hyperlabel.labels import Explanation, Labels, explain_item
from hyperlabel.lf import LabelingFunction
from hyperlabel.lf.fingerprint import fingerprint_lf
from hyperlabel.lf.items import Items
from hyperlabel.lf.lazy import name_votes
from hyperlabel.lf.run import Advance, Answer, run_all
from hyperlabel.shown import html_table, show
from hyperlabel.studio.candidates import Candidate, ideas_of_item, ideas_of_selection, propose
from hyperlabel.studio.data import Data, check_gold_text, complete
from hyperlabel.studio.figures import Moment, list_lfs, take_moment
from hyperlabel.studio.find import By, Filter, find_rows, next_rows
from hyperlabel.studio.finish import write_certificate, write_labels, write_report
from hyperlabel.studio.folder import GOLD, SETTINGS, Folder, GoldLabel, ProjectState, Settings, choose_folder, read_gold
from hyperlabel.studio.snapshot import Effect, Snapshot, find_effect
from hyperlabel.studio.source import HEADER, LFSource
from hyperlabel.studio.source import NAME as LFS
from hyperlabel.studio.words import WordIndex
from hyperlabel.trust import AdviceList, advise
from hyperlabel.votes.classes import Classes, encode_column, state_classes
from hyperlabel.votes.stated import read_balance

Run = Callable[[LabelingFunction, Items, Advance], Answer]

_PYTHON = "Python that defines an LF"
_COLUMN = "the name of a column"
_MOST_KEPT = 1000  # answers of LFs, current and past


class Done(NamedTuple):
    """A change that can be undone."""

    before: ProjectState  # the state before it
    action: str  # what was done


def _nothing(rows: int) -> None:
    """Ignore progress."""


def run_here(lf: LabelingFunction, items: Items, advance: Advance) -> Answer:
    """Run an LF in this process; `advance` is called with the number of rows done."""
    return run_all([lf], items, advance=advance)[0]


class Project:
    """LFs, gold and labels of a table of texts, kept in a folder.

    The folder has `project.toml`, `lfs.py` and `gold.csv`. One process at a time has it open: close it, or use `with`.

    Args:
        table: Any table that hyperlabel reads, or the folder of a project; not needed if `folder` has a project.
        text: The column of the texts; `text` if not given.
        folder: The folder; if not given, next to the table, with the ending `.studio`.
        classes: The classes, in order; those of the columns of gold, truth and votes if not given.
        id: The column that identifies items; one named `id` or the like if not given, or else rows are counted from 0.
        lfs: Columns that are votes; those whose names start with `lf_` if not given.
        gold: The column with known classes; `gold` if there is one.
        truth: The column with classes that are only used for evaluation; `truth` if there is one.
        sample: How many rows to explore at most; labels are written for all rows.
        run: How an LF is run.

    >>> import tempfile
    >>> import polars as pl
    >>> folder = tempfile.TemporaryDirectory()
    >>> texts = Path(folder.name, "texts.csv")
    >>> pl.DataFrame({"text": ["free money", "see you", "free prize", "at six"]}).write_csv(texts)
    >>> with Project(texts, classes=["ham", "spam"]) as project:
    ...     project.add("free = keyword_lf('free', 'spam')")
    ...     project.give_gold("1", "ham")
    ...     project.labels.labels.tolist(), sorted(path.name for path in project.folder.path.iterdir())
    (['spam', 'ham', 'spam', None], ['.lock', 'gold.csv', 'lfs.py', 'project.toml'])
    >>> folder.cleanup()
    """

    def __init__(
        self,
        table: str | Path | None = None,
        *,
        text: str | None = None,
        folder: str | Path | None = None,
        classes: Sequence[Hashable] | None = None,
        id: str | None = None,
        lfs: Sequence[str] = (),
        gold: str | None = None,
        truth: str | None = None,
        sample: int = 100_000,
        run: Run = run_here,
    ) -> None:
        require("polars", extra="cli")
        columns = {"text": text, "id": id, "gold": gold, "truth": truth}
        named = {name: check_text(column, name, _COLUMN) for name, column in columns.items() if column is not None}
        check_number(sample, "sample", "a number of rows, at least 1", least=1, whole=True)
        votes = tuple(as_list(lfs, "lfs", "a list of columns"))
        self.folder = Folder.open(choose_folder(table, folder))
        try:
            self._run, self._answers = run, {}  # type: Run, dict[str, Answer]
            texts = "text" if text is None else text
            settings = Settings("", texts, id, _check_classes(classes), (), votes, gold, truth, int(sample))
            self._open(table, settings, named)
        except BaseException:
            self.folder.give_up()
            raise

    def _open(self, table: str | Path | None, settings: Settings, named: Mapping[str, str]) -> None:
        self.past: list[Done] = []
        found = self.folder.read_state()
        state = self._begin(table, settings) if found is None else found
        if found is not None:
            self._check_same(table, named, found.settings)
        self.data = Data.open(state.settings, self.folder.path)
        prepared = self._prepare(state, _nothing)
        if found is None:  # a mistake leaves no project behind, which would repeat it
            self.folder.write_state(state)
        self.history: list[Moment] = []
        self._take(state, *prepared, "opened")

    def _check_same(self, table: str | Path | None, named: Mapping[str, str], kept: Settings) -> None:
        """Refuse a table and columns other than those of the project that is in the folder: they would be ignored."""
        place = self.folder.path
        if table is not None and Path(table) != place and self.folder.path_to(Path(table)) != kept.table:
            raise ProjectError(f"'{place}' has a project of '{kept.table}', not of '{table}'; name another folder")
        for key, column in named.items():
            own = getattr(kept, key)
            if column != own:
                raise ProjectError(
                    f"{key} is '{column}', but the project in '{place}' has {own!r}; leave it out, correct {SETTINGS}, "
                    "or name another folder"
                )

    def _begin(self, table: str | Path | None, settings: Settings) -> ProjectState:
        """The state of a new project."""
        if table is None:
            raise ProjectError(f"'{self.folder.path}' has no {SETTINGS}; name the table to start from")
        path = self.folder.path_to(check_path(table, "table", "the path of a table"))
        settings = complete(replace(settings, table=path), self.folder.path)
        state = ProjectState(settings, self.folder.read_lfs() or HEADER, {})
        gold = self.folder.read(GOLD)
        return state if gold is None else replace(state, gold=read_gold(gold, settings.classes))

    def __enter__(self) -> "Project":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let other processes open the folder. Nothing is left to save."""
        self.folder.close()

    # Files and memory.

    def _prepare(self, state: ProjectState, advance: Advance) -> tuple[LFSource, Snapshot]:
        """Run the LFs of a state that must be run; nothing changes if that fails."""
        settings = state.settings
        if self._has_votes_of(state):
            gold = self._gold_of(state)
            return self.source, self.snapshot.with_gold(gold, settings.class_balance)
        source = self._load(state.source)
        columns = dict(self.data.votes(settings.classes))
        for name, lf in source.lfs.items():
            if name in self.data.frame.columns:
                raise ProjectError(f"{LFS} has an LF named '{name}', like a column of the table; rename it")
            columns[name] = self._column(lf, state.source, settings.classes, advance)
        return source, Snapshot(self.data.n, settings.classes, columns, self._gold_of(state), settings.class_balance)

    def _has_votes_of(self, state: ProjectState) -> bool:
        """Whether the votes of a state are the current ones: only gold or the class balance differ."""
        own: ProjectState | None = getattr(self, "state", None)
        return own is not None and own.source == state.source and own.settings.classes == state.settings.classes

    def _gold_of(self, state: ProjectState) -> NDArray[np.int64]:
        """The class numbers of gold, -1 where it is not known. -> (n,)."""
        classes = state.settings.classes
        gold = self.data.encode(state.settings.gold, classes)
        for item, known in state.gold.items():
            row = self.data.row_of.get(item)
            if row is not None:
                check_gold_text(item, self.data.text(row), known, state.settings)
                gold[row] = classes.index(known.label)
        return gold

    def _column(self, lf: LabelingFunction, text: str, classes: Classes, advance: Advance) -> Ints:
        """The votes of an LF as class numbers; it runs only if it has not run before. -> (n,)."""
        try:
            key = f"{fingerprint_lf(lf)} {lf.name}"
        except ParameterError:  # it uses something without a fingerprint: it runs again when the file changes
            key = f"{lf.name} {text}"
        if key not in self._answers:
            if len(self._answers) >= _MOST_KEPT:
                self._answers.pop(next(iter(self._answers)))
            self._answers[key] = self._run(lf, self.data.items, advance)
        return _encode(self._answers[key], lf.name, classes)

    def _take(self, state: ProjectState, source: LFSource, snapshot: Snapshot, action: str) -> None:
        """Make a state the current one, once it is on disk."""
        self.state, self.source, self.snapshot = state, source, snapshot
        self.moment = take_moment(snapshot, self.truth, action)
        self.history.append(self.moment)

    def _write(self, state: ProjectState, past: list[Done], action: str, advance: Advance) -> None:
        """Prepare a state, write it, and make it the current one."""
        prepared = self._prepare(state, advance)
        self.folder.write_state(state, self.state)
        self.past = past
        self._take(state, *prepared, action)

    def _accept(self, state: ProjectState, action: str, advance: Advance = _nothing) -> None:
        """Make a change, which can be undone. It must start from what is on disk: refresh before."""
        self._write(state, [*self.past, Done(self.state, action)], action, advance)

    # Changes.

    def set_classes(self, classes: Sequence[Hashable]) -> None:
        """State the classes, in order. Classes that LFs vote for, or that gold has, must be among them."""
        stated = _check_classes(classes)
        self.refresh()
        used = {known.label for known in self.state.gold.values()} - set(stated)
        if used:
            raise ProjectError(f"classes is {list(stated)}, but gold has {min(map(str, used))!r}; remove it first")
        self._accept(
            replace(self.state, settings=replace(self.state.settings, classes=stated, class_balance=())),
            f"classes {', '.join(map(str, stated))}",
        )

    def set_balance(self, shares: object) -> None:
        """State the class balance, in order or by class; None removes it."""
        self.refresh()
        balance = () if shares is None else tuple(read_balance(shares, self.classes).tolist())
        settings = replace(self.state.settings, class_balance=balance)
        self._accept(replace(self.state, settings=settings), "class balance")

    def give_gold(self, item: str, label: Hashable, *, picked: str = "") -> None:
        """Say what class an item has; None removes it.

        Args:
            item: Its identifier.
            label: One of the classes.
            picked: How the item was picked: `random` ones measure accuracy without bias.
        """
        self.refresh()
        row = self._row_of(item)
        if label is not None and not self._is_class(label):
            shown = ", ".join(map(repr, self.classes)) or "none yet: state them with set_classes"
            raise ProjectError(f"label is {show(label)}; expected one of the classes, {shown}")
        gold = {key: known for key, known in self.state.gold.items() if key != item}
        if label is not None:
            gold[item] = GoldLabel(label, picked, self.data.excerpt(row))
        self._accept(replace(self.state, gold=gold), f"gold {item}: {label}")

    def add(self, source: str | Candidate, *, advance: Advance | None = None) -> None:
        """Add an LF.

        Args:
            source: A candidate, or Python that defines an LF: `@labeling_function` on a function, or an assignment
                such as `free = keyword_lf("free", "spam")`. Imports that it needs are added.
            advance: Called with the number of rows done; what it raises stops the LF, and nothing is changed.

        Raises:
            LFError: The LF fails; the message names the row.
            ProjectError: The source does not define an LF.
        """
        block = source.source if isinstance(source, Candidate) else check_text(source, "source", _PYTHON)
        self.refresh()
        text = self.source.added(block)
        loaded = self._load(text)
        self._check_kept(loaded, "give what it defines other names")
        new = [name for name in loaded.lfs if name not in self.source.lfs]
        if not new:
            raise ProjectError(
                "the source does not define a new LF; expected a function with @labeling_function, or a line such as "
                "free = keyword_lf('free', 'spam')"
            )
        self._accept(replace(self.state, source=text), f"added {', '.join(new)}", advance or _nothing)

    def edit(self, name: str, source: str, *, advance: Advance | None = None) -> None:
        """Replace the statement that defines an LF; see `add`."""
        check_text(source, "source", _PYTHON)
        self.refresh()
        self._check_own(name)
        text = self.source.replaced(name, source)
        loaded = self._load(text)
        self._check_kept(loaded, f"edit {LFS} itself", name)
        if len(loaded.lfs) < len(self.source.lfs):
            raise ProjectError(f"the source does not define an LF; to remove '{name}', remove it")
        self._accept(replace(self.state, source=text), f"edited {name}", advance or _nothing)

    def remove(self, name: str) -> None:
        """Remove an LF."""
        self.refresh()
        self._check_own(name)
        text = self.source.removed(name)
        self._check_kept(self._load(text), f"edit {LFS} itself", name)
        self._accept(replace(self.state, source=text), f"removed {name}")

    def undo(self) -> str:
        """Undo the last accepted change; returns what it was.

        Raises:
            ProjectError: There is nothing to undo.
        """
        self.refresh()
        if not self.past:
            raise ProjectError("nothing was changed since the project was opened; there is nothing to undo")
        before, undone = self.past[-1]
        self._write(before, self.past[:-1], f"undid: {undone}", _nothing)
        return undone

    def refresh(self) -> bool:
        """Load what another program changed in the folder; returns whether anything changed.

        Raises:
            ProjectError: It cannot be used. The last good state is kept, and nothing is overwritten.
        """
        changed = self.folder.changed()
        if not changed:
            return False
        seen = dict(self.folder.seen)
        try:
            state = self.folder.read_state()
            if state is None:
                raise ProjectError(f"{SETTINGS} is missing from '{self.folder.path}'; put it back")
            if _source_of(state.settings) != _source_of(self.state.settings):
                raise ProjectError(f"{SETTINGS} names another table or other columns; open the project again")
            prepared = self._prepare(state, _nothing)
        except BaseException:
            self.folder.seen = seen  # so that it is checked again
            raise
        action = f"{', '.join(changed)} changed outside"
        self.past.append(Done(self.state, action))
        self._take(state, *prepared, action)
        return True

    def _load(self, text: str) -> LFSource:
        return LFSource.load(text, self.folder.path / LFS)

    def _row_of(self, item: str) -> int:
        row = self.data.row_of.get(item) if isinstance(item, str) else None
        if row is None:
            raise ProjectError(f"item is {show(item)}; expected the identifier of a row that is explored, as a string")
        return row

    def _is_class(self, name: object) -> bool:
        return isinstance(name, str | int | np.generic) and name in self.classes

    def _check_own(self, name: str) -> None:
        if check_text(name, "name", "the name of an LF") not in self.source.lfs:
            where = "is a column of the table" if name in self.snapshot.columns else f"is not in {LFS}"
            raise ProjectError(f"name is {name!r}, which {where}; expected {', '.join(self.source.lfs) or 'none'}")

    def _check_kept(self, loaded: LFSource, remedy: str, name: str | None = None) -> None:
        """Refuse a text that loses another LF than the named one: two may share a statement, or a variable."""
        lost = [own for own in self.source.lfs if own not in loaded.lfs and own != name]
        if lost:
            raise ProjectError(f"the LF '{lost[0]}' would be gone after this; {remedy}")

    # Looking.

    def __repr__(self) -> str:
        shown = f"{len(self.data.ids):,} items, {len(self.source.lfs):,} LFs, {len(self.state.gold):,} gold"
        return f"Project({str(self.folder.path)!r}: {shown})"

    def _repr_html_(self) -> str:
        """Items, LFs and the state of the labels, as an HTML table."""
        now = self.moment
        shares = zip(self.classes, now.balance, strict=True)
        rows = [
            ["items", f"{len(self.data.ids):,}"],
            ["LFs", ", ".join(self.source.lfs)],
            ["gold", f"{now.n_gold:,}"],
            ["items with a label", f"{now.coverage:.0%}"],
            ["mean confidence", f"{now.confidence:.2f}"],
            ["labels", ", ".join(f"{name} {share:.0%}" for name, share in shares)],
        ]
        return html_table(["", ""], rows, repr(self))

    @property
    def classes(self) -> Classes:
        """The classes."""
        return self.state.settings.classes

    @property
    def labels(self) -> Labels:
        """The labels of the rows that are explored."""
        return replace(self.snapshot.labels, items=np.array(self.data.ids, object))

    @property
    def truth(self) -> NDArray[np.int64]:
        """The class numbers of the truth, -1 where it is not known. (n,)."""
        return self.data.encode(self.data.settings.truth, self.classes)

    @cached_property
    def words(self) -> WordIndex:
        """Which rows have which words; made when first needed."""
        return WordIndex.of(self.data.texts)

    def next_items(self, by: By = "useful", most: int = 1) -> list[str]:
        """The next items to look at, the most useful first; those with gold are left out.

        Args:
            by: `useful`, `uncertain`, `contested`, `uncovered` or `random`.
            most: How many.
        """
        rows = next_rows(self.snapshot, self.words, by, most, seed=len(self.data.ids))
        return [self.data.ids[row] for row in rows]

    def find(self, wanted: Filter) -> NDArray[np.intp]:
        """The rows that a filter lets through, in their order."""
        return find_rows(self.snapshot, self.data, wanted)

    def explain(self, item: str) -> Explanation:
        """Which votes made the label of an item, and what would change it; there must be an LF."""
        row = self._row_of(item)
        if not self.snapshot.columns:
            raise ProjectError("there is no LF, so no label can be explained; add one first")
        votes = self.snapshot.votes[np.array([row])]
        return replace(explain_item(self.snapshot.model, votes, 0), item=item)

    def candidates(self, item: str, selection: str = "", *, vote: Hashable = None, most: int = 8) -> list[Candidate]:
        """Rules that an item suggests, the most promising first.

        Args:
            item: Its identifier.
            selection: Words that were selected in its text; all of the item if there are none.
            vote: The class to vote for: the gold of the item, or else its label, if not given.
            most: How many.
        """
        row = self._row_of(item)
        check_text(selection, "selection")
        check_count(most, "most")
        vote = self._vote_of(row) if vote is None else vote
        if not self._is_class(vote):
            raise ProjectError(
                f"vote is {show(vote)}; expected one of the classes: {', '.join(map(str, self.classes))}"
            )
        if selection.strip():
            ideas = list(ideas_of_selection(self.data, self.words, selection))
        else:
            ideas = list(ideas_of_item(self.data, self.words, row))
        found = propose(ideas, self.snapshot, vote, self._taken(), most)
        return [each for each in found if each.score > 0 or selection.strip()]

    def _taken(self) -> set[str]:
        """Names that a new LF must not have: it would replace what other LFs use."""
        return {*self.source.lfs, *self.source.variables, *self.data.frame.columns}

    def _vote_of(self, row: int) -> Hashable:
        best = int(self.snapshot.best[row])
        if best < 0:
            raise ProjectError(f"item {self.data.ids[row]!r} has no label; state the class to vote for with vote")
        return self.classes[best]

    def what_if(self, source: str, *, replacing: str | None = None, advance: Advance | None = None) -> Effect:
        """What an LF would do, before it is accepted.

        Args:
            source: Python that defines the LF, as for `add`.
            replacing: The LF that it would replace.
            advance: As for `add`.
        """
        check_text(source, "source", _PYTHON)
        if replacing is not None:
            self._check_own(replacing)
        text = self.source.added(source) if replacing is None else self.source.replaced(replacing, source)
        loaded = self._load(text)
        new = [name for name in loaded.lfs if name not in self.source.lfs]
        name = replacing if replacing in loaded.lfs else new[0] if new else None
        if name is None:
            raise ProjectError("the source does not define a new LF; give it another name")
        column = self._column(loaded.lfs[name], text, self.classes, advance or _nothing)
        return find_effect(self.snapshot, replacing or name, column)

    def list_lfs(self) -> list[dict[str, Any]]:
        """One row per LF: lf, votes_for, votes, coverage, overlaps, conflicts, accuracies, what it changes."""
        return list_lfs(self.snapshot)

    def advise(self) -> AdviceList:
        """What to do next, most valuable first; items are rows. Empty until there is an LF."""
        if not self.snapshot.columns:
            return AdviceList(())
        known = np.flatnonzero(self.snapshot.gold >= 0)
        gold = {int(row): self.classes[self.snapshot.gold[row]] for row in known}
        return advise(self.snapshot.votes, gold or None, model=self.snapshot.new_model())

    # Saving.

    def save_labels(self, path: str | Path) -> int:
        """Write the labels of all rows of the table, whatever their number; returns how many have one.

        Args:
            path: A name that ends in .parquet, .csv or another table format. All columns of the table are kept;
                `label` and `confidence` are added.
        """
        own = self.state
        return write_labels(self.data, self.source.lfs, own.gold, self.snapshot, check_path(path, "path"))

    def save_report(self, path: str | Path) -> None:
        """Write the report, one HTML page, about the rows that are explored."""
        write_report(self.data, self.snapshot, self.truth, check_path(path, "path"))

    def save_certificate(self, path: str | Path, *, error: float = 0.05, confidence: float = 0.9) -> str:
        """Write which labels you can rely on, by the gold of items that were picked at random; returns the sentence.

        Args:
            path: A text file.
            error: The largest share of wrong labels among those accepted.
            confidence: The probability that it holds.
        """
        picked = np.zeros(self.data.n, bool)
        drawn = (item for item, known in self.state.gold.items() if known.picked == "random")
        picked[[self.data.row_of[item] for item in drawn if item in self.data.row_of]] = True
        return write_certificate(self.snapshot, picked, check_path(path, "path"), error, confidence)


def _encode(answer: Answer, name: str, classes: Classes) -> Ints:
    """What an LF answered, as class numbers. -> (n,)."""
    column = answer.column(name)
    return encode_column(replace(column, values=name_votes(column.values, classes)), classes)


def _check_classes(classes: Sequence[Hashable] | None) -> Classes:
    stated = () if classes is None else state_classes(None, classes) or ()
    if len(stated) == 1:
        raise ParameterError(f"classes is {list(stated)}; expected at least two")
    return stated


def _source_of(settings: Settings) -> Settings:
    """The settings whose change requires reading the table again."""
    return replace(settings, classes=(), class_balance=())
