"""`jury`: one row per item and a report card per judge, from a long table of judgments."""

import copy
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel import models
from hyperlabel._core import ABOVE_ZERO, Float64, check_number, show, show_some
from hyperlabel.data import Labels, Votes, decode, to_pandas, to_polars
from hyperlabel.errors import ParameterError, VotesError, warn_of_votes
from hyperlabel.lf import LFAnalysis, ResultTable
from hyperlabel.models import LabelModel, choose_model
from hyperlabel.panel._agreement import Agreement, count_classes, measure_agreement
from hyperlabel.panel._card import judge_card, judge_curve
from hyperlabel.panel._judgments import (
    ColumnNames,
    Judgments,
    class_cells,
    collect_scores,
    collect_votes,
    read_costs,
    read_judgments,
)
from hyperlabel.panel._orders import turn_verdicts, warn_of_flips

CONTESTED = 2 / 3
"""An item is contested if fewer than this share of its votes are for its label."""


def jury(
    table: object,
    *,
    item: str,
    judge: str,
    vote: str | None = None,
    score: str | None = None,
    run: str | None = None,
    position: str | None = None,
    price: object = None,
    gold: object = None,
    classes: Sequence[Hashable] | None = None,
    ordinal: bool = False,
    swap: Mapping[Any, Any] | None = None,
    abstain: Sequence[Any] | None = None,
    model: LabelModel | str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> "Jury":
    """Turn the judgments of a panel into labels and a report card per judge.

    A judge has one vote per item: the verdict of most of its judgments, over all runs and both orders; tied ones are
    no vote. Judgments that failed (empty, or a value that abstains) and those that are not one of the stated classes
    are not votes either, and are counted.

    Args:
        table: One row per judgment: any file that `hyperlabel.read_votes` takes, a pandas or Polars frame, an Arrow
            table, a Hugging Face dataset, or a list of records.
        item: Column of the item that is judged.
        judge: Column of the judge: a person, or a model with its prompt.
        vote: Column of the verdict. Where two answers are compared, the verdict names an answer, not its position.
        score: Column of a score, instead of a verdict; the higher, the more it speaks for the later classes. A
            judge's scores of an item are averaged and cut into levels, see `Votes.from_scores`.
        run: Column that tells repeated judgments of an item by a judge apart.
        position: Column of the order in which a pair was shown.
        price: Cost of a judgment: a column, a number, or a mapping from judge to number.
        gold: Known classes, to learn from and to score judges by: a column of the table, or what `LabelModel.fit`
            takes, with items in order of appearance.
        classes: The classes; if given, any other verdict is an abstention, else every verdict is a class. For
            scores, and with `ordinal`, from low to high.
        ordinal: Whether the classes have an order, such as stars: a vote also speaks for its neighbors, and agreement
            counts by how much judges differ. Numbers are in their order; names must be in `classes`.
        swap: Pairs of verdicts that take each other's place when a pair is shown in the other order, such as
            `{"A>B": "B>A"}`, if verdicts name a place. Of the two orders in `position` the first in sorted order stays
            as it is; `{"BA": {"A>B": "B>A"}}` names the orders to turn.
        abstain: Values that abstain; see `Votes.from_frame`.
        model: The label model, or its short name; the hyper label model if not given. With `ordinal` also "median"
            or "mean", to compare with. A fitted one judges in its state: judges of its panel without a row here
            abstain, and scores are cut where those of its panel were.
        delimiter: The separator of a csv; found if not given.
        encoding: The encoding of a text file; found if not given.

    >>> table = [
    ...     {"item": i, "judge": j, "vote": v}
    ...     for i, votes in enumerate(["AAA", "AAB", "BBB", "BBA"])
    ...     for j, v in zip(["gpt", "claude", "llama"], votes)
    ... ]
    >>> verdicts = jury(table, item="item", judge="judge", vote="vote")
    >>> verdicts.labels.labels.tolist(), verdicts.dissenters[1]
    (['A', 'A', 'B', 'B'], ['llama'])
    >>> verdicts.judges["judge"].tolist()
    ['gpt', 'claude', 'llama']
    >>> stars = [{"item": i, "judge": j, "vote": v} for i in range(9) for j, v in enumerate([1, 4, 5])]
    >>> jury(stars, item="item", judge="judge", vote="vote", ordinal=True, model="median").labels.labels.tolist()[0]
    4
    """
    if (vote is None) == (score is None):
        raise ParameterError(f"vote is {show(vote)} and score is {show(score)}; expected one of them to name a column")
    if swap is not None and (position is None or vote is None):
        raise ParameterError(f"swap is {show(swap)}, but it turns verdicts (vote) by their order (position); give both")
    names = ColumnNames(
        item, judge, vote, score, run, position, *(each if isinstance(each, str) else None for each in (price, gold))
    )
    label_model = _choose_model(model, ordinal)
    if classes is None and label_model.is_fitted and score is not None:
        classes = label_model.classes_.tolist()
    reading = {"abstain": abstain, "classes": classes, "delimiter": delimiter, "encoding": encoding}
    turn = None if swap is None else partial(turn_verdicts, swap=swap)
    judgments = read_judgments(table, names, turn=turn, **reading)
    warn_of_votes(warn_of_flips(judgments))
    if label_model.is_fitted and label_model.lf_names_ is not None:
        judgments = _as_panel(judgments, label_model.lf_names_, judge)
    costs = read_costs(None if isinstance(price, str) else price, judgments)
    if score is None:
        votes, undecided = collect_votes(judgments)
    else:
        votes, judgments = collect_scores(judgments, label_model.outcomes_ if label_model.is_fitted else None)
        undecided = np.zeros(votes.n_lfs, np.int64)
    votes = label_model.read_votes(votes)  # before gold is numbered: the model may have other classes, or another order
    gold, numbers = judgments.gold if isinstance(gold, str) else gold, None
    if gold is not None:
        votes, numbers = votes.with_labels(gold, "gold")
    if ordinal:
        _check_order(votes.classes, stated=classes is not None)
    if not label_model.is_fitted:
        label_model = copy.copy(label_model).fit(votes, None if numbers is None else decode(numbers, votes.classes))
    labels = label_model.label(votes)
    if numbers is not None:
        labels = labels.with_gold(numbers)
    return Jury(votes, labels, label_model, judgments, undecided, numbers, costs, ordinal)


_BASELINES = {"median": "MedianVote", "mean": "MeanVote"}


def _choose_model(model: LabelModel | str | None, ordinal: bool) -> LabelModel:
    """The label model; with an order, one that knows of it."""
    if isinstance(model, str) and model in _BASELINES:
        if not ordinal:
            raise ParameterError(f"model is {model!r}, which needs classes with an order; give ordinal=True")
        baseline: LabelModel = getattr(models, _BASELINES[model])()
        return baseline
    chosen = choose_model(model)
    if not ordinal or chosen.is_fitted or type(chosen).__name__ in _BASELINES.values():
        return chosen
    if "ordinal" not in chosen.get_params():
        raise ParameterError(
            f"ordinal is True, but {chosen!r} knows of no order; expected hlm2, mv, ds, hds, median or mean"
        )
    return type(chosen)(**chosen.get_params() | {"ordinal": True})


def _check_order(classes: Sequence[Hashable], *, stated: bool) -> None:
    """Refuse classes whose order nobody knows."""
    numbers = [c for c in classes if isinstance(c, int)]
    if not stated and (len(numbers) < len(classes) or sorted(numbers) != list(classes)):
        raise ParameterError(
            f"ordinal is True, but the order of the classes {show_some(classes)} is not known; state them from low to "
            "high: classes=[...]"
        )


def _as_panel(judgments: Judgments, panel: Sequence[str], column: str) -> Judgments:
    """The judgments of a fitted model's judges, in its order; those without judgments abstain, others are refused."""
    new = [name for name in judgments.judges if name not in panel]
    if new:
        raise VotesError(
            f"column {column!r} has the judge {new[0]!r}, but model was fitted on the judges {show_some(panel)}; leave "
            f"out the rows of {new[0]!r}, or give a model that is not fitted"
        )
    # In one order: the card and the curve have names from the votes and numbers from the model.
    index = np.array([panel.index(name) for name in judgments.judges], np.int64)
    return replace(judgments, judges=tuple(panel), judge=index[judgments.judge])


@dataclass(frozen=True, eq=False, repr=False)
class Jury:
    """The verdicts of a panel.

    Attributes:
        votes: One vote per item and judge.
        labels: The label, confidence and probabilities of each item.
        model: The label model, fitted on the panel; save it to label what fewer judges say tomorrow.
        judgments: The judgments as they were read.
        undecided: (m,) items on which the judgments of a judge are tied.
        gold: (n,) gold classes, -1 for unknown; None if there are none.
        costs: (m,) total cost of each judge; None if prices are not known.
        ordinal: Whether the classes have an order.
    """

    votes: Votes
    labels: Labels
    model: LabelModel
    judgments: Judgments
    undecided: NDArray[np.int64]
    gold: NDArray[np.int64] | None = None
    costs: Float64 | None = None
    ordinal: bool = False

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def cells(self) -> NDArray[np.integer]:
        """Votes of each judge as class numbers; for a score, the closest class. (n, m)."""
        return class_cells(self.votes)

    @cached_property
    def contested(self) -> NDArray[np.bool_]:
        """Mask of items with fewer than two thirds of their votes for their label, or without a label. (n,)."""
        counts = count_classes(self.cells, self.votes.n_classes)
        best = self.labels.best
        own = np.take_along_axis(counts, np.maximum(best, 0)[:, None], 1)[:, 0]
        return np.asarray((best < 0) | (own < CONTESTED * counts.sum(1) - 1e-9))

    @cached_property
    def dissenters(self) -> list[list[str]]:
        """The judges whose vote is not the label, for each item. n lists."""
        cells, best = self.cells, self.labels.best
        against = (cells >= 0) & (cells != best[:, None]) & (best >= 0)[:, None]
        names: list[list[str]] = [[] for _ in best]
        for row, judge in zip(*np.nonzero(against), strict=True):
            names[row].append(self.votes.lf_names[judge])
        return names

    @cached_property
    def _analysis(self) -> LFAnalysis:
        return LFAnalysis(self.votes, model=self.model)

    @cached_property
    def agreement(self) -> Agreement:
        """Krippendorff's alpha, Fleiss' kappa, and Cohen's kappa of all pairs of judges; with an order, its forms."""
        return measure_agreement(self.cells, self.votes.n_classes, self.votes.classes if self.ordinal else None)

    @cached_property
    def blind_model(self) -> LabelModel | None:
        """The model without gold, so that gold can test it; None for a model that needs gold."""
        if self.gold is None or self.model.needs_gold:
            return None if self.model.needs_gold else self.model
        return type(self.model)(**self.model.get_params()).fit(self._analysis.patterns)

    @cached_property
    def judges(self) -> ResultTable:
        """The report card, one row per judge: with gold by accuracy on it, else in order of appearance.

        Columns: judge; votes; failed and unparsable (judgments); undecided (items on which its own judgments are tied);
        estimated_accuracy (the mean probability of what it votes for) with the 95% interval estimated_low and
        estimated_high, which does not cover errors of the model; with gold gold_votes, accuracy with its 95% interval
        accuracy_low and accuracy_high, gold_kappa (Cohen's); checked ("by gold" or "not checked by gold");
        bias_<class> (the share of its votes for a class minus the share that the panel gives the class on these
        items); self_consistency (how often two runs agree); position_flips (how often the verdict changes with the
        order); kappa (mean Cohen's kappa with the others) and kappa_votes (its votes on items that others judge, too);
        copy_of (the judge that it nearly copies); label_changes (share of labels that change without it); with gold
        gold_loss (the accuracy that the panel loses without it); with prices cost and cost_per_useful_vote (useful:
        expected to be right).
        """
        return judge_card(
            self.judgments,
            self._analysis,
            self.cells,
            self.undecided,
            self.agreement,
            self.gold,
            self.blind_model,
            self.costs,
        )

    @cached_property
    def curve(self) -> ResultTable:
        """Labels kept by a few judges, added one by one, the most useful for their price first.

        Columns: judges, added, price, kept, probability. Without prices each judge costs its number of judgments. The
        few are judged in the state of the whole panel, as when the saved model labels what they say tomorrow.
        """
        everybody = np.ones(len(self.judgments.judge), bool)
        prices = self.judgments.count_by_judge(everybody).astype(float) if self.costs is None else self.costs
        return judge_curve(self.model, self._analysis.patterns, self.votes.lf_names, prices)

    def enough(self, keep: float = 0.95) -> list[str]:
        """The cheapest judges, found greedily, whose labels are the panel's on a share of the items.

        Args:
            keep: The share of the items that must keep their label.
        """
        check_number(keep, "keep", "a share above 0, at most 1", least=ABOVE_ZERO, most=1)
        reached = np.flatnonzero(self.curve["kept"] >= keep)
        return [str(name) for name in self.curve["added"][: int(reached[0]) + 1 if len(reached) else None]]

    def to_pandas(self) -> Any:
        """One row per item: the item, label, confidence, contested, dissenters, and p_<class> for each class."""
        return to_pandas(self.votes.identity, self._columns())

    def to_polars(self) -> Any:
        """Like `to_pandas`, as a Polars frame; no label is null."""
        columns = self._columns()
        del columns["dissenters"]
        frame = to_polars(self.votes.identity, columns, nulls=["label"])
        import polars as pl

        lists = pl.Series("dissenters", self.dissenters, pl.List(pl.String))
        return frame.insert_column(frame.columns.index("contested") + 1, lists)

    def _columns(self) -> dict[str, NDArray[Any]]:
        dissenters = np.empty(len(self), object)
        dissenters[:] = self.dissenters
        shares = {f"p_{c}": self.labels.probabilities[:, i] for i, c in enumerate(self.labels.classes)}
        labels = {"label": self.labels.labels, "confidence": self.labels.confidence}
        return {**labels, "contested": self.contested, "dissenters": dissenters, **shares}

    def _repr_html_(self) -> str:
        """The report card of the judges as an HTML table."""
        return self.judges.to_html(repr(self))

    def __repr__(self) -> str:
        failed, odd = int(self.judgments.failed.sum()), int(self.judgments.unparsable.sum())
        turned = f"; verdicts turned around in order {show_some(self.judgments.turned)}" * bool(self.judgments.turned)
        return (
            f"Jury({len(self):,} items, {self.votes.n_lfs} judges: {int(self.contested.sum()):,} contested; "
            f"{len(self.judgments.judge):,} judgments, {failed:,} failed, {odd:,} unparsable{turned})"
        )
