"""The report: one self-contained HTML page about LFs and the labels they make. NumPy only; no network."""

from hyperlabel.reports._html import (
    Html,
    Line,
    PairCell,
    class_tag,
    cut,
    hue,
    join,
    line_chart,
    named,
    note,
    number,
    pair_map,
    section,
    share,
    show_facts,
    table,
    tag,
)
from hyperlabel.reports._items import ShownItems
from hyperlabel.reports._report import Report, compose_page, render, report

__all__ = [
    "Html",
    "Line",
    "PairCell",
    "Report",
    "ShownItems",
    "class_tag",
    "compose_page",
    "cut",
    "hue",
    "join",
    "line_chart",
    "named",
    "note",
    "number",
    "pair_map",
    "render",
    "report",
    "section",
    "share",
    "show_facts",
    "table",
    "tag",
]
