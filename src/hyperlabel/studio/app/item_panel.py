"""The item: its text, what is known about it, and its class by key or click."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nicegui import events, ui

from hyperlabel.studio.app.frame import Frame
from hyperlabel.studio.app.shown import color_of, mark_words, percent
from hyperlabel.studio.find import By
from hyperlabel.studio.marks import mark_pieces

WAYS: dict[By, str] = {
    "useful": "most useful",
    "uncertain": "uncertain",
    "contested": "contested",
    "uncovered": "uncovered",
    "random": "random",
}
_LETTERS = 20_000  # letters of a text that are shown
_SELECT = """(e) => {
  const chosen = window.getSelection().toString();
  const word = e.target.closest ? e.target.closest('[data-i]') : null;
  emit(chosen, word ? Number(word.dataset.i) : -1);
}"""


class ItemPanel:
    """One item at a time, the most useful next one first.

    Attributes:
        item: Its identifier; None if there is none left.
        selected: The first and the last selected piece of its text.
        chosen: What was selected with the mouse; all of the selected pieces if empty.
        rest: Letters of its text that are not shown.
        moving: Whether another item is about to be shown: keys that are pressed in the meantime were not meant for it.
    """

    def __init__(self, page: Frame) -> None:
        self.page = page
        self.by: By = "useful"
        self.item: str | None = None
        self.past: list[str] = []
        self.pieces: list[tuple[str, bool]] = []
        self.selected: tuple[int, int] | None = None
        self.chosen = ""
        self.rest = 0
        self.moving = False
        with ui.card().classes("panel item").props('aria-label="Item"'):
            with ui.row().classes("bar"):
                ui.label("Item").classes("title")
                self.name = ui.label().classes("soft mono which")
                ui.space()
                self.way = ui.select(WAYS, value=self.by, on_change=self._set_way).props(
                    "dense options-dense borderless"
                )
                self.way.props('aria-label="Which item comes next"')
                ui.button("next", on_click=lambda: page.act(self.next())).props("flat dense no-caps")
            self.text = ui.html("", sanitize=False).classes("text").props('aria-label="Text"')
            self.text.on("mouseup", self._select, js_handler=_SELECT)
            self.classes = ui.row().classes("classes")
            self.about = ui.column().classes("about")

    async def next(self) -> None:
        """Show the next item."""
        if not self.moving:
            with self._moving():
                item = await self._find_next()
            await self._leave_for(item)

    @contextmanager
    def _moving(self) -> Iterator[None]:
        self.moving = True
        try:
            yield
        finally:
            self.moving = False

    async def _find_next(self) -> str | None:
        wanted = await self.page.hub.ask(lambda: self.page.project.next_items(self.by, 2))
        fresh = [item for item in wanted if item != self.item] or wanted
        return fresh[0] if fresh else None

    async def _leave_for(self, item: str | None) -> None:
        """Show another item; keys count for it as soon as it is drawn, though its rules are not found yet."""
        if self.item is not None:
            self.past.append(self.item)
        await self.show(item)

    async def back(self) -> None:
        """Show the item before."""
        if self.past:
            await self.show(self.past.pop())

    async def show(self, item: str | None) -> None:
        """Show an item."""
        self.item, self.selected, self.chosen = item, None, ""
        text = "" if item is None else self.page.project.data.text(self.page.project.data.row_of[item])
        self.rest = max(len(text) - _LETTERS, 0)
        found = re.findall(r"(\w+)|(\W+)", text[:_LETTERS])
        self.pieces = [(word or other, bool(word)) for word, other in found]
        self.draw()
        await self.page.rules.propose()

    async def give(self, number: int) -> None:
        """Give the item a class, and show the next one."""
        item, project = self.item, self.page.project
        if item is None or number >= len(project.classes) or self.moving:
            return
        label = project.classes[number]
        known = project.state.gold.get(item)
        if known is not None and known.label == label:
            await self.page.hub.change(lambda: project.give_gold(item, None))
            return
        with self._moving():
            await self.page.hub.change(lambda: project.give_gold(item, label, picked=self.by))
            following = await self._find_next()
        await self._leave_for(following)

    async def move(self, step: int, *, extend: bool) -> None:
        """Select the next or the previous word, or extend what is selected by it."""
        words = [i for i, (_, is_word) in enumerate(self.pieces) if is_word]
        if not words:
            return
        first, last = self.selected or (words[0] - 1, words[0] - 1)
        edge = last if step > 0 else first
        ahead = [i for i in words if (i > edge if step > 0 else i < edge)]
        target = (ahead[0] if step > 0 else ahead[-1]) if ahead else edge
        if extend and self.selected is not None:
            self.selected = (first, target) if step > 0 else (target, last)
        else:
            self.selected = (target, target) if target in words else None
        await self._selected("")

    async def clear(self) -> None:
        """Select nothing."""
        if self.selected is not None or self.chosen:
            self.selected = None
            await self._selected("")

    @property
    def selection(self) -> str:
        """The words that are selected."""
        if self.chosen or self.selected is None:
            return self.chosen
        return "".join(piece for piece, _ in self.pieces[self.selected[0] : self.selected[1] + 1])

    def _select(self, event: events.GenericEventArguments) -> None:
        chosen, piece = event.args
        chosen = " ".join(str(chosen).split())
        self.selected = (piece, piece) if piece >= 0 and not chosen else None
        self.page.act(self._selected(chosen))

    async def _selected(self, chosen: str) -> None:
        self.chosen = chosen
        if not chosen:  # the browser shows its own selection; redrawing would lose it
            self._draw_text()
        await self.page.rules.propose()

    def _set_way(self, event: events.ValueChangeEventArguments[Any]) -> None:
        self.by = event.value
        self.page.act(self.next())

    # Drawing.

    def draw(self) -> None:
        """Draw the current item."""
        self._draw_text()
        self._draw_classes()
        self._draw_about()

    def _draw_text(self) -> None:
        if self.item is None:
            self.text.set_content("There are no more items here. Choose another way to pick the next one.")
            return
        more = f" ... and {self.rest:,} more letters" if self.rest else ""
        self.text.set_content(mark_words(self.pieces, self.selected, self._hits()) + more)

    def _hits(self) -> list[bool]:
        """For each piece of the text, whether an LF found it."""
        project = self.page.project
        return mark_pieces(
            project.source.lfs.values(), project.state.settings.text, [piece for piece, _ in self.pieces]
        )

    def _draw_classes(self) -> None:
        project = self.page.project
        self.classes.clear()
        if self.item is None:
            return
        row = project.data.row_of[self.item]
        gold, shares = int(project.snapshot.gold[row]), project.snapshot.labels.probabilities[row]
        with self.classes:
            for number, name in enumerate(project.classes):
                button = ui.button(on_click=lambda _, n=number: self.page.act(self.give(n)), color=None).props(
                    "no-caps flat"
                )
                button.classes("class given" if gold == number else "class").style(f"--class:{color_of(number)}")
                button.props(f'aria-pressed="{str(gold == number).lower()}"')
                with button:
                    ui.label(str(number + 1) if number < 9 else "").classes("key")
                    ui.label(str(name)).classes("name")
                    ui.label(percent(float(shares[number]))).classes("soft")
                    ui.element("i").style(f"width:{100 * shares[number]:.1f}%")

    def _draw_about(self) -> None:
        """What made the label: each vote with its evidence."""
        project = self.page.project
        self.about.clear()
        self.name.set_text("" if self.item is None else f"{project.state.settings.id or 'row'} {self.item}")
        if self.item is None:
            return
        row = project.data.row_of[self.item]
        with self.about:
            if not project.snapshot.n_votes[row]:
                ui.label("No rule votes on this item yet.").classes("soft")
                return
            explained = project.explain(self.item)
            for each in explained.contributions:
                with ui.row().classes("vote"):
                    ui.label(each.lf).classes("mono")
                    ui.label(str(each.vote)).style(f"color:{color_of(project.classes.index(each.vote))}")
                    ui.space()
                    ui.label(f"{each.log_odds:+.2f}").classes("mono").tooltip("added to the log-odds of the label")
            if explained.flip:
                changes = [
                    f"{c.lf} abstained" if c.instead in (None, -1) else f"{c.lf} voted {c.instead}"
                    for c in explained.flip
                ]
                ui.label(f"The label would change if {' and '.join(changes)}.").classes("soft")
