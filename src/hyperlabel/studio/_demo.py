"""The data of `hyperlabel studio --demo`: sentences from the documentation of packages that the studio itself needs."""

from pathlib import Path

from hyperlabel.data import write_table
from hyperlabel.errors import require
from hyperlabel.examples import sentence_table

MODULES = {
    "numpy": ("numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.ma", "numpy.strings", "numpy.polynomial"),
    "polars": ("polars",),
    "nicegui": ("nicegui.ui", "nicegui.app", "nicegui.elements.mixins.value_element"),
}


def write_demo(path: Path) -> int:
    """Write a table of id, text and truth, the package that a sentence is from; return the number of rows."""
    for package in MODULES:
        require(package, extra="studio")
    frame = sentence_table(MODULES)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(frame, path)
    return len(frame)
