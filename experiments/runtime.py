"""The paper's Tables 3 and 5, and how time grows: seconds from an array of votes to probabilities, on the CPU.

One process, one model after the other. A first run warms up and is measured for memory, not for time; of the next ones
the median counts. Sizes grow, and a size at which a model would exceed the budget of seconds or memory, judged by the
size before, is recorded as cut instead of run.
"""

import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.datasets import load_datasets
from experiments.markdown import beside, number, seconds, table, titled
from experiments.paper import CPU_SECONDS, SETS
from experiments.plots import new_figure, save, style
from experiments.protocol import check_models, model_order, named_model, unsupervised_models
from experiments.references import TIMED
from experiments.store import Cell, Options, Record, Store, read_records
from hyperlabel.data import Patterns, Votes

ITEMS = tuple(10**e for e in range(3, 8))
LFS = (5, 10, 20, 50, 100, 200, 500)
STANDARD_ITEMS, STANDARD_LFS = 10_000, 20
"""Size while the other one grows."""

FEW = 1000
"""Patterns at most, where there are few; where there are many, every item is drawn by itself."""

VOTES_SHARE, RIGHT_SHARE = 0.4, 0.75
"""How often an LF of the synthetic votes votes, and how often it is right."""


@dataclass(frozen=True)
class Budget:
    """What one cell may take."""

    seconds: float = 30.0  # for all timed runs of a cell together; at least one is made
    gigabytes: float = 8.0  # of memory on top of the votes


def run(
    options: Options,
    *,
    budget: Budget | None = None,
    items: Sequence[int] = ITEMS,
    lfs: Sequence[int] = LFS,
) -> None:
    """Time the models; records go to runtime.jsonl. `options.seeds` is the number of timed runs.

    Args:
        options: What to run, and where.
        budget: What one cell may take; that of `Budget` if not given.
        items: Numbers of items for the scaling plot; none leave it out.
        lfs: Numbers of LFs for the scaling plot.
    """
    limit = budget or Budget()
    names = options.models or tuple(unsupervised_models())
    ours = tuple(name for name in names if name not in TIMED)
    check_models(ours)
    store = Store(options.out / "runtime.jsonl", options.limit)
    sets = {data.name: data for data in load_datasets(options.data, options.sets)}
    real: list[Cell] = [{"part": "sets", "dataset": name, "model": model} for name in sets for model in names]
    grid = [(kind, *size) for kind in ("few", "many") for size in _sizes(items, lfs)]
    synthetic: list[Cell] = [
        {"part": "scaling", "axis": axis, "patterns": kind, "n": n, "m": m, "model": model}
        for kind, axis, n, m in grid
        for model in ours
    ]

    def work(cell: Cell) -> Record:
        if cell["part"] == "sets":
            data = sets[cell["dataset"]]
            about = {"family": data.family, "n": len(data.votes), "m": data.votes.shape[1], "k": data.k}
            return {**about, **_measure(cell["model"], data.votes, data.k, options.seeds, limit)}
        reason = _why_cut(cell, store.path, limit)
        if reason is not None:
            return {"cut": reason}
        votes = draw_votes(cell["n"], cell["m"], cell["patterns"])
        return _measure(cell["model"], votes, 2, options.seeds, limit)

    store.run([*real, *synthetic], work, options.progress)


def _sizes(items: Sequence[int], lfs: Sequence[int]) -> list[tuple[str, int, int]]:
    """The axis that grows, items and LFs."""
    return [("n", n, STANDARD_LFS) for n in items] + [("m", STANDARD_ITEMS, m) for m in lfs]


def _measure(model: str, votes: NDArray[Any], k: int, repeats: int, budget: Budget) -> Record:
    """Median seconds of a model, its extra memory, and the number of patterns."""
    label = _labeler(model, votes, k)
    peak = _peak_bytes(label)
    times: list[float] = []
    while len(times) < repeats and sum(times) < budget.seconds:
        times.append(_seconds(label))
    patterns = Patterns.from_votes(Votes.from_array(votes, n_classes=k)).n_patterns
    return {"seconds": float(np.median(times)), "times": times, "peak_bytes": peak, "n_patterns": patterns}


def _labeler(model: str, votes: NDArray[Any], k: int) -> Callable[[], object]:
    """What is timed: a label model of ours, or a reference implementation."""
    if model in TIMED:
        reference = TIMED[model]()
        return lambda: reference(votes, k)
    return lambda: named_model(model, n_classes=k).fit(votes).predict_proba(votes)


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _peak_bytes(call: Callable[[], object]) -> int:
    """The most memory that a call holds at a time; NumPy reports its arrays to Python's tracer."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@lru_cache(maxsize=1)
def draw_votes(n: int, m: int, kind: str) -> NDArray[np.int8]:
    """Votes of independent LFs on two classes, a few distinct rows many times or each row drawn by itself. -> (n, m).

    >>> draw_votes(5000, 8, "few").shape, len(np.unique(draw_votes(5000, 8, "few"), axis=0)) <= FEW
    ((5000, 8), True)
    """
    rng = np.random.default_rng([n, m])
    rows = min(n, FEW) if kind == "few" else n
    truth = rng.integers(0, 2, (rows, 1), dtype=np.int8)
    votes = np.empty((rows, m), np.int8)
    for column in votes.T:  # one LF at a time, since ten million items leave no room for (n, m) random numbers
        right = rng.random(rows, np.float32) < RIGHT_SHARE
        column[:] = np.where(right, truth[:, 0], 1 - truth[:, 0])
        column[rng.random(rows, np.float32) >= VOTES_SHARE] = -1
    return votes if rows == n else votes[(rows * rng.random(n) ** 2).astype(np.intp)]


def _why_cut(cell: Cell, path: Path, budget: Budget) -> str | None:
    """Why a cell is not run: what the next smaller size took, grown in proportion."""
    before = _next_smaller(cell, read_records(path) if path.exists() else [])
    if before is None:
        return None
    if "cut" in before:
        return str(before["cut"])
    growth = cell[cell["axis"]] / before[cell["axis"]]
    took, held = growth * before["seconds"], growth * before["peak_bytes"] / 1e9
    if took > budget.seconds:
        return f"about {took:.0f} s expected at {cell['n']:,} x {cell['m']}, over {budget.seconds:.0f} s"
    if held > budget.gigabytes:
        return f"about {held:.0f} GB expected at {cell['n']:,} x {cell['m']}, over {budget.gigabytes:.0f} GB"
    return None


def _next_smaller(cell: Cell, records: Sequence[Record]) -> Record | None:
    axis = cell["axis"]
    same = [r for r in records if all(r.get(f) == cell[f] for f in ("part", "axis", "patterns", "model"))]
    smaller = [r for r in same if r[axis] < cell[axis] and ("cut" in r or "peak_bytes" in r)]
    return max(smaller, key=lambda r: float(r[axis]), default=None)


def tables(records: Sequence[Record]) -> str:
    """All tables, as markdown."""
    real = {(r["model"], r["dataset"]): r for r in records if r["part"] == "sets" and "n_patterns" in r}
    synthetic = [r for r in records if r["part"] == "scaling"]
    parts = []
    if real:
        parts += [titled(RATIO_TITLE, _ratio_table(real)), titled(SET_TITLE, _set_table(real))]
    if synthetic:
        parts += [titled(_growth_title(kind), _growth_table(synthetic, kind)) for kind in ("few", "many")]
    cuts = [f"- `{r['model']}`, {r['patterns']} patterns: {r['cut']}" for r in synthetic if "cut" in r]
    notes = [f"- `{r['model']}` on {r.get('dataset', 'synthetic votes')}: {r['note']}" for r in records if "note" in r]
    if cuts or notes:
        parts += [
            titled(
                "Cut by the budget of seconds and memory, or without a time", "\n".join(dict.fromkeys([*cuts, *notes]))
            )
        ]
    return "\n\n".join(parts)


RATIO_TITLE = (
    "Time for all sets that were timed, and as a multiple of the time of `mv` and of `hlm` (geometric mean over sets)"
)
SET_TITLE = "Milliseconds by set (in brackets: the paper's, on its CPU)"


def _growth_title(kind: str) -> str:
    patterns = f"at most {FEW:,} patterns" if kind == "few" else "every item drawn by itself"
    return f"Time by items × LFs, synthetic votes, {patterns}"


def _ratio_table(real: Mapping[tuple[str, str], Record]) -> str:
    """Each model against majority vote and hlm, over the sets, and against hlm in the paper."""
    rows = []
    for model in model_order(model for model, _ in real):
        times = [r["seconds"] for (found, _), r in real.items() if found == model]
        to_vote, to_hlm = (_ratios(real, model, base) for base in ("mv", "hlm"))
        span = f"{_figures(min(to_hlm))} to {_figures(max(to_hlm))}" if to_hlm else "–"
        published = (
            [CPU_SECONDS[model][name] / CPU_SECONDS["hlm"][name] for name in SETS] if model in CPU_SECONDS else []
        )
        means = [_figures(_geometric_mean(ratios)) for ratios in (to_vote, to_hlm, published)]
        rows.append([model, str(len(times)), seconds(sum(times)), seconds(max(times)), *means[:2], span, means[2]])
    head = [
        "model",
        "sets",
        "all of them",
        "slowest set",
        "times `mv`",
        "times `hlm`",
        "least to most",
        "paper: times `hlm`",
    ]
    return table(head, rows)


def _ratios(real: Mapping[tuple[str, str], Record], model: str, base: str) -> list[float]:
    """How many times the base's seconds a model takes, on each set."""
    names = [name for found, name in real if found == model and (base, name) in real]
    return [real[model, name]["seconds"] / real[base, name]["seconds"] for name in names]


def _geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values)))) if values else float("nan")


def _figures(value: float) -> str:
    """Two figures at least."""
    return number(value, 0 if value >= 10 else 1 if value >= 1 else 2)


def _set_table(real: Mapping[tuple[str, str], Record]) -> str:
    """One row per set: its size, then the models, with the paper's seconds in brackets where it has some."""
    models = model_order(model for model, _ in real)
    rows = []
    for name in dict.fromkeys(name for _, name in real):
        found = {model: real[model, name] for model in models if (model, name) in real}
        about = next(iter(found.values()))
        cells = [_milliseconds(found.get(model), CPU_SECONDS.get(model, {}).get(name)) for model in models]
        rows.append([name, f"{about['n']:,}", f"{about['n_patterns']:,}", *cells])
    return table(["set", "items", "patterns", *models], rows)


def _milliseconds(record: Record | None, published: float | None) -> str:
    ours = float("nan") if record is None else 1e3 * record["seconds"]
    return beside(_figures(ours), None if published is None else 1e3 * published, 0)


def _growth_table(synthetic: Sequence[Record], kind: str) -> str:
    """A row a model, a column a size."""
    chosen = {(r["model"], r["n"], r["m"]): r for r in synthetic if r["patterns"] == kind}
    sizes = sorted({(n, m) for _, n, m in chosen}, key=lambda size: (size[1] != STANDARD_LFS, size))
    rows = []
    for model in model_order(model for model, _, _ in chosen):
        found = [chosen.get((model, *size), {}) for size in sizes]
        cells = ["cut" if "cut" in r else seconds(r["seconds"]) if "n_patterns" in r else "–" for r in found]
        rows.append([model, *cells])
    return table(["model", *(f"{_power(n)} × {m}" for n, m in sizes)], rows)


def _power(n: int) -> str:
    """A size as people write it."""
    exponent = round(np.log10(n))
    return f"10<sup>{exponent}</sup>" if n == 10**exponent else f"{n:,}"


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Seconds over items and over LFs, with few and with many patterns."""
    timed = [r for r in records if r["part"] == "scaling" and "n_patterns" in r]
    if not timed:
        return []
    figure, panels = new_figure(11, 8, 2, 2, sharey=True)
    for axes, (kind, axis) in zip(panels.flat, AXES, strict=True):
        chosen = [r for r in timed if r["axis"] == axis and r["patterns"] == kind]
        for model in model_order(r["model"] for r in chosen):
            line = sorted((r[axis], r["seconds"]) for r in chosen if r["model"] == model)
            axes.plot(*zip(*line, strict=True), **style(model))
        axes.set(xscale="log", yscale="log", title=_panel_title(kind, axis), ylabel="seconds")
        sizes = sorted({r[axis] for r in chosen})
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("items" if axis == "n" else "LFs")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", title="label model")
    return [save(figure, folder / "runtime_scaling.png")]


AXES = (("few", "n"), ("few", "m"), ("many", "n"), ("many", "m"))


def _panel_title(kind: str, axis: str) -> str:
    fixed = f"{STANDARD_LFS} LFs" if axis == "n" else f"{STANDARD_ITEMS:,} items"
    return f"{fixed}, " + (f"at most {FEW:,} patterns" if kind == "few" else "every item drawn by itself")
