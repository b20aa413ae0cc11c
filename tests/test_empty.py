"""A batch without items: a fitted model labels nothing, anything that learns refuses it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import hyperlabel as hl

FRAME = pd.DataFrame({"id": [7, 8, 9], "a": ["ham", "spam", None], "b": ["ham", "ham", "spam"]})
EMPTY = {
    "array": np.zeros((0, 2), int),
    "list": [],
    "sparse": scipy.sparse.csr_array((0, 2), dtype=int),
    "pandas": FRAME[:0],
    "polars": pl.from_pandas(FRAME)[:0],
    "arrow": pl.from_pandas(FRAME)[:0].to_arrow(),
}


@pytest.mark.parametrize("batch", EMPTY.values(), ids=EMPTY.keys())
@pytest.mark.parametrize("name", ["mv", "hlm3", "ds"])
def test_empty_batch_gives_an_empty_result(name, batch):
    model = hl.label_model(name, n_classes=2).fit(FRAME, {7: "ham", 8: "spam"})
    assert model.predict(batch).shape == (0,)
    assert model.predict_proba(batch).shape == (0, 2)
    labels = model.label(batch)
    assert (len(labels), list(labels.classes)) == (0, ["ham", "spam"])
    assert len(labels.to_pandas()) == len(labels.to_polars()) == 0
    assert "0 items" in labels._repr_html_()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", hl.label_models())
def test_every_model_labels_an_empty_batch(name):
    votes = np.random.default_rng(0).integers(-1, 2, (60, 4))
    model = hl.label_model(name, n_classes=2).fit(votes, {i: i % 2 for i in range(9)})
    assert model.predict(votes[:0]).tolist() == []
    assert model.predict_proba(votes[:0]).shape == (0, 2)


@pytest.mark.parametrize("batch", EMPTY.values(), ids=EMPTY.keys())
def test_empty_batch_is_refused_by_a_model_that_would_learn_from_it(batch):
    for use in (hl.HyperLabelModel().predict, hl.HyperLabelModel().fit, hl.label_model("mv").label):
        with pytest.raises(hl.VotesError, match="expected"):
            use(batch)


def test_empty_batch_is_labeled_for_f1_and_with_ties_broken_at_random():
    model = hl.label_model("mv", tie_break="random").fit([[0, 1], [1, 1], [0, 0]])
    assert model.predict([], metric="f1").shape == (0,)
    assert model.predict(np.zeros((0, 2))).shape == (0,)


def test_labels_that_no_item_has_are_empty():
    labels = hl.label_model("mv").label(FRAME)
    assert len(labels[labels.confidence > 2]) == 0
    with pytest.raises(hl.ParameterError, match=r"has no items; expected at least one of the 3 items"):
        hl.Votes(FRAME)[[False, False, False]]
