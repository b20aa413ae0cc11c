"""The training prior of hlm2: rules, crowds, panels and topics, without most of the sets that nobody would use."""

from dataclasses import dataclass

import numpy as np

from hyperlabel.priors.crowd import CrowdPrior
from hyperlabel.priors.panel import PanelPrior
from hyperlabel.priors.rules import RulesPrior
from hyperlabel.priors.task import LabeledPrior, LabeledTask
from hyperlabel.priors.topics import TopicsPrior

_LEAST_ITEMS, _LEAST_LFS = 30, 2
_POOR = {2: 0.58}  # majority votes below this accuracy are poor, by number of classes
_POOR_OTHERWISE = 0.45


@dataclass(frozen=True)
class MixturePrior:
    """Draws a prior by its share, then a task from it."""

    shares: tuple[tuple[LabeledPrior, float], ...] = (
        (RulesPrior(max_cells=50_000), 0.42),
        (CrowdPrior(max_votes=15_000, max_cells=500_000), 0.32),
        (PanelPrior(max_votes=15_000), 0.16),
        (TopicsPrior(max_cells=50_000), 0.1),
    )
    rejected: float = 0.85  # chance to draw again if majority vote is poor: people fix such LFs before they use them

    def sample(self, rng: np.random.Generator) -> LabeledTask:
        """Draw one task, without items without votes and LFs that never vote."""
        chances = np.array([share for _, share in self.shares])
        while True:
            prior, _ = self.shares[int(rng.choice(len(chances), p=chances / chances.sum()))]
            task = drop_silent(prior.sample(rng))
            if len(task.truth) < _LEAST_ITEMS or task.votes.shape[1] < _LEAST_LFS:
                continue
            if not is_poor(task) or rng.random() >= self.rejected:
                return task


def drop_silent(task: LabeledTask) -> LabeledTask:
    """The task without items and LFs that have no vote."""
    voted = task.votes >= 0
    items, lfs = voted.any(1), voted.any(0)
    return LabeledTask(task.votes[items][:, lfs], task.truth[items], task.n_classes, task.family)


def is_poor(task: LabeledTask) -> bool:
    """Whether majority vote is hardly better than chance."""
    counts = np.stack([(task.votes == v).sum(1) for v in range(task.n_classes)], axis=1)
    accuracy = float((counts.argmax(1) == task.truth).mean())
    return accuracy < _POOR.get(task.n_classes, _POOR_OTHERWISE)
