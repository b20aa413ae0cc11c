"""Panels of judges: the default of `hyperlabel.jury` beside majority vote, Dawid-Skene and the released model.

python -m experiments panels --data DATA --out experiments/results/panels.md

Scores as the other tables count them, and Brier scores over all classes, from 0 to 2. Those of the released
model are its anchors, taken with the authors' package.
"""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import hyperlabel as hl
from experiments.datasets import DataSet, load_datasets
from experiments.markdown import table
from experiments.protocol import score
from hyperlabel._core import brier

MODELS = ("hlm3", "mv", "ds", "auto", "hlm")
"""The default first."""


def measure(each: DataSet) -> list[float]:
    """Score and Brier score of each model."""
    found: list[float] = []
    for name in MODELS:
        model = hl.label_model(name, n_classes=each.k)
        probabilities = model.fit_predict_proba(each.votes)
        found += [score(each, model.predict(each.votes)), brier(each.truth, probabilities)]
    return found


def run(data: Path) -> str:
    """The table."""
    sets = [each for each in load_datasets(data) if each.family == "panel"]
    anchors = json.loads((data / "anchors.json").read_text(encoding="utf-8"))
    figures = np.array([[*measure(each), anchors[each.name]["hyperlm"]] for each in sets])
    rows = [(each.name, row) for each, row in zip(sets, figures, strict=True)] + [("**mean**", figures.mean(0))]
    head = ["panel", *(part for name in MODELS for part in (name, "Brier")), "released"]
    return table(head, [[name, *_show(row)] for name, row in rows])


def _show(row: NDArray[np.float64]) -> list[str]:
    """Scores and Brier scores by turns."""
    return [f"{figure:.3f}" if i % 2 else f"{figure:.2f}" for i, figure in enumerate(row)]
