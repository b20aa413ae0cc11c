"""The project as a whole: its state and actions in the top bar, its numbers as charts, and what to do next."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from nicegui import events, ui

from hyperlabel.studio._app._classes import edit_classes
from hyperlabel.studio._app._format import color_of, interval, percent
from hyperlabel.studio._app._page import Page
from hyperlabel.studio._find import Filter
from hyperlabel.trust import Advice

KEYS = {
    "1 to 9": "label the item (again: remove the label); with words selected: class of the rule",
    "t": "type the name of a class, if there are more than nine",
    "n, space": "next item",
    "p": "previous item",
    "left, right": "select a word; with Shift: more words",
    "a to h": "add the candidate rule of that letter",
    "Esc": "clear the selection",
    "u": "undo the last change",
    "/": "search the texts",
    "l, r, w, m": "rules, rows, Python, numbers",
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
_RANDOM_TIP = (
    "Labels that agree with the class you gave, of items picked at random, each from a model that does not know the "
    "item's own class, with the 95% interval. It holds for all items."
)
_BEHIND_TIP = "The labels do not know your last answers yet. You can go on: they will in a moment."
_TRUTH_TIP = "Labels that agree with the truth, of all rows where it is known; rows without a label count as wrong"
_MOST_ADVICE = 3
_BUTTONS = {
    "label": "label them",
    "gold": "label them",
    "uncovered": "show one",
    "unvoted": "show one",
    "balance": "state it",
}
_PICKERS = {"gold": "random", "uncovered": "uncovered", "unvoted": "uncovered"}  # how advice picks the next item

_MOST_LFS = 30  # in the conflict matrix
_MOST_BARS = 14  # classes in the chart of the balance
_BINS = 10
_GRAY, _BLUE = "#8b8f98", "#5a7fb5"
_AXIS: dict[str, Any] = {"axisLabel": {"color": _GRAY}, "splitLine": {"lineStyle": {"color": "rgba(139,143,152,0.2)"}}}
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
            self.undo = ui.button("Undo", color=None, on_click=lambda: page.start(page.undo())).props(
                "flat dense no-caps"
            )
            ui.button("Classes", color=None, on_click=lambda: edit_classes(page)).props("flat dense no-caps")
            with ui.button("Save", color=None).props("flat dense no-caps"), ui.menu():
                ui.menu_item("Everything", lambda: page.start(page.save_all()))
                for name, title in FILES.items():
                    ui.menu_item(title, lambda name=name: page.start(page.save(name)))
            theme = ui.button(icon="dark_mode", color=None, on_click=lambda: page.set_dark(not page.dark.value))
            theme.props('flat dense round aria-label="light or dark"').tooltip("light or dark")
            ui.button("?", color=None, on_click=lambda: self.help.open()).props('flat dense round aria-label="Keys"')

    def _make_help(self) -> ui.dialog:
        with ui.dialog().props('aria-label="Keys"') as dialog, ui.card().classes("help"):
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
            ui.label(f"{stats.n_lfs:,} rule{'' if stats.n_lfs == 1 else 's'}").classes("fact")
            ui.label(f"{stats.n_gold:,} gold").classes("fact")
            ui.label(f"{percent(stats.coverage)} labeled").classes("fact")
            if stats.random.whole:
                ui.label(f"right: {interval(stats.random)}").classes("fact strong").tooltip(_RANDOM_TIP)
            elif stats.gold.whole:
                ui.label(f"accuracy on gold {interval(stats.gold)}").classes("fact strong").tooltip(_GOLD_TIP)
            if stats.truth.whole:
                ui.label(f"truth: {percent(stats.truth.value)}").classes("fact").tooltip(_TRUTH_TIP)
            if self.page.hub.is_behind:
                ui.label("learning ...").classes("fact").tooltip(_BEHIND_TIP)
        self.undo.set_enabled(bool(self.page.project.undo_stack))


class AdvicePanel:
    """The first few lines of advice; they appear a moment after the labels."""

    def __init__(self, page: Page) -> None:
        self.page = page
        with ui.column().classes("advice").props('aria-label="Advice"'):
            ui.html("What to do next", sanitize=False, tag="h2").classes("title")
            self.list = ui.column().classes("advice-list")

    def draw(self) -> None:
        """Show the current advice."""
        self.list.clear()
        with self.list:
            refuted = self.page.project.find_refuted()
            for name, right, wrong in refuted[:_MOST_ADVICE]:
                words = f"\u201c{self.page.describe(name)}\u201d"
                reason = f"Gold contradicts the rule {words}: {wrong} wrong, {right} right."
                self._draw_line(reason, "remove it", partial(self._remove, name))
            for advice in self._list_advice()[: _MOST_ADVICE - len(refuted[:_MOST_ADVICE])]:
                button = _BUTTONS.get(advice.kind, "show")
                self._draw_line(self._describe(advice), button, partial(self._follow, advice))
            if not refuted and not self._list_advice():
                ui.label("Label the item that is shown: it is the one that helps most.").classes("soft")

    def _draw_line(self, reason: str, button: str, follow: Callable[[], None]) -> None:
        with ui.row().classes("vote"):
            ui.label(reason).classes("reason")
            ui.button(button, on_click=follow, color=None).props("dense flat no-caps")

    def _list_advice(self) -> list[Advice]:
        """List what is advised; rows that no rule votes on have labels from their texts."""
        learned = self.page.project.snapshot.text is not None
        return [each for each in self.page.hub.advice if not (learned and each.kind in ("uncovered", "unvoted"))]

    def _remove(self, name: str) -> None:
        self.page.start(self.page.hub.change(lambda: self.page.project.remove(name)))

    def _describe(self, advice: Advice) -> str:
        """Return the reason, with the identifiers of items instead of rows."""
        if advice.kind == "label":
            ids = self.page.project.data.ids
            return f"Label these {advice.number} items next: {', '.join(ids[i] for i in advice.examples[:3])}, ..."
        if advice.kind == "gold":
            return f"Label {advice.number} more items picked at random: they tell how many labels are right."
        return advice.reason

    def _follow(self, advice: Advice) -> None:
        """Start what is advised."""
        page = self.page
        if advice.kind == "label":
            page.start(page.item.show(page.project.data.ids[advice.examples[0]]))
        elif advice.kind in _PICKERS:
            page.item.picker.set_value(_PICKERS[advice.kind])
        elif advice.kind == "balance":
            page.start(page.ask_balance())
        elif advice.examples:
            page.start(page.rows.show(Filter(lf=str(advice.examples[0]))))


def _bar(share: float, color: str) -> Options:
    return {"value": round(100 * share, 1), "itemStyle": {"color": color}}


def _shorten(name: str) -> str:
    """Keep both ends of a long name: many begin alike.

    >>> _shorten("card_payment_not_recognised")
    'card_pay\u2026ecognised'
    """
    return name if len(name) <= 18 else f"{name[:8]}\u2026{name[-9:]}"


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
                (self._make_chart("Rules that disagree: click to show the rows", self._open), self._draw_conflicts),
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
        """The largest classes, all of which can be read, and the others together."""
        classes, shares = self.page.project.classes, np.array(self.page.project.stats.balance)
        order = np.arange(len(classes)) if len(classes) <= _MOST_BARS else np.argsort(-shares, kind="stable")
        shown, rest = order[:_MOST_BARS], order[_MOST_BARS:]
        names = [_shorten(str(classes[i])) for i in shown]
        bars = [_bar(float(shares[i]), color_of(int(i), len(classes))) for i in shown]
        if len(rest):
            names, bars = [*names, f"{len(rest)} others"], [*bars, _bar(float(shares[rest].sum()), _GRAY)]
        return {
            "grid": _layout(130, 40, 8, 24),
            "xAxis": {"type": "value", **_AXIS},
            "yAxis": {
                "type": "category",
                "data": names,
                "inverse": True,
                **_AXIS,
                "axisLabel": {**_AXIS["axisLabel"], "interval": 0},
            },
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
