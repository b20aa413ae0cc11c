"""The report: one self-contained HTML page about LFs and the labels they make. NumPy only; no script, no network."""

from hyperlabel.report.page import Items, render

__all__ = ["Items", "render"]
