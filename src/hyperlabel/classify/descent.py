"""The training loop of the models that torch trains: shuffled batches, soft cross-entropy, early stopping."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from hyperlabel.errors import ParameterError


@dataclass(frozen=True)
class Plan:
    """How a network is trained.

    Attributes:
        lr: Learning rate, at its peak.
        weight_decay: Weight decay of AdamW.
        batch_size: Items per step.
        epochs: At most this many passes over the items.
        patience: With validation, stop after this many epochs without improvement.
        warmup: Share of the steps in which the rate rises before it falls to zero; None keeps it constant.
    """

    lr: float
    weight_decay: float
    batch_size: int
    epochs: int
    patience: int
    warmup: float | None = None

    def __post_init__(self) -> None:
        for name in ("batch_size", "epochs", "patience"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name} is {getattr(self, name)}; expected at least 1")
        if not 0 < self.lr < np.inf:
            raise ParameterError(f"lr is {self.lr}; expected a number above 0")
        if not 0 <= self.weight_decay < np.inf:
            raise ParameterError(f"weight_decay is {self.weight_decay}; expected 0 or more")

    def factor(self, step: int, steps: int) -> float:
        """The share of `lr` in a step, counted from 0."""
        if self.warmup is None:
            return 1.0
        warm = max(1, round(self.warmup * steps))
        return min((step + 1) / warm, (steps - step) / max(1, steps - warm + 1))


def find_device(name: str | None = None) -> torch.device:
    """The named device; without a name, the fastest that torch finds: a GPU of either kind, or the CPU."""
    if name is None and torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device(name or ("mps" if torch.backends.mps.is_available() else "cpu"))


def descend(
    net: nn.Module,
    logits: Callable[[Tensor], Tensor],
    probabilities: NDArray[np.float64],
    plan: Plan,
    judge: Callable[[], float] | None,
) -> None:
    """Train a network, and leave it with the parameters of its best epoch.

    Args:
        net: The network.
        logits: From the (b,) numbers of a batch's items to (b, k) logits.
        probabilities: (n, k) soft labels.
        plan: How to train.
        judge: The loss on held-out items, checked after each epoch; without it the last epoch is kept.
    """
    device = next(net.parameters()).device
    targets = torch.as_tensor(probabilities, dtype=torch.float32, device=device)
    steps = plan.epochs * -(-len(targets) // plan.batch_size)
    optimizer = torch.optim.AdamW(net.parameters(), lr=plan.lr, weight_decay=plan.weight_decay)
    rate = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: plan.factor(step, steps))
    best = _Best(net)
    for _ in range(plan.epochs):
        net.train()
        for index in torch.split(torch.randperm(len(targets)), plan.batch_size):
            optimizer.zero_grad()
            functional.cross_entropy(logits(index), targets[index.to(device)]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            rate.step()
        if judge is not None and best.update(judge()) >= plan.patience:
            break
    if judge is not None:
        best.restore()


class _Best:
    """The parameters that did best so far."""

    def __init__(self, net: nn.Module) -> None:
        self.net, self.loss, self.stale = net, np.inf, 0
        self.state = deepcopy(net.state_dict())

    def update(self, loss: float) -> int:
        """Record an epoch's loss; returns how many epochs ago the best was."""
        self.stale += 1
        if loss < self.loss:
            self.loss, self.stale, self.state = loss, 0, deepcopy(self.net.state_dict())
        return self.stale

    def restore(self) -> None:
        """Give the network its best parameters back."""
        self.net.load_state_dict(self.state)
