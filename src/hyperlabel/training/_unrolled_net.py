"""The torch side of the unrolled network: sets side by side, the layers that learn, and the loss.

What a step computes is written once, in `hyperlabel.networks._steps`. Sets of the same number of classes are laid
side by side, so that one step of the optimizer is one pass.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from hyperlabel.data import Patterns
from hyperlabel.networks import ALL, START, Nodes, Step, advance, find_log_effect, find_residuals, unrolled_layers

EARLY = 0.3  # weight of the loss of each step before the last
LEAST_PROBABILITY = 1e-7  # keeps the loss of a row that is certainly wrong finite


def sum_groups(values: Tensor, index: Tensor, size: int) -> Tensor:
    """Sum the members of each group. (x, ...) by (x,) -> (size, ...)."""
    return values.new_zeros((size, *values.shape[1:])).index_add_(0, index, values)


@dataclass(frozen=True, eq=False)
class TorchGroups:
    """Groups of nodes in torch."""

    index: Tensor  # (q,) the group of each node
    size: int  # number of groups

    def sum(self, values: Tensor) -> Tensor:
        """Sum the members of each group. (q, ...) -> (size, ...)."""
        return sum_groups(values, self.index, self.size)

    def max(self, values: Tensor) -> Tensor:
        """Return the largest member of each group. (q,) -> (size,)."""
        return values.new_zeros(self.size).scatter_reduce_(0, self.index, values, "amax")

    def of(self, values: Tensor, nodes: slice = ALL) -> Tensor:
        """Look up the values of the groups of some nodes, or of all. (size, ...) -> (q, ...)."""
        return values[self.index[nodes]]


@dataclass(frozen=True)
class TorchBackend:
    """The array library torch, in float32 on the CPU."""

    xp: ClassVar[Any] = torch
    group: ClassVar[type[TorchGroups]] = TorchGroups

    def to_columns(self, values: Sequence[Tensor]) -> Tensor:
        """Put columns side by side. (q,) each -> (q, columns)."""
        return torch.stack(list(values), 1)

    @staticmethod
    def to_array(values: Sequence[float]) -> Tensor:
        """Convert some numbers to an array."""
        return torch.tensor(values)

    def to_learned(self, values: Tensor) -> Tensor:
        """Return the array: all are in the precision of the learned layers."""
        return values

    def bound(self, values: Tensor, least: float, most: float | None = None) -> Tensor:
        """Clip values."""
        return values.clip(least, most)

    def by_blocks(self, compute: Callable[[slice], Tensor], rows: int, width: int) -> Tensor:
        """Compute something for all rows at once: gradients need all of them anyway."""
        return compute(slice(None))


@dataclass(frozen=True)
class TrainingSet:
    """Patterns to learn from."""

    patterns: Patterns  # the votes; each pattern has some
    truth: NDArray[np.float32]  # (p, k) items of each class
    gold: NDArray[np.float32]  # (p, k) those of them whose class the network may know
    balance_power: float  # items of a class count in the loss by its share to the power of minus this


class Batch:
    """Training sets of equal k side by side: t sets, r rows, e votes, q nodes.

    Attributes are (e,) `row` and `node` of each vote; (r,) `of_set` and `size`, the set and the votes of each row; (r,
    k) `truth` and `gold`, items of each class, all and known; `unknown` and `scaled_gold`, items without and with a
    known class, scaled as counts of nodes are; `nodes`; and (t,) `balance_power`, see `TrainingSet`.
    """

    def __init__(self, training_sets: Sequence[TrainingSet]) -> None:
        self.k = k = training_sets[0].patterns.n_classes
        parts = [_lay_out(training_set) for training_set in training_sets]
        firsts = {name: np.cumsum([0, *(sizes[name] for _, sizes in parts)]) for name in ("row", "node", "lf")}
        self.rows, self.sets = int(firsts["row"][-1]), len(parts)
        joined = {name: [arrays[name] for arrays, _ in parts] for name in parts[0][0]}
        for name, first in firsts.items():
            joined[name] = [array + begin for array, begin in zip(joined[name], first, strict=False)]
        tensors = {name: torch.from_numpy(np.concatenate(arrays)) for name, arrays in joined.items()}
        self.row, self.node, counts = tensors["row"], tensors["node"], tensors["counts"]
        self.truth, self.gold = tensors["truth"], tensors["gold"]
        self.of_set, of_set = (
            torch.from_numpy(np.repeat(np.arange(self.sets), np.diff(firsts[kind]))) for kind in ("row", "node")
        )
        self.size = sum_groups(torch.ones(len(self.row)), self.row, self.rows)
        q = int(firsts["node"][-1])
        self.nodes = Nodes(
            TorchBackend(),
            k,
            int(firsts["lf"][-1]),
            lf=tensors["lf"],
            vote=tensors["vote"],
            of_set=of_set,
            n=sum_groups(counts[self.row], self.node, q),
            items=sum_groups(counts, self.of_set, self.sets),
            voting=torch.tensor(np.diff(firsts["lf"]), dtype=torch.float32),
            gold=sum_groups(self.gold.sum(1)[self.row], self.node, q),
        )
        scale = self.nodes.scale[self.of_set]
        self.unknown, self.scaled_gold = scale * (counts - self.gold.sum(1)), scale[:, None] * self.gold
        self.balance_power = torch.tensor([training_set.balance_power for training_set in training_sets])


def _lay_out(training_set: TrainingSet) -> tuple[dict[str, NDArray[np.generic]], dict[str, int]]:
    """Return one training set's numbers, each counted from 0, and how many there are."""
    patterns, k = training_set.patterns, training_set.patterns.n_classes
    number, node = np.unique(patterns.lf * k + patterns.vote, return_inverse=True)
    lfs, lf = np.unique(number // k, return_inverse=True)
    counts = patterns.counts.astype(np.float32)
    arrays = {"row": patterns.row, "node": node, "lf": lf, "vote": number % k, "counts": counts}
    sizes = {"row": patterns.n_patterns, "node": len(number), "lf": len(lfs)}
    return arrays | {"truth": training_set.truth, "gold": training_set.gold}, sizes


class Layers(nn.Module):
    """The learned layers of one step: corrections that start at zero, for each node and for the set."""

    def __init__(self, width: int) -> None:
        super().__init__()
        for name, (d_out, d_in) in unrolled_layers(width).items():
            self.add_module(name, nn.Linear(d_in, d_out))
        for parameter in (*self.get_submodule("evidence").parameters(), *self.get_submodule("set1").parameters()):
            nn.init.zeros_(parameter)

    def forward(self, name: str, values: Tensor) -> Tensor:
        """One layer, by its name. (x, d_in) -> (x, d_out)."""
        return torch.as_tensor(self.get_submodule(name)(values))


@dataclass(frozen=True)
class RowLogits:
    """The logits of every row, and what each vote adds to them."""

    total: Tensor  # (r, k) what the votes of each row add up to
    added: Tensor  # (e, k) what each vote adds
    to_belief: Callable[[Tensor], Tensor]  # turns such sums into beliefs; (x, k) -> (x, k)


class UnrolledNet(nn.Module):
    """The whole network: steps with hidden layers of some width, each with its own weights."""

    def __init__(self, width: int, steps: int) -> None:
        super().__init__()
        self.steps = nn.ModuleList(Layers(width) for _ in range(steps))

    def forward(self, batch: Batch) -> list[Tensor]:
        """Log-probabilities of every row after each step. -> (r, k) each."""
        logits, outputs, design, residuals = _count_votes(batch), [], torch.zeros(batch.sets), None
        for number, layers in enumerate(self.steps, 1):
            judged = batch.unknown[batch.row, None] * self.judge(batch, logits) + batch.scaled_gold[batch.row]
            class_counts = sum_groups(judged, batch.node, len(batch.nodes.vote))
            items = batch.unknown[:, None] * logits.to_belief(logits.total) + batch.scaled_gold
            class_totals = sum_groups(items, batch.of_set, batch.sets)
            if residuals is not None:
                moments = _moments(batch, residuals, items)
                design = find_log_effect(batch.nodes, residuals, class_counts, class_totals, moments)
            step = advance(layers, batch.nodes, class_counts, class_totals, design, last=number == len(self.steps))
            if number == len(self.steps) - 1:
                residuals = find_residuals(batch.nodes, class_counts, step.evidence)
            logits = _weigh(batch, step)
            weight = step.gold_weight[batch.of_set, None]
            mixed = (weight * torch.softmax(logits.total, 1) + batch.gold) / (weight + batch.gold.sum(1)[:, None])
            outputs.append(torch.log(mixed.clamp(min=LEAST_PROBABILITY)))
        return outputs

    def judge(self, batch: Batch, logits: RowLogits) -> Tensor:
        """Return the belief that each vote is judged by: that about its row. (e, k)."""
        return logits.to_belief(logits.total)[batch.row]


def _count_votes(batch: Batch) -> RowLogits:
    """Return the beliefs before the first step: smoothed shares of the votes."""

    def to_shares(votes: Tensor) -> Tensor:
        return (votes + START) / (votes.sum(1, keepdim=True) + START * votes.shape[1])

    own_class = functional.one_hot(batch.nodes.vote, batch.k).float()
    added = own_class[batch.node]
    return RowLogits(sum_groups(added, batch.row, batch.rows), added, to_shares)


def _moments(batch: Batch, residuals: Tensor, items: Tensor) -> Tensor:
    """Sum and sum of squares, over the items of each class, of what the residuals on an item add up to. (t, 2, k)."""
    sums = sum_groups(residuals[batch.node], batch.row, batch.rows)
    both = torch.stack([items * sums, items * sums**2], 1)
    return sum_groups(both, batch.of_set, batch.sets)


def _weigh(batch: Batch, step: Step) -> RowLogits:
    """The logits after a step."""
    factor = step.scale[batch.of_set] * batch.size ** step.power[batch.of_set]
    added = factor[batch.row, None] * step.evidence[batch.node]
    logits = step.bias[batch.of_set] + sum_groups(added, batch.row, batch.rows)
    return RowLogits(logits, added, lambda total: torch.softmax(total, 1))


def loss(outputs: Sequence[Tensor], batch: Batch) -> Tensor:
    """Cross-entropy of the items that are not gold, as a share of log k, averaged over sets; all steps count."""
    hidden = batch.truth - batch.gold
    shares = sum_groups(batch.truth, batch.of_set, batch.sets) + 1
    shares = shares / shares.sum(1, keepdim=True)
    value = shares ** -batch.balance_power[:, None]
    value = value / (value * shares).sum(1, keepdim=True)
    size = sum_groups(hidden.sum(1), batch.of_set, batch.sets).clamp(min=1)
    weight = hidden * (value / size[:, None])[batch.of_set] / (math.log(batch.k) * batch.sets)
    losses = [-(weight * output).sum() for output in outputs]
    return EARLY * torch.stack(losses[:-1] or [losses[-1] * 0]).sum() + losses[-1]
