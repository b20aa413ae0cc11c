"""LFs independent of each other given the class: the paper's validation priors, and two on which hlm2 is validated.

In the paper's, each LF has, for each class, its own rate of voting and its own rate of being right; the class balance
is random; some LFs are dropped, so that small sets are more frequent than large ones. hlm2 never trains on the others.
"""

from dataclasses import dataclass

import numpy as np

from hyperlabel.priors.draws import draw_balance
from hyperlabel.priors.task import LabeledTask, Task


@dataclass(frozen=True)
class IndependentPrior:
    """Conditionally independent LFs."""

    items: tuple[int, int] = (100, 2000)  # smallest and largest n, before items without a vote are dropped
    lfs: tuple[int, int] = (2, 60)  # smallest and largest m, before LFs are dropped
    balance: tuple[float, float] = (0.1, 0.9)  # range of the share of class 1
    coverage: tuple[float, float] = (0.01, 0.5)  # range of an LF's rate of voting on a class
    accuracy: tuple[float, float] = (0.4, 0.95)  # range of an LF's rate of being right on a class, where it votes
    dropped: tuple[float, float] = (0.0, 0.5)  # range of the share of LFs that are dropped; at least two stay

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


@dataclass(frozen=True)
class PaperValidationPrior:
    """The validation sets D' of the paper, as its authors make them: large, dense, LFs better than random.

    The share of class 1 is uniform in 0 to 1, and so is the coverage of each LF on each class. Where it votes, an
    LF is right at the rate 0.5 + u r: u is uniform in 0 to 1 per LF and class, r uniform in 0 to 0.5 per class.
    """

    items: int = 10_000  # number of items, before those without a vote are dropped
    lfs: int = 50  # number of LFs, before some are dropped
    most_dropped: float = 0.8  # the largest share of LFs that are dropped

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


@dataclass(frozen=True)
class IndependentRulesPrior:
    """LFs of one class that fire independently given the class of the item, whatever their coverage."""

    def sample(self, rng: np.random.Generator) -> LabeledTask:
        """Draw one task."""
        balance, m, n = draw_balance(rng), int(rng.integers(3, 40)), int(rng.integers(200, 3000))
        truth, vote = rng.choice(len(balance), n, p=balance), rng.integers(0, len(balance), m)
        precision, coverage = rng.uniform(0.45, 0.95, m), rng.uniform(0.02, 0.4, m)
        right = np.minimum(0.95, coverage * precision / balance[vote])
        wrong = np.minimum(0.95, coverage * (1 - precision) / (1 - balance[vote]))
        fires = rng.random((n, m)) < np.where(truth[:, None] == vote, right, wrong)
        return LabeledTask(np.where(fires, vote, -1).astype(np.int8), truth, len(balance), "independent-rules")


@dataclass(frozen=True)
class ConfusionPrior:
    """Workers with Dirichlet confusion matrices, independent given the class: the model of Dawid and Skene."""

    def sample(self, rng: np.random.Generator) -> LabeledTask:
        """Draw one task."""
        balance, m, n = draw_balance(rng), int(rng.integers(5, 60)), int(rng.integers(100, 2000))
        k = len(balance)
        truth = rng.choice(k, n, p=balance)
        skill = 6 * rng.beta(2, 1.5, (m, k))
        confusion = np.array([[rng.dirichlet(1 + skill[j, c] * np.eye(k)[c]) for c in range(k)] for j in range(m)])
        ends = confusion.cumsum(2)[np.arange(m), truth[:, None]]  # (n, m, k)
        vote = np.minimum((rng.random((n, m, 1)) > ends).sum(2), k - 1)
        votes = np.where(rng.random((n, m)) < min(1, rng.uniform(2, 12) / m), vote, -1)
        return LabeledTask(votes.astype(np.int8), truth, k, "confusion")
