"""LFs that wait: threads against the ideal, the cache, and ready-made LFs on lists against frames.

    python -m experiments lf_calls --out experiments/results/lf_calls.md

Run nothing else meanwhile. 10,000 calls of a function that waits 20 ms, by 32 threads: the ideal is the time that
the waiting alone takes, 10,000 x 20 ms / 32.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from experiments.labeling_functions import READY_MADE, draw_texts, measure
from hyperlabel.lf import LabelingFunction, apply_lfs

WAIT = 0.02


def ask(x: Any) -> str | None:
    time.sleep(WAIT)
    return "odd" if x.id % 2 else None


async def ask_async(x: Any) -> str | None:
    await asyncio.sleep(WAIT)
    return "odd" if x.id % 2 else None


def run(calls: int, threads: int, texts: int, repeats: int) -> str:
    """Both tables."""
    return "\n".join([*_threads(calls, threads, repeats), "", *_lists(texts, repeats)])


def _threads(calls: int, threads: int, repeats: int) -> list[str]:
    frame = pd.DataFrame({"id": np.arange(calls), "text": draw_texts(calls)})
    ideal = calls * WAIT / threads
    lines = [
        f"{calls:,} calls of {1000 * WAIT:.0f} ms by {threads} threads; the ideal is {ideal:.2f} s. Best of {repeats}.",
        "",
        "| function | seconds | processor seconds | seconds / ideal | wanted |",
        "|---|---|---|---|---|",
    ]
    plain, other = LabelingFunction("ask", ask), LabelingFunction("ask_async", ask_async)
    patient = LabelingFunction("patient", ask, timeout=30, retry=OSError)

    def cached(lf: LabelingFunction) -> Callable[[], object]:
        def call() -> object:
            with tempfile.TemporaryDirectory() as folder:
                return apply_lfs([lf], frame, threads=threads, cache=folder)

        return call

    forms: dict[str, Callable[[], object]] = {
        "plain": lambda: apply_lfs([plain], frame, threads=threads),
        "plain, into a cache": cached(plain),
        "async": lambda: apply_lfs([other], frame, threads=threads),
        "with timeout and retry, into a cache": cached(patient),
    }
    for name, call in forms.items():
        clock, processor = min(measure(call, 1) for _ in range(repeats))
        lines.append(f"| {name} | {clock:.2f} | {processor:.2f} | {clock / ideal:.2f} | 1.3 |")
        print(lines[-1], flush=True)
    return [*lines, *_again(plain, frame, threads)]


def _again(lf: LabelingFunction, frame: pd.DataFrame, threads: int) -> list[str]:
    """The same calls from the cache."""
    with tempfile.TemporaryDirectory() as folder:
        apply_lfs([lf], frame, threads=threads, cache=folder)
        clock, processor = measure(lambda: apply_lfs([lf], frame, cache=folder), 3)
    return [f"| plain, from the cache | {clock:.2f} | {processor:.2f} | | |"]


def _lists(texts: int, repeats: int) -> list[str]:
    drawn = draw_texts(texts)
    data = {
        "pandas": pd.DataFrame({"text": drawn}),
        "list of texts": drawn,
        "list of mappings": [{"text": text} for text in drawn],
    }
    lines = [
        f"Five ready-made LFs on {texts:,} texts. Medians of {repeats}.",
        "",
        "| data | seconds | processor seconds | / pandas, by processor time |",
        "|---|---|---|---|",
    ]
    wanted = apply_lfs(READY_MADE, data["pandas"]).cells
    peer = None
    for name, given in data.items():
        np.testing.assert_array_equal(apply_lfs(READY_MADE, given).cells, wanted)
        clock, processor = measure(lambda given=given: apply_lfs(READY_MADE, given), repeats)  # type: ignore[misc]
        peer = processor if peer is None else peer
        lines.append(f"| {name} | {clock:.3f} | {processor:.3f} | {processor / peer:.1f} |")
        print(lines[-1], flush=True)
    return lines
