"""A page as its panels see it: the project, the other panels, and what any of them can do."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from nicegui import background_tasks, ui
from numpy.typing import NDArray

from hyperlabel.errors import HyperlabelError
from hyperlabel.studio._app._worker import StoppableRun
from hyperlabel.studio._project import Project
from hyperlabel.studio._wording import describe_rule
from hyperlabel.trust import Advice

Result = TypeVar("Result")

_PATIENCE = 0.4  # seconds before a page shows that it is working


@dataclass(frozen=True, eq=False)
class Changes:
    """Rows whose label changed."""

    title: str  # the change, actual or possible
    rows: NDArray[np.intp]  # (c,) the rows
    before: NDArray[np.intp]  # (c,) class numbers before, -1 for none
    after: NDArray[np.intp]  # (c,) class numbers after


class Hub:
    """A project and the pages that show it.

    All pages show the same `changes` by the last change, and the same `problem` if something is wrong with the files on
    disk. `advice` appears a moment after the labels.
    """

    def __init__(self, project: Project, run: StoppableRun) -> None:
        self.project, self.run = project, run
        self.pages: list[Page] = []
        project.learns_later = True
        self.problem = ""
        self.advice: tuple[Advice, ...] = ()
        self.waiting, self.since = 0, 0.0
        self._advice_requests = 0
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="project")
        self._trainer = ThreadPoolExecutor(1, thread_name_prefix="trainer")
        self.is_learning = False
        self.ready = asyncio.Event()  # set when the words of all texts were read
        self.changes = self._change(lambda: None)[1]

    @property
    def is_slow(self) -> bool:
        """True if a request has been running for more than a moment."""
        return self.waiting > 0 and time.monotonic() - self.since > _PATIENCE

    async def ask(self, call: Callable[[], Result]) -> Result:
        """Call a function of the project outside the event loop, after earlier requests."""
        self.since = self.since if self.waiting else time.monotonic()
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._worker, call)
        finally:
            self.waiting -= 1

    @property
    def is_behind(self) -> bool:
        """True if the labels do not know the last changes yet."""
        return self.project.snapshot.can_train and not self.project.snapshot.is_trained

    async def learn(self) -> None:
        """Read the texts, once, and learn from all changes so far, while keys go on working."""
        if self.is_learning:
            return
        self.is_learning = True
        loop, project = asyncio.get_running_loop(), self.project
        try:
            if not self.ready.is_set():
                await loop.run_in_executor(self._trainer, lambda: project.words)
                self.ready.set()
                await loop.run_in_executor(self._trainer, lambda: project.features.typical)
            while self.is_behind:
                trained = await loop.run_in_executor(self._trainer, project.train)
                await self.ask(partial(project.learn, *trained))
                if not self.is_behind:
                    await self.redraw()
        finally:
            self.is_learning = False

    async def change(self, call: Callable[[], Result]) -> Result:
        """Change the project; it is on disk before any page shows it."""
        result, self.changes = await self.ask(lambda: self._change(call))
        self.problem = ""
        await self.redraw()
        self._later = asyncio.gather(self.learn(), self.advise())  # kept, so that it is not collected
        return result

    def _change(self, call: Callable[[], Result]) -> tuple[Result, Changes]:
        before = self.project.snapshot.best
        result, snapshot = call(), self.project.snapshot
        rows = np.flatnonzero(before != snapshot.best)
        _ = snapshot.lf_table, snapshot.pair_conflicts  # computed here, not while pages are drawn
        return result, Changes(self.project.stats.action, rows, before[rows], snapshot.best[rows])

    async def advise(self) -> None:
        """Update the advice, once no other request is waiting; the latest request wins."""
        self._advice_requests += 1
        request = self._advice_requests
        while self.waiting:
            await asyncio.sleep(_PATIENCE / 4)
        if request == self._advice_requests:
            self.advice = (await self.ask(self.project.advise)).items
            for page in self.pages:
                page.draw_advice()

    async def redraw(self) -> None:
        """Show the current view on all pages."""
        await asyncio.gather(*(page.redraw() for page in list(self.pages)))

    async def check_folder(self) -> None:
        """Load what another program changed in the folder; show a problem if it is wrong."""
        problem = ""
        try:
            if self.waiting or not await self.ask(self.project.folder.changed):
                return
            await self.change(self.project.refresh)
        except HyperlabelError as error:
            problem = f"{error}. Until this is fixed, the last good state is shown and nothing can be changed here."
        if problem != self.problem:
            self.problem = problem
            await self.redraw()


class Page(ABC):
    """One browser tab without its panels, which know one another only through it."""

    item: Any
    rules: Any
    rows: Any
    python: Any
    tabs: ui.tabs

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.client = ui.context.client
        self.dark = ui.dark_mode()

    @property
    def project(self) -> Project:
        """The project."""
        return self.hub.project

    @abstractmethod
    async def redraw(self) -> None:
        """Show what changed."""

    @abstractmethod
    def draw_advice(self) -> None:
        """Show what to do next."""

    def describe(self, name: str) -> str:
        """Say in words when a rule votes; its name if it is Python."""
        source = self.project.source
        return (describe_rule(source.block(name)) if name in source.lfs else "") or name

    def start(self, action: Coroutine[Any, Any, Any]) -> None:
        """Start an action; show an error if it fails."""

        async def run() -> None:
            with self.client:
                try:
                    await action
                except HyperlabelError as error:
                    self.notify(str(error), failed=True)

        background_tasks.create(run())

    def notify(self, text: str, *, failed: bool = False) -> None:
        """Show a message that disappears by itself."""
        with self.client:
            ui.notify(text, type="negative" if failed else None, position="bottom", multi_line=True, timeout=4000)

    def open_tab(self, name: str) -> None:
        """Show a panel on the right side."""
        self.tabs.set_value(name)

    def set_dark(self, dark: bool) -> None:
        """Use dark or light colors."""
        self.dark.set_value(dark)
        self.python.editor.set_theme("githubDark" if dark else "githubLight")

    async def undo(self) -> None:
        """Undo the last change."""
        action = await self.hub.change(self.project.undo)
        self.notify(f"Undone: {action}")

    async def save(self, name: str) -> None:
        """Save a file in the project folder."""
        path = self.project.folder.path / name
        save: dict[str, Callable[[Path], Any]] = {
            "report.html": self.project.save_report,
            "certificate.txt": self.project.save_certificate,
        }
        result = await self.hub.ask(lambda: save.get(name, self.project.save_labels)(path))
        more = f" with {result:,} labeled rows" if isinstance(result, int) else f": {result}" if result else ""
        self.notify(f"Saved {path}{more}")

    async def save_all(self) -> None:
        """Save the labels of all rows and the classifier of tomorrow's rows; rules and gold are files already."""
        project = self.project
        labeled = await self.hub.ask(project.save_all)
        self.notify(
            f"Saved in {project.folder.path}: labels.parquet with {labeled:,} labeled rows, lfs.py, gold.csv, "
            "and classifier.safetensors, which labels tomorrow's rows"
        )

    async def ask_balance(self) -> None:
        """Ask for the class balance, and set it."""
        classes = self.project.classes
        with self.client, ui.dialog().props('aria-label="Class balance"') as dialog, ui.card():
            ui.label("What share of the items belongs to each class?").classes("title")
            fields = [ui.number(str(c), value=round(1 / len(classes), 3), min=0, max=1, step=0.01) for c in classes]
            ui.button("Set", on_click=lambda: dialog.submit([field.value for field in fields])).props("no-caps outline")
        shares = await dialog
        if shares is not None:
            await self.hub.change(lambda: self.project.set_balance(shares))
