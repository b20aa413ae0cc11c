"""The project behind all open pages: requests run in turn, outside the event loop; all pages see the result."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import HyperlabelError
from hyperlabel.studio.app.worker import StoppableRun
from hyperlabel.studio.figures import Moment
from hyperlabel.studio.project import Project
from hyperlabel.trust import Advice

Result = TypeVar("Result")

_MOMENT = 0.4  # seconds before a page says that it is working


@dataclass(frozen=True, eq=False)
class Changes:
    """Rows whose label changed."""

    what: str  # what changed them, or would
    rows: NDArray[np.intp]  # (c,) the rows
    before: NDArray[np.intp]  # (c,) class numbers before, -1 for none
    after: NDArray[np.intp]  # (c,) class numbers after


@dataclass(frozen=True, eq=False)
class View:
    """What all pages show about a project, computed once per change."""

    lfs: list[dict[str, Any]]  # one row per LF
    moment: Moment  # the numbers now
    history: tuple[Moment, ...]  # the numbers after each change
    conflicts: NDArray[np.int64]  # (m, m) items on which two LFs vote for different classes
    changes: Changes  # what the last change changed


class Face(Protocol):
    """A page that shows the project."""

    async def redraw(self) -> None:
        """Show what changed."""

    def draw_advice(self) -> None:
        """Show what to do next."""


class Hub:
    """A project and the pages that show it.

    All pages show the same `view`, and the same `problem` if something is wrong with the files on disk. `advice`, what
    to do next, appears a moment after the labels.
    """

    def __init__(self, project: Project, run: StoppableRun) -> None:
        self.project, self.run = project, run
        self.pages: list[Face] = []
        self.problem = ""
        self.advice: tuple[Advice, ...] = ()
        self.waiting, self.since = 0, 0.0
        self._asked = 0
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="project")
        nothing = np.zeros(0, np.intp)
        self.view = take_view(project, Changes("", nothing, nothing, nothing))

    @property
    def is_slow(self) -> bool:
        """Whether somebody has waited longer than a moment."""
        return self.waiting > 0 and time.monotonic() - self.since > _MOMENT

    async def ask(self, call: Callable[[], Result]) -> Result:
        """Do something with the project outside the event loop, after earlier requests."""
        self.since = self.since if self.waiting else time.monotonic()
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._worker, call)
        finally:
            self.waiting -= 1

    async def change(self, call: Callable[[], Result]) -> Result:
        """Change the project; it is on disk before any page shows it."""
        result, self.view = await self.ask(lambda: self._changed(call))
        await self.redraw()
        self._advising = asyncio.ensure_future(self.advise())  # kept, so that it is not collected
        return result

    async def advise(self) -> None:
        """Find what to do next, once nobody is waiting for anything else."""
        self._asked += 1
        asked = self._asked
        while self.waiting:
            await asyncio.sleep(_MOMENT / 4)
        if asked == self._asked:
            self.advice = (await self.ask(self.project.advise)).items
            for page in self.pages:
                page.draw_advice()

    async def redraw(self) -> None:
        """Show the current view on all pages."""
        await asyncio.gather(*(page.redraw() for page in list(self.pages)))

    async def look(self) -> None:
        """Load what another program changed in the folder; show a problem if it is wrong."""
        problem = ""
        try:
            if self.waiting or not await self.ask(self.project.folder.changed):
                return
            await self.change(self.project.refresh)
        except HyperlabelError as error:
            problem = f"{error}. Until then the last good state is kept, and nothing can be changed here."
        if problem != self.problem:
            self.problem = problem
            await self.redraw()

    def _changed(self, call: Callable[[], Result]) -> tuple[Result, View]:
        before = self.project.snapshot.best
        result = call()
        after = self.project.snapshot.best
        rows = np.flatnonzero(before != after)
        self.problem = ""
        changes = Changes(self.project.moment.action, rows, before[rows], after[rows])
        return result, take_view(self.project, changes)


def take_view(project: Project, changes: Changes) -> View:
    """What pages show about a project."""
    snapshot = project.snapshot
    conflicts = snapshot.analysis.pair_conflicts if snapshot.columns else np.zeros((0, 0), np.int64)
    return View(project.list_lfs(), project.moment, tuple(project.history), conflicts, changes)
