"""The paper's training prior: votes and labels uniform among all valid pairs.

Two savings over drawing until a pair is valid, both exact:

- *Flip.* A pair that fails only because most LFs are worse than random on a class becomes valid when all
  votes on that class's items are inverted (the paper's Lemma 1). Every valid pair is reached from exactly
  four pairs that way (itself and the inversions of either or both classes), so the result is still uniform
  among valid pairs; two draws in three are kept instead of one in six.
- *Average.* For this X, more label vectors are drawn uniformly and the valid ones averaged
  into the target. Cross-entropy is linear in its target, so the expected loss, and so its minimum
  h*(X), stays the same, while the noise of the gradient falls with the number of label vectors: about 14 for
  the default of 64 candidates, for one small matrix product. Candidates come in pairs, a vector and its inverse,
  which swaps the classes and negates the margins: the product is needed once, and as no two majorities are
  disjoint, at most one of the two is valid, so the valid ones are as independent as if drawn alone.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel.priors.task import Task
from hyperlabel.theory.validity import Assumption, is_valid, margins, quorum


@dataclass(frozen=True)
class UniformPrior:
    """Steps 1 to 3 of the paper's data generation."""

    items: tuple[int, int] = (100, 2000)  # smallest and largest n
    lfs: tuple[int, int] = (2, 60)  # smallest and largest m
    max_cells: int = 40_000  # n is cut so that n x m is at most this, to bound the cost of a step
    # Extra label vectors tried for each X, rounded up to an even number; their valid ones are averaged. 0 trains on one
    # drawn y, as the paper does.
    candidates: int = 64
    assumption: Assumption = "majority"  # which label vectors are valid

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw one task."""
        while True:
            pair = _draw_pair(rng, *draw_shape(rng, self.items, self.lfs, self.max_cells), self.assumption)
            if pair is not None:
                signs, labels = pair
                target = _mean_valid(rng, signs, labels, self.candidates, self.assumption)
                return Task(to_votes(signs), target)


def draw_shape(
    rng: np.random.Generator, items: tuple[int, int], lfs: tuple[int, int], max_cells: int, *, log_items: bool = False
) -> tuple[int, int]:
    """Numbers of items and LFs, each uniform in its range (on request items by their logarithm), cut to `max_cells`."""
    m = int(rng.integers(lfs[0], lfs[1], endpoint=True))
    if log_items:
        n = int(np.exp(rng.uniform(np.log(items[0]), np.log(items[1]))))
    else:
        n = int(rng.integers(items[0], items[1], endpoint=True))
    return max(items[0], min(n, max_cells // m)), m


def draw_pair(rng: np.random.Generator, n: int, m: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Signs of votes, (n, m), and labels, (n,), all uniform."""
    signs = rng.integers(-1, 2, (n, m), dtype=np.int8).astype(np.float32)
    return signs, rng.integers(0, 2, n, dtype=np.int8).astype(np.float32)


def draw_candidates(rng: np.random.Generator, n: int, candidates: int) -> NDArray[np.float32]:
    """Random label vectors in the columns, of each two inverses one. (n, half of the candidates, rounded up)."""
    pairs = -(-candidates // 2)
    bits = np.frombuffer(rng.bytes(n * -(-pairs // 8)), np.uint8).reshape(n, -1)
    return np.unpackbits(bits, axis=1, count=pairs).astype(np.float32)


def to_votes(signs: NDArray[np.float32]) -> NDArray[np.int8]:
    """Signs (0, -1, +1) as votes (-1, 0, 1): the inverse of `to_signs`."""
    small = signs.astype(np.int8)
    votes: NDArray[np.int8] = (3 * small * small + small) // 2 - 1
    return votes


def _draw_pair(
    rng: np.random.Generator, n: int, m: int, assumption: Assumption
) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
    """A uniform pair, inverted per class where that makes it valid; None if it stays invalid.

    The ablation's assumption (every LF better than random) is almost never met by chance, so there each LF
    is inverted by itself; the argument of the module docstring then holds LF by LF. A tied LF still makes
    the pair invalid, which is more likely with few items and many LFs: the kept shapes lean the other way.
    """
    signs, labels = draw_pair(rng, n, m)
    on_positives, on_negatives = margins(signs, labels[:, None])
    flips = [_flip(margin[0], assumption) for margin in (on_negatives, on_positives)]
    signs *= np.stack(flips)[labels.astype(np.intp)]  # (n, m)
    return (signs, labels) if is_valid(signs, labels[:, None], assumption)[0] else None


def _flip(margin: NDArray[np.float32], assumption: Assumption) -> NDArray[np.float32]:
    """The sign each LF's votes on one class are multiplied by. (m,) -> (m,)."""
    if assumption == "every":
        return np.where(margin < 0, np.float32(-1), np.float32(1))
    mostly_worse = 2 * (margin > 0).sum() < len(margin)
    return np.full(len(margin), -1 if mostly_worse else 1, np.float32)


def _mean_valid(
    rng: np.random.Generator,
    signs: NDArray[np.float32],
    labels: NDArray[np.float32],
    candidates: int,
    assumption: Assumption,
) -> NDArray[np.float32]:
    """The mean of `labels` and of the valid ones among random candidates. (n,)."""
    drawn = draw_candidates(rng, len(labels), candidates)
    valid, inverse = _valid_pairs(signs, drawn, assumption)
    positives = drawn @ (valid - inverse) + inverse.sum() + labels
    mean: NDArray[np.float32] = positives / (valid.sum() + inverse.sum() + 1)
    return mean


def _valid_pairs(
    signs: NDArray[np.float32], labels: NDArray[np.float32], assumption: Assumption
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """1 where a label vector is valid, and where its inverse is. (n, m), (n, b) -> (b,), (b,)."""
    needed = quorum(signs.shape[1], assumption)
    both = margins(signs, labels)
    return (
        np.all([np.count_nonzero(margin > 0, axis=1) >= needed for margin in both], axis=0).astype(np.float32),
        np.all([np.count_nonzero(margin < 0, axis=1) >= needed for margin in both], axis=0).astype(np.float32),
    )
