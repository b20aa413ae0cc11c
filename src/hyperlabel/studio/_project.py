"""`Project`: labeling functions, gold and labels of a table, in a folder that is the state.

Every accepted change is on disk before the call returns. `lfs.py` runs once per change of its text, and an LF only if
it is new or changed; votes are grouped and labeled once per change.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Ints, html_table, show
from hyperlabel.data import Classes, Explanation, Labels, encode_column, explain_item, read_balance, state_classes
from hyperlabel.errors import ParameterError, ProjectError, require
from hyperlabel.lf import Advance, Answer, Items, LabelingFunction, fingerprint_lf, name_votes, run_all
from hyperlabel.studio._candidates import Candidate, draft_from_item, draft_from_selection, identify, propose
from hyperlabel.studio._classes import rename_votes, votes_for
from hyperlabel.studio._data import Data, check_gold_text, complete
from hyperlabel.studio._export import write_certificate, write_classifier, write_labels, write_report
from hyperlabel.studio._find import By, Filter, find_rows, next_rows
from hyperlabel.studio._folder import SETTINGS, Folder, GoldLabel, ProjectState, Settings, choose_folder
from hyperlabel.studio._snapshot import Effect, ProjectStats, Snapshot, find_effect
from hyperlabel.studio._source import NAME as LFS
from hyperlabel.studio._source import LFSource
from hyperlabel.studio._texts import TextEvidence, TextFeatures
from hyperlabel.studio._words import WordIndex
from hyperlabel.trust import AdviceList, advise

Run = Callable[[LabelingFunction, Items, Advance], Answer]

_MOST_ANSWERS = 1000  # answers of LFs that are kept, current and past


class HistoryEntry(NamedTuple):
    """A change that can be undone."""

    before: ProjectState
    action: str


def _ignore(rows: int) -> None:
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
        gold: The column with gold labels; `gold` if there is one.
        truth: The column with classes that are only used for evaluation; `truth` if there is one.
        sample: The most rows to explore; labels are written for all rows.
        run: Function that runs an LF.
        trust: Whether to run an `lfs.py` that this user has not run before. If not, a terminal asks, and without one
            it is refused: a folder beside a table may come from anybody.

    >>> import tempfile
    >>> import polars as pl
    >>> folder = tempfile.TemporaryDirectory()
    >>> texts = Path(folder.name, "texts.csv")
    >>> pl.DataFrame({"text": ["free money", "see you", "free prize", "at six"]}).write_csv(texts)
    >>> with Project(texts, classes=["ham", "spam"]) as project:
    ...     project.add("free = keyword_lf('free', 'spam')")
    ...     project.give_gold("1", "ham")
    ...     project.labels.labels.tolist(), sorted(path.name for path in project.folder.path.iterdir())
    (['spam', 'ham', 'spam', 'ham'], ['.lock', 'gold.csv', 'lfs.py', 'project.toml'])
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
        trust: bool = False,
    ) -> None:
        require("polars", extra="cli")
        column = "text" if text is None else text
        options = Settings("", column, id, _check_classes(classes), (), tuple(lfs), gold, truth, int(sample))
        self.folder = Folder.open(choose_folder(table, folder), trust=trust)
        try:
            self._run, self._answers = run, {}  # type: Run, dict[str, Answer]
            self.undo_stack: list[HistoryEntry] = []
            self.history: list[ProjectStats] = []
            self.suggested: dict[str, str] = {}  # how each item that was suggested had been picked
            self.learns_later = False  # whether `learn` is called by others, in the background
            self._open(table, options, {"text": text, "id": id, "gold": gold, "truth": truth})
        except BaseException:
            self.folder.abandon()
            raise

    def _open(self, table: str | Path | None, options: Settings, named: Mapping[str, str | None]) -> None:
        settings = self.folder.read_settings()
        is_new = settings is None
        if settings is None:
            if table is None:
                raise ProjectError(f"'{self.folder.path}' has no {SETTINGS}; name the table to start from")
            settings = complete(replace(options, table=self.folder.path_to(Path(table))), self.folder.path)
        else:
            self._check_same(table, named, settings)
        state = self.folder.read_state(settings)
        self.data = Data.open(settings, self.folder.path)
        snapshot = self._make_snapshot(state)
        if is_new:  # a mistake leaves no project behind, which would repeat it
            self.folder.write_state(state)
        self._set_state(state, snapshot, "opened")

    def _check_same(self, table: str | Path | None, named: Mapping[str, str | None], settings: Settings) -> None:
        """Refuse a table and columns other than those of the project in the folder: they would be ignored."""
        path = self.folder.path
        if table is not None and Path(table) != path and self.folder.path_to(Path(table)) != settings.table:
            raise ProjectError(f"'{path}' has a project of '{settings.table}', not of '{table}'; name another folder")
        for key, column in named.items():
            if column is not None and column != getattr(settings, key):
                raise ProjectError(
                    f"{key} is '{column}', but the project in '{path}' has {getattr(settings, key)!r}; leave it out, "
                    f"correct {SETTINGS}, or name another folder"
                )

    def __enter__(self) -> "Project":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let other processes open the folder. Nothing is left to save."""
        self.folder.close()

    # State.

    @property
    def source(self) -> LFSource:
        """The LFs of `lfs.py`."""
        return self.state.source

    @property
    def classes(self) -> Classes:
        """The classes."""
        return self.state.settings.classes

    @property
    def stats(self) -> ProjectStats:
        """The numbers after the last change."""
        return self.history[-1]

    def _make_snapshot(self, state: ProjectState, advance: Advance = _ignore) -> Snapshot:
        """Compute votes and gold of a state; nothing changes if that fails."""
        settings, gold = state.settings, self._read_gold(state)
        if self.history and (self.source, self.classes) == (state.source, settings.classes):
            return self.snapshot.with_gold(gold, settings.class_balance)
        columns = dict(self.data.votes(settings.classes))
        for name, lf in state.source.lfs.items():
            if name in self.data.frame.columns:
                raise ProjectError(f"{LFS} has an LF named '{name}', like a column of the table; rename it")
            columns[name] = self._run_lf(lf, state.source, settings.classes, advance)
        is_known = bool(self.history) and settings.classes == self.classes and bool((gold >= 0).any())
        text = self.snapshot.text if is_known else None
        return Snapshot(settings.classes, columns, gold, settings.class_balance, text=text)

    def _read_gold(self, state: ProjectState) -> NDArray[np.int64]:
        """Return the class numbers of gold, -1 where unknown. -> (n,)."""
        classes = state.settings.classes
        numbers = self.data.encode(state.settings.gold, classes)
        for item, gold in state.gold.items():
            row = self.data.row_of.get(item)
            if row is not None:
                check_gold_text(item, self.data.text(row), gold, state.settings)
                numbers[row] = classes.index(gold.label)
        return numbers

    def _run_lf(self, lf: LabelingFunction, source: LFSource, classes: Classes, advance: Advance) -> Ints:
        """Return the votes of an LF as class numbers; it runs only if it has not run before. -> (n,)."""
        try:
            key = f"{fingerprint_lf(lf)} {lf.name}"
        except ParameterError:  # it uses something without a fingerprint: it runs again when the file changes
            key = f"{lf.name} {source.text}"
        if key not in self._answers:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.pop(next(iter(self._answers)))
            self._answers[key] = self._run(lf, self.data.items, advance)
        column = self._answers[key].column(lf.name)
        return encode_column(replace(column, values=name_votes(column.values, classes)), classes)

    def _accept(self, action: str, advance: Advance | None = None, **changes: Any) -> None:
        """Change parts of the state, which must be that on disk: refresh before. The change can be undone."""
        stack = [*self.undo_stack, HistoryEntry(self.state, action)]
        self._write(replace(self.state, **changes), stack, action, advance)

    def _write(self, state: ProjectState, stack: list[HistoryEntry], action: str, advance: Advance | None) -> None:
        snapshot = self._make_snapshot(state, advance or _ignore)
        self.folder.write_state(state, self.state)
        self.undo_stack = stack
        self._set_state(state, snapshot, action)

    def _set_state(self, state: ProjectState, snapshot: Snapshot, action: str) -> None:
        """Make a state that is on disk the current one."""
        self.state = state
        if not self.learns_later and not snapshot.is_trained and snapshot.can_train:
            snapshot = snapshot.with_text(snapshot.train(self.features))
        self.snapshot = snapshot
        self.history.append(self._measure(action))

    def _measure(self, action: str) -> ProjectStats:
        return ProjectStats.of(self.snapshot, self.truth, action, self._picked_at_random())

    def _picked_at_random(self) -> NDArray[np.bool_]:
        """Mark the rows with gold that were picked at random. (n,)."""
        picked = np.zeros(self.data.n, bool)
        drawn = (item for item, gold in self.state.gold.items() if gold.picked == "random")
        picked[[self.data.row_of[item] for item in drawn if item in self.data.row_of]] = True
        return picked

    def train(self) -> tuple[Snapshot, TextEvidence | None]:
        """Train on the texts, votes and gold of now; `learn` takes the result. It may run in another thread."""
        snapshot = self.snapshot
        return snapshot, snapshot.train(self.features)

    def learn(self, snapshot: Snapshot, text: TextEvidence | None) -> None:
        """Use what was learned from the texts; if votes, gold or classes have changed since, it is one step behind."""
        if snapshot.classes != self.classes:
            return
        if snapshot is self.snapshot:
            self.snapshot = snapshot.with_text(text)
        else:
            self.snapshot = replace(self.snapshot.with_text(text), is_trained=False)
        self.history[-1] = self._measure(self.history[-1].action)

    # Changes.

    def set_classes(self, classes: Sequence[Hashable]) -> None:
        """Set the classes, in order. Classes that LFs vote for, or that gold has, must be among them."""
        names = _check_classes(classes)
        self.refresh()
        used = {gold.label for gold in self.state.gold.values()} - set(names)
        if used:
            raise ProjectError(f"classes is {list(names)}, but gold has {min(map(str, used))!r}; remove it first")
        settings = replace(self.state.settings, classes=names, class_balance=())
        self._accept(f"classes {', '.join(map(str, names))}", settings=settings)

    def add_class(self, name: Hashable) -> None:
        """Add a class, after the others."""
        self.set_classes([*self.classes, name])

    def rename_class(self, old: Hashable, new: Hashable) -> None:
        """Rename a class in rules and gold; if the new name is that of another class, the two become one."""
        self.refresh()
        self._check_class(old)
        names = tuple(dict.fromkeys(new if name == old else name for name in self.classes))
        gold = {item: each._replace(label=new if each.label == old else each.label) for item, each in self._gold()}
        source = self._load(rename_votes(self.source.text, old, new))
        action = f"merged {old} into {new}" if new in self.classes else f"renamed {old} to {new}"
        self._accept(action, settings=self._with_classes(names), gold=gold, source=source)

    def remove_class(self, name: Hashable) -> None:
        """Remove a class, its gold, and the rules that vote for it."""
        self.refresh()
        self._check_class(name)
        source = self.source
        for rule in [rule for rule in source.lfs if votes_for(source.block(rule), name)]:
            source = self._load(source.removed(rule))
        gold = {item: each for item, each in self._gold() if each.label != name}
        names = tuple(each for each in self.classes if each != name)
        self._accept(f"removed the class {name}", settings=self._with_classes(names), gold=gold, source=source)

    def _gold(self) -> Iterable[tuple[str, GoldLabel]]:
        return self.state.gold.items()

    def _with_classes(self, names: Sequence[Hashable]) -> Settings:
        return replace(self.state.settings, classes=_check_classes(names), class_balance=())

    def _check_class(self, name: Hashable) -> None:
        if name not in self.classes:
            raise ProjectError(f"the class is {show(name)}; expected one of {', '.join(map(str, self.classes))}")

    def set_balance(self, shares: object) -> None:
        """Set the class balance, in order or by class; None removes it."""
        self.refresh()
        balance = () if shares is None else tuple(read_balance(shares, self.classes).tolist())
        self._accept("class balance", settings=replace(self.state.settings, class_balance=balance))

    def give_gold(self, item: str, label: Hashable, *, picked: str = "") -> None:
        """Set the gold label of an item; None removes it.

        Args:
            item: Its identifier.
            label: One of the classes.
            picked: How the item was picked; if not given, as `next_items` picked it. Those picked at `random` measure
                accuracy without bias.
        """
        self.refresh()
        picked = picked or self.suggested.get(item, "")
        row = self._row_of(item)
        gold = {key: value for key, value in self.state.gold.items() if key != item}
        if label is not None:
            if label not in self.classes:
                shown = ", ".join(map(repr, self.classes)) or "none yet: set them with set_classes"
                raise ProjectError(f"label is {show(label)}; expected one of the classes, {shown}")
            gold[item] = GoldLabel(self.classes[self.classes.index(label)], picked, self.data.excerpt(row))
        self._accept(f"gold {item}: {label}", gold=gold)

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
        self.refresh()
        loaded = self._load(self.source.added(source.source if isinstance(source, Candidate) else source))
        self._check_kept(loaded, "give what it defines other names")
        new = [name for name in loaded.lfs if name not in self.source.lfs]
        if not new:
            raise ProjectError(
                "the source does not define a new LF; expected a function with @labeling_function, or a line such as "
                "free = keyword_lf('free', 'spam')"
            )
        self._accept(f"added {', '.join(new)}", advance, source=loaded)

    def edit(self, name: str, source: str, *, advance: Advance | None = None) -> None:
        """Replace the statement that defines an LF; see `add`."""
        self.refresh()
        self._check_own(name)
        loaded = self._load(self.source.replaced(name, source))
        self._check_kept(loaded, f"edit {LFS} itself", name)
        if len(loaded.lfs) < len(self.source.lfs):
            raise ProjectError(f"the source does not define an LF; to remove '{name}', remove it")
        self._accept(f"edited {name}", advance, source=loaded)

    def remove(self, name: str) -> None:
        """Remove an LF."""
        self.refresh()
        self._check_own(name)
        loaded = self._load(self.source.removed(name))
        self._check_kept(loaded, f"edit {LFS} itself", name)
        removed = dict.fromkeys([*self.state.settings.removed, identify(self.source.block(name))])
        settings = replace(self.state.settings, removed=tuple(filter(None, removed)))
        self._accept(f"removed {name}", source=loaded, settings=settings)

    def undo(self) -> str:
        """Undo the last accepted change, and return what it was.

        Raises:
            ProjectError: There is nothing to undo.
        """
        self.refresh()
        if not self.undo_stack:
            raise ProjectError("nothing was changed since the project was opened; there is nothing to undo")
        before, action = self.undo_stack[-1]
        self._write(before, self.undo_stack[:-1], f"undid: {action}", None)
        return action

    def refresh(self) -> bool:
        """Load what another program changed in the folder, and return whether anything changed.

        Raises:
            ProjectError: It cannot be used. The last good state is kept, and nothing is overwritten.
        """
        changed = self.folder.changed()
        if not changed:
            return False
        contents = dict(self.folder.contents)
        try:
            settings = self.folder.read_settings()
            if settings is None:
                raise ProjectError(f"{SETTINGS} is missing from '{self.folder.path}'; put it back")
            if _describe_table(settings) != _describe_table(self.state.settings):
                raise ProjectError(f"{SETTINGS} names another table or other columns; open the project again")
            state = self.folder.read_state(settings, self.source)
            snapshot = self._make_snapshot(state)
        except BaseException:
            self.folder.contents = contents  # so that it is checked again
            raise
        action = f"{', '.join(changed)} changed outside"
        self.undo_stack.append(HistoryEntry(self.state, action))
        self._set_state(state, snapshot, action)
        return True

    def _load(self, text: str) -> LFSource:
        return LFSource.load(text, self.folder.path / LFS)

    def _row_of(self, item: str) -> int:
        if item not in self.data.row_of:
            raise ProjectError(f"item is {show(item)}; expected the identifier of a row that is explored, as a string")
        return self.data.row_of[item]

    def _check_own(self, name: str) -> None:
        if name not in self.source.lfs:
            where = "is a column of the table" if name in self.snapshot.columns else f"is not in {LFS}"
            raise ProjectError(f"name is {name!r}, which {where}; expected {', '.join(self.source.lfs) or 'none'}")

    def _check_kept(self, loaded: LFSource, remedy: str, name: str | None = None) -> None:
        """Refuse a source that loses another LF than the named one: two may share a statement, or a variable."""
        lost = [other for other in self.source.lfs if other not in loaded.lfs and other != name]
        if lost:
            raise ProjectError(f"the LF '{lost[0]}' would be gone after this; {remedy}")

    # Queries.

    def __repr__(self) -> str:
        counts = f"{len(self.data.ids):,} items, {len(self.source.lfs):,} LFs, {len(self.state.gold):,} gold"
        return f"Project({str(self.folder.path)!r}: {counts})"

    def _repr_html_(self) -> str:
        """Show items, LFs and the state of the labels as an HTML table."""
        shares = zip(self.classes, self.stats.balance, strict=True)
        rows = [
            ["items", f"{len(self.data.ids):,}"],
            ["LFs", ", ".join(self.source.lfs)],
            ["gold", f"{self.stats.n_gold:,}"],
            ["items with a label", f"{self.stats.coverage:.0%}"],
            ["mean confidence", f"{self.stats.confidence:.2f}"],
            ["labels", ", ".join(f"{name} {share:.0%}" for name, share in shares)],
        ]
        return html_table(["", ""], rows, repr(self))

    @property
    def labels(self) -> Labels:
        """Labels of the rows that are explored."""
        return replace(self.snapshot.labels, items=np.array(self.data.ids, object))

    @property
    def truth(self) -> NDArray[np.int64]:
        """Class numbers of the truth, -1 where unknown. (n,)."""
        return self.data.encode(self.data.settings.truth, self.classes)

    @cached_property
    def words(self) -> WordIndex:
        """Index of the words of all texts, built when first needed."""
        return WordIndex.of(self.data.texts)

    def next_items(self, by: By = "useful", most: int = 1) -> list[str]:
        """Return the next items to look at, without those that have gold; `suggested` says how each was picked.

        Args:
            by: `useful`, `uncertain`, `contested`, `uncovered` or `random`. Every fifth of the `useful` ones is a
                random one: they tell how many labels are right.
            most: The most items to return.
        """
        if by == "useful" and not self.learns_later:
            _ = self.features
        picks = next_rows(self.snapshot, self.words, self.worth, by, most, seed=self.data.n)
        items = {self.data.ids[row]: how for row, how in picks}
        self.suggested.update(items)
        return list(items)

    @cached_property
    def features(self) -> TextFeatures:
        """The texts as numbers, computed when first needed."""
        return TextFeatures.of(self.data.texts)

    @property
    def worth(self) -> Float64 | None:
        """Value of a gold label of each row; None until the texts were read. (n,)."""
        if self.snapshot.text is not None:
            return self.snapshot.text.worth
        return self.features.typical.astype(np.float64) if "features" in self.__dict__ else None

    def find(self, wanted: Filter) -> NDArray[np.intp]:
        """Return the rows that match a filter, in their order."""
        return find_rows(self.snapshot, self.data, wanted)

    def explain(self, item: str) -> Explanation:
        """Explain the label of an item: the votes that made it, and what would change it; there must be an LF."""
        row = self._row_of(item)
        if not self.snapshot.columns:
            raise ProjectError("there is no LF, so no label can be explained; add one first")
        votes = self.snapshot.votes[np.array([row])]
        return replace(explain_item(self.snapshot.model, votes, 0), item=item)

    def candidates(self, item: str, selection: str = "", *, vote: Hashable = None, most: int = 8) -> list[Candidate]:
        """Propose rules from an item, the most promising first.

        Args:
            item: Its identifier.
            selection: Words that were selected in its text; all of the item if there are none.
            vote: The class to vote for: the gold of the item, or else its label, if not given.
            most: The most rules to return.
        """
        row = self._row_of(item)
        vote = self._label_of(row) if vote is None else vote
        if vote not in self.classes:
            names = ", ".join(map(str, self.classes))
            raise ProjectError(f"vote is {show(vote)}; expected one of the classes: {names}")
        if selection.strip():
            drafts = draft_from_selection(self.data, self.words, selection)
        else:
            drafts = draft_from_item(self.data, self.words, row)
        used_names = {*self.source.lfs, *self.source.variables, *self.data.frame.columns}
        removed = None if selection.strip() else self.state.settings.removed
        candidates = propose(drafts, self.snapshot, vote, used_names, most, removed)
        return [each for each in candidates if each.score > 0 or selection.strip()]

    def _label_of(self, row: int) -> Hashable:
        best = int(self.snapshot.best[row])
        if best < 0:
            raise ProjectError(f"item {self.data.ids[row]!r} has no label; state the class to vote for with vote")
        return self.classes[best]

    def what_if(self, source: str, *, replacing: str | None = None, advance: Advance | None = None) -> Effect:
        """Return the effect of an LF, before it is accepted.

        Args:
            source: Python that defines the LF, as for `add`.
            replacing: The LF that it would replace.
            advance: As for `add`.
        """
        if replacing is not None:
            self._check_own(replacing)
        loaded = self._load(self.source.added(source) if replacing is None else self.source.replaced(replacing, source))
        new = [name for name in loaded.lfs if name not in self.source.lfs]
        name = replacing if replacing in loaded.lfs else new[0] if new else None
        if name is None:
            raise ProjectError("the source does not define a new LF; give it another name")
        column = self._run_lf(loaded.lfs[name], loaded, self.classes, advance or _ignore)
        return find_effect(self.snapshot, replacing or name, column)

    def list_lfs(self) -> list[dict[str, Any]]:
        """List the LFs, one row each: lf, votes_for, votes, coverage, overlaps, conflicts, accuracies, changes."""
        return self.snapshot.lf_table

    def find_refuted(self) -> list[tuple[str, int, int]]:
        """List the rules of `lfs.py` that gold contradicts more often than not: name, votes right, votes wrong."""
        rows = [(row["lf"], row["right"], row["wrong"]) for row in self.list_lfs() if row["lf"] in self.source.lfs]
        return [row for row in rows if row[2] > max(row[1], 1)]

    def advise(self) -> AdviceList:
        """Return what to do next, most valuable first; items are rows. Empty until there is an LF."""
        if not self.snapshot.columns:
            return AdviceList(())
        rows = np.flatnonzero(self.snapshot.gold >= 0)
        gold = {int(row): self.classes[self.snapshot.gold[row]] for row in rows}
        return advise(self.snapshot.votes, gold or None, model=self.snapshot.model)

    # Files.

    def save_labels(self, path: str | Path) -> int:
        """Write the labels of all rows of the table, not only of those explored, and return how many have one.

        Args:
            path: A name that ends in .parquet, .csv or another table format. All columns of the table are kept;
                `label` and `confidence` are added.
        """
        return write_labels(self.data, self.state, self.snapshot, Path(path))

    def save_all(self) -> int:
        """Write `labels.parquet` and `classifier.safetensors` beside rules and gold; return how many rows have a label.

        `hyperlabel.Classifier.load` reads the classifier: it has learned from all labels, and labels other texts.
        """
        self.save_classifier(self.folder.path / "classifier.safetensors")
        return self.save_labels(self.folder.path / "labels.parquet")

    def save_classifier(self, path: str | Path) -> None:
        """Write a classifier of texts that learned from the labels that are shown, for tomorrow's rows."""
        write_classifier(self.data, self.snapshot, Path(path))

    def save_report(self, path: str | Path) -> None:
        """Write a shareable HTML report on the rows that are explored."""
        write_report(self.data, self.snapshot, self.truth, Path(path))

    def save_certificate(self, path: str | Path, *, error: float = 0.05, confidence: float = 0.9) -> str:
        """Certify labels with the gold of items picked at random, write the certificate, and return its sentence.

        Args:
            path: A text file.
            error: The largest share of wrong labels among those accepted.
            confidence: The probability that it holds.
        """
        return write_certificate(self.snapshot, self._picked_at_random(), Path(path), error, confidence)


def _check_classes(classes: Sequence[Hashable] | None) -> Classes:
    names = () if classes is None else state_classes(None, classes) or ()
    if len(names) == 1:
        raise ParameterError(f"classes is {list(names)}; expected at least two")
    return names


def _describe_table(settings: Settings) -> Settings:
    """Keep the settings whose change requires reading the table again."""
    return replace(settings, classes=(), class_balance=(), removed=())
