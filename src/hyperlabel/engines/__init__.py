"""Engines: labeling where the data is. Count patterns, judge the patterns, join the labels back.

Polars, DuckDB, Spark and Dask behind one function. Rows stay with the engine; this process sees the patterns or,
if there are too many, sums over rows. How it works and what it costs: docs/scale.md.
"""

from hyperlabel.engines._api import ENGINES, check_result, fit, label, start
from hyperlabel.engines._chunks import fit_chunks
from hyperlabel.engines._reading import MOST_PATTERNS
from hyperlabel.engines._run import LabelingRun, MemoryRun

__all__ = [
    "ENGINES",
    "MOST_PATTERNS",
    "LabelingRun",
    "MemoryRun",
    "check_result",
    "fit",
    "fit_chunks",
    "label",
    "start",
]
