r"""Right labels of a person who follows the studio, beside active labeling with logistic regression.

    python -m experiments studio_person --out experiments/results/studio_person.md \
        --figure docs/pictures/studio-person.png

The person is a script that knows the true class of an item it looks at, and nothing else. It begins with no rule. Of
four interactions three give the class of the item that the studio suggests, and one accepts the first candidate rule
of the item before. The rival gives the class of as many items as there are interactions: ten at random, then five at a
time those with the smallest margin between the two most probable classes of logistic regression on TF-IDF. Whatever a
person labeled counts as right, for both. Sets above 3,000 items are cut to a random 3,000.
"""

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from experiments.plots import COLOURS, DPI, new_figure
from hyperlabel.errors import ParameterError
from hyperlabel.studio import Project

INTERACTIONS = (40, 80, 160)
SETS = ("dbpedia", "banking77", "clickbait", "agnews", "trec", "youtube_prompt", "sms_prompt", "spouse")
_MOST = 3000
_RULE = 4  # every fourth interaction is a rule
Curve = tuple[str, list[float], dict[int, float]]  # a set, and the shares of the studio and of the rival
_FIRST, _STEP = 10, 5  # labels of the rival that are random, and labels between two of its models


@dataclass(frozen=True)
class Texts:
    """Texts and their true classes."""

    name: str
    texts: list[str]
    truth: NDArray[np.int64]  # (n,) class numbers

    @classmethod
    def read(cls, data: Path, name: str, most: int = _MOST) -> "Texts":
        """Read a set with its truth beside the texts (`items`) or in an array (`text`)."""
        paths = [data / "items" / f"{name}.jsonl", data / "text" / f"{name}.jsonl"]
        path = next((path for path in paths if path.is_file()), None)
        if path is None:
            raise ParameterError(f"there are no texts at '{paths[0]}' nor '{paths[1]}'; name the folder with --data")
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        truth = [row["truth"] for row in rows] if "truth" in rows[0] else np.load(path.with_suffix(".npz"))["y"]
        kept = np.sort(np.random.default_rng(0).permutation(len(rows))[:most])
        return cls(name, [rows[i]["text"] for i in kept], np.unique(truth, return_inverse=True)[1][kept])

    def open(self, folder: Path) -> Project:
        """Open a project of the texts."""
        truth = [f"class {number:02}" for number in self.truth]
        pl.DataFrame({"text": self.texts, "truth": truth}).write_parquet(folder / "texts.parquet")
        return Project(folder / "texts.parquet")


def follow(texts: Texts, last: int = INTERACTIONS[-1]) -> list[float]:
    """Follow the studio; the share of right labels after each interaction."""
    shares: list[float] = []
    with tempfile.TemporaryDirectory() as folder, texts.open(Path(folder)) as project:
        item = ""
        while len(shares) < last:
            if len(shares) % _RULE != _RULE - 1 or not add_rule(project, item):
                item = project.next_items()[0]
                project.give_gold(item, true_class(project, item))
            shares.append(project.stats.truth.value)
    return shares


def true_class(project: Project, item: str) -> Any:
    """Return the true class of an item."""
    return project.classes[project.truth[project.data.row_of[item]]]


def add_rule(project: Project, item: str) -> bool:
    """Accept the first candidate of an item; False if there is none."""
    candidates = project.candidates(item, vote=true_class(project, item), most=1)
    for candidate in candidates:
        project.add(candidate)
    return bool(candidates)


def label_actively(texts: Texts, last: int = INTERACTIONS[-1], seed: int = 0) -> dict[int, float]:
    """Label the least certain items; the share of right labels by the number of labels."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    rng, truth = np.random.default_rng(seed), texts.truth
    features = TfidfVectorizer(sublinear_tf=True).fit_transform(texts.texts)
    known = rng.choice(len(truth), _FIRST, replace=False)
    shares: dict[int, float] = {}
    while True:
        labels, margin = np.full(len(truth), truth[known[0]]), rng.random(len(truth))
        if len(np.unique(truth[known])) > 1:
            model = LogisticRegression(C=10, max_iter=200).fit(features[known], truth[known])
            probabilities = model.predict_proba(features)
            top = np.sort(probabilities, axis=1)[:, -2:]
            labels, margin = model.classes_[probabilities.argmax(1)], top[:, 1] - top[:, 0]
        labels[known], margin[known] = truth[known], np.inf
        shares[len(known)] = float((labels == truth).mean())
        if len(known) >= last:
            return shares
        known = np.concatenate([known, np.argsort(margin, kind="stable")[:_STEP]])


def run(data: Path, names: tuple[str, ...], figure: Path | None) -> str:
    """Return the table of all sets and their mean, and draw the mean."""
    curves: list[Curve] = []
    for name in names:
        texts = Texts.read(data, name)
        curves.append((name, follow(texts), label_actively(texts)))
        print(_row(*_points(curves[-1])), file=sys.stderr, flush=True)
    if figure is not None:
        draw(curves, figure)
    header = [f"{who} {n}" for n in INTERACTIONS for who in ("studio", "LR", "gain")]
    points = [_points(curve) for curve in curves]
    means = np.mean([shares for _, shares in points], axis=0).tolist()
    return "\n".join(
        [
            "Percent of all rows with the right label after 40, 80 and 160 interactions.",
            "",
            f"| set | {' | '.join(header)} |",
            f"|---|{'--:|' * len(header)}",
            *(_row(*each) for each in points),
            _row("**mean**", means),
        ]
    )


def _points(curve: Curve) -> tuple[str, list[float]]:
    """Return the name and the percentages of the table, the studio's and the rival's in turn."""
    name, studio, rival = curve
    return name, [100 * share for n in INTERACTIONS for share in (studio[n - 1], rival[n])]


def _row(name: str, shares: list[float]) -> str:
    pairs = zip(shares[::2], shares[1::2], strict=True)
    return f"| {name} | " + " | ".join(f"{a:.1f} | {b:.1f} | {a - b:+.1f}" for a, b in pairs) + " |"


def draw(curves: list[Curve], path: Path) -> None:
    """Draw the mean shares by the number of interactions."""
    figure, panels = new_figure(5, 3.2, 1, 1)
    axes = panels.flat[0]
    numbers = sorted(curves[0][2])
    studio = [100 * np.mean([a[n - 1] for _, a, _ in curves]) for n in numbers]
    rival = [100 * np.mean([b[n] for _, _, b in curves]) for n in numbers]
    axes.plot(numbers, studio, color=COLOURS[0], label="studio")
    axes.plot(numbers, rival, color=COLOURS[1], label="active labeling + logistic regression")
    axes.set(xlabel="interactions", ylabel="right labels, percent", ylim=(0, 100), title=f"mean of {len(curves)} sets")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=DPI)
