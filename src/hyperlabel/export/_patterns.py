"""A fitted model as a table: every pattern of votes with its label, for any database that can join."""

from itertools import product
from typing import Any

import numpy as np

from hyperlabel.data import Classes, Patterns, Rows
from hyperlabel.errors import ParameterError
from hyperlabel.models import LabelModel

MOST_PATTERNS = 1_000_000
"""At most this many patterns are listed if none are given."""


def pattern_table(model: LabelModel, patterns: object = None, *, probabilities: bool = False) -> dict[str, list[Any]]:
    """List patterns of votes with their labels, as columns: one per LF, None for no vote, then label and confidence.

    Args:
        model: A fitted model, of any kind.
        patterns: `Patterns`, or votes whose patterns to list; all possible patterns if not given.
        probabilities: Whether to add a column `p_<class>` for each class.

    Raises:
        ParameterError: There are more than a million possible patterns, and none were given.

    >>> from hyperlabel import label_model
    >>> pattern_table(label_model("mv").fit([[0, 1], [1, 1]]), [[0, 0], [0, 0], [1, -1]])["label"]
    [1, 0]
    """
    rows = model.read(patterns) if patterns is not None else _all_patterns(model)
    names = rows.lf_names or tuple(f"lf{j}" for j in range(rows.n_lfs))
    labels = model.label_patterns(rows)
    columns = {name: _decode(cells, rows.vote_names) for name, cells in zip(names, rows.to_array().T, strict=True)}
    added = {"label": _decode(labels.best, rows.classes), "confidence": labels.confidence.tolist()}
    if probabilities:
        added |= {f"p_{c}": labels.probabilities[:, number].tolist() for number, c in enumerate(rows.classes)}
    clash = next((name for name in added if name in columns), None)
    if clash is not None:
        raise ParameterError(f"an LF is named {clash!r}, like a column that is added; rename it and fit again")
    return columns | added


def _decode(numbers: Any, classes: Classes) -> list[Any]:
    values = [*classes, None]
    return [values[number] for number in numbers]


def _all_patterns(model: LabelModel) -> Patterns:
    """Return every row that the LFs could cast, including the one without votes."""
    if model.outcomes_ is not None:
        raise ParameterError(
            f"the model knows votes such as {model.outcomes_.names[0]!r}, which are not one class; give the patterns "
            "that occur: a table of votes, --patterns FILE"
        )
    classes, m = tuple(model.classes_.tolist()), model.n_features_in_
    n = (len(classes) + 1) ** m
    if n > MOST_PATTERNS:
        raise ParameterError(
            f"{m} LFs and {len(classes)} classes have {n:.1e} possible patterns, but only {MOST_PATTERNS:,} fit; "
            "give those that occur: a table of votes, --patterns FILE"
        )
    cells = np.array(list(product(range(-1, len(classes)), repeat=m)), np.int64).reshape(n, m)
    rows, counts = Rows.from_cells(cells), np.zeros(n, np.int64)
    return Patterns(rows, counts, m, len(classes), None, model.lf_names_, classes)
