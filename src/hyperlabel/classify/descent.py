"""The training loop of the models that torch trains: shuffled batches, soft cross-entropy, early stopping."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from hyperlabel.checks import ABOVE_ZERO, check_number


@dataclass(frozen=True)
class Plan:
    """How a network is trained."""

    lr: float  # learning rate, at its peak
    weight_decay: float  # weight decay of AdamW
    batch_size: int  # items per step
    epochs: int  # at most this many passes over the items
    patience: int  # with validation, stop after this many epochs without improvement
    # Share of the steps in which the rate rises before it falls to zero; None keeps it constant.
    warmup: float | None = None

    def __post_init__(self) -> None:
        for name in ("batch_size", "epochs", "patience"):
            check_number(getattr(self, name), name, "at least 1", least=1, whole=True)
        check_number(self.lr, "lr", "a number above 0", least=ABOVE_ZERO)
        check_number(self.weight_decay, "weight_decay", "0 or more", least=0)

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

    `logits` maps the (b,) numbers of a batch's items to (b, k) logits; `probabilities` are (n, k) soft labels. `judge`,
    the loss on held-out items, is checked after each epoch; without it the last epoch is kept.
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
