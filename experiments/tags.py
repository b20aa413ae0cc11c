"""Tags: micro and macro F1 on pairs of items of public sets, against majority vote of each tag by itself.

    python -m experiments tags --data DATA --out experiments/results/tags.md

Two items of a set become one: it has the classes of both as tags, and an LF gives it the classes that it votes for. An
LF votes against tags that it knows and does not name. It votes on a pair if it votes on both items, as a person sees
the whole of an item; or on either of them, so that many of its votes against a tag are wrong.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import hyperlabel as hl
from experiments.markdown import number, table
from hyperlabel.tags import TagLabels

SETS = (
    "crowd_ms", "crowd_cf", "crowd_adult", "crowd_web", "crowd_face", "domain", "panel_dices", "panel_mathvista",
    "panel_mmlu_pro",
)  # fmt: skip
WAYS = ("default", "majority, thresholds by F1", "majority vote")
MOST = 1500
"""Pairs of a set, at most."""
PAIRINGS = 4
"""Ways to pair the items of a set; scores are their means."""

Pairs = tuple[dict[str, list[list[str] | None]], dict[int, list[str]]]


def pair_items(path: Path, seed: int = 0, whole: bool = True) -> Pairs:
    """Return votes of pairs of items, one column per LF, and their true tags; `whole`: votes on both items only."""
    arrays = np.load(path)
    votes, truth = arrays["L"].astype(int), arrays["y"].astype(int)
    order = np.random.default_rng(seed).permutation(np.flatnonzero(truth >= 0))
    n = min(len(order) // 2, MOST)
    one, two = order[:n], order[n : 2 * n]
    columns = {}
    for j in range(votes.shape[1]):
        pairs = zip(votes[one, j].tolist(), votes[two, j].tolist(), strict=True)
        column = [None if whole and min(pair) < 0 else _names(pair) or None for pair in pairs]
        if any(column):
            columns[f"lf_{j}"] = column
    true = zip(truth[one].tolist(), truth[two].tolist(), strict=True)
    return columns, {i: _names(pair) for i, pair in enumerate(true)}


def _names(classes: tuple[int, int]) -> list[str]:
    return sorted({str(c) for c in classes if c >= 0})


def score(labels: TagLabels, truth: dict[int, list[str]]) -> tuple[float, float]:
    """Micro and macro F1."""
    f1 = labels.score(truth)["f1"]
    return 100 * float(f1[0]), 100 * float(f1[1])


def with_best_thresholds(labels: TagLabels, truth: dict[int, list[str]]) -> TagLabels:
    """Return the labels with the thresholds that the truth likes best, tag by tag: how well the tags are ranked."""
    true = np.array([[tag in truth.get(i, ()) for tag in labels.tags] for i in range(len(labels))])
    cuts = []
    for tag in range(len(labels.tags)):
        voted = labels.voted[:, tag]
        levels = np.unique(labels.probabilities[voted, tag])
        taken = voted & (labels.probabilities[:, tag] >= levels[:, None])
        f1 = 2 * (taken & true[:, tag]).sum(1) / np.maximum(taken.sum(1) + true[:, tag].sum(), 1)
        cuts.append(levels[f1.argmax()] if f1.any() else np.inf)
    taken = labels.voted & (labels.probabilities >= np.array(cuts))
    return replace(labels, taken=taken, thresholds=np.array(cuts))


def measure(path: Path, seed: int, whole: bool) -> list[float]:
    """Micro and macro F1 of the ways, then of the first two with the best thresholds; items without votes are out."""
    votes, truth = pair_items(path, seed, whole)
    truth = {i: tags for i, tags in truth.items() if any(column[i] for column in votes.values())}
    options: dict[str, Any] = {"tags": sorted({tag for tags in truth.values() for tag in tags} | _voted(votes))}
    by_model, by_majority = (hl.label_tags(votes, model=model, **options) for model in (None, "mv"))
    ways = [by_model, by_majority, by_majority.with_threshold(0.5 + 1e-6)]
    ways += [with_best_thresholds(each, truth) for each in (by_model, by_majority)]
    return [value for each in ways for value in score(each, truth)]


def _voted(votes: dict[str, list[list[str] | None]]) -> set[str]:
    return {tag for column in votes.values() for cell in column for tag in cell or ()}


def run(data: Path) -> str:
    return "\n\n".join([
        "# Tags",
        "`python -m experiments tags --data DATA --out experiments/results/tags.md`. F1 of tags on pairs of items that "
        f"have a vote, means of {PAIRINGS} pairings. Best thresholds: those that the truth would choose, so that only "
        "the order of the items counts. Macro F1 counts a tag that is never true as 0 if it is taken once "
        "(panel_dices).",
        "An LF votes on a pair if it votes on both items:",
        _compare(data, whole=True),
        "An LF votes on a pair if it votes on one of the items, so that it votes against the other one's tag:",
        _compare(data, whole=False),
    ])  # fmt: skip


def _compare(data: Path, whole: bool) -> str:
    scores = np.array([
        np.mean([measure(data / f"{name}.npz", seed, whole) for seed in range(PAIRINGS)], 0) for name in SETS
    ])  # fmt: skip
    k = 2 * len(WAYS)
    rows = [[name, *map(number, row[:k])] for name, row in zip(SETS, scores, strict=True)]
    means = [number(value) for value in scores.mean(0)]
    rows += [["**mean**", *means[:k]], ["mean, best thresholds", *means[k:], "", ""]]
    return table(["set", *(f"{way}, {which}" for way in WAYS for which in ("micro", "macro"))], rows)
