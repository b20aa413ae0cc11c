"""Speed of a fitted model and of the hot paths, as ratios within one run.

    python -m experiments state_speed --out experiments/results/state_speed.md

Run nothing else meanwhile. A majority vote is NumPy's on the same array.
"""

import subprocess
import sys
from collections.abc import Callable

import numpy as np

import hyperlabel as hl
from experiments.speed import majority_vote, take_seconds


def least_seconds(call: Callable[[], object], repeats: int) -> float:
    """The least time of several calls."""
    return min(take_seconds(call, repeats))


def draw(n: int, m: int, k: int, coverage: float, accuracy: float = 0.75, seed: int = 0) -> np.ndarray:
    """Votes of independent LFs. -> (n, m)."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    votes = np.where(rng.random((n, m)) < accuracy, truth[:, None], rng.integers(0, k, (n, m)))
    return np.where(rng.random((n, m)) < coverage, votes, -1)


def fitted_rows() -> list[str]:
    """One row and ten thousand rows of a fitted model."""
    votes = draw(20_000, 10, 2, 0.5)
    model = hl.HyperLabelModel(n_classes=2).fit(votes)
    one = least_seconds(lambda: model.predict(votes[:1]), 500)
    ten = votes[:10_000]
    many, vote = least_seconds(lambda: model.predict(ten), 50), least_seconds(lambda: majority_vote(ten, 2), 50)
    return [
        f"| fitted model, one row of 10 LFs | at most 0.3 ms | {1e3 * one:.2f} ms |",
        f"| fitted model, 10,000 rows x 10 LFs / majority vote | at most 5 | {many / vote:.1f} |",
    ]


def dense_rows() -> str:
    """A million rows of 30 LFs with as many patterns."""
    votes = draw(1_000_000, 30, 2, 0.9)
    ours = least_seconds(lambda: hl.HyperLabelModel(n_classes=2).predict(votes), 3)
    vote = least_seconds(lambda: majority_vote(votes, 2), 3)
    return f"| 1 million x 30, as many patterns / majority vote | at most 10 | {ours / vote:.1f} |"


def many_classes() -> str:
    """Twenty thousand items of 500 classes."""
    votes = draw(20_000, 10, 500, 1.0, 0.6)
    seconds = least_seconds(lambda: hl.HyperLabelModel(n_classes=500).predict(votes), 3)
    return f"| 20,000 x 10 LFs x 500 classes | at most 1 s | {seconds:.2f} s |"


def help_seconds() -> str:
    """`hyperlabel --help`, beside an interpreter that does nothing."""

    def run(*arguments: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, *arguments], capture_output=True, check=True)

    ours, nothing = least_seconds(run("-m", "hyperlabel", "--help"), 10), least_seconds(run("-c", "pass"), 10)
    return f"| hyperlabel --help (python -c pass: {nothing:.2f} s) | at most 0.3 s | {ours:.2f} s |"


def run() -> str:
    """All of it, as a table."""
    lines = ["| what | wanted | found |", "|---|---|---|", *fitted_rows(), dense_rows(), many_classes(), help_seconds()]
    return "\n".join(lines)
