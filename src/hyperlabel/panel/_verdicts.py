"""The verdicts of a panel: rows by item, the card, the curve of cost, and other ways to decide."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import ABOVE_ZERO, Float64, check_number, show_some
from hyperlabel.data import Labels, Votes, to_pandas, to_polars
from hyperlabel.lf import LFAnalysis, ResultTable
from hyperlabel.models import LabelModel
from hyperlabel.panel._agreement import Agreement, count_classes, measure_agreement
from hyperlabel.panel._baselines import BASELINES, choose_panel_model
from hyperlabel.panel._card import SEARCHED, Few, cheapest_judges, judge_card, judge_curve
from hyperlabel.panel._judgments import Judgments, class_cells

CONTESTED = 2 / 3
"""An item is contested if fewer than this share of its votes are for its label."""


@dataclass(frozen=True, eq=False, repr=False)
class Verdicts:
    """The verdicts of a panel, and statistics of its judges.

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
        return judge_curve(self.model, self._analysis.patterns, self.votes.lf_names, self._prices)

    @property
    def _prices(self) -> Float64:
        everybody = np.ones(len(self.judgments.judge), bool)
        return self.judgments.count_by_judge(everybody).astype(float) if self.costs is None else self.costs

    def enough(self, keep: float = 0.95) -> list[str]:
        """The cheapest judges whose labels are the panel's on a share of the items.

        All sets of up to 10 judges are tried; of larger panels, the first judges of `curve` are taken.

        Args:
            keep: The share of the items that must keep their label.
        """
        check_number(keep, "keep", "a share above 0, at most 1", least=ABOVE_ZERO, most=1)
        return find_cheapest(self, keep).judges

    def compare(self) -> ResultTable:
        """Labels of other models beside the panel's: majority vote, and with an order median and mean.

        Columns: model; same (share of the items with the panel's label); with gold accuracy on it, by models that did
        not see it; with an order also distance (mean number of classes between label and gold).
        """
        rivals = {name: choose_panel_model(name, self.ordinal) for name in self._rivals}
        rows = []
        for name, model in {"the panel": self.blind_model, **rivals}.items():
            if model is not None:
                best = model.fitted_on(self.votes).label(self.votes).best
                rows.append({"model": name, "same": (best == self.labels.best).mean()} | self._score(best))
        return ResultTable({name: np.array([row[name] for row in rows]) for name in rows[0]})

    @property
    def _rivals(self) -> tuple[str, ...]:
        return ("mv", *BASELINES) if self.ordinal and self.votes.outcomes is None else ("mv",)

    def _score(self, labels: NDArray[np.integer]) -> dict[str, float]:
        """Compare (n,) labels with gold."""
        if self.gold is None or not (both := (self.gold >= 0) & (labels >= 0)).any():
            return {}
        scores = {"accuracy": float((labels == self.gold)[both].mean())}
        return scores | {"distance": float(np.abs(labels - self.gold)[both].mean())} if self.ordinal else scores

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


def find_cheapest(verdicts: Verdicts, keep: float) -> Few:
    """Find the judges of `Verdicts.enough`, their price and the share of the labels that they keep."""
    names = verdicts.votes.lf_names
    if len(names) <= SEARCHED:
        return cheapest_judges(verdicts.model, verdicts._analysis.patterns, names, verdicts._prices, keep)
    curve = verdicts.curve
    last = int((curve["kept"] >= keep).argmax())
    return Few(
        [str(name) for name in curve["added"][: last + 1]], float(curve["price"][last]), float(curve["kept"][last])
    )
