"""The second reading of hlm3: an EM that runs to its end, and confusions on gold alone.

Each LF's confusions are shrunk to what its accuracy says, and LFs that repeat each other share their weight. It is
close to the optimum where judges err independently. After every third step it jumps ahead by squared extrapolation
(Varadhan and Roland, 2008), so that it takes about ten passes over a set instead of fifty.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64
from hyperlabel.networks._base import Gold, Sums, add_sums
from hyperlabel.networks._pairs import PRIOR_LEVEL
from hyperlabel.networks._votes import Evidence, VoteTable, sum_beliefs

SHRINK = 20.0  # imagined items of each class that draw an LF's confusions to its accuracy
LEVEL_ITEMS = 3.0  # imagined items of an LF's accuracy, of the prior level
BALANCE_ITEMS = 10.0  # imagined items of each class
MOST_STEPS = 30
MOST_AHEAD = 12.0  # how far a squared extrapolation jumps
TOLERANCE = 2e-4  # the EM stops when counts change by less than this share of the votes

GOLD_SHRINK, GOLD_ITEMS, GOLD_BALANCE = 8.0, 4.0, 5.0  # the same imagined items for confusions on gold
LEAST_LEFT = 0.05  # gold items left in a cell of confusions once one is taken out
FIT_ITEMS = 5.0  # imagined gold items that are predicted perfectly
LEAST_LOG = -4.0  # log-likelihoods of gold items count as at least this


class Confusions(NamedTuple):
    """Chances of votes by the class of the item."""

    chance: Float64  # (m, k votes, k classes)
    accuracy: Float64  # (m,) of the LFs


def find_confusions(counts: Float64, k: int, shrink: float, items: float) -> Confusions:
    """Return confusions of LFs from (m * k, k) believed items of each class with each vote, shrunk to accuracies.

    What an LF gets wrong is expected to go to the classes that it votes for.

    Args:
        counts: The counts.
        k: Number of classes.
        shrink: Imagined items of each class.
        items: Imagined items of an LF's accuracy.
    """
    by_lf = counts.reshape(-1, k, k)
    of_class = by_lf.sum(1)  # (m, k)
    n = of_class.sum(1)
    right = by_lf.trace(axis1=1, axis2=2) + items * accuracy_of(PRIOR_LEVEL, k)
    accuracy = right / (n + items)
    share = (by_lf.sum(2) + 1) / (n[:, None] + k)
    chance = (1 - accuracy)[:, None, None] * (share[:, :, None] / (1 - share[:, None, :]))
    chance.reshape(len(n), -1)[:, :: k + 1] = accuracy[:, None]
    chance *= shrink
    chance += by_lf
    chance /= (of_class + shrink)[:, None]
    return Confusions(chance, accuracy)


def accuracy_of(level: float, k: int) -> float:
    """Return the accuracy of a level, from chance, 0, to perfect, 1."""
    return 1 / k + (1 - 1 / k) * level


def level_of(accuracy: Float64, k: int) -> Float64:
    """Invert `accuracy_of`."""
    return (accuracy - 1 / k) / (1 - 1 / k)


class EM(NamedTuple):
    """An EM between two steps."""

    weight: Float64  # (m,) what a vote of each LF counts
    table: Float64  # (m * k, k) evidence of votes: log-likelihoods times the weight
    bias: Float64  # (k,) log shares of the classes
    steps: int = 0
    counts: Float64 | None = None  # (m * k, k) believed items of each class with each vote, of the step before
    jumped: bool = False  # whether table and bias are a jump ahead, not the result of a step
    past: tuple[Float64, ...] = ()  # table and bias of the steps since the last jump
    confusions: Confusions | None = None  # of the step before
    is_done: bool = False

    @classmethod
    def start(cls, level: Float64, weight: Float64, k: int) -> "EM":
        """Begin with the evidence of votes by the levels of LFs alone. (m,), (m,)."""
        level = np.clip(level, -0.9 / (k - 1), 0.95)
        worth = weight * np.log((1 + (k - 1) * level) / (1 - level))
        return cls(weight, (worth[:, None, None] * np.eye(k)).reshape(-1, k), np.zeros(k))

    @property
    def evidence(self) -> Evidence:
        """The evidence, as rows are judged by it."""
        return Evidence(self.table, self.bias, 1.0, 0.0, 1.0, np.ones(len(self.bias)))

    def sums(self, votes: VoteTable) -> Sums:
        """Return what a step needs from rows: believed classes of the items with each vote, and of all."""
        return sum_beliefs(votes, self.evidence.beliefs(votes, np.float64))

    def step(self, sums: Sums, gold: Gold | None) -> "EM":
        """Return the EM after a step, from sums in which gold items count as believed."""
        k = len(self.bias)
        counts, totals = sums if gold is None else add_sums(sums, self._missing_gold(gold))
        confusions = find_confusions(counts, k, SHRINK, LEVEL_ITEMS)
        table = (self.weight[:, None, None] * np.log(confusions.chance)).reshape(-1, k)
        bias = np.log((totals + BALANCE_ITEMS) / (totals.sum() + k * BALANCE_ITEMS))
        new = self._replace(table=table, bias=bias, steps=self.steps + 1, counts=counts, confusions=confusions)
        change = math.inf if self.counts is None or self.jumped else float(np.abs(counts - self.counts).sum())
        if change < TOLERANCE * counts.sum() or new.steps == MOST_STEPS:
            return new._replace(is_done=True)
        past = (*self.past, np.concatenate([table.reshape(-1), bias]))
        if len(past) < 3 or new.steps == MOST_STEPS - 1:
            return new._replace(past=past, jumped=False)
        return new._jump(past)

    def _jump(self, past: tuple[Float64, ...]) -> "EM":
        """Return the EM ahead of its last three steps, by squared extrapolation."""
        first, second = past[1] - past[0], past[2] - past[1]
        bend = second - first
        ahead = min(math.sqrt(float(first @ first) / max(float(bend @ bend), 1e-12)), MOST_AHEAD)
        if ahead <= 1:
            return self._replace(past=(), jumped=False)
        k, jumped = len(self.bias), past[0] + 2 * ahead * first + ahead**2 * bend
        table = np.minimum(jumped[:-k], 0).reshape(-1, k)
        return self._replace(table=table, bias=jumped[-k:], past=(), jumped=True)

    def _missing_gold(self, gold: Gold) -> Sums:
        """Return what the sums gain if what is known about gold items replaces what is believed about them."""
        votes = VoteTable.from_patterns(gold.patterns)
        missing = gold.counts - gold.counts.sum(1, keepdims=True) * self.evidence.beliefs(votes, np.float64)
        return votes.layout.sum_by_node(missing), missing.sum(0)


class GoldReading(NamedTuple):
    """What gold alone says."""

    table: Float64  # (m * k, k) evidence of votes
    bias: Float64  # (k,)
    counts: Float64  # (m * k, k) gold items of each class with each vote
    fit: float  # mean log-likelihood of each gold item by the others, with imagined ones at 0


def read_gold(gold: Gold, balance: Float64) -> GoldReading:
    """Return the confusions of LFs on gold items, shrunk to their accuracy there, from (k,) expected class shares.

    How well each gold item is predicted from the others is known at once: its own votes are taken out of the counts of
    its class.
    """
    votes, k = VoteTable.from_patterns(gold.patterns), len(balance)
    counts = votes.layout.sum_by_node(gold.counts.astype(np.float64))
    chance = find_confusions(counts, k, GOLD_SHRINK, GOLD_ITEMS).chance
    of_class = gold.counts.sum(0) + GOLD_BALANCE * balance
    bias, table = np.log(of_class / of_class.sum()), np.log(chance).reshape(-1, k)
    n = counts.reshape(-1, k, k).sum(1)[:, None] + GOLD_SHRINK
    without = np.log(np.maximum(chance * n - 1, LEAST_LEFT) / np.maximum(n - 1, 1)).reshape(-1, k)
    logits, own = votes.sum_by_row(table) + bias, votes.sum_by_row(without) + bias
    fit = _fit_without(logits, own)
    likelihood = float((gold.counts * np.maximum(fit, LEAST_LOG)).sum() / (gold.counts.sum() + FIT_ITEMS))
    return GoldReading(table - table.mean(1, keepdims=True), bias, counts, likelihood)


def _fit_without(logits: Float64, own: Float64) -> NDArray[np.float64]:
    """Return log-probabilities of classes, where the logit of the true class is its own and others are as they are."""
    top = logits.max(1, keepdims=True)
    odds = np.exp(logits - top)
    fit: Float64 = own - top - np.log(odds.sum(1, keepdims=True) - odds + np.exp(own - top))
    return fit
