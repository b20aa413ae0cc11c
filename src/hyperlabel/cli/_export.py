"""`hyperlabel export`: a fitted model for other systems, as SQL or as a table of patterns."""

from typing import Annotated

import typer

from hyperlabel.cli._options import Option
from hyperlabel.errors import ParameterError

DIALECTS = ("duckdb", "spark", "postgres", "bigquery", "databricks", "snowflake", "redshift", "trino")

STATE_HELP = "A model that `hyperlabel fit` wrote."
SQL_HELP = f"Print one SELECT: {', '.join(DIALECTS)}."
FROM_HELP = "The table that the SELECT reads; it has a column for each LF."
TABLE_HELP = "Write the patterns of votes with their labels to this file, in any table format."
SHARES_HELP = "Add a column p_<class> for each class."
PATTERNS_HELP = "A table of votes whose patterns to write; else all possible patterns, up to a million."


def export(
    state: Annotated[str, typer.Argument(metavar="STATE", help=STATE_HELP, show_default=False)],
    sql: Annotated[str | None, Option(metavar="DIALECT", help=SQL_HELP)] = None,
    source: Annotated[str | None, Option("--from", metavar="NAME", help=FROM_HELP)] = None,
    table: Annotated[str | None, Option("--table", metavar="FILE", help=TABLE_HELP)] = None,
    patterns: Annotated[str | None, Option("--patterns", metavar="FILE", help=PATTERNS_HELP)] = None,
    probabilities: Annotated[bool, Option("--probabilities", help=SHARES_HELP)] = False,
) -> None:
    """Export a fitted model to SQL, or as a table.

    The SELECT keeps the columns of the table and adds 'label' and 'confidence', equal to those of `label --model`. If
    the table has a column of such a name, it stops as ambiguous: rename that column first.

    Example: hyperlabel export state.safetensors --sql duckdb --from votes
    """
    if (sql is None) == (table is None):
        raise ParameterError("expected either --sql with --from, or --table")
    if sql is None and source is not None:
        raise ParameterError("--from goes with --sql; leave it out")
    if sql is None:
        _write_patterns(state, str(table), patterns, probabilities)
    elif source is None or patterns is not None:
        problem = "--from, the name of the table, is missing" if source is None else "--patterns goes with --table"
        raise ParameterError(f"--sql is '{sql}', but {problem}")
    else:
        _print_query(state, sql, source, probabilities)


def _print_query(state: str, dialect: str, source: str, probabilities: bool) -> None:
    import sys

    from hyperlabel._core import printable, printable_lines, write_all
    from hyperlabel.cli._terminal import say
    from hyperlabel.export import PATTERN_TABLE, to_sql
    from hyperlabel.models import load

    query = to_sql(load(state), dialect, source, probabilities=probabilities)
    if f"AS {PATTERN_TABLE.removesuffix('s')}" in query:
        command = f"hyperlabel export {printable(state)} --table {PATTERN_TABLE}.parquet --patterns VOTES"
        say(f"the model is too large for one query, so it joins the table {PATTERN_TABLE}; write it with: {command}")
    sys.stdout.flush()
    out = sys.stdout.buffer
    show = printable_lines if out.isatty() else str  # control characters in names would change the terminal
    write_all(out, f"{show(query)};\n".encode())


def _write_patterns(state: str, out: str, patterns: str | None, probabilities: bool) -> None:
    import polars as pl

    from hyperlabel._core import printable
    from hyperlabel.cli._inputs import Selection, open_votes
    from hyperlabel.cli._terminal import say, say_warnings
    from hyperlabel.data import check_target, write_table
    from hyperlabel.export import pattern_table
    from hyperlabel.models import load, provenance

    check_target(out, "--out")
    model = load(state)
    with say_warnings():
        votes = None if patterns is None else open_votes(patterns, Selection().of_model(model), {})[0].votes
        frame = pl.DataFrame(pattern_table(model, votes, probabilities=probabilities))
        write_table(frame, out, metadata=provenance(model), argument="--table")
    if out != "-":
        say(f"wrote {printable(out)}: {len(frame):,} patterns")
