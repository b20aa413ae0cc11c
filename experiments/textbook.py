"""Votes of judges whose skill is known: how far are label models from the best possible labels?

Every case states its judges by accuracy, or by accuracy on each class, and draws votes from them; a copy repeats the
vote of another judge with probability 0.95. The optimum knows all of that; a model sees the votes alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from experiments.datasets import DataSet

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COPIED = 0.95
BEST, OTHERS = 0.85, (0.8, 0.75, 0.7, 0.65)


@dataclass(frozen=True)
class Case:
    """A set that is drawn."""

    n: int
    skill: Sequence[float | tuple[float, ...]]  # accuracy of each judge, or its accuracy on each class
    balance: tuple[float, ...] = (0.5, 0.5)
    coverage: float = 1.0  # share of the votes that are cast
    copies: Mapping[int, int] = field(default_factory=dict)  # judge -> times it is copied


CASES = {
    "three judges": Case(3000, (0.9, 0.75, 0.6)),
    "one strong of five": Case(3000, (0.9, *[0.6] * 4)),
    "one strong of six": Case(3000, (0.95, *[0.55] * 5)),
    "one strong of five, few items": Case(300, (0.9, *[0.6] * 4)),
    "ten judges": Case(3000, np.linspace(0.55, 0.9, 10).tolist()),
    "ten judges, 30% of the votes": Case(5000, np.linspace(0.55, 0.9, 10).tolist(), coverage=0.3),
    "twenty weak judges": Case(2000, np.linspace(0.5, 0.7, 20).tolist()),
    "rare class": Case(3000, (0.9, 0.8, 0.7, 0.6, 0.6), (0.8, 0.2)),
    "an adversary": Case(2000, (0.8, 0.75, 0.7, 0.7, 0.25)),
    "four classes, one strong": Case(3000, (0.9, *[0.4] * 4), (0.25,) * 4),
    "four classes, eight judges": Case(2000, np.linspace(0.35, 0.85, 8).tolist(), (0.4, 0.3, 0.2, 0.1)),
    "biased judges": Case(3000, ((0.95, 0.6), (0.6, 0.95), (0.9, 0.7), (0.7, 0.7), (0.6, 0.8))),
    "a weak judge copied twice": Case(1000, (BEST, *OTHERS), copies={4: 2}),
    "a strong judge copied": Case(1000, (BEST, *OTHERS), copies={0: 1}),
    "equal judges": Case(1000, (0.75,) * 7),
}


def draw(name: str, seed: int) -> tuple[DataSet, Ints]:
    """Draw a case. -> the set, and (n,) the labels of the optimum."""
    case, rng = CASES[name], np.random.default_rng(seed)
    k, m = len(case.balance), len(case.skill)
    truth = rng.choice(k, case.n, p=case.balance)
    tables = np.stack([_confusions(np.broadcast_to(skill, k)) for skill in case.skill])  # (m, classes, votes)
    votes = np.stack([_cast(rng, table[truth]) for table in tables], 1)
    votes[rng.random(votes.shape) >= case.coverage] = -1
    logits = np.log(case.balance) + sum(_evidence(np.log(tables[j]), votes[:, j]) for j in range(m))
    for judge, times in case.copies.items():
        for _ in range(times):
            copied = rng.random(case.n) < COPIED
            copy = np.where(copied, votes[:, judge], _cast(rng, tables[judge][truth]))
            repeats = COPIED * (copy == votes[:, judge])[:, None]
            logits = logits + np.log(repeats + (1 - COPIED) * tables[judge][:, copy].T)
            votes = np.c_[votes, copy]
    kept = (votes >= 0).any(1)
    return DataSet(name, "textbook", "accuracy", k, votes[kept], truth[kept], None, np.flatnonzero(kept)), logits[
        kept
    ].argmax(1)


def _confusions(right: Floats) -> Floats:
    """Return the chances of votes by class; errors are spread evenly. (k,) -> (k, k)."""
    k = len(right)
    table: Floats = np.where(np.eye(k, dtype=bool), right[:, None], (1 - right[:, None]) / (k - 1))
    return table


def _cast(rng: np.random.Generator, chances: Floats) -> Ints:
    """Draw a vote for each row of chances. (n, k) -> (n,)."""
    drawn: Ints = np.minimum((rng.random((len(chances), 1)) > chances.cumsum(1)).sum(1), chances.shape[1] - 1)
    return drawn


def _evidence(log_table: Floats, votes: Ints) -> Floats:
    """Return the log-likelihood of votes, 0 where a judge abstains. (classes, votes), (n,) -> (n, classes)."""
    return np.where(votes[:, None] >= 0, log_table[:, votes].T, 0)
