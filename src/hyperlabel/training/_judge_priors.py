"""Priors of judges: independent ones of any skill, with adversaries and copies, and panels that are misled together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64
from hyperlabel.training._labeled_priors import CrowdPrior, MixturePrior, PanelPrior, draw_biases, draw_item_looks
from hyperlabel.training._rule_priors import (
    LabeledPrior,
    LabeledTask,
    RulesPrior,
    TopicsPrior,
    floor_shares,
    log_uniform,
)

Rng = np.random.Generator


@dataclass(frozen=True)
class JudgesPrior:
    """Judges as textbooks draw them: any skill, biases, adversaries, groups, copies, and abstentions."""

    judges: tuple[int, int] = (3, 40)  # smallest and largest m
    max_cells: int = 60_000  # n x m is at most this, or four times this for few judges of two classes

    def sample(self, rng: Rng) -> LabeledTask:
        """Draw one task."""
        k = 2 if rng.random() < 0.6 else round(log_uniform(rng, 3, 8))
        even = rng.random() < 0.4
        balance = np.full(k, 1 / k) if even else rng.dirichlet(np.full(k, log_uniform(rng, 0.8, 30)))
        m = max(3, round(log_uniform(rng, *self.judges)))
        if self.judges[0] == 3 and rng.random() < 0.45:
            m = int(rng.choice([3, 3, 3, 4, 4, 5, 5, 6, 7, 8]))
        cells = self.max_cells * (4 if m <= 8 and k == 2 else 1)
        truth = rng.choice(k, int(min(log_uniform(rng, 60, 20_000), cells / m)), p=floor_shares(balance, 0.02))
        tables = _tables(rng, _with_adversaries(rng, _levels(rng, m), k), k)
        votes = np.stack([_cast(rng, tables[j], truth) for j in range(m)], 1)
        votes = _silence(rng, _group(rng, votes, tables, truth), truth, k)
        return LabeledTask(_copy(rng, votes, tables, truth).astype(np.int8), truth, k, "judges")


def _levels(rng: Rng, m: int) -> Float64:
    """Draw how far each judge is from chance (0) to perfect (1). (m,)."""
    kind = rng.choice(5, p=[0.3, 0.25, 0.12, 0.23, 0.1])
    if kind == 0:  # few strong ones among weak ones
        level = rng.uniform(0.02, 0.35) + rng.uniform(0, 0.15) * rng.standard_normal(m)
        strong = rng.permutation(m)[: 1 if rng.random() < 0.7 else int(rng.integers(1, max(2, m // 3) + 1))]
        level[strong] = rng.uniform(0.55, 0.97) + 0.03 * rng.standard_normal(len(strong))
        return np.clip(level, 0, 0.98)
    if kind == 1:  # evenly from weak to strong
        low, high = rng.uniform(0, 0.5), rng.uniform(0.25, 0.95)
        return rng.permutation(np.linspace(min(low, high), max(low, high), m))
    if kind == 2:
        return np.full(m, rng.uniform(0.15, 0.85))
    if kind == 3:
        return rng.beta(rng.uniform(0.6, 5), rng.uniform(0.6, 5), m)
    return np.clip(rng.uniform(0.1, 0.5) + rng.uniform(0, 0.2) * rng.standard_normal(m), 0, 0.98)  # all weak


def _with_adversaries(rng: Rng, level: Float64, k: int) -> Float64:
    if rng.random() < 0.15:
        bad = rng.permutation(len(level))[: int(rng.integers(1, max(1, len(level) // 4) + 1))]
        level[bad] = -rng.uniform(0.05, 0.7, len(bad)) / (k - 1)
    return level


def _tables(rng: Rng, level: Float64, k: int) -> Float64:
    """Draw chances of votes. (m, k classes, k votes)."""
    m, chance = len(level), 1 / k
    right = np.broadcast_to((chance + (1 - chance) * level)[:, None], (m, k)).copy()
    if rng.random() < 0.35:  # better at some classes
        right += rng.uniform(0.03, 0.25) * rng.standard_normal((m, k)) * (rng.random((m, 1)) < rng.uniform(0.3, 1))
        right = np.clip(right, 0.02, 0.985)
    wrong = np.ones((m, k, k))
    if k > 2 and rng.random() < 0.5:  # some errors are more frequent, for all or for each
        wrong *= rng.gamma(2, 1, (1, k, k)) if rng.random() < 0.5 else rng.gamma(3, 1, (m, k, k))
    own = np.arange(k)
    wrong[:, own, own] = 0
    tables: Float64 = wrong / wrong.sum(2, keepdims=True) * (1 - right)[:, :, None]
    tables[:, own, own] = right
    return tables


def _cast(rng: Rng, table: Float64, truth: NDArray[np.int64]) -> NDArray[np.int64]:
    ends = table[truth].cumsum(1)
    votes: NDArray[np.int64] = np.minimum((rng.random(len(truth))[:, None] > ends).sum(1), table.shape[1] - 1)
    return votes


def _group(rng: Rng, votes: NDArray[np.int64], tables: Float64, truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """In a fifth of the sets, groups with a shared confounder: with some chance a member votes as its group does."""
    m = votes.shape[1]
    if rng.random() >= 0.2 or m < 4:
        return votes
    groups = rng.integers(0, max(2, m // int(rng.integers(2, 5))), m)
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        if len(members) < 2 or rng.random() < 0.3:
            continue
        shared, rate = _cast(rng, tables[members[0]], truth), rng.uniform(0.1, 0.8)
        follows = rng.random((len(truth), len(members))) < rate
        votes[:, members] = np.where(follows, shared[:, None], votes[:, members])
    return votes


def _silence(rng: Rng, votes: NDArray[np.int64], truth: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Draw abstentions: none, at random, by judge, or by class."""
    m, kind = votes.shape[1], rng.choice(4, p=[0.5, 0.2, 0.2, 0.1])
    if kind == 0:
        return votes
    rate = np.full((k, m), rng.uniform(0.15, 0.95)) if kind == 1 else rng.beta(1.5, 1.0, (k, m))
    if kind == 2:
        rate = np.broadcast_to(rng.beta(rng.uniform(0.5, 4), rng.uniform(0.5, 4), m), (k, m))
    rate = np.maximum(rate, min(1, 1.5 / m))
    return np.where(rng.random(votes.shape) < rate[truth], votes, -1)


def _copy(rng: Rng, votes: NDArray[np.int64], tables: Float64, truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """In a third of the sets, exact and near copies of some judges."""
    if rng.random() >= 0.35:
        return votes
    m = votes.shape[1]
    for j in rng.permutation(m)[: 1 if rng.random() < 0.65 else int(rng.integers(1, 4))]:
        rate = rng.choice([1.0, 0.95, rng.uniform(0.7, 1), rng.uniform(0.4, 0.9)])
        for _ in range(1 if rng.random() < 0.5 else int(rng.integers(1, 5))):
            own = np.where(votes[:, j] >= 0, _cast(rng, tables[j], truth), -1)
            votes = np.c_[votes, np.where(rng.random(len(truth)) < rate, votes[:, j], own)]
    return votes[:, rng.permutation(votes.shape[1])]


@dataclass(frozen=True)
class _DensePrior:
    """Judges who vote on nearly all items."""

    items: tuple[int, int] = (60, 8000)
    judges: tuple[int, int] = (4, 130)
    max_votes: int = 50_000

    def _draw_shape(self, rng: Rng) -> tuple[int, int]:
        """Draw the number of items and of judges."""
        m = round(log_uniform(rng, *self.judges))
        n = max(40, int(min(log_uniform(rng, *self.items), self.max_votes / m)))
        return n, m


class MisledPanelPrior(_DensePrior):
    """Like `PanelPrior`, but there is always something that misleads, and many judges go by it more than by the truth.

    Misleading looks are of the set (length, style), of groups of judges (versions of a model) and, on trick items,
    point away from the truth for everyone but experts.
    """

    def sample(self, rng: Rng) -> LabeledTask:
        """Draw one task."""
        n, m = self._draw_shape(rng)
        k = 2 if rng.random() < 0.5 else round(log_uniform(rng, 3, 10))
        truth = rng.choice(k, n, p=floor_shares(rng.dirichlet(np.full(k, log_uniform(rng, 1, 30)))))
        looks, level = draw_item_looks(rng, truth, k), rng.beta(rng.uniform(0.6, 4), rng.uniform(0.6, 4), m)
        best, sources = rng.uniform(0.8, 4.0) + 0.4 * np.log(k - 1), int(rng.integers(1, 4))
        misled = rng.uniform(0.4, 2.2) * (1 - level[:, None]) ** rng.uniform(0, 1.5)
        misled = misled * rng.dirichlet(np.full(sources, 0.7), m) ** 0.5
        utility = looks[:, None] * (best * level)[:, None] + draw_biases(rng, m, k)
        utility += np.einsum("ms,nsk->nmk", misled, _misleading(rng, truth, sources, k))
        votes = (utility + _group_noise(rng, n, m, k)).argmax(2).astype(np.int8)
        if rng.random() < 0.3:
            votes[rng.random((n, m)) < rng.uniform(0, 0.15)] = -1
        return LabeledTask(votes, truth, k, "misled")


def _misleading(rng: Rng, truth: NDArray[np.int64], sources: int, k: int) -> Float64:
    """Draw what misleads; on trick items it points to one wrong class. (n, sources, k)."""
    n = len(truth)
    looks = rng.standard_normal((n, sources, k)) * rng.uniform(0.8, 2.5)
    if rng.random() < 0.6:
        trick = rng.random(n) < rng.uniform(0.1, 0.5)
        wrong = (truth + rng.integers(1, k, n)) % k
        looks[trick, 0] += rng.uniform(1, 4) * np.eye(k)[wrong[trick]]
    return looks


def _group_noise(rng: Rng, n: int, m: int, k: int) -> Float64:
    """Draw noise that all judges, groups of judges, or nobody shares. (n, m, k)."""
    groups = rng.integers(0, max(1, round(log_uniform(rng, 1, m))), m)
    share, calm = rng.dirichlet([1.0, 1.0, 2.0]), rng.uniform(0.3, 1.0)
    noise: Float64 = calm * np.sqrt(share[2]) * rng.gumbel(0, 0.78, (n, m, k))
    noise += np.sqrt(share[0]) * rng.standard_normal((n, 1, k))
    noise += np.sqrt(share[1]) * rng.standard_normal((n, groups.max() + 1, k))[:, groups]
    return noise


class GradedPrior(_DensePrior):
    """Judges who see how much of something an item has, each with thresholds of their own: strict and lenient ones.

    The truth is a threshold too, so classes are no clusters: judges agree on clear items and split in the middle. What
    a latent class finds is where most thresholds are, not where the true one is.
    """

    def sample(self, rng: Rng) -> LabeledTask:
        """Draw one task."""
        n, m = self._draw_shape(rng)
        k = 2 if rng.random() < 0.6 else int(rng.integers(3, 6))
        grade = rng.standard_normal(n) if rng.random() < 0.6 else rng.standard_t(4, n)
        balance = floor_shares(rng.dirichlet(np.full(k, log_uniform(rng, 1, 20))), 0.04)
        cuts = np.quantile(grade, balance.cumsum()[:-1])
        truth = (grade[:, None] > cuts).sum(1)
        seen = grade + rng.uniform(0, 1.2) * rng.standard_normal(n)  # what misleads everyone
        groups = rng.integers(0, max(1, round(log_uniform(rng, 1, m))), m)
        seen = seen[:, None] + rng.uniform(0, 0.7) * rng.standard_normal((n, groups.max() + 1))[:, groups]
        sharp = np.exp(rng.normal(np.log(rng.uniform(0.6, 5)), rng.uniform(0.1, 0.8), m))
        seen = seen + rng.logistic(size=(n, m)) / sharp
        votes = (seen[:, :, None] > _limits(rng, cuts, m)).sum(2)
        if k > 2 and rng.random() < 0.5:
            order = rng.permutation(k)
            votes, truth = order[votes], order[truth]
        if rng.random() < 0.4:
            votes[rng.random((n, m)) < rng.uniform(0, 0.6)] = -1
        return LabeledTask(votes.astype(np.int8), truth, k, "graded")


def _limits(rng: Rng, cuts: Float64, m: int) -> Float64:
    """Draw the thresholds of judges, around the true ones. (m, k - 1)."""
    own = rng.normal(0, rng.uniform(0.1, 1.2), (m, 1)) + rng.normal(0, rng.uniform(0, 0.4), (m, len(cuts)))
    middle = cuts.mean() + (cuts - cuts.mean()) * np.exp(rng.normal(0, 0.5, (m, 1)))
    return np.sort(middle + rng.normal(0, rng.uniform(0, 0.5)) + own, 1)


_MANY = (41, 128)
GATE_SHARES: tuple[tuple[LabeledPrior, float], ...] = (
    (JudgesPrior(), 0.34),
    (RulesPrior(max_cells=50_000), 0.1),
    (RulesPrior(lfs=(3, 10), items=(300, 40_000), max_cells=160_000), 0.09),
    (CrowdPrior(max_votes=15_000, max_cells=300_000), 0.15),
    (CrowdPrior(items=(500, 12_000), max_votes=100_000, max_cells=6_000_000), 0.02),
    (PanelPrior(max_votes=15_000), 0.1),
    (MisledPanelPrior(max_votes=15_000), 0.08),
    (GradedPrior(max_votes=15_000), 0.08),
    (PanelPrior(items=(1000, 12_000), max_votes=150_000), 0.01),
    (MisledPanelPrior(items=(1000, 12_000), max_votes=150_000), 0.01),
    (TopicsPrior(max_cells=50_000), 0.02),
)
"""What the gate of hlm3 is trained on."""

MANY_SHARES: tuple[tuple[LabeledPrior, float], ...] = (
    (JudgesPrior(judges=(41, 110), max_cells=100_000), 0.5),
    (PanelPrior(judges=_MANY, max_votes=25_000), 0.2),
    (MisledPanelPrior(judges=_MANY, max_votes=25_000), 0.15),
    (GradedPrior(judges=_MANY, max_votes=25_000), 0.15),
)
"""Dense sets of many LFs, a seventh of the sets."""


def gate_prior(*, many: bool = False) -> MixturePrior:
    """Return the prior of the gate; of judges, fewer poor sets are drawn again than of rules."""
    return MixturePrior(MANY_SHARES if many else GATE_SHARES, rejected=0.75)
