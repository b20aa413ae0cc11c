"""The rows: found by filters, or those that a change changes; a click shows one."""

from dataclasses import replace
from typing import Any

import numpy as np
from nicegui import events, ui
from numpy.typing import NDArray

from hyperlabel.studio.app.frame import Frame
from hyperlabel.studio.app.hub import Changes
from hyperlabel.studio.app.lfs_panel import make_grid, share_column
from hyperlabel.studio.app.shown import class_name
from hyperlabel.studio.find import Filter

_SHOWN = 200  # the most rows
_TEXT = 300  # letters of a text
_ANY = "any"
_NONE = "none"  # the key of rows without a label; those of the classes are their numbers
_GOLD = {"any": _ANY, "given": "given", "missing": "not given", "right": "votes right", "wrong": "votes wrong"}


class RowsPanel:
    """Rows and the filters that find them."""

    def __init__(self, page: Frame) -> None:
        self.page = page
        self.wanted = Filter()
        self.changes: Changes | None = None
        self.quiet = False
        with ui.column().classes("fill"):
            with ui.row().classes("filters"):
                self._make_filters(page)
            self.count = ui.label().classes("soft")
            columns = [
                {"field": "item", "headerName": "item", "width": 92, "cellClass": "mono", "tooltipField": "item"},
                {"field": "text", "headerName": "text", "flex": 1, "minWidth": 200, "tooltipField": "text"},
                {"field": "before", "headerName": "before", "width": 76},
                {"field": "label", "headerName": "label", "width": 76},
                share_column("confidence", "conf.", "probability of the label"),
                {"field": "gold", "headerName": "gold", "width": 64},
                {"field": "votes", "headerName": "votes", "width": 130, "tooltipField": "votes"},
            ]
            self.grid = make_grid(columns, {"defaultColDef": {"resizable": True}})
            self.grid.on("cellClicked", self._open, ["data"])

    def _make_filters(self, page: Frame) -> None:
        self.lf = self._select("LF", "lf")
        self.vote = self._select("vote", "vote")
        self.against = self._select("against", "against")
        self.label = self._select("label", "label")
        self.gold = self._select("gold", "gold")
        self.conflict = ui.checkbox("conflicts", on_change=self._changed).props("dense")
        self.low = ui.number("confidence to", min=0, max=1, step=0.05, on_change=self._changed)
        self.low.props("dense outlined clearable").classes("narrow")
        self.search = ui.input("search", on_change=self._changed).props("dense outlined clearable debounce=250")
        self.search.classes("search")
        ui.button("clear", on_click=lambda: page.act(self.show(Filter()))).props("flat dense no-caps")
        last = ui.button("last change", on_click=lambda: page.act(self.show_changes(page.hub.view.changes)))
        last.props("flat dense no-caps").tooltip("the rows whose label the last change changed")

    def _select(self, title: str, field: str) -> Any:
        made = ui.select({}, label=title, on_change=self._changed).props("dense outlined options-dense")
        return made.classes("narrow").mark(field)

    async def show(self, wanted: Filter, *, stay: bool = False) -> None:
        """Show the rows that a filter finds."""
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
        if self.changes is None:
            project, wanted = self.page.project, self._known(self.wanted)
            rows = await self.page.hub.ask(lambda: project.find(wanted))
            before = after = None
            title = f"{len(rows):,} of {project.data.n:,} rows"
        else:
            rows, before, after = self.changes.rows, self.changes.before, self.changes.after
            title = f"{self.changes.what}: {len(rows):,} labels"
        self._draw_filters()
        more = f"; the first {_SHOWN} are shown" if len(rows) > _SHOWN else ""
        self.count.set_text(f"{title}{more}." if len(rows) else f"{title}. No row is left: clear a filter.")
        self.grid.options["rowData"] = self._list(rows[:_SHOWN], before, after)
        self.grid.options["columnDefs"][2]["hide"] = before is None
        self.grid.update()

    def _known(self, wanted: Filter) -> Filter:
        """The filter without LFs and classes that are gone."""
        names, classes = self.page.project.snapshot.columns, self.page.project.classes
        return replace(
            wanted,
            lf=wanted.lf if wanted.lf in names else None,
            against=wanted.against if wanted.against in names else None,
            vote=wanted.vote if wanted.vote in classes else None,
            label=wanted.label if wanted.label in ("", *classes) else None,
        )

    def _list(self, rows: NDArray[np.intp], before: Any, after: Any) -> list[dict[str, Any]]:
        project = self.page.project
        snapshot, data, classes = project.snapshot, project.data, project.classes
        listed = []
        for place, row in enumerate(rows.tolist()):
            votes = {name: int(column[row]) for name, column in snapshot.columns.items() if column[row] >= 0}
            label = int(snapshot.best[row] if after is None else after[place])
            listed.append(
                {
                    "item": data.ids[row],
                    "text": data.text(row)[:_TEXT],
                    "before": "" if before is None else class_name(int(before[place]), classes),
                    "label": class_name(label, classes),
                    "confidence": float(snapshot.confidence[row]) if label >= 0 else None,
                    "gold": class_name(int(snapshot.gold[row]), classes),
                    "votes": ", ".join(f"{name}: {classes[vote]}" for name, vote in votes.items()),
                }
            )
        return listed

    def _draw_filters(self) -> None:
        """Set the fields to the filter."""
        self.quiet = True
        names = {"": _ANY, **{name: name for name in self.page.project.snapshot.lf_names}}
        numbers = {c: str(number) for number, c in enumerate(self.page.project.classes)}
        classes = {"": _ANY, **{number: str(c) for c, number in numbers.items()}}
        wanted = self._known(self.wanted)
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
        self.low.set_value(None if wanted.confidence is None else wanted.confidence[1])
        self.quiet = False

    def _changed(self) -> None:
        """A field was changed by hand."""
        if self.quiet:
            return
        known = {str(number): c for number, c in enumerate(self.page.project.classes)}
        self.wanted = Filter(
            lf=self.lf.value or None,
            vote=known.get(self.vote.value),
            against=self.against.value or None,
            conflict=True if self.conflict.value else None,
            label="" if self.label.value == _NONE else known.get(self.label.value),
            confidence=None if self.low.value is None else (0.0, float(self.low.value)),
            gold=self.gold.value or "any",
            search=self.search.value or "",
        )
        self.changes = None
        self.page.act(self.draw())

    def _open(self, event: events.GenericEventArguments) -> None:
        item = self.page.item
        if item.item is not None:
            item.past.append(item.item)
        self.page.act(item.show(event.args["data"]["item"]))
