"""Panels whose judges are misled together: what they agree on is often not the truth."""

from dataclasses import dataclass

import numpy as np

from hyperlabel.training._rule_priors import floor_shares, log_uniform
from hyperlabel.training._labeled_priors import _biases, _item_looks
from hyperlabel.training._rule_priors import LabeledTask


@dataclass(frozen=True)
class MisledPanelPrior:
    """Like `PanelPrior`, but there is always something that misleads, and many judges go by it more than by the truth.

    Misleading looks are of the set (length, style), of groups of judges (versions of a model) and, on trick items, point
    away from the truth for everyone but experts.
    """

    items: tuple[int, int] = (60, 8000)
    judges: tuple[int, int] = (4, 130)
    max_votes: int = 50_000

    def sample(self, rng):
        m = round(log_uniform(rng, *self.judges))
        n = max(40, int(min(log_uniform(rng, *self.items), self.max_votes / m)))
        k = 2 if rng.random() < 0.5 else round(log_uniform(rng, 3, 10))
        balance = floor_shares(rng.dirichlet(np.full(k, log_uniform(rng, 1, 30))))
        truth = rng.choice(k, n, p=balance)
        looks = _item_looks(rng, truth, k)
        best = rng.uniform(0.8, 4.0) + 0.4 * np.log(k - 1)
        level = rng.beta(rng.uniform(0.6, 4), rng.uniform(0.6, 4), m)
        sources = int(rng.integers(1, 4))
        misled = rng.uniform(0.4, 2.2) * (1 - level[:, None]) ** rng.uniform(0, 1.5) * rng.dirichlet(np.full(sources, 0.7), m) ** 0.5
        misleading = rng.standard_normal((n, sources, k)) * rng.uniform(0.8, 2.5)
        if rng.random() < 0.6:  # trick items: what misleads points to one wrong class
            trick = rng.random(n) < rng.uniform(0.1, 0.5)
            wrong = (truth + rng.integers(1, k, n)) % k
            misleading[trick, 0] += rng.uniform(1, 4) * np.eye(k)[wrong[trick]]
        utility = looks[:, None] * (best * level)[:, None] + np.einsum("ms,nsk->nmk", misled, misleading) + _biases(rng, m, k)
        groups = rng.integers(0, max(1, round(log_uniform(rng, 1, m))), m)
        share = rng.dirichlet([1.0, 1.0, 2.0])
        calm = rng.uniform(0.3, 1.0)
        noise = calm * np.sqrt(share[2]) * rng.gumbel(0, 0.78, (n, m, k)) + np.sqrt(share[0]) * rng.standard_normal((n, 1, k))
        noise += np.sqrt(share[1]) * rng.standard_normal((n, groups.max() + 1, k))[:, groups]
        votes = (utility + noise).argmax(2).astype(np.int8)
        if rng.random() < 0.3:
            votes[rng.random((n, m)) < rng.uniform(0, 0.15)] = -1
        return LabeledTask(votes, truth, k, "panel2")


@dataclass(frozen=True)
class GradedPrior:
    """Judges who see how much of something an item has, each with own thresholds: strict ones and lenient ones.

    The truth is a threshold too, so classes are no clusters: judges agree on clear items and split in the middle. What a
    latent class finds is where most thresholds are, not where the true one is.
    """

    items: tuple[int, int] = (60, 8000)
    judges: tuple[int, int] = (4, 130)
    max_votes: int = 50_000

    def sample(self, rng):
        m = round(log_uniform(rng, *self.judges))
        n = max(40, int(min(log_uniform(rng, *self.items), self.max_votes / m)))
        k = 2 if rng.random() < 0.6 else int(rng.integers(3, 6))
        grade = rng.standard_normal(n) if rng.random() < 0.6 else rng.standard_t(4, n)
        balance = floor_shares(rng.dirichlet(np.full(k, log_uniform(rng, 1, 20))), 0.04)
        cuts = np.quantile(grade, balance.cumsum()[:-1])
        truth = (grade[:, None] > cuts).sum(1)
        seen = grade + rng.uniform(0, 1.2) * rng.standard_normal(n)  # what misleads everyone
        groups = rng.integers(0, max(1, round(log_uniform(rng, 1, m))), m)
        seen = seen[:, None] + rng.uniform(0, 0.7) * rng.standard_normal((n, groups.max() + 1))[:, groups]
        sharp = np.exp(rng.normal(np.log(rng.uniform(0.6, 5)), rng.uniform(0.1, 0.8), m))
        own = rng.normal(0, rng.uniform(0.1, 1.2), (m, 1)) + rng.normal(0, rng.uniform(0, 0.4), (m, k - 1))
        middle = cuts.mean() + (cuts - cuts.mean()) * np.exp(rng.normal(0, 0.5, (m, 1)))
        limits = np.sort(middle + rng.normal(0, rng.uniform(0, 0.5)) + own, 1)
        noise = rng.logistic(size=(n, m)) / sharp
        votes = ((seen + noise)[:, :, None] > limits).sum(2).astype(np.int8)
        if k > 2 and rng.random() < 0.5:
            order = rng.permutation(k)
            votes, truth = order[votes].astype(np.int8), order[truth]
        if rng.random() < 0.4:
            votes[rng.random((n, m)) < rng.uniform(0, 0.6)] = -1
        return LabeledTask(votes, truth, k, "graded")
