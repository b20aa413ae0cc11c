"""Rules: candidates for the item or for words that are selected in it, and an editor for LFs in Python."""

import re
from collections.abc import Awaitable, Hashable
from html import escape
from typing import Any

from nicegui import events, ui

from hyperlabel.errors import HyperlabelError
from hyperlabel.studio._app._format import percent
from hyperlabel.studio._app._page import Changes, Page
from hyperlabel.studio._candidates import Candidate

KEYS = "abcdefgh"

NEW = "(new rule)"
_TEMPLATE = """@labeling_function
def short(x):
    return {label!r} if len(x[{text!r}]) < 20 else ABSTAIN
"""


_NOTE = (
    "This is Python: it runs on your machine, with your rights, when you try or apply it. Paste only code you trust."
)


class RulesPanel:
    """Candidates, each with a key."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.candidates: list[Candidate] = []
        self.vote: Hashable = None  # the class that they vote for; None if the user must choose
        self.chosen: tuple[str, Hashable] | None = None  # the item and the class that the user chose for its rules
        self.offered: tuple[str, Hashable] | None = None  # the item that was just labeled, and its class
        self.requests = self.answered = 0
        self.is_drawing = False
        with ui.card().classes("panel rules") as self.card:
            with ui.row().classes("bar"):
                self.title = ui.html("Rules", sanitize=False, tag="h2").classes("title")
                ui.space()
                self.votes = ui.select({}, label="vote for", with_input=True, on_change=self._choose_vote)
                self.votes.props("dense outlined options-dense").classes("votes-for")
            self.list = ui.column().classes("candidates")

    def press(self, key: int) -> None:
        """Let the candidates vote for the class of a number key."""
        if key < len(self.page.item.order):
            self.choose(self.page.item.order[key])

    def choose(self, number: int) -> None:
        """Let the candidates vote for another class."""
        if number < len(self.page.project.classes):
            label = self.page.project.classes[number]
            if self.offered is not None and not self.page.item.selection:
                self.offered = (self.offered[0], label)
            else:
                self.chosen = (self.page.item.item, label)
            self.page.start(self.propose())

    def _choose_vote(self, event: events.ValueChangeEventArguments[Any]) -> None:
        if not self.is_drawing and event.value is not None:
            self.choose(int(event.value))

    async def propose(self) -> None:
        """Show the candidates for the item or the selection; the latest request wins.

        Without a selection, they are those of the item that was just labeled, if there is one.
        """
        self.requests += 1
        request, item, selection = self.requests, self.page.item.item, self.page.item.selection
        vote = self._default_vote(item)
        if self.offered is not None and not selection:
            item, vote = self.offered
        self.vote = vote
        candidates: list[Candidate] = []
        try:
            if not self.page.hub.ready.is_set():
                self.candidates = []
                self._draw(selection)
                await self.page.hub.ready.wait()
            if item is not None and vote is not None and request == self.requests:
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
        words = shown[number].words or shown[number].name
        self.page.notify(
            f"Added: {words} \u2192 {shown[number].vote}; {len(shown[number].effect.changed):,} labels changed"
        )
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
        classes = self.page.project.classes
        source = "the item before" if self.offered else "this item"
        self.title.set_content(
            escape(f"Rules from \u201c{selection[:40]}\u201d" if selection else f"Rules from {source}")
        )
        self.is_drawing = True
        number = classes.index(self.vote) if self.vote in classes else None
        self.votes.set_options({i: str(name) for i, name in enumerate(classes)}, value=number)
        self.is_drawing = False
        self.list.clear()
        with self.list:
            if self.page.item.item is None:
                return
            if not self.page.hub.ready.is_set():
                ui.label("Reading the words of all texts ...").classes("soft")
            elif self.vote is None:
                ui.label("Label the item, or choose the class that a rule should vote for.").classes("soft")
            elif not self.candidates:
                ui.label("No new rule here that gold does not refute. Select other words in the text.").classes("soft")
            for number, candidate in enumerate(self.candidates):
                self._draw_candidate(number, candidate)

    def _draw_candidate(self, number: int, candidate: Candidate) -> None:
        effect = candidate.effect
        with ui.row().classes("candidate"):
            add = ui.button(KEYS[number], on_click=lambda: self.page.start(self.accept(number)), color=None)
            words = candidate.words or candidate.name
            add.props("dense flat no-caps").classes("add").tooltip("add this rule")
            add.props["aria-label"] = f"{KEYS[number]}: add the rule {words}"
            with ui.column().classes("what"):
                ui.label(f"{words} \u2192 {candidate.vote}").classes("code").tooltip(candidate.source.strip())
                with ui.row().classes("facts"):
                    ui.label(f"{effect.votes:,} rows").tooltip("rows on which it votes")
                    ui.label(f"gold: {effect.right} right, {effect.wrong} wrong")
                    ui.label(f"{percent(1 - effect.overlap)} new").tooltip(
                        "of its rows, those where no other rule votes"
                    )
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
                self.lf = ui.select([NEW], value=NEW, label="rule", on_change=self._load)
                self.lf.props("dense outlined options-dense").classes("wide")
                attempt = ui.button("Try", on_click=lambda: page.start(self._report_errors(self._attempt())))
                attempt.props("flat no-caps").tooltip("changes nothing")
                apply = ui.button("Apply", on_click=lambda: page.start(self._report_errors(self._apply())))
                apply.props("no-caps outline")
                remove = ui.button("Remove", on_click=lambda: page.start(self._report_errors(self._remove())))
                remove.props("flat no-caps")
            self.editor = ui.codemirror(self._template(), language="Python", theme="githubLight").classes("editor")
            self.editor.props('aria-label="Python"')
            self.message = ui.label().classes("message").props("role=status")
            ui.label(_NOTE).classes("soft")

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
            f"votes on {effect.votes:,} rows ({percent(effect.coverage)}); gold: {effect.right} right, "
            f"{effect.wrong} wrong; {len(effect.changed):,} labels would change"
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
            self._show(self._in_own_lines(str(error)), failed=True)

    def _in_own_lines(self, message: str) -> str:
        """Count lines as the editor does, not as the file, to which the code would be added."""
        source, code, name = self.page.project.source, self.editor.value, self.lf.value
        text = source.added(code) if name == NEW else source.replaced(name, code)
        above = text[: text.find(code.strip())].count("\n")
        return re.sub(r"lfs\.py, line (\d+)", lambda m: f"line {max(int(m[1]) - above, 1)}", message)

    def _show(self, text: str, *, failed: bool = False) -> None:
        self.message.set_text(text)
        self.message.classes(add="wrong" if failed else "", remove="" if failed else "wrong")
