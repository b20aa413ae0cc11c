"""The tables: all LFs with their numbers, and rows, found by filters or changed by a change."""

from dataclasses import replace
from typing import Any

import numpy as np
from nicegui import events, ui
from numpy.typing import NDArray

from hyperlabel.studio._app._format import class_name
from hyperlabel.studio._app._page import Changes, Page
from hyperlabel.studio._find import Filter

_MOST_ROWS = 200
_TEXT = 300  # letters of a text
_ANY = "any"
_NONE = "none"  # the key of rows without a label; those of the classes are their numbers
_GOLD = {"any": _ANY, "given": "given", "missing": "missing", "right": "votes right", "wrong": "votes wrong"}
_PERCENT = "params => params.value == null ? '' : (100 * params.value).toFixed(1) + '%'"


def _column(field: str, width: int, title: str = "", **options: Any) -> dict[str, Any]:
    """Describe a column of a table."""
    return {"field": field, "headerName": title or field, "width": width, **options}


def _share_column(field: str, title: str, tip: str) -> dict[str, Any]:
    """Describe a column of shares."""
    options = {"headerTooltip": tip, "type": "rightAligned", ":valueFormatter": _PERCENT}
    return _column(field, 77, title, **options)


def _make_grid(columns: list[dict[str, Any]], **options: Any) -> ui.aggrid:
    """Make a table without rows."""
    shared = {"columnDefs": columns, "rowData": [], "animateRows": False, "tooltipShowDelay": 300}
    return ui.aggrid({**shared, **options}).classes("grid")


class LFsPanel:
    """One row per LF; a click shows its rows, a double click opens it in the editor."""

    def __init__(self, page: Page) -> None:
        self.page = page
        columns = [
            _column("rule", 220, "rule", flex=1, minWidth=200, tooltipField="rule"),
            _column("votes_for", 90, "votes for", tooltipField="votes_for"),
            _share_column("coverage", "coverage", "share of the items on which it votes"),
            _share_column("conflicts", "conflicts", "share of the items on which another rule votes for another class"),
            _share_column("estimated_accuracy", "estimate", "share of its votes that agree with the labels"),
            _column("gold", 66, headerTooltip="votes right / wrong on gold"),
            _share_column("changes", "changes", "share of the labels that would change without it"),
        ]
        with ui.column().classes("fill"):
            self.empty = ui.label("No rules yet. Select words in the text and add a rule, or write one in Python.")
            self.empty.classes("soft empty")
            self.grid = _make_grid(
                columns,
                defaultColDef={"sortable": True, "resizable": True},
                rowSelection={"mode": "singleRow", "checkboxes": False, "enableClickSelection": True},
                **{":getRowId": "params => params.data.lf"},
            )
            self.grid.on("cellClicked", self._show_rows, ["data"])
            self.grid.on("cellDoubleClicked", lambda event: page.python.open(event.args["data"]["lf"]), ["data"])
            self.hint = ui.label("Click: show its rows in the next tab. Double click: see and edit its code.").classes(
                "soft"
            )

    def draw(self) -> None:
        """Show the current numbers."""
        rows = [
            {**row, "rule": self.page.describe(row["lf"]), "gold": f"{row['right']} / {row['wrong']}"}
            for row in self.page.project.list_lfs()
        ]
        self.empty.set_visibility(not rows)
        self.grid.set_visibility(bool(rows))
        self.hint.set_visibility(bool(rows))
        self.grid.options["rowData"] = rows
        self.grid.update()

    def _show_rows(self, event: events.GenericEventArguments) -> None:
        self.page.start(self.page.rows.show(Filter(lf=event.args["data"]["lf"]), stay=True))


class RowsPanel:
    """Rows and the filters that find them."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.wanted = Filter()
        self.changes: Changes | None = None
        self.is_drawing = False
        columns = [
            _column("item", 92, cellClass="mono", tooltipField="item"),
            _column("text", 200, flex=1, minWidth=200, tooltipField="text"),
            _column("before", 76),
            _column("label", 76),
            _share_column("confidence", "conf.", "probability of the label"),
            _column("gold", 64),
            _column("votes", 130, tooltipField="votes"),
        ]
        with ui.column().classes("fill"):
            with ui.row().classes("filters"):
                self._make_filters()
            self.count = ui.label().classes("soft")
            self.grid = _make_grid(columns, defaultColDef={"resizable": True})
            self.grid.on("cellClicked", self._open, ["data"])

    def _make_filters(self) -> None:
        self.lf, self.vote, self.against, self.label, self.gold = (
            ui.select({}, label=title, on_change=self._read_filters).props("dense outlined options-dense")
            for title in ("rule", "vote", "against", "label", "gold")
        )
        self.conflict = ui.checkbox("conflicts", on_change=self._read_filters).props("dense")
        self.high = ui.number("max conf.", min=0, max=1, step=0.05, on_change=self._read_filters)
        self.high.props("dense outlined clearable")
        self.search = ui.input("search", on_change=self._read_filters).props("dense outlined clearable debounce=250")
        self.search.classes("search")
        clear = ui.button("clear", on_click=lambda: self.page.start(self.show(Filter())))
        clear.props("flat dense no-caps")
        last = ui.button("last change", on_click=lambda: self.page.start(self.show_changes(self.page.hub.changes)))
        last.props("flat dense no-caps").tooltip("the rows whose label changed with the last change")

    async def show(self, wanted: Filter, *, stay: bool = False) -> None:
        """Show the rows that match a filter."""
        self.wanted, self.changes = wanted, None
        if not stay:
            self.page.open_tab("rows")
        await self.draw()

    async def show_changes(self, changes: Changes) -> None:
        """Show the rows that a change changes, before and after."""
        self.changes = changes
        self.page.open_tab("rows")
        await self.draw()

    async def draw(self) -> None:
        """Show the current rows."""
        changes = self.changes
        if changes is None:
            project, wanted = self.page.project, self._current_filter()
            rows = await self.page.hub.ask(lambda: project.find(wanted))
            title = f"{len(rows):,} of {project.data.n:,} rows"
        else:
            rows, title = changes.rows, f"{changes.title}: {len(changes.rows):,} labels"
        self._draw_filters()
        more = f"; the first {_MOST_ROWS} are shown" if len(rows) > _MOST_ROWS else ""
        self.count.set_text(f"{title}{more}." if len(rows) else f"{title}. No rows to show.")
        self.grid.options["rowData"] = self._list_rows(rows[:_MOST_ROWS], changes)
        self.grid.options["columnDefs"][2]["hide"] = changes is None
        self.grid.update()

    def _current_filter(self) -> Filter:
        """Return the filter without LFs and classes that are gone."""
        wanted, names, classes = self.wanted, self.page.project.snapshot.columns, self.page.project.classes
        return replace(
            wanted,
            lf=wanted.lf if wanted.lf in names else None,
            against=wanted.against if wanted.against in names else None,
            vote=wanted.vote if wanted.vote in classes else None,
            label=wanted.label if wanted.label in ("", *classes) else None,
        )

    def _list_rows(self, rows: NDArray[np.intp], changes: Changes | None) -> list[dict[str, Any]]:
        project = self.page.project
        snapshot, data, classes = project.snapshot, project.data, project.classes
        listed = []
        for i, row in enumerate(rows.tolist()):
            votes = {name: int(column[row]) for name, column in snapshot.columns.items() if column[row] >= 0}
            label = int(snapshot.best[row] if changes is None else changes.after[i])
            listed.append(
                {
                    "item": data.ids[row],
                    "text": data.text(row)[:_TEXT],
                    "before": "" if changes is None else class_name(int(changes.before[i]), classes),
                    "label": class_name(label, classes),
                    "confidence": float(snapshot.confidence[row]) if label >= 0 else None,
                    "gold": class_name(int(snapshot.gold[row]), classes),
                    "votes": ", ".join(f"{name}: {classes[vote]}" for name, vote in votes.items()),
                }
            )
        return listed

    def _draw_filters(self) -> None:
        """Set the fields to the filter."""
        self.is_drawing = True
        names = {"": _ANY, **{name: name for name in self.page.project.snapshot.lf_names}}
        numbers = {name: str(number) for number, name in enumerate(self.page.project.classes)}
        classes = {"": _ANY, **{number: str(name) for name, number in numbers.items()}}
        wanted = self._current_filter()
        label = "" if wanted.label is None else numbers.get(wanted.label, _NONE)
        for field, options, value in (
            (self.lf, names, wanted.lf or ""),
            (self.against, names, wanted.against or ""),
            (self.vote, classes, numbers.get(wanted.vote, "")),
            (self.label, {**classes, _NONE: "(none)"}, label),
            (self.gold, _GOLD, wanted.gold),
        ):
            field.set_options(options, value=value)
        self.conflict.set_value(bool(wanted.conflict))
        self.search.set_value(wanted.search)
        self.high.set_value(None if wanted.confidence is None else wanted.confidence[1])
        self.is_drawing = False

    def _read_filters(self) -> None:
        """Set the filter to the fields, after a change by hand."""
        if self.is_drawing:
            return
        classes = {str(number): name for number, name in enumerate(self.page.project.classes)}
        self.wanted = Filter(
            lf=self.lf.value or None,
            vote=classes.get(self.vote.value),
            against=self.against.value or None,
            conflict=True if self.conflict.value else None,
            label="" if self.label.value == _NONE else classes.get(self.label.value),
            confidence=None if self.high.value is None else (0.0, float(self.high.value)),
            gold=self.gold.value or "any",
            search=self.search.value or "",
        )
        self.changes = None
        self.page.start(self.draw())

    def _open(self, event: events.GenericEventArguments) -> None:
        item = event.args["data"]["item"]
        if item != self.page.item.item:  # a second click must not clear what is selected in it
            self.page.start(self.page.item.leave_for(item))
