"""The report: one self-contained HTML page about LFs and the labels they make. NumPy only; no network."""

from hyperlabel.reports.items import ShownItems
from hyperlabel.reports.page import Beside, render
from hyperlabel.reports.report import Report, report

__all__ = ["Beside", "Report", "ShownItems", "render", "report"]
