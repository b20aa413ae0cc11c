"""Speed of the label models, as ratios within one run.

    python -m experiments label_models --data DATA --out experiments/results/label_models

Needs `pip install snorkel==0.10.0 crowd-kit==1.4.2` beside hyperlabel. Run nothing else meanwhile. Compared are:
`metal` with Snorkel's LabelModel (the same 100 steps), `ds` with crowd-kit's DawidSkene at equal iterations, every
iterative model on patterns with the same code fed the items one by one, at equal steps (the steps of `metal` see
neither, but a matrix of overlaps), and all unsupervised models together. One file per part; `--parts` runs some.
"""

import dataclasses
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import hyperlabel as hl
from experiments.datasets import DataSet, load_datasets
from experiments.record import keep_result
from experiments.speed import geometric_mean, median_seconds
from hyperlabel.models import label_model_class

FEW_PATTERNS = ("imdb", "youtube", "sms", "commercial", "box_claude9", "mushroom_weshap20", "hausa", "rna")
ITERATIVE = ("ds", "hds", "ebcc", "metal", "dp", "nplm", "cll")
EQUAL_STEPS: dict[str, dict[str, Any]] = {
    "ebcc": {"max_iter": 20, "tol": 0.0}
}  # its starts are drawn anew for items; the others need as many
MANY_ITEMS = 10_000  # of which an item-by-item fit is timed once


def ratio_line(name: str, theirs: Callable[[], object], ours: Callable[[], object]) -> tuple[str, float]:
    slow, fast = median_seconds(theirs, 3), median_seconds(ours, 5)
    line = f"| {name} | {1e3 * fast:.1f} | {1e3 * slow:.1f} | {slow / fast:.1f} |"
    print(line, flush=True)
    return line, slow / fast


def against_snorkel(sets: list[DataSet]) -> list[str]:
    """MeTaL as Snorkel fits it: uniform balance, 100 steps."""
    from snorkel.labeling.model import LabelModel

    lines, ratios = [], []
    for each in (s for s in sets if s.votes.shape[1] >= 3):

        def theirs(each: DataSet = each) -> object:
            model = LabelModel(cardinality=each.k, verbose=False)
            model.fit(each.votes, seed=0, progress_bar=False)
            return model.predict_proba(each.votes)

        def ours(each: DataSet = each) -> object:
            return (
                hl.label_model("metal", **METAL_AS_SNORKEL, n_classes=each.k).fit(each.votes).predict_proba(each.votes)
            )

        line, ratio = ratio_line(each.name, theirs, ours)
        lines.append(line)
        ratios.append(ratio)
    return [*lines, f"| **geometric mean** | | | **{geometric_mean(ratios):.1f}** (at least 15 wanted) |"]


METAL_AS_SNORKEL = {"sgd_steps": 100}


def against_crowdkit(sets: list[DataSet]) -> list[str]:
    """Dawid-Skene, 20 iterations each."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    lines = []
    for each in (
        s for s in sets if s.name in ("imdb", "youtube", "commercial", "crowd_web", "crowd_face", "crowd_adult")
    ):
        item, lf = np.nonzero(each.votes >= 0)
        frame = pd.DataFrame({"task": item, "worker": lf, "label": each.votes[item, lf]})
        parameters = {"abstain": "ignore", "max_iter": 20, "tol": 0.0, "n_classes": each.k}

        def ours(each: DataSet = each, parameters: dict[str, object] = parameters) -> object:
            return hl.label_model("ds", **parameters).fit(each.votes).predict_proba(each.votes)

        def theirs(frame: object = frame) -> object:
            return DawidSkene(n_iter=20, tol=-1.0).fit_predict_proba(frame)

        lines.append(ratio_line(each.name, theirs, ours)[0])
    return lines


def one_by_one(patterns: hl.Patterns) -> hl.Patterns:
    """The same items, each a pattern of its own."""
    assert patterns.inverse is not None  # they were made from votes
    rows, n = patterns.rows.take(patterns.inverse), len(patterns.inverse)
    return dataclasses.replace(patterns, rows=rows, counts=np.ones(n, np.int64), inverse=np.arange(n))


def against_items(sets: list[DataSet]) -> list[str]:
    """Every iterative model on patterns and on items: how much longer items take, by set."""
    chosen = {each.name: each for each in sets if each.name in FEW_PATTERNS}
    lines = []
    for name in ITERATIVE:
        ratios = [items_ratio(name, chosen[few]) for few in FEW_PATTERNS]
        cells = " | ".join(f"{ratio:.1f}" for ratio in ratios)
        lines.append(f"| {name} | {cells} | {geometric_mean(ratios):.1f} |")
        print(lines[-1], flush=True)
    return lines


def items_ratio(name: str, each: DataSet) -> float:
    patterns = hl.Patterns.from_votes(hl.Votes.from_array(each.votes, n_classes=each.k))
    items, model = one_by_one(patterns), label_model_class(name)(n_classes=each.k, **EQUAL_STEPS.get(name, {}))
    fast = median_seconds(lambda: model.fit_patterns(patterns), 15)
    return median_seconds(lambda: model.fit_patterns(items), 1 if patterns.n_items > MANY_ITEMS else 5) / fast


def all_together(sets: list[DataSet]) -> list[str]:
    """Fit and predict, every unsupervised model on every set."""
    lines, total = [], 0.0
    for name in (n for n in hl.label_models() if not label_model_class(n).needs_gold):
        start = time.perf_counter()
        for each in sets:
            try:
                hl.label_model(name, n_classes=each.k).fit(each.votes).predict(each.votes)
            except hl.ParameterError:
                continue
        total += time.perf_counter() - start
        lines.append(f"| {name} | {time.perf_counter() - start:.1f} |")
        print(lines[-1], flush=True)
    return [*lines, f"| **together** | **{total:.1f}** (under 300 wanted) |"]


PEER = "| set | hyperlabel, ms | peer, ms | peer / hyperlabel |\n|---|---|---|---|"
PARTS = {  # name: what makes its rows, and the head of its table
    "metal_snorkel": (against_snorkel, PEER),
    "ds_crowdkit": (against_crowdkit, PEER),
    "patterns_items": (against_items, f"| model | {' | '.join(FEW_PATTERNS)} | geometric mean |\n{'|---' * 10}|"),
    "all_models": (all_together, "| model | seconds, all sets |\n|---|---|"),
}


def run(data: Path, parts: Sequence[str], out: Path | None) -> None:
    """Time some parts; the table of each goes to a file of its own."""
    warnings.simplefilter("ignore")
    sets = load_datasets(data)
    for name in parts:
        rows, head = PARTS[name]
        keep_result("\n".join([head, *rows(sets)]), out and out / f"{name}.md")
