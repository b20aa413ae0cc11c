"""A long table of judgments, as evaluation frameworks export it, and the votes of its judges."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Ints, show, show_some
from hyperlabel.data import (
    ABSTAIN,
    Classes,
    Column,
    Origin,
    Outcomes,
    Table,
    Votes,
    abstain_keys,
    check_identified,
    choose_columns,
    encode_column,
    find_classes,
    key_of,
    name_once,
    no_label,
    number_by_appearance,
    number_texts,
    open_table,
    smallest_type,
    state_classes,
    unify_numbers,
)
from hyperlabel.errors import ParameterError, VotesError, warn_of_votes

Turn = Callable[[Column, Column], tuple[Column, tuple[Any, ...]]]  # verdicts, orders -> verdicts, orders turned


@dataclass(frozen=True)
class ColumnNames:
    """The columns of a table of judgments; None for those that it does not have."""

    item: str
    judge: str
    vote: str | None = None
    score: str | None = None
    run: str | None = None
    position: str | None = None
    price: str | None = None
    gold: str | None = None

    def read(self, table: object) -> dict[str, Column]:
        """The columns by role; items and judges must be known in every row."""
        names = {role: name for role, name in vars(self).items() if name is not None}
        source = open_table(table, lambda present: choose_columns(present, list(names.values())))
        if not source.n_rows:
            raise VotesError("the table has no rows; expected at least one judgment")
        chosen = list(choose_columns(source.names, list(names.values())))
        for role, name in vars(self).items():
            if name not in source.names and (name is not None or role in ("item", "judge")):
                columns = show_some(source.names, 20)
                raise ParameterError(f"{role} is {show(name)}; expected one of the columns {columns}")
        by_name = dict(zip(chosen, source.columns(chosen), strict=True))
        for role in ("item", "judge"):
            check_identified(by_name[names[role]])
        return {role: by_name[name] for role, name in names.items()}


@dataclass(frozen=True, eq=False)
class Judgments:
    """Judgments of a panel, one entry each."""

    items: NDArray[Any]  # (n,) identifiers of the items, in order of appearance
    judges: tuple[str, ...]  # the m judges, in order of appearance
    classes: Classes
    stated: bool  # whether they were stated
    item: Ints  # (r,) the number of the item of each judgment
    judge: Ints  # (r,) the number of its judge
    verdict: Ints  # (r,) its class number, -1 for none; for a score, the class that its level leans to
    failed: NDArray[np.bool_]  # (r,) whether the judgment holds nothing, or a value that abstains
    run: Ints | None  # (r,) which run it belongs to; None if there is only one
    position: Ints | None  # (r,) which order was shown; None if there is only one
    price: NDArray[np.float64] | None  # (r,) what it cost; None if the table does not say
    gold: list[Any] | None  # (n,) the gold classes in the table, None for unknown; just None if there is no such column
    item_name: str  # the name of the column of items
    position_name: str | None = None  # the name of the column of orders
    score: NDArray[np.float64] | None = None  # (r,) its score, NaN for none; None if judgments are verdicts
    turned: tuple[Any, ...] = ()  # orders whose verdicts were turned around

    @property
    def unparsable(self) -> NDArray[np.bool_]:
        """Mask of judgments that are not one of the classes. (r,)."""
        if self.score is not None:
            return np.isnan(self.score) & ~self.failed
        return (self.verdict < 0) & ~self.failed

    def count_by_judge(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count the chosen judgments of each judge. (r,) -> (m,)."""
        return np.bincount(self.judge[chosen], minlength=len(self.judges)).astype(np.int64)


def read_judgments(
    table: object,
    names: ColumnNames,
    *,
    abstain: Sequence[Any] | None = None,
    classes: Sequence[Hashable] | None = None,
    turn: Turn | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Judgments:
    """Read a long table of judgments; see `hyperlabel.jury`. `turn` turns verdicts around, by their order."""
    if isinstance(table, str | Path):
        frame = Table.open(table, delimiter=delimiter, encoding=encoding).lazy()
        table = frame if names.vote is None else number_texts(frame, [names.vote])
    columns, turned = names.read(table), ()
    if turn is not None:
        columns["vote"], turned = turn(columns["vote"], columns["position"])
    stated = None if classes is None else state_classes(None, classes)
    score = None
    if names.vote is not None:
        all_classes, verdict, failed = _read_verdicts(columns["vote"], abstain, stated)
    elif stated is None:
        raise ParameterError("score is given without classes; expected the classes, from low scores to high ones")
    else:
        score, failed = _read_scores(columns["score"], abstain)
        all_classes, verdict = stated, np.full(len(score), ABSTAIN)
    item, items = number_by_appearance(columns["item"])
    judge, judges = number_by_appearance(columns["judge"])
    return Judgments(
        items=items,
        judges=name_once(names.judge, judges.tolist()),
        classes=all_classes,
        stated=stated is not None,
        item=item,
        judge=judge,
        verdict=verdict,
        failed=failed,
        run=columns["run"].codes if "run" in columns else None,
        position=columns["position"].codes if "position" in columns else None,
        price=_read_prices(columns["price"]) if "price" in columns else None,
        gold=_one_per_item(columns["gold"], item, items.tolist()) if "gold" in columns else None,
        item_name=names.item,
        position_name=names.position,
        score=score,
        turned=turned,
    )


def _read_scores(column: Column, abstain: Sequence[Any] | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The score of each row, NaN for none, and whether it holds nothing."""
    keys = frozenset() if abstain is None else abstain_keys(abstain)
    abstains = [key_of(v) in keys or (isinstance(v, str) and Column.is_abstain(v)) for v in column.values]
    scores = [np.nan if empty else _to_number(v) for v, empty in zip(column.values, abstains, strict=True)]
    score, failed = np.array([*scores, np.nan])[column.codes], np.array([*abstains, True])[column.codes]
    if np.isnan(score).all():
        raise VotesError(f"column '{column.name}' has no numbers; expected scores")
    odd = np.flatnonzero(np.isnan(score) & ~failed)
    if len(odd):
        value = column.values[column.codes[odd[0]]]
        what = f"column '{column.name}': {len(odd):,} of {len(score):,} judgments are not numbers and abstain"
        warn_of_votes([f"{what}: {show(value, 40)}"])
    return score, failed


def _to_number(value: Any) -> float:
    """A finite number; NaN for anything else."""
    try:
        number = np.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = np.nan
    return number if np.isfinite(number) else np.nan


def _read_verdicts(
    column: Column, abstain: Sequence[Any] | None, stated: Classes | None
) -> tuple[Classes, Ints, NDArray[np.bool_]]:
    """The classes, the class number of each row, and whether it holds nothing."""
    column = replace(column, abstain=abstain_keys(abstain, stated))
    empty = np.array([*(column.abstains(value) for value in column.values), True])[column.codes]
    if stated is None:
        (column,) = unify_numbers([column], written=True)
        _check_kinds(column)
        classes, _ = find_classes([column], None, None)
        if 0 not in column.voted and no_label(classes) is not None:  # scores from 1 to 5: the levels that occur
            classes = tuple(sorted(column.voted)) or classes
        return classes, encode_column(column, classes), empty
    number = {str(c): i for i, c in enumerate(stated)}
    codes = [*(number.get(str(value).strip(), ABSTAIN) for value in column.values), ABSTAIN]
    verdict = np.array(codes, smallest_type(len(stated)))[column.codes]
    failed = empty & (verdict < 0)
    _warn_of_unparsable(column, verdict, failed, stated)
    return stated, verdict, failed


def _check_kinds(column: Column) -> None:
    """Refuse fractions, and texts among numbers: nobody stated the classes."""
    votes = [value for value in column.values if not column.abstains(value)]
    texts = [value for value in votes if isinstance(value, str)]
    fractions = [value for value in votes if isinstance(value, float) and value % 1]
    if fractions:
        where = f"{column.locate(fractions[0])} is {fractions[0]}"
        raise VotesError(f"{where}; expected a class. For scores, give score={column.name!r} instead of vote")
    if 0 < len(texts) < len(votes):
        where = f"{column.locate(texts[0])} is {show(texts[0], 40)} (text) among numbers"
        raise VotesError(f"{where}; state the classes, so that anything else is unparsable: classes=[...]")


def _warn_of_unparsable(column: Column, verdict: Ints, failed: NDArray[np.bool_], classes: Classes) -> None:
    odd = np.flatnonzero((verdict < 0) & ~failed)
    if not len(odd):
        return
    values = show_some([str(column.values[code])[:40] for code in dict.fromkeys(column.codes[odd].tolist())], 3)
    what = f"column '{column.name}': {len(odd):,} of {len(verdict):,} judgments are not one of the classes"
    if not (verdict >= 0).any():
        raise VotesError(f"{what} {show_some(classes)}, so none is left: {values}; correct classes")
    warn_of_votes([f"{what} {show_some(classes)} and count as abstentions: {values}"])


def _read_prices(column: Column) -> NDArray[np.float64]:
    """Read the cost of each judgment, 0 without a price. -> (r,)."""
    prices = [_to_number(value) for value in column.values]
    for value, price in zip(column.values, prices, strict=True):
        if not price >= 0:
            raise VotesError(f"{column.locate(value)} is {show(value)}; expected a price, 0 or more")
    return np.asarray(np.array([*prices, 0.0])[column.codes])


def _one_per_item(column: Column, item: Ints, items: list[Any]) -> list[Any]:
    """A column that must not differ between the judgments of an item. -> n values, None for nothing."""
    codes: dict[int, int] = {}
    for row in np.flatnonzero(column.codes >= 0).tolist():
        number, code = int(item[row]), int(column.codes[row])
        if codes.setdefault(number, code) != code:
            raise VotesError(
                f"column '{column.name}' has {column.values[codes[number]]!r} and {column.values[code]!r} for item "
                f"{items[number]!r}; expected one value"
            )
    return [column.values[codes[number]] if number in codes else None for number in range(len(items))]


def collect_votes(judgments: Judgments) -> tuple[Votes, NDArray[np.int64]]:
    """One vote per item and judge: what most of its judgments say; no vote if they are tied.

    Also (m,) on how many items the judgments of each judge are tied.
    """
    n, m, k = len(judgments.items), len(judgments.judges), len(judgments.classes)
    kept = np.flatnonzero(judgments.verdict >= 0)
    pair, where = np.unique(judgments.item[kept] * m + judgments.judge[kept], return_inverse=True)
    counts = np.bincount(where * k + judgments.verdict[kept], minlength=len(pair) * k).reshape(-1, k)
    best = counts.max(1, initial=0)
    tied = (counts == best[:, None]).sum(1) > 1
    clash = np.flatnonzero((counts > 0).sum(1) > 1)
    if len(clash):
        verdicts = show_some([judgments.classes[c] for c in np.flatnonzero(counts[clash[0]])])
        _refuse_repeated(judgments, int(pair[clash[0]]), f"the verdicts {verdicts}")
    cells = np.full(n * m, ABSTAIN, smallest_type(k))
    cells[pair[~tied]] = counts[~tied].argmax(1)
    parts = {"stated": judgments.stated, "items": judgments.items, "origin": Origin(judgments.item_name)}
    votes = Votes.from_parts(judgments.classes, judgments.judges, cells.reshape(n, m), **parts)
    return votes, np.bincount(pair[tied] % m, minlength=m)


def collect_scores(judgments: Judgments, like: Outcomes | None) -> tuple[Votes, Judgments]:
    """The votes of judges that give scores: the mean of a judge's scores of an item, cut into levels.

    Also the judgments with the verdicts that are closest to their scores. Scores are cut as in `like`, if that is
    given.
    """
    assert judgments.score is not None
    n, m = len(judgments.items), len(judgments.judges)
    kept = np.flatnonzero(~np.isnan(judgments.score))
    cell = judgments.item[kept] * m + judgments.judge[kept]
    counts = np.bincount(cell, minlength=n * m)
    means = np.bincount(cell, judgments.score[kept], n * m) / np.where(counts > 0, counts, np.nan)
    clash = np.flatnonzero(np.abs(means[cell] - judgments.score[kept]) > 1e-9)
    if len(clash):
        _refuse_repeated(judgments, int(cell[clash[0]]), "several scores")
    votes = Votes.from_scores(means.reshape(n, m), classes=judgments.classes, lfs=judgments.judges, like=like)
    outcomes = votes.outcomes
    assert outcomes is not None  # scores are levels
    votes = votes.with_parts(items=judgments.items, origin=Origin(judgments.item_name))
    verdict = np.full(len(judgments.score), ABSTAIN)
    for j, judge in enumerate(judgments.judges):
        own, cuts = kept[judgments.judge[kept] == j], outcomes.cuts[judge]
        verdict[own] = outcomes.main[outcomes.names.index(cuts.first) + cuts.levels_of(judgments.score[own])]
    return votes, replace(judgments, verdict=verdict)


def class_cells(votes: Votes) -> Ints:
    """Votes of each judge as class numbers: the class that an outcome favors most, -1 for several. (n, m)."""
    cells = votes.to_numpy()
    if votes.outcomes is None:
        return cells
    return np.asarray(np.append(votes.outcomes.main_classes, -1)[cells])


def _refuse_repeated(judgments: Judgments, cell: int, what: str) -> None:
    """Refuse different judgments of one judge on one item, unless a column tells them apart."""
    if judgments.run is None and judgments.position is None:
        item, judge = divmod(cell, len(judgments.judges))
        raise VotesError(
            f"judge {judgments.judges[judge]!r} gives item {judgments.items.tolist()[item]!r} {what}; expected one "
            "judgment per item, or the column that tells them apart: run or position"
        )


def repeat_agreement(
    judgments: Judgments, repeated: Ints, fixed: Ints | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Of pairs of a judge's verdicts on an item that differ in `repeated` and not in `fixed`, the share that is equal.

    Each item counts the same, however often it was judged. -> (m,), NaN for a judge without such pairs; (m,) items.
    """
    m, k = len(judgments.judges), len(judgments.classes)
    kept = np.flatnonzero((judgments.verdict >= 0) & (repeated >= 0))
    key = judgments.item[kept].astype(np.int64) * m + judgments.judge[kept]
    if fixed is not None:
        key = key * (int(fixed.max(initial=0)) + 2) + fixed[kept] + 1
    group, where = np.unique(key, return_inverse=True)
    verdict, width = judgments.verdict[kept].astype(np.int64), int(repeated.max(initial=0)) + 1
    pairs, equal = _pairs(where, len(group)), _pairs_within(where * k + verdict, where, len(group))
    same = where * width + repeated[kept]
    pairs -= _pairs_within(same, where, len(group))
    equal -= _pairs_within(same * k + verdict, where, len(group))
    judge = np.zeros(len(group), np.int64)
    judge[where] = judgments.judge[kept]
    several = pairs > 0
    total = np.bincount(judge[several], minlength=m)
    shares = np.bincount(judge[several], equal[several] / pairs[several], m)
    return np.where(total > 0, shares / np.maximum(total, 1), np.nan), total


def _pairs(where: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Pairs of entries in each of n groups. (r,) -> (n,)."""
    sizes = np.bincount(where, minlength=n)
    return sizes * (sizes - 1) // 2


def _pairs_within(key: NDArray[np.int64], where: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Pairs of entries in each of n groups that have the same key, which no two groups share. (r,), (r,) -> (n,)."""
    _, first, sub = np.unique(key, return_index=True, return_inverse=True)
    return np.bincount(where[first], _pairs(sub, len(first)), n).astype(np.int64)


def read_costs(price: object, judgments: Judgments) -> NDArray[np.float64] | None:
    """Sum the cost of each judge, failed judgments included. -> (m,).

    `price` is that of a judgment: a number, or a mapping from judge to number; None for the prices in the table.
    """
    m = len(judgments.judges)
    if price is None:
        return None if judgments.price is None else np.asarray(np.bincount(judgments.judge, judgments.price, m), float)
    counts = np.bincount(judgments.judge, minlength=m)
    present = [judge for judge, count in zip(judgments.judges, counts, strict=True) if count]
    each = dict.fromkeys(judgments.judges, price) if not hasattr(price, "items") else dict(price.items())
    missing = [judge for judge in present if judge not in each]
    if missing:
        raise ParameterError(f"price lacks the judge {missing[0]!r}; expected a price for each of {show_some(present)}")
    values = [each.get(judge, 0) for judge in judgments.judges]
    wrong = next((v for v in values if not isinstance(v, int | float | np.number) or not 0 <= v < np.inf), None)
    if wrong is not None:
        raise ParameterError(f"price is {show(wrong)}; expected numbers, 0 or more, per judgment")
    return np.array(values, float) * counts
