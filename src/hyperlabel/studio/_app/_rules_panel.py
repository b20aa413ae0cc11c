"""Rules: candidates for the item or for words that are selected in it, and an editor for LFs in Python."""

from collections.abc import Awaitable, Hashable
from typing import Any

from nicegui import events, ui

from hyperlabel.errors import HyperlabelError
from hyperlabel.studio._app._format import color_of, percent
from hyperlabel.studio._app._page import Changes, Page
from hyperlabel.studio._candidates import Candidate

KEYS = "abcdefgh"

NEW = "(new LF)"
_TEMPLATE = """@labeling_function
def short(x):
    return {label!r} if len(x[{text!r}]) < 20 else ABSTAIN
"""


class RulesPanel:
    """Candidates, each with a key."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.candidates: list[Candidate] = []
        self.vote: Hashable = None  # the class that they vote for; None if the user must choose
        self.chosen: tuple[str, Hashable] | None = None  # the item and the class that the user chose for its rules
        self.requests = self.answered = 0
        with ui.card().classes("panel rules").props('aria-label="Candidate rules"'):
            with ui.row().classes("bar"):
                self.title = ui.label("Rules").classes("title")
                ui.space()
                self.votes = ui.row().classes("votes-for")
            self.list = ui.column().classes("candidates")

    def choose(self, number: int) -> None:
        """Let the candidates vote for another class."""
        if number < len(self.page.project.classes):
            self.chosen = (self.page.item.item, self.page.project.classes[number])
            self.page.start(self.propose())

    async def propose(self) -> None:
        """Show the candidates for the item or the selection; the latest request wins."""
        self.requests += 1
        request, item, selection = self.requests, self.page.item.item, self.page.item.selection
        vote = self.vote = self._default_vote(item)
        candidates: list[Candidate] = []
        try:
            if item is not None and vote is not None:
                candidates = await self.page.hub.ask(
                    lambda: self.page.project.candidates(item, selection, vote=vote, most=len(KEYS))
                )
        finally:
            self.answered = max(self.answered, request)
        if request == self.requests:
            self.candidates = candidates
            self._draw(selection)

    async def accept(self, number: int) -> None:
        """Add a candidate to the LFs, after waiting for candidates that were already requested."""
        panel = self.page.item
        item = panel.item
        while self.answered < self.requests:
            await self.page.hub.ask(lambda: None)
        if number >= len(self.candidates) or panel.item != item or panel.is_moving:
            return
        shown, self.candidates = self.candidates, []  # the same key again must not add it again
        try:
            await self.page.hub.change(lambda: self.page.project.add(shown[number]))
        except HyperlabelError:
            self.candidates = shown
            raise
        self.page.notify(f"Added {shown[number].name}: {len(shown[number].effect.changed):,} labels changed")
        await panel.clear()

    def _default_vote(self, item: str | None) -> Hashable:
        """Return the class to vote for: the chosen one, else the gold of the item, else its label."""
        if item is None:
            return None
        if self.chosen is not None and self.chosen[0] == item:
            return self.chosen[1]
        best = int(self.page.project.snapshot.best[self.page.project.data.row_of[item]])
        return self.page.project.classes[best] if best >= 0 else None

    def _draw(self, selection: str) -> None:
        self.title.set_text(f"Rules from \u201c{selection[:40]}\u201d" if selection else "Rules from this item")
        self.votes.clear()
        with self.votes:
            ui.label("vote for").classes("soft")
            for number, name in enumerate(self.page.project.classes):
                button = ui.button(str(name), on_click=lambda _, n=number: self.choose(n), color=None)
                button.props("dense no-caps flat").style(f"--class:{color_of(number)}")
                button.classes("pick on" if name == self.vote else "pick")
        self.list.clear()
        with self.list:
            if self.page.item.item is None:
                return
            if self.vote is None:
                ui.label("Choose the class that a rule from this item should vote for.").classes("soft")
            elif not self.candidates:
                ui.label("Nothing here occurs in two or more rows. Select other words in the text.").classes("soft")
            for number, candidate in enumerate(self.candidates):
                self._draw_candidate(number, candidate)

    def _draw_candidate(self, number: int, candidate: Candidate) -> None:
        effect = candidate.effect
        call = candidate.source.partition(" = ")[2].strip().replace(f", name={candidate.name!r})", ")")
        with ui.row().classes("candidate"):
            add = ui.button(KEYS[number], on_click=lambda: self.page.start(self.accept(number)), color=None)
            add.props(f'dense flat no-caps aria-label="Add {candidate.name}"').classes("add").tooltip("add this rule")
            with ui.column().classes("what"):
                ui.label(call).classes("mono code").tooltip(candidate.source.strip())
                with ui.row().classes("facts"):
                    ui.label(f"votes on {percent(effect.coverage)}")
                    ui.label(f"gold: {effect.right} right, {effect.wrong} wrong")
                    ui.label(f"overlap {percent(effect.overlap)}")
            show = ui.button(f"changes {len(effect.changed):,}", on_click=lambda: self._preview(candidate))
            show.props("dense flat no-caps").classes("changes").tooltip("show the rows whose label would change")

    def _preview(self, candidate: Candidate) -> None:
        effect = candidate.effect
        changes = Changes(f"{candidate.name} would change", effect.changed, effect.before, effect.after)
        self.page.start(self.page.rows.show_changes(changes))


class PythonPanel:
    """One LF in an editor."""

    def __init__(self, page: Page) -> None:
        self.page = page
        with ui.column().classes("fill"):
            with ui.row().classes("bar"):
                self.lf = ui.select([NEW], value=NEW, label="LF", on_change=self._load)
                self.lf.props("dense outlined options-dense").classes("wide")
                attempt = ui.button("Try", on_click=lambda: page.start(self._report_errors(self._attempt())))
                attempt.props("flat no-caps").tooltip("changes nothing")
                apply = ui.button("Apply", on_click=lambda: page.start(self._report_errors(self._apply())))
                apply.props("no-caps unelevated")
                remove = ui.button("Remove", on_click=lambda: page.start(self._report_errors(self._remove())))
                remove.props("flat no-caps")
            self.editor = ui.codemirror(self._template(), language="Python", theme="githubLight").classes("editor")
            self.editor.props('aria-label="Python"')
            self.message = ui.label().classes("message")

    def open(self, name: str) -> None:
        """Edit an LF of lfs.py."""
        if name in self.page.project.source.lfs:
            self.draw()
            self.lf.set_value(name)
            self.page.open_tab("python")

    def draw(self) -> None:
        """Update the list of LFs."""
        names = [NEW, *self.page.project.source.lfs]
        self.lf.set_options(names, value=self.lf.value if self.lf.value in names else NEW)

    def _template(self) -> str:
        project = self.page.project
        label = project.classes[0] if project.classes else "class"
        return _TEMPLATE.format(label=label, text=project.state.settings.text)

    def _load(self, event: events.ValueChangeEventArguments[Any]) -> None:
        self._show("")
        source = self.page.project.source
        self.editor.set_value(source.block(event.value) if event.value in source.lfs else self._template())

    async def _attempt(self) -> None:
        """Show the effect of the LF, without accepting it."""
        source, project = self.editor.value, self.page.project
        replacing = None if self.lf.value == NEW else self.lf.value
        effect = await self.page.hub.ask(lambda: project.what_if(source, replacing=replacing))
        self._show(
            f"votes on {percent(effect.coverage)}; gold: {effect.right} right, {effect.wrong} wrong; "
            f"overlap {percent(effect.overlap)}; {len(effect.changed):,} labels would change"
        )
        self.page.rows.changes = Changes("this would change", effect.changed, effect.before, effect.after)
        await self.page.rows.draw()

    async def _apply(self) -> None:
        """Accept the LF: only now does it become part of the project."""
        source, name, project = self.editor.value, self.lf.value, self.page.project
        await self.page.hub.change(lambda: project.add(source) if name == NEW else project.edit(name, source))
        self._show(f"Applied: {len(self.page.hub.changes.rows):,} labels changed")
        if name == NEW:
            self.editor.set_value(self._template())

    async def _remove(self) -> None:
        """Remove the LF that is shown."""
        name = self.lf.value
        if name != NEW:
            await self.page.hub.change(lambda: self.page.project.remove(name))

    async def _report_errors(self, action: Awaitable[None]) -> None:
        """Show an error where the code was written."""
        self._show("")
        try:
            await action
        except HyperlabelError as error:
            self._show(str(error), failed=True)

    def _show(self, text: str, *, failed: bool = False) -> None:
        self.message.set_text(text)
        self.message.classes(add="wrong" if failed else "", remove="" if failed else "wrong")
