"""The classes: stated at the start, and added, renamed, merged and removed at any time."""

from collections.abc import Callable, Sequence
from typing import Any

from nicegui import ui

from hyperlabel.studio._app._page import Page
from hyperlabel.studio._classes import find_alike


async def ask_alike(page: Page, names: Sequence[str]) -> list[str] | None:
    """Ask whether classes that differ only in upper and lower case are one; None if the user goes back."""
    pair = find_alike(names)
    if pair is None:
        return list(names)
    one, other = pair
    with page.client, ui.dialog().props('aria-label="The same class?"') as dialog, ui.card():
        ui.label(f"\u201c{one}\u201d and \u201c{other}\u201d: is this the same class?").classes("title")
        with ui.row():
            ui.button("Yes, one class", on_click=lambda: dialog.submit("one")).props("no-caps outline")
            ui.button("No, keep both", on_click=lambda: dialog.submit("both")).props("no-caps flat")
    answer = await dialog
    if answer == "one":
        return await ask_alike(page, [name for name in names if name != other])
    return list(names) if answer == "both" else None


def edit_classes(page: Page) -> None:
    """Show the classes, each with what can be done with it."""
    with page.client, ui.dialog().props('aria-label="Classes"') as dialog, ui.card().classes("edit-classes"):
        ui.html("Classes", sanitize=False, tag="h2").classes("title")
        ui.label("Rules and gold follow. To merge two classes, give one the name of the other.").classes("soft")
        for name in page.project.classes:
            _draw_class(page, dialog, name)
        added = ui.input("new class").props("dense outlined")
        with ui.row():
            add = ui.button("Add", on_click=lambda: _start(page, dialog, _add(page, added.value or "")))
            add.props("no-caps outline")
            ui.button("Close", on_click=dialog.close).props("no-caps flat")
    dialog.open()


def _draw_class(page: Page, dialog: ui.dialog, name: Any) -> None:
    project = page.project
    with ui.row().classes("bar"):
        field = ui.input(value=str(name)).props('dense outlined aria-label="name of a class"')
        rename = ui.button("rename", color=None)
        rename.on_click(lambda: _start(page, dialog, _change(page, lambda: project.rename_class(name, field.value))))
        remove = ui.button("remove", color=None)
        remove.on_click(lambda: _start(page, dialog, _change(page, lambda: project.remove_class(name))))
        for button in (rename, remove):
            button.props("dense flat no-caps")


def _start(page: Page, dialog: ui.dialog, action: Any) -> None:
    dialog.close()
    page.start(action)


async def _change(page: Page, call: Callable[[], None]) -> None:
    await page.hub.change(call)
    page.notify(page.project.stats.action)


async def _add(page: Page, typed: str) -> None:
    names = await ask_alike(page, [*map(str, page.project.classes), typed.strip()])
    if names is not None and typed.strip() in names:
        await _change(page, lambda: page.project.add_class(typed.strip()))
