"""Two plain generators that hlm2 never trains on: for its validation, besides the families it trains on."""

from dataclasses import dataclass

import numpy as np

from hyperlabel.priors.draws import draw_balance
from hyperlabel.priors.task import LabeledTask


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
