"""Courses: what a network is trained on and how. The loop knows nothing else about a network.

Task is what a course draws: a matrix of votes and its target for the paper's network, a lesson for the unrolled one.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import nn

from hyperlabel.priors import LABELED_PRIORS, ReleasedPrior, Task
from hyperlabel.train.batches import Example, accuracies, backward_tasks, to_example
from hyperlabel.train.export import to_weights, unrolled_weights
from hyperlabel.train.lessons import LessonPrior, backward_lessons, validate_lessons, validation_lessons
from hyperlabel.train.net import HyperNet, make_net
from hyperlabel.train.recipe import Recipe
from hyperlabel.train.unrolled import Lesson, UnrolledNet
from hyperlabel.weights import Weights

VALIDATION_SEED = 2023  # the validation sets are the same for every run and every recipe

Net = TypeVar("Net", bound=nn.Module)
Drawn = TypeVar("Drawn")


class Course(Protocol[Net, Drawn]):
    """What a network is trained on and how."""

    def new_net(self) -> Net:
        """An untrained network, on its device; torch's seed decides its weights."""

    def sample_batch(self, rng: np.random.Generator, size: int) -> list[Drawn]:
        """Draw the tasks of one step."""

    def backward(self, net: Net, tasks: Sequence[Drawn]) -> float:
        """Accumulate the gradient of the mean loss over tasks; returns that mean."""

    def validate(self, net: Net, sets: int) -> float:
        """Accuracy averaged over the first synthetic validation sets, which come from other priors than training."""

    def to_weights(self, net: Net, header: dict[str, Any]) -> Weights | None:
        """The network in the form of a weights file; None if NumPy does not run it."""


class PaperCourse:
    """The course of the paper's network and of its ablations."""

    def __init__(self, recipe: Recipe, device: torch.device) -> None:
        self.recipe, self.device, self.prior = recipe, device, recipe.make_prior()
        self._examples: list[Example] = []

    def new_net(self) -> nn.Module:
        """An untrained network."""
        return make_net(self.recipe.architecture, self.recipe.widths).to(self.device)

    def sample_batch(self, rng: np.random.Generator, size: int) -> list[Task]:
        """Draw matrices with their targets."""
        if isinstance(self.prior, ReleasedPrior):
            return self.prior.sample_batch(rng, size)
        return [self.prior.sample(rng) for _ in range(size)]

    def backward(self, net: nn.Module, tasks: Sequence[Task]) -> float:
        """Accumulate the gradient of the mean cross-entropy over all items; returns that mean."""
        return backward_tasks(net, tasks, self.device, masked=self.recipe.masked)

    @cached_property
    def validation_tasks(self) -> list[Task]:
        """The validation sets."""
        rng, prior = np.random.default_rng(VALIDATION_SEED), self.recipe.make_validation_prior()
        return [prior.sample(rng) for _ in range(self.recipe.validation_sets)]

    def validate(self, net: nn.Module, sets: int) -> float:
        """Accuracy averaged over the first validation sets."""
        if not self._examples:
            self._examples = [to_example(net, task, self.device) for task in self.validation_tasks]
        return float(np.mean(accuracies(net, self._examples[:sets], self.device)))

    def to_weights(self, net: nn.Module, header: dict[str, Any]) -> Weights | None:
        """The weights; None for the flat MLP."""
        return to_weights(net, header) if isinstance(net, HyperNet) else None


class UnrolledCourse:
    """The course of the unrolled network, always on the CPU."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.prior = LessonPrior(LABELED_PRIORS[recipe.prior](), recipe.gold_chance, recipe.balance_power)

    def new_net(self) -> UnrolledNet:
        """An untrained network."""
        return UnrolledNet(self.recipe.width, self.recipe.steps)

    def sample_batch(self, rng: np.random.Generator, size: int) -> list[Lesson]:
        """Draw lessons."""
        return [self.sample(rng) for _ in range(size)]

    def sample(self, rng: np.random.Generator) -> Lesson:
        """Draw one lesson."""
        return self.prior.sample(rng)

    def backward(self, net: UnrolledNet, tasks: Sequence[Lesson]) -> float:
        """Accumulate the gradient of the mean loss over lessons; returns that mean."""
        return backward_lessons(net, tasks)

    @cached_property
    def validation_tasks(self) -> list[Lesson]:
        """The validation sets."""
        return validation_lessons(np.random.default_rng(VALIDATION_SEED), self.recipe.validation_sets)

    def validate(self, net: UnrolledNet, sets: int) -> float:
        """Accuracy averaged over the first validation sets."""
        return validate_lessons(net, self.validation_tasks[:sets])

    def to_weights(self, net: UnrolledNet, header: dict[str, Any]) -> Weights | None:
        """The weights."""
        return unrolled_weights(net, header)


MakeCourse = Callable[[Recipe, torch.device], Course[Any, Any]]
"""Makes the course of a recipe."""


def make_course(recipe: Recipe, device: torch.device) -> Course[Any, Any]:
    """The course of a recipe."""
    return UnrolledCourse(recipe) if recipe.is_unrolled else PaperCourse(recipe, device)
