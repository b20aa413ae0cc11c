"""The optimum h*(X) at any size, by a Gaussian in as many dimensions as there are LFs.

Whether a label vector y (here -1 or +1) is valid depends on it only through B = X'y: with A = X'1, LF j is better
than random on class 1 iff B_j > -A_j and on class 0 iff B_j > A_j. For uniform y, B is nearly Gaussian with
covariance X'X, and E[y | B] = X (X'X)^-1 B, so

    h*(X) = X (X'X)^-1 E[B | valid],

a mean over m dimensions instead of a sum over 2^n label vectors. B_j lies on a lattice of spacing 2 that holds
A_j, so the Gaussian is compared with the middle between two points, A_j + 1. LFs that repeat each other make X'X
singular: B = F z with standard normal z in the space that X'X spans, and nothing else changes.

Where valid label vectors are frequent, plain draws suffice. Where they are rare, z is drawn from a Gaussian so wide
that they are not, and cooled: draws are weighted by how much more likely a narrower Gaussian makes them, drawn again by
weight, and moved within the valid region by elliptical slice sampling, until the Gaussian is the standard one. The
product of the mean weights is the share of valid label vectors, however small. Where width alone does not help
(every LF must be better than random), splitting comes first: the draws nearest to validity are kept and moved.

The Gaussian does not know that |y| is at most 1. Where valid label vectors are so far out that an item's mean
exceeds 1, it overstates their share, and may find some where there are none: `Approximation.largest` shows this.
"""

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import ArrayLike

from experiments.exact_optimum import check_binary
from hyperlabel._core import Float64, check_number
from hyperlabel.training import Quorum, quorum, to_signs

KEPT = 0.05  # share of the draws kept at each splitting
MOVES = 4  # moves of each draw after a splitting
SWEEPS = 20  # moves averaged at the end
ENOUGH = 500  # valid plain draws that make splitting unnecessary


@dataclass(frozen=True)
class Approximation:
    """The mean of all valid label vectors, approximately."""

    # (n,) the share of valid label vectors in which the item is of class 1; NaN everywhere when no label vector is
    # valid: the optimum is undefined then.
    probabilities: Float64
    log_share: float  # natural logarithm of the share of label vectors that are valid; -inf when none is
    largest: float  # the largest |E[y_i]| before it is cut to 1; above 1 the Gaussian is a poor approximation


def approximate_optimum(
    votes: ArrayLike, assumption: Quorum = "majority", *, draws: int = 20_000, seed: int = 0
) -> Approximation:
    """h*(X) and the share of valid label vectors, for any number of items.

    Takes milliseconds if at least one label vector in a hundred is valid, seconds if hardly any is.

    Args:
        votes: (n, m) integers; -1 abstains, 0 and 1 are the classes.
        assumption: How many LFs must be better than random on each class.
        draws: Gaussian draws; the error falls with the square root of their number.
        seed: The seed of the draws.

    Raises:
        VotesError: `votes` are not binary votes.
        ParameterError: The assumption is unknown, or `draws` is too small.

    >>> votes = np.random.default_rng(0).integers(-1, 2, (500, 10))
    >>> found = approximate_optimum(votes)
    >>> found.probabilities.shape, -2.2 < found.log_share < -1.4
    ((500,), True)
    """
    check_number(draws, "draws", "at least 1000", least=1000, whole=True)
    signs = to_signs(check_binary(votes)).astype(np.float64)
    n, m = signs.shape
    region = _Region.of(signs, quorum(m, assumption))
    if not region.is_possible():
        return _undefined(n)
    rng = np.random.default_rng(seed)
    mean, log_share = _mean_valid(rng, region, draws, least=-n * log(2))
    if mean is None:
        return _undefined(n)
    tilt = signs @ np.linalg.pinv(region.factor.T) @ mean
    return Approximation((1 + np.clip(tilt, -1, 1)) / 2, log_share, float(np.abs(tilt).max()))


def _undefined(n: int) -> Approximation:
    return Approximation(np.full(n, np.nan), float("-inf"), float("nan"))


@dataclass(frozen=True)
class _Region:
    """The valid z: those where enough LFs are better than random on both classes."""

    factor: Float64  # (m, r) B = factor @ z
    least: Float64  # (2, m) what B_j must exceed, for class 1 and class 0; inf where the LF never votes for the class
    scale: Float64  # (m,) standard deviation of B_j
    needed: int  # how many LFs must be better than random on each class

    @classmethod
    def of(cls, signs: Float64, needed: int) -> "_Region":
        values, vectors = np.linalg.eigh(signs.T @ signs)
        kept = values > 1e-9 * max(1.0, values[-1])
        sums, count = signs.sum(0), np.abs(signs).sum(0)
        at_least = np.stack([-sums, sums])
        least = np.where(at_least == count, np.inf, at_least + 1)  # B_j is at most the number of votes
        return cls(vectors[:, kept] * np.sqrt(values[kept]), least, np.sqrt(np.maximum(count, 1)), needed)

    def is_possible(self) -> bool:
        """Whether enough LFs vote for each class at all."""
        return bool((np.isfinite(self.least).sum(1) >= self.needed).all())

    def widest(self) -> float:
        """A width of z at which the bounds hardly matter anymore, only the signs of B."""
        bounds = np.abs(self.least[np.isfinite(self.least)])
        return 10 * float(bounds.max())

    def level(self, z: Float64) -> Float64:
        """How far each z is inside the region, in standard deviations of the LF that decides. (b, r) -> (b,)."""
        sums = z @ self.factor.T
        place = len(self.scale) - self.needed
        margins = [np.partition((sums - least) / self.scale, place, axis=1)[:, place] for least in self.least]
        return np.minimum(*margins)


def _mean_valid(rng: np.random.Generator, region: _Region, draws: int, least: float) -> tuple[Float64 | None, float]:
    """E[z | valid] and the logarithm of the share of valid z; None if that is below `least`: there are none."""
    z = rng.standard_normal((draws, region.factor.shape[1]))
    levels, width = region.level(z), 1.0
    if (levels > 0).sum() >= ENOUGH:
        return z[levels > 0].mean(0), log((levels > 0).mean())
    while (levels > 0).sum() < ENOUGH and width < region.widest():
        z, width = 2 * z, 2 * width
        levels = region.level(z)
    found = _split(rng, region, z, levels, width)
    if found is None:
        return None, float("-inf")
    z, log_share = _cool(rng, region, *found, width)
    return (_average(rng, region, z), log_share) if log_share >= least else (None, float("-inf"))


def _split(
    rng: np.random.Generator, region: _Region, z: Float64, levels: Float64, width: float
) -> tuple[Float64, float] | None:
    """Valid z from a Gaussian of this width, and the logarithm of their share; None where there are none."""
    log_share, level, size = 0.0, -np.inf, len(z) // 8
    while level < 0:
        level = min(0.0, float(np.quantile(levels, 1 - KEPT)))
        kept = np.flatnonzero(levels > level)
        if len(kept) == 0:
            return None
        log_share += log(len(kept) / len(levels))
        z = z[rng.choice(kept, size)]
        for _ in range(MOVES):
            z, levels = _move(rng, region, z, level, width)
    return z, log_share


def _cool(
    rng: np.random.Generator, region: _Region, z: Float64, log_share: float, width: float
) -> tuple[Float64, float]:
    """From valid z of a wide Gaussian to valid z of the standard one, and the logarithm of their share.

    Each step goes as far as half of the draws stay effective: a draw weighs by how much more likely it becomes.
    """
    while width > 1:
        energy = (z**2).sum(1) / 2
        narrower = _next_width(energy, width)
        weight, log_mean = _reweigh(energy, width, narrower)
        log_share += log_mean + z.shape[1] * log(width / narrower)
        z, width = z[rng.choice(len(z), len(z), p=weight)], narrower
        for _ in range(MOVES):
            z, _ = _move(rng, region, z, 0.0, width)
    return z, log_share


def _reweigh(energy: Float64, width: float, narrower: float) -> tuple[Float64, float]:
    """Normalized weights of draws that become narrower, and the logarithm of the mean weight."""
    exponent = -energy * (narrower**-2 - width**-2)
    weight = np.exp(exponent - exponent.max())
    return weight / weight.sum(), log(weight.mean()) + float(exponent.max())


def _next_width(energy: Float64, width: float) -> float:
    """The narrowest width, down to 1, at which half of the draws are effective."""

    def is_effective(narrower: float) -> bool:
        weight, _ = _reweigh(energy, width, narrower)
        return float(1 / (weight**2).sum()) >= len(energy) / 2

    if is_effective(1.0):
        return 1.0
    low, high = 1.0, width
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if is_effective(middle) else (middle, high)
    return high


def _average(rng: np.random.Generator, region: _Region, z: Float64) -> Float64:
    """The mean of valid draws over further moves. (b, r) -> (r,)."""
    mean = np.zeros(z.shape[1])
    for _ in range(SWEEPS):
        z, _ = _move(rng, region, z, 0.0, 1.0)
        mean += z.mean(0) / SWEEPS
    return mean


def _move(rng: np.random.Generator, region: _Region, z: Float64, level: float, width: float) -> tuple[Float64, Float64]:
    """One step of elliptical slice sampling for each z, which stays above the level. -> (b, r), their levels (b,)."""
    other, angle = width * rng.standard_normal(z.shape), rng.uniform(0, 2 * np.pi, len(z))
    low, high = angle - 2 * np.pi, angle.copy()
    moved, levels, left = z.copy(), np.empty(len(z)), np.arange(len(z))
    while len(left):
        turned = z[left] * np.cos(angle[left])[:, None] + other[left] * np.sin(angle[left])[:, None]
        found = region.level(turned)
        inside = found > level
        moved[left[inside]], levels[left[inside]] = turned[inside], found[inside]
        left = left[~inside]
        is_low = angle[left] < 0
        low[left] = np.where(is_low, angle[left], low[left])
        high[left] = np.where(is_low, high[left], angle[left])
        angle[left] = rng.uniform(low[left], high[left])
    return moved, levels
