"""Fitted models for other systems: as one SELECT, or as a table of patterns with their labels."""

from hyperlabel.export._patterns import MOST_PATTERNS, pattern_table
from hyperlabel.export._sql import DIALECTS, MOST_GOLD, MOST_NUMBERS, MOST_TERMS, PATTERN_TABLE, to_sql

__all__ = [
    "DIALECTS",
    "MOST_GOLD",
    "MOST_NUMBERS",
    "MOST_PATTERNS",
    "MOST_TERMS",
    "PATTERN_TABLE",
    "pattern_table",
    "to_sql",
]
