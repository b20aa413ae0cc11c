"""What the generators of labeled tasks share: class balances, wide ranges, wrong truth."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float64


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
    """Which classes LFs are written for: any power of the class balance, even a negative one. (k,)."""
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
