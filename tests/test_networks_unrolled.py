"""The unrolled network: what its shape promises for any weights, so that nothing here depends on training."""

import pickle
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hyperlabel as hl
from hyperlabel._core import softmax
from hyperlabel.data import Patterns, Votes
from hyperlabel.networks import (
    START,
    Gold,
    Nodes,
    UnrolledNetwork,
    Weights,
    _steps,
    _unrolled,
    add_sums,
    advance,
    read,
    unrolled_shapes,
)
from hyperlabel.networks._backend import NumpyBackend, numpy_layers
from hyperlabel.networks._calibration import RARE_WORTH, match_gold
from hyperlabel.networks._steps import TYPICAL
from hyperlabel.networks._votes import PLAIN_VOTE, PackedVotes, SparseVotes, VoteTable, first_sums

TOLERANCE = 1e-6  # float32 in the learned part, sums in another order
SHARES = {
    "nothing": {},
    "balance": {"class_balance": np.array([0.2, 0.3, 0.5])},
    "accuracies": {"lf_accuracies": np.array([0.9, np.nan, 0.6, np.nan, 0.8, 0.7])},
    "both": {"class_balance": np.array([0.2, 0.3, 0.5]), "lf_accuracies": np.full(6, 0.8)},
}


def draw_votes(n=120, m=6, k=3, coverage=0.6, seed=0):
    """LFs of all kinds: the even ones vote for one class, the odd ones for all."""
    rng = np.random.default_rng([n, m, k, seed])
    truth = rng.integers(0, k, n)
    votes = np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(0, k, (n, m)))
    one_sided = (np.arange(m) % 2 == 0) & (votes != np.arange(m) % k)
    return np.where((rng.random((n, m)) < coverage) & ~one_sided, votes, -1), truth


def to_patterns(votes, k):
    return Patterns.from_votes(Votes.from_array(np.asarray(votes), n_classes=k))


def count_gold(patterns, truth, every=4):
    """(p, k) gold items: every fourth item is one."""
    return patterns.count_labels(np.where(np.arange(len(truth)) % every == 0, truth, -1))


def to_gold(patterns, counts):
    kept = np.flatnonzero(counts.any(1))
    return Gold(patterns.take(kept), counts[kept]) if len(kept) else None


def read_at_once(network, votes, k, known=None):
    """The state of votes, (n,) classes or -1 known of the items."""
    patterns = to_patterns(votes, k)
    gold = None if known is None else to_gold(patterns, patterns.count_labels(np.asarray(known)))
    return network.read_at_once(patterns, gold)[0]


def by_item(weights, votes, k, known=None, **shares):
    """Probabilities of the items of votes in the state of these votes."""
    network, patterns = UnrolledNetwork(weights, **shares), to_patterns(votes, k)
    return patterns.expand(network.probabilities(patterns, read_at_once(network, votes, k, known)))


def some_known(truth, every=4):
    return np.where(np.arange(len(truth)) % every == 0, truth, -1)


@pytest.fixture
def weights(make_unrolled_weights):
    """Random weights by which an item's votes say less each the more they are, as by those that are trained."""
    return make_unrolled_weights(seed=1)


# Parity with torch.


def torch_steps(weights, training_sets):
    """Probabilities of the rows of training sets after each step, by the network that is trained."""
    torch = pytest.importorskip("torch", reason="torch is not installed (extra `train`)")
    from hyperlabel.training import Batch, UnrolledNet

    net = UnrolledNet(weights.header["width"], weights.header["steps"])
    net.load_state_dict({f"steps.{name[4:]}": torch.from_numpy(array) for name, array in weights.arrays.items()})
    with torch.no_grad():
        return [output.exp().numpy() for output in net(Batch(training_sets))]


def to_training_set(patterns, truth, gold):
    pytest.importorskip("torch", reason="torch is not installed (extra `train`)")
    from hyperlabel.training import TrainingSet

    return TrainingSet(patterns, patterns.count_labels(truth).astype(np.float32), gold.astype(np.float32), 0.0)


@pytest.mark.torch
@pytest.mark.parametrize("has_gold", [False, True])
@pytest.mark.parametrize("k", [2, 3, 7, 40])
def test_probabilities_equal_those_of_torch(make_unrolled_weights, k, has_gold):
    for seed, (n, m) in enumerate([(200, 8), (60, 2), (30, 60)]):
        weights = make_unrolled_weights(seed=seed)
        votes, truth = draw_votes(n, m, k, seed=seed)
        kept = (votes >= 0).any(1)
        patterns, truth = to_patterns(votes[kept], k), truth[kept]
        gold = count_gold(patterns, truth) if has_gold else np.zeros((patterns.n_patterns, k), np.int64)
        theirs = torch_steps(weights, [to_training_set(patterns, truth, gold)])[-1]
        network = UnrolledNetwork(weights)
        ours = network.probabilities(patterns, network.read_steps(patterns, to_gold(patterns, gold)))
        assert ours.std() > 0.1 / k  # the network says something
        assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.torch
def test_torch_on_sets_side_by_side_equals_each_alone(weights):
    training_sets = []
    for seed in range(3):
        votes, truth = draw_votes(100, 5 + seed, 3, seed=seed)
        kept = (votes >= 0).any(1)
        patterns = to_patterns(votes[kept], 3)
        training_sets.append(to_training_set(patterns, truth[kept], count_gold(patterns, truth[kept])))
    alone = [torch_steps(weights, [training_set]) for training_set in training_sets]
    for step, together in enumerate(torch_steps(weights, training_sets)):
        assert_allclose(together, np.concatenate([each[step] for each in alone]), atol=1e-5)


# Symmetries.


@pytest.mark.parametrize("has_gold", [False, True])
def test_probabilities_when_items_are_permuted_are_permuted(weights, has_gold):
    votes, truth = draw_votes()
    known, order = some_known(truth), np.random.default_rng(1).permutation(len(votes))
    moved = by_item(weights, votes[order], 3, known[order] if has_gold else None)
    assert_allclose(moved, by_item(weights, votes, 3, known if has_gold else None)[order], atol=TOLERANCE)


@pytest.mark.parametrize("has_gold", [False, True])
def test_probabilities_when_lfs_are_permuted_are_unchanged(weights, has_gold):
    votes, truth = draw_votes(m=9)
    known, order = some_known(truth) if has_gold else None, np.random.default_rng(1).permutation(9)
    assert_allclose(by_item(weights, votes[:, order], 3, known), by_item(weights, votes, 3, known), atol=TOLERANCE)


@pytest.mark.parametrize("has_gold", [False, True])
@pytest.mark.parametrize("k", [2, 3, 6, 40])
def test_probabilities_when_classes_are_permuted_are_permuted(weights, k, has_gold):
    votes, truth = draw_votes(k=k)
    known = some_known(truth)
    number = np.append(np.random.default_rng(k).permutation(k), -1)  # the new number of each class
    renamed = by_item(weights, number[votes], k, number[known] if has_gold else None)
    assert_allclose(renamed[:, number[:k]], by_item(weights, votes, k, known if has_gold else None), atol=TOLERANCE)


def test_permuted_classes_and_lfs_with_their_shares_permute_probabilities(weights):
    votes, _ = draw_votes()
    balance, accuracies = np.array([0.5, 0.2, 0.3]), np.linspace(0.5, 0.95, 6)
    classes, lfs = np.array([2, 0, 1]), np.array([3, 0, 5, 1, 4, 2])
    plain = by_item(weights, votes, 3, class_balance=balance, lf_accuracies=accuracies)
    renamed = np.where(votes >= 0, np.argsort(classes)[votes], -1)[:, lfs]
    found = by_item(weights, renamed, 3, class_balance=balance[classes], lf_accuracies=accuracies[lfs])
    assert_allclose(found, plain[:, classes], atol=TOLERANCE)


@pytest.mark.parametrize("index", [0, 3, 6])
def test_probabilities_when_an_lf_never_votes_are_those_without_it(weights, index):
    votes, _ = draw_votes()
    more = np.insert(votes, index, -1, axis=1)
    assert_allclose(by_item(weights, more, 3), by_item(weights, votes, 3), rtol=0, atol=1e-12)


def test_probabilities_of_rows_without_votes_are_uniform_and_change_no_other(weights):
    votes, _ = draw_votes()
    silent = np.insert(votes, [0, 7, len(votes)], -1, axis=0)
    kept = np.delete(np.arange(len(silent)), [0, 8, len(silent) - 1])
    more = by_item(weights, silent, 3)
    assert_allclose(more[[0, 8, -1]], 1 / 3)
    assert_allclose(more[kept], by_item(weights, votes, 3), rtol=0, atol=1e-12)


# More items are more evidence, up to a point.


def test_scale_counts_all_votes_up_to_a_typical_number_for_each_lf():
    votes, voting = np.array([50.0, 300.0, 40_000.0]), np.array([1.0, 3.0, 4.0])
    sizes = {"n": votes, "items": votes, "voting": voting, "gold": np.zeros(3)}
    nodes = Nodes(NumpyBackend(), 2, 3, lf=np.arange(3), vote=np.zeros(3, int), of_set=np.arange(3), **sizes)
    assert_allclose(nodes.scale, [1, 1, TYPICAL * 4 / 40_000])


def test_probabilities_of_a_set_with_typical_votes_are_unchanged_when_every_item_is_repeated(weights):
    patterns = to_patterns(draw_votes(n=3000)[0], 3)
    assert patterns.counts @ np.diff(patterns.starts) > TYPICAL * 6
    repeated, network = replace(patterns, counts=patterns.counts * 1000), UnrolledNetwork(weights)
    one, other = (network.read_at_once(each, None)[1] for each in (patterns, repeated))
    assert_allclose(one, other, rtol=0, atol=1e-12)


def test_items_of_a_small_set_that_are_repeated_are_more_evidence(weights):
    patterns = to_patterns(draw_votes(n=20)[0], 3)
    repeated, network = replace(patterns, counts=patterns.counts * 5), UnrolledNetwork(weights)
    one, other = (network.read_at_once(each, None)[1] for each in (patterns, repeated))
    assert np.abs(one - other).max() > 1e-3


# Chunks.


def cut_up(patterns, seed, parts=5):
    """Chunks of patterns in a random order, the counts of each pattern shared among several rows and chunks."""
    rng = np.random.default_rng(seed)
    row = np.repeat(np.arange(patterns.n_patterns), patterns.counts)
    chunk = rng.integers(0, parts, len(row))
    chunks = []
    for part in range(parts):
        rows = rng.permutation(row[chunk == part])
        once = rows[: len(rows) // 2]  # these are not grouped
        grouped, counts = np.unique(rows[len(rows) // 2 :], return_counts=True)
        joined = patterns.take(np.concatenate([once, grouped]))
        chunks.append(replace(joined, counts=np.concatenate([np.ones(len(once), np.int64), counts])))
    return chunks


def read_chunks(network, chunks, patterns, gold):
    return read(network, lambda sums: reduce(add_sums, map(sums, chunks)), patterns.n_lfs, patterns.n_classes, gold)


def assert_same_state(network, one, other, atol=1e-10):
    arrays, others = network.to_arrays(one), network.to_arrays(other)
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        assert_allclose(array, others[name], rtol=0, atol=atol, err_msg=name)


@pytest.mark.parametrize("has_gold", [False, True])
@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("n", [40, 4000])
def test_state_read_in_chunks_is_the_state_read_at_once(weights, n, shares, has_gold):
    votes, truth = draw_votes(n=n, coverage=0.8)
    patterns, network = to_patterns(votes, 3), UnrolledNetwork(weights, **SHARES[shares])
    assert n < 100 or patterns.counts.max() > 10
    gold = to_gold(patterns, count_gold(patterns, truth)) if has_gold else None
    whole, found = network.read_at_once(patterns, gold)
    assert_array_equal(found, network.probabilities(patterns, whole))
    for seed in range(3):
        assert_same_state(network, read_chunks(network, cut_up(patterns, seed), patterns, gold), whole)


@pytest.mark.parametrize("k", [2, 40])
def test_state_of_few_and_of_many_classes_read_in_chunks_is_that_read_at_once(weights, k):
    votes, _ = draw_votes(n=400, k=k, coverage=0.9)
    patterns, network = to_patterns(votes, k), UnrolledNetwork(weights)
    whole, _ = network.read_at_once(patterns, None)
    atol = 1e-10 if k == 2 else 1e-5  # sets of many classes are read in float32
    assert_same_state(network, read_chunks(network, cut_up(patterns, 0), patterns, None), whole, atol)


@pytest.mark.parametrize(("m", "k"), [(4, 100), (20, 100)])  # rows of few votes are counted vote by vote
def test_first_sums_of_many_classes_are_those_of_the_first_beliefs(m, k):
    patterns = to_patterns(draw_votes(n=60, m=m, k=k, coverage=0.7)[0], k)
    votes = VoteTable.from_patterns(replace(patterns, counts=np.arange(1, patterns.n_patterns + 1)))
    marks = (patterns.to_array()[votes.has_votes][:, :, None] == np.arange(k)).astype(float)  # (r, m, k)
    beliefs = (marks.sum(1) + START) / (votes.size + START * k)[:, None] * votes.counts[:, None]
    class_counts, class_totals = first_sums(votes, m, k)
    assert_allclose(class_counts, np.einsum("rmv,rc->mvc", marks, beliefs).reshape(m * k, k), atol=1e-4)
    assert_allclose(class_totals, beliefs.sum(0), atol=1e-4)


def test_probabilities_of_many_classes_are_sums_over_votes_in_float64(weights):
    votes, k = draw_votes(n=200, k=50, coverage=0.8)[0], 50
    patterns, network = to_patterns(votes, k), UnrolledNetwork(weights)
    state, found = network.read_at_once(patterns, None)
    logits = np.tile(state.evidence.bias, (patterns.n_patterns, 1))
    np.add.at(logits, patterns.row, network.contributions(patterns, state))
    assert_allclose(found[patterns.has_votes], softmax(logits)[patterns.has_votes], rtol=1e-9)
    assert_array_equal(found[:1], network.probabilities(patterns.take(np.arange(1)), state))


def test_state_of_packed_votes_read_in_chunks_is_that_read_at_once(weights):
    votes, _ = draw_votes(n=20_000, m=14, k=2, coverage=0.95)
    patterns, network = to_patterns(votes, 2), UnrolledNetwork(weights)
    items = Votes.from_array(votes, n_classes=2).rows
    rows = Patterns(items, np.ones(20_000, np.int64), 14, 2)
    assert isinstance(VoteTable.from_patterns(rows).layout, PackedVotes)
    whole, _ = network.read_at_once(rows, None)
    assert_same_state(network, read_chunks(network, cut_up(patterns, 0), patterns, None), whole)


def test_reading_can_be_pickled_between_passes(weights):
    votes, truth = draw_votes()
    patterns, network = to_patterns(votes, 3), UnrolledNetwork(weights)
    gold = to_gold(patterns, count_gold(patterns, truth))
    network, state = pickle.loads(pickle.dumps((network, network.start(6, 3, gold))))
    while not network.is_complete(state):
        state = pickle.loads(pickle.dumps(network.advance(state, network.sums(patterns, state))))
    assert_same_state(network, state, network.read_at_once(patterns, gold)[0], atol=0)


def draw_layouts(n, m, k, seed=0):
    rng = np.random.default_rng([n, m, k, seed])
    votes = np.where(rng.random((n, m)) < 0.8, rng.integers(0, k, (n, m)), -1)
    votes[np.arange(n), rng.integers(0, m, n)] = 0  # every row has a vote
    rows = Votes.from_array(votes, n_classes=k).rows
    sparse = SparseVotes(rows.starts, rows.lf * k + rows.vote, k, m * k)
    return votes, sparse, PackedVotes(votes, k)


@pytest.mark.parametrize(("n", "m", "k"), [(3000, 5, 2), (500, 61, 2), (300, 13, 4), (200, 3, 100), (1, 1, 1)])
def test_sums_over_rows_and_over_nodes_are_those_of_a_matrix_product(n, m, k):
    votes, *layouts = draw_layouts(n, m, k)
    marks = (votes[:, :, None] == np.arange(k)).reshape(n, m * k).astype(float)
    rng = np.random.default_rng(0)
    table, values = rng.normal(size=(m * k, 3)), rng.normal(size=(n, 3))
    for layout in layouts:
        blocks = list(layout.sum_by_row(table))
        assert_array_equal(np.concatenate([np.arange(n)[block] for block, _ in blocks]), np.arange(n))
        assert_allclose(np.concatenate([sums for _, sums in blocks]), marks @ table, atol=1e-12)
        assert_allclose(layout.sum_by_node(values), marks.T @ values, atol=1e-9)


# Odd sets.


ODD = {
    "one LF": draw_votes(m=1, coverage=1.0)[0] % 3,
    "one item": np.array([[0, 2, 1, 1]]),
    "one vote": np.array([[2]]),
    "unanimous LFs": np.repeat(np.arange(12)[:, None] % 3, 4, axis=1),
    "one class voted for": np.where(draw_votes()[0] >= 0, 1, -1),
    "an LF that votes once": np.column_stack([draw_votes()[0], np.where(np.arange(120) == 7, 1, -1)]),
    "1000 LFs": draw_votes(n=40, m=1000, coverage=0.2)[0],
    "300 classes": draw_votes(n=300, m=5, k=300)[0],
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_votes_give_distributions(weights, odd):
    votes, k = ODD[odd], 300 if odd == "300 classes" else 3
    found = by_item(weights, votes, k)
    assert found.shape == (len(votes), k)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert_allclose(found.sum(1), 1)


@pytest.mark.parametrize("k", [2, 5])
def test_probabilities_where_nobody_votes_are_uniform(weights, k):
    assert_allclose(by_item(weights, np.full((4, 3), -1), k), 1 / k)


def test_one_class_is_certain(weights):
    votes = np.array([[0, -1], [-1, -1]])
    assert_array_equal(by_item(weights, votes, 1), [[1.0], [1.0]])


def test_rows_of_no_items_change_nothing(weights):
    patterns, network = to_patterns(draw_votes()[0], 3), UnrolledNetwork(weights)
    more = to_patterns(np.r_[draw_votes()[0], draw_votes(seed=5)[0]], 3)
    index = patterns.find(more)
    counts = np.zeros(more.n_patterns, np.int64)
    counts[index] = patterns.counts
    state = network.read_at_once(replace(more, counts=counts, inverse=None), None)[0]
    assert_same_state(network, state, network.read_at_once(patterns, None)[0])


# New rows.


def test_rows_alone_and_in_any_batch_have_the_same_probabilities(weights):
    network, new = UnrolledNetwork(weights), to_patterns(draw_votes(n=300, seed=3)[0], 3)
    state = read_at_once(network, *draw_votes()[:1], 3, some_known(draw_votes()[1]))
    together = network.probabilities(new, state)
    alone = np.concatenate([network.probabilities(new.take(np.array([i])), state) for i in range(new.n_patterns)])
    backwards = network.probabilities(new.take(np.arange(new.n_patterns)[::-1]), state)[::-1]
    assert_allclose(alone, together, rtol=0, atol=1e-12)
    assert_allclose(backwards, together, rtol=0, atol=1e-12)


def judge(network, state, rows, k=3):
    patterns = to_patterns(rows, k)
    return patterns.expand(network.probabilities(patterns, state))


def test_vote_of_a_silent_lf_is_worth_the_average_vote_for_its_class(weights):
    votes, _ = draw_votes()
    network = UnrolledNetwork(weights)
    state = read_at_once(network, np.column_stack([votes, np.full(120, -1)]), 3)
    table = state.evidence.table.reshape(7, 3, 3)
    for v in range(3):
        cast = (votes == v).sum(0)
        assert_allclose(table[6, v], cast @ table[:6, v] / cast.sum(), atol=1e-12)
    assert judge(network, state, [[-1] * 6 + [1]])[0].argmax() == 1


def test_vote_that_an_lf_never_cast_is_worth_the_average_vote_for_that_class(weights):
    votes, _ = draw_votes()
    votes[:, 5] = np.where(votes[:, 5] == 2, -1, votes[:, 5])
    state = read_at_once(UnrolledNetwork(weights), votes, 3)
    table, cast = state.evidence.table.reshape(6, 3, 3), (votes == 2).sum(0)
    assert cast[5] == 0
    assert_allclose(table[5, 2], cast @ table[:, 2] / cast.sum(), atol=1e-12)


def test_votes_for_a_class_that_nobody_voted_for_are_worth_those_of_an_average_class(weights):
    votes, truth = draw_votes(k=3)
    network, known = UnrolledNetwork(weights), np.where(np.arange(120) % 9 == 0, 3, -1)  # the class has gold alone
    state = read_at_once(network, votes, 4, known)
    table = state.evidence.table.reshape(6, 4, 4)
    cast = np.stack([(votes == v).sum(0) for v in range(4)], 1)
    own = (cast * table[:, np.arange(4), np.arange(4)]).sum() / cast.sum()
    others = ((cast[:, :, None] * table).sum() - own * cast.sum()) / 3 / cast.sum()
    assert_allclose(table[:, 3, 3], own)
    assert_allclose(table[:, 3, :3], others)
    assert np.isfinite(judge(network, state, np.full((1, 6), 3), 4)).all()


def test_majority_wins_in_the_state_of_a_set_without_votes(weights):
    network = UnrolledNetwork(weights)
    state = read_at_once(network, np.full((4, 3), -1), 3)
    assert_allclose(state.evidence.table, PLAIN_VOTE * np.tile(np.eye(3), (3, 1)))
    assert judge(network, state, [[2, 2, 0], [1, -1, -1]]).argmax(1).tolist() == [2, 1]


@pytest.mark.parametrize("has_gold", [False, True])
def test_state_as_arrays_and_back_is_the_same(weights, has_gold):
    votes, truth = draw_votes()
    network = UnrolledNetwork(weights, **SHARES["both"])
    state = read_at_once(network, votes, 3, some_known(truth) if has_gold else None)
    arrays = network.to_arrays(state)
    assert ("gold.counts" in arrays) == has_gold
    assert all(array.dtype in (np.float64, np.int64) for array in arrays.values())
    again = network.from_arrays({name: array.copy() for name, array in arrays.items()})
    for name, array in network.to_arrays(again).items():
        assert_array_equal(array, arrays[name])
    new = to_patterns(np.r_[votes, draw_votes(seed=4)[0]], 3)
    assert_array_equal(network.probabilities(new, again), network.probabilities(new, state))


# Explanations.


@pytest.mark.parametrize("has_gold", [False, True])
@pytest.mark.parametrize("k", [2, 4])
def test_contributions_and_bias_add_up_to_the_logits(weights, k, has_gold):
    votes, truth = draw_votes(k=k)
    network, patterns = UnrolledNetwork(weights), to_patterns(votes, k)
    state = read_at_once(network, votes, k, some_known(truth) if has_gold else None)
    added = network.contributions(patterns, state)
    assert added.shape == (len(patterns.lf), k)
    logits = np.tile(state.evidence.bias, (patterns.n_patterns, 1))
    np.add.at(logits, patterns.row, added)
    beliefs = network.probabilities(patterns, replace(state, gold=None))
    assert_allclose(softmax(logits)[patterns.has_votes], beliefs[patterns.has_votes], rtol=0, atol=1e-12)


def test_explanation_of_an_item_has_the_exact_contributions(weights):
    votes, _ = draw_votes()
    item, network, patterns = int((votes >= 0).sum(1).argmax()), UnrolledNetwork(weights), to_patterns(votes, 3)
    first, last = patterns.starts[patterns.inverse[item] :][:2]
    added = network.contributions(patterns, read_at_once(network, votes, 3))[first:last]
    explained = hl.HyperLabelModel(weights=weights).explain(votes, item)
    relative = added - (added.sum(1, keepdims=True) - added) / 2
    assert_allclose(sorted(part.log_odds for part in explained.contributions), sorted(relative[:, explained.label]))


# Gold.


def lf_means(marks, items, table):
    """The evidence for each class, averaged over the votes of each LF on items of that class. (m * k, k)."""
    k = table.shape[1]
    counts = (marks.T @ items).reshape(-1, k, k)  # (m, vote, class)
    means = (counts * table.reshape(-1, k, k)).sum(1) / np.maximum(counts.sum(1), 1e-9)
    return np.repeat(means, k, axis=0)


def design_by_definition(marks, items, residuals):
    """The log of the design effect: the variance of sums over that of votes, each within its class, plus one. (1,)."""
    sums = marks @ residuals
    means = (items * sums).sum(0) / items.sum(0)
    of_sums = (items * (sums - means) ** 2).sum()
    around = residuals - lf_means(marks, items, residuals)
    of_votes = ((marks.T @ items) * around**2).sum()
    return np.log([(of_sums + 1) / (of_votes + 1)])


def plain_weights():
    """Weights of a network without learned corrections."""
    arrays = {name: np.zeros(shape, np.float32) for name, shape in unrolled_shapes(4, 3).items()}
    return Weights(arrays, {"model": "plain", "width": 4, "steps": 3})


def judges(copies, n=400, m=12, accuracy=0.8, seed=0):
    """Votes of judges of two classes, every `copies` of them the same."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    right = rng.random((n, m // copies)) < accuracy
    return np.repeat(np.where(right, truth[:, None], 1 - truth[:, None]), copies, axis=1), truth


def log_design_effect(weights, votes, monkeypatch):
    """What the last step is told."""
    told, original = [], _unrolled.advance

    def listen(linear, nodes, class_counts, class_totals, design, *, last):
        told.append(float(design[0]))
        return original(linear, nodes, class_counts, class_totals, design, last=last)

    monkeypatch.setattr(_unrolled, "advance", listen)
    UnrolledNetwork(weights).read_at_once(to_patterns(votes, 2), None)
    assert told[:-1] == [0.0] * (len(told) - 1)
    return told[-1]


def test_design_effect_of_copies_is_about_how_many_they_are(monkeypatch):
    weights = plain_weights()
    alone, copied = (np.exp(log_design_effect(weights, judges(copies)[0], monkeypatch)) for copies in (1, 4))
    assert 1 < alone < 2 < 2.5 < copied < 5


def test_design_effect_of_one_sided_lfs_is_one(monkeypatch):
    votes, _ = judges(1)
    sided = np.where(votes == np.arange(12) % 2, votes, -1)
    assert log_design_effect(plain_weights(), sided, monkeypatch) == pytest.approx(0, abs=1e-9)


def test_evidence_of_copies_is_softened_by_their_design_effect(monkeypatch):
    patterns = to_patterns(judges(4)[0], 2)
    _, softened = UnrolledNetwork(plain_weights()).read_at_once(patterns, None)
    monkeypatch.setattr(_steps, "DESIGN", 0.0)
    _, plain = UnrolledNetwork(plain_weights()).read_at_once(patterns, None)
    assert (softened.max(1) < plain.max(1)).all()


def read_with_gold_in_rows(weights, patterns, gold):
    """Probabilities after the last step, by definition: gold is known of the items of a row. (p, k)."""
    k, votes = patterns.n_classes, VoteTable.from_patterns(patterns)
    marks = (patterns.to_array()[:, :, None] == np.arange(k)).reshape(patterns.n_patterns, -1).astype(float)
    cast = marks.reshape(patterns.n_patterns, -1, k).sum(1)
    n = marks.T @ patterns.counts
    number = np.flatnonzero(n)
    nodes = Nodes(
        NumpyBackend(),
        k,
        patterns.n_lfs,
        lf=number // k,
        vote=number % k,
        of_set=np.zeros(len(number), np.intp),
        n=n[number],
        items=np.array([float(patterns.counts.sum())]),
        voting=np.array([float(len(np.unique(patterns.lf)))]),
        gold=(marks.T @ gold.sum(1))[number],
    )
    belief = (cast + START) / (cast.sum(1, keepdims=True) + START * k)
    steps, design, residuals = weights.header["steps"], np.zeros(1), None
    for number_of_step in range(steps):
        items = (patterns.counts - gold.sum(1))[:, None] * belief + gold
        class_counts = nodes.scale * (marks.T @ items)[number]
        linear, last = numpy_layers(weights, number_of_step), number_of_step == steps - 1
        if last:
            design = design_by_definition(marks, items * nodes.scale, residuals)
        step = advance(linear, nodes, class_counts, nodes.scale * items.sum(0)[None], design, last=last)
        table = np.zeros((marks.shape[1], k))
        table[number] = step.evidence
        residuals = table - lf_means(marks, items, table)
        factor = step.scale * votes.size[:, None] ** step.power
        belief = softmax(step.bias + factor * (marks @ table))
    return (step.gold_weight * belief + gold) / (step.gold_weight + gold.sum(1, keepdims=True))


@pytest.mark.parametrize("every", [2, 7])
@pytest.mark.parametrize("k", [2, 5])
def test_gold_put_in_the_place_of_beliefs_is_gold_in_its_rows(weights, k, every):
    votes, truth = draw_votes(n=600, k=k)
    kept = (votes >= 0).any(1)
    patterns = to_patterns(votes[kept], k)
    gold = count_gold(patterns, truth[kept], every)
    network = UnrolledNetwork(weights)
    found = network.probabilities(patterns, network.read_steps(patterns, to_gold(patterns, gold)))
    assert_allclose(found, read_with_gold_in_rows(weights, patterns, gold), atol=TOLERANCE)


def test_gold_moves_its_pattern_towards_it(weights):
    votes, _ = draw_votes()
    plain = by_item(weights, votes, 3)
    item = int((votes >= 0).sum(1).argmax())
    unlikely = int(plain[item].argmin())
    known = np.where(np.arange(120) == item, unlikely, -1)
    assert by_item(weights, votes, 3, known)[item, unlikely] > plain[item, unlikely] + 0.05


def test_more_gold_of_a_pattern_tends_to_powers_of_its_shares(weights):
    votes = np.concatenate([draw_votes()[0], np.zeros((1000, 6), int)])
    shares, distances = np.array([0.2, 0.5, 0.3]), []
    limit = shares ** (1 - RARE_WORTH) / (shares ** (1 - RARE_WORTH)).sum()  # a class of few gold items counts for more
    for size in (10, 100, 1000):
        known = np.full(1120, -1)
        known[120 : 120 + size] = np.repeat([0, 1, 2], (shares * size).astype(int))
        distances.append(np.abs(by_item(weights, votes, 3, known)[-1] - limit).max())
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] < 0.02


def test_gold_changes_what_an_lf_is_worth_elsewhere(weights):
    votes, _ = draw_votes()
    items = np.flatnonzero((votes[:, 1] >= 0) & ((votes >= 0).sum(1) > 2))[::2]
    known = np.full(120, -1)
    known[items] = (votes[items, 1] + 1) % 3
    same = np.array([(votes[items] == row).all(1).any() for row in votes])
    others = np.flatnonzero((votes[:, 1] >= 0) & ~same)
    plain, taught = by_item(weights, votes, 3), by_item(weights, votes, 3, known)
    assert np.abs(plain - taught)[others].max() > 0.01


def test_gold_of_a_pattern_is_looked_up_wherever_it_occurs(weights):
    votes, truth = draw_votes()
    network = UnrolledNetwork(weights)
    state = read_at_once(network, votes, 3, some_known(truth))
    new = to_patterns(np.r_[votes[:30], draw_votes(seed=9)[0][:30]], 3)
    gold = to_patterns(votes, 3)
    counts = count_gold(gold, truth)
    weight, worth = state.evidence.gold_weight, state.evidence.gold_worth
    beliefs = network.probabilities(new, replace(state, gold=None))
    index = new.find(gold)
    known = np.where((index >= 0)[:, None] & new.has_votes[:, None], counts[index], 0) * worth
    expected = (weight * beliefs + known) / (weight + known.sum(1, keepdims=True))
    assert known.any()
    assert_allclose(network.probabilities(new, state), expected, atol=1e-12)


def gap(evidence, votes, gold):
    """How far the classes of gold items are from what is expected, node by node, rare classes counting for more."""
    weighted = gold / np.sqrt(gold.sum(0) + 1)
    expected = weighted.sum(1, keepdims=True) * evidence.beliefs(votes, np.float64)
    return np.abs(votes.layout.sum_by_node(weighted) - votes.layout.sum_by_node(expected)).sum()


def test_matched_evidence_expects_the_classes_of_gold_items(weights):
    votes, truth = draw_votes(n=3000)
    kept = (votes >= 0).any(1)
    patterns = to_patterns(votes[kept], 3)
    gold = to_gold(patterns, count_gold(patterns, truth[kept], every=2))
    table, before = VoteTable.from_patterns(gold.patterns), UnrolledNetwork(weights).read_steps(patterns, gold).evidence
    after = match_gold(before, table, gold.counts)
    assert gap(after, table, gold.counts) < 0.8 * gap(before, table, gold.counts)


def test_gold_within_chance_of_what_is_expected_changes_no_evidence(weights):
    """One gold item says little; the same share of a hundred times as many says much."""
    votes, truth = draw_votes(n=3000)
    patterns = to_patterns(votes[(votes >= 0).any(1)], 3)
    evidence = UnrolledNetwork(weights).read_steps(patterns, None).evidence
    one = patterns.take(np.array([int(np.diff(patterns.starts).argmax())]))
    table, beliefs = VoteTable.from_patterns(one), evidence.beliefs(VoteTable.from_patterns(one), np.float64)
    likely = np.eye(3, dtype=int)[[beliefs[0].argmax()]]
    assert_array_equal(match_gold(evidence, table, likely).table, evidence.table)
    unlikely = np.eye(3, dtype=int)[[beliefs[0].argmin()]] * 100
    assert not np.allclose(match_gold(evidence, table, unlikely).table, evidence.table)


def test_gold_of_an_lf_that_is_always_wrong_turns_its_votes_on_other_patterns(weights):
    """The LF alone on an item says class 0; gold, on items where others vote too, says it never is."""
    rng = np.random.default_rng(0)
    votes = np.full((600, 5), -1)
    votes[:, 0] = 0
    votes[:500, 1:] = np.where(rng.random((500, 4)) < 0.5, rng.integers(0, 2, (500, 4)), -1)
    known = np.where((np.arange(600) < 500) & (np.arange(600) % 2 == 0), 1, -1)
    alone, taught = by_item(weights, votes, 2)[-1], by_item(weights, votes, 2, known)[-1]
    assert taught[0] < alone[0] - 0.1


def test_rare_class_keeps_a_pattern_that_gold_splits(weights):
    """Class 1 has a tenth of the gold, and two fifths of that of one pattern: there it is the label."""
    votes = np.zeros((1000, 3), int)
    votes[:200] = [[0, 1, 1]]
    labels = by_item(weights, votes, 2, (np.arange(1000) < 80).astype(int)).argmax(1)
    assert (labels[0], labels[-1]) == (1, 0)


def test_gold_of_one_item_or_of_one_class_is_taken(weights):
    votes, _ = draw_votes()
    item = int((votes >= 0).sum(1).argmax())
    for known in (np.where(np.arange(120) == item, 1, -1), np.ones(120, int)):
        found = by_item(weights, votes, 3, known)
        assert np.isfinite(found).all()
        assert_allclose(found.sum(1), 1)
        assert found[item].argmax() == 1 or (known >= 0).sum() == 1


def test_gold_on_items_without_votes_changes_nothing(weights):
    votes = np.insert(draw_votes()[0], 0, -1, axis=0)
    known = np.where(np.arange(121) == 0, 1, -1)
    patterns, network = to_patterns(votes, 3), UnrolledNetwork(weights)
    gold = to_gold(patterns, patterns.count_labels(known))
    assert gold.counts.sum() == 1
    state, found = network.read_at_once(patterns, gold)
    assert state.gold is None
    assert_array_equal(found, network.read_at_once(patterns, None)[1])


# Known shares.


def shares_of(weights, votes, **shares):
    """Expected share of each class among the items with votes, and of each LF's right votes. (k,), (m,)."""
    believed = by_item(weights, votes, 3, **shares)
    cast = votes >= 0
    own = np.take_along_axis(believed, np.maximum(votes, 0), axis=1)
    return believed[cast.any(1)].mean(0), (own * cast).sum(0) / cast.sum(0)


def test_known_class_balance_draws_the_share_of_each_class_to_it(weights):
    votes, _ = draw_votes(n=400)
    balance = np.array([0.7, 0.1, 0.2])
    plain, _ = shares_of(weights, votes)
    matched, _ = shares_of(weights, votes, class_balance=balance)
    assert np.abs(plain - balance).max() > 0.1
    assert (np.abs(matched - balance) < np.abs(plain - balance)).all()


def test_known_accuracies_are_the_shares_of_right_votes(weights):
    votes, _ = draw_votes(n=2000)
    accuracies = np.array([0.9, 0.4, np.nan, 0.7, np.nan, 0.6])
    known = np.array([0, 1, 3, 5])
    _, plain = shares_of(weights, votes)
    _, matched = shares_of(weights, votes, lf_accuracies=accuracies)
    assert np.abs(matched - accuracies)[known].max() < 0.3 * np.abs(plain - accuracies)[known].max()


def test_known_shares_and_gold_are_taken_together(weights):
    votes, truth = draw_votes()
    known, shares = some_known(truth, 3), SHARES["both"]
    both = by_item(weights, votes, 3, known, **shares)
    for other in (by_item(weights, votes, 3, **shares), by_item(weights, votes, 3, known)):
        assert np.abs(both - other).max() > 0.01
    assert_allclose(both.sum(1), 1)


def test_known_shares_of_votes_nobody_cast_change_nothing(weights):
    shares = {"class_balance": np.array([0.9, 0.1]), "lf_accuracies": np.array([0.9, 0.8, 0.7])}
    assert_allclose(by_item(weights, np.full((4, 3), -1), 2, **shares), 0.5)


def test_narrow_rule_is_believed_beside_a_broad_lf_where_votes_are_few():
    broad = (np.arange(300) % 3 > 0).astype(int)
    narrow = np.where((broad == 1) & (np.arange(300) < 90), 0, -1)
    labels = hl.HyperLabelModel().predict(np.c_[broad, narrow])
    assert_array_equal(labels, np.where(narrow == 0, 0, broad))


def describe_rules(covered, rules):
    """An LF of two classes on all of 1,000 items, and rules for class 0 that vote on so many each."""
    lf, vote = np.r_[0, np.arange(rules + 1)], np.r_[1, np.zeros(rules + 1, int)]
    n = np.r_[600.0, 400.0, np.full(rules, covered)]
    sizes = {"items": np.array([1000.0]), "voting": np.array([rules + 1.0]), "gold": np.zeros(len(lf))}
    return Nodes(NumpyBackend(), 2, rules + 1, lf=lf, vote=vote, of_set=np.zeros(len(lf), int), n=n, **sizes)


def test_confusions_are_trusted_less_and_narrow_rules_say_more_in_thin_sets_alone():
    thin, narrower, of_many = describe_rules(200.0, 2), describe_rules(20.0, 2), describe_rules(20.0, 20)
    assert narrower.rarity[-1] > 1.4 * thin.rarity[-1]
    assert_allclose(narrower.trust[0], of_many.trust[0] - 4, atol=1)
    assert_allclose(of_many.rarity[0], 1)  # nor does rarity of the class count for an LF of several
    assert thin.rarity[0] > thin.rarity[1]
