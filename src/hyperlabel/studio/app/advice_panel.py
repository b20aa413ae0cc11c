"""What to do next: the advisor's list, each with a way to do it."""

from nicegui import ui

from hyperlabel.studio.app.frame import Frame
from hyperlabel.studio.find import Filter
from hyperlabel.trust import Advice

_SHOWN = 3


class AdvicePanel:
    """The advisor's first few lines; they appear a moment after the labels."""

    def __init__(self, page: Frame) -> None:
        self.page = page
        with ui.column().classes("advice").props('aria-label="Advice"'):
            ui.label("Advice").classes("title")
            self.list = ui.column().classes("advice-list")

    def draw(self) -> None:
        """Show the current advice."""
        self.list.clear()
        with self.list:
            found = self.page.hub.advice[:_SHOWN]
            if not found:
                ui.label("No advice yet." if self.page.project.snapshot.columns else "Write a rule first.").classes(
                    "soft"
                )
            for advice in found:
                with ui.row().classes("vote"):
                    ui.label(self._say(advice)).classes("reason").tooltip(f"Worth: {advice.worth}")
                    ui.button("do", on_click=lambda _, a=advice: self._follow(a), color=None).props(
                        "dense flat no-caps"
                    )

    def _say(self, advice: Advice) -> str:
        """The reason, with the identifiers of the items in the table."""
        if advice.kind == "label":
            ids = self.page.project.data.ids
            return f"Label the {advice.number} most useful items: {', '.join(ids[i] for i in advice.examples[:3])}, ..."
        return advice.reason

    def _follow(self, advice: Advice) -> None:
        """Start what is advised."""
        page = self.page
        if advice.kind == "label":
            page.act(page.item.show(page.project.data.ids[advice.examples[0]]))
        elif advice.kind in ("uncovered", "unvoted"):
            page.item.way.set_value("uncovered")
        elif advice.kind == "balance":
            page.act(page.ask_balance())
        elif advice.examples:
            page.act(page.rows.show(Filter(lf=str(advice.examples[0]))))
