r"""Accuracy of a person who follows the studio: the top candidate of each suggested item, and gold where suggested.

    python -m experiments studio_person --out experiments/results/studio_person.md \
        --figure docs/pictures/studio-person.png

The person is a script that knows the true class of an item it looks at, and nothing else. It begins with no LF. Gold
labels are given evenly between the rules, each to the item that the studio suggests next. How candidates and items are
ranked was chosen on other texts (SMS), not on these.
"""

import json
import tempfile
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from experiments.plots import COLOURS, DPI, MARKERS, new_figure
from hyperlabel.errors import ParameterError
from hyperlabel.studio import Project

RULES, GOLD = 20, (0, 20, 60)
SHOWN = (5, 10, 20)
_LOOKS = 40  # suggested items that are looked at for one with a candidate


@dataclass(frozen=True)
class Point:
    """Labels after a number of rules."""

    gold: int
    rules: int
    accuracy: float
    covered: float
    accuracy_of_labeled: float


def read_texts(path: Path, folder: Path) -> Path:
    """Write a table of the texts of a file of JSON lines, with the label as truth."""
    if not path.is_file():
        raise ParameterError(f"there are no texts at '{path}'; name a file of JSON lines with id, text and label")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    frame = pl.DataFrame({key: [row[key] for row in rows] for key in ("id", "text", "label")})
    table = folder / "texts.parquet"
    frame.rename({"label": "truth"}).write_parquet(table)
    return table


def follow(table: Path, folder: Path, n_gold: int, rules: int = RULES) -> list[Point]:
    """Follow the studio's suggestions; one point per rule."""
    points = []
    with Project(table, folder=folder) as project:
        truth = dict(zip(project.data.ids, (project.classes[c] for c in project.truth), strict=True))
        looked: set[str] = set()
        for rule in range(1, rules + 1):
            while len(project.state.gold) < n_gold * rule / rules:
                item = project.next_items("useful")[0]
                project.give_gold(item, truth[item], picked="useful")
            add_rule(project, truth, looked)
            points.append(measure(project, n_gold, rule))
    return points


def add_rule(project: Project, truth: dict[str, Hashable], looked: set[str]) -> None:
    """Take the top candidate of the next suggested item that has one and was not looked at before."""
    for item in project.next_items("useful", len(looked) + _LOOKS):
        if item in looked:
            continue
        looked.add(item)
        candidates = project.candidates(item, vote=truth[item], most=1)
        if candidates:
            project.add(candidates[0])
            return


def measure(project: Project, n_gold: int, rule: int) -> Point:
    """Measure the current labels; a row without a label is wrong."""
    best, truth = project.snapshot.best, project.truth
    correct, labeled = best == truth, best >= 0
    return Point(n_gold, rule, float(correct.mean()), float(labeled.mean()), float(np.mean(correct[labeled])))


def run(texts: Path, figure: Path | None) -> str:
    """Return the table of all points that are shown, and draw the curves."""
    curves = {}
    with tempfile.TemporaryDirectory() as name:
        table = read_texts(texts, Path(name))
        for n_gold in GOLD:
            curves[n_gold] = follow(table, Path(name, f"gold{n_gold}"), n_gold)
    if figure is not None:
        draw(curves, figure)
    return "\n".join(
        [
            f"{texts.stem}: the top candidate rule of each suggested item, and gold where suggested.",
            "",
            "| gold labels | rules | labeled rows | accuracy on these | accuracy on all rows |",
            "|---|---|---|---|---|",
            *(_row(point) for points in curves.values() for point in points if point.rules in SHOWN),
        ]
    )


def _row(point: Point) -> str:
    shares = (point.covered, point.accuracy_of_labeled, point.accuracy)
    return f"| {point.gold} | {point.rules} | " + " | ".join(f"{100 * share:.1f}%" for share in shares) + " |"


def draw(curves: dict[int, list[Point]], path: Path) -> None:
    """Draw both accuracies by the number of rules."""
    figure, panels = new_figure(8, 3.2, 1, 2, sharex=True, sharey=True)
    for axes, title, name in zip(
        panels.flat,
        ("accuracy on all rows", "accuracy on labeled rows"),
        ("accuracy", "accuracy_of_labeled"),
        strict=True,
    ):
        for (n_gold, points), color, marker in zip(curves.items(), COLOURS, MARKERS, strict=False):
            values = [100 * getattr(point, name) for point in points]
            rules = [point.rules for point in points]
            axes.plot(rules, values, color=color, marker=marker, markersize=3, label=f"{n_gold} gold labels")
        axes.set(title=title, xlabel="rules", ylim=(0, 100))
    panels.flat[0].set_ylabel("percent")
    panels.flat[0].legend(frameon=False)
    figure.savefig(path, dpi=DPI)
