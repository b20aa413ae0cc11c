"""Whole `predict` of two versions of the package on every set, as ratios of processor time.

    python -m experiments before_after --other ../hyperlabel-before/src --data DATA

One process for each version takes turns on a set, so that what else the machine does slows both alike; processor time
leaves out waiting. The least of several turns counts.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from experiments.datasets import DataSet, load_datasets

TURNS = 12
SECONDS = 0.05  # of a turn, about: quick calls are repeated

WORKER = """
import sys, time
import numpy as np
import hyperlabel as hl

def take(votes, k, calls):
    start = time.process_time()
    for _ in range(calls):
        hl.HyperLabelModel(n_classes=k).predict(votes)
    return (time.process_time() - start) / calls

for line in sys.stdin:
    path, k, calls = line.split("\\t")
    print(take(np.load(path), int(k), int(calls)), flush=True)
"""


@contextmanager
def start_worker(source: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that times the package of a source tree."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", WORKER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        yield worker


def ask(worker: "subprocess.Popen[str]", path: Path, k: int, calls: int) -> float:
    """Seconds of a call, the mean of several in a row."""
    assert worker.stdin is not None  # it has pipes
    assert worker.stdout is not None
    print(path, k, calls, sep="\t", file=worker.stdin, flush=True)
    return float(json.loads(worker.stdout.readline()))


def compare(workers: list["subprocess.Popen[str]"], each: DataSet, folder: Path) -> list[float]:
    """The least seconds of each worker on a set."""
    path = folder / f"{each.name}.npy"
    np.save(path, each.votes)
    warm = max(ask(worker, path, each.k, 2) for worker in workers)
    calls = max(1, int(SECONDS / warm))
    turns = [[ask(worker, path, each.k, calls) for worker in workers] for _ in range(TURNS)]
    return [min(times) for times in zip(*turns, strict=True)]


def run(other: Path, data: Path, folder: Path) -> str:
    """A line for each set, slowest beside the other version first. The folder is for scratch files."""
    lines = ["| set | items | LFs | classes | before, ms | now, ms | before / now |", "|---" * 7 + "|"]
    rows = []
    with start_worker(other) as before, start_worker(Path(__file__).parents[1] / "src") as now:
        for each in load_datasets(data):
            old, new = compare([before, now], each, folder)
            n, m = each.votes.shape
            cells = f"{each.name} | {n:,} | {m} | {each.k} | {1e3 * old:.2f} | {1e3 * new:.2f} | {old / new:.2f}"
            rows.append((old / new, f"| {cells} |"))
    ratios = [ratio for ratio, _ in rows]
    mean = float(np.exp(np.mean(np.log(ratios))))
    summary = f"Before / now: least {min(ratios):.2f}, geometric mean {mean:.2f}, most {max(ratios):.2f}."
    return "\n".join([*lines, *(line for _, line in sorted(rows)), "", summary])
