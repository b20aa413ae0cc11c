"""Fitted models for other systems: as one SELECT, or as a table of patterns with their labels."""

from hyperlabel.export.dialects import DIALECTS
from hyperlabel.export.patterns import MOST_PATTERNS, pattern_table
from hyperlabel.export.sql import MOST_GOLD, MOST_NUMBERS, to_sql

__all__ = ["DIALECTS", "MOST_GOLD", "MOST_NUMBERS", "MOST_PATTERNS", "pattern_table", "to_sql"]
