"""The torch side of the unrolled network: sets side by side, the layers that learn, and the loss.

What a step computes is written once, in `hyperlabel.networks.unrolled`. Sets of the same number of classes are laid
side by side, so that one step of the optimizer is one pass.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from hyperlabel.networks.unrolled.design import find_log_effect, find_residuals
from hyperlabel.networks.unrolled.evidence import START
from hyperlabel.networks.unrolled.nodes import Nodes
from hyperlabel.networks.unrolled.steps import Step, advance
from hyperlabel.patterns import Patterns
from hyperlabel.train.torch_backend import TorchBackend, sum_groups
from hyperlabel.weights import unrolled_layers

EARLY = 0.3  # weight of the loss of each step before the last
LEAST_PROBABILITY = 1e-7  # keeps the loss of a row that is certainly wrong finite


@dataclass(frozen=True)
class Lesson:
    """Patterns to learn from."""

    patterns: Patterns  # the votes; each pattern has some
    truth: NDArray[np.float32]  # (p, k) items of each class
    gold: NDArray[np.float32]  # (p, k) those of them whose class the network may know
    balance_power: float  # items of a class count in the loss by its share to the power of minus this


class Batch:
    """Lessons of equal k side by side: t sets, r rows, e votes, q nodes.

    Args:
        lessons: The lessons.

    Attributes:
        k: Number of classes.
        rows: Number of rows, r.
        sets: Number of sets, t.
        row: (e,) the row of each vote.
        node: (e,) the node of each vote.
        of_set: (r,) the set of each row.
        size: (r,) votes of each row.
        truth: (r, k) items of each class.
        gold: (r, k) those whose class is known.
        nodes: The nodes.
        unknown: (r,) items whose class is not known, scaled as counts of nodes are.
        scaled_gold: (r, k) items whose class is known, scaled.
        balance_power: (t,) see `Lesson`.
    """

    def __init__(self, lessons: Sequence[Lesson]) -> None:
        self.k = k = lessons[0].patterns.n_classes
        parts = [_lay_out(lesson) for lesson in lessons]
        firsts = {name: np.cumsum([0, *(part.sizes[name] for part in parts)]) for name in ("row", "node", "lf")}
        self.rows, self.sets = int(firsts["row"][-1]), len(parts)
        joined = {name: [part.arrays[name] for part in parts] for name in parts[0].arrays}
        for name, kind in {"row": "row", "node": "node", "lf": "lf"}.items():
            joined[name] = [array + first for array, first in zip(joined[name], firsts[kind], strict=False)]
        tensors = {name: torch.from_numpy(np.concatenate(arrays)) for name, arrays in joined.items()}
        self.row, self.node, counts = tensors["row"], tensors["node"], tensors["counts"]
        self.truth, self.gold = tensors["truth"], tensors["gold"]
        self.of_set, of_set = (_repeat(np.diff(firsts[kind])) for kind in ("row", "node"))
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
        self.balance_power = torch.tensor([lesson.balance_power for lesson in lessons])


@dataclass(frozen=True)
class _Part:
    """One lesson's numbers, each counted from 0, and how many there are."""

    arrays: dict[str, NDArray[np.generic]]
    sizes: dict[str, int]


def _lay_out(lesson: Lesson) -> _Part:
    patterns, k = lesson.patterns, lesson.patterns.n_classes
    number, node = np.unique(patterns.lf * k + patterns.vote, return_inverse=True)
    lfs, lf = np.unique(number // k, return_inverse=True)
    counts = patterns.counts.astype(np.float32)
    arrays = {"row": patterns.row, "node": node, "lf": lf, "vote": number % k, "counts": counts}
    sizes = {"row": patterns.n_patterns, "node": len(number), "lf": len(lfs)}
    return _Part(arrays | {"truth": lesson.truth, "gold": lesson.gold}, sizes)


def _repeat(sizes: NDArray[np.int64]) -> Tensor:
    """The number of the set of each member, from the members of each set."""
    return torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes))


class Layers(nn.Module):
    """What one step learns: corrections that start at zero, for each node and for the set."""

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
class Opinion:
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
        opinion, outputs, design, residuals = _count_votes(batch), [], torch.zeros(batch.sets), None
        for number, layers in enumerate(self.steps, 1):
            judged = batch.unknown[batch.row, None] * self.judge(batch, opinion) + batch.scaled_gold[batch.row]
            class_counts = sum_groups(judged, batch.node, len(batch.nodes.vote))
            items = batch.unknown[:, None] * opinion.to_belief(opinion.total) + batch.scaled_gold
            class_totals = sum_groups(items, batch.of_set, batch.sets)
            if residuals is not None:
                moments = _moments(batch, residuals, items)
                design = find_log_effect(batch.nodes, residuals, class_counts, class_totals, moments)
            step = advance(layers, batch.nodes, class_counts, class_totals, design, last=number == len(self.steps))
            if number == len(self.steps) - 1:
                residuals = find_residuals(batch.nodes, class_counts, step.evidence)
            opinion = _weigh(batch, step)
            weight = step.gold_weight[batch.of_set, None]
            mixed = (weight * torch.softmax(opinion.total, 1) + batch.gold) / (weight + batch.gold.sum(1)[:, None])
            outputs.append(torch.log(mixed.clamp(min=LEAST_PROBABILITY)))
        return outputs

    def judge(self, batch: Batch, opinion: Opinion) -> Tensor:
        """What each vote is judged by: the belief about its row. (e, k)."""
        return opinion.to_belief(opinion.total)[batch.row]


def _count_votes(batch: Batch) -> Opinion:
    """The beliefs before the first step: shares of the votes."""
    own_class = functional.one_hot(batch.nodes.vote, batch.k).float()
    added = own_class[batch.node]
    return Opinion(sum_groups(added, batch.row, batch.rows), added, _to_shares)


def _moments(batch: Batch, residuals: Tensor, items: Tensor) -> Tensor:
    """Sum and sum of squares, over the items of each class, of what the residuals on an item add up to. (t, 2, k)."""
    sums = sum_groups(residuals[batch.node], batch.row, batch.rows)
    both = torch.stack([items * sums, items * sums**2], 1)
    return sum_groups(both, batch.of_set, batch.sets)


def _to_shares(votes: Tensor) -> Tensor:
    """Smoothed shares of votes for each class. (x, k)."""
    return (votes + START) / (votes.sum(1, keepdim=True) + START * votes.shape[1])


def _weigh(batch: Batch, step: Step) -> Opinion:
    """The logits after a step."""
    factor = step.scale[batch.of_set] * batch.size ** step.power[batch.of_set]
    added = factor[batch.row, None] * step.evidence[batch.node]
    logits = step.bias[batch.of_set] + sum_groups(added, batch.row, batch.rows)
    return Opinion(logits, added, lambda total: torch.softmax(total, 1))


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
