"""Labeled tasks, and priors of rules: generators of votes, of any number of classes, with a drawn truth."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64


@dataclass(frozen=True)
class LabeledTask:
    """Votes of any number of classes with a drawn truth: what the unrolled network learns from."""

    votes: NDArray[np.int8]  # (n, m) int8; -1 abstains
    truth: NDArray[np.int64]  # (n,) the class of each item
    n_classes: int  # number of classes
    family: str  # the kind of data it imitates, such as `rules` or `crowd`


class LabeledPrior(Protocol):
    """A distribution over labeled tasks."""

    def sample(self, rng: np.random.Generator) -> LabeledTask:
        """Draw one task."""
        ...


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


@dataclass(frozen=True)
class SetSizes:
    """The sizes of the sets that a prior draws."""

    items: tuple[int, int] = (200, 30_000)  # smallest and largest n
    lfs: tuple[int, int] = (3, 120)  # smallest and largest m
    max_cells: int = 150_000  # n x m is at most this

    def draw_size(self, rng: np.random.Generator) -> tuple[int, int]:
        """The numbers of items and of LFs. -> n, m."""
        m = round(log_uniform(rng, *self.lfs))
        return int(min(log_uniform(rng, *self.items), self.max_cells // m)), m


def floor_shares(shares: Float64, least: float = 0.01) -> Float64:
    """Shares, none below a floor."""
    floored = np.maximum(shares, least)
    raised: Float64 = floored / floored.sum()
    return raised


def draw_balance(rng: np.random.Generator) -> Float64:
    """Number of classes (two in three of five sets, at most 13) and their shares. (k,)."""
    k = 2 if rng.random() < 0.6 else round(log_uniform(rng, 3, 13))
    return floor_shares(rng.dirichlet(np.full(k, log_uniform(rng, 0.7, 30))))


def draw_votes_for(rng: np.random.Generator, balance: Float64) -> Float64:
    """Draw the classes that LFs are written for: any power of the class balance, even a negative one. (k,)."""
    shares = balance ** rng.uniform(-0.3, 1.1)
    normalized: Float64 = shares / shares.sum()
    return normalized


def mislabel(rng: np.random.Generator, truth: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Real truth is wrong for some items, in three of five sets. (n,)."""
    if rng.random() >= 0.6:
        return truth
    wrong = rng.random(len(truth)) < log_uniform(rng, 0.01, 0.15)
    return np.where(wrong, (truth + rng.integers(1, k, len(truth))) % k, truth)


def normal_cdf(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The normal distribution function, to 2e-4: enough for a uniform number that is only compared."""
    cubic = values * (np.float32(1.5957691) + np.float32(0.0713548) * values * values)
    return np.float32(0.5) * (1 + np.tanh(np.float32(0.5) * cubic))


# How the reasons to fire share the variance: the item, its leaning to a class, a group of LFs, the LF alone.
_REASONS = {
    "together": ((3, 0.5, 1, 1.5), (1, 0.3, 3, 1)),
    "mild": ((1, 1, 0.7, 3),),
    "crowded": ((3, 0.3, 3, 1.5),),
}


@dataclass(frozen=True)
class _Plan:
    """The LFs of a set before anyone fires."""

    coverage: Float64  # (m,) share of items
    vote: NDArray[np.intp]  # (m,) the class an LF votes for, or votes for most
    several: NDArray[np.bool_]  # (m,) whether it votes for other classes too
    default: NDArray[np.bool_]  # (m,) whether it is a broad LF with little information


@dataclass(frozen=True)
class RulesPrior(SetSizes):
    """LFs as people write them: mostly for one class, rare ones precise, broad ones barely better than luck.

    The shape follows statistics of public sets (docs/model-card.md names them): how the lift of an LF over its class's
    share falls with its coverage, how LFs fire together on the same items, how often unanimous votes are wrong, and the
    broad default LF that most sets have, which the specific ones overrule.
    """

    def sample(self, rng: np.random.Generator) -> LabeledTask:
        """Draw one task."""
        balance, mild = draw_balance(rng), rng.random() < 0.3
        n, m = self.draw_size(rng)
        votes_per_item = min(log_uniform(rng, 0.8, 20) if rng.random() < 0.55 else log_uniform(rng, 0.4, 3), 0.75 * m)
        plan = _plan(rng, m, votes_per_item, balance, mild)
        rates = _rates(rng, plan, votes_per_item, balance)
        truth = rng.choice(len(balance), n, p=balance)
        levels = _levels(rng, n, plan, len(balance), mild, votes_per_item)
        votes = _fire(levels, rates, truth)
        return LabeledTask(votes, mislabel(rng, truth, len(balance)), len(balance), "rules")


def _plan(rng: np.random.Generator, m: int, votes_per_item: float, balance: Float64, mild: bool) -> _Plan:
    k, one_class = len(balance), rng.random() < (0.6 if mild else 0.75)
    several = np.zeros(m, bool) if one_class else rng.random(m) < rng.uniform(0.1, 1)
    size = np.exp(rng.normal(0, rng.uniform(0.6, 2.2), m)) * np.where(several, np.exp(rng.uniform(0, 2, m)), 1)
    coverage = 0.95 * (1 - np.exp(-size / size.sum() * votes_per_item / 0.95))
    default = np.zeros(m, bool)
    if rng.random() < 0.5:
        default[rng.integers(0, m, rng.integers(1, 3))] = True
        coverage[default] = rng.uniform(0.25, 0.9, default.sum())
    written_for = rng.dirichlet(draw_votes_for(rng, balance) * log_uniform(rng, 3, 60) + 0.05)
    vote = rng.choice(k, m, p=written_for)
    if k <= m:
        vote[rng.permutation(m)[:k]] = np.arange(k)  # every class has an LF
    return _Plan(coverage, vote, several, default)


def _rates(rng: np.random.Generator, plan: _Plan, votes_per_item: float, balance: Float64) -> Float64:
    """The chance of each vote given the class of the item. (m, k votes, k classes)."""
    k, m = len(balance), len(plan.vote)
    lift = rng.uniform(0.1, 3.6) * min(1, np.sqrt(3 / votes_per_item)) + rng.uniform(0, 1) * np.log(k - 1)
    noise, of_class = rng.uniform(0.2, 1.3), rng.normal(0, rng.uniform(0, 0.8), k)
    slope = rng.uniform(-0.1, 0.9) if rng.random() < 0.7 else rng.uniform(0.5, 1.6)
    trust, default_lift = rng.uniform(0.6, 1.2), rng.uniform(0, 1.6)
    middle = 0.5 * np.log(plan.coverage).mean() + 0.5 * np.log(0.06)
    confused = rng.gamma(2, 1, (k, k)) if rng.random() < 0.7 else np.ones((k, k))
    prior = np.log(balance / (1 - balance))
    rates = np.zeros((m, k, k))
    for j in range(m):
        quality = rng.normal(0, noise)
        for v, share in _split(rng, plan, j, balance):
            coverage = plan.coverage[j] * share
            own = 0.7 * quality + rng.normal(0, 0.7 * noise) if plan.several[j] else quality
            logit = trust * prior[v] + lift + of_class[v] + own - slope * (np.log(max(coverage, 1e-5)) - middle)
            if plan.default[j] and not plan.several[j]:
                logit = prior[v] + default_lift + rng.normal(0, 0.2)
            rates[j, v] = np.minimum(0.97, coverage * _classes_hit(rng, logit, v, balance, confused) / balance)
        rates[j] *= np.minimum(1, 0.98 / np.maximum(rates[j].sum(0), 1e-9))
    return rates


def _split(rng: np.random.Generator, plan: _Plan, j: int, balance: Float64) -> list[tuple[int, float]]:
    """The classes that an LF votes for, and how it divides its votes."""
    if not plan.several[j]:
        return [(int(plan.vote[j]), 1.0)]
    k = len(balance)
    others = rng.permutation(k)[: int(rng.integers(2, k + 1))]
    votes = list(dict.fromkeys([int(plan.vote[j]), *others.tolist()]))
    if len(votes) == 1:
        return [(votes[0], 1.0)]
    shares = rng.dirichlet(3 * balance[votes] / balance[votes].mean() + 0.2)
    return list(zip(votes, shares.tolist(), strict=True))


def _classes_hit(rng: np.random.Generator, logit: float, v: int, balance: Float64, confused: Float64) -> Float64:
    """The classes of the items that a vote for v falls on. (k,)."""
    precision = 1 / (1 + np.exp(-np.clip(logit, -6, 7)))
    hit: Float64 = balance * confused[v] * rng.gamma(2, 1, len(balance))
    hit[v] = 0
    hit *= (1 - precision) / hit.sum()
    hit[v] = precision
    return hit


def _levels(
    rng: np.random.Generator, n: int, plan: _Plan, k: int, mild: bool, votes_per_item: float
) -> NDArray[np.float32]:
    """A uniform number for each item and LF, dependent by item, class and group of LFs. (n, m)."""
    m = len(plan.vote)
    kind = "crowded" if votes_per_item > 4 and rng.random() < 0.8 else "mild" if mild else "together"
    options = _REASONS[kind]
    reasons = np.sqrt(rng.dirichlet(options[int(rng.integers(len(options)))]))
    item, leaning, group, alone = reasons if rng.random() >= 0.07 else (0.0, 0.0, 0.0, 1.0)
    groups = round(log_uniform(rng, 1, max(1.01, m / 2)))
    member = rng.integers(0, groups, m)
    draw = np.float32
    level = draw(item) * rng.standard_normal((n, 1), draw) + draw(alone) * rng.standard_normal((n, m), draw)
    level += draw(leaning) * rng.standard_normal((n, k), draw)[:, plan.vote]
    level += draw(group) * rng.standard_normal((n, groups), draw)[:, member]
    return normal_cdf(level)


def _fire(levels: NDArray[np.float32], rates: Float64, truth: NDArray[np.int64]) -> NDArray[np.int8]:
    """An LF's level falls into the stretch of one vote, or past all of them: it abstains. (n, m)."""
    votes = np.full(levels.shape, -1, np.int8)
    for c in range(rates.shape[2]):
        rows = np.flatnonzero(truth == c)
        level, cast = levels[rows], votes[rows]
        end = np.zeros(rates.shape[0])
        for v in range(rates.shape[1]):
            lfs = np.flatnonzero(rates[:, v, c] > 0)
            begin = end[lfs]
            end[lfs] += rates[lfs, v, c]
            hit = (level[:, lfs] >= begin) & (level[:, lfs] < end[lfs])
            cast[:, lfs] = np.where(hit, np.int8(v), cast[:, lfs])
        votes[rows] = cast
    return votes


@dataclass(frozen=True)
class TopicsPrior(SetSizes):
    """Keyword LFs on hidden topics: LFs fire together because they look for the same things.

    Every item has a topic, every topic mostly one class; an LF fires on some topics and votes for one class.
    """

    def sample(self, rng: np.random.Generator) -> LabeledTask:
        """Draw one task."""
        balance = draw_balance(rng)
        k, (n, m) = len(balance), self.draw_size(rng)
        class_of = rng.choice(k, round(log_uniform(rng, 4 * k, 60 * k)), p=balance)
        class_of[:k] = np.arange(k)
        topic = rng.choice(len(class_of), n, p=_topic_shares(rng, class_of, balance))
        truth = _truth(rng, topic, class_of, balance)
        vote, rates = _keywords(rng, m, class_of, balance)
        together = np.float32(rng.uniform(0, 0.6) if rng.random() < 0.6 else 0)
        level = np.sqrt(together) * rng.standard_normal((n, 1), np.float32)
        level = level + np.sqrt(1 - together) * rng.standard_normal((n, m), np.float32)
        votes = np.where(normal_cdf(level) < rates.T[topic], vote, -1).astype(np.int8)
        return LabeledTask(votes, mislabel(rng, truth, k), k, "topics")


def _topic_shares(rng: np.random.Generator, class_of: NDArray[np.intp], balance: Float64) -> Float64:
    shares = np.exp(rng.normal(0, rng.uniform(0.3, 1.8), len(class_of)))
    shares *= (balance / np.bincount(class_of, weights=shares, minlength=len(balance)))[class_of]
    normalized: Float64 = shares / shares.sum()
    return normalized


def _truth(
    rng: np.random.Generator, topic: NDArray[np.intp], class_of: NDArray[np.intp], balance: Float64
) -> NDArray[np.int64]:
    """The topic's class for most of its items, any class for the others. (n,)."""
    k, mean, certainty = len(balance), rng.uniform(0.6, 0.98), log_uniform(rng, 2, 30)
    purity = rng.beta(mean * certainty, (1 - mean) * certainty, len(class_of))
    elsewhere = rng.choice(k, len(topic), p=rng.dirichlet(3 * balance * k + 0.1))
    return np.where(rng.random(len(topic)) < purity[topic], class_of[topic], elsewhere)


def _keywords(
    rng: np.random.Generator, m: int, class_of: NDArray[np.intp], balance: Float64
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Draw the vote of each LF (m,), and how likely it is to fire on each topic (m, topics).

    The more topics an LF covers, the fewer of them are of its own class.
    """
    k, topics = len(balance), len(class_of)
    vote = rng.choice(k, m, p=draw_votes_for(rng, balance))
    vote[: min(k, m)] = np.arange(min(k, m))
    typical = np.log(log_uniform(rng, 1, max(1.5, topics / 8)))
    sizes = np.clip(np.round(np.exp(rng.normal(typical, rng.uniform(0.2, 1.2), m))), 1, topics).astype(int)
    focus, background = rng.uniform(0.3, 1.0), log_uniform(rng, 0.0005, 0.03)
    rates = np.empty((m, topics), np.float32)
    for j, size in enumerate(sizes):
        own = rng.permutation(np.flatnonzero(class_of == vote[j]))
        other = rng.permutation(np.flatnonzero(class_of != vote[j]))
        right = rng.binomial(size, np.clip(0.5 + 0.5 * focus - 0.08 * np.log(size), 0.2, 0.99))
        right = min(len(own), max(1, right))
        picked = np.concatenate([own[:right], other[: size - right]])
        rates[j] = background * size / topics * 8 * np.exp(rng.normal(0, 0.6))
        rates[j, picked] = np.maximum(rates[j, picked], rng.beta(1, rng.uniform(0.5, 4), len(picked)))
    return vote, rates


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
