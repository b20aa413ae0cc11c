"""A fitted model as one SELECT, in nested steps: votes, sums over votes, probabilities, label."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hyperlabel.checks import check_kind, check_text
from hyperlabel.columns.arrays import as_list
from hyperlabel.columns.rule import ABSTAINS
from hyperlabel.errors import ParameterError
from hyperlabel.export.dialects import Dialect, find_dialect
from hyperlabel.export.formula import REMEDY, Formula, GoldRows, find_formula
from hyperlabel.kernels import Float64
from hyperlabel.labels.decide import TIE
from hyperlabel.models import LabelModel
from hyperlabel.shown import printable

_ABSTAINS = ("", "-1.0", *dict.fromkeys(map(str, ABSTAINS)))  # strings that abstain, besides NULL; blanks are ignored

MOST_GOLD = 1000
"""At most this many vote rows with gold fit in a query."""

MOST_NUMBERS = 100_000
"""At most this many numbers fit in a query; databases refuse longer ones."""

_ROW, _ITEM = "hyperlabel_row", "hyperlabel_item"  # unlikely names for columns of a table
_REMEDY = "rename_the_column_of_the_table"  # databases show this name if the table has a column of a new name
_LOWEST = -700.0  # its exponential is practically 0; PostgreSQL fails if one underflows


def to_sql(model: LabelModel, dialect: str, table: str, *, lfs: Sequence[str] | None = None) -> str:
    """One SELECT that keeps the columns of a table and adds `label` and `confidence`, equal to the model's.

    Votes may be strings, numbers or booleans, whatever the type of the columns. NULL, NaN, blank and the usual null
    strings and -1 abstain; an item without votes has no label. A vote for anything that is not a class stops the query.
    So does a table that already has a column `label` or `confidence`: it would be ambiguous. Rename it there first.

    Args:
        model: A fitted model that judges by sums over votes: `hlm2`, `mv`, `bv`, `ds` or `hds`.
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
    known = find_dialect(dialect)
    formula = find_formula(check_kind(model, "model", LabelModel, "a fitted label model"))
    if model.tie_break == "random":
        raise ParameterError(f"tie_break is 'random', but SQL cannot do that; fit with 'first' or 'abstain'. {REMEDY}")
    _check_size(formula)
    return _Query(known, formula, _columns(formula, lfs), known.table_name(table), model.tie_break).text()


def _columns(formula: Formula, lfs: Sequence[str] | None) -> list[str]:
    m = formula.seen.n_lfs
    given = formula.seen.lf_names or [f"lf{j}" for j in range(m)] if lfs is None else as_list(lfs, "lfs", "columns")
    names = [check_text(name, "lfs", "names of columns") for name in given]
    if len(names) != m:
        raise ParameterError(f"lfs names {len(names)} columns; the model learned from {m} LFs")
    return names


def _check_size(formula: Formula) -> None:
    gold = 0 if formula.gold is None else formula.gold.patterns.n_patterns
    if gold > MOST_GOLD:
        raise ParameterError(f"the model has gold for {gold} different vote rows; SQL allows {MOST_GOLD}. {REMEDY}")
    numbers = formula.sums.table.size
    if numbers > MOST_NUMBERS:
        raise ParameterError(f"the query would hold {numbers} numbers; databases take about {MOST_NUMBERS}. {REMEDY}")


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
        texts = [
            f"CAST({_ROW}.{self.dialect.name_of(column)} AS {self.dialect.text}) AS x{j}"
            for j, column in enumerate(self.columns)
        ]
        # If the table has a column with the name of a new one, this query fails instead of returning the old column.
        new = "label AS new_label, confidence AS new_confidence"
        query = f"SELECT {row} AS {_ITEM}, {new}, {_listed(texts)}\nFROM {self.table} AS {_ROW}\n"
        query += f"CROSS JOIN (SELECT 0 AS label, 0 AS confidence) AS {_REMEDY}"
        for number, columns in enumerate(self._steps()):
            shown = _listed(f"{expression} AS {name}" for name, expression in columns.items())
            query = f"SELECT *, {shown}\nFROM (\n{query}{self.dialect.fence}\n) AS s{number}"
        items = self.dialect.columns.format(_ITEM)
        return f"SELECT {items}, final_label AS label, final_confidence AS confidence\nFROM (\n{query}\n) AS labeled"

    def _steps(self) -> Iterable[dict[str, str]]:
        """The columns that each step adds, by name."""
        yield {f"v{j}": self._vote(j) for j in range(len(self.columns))}
        yield self._count()
        gold, learned = self.formula.gold, range(len(self.formula.seen.active))
        if self.formula.sums.shares:
            yield {f"e{place}": f"s{place}" for place in learned}
        else:
            yield from self._softmax()
        if gold is not None and gold.inner:
            yield {f"f{place}": self._share(place) for place in learned}
            yield from self._mix(gold, learned, "f", "h")
        yield {f"p{c}": self._expand(c) for c in self._classes}
        if gold is not None and not gold.inner:
            yield from self._mix(gold, self._classes, "p", "q")
        final = "p" if gold is None or gold.inner else "q"
        chances = [f"{final}{c}" for c in self._classes]
        yield {"best": _greatest(chances)}
        yield {"place": self._place(chances)}
        yield {"final_label": self._label(), "final_confidence": self._confidence(chances)}

    def _mix(self, gold: GoldRows, classes: range, old: str, new: str) -> Iterable[dict[str, str]]:
        """Probabilities of classes, by the names of their columns, with gold."""
        yield {f"gold{c}": self._gold(gold, c) for c in classes}
        total, weight = " + ".join(f"gold{c}" for c in classes), self._number(gold.weight)
        yield {f"{new}{c}": f"({weight} * {old}{c} + gold{c}) / ({weight} + {total})" for c in classes}

    @property
    def _classes(self) -> range:
        return range(len(self.formula.seen.classes))

    @property
    def _unseen(self) -> list[int]:
        """Classes that the model did not learn about."""
        return [c for c in self._classes if c not in self.formula.seen.active]

    @property
    def _known_votes(self) -> str:
        """How many votes are for classes that the model learned about."""
        return " - ".join(["votes", *(f"n{c}" for c in self._unseen)])

    def _number(self, value: float) -> str:
        return self.dialect.number(value)

    def _vote(self, j: int) -> str:
        """The class number of a vote, -1 for none."""
        whens = [
            f"WHEN {self.dialect.literal(text)} THEN {c}"
            for c, value in enumerate(self.formula.seen.classes)
            for text in _texts_of(value)
        ]
        abstains = ", ".join(map(self.dialect.literal, _ABSTAINS))
        said = self.dialect.literal(f"LF {printable(self.columns[j])} votes ")
        fails = self.dialect.fail(f"{said} || x{j} || {self.dialect.literal(', which is not a class of the model')}")
        other = f"CASE WHEN coalesce(trim(x{j}), '') IN ({abstains}) THEN -1 ELSE {fails} END"
        return f"CASE x{j} {' '.join(whens)} ELSE {other} END"

    def _count(self) -> dict[str, str]:
        """Votes, votes for the classes whose shares count, sums over votes; the votes as a string for gold."""
        m, seen, sums = range(len(self.columns)), self.formula.seen, self.formula.sums
        counted = {"votes": _sum(f"CASE WHEN v{j} >= 0 THEN 1 ELSE 0 END" for j in m)}
        for c in self._classes if sums.vote_weight else self._unseen:
            counted[f"n{c}"] = _sum(f"CASE WHEN v{j} = {c} THEN 1 ELSE 0 END" for j in m)
        table = sums.table if sums.shares else sums.table - sums.table[:, :, :1]  # the softmax does not change
        for place in range(len(seen.active)):
            counted[f"s{place}"] = self._summed(table[:, :, place])
        if self.formula.gold is not None:
            texts = (f"CAST({self._seen_vote(j)} AS {self.dialect.text})" for j in m)
            counted["vote_key"] = " || ',' || ".join(texts)
        return counted

    def _seen_vote(self, j: int) -> str:
        """A vote as gold sees it: -1 for a class that was not learned, if gold does not see such classes."""
        gold, unseen = self.formula.gold, ", ".join(map(str, self._unseen))
        hidden = gold is not None and gold.inner and unseen
        return f"CASE WHEN v{j} IN ({unseen}) THEN -1 ELSE v{j} END" if hidden else f"v{j}"

    def _summed(self, table: Float64) -> str:
        """The sum over votes of what each adds to a class. (m, c) -> an expression."""
        terms = []
        for j, added in enumerate(table):
            whens = [
                f"WHEN {c} THEN {self._number(value)}"
                for c, value in zip(self.formula.seen.active.tolist(), added.tolist(), strict=True)
                if value
            ]
            if whens:
                terms.append(f"CASE v{j} {' '.join(whens)} ELSE {self._number(0)} END")
        return _sum(terms) if terms else self._number(0)

    def _softmax(self) -> Iterable[dict[str, str]]:
        sums, places = self.formula.sums, range(len(self.formula.seen.active))
        known = self._known_votes
        factor = self._number(sums.scale)
        if sums.power:
            size = f"CASE WHEN {known} > 1 THEN {known} ELSE 1 END * {self._number(1)}"
            factor = f"{factor} * power({size}, {self._number(sums.power)})"
        yield {"factor": factor}
        bias = sums.bias - sums.bias[0]
        yield {f"l{place}": f"{self._number(bias[place])} + factor * s{place}" for place in places}
        yield {"highest": _greatest([f"l{place}" for place in places])}
        lowest = self._number(_LOWEST)
        yield {f"e{place}": f"exp({_greatest([f'l{place} - highest', lowest])})" for place in places}

    def _expand(self, c: int) -> str:
        """The probability of a class; learned classes share what other votes leave."""
        active = self.formula.seen.active.tolist()
        if c not in active:
            return f"n{c} * {self._number(1)} / nullif(votes, 0)"
        place, gold = active.index(c), self.formula.gold
        share = f"h{place}" if gold is not None and gold.inner else self._share(place)
        if not self._unseen:
            return share
        lost = " + ".join(f"n{other}" for other in self._unseen)
        return f"{share} * ({self._number(1)} - ({lost}) * {self._number(1)} / nullif(votes, 0))"

    def _share(self, place: int) -> str:
        """The share of a learned class among the learned classes."""
        total = _sum(f"e{other}" for other in range(len(self.formula.seen.active)))
        share, weight = f"e{place} / nullif({total}, {self._number(0)})", self.formula.sums.vote_weight
        if weight:
            cast = f"n{self.formula.seen.active[place]} * {self._number(1)} / nullif({self._known_votes}, 0)"
            share = f"{self._number(1 - weight)} * {share} + {self._number(weight)} * {cast}"
        return f"coalesce({share}, {self._number(0)})"

    def _gold(self, gold: GoldRows, c: int) -> str:
        """The gold items of a row that count for a class."""
        rows = gold.patterns.to_array()
        if gold.inner:  # their votes are numbered among the classes that were learned about
            rows = np.append(self.formula.seen.active, -1)[rows]
        whens = [
            f"WHEN '{','.join(map(str, row))}' THEN {self._number(added)}"
            for row, added in zip(rows.tolist(), gold.added[:, c].tolist(), strict=True)
            if added
        ]
        return f"CASE vote_key {' '.join(whens)} ELSE {self._number(0)} END" if whens else self._number(0)

    def _place(self, chances: Sequence[str]) -> str:
        """The number of the label, -1 for none; ties go to the first class, or to none."""
        near = [f"{chance} >= best - {self._number(TIE)}" for chance in chances]
        whens = [f"WHEN {test} THEN {c}" for c, test in enumerate(near)]
        nothing = "votes = 0"
        if self.tie_break == "abstain":
            tied = _sum(f"CASE WHEN {test} THEN 1 ELSE 0 END" for test in near)
            nothing = f"votes = 0 OR {tied} > 1"
        return f"CASE WHEN {nothing} THEN -1 {' '.join(whens)} END"

    def _label(self) -> str:
        whens = [f"WHEN {c} THEN {self.dialect.literal(value)}" for c, value in enumerate(self.formula.seen.classes)]
        return f"CASE place {' '.join(whens)} END"

    def _confidence(self, chances: Sequence[str]) -> str:
        whens = [f"WHEN {c} THEN {chance}" for c, chance in enumerate(chances)]
        without = f"CASE WHEN votes = 0 THEN {self._number(1 / len(chances))} ELSE best END"
        return f"CASE place {' '.join(whens)} ELSE {without} END"


def _texts_of(value: object) -> list[str]:
    """How a class may look when votes are cast to strings: numbers also as in columns of floats."""
    if isinstance(value, bool):
        return [str(value).lower()]
    return [str(value), f"{value}.0"] if isinstance(value, int) else [str(value)]


def _sum(terms: Iterable[str]) -> str:
    return " + ".join(terms)


def _greatest(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else f"greatest({', '.join(terms)})"


def _listed(columns: Iterable[str]) -> str:
    return ",\n  ".join(columns)
