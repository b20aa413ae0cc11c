"""What each LF is worth: counts, accuracy, its effect on the labels, and which LFs depend on each other.

Flows in: votes, or patterns that were counted elsewhere, perhaps the truth, and a label model. Flows out: tables. All
of it is computed on patterns, so that only grouping takes longer when there are more items.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_number
from hyperlabel.columns.arrays import as_list
from hyperlabel.columns.sources import exact_array
from hyperlabel.errors import ParameterError
from hyperlabel.kernels import Float64
from hyperlabel.labels import Labels
from hyperlabel.labels.decide import TIE
from hyperlabel.lf.dependence import compare_votes, correlate, count_agreements, count_compatible, count_shared
from hyperlabel.lf.leave_one_out import LeaveOneOut, affordable_items, leave_one_out, sample_items
from hyperlabel.lf.statistics import Counts, VoteStatistics, share, sum_by_lf
from hyperlabel.lf.table import ResultTable
from hyperlabel.metrics import Metric, check_metric
from hyperlabel.models import LabelModel, choose_model
from hyperlabel.patterns import Patterns
from hyperlabel.plots import new_axes, plot_bars, plot_grid
from hyperlabel.shown import html_table, show, show_some
from hyperlabel.votes.classes import decode
from hyperlabel.votes.items import Identity

DUPLICATE, NEAR_DUPLICATE, DEPENDENT = "duplicate", "near-duplicate", "dependent"

_GROUPS = 10_000  # of labels by confidence, at most: more would only cost memory
_FEW = 5  # items on which a pair must agree before it is called dependent


class LFAnalysis(VoteStatistics):
    """Analysis of LFs by their votes.

    Args:
        votes: The votes, in any form that `Votes` takes; or `Patterns`, counted where the data are.
        truth: (n,) true classes, -1 for unknown; or a mapping from item to class.
        lfs: Names of the LFs; those of the votes if not given.
        model: The label model used in place of the truth, or its short name; the hyper label model if not given.
            One that is not fitted reads these votes, as a copy.
        metric: What the model's labels should be good at, as for `LabelModel.predict`.

    Attributes:
        patterns: The distinct rows of votes.
        truth: (p, k) items of each pattern and true class; None without truth.
        lf_names: One name per LF.

    >>> analysis = LFAnalysis([[0, 0, -1], [1, 0, -1], [1, 1, -1], [-1, 1, 1]], truth=[0, 1, 1, 0])
    >>> analysis.coverage.tolist(), analysis.conflicts.tolist()
    ([0.75, 1.0, 0.25], [0.25, 0.25, 0.0])
    >>> analysis.precision.tolist()
    [1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        votes: object,
        truth: object = None,
        *,
        lfs: Sequence[str] | None = None,
        model: LabelModel | str | None = None,
        metric: Metric = "accuracy",
    ) -> None:
        self.metric = check_metric(metric)
        self._given: LabelModel = choose_model(model)
        patterns, self._judged = _read(self._given, votes, truth)
        super().__init__(patterns, None if self._judged is None else patterns.count_labels(self._judged.truth))
        m = self.n_lfs
        own = self.patterns.lf_names or tuple(f"lf{j}" for j in range(m))
        self.lf_names = own if lfs is None else _check_names(lfs, m)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes."""
        return self.patterns.classes

    @cached_property
    def model(self) -> LabelModel:
        """The model: as given if it is fitted, otherwise a copy that is fitted on these votes."""
        return self._given.fitted_on(self.patterns)

    @cached_property
    def _verdicts(self) -> Labels:
        return self.model.label_patterns(self.patterns, self.metric)

    @property
    def probabilities(self) -> Float64:
        """The model's probabilities for each pattern. (p, k)."""
        return self._verdicts.probabilities

    @property
    def labels(self) -> NDArray[np.intp]:
        """The model's label of each pattern, as a class number; -1 for none. (p,)."""
        return self._verdicts.best

    @cached_property
    def posterior(self) -> Float64:
        """What is used in place of the truth: 1 for the most probable class, divided among ties. (p, k).

        Labels, not probabilities, so that all label models are treated alike. The paper's orders the classes well, but
        its probabilities are so close to even that every LF would look like a coin toss.
        """
        tied = self.probabilities >= self.probabilities.max(1, keepdims=True) - TIE
        shared: Float64 = tied / tied.sum(1, keepdims=True)
        return shared

    @property
    def estimated_accuracy(self) -> Float64:
        """Share of each LF's votes that agree with the model's labels; NaN for an LF that never votes. (m,).

        An estimate of precision without truth. It says little if an LF is often the only one to vote (`alone`),
        since then its vote is the label.
        """
        right = sum_by_lf(self.patterns, self.patterns.of_votes(self.posterior))
        return share(right, self.votes)

    def leave_one_out(self, n_items: int | None = None) -> LeaveOneOut:
        """What changes when each LF is left out; the model labels the items without its votes, in one pass per LF.

        A model that is not fitted reads the other votes from scratch; a fitted one judges them in its state.

        Args:
            n_items: How many items to look at, drawn at random with a fixed seed. If not given, all, unless many LFs
                on many patterns would take long.
        """
        if n_items is None:
            return self._leave_one_out
        expected = f"a whole number from 1 to {self.n_items}"
        check_number(n_items, "n_items", expected, least=1, most=self.n_items, whole=True)
        return leave_one_out(self._given, sample_items(self.patterns, n_items), self.metric)

    @cached_property
    def _leave_one_out(self) -> LeaveOneOut:
        return leave_one_out(self._given, sample_items(self.patterns, affordable_items(self.patterns)), self.metric)

    @cached_property
    def shared(self) -> Counts:
        """On how many items both LFs of a pair vote. (m, m); the diagonal is `votes`."""
        return count_shared(self.patterns)

    @cached_property
    def agreements(self) -> Counts:
        """On how many items both LFs of a pair vote for the same class. (m, m); the diagonal is `votes`."""
        return count_agreements(self.patterns.as_classes())

    @cached_property
    def pair_conflicts(self) -> Counts:
        """On how many items the LFs of a pair vote for different classes; votes for several may share one. (m, m)."""
        return self.shared - self.agreements - count_compatible(self.patterns)

    @cached_property
    def dependence(self) -> Float64:
        """Correlation of the votes of any two LFs given the class, from -1 to 1; NaN for an LF that never varies.

        LFs that are independent given the class have 0, however accurate they are: how often they then agree follows
        from how often each votes for each class. LFs that always vote alike have 1. (m, m).
        """
        return correlate(self.patterns.as_classes(), self.agreements, self.posterior)

    @property
    def similarity(self) -> Float64:
        """Jaccard index of the votes of any two LFs: votes they share, of all votes of either. (m, m)."""
        return compare_votes(self.votes, self.agreements)

    def dependent_pairs(self, dependence: float = 0.5, similarity: float = 0.9) -> ResultTable:
        """Pairs of LFs that say the same thing twice, most dependent first.

        A pair that agrees on fewer than five items is left out: too few to tell.

        Args:
            dependence: The least correlation given the class of a pair that is called dependent.
            similarity: The least Jaccard index of a pair that is called a near-duplicate; a duplicate has 1.

        Returns:
            Columns: lf, other, kind, shared, agreements, conflicts, similarity, dependence.

        >>> votes = np.random.default_rng(0).integers(0, 2, (50, 4))
        >>> votes[:, 3] = votes[:, 0]
        >>> print(LFAnalysis(votes).dependent_pairs()["kind"], LFAnalysis(votes).dependent_pairs()["other"])
        ['duplicate'] ['lf3']
        """
        for name, value in (("dependence", dependence), ("similarity", similarity)):
            check_number(value, name, "a number")
        alike, beyond = self.similarity, np.nan_to_num(self.dependence)
        found = ((alike >= similarity) | (beyond >= dependence)) & (self.agreements >= _FEW)
        one, other = np.nonzero(np.triu(found, 1))
        order = np.lexsort((-alike[one, other], -beyond[one, other]))
        one, other = one[order], other[order]
        kinds = np.select([alike == 1, alike >= similarity], [DUPLICATE, NEAR_DUPLICATE], DEPENDENT)
        names = np.array(self.lf_names)
        figures = {
            "shared": self.shared,
            "agreements": self.agreements,
            "conflicts": self.pair_conflicts,
            "similarity": alike,
            "dependence": self.dependence,
        }
        columns = {name: figure[one, other] for name, figure in figures.items()}
        return ResultTable({"lf": names[one], "other": names[other], "kind": kinds[one, other], **columns})

    def summary(self) -> ResultTable:
        """One row per LF.

        Returns:
            Columns: lf, polarity, votes, coverage, overlaps, conflicts; with truth correct, incorrect, precision;
            estimated_accuracy, alone, label_changes, probability_changes.

        >>> print(LFAnalysis([[0, 0, -1], [1, 0, -1], [1, 1, -1]]).summary()["polarity"])
        ['0, 1' '0, 1' '']
        """
        columns: dict[str, NDArray[Any]] = {
            "lf": np.array(self.lf_names),
            "polarity": np.array([", ".join(map(str, classes)) for classes in self.polarity]),
            "votes": self.votes,
            "coverage": self.coverage,
            "overlaps": self.overlaps,
            "conflicts": self.conflicts,
        }
        if self.truth is not None:
            columns |= {"correct": self.correct, "incorrect": self.incorrect, "precision": self.precision}
        left_out = self.leave_one_out()
        columns["estimated_accuracy"] = self.estimated_accuracy
        columns["alone"] = self.alone
        columns["label_changes"] = left_out.label_changes
        columns["probability_changes"] = left_out.probability_changes
        return ResultTable(columns)

    def errors(self, lf: str, items: Sequence[Any] | None = None) -> ResultTable:
        """The items that an LF got wrong.

        Args:
            lf: The LF's name.
            items: (n,) what to show of each item, such as its text.

        Returns:
            Columns: item (its identifier, or else its place), vote, truth, label (the model's), and what `items` holds.

        >>> analysis = LFAnalysis([[0, 1], [1, 1], [1, 0]], truth=[0, 0, 1], lfs=["links", "short"])
        >>> print(analysis.errors("links", ["hello", "see www", "buy now"]))
        item  vote  truth  label  text
           1     1      0      1  see www
        """
        judged = self._judged
        if judged is None:
            raise ParameterError("errors needs the truth of the items; give it: LFAnalysis(votes, truth)")
        if not isinstance(lf, str) or lf not in self.lf_names:
            raise ParameterError(f"lf is {show(lf)}; expected one of the LFs {show_some(self.lf_names)}")
        judged.identity.check_index(items, "items")
        values = None if items is None else as_list(items, "items", "a list with an entry per item")
        if values is not None and len(values) != self.n_items:
            raise ParameterError(
                f"items has {len(values)} entries, but there are {self.n_items} items; give one entry per item"
            )
        votes = self.patterns.expand(self._votes_of(self.lf_names.index(lf)))
        known = np.flatnonzero((votes >= 0) & (judged.truth >= 0))
        wrong = known[~self._right(votes[known], judged.truth[known])]
        columns: dict[str, NDArray[Any]] = {
            "item": wrong if judged.identity.ids is None else judged.identity.ids[wrong]
        }
        columns["vote"] = decode(votes[wrong], self.patterns.vote_names)
        numbers = {"truth": judged.truth, "label": self.patterns.expand(self.labels)}
        columns |= {name: decode(each[wrong], self.classes) for name, each in numbers.items()}
        if values is not None:
            columns["text"] = exact_array([values[i] for i in wrong])
        return ResultTable(columns)

    def _right(self, votes: NDArray[np.int64], truth: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether votes are right; one that is not for one class is, under the classes that it speaks for. (q,)."""
        outcomes = self.patterns.outcomes
        return np.asarray(votes == truth if outcomes is None else outcomes.supported[votes, truth])

    def _votes_of(self, j: int) -> NDArray[np.int64]:
        """The number of what an LF votes for in each pattern, -1 for no vote. -> (p,)."""
        votes, own = np.full(self.patterns.n_patterns, -1), self.patterns.lf == j
        votes[self.patterns.row[own]] = self.patterns.vote[own]
        return votes

    def _repr_html_(self) -> str:
        """The summary as an HTML table."""
        table = self.summary()
        shown = {name: column for name, column in table.columns.items() if name != "probability_changes"}
        caption = f"{self.n_lfs:,} LFs, {self.n_items:,} items, {len(self.classes):,} classes"
        rows = zip(*(map(_show, column.tolist()) for column in shown.values()), strict=True)
        return html_table([name.replace("_", " ") for name in shown], [list(row) for row in rows], caption)

    def reliability(self, groups: int = 10) -> ResultTable:
        """How often labels of similar confidence are right; needs truth.

        Args:
            groups: The number of groups of about equal size, most confident last.

        Returns:
            Columns: confidence, the mean of a group; right, the share of right labels; items.

        >>> table = LFAnalysis([[0, 0], [1, 1], [0, -1]], truth=[0, 1, 1]).reliability(groups=1)
        >>> table["items"].tolist(), table["right"].round(2).tolist()
        ([3], [0.67])
        """
        if self.truth is None:
            raise ParameterError("reliability needs the truth of the items; give it: LFAnalysis(votes, truth)")
        check_number(groups, "groups", f"a whole number from 1 to {_GROUPS}", least=1, most=_GROUPS, whole=True)
        labeled = np.flatnonzero((self.labels >= 0) & (self.truth.sum(1) > 0))
        confidence, truth = self.probabilities[labeled].max(1), self.truth[labeled]
        order = np.argsort(confidence, kind="stable")
        known = truth.sum(1)
        before = np.cumsum(known[order]) - known[order]
        group = np.empty(len(order), np.intp)
        group[order] = before * groups // max(1, known.sum())
        items = np.bincount(group, known, groups)
        right = np.bincount(group, truth[np.arange(len(truth)), self.labels[labeled]], groups)
        weight = np.bincount(group, confidence * known, groups)
        filled = items > 0
        shares = {"confidence": weight[filled] / items[filled], "right": right[filled] / items[filled]}
        return ResultTable({**shares, "items": items[filled].astype(np.int64)})

    def plot(self, ax: Any = None) -> Any:
        """Draw the accuracy of each LF, from the truth if it is known, else as estimated, and its coverage.

        Draws into `ax`, axes of matplotlib, or into new ones, and returns them.

        >>> LFAnalysis([[0, 0], [1, 0], [1, 1]]).plot().get_xlabel()  # doctest: +SKIP
        'estimated accuracy'
        """
        known = self.truth is not None
        drawn = plot_bars(list(self.lf_names), (self.precision if known else self.estimated_accuracy).tolist(), ax)
        shown = min(self.n_lfs, len(drawn.patches))
        drawn.plot(self.coverage[:shown], range(shown), "k|", markersize=10, label="coverage")
        drawn.set_xlabel("precision" if known else "estimated accuracy")
        drawn.set_xlim(0, 1)
        drawn.legend(loc="upper left", bbox_to_anchor=(1, 1))  # beside the bars, not on them
        return drawn

    def plot_conflicts(self, ax: Any = None) -> Any:
        """Draw what share of each LF's votes every other LF contradicts.

        Draws into `ax`, axes of matplotlib, or into new ones, and returns them.

        >>> LFAnalysis([[0, 0], [1, 0], [1, 1]]).plot_conflicts().get_title()  # doctest: +SKIP
        'share of the votes of a row that a column contradicts'
        """
        shares = self.pair_conflicts / np.maximum(self.votes, 1)[:, None]
        np.fill_diagonal(shares, np.nan)
        drawn = plot_grid(self.lf_names, shares, ax)
        drawn.set_title("share of the votes of a row that a column contradicts")
        return drawn

    def plot_reliability(self, ax: Any = None) -> Any:
        """Draw how often labels of similar confidence are right; needs truth.

        Draws into `ax`, axes of matplotlib, or into new ones, and returns them.

        >>> LFAnalysis([[0, 0], [1, 0], [1, 1]], [0, 1, 1]).plot_reliability().get_xlabel()  # doctest: +SKIP
        'confidence'
        """
        table = self.reliability()
        drawn = new_axes(ax, 5)
        drawn.plot([0, 1], [0, 1], "--", color="0.6", label="calibrated")
        drawn.plot(table["confidence"], table["right"], "o-", label="labels, in groups of equal size")
        low = min([1 / len(self.classes), *table["right"], *table["confidence"]])
        drawn.set(xlabel="confidence", ylabel="share of right labels", xlim=(low - 0.02, 1.02), ylim=(low - 0.02, 1.02))
        drawn.legend()
        return drawn


@dataclass(frozen=True, eq=False)
class Judged:
    """Items, some with known truth."""

    truth: NDArray[np.int64]  # (n,) class numbers, -1 for unknown
    identity: Identity  # how the items are identified


def _read(model: LabelModel, votes: object, truth: object) -> tuple[Patterns, Judged | None]:
    """Patterns in the classes and the order of LFs of the model, and the true classes of their items."""
    if truth is None:
        return model.read(votes), None
    read, known = model.read_votes(votes).with_labels(truth, "truth")
    # Truth may add a class, which a model that is not fitted learns about; LFs are put in the model's order.
    return model.read(read), Judged(known, read.identity)


def _check_names(lfs: Sequence[str], m: int) -> tuple[str, ...]:
    expected = f"a list with one name for each of the {m} LFs"
    names = as_list(lfs, "lfs", expected)
    if len(names) != m:
        raise ParameterError(f"lfs is {show(lfs, 80)}; expected {expected}")
    return tuple(map(str, names))


def _show(value: Any) -> str:
    """A cell of the summary: shares with three digits, nothing for NaN."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
