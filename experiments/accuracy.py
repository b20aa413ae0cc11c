"""Scores of the hyper label model on real sets, beside those of its peers, and the spread over training runs.

python -m experiments accuracy --data DATA --out experiments/results/accuracy.md
python -m experiments accuracy --data DATA --runs training/hlm-paper --out experiments/results/runs.md
"""

import json
from pathlib import Path

import numpy as np

import hyperlabel as hl
from experiments.datasets import FAMILIES, DataSet, by_family, load_datasets
from experiments.protocol import score

PEERS = ("mv", "balanced", "hyperlm", "crowdfm")


def scores(weights: str, sets: list[DataSet]) -> list[float]:
    model = hl.HyperLabelModel(weights=weights)
    return [score(each, model.predict(each.votes)) for each in sets]


def set_table(sets: list[DataSet], anchors: dict[str, dict[str, float]]) -> str:
    """Every set: our score and the peers'."""
    lines = [f"| set | family | hlm | {' | '.join(PEERS)} |", "|---" * (3 + len(PEERS)) + "|"]
    ours = scores("hlm", sets)
    for each, found in zip(sets, ours, strict=True):
        peers = " | ".join(f"{anchors[each.name][p]:.1f}" for p in PEERS)
        lines.append(f"| {each.name} | {each.family} | {found:.1f} | {peers} |")
    means = [by_family(sets, values) for values in (ours, *([anchors[s.name][p] for s in sets] for p in PEERS))]
    for family, *of_family in zip((*FAMILIES, "all"), *means, strict=True):
        cells = " | ".join(f"**{mean:.2f}**" for mean in of_family)
        lines.append(f"| **average** | **{family}** | {cells} |")
    return "\n".join(lines)


def run_table(folder: Path, sets: list[DataSet]) -> str:
    """Every training run: its validation accuracy, which selects, and its scores, which do not."""
    summary = json.loads((folder / "summary.json").read_text())
    columns = ["run", "mean validation accuracy", *FAMILIES, "all"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    all_means = []
    for each in summary["runs"]:
        weights = folder / f"run-{each['run']:02d}" / "weights.safetensors"
        all_means.append(by_family(sets, scores(str(weights), sets)))
        mark = " (selected)" if each["run"] == summary["selected"] else ""
        shown = " | ".join(f"{mean:.2f}" for mean in all_means[-1])
        lines.append(f"| {each['run']}{mark} | {each['mean_accuracy']:.4f} | {shown} |")
    mean, spread = np.mean(all_means, axis=0), np.std(all_means, axis=0)
    lines.append(
        "| mean ± sd | | " + " | ".join(f"{m:.2f} ± {s:.2f}" for m, s in zip(mean, spread, strict=True)) + " |"
    )
    return "\n".join(lines)


def run(data: Path, runs: Path | None = None) -> str:
    """The table of all sets, or that of the training runs in a folder."""
    sets = load_datasets(data)
    if runs is not None:
        return run_table(runs, sets)
    return set_table(sets, json.loads((data / "anchors.json").read_text(encoding="utf-8")))
