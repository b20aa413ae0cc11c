"""People who label: abilities, habits, confusions, hard items, spammers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64
from hyperlabel.priors.draws import draw_balance, floor_shares, log_uniform
from hyperlabel.priors.task import LabeledTask


@dataclass(frozen=True)
class CrowdPrior:
    """A random utility model: a worker votes for the class whose utility, seen through noise, is greatest."""

    items: tuple[int, int] = (80, 8000)  # smallest and largest n
    workers: tuple[int, int] = (4, 500)  # smallest and largest m
    max_votes: int = 50_000  # the maximum number of votes in total
    max_cells: int = 1_500_000  # n x m is at most this

    def sample(self, rng: np.random.Generator) -> LabeledTask:
        """Draw one task."""
        balance = draw_balance(rng)
        if rng.random() < 0.5:
            balance = floor_shares(rng.dirichlet(np.full(len(balance), 15.0)))
        m, everyone = round(log_uniform(rng, *self.workers)), rng.random() < 0.2
        m = min(m, 60) if everyone else m
        votes_per_item = m if everyone else min(m, log_uniform(rng, 2, 22))
        largest = min(self.max_votes / votes_per_item, self.max_cells / m)
        n = max(60, int(min(log_uniform(rng, *self.items), largest)))
        item, worker = np.nonzero(np.ones((n, m), bool) if everyone else _assign(rng, n, m, votes_per_item))
        truth = rng.choice(len(balance), n, p=balance)
        utility = _utilities(rng, truth, len(balance))
        ability, habit = _workers(rng, m, len(balance))
        seen = ability[worker, None] * utility[item] + habit[worker] + rng.gumbel(size=(len(item), len(balance)))
        votes = np.full((n, m), -1, np.int8)
        votes[item, worker] = seen.argmax(1)
        return LabeledTask(votes, truth, len(balance), "crowd")


def _assign(rng: np.random.Generator, n: int, m: int, votes_per_item: float) -> NDArray[np.bool_]:
    """Who sees which item: workers differ in how much they do; items have the same number of votes, or not. (n, m)."""
    activity = rng.normal(0, rng.uniform(0.5, 2.8), m).astype(np.float32)
    same = np.full(n, max(1, round(votes_per_item)))
    sizes = np.minimum(same if rng.random() < 0.5 else np.maximum(1, rng.poisson(votes_per_item, n)), m)
    order = np.argsort(-(activity + rng.gumbel(size=(n, m)).astype(np.float32)), axis=1)
    seen = np.zeros((n, m), bool)
    seen[np.repeat(np.arange(n), sizes), order[np.arange(m) < sizes[:, None]]] = True
    return seen


def _utilities(rng: np.random.Generator, truth: NDArray[np.int64], k: int) -> Float64:
    """What each class looks like on each item: confusable classes, odd items, hard items. (n, k)."""
    confused = rng.normal(0, 1, (k, k)) * rng.uniform(0, 0.6)
    if k > 2 and rng.random() < 0.3:  # ordered classes: neighbors are confused
        distance = abs(np.arange(k)[:, None] - np.arange(k))
        confused += 0.3 - 0.3 * distance * rng.uniform(0.3, 2)
    np.fill_diagonal(confused, 0)
    odd = log_uniform(rng, 0.05, 1) if rng.random() < 0.7 else 0.0
    hard = rng.uniform(0.1, 1.1) if rng.random() < 0.65 else 0.0
    n = len(truth)
    looks = np.eye(k)[truth] + confused[truth] + odd * rng.normal(size=(n, k))
    utilities: Float64 = looks * np.exp(hard * rng.normal(size=(n, 1)))
    return utilities


def _workers(rng: np.random.Generator, m: int, k: int) -> tuple[Float64, Float64]:
    """Ability (m,) and habit (m, k): leanings to classes, shared and individual; up to two in three are spammers."""
    mean = rng.uniform(0.5, 3.2) + rng.uniform(0.2, 1.1) * np.log(k - 1)
    ability = mean * np.exp(rng.normal(0, rng.uniform(0.1, 0.8), m))
    shared, own = rng.normal(0, rng.uniform(0, 0.7), k), rng.normal(0, 1, (m, k)) * rng.uniform(0, 1)
    if rng.random() < 0.55:
        spams = rng.random(m) < rng.uniform(0, 0.65)
        ability = np.where(spams, ability * rng.uniform(0, 0.25, m), ability)
        own = np.where(spams[:, None], rng.normal(0, 1, (m, k)) * rng.uniform(1, 4), own)
    return ability, shared + own
