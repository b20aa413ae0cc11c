"""The columns that labeling adds, by one definition for every table."""

import numpy as np
import polars as pl
import pytest

from hyperlabel import Labels
from hyperlabel.data import OutputColumns, add_labels

SHARES = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])


def test_added_columns_of_classes_of_several_kinds_are_texts():
    assert OutputColumns((1, "a")).label_values == ["1", "a", None]


@pytest.mark.parametrize(
    ("classes", "kind", "labels", "names"),
    [
        ((0, 1), pl.Int64, [1, None, 0], ["p_0", "p_1"]),
        ((False, True), pl.Boolean, [True, None, False], ["p_false", "p_true"]),
        (("ham", "spam"), pl.String, ["spam", None, "ham"], ["p_ham", "p_spam"]),
        (("ham", 3), pl.String, ["3", None, "ham"], ["p_ham", "p_3"]),
    ],
)
def test_added_columns_have_the_type_and_the_names_of_the_classes(classes, kind, labels, names):
    table = add_labels(
        pl.DataFrame({"id": [7, 8, 9]}), Labels(np.array([1, -1, 0]), SHARES, classes), probabilities=True
    )
    assert table.schema == pl.Schema(
        {"id": pl.Int64, "label": kind, "confidence": pl.Float64, **dict.fromkeys(names, pl.Float64)}
    )
    assert table["label"].to_list() == labels
    assert table["confidence"].to_list() == [0.75, 0.5, 1.0]
    assert table.select(names).to_numpy().tolist() == SHARES.tolist()


def test_columns_in_the_way_are_kept_once_as_input():
    frame = pl.DataFrame({"label": ["x"], "label_input": ["y"], "p_0": [0.5]})
    table = add_labels(frame, Labels(np.array([0]), np.array([[0.9, 0.1]]), (0, 1)), probabilities=True)
    assert table.columns == [
        "label_input", "p_0_input", "label", "confidence", "p_0", "p_1",
    ]  # fmt: skip
    assert table["label_input"].to_list() == ["y"]


def test_added_columns_of_no_rows_have_their_types():
    added = OutputColumns(("a", "b"), probabilities=True)
    assert added.to_polars(added.nothing).schema == pl.Schema(
        {"label": pl.String, "confidence": pl.Float64, "p_a": pl.Float64, "p_b": pl.Float64}
    )


def test_classes_are_looked_at_once_however_many_there_are():
    """A look at all classes for each of them takes minutes for a million."""
    looks = []

    class Counted(tuple):
        def __iter__(self):
            looks.append(len(self))
            return super().__iter__()

    added = OutputColumns(Counted(f"c{i}" for i in range(50)))
    assert len(added.label_values) == 51
    assert len(looks) < 5
