"""Spans: strict span F1 on the public sets, with the votes judged in several ways; and ten million tokens.

    python -m experiments spans --data DATA --out experiments/results/spans.md

The sets of DATA/spans. Labels are made from the votes of all splits together; the truth of the test split scores them.
Subsets of LFs, drawn at random, show how the rule does on sets of fewer and other LFs.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hyperlabel as hl
from experiments.markdown import number, table
from hyperlabel.spans import SpanLabels

SETS = (("ncbi", "recommended"), ("laptop", "recommended"), ("conll", "recommended"), ("conll", "lfs"))
WAYS: dict[str, str | None] = {"default": None, "majority + bigrams": "mv", "hlm3 + bigrams": "hlm3"}
SUBSETS = (("ncbi", 5), ("ncbi", 9), ("laptop", 9), ("conll", 5), ("conll", 8), ("conll", 12), ("conll", 20))
DRAWS = 3
GOLD = 100
"""Documents with gold where probabilities are corrected."""
TYPES = ("PER", "LOC", "ORG", "MISC")


@dataclass(frozen=True)
class SpanSet:
    """Documents with votes, and the truth of the test split."""

    name: str
    lfs: Sequence[str]
    rows: Sequence[dict[str, Any]]

    @classmethod
    def read(cls, folder: Path, name: str, which: str) -> "SpanSet":
        """Read a set of a folder, with its LFs that `which` names."""
        head = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        return cls(name, head[which], [json.loads(line) for line in lines])

    def draw(self, size: int, seed: int) -> "SpanSet":
        """Draw some LFs."""
        index = np.sort(np.random.default_rng(seed).choice(len(self.lfs), size, replace=False))
        return SpanSet(self.name, [self.lfs[i] for i in index], self.rows)

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The documents, with the votes of these LFs."""
        return [
            {"tokens": row["tokens"], "votes": {lf: row["votes"].get(lf, []) for lf in self.lfs}} for row in self.rows
        ]

    def score(self, labels: SpanLabels) -> dict[str, float]:
        """Precision, recall and F1 on the test split."""
        truth = [row["gold"] if row["split"] == "test" else None for row in self.rows]
        return next(labels.score(truth).rows())

    def calibration(self, labels: SpanLabels) -> list[float]:
        """Precision, recall, mean probability, calibration error and Brier score on the test split, in percent."""
        tested = [(row, spans) for row, spans in zip(self.rows, labels, strict=True) if row["split"] == "test"]
        pairs = [(span.probability, [*span[:3]] in row["gold"]) for row, spans in tested for span in spans]
        sure, right = np.array(pairs, float).T
        scores = self.score(labels)
        values = scores["precision"], scores["recall"], sure.mean(), calibration_error(sure, right), brier(sure, right)
        return [100 * float(value) for value in values]

    def teach(self, seed: int = 0) -> list[float]:
        """F1, calibration error and Brier score with the gold of some documents that are not in the test split."""
        others = [i for i, row in enumerate(self.rows) if row["split"] != "test"]
        chosen = np.random.default_rng(seed).choice(others, GOLD, replace=False).tolist()
        labels = hl.label_spans(self.documents, gold={i: self.rows[i]["gold"] for i in chosen})
        return [100 * self.score(labels)["f1"], *self.calibration(labels)[-2:]]


def calibration_error(sure: np.ndarray, right: np.ndarray) -> float:
    """Mean distance of probability and share that is right, over ten bins of equal width.

    >>> calibration_error(np.array([0.95, 0.95, 0.1]), np.array([1.0, 0.0, 0.0])).round(3)
    np.float64(0.333)
    """
    bins = np.minimum((10 * sure).astype(int), 9)
    return np.abs(np.bincount(bins, sure - right)).sum() / len(sure)


def brier(sure: np.ndarray, right: np.ndarray) -> float:
    """Mean square of the distance of probability and truth."""
    return float(np.mean((sure - right) ** 2))


def run(data: Path) -> str:
    folder = data / "spans"
    rows, calibrated = [], []
    for name, which in SETS:
        these = SpanSet.read(folder, name, which)
        labels = {way: hl.label_spans(these.documents, model=model) for way, model in WAYS.items()}
        scores = [these.score(each)["f1"] for each in labels.values()]
        rows.append([f"{name} ({len(these.lfs)})", *(number(100 * each) for each in scores)])
        calibrated.append([rows[-1][0], *map(number, these.calibration(labels["default"]) + these.teach())])
    heads = ["set (LFs)", "precision", "recall", "mean probability", "ECE", "Brier"]
    heads += ["F1, gold", "ECE, gold", "Brier, gold"]
    parts = [
        "# Spans",
        "`python -m experiments spans --data DATA --out experiments/results/spans.md`. Strict span F1, test splits.",
        table(["set (LFs)", *WAYS], rows),
        "The probabilities of the default, in percent: their mean beside the precision, the calibration error (ECE, "
        f"ten bins of equal width) and the Brier score; then with the gold of {GOLD} documents that are not in the "
        "test split. Without gold the probabilities are cautious where few LFs confirm each other and are right (ncbi, "
        "laptop), and too high where many share their errors (conll, 50 LFs).",
        table(heads, calibrated),
        "LFs drawn at random among all of a set, means over the draws: F1, then the probabilities of the default.",
        table(["set, LFs drawn", *WAYS, "precision", "mean probability", "ECE", "Brier"], list(_draw_subsets(folder))),
        _measure_alone(),
    ]
    return "\n\n".join(parts)


def _draw_subsets(folder: Path) -> Iterator[list[str]]:
    """Yield means over draws of LFs: F1 of the ways; precision, mean probability, ECE and Brier of the default."""
    for name, size in SUBSETS:
        rows = []
        for these in (SpanSet.read(folder, name, "lfs").draw(size, seed) for seed in range(DRAWS)):
            labels = {way: hl.label_spans(these.documents, model=model) for way, model in WAYS.items()}
            precision, _, *rest = these.calibration(labels["default"])
            rows.append([*(100 * these.score(each)["f1"] for each in labels.values()), precision, *rest])
        yield [f"{name}, {size}", *map(number, np.mean(rows, 0))]


def _measure_alone() -> str:
    """Call `measure_time` in a process that has loaded nothing else."""
    call = "from experiments.spans import measure_time; print(measure_time())"
    return subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=True).stdout.strip()


def measure_time(documents: int = 400_000) -> str:
    """Label ten million tokens with 16 LFs."""
    made = make_documents(documents)
    start, before = time.process_time(), _peak_memory()
    spans = sum(map(len, hl.label_spans(made).spans))
    seconds = time.process_time() - start
    tokens = sum(len(each["tokens"]) for each in made)
    return (
        f"{tokens:,} tokens in {documents:,} documents, 16 LFs, {spans:,} spans: {seconds:.0f} s of processor time; "
        f"the documents take {before:.2f} GB, the process {_peak_memory():.2f} GB at its peak."
    )


def _peak_memory() -> float:
    """Return the largest memory of this process so far, in GB (1024^3 bytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def make_documents(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Documents of 25 tokens with two spans, each found by about a third of 16 LFs."""
    rng = np.random.default_rng(seed)
    words, lfs = [f"w{i}" for i in range(5000)], [f"lf_{j}" for j in range(16)]
    documents = []
    for _ in range(n):
        votes: dict[str, list[list[Any]]] = {}
        for start in (3, 12):
            size, kind, hit = int(rng.integers(1, 4)), int(rng.integers(4)), rng.random(16)
            for j in np.flatnonzero(hit < 0.35).tolist():
                wrong = int(1000 * hit[j]) % 4
                end = start + size + int(hit[j] < 0.03)
                votes.setdefault(lfs[j], []).append([start, end, TYPES[kind if hit[j] < 0.3 else wrong]])
        documents.append({"tokens": [words[i] for i in rng.integers(0, 5000, 25).tolist()], "votes": votes})
    return documents
