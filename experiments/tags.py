"""Tags: micro and macro F1 on pairs of items of public sets, against majority vote of each tag by itself.

    python -m experiments tags --data DATA --out experiments/results/tags.md

Two items of a set become one: it has the classes of both as tags, and an LF gives it the classes that it votes for on
either; where it votes on neither, it abstains. An LF votes against tags that it knows and does not name.
"""

from pathlib import Path
from typing import Any

import numpy as np

import hyperlabel as hl
from experiments.markdown import number, table
from hyperlabel.tags import TagLabels

SETS = (
    "trec", "chemprot", "semeval", "crowd_ms", "crowd_cf", "crowd_adult", "crowd_web", "crowd_face", "domain",
    "panel_dices", "panel_mathvista", "panel_mmlu_pro",
)  # fmt: skip
MOST = 1500
"""Pairs of a set, at most."""


def pair_items(path: Path, seed: int = 0) -> tuple[dict[str, list[list[str] | None]], dict[int, list[str]]]:
    """Return votes of pairs of items, one column per LF, and their true tags."""
    arrays = np.load(path)
    votes, truth = arrays["L"].astype(int), arrays["y"].astype(int)
    order = np.random.default_rng(seed).permutation(np.flatnonzero(truth >= 0))
    n = min(len(order) // 2, MOST)
    one, two = order[:n], order[n : 2 * n]
    columns = {}
    for j in np.flatnonzero((votes >= 0).any(0)).tolist():
        pairs = zip(votes[one, j].tolist(), votes[two, j].tolist(), strict=True)
        columns[f"lf_{j}"] = [_names(pair) or None for pair in pairs]
    true = zip(truth[one].tolist(), truth[two].tolist(), strict=True)
    return columns, {i: _names(pair) for i, pair in enumerate(true)}


def _names(classes: tuple[int, int]) -> list[str]:
    return sorted({str(c) for c in classes if c >= 0})


def score(labels: TagLabels, truth: dict[int, list[str]]) -> tuple[float, float]:
    """Micro and macro F1."""
    f1 = labels.score(truth)["f1"]
    return 100 * float(f1[0]), 100 * float(f1[1])


def measure(path: Path) -> list[float]:
    votes, truth = pair_items(path)
    options: dict[str, Any] = {"tags": sorted({tag for tags in truth.values() for tag in tags} | _voted(votes))}
    by_model, by_majority = (hl.label_tags(votes, model=model, **options) for model in (None, "mv"))
    majority = by_majority.with_threshold(0.5 + 1e-6)
    return [value for each in (by_model, by_majority, majority) for value in score(each, truth)]


def _voted(votes: dict[str, list[list[str] | None]]) -> set[str]:
    return {tag for column in votes.values() for cell in column for tag in cell or ()}


def run(data: Path) -> str:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hl.VotesWarning)  # LFs of one tag each never vote against one
        scores = {name: measure(data / f"{name}.npz") for name in SETS}
    rows = [[name, *map(number, values)] for name, values in scores.items()]
    rows.append(["**mean**", *map(number, np.mean(list(scores.values()), 0))])
    ways = ("default", "majority, thresholds by F1", "majority vote")
    heads = [f"{way}, {which}" for way in ways for which in ("micro", "macro")]
    parts = [
        "# Tags",
        "`python -m experiments tags --data DATA --out experiments/results/tags.md`. F1 of tags on pairs of items.",
        table(["set", *heads], rows),
        "Where every LF names one tag only, no vote is against a tag, and all ways give the same tags.",
    ]
    return "\n\n".join(parts)
