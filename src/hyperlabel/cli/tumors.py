"""The example of `hyperlabel demo`: scikit-learn's own copy of the Wisconsin breast cancer set.

569 tumors, 30 measurements of their cell nuclei, and the diagnosis. Twelve rules of thumb vote; the diagnosis is used
for the score alone.
"""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.table import Table

from hyperlabel.added import add_labels
from hyperlabel.cli.tables import make_folder
from hyperlabel.cli.terminal import console, say
from hyperlabel.labels import Labels
from hyperlabel.metrics import accuracy
from hyperlabel.models import HyperLabelModel
from hyperlabel.tables import write_table
from hyperlabel.votes import Votes

CLASSES = ("benign", "malignant")

RULES: dict[str, tuple[str, float | None, float | None]] = {
    # name: (measurement, benign below, malignant above); in between, and where there is no limit, it abstains
    "nuclei_size": ("mean radius", 11.5, 17.0),
    "largest_nuclei": ("worst radius", 13.5, 18.5),
    "small_area": ("mean area", 420.0, None),
    "dents": ("mean concave points", 0.025, 0.09),
    "worst_dents": ("worst concave points", 0.08, 0.18),
    "deep_dents": ("mean concavity", None, 0.15),
    "smooth_outline": ("mean smoothness", 0.08, None),
    "rough_outline": ("worst smoothness", None, 0.155),
    "even_texture": ("mean texture", 16.0, None),
    "coarse_texture": ("worst texture", None, 32.0),
    "varied_size": ("radius error", 0.2, 0.6),
    "odd_shape": ("worst symmetry", None, 0.36),
}


def label_tumors(out: Path) -> None:
    """Write votes, labels and a picture to a folder, and say how good the labels are."""
    frame = vote_table()
    votes = Votes.from_frame(frame.select(list(RULES)), classes=CLASSES)
    labels = HyperLabelModel().label(votes)
    labeled = add_labels(frame, labels)
    make_folder(out)
    write_table(frame, out / "votes.csv")
    write_table(labeled, out / "labels.csv")
    _draw(frame, labels.probabilities[:, 1], out / "demo.png")
    _print_labels(labeled)
    _print_score(votes, labels, frame["truth"].to_list())
    say(f"wrote votes.csv, labels.csv and demo.png to {out}")
    say(f"the same labels from the votes: hyperlabel label {shlex.quote(str(out / 'votes.csv'))} -o labels.csv")


def vote_table() -> pl.DataFrame:
    """Votes and diagnoses of the 569 tumors, one row each."""
    from sklearn.datasets import load_breast_cancer

    data: Any = load_breast_cancer()
    measures = {name: data.data[:, i] for i, name in enumerate(data.feature_names)}
    columns: dict[str, Any] = {"id": np.arange(len(data.data))}
    for name, (measure, below, above) in RULES.items():
        columns[name] = [_vote(value, below, above) for value in measures[measure]]
    columns["truth"] = ["benign" if target else "malignant" for target in data.target]
    return pl.DataFrame(columns)


def _vote(value: float, below: float | None, above: float | None) -> str | None:
    if below is not None and value < below:
        return "benign"
    return "malignant" if above is not None and value > above else None


def _print_labels(labeled: pl.DataFrame) -> None:
    table = Table(
        "id", "votes for benign", "votes for malignant", "label", "confidence", "truth", title="Ten of 569 items"
    )
    for row in labeled.gather_every(57).to_dicts():
        cast = [row[name] for name in RULES]
        shown = (
            row["id"],
            cast.count("benign"),
            cast.count("malignant"),
            row["label"] or "",
            f"{row['confidence']:.2f}",
        )
        table.add_row(*map(str, shown), row["truth"])
    console.print(table)


def _print_score(votes: Votes, labels: Labels, truth: list[str]) -> None:
    _, known = votes.with_labels(truth, "truth")
    voted = labels.best >= 0
    right = accuracy(known[voted], labels.best[voted])
    say(f"{voted.sum()} of {len(labels)} items have votes; {right:.1%} of their labels are the diagnosis")


def _draw(frame: pl.DataFrame, malignant: Any, path: Path) -> None:
    """Left: what each LF is worth. Right: the probabilities, by diagnosis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    truth = frame["truth"].to_numpy()
    for place, name in enumerate(reversed(RULES)):
        cast = frame[name].to_numpy()
        voted = np.array([vote is not None for vote in cast])
        precision = (cast[voted] == truth[voted]).mean()
        left.plot([voted.mean(), precision], [place, place], color="0.8", zorder=1)
        left.scatter(voted.mean(), place, color="C0", label="coverage" if place == 0 else None)
        left.scatter(precision, place, color="C1", marker="D", label="right, where it votes" if place == 0 else None)
    left.set_yticks(range(len(RULES)), list(reversed(RULES)))
    left.set(xlim=(0, 1.02), xlabel="share of items", title="The labeling functions")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)
    bins = np.linspace(malignant.min(), malignant.max(), 30).tolist()
    voted = frame.select(pl.any_horizontal(pl.col(list(RULES)).is_not_null())).to_series().to_numpy()
    for name, color in zip(CLASSES, ("C0", "C1"), strict=True):
        shown = malignant[voted & (truth == name)]
        right.hist(shown, bins, alpha=0.7, color=color, label=f"diagnosis: {name}")
    right.set(xlabel="probability of 'malignant' by the hyper label model", ylabel="items with votes")
    right.set_title("The labels")
    right.axvline(0.5, color="0.3", linewidth=1, linestyle="--")
    right.legend()
    figure.savefig(path, dpi=110)
