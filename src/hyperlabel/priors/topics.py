"""Keyword LFs on hidden topics: LFs fire together because they look for the same things."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64
from hyperlabel.priors.draws import SetSizes, draw_balance, draw_votes_for, log_uniform, mislabel, normal_cdf
from hyperlabel.priors.task import LabeledTask


@dataclass(frozen=True)
class TopicsPrior(SetSizes):
    """Every item has a topic, every topic mostly one class; an LF fires on some topics and votes for one class."""

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
    """What each LF votes for (m,), and how likely it is to fire on each topic (m, topics).

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
