"""A multi-layer perceptron on numeric features."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from hyperlabel._core import ABOVE_ZERO, check_number
from hyperlabel.classify._base import BaseClassifier, State
from hyperlabel.classify._inputs import Examples, Inputs, check_width, to_features


@dataclass(frozen=True)
class Plan:
    """Settings of training."""

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
    best, best_epoch, state = np.inf, -1, deepcopy(net.state_dict())
    for epoch in range(plan.epochs):
        net.train()
        for index in torch.split(torch.randperm(len(targets)), plan.batch_size):
            optimizer.zero_grad()
            functional.cross_entropy(logits(index), targets[index.to(device)]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            rate.step()
        if judge is None:
            continue
        loss = judge()
        if loss < best:
            best, best_epoch, state = loss, epoch, deepcopy(net.state_dict())
        elif epoch - best_epoch >= plan.patience:
            break
    if judge is not None:
        net.load_state_dict(state)


@dataclass
class MLP(BaseClassifier):
    """A multi-layer perceptron with rectified units, trained with AdamW on standardized features.

    Args:
        batch_size: Items per step.
        lr: Learning rate.
        weight_decay: Weight decay of AdamW.
        layers: Linear layers; the paper's 2 make one hidden layer.
        hidden: Units of a hidden layer.
        epochs: At most this many passes over the items.
        patience: With validation, stop after this many epochs without a lower loss on it.
        seed: For the first weights and the order of the items.
        device: Where torch computes; by default a GPU if there is one.

    >>> features = np.array([[-1.0], [-2.0], [1.0], [2.0]])
    >>> probabilities = np.array([[0.7, 0.3], [0.9, 0.1], [0.2, 0.8], [0.1, 0.9]])
    >>> MLP(lr=0.01).fit(features, probabilities).predict([[-3.0], [3.0]]).tolist()
    [0, 1]
    """

    batch_size: int = 128
    lr: float = 1e-3
    weight_decay: float = 1e-4
    layers: int = 2
    hidden: int = 100
    epochs: int = 100
    patience: int = 5
    seed: int = 0
    device: str | None = None

    def __post_init__(self) -> None:
        for name in ("layers", "hidden"):
            check_number(getattr(self, name), name, "at least 1", least=1, whole=True)
        self._plan()

    def _plan(self) -> Plan:
        return Plan(self.lr, self.weight_decay, self.batch_size, self.epochs, self.patience)

    def _fit(self, examples: Examples, validation: Examples | None) -> None:
        features = to_features(examples.inputs)
        spread = features.std(0)
        self._mean, self._spread = features.mean(0), np.where(spread > 0, spread, 1.0)
        inputs = self._scale(features)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self._net = self._new_net(features.shape[1], examples.probabilities.shape[1])
            descend(
                self._net,
                lambda index: self._net(inputs[index.to(inputs.device)]),
                examples.probabilities,
                self._plan(),
                None if validation is None else partial(self._loss, validation),
            )

    def _new_net(self, q: int, k: int) -> nn.Module:
        widths = [q, *[self.hidden] * (self.layers - 1), k]
        parts: list[nn.Module] = []
        for into, out in zip(widths[:-1], widths[1:], strict=True):
            parts += [nn.Linear(into, out), nn.ReLU()]
        return nn.Sequential(*parts[:-1]).to(find_device(self.device))

    def _scale(self, features: NDArray[np.float64]) -> Tensor:
        """(n, q) features in the form that the network needs."""
        scaled = (features - self._mean) / self._spread
        return torch.as_tensor(scaled, dtype=torch.float32, device=find_device(self.device))

    @torch.no_grad()
    def _probabilities(self, inputs: Inputs) -> NDArray[np.float64]:
        features = to_features(inputs)
        check_width(features, len(self._mean))
        self._net.eval()
        return self._net(self._scale(features)).cpu().double().softmax(1).numpy()  # type: ignore[no-any-return]

    def _state(self) -> State:
        net = {f"net.{name}": value.cpu().numpy() for name, value in self._net.state_dict().items()}
        return State({"mean": self._mean, "spread": self._spread, **net})

    def _restore(self, state: State) -> None:
        self._mean, self._spread = state.arrays["mean"], state.arrays["spread"]
        weights = {name[4:]: torch.as_tensor(value) for name, value in state.arrays.items() if name.startswith("net.")}
        last = max(weights, key=lambda name: int(name.partition(".")[0]))  # its bias or weight: k rows
        self._net = self._new_net(len(self._mean), len(weights[last]))
        self._net.load_state_dict(weights)
