"""What the benchmarks share: real votes with truth, from npz files with an `anchors.json` beside them, and results."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class RealSet:
    """A set without the items nobody votes on and the LFs that never vote."""

    name: str
    family: str
    metric: str
    k: int
    votes: np.ndarray  # (n, m) int64
    truth: np.ndarray  # (n,) int64, -1 unknown

    def score(self, labels: np.ndarray) -> float:
        """Accuracy, or F1 of class 1, of items whose truth is known, in per cent."""
        known = self.truth >= 0
        truth, labels = self.truth[known], np.asarray(labels)[known]
        if self.metric == "f1":
            both = ((labels == 1) & (truth == 1)).sum()
            return 100 * 2 * both / max(1, (labels == 1).sum() + (truth == 1).sum())
        return 100 * (labels == truth).mean()


def load_sets(folder: Path) -> Iterator[RealSet]:
    """All sets of a folder."""
    anchors = json.loads((folder / "anchors.json").read_text())
    for name, anchor in anchors.items():
        data = np.load(folder / f"{name}.npz")
        votes, truth = data["L"].astype(np.int64), data["y"].astype(np.int64)
        votes = votes[:, (votes >= 0).any(0)]
        voted = (votes >= 0).any(1)
        yield RealSet(name, anchor["family"], anchor["metric"], anchor["k"], votes[voted], truth[voted])


def write_result(text: str, path: Path | None) -> None:
    """Keep a result, if a place is named."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
