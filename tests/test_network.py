import subprocess
import sys
import textwrap

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel.network import backward, forward, forward_traced, problems
from hyperlabel.patterns import Patterns
from hyperlabel.votes import Votes


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
    return patterns.expand(forward(weights, patterns))


def one_against_rest(cells, c):
    return np.where(cells < 0, -1, cells == c)


@pytest.mark.parametrize(("k", "q"), [(2, 1), (3, 3), (10, 10)])
def test_problems_of_two_classes_are_one_of_more_are_as_many(k, q):
    assert problems(k) == q


@pytest.mark.parametrize("k", [3, 4, 7])
def test_forward_of_many_classes_equals_each_one_against_rest_problem_alone(make_weights, k):
    weights, cells = make_weights(), repeated_votes(k)
    together = logits_by_item(weights, cells, k)
    alone = [logits_by_item(weights, one_against_rest(cells, c), 2)[:, 0] for c in range(k)]
    assert together.shape == (len(cells), k)
    assert np.ptp(together, axis=0).min() > 0.01
    assert_allclose(together, np.stack(alone, 1), atol=1e-5)


def test_forward_of_two_classes_is_about_the_second(make_weights):
    weights, cells = make_weights(), repeated_votes(2)
    inverted = np.where(cells < 0, -1, 1 - cells)
    three = logits_by_item(weights, cells, 3)  # nobody votes for the third class
    assert_allclose(logits_by_item(weights, cells, 2)[:, 0], three[:, 1], atol=1e-5)
    assert_allclose(logits_by_item(weights, inverted, 2)[:, 0], three[:, 0], atol=1e-5)


def test_forward_of_counted_patterns_equals_forward_of_repeated_rows(make_weights):
    """Every count of 1 against the same rows once each, with their counts."""
    weights, patterns = make_weights(), patterns_of(repeated_votes(4), 4)
    apart = [repeated_votes(4)[patterns.inverse == p] for p in range(patterns.n_patterns)]
    rows = Votes.from_array(np.concatenate(apart), n_classes=4).rows
    single = Patterns(rows.starts, rows.lf, rows.vote, np.ones(patterns.n_items, np.int64), 6, 4)
    assert patterns.counts.max() > 1
    assert_allclose(forward(weights, single), np.repeat(forward(weights, patterns), patterns.counts, 0), atol=1e-5)


def test_forward_traced_gives_the_logits_of_forward(make_weights):
    weights, patterns = make_weights(), patterns_of(repeated_votes(3), 3)
    assert_array_equal(forward_traced(weights, patterns)[0], forward(weights, patterns))


def test_forward_and_backward_where_nobody_votes_are_finite(make_weights):
    weights, patterns = make_weights(), patterns_of(np.full((4, 3), -1), 3)
    logits, trace = forward_traced(weights, patterns)
    grads = backward(weights, trace, np.ones_like(logits))
    assert logits.shape == (1, 3)
    assert np.isfinite(logits).all()
    assert all(not grads[name].any() for name in grads if name.startswith("layer"))
    assert_allclose(grads["head2.bias"], [3])


def test_backward_gives_one_array_a_weight_and_changes_none(make_weights):
    weights, patterns = make_weights((4, 4)), patterns_of(repeated_votes(3), 3)
    before = weights.copy()
    logits, trace = forward_traced(weights, patterns)
    grads = backward(weights, trace, np.ones_like(logits))
    assert {name: grad.shape for name, grad in grads.items()} == {n: a.shape for n, a in weights.arrays.items()}
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
    weights, patterns = make_weights((4, 4), seed=3), patterns_of(repeated_votes(k), k)
    logits, trace = forward_traced(weights, patterns)
    upstream = np.random.default_rng(1).uniform(0.5, 1.5, logits.shape).astype(np.float32)
    grads = backward(weights, trace, upstream)[name]
    place = np.unravel_index(np.abs(grads).argmax(), grads.shape)
    step = 1e-3

    def loss(shift):
        moved = weights.copy()
        moved.arrays[name][place] += shift
        return float((forward(moved, patterns).astype(np.float64) * upstream).sum())

    difference = (loss(step) - loss(-step)) / (2 * step)
    assert abs(difference) > 0.1  # well above the error of float32, so that the next line can fail
    assert grads[place] == pytest.approx(difference, rel=0.01)


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
