"""What the unrolled network learns from: labeled tasks as patterns, some of the truth told as gold."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from hyperlabel.patterns import Patterns
from hyperlabel.priors import (
    ConfusionPrior,
    CrowdPrior,
    IndependentRulesPrior,
    LabeledPrior,
    LabeledTask,
    RulesPrior,
    TopicsPrior,
    drop_silent,
    is_poor,
)
from hyperlabel.train.unrolled import Batch, Lesson, UnrolledNet, loss
from hyperlabel.votes import Votes

GOLD_SHARE = 0.3  # largest share of the items that is told
LEAST_GOLD = 5
VALIDATION_PRIORS: tuple[LabeledPrior, ...] = (
    RulesPrior(),
    CrowdPrior(),
    TopicsPrior(),
    IndependentRulesPrior(),  # the last two are never trained on
    ConfusionPrior(),
)


@dataclass(frozen=True)
class LessonPrior:
    """Tasks of a prior, made into lessons.

    Attributes:
        prior: Where tasks come from.
        gold_chance: How often some of the truth is told.
        balance_power: See `Lesson`; crowds are left as they are, since there F1 is hardly asked for.
        counted: Whether the network is shown how often a pattern occurs, and gold.
    """

    prior: LabeledPrior
    gold_chance: float
    balance_power: float
    counted: bool = True

    def sample(self, rng: np.random.Generator) -> Lesson:
        """Draw one lesson."""
        task = drop_silent(self.prior.sample(rng))
        told = rng.random() < self.gold_chance and self.counted
        lesson = to_lesson(task, rng if told else None, 0.0 if task.family == "crowd" else self.balance_power)
        return lesson if self.counted else replace(lesson, patterns=uncount(lesson.patterns))


def uncount(patterns: Patterns) -> Patterns:
    """The patterns as if each occurred once."""
    return replace(patterns, counts=np.ones_like(patterns.counts))


def to_lesson(task: LabeledTask, rng: np.random.Generator | None, balance_power: float = 0.0) -> Lesson:
    """Group a task by patterns; with a generator, tell the truth of some items."""
    patterns = Patterns.from_votes(Votes.from_array(task.votes.astype(np.int64), n_classes=task.n_classes))
    truth = patterns.count_labels(task.truth).astype(np.float32)
    gold = np.zeros_like(truth) if rng is None else _tell(rng, task, patterns)
    return Lesson(patterns, truth, gold, balance_power)


def _tell(rng: np.random.Generator, task: LabeledTask, patterns: Patterns) -> NDArray[np.float32]:
    """Gold counts of a random number of random items. (p, k)."""
    n = len(task.truth)
    size = int(np.exp(rng.uniform(np.log(LEAST_GOLD), np.log(max(LEAST_GOLD + 1, GOLD_SHARE * n)))))
    told = np.full(n, -1, np.int64)
    items = rng.choice(n, size, replace=False)
    told[items] = task.truth[items]
    return patterns.count_labels(told).astype(np.float32)


def validation_lessons(rng: np.random.Generator, count: int) -> list[Lesson]:
    """Lessons of several priors in turn, two of them foreign to training; nothing is told."""
    lessons: list[Lesson] = []
    while len(lessons) < count:
        task = drop_silent(VALIDATION_PRIORS[len(lessons) % len(VALIDATION_PRIORS)].sample(rng))
        if len(task.truth) and not is_poor(task):
            lessons.append(to_lesson(task, None))
    return lessons


def _by_classes(lessons: Iterable[Lesson]) -> list[Batch]:
    groups: dict[int, list[Lesson]] = defaultdict(list)
    for lesson in lessons:
        groups[lesson.patterns.n_classes].append(lesson)
    return [Batch(group) for group in groups.values()]


def backward_lessons(net: UnrolledNet, lessons: Sequence[Lesson]) -> float:
    """Accumulate the gradient of the mean loss over lessons; returns that mean."""
    total = 0.0
    for batch in _by_classes(lessons):
        part = loss(net(batch), batch) * (batch.sets / len(lessons))
        part.backward()  # type: ignore[no-untyped-call]
        total += part.item()
    return total


@torch.no_grad()
def validate_lessons(net: UnrolledNet, lessons: Sequence[Lesson]) -> float:
    """Accuracy averaged over lessons."""
    scores = []
    for batch in _by_classes(lessons):
        right = batch.truth.gather(1, net(batch)[-1].argmax(1, keepdim=True))[:, 0]
        items = torch.zeros(batch.sets).index_add_(0, batch.set_of_row, batch.truth.sum(1))
        by_set = torch.zeros(batch.sets).index_add_(0, batch.set_of_row, right) / items
        scores.extend(by_set.tolist())
    return float(np.mean(scores))
