"""`Labels`: what a model says about items or patterns."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64, over_classes
from hyperlabel.plots import new_axes
from hyperlabel.shown import html_table, show_counts
from hyperlabel.votes.classes import ABSTAIN, Classes, decode
from hyperlabel.votes.items import UNKNOWN, Identity, Origin
from hyperlabel.votes.matching import check_places
from hyperlabel.votes.written import to_pandas, to_polars

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

    >>> labels = Labels(np.array([1, -1]), np.array([[0.2, 0.8], [0.5, 0.5]]), ("ham", "spam"))
    >>> labels.labels.tolist(), labels.confidence.tolist()
    (['spam', None], [0.8, 0.5])
    """

    best: NDArray[np.intp]
    probabilities: Float64
    classes: Classes
    items: NDArray[Any] | None = None
    origin: Origin = UNKNOWN
    source: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.best)

    def __getitem__(self, key: Any) -> "Labels":
        """The labels of a slice, a mask or places."""
        places = check_places(key, self.identity)
        items, source = (None if held is None else held[places] for held in (self.items, self.source))
        origin = self.origin.take(places)
        return Labels(self.best[places], self.probabilities[places], self.classes, items, origin, source)

    @property
    def labels(self) -> NDArray[Any]:
        """The class of each item; no label is -1 if classes are numbers, else None. (n,)."""
        return decode(self.best, self.classes)

    @property
    def confidence(self) -> Float64:
        """The probability of each label, or of the most probable class if there is no label. (n,)."""
        own = np.take_along_axis(self.probabilities, np.maximum(self.best, 0)[:, None], axis=1)[:, 0]
        return np.where(self.best == ABSTAIN, over_classes(np.maximum, self.probabilities), own)

    def take(self, index: NDArray[np.integer], items: NDArray[Any] | None = None, origin: Origin = UNKNOWN) -> "Labels":
        """The labels at these places, for instance from patterns to their items."""
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
        held = {c: n for c, n in zip(self.classes, counts, strict=True) if n}
        none = int((self.best == ABSTAIN).sum())
        return f"Labels({len(self):,} items: {show_counts(held)}; {none:,} without a label)"

    def _repr_html_(self) -> str:
        """The first labels as an HTML table."""
        few = self[: min(_SHOWN_ROWS, len(self))]
        ids = range(len(few)) if few.items is None else few.items.tolist()
        names = decode(few.best, self.classes).tolist()
        rows = [[item, label, f"{sure:.3f}"] for item, label, sure in zip(ids, names, few.confidence, strict=True)]
        return html_table(["item", "label", "confidence"], rows, repr(self))

    def plot(self, ax: Any = None) -> Any:
        """Draw how confident the labels are, class by class.

        Draws into `ax`, axes of matplotlib, or into new ones, and returns them.

        >>> Labels(np.array([1]), np.array([[0.2, 0.8]]), ("ham", "spam")).plot().get_xlabel()  # doctest: +SKIP
        'confidence'
        """
        drawn = new_axes(ax)
        given = np.flatnonzero(np.bincount(self.best[self.best >= 0], minlength=len(self.classes)))
        values = [self.confidence[self.best == number] for number in given]
        names = [str(self.classes[number]).replace("$", r"\$") for number in given]
        if len(given):
            bins = np.linspace(1 / len(self.classes), 1, 21).tolist() if len(self.classes) > 1 else 1
            drawn.hist(values, bins, stacked=True, label=names)
            drawn.legend()
        drawn.set(xlabel="confidence", ylabel="items with a label")
        return drawn

    @property
    def identity(self) -> Identity:
        """How the items are identified."""
        return Identity(len(self), self.items, self.origin)

    def _columns(self) -> dict[str, NDArray[Any]]:
        shares = {f"p_{c}": self.probabilities[:, i] for i, c in enumerate(self.classes)}
        source = {} if self.source is None else {"label_source": self.source}
        return {"label": self.labels, "confidence": self.confidence, **source, **shares}

    def with_gold(self, gold: NDArray[np.integer]) -> "Labels":
        """The same, with the gold class where it is known: its label, with probability 1. (n,) class numbers or -1."""
        known = np.flatnonzero(gold >= 0)
        best, probabilities, source = self.best.copy(), self.probabilities.copy(), self.source
        best[known], probabilities[known] = gold[known], 0
        probabilities[known, gold[known]] = 1
        if source is not None:
            source = source.copy()
            source[known] = "gold"
        return replace(self, best=best, probabilities=probabilities, source=source)
