"""The whole page: its panels, its keys, and the dialogs for classes and for LFs that take long."""

from contextlib import suppress
from importlib.resources import files

from nicegui import events, ui

from hyperlabel.studio._app._classes import ask_alike
from hyperlabel.studio._app._item_panel import ItemPanel
from hyperlabel.studio._app._page import Hub, Page
from hyperlabel.studio._app._rules_panel import KEYS, PythonPanel, RulesPanel
from hyperlabel.studio._app._summary import AdvicePanel, Bar, NumbersPanel
from hyperlabel.studio._app._tables import LFsPanel, RowsPanel

TABS = {"lfs": "Rules", "rows": "Rows", "python": "Python", "numbers": "Numbers"}
_TAB_KEYS = {"l": "lfs", "r": "rows", "/": "rows", "w": "python", "m": "numbers"}
_LOOK = 1.0  # seconds between two looks at the folder
_IS_DARK = "window.matchMedia('(prefers-color-scheme: dark)').matches"
_LOST = (
    "The studio does not answer. Everything you did is saved. If it was closed, start it again in the terminal and "
    "open the address that it prints; this tab then works again too."
)
_LISTEN = """
const focus = (where, tries) => {  // a field can be focused once its tab is open
  const field = document.querySelector(where);
  if (field && field.offsetParent) field.focus();
  else if (tries) setTimeout(() => focus(where, tries - 1), 50);
};
document.documentElement.lang = 'en';
const names = {'.q-loading-bar': 'loading', '.cm-content': 'Python'};  // of what others draw
let lost = 0;  // since when the server has not answered
setInterval(() => {
  for (const [where, name] of Object.entries(names))
    document.querySelectorAll(where).forEach((e) => e.setAttribute('aria-label', name));
  const here = !window.socket || window.socket.connected;
  lost = here ? 0 : lost || Date.now();
  document.querySelector('.lost').hidden = here || Date.now() - lost < 3000;
}, 500);
document.addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  if (e.target.closest('input, textarea, select, [contenteditable=true], .q-menu')) return;
  if (e.key === ' ' && e.target.closest('button')) return;
  if (e.repeat && !e.key.startsWith('Arrow')) return;  // a key held down labels one item, not every item
  if (['ArrowLeft', 'ArrowRight', ' ', '/'].includes(e.key)) {
    if (e.target.closest('.nicegui-aggrid, [role=tablist]')) return;
    e.preventDefault();
  }
  const shown = document.querySelector('.item .which');
  emitEvent('studio_key', {key: e.key, shift: e.shiftKey, item: shown ? shown.textContent : ''});
  if (e.key === '/') focus('.search input', 100);
  if (e.key === 't') { e.preventDefault(); focus('.find-class input', 10); }
});
"""


class Workbench(Page):
    """One browser tab."""

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        ui.add_css(files("hyperlabel.studio._app").joinpath("studio.css").read_text(encoding="utf-8"))
        ui.colors(primary="#2463c7")
        self.bar = Bar(self)
        self.progress = (
            ui.linear_progress(show_value=False).props('indeterminate aria-label="working"').classes("progress")
        )
        self.progress.set_visibility(False)
        self.problem = ui.label().classes("problem").props("role=alert")
        ui.label(_LOST).classes("lost").props("role=alert hidden")
        with ui.element("main").classes("work"):
            with ui.element("section").classes("left"):
                self.ask = self._make_class_form()
                with ui.element("div").classes("stack") as self.labeling:
                    self.item = ItemPanel(self)
                    self.rules = RulesPanel(self)
                self._ask_for_classes()  # before the page is shown: the field takes the focus, and so the first keys
            with ui.card().classes("panel right"):
                self._make_tabs()
                self.advice = AdvicePanel(self)
        self.running = self._make_running()
        ui.on("studio_key", self._press)
        ui.timer(0.2, self._draw_running)
        ui.timer(_LOOK, hub.check_folder)

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

    async def begin(self) -> None:
        """Show the first item, once the browser is connected."""
        await self.client.connected()
        self.hub.pages.append(self)
        # Not when it disconnects: it reconnects, and must show what changed.
        self.client.on_delete(lambda: self.hub.pages.remove(self))
        self.client.run_javascript(_LISTEN)
        with suppress(TimeoutError):  # a slow browser starts in light colors
            self.set_dark(bool(await self.client.run_javascript(_IS_DARK, timeout=5)))
        self.start(self.item.next())
        await self.redraw()
        self.draw_advice()
        self.start(self.hub.learn())
        self.start(self.hub.advise())

    async def redraw(self) -> None:
        """Show what changed, whichever page changed it."""
        with self.client:
            for panel in (self.bar, self.lfs, self.numbers, self.python, self.item):
                panel.draw()
            self._ask_for_classes()
            self.problem.set_text(self.hub.problem)
            self.problem.set_visibility(bool(self.hub.problem))
            await self.rows.draw()
        if not self.item.is_moving:
            self.start(self.rules.propose())  # the effects of rules have changed

    def _ask_for_classes(self) -> None:
        """Ask for the classes as long as there are none."""
        self.ask.set_visibility(not self.project.classes)
        self.rules.card.set_visibility(bool(self.project.classes))

    def draw_advice(self) -> None:
        """Show what to do next."""
        with self.client:
            self.advice.draw()

    # Keys.

    def _press(self, event: events.GenericEventArguments) -> None:
        key = str(event.args["key"])
        is_number, is_rule = key in set("123456789"), key in set(KEYS)
        if (is_number or is_rule) and event.args["item"] != self.item.name.text:
            return  # it was pressed while the page still showed another item
        if is_number and self.item.selection:
            self.rules.press(int(key) - 1)
        elif is_number:
            self.start(self.item.press(int(key) - 1))
        elif is_rule:
            self.start(self.rules.accept(KEYS.index(key)))
        elif key in ("ArrowRight", "ArrowLeft"):
            self.start(self.item.move(1 if key == "ArrowRight" else -1, extend=bool(event.args["shift"])))
        elif key in _TAB_KEYS:
            self.open_tab(_TAB_KEYS[key])
        elif key == "?":
            self.bar.help.open()
        else:
            self._start_action(key)

    def _start_action(self, key: str) -> None:
        actions = {
            "n": self.item.next,
            " ": self.item.next,
            "p": self.item.back,
            "Escape": self.item.clear,
            "u": self.undo,
            "s": lambda: self.save("labels.parquet"),
        }
        if key in actions:
            self.start(actions[key]())

    # LFs that take long.

    def _make_running(self) -> ui.dialog:
        with ui.dialog().props('persistent aria-label="A rule is running"') as dialog, ui.card().classes("running"):
            self.running_lf = ui.label()
            self.share = ui.linear_progress(0, show_value=False).props('aria-label="rows done"')
            ui.button("Stop", on_click=self.hub.run.stop).props("flat no-caps")
        return dialog

    def _draw_running(self) -> None:
        """Show an LF that takes longer than a moment, with a button to stop it."""
        run = self.hub.run
        name, total = run.lf, max(run.total, 1)
        self.progress.set_visibility(self.hub.is_slow)
        if name is not None and self.hub.is_slow:
            self.running_lf.set_text(f"Running {name}: {run.done:,} of {total:,} rows")
            self.share.set_value(run.done / total)
            self.running.open()
        elif self.running.value:
            self.running.close()

    # The start.

    def _make_class_form(self) -> ui.card:
        """Ask for the classes if the table does not name them."""
        with ui.card().classes("panel ask") as card:
            ui.label("Which classes are there?").classes("title")
            names = ui.input("names, separated by commas", placeholder="ham, spam")
            names.props("dense outlined autofocus")
            # The key event carries what was typed: the field itself may be updated a moment later.
            names.on(
                "keydown.enter",
                lambda event: self.start(self._set_classes(str(event.args))),
                js_handler="(e) => emit(e.target.value)",
            )
            begin = ui.button("Begin", on_click=lambda: self.start(self._set_classes(names.value or "")))
            begin.props("no-caps outline")
        return card

    async def _set_classes(self, typed: str) -> None:
        """Set the classes that were typed, and start."""
        names = await ask_alike(self, [name.strip() for name in typed.split(",") if name.strip()])
        if names is None:
            return
        await self.hub.change(lambda: self.project.set_classes(names))
        if self.item.item is None:
            await self.item.next()  # else the item that is shown stays: a key may be on its way to it
