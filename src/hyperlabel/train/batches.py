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
    """A validation set, ready for the network.

    Attributes:
        votes: Signs (n, m), or the votes alone where the compiled network takes them.
        truth: (n,) whether an item with a vote is of class 1.
    """

    votes: torch.Tensor | SignedVotes
    truth: NDArray[np.bool_]


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


def backward_tasks(net: nn.Module, tasks: Sequence[Task], device: torch.device) -> float:
    """Accumulate the gradient of the mean cross-entropy over all items of a batch; returns that mean.

    Items without a vote count as items, but teach nothing.
    """
    total = sum(len(task.target) for task in tasks)
    if isinstance(net, HyperNet) and compiles(net, device):
        return _backward_compiled(net, tasks, total)
    return sum(_backward_task(net, task, device, total) for task in tasks)


def _backward_task(net: nn.Module, task: Task, device: torch.device, total: int) -> float:
    voted = torch.from_numpy((task.votes >= 0).any(axis=1)).to(device)
    signs, target = torch.from_numpy(to_signs(task.votes)).to(device), torch.from_numpy(task.target).to(device)
    part = functional.binary_cross_entropy_with_logits(net(signs)[voted], target[voted], reduction="sum") / total
    part.backward()  # type: ignore[no-untyped-call]
    return part.item()


def _backward_compiled(net: HyperNet, tasks: Sequence[Task], total: int) -> float:
    compiled = CompiledNet(net)
    loss = sum(compiled.backward(SignedVotes.from_array(task.votes), task.target) for task in tasks)
    compiled.send_back(1 / total)
    return loss / total


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
