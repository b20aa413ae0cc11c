"""The paper's training prior as the authors' code draws it, which differs from the paper's text.

A class's votes are inverted if at least half of the LFs are worse than random on it; ties are not worse, and nothing
is checked again. So with an even number of LFs pairs remain in which only half of the LFs are better than random. All
matrices of a batch have one shape.

The target is averaged as in `UniformPrior`: a label vector counts by how many of the four pairs (itself, either class
inverted, both) the rule turns into it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel.kernels import Float32
from hyperlabel.priors.task import Task
from hyperlabel.priors.uniform import draw_candidates, draw_pair, draw_shape, to_votes
from hyperlabel.theory.validity import margins


@dataclass(frozen=True)
class ReleasedPrior:
    """The data generation of the authors' code."""

    items: tuple[int, int] = (100, 2000)  # smallest and largest n
    lfs: tuple[int, int] = (2, 60)  # smallest and largest m
    max_cells: int = 100_000  # n is cut so that n x m is at most this
    candidates: int = 64  # extra label vectors tried for each X, rounded up to an even number
    log_items: bool = False  # whether the logarithm of n is uniform instead of n itself

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw one task."""
        return self.sample_batch(rng, 1)[0]

    def sample_batch(self, rng: np.random.Generator, size: int) -> list[Task]:
        """Draw tasks of one shape."""
        n, m = draw_shape(rng, self.items, self.lfs, self.max_cells, log_items=self.log_items)
        return [self._draw(rng, n, m) for _ in range(size)]

    def _draw(self, rng: np.random.Generator, n: int, m: int) -> Task:
        signs, labels = draw_pair(rng, n, m)
        on_positives, on_negatives = margins(signs, labels[:, None])
        flips = [-1 if 2 * np.count_nonzero(margin < 0) >= m else 1 for margin in (on_negatives, on_positives)]
        signs *= np.array(flips, np.float32)[labels.astype(np.intp), None]
        return Task(to_votes(signs), self._mean_target(rng, signs, labels))

    def _mean_target(self, rng: np.random.Generator, signs: Float32, labels: Float32) -> Float32:
        """The mean of `labels` and of random candidates, each by its weight. (n,)."""
        [own] = _weights(*margins(signs, labels[:, None]))
        drawn = draw_candidates(rng, len(labels), self.candidates)
        on_positives, on_negatives = margins(signs, drawn)
        weights, inverse = _weights(on_positives, on_negatives), _weights(-on_positives, -on_negatives)
        positives = drawn @ (weights - inverse) + inverse.sum() + own * labels
        mean: Float32 = positives / (weights.sum() + inverse.sum() + own)
        return mean


def _weights(on_positives: NDArray[np.floating], on_negatives: NDArray[np.floating]) -> Float32:
    """How many pairs the rule turns into one with these margins. (b, m), (b, m) -> (b,)."""
    half = on_positives.shape[1] / 2
    weights = np.ones(len(on_positives), np.float32)
    for margin in (on_positives, on_negatives):
        stays = np.count_nonzero(margin < 0, axis=1) < half
        comes = np.count_nonzero(margin > 0, axis=1) >= half
        weights *= stays.astype(np.float32) + comes.astype(np.float32)
    return weights
