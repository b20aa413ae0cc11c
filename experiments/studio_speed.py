"""Speed of the studio: rules, gold and candidates on many short texts, and opening a large table.

    python -m experiments studio_speed --out experiments/results/studio_speed.md

A rule counts from the click to the numbers that all panels show: the LF runs, all labels follow, the files are on disk.
As in the browser, the texts are read and learned from in the background: no key waits for it, and it has lines of its
own.
Clock time is that of this machine, with whatever else runs on it; processor time counts all threads of this process.
"""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hyperlabel.studio import Filter, Project

WORDS, LFS = 20_000, 25
LARGE = 1_000_000


def write_texts(path: Path, n: int, seed: int = 0) -> list[str]:
    """Write texts of 5 to 17 words with the frequencies of natural words; return the words, common ones first."""
    rng = np.random.default_rng(seed)
    words = np.array([f"{'bcdfghklmnprstvw'[i % 16]}{'aeiou'[i % 5]}{i:x}" for i in range(WORDS)])
    shares = 1 / np.arange(10, WORDS + 10)
    lengths = rng.integers(5, 18, n)
    drawn = words[rng.choice(WORDS, lengths.sum(), p=shares / shares.sum())]
    texts = [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]
    pl.DataFrame({"id": np.arange(n), "text": texts, "likes": rng.integers(0, 50, n)}).write_parquet(path)
    return [str(word) for word in words]


class Stopwatch:
    """Clock and processor times of some kinds of work."""

    def __init__(self) -> None:
        self.times: dict[str, list[tuple[float, float]]] = {}

    def measure(self, what: str, call: Callable[[], Any]) -> Any:
        """Time a call, and return its result."""
        clock, processor = time.perf_counter(), time.process_time()
        result = call()
        self.times.setdefault(what, []).append((time.perf_counter() - clock, time.process_time() - processor))
        return result

    def rows(self, wanted: dict[str, str]) -> list[str]:
        """Return one line per kind of work."""
        lines = []
        for what, times in self.times.items():
            clock, processor = np.array(times).T
            figures = [np.median(clock), np.quantile(clock, 0.95), np.median(processor), np.quantile(processor, 0.95)]
            shown = " | ".join(f"{figure:.3f}" for figure in figures)
            lines.append(f"| {what} | {len(times)} | {shown} | {wanted.get(what, '')} |")
        return lines


ADD, GOLD, SELECTED, ITEM = "add a keyword LF and redraw", "give gold and redraw", "candidates of words", "of an item"
READ, LEARN = "read the texts (background)", "learn (background)"
WANTED = {ADD: "0.5", GOLD: "0.2", SELECTED: "0.5", ITEM: "0.5"}


def change(project: Project, call: Callable[[], None]) -> None:
    """Make a change, and compute all that pages show after it."""
    call()
    _ = project.list_lfs(), project.snapshot.pair_conflicts, project.find(Filter())


def work(project: Project, words: list[str], watch: Stopwatch) -> None:
    """Write rules and give gold, as a person would."""
    rng = np.random.default_rng(1)
    for number in range(LFS):
        word, vote = words[int(rng.integers(20, 400))], ["ham", "spam"][number % 2]
        source = f"r{number} = keyword_lf({word!r}, {vote!r}, name='r{number}')"
        watch.measure(ADD, partial(change, project, partial(project.add, source)))
        for item in watch.measure("next items", lambda: project.next_items("useful", 3)):
            text = project.data.text(project.data.row_of[item]).split()
            selection = " ".join(text[1:3])
            watch.measure(SELECTED, partial(project.candidates, item, selection, vote=vote))
            watch.measure(ITEM, partial(project.candidates, item, vote=vote))
            watch.measure(GOLD, partial(change, project, partial(project.give_gold, item, vote)))
        watch.measure(LEARN, lambda: project.learn(*project.train()))
        watch.measure("filter conflicts and search", lambda: project.find(Filter(conflict=True, search="ba")))


def run(items: int, large: int) -> str:
    """Return the table."""
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = write_texts(folder / "texts.parquet", items)
        make = partial(Project, folder / "texts.parquet", classes=["ham", "spam"])
        with watch.measure(f"open {items:,} rows", make) as project:
            project.learns_later = True
            watch.measure("index their words", lambda: project.words)
            watch.measure(READ, lambda: project.features.typical)
            work(project, words, watch)
        if large:
            write_texts(folder / "large.parquet", large)
            open_large(folder, large, words, watch)
    return "\n".join(
        [
            f"{items:,} texts of 5 to 17 words, {LFS} LFs, {3 * LFS} gold labels. Seconds: median, 95th percentile.",
            "",
            "| what | times | clock | p95 | processor | p95 | wanted |",
            "|---|---|---|---|---|---|---|",
            *watch.rows(WANTED),
        ]
    )


def open_large(folder: Path, large: int, words: list[str], watch: Stopwatch) -> None:
    """Open a large table: a sample to explore, all rows to label."""
    make = partial(Project, folder / "large.parquet", classes=["ham", "spam"])
    with watch.measure(f"open {large:,} rows", make) as project:
        for number in range(10):
            word, vote = words[20 + 30 * number], ["ham", "spam"][number % 2]
            project.add(f"r{number} = keyword_lf({word!r}, {vote!r}, name='r{number}')")
        watch.measure(f"write labels of {large:,} rows", lambda: project.save_labels(folder / "labels.parquet"))
