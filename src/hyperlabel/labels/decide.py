"""From probabilities to labels: the most probable class, ties, and labels for F1."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_choice, check_number
from hyperlabel.kernels import Float64, hash_rows, mix_bits, over_classes
from hyperlabel.patterns import Patterns
from hyperlabel.votes.classes import ABSTAIN

TieBreak = Literal["first", "abstain", "random"]

TIE = 1e-6  # probabilities closer than this are tied: the paper's network computes in float32
_FEW_CLASSES = 8
_F1_ROUNDS = 50  # far more than `find_f1_rule` ever takes
_LEAST_ITEMS = 1e-12  # avoids division by zero for a class that no item has


def check_tie_break(tie_break: str) -> None:
    """Refuse an unknown way to break ties."""
    check_choice(tie_break, "tie_break", get_args(TieBreak))


def decide(probabilities: Float64, patterns: Patterns, tie_break: TieBreak, seed: int) -> NDArray[np.intp]:
    """The most probable class of each pattern, -1 where no LF votes. (p, k) -> (p,).

    Where the best classes are tied, it is the `first` of them, none (`abstain`), or a `random` one that depends on the
    seed and the votes, not on the order of items.
    """
    check_tie_break(tie_break)
    check_number(seed, "seed", "a whole number", whole=True)
    tied = probabilities >= over_classes(np.maximum, probabilities)[:, None] - TIE
    best = _first(tied)
    if tie_break != "first":
        several = np.flatnonzero(tied.sum(1) > 1)
        best[several] = ABSTAIN if tie_break == "abstain" else _draw(tied, patterns, seed)[several]
    best[~patterns.has_votes] = ABSTAIN
    return best


def _first(tied: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The first tied class of each row: class by class if there are few, since argmax is slow on short rows."""
    n, k = tied.shape
    if k > _FEW_CLASSES:
        return np.asarray(tied.argmax(1), np.intp)
    first = np.zeros(n, np.intp)
    for c in range(k - 1, -1, -1):
        first[tied[:, c]] = c
    return first


def _draw(tied: NDArray[np.bool_], patterns: Patterns, seed: int) -> NDArray[np.intp]:
    """One of the tied classes, by a hash of the pattern's votes. (p, k) -> (p,)."""
    hashes = hash_rows(patterns.starts, patterns.lf, patterns.vote, patterns.n_classes, int(seed))
    chosen = mix_bits(hashes) % tied.sum(1).astype(np.uint64)
    drawn: NDArray[np.intp] = (tied.cumsum(1) > chosen[:, None]).argmax(1)
    return drawn


@dataclass(frozen=True)
class F1Rule:
    """What labels for F1 need to know about a set: found once, it then labels any item by itself.

    With two classes F1 is that of the second class. With more it is macro F1, the mean of the F1 of every class.
    """

    f1: Float64  # (c,) the expected F1 of each class that counts: the second of two, or all
    items: Float64  # (c,) items labeled so plus items expected to be so: the denominator of its F1

    def gains(self, probabilities: Float64) -> Float64:
        """How much labeling an item with a class raises the F1 of the class. (p, k) -> (p, c).

        An item labeled c adds 2 q to the numerator of the F1 of c and 1 to its denominator.
        """
        gains: Float64 = probabilities[:, -len(self.f1) :] * (2 / self.items)
        gains -= self.f1 / self.items
        return gains

    def decide(self, probabilities: Float64) -> NDArray[np.intp]:
        """The class of each row's label. (p, k) -> (p,).

        With two classes an item gets the second if that raises F1; with more it gets the class that raises F1 most.
        """
        gains = self.gains(probabilities)
        return np.asarray(gains[:, 0] >= 0 if probabilities.shape[1] == 2 else gains.argmax(1), np.intp)

    def sums(self, probabilities: Float64, items: NDArray[np.integer]) -> tuple[Float64, Float64, Float64]:
        """Items labeled with each class, expected hits among them, and expected items: adds up over chunks. (c,).

        From (p, k) probabilities of rows, and (p,) how many items that get a label have each row.
        """
        k, best, weight = probabilities.shape[1], self.decide(probabilities), items.astype(np.float64)
        hits = weight * probabilities[np.arange(len(best)), best]
        called, right = (np.asarray(np.bincount(best, each, k), np.float64) for each in (weight, hits))
        first = k - len(self.f1)  # the first class that counts
        return called[first:], right[first:], (weight @ probabilities)[first:]


def find_f1_rule(sums: Callable[[F1Rule], tuple[Float64, ...]], n_classes: int) -> F1Rule:
    """The rule whose labels have the best expected F1, from the sums (`F1Rule.sums`) of all items under a rule.

    If the probabilities are right, a set S of items labeled c has F1 of about 2 sum_S q / (|S| + sum q). Dinkelbach's
    algorithm finds the best S: label what raises the current F1, compute the new F1, and repeat while it grows. For one
    ratio, two classes, that is the optimum (W. Dinkelbach, "On nonlinear fractional programming", 1967); for the mean
    of several it starts at the most probable classes and ends at a rule that is no worse.
    """
    counting = 1 if n_classes == 2 else n_classes
    rule = best = F1Rule(np.zeros(counting), np.ones(counting))
    highest = -1.0
    for _ in range(_F1_ROUNDS):
        called, hits, expected = sums(rule)
        items = np.maximum(called + expected, _LEAST_ITEMS)
        f1 = 2 * hits / items
        if f1.mean() <= highest:
            break
        best, highest, rule = rule, float(f1.mean()), F1Rule(f1, items)
    return best
