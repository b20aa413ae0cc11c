"""Ablations of hlm2 that no recipe has: a network that judges a vote by the others, and patterns without counts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hyperlabel.patterns import Patterns
from hyperlabel.train.courses import MakeCourse, UnrolledCourse
from hyperlabel.train.lessons import LessonPrior
from hyperlabel.train.recipe import Recipe
from hyperlabel.train.unrolled import Batch, Lesson, Opinion, UnrolledNet
from hyperlabel.weights import Weights


class OthersNet(UnrolledNet):
    """Judges a vote by what the other votes on its item say, not by all."""

    def judge(self, batch: Batch, opinion: Opinion) -> Tensor:
        """What each vote is judged by. (e, k)."""
        return opinion.to_belief(opinion.total[batch.row] - opinion.added)


class OthersCourse(UnrolledCourse):
    """The course of `OthersNet`."""

    def new_net(self) -> UnrolledNet:
        """An untrained network."""
        return OthersNet(self.recipe.width, self.recipe.steps)

    def to_weights(self, net: UnrolledNet, header: dict[str, Any]) -> Weights | None:
        """NumPy runs the network of hlm2 alone."""
        return None


def uncount(patterns: Patterns) -> Patterns:
    """The patterns as if each occurred once."""
    return replace(patterns, counts=np.ones_like(patterns.counts))


def uncount_lesson(lesson: Lesson) -> Lesson:
    """A lesson in which each pattern occurs once, as far as the network knows; the loss counts all items."""
    return replace(lesson, patterns=uncount(lesson.patterns))


class UncountedCourse(UnrolledCourse):
    """The course of hlm2 without counts of patterns; there is no gold, since its counts would say how many items."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        self.prior = LessonPrior(self.prior.prior, 0.0, recipe.balance_power)

    def sample(self, rng: np.random.Generator) -> Lesson:
        """Draw one lesson."""
        return uncount_lesson(super().sample(rng))

    @cached_property
    def validation_tasks(self) -> list[Lesson]:
        """The validation sets."""
        course = UnrolledCourse(self.recipe)
        return [uncount_lesson(lesson) for lesson in course.validation_tasks]

    def to_weights(self, net: UnrolledNet, header: dict[str, Any]) -> Weights | None:
        """NumPy runs the network of hlm2 alone."""
        return None


def make_others(recipe: Recipe, device: torch.device) -> OthersCourse:
    """A course for jobs to import."""
    return OthersCourse(recipe)


def make_uncounted(recipe: Recipe, device: torch.device) -> UncountedCourse:
    """A course for jobs to import."""
    return UncountedCourse(recipe)


@dataclass(frozen=True)
class Ablation:
    """How hlm2 is trained and shown votes when something is taken from it."""

    make: MakeCourse
    show: Callable[[Patterns], Patterns]  # what the network sees of the patterns of a set


ABLATIONS: Mapping[str, Ablation] = {
    "hlm2-others": Ablation(make_others, lambda patterns: patterns),
    "hlm2-uncounted": Ablation(make_uncounted, uncount),
}
"""By the name of the variant in `experiments.ablation`."""
