"""Tables: one reader and one writer for Python, the command line and the engines.

`Table.open` takes anything that holds rows and gives a Polars frame that is read when needed; `read_table` reads now;
`write_table` writes by the ending of a name, whole or not at all.
"""

from hyperlabel.tables.failures import interruptible, reading, reason_of
from hyperlabel.tables.formats import ENDINGS, Format
from hyperlabel.tables.table import Table, read_table
from hyperlabel.tables.write import (
    check_folder_target,
    check_target,
    sink_table,
    write_stdout,
    write_table,
    write_text,
    write_whole,
)

__all__ = [
    "ENDINGS",
    "Format",
    "Table",
    "check_folder_target",
    "check_target",
    "interruptible",
    "read_table",
    "reading",
    "reason_of",
    "sink_table",
    "write_stdout",
    "write_table",
    "write_text",
    "write_whole",
]
