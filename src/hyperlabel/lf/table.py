"""A table of results that needs no data frame library and converts to a frame on request."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import require
from hyperlabel.shown import html_table


@dataclass(frozen=True, eq=False, repr=False)
class ResultTable:
    """Columns of equal length, by name.

    >>> table = ResultTable({"lf": np.array(["a", "b"]), "coverage": np.array([0.5, 0.25])})
    >>> table["coverage"].tolist(), len(table)
    ([0.5, 0.25], 2)
    >>> print(table)
    lf  coverage
    a      0.500
    b      0.250
    """

    columns: dict[str, NDArray[Any]]  # the columns: strings, whole numbers or floats; NaN where there is no value

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows, as mappings from column to value.

        >>> list(ResultTable({"lf": np.array(["a"]), "votes": np.array([3])}).rows())
        [{'lf': 'a', 'votes': 3}]
        """
        values = [column.tolist() for column in self.columns.values()]
        return (dict(zip(self.columns, row, strict=True)) for row in zip(*values, strict=True))

    def to_pandas(self) -> Any:
        """A pandas frame.

        >>> ResultTable({"lf": np.array(["a"]), "votes": np.array([3])}).to_pandas().shape
        (1, 2)
        """
        require("pandas", extra="pandas")
        import pandas as pd

        return pd.DataFrame(self.columns)

    def to_polars(self) -> Any:
        """A Polars frame.

        >>> ResultTable({"lf": np.array(["a"]), "votes": np.array([3])}).to_polars().columns
        ['lf', 'votes']
        """
        require("polars", extra="cli")
        import polars as pl

        return pl.DataFrame(self.columns)

    def __str__(self) -> str:
        cells = [[name, *map(_show, column)] for name, column in self.columns.items()]
        widths = [max(map(len, column)) for column in cells]
        texts = [column.dtype.kind in "UO" for column in self.columns.values()]
        lines = []
        for row in zip(*cells, strict=True):
            padded = [f"{c:{w}}" if t else f"{c:>{w}}" for c, w, t in zip(row, widths, texts, strict=True)]
            lines.append("  ".join(padded).rstrip())
        return "\n".join(lines)

    __repr__ = __str__

    def to_html(self, caption: str = "") -> str:
        """The table as HTML, in which every value is escaped.

        >>> ResultTable({"lf": np.array(["a"])}).to_html()
        '<table><tr><th>lf</th></tr><tr><td>a</td></tr></table>'
        """
        columns = (map(_show, column) for column in self.columns.values())
        return html_table(list(self.columns), zip(*columns, strict=True), caption)

    def _repr_html_(self) -> str:
        """The table as notebooks show it."""
        return self.to_html()


def _show(value: Any) -> str:
    if not isinstance(value, float | np.floating):
        return str(value)
    return "" if np.isnan(value) else f"{value:.3f}"
