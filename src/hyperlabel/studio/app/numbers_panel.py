"""The numbers: class balance, confidence, their history over the session, and which LFs conflict."""

from typing import Any

import numpy as np
from nicegui import events, ui

from hyperlabel.studio.app.frame import Frame
from hyperlabel.studio.app.shown import color_of
from hyperlabel.studio.find import Filter

_SHOWN = 30  # the most LFs in the conflict matrix
_BINS = 10
_GRAY, _BLUE = "#8b8f98", "#5a7fb5"
_AXIS = {"axisLabel": {"color": _GRAY}, "splitLine": {"lineStyle": {"color": "rgba(139,143,152,0.2)"}}}
_PLAIN = {"tooltip": {"renderMode": "richText", "trigger": "item"}, "animation": False}


class NumbersPanel:
    """Four charts."""

    def __init__(self, page: Frame) -> None:
        self.page = page
        with ui.element("div").classes("charts"):
            self.balance = self._chart("Classes among the labels, in percent")
            self.confidence = self._chart("Confidence of the labels, in items")
            self.history = self._chart("Over this session, in percent")
            self.conflicts = self._chart("Conflicts: a click shows the rows", self._clicked)

    def _chart(self, title: str, on_click: Any = None) -> ui.echart:
        with ui.column().classes("chart"):
            ui.label(title).classes("soft")
            return ui.echart({}, on_point_click=on_click).classes("plot")

    def draw(self) -> None:
        """Show the current numbers."""
        for chart, options in (
            (self.balance, self._draw_balance()),
            (self.confidence, self._draw_confidence()),
            (self.history, self._draw_history()),
            (self.conflicts, self._draw_conflicts()),
        ):
            chart.options.clear()
            chart.options.update({**_PLAIN, **options})
            chart.update()

    def _draw_balance(self) -> dict[str, Any]:
        classes, shares = self.page.project.classes, self.page.hub.view.moment.balance
        bars = [{"value": round(100 * s, 1), "itemStyle": {"color": color_of(i)}} for i, s in enumerate(shares)]
        return {
            "grid": {"left": 90, "right": 40, "top": 8, "bottom": 24},
            "xAxis": {"type": "value", "max": 100, **_AXIS},
            "yAxis": {"type": "category", "data": [str(c)[:14] for c in classes], "inverse": True, **_AXIS},
            "series": [{"type": "bar", "data": bars, "label": {"show": True, "position": "right", "color": _GRAY}}],
        }

    def _draw_confidence(self) -> dict[str, Any]:
        snapshot = self.page.project.snapshot
        labeled = (snapshot.best >= 0) & (snapshot.gold < 0)
        counts, edges = np.histogram(snapshot.confidence[labeled], _BINS, (0, 1))
        return {
            "grid": {"left": 50, "right": 10, "top": 8, "bottom": 24},
            "xAxis": {"type": "category", "data": [f"{edge:.1f}" for edge in edges[:-1]], **_AXIS},
            "yAxis": {"type": "value", **_AXIS},
            "series": [{"type": "bar", "data": counts.tolist(), "itemStyle": {"color": _BLUE}, "barCategoryGap": "8%"}],
        }

    def _draw_history(self) -> dict[str, Any]:
        history = self.page.hub.view.history
        lines: dict[str, list[float | None]] = {
            "labeled": [100 * m.coverage for m in history],
            "right on gold": [100 * m.gold.value if m.gold.whole else None for m in history],
            "right by the truth": [100 * m.truth.value if m.truth.whole else None for m in history],
        }
        shown = {name: values for name, values in lines.items() if any(v is not None for v in values)}
        series = [
            {
                "name": name,
                "type": "line",
                "showSymbol": len(history) == 1,
                "color": color_of(number),
                "data": [None if v is None else round(v, 1) for v in values],
            }
            for number, (name, values) in enumerate(shown.items())
        ]
        return {
            "tooltip": {"renderMode": "richText", "trigger": "axis"},
            "legend": {"data": list(shown), "textStyle": {"color": _GRAY}, "top": 0},
            "grid": {"left": 40, "right": 14, "top": 30, "bottom": 24},
            "xAxis": {"type": "category", "data": list(range(len(history))), **_AXIS},
            "yAxis": {"type": "value", "min": 0, "max": 100, **_AXIS},
            "series": series,
        }

    def _draw_conflicts(self) -> dict[str, Any]:
        conflicts = self.page.hub.view.conflicts
        names = list(self.page.project.snapshot.lf_names)
        most = np.sort(np.argsort(-conflicts.sum(0), kind="stable")[:_SHOWN])
        self.shown = [names[j] for j in most]
        cells = [[x, y, int(conflicts[a, b])] for x, a in enumerate(most) for y, b in enumerate(most) if a != b]
        return {
            "grid": {"left": 100, "right": 10, "top": 8, "bottom": 60},
            "xAxis": {"type": "category", "data": self.shown, "axisLabel": {"color": _GRAY, "rotate": 40}},
            "yAxis": {"type": "category", "data": self.shown, "axisLabel": {"color": _GRAY}, "inverse": True},
            "visualMap": {
                "show": False,
                "min": 0,
                "max": int(conflicts.max(initial=1)),
                "inRange": {"color": ["rgba(217,130,43,0.04)", "#d9822b"]},
            },
            "series": [{"type": "heatmap", "data": cells}],
        }

    def _clicked(self, event: events.EChartPointClickEventArguments) -> None:
        if isinstance(event.data, list):
            one, other = self.shown[event.data[0]], self.shown[event.data[1]]
            self.page.act(self.page.rows.show(Filter(lf=one, against=other)))
