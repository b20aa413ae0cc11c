"""A fitted model as one SELECT, in nested steps: votes, sums over votes, probabilities, label."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hyperlabel._core import Float64, check_choice, printable
from hyperlabel.data import ABSTAINS, TIE
from hyperlabel.errors import ParameterError
from hyperlabel.export._formula import REMEDY, Formula, GoldRows, find_formula
from hyperlabel.models import LabelModel

_ABSTAINS = ("", "-1.0", *dict.fromkeys(map(str, ABSTAINS)))  # strings that abstain, besides NULL; blanks are ignored

MOST_GOLD = 1000
"""At most this many vote rows with gold fit in a query."""

MOST_NUMBERS = 100_000
"""At most this many numbers fit in a query; databases refuse longer ones."""

_ROW, _ITEM = "hyperlabel_row", "hyperlabel_item"  # unlikely names for columns of a table
_REMEDY = "rename_the_column_of_the_table"  # databases show this name if the table has a column of a new name
_LOWEST = -700.0  # its exponential is practically 0; PostgreSQL fails if one underflows


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
        """Quote a name.

        >>> DIALECTS["duckdb"].name_of('the "best" LF')
        '"the ""best"" LF"'
        """
        if self.name == "bigquery":
            escaped = column.replace("\\", "\\\\").replace("`", "\\`")
        else:
            escaped = column.replace(self.quote, self.quote * 2)
        return f"{self.quote}{escaped}{self.quote}"

    def table_name(self, table: str) -> str:
        """Quote the name of a table, its parts separated by dots, as it may be a word of SQL.

        Plain words with capitals are not quoted: to PostgreSQL, Votes is the table votes, and "Votes" is not.

        >>> DIALECTS["postgres"].table_name("public.my votes")
        '"public"."my votes"'
        """
        if not table.strip():
            raise ParameterError("the table has no name; expected the name of a table, such as votes")
        if table != table.lower() and re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", table):
            return table
        return ".".join(map(self.name_of, table.split(".")))

    def number(self, value: float) -> str:
        """Write a floating-point number in full; with an exponent, since without one it would be a decimal.

        >>> DIALECTS["duckdb"].number(0.25), DIALECTS["postgres"].number(-1e-9)
        ('0.25e0', '-1e-09::FLOAT8')
        """
        digits = repr(float(value))
        return (digits if "e" in digits else f"{digits}e0") + self.cast

    def literal(self, value: object) -> str:
        r"""Write a class as a constant.

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


def to_sql(model: LabelModel, dialect: str, table: str, *, lfs: Sequence[str] | None = None) -> str:
    """Return one SELECT that keeps the columns of a table and adds `label` and `confidence`, equal to the model's.

    Votes may be strings, numbers or booleans, whatever the type of the columns. NULL, NaN, blank and the usual null
    strings and -1 abstain; an item without votes has no label. A vote for anything that is not a class stops the query.
    So does a table that already has a column `label` or `confidence`: it would be ambiguous. Rename it there first.

    Args:
        model: A fitted model that judges by sums over votes: `hlm3`, `mv`, `bv`, `ds` or `hds`.
        dialect: `duckdb`, `spark`, `postgres` or `bigquery`.
        table: The name of the table, its parts separated by dots.
        lfs: The columns of the LFs; their names in `fit` if not given.

    Raises:
        ParameterError: The model cannot be expressed in SQL.

    >>> from hyperlabel import label_model
    >>> query = to_sql(label_model("mv").fit([[0, 1], [1, 1]]), "duckdb", "votes")
    >>> query.splitlines()[0]
    'SELECT hyperlabel_item.*, final_label AS label, final_confidence AS confidence'
    """
    check_choice(dialect, "dialect", list(DIALECTS))
    own, formula = DIALECTS[dialect], find_formula(model)
    if model.tie_break == "random":
        raise ParameterError(f"tie_break is 'random', but SQL cannot do that; fit with 'first' or 'abstain'. {REMEDY}")
    gold = 0 if formula.gold is None else formula.gold.patterns.n_patterns
    if gold > MOST_GOLD:
        raise ParameterError(f"the model has gold for {gold} different vote rows; SQL allows {MOST_GOLD}. {REMEDY}")
    numbers, m = formula.sums.table.size, formula.context.n_lfs
    if numbers > MOST_NUMBERS:
        raise ParameterError(f"the query would hold {numbers} numbers; databases take about {MOST_NUMBERS}. {REMEDY}")
    names = list(formula.context.lf_names or [f"lf{j}" for j in range(m)]) if lfs is None else list(lfs)
    if len(names) != m:
        raise ParameterError(f"lfs names {len(names)} columns; the model learned from {m} LFs")
    return _Query(own, formula, names, own.table_name(table), model.tie_break).text()


@dataclass(frozen=True)
class _Query:
    """The steps of a query. Each selects from the one before and adds columns, so that every sum is computed once."""

    dialect: Dialect
    formula: Formula
    columns: list[str]
    table: str
    tie_break: str

    def text(self) -> str:
        """The whole query."""
        row = self.dialect.row.format(_ROW)
        names, text = map(self.dialect.name_of, self.columns), self.dialect.text
        texts = ",\n  ".join(f"CAST({_ROW}.{name} AS {text}) AS x{j}" for j, name in enumerate(names))
        # If the table has a column with the name of a new one, this query fails instead of returning the old column.
        new = "label AS new_label, confidence AS new_confidence"
        query = f"SELECT {row} AS {_ITEM}, {new}, {texts}\nFROM {self.table} AS {_ROW}\n"
        query += f"CROSS JOIN (SELECT 0 AS label, 0 AS confidence) AS {_REMEDY}"
        for number, columns in enumerate(self._steps()):
            shown = ",\n  ".join(f"{expression} AS {name}" for name, expression in columns.items())
            query = f"SELECT *, {shown}\nFROM (\n{query}{self.dialect.fence}\n) AS s{number}"
        items = self.dialect.columns.format(_ITEM)
        return f"SELECT {items}, final_label AS label, final_confidence AS confidence\nFROM (\n{query}\n) AS labeled"

    def _steps(self) -> Iterable[dict[str, str]]:
        """The columns that each step adds, by name."""
        yield {f"v{j}": self._vote(j) for j in range(len(self.columns))}
        yield self._count()
        gold, learned = self.formula.gold, self._learned
        if self.formula.sums.shares:
            yield {f"e{i}": f"s{i}" for i in learned}
        else:
            yield from self._softmax()
        if gold is not None and gold.inner:
            yield {f"f{i}": self._share(i) for i in learned}
            yield from self._mix(gold, learned, "f", "h")
        yield {f"p{c}": self._expand(c) for c in self._classes}
        if gold is not None and not gold.inner:
            yield from self._mix(gold, self._classes, "p", "q")
        final = "p" if gold is None or gold.inner else "q"
        chances = [f"{final}{c}" for c in self._classes]
        yield {"best": _greatest(chances)}
        yield {"label_number": self._label_number(chances)}
        names = enumerate(map(self.dialect.literal, self.formula.context.classes))
        label = f"CASE label_number {' '.join(f'WHEN {c} THEN {name}' for c, name in names)} END"
        without = f"CASE WHEN votes = 0 THEN {self._number(1 / len(chances))} ELSE best END"
        whens = " ".join(f"WHEN {c} THEN {chance}" for c, chance in enumerate(chances))
        yield {"final_label": label, "final_confidence": f"CASE label_number {whens} ELSE {without} END"}

    def _mix(self, gold: GoldRows, classes: range, old: str, new: str) -> Iterable[dict[str, str]]:
        """Probabilities of classes, by the names of their columns, with gold."""
        yield {f"gold{c}": self._gold(gold, c) for c in classes}
        total, weight = " + ".join(f"gold{c}" for c in classes), self._number(gold.weight)
        yield {f"{new}{c}": f"({weight} * {old}{c} + gold{c}) / ({weight} + {total})" for c in classes}

    @property
    def _classes(self) -> range:
        return range(len(self.formula.context.classes))

    @property
    def _learned(self) -> range:
        return range(len(self.formula.context.active))

    @property
    def _unseen(self) -> list[int]:
        """Classes that the model did not learn about."""
        return [c for c in self._classes if c not in self.formula.context.active]

    @property
    def _known_votes(self) -> str:
        """Number of votes for classes that the model learned about."""
        return " - ".join(["votes", *(f"n{c}" for c in self._unseen)])

    def _number(self, value: float) -> str:
        return self.dialect.number(value)

    def _vote(self, j: int) -> str:
        """The class number of a vote, -1 for none."""
        whens = []
        for c, value in enumerate(self.formula.context.classes):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            floats = [f"{value}.0"] if isinstance(value, int) and not isinstance(value, bool) else []
            whens += [f"WHEN {self.dialect.literal(each)} THEN {c}" for each in (text, *floats)]
        abstains = ", ".join(map(self.dialect.literal, _ABSTAINS))
        prefix = self.dialect.literal(f"LF {printable(self.columns[j])} votes ")
        fails = self.dialect.fail(f"{prefix} || x{j} || {self.dialect.literal(', which is not a class of the model')}")
        other = f"CASE WHEN coalesce(trim(x{j}), '') IN ({abstains}) THEN -1 ELSE {fails} END"
        return f"CASE x{j} {' '.join(whens)} ELSE {other} END"

    def _count(self) -> dict[str, str]:
        """Votes, votes for the classes whose shares count, sums over votes; the votes as a string for gold."""
        m, sums = range(len(self.columns)), self.formula.sums
        counted = {"votes": " + ".join(f"CASE WHEN v{j} >= 0 THEN 1 ELSE 0 END" for j in m)}
        for c in self._classes if sums.vote_weight else self._unseen:
            counted[f"n{c}"] = " + ".join(f"CASE WHEN v{j} = {c} THEN 1 ELSE 0 END" for j in m)
        table = sums.table if sums.shares else sums.table - sums.table[:, :, :1]  # the softmax does not change
        for i in self._learned:
            counted[f"s{i}"] = self._summed(table[:, :, i])
        if self.formula.gold is not None:
            unseen, votes = ", ".join(map(str, self._unseen)), [f"v{j}" for j in m]
            if self.formula.gold.inner and unseen:  # gold does not see classes that were not learned
                votes = [f"CASE WHEN {vote} IN ({unseen}) THEN -1 ELSE {vote} END" for vote in votes]
            counted["vote_key"] = " || ',' || ".join(f"CAST({vote} AS {self.dialect.text})" for vote in votes)
        return counted

    def _summed(self, table: Float64) -> str:
        """The sum over votes of what each adds to a class. (m, c) -> an expression."""
        terms = []
        for j, added in enumerate(table):
            whens = [
                f"WHEN {c} THEN {self._number(value)}"
                for c, value in zip(self.formula.context.active.tolist(), added.tolist(), strict=True)
                if value
            ]
            if whens:
                terms.append(f"CASE v{j} {' '.join(whens)} ELSE {self._number(0)} END")
        return " + ".join(terms) if terms else self._number(0)

    def _softmax(self) -> Iterable[dict[str, str]]:
        sums, learned, known = self.formula.sums, self._learned, self._known_votes
        factor = self._number(sums.scale)
        if sums.power:
            size = f"CASE WHEN {known} > 1 THEN {known} ELSE 1 END * {self._number(1)}"
            factor = f"{factor} * power({size}, {self._number(sums.power)})"
        yield {"factor": factor}
        bias = sums.bias - sums.bias[0]
        yield {f"l{i}": f"{self._number(bias[i])} + factor * s{i}" for i in learned}
        yield {"highest": _greatest([f"l{i}" for i in learned])}
        lowest = self._number(_LOWEST)
        yield {f"e{i}": f"exp({_greatest([f'l{i} - highest', lowest])})" for i in learned}

    def _expand(self, c: int) -> str:
        """The probability of a class; learned classes share what other votes leave."""
        active = self.formula.context.active.tolist()
        if c not in active:
            return f"n{c} * {self._number(1)} / nullif(votes, 0)"
        i, gold = active.index(c), self.formula.gold
        share = f"h{i}" if gold is not None and gold.inner else self._share(i)
        if not self._unseen:
            return share
        lost = " + ".join(f"n{other}" for other in self._unseen)
        return f"{share} * ({self._number(1)} - ({lost}) * {self._number(1)} / nullif(votes, 0))"

    def _share(self, i: int) -> str:
        """The share of a learned class among the learned classes."""
        total = " + ".join(f"e{other}" for other in self._learned)
        share, weight = f"e{i} / nullif({total}, {self._number(0)})", self.formula.sums.vote_weight
        if weight:
            cast = f"n{self.formula.context.active[i]} * {self._number(1)} / nullif({self._known_votes}, 0)"
            share = f"{self._number(1 - weight)} * {share} + {self._number(weight)} * {cast}"
        return f"coalesce({share}, {self._number(0)})"

    def _gold(self, gold: GoldRows, c: int) -> str:
        """The gold items of a row that count for a class."""
        rows = gold.patterns.to_array()
        if gold.inner:  # their votes are numbered among the classes that were learned about
            rows = np.append(self.formula.context.active, -1)[rows]
        whens = [
            f"WHEN '{','.join(map(str, row))}' THEN {self._number(added)}"
            for row, added in zip(rows.tolist(), gold.added[:, c].tolist(), strict=True)
            if added
        ]
        return f"CASE vote_key {' '.join(whens)} ELSE {self._number(0)} END" if whens else self._number(0)

    def _label_number(self, chances: Sequence[str]) -> str:
        """The number of the label, -1 for none; ties go to the first class, or to none."""
        near = [f"{chance} >= best - {self._number(TIE)}" for chance in chances]
        whens = [f"WHEN {test} THEN {c}" for c, test in enumerate(near)]
        nothing = "votes = 0"
        if self.tie_break == "abstain":
            tied = " + ".join(f"CASE WHEN {test} THEN 1 ELSE 0 END" for test in near)
            nothing = f"votes = 0 OR {tied} > 1"
        return f"CASE WHEN {nothing} THEN -1 {' '.join(whens)} END"


def _greatest(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else f"greatest({', '.join(terms)})"
