"""Sets read in chunks: the state and the labels of the set in memory, with memory that does not grow with n."""

import tracemalloc
from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hyperlabel as hl
from hyperlabel.data import Patterns, Votes
from hyperlabel.engines import fit_chunks
from hyperlabel.errors import VotesError
from hyperlabel.networks import Gold, add_sums, load_network, load_weights

NETWORKS = ("hlm", "hlm2", "hlm3")


def draw(n, m, k, seed=0):
    """Dense votes, nearly every row a pattern of its own; some items have none, one LF never votes."""
    rng = np.random.default_rng(seed)
    cells = np.where(rng.random((n, m)) < 0.8, rng.integers(0, k, (n, m)), -1)
    cells[:: max(2, n // 5)] = -1
    cells[:, m // 2] = -1
    return cells


def split(cells, size):
    return [cells[start : start + size] for start in range(0, len(cells), size)]


def stream(model, cells, size, **classes):
    """(n, k) probabilities by a model that was fitted in chunks and judges in chunks."""
    chunks = split(cells, size)
    fitted = fit_chunks(model, lambda: iter(chunks), **classes)
    return np.concatenate([fitted.predict_proba(chunk) for chunk in chunks])


@pytest.mark.parametrize("weights", NETWORKS)
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("size", [1, 100, 10_000])
def test_probabilities_of_a_set_read_in_chunks_are_those_in_memory(weights, k, size):
    cells = draw(300 if size == 1 else 3000, 20, k)
    model = hl.HyperLabelModel(weights, n_classes=k)
    assert_allclose(stream(model, cells, size), model.predict_proba(cells), atol=1e-6)
    assert not model.is_fitted


@pytest.mark.parametrize("weights", NETWORKS)
@pytest.mark.parametrize("seed", range(8))
def test_probabilities_of_few_patterns_that_every_chunk_repeats_are_those_in_memory(weights, seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    rows = draw(int(rng.integers(6, 30)), 7, k, seed)
    cells = rows[rng.integers(len(rows), size=2000)]
    model = hl.HyperLabelModel(weights, n_classes=k)
    assert_allclose(stream(model, cells, 50), model.predict_proba(cells), atol=1e-6)


@pytest.mark.parametrize("weights", NETWORKS)
def test_patterns_as_chunks_are_read_as_their_votes_are(weights):
    cells = np.repeat(draw(200, 8, 3), 5, axis=0)
    model = hl.HyperLabelModel(weights, n_classes=3)
    chunks = [Patterns.from_chunks([chunk], n_classes=3) for chunk in split(cells, 170)]
    assert_allclose(fit_chunks(model, lambda: chunks).predict_proba(cells), model.predict_proba(cells), atol=1e-6)


def test_chunks_whose_columns_stand_in_another_order_are_matched_by_name():
    cells = draw(400, 6, 2)
    names = [f"lf{j}" for j in range(6)]
    one, two = cells[:200], cells[200:]
    chunks = [Votes.from_array(one, lfs=names), Votes.from_array(two[:, ::-1], lfs=names[::-1])]
    model = hl.HyperLabelModel("hlm", n_classes=2)
    fitted = fit_chunks(model, lambda: chunks)
    assert fitted.lf_names_ == tuple(names)
    assert_allclose(fitted.predict_proba(cells), model.predict_proba(cells), atol=1e-6)


def test_a_model_fitted_in_chunks_is_saved_and_loaded(tmp_path):
    cells = draw(300, 9, 3)
    fitted = fit_chunks(hl.HyperLabelModel(n_classes=3), lambda: split(cells, 64))
    fitted.save(tmp_path / "state.safetensors")
    assert_array_equal(hl.load(tmp_path / "state.safetensors").predict_proba(cells), fitted.predict_proba(cells))


def test_labels_for_f1_of_a_set_read_in_chunks_are_those_in_memory():
    cells = draw(1000, 9, 2)
    cells[:, 2:] = np.where(cells[:, 2:] > 0, 0, cells[:, 2:])
    model = hl.HyperLabelModel("hlm", n_classes=2)
    fitted = fit_chunks(model, lambda: split(cells, 64), metric="f1")
    expected = model.predict(cells, metric="f1")
    assert_array_equal(fitted.predict(cells, metric="f1"), expected)
    assert (expected != model.predict(cells)).any()
    with pytest.raises(hl.ParameterError, match="read its set only for accuracy; .* metric='f1'"):
        fit_chunks(model, lambda: split(cells, 64)).predict(cells, metric="f1")


def test_probabilities_of_random_weights_are_those_in_memory(make_weights):
    cells = draw(500, 9, 3)
    wild = hl.HyperLabelModel(weights=make_weights(widths=(4, 6)), n_classes=3)
    assert_allclose(stream(wild, cells, 64), wild.predict_proba(cells), atol=1e-6)


@pytest.mark.parametrize("weights", NETWORKS)
def test_probabilities_of_chunks_where_nobody_votes_are_uniform(weights):
    model = hl.HyperLabelModel(weights, n_classes=2)
    assert stream(model, np.full((5, 3), -1), 2).tolist() == [[0.5, 0.5]] * 5
    cells = np.concatenate([np.full((4, 9), -1), draw(40, 9, 2)])
    assert_allclose(stream(model, cells, 2), model.predict_proba(cells), atol=1e-6)


@pytest.mark.parametrize("weights", NETWORKS)
def test_probabilities_of_one_class_are_certain(weights):
    certain = stream(hl.HyperLabelModel(weights, classes=["a"]), np.array([[0, -1], [-1, -1]]), 1)
    assert certain.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("weights", NETWORKS)
def test_sums_of_two_chunks_add_up_to_those_of_both(weights):
    rows = np.unique(draw(400, 8, 3), axis=0)
    one, two = (rows[rng.integers(len(rows), size=500)] for rng in map(np.random.default_rng, (1, 2)))
    whole, *parts = (Patterns.from_votes(Votes.from_array(c, n_classes=3)) for c in (np.r_[one, two], one, two))
    network = load_network(load_weights(weights))
    state = network.start(8, 3, None)
    while not network.is_complete(state):
        sums = network.sums(whole, state)
        for together, apart in zip(sums, add_sums(*(network.sums(p, state) for p in parts)), strict=True):
            assert_allclose(apart, together, rtol=1e-5, atol=1e-4)
        state = network.advance(state, sums)
    assert_allclose(network.probabilities(whole, state), network.read_at_once(whole, None)[1], atol=1e-6)


@pytest.mark.parametrize("name", ["mv", "hlm2", "hlm3"])
def test_gold_of_a_set_read_in_passes_gives_the_state_of_the_set_in_memory(name):
    cells = draw(600, 8, 3)
    gold = np.where(np.arange(600) % 20, -1, np.random.default_rng(0).integers(0, 3, 600))
    patterns = Patterns.from_votes(Votes.from_array(cells, n_classes=3))

    def reduce_parts(sums):
        return reduce(add_sums, map(sums, patterns.split(100)))

    known = Gold(patterns, patterns.count_labels(gold))  # rows without votes, and without gold, among them
    fitted = hl.label_model(name).fit_passes(reduce_parts, patterns, known)
    expected = hl.label_model(name, n_classes=3).fit(cells, gold).predict_proba(cells)
    assert_allclose(fitted.predict_proba(cells), expected, atol=1e-6)


def peak_memory(weights, n):
    """Bytes at the peak of reading n items, which are drawn chunk by chunk and never held together."""

    def chunks():
        return (draw(2000, 12, 2, seed) for seed in range(n // 2000))

    model = hl.HyperLabelModel(weights)
    fit_chunks(model, lambda: [draw(2000, 12, 2)], n_classes=2)  # what is loaded once is not counted
    tracemalloc.start()
    fit_chunks(model, chunks, n_classes=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("weights", NETWORKS)
def test_memory_of_reading_in_chunks_does_not_grow_with_n(weights):
    few, many = peak_memory(weights, 8_000), peak_memory(weights, 80_000)
    assert many < 1.2 * few


@pytest.mark.parametrize(
    ("model", "chunks", "classes", "message"),
    [
        (
            "ds",
            [[[0, 1]]],
            {"n_classes": 2},
            r"model is DawidSkene\(\), which needs .* Patterns\.from_chunks",
        ),
        ("hlm3", [[[0, 1]]], {}, r"n_classes and classes are not given; state one"),
        ("hlm3", [], {"n_classes": 2}, r"chunks gives no chunk; expected at least one chunk"),
        ("hlm3", [[[0, 1]], [[0]]], {"n_classes": 2}, r"a chunk has 1 LFs, the first has 2"),
        ("hlm3", [[[0, 1]], [[2, 0]]], {"n_classes": 2}, r"votes\[0, 0\] is 2; expected a class"),
    ],
)
def test_chunks_of_something_wrong_says_what_is_expected(model, chunks, classes, message):
    with pytest.raises(ValueError, match=message):
        fit_chunks(hl.label_model(model), lambda: chunks, **classes)


def test_chunks_that_can_be_read_only_once_are_refused():
    once = iter([[[0, 1]], [[1, 1]], [[0, 0]]])
    with pytest.raises(hl.VotesError, match="expected at least one chunk of votes each time it is called"):
        fit_chunks(hl.HyperLabelModel(n_classes=2), lambda: once)


def test_chunks_of_other_classes_are_matched_by_name_or_refused():
    one = Votes.from_array([[0, 1], [1, 1], [0, 0]], classes=["a", "b"])
    two = Votes.from_array([[0, 1], [0, 0], [0, 0]], classes=["b", "a"])
    fitted = fit_chunks(hl.HyperLabelModel(), lambda: [one, two], n_classes=2)
    expected = fit_chunks(hl.HyperLabelModel(), lambda: [one, two], classes=["a", "b"])
    assert_array_equal(fitted.predict_proba(one), expected.predict_proba(one))
    other = Votes.from_array([[0, 1]], classes=["a", "c"])
    with pytest.raises(VotesError, match="votes has the class 'c'; expected one of 'a', 'b'"):
        fit_chunks(hl.HyperLabelModel(), lambda: [one, other], n_classes=2)
