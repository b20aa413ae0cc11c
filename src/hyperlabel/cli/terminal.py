"""What people see: results on standard output, everything about them on standard error."""

import polars as pl
from rich.console import Console
from rich.table import Table

console = Console(stderr=True, highlight=False, markup=False, emoji=False)
"""What is said about results. Without markup: class names and paths are shown as they are."""

output = Console(highlight=False, markup=False, emoji=False)
"""Results themselves."""


def say(message: str) -> None:
    """One line, never wrapped."""
    console.print(message, soft_wrap=True)


def print_label_counts(labels: pl.Series) -> None:
    """A table of how many items got each label."""
    table = Table("label", "items", "share")
    table.columns[1].justify = table.columns[2].justify = "right"
    counts = labels.alias("label").value_counts(sort=True, name="items")
    for label, items in counts.iter_rows():
        name = "(no label)" if label is None else str(label)
        table.add_row(name, f"{items:,}", f"{items / len(labels):.1%}")
    console.print(table)
