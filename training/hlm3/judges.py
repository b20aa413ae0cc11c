"""The prior of plain judges: independent or biased, any skill, adversaries, copies, groups, few judges, few items."""

from dataclasses import dataclass

import numpy as np

from hyperlabel.training._rule_priors import floor_shares, log_uniform
from hyperlabel.training._rule_priors import LabeledTask


def _levels(rng, m):
    """How far each judge is from chance (0) to perfect (1). (m,)."""
    kind = rng.choice(5, p=[0.3, 0.25, 0.12, 0.23, 0.1])
    if kind == 0:  # few strong ones among weak ones
        level = rng.uniform(0.02, 0.35) + rng.uniform(0, 0.15) * rng.standard_normal(m)
        strong = rng.permutation(m)[: 1 if rng.random() < 0.7 else int(rng.integers(1, max(2, m // 3) + 1))]
        level[strong] = rng.uniform(0.55, 0.97) + 0.03 * rng.standard_normal(len(strong))
        return np.clip(level, 0, 0.98)
    if kind == 1:  # evenly from weak to strong
        low, high = rng.uniform(0, 0.5), rng.uniform(0.25, 0.95)
        return rng.permutation(np.linspace(min(low, high), max(low, high), m))
    if kind == 2:  # equal
        return np.full(m, rng.uniform(0.15, 0.85))
    if kind == 3:
        return rng.beta(rng.uniform(0.6, 5), rng.uniform(0.6, 5), m)
    return np.clip(rng.uniform(0.1, 0.5) + rng.uniform(0, 0.2) * rng.standard_normal(m), 0, 0.98)  # all weak


def _tables(rng, level, k):
    """(m, k truth, k vote): chances of votes."""
    m, chance = len(level), 1 / k
    right = np.broadcast_to((chance + (1 - chance) * level)[:, None], (m, k)).copy()
    if rng.random() < 0.35:  # biased: better at some classes
        right += rng.uniform(0.03, 0.25) * rng.standard_normal((m, k)) * (rng.random((m, 1)) < rng.uniform(0.3, 1))
        right = np.clip(right, 0.02, 0.985)
    wrong = np.ones((m, k, k))
    if k > 2 and rng.random() < 0.5:  # some errors are more frequent, for all or for each
        wrong *= rng.gamma(2, 1, (1, k, k)) if rng.random() < 0.5 else rng.gamma(3, 1, (m, k, k))
    wrong[:, np.arange(k), np.arange(k)] = 0
    tables = wrong / wrong.sum(2, keepdims=True) * (1 - right)[:, :, None]
    tables[:, np.arange(k), np.arange(k)] = right
    return tables


def _cast(rng, table, truth):
    ends = table[truth].cumsum(1)
    return np.minimum((rng.random(len(truth))[:, None] > ends).sum(1), table.shape[1] - 1)


@dataclass(frozen=True)
class JudgesPrior:
    """Judges as textbooks draw them."""

    max_cells: int = 60_000
    most_judges: int = 40
    least_judges: int = 3

    def sample(self, rng):
        k = 2 if rng.random() < 0.6 else round(log_uniform(rng, 3, 8))
        balance = np.full(k, 1 / k) if rng.random() < 0.4 else floor_shares(rng.dirichlet(np.full(k, log_uniform(rng, 0.8, 30))), 0.02)
        m = max(3, round(log_uniform(rng, self.least_judges, self.most_judges)))
        if self.least_judges == 3 and rng.random() < 0.45:
            m = int(rng.choice([3, 3, 3, 4, 4, 5, 5, 6, 7, 8]))
        cells = self.max_cells * (4 if m <= 8 and k == 2 else 1)
        n = int(min(log_uniform(rng, 60, 20_000), cells / m))
        truth = rng.choice(k, n, p=balance)
        level = _levels(rng, m)
        if rng.random() < 0.15:  # adversaries
            bad = rng.permutation(m)[: int(rng.integers(1, max(1, m // 4) + 1))]
            level[bad] = -rng.uniform(0.05, 0.7, len(bad)) / (k - 1)
        tables = _tables(rng, level, k)
        votes = np.stack([_cast(rng, tables[j], truth) for j in range(m)], 1)
        votes = self._group(rng, votes, tables, truth)
        votes = self._silence(rng, votes, truth, k)
        votes = self._copy(rng, votes, tables, truth)
        return LabeledTask(votes.astype(np.int8), truth, k, "judges")

    def _group(self, rng, votes, tables, truth):
        """Groups with a shared confounder: with some chance a member votes as its group does."""
        m = votes.shape[1]
        if rng.random() >= 0.2 or m < 4:
            return votes
        groups = rng.integers(0, max(2, m // int(rng.integers(2, 5))), m)
        for g in np.unique(groups):
            members = np.flatnonzero(groups == g)
            if len(members) < 2 or rng.random() < 0.3:
                continue
            shared, rate = _cast(rng, tables[members[0]], truth), rng.uniform(0.1, 0.8)
            follows = rng.random((len(truth), len(members))) < rate
            votes[:, members] = np.where(follows, shared[:, None], votes[:, members])
        return votes

    def _silence(self, rng, votes, truth, k):
        """Abstentions: none, at random, by judge, or by class."""
        (n, m), kind = votes.shape, rng.choice(4, p=[0.5, 0.2, 0.2, 0.1])
        if kind == 0:
            return votes
        if kind == 1:
            rate = np.full((k, m), rng.uniform(0.15, 0.95))
        elif kind == 2:
            rate = np.broadcast_to(rng.beta(rng.uniform(0.5, 4), rng.uniform(0.5, 4), m), (k, m))
        else:
            rate = rng.beta(1.5, 1.0, (k, m))
        rate = np.maximum(rate, min(1, 1.5 / m))
        return np.where(rng.random((n, m)) < rate[truth], votes, -1)

    def _copy(self, rng, votes, tables, truth):
        """Exact and near copies of some judges."""
        if rng.random() >= 0.35:
            return votes
        m = votes.shape[1]
        for j in rng.permutation(m)[: 1 if rng.random() < 0.65 else int(rng.integers(1, 4))]:
            rate = rng.choice([1.0, 0.95, rng.uniform(0.7, 1), rng.uniform(0.4, 0.9)])
            for _ in range(1 if rng.random() < 0.5 else int(rng.integers(1, 5))):
                own = np.where(votes[:, j] >= 0, _cast(rng, tables[j], truth), -1)
                votes = np.c_[votes, np.where(rng.random(len(truth)) < rate, votes[:, j], own)]
        return votes[:, rng.permutation(votes.shape[1])]
