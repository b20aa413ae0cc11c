"""The columns that labeling adds to a table: names, types and values, and what happens to columns of the same name.

Every table that gets labels, in memory or in an engine, gets them by this one definition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hyperlabel.labels.labels import Labels
from hyperlabel.votes.classes import Classes

LabelKind = Literal["integer", "boolean", "text"]


@dataclass(frozen=True)
class Answers:
    """What the added columns hold, for some patterns or rows."""

    label: NDArray[np.integer]  # (n,) codes: a class number, k for no label
    numbers: NDArray[np.float64]  # (n, c) confidence, and the probabilities of the classes on request
    source: NDArray[Any] | None = None  # (n,) where the labels come from, if not all from the same source

    @classmethod
    def join(cls, parts: Sequence["Answers"]) -> "Answers":
        """The answers of all parts, one after the other."""
        sources = [part.source for part in parts if part.source is not None]
        label, numbers = (np.concatenate([getattr(part, name) for part in parts]) for name in ("label", "numbers"))
        return cls(label, numbers, np.concatenate(sources) if sources else None)

    def take(self, index: NDArray[np.integer]) -> "Answers":
        """The answers of an index."""
        source = None if self.source is None else self.source.take(index)
        return Answers(self.label.take(index), self.numbers.take(index, axis=0), source)


@dataclass(frozen=True)
class Added:
    """The columns that labeling adds, by name and meaning."""

    classes: Classes
    probabilities: bool = False  # whether there is a column for each class
    source: bool = False  # whether there is a column that says where each label comes from

    @property
    def names(self) -> list[str]:
        """The columns: label and confidence; on request label_source, and p_<class> for each class.

        >>> Added((False, True), probabilities=True).names
        ['label', 'confidence', 'p_false', 'p_true']
        """
        shown = [str(c).lower() if isinstance(c, bool) else str(c) for c in self.classes]
        source = ["label_source"] if self.source else []
        return ["label", "confidence", *source, *(f"p_{name}" for name in shown if self.probabilities)]

    @property
    def label_kind(self) -> LabelKind:
        """What the column of labels holds."""
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
        """New names for columns of the input that have the name of an added one."""
        return free_names(columns, self.names)

    def answer(self, labels: Labels) -> Answers:
        """What the columns hold for labels.

        >>> labels = Labels(np.array([1, -1]), np.array([[0.2, 0.8], [0.5, 0.5]]), ("ham", "spam"))
        >>> Added(labels.classes).answer(labels).label.tolist()
        [1, 2]
        """
        confidence = labels.confidence[:, None]
        numbers = np.concatenate([confidence, labels.probabilities], axis=1) if self.probabilities else confidence
        return Answers(np.where(labels.best < 0, len(self.classes), labels.best), numbers, labels.source)

    @property
    def nothing(self) -> Answers:
        """The answers of zero rows."""
        source = np.empty(0, object) if self.source else None
        return Answers(np.empty(0, np.int64), np.empty((0, len(self.names) - 1 - self.source)), source)

    def to_polars(self, answers: Answers) -> Any:
        """The columns as a Polars frame."""
        import polars as pl

        labels = pl.Series(self.label_values, dtype=self.label_type).gather(answers.label)
        confidence, *shares = map(pl.Series, answers.numbers.T)
        source = [] if answers.source is None else [pl.Series(answers.source.tolist(), dtype=pl.String)]
        return pl.DataFrame(dict(zip(self.names, [labels, confidence, *source, *shares], strict=True)))


def free_names(columns: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """New names for columns that have one of the names, in upper or lower case, as SQL does not tell these apart.

    >>> free_names(["id", "label", "label_input", "Confidence"], ["label", "confidence"])
    {'label': 'label_input_input', 'Confidence': 'Confidence_input'}
    """
    added = {name.lower() for name in names}
    taken, renamed = {name.lower() for name in columns} | added, {}
    for name in columns:
        if name.lower() in added:
            free = name
            while free.lower() in taken:
                free += "_input"
            renamed[name] = free
            taken.add(free.lower())
    return renamed


def add_labels(frame: Any, labels: Labels, *, probabilities: bool = False) -> Any:
    """A Polars frame with the columns that labeling adds; a column of the frame with such a name is kept as `*_input`.

    Args:
        frame: A frame with one row per item.
        labels: The labels of the items.
        probabilities: Whether to add the probabilities of all classes.

    >>> import polars as pl
    >>> labels = Labels(np.array([1, -1]), np.array([[0.2, 0.8], [0.5, 0.5]]), ("ham", "spam"))
    >>> add_labels(pl.DataFrame({"id": [7, 8], "label": ["x", "y"]}), labels).rows()
    [(7, 'x', 'spam', 0.8), (8, 'y', None, 0.5)]
    """
    added = Added(labels.classes, probabilities, labels.source is not None)
    return frame.rename(added.rename(frame.columns)).hstack(added.to_polars(added.answer(labels)))
