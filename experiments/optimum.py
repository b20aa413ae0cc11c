"""The optimum h*(X) at the sizes that matter: how good its approximation is, who comes close to it, what it scores.

    python -m experiments optimum --data DATA --out experiments/results/optimum.md

The authors' weights take part where `experiments.references` has them. Everything is deterministic but the times.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.datasets import load_datasets
from experiments.exact_optimum import optimum
from experiments.existence import exists_valid
from experiments.gaussian_optimum import approximate_optimum
from experiments.protocol import score
from experiments.references import RELEASED_FILE
from hyperlabel.data import Patterns, Votes
from hyperlabel.networks import Weights, forward, load_weights, to_probabilities
from hyperlabel.training import UniformPrior, is_valid, to_signs

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]
Labeler = Callable[[Ints], Floats]

EXACT = ((16, 3), (16, 5), (16, 10), (18, 4), (18, 7), (18, 15))
SAMPLED, CANDIDATES = ((200, 10), (400, 31)), 400_000
SIZES = tuple((n, m) for n in (100, 500, 2000) for m in (2, 10, 30, 60))
MATRICES, DRAWS = 5, 100_000


def lines_of(head: str, rows: list[list[str]]) -> str:
    """A Markdown table."""
    columns = head.split(", ")
    return "\n".join(f"| {' | '.join(row)} |" for row in [columns, ["---"] * len(columns), *rows])


def correlation(one: Floats, other: Floats) -> float:
    """Correlation over items; 0 where one of the two does not vary."""
    return float(np.corrcoef(one, other)[0, 1]) if one.std() > 0 and other.std() > 0 else 0.0


def draw_votes(n: int, m: int, seed: int) -> Ints:
    """A matrix as the network is trained on."""
    return UniformPrior(items=(n, n), lfs=(m, m), max_cells=n * m, candidates=0).sample(
        np.random.default_rng([n, m, seed])
    ).votes  # fmt: skip


def sample_valid(votes: Ints, seed: int) -> tuple[Floats, int]:
    """The mean of the valid ones among random label vectors, and how many there are."""
    rng, signs, total, count = np.random.default_rng(seed), to_signs(votes), np.zeros(len(votes)), 0
    for _ in range(CANDIDATES // 4000):
        labels = rng.integers(0, 2, (len(votes), 4000), dtype=np.int8).astype(np.float32)
        valid = is_valid(signs, labels)
        total += labels[:, valid].sum(1)
        count += int(valid.sum())
    return total / count, count


def agreement_part() -> str:
    """Against enumeration of all label vectors, and against random ones where they are too many."""
    rows = []
    for n, m in EXACT:
        pairs = [
            (optimum(votes), approximate_optimum(votes)) for votes in (draw_votes(n, m, i) for i in range(MATRICES))
        ]
        shares = [abs(exact.count / 2**n - np.exp(found.log_share)) for exact, found in pairs]
        errors = np.stack([np.abs(exact.probabilities - found.probabilities) for exact, found in pairs])
        alike = float(np.mean([correlation(exact.probabilities, found.probabilities) for exact, found in pairs]))
        values = [max(shares), alike, errors.mean(), errors.max()]
        rows.append([f"{n} x {m}", "all label vectors", *(f"{value:.4f}" for value in values), "0"])
    for n, m in SAMPLED:
        votes = draw_votes(n, m, 0)
        (mean, count), found = sample_valid(votes, 1), approximate_optimum(votes, draws=DRAWS)
        errors = np.abs(mean - found.probabilities)
        noise = 0.5 / np.sqrt(count) * np.sqrt(2 / np.pi)
        alike = correlation(mean, found.probabilities)
        share = abs(count / CANDIDATES - np.exp(found.log_share))
        values = [share, alike, errors.mean(), errors.max(), noise]
        rows.append([f"{n} x {m}", f"{count:,} random valid ones", *(f"{value:.4f}" for value in values)])
    head = "size, against, share: largest error, correlation, mean error, largest error, mean error by chance alone"
    return lines_of(head, rows)


def labeler(weights: Weights) -> Labeler:
    """Votes (n, m) -> probabilities of class 1 (n,)."""

    def label(votes: Ints) -> Floats:
        patterns = Patterns.from_votes(Votes.from_array(votes, n_classes=2))
        return patterns.expand(to_probabilities(forward(weights, patterns)[0]))[:, 1]

    return label


def mean_vote(votes: Ints) -> Floats:
    """The share of votes for class 1."""
    signs = to_signs(votes)
    return (1 + signs.sum(1) / np.maximum(1, np.abs(signs).sum(1))) / 2


def network_part(labelers: dict[str, Labeler]) -> str:
    """Correlation with h* and mean absolute error, by size."""
    rows = []
    for n, m in SIZES:
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in ("h* again", "one half", *labelers)}
        for i in range(MATRICES):
            votes = draw_votes(n, m, i)
            target, again = (approximate_optimum(votes, draws=DRAWS, seed=seed).probabilities for seed in (0, 1))
            guesses = {"h* again": again, "one half": np.full(n, 0.5)}
            guesses |= {name: label(votes) for name, label in labelers.items()}
            for name, guess in guesses.items():
                found[name].append((correlation(target, guess), float(np.abs(target - guess).mean())))
        means = {name: np.mean(values, axis=0) for name, values in found.items()}
        rows.append([f"{n} x {m}", *("{:.3f} / {:.4f}".format(*each) for each in means.values())])
        print(rows[-1], flush=True)
    return lines_of("size, " + ", ".join(found), rows)


def real_part(data: Path, labelers: dict[str, Labeler]) -> str:
    """What h* scores on the sets of two classes, with the share of valid label vectors."""
    rows = []
    for each in load_datasets(data):
        if each.k != 2:
            continue
        verdict = exists_valid(to_signs(each.votes), 20)
        start = time.process_time()
        found = approximate_optimum(each.votes)
        seconds = time.process_time() - start
        defined = verdict.answer != "no" and np.isfinite(found.log_share)
        guesses = {name: f"{score(each, label(each.votes) > 0.5):.1f}" for name, label in labelers.items()}
        share = f"10^{found.log_share / np.log(10):.1f}" if defined else "0"
        best = f"{score(each, found.probabilities > 0.5):.1f}" if defined else "undefined"
        size = f"{each.votes.shape[0]:,} x {each.votes.shape[1]}"
        largest = f"{found.largest:.2f}" if defined else ""
        rows.append([each.name, size, verdict.answer, share, largest, best, *guesses.values(), f"{seconds:.1f}"])
        print(rows[-1], flush=True)
    head = "set, size, a valid y exists, share of valid y, largest E[y], h*, " + ", ".join(labelers) + ", CPU seconds"
    return lines_of(head, rows)


TEXT = """# The optimum at any size

`python -m experiments optimum`. The approximation is `experiments.gaussian_optimum.approximate_optimum`.

## Against enumeration and rejection

Matrices of the uniform prior, {matrices} per size against enumeration.

{agreement}

## Who comes close

Correlation with h* over items / mean absolute difference of the probabilities, means of {matrices} matrices of the
uniform prior. `h* again` is a second estimate with other draws: how close a model can be seen to come.

{networks}

## On real sets of two classes

What the labels of h* score, where a label vector is valid at all (decided by counting, the majority vote, or an integer
program). Where the largest |E[y]| of an item exceeds 1, valid label vectors are so far out that the Gaussian no longer
describes them well, and the share and the labels are rough. Seconds are those of h*, on a busy machine.

{real}
"""


def run(data: Path) -> str:
    """The page: all parts."""
    labelers = {"hlm": labeler(load_weights("hlm"))}
    if RELEASED_FILE.exists():
        labelers["released"] = labeler(load_weights(RELEASED_FILE))
    labelers["mean vote"] = mean_vote
    parts = {"agreement": agreement_part(), "networks": network_part(labelers), "real": real_part(data, labelers)}
    return TEXT.format(matrices=MATRICES, **parts)
