"""The top bar: the state of the project, undo, files to save, help."""

from pathlib import Path

from nicegui import ui

from hyperlabel.studio.app.frame import Frame
from hyperlabel.studio.app.shown import interval, percent

KEYS = {
    "1 to 9": "give the item a class (again: undo it); with words selected: the class of the rule",
    "n, space": "next item",
    "p": "previous item",
    "left, right": "select a word; with Shift: more words",
    "a to h": "add the candidate rule of that letter",
    "Esc": "select nothing",
    "u": "undo the last change",
    "/": "search the texts",
    "l, r, w, m": "LFs, rows, write Python, numbers",
    "s": "save the labels",
    "?": "this list",
}


class Bar:
    """Facts on the left, actions on the right."""

    def __init__(self, page: Frame) -> None:
        self.page = page
        project = page.project
        self.help = self._make_help()
        with ui.header().classes("top"):
            ui.label("hyperlabel studio").classes("brand")
            ui.label(Path(project.data.table.name).name).classes("soft mono").tooltip(str(project.folder.path))
            self.facts = ui.row().classes("facts")
            ui.space()
            self.undo = ui.button("Undo", on_click=lambda: page.act(page.undo())).props("flat dense no-caps")
            with ui.button("Save").props("flat dense no-caps"), ui.menu():
                for name, text in (
                    ("labels.parquet", "Labels (parquet)"),
                    ("labels.csv", "Labels (csv)"),
                    ("report.html", "Report (html)"),
                    ("certificate.txt", "Certificate (text)"),
                ):
                    ui.menu_item(text, lambda name=name: page.act(page.save(name)))
            ui.button(icon="dark_mode", on_click=page.switch_theme).props("flat dense round").tooltip("light or dark")
            ui.button("?", on_click=lambda: self.help.open()).props('flat dense round aria-label="Keys"')

    def _make_help(self) -> ui.dialog:
        with ui.dialog() as dialog, ui.card().classes("help"):
            ui.label("Keys").classes("title")
            with ui.element("dl"):
                for key, meaning in KEYS.items():
                    with ui.element("dt"):
                        ui.label(key).classes("mono")
                    with ui.element("dd"):
                        ui.label(meaning)
        return dialog

    def draw(self) -> None:
        """Show the current numbers."""
        moment = self.page.hub.view.moment
        facts = (
            self.page.project.data.size,
            f"{moment.n_lfs:,} LF{'' if moment.n_lfs == 1 else 's'}",
            f"{moment.n_gold:,} gold",
            f"{percent(moment.coverage)} labeled",
        )
        self.facts.clear()
        with self.facts:
            for text in facts:
                ui.label(text).classes("fact")
            if moment.gold.whole:
                tip = (
                    "Labels that agree with gold, each judged without its own gold, and the 95% interval. No label is "
                    "wrong. The share holds for all items only if these were picked at random."
                )
                ui.label(f"right on gold {interval(moment.gold)}").classes("fact strong").tooltip(tip)
            if moment.truth.whole:
                ui.label(f"right by the truth {percent(moment.truth.value)}").classes("fact").tooltip(
                    "of all rows with a known truth; rows without a label count as wrong"
                )
        self.undo.set_enabled(bool(self.page.project.past))
