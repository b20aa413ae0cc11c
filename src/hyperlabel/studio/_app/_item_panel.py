"""The item: its text, its votes, and its class by key or click."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from nicegui import events, ui

from hyperlabel.studio._app._format import color_of, find_hits, mark_words, percent
from hyperlabel.studio._app._page import Page
from hyperlabel.studio._find import By

PICKERS: dict[By, str] = {
    "useful": "helps most",
    "uncertain": "uncertain",
    "contested": "rules disagree",
    "uncovered": "no rule votes",
    "random": "random",
}
HINTS = {"useful": "picked because its label helps most", "random": "picked at random, to measure accuracy"}
_KEYS = 9  # classes that have a key
_LETTERS = 20_000  # letters of a text that are shown
_SELECT = """(e) => {
  const marked = window.getSelection().toString();
  const word = e.target.closest ? e.target.closest('[data-i]') : null;
  emit(marked, word ? Number(word.dataset.i) : -1);
}"""


class ItemPanel:
    """One item at a time, the most useful next one first."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.by: By = "useful"
        self.item: str | None = None  # its identifier; None if there is none left
        self.past: list[str] = []
        self.pieces: list[tuple[str, bool]] = []
        self.selected: tuple[int, int] | None = None  # the first and the last selected piece of its text
        self.marked = ""  # text that was selected with the mouse; all of the selected pieces if empty
        self.n_hidden = 0  # letters of its text that are not shown
        self.order: list[int] = []  # the classes that are shown, in the order of their keys
        self.is_loaded = False  # whether an item was looked for
        self.is_moving = False  # whether another item is about to be shown: keys in the meantime are not for it
        with ui.card().classes("panel item").props('aria-label="Item"'):
            with ui.row().classes("bar"):
                ui.html("Item", sanitize=False, tag="h2").classes("title")
                self.name = ui.label().classes("soft mono which")
                self.hint = ui.label().classes("soft hint")
                ui.space()
                self.picker = ui.select(PICKERS, value=self.by, on_change=self._set_picker)
                self.picker.props('dense options-dense borderless aria-label="Which item comes next"')
                ui.button("next", on_click=lambda: page.start(self.next())).props("flat dense no-caps")
            self.text = ui.html("", sanitize=False).classes("text").props('aria-label="Text"')
            self.text.on("mouseup", self._select, js_handler=_SELECT)
            self.classes = ui.row().classes("classes")
            self.others = self._make_filter()
            self.about = ui.column().classes("about")

    def _make_filter(self) -> ui.input:
        """Make the field that finds classes by their names; Enter takes the likeliest."""
        field = ui.input("other class: press t and type", on_change=lambda: self._draw_classes())
        field.on("keydown.enter", lambda event: self._choose(str(event.args)), js_handler="(e) => emit(e.target.value)")
        return field.props("dense outlined clearable").classes("find-class")

    def _choose(self, typed: str) -> None:
        likely = self._list_likely(typed)
        if typed.strip() and likely:
            self.others.set_value("")
            self.page.client.run_javascript("document.activeElement.blur()")
            self.page.start(self.give(likely[0]))

    def _list_likely(self, typed: str) -> list[int]:
        """List the classes whose names contain what was typed, the likeliest for the item first."""
        snapshot = self.page.project.snapshot
        shares = snapshot.labels.probabilities[self.page.project.data.row_of[self.item or ""]]
        likely = np.argsort(-shares, kind="stable").tolist()
        return [number for number in likely if typed.strip().casefold() in str(snapshot.classes[number]).casefold()]

    async def press(self, key: int) -> None:
        """Give the item the class of a number key."""
        if key < min(len(self.order), _KEYS):
            await self.give(self.order[key])

    async def next(self) -> None:
        """Show the next item."""
        if not self.is_moving:
            with self._moving():
                item = await self._find_next()
            await self.leave_for(item)

    @contextmanager
    def _moving(self) -> Iterator[None]:
        self.is_moving = True
        try:
            yield
        finally:
            self.is_moving = False

    async def _find_next(self) -> str | None:
        items = await self.page.hub.ask(lambda: self.page.project.next_items(self.by, 2))
        self.is_loaded = True
        return next((item for item in items if item != self.item), items[0] if items else None)

    async def leave_for(self, item: str | None, *, offer: bool = False) -> None:
        """Show another item, from which `back` returns to this one; `offer` keeps the rules of this one."""
        if self.item is not None:
            self.past.append(self.item)
        await self.show(item, offer=offer)

    async def back(self) -> None:
        """Show the item before."""
        if self.past:
            await self.show(self.past.pop())

    async def show(self, item: str | None, *, offer: bool = False) -> None:
        """Show an item; keys count for it as soon as it is drawn, before its rules are found."""
        if not offer:
            self.page.rules.offered = None
        self.item, self.selected, self.marked = item, None, ""
        text = "" if item is None else self.page.project.data.text(self.page.project.data.row_of[item])
        self.n_hidden = max(len(text) - _LETTERS, 0)
        pieces = re.findall(r"(\w+)|(\W+)", text[:_LETTERS])
        self.pieces = [(word or other, bool(word)) for word, other in pieces]
        self.draw()
        await self.page.rules.propose()

    async def give(self, number: int) -> None:
        """Give the item a gold class, and show the next one; the same class again removes it."""
        item, project = self.item, self.page.project
        if item is None or number >= len(project.classes) or self.is_moving:
            return
        label, gold = project.classes[number], project.state.gold.get(item)
        if gold is not None and gold.label == label:
            await self.page.hub.change(lambda: project.give_gold(item, None))
            return
        with self._moving():
            await self.page.hub.change(lambda: project.give_gold(item, label))
            self.page.rules.offered = (item, label)
            following = await self._find_next()
        await self.leave_for(following, offer=True)

    async def move(self, step: int, *, extend: bool) -> None:
        """Select the next or the previous word, or extend the selection by it."""
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
        await self._update_selection("")

    async def clear(self) -> None:
        """Select nothing."""
        if self.selected is not None or self.marked:
            self.selected = None
            await self._update_selection("")

    @property
    def selection(self) -> str:
        """The selected words."""
        if self.marked or self.selected is None:
            return self.marked
        return "".join(piece for piece, _ in self.pieces[self.selected[0] : self.selected[1] + 1])

    def _select(self, event: events.GenericEventArguments) -> None:
        text, piece = event.args
        marked = " ".join(str(text).split())
        self.selected = (piece, piece) if piece >= 0 and not marked else None
        self.page.start(self._update_selection(marked))

    async def _update_selection(self, marked: str) -> None:
        self.marked = marked
        if not marked:  # the browser shows its own selection; redrawing would lose it
            self._draw_text()
        await self.page.rules.propose()

    def _set_picker(self, event: events.ValueChangeEventArguments[Any]) -> None:
        self.by = event.value
        self.page.start(self.next())

    # Drawing.

    def draw(self) -> None:
        """Draw the current item."""
        self._draw_text()
        self._draw_classes()
        self.about.clear()
        self.hint.set_text(HINTS.get(self.page.project.suggested.get(self.item or "", ""), ""))
        self.name.set_text("" if self.item is None else f"{self.page.project.state.settings.id or 'row'} {self.item}")
        if self.item is not None:
            with self.about:
                self._draw_votes(self.item)

    def _draw_text(self) -> None:
        if self.item is None:
            empty = "No items are left here. Choose another way to pick the next one."
            self.text.set_content(empty if self.is_loaded else "Reading the table ...")
            return
        project, pieces = self.page.project, [piece for piece, _ in self.pieces]
        hits = find_hits(project.source.lfs.values(), project.state.settings.text, pieces)
        more = f" ... and {self.n_hidden:,} more letters" if self.n_hidden else ""
        self.text.set_content(mark_words(self.pieces, self.selected, hits) + more)

    def _draw_classes(self) -> None:
        """Draw nine classes with keys: all, or the likeliest of those whose names contain what was typed."""
        self.classes.clear()
        snapshot = self.page.project.snapshot
        self.others.set_visibility(self.item is not None and snapshot.k > _KEYS)
        if self.item is None:
            return
        row = self.page.project.data.row_of[self.item]
        gold, likely = int(snapshot.gold[row]), self._list_likely(self.others.value or "")
        self.order = sorted(likely) if snapshot.k <= _KEYS else likely[:_KEYS]
        self.classes.classes(add="many" if snapshot.k > _KEYS else "", remove="many" if snapshot.k <= _KEYS else "")
        for place, number in enumerate(self.order):
            with self.classes:
                self._draw_class(place, number, float(snapshot.labels.probabilities[row, number]), gold == number)

    def _draw_class(self, place: int, number: int, share: float, is_gold: bool) -> None:
        snapshot = self.page.project.snapshot
        button = ui.button(on_click=lambda: self.page.start(self.give(number)), color=None)
        button.classes("class given" if is_gold else "class").style(f"--class:{color_of(number, snapshot.k)}")
        button.props(f'no-caps flat aria-pressed="{str(is_gold).lower()}"')
        with button:
            ui.label(str(place + 1)).classes("key")
            ui.label(str(snapshot.classes[number])).classes("name")
            ui.label(percent(share)).classes("soft")
            ui.element("i").style(f"width:{100 * share:.1f}%")

    def _draw_votes(self, item: str) -> None:
        """Draw each vote with its evidence, and what would change the label."""
        project = self.page.project
        if not project.snapshot.n_votes[project.data.row_of[item]]:
            more = "" if project.snapshot.text is None else ": its label comes from its text"
            ui.label(f"No rule votes on this item{more}.").classes("soft")
            return
        explanation = project.explain(item)
        for each in explanation.contributions:
            with ui.row().classes("vote"):
                ui.label(self.page.describe(each.lf)).classes("rule")
                ui.label(f"\u2192 {each.vote}")
                ui.space()
                ui.label(_say_strength(each.log_odds)).classes("soft")
        if explanation.flip:
            changes = [f"\u201c{self.page.describe(c.lf)}\u201d {_say_vote(c.instead)}" for c in explanation.flip]
            ui.label(f"By the rules alone, the label would change if {' and '.join(changes)}.").classes("soft")


def _say_vote(vote: object) -> str:
    return "did not vote" if vote in (None, -1) else f"voted {vote}"


def _say_strength(log_odds: float) -> str:
    """Say how much a vote counts.

    >>> _say_strength(0.2), _say_strength(-3)
    ('weakly for the label', 'strongly against the label')
    """
    size = "weakly" if abs(log_odds) < 0.7 else "clearly" if abs(log_odds) < 2 else "strongly"
    return f"{size} {'for' if log_odds >= 0 else 'against'} the label"
