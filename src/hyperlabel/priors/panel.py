"""Panels: judges, models or raters who all vote on everything and err together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64
from hyperlabel.priors.draws import floor_shares, log_uniform
from hyperlabel.priors.task import LabeledTask

_LEAST_ITEMS = 40


@dataclass(frozen=True)
class PanelPrior:
    """A judge votes for the class that looks best to it: by the truth, by what misleads everyone, by its own bias.

    Judges are between chance and expert. The less a judge sees of the truth, the more it goes by a confounder of the
    item (its length, its style) that has nothing to do with the truth. Judges of one group are versions of each other
    and share most of their noise.
    """

    items: tuple[int, int] = (60, 8000)  # smallest and largest n
    judges: tuple[int, int] = (4, 130)  # smallest and largest m
    max_votes: int = 50_000  # the maximum number of votes in total

    def sample(self, rng: np.random.Generator) -> LabeledTask:
        """Draw one task."""
        m = round(log_uniform(rng, *self.judges))
        n = max(_LEAST_ITEMS, int(min(log_uniform(rng, *self.items), self.max_votes / m)))
        k = 2 if rng.random() < 0.5 else round(log_uniform(rng, 3, 10))
        balance = floor_shares(rng.dirichlet(np.full(k, log_uniform(rng, 1, 30))))
        truth = rng.choice(k, n, p=balance)
        looks, misleading = _item_looks(rng, truth, k), rng.standard_normal((n, k), np.float32)
        skill, misled = _skills(rng, m, k)
        utility = looks[:, None] * skill[:, None] + misleading[:, None] * misled[:, None] + _biases(rng, m, k)
        utility += _noise(rng, n, m, k)
        votes = utility.argmax(2).astype(np.int8)
        if rng.random() < 0.3:  # some answers are missing
            votes[rng.random((n, m)) < rng.uniform(0, 0.15)] = -1
        return LabeledTask(votes, truth, k, "panel")


def _item_looks(rng: np.random.Generator, truth: NDArray[np.int64], k: int) -> NDArray[np.float32]:
    """What an expert sees of each class on each item: hard items show less, ordered classes more alike. (n, k)."""
    seen = np.eye(k, dtype=np.float32)
    if k > 2 and rng.random() < 0.4:  # ordered classes: neighbors look alike
        distance = abs(np.arange(k)[:, None] - np.arange(k))
        seen = np.exp(-distance * rng.uniform(0.4, 2)).astype(np.float32)
    clear = np.exp(rng.uniform(0, 1.2) * rng.standard_normal((len(truth), 1), np.float32))
    looks: NDArray[np.float32] = clear * seen[truth]
    return looks


def _skills(rng: np.random.Generator, m: int, k: int) -> tuple[Float64, Float64]:
    """How much each judge sees of the truth (m,) and of what misleads (m,)."""
    best = rng.uniform(0.6, 3.5) + 0.3 * np.log(k - 1)
    level = rng.beta(rng.uniform(0.6, 5), rng.uniform(0.6, 5), m)  # from chance to expert
    misled = rng.uniform(0, 1.6) * (1 - level) ** rng.uniform(0, 2)
    return (best * level).astype(np.float32), misled.astype(np.float32)


def _biases(rng: np.random.Generator, m: int, k: int) -> NDArray[np.float32]:
    """Leanings to classes and positions, shared and individual; strong for some judges. (m, k)."""
    shared, own = rng.normal(0, rng.uniform(0, 0.5), k), rng.normal(0, 1, (m, k)) * rng.uniform(0, 0.8)
    strong = rng.random(m) < rng.uniform(0, 0.3)
    own[strong] *= rng.uniform(1, 4)
    return (shared + own).astype(np.float32)


def _noise(rng: np.random.Generator, n: int, m: int, k: int) -> NDArray[np.float32]:
    """What else each judge sees in an item; judges of one group share most of it. (n, m, k)."""
    groups = round(log_uniform(rng, 1, m))
    group, size = rng.integers(0, groups, m), rng.dirichlet(np.full(3, 1.0))  # shared by all, by the group, individual
    if rng.random() < 0.3:
        size = np.array([0.0, 0.0, 1.0])  # independent
    common, copied, own = np.sqrt(size).astype(np.float32)
    noise = own * rng.standard_normal((n, m, k), np.float32)
    noise += copied * rng.standard_normal((n, groups, k), np.float32)[:, group]
    noise += common * rng.standard_normal((n, 1, k), np.float32)
    shared: NDArray[np.float32] = noise
    return shared
