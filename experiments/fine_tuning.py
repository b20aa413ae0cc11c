"""Fine-tuning on gold labels: the paper's rate, and the rate and class weights of its released code.

    python -m experiments fine_tuning --data DATA --out experiments/results/fine_tuning.md

For 20, 100 and 1,000 gold items (at most half of those with known truth), two draws each: the score on the
other items, averaged over the sets of a family.
"""

import dataclasses
from collections import defaultdict
from pathlib import Path

import numpy as np

import hyperlabel as hl
from experiments.datasets import FAMILIES, DataSet, load_datasets
from experiments.protocol import score, to_patterns
from hyperlabel.networks import fine_tune, forward, load_weights, to_probabilities

GOLD, DRAWS = (20, 100, 1000), 2
Variant = tuple[float, bool] | None  # learning rate, class weights; None does not fine-tune
VARIANTS: dict[str, Variant] = {
    "unsupervised": None,
    "1e-4 (the paper)": (1e-4, False),
    "1e-4, weighted": (1e-4, True),
    "1e-3": (1e-3, False),
    "1e-3, weighted (the released code)": (1e-3, True),
}


def balance_gold(gold: np.ndarray) -> np.ndarray:
    """Gold counts weighted so that two classes weigh the same; more than two are left alone, as released."""
    per_class = gold.sum(0)
    if len(per_class) != 2 or not per_class.all():
        return gold
    return gold * per_class[::-1] / per_class.sum()


def score_variant(patterns: hl.Patterns, gold: np.ndarray, rest: DataSet, variant: Variant) -> float:
    weights = load_weights("hlm")
    if variant is not None:
        lr, weighted = variant
        counts = patterns.count_labels(gold)
        steps = int(np.sqrt(counts.sum()))
        weights = fine_tune(weights, patterns, balance_gold(counts) if weighted else counts, lr=lr, steps=steps)
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
    """Scores by family and number of gold items, a row per variant."""
    found = defaultdict(list)
    for each in load_datasets(data):
        patterns = to_patterns(each)
        for size in GOLD:
            for seed in range(DRAWS):
                gold, rest = hide(each, size, seed)
                for name, variant in VARIANTS.items():
                    found[each.family, size, name].append(score_variant(patterns, gold, rest, variant))
    columns = [(family, size) for family in FAMILIES for size in GOLD if (family, size, "unsupervised") in found]
    lines = ["| fine-tuning | " + " | ".join(f"{f}, {size}" for f, size in columns) + " | mean |"]
    lines.append("|---" * (len(columns) + 2) + "|")
    for name in VARIANTS:
        means = [float(np.mean(found[(*column, name)])) for column in columns]
        lines.append(f"| {name} | " + " | ".join(f"{m:.2f}" for m in [*means, np.mean(means)]) + " |")
    return "\n".join(lines)
