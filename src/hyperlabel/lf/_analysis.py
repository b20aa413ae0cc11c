"""Analysis of LFs: counts, accuracy, the effect of each on the labels, and which depend on each other.

Flows in: votes, or patterns that were counted elsewhere, perhaps the truth, and a label model. Flows out: tables. All
of it is computed on patterns, so that only grouping takes longer when there are more items.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import (
    Float64,
    Metric,
    check_metric,
    check_number,
    html_table,
    new_axes,
    plot_bars,
    plot_grid,
    show,
    show_some,
    wilson_interval,
)
from hyperlabel.data import TIE, Identity, Labels, as_list, decode, exact_array
from hyperlabel.errors import ParameterError, require
from hyperlabel.lf._statistics import (
    MOST_FITS,
    LeaveOneOut,
    VoteStatistics,
    affordable_items,
    correlate,
    leave_one_out,
    sample_items,
    share,
    sum_by_lf,
)
from hyperlabel.models import LabelModel, choose_model

DUPLICATE, NEAR_DUPLICATE, DEPENDENT = "duplicate", "near-duplicate", "dependent"
_GROUPS = 10_000  # of labels by confidence, at most: more would only cost memory
_FEW = 5  # items on which a pair must agree before it is called dependent


@dataclass(frozen=True, eq=False, repr=False)
class ResultTable:
    """Columns of equal length, by name.

    >>> table = ResultTable({"lf": np.array(["a", "b"]), "coverage": np.array([0.5, 0.25])})
    >>> table["coverage"].tolist(), next(table.rows())
    ([0.5, 0.25], {'lf': 'a', 'coverage': 0.5})
    >>> print(table)
    lf  coverage
    a      0.500
    b      0.250
    """

    columns: dict[str, NDArray[Any]]  # the columns: strings, whole numbers or floats; NaN where there is no value

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows, as mappings from column to value."""
        values = [column.tolist() for column in self.columns.values()]
        return (dict(zip(self.columns, row, strict=True)) for row in zip(*values, strict=True))

    def to_pandas(self) -> Any:
        """Return a pandas frame."""
        require("pandas", extra="pandas")
        import pandas as pd

        return pd.DataFrame(self.columns)

    def to_polars(self) -> Any:
        """Return a Polars frame."""
        require("polars", extra="cli")
        import polars as pl

        return pl.DataFrame(self.columns)

    def __str__(self) -> str:
        cells = [[name, *map(_show, column)] for name, column in self.columns.items()]
        widths = [max(map(len, column)) for column in cells]
        texts = [column.dtype.kind in "UO" for column in self.columns.values()]
        lines = []
        for row in zip(*cells, strict=True):
            padded = [f"{c:{w}}" if t else f"{c:>{w}}" for c, w, t in zip(row, widths, texts, strict=True)]
            lines.append("  ".join(padded).rstrip())
        return "\n".join(lines)

    __repr__ = __str__

    def to_html(self, caption: str = "") -> str:
        """Return the table as HTML, in which every value is escaped."""
        columns = (map(_show, column) for column in self.columns.values())
        return html_table(list(self.columns), zip(*columns, strict=True), caption)

    def _repr_html_(self) -> str:
        """The table as notebooks show it."""
        return self.to_html()


def _show(value: Any) -> str:
    if not isinstance(value, float | np.floating):
        return str(value)
    return "" if np.isnan(value) else f"{value:.3f}"


class LFAnalysis(VoteStatistics):
    """Analysis of LFs by their votes.

    Args:
        votes: The votes, in any form that `Votes` takes; or `Patterns`, counted where the data are.
        truth: (n,) true classes, -1 for unknown; or a mapping from item to class.
        lfs: Names of the LFs; those of the votes if not given.
        model: The label model used in place of the truth, or its short name; the hyper label model if not given.
            One that is not fitted reads these votes, as a copy.
        metric: Metric to optimize the model's labels for, as for `LabelModel.predict`.

    Attributes:
        patterns: The distinct rows of votes.
        truth: (p, k) items of each pattern and true class; None without truth.
        n_lfs: Number of LFs, m.
        n_items: Number of items, n.
        classes: The classes.
        lf_names: One name per LF.

    >>> analysis = LFAnalysis([[0, 0, -1], [1, 0, -1], [1, 1, -1], [-1, 1, 1]], truth=[0, 1, 1, 0])
    >>> analysis.coverage.tolist(), analysis.conflicts.tolist()
    ([0.75, 1.0, 0.25], [0.25, 0.25, 0.0])
    >>> analysis.precision.tolist(), analysis
    ([1.0, 0.5, 0.0], LFAnalysis(3 LFs, 4 items, 2 classes))
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
        self._item_truth: NDArray[np.int64] | None = None  # (n,) class numbers, -1 for unknown
        self._identity: Identity | None = None  # how the items are identified
        self._left_out: dict[int, LeaveOneOut] = {}  # by the number of items looked at
        if truth is not None:
            # Truth may add a class, which a model that is not fitted learns about; LFs are put in the model's order.
            votes, self._item_truth = self._given.read_votes(votes).with_labels(truth, "truth")
            self._identity = votes.identity
        patterns = self._given.read(votes)
        super().__init__(patterns, None if self._item_truth is None else patterns.count_labels(self._item_truth))
        m = self.n_lfs
        self.lf_names = self.patterns.lf_names or tuple(f"lf{j}" for j in range(m))
        if lfs is not None:
            expected = f"a list with one name for each of the {m} LFs"
            self.lf_names = tuple(map(str, as_list(lfs, "lfs", expected)))
            if len(self.lf_names) != m:
                raise ParameterError(f"lfs is {show(lfs, 80)}; expected {expected}")

    def __repr__(self) -> str:
        return f"LFAnalysis({self._caption})"

    def __str__(self) -> str:
        return f"{self._caption}\n\n{self.summary()}"

    @property
    def _caption(self) -> str:
        return f"{self.n_lfs:,} LFs, {self.n_items:,} items, {len(self.classes):,} classes"

    @cached_property
    def model(self) -> LabelModel:
        """The model: as given if it is fitted, otherwise a copy that is fitted on these votes."""
        return self._given.fitted_on(self.patterns)

    @cached_property
    def pattern_labels(self) -> Labels:
        """The model's labels of the patterns."""
        return self.model.label_patterns(self.patterns, self.metric)

    @property
    def probabilities(self) -> Float64:
        """The model's probabilities for each pattern. (p, k)."""
        return self.pattern_labels.probabilities

    @property
    def labels(self) -> NDArray[np.intp]:
        """The model's label of each pattern, as a class number; -1 for none. (p,)."""
        return self.pattern_labels.best

    @cached_property
    def posterior(self) -> Float64:
        """Substitute for the truth: 1 for the most probable class, divided among ties. (p, k).

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

    @property
    def precision_interval(self) -> Float64:
        """Wilson's 95% interval of each LF's precision by the truth that is known; NaN where there is none. (m, 2).

        >>> LFAnalysis([[0], [1], [1], [1]], truth=[0, 1, 0, -1]).precision_interval.round(2).tolist()
        [[0.21, 0.94]]
        """
        if self.truth is None:
            return np.full((self.n_lfs, 2), np.nan)
        return np.stack(wilson_interval(self.correct, self.correct + self.incorrect), 1)

    @property
    def estimate_note(self) -> str:
        """Caveat about estimated accuracies, to be shown next to them.

        >>> LFAnalysis([[0, 1], [1, 1]]).estimate_note
        'estimated accuracies are not checked by gold: LFs that err together look right'
        """
        if self.truth is None:
            return "estimated accuracies are not checked by gold: LFs that err together look right"
        ends = self.precision_interval
        width = np.diff(ends[~np.isnan(ends).any(1)], axis=1)
        typical = f"; precisions are known to about ±{50 * np.median(width):.0f} points (95%)" if len(width) else ""
        return f"estimated accuracies are the model's; precisions are those of items with known truth{typical}"

    def leave_one_out(self, n_items: int | None = None) -> LeaveOneOut:
        """Measure what changes when each LF is left out: the model labels the items without its votes.

        A model that is not fitted reads the other votes from scratch; a fitted one judges them in its state. With more
        than 100 LFs, the model reads all votes once and judges in that state.

        Args:
            n_items: Number of items to look at, drawn at random with a fixed seed. If not given, all, unless many LFs
                on many patterns would take long.
        """
        if n_items is None:
            n_items = affordable_items(self.patterns)
        else:
            expected = f"a whole number from 1 to {self.n_items}"
            check_number(n_items, "n_items", expected, least=1, most=self.n_items, whole=True)
        if n_items not in self._left_out:
            model = self._given if self.n_lfs <= MOST_FITS else self.model
            self._left_out[n_items] = leave_one_out(model, sample_items(self.patterns, n_items), self.metric)
        return self._left_out[n_items]

    @cached_property
    def dependence(self) -> Float64:
        """Correlation of the votes of any two LFs given the class, from -1 to 1; NaN for an LF that never varies.

        LFs that are independent given the class have 0, however accurate they are: how often they then agree follows
        from how often each votes for each class. LFs that always vote alike have 1. (m, m).
        """
        return correlate(self.patterns.as_classes(), self.agreements, self.posterior)

    def dependent_pairs(self, dependence: float = 0.5, similarity: float = 0.9) -> ResultTable:
        """List pairs of LFs that say the same thing twice, most dependent first.

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
        alike, beyond = self.similarity, np.nan_to_num(self.dependence)
        dependent = ((alike >= similarity) | (beyond >= dependence)) & (self.agreements >= _FEW)
        one, other = np.nonzero(np.triu(dependent, 1))
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
        """Return a table with one row per LF.

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
        columns |= {"estimated_accuracy": self.estimated_accuracy, "alone": self.alone}
        changes = self.leave_one_out()
        columns |= {"label_changes": changes.label_changes, "probability_changes": changes.probability_changes}
        return ResultTable(columns)

    def errors(self, lf: str, items: Sequence[Any] | None = None) -> ResultTable:
        """List the items that an LF got wrong.

        Args:
            lf: The LF's name.
            items: (n,) something to show of each item, such as its text.

        Returns:
            Columns: item (its identifier, or else its position), vote, truth, label (the model's), and the
                entry of `items`.

        >>> analysis = LFAnalysis([[0, 1], [1, 1], [1, 0]], truth=[0, 0, 1], lfs=["links", "short"])
        >>> print(analysis.errors("links", ["hello", "see www", "buy now"]))
        item  vote  truth  label  text
           1     1      0      1  see www
        """
        truth, identity = self._item_truth, self._identity
        if truth is None or identity is None:
            raise ParameterError("errors needs the truth of the items; give it: LFAnalysis(votes, truth)")
        if lf not in self.lf_names:
            raise ParameterError(f"lf is {show(lf)}; expected one of the LFs {show_some(self.lf_names)}")
        identity.check_index(items, "items")
        values = None if items is None else as_list(items, "items", "a list with an entry per item")
        if values is not None and len(values) != self.n_items:
            raise ParameterError(
                f"items has {len(values)} entries, but there are {self.n_items} items; give one entry per item"
            )
        votes = self.patterns.expand(self._votes_of(self.lf_names.index(lf)))
        checked = np.flatnonzero((votes >= 0) & (truth >= 0))
        wrong = checked[~self._right(votes[checked], truth[checked])]
        columns: dict[str, NDArray[Any]] = {"item": wrong if identity.ids is None else identity.ids[wrong]}
        columns["vote"] = decode(votes[wrong], self.patterns.vote_names)
        columns["truth"] = decode(truth[wrong], self.classes)
        columns["label"] = decode(self.patterns.expand(self.labels)[wrong], self.classes)
        if values is not None:
            columns["text"] = exact_array([values[i] for i in wrong])
        return ResultTable(columns)

    def _right(self, votes: NDArray[np.int64], truth: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Compare votes with the truth; one for several classes is right if the truth is among them. (q,)."""
        outcomes = self.patterns.outcomes
        return np.asarray(votes == truth if outcomes is None else outcomes.supported[votes, truth])

    def _votes_of(self, j: int) -> NDArray[np.int64]:
        """The number of what an LF votes for in each pattern, -1 for no vote. -> (p,)."""
        votes, of_lf = np.full(self.patterns.n_patterns, -1), self.patterns.lf == j
        votes[self.patterns.row[of_lf]] = self.patterns.vote[of_lf]
        return votes

    def _repr_html_(self) -> str:
        """The summary as an HTML table."""
        shown = {name.replace("_", " "): column for name, column in self.summary().columns.items()}
        del shown["probability changes"]
        return ResultTable(shown).to_html(self._caption)

    def reliability(self, groups: int = 10) -> ResultTable:
        """Return the share of right labels among labels of similar confidence; needs truth.

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
        n = truth.sum(1)  # items of each pattern
        before = np.cumsum(n[order]) - n[order]
        group = np.empty(len(order), np.intp)
        group[order] = before * groups // max(1, n.sum())
        items = np.bincount(group, n, groups)
        right = np.bincount(group, truth[np.arange(len(truth)), self.labels[labeled]], groups)
        weight = np.bincount(group, confidence * n, groups)
        filled = items > 0
        shares = {"confidence": weight[filled] / items[filled], "right": right[filled] / items[filled]}
        return ResultTable({**shares, "items": items[filled].astype(np.int64)})

    def plot(self, ax: Any = None) -> Any:
        """Draw accuracy (by the truth if known) and coverage of each LF into `ax` or new axes; return the axes."""
        has_truth = self.truth is not None
        accuracy = self.precision if has_truth else self.estimated_accuracy
        drawn = plot_bars(list(self.lf_names), accuracy.tolist(), ax)
        shown = min(self.n_lfs, len(drawn.patches))
        drawn.plot(self.coverage[:shown], range(shown), "k|", markersize=10, label="coverage")
        drawn.set_xlabel("precision" if has_truth else "estimated accuracy")
        drawn.set_xlim(0, 1)
        drawn.legend(loc="upper left", bbox_to_anchor=(1, 1))  # beside the bars, not on them
        return drawn

    def plot_conflicts(self, ax: Any = None) -> Any:
        """Draw the share of each LF's votes that others contradict into `ax` or new axes; return the axes."""
        shares = self.pair_conflicts / np.maximum(self.votes, 1)[:, None]
        np.fill_diagonal(shares, np.nan)
        drawn = plot_grid(self.lf_names, shares, ax)
        drawn.set_title("share of the votes of a row that a column contradicts")
        return drawn

    def plot_reliability(self, ax: Any = None) -> Any:
        """Draw the share of right labels against their confidence into `ax` or new axes; needs truth."""
        table = self.reliability()
        drawn = new_axes(ax, 5)
        drawn.plot([0, 1], [0, 1], "--", color="0.6", label="calibrated")
        drawn.plot(table["confidence"], table["right"], "o-", label="labels, in groups of equal size")
        low = min([1 / len(self.classes), *table["right"], *table["confidence"]])
        drawn.set(xlabel="confidence", ylabel="share of right labels", xlim=(low - 0.02, 1.02), ylim=(low - 0.02, 1.02))
        drawn.legend()
        return drawn
