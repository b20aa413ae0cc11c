"""The report: one self-contained HTML page about LFs and the labels they make. NumPy only; no network."""

from hyperlabel.reports._items import ShownItems
from hyperlabel.reports._report import Report, render, report

__all__ = [
    "Report",
    "ShownItems",
    "render",
    "report",
]
