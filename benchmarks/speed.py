"""Speed of labelling, array in, labels out, as ratios within one run.

    python benchmarks/speed.py --data ../shared/data --out benchmarks/results/speed.md

Needs torch and `pip install --no-deps hyperlm==0.0.5` beside hyperlabel. Run nothing else meanwhile. Against
the authors' package: every real set, and a million items by 10 LFs. Against a NumPy majority vote on the raw
array: the same, and ten million items by 20 LFs with the peak of extra memory. Last, the time of the import.
"""

import argparse
import os
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import hyperlabel as hl
from real_sets import RealSet, load_sets, write_result

Votes = np.ndarray


def median_seconds(call: Callable[[], object], repeats: int = 5) -> float:
    call()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def majority_vote(votes: Votes, k: int) -> Votes:
    return np.stack([(votes == c).sum(1) for c in range(k)], 1).argmax(1)


def load_hyperlm() -> Callable[[Votes], object]:
    os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # its checkpoint is a pickle
    warnings.filterwarnings("ignore", module="hyperlm")
    import hyperlm

    return hyperlm.HyperLabelModel(device="cpu").infer


def draw_votes(n: int, m: int, patterns: int, seed: int = 0) -> Votes:
    """Votes with so many patterns: rows are drawn from a pool, some more often than others."""
    rng = np.random.default_rng(seed)
    drawn = np.where(rng.random((4 * patterns, m)) < 0.4, rng.integers(0, 2, (4 * patterns, m)), -1).astype(np.int8)
    pool = rng.permutation(np.unique(drawn, axis=0))[:patterns]
    return pool[(patterns * rng.random(n) ** 2).astype(np.intp)]


def row(name: str, votes: Votes, k: int, peer: Callable[[Votes], object] | None, repeats: int = 5) -> dict[str, object]:
    ours = median_seconds(lambda: hl.HyperLabelModel(weights="hlm").predict(votes), repeats)
    vote = median_seconds(lambda: majority_vote(votes, k), repeats)
    theirs = None if peer is None else median_seconds(lambda: peer(votes), 5 if len(votes) < 100_000 else 1)
    patterns = hl.Patterns.from_votes(hl.Votes.from_array(votes)).n_patterns
    return {"set": name, "n": len(votes), "m": votes.shape[1], "k": k, "patterns": patterns,
            "ours": ours, "vote": vote, "hyperlm": theirs}  # fmt: skip


def show(rows: list[dict[str, object]]) -> str:
    lines = ["| set | items | LFs | classes | patterns | hyperlabel, ms | hyperlm / ours | ours / majority vote |",
             "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for r in rows:
        peer = "" if r["hyperlm"] is None else f"{r['hyperlm'] / r['ours']:.1f}"
        lines.append(
            f"| {r['set']} | {r['n']:,} | {r['m']} | {r['k']} | {r['patterns']:,} | {1e3 * r['ours']:.2f} "
            f"| {peer} | {r['ours'] / r['vote']:.2f} |"
        )
    return "\n".join(lines)


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def peak_extra_memory() -> tuple[float, float]:
    """Gigabytes that labelling 10 million x 20 adds to the process, and to one that majority-votes."""
    return tuple(
        float(
            subprocess.run(
                [sys.executable, __file__, "--memory", what], capture_output=True, text=True, check=True
            ).stdout
        )
        for what in ("hyperlabel", "majority")
    )


def print_memory(what: str) -> None:
    votes = draw_votes(10_000_000, 20, 20_000)
    tracemalloc.start()  # NumPy reports its buffers to it
    if what == "hyperlabel":
        hl.HyperLabelModel(weights="hlm").predict(votes)
    else:
        majority_vote(votes, 2)
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


def summary(real: list[tuple[RealSet, dict[str, object]]], large: list[dict[str, object]]) -> list[str]:
    peer = {each.name: r["hyperlm"] / r["ours"] for each, r in real}
    wrench = geometric_mean([peer[each.name] for each, _ in real if each.family == "wrench"])
    costs = max(r["ours"] / r["vote"] for _, r in real if r["n"] > 10_000)
    million, ten_million = (r["ours"] / r["vote"] for r in large)
    ours, plain = peak_extra_memory()
    numpy_ms, hyperlabel_ms = import_ratio()
    return [
        "| what | measured | wanted |",
        "|---|---|---|",
        f"| hyperlm / ours, WRENCH sets, geometric mean | {wrench:.1f} | at least 15 |",
        f"| hyperlm / ours, least of the {len(real)} sets | {min(peer.values()):.1f} | at least 3 |",
        f"| hyperlm / ours, 1 million x 10 | {large[0]['hyperlm'] / large[0]['ours']:.0f} | at least 60 |",
        f"| ours / majority vote, 1 million x 10 | {million:.2f} | at most 3 |",
        f"| ours / majority vote, 10 million x 20 | {ten_million:.2f} | at most 3 |",
        f"| ours / majority vote, real sets above 10,000 items, most | {costs:.2f} | at most 8 |",
        f"| peak extra memory, 10 million x 20 (majority vote: {plain:.2f} GB) | {ours:.2f} GB | at most 1 GB |",
        f"| import hyperlabel / import numpy ({numpy_ms:.0f} ms) | {hyperlabel_ms / numpy_ms:.2f} | at most 2 |",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--memory", choices=("hyperlabel", "majority"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory:
        print_memory(arguments.memory)
        return
    peer = load_hyperlm()
    real = []
    for each in load_sets(arguments.data):
        real.append((each, row(each.name, each.votes, each.k, peer)))
        print(show([real[-1][1]]).splitlines()[-1], flush=True)
    million = draw_votes(1_000_000, 10, 5_000)
    large = [
        row("1 million x 10", million, 2, peer),
        row("10 million x 20", draw_votes(10_000_000, 20, 20_000), 2, None),
    ]
    text = "\n".join([show([r for _, r in real] + large), "", *summary(real, large)])
    print(text)
    write_result(text, arguments.out)


if __name__ == "__main__":
    main()
