"""The network that labels (NumPy, patterns, all classes at once) against the one that is trained (torch, items)."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hyperlabel.data import Patterns, Votes
from hyperlabel.networks import backward, forward
from hyperlabel.training import to_signs

torch = pytest.importorskip("torch", reason="torch is not installed (extra `train`)")
pytestmark = pytest.mark.torch
torch.set_num_threads(1)  # small matrices: more threads only wait for each other

TOLERANCE = 1e-5
WIDTHS = [(8, 8, 8, 32), (4, 4)]


@cache
def random_cells(k):
    """Random votes of many kinds, (n, m) each."""
    rng = np.random.default_rng(k)
    dense = rng.integers(0, k, (150, 7))
    voted = np.where(rng.random((150, 7)) < 0.3, dense, -1)
    return {
        "dense": dense,
        "sparse": voted,
        "one item": voted[(voted >= 0).sum(1) > 2][:1],
        "one LF": voted[:, :1],
        "many LFs": np.where(rng.random((20, 300)) < 0.1, rng.integers(0, k, (20, 300)), -1),
        "repeated items": rng.integers(-1, k, (12, 5))[rng.integers(12, size=400)],
        "rows without votes": np.r_[-np.ones((2, 7), int), voted, -np.ones((1, 7), int)],
        "an LF that never votes": np.insert(voted, 3, -1, axis=1),
        "an LF that always votes the same": np.insert(voted, 0, 1, axis=1),
        "nobody votes": -np.ones((3, 4), int),
    }


@cache
def random_net(widths):
    """A network whose logits depend on the votes more than a fresh one's do."""
    from hyperlabel.training import HyperNet

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = HyperNet(widths)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter *= 2.5
    return net


@cache
def exported(net):
    from hyperlabel.training import to_weights

    return to_weights(net, {})


def patterns_of(cells, k):
    return Patterns.from_votes(Votes.from_array(cells, n_classes=k))


def problem_votes(cells, k):
    """The binary votes of each class against the rest."""
    return [np.where(cells < 0, -1, cells == c) for c in range(k)]


@torch.no_grad()
def logits_by_item(net, cells, k):
    """Torch, one problem after the other, item by item. -> (n, k)."""
    return np.stack([net(torch.from_numpy(to_signs(votes))).numpy() for votes in problem_votes(cells, k)], 1)


def assert_logits_agree(net, cells, k):
    patterns = patterns_of(cells, k)
    ours, theirs = patterns.expand(forward(exported(net), patterns)[0]), logits_by_item(net, cells, k)
    assert ours.shape == theirs.shape
    assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE)
    return ours


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("kind", random_cells(2))
def test_forward_of_random_votes_agrees_with_torch_item_by_item(kind, k, widths):
    logits = assert_logits_agree(random_net(widths), random_cells(k)[kind], k)
    assert np.ptp(logits) > 0.01 or len(logits) < 4  # the votes matter


@pytest.mark.parametrize(("name", "k"), [("youtube", 2), ("chemprot", 10), ("crowd_face", 4)])
def test_forward_of_real_votes_agrees_with_torch_item_by_item(real_votes, name, k):
    logits = assert_logits_agree(random_net(WIDTHS[0]), real_votes(name), k)
    assert np.ptp(logits, axis=0).min() > 0.01


def test_forward_of_deepset_weights_agrees_with_torch_item_by_item():
    from hyperlabel.training import HyperNet

    torch.manual_seed(0)
    assert_logits_agree(HyperNet((4, 8), ("self", "row")), random_cells(4)["sparse"], 4)


def fused_logits(leaves, signs):
    """The network written down from the fused matrices, item by item. (n, m) -> (n,)."""
    voted = signs != 0
    per_row, per_column = (voted.sum(axis, keepdim=True).clamp(min=1)[..., None] for axis in (1, 0))
    cells = signs[:, :, None]  # (n, m, d)
    layers = sum(name.endswith(".self") for name in leaves)
    for i in range(layers):
        means = {
            "self": cells,
            "row": cells.sum(1, keepdim=True) / per_row,
            "column": cells.sum(0, keepdim=True) / per_column,
            "all": cells.sum((0, 1), keepdim=True) / voted.sum().clamp(min=1),
        }
        mapped = sum(mean @ leaves[f"layer{i}.{term}"].T for term, mean in means.items())
        cells = torch.nn.functional.leaky_relu(mapped + leaves[f"layer{i}.bias"], 0.01) * voted[:, :, None]
    items = cells.sum(1) / per_row[:, 0]
    for i in range(2):
        items = items @ leaves[f"head{i}.weight"].T + leaves[f"head{i}.bias"]
        items = torch.nn.functional.leaky_relu(items, 0.01)
    return (items @ leaves["head2.weight"].T + leaves["head2.bias"])[:, 0]


def leaves_of(weights):
    return {name: torch.tensor(array, dtype=torch.float64).requires_grad_() for name, array in weights.arrays.items()}


def assert_gradients_agree(weights, cells, k, gold):
    """The gradient of ten times the mean cross-entropy of the gold items, (n,) classes with -1 for unknown."""
    patterns = patterns_of(cells, k)
    logits, trace = forward(weights, patterns)
    counts = patterns.count_labels(gold)  # (p, k)
    scale = 10 / (counts.sum() * logits.shape[1])
    upstream = scale * (counts.sum(1, keepdims=True) / (1 + np.exp(-logits.astype(float))) - counts)
    ours = backward(weights, trace, upstream.astype(np.float32))

    leaves = leaves_of(weights)
    signs = [torch.tensor(to_signs(votes), dtype=torch.float64) for votes in problem_votes(cells, k)]
    theirs = torch.stack([fused_logits(leaves, s) for s in signs], 1)  # (n, k)
    known = np.flatnonzero(gold >= 0)
    target = torch.tensor(gold[known, None] == np.arange(k), dtype=torch.float64)
    (10 * torch.nn.functional.binary_cross_entropy_with_logits(theirs[known], target)).backward()
    assert ours.keys() == leaves.keys()
    for name, leaf in leaves.items():
        largest = leaf.grad.abs().max().item()
        assert largest > 100 * TOLERANCE, name  # so that the next line can fail
        assert_allclose(ours[name].sum(0), leaf.grad, rtol=0, atol=TOLERANCE * max(1, largest), err_msg=name)


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("kind", ["sparse", "repeated items", "rows without votes", "an LF that never votes"])
def test_backward_of_random_votes_agrees_with_autograd(make_weights, kind, k, widths):
    cells, rng = random_cells(k)[kind], np.random.default_rng(1)
    gold = np.where(rng.random(len(cells)) < 0.5, rng.integers(0, k, len(cells)) // 2, -1)  # lower classes are frequent
    gold[(cells < 0).all(1)] = -1
    assert_gradients_agree(make_weights(widths), cells, k, gold)


def test_backward_of_real_votes_agrees_with_autograd(make_weights, real_votes):
    cells = real_votes("crowd_face")
    gold = np.where(np.arange(len(cells)) % 3 == 0, np.arange(len(cells)) % 4, -1)
    assert_gradients_agree(make_weights((4, 8)), cells, 4, gold)


@pytest.mark.parametrize("k", [2, 4])
def test_fused_network_of_these_tests_agrees_with_the_trained_one(k):
    net, cells = random_net((4, 4)), random_cells(k)["sparse"]
    leaves = leaves_of(exported(net))
    signs = [torch.tensor(to_signs(votes), dtype=torch.float64) for votes in problem_votes(cells, k)]
    fused = torch.stack([fused_logits(leaves, s) for s in signs], 1).detach().numpy()
    assert_allclose(fused, logits_by_item(net, cells, k), rtol=0, atol=TOLERANCE)
