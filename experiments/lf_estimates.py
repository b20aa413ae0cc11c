"""How near LF accuracies that are estimated without truth come to the LFs' precision, on real sets.

python -m experiments lf_estimates --data DATA --out experiments/results/lf_estimates.md

`labels` is `LFAnalysis.estimated_accuracy`: votes that are the model's label. `probabilities` takes the model's
probabilities at their face value instead. Both are compared with the precision of the LFs that vote on at least 20
items with known truth.
"""

from pathlib import Path

import numpy as np

import hyperlabel as hl
from experiments.datasets import DataSet, load_datasets
from hyperlabel.lf import LFAnalysis


def estimates(each: DataSet) -> tuple[list[float], int]:
    """Mean absolute errors of both estimates, and the LFs they are over."""
    analysis = LFAnalysis(each.votes, each.truth, model=hl.HyperLabelModel(n_classes=each.k))
    patterns = analysis.patterns
    behind = analysis.probabilities[patterns.row, patterns.vote] * patterns.counts[patterns.row]
    means = np.bincount(patterns.lf, behind, analysis.n_lfs) / analysis.votes
    often = analysis.correct + analysis.incorrect >= 20
    errors = [np.abs(values - analysis.precision)[often].mean() for values in (analysis.estimated_accuracy, means)]
    return [float(error) for error in errors], int(often.sum())


def run(data: Path) -> str:
    """The errors of both estimates, by set."""
    lines = ["| set | LFs | labels | probabilities |", "|---|---|---|---|"]
    found = []
    for each in load_datasets(data):
        errors, lfs = estimates(each)
        found.append(errors)
        lines.append(f"| {each.name} | {lfs} | {errors[0]:.2f} | {errors[1]:.2f} |")
    lines.append("| **mean** | | " + " | ".join(f"**{mean:.2f}**" for mean in np.mean(found, axis=0)) + " |")
    return "\n".join(lines)
