"""Ablations of hlm2 that no recipe has: a network that judges a vote by the others, and patterns without counts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hyperlabel.data import Patterns
from hyperlabel.networks import Weights
from hyperlabel.training import (
    Batch,
    MakeTask,
    Recipe,
    RowLogits,
    TrainingSet,
    TrainingSetPrior,
    UnrolledNet,
    UnrolledTask,
)


class OthersNet(UnrolledNet):
    """Judges a vote by what the other votes on its item say, not by all."""

    def judge(self, batch: Batch, logits: RowLogits) -> Tensor:
        """What each vote is judged by. (e, k)."""
        return logits.to_belief(logits.total[batch.row] - logits.added)


class OthersTask(UnrolledTask):
    """The training task of `OthersNet`."""

    def new_net(self) -> UnrolledNet:
        """An untrained network."""
        return OthersNet(self.recipe.width, self.recipe.steps)

    def to_weights(self, net: UnrolledNet, header: dict[str, Any]) -> Weights | None:
        """NumPy runs the network of hlm2 alone."""
        return None


def uncount(patterns: Patterns) -> Patterns:
    """The patterns as if each occurred once."""
    return replace(patterns, counts=np.ones_like(patterns.counts))


def uncount_set(training_set: TrainingSet) -> TrainingSet:
    """A training set in which each pattern occurs once, as far as the network knows; the loss counts all items."""
    return replace(training_set, patterns=uncount(training_set.patterns))


class UncountedTask(UnrolledTask):
    """The task of hlm2 without counts of patterns, and without gold, whose counts would say how many items."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        self.prior = TrainingSetPrior(self.prior.prior, 0.0, recipe.balance_power)

    def sample(self, rng: np.random.Generator) -> TrainingSet:
        """Draw one training set."""
        return uncount_set(super().sample(rng))

    @cached_property
    def validation_tasks(self) -> list[TrainingSet]:
        """The validation sets."""
        training_task = UnrolledTask(self.recipe)
        return [uncount_set(training_set) for training_set in training_task.validation_tasks]

    def to_weights(self, net: UnrolledNet, header: dict[str, Any]) -> Weights | None:
        """NumPy runs the network of hlm2 alone."""
        return None


def make_others(recipe: Recipe, device: torch.device) -> OthersTask:
    """A training task for jobs to import."""
    return OthersTask(recipe)


def make_uncounted(recipe: Recipe, device: torch.device) -> UncountedTask:
    """A training task for jobs to import."""
    return UncountedTask(recipe)


@dataclass(frozen=True)
class Ablation:
    """How hlm2 is trained and shown votes when something is taken from it."""

    make: MakeTask
    show: Callable[[Patterns], Patterns]  # what the network sees of the patterns of a set


ABLATIONS: Mapping[str, Ablation] = {
    "hlm2-others": Ablation(make_others, lambda patterns: patterns),
    "hlm2-uncounted": Ablation(make_uncounted, uncount),
}
"""By the name of the variant in `experiments.ablation`."""
