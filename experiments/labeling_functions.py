"""Speed of applying labeling functions, beside Snorkel's PandasLFApplier in the same run.

    python -m experiments labeling_functions --out experiments/results/labeling_functions.md

Needs `pip install snorkel==0.10.0` and Polars beside hyperlabel. Run nothing else meanwhile. Five LFs of keywords and
regular expressions on 100,000 short texts, one in twenty of them not ASCII. Processor time counts all threads, so
its ratio is that on one core; every form must give the same votes as Snorkel does.
"""

import re
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import hyperlabel as hl
from hyperlabel.lf import LabelingFunction, apply_lfs, expression_lf, keyword_lf, labeling_function, regex_lf

HAM, SPAM, ABSTAIN = 0, 1, hl.ABSTAIN
WORDS = (
    "the a this video song love check out my channel please subscribe to http://t.co www.site.com great best is and "
    "free money click now you I it so nice music, cool! watch me Check Subscribe LOVE"
)


def draw_texts(n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    words = np.array(WORDS.split(" "))
    texts = [" ".join(words[rng.integers(0, len(words), length)]) for length in rng.integers(4, 16, n)]
    return [text + " \u2764\ufe0f caf\u00e9" if i % 20 == 0 else text for i, text in enumerate(texts)]


def check_out(x: Any) -> int:
    return SPAM if "check out" in x.text.lower() else ABSTAIN


def subscribe(x: Any) -> int:
    return SPAM if re.search(r"\bsubscribe\b", x.text, re.IGNORECASE) else ABSTAIN


def link(x: Any) -> int:
    return SPAM if re.search(r"https?://|www\.", x.text) else ABSTAIN


def praise(x: Any) -> int:
    return HAM if re.search(r"\b(?:love|great|best|nice)\b", x.text, re.IGNORECASE) else ABSTAIN


def song(x: Any) -> int:
    return HAM if "song" in x.text.lower() else ABSTAIN


FUNCTIONS = (check_out, subscribe, link, praise, song)

READY_MADE = [
    keyword_lf("check out", SPAM, name="check_out", whole_words=False),
    keyword_lf("subscribe", SPAM, name="subscribe"),
    regex_lf(r"https?://|www\.", SPAM, name="link"),
    keyword_lf(["love", "great", "best", "nice"], HAM, name="praise"),
    keyword_lf("song", HAM, name="song", whole_words=False),
]

TEXT = pl.col("text")
EXPRESSIONS = [
    expression_lf("check_out", TEXT.str.to_lowercase().str.contains("check out", literal=True), vote=SPAM),
    expression_lf("subscribe", TEXT.str.contains(r"(?i)\bsubscribe\b"), vote=SPAM),
    expression_lf("link", TEXT.str.contains(r"https?://|www\."), vote=SPAM),
    expression_lf("praise", TEXT.str.contains(r"(?i)\b(?:love|great|best|nice)\b"), vote=HAM),
    expression_lf("song", TEXT.str.to_lowercase().str.contains("song", literal=True), vote=HAM),
]


def column_functions() -> list[LabelingFunction]:
    """The same five with pandas' own string methods."""
    patterns = [("check out", SPAM), (r"\bsubscribe\b", SPAM), (r"https?://|www\.", SPAM)]
    patterns += [(r"\b(?:love|great|best|nice)\b", HAM), ("song", HAM)]
    return [
        labeling_function(function.__name__, columns=True, vote=vote)(
            lambda frame, pattern=pattern, case=function is link: frame["text"].str.contains(pattern, case=case)
        )
        for function, (pattern, vote) in zip(FUNCTIONS, patterns, strict=True)
    ]


def snorkel_applier(frame: pd.DataFrame) -> Callable[[], np.ndarray]:
    from snorkel.labeling import LabelingFunction as SnorkelFunction
    from snorkel.labeling import PandasLFApplier

    applier = PandasLFApplier([SnorkelFunction(function.__name__, function) for function in FUNCTIONS])
    return lambda: applier.apply(frame, progress_bar=False)


def measure(call: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Median seconds by the clock and of the processor."""
    seconds = []
    for _ in range(repeats):
        clock, processor = time.perf_counter(), time.process_time()
        call()
        seconds.append((time.perf_counter() - clock, time.process_time() - processor))
    clock, processor = np.median(seconds, axis=0)
    return float(clock), float(processor)


def forms(frame: pd.DataFrame, folder: str) -> dict[str, Callable[[], hl.Votes]]:
    polars = pl.from_pandas(frame)
    rows = [labeling_function(function) for function in FUNCTIONS]
    columns = column_functions()
    return {
        "plain row functions, pandas": lambda: apply_lfs(rows, frame),
        "plain row functions, Polars": lambda: apply_lfs(rows, polars),
        "ready-made, pandas": lambda: apply_lfs(READY_MADE, frame),
        "ready-made, Polars": lambda: apply_lfs(READY_MADE, polars),
        "Polars expressions, pandas": lambda: apply_lfs(EXPRESSIONS, frame),
        "Polars expressions, Polars": lambda: apply_lfs(EXPRESSIONS, polars),
        "column functions, pandas' own methods": lambda: apply_lfs(columns, frame),
        "plain row functions, pandas, two processes": lambda: apply_lfs(rows, frame, jobs=2),
        "plain row functions, pandas, from the cache": lambda: apply_lfs(rows, frame, cache=folder),
    }


WANTED = {"plain row functions, pandas": 5, "ready-made, pandas": 50, "ready-made, Polars": 50,
          "Polars expressions, pandas": 50, "Polars expressions, Polars": 50}  # fmt: skip


def run(n: int, repeats: int) -> str:
    """The table of all forms."""
    frame = pd.DataFrame({"id": np.arange(n), "text": draw_texts(n)})
    snorkel = snorkel_applier(frame)
    wanted = snorkel()
    peer_clock, peer_processor = measure(snorkel, repeats)
    lines = [
        "| form | seconds | processor seconds | Snorkel / ours | by processor time | wanted |",
        "|---|---|---|---|---|---|",
        f"| Snorkel 0.10 PandasLFApplier | {peer_clock:.3f} | {peer_processor:.3f} | 1 | 1 | |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, call in forms(frame, folder).items():
            np.testing.assert_array_equal(call().cells, wanted)
            clock, processor = measure(call, 2 * repeats - 1)
            # Processor time of other processes, and of files read, is not counted.
            ratio = "" if "processes" in name or "cache" in name else f"{peer_processor / processor:.0f}"
            least = f"at least {WANTED[name]}" if name in WANTED else ""
            lines.append(f"| {name} | {clock:.3f} | {processor:.3f} | {peer_clock / clock:.0f} | {ratio} | {least} |")
            print(lines[-1], flush=True)
    what = f"{n:,} texts, five LFs; medians of {repeats} runs of Snorkel, {2 * repeats - 1} of ours."
    return "\n".join([what, "", *lines])
