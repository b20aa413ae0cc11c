"""From probabilities to labels: ties, labels for F1, `Labels` of items or patterns, and columns added to a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import (
    Float64,
    Ints,
    check_number,
    hash_rows,
    html_table,
    mix_bits,
    new_axes,
    over_classes,
    show_counts,
    text_table,
)
from hyperlabel.data._classes import ABSTAIN, Classes, decode
from hyperlabel.data._items import NO_ORIGIN, Identity, Origin, to_pandas, to_polars
from hyperlabel.data._patterns import Patterns
from hyperlabel.errors import ParameterError

TieBreak = Literal["first", "abstain", "random"]

TIE = 1e-6  # probabilities closer than this are tied: the paper's network computes in float32
_FEW_CLASSES = 8
_F1_ROUNDS = 50  # far more than `find_f1_rule` ever takes
_LEAST_ITEMS = 1e-12  # avoids division by zero for a class that no item has
_SHOWN_ROWS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Labels:
    """Labels with their probabilities, one row per item or per pattern.

    Attributes:
        best: (n,) the class number of each label, -1 for none.
        probabilities: (n, k) of the classes.
        classes: The classes.
        items: (n,) identifiers of the items, if there are any.
        origin: How the items were named in the input.
        source: (n,) where each label comes from, such as `votes`, `text` or `gold`, None for no label; just None
            if all come from votes.
        model: The fitted model that `hyperlabel.label` made them with: it labels new items, and can be saved.

    >>> labels = Labels(np.array([1, -1]), np.array([[0.2, 0.8], [0.5, 0.5]]), ("ham", "spam"))
    >>> labels.labels.tolist(), labels.confidence.tolist()
    (['spam', None], [0.8, 0.5])
    """

    best: NDArray[np.intp]
    probabilities: Float64
    classes: Classes
    items: NDArray[Any] | None = None
    origin: Origin = NO_ORIGIN
    source: NDArray[Any] | None = None
    model: Any = None

    def __len__(self) -> int:
        return len(self.best)

    def __getitem__(self, key: Any) -> "Labels":
        """The labels of a slice, a mask or positions."""
        kept = self.identity.find_positions(key)
        items, source = (None if each is None else each[kept] for each in (self.items, self.source))
        return Labels(self.best[kept], self.probabilities[kept], self.classes, items, self.origin.take(kept), source)

    @property
    def labels(self) -> NDArray[Any]:
        """The class of each item; no label is -1 if classes are numbers, else None. (n,)."""
        return decode(self.best, self.classes)

    @property
    def confidence(self) -> Float64:
        """The probability of each label, or of the most probable class if there is no label. (n,)."""
        of_best = np.take_along_axis(self.probabilities, np.maximum(self.best, 0)[:, None], axis=1)[:, 0]
        return np.where(self.best == ABSTAIN, over_classes(np.maximum, self.probabilities), of_best)

    def take(self, index: Ints, items: NDArray[Any] | None = None, origin: Origin = NO_ORIGIN) -> "Labels":
        """The labels of an index, for instance from patterns to their items."""
        index = index.astype(np.intp, copy=False)  # other types are slow
        source = None if self.source is None else self.source.take(index)
        return Labels(
            self.best.take(index), self.probabilities.take(index, axis=0), self.classes, items, origin, source
        )

    def to_pandas(self) -> Any:
        """A pandas frame with the index of the input: `label`, `confidence`, `label_source` if known, `p_<class>`.

        Identifiers that came in a column are the first column.

        >>> labels = Labels(np.array([1, -1]), np.array([[0.2, 0.8], [0.5, 0.5]]), ("ham", "spam"))
        >>> labels.to_pandas().columns.tolist()
        ['label', 'confidence', 'p_ham', 'p_spam']
        """
        return to_pandas(self.identity, self._columns())

    def to_polars(self) -> Any:
        """A Polars frame: identifiers, if there are any, `label` (null for none), `confidence` and `p_<class>`."""
        return to_polars(self.identity, self._columns(), nulls=["label"])

    def __repr__(self) -> str:
        counts = np.bincount(self.best[self.best >= 0], minlength=len(self.classes)).tolist()
        shown = show_counts({c: n for c, n in zip(self.classes, counts, strict=True) if n})
        return f"Labels({len(self):,} items: {shown}; {(self.best == ABSTAIN).sum():,} without a label)"

    def __str__(self) -> str:
        """The counts of labels, and the first items that have one."""
        return text_table(*self._preview(), repr(self))

    def _repr_html_(self) -> str:
        """The counts of labels, and the first items that have one, as an HTML table."""
        return html_table(*self._preview(), repr(self))

    def _preview(self) -> tuple[list[str], list[list[object]]]:
        """Header and rows of the first items that have a label, or of the first items if none has."""
        rows = np.flatnonzero((self.best != ABSTAIN) | (self.best == ABSTAIN).all())[:_SHOWN_ROWS]
        few, ids = self[rows], rows if self.items is None else self.items[rows]
        names = decode(few.best, self.classes).tolist()
        columns: dict[str, Any] = {"item": ids.tolist(), "label": names, "confidence": few.confidence.round(3).tolist()}
        if few.source is not None:
            columns["label_source"] = few.source.tolist()
        return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]

    def plot(self, ax: Any = None) -> Any:
        """Draw a histogram of the confidence of the labels, by class.

        Draws into `ax`, axes of matplotlib, or into new ones, and returns them.
        """
        axes = new_axes(ax)
        numbers = np.unique(self.best[self.best >= 0])
        values = [self.confidence[self.best == number] for number in numbers]
        names = [str(self.classes[number]).replace("$", r"\$") for number in numbers]
        if len(numbers):
            bins = np.linspace(1 / len(self.classes), 1, 21).tolist() if len(self.classes) > 1 else 1
            axes.hist(values, bins, stacked=True, label=names)
            axes.legend()
        axes.set(xlabel="confidence", ylabel="items with a label")
        return axes

    @property
    def identity(self) -> Identity:
        """The items and their identifiers."""
        return Identity(len(self), self.items, self.origin)

    def _columns(self) -> dict[str, NDArray[Any]]:
        shares = {f"p_{c}": self.probabilities[:, i] for i, c in enumerate(self.classes)}
        source = {} if self.source is None else {"label_source": self.source}
        return {"label": self.labels, "confidence": self.confidence, **source, **shares}

    @property
    def balance(self) -> dict[Any, float]:
        """The share of each class among the items with a label, by their probabilities."""
        labeled = self.best != ABSTAIN
        shares = self.probabilities[labeled].mean(0) if labeled.any() else np.full(len(self.classes), np.nan)
        return dict(zip(self.classes, shares.tolist(), strict=True))

    def decide(self, threshold: float | None = None, costs: object = None) -> "Labels":
        """Give a label only where it is worth giving, and none elsewhere. Probabilities stay the same.

        Args:
            threshold: The least probability of a label: at 0.9, about nine of ten labels are right if the
                probabilities are.
            costs: (k, k) numbers, the cost of each label (column) for each true class (row), in the order of the
                classes; with one more column, that of no label. Each item gets the label with the lowest expected cost.

        >>> labels = Labels(np.array([1, 1]), np.array([[0.2, 0.8], [0.4, 0.6]]), ("ham", "spam"))
        >>> labels.decide(threshold=0.7).labels.tolist()
        ['spam', None]
        >>> labels.decide(costs=[[0, 10], [1, 0]]).labels.tolist()  # a ham that is lost costs ten spams
        ['ham', 'ham']
        """
        best = self.best if costs is None else self._cheapest(costs)
        if threshold is not None:
            check_number(threshold, "threshold", "a number from 0 to 1", least=0, most=1)
            best = np.where(replace(self, best=best).confidence >= threshold, best, ABSTAIN)
        source = None if self.source is None else np.where(best == ABSTAIN, None, self.source)  # type: ignore[call-overload]
        return replace(self, best=best, source=source)

    def _cheapest(self, costs: object) -> NDArray[np.intp]:
        """The label of each item with the lowest expected cost; items without a label keep none. -> (n,)."""
        table, k = np.asarray(costs, np.float64), len(self.classes)
        if table.shape not in ((k, k), (k, k + 1)) or not np.isfinite(table).all():
            raise ParameterError(
                f"costs has shape {table.shape}; expected finite numbers, ({k}, {k}) or, with no label, ({k}, {k + 1})"
            )
        best = (self.probabilities @ table).argmin(1)
        return np.where((self.best == ABSTAIN) | (best == k), ABSTAIN, best)

    def with_gold(self, gold: NDArray[np.integer]) -> "Labels":
        """The same, with the gold class where it is known: its label, with probability 1. (n,) class numbers or -1."""
        rows = np.flatnonzero(gold >= 0)
        best, probabilities, source = self.best.copy(), self.probabilities.copy(), self.source
        best[rows], probabilities[rows] = gold[rows], 0
        probabilities[rows, gold[rows]] = 1
        if source is not None:
            source = source.copy()
            source[rows] = "gold"
        return replace(self, best=best, probabilities=probabilities, source=source)


def decide(probabilities: Float64, patterns: Patterns, tie_break: TieBreak, seed: int) -> NDArray[np.intp]:
    """Return the most probable class of each pattern, -1 where no LF votes. (p, k) -> (p,).

    Where the best classes are tied, it is the `first` of them, none (`abstain`), or a `random` one that depends on the
    seed and the votes, not on the order of items.
    """
    tied = probabilities >= over_classes(np.maximum, probabilities)[:, None] - TIE
    n, k = tied.shape
    best = np.zeros(n, np.intp)
    if k > _FEW_CLASSES:
        best = np.asarray(tied.argmax(1), np.intp)
    else:  # class by class, since argmax is slow on short rows
        for c in range(k - 1, -1, -1):
            best[tied[:, c]] = c
    if tie_break != "first":
        several = np.flatnonzero(tied.sum(1) > 1)
        best[several] = ABSTAIN
        if tie_break == "random":  # one of the tied classes, by a hash of the pattern's votes
            hashes = hash_rows(patterns.starts, patterns.lf, patterns.vote, patterns.n_classes, int(seed))
            chosen = mix_bits(hashes) % tied.sum(1).astype(np.uint64)
            best[several] = (tied.cumsum(1) > chosen[:, None]).argmax(1)[several]
    best[~patterns.has_votes] = ABSTAIN
    return best


@dataclass(frozen=True)
class F1Rule:
    """The rule that labels items for F1, found once for a set.

    With two classes F1 is that of the second class. With more it is macro F1, the mean of the F1 of every class.
    """

    f1: Float64  # (c,) the expected F1 of each class that counts: the second of two, or all
    items: Float64  # (c,) items labeled so plus items expected to be so: the denominator of its F1

    def gains(self, probabilities: Float64) -> Float64:
        """Return how much labeling an item with a class raises the F1 of the class. (p, k) -> (p, c)."""
        gains: Float64 = probabilities[:, -len(self.f1) :] * (2 / self.items)
        gains -= self.f1 / self.items
        return gains

    def decide(self, probabilities: Float64) -> NDArray[np.intp]:
        """Return the class of each row's label. (p, k) -> (p,).

        With two classes an item gets the second if that raises F1; with more it gets the class that raises F1 most.
        """
        gains = self.gains(probabilities)
        return np.asarray(gains[:, 0] >= 0 if probabilities.shape[1] == 2 else gains.argmax(1), np.intp)

    def sums(self, probabilities: Float64, items: NDArray[np.integer]) -> tuple[Float64, Float64, Float64]:
        """Sum items labeled with each class, expected hits among them, expected items. (p, k), (p,) -> (c,) each."""
        k, best, weight = probabilities.shape[1], self.decide(probabilities), items.astype(np.float64)
        hits = weight * probabilities[np.arange(len(best)), best]
        called, right = (np.asarray(np.bincount(best, each, k), np.float64) for each in (weight, hits))
        first = k - len(self.f1)  # the first class that counts
        return called[first:], right[first:], (weight @ probabilities)[first:]


def find_f1_rule(sums: Callable[[F1Rule], tuple[Float64, ...]], n_classes: int) -> F1Rule:
    """Find the rule whose labels have the best expected F1, from the sums (`F1Rule.sums`) of all items under a rule.

    If the probabilities are right, a set S of items labeled c has F1 of about 2 sum_S q / (|S| + sum q). Dinkelbach's
    algorithm finds the best S: label what raises the current F1, compute the new F1, and repeat while it grows. For one
    ratio, two classes, that is the optimum (W. Dinkelbach, "On nonlinear fractional programming", 1967); for the mean
    of several it starts at the most probable classes and ends at a rule that is no worse.
    """
    counting = 1 if n_classes == 2 else n_classes
    rule = best = F1Rule(np.zeros(counting), np.ones(counting))
    highest = -1.0
    for _ in range(_F1_ROUNDS):
        called, hits, expected = sums(rule)
        items = np.maximum(called + expected, _LEAST_ITEMS)
        f1 = 2 * hits / items
        if f1.mean() <= highest:
            break
        best, highest, rule = rule, float(f1.mean()), F1Rule(f1, items)
    return best


LabelKind = Literal["integer", "boolean", "text"]


@dataclass(frozen=True)
class Answers:
    """The contents of the added columns, for some patterns or rows."""

    label: NDArray[np.integer]  # (n,) codes: a class number, k for no label
    numbers: NDArray[np.float64]  # (n, c) confidence, and the probabilities of the classes on request
    source: NDArray[Any] | None = None  # (n,) where the labels come from, if not all from the same source

    @classmethod
    def join(cls, parts: Sequence["Answers"]) -> "Answers":
        """Join the answers of all parts, one after the other."""
        sources = [part.source for part in parts if part.source is not None]
        label, numbers = (np.concatenate([getattr(part, name) for part in parts]) for name in ("label", "numbers"))
        return cls(label, numbers, np.concatenate(sources) if sources else None)

    def take(self, index: NDArray[np.integer]) -> "Answers":
        """The answers of an index."""
        source = None if self.source is None else self.source.take(index)
        return Answers(self.label.take(index), self.numbers.take(index, axis=0), source)


@dataclass(frozen=True)
class OutputColumns:
    """The columns that labeling adds, by name and meaning."""

    classes: Classes
    probabilities: bool = False  # whether there is a column for each class
    source: bool = False  # whether there is a column that says where each label comes from
    threshold: float | None = None  # the least probability of a label

    @property
    def names(self) -> list[str]:
        """The columns: label and confidence; on request label_source, and p_<class> for each class."""
        shown = [str(c).lower() if isinstance(c, bool) else str(c) for c in self.classes]
        source = ["label_source"] if self.source else []
        return ["label", "confidence", *source, *(f"p_{name}" for name in shown if self.probabilities)]

    @property
    def label_kind(self) -> LabelKind:
        """The kind of values in the column of labels."""
        if all(isinstance(c, bool) for c in self.classes):
            return "boolean"
        return "integer" if all(isinstance(c, int) for c in self.classes) else "text"

    @property
    def label_type(self) -> Any:
        """The Polars type of the column of labels."""
        import polars as pl

        types: dict[LabelKind, Any] = {"integer": pl.Int64, "boolean": pl.Boolean, "text": pl.String}
        return types[self.label_kind]

    @property
    def label_values(self) -> list[Any]:
        """The labels by their code: the classes, then None for no label. (k + 1,)."""
        as_text = self.label_kind == "text"  # asked once: it looks at all classes
        return [*(str(c) if as_text else c for c in self.classes), None]

    def rename(self, columns: Sequence[str]) -> dict[str, str]:
        """Return new names for columns of the input that have the name of an added one, and are not replaced."""
        replaced = self.replaced(columns)
        return {name: new for name, new in free_names(columns, self.names).items() if name not in replaced}

    def replaced(self, columns: Sequence[str]) -> list[str]:
        """Return columns of the input that have the name of an added one, of which `*_input` is there already.

        They come from an earlier labeling, which kept the column of before.

        >>> OutputColumns((0, 1)).replaced(["label", "confidence", "label_input"])
        ['label']
        """
        present, added = {name.lower() for name in columns}, {name.lower() for name in self.names}
        return [name for name in columns if name.lower() in added and f"{name.lower()}_input" in present]

    def answer(self, labels: Labels) -> Answers:
        """Return the contents of the columns for labels."""
        labels = labels if self.threshold is None else labels.decide(self.threshold)
        confidence = labels.confidence[:, None]
        numbers = np.concatenate([confidence, labels.probabilities], axis=1) if self.probabilities else confidence
        return Answers(np.where(labels.best < 0, len(self.classes), labels.best), numbers, labels.source)

    @property
    def nothing(self) -> Answers:
        """The answers of zero rows."""
        source = np.empty(0, object) if self.source else None
        return Answers(np.empty(0, np.int64), np.empty((0, len(self.names) - 1 - self.source)), source)

    def to_polars(self, answers: Answers) -> Any:
        """Return the columns as a Polars frame."""
        import polars as pl

        labels = pl.Series(self.label_values, dtype=self.label_type).gather(answers.label)
        confidence, *shares = map(pl.Series, answers.numbers.T)
        source = [] if answers.source is None else [pl.Series(answers.source.tolist(), dtype=pl.String)]
        return pl.DataFrame(dict(zip(self.names, [labels, confidence, *source, *shares], strict=True)))


def free_names(columns: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Return new names for columns with one of the names, in any case, as SQL does not distinguish cases.

    >>> free_names(["id", "label", "label_input", "Confidence"], ["label", "confidence"])
    {'label': 'label_input_input', 'Confidence': 'Confidence_input'}
    """
    added = {name.lower() for name in names}
    used, renamed = {name.lower() for name in columns} | added, {}
    for name in columns:
        if name.lower() in added:
            free = name
            while free.lower() in used:
                free += "_input"
            renamed[name] = free
            used.add(free.lower())
    return renamed


def add_labels(frame: Any, labels: Labels, *, probabilities: bool = False) -> Any:
    """Add the columns of labels to a Polars frame; a column of the frame with such a name is kept once as `*_input`.

    Args:
        frame: A frame with one row per item.
        labels: The labels of the items.
        probabilities: Whether to add the probabilities of all classes.

    >>> import polars as pl
    >>> labels = Labels(np.array([1, -1]), np.array([[0.2, 0.8], [0.5, 0.5]]), ("ham", "spam"))
    >>> add_labels(pl.DataFrame({"id": [7, 8], "label": ["x", "y"]}), labels).rows()
    [(7, 'x', 'spam', 0.8), (8, 'y', None, 0.5)]
    """
    added = OutputColumns(labels.classes, probabilities, labels.source is not None)
    renamed, answers = added.rename(frame.columns), added.to_polars(added.answer(labels))
    return frame.drop(added.replaced(frame.columns)).rename(renamed).hstack(answers)
