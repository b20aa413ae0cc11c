"""A fitted model as one SELECT, in nested steps: votes, sums over votes, probabilities, label."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hyperlabel._core import Float64, check_choice, printable
from hyperlabel.data import ABSTAINS, TIE, OutputColumns
from hyperlabel.errors import ParameterError
from hyperlabel.export._formula import REMEDY, Formula, GoldRows, find_formula
from hyperlabel.models import LabelModel

MOST_GOLD = 1000
"""At most this many vote rows with gold fit in a query."""

MOST_NUMBERS = 100_000
"""At most this many numbers fit in a query; databases refuse longer ones."""

MOST_TERMS = 500
"""At most this many LFs and classes fit in a query; databases refuse deeper expressions."""

PATTERN_TABLE = "hyperlabel_patterns"
"""The table of patterns that a query joins if the model does not fit into the query."""

_ROW, _ITEM, _PATTERN = (
    "hyperlabel_row",
    "hyperlabel_item",
    "hyperlabel_pattern",
)  # unlikely names for columns of a table
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
    row: str | None  # the whole row of a table as one value, from the table's alias; None if there is no such value
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
        Dialect("databricks", "`", True, "STRING", "", "struct({}.*)", "{}.*", "raise_error({})".format),
        Dialect("snowflake", '"', True, "VARCHAR", "::FLOAT8", None, "", "CAST({} AS INTEGER)".format),
        Dialect("redshift", '"', True, "VARCHAR", "::FLOAT8", None, "", "CAST({} AS INTEGER)".format),
        Dialect("trino", '"', False, "VARCHAR", "", None, "", "CAST(fail({}) AS INTEGER)".format),
    )
}
"""The dialects by name."""


def to_sql(
    model: LabelModel, dialect: str, table: str, *, lfs: Sequence[str] | None = None, probabilities: bool = False
) -> str:
    """Return one SELECT that keeps the columns of a table and adds `label` and `confidence`, equal to the model's.

    A model with too many LFs, classes or gold rows for a query gives a join with the table `hyperlabel_patterns`, which
    `pattern_table` makes; the query stops at a row whose votes are not in it.

    Votes may be strings, numbers or booleans, whatever the type of the columns. NULL, NaN, blank and the usual null
    strings and -1 abstain; an item without votes has no label. A vote for anything that is not a class stops the query.
    So does a table that already has a column `label` or `confidence`: it would be ambiguous. Rename it there first.

    Args:
        model: A fitted model that judges by sums over votes: `hlm3`, `mv`, `bv`, `ds` or `hds`.
        dialect: One of `DIALECTS`.
        table: The name of the table, its parts separated by dots.
        lfs: The columns of the LFs; their names in `fit` if not given.
        probabilities: Whether to add a column `p_<class>` for each class.

    Raises:
        ParameterError: The model cannot be expressed in SQL.

    >>> from hyperlabel import label_model
    >>> query = to_sql(label_model("mv").fit([[0, 1], [1, 1]]), "duckdb", "votes")
    >>> query.splitlines()[0]
    'SELECT hyperlabel_item.*, final_label AS label, final_confidence AS confidence'
    """
    check_choice(dialect, "dialect", list(DIALECTS))
    if not model.is_fitted:
        raise ParameterError(f"{model!r} is not fitted; fit it first")
    own, m = DIALECTS[dialect], model.n_features_in_
    names = list(model.lf_names_ or [f"lf{j}" for j in range(m)]) if lfs is None else list(lfs)
    if len(names) != m:
        raise ParameterError(f"lfs names {len(names)} columns; the model learned from {m} LFs")
    if max(m, len(model.classes_)) > MOST_TERMS:
        return _join_patterns(own, model, names, table, probabilities)
    formula = find_formula(model)
    if model.tie_break == "random":
        raise ParameterError(f"tie_break is 'random', but SQL cannot do that; fit with 'first' or 'abstain'. {REMEDY}")
    gold = 0 if formula.gold is None else formula.gold.patterns.n_patterns
    if gold > MOST_GOLD or formula.sums.table.size > MOST_NUMBERS:
        return _join_patterns(own, model, names, table, probabilities)
    return _Query(own, formula, names, own.table_name(table), model.tie_break, probabilities).text()


def _join_patterns(dialect: Dialect, model: LabelModel, names: list[str], table: str, probabilities: bool) -> str:
    """Return a query that joins the table of patterns by votes; one that is not there stops it."""
    abstains = _abstains(dialect, model.abstain_)
    whole = all(isinstance(c, int) and not isinstance(c, bool) for c in model.classes_.tolist())

    def key(alias: str, name: str) -> str:
        text = f"trim(CAST({alias}.{dialect.name_of(name)} AS {dialect.text}))"
        short = f"CASE WHEN {text} LIKE '%.0' THEN substr({text}, 1, length({text}) - 2) ELSE {text} END"
        return f"CASE WHEN coalesce({text}, '') IN ({abstains}) THEN '' ELSE '=' || {short if whole else text} END"

    own = model.lf_names_ or [f"lf{j}" for j in range(len(names))]
    matches = [f"{key(_ROW, name)} = {key(_PATTERN, lf)}" for name, lf in zip(names, own, strict=True)]
    first = f"coalesce(CAST({_ROW}.{dialect.name_of(names[0])} AS {dialect.text}), '')"
    message = dialect.literal(f"votes that {PATTERN_TABLE} does not have, the first of them: ")
    number = f"coalesce({_PATTERN}.confidence, {dialect.fail(f'{message} || {first}')})"
    shares = OutputColumns(tuple(model.classes_.tolist()), probabilities).names[2:]
    more = "".join(f", {_PATTERN}.{dialect.name_of(name)}" for name in shares)
    return (
        f"SELECT {_ROW}.*, {_PATTERN}.label, {number} AS confidence{more}\nFROM {dialect.table_name(table)} AS {_ROW}\n"
        f"LEFT JOIN {dialect.table_name(PATTERN_TABLE)} AS {_PATTERN}\nON " + "\nAND ".join(matches)
    )


def _abstains(dialect: Dialect, stated: Sequence[object] | None) -> str:
    """List the texts that abstain; blanks around them are ignored."""
    values = dict.fromkeys(map(str, ABSTAINS if stated is None else stated))
    floats = ["-1.0"] if "-1" in values else []
    return ", ".join(map(dialect.literal, ("", *floats, *values)))


@dataclass(frozen=True)
class _Query:
    """The steps of a query. Each selects from the one before and adds columns, so that every sum is computed once."""

    dialect: Dialect
    formula: Formula
    columns: list[str]
    table: str
    tie_break: str
    probabilities: bool = False

    def text(self) -> str:
        """The whole query."""
        names, text = list(map(self.dialect.name_of, self.columns)), self.dialect.text
        texts = ",\n  ".join(f"CAST({_ROW}.{name} AS {text}) AS x{j}" for j, name in enumerate(names))
        # If the table has a column with the name of a new one, this query fails instead of returning the old column.
        added = [("label", "label"), ("confidence", "confidence"), *self._shares]
        new = ", ".join(f"{name} AS new_{short}" for short, name in added)
        nothing = ", ".join(f"0 AS {name}" for _, name in added)
        whole = "DISTINCT" if self.dialect.row is None else f"{self.dialect.row.format(_ROW)} AS {_ITEM},"
        query = f"SELECT {whole} {new}, {texts}\nFROM {self.table} AS {_ROW}\n"
        query += f"CROSS JOIN (SELECT {nothing}) AS {_REMEDY}"
        for number, columns in enumerate(self._steps()):
            shown = ",\n  ".join(f"{expression} AS {name}" for name, expression in columns.items())
            query = f"SELECT *, {shown}\nFROM (\n{query}{self.dialect.fence}\n) AS s{number}"
        finals = ", ".join(f"final_{short} AS {name}" for short, name in added)
        if self.dialect.row is not None:
            return f"SELECT {self.dialect.columns.format(_ITEM)}, {finals}\nFROM (\n{query}\n) AS labeled"
        # Without a value for the whole row, each different row of votes is labeled, and joined to its rows.
        keys = [(f"CAST({_ROW}.{name} AS {text})", f"x{j}") for j, name in enumerate(names)]
        same = " AND ".join(f"{_optional(one)} = {_optional(other)}" for one, other in keys)
        return f"SELECT {_ROW}.*, {finals}\nFROM {self.table} AS {_ROW}\nJOIN (\n{query}\n) AS labeled\nON {same}"

    @property
    def _shares(self) -> list[tuple[str, str]]:
        """Short and full names of the columns of probabilities."""
        names = OutputColumns(self.formula.context.classes, self.probabilities).names[2:]
        return [(f"p{c}", self.dialect.name_of(name)) for c, name in enumerate(names)]

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
        uniform = self._number(1 / len(chances))
        shares = {
            f"final_{short}": f"CASE WHEN votes = 0 THEN {uniform} ELSE {chance} END"
            for (short, _), chance in zip(self._shares, chances, strict=False)
        }
        yield {"final_label": label, "final_confidence": f"CASE label_number {whens} ELSE {without} END", **shares}

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
        abstains = _abstains(self.dialect, self.formula.context.abstain)
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


def _optional(text: str) -> str:
    """A text that is equal to itself also where it is NULL, and to nothing else."""
    return f"coalesce('=' || {text}, '')"
