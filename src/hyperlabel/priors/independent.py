"""The paper's validation prior: LFs independent of each other given the class.

Each LF has, for each class, its own rate of voting and its own rate of being right; the class balance is
random; some LFs are dropped, so that small sets are more frequent than large ones.
"""

from dataclasses import dataclass

import numpy as np

from hyperlabel.priors.task import Task


@dataclass(frozen=True)
class IndependentPrior:
    """Conditionally independent LFs.

    Attributes:
        items: Smallest and largest n, before items without a vote are dropped.
        lfs: Smallest and largest m, before LFs are dropped.
        balance: Range of the share of class 1.
        coverage: Range of an LF's rate of voting on a class.
        accuracy: Range of an LF's rate of being right on a class, where it votes.
        dropped: Range of the share of LFs that are dropped; at least two stay.
    """

    items: tuple[int, int] = (100, 2000)
    lfs: tuple[int, int] = (2, 60)
    balance: tuple[float, float] = (0.1, 0.9)
    coverage: tuple[float, float] = (0.01, 0.5)
    accuracy: tuple[float, float] = (0.4, 0.95)
    dropped: tuple[float, float] = (0.0, 0.5)

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw one task."""
        m = int(rng.integers(self.lfs[0], self.lfs[1], endpoint=True))
        m = max(2, round(m * (1 - rng.uniform(*self.dropped))))
        n = int(rng.integers(self.items[0], self.items[1], endpoint=True))
        truth = (rng.random(n) < rng.uniform(*self.balance)).astype(np.int8)
        coverage, accuracy = rng.uniform(*self.coverage, (2, m)), rng.uniform(*self.accuracy, (2, m))
        fires = rng.random((n, m)) < coverage[truth]
        right = rng.random((n, m)) < accuracy[truth]
        votes = np.where(fires, np.where(right, truth[:, None], 1 - truth[:, None]), -1).astype(np.int8)
        voted = fires.any(axis=1)
        return Task(votes[voted], truth[voted].astype(np.float32))
