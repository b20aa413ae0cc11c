"""Batches for the paper's network and its ablations: tasks as tensors, the loss, the accuracy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hyperlabel.priors import Task
from hyperlabel.theory.validity import to_signs
from hyperlabel.train.compiled import SignedVotes, find_compiler, forward_of
from hyperlabel.train.net import HyperNet


@dataclass(frozen=True)
class Example:
    """A task as tensors.

    Attributes:
        votes: Signs (n, m), or the votes alone where the compiled layers take them.
        target: (n,) float32; the probability of class 1.
        voted: (n,) which items have a vote; the others teach and cost nothing.
    """

    votes: Tensor | SignedVotes
    target: Tensor
    voted: Tensor


def to_example(net: nn.Module, task: Task, device: torch.device) -> Example:
    """A task in the form that is fastest for this network on this device."""
    voted = torch.from_numpy((task.votes >= 0).any(axis=1))
    if is_compiled(net, device):
        return Example(SignedVotes.from_array(task.votes), torch.from_numpy(task.target), voted)
    signs, target = torch.from_numpy(to_signs(task.votes)), torch.from_numpy(task.target)
    return Example(signs.to(device), target.to(device), voted.to(device))


def is_compiled(net: nn.Module, device: torch.device) -> bool:
    """Whether the network's layers are compiled: the paper's network, on a CPU, with a C compiler."""
    return isinstance(net, HyperNet) and device.type == "cpu" and find_compiler() is not None


def _forward(net: nn.Module, device: torch.device) -> Callable[..., Tensor]:
    return forward_of(net) if isinstance(net, HyperNet) and is_compiled(net, device) else net


def backward_tasks(net: nn.Module, tasks: Sequence[Task], device: torch.device) -> float:
    """Accumulate the gradient of the mean cross-entropy over all items of a batch; returns that mean."""
    forward = _forward(net, device)
    loss = torch.zeros((), device=device)
    for example in (to_example(net, task, device) for task in tasks):
        logits, voted = forward(example.votes), example.voted
        loss = loss + functional.binary_cross_entropy_with_logits(logits[voted], example.target[voted], reduction="sum")
    loss = loss / sum(len(task.target) for task in tasks)
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.item()


@torch.no_grad()
def accuracies(net: nn.Module, examples: Sequence[Example], device: torch.device) -> list[float]:
    """The accuracy on each example, over the items with votes."""
    forward = _forward(net, device)
    right = [((forward(each.votes) > 0) == (each.target > 0.5))[each.voted] for each in examples]
    return [float(np.mean(each.cpu().numpy())) for each in right]
