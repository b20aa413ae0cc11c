"""The network streamed over chunks: the result of the pass in memory, with memory that does not grow with n."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hyperlabel as hl
from hyperlabel.engines import stream_probabilities
from hyperlabel.engines.streaming import StreamedLayers, add_sums, streamed_network
from hyperlabel.patterns import Patterns
from hyperlabel.votes import Votes

NETWORKS = ("hlm", "hlm2")


def draw(n, m, k, seed=0):
    """Dense votes, nearly every row a pattern of its own; some items have none, one LF never votes."""
    rng = np.random.default_rng(seed)
    cells = np.where(rng.random((n, m)) < 0.8, rng.integers(0, k, (n, m)), -1)
    cells[:: max(2, n // 5)] = -1
    cells[:, m // 2] = -1
    return cells


def stream(model, cells, size, **classes):
    chunks = [cells[start : start + size] for start in range(0, len(cells), size)]
    return np.concatenate(list(stream_probabilities(model, lambda: iter(chunks), **classes)))


@pytest.mark.parametrize("weights", NETWORKS)
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("size", [1, 100, 10_000])
def test_streamed_probabilities_are_those_in_memory(weights, k, size):
    cells = draw(300 if size == 1 else 3000, 20, k)
    model = hl.HyperLabelModel(weights, n_classes=k)
    assert_allclose(stream(model, cells, size), model.predict_proba(cells), atol=1e-6)


def test_streamed_probabilities_of_fine_tuned_and_of_random_weights_are_those_in_memory(make_weights, tmp_path):
    cells = draw(500, 9, 3)
    tuned = hl.HyperLabelModel("hlm").fit(cells, {1: 2, 2: 0, 7: 1})
    assert_allclose(stream(tuned, cells, 64, n_classes=3), tuned.predict_proba(cells), atol=1e-6)
    make_weights(widths=(4, 6)).save(tmp_path / "w.safetensors")
    wild = hl.HyperLabelModel(weights=tmp_path / "w.safetensors", n_classes=3)
    assert_allclose(stream(wild, cells, 64), wild.predict_proba(cells), atol=1e-6)


@pytest.mark.parametrize("weights", NETWORKS)
def test_streamed_probabilities_of_chunks_where_nobody_votes_are_uniform(weights):
    model = hl.HyperLabelModel(weights, n_classes=2)
    assert stream(model, np.full((5, 3), -1), 2).tolist() == [[0.5, 0.5]] * 5
    cells = np.concatenate([np.full((4, 9), -1), draw(40, 9, 2)])
    assert_allclose(stream(model, cells, 2), model.predict_proba(cells), atol=1e-6)


@pytest.mark.parametrize("weights", NETWORKS)
def test_streamed_probabilities_of_one_class_are_certain(weights):
    assert stream(hl.HyperLabelModel(weights, classes=["a"]), np.array([[0, -1], [-1, -1]]), 1).tolist() == [
        [1.0],
        [1.0],
    ]


@pytest.mark.parametrize("weights", NETWORKS)
def test_sums_of_two_chunks_add_up_to_those_of_both(weights):
    rows = np.unique(draw(400, 8, 3), axis=0)
    chunks = [np.repeat(part, 1 + np.arange(len(part)) % 3, axis=0) for part in (rows, rows[:150], rows[150:])]
    model = hl.HyperLabelModel(weights)
    network = streamed_network(model)
    whole, *parts = (Patterns.from_votes(Votes.from_array(chunk, n_classes=3)) for chunk in chunks)
    state = network.start(8, 3)
    for _ in range(network.n_passes):
        sums = network.sums(whole, state)
        for together, apart in zip(sums, add_sums(*(network.sums(p, state) for p in parts)), strict=True):
            assert_allclose(apart, together, rtol=1e-5, atol=1e-4)
        state = network.advance(state, sums)
    assert_allclose(network.probabilities(whole, state), model._probabilities(whole), atol=1e-6)


def test_passes_are_one_a_layer_or_step(make_weights):
    assert StreamedLayers(make_weights(widths=(4, 4, 4))).n_passes == 3
    unrolled = hl.HyperLabelModel("hlm2")
    assert streamed_network(unrolled).n_passes == unrolled._current().header["steps"]


def test_stream_of_a_model_that_looks_gold_up_is_refused():
    model = hl.HyperLabelModel("hlm2").fit([[0, 1], [1, 1]], {1: 1})
    with pytest.raises(hl.ParameterError, match="needs all patterns in memory"):
        list(stream_probabilities(model, lambda: [[[0, 1]]], n_classes=2))


def peak_memory(weights, n):
    """Bytes at the peak of streaming n items, which are drawn chunk by chunk and never held together."""

    def chunks():
        return (draw(2000, 12, 2, seed) for seed in range(n // 2000))

    model = hl.HyperLabelModel(weights)
    for _ in stream_probabilities(model, lambda: [draw(2000, 12, 2)], n_classes=2):
        pass  # what is loaded once is not counted
    tracemalloc.start()
    for _ in stream_probabilities(model, chunks, n_classes=2):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("weights", NETWORKS)
def test_memory_of_streaming_does_not_grow_with_n(weights):
    few, many = peak_memory(weights, 8_000), peak_memory(weights, 80_000)
    assert many < 1.2 * few


@pytest.mark.parametrize(
    ("model", "chunks", "classes", "message"),
    [
        (hl.label_model("ds"), [[[0, 1]]], {"n_classes": 2}, r"model is DawidSkene\(\), which needs all patterns"),
        (hl.HyperLabelModel(), [[[0, 1]]], {}, r"n_classes and classes are not given; state one"),
        (hl.HyperLabelModel(), [], {"n_classes": 2}, r"chunks gives nothing; expected at least one chunk"),
        (hl.HyperLabelModel(), [[[0, 1]], [[0]]], {"n_classes": 2}, r"a chunk has 1 LFs, the first has 2"),
        (hl.HyperLabelModel(), [[[0, 1]], [[2, 0]]], {"n_classes": 2}, r"votes\[0, 0\] is 2; expected a class"),
    ],
)
def test_stream_of_something_wrong_says_what_is_expected(model, chunks, classes, message):
    with pytest.raises(ValueError, match=message):
        list(stream_probabilities(model, lambda: chunks, **classes))
