"""The documents and pairs that the experiments on spans and tags make."""

import numpy as np

import hyperlabel as hl
from experiments.spans import make_documents
from experiments.tags import pair_items, score, with_best_thresholds


def test_made_documents_have_two_spans_that_lfs_find():
    documents = make_documents(200)
    assert sum(len(each["tokens"]) for each in documents) == 5000
    spans = hl.label_spans(documents).spans
    assert np.mean([{3, 12} == {span.start for span in each} for each in spans]) > 0.9


def test_pairs_have_the_classes_of_both_items(tmp_path):
    np.savez(tmp_path / "a.npz", L=[[0, -1], [1, -1], [2, 2], [0, -1]], y=[0, 1, 2, 0])
    votes, truth = pair_items(tmp_path / "a.npz")
    assert len(truth) == 2
    assert votes == {"lf_0": list(truth.values())}  # always right; the other LF never votes on both items of a pair
    votes, _ = pair_items(tmp_path / "a.npz", whole=False)
    assert sorted(filter(None, votes["lf_1"])) == [["2"]]


def test_best_thresholds_are_those_of_the_truth():
    labels = hl.label_tags({"a": [["x"], ["y"], ["x", "y"]], "b": [["x"], [], ["y"]]})
    truth = {0: ["x"], 1: [], 2: ["x", "y"]}
    assert score(with_best_thresholds(labels, truth), truth)[0] >= score(labels, truth)[0]
    assert with_best_thresholds(labels, truth).sets[0] == ("x",)
