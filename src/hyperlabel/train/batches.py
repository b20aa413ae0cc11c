"""Batches for the paper's network and its ablations: the gradient of the loss, and the accuracy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from hyperlabel.priors import Task
from hyperlabel.theory.validity import to_signs
from hyperlabel.train.compiled import CompiledNet, SignedVotes, can_compile
from hyperlabel.train.net import HyperNet


@dataclass(frozen=True)
class Example:
    """A validation set, ready for the network."""

    votes: torch.Tensor | SignedVotes  # signs (n, m), or only the votes for the compiled network
    truth: NDArray[np.bool_]  # (n,) whether an item with a vote is of class 1


def compiles(net: nn.Module, device: torch.device) -> bool:
    """Whether the network can be compiled: the paper's, on a CPU, with a C compiler."""
    return isinstance(net, HyperNet) and device.type == "cpu" and can_compile()


def to_example(net: nn.Module, task: Task, device: torch.device) -> Example:
    """A task without the items that have no vote, in the form that is fastest for this network."""
    voted = (task.votes >= 0).any(axis=1)
    votes, truth = task.votes[voted], task.target[voted] > 0.5
    if compiles(net, device):
        return Example(SignedVotes.from_array(votes), truth)
    return Example(torch.from_numpy(to_signs(votes)).to(device), truth)


def backward_tasks(net: nn.Module, tasks: Sequence[Task], device: torch.device, *, masked: bool = False) -> float:
    """Accumulate the gradient of the mean cross-entropy over all items of a batch; returns that mean.

    Items without a vote count as items, but teach nothing. If `masked`, only items of the paper's network whose pooled
    embedding sums to more than zero teach and count.
    """
    total = sum(len(task.target) for task in tasks)
    if isinstance(net, HyperNet) and compiles(net, device):
        return _backward_compiled(net, tasks, total, masked)
    if masked:
        with torch.no_grad():
            total = max(1, sum(_summed_loss(net, task, device, masked)[1] for task in tasks))
    loss = 0.0
    for task in tasks:  # one graph at a time: memory
        part = _summed_loss(net, task, device, masked)[0] / total
        part.backward()  # type: ignore[no-untyped-call]
        loss += part.item()
    return loss


def _summed_loss(net: nn.Module, task: Task, device: torch.device, masked: bool) -> tuple[torch.Tensor, int]:
    """The summed loss of the items that teach, and their number."""
    teaches = torch.from_numpy((task.votes >= 0).any(axis=1)).to(device)
    signs, target = torch.from_numpy(to_signs(task.votes)).to(device), torch.from_numpy(task.target).to(device)
    if masked and isinstance(net, HyperNet):
        items = net.pool(signs)
        teaches, logits = teaches & (items.sum(1) > 0), net.judge(items)
    else:
        logits = net(signs)
    loss = functional.binary_cross_entropy_with_logits(logits[teaches], target[teaches], reduction="sum")
    return loss, int(teaches.sum())


def _backward_compiled(net: HyperNet, tasks: Sequence[Task], total: int, masked: bool) -> float:
    compiled = CompiledNet(net, masked=masked)
    loss = sum(compiled.backward(SignedVotes.from_array(task.votes), task.target) for task in tasks)
    count = compiled.taught if masked else total
    compiled.send_back(1 / max(1, count))
    return loss / max(1, count)


def accuracies(net: nn.Module, examples: Sequence[Example], device: torch.device) -> list[float]:
    """The accuracy on each example."""
    compiled = CompiledNet(net) if isinstance(net, HyperNet) and compiles(net, device) else None
    return [float(np.mean((_logits(net, compiled, each) > 0) == each.truth)) for each in examples]


@torch.no_grad()
def _logits(net: nn.Module, compiled: CompiledNet | None, example: Example) -> NDArray[np.float32]:
    if compiled is not None and isinstance(example.votes, SignedVotes):
        return compiled.logits(example.votes)
    logits: NDArray[np.float32] = net(example.votes).cpu().numpy()
    return logits
