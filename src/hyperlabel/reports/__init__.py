"""The report: one self-contained HTML page about LFs and the labels they make. NumPy only; no network."""

from hyperlabel.reports._html import Html, hue, join, named, note, number, section, share, show_facts, table, tag
from hyperlabel.reports._items import ShownItems
from hyperlabel.reports._report import Report, compose_page, render, report

__all__ = [
    "Html",
    "Report",
    "ShownItems",
    "compose_page",
    "hue",
    "join",
    "named",
    "note",
    "number",
    "render",
    "report",
    "section",
    "share",
    "show_facts",
    "table",
    "tag",
]
