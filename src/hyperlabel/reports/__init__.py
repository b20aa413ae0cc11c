"""The report: one self-contained HTML page about LFs and the labels they make. NumPy only; no network.

The parts of a page are here for other parts, too, which write pages of their own.
"""

from hyperlabel.reports._html import (
    Html,
    Line,
    PairCell,
    class_tag,
    cut,
    line_chart,
    named,
    note,
    number,
    pair_map,
    section,
    table,
    tag,
)
from hyperlabel.reports._items import ShownItems
from hyperlabel.reports._report import Report, render, report, show_facts, write_page

__all__ = [
    "Html",
    "Line",
    "PairCell",
    "Report",
    "ShownItems",
    "class_tag",
    "cut",
    "line_chart",
    "named",
    "note",
    "number",
    "pair_map",
    "render",
    "report",
    "section",
    "show_facts",
    "table",
    "tag",
    "write_page",
]
