"""Scores of the hyper label model on real sets, beside those of its peers, and the spread over training runs.

python benchmarks/accuracy.py --data ../shared/data --out benchmarks/results/accuracy.md
python benchmarks/accuracy.py --data ../shared/data --runs training/hlm --out benchmarks/results/runs.md
"""

import argparse
import json
from pathlib import Path

import numpy as np

import hyperlabel as hl
from hyperlabel.bench.datasets import DataSet, load_datasets
from hyperlabel.bench.protocol import score
from record import write_result

FAMILIES = ("wrench", "crowd", "other")
PEERS = ("mv", "balanced", "hyperlm", "crowdfm")


def scores(weights: str, sets: list[DataSet]) -> list[float]:
    model = hl.HyperLabelModel(weights=weights)
    return [score(each, model.predict(each.votes)) for each in sets]


def family_means(values: list[float], sets: list[DataSet]) -> list[float]:
    return [float(np.mean([v for v, s in zip(values, sets, strict=True) if s.family == f])) for f in FAMILIES]


def set_table(sets: list[DataSet], anchors: dict[str, dict[str, float]]) -> str:
    """Every set: our score and the peers'."""
    lines = [f"| set | family | hlm | {' | '.join(PEERS)} |", "|---" * (3 + len(PEERS)) + "|"]
    ours = scores("hlm", sets)
    for each, found in zip(sets, ours, strict=True):
        peers = " | ".join(f"{anchors[each.name][p]:.1f}" for p in PEERS)
        lines.append(f"| {each.name} | {each.family} | {found:.1f} | {peers} |")
    columns = {p: family_means([anchors[s.name][p] for s in sets], sets) for p in PEERS}
    for i, family in enumerate(FAMILIES):
        peers = " | ".join(f"**{columns[p][i]:.2f}**" for p in PEERS)
        lines.append(f"| **average** | **{family}** | **{family_means(ours, sets)[i]:.2f}** | {peers} |")
    return "\n".join(lines)


def run_table(folder: Path, sets: list[DataSet]) -> str:
    """Every training run: its validation accuracy, which selects, and its scores, which do not."""
    summary = json.loads((folder / "summary.json").read_text())
    lines = ["| run | mean validation accuracy | wrench | crowd | other |", "|---|---|---|---|---|"]
    all_means = []
    for each in summary["runs"]:
        weights = folder / f"run-{each['run']:02d}" / "weights.safetensors"
        all_means.append(family_means(scores(str(weights), sets), sets))
        mark = " (selected)" if each["run"] == summary["selected"] else ""
        shown = " | ".join(f"{mean:.2f}" for mean in all_means[-1])
        lines.append(f"| {each['run']}{mark} | {each['mean_accuracy']:.4f} | {shown} |")
    mean, spread = np.mean(all_means, axis=0), np.std(all_means, axis=0)
    lines.append(
        "| mean ± sd | | " + " | ".join(f"{m:.2f} ± {s:.2f}" for m, s in zip(mean, spread, strict=True)) + " |"
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, help="folder of `hyperlabel train`: the spread over its runs")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    sets = load_datasets(arguments.data)
    anchors = json.loads((arguments.data / "anchors.json").read_text())
    text = run_table(arguments.runs, sets) if arguments.runs else set_table(sets, anchors)
    print(text)
    write_result(text, arguments.out)


if __name__ == "__main__":
    main()
