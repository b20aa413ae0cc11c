"""What differs between the databases that labels are computed in."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from hyperlabel.checks import check_choice, check_text
from hyperlabel.errors import ParameterError


@dataclass(frozen=True)
class Dialect:
    """One kind of SQL."""

    name: str
    quote: str  # the quote around names
    backslash: bool  # whether a backslash in a string starts an escape; then names and strings are escaped with it
    text: str  # the type of strings
    cast: str  # what follows a number to make it a 64-bit float
    row: str  # the whole row of a table as one value, from the table's alias
    columns: str  # the columns of such a value
    fail: Callable[[str], str]  # stops the query with a message
    fence: str = ""  # what ends a nested query that is not to be merged with the one around it

    def name_of(self, column: str) -> str:
        """A name, quoted.

        >>> DIALECTS["duckdb"].name_of('the "best" LF')
        '"the ""best"" LF"'
        """
        if self.name == "bigquery":
            escaped = column.replace("\\", "\\\\").replace("`", "\\`")
        else:
            escaped = column.replace(self.quote, self.quote * 2)
        return f"{self.quote}{escaped}{self.quote}"

    def table_name(self, table: str) -> str:
        """The name of a table, its parts separated by dots; quoted, as it may be a word of SQL.

        Plain words with capitals are not: to PostgreSQL, Votes is the table votes, and "Votes" is not.

        >>> DIALECTS["postgres"].table_name("public.my votes")
        '"public"."my votes"'
        """
        if not check_text(table, "table", "the name of a table").strip():
            raise ParameterError("the table has no name; expected the name of a table, such as votes")
        if table != table.lower() and re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", table):
            return table
        return ".".join(map(self.name_of, table.split(".")))

    def number(self, value: float) -> str:
        """A floating-point number in full; with an exponent, since without one it would be a decimal.

        >>> DIALECTS["duckdb"].number(0.25), DIALECTS["postgres"].number(-1e-9)
        ('0.25e0', '-1e-09::FLOAT8')
        """
        digits = repr(float(value))
        return (digits if "e" in digits else f"{digits}e0") + self.cast

    def literal(self, value: object) -> str:
        r"""A class as a constant.

        >>> print(DIALECTS["duckdb"].literal("it's"), DIALECTS["spark"].literal("it's"))
        'it''s' 'it\'s'
        """
        if isinstance(value, bool):
            return str(value).upper()
        if isinstance(value, int):
            return str(value)
        text = str(value)
        if "\0" in text:
            raise ParameterError(f"the class {value!r} has a null character, which no database can hold; rename it")
        if self.backslash:
            escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
        else:
            escaped = text.replace("'", "''")
        return f"'{escaped}'"


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("duckdb", '"', False, "VARCHAR", "", "{}", "{}.*", "error({})".format),
        Dialect("spark", "`", True, "STRING", "", "struct({}.*)", "{}.*", "raise_error({})".format),
        # PostgreSQL has no function that fails; casting a string that is not a number does, and shows the string. It
        # writes the columns of nested queries out wherever they are used, which takes gigabytes for a few classes.
        Dialect("postgres", '"', False, "TEXT", "::FLOAT8", "{}", "({}).*", "CAST({} AS INTEGER)".format, "\nOFFSET 0"),
        Dialect("bigquery", "`", True, "STRING", "", "{}", "{}.*", "ERROR({})".format),
    )
}
"""The dialects by name."""


def find_dialect(name: str) -> Dialect:
    """A dialect by its name.

    >>> find_dialect("spark").quote
    '`'
    """
    check_choice(name, "dialect", list(DIALECTS))
    return DIALECTS[name]
