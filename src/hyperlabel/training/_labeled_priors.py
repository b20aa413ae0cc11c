"""Priors of people, of panels, and the mixture that hlm2 trains on. No real data is used."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64
from hyperlabel.training._rule_priors import (
    LabeledPrior,
    LabeledTask,
    RulesPrior,
    TopicsPrior,
    draw_balance,
    floor_shares,
    log_uniform,
)

_FEWEST_ITEMS, _FEWEST_LFS = 30, 2
_POOR = {2: 0.58}  # majority votes below this accuracy are poor, by number of classes
_POOR_OTHERWISE = 0.45
_LEAST_ITEMS = 40


@dataclass(frozen=True)
class CrowdPrior:
    """People with abilities, habits, confusions, hard items and spammers among them.

    A random utility model: a worker votes for the class whose utility, seen through noise, is greatest.
    """

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
        utilities = ability[worker, None] * utility[item] + habit[worker] + rng.gumbel(size=(len(item), len(balance)))
        votes = np.full((n, m), -1, np.int8)
        votes[item, worker] = utilities.argmax(1)
        return LabeledTask(votes, truth, len(balance), "crowd")


def _assign(rng: np.random.Generator, n: int, m: int, votes_per_item: float) -> NDArray[np.bool_]:
    """Assignment of items to workers, of unequal activity; items have equal numbers of votes, or not. (n, m)."""
    activity = rng.normal(0, rng.uniform(0.5, 2.8), m).astype(np.float32)
    same = np.full(n, max(1, round(votes_per_item)))
    sizes = np.minimum(same if rng.random() < 0.5 else np.maximum(1, rng.poisson(votes_per_item, n)), m)
    order = np.argsort(-(activity + rng.gumbel(size=(n, m)).astype(np.float32)), axis=1)
    assigned = np.zeros((n, m), bool)
    assigned[np.repeat(np.arange(n), sizes), order[np.arange(m) < sizes[:, None]]] = True
    return assigned


def _utilities(rng: np.random.Generator, truth: NDArray[np.int64], k: int) -> Float64:
    """Draw the looks of each class on each item: confusable classes, odd items, hard items. (n, k)."""
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


@dataclass(frozen=True)
class PanelPrior:
    """Panels: judges, models or raters who all vote on everything and err together.

    A judge votes for the class that looks best to it: by the truth, by what misleads everyone, by its own bias.
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
        looks, misleading = draw_item_looks(rng, truth, k), rng.standard_normal((n, k), np.float32)
        skill, misled = _skills(rng, m, k)
        utility = looks[:, None] * skill[:, None] + misleading[:, None] * misled[:, None] + draw_biases(rng, m, k)
        utility += _noise(rng, n, m, k)
        votes = utility.argmax(2).astype(np.int8)
        if rng.random() < 0.3:  # some answers are missing
            votes[rng.random((n, m)) < rng.uniform(0, 0.15)] = -1
        return LabeledTask(votes, truth, k, "panel")


def draw_item_looks(rng: np.random.Generator, truth: NDArray[np.int64], k: int) -> NDArray[np.float32]:
    """Draw what an expert sees of each class on each item: hard items show less, ordered classes more alike. (n, k)."""
    visible = np.eye(k, dtype=np.float32)
    if k > 2 and rng.random() < 0.4:  # ordered classes: neighbors look alike
        distance = abs(np.arange(k)[:, None] - np.arange(k))
        visible = np.exp(-distance * rng.uniform(0.4, 2)).astype(np.float32)
    clear = np.exp(rng.uniform(0, 1.2) * rng.standard_normal((len(truth), 1), np.float32))
    looks: NDArray[np.float32] = clear * visible[truth]
    return looks


def _skills(rng: np.random.Generator, m: int, k: int) -> tuple[Float64, Float64]:
    """Draw how much each judge sees of the truth (m,) and of what misleads (m,)."""
    best = rng.uniform(0.6, 3.5) + 0.3 * np.log(k - 1)
    level = rng.beta(rng.uniform(0.6, 5), rng.uniform(0.6, 5), m)  # from chance to expert
    misled = rng.uniform(0, 1.6) * (1 - level) ** rng.uniform(0, 2)
    return (best * level).astype(np.float32), misled.astype(np.float32)


def draw_biases(rng: np.random.Generator, m: int, k: int) -> NDArray[np.float32]:
    """Leanings to classes and positions, shared and individual; strong for some judges. (m, k)."""
    shared, own = rng.normal(0, rng.uniform(0, 0.5), k), rng.normal(0, 1, (m, k)) * rng.uniform(0, 0.8)
    strong = rng.random(m) < rng.uniform(0, 0.3)
    own[strong] *= rng.uniform(1, 4)
    return (shared + own).astype(np.float32)


def _noise(rng: np.random.Generator, n: int, m: int, k: int) -> NDArray[np.float32]:
    """Draw what else each judge sees in an item; judges of one group share most of it. (n, m, k)."""
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


@dataclass(frozen=True)
class MixturePrior:
    """The training prior of hlm2: rules, crowds, panels and topics, without most of the sets that nobody would use."""

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
            if len(task.truth) < _FEWEST_ITEMS or task.votes.shape[1] < _FEWEST_LFS:
                continue
            if not is_poor(task) or rng.random() >= self.rejected:
                return task


def drop_silent(task: LabeledTask) -> LabeledTask:
    """The task without items and LFs that have no vote."""
    voted = task.votes >= 0
    items, lfs = voted.any(1), voted.any(0)
    return LabeledTask(task.votes[items][:, lfs], task.truth[items], task.n_classes, task.family)


def is_poor(task: LabeledTask) -> bool:
    """Return whether majority vote is hardly better than chance."""
    counts = np.stack([(task.votes == v).sum(1) for v in range(task.n_classes)], axis=1)
    accuracy = float((counts.argmax(1) == task.truth).mean())
    return accuracy < _POOR.get(task.n_classes, _POOR_OTHERWISE)


LABELED_PRIORS: dict[str, type[LabeledPrior]] = {
    "mixture": MixturePrior,
    "rules": RulesPrior,
    "crowd": CrowdPrior,
    "panel": PanelPrior,
    "topics": TopicsPrior,
}
"""Priors that the unrolled network can train on, by name."""
