"""One open page: its panels, its keys, and how requests reach the project and results come back."""

from collections.abc import Coroutine
from importlib.resources import files
from typing import Any

from nicegui import background_tasks, events, ui

from hyperlabel.errors import HyperlabelError
from hyperlabel.studio.app.advice_panel import AdvicePanel
from hyperlabel.studio.app.bar import Bar
from hyperlabel.studio.app.hub import Hub
from hyperlabel.studio.app.item_panel import ItemPanel
from hyperlabel.studio.app.lfs_panel import LFsPanel
from hyperlabel.studio.app.numbers_panel import NumbersPanel
from hyperlabel.studio.app.python_panel import PythonPanel
from hyperlabel.studio.app.rows_panel import RowsPanel
from hyperlabel.studio.app.rules_panel import KEYS, RulesPanel
from hyperlabel.studio.project import Project

TABS = {"lfs": "LFs", "rows": "Rows", "python": "Python", "numbers": "Numbers"}
_TAB_KEYS = {"l": "lfs", "r": "rows", "w": "python", "m": "numbers"}
_LOOK = 1.0  # seconds between two looks at the folder
_IS_DARK = "window.matchMedia('(prefers-color-scheme: dark)').matches"
_LISTEN = """
const search = (tries) => {  // the field can be focused once its tab is open
  const field = document.querySelector('.search input');
  if (field && field.offsetParent) field.focus();
  else if (tries) setTimeout(() => search(tries - 1), 50);
};
document.addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  if (e.target.closest('input, textarea, select, [contenteditable=true], .q-menu')) return;
  if (e.key === ' ' && e.target.closest('button')) return;
  if (e.repeat && !e.key.startsWith('Arrow')) return;  // a key held down gives one answer, not one to every item
  if (['ArrowLeft', 'ArrowRight', ' ', '/'].includes(e.key)) {
    if (e.target.closest('.nicegui-aggrid, [role=tablist]')) return;
    e.preventDefault();
  }
  const seen = document.querySelector('.item .which');
  emitEvent('studio_key', {key: e.key, shift: e.shiftKey, seen: seen ? seen.textContent : ''});
  if (e.key === '/') search(100);
});
"""


class Page:
    """What one browser tab shows."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.client = ui.context.client
        ui.add_css(files("hyperlabel.studio.app").joinpath("studio.css").read_text(encoding="utf-8"))
        self.dark = ui.dark_mode()
        self.bar = Bar(self)
        self.progress = ui.linear_progress(show_value=False).props("indeterminate").classes("progress")
        self.progress.set_visibility(False)
        self.problem = ui.label().classes("problem")
        with ui.element("main").classes("work"):
            with ui.element("section").classes("left"):
                self.ask = self._make_ask()
                with ui.element("div").classes("stack") as self.looking:
                    self.item = ItemPanel(self)
                    self.rules = RulesPanel(self)
            with ui.card().classes("panel right"):
                self._make_tabs()
                self.advice = AdvicePanel(self)
        self.running = self._make_running()
        ui.on("studio_key", self._pressed)
        ui.timer(0.2, self._draw_running)
        ui.timer(_LOOK, hub.look)

    def _make_tabs(self) -> None:
        self.tabs = ui.tabs().props("dense no-caps align=left")
        with self.tabs:
            for name, title in TABS.items():
                ui.tab(name, title)
        with ui.tab_panels(self.tabs, value="lfs", animated=False, keep_alive=True).classes("tab-panels"):
            with ui.tab_panel("lfs"):
                self.lfs = LFsPanel(self)
            with ui.tab_panel("rows"):
                self.rows = RowsPanel(self)
            with ui.tab_panel("python"):
                self.python = PythonPanel(self)
            with ui.tab_panel("numbers"):
                self.numbers = NumbersPanel(self)

    @property
    def project(self) -> Project:
        """The project."""
        return self.hub.project

    async def begin(self) -> None:
        """Show the first item, once the browser is connected."""
        await self.client.connected()
        self.hub.pages.append(self)
        self.client.on_delete(self._leave)  # not when it disconnects: it reconnects, and must see what changed
        self.client.run_javascript(_LISTEN)
        self._set_dark(bool(await self.client.run_javascript(_IS_DARK, timeout=5)))
        self.act(self.item.next())
        await self.redraw()
        self.draw_advice()
        self.act(self.hub.advise())

    def _leave(self) -> None:
        if self in self.hub.pages:
            self.hub.pages.remove(self)

    async def redraw(self) -> None:
        """Show what changed, whichever page changed it."""
        with self.client:
            self.bar.draw()
            self.lfs.draw()
            self.numbers.draw()
            self.python.draw()
            self.item.draw()
            self.ask.set_visibility(not self.project.classes)
            self.looking.set_visibility(bool(self.project.classes))
            self.problem.set_text(self.hub.problem)
            self.problem.set_visibility(bool(self.hub.problem))
            await self.rows.draw()
        if not self.item.moving:
            self.act(self.rules.propose())  # what a rule would change has changed

    def draw_advice(self) -> None:
        """Show what to do next."""
        with self.client:
            self.advice.draw()

    # Doing.

    def act(self, what: Coroutine[Any, Any, Any]) -> None:
        """Do what was asked for; show an error if it fails."""

        async def run() -> None:
            with self.client:
                try:
                    await what
                except HyperlabelError as error:
                    self.say(str(error), wrong=True)

        background_tasks.create(run())

    def say(self, text: str, *, wrong: bool = False) -> None:
        """Show a message that disappears by itself."""
        with self.client:
            ui.notify(text, type="negative" if wrong else None, position="top", multi_line=True, timeout=4000)

    async def undo(self) -> None:
        """Undo the last change."""
        undone = await self.hub.change(self.project.undo)
        self.say(f"took back: {undone}")

    async def save(self, name: str) -> None:
        """Save a file in the project folder."""
        path = self.project.folder.path / name
        save = {
            "report.html": lambda: self.project.save_report(path),
            "certificate.txt": lambda: self.project.save_certificate(path),
        }.get(name, lambda: self.project.save_labels(path))
        result = await self.hub.ask(save)
        more = f": {result:,} rows have a label" if isinstance(result, int) else f": {result}" if result else ""
        self.say(f"wrote {path}{more}")

    async def ask_balance(self) -> None:
        """Ask for the class balance, and state it."""
        classes = self.project.classes
        with self.client, ui.dialog() as dialog, ui.card():
            ui.label("What share of the items has each class?").classes("title")
            shares = [ui.number(str(c), value=round(1 / len(classes), 3), min=0, max=1, step=0.01) for c in classes]
            ui.button("State it", on_click=lambda: dialog.submit([field.value for field in shares])).props("no-caps")
        stated = await dialog
        if stated is not None:
            await self.hub.change(lambda: self.project.set_balance(stated))

    def open_tab(self, name: str) -> None:
        """Show a panel on the right side."""
        self.tabs.set_value(name)

    def switch_theme(self) -> None:
        """Switch between light and dark."""
        self._set_dark(not self.dark.value)

    def _set_dark(self, dark: bool) -> None:
        self.dark.set_value(dark)
        self.python.editor.set_theme("githubDark" if dark else "githubLight")

    # Keys.

    def _pressed(self, event: events.GenericEventArguments) -> None:
        key, shift = str(event.args["key"]), bool(event.args["shift"])
        if len(key) == 1 and key in f"123456789{KEYS}" and event.args["seen"] != self.item.name.text:
            return  # it was pressed while the page still showed another item
        if key in "123456789" and len(key) == 1:
            number = int(key) - 1
            if self.item.selection:
                self.rules.choose(number)
            else:
                self.act(self.item.give(number))
        elif key in KEYS and len(key) == 1:
            self.act(self.rules.accept(KEYS.index(key)))
        elif key in ("ArrowRight", "ArrowLeft"):
            self.act(self.item.move(1 if key == "ArrowRight" else -1, extend=shift))
        elif key in _TAB_KEYS:
            self.open_tab(_TAB_KEYS[key])
        else:
            self._press_other(key)

    def _press_other(self, key: str) -> None:
        if key in ("n", " "):
            self.act(self.item.next())
        elif key == "p":
            self.act(self.item.back())
        elif key == "Escape":
            self.act(self.item.clear())
        elif key == "u":
            self.act(self.undo())
        elif key == "s":
            self.act(self.save("labels.parquet"))
        elif key == "/":
            self.open_tab("rows")
        elif key == "?":
            self.bar.help.open()

    # Long work.

    def _make_running(self) -> ui.dialog:
        with ui.dialog().props("persistent") as dialog, ui.card().classes("running"):
            self.what = ui.label()
            self.share = ui.linear_progress(0, show_value=False)
            ui.button("Stop", on_click=self.hub.run.stop).props("flat no-caps")
        return dialog

    def _draw_running(self) -> None:
        """Show what takes longer than a moment, with a button to stop it."""
        run = self.hub.run
        name, total = run.lf, max(run.total, 1)
        self.progress.set_visibility(self.hub.is_slow)
        if name is not None and self.hub.is_slow:
            self.what.set_text(f"Running {name}: {run.done:,} of {total:,} rows")
            self.share.set_value(run.done / total)
            self.running.open()
        elif self.running.value:
            self.running.close()

    # The start.

    def _make_ask(self) -> ui.card:
        """Ask for the classes if the table does not name them."""
        with ui.card().classes("panel ask") as card:
            ui.label("Which classes are there?").classes("title")
            names = ui.input("names, with commas between them", placeholder="ham, spam")
            names.props("dense outlined autofocus")
            # The key event carries what was typed: the field itself may be updated a moment later.
            names.on("keydown.enter", self._typed, js_handler="(e) => emit(e.target.value)")
            ui.button("Begin", on_click=lambda: self.act(self._state(names.value))).props("no-caps unelevated")
        return card

    def _typed(self, event: events.GenericEventArguments) -> None:
        self.act(self._state(str(event.args)))

    async def _state(self, typed: str) -> None:
        """State the classes that were typed, and start."""
        names = [name.strip() for name in (typed or "").split(",") if name.strip()]
        await self.hub.change(lambda: self.project.set_classes(names))
        if self.item.item is None:
            await self.item.next()  # else the item that is seen stays: a key may be on its way to it
