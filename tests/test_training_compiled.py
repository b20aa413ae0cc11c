"""The compiled network: that it computes what the network in torch computes."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (extra `train`)")
pytestmark = pytest.mark.torch
torch.set_num_threads(1)  # small matrices: more threads only wait for each other

from hyperlabel.training import (
    Task,
    make_net,
    to_signs,
)
from hyperlabel.training import _compiled as compiled
from hyperlabel.training import _tasks as training_tasks

CPU = torch.device("cpu")
needs_compiler = pytest.mark.skipif(not compiled.can_compile(), reason="there is no C compiler")


def tasks(count=3, n=40, m=7, seed=0):
    """Votes with an item and an LF that are silent."""
    rng = np.random.default_rng(seed)
    drawn = [(rng.integers(-1, 2, (n + i, m), dtype=np.int8), rng.random(n + i, np.float32)) for i in range(count)]
    for votes, _ in drawn:
        votes[3], votes[:, 2] = -1, -1
    return [Task(votes, target) for votes, target in drawn]


def net_of(widths, architecture="gnn"):
    torch.manual_seed(0)
    net = make_net(architecture, widths)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter *= 2  # far from zero: every term matters
    return net


def step(net, drawn, masked=False):
    net.zero_grad()
    loss = training_tasks.backward_tasks(net, drawn, CPU, masked=masked)
    return loss, [parameter.grad.clone() for parameter in net.parameters()]


@needs_compiler
@pytest.mark.parametrize("architecture", ["gnn", "deepset"])
@pytest.mark.parametrize("widths", [(8, 8, 8, 32), (4, 12), (3, 5, 6), (16,)])
def test_compiled_loss_and_gradients_are_those_of_torch(monkeypatch, widths, architecture):
    net, drawn = net_of(widths, architecture), tasks()
    loss, grads = step(net, drawn)
    monkeypatch.setattr(training_tasks, "can_compile", lambda: False)
    expected_loss, expected = step(net, drawn)
    assert loss == pytest.approx(expected_loss, rel=1e-5)
    for grad, other in zip(grads, expected, strict=True):
        assert torch.allclose(grad, other, rtol=1e-3, atol=1e-5 * float(other.abs().max()))
    assert all(grad.any() for grad in grads)


@needs_compiler
def test_compiled_masked_loss_is_that_of_torch_and_leaves_items_out(monkeypatch):
    net, drawn = net_of((8, 8, 8, 32)), tasks()
    shares = []
    while not shares or shares[-1] > 0.7:  # lower the embeddings until about half of them sum to more than zero
        with torch.no_grad():
            net.layers[-1].out.bias -= 0.01
            sums = torch.cat([net.pool(torch.from_numpy(to_signs(task.votes))).sum(1) for task in drawn])
        shares.append(float((sums > 0).float().mean()))
    assert shares[-1] > 0.3
    # What is not written shows.
    monkeypatch.setattr(compiled.np, "empty_like", lambda array: np.full_like(array, np.nan))
    loss, grads = step(net, drawn, masked=True)
    monkeypatch.undo()
    monkeypatch.setattr(training_tasks, "can_compile", lambda: False)
    expected_loss, expected = step(net, drawn, masked=True)
    assert loss == pytest.approx(expected_loss, rel=1e-5)
    assert loss != pytest.approx(step(net, drawn)[0], rel=1e-3)
    for grad, other in zip(grads, expected, strict=True):
        assert torch.allclose(grad, other, rtol=1e-3, atol=1e-5 * float(other.abs().max()))


@needs_compiler
def test_compiled_logits_are_those_of_torch():
    net, (task,) = net_of((8, 8, 8, 32)), tasks(1)
    found = compiled.CompiledNet(net).logits(compiled.SignedVotes.from_array(task.votes))
    with torch.no_grad():
        expected = net(torch.from_numpy(to_signs(task.votes))).numpy()
    voted = (task.votes >= 0).any(axis=1)
    np.testing.assert_allclose(found[voted], expected[voted], rtol=1e-4, atol=1e-5)


@needs_compiler
def test_compiled_logits_of_a_diverged_network_are_not_taken_for_numbers():
    net, (task,) = net_of((8, 8)), tasks(1)
    with torch.no_grad():
        net.head[0].bias[0] = torch.inf
    logits = compiled.CompiledNet(net).logits(compiled.SignedVotes.from_array(task.votes))
    assert not np.isfinite(logits).any()


def test_accuracy_is_over_items_with_votes_however_it_is_computed(monkeypatch):
    net, drawn = net_of((8, 8)), tasks()
    found = training_tasks.accuracies(net, [training_tasks.to_example(net, task, CPU) for task in drawn], CPU)
    monkeypatch.setattr(training_tasks, "can_compile", lambda: False)
    plain = [training_tasks.to_example(net, task, CPU) for task in drawn]
    assert found == training_tasks.accuracies(net, plain, CPU)
    assert [len(example[1]) for example in plain] == [39, 40, 41]


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_compiler_that_is_missing_or_fails_leaves_torch_to_compute(monkeypatch, compiler):
    for cached in (compiled.can_compile, compiled._library):
        cached.cache_clear()
    monkeypatch.setenv("CC", compiler)
    try:
        assert not compiled.can_compile()
        loss, _ = step(net_of((4, 4)), tasks(1))
        assert np.isfinite(loss)
    finally:
        for cached in (compiled.can_compile, compiled._library):
            cached.cache_clear()


@needs_compiler
def test_compiled_layers_leave_the_arithmetic_of_the_process_as_it_is():
    smallest = np.array([np.finfo(np.float64).tiny])
    compiled._library(8, 24)  # widths of no other test: it is loaded here
    assert (smallest / 2)[0] > 0
