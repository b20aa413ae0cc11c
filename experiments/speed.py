"""Speed of labelling, array in, labels out, as ratios within one run.

    python -m experiments speed --data DATA --out experiments/results/speed.md

Needs torch and `pip install --no-deps hyperlm==0.0.5` beside hyperlabel. Run nothing else meanwhile. Against
the authors' package: every real set, and a million items by 10 LFs. Against a NumPy majority vote on the raw
array: the same, and ten million items by 20 LFs with the peak of extra memory. Last, the time of the import.
Both bundled models are timed: `hlm`, which is the paper's, and the default.
"""

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import hyperlabel as hl
from experiments.datasets import DataSet, load_datasets
from experiments.references import time_hyperlm

Votes = np.ndarray

OURS = ("hlm", "default")


def take_seconds(call: Callable[[], object], repeats: int) -> list[float]:
    """The times of several calls, after one that warms up."""
    call()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds


def median_seconds(call: Callable[[], object], repeats: int = 5) -> float:
    return float(np.median(take_seconds(call, repeats)))


def majority_vote(votes: Votes, k: int) -> Votes:
    return np.stack([(votes == c).sum(1) for c in range(k)], 1).argmax(1)


def label(weights: str, votes: Votes) -> object:
    return hl.HyperLabelModel(weights=weights).predict(votes)


def draw_votes(n: int, m: int, patterns: int, seed: int = 0) -> Votes:
    """Votes with so many patterns: rows are drawn from a pool, some more often than others."""
    rng = np.random.default_rng(seed)
    drawn = np.where(rng.random((4 * patterns, m)) < 0.4, rng.integers(0, 2, (4 * patterns, m)), -1).astype(np.int8)
    pool = rng.permutation(np.unique(drawn, axis=0))[:patterns]
    return pool[(patterns * rng.random(n) ** 2).astype(np.intp)]


def row(name: str, votes: Votes, k: int, peer: Callable[[Votes], object] | None, repeats: int = 5) -> dict[str, Any]:
    ours = {w: median_seconds(partial(label, w, votes), repeats) for w in OURS}
    vote = median_seconds(lambda: majority_vote(votes, k), repeats)
    theirs = None if peer is None else median_seconds(lambda: peer(votes), 5 if len(votes) < 100_000 else 1)
    patterns = hl.Patterns.from_votes(hl.Votes.from_array(votes)).n_patterns
    return {"set": name, "n": len(votes), "m": votes.shape[1], "k": k, "patterns": patterns,
            **ours, "vote": vote, "hyperlm": theirs}  # fmt: skip


def show(rows: list[dict[str, Any]]) -> str:
    columns = [f"{w}, ms | hyperlm / {w} | {w} / majority vote" for w in OURS]
    lines = [f"| set | items | LFs | classes | patterns | {' | '.join(columns)} |", "|---" * 11 + "|"]
    for r in rows:
        cells = [f"{r['set']} | {r['n']:,} | {r['m']} | {r['k']} | {r['patterns']:,}"]
        for w in OURS:
            peer = "" if r["hyperlm"] is None else f"{r['hyperlm'] / r[w]:.1f}"
            cells.append(f"{1e3 * r[w]:.2f} | {peer} | {r[w] / r['vote']:.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def peak_extra_memory(what: str) -> float:
    """Gigabytes that labelling 10 million x 20 adds to a process: by our weights, or by `majority` vote."""
    command = [sys.executable, "-m", "experiments.speed", what]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def print_memory(what: str) -> None:
    votes = draw_votes(10_000_000, 20, 20_000)
    tracemalloc.start()  # NumPy reports its buffers to it
    if what == "majority":
        majority_vote(votes, 2)
    else:
        label(what, votes)
    print(tracemalloc.get_traced_memory()[1] / 1e9)


def import_ratio() -> tuple[float, float]:
    """Median milliseconds of `import numpy` and of `import hyperlabel`, each in a fresh interpreter, in turn."""
    command = "import time; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"
    seconds: dict[str, list[float]] = {"numpy": [], "hyperlabel": []}
    for _ in range(11):
        for name, taken in seconds.items():
            done = subprocess.run(
                [sys.executable, "-c", command.format(name)], capture_output=True, text=True, check=True
            )
            taken.append(float(done.stdout))
    return 1e3 * float(np.median(seconds["numpy"])), 1e3 * float(np.median(seconds["hyperlabel"]))


def measured(weights: str, real: list[tuple[DataSet, dict[str, Any]]], large: list[dict[str, Any]]) -> dict[str, str]:
    """Figures of one of our models, by target."""
    peer = {each.name: r["hyperlm"] / r[weights] for each, r in real}
    wrench = geometric_mean([peer[each.name] for each, _ in real if each.family == "wrench"])
    costs = max(r[weights] / r["vote"] for _, r in real if r["n"] > 10_000)
    million, ten_million = (r[weights] / r["vote"] for r in large)
    return {
        "hyperlm / ours, WRENCH sets, geometric mean | at least 15": f"{wrench:.1f}",
        f"hyperlm / ours, least of the {len(real)} sets | at least 3": f"{min(peer.values()):.1f}",
        "hyperlm / ours, 1 million x 10 | at least 60": f"{large[0]['hyperlm'] / large[0][weights]:.0f}",
        "ours / majority vote, 1 million x 10 | at most 3": f"{million:.2f}",
        "ours / majority vote, 10 million x 20 | at most 3": f"{ten_million:.2f}",
        "ours / majority vote, real sets above 10,000 items, most | at most 8": f"{costs:.2f}",
        "peak extra memory, 10 million x 20 | at most 1 GB": f"{peak_extra_memory(weights):.2f} GB",
    }


def summary(real: list[tuple[DataSet, dict[str, Any]]], large: list[dict[str, Any]]) -> list[str]:
    columns = [measured(weights, real, large) for weights in OURS]
    numpy_ms, hyperlabel_ms = import_ratio()
    ratio = f"{hyperlabel_ms / numpy_ms:.2f}"
    return [
        f"| what | wanted | {' | '.join(OURS)} |",
        "|---" * (2 + len(OURS)) + "|",
        *[f"| {what} | {' | '.join(each[what] for each in columns)} |" for what in columns[0]],
        f"| import hyperlabel / import numpy ({numpy_ms:.0f} ms) | at most 2 | {' | '.join([ratio] * len(OURS))} |",
        "",
        f"Majority vote on 10 million x 20 takes {peak_extra_memory('majority'):.2f} GB.",
    ]


def run(data: Path) -> str:
    """Times of all sets and of large votes, and what the targets speak of."""
    infer = time_hyperlm()

    def peer(votes: Votes) -> object:
        return infer(votes, 0)  # it counts the classes itself

    real = []
    for each in load_datasets(data):
        real.append((each, row(each.name, each.votes, each.k, peer)))
        print(show([real[-1][1]]).splitlines()[-1], flush=True)
    large = [
        row("1 million x 10", draw_votes(1_000_000, 10, 5_000), 2, peer),
        row("10 million x 20", draw_votes(10_000_000, 20, 20_000), 2, None),
    ]
    return "\n".join([show([r for _, r in real] + large), "", *summary(real, large)])


if __name__ == "__main__":
    print_memory(sys.argv[1])  # in a process of its own, started by `peak_extra_memory`
