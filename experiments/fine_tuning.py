"""Fine-tuning on gold labels: one copy of the weights or one per class, rates, and weights of the gold items.

    python -m experiments fine_tuning --data DATA --out experiments/results/fine_tuning.md

For 20, 50, 200 and 1,000 gold items (at most half of those with known truth), one draw each: the gain over the same
weights without gold, on the other items, averaged over sets: those of the paper, and others, on which copies and rate
were chosen. How more than two classes are weighed was not: there the two groups disagree. Sets with more than
`MOST_CELLS` are left out, to save time.
"""

import dataclasses
from collections import defaultdict
from pathlib import Path

import numpy as np

import hyperlabel as hl
from experiments.datasets import DataSet, load_datasets
from experiments.paper import SETS
from experiments.protocol import score, to_patterns
from hyperlabel._core import Adam
from hyperlabel.networks import (
    COPIES,
    Weights,
    backward,
    forward,
    load_weights,
    loss_gradient,
    to_probabilities,
    weigh_gold,
)

GOLD, DRAWS = (20, 50, 200, 1000), 1
MOST_CELLS = 400_000  # patterns times LFs times classes


@dataclasses.dataclass(frozen=True)
class Variant:
    """A way to fine-tune."""

    rate: float
    own: bool  # whether each class has a copy of the weights
    # What weighs the same: `items`, `classes`, `sides` (a class and the rest), or `two`: sides of two classes, items of
    # more.
    weights: str = "items"


VARIANTS = {
    "shared copy, 1e-4, items (the text)": Variant(1e-4, own=False),
    "shared copy, 1e-3, items": Variant(1e-3, own=False),
    "shared copy, 1e-3, sides": Variant(1e-3, own=False, weights="sides"),
    "own copies, 1e-3, items": Variant(1e-3, own=True),
    "own copies, 1e-3, classes": Variant(1e-3, own=True, weights="classes"),
    "own copies, 1e-3, sides": Variant(1e-3, own=True, weights="sides"),
    "own copies, 1e-3, sides of two classes (the package)": Variant(1e-3, own=True, weights="two"),
}


def weigh(gold: np.ndarray, how: str) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the gold items of each class, and of those that are not of it. (p, k) -> (p, k) twice."""
    if how == "two":
        return weigh_gold(gold)
    if how == "sides":
        others = gold.sum(1, keepdims=True) - gold
        return gold / np.maximum(gold.sum(0), 1), others / np.maximum(others.sum(0), 1)
    weighed = gold / np.maximum(gold.sum(0), 1) if how == "classes" else gold / gold.sum()
    return weighed, weighed.sum(1, keepdims=True) - weighed


def tune(patterns: hl.Patterns, gold: np.ndarray, variant: Variant) -> Weights:
    """The bundled weights after as many steps as the paper takes."""
    weights, k = load_weights("hlm"), patterns.n_classes
    tuned = weights.copy()
    if variant.own:
        copies = {name: np.repeat(array[None], k, axis=0) for name, array in weights.arrays.items()}
        tuned = Weights(copies, weights.header | {COPIES: k})
    adam, sides = Adam(dict(tuned.arrays)), weigh(gold, variant.weights)
    for _ in range(int(np.sqrt(gold.sum()))):
        logits, trace = forward(tuned, patterns)
        grads = backward(tuned, trace, loss_gradient(logits, *sides))
        adam.step({name: grad if variant.own else grad.sum(0) for name, grad in grads.items()}, variant.rate)
    return tuned


def score_weights(patterns: hl.Patterns, weights: Weights, rest: DataSet) -> float:
    logits, _ = forward(weights, patterns)
    return score(rest, patterns.expand(to_probabilities(logits).argmax(1)))


def hide(each: DataSet, size: int, seed: int) -> tuple[np.ndarray, DataSet]:
    """Gold for some items, and the set with the truth of the others alone."""
    known = np.flatnonzero(each.truth >= 0)
    picked = np.random.default_rng(seed).choice(known, min(size, len(known) // 2), replace=False)
    gold, rest = np.full(len(each.truth), -1), each.truth.copy()
    gold[picked], rest[picked] = each.truth[picked], -1
    return gold, dataclasses.replace(each, truth=rest)


def run(data: Path) -> str:
    """Gains by number of gold items, a row per variant."""
    found, left_out = defaultdict(list), []
    for each in load_datasets(data):
        patterns, group = to_patterns(each), "the paper's" if each.name in SETS else "others"
        if patterns.n_patterns * patterns.n_lfs * patterns.n_classes > MOST_CELLS:
            left_out.append(each.name)
            continue
        for size in GOLD:
            for seed in range(DRAWS):
                gold, rest = hide(each, size, seed)
                plain, counts = score_weights(patterns, load_weights("hlm"), rest), patterns.count_labels(gold)
                for name, variant in VARIANTS.items():
                    gain = score_weights(patterns, tune(patterns, counts, variant), rest) - plain
                    found[group, size, name].append(gain)
    return f"{_table(found)}\n\nLeft out: {', '.join(left_out)}."


def _table(found: dict[tuple[str, int, str], list[float]]) -> str:
    columns = list(dict.fromkeys((group, size) for group in ("others", "the paper's") for size in GOLD))
    columns = [column for column in columns if any((*column, name) in found for name in VARIANTS)]
    sets = {column: len(found[(*column, next(iter(VARIANTS)))]) // DRAWS for column in columns}
    lines = ["| fine-tuning | " + " | ".join(f"{g} ({sets[g, size]} sets), {size:,}" for g, size in columns) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    for name in VARIANTS:
        lines.append(f"| {name} | " + " | ".join(f"{np.mean(found[(*c, name)]):+.2f}" for c in columns) + " |")
    return "\n".join(lines)
