"""The example sets: real votes on real items, the same in every run."""

import numpy as np
import pytest

import hyperlabel as hl


@pytest.mark.parametrize(("name", "n_lfs"), [("packages", 11), ("readers", 40), ("panel", 8)])
def test_example_has_votes_items_and_truth(name, n_lfs):
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    example = hl.load_example(name)
    items = example.texts if example.features is None else example.features
    assert example.votes.shape == (len(items), n_lfs) == (len(example.truth), n_lfs)
    voted = (example.votes.to_numpy() >= 0).any(axis=1)
    assert np.mean(hl.label_model("mv").fit_predict(example.votes)[voted] == example.truth[voted]) > 0.6
    again = hl.load_example(name)
    assert np.array_equal(again.votes.to_numpy(), example.votes.to_numpy())
    table = example.to_polars()
    assert table.shape[0] == len(items)
    assert table.columns == ["id", *["text"] * (example.texts is not None), *example.votes.lf_names, "truth"]


def test_rules_of_an_example_vote_on_new_texts():
    pytest.importorskip("matplotlib")
    votes = hl.apply_lfs(hl.load_example("packages").lfs, ["Draw the legend of the figure."])
    assert votes["drawing"].tolist() == ["matplotlib"]


def test_unknown_example_is_refused_with_the_names():
    with pytest.raises(hl.ParameterError, match="no example 'spam'; choose one of 'packages', 'readers', 'panel'"):
        hl.load_example("spam")
