"""What the unrolled network learns from: labeled tasks as patterns, the truth of some items known as gold."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
    PanelPrior,
    RulesPrior,
    TopicsPrior,
    drop_silent,
    is_poor,
)
from hyperlabel.train.torch_backend import sum_groups
from hyperlabel.train.unrolled import Batch, Lesson, UnrolledNet, loss
from hyperlabel.votes import Votes

GOLD_SHARE = 0.3  # largest share of the items that is gold
LEAST_GOLD = 5
VALIDATION_PRIORS: tuple[LabeledPrior, ...] = (
    RulesPrior(),
    CrowdPrior(),
    PanelPrior(),
    TopicsPrior(),
    IndependentRulesPrior(),  # the last two are never trained on
    ConfusionPrior(),
)


@dataclass(frozen=True)
class LessonPrior:
    """Tasks of a prior, made into lessons."""

    prior: LabeledPrior  # where tasks come from
    gold_chance: float  # how often some of the truth is gold
    balance_power: float  # see `Lesson`; crowds and panels are left as they are, since F1 is rarely used there

    def sample(self, rng: np.random.Generator) -> Lesson:
        """Draw one lesson."""
        task = drop_silent(self.prior.sample(rng))
        has_gold = rng.random() < self.gold_chance
        power = 0.0 if task.family in ("crowd", "panel") else self.balance_power
        return to_lesson(task, rng if has_gold else None, power)


def to_lesson(task: LabeledTask, rng: np.random.Generator | None, balance_power: float = 0.0) -> Lesson:
    """Group a task by patterns; with a generator, the truth of some items is gold."""
    patterns = Patterns.from_votes(Votes.from_array(task.votes.astype(np.int64), n_classes=task.n_classes))
    truth = patterns.count_labels(task.truth).astype(np.float32)
    gold = np.zeros_like(truth) if rng is None else _draw_gold(rng, task, patterns)
    return Lesson(patterns, truth, gold, balance_power)


def _draw_gold(rng: np.random.Generator, task: LabeledTask, patterns: Patterns) -> NDArray[np.float32]:
    """Gold counts of a random number of random items. (p, k)."""
    n = len(task.truth)
    size = int(np.exp(rng.uniform(np.log(LEAST_GOLD), np.log(max(LEAST_GOLD + 1, GOLD_SHARE * n)))))
    gold = np.full(n, -1, np.int64)
    items = rng.choice(n, size, replace=False)
    gold[items] = task.truth[items]
    return patterns.count_labels(gold).astype(np.float32)


def validation_lessons(rng: np.random.Generator, count: int) -> list[Lesson]:
    """Lessons of several priors in turn, two of them never used in training; without gold."""
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
        items = sum_groups(batch.truth.sum(1), batch.of_set, batch.sets)
        scores.extend((sum_groups(right, batch.of_set, batch.sets) / items).tolist())
    return float(np.mean(scores))
