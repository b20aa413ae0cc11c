"""Priors of the paper's network: generators of binary votes with a target for each item. No real data is used.

`UniformPrior` is the paper's, `ReleasedPrior` is that of its authors' code; the others, whose LFs are independent given
the class, are for validation.

An LF is better than random on a class when, among the items of that class, it votes for the class more often than for
the other one. A label vector is *valid* for X when, for each of the two classes, enough LFs are better than random
(Eq. 1 and 2 of the paper). Here votes are signs: +1 (class 1), -1 (class 0) or 0 (abstain).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float32, check_choice
from hyperlabel.errors import ParameterError

Signs = NDArray[np.floating]

Sigma = Callable[[NDArray[np.floating], NDArray[np.floating], NDArray[np.floating]], NDArray[np.bool_]]
"""An assumption of your own: from the signs of votes (n, m) and the margins of each LF on class 1 and on class 0,
(b, m) each, to whether each of b label vectors is valid, (b,). A margin is right minus wrong votes on a class."""

Quorum = Literal["majority", "every"]
Assumption = Quorum | Sigma
"""The LFs that must be better than random on each class: more than half (the paper) or all (its ablation), by name; or
any rule (the paper's sigma), as a function."""


def to_signs(votes: NDArray[np.integer]) -> NDArray[np.float32]:
    """Return binary votes (-1 abstain, 0, 1) as signs (0, -1, +1), float32 so that sums are matrix products."""
    votes = np.asarray(votes)
    return np.where(votes >= 0, 2 * votes.astype(np.float32) - 1, np.float32(0))


def margins(signs: Signs, labels: NDArray[np.floating]) -> tuple[Signs, Signs]:
    """Right minus wrong votes of each LF on each class.

    (n, m) signs, (n, b) labels 0/1 -> two (b, m), class 1 and class 0.

    Sums of at most 2^24 signs are exact in float32.
    """
    on_positives = labels.T @ signs
    return on_positives, on_positives - signs.sum(0)


def quorum(m: int, assumption: Quorum) -> int:
    """The least number of m LFs that must be better than random on each class.

    >>> quorum(4, "majority"), quorum(4, "every")
    (3, 4)
    """
    check_choice(assumption, "assumption", get_args(Quorum))
    return m // 2 + 1 if assumption == "majority" else m


def is_valid(signs: Signs, labels: NDArray[np.floating], assumption: Assumption = "majority") -> NDArray[np.bool_]:
    """Return sigma(X, y) for many label vectors at once: (n, m) signs, (n, b) label vectors 0/1 -> (b,).

    >>> X = to_signs(np.array([[1, 1, 1], [0, 0, -1]]))
    >>> is_valid(X, np.array([[1.0, 0.0], [0.0, 1.0]]))
    array([ True, False])
    """
    return _judge(signs, *margins(signs, labels), assumption)


def _judge(signs: Signs, on_positives: Signs, on_negatives: Signs, assumption: Assumption) -> NDArray[np.bool_]:
    """Return which label vectors are valid, by their margins. (n, m), (b, m), (b, m) -> (b,)."""
    if callable(assumption):
        return np.asarray(assumption(signs, on_positives, on_negatives), np.bool_)
    needed = quorum(signs.shape[1], assumption)
    valid: NDArray[np.bool_] = np.all(
        [np.count_nonzero(margin > 0, axis=1) >= needed for margin in (on_positives, on_negatives)], axis=0
    )
    return valid


def better_where_voting(signs: Signs, on_positives: Signs, on_negatives: Signs) -> NDArray[np.bool_]:
    """Assume that an LF is better than random on the classes that it votes for; on the others nothing is asked of it.

    More than half of the LFs that ever vote for a class must be better than random on it. So label vectors are valid
    where each LF votes for one class only, as rules do: under the paper's own assumption there are none.

    >>> one_sided = to_signs(np.array([[1, -1], [-1, 0]]))
    >>> labels = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> is_valid(one_sided, labels, better_where_voting), is_valid(one_sided, labels)
    (array([ True, False]), array([False, False]))
    """
    valid = np.ones(len(on_positives), np.bool_)
    for margin, votes_for in ((on_positives, (signs > 0).any(0)), (on_negatives, (signs < 0).any(0))):
        valid &= 2 * np.count_nonzero(margin[:, votes_for] > 0, axis=1) > np.count_nonzero(votes_for)
    return valid


@dataclass(frozen=True)
class Task:
    """Binary votes with a target for each item: what the paper's network learns from."""

    votes: NDArray[np.int8]  # (n, m) int8; -1 abstains, 0 and 1 are the classes
    target: NDArray[np.float32]  # (n,) float32; the probability that the item is of class 1; a drawn truth is 0 or 1


class Prior(Protocol):
    """A distribution over binary tasks."""

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw one task."""
        ...


@dataclass(frozen=True)
class UniformPrior:
    """Steps 1 to 3 of the paper's data generation: votes and labels uniform among all valid pairs.

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

    items: tuple[int, int] = (100, 2000)  # smallest and largest n
    lfs: tuple[int, int] = (2, 60)  # smallest and largest m
    max_cells: int = 40_000  # n is cut so that n x m is at most this, to bound the cost of a step
    # Extra label vectors tried for each X, rounded up to an even number; their valid ones are averaged. 0 trains on one
    # drawn y, as the paper does.
    candidates: int = 64
    assumption: Assumption = "majority"  # which label vectors are valid
    # Chance of an LF to vote for one class only, with an assumption of your own: under the named ones no label vector
    # is valid if most LFs do.
    one_sided: float = 0.0

    def __post_init__(self) -> None:
        if self.one_sided and not callable(self.assumption):
            raise ParameterError(
                f"one_sided is {self.one_sided}, which needs an assumption of your own; under {self.assumption!r} no "
                "label vector is valid where most LFs vote for one class only"
            )

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw one task."""
        for _ in range(MOST_DRAWS):
            shape = draw_shape(rng, self.items, self.lfs, self.max_cells)
            pair = _draw_valid_pair(rng, *shape, self.assumption, self.one_sided)
            if pair is not None:
                signs, labels = pair
                target = _mean_valid(rng, signs, labels, self.candidates, self.assumption)
                return Task(to_votes(signs), target)
        raise ParameterError(
            f"assumption calls none of {MOST_DRAWS:,} random pairs of votes and labels valid; expected a rule that "
            "random pairs meet now and then"
        )


MOST_DRAWS = 100_000  # pairs that are tried before an assumption counts as impossible


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


def _draw_valid_pair(
    rng: np.random.Generator, n: int, m: int, assumption: Assumption, one_sided: float = 0.0
) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
    """A uniform pair, inverted per class where that makes it valid; None if it stays invalid.

    The ablation's assumption (every LF better than random) is almost never met by chance, so there each LF
    is inverted by itself; the argument of `UniformPrior` then holds LF by LF. A tied LF still makes
    the pair invalid, which is more likely with few items and many LFs: the kept shapes lean the other way.
    """
    signs, labels = draw_pair(rng, n, m)
    if one_sided:
        withheld = np.where(rng.random(m) < one_sided, rng.choice([-1, 1], m), 0)  # the sign that an LF never has
        signs[signs == withheld] = 0
    on_positives, on_negatives = margins(signs, labels[:, None])
    flips = [_flip(margin[0], assumption) for margin in (on_negatives, on_positives)]
    signs *= np.stack(flips)[labels.astype(np.intp)]  # (n, m)
    return (signs, labels) if is_valid(signs, labels[:, None], assumption)[0] else None


def _flip(margin: NDArray[np.float32], assumption: Assumption) -> NDArray[np.float32]:
    """The sign each LF's votes on one class are multiplied by. (m,) -> (m,)."""
    if callable(assumption):
        return np.ones(len(margin), np.float32)  # which inversions keep valid pairs uniform is not known: none is made
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
    """Return 1 where a label vector is valid, and where its inverse is. (n, m), (n, b) -> (b,), (b,)."""
    on_positives, on_negatives = margins(signs, labels)
    return (
        _judge(signs, on_positives, on_negatives, assumption).astype(np.float32),
        _judge(signs, -on_negatives, -on_positives, assumption).astype(np.float32),
    )


@dataclass(frozen=True)
class ReleasedPrior:
    """The data generation of the authors' code, which differs from the paper's text.

    A class's votes are inverted if at least half of the LFs are worse than random on it; ties are not worse, and
    nothing is checked again. So with an even number of LFs pairs remain in which only half of the LFs are better than
    random. All matrices of a batch have one shape.

    The target is averaged as in `UniformPrior`: a label vector counts by how many of the four pairs (itself, either
    class inverted, both) the rule turns into it.
    """

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
    """Count the pairs that the rule turns into one with these margins. (b, m), (b, m) -> (b,)."""
    half = on_positives.shape[1] / 2
    weights = np.ones(len(on_positives), np.float32)
    for margin in (on_positives, on_negatives):
        stays = np.count_nonzero(margin < 0, axis=1) < half
        comes = np.count_nonzero(margin > 0, axis=1) >= half
        weights *= stays.astype(np.float32) + comes.astype(np.float32)
    return weights


@dataclass(frozen=True)
class IndependentPrior:
    """LFs that are independent given the class, each with its own rates of voting and of being right on each class.

    The class balance is random; some LFs are dropped, so that small sets are more frequent than large ones.
    """

    items: tuple[int, int] = (100, 2000)  # smallest and largest n, before items without a vote are dropped
    lfs: tuple[int, int] = (2, 60)  # smallest and largest m, before LFs are dropped
    balance: tuple[float, float] = (0.1, 0.9)  # range of the share of class 1
    coverage: tuple[float, float] = (0.01, 0.5)  # range of an LF's rate of voting on a class
    accuracy: tuple[float, float] = (0.4, 0.95)  # range of an LF's rate of being right on a class, where it votes
    dropped: tuple[float, float] = (0.0, 0.5)  # range of the share of LFs that are dropped; at least two stay

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw one task."""
        m = int(rng.integers(self.lfs[0], self.lfs[1], endpoint=True))
        m = max(2, round(m * (1 - rng.uniform(*self.dropped))))
        n = int(rng.integers(self.items[0], self.items[1], endpoint=True))
        truth = (rng.random(n) < rng.uniform(*self.balance)).astype(np.int8)
        coverage, accuracy = rng.uniform(*self.coverage, (2, m)), rng.uniform(*self.accuracy, (2, m))
        fires = rng.random((n, m)) < coverage[truth]
        right = rng.random((n, m)) < accuracy[truth]
        votes = np.where(fires, np.where(right, truth[:, None], 1 - truth[:, None]), -1).astype(np.int8)
        voted = fires.any(axis=1)
        return Task(votes[voted], truth[voted].astype(np.float32))


@dataclass(frozen=True)
class PaperValidationPrior:
    """The validation sets D' of the paper, as its authors make them: large, dense, LFs better than random.

    The share of class 1 is uniform in 0 to 1, and so is the coverage of each LF on each class. Where it votes, an
    LF is right at the rate 0.5 + u r: u is uniform in 0 to 1 per LF and class, r uniform in 0 to 0.5 per class.
    """

    items: int = 10_000  # number of items, before those without a vote are dropped
    lfs: int = 50  # number of LFs, before some are dropped
    most_dropped: float = 0.8  # the largest share of LFs that are dropped

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw one task."""
        m = self.lfs - int(rng.integers(0, round(self.lfs * self.most_dropped), endpoint=True))
        truth = (rng.random(self.items) < rng.random()).astype(np.int8)
        coverage = rng.random((2, m), np.float32)
        accuracy = (0.5 + rng.random((2, m)) * rng.uniform(0, 0.5, (2, 1))).astype(np.float32)
        fires = rng.random((self.items, m), np.float32) < coverage[truth]
        right = rng.random((self.items, m), np.float32) < accuracy[truth]
        votes = np.where(fires, right == truth[:, None], -1).astype(np.int8)
        voted = fires.any(axis=1)
        return Task(votes[voted], truth[voted].astype(np.float32))


PRIORS: dict[str, type[Prior]] = {
    "uniform": UniformPrior,
    "released": ReleasedPrior,
    "independent": IndependentPrior,
    "wrench": PaperValidationPrior,
}
"""Priors that the paper's network can train on, by name."""
