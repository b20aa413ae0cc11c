"""The protocol of pre-trained networks: read a set in passes into a small state, then judge patterns in it.

A network never holds a data set. It reads one in a few passes; in each pass every chunk of patterns gives
sums that add up, whatever the chunks are, and the sums of all chunks advance the state. In memory there is one chunk;
engines have one per partition. Afterwards the state alone judges any pattern, one by one or together.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hyperlabel.data import Outcomes, Patterns, Rows, check_parts

Sums = tuple[NDArray[np.float64], ...]
"""Sums that a pass needs from a chunk. The arrays of two chunks of a set have the same shapes and are added."""

Reduce = Callable[[Callable[[Patterns], Sums]], Sums]
"""Applies a function to every chunk of a set and adds up the results."""

_ROWS = ("starts", "lf", "vote")
_MOST_ITEMS = 2.0**53  # floats count exactly up to this


@dataclass(frozen=True, eq=False)
class Gold:
    """Vote rows of items whose class is known."""

    patterns: Patterns  # the distinct rows of these items; its counts are their gold items
    counts: NDArray[np.int64]  # (g, k) gold items of each row and class

    @classmethod
    def of(cls, patterns: Patterns, counts: NDArray[np.int64]) -> "Gold | None":
        """Pick the rows with votes that have gold, from (p, k) gold items of the patterns; None if there are none."""
        kept = np.flatnonzero(counts.any(1) & patterns.has_votes)
        if not len(kept):
            return None
        return cls(replace(patterns.take(kept), counts=counts[kept].sum(1)), counts[kept])

    def to_arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return the arrays for a file."""
        rows = {f"gold.{name}": getattr(self.patterns, name) for name in _ROWS}
        return rows | {"gold.counts": self.counts}

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, NDArray[Any]], n_lfs: int, n_classes: int, outcomes: Outcomes | None = None
    ) -> "Gold | None":
        """Invert `to_arrays`; None if a file has no gold.

        Raises:
            ValueError: The arrays do not fit together.
        """
        counts = arrays.get("gold.counts")
        if counts is None:
            return None
        whole = counts.dtype == np.int64 and counts.ndim == 2 and counts.shape[1] == n_classes
        if not whole or (counts < 0).any() or not 0 < counts.sum(dtype=np.float64) < _MOST_ITEMS:
            raise ValueError(f"gold must be counts of {n_classes} classes")
        rows = Rows(*(arrays[f"gold.{name}"] for name in _ROWS))
        patterns = Patterns(rows, counts.sum(1), n_lfs, n_classes, outcomes=outcomes)
        check_parts(patterns)
        return cls(patterns, counts)


class Network(Protocol):
    """A pre-trained network. Its state is small, can be pickled, and never changes."""

    def start(self, n_lfs: int, n_classes: int, gold: Gold | None) -> Any:
        """Return the state before the first pass."""

    def sums(self, patterns: Patterns, state: Any) -> Sums:
        """Return the sums that the next pass needs from a chunk; gold items count like all others."""

    def advance(self, state: Any, sums: Sums) -> Any:
        """Return the state after a pass, given the sums over all chunks."""

    def is_complete(self, state: Any) -> bool:
        """Return whether the state needs no more passes."""

    def fits(self, patterns: Patterns) -> bool:
        """Return whether there are few enough patterns to read and judge at once; more are taken in chunks."""

    def read_at_once(self, patterns: Patterns, gold: Gold | None) -> tuple[Any, NDArray[np.float64]]:
        """Return the complete state of patterns that fit into memory, and their probabilities. -> state, (p, k)."""

    def probabilities(self, patterns: Patterns, state: Any) -> NDArray[np.float64]:
        """Return probabilities of patterns in a complete state; rows without votes are uniform. -> (p, k)."""

    def contributions(self, patterns: Patterns, state: Any) -> NDArray[np.float64] | None:
        """Return what each vote adds to the logit of each class; None if logits are not such sums. -> (e, k)."""

    def to_arrays(self, state: Any) -> dict[str, NDArray[Any]]:
        """Return a complete state as named arrays."""

    def from_arrays(self, arrays: dict[str, NDArray[Any]]) -> Any:
        """Invert `to_arrays`."""


def read(network: Network, reduce: Reduce, n_lfs: int, n_classes: int, gold: Gold | None = None) -> Any:
    """Take all passes of a network over a set. -> the complete state."""
    state = network.start(n_lfs, n_classes, gold)
    while not network.is_complete(state):
        state = network.advance(state, reduce(partial(network.sums, state=state)))
    return state


def add_sums(one: Sums, other: Sums) -> Sums:
    """Add arrays one by one."""
    return tuple(a + b for a, b in zip(one, other, strict=True))
