"""The project as a whole: its state and actions in the top bar, its numbers as charts, and what to do next."""

from pathlib import Path
from typing import Any

import numpy as np
from nicegui import events, ui

from hyperlabel.studio._app._format import color_of, interval, percent
from hyperlabel.studio._app._page import Page
from hyperlabel.studio._find import Filter
from hyperlabel.trust import Advice

KEYS = {
    "1 to 9": "label the item (again: remove the label); with words selected: class of the rule",
    "n, space": "next item",
    "p": "previous item",
    "left, right": "select a word; with Shift: more words",
    "a to h": "add the candidate rule of that letter",
    "Esc": "clear the selection",
    "u": "undo the last change",
    "/": "search the texts",
    "l, r, w, m": "LFs, rows, Python, numbers",
    "s": "save the labels",
    "?": "this list",
}
FILES = {
    "labels.parquet": "Labels (parquet)",
    "labels.csv": "Labels (csv)",
    "report.html": "Report (html)",
    "certificate.txt": "Certificate (text)",
}
_GOLD_TIP = (
    "Labels that agree with gold, each from a model that does not know the item's own gold, with the 95% interval. "
    "Items without a label count as wrong. It holds for all items only if the gold items were picked at random."
)
_TRUTH_TIP = "Of all rows with a known truth; rows without a label count as wrong"
_MOST_ADVICE = 3

_MOST_LFS = 30  # in the conflict matrix
_BINS = 10
_GRAY, _BLUE = "#8b8f98", "#5a7fb5"
_AXIS = {"axisLabel": {"color": _GRAY}, "splitLine": {"lineStyle": {"color": "rgba(139,143,152,0.2)"}}}
_PLAIN = {"tooltip": {"renderMode": "richText", "trigger": "item"}, "animation": False}
Options = dict[str, Any]


class Bar:
    """Facts on the left, actions on the right."""

    def __init__(self, page: Page) -> None:
        self.page = page
        project = page.project
        self.help = self._make_help()
        with ui.header().classes("top"):
            ui.label("hyperlabel studio").classes("brand")
            ui.label(Path(project.data.table.name).name).classes("soft mono").tooltip(str(project.folder.path))
            self.facts = ui.row().classes("facts")
            ui.space()
            self.undo = ui.button("Undo", on_click=lambda: page.start(page.undo())).props("flat dense no-caps")
            with ui.button("Save").props("flat dense no-caps"), ui.menu():
                for name, title in FILES.items():
                    ui.menu_item(title, lambda name=name: page.start(page.save(name)))
            theme = ui.button(icon="dark_mode", on_click=lambda: page.set_dark(not page.dark.value))
            theme.props("flat dense round").tooltip("light or dark")
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
        stats = self.page.project.stats
        self.facts.clear()
        with self.facts:
            ui.label(self.page.project.data.size).classes("fact")
            ui.label(f"{stats.n_lfs:,} LF{'' if stats.n_lfs == 1 else 's'}").classes("fact")
            ui.label(f"{stats.n_gold:,} gold").classes("fact")
            ui.label(f"{percent(stats.coverage)} labeled").classes("fact")
            if stats.gold.whole:
                ui.label(f"accuracy on gold {interval(stats.gold)}").classes("fact strong").tooltip(_GOLD_TIP)
            if stats.truth.whole:
                ui.label(f"accuracy vs. truth {percent(stats.truth.value)}").classes("fact").tooltip(_TRUTH_TIP)
        self.undo.set_enabled(bool(self.page.project.undo_stack))


class AdvicePanel:
    """The first few lines of advice; they appear a moment after the labels."""

    def __init__(self, page: Page) -> None:
        self.page = page
        with ui.column().classes("advice").props('aria-label="Advice"'):
            ui.label("Advice").classes("title")
            self.list = ui.column().classes("advice-list")

    def draw(self) -> None:
        """Show the current advice."""
        self.list.clear()
        with self.list:
            if not self.page.hub.advice:
                has_lfs = bool(self.page.project.snapshot.columns)
                ui.label("No advice yet." if has_lfs else "Add a rule first.").classes("soft")
            for advice in self.page.hub.advice[:_MOST_ADVICE]:
                with ui.row().classes("vote"):
                    ui.label(self._describe(advice)).classes("reason").tooltip(f"Worth: {advice.worth}")
                    follow = ui.button("do it", on_click=lambda _, a=advice: self._follow(a), color=None)
                    follow.props("dense flat no-caps")

    def _describe(self, advice: Advice) -> str:
        """Return the reason, with the identifiers of items instead of rows."""
        if advice.kind == "label":
            ids = self.page.project.data.ids
            return f"Label these {advice.number} items next: {', '.join(ids[i] for i in advice.examples[:3])}, ..."
        return advice.reason

    def _follow(self, advice: Advice) -> None:
        """Start what is advised."""
        page = self.page
        if advice.kind == "label":
            page.start(page.item.show(page.project.data.ids[advice.examples[0]]))
        elif advice.kind in ("uncovered", "unvoted"):
            page.item.picker.set_value("uncovered")
        elif advice.kind == "balance":
            page.start(page.ask_balance())
        elif advice.examples:
            page.start(page.rows.show(Filter(lf=str(advice.examples[0]))))


def _layout(left: int, right: int, top: int, bottom: int) -> Options:
    return {"left": left, "right": right, "top": top, "bottom": bottom}


class NumbersPanel:
    """Four charts."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.conflict_lfs: list[str] = []
        with ui.element("div").classes("charts"):
            self.charts = [
                (self._make_chart("Classes among the labels, in percent"), self._draw_balance),
                (self._make_chart("Labels by confidence"), self._draw_confidence),
                (self._make_chart("This session, in percent"), self._draw_history),
                (self._make_chart("Conflicts between LFs: click to show the rows", self._open), self._draw_conflicts),
            ]

    def _make_chart(self, title: str, on_click: Any = None) -> ui.echart:
        with ui.column().classes("chart"):
            ui.label(title).classes("soft")
            return ui.echart({}, on_point_click=on_click).classes("plot")

    def draw(self) -> None:
        """Show the current numbers."""
        for chart, draw in self.charts:
            chart.options.clear()
            chart.options.update({**_PLAIN, **draw()})
            chart.update()

    def _draw_balance(self) -> Options:
        classes, shares = self.page.project.classes, self.page.project.stats.balance
        bars = [{"value": round(100 * s, 1), "itemStyle": {"color": color_of(i)}} for i, s in enumerate(shares)]
        return {
            "grid": _layout(90, 40, 8, 24),
            "xAxis": {"type": "value", "max": 100, **_AXIS},
            "yAxis": {"type": "category", "data": [str(c)[:14] for c in classes], "inverse": True, **_AXIS},
            "series": [{"type": "bar", "data": bars, "label": {"show": True, "position": "right", "color": _GRAY}}],
        }

    def _draw_confidence(self) -> Options:
        snapshot = self.page.project.snapshot
        labeled = (snapshot.best >= 0) & (snapshot.gold < 0)
        counts, edges = np.histogram(snapshot.confidence[labeled], _BINS, (0, 1))
        return {
            "grid": _layout(50, 10, 8, 24),
            "xAxis": {"type": "category", "data": [f"{edge:.1f}" for edge in edges[:-1]], **_AXIS},
            "yAxis": {"type": "value", **_AXIS},
            "series": [{"type": "bar", "data": counts.tolist(), "itemStyle": {"color": _BLUE}, "barCategoryGap": "8%"}],
        }

    def _draw_history(self) -> Options:
        history = self.page.project.history
        lines: dict[str, list[float]] = {
            "labeled": [100 * stats.coverage for stats in history],
            "accuracy on gold": [100 * stats.gold.value for stats in history],
            "accuracy vs. truth": [100 * stats.truth.value for stats in history],
        }
        shown = {name: values for name, values in lines.items() if not np.isnan(values).all()}
        series = [
            {
                "name": name,
                "type": "line",
                "showSymbol": len(history) == 1,
                "color": color_of(number),
                "data": [None if np.isnan(value) else round(value, 1) for value in values],
            }
            for number, (name, values) in enumerate(shown.items())
        ]
        return {
            "tooltip": {"renderMode": "richText", "trigger": "axis"},
            "legend": {"data": list(shown), "textStyle": {"color": _GRAY}, "top": 0, "itemWidth": 14, "itemGap": 8},
            "grid": _layout(40, 14, 30, 24),
            "xAxis": {"type": "category", "data": list(range(len(history))), **_AXIS},
            "yAxis": {"type": "value", "min": 0, "max": 100, **_AXIS},
            "series": series,
        }

    def _draw_conflicts(self) -> Options:
        snapshot = self.page.project.snapshot
        conflicts, names = snapshot.pair_conflicts, snapshot.lf_names
        most = np.sort(np.argsort(-conflicts.sum(0), kind="stable")[:_MOST_LFS])
        self.conflict_lfs = [names[j] for j in most]
        cells = [[x, y, int(conflicts[a, b])] for x, a in enumerate(most) for y, b in enumerate(most) if a != b]
        axis = {"type": "category", "data": self.conflict_lfs}
        colors = {"color": ["rgba(217,130,43,0.04)", "#d9822b"]}
        return {
            "grid": _layout(100, 10, 8, 60),
            "xAxis": {**axis, "axisLabel": {"color": _GRAY, "rotate": 40}},
            "yAxis": {**axis, "axisLabel": {"color": _GRAY}, "inverse": True},
            "visualMap": {"show": False, "min": 0, "max": int(conflicts.max(initial=1)), "inRange": colors},
            "series": [{"type": "heatmap", "data": cells}],
        }

    def _open(self, event: events.EChartPointClickEventArguments) -> None:
        if isinstance(event.data, list):
            one, other = self.conflict_lfs[event.data[0]], self.conflict_lfs[event.data[1]]
            self.page.start(self.page.rows.show(Filter(lf=one, against=other)))
