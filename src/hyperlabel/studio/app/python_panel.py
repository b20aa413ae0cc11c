"""LFs in Python: an editor, a trial that changes nothing, and applying; an error names the row or the line."""

from typing import Any

from nicegui import events, ui

from hyperlabel.errors import HyperlabelError
from hyperlabel.studio.app.frame import Frame
from hyperlabel.studio.app.hub import Changes
from hyperlabel.studio.app.shown import percent
from hyperlabel.studio.snapshot import Effect

NEW = "(a new LF)"
_TEMPLATE = """@labeling_function
def short(x):
    return {label!r} if len(x[{text!r}]) < 20 else ABSTAIN
"""


class PythonPanel:
    """One LF in an editor."""

    def __init__(self, page: Frame) -> None:
        self.page = page
        with ui.column().classes("fill"):
            with ui.row().classes("bar"):
                self.which = ui.select([NEW], value=NEW, label="LF", on_change=self._chosen)
                self.which.props("dense outlined options-dense").classes("wide")
                ui.button("Try", on_click=lambda: page.act(self.attempt())).props("flat no-caps").tooltip(
                    "changes nothing"
                )
                ui.button("Apply", on_click=lambda: page.act(self.apply())).props("no-caps unelevated").mark("apply")
                ui.button("Remove", on_click=lambda: page.act(self.remove())).props("flat no-caps")
            self.editor = ui.codemirror(self._template(), language="Python", theme="githubLight").classes("editor")
            self.editor.props('aria-label="Python"')
            self.said = ui.label().classes("said")

    def open(self, name: str) -> None:
        """Edit an LF of lfs.py."""
        if name in self.page.project.source.lfs:
            self.draw()
            self.which.set_value(name)
            self.page.open_tab("python")

    def draw(self) -> None:
        """Update the list of LFs."""
        names = [NEW, *self.page.project.source.lfs]
        kept = self.which.value if self.which.value in names else NEW
        self.which.set_options(names, value=kept)

    def _template(self) -> str:
        project = self.page.project
        label = project.classes[0] if project.classes else "class"
        return _TEMPLATE.format(label=label, text=project.state.settings.text)

    def _chosen(self, event: events.ValueChangeEventArguments[Any]) -> None:
        self.said.set_text("")
        own = event.value in self.page.project.source.lfs
        self.editor.set_value(self.page.project.source.block(event.value) if own else self._template())

    async def attempt(self) -> None:
        """Show what the LF would do, without accepting it."""
        source, name, project = self.editor.value, self.which.value, self.page.project
        replacing = None if name == NEW else name
        effect = await self._try(lambda: project.what_if(source, replacing=replacing), change=False)
        if isinstance(effect, Effect):
            self._say(
                f"votes on {percent(effect.coverage)}; gold {effect.right} right, {effect.wrong} wrong; "
                f"overlap {percent(effect.overlap)}; {len(effect.changed):,} labels would change"
            )
            changes = Changes("this would change", effect.changed, effect.before, effect.after)
            self.page.rows.changes = changes
            await self.page.rows.draw()

    async def apply(self) -> None:
        """Accept the LF: only now does it become part of the project."""
        source, name, project = self.editor.value, self.which.value, self.page.project
        if name == NEW:
            done = await self._try(lambda: project.add(source), change=True)
        else:
            done = await self._try(lambda: project.edit(name, source), change=True)
        if not isinstance(done, HyperlabelError):
            self._say(f"applied: {len(self.page.hub.view.changes.rows):,} labels changed")
            self.editor.set_value(self._template() if name == NEW else self.editor.value)

    async def remove(self) -> None:
        """Remove the LF that is shown."""
        name, project = self.which.value, self.page.project
        if name != NEW:
            await self._try(lambda: project.remove(name), change=True)

    async def _try(self, call: Any, *, change: bool) -> Any:
        """Do something; show an error where the code was written, and return it."""
        hub = self.page.hub
        self._say("")
        try:
            return await (hub.change(call) if change else hub.ask(call))
        except HyperlabelError as error:
            self._say(str(error), wrong=True)
            return error

    def _say(self, text: str, *, wrong: bool = False) -> None:
        self.said.set_text(text)
        self.said.classes(add="wrong" if wrong else "", remove="" if wrong else "wrong")
