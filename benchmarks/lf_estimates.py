"""How near LF accuracies that are estimated without truth come to the LFs' precision, on real sets.

python benchmarks/lf_estimates.py --data ../shared/data --out benchmarks/results/lf_estimates.md

`labels` is `LFAnalysis.estimated_accuracy`: votes that are the model's label. `probabilities` takes the model's
probabilities at their face value instead. Both are compared with the precision of the LFs that vote on at least 20
items with known truth.
"""

import argparse
from pathlib import Path

import numpy as np

import hyperlabel as hl
from hyperlabel.bench.datasets import DataSet, load_datasets
from hyperlabel.lf.analysis import LFAnalysis
from record import write_result


def estimates(each: DataSet) -> tuple[list[float], int]:
    """Mean absolute errors of both estimates, and the LFs they are over."""
    analysis = LFAnalysis(each.votes, each.truth, model=hl.HyperLabelModel(n_classes=each.k))
    patterns = analysis.patterns
    behind = analysis.probabilities[patterns.row, patterns.vote] * patterns.counts[patterns.row]
    means = np.bincount(patterns.lf, behind, analysis.n_lfs) / analysis.votes
    often = analysis.correct + analysis.incorrect >= 20
    errors = [np.abs(values - analysis.precision)[often].mean() for values in (analysis.estimated_accuracy, means)]
    return [float(error) for error in errors], int(often.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    lines = ["| set | LFs | labels | probabilities |", "|---|---|---|---|"]
    found = []
    for each in load_datasets(arguments.data):
        errors, lfs = estimates(each)
        found.append(errors)
        lines.append(f"| {each.name} | {lfs} | {errors[0]:.2f} | {errors[1]:.2f} |")
    lines.append("| **mean** | | " + " | ".join(f"**{mean:.2f}**" for mean in np.mean(found, axis=0)) + " |")
    print("\n".join(lines))
    write_result("\n".join(lines), arguments.out)


if __name__ == "__main__":
    main()
