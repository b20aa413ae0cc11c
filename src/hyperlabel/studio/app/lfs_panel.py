"""The LFs in one table: how often each votes, how well, and what it changes."""

from typing import Any

from nicegui import events, ui

from hyperlabel.studio.app.frame import Frame
from hyperlabel.studio.find import Filter

_PERCENT = "params.value == null ? '' : (100 * params.value).toFixed(1) + '%'"


def share_column(field: str, head: str, tip: str) -> dict[str, Any]:
    """A column of shares."""
    return {
        "field": field,
        "headerName": head,
        "headerTooltip": tip,
        "type": "rightAligned",
        ":valueFormatter": f"params => {_PERCENT}",
        "width": 77,
    }


def make_grid(columns: list[dict[str, Any]], options: dict[str, Any]) -> ui.aggrid:
    """A table without rows."""
    shared = {"columnDefs": columns, "rowData": [], "animateRows": False, "tooltipShowDelay": 300}
    return ui.aggrid(shared | options).classes("grid")


class LFsPanel:
    """One row per LF; a click shows its rows, a double click opens it in the editor."""

    def __init__(self, page: Frame) -> None:
        self.page = page
        columns = [
            {"field": "lf", "headerName": "LF", "flex": 1, "minWidth": 100, "cellClass": "mono", "tooltipField": "lf"},
            {"field": "votes_for", "headerName": "votes for", "width": 80},
            share_column("coverage", "coverage", "share of the items on which it votes"),
            share_column("overlaps", "overlaps", "share of the items on which another LF also votes"),
            share_column("conflicts", "conflicts", "share of the items on which another LF votes for another class"),
            share_column("estimated_accuracy", "estimate", "share of its votes that agree with the labels"),
            share_column("gold_accuracy", "on gold", "share of its votes that agree with gold"),
            {"field": "gold", "headerName": "gold", "width": 62, "headerTooltip": "votes right / wrong on gold"},
            share_column("changes", "changes", "share of the labels that would change without it"),
        ]
        with ui.column().classes("fill"):
            self.empty = ui.label(
                "There are no rules yet. Select words in the text and add a rule, or write one in Python."
            ).classes("soft empty")
            self.grid = make_grid(
                columns,
                {
                    "defaultColDef": {"sortable": True, "resizable": True},
                    ":getRowId": "params => params.data.lf",
                    "rowSelection": {"mode": "singleRow", "checkboxes": False, "enableClickSelection": True},
                },
            )
            self.grid.on("cellClicked", self._show_rows, ["data"])
            self.grid.on("cellDoubleClicked", self._edit, ["data"])
            self.hint = ui.label("click: its rows, in the next tab; double click: edit it").classes("soft")

    def draw(self) -> None:
        """Show the current numbers."""
        rows = [{**row, "gold": f"{row['right']} / {row['wrong']}"} for row in self.page.hub.view.lfs]
        self.empty.set_visibility(not rows)
        self.grid.set_visibility(bool(rows))
        self.hint.set_visibility(bool(rows))
        self.grid.options["rowData"] = rows
        self.grid.update()

    def _show_rows(self, event: events.GenericEventArguments) -> None:
        self.page.act(self.page.rows.show(Filter(lf=event.args["data"]["lf"]), stay=True))

    def _edit(self, event: events.GenericEventArguments) -> None:
        self.page.python.open(event.args["data"]["lf"])
