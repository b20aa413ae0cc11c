"""The networks that can be trained."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (extra `train`)")
pytestmark = pytest.mark.torch
torch.set_num_threads(1)  # small matrices: more threads only wait for each other

from hyperlabel.training import HyperNet, make_net
from hyperlabel.training._net import FlatNet, PoolLayer


def signs(n=9, m=5, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(-1, 2, (n, m)).astype(np.float32))


@pytest.mark.parametrize(("architecture", "kind"), [("gnn", HyperNet), ("deepset", HyperNet), ("mlp", FlatNet)])
def test_net_by_name_gives_one_logit_an_item(architecture, kind):
    net = make_net(architecture, (4, 4))
    assert isinstance(net, kind)
    assert net(signs()).shape == (9,)


@pytest.mark.parametrize(("architecture", "sees"), [("gnn", True), ("deepset", False)])
def test_hyper_net_sees_other_items_and_deepset_does_not(architecture, sees):
    torch.manual_seed(0)
    net, votes, other = make_net(architecture, (4, 4)), signs(), signs()
    other[1:] = -other[1:]
    with torch.no_grad():
        for parameter in net.parameters():
            parameter *= 3
        change = abs(net(votes)[0] - net(other)[0]).item()
    assert (change > 1e-3) if sees else (change < 1e-6)


def test_hyper_net_of_permuted_votes_gives_permuted_logits():
    torch.manual_seed(0)
    net, votes = HyperNet((4, 4)), signs()
    rows, columns = torch.randperm(9), torch.randperm(5)
    assert torch.allclose(net(votes[rows][:, columns]), net(votes)[rows], atol=1e-6)


def test_hyper_net_gradient_is_that_of_its_function():
    """The layer has a backward pass of its own."""
    torch.manual_seed(0)
    net = HyperNet((3, 4)).double()
    names = [name for name, _ in net.named_parameters()]
    votes = signs().double()

    def logits(*values):
        return torch.func.functional_call(net, dict(zip(names, values, strict=True)), (votes,))

    assert torch.autograd.gradcheck(logits, tuple(p.detach().requires_grad_() for p in net.parameters()))


def test_pool_layer_leaves_out_terms_it_does_not_have():
    matrices, bias = PoolLayer(3, 4, ("self", "row")).fused()
    assert {term: matrix.shape for term, matrix in matrices.items()} == dict.fromkeys(matrices, (4, 3))
    assert bias.shape == (4,)
    assert not matrices["column"].any()
    assert not matrices["all"].any()
    assert matrices["self"].any()
    assert matrices["row"].any()


def test_flat_net_pads_small_votes_and_cuts_large_ones():
    torch.manual_seed(0)
    net = FlatNet(items=6, lfs=4, width=3, depth=3)
    votes = signs(9, 5)
    logits = net(votes)
    assert torch.equal(logits[:6], net(votes[:6, :4]))
    assert not logits[6:].any()
    padded = torch.zeros(6, 4)
    padded[:3, :2] = votes[:3, :2]
    assert torch.equal(net(votes[:3, :2]), net(padded)[:3])


def test_flat_net_is_the_papers():
    sizes = [tuple(linear.weight.shape) for linear in make_net("mlp", (32,) * 4).linears]
    assert sizes == [(32, 100_000), *[(32, 32)] * 8, (2000, 32)]
