"""The paper's network: forward, backward, and its state, read at once, in chunks, and asked row by row."""

import subprocess
import sys
import textwrap
from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel.data import Patterns, Votes
from hyperlabel.networks import PaperNetwork, Weights, add_sums, backward, forward, read


def repeated_votes(k, n=120, m=6, patterns=25, seed=0):
    """Items drawn from few patterns; the first and the last have no votes, the third LF never votes."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(-1, k, (patterns, m))[rng.integers(patterns, size=n)]
    cells[[0, -1]] = -1
    cells[:, 2] = -1
    return cells


def patterns_of(cells, k):
    return Patterns.from_votes(Votes.from_array(cells, n_classes=k))


def logits_by_item(weights, cells, k):
    patterns = patterns_of(cells, k)
    return patterns.expand(forward(weights, patterns)[0])


def one_against_rest(cells, c):
    return np.where(cells < 0, -1, cells == c)


@pytest.mark.parametrize("k", [3, 4, 7])
def test_forward_of_many_classes_equals_each_one_against_rest_problem_alone(make_weights, k):
    weights, cells = make_weights(), repeated_votes(k)
    together = logits_by_item(weights, cells, k)
    alone = [logits_by_item(weights, one_against_rest(cells, c), 2)[:, 1] for c in range(k)]
    assert together.shape == (len(cells), k)
    assert np.ptp(together, axis=0).min() > 0.01
    assert_allclose(together, np.stack(alone, 1), atol=1e-5)


def test_forward_of_two_classes_is_that_of_three_where_nobody_votes_for_the_third(make_weights):
    weights, cells = make_weights(), repeated_votes(2)
    assert_allclose(logits_by_item(weights, cells, 2), logits_by_item(weights, cells, 3)[:, :2], atol=1e-5)


def test_swapping_the_two_classes_swaps_the_probabilities(make_weights):
    network, cells = PaperNetwork(make_weights()), repeated_votes(2)
    swapped = np.where(cells < 0, -1, 1 - cells)
    before, after = (patterns_of(each, 2) for each in (cells, swapped))
    probabilities = before.expand(network.read_at_once(before, None)[1])
    assert np.ptp(probabilities[:, 0]) > 0.01
    assert_allclose(after.expand(network.read_at_once(after, None)[1])[:, ::-1], probabilities, atol=1e-6)


def test_forward_of_counted_patterns_equals_forward_of_repeated_rows(make_weights):
    """Every count of 1 against the same rows once each, with their counts."""
    weights, patterns = make_weights(), patterns_of(repeated_votes(4), 4)
    apart = [repeated_votes(4)[patterns.inverse == p] for p in range(patterns.n_patterns)]
    rows = Votes.from_array(np.concatenate(apart), n_classes=4).rows
    single = Patterns(rows, np.ones(patterns.n_items, np.int64), 6, 4)
    assert patterns.counts.max() > 1
    apart_logits, together = forward(weights, single)[0], forward(weights, patterns)[0]
    assert_allclose(apart_logits, np.repeat(together, patterns.counts, 0), atol=1e-5)


def test_forward_and_backward_where_nobody_votes_are_finite(make_weights):
    weights, patterns = make_weights(), patterns_of(np.full((4, 3), -1), 3)
    logits, trace = forward(weights, patterns)
    grads = backward(weights, trace, np.ones_like(logits))
    assert logits.shape == (1, 3)
    assert np.isfinite(logits).all()
    assert all(not grads[name].any() for name in grads if name.startswith("layer"))
    assert_allclose(grads["head2.bias"], np.ones((3, 1)))


def test_backward_gives_one_array_per_weight_and_class_and_changes_none(make_weights):
    weights, patterns = make_weights((4, 4)), patterns_of(repeated_votes(3), 3)
    before = weights.copy()
    logits, trace = forward(weights, patterns)
    grads = backward(weights, trace, np.ones_like(logits))
    assert {name: grad.shape for name, grad in grads.items()} == {n: (3, *a.shape) for n, a in weights.arrays.items()}
    for name, array in weights.arrays.items():
        assert_array_equal(array, before.arrays[name])


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize(
    "name",
    ["layer0.self", "layer0.row", "layer0.column", "layer0.all", "layer0.bias"]
    + ["layer1.self", "layer1.row", "layer1.column", "layer1.all", "layer1.bias"]
    + ["head0.weight", "head0.bias", "head1.weight", "head1.bias", "head2.weight", "head2.bias"],
)
def test_backward_of_a_weight_equals_finite_differences(make_weights, k, name):
    check_gradient(make_weights((4, 4), seed=3), k, name, of_weights=lambda grads: grads.sum(0))


def with_copies(weights, k):
    """Weights whose classes have a copy each, and no two the same."""
    rng = np.random.default_rng(7)
    arrays = {n: a * rng.uniform(0.8, 1.2, (k, *a.shape)).astype(np.float32) for n, a in weights.arrays.items()}
    return Weights(arrays, weights.header | {"copies": k})


@pytest.mark.parametrize("name", ["layer0.self", "layer0.row", "layer1.column", "layer1.all", "layer0.bias"])
def test_backward_of_an_own_copy_equals_finite_differences(make_weights, name):
    check_gradient(with_copies(make_weights((4, 4), seed=3), 4), 4, name, of_weights=lambda grads: grads)


@pytest.mark.parametrize("k", [2, 4])
def test_own_copy_of_a_class_is_asked_about_that_class_alone(make_weights, k):
    copies, patterns = with_copies(make_weights(), k), patterns_of(repeated_votes(k), k)
    together, _ = forward(copies, patterns)
    for c in range(k):
        own = Weights({name: array[c] for name, array in copies.arrays.items()}, make_weights().header)
        assert_allclose(together[:, c], forward(own, patterns)[0][:, c], atol=1e-5)


def check_gradient(weights, k, name, of_weights):
    """The largest number of a gradient against finite differences."""
    patterns = patterns_of(repeated_votes(k), k)
    logits, trace = forward(weights, patterns)
    unequal = 1 + 2 * np.arange(k)  # where both classes gain alike, mirrored votes cancel each other
    upstream = (unequal * np.random.default_rng(1).uniform(0.5, 1.5, logits.shape)).astype(np.float32)
    grads = of_weights(backward(weights, trace, upstream)[name])
    place = np.unravel_index(np.abs(grads).argmax(), grads.shape)
    step = 1e-3

    def loss(shift):
        moved = weights.copy()
        moved.arrays[name][place] += shift
        return float((forward(moved, patterns)[0].astype(np.float64) * upstream).sum())

    difference = (loss(step) - loss(-step)) / (2 * step)
    assert abs(difference) > 0.1  # well above the error of float32, so that the next line can fail
    assert grads[place] == pytest.approx(difference, rel=0.01)


def read_in(chunks, network, m, k):
    """The state of a set that is given in chunks."""
    return read(network, lambda sums: reduce(add_sums, map(sums, chunks)), m, k)


def assert_states_agree(network, one, other):
    ours, theirs = network.to_arrays(one), network.to_arrays(other)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert_allclose(array, theirs[name], atol=1e-6, err_msg=name)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("cuts", [[], [60], [1, 2, 119], [40, 40, 80]], ids=str)
def test_state_read_in_chunks_is_that_read_at_once(make_weights, k, cuts):
    """However the rows are split, one chunk being empty of items, or hold the same rows."""
    network, cells = PaperNetwork(make_weights()), repeated_votes(k)
    at_once, probabilities = network.read_at_once(patterns_of(cells, k), None)
    chunks = [patterns_of(part, k) for part in np.split(cells, cuts) if len(part)]
    in_chunks = read_in(chunks, network, 6, k)
    assert_states_agree(network, in_chunks, at_once)
    assert_allclose(network.probabilities(patterns_of(cells, k), in_chunks), probabilities, atol=1e-6)


def test_state_of_rows_that_all_repeat_is_the_same(make_weights):
    network, cells = PaperNetwork(make_weights()), repeated_votes(3)
    once, _ = network.read_at_once(patterns_of(cells, 3), None)
    thrice, _ = network.read_at_once(patterns_of(np.tile(cells, (3, 1)), 3), None)
    assert_states_agree(network, thrice, once)


@pytest.mark.parametrize("k", [2, 4])
def test_state_judges_the_set_that_it_was_read_from_as_one_pass_does(make_weights, k):
    network, patterns = PaperNetwork(make_weights()), patterns_of(repeated_votes(k), k)
    state, probabilities = network.read_at_once(patterns, None)
    assert_array_equal(network.probabilities(patterns, state), probabilities)


@pytest.mark.parametrize("k", [2, 4])
def test_one_row_alone_is_judged_as_together_with_others(make_weights, k):
    network = PaperNetwork(make_weights())
    state, _ = network.read_at_once(patterns_of(repeated_votes(k), k), None)
    new = np.random.default_rng(5).integers(-1, k, (30, 6))
    together = patterns_of(new, k).expand(network.probabilities(patterns_of(new, k), state))
    alone = [network.probabilities(patterns_of(row[None], k), state)[0] for row in new]
    assert_allclose(np.stack(alone), together, atol=1e-6)
    backwards = patterns_of(new[::-1], k)
    assert_allclose(backwards.expand(network.probabilities(backwards, state))[::-1], together, atol=1e-6)


def test_vote_of_an_lf_that_was_silent_counts_as_that_of_an_average_lf(make_weights):
    network, cells = PaperNetwork(make_weights()), repeated_votes(2)  # LF 2 never votes
    state, _ = network.read_at_once(patterns_of(cells, 2), None)
    for means in state:
        assert_array_equal(means.columns[2], means.total[0])
    in_chunks = read_in([patterns_of(cells[:60], 2), patterns_of(cells[60:], 2)], network, 6, 2)
    assert_states_agree(network, in_chunks, state)
    heard = network.probabilities(patterns_of(np.array([[-1, -1, 1, -1, -1, -1], [1, 1, 1, 1, 1, 1]]), 2), state)
    assert np.isfinite(heard).all()
    assert_allclose(heard.sum(1), 1)


def test_state_of_a_set_where_nobody_votes_judges_any_row(make_weights):
    network = PaperNetwork(make_weights())
    state, probabilities = network.read_at_once(patterns_of(np.full((4, 3), -1), 2), None)
    assert_array_equal(probabilities, [[0.5, 0.5]])
    assert np.isfinite(network.probabilities(patterns_of(np.array([[1, 0, -1]]), 2), state)).all()
    assert_states_agree(network, read_in([patterns_of(np.full((4, 3), -1), 2)], network, 3, 2), state)


def test_state_as_arrays_comes_back_exactly(make_weights):
    network, patterns = PaperNetwork(make_weights()), patterns_of(repeated_votes(3), 3)
    state, probabilities = network.read_at_once(patterns, None)
    again = network.from_arrays(network.to_arrays(state))
    assert_array_equal(network.probabilities(patterns, again), probabilities)


def test_network_without_torch_labels_and_fine_tunes():
    code = """
        import sys
        sys.modules["torch"] = None  # any import of it fails
        import numpy as np
        import hyperlabel as hl

        votes = np.random.default_rng(0).integers(-1, 3, (60, 5))
        model = hl.HyperLabelModel("hlm").fit(votes, {0: 1, 1: 2, 2: 0, 3: 1})
        print(model.n_iter_, model.predict_proba(votes).shape)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("2 (60, 3)\n", "")
