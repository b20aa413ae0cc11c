"""The validation sets D' of the paper, as its authors generate them: large, dense, LFs independent given the class."""

from dataclasses import dataclass

import numpy as np

from hyperlabel.priors.task import Task


@dataclass(frozen=True)
class PaperValidationPrior:
    """LFs of any coverage that are better than random on both classes.

    The share of class 1 is uniform in 0 to 1, and so is the coverage of each LF on each class. Where it votes, an
    LF is right at the rate 0.5 + u r: u is uniform in 0 to 1 per LF and class, r uniform in 0 to 0.5 per class.

    Attributes:
        items: Number of items, before those without a vote are dropped.
        lfs: Number of LFs, before some are dropped.
        most_dropped: The largest share of LFs that are dropped.
    """

    items: int = 10_000
    lfs: int = 50
    most_dropped: float = 0.8

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw one task."""
        m = self.lfs - int(rng.integers(0, round(self.lfs * self.most_dropped), endpoint=True))
        truth = (rng.random(self.items) < rng.random()).astype(np.int8)
        coverage = rng.random((2, m), np.float32)
        accuracy = (0.5 + rng.random((2, m)) * rng.uniform(0, 0.5, (2, 1))).astype(np.float32)
        fires = rng.random((self.items, m), np.float32) < coverage[truth]
        right = rng.random((self.items, m), np.float32) < accuracy[truth]
        votes = np.where(fires, right == truth[:, None], -1).astype(np.int8)
        voted = fires.any(axis=1)
        return Task(votes[voted], truth[voted].astype(np.float32))
