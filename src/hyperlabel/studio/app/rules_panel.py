"""Candidate rules for the item, or for the words that are selected in it: what each would do, before it is accepted."""

from typing import Any

from nicegui import ui

from hyperlabel.errors import HyperlabelError
from hyperlabel.studio.app.frame import Frame
from hyperlabel.studio.app.hub import Changes
from hyperlabel.studio.app.shown import color_of, percent
from hyperlabel.studio.candidates import Candidate

KEYS = "abcdefgh"


class RulesPanel:
    """Candidates, each with a key.

    Attributes:
        candidates: The candidates that are shown.
        vote: The class that they vote for; None if the user must choose.
    """

    def __init__(self, page: Frame) -> None:
        self.page = page
        self.candidates: list[Candidate] = []
        self.vote: Any = None
        self.stated: Any = None  # the class that the user chose for this item
        self.asked = self.answered = 0
        with ui.card().classes("panel rules").props('aria-label="Candidate rules"'):
            with ui.row().classes("bar"):
                self.title = ui.label("Rules").classes("title")
                ui.space()
                self.votes = ui.row().classes("votes-for")
            self.list = ui.column().classes("candidates")

    def choose(self, number: int) -> None:
        """Let the candidates vote for another class."""
        if number < len(self.page.project.classes):
            self.stated = (self.page.item.item, self.page.project.classes[number])
            self.page.act(self.propose())

    async def propose(self) -> None:
        """Show the candidates for what is selected; the latest request wins."""
        self.asked += 1
        asked, item, selection = self.asked, self.page.item.item, self.page.item.selection
        self.vote = self._vote()
        found: list[Candidate] = []
        if item is not None and self.vote is not None:
            vote, project = self.vote, self.page.project
            try:
                found = await self.page.hub.ask(lambda: project.candidates(item, selection, vote=vote, most=len(KEYS)))
            except BaseException:  # nothing is left to wait for
                self.answered = max(self.answered, asked)
                raise
        if asked == self.asked:
            self.answered, self.candidates = asked, found
            self._draw(selection)

    async def accept(self, number: int) -> None:
        """Add a candidate to the LFs; one that is still being looked for, if it was asked for before."""
        item = self.page.item
        seen = item.item
        while self.answered < self.asked:
            await self.page.hub.ask(lambda: None)
        if number >= len(self.candidates) or item.item != seen or item.moving:
            return
        shown, self.candidates = self.candidates, []  # the same key again must not add it again
        chosen = shown[number]
        try:
            await self.page.hub.change(lambda: self.page.project.add(chosen))
        except HyperlabelError:
            self.candidates = shown
            raise
        self.page.say(f"added {chosen.name}: {len(chosen.effect.changed):,} labels changed")
        await item.clear()

    def _vote(self) -> Any:
        """The class to vote for: what was chosen, else the gold of the item, else its label."""
        item, project = self.page.item.item, self.page.project
        if item is None:
            return None
        if self.stated is not None and self.stated[0] == item:
            return self.stated[1]
        best = int(project.snapshot.best[project.data.row_of[item]])
        return project.classes[best] if best >= 0 else None

    def _draw(self, selection: str) -> None:
        project = self.page.project
        self.title.set_text(f"Rules from \u201c{selection[:40]}\u201d" if selection else "Rules from this item")
        self.votes.clear()
        with self.votes:
            ui.label("vote for").classes("soft")
            for number, name in enumerate(project.classes):
                button = ui.button(str(name), on_click=lambda _, n=number: self.choose(n), color=None)
                button.props("dense no-caps flat")
                button.classes("pick on" if name == self.vote else "pick").style(f"--class:{color_of(number)}")
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
            add = ui.button(KEYS[number], on_click=lambda: self.page.act(self.accept(number)), color=None)
            add.props(f'dense flat no-caps aria-label="Add {candidate.name}"').classes("add").tooltip("add this rule")
            with ui.column().classes("what"):
                ui.label(call).classes("mono code").tooltip(candidate.source.strip())
                with ui.row().classes("facts"):
                    ui.label(f"votes on {percent(effect.coverage)}")
                    ui.label(f"gold {effect.right} right, {effect.wrong} wrong")
                    ui.label(f"overlap {percent(effect.overlap)}")
            show = ui.button(f"changes {len(effect.changed):,}", on_click=lambda: self._preview(candidate))
            show.props("dense flat no-caps").classes("changes").tooltip("show the rows whose label would change")

    def _preview(self, candidate: Candidate) -> None:
        effect = candidate.effect
        changes = Changes(f"{candidate.name} would change", effect.changed, effect.before, effect.after)
        self.page.act(self.page.rows.show_changes(changes))
