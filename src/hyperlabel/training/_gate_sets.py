"""Synthetic sets as the gate of hlm3 learns from them: all readings of a set, and the truth of some hidden items.

Readings cost far more than a step of training, so sets are read once and kept in files.
"""

import math
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, replacing
from hyperlabel.data import Patterns, Votes
from hyperlabel.networks import Gold, MixedNetwork, Readings, stack_readings
from hyperlabel.training._judge_priors import gate_prior
from hyperlabel.training._rule_priors import LabeledTask

HIDDEN_ITEMS = 300  # of a set, that teach
GOLD_CHANCE = 0.45  # of a set to have gold
LEAST_GOLD, MOST_GOLD = 5, 220


@dataclass(frozen=True)
class GateSet:
    """A set that was read in all ways."""

    family: str
    rows: NDArray[np.int8]  # (r, m) votes of hidden items
    target: Float64  # (r, k) how many of them have each class
    tables: Float64  # (readings, m, k, k) evidence of votes, for rows with the mean number of votes
    biases: Float64  # (readings, k)
    power: float  # of hlm2's evidence
    vote_weight: float  # of hlm2
    votes_per_item: float
    of_set: Float64  # features
    of_lf: Float64  # features
    cast: Float64  # (m,) votes of each LF
    n_gold: int

    @cached_property
    def votes(self) -> "RowVotes":
        """The votes of the rows."""
        k = self.target.shape[1]
        row, lf = (self.rows >= 0).nonzero()
        node, size = lf * k + self.rows[row, lf], np.bincount(row, minlength=len(self.rows))
        shares = (self.rows[:, :, None] == np.arange(k)).sum(1) / size[:, None]
        of_node = np.bincount(node, minlength=len(self.cast) * k)
        return RowVotes(node, size, row[np.argsort(node, kind="stable")], of_node, shares)


class RowVotes(NamedTuple):
    """The votes of rows, in the order of rows and in that of nodes, an LF and a class each."""

    node: NDArray[np.intp]  # (e,) the node of each vote
    size: NDArray[np.intp]  # (r,) votes of each row
    row_by_node: NDArray[np.intp]  # (e,) the row of each vote, in the order of nodes
    of_node: NDArray[np.intp]  # (nodes,) votes of each node
    shares: Float64  # (r, k) of the votes of each row


def to_patterns(task: LabeledTask) -> Patterns:
    """Return the patterns of a task."""
    return Patterns.from_votes(Votes.from_array(task.votes.astype(np.int64), n_classes=task.n_classes))


def prepare(rng: np.random.Generator, task: LabeledTask, network: MixedNetwork) -> GateSet | None:
    """Read a set, some of it with gold; None if there is only one reading."""
    patterns, n = to_patterns(task), len(task.truth)
    labels = np.full(n, -1)
    if rng.random() < GOLD_CHANCE:
        size = int(min(math.exp(rng.uniform(math.log(LEAST_GOLD), math.log(MOST_GOLD))), 0.5 * n))
        picked = rng.choice(n, size, replace=False)
        labels[picked] = task.truth[picked]
    has_gold = bool((labels >= 0).any())
    gold = Gold.of(patterns, patterns.count_labels(labels)) if has_gold else None
    readings = network.read_twice(patterns, gold)
    if readings is None:
        return None
    hidden = np.flatnonzero(labels < 0)
    picked = hidden if len(hidden) <= HIDDEN_ITEMS else rng.choice(hidden, HIDDEN_ITEMS, replace=False)
    target = patterns.count_labels(np.where(np.isin(np.arange(n), picked), task.truth, -1))
    kept = np.flatnonzero(target.any(1))
    return _to_set(readings, task.family, patterns.to_array()[kept], target[kept], int((labels >= 0).sum()))


def _to_set(readings: Readings, family: str, rows: NDArray[Any], target: NDArray[Any], n_gold: int) -> GateSet:
    first, (tables, biases) = readings.first, stack_readings(readings.first, readings.em, readings.gold)
    k = target.shape[1]
    return GateSet(
        family=family,
        rows=rows.astype(np.int8),
        target=target.astype(np.float64),
        tables=np.stack(tables).reshape(len(tables), -1, k, k),
        biases=np.stack(biases),
        power=first.evidence.power,
        vote_weight=first.evidence.vote_weight,
        votes_per_item=first.votes_per_item,
        of_set=readings.features.of_set,
        of_lf=readings.features.of_lf,
        cast=first.cast.sum(1),
        n_gold=n_gold,
    )


def read_sets(path: Path, seed: int, count: int, network: MixedNetwork, *, many: bool = False) -> list[GateSet]:
    """Return sets from a file, which is made if it is not there."""
    if not path.exists():
        rng, prior = np.random.default_rng(seed), gate_prior(many=many)
        sets: list[GateSet] = []
        while len(sets) < count:
            each = prepare(rng, prior.sample(rng), network)
            sets += [] if each is None else [each]
        _save(path, sets)
    return _load(path)


def _save(path: Path, sets: list[GateSet]) -> None:
    names = [field.name for field in fields(GateSet)]
    named = ((f"{i}/{name}", np.asarray(getattr(each, name))) for i, each in enumerate(sets) for name in names)
    small = {name: array.astype(np.float32) if array.dtype == np.float64 else array for name, array in named}
    with replacing(path) as part, open(part, "wb") as file:
        np.savez_compressed(file, **small)  # type: ignore[arg-type]


def _load(path: Path) -> list[GateSet]:
    sets: dict[int, dict[str, Any]] = {}
    with np.load(path) as file:
        for key in file.files:
            number, name = key.split("/")
            value = file[key]
            sets.setdefault(int(number), {})[name] = value.item() if value.ndim == 0 else value
    return [GateSet(**sets[number]) for number in sorted(sets)]
