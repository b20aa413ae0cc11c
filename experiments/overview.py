"""What to expect of the default, and where it loses: the opening of docs/benchmarks.md, from the records alone."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments import endmodel, semi
from experiments.aggregate import ALL_ROWS, Board
from experiments.markdown import bold_best, number, table
from experiments.paper import SETS
from experiments.references import RELEASED
from experiments.store import read_records

DEFAULT = "hlm3"
ROWS = {
    DEFAULT: "`hlm3`, the default",
    "hlm": "`hlm`, the paper's model",
    RELEASED: "the authors' package",
    "mv": "majority vote",
    "bv": "balanced vote, `bv`",
    "ds": "Dawid-Skene, `ds`",
    "metal": "MeTaL, `metal`\\*",
}
"""Models of the first table, and how it calls them."""
FAMILY_NAMES = {"wrench": "WRENCH", "crowd": "crowds", "panel": "panels", "other": "other LFs"}
FAR, FARTHER = 1.0, 3.0
"""Points by which majority vote, or the best of all other models, is ahead where the default loses."""


def overview(results: Path) -> str:
    """The two opening sections, as markdown; without records of Table 2, a line that says so."""
    path = results / "aggregate.jsonl"
    board = Board.from_records(read_records(path) if path.exists() else [], ALL_ROWS)
    if DEFAULT not in board.models or "mv" not in board.models:
        return "## What to expect\n\nThe default was not run yet.\n"
    expected = [
        _score_table(board),
        *_metal_note(board),
        _against_vote(board),
        *_with_gold(results),
        *_end_models(results),
    ]
    losses = "\n".join(f"- {line}" for line in [*_lost_sets(board), *_lost_gold(results)])
    return "\n\n".join(["## What to expect", *expected, "## Where it loses", losses]) + "\n"


def _metal_note(board: Board) -> list[str]:
    scores = [
        r["scores_by_prior"]["uniform"] for name in board.all_sets for r in board.found.get(("metal", name), [])[:1]
    ]
    note = "\\* with the better of two class balances, judged by the truth, as in the paper; with a uniform one"
    return [f"{note} {np.mean(scores):.1f} on all."] if scores else []


def _score_table(board: Board) -> str:
    models = [model for model in ROWS if model in board.models]
    columns = {f"{FAMILY_NAMES.get(f, f)} ({len(names)})": names for f, names in board.sets.items()}
    columns["all"] = board.all_sets
    cells = []
    for field, digits in (("score", 1), ("brier", 3)):
        for names in columns.values() if field == "score" else [board.all_sets]:
            means = [_mean(board.averages(model, names, field)) for model in models]
            cells.append(bold_best([number(m, digits) for m in means], means, digits, lowest=field == "brier"))
    rows = [[ROWS[model], *each] for model, *each in zip(models, *cells, strict=True)]
    return table(["accuracy or F1, percent", *columns, "Brier score"], rows)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def _gaps(board: Board, model: str) -> dict[str, float]:
    """Points of the default over a model, by set."""
    mean = {(m, s): _mean(board.values(m, s)) for m in (DEFAULT, model) for s in board.all_sets}
    return {name: mean[DEFAULT, name] - mean[model, name] for name in board.all_sets}


def _against_vote(board: Board) -> str:
    gaps = np.array(list(_gaps(board, "mv").values()))
    ahead, behind = int((gaps >= FAR).sum()), int((gaps <= -FAR).sum())
    return (
        f"Against majority vote the default is ahead by {FAR:g} point or more on {ahead} of {len(gaps)} sets, behind "
        f"on {behind}; the median difference is {np.median(gaps):+.1f} points, the mean {gaps.mean():+.1f}. Expect "
        "little where rules agree, and much where classes are unbalanced or judges differ in skill."
    )


def _gains(results: Path) -> dict[int, float]:
    """Points that gold adds to the default on the paper's sets, by number of gold items."""
    path = results / "semi.jsonl"
    records = [r for r in read_records(path) if r["dataset"] in SETS] if path.exists() else []
    by_size = semi.Results(records)
    scores, without = (by_size.curve(DEFAULT, "wrench", field) for field in ("score", "unsupervised"))
    return {size: _mean(scores[size]) - _mean(without[size]) for size in scores}


def _with_gold(results: Path) -> list[str]:
    gains = ", ".join(f"{size:,}: {gain:+.1f}" for size, gain in _gains(results).items())
    return [f"**With gold** on the paper's sets, points by number of gold items: {gains}."] if gains else []


def _end_models(results: Path) -> list[str]:
    path = results / "endmodel.jsonl"
    scored = [r for r in read_records(path) if "score" in r] if path.exists() else []
    lines = [_end_model_line(endmodel.Results(scored))] if scored else []
    return [line for line in lines if line]


def _end_model_line(results: endmodel.Results) -> str:
    """The mean over the sets that all of some label models have."""
    models = [model for model in (DEFAULT, "hlm", "mv", endmodel.TRUTH) if model in results.models]
    sets = [name for name in results.sets if all(results.values(model, name) for model in models)]
    if DEFAULT not in models or not sets:
        return ""
    means = [f"{model} {np.mean([results.mean(model, name) for name in sets]):.1f}" for model in models]
    return f"**A classifier trained on the labels**, mean score on {len(sets)} test splits: {', '.join(means)}."


def _lost_sets(board: Board) -> list[str]:
    to_vote = {name: gap for name, gap in _gaps(board, "mv").items() if gap <= -FAR}
    listed = ", ".join(f"{name} ({gap:+.1f})" for name, gap in sorted(to_vote.items(), key=lambda each: each[1]))
    lines = [f"**Behind majority vote** by {FAR:g} point or more: {listed or 'nowhere'}."]
    best = {name: _best_other(board, name) for name in board.all_sets}
    far = {name: each for name, each in best.items() if each[1] >= FARTHER}
    listed = ", ".join(f"{name} (`{m}` {g:+.1f})" for name, (m, g) in sorted(far.items(), key=lambda e: -e[1][1]))
    return [*lines, f"**Some other model is {FARTHER:g} points or more ahead**: {listed or 'nowhere'}. No model is the "
            "best everywhere; `hyperlabel compare` shows which is on your votes."]  # fmt: skip


def _best_other(board: Board, name: str) -> tuple[str, float]:
    """The model with the best score on a set, and its distance from the default."""
    others = [model for model in board.models if model != DEFAULT and board.values(model, name)]
    best = max(others, key=lambda model: _mean(board.values(model, name)))
    return best, _mean(board.values(best, name)) - _mean(board.values(DEFAULT, name))


def _lost_gold(results: Path) -> list[str]:
    sizes = [f"{size:,}" for size, gain in _gains(results).items() if gain < 0]
    return (
        [f"**With few gold labels** it falls behind itself without gold, at {', '.join(sizes)} items."] if sizes else []
    )
