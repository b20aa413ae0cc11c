"""The unrolled network of hlm2 in torch: the same computation as `hyperlabel.unrolled`, for several sets at once.

Sets of the same number of classes are laid side by side, so that one step of the optimiser is one pass.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from hyperlabel.patterns import Patterns
from hyperlabel.unrolled.ballots import START
from hyperlabel.unrolled.nodes import FEW, TYPICAL
from hyperlabel.unrolled.steps import GOLD, MIX, PLAIN_BALANCE, SHRINK, STRENGTH, confusion_balance

FEATURES, OF_NODE, OF_SET = 18, 4, 3
EARLY = 0.3  # weight of the loss of each step before the last


@dataclass(frozen=True)
class Lesson:
    """Patterns to learn from.

    Attributes:
        patterns: The votes.
        truth: (p, k) items of each class.
        gold: (p, k) those of them that the network is told.
        balance_power: Items of a class count in the loss by its share to the power of minus this.
    """

    patterns: Patterns
    truth: NDArray[np.float32]
    gold: NDArray[np.float32]
    balance_power: float


def _sum(values: Tensor, group: Tensor, size: int) -> Tensor:
    """Sums over groups of rows. (x, ...) -> (size, ...)."""
    return values.new_zeros((size, *values.shape[1:])).index_add_(0, group, values)


class Batch:
    """Lessons of equal k side by side: sets t, rows r, votes e, nodes p, LFs j.

    Counts of items are scaled as in `hyperlabel.unrolled`, but for `truth`, `told` and `known`.
    """

    def __init__(self, lessons: Sequence[Lesson]) -> None:
        self.k = k = lessons[0].patterns.n_classes
        parts: dict[str, list[NDArray[np.generic]]] = {}
        rows = nodes = lfs = 0
        for number, lesson in enumerate(lessons):
            patterns = lesson.patterns
            code, node = np.unique(patterns.lf * k + patterns.vote, return_inverse=True)
            lf, lf_of_code = np.unique(code // k, return_inverse=True)
            votes = (patterns.counts * np.diff(patterns.starts)).sum()
            scale = np.float32(min(TYPICAL * len(lf), len(patterns.lf)) / votes)
            for name, value in {
                "row": patterns.row + rows,
                "node": node + nodes,
                "lf_of": lf_of_code + lfs,
                "vote_of": code % k,
                "set_of": np.full(len(code), number),
                "set_of_row": np.full(patterns.n_patterns, number),
                "set_of_lf": np.full(len(lf), number),
                "weight": patterns.counts.astype(np.float32) * scale,
                "truth": lesson.truth,
                "told": lesson.gold,
                "gold": lesson.gold * scale,
            }.items():
                parts.setdefault(name, []).append(np.asarray(value))
            rows, nodes, lfs = rows + patterns.n_patterns, nodes + len(code), lfs + len(lf)
        joined = {name: torch.from_numpy(np.concatenate(values)) for name, values in parts.items()}
        self.row, self.node, self.lf_of, self.vote_of = (joined[x].long() for x in ("row", "node", "lf_of", "vote_of"))
        self.set_of, self.set_of_row = joined["set_of"].long(), joined["set_of_row"].long()
        self.weight, self.truth = joined["weight"], joined["truth"]
        self.told, self.gold = joined["told"], joined["gold"]
        self.rows, self.nodes, self.lfs, self.sets = rows, nodes, lfs, len(lessons)
        self.balance_power = torch.tensor([lesson.balance_power for lesson in lessons])
        self.known = self.told.sum(1)
        self.unknown = self.weight - self.gold.sum(1)
        self.own_class = functional.one_hot(self.vote_of, k).float()
        self.class_of = self.set_of * k + self.vote_of
        self.size = _sum(torch.ones(len(self.row)), self.row, rows)
        self.votes_for = _sum(self.own_class[self.node], self.row, rows)
        self.n = _sum(self.weight[self.row], self.node, nodes)
        self.items = _sum(self.weight, self.set_of_row, self.sets)
        self.of_lf = _sum(self.n, self.lf_of, lfs)
        self.total = _sum(self.n, self.set_of, self.sets)
        self.share = self.n / self.of_lf[self.lf_of]
        self.class_share = _sum(self.n, self.class_of, self.sets * k)[self.class_of] / self.total[self.set_of]
        most = torch.zeros(lfs).scatter_reduce_(0, self.lf_of, self.share, "amax")[self.lf_of]
        self.spread = (4 * (1 - most)).clamp(max=1)
        self.row_size = torch.log(self.total / self.items)
        self.lf_count = torch.bincount(joined["set_of_lf"].long(), minlength=self.sets).float()
        self.features = self._features()

    def _features(self) -> Tensor:
        """What is known before any belief. (p, 11)."""
        k, n, of_set = self.k, self.n, self.set_of
        coverage = torch.log(n / self.items[of_set])
        mean_coverage = _sum(coverage, of_set, self.sets) / _sum(torch.ones_like(n), of_set, self.sets)
        several = _sum(n * (self.share < 0.999), of_set, self.sets) / self.total
        return torch.stack(
            [
                torch.log(n) / 3 - 1.5,
                coverage / 2 + 1.5,
                self.share * 2 - 1,
                torch.log(self.class_share * k),
                self.class_share * 2 - 1,
                self.row_size[of_set],
                torch.full_like(n, math.log(k) - 1),
                torch.log(self.lf_count)[of_set] / 2 - 1.5,
                torch.log(self.items)[of_set] / 3 - 2.5,
                coverage - mean_coverage[of_set],
                several[of_set],
            ],
            1,
        )


class Step(nn.Module):
    """What one step learns: corrections that start at zero, for each node and for the set."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.node0, self.node1 = nn.Linear(FEATURES, width), nn.Linear(width, width)
        self.pooled, self.evidence = nn.Linear(4 * width, width), nn.Linear(width, OF_NODE)
        self.set0, self.set1 = nn.Linear(width, width), nn.Linear(width, OF_SET)
        for layer in (self.evidence, self.set1):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, batch: Batch, features: Tensor) -> tuple[Tensor, Tensor]:
        """-> (p, 4), (t, 3)."""
        hidden = functional.silu(self.node1(functional.silu(self.node0(features))))
        weight = batch.n.sqrt()[:, None]

        def means(group: Tensor, size: int) -> Tensor:
            return _sum(weight * hidden, group, size) / _sum(weight, group, size).clamp(min=1e-6)

        everything = means(batch.set_of, batch.sets)
        of_class = means(batch.class_of, batch.sets * batch.k)[batch.class_of]
        of_lf = means(batch.lf_of, batch.lfs)[batch.lf_of]
        context = torch.cat([hidden, of_class, of_lf, everything[batch.set_of]], 1)
        of_node = self.evidence(functional.silu(self.pooled(context)))
        return of_node, self.set1(functional.silu(self.set0(everything)))


class UnrolledNet(nn.Module):
    """The whole network.

    Args:
        width: Of the hidden layers.
        steps: Number of steps, each with weights of its own.
        leave_one_out: Judge a vote by what the other votes on its item say, not by all; an ablation.
    """

    def __init__(self, width: int, steps: int, *, leave_one_out: bool = False) -> None:
        super().__init__()
        self.steps = nn.ModuleList(Step(width) for _ in range(steps))
        self.leave_one_out = leave_one_out

    def forward(self, batch: Batch) -> list[Tensor]:
        """Log-probabilities of every row after each step. -> (r, k) each."""
        belief = _shares(batch.votes_for)
        judged = belief[batch.row]
        if self.leave_one_out:
            judged = _shares(batch.votes_for[batch.row] - batch.own_class[batch.node])
        outputs = []
        for number, step in enumerate(self.steps, 1):
            logits, added, gold_weight = _advance(step, batch, belief, judged, last=number == len(self.steps))
            belief = torch.softmax(logits, 1)
            judged = torch.softmax(logits[batch.row] - added, 1) if self.leave_one_out else belief[batch.row]
            mixed = (gold_weight * belief + batch.told) / (gold_weight + batch.known[:, None])
            outputs.append(torch.log(mixed.clamp(min=1e-7)))
        return outputs


def _shares(votes: Tensor) -> Tensor:
    """Smoothed shares of votes for each class. (x, k)."""
    return (votes + START) / (votes.sum(1, keepdim=True) + START * votes.shape[1])


def _advance(
    step: nn.Module, batch: Batch, belief: Tensor, judged: Tensor, *, last: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Logits (r, k), what each vote adds to them (e, k), and the weight of a belief against gold (r, 1).

    Votes are judged by the beliefs `judged` (e, k).
    """
    k, of_set = batch.k, batch.set_of
    items = batch.unknown[:, None] * belief + batch.gold
    balance = _sum(items, batch.set_of_row, batch.sets)
    balance = (balance + 1) / (balance.sum(1, keepdim=True) + k)
    mass = _sum(batch.unknown[batch.row, None] * judged + batch.gold[batch.row], batch.node, batch.nodes)
    of_node, of_sets = step(batch, _worth(batch, mass, balance))
    evidence, gate = _evidence(batch, mass, of_node)
    trusted = _sum(batch.n * gate, of_set, batch.sets) / batch.total
    share = PLAIN_BALANCE + (confusion_balance(k) - PLAIN_BALANCE) * trusted
    loudness = (1 + (1 - trusted) * math.log(max(k - 1, 1)) if last else torch.ones(batch.sets))[:, None]
    bias = (loudness * share[:, None] * torch.log(balance))[batch.set_of_row]
    row_set = of_sets[batch.set_of_row]
    factor = (loudness[batch.set_of_row, 0] * torch.exp(row_set[:, 0]) * batch.size ** row_set[:, 1])[:, None]
    added = factor[batch.row] * evidence[batch.node]
    return bias + _sum(added, batch.row, batch.rows), added, torch.exp(row_set[:, 2:] + GOLD)


def _worth(batch: Batch, mass: Tensor, balance: Tensor) -> Tensor:
    """All features of the nodes. (p, 18)."""
    own = mass.gather(1, batch.vote_of[:, None])[:, 0]
    of_class = balance[batch.set_of].gather(1, batch.vote_of[:, None])[:, 0]
    precision = ((own + of_class) / (batch.n + 1)).clamp(1e-4, 1 - 1e-4)
    recall = (own + 0.5) / (batch.items[batch.set_of] * of_class + 0.5)
    accuracy = (_sum(own, batch.lf_of, batch.lfs) / batch.of_lf)[batch.lf_of]
    told = _sum(batch.known[batch.row], batch.node, batch.nodes)
    gold = _sum(batch.gold.sum(1)[batch.row], batch.node, batch.nodes)
    logit_precision, logit_balance = torch.logit(precision), torch.logit(of_class)
    believed = [
        logit_precision / 2,
        logit_balance / 2,
        (logit_precision - logit_balance) / 2,
        torch.log(recall.clamp(1e-4, 10)) / 3,
        accuracy * 2 - 1,
        torch.log1p(told) / 3,
        gold / batch.n,
    ]
    return torch.cat([batch.features, torch.stack(believed, 1)], 1)


def _evidence(batch: Batch, mass: Tensor, learned: Tensor) -> tuple[Tensor, Tensor]:
    """As `hyperlabel.unrolled._evidence`: (p, k), (p,)."""
    k, spread = batch.k, batch.spread
    shrink, mix, strength, gate = learned.unbind(1)
    few = 1.5 * (batch.row_size[batch.set_of] - FEW).clamp(-2, 1)
    gate = torch.sigmoid(4 * spread - 2 + few + gate)
    rarity = torch.exp(-0.5 * (1 - spread) * torch.log(batch.class_share * k))
    pooled = _sum(mass, batch.class_of, batch.sets * k).view(batch.sets, k, k)  # (t, vote, class)
    everyone = ((pooled + 0.5) / (pooled.sum(1, keepdim=True) + 0.5 * k)).view(-1, k)[batch.class_of]
    prior_items = torch.exp(shrink + SHRINK)[:, None]
    part = torch.sigmoid(mix + MIX)[:, None]
    prior = part * everyone + (1 - part) * batch.share[:, None]
    likelihood = torch.log(
        (mass + prior_items * prior) / (_sum(mass, batch.lf_of, batch.lfs)[batch.lf_of] + prior_items)
    )
    centred = likelihood - likelihood.mean(1, keepdim=True)
    confusion = functional.softplus(strength + STRENGTH)[:, None] * centred
    return ((1 - gate) * rarity)[:, None] * batch.own_class + gate[:, None] * confusion, gate


def loss(outputs: Sequence[Tensor], batch: Batch) -> Tensor:
    """Cross-entropy of the items that are not told, as a share of log k, averaged over sets; all steps count."""
    hidden = batch.truth - batch.told
    shares = _sum(batch.truth, batch.set_of_row, batch.sets) + 1
    shares = shares / shares.sum(1, keepdim=True)
    value = shares ** -batch.balance_power[:, None]
    value = value / (value * shares).sum(1, keepdim=True)
    size = _sum(hidden.sum(1), batch.set_of_row, batch.sets).clamp(min=1)
    weight = hidden * (value / size[:, None])[batch.set_of_row] / (math.log(batch.k) * batch.sets)
    losses = [-(weight * output).sum() for output in outputs]
    return EARLY * torch.stack(losses[:-1] or [losses[-1] * 0]).sum() + losses[-1]
